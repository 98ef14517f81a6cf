// SPDX-License-Identifier: Apache-2.0
#ifndef HEADLENS_ERROR_H_
#define HEADLENS_ERROR_H_

#include <concepts>
#include <cstddef>
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

class Phrase;

/// One of the parts that a phrase is made of. It borrows what it is made from, so that it is to be used in the
/// expression that makes it; a list of parts is a part, too.
class Fragment {
 public:
  /// Words of the library, in which names of the API stand between backticks.
  Fragment(const char* words) : kind_(Kind::kOfLibrary), words_(words) {}
  /// Words from elsewhere, as they are.
  Fragment(std::string_view words) : kind_(Kind::kAsIs), words_(words) {}
  Fragment(const std::string& words) : Fragment(std::string_view(words)) {}
  template <std::integral T>
  Fragment(T number) : kind_(Kind::kInteger), integer_(static_cast<std::int64_t>(number)) {}
  /// Six digits, "NaN", "inf" or "-inf".
  Fragment(double number) : kind_(Kind::kNumber), number_(number) {}
  /// "(2, 4, 8)"
  Fragment(const std::vector<std::int64_t>& shape) : kind_(Kind::kShape), shape_(&shape) {}
  Fragment(const Phrase& phrase) : kind_(Kind::kPhrase), phrase_(&phrase) {}
  Fragment(std::initializer_list<Fragment> parts) : kind_(Kind::kParts), parts_{parts.begin(), parts.size()} {}

  /// A name of the API that is known only when the program runs.
  static Fragment Name(std::string_view name) {
    Fragment part(name);
    part.kind_ = Kind::kName;
    return part;
  }
  /// Words of the library that are no literal.
  static Fragment OfLibrary(std::string_view words) {
    Fragment part(words);
    part.kind_ = Kind::kOfLibrary;
    return part;
  }

  void AppendTo(std::string& marked) const;

 private:
  enum class Kind : std::uint8_t { kOfLibrary, kAsIs, kName, kInteger, kNumber, kShape, kPhrase, kParts };
  struct Parts {
    const Fragment* data;
    std::size_t size;
  };

  Kind kind_;
  union {
    std::string_view words_;
    std::int64_t integer_;
    double number_;
    const std::vector<std::int64_t>* shape_;
    const Phrase* phrase_;
    Parts parts_;
  };
};

/// A part of a message, in which the names of the API are told apart from all other words: each surface spells them in
/// its own way, such as attnMask for `attn_mask` in JavaScript.
class Phrase {
 public:
  /// Stands before and after each name in `marked`; it occurs nowhere else.
  static constexpr char kNameMark = '\x1F';

  Phrase() = default;
  Phrase(const Fragment& part) { part.AppendTo(marked_); }
  Phrase(const char* words) : Phrase(Fragment(words)) {}
  Phrase(std::string_view words) : Phrase(Fragment(words)) {}
  Phrase(const std::string& words) : Phrase(Fragment(words)) {}
  Phrase(std::initializer_list<Fragment> parts) : Phrase(Fragment(parts)) {}

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
  Error(ErrorCode code, const Fragment& message);
  /// `got` and `expected` may be empty.
  Error(ErrorCode code, const Fragment& argument, const Fragment& got, const Fragment& expected,
        const Fragment& message);

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
  Error In(const Fragment& place) const;
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
Error Wrong(ErrorCode code, const Fragment& argument, const Fragment& verb, const Fragment& got,
            const Fragment& expected);
/// "`seed` is -1, expected a whole number"
Error OptionError(const Fragment& argument, const Fragment& got, const Fragment& expected);
Error ValueError(const Fragment& argument, const Fragment& got, const Fragment& expected);
/// "`attn_mask` has shape (2, 3), expected (4, 5)"
Error ShapeError(const Fragment& argument, const Fragment& got, const Fragment& expected);
/// "`ids` has the type F32, expected I32 or I64"
Error DtypeError(const Fragment& argument, const Fragment& got, const Fragment& expected);
/// "`query` is missing", and what was expected, if anything
Error MissingError(ErrorCode code, const Fragment& argument, const Fragment& expected = "");
/// "`prefix_lens` needs `is_causal`"
Error NeedsError(ErrorCode code, const Fragment& argument, const Fragment& needed);

}  // namespace headlens

#endif  // HEADLENS_ERROR_H_
