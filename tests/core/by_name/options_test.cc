// SPDX-License-Identifier: Apache-2.0
/// Runs the table of refusals (tests/refusals) in C++. Every option and tensor of every operation is wrong in every
/// possible way, and each has its own error, which names it, its value and what was expected. Afterwards the same
/// Problem runs as before. Some cases that do not fit the table are tested here as well.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "headlens/problem.h"
#include "nlohmann/json.hpp"
#include "support.h"

namespace headlens::testing {
namespace {

using nlohmann::json;

/// A tensor filled with one number.
struct Filled {
  std::string name;
  DType dtype;
  Shape shape;
  double value;
};

template <class T>
void FillBytes(std::span<std::byte> bytes, double value) {
  const T element = static_cast<T>(value);
  for (std::size_t i = 0; i < bytes.size(); i += sizeof element)
    std::memcpy(bytes.data() + i, &element, sizeof element);
}

void Give(Problem& problem, const Filled& tensor) {
  const std::span<std::byte> bytes = problem.Input(tensor.name, tensor.dtype, tensor.shape);
  switch (tensor.dtype) {
    case DType::kF32:
      return FillBytes<float>(bytes, tensor.value);
    case DType::kI32:
      return FillBytes<std::int32_t>(bytes, tensor.value);
    case DType::kI64:
      return FillBytes<std::int64_t>(bytes, tensor.value);
    default:
      return FillBytes<std::uint8_t>(bytes, tensor.value);
  }
}

void Give(Problem& problem, const std::vector<Filled>& tensors) {
  for (const Filled& tensor : tensors) Give(problem, tensor);
}

Filled Floats(const char* name, Shape shape, double value = 0.5) {
  return {name, DType::kF32, std::move(shape), value};
}
Filled Ints(const char* name, Shape shape, double value) { return {name, DType::kI32, std::move(shape), value}; }

/// Returns the item of `all` with the name `name`.
template <class T>
T Called(const std::string& name, std::initializer_list<T> all) {
  return *std::find_if(all.begin(), all.end(), [&](T item) { return ToString(item) == name; });
}

double NumberOf(const json& value) {
  if (value == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (value == "inf") return std::numeric_limits<double>::infinity();
  return value.get<double>();
}

/// { name: [dtype, shape, value], … }. Without a value, floats are 0.5 and all others 0.
std::vector<Filled> ReadTensors(const json& tensors) {
  std::vector<Filled> all;
  for (const auto& [name, tensor] : tensors.items()) {
    const auto dtype =
        Called(tensor[0].get<std::string>(), {DType::kF32, DType::kBool, DType::kU8, DType::kI32, DType::kI64});
    const double value = tensor.size() > 2 ? NumberOf(tensor[2]) : dtype == DType::kF32 ? 0.5 : 0.0;
    all.push_back({name, dtype, tensor[1].get<Shape>(), value});
  }
  return all;
}

json ReadTable(const std::filesystem::path& path) { return json::parse(std::ifstream(path)); }

/// An operation with valid options and inputs.
struct RightCase {
  std::string op, options;
  std::vector<Filled> parameters, inputs;
  json names;  // replacements for the marks in wrong cases ($mask, …)
};

RightCase ReadRight(const std::string& op) {
  static const json table = ReadTable(HEADLENS_REFUSALS_DIR "/right.json");
  const json& right = table.at(op);
  return {op, right["options"].dump(), ReadTensors(right["parameters"]), ReadTensors(right["inputs"]), right["names"]};
}

std::vector<RightCase> Attentions() {
  return {ReadRight("scaled_dot_product_attention"), ReadRight("multihead_attention"),
          ReadRight("transformer_encoder_layer"), ReadRight("transformer_decoder_layer")};
}

/// A wrong case with the names that the operation uses.
json Named(const json& wrong, const RightCase& right) {
  std::string text = wrong.dump();
  for (const auto& [mark, name] : right.names.items()) {
    for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark))
      text.replace(at, mark.size(), name.get<std::string>());
  }
  return json::parse(text);
}

/// The message with which a call is refused, or "accepted".
std::string Refusal(const std::function<void()>& call, ErrorCode code) {
  try {
    call();
  } catch (const Error& error) {
    const std::string message = error.what();
    CHECK_MESSAGE(error.code() == code, message, " is said with the code ", ToString(error.code()));
    CHECK(message.find('\n') == std::string::npos);
    CHECK(message.size() < 1500);
    return message;
  }
  return "accepted";
}

Results RunRight(Problem& problem, const RightCase& right) {
  Give(problem, right.inputs);
  return problem.Run();
}

/// Each item of `wrong` is { options, tensors, code, says }: what is added to the right case, the error's code, and the
/// beginning of its message.
void CheckWrong(const RightCase& right, const std::vector<json>& all) {
  CAPTURE(right.op);
  Problem problem(right.op, right.options);
  Give(problem, right.parameters);
  const Results before = RunRight(problem, right);
  for (const json& unnamed : all) {
    const json wrong = Named(unnamed, right);
    CAPTURE(wrong.dump());
    const json options = wrong.value("options", json::object());
    const std::string message = Refusal(
        [&] {
          Give(problem, right.inputs);
          Give(problem, ReadTensors(wrong.value("tensors", json::object())));
          problem.Run(options.is_string() ? options.get<std::string>() : options.dump());
        },
        Called(wrong["code"].get<std::string>(),
               {ErrorCode::kOption, ErrorCode::kValue, ErrorCode::kShape, ErrorCode::kDtype, ErrorCode::kMemory}));
    CHECK_MESSAGE(message.starts_with(wrong["says"].get<std::string>()), message);
    const Results after = RunRight(problem, right);
    CheckClose("afterwards", after.at("output").values(), before.at("output").values(), 0.0);
  }
}

constexpr ErrorCode kOption = ErrorCode::kOption, kShape = ErrorCode::kShape, kFormat = ErrorCode::kFormat;

TEST_CASE("every refusal of the table") {
  std::size_t count = 0;
  for (const auto& file : std::filesystem::directory_iterator(HEADLENS_REFUSALS_DIR)) {
    if (file.path().filename() == "right.json") continue;
    CAPTURE(file.path().filename().string());
    const json table = ReadTable(file.path());
    for (const json& op : table["ops"]) {
      const RightCase right = ReadRight(op);
      for (const json& theme : table["wrong"]) {
        CheckWrong(right, theme);
        count += theme.size();
      }
    }
  }
  CHECK(count > 500);
}

TEST_CASE("an embedding without what it needs") {
  Problem problem("embedding", R"({"positions": "learned"})");
  const auto run = [&] {
    Give(problem, Ints("ids", {3}, 0));
    problem.Run();
  };
  CHECK(Refusal(run, kShape) == "nothing was loaded yet: the parameters are missing");
  Give(problem, Floats("weight", {4}));
  CHECK(Refusal(run, kShape) == "weight has shape (4,), expected 2 dimensions");
  Give(problem, Floats("weight", {2, 4}));
  CHECK(Refusal(run, kShape) == "parameter position_embeddings is missing");
  Give(problem, Floats("position_embeddings", {3, 5}));
  CHECK(Refusal(run, kShape).starts_with("position_embeddings has shape (3, 5), expected at least 3 positions"));
  Give(problem, Floats("position_embeddings", {3, 4}));
  CHECK(Refusal(run, kShape) == "accepted");
}

TEST_CASE("sizes as large as numbers go are allowed where they mean something") {
  for (const char* options :
       {R"({"window_left": 9007199254740992, "window_right": 9007199254740992})",
        R"({"dilation": 9007199254740992, "alibi": true})", R"({"normalizer": "top_k", "top_k": 9007199254740992})",
        R"({"neighborhood_rows": 9007199254740992, "neighborhood_columns": 9007199254740992, "grid_rows": 1,
            "grid_columns": 2, "grid_tokens": 1})",
        R"({"seed": 9007199254740992, "dropout_p": 0.5})", R"({"scale": 0, "temperature": 1e30})",
        R"({"rotary": "half", "rotary_base": 1e308, "rotary_scale": 1e308})"}) {
    CAPTURE(options);
    for (const RightCase& right : Attentions()) {
      Problem problem(right.op, right.options);
      Give(problem, right.parameters);
      Give(problem, right.inputs);
      const Results results = problem.Run(options);
      for (const float value : results.at("output").values()) CHECK(std::isfinite(value));
    }
  }
  Problem embedding("embedding", R"({"positions": "sinusoidal", "position_offset": 9007199254740992})");
  Give(embedding, Floats("weight", {2, 5}));
  Give(embedding, Ints("ids", {3}, 1));
  const Results results = embedding.Run();
  for (const float value : results.at("output").values()) CHECK(std::abs(value) <= 1.5f);
}

