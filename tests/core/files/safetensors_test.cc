// SPDX-License-Identifier: Apache-2.0
/// Hostile files: every one is refused with a message.
#include "headlens/safetensors.h"

#include <cstring>

#include "headlens/checkpoint.h"
#include "headlens/problem.h"
#include "support.h"

namespace headlens::testing {
namespace {

std::vector<std::byte> File(const std::string& header, std::size_t data_size, std::uint64_t length_lie = 0) {
  const std::uint64_t length = length_lie ? length_lie : header.size();
  std::vector<std::byte> bytes(8 + header.size() + data_size);
  for (std::size_t i = 0; i < 8; ++i) bytes[i] = static_cast<std::byte>(length >> (8 * i));
  std::memcpy(bytes.data() + 8, header.data(), header.size());
  return bytes;
}

std::string Refusal(const std::vector<std::byte>& bytes) {
  try {
    const Safetensors tensors(bytes);
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::kFormat);
    const std::string message = error.what();
    CHECK(message.find('\n') == std::string::npos);
    return message;
  }
  return "accepted";
}

TEST_CASE("what is written is read back") {
  Random random(1);
  TensorMap tensors;
  tensors.emplace("a", random.NormalTensor({2, 3}));
  tensors.emplace("empty", Tensor({0, 5}));
  tensors.emplace("scalar", random.NormalTensor({}));
  const std::vector<std::byte> file = WriteSafetensors(tensors, {{"op", "x \"quoted\" ünïcode"}});
  const Safetensors read(file);
  CHECK(read.metadata().at("op") == "x \"quoted\" ünïcode");
  CHECK(read.tensors().size() == 3);
  for (const auto& [name, tensor] : tensors) {
    const Tensor back = ToFloat(*read.Find(name));
    CHECK(back.shape() == tensor.shape());
    CheckClose(name, back.values(), tensor.values(), 0.0);
  }
  CHECK_FALSE(read.Find("b"));
}

TEST_CASE("hostile files") {
  const std::string f32 = R"("dtype":"F32","shape":[2],"data_offsets":)";
  const struct {
    const char* what;
    std::vector<std::byte> bytes;
    const char* says;
  } cases[] = {
      {"empty", {}, "safetensors has 0 bytes, expected at least 8"},
      {"short", std::vector<std::byte>(7), "7 bytes"},
      {"length beyond the file", File("{}", 0, 3), "the header claims 3 bytes, expected at most 2"},
      {"length near 2^64", File("{}", 0, ~std::uint64_t{0}), "claims 18446744073709551615 bytes, expected at most 2"},
      {"no JSON", File("{\"a\":", 0), "expected a JSON object"},
      {"a list", File("[]", 0), "expected a JSON object"},
      {"deep", File(std::string(100000, '['), 0), "the header is nested deeper, expected at most 3 levels"},
      {"deep object", File(R"({"a":{"b":{"c":{"d":{}}}}})", 0),
       "the header is nested deeper, expected at most 3 levels"},
      {"invalid UTF-8", File("{\"\xFF\":{}}", 0), "expected a JSON object"},
      {"tensor is a number", File(R"({"a":1})", 0), "tensor \"a\" is 1, expected an object"},
      {"no dtype", File(R"({"a":{"shape":[],"data_offsets":[0,4]}})", 4),
       "tensor \"a\".dtype is missing, expected a string"},
      {"unknown dtype", File(R"({"a":{"dtype":"F8","shape":[],"data_offsets":[0,1]}})", 1), "F8"},
      {"negative size", File(R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", 4),
       "shape[0] is -1, expected a whole number"},
      {"fractional size", File(R"({"a":{"dtype":"F32","shape":[1.5],"data_offsets":[0,4]}})", 4),
       "shape[0] is 1.5, expected a whole number"},
      {"overflowing shape", File(R"({"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,4]}})", 4),
       "shape is [4294967296,4294967296], expected a size that can be addressed"},
      {"size beyond 64 bits", File(R"({"a":{"dtype":"F32","shape":[18446744073709551615],"data_offsets":[0,4]}})", 4),
       "expected a whole number, at most"},
      {"one offset", File("{\"a\":{" + f32 + "[0]}}", 8), "data_offsets"},
      {"offsets reversed", File("{\"a\":{" + f32 + "[8,0]}}", 8), "data_offsets"},
      {"offsets beyond the file", File("{\"a\":{" + f32 + "[0,16]}}", 8),
       "tensor \"a\".data_offsets is [0,16], expected a begin and an end inside the 8 bytes of data"},
      {"shape against offsets", File("{\"a\":{" + f32 + "[0,4]}}", 4),
       "data_offsets is [0,4], expected 8 bytes for shape [2]"},
      {"overlap", File("{\"a\":{" + f32 + "[0,8]},\"b\":{" + f32 + "[4,12]}}", 12),
       "tensor \"b\" begins at byte 4, expected 8, where the one before it ends"},
      {"same bytes twice", File("{\"a\":{" + f32 + "[0,8]},\"b\":{" + f32 + "[0,8]}}", 8),
       "tensor \"b\" begins at byte 0, expected 8"},
      {"hole", File("{\"a\":{" + f32 + "[4,12]}}", 12), "tensor \"a\" begins at byte 4, expected 0"},
      {"rest", File("{\"a\":{" + f32 + "[0,8]}}", 12), "safetensors has 4 bytes after the last tensor, expected none"},
      {"twice", File("{\"a\":{" + f32 + "[0,8]},\"a\":{" + f32 + "[8,16]}}", 16),
       "the header names \"a\" twice, expected once"},
      {"metadata is a list", File(R"({"__metadata__":[]})", 0), "__metadata__ is [], expected an object"},
      {"metadata of numbers", File(R"({"__metadata__":{"op":1}})", 0), "__metadata__[\"op\"] is 1, expected a string"},
      {"control characters in a name", File("{\"a\\nb\":{}}", 0), "a?b"},
  };
  for (const auto& wrong : cases) {
    const auto& what = wrong.what;
    const auto& bytes = wrong.bytes;
    const auto& says = wrong.says;
    CAPTURE(what);
    CHECK_MESSAGE(Refusal(bytes).find(says) != std::string::npos, Refusal(bytes));
  }
}

