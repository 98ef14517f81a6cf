// SPDX-License-Identifier: Apache-2.0
/** The room that draws maps, without a browser: colours, scales, pooling, masks, tiles' places and the viewport. */
import { load } from "headlens";
import { expect, test } from "vitest";
import { codesOf, lookOf } from "../../web/maps/canvas.js";
import { givenMaps, type GivenWeights } from "../../web/maps/given.js";
import { causalMask, givenMask, kOpen } from "../../web/maps/mask.js";
import { kInfinite, kMasked, kMinusInfinite, kNaN, kSteps, paletteOf } from "../../web/maps/palette.js";
import { codeIn, placeOf, rampOf, scaleInWords, scaleOf, valueAt } from "../../web/maps/scale.js";
import { blockBegin, type MapSource, type Overview, type Part, type Picture, type Range, type Size } from "../../web/maps/source.js";
import { pooled, type WholeMap } from "../../web/maps/whole.js";
import { kAttributes, kInitial, readState, writeState } from "../../web/state/state.js";
import { fittingCell, isWhole, panned, settled, showing, shownPart, zoomed } from "../../web/maps/viewport.js";

const kPlain = { tokens: undefined, keyTokens: undefined, mask: undefined, causal: false };

test("the palettes are the engine's own, byte by byte", async () => {
  const engine = await load();
  for (const colormap of ["sequential", "diverging"] as const) {
    for (const theme of ["light", "dark"] as const) {
      const bar = engine.colorbar(kSteps, { colormap, theme });
      expect([...paletteOf(colormap, theme).bytes.subarray(0, kSteps * 4)], `${colormap} ${theme}`).toEqual([...bar]);
    }
  }
  engine.dispose();
});

test("masked, NaN and the infinities look like nothing else, in both themes", () => {
  for (const theme of ["light", "dark"] as const) {
    for (const colormap of ["sequential", "diverging"] as const) {
      const { bytes } = paletteOf(colormap, theme);
      const rgb = (code: number): number[] => [...bytes.subarray(code * 4, code * 4 + 3)];
      const apart = (a: number[], b: number[]): number => Math.hypot(...a.map((value, i) => value - (b[i] ?? 0)));
      const odd = [kNaN, kInfinite, kMinusInfinite];
      for (const code of odd) {
        for (let step = 0; step < kSteps; step++) expect(apart(rgb(code), rgb(step))).toBeGreaterThan(45);
        for (const other of odd) if (other !== code) expect(apart(rgb(code), rgb(other))).toBeGreaterThan(45);
      }
      expect(bytes[kMasked * 4 + 3]).toBe(0);
    }
  }
});

const kFacts = { largest: Float32Array.of(1, 0.5, 0.25, 0.125), keys: Float32Array.of(1, 2, 3, 4), signed: false };

test("a scale is chosen as it is said to be", () => {
  expect(scaleOf("auto", kFacts, 32, () => 1)).toMatchObject({ kind: "fixed", min: 0, max: 1 });
  // The first row has no choice of keys, so that its 1 says nothing.
  expect(scaleOf("auto", kFacts, 33, () => 1)).toMatchObject({ kind: "head", min: 0, max: 0.5 });
  expect(scaleInWords(scaleOf("head", kFacts, 33, () => 1))).toBe("0 – 0.50, this head");
  expect(scaleOf("log", kFacts, 4, () => 1)).toMatchObject({ kind: "log", min: 1e-4, max: 1 });
  const row = scaleOf("row", kFacts, 4, () => 1);
  expect(placeOf(row, 0.125, 3)).toBe(1);
  expect(placeOf(row, 0.125, 1)).toBe(0.5);
  const hundred = Float32Array.from({ length: 100 }, (_, i) => i / 100);
  const percentile = { largest: hundred, keys: new Float32Array(100).fill(9), signed: false };
  expect(scaleOf("head", percentile, 100, () => 1).max).toBeCloseTo(0.94, 6);
  const none = { largest: new Float32Array(3), keys: new Float32Array(3), signed: false };
  expect(scaleOf("head", none, 100, () => 1).max).toBe(1);
});

