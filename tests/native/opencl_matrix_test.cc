// SPDX-License-Identifier: Apache-2.0
/// Every kernel for products, compared with sums in fp64; the choice among them; and how results of tuning are stored.
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <limits>
#include <thread>
#include <utility>
#include <vector>

#include "environment.h"
#include "opencl/matrix/lanes.h"
#include "opencl/matrix/multiply.h"
#include "opencl/matrix/tile.h"
#include "opencl/opencl.h"
#include "opencl/tuning/race.h"
#include "opencl_session.h"
#include "support.h"

namespace headlens::testing {
namespace {

using gpu::Place;
using opencl::Product;

/// The ways to read operands. An aligned operand has sizes and strides of multiples of four elements.
struct Reading {
  DType type;
  bool b_columns, aligned;
};

/// All ways, the most common first.
std::vector<Reading> Readings() {
  std::vector<Reading> all;
  for (const bool aligned : {true, false})
    for (const bool b_columns : {true, false})
      for (const DType type : {DType::kF32, DType::kF16, DType::kBF16}) all.push_back({type, b_columns, aligned});
  return all;
}

/// The most common way, and another one that differs between candidates. Compiling all of them takes minutes.
std::vector<Reading> SomeReadings(std::size_t candidate) {
  const auto all = Readings();
  return {all[0], all[1 + candidate * 4 % (all.size() - 1)]};
}

/// The heads of two batches, with two groups of two members each. A launch computes the two groups in the middle.
constexpr gpu::Heads kHeads{1, 2, 2};
constexpr Index kHeadCount = 4;
/// With one head, a device is only busy when it works on several parts of the depth.
constexpr Index kOneHead = 1;

Place SpacedPlace(Index rows, Index width, bool aligned) {
  const cl_long row = width + (aligned ? 4 : 3), member = rows * row + (aligned ? 8 : 5);
  return {aligned ? 4 : 1, 4 * member, 2 * member, member, row};
}

/// Computes the same as Begin in places.cl.
Index Begin(const Place& p, Index z) {
  const Index group = kHeads.first + z / kHeads.members;
  return p.base + group / kHeads.groups * p.batch + group % kHeads.groups * p.group + z % kHeads.members * p.member;
}

/// Four heads of two batches, with NaN between them, which no kernel may read.
std::vector<float> Spaced(Random& random, const Place& p, Index rows, Index width) {
  std::vector<float> all(static_cast<std::size_t>(p.base + 2 * p.batch), std::nanf(""));
  for (Index z = 0; z < kHeadCount; ++z)
    for (Index r = 0; r < rows; ++r)
      for (Index i = 0; i < width; ++i) all[static_cast<std::size_t>(Begin(p, z) + r * p.row + i)] = random.Normal();
  return all;
}

/// The nearest bits that do not exceed a number that is not too small for the type.
std::uint16_t BitsOf(DType type, float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (type == DType::kBF16) return static_cast<std::uint16_t>(bits >> 16);
  if (std::isnan(value)) return 0x7e00;
  const std::uint32_t sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff, least = std::uint32_t{113} << 23;
  return static_cast<std::uint16_t>(sign | (magnitude < least ? 0 : (magnitude - (std::uint32_t{112} << 23)) >> 13));
}

/// `values` in that type, after which they hold the converted numbers.
std::vector<std::byte> InType(DType type, std::vector<float>& values) {
  const std::size_t size = ByteSize(type);
  std::vector<std::byte> bytes(values.size() * size);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint16_t half = BitsOf(type, values[i]);
    std::memcpy(bytes.data() + i * size, type == DType::kF32 ? static_cast<const void*>(&values[i]) : &half, size);
    values[i] = LoadFloat(type, bytes.data() + i * size);
  }
  return bytes;
}

/// Checks a product of these sizes by multiply(session, product), over heads that are spread in memory.
template <class F>
void CheckProduct(Random& random, Index m, Index n, Index k, const Reading& reading, const F& multiply,
                  Index head_count = kHeadCount) {
  CAPTURE(m);
  CAPTURE(n);
  CAPTURE(k);
  opencl::Session& session = Opened();
  const Index b_rows = reading.b_columns ? n : k, b_width = reading.b_columns ? k : n;
  const Place a_place = SpacedPlace(m, k, reading.aligned), b_place = SpacedPlace(b_rows, b_width, reading.aligned),
              c_place = SpacedPlace(m, n, reading.aligned);
  const std::vector<float> a = Spaced(random, a_place, m, k);
  std::vector<float> b = Spaced(random, b_place, b_rows, b_width);
  const std::vector<std::byte> b_bytes = InType(reading.type, b);
  const Tensor bias_tensor = random.NormalTensor({random.Chance(0.5) ? n : 0});
  const std::span<const float> bias = bias_tensor.values();
  std::vector<float> got(static_cast<std::size_t>(c_place.base + 2 * c_place.batch), 7.0f), expected = got;
  const Product product{.a = {session.Upload(std::span<const float>(a)), a_place},
                        .b = {session.Upload(std::span<const std::byte>(b_bytes)), b_place},
                        .c = {session.Upload(std::span<const float>(got)), c_place},
                        .m = m,
                        .n = n,
                        .k = k,
                        .b_columns = reading.b_columns,
                        .b_type = reading.type,
                        .bias = bias.empty() ? opencl::Memory() : session.Upload(bias),
                        .heads = kHeads,
                        .head_count = head_count};
  multiply(session, product);
  const auto size = static_cast<Index>(got.size());
  session.Download(product.c.buffer, 0, 1, size, got.data(), size);
  double largest = 0.0;
  for (Index z = 0; z < head_count; ++z)
    for (Index r = 0; r < m; ++r)
      for (Index s = 0; s < n; ++s) {
        double sum = bias.empty() ? 0.0 : bias[static_cast<std::size_t>(s)], norm = std::abs(sum);
        for (Index d = 0; d < k; ++d) {
          const double left = a[static_cast<std::size_t>(Begin(a_place, z) + r * a_place.row + d)];
          const double right = b[static_cast<std::size_t>(
              Begin(b_place, z) + (reading.b_columns ? s * b_place.row + d : d * b_place.row + s))];
          sum += left * right, norm += std::abs(left * right);
        }
        expected[static_cast<std::size_t>(Begin(c_place, z) + r * c_place.row + s)] = static_cast<float>(sum);
        largest = std::max(largest, norm);
      }
  CheckClose("product", got, expected, static_cast<double>(k + 4) * kEpsilon * largest);
}

TEST_CASE("OpenCL: every tile of products, over sizes around it") {
  Random random(31);
  for (std::size_t i = 0; i < opencl::Tiles().size(); ++i) {
    const opencl::Tile& tile = opencl::Tiles()[i];
    CAPTURE(NameOf(tile));
    REQUIRE(Fits(Opened(), tile));
    const auto multiply = [&](opencl::Session& session, const Product& p) { Multiply(session, p, tile); };
    for (const Reading& reading : SomeReadings(i)) {
      CAPTURE(ToString(reading.type));
      CAPTURE(reading.b_columns);
      CAPTURE(reading.aligned);
      const Index unit = reading.aligned ? 4 : 1;
      CheckProduct(random, 1, unit, unit, reading, multiply);
      CheckProduct(random, tile.m + 1, tile.n + unit, tile.depth + unit, reading, multiply);
      CheckProduct(random, tile.m - 1, 2 * tile.n - unit, 3 * tile.depth - unit, reading, multiply);
      CheckProduct(random, tile.m, tile.n, 2 * tile.depth, reading, multiply);
      CheckProduct(random, 3, unit, 33 * tile.depth + unit, reading, multiply, kOneHead);
    }
  }
}

TEST_CASE("OpenCL: every kernel for products of few rows") {
  Random random(32);
  const Index rows[] = {1, 2, 3, 8};
  for (const bool b_columns : {true, false})
    for (std::size_t i = 0; i < opencl::LanesFor(b_columns).size(); ++i) {
      const opencl::Lanes& lanes = opencl::LanesFor(b_columns)[i];
      CAPTURE(NameOf(lanes));
      REQUIRE(Fits(Opened(), lanes, b_columns));
      const auto multiply = [&](opencl::Session& session, const Product& p) { Multiply(session, p, lanes); };
      for (std::size_t j = 0; j < 2; ++j) {
        Reading reading = SomeReadings(i)[j];
        reading.b_columns = b_columns;
        CAPTURE(ToString(reading.type));
        CAPTURE(reading.b_columns);
        CAPTURE(reading.aligned);
        const Index unit = reading.aligned ? 4 : 1, m = rows[(i + j) % std::size(rows)];
        CheckProduct(random, m, unit, unit, reading, multiply);
        CheckProduct(random, m, 17 * unit, 33 * unit, reading, multiply);
        CheckProduct(random, m, 128 + unit, 128 - unit, reading, multiply);
        CheckProduct(random, m, unit, 5000 + unit, reading, multiply, kOneHead);
      }
    }
}

TEST_CASE("OpenCL: products of every kind") {
  Random random(33);
  for (const Index m : {1, 5, 8, 9, 64, 65, 200})
    for (const Reading& reading : {Readings().front(), Readings().back()}) {
      const Index n = reading.aligned ? 132 : 131;
      CheckProduct(random, m, n, n, reading, [](opencl::Session& session, const Product& p) { Multiply(session, p); });
    }
}

/// A cache folder of its own during its lifetime.
class TemporaryCache {
 public:
  TemporaryCache()
      : folder_(std::filesystem::temp_directory_path() / ("headlens-tuning-" + std::to_string(getpid()))),
        variable_("XDG_CACHE_HOME", folder_.string()) {
    std::filesystem::remove_all(folder_);
  }
  ~TemporaryCache() { std::filesystem::remove_all(folder_); }

