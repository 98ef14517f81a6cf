// SPDX-License-Identifier: Apache-2.0
/// The safetensors format: an 8-byte little-endian header length, a JSON header, then the tensors' bytes.
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

/// The tensors of a safetensors file that is in memory. Borrows the bytes, which must outlive it.
class Safetensors {
 public:
  /// Checks everything before anything is used: header length and JSON, known types, sizes that match the shapes,
  /// offsets inside the file, no overlap, no hole. Throws kFormat saying what is wrong and where. Never reads outside
  /// `bytes`, allocates in proportion to it.
  explicit Safetensors(std::span<const std::byte> bytes);

  /// In the order of their names.
  const std::map<std::string, RawTensor, std::less<>>& tensors() const { return tensors_; }
  const std::map<std::string, std::string, std::less<>>& metadata() const { return metadata_; }
  /// Nothing when there is no such tensor.
  std::optional<RawTensor> Find(std::string_view name) const;

 private:
  std::map<std::string, RawTensor, std::less<>> tensors_;
  std::map<std::string, std::string, std::less<>> metadata_;
};

/// The bytes of a safetensors file with float tensors, in the order of their names.
std::vector<std::byte> WriteSafetensors(const TensorMap& tensors,
                                        const std::map<std::string, std::string, std::less<>>& metadata);

}  // namespace headlens

#endif  // HEADLENS_SAFETENSORS_H_
