// SPDX-License-Identifier: Apache-2.0
/// The options of attention calls.
#ifndef HEADLENS_SRC_BY_NAME_CALL_OPTIONS_H_
#define HEADLENS_SRC_BY_NAME_CALL_OPTIONS_H_

#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "by_name/field_reader.h"
#include "headlens/attention.h"
#include "headlens/conventions.h"
#include "headlens/transformer.h"

namespace headlens {

/// The options that all calls share.
struct CallOptions {
  const Backend* backend = nullptr;
  /// Only conventions and numbers are set here. Masks, normalisers and positions need the sizes; see ReadSettings.
  AttentionSettings settings;
  std::optional<float> scale;
  bool need_weights = false;
  bool average_weights = true;
  bool enable_gqa = false;   ///< for scaled_dot_product_attention: allows fewer key/value heads than query heads
  bool batch_first = false;  ///< for layers: tensors are [B, T, D] instead of [T, B, D]
  std::optional<Rotary> rotary;
  std::set<std::string, std::less<>> stages;
  std::set<std::string, std::less<>> memory_stages;  ///< those of a decoder layer's attention over the memory

  bool Wants(std::string_view stage) const { return stages.contains(stage); }
};

/// The backends of every build.
inline constexpr Choice kBackendNames[] = {{"simd", 0}, {"reference", 1}};

/// The options in CallOptions that decide the weights of every call of attention.
std::span<const Field<CallOptions>> WeightFields();
/// The other options that every call has, and the tensors that calls read by themselves.
std::span<const Field<CallOptions>> CallFields();
/// The options of scaled_dot_product_attention only.
std::span<const Field<CallOptions>> FunctionFields();
/// The options of layers only.
std::span<const Field<CallOptions>> LayerFields();

/// The defaults of one kind of call.
struct CallDefaults {
  std::string_view conventions;  ///< the library whose mask_true, causal_alignment and orders are the default
  bool need_weights, average_weights;
  std::span<const Field<CallOptions>> (*own_fields)();  ///< options that other kinds of calls do not have
};
inline constexpr CallDefaults kFunctionDefaults{"torch-sdpa", false, false, FunctionFields};
inline constexpr CallDefaults kMultiheadDefaults{"torch-mha", true, true, LayerFields};
inline constexpr CallDefaults kTransformerDefaults{"torch-mha", false, true, LayerFields};

/// Reads what decides the weights, and nothing else, so that all other options are unknown.
CallOptions ReadWeightOptions(OptionReader& reader, const CallDefaults& defaults);
/// `with_memory` allows stages of the attention over the memory, such as "memory_scores".
CallOptions ReadCallOptions(OptionReader& reader, const CallDefaults& defaults, bool with_memory = false);

Normalizer ReadNormalizer(FieldReader& reader);
/// Reads the masks, the normaliser and the positions of an attention. The rest is as ReadSettings has it.
AttentionSettings ReadWeightSettings(FieldReader& reader, const CallOptions& options, const Sizes& n,
                                     bool over_memory = false);
/// Reads everything about an attention except its q, k and v. `n.keys` includes past keys. `over_memory` is for a
/// decoder layer's attention over its memory, which has its own masks and no positions.
AttentionSettings ReadSettings(OptionReader& reader, Arguments& args, const CallOptions& options, const Sizes& n,
                               Renames renames = {}, bool over_memory = false);

MultiheadConfig ReadMultihead(OptionReader& reader);
TransformerLayerConfig ReadTransformerLayer(OptionReader& reader, bool cross_attention);

}  // namespace headlens

#endif  // HEADLENS_SRC_BY_NAME_CALL_OPTIONS_H_
