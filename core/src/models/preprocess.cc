// SPDX-License-Identifier: Apache-2.0
#include "headlens/preprocess.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "headlens/folder.h"
#include "models/family.h"
#include "models/resize.h"

namespace headlens {
namespace {

constexpr Index kChannels = 3;

constexpr int kWeightBits = 22;

/// Pillow's numbers of filters, which are those of the files.
constexpr std::int64_t kBilinear = 2, kBicubic = 3;

/// Taps whose weights are whole numbers that sum to 2^kWeightBits except for rounding.
struct WholeTaps {
  Index first;
  std::vector<std::int32_t> weights;
};

std::vector<WholeTaps> Rounded(const std::vector<models::Taps>& taps) {
  std::vector<WholeTaps> rounded;
  for (const models::Taps& from : taps) {
    WholeTaps& to = rounded.emplace_back(WholeTaps{from.first, {}});
    for (const double weight : from.weights)
      to.weights.push_back(static_cast<std::int32_t>(std::lround(weight * (1 << kWeightBits))));
  }
  return rounded;
}

/// The rounded weighted sum of bytes that lie `stride` apart.
std::uint8_t Blend(const std::uint8_t* from, Index stride, const WholeTaps& taps) {
  std::int64_t sum = 1 << (kWeightBits - 1);
  from += taps.first * stride;
  for (const std::int32_t weight : taps.weights) {
    sum += std::int64_t{weight} * *from;
    from += stride;
  }
  return static_cast<std::uint8_t>(std::clamp<std::int64_t>(sum >> kWeightBits, 0, 255));
}

/// Resizes one channel of the picture to [across, down] as Pillow does, with which the published models were trained:
/// first the columns, rounded to bytes, then the rows.
void ResizeChannel(const std::uint8_t* rgba, Index width, std::span<const WholeTaps> across,
                   std::span<const WholeTaps> down, std::span<std::uint8_t> narrowed, float* to) {
  const auto columns = static_cast<Index>(across.size()), height = static_cast<Index>(narrowed.size()) / columns;
  for (Index y = 0; y < height; ++y)
    for (Index x = 0; x < columns; ++x)
      narrowed[static_cast<std::size_t>(y * columns + x)] =
          Blend(rgba + y * width * 4, 4, across[static_cast<std::size_t>(x)]);
  for (const WholeTaps& rows : down)
    for (Index x = 0; x < columns; ++x) *to++ = Blend(narrowed.data() + x, columns, rows);
}

/// A side of pixels, given as a number or as equal height and width.
Index Side(const JsonField& size) {
  if (!size.value().is_object()) return models::Size(size);
  if (models::Size(size["height"]) != models::Size(size["width"])) size.Refuse("equal height and width");
  return models::Size(size["height"]);
}

void ReadResize(const JsonField& config, ImageProcessor& processor) {
  using Resize = ImageProcessor::Resize;
  const JsonField size = config["size"];
  if (config["do_center_crop"].Flag(false)) processor.crop = Side(config["crop_size"]);
  if (!config["do_resize"].Flag(true)) {
    processor.resize = Resize::kNone;
    return;
  }
  const JsonField resample = config["resample"];
  const std::int64_t filter = resample.is_null() ? kBilinear : resample.Whole(0);
  if (filter != kBilinear && filter != kBicubic) resample.Refuse("2 (bilinear) and 3 (bicubic)");
  processor.bicubic = filter == kBicubic;
  if (size.value().is_object() && !size["shortest_edge"].is_null()) {
    processor.resize = Resize::kShortestEdge;
    processor.size = models::Size(size["shortest_edge"]);
    if (processor.crop == 0) config["do_center_crop"].Refuse("true beside shortest_edge: models read squares");
  } else if (!size.is_null()) {
    processor.size = Side(size);
  }
  if (processor.size > 0 && processor.crop > processor.size)
    config["crop_size"].Fail({"at most the size, ", processor.size});
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
  ImageProcessor processor;
  ReadResize(config, processor);
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

namespace {

/// A picture after its resizing, [height, width], of which `side` × `side` pixels from (top, left) on are kept.
struct Placement {
  Index width, height, side, top, left;
};

Placement PlacementOf(Index width, Index height, Index model_size, const ImageProcessor& processor) {
  using Resize = ImageProcessor::Resize;
  const Index size = processor.size > 0 ? processor.size : model_size;
  if (processor.resize == Resize::kSquare) width = height = size;
  if (processor.resize == Resize::kShortestEdge) {
    const double shorter = static_cast<double>(std::min(width, height));
    const auto resized = [&](Index side) {
      return static_cast<Index>(static_cast<double>(size) * static_cast<double>(side) / shorter);
    };
    width = resized(width);
    height = resized(height);
  }
  const Index side = processor.crop > 0 ? processor.crop : processor.resize == Resize::kNone ? model_size : size;
  return {width, height, side, (height - side) / 2, (width - side) / 2};
}

void CheckPlacement(const Placement& placed, const ImageProcessor& processor) {
  const Index side = placed.side;
  if (processor.crop > 0 ? placed.width >= side && placed.height >= side
                         : placed.width == side && placed.height == side)
    return;
  throw Wrong(ErrorCode::kShape, "the picture", "has", {placed.width, " x ", placed.height, " pixels"},
              {processor.crop > 0 ? "at least " : "", side, " x ", side, ": the model's preprocessor does not resize"});
}

}  // namespace

Tensor Preprocess(std::span<const std::uint8_t> rgba, Index width, Index height, Index size,
                  const ImageProcessor& processor) {
  if (width < 1 || height < 1 || ElementCount({height, width, 4}) != static_cast<Index>(rgba.size())) {
    throw Wrong(ErrorCode::kShape, "the picture", "has", {rgba.size(), " bytes"},
                {width, " x ", height, " pixels of 4"});
  }
  const Placement placed = PlacementOf(width, height, size, processor);
  CheckPlacement(placed, processor);
  const Index side = placed.side;
  const auto filter = processor.bicubic ? models::ResizeFilter::kCubic : models::ResizeFilter::kTriangle;
  const auto taps = [&](Index from, Index to, Index first) {
    return Rounded(models::SmoothTaps(from, to, filter, first, first + side));
  };
  const std::vector<WholeTaps> across = taps(width, placed.width, placed.left),
                               down = taps(height, placed.height, placed.top);
  Tensor image({kChannels, side, side});
  std::vector<std::uint8_t> narrowed(static_cast<std::size_t>(ElementCount({height, side})));
  for (Index c = 0; c < kChannels; ++c) {
    const double mean = processor.mean[static_cast<std::size_t>(c)];
    const double deviation = processor.deviation[static_cast<std::size_t>(c)];
    float* channel = image.data() + c * side * side;
    ResizeChannel(rgba.data() + c, width, across, down, narrowed, channel);
    for (float& value : std::span(channel, static_cast<std::size_t>(side * side)))
      value = static_cast<float>((value * double{processor.rescale} - mean) / deviation);
  }
  return image;
}

}  // namespace headlens
