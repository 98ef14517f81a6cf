// SPDX-License-Identifier: Apache-2.0
/// The header of a safetensors file, for readers that get the bytes after it in different ways.
#ifndef HEADLENS_SRC_FILES_SAFETENSORS_HEADER_H_
#define HEADLENS_SRC_FILES_SAFETENSORS_HEADER_H_

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headlens/tensor.h"

namespace headlens {

inline constexpr std::size_t kSafetensorsLengthBytes = 8;

struct SafetensorsHeader {
  struct Entry {
    std::string name;
    DType dtype;
    Shape shape;
    Index begin, end;  ///< position of its bytes, counted from the end of the header
  };
  std::vector<Entry> entries;  ///< in the order of their bytes, without holes between them
  std::map<std::string, std::string, std::less<>> metadata;
  Index data_size = 0;
};

/// The kFormat error of a file that is too short for the header's length.
Error SizeError(Index bytes);
/// The kFormat error of bytes that follow the last tensor.
Error SurplusError(Index bytes);

/// Reads the header's length from the first bytes of a file. `rest` is the number of bytes that follow, when it is
/// known. Throws kFormat.
Index ReadSafetensorsLength(std::span<const std::byte, kSafetensorsLengthBytes> bytes, std::optional<Index> rest);

/// Reads and checks a header: types must be known, sizes must fit the shapes, and the tensors' bytes must neither
/// overlap nor leave holes and must fill `data_size` when it is known. Throws kFormat.
SafetensorsHeader ParseSafetensorsHeader(std::string_view text, std::optional<Index> data_size);

}  // namespace headlens

#endif  // HEADLENS_SRC_FILES_SAFETENSORS_HEADER_H_
