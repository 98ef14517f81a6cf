// SPDX-License-Identifier: Apache-2.0
#ifndef HEADLENS_ERROR_H_
#define HEADLENS_ERROR_H_

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace headlens {

/// The kind of rule that a call broke. Errors of the npm package and messages of the program show these names.
enum class ErrorCode {
  kShape,        ///< sizes that do not fit together
  kOption,       ///< an unknown option, or one that contradicts another
  kValue,        ///< a number out of its range, a NaN where none may be
  kDtype,        ///< an element type that does not fit
  kFormat,       ///< a file that breaks its format
  kMemory,       ///< more memory than there is, or than can be addressed
  kUnsupported,  ///< right, but not offered here
};

/// "shape", "option", …
std::string_view ToString(ErrorCode code);

/// A part of a message, in which the names of the API are told apart from all others: each surface spells them in its
/// own way, such as attnMask for `attn_mask` in JavaScript.
class Phrase {
 public:
  /// Stands before and after each name in `marked`; it occurs nowhere else.
  static constexpr char kNameMark = '\x1F';

  Phrase() = default;
  /// Words of the library, in which names of the API stand between backticks.
  Phrase(const char* words) : Phrase(OfLibrary(words)) {}
  /// Words from elsewhere, as they are.
  Phrase(std::string_view words);
  Phrase(const std::string& words) : Phrase(std::string_view(words)) {}
  template <std::integral T>
  Phrase(T number) : Phrase(std::to_string(number)) {}
  /// Six digits, "NaN", "inf" or "-inf".
  Phrase(double number);
  /// "(2, 4, 8)"
  Phrase(const std::vector<std::int64_t>& shape);
  /// All of them, one after the other.
  Phrase(std::initializer_list<Phrase> parts);

  /// Words of the library that are no literal here.
  static Phrase OfLibrary(std::string_view words);
  /// A name of the API that is known only when the program runs.
  static Phrase Name(std::string_view name);

  bool empty() const { return marked_.empty(); }
  const std::string& marked() const { return marked_; }
  /// The words with all names as C++ spells them.
  std::string plain() const;
  /// The same words with other names: pairs of a name and what it becomes.
  Phrase Renamed(std::span<const std::pair<std::string_view, std::string_view>> names) const;

 private:
  std::string marked_;
};

/// The one exception of the library: a stable code, and what is wrong as data, of which `what()` is made.
class Error : public std::runtime_error {
 public:
  /// A sentence that names no argument, or more than one.
  Error(ErrorCode code, const Phrase& message);
  /// `got` and `expected` may be empty.
  Error(ErrorCode code, const Phrase& argument, const Phrase& got, const Phrase& expected, const Phrase& message);

  ErrorCode code() const { return code_; }
  /// The argument that is wrong, as the API or the file calls it; empty where it is not a single one.
  const Phrase& argument() const { return fault_->argument; }
  /// The value of that argument, such as "(2, 3)" or "-1"; empty where it is absent.
  const Phrase& got() const { return fault_->got; }
  /// A description of the values that would have been right.
  const Phrase& expected() const { return fault_->expected; }
  /// The whole sentence.
  const Phrase& message() const { return fault_->message; }

  /// The same with a place before the sentence: "text 3: …".
  Error In(const Phrase& place) const;
  /// The same with other names, as Phrase::Renamed has them.
  Error Renamed(std::span<const std::pair<std::string_view, std::string_view>> names) const;

 private:
  struct Fault {
    Phrase argument, got, expected, message;
  };

  ErrorCode code_;
  std::shared_ptr<const Fault> fault_;  // exceptions are copied, which must not throw
};

/// "`argument` `verb` `got`, expected `expected`"
Error Wrong(ErrorCode code, const Phrase& argument, const Phrase& verb, const Phrase& got, const Phrase& expected);
/// "`seed` is -1, expected a whole number"
Error OptionError(const Phrase& argument, const Phrase& got, const Phrase& expected);
Error ValueError(const Phrase& argument, const Phrase& got, const Phrase& expected);
/// "`attn_mask` has shape (2, 3), expected (4, 5)"
Error ShapeError(const Phrase& argument, const Phrase& got, const Phrase& expected);
/// "`ids` has the type F32, expected I32 or I64"
Error DtypeError(const Phrase& argument, const Phrase& got, const Phrase& expected);
/// "`query` is missing", and what was expected, if anything
Error MissingError(ErrorCode code, const Phrase& argument, const Phrase& expected = {});
/// "`prefix_lens` needs `is_causal`"
Error NeedsError(ErrorCode code, const Phrase& argument, const Phrase& needed);

}  // namespace headlens

#endif  // HEADLENS_ERROR_H_
