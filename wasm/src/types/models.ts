// SPDX-License-Identifier: Apache-2.0
/** Models are loaded, run on texts or pictures, and looked into. */
import type { DecodingOptions } from "./options/caches.js";
import type { PixelsOptions } from "./options/colors.js";
import type { AttendOptions, LogitsOptions, MapOptions, RankOptions } from "./options/models.js";
import type { Image, ImageLike } from "./pictures.js";
import type { Maybe, Tensor, TensorLike } from "./tensors.js";
import type { MetricName, ModelMetricName } from "./vocabulary.js";
import type { File, URL } from "./web.js";

export interface ModelInfo {
  name: string;
  family: "bert" | "gpt2" | "llama" | "vit";
  /** Each token looks only at itself and at what came before. */
  causal: boolean;
  layers: number;
  heads: number;
  kvHeads: number;
  headDim: number;
  embedDim: number;
  /** The number of tokens is 0 for a model that reads pictures. */
  vocabSize: number;
  /** A text has at most so many tokens, or a picture patches and CLS together. */
  maxPositions: number;
  /** There are so many kinds of segments (token types), 0 when the model has none. */
  segments: number;
  /** A token looks at the last `window` ones only, and at all when it is 0. */
  window: number;
  /** The width of the logits is 0 when the model has none. */
  logits: number;
  /** Models that read pictures have the pixels of a side, the pixels of a patch's side, and channels. */
  image?: { size: number; patchSize: number; channels: number };
}

/**
 * A model comes from a built-in model's name, the URL of a Hugging Face folder, or its files: config.json, model.safetensors (or its shards,
 * with or without model.safetensors.index.json), and tokenizer.json (a model of pictures: preprocessor_config.json if there is one).
 */
export type ModelSource = "tiny" | (string & {}) | URL | readonly File[];

/** A model reads a text or its token ids; or a picture, which is resized and normalised, or a tensor [channels, size, size] that is. */
export type ModelInput = string | readonly number[] | ImageLike | TensorLike;

/** This is a metric of one head over all texts. */
export interface HeadScore {
  /** The mean is over the texts where it has a value, each counting alike. It is null without any. */
  mean: number | null;
  /** There are so many of those texts. */
  texts: number;
  /** All of them together have so many rows (or other terms). */
  nValid: number;
}

export interface RankedHead<M extends MetricName | ModelMetricName = MetricName | ModelMetricName> {
  layer: number;
  head: number;
  scores: Record<M, HeadScore>;
}

/** A layer's heads are made of these weights. */
export interface LayerWeights {
  /** q_proj_weight [H·d,D], k_proj_weight and v_proj_weight [G·d,D], out_proj.weight [D,H·d], as `engine.circuits` takes them. */
  state: Record<"q_proj_weight" | "k_proj_weight" | "v_proj_weight" | "out_proj.weight", Tensor>;
  /** This is γ [D] of the norm that the layer's attention reads through. It is absent where attention reads the stream itself (BERT). */
  norm?: Tensor;
}

export interface Model extends Disposable {
  readonly info: ModelInfo;
  /**
   * Runs the model. Maps are computed when asked for, never all held. A text is split by the patterns in tokenizer.json: see `loadModel`.
   * @example
   * const model = await engine.loadModel("tiny");
   * const seen = model.attend("The cat sat on the mat.");
   * seen.tokens // → ["<s>", "The", " cat", " sat", " on", " the", " mat", "."]
   */
  attend(input: ModelInput, options?: Maybe<AttendOptions>): ModelAttention;
  /**
   * Starts a text that grows token by token, with earlier keys and values kept. Only causal models can do that.
   * @example
   * const model = await engine.loadModel("tiny");
   * const decoding = model.startDecoding();
   * decoding.step("The cat").tokens // → ["<s>", "The", " cat"]
   */
  startDecoding(options?: Maybe<DecodingOptions>): Decoding;
  /**
   * Gives a layer's weights, as floats.
   * @example
   * const model = await engine.loadModel("tiny");
   * const { state, norm } = model.layerWeights(1);
   * const tables = { embedding: model.embedding(), unembedding: model.unembedding() };
   * const heads = engine.circuits(state, { numHeads: model.info.heads, norm, ...tables });
   * heads[4].fullOv.copyingScore > 0 // → true
   */
  layerWeights(layer: number): LayerWeights;
  /**
   * Gives the table of tokens [V,D], and undefined for a model of pictures.
   * @example
   * const model = await engine.loadModel("tiny");
   * model.embedding().shape // → [2048, 128]
   */
  embedding(): Tensor | undefined;
  /**
   * Gives U·diag(γ) [V,D], which makes the logits of the last stream, with the γ of the last norm folded in (only its centring and its division
   * by the stream's size are left out). With it `engine.circuits` has the copying scores of `rankHeads`. It is undefined where there are
   * no logits or more lies between (BERT).
   * @example
   * const model = await engine.loadModel("tiny");
   * model.unembedding().shape // → [2048, 128]
   */
  unembedding(): Tensor | undefined;
  /**
   * Scores every head over texts, or pictures, and ranks them; one map at a time is in memory. The page stays alive meanwhile.
   * @example
   * const model = await engine.loadModel("tiny");
   * const texts = ["The cat sat on the mat. The cat sat on the mat.", "One two three, one two three."];
   * const [best] = await model.rankHeads(texts, { metrics: ["inductionText", "ablationLoss"] });
   * best.layer // → 1
   * best.scores.inductionText.mean > 0.3 // → true
   */
  rankHeads<M extends MetricName | ModelMetricName>(
    inputs: readonly ModelInput[], options?: Maybe<RankOptions<M>>,
  ): Promise<RankedHead<M>[]>;
  dispose(): void;
}

