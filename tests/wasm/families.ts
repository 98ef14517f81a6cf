// SPDX-License-Identifier: Apache-2.0
/** What every family of models has to do through the package, wherever the package runs, held against the golden models. */
import { readFileSync } from "node:fs";
import type { AsyncEngine, AttendOptions, Engine, ModelInfo, RankedHead, Tensor } from "headlens";
import { expect } from "vitest";
import { expectedOf, folderOf, inputOf } from "./golden-models.js";
import { expectClose, kEpsilon, maxNorm, tensorOf, type FileTensor, type Safetensors } from "./support.js";

/** What a model is shown, as data that can be sent to a browser. */
export interface Shown {
  /** The URL of the folder. */
  readonly source: string;
  readonly input: number[] | { data: number[]; shape: number[] };
  readonly options: AttendOptions;
  readonly headMask: { data: number[]; shape: number[] };
  /** A text, or a picture's bytes; absent where a model reads no pictures of three channels. */
  readonly raw?: string | { data: number[]; width: number; height: number };
  /** The tokens of each step of decoding; none where a model does not decode. */
  readonly steps: number[][];
}

/** Numbers as data that can be sent. */
interface Numbers {
  data: number[];
  shape: number[];
}

/** What came of it. */
export interface Found {
  readonly info: ModelInfo;
  readonly tokens: readonly string[];
  readonly patches?: readonly [number, number];
  /** [layer][head] */
  readonly maps: Numbers[][];
  readonly logits?: Numbers;
  /** The stream after the last layer of a run with `headMask`. */
  readonly ablated: Numbers;
  readonly steps: { logits: Numbers; firstKey: number; maps: Numbers[][] }[];
  readonly ranked: RankedHead[];
  /** The sum of the terms of a score, and the score. */
  readonly explained: readonly [number, number];
  /** Row sums of a map whose scores went through sparsemax. */
  readonly sums: number[];
  /** The scores of copying of layer 0's heads; none where the weights have no such circuit. */
  readonly copying: number[];
  /** The tokens of the text, or of the picture. */
  readonly read: readonly string[];
  readonly readMap: Numbers;
}

/**
 * Loads the model, and does with it all that models can do. It refers to nothing outside of itself, so that a browser
 * can run it.
 */
export async function lookAt(engine: Engine | AsyncEngine, shown: Shown): Promise<Found> {
  const { source, input, options, headMask, raw } = shown;
  const model = await engine.loadModel(source);
  const { info } = model;
  const plain = ({ data, shape }: Tensor): Numbers => ({ data: Array.from(data), shape: [...shape] });
  const mapsOf = async (map: (layer: number, head: number) => Tensor | Promise<Tensor>): Promise<Numbers[][]> => {
    const maps: Numbers[][] = [];
    for (let layer = 0; layer < info.layers; ++layer) {
      maps.push([]);
      for (let head = 0; head < info.heads; ++head) maps[layer]?.push(plain(await map(layer, head)));
    }
    return maps;
  };
  const seen = await model.attend(input, { ...options, keepParts: true });
  const maps = await mapsOf((layer, head) => seen.map(layer, head));
  const logits = info.logits > 0 && plain(await seen.logits());
  const ablated = plain(await (await seen.again({ headMask, keepHidden: true })).hidden(info.layers));
  const query = seen.tokens.length - 1;
  const cell = await seen.explain({ layer: info.layers - 1, head: 1, query, key: query - 1 });
  const explained = [cell.terms.data.reduce((sum, term) => sum + term, 0), cell.score] as const;
  const sparse = await (await seen.again({ normalizer: "sparsemax" })).map(info.layers - 1, 0);
  const columns = sparse.shape[1] as number;
  const sums = Array.from({ length: sparse.shape[0] as number }, (_, row) =>
    sparse.data.slice(row * columns, (row + 1) * columns).reduce((sum, weight) => sum + weight, 0));

  const steps: Found["steps"] = [];
  const decoding = shown.steps.length > 0 ? await model.startDecoding() : undefined;
  for (const ids of decoding ? shown.steps : []) {
    const step = await decoding?.step(ids);
    if (!decoding || !step) continue;
    const { logits, firstKey } = step;
    steps.push({ logits: plain(logits), firstKey, maps: await mapsOf((layer, head) => decoding.map(layer, head)) });
  }

  const places = info.image ? "patchDistance" as const : "previous" as const;
  const metrics = ["entropy" as const, places, "outputChange" as const];
  const losses = info.causal && info.logits > 0 ? ["ablationLoss" as const] : [];
  const ranked = await model.rankHeads([input], { metrics: [...metrics, ...losses] });
  const { state, norm } = await model.layerWeights(0);
  const embedding = await model.embedding(), unembedding = await model.unembedding();
  const circuits = await engine.circuits(state, {
    numHeads: info.heads, numKvHeads: info.kvHeads, ...(norm && { norm }),
    ...(embedding && unembedding && { embedding, unembedding }),
  });
  const copying = circuits.map(({ fullOv }) => fullOv?.copyingScore ?? NaN).filter((score) => !Number.isNaN(score));
  const bytes = typeof raw === "object" ? { ...raw, data: Uint8ClampedArray.from(raw.data) } : raw;
  const reading = await model.attend(bytes ?? input);
  const readMap = plain(await reading.map(info.layers - 1, 0));
  const { tokens, patches } = seen;
  const found = {
    info, tokens: [...tokens], maps, ablated, steps, ranked: ranked as RankedHead[], explained, sums, copying, readMap,
    read: [...reading.tokens], ...(patches && { patches }), ...(logits && { logits }),
  };
  model.dispose();
  return found;
}

