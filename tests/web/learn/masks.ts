// SPDX-License-Identifier: Apache-2.0
import { describe, expect, test } from "vitest";
import { kCatSatOnMat } from "../../../web/views/cat-sat-on-mat.js";
import { type Book, expectPrinted } from "./book.js";

/** Double precision, for numbers of a few digits. */
const softmax = (row: readonly number[]): number[] => {
  const powers = row.map((score) => Math.exp(score - Math.max(...row)));
  return powers.map((power) => power / powers.reduce((a, b) => a + b));
};
const times = (a: readonly (readonly number[])[], b: readonly (readonly number[])[]): number[][] =>
  a.map((row) => (b[0] ?? []).map((_, col) => row.reduce((sum, value, i) => sum + value * (b[i]?.[col] ?? NaN), 0)));
const sums = (rows: readonly (readonly number[])[]): number[] => rows.map((row) => row.reduce((a, b) => a + b, 0));

/** The weights of a head of the four words under a causal mask. */
function causalWeights(head: number): number[][] {
  const { x, wq, wk } = kCatSatOnMat;
  const part = (w: readonly (readonly number[])[]): number[][] =>
    times(x, w).map((row) => row.slice(2 * head, 2 * head + 2));
  const [q, k] = [part(wq), part(wk)];
  return q.map((query, row) => softmax(k.map((key, col) =>
    (col > row ? -Infinity : ((query[0] ?? 0) * (key[0] ?? 0) + (query[1] ?? 0) * (key[1] ?? 0)) / Math.SQRT2))));
}

export function readMasks(book: Book): void {
  describe("masks", () => {
    readOrder(book);
    readBatches(book);
    readRest(book);
  });
}

function readOrder(book: Book): void {
  test("T0.4: zeros above the diagonal and rows that sum to 1, in each head by itself", async () => {
    const lesson = await book.lesson("masks", "causal");
    expectPrinted(await lesson.numbers("weights 0"), causalWeights(0), 2);
    expectPrinted(await lesson.numbers("weights 1"), causalWeights(1), 2);
    expect((await lesson.numbers("scores 1"))[0]?.slice(1)).toEqual([-Infinity, -Infinity, -Infinity]);
    expect(await lesson.point("weights 0", 1, 2)).toContain("a masked key gets nothing");
    const before = await lesson.numbers("weights 0");
    await lesson.type("mat", 0, 1, -2);
    const after = await lesson.numbers("weights 0");
    expect(after.slice(0, 3)).toEqual(before.slice(0, 3));
    expect(after[3]).not.toEqual(before[3]);
    expect((await lesson.says())[1]).toBe("Changing mat moved the outputs of mat. Earlier words did not notice.");
    await lesson.set("causal", false);
    expect((await lesson.says())[1]).toBe("Changing mat moved the outputs of cat, sat, on, mat. Earlier words saw it.");
    expect((await lesson.numbers("weights 0"))[0]?.[3]).toBeGreaterThan(0);
    expect(await lesson.answer(1)).toMatch(/^Yes/);
  });

  test("T0.4: a mask after the softmax leaves rows short, and lets hidden scores in", async () => {
    const lesson = await book.lesson("masks", "mask-first");
    expect((await lesson.numbers("sum of weights")).flat()).toEqual([1, 1, 1, 1]);
    const open = (await lesson.numbers("scores")).map(softmax);
    const late = open.map((row, query) => row.map((weight, key) => (key > query ? 0 : weight)));
    expectPrinted(await lesson.numbers("late weights"), late, 2);
    expectPrinted(await lesson.numbers("sum of late weights"), sums(late).map((sum) => [sum]), 2);
    const [first] = await lesson.numbers("weights");
    await lesson.type("scores", 0, 3, 6);
    expect((await lesson.numbers("weights"))[0]).toEqual(first);
    expect((await lesson.numbers("late weights"))[0]?.[0]).toBeLessThan(late[0]?.[0] ?? 0);
    await lesson.choose("late", "again");
    expect(await lesson.numbers("late weights")).toEqual(await lesson.numbers("weights"));
    expect(await lesson.isAsExpected()).toBe(true);
    await lesson.type("scores", 0, 3, 130);
    expect((await lesson.numbers("late weights"))[0]?.[0]).toBeNaN();
    expect((await lesson.says())[1]).toContain("0 ÷ 0");
    expect(await lesson.answer(2)).toMatch(/^Yes/);
  });
}

const shapesOf = (texts: readonly string[]): string[] => texts.map((text) => text.replaceAll(/[^\d]+/g, " ").trim());

