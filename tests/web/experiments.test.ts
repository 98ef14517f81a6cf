// SPDX-License-Identifier: Apache-2.0
/**
 * Each experiment of the book on the real engine: its numbers are compared with small computations in double precision, and its
 * sentences are checked.
 */
import { load, type AsyncEngine, type Engine, type Tensor } from "headlens";
import { build } from "esbuild";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { kCatSatOnMat } from "../../web/views/cat-sat-on-mat.js";
import { countOperations, multiplications, prices } from "../../web/learn/experiments/index.js";
import { orderBlindness, orientation, saturation, sixSteps, variants } from "../../web/learn/experiments/index.js";
import type { Findings, Matrix } from "../../web/learn/experiments/index.js";
import { kBook } from "../../web/learn/book.js";
import { kFrench, translated } from "../../web/learn/chapters/kinds/translate.js";
import { exploreAddress, firstValues, type Control, type Lesson, type Value, type Values } from "../../web/learn/lesson.js";
import { builtIn } from "../../web/learn/models.js";
import { type Item, tablesOf } from "../../web/learn/scene.js";
import { readMaps } from "../../web/files/maps-file.js";
import { readState } from "../../web/state/state.js";
import { Draw } from "../../web/learn/experiments/numbers.js";
import { kEpsilon, kRoot, maxNorm } from "../compare.js";

let engine: Engine;
let remote: AsyncEngine;
beforeAll(async () => {
  engine = await load();
  remote = await load({ worker: true });
});
afterAll(() => {
  engine.dispose();
  remote.dispose();
});

type Rows = readonly (readonly number[])[];

const times = (a: Rows, b: Rows): number[][] =>
  a.map((row) => (b[0] ?? []).map((_, col) => row.reduce((sum, x, i) => sum + x * (b[i]?.[col] ?? NaN), 0)));
const turned = (a: Rows): number[][] => (a[0] ?? []).map((_, col) => a.map((row) => row[col] ?? NaN));
function softmax(row: readonly number[]): number[] {
  const powers = row.map((x) => Math.exp(x - Math.max(...row)));
  const sum = powers.reduce((a, b) => a + b, 0);
  return powers.map((x) => x / sum);
}
const single = (a: Rows): number[][] => a.map((row) => row.map(Math.fround));
const columns = (a: Rows, begin: number, end: number): number[][] => a.map((row) => row.slice(begin, end));
const entropy = (row: readonly number[]): number => -row.reduce((sum, p) => sum + (p > 0 ? p * Math.log(p) : 0), 0);

function find({ matrices }: Pick<Findings, "matrices">, name: string): Matrix {
  const names = matrices.map((one) => one.name);
  expect(new Set(names).size).toBe(names.length);
  const found = matrices.find((one) => one.name === name);
  if (!found) throw new Error(`no matrix “${name}” among ${names.join(", ")}`);
  expect(found.values.length).toBe(found.rows.length * found.cols.length);
  return found;
}

const figure = ({ figures }: Pick<Findings, "figures">, name: string): number =>
  figures.find((one) => one.name === name)?.value ?? NaN;

function expectMatrix(lesson: Pick<Findings, "matrices">, name: string, expected: Rows, tolerance = 64 * kEpsilon): void {
  const { values, rows } = find(lesson, name);
  expect(rows.length).toBe(expected.length);
  const bound = tolerance * Math.max(1e-3, maxNorm(expected.flat()));
  for (const [i, x] of expected.flat().entries())
    expect(Math.abs((values[i] ?? NaN) - x), `${name}[${i}]`).toBeLessThanOrEqual(bound);
}

function expectHolds({ observations }: Findings): void {
  for (const { holds, text } of observations) expect(holds, text).toBe(true);
}

