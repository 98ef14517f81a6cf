// SPDX-License-Identifier: Apache-2.0
/** The program on every golden model, held against the npm package, whose numbers are held against PyTorch's. */
import { readFileSync, writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { load, type Engine, type Model, type ModelAttention, type RankedHead } from "headlens";
import { PNG } from "pngjs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { expectClose, kEpsilon, maxNorm } from "../compare.js";
import { readSafetensors, tensorOf } from "../safetensors.js";
import { familyOf } from "../wasm/families.js";
import { expectedOf, folderOf, kModels } from "../wasm/golden-models.js";
import { fails, succeeds, temporaryFolder } from "./support.js";

const inFolder = temporaryFolder();
let engine: Engine;
beforeAll(async () => { engine = await load(); });
afterAll(() => engine.dispose());

const kText = "the cat sat at the cat";
const kMetrics = ["entropy", "sink"] as const;

/** The program's options for an input, and what the package reads it as. */
interface Input {
  readonly args: string[];
  readonly given: Parameters<Model["attend"]>[0];
  readonly isImage: boolean;
}

/** A text, or the golden's picture as a file. */
function inputOf(name: string): Input {
  const { tensors } = expectedOf(name), picture = tensors.get("picture");
  if (!picture) return { args: ["--text", kText], given: kText, isImage: false };
  const [height = 0, width = 0] = picture.shape, path = inFolder(`${name}.png`), png = new PNG({ width, height });
  // Transparency is ignored, but a PNG's colours would be lost with it.
  for (const [i, byte] of Array.from(picture.data, Number).entries()) png.data[i] = i % 4 === 3 ? 255 : byte;
  writeFileSync(path, PNG.sync.write(png));
  return { args: ["--image", path], given: { data: Uint8ClampedArray.from(png.data), width, height }, isImage: true };
}

interface MapsFile {
  tokens?: number[];
  pieces?: string[];
  patches?: number[];
  causal: boolean;
  windows?: number[];
  maps: number[][][][];
}

const json = (...args: string[]): unknown => JSON.parse(succeeds(args));

/** The maps of a run, and what is known about them. */
function expectMaps(name: string, { args }: Input, seen: ModelAttention, { info }: Model): void {
  const out = inFolder(`${name}.json`);
  succeeds(["map", "--model", folderOf(name), ...args, "--out", out]);
  const file = JSON.parse(readFileSync(out, "utf8")) as MapsFile;
  const ids = seen.ids.length > 0 ? [...seen.ids] : undefined;
  expect([file.tokens, file.patches, file.causal, file.windows])
    .toEqual([ids, seen.patches && [...seen.patches], info.causal, info.windows.length > 0 ? info.windows : undefined]);
  for (const [layer, heads] of file.maps.entries()) {
    for (const [head, rows] of heads.entries()) {
      const { data, shape } = seen.map(layer, head);
      const got = { data: rows.flat(), shape: [rows.length, rows[0]?.length ?? 0] };
      expectClose(`map ${layer}.${head}`, got, { data, shape }, 1e-5);
    }
  }
  expect(file.maps.map((heads) => heads.length)).toEqual(Array<number>(info.layers).fill(info.heads));
}

/** CSV leaves out exactly what a layer's queries may not look at, and an SVG names the tokens. */
function expectFiles(name: string, { args }: Input, seen: ModelAttention, { info }: Model): void {
  const layer = info.layers - 1, window = info.windows[layer] ?? 0, t = seen.tokens.length;
  const one = ["map", "--model", folderOf(name), ...args, "--layer", String(layer), "--head", "0", "--out"];
  succeeds([...one, inFolder("one.csv")]);
  const lines = readFileSync(inFolder("one.csv"), "utf8").trimEnd().split("\n").slice(1);
  const cells = Array.from({ length: t * t }, (_, i) => [Math.floor(i / t), i % t] as const);
  const isSeen = ([query, key]: readonly [number, number]): boolean =>
    !info.causal || (key <= query && (window === 0 || key > query - window));
  expect(lines.map((line) => line.split(",").slice(2, 4).map(Number))).toEqual(cells.filter(isSeen));
  if (!info.image) return;
  succeeds([...one, inFolder("one.svg"), "--cell", "12"]);
  const names = readFileSync(inFolder("one.svg"), "utf8").matchAll(/^<text unicode-bidi="plaintext" [^>]*>(.*)<\/text>$/gm);
  expect([...names].map(([, text]) => text).slice(0, t)).toEqual(seen.tokens.map((token) => token.replace(/[[\]]/g, "")));
}

type Ranked = readonly RankedHead<(typeof kMetrics)[number]>[];

function expectRanked(name: string, { args, isImage }: Input, ranked: Ranked): void {
  const texts = inFolder("texts.txt");
  writeFileSync(texts, `${kText}\n`);
  const from = isImage ? args : ["--text-file", texts];
  const { heads } = json("heads", "--model", folderOf(name), ...from, "--metric", kMetrics.join(), "--format", "json") as
    { heads: { layer: number; head: number; scores: Record<string, { mean: number | null }> }[] };
  expect(heads).toHaveLength(ranked.length);
  for (const { layer, head, scores } of ranked) {
    const found = heads.find((other) => other.layer === layer && other.head === head);
    for (const metric of kMetrics) expect(found?.scores[metric]?.mean).toBeCloseTo(scores[metric].mean ?? NaN, 4);
  }
}

function expectExplained(name: string, { args }: Input, seen: ModelAttention, { info }: Model): void {
  const layer = info.layers - 1, head = 1, query = seen.tokens.length - 1, key = query - 1;
  const at = Object.entries({ layer, head, query, key }).flatMap(([option, value]) => [`--${option}`, String(value)]);
  const found = json("explain", "--model", folderOf(name), ...args, ...at, "--json") as
    { score: number; weights: number; terms: number[][] };
  const cell = seen.explain({ layer, head, query, key });
  const tolerance = 256 * kEpsilon * maxNorm(cell.terms.data);
  const terms = { data: found.terms.flat(), shape: [found.terms.length, found.terms[0]?.length ?? 0] };
  expectClose("terms", terms, cell.terms, tolerance);
  expect(Math.abs(found.score - cell.score)).toBeLessThanOrEqual(tolerance);
  expect(found.weights).toBeCloseTo(seen.map(layer, head).data[query * (query + 1) + key] ?? NaN, 5);
}

function expectPredictions(name: string, { args }: Input, model: Model, given: Input["given"]): void {
  const call = ["predict", "--model", folderOf(name), ...args, "--json", "--top", "3"];
  if (model.info.logits === 0) return fails(call, 2, /has no logits/);
  const listed = (changed: ModelAttention): number[] => changed.predictions({ top: 3 }).map(({ logit }) => logit);
  const expectLogits = (changed: ModelAttention, ...more: string[]): void => {
    const { predictions } = json(...call, ...more) as { predictions: { logit: number }[] };
    const got = predictions.map(({ logit }) => logit), expected = listed(changed), shape = [got.length];
    const tolerance = 64 * kEpsilon * Math.max(1, maxNorm(expected));
    expectClose("logits", { data: got, shape }, { data: expected, shape: [expected.length] }, tolerance);
  };
  expectLogits(model.attend(given));
  const { layers, heads } = model.info, mask = new Float32Array(layers * heads).fill(1);
  mask[1] = 0;
  expectLogits(model.attend(given, { headMask: { data: mask, shape: [layers, heads] } }), "--ablate", "0.1");
  expectLogits(model.attend(given, { normalizer: "sparsemax" }), "--normalizer", "sparsemax");
}

async function expectPaths(name: string, { args }: Input, seen: ModelAttention, { info }: Model): Promise<void> {
  const call = ["paths", "--model", folderOf(name), ...args, "--json"];
  if (info.layers === 1) return fails(call, 2, /has 1 layer, expected at least 2/);
  const { paths } = json(...call) as { paths: { share: number | null }[] };
  const shares = (await seen.paths({ top: paths.length })).map(({ share }) => share);
  expect(shares).toHaveLength(paths.length);
  for (const [i, { share }] of paths.entries()) expect(share ?? NaN).toBeCloseTo(shares[i] ?? NaN, 3);
}

describe("the program on every golden model", () => {
  test.each(kModels.filter((name) => name !== "vit_f16_bare"))("%s: maps, files, ranked heads, explanations, predictions, paths", async (name) => {
    const model = await engine.loadModel(pathToFileURL(`${folderOf(name)}/`));
    expect(model.info.family).toBe(familyOf(name));
    const input = inputOf(name);
    const seen = model.attend(input.given, { keepParts: true });
    expectMaps(name, input, seen, model);
    expectFiles(name, input, seen, model);
    expectRanked(name, input, await model.rankHeads([input.given], { metrics: [...kMetrics] }));
    expectExplained(name, input, seen, model);
    expectPredictions(name, input, model, input.given);
    await expectPaths(name, input, seen, model);
    model.dispose();
  });

  test("a model of pictures of one channel says that it reads none", () => {
    const { args } = inputOf("vit");
    const call = ["map", "--model", folderOf("vit_f16_bare"), ...args, "--out", inFolder("no.json")];
    fails(call, 2, /has shape \(3, 12, 12\), expected \(1, 12, 12\)/);
  });

  test("ids need no tokenizer, and give PyTorch's maps", () => {
    for (const name of kModels) {
      const { tensors } = expectedOf(name);
      if (!tensors.has("ids") || tensors.has("padding") || tensors.has("segments")) continue;
      const golden = expectedOf(name), weights = tensorOf(golden, "weights"), out = inFolder("ids.safetensors");
      succeeds(["map", "--model", folderOf(name), "--tokens", [...tensorOf(golden, "ids").data].join(), "--out", out]);
      const tolerance = 64 * kEpsilon * maxNorm(tensorOf(golden, "hidden").data as Float32Array);
      const found = readSafetensors(out).tensors;
      const [layers = 0, ...rest] = weights.shape, size = weights.data.length / layers;
      for (let layer = 0; layer < layers; ++layer) {
        const data = Array.from(weights.data, Number).slice(layer * size, (layer + 1) * size);
        const maps = tensorOf({ metadata: {}, tensors: found }, `attentions.${layer}`);
        const got = { data: Array.from(maps.data, Number), shape: maps.shape };
        expectClose(`${name}, layer ${layer}`, got, { data, shape: rest }, tolerance);
      }
    }
  });
});
