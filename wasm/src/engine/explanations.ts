// SPDX-License-Identifier: Apache-2.0
/** A run explains scores, outputs of heads, and logits. */
import { apiName, type Caller, checkOptions } from "../arguments/names.js";
import { listOf } from "../arguments/options.js";
import { guarded, reading, show, unwrap, within, wrong } from "../module/failures.js";
import type { AttentionHandle } from "../module/module.js";
import type { Resource } from "../module/resource.js";
import { HeadlensError } from "../types/errors.js";
import type {
  CellExplanation, ContributionsOptions, ExplainOptions, ExplainOutputOptions, HeadSources, LogitContributions, Maybe,
  ModelInfo, OutputExplanation, Prediction, PredictionsOptions, RowExplanation, ScoreStep, SourcesOptions, StreamPart,
  Tensor, TokenLogit, WrittenOptions, WrittenTokens,
} from "../types/index.js";
import { checkIndex, isBelow, type MapSizes, WasmHeadMaps } from "./maps.js";

const kSteps: readonly ScoreStep[] = ["cappedScores", "biasedScores", "maskedScores", "weights"];
const kTop = 10;

/** Reads names such as "token,head.0.3". */
function partsOf(names: string): StreamPart[] {
  return names.split(",").map((name) => {
    const [kind, layer, head] = name.split(".");
    return {
      kind: (kind === "feed_forward" ? "feedForward" : kind) as StreamPart["kind"],
      ...(layer !== undefined && { layer: Number(layer) }), ...(head !== undefined && { head: Number(head) }),
    };
  });
}

/** The steps of scores, each with what `of` makes of its row. */
function stepsOf<T>({ data, shape }: Tensor, of: (row: Float32Array) => T): Record<ScoreStep, T> {
  const cells = shape[1] as number;
  const entries = kSteps.map((step, i) => [step, of(data.slice(i * cells, (i + 1) * cells))] as const);
  return Object.fromEntries(entries) as Record<ScoreStep, T>;
}

/** Throws when the model has no logits. */
export function requireLogits(caller: string, { logits }: ModelInfo): void {
  if (logits > 0) return;
  const message = `${caller}: this model has no logits, its weights end with the last layer's output`;
  throw new HeadlensError("unsupported", message);
}

/** Returns the number of items that are listed, of so many. */
export function checkTop(caller: Caller, top: unknown, most: number): number {
  if (top === undefined) return Math.min(kTop, most);
  if (Number.isInteger(top) && (top as number) >= 1) return Math.min(top as number, most);
  throw within(caller, wrong("value", "top", show(top), "a whole number from 1 up"));
}

export abstract class ExplainedAttention extends WasmHeadMaps<AttentionHandle> {
  readonly #info: ModelInfo;
  readonly #length: number;
  readonly #piece: (id: number) => string;

  constructor(
    handle: AttentionHandle, length: number, sourceLength: number,
    { info, model, piece }: { info: ModelInfo; model: Resource<unknown>; piece: (id: number) => string },
  ) {
    const { layers, heads, encoder } = info;
    const decoder: MapSizes = { of: "layer", first: 0, count: layers, heads, queries: length, keys: length };
    super("attention", () => handle, decoder, model, encoder && {
      decoder,
      encoder: { of: "layer", first: 2 * layers, count: encoder.layers, heads: encoder.heads, queries: sourceLength, keys: sourceLength },
      cross: { ...decoder, first: layers, keys: sourceLength },
    });
    this.#info = info;
    this.#length = length;
    this.#piece = piece;
  }

  explain(options: ExplainOptions & { key: number }): CellExplanation;
  explain(options: ExplainOptions & { key?: null | undefined }): RowExplanation;
  explain(options: ExplainOptions): CellExplanation | RowExplanation {
    void this.held;
    const { layer, head, query, key, against, attention } = checkOptions<ExplainOptions>("explain", options);
    const { first, queries, keys } = this.sizesFor("explain", attention, layer, head);
    checkIndex("query", query, queries);
    if (key !== undefined) checkIndex("key", key, keys);
    if (against !== undefined) checkIndex("against", against, keys);
    if (against !== undefined && key === undefined) {
      throw new HeadlensError("option", "explain: against needs key", { argument: "against", expected: "key" });
    }
    const handle = this.held;
    return guarded("explain", () => {
      const raw = unwrap(handle.explain(first + layer, head, query, key ?? -1, against ?? -1), apiName);
      const { scores, steps } = raw;
      const parts = { queryParts: partsOf(raw.queryParts), keyParts: partsOf(raw.keyParts) };
      if (key !== undefined) {
        const score = scores.data[0] as number;
        return { score, terms: raw.terms, ...parts, steps: stepsOf(steps, ([value]) => value as number) };
      }
      const asTensor = (data: Float32Array): Tensor => ({ data, shape: [data.length] });
      return { scores, byQuery: raw.byQuery, byKey: raw.byKey, ...parts, steps: stepsOf(steps, asTensor) };
    });
  }

