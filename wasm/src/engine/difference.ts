// SPDX-License-Identifier: Apache-2.0
/** The differences of two runs. */
import { apiName, checkOptions } from "../arguments/names.js";
import { guarded, show, unwrap, within, wrong } from "../module/failures.js";
import type { DifferenceHandle } from "../module/module.js";
import { HandleResource, type Resource } from "../module/resource.js";
import type {
  Difference, DifferenceMapOptions, Maybe, ModelInfo, PredictionChange, PredictionChanges, PredictionChangesOptions,
  Tensor,
} from "../types/index.js";
import { checkTop, requireLogits } from "./explanations.js";
import { checkIndex, checkRange, ifGiven } from "./maps.js";
import { headsNamed, WasmModelAttention } from "./model-attention.js";

/** The module counts the attentions of an encoder–decoder in this order. */
const kParts = ["decoder", "encoder", "cross"] as const;

export class WasmDifference extends HandleResource<DifferenceHandle> implements Difference {
  readonly pairs: readonly (readonly [number, number])[];
  declare readonly sourcePairs?: readonly (readonly [number, number])[];
  readonly #infos: readonly [ModelInfo, ModelInfo];
  readonly #piece: (id: number) => string;

  private constructor(
    handle: DifferenceHandle, a: WasmModelAttention, b: WasmModelAttention, engine: Resource<unknown>,
  ) {
    super("difference", () => handle, engine);
    const pairsOf = (ofSource: boolean): [number, number][] => {
      const { data } = handle.pairs(ofSource);
      return Array.from({ length: data.length / 2 }, (_, i) => [data[2 * i] as number, data[2 * i + 1] as number]);
    };
    this.pairs = pairsOf(false);
    if (a.of.info.encoder && b.of.info.encoder) this.sourcePairs = pairsOf(true);
    this.#infos = [a.of.info, b.of.info];
    this.#piece = b.of.piece;
  }

  /** Compares two runs of models of this engine. */
  static of(a: unknown, b: unknown, engine: Resource<unknown>, module: () => unknown): WasmDifference {
    const runOf = (name: string, run: unknown): WasmModelAttention => {
      if (run instanceof WasmModelAttention && run.of.module === module()) return run;
      throw within("difference", wrong("option", name, show(run), "a run of a model of this engine"));
    };
    const [first, second] = [runOf("a", a), runOf("b", b)];
    return new WasmDifference(first.differenceTo(second), first, second, engine);
  }

  map(layer: number, head: number, options?: Maybe<DifferenceMapOptions>): Tensor {
    void this.held;
    const { rows, attention } = checkOptions<DifferenceMapOptions>("differenceMap", options);
    const both = this.#infos.map((info) => headsNamed("differenceMap", "attention", attention, info));
    checkIndex("layer", layer, Math.min(...both.map(({ layers }) => layers)));
    checkIndex("head", head, Math.min(...both.map(({ heads }) => heads)));
    const { length } = (attention === "encoder" ? this.sourcePairs : undefined) ?? this.pairs;
    const [begin, end] = ifGiven(rows, () => checkRange("rows", rows, length)) ?? [0, length];
    const handle = this.held, part = kParts.indexOf(attention ?? "decoder");
    return guarded("map", () => unwrap(handle.map(part, layer, head, begin, end), apiName));
  }

  divergences(): Tensor {
    for (const info of this.#infos) requireLogits("divergences", info);
    const handle = this.held;
    return guarded("divergences", () => unwrap(handle.divergences(), apiName));
  }

  predictionChanges(options?: Maybe<PredictionChangesOptions>): PredictionChanges {
    void this.held;
    const { pair, top } = checkOptions<PredictionChangesOptions>("predictionChanges", options);
    for (const info of this.#infos) requireLogits("predictionChanges", info);
    const count = checkTop("predictionChanges", top, this.#infos[1].logits);
    const length = this.#infos[1].image ? 1 : this.pairs.length;
    if (pair !== undefined || length === 0) checkIndex("pair", pair, length);
    const handle = this.held;
    const side = (largest: boolean): PredictionChange[] => guarded("predictionChanges", () => {
      const { data, shape } = unwrap(handle.changes(pair ?? length - 1, count, largest), apiName);
      const found = shape[1] as number;
      return Array.from({ length: found }, (_, i) => {
        const [id, change, before, after] = [0, 1, 2, 3].map((row) => data[row * found + i] as number);
        return { id, token: this.#piece(id as number), change, before, after } as PredictionChange;
      });
    });
    return { likelier: side(true), lessLikely: side(false) };
  }
}
