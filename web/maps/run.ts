// SPDX-License-Identifier: Apache-2.0
/** A run of a model, as far as views need it. These are types and what is told from them, so that drawing alone needs no engine. */
import type { AsyncEngine, AsyncModel, AsyncModelAttention, DecodingOptions, ModelInfo, ModelInput } from "headlens";
import type { SilencedHead } from "./silenced.js";

/** The attentions of an encoder–decoder. Every other model has one, which counts as the decoder's. */
export const kAttentions = ["decoder", "encoder", "cross"] as const;
export type AttentionName = (typeof kAttentions)[number];

/** The numbers of layers, and of heads in each of them, of one of a model's attentions. */
export const sizeOf = (info: ModelInfo, attention: AttentionName): { layers: number; heads: number } =>
  attention === "encoder" && info.encoder ? info.encoder : info;

/** True where a reader changes something. */
export const isChanged = ({ ablate, zeroToken, forbid, causal, temperature, normalizer }: Changes): boolean =>
  ablate.length + zeroToken.length + forbid.length > 0 || causal || temperature !== 1 || normalizer !== "softmax";

/** The input of a model. */
export interface Reading {
  /** A built-in name or the URL of a Hugging Face folder. */
  readonly model: string;
  readonly text: string;
  /** A second text for models that compare two, or nothing. */
  readonly textPair: string;
  /** The text that an encoder–decoder's encoder reads. */
  readonly source: string;
  /** The address of a picture, for models that read pictures. */
  readonly image: string;
}

/** A reader's changes of how a model computes. */
export interface Changes {
  readonly ablate: readonly SilencedHead[];
  /** The tokens whose values are zeros. */
  readonly zeroToken: readonly number[];
  readonly forbid: readonly number[];
  /** Hides later tokens in a model that looks both ways. */
  readonly causal: boolean;
  readonly temperature: number;
  readonly normalizer: string;
}

/** A model's run on one input. All that it holds is released with the maps that it came with. */
export interface Run {
  readonly engine: AsyncEngine;
  readonly model: AsyncModel;
  readonly info: ModelInfo;
  readonly reading: Reading;
  /** The input that the model was given. */
  readonly input: ModelInput;
  readonly changes: Changes;
  /** The attention whose maps are shown. */
  readonly shown: AttentionName;
  /** For calls that take the option `attention`: which it is, in an encoder–decoder, and nothing for other models. */
  readonly of: { readonly attention?: AttentionName };
  /** The reader's changes that hold for a text read step by step, too: silenced heads, temperature and normaliser. */
  readonly steps: Pick<DecodingOptions, "headMask" | "crossHeadMask" | "encoderHeadMask" | "temperature" | "normalizer">;
  /** The run with the reader's changes: what is drawn. */
  readonly attention: AsyncModelAttention;
  /** The run without changes; the same object when there are none. */
  readonly unchanged: AsyncModelAttention;
  /** The run with changes, which has also kept its parts and values, as explanations need. It is computed once. */
  explained(): Promise<AsyncModelAttention>;
}