describe("T0.5: saturation", () => {
  const widths = [4, 16, 64, 256, 1024];

  test("entropy falls and the gradient vanishes as d grows, unless scores are divided by √d", async () => {
    const lesson = await saturation(engine, { widths, queries: 32, keys: 16, seed: 5 });
    expectHolds(lesson);
    expect(figure(lesson, "entropy of equal weights, ln n")).toBe(Math.log(16));
    const draw = new Draw(5);
    for (const [index, width] of widths.entries()) {
      const [q, k] = [single(draw.rows(32, width)), single(draw.rows(16, width))];
      for (const [name, scale] of [["scores as they are", 1], ["scores ÷ √d", 1 / Math.sqrt(width)]] as const) {
        const scores = times(q, turned(k)).map((row) => row.map((x) => x * scale));
        const weights = scores.map(softmax);
        // Scores of this size have rounding errors of up to width · ε, and so do the weights.
        const rounding = 1e-6 + 4 * kEpsilon * maxNorm(scores.flat());
        expectMatrix(lesson, `weights, d = ${width}, ${name}`, weights, rounding);
        const mean = (of: (row: number[]) => number): number => weights.reduce((sum, row) => sum + of(row), 0) / 32;
        const table = find(lesson, name);
        const [, gotEntropy, gotLargest, gotGradient] = table.values.subarray(index * 4, index * 4 + 4);
        const close = (got: number | undefined, expected: number): void =>
          expect(Math.abs((got ?? NaN) - expected)).toBeLessThanOrEqual(16 * rounding + 1e-6);
        close(gotEntropy, mean(entropy));
        close(gotLargest, mean((row) => Math.max(...row)));
        // ‖diag(p) − p pᵀ‖² = Σ p² − 2 Σ p³ + (Σ p²)²
        const power = (row: number[], n: number): number => row.reduce((sum, p) => sum + p ** n, 0);
        const squared = (row: number[]): number => power(row, 2) - 2 * power(row, 3) + power(row, 2) ** 2;
        close(gotGradient, mean((row) => Math.sqrt(Math.max(0, squared(row)))));
      }
    }
  });

  test("one width proves nothing, and the lesson says so", async () => {
    const { observations } = await saturation(engine, { widths: [4] });
    expect(observations[1]?.holds).toBe(false);
    expect(observations[1]?.text).toContain("still answers");
  });
});

describe("T2.1: six steps", () => {
  test("every matrix, head by head", async () => {
    const lesson = await sixSteps(engine);
    expectHolds(lesson);
    expect(lesson.steps.length).toBe(6);
    const { x, wq, wk, wv, wo } = kCatSatOnMat;
    const joined: number[][] = [[], [], [], []];
    for (const head of [0, 1]) {
      const [q, k, v] = [wq, wk, wv].map((w) => times(x, columns(w, 2 * head, 2 * head + 2)));
      if (!q || !k || !v) throw new Error("three");
      const scores = times(q, turned(k)).map((row) => row.map((s) => s / Math.SQRT2));
      const weights = scores.map(softmax);
      const output = times(weights, v);
      output.forEach((row, t) => joined[t]?.push(...row));
      expectMatrix(lesson, `Q, head ${head}`, q);
      expectMatrix(lesson, `K, head ${head}`, k);
      expectMatrix(lesson, `V, head ${head}`, v);
      expectMatrix(lesson, `scores ÷ √d, head ${head}`, scores);
      expectMatrix(lesson, `weights, head ${head}`, weights);
      expectMatrix(lesson, `output, head ${head}`, output);
    }
    expectMatrix(lesson, "heads joined", joined);
    expectMatrix(lesson, "output", times(joined, wo));
    expect(figure(lesson, "parameters")).toBe(4 * 4 * 4);
  });

  test("the price of 8 heads at d = 512 is that of one", () => {
    const [tokens, width] = [10, 512];
    const heads = countOperations(tokens, width, 8);
    expect(heads.projections).toBe(8 * 3 * tokens * 512 * 64);
    expect(heads.scores).toBe(8 * tokens * tokens * 64);
    expect(heads.parameters).toBe(4 * 512 * 512);
    expect(multiplications(heads)).toBe(multiplications(countOperations(tokens, width, 1)));
    expect(multiplications(countOperations(tokens, width, 8, 512))).toBe(8 * multiplications(heads));
    expect([...prices(tokens, width, 8).values.subarray(4, 5)]).toEqual([4 * 10 * 512 * 512 + 2 * 100 * 512]);
  });

  test("the steps' operations add up to the price", async () => {
    const { steps, figures } = await sixSteps(engine);
    const total = steps.reduce((sum, step) => sum + step.operations, 0);
    expect(figure({ figures }, "multiplications")).toBe(total);
    expect(total).toBe(multiplications(countOperations(4, 4, 2)));
  });
});

