// SPDX-License-Identifier: Apache-2.0
#include "cli/npy.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>

#include "base/words.h"

namespace headlens::cli {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

struct NpyHeader {
  std::optional<std::string_view> type;
  std::optional<bool> fortran_order;
  std::optional<Shape> shape;
};

/// Reads a header such as {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }.
class NpyHeaderReader {
 public:
  explicit NpyHeaderReader(std::string_view text) : text_(text), rest_(text) {}

  NpyHeader Read() {
    NpyHeader header;
    Expect("{");
    while (!Take("}")) {
      const std::string_view key = Text();
      Expect(":");
      if (key == "descr" && !header.type) {
        header.type = Type();
      } else if (key == "fortran_order" && !header.fortran_order) {
        header.fortran_order = Bool();
      } else if (key == "shape" && !header.shape) {
        header.shape = Sizes();
      } else {
        Fail();
      }
      if (!Take(",")) {
        Expect("}");
        break;
      }
    }
    SkipSpace();
    if (!rest_.empty() || !header.type || !header.fortran_order || !header.shape) Fail();
    return header;
  }

 private:
  [[noreturn]] void Fail() const {
    throw Wrong(ErrorCode::kFormat, "the header", "is", Quoted(text_),
                "{'descr': TYPE, 'fortran_order': False, 'shape': (SIZES)}");
  }

  void SkipSpace() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \n"), rest_.size())); }

  bool Take(std::string_view word) {
    SkipSpace();
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }

  void Expect(std::string_view word) {
    if (!Take(word)) Fail();
  }

  std::string_view Text() {
    const std::string_view quote = Take("'") ? "'" : "\"";
    if (quote == "\"") Expect(quote);
    const std::size_t end = rest_.find(quote);
    if (end == rest_.npos) Fail();
    const std::string_view text = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    return text;
  }

  std::string_view Type() {
    SkipSpace();
    if (rest_.starts_with("["))
      throw Error(ErrorCode::kUnsupported, "the array has fields, expected floats of one type");
    return Text();
  }

  bool Bool() {
    if (Take("True")) return true;
    Expect("False");
    return false;
  }

  Shape Sizes() {
    Shape sizes;
    Expect("(");
    while (!Take(")")) {
      Index size = 0;
      SkipSpace();
      const auto [end, failed] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), size);
      if (failed != std::errc{} || size < 0) Fail();
      rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
      sizes.push_back(size);
      if (!Take(",")) {
        Expect(")");
        break;
      }
    }
    return sizes;
  }

  std::string_view text_, rest_;
};

/// The header's text, and where the numbers begin.
std::string_view HeaderOf(std::string_view file) {
  const auto byte = [file](std::size_t at) { return static_cast<unsigned char>(file[at]); };
  if (!file.starts_with(kMagic) || file.size() < 10)
    throw Wrong(ErrorCode::kFormat, "the file", "begins with", Quoted(file.substr(0, 8)),
                "\"\\x93NUMPY\" and a version");
  const unsigned version = byte(6);
  if (version < 1 || version > 3) throw Wrong(ErrorCode::kUnsupported, "the format's version", "is", version, "1 to 3");
  const std::size_t begin = version == 1 ? 10 : 12;
  if (file.size() < begin)
    throw Wrong(ErrorCode::kFormat, "the file", "has", {file.size(), " bytes"}, {"at least ", begin});
  std::size_t length = 0;
  for (std::size_t i = begin; i-- > 8;) length = length << 8 | byte(i);
  if (length > file.size() - begin) {
    throw Wrong(ErrorCode::kFormat, "the header", "claims", {length, " bytes"}, {"at most ", file.size() - begin});
  }
  return file.substr(begin, length);
}

DType DTypeOf(std::string_view type) {
  if (type == "<f4") return DType::kF32;
  if (type == "<f8") return DType::kF64;
  if (type == "<f2") return DType::kF16;
  constexpr std::string_view kExpected = "little-endian floats (<f2, <f4 or <f8)";
  const std::string kind = type.find('O') != type.npos ? "pickled Python objects"
                           : type.starts_with('>')     ? "big-endian numbers"
                                                       : "another type";
  throw Wrong(ErrorCode::kUnsupported, "the array", "holds", {kind, " (", Quoted(type), ")"}, kExpected);
}

}  // namespace

RawTensor ReadNpy(std::span<const std::byte> file) {
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  const std::string_view header_text = HeaderOf(text);
  NpyHeader header = NpyHeaderReader(header_text).Read();
  const DType dtype = DTypeOf(*header.type);
  if (*header.fortran_order) throw Wrong(ErrorCode::kUnsupported, "the array", "is", "in Fortran order", "C order");
  const auto begin = static_cast<std::size_t>(header_text.data() + header_text.size() - text.data());
  const Index size = ElementCount(*header.shape) * static_cast<Index>(ByteSize(dtype));
  const auto rest = static_cast<Index>(file.size() - begin);
  if (size != rest)
    throw Wrong(ErrorCode::kFormat, {"the array of shape ", *header.shape}, "has", {rest, " bytes"}, {size});
  return {dtype, *std::move(header.shape), file.data() + begin};
}

}  // namespace headlens::cli
