// SPDX-License-Identifier: Apache-2.0
/// The intermediate results of attention, which callers ask for by name.
#ifndef HEADLENS_SRC_ATTENTION_STAGES_H_
#define HEADLENS_SRC_ATTENTION_STAGES_H_

#include <span>
#include <string_view>

#include "base/field.h"
#include "headlens/attention.h"

namespace headlens {

struct Stage {
  std::string_view name;
  std::string_view dims;  ///< Dimensions of its result, separated by commas.
  Doc doc;
  /// The result that receives it, with one number for each cell; null for stages that are handled on their own.
  View<float, 4> AttentionResults::* cells = nullptr;
  bool of_memory = true;  ///< A decoder layer also has it for the attention over the memory, as "memory_" + name.
};

std::span<const Stage> Stages();

}  // namespace headlens

#endif  // HEADLENS_SRC_ATTENTION_STAGES_H_
