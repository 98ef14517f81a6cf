// SPDX-License-Identifier: Apache-2.0
/// Every option and every tensor of every operation, wrong in each way it can be: its own error, which names it, what
/// it was and what was expected; and afterwards the same Problem runs as before.
#include <cmath>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "headlens/problem.h"
#include "support.h"

namespace headlens::testing {
namespace {

const double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

/// A tensor filled with one number.
struct Filled {
  std::string name;
  DType dtype;
  Shape shape;
  double value = 0.5;
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

Filled Floats(const char* name, Shape shape, double value = 0.5) {
  return {name, DType::kF32, std::move(shape), value};
}
Filled Ints(const char* name, Shape shape, double value) { return {name, DType::kI32, std::move(shape), value}; }
Filled Bools(const char* name, Shape shape, double value = 0) { return {name, DType::kBool, std::move(shape), value}; }

/// An operation with right options and inputs: B = 2, H = 2, T = S = 3, d = 4.
struct RightCase {
  const char* op;
  const char* options;
  std::vector<Filled> parameters, inputs;
  const char *mask, *padding, *causal;  // its names for them
};

std::vector<Filled> AttentionParameters(const std::string& prefix) {
  return {{prefix + "in_proj_weight", DType::kF32, {24, 8}, 0.1},
          {prefix + "in_proj_bias", DType::kF32, {24}, 0.2},
          {prefix + "out_proj.weight", DType::kF32, {8, 8}, 0.3},
          {prefix + "out_proj.bias", DType::kF32, {8}, 0.4}};
}

std::vector<Filled> LayerParameters(bool decoder) {
  std::vector<Filled> all = AttentionParameters("self_attn.");
  if (decoder) {
    for (Filled& parameter : AttentionParameters("multihead_attn.")) all.push_back(std::move(parameter));
    all.insert(all.end(), {Floats("norm3.weight", {8}), Floats("norm3.bias", {8})});
  }
  all.insert(all.end(), {Floats("linear1.weight", {5, 8}), Floats("linear1.bias", {5}),
                         Floats("linear2.weight", {8, 5}), Floats("linear2.bias", {8}), Floats("norm1.weight", {8}),
                         Floats("norm1.bias", {8}), Floats("norm2.weight", {8}), Floats("norm2.bias", {8})});
  return all;
}

const RightCase kScaledDotProduct = {"scaled_dot_product_attention",
                                     "{}",
                                     {},
                                     {Floats("query", {2, 2, 3, 4})},
                                     "attn_mask",
                                     "key_padding_mask",
                                     "is_causal"};

std::vector<RightCase> Attentions() {
  return {kScaledDotProduct,
          {"multihead_attention",
           R"({"embed_dim": 8, "num_heads": 2, "batch_first": true})",
           AttentionParameters(""),
           {Floats("query", {2, 3, 8})},
           "attn_mask",
           "key_padding_mask",
           "is_causal"},
          {"transformer_encoder_layer",
           R"({"embed_dim": 8, "num_heads": 2, "dim_feedforward": 5, "batch_first": true})",
           LayerParameters(false),
           {Floats("src", {2, 3, 8})},
           "src_mask",
           "src_key_padding_mask",
           "is_causal"},
          {"transformer_decoder_layer",
           R"({"embed_dim": 8, "num_heads": 2, "dim_feedforward": 5, "batch_first": true})",
           LayerParameters(true),
           {Floats("tgt", {2, 3, 8}), Floats("memory", {2, 4, 8})},
           "tgt_mask",
           "tgt_key_padding_mask",
           "tgt_is_causal"}};
}

const RightCase kEmbedding = {
    "embedding", "{}", {Floats("weight", {5, 4}), Floats("position_embeddings", {6, 4})}, {Ints("ids", {2, 3}, 4)}, "",
    "",          ""};

struct Wrong {
  std::string options;  // $mask, $padding and $causal stand for the operation's names
  std::vector<Filled> tensors;
  ErrorCode code;
  std::string says;  // the beginning of the message
};

std::string Named(std::string text, const RightCase& right) {
  for (const auto& [mark, name] :
       {std::pair("$mask", right.mask), std::pair("$padding", right.padding), std::pair("$causal", right.causal)}) {
    for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark)) {
      text.replace(at, std::strlen(mark), name);
    }
  }
  return text;
}

/// What a call refuses, or "accepted".
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
  for (const Filled& input : right.inputs) Give(problem, input);
  return problem.Run();
}

