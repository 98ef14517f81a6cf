// SPDX-License-Identifier: Apache-2.0
/// Analyses of circuits, from parameters under PyTorch's names, packed (in_proj_weight) or not (q_proj_weight, …).
#include "headlens/circuits.h"

#include "base/checks.h"
#include "by_name/analyses/call.h"

namespace headlens {
namespace {

using nlohmann::json;

struct Heads {
  Index heads = 0;
  std::optional<Index> kv_heads;
};
constexpr Field<Heads> kHeads[] = {
    field::Required(field::Count<&Heads::heads>("num_heads", 1, "H, the number of heads.")),
    field::Count<&Heads::kv_heads>("num_kv_heads", 1,
                                   "G, the number of key/value heads, which must divide `num_heads` (grouped-query "
                                   "attention). Default `num_heads`."),
};

/// The parameters of a layer that its circuits need.
struct Projections {
  View<const float, 2> packed, q, k, v, o;
};

using FiveNames = std::array<std::string_view, 5>;
constexpr FiveNames kNames = {"in_proj_weight", "q_proj_weight", "k_proj_weight", "v_proj_weight", "out_proj.weight"};
constexpr FiveNames kEarlier = {"earlier.in_proj_weight", "earlier.q_proj_weight", "earlier.k_proj_weight",
                                "earlier.v_proj_weight", "earlier.out_proj.weight"};
constexpr FiveNames kLater = {"later.in_proj_weight", "later.q_proj_weight", "later.k_proj_weight",
                              "later.v_proj_weight", "later.out_proj.weight"};

constexpr std::array<Field<Projections>, 5> ProjectionFields(const FiveNames& names) {
  using field::Finite, field::Required, field::TextFloats;
  return {Finite(TextFloats<&Projections::packed>(names[0], "3D,D", "The rows of q, k and v, or each by itself:")),
          Finite(TextFloats<&Projections::q>(names[1], "H·d,D", "The queries' projection.")),
          Finite(TextFloats<&Projections::k>(names[2], "G·d,D", "The keys'.")),
          Finite(TextFloats<&Projections::v>(names[3], "G·dv,D", "The values'.")),
          Required(Finite(TextFloats<&Projections::o>(names[4], "D,H·dv", "The output's.")))};
}

/// Throws kShape for a parameter that is missing or does not fit the others.
LayerWeights LayerOf(const Projections& given, const FiveNames& names, const Heads& heads,
                     std::span<const float> norm) {
  LayerWeights layer{given.q, given.k, given.v, given.o, heads.heads, heads.kv_heads.value_or(heads.heads), norm};
  if (!given.packed) {
    for (const auto& [view, name] :
         {std::pair(given.q, names[1]), std::pair(given.k, names[2]), std::pair(given.v, names[3])})
      if (!view) throw MissingError(ErrorCode::kShape, Fragment::OfLibrary(name));
    return layer;
  }
  const Index width = given.packed.shape[1];
  if (layer.kv_heads != layer.heads || given.packed.shape[0] != 3 * width) {
    throw ShapeError(Fragment::OfLibrary(names[0]), SizesOf(given.packed),
                     {"the rows of q, k and v: ", Shape{3 * width, width}});
  }
  layer.q = Rows(given.packed, 0, width);
  layer.k = Rows(given.packed, width, width);
  layer.v = Rows(given.packed, 2 * width, width);
  return layer;
}

json Spectrum(std::span<const std::complex<double>> eigenvalues) {
  json list = json::array();
  for (const std::complex<double>& value : eigenvalues) list.push_back({value.real(), value.imag()});
  return {{"eigenvalues", std::move(list)}, {"copying_score", ToJson(CopyingScore(eigenvalues))}};
}

json Circuit(CircuitKind kind, const HeadWeights& head) {
  json circuit = Spectrum(Eigenvalues(kind, head));
  circuit["singular_values"] = SingularValues(kind, head);
  return circuit;
}

struct CircuitsOptions {
  std::span<const float> norm;
  View<const float, 2> embedding, unembedding;
};
constexpr Field<CircuitsOptions> kCircuits[] = {
    field::Finite(field::TextFloats<&CircuitsOptions::norm>(
        "norm", "D", "The scale γ of the norm before the layer, which is folded in.")),
    field::Finite(field::TextFloats<&CircuitsOptions::embedding>(
        "embedding", "V,D", "The token embeddings, which the full circuits over the vocabulary need.")),
    field::Finite(field::TextFloats<&CircuitsOptions::unembedding>(
        "unembedding", "V,D",
        "The rows that give the logits, with the last norm's γ folded in, as `model.unembedding()` returns them. "
        "Default: the embedding.")),
};

struct CircuitsQuestion {
  Projections state;
  Heads heads;
  CircuitsOptions options;