TEST_CASE("JSON that means harm") {
  const auto refused = [](const std::string& options) {
    return Refusal(
        [&] {
          Problem problem("scaled_dot_product_attention", "{}");
          Give(problem, Floats("query", {3, 4}));
          problem.Run(options);
        },
        kFormat);
  };
  const auto repeat = [](const std::string& text, int times) {
    std::string all;
    for (int i = 0; i < times; ++i) all += text;
    return all;
  };
  for (const int depth : {100, 1'000'000}) {
    CHECK(refused(repeat("[", depth)) == "options is nested deeper, expected at most 64 levels");
    CHECK(refused(R"({"is_causal": )" + repeat("[", depth) + repeat("]", depth) + "}") ==
          "options is nested deeper, expected at most 64 levels");
    CHECK(refused(repeat(R"({"a":)", depth) + "1" + repeat("}", depth)) ==
          "options is nested deeper, expected at most 64 levels");
  }
  CHECK(refused(R"({"scale": 1e400})") == "options is \"{\"scale\": 1e400}\", expected a JSON object");
  CHECK(refused(R"({"scale": NaN})") == "options is \"{\"scale\": NaN}\", expected a JSON object");
  CHECK(refused(R"({"scale": 1, "scale": 2})") == "options names \"scale\" twice, expected once");
  CHECK(refused("{\"\xff\": 1}") == "options is \"{\"\xff\": 1}\", expected a JSON object");
  CHECK(refused(std::string("{}\0{}", 5)) == "options is \"{}?{}\", expected a JSON object");
  CHECK(refused("{} {}") == "options is \"{} {}\", expected a JSON object");
  CHECK_THROWS_AS(Problem("embedding", repeat("[", 1'000'000)), Error);

  // Only the beginning of a long name or value is shown.
  const std::string long_text(100'000, 'x');
  for (const std::string& options : {"{\"" + long_text + "\": 1}", R"({"normalizer": ")" + long_text + "\"}",
                                     R"({"stages": [")" + long_text + "\"]}", R"({"backend": ")" + long_text + "\"}"}) {
    const std::string message = Refusal(
        [&] {
          Problem problem("scaled_dot_product_attention", "{}");
          Give(problem, Floats("query", {3, 4}));
          problem.Run(options);
        },
        kOption);
    CHECK(message.find("xxx") != std::string::npos);
  }
}