describe("T3.5: rows and columns", () => {
  test("the same numbers, transposed", async () => {
    const lesson = await orientation(engine);
    expectHolds(lesson);
    const rows = find(lesson, "weights · V");
    const cols = find(lesson, "V · weights");
    expect([rows.rows, rows.cols]).toEqual([cols.cols, cols.rows]);
    for (let t = 0; t < 4; ++t)
      for (let i = 0; i < 3; ++i)
        expect(Math.abs((rows.values[t * 3 + i] ?? NaN) - (cols.values[i * 4 + t] ?? NaN))).toBeLessThan(1e-5);
    // The form with columns, computed from the matrices that are shown.
    const [q, k, v] = ["Q = X Ω_qᵀ + 1 β_qᵀ", "K = X Ω_kᵀ + 1 β_kᵀ", "V = X Ω_vᵀ + 1 β_vᵀ"].map((name) => {
      const { values } = find(lesson, name);
      return Array.from({ length: 4 }, (_, t) => [...values.subarray(3 * t, 3 * t + 3)]);
    });
    if (!q || !k || !v) throw new Error("three");
    const weights = times(q, turned(k)).map((row) => softmax(row.map((s) => s / Math.sqrt(3))));
    expectMatrix(lesson, "softmax of each column", turned(weights));
    expectMatrix(lesson, "weights · V", times(weights, v));
  });
});

const root = (width: number): number => 1 / Math.sqrt(width);
const added = (a: Rows, b: Rows): number[][] => a.map((row, r) => row.map((x, c) => x + (b[r]?.[c] ?? NaN)));
const scaled = (a: Rows, factor: number): number[][] => a.map((row) => row.map((x) => x * factor));

describe("T3.6: order", () => {
  const tokens = ["the", "woman", "ate", "the", "raccoon"];

  test("nothing sees it but positions do", async () => {
    const lesson = await orderBlindness(engine);
    expectHolds(lesson);
    expect(lesson.observations.map(({ text }) => text.split(":")[0])).toEqual(
      ["no positions", "sinusoidal", "learned", "relative bias", "T5’s buckets", "ALiBi", "rotary"]);
    const draw = new Draw(36);
    const [table, learned] = [draw.rows(4, 8), draw.rows(5, 8)];
    const [wq, wk] = [draw.rows(8, 8, root(8)), draw.rows(8, 8, root(8))];
    draw.rows(16, 8);
    const relative = draw.rows(2, 9)[0] ?? [];
    const x = [0, 1, 2, 0, 3].map((id) => table[id] ?? []);
    const wave = x.map((row, t) => row.map((_, i) => {
      const angle = t / 10000 ** (Math.floor(i / 2) / 4);
      return i % 2 ? Math.cos(angle) : Math.sin(angle);
    }));
    // Head 0 has columns 0 to 3. "half" rotates its pairs (0, 2) and (1, 3) by t and t / 100.
    const turn = (a: Rows): number[][] => a.map(([a0 = NaN, a1 = NaN, a2 = NaN, a3 = NaN], t) => {
      const [c, s, c2, s2] = [Math.cos(t), Math.sin(t), Math.cos(t / 100), Math.sin(t / 100)];
      return [a0 * c - a2 * s, a1 * c2 - a3 * s2, a2 * c + a0 * s, a3 * c2 + a1 * s2];
    });
    const same = (a: Rows): Rows => a;
    const weights = (input: Rows, place = same, bias = (_: number): number => 0): number[][] => {
      const [q, k] = [wq, wk].map((w) => place(times(input, columns(w, 0, 4))));
      const scores = scaled(times(q ?? [], turned(k ?? [])), 0.5);
      return scores.map((row, t) => softmax(row.map((score, s) => score + bias(t - s))));
    };
    const near = (name: string, expected: Rows): void => expectMatrix(lesson, `${name}: weights`, expected, 256 * kEpsilon);
    near("no positions", weights(x));
    near("sinusoidal", weights(added(x, wave)));
    near("learned", weights(added(x, learned)));
    near("relative bias", weights(x, same, (distance) => relative[4 + distance] ?? NaN));
    const buckets = columns(draw.rows(8, 2), 0, 1).flat();
    // Each side has four buckets: distances 0 and 1 have their own, and those from 2 to 15 share one.
    near("T5’s buckets", weights(x, same, (distance) => buckets[(distance < 0 ? 4 : 0) + Math.min(Math.abs(distance), 2)] ?? NaN));
    near("ALiBi", weights(x, same, (distance) => -Math.abs(distance) / 16));
    near("rotary", weights(x, turn));
    expect(find(lesson, "rotary: weights, other order").rows).toEqual(["the", "raccoon", "ate", "the", "woman"]);
  });

  test("the same order moves nothing, and the lesson says so", async () => {
    const { observations } = await orderBlindness(engine, { tokens, order: [0, 1, 2, 3, 4] });
    expect(observations.map((one) => one.holds)).toEqual([true, false, false, false, false, false, false]);
  });
});