TEST_CASE("what is wrong with a file is data, and what comes from the file is short and on one line") {
  const struct {
    std::vector<std::byte> bytes;
    const char *argument, *got, *expected;
  } cases[] = {
      {std::vector<std::byte>(7), "safetensors", "7 bytes", "at least 8"},
      {File("{}", 0, 3), "safetensors: the header", "3 bytes", "at most 2"},
      {File("[\n]", 0), "safetensors: the header", "\"[?]\"", "a JSON object"},
      {File(R"({"a":1})", 0), "safetensors: tensor \"a\"", "1", "an object"},
      {File(R"({"a":{"shape":[],"data_offsets":[0,4]}})", 4), "safetensors: tensor \"a\".dtype", "", "a string"},
      {File(R"({"a\n":{"dtype":"F32","shape":[1.5],"data_offsets":[0,4]}})", 4), "safetensors: tensor \"a?\".shape[0]",
       "1.5", "a whole number, at least 0"},
      {File(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 12), "safetensors",
       "4 bytes after the last tensor", "none"},
      {File(R"({"__metadata__":{"\u001b":1}})", 0), "safetensors: __metadata__[\"?\"]", "1", "a string"},
  };
  const auto error_of = [](const std::vector<std::byte>& bytes) -> Error {
    try {
      const Safetensors tensors(bytes);
    } catch (const Error& error) {
      return error;
    }
    return {ErrorCode::kOption, "nothing was thrown"};
  };
  for (const auto& [bytes, argument, got, expected] : cases) {
    const Error error = error_of(bytes);
    CHECK(error.code() == ErrorCode::kFormat);
    CHECK(error.argument().plain() == argument);
    CHECK(error.got().plain() == got);
    CHECK(error.expected().plain() == expected);
  }
  const std::string huge(1'000'000, 'x');
  const Error error =
      error_of(File(R"({")" + huge + R"(":{"dtype":")" + huge + R"(","shape":[],"data_offsets":[0,4]}})", 4));
  CHECK(error.argument().plain().size() < 120);
  CHECK(error.got().plain().size() < 90);
}

