// SPDX-License-Identifier: Apache-2.0
/// Writes maps as HTML.
#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <span>

#include "cli/base64.h"
#include "cli/maps.h"
#include "cli/maps_colors.h"
#include "cli/show.h"
#include "nlohmann/json.hpp"
#include "system/sha256.h"

namespace headlens::cli {
namespace {

std::string NameOf(Theme theme) { return theme == Theme::kDark ? "dark" : "light"; }

constexpr std::string_view kStyle = R"(
body { margin: 1.5rem; background: var(--paper); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; }
svg { display: block; }
attention-map { --attention-paper: var(--paper); }
summary { padding: .25rem 0; cursor: pointer; }
table { margin: .5rem 0 1.5rem; border-collapse: collapse; }
caption { text-align: start; }
th, td { padding: .1rem .5rem; border: 1px solid var(--line); text-align: end; font-variant-numeric: tabular-nums; }
th { font-family: ui-monospace, monospace; font-weight: normal; }
)";

/// The beginning of a page. `allowed` adds to its policy.
std::string HtmlHead(const Maps& maps, Theme theme, const std::string& allowed) {
  const Palette palette = PaletteFor(theme);
  const std::string colors = ":root { color-scheme: " + NameOf(theme) + "; --paper: " + Css(palette.paper) +
                             "; --ink: " + Css(palette.ink) + "; --line: " + Css(palette.line) + "; }";
  return "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
         "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
         "img-src data:; base-uri 'none'; form-action 'none'" +
         allowed + "\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>" +
         TitleOf(maps) + "</title>\n<style>\n" + colors + std::string(kStyle) +
         "</style>\n</head>\n<body>\n<main>\n<h1>" + TitleOf(maps) + "</h1>\n";
}

std::string HeaderCell(const char* scope, const std::string& name) {
  return std::string("<th scope=\"") + scope + "\"><bdi>" + EscapedMarkup(name) + "</bdi></th>";
}

std::string WeightCell(float weight) {
  std::array<char, 64> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), weight, std::chars_format::fixed, 4);
  return "<td>" + (std::isnan(weight) ? "NaN" : std::string(digits.data(), end.ptr)) + "</td>";
}

/// The tables of one page: the names of the tokens are made only once.
class Tables {
 public:
  explicit Tables(const Maps& maps) : maps_(maps), queries_(QueryNames(maps)), keys_(KeyNames(maps)) {}

  std::string Details(std::size_t layer, std::size_t head) const {
    const std::string name = NameOf(maps_, layer, head);
    const View<const float, 2> weights = maps_.at(layer, head);
    return "<details>\n<summary>" + name + "</summary>\n<table>\n" +
           (maps_.rows * maps_.cols > kMostTableCells ? Strongest(layer, weights) : All(layer, weights)) +
           "</table>\n</details>\n";
  }

 private:
  std::string All(std::size_t layer, View<const float, 2> weights) const {
    std::string table = "<caption>Weights: a row for each query, a column for each key";
    table += maps_.causal ? "; “–” is masked</caption>\n" : "</caption>\n";
    table += "<thead><tr><td></td>";
    for (const std::string& key : keys_) table += HeaderCell("col", key);
    table += "</tr></thead>\n<tbody>\n";
    for (Index t = 0; t < maps_.rows; ++t) {
      table += "<tr>" + HeaderCell("row", queries_[static_cast<std::size_t>(t)]);
      for (Index s = 0; s < maps_.cols; ++s)
        table += maps_.IsMasked(layer, t, s) ? "<td>–</td>" : WeightCell(weights(t, s));
      table += "</tr>\n";
    }
    return table + "</tbody>\n";
  }