const numbersOf = ({ data, shape }: FileTensor): Numbers => ({ data: Array.from(data, Number), shape });

/** True when no query of the golden maps looks at a later key. */
export function isCausal(golden: Safetensors): boolean {
  const { data, shape } = tensorOf(golden, "weights"), t = shape.at(-1) as number;
  return Array.from(data as ArrayLike<number>).every((weight, i) => weight === 0 || i % t <= Math.floor(i / t) % t);
}

/** The family that a folder's config.json asks for. */
export function familyOf(name: string): string {
  const { model_type: type } = JSON.parse(readFileSync(`${folderOf(name)}/config.json`, "utf8")) as { model_type: string };
  const others: Record<string, string> = {
    mistral: "llama", gemma3_text: "gemma3", "xlm-roberta": "roberta", dinov2_with_registers: "dinov2_registers",
  };
  return others[type] ?? type;
}

const kText = "the cat sat";
const kBytePieces = ["the", " cat", " ", "s", "at"], kWordPieces = ["[CLS]", "the", "cat", "sat", "[SEP]"];
/** The tokens of kText with what the family's tokenizer adds; byte by byte where it adds nothing. */
const kPieces: Record<string, string[]> = {
  bert: kWordPieces, distilbert: kWordPieces, roberta: ["<s>", ...kBytePieces, "</s>"], gemma2: ["<bos>", ...kBytePieces],
  gemma3: ["<bos>", ...kBytePieces], phi3: ["<s>", ...kBytePieces],
};

const kPrefixes: Record<string, string[]> = {
  deit: ["[CLS]", "[DIST]"], dinov2_registers: ["[CLS]", "[REG0]", "[REG1]"],
};

function rawOf({ tensors }: Safetensors): Shown["raw"] {
  if (!tensors.has("image")) return kText;
  const picture = tensors.get("picture"), [height = 0, width = 0] = picture?.shape ?? [];
  return picture && { data: Array.from(picture.data, Number), width, height };
}

export function shownOf(name: string, source: string): Shown {
  const golden = expectedOf(name);
  const [given, options] = inputOf(golden);
  const input = Array.isArray(given) ? given : numbersOf(tensorOf(golden, "image"));
  const ids = Array.isArray(given) && isCausal(golden) ? given : [];
  // A model without logits has nothing to say next, and "dynamic" rotations change with the length of a text.
  const decodes = ids.length > 0 && golden.tensors.has("logits") && name !== "llama_dynamic";
  const steps = decodes ? [ids.slice(0, 4), ...ids.slice(4).map((id) => [id])] : [];
  const raw = rawOf(golden);
  return { source, input, options, headMask: numbersOf(tensorOf(golden, "head_mask")), steps, ...(raw && { raw }) };
}

/** Part `index` of equal parts along the first `drop` dimensions. */
function part({ data, shape }: FileTensor, index: number, drop: number): Numbers {
  const rest = shape.slice(drop), size = rest.reduce((a, b) => a * b, 1);
  return { data: Array.from(data, Number).slice(index * size, (index + 1) * size), shape: rest };
}