/** One step of decoding read this. */
export interface DecodingStep {
  ids: number[];
  tokens: string[];
  /** There are so many tokens so far, these included. */
  length: number;
  /** This is the first token that is still kept: columns of the step's maps are the tokens [firstKey, length). */
  firstKey: number;
  /** These are the scores [vocabSize] of the token that comes next. */
  logits: Tensor;
}

export interface Decoding extends Disposable {
  /**
   * Reads what comes next, one token or many at once. A text is tokenized by itself, and special tokens only go before the first.
   * @example
   * const model = await engine.loadModel("tiny");
   * const decoding = model.startDecoding();
   * decoding.step("The cat");
   * const { length, logits } = decoding.step(" sat");
   * length // → 4
   * logits.shape // → [2048]
   */
  step(input: string | readonly number[]): DecodingStep;
  /**
   * Gives one head's weights in the last step: [its tokens, tokens kept].
   * @example
   * const model = await engine.loadModel("tiny");
   * const decoding = model.startDecoding();
   * decoding.step("The cat");
   * decoding.step(" sat");
   * decoding.map(1, 3).shape // → [1, 4]
   */
  map(layer: number, head: number): Tensor;
  /**
   * Forgets all tokens.
   * @example
   * const model = await engine.loadModel("tiny");
   * const decoding = model.startDecoding();
   * decoding.step("The cat");
   * decoding.reset();
   * decoding.step("The").length // → 2
   */
  reset(): void;
  dispose(): void;
}

export interface ModelAttention extends Disposable {
  /**
   * Each position shows its piece of the text, or a special token's name. The pieces join to the text, but for a character that
   * is split over several tokens: each of those shows its bytes as ⟨E2⟩. Those of a picture are "[CLS]", then "row,column" of each patch.
   */
  readonly tokens: readonly string[];
  /** The ids are empty for a picture. */
  readonly ids: readonly number[];
  /** A picture has so many rows and columns of patches. */
  readonly patches?: readonly [number, number];
  /** The whole text has so many tokens, more than `tokens` holds when it was truncated. */
  readonly tokenCount: number;
  /**
   * Gives one head's weights [rows, T].
   * @example
   * const model = await engine.loadModel("tiny");
   * const seen = model.attend("The cat sat on the mat.");
   * seen.map(1, 3).shape // → [8, 8]
   * seen.map(1, 3, { rows: [7, 8] }).shape // → [1, 8]
   */
  map(layer: number, head: number, options?: Maybe<MapOptions>): Tensor;
  /**
   * Gives one head's whole map, one pixel a cell, masked cells transparent.
   * @example
   * const model = await engine.loadModel("tiny");
   * const { width, height, data } = model.attend("The cat sat on the mat.").pixels(1, 3);
   * [width, height, data.length] // → [8, 8, 256]
   */
  pixels(layer: number, head: number, options?: Maybe<PixelsOptions>): Image;
  /**
   * Gives the same of all heads, [layer][head]. A page that draws them all makes one call, which matters when it goes to a worker.
   * @example
   * const model = await engine.loadModel("tiny");
   * const images = model.attend("The cat sat on the mat.").allPixels();
   * [images.length, images[1].length, images[1][3].width] // → [4, 8, 8]
   */
  allPixels(options?: Maybe<PixelsOptions>): Image[][];
  /**
   * Computes logits [T, vocabSize], or the one row [1, labels] of a classifier. It is an error where the model has none.
   * @example
   * const model = await engine.loadModel("tiny");
   * const seen = model.attend("The cat sat on the mat.");
   * seen.logits({ rows: [7, 8] }).shape // → [1, 2048]
   */
  logits(options?: Maybe<LogitsOptions>): Tensor;
  /**
   * Gives the residual stream [T,D] before a layer, when `keepHidden: true` was asked for. With the number of layers it is after the last.
   * @example
   * const model = await engine.loadModel("tiny");
   * const seen = model.attend("The cat sat on the mat.", { keepHidden: true });
   * seen.hidden(0).shape // → [8, 128]
   * seen.hidden(model.info.layers).shape // → [8, 128]
   */
  hidden(layer: number): Tensor;
  /**
   * Gives a layer's queries [H,T,d], rotated where the model rotates.
   * @example
   * const model = await engine.loadModel("tiny");
   * model.attend("The cat sat on the mat.").queries(0).shape // → [8, 8, 16]
   */
  queries(layer: number): Tensor;
  /**
   * Gives a layer's keys [G,T,d], rotated where the model rotates.
   * @example
   * const model = await engine.loadModel("tiny");
   * model.attend("The cat sat on the mat.").keys(0).shape // → [8, 8, 16]
   */
  keys(layer: number): Tensor;
  /**
   * Gives a layer's values [G,T,d], when `keepValues: true` was asked for.
   * @example
   * const model = await engine.loadModel("tiny");
   * model.attend("The cat sat on the mat.", { keepValues: true }).values(0).shape // → [8, 8, 16]
   */
  values(layer: number): Tensor;
  dispose(): void;
}
