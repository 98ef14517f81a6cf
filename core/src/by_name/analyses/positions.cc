// SPDX-License-Identifier: Apache-2.0
/// The tables of positions.
#include "by_name/analyses/call.h"
#include "headlens/position_tables.h"

namespace headlens {
namespace {

struct PositionRows {
  Index length = 0, width = 0, offset = 0;
};

constexpr Field<PositionRows> kSinusoidal[] = {
    field::Required(field::Count<&PositionRows::length>("length", 0, "The number of positions.")),
    field::Required(field::Count<&PositionRows::width>("width", 1, "The width of each position's row.")),
    field::Count<&PositionRows::offset>("offset", 0, "The position of row 0."),
};

struct SinusoidalQuestion : PositionRows {
  template <class Take>
  void Fields(const Take& take) {
    take(Part::kArgument, kSinusoidal, *this);
  }

  void Answer(AnalysisCall& call) const { call.Answer(SinusoidalPositions(length, width, offset)); }
};

struct SlopesOptions {
  Index heads = 0;
};

constexpr Field<SlopesOptions> kSlopes[] = {
    field::Required(field::Count<&SlopesOptions::heads>("heads", 1, "The number of heads.")),
};

struct SlopesQuestion : SlopesOptions {
  template <class Take>
  void Fields(const Take& take) {
    take(Part::kArgument, kSlopes, *this);
  }

  void Answer(AnalysisCall& call) const {
    constexpr Index kMost = 1 << 16;  // far beyond any model, and far below what would be slow
    if (heads > kMost) throw ValueError("`heads`", heads, {"1 to ", kMost});
    const std::vector<float> slopes = AlibiSlopes(heads);
    call.Answer(Tensor({heads}, slopes));
  }
};

struct BucketOptions {
  Index distance = 0, buckets = 32, max_distance = 128;
  bool bidirectional = true;
};

constexpr Field<BucketOptions> kDistance[] = {
    field::Required(
        field::Count<&BucketOptions::distance>("distance", -(Index{1} << 31), "Key position − query position.")),
};
constexpr Field<BucketOptions> kBuckets[] = {
    field::Count<&BucketOptions::buckets>("buckets", 1, "The number of buckets."),
    field::Flag<&BucketOptions::bidirectional>("bidirectional", "Half of the buckets are for keys after the query."),
    field::Count<&BucketOptions::max_distance>("max_distance", 1,
                                               "This distance and all larger ones are in the last bucket."),
};

struct BucketQuestion : BucketOptions {
  template <class Take>
  void Fields(const Take& take) {
    take(Part::kArgument, kDistance, *this);
    take(Part::kOption, kBuckets, *this);
  }

  void Answer(AnalysisCall& call) const {
    const Index least = bidirectional ? 4 : 2, exact = buckets / least;
    if (buckets < least || max_distance <= exact) {
      throw Error(ErrorCode::kValue,
                  {"`buckets` is ", buckets, " and `max_distance` ", max_distance, ", expected at least ", least,
                   " buckets and a distance above the ", exact, " that have a bucket of their own"});
    }
    call.values["bucket"] = T5Bucket(distance, buckets, bidirectional, max_distance);
  }
};

}  // namespace

extern const AnalysisKind kSinusoidalPositionsAnalysis = MakeAnalysis<SinusoidalQuestion>(
    "sinusoidal_positions", "Sines and cosines of positions (Vaswani et al. 2017, §3.5) [length,width].");

extern const AnalysisKind kAlibiSlopesAnalysis =
    MakeAnalysis<SlopesQuestion>("alibi_slopes", "ALiBi's slopes (Press et al. 2022) [heads].");

extern const AnalysisKind kT5BucketAnalysis = MakeAnalysis<BucketQuestion>(
    "t5_bucket", "T5's bucket of a distance (Raffel et al. 2020): { bucket }.", "t5_bucket_options");

}  // namespace headlens
