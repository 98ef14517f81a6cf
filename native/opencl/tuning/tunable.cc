// SPDX-License-Identifier: Apache-2.0
#include "opencl/tuning/tunable.h"

#include <algorithm>

namespace headlens::opencl {
namespace {

/// The first candidate from this one on.
std::size_t FirstThatFits(const Session& session, const Tunable& tunable, std::size_t candidate) {
  while (candidate + 1 < tunable.candidates.size() && !tunable.fits(session, candidate)) ++candidate;
  return candidate;
}

}  // namespace

std::size_t Preset(const Session& session, const Tunable& tunable) {
  return FirstThatFits(session, tunable, tunable.preset(FamilyOf(session.device())));
}

std::size_t Choose(const Session& session, const Tunable& tunable) {
  const auto kept = session.choices().find(tunable.name);
  if (kept == session.choices().end()) return Preset(session, tunable);
  const auto& names = tunable.candidates;
  const auto it = std::find(names.begin(), names.end(), kept->second);
  if (it == names.end()) return Preset(session, tunable);
  return FirstThatFits(session, tunable, static_cast<std::size_t>(it - names.begin()));
}

}  // namespace headlens::opencl
