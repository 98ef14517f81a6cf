// SPDX-License-Identifier: Apache-2.0
/// Folders as they were published over the years: other words in config.json, other names of tensors, and tensors that
/// are no weights. Each gives the same model, and bit for bit the same run.
#include <filesystem>
#include <functional>
#include <map>
#include <set>

#include "models/stored_tensors.h"

namespace headlens::testing {
namespace {

using nlohmann::json;

/// A golden model, and what becomes of it when its config.json or its tensors are changed.
class Folder {
 public:
  explicit Folder(const std::string& name)
      : path_(GoldenFolder(name)),
        golden_(path_ + "/expected.safetensors"),
        config_(ReadText(path_ + "/config.json")),
        tensors_(ReadTensors(path_)),
        model_(LoadTensors(config_, tensors_)) {}

  const std::string& path() const { return path_; }
  const StoredTensors& tensors() const { return tensors_; }
  json config() const { return json::parse(config_); }
  std::string type() const { return config()["model_type"]; }

  void CheckConfig(const std::string& config) const {
    CheckSameModel(LoadTensors(config, tensors_), model_, golden_.input);
  }
  void CheckTensors(const StoredTensors& tensors) const {
    CheckSameModel(LoadTensors(config_, tensors), model_, golden_.input);
  }
  /// The same stream without any logits.
  void CheckBase(const StoredTensors& tensors) const {
    const Model base = LoadTensors(config_, tensors);
    CHECK(base.info().logits == 0);
    CheckSameBits(base.Attend(golden_.input).hidden(), model_.Attend(golden_.input).hidden());
  }
  /// The same with other names of tensors. Returns how many have another.
  int CheckRenamed(const std::function<std::string(const std::string&)>& rename) const {
    StoredTensors renamed;
    int count = 0;
    for (const auto& [name, tensor] : tensors_) {
      const std::string other = rename(name);
      count += other != name ? 1 : 0;
      renamed[other] = tensor;
    }
    REQUIRE(renamed.size() == tensors_.size());
    if (count > 0) CheckTensors(renamed);
    return count;
  }

