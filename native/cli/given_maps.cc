// SPDX-License-Identifier: Apache-2.0
/// Reads maps that were computed elsewhere for `headlens map --weights`.
#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "base/words.h"
#include "cli/commands.h"
#include "cli/files.h"
#include "cli/map_options.h"
#include "cli/npy.h"
#include "headlens/safetensors.h"
#include "tokenizer/unicode.h"

namespace headlens::cli {
namespace {

constexpr std::string_view kDigits = "0123456789";

/// The maps of a file, borrowed from its bytes, and what the file says about them.
struct Given {
  std::vector<RawTensor> maps;  ///< [H, T, S] of each layer
  std::vector<Index> layers, heads;
  std::vector<std::string> pieces, key_pieces;
  bool causal = false;
};

/// A tensor without its first axis, at place `i` of it.
RawTensor PartOf(const RawTensor& whole, Index i) {
  const Shape shape(whole.shape.begin() + 1, whole.shape.end());
  return {whole.dtype, shape, whole.data + i * ElementCount(shape) * static_cast<Index>(ByteSize(whole.dtype))};
}

/// Throws Error unless the tensor holds maps, and not too many.
void CheckMaps(const Fragment& name, const RawTensor& tensor) {
  constexpr Index kMostMaps = 1 << 16;
  const Shape& shape = tensor.shape;
  if (shape.size() < 2 || shape.size() > 4 || std::find(shape.begin(), shape.end(), 0) != shape.end())
    throw ShapeError(name, shape, "(T, S), (H, T, S) or (L, H, T, S), none of them 0");
  if (ElementCount(Shape(shape.begin(), shape.end() - 2)) > kMostMaps)
    throw ShapeError(name, shape, {"at most ", kMostMaps, " maps"});
  if (tensor.dtype == DType::kU8 || tensor.dtype == DType::kBool || tensor.dtype == DType::kI8 ||
      tensor.dtype == DType::kI32 || tensor.dtype == DType::kI64) {
    throw DtypeError(name, ToString(tensor.dtype), "floats (F32, F64, F16 or BF16)");
  }
}

/// The layers of a tensor [T, S], [H, T, S] or [L, H, T, S].
std::vector<RawTensor> LayersOf(RawTensor tensor) {
  if (tensor.shape.size() == 2) tensor.shape.insert(tensor.shape.begin(), 1);
  if (tensor.shape.size() == 3) return {tensor};
  std::vector<RawTensor> layers;
  for (Index i = 0; i < tensor.shape[0]; ++i) layers.push_back(PartOf(tensor, i));
  return layers;
}

/// Cuts the digits that `text` begins with off, and returns them without zeros in front.
std::string_view TakeNumber(std::string_view& text) {
  std::string_view digits = text.substr(0, std::min(text.find_first_not_of(kDigits), text.size()));
  text.remove_prefix(digits.size());
  digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.size()));
  return digits;
}

/// Orders names as readers do: "layer.2" stands before "layer.10".
bool ComesBefore(std::string_view a, std::string_view b) {
  while (!a.empty() && !b.empty()) {
    if (kDigits.find(a[0]) != kDigits.npos && kDigits.find(b[0]) != kDigits.npos) {
      const std::string_view left = TakeNumber(a), right = TakeNumber(b);
      if (left != right) return left.size() != right.size() ? left.size() < right.size() : left < right;
    } else if (a[0] != b[0]) {
      return a[0] < b[0];
    } else {
      a.remove_prefix(1);
      b.remove_prefix(1);
    }
  }
  return a.size() < b.size();
}

/// The first number in a name.
std::optional<Index> NumberIn(std::string_view name) {
  const std::size_t begin = std::min(name.find_first_of(kDigits), name.size());
  Index number = 0;
  const auto [end, failed] = std::from_chars(name.data() + begin, name.data() + name.size(), number);
  return failed == std::errc{} && number < Index{1} << 31 ? std::optional(number) : std::nullopt;
}

/// The names of the tensors that are maps, a tensor for each layer, in their natural order: those that are named as
/// maps usually are, or all when there are none.
std::vector<std::string> NamesOfMaps(const Safetensors& file) {
  std::vector<std::string> all, named;
  for (const auto& [name, tensor] : file.tensors()) {
    all.push_back(name);
    if (name.starts_with("attentions.") || name.ends_with("attn.hook_pattern")) named.push_back(name);
  }
  std::vector<std::string>& names = named.empty() ? all : named;
  std::stable_sort(names.begin(), names.end(), ComesBefore);
  return std::move(names);
}