test("the legend's values are those of its colours, on every scale", () => {
  const signed = { ...kFacts, signed: true };
  for (const facts of [kFacts, signed]) {
    for (const choice of ["fixed", "head", "log"] as const) {
      const scale = scaleOf(choice, facts, 100, () => 2);
      for (const place of [0, 0.25, 0.5, 1]) expect(placeOf(scale, valueAt(scale, place))).toBeCloseTo(place, 6);
    }
  }
  const scale = scaleOf("fixed", kFacts, 4, () => 1);
  expect([0, 0.25, 1, 7, NaN, Infinity, -Infinity].map((value) => codeIn(rampOf(scale), value, scale.max))).toEqual([
    0, 128, 255, 255, kNaN, kInfinite, kMinusInfinite,
  ]);
});

/** Numbers that are the same in every run, from 0 to 1. */
function randoms(seed: number): () => number {
  let state = seed;
  return () => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) / 2 ** 32;
}

test("given arrays are pooled to the largest magnitude of each block, and NaN stays", async () => {
  const random = randoms(3);
  const [rows, cols] = [53, 91];
  const data = Float32Array.from({ length: rows * cols }, () => random() - 0.5);
  data[17] = NaN;
  const { maps } = givenMaps({ weights: { data, shape: [rows, cols] }, ...kPlain, causal: true });
  const part = { rows: [3, 50], cols: [1, 88] } as const;
  const { values, size } = await maps.part(0, 0, part, [10, 7]);
  for (let i = 0; i < size[0]; i++) {
    for (let j = 0; j < size[1]; j++) {
      let expected = NaN;
      for (let row = 3 + blockBegin(i, 47, 10); row < 3 + blockBegin(i + 1, 47, 10); row++)
        for (let col = 1 + blockBegin(j, 87, 7); col < 1 + blockBegin(j + 1, 87, 7); col++) {
          if (col > row) continue;
          const value = data[row * cols + col] ?? 0;
          if (Number.isNaN(expected) || Math.abs(value) > Math.abs(expected)) expected = value;
        }
      expect(values[i * size[1] + j], `${i}, ${j}`).toBe(expected);
    }
  }
  const [overview] = await maps.overviews(0, [0, 1], [53, 91]);
  expect(overview?.keys[10]).toBe(11);
  expect(overview?.picture.values[17]).toBeNaN();
});

/** Pools a part by looking at each block alone: its largest by magnitude, or NaN where there is one or nothing is seen. */
function pooledPlainly(map: WholeMap, { rows, cols: across }: Part, size: Size): number[] {
  const { values, known, mask, size: [, cols] } = map;
  const cellsOf = ([begin, end]: Range, block: number, blocks: number): number[] => {
    const [from, to] = [blockBegin(block, end - begin, blocks), blockBegin(block + 1, end - begin, blocks)];
    return Array.from({ length: to - from }, (_, index) => begin + from + index);
  };
  return Array.from({ length: size[0] * size[1] }, (_, index) => {
    const [i, j] = [Math.floor(index / size[1]), index % size[1]];
    const cells = cellsOf(rows, i, size[0]).flatMap((row) =>
      cellsOf(across, j, size[1]).map((col) => [row, col] as const));
    const seen = cells
      .filter(([row, col]) => !mask.hides(row, row + 1, col, col + 1) && known?.[row * cols + col] !== 0)
      .map(([row, col]) => values[row * cols + col]!);
    const isNaN = seen.length === 0 || seen.some(Number.isNaN);
    return isNaN ? NaN : seen.reduce((most, value) => (Math.abs(value) > Math.abs(most) ? value : most));
  });
}

test("any part of any map is pooled to what its blocks hold", () => {
  const random = randoms(7);
  const upTo = (most: number): number => 1 + Math.floor(random() * most);
  for (let round = 0; round < 600; round++) {
    const [height, width, signed] = [upTo(17), upTo(17), round % 2 === 1];
    const odd = [NaN, Infinity, 0, ...(signed ? [-Infinity, -0] : [])];
    const length = height * width;
    const values = Float32Array.from({ length }, () => odd[Math.floor(random() * 40)] ?? random() - (signed ? 0.5 : 0));
    // NaN has many bit patterns, and this one has no larger one.
    new Int32Array(values.buffer).forEach((_, at, bits) => random() < 0.02 && (bits[at] = 0x7fffffff));
    const known = round % 3 === 0 ? Uint8Array.from({ length }, () => Number(random() < 0.7)) : undefined;
    const given = givenMask(Array.from({ length }, () => random() < 0.6), width);
    const mask = [kOpen, causalMask(), causalMask(3), given][round % 4]!;
    const map: WholeMap = { values, known, mask, signed, size: [height, width] };
    const [top, left] = [upTo(height) - 1, upTo(width) - 1];
    const part: Part = { rows: [top, top + upTo(height - top)], cols: [left, left + upTo(width - left)] };
    const { values: numbers, size } = pooled(map, part, [upTo(17), upTo(17)]);
    expect([...numbers].map((value) => value + 0), `round ${round}`).toEqual(pooledPlainly(map, part, size).map((value) => value + 0));
  }
});

