// SPDX-License-Identifier: Apache-2.0
#include "headlens/safetensors.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/sorting.h"
#include "base/words.h"
#include "files/json.h"
#include "files/safetensors_header.h"

namespace headlens {
namespace {

using nlohmann::json;

constexpr std::size_t kLengthBytes = kSafetensorsLengthBytes;

DType ParseDType(const JsonField& field) {
  const std::string& text = field.Text();
  for (const DType dtype : {DType::kF32, DType::kF64, DType::kF16, DType::kBF16, DType::kU8, DType::kBool, DType::kI8,
                            DType::kI32, DType::kI64}) {
    if (text == ToString(dtype)) return dtype;
  }
  field.Fail("F32, F64, F16, BF16, U8, BOOL, I8, I32 or I64");
}

std::vector<Index> ParseSizes(const JsonField& list) {
  if (list.is_null()) list.Fail("a list of sizes");
  std::vector<Index> sizes;
  for (std::size_t i = 0; i < list.ListSize(); ++i)
    sizes.push_back(list.Element(i).Whole(0, std::numeric_limits<Index>::max()));
  return sizes;
}

Phrase TensorName(std::string_view name) { return {"safetensors: tensor ", Quoted(name)}; }

SafetensorsHeader::Entry ParseTensor(const std::string& name, const json& entry, std::optional<Index> data_size) {
  const JsonField fields(entry, TensorName(name), ErrorCode::kFormat);
  const JsonField place = fields["data_offsets"], shape = fields["shape"];
  const std::vector<Index> offsets = ParseSizes(place);
  const Index most = data_size.value_or(std::numeric_limits<Index>::max());
  if (offsets.size() != 2 || offsets[0] > offsets[1] || offsets[1] > most) {
    place.Fail({"a begin and an end inside the ", most, " bytes of data"});
  }
  SafetensorsHeader::Entry tensor{name, ParseDType(fields["dtype"]), ParseSizes(shape), offsets[0], offsets[1]};
  Index count = 0;
  try {
    count = ElementCount(tensor.shape);
  } catch (const Error& error) {
    shape.Fail(error.expected());
  }
  const Index size = count * static_cast<Index>(ByteSize(tensor.dtype));
  if (size != tensor.end - tensor.begin) place.Fail({size, " bytes for shape ", Shown(shape.value())});
  return tensor;
}

/// Sorts the tensors in the order of their bytes, which must follow each other without holes or overlaps. Returns the
/// end of the last one.
Index SortAndCheckCoverage(std::vector<SafetensorsHeader::Entry>& entries, std::optional<Index> data_size) {
  Permute(std::span(entries), Order(entries.size(), [&](std::size_t i, std::size_t j) {
            const auto &a = entries[i], &b = entries[j];
            return a.begin < b.begin || (a.begin == b.begin && a.end < b.end);
          }));
  Index at = 0;
  for (const SafetensorsHeader::Entry& entry : entries) {
    if (entry.begin != at) {
      throw Wrong(ErrorCode::kFormat, TensorName(entry.name), "begins at", {"byte ", entry.begin},
                  {at, ", where the one before it ends"});
    }
    at = entry.end;
  }
  if (data_size && at != *data_size) throw SurplusError(*data_size - at);
  return at;
}

}  // namespace

Error SizeError(Index bytes) {
  return Wrong(ErrorCode::kFormat, "safetensors", "has", {bytes, " bytes"}, {"at least ", kLengthBytes});
}

Error SurplusError(Index bytes) {
  return Wrong(ErrorCode::kFormat, "safetensors", "has", {bytes, " bytes after the last tensor"}, "none");
}

Index ReadSafetensorsLength(std::span<const std::byte, kSafetensorsLengthBytes> bytes, std::optional<Index> rest) {
  // The format's own library has the same limit. A larger header is an attack, not a model.
  constexpr Index kMaxHeader = 100'000'000;
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < kLengthBytes; ++i) length |= static_cast<std::uint64_t>(bytes[i]) << (8 * i);
  const Index most = std::min(rest.value_or(kMaxHeader), kMaxHeader);
  if (length > 0 && length <= static_cast<std::uint64_t>(most)) return static_cast<Index>(length);
  throw Wrong(ErrorCode::kFormat, "safetensors: the header", "claims", {std::to_string(length), " bytes"},
              length == 0 ? Phrase("at least 1") : Phrase{"at most ", most});
}

SafetensorsHeader ParseSafetensorsHeader(std::string_view text, std::optional<Index> data_size) {
  SafetensorsHeader header;
  // A header is nested three deep: name → description → list.
  const json parsed = ParseObject(text, "safetensors: the header", 3);
  for (const auto& [name, value] : parsed.items()) {
    if (name != "__metadata__") {
      header.entries.push_back(ParseTensor(name, value, data_size));
      continue;
    }
    const JsonField metadata(value, "safetensors: __metadata__", ErrorCode::kFormat);
    if (!value.is_object()) metadata.Fail("an object");
    for (const auto& item : value.items()) header.metadata.emplace(item.key(), metadata.Named(item.key()).Text());
  }
  header.data_size = SortAndCheckCoverage(header.entries, data_size);
  return header;
}

Safetensors::Safetensors(std::span<const std::byte> bytes) {
  if (bytes.size() < kLengthBytes) throw SizeError(static_cast<Index>(bytes.size()));
  const auto rest = bytes.subspan(kLengthBytes);
  const auto length =
      static_cast<std::size_t>(ReadSafetensorsLength(bytes.first<kLengthBytes>(), static_cast<Index>(rest.size())));
  const auto data = rest.subspan(length);
  SafetensorsHeader header =
      ParseSafetensorsHeader({reinterpret_cast<const char*>(rest.data()), length}, static_cast<Index>(data.size()));
  for (auto& entry : header.entries)
    tensors_.emplace(entry.name, RawTensor{entry.dtype, std::move(entry.shape), data.data() + entry.begin});
  metadata_ = std::move(header.metadata);
}

std::optional<RawTensor> Safetensors::Find(std::string_view name) const {
  const auto it = tensors_.find(name);
  return it == tensors_.end() ? std::nullopt : std::optional(it->second);
}

std::vector<std::byte> WriteSafetensors(const TensorMap& tensors,
                                        const std::map<std::string, std::string, std::less<>>& metadata) {
  json header = json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  std::size_t offset = 0;
  for (const auto& [name, tensor] : tensors) {
    const std::size_t end = offset + tensor.values().size_bytes();
    header[name] = {{"dtype", "F32"}, {"shape", tensor.shape()}, {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string text = header.dump(-1, ' ', false, json::error_handler_t::replace);
  text.resize((text.size() + 7) / 8 * 8, ' ');  // keeps the data aligned

  std::vector<std::byte> file(kLengthBytes + text.size() + offset);
  for (std::size_t i = 0; i < kLengthBytes; ++i)
    file[i] = static_cast<std::byte>(std::uint64_t{text.size()} >> (8 * i));
  std::memcpy(file.data() + kLengthBytes, text.data(), text.size());
  std::byte* at = file.data() + kLengthBytes + text.size();
  for (const auto& [name, tensor] : tensors) {
    if (tensor.size() > 0) std::memcpy(at, tensor.data(), tensor.values().size_bytes());
    at += tensor.values().size_bytes();
  }
  return file;
}

}  // namespace headlens