/// The numbers in the names if they tell the layers apart.
std::vector<Index> NumbersOf(const std::vector<std::string>& names) {
  std::vector<Index> numbers;
  for (const std::string& name : names) {
    const std::optional<Index> number = NumberIn(name);
    if (!number || (!numbers.empty() && *number <= numbers.back()))
      return FirstNumbers(static_cast<Index>(names.size()));
    numbers.push_back(*number);
  }
  return numbers;
}

/// A list in the metadata of a file that this program wrote, if it is there.
template <class T>
std::optional<std::vector<T>> ListIn(const Safetensors& file, const std::string& name) {
  const auto found = file.metadata().find(name);
  if (found == file.metadata().end()) return std::nullopt;
  const nlohmann::json list = ParseJson(found->second);
  const bool right = list.is_array() && std::all_of(list.begin(), list.end(), [](const nlohmann::json& item) {
                       return std::is_same_v<T, std::string> ? item.is_string() : item.is_number_unsigned();
                     });
  if (!right) throw Wrong(ErrorCode::kFormat, {"__metadata__.", name}, "is", Quoted(found->second), "a JSON list");
  return list.get<std::vector<T>>();
}

/// Reads what ToSafetensors has written about the maps.
void ReadMetadata(const Safetensors& file, Given& given) {
  const auto generator = file.metadata().find("generator");
  if (generator == file.metadata().end() || !generator->second.starts_with("headlens ")) return;
  const auto heads = ListIn<std::uint32_t>(file, "heads");
  if (heads && heads->size() != given.heads.size()) {
    throw Wrong(ErrorCode::kFormat, "__metadata__.heads", "has", {heads->size(), " numbers"}, {given.heads.size()});
  }
  if (heads) given.heads.assign(heads->begin(), heads->end());
  given.pieces = ListIn<std::string>(file, "pieces").value_or(std::vector<std::string>());
  const bool square = given.maps[0].shape[1] == given.maps[0].shape[2];
  given.key_pieces =
      ListIn<std::string>(file, "key_pieces").value_or(square ? given.pieces : std::vector<std::string>());
  const auto causal = file.metadata().find("causal");
  given.causal = causal != file.metadata().end() && causal->second == "true";
}

Given ReadSafetensorsMaps(std::span<const std::byte> bytes) {
  const Safetensors file(bytes);
  const std::vector<std::string> names = NamesOfMaps(file);
  if (names.empty()) throw Error(ErrorCode::kFormat, "the file holds no tensors, expected at least one");
  Given given;
  for (const std::string& name : names) {
    RawTensor tensor = *file.Find(name);
    const Phrase shown = {"tensor ", Quoted(name)};
    CheckMaps(shown, tensor);
    if (names.size() > 1 && tensor.shape.size() == 4) {
      if (tensor.shape[0] != 1) throw ShapeError(shown, tensor.shape, "a batch of 1");
      tensor = PartOf(tensor, 0);
    }
    for (RawTensor& layer : LayersOf(tensor)) {
      if (!given.maps.empty() && layer.shape != given.maps[0].shape)
        throw ShapeError(shown, layer.shape, {given.maps[0].shape, ", as the layers before it"});
      given.maps.push_back(std::move(layer));
    }
  }
  given.layers =
      given.maps.size() == names.size() ? NumbersOf(names) : FirstNumbers(static_cast<Index>(given.maps.size()));
  given.heads = FirstNumbers(given.maps[0].shape[0]);
  ReadMetadata(file, given);
  return given;
}

Given ReadGiven(const MapOptions& options, std::span<const std::byte> bytes) {
  const std::string_view start(reinterpret_cast<const char*>(bytes.data()), std::min<std::size_t>(bytes.size(), 6));
  if (start.starts_with("PK\x03\x04"))
    throw Wrong(ErrorCode::kUnsupported, "the file", "is", "a zip archive, such as .npz or .pt",
                ".npy or .safetensors");
  if (!start.starts_with("\x93NUMPY") && !options.weights.ends_with(".npy")) return ReadSafetensorsMaps(bytes);
  const RawTensor tensor = ReadNpy(bytes);
  CheckMaps("the array", tensor);
  Given given;
  given.maps = LayersOf(tensor);
  given.layers = FirstNumbers(static_cast<Index>(given.maps.size()));
  given.heads = FirstNumbers(given.maps[0].shape[0]);
  return given;
}

