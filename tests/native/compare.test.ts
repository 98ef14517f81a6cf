// SPDX-License-Identifier: Apache-2.0
/** `headlens compare`: what differs between two runs, held against PyTorch's maps, against both runs' own files, and tables that say the same. */
import { copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { PNG } from "pngjs";
import { beforeAll, describe, expect, test } from "vitest";
import { expectClose, kEpsilon, kGolden, kRoot, maxNorm } from "../compare.js";
import { type FileTensor, readSafetensors, tensorOf } from "../safetensors.js";
import { fails, succeeds, temporaryFolder } from "./support.js";

const inFolder = temporaryFolder();
const kTiny = `${kRoot}web/models/tiny`;
const kCat = "The cat sat on the mat because it was tired.";
const kDog = "The old dog sat on the mat because it was tired.";

type Pair = [number, number];

interface Input {
  tokens: number[];
  pieces?: string[];
}

interface Token {
  token: number;
  piece?: string;
  label?: number;
  before: number;
  after: number;
  log_change: number;
}

interface Compared {
  first: Input;
  second: Input;
  pairs: Pair[];
  divergences: (number | null)[];
  prediction?: { at: Pair; likelier: Token[]; less_likely: Token[] };
  heads: { layer: number; head: number; change: number; query: Pair; key: Pair }[];
  difference: number[][];
}

const compare = (model: string, ...args: string[]): string => succeeds(["compare", "--model", model, ...args]);
const json = (model: string, ...args: string[]): Compared => JSON.parse(compare(model, ...args, "--json")) as Compared;
const linesOf = (...args: string[]): string[] => compare(kTiny, ...args).trimEnd().split("\n");

/** The lines of the table after a line, as cells; the line of titles is left out. */
function tableAfter(lines: readonly string[], title: RegExp): string[][] {
  const rows = lines.slice(lines.findIndex((line) => title.test(line)) + 1);
  const table = rows.slice(rows[0] === "" ? 1 : 0);
  const end = table.indexOf("");
  return table.slice(1, end < 0 ? undefined : end).map((line) => line.trim().split(/ {2,}/));
}

const nameOf = ({ layer, head }: Compared["heads"][number]): string => `${layer}.${head}`;

/** The probability of every token after a position of a text, as `headlens predict` has them. */
function predicted(text: string, position: number): Map<number, number> {
  const at = ["--position", String(position), "--top", "2048", "--json"];
  const { predictions } = JSON.parse(succeeds(["predict", "--model", kTiny, "--text", text, ...at])) as {
    predictions: { token: number; probability: number }[];
  };
  return new Map(predictions.map(({ token, probability }) => [token, probability]));
}

/** The index of the number that is largest in absolute value. */
const largestOf = (numbers: readonly number[]): number =>
  numbers.reduce((best, number, i) => (Math.abs(number) > Math.abs(numbers[best] ?? 0) ? i : best), 0);

interface Run {
  logits: FileTensor;
  mapOf: (layer: number, head: number) => FileTensor;
}

/** The logits and maps of a run, as `headlens map` writes them. */
function filesOf(name: string, ...args: string[]): Run {
  const out = inFolder(`${name}.safetensors`);
  succeeds(["map", "--what", "maps,logits", "--out", out, ...args]);
  const file = readSafetensors(out);
  const mapOf = (layer: number, head: number): FileTensor => {
    const { dtype, data, shape: [, length = 0] } = tensorOf(file, `attentions.${layer}`);
    return { dtype, data: data.slice(head * length ** 2, (head + 1) * length ** 2), shape: [length, length] };
  };
  return { logits: tensorOf(file, "logits"), mapOf };
}

/** ln p of a row of logits. */
function logProbabilities({ data, shape: [, width = 0] }: FileTensor, row: number): number[] {
  const logits = [...data.slice(row * width, (row + 1) * width)];
  const most = Math.max(...logits);
  const all = most + Math.log(logits.reduce((sum, logit) => sum + Math.exp(logit - most), 0));
  return logits.map((logit) => logit - all);
}

function expectDivergences(got: Compared, a: FileTensor, b: FileTensor): void {
  const expected = got.pairs.map(([i, j]) => {
    const q = logProbabilities(b, j);
    return logProbabilities(a, i).reduce((sum, p, v) => sum + Math.exp(p) * (p - (q[v] ?? NaN)), 0);
  });
  const data = got.divergences.map((divergence) => divergence ?? NaN);
  expectClose("divergences", { data, shape: [data.length] }, { data: expected, shape: [expected.length] },
    64 * kEpsilon * maxNorm(a.data));
}

describe.each(["gpt2", "llama"])("the golden model %s", (name) => {
  const folder = `${kGolden}/models/${name}`;
  const expected = readSafetensors(`${folder}/expected.safetensors`);
  const golden = readSafetensors(`${folder}/explained.safetensors`);
  const run = ["--tokens", tensorOf(expected, "ids").data.join(",")];
  const [layer = 0, head = 0] = tensorOf(golden, "score.at").data;

  test.each([
    ["temperature", ["--temperature", "0.7"]],
    ["sparsemax", ["--normalizer", "sparsemax"]],
    ["zero", ["--replace-token", tensorOf(golden, "changed.tokens").data.join(",")]],
  ])("%s: a head's differences are those of PyTorch's maps", (kind, changes) => {
    const got = json(folder, ...run, ...changes, "--layer", String(layer), "--head", String(head));
    const changed = tensorOf(golden, `changed.${kind}.map`);
    const { data, shape: [, heads = 0, length = 0] } = tensorOf(expected, "weights");
    const at = (layer * heads + head) * length ** 2;
    const difference = { data: changed.data.map((weight, i) => weight - (data[at + i] ?? NaN)), shape: changed.shape };
    expect(got.pairs).toEqual([...Array(length).keys()].map((i) => [i, i]));
    const tolerance = 64 * kEpsilon * maxNorm(changed.data);
    expectClose(kind, { data: got.difference.flat(), shape: changed.shape }, difference, tolerance);
  });

  test("divergences are those of both runs' logits", () => {
    const changes = ["--ablate", `${layer}.${head}`, "--temperature", "0.5"];
    const [a, b] = [[], changes].map((more, i) => filesOf(`${name}${i}`, "--model", folder, ...run, ...more).logits);
    if (a && b) expectDivergences(json(folder, ...run, ...changes), a, b);
    expect(maxNorm(json(folder, ...run, ...changes).divergences.map((x) => x ?? NaN))).toBeGreaterThan(0.001);
  });
});

describe("two texts and the built-in model", () => {
  const kTexts = ["--text", kCat, "--with-text", kDog];
  const both = (...more: string[]): Compared => json(kTiny, ...kTexts, ...more);

  test("tokens are paired, divergences and the largest change of each head are those of both runs' files", () => {
    const got = both();
    expect(got.first.pieces?.[2]).toBe(" cat");
    expect(got.second.pieces?.slice(2, 4)).toEqual([" old", " dog"]);
    expect(got.pairs).toEqual([[0, 0], [1, 1], ...[3, 4, 5, 6, 7, 8, 9, 10, 11].map((i) => [i, i + 1])]);
    const [a, b] = [kCat, kDog].map((text, i) => filesOf(`tiny${i}`, "--model", kTiny, "--text", text));
    if (!a || !b) return;
    expectDivergences(got, a.logits, b.logits);
    expect(got.heads.map(nameOf)).toEqual([...Array(32).keys()].map((n) => `${n >> 3}.${n & 7}`));
    for (const { layer, head, change, query, key } of got.heads) {
      const [of, other] = [a.mapOf(layer, head), b.mapOf(layer, head)];
      const cell = (i: Pair, j: Pair): number =>
        (other.data[i[1] * 13 + j[1]] ?? NaN) - (of.data[i[0] * 12 + j[0]] ?? NaN);
      const all = got.pairs.flatMap((i) => got.pairs.map((j) => cell(i, j)));
      expect(change).toBeCloseTo(all[largestOf(all)] ?? NaN, 5);
      expect(change).toBeCloseTo(cell(query, key), 5);
    }
  });

  test("predictions are shown where they diverge most, or at a position", () => {
    const { pairs, divergences, prediction } = both();
    expect(prediction?.at).toEqual(pairs[largestOf(divergences.map((x) => x ?? NaN))]);
    const at = both("--position", "6", "--top", "2048").prediction;
    expect(at?.at).toEqual([6, 7]);
    const [before, after] = [predicted(kCat, 6), predicted(kDog, 7)];
    for (const [sign, list] of [[1, at?.likelier ?? []], [-1, at?.less_likely ?? []]] as const) {
      const changes = list.map((token) => sign * (token.after - token.before));
      expect(changes.every((change) => change >= 0)).toBe(true);
      expect(changes.every((change, i) => i === 0 || change <= (changes[i - 1] ?? 0) + kEpsilon)).toBe(true);
      for (const { token, before: p, after: q, log_change: ratio } of list) {
        expect(p).toBeCloseTo(before.get(token) ?? NaN, 6);
        expect(q).toBeCloseTo(after.get(token) ?? NaN, 6);
        if (p > 1e-6) expect(ratio).toBeCloseTo(Math.log(q / p), 3);
      }
    }
    expect((at?.likelier.length ?? 0) + (at?.less_likely.length ?? 0)).toBeGreaterThan(1000);
  });

  test("tables say the same in 80 columns: all tokens and heads, or those that differ most", () => {
    const got = both();
    const lines = linesOf(...kTexts);
    for (const line of lines) expect([...line].length).toBeLessThanOrEqual(80);
    expect(lines[0]).toBe("tokens: 12 in the first run, 13 in the second, 11 in both");
    const rows = tableAfter(lines, /^tokens: /);
    const shown = got.divergences.map((divergence) => divergence?.toFixed(4) ?? "");
    expect(rows.slice(0, 6)).toEqual([["0", "0", shown[0], "<s>"], ["1", "1", shown[1], "The"], ["2", "-", "·cat"],
      ["-", "2", "·old"], ["-", "3", "·dog"], ["3", "4", shown[2], "·sat"]]);
    expect(rows).toHaveLength(14);
    const heads = [...got.heads].sort((a, b) => Math.abs(b.change) - Math.abs(a.change));
    const names = tableAfter(lines, /^the weight of each head/);
    expect(names.map(([head]) => head)).toEqual(heads.map(nameOf));
    const [first] = heads;
    expect(names[0]?.slice(1, 4)).toEqual([
      `${(first?.change ?? 0) < 0 ? "" : "+"}${first?.change.toFixed(3)}`, String(first?.query[0]), String(first?.key[0])]);
    const few = linesOf(...kTexts, "--top", "2");
    expect(tableAfter(few, /^tokens: /).map((row) => row[2])).toEqual([...shown].sort().reverse().slice(0, 2));
    expect(tableAfter(few, /^the weight of each head/)).toEqual(names.slice(0, 2));
    const likelier = both("--top", "2").prediction?.likelier ?? [];
    expect(tableAfter(few, /^likelier in the second run/)).toEqual(likelier.map(({ token, before, after, piece = "" }) =>
      [before.toFixed(4), after.toFixed(4), String(token), piece.replace(" ", "·")]));
    expect(tableAfter(few, /^less likely in the second run/)).toHaveLength(2);
  });

  test("the weights of a head that change most", () => {
    const { difference, pairs } = both("--layer", "3", "--head", "2");
    const numbers = difference.flat();
    const lines = linesOf(...kTexts, "--layer", "3", "--head", "2", "--top", "5");
    const rows = tableAfter(lines, /^layer 3, head 2: the weights that change most, at positions of the first run$/);
    const sizes = numbers.map(Math.abs);
    const largest = [...numbers.keys()].sort((a, b) => (sizes[b] ?? 0) - (sizes[a] ?? 0)).slice(0, 5);
    expect(rows.map((row) => row.slice(0, 3))).toEqual(largest.map((place) => {
      const change = numbers[place] ?? NaN;
      const [i, j] = [pairs[Math.floor(place / pairs.length)], pairs[place % pairs.length]];
      return [`${change < 0 ? "" : "+"}${change.toFixed(3)}`, String(i?.[0]), String(j?.[0])];
    }));
    expect(tableAfter(linesOf(...kTexts, "--layer", "3", "--head", "2"), /^layer 3/)).toHaveLength(12);
    expect(linesOf(...kTexts, "--layer", "3", "--head", "2").join()).not.toContain("the weight of each head");
  });

  test("the second run has the changes, of its own positions", () => {
    const patched = both("--patch", "0.2@12", "--from-text", kDog);
    expect(patched).toEqual(both("--temperature", "1"));
    expect(both("--temperature", "0.5").divergences).not.toEqual(both().divergences);
    fails(["compare", "--model", kTiny, ...kTexts, "--replace-token", "13"], 2, /--replace-token is 13, expected 0 to 12/);
    fails(["compare", "--model", kTiny, ...kTexts, "--position", "12"], 2, /--position is 12, expected 0 to 11/);
  });

  test("equal runs do not differ", () => {
    const { divergences, prediction, heads } = json(kTiny, "--text", kCat, "--with-text", kCat);
    expect(divergences).toEqual(Array(12).fill(0));
    expect(prediction).toEqual({ at: [0, 0], likelier: [], less_likely: [] });
    expect(heads.every(({ change }) => change === 0)).toBe(true);
    expect(linesOf("--text", kCat, "--with-text", kCat)).toContain("none likelier in the second run");
  });

  test("texts without a common token are told apart", () => {
    const args = ["--tokens", "5,6", "--with-text", "dog"];
    expect(json(kTiny, ...args)).toMatchObject({ first: { tokens: [5, 6] }, pairs: [], divergences: [], heads: [] });
    expect(linesOf(...args)[0]).toBe("tokens: 2 in the first run, 3 in the second, 0 in both");
    for (const more of [[], ["--top", "1"]]) expect(linesOf(...args, ...more)).toHaveLength(8);
    expect(json(kTiny, ...args, "--layer", "0", "--head", "1").difference).toEqual([]);
    fails(["compare", "--model", kTiny, ...args, "--position", "1"], 2, /--position is 1, expected the position of a token that the second run has as well/);
  });

  test.each(["reference", "opencl"])("the %s backend finds the same", (backend) => {
    const [here, there] = [[], ["--backend", backend]].map((more) => both(...more));
    for (const [i, divergence] of (there?.divergences ?? []).entries())
      expect(divergence).toBeCloseTo(here?.divergences[i] ?? NaN, 4);
    for (const [i, { change }] of (there?.heads ?? []).entries())
      expect(Math.abs(change)).toBeCloseTo(Math.abs(here?.heads[i]?.change ?? NaN), 4);
  });
});

describe("a picture", () => {
  const model = `${kGolden}/models/vit`;
  beforeAll(() => {
    const { data, shape: [height = 0, width = 0] } = tensorOf(readSafetensors(`${model}/expected.safetensors`), "picture");
    const picture = new PNG({ width, height });
    picture.data.set(data);
    writeFileSync(inFolder("picture.png"), PNG.sync.write(picture));
  });

  test("is compared with itself in a changed run", () => {
    const picture = ["--image", inFolder("picture.png"), "--ablate", "0.1"];
    const { pairs, divergences, prediction, heads } = json(model, ...picture);
    expect(pairs).toHaveLength(10);
    expect([divergences.length, heads.length]).toEqual([1, 8]);
    expect(prediction?.at).toEqual([0, 0]);
    const labels = [...prediction?.likelier ?? [], ...prediction?.less_likely ?? []].map(({ label = NaN }) => label);
    expect(labels.sort()).toEqual([0, 1, 2]);
    expect(compare(model, ...picture)).toMatch(/CLS\n[^]*predictions at position 0 “CLS”/);
    fails(["compare", "--model", model, ...picture, "--position", "1"], 2, /--position is 1, expected 0 to 0/);
    fails(["compare", "--model", model, ...picture, "--with-text", "a"], 2, /--with-text is "a", expected none: the model reads pictures/);
  });
});

test("without logits there are maps alone", () => {
  const bare = ["--tokens", "5,6,7", "--ablate", "0.0"];
  const model = `${kGolden}/models/bert_bare`;
  const found = json(model, ...bare);
  expect(found.divergences).toEqual([]);
  expect(found.prediction).toBeUndefined();
  expect(found.heads.length).toBeGreaterThan(1);
  fails(["compare", "--model", model, ...bare, "--position", "1"], 2, /bert_bare: unsupported error: this bert model has no logits/);
});

test("names of tokens are safe to show", () => {
  for (const more of [[], ["--json"]]) {
    const shown = compare(kTiny, "--text", "a\u001b[31m\u202eb", "--with-text", "b\u001b[32m\u202ea", ...more);
    // oxlint-disable-next-line no-control-regex
    expect(shown).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u202e]/);
  }
});

