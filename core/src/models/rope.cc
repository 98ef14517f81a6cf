// SPDX-License-Identifier: Apache-2.0
#include "models/rope.h"

#include <algorithm>
#include <cmath>

#include "models/family.h"

namespace headlens::models {
namespace {

constexpr double kPi = 3.14159265358979323846;

void ParseYarn(const JsonField& config, Rope& rope, double max_positions) {
  if (config["factor"].is_null()) rope.factor = max_positions / rope.original_positions;
  rope.beta_fast = config["beta_fast"].Positive(32.0);
  rope.beta_slow = config["beta_slow"].Positive(1.0);
  rope.truncate = config["truncate"].Flag(true);
  const auto sharpness = [&](double scale) {
    return rope.factor <= 1.0 ? 1.0 : 0.1 * scale * std::log(rope.factor) + 1.0;
  };
  double fallback = sharpness(1.0);
  if (!config["mscale"].is_null() && !config["mscale_all_dim"].is_null()) {
    fallback = sharpness(config["mscale"].Positive()) / sharpness(config["mscale_all_dim"].Positive());
  }
  rope.attention_factor = config["attention_factor"].Positive(fallback);
}

void ParseScaling(const JsonField& config, Rope& rope, double max_positions) {
  const char* key = !config["rope_type"].is_null() || config["type"].is_null() ? "rope_type" : "type";
  rope.scaling = config[key].Choice<RopeScaling>("default", {{"default", RopeScaling::kNone},
                                                             {"linear", RopeScaling::kLinear},
                                                             {"dynamic", RopeScaling::kDynamic},
                                                             {"llama3", RopeScaling::kLlama3},
                                                             {"yarn", RopeScaling::kYarn}});
  if (rope.scaling == RopeScaling::kNone) return;
  rope.original_positions = config["original_max_position_embeddings"].Positive(max_positions);
  const JsonField factor = config["factor"];
  rope.factor = rope.scaling == RopeScaling::kYarn ? factor.Positive(1.0) : factor.Positive();
  if (rope.scaling == RopeScaling::kLlama3) {
    rope.low_frequency_factor = config["low_freq_factor"].Positive();
    const JsonField high = config["high_freq_factor"];
    rope.high_frequency_factor = high.Positive();
    if (rope.high_frequency_factor <= rope.low_frequency_factor)
      high.Fail({"more than low_freq_factor, ", rope.low_frequency_factor});
  }
  if (rope.scaling == RopeScaling::kYarn) ParseYarn(config, rope, max_positions);
  const double stretched = rope.original_positions * rope.factor;
  if (rope.scaling != RopeScaling::kLlama3 && stretched < 1 << 24) {
    rope.max_positions = std::max(rope.max_positions, static_cast<Index>(stretched));
  }
}

double Llama3(const Rope& rope, double frequency) {
  const double wavelength = 2.0 * kPi / frequency;
  if (wavelength > rope.original_positions / rope.low_frequency_factor) return frequency / rope.factor;
  if (wavelength < rope.original_positions / rope.high_frequency_factor) return frequency;
  const double kept = (rope.original_positions / wavelength - rope.low_frequency_factor) /
                      (rope.high_frequency_factor - rope.low_frequency_factor);
  return frequency * ((1.0 - kept) / rope.factor + kept);
}

/// YaRN: pairs that make at least `beta_fast` turns within the training's length keep their frequency, pairs that make
/// at most `beta_slow` turns are slower by `factor`, and those in between are blended.
double Yarn(const Rope& rope, double i, double frequency) {
  const auto dim = static_cast<double>(rope.dim);
  const auto pair_with = [&](double turns) {
    return dim * std::log(rope.original_positions / (turns * 2.0 * kPi)) / (2.0 * std::log(rope.theta));
  };
  double low = pair_with(rope.beta_fast), high = pair_with(rope.beta_slow);
  if (rope.truncate) low = std::floor(low), high = std::ceil(high);
  low = std::max(low, 0.0);
  high = std::min(high, dim - 1.0);
  if (low == high) high += 0.001;
  const double stretched = std::clamp((i - low) / (high - low), 0.0, 1.0);
  return frequency * (stretched / rope.factor + 1.0 - stretched);
}

double Frequency(const Rope& rope, Index pair, Index length) {
  const auto i = static_cast<double>(pair), dim = static_cast<double>(rope.dim);
  double base = rope.theta;
  if (rope.scaling == RopeScaling::kDynamic && static_cast<double>(length) > rope.original_positions) {
    const double growth = rope.factor * static_cast<double>(length) / rope.original_positions - (rope.factor - 1.0);
    base *= std::pow(growth, dim / (dim - 2.0));
  }
  const double frequency = std::pow(base, -2.0 * i / dim);
  if (rope.scaling == RopeScaling::kLinear) return frequency / rope.factor;
  if (rope.scaling == RopeScaling::kLlama3) return Llama3(rope, frequency);
  if (rope.scaling == RopeScaling::kYarn) return Yarn(rope, i, frequency);
  return frequency;
}

}  // namespace

Rope ParseRope(const JsonField& config, Index head_dim) {
  const JsonField parameters = config[config["rope_parameters"].is_null() ? "rope_scaling" : "rope_parameters"];
  return ParseRope(config, parameters, config["rope_theta"].Positive(10000.0), head_dim);
}

Rope ParseRope(const JsonField& config, const JsonField& parameters, double theta, Index head_dim) {
  Rope rope;
  rope.dim = head_dim;
  rope.max_positions = Size(config, "max_position_embeddings", 2048);
  rope.theta = parameters.is_null() ? theta : parameters["rope_theta"].Positive(theta);
  if (!parameters.is_null()) ParseScaling(parameters, rope, static_cast<double>(rope.max_positions));
  if (head_dim % 2 != 0 || (rope.scaling == RopeScaling::kDynamic && head_dim < 4)) {
    throw ValueError("config.json: head_dim", head_dim,
                     "an even number for rotary positions, at least 4 for dynamic ones");
  }
  return rope;
}

namespace {

JsonField RotatedShare(const JsonField& config, const char* key) {
  const JsonField parameters = config["rope_parameters"];
  if (parameters.is_null() || parameters["partial_rotary_factor"].is_null()) return config[key];
  return parameters["partial_rotary_factor"];
}

}  // namespace

Index RotatedDim(const JsonField& config, const char* key, double fallback, Index head_dim) {
  const JsonField share = RotatedShare(config, key);
  const double part = share.Positive(fallback);
  if (part > 1.0) share.Fail("at most 1");
  return static_cast<Index>(static_cast<double>(head_dim) * part);
}

void RequireWholeRotation(const JsonField& config) { RotatedShare(config, "partial_rotary_factor").Require(1.0); }

RopeAngles AnglesAt(const Rope& rope, Index first, Index count, Index length) {
  const Index half = rope.dim / 2;
  RopeAngles angles{Tensor({count, half}), Tensor({count, half})};
  const View<float, 2> cosine = angles.cosine.view<2>(), sine = angles.sine.view<2>();
  for (Index i = 0; i < half; ++i) {
    const double frequency = Frequency(rope, i, length);
    for (Index t = 0; t < count; ++t) {
      const double angle = static_cast<double>(first + t) * frequency;
      cosine(t, i) = static_cast<float>(std::cos(angle) * rope.attention_factor);
      sine(t, i) = static_cast<float>(std::sin(angle) * rope.attention_factor);
    }
  }
  return angles;
}

bool HasFixedAngles(const Rope& rope, Index length) {
  return rope.scaling != RopeScaling::kDynamic || static_cast<double>(length) <= rope.original_positions;
}

void RequireFixedAngles(const Rope& rope, Index length) {
  if (HasFixedAngles(rope, length)) return;
  throw Error(ErrorCode::kUnsupported, {"step by step, a model with dynamic rope_scaling runs on at most ",
                                        static_cast<Index>(rope.original_positions),
                                        " tokens: beyond, each new token would turn the keys of all before it"});
}

}  // namespace headlens::models
