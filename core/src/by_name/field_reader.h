// SPDX-License-Identifier: Apache-2.0
/// Reads the values of a list of fields from options and tensors that callers give by name.
#ifndef HEADLENS_SRC_BY_NAME_FIELD_READER_H_
#define HEADLENS_SRC_BY_NAME_FIELD_READER_H_

#include <span>
#include <string_view>
#include <utility>

#include "by_name/inputs.h"
#include "by_name/option_reader.h"

namespace headlens {

inline constexpr Index kAnySize = -1;

/// The sizes of a call, which its other tensors must fit.
struct Sizes {
  Index batch = kAnySize, heads = kAnySize, queries = kAnySize, keys = kAnySize;
  bool batched = true;  ///< the caller's tensors have a batch dimension
  Index layers = kAnySize, encoder_layers = kAnySize, encoder_heads = kAnySize;
};

/// The names that an operation has for some fields: pairs of the field's own name and the operation's.
using Rename = std::pair<std::string_view, std::string_view>;
using Renames = std::span<const Rename>;

/// A list of fields without their owner's type: a Field adds nothing to an AnyField, so both lie alike in memory.
template <class Owner>
std::span<const AnyField> AnyFields(std::span<const Field<Owner>> fields) {
  static_assert(sizeof(Field<Owner>) == sizeof(AnyField));
  const AnyField* first = fields.data();
  return {first, fields.size()};
}

/// Reads the fields that are given into the members of an object. Members of absent fields do not change.
class FieldReader {
 public:
  /// Reads options only. Borrows them.
  explicit FieldReader(OptionReader& options) : options_(options) {}
  /// Reads tensors, too. Borrows `renames` and `args`, which keeps converted tensors.
  FieldReader(OptionReader& options, Arguments& args, const Sizes& sizes, Renames renames = {})
      : options_(options), args_(&args), sizes_(sizes), renames_(renames) {}

  /// Throws kOption, kShape, kDtype or kValue for what is wrong.
  template <class Owner>
  void Read(std::span<const Field<Owner>> fields, Owner& owner) {
    Read(AnyFields(fields), &owner);
  }
  /// The same of fields whose values go into `owner`, whatever its type.
  void Read(std::span<const AnyField> fields, void* owner);

  /// Returns true when the caller gave the field, as an option or as a tensor.
  bool Has(const AnyField& field);

 private:
  std::string_view NameOf(const AnyField& field) const;
  void ReadOne(const AnyField& field, void* owner);
  void ReadMade(const AnyField& field, void* owner);
  void ReadTensor(const AnyField& field, void* owner);
  void ReadCells(const AnyField& field, const Given& input, void* owner);
  void CheckNeeds(const AnyField& field, const AnyField& needed);

  OptionReader& options_;
  Arguments* args_ = nullptr;
  Sizes sizes_{};
  Renames renames_;
};

}  // namespace headlens

#endif  // HEADLENS_SRC_BY_NAME_FIELD_READER_H_