  std::filesystem::path OnlyFile() const {
    const std::filesystem::directory_iterator files(folder_ / "headlens");
    REQUIRE(files != std::filesystem::directory_iterator());
    return files->path();
  }

 private:
  const std::filesystem::path folder_;
  const Variable variable_;
};

/// A choice among candidates that a device has for the same work.
opencl::Tunable Game(std::vector<std::string> candidates) {
  return {.name = "game",
          .candidates = std::move(candidates),
          .fits = [](const opencl::Session&, std::size_t i) { return i != 1; },
          .preset = [](opencl::Family) { return std::size_t{1}; }};
}

/// The race of a game.
opencl::Contest ContestOf(const opencl::Tunable& game, std::function<void(std::size_t)> launch,
                          std::function<bool()> is_right) {
  return {.tunable = &game, .trial = [=](opencl::Session&) { return opencl::Trial{1e6, launch, is_right}; }};
}

TEST_CASE("OpenCL: the fastest kernel wins, unless it fails, is wrong, or does not fit") {
  std::size_t last = 0;
  const auto wait = [](int milliseconds) { std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds)); };
  const auto launch = [&](std::size_t i) {
    last = i;
    if (i == 2) throw Error(ErrorCode::kUnsupported, "does not compile");
    if (i == 4) throw cl::Error(CL_OUT_OF_RESOURCES, "clEnqueueNDRangeKernel");
    wait(i == 3 ? 0 : i == 5 ? 4 : 12);
  };
  const opencl::Tunable game = Game({"slow", "too large", "throws", "wrong", "fails", "fast", "slow too"}),
                        one = Game({"one"});
  std::vector<std::string> steps;
  const opencl::TuningResult result = Race(Opened(), ContestOf(game, launch, [&] { return last != 3; }),
                                           [&](const opencl::TuningStep& step) { steps.push_back(step.candidate); });
  CHECK(result.chosen == "fast");
  CHECK(result.gflops > result.untuned_gflops);
  CHECK(steps == std::vector<std::string>{"slow", "throws", "wrong", "fails", "fast", "slow too"});
  Refused(ErrorCode::kUnsupported, "runs no kernel of game",
          [&] { Race(Opened(), ContestOf(one, launch, [] { return false; }), [](const auto&) {}); });
}