  explainOutput(options: ExplainOutputOptions): OutputExplanation {
    void this.held;
    const { layer, head, query, attention } = checkOptions<ExplainOutputOptions>("explainOutput", options);
    const { first, queries } = this.sizesFor("explainOutput", attention, layer, head);
    checkIndex("query", query, queries);
    const handle = this.held;
    return guarded("explainOutput", () => {
      const { parts, written, terms } = unwrap(handle.explainOutput(first + layer, head, query), apiName);
      return { parts: partsOf(parts), written, terms };
    });
  }

  sources(options: SourcesOptions): HeadSources {
    void this.held;
    const { layer, head, attention } = checkOptions<SourcesOptions>("sources", options);
    const { first } = this.sizesFor("sources", attention, layer, head);
    const handle = this.held;
    return guarded("sources", () => {
      const raw = unwrap(handle.sources(first + layer, head), apiName);
      const { query, key, value } = raw;
      const parts = {
        queryParts: partsOf(raw.queryParts), keyParts: partsOf(raw.keyParts), valueParts: partsOf(raw.valueParts),
      };
      return { ...parts, query, key, value };
    });
  }

  predictions(options?: Maybe<PredictionsOptions>): Prediction[] {
    void this.held;
    const { position, top, layer = -1 } = checkOptions<PredictionsOptions>("predictions", options);
    const at = this.#checkPosition("predictions", position);
    if (layer !== -1) checkIndex("layer", layer, this.#info.layers + 1);
    return this.#extremes("predictions", layer, -1, at, checkTop("predictions", top, this.#info.logits), true);
  }

  written(options: WrittenOptions): WrittenTokens {
    void this.held;
    const { layer, head, position, top, attention } = checkOptions<WrittenOptions>("written", options);
    const { first } = this.sizesFor("written", attention, layer, head);
    const at = this.#checkPosition("written", position), count = checkTop("written", top, this.#info.logits);
    const side = (largest: boolean): TokenLogit[] =>
      this.#extremes("written", first + layer, head, at, count, largest).map(({ probability: _probability, ...token }) => token);
    return { likelier: side(true), lessLikely: side(false) };
  }

  contributions(options?: Maybe<ContributionsOptions>): LogitContributions {
    void this.held;
    const { position, tokens } = checkOptions<ContributionsOptions>("contributions", options);
    const at = this.#checkPosition("contributions", position);
    const { logits: count } = this.#info;
    const given = tokens === undefined
      ? this.#extremes("contributions", -1, -1, at, Math.min(kTop, count), true).map(({ id }) => id)
      : reading("tokens", () => listOf<number>(tokens, isBelow(count)));
    if (!given?.length) {
      throw within("contributions", wrong("value", "tokens", show(tokens), `an array of ids, 0 to ${count - 1}`));
    }
    const handle = this.held;
    return guarded("contributions", () => {
      const { parts, logits, terms } = unwrap(handle.contributions(at, given), apiName);
      const explained = given.map((id, i) => ({ id, token: this.#piece(id), logit: logits.data[i] as number }));
      return { tokens: explained, parts: partsOf(parts), terms };
    });
  }

  #extremes(
    caller: Caller, layer: number, head: number, position: number, count: number, largest: boolean,
  ): Prediction[] {
    const handle = this.held;
    return guarded(caller, () => {
      const { data, shape } = unwrap(handle.extremes(layer, head, position, count, largest), apiName);
      const found = shape[1] as number;
      return Array.from({ length: found }, (_, i) => {
        const id = data[i] as number;
        const [logit, probability] = [data[found + i] as number, data[2 * found + i] as number];
        return { id, token: this.#piece(id), logit, probability };
      });
    });
  }

  #checkPosition(caller: Caller, position: unknown): number {
    requireLogits(caller, this.#info);
    const length = this.#info.image ? 1 : this.#length;
    if (position === undefined) return length - 1;
    checkIndex("position", position, length);
    return position as number;
  }

}
