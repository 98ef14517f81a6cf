// SPDX-License-Identifier: Apache-2.0
#include "headlens/safetensors.h"

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

[[noreturn]] void Fail(const std::string& message) { throw Error(ErrorCode::kFormat, "safetensors: " + message); }

DType ParseDType(const JsonField& field) {
  const std::string& text = field.Text();
  for (const DType dtype :
       {DType::kF32, DType::kF64, DType::kF16, DType::kBF16, DType::kU8, DType::kBool, DType::kI32, DType::kI64}) {
    if (text == ToString(dtype)) return dtype;
  }
  field.Fail("F32, F64, F16, BF16, U8, BOOL, I32 or I64");
}

std::vector<Index> ParseSizes(const JsonField& list) {
  if (list.is_null()) list.Fail("a list of sizes");
  std::vector<Index> sizes;
  for (std::size_t i = 0; i < list.ListSize(); ++i)
    sizes.push_back(list.Element(i).Whole(0, std::numeric_limits<Index>::max()));
  return sizes;
}

SafetensorsHeader::Entry ParseTensor(const std::string& name, const json& entry, std::optional<Index> data_size) {
  if (!entry.is_object()) Fail("tensor " + Quoted(name) + " is not described by an object");
  const JsonField fields(entry, "safetensors: tensor " + Quoted(name) + ": ", ErrorCode::kFormat);
  const std::vector<Index> offsets = ParseSizes(fields["data_offsets"]);
  const Index most = data_size.value_or(std::numeric_limits<Index>::max());
  if (offsets.size() != 2 || offsets[0] > offsets[1] || offsets[1] > most) {
    Fail("tensor " + Quoted(name) + ": data_offsets do not lie inside the " + std::to_string(most) + " bytes of data");
  }
  SafetensorsHeader::Entry tensor{name, ParseDType(fields["dtype"]), ParseSizes(fields["shape"]), offsets[0],
                                  offsets[1]};
  Index count = 0;
  try {
    count = ElementCount(tensor.shape);
  } catch (const Error& error) {
    Fail("tensor " + Quoted(name) + ": " + error.what());
  }
  const Index size = count * static_cast<Index>(ByteSize(tensor.dtype));
  if (size != tensor.end - tensor.begin) {
    Fail("tensor " + Quoted(name) + " of shape " + ToString(tensor.shape) + " needs " + std::to_string(size) +
         " bytes, data_offsets give " + std::to_string(tensor.end - tensor.begin));
  }
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
    if (entry.begin < at) Fail("tensor " + Quoted(entry.name) + " overlaps another one");
    if (entry.begin > at)
      Fail("there are " + std::to_string(entry.begin - at) + " unused bytes before tensor " + Quoted(entry.name));
    at = entry.end;
  }
  if (data_size && at != *data_size) {
    Fail("there are " + std::to_string(*data_size - at) + " unused bytes at the end");
  }
  return at;
}

}  // namespace

Index ReadSafetensorsLength(std::span<const std::byte, kSafetensorsLengthBytes> bytes, std::optional<Index> rest) {
  // The format's own library has the same limit. A larger header is an attack, not a model.
  constexpr std::uint64_t kMaxHeader = 100'000'000;
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < kLengthBytes; ++i) length |= static_cast<std::uint64_t>(bytes[i]) << (8 * i);
  if (rest && length > static_cast<std::uint64_t>(*rest)) {
    Fail("the header claims " + std::to_string(length) + " bytes, the file has " + std::to_string(*rest) +
         " after the length");
  }
  if (length > kMaxHeader) {
    Fail("the header claims " + std::to_string(length) + " bytes, expected at most " + std::to_string(kMaxHeader));
  }
  return static_cast<Index>(length);
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
    if (!value.is_object()) Fail("__metadata__ is not an object");
    for (const auto& [key, item] : value.items()) {
      if (!item.is_string()) Fail("__metadata__ " + Quoted(key) + " is not a string");
      header.metadata.emplace(key, item.get<std::string>());
    }
  }
  header.data_size = SortAndCheckCoverage(header.entries, data_size);
  return header;
}

Safetensors::Safetensors(std::span<const std::byte> bytes) {
  if (bytes.size() < kLengthBytes) {
    Fail("the file has " + std::to_string(bytes.size()) + " bytes, too few for a header");
  }
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
