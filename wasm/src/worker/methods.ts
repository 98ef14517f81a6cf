// SPDX-License-Identifier: Apache-2.0
/**
 * These tables name the methods that objects in a worker are called by, and remote.ts makes its classes from them. What the engine lists
 * comes from there; what only this package offers is named here. What the public interface lacks, or has besides, does not compile.
 */
import type {
  AsyncAttentionMaps, AsyncCachedAttention, AsyncDecoderLayerCache, AsyncDecoding, AsyncDifference, AsyncEmbedding,
  AsyncEngine,
  AsyncLayerCache, AsyncModel, AsyncModelAttention, AsyncMultiheadAttention, AsyncTransformerDecoderLayer,
  AsyncTransformerEncoderLayer, AttentionOptions,
} from "../types/index.js";
import { kAnalyses, kFunctions, kLayers, type LayerName } from "../types/vocabulary.js";

/** The public interface of each kind of object. One object stands for whichever layer or cache was made. */
interface Interfaces {
  engine: AsyncEngine;
  layer: AsyncMultiheadAttention & AsyncTransformerEncoderLayer & AsyncTransformerDecoderLayer & AsyncEmbedding;
  cache: AsyncCachedAttention & AsyncLayerCache<AttentionOptions, true> & AsyncDecoderLayerCache;
  model: AsyncModel;
  attention: AsyncModelAttention;
  attentionMaps: AsyncAttentionMaps;
  decoding: AsyncDecoding;
  difference: AsyncDifference;
}

export type Kind = keyof Interfaces;

/** Everything that has maps of heads has these. */
const kMapMethods = ["map", "rowSummaries", "overview"] as const;

/** These methods give values. */
export const kValueMethods = {
  engine: [...kFunctions, ...kAnalyses, "colorize", "colorbar", "heapBytes"],
  layer: ["loadStateDict", "forward"],
  cache: ["forward", "reset"],
  model: ["layerWeights", "embedding", "unembedding", "patch"],
  attention: [
    ...kMapMethods, "pixels", "allPixels", "logits", "predictions", "written", "contributions", "explain", "explainOutput",
    "sources", "hidden", "queries", "keys", "values",
  ],
  attentionMaps: kMapMethods,
  decoding: ["step", "map", "reset"],
  difference: ["map", "divergences", "predictionChanges"],
} as const satisfies { readonly [K in Kind]: readonly (keyof Interfaces[K])[] };

const kLayerMakers = Object.fromEntries(
  (kLayers satisfies readonly (keyof AsyncEngine)[]).map((name) => [name, "layer"]),
) as Readonly<Record<LayerName, "layer">>;

/** These methods make objects, of the kind that stands beside them. */
export const kMakers = {
  engine: { attentionMaps: "attentionMaps", cachedAttention: "cache", difference: "difference", ...kLayerMakers },
  layer: { startCache: "cache" },
  cache: {},
  model: { startDecoding: "decoding" },
  attention: {},
  attentionMaps: {},
  decoding: {},
  difference: {},
} as const satisfies { readonly [K in Kind]: { readonly [Name in keyof Interfaces[K]]?: Kind } };

/** An object of this kind, as far as the tables name its methods. */
export type Called<K extends Kind> =
  Pick<Interfaces[K], Extract<(typeof kValueMethods)[K][number] | keyof (typeof kMakers)[K], keyof Interfaces[K]>>;
