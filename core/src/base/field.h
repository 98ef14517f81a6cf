// SPDX-License-Identifier: Apache-2.0
/// Descriptions of the options and tensors that callers give by name.
///
/// Each rule (a mask, a normaliser, a layer, an analysis) lists its options and tensors once: their names, types and
/// limits, one line of documentation, and the member that receives the value. The rule does not know where values come
/// from. by_name/ reads all lists in the same way, and the names and documentation in other languages are generated
/// from them.
#ifndef HEADLENS_SRC_BASE_FIELD_H_
#define HEADLENS_SRC_BASE_FIELD_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "headlens/tensor.h"

namespace headlens {

/// Documentation that the program prints. It is left out of WebAssembly modules, which pages have to download.
class Doc {
 public:
#ifdef __EMSCRIPTEN__
  consteval Doc(const char*) {}
  std::string_view text() const { return {}; }
#else
  constexpr Doc(const char* text) : text_(text) {}
  constexpr std::string_view text() const { return text_; }

 private:
  const char* text_;
#endif
};

enum class FieldType : std::uint8_t {
  kFlag,    ///< true or false
  kCount,   ///< a whole number, at least `least`
  kNumber,  ///< a finite number
  kSingle,  ///< a finite number that a 32-bit float can hold
  kChoice,  ///< one of `choices`
  kName,    ///< a name that the reader of the field looks up; `choices` may list the names
  kNames,   ///< a list of such names
  kPair,    ///< two whole numbers, which the field's reader reads by itself
  // Tensors:
  kBooleans,
  kIntegers,  ///< whole numbers of 32 bits
  kLengths,   ///< whole numbers from 0 to the number of keys
  kFloats,
  kBooleanList,   ///< of one dimension, and not empty
  kIntegerList,   ///< the same of whole numbers of 32 bits
  kTextFloats,    ///< floats of one text: leading dimensions of size 1 may be missing, or too many
  kBooleanCells,  ///< booleans of two to four dimensions, one for each query and key
  kFloatCells,    ///< floats of two to four dimensions, one for each query and key
};

inline constexpr bool IsTensor(FieldType type) { return type >= FieldType::kBooleans; }

/// One name of a choice, with the enumerator (or bool) that it stands for.
struct Choice {
  template <class E>
  constexpr Choice(std::string_view choice_name, E choice_value, Doc choice_doc = "")
      : name(choice_name), value(static_cast<int>(choice_value)), doc(choice_doc) {}

  std::string_view name;
  int value;
  Doc doc;
};

/// A tensor that was given for a field, with its shape and strides.
struct PlacedTensor {
  const void* data;
  std::span<const Index> shape, strides;
};

struct AnyField {
  std::string_view name;
  FieldType type;
  Doc doc;
  Index least = 0;
  std::span<const Choice> choices = {};
  /// The dimensions of a tensor, separated by commas. B, H, T and S are sizes of the call; any other name stands for
  /// any size.
  std::string_view dims = {};
  /// Other dimensions that are accepted. The tensor is broadcast along a dimension that they lack or give as 1.
  std::string_view also = {};
  bool required = false;
  /// A tensor whose numbers must all be finite. Numbers of other tensors are checked where they are used.
  bool finite = false;
  /// Another field that must be given, or this one has no meaning.
  std::string_view needs = {};
  /// Another field that sets the same value. Only one of the two may be given.
  std::string_view instead_of = {};
  /// For an option that stands for a tensor [H]: makes the tensor from the option's value. A single number is used for
  /// all heads, and without numbers the tensor stays absent.
  std::vector<float> (*make)(double value, Index heads) = nullptr;

