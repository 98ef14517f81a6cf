// SPDX-License-Identifier: Apache-2.0
/// Every kernel, with sizes that an interpreter can handle: `npm test -- oclgrind` runs the cases "OpenCL kernels: …"
/// under Oclgrind, which reports races, accesses out of bounds and reads of memory that was never written. A new kernel
/// needs a case here that launches it. The cases also run with all other tests, on any device.
#include <cmath>
#include <functional>
#include <memory>
#include <optional>

#include "opencl/attention/attention.h"
#include "opencl/kernels/sources.h"
#include "opencl/matrix/mma_probe.h"
#include "opencl/matrix/warp_tile.h"
#include "opencl/opencl.h"
#include "opencl/runtime/session.h"
#include "opencl_faults.h"
#include "random_problem.h"

namespace headlens::testing {
namespace {

/// A backend that each case makes for itself, with memory that is never used twice.
struct Fresh {
  KeptMemory kept;
  std::unique_ptr<const Backend> backend = opencl::MakeBackend({.idle_memory = 0});
};

/// y = x Wᵀ + b with these sizes, and W of this type.
void CheckProduct(Index rows, Index in, Index out, DType type) {
  CAPTURE(rows);
  CAPTURE(ToString(type));
  const Fresh fresh;
  Random random(31);
  const Tensor x = random.NormalTensor({rows, in}), b = random.NormalTensor({out}), w = random.NormalTensor({out, in});
  std::vector<std::uint16_t> halves;  // any numbers from 1 to 2, in both 16-bit types
  for (Index i = 0; i < out * in; ++i)
    halves.push_back(static_cast<std::uint16_t>((type == DType::kF16 ? 0x3c00 : 0x3f80) + i));
  const std::byte* bytes =
      type == DType::kF32 ? std::as_bytes(w.values()).data() : std::as_bytes(std::span(halves)).data();
  const WeightMatrix matrix(type, bytes, out, in, in, 1);
  Tensor got({rows, out}), expected({rows, out});
  fresh.backend->Linear(x.view<2>(), *fresh.backend->PackLinear(matrix, b.values()), got.view<2>());
  ReferenceBackend().Linear(x.view<2>(), *ReferenceBackend().PackLinear(matrix, b.values()), expected.view<2>());
  CheckClose("product", got.values(), expected.values(),
             static_cast<double>(in + 4) * kEpsilon * (1 + MaxNorm(x.values())) * (2 + MaxNorm(w.values())));
}

TEST_CASE("OpenCL kernels: products, with weights of each type") {
  for (const DType type : {DType::kF32, DType::kF16, DType::kBF16}) CheckProduct(3, 17, 5, type);
}

TEST_CASE("OpenCL kernels: products whose depth is cut into parts") {
  CheckProduct(2, 300, 1, DType::kF32);
  CheckProduct(9, 300, 1, DType::kF32);
}

TEST_CASE("OpenCL kernels: a product of two of the largest tiles") { CheckProduct(129, 3, 2, DType::kF32); }

/// Checks the results that `choose` picks from all of them.
void CheckAttention(const RandomProblem& r, const std::function<AttentionResults(const AllResults&)>& choose) {
  const Fresh fresh;
  const AllResults got(r.problem), expected = PlainAttention(r.problem);
  const AttentionResults wanted = choose(got);
  fresh.backend->Attention(r.problem, wanted);
  const Tolerances tolerances(r, expected);
  if (wanted.output) CheckClose("output", got.output.values(), expected.output.values(), tolerances.output);
  if (wanted.lse) CheckClose("lse", got.lse.values(), expected.lse.values(), tolerances.lse);
  if (wanted.weights)
    CheckClose("weights", got.maps[AllResults::kWeights].values(), expected.maps[AllResults::kWeights].values(),
               tolerances.weights);
  if (wanted.scores) CheckResults(r, got, expected);
}

TEST_CASE("OpenCL kernels: attention with every map") {
  Random random(32);
  RandomProblem r = PlainProblem(random, {1, 1, 2, 2, 3, 3, 2});
  r.problem.mask.causal = true;
  r.problem.dropout_p = 0.5;
  DrawBiases(random, r);
  CheckAttention(r, [](const AllResults& all) { return all.views(); });
}

TEST_CASE("OpenCL kernels: every normaliser") {
  Random random(36);
  for (const NormalizerKind kind : NormalizerKinds()) {
    CAPTURE(kind);
    RandomProblem r = PlainProblem(random, {1, 1, 1, 2, 3, 3, 2});
    r.problem.normalizer.kind = kind;
    r.problem.normalizer.top_k = 2;
    CheckAttention(r, [](const AllResults& all) {
      AttentionResults wanted;
      wanted.weights = all.maps[AllResults::kWeights].view<4>();
      return wanted;
    });
  }
}

TEST_CASE("OpenCL kernels: attention without maps, over two blocks of keys") {
  Random random(33);
  RandomProblem r = PlainProblem(random, {1, 1, 1, 3, 35, 17, 5});
  DrawBiases(random, r);
  CheckAttention(r, [](const AllResults& all) {
    AttentionResults wanted;
    wanted.output = all.output.view<4>();
    wanted.lse = all.lse.view<3>();
    return wanted;
  });
}

TEST_CASE("OpenCL kernels: attention without maps, of many rows, of which the last tile is not whole") {
  Random random(38);
  RandomProblem r = PlainProblem(random, {1, 1, 2, 20, 65, 5, 3});
  r.problem.mask.causal = true;
  CheckAttention(r, [](const AllResults& all) {
    AttentionResults wanted;
    wanted.output = all.output.view<4>();
    return wanted;
  });
}

TEST_CASE("OpenCL kernels: attention with keys that two work-groups share") {
  Random random(39);
  const RandomProblem r = PlainProblem(random, {1, 1, 2, 1, 513, 3, 5});
  CheckAttention(r, [](const AllResults& all) {
    AttentionResults wanted;
    wanted.output = all.output.view<4>();
    wanted.lse = all.lse.view<3>();
    return wanted;
  });
}

/// Attention by the kernel for few rows, on a session with memory that is never used twice. Keys and values live on the
/// device, where those of 16 bits are rounded.
void CheckFewRows(const RandomProblem& r, opencl::Precision precision) {
  CAPTURE(static_cast<int>(precision));
  const KeptMemory kept;
  opencl::Session session{{.idle_memory = 0, .precision = precision}};
  const auto resident = [&](const Tensor& tensor) {
    for (float& x : tensor.values()) x = std::nearbyint(16 * x) / 16;  // numbers that fit into 16 bits
    const std::shared_ptr<opencl::Resident> memory = session.MakeResident(tensor.size());
    session.Send(*memory, tensor.data());
    return DeviceTensor(tensor.shape(), memory);
  };
  resident(r.q);
  const DeviceTensor k = resident(r.k), v = resident(r.v);
  AttentionProblem problem = r.problem;
  problem.k = SplitHeads(k.view<3>(), 1), problem.v = SplitHeads(v.view<3>(), 1);
  const AllResults got(r.problem), expected = PlainAttention(r.problem);
  AttentionResults wanted;
  wanted.output = got.output.view<4>();
  wanted.lse = got.lse.view<3>();
  opencl::RunAttention(session, problem, wanted, opencl::FewTile{64, 4});
  const Tolerances tolerances(r, expected);
  CheckClose("output", got.output.values(), expected.output.values(), tolerances.output);
  CheckClose("lse", got.lse.values(), expected.lse.values(), tolerances.lse);
}

TEST_CASE("OpenCL kernels: attention of few rows, from numbers of each type") {
  Random random(41);
  const RandomProblem one = PlainProblem(random, {1, 1, 1, 1, 70, 40, 24});
  RandomProblem three = PlainProblem(random, {1, 1, 3, 1, 35, 12, 20});
  DrawBiases(random, three);
  for (const opencl::Precision precision :
       {opencl::Precision::kFp32, opencl::Precision::kFp16, opencl::Precision::kBf16}) {
    CheckFewRows(one, precision);
    CheckFewRows(three, precision);
  }
}

TEST_CASE("OpenCL kernels: attention of few rows, with keys that two work-groups share") {
  Random random(42);
  CheckFewRows(PlainProblem(random, {1, 1, 2, 1, 513, 4, 8}), opencl::Precision::kFp32);
}

TEST_CASE("OpenCL kernels: attention of numbers of 16 bits") {
  Random random(37);
  const RandomProblem r = PlainProblem(random, {1, 1, 2, 100, 9, 3, 5});
  for (const Tensor* tensor : {&r.q, &r.k, &r.v})
    for (float& x : tensor->values()) x = std::nearbyint(16 * x) / 16;  // numbers that fit into 16 bits
  const AllResults got(r.problem), expected = PlainAttention(r.problem);
  AttentionResults wanted;
  wanted.output = got.output.view<4>();
  wanted.lse = got.lse.view<3>();
  opencl::MakeBackend({.idle_memory = 0, .precision = opencl::Precision::kFp16})->Attention(r.problem, wanted);
  const Tolerances tolerances(r, expected);
  CheckClose("output", got.output.values(), expected.output.values(), tolerances.output);
  CheckClose("lse", got.lse.values(), expected.lse.values(), tolerances.lse);
}

TEST_CASE("OpenCL kernels: attention past values that are no numbers") {
  Random random(34);
  RandomProblem r = PlainProblem(random, {1, 1, 1, 2, 3, 3, 2});
  r.problem.mask.causal = true;
  const AllResults expected = PlainAttention(r.problem);
  const Tolerances tolerances(r, expected);
  r.v.values()[r.v.size() - 1] =
      std::numeric_limits<float>::quiet_NaN();  // in the last key, which causal rows do not see
  const AllResults got(r.problem);
  AttentionResults wanted;
  wanted.output = got.output.view<4>();
  const Fresh fresh;
  fresh.backend->Attention(r.problem, wanted);
  CheckClose("output", got.output.values(), expected.output.values(), tolerances.output);
}

TEST_CASE("OpenCL kernels: layers") {
  Random random(35);
  const Tensor x = random.NormalTensor({2, 6}), w = random.NormalTensor({6}), angles = random.NormalTensor({2, 3});
  const auto layers = [&](const Backend& on) {
    Tensor y = x.Clone();
    on.RmsNorm(y.view<2>(), w.values(), 1e-5f, y.view<2>());
    on.LayerNorm(y.view<2>(), w.values(), w.values(), 1e-5f, y.view<2>());
    on.Rotary({y.data(), {2, 1, 6}, {6, 6, 1}}, angles.view<2>(), angles.view<2>(), RotaryPairs::kHalf);
    on.Silu(y.values());
    on.Gelu(y.values(), false);
    on.Gelu(y.values(), true);
    on.Add(y.values(), x.values());
    on.Multiply(y.values(), x.values());
    on.Relu(y.values());
    return y;
  };
  const Fresh fresh;
  const Tensor got = layers(*fresh.backend), expected = layers(ReferenceBackend());
  CheckClose("layers", got.values(), expected.values(), 256 * kEpsilon * (1 + MaxNorm(expected.values())));
}

TEST_CASE("OpenCL kernels: tensors that live on the device") {
  Random random(37);
  const Tensor x = random.NormalTensor({4, 6}), w = random.NormalTensor({5, 6});
  const auto compute = [&](const Backend& on) {
    const DeviceTensor kept = on.Upload(x.Clone()), heads = on.Allocate({2, 4, 3}), rows = on.Allocate({2, 6}),
                       pooled = on.Allocate({2, 3});
    on.Copy({kept.data(), {1, 2, 4, 3}, {24, 3, 6, 1}}, {heads.data(), {1, 2, 4, 3}, {24, 12, 3, 1}});
    on.CopyRows(*on.PackLinear(w.view<2>(), {}), std::vector<std::int32_t>{3, 0}, {rows.data(), {2, 6}, {6, 1}});
    on.Pool({heads.data(), {4, 6}, {6, 1}}, {4, 2, 0, 0}, {pooled.data(), {2, 3}, {3, 1}});
    std::vector<float> numbers;
    for (const DeviceTensor* tensor : {&heads, &rows, &pooled}) {
      const Tensor read = on.ReadBack(*tensor)->Wait();
      numbers.insert(numbers.end(), read.values().begin(), read.values().end());
    }
    return numbers;
  };
  const Fresh fresh;
  const std::vector<float> got = compute(*fresh.backend), expected = compute(ReferenceBackend());
  CheckClose("numbers", got, expected, 8 * kEpsilon * MaxNorm(expected));
}

TEST_CASE("OpenCL kernels: what matrix units compute, emulated") {
  const KeptMemory kept;
  Random random(38);
  const RandomProblem r = PlainProblem(random, {1, 1, 1, 17, 17, 4, 3});
  const opencl::Settings settings{
      .idle_memory = 0, .precision = opencl::Precision::kTf32x3, .emulate_matrix_units = true};
  opencl::Session session(settings);
  CHECK(HasMatrixUnits(session));  // without them the ordinary kernels would give the right numbers, too
  const AllResults got(r.problem), expected = PlainAttention(r.problem);
  AttentionResults only;
  only.output = got.output.view<4>();
  constexpr opencl::FusedTile kTwoWarps{32, 2, 1, 16};  // a device's own tiles take eight times as long
  std::optional<opencl::AttentionKernel> kernel;
  if (Fits(session, kTwoWarps)) kernel = kTwoWarps;  // not on the small one of the two simulated devices
  opencl::RunAttention(session, r.problem, only, kernel);
  CheckClose("output", got.output.values(), expected.output.values(), Tolerances(r, expected).output);
  const auto backend = opencl::MakeBackend(settings);
  const Tensor x = random.NormalTensor({16, 5}), w = random.NormalTensor({3, 5});
  Tensor y({16, 3}), right({16, 3});
  backend->Linear(x.view<2>(), *backend->PackLinear(w.view<2>(), {}), y.view<2>());
  ReferenceBackend().Linear(x.view<2>(), *ReferenceBackend().PackLinear(w.view<2>(), {}), right.view<2>());
  CheckClose("product", y.values(), right.values(), 32 * kEpsilon * MaxNorm(x.values()) * MaxNorm(w.values()));
}

TEST_CASE("OpenCL kernels: a product by a ring of slices, emulated") {
  const KeptMemory kept;
  Random random(40);
  opencl::Session session{{.idle_memory = 0, .precision = opencl::Precision::kFp16, .emulate_matrix_units = true}};
  constexpr Index kM = 17, kN = 9, kK = 35;
  const Tensor a = random.NormalTensor({kM, kK}), b = random.NormalTensor({kN, kK});
  for (const Tensor* tensor : {&a, &b})
    for (float& x : tensor->values()) x = std::nearbyint(16 * x) / 16;  // numbers that fit into 16 bits
  const opencl::Memory c = session.Allocate<float>(kM * kN);
  const auto tiles = opencl::WarpTiles();
  const auto ring = std::find_if(tiles.begin(), tiles.end(), [](const auto& t) { return t.m == 64 && t.stages > 0; });
  REQUIRE(ring != tiles.end());
  if (!Fits(session, *ring)) return;  // on the small one of the two simulated devices
  opencl::Multiply(session,
                   {.a = {session.Upload(std::span<const float>(a.values())), gpu::MatrixPlace(kK)},
                    .b = {session.Upload(std::span<const float>(b.values())), gpu::MatrixPlace(kK)},
                    .c = {c, gpu::MatrixPlace(kN)},
                    .m = kM,
                    .n = kN,
                    .k = kK,
                    .b_columns = true,
                    .rounds = true},
                   *ring);
  Tensor got({kM, kN}), expected({kM, kN});
  session.DownloadBytes(c, 0, kM * kN * static_cast<Index>(sizeof(float)), got.data());
  ReferenceBackend().Linear(a.view<2>(), *ReferenceBackend().PackLinear(b.view<2>(), {}), expected.view<2>());
  CheckClose("product", got.values(), expected.values(), 64 * kEpsilon * MaxNorm(a.values()) * MaxNorm(b.values()));
}

TEST_CASE("OpenCL kernels: what a device can do at most") {
  const KeptMemory kept;
  opencl::Session session{{.idle_memory = 0}};
  const std::vector<float> ones(8, 1.0f);
  const opencl::Memory from = session.Upload(std::span(ones)), to = session.Allocate<float>(8);
  const opencl::Grid grid{4, 4};
  for (const char* const width : {"-D WIDTH=4", "-D WIDTH=16"})
    session.Launch(opencl::kLimitsSource, width, "MultiplyAdds", grid, from, cl_int{2});
  session.Launch(opencl::kLimitsSource, "-D WIDTH=4", "CopyAll", grid, from, to, cl_long{2});
  std::vector<float> copied(8);
  session.DownloadBytes(to, 0, 8 * sizeof(float), copied.data());
  CHECK(copied == ones);
}

/// Kernels with faults that Oclgrind must find. Its stage also runs these, and fails when one is not reported.
constexpr char kWrong[] = R"cl(
__kernel void Race(__global float* x, __global float* y) { y[0] += x[get_global_id(0)]; }
__kernel void OutOfBounds(__global float* x, __global float* y) { y[get_global_id(0)] = x[get_global_id(0) + 1]; }
__kernel void Uninitialised(__global float* x, __global float* y) {
  __local float scratch[4];
  if (get_local_id(0) > 0) scratch[get_local_id(0)] = x[get_local_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  y[get_local_id(0)] = scratch[3 - get_local_id(0)];
}
)cl";

void RunWrong(const char* kernel) {
  opencl::Session session{{.idle_memory = 0}};
  const std::vector<float> ones(4, 1.0f);
  const opencl::Memory x = session.Upload(std::span(ones)), y = session.Upload(std::span(ones));
  session.Launch({"wrong.cl", {}, kWrong}, "", kernel, {4, 4}, x, y);
  session.Finish();
}

TEST_CASE("OpenCL wrong kernels: race" * doctest::skip()) { RunWrong("Race"); }
TEST_CASE("OpenCL wrong kernels: out of bounds" * doctest::skip()) { RunWrong("OutOfBounds"); }
TEST_CASE("OpenCL wrong kernels: uninitialised" * doctest::skip()) { RunWrong("Uninitialised"); }

}  // namespace
}  // namespace headlens::testing
