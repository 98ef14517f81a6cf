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
  std::string_view dims;  ///< Of its result, separated by commas.
  Doc doc;
  /// Where attention itself puts it, cell by cell; null for what calls make around it.
  View<float, 4> AttentionResults::* cells = nullptr;
  bool of_memory = true;  ///< A decoder layer has it of the attention over its memory, too, as "memory_" + name.
};

std::span<const Stage> Stages();

}  // namespace headlens

#endif  // HEADLENS_SRC_ATTENTION_STAGES_H_
