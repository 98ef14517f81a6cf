// SPDX-License-Identifier: Apache-2.0
#ifndef HEADLENS_SRC_BY_NAME_OPERATIONS_EMBEDDING_H_
#define HEADLENS_SRC_BY_NAME_OPERATIONS_EMBEDDING_H_

#include <span>

#include "base/field.h"

namespace headlens {

enum class Positions { kNone, kSinusoidal, kLearned };

struct EmbeddingOptions {
  Positions positions = Positions::kNone;
  Index offset = 0;
  bool scaled = false;
};

/// The options of an embedding, and those of its calls.
std::span<const Field<EmbeddingOptions>> EmbeddingFields();
std::span<const Field<EmbeddingOptions>> EmbeddingCallFields();

}  // namespace headlens

#endif  // HEADLENS_SRC_BY_NAME_OPERATIONS_EMBEDDING_H_
