// SPDX-License-Identifier: Apache-2.0
#include "headlens/backend.h"
#include "headlens/metrics.h"
#include "headlens/model.h"
#include "headlens/safetensors.h"

const auto read = [](const char* path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
};
const std::string weights = read("web/models/tiny/model.safetensors");
const headlens::Safetensors parameters(std::as_bytes(std::span(weights)));
const headlens::Model model(read("web/models/tiny/config.json"), parameters, headlens::SimdBackend());

// <s>, and twice: river king seven letter garden sister
const std::array<std::int32_t, 13> ids = {0, 1130, 1177, 1773, 747, 1257, 893, 1130, 1177, 1773, 747, 1257, 893};
headlens::MapInfo info;
info.causal = true;
info.tokens = ids;
info.repeat = headlens::FindRepeat(ids);
const headlens::Tensor mask({4, 8}), map({13, 13});
std::ranges::fill(mask.values(), 1.0f);
headlens::AttendOptions options;
options.head_mask = mask.view<2>();
for (const float factor : {1.0f, 0.0f}) {
  mask.data()[5] = factor;  // 0 silences the previous-token head, layer 0, head 5
  const headlens::ModelAttention seen = model.Attend({.ids = ids}, options);
  for (const int head : {0, 1, 2}) {
    seen.Map(1, head, {}, map.view<2>());
    const headlens::HeadMap weights(map.view<2>(), info);
    std::cout << std::setprecision(7) << *headlens::FindMetric("induction").function(weights).value << ' ';
  }
  std::cout << '\n';
}
