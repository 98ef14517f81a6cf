// SPDX-License-Identifier: Apache-2.0
/// The commands of the program, one file each. An AddX function declares a command's options and what it does when it
/// is chosen.
#ifndef HEADLENS_NATIVE_CLI_COMMANDS_H_
#define HEADLENS_NATIVE_CLI_COMMANDS_H_

#include <stdexcept>
#include <string>

#include "CLI/CLI.hpp"

namespace headlens::cli {

/// The program's exit statuses.
enum ExitStatus {
  kOk = 0,
  kFailure = 1,   ///< right input, but it could not be done
  kBadInput = 2,  ///< the command line or a file is wrong
};

/// What is wrong with the command line or a file, in one line. Ends the program with kBadInput.
class InputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

void AddAttend(CLI::App& app);
void AddMap(CLI::App& app);
void AddHeads(CLI::App& app);
void AddBench(CLI::App& app);
void AddTokens(CLI::App& app);
void AddInfo(CLI::App& app);
void AddNames(CLI::App& app);

}  // namespace headlens::cli

#endif  // HEADLENS_NATIVE_CLI_COMMANDS_H_