  template <class Take>
  void Fields(const Take& take) {
    take(Part::kParameter, ProjectionFields(kNames), state);
    take(Part::kOption, kHeads, heads);
    take(Part::kOption, kCircuits, options);
  }

  void Answer(AnalysisCall& call) const {
    const LayerWeights layer = LayerOf(state, kNames, heads, options.norm);
    const auto &embedding = options.embedding, &unembedding = options.unembedding;
    if (unembedding && !embedding) throw NeedsError(ErrorCode::kShape, "`unembedding`", "`embedding`");
    Matrix tied, untied;  // EᵀE, EᵀU
    if (embedding) tied = VocabularyProduct(embedding, embedding);
    if (unembedding) untied = VocabularyProduct(embedding, unembedding);
    json all = json::array();
    for (Index h = 0; h < layer.heads; ++h) {
      const HeadWeights head = HeadOf(layer, h);
      json circuits = {{"qk", Circuit(CircuitKind::kQk, head)}, {"ov", Circuit(CircuitKind::kOv, head)}};
      if (embedding) {
        circuits["full_qk"] = Spectrum(FullEigenvalues(CircuitKind::kQk, head, tied));
        circuits["full_ov"] = Spectrum(FullEigenvalues(CircuitKind::kOv, head, unembedding ? untied : tied));
      }
      all.push_back(std::move(circuits));
    }
    call.values["heads"] = std::move(all);
  }
};

struct CompositionOptions {
  std::span<const float> earlier_norm, later_norm;
};
constexpr Field<CompositionOptions> kComposition[] = {
    field::Finite(field::TextFloats<&CompositionOptions::earlier_norm>(
        "earlier_norm", "D", "The scale γ of the norm before the earlier layer.")),
    field::Finite(field::TextFloats<&CompositionOptions::later_norm>(
        "later_norm", "D", "The scale γ of the norm before the later layer.")),
};

struct CompositionQuestion {
  Projections earlier, later;
  Heads heads;
  CompositionOptions options;

  template <class Take>
  void Fields(const Take& take) {
    take(Part::kParameter, ProjectionFields(kEarlier), earlier);
    take(Part::kParameter, ProjectionFields(kLater), later);
    take(Part::kOption, kHeads, heads);
    take(Part::kOption, kComposition, options);
  }

  /// { query, key, value }, each as [later head][earlier head].
  void Answer(AnalysisCall& call) const {
    const LayerWeights from_layer = LayerOf(earlier, kEarlier, heads, options.earlier_norm),
                       to_layer = LayerOf(later, kLater, heads, options.later_norm);
    for (const auto& [name, kind] : {std::pair("query", Composition::kQuery), std::pair("key", Composition::kKey),
                                     std::pair("value", Composition::kValue)}) {
      json rows = json::array();
      for (Index to = 0; to < to_layer.heads; ++to) {
        json row = json::array();
        for (Index from = 0; from < from_layer.heads; ++from)
          row.push_back(ToJson(CompositionScore(kind, HeadOf(from_layer, from), HeadOf(to_layer, to))));
        rows.push_back(std::move(row));
      }
      call.values[name] = std::move(rows);
    }
  }
};

}  // namespace

extern const AnalysisKind kCircuitsAnalysis = MakeAnalysis<CircuitsQuestion>(
    "circuits",
    "Spectra and copying scores of each head's circuits, out of a layer's parameters alone: { heads: [{ qk, ov, "
    "full_qk, full_ov }] }, the full ones, over the vocabulary, with embeddings only and without singular values.",
    "circuits_options");

extern const AnalysisKind kCompositionScoresAnalysis = MakeAnalysis<CompositionQuestion>(
    "composition_scores",
    "Scores of the strength with which heads of a later layer read the output of heads of an earlier one (Elhage et "
    "al. 2021): { query, key, value }, each [later head][earlier head].",
    "composition_options");

}  // namespace headlens