TEST_CASE("a run that fails leaves nothing in the cache") {
  for (const RightCase& right : Attentions()) {
    CAPTURE(right.op);
    Problem problem(right.op, right.options);
    Give(problem, right.parameters);
    KvCache cache(5);
    const auto run = [&](const char* options, const std::vector<Filled>& tensors) {
      Give(problem, right.inputs);
      Give(problem, tensors);
      problem.Run(options, &cache);
    };
    CHECK_THROWS_AS(run(R"({"softcap": -1})", {}), Error);
    CHECK(cache.length() == 0);
    for (int step = 1; step <= 3; ++step) {
      run("{}", {});
      CHECK(cache.length() == 3 * step);
      CHECK_THROWS_AS(run(R"({"softcap": -1})", {}), Error);
      CHECK_THROWS_AS(run(R"({"dropout_p": 2})", {}), Error);
      CHECK_THROWS_AS(run("{}", {Floats("sinks", {2}, std::nan(""))}), Error);
      CHECK_THROWS_AS(run("{}", {Ints("prefix_lens", {2}, 1)}), Error);
      CHECK(cache.length() == 3 * step);
    }
    CHECK(Refusal([&] { run("{}", {Floats("past_key", {2, 2, 1, 4}), Floats("past_value", {2, 2, 1, 4})}); }, kOption)
              .starts_with("past_key and past_value stand in the cache already"));
    CHECK(cache.length() == 9);
    CHECK(cache.k().shape[2] <= 7);
  }
  Problem embedding("embedding", "{}");
  KvCache cache;
  CHECK(Refusal([&] { embedding.Run("{}", &cache); }, kOption) == "an embedding has no keys to cache");
}

}  // namespace
}  // namespace headlens::testing
