// SPDX-License-Identifier: Apache-2.0
#include "headlens/maps_call.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "base/words.h"
#include "by_name/operations/heads_call.h"
#include "by_name/operations/registry.h"

namespace headlens {

struct MapsCall::State {
  explicit State(std::span<const Backend* const> among) : backends(among) {}

  std::span<const Backend* const> backends;
  Inputs inputs;
  Arguments args{inputs};
  Tensor q, k;  // after rotation
  std::optional<AttentionMaps> maps;
};

MapsCall::MapsCall(std::span<const Backend* const> backends) : state_(new State(backends)) {}
MapsCall::~MapsCall() = default;
MapsCall::MapsCall(MapsCall&&) noexcept = default;
MapsCall& MapsCall::operator=(MapsCall&&) noexcept = default;

std::span<std::byte> MapsCall::Input(std::string_view name, DType dtype, const Shape& shape) {
  const std::vector<std::string_view> known(MapInputs().begin(), MapInputs().end());
  if (std::ranges::find(known, name) == known.end()) throw UnknownName("tensor", name, known);
  return Declare(state_->inputs, name, dtype, shape);
}

void MapsCall::Read(std::string_view json) {
  State& state = *state_;
  state.maps.reset();  // it borrows what follows
  OptionReader reader(ParseObject(json, "options"), state.backends);
  const CallOptions options = ReadWeightOptions(reader, kFunctionDefaults);
  HeadsCall call(state.args, options, true);
  const Sizes n = call.SizesAfter(0);
  FieldReader fields(reader, state.args, n);
  static_cast<AttentionSettings&>(call.problem) = ReadWeightSettings(fields, options, n);
  reader.RejectUnknown();
  call.ExpectWidth();
  if (options.rotary) {
    const View<float, 4> q = Turnable(state.q, call.problem.q.host()),
                         k = Turnable(state.k, call.problem.k.floats().host());
    call.problem.q = q;
    call.problem.k = k;
    RotateAndCache(*options.backend, options.rotary, q, k, nullptr, call.problem);
  }
  state.maps.emplace(call.problem, *options.backend);
}

const AttentionMaps& MapsCall::maps() const {
  if (!state_->maps) throw Error(ErrorCode::kOption, "the maps were not read yet");
  return *state_->maps;
}

}  // namespace headlens
