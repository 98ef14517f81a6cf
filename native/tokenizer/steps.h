// SPDX-License-Identifier: Apache-2.0
#ifndef HEADLENS_NATIVE_TOKENIZER_STEPS_H_
#define HEADLENS_NATIVE_TOKENIZER_STEPS_H_

#include <cstddef>

#include "headlens/error.h"

namespace headlens::tokenizer {

/// The budget of work for one text. All stages of the tokenizer share it, so that more expressions or more sections
/// between added tokens do not allow more work. The time is therefore linear in the text's length, whatever
/// tokenizer.json contains. A step takes about 20 ns.
class Steps {
 public:
  explicit Steps(std::size_t bytes) : left_(kBase + kPerByte * bytes) {}

  /// Takes `count` steps. Returns false when too few are left.
  bool Take(std::size_t count) {
    left_ = count < left_ ? left_ - count : 0;
    return left_ > 0;
  }

  /// Takes the steps for one pass over `bytes` in `parts`. Throws Error(kValue) when too few are left.
  void TakePass(std::size_t bytes, std::size_t parts) {
    constexpr std::size_t kBytesPerStep = 64;
    if (!Take(1 + parts + bytes / kBytesPerStep))
      throw Error(ErrorCode::kValue, "the text", "too many steps", "",
                  "this tokenizer gives up on the text: too many steps");
  }

 private:
  static constexpr std::size_t kBase = 1'000'000, kPerByte = 512;
  std::size_t left_;
};

}  // namespace headlens::tokenizer

#endif  // HEADLENS_NATIVE_TOKENIZER_STEPS_H_