test("a block is hatched only when all of its cells are masked", () => {
  const mask = causalMask(4);
  for (let row = 0; row < 12; row++) {
    const [first = 0, last = 0] = mask.visible?.(row, row + 1) ?? [];
    for (let col = 0; col < 12; col++) {
      expect(mask.hides(row, row + 1, col, col + 1)).toBe(col > row || col <= row - 4);
      expect(col < first || col >= last).toBe(col > row || col <= row - 4);
    }
  }
  expect(mask.hides(0, 4, 4, 8)).toBe(true);
  expect(mask.hides(0, 5, 4, 8)).toBe(false);
  expect(mask.hides(8, 12, 0, 5)).toBe(true);
  expect(mask.hides(8, 12, 0, 6)).toBe(false);
});

/** The maps of four kinds of heads, softmaxed rows with noise, causal. */
const kKinds = {
  diagonal: (row: number, col: number) => (col === row - 1 ? 4 : 0),
  sink: (_: number, col: number) => (col === 0 ? 5 : 0),
  induction: (row: number, col: number, length: number) => (col === row - length / 2 + 1 ? 6 : 0),
  uniform: () => 0,
} as const;

async function overviewOf(kind: keyof typeof kKinds, length: number): Promise<{ maps: MapSource; overview: Overview }> {
  const random = randoms(length);
  const data = new Float32Array(length * length);
  for (let row = 0; row < length; row++) {
    let sum = 0;
    for (let col = 0; col <= row; col++) {
      // The logarithm keeps a link as strong in a long row as in a short one.
      const lift = kKinds[kind](row, col, length);
      const score = Math.exp((lift > 0 ? lift + Math.log(row + 1) - Math.log(64) : 0) + 0.5 * random());
      data[row * length + col] = score;
      sum += score;
    }
    for (let col = 0; col <= row; col++) data[row * length + col] = (data[row * length + col] ?? 0) / sum;
  }
  const { maps } = givenMaps({ weights: { data, shape: [length, length] }, ...kPlain, causal: true });
  const [overview] = await maps.overviews(0, [0, 1], [112, 112]);
  if (!overview) throw new Error("no overview");
  return { maps, overview };
}

/** The mean of the palette's steps over the blocks with a cell on the pattern, and over all other visible blocks. */
function contrast(
  picture: Picture, maps: MapSource, overview: Overview, on: (row: number, col: number) => boolean,
): [number, number] {
  const length = maps.tokens.length;
  const scale = scaleOf("auto", overview, length, () => 1);
  const sums = [0, 0, 0, 0];
  const [rows, cols] = picture.size;
  codesOf(picture, lookOf(scale, maps.maskOf(0), { theme: "light" })).forEach((code, index) => {
    if (code === kMasked) return;
    const [i, j] = [Math.floor(index / cols), index % cols];
    let isOn = false;
    for (let row = blockBegin(i, length, rows); row < blockBegin(i + 1, length, rows); row++)
      for (let col = blockBegin(j, length, cols); col < blockBegin(j + 1, length, cols); col++) isOn ||= on(row, col);
    sums[isOn ? 0 : 2]! += code;
    sums[isOn ? 1 : 3]!++;
  });
  const [on1 = 0, onCount = 1, off = 0, offCount = 1] = sums;
  return [on1 / Math.max(onCount, 1), off / Math.max(offCount, 1)];
}

test.each([64, 256, 1024, 4096])("diagonal, sink, induction and uniform heads are recognised at %i tokens", async (length) => {
  const patterns = {
    diagonal: (row: number, col: number) => col === row - 1,
    sink: (row: number, col: number) => col === 0 && row > 0,
    induction: (row: number, col: number) => col === row - length / 2 + 1 && col > 0,
  };
  for (const kind of ["diagonal", "sink", "induction"] as const) {
    const { maps, overview } = await overviewOf(kind, length);
    for (const [name, on] of Object.entries(patterns)) {
      const [pattern, rest] = contrast(overview.picture, maps, overview, on);
      if (name === kind) expect(pattern - rest, `${kind} stands out`).toBeGreaterThan(80);
      else expect(pattern - rest, `${kind} is not ${name}`).toBeLessThan(60);
    }
  }
  const { maps, overview } = await overviewOf("uniform", length);
  for (const [name, on] of Object.entries(patterns)) {
    const [pattern, rest] = contrast(overview.picture, maps, overview, on);
    expect(Math.abs(pattern - rest), `uniform is not ${name}`).toBeLessThan(80);
    // A broad head is no blank square: its cells can be told from zero.
    expect(rest).toBeGreaterThan(40);
  }
}, 60_000);