describe("T3.8: variants", () => {
  test("normalisers side by side", async () => {
    const lesson = await variants.normalizers(engine);
    expectHolds(lesson);
    const scores = [1.2, 1, 0.1, -0.5, -2];
    // entmax: max(x/2 − τ, 0)², with τ found by bisection.
    const entmax = (tau: number): number[] => scores.map((x) => Math.max(x / 2 - tau, 0) ** 2);
    let [low, high] = [-2, 0.6];
    for (let i = 0; i < 60; ++i) {
      const middle = (low + high) / 2;
      if (entmax(middle).reduce((a, b) => a + b, 0) > 1) low = middle;
      else high = middle;
    }
    expectMatrix(lesson, "weights", [
      softmax(scores), [0.6, 0.4, 0, 0, 0], entmax(low), scores.map((x) => 1 / (1 + Math.exp(-x))),
      [...softmax([1.2, 1]), 0, 0, 0], [1, 0, 0, 0, 0],
    ]);
    expect(find(lesson, "measured").values[4]).toBe(3);
  });

  test("padding", async () => {
    const lesson = await variants.padding(engine);
    expectHolds(lesson);
    const draw = new Draw(82);
    const [wq, wk, wv, wo] = [1, 2, 3, 4].map(() => draw.rows(8, 8, root(8)));
    const x = draw.rows(3, 8);
    const [q, k, v] = [wq, wk, wv].map((w) => times(x, w ?? []));
    const weights = scaled(times(q ?? [], turned(k ?? [])), root(8)).map(softmax);
    expectMatrix(lesson, "alone", weights, 256 * kEpsilon);
    expectMatrix(lesson, "padded and masked", weights.map((row) => [...row, 0, 0]), 256 * kEpsilon);
    expectMatrix(lesson, "output, padded and masked", times(times(weights, v ?? []), wo ?? []), 256 * kEpsilon);
    expect(figure(await variants.padding(engine, { padding: 5 }), "weight on padding, masked")).toBe(0);
  });

  test("shared keys and values, from a cache", async () => {
    const [tokens, heads, groups] = [6, 8, [8, 2, 1]];
    const lesson = await variants.sharing(engine, { tokens, heads, groups, seed: 83 });
    expectHolds(lesson);
    const draw = new Draw(83);
    const x = draw.rows(tokens, 32);
    const [wq] = [draw.rows(32, 32, root(32)), draw.rows(32, 32, root(32))];
    const q = times(x, turned(wq.slice(0, 4)));
    for (const [index, group] of groups.entries()) {
      const [wk] = [draw.rows(4 * group, 32, root(32)), draw.rows(4 * group, 32, root(32))];
      const scores = scaled(times(q, turned(times(x, turned(wk.slice(0, 4))))), 0.5);
      const weights = scores.map((row, t) => softmax(row.map((score, s) => (s > t ? -Infinity : score))));
      const name = ["multi-head", "2 groups", "multi-query"][index] ?? "";
      expectMatrix(lesson, `${name}: head 0, a row each step`, weights, 256 * kEpsilon);
      // A token takes 2 · G · d numbers.
      const cached = find(lesson, "numbers in the cache").values.subarray(index * tokens, (index + 1) * tokens);
      expect([...cached]).toEqual([1, 2, 3, 4, 5, 6].map((length) => 2 * group * 4 * length));
    }
  });

  test("patches", async () => {
    const lesson = await variants.patches(engine);
    expectHolds(lesson);
    const { rows, across } = variants.patchify(variants.kTwoSquares, 4);
    expect([rows.length, rows[0]?.length, across]).toEqual([64, 48, 8]);
    // Pixel (y, x) of the image is in patch (y/4, x/4) at (y mod 4, x mod 4).
    const { data } = variants.kTwoSquares;
    const red = (y: number, x: number): number => (data[(y * 32 + x) * 4] ?? NaN) / 255;
    for (let y = 0; y < 32; ++y)
      for (let x = 0; x < 32; ++x)
        expect(rows[(y >> 2) * 8 + (x >> 2)]?.[((y & 3) * 4 + (x & 3)) * 3]).toBe(red(y, x));
    const centre = turned(rows).map((column) => column.reduce((a, b) => a + b, 0) / 64);
    const x = rows.map((row) => row.map((value, i) => value - (centre[i] ?? NaN)));
    const weights = scaled(times(x, turned(x)), 4 * root(48)).map(softmax);
    expectMatrix(lesson, "weights", weights, 256 * kEpsilon);
    const row = weights[18] ?? [];
    const grid = [0, 1, 2, 3, 4, 5, 6, 7].map((r) => row.slice(8 * r, 8 * r + 8));
    expectMatrix(lesson, "where patch 2,2 looks", grid, 256 * kEpsilon);
  });

  test("an image of one colour has no like and unlike, and the lesson says so", async () => {
    const { observations } = await variants.patches(engine, { image: variants.picture(8, []), query: 0 });
    expect(observations[0]?.holds).toBe(false);
  });

  test("images that do not fit", async () => {
    const image = variants.picture(8, []);
    for (const patch of [0, -4, 3, 0.5, NaN])
      expect(() => variants.patchify(image, patch)).toThrow("do not fill an image of 8 by 8");
    expect(() => variants.patchify({ ...image, width: 16 }, 4)).toThrow("has 512 bytes, not 256");
    expect(() => variants.patchify(variants.picture(65, []), 1)).toThrow("at most 4096");
    await expect(variants.patches(engine, { image, query: 4 })).rejects.toThrow("patches 0 to 3");
  });

  test("text looks at an image", async () => {
    const lesson = await variants.textAndImage(engine);
    expectHolds(lesson);
    const { rows } = variants.patchify(variants.kThreeSquares, 4);
    const channel = (row: number[], c: number): number[] => row.filter((_, i) => i % 3 === c);
    const colours = rows.map((row) => [0, 1, 2].map((c) => channel(row, c).reduce((a, b) => a + b, 0) / 16));
    const weights = turned(colours).map((values) => softmax(values.map((value) => 16 * value * root(3))));
    expectMatrix(lesson, "weights", weights, 256 * kEpsilon);
    expectMatrix(lesson, "what they bring back", times(weights, colours), 256 * kEpsilon);
  });

  test("head pruning", async () => {
    const lesson = await variants.pruning(engine, { tokens: 6, heads: 8, fading: 0.6, seed: 86 });
    expectHolds(lesson);
    const draw = new Draw(86);
    const [square, wq, wk, wv] = [1, 2, 3, 4].map(() => draw.rows(32, 32, root(32)));
    const x = draw.rows(6, 32);
    const parts = [0, 1, 2, 3, 4, 5, 6, 7].map((head) => {
      const [q, k, v] = [wq, wk, wv].map((w) => times(x, columns(w ?? [], 4 * head, 4 * head + 4)));
      const weights = scaled(times(q ?? [], turned(k ?? [])), 0.5).map(softmax);
      return times(times(weights, v ?? []), scaled((square ?? []).slice(4 * head, 4 * head + 4), 0.6 ** head)).flat();
    });
    const norm = (heads: readonly number[]): number =>
      Math.hypot(...(parts[0] ?? []).map((_, i) => heads.reduce((sum, head) => sum + (parts[head]?.[i] ?? NaN), 0)));
    const whole = norm([0, 1, 2, 3, 4, 5, 6, 7]);
    expectMatrix(lesson, "output changes without", parts.map((_, head) => [norm([head]) / whole]), 256 * kEpsilon);
    for (const [name, best] of [["least important first", Math.min], ["most important first", Math.max]] as const) {
      const gone: number[] = [];
      const { values } = find(lesson, name);
      for (let step = 0; step < 8; ++step) {
        const left = [0, 1, 2, 3, 4, 5, 6, 7].filter((head) => !gone.includes(head));
        gone.push(values[2 * step] ?? NaN);
        expect(left).toContain(gone[step]);
        const change = norm(gone) / whole;
        expect(change).toBeCloseTo(best(...left.map((head) => norm([...gone.slice(0, -1), head]) / whole)), 5);
        expect(values[2 * step + 1]).toBeCloseTo(change, 5);
      }
    }
  });
});

