// SPDX-License-Identifier: Apache-2.0
/// Reads the fields of tokenizer.json. Errors name the field, its value and what was expected.
#ifndef HEADLENS_NATIVE_TOKENIZER_FIELDS_H_
#define HEADLENS_NATIVE_TOKENIZER_FIELDS_H_

#include <cstdint>
#include <functional>
#include <string>

#include "base/words.h"
#include "files/json.h"

namespace headlens::tokenizer {

using Id = std::int32_t;

Id ToId(const JsonField& field);

/// The kind of step, its "type". The step must be an object.
const std::string& TypeOf(const JsonField& step);

/// The steps of `root`, in their order, with Sequences of Sequences (in the field `list`) taken apart. Null has none.
void ForEachStep(const JsonField& root, const char* list, const std::function<void(const JsonField&)>& use);

/// Makes a step with the function that `kinds`, a map from types to functions of a field, has for its type. Throws
/// Error(kUnsupported) for other types.
template <class Kinds>
auto Make(const Kinds& kinds, const JsonField& step) {
  const auto kind = kinds.find(TypeOf(step));
  if (kind == kinds.end()) step["type"].Refuse(Joined(kinds, [](const auto& known) { return known.first; }));
  return kind->second(step);
}

}  // namespace headlens::tokenizer

#endif  // HEADLENS_NATIVE_TOKENIZER_FIELDS_H_