void CheckWrong(const RightCase& right, const std::vector<Wrong>& all) {
  CAPTURE(right.op);
  Problem problem(right.op, right.options);
  for (const Filled& parameter : right.parameters) Give(problem, parameter);
  const Results before = RunRight(problem, right);
  for (const auto& [options, tensors, code, says] : all) {
    const std::string text = Named(options, right);
    CAPTURE(text);
    CAPTURE(says);
    const std::string message = Refusal(
        [&, &tensors = tensors] {
          for (const Filled& input : right.inputs) Give(problem, input);
          for (Filled tensor : tensors) {
            tensor.name = Named(tensor.name, right);
            Give(problem, tensor);
          }
          problem.Run(text);
        },
        code);
    CHECK(message != "accepted");
    CHECK_MESSAGE(message.starts_with(Named(says, right)), message);
    const Results after = RunRight(problem, right);
    CheckClose("afterwards", after.at("output").values(), before.at("output").values(), 0.0);
  }
}

constexpr ErrorCode kOption = ErrorCode::kOption, kValue = ErrorCode::kValue, kShape = ErrorCode::kShape,
                    kDtype = ErrorCode::kDtype, kFormat = ErrorCode::kFormat;

TEST_CASE("options of every attention that are wrong") {
  const std::vector<Wrong> wrong = {
      {R"({"$causal": 1})", {}, kOption, "$causal is 1, expected true or false"},
      {R"({"windw_left": 1})", {}, kOption, "unknown option \"windw_left\"; known here: "},
      {R"({"positions": "none"})", {}, kOption, "unknown option \"positions\""},
      // Conventions and what they choose
      {R"({"conventions": "numpy"})", {}, kOption, "conventions is \"numpy\", expected one of \"torch-mha\""},
      {R"({"mask_true": true})", {}, kOption, "mask_true is true, expected one of \"keep\", \"ignore\""},
      {R"({"causal_alignment": "left"})", {}, kOption, "causal_alignment is \"left\", expected one of \"top_left\""},
      {R"({"fully_masked": 0})", {}, kOption, "fully_masked is 0, expected one of \"zero\", \"nan\", \"uniform\""},
      {R"({"gqa_order": "wild"})", {}, kOption, "gqa_order is \"wild\", expected one of \"block\", \"interleaved\""},
      {R"({"softcap_order": []})", {}, kOption, "softcap_order is [], expected one of \"before_bias\", \"after_bias\""},
      // Numbers
      {R"({"softcap": "x"})", {}, kOption, "softcap is \"x\", expected a finite number"},
      {R"({"softcap": -1})", {}, kValue, "softcap must be positive, or 0 for none, got -1"},
      {R"({"softcap": 1e-40})", {}, kOption, "softcap is 1e-40, expected a number that a 32-bit float can hold"},
      {R"({"softcap": 1e39})", {}, kOption, "softcap is 1e+39, expected a number that a 32-bit float can hold"},
      {R"({"scale": true})", {}, kOption, "scale is true, expected a finite number"},
      {R"({"scale": 1e300})", {}, kOption, "scale is 1e+300, expected a number that a 32-bit float can hold"},
      {R"({"dropout_p": 1.5})", {}, kValue, "dropout_p must be between 0 and 1, got 1.5"},
      {R"({"dropout_p": -0.1})", {}, kValue, "dropout_p must be between 0 and 1, got -0.1"},
      {R"({"dropout_p": "half"})", {}, kOption, "dropout_p is \"half\", expected a finite number"},
      {R"({"seed": -1})", {}, kOption, "seed is -1, expected a whole number, at least 0"},
      {R"({"seed": 0.5})", {}, kOption, "seed is 0.5, expected a whole number"},
      {R"({"seed": "a"})", {}, kOption, "seed is \"a\", expected a whole number"},
      {R"({"seed": 9007199254740993})", {}, kOption, "seed is 9007199254740993, expected a whole number, at most 9007"},
      {R"({"seed": 18446744073709551615})",
       {},
       kOption,
       "seed is 18446744073709551615, expected a whole number, at mo"},
      {R"({"seed": 18446744073709551616})", {}, kOption, "seed is 1.84"},
      // What is wanted
      {R"({"need_weights": "yes"})", {}, kOption, "need_weights is \"yes\", expected true or false"},
      {R"({"average_attn_weights": 1})", {}, kOption, "average_attn_weights is 1, expected true or false"},
      {R"({"stages": "scores"})", {}, kOption, "stages is \"scores\", expected a list of names"},
      {R"({"stages": ["scores", 1]})", {}, kOption, "stages is [\"scores\",1], expected a list of names"},
      {R"({"stages": ["score"]})", {}, kOption, "stages names \"score\", expected some of: q, k, v"},
      {R"({"backend": "cuda"})", {}, kOption, "backend is \"cuda\", expected one of: simd, reference"},
      {R"({"backend": 1})", {}, kOption, "backend is 1, expected a name"},
      // Normalisers
      {R"({"normalizer": "max"})", {}, kOption, "normalizer is \"max\", expected one of \"softmax\", \"sparsemax\""},
      {R"({"temperature": 0})", {}, kValue, "temperature is 0, expected a positive number"},
      {R"({"temperature": -2})", {}, kValue, "temperature is -2, expected a positive number"},
      {R"({"temperature": 1e-40})", {}, kOption, "temperature is 1e-40, expected a number that a 32-bit float"},
      {R"({"temperature": 1e300})", {}, kOption, "temperature is 1e+300, expected a number that a 32-bit float"},
      {R"({"temperature": "warm"})", {}, kOption, "temperature is \"warm\", expected a finite number"},
      {R"({"top_k": 2})", {}, kOption, "top_k goes with normalizer \"top_k\" only"},
      {R"({"normalizer": "hard", "top_k": 2})", {}, kOption, "top_k goes with normalizer \"top_k\" only"},
      {R"({"normalizer": "top_k"})", {}, kValue, "top_k is 0, expected at least 1"},
      {R"({"normalizer": "top_k", "top_k": 0})", {}, kOption, "top_k is 0, expected a whole number, at least 1"},
      {R"({"normalizer": "top_k", "top_k": 1.5})", {}, kOption, "top_k is 1.5, expected a whole number"},
      {R"({"sigmoid_bias": 1})", {}, kOption, "sigmoid_bias goes with normalizer \"sigmoid\" only"},
      {R"({"normalizer": "sigmoid", "sigmoid_bias": "n"})", {}, kOption, "sigmoid_bias is \"n\", expected a finite"},
      {R"({"normalizer": "sigmoid", "sigmoid_bias": 1e60})",
       {},
       kOption,
       "sigmoid_bias is 1e+60, expected a number th"},
      {R"({"normalizer": "sparsemax", "sink": 0})", {}, kOption, "sinks have no meaning for sparsemax"},
      {R"({"normalizer": "sigmoid"})", {Floats("sinks", {2})}, kOption, "sinks have no meaning for sigmoid"},
      {R"({"sink": 0})", {Floats("sinks", {2})}, kOption, "sink is one number for all heads, and sinks gives each"},
      {R"({"sink": "low"})", {}, kOption, "sink is \"low\", expected a finite number"},
      {R"({"sink": -1e300})", {}, kOption, "sink is -1e+300, expected a number that a 32-bit float can hold"},
      {"{}", {Floats("sinks", {3})}, kShape, "sinks has shape (3,), expected (2,)"},
      {"{}", {Floats("sinks", {2}, kNan)}, kValue, "sinks holds nan at (0,); expected finite numbers"},
      {"{}", {Ints("sinks", {2}, 1)}, kDtype, "sinks has the type I32, expected floats"},
      // Windows, prefixes, documents
      {R"({"window_left": -1})", {}, kOption, "window_left is -1, expected a whole number, at least 0"},
      {R"({"window_left": 1.5})", {}, kOption, "window_left is 1.5, expected a whole number, at least 0"},
      {R"({"window_right": "2"})", {}, kOption, "window_right is \"2\", expected a whole number, at least 0"},
      {R"({"window_right": 9007199254740993})",
       {},
       kOption,
       "window_right is 9007199254740993, expected a whole number"},
      {R"({"window_left": -9223372036854775808})",
       {},
       kOption,
       "window_left is -9223372036854775808, expected a whole"},
      {R"({"dilation": 0})", {}, kOption, "dilation is 0, expected a whole number, at least 1"},
      {R"({"dilation": true})", {}, kOption, "dilation is true, expected a whole number, at least 1"},
      {"{}", {Ints("prefix_lens", {2}, 1)}, kOption, "prefix_lens needs is_causal"},
      {R"({"$causal": true})", {Ints("prefix_lens", {3}, 1)}, kShape, "prefix_lens has shape (3,), expected (2,)"},
      {R"({"$causal": true})", {Ints("prefix_lens", {2}, 4)}, kValue, "prefix_lens holds 4, expected 0 to 3"},
      {R"({"$causal": true})", {Ints("prefix_lens", {2}, -1)}, kValue, "prefix_lens holds -1, expected 0 to 3"},
      {R"({"$causal": true})",
       {Floats("prefix_lens", {2})},
       kDtype,
       "prefix_lens has the type F32, expected I32 or I64"},
      {"{}", {Bools("global_tokens", {2, 2})}, kShape, "global_tokens has shape (2, 2), expected (2, 3)"},
      {"{}", {Floats("global_tokens", {2, 3})}, kDtype, "global_tokens has the type F32, expected BOOL or U8"},
      {"{}", {Ints("query_documents", {2, 3}, 0)}, kShape, "query_documents needs key_documents"},
      {"{}", {Ints("key_documents", {2, 4}, 0)}, kShape, "key_documents has shape (2, 4), expected (2, 3)"},
      {"{}",
       {Ints("key_documents", {2, 3}, 0), Ints("query_documents", {3}, 0)},
       kShape,
       "query_documents has shape (3,), expected (2, 3)"},
      {"{}",
       {{"key_documents", DType::kI64, {2, 3}, 4e9}},
       kValue,
       "key_documents holds 4000000000, expected -2147483648 to 2147483647"},
      {"{}", {Ints("valid_lens", {2}, 4)}, kValue, "valid_lens holds 4, expected 0 to 3"},
      {"{}", {Ints("valid_lens", {2, 2}, 1)}, kShape, "valid_lens has shape (2, 2), expected (2,) or (2, 3)"},
      {"{}", {Floats("valid_lens", {2})}, kDtype, "valid_lens has the type F32, expected I32 or I64"},
      // The masks by their own names
      {"{}", {Floats("$mask", {3, 4})}, kShape, "$mask has shape (3, 4), expected (queries, keys) = (3, 3)"},
      {"{}", {Floats("$mask", {3})}, kShape, "$mask has shape (3,), expected (queries, keys) = (3, 3)"},
      {"{}", {Bools("$mask", {5, 3, 3})}, kShape, "$mask has shape (5, 3, 3), expected"},
      {"{}", {Ints("$mask", {3, 3}, 0)}, kDtype, "$mask has the type I32, expected"},
      {"{}", {Floats("$mask", {3, 3}, kNan)}, kValue, "$mask holds NaN at (0, 0, 0, 0); expected finite numbers or"},
      {"{}", {Floats("$mask", {3, 3}, kInf)}, kValue, "$mask holds +inf at (0, 0, 0, 0); expected finite numbers"},
      {"{}", {Bools("$padding", {3})}, kShape, "$padding has shape (3,), expected (2, 3)"},
      {"{}", {Floats("$padding", {2, 3})}, kDtype, "$padding has the type F32, expected BOOL or U8"},
      {"{}", {Floats("head_mask", {3})}, kShape, "head_mask has shape (3,), expected (2,) or (2, 2)"},
      {"{}", {Floats("head_mask", {2}, kNan)}, kValue, "head_mask holds nan at (0, 0); expected finite numbers"},
      {"{}", {Bools("head_mask", {2})}, kDtype, "head_mask has the type BOOL, expected floats"},
      // Positions
      {R"({"alibi": 1})", {}, kOption, "alibi is 1, expected true or false"},
      {R"({"alibi": true})",
       {Floats("alibi_slopes", {2})},
       kOption,
       "alibi chooses the slopes, and alibi_slopes gives"},
      {"{}", {Floats("alibi_slopes", {2, 1})}, kShape, "alibi_slopes has shape (2, 1), expected (2,)"},
      {"{}", {Floats("alibi_slopes", {2}, kInf)}, kValue, "alibi_slopes holds inf at (0,); expected finite numbers"},
      {"{}", {Floats("relative_bias", {2, 4})}, kShape, "relative_bias has shape (2, 4), expected (2 heads, an odd"},
      {"{}", {Floats("relative_bias", {2, 0})}, kShape, "relative_bias has shape (2, 0), expected (2 heads, an odd"},
      {"{}",
       {Floats("relative_bias", {3, 5})},
       kShape,
       "relative_bias has shape (3, 5), expected (2 heads or 1, an odd"},
      {"{}", {Floats("relative_bias", {5})}, kShape, "relative_bias has shape (5,), expected (2 heads or 1, an odd"},
      {"{}", {Floats("relative_bias", {1, 5}, kNan)}, kValue, "relative_bias holds nan at (0, 0); expected finite"},
      {"{}", {Floats("t5_bias", {3, 2})}, kShape, "t5_bias has shape (3, 2), expected (at least 4 buckets, 2 heads)"},
      {R"({"t5_bidirectional": false})",
       {Floats("t5_bias", {1, 2})},
       kShape,
       "t5_bias has shape (1, 2), expected (at l"},
      {"{}", {Floats("t5_bias", {8, 3})}, kShape, "t5_bias has shape (8, 3), expected (at least 4 buckets, 2 heads)"},
      {"{}", {Floats("t5_bias", {8})}, kShape, "t5_bias has shape (8,), expected (buckets, heads)"},
      {"{}", {Floats("t5_bias", {8, 2}, kNan)}, kValue, "t5_bias holds nan at (0, 0); expected finite numbers"},
      {R"({"t5_max_distance": 2})",
       {Floats("t5_bias", {8, 2})},
       kValue,
       "t5_max_distance is 2, expected more than the 2"},
      {R"({"t5_max_distance": 0})",
       {Floats("t5_bias", {8, 2})},
       kOption,
       "t5_max_distance is 0, expected a whole number"},
      {R"({"t5_bidirectional": 1})",
       {Floats("t5_bias", {8, 2})},
       kOption,
       "t5_bidirectional is 1, expected true or fal"},
      {R"({"t5_max_distance": 64})", {}, kOption, "t5_max_distance needs the tensor t5_bias"},
      {R"({"t5_bidirectional": true})", {}, kOption, "t5_bidirectional needs the tensor t5_bias"},
      {R"({"rotary": "full"})", {}, kOption, "rotary is \"full\", expected one of \"half\", \"interleaved\""},
      {R"({"rotary": true})", {}, kOption, "rotary is true, expected one of \"half\", \"interleaved\""},
      {R"({"rotary_dim": 2})", {}, kOption, "rotary_dim needs rotary, \"half\" or \"interleaved\""},
      {R"({"rotary_base": 100})", {}, kOption, "rotary_base needs rotary"},
      {R"({"rotary_scale": 2})", {}, kOption, "rotary_scale needs rotary"},
      {R"({"rotary": "half", "rotary_dim": 3})",
       {},
       kShape,
       "rotary_dim is 3, expected an even number up to the head w"},
      {R"({"rotary": "half", "rotary_dim": 6})",
       {},
       kShape,
       "rotary_dim is 6, expected an even number up to the head w"},
      {R"({"rotary": "half", "rotary_dim": 0})", {}, kOption, "rotary_dim is 0, expected a whole number, at least 2"},
      {R"({"rotary": "half", "rotary_base": 0})", {}, kValue, "rotary_base and rotary_scale must be positive, got 0"},
      {R"({"rotary": "half", "rotary_base": "x"})", {}, kOption, "rotary_base is \"x\", expected a finite number"},
      {R"({"rotary": "half", "rotary_scale": -1})",
       {},
       kValue,
       "rotary_base and rotary_scale must be positive, got 100"},
      {R"({"rotary": "half", "rotary_scale": 1e-320})", {}, kValue, "rotary_base and rotary_scale are too small"},
      {R"({"rotary": "half", "rotary_base": 1e-320})", {}, kValue, "rotary_base and rotary_scale are too small"},
      // Past keys
      {"{}", {Floats("past_key", {2, 2, 1, 4})}, kShape, "past_value is missing"},
      {"{}", {Floats("past_value", {2, 2, 1, 4})}, kShape, "past_key is missing"},
      {"{}",
       {Floats("past_key", {2, 2, 1, 3}), Floats("past_value", {2, 2, 1, 4})},
       kShape,
       "past_key has shape (2, 2, 1, 3), expected (2, 2, 1, 4)"},
      {"{}",
       {Floats("past_key", {1, 2, 1, 4}), Floats("past_value", {1, 2, 1, 4})},
       kShape,
       "past_key has shape (1, 2, 1, 4), expected (2, 2, 1, 4)"},
      {"{}",
       {Floats("past_key", {2, 2, 5, 4}), Floats("past_value", {2, 2, 4, 4})},
       kShape,
       "past_value has shape (2, 2, 4, 4), expected (2, 2, 5, 4)"},
      {"{}",
       {Floats("past_key", {2, 2, 4}), Floats("past_value", {2, 2, 4})},
       kShape,
       "past_key has shape (2, 2, 4), expected 4 dimensions"},
      {"{}",
       {Ints("past_key", {2, 2, 1, 4}, 0), Ints("past_value", {2, 2, 1, 4}, 0)},
       kDtype,
       "past_key has the type I"},
      // Masks count the past.
      {"{}",
       {Floats("past_key", {2, 2, 2, 4}), Floats("past_value", {2, 2, 2, 4}), Bools("$padding", {2, 3})},
       kShape,
       "$padding has shape (2, 3), expected (2, 5)"},
      {"{}",
       {Floats("past_key", {2, 2, 2, 4}), Floats("past_value", {2, 2, 2, 4}), Ints("key_documents", {2, 5}, 0)},
       kShape,
       "query_documents is missing"},
  };
  for (const RightCase& right : Attentions()) CheckWrong(right, wrong);
}

