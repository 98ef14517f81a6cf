// SPDX-License-Identifier: Apache-2.0
/// Runs with changes: compared with PyTorch's numbers (tests/golden/make_explained.py), without any effect where they
/// change nothing, and the same whether layers are shared with an earlier run or not.
#include <algorithm>
#include <cstring>

#include "models/golden_models.h"

namespace headlens::testing {
namespace {

View<const std::uint8_t, 4> ForAllHeads(const std::vector<std::uint8_t>& cells, const ModelInfo& info, Index length) {
  return {cells.data(), {1, info.heads, length, length}, {0, 0, length, 1}};
}

/// A run of a golden model with the changes of one name, and PyTorch's results.
class ChangedRun {
 public:
  ChangedRun(const Golden& model, const Safetensors& explained, const Model& of)
      : model_(model), file_(explained), of_(of), at_(Integers<Index>(explained, "score.at")) {}

  void Check(const std::string& name, const AttendOptions& options) const {
    CAPTURE(name);
    const ModelAttention got = of_.Attend(model_.input, options);
    const Tensor hidden = ToFloat(file_.Find("changed." + name).value()),
                 map = ToFloat(file_.Find("changed." + name + ".map").value());
    const double tolerance = 64 * kEpsilon * MaxNorm(hidden.values());
    CheckClose("hidden", got.hidden().values(), hidden.values(), tolerance);
    CheckClose("map", MapOf(got, at_[0], at_[1]).values(), map.values(), tolerance);
  }

  std::vector<std::int32_t> List(std::string_view name) const { return Integers<std::int32_t>(file_, name); }
  Tensor Floats(std::string_view name) const { return ToFloat(file_.Find(name).value()); }
  std::vector<std::uint8_t> Cells(std::string_view name) const { return Integers<std::uint8_t>(file_, name); }

