// SPDX-License-Identifier: Apache-2.0
/// Heads read out of their weights: PyTorch's names, packed (in_proj_weight) or not (q_proj_weight, …).
#include "headlens/circuits.h"

#include "base/checks.h"
#include "by_name/analyses/call.h"

namespace headlens {
namespace {

using nlohmann::json;

/// Options num_heads, num_kv_heads (as num_heads when absent).
LayerWeights ReadLayer(AnalysisCall& call, const std::string& prefix, const char* norm) {
  const auto named = [&](const char* name) { return prefix + name; };
  LayerWeights layer;
  layer.heads = call.NeedCount("num_heads", 1);
  layer.kv_heads = call.options.Count("num_kv_heads", layer.heads, 1);
  layer.o = call.Need<2>(named("out_proj.weight").c_str());
  layer.norm = call.Vector(norm);
  if (!call.Has(named("in_proj_weight"))) {
    layer.q = call.Need<2>(named("q_proj_weight").c_str());
    layer.k = call.Need<2>(named("k_proj_weight").c_str());
    layer.v = call.Need<2>(named("v_proj_weight").c_str());
    return layer;
  }
  const View<const float, 2> packed = call.Need<2>(named("in_proj_weight").c_str());
  const Index width = packed.shape[1];
  if (layer.kv_heads != layer.heads || packed.shape[0] != 3 * width) {
    throw Error(ErrorCode::kShape, named("in_proj_weight") + " has shape " + ToString(SizesOf(packed)) +
                                       ", expected the rows of q, k and v: " + ToString({3 * width, width}));
  }
  layer.q = Rows(packed, 0, width);
  layer.k = Rows(packed, width, width);
  layer.v = Rows(packed, 2 * width, width);
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

}  // namespace

/// norm [D], embedding [V, D], unembedding [V, D] (the embedding when absent)
/// → { heads: [{ qk, ov, full_qk, full_ov }] }, each { singular_values, eigenvalues: [[re, im]], copying_score }; the
/// full ones, over the vocabulary, with embeddings only and without singular values.
void AnswerCircuits(AnalysisCall& call) {
  const LayerWeights layer = ReadLayer(call, "", "norm");
  const View<const float, 2> embedding = call.Find<2>("embedding");
  const View<const float, 2> unembedding = call.Find<2>("unembedding");
  call.options.RejectUnknown();
  if (unembedding && !embedding) throw Error(ErrorCode::kShape, "unembedding needs embedding");
  Matrix tied, untied;  // EᵀE, EᵀU
  if (embedding) tied = VocabularyProduct(embedding, embedding);
  if (unembedding) untied = VocabularyProduct(embedding, unembedding);
  json heads = json::array();
  for (Index h = 0; h < layer.heads; ++h) {
    const HeadWeights head = HeadOf(layer, h);
    json circuits = {{"qk", Circuit(CircuitKind::kQk, head)}, {"ov", Circuit(CircuitKind::kOv, head)}};
    if (embedding) {
      circuits["full_qk"] = Spectrum(FullEigenvalues(CircuitKind::kQk, head, tied));
      circuits["full_ov"] = Spectrum(FullEigenvalues(CircuitKind::kOv, head, unembedding ? untied : tied));
    }
    heads.push_back(std::move(circuits));
  }
  call.values["heads"] = std::move(heads);
}

/// Two layers → { query, key, value }, each [later head][earlier head].
void AnswerComposition(AnalysisCall& call) {
  const LayerWeights earlier = ReadLayer(call, "earlier.", "earlier_norm"),
                     later = ReadLayer(call, "later.", "later_norm");
  call.options.RejectUnknown();
  for (const auto& [name, kind] : {std::pair("query", Composition::kQuery), std::pair("key", Composition::kKey),
                                   std::pair("value", Composition::kValue)}) {
    json rows = json::array();
    for (Index to = 0; to < later.heads; ++to) {
      json row = json::array();
      for (Index from = 0; from < earlier.heads; ++from)
        row.push_back(ToJson(CompositionScore(kind, HeadOf(earlier, from), HeadOf(later, to))));
      rows.push_back(std::move(row));
    }
    call.values[name] = std::move(rows);
  }
}

}  // namespace headlens