TEST_CASE("options of layers that are wrong") {
  const std::vector<RightCase> ops = Attentions();
  for (std::size_t i = 1; i < ops.size(); ++i) {
    CheckWrong(
        ops[i],
        {
            {R"({"embed_dim": 0})", {}, kOption, "embed_dim is 0, expected a whole number, at least 1"},
            {R"({"embed_dim": null})", {}, kOption, "embed_dim is missing, expected a whole number, at least 1"},
            {R"({"embed_dim": 9})", {}, kShape, "embed_dim must be a multiple of num_heads, got embed_dim 9"},
            {R"({"embed_dim": 9007199254740992})", {}, kShape, ""},
            {R"({"num_heads": -2})", {}, kOption, "num_heads is -2, expected a whole number, at least 1"},
            {R"({"num_kv_heads": 3})", {}, kShape, "num_heads must be a multiple of num_kv_heads, got num_heads 2"},
            {R"({"num_kv_heads": 0})", {}, kOption, "num_kv_heads is 0, expected a whole number, at least 1"},
            {R"({"num_kv_heads": 1})", {}, kShape, "parameter "},
            {R"({"kdim": 0})", {}, kOption, "kdim is 0, expected a whole number, at least 1"},
            {R"({"vdim": 2.5})", {}, kOption, "vdim is 2.5, expected a whole number, at least 1"},
            {R"({"bias": "no"})", {}, kOption, "bias is \"no\", expected true or false"},
            {R"({"add_bias_kv": 1})", {}, kOption, "add_bias_kv is 1, expected true or false"},
            {R"({"add_bias_kv": true})", {}, kShape, "parameter "},
            {R"({"add_zero_attn": 0})", {}, kOption, "add_zero_attn is 0, expected true or false"},
            {R"({"add_zero_attn": true})",
             {Floats("past_key", {2, 2, 1, 4}), Floats("past_value", {2, 2, 1, 4})},
             kOption,
             "a layer with add_bias_kv or add_zero_attn cannot take past keys"},
            {R"({"batch_first": 1})", {}, kOption, "batch_first is 1, expected true or false"},
            {R"({"enable_gqa": true})", {}, kOption, "unknown option \"enable_gqa\""},
        });
    if (i == 1) continue;
    CheckWrong(ops[i],
               {
                   {R"({"dim_feedforward": 0})", {}, kOption, "dim_feedforward is 0, expected a whole number"},
                   {R"({"activation": "tanh"})", {}, kOption, "activation is \"tanh\", expected one of \"relu\""},
                   {R"({"activation": "swiglu"})", {}, kShape, "parameter linear1.bias has shape (5,), expected (10,)"},
                   {R"({"norm": "batch"})", {}, kOption, "norm is \"batch\", expected one of \"layer_norm\""},
                   {R"({"norm_first": 1})", {}, kOption, "norm_first is 1, expected true or false"},
                   {R"({"layer_norm_eps": -1})", {}, kValue, "layer_norm_eps is -1"},
                   {R"({"layer_norm_eps": "s"})", {}, kOption, "layer_norm_eps is \"s\", expected a finite numb"},
                   {R"({"layer_norm_eps": 1e99})", {}, kOption, "layer_norm_eps is 1e+99, expected a number t"},
               });
  }
  CheckWrong(ops.back(),
             {
                 {R"({"is_causal": true})", {}, kOption, "unknown option \"is_causal\""},
                 {R"({"memory_is_causal": 1})", {}, kOption, "memory_is_causal is 1, expected true or false"},
                 {"{}", {Floats("memory", {2, 4, 7})}, kShape, "memory has shape (2, 4, 7), expected (2, 4, 8)"},
                 {"{}", {Floats("memory", {3, 4, 8})}, kShape, "memory has shape (3, 4, 8), expected (2, 4, 8)"},
                 {"{}", {Floats("memory_mask", {3, 3})}, kShape, "memory_mask has shape (3, 3), expected (que"},
                 {"{}", {Bools("memory_key_padding_mask", {2, 3})}, kShape, "memory_key_padding_mask has sha"},
             });
}