function expectSteps({ info, steps }: Found, golden: Safetensors, tolerance: number): void {
  const weights = tensorOf(golden, "weights"), logits = golden.tensors.get("logits");
  const t = weights.shape.at(-1) as number;
  let at = 0;
  for (const step of steps) {
    const count = step.maps[0]?.[0]?.shape[0] ?? 0;
    for (const [i, map] of step.maps.flat().entries()) {
      const whole = part(weights, i, 2);
      const rows = Array.from({ length: count }, (_, row) =>
        whole.data.slice((at + row) * t + step.firstKey, (at + row) * t + at + count));
      const expected = { data: rows.flat(), shape: [count, at + count - step.firstKey] };
      expectClose(`step at ${at}, head ${i}`, map, expected, tolerance);
    }
    at += count;
    if (!logits) continue;
    const last = Array.from(logits.data, Number).slice((at - 1) * info.logits, at * info.logits);
    const row = { data: last, shape: [info.logits] };
    expectClose(`logits at ${at}`, step.logits, row, 64 * kEpsilon * maxNorm(logits.data as Float32Array));
  }
  expect(at).toBe(steps.length > 0 ? t : 0);
}

function expectNames({ info, tokens, read, patches, maps }: Found, golden: Safetensors): void {
  if (!info.image) {
    expect(read).toEqual(kPieces[info.family] ?? kBytePieces);
    return;
  }
  const prefix = kPrefixes[info.family] ?? ["[CLS]"], { shape } = tensorOf(golden, "image");
  const [rows = 0, columns = 0] = shape.slice(1).map((side) => side / (info.image?.patchSize ?? 0));
  expect(info.image.prefix).toEqual(prefix);
  expect(patches).toEqual([rows, columns]);
  const names = Array.from({ length: rows * columns }, (_, i) => `${Math.floor(i / columns)},${i % columns}`);
  expect(tokens).toEqual([...prefix, ...names]);
  expect(maps[0]?.[0]?.shape).toEqual([tokens.length, tokens.length]);
}

/** Every number within what rounding may do, by the norms of the data. */
export function expectFamily(name: string, found: Found): void {
  const golden = expectedOf(name), { info } = found;
  expect(info).toMatchObject({ name, family: familyOf(name), causal: isCausal(golden) });
  expectNames(found, golden);
  const weights = tensorOf(golden, "weights"), logits = golden.tensors.get("logits");
  const tolerance = 64 * kEpsilon * maxNorm(tensorOf(golden, "hidden").data as Float32Array);
  expect([info.layers, info.heads]).toEqual(weights.shape.slice(0, 2));
  for (const [i, map] of found.maps.flat().entries()) expectClose(`map ${i}`, map, part(weights, i, 2), tolerance);
  if (logits) expectClose("logits", found.logits, numbersOf(logits), 64 * kEpsilon * maxNorm(logits.data as Float32Array));
  expect(found.logits !== undefined).toBe(logits !== undefined);
  const ablated = tensorOf(golden, "ablated");
  expectClose("ablated", found.ablated, numbersOf(ablated), 64 * kEpsilon * maxNorm(ablated.data as Float32Array));
  expectSteps(found, golden, tolerance);
  const [sum, score] = found.explained;
  expect(Math.abs(sum - score)).toBeLessThanOrEqual(1e-4 * Math.max(1, Math.abs(score)));
  for (const row of found.sums) expect(row).toBeCloseTo(1, 5);
  expect(found.ranked).toHaveLength(info.layers * info.heads);
  const means = found.ranked.map(({ scores }) => Object.values(scores)[0]?.mean ?? NaN);
  expect(means).toEqual(means.toSorted((a, b) => b - a));
  for (const head of found.ranked) {
    for (const [metric, { mean }] of Object.entries(head.scores))
      expect(mean, `${metric} of ${head.layer}.${head.head}`).toEqual(expect.any(Number));
  }
  if (info.causal && logits) expect(found.copying).toHaveLength(info.heads);
  const queries = found.readMap.shape[0] ?? 0;
  expect(found.readMap.shape).toEqual([found.read.length, found.read.length]);
  for (let row = 0; row < queries; ++row) {
    const read = found.readMap.data.slice(row * queries, (row + 1) * queries);
    expect(read.reduce((all, weight) => all + weight, 0)).toBeCloseTo(1, 5);
  }
}