  std::string Strongest(std::size_t layer, View<const float, 2> weights) const {
    std::string table = "<caption>The strongest key of each query, since the map has more than " +
                        std::to_string(kMostTableCells) + " cells</caption>\n<thead><tr>";
    for (const char* column : {"query", "strongest key", "weight"}) table += HeaderCell("col", column);
    table += "</tr></thead>\n<tbody>\n";
    for (Index t = 0; t < maps_.rows; ++t) {
      const auto [begin, end] = maps_.KeysOf(layer, t);
      Index strongest = begin;
      for (Index s = begin + 1; s < end; ++s) {
        const bool first_number = std::isnan(weights(t, strongest)) && !std::isnan(weights(t, s));
        if (first_number || weights(t, s) > weights(t, strongest)) strongest = s;
      }
      table += "<tr>" + HeaderCell("row", std::to_string(t) + " " + queries_[static_cast<std::size_t>(t)]) +
               "<td><bdi>" +
               EscapedMarkup(std::to_string(strongest) + " " + keys_[static_cast<std::size_t>(strongest)]) +
               "</bdi></td>" + WeightCell(weights(t, strongest)) + "</tr>\n";
    }
    return table + "</tbody>\n";
  }

  const Maps& maps_;
  const std::vector<std::string> queries_, keys_;
};

bool BeginsWith(std::string_view text, std::string_view word) {
  return text.size() >= word.size() && std::equal(word.begin(), word.end(), text.begin(), [](char a, char b) {
           return a == std::tolower(static_cast<unsigned char>(b));
         });
}

/// The script with what would end or nest its element written in another way, which strings and patterns of JavaScript
/// read as the same. Elsewhere in a script these characters do not occur.
std::string InlineScript(std::string_view script) {
  std::string text;
  for (std::size_t at = 0; at < script.size(); ++at) {
    const std::string_view rest = script.substr(at);
    if (BeginsWith(rest, "</script") || BeginsWith(rest, "<!--")) {
      text += "\\x3c";
    } else {
      text += script[at];
    }
  }
  return text;
}

/// The texts of the tokens as they are, or the names of those whose text is not known.
nlohmann::json TextsOf(const std::vector<std::string>& pieces, const std::vector<std::string>& names) {
  return pieces.empty() ? names : pieces;
}

/// The data that the element draws, as JSON that cannot end the element around it.
std::string InlineData(const Maps& maps) {
  const nlohmann::json queries = TextsOf(maps.pieces, QueryNames(maps)),
                       keys = TextsOf(maps.key_pieces, KeyNames(maps));
  nlohmann::ordered_json data{{"tokens", queries}};
  if (keys != queries) data["keyTokens"] = keys;
  data["causal"] = maps.causal;
  data["layers"] = maps.layers;
  data["heads"] = maps.heads;
  std::string text;
  for (const char c : ShownJson(data.dump())) text += c == '<' ? std::string("\\u003c") : std::string(1, c);
  text.back() = ',';  // in the place of the last brace
  const Shape shape{static_cast<Index>(maps.layers.size()), static_cast<Index>(maps.heads.size()), maps.rows,
                    maps.cols};
  text += "\"weights\":{\"dtype\":\"F32\",\"shape\":" + nlohmann::json(shape).dump() + ",\"data\":\"";
  std::vector<float> all;
  for (const Tensor& layer : maps.weights) all.insert(all.end(), layer.values().begin(), layer.values().end());
  AppendBase64(text, std::as_bytes(std::span(all)));
  return text + "\"}}";
}

/// The page with the element. Its policy lets only this script run, and nothing load or send anything.
std::string Explorable(const Maps& maps, Theme theme, std::string_view given_script) {
  const std::string script = InlineScript(given_script);
  std::string allowed = "; script-src 'sha256-";
  AppendBase64(allowed, Sha256(script));
  const char* const view = maps.layers.size() * maps.heads.size() == 1 ? "map" : "grid";
  return HtmlHead(maps, theme, allowed + "'") + "<attention-map view=\"" + view + "\" theme=\"" + NameOf(theme) +
         "\"><script type=\"application/json\">" + InlineData(maps) + "</script></attention-map>\n</main>\n<script>" +
         script + "</script>\n</body>\n</html>\n";
}

}  // namespace

std::string ToHtml(const Maps& maps, const PictureStyle& style, std::string_view script) {
  if (!script.empty()) return Explorable(maps, style.theme, script);
  std::string page = HtmlHead(maps, style.theme, "") + ToSvg(maps, style) + "<h2>Numbers</h2>\n";
  const Tables tables(maps);
  for (std::size_t i = 0; i < maps.layers.size(); ++i)
    for (std::size_t j = 0; j < maps.heads.size(); ++j) page += tables.Details(i, j);
  return page + "</main>\n</body>\n</html>\n";
}

}  // namespace headlens::cli
