// SPDX-License-Identifier: Apache-2.0
/// The program headlens: attention over files, maps and metrics of a model's heads, and a benchmark.
#include <csignal>
#include <exception>
#include <iostream>
#include <new>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/memory.h"
#include "cli/show.h"
#include "headlens/backend.h"
#include "headlens/error.h"
#include "headlens/version.h"

namespace headlens::cli {
namespace {

/// Prints the message on one line, even when it contains names from files.
int Report(const std::string& message, ExitStatus status) {
  std::cerr << "headlens: " << Shown(message) << "\n";
  return status;
}

int ReportUsage(const CLI::App& app, const CLI::ParseError& error) {
  if (error.get_exit_code() == 0) return app.exit(error);  // for --help and --version
  std::string command = "headlens";
  for (const CLI::App* chosen : app.get_subcommands()) command += " " + chosen->get_name();
  return Report(std::string(error.what()) + " (see " + command + " --help)", kBadInput);
}

int Run(int argc, char** argv) {
  CLI::App app("Multi-head attention, and what every head looks at.", "headlens");
  app.set_version_flag("--version", std::string("headlens ") + Version());
  app.require_subcommand(1);
  app.footer("Exit status: 0 done, 1 could not be done, 2 wrong input or usage.");
  AddAttend(app);
  AddMap(app);
  AddHeads(app);
  AddExplain(app);
  AddPredict(app);
  AddCompare(app);
  AddPaths(app);
  AddTokens(app);
  AddBench(app);
  AddInfo(app);
  AddNames(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (const int status = ReportUsage(app, error); status != kOk) return status;
  }
  if (!std::cout.flush()) return Report("cannot write to the standard output", kFailure);
  return kOk;
}

}  // namespace
}  // namespace headlens::cli

int main(int argc, char** argv) {
  using namespace headlens;
  try {
    std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow becomes an ordinary error
    cli::LimitMemory();
    return cli::Run(argc, argv);
  } catch (const Error& error) {
    return cli::Report(error.what(), cli::kBadInput);
  } catch (const std::bad_alloc&) {
    return cli::Report("it takes more memory than there is", cli::kFailure);
  } catch (const std::exception& error) {
    return cli::Report(error.what(), cli::kFailure);
  }
}
