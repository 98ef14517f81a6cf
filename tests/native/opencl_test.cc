// SPDX-License-Identifier: Apache-2.0
/// Features that only the OpenCL backend has: devices and how they are chosen, the cache of programs, and kernels over
/// sizes that are multiples of nothing. Needs a device, as PoCL is one. What all backends do is tested in tests/core.
#include "opencl/opencl.h"

#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "environment.h"
#include "opencl/runtime/program_cache.h"
#include "random_problem.h"
#include "system/sha256.h"

/// Read by LeakSanitizer: what PoCL and its compiler leave behind when they build a kernel is not ours.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() { return "leak:libpocl\nleak:libLLVM\n"; }

namespace headlens::testing {
namespace {

/// One for all tests: compiling takes long.
const Backend& Device() {
  for (const Backend* backend : TestBackends())
    if (backend->name() == "opencl") return *backend;
  FAIL("the tests have no OpenCL backend");
  return ReferenceBackend();
}

constexpr Index kSizes[] = {1, 2, 3, 15, 16, 17, 31, 33, 63, 64, 65, 127, 129, 257};

/// The error that a product of `depth` terms may have, for numbers about 1.
double ProductTolerance(const Tensor& x, const Tensor& w) {
  return static_cast<double>(x.shape()[1] + 4) * kEpsilon * (1 + MaxNorm(x.values())) * (1 + MaxNorm(w.values()));
}

TEST_CASE("OpenCL: devices say what they are") {
  const auto devices = opencl::Devices();
  REQUIRE(!devices.empty());
  for (const opencl::DeviceInfo& device : devices) {
    CHECK(!device.name.empty());
    CHECK(!device.driver.empty());
    CHECK(device.compute_units > 0);
    CHECK(device.local_memory >= 1024);
    CHECK(device.largest_allocation > 0);
    CHECK(device.work_group_size > 0);
  }
}

TEST_CASE("OpenCL: devices are chosen by number, by name and by HEADLENS_OPENCL_DEVICE") {
  const auto devices = opencl::Devices();
  REQUIRE(!devices.empty());
  const Variable none("HEADLENS_OPENCL_DEVICE", "");
  CHECK(opencl::FindDevice("").name == devices[0].name);
  CHECK(opencl::FindDevice("0").name == devices[0].name);
  std::string part = devices[0].name.substr(1);
  for (char& c : part) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  CHECK(opencl::FindDevice(part).name == devices[0].name);
  Refused(ErrorCode::kOption, "device is \"7777\", expected the number or a part of the name of one of: 0 ",
          [] { opencl::FindDevice("7777"); });
  const Variable other("HEADLENS_OPENCL_DEVICE", "no such thing");
  Refused(ErrorCode::kOption, "HEADLENS_OPENCL_DEVICE is \"no such thing\", expected the number",
          [] { opencl::FindDevice(""); });
  CHECK(opencl::FindDevice("0").name == devices[0].name);
  const auto backend = opencl::MakeBackend({});  // touches nothing yet
  std::vector<float> x = {1.0f};
  Refused(ErrorCode::kOption, "HEADLENS_OPENCL_DEVICE is", [&] { backend->Relu(x); });
}

TEST_CASE("OpenCL: linear layers of any size, in every type, with and without bias, with strides") {
  Random random(5);
  for (const Index rows : {1, 3, 17, 65, 130})
    for (const Index size : kSizes) {
      const Index in = size, out = kSizes[static_cast<std::size_t>(random.Below(std::size(kSizes)))];
      CAPTURE(rows);
      CAPTURE(in);
      CAPTURE(out);
      const Tensor x = random.NormalTensor({rows, in + 3}), w = random.NormalTensor({in, out + 1}),
                   b = random.NormalTensor({out});
      const View<const float, 2> input{x.data() + 2, {rows, in}, {in + 3, 1}};
      const WeightMatrix matrix(DType::kF32, reinterpret_cast<const std::byte*>(w.data()), out, in, 1, out + 1);
      const std::span<const float> bias = random.Chance(0.5) ? b.values() : std::span<const float>();
      Tensor got({rows, out + 2}), expected({rows, out + 2});
      for (Tensor* y : {&got, &expected}) std::fill_n(y->data(), y->size(), 7.0f);
      const auto solve = [&](const Backend& backend, Tensor& y) {
        const auto packed = backend.PackLinear(matrix, bias);
        backend.Linear(input, *packed, {y.data() + 1, {rows, out}, {out + 2, 1}});
        std::vector<float> row(static_cast<std::size_t>(in));
        packed->CopyRow(out - 1, row);
        CHECK(row[0] == w.data()[out - 1]);
      };
      solve(Device(), got);
      solve(ReferenceBackend(), expected);
      CheckClose("linear", got.values(), expected.values(), ProductTolerance(x, w));
    }
}

TEST_CASE("OpenCL: weights of 16 bits are the floats that they stand for") {
  Random random(6);
  for (const DType type : {DType::kF16, DType::kBF16}) {
    CAPTURE(ToString(type));
    // Every finite pattern once, subnormal ones too.
    std::vector<std::uint16_t> bits;
    for (std::uint32_t i = 0; i < 65536; ++i)
      if (((i >> (type == DType::kF16 ? 10 : 7)) & (type == DType::kF16 ? 31 : 255)) !=
          (type == DType::kF16 ? 31 : 255))
        bits.push_back(static_cast<std::uint16_t>(i));
    const auto out = static_cast<Index>(bits.size());
    const WeightMatrix w(type, reinterpret_cast<const std::byte*>(bits.data()), out, 1, 1, 1);
    const Tensor one({1, 1}, std::vector<float>{1.0f});
    Tensor got({1, out}), expected({1, out});
    Device().Linear(one.view<2>(), *Device().PackLinear(w, {}), got.view<2>());
    ReferenceBackend().Linear(one.view<2>(), *ReferenceBackend().PackLinear(w, {}), expected.view<2>());
    // A device may take subnormal floats for 0.
    CheckClose("weights", got.values(), expected.values(), 1.2e-38);
  }
}

TEST_CASE("OpenCL: norms, rotary positions and activations over any size") {
  Random random(7);
  for (const Index width : kSizes) {
    CAPTURE(width);
    const Index rows = 1 + random.Below(5);
    const Tensor x = random.NormalTensor({rows, width}, 3.0f), w = random.NormalTensor({width}),
                 b = random.NormalTensor({width});
    const auto compare = [&](const char* what, double tolerance, const auto& compute) {
      Tensor got = x.Clone(), expected = x.Clone();
      compute(Device(), got);
      compute(ReferenceBackend(), expected);
      CheckClose(what, got.values(), expected.values(), tolerance * kEpsilon * (1 + MaxNorm(expected.values())));
    };
    const double sums = 8 + std::sqrt(static_cast<double>(width));
    compare("rms", sums,
            [&](const Backend& on, Tensor& y) { on.RmsNorm(y.view<2>(), w.values(), 1e-5f, y.view<2>()); });
    if (width > 1) {  // one number has no variance: all of it is rounding
      compare("layer norm", 16 * sums, [&](const Backend& on, Tensor& y) {
        on.LayerNorm(x.view<2>(), w.values(), b.values(), 1e-5f, y.view<2>());
      });
      compare("layer norm", 16 * sums,
              [&](const Backend& on, Tensor& y) { on.LayerNorm(x.view<2>(), w.values(), {}, 1e-5f, y.view<2>()); });
    }
    compare("gelu", 16, [](const Backend& on, Tensor& y) { on.Gelu(y.values(), false); });
    compare("gelu tanh", 16, [](const Backend& on, Tensor& y) { on.Gelu(y.values(), true); });
    compare("relu", 0, [](const Backend& on, Tensor& y) { on.Relu(y.values()); });
    compare("add", 0, [&](const Backend& on, Tensor& y) { on.Add(y.values(), x.values()); });
    compare("multiply", 0, [&](const Backend& on, Tensor& y) { on.Multiply(y.values(), x.values()); });
    compare("silu", 16, [](const Backend& on, Tensor& y) { on.Silu(y.values()); });
    if (width % 2 != 0) continue;
    const Tensor angles = random.NormalTensor({rows, width / 2});
    for (const RotaryPairs pairs : {RotaryPairs::kHalf, RotaryPairs::kInterleaved})
      compare("rotary", 8, [&](const Backend& on, Tensor& y) {
        const View<float, 3> heads{y.data(), {rows, 1, width}, {width, width, 1}};
        on.Rotary(heads, angles.view<2>(), angles.view<2>(), pairs);
      });
  }
}

TEST_CASE("OpenCL: products of nothing") {
  const Tensor nothing({3, 0}), b({2}, std::vector<float>{1.0f, 2.0f}), none({0, 2});
  Tensor y({3, 2});
  Device().Linear(nothing.view<2>(), *Device().PackLinear(Tensor({2, 0}).view<2>(), b.values()), y.view<2>());
  CheckClose("bias", y.values(), std::vector<float>{1, 2, 1, 2, 1, 2}, 0.0);
  Tensor empty({0, 2});
  Device().Linear(none.view<2>(), *Device().PackLinear(Tensor({2, 2}).view<2>(), {}), empty.view<2>());
  Device().Relu({});
}

TEST_CASE("OpenCL: threads share a backend") {
  const Tensor w({2, 2}, std::vector<float>{1, 2, 3, 4}), x({1, 2}, std::vector<float>{1, 1});
  const auto packed = Device().PackLinear(w.view<2>(), {});
  std::vector<Tensor> results;
  for (int i = 0; i < 4; ++i) results.emplace_back(Shape{1, 2});
  std::vector<std::thread> threads;
  for (Tensor& y : results)
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) Device().Linear(x.view<2>(), *packed, y.view<2>());
    });
  for (std::thread& thread : threads) thread.join();
  for (const Tensor& y : results) CheckClose("linear", y.values(), std::vector<float>{3, 7}, 0.0);
}

