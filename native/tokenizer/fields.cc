// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/fields.h"

#include <limits>

namespace headlens::tokenizer {
namespace {

constexpr std::size_t kMaxSteps = 256;
constexpr std::size_t kMaxDepth = 32;

void Walk(const JsonField& step, const char* list, std::size_t depth, std::size_t& count,
          const std::function<void(const JsonField&)>& use) {
  if (TypeOf(step) != "Sequence") {
    if (++count > kMaxSteps) step.Refuse("up to " + std::to_string(kMaxSteps) + " steps");
    return use(step);
  }
  if (depth == kMaxDepth) step.Refuse("Sequences up to " + std::to_string(kMaxDepth) + " deep");
  const JsonField steps = step[list];
  if (steps.is_null()) steps.Fail("a list");
  for (std::size_t i = 0; i < steps.ListSize(); ++i) Walk(steps.Element(i), list, depth + 1, count, use);
}

}  // namespace

Id ToId(const JsonField& field) { return static_cast<Id>(field.Whole(0, std::numeric_limits<Id>::max())); }

const std::string& TypeOf(const JsonField& step) { return step["type"].Text(); }

void ForEachStep(const JsonField& root, const char* list, const std::function<void(const JsonField&)>& use) {
  std::size_t count = 0;
  if (!root.is_null()) Walk(root, list, 0, count, use);
}

}  // namespace headlens::tokenizer