describe("compare refuses", () => {
  const kWith = ["--with-text", kDog];

  test.each([
    [[], /--with-text is missing, expected a second text, or a change of the run, such as --ablate/],
    [[...kWith, "--layer", "1"], /--layer requires --head/],
    [[...kWith, "--head", "1"], /--head requires --layer/],
    [[...kWith, "--layer", "4", "--head", "1"], /--layer is 4, expected 0 to 3/],
    [[...kWith, "--layer", "1", "--head", "8"], /--head is 8, expected 0 to 7/],
    [[...kWith, "--layer=-1", "--head", "1"], /--layer is -1, expected 0 to 3/],
    [[...kWith, "--position", "2"], /--position is 2, expected the position of a token that the second run has as well/],
    [[...kWith, "--position=-1"], /--position is -1, expected 0 to 11/],
    [[...kWith, "--position", "99999999999999999999"], /--position/],
    [[...kWith, "--top", "0"], /--top/],
    [[...kWith, "--tokens", "1"], /--tokens|--text/],
  ])("%j", (args, message) => { fails(["compare", "--model", kTiny, "--text", kCat, ...args], 2, message); });

  test("texts that are too long, or that the model has no tokenizer for", () => {
    const compared = ["compare", "--model", kTiny, "--text", kCat, "--with-text"];
    fails([...compared, "cat ".repeat(300)], 2, /--with-text: value error: the input has 303 tokens, expected 1 to 256/);
    fails([...compared, "\u00ff".repeat(50_000)], 2, /--with-text: value error: the input has \d+ tokens, expected 1 to 256/);
    mkdirSync(inFolder("bare"));
    for (const file of ["config.json", "model.safetensors"]) copyFileSync(`${kTiny}/${file}`, inFolder(`bare/${file}`));
    const bare = ["compare", "--model", inFolder("bare"), "--tokens", "5,6"];
    fails([...bare, "--with-text", "a"], 2, /bare\/tokenizer\.json: No such file/);
    expect(succeeds([...bare, "--ablate", "0.1", "--top", "1"])).toMatch(/^ *first +second +id$/m);
  });
});