  void (*set)(void* owner, double value) = nullptr;
  void (*set_tensor)(void* owner, const PlacedTensor& tensor) = nullptr;
  void (*set_names)(void* owner, std::vector<std::string> names) = nullptr;
  std::optional<double> (*get)(const void* owner) = nullptr;  ///< for printing defaults; not in WebAssembly
};

/// A field that sets a member of an Owner.
template <class T>
struct Field : AnyField {
  using Owner = T;
};

namespace field {

template <class Member>
struct MemberTraits;
template <class C, class M>
struct MemberTraits<M C::*> {
  using Owner = C;
  using Value = M;
};
template <auto kMember>
using OwnerOf = typename MemberTraits<decltype(kMember)>::Owner;
template <auto kMember>
using ValueOf = typename MemberTraits<decltype(kMember)>::Value;

template <class T>
struct Plain {
  using Type = T;
};
template <class T>
struct Plain<std::optional<T>> {
  using Type = T;
};

template <auto kMember>
void Set(void* owner, double value) {
  using Value = typename Plain<ValueOf<kMember>>::Type;
  static_cast<OwnerOf<kMember>*>(owner)->*kMember =
      static_cast<Value>(static_cast<std::conditional_t<std::is_enum_v<Value>, int, Value>>(value));
}

template <auto kMember>
std::optional<double> Get(const void* owner) {
  const auto& value = static_cast<const OwnerOf<kMember>*>(owner)->*kMember;
  const auto number = [](auto plain) {
    if constexpr (std::is_enum_v<decltype(plain)>)
      return static_cast<double>(static_cast<int>(plain));
    else
      return static_cast<double>(plain);
  };
  if constexpr (std::is_same_v<typename Plain<ValueOf<kMember>>::Type, ValueOf<kMember>>)
    return number(value);
  else
    return value ? std::optional<double>(number(*value)) : std::nullopt;
}

template <class T>
void Assign(std::span<const T>& list, const PlacedTensor& tensor) {
  list = {static_cast<const T*>(tensor.data), static_cast<std::size_t>(tensor.shape[0])};
}

template <class T, std::size_t kRank>
void Assign(View<T, kRank>& view, const PlacedTensor& tensor) {
  view.data = static_cast<decltype(view.data)>(tensor.data);
  std::copy(tensor.shape.begin(), tensor.shape.end(), view.shape.begin());
  std::copy(tensor.strides.begin(), tensor.strides.end(), view.strides.begin());
}

template <auto kMember>
void SetTensor(void* owner, const PlacedTensor& tensor) {
  Assign(static_cast<OwnerOf<kMember>*>(owner)->*kMember, tensor);
}

template <auto kMember>
constexpr Field<OwnerOf<kMember>> Scalar(std::string_view name, FieldType type, Doc doc) {
  Field<OwnerOf<kMember>> made{{.name = name, .type = type, .doc = doc}};
  made.set = Set<kMember>;
#ifndef __EMSCRIPTEN__
  made.get = Get<kMember>;
#endif
  return made;
}

template <auto kMember>
constexpr Field<OwnerOf<kMember>> Tensor(std::string_view name, FieldType type, std::string_view dims,
                                         std::string_view also, Doc doc) {
  Field<OwnerOf<kMember>> made{{.name = name, .type = type, .doc = doc, .dims = dims, .also = also}};
  made.set_tensor = SetTensor<kMember>;
  return made;
}

// The functions below make the fields of such lists. `kMember` is the member that receives the value; it keeps its
// default when the option is not given.

template <auto kMember>
constexpr auto Flag(std::string_view name, Doc doc) {
  return Scalar<kMember>(name, FieldType::kFlag, doc);
}

template <auto kMember>
constexpr auto Count(std::string_view name, Index least, Doc doc) {
  auto made = Scalar<kMember>(name, FieldType::kCount, doc);
  made.least = least;
  return made;
}

/// A number that is stored in the member's type.
template <auto kMember>
constexpr auto Number(std::string_view name, Doc doc) {
  constexpr bool kIsSingle = std::is_same_v<typename Plain<ValueOf<kMember>>::Type, float>;
  return Scalar<kMember>(name, kIsSingle ? FieldType::kSingle : FieldType::kNumber, doc);
}

template <auto kMember>
constexpr auto OneOf(std::string_view name, std::span<const Choice> choices, Doc doc) {
  auto made = Scalar<kMember>(name, FieldType::kChoice, doc);
  made.choices = choices;
  return made;
}

template <auto kMember>
constexpr auto Booleans(std::string_view name, std::string_view dims, Doc doc) {
  return Tensor<kMember>(name, FieldType::kBooleans, dims, {}, doc);
}

template <auto kMember>
constexpr auto Integers(std::string_view name, std::string_view dims, Doc doc) {
  return Tensor<kMember>(name, FieldType::kIntegers, dims, {}, doc);
}

template <auto kMember>
constexpr auto Lengths(std::string_view name, std::string_view dims, std::string_view also, Doc doc) {
  return Tensor<kMember>(name, FieldType::kLengths, dims, also, doc);
}

template <auto kMember>
constexpr auto Floats(std::string_view name, std::string_view dims, std::string_view also, Doc doc) {
  return Tensor<kMember>(name, FieldType::kFloats, dims, also, doc);
}

template <auto kMember>
constexpr auto BooleanCells(std::string_view name, Doc doc) {
  return Tensor<kMember>(name, FieldType::kBooleanCells, "B,H,T,S", {}, doc);
}

template <auto kMember>
constexpr auto FloatCells(std::string_view name, Doc doc) {
  return Tensor<kMember>(name, FieldType::kFloatCells, "B,H,T,S", {}, doc);
}

/// Booleans in a list, such as one for each key.
template <auto kMember>
constexpr auto BooleanList(std::string_view name, std::string_view dim, Doc doc) {
  return Tensor<kMember>(name, FieldType::kBooleanList, dim, {}, doc);
}

template <auto kMember>
constexpr auto IntegerList(std::string_view name, std::string_view dim, Doc doc) {
  return Tensor<kMember>(name, FieldType::kIntegerList, dim, {}, doc);
}

/// Floats that have no batch, whatever they come from.
template <auto kMember>
constexpr auto TextFloats(std::string_view name, std::string_view dims, Doc doc) {
  return Tensor<kMember>(name, FieldType::kTextFloats, dims, {}, doc);
}

/// A list of names, each of which its reader looks up.
template <auto kMember>
constexpr auto Names(std::string_view name, Doc doc) {
  using Owner = OwnerOf<kMember>;
  Field<Owner> made{{.name = name, .type = FieldType::kNames, .doc = doc}};
  made.set_names = [](void* owner, std::vector<std::string> names) {
    static_cast<Owner*>(owner)->*kMember = std::move(names);
  };
  return made;
}

/// A field that its reader handles by itself. It is listed for its documentation only.
template <class Owner>
constexpr Field<Owner> Listed(FieldType type, std::string_view name, std::string_view dims, Doc doc,
                              std::span<const Choice> choices = {}) {
  return {{.name = name, .type = type, .doc = doc, .choices = choices, .dims = dims}};
}

/// An option that stands for a tensor [H], which `make` computes. `tensor` is the field that gives this tensor
/// directly.
template <auto kMember>
constexpr auto Made(FieldType type, std::string_view name, std::string_view tensor,
                    std::vector<float> (*make)(double value, Index heads), Doc doc) {
  auto made = Tensor<kMember>(name, type, "H", {}, doc);
  made.instead_of = tensor;
  made.make = make;
  return made;
}

/// A field that must be given.
template <class Owner>
constexpr Field<Owner> Required(Field<Owner> made) {
  made.required = true;
  return made;
}

/// A tensor that must not hold infinities or NaN.
template <class Owner>
constexpr Field<Owner> Finite(Field<Owner> made) {
  made.finite = true;
  return made;
}

/// A field that can only be given together with another one.
template <class Owner>
constexpr Field<Owner> Needs(std::string_view other, Field<Owner> made) {
  made.needs = other;
  return made;
}

}  // namespace field
}  // namespace headlens

#endif  // HEADLENS_SRC_BASE_FIELD_H_