function readBatches(book: Book): void {
  test("T1.1: padding gets no weight; (4,16,128) with 8 heads gives weights (4,8,16,16)", async () => {
    const lesson = await book.lesson("masks", "padding");
    expect(shapesOf(await lesson.texts(".shape li b")).join(" ")).toBe("4 16 128 4 16 4 8 16 16");
    expect(await lesson.isAsExpected()).toBe(true);
    const dog = await lesson.numbers("weights");
    for (const row of dog) expect(row.slice(3)).toEqual([0, 0, 0]);
    await lesson.set("causal", true);
    expect((await lesson.numbers("weights"))[0]).toEqual([1, 0, 0, 0, 0, 0]);
    expect(await lesson.isAsExpected()).toBe(true);
    await lesson.set("causal", false);
    await lesson.choose("sentence", "3");
    for (const row of await lesson.numbers("weights")) expect(row.slice(2)).toEqual([0, 0, 0, 0]);
    await lesson.set("padding", false);
    expect((await lesson.numbers("weights")).some((row) => row.slice(2).some((weight) => weight > 0.1))).toBe(true);
    expect((await lesson.says()).join(" ")).toMatch(/gives padding up to .* In the larger batch, a padding token gets up to/);
    expect(await lesson.answer(2)).toMatch(/^Yes/);
  });

  test("T4.1: lengths [3, 2] leave nothing beyond them; the output is (2,4,100)", async () => {
    const lesson = await book.lesson("masks", "valid-lengths");
    expect(shapesOf(await lesson.texts(".shape li b")).join(" ")).toBe("2 4 100 2 6 100 2 5 4 6 2 4 100");
    const [one, two] = [await lesson.numbers("weights of sequence 0"), await lesson.numbers("weights of sequence 1")];
    for (const row of one) expect([row.length, ...row.slice(3)]).toEqual([6, 0, 0, 0]);
    for (const row of two) expect([row.length, ...row.slice(2)]).toEqual([6, 0, 0, 0, 0]);
    for (const sum of sums([...one, ...two])) expect(sum).toBeCloseTo(1, 1);
    expect(await lesson.isAsExpected()).toBe(true);
    await lesson.set("head", 3);
    expect(await lesson.numbers("weights of sequence 0")).not.toEqual(one);
    await lesson.set("second", 1);
    expect(await lesson.numbers("weights of sequence 1")).toEqual(Array(4).fill([1, 0, 0, 0, 0, 0]));
    await lesson.set("first", 0);
    expect((await lesson.numbers("weights of sequence 0")).flat()).toEqual(Array(24).fill(0));
    expect((await lesson.says())[2]).toContain("No key is left in sequence 0");
    expect(await lesson.isAsExpected()).toBe(true);
    expect(await lesson.answer(0)).toMatch(/^Yes/);
  });
}

function readRest(book: Book): void {
  test("T1.5: a row that sees nothing is zeros here, and NaN or equal weights elsewhere", async () => {
    const lesson = await book.lesson("masks", "fully-masked");
    expect(await lesson.texts("table[data-matrix=weights] tbody th")).toEqual(
      ["headlens", "torch-mha", "torch-sdpa", "onnx", "keras", "flash", "jax"]);
    const zeros = [0, 0, 0];
    expect(await lesson.numbers("weights")).toEqual(
      [zeros, [NaN, NaN, NaN], zeros, zeros, zeros, zeros, [0.333, 0.333, 0.333]]);
    expect((await lesson.numbers("output"))[0]).toEqual([0, 0]);
    expect((await lesson.says())[1]).toBe("NaN: torch-mha. Equal weights: jax. All others give zeros.");
    await lesson.set("seen", 2);
    await lesson.type("scores", 0, 0, 3);
    expectPrinted(await lesson.numbers("weights"), Array<number[]>(7).fill([...softmax([3, 1]), 0]), 3);
    expect(await lesson.isAsExpected()).toBe(true);
    expect(await lesson.answer(2)).toMatch(/^Yes/);
  });

  test("T1.5: dropout keeps its seed, and divides what is left by 1 − p", async () => {
    const lesson = await book.lesson("masks", "dropout");
    const weights = await lesson.numbers("weights");
    const dropped = await lesson.numbers("weights after dropout");
    expect(dropped.flat()).toContain(0);
    expect(dropped.flat().some((value) => value > 0)).toBe(true);
    for (const [cell, value] of dropped.flat().entries())
      if (value !== 0) expect(Math.abs(value - 2 * (weights.flat()[cell] ?? NaN))).toBeLessThan(0.016);
    expect(await lesson.isAsExpected()).toBe(true);
    expect(await lesson.point("weights after dropout", 0, 0)).toMatch(/was dropped|÷ 0.5/);
    await lesson.set("seed", 5);
    expect(await lesson.numbers("weights after dropout")).not.toEqual(dropped);
    await lesson.set("seed", 4);
    expect(await lesson.numbers("weights after dropout")).toEqual(dropped);
    await lesson.set("draws", 0);
    expect(await lesson.numbers("average")).toEqual(dropped);
    await lesson.set("p", 0);
    expect(await lesson.numbers("weights after dropout")).toEqual(weights);
    expect(await lesson.answer(1)).toMatch(/^Yes/);
  });
}
