// SPDX-License-Identifier: Apache-2.0
#include "by_name/analyses/maps.h"

#include "base/checks.h"

namespace headlens {

std::span<const Field<MapInfo>> MapMaskFields() {
  static constexpr Field<MapInfo> kFields[] = {
      field::Count<&MapInfo::query_offset>(
          "query_offset", -(Index{1} << 40),
          "Query t is the token of key t + `query_offset`, which is below 0 when queries come before the first key."),
      field::Flag<&MapInfo::causal>("is_causal", "No query may look at keys after itself."),
      field::Count<&MapInfo::window>("window", 1,
                                     "A query looks at itself and the window − 1 keys before it; keys after it stay "
                                     "allowed unless `is_causal`. When absent, there is no window."),
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
      field::IntegerList<&MapInfo::tokens>("tokens", "S",
                                           "Token ids. When they are [s][s], or one token and then [s][s], that is the "
                                           "repeated sequence."),
      field::BooleanList<&MapInfo::special>("special", "S", "True for BOS, CLS, SEP, EOS, punctuation, …"),
  };
  return kFields;
}

std::span<const Field<RepeatedSequence>> KnownMaps::RepeatFields() {
  static constexpr Field<RepeatedSequence> kFields[] = {
      field::Needs("repeat_length", field::Count<&RepeatedSequence::begin>(
                                        "repeat_begin", 0, "A sequence that stands twice in a row begins here.")),
      field::Count<&RepeatedSequence::length>("repeat_length", 1, "That sequence has so many tokens, counted once."),
  };
  return kFields;
}

std::span<const Field<PatchGrid>> KnownMaps::GridFields() {
  static constexpr Field<PatchGrid> kFields[] = {
      field::Count<&PatchGrid::prefix>("patch_prefix", 0,
                                       "Of pictures, so many keys stand before the patches (CLS, …)."),
      field::Count<&PatchGrid::columns>("patch_columns", 1, "Of pictures, so many patches are in a row."),
      field::Scalar<&PatchGrid::patch_size>("patch_size", FieldType::kSingle,
                                            "Of pictures, a patch's side has so many pixels."),
  };
  return kFields;
}

MapInfo KnownMaps::Info() const {
  MapInfo info = info_;
  ExpectPositive("patch_size", static_cast<float>(info.grid.patch_size));
  info.repeat = told_.length > 0 ? told_ : FindRepeat(info.tokens);
  return info;
}

}  // namespace headlens
