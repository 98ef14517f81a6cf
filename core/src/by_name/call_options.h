// SPDX-License-Identifier: Apache-2.0
/// The options of a call of attention, and what attention is told by them.
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

/// The options that all calls share, whatever their tensors.
struct CallOptions {
  const Backend* backend = nullptr;
  /// The conventions and numbers; masks, normalisers and positions need the sizes: ReadSettings.
  AttentionSettings settings;
  std::optional<float> scale;
  bool need_weights = false;
  bool average_weights = true;
  bool enable_gqa = false;   ///< of scaled_dot_product_attention: fewer key/value heads than query heads are allowed
  bool batch_first = false;  ///< of layers: tensors are [B, T, D] instead of [T, B, D]
  std::optional<Rotary> rotary;
  std::set<std::string, std::less<>> stages;
  std::set<std::string, std::less<>> memory_stages;  ///< of a decoder layer's attention over the memory

  bool Wants(std::string_view stage) const { return stages.contains(stage); }
};

/// The backends that every build has.
inline constexpr Choice kBackendNames[] = {{"simd", 0}, {"reference", 1}};

/// The options of every call of attention that CallOptions holds, and tensors that calls read by themselves.
std::span<const Field<CallOptions>> CallFields();
/// The option of scaled_dot_product_attention alone.
std::span<const Field<CallOptions>> FunctionFields();
/// The option of layers alone.
std::span<const Field<CallOptions>> LayerFields();

/// What a kind of call does where no option says otherwise.
struct CallDefaults {
  std::string_view conventions;  ///< mask_true, causal_alignment and the orders are those of this library
  bool need_weights, average_weights;
  std::span<const Field<CallOptions>> (*own_fields)();  ///< options that other kinds of call do not know
};
inline constexpr CallDefaults kFunctionDefaults{"torch-sdpa", false, false, FunctionFields};
inline constexpr CallDefaults kMultiheadDefaults{"torch-mha", true, true, LayerFields};
inline constexpr CallDefaults kTransformerDefaults{"torch-mha", false, true, LayerFields};

/// `with_memory`: stages may be of the attention over the memory, as "memory_scores".
CallOptions ReadCallOptions(OptionReader& reader, const CallDefaults& defaults, bool with_memory = false);

/// Everything about an attention but its q, k and v. `n.keys` counts past keys. `over_memory`: a decoder layer's
/// attention over its memory, which has masks of its own, and no positions.
AttentionSettings ReadSettings(OptionReader& reader, Arguments& args, const CallOptions& options, const Sizes& n,
                               Renames renames = {}, bool over_memory = false);

MultiheadConfig ReadMultihead(OptionReader& reader);
TransformerLayerConfig ReadTransformerLayer(OptionReader& reader, bool cross_attention);

}  // namespace headlens

#endif  // HEADLENS_SRC_BY_NAME_CALL_OPTIONS_H_
