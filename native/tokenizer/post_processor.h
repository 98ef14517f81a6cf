// SPDX-License-Identifier: Apache-2.0
#ifndef HEADLENS_NATIVE_TOKENIZER_POST_PROCESSOR_H_
#define HEADLENS_NATIVE_TOKENIZER_POST_PROCESSOR_H_

#include <functional>
#include <vector>

#include "tokenizer/fields.h"

namespace headlens::tokenizer {

/// Adds special tokens to the tokens of a text.
using PostProcessor = std::function<void(std::vector<Id>& ids)>;

/// Makes the post-processor of tokenizer.json's "post_processor", which may be null. Throws Error.
PostProcessor MakePostProcessor(const JsonField& field);

}  // namespace headlens::tokenizer

#endif  // HEADLENS_NATIVE_TOKENIZER_POST_PROCESSOR_H_
