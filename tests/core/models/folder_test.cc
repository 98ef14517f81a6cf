// SPDX-License-Identifier: Apache-2.0
#include "headlens/folder.h"

#include "support.h"

namespace headlens::testing {
namespace {

using Names = std::vector<std::string>;

std::string IndexOf(const std::string& name) { return R"({"weight_map": {"a": ")" + name + R"("}})"; }

TEST_CASE("an index names each file of the weights once") {
  CHECK(ReadShardNames(R"({"metadata": {}, "weight_map": {"a": "y.safetensors", "b": "x.safetensors",
                           "c": "y.safetensors"}})") == Names{"x.safetensors", "y.safetensors"});
  CHECK(ReadShardNames(IndexOf("é, one of 2 %.safetensors")) == Names{"é, one of 2 %.safetensors"});
  CHECK(ReadShardNames(R"({"weight_map": {}})").empty());
}

TEST_CASE("names in an index lead nowhere else") {
  for (const char* name : {".safetensors", "model.bin", "a/b.safetensors", "../b.safetensors", R"(a\\b.safetensors)",
                           R"(a\u0000.safetensors)", R"(a\n.safetensors)", R"(a\u007f.safetensors)",
                           R"(a\u0085.safetensors)", R"(a\u009f.safetensors)"}) {
    Refused(ErrorCode::kFormat, "expected names like model-00001.safetensors", [&] { ReadShardNames(IndexOf(name)); });
  }
  CHECK(ReadShardNames(IndexOf(R"(a\u00a0.safetensors)")).size() == 1);
  for (const char* text : {"", "[]", R"({"weight_map": {"a": "\ud800.safetensors"}})"})
    Refused(ErrorCode::kFormat, "expected a JSON object", [&] { ReadShardNames(text); });
  Refused(ErrorCode::kFormat, "weight_map names 1, expected", [&] { ReadShardNames(R"({"weight_map": {"a": 1}})"); });
  Refused(ErrorCode::kFormat, "weight_map is missing, expected an object", [&] { ReadShardNames("{}"); });
  Refused(ErrorCode::kFormat, "weight_map is [], expected an object", [&] { ReadShardNames(R"({"weight_map": []})"); });
  std::string many;
  for (int i = 0; i < 1001; ++i)
    many += (i == 0 ? "\"" : ", \"") + std::to_string(i) + "\": \"" + std::to_string(i) + ".safetensors\"";
  Refused(ErrorCode::kFormat, "weight_map names 1001 files, expected at most 1000",
          [&] { ReadShardNames(R"({"weight_map": {)" + many + "}}"); });
}

TEST_CASE("files of other formats are refused by name, each with what to do") {
  const struct {
    const char *missing, *name, *words;
  } formats[] = {
      {kConfigFile, "adapter_config.json", "is that of an adapter, expected config.json of"},
      {kConfigFile, "llama-q4.gguf", "is a file for llama.cpp, expected config.json: look for the folder"},
      {kWeightsFile, "adapter_config.json", "is that of an adapter, expected model.safe"},
      {kWeightsFile, "pytorch_model.bin",
       "is a pickle, which can run code, expected model.safetensors, which native/convert.py of "
       "headlens makes of such a folder"},
      {kWeightsFile, "pytorch_model-00001-of-00002.bin", "is a pickle"},
      {kWeightsFile, "consolidated.00.pth", "is a pickle"},
      {kWeightsFile, "model.pt", "is a pickle"},
      {kWeightsFile, "epoch=3.ckpt", "is a pickle"},
      {kWeightsFile, "tf_model.h5", "is a file of Keras, expected model.safetensors: look for the folder"},
      {kWeightsFile, "flax_model.msgpack", "is a file of Flax, expected model.safetensors: look for the folder"},
      {kWeightsFile, "model.onnx", "is a graph for other engines, expected model.safetensors: look for the folder"},
      {kWeightsFile, "model.gguf", "is a file for llama.cpp, expected model.safetensors: look for the folder"},
      {kTokenizerFile, "spiece.model", "is a SentencePiece model, expected tokenizer.json, which native/convert.py"},
      {kTokenizerFile, "sentencepiece.bpe.model", "is a SentencePiece model"},
      {kTokenizerFile, "tokenizer.model", "is a SentencePiece model"},
      {kTokenizerFile, "source.spm", "is a SentencePiece model"},
      {kTokenizerFile, "vocab.txt", "is a part of a tokenizer, expected tokenizer.json, which"},
      {kTokenizerFile, "vocab.json", "is a part of a tokenizer"},
      {kTokenizerFile, "qwen.tiktoken", "is a part of a tokenizer"},
      {kTokenizerFile, "tekken.json", "is a part of a tokenizer, expected tokenizer.json, which"},
  };
  for (const auto& [missing, name, words] : formats) {
    const Names names = {"README.md", name, "generation_config.json"};
    Refused(ErrorCode::kUnsupported, '"' + std::string(name) + "\" " + words,
            [&] { RefuseOtherFormats(missing, names); });
  }
  for (const char* missing : {kConfigFile, kTokenizerFile, kProcessorFile, kWeightsFile})
    CHECK_NOTHROW(RefuseOtherFormats(missing, Names{"README.md", "config.json", "model-00001.safetensors", "bin"}));
  const Names several = {"merges.txt", "optimizer.pt", "pytorch_model.bin"};
  Refused(ErrorCode::kUnsupported, "\"pytorch_model.bin\" is", [&] { RefuseOtherFormats(kWeightsFile, several); });
}

}  // namespace
}  // namespace headlens::testing