TEST_CASE("OpenCL: problems that a step's memory cannot hold are solved piece by piece") {
  for (const Index bytes : {1, 300, 4000}) {
    CAPTURE(bytes);
    const auto backend = opencl::MakeBackend({.step_memory = bytes});
    Random random(static_cast<std::uint64_t>(bytes));
    for (int round = 0; round < 25; ++round) {
      CAPTURE(round);
      const RandomProblem r = DrawProblem(random, DrawSizes(random));
      const AllResults got(r.problem), alone(r.problem), expected = PlainAttention(r.problem);
      backend->Attention(r.problem, got.views());
      CheckResults(r, got, expected);
      AttentionResults only;
      only.output = alone.output.view<4>();
      backend->Attention(r.problem, only);
      if (!RoundingDecides(r, expected))
        CheckClose("output alone", alone.output.values(), expected.output.values(), Tolerances(r, expected).output);
    }
    Tensor x = random.NormalTensor({7, 33}), w = random.NormalTensor({21, 33}), b = random.NormalTensor({21}),
           got({7, 21}), expected({7, 21});
    backend->Linear(x.view<2>(), *backend->PackLinear(w.view<2>(), b.values()), got.view<2>());
    ReferenceBackend().Linear(x.view<2>(), *ReferenceBackend().PackLinear(w.view<2>(), b.values()), expected.view<2>());
    CheckClose("linear", got.values(), expected.values(), ProductTolerance(x, w));
    Tensor normed({7, 33}), right({7, 33});
    const Tensor gain = random.NormalTensor({33});
    backend->RmsNorm(x.view<2>(), gain.values(), 1e-5f, normed.view<2>());
    ReferenceBackend().RmsNorm(x.view<2>(), gain.values(), 1e-5f, right.view<2>());
    CheckClose("rms", normed.values(), right.values(), 32 * kEpsilon * (1 + MaxNorm(right.values())));
    const Tensor twice = x.Clone();
    backend->Add(twice.values(), x.values());
    for (float& value : x.values()) value += value;
    CheckClose("add", twice.values(), x.values(), 0.0);
  }
}

