// SPDX-License-Identifier: Apache-2.0
/// The header of a safetensors file, for whoever reads the bytes behind it in whichever way.
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
    Index begin, end;  ///< of its bytes, counted behind the header
  };
  std::vector<Entry> entries;  ///< as their bytes lie, without holes between them
  std::map<std::string, std::string, std::less<>> metadata;
  Index data_size = 0;
};

/// The header's length from the file's first bytes; `rest` is how many follow them, when that is known. Throws kFormat.
Index ReadSafetensorsLength(std::span<const std::byte, kSafetensorsLengthBytes> bytes, std::optional<Index> rest);

/// Reads and checks a header: known types, sizes that fit the shapes, bytes that neither overlap nor leave holes and,
/// when `data_size` is known, fill it. Throws kFormat.
SafetensorsHeader ParseSafetensorsHeader(std::string_view text, std::optional<Index> data_size);

}  // namespace headlens

#endif  // HEADLENS_SRC_FILES_SAFETENSORS_HEADER_H_
