// SPDX-License-Identifier: Apache-2.0
/// Tensors: views with strides, and owned row-major storage. Nothing here is ever transposed or copied to be reshaped.
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

/// Sizes and strides. 64 bits everywhere, so that size arithmetic is the same on wasm32.
using Index = std::int64_t;

/// Sizes of the dimensions, outermost first.
using Shape = std::vector<Index>;

/// "(2, 4, 8)"
std::string ToString(const Shape& shape);

/// The other sizes of a tensor without elements may multiply to no more than this. Memory bounds the sizes of all other
/// tensors; these take none, and loops over their sizes would run for hours.
inline constexpr Index kMostEmpty = Index{1} << 26;

/// Product of the sizes. Throws kShape for a negative size and, where a size is 0, for others whose product is more
/// than kMostEmpty; kMemory when the product, times 8 bytes, cannot be addressed.
Index ElementCount(const Shape& shape);

/// A strided view of memory that somebody else owns. `data == nullptr` means "not there". Strides count elements; 0
/// broadcasts.
template <class T, std::size_t Rank>
struct View {
  T* data = nullptr;
  std::array<Index, Rank> shape{};
  std::array<Index, Rank> strides{};

  explicit operator bool() const { return data != nullptr; }

  /// Read-only view of the same elements.
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

  /// Address of an element; fewer indices than dimensions address the first element of what is left.
  template <class... I>
    requires(sizeof...(I) <= Rank)
  T* at(I... index) const {
    Index offset = 0;
    std::size_t dim = 0;
    ((offset += static_cast<Index>(index) * strides[dim++]), ...);
    return data + offset;
  }
};

/// Strides of a dense row-major tensor.
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

/// Splits the last dimension of [B, T, H·d] into heads: [B, H, T, d]. Arithmetic on strides; merging is the same view
/// read backwards.
template <class T>
View<T, 4> SplitHeads(const View<T, 3>& x, Index heads) {
  if (heads <= 0 || x.shape[2] % heads != 0) {
    throw Error(ErrorCode::kShape, "cannot split a width of " + std::to_string(x.shape[2]) + " into " +
                                       std::to_string(heads) + " heads: the width must be a multiple of the heads");
  }
  const Index head_dim = x.shape[2] / heads;
  return {x.data,
          {x.shape[0], heads, x.shape[1], head_dim},
          {x.strides[0], head_dim * x.strides[2], x.strides[1], x.strides[2]}};
}

/// Element types that can come in from outside.
enum class DType { kF32, kF64, kF16, kBF16, kU8, kBool, kI32, kI64 };

/// "F32", … as safetensors spells them.
std::string_view ToString(DType dtype);
std::size_t ByteSize(DType dtype);

namespace internal {
struct AlignedDelete {
  void operator()(void* p) const;
};
/// 64-byte aligned, uninitialised. Throws Error kMemory instead of std::bad_alloc.
void* AllocateAligned(std::size_t bytes);
}  // namespace internal

/// Alignment of everything the library allocates, in bytes: a cache line, and the widest vector there is.
inline constexpr std::size_t kAlignment = 64;

/// Owned, 64-byte aligned array of trivial elements; not initialised. A size that comes from outside is an
/// ElementCount: only then do its bytes fit std::size_t.
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

/// An owned dense row-major float tensor, 64-byte aligned. Movable; copied only by name (Clone).
class Tensor {
 public:
  Tensor() = default;
  /// Uninitialised elements.
  explicit Tensor(Shape shape) : shape_(std::move(shape)), size_(ElementCount(shape_)), buffer_(size_) {}
  /// Elements that somebody else allocated: as many as the shape has, until the last owner of `elements` is gone.
  Tensor(Shape shape, std::shared_ptr<float> elements);
  /// Copies `values`, whose number must fit the shape.
  Tensor(Shape shape, std::span<const float> values);

  const Shape& shape() const { return shape_; }
  Index size() const { return size_; }
  float* data() const { return lent_ ? lent_.get() : buffer_.data(); }
  std::span<float> values() const { return {data(), static_cast<std::size_t>(size())}; }
  Tensor Clone() const { return Tensor(shape_, values()); }
  /// The same elements under another shape of the same size. Throws kShape.
  Tensor Reshaped(Shape shape) &&;

  /// View of the whole tensor. Throws kShape when the rank is not `Rank`.
  template <std::size_t Rank>
  View<float, Rank> view() const {
    if (shape_.size() != Rank) {
      throw Error(ErrorCode::kShape, "expected " + std::to_string(Rank) + " dimensions, got " + ToString(shape_));
    }
    std::array<Index, Rank> shape{};
    for (std::size_t i = 0; i < Rank; ++i) shape[i] = shape_[i];
    return DenseView(data(), shape);
  }

 private:
  Shape shape_;
  Index size_ = 0;
  Buffer<float> buffer_;
  std::shared_ptr<float> lent_;  // instead of the buffer
};

/// Tensors by name, such as a layer's parameters or a call's results.
using TensorMap = std::map<std::string, Tensor, std::less<>>;

/// A dense row-major tensor of any element type in memory that somebody else owns; `data` need not be aligned.
struct RawTensor {
  DType dtype = DType::kF32;
  Shape shape;
  const std::byte* data = nullptr;
};

/// Borrows the tensor's elements.
RawTensor RawOf(const Tensor& tensor);

/// The float at `p`, which need not be aligned: F32, F64, F16 or BF16. Throws kDtype for the others.
float LoadFloat(DType dtype, const std::byte* p);

/// Copies to float: F32, F64, F16 and BF16. Throws kDtype for the others.
Tensor ToFloat(const RawTensor& raw);

/// The nearest BF16, of two the even one; a NaN stays one.
std::uint16_t RoundToBf16(float x);

}  // namespace headlens

#endif  // HEADLENS_TENSOR_H_