TEST_CASE("OpenCL: more heads than a device may have work-groups in all directions but one") {
  constexpr Index kHeads = 65536 + 100;
  const auto backend = opencl::MakeBackend({});
  Random random(31);
  for (const Index queries : {1, 9}) {  // products of few rows, and of more
    CAPTURE(queries);
    const RandomProblem r = PlainProblem(random, {kHeads / 2, 2, 2, queries, 2, 1, 1});
    const AllResults expected = PlainAttention(r.problem);
    const Tensor& weights = expected.maps[AllResults::kWeights];
    const DeviceTensor got =
        backend->Allocate(weights.shape());  // there, as one by one heads would take long to come back
    AttentionResults wanted;
    wanted.weights = got.view<4>();
    backend->Attention(r.problem, wanted);
    CheckClose("weights", backend->ReadBack(got)->Wait().values(), weights.values(), Tolerances(r, expected).weights);
  }
  const Tensor x = random.NormalTensor({2 * kHeads, 3});
  Tensor pooled({kHeads, 1}), expected({kHeads, 1});
  const Backend::Pooling pooling{2 * kHeads, kHeads, 0, 0};
  backend->Pool(x.view<2>(), pooling, pooled.view<2>());
  ReferenceBackend().Pool(x.view<2>(), pooling, expected.view<2>());
  CheckClose("pooled", pooled.values(), expected.values(), 8 * kEpsilon * MaxNorm(x.values()));
}

