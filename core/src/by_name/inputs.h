// SPDX-License-Identifier: Apache-2.0
/// Converts the named inputs of a problem to the views that the engine takes, and checks their types, ranks and
/// layouts.
#ifndef HEADLENS_SRC_BY_NAME_INPUTS_H_
#define HEADLENS_SRC_BY_NAME_INPUTS_H_

#include <array>
#include <cstdint>
#include <list>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headlens/attention.h"
#include "headlens/tensor.h"

namespace headlens {

/// One input, with its memory.
struct Given {
  DType dtype = DType::kF32;
  Shape shape;
  Buffer<std::byte> bytes;

  RawTensor raw() const { return {dtype, shape, bytes.data()}; }
};

inline bool IsBoolean(DType dtype) { return dtype == DType::kU8 || dtype == DType::kBool; }

using Inputs = std::map<std::string, Given, std::less<>>;

/// Puts an input of this name among the others, and returns its storage.
std::span<std::byte> Declare(Inputs& inputs, std::string_view name, DType dtype, const Shape& shape);

/// Returns the indices of an element of a dense tensor.
Shape PlaceOf(Index element, const Shape& shape);

/// The inputs of one run as views. Keeps the inputs that had to be converted or checked. Errors name the input.
class Arguments {
 public:
  explicit Arguments(const Inputs& inputs) : inputs_(inputs) {}

  /// Returns null when the input was not given.
  const Given* Find(std::string_view name) const;
  /// Throws kShape when the input was not given.
  const Given& Need(std::string_view name) const;

  const float* Floats(std::string_view name, const Given& input);
  const std::uint8_t* Booleans(std::string_view name, const Given& input) const;
  /// Integers as 32 bits, each from `least` to `most`.
  const std::int32_t* Integers(std::string_view name, const Given& input, Index least, Index most);

  /// Keeps values that were made from options.
  const float* Keep(std::span<const float> values);

  /// Throws kValue, naming the place in the caller's own tensor, where it holds a number that `is_right` does not take.
  void ExpectEach(std::string_view name, const float* data, const Shape& shape, bool (*is_right)(float),
                  const char* expected);
  /// Makes these checks once more: the inputs may have been filled with other numbers since.
  void CheckAgain() const;

  /// True when only views of the inputs were asked for, so that they follow a change of the inputs.
  bool only_views() const { return converted_.empty() && integers_.empty(); }

 private:
  struct Check {
    void Make() const;

    std::string_view name;
    const float* data;
    const Shape* shape;
    bool (*is_right)(float);
    const char* expected;
  };

  const Inputs& inputs_;
  std::vector<Check> checks_;
  std::list<Tensor> converted_, kept_;
  std::list<std::vector<std::int32_t>> integers_;
};

/// The query, key and value of a call, of which key and value may be absent.
struct Qkv {
  const Given &query, &key, &value;
  std::string_view key_name, value_name;

  explicit Qkv(const Arguments& args)
      : query(args.Need("query")),
        key(args.Find("key") ? args.Need("key") : query),
        value(args.Find("value") ? args.Need("value") : key),
        key_name(args.Find("key") ? "key" : "query"),
        value_name(args.Find("value") ? "value" : key_name) {}
};

[[noreturn]] void RefuseBatches(std::string_view name, const Shape& shape, bool batch_first);

/// A view [B, T, D] of a tensor that is batch-first, step-first, or without a batch.
template <class T>
View<T, 3> AsBatches(std::string_view name, T* data, const Shape& shape, bool batch_first) {
  if (shape.size() == 2) return DenseView(data, std::array<Index, 3>{1, shape[0], shape[1]});
  if (shape.size() != 3) {
    RefuseBatches(name, shape, batch_first);
  }
  if (batch_first) return DenseView(data, std::array<Index, 3>{shape[0], shape[1], shape[2]});
  return {data, {shape[1], shape[0], shape[2]}, {shape[2], shape[1] * shape[2], 1}};
}

/// Throws kShape unless `given` has the sizes `expected`, [B, T, D], as the caller lays them out.
void ExpectBatches(std::string_view name, const Shape& given, const std::array<Index, 3>& expected, bool batch_first,
                   const Fragment& why);

/// A view [B, H, T, d] of a tensor with `rank` dimensions, 2 to 4. Three dimensions are (H, T, d) or (B, T, d).
View<const float, 4> AsHeads(std::string_view name, const float* data, const Shape& shape, std::size_t rank,
                             bool heads_in_three);

}  // namespace headlens

#endif  // HEADLENS_SRC_BY_NAME_INPUTS_H_