TEST_CASE("options of scaled dot-product attention that are wrong") {
  CheckWrong(
      kScaledDotProduct,
      {
          {R"({"enable_gqa": 1})", {}, kOption, "enable_gqa is 1, expected true or false"},
          {R"({"embed_dim": 8})", {}, kOption, "unknown option \"embed_dim\""},
          {R"({"num_kv_heads": 1})", {}, kOption, "unknown option \"num_kv_heads\""},
          {R"({"stages": ["head_contributions"]})", {}, kOption, "stages names head_contributions, but only layers have"},
          {"{}", {Floats("key", {2, 1, 3, 4})}, kShape, "query (2, 2, 3, 4) and key (2, 1, 3, 4) differ in heads"},
          {"{}", {Floats("key", {2, 3, 4})}, kShape, "key has shape (2, 3, 4), expected 4 dimensions"},
          {"{}", {Floats("value", {2, 2, 5, 4})}, kShape, "value has shape (2, 2, 5, 4), expected (2, 2, 3, 4)"},
          {"{}", {Ints("key", {2, 2, 3, 4}, 1)}, kDtype, "key has the type I32, expected floats"},
      });
}

TEST_CASE("options of embeddings that are wrong") {
  CheckWrong(
      kEmbedding,
      {
          {R"({"positions": "absolute"})", {}, kOption, "positions is \"absolute\", expected one of \"none\""},
          {R"({"position_offset": -1})", {}, kOption, "position_offset is -1, expected a whole number, at least 0"},
          {R"({"positions": "learned", "position_offset": 4})",
           {},
           kShape,
           "position_embeddings has shape (6, 4), expected at least (3 positions from 4 on"},
          {R"({"positions": "learned", "position_offset": 9007199254740992})",
           {},
           kShape,
           "position_embeddings has shape (6, 4), expected at least (3 positions from 9007199254740992 on"},
          {R"({"scale_embeddings": 2})", {}, kOption, "scale_embeddings is 2, expected true or false"},
          {R"({"is_causal": true})", {}, kOption, "unknown option \"is_causal\""},
          {"{}", {Ints("ids", {3}, 5)}, kValue, "ids holds 5, expected 0 to 4"},
          {"{}", {Ints("ids", {3}, -1)}, kValue, "ids holds -1, expected 0 to 4"},
          {"{}", {{"ids", DType::kI64, {3}, 1e15}}, kValue, "ids holds 1000000000000000, expected 0 to 4"},
          {"{}", {Floats("ids", {3})}, kDtype, "ids has the type F32, expected I32 or I64"},
          {"{}", {Ints("ids", {1, 1, 3}, 0)}, kShape, "ids has shape (1, 1, 3), expected (length) or (batch, lengt"},
          {"{}", {Ints("ids", {}, 0)}, kShape, "ids has shape (), expected (length) or (batch, length)"},
      });
  Problem problem("embedding", R"({"positions": "learned"})");
  const auto run = [&] {
    Give(problem, Ints("ids", {3}, 0));
    problem.Run();
  };
  CHECK(Refusal(run, kShape) == "parameter weight is missing");
  Give(problem, Floats("weight", {4}));
  CHECK(Refusal(run, kShape) == "weight has shape (4,), expected 2 dimensions");
  Give(problem, Floats("weight", {2, 4}));
  CHECK(Refusal(run, kShape) == "parameter position_embeddings is missing");
  Give(problem, Floats("position_embeddings", {3, 5}));
  CHECK(Refusal(run, kShape).starts_with("position_embeddings has shape (3, 5), expected at least (3 positions"));
  Give(problem, Floats("position_embeddings", {3, 4}));
  CHECK(Refusal(run, kShape) == "accepted");
}

