// SPDX-License-Identifier: Apache-2.0
/// The options of `headlens map`, and what they mean for the maps.
#ifndef HEADLENS_NATIVE_CLI_MAP_OPTIONS_H_
#define HEADLENS_NATIVE_CLI_MAP_OPTIONS_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/maps.h"
#include "cli/model_run.h"

namespace headlens::cli {

/// Without a model, its `tokens` are names.
struct MapOptions : RunOptions {
  std::string weights, output, script;
  std::optional<std::string> key_tokens;
  std::string tokens_file;
  std::vector<std::string> what = {"maps"};
  std::optional<Index> layer, head;
  AttentionPart attention = AttentionPart::kDecoder;
  bool causal = false;     ///< of given weights
  bool no_script = false;  ///< a page is static even where a script is installed
  std::string theme = "light";
  Index cell = 0;  ///< 0: depends on the number of tokens

  bool Wants(std::string_view name) const;
  /// True when the name of the output ends so, for example in ".svg".
  bool Writes(std::string_view extension) const;
};

/// Adds all options to the command.
void AddMapOptions(CLI::App& command, MapOptions& options);

PictureStyle StyleOf(const MapOptions& options, const Maps& maps);

/// The numbers 0 to count - 1.
std::vector<Index> FirstNumbers(Index count);

/// The chosen one of `numbers`, or all. Throws InputError when it is not there.
std::vector<Index> Chosen(const char* option, std::optional<Index> chosen, const std::vector<Index>& numbers);

/// Throws InputError when the numbers or the picture of these maps, whose weights are still to come, would be too
/// large. `others` counts the numbers of Maps::others.
void CheckSizes(const MapOptions& options, const Maps& maps, double others);

/// The maps of --model, and what else --what asks for. Throws InputError.
Maps MapsOfModel(const MapOptions& options, const Progress& progress);

/// The maps of --weights. Throws InputError.
Maps MapsOfFile(const MapOptions& options, const Progress& progress);

}  // namespace headlens::cli

#endif  // HEADLENS_NATIVE_CLI_MAP_OPTIONS_H_
