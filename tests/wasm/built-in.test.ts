// SPDX-License-Identifier: Apache-2.0
/** The built-in models, opened by name: PyTorch's numbers, and what their cards say of their heads. */
import { readFileSync } from "node:fs";
import {
  type AttendOptions, type Engine, load, type Model, type ModelAttention, type ModelInput, type Tensor,
} from "headlens";
import { PNG } from "pngjs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  expectClose, type FileTensor, kEpsilon, kGolden, maxNorm, readSafetensors, type Safetensors, tensorOf,
} from "./support.js";
import { cardOf, kBuiltIn, kModels, type Probe, type Scores } from "../cards.js";

/** An input as the cards' files have it. */
interface Given {
  readonly ids?: number[];
  readonly types?: number[];
  readonly picture?: string;
  readonly source?: number[];
  readonly target?: number[];
}

interface Item {
  readonly input: Given;
  /** Rows, each with the columns that hold its answer. */
  readonly rows: readonly (readonly [row: number, columns: readonly number[]])[];
}

const kMost = 2.2e6, kMostTogether = 9e6;

/** Numbers of cards are rounded to four decimals; between PyTorch and the engine, weights differ by far less. */
const kTolerance = 1e-4;

const parsed = <T>(path: string): T => JSON.parse(readFileSync(path, "utf8")) as T;

function inputOf(name: string, { ids, types, picture, source, target }: Given): [ModelInput, AttendOptions] {
  if (picture !== undefined) {
    const { data, width, height } = PNG.sync.read(readFileSync(`${kModels}/${name}/${picture}`));
    return [{ data: new Uint8ClampedArray(data), width, height }, {}];
  }
  if (source && target) return [{ source, target }, {}];
  return [ids ?? [], types ? { segments: types } : {}];
}

/** The maps of an attention, which only an encoder–decoder has several of. */
function mapOf(seen: ModelAttention, model: Model, layer: number, head: number, attention: Probe["attention"]): Tensor {
  return seen.map(layer, head, model.info.encoder ? { attention } : {});
}

/** Counts one row of weights as the probe does. */
function counted(score: Probe["score"], row: Float32Array, columns: readonly number[]): number {
  const weights = columns.map((column) => row[column] ?? NaN);
  return score === "mass" ? weights.reduce((sum, weight) => sum + weight, 0) : Number(Math.max(...weights) >= Math.max(...row));
}

/** The sum of what counts in all rows of an item, and their number. */
function countedIn({ data, shape: [, width = 0] }: Tensor, { score }: Probe, { rows }: Item): number {
  const rowOf = (row: number): Float32Array => data.subarray(row * width, (row + 1) * width);
  return rows.reduce((sum, [row, columns]) => sum + counted(score, rowOf(row), columns), 0);
}

/** The score of every head: the mean over all rows of all items. */
function scoresOf(model: Model, probe: Probe, items: readonly Item[]): Scores {
  const runs = items.map((item) => ({ item, seen: model.attend(...inputOf(model.info.name, item.input)) }));
  const count = items.reduce((sum, { rows }) => sum + rows.length, 0);
  const scoreOf = (layer: number, head: number): number => runs.reduce((sum, { item, seen }) =>
    sum + countedIn(mapOf(seen, model, layer, head, probe.attention), probe, item), 0) / count;
  const scores = probe.heads.map((row, layer) => row.map((_, head) => scoreOf(layer, head)));
  for (const { seen } of runs) seen.dispose();
  return scores;
}

/** The input of a golden file. */
function goldenInput(file: Safetensors): [ModelInput, AttendOptions] {
  const ids = (name: string): number[] => [...tensorOf(file, name).data];
  if (file.tensors.has("image")) {
    const { data, shape } = tensorOf(file, "image");
    return [{ data: Float32Array.from(data), shape }, {}];
  }
  if (file.tensors.has("source_ids")) return [{ source: ids("source_ids"), target: ids("target_ids") }, {}];
  return [ids("ids"), file.tensors.has("types") ? { segments: ids("types") } : {}];
}