TEST_CASE("sizes as large as numbers go are allowed where they mean something") {
  for (const char* options :
       {R"({"window_left": 9007199254740992, "window_right": 9007199254740992})",
        R"({"dilation": 9007199254740992, "alibi": true})", R"({"normalizer": "top_k", "top_k": 9007199254740992})",
        R"({"seed": 9007199254740992, "dropout_p": 0.5})", R"({"scale": 0, "temperature": 1e30})",
        R"({"rotary": "half", "rotary_base": 1e308, "rotary_scale": 1e308})"}) {
    CAPTURE(options);
    for (const RightCase& right : Attentions()) {
      Problem problem(right.op, right.options);
      for (const Filled& parameter : right.parameters) Give(problem, parameter);
      for (const Filled& input : right.inputs) Give(problem, input);
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
    CHECK(refused(repeat("[", depth)) == "options is nested more than 64 deep");
    CHECK(refused(R"({"is_causal": )" + repeat("[", depth) + repeat("]", depth) + "}") ==
          "options is nested more than 64 deep");
    CHECK(refused(repeat(R"({"a":)", depth) + "1" + repeat("}", depth)) == "options is nested more than 64 deep");
  }
  CHECK(refused(R"({"scale": 1e400})") == "options is not a JSON object");
  CHECK(refused(R"({"scale": NaN})") == "options is not a JSON object");
  CHECK(refused(R"({"scale": 1, "scale": 2})") == "options names \"scale\" twice");
  CHECK(refused("{\"\xff\": 1}") == "options is not a JSON object");
  CHECK(refused(std::string("{}\0{}", 5)) == "options is not a JSON object");
  CHECK(refused("{} {}") == "options is not a JSON object");
  CHECK_THROWS_AS(Problem("embedding", repeat("[", 1'000'000)), Error);

  // A long name or value is shown from its beginning.
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
    for (const Filled& parameter : right.parameters) Give(problem, parameter);
    KvCache cache(5);
    const auto run = [&](const char* options, const std::vector<Filled>& tensors) {
      for (const Filled& input : right.inputs) Give(problem, input);
      for (const Filled& tensor : tensors) Give(problem, tensor);
      problem.Run(options, &cache);
    };
    CHECK_THROWS_AS(run(R"({"softcap": -1})", {}), Error);
    CHECK(cache.length() == 0);
    for (int step = 1; step <= 3; ++step) {
      run("{}", {});
      CHECK(cache.length() == 3 * step);
      CHECK_THROWS_AS(run(R"({"softcap": -1})", {}), Error);
      CHECK_THROWS_AS(run(R"({"dropout_p": 2})", {}), Error);
      CHECK_THROWS_AS(run("{}", {Floats("sinks", {2}, kNan)}), Error);
      CHECK_THROWS_AS(run("{}", {Ints("prefix_lens", {2}, 1)}), Error);
      CHECK(cache.length() == 3 * step);
    }
    CHECK(Refusal([&] { run("{}", {Floats("past_key", {2, 2, 1, 4}), Floats("past_value", {2, 2, 1, 4})}); }, kOption)
              .starts_with("past_key and past_value stand in the cache already"));
    CHECK(cache.length() == 9);
    CHECK(cache.k().shape[2] <= 7);
  }
  Problem embedding(kEmbedding.op, kEmbedding.options);
  KvCache cache;
  CHECK(Refusal([&] { embedding.Run("{}", &cache); }, kOption) == "an embedding has no keys to cache");
}

}  // namespace
}  // namespace headlens::testing
