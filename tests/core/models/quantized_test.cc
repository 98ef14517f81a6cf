// SPDX-License-Identifier: Apache-2.0
/// Weights as 8-bit integers with scales: models run, bit for bit, as with the floats that these stand for, and other
/// forms are refused by name.
#include <bit>
#include <cmath>
#include <limits>

#include "models/stored_tensors.h"

namespace headlens::testing {
namespace {

using nlohmann::json;

constexpr char kSetting[] = R"({
  "quant_method": "compressed-tensors", "format": "int-quantized", "quantization_status": "compressed",
  "global_compression_ratio": 1.7, "ignore": ["lm_head"], "kv_cache_scheme": null, "version": "0.12.2",
  "sparsity_config": {"format": "dense", "sparsity_structure": "unstructured"}, "transform_config": {},
  "config_groups": {"group_0": {
    "format": "int-quantized", "targets": ["Linear", "Embedding"], "input_activations": null,
    "output_activations": null, "weights": {
      "actorder": null, "block_structure": null, "dynamic": false, "group_size": null, "num_bits": 8,
      "observer": "minmax", "observer_kwargs": {}, "strategy": "channel", "symmetric": true, "type": "int"}}}})";

std::string WithSetting(const std::string& config, const json& setting, const char* key = "quantization_config") {
  json changed = json::parse(config);
  changed[key] = setting;
  return changed.dump();
}

