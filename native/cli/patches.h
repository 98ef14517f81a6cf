// SPDX-License-Identifier: Apache-2.0
/// The tokens of a picture that a model reads.
#ifndef HEADLENS_NATIVE_CLI_PATCHES_H_
#define HEADLENS_NATIVE_CLI_PATCHES_H_

#include <iterator>
#include <string>
#include <vector>

#include "headlens/tensor.h"

namespace headlens::cli {

/// A grid of patches, row by row, and the tokens before it. There are none where a model reads text.
struct Patches {
  std::vector<std::string> prefix;  ///< the names of the tokens before the patches, such as CLS
  Index rows = 0, columns = 0;

  Index length() const { return rows > 0 ? std::ssize(prefix) + rows * columns : 0; }

  /// The name of a token before the patches, or "0,2": the row and the column of a patch.
  std::string NameOf(Index at) const {
    const Index patch = at - std::ssize(prefix);
    if (patch < 0) return prefix[static_cast<std::size_t>(at)];
    return std::to_string(patch / columns) + "," + std::to_string(patch % columns);
  }
};

}  // namespace headlens::cli

#endif  // HEADLENS_NATIVE_CLI_PATCHES_H_
