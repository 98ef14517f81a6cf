// SPDX-License-Identifier: Apache-2.0
#ifndef HEADLENS_NATIVE_TOKENIZER_PRE_TOKENIZER_H_
#define HEADLENS_NATIVE_TOKENIZER_PRE_TOKENIZER_H_

#include <functional>
#include <string>
#include <vector>

#include "tokenizer/fields.h"
#include "tokenizer/steps.h"

namespace headlens::tokenizer {

/// A part of a text that the model takes by itself.
struct Word {
  std::string text;
  bool is_first;  ///< it begins where the text begins
};

/// Splits the words of a text further, and changes them. Throws Error(kValue) when `steps` run out.
using PreTokenizer = std::function<void(std::vector<Word>& words, Steps& steps)>;

/// From tokenizer.json's "pre_tokenizer", which may be null. Throws Error.
PreTokenizer MakePreTokenizer(const Field& field);

}  // namespace headlens::tokenizer

#endif  // HEADLENS_NATIVE_TOKENIZER_PRE_TOKENIZER_H_