const lessons = kBook.flatMap((chapter) => Object.entries(chapter.lessons));

test.each(lessons)("the lesson %s is the same in a worker's engine", async (_, load) => {
  const { default: lesson } = await load();
  const values = firstValues(lesson.controls);
  const [here, there] = [await lesson.run(engine, values), await lesson.run(remote, values)];
  // Functions, which word a step, are not the same objects.
  expect(JSON.stringify(there)).toBe(JSON.stringify(here));
  for (const { holds, text } of here.says) expect(holds, text).toBe(true);
});

/** The items that light up when their names in the formula are pointed at. */
const nameOf = (item: Item | string): string | undefined => {
  if (typeof item === "string") return undefined;
  if (item.kind === "table") return item.matrix.name;
  return item.kind === "plane" || item.kind === "note" ? undefined : item.name;
};

function endsOf(control: Control): readonly Value[] {
  if (control.kind === "slider") return [control.min, control.max];
  if (control.kind === "steps") return control.values;
  if (control.kind === "choice") return Object.keys(control.options);
  return control.kind === "switch" ? [!control.value] : [];
}

/** The first state of a lesson, and those in which one control is at an end or at another choice. */
function statesOf({ controls }: Lesson): Values[] {
  const start = firstValues(controls);
  const others = Object.entries(controls).flatMap(([name, control]) =>
    endsOf(control).map((value) => ({ ...start, [name]: value })));
  return [start, ...others];
}