/// The one file in a folder of the cache.
std::filesystem::path OnlyFile(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) files.push_back(entry.path());
  REQUIRE(files.size() == 1);
  return files[0];
}

/// The key in a file of the cache: all between the first line and the one with the binary's hash, which follows the end
/// of a source.
std::string KeyOf(const std::vector<std::byte>& file) {
  const std::string text(reinterpret_cast<const char*>(file.data()), file.size());
  const std::string end = "}\n\n";
  std::size_t at = text.find(end);
  while (at != std::string::npos && text.find_first_not_of("0123456789abcdef", at + end.size()) != at + end.size() + 64)
    at = text.find(end, at + 1);
  REQUIRE(at != std::string::npos);
  const std::size_t begin = text.find('\n') + 1;
  return text.substr(begin, at + 2 - begin);
}

TEST_CASE("OpenCL: programs are kept in the cache; a file that was spoiled is made anew") {
  const auto folder = std::filesystem::temp_directory_path() / ("headlens-cache-" + std::to_string(getpid()));
  const Variable cache("XDG_CACHE_HOME", folder.string());
  std::filesystem::remove_all(folder);
  const auto relu = [] {
    std::vector<float> x = {-1.0f, 2.0f};
    opencl::MakeBackend({})->Relu(x);
    CHECK(x == std::vector<float>{0.0f, 2.0f});
  };
  relu();
  const std::filesystem::path file = OnlyFile(folder / "headlens");
  const std::vector<std::byte> whole = ReadFile(file.string());
  CHECK(whole.size() > 1000);
  const auto spoil = [&](std::vector<std::byte> bytes) {
    std::ofstream(file, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    relu();
    CHECK(ReadFile(OnlyFile(folder / "headlens").string()) == whole);
  };
  spoil({});
  spoil(std::vector<std::byte>(whole.begin(), whole.end() - 1));
  auto changed = whole;
  changed[changed.size() / 2] ^= std::byte{1};
  spoil(changed);
  changed = whole;
  changed[30] ^= std::byte{1};  // a program of another device
  spoil(changed);
  std::filesystem::resize_file(file, std::uintmax_t{1} << 30);  // would take memory
  relu();
  CHECK(ReadFile(OnlyFile(folder / "headlens").string()) == whole);
  // Whole, but no program: the driver refuses it.
  const std::string key = KeyOf(whole);
  REQUIRE(opencl::FindBinary(key));
  opencl::KeepBinary(key, {1, 2, 3});
  REQUIRE(opencl::FindBinary(key) == opencl::Binary{1, 2, 3});
  relu();
  CHECK(ReadFile(OnlyFile(folder / "headlens").string()) == whole);
  std::filesystem::remove(file);
  std::filesystem::create_directory(file);
  relu();
  CHECK(OnlyFile(folder / "headlens") == file);
  CHECK(std::filesystem::is_directory(file));
  std::filesystem::remove_all(folder);
}

/// While it lives, the process may not do all that the superuser may.
class Unprivileged {
 public:
  Unprivileged() : before_(geteuid()) {
    if (before_ == 0) REQUIRE(seteuid(kNobody) == 0);
  }
  ~Unprivileged() {
    if (before_ == 0) CHECK(seteuid(before_) == 0);
  }
  Unprivileged(const Unprivileged&) = delete;
  Unprivileged& operator=(const Unprivileged&) = delete;

 private:
  static constexpr uid_t kNobody = 65534;
  uid_t before_;
};

TEST_CASE("OpenCL: a cache that may not be read or written is none") {
  using std::filesystem::permissions, std::filesystem::perms;
  const auto folder = std::filesystem::temp_directory_path() / ("headlens-closed-" + std::to_string(getpid()));
  const Variable cache("XDG_CACHE_HOME", folder.string());
  const opencl::Binary before = {1, 2}, after = {3};
  opencl::KeepBinary("key", before);
  const std::filesystem::path file = OnlyFile(folder / "headlens");
  permissions(folder / "headlens", perms::owner_read | perms::owner_exec | perms::others_read | perms::others_exec);
  permissions(file, perms::none);
  {
    const Unprivileged user;
    CHECK(!opencl::FindBinary("key"));
    opencl::KeepBinary("key", after);
  }
  permissions(folder / "headlens", perms::owner_all);
  permissions(file, perms::owner_all);
  CHECK(opencl::FindBinary("key") == before);
  std::filesystem::remove_all(folder);
}

TEST_CASE("OpenCL: hashes are SHA-256's, by the examples of NIST and at every length around a block's") {
  CHECK(Sha256Digits("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(Sha256Digits("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(Sha256Digits("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") ==
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  CHECK(
      Sha256Digits("abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmno"
                   "pqrstnopqrstu") == "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
  CHECK(Sha256Digits(std::string(1'000'000, 'a')) ==
        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  std::string all;  // the hashes of 0 to 129 bytes, hashed; by Python's hashlib
  for (std::size_t size = 0; size < 130; ++size) all += Sha256Digits(std::string(size, '\xA5'));
  CHECK(Sha256Digits(all) == "afe4420b805262aa658db9c825dada1b1be50171a820ac7a4625bb68b2013f42");
}

TEST_CASE("OpenCL: the cache is one's own, and what others own or may write is not read") {
  using std::filesystem::perms;
  const auto folder = std::filesystem::temp_directory_path() / ("headlens-own-" + std::to_string(getpid()));
  const Variable cache("XDG_CACHE_HOME", folder.string());
  const opencl::Binary kept = {1, 2}, other = {3};
  opencl::KeepBinary("key", kept);
  const std::filesystem::path own = folder / "headlens", file = OnlyFile(own);
  CHECK(std::filesystem::status(own).permissions() == perms::owner_all);
  CHECK(std::filesystem::status(file).permissions() == (perms::owner_read | perms::owner_write));
  REQUIRE(opencl::FindBinary("key") == kept);
  for (const perms writer : {perms::group_write, perms::others_write}) {
    permissions(file, writer, std::filesystem::perm_options::add);
    CHECK(!opencl::FindBinary("key"));
    permissions(file, writer, std::filesystem::perm_options::remove);
    permissions(own, writer, std::filesystem::perm_options::add);
    CHECK(!opencl::FindBinary("key"));
    opencl::KeepBinary("key", other);
    permissions(own, writer, std::filesystem::perm_options::remove);
    CHECK(opencl::FindBinary("key") == kept);
  }
  if (geteuid() == 0) {
    for (const std::filesystem::path& path : {file, own}) {
      REQUIRE(chown(path.c_str(), 65534, 65534) == 0);
      CHECK(!opencl::FindBinary("key"));
      REQUIRE(chown(path.c_str(), 0, 0) == 0);
    }
  }
  for (const std::filesystem::path& path : {file, own}) {
    const std::filesystem::path moved = folder / "moved";
    std::filesystem::rename(path, moved);
    std::filesystem::create_symlink(moved, path);
    CHECK(!opencl::FindBinary("key"));
    std::filesystem::remove(path);
    std::filesystem::rename(moved, path);
  }
  CHECK(opencl::FindBinary("key") == kept);
  std::filesystem::remove_all(folder);
}

TEST_CASE("OpenCL: without a cache folder, or with one that cannot be written, everything works") {
  for (const char* folder : {"", "/proc/no/such/folder"}) {
    const Variable cache("XDG_CACHE_HOME", folder), home("HOME", folder);
    std::vector<float> x = {-1.0f, 2.0f};
    opencl::MakeBackend({})->Relu(x);
    CHECK(x == std::vector<float>{0.0f, 2.0f});
  }
}

}  // namespace
}  // namespace headlens::testing
