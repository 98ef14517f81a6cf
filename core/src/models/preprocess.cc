// SPDX-License-Identifier: Apache-2.0
#include "headlens/preprocess.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "headlens/folder.h"
#include "models/family.h"

namespace headlens {
namespace {

constexpr Index kChannels = 3;

constexpr int kWeightBits = 22;

/// The inputs that make an output, with their weights, which sum to 2^kWeightBits except for rounding.
struct Taps {
  Index first;
  std::vector<std::int32_t> weights;
};

/// Triangles around the centre of each output, as wide as an input, or as an output when that covers several inputs.
std::vector<Taps> TriangleTaps(Index from, Index to) {
  const double scale = static_cast<double>(from) / static_cast<double>(to), support = std::max(scale, 1.0);
  std::vector<Taps> taps;
  std::vector<double> weights;
  for (Index i = 0; i < to; ++i) {
    const double center = (static_cast<double>(i) + 0.5) * scale;
    const Index first = std::max<Index>(static_cast<Index>(center - support + 0.5), 0);
    const Index last = std::min<Index>(static_cast<Index>(center + support + 0.5), from);
    weights.clear();
    double sum = 0.0;
    for (Index j = first; j < last; ++j) {
      const double distance = std::abs(static_cast<double>(j) + 0.5 - center) / support;
      sum += weights.emplace_back(std::max(1.0 - distance, 0.0));
    }
    Taps& tap = taps.emplace_back(Taps{first, {}});
    for (const double weight : weights)
      tap.weights.push_back(static_cast<std::int32_t>(std::lround(weight / sum * (1 << kWeightBits))));
  }
  return taps;
}

/// The rounded weighted sum of bytes that lie `stride` apart.
std::uint8_t Blend(const std::uint8_t* from, Index stride, const Taps& taps) {
  std::int64_t sum = 1 << (kWeightBits - 1);
  from += taps.first * stride;
  for (const std::int32_t weight : taps.weights) {
    sum += std::int64_t{weight} * *from;
    from += stride;
  }
  return static_cast<std::uint8_t>(std::min<std::int64_t>(sum >> kWeightBits, 255));
}

/// Resizes one channel of the picture to [across, down] as Pillow does, with which the published models were trained:
/// first the columns, rounded to bytes, then the rows.
void ResizeChannel(const std::uint8_t* rgba, Index width, std::span<const Taps> across, std::span<const Taps> down,
                   std::span<std::uint8_t> narrowed, float* to) {
  const auto columns = static_cast<Index>(across.size()), height = static_cast<Index>(narrowed.size()) / columns;
  for (Index y = 0; y < height; ++y)
    for (Index x = 0; x < columns; ++x)
      narrowed[static_cast<std::size_t>(y * columns + x)] =
          Blend(rgba + y * width * 4, 4, across[static_cast<std::size_t>(x)]);
  for (const Taps& rows : down)
    for (Index x = 0; x < columns; ++x) *to++ = Blend(narrowed.data() + x, columns, rows);
}

void RequireSquare(const JsonField& size) {
  if (!size["shortest_edge"].is_null()) size.Refuse("{\"height\": N, \"width\": N}");
  if (models::Size(size["height"]) != models::Size(size["width"])) size.Refuse("equal height and width");
}

/// A number for each channel. A single number is used for all of them.
std::array<float, kChannels> OfChannels(const JsonField& field, float fallback) {
  std::array<float, kChannels> numbers;
  numbers.fill(fallback);
  if (field.is_null()) return numbers;
  const bool is_list = field.value().is_array();
  if (is_list && field.ListSize() != numbers.size()) field.Fail(std::to_string(numbers.size()) + " numbers");
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = is_list ? field.Element(i).Single() : field.Single();
  return numbers;
}

}  // namespace

ImageProcessor ReadImageProcessor(std::string_view json) {
  const nlohmann::json parsed = ParseObject(json, kProcessorFile);
  const JsonField config(parsed, std::string(kProcessorFile) + ": ", ErrorCode::kValue);
  config["do_center_crop"].Require(false);
  ImageProcessor processor;
  processor.resize = config["do_resize"].Flag(true);
  if (processor.resize) config["resample"].Require(2);
  if (processor.resize && config["size"].value().is_object()) RequireSquare(config["size"]);
  processor.rescale =
      config["do_rescale"].Flag(true) ? static_cast<float>(config["rescale_factor"].Positive(1.0 / 255.0)) : 1.0f;
  const bool normalize = config["do_normalize"].Flag(true);
  processor.mean = {0.0f, 0.0f, 0.0f};
  processor.deviation = {1.0f, 1.0f, 1.0f};
  if (normalize) {
    processor.mean = OfChannels(config["image_mean"], 0.5f);
    processor.deviation = OfChannels(config["image_std"], 0.5f);
  }
  for (const float deviation : processor.deviation)
    if (!(deviation > 0.0f)) config["image_std"].Fail("positive numbers");
  return processor;
}

Tensor Preprocess(std::span<const std::uint8_t> rgba, Index width, Index height, Index size,
                  const ImageProcessor& processor) {
  if (width < 1 || height < 1 || ElementCount({height, width, 4}) != static_cast<Index>(rgba.size())) {
    throw Wrong(ErrorCode::kShape, "the picture", "has", {rgba.size(), " bytes"},
                {width, " x ", height, " pixels of 4"});
  }
  if (!processor.resize && (width != size || height != size)) {
    throw Wrong(ErrorCode::kShape, "the picture", "has", {width, " x ", height, " pixels"},
                {size, " x ", size, ": the model's preprocessor does not resize"});
  }
  Tensor image({kChannels, size, size});
  const std::vector<Taps> across = TriangleTaps(width, size), down = TriangleTaps(height, size);
  std::vector<std::uint8_t> narrowed(static_cast<std::size_t>(ElementCount({height, size})));
  for (Index c = 0; c < kChannels; ++c) {
    const double mean = processor.mean[static_cast<std::size_t>(c)];
    const double deviation = processor.deviation[static_cast<std::size_t>(c)];
    float* channel = image.data() + c * size * size;
    ResizeChannel(rgba.data() + c, width, across, down, narrowed, channel);
    for (float& value : std::span(channel, static_cast<std::size_t>(size * size)))
      value = static_cast<float>((value * double{processor.rescale} - mean) / deviation);
  }
  return image;
}

}  // namespace headlens
