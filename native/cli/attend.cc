// SPDX-License-Identifier: Apache-2.0
/// The command `headlens attend CASE --out RESULT`, which solves one attention problem.
#include <memory>
#include <string>
#include <vector>

#include "base/words.h"
#include "cli/backends.h"
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
  std::vector<std::string> set;
  BackendOptions backend{.name = ""};  // empty: the case decides
};

/// The options that the command line overrides: NAME=VALUE, where the value is JSON or a plain word.
nlohmann::json Overrides(const AttendOptions& options) {
  nlohmann::json overrides = nlohmann::json::object();
  for (const std::string& item : options.set) {
    const std::size_t equals = item.find('=');
    if (equals == 0 || equals == std::string::npos) {
      throw InputError(OptionError("--set", Quoted(item), "NAME=VALUE, such as is_causal=true or stages=[\"scores\"]"));
    }
    const std::string value = item.substr(equals + 1);
    const auto parsed = ParseJson(value);
    overrides[item.substr(0, equals)] = parsed.is_discarded() ? nlohmann::json(value) : parsed;
  }
  if (!options.backend.name.empty()) overrides["backend"] = options.backend.name;
  return overrides;
}

void Attend(const AttendOptions& options) {
  ExpectOther(options.output, options.input);
  const Progress progress;
  progress.Show("reading " + options.input);
  const BackendSet backends(options.backend);
  Problem problem = [&] {
    const File file(options.input);  // closed early, since the problem has its own copies
    return Blaming(options.input, [&] { return ReadCase(file.bytes(), backends.all()); });
  }();
  progress.Show("computing");
  const std::string overrides = Overrides(options).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  const std::string source = options.set.empty() ? options.input : options.input + " with --set";
  backends.CheckOptionsOf(Blaming(source, [&] { return problem.BackendOf(overrides).name(); }));
  const Results results = Blaming(source, [&] { return problem.Run(overrides); });
  progress.Show("writing " + options.output);
  const auto bytes = Blaming(
      options.output, [&] { return WriteSafetensors(results, {{"generator", std::string("headlens ") + Version()}}); });
  WriteFile(options.output, bytes);
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
  command
      ->add_option("--set", options->set,
                   "An option of the attention, instead of the case's: --set normalizer=sparsemax --set window_left=4")
      ->type_name("NAME=VALUE")
      ->type_size(1)
      ->allow_extra_args(false);
  AddBackendOptions(*command, options->backend);
  command->callback([options] { Attend(*options); });
}

}  // namespace headlens::cli
