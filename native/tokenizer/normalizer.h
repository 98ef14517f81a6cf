// SPDX-License-Identifier: Apache-2.0
#ifndef HEADLENS_NATIVE_TOKENIZER_NORMALIZER_H_
#define HEADLENS_NATIVE_TOKENIZER_NORMALIZER_H_

#include <functional>
#include <string>

#include "tokenizer/fields.h"
#include "tokenizer/steps.h"

namespace headlens::tokenizer {

/// The longest text in bytes, before and after each step of its normalization. A longer text is an Error(kMemory).
inline constexpr std::size_t kMaxText = std::size_t{16} << 20;

/// Changes a text before it is split. Returns false when it removes the first character, as a text without it does not
/// count as the first of a section any more. Throws Error(kValue) when it takes more than `steps`.
using Normalizer = std::function<bool(std::string& text, Steps& steps)>;

/// Makes the normalizer of tokenizer.json's "normalizer", which may be null. Throws Error.
Normalizer MakeNormalizer(const JsonField& field);

}  // namespace headlens::tokenizer

#endif  // HEADLENS_NATIVE_TOKENIZER_NORMALIZER_H_
