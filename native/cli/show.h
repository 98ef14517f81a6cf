// SPDX-License-Identifier: Apache-2.0
/// Text from outside, such as tokens and names of files, made safe to show. On a terminal control characters are
/// commands, and some other characters turn the direction of what follows or cannot be seen.
#ifndef HEADLENS_NATIVE_CLI_SHOW_H_
#define HEADLENS_NATIVE_CLI_SHOW_H_

#include <string>
#include <string_view>

namespace headlens::cli {

/// For messages and tables: what does not print becomes ⟨U+202E⟩, and a byte of no character ⟨9B⟩. Characters in `kept`
/// stay.
std::string Shown(std::string_view text, std::string_view kept = "");

/// The same JSON, with \u escapes for what Shown marks.
std::string ShownJson(std::string_view json);

/// A cell of a CSV file, in quotes, which are doubled (RFC 4180). Tabs and ends of lines stay, all else is as in Shown.
/// Spreadsheets take a text that begins with = + - @, a tab or an end of line for a formula: an apostrophe before it
/// says that it is none. Before one that begins with apostrophes and then such a character it stands, too, so that it
/// can be taken off again.
std::string ShownCsv(std::string_view text);

}  // namespace headlens::cli

#endif  // HEADLENS_NATIVE_CLI_SHOW_H_
