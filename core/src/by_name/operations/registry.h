// SPDX-License-Identifier: Apache-2.0
/// The operations by name.
#ifndef HEADLENS_SRC_BY_NAME_OPERATIONS_REGISTRY_H_
#define HEADLENS_SRC_BY_NAME_OPERATIONS_REGISTRY_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "by_name/field_reader.h"
#include "by_name/operations/operation.h"

namespace headlens {

struct OperationKind {
  std::string_view name;
  std::vector<std::string> inputs, parameters;
  std::unique_ptr<Operation> (*make)();
};

/// Every operation.
const std::vector<OperationKind>& OperationKinds();

/// The tensors that decide the weights of scaled_dot_product_attention.
const std::vector<std::string>& MapInputs();

/// The names that encoder layers, decoder layers and their attention over the memory have for some fields of attention.
Renames EncoderNames();
Renames DecoderNames();
Renames MemoryNames();

/// Throws kOption, listing all names, when there is no operation of that name.
const OperationKind& FindOperation(std::string_view name);

}  // namespace headlens

#endif  // HEADLENS_SRC_BY_NAME_OPERATIONS_REGISTRY_H_
