// SPDX-License-Identifier: Apache-2.0
/** These are the options that layers are made with, and those of their calls. */
import type { DecoderLayerResult, Places } from "../results.js";
import type { AttentionMask, BooleanMask, Maybe } from "../tensors.js";
import type { MemoryStage, Stage } from "../vocabulary.js";
import type { AttentionOptions } from "./attention.js";

export interface MultiheadAttentionOptions {
  /** This is D, a multiple of numHeads. */
  embedDim: number;
  /** This is H. */
  numHeads: number;
  /** This is G, which must divide numHeads (grouped-query attention). The default is numHeads. */
  numKvHeads?: Maybe<number>;
  /** Keys have this width. The default is embedDim. */
  kdim?: Maybe<number>;
  /** Values have this width. The default is embedDim. */
  vdim?: Maybe<number>;
  /** All projections have a bias. The default is true. */
  bias?: Maybe<boolean>;
  /** There is one learned key and value more, at the end. */
  addBiasKv?: Maybe<boolean>;
  /** There is one key and value of zeros more, at the end. */
  addZeroAttn?: Maybe<boolean>;
  /** Tensors are [B,T,D]. The default is false: [T,B,D], as PyTorch. */
  batchFirst?: Maybe<boolean>;
  /** Each attention weight is dropped with this probability. The default is 0. */
  dropoutP?: Maybe<number>;
}

/** The layers are as nn.TransformerEncoderLayer and nn.TransformerDecoderLayer, but dropout is on the attention weights only. */
export interface TransformerLayerOptions
  extends Pick<MultiheadAttentionOptions, "embedDim" | "numHeads" | "numKvHeads" | "bias" | "batchFirst" | "dropoutP"> {
  /** This is F, the width of the feed-forward block. The default is 2048. */
  dimFeedforward?: Maybe<number>;
  /** The default is "relu". "gelu_tanh" is GELU's approximation. "swiglu" has linear1.weight [2F,D], the gate's rows first. */
  activation?: Maybe<"relu" | "gelu" | "gelu_tanh" | "swiglu">;
  /** The default is "layer_norm". Norms of "rms_norm" have no bias. */
  norm?: Maybe<"layer_norm" | "rms_norm">;
  /** This is added under the root of the norm, whichever it is. The default is 1e-5. */
  layerNormEps?: Maybe<number>;
  /** The layer normalises before each block instead of after its residual. The default is false. */
  normFirst?: Maybe<boolean>;
}

/** There are weights only with `needWeights`. */
export interface EncoderLayerOptions extends Omit<AttentionOptions, "attnMask" | "keyPaddingMask"> {
  /** It is as attnMask. */
  srcMask?: Maybe<AttentionMask>;
  /** [B,S] booleans are true for keys to be ignored. */
  srcKeyPaddingMask?: Maybe<BooleanMask>;
}

/**
 * How scores become weights (`normalizer` with its options, `scale`, `softcap`, `fullyMasked`, `maskedNan`, `conventions`, …) and
 * `causalAlignment` hold for both attentions. Windows, `dilation`, `validLens`, `prefixLens`, `globalTokens`, documents, positions
 * (`alibi`, `relativeBias`, `t5Bias`, `rotary`), `headMask` and past keys concern self-attention alone: the memory has its own masks.
 * There are weights only with `needWeights`.
 */
export interface DecoderLayerOptions
  extends Omit<AttentionOptions, "attnMask" | "keyPaddingMask" | "isCausal" | "stages" | "out"> {
  /** Stages are those of self-attention, and of the attention over the memory. */
  stages?: Maybe<readonly (Stage | MemoryStage)[]>;
  /** It is as for every call, and memory stages have places, too. */
  out?: Maybe<Places<DecoderLayerResult>>;
  /** It is as attnMask. */
  tgtMask?: Maybe<AttentionMask>;
  /** [B,T] booleans are true for keys to be ignored. */
  tgtKeyPaddingMask?: Maybe<BooleanMask>;
  /** It is as isCausal. */
  tgtIsCausal?: Maybe<boolean>;
  /** It is as attnMask, over the memory's S. */
  memoryMask?: Maybe<AttentionMask>;
  /** [B,S] booleans are true for keys to be ignored. */
  memoryKeyPaddingMask?: Maybe<BooleanMask>;
  /** It is as isCausal. */
  memoryIsCausal?: Maybe<boolean>;
}

export interface EmbeddingOptions {
  /** Nothing (default) is added to the rows, or sines and cosines (Vaswani et al. 2017), or the parameter `position_embeddings`. */
  positions?: Maybe<"none" | "sinusoidal" | "learned">;
  /** The rows are multiplied by √D before positions are added. The default is false. */
  scaleEmbeddings?: Maybe<boolean>;
}

export interface EmbeddingCallOptions {
  /** The first token has this position. The default is 0. */
  positionOffset?: Maybe<number>;
  /** The backend is "simd" (default) or "reference". Both give the same numbers, as rows are only looked up. */
  backend?: Maybe<"simd" | "reference">;
}
