// SPDX-License-Identifier: Apache-2.0
/// Tensors: views with strides, and owned row-major storage. Views make it unnecessary to transpose or copy in order to
/// reshape.
#ifndef HEADLENS_TENSOR_H_
#define HEADLENS_TENSOR_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headlens/error.h"

namespace headlens {

/// The type of sizes and strides. It has 64 bits everywhere, so that size arithmetic is the same on wasm32.
using Index = std::int64_t;

/// Sizes of the dimensions, outermost first.
using Shape = std::vector<Index>;

/// For example "(2, 4, 8)".
std::string ToString(const Shape& shape);

/// The limit on the product of the other sizes of a tensor that has a size of 0. Such a tensor takes no memory, so
/// memory does not limit these sizes, and loops over them could run for hours.
inline constexpr Index kMostEmpty = Index{1} << 26;

/// The product of the sizes. Throws kShape for a negative size, or when a size is 0 and the product of the others
/// exceeds kMostEmpty. Throws kMemory when the product times 8 bytes cannot be addressed.
Index ElementCount(const Shape& shape);

/// A strided view of memory that it does not own. A null `data` means that there is no tensor. Strides count elements;
/// stride 0 broadcasts.
template <class T, std::size_t Rank>
struct View {
  T* data = nullptr;
  std::array<Index, Rank> shape{};
  std::array<Index, Rank> strides{};

  explicit operator bool() const { return data != nullptr; }

  /// A read-only view of the same elements.
  operator View<const T, Rank>() const
    requires(!std::is_const_v<T>)
  {
    return {data, shape, strides};
  }

  template <class... I>
    requires(sizeof...(I) == Rank)
  T& operator()(I... index) const {
    return *at(index...);
  }

  /// The address of an element. With fewer indices than dimensions, the address of the first element of that part.
  template <class... I>
    requires(sizeof...(I) <= Rank)
  T* at(I... index) const {
    Index offset = 0;
    std::size_t dim = 0;
    ((offset += static_cast<Index>(index) * strides[dim++]), ...);
    return data + offset;
  }
};

/// The strides of a dense row-major tensor.
template <std::size_t Rank>
std::array<Index, Rank> RowMajorStrides(const std::array<Index, Rank>& shape) {
  std::array<Index, Rank> strides{};
  Index stride = 1;
  for (std::size_t i = Rank; i-- > 0;) {
    strides[i] = stride;
    stride *= shape[i];
  }
  return strides;
}

template <class T, std::size_t Rank>
View<T, Rank> DenseView(T* data, const std::array<Index, Rank>& shape) {
  return {data, shape, RowMajorStrides(shape)};
}

/// Splits the last dimension of [B, T, H·d] into heads: [B, H, T, d]. It only computes strides; no element moves.
template <template <class, std::size_t> class AnyView, class T>
AnyView<T, 4> SplitHeads(const AnyView<T, 3>& x, Index heads) {
  if (heads <= 0 || x.shape[2] % heads != 0) {
    throw Error(ErrorCode::kShape, {"a width of ", x.shape[2], " cannot be split into ", heads, " heads"});
  }
  const Index head_dim = x.shape[2] / heads;
  return {x.data,
          {x.shape[0], heads, x.shape[1], head_dim},
          {x.strides[0], head_dim * x.strides[2], x.strides[1], x.strides[2]}};
}

/// The element types of tensors that come from outside.
enum class DType { kF32, kF64, kF16, kBF16, kU8, kBool, kI8, kI32, kI64 };

/// The name in safetensors files: "F32", "F64", …
std::string_view ToString(DType dtype);
std::size_t ByteSize(DType dtype);

namespace internal {
struct AlignedDelete {
  void operator()(void* p) const;
};
/// Uninitialised memory aligned to 64 bytes. Throws an Error kMemory instead of std::bad_alloc.
void* AllocateAligned(std::size_t bytes);
}  // namespace internal

/// The alignment of everything that the library allocates, in bytes. It fits a cache line and the widest vector
/// register.
inline constexpr std::size_t kAlignment = 64;

/// An owned array of trivial elements, aligned to 64 bytes and not initialised. A size that comes from outside must be
/// checked with ElementCount first, so that its bytes fit std::size_t.
template <class T>
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(Index size)
      : data_(static_cast<T*>(internal::AllocateAligned(static_cast<std::size_t>(size) * sizeof(T)))), size_(size) {}

  T* data() const { return data_.get(); }
  Index size() const { return size_; }

 private:
  std::unique_ptr<T, internal::AlignedDelete> data_;
  Index size_ = 0;
};

/// The sizes of a tensor. Throws kShape when they are not `Rank`.
template <std::size_t Rank>
std::array<Index, Rank> SizesOfRank(const Shape& shape) {
  if (shape.size() != Rank) throw ShapeError("a tensor", shape, {Rank, " dimensions"});
  std::array<Index, Rank> sizes{};
  for (std::size_t i = 0; i < Rank; ++i) sizes[i] = shape[i];
  return sizes;
}

/// An owned dense row-major float tensor, aligned to 64 bytes. Movable; copied only by Clone.
class Tensor {
 public:
  Tensor() = default;
  /// The elements are not initialised.
  explicit Tensor(Shape shape) : shape_(std::move(shape)), size_(ElementCount(shape_)), buffer_(size_) {}
  /// Uses elements that were allocated elsewhere, as many as the shape has, and shares their ownership.
  Tensor(Shape shape, std::shared_ptr<float> elements);
  /// Copies `values`. Throws kShape when their number does not fit the shape.
  Tensor(Shape shape, std::span<const float> values);

  const Shape& shape() const { return shape_; }
  Index size() const { return size_; }
  float* data() const { return lent_ ? lent_.get() : buffer_.data(); }
  std::span<float> values() const { return {data(), static_cast<std::size_t>(size())}; }
  Tensor Clone() const { return Tensor(shape_, values()); }
  /// The same elements under another shape. Throws kShape when its size differs.
  Tensor Reshaped(Shape shape) &&;

  /// A view of the whole tensor. Throws kShape unless it has `Rank` dimensions.
  template <std::size_t Rank>
  View<float, Rank> view() const {
    return DenseView(data(), SizesOfRank<Rank>(shape_));
  }

 private:
  Shape shape_;
  Index size_ = 0;
  Buffer<float> buffer_;
  std::shared_ptr<float> lent_;  // set instead of buffer_
};

/// Tensors by name, such as a layer's parameters or a call's results.
using TensorMap = std::map<std::string, Tensor, std::less<>>;

/// A borrowed dense row-major tensor of any element type. `data` need not be aligned.
struct RawTensor {
  DType dtype = DType::kF32;
  Shape shape;
  const std::byte* data = nullptr;
};

/// Borrows the tensor's elements.
RawTensor RawOf(const Tensor& tensor);

inline bool IsFloat(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF64 || dtype == DType::kF16 || dtype == DType::kBF16;
}

/// The number at `p` as a float; `p` need not be aligned. Throws kDtype unless IsFloat(dtype).
float LoadFloat(DType dtype, const std::byte* p);

/// Converts to float. Throws kDtype unless IsFloat(raw.dtype).
Tensor ToFloat(const RawTensor& raw);

/// The nearest BF16, ties to even. A NaN stays a NaN.
std::uint16_t RoundToBf16(float x);

}  // namespace headlens

#endif  // HEADLENS_TENSOR_H_
