// SPDX-License-Identifier: Apache-2.0
#include "by_name/analyses/maps.h"

#include "base/checks.h"

namespace headlens {

std::span<const Field<MapInfo>> MapMaskFields() {
  static constexpr Field<MapInfo> kFields[] = {
      field::Count<&MapInfo::query_offset>("query_offset", -(Index{1} << 40),
                                           "Query t is the same token as key t + `query_offset`, which is below 0 when "
                                           "queries come before the first key."),
      field::Flag<&MapInfo::causal>("is_causal", "No query may look at keys after its own."),
      field::Count<&MapInfo::window>("window", 1,
                                     "A query may look at its own key and the window − 1 keys before it; later keys "
                                     "stay allowed unless `is_causal`. When absent, there is no window."),
      field::Booleans<&MapInfo::visible>("visible", "T,S", "False where a mask hides the key."),
      field::BooleanList<&MapInfo::padded_queries>("padded_queries", "T", "True for padding."),
      field::BooleanList<&MapInfo::padded_keys>("padded_keys", "S", "True for padding."),
  };
  return kFields;
}

std::span<const Field<HeadMaps>> HeadMapsFields() {
  static constexpr Field<HeadMaps> kFields[] = {
      field::Required(field::TextFloats<&HeadMaps::weights>("weights", "H,T,S", "The heads' weights.")),
  };
  return kFields;
}

std::span<const Field<LayerMaps>> LayerMapsFields() {
  static constexpr Field<LayerMaps> kFields[] = {
      field::Required(field::TextFloats<&LayerMaps::weights>("weights", "L,H,T,T", "The weights of each layer.")),
  };
  return kFields;
}

std::span<const Field<MapInfo>> KnownMaps::TokenFields() {
  static constexpr Field<MapInfo> kFields[] = {
      field::IntegerList<&MapInfo::tokens>(
          "tokens", "S",
          "Token ids. When they are of the form [s][s], or one token and then [s][s], s is the repeated sequence."),
      field::BooleanList<&MapInfo::special>("special", "S", "True for BOS, CLS, SEP, EOS, punctuation, …"),
  };
  return kFields;
}

std::span<const Field<RepeatedSequence>> KnownMaps::RepeatFields() {
  static constexpr Field<RepeatedSequence> kFields[] = {
      field::Needs("repeat_length",
                   field::Count<&RepeatedSequence::begin>(
                       "repeat_begin", 0, "The place where a sequence that occurs twice in a row begins.")),
      field::Count<&RepeatedSequence::length>("repeat_length", 1,
                                              "The length of that sequence in tokens, counted once."),
  };
  return kFields;
}

std::span<const Field<PatchGrid>> KnownMaps::GridFields() {
  static constexpr Field<PatchGrid> kFields[] = {
      field::Count<&PatchGrid::prefix>("patch_prefix", 0,
                                       "For pictures: the number of keys before the patches (CLS, …)."),
      field::Count<&PatchGrid::columns>("patch_columns", 1, "For pictures: the number of patches in a row."),
      field::Scalar<&PatchGrid::patch_size>("patch_size", FieldType::kSingle,
                                            "For pictures: the width of a patch in pixels."),
  };
  return kFields;
}

MapInfo KnownMaps::Info() const {
  MapInfo info = info_;
  ExpectPositive("`patch_size`", static_cast<float>(info.grid.patch_size));
  info.repeat = told_.length > 0 ? told_ : FindRepeat(info.tokens);
  return info;
}

}  // namespace headlens
