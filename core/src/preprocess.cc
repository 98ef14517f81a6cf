// SPDX-License-Identifier: Apache-2.0
#include "headlens/preprocess.h"

#include <algorithm>
#include <cmath>

#include "models/config.h"

namespace headlens {
namespace {

constexpr Index kChannels = 3;

/// Which inputs make an output, and with what weights, which sum to 1.
struct Taps {
  Index first;
  std::vector<double> weights;
};

/// Triangles around each output's centre, one input wide, or as wide as an output when it covers several inputs.
std::vector<Taps> TriangleTaps(Index from, Index to) {
  const double scale = static_cast<double>(from) / static_cast<double>(to), support = std::max(scale, 1.0);
  std::vector<Taps> taps;
  for (Index i = 0; i < to; ++i) {
    const double center = (static_cast<double>(i) + 0.5) * scale;
    const Index first = std::max<Index>(static_cast<Index>(center - support + 0.5), 0);
    const Index last = std::min<Index>(static_cast<Index>(center + support + 0.5), from);
    Taps& tap = taps.emplace_back(Taps{first, {}});
    double sum = 0.0;
    for (Index j = first; j < last; ++j) {
      const double distance = std::abs(static_cast<double>(j) + 0.5 - center) / support;
      sum += tap.weights.emplace_back(std::max(1.0 - distance, 0.0));
    }
    for (double& weight : tap.weights) weight /= sum;
  }
  return taps;
}

/// One channel of the picture, resized: [size, size]. Rows first, so that no more than one is held in between.
void ResizeChannel(const std::uint8_t* rgba, Index width, std::span<const Taps> down, std::span<const Taps> across,
                   float* to) {
  std::vector<double> row(static_cast<std::size_t>(width));
  for (const Taps& rows : down) {
    std::ranges::fill(row, 0.0);
    for (std::size_t j = 0; j < rows.weights.size(); ++j) {
      const std::uint8_t* from = rgba + (rows.first + static_cast<Index>(j)) * width * 4;
      for (Index x = 0; x < width; ++x) row[static_cast<std::size_t>(x)] += rows.weights[j] * from[x * 4];
    }
    for (const Taps& columns : across) {
      double sum = 0.0;
      for (std::size_t j = 0; j < columns.weights.size(); ++j)
        sum += columns.weights[j] * row[static_cast<std::size_t>(columns.first) + j];
      *to++ = static_cast<float>(std::nearbyint(sum));
    }
  }
}

void RequireSquare(const models::Config& config) {
  const auto size = config.Object("size");
  if (size && size->Has("shortest_edge")) config.Unsupported("size", "{\"height\": N, \"width\": N}");
  if (size && size->Size("height") != size->Size("width")) config.Unsupported("size", "equal height and width");
}

}  // namespace

ImageProcessor ReadImageProcessor(std::string_view json) {
  const models::Config config(json, "preprocessor_config.json");
  config.Require("do_center_crop", false);
  ImageProcessor processor;
  processor.resize = config.Flag("do_resize", true);
  if (processor.resize) config.Require("resample", 2);
  if (processor.resize && config.IsObject("size")) RequireSquare(config);
  processor.rescale =
      config.Flag("do_rescale", true) ? static_cast<float>(config.Positive("rescale_factor", 1.0 / 255.0)) : 1.0f;
  const bool normalize = config.Flag("do_normalize", true);
  const auto channels = static_cast<std::size_t>(kChannels);
  processor.mean = normalize ? config.Numbers("image_mean", channels, 0.5f) : std::vector<float>(channels, 0.0f);
  processor.deviation = normalize ? config.Numbers("image_std", channels, 0.5f) : std::vector<float>(channels, 1.0f);
  for (const float deviation : processor.deviation) {
    if (!(deviation > 0.0f)) {
      throw Error(ErrorCode::kValue, "preprocessor_config.json: image_std must hold positive numbers");
    }
  }
  return processor;
}

Tensor Preprocess(std::span<const std::uint8_t> rgba, Index width, Index height, Index size,
                  const ImageProcessor& processor) {
  if (width < 1 || height < 1 || ElementCount({height, width, 4}) != static_cast<Index>(rgba.size())) {
    throw Error(ErrorCode::kShape, "a picture of " + std::to_string(width) + " x " + std::to_string(height) +
                                       " pixels cannot have " + std::to_string(rgba.size()) + " bytes");
  }
  if (!processor.resize && (width != size || height != size)) {
    throw Error(ErrorCode::kShape, "the picture has " + std::to_string(width) + " x " + std::to_string(height) +
                                       " pixels, expected " + std::to_string(size) + " x " + std::to_string(size) +
                                       ": the model's preprocessor does not resize");
  }
  Tensor image({kChannels, size, size});
  const std::vector<Taps> down = TriangleTaps(height, size), across = TriangleTaps(width, size);
  for (Index c = 0; c < kChannels; ++c) {
    const double mean = processor.mean[static_cast<std::size_t>(c)];
    const double deviation = processor.deviation[static_cast<std::size_t>(c)];
    float* channel = image.data() + c * size * size;
    ResizeChannel(rgba.data() + c, width, down, across, channel);
    for (float& value : std::span(channel, static_cast<std::size_t>(size * size)))
      value = static_cast<float>((value * double{processor.rescale} - mean) / deviation);
  }
  return image;
}

}  // namespace headlens
