// SPDX-License-Identifier: Apache-2.0
#include "headlens/tensor.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace headlens {
namespace {

float HalfToFloat(std::uint16_t half) {
  const std::uint32_t sign = std::uint32_t{half & 0x8000u} << 16;
  const std::uint32_t exponent = (half >> 10) & 0x1F;
  const std::uint32_t mantissa = half & 0x3FF;
  if (exponent == 0) {  // zero or subnormal: mantissa · 2⁻²⁴
    const float magnitude = std::ldexp(static_cast<float>(mantissa), -24);
    return sign ? -magnitude : magnitude;
  }
  const std::uint32_t float_exponent = exponent == 0x1F ? 0xFF : exponent + (127 - 15);
  return std::bit_cast<float>(sign | float_exponent << 23 | mantissa << 13);
}

constexpr std::byte kZero[8] = {};

template <class T>
T Load(const std::byte* p) {
  T value;
  std::memcpy(&value, p, sizeof(T));
  return value;
}

#ifdef __linux__
constexpr std::size_t kHugePage = std::size_t{2} << 20;

/// Allocates large blocks in huge pages where the system has them. One page fault then replaces 512, and matrix
/// products spend less time on address translation. Returns null when there is no memory.
void* AllocateHuge(std::size_t bytes) {
  void* p = nullptr;
  if (posix_memalign(&p, kHugePage, bytes) != 0) return nullptr;
  madvise(p, bytes / kHugePage * kHugePage, MADV_HUGEPAGE);  // only a hint, so errors are ignored
  return p;
}
#endif

void* Allocate(std::size_t bytes) {
#ifdef __linux__
  if (bytes >= kHugePage) return AllocateHuge(bytes);
#endif
  if (bytes > std::numeric_limits<std::size_t>::max() - kAlignment) return nullptr;
  return std::aligned_alloc(kAlignment, (std::max<std::size_t>(bytes, 1) + kAlignment - 1) / kAlignment * kAlignment);
}

}  // namespace

std::string ToString(const Shape& shape) { return Phrase(shape).plain(); }

Index ElementCount(const Shape& shape) {
  // Half of the address space, so that the size of 8-byte elements in bytes still fits size_t.
  constexpr Index kMaxElements = static_cast<Index>(std::numeric_limits<std::ptrdiff_t>::max() / 8);
  const bool empty = std::find(shape.begin(), shape.end(), 0) != shape.end();
  const Index most = empty ? kMostEmpty : kMaxElements;
  Index count = 1;
  for (const Index size : shape) {
    if (size < 0) throw ShapeError("a tensor", shape, "sizes from 0 up");
    if (size == 0 || count <= most / size) {
      count *= std::max<Index>(size, 1);
      continue;
    }
    if (!empty) throw Wrong(ErrorCode::kMemory, "a tensor", "has shape", shape, "a size that can be addressed");
    throw ShapeError("a tensor", shape, {"sizes beside 0 that multiply to at most ", kMostEmpty});
  }
  return empty ? 0 : count;
}

std::string_view ToString(DType dtype) {
  constexpr std::string_view kNames[] = {"F32", "F64", "F16", "BF16", "U8", "BOOL", "I8", "I32", "I64"};
  return kNames[static_cast<std::size_t>(dtype)];
}

std::size_t ByteSize(DType dtype) {
  constexpr std::size_t kSizes[] = {4, 8, 2, 2, 1, 1, 1, 4, 8};
  return kSizes[static_cast<std::size_t>(dtype)];
}

namespace internal {

void AlignedDelete::operator()(void* p) const { std::free(p); }

void* AllocateAligned(std::size_t bytes) {
  void* p = Allocate(bytes);
  if (!p) throw Error(ErrorCode::kMemory, {"out of memory: could not allocate ", bytes, " bytes"});
  return p;
}

}  // namespace internal

Tensor::Tensor(Shape shape, std::span<const float> values) : Tensor(std::move(shape)) {
  if (static_cast<Index>(values.size()) != size()) {
    throw Wrong(ErrorCode::kShape, "a tensor", "has", {values.size(), " values"}, {size(), " for shape ", shape_});
  }
  std::copy(values.begin(), values.end(), data());
}

Tensor::Tensor(Shape shape, std::shared_ptr<float> elements)
    : shape_(std::move(shape)), size_(ElementCount(shape_)), lent_(std::move(elements)) {}

Tensor Tensor::Reshaped(Shape shape) && {
  if (ElementCount(shape) != size()) {
    throw ShapeError("a tensor", shape_, {"one that can become ", shape});
  }
  shape_ = std::move(shape);
  return std::move(*this);
}

RawTensor RawOf(const Tensor& tensor) {
  return {DType::kF32, tensor.shape(), reinterpret_cast<const std::byte*>(tensor.data())};
}

float LoadFloat(DType dtype, const std::byte* p) {
  switch (dtype) {
    case DType::kF32:
      return Load<float>(p);
    case DType::kF64:
      return static_cast<float>(Load<double>(p));
    case DType::kF16:
      return HalfToFloat(Load<std::uint16_t>(p));
    case DType::kBF16:
      return std::bit_cast<float>(std::uint32_t{Load<std::uint16_t>(p)} << 16);
    default:
      throw DtypeError("a tensor", ToString(dtype), "floats (F32, F64, F16 or BF16)");
  }
}

std::uint16_t RoundToBf16(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  if (std::isnan(x)) return static_cast<std::uint16_t>(bits >> 16 | 0x40);
  return static_cast<std::uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

Tensor ToFloat(const RawTensor& raw) {
  Tensor tensor(raw.shape);
  const std::byte* p = raw.data;
  if (raw.dtype == DType::kF32) {
    if (tensor.size() > 0) std::memcpy(tensor.data(), p, tensor.values().size_bytes());
    return tensor;
  }
  if (tensor.size() == 0) LoadFloat(raw.dtype, kZero);  // checks the type even though there is nothing to convert
  for (float& value : tensor.values()) {
    value = LoadFloat(raw.dtype, p);
    p += ByteSize(raw.dtype);
  }
  return tensor;
}

}  // namespace headlens
