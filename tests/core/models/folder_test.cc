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

}  // namespace
}  // namespace headlens::testing
