// SPDX-License-Identifier: Apache-2.0
/// Reads a model's weights while they arrive, from one safetensors file or several shards.
#ifndef HEADLENS_CHECKPOINT_H_
#define HEADLENS_CHECKPOINT_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <span>

#include "headlens/state_dict.h"

namespace headlens {

/// Takes in files whose bytes arrive in pieces of any size, also several files at once. The bytes of each tensor go
/// straight into its own memory, so no file is ever held as a whole. Headers are checked before any of the memory that
/// they announce is allocated, and a tensor's memory is allocated when its first byte arrives.
class Checkpoint {
 public:
  /// `max_bytes` limits all files together, so that no header can make the program allocate more.
  explicit Checkpoint(Index max_bytes);
  ~Checkpoint();
  Checkpoint(Checkpoint&&) noexcept;
  Checkpoint& operator=(Checkpoint&&) noexcept;

  /// Starts a file and returns its number. `byte_length` is the file's length when it is known. Throws kFormat when
  /// that is too short for a header.
  int Begin(std::optional<Index> byte_length);

  /// The memory for the next bytes of a file; empty when the file is complete. Valid until the next call.
  std::span<std::byte> Next(int file);

  /// Says that the first `count` bytes of Next(file) have been filled. Throws kFormat for a bad header (see
  /// Safetensors), kMemory when the files exceed the limit, and kValue when Next gave less memory. After an error the
  /// file cannot be continued.
  void Advance(int file, Index count);

  /// Copies bytes into the file. Throws as Advance does, and kFormat for bytes after the file's end.
  void Append(int file, std::span<const std::byte> bytes);

  /// The parameters of all files. Each can be taken once, and its bytes then belong to the taker. Throws kFormat when a
  /// file is not complete. The result borrows from this object.
  StateDict Parameters();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace headlens

#endif  // HEADLENS_CHECKPOINT_H_
