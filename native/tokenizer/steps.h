// SPDX-License-Identifier: Apache-2.0
#ifndef HEADLENS_NATIVE_TOKENIZER_STEPS_H_
#define HEADLENS_NATIVE_TOKENIZER_STEPS_H_

#include <cstddef>

#include "headlens/error.h"

namespace headlens::tokenizer {

/// The budget that one text has left. It goes with the text through all that a tokenizer.json does to it, so that
/// neither another expression nor another section between added tokens brings more: the time is linear in the text's
/// length, whatever the file says. A step takes some 20 ns.
class Steps {
 public:
  explicit Steps(std::size_t bytes) : left_(kBase + kPerByte * bytes) {}

  /// False when none is left.
  bool Take(std::size_t count) {
    left_ = count < left_ ? left_ - count : 0;
    return left_ > 0;
  }

  /// For one pass over `bytes` in `parts`. Throws Error(kValue) when none is left.
  void TakePass(std::size_t bytes, std::size_t parts) {
    constexpr std::size_t kBytesPerStep = 64;
    if (!Take(1 + parts + bytes / kBytesPerStep))
      throw Error(ErrorCode::kValue, "this tokenizer gives up on the text: too many steps");
  }

 private:
  static constexpr std::size_t kBase = 1'000'000, kPerByte = 512;
  std::size_t left_;
};

}  // namespace headlens::tokenizer

#endif  // HEADLENS_NATIVE_TOKENIZER_STEPS_H_
