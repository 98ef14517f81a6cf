// SPDX-License-Identifier: Apache-2.0
/// The command `headlens map --model DIR (--text TEXT | --tokens IDS | --image FILE) --out FILE`, which draws or writes
/// attention maps.
#include <array>
#include <filesystem>
#include <memory>

#include "base/words.h"
#include "cli/commands.h"
#include "cli/files.h"
#include "cli/map_options.h"
#include "headlens/folder.h"

namespace headlens::cli {
namespace {

/// Throws InputError for a name that says no format.
void CheckOptions(const MapOptions& options) {
  constexpr std::array<const char*, 4> kKinds = {".png", ".svg", ".json", ".csv"};
  bool known = false;
  for (const char* kind : kKinds) known |= options.Writes(kind);
  if (!known) {
    throw InputError(OptionError("--out", Quoted(options.output), "a name that ends in .png, .svg, .json or .csv"));
  }
}

/// Throws InputError when the output is one of the inputs. It may be in the model's folder.
void ExpectNoInput(const MapOptions& options) {
  for (const std::string& file : {options.image, options.text.file})
    if (!file.empty()) ExpectOther(options.output, file);
  for (const char* file : {kConfigFile, kTokenizerFile, kProcessorFile, kIndexFile})
    ExpectOther(options.output, options.model + "/" + file);
}

void Map(const MapOptions& options) {
  CheckOptions(options);
  ExpectNoInput(options);
  const Progress progress;
  const Maps maps = MapsOfModel(options, progress);
  progress.Show("writing " + options.output);
  Blaming(options.output, [&] {
    if (options.Writes(".png")) WriteFile(options.output, ToPng(maps, StyleOf(options, maps)));
    if (options.Writes(".svg")) WriteFile(options.output, ToSvg(maps, StyleOf(options, maps)));
    if (options.Writes(".json")) WriteFile(options.output, ToJson(maps));
    if (options.Writes(".csv")) WriteFile(options.output, ToCsv(maps));
  });
}

}  // namespace

void AddMap(CLI::App& app) {
  CLI::App* command = app.add_subcommand("map", "Draw what every head of a model looks at");
  const auto options = std::make_shared<MapOptions>();
  AddMapOptions(*command, *options);
  command->callback([options] { Map(*options); });
}

}  // namespace headlens::cli
