// SPDX-License-Identifier: Apache-2.0
/** Models, which are run on texts or pictures and whose attention can be looked at. */
import type { DecodingOptions } from "./options/caches.js";
import type { PixelsOptions } from "./options/colors.js";
import type {
  ContributionsOptions, ExplainOptions, ExplainOutputOptions, PathsOptions, PredictionsOptions, SourcesOptions,
  WrittenOptions,
} from "./options/explanations.js";
import type {
  CellExplanation, HeadPatch, HeadPath, HeadSources, LogitContributions, OutputExplanation, PatchSource, Prediction,
  RowExplanation, WrittenTokens,
} from "./explanations.js";
import type { Overview, RowSummaries } from "./maps.js";
import type {
  AttendOptions, LogitsOptions, MapOptions, OverviewOptions, RankOptions, RowSummariesOptions, StepMapOptions,
  VectorsOptions,
} from "./options/models.js";
import type { Image, ImageLike } from "./pictures.js";
import type { Maybe, Tensor, TensorLike } from "./tensors.js";
import type { MetricName, ModelFamily, ModelMetricName } from "./vocabulary.js";
import type { AbortSignal, File, URL } from "./web.js";

export interface ModelInfo {
  name: string;
  /** The address of its folder, which ends in a slash. Absent for built-in models and for files. */
  url?: string;
  family: ModelFamily;
  /** True when each token looks only at itself and at earlier tokens. */
  causal: boolean;
  layers: number;
  heads: number;
  kvHeads: number;
  headDim: number;
  embedDim: number;
  /**
   * For encoder–decoders (T5, Marian), whose other sizes are their decoder's: the sizes of the encoder, the number that multiplies q·k in it, and the id
   * that every target begins with.
   */
  encoder?: { layers: number; heads: number; headDim: number; scale: number; startToken: number };
  /** The number of tokens in the vocabulary; 0 for a model that reads pictures. */
  vocabSize: number;
  /** The most tokens that a text may have, or the patches of a picture and the tokens before them together. */
  maxPositions: number;
  /** The number of kinds of segments (token types); 0 when the model has none. */
  segments: number;
  /** For each layer, the number of latest tokens that a token looks at, itself included; 0: no limit. Empty when no layer has one. */
  windows: readonly number[];
  /**
   * For each layer, the number that multiplies q·k: 1/√headDim, unless the folder says something else. In an encoder–decoder that of the decoder's
   * heads and of those that look at the source.
   */
  scales: readonly number[];
  /** The width of the logits; 0 when the model has none. */
  logits: number;
  /** The names of a classifier's logits, as `id2label` in config.json has them. Absent when it has none. */
  labels?: readonly string[];
  /**
   * For models that read pictures: the width of the pictures of its training and of a patch in pixels, the number of channels, and the names of the
   * tokens before the patches: "[CLS]", then "[DIST]" for DeiT's distillation token, "[REG0]" and so on for registers.
   */
  image?: { size: number; patchSize: number; channels: number; prefix: readonly string[] };
}

/** The models in the package: one that continues a text, one that reads both ways, one that reads pictures, and one from English into French. */
export type BuiltInModel = "tiny" | "tiny-bert" | "tiny-vit" | "tiny-translator";

/**
 * The source of a model: the name of a built-in model, the URL of a Hugging Face folder or of a model's page on huggingface.co, or
 * its files. The files are config.json, model.safetensors (or its shards, with or without model.safetensors.index.json) and tokenizer.json, or for a
 * model of pictures preprocessor_config.json if there is one.
 */
export type ModelSource = BuiltInModel | (string & {}) | URL | readonly File[];

/**
 * The input of a model: a text or its token ids, a picture, which is resized and normalised, or a tensor [channels, size, size], which is used as it
 * is. DINOv2 also takes smaller tensors [channels, height, width]. An encoder–decoder reads a source and a target.
 */
export type ModelInput = string | readonly number[] | ImageLike | TensorLike | SourceAndTarget;

/**
 * An encoder–decoder reads two inputs: a text or token ids for its encoder, and a text or ids for its decoder. A target that is a text begins with
 * `info.encoder.startToken` and gets no other special token, so that each row predicts the next token; ids are used as they are.
 */
export interface SourceAndTarget {
  source: string | readonly number[];
  target: string | readonly number[];
}

/** One metric of one head over all texts. */
export interface HeadScore {
  /** The mean over the texts where the metric has a value, each with the same weight; null when there are none. */
  mean: number | null;
  /** The number of those texts. */
  texts: number;
  /** The number of rows (or other terms) in all of them together. */
  nValid: number;
}

