// SPDX-License-Identifier: Apache-2.0
#include "bench/workloads.h"

#include <algorithm>

#include "nlohmann/json.hpp"

namespace headlens::bench {

extern const char kWorkloadsJson[];  // workloads.json, which CMake puts in

// Not in the unnamed namespace, since the JSON library finds it by the type of its argument.
NLOHMANN_JSON_SERIALIZE_ENUM(Kind, {{Kind::kProduct, "product"},
                                    {Kind::kLayer, "layer"},
                                    {Kind::kCore, "core"},
                                    {Kind::kMap, "map"},
                                    {Kind::kModel, "model"},
                                    {Kind::kDecode, "decode"},
                                    {Kind::kExplain, "explanation"},
                                    {Kind::kAgain, "again"}})

namespace {

using Json = nlohmann::json;

const Json& File() {
  static const Json file = Json::parse(kWorkloadsJson);
  return file;
}

/// A model that is like another one says what it changes, as a merge patch (RFC 7396).
Json FindModel(const std::string& name) {
  const Json& models = File().at("models");
  const Json& given = models.at(name);
  if (!given.contains("like")) return given;
  Json model = models.at(given.at("like").get<std::string>());
  model.merge_patch(given);
  return model;
}

ModelSpec ReadModel(const Json& json) {
  ModelSpec model;
  model.folder = json.value("folder", "");
  if (json.contains("config")) model.config = json.at("config").dump();
  json.at("layers").get_to(model.layers);
  json.at("heads").get_to(model.heads);
  json.at("width").get_to(model.width);
  json.at("vocabulary").get_to(model.vocabulary);
  json.at("linear_parameters").get_to(model.linear_parameters);
  const Json parameters = json.value("parameters", Json::object());
  for (const auto& [pattern, shape] : parameters.items()) {
    const std::size_t hash = pattern.find('#');
    const Index copies = hash == std::string::npos ? 1 : model.layers;
    for (Index i = 0; i < copies; ++i) {
      std::string name = pattern;
      if (hash != std::string::npos) name.replace(hash, 1, std::to_string(i));
      model.parameters.emplace(name, shape.get<Shape>());
    }
  }
  return model;
}

Row ReadRow(const Json& json) {
  Row row;
  json.at("name").get_to(row.name);
  json.at("kind").get_to(row.kind);
  row.causal = json.value("causal", false);
  row.batch = json.value("batch", Index{1});
  row.tokens = json.value("tokens", Index{0});
  row.width = json.value("width", Index{0});
  row.out = json.value("out", Index{0});
  row.maps = json.value("maps", false);
  row.heads = json.value("heads", Index{0});
  row.kv_heads = json.value("kv_heads", row.heads);
  row.queries = json.value("queries", row.tokens);
  row.keys = json.value("keys", row.tokens);
  row.head_dim = json.value("head_dim", Index{0});
  row.conventions = json.value("conventions", "");
  row.pool = json.value("pool", Index{0});
  row.rows = json.value("rows", row.tokens);
  row.question = json.value("question", "");
  row.silenced_layer = json.value("silenced_layer", Index{-1});
  if (json.contains("model")) row.model = ReadModel(FindModel(json.at("model").get<std::string>()));
  if (json.value("weights", "f32") == "bf16") row.model.weights = DType::kBF16;
  if (json.value("keys_and_values", "f32") == "bf16") row.keys_and_values = DType::kBF16;
  return row;
}

}  // namespace

double Row::operations() const {
  const auto number = [](Index n) { return static_cast<double>(n); };
  const double t = number(tokens), d = number(width), half = causal ? 0.5 : 1.0;
  const double layers = number(model.layers), w = number(model.width), linear = number(model.linear_parameters);
  const double model_pass = 2.0 * t * linear + 0.5 * layers * 4.0 * t * t * w;
  switch (kind) {
    case Kind::kProduct:
      return 2.0 * t * d * number(out);
    case Kind::kLayer:
      return number(batch) * (8.0 * t * d * d + half * 4.0 * t * t * d);
    case Kind::kCore:
      return half * 4.0 * number(batch * heads) * number(queries) * number(keys) * number(head_dim);
    case Kind::kMap:
      return 2.0 * number(rows) * t * w;
    case Kind::kExplain:
      return 0.0;
    case Kind::kAgain:
      return model_pass * number(model.layers - std::max<Index>(silenced_layer, 0)) / layers;
    case Kind::kModel:
      return model_pass;
    case Kind::kDecode:
      return model_pass + 2.0 * t * number(model.vocabulary) * w;
  }
  return 0.0;
}

double Row::bytes() const {
  constexpr auto kFloat = static_cast<double>(sizeof(float));
  if (kind == Kind::kDecode)
    return static_cast<double>(tokens * (model.linear_parameters + model.vocabulary * model.width)) *
           static_cast<double>(ByteSize(model.weights));
  if (kind == Kind::kCore && queries == 1)
    return static_cast<double>(batch * 2 * kv_heads * keys * head_dim) * static_cast<double>(ByteSize(keys_and_values));
  if (kind == Kind::kCore && maps) return static_cast<double>(batch * heads * queries * keys) * kFloat;
  return 0.0;
}

nlohmann::json Described(const Row& row) {
  nlohmann::json json = {{"name", row.name},       {"kind", row.kind},     {"operations", row.operations()},
                         {"bytes", row.bytes()},   {"maps", row.maps},     {"causal", row.causal},
                         {"batch", row.batch},     {"tokens", row.tokens}, {"width", row.width},
                         {"out", row.out},         {"heads", row.heads},   {"kv_heads", row.kv_heads},
                         {"queries", row.queries}, {"keys", row.keys},     {"head_dim", row.head_dim},
                         {"pool", row.pool},       {"rows", row.rows}};
  if (row.model.layers == 0) return json;
  json["model"] = {{"layers", row.model.layers},
                   {"heads", row.model.heads},
                   {"width", row.model.width},
                   {"weights", row.model.weights == DType::kBF16 ? "bf16" : "f32"}};
  if (!row.model.config.empty()) json["model"]["config"] = Json::parse(row.model.config);
  return json;
}

namespace {

std::vector<Row> RowsOf(const char* table) {
  std::vector<Row> rows;
  for (const Json& json : File().at(table)) {
    const Row row = ReadRow(json);
    if (row.kind != Kind::kLayer) {
      rows.push_back(row);
      continue;
    }
    for (const bool maps : {true, false}) {
      rows.push_back(row);
      rows.back().name += maps ? "/maps" : "/no_maps";
      rows.back().maps = maps;
    }
  }
  return rows;
}

}  // namespace

std::vector<Row> Workloads() { return RowsOf("workloads"); }

std::vector<Row> Explanations() { return RowsOf("explanations"); }

std::vector<Row> LargeWorkloads() { return RowsOf("large"); }

std::vector<Row> Sweeps() {
  std::vector<Row> rows;
  for (const auto& [varied, sweep] : File().at("sweeps").items()) {
    for (const Json& value : sweep.at("values")) {
      Json json = sweep;
      json[varied] = value;
      json["name"] = "sweep/" + varied + "/" + (value.is_string() ? value.get<std::string>() : value.dump());
      json["kind"] = "core";
      rows.push_back(ReadRow(json));
    }
  }
  return rows;
}

}  // namespace headlens::bench