test.each(lessons)("the formula of the lesson %s names items of its figure in each state", async (_, load) => {
  const { default: lesson } = await load();
  const partsOf = (values: Values): string[] =>
    [...lesson.formula(values).matchAll(/\{([^}]+)\}/g)].map(([, name = ""]) => name);
  expect(partsOf(firstValues(lesson.controls))).not.toEqual([]);
  for (const values of statesOf(lesson)) {
    const { rows } = await lesson.run(engine, values);
    const names = rows.flatMap(({ items }) => items).map(nameOf);
    for (const part of partsOf(values)) expect(names, JSON.stringify(values)).toContain(part);
  }
});

test.each(lessons)("the lesson %s leads to Explore in each state, with the maps that it hands over", async (_, load) => {
  const { default: lesson } = await load();
  for (const values of statesOf(lesson)) {
    const scene = await lesson.run(engine, values);
    const { src, view } = readState(new URLSearchParams(exploreAddress(lesson, values, scene)));
    expect(view).toBeTruthy();
    if (!lesson.exploreMaps) continue;
    const given = await readMaps(new Uint8Array(await (await fetch(src ?? "")).arrayBuffer()), "the data");
    const { data, shape } = given.weights as Tensor;
    const tables = tablesOf(scene.rows);
    const valuesOf = (name: string): Float32Array | undefined =>
      tables.find(({ matrix }) => matrix.name === name)?.matrix.values;
    const maps = lesson.exploreMaps.map((name) => valuesOf(name) ?? []);
    expect(shape).toEqual([maps.length, given.tokens?.length, given.keyTokens?.length]);
    expect(data).toEqual(Float32Array.from(maps.flatMap((values) => [...values])));
  }
});

test.each(Object.entries(kFrench))("the translator writes what the links to Explore have it write: %s", async (source, text) => {
  const model = await builtIn(engine, "tiny-translator");
  const seen = await model.attend({ source, target: text });
  const read = seen.tokens.slice(1).map((token) => token.trim());
  seen.dispose();
  const written = await translated(engine, source, ({ target }) => Promise.resolve(target.slice(1)));
  expect(written).toEqual(read);
});

test("lessons leave nothing behind", async () => {
  const all = await Promise.all(lessons.map(async ([, load]) => (await load()).default));
  const run = async (): Promise<void> => {
    for (const lesson of all) await lesson.run(engine, firstValues(lesson.controls));
  };
  for (let round = 0; round < 3; ++round) await run();
  // A block that is allocated again may use a hole that is a few bytes larger, which then counts as its own. That
  // growth comes to an end, while a leak of the smallest block in each round does not.
  const before = engine.heapBytes(), rounds = 8, smallestBlock = 16;
  for (let round = 0; round < rounds; ++round) await run();
  expect(engine.heapBytes()).toBeLessThan(before + rounds * smallestBlock);
});

test("a page takes the experiments in as they are: no engine of their own, no library, nothing of the page", async () => {
  const entry = `${kRoot}web/learn/experiments/index.ts`;
  const options = { bundle: true, format: "esm", target: "es2022", write: false, metafile: true } as const;
  const { metafile } = await build({ ...options, entryPoints: [entry], platform: "browser", absWorkingDir: kRoot });
  const foreign = Object.keys(metafile.inputs).filter((path) => !path.startsWith("web/learn/experiments/"));
  expect(foreign.sort()).toEqual(["web/maps/format.ts", "web/views/cat-sat-on-mat.ts"]);
});
