// SPDX-License-Identifier: Apache-2.0
/// Errors as data: what is wrong apart from its words, and names apart from all other words.
#include "headlens/error.h"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/words.h"
#include "doctest/doctest.h"

namespace headlens::testing {
namespace {

using Shape = std::vector<std::int64_t>;
using Name = std::pair<std::string_view, std::string_view>;

TEST_CASE("an error has its argument, what it was and what was expected, and is worded of them") {
  const Error error = ShapeError("`attn_mask`", Shape{2, 3}, {Shape{4, 5}, ": as `query` has"});
  CHECK(error.code() == ErrorCode::kShape);
  CHECK(error.argument().plain() == "attn_mask");
  CHECK(error.got().plain() == "(2, 3)");
  CHECK(error.expected().plain() == "(4, 5): as query has");
  CHECK(std::string(error.what()) == "attn_mask has shape (2, 3), expected (4, 5): as query has");
  CHECK(std::string(MissingError(ErrorCode::kOption, "`k`", "a number").what()) == "k is missing, expected a number");
  CHECK(std::string(Error(ErrorCode::kMemory, {"no room for ", 7, " rows"}).what()) == "no room for 7 rows");
  CHECK(std::string(error.In({"text ", 3}).what()).starts_with("text 3: attn_mask has shape (2, 3)"));
  CHECK(error.In("text").argument().plain() == "attn_mask");
}

TEST_CASE("names can be spelled in other ways, wherever they stand, and no other words") {
  constexpr std::array<Name, 2> kNames = {Name("attn_mask", "src_mask"), Name("mask", "other")};
  const Error error = OptionError("`attn_mask`", "\"attn_mask\"", "a mask, `attn_mask` or `mask`").Renamed(kNames);
  CHECK(error.argument().plain() == "src_mask");
  CHECK(std::string(error.what()) == "src_mask is \"attn_mask\", expected a mask, src_mask or other");
}

TEST_CASE("words from elsewhere cannot be taken for names") {
  const std::string from_outside = "`mask`\x1Fmask\x1F";
  constexpr std::array<Name, 1> kNames = {Name("mask", "other")};
  CHECK(Phrase(from_outside).Renamed(kNames).plain() == "`mask`?mask?");
  CHECK(Phrase(Fragment::Name(from_outside)).plain() == "`mask`?mask?");
}

TEST_CASE("numbers and shapes have one notation") {
  CHECK(Phrase{Shape{}, Shape{3}, Shape{2, 0}}.plain() == "()(3,)(2, 0)");
  CHECK(Phrase{0.5, " ", 1e300, " ", -7, " ", 1.0 / 0.0, " ", 0.0 / 0.0}.plain() == "0.5 1e+300 -7 inf NaN");
}

TEST_CASE("the nearest name is suggested, when there is one") {
  constexpr std::array<std::string_view, 5> kKnown = {"is_causal", "scale", "window_left", "window_right", "seed"};
  CHECK(Nearest("isCausal", kKnown) == "is_causal");
  CHECK(Nearest("causal", kKnown) == "is_causal");
  CHECK(Nearest("windw_left", kKnown) == "window_left");
  CHECK(Nearest("scal", kKnown) == "scale");
  CHECK(Nearest("sed", kKnown) == "seed");
  for (const char* far : {"", "k", "se", "positions", "window"}) CHECK_MESSAGE(Nearest(far, kKnown).empty(), far);
  CHECK(Nearest(std::string(100'000, 'x'), kKnown).empty());
  CHECK(std::string(UnknownName("option", "iscausal", kKnown).what())
            .starts_with("unknown option \"iscausal\"; did you mean is_causal? Known here: is_causal, scale, "));
}

}  // namespace
}  // namespace headlens::testing
