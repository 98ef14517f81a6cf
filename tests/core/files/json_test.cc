// SPDX-License-Identifier: Apache-2.0
#include "files/json.h"

#include "support.h"

namespace headlens::testing {
namespace {

TEST_CASE("fields of JSON are read, and what is wrong with them is said with their place") {
  const nlohmann::json parsed = ParseObject(
      R"({"flag": true, "size": 7, "none": null, "text": "a", "half": 0.5, "tiny": 1e-40, "huge": 18446744073709551615,
          "deep": {"list": [1, "b"]}})",
      "file.json");
  const JsonField file(parsed, "file.json: ", ErrorCode::kValue);
  CHECK(file["flag"].Flag());
  CHECK(file["none"].Flag(true));
  CHECK(file["absent"].is_null());
  CHECK(file["text"].Text() == "a");
  CHECK(file["absent"].Text("b") == "b");
  CHECK(file["size"].Whole(7, 7) == 7);
  CHECK(file["half"].Single() == 0.5f);
  CHECK(file["absent"].Positive(2.0) == 2.0);
  CHECK(file["deep"]["list"].ListSize() == 2);
  CHECK(file["absent"].ListSize() == 0);
  CHECK(file["deep"]["list"].Element(2).is_null());
  CHECK(file["text"].Choice<int>(std::nullopt, {{"b", 1}, {"a", 2}}) == 2);
  CHECK(file["absent"].Choice<int>("b", {{"b", 1}, {"a", 2}}) == 1);
  file["size"].Require(7);
  file["absent"].Require(7);
  const auto refuses = [](ErrorCode code, const std::string& message, const auto& read) {
    CHECK(Refusal(code, read) == message);
  };
  using enum ErrorCode;
  refuses(kValue, "file.json: deep.list[1] is \"b\", expected a whole number, at least 0",
          [&] { file["deep"]["list"].Element(1).Whole(0); });
  refuses(kFormat, "file.json: deep.none is missing, expected true or false", [&] { file["deep"]["none"].Flag(); });
  refuses(kValue, "file.json: size is 7, expected an object", [&] { file["size"]["inside"].Flag(); });
  refuses(kValue, "file.json: size is 7, expected a whole number from 8 to 9", [&] { file["size"].Whole(8, 9); });
  refuses(kValue, "file.json: huge is 18446744073709551615, expected a whole number, at most 9007199254740992",
          [&] { file["huge"].Whole(0); });
  refuses(kValue, "file.json: tiny is 1e-40, expected a number that a 32-bit float can hold",
          [&] { file["tiny"].Single(); });
  refuses(kUnsupported, "file.json: text is \"a\", supported is \"b\"",
          [&] { file["text"].Choice<int>(std::nullopt, {{"b", 1}}); });
  refuses(kUnsupported, "file.json: size is 7, supported is 8", [&] { file["size"].Require(8); });
  const nlohmann::json strange = {{std::string(1000, 'x'), {{"a\n", 1}}}};
  refuses(kValue, "[\"" + std::string(80, 'x') + "…\"][\"a?\"] is 1, expected a string",
          [&] { JsonField(strange, "", kValue).Named(std::string(1000, 'x')).Named("a\n").Text(); });
  refuses(kFormat, "f is \"[]\", expected a JSON object", [] { ParseObject("[]", "f"); });
  refuses(kFormat, "f names \"a\" twice, expected once", [] { ParseObject(R"({"a":1,"a":1})", "f"); });
  refuses(kFormat, "f is nested deeper, expected at most 1 levels", [] { ParseObject(R"({"a":{}})", "f", 1); });
  // Among options, what is missing is wrong like anything else.
  refuses(kOption, "size is missing, expected a finite number",
          [&] { JsonField(nlohmann::json::object(), "", kOption)["size"].Number(); });
}

}  // namespace
}  // namespace headlens::testing
