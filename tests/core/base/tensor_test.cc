// SPDX-License-Identifier: Apache-2.0
#include "headlens/tensor.h"

#include <cmath>
#include <cstring>

#include "support.h"

namespace headlens::testing {
namespace {

/// Calls `call` and returns the Error that it must throw.
template <class F>
Error ErrorOf(const F& call) {
  try {
    call();
  } catch (const Error& error) {
    return error;
  }
  FAIL("no Error was thrown");
  return Error(ErrorCode::kValue, "");
}

TEST_CASE("splitting and merging heads is arithmetic on strides") {
  // T0.2: (2, 4, 8) with 2 heads → (2, 2, 4, 4).
  Tensor x({2, 4, 8});
  for (Index i = 0; i < x.size(); ++i) x.data()[i] = static_cast<float>(i);
  const View<float, 4> heads = SplitHeads(x.view<3>(), 2);
  CHECK(heads.shape == std::array<Index, 4>{2, 2, 4, 4});
  CHECK(heads.data == x.data());
  for (Index b = 0; b < 2; ++b)
    for (Index h = 0; h < 2; ++h)
      for (Index t = 0; t < 4; ++t)
        for (Index i = 0; i < 4; ++i) CHECK(&heads(b, h, t, i) == &x.view<3>()(b, t, h * 4 + i));
  const Error error = ErrorOf([&] { SplitHeads(x.view<3>(), 3); });
  CHECK(error.code() == ErrorCode::kShape);
  CHECK(std::string(error.what()).find("8") != std::string::npos);
  CHECK(std::string(error.what()).find("3") != std::string::npos);
}

TEST_CASE("tensors are aligned, also empty ones, and errors name both shapes") {
  for (const Index n : {0, 1, 7, 1000}) CHECK(reinterpret_cast<std::uintptr_t>(Tensor({n}).data()) % kAlignment == 0);
  const std::vector<float> three = {1, 2, 3};
  CHECK(std::string(ErrorOf([&] { Tensor({2, 2}, three); }).what()) ==
        "a tensor has 3 values, expected 4 for shape (2, 2)");
  CHECK(std::string(ErrorOf([] { Tensor({2, 2}).view<3>(); }).what()) ==
        "a tensor has shape (2, 2), expected 3 dimensions");
  CHECK(std::string(ErrorOf([] { Tensor({2, 3}).Reshaped({5}); }).what()) ==
        "a tensor has shape (2, 3), expected one that can become (5,)");
}

TEST_CASE("large tensors, around the size of huge pages, are as small ones; one that no memory can hold is an error") {
  constexpr Index kHugePage = (Index{2} << 20) / static_cast<Index>(sizeof(float));
  for (const Index n : {kHugePage - 1, kHugePage, kHugePage + 1, 3 * kHugePage + 7}) {
    const Tensor tensor({n});
    CHECK(reinterpret_cast<std::uintptr_t>(tensor.data()) % kAlignment == 0);
    for (Index i = 0; i < n; ++i) tensor.data()[i] = static_cast<float>(i % 1000);
    CHECK(tensor.data()[n - 1] == static_cast<float>((n - 1) % 1000));
  }
  if constexpr (sizeof(void*) == 8) {  // WebAssembly has enough memory for the largest size
    CHECK(ErrorOf([] { Tensor({Index{1} << 60}); }).code() == ErrorCode::kMemory);
  }
}

TEST_CASE("size arithmetic does not overflow") {
  constexpr Index kHuge = std::numeric_limits<Index>::max();
  CHECK(ErrorOf([] { ElementCount({kHuge, 2}); }).code() == ErrorCode::kMemory);
  CHECK(ErrorOf([] { ElementCount({Index{1} << 32, Index{1} << 32}); }).code() == ErrorCode::kMemory);
  CHECK(ErrorOf([] { ElementCount({0, kHuge, kHuge}); }).code() == ErrorCode::kShape);
  CHECK(ErrorOf([] { ElementCount({kMostEmpty, 0, 2}); }).code() == ErrorCode::kShape);
  CHECK(ElementCount({kMostEmpty, 0}) == 0);
  CHECK(ErrorOf([] { ElementCount({3, -1}); }).code() == ErrorCode::kShape);
  CHECK(ElementCount({}) == 1);
  CHECK(ElementCount({4, 0, 7}) == 0);
}

template <class T>
float Converted(DType dtype, T bits) {
  const RawTensor raw{dtype, {1}, reinterpret_cast<const std::byte*>(&bits)};
  return ToFloat(raw).data()[0];
}

TEST_CASE("half, bfloat16 and double become floats") {
  CHECK(Converted<std::uint16_t>(DType::kF16, 0x3C00) == 1.0f);
  CHECK(Converted<std::uint16_t>(DType::kF16, 0xC000) == -2.0f);
  CHECK(Converted<std::uint16_t>(DType::kF16, 0x7BFF) == 65504.0f);
  CHECK(Converted<std::uint16_t>(DType::kF16, 0x0001) == std::ldexp(1.0f, -24));
  CHECK(Converted<std::uint16_t>(DType::kF16, 0x83FF) == -std::ldexp(1023.0f, -24));
  CHECK(std::signbit(Converted<std::uint16_t>(DType::kF16, 0x8000)));
  CHECK(Converted<std::uint16_t>(DType::kF16, 0xFC00) == -std::numeric_limits<float>::infinity());
  CHECK(std::isnan(Converted<std::uint16_t>(DType::kF16, 0x7E00)));
  CHECK(Converted<std::uint16_t>(DType::kBF16, 0x4049) == 3.140625f);
  CHECK(Converted<double>(DType::kF64, 0.1) == 0.1f);
  CHECK(ErrorOf([] { Converted<std::uint8_t>(DType::kBool, 1); }).code() == ErrorCode::kDtype);
}

}  // namespace
}  // namespace headlens::testing