TEST_CASE("OpenCL: a kernel that is hardly faster does not take the place of the one that a device begins with") {
  constexpr double kNever = std::numeric_limits<double>::infinity();
  CHECK(opencl::Winner(std::vector{1.0, 0.98, kNever}, 0) == 0);
  CHECK(opencl::Winner(std::vector{1.0, 0.96, kNever}, 0) == 1);
  CHECK(opencl::Winner(std::vector{1.0, 0.9, 0.8}, 0) == 2);
  CHECK(opencl::Winner(std::vector{2.0, 1.0, kNever}, 2) == 1);
}

TEST_CASE("OpenCL: what was tuned is kept for the device, and nothing else is believed") {
  const TemporaryCache cache;
  const opencl::DeviceInfo device = opencl::FindDevice("");
  CHECK(!opencl::IsTuned(device));
  const opencl::Tunable game = Game({"a", "b", "c"});
  const auto chosen = [&] { return Choose(opencl::Session(opencl::Settings{}), game); };
  CHECK(chosen() == 2);  // the preset does not fit
  KeepChoices(device, {{"game", "a"}, {"other", "c"}});
  CHECK(opencl::IsTuned(device));
  CHECK(chosen() == 0);
  for (const char* foreign : {"b", "-D x", "", "a\nb", "1"}) {
    KeepChoices(device, {{"game", foreign}});
    CAPTURE(foreign);
    CHECK(chosen() == (std::string(foreign) == "a\nb" ? 0 : 2));
  }
  opencl::DeviceInfo updated = device;
  updated.driver += ".1";
  CHECK(!opencl::IsTuned(updated));
  // A file that was cut or changed.
  KeepChoices(device, {{"game", "a"}});
  const std::filesystem::path file = cache.OnlyFile();
  std::filesystem::resize_file(file, std::filesystem::file_size(file) - 1);
  CHECK(!opencl::IsTuned(device));
  CHECK(chosen() == 2);
}

}  // namespace
}  // namespace headlens::testing