TEST_CASE("cut off or damaged anywhere: refused or harmless") {
  const std::vector<std::byte> whole = ReadFile(GoldenCases().front());
  const std::size_t step = std::max<std::size_t>(whole.size() / 400, 1);
  for (std::size_t n = 0; n < whole.size(); n += step) {
    CHECK(Refusal({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(n)}) != "accepted");
  }
  Random random(99);
  int survived = 0;
  for (int round = 0; round < 3000; ++round) {
    std::vector<std::byte> bytes = whole;
    for (Index i = 0; i <= random.Below(4); ++i) {
      bytes[static_cast<std::size_t>(random.Below(std::min<Index>(static_cast<Index>(bytes.size()), 1500)))] =
          static_cast<std::byte>(random.Below(256));
    }
    try {
      ReadCase(bytes).Run();
      ++survived;  // the damage changed only a number
    } catch (const Error&) {
    }
  }
  CHECK(survived < 3000);
}

std::vector<std::byte> TwoTensors(Random& random, const std::string& prefix) {
  TensorMap tensors;
  tensors.emplace(prefix + "a", random.NormalTensor({2, 3}));
  tensors.emplace(prefix + "empty", Tensor({0, 5}));
  tensors.emplace(prefix + "z", random.NormalTensor({7}));
  return WriteSafetensors(tensors, {});
}

TEST_CASE("shards that come in piece by piece hold what whole files hold, and hand it over once") {
  Random random(2);
  const std::vector<std::byte> files[] = {TwoTensors(random, "x."), TwoTensors(random, "y.")};
  for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, std::size_t{100000}})
    for (const bool known : {false, true}) {
      Checkpoint checkpoint(10000);
      std::size_t at[] = {0, 0};
      for (const auto& file : files) checkpoint.Begin(known ? std::optional<Index>(file.size()) : std::nullopt);
      while (at[0] < files[0].size() || at[1] < files[1].size())  // alternates between the files
        for (const int i : {0, 1}) {
          const std::size_t count = std::min(piece, files[i].size() - at[i]);
          checkpoint.Append(i, std::span(files[i]).subspan(at[i], count));
          at[i] += count;
        }
      CHECK(checkpoint.Next(0).empty());
      const StateDict state = checkpoint.Parameters();
      for (const auto& file : files) {
        const Safetensors whole(file);
        for (const auto& [name, raw] : whole.tensors()) {
          CHECK(state.Has(name));
          CheckClose(name, Parameter(state, name, raw.shape).values(), ToFloat(raw).values(), 0.0);
          CHECK_FALSE(state.Has(name));
        }
      }
    }
}

TEST_CASE("pieces of hostile files") {
  const auto refusal = [](const std::vector<std::byte>& bytes, Index limit, bool known) -> std::string {
    try {
      Checkpoint checkpoint(limit);
      const int file = checkpoint.Begin(known ? std::optional<Index>(bytes.size()) : std::nullopt);
      checkpoint.Append(file, bytes);
      checkpoint.Parameters();
    } catch (const Error& error) {
      return error.what();
    }
    return "accepted";
  };
  Random random(3);
  const std::vector<std::byte> good = TwoTensors(random, "");
  std::vector<std::byte> cut = good, longer = good;
  cut.pop_back();
  longer.push_back(std::byte{0});
  const std::string huge = R"({"a":{"dtype":"F32","shape":[1000000000000],"data_offsets":[0,4000000000000]}})";
  for (const bool known : {false, true}) {
    CHECK(refusal(good, 10000, known) == "accepted");
    CHECK(refusal(good, 200, known).find("left of the limit") != std::string::npos);
    CHECK(refusal(cut, 10000, known) != "accepted");
    CHECK(refusal(longer, 10000, known).find("safetensors has 1 bytes after the last tensor, expected none") !=
          std::string::npos);
    CHECK(refusal(File(huge, 0), 10000, known) != "accepted");
    CHECK(refusal(File("", 0), 10000, known) != "accepted");
    CHECK(refusal(std::vector<std::byte>(5), 10000, known) != "accepted");
    CHECK(refusal(std::vector<std::byte>(64, std::byte{0xFF}), 10000, known).find("header claims") !=
          std::string::npos);
  }
  Checkpoint twice(10000);
  for (const int i : {0, 1}) {
    twice.Begin(std::nullopt);
    if (i == 0) twice.Append(0, good);
  }
  CHECK_THROWS_WITH_AS(twice.Append(1, good), "safetensors: tensor \"a\" is in two files, expected one", Error);
  CHECK_THROWS_AS(twice.Next(2), Error);
  CHECK_THROWS_AS(twice.Advance(0, 1), Error);
}

}  // namespace
}  // namespace headlens::testing
