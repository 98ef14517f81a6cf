// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include "headlens/error.h"
#include "tokenizer/model.h"
#include "tokenizer/unicode.h"

namespace headlens::tokenizer {
namespace {

constexpr std::size_t kMaxToken = 256;  // in bytes; the time is the text's size times that of the longest token
constexpr double kUnknownPenalty = 10;  // below the least likely token

class Unigram final : public Model {
 public:
  explicit Unigram(const JsonField& field) : byte_fallback_(field["byte_fallback"].Flag(false)) {
    const JsonField list = field["vocab"];
    if (list.ListSize() == 0) list.Fail("a list of tokens and their scores");
    for (std::size_t i = 0; i < list.ListSize(); ++i) ReadToken(list.Element(i));
    const JsonField unknown = field["unk_id"];
    if (!unknown.is_null()) unknown_ = static_cast<Id>(unknown.Whole(0, static_cast<std::int64_t>(scores_.size()) - 1));
    unknown_score_ = *std::min_element(scores_.begin(), scores_.end()) - kUnknownPenalty;
  }

  void Encode(std::string_view word, std::vector<Id>& ids) const override {
    const std::vector<Node> nodes = BestPath(word);
    std::vector<std::size_t> ends;
    for (std::size_t end = word.size(); end > 0; end = nodes[end].begin) ends.push_back(end);
    for (std::size_t i = ends.size(); i > 0; --i) {
      // Adjacent unknown characters form one unknown piece.
      std::size_t first = i;
      while (nodes[ends[first - 1]].id == unknown_ && i > 1 && nodes[ends[i - 2]].id == unknown_) --i;
      Append(nodes[ends[i - 1]].id,
             word.substr(nodes[ends[first - 1]].begin, ends[i - 1] - nodes[ends[first - 1]].begin), ids);
    }
  }

 private:
  /// The best tokenization of the text up to some place, given by its last token.
  struct Node {
    Id id = -1;
    double score = 0;
    std::size_t begin = 0;
  };

  void ReadToken(const JsonField& token) {
    const JsonField name = token.Element(0), score = token.Element(1);
    if (name.Text().size() > kMaxToken) name.Refuse("tokens of up to " + std::to_string(kMaxToken) + " bytes");
    if (!score.value().is_number() || !std::isfinite(score.value().get<double>())) score.Fail("a number");
    vocabulary_.Add(name.Text(), static_cast<Id>(scores_.size()));
    scores_.push_back(score.value().get<double>());
  }

  /// Finds the best tokenization (Viterbi's algorithm): nodes[end] is the best one up to the byte `end`.
  std::vector<Node> BestPath(std::string_view word) const {
    std::vector<Node> nodes(word.size() + 1);
    ForEachCharacter(word, [&](const Character& character, std::size_t at) {
      const auto offer = [&](Id id, double score, std::size_t size) {
        Node& node = nodes[at + size];
        if (node.id < 0 || nodes[at].score + score > node.score) node = {id, nodes[at].score + score, at};
      };
      bool has_character = false;
      for (std::size_t size = 1; size <= std::min(word.size() - at, vocabulary_.longest()); ++size) {
        const auto id = vocabulary_.Find(word.substr(at, size));
        if (!id) continue;
        offer(*id, scores_[static_cast<std::size_t>(*id)], size);
        has_character = has_character || size == character.size;
      }
      if (!has_character) offer(unknown_, unknown_score_, character.size);
    });
    return nodes;
  }

  void Append(Id id, std::string_view piece, std::vector<Id>& ids) const {
    if (id != unknown_) return ids.push_back(id);
    // A run of unknown characters may be a token itself; otherwise its bytes are used.
    if (const auto known = vocabulary_.Find(piece)) return ids.push_back(*known);
    if (byte_fallback_ && AppendBytes(piece, ids)) return;
    if (unknown_ == kNoUnknown) {
      throw Wrong(ErrorCode::kValue, "the text", "has", Quoted(piece),
                  "tokens of model.vocab, since there is no model.unk_id");
    }
    ids.push_back(unknown_);
  }

  bool AppendBytes(std::string_view piece, std::vector<Id>& ids) const {
    static constexpr char kDigits[] = "0123456789ABCDEF";
    const std::size_t before = ids.size();
    for (const char c : piece) {
      const auto byte = static_cast<unsigned char>(c);
      const std::string name = {'<', '0', 'x', kDigits[byte >> 4], kDigits[byte & 15U], '>'};
      const auto id = vocabulary_.Find(name);
      if (!id) {
        ids.resize(before);
        return false;
      }
      ids.push_back(*id);
    }
    return true;
  }

  static constexpr Id kNoUnknown = std::numeric_limits<Id>::max();
  bool byte_fallback_;
  Id unknown_ = kNoUnknown;
  double unknown_score_ = 0;
  std::vector<double> scores_;
};

}  // namespace

std::unique_ptr<Model> MakeUnigram(const JsonField& field) { return std::make_unique<Unigram>(field); }

}  // namespace headlens::tokenizer