 private:
  const Golden& model_;
  const Safetensors& file_;
  const Model& of_;
  std::vector<Index> at_;
};

void CheckChanges(const ChangedRun& run, const ModelInfo& info) {
  AttendOptions options;
  options.normalizer.temperature = 0.7f;
  run.Check("temperature", options);
  options = {};
  options.normalizer.kind = NormalizerKind::kSparsemax;
  run.Check("sparsemax", options);
  options = {};
  const std::vector<std::uint8_t> keep = run.Cells("changed.mask.keep");
  const auto length = run.Floats("changed.mask.map").shape()[0];
  options.visible = ForAllHeads(keep, info, length);
  run.Check("mask", options);
  options = {};
  const std::vector<std::int32_t> diagonals = run.List("changed.diagonals.offsets"),
                                  tokens = run.List("changed.tokens");
  options.forbidden_diagonals = diagonals;
  run.Check("diagonals", options);
  options = {};
  options.replaced_tokens = tokens;
  run.Check("zero", options);
  options.replacement = TokenReplacement::kMean;
  options.replaced_layer = 0;
  run.Check("mean", options);
  options = {};
  std::vector<std::int32_t> places;
  for (const std::int32_t position : run.List("changed.patch.positions")) places.insert(places.end(), {0, 1, position});
  const Tensor outputs = run.Floats("changed.patch.output");
  options.patches.places = DenseView<const std::int32_t, 2>(places.data(), {outputs.shape()[0], 3});
  options.patches.outputs = outputs.view<2>();
  run.Check("patch", options);
}

TEST_CASE("changed runs give PyTorch's streams and maps") {
  for (const std::string& name : GoldenModels()) {
    CAPTURE(name);
    const Golden golden(GoldenFolder(name) + "/expected.safetensors");
    const std::vector<std::byte> bytes = ReadFile(GoldenFolder(name) + "/explained.safetensors");
    const Safetensors explained(bytes);
    const auto check = [&](const Backend& backend) {
      const Model model = LoadFolder(GoldenFolder(name), backend);
      CheckChanges(ChangedRun(golden, explained, model), model.info());
    };
    for (const Backend* backend : TestBackends()) check(*backend);
    ForEachTarget([&] { check(SimdBackend()); });
  }
}

bool IsSame(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() && std::memcmp(a.data(), b.data(), a.values().size_bytes()) == 0;
}

void CheckSameRun(const ModelAttention& got, const ModelAttention& expected, const ModelInfo& info) {
  CHECK(IsSame(got.hidden(), expected.hidden()));
  for (Index layer = 0; layer < info.layers; ++layer) {
    CHECK(IsSame(got.Hidden(layer), expected.Hidden(layer)));
    CHECK(IsSame(got.HeadOutputs(layer), expected.HeadOutputs(layer)));
    CHECK(IsSame(got.FeedForwards(layer), expected.FeedForwards(layer)));
    CHECK(IsSame(MapOf(got, layer, info.heads - 1), MapOf(expected, layer, info.heads - 1)));
  }
}

/// Head outputs of a run, as patches of all places of a head.
struct OwnPatch {
  OwnPatch(const ModelAttention& of, const ModelInfo& info, Index layer, Index head)
      : outputs({of.length(), info.head_dim}) {
    for (Index t = 0; t < of.length(); ++t) {
      places.insert(places.end(),
                    {static_cast<std::int32_t>(layer), static_cast<std::int32_t>(head), static_cast<std::int32_t>(t)});
      std::copy_n(of.HeadOutputs(layer).view<2>().at(t, head * info.head_dim), info.head_dim, outputs.view<2>().at(t));
    }
  }
  void AddTo(AttendOptions& options) const {
    options.patches.places = DenseView<const std::int32_t, 2>(places.data(), {outputs.shape()[0], 3});
    options.patches.outputs = outputs.view<2>();
  }
  std::vector<std::int32_t> places;
  Tensor outputs;
};

void CheckNoChange(const Model& model, const ModelInput& input) {
  const ModelInfo& info = model.info();
  AttendOptions plain;
  plain.keep_parts = true;
  const ModelAttention expected = model.Attend(input, plain);
  const Index length = expected.length();
  const std::vector<std::uint8_t> all(static_cast<std::size_t>(length * length), 1);
  const Tensor zeros({length, length}), ones({info.layers, info.heads});
  std::ranges::fill(zeros.values(), 0.0f);
  std::ranges::fill(ones.values(), 1.0f);
  const OwnPatch own(expected, info, info.layers - 1, 1);
  AttendOptions options = plain;
  options.head_mask = ones.view<2>();
  CheckSameRun(model.Attend(input, options), expected, info);
  options = plain;
  options.visible = ForAllHeads(all, info, length);
  CheckSameRun(model.Attend(input, options), expected, info);
  options = plain;
  options.bias = {zeros.data(), {1, info.heads, length, length}, {0, 0, length, 1}};
  CheckSameRun(model.Attend(input, options), expected, info);
  options = plain;
  const std::int32_t far = static_cast<std::int32_t>(length);
  options.forbidden_diagonals = {&far, 1};
  CheckSameRun(model.Attend(input, options), expected, info);
  options = plain;
  own.AddTo(options);
  CheckSameRun(model.Attend(input, options), expected, info);
  CheckSameRun(expected.Again(options), expected, info);
  CheckSameRun(expected.Again(plain), expected, info);
}

TEST_CASE("changes that change nothing change no bit") {
  for (const std::string& name : GoldenModels()) {
    CAPTURE(name);
    const Golden golden(GoldenFolder(name) + "/expected.safetensors");
    for (const Backend* backend : TestBackends()) CheckNoChange(LoadFolder(GoldenFolder(name), *backend), golden.input);
    ForEachTarget([&] { CheckNoChange(LoadFolder(GoldenFolder(name), SimdBackend()), golden.input); });
  }
}

TEST_CASE("a diagonal that some layers' windows hide is forbidden in the others") {
  for (const std::string name : {"gpt_neo", "gemma2", "gemma3"}) {
    CAPTURE(name);
    const Golden golden(GoldenFolder(name) + "/expected.safetensors");
    const Model model = LoadFolder(GoldenFolder(name), SimdBackend());
    const ModelAttention plain = model.Attend(golden.input);
    const Index last = plain.length() - 1;
    const auto far = static_cast<std::int32_t>(last);
    AttendOptions options;
    options.forbidden_diagonals = {&far, 1};
    const ModelAttention changed = model.Attend(golden.input, options);
    Index whole = 0;
    for (Index layer = 0; layer < model.info().layers; ++layer) {
      const bool is_whole = model.info().windows[static_cast<std::size_t>(layer)] == 0;
      whole += is_whole ? 1 : 0;
      CHECK((MapOf(plain, layer, 0).view<2>()(last, 0) > 0.0f) == is_whole);
      CHECK(MapOf(changed, layer, 0).view<2>()(last, 0) == 0.0f);
    }
    CHECK(whole > 0);
    CHECK(whole < model.info().layers);
  }
}

/// Runs the input with the options, anew and after a run without them, and after a run with others.
void CheckAgain(const Model& model, const ModelInput& input, const AttendOptions& options, const AttendOptions& other) {
  AttendOptions plain;
  plain.keep_parts = true;
  const ModelAttention expected = model.Attend(input, options), base = model.Attend(input, plain);
  CheckSameRun(base.Again(options), expected, model.info());
  CheckSameRun(base.Again(other).Again(options), expected, model.info());
  CheckSameRun(model.Attend(input).Again(options), expected, model.info());  // it has kept nothing to share
}

TEST_CASE("a run that shares layers gives, bit for bit, what a run of its own gives") {
  for (const std::string name : {"gpt2", "llama", "bert", "vit"}) {
    CAPTURE(name);
    const Golden golden(GoldenFolder(name) + "/expected.safetensors");
    for (const Backend* backend : TestBackends()) {
      const Model model = LoadFolder(GoldenFolder(name), *backend);
      const ModelInfo& info = model.info();
      AttendOptions silenced, replaced;
      silenced.keep_parts = replaced.keep_parts = true;
      const Tensor mask({info.layers, info.heads});
      std::ranges::fill(mask.values(), 1.0f);
      mask.view<2>()(info.layers - 1, 1) = 0.0f;
      silenced.head_mask = mask.view<2>();
      const std::int32_t token = 1;
      replaced.replaced_tokens = {&token, 1};
      replaced.replaced_layer = 1;
      AttendOptions patched = silenced;
      const OwnPatch patch(model.Attend(golden.input, silenced), info, 1, 0);
      patch.AddTo(patched);
      patched.head_mask = {};
      CheckAgain(model, golden.input, silenced, replaced);
      CheckAgain(model, golden.input, replaced, patched);
      CheckAgain(model, golden.input, patched, silenced);
    }
  }
}

TEST_CASE("a patch of zeros is not taken for replaced tokens of the same numbers") {
  const Golden golden(GoldenFolder("gpt2") + "/expected.safetensors");
  const Model model = LoadFolder(GoldenFolder("gpt2"), SimdBackend());
  const std::vector<std::int32_t> places = {0, 1, 2}, tokens = {1, 2, 0, 0, 0, 0, 0, 0, 0, 0};
  const Tensor zeros({1, model.info().head_dim});
  std::ranges::fill(zeros.values(), 0.0f);
  AttendOptions patched, replaced;
  patched.keep_parts = replaced.keep_parts = true;
  patched.patches.places = DenseView<const std::int32_t, 2>(places.data(), {1, 3});
  patched.patches.outputs = zeros.view<2>();
  replaced.replaced_tokens = tokens;
  replaced.replaced_layer = 0;
  REQUIRE(model.info().head_dim + 2 == std::ssize(tokens));
  CheckAgain(model, golden.input, patched, replaced);
  CheckAgain(model, golden.input, replaced, patched);
}

TEST_CASE("a silenced head leaves the layers before it as they are, shared") {
  const Model model = BuiltInModel();
  const std::vector<std::int32_t> ids = {1, 2, 3, 4, 5};
  ModelInput input;
  input.ids = ids;
  AttendOptions options;
  options.keep_hidden = true;
  const ModelAttention base = model.Attend(input, options);
  const Tensor mask({model.info().layers, model.info().heads});
  std::ranges::fill(mask.values(), 1.0f);
  mask.view<2>()(2, 3) = 0.0f;
  options.head_mask = mask.view<2>();
  const ModelAttention silenced = base.Again(options);
  CHECK(&silenced.Maps(1) == &base.Maps(1));
  CHECK(&silenced.Maps(2) != &base.Maps(2));
  int pieces = 0;
  AttendSteps steps = base.StartAgain(options);
  while (steps.Next() < 1.0) ++pieces;
  CHECK(pieces == 5);  // two layers of three pieces
  AttendSteps none = silenced.StartAgain(options);
  CHECK(none.Next() == 1.0);
  CHECK(&std::move(none).Finish().Maps(3) == &silenced.Maps(3));
}

TEST_CASE("changes that do not fit are refused") {
  const Model model = LoadFolder(GoldenFolder("gpt2"), SimdBackend());
  const ModelInfo& info = model.info();
  const std::vector<std::int32_t> ids = {1, 2, 3, 4, 5};
  ModelInput input;
  input.ids = ids;
  const auto refused = [&](ErrorCode code, const std::string& part, const AttendOptions& options) {
    Refused(code, part, [&] { model.Attend(input, options); });
  };
  const std::int32_t token = 5, places[] = {1, 2, 4, 1, 3, 0};
  AttendOptions options;
  options.replaced_tokens = {&token, 1};
  refused(ErrorCode::kValue, "replaced_tokens is 5", options);
  options = {};
  options.replaced_layer = info.layers;
  refused(ErrorCode::kValue, "replaced_layer is 2", options);
  options = {};
  const std::vector<std::uint8_t> cells(25, 1);
  options.visible = {cells.data(), {1, info.heads, 5, 4}, {0, 0, 5, 1}};
  refused(ErrorCode::kShape, "attn_mask has shape (1, 3, 5, 4)", options);
  options = {};
  options.normalizer.temperature = 0.0f;
  refused(ErrorCode::kValue, "temperature is 0", options);
  options = {};
  const Tensor outputs({2, info.head_dim});
  std::ranges::fill(outputs.values(), 0.0f);
  options.patches.places = DenseView<const std::int32_t, 2>(places, {2, 3});
  options.patches.outputs = outputs.view<2>();
  refused(ErrorCode::kValue, "head is 3", options);
  options.patches.places.shape[0] = 1;
  refused(ErrorCode::kShape, "patch_outputs has shape (2, 8)", options);
  options.patches.places = {};
  refused(ErrorCode::kShape, "patch_outputs has shape (2, 8)", options);
}

}  // namespace
}  // namespace headlens::testing
