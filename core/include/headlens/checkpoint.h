// SPDX-License-Identifier: Apache-2.0
/// A model's weights as they come in: one safetensors file or several shards, byte by byte.
#ifndef HEADLENS_CHECKPOINT_H_
#define HEADLENS_CHECKPOINT_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <span>

#include "headlens/state_dict.h"

namespace headlens {

/// Takes in files whose bytes arrive in pieces of any size, several files side by side if need be, each tensor straight
/// into memory of its own: no file is ever held as a whole. Headers are checked before anything is allocated for what
/// they announce; a tensor's memory is allocated when its first byte is due.
class Checkpoint {
 public:
  /// `max_bytes`: of all files together, so that no header can ask for more.
  explicit Checkpoint(Index max_bytes);
  ~Checkpoint();
  Checkpoint(Checkpoint&&) noexcept;
  Checkpoint& operator=(Checkpoint&&) noexcept;

  /// Starts a file and returns its number. `byte_length` is its length when that is known beforehand. Throws kFormat
  /// when that is too short for a header.
  int Begin(std::optional<Index> byte_length);

  /// Where the next bytes of a file belong: empty when it is complete. Valid until the next call.
  std::span<std::byte> Next(int file);

  /// Says that the first `count` bytes of Next(file) have been filled. Throws kFormat for a bad header (see
  /// Safetensors), kMemory beyond the limit, kValue for more bytes than Next gave. After an error nothing more comes of
  /// the file.
  void Advance(int file, Index count);

  /// Copies a piece in. Throws as Advance, and kFormat for bytes behind the file's end.
  void Append(int file, std::span<const std::byte> bytes);

  /// The parameters of all files, each to be taken once: its bytes then belong to whoever took it. Throws kFormat when
  /// a file is not complete. Borrows this object.
  StateDict Parameters();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace headlens

#endif  // HEADLENS_CHECKPOINT_H_
