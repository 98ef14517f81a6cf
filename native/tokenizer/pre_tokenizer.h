// SPDX-License-Identifier: Apache-2.0
#ifndef HEADLENS_NATIVE_TOKENIZER_PRE_TOKENIZER_H_
#define HEADLENS_NATIVE_TOKENIZER_PRE_TOKENIZER_H_

#include <functional>
#include <string>
#include <vector>

#include "tokenizer/fields.h"
#include "tokenizer/steps.h"

namespace headlens::tokenizer {

/// A part of a text that the model turns into tokens on its own.
struct Word {
  std::string text;
  bool is_first;  ///< true at the beginning of the text
};

/// Splits the words of a text further, and changes them. Throws Error(kValue) when it takes more than `steps`.
using PreTokenizer = std::function<void(std::vector<Word>& words, Steps& steps)>;

/// Makes the pre-tokenizer of tokenizer.json's "pre_tokenizer", which may be null. Throws Error.
PreTokenizer MakePreTokenizer(const JsonField& field);

}  // namespace headlens::tokenizer

#endif  // HEADLENS_NATIVE_TOKENIZER_PRE_TOKENIZER_H_
