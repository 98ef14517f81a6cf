// SPDX-License-Identifier: Apache-2.0
/// Makes text from outside, such as tokens and file names, safe to print. On a terminal control characters are
/// commands, and some other characters are invisible or reverse the direction of the text after them.
#ifndef HEADLENS_NATIVE_CLI_SHOW_H_
#define HEADLENS_NATIVE_CLI_SHOW_H_

#include <string>
#include <string_view>

namespace headlens::cli {

/// For messages and tables: shows a character that is not printable as ⟨U+202E⟩, and a byte that belongs to no
/// character as ⟨9B⟩. Characters in `kept` stay.
std::string Shown(std::string_view text, std::string_view kept = "");

/// A token as a label: as Shown, with spaces as "·", "∅" in the place of no text, and an ellipsis after 20 characters.
std::string ShownToken(std::string_view token);

/// The text for SVG and HTML, with the characters of markup escaped. Characters that must not be there at all are for
/// Shown.
std::string EscapedMarkup(std::string_view text);

/// The same JSON, with \u escapes for characters that Shown would mark.
std::string ShownJson(std::string_view json);

/// A cell of a CSV file in quotes, with quotes inside doubled (RFC 4180). Tabs and line ends stay, and everything else
/// is as in Shown. Spreadsheets take a text that begins with = + - @, a tab or a line end for a formula, so such a text
/// gets an apostrophe in front. A text that begins with apostrophes and then such a character gets one, too, so that a
/// reader can remove it again.
std::string ShownCsv(std::string_view text);

}  // namespace headlens::cli

#endif  // HEADLENS_NATIVE_CLI_SHOW_H_
