// SPDX-License-Identifier: Apache-2.0
#include "by_name/mask_reader.h"

#include "attention/masks/mask_set.h"

namespace headlens {

const Given* MaskReader::Find(std::string_view name, Shape shape) const {
  const Given* input = args.Find(name);
  if (!input) return nullptr;
  if (!sizes.batched) shape.erase(shape.begin());
  if (input->shape != shape) {
    throw Error(ErrorCode::kShape,
                std::string(name) + " has shape " + ToString(input->shape) + ", expected " + ToString(shape));
  }
  return input;
}

Mask ReadMask(OptionReader& options, Arguments& args, const CommonOptions& common, const Sizes& sizes,
              const MaskNames& names) {
  MaskReader reader(options, args, common, sizes, names);
  Mask mask;
  for (const MaskRule* rule : MaskRules()) {
    if (rule->any_input || !names.over_memory) rule->read(reader, mask);
  }
  return mask;
}

}  // namespace headlens