template <class T>
std::string BytesOf(T value) {
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

/// A scale cut to the bits that a type has, and these bits.
struct Scale {
  Scale(const std::string& dtype, float wanted) {
    const auto bits = std::bit_cast<std::uint32_t>(wanted);
    constexpr std::uint32_t kSmallestHalf = 113;  // the exponent below which halves are subnormal
    if (dtype == "F32") {
      value = wanted;
      stored = BytesOf(wanted);
    } else if (dtype == "BF16") {
      value = std::bit_cast<float>(bits >> 16 << 16);
      stored = BytesOf(static_cast<std::uint16_t>(bits >> 16));
    } else if (bits >> 23 >= kSmallestHalf) {
      value = std::bit_cast<float>(bits >> 13 << 13);
      stored = BytesOf(static_cast<std::uint16_t>((bits >> 13) - ((kSmallestHalf - 1) << 10)));
    } else {
      const float steps = std::max(1.0f, std::floor(std::ldexp(wanted, 24)));
      value = std::ldexp(steps, -24);
      stored = BytesOf(static_cast<std::uint16_t>(steps));
    }
  }
  float value = 0.0f;
  std::string stored;
};

/// The tensors of a model whose matrices are integers, and the floats that these stand for.
struct Quantized {
  explicit Quantized(const StoredTensors& tensors) {
    const std::string bytes = FileOf(tensors);
    const Safetensors file(std::as_bytes(std::span(bytes)));
    for (const auto& [name, tensor] : tensors) {
      if (tensor.shape.size() == 2 && name.ends_with(".weight")) {
        Add(name, tensor.shape, ToFloat(*file.Find(name)));
      } else {
        integers[name] = floats[name] = tensor;
      }
    }
  }

  void Add(const std::string& name, const json& shape, const Tensor& matrix) {
    const std::string dtype = std::array{"F16", "BF16", "F32"}[static_cast<std::size_t>(count % 3)];
    const Index rows = matrix.shape()[0];
    Stored whole{"I8", shape, ""}, exact{"F32", shape, ""}, scales{dtype, {rows, 1}, ""};
    if (count % 2 == 1) scales.shape = {rows};
    for (Index row = 0; row < rows; ++row) {
      const std::span<const float> values(matrix.view<2>().at(row), static_cast<std::size_t>(matrix.shape()[1]));
      const auto largest = static_cast<float>(MaxNorm(values));
      const Scale scale(dtype, largest > 0.0f ? largest / 127 : 1.0f);
      scales.bytes += scale.stored;
      for (const float value : values) {
        const float integer = std::clamp(std::round(value / scale.value), -128.0f, 127.0f);
        whole.bytes += BytesOf(static_cast<std::int8_t>(integer));
        exact.bytes += BytesOf(integer * scale.value);
      }
    }
    integers[name] = whole;
    integers[name + "_scale"] = scales;
    floats[name] = exact;
    ++count;
  }

  StoredTensors integers, floats;
  int count = 0;
};

std::vector<std::string> AllFolders() {
  std::vector<std::string> folders;
  for (const std::string& name : GoldenModels()) folders.push_back(GoldenFolder(name));
  for (const char* name : {"marian", "t5", "t5_gated"})
    folders.push_back(HEADLENS_GOLDEN_DIR "/encoder_decoders/" + std::string(name));
  return folders;
}

TEST_CASE("integers with scales of rows run, bit for bit, as the floats that they stand for") {
  for (const std::string& folder : AllFolders()) {
    CAPTURE(folder);
    const std::string config = ReadText(folder + "/config.json");
    const Quantized quantized(ReadTensors(folder));
    CHECK(quantized.count >= 6);
    Golden golden(folder + "/expected.safetensors");
    const auto source = Integers<std::int32_t>(golden.file, "source_ids"),
               target = Integers<std::int32_t>(golden.file, "target_ids");
    if (!target.empty()) {
      golden.input = {};
      golden.input.ids = target;
      golden.input.source = source;
    }
    for (const char* key : {"quantization_config", "compression_config"}) {
      const std::string changed = WithSetting(config, json::parse(kSetting), key);
      for (const Backend* backend : TestBackends()) {
        CheckSameModel(LoadTensors(changed, quantized.integers, *backend),
                       LoadTensors(config, quantized.floats, *backend), golden.input);
      }
    }
  }
}

/// A model of integers whose files are changed before it is loaded.
class Hostile {
 public:
  void Refuses(ErrorCode code, const std::string& words, const std::function<void(StoredTensors&)>& change) const {
    StoredTensors tensors = quantized_.integers;
    change(tensors);
    Refused(code, words, [&] { LoadTensors(config_, tensors); });
  }
  const std::string& config() const { return config_; }
  const Quantized& quantized() const { return quantized_; }

 private:
  std::string config_ = WithSetting(ReadText(GoldenFolder("llama") + "/config.json"), json::parse(kSetting));
  Quantized quantized_{ReadTensors(GoldenFolder("llama"))};
};

TEST_CASE("integers and scales that do not belong together say why") {
  const Hostile hostile;
  const std::string name = "model.layers.1.self_attn.q_proj.weight", scale = name + "_scale";
  const auto rows = hostile.quantized().integers.at(name).shape[0].get<std::size_t>();
  const std::string sizes = std::to_string(rows), pair = " an I8 matrix beside its _scale";
  const auto scales = [&](const std::string& dtype, const json& shape, const std::string& bytes) {
    return [=](StoredTensors& tensors) { tensors[scale] = {dtype, shape, bytes}; };
  };
  const std::string parameter = "parameter " + name, of_scale = "parameter " + scale;
  hostile.Refuses(ErrorCode::kDtype,
                  parameter + " has the type I8, expected floats, or with a quantization_config" + pair,
                  [&](StoredTensors& tensors) { tensors.erase(scale); });
  for (const json& shape : {json{1}, json{rows + 1, 1}, json{1, rows}, json{rows, 1, 1}, json{rows, 2}}) {
    std::size_t count = 1;
    for (const json& size : shape) count *= size.get<std::size_t>();
    hostile.Refuses(ErrorCode::kShape, "expected (" + sizes + ", 1)",
                    scales("F32", shape, std::string(4 * count, '\1')));
  }
  for (const auto& [dtype, size] : {std::pair("I8", 1), std::pair("I32", 4), std::pair("U8", 1)})
    hostile.Refuses(ErrorCode::kDtype, of_scale + " has the type " + dtype + ", expected floats",
                    scales(dtype, {rows, 1}, std::string(rows * static_cast<std::size_t>(size), '\1')));
  constexpr float kInfinity = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();
  for (const float wrong : {0.0f, -0.0f, -1.0f, kInfinity, -kInfinity, kNan}) {
    std::string bytes;
    for (std::size_t row = 0; row < rows; ++row) bytes += BytesOf(row == 3 ? wrong : 0.01f);
    hostile.Refuses(ErrorCode::kValue, of_scale + "[3] is ", scales("F32", {rows, 1}, bytes));
    hostile.Refuses(ErrorCode::kValue, "expected a finite number above 0", scales("F32", {rows}, bytes));
  }
  hostile.Refuses(ErrorCode::kUnsupported, parameter + " has a zero point, expected none", [&](StoredTensors& tensors) {
    tensors[name + "_zero_point"] = {"I8", {rows, 1}, std::string(rows, '\0')};
  });
  hostile.Refuses(ErrorCode::kDtype, parameter + " has the type F32, expected" + pair,
                  [&](StoredTensors& tensors) { tensors[name] = hostile.quantized().floats.at(name); });
  hostile.Refuses(ErrorCode::kShape, parameter + " has shape (" + sizes + ", 1), expected (" + sizes,
                  [&](StoredTensors& tensors) { tensors[name] = {"I8", {rows, 1}, std::string(rows, '\1')}; });
  hostile.Refuses(ErrorCode::kDtype, "parameter model.norm.weight has the type I8, expected" + pair,
                  [&](StoredTensors& tensors) {
                    const json& shape = tensors["model.norm.weight"].shape;
                    const auto size = shape[0].get<std::size_t>();
                    tensors["model.norm.weight_scale"] = {"F32", {size, 1}, std::string(4 * size, '\1')};
                    tensors["model.norm.weight"] = {"I8", shape, std::string(size, '\1')};
                  });
}

TEST_CASE("integers need a configuration that says what they are") {
  const Hostile hostile;
  const std::string config = WithSetting(hostile.config(), nullptr);
  Refused(ErrorCode::kDtype, "has the type I8, expected floats, or with a quantization_config an I8 matrix",
          [&] { LoadTensors(config, hostile.quantized().integers); });
  CHECK(LoadTensors(hostile.config(), ReadTensors(GoldenFolder("llama"))).info().layers == 3);  // all may be floats
}

TEST_CASE("weights that are quantised in another way are refused by the setting") {
  const std::string config = ReadText(GoldenFolder("llama") + "/config.json"),
                    place = "config.json: quantization_config";
  const auto refuses = [&](const json& setting, const std::string& words, ErrorCode code = ErrorCode::kUnsupported) {
    const std::string message = Refusal(code, [&] { ReadModelInfo(WithSetting(config, setting)); });
    CHECK_MESSAGE(message.starts_with(place + words), message);
    CHECK(message.size() < 300);
  };
  const std::string why =
      R"(, supported is "compressed-tensors"; otherwise look for the model that this one was made of)";
  refuses({{"bits", 4}, {"quant_method", "gptq"}}, R"(.quant_method is "gptq")" + why);
  refuses({{"load_in_8bit", true}}, ".quant_method is missing" + why);
  refuses("compressed-tensors", R"( is "compressed-tensors", expected an object)", ErrorCode::kValue);
  refuses(1, " is 1, expected an object", ErrorCode::kValue);
  CHECK(ReadModelInfo(WithSetting(config, nullptr)).layers == 3);
  Refused(ErrorCode::kValue, "config.json: compression_config is 1, expected an object",
          [&] { ReadModelInfo(WithSetting(config, 1, "compression_config")); });

  const std::string group = "/config_groups/group_0", weights = group + "/weights";
  const std::string in_group = R"(.config_groups["group_0"])", in_weights = in_group + ".weights";
  const struct {
    std::string at;
    json value;
    std::string words;
    ErrorCode code = ErrorCode::kUnsupported;
  } cases[] = {
      {"/format", "pack-quantized", R"(.format is "pack-quantized", supported is "int-quantized"; otherwise look)"},
      {"/format", "float-quantized", R"(.format is "float-quantized")"},
      {"/format", nullptr, R"(.format is missing, supported is "int-quantized")"},
      {"/quantization_status", "frozen", R"(.quantization_status is "frozen", supported is "compressed")"},
      {"/kv_cache_scheme", {{"num_bits", 8}}, R"(.kv_cache_scheme is {"num_bits":8}, supported is null)"},
      {"/sparsity_config/format", "sparse-24-bitmask", R"(.sparsity_config.format is "sparse-24-bitmask")"},
      {"/sparsity_config", 2, ".sparsity_config is 2, expected an object", ErrorCode::kValue},
      {"/transform_config", {{"config_groups", {{"u", 1}}}}, ".transform_config is {"},
      {"/config_groups", nullptr, ".config_groups is missing, expected an object of groups", ErrorCode::kFormat},
      {"/config_groups", json::object(), ".config_groups is {}, expected an object of groups", ErrorCode::kValue},
      {"/config_groups", json::array({1}), ".config_groups is [1], expected an object of groups", ErrorCode::kValue},
      {group, {"Linear"}, in_group + R"( is ["Linear"], expected an object)", ErrorCode::kValue},
      {group + "/format", "pack-quantized", in_group + R"(.format is "pack-quantized")"},
      {group + "/input_activations", {{"num_bits", 8}}, in_group + R"(.input_activations is {"num_bits":8})"},
      {group + "/output_activations", {{"num_bits", 8}}, in_group + R"(.output_activations is {"num_bits":8})"},
      {weights, nullptr, in_weights + " is missing, expected an object", ErrorCode::kFormat},
      {weights + "/num_bits", 4, in_weights + ".num_bits is 4, supported is 8"},
      {weights + "/type", "float", in_weights + R"(.type is "float", supported is "int")"},
      {weights + "/symmetric", false, in_weights + ".symmetric is false, supported is true"},
      {weights + "/dynamic", true, in_weights + ".dynamic is true, supported is false"},
      {weights + "/actorder", "group", in_weights + R"(.actorder is "group", supported is null)"},
      {weights + "/strategy", "tensor", in_weights + R"(.strategy is "tensor", supported is "channel")"},
      {weights + "/strategy", "group", in_weights + R"(.strategy is "group", supported is "channel")"},
      {weights + "/strategy", nullptr, in_weights + R"(.strategy is missing, supported is "channel")"},
  };
  for (const auto& wrong : cases) {
    json setting = json::parse(kSetting);
    setting[json::json_pointer(wrong.at)] = wrong.value;
    refuses(setting, wrong.words, wrong.code);
  }
  json two = json::parse(kSetting);
  two["config_groups"]["group_1"] = two["config_groups"]["group_0"];
  CHECK(ReadModelInfo(WithSetting(config, two)).layers == 3);
  two["config_groups"]["group_1"]["weights"]["num_bits"] = 4;
  refuses(two, R"(.config_groups["group_1"].weights.num_bits is 4, supported is 8)");
}

}  // namespace
}  // namespace headlens::testing
