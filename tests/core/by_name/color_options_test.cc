// SPDX-License-Identifier: Apache-2.0
/// The options of pictures by name.
#include "headlens/color_options.h"

#include <string>

#include "support.h"

namespace headlens::testing {
namespace {

void Refused(ErrorCode code, const std::string& part, const std::string& options) {
  try {
    ReadColorOptions(options);
    FAIL_CHECK(options, " accepted, expected: ", part);
  } catch (const Error& error) {
    CHECK_MESSAGE(error.code() == code, options, ": ", error.what());
    CHECK_MESSAGE(std::string(error.what()).find(part) != std::string::npos, options, ": ", error.what());
  }
}

TEST_CASE("colour options: what is given is read, what is absent stays as it is") {
  const ColorOptions none = ReadColorOptions("{}");
  CHECK(none.colormap == Colormap::kSequential);
  CHECK(none.theme == Theme::kLight);
  CHECK(!none.min);
  CHECK(!none.max);
  CHECK(!none.causal);
  const ColorOptions all = ReadColorOptions(
      R"({"colormap": "diverging", "theme": "dark", "min": -1, "max": 0.5, "causal": true, "window": 3})");
  CHECK(all.window == 3);
  CHECK(all.colormap == Colormap::kDiverging);
  CHECK(all.theme == Theme::kDark);
  CHECK(all.min == -1.0f);
  CHECK(all.max == 0.5f);
  CHECK(all.causal);
}

TEST_CASE("colour options: unknown names, wrong values and ranges that do not go up are refused") {
  Refused(ErrorCode::kOption, "unknown option \"colourmap\"", R"({"colourmap": "diverging"})");
  Refused(ErrorCode::kOption, R"(colormap is "jet", expected one of "sequential", "diverging")",
          R"({"colormap": "jet"})");
  Refused(ErrorCode::kOption, "theme is 1", R"({"theme": 1})");
  Refused(ErrorCode::kOption, "min is \"0\", expected a finite number", R"({"min": "0"})");
  Refused(ErrorCode::kOption, "causal is 1, expected true or false", R"({"causal": 1})");
  Refused(ErrorCode::kOption, "min is 2, expected less than max, 1", R"({"min": 2, "max": 1})");
  Refused(ErrorCode::kOption, "min is 0.5, expected less than max, 0.5", R"({"min": 0.5, "max": 0.5})");
  Refused(ErrorCode::kFormat, "options", "[]");
}

}  // namespace
}  // namespace headlens::testing
