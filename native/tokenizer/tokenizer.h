// SPDX-License-Identifier: Apache-2.0
/// Turns texts into token ids, and ids into the text of each token, as Hugging Face's tokenizer.json describes. The
/// steps are those of Hugging Face's library: find added tokens, normalize the text between them, split it into words,
/// turn each word into tokens with the model, and add special tokens. Truncation and padding are left out.
#ifndef HEADLENS_NATIVE_TOKENIZER_TOKENIZER_H_
#define HEADLENS_NATIVE_TOKENIZER_TOKENIZER_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headlens::tokenizer {

class Tokenizer {
 public:
  /// Reads the text of a tokenizer.json, which is not kept. Throws Error: kFormat for an error in the format, and
  /// kUnsupported for kinds of steps that this program does not have.
  explicit Tokenizer(std::string_view json);
  ~Tokenizer();
  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;

  /// The ids of the tokens of `text`, with the special tokens of the post-processor unless they are not wanted. Bytes
  /// that are not UTF-8 count as U+FFFD. Throws Error: kValue for text that the vocabulary cannot express, and kMemory
  /// for a text that is too long.
  std::vector<std::int32_t> Encode(std::string_view text, bool with_special_tokens = true) const;

  /// The text of each id: pieces that together give the original text, the names of special tokens, and ⟨id⟩ for an id
  /// without a token. A byte of a character that is shared with a neighbouring token shows as ⟨E2⟩.
  std::vector<std::string> Pieces(std::span<const std::int32_t> ids) const;

  /// The tokenizer of what a decoder with an encoder reads: that in the file's "target_tokenizer", or else this one.
  const Tokenizer& target() const { return target_ ? *target_ : *this; }

 private:
  struct Parts;
  explicit Tokenizer(std::unique_ptr<const Parts> parts);

  std::unique_ptr<const Parts> parts_;
  std::unique_ptr<const Tokenizer> target_;
};

}  // namespace headlens::tokenizer

#endif  // HEADLENS_NATIVE_TOKENIZER_TOKENIZER_H_
