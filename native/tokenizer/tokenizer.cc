// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/tokenizer.h"

#include <algorithm>
#include <optional>

#include "headlens/error.h"
#include "tokenizer/added_tokens.h"
#include "tokenizer/byte_letters.h"
#include "tokenizer/fields.h"
#include "tokenizer/model.h"
#include "tokenizer/normalizer.h"
#include "tokenizer/post_processor.h"
#include "tokenizer/pre_tokenizer.h"
#include "tokenizer/unicode.h"

namespace headlens::tokenizer {
namespace {

/// Nested deeper, a file could exhaust the stack before its own limits are looked at.
constexpr std::size_t kDeepest = 2048;

std::string Mark(const std::string& inside) { return "⟨" + inside + "⟩"; }

/// The text of the bytes. Bytes that form no whole character are marked.
std::string Visible(std::string_view bytes) {
  static constexpr char kDigits[] = "0123456789ABCDEF";
  std::string text;
  ForEachCharacter(bytes, [&](const Character& character, std::size_t at) {
    const auto byte = static_cast<unsigned char>(bytes[at]);
    text += character.valid ? std::string(bytes.substr(at, character.size))
                            : Mark({kDigits[byte >> 4], kDigits[byte & 15U]});
  });
  return text;
}

/// The byte that a name such as "<0xE2>" stands for.
std::optional<char> ByteOfName(std::string_view name) {
  if (name.size() != 6 || !name.starts_with("<0x") || name[5] != '>') return std::nullopt;
  int byte = 0;
  for (const char digit : name.substr(3, 2)) {
    const std::size_t value = std::string_view("0123456789ABCDEF").find(digit);
    if (value == std::string_view::npos) return std::nullopt;
    byte = 16 * byte + static_cast<int>(value);
  }
  return static_cast<char>(byte);
}

/// Puts `content` in place of each `part`, which is not empty.
std::string Replaced(std::string_view token, std::string_view part, std::string_view content) {
  std::string text;
  std::size_t done = 0;
  for (std::size_t at = token.find(part); at != token.npos; at = token.find(part, done)) {
    text.append(token.substr(done, at - done)).append(content);
    done = at + part.size();
  }
  return text.append(token.substr(done));
}

}  // namespace

struct Tokenizer::Parts {
  explicit Parts(const JsonField& root)
      : normalizer(MakeNormalizer(root["normalizer"])),
        pre_tokenizer(MakePreTokenizer(root["pre_tokenizer"])),
        model(MakeModel(root["model"])),
        post_processor(MakePostProcessor(root["post_processor"])),
        added(root["added_tokens"], model->vocabulary(), normalizer) {
    ForEachStep(root["decoder"], "decoders", [this](const JsonField& step) {
      const std::string& type = TypeOf(step);
      is_byte_level = is_byte_level || type == "ByteLevel";
      strips_first_space = strips_first_space || type == "Strip" || type == "Metaspace";
      if (type != "Replace" || !step["content"].Text().empty()) return;
      if (std::string part = step["pattern"]["String"].Text(""); !part.empty()) removed.push_back(std::move(part));
    });
  }

  /// Encodes the text between two added tokens of the original text.
  void EncodeSection(const Section& section, Steps& steps, std::vector<Id>& ids) const {
    Section normalized = section;
    normalized.is_first = normalizer(normalized.text, steps) && section.is_first;
    for (Section& part : added.Split(normalized, /*normalized=*/true)) {
      if (part.id) {
        ids.push_back(*part.id);
        continue;
      }
      std::vector<Word> words{{std::move(part.text), part.is_first}};
      pre_tokenizer(words, steps);
      for (const Word& word : words) model->Encode(word.text, ids);
    }
  }

  std::string PieceOf(const std::string& token) const {
    if (is_byte_level) {
      const auto bytes = BytesOfLetters(token);
      return bytes ? Visible(*bytes) : token;
    }
    if (const auto byte = ByteOfName(token)) return Visible({&*byte, 1});
    std::string piece = token;
    for (const std::string& part : removed) piece = Replaced(piece, part, "");
    return Replaced(piece, "▁", " ");
  }

  Normalizer normalizer;
  PreTokenizer pre_tokenizer;
  std::unique_ptr<Model> model;
  PostProcessor post_processor;
  AddedTokens added;
  bool is_byte_level = false;
  bool strips_first_space = false;
  std::vector<std::string> removed;  ///< parts of tokens that are not shown
};

Tokenizer::Tokenizer(std::string_view json) {
  const nlohmann::json root = ParseObject(json, "the file", kDeepest);
  const JsonField field(root, "", ErrorCode::kFormat);
  parts_ = std::make_unique<const Parts>(field);
  const JsonField target = field["target_tokenizer"];
  if (target.is_null()) return;
  if (const JsonField inner = target["target_tokenizer"]; !inner.is_null()) inner.Fail("none inside of another");
  target_.reset(new Tokenizer(std::make_unique<const Parts>(target)));
}

Tokenizer::Tokenizer(std::unique_ptr<const Parts> parts) : parts_(std::move(parts)) {}

Tokenizer::~Tokenizer() = default;
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;

std::vector<Id> Tokenizer::Encode(std::string_view text, bool with_special_tokens) const {
  if (text.size() > kMaxText) {
    throw Wrong(ErrorCode::kMemory, "the text", "has", {text.size(), " bytes"}, {"at most ", kMaxText});
  }
  Steps steps(text.size());
  std::vector<Id> ids;
  for (const Section& section : parts_->added.Split({ToValidUtf8(text), std::nullopt, true}, /*normalized=*/false)) {
    if (section.id) {
      ids.push_back(*section.id);
    } else {
      parts_->EncodeSection(section, steps, ids);
    }
  }
  if (with_special_tokens) parts_->post_processor(ids);
  return ids;
}

std::vector<std::string> Tokenizer::Pieces(std::span<const Id> ids) const {
  std::vector<std::string> pieces;
  bool is_first_text = true;
  for (const Id id : ids) {
    if (const std::string* name = parts_->added.TokenOf(id)) {
      pieces.push_back(*name);
      continue;
    }
    const std::string* token = parts_->model->vocabulary().TokenOf(id);
    std::string piece = token ? parts_->PieceOf(*token) : Mark(std::to_string(id));
    if (std::exchange(is_first_text, false) && parts_->strips_first_space && piece.size() > 1 && piece[0] == ' ') {
      piece.erase(0, 1);
    }
    pieces.push_back(std::move(piece));
  }
  return pieces;
}

}  // namespace headlens::tokenizer
