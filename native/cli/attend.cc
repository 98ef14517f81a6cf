// SPDX-License-Identifier: Apache-2.0
/// headlens attend CASE --out RESULT: solves one attention problem.
#include <memory>

#include "cli/commands.h"
#include "cli/files.h"
#include "cli/progress.h"
#include "headlens/problem.h"
#include "headlens/safetensors.h"
#include "headlens/version.h"
#include "nlohmann/json.hpp"

namespace headlens::cli {
namespace {

struct AttendOptions {
  std::string input, output;
  std::string backend;  // empty: as the case says
};

void Attend(const AttendOptions& options) {
  const Progress progress;
  progress.Show("reading " + options.input);
  Problem problem = [&options] {
    const File file(options.input);  // the problem has copied what it needs
    return Blaming(options.input, [&file] { return ReadCase(file.bytes()); });
  }();
  nlohmann::json overrides = nlohmann::json::object();
  if (!options.backend.empty()) overrides["backend"] = options.backend;
  progress.Show("computing");
  const Results results = Blaming(options.input, [&] { return problem.Run(overrides.dump()); });
  progress.Show("writing " + options.output);
  WriteFile(options.output, WriteSafetensors(results, {{"generator", std::string("headlens ") + Version()}}));
}

}  // namespace

void AddAttend(CLI::App& app) {
  CLI::App* command = app.add_subcommand("attend", "Solve the attention problem of a safetensors file");
  const auto options = std::make_shared<AttendOptions>();
  command->add_option("case", options->input, "Its tensors are the inputs, its metadata holds \"op\" and \"options\"")
      ->required()
      ->type_name("CASE");
  command
      ->add_option("--out", options->output,
                   "Safetensors file for the results: output, weights and each stage asked for")
      ->required()
      ->type_name("RESULT");
  AddBackendOption(*command, options->backend);
  command->callback([options] { Attend(*options); });
}

}  // namespace headlens::cli