/// The names in a list such as The,cat,sat or ["The", " cat"], or in what `headlens tokens` prints.
std::vector<std::string> NamesIn(const std::string& place, std::string_view text) {
  text = text.substr(0, text.find_last_not_of("\r\n") + 1);
  nlohmann::json list = text.starts_with('[') || text.starts_with('{') ? ParseJson(text) : nlohmann::json();
  if (list.is_object()) list = list.value("pieces", nlohmann::json(list));
  if (list.is_object() || list.is_array()) {
    if (!list.is_array() || !std::all_of(list.begin(), list.end(), [](const auto& name) { return name.is_string(); }))
      throw InputError(Wrong(ErrorCode::kFormat, place, "is", Quoted(text), "a JSON list of strings"));
    return list.get<std::vector<std::string>>();
  }
  std::vector<std::string> names;  // such as [CLS],the,cat, which is no JSON
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    names.push_back(tokenizer::ToValidUtf8(text.substr(at, end - at)));
    at = end + 1;
  }
  return names;
}

void ExpectNames(const std::string& place, const std::vector<std::string>& names, Index count, const char* each) {
  if (names.empty() || static_cast<Index>(names.size()) == count) return;
  throw InputError(Wrong(ErrorCode::kValue, place, "has", {names.size(), " names"}, {count, ", one for each ", each}));
}

/// The names of the tokens: those of the options, else those of the file.
void NameTokens(const MapOptions& options, Given& given, Maps& maps) {
  const std::string place = options.tokens                ? "--tokens"
                            : options.tokens_file.empty() ? options.weights
                                                          : options.tokens_file;
  maps.pieces = std::move(given.pieces);
  maps.key_pieces = std::move(given.key_pieces);
  if (options.tokens) maps.pieces = NamesIn(place, *options.tokens);
  if (!options.tokens_file.empty()) maps.pieces = NamesIn(place, File(options.tokens_file).text());
  if (options.tokens || !options.tokens_file.empty())
    maps.key_pieces = maps.rows == maps.cols ? maps.pieces : std::vector<std::string>();
  if (options.key_tokens) maps.key_pieces = NamesIn("--key-tokens", *options.key_tokens);
  ExpectNames(place, maps.pieces, maps.rows, "query");
  ExpectNames(options.key_tokens ? "--key-tokens" : place, maps.key_pieces, maps.cols, "key");
}

/// The maps that the options ask for, still without weights.
Maps PlanMaps(const MapOptions& options, Given& given) {
  Maps maps;
  maps.rows = given.maps[0].shape[1];
  maps.cols = given.maps[0].shape[2];
  maps.causal = options.causal || given.causal;
  if (maps.causal && maps.rows != maps.cols) {
    throw InputError(Wrong(ErrorCode::kOption, options.causal ? "--causal" : options.weights, "is for",
                           {maps.rows, " queries and ", maps.cols, " keys"}, "as many queries as keys in causal maps"));
  }
  maps.layers = Chosen("--layer", options.layer, given.layers);
  maps.heads = Chosen("--head", options.head, given.heads);
  CheckSizes(options, maps, 0.0);
  NameTokens(options, given, maps);
  return maps;
}

}  // namespace

Maps MapsOfFile(const MapOptions& options, const Progress& progress) {
  progress.Show("reading " + options.weights);
  const File file(options.weights);
  const auto place = [](const std::vector<Index>& numbers, Index number) {
    return std::find(numbers.begin(), numbers.end(), number) - numbers.begin();
  };
  return Blaming(options.weights, [&] {
    Given given = ReadGiven(options, file.bytes());
    Maps maps = PlanMaps(options, given);
    for (const Index number : maps.layers) {
      RawTensor layer = given.maps[static_cast<std::size_t>(place(given.layers, number))];
      layer.data = PartOf(layer, place(given.heads, maps.heads[0])).data;
      layer.shape[0] = static_cast<Index>(maps.heads.size());  // one, or all
      maps.weights.push_back(ToFloat(layer));
    }
    return maps;
  });
}

}  // namespace headlens::cli
