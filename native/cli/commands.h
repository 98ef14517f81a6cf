// SPDX-License-Identifier: Apache-2.0
/// The commands of the program, each in its own file. A function AddX declares a command's options and its action.
#ifndef HEADLENS_NATIVE_CLI_COMMANDS_H_
#define HEADLENS_NATIVE_CLI_COMMANDS_H_

#include <utility>

#include "CLI/CLI.hpp"
#include "headlens/error.h"

namespace headlens::cli {

/// The program's exit statuses.
enum ExitStatus {
  kOk = 0,
  kFailure = 1,   ///< the input is right, but the work failed
  kBadInput = 2,  ///< the command line or a file is wrong
};

/// An error in the command line or in a file whose message says already where it is. It ends the program with
/// kBadInput.
class InputError : public Error {
 public:
  explicit InputError(Error error) : Error(std::move(error)) {}
};

void AddAttend(CLI::App& app);
void AddMap(CLI::App& app);
void AddHeads(CLI::App& app);
void AddExplain(CLI::App& app);
void AddPredict(CLI::App& app);
void AddCompare(CLI::App& app);
void AddPaths(CLI::App& app);
void AddBench(CLI::App& app);
void AddTokens(CLI::App& app);
void AddInfo(CLI::App& app);
void AddNames(CLI::App& app);

}  // namespace headlens::cli

#endif  // HEADLENS_NATIVE_CLI_COMMANDS_H_
