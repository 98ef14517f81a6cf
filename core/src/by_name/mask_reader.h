// SPDX-License-Identifier: Apache-2.0
/// What masks are read from: options, tensors, and the sizes they must have.
#ifndef HEADLENS_SRC_BY_NAME_MASK_READER_H_
#define HEADLENS_SRC_BY_NAME_MASK_READER_H_

#include <string>
#include <string_view>

#include "by_name/inputs.h"
#include "by_name/options.h"
#include "headlens/attention.h"

namespace headlens {

/// The names under which an op knows the masks of one of its attentions.
struct MaskNames {
  std::string attn_mask = "attn_mask", key_padding_mask = "key_padding_mask";
  const char* is_causal = "is_causal";
  bool over_memory = false;  ///< the attention of a decoder layer over its memory
};

class MaskReader {
 public:
  MaskReader(OptionReader& options, Arguments& args, const CommonOptions& common, const Sizes& sizes,
             const MaskNames& names)
      : options(options), args(args), common(common), sizes(sizes), names(names) {}

  OptionReader& options;
  Arguments& args;
  const CommonOptions& common;
  const Sizes& sizes;
  const MaskNames& names;

  /// The tensor, if it was given, whose shape must be `shape` (as the caller has it: without the batch when that is
  /// not there).
  const Given* Find(std::string_view name, Shape shape) const;
};

Mask ReadMask(OptionReader& options, Arguments& args, const CommonOptions& common, const Sizes& sizes,
              const MaskNames& names);

}  // namespace headlens

#endif  // HEADLENS_SRC_BY_NAME_MASK_READER_H_