test("ragged layers, and arrays that do not fit, are read or refused in words", async () => {
  const array = (...shape: number[]): { data: Float32Array; shape: number[] } => {
    return { data: new Float32Array(shape.reduce((a, b) => a * b, 1)).fill(0.5), shape };
  };
  const { maps } = givenMaps({ weights: [array(2, 3, 4), array(5, 3, 4)], ...kPlain });
  expect(maps.heads).toEqual([2, 5]);
  expect((await maps.overviews(1, [4, 5], [9, 9]))[0]?.picture.size).toEqual([3, 4]);
  const refused = (given: Partial<GivenWeights> & Pick<GivenWeights, "weights">): (() => unknown) => {
    return () => givenMaps({ ...kPlain, ...given });
  };
  expect(refused({ weights: [] })).toThrow("an empty list");
  expect(refused({ weights: [array(2, 3, 4), array(2, 4, 4)] })).toThrow("weights[1] has shape (2, 4, 4), expected (H, 3, 4)");
  expect(refused({ weights: array(7) })).toThrow("weights has shape (7,), expected (T, S), (H, T, S) or (L, H, T, S)");
  expect(refused({ weights: array(3, 4), mask: array(4, 3) })).toThrow("mask has shape (4, 3) and 12 values, expected (3, 4)");
});

test("the state goes into an address and comes back, and what is usual is left out", () => {
  const state = { ...kInitial, text: "a & b = ü\u2028", layer: 3, causal: true, scale: "row" };
  const address = writeState(state);
  expect([...address.keys()]).toEqual(["text", "layer", "causal", "scale"]);
  expect({ ...kInitial, ...readState(new URLSearchParams(address.toString())) }).toEqual(state);
  expect(writeState(state, state).toString()).toBe("");
  expect(writeState({ layer: 0 }, {}).toString()).toBe("layer=0");
  expect(readState(new URLSearchParams("layer=x&head=&causal=false&other=1"))).toEqual({ layer: NaN, head: NaN, causal: false });
  expect(kAttributes.layer.converter.fromAttribute(null)).toBe(0);
  expect(kAttributes.layer.converter.toAttribute(0)).toBe(null);
  expect(kAttributes.layer.converter.toAttribute(3)).toBe("3");
  expect(kAttributes.causal.converter.fromAttribute("")).toBe(true);
});

test("the viewport zooms around a point, moves within the map, and keeps proportions", () => {
  const whole = settled({ map: [1000, 2000], width: 600, height: 500, cell: 0, row: 0, col: 0 });
  expect(whole.cell).toBeCloseTo(0.3, 9);
  expect(isWhole(whole)).toBe(true);
  const near = zoomed(whole, 20, 150, 120);
  expect(near.row + 120 / near.cell).toBeCloseTo(whole.row + 120 / whole.cell, 6);
  expect(near.col + 150 / near.cell).toBeCloseTo(whole.col + 150 / whole.cell, 6);
  expect(isWhole(near)).toBe(false);
  expect(panned(near, 1e6, 1e6)).toMatchObject({ row: 0, col: 0 });
  const end = panned(near, -1e6, -1e6);
  expect(end.row + 500 / end.cell).toBeCloseTo(1000, 6);
  expect(shownPart(end).rows[1]).toBe(1000);
  const { rows, cols } = shownPart(showing(near, 990, 5));
  expect(rows[0] <= 990 && 990 < rows[1] && cols[0] <= 5 && 5 < cols[1]).toBe(true);
  expect(zoomed(near, 1e-9, 0, 0)).toMatchObject({ cell: whole.cell, row: 0, col: 0 });
  // A very long map is not squeezed to less than can be seen: it is as high as kMinSide, and longer than the space.
  expect(fittingCell([2, 16384], 600, 500) * 2).toBe(16);
});
