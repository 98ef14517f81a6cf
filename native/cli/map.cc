// SPDX-License-Identifier: Apache-2.0
/// The command `headlens map (--model DIR … | --weights FILE) --out FILE`, which draws or writes attention maps.
#include <array>
#include <filesystem>
#include <memory>

#include "base/words.h"
#include "cli/commands.h"
#include "cli/files.h"
#include "cli/map_options.h"
#include "headlens/folder.h"
#include "tokenizer/unicode.h"

namespace headlens::cli {
namespace {

/// Throws InputError where options do not fit the kind of file or each other.
void CheckOptions(const MapOptions& options) {
  constexpr std::array<const char*, 6> kKinds = {".png", ".svg", ".html", ".json", ".csv", ".safetensors"};
  bool known = false;
  for (const char* kind : kKinds) known |= options.Writes(kind);
  if (!known) {
    throw InputError(OptionError("--out", Quoted(options.output),
                                 "a name that ends in .png, .svg, .html, .json, .csv or .safetensors"));
  }
  const auto only_for = [&options](const char* option, const char* kind, bool given) {
    if (given && !options.Writes(kind)) throw InputError(NeedsError(ErrorCode::kOption, option, {"--out *", kind}));
  };
  only_for("--what", ".safetensors", options.what != MapOptions{}.what);
  only_for("--script", ".html", !options.script.empty());
  only_for("--no-script", ".html", options.no_script);
  if (options.weights.empty() && options.model.empty())
    throw InputError(MissingError(ErrorCode::kOption, "--model or --weights", "a model's folder, or a file of maps"));
  if (!options.weights.empty() && options.what != MapOptions{}.what)
    throw InputError(OptionError("--what", Joined(options.what), "maps, which is all that --weights has"));
}

/// Throws InputError when the output is one of the inputs, or a file of tensors among those of the model.
void ExpectNoInput(const MapOptions& options) {
  for (const std::string& file :
       {options.image, options.text.file, options.weights, options.tokens_file, options.script})
    if (!file.empty()) ExpectOther(options.output, file);
  if (options.model.empty()) return;
  for (const char* file : {kConfigFile, kTokenizerFile, kProcessorFile, kIndexFile})
    ExpectOther(options.output, options.model + "/" + file);
  std::error_code missing;
  const auto folder = std::filesystem::weakly_canonical(options.output, missing).parent_path();
  if (options.Writes(".safetensors") && std::filesystem::equivalent(folder, options.model, missing))
    throw InputError(OptionError("--out", Quoted(options.output), "a file outside of the model's folder"));
}

/// The file of the script for pages: the chosen one, or one that is installed with this program. Empty: there is none.
std::string ScriptFile(const MapOptions& options) {
  if (!options.script.empty() || options.no_script) return options.script;
  std::error_code unknown;
  const std::string installed = InstalledPath("headlens.arrays.js");
  return std::filesystem::is_regular_file(installed, unknown) ? installed : "";
}

/// The text of the script, which is read before anything is computed. Empty: there is none.
std::string ReadScript(const MapOptions& options) {
  const std::string path = options.Writes(".html") ? ScriptFile(options) : "";
  if (path.empty()) return "";
  std::string text(File(path).text());
  if (text.empty() || tokenizer::ToValidUtf8(text) != text)
    throw InputError(Wrong(ErrorCode::kFormat, path, "is", text.empty() ? "empty" : "no UTF-8", "a script"));
  return text;
}

void Map(const MapOptions& options) {
  CheckOptions(options);
  ExpectNoInput(options);
  const Progress progress;
  const std::string script = ReadScript(options);
  Maps maps = options.weights.empty() ? MapsOfModel(options, progress) : MapsOfFile(options, progress);
  progress.Show("writing " + options.output);
  Blaming(options.output, [&] {
    if (options.Writes(".png")) WriteFile(options.output, ToPng(maps, StyleOf(options, maps)));
    if (options.Writes(".svg")) WriteFile(options.output, ToSvg(maps, StyleOf(options, maps)));
    if (options.Writes(".html")) WriteFile(options.output, ToHtml(maps, StyleOf(options, maps), script));
    if (options.Writes(".json")) WriteFile(options.output, ToJson(maps));
    if (options.Writes(".csv")) WriteFile(options.output, ToCsv(maps));
    if (options.Writes(".safetensors")) WriteFile(options.output, ToSafetensors(std::move(maps)));
  });
}

}  // namespace

void AddMap(CLI::App& app) {
  CLI::App* command = app.add_subcommand("map", "Draw what every head of a model looks at, or maps of your own");
  const auto options = std::make_shared<MapOptions>();
  AddMapOptions(*command, *options);
  command->callback([options] { Map(*options); });
}

}  // namespace headlens::cli
