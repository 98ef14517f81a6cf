// SPDX-License-Identifier: Apache-2.0
/// The safetensors format: 8 bytes with the length of the header (little-endian), a JSON header, then the tensors'
/// bytes.
#ifndef HEADLENS_SAFETENSORS_H_
#define HEADLENS_SAFETENSORS_H_

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headlens/tensor.h"

namespace headlens {

/// The tensors of a safetensors file in memory. Borrows the bytes, which must outlive this object.
class Safetensors {
 public:
  /// Checks everything before it is used: the header's length and JSON, known types, sizes that match the shapes, and
  /// offsets that lie inside the file without overlaps or holes. Throws kFormat, saying what is wrong and where. Never
  /// reads outside `bytes`, and allocates no more than in proportion to them.
  explicit Safetensors(std::span<const std::byte> bytes);

  /// All tensors, sorted by name.
  const std::map<std::string, RawTensor, std::less<>>& tensors() const { return tensors_; }
  const std::map<std::string, std::string, std::less<>>& metadata() const { return metadata_; }
  /// Returns nothing when there is no tensor of that name.
  std::optional<RawTensor> Find(std::string_view name) const;

 private:
  std::map<std::string, RawTensor, std::less<>> tensors_;
  std::map<std::string, std::string, std::less<>> metadata_;
};

/// The bytes of a safetensors file that holds these tensors as floats, sorted by name.
std::vector<std::byte> WriteSafetensors(const TensorMap& tensors,
                                        const std::map<std::string, std::string, std::less<>>& metadata);

}  // namespace headlens

#endif  // HEADLENS_SAFETENSORS_H_