export interface RankedHead<M extends MetricName | ModelMetricName = MetricName | ModelMetricName> {
  layer: number;
  head: number;
  scores: Record<M, HeadScore>;
}

/** The weights of a layer's attention. */
export interface LayerWeights {
  /** q_proj_weight [H·d,D], k_proj_weight and v_proj_weight [G·d,D], out_proj.weight [D,H·d], as `engine.circuits` takes them. */
  state: Record<"q_proj_weight" | "k_proj_weight" | "v_proj_weight" | "out_proj.weight", Tensor>;
  /** The scale γ [D] of the norm before the layer's attention. It is absent when there is no such norm (BERT). */
  norm?: Tensor;
}

type Followed =
  | { signal: AbortSignal; onProgress?: Maybe<(done: number) => void> }
  | { signal?: Maybe<AbortSignal>; onProgress: (done: number) => void };

/** The options of a run that can be stopped or that says how far it is. */
export type FollowedAttendOptions = AttendOptions & Followed;

/** The options of another run of the same input. */
export type AgainOptions = Omit<AttendOptions, "segments" | "paddingMask" | "sourcePaddingMask" | "truncate" | "textPair">;
export type FollowedAgainOptions = AgainOptions & Followed;

export interface Model extends Disposable {
  readonly info: ModelInfo;
  /**
   * Runs the model in turns, between which others have theirs, so that the page stays responsive and the run can be stopped. What it gives is the
   * same, bit for bit. When `signal` says so, it rejects with "aborted" within a fraction of a second, and all that it computed is released; what
   * `onProgress` throws ends it in the same way. From a worker progress comes every few milliseconds, and that of a short run only once.
   * @example
   * const model = await engine.loadModel("tiny");
   * const shares = [];
   * const seen = await model.attend("The cat sat on the mat.", { onProgress: (done) => shares.push(done) });
   * [seen.map(1, 3).shape, shares.at(-1)] // → [[8, 8], 1]
   * const stopped = model.attend("The cat sat on the mat.", { signal: AbortSignal.abort() });
   * await stopped.catch(({ code }) => code) // → "aborted"
   */
  attend(input: ModelInput, options: FollowedAttendOptions): Promise<ModelAttention>;
  /**
   * Runs the model. Maps are computed when they are asked for, so they are never all in memory. A text becomes tokens as tokenizer.json
   * says; see `loadModel`.
   * @example
   * const model = await engine.loadModel("tiny");
   * const seen = model.attend("The cat sat on the mat.");
   * seen.tokens // → ["<s>", "The", " cat", " sat", " on", " the", " mat", "."]
   */
  attend(input: ModelInput, options?: Maybe<AttendOptions>): ModelAttention;
  /**
   * Returns what a head gives at some tokens of a run, for the option `patches` of another: activation patching (Vig et al. 2020) shows what depends on
   * it. An average over many texts in its `output` is as good (mean ablation).
   * @example
   * const model = await engine.loadModel("tiny");
   * const from = model.attend("The dog sat on the mat.", { keepParts: true });
   * const patch = model.patch({ from, layer: 0, head: 1, positions: [2] });
   * patch.output.shape // → [1, 16]
   * const patched = model.attend("The cat sat on the mat.", { patches: [patch] });
   * patched.predictions({ top: 3 }).length // → 3
   */
  patch(source: PatchSource<ModelAttention>): HeadPatch;
  /**
   * Starts a text that is read step by step, with the keys and values of earlier tokens kept. Needs a causal model with logits. Factors of heads and
   * another normaliser hold for all steps, and give the numbers of `attend` with the same options.
   * @example
   * const model = await engine.loadModel("tiny");
   * const decoding = model.startDecoding();
   * decoding.step("The cat").tokens // → ["<s>", "The", " cat"]
   */
  startDecoding(options?: Maybe<DecodingOptions>): Decoding;
  /**
   * Returns the weights of a layer's attention as floats.
   * @example
   * const model = await engine.loadModel("tiny");
   * const { state, norm } = model.layerWeights(1);
   * const tables = { embedding: model.embedding(), unembedding: model.unembedding() };
   * const heads = engine.circuits(state, { numHeads: model.info.heads, norm, ...tables });
   * heads[4].fullOv.copyingScore > 0 // → true
   */
  layerWeights(layer: number): LayerWeights;
  /**
   * Returns the table of token embeddings [V,D], or undefined for a model of pictures.
   * @example
   * const model = await engine.loadModel("tiny");
   * model.embedding().shape // → [2048, 128]
   */
  embedding(): Tensor | undefined;
  /**
   * Returns U·diag(γ) [V,D], the matrix that makes the logits, with the scale γ of the last norm folded in; the norm's centring and division are left
   * out. With it `engine.circuits` gives the copying scores of `rankHeads`. Undefined when the model has no logits, or has another layer before them
   * (BERT).
   * @example
   * const model = await engine.loadModel("tiny");
   * model.unembedding().shape // → [2048, 128]
   */
  unembedding(): Tensor | undefined;
  /**
   * Scores every head over texts or pictures, and ranks the heads. Only one map is in memory at a time, and the page stays responsive.
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

/** The result of one step of decoding. */
export interface DecodingStep {
  ids: number[];
  tokens: string[];
  /** The number of tokens so far, with those of this step. */
  length: number;
  /** The first token that is still kept. The columns of the step's maps are the tokens [firstKey, length). */
  firstKey: number;
  /** The logits [vocabSize] of the next token. */
  logits: Tensor;
}

export interface Decoding extends Disposable {
  /**
   * Reads the next tokens, one or several. A text is tokenized on its own, and special tokens are added before the first text only.
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
   * Returns the attention weights of one head in the last step: [tokens of the step, kept tokens]. With `attention: "cross"` the columns are the tokens
   * of the source.
   * @example
   * const model = await engine.loadModel("tiny");
   * const decoding = model.startDecoding();
   * decoding.step("The cat");
   * decoding.step(" sat");
   * decoding.map(1, 3).shape // → [1, 4]
   */
  map(layer: number, head: number, options?: Maybe<StepMapOptions>): Tensor;
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
   * The piece of the text at each position, or the name of a special token. The pieces together give the text, except that a character which is split
   * over several tokens shows its bytes in each of them, as ⟨E2⟩. For a picture they are those of `info.image.prefix`, such as
   * "[CLS]", and then "row,column" of each patch.
   */
  readonly tokens: readonly string[];
  /** The token ids; empty for a picture. */
  readonly ids: readonly number[];
  /** The tokens and ids of the source, which an encoder–decoder's encoder read. The others are then those of its target. */
  readonly sourceTokens?: readonly string[];
  readonly sourceIds?: readonly number[];
  /** The rows and columns of patches of a picture. */
  readonly patches?: readonly [number, number];
  /** The number of tokens of the whole text, which exceeds that of `tokens` when the text was truncated. */
  readonly tokenCount: number;
  /**
   * Returns the attention weights of one head, [rows, columns]: all of them, a part, or a smaller picture of either. Only what is returned is ever
   * in memory. An encoder–decoder has three attentions, of which `attention` chooses one. With `pooling: "max"`, a picture of whole rows also keeps what
   * it learned of each row, so that later parts of these rows take only the work of their own cells.
   * @example
   * const model = await engine.loadModel("tiny");
   * const seen = model.attend("The cat sat on the mat.");
   * seen.map(1, 3).shape // → [8, 8]
   * seen.map(1, 3, { rows: [7, 8] }).shape // → [1, 8]
   * seen.map(1, 3, { rows: [4, 8], cols: [2, 6], pool: [2, 2], pooling: "max" }).shape // → [2, 2]
   */
  map(layer: number, head: number, options?: Maybe<MapOptions>): Tensor;
  /**
   * Returns what whole rows of one head's map come to. Rows are summarised once, and later parts of them take only the work of their own cells.
   * @example
   * const model = await engine.loadModel("tiny");
   * const { lse, largest, keys } = model.attend("The cat sat on the mat.").rowSummaries(1, 3, { rows: [0, 3] });
   * keys.data // → [1, 2, 3]
   * largest.data[0] // → 1
   * lse.shape // → [3]
   */
  rowSummaries(layer: number, head: number, options?: Maybe<RowSummariesOptions>): RowSummaries;
  /**
   * Returns pictures of several heads of one layer at once, with what a scale of colours needs to know of their rows.
   * @example
   * const model = await engine.loadModel("tiny");
   * const { maps, largest, keys } = model.attend("The cat sat on the mat.").overview(1, { pool: [4, 4] });
   * [maps.shape, largest.shape, keys.shape] // → [[8, 4, 4], [8, 8], [8, 8]]
   */
  overview(layer: number, options?: Maybe<OverviewOptions>): Overview;
  /**
   * Returns the whole map of one head as a picture with one pixel per cell. Masked cells are transparent.
   * @example
   * const model = await engine.loadModel("tiny");
   * const { width, height, data } = model.attend("The cat sat on the mat.").pixels(1, 3);
   * [width, height, data.length] // → [8, 8, 256]
   */
  pixels(layer: number, head: number, options?: Maybe<PixelsOptions>): Image;
  /**
   * Returns the pictures of all heads, as [layer][head]. One call is faster than many when the engine runs in a worker.
   * @example
   * const model = await engine.loadModel("tiny");
   * const images = model.attend("The cat sat on the mat.").allPixels();
   * [images.length, images[1].length, images[1][3].width] // → [4, 8, 8]
   */
  allPixels(options?: Maybe<PixelsOptions>): Image[][];
  /**
   * Runs the same input again with other options. Layers before the first one that they change are not computed again, if this run kept the streams
   * (`keepHidden` or `keepParts`) and what the other is to keep. Both runs can be disposed of in any order.
   * @example
   * const model = await engine.loadModel("tiny");
   * const seen = model.attend("The cat sat on the mat.", { keepHidden: true });
   * const headMask = { data: new Float32Array(4 * 8).fill(1), shape: [4, 8] };
   * headMask.data[3 * 8 + 2] = 0; // layer 3, head 2
   * const silenced = seen.again({ headMask });
   * silenced.map(1, 3).data[9] === seen.map(1, 3).data[9] // → true
   */
  again(options: FollowedAgainOptions): Promise<ModelAttention>;
  again(options?: Maybe<AgainOptions>): ModelAttention;
  /**
   * Runs the model on another input, as `model.attend` does. A causal model does not compute tokens again with which both inputs begin, if this run
   * kept its values (`keepValues`) and what the other is to keep, which may not be parts, and if both change the same heads' factors and normaliser
   * and nothing else. The numbers are those of `model.attend` up to rounding. Both runs can be disposed of in any order.
   * @example
   * const model = await engine.loadModel("tiny");
   * const seen = model.attend("The cat sat on", { keepValues: true });
   * const longer = seen.attend("The cat sat on the mat."); // computes three tokens
   * longer.tokenCount // → 8
   */
  attend(input: ModelInput, options: FollowedAttendOptions): Promise<ModelAttention>;
  attend(input: ModelInput, options?: Maybe<AttendOptions>): ModelAttention;
  /**
   * Computes the logits [T, vocabSize], or the single row [1, labels] of a classifier. Throws when the model has none. With `layer` it is the logit lens
   * (nostalgebraist 2020), with `head` the logits that a head adds directly.
   * @example
   * const model = await engine.loadModel("tiny");
   * const seen = model.attend("The cat sat on the mat.", { keepParts: true });
   * seen.logits({ rows: [7, 8] }).shape // → [1, 2048]
   * seen.logits({ rows: [7, 8], layer: 1 }).shape // → [1, 2048]
   * seen.logits({ rows: [7, 8], layer: 1, head: 3 }).shape // → [1, 2048]
   */
  logits(options?: Maybe<LogitsOptions>): Tensor;
  /**
   * Lists the tokens that the model expects after a position, the likeliest first.
   * @example
   * const model = await engine.loadModel("tiny");
   * const seen = model.attend("The cat sat on the", { keepHidden: true });
   * const [best] = seen.predictions();
   * best.probability > 0 // → true
   * seen.predictions({ layer: 1, top: 3 }).length // → 3
   */
  predictions(options?: Maybe<PredictionsOptions>): Prediction[];
  /**
   * Lists the tokens that a head makes likelier and less likely by what it adds directly to the logits. The final norm's division is frozen at its
   * value in this run, and what later layers make of the head's output is left out. Needs `keepParts: true`.
   * @example
   * const model = await engine.loadModel("tiny");
   * const seen = model.attend("The cat sat on the", { keepParts: true });
   * const { likelier, lessLikely } = seen.written({ layer: 3, head: 2, top: 5 });
   * [likelier.length, lessLikely.length] // → [5, 5]
   * likelier[0].logit > 0 && lessLikely[0].logit < 0 // → true
   */
  written(options: WrittenOptions): WrittenTokens;
  /**
   * Explains logits at one position: what every part of the model adds to them (direct logit attribution), with the final norm's division frozen.
   * Needs `keepParts: true`. Throws when the logits are no sum over parts, as in BERT, which has another layer before them.
   * @example
   * const model = await engine.loadModel("tiny");
   * const seen = model.attend("The cat sat on the", { keepParts: true });
   * const { tokens, parts, terms } = seen.contributions();
   * const sum = parts.reduce((sum, _, i) => sum + terms.data[i * tokens.length], 0);
   * Math.abs(sum - tokens[0].logit) < 1e-4 // → true
   */
  contributions(options?: Maybe<ContributionsOptions>): LogitContributions;
  /**
   * Explains why a head looks where it looks: the score of a cell as an exact sum over pairs of parts, one of the query's stream and one of the key's;
   * or, without `key`, all scores of a row over either. In the cross-attention of an encoder–decoder, keys have parts of the encoder's last stream.
   * Needs `keepParts: true`.
   * @example
   * const model = await engine.loadModel("tiny");
   * const seen = model.attend("One two three. One two three.", { keepParts: true });
   * const { score, terms, queryParts, keyParts } = seen.explain({ layer: 1, head: 4, query: 6, key: 2 });
   * terms.shape // → [10, 10]
   * queryParts.length === keyParts.length // → true
   * Math.abs(terms.data.reduce((sum, term) => sum + term, 0) - score) < 1e-4 // → true
   * seen.explain({ layer: 1, head: 4, query: 6 }).byKey.shape // → [10, 9]
   */
  explain(options: ExplainOptions & { key: number }): CellExplanation;
  explain(options: ExplainOptions & { key?: null | undefined }): RowExplanation;
  /**
   * Explains what a head copies to a query: how far every part of every key moves the head's output in its own direction. Needs `keepParts: true`.
   * @example
   * const model = await engine.loadModel("tiny");
   * const seen = model.attend("One two three. One two three.", { keepParts: true });
   * const { written, terms } = seen.explainOutput({ layer: 1, head: 4, query: 6 });
   * const length = Math.hypot(...written.data), sum = terms.data.reduce((sum, term) => sum + term, 0);
   * Math.abs(sum - length) < 1e-4 // → true
   */
  explainOutput(options: ExplainOutputOptions): OutputExplanation;
  /**
   * Sums a head's explanations over the whole text: which parts its queries and keys are made of, and which it copies. Parts of earlier heads show the
   * composition of heads on this text. Needs `keepParts: true`.
   * @example
   * const model = await engine.loadModel("tiny");
   * const seen = model.attend("One two three. One two three.", { keepParts: true });
   * const { keyParts, key } = seen.sources({ layer: 1, head: 4 });
   * keyParts.length === key.shape[0] // → true
   */
  sources(options: SourcesOptions): HeadSources;
  /**
   * Finds paths of two heads on this text, in which the later one reads what the earlier one wrote, with its queries, keys or values; or the paths from a
   * previous-token head to an induction head. Needs `keepParts: true`. The page stays responsive.
   * @example
   * const model = await engine.loadModel("tiny");
   * const seen = model.attend("One two three. One two three.", { keepParts: true });
   * const [best] = await seen.paths({ rank: "induction", top: 3 });
   * [best.earlier, best.later, best.kind] // → [{ layer: 0, head: 5 }, { layer: 1, head: 3 }, "key"]
   * best.score > 0.3 // → true
   */
  paths(options?: Maybe<PathsOptions>): Promise<HeadPath[]>;
  /**
   * Returns the residual stream [T,D] before a layer; with `layer` equal to the number of layers, after the last one. Needs `keepHidden: true`.
   * @example
   * const model = await engine.loadModel("tiny");
   * const seen = model.attend("The cat sat on the mat.", { keepHidden: true });
   * seen.hidden(0).shape // → [8, 128]
   * seen.hidden(model.info.layers).shape // → [8, 128]
   */
  hidden(layer: number): Tensor;
  /**
   * Returns a layer's queries [H,T,d], after rotation in models with rotary positions. An encoder–decoder has three attentions, of which `attention`
   * chooses one.
   * @example
   * const model = await engine.loadModel("tiny");
   * model.attend("The cat sat on the mat.").queries(0).shape // → [8, 8, 16]
   */
  queries(layer: number, options?: Maybe<VectorsOptions>): Tensor;
  /**
   * Returns a layer's keys [G,S,d], after rotation in models with rotary positions. S is the number of the source's tokens in the cross-attention of an
   * encoder–decoder, and T in all others.
   * @example
   * const model = await engine.loadModel("tiny");
   * model.attend("The cat sat on the mat.").keys(0).shape // → [8, 8, 16]
   */
  keys(layer: number, options?: Maybe<VectorsOptions>): Tensor;
  /**
   * Returns a layer's values [G,S,d], of the same tokens as its keys. Needs `keepValues: true`.
   * @example
   * const model = await engine.loadModel("tiny");
   * model.attend("The cat sat on the mat.", { keepValues: true }).values(0).shape // → [8, 8, 16]
   */
  values(layer: number, options?: Maybe<VectorsOptions>): Tensor;
  dispose(): void;
}
