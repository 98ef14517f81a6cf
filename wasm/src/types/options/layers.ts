// SPDX-License-Identifier: Apache-2.0
/** The options that layers are made with, and those of their calls. */
import type { DecoderLayerResult, Places } from "../results.js";
import type { AttentionMask, BooleanMask, Maybe } from "../tensors.js";
import type { MemoryStage, Stage } from "../vocabulary.js";
import type { AttentionOptions } from "./attention.js";

export interface MultiheadAttentionOptions {
  /** D, a multiple of numHeads. */
  embedDim: number;
  /** H. */
  numHeads: number;
  /** G, which must divide numHeads (grouped-query attention). Default numHeads. */
  numKvHeads?: Maybe<number>;
  /** Width of the keys. Default embedDim. */
  kdim?: Maybe<number>;
  /** Width of the values. Default embedDim. */
  vdim?: Maybe<number>;
  /** Of all projections. Default true. */
  bias?: Maybe<boolean>;
  /** One learned key and value more, at the end. */
  addBiasKv?: Maybe<boolean>;
  /** One key and value of zeros more, at the end. */
  addZeroAttn?: Maybe<boolean>;
  /** Default false: [T,B,D], as PyTorch. */
  batchFirst?: Maybe<boolean>;
  /** Of the attention weights. Default 0. */
  dropoutP?: Maybe<number>;
}

/** As nn.TransformerEncoderLayer and nn.TransformerDecoderLayer; dropout is on the attention weights only. */
export interface TransformerLayerOptions
  extends Pick<MultiheadAttentionOptions, "embedDim" | "numHeads" | "numKvHeads" | "bias" | "batchFirst" | "dropoutP"> {
  /** F. Default 2048. */
  dimFeedforward?: Maybe<number>;
  /** Default "relu"; "gelu_tanh" is GELU's approximation; "swiglu" has linear1.weight [2F,D], the gate's rows first. */
  activation?: Maybe<"relu" | "gelu" | "gelu_tanh" | "swiglu">;
  /** Default "layer_norm"; norms of "rms_norm" have no bias. */
  norm?: Maybe<"layer_norm" | "rms_norm">;
  /** Of the norm, whichever it is. Default 1e-5. */
  layerNormEps?: Maybe<number>;
  /** Normalise before each block instead of after its residual. Default false. */
  normFirst?: Maybe<boolean>;
}

/** Weights only when `needWeights`. */
export interface EncoderLayerOptions extends Omit<AttentionOptions, "attnMask" | "keyPaddingMask"> {
  /** As attnMask. */
  srcMask?: Maybe<AttentionMask>;
  /** [B,S] booleans, true = ignore that key. */
  srcKeyPaddingMask?: Maybe<BooleanMask>;
}

/**
 * How scores become weights (`normalizer` with its options, `scale`, `softcap`, `fullyMasked`, `maskedNan`, `conventions`, …) and
 * `causalAlignment` hold for both attentions. Windows, `dilation`, `validLens`, `prefixLens`, `globalTokens`, documents, positions
 * (`alibi`, `relativeBias`, `t5Bias`, `rotary`), `headMask` and past keys concern self-attention alone: the memory has its own masks.
 * Weights only when `needWeights`.
 */
export interface DecoderLayerOptions
  extends Omit<AttentionOptions, "attnMask" | "keyPaddingMask" | "isCausal" | "stages" | "out"> {
  /** Of self-attention, and of the attention over the memory. */
  stages?: Maybe<readonly (Stage | MemoryStage)[]>;
  /** As for every call; memory stages, too. */
  out?: Maybe<Places<DecoderLayerResult>>;
  /** As attnMask. */
  tgtMask?: Maybe<AttentionMask>;
  /** [B,T] booleans, true = ignore that key. */
  tgtKeyPaddingMask?: Maybe<BooleanMask>;
  /** As isCausal. */
  tgtIsCausal?: Maybe<boolean>;
  /** As attnMask, over the memory's S. */
  memoryMask?: Maybe<AttentionMask>;
  /** [B,S] booleans, true = ignore that key. */
  memoryKeyPaddingMask?: Maybe<BooleanMask>;
  /** As isCausal. */
  memoryIsCausal?: Maybe<boolean>;
}

export interface EmbeddingOptions {
  /** What is added to the rows: nothing (default), sines and cosines (Vaswani et al. 2017), or the parameter `position_embeddings`. */
  positions?: Maybe<"none" | "sinusoidal" | "learned">;
  /** Multiply the rows by √D before positions are added. Default false. */
  scaleEmbeddings?: Maybe<boolean>;
}

export interface EmbeddingCallOptions {
  /** Position of the first token. Default 0. */
  positionOffset?: Maybe<number>;
  /** "simd" (default) or "reference": the same numbers, as rows are only looked up. */
  backend?: Maybe<"simd" | "reference">;
}
