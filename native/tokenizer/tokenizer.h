// SPDX-License-Identifier: Apache-2.0
/// Texts to the ids of their tokens, and back to what each token shows, as Hugging Face's tokenizer.json says. The
/// steps are those of its library: added tokens are found, the text between them is normalized, split into words, each
/// word made tokens of by the model, and special tokens are put around them. Truncation and padding are left out.
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
  /// From the text of a tokenizer.json, which is not kept. Throws Error: kFormat for what breaks the format,
  /// kUnsupported for kinds of steps that are not offered here.
  explicit Tokenizer(std::string_view json);
  ~Tokenizer();
  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;

  /// The ids of the tokens of `text`, with the special tokens of the post-processor. Bytes that are no UTF-8 count as
  /// U+FFFD. Throws Error: kValue for what the vocabulary cannot say, kMemory for a text that is too long.
  std::vector<std::int32_t> Encode(std::string_view text) const;

  /// What each id stands for: pieces of text that join to the text, special tokens by their names, and ⟨id⟩ for an id
  /// without a token. A byte that belongs to a character shared with a neighbouring token shows as ⟨E2⟩.
  std::vector<std::string> Pieces(std::span<const std::int32_t> ids) const;

 private:
  struct Parts;
  std::unique_ptr<const Parts> parts_;
};

}  // namespace headlens::tokenizer

#endif  // HEADLENS_NATIVE_TOKENIZER_TOKENIZER_H_