/** One [rows, columns] of a tensor [layers, heads, rows, columns]. */
function partOf({ data, shape }: FileTensor, layer: number, head: number): Tensor {
  const [, heads = 0, rows = 0, columns = 0] = shape;
  const size = rows * columns, at = (layer * heads + head) * size;
  return { data: Float32Array.from(data.subarray(at, at + size)), shape: [rows, columns] };
}

test("there are four, which keep to their sizes", () => {
  expect(kBuiltIn).toEqual(["tiny", "tiny-bert", "tiny-translator", "tiny-vit"]);
  const sizes = kBuiltIn.map((name) => cardOf(name).bytes);
  expect(Math.max(...sizes)).toBeLessThan(kMost);
  expect(sizes.reduce((sum, size) => sum + size)).toBeLessThan(kMostTogether);
});

describe.each(kBuiltIn)("%s", (name) => {
  const card = cardOf(name);
  const items = parsed<Record<string, Item[]>>(`${kGolden}/built_in/${name}.json`);
  const golden = readSafetensors(`${kGolden}/built_in/${name}.safetensors`);
  let engine: Engine, model: Model;
  beforeAll(async () => {
    engine = await load({ worker: false });
    model = await engine.loadModel(name);
  });
  afterAll(() => engine.dispose());

  test("PyTorch's weights of every head, and logits", () => {
    const seen = model.attend(...goldenInput(golden));
    for (const attention of model.info.encoder ? ["encoder", "decoder", "cross"] as const : ["decoder"] as const) {
      const weights = golden.tensors.get(model.info.encoder ? `${attention}.weights` : "weights");
      if (!weights) throw new Error(`the golden file has no weights of ${attention}`);
      const hidden = tensorOf(golden, model.info.encoder ? `${attention === "encoder" ? attention : "decoder"}.hidden` : "hidden");
      const tolerance = 16 * kEpsilon * maxNorm(hidden.data), [layers = 0, heads = 0] = weights.shape;
      for (let layer = 0; layer < layers; ++layer) {
        for (let head = 0; head < heads; ++head) {
          const what = `${attention} ${layer}.${head}`;
          expectClose(what, mapOf(seen, model, layer, head, attention), partOf(weights, layer, head), tolerance);
        }
      }
    }
    const logits = tensorOf(golden, "logits");
    const { data, shape } = seen.logits();
    const tolerance = 64 * kEpsilon * Math.max(1, maxNorm(logits.data));
    expectClose("logits", { data, shape: logits.shape.length === 1 ? shape.slice(-1) : shape }, logits, tolerance);
    seen.dispose();
  });

  test("each of its card's probes has a head", () => {
    expect(card.name).toBe(name);
    expect(model.info.name).toBe(name);
    expect(Object.keys(items)).toEqual(card.probes.map((probe) => probe.name));
    for (const { name: probe, heads, threshold } of card.probes)
      expect(Math.max(...heads.flat()), probe).toBeGreaterThanOrEqual(threshold);
  });

  test.each(card.probes)("$name: heads score as the card says", (probe) => {
    const short = items[probe.name] ?? [];
    expect(short).toHaveLength(probe.short.items);
    const scores = scoresOf(model, probe, short);
    scores.forEach((row, layer) => row.forEach((score, head) => {
      const said = probe.short.heads[layer]?.[head] ?? NaN;
      expect(Math.abs(score - said), `layer ${layer}, head ${head}: ${score}, and the card says ${said}`).toBeLessThan(kTolerance);
    }));
  });
});

test("tiny-translator reads a text, and translates it token by token", async () => {
  const golden = readSafetensors(`${kGolden}/built_in/tiny-translator.safetensors`);
  const source = golden.metadata.source ?? "", [start = NaN, ...expected] = tensorOf(golden, "target_ids").data;
  using engine = await load({ worker: false });
  const model = await engine.loadModel("tiny-translator");
  expect(model.info.encoder?.startToken).toBe(start);
  using decoding = model.startDecoding({ source });
  let next = start;
  for (const id of expected) {
    const { data } = decoding.step([next]).logits;
    next = data.indexOf(Math.max(...data));
    expect(next).toBe(id);
  }
});