 private:
  std::string path_;
  Golden golden_;
  std::string config_;
  StoredTensors tensors_;
  Model model_;
};

/// Runs `check` for every golden folder, and returns the number of those for which it returns true.
int CountFolders(const std::function<bool(const Folder&)>& check) {
  int count = 0;
  for (const std::string& name : GoldenModels()) {
    CAPTURE(name);
    count += check(Folder(name)) ? 1 : 0;
  }
  return count;
}

TEST_CASE("a configuration in the words of before transformers 5 gives the same model") {
  const int count = CountFolders([](const Folder& folder) {
    const std::string path = folder.path() + "/config.published.json";
    if (!std::filesystem::exists(path)) return false;
    folder.CheckConfig(ReadText(path));
    return true;
  });
  CHECK(count >= 5);
}

/// The same configuration as transformers 5 writes it.
json InNewWords(json config) {
  json rope = config.value("rope_scaling", json::object());
  if (rope.is_null()) rope = json::object();
  if (rope.contains("type")) rope["rope_type"] = rope["type"];
  rope.erase("type");
  if (!rope.contains("rope_type")) rope["rope_type"] = "default";
  rope["rope_theta"] =
      config.contains("rope_theta") ? config["rope_theta"] : config.value("rotary_emb_base", json(1e4));
  if (config.contains("rotary_pct")) rope["partial_rotary_factor"] = config["rotary_pct"];
  for (const char* old : {"rope_theta", "rope_scaling", "rotary_emb_base", "rotary_pct", "torch_dtype"})
    config.erase(old);
  config["rope_parameters"] = rope;
  config["dtype"] = "float32";
  return config;
}

TEST_CASE("a configuration in the words of transformers 5 gives the same model") {
  const int count = CountFolders([](const Folder& folder) {
    const json config = folder.config();
    if (!config.contains("rope_theta") && !config.contains("rotary_pct")) return false;
    folder.CheckConfig(InNewWords(config).dump());
    return true;
  });
  CHECK(count >= 10);
}

TEST_CASE("the type of the weights in config.json, by either name, is not what counts") {
  for (const char* key : {"dtype", "torch_dtype"})
    CountFolders([key](const Folder& folder) {
      json config = folder.config();
      config[key] = "float16";
      folder.CheckConfig(config.dump());
      return true;
    });
}

/// The other name of a norm's parameter: gamma for weight and beta for bias, or the reverse.
std::string OtherNormName(const std::string& name) {
  const std::size_t dot = name.rfind('.') + 1;
  const std::string module = name.substr(0, dot), parameter = name.substr(dot);
  for (const auto& [one, other] : {std::pair("weight", "gamma"), std::pair("bias", "beta")}) {
    if (parameter == one) return module + other;
    if (parameter == other) return module + one;
  }
  return name;
}

TEST_CASE("norms may call their parameters weight and bias, or gamma and beta") {
  CountFolders([](const Folder& folder) {
    const auto is_norm = [&](const std::string& module) {
      for (const char* parameter : {"weight", "gamma"}) {
        const auto scale = folder.tensors().find(module + parameter);
        if (scale != folder.tensors().end() && scale->second.shape.size() == 1) return true;
      }
      return false;
    };
    const int count = folder.CheckRenamed([&](const std::string& name) {
      return is_norm(name.substr(0, name.rfind('.') + 1)) ? OtherNormName(name) : name;
    });
    CHECK(count >= 3);
    return true;
  });
}

/// The words that stand before the names of a whole model's tensors, but for those of its head.
const std::map<std::string, std::string> kPrefixes = {
    {"bert", "bert."},
    {"deit", "deit."},
    {"dinov2", "dinov2."},
    {"dinov2_with_registers", "dinov2_with_registers."},
    {"distilbert", "distilbert."},
    {"gemma2", "model."},
    {"gemma3_text", "model."},
    {"gpt2", "transformer."},
    {"gpt_neo", "transformer."},
    {"gpt_neox", "gpt_neox."},
    {"llama", "model."},
    {"mistral", "model."},
    {"olmo2", "model."},
    {"phi3", "model."},
    {"qwen2", "model."},
    {"qwen3", "model."},
    {"roberta", "roberta."},
    {"vit", "vit."},
    {"xlm-roberta", "roberta."},
};

TEST_CASE("names of tensors may have the prefix of the whole model or not, with or without a head") {
  std::set<std::string> types;
  CountFolders([&](const Folder& folder) {
    const std::string& prefix = kPrefixes.at(folder.type());
    types.insert(folder.type());
    const bool has_prefix = folder.CheckRenamed([&](const std::string& name) {
      return name.starts_with(prefix) ? name.substr(prefix.size()) : name;
    }) > 0;
    if (!has_prefix) CHECK(folder.CheckRenamed([&](const std::string& name) { return prefix + name; }) > 0);
    return has_prefix;
  });
  CHECK(types.size() == kPrefixes.size());
}

TEST_CASE("a model that was saved without its head, or with one for another task, has no logits") {
  const int count = CountFolders([](const Folder& folder) {
    const std::string& prefix = kPrefixes.at(folder.type());
    StoredTensors base = folder.tensors();
    std::erase_if(base, [&](const auto& named) { return !named.first.starts_with(prefix); });
    if (base.empty() || base.size() == folder.tensors().size()) return false;
    base["score.weight"] = {"F32", {2}, std::string(8, '\0')};
    folder.CheckBase(base);
    return true;
  });
  CHECK(count >= 12);
}

TEST_CASE("the bias of a masked language model's decoder may lie inside of the decoder") {
  const int count = CountFolders([](const Folder& folder) {
    return folder.CheckRenamed([](const std::string& name) {
      if (name == "cls.predictions.bias") return std::string("cls.predictions.decoder.bias");
      return name == "lm_head.bias" ? "lm_head.decoder.bias" : name;
    }) > 0;
  });
  CHECK(count >= 3);
}

TEST_CASE("a decoder that is the table of tokens may be stored a second time") {
  const int count = CountFolders([](const Folder& folder) {
    StoredTensors tensors = folder.tensors();
    for (const char* table : {"word_embeddings", "wte", "embed_in", "embed_tokens"})
      for (const auto& [name, tensor] : folder.tensors())
        if (name.ends_with(table + std::string(".weight")))
          for (const char* decoder : {"cls.predictions.decoder", "lm_head", "lm_head.decoder", "vocab_projector"})
            tensors.emplace(decoder + std::string(".weight"), tensor);
    if (!folder.config().value("tie_word_embeddings", true)) return false;
    folder.CheckTensors(tensors);
    return true;
  });
  CHECK(count >= 15);
}

/// The name of what belongs to each layer, when `name` is the name of a part of that: "h.0.attn." of "h.0.attn.x.y".
std::string LayerPart(const std::string& name, const std::string& part) {
  const std::size_t at = name.find("." + part + ".");
  return at == name.npos ? "" : name.substr(0, at + part.size() + 2);
}

TEST_CASE("buffers in a file, and layers that only training uses, change nothing") {
  const Stored flags{"U8", {1, 1, 2, 2}, std::string(4, '\1')}, number{"F32", json::array(), std::string(4, '\0')},
      positions{"I64", {1, 2}, std::string(16, '\0')}, wide{"F32", {2}, std::string(8, '\0')};
  CountFolders([&](const Folder& folder) {
    StoredTensors tensors = folder.tensors();
    for (const auto& [name, tensor] : folder.tensors()) {
      for (const char* part : {"attn", "attn.attention", "attention", "self_attn"}) {
        const std::string prefix = LayerPart(name, part);
        if (prefix.empty()) continue;
        tensors.emplace(prefix + "bias", flags);
        tensors.emplace(prefix + "masked_bias", number);
        tensors.emplace(prefix + "rotary_emb.inv_freq", wide);
      }
    }
    for (const std::string& prefix : {std::string(), kPrefixes.at(folder.type())}) {
      tensors.emplace(prefix + "embeddings.position_ids", positions);
      tensors.emplace(prefix + "embeddings.mask_token", wide);
      tensors.emplace(prefix + "rotary_emb.inv_freq", wide);
      tensors.emplace(prefix + "pooler.dense.weight", wide);
      tensors.emplace(prefix + "pooler.dense.bias", wide);
    }
    tensors.emplace("cls.seq_relationship.weight", wide);
    CHECK(tensors.size() >= folder.tensors().size() + 8);
    folder.CheckTensors(tensors);
    return true;
  });
}

}  // namespace
}  // namespace headlens::testing
