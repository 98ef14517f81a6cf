// SPDX-License-Identifier: Apache-2.0
/// Tensors where a backend computes. They may be out of the host's reach, as a GPU's memory is, so that a handle and
/// not an address stands for them.
#ifndef HEADLENS_DEVICE_H_
#define HEADLENS_DEVICE_H_

#include <concepts>
#include <functional>
#include <memory>
#include <span>
#include <type_traits>

#include "headlens/tensor.h"

namespace headlens {

/// Elements that only one backend can reach. That backend derives its own class and knows it again.
class Storage {
 public:
  Storage() = default;
  virtual ~Storage() = default;
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;
};

namespace internal {
[[noreturn]] void ThrowNotOnHost();
}  // namespace internal

/// The place of an element: an address of the host, or an element of a storage, counted from its first. Borrowed.
template <class T>
struct DevicePointer {
  DevicePointer() = default;
  // Implicit: an address of the host is such a place.
  DevicePointer(T* address) : address(address) {}
  DevicePointer(Storage* storage, Index first) : storage(storage), first(first) {}
  // Implicit: what can be written can be read.
  template <class U>
    requires(!std::same_as<U, T> && std::convertible_to<U*, T*>)
  DevicePointer(const DevicePointer<U>& p) : address(p.address), storage(p.storage), first(p.first) {}

  explicit operator bool() const { return address || storage; }
  DevicePointer operator+(Index elements) const {
    return storage ? DevicePointer(storage, first + elements) : DevicePointer(address + elements);
  }
  /// The address on the host. Throws kUnsupported for a place in a storage.
  T* host() const {
    if (storage) internal::ThrowNotOnHost();
    return address;
  }

  T* address = nullptr;
  Storage* storage = nullptr;  ///< instead of the address
  Index first = 0;             ///< of the storage's elements
};

/// A strided view of elements that a backend computes with, wherever they are. A view of the host's memory is one, too.
/// The host reaches the elements through host() alone.
template <class T, std::size_t Rank>
struct DeviceView {
  DeviceView() = default;
  DeviceView(DevicePointer<T> data, const std::array<Index, Rank>& shape, const std::array<Index, Rank>& strides)
      : data(data), shape(shape), strides(strides) {}
  template <class U>
    requires(std::convertible_to<U*, T*>)
  DeviceView(const View<U, Rank>& view) : DeviceView(view.data, view.shape, view.strides) {}
  template <class U>
    requires(!std::same_as<U, T> && std::convertible_to<U*, T*>)
  DeviceView(const DeviceView<U, Rank>& view) : DeviceView(view.data, view.shape, view.strides) {}
  /// The elements of a span, a vector or an array.
  template <class Range>
    requires(Rank == 1 && std::constructible_from<std::span<T>, Range&>)
  DeviceView(Range&& range) : shape{static_cast<Index>(std::size(range))}, strides{1} {
    data = std::span<T>(range).data();
  }

  explicit operator bool() const { return static_cast<bool>(data); }

  /// The place of an element; fewer indices than dimensions mean the first element of what is left.
  template <class... I>
    requires(sizeof...(I) <= Rank)
  DevicePointer<T> at(I... index) const {
    Index offset = 0;
    std::size_t dim = 0;
    ((offset += static_cast<Index>(index) * strides[dim++]), ...);
    return data + offset;
  }

  /// The same elements for the host. Throws kUnsupported where they are in a storage.
  View<T, Rank> host() const { return {data.host(), shape, strides}; }

  DevicePointer<T> data;
  std::array<Index, Rank> shape{};
  std::array<Index, Rank> strides{};
};

template <class T, std::size_t Rank>
DeviceView<T, Rank> DenseView(DevicePointer<T> data, const std::array<Index, Rank>& shape) {
  return {data, shape, RowMajorStrides(shape)};
}

/// A handle of dense row-major elements where a backend computes (Backend::Allocate, Backend::Upload). Copies of it
/// share the elements, which live as long as one of them.
class DeviceTensor {
 public:
  DeviceTensor() = default;
  // Implicit: every backend can take the host's elements.
  DeviceTensor(Tensor host)
      : shape_(host.shape()), size_(host.size()), host_(std::make_shared<const Tensor>(std::move(host))) {}
  DeviceTensor(Shape shape, std::shared_ptr<Storage> storage)
      : shape_(std::move(shape)), size_(ElementCount(shape_)), storage_(std::move(storage)) {}

  /// False for the handle of nothing.
  explicit operator bool() const { return host_ || storage_; }

  const Shape& shape() const { return shape_; }
  Index size() const { return size_; }
  DevicePointer<float> data() const {
    if (storage_) return {storage_.get(), 0};
    return host_ ? host_->data() : nullptr;
  }
  DeviceView<float, 1> values() const { return {data(), {size_}, {1}}; }

  /// View of the whole tensor. Throws kShape when the rank is not `Rank`.
  template <std::size_t Rank>
  DeviceView<float, Rank> view() const {
    return DenseView(data(), SizesOfRank<Rank>(shape_));
  }

  const std::shared_ptr<Storage>& storage() const { return storage_; }
  /// The same elements as a tensor of the host, which shares them. Throws kUnsupported where they are in a storage.
  Tensor host() const;

 private:
  Shape shape_;
  Index size_ = 0;
  std::shared_ptr<const Tensor> host_;
  std::shared_ptr<Storage> storage_;  // instead of the host's elements
};

/// Elements of a tensor on their way to the host (Backend::ReadBack). Until they are there, nothing may change them;
/// and where the backend computes on the host, they are still the tensor's own afterwards.
class Reading {
 public:
  virtual ~Reading() = default;
  /// Waits for the elements and hands them over, once. Throws what the backend's operations throw.
  virtual Tensor Wait() = 0;
  /// Calls use(this reading) as soon as Wait need not wait: now, or later on any thread, even where the caller has let
  /// go of the reading by then. A device that cannot wait, such as a browser's, offers this alone.
  virtual void Then(std::function<void(Reading&)> use) = 0;
};

}  // namespace headlens

#endif  // HEADLENS_DEVICE_H_
