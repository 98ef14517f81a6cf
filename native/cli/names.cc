// SPDX-License-Identifier: Apache-2.0
/// The command `headlens names`, which prints every name that options, tensors and results may have.
#include "headlens/names.h"

#include <iostream>

#include "cli/commands.h"

namespace headlens::cli {

void AddNames(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "names", "Print all operations, options, tensors, stages and metrics, each with its documentation, as JSON");
  command->callback([] { std::cout << DescribeNames() << "\n"; });
}

}  // namespace headlens::cli
