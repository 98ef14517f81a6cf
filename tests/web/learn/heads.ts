// SPDX-License-Identifier: Apache-2.0
import { describe, expect, test } from "vitest";
import { kCatSatOnMat } from "../../../web/views/cat-sat-on-mat.js";
import { type Book, expectPrinted, type OpenLesson } from "./book.js";

type Rows = readonly (readonly number[])[];

const product = (a: Rows, b: Rows): number[][] =>
  a.map((row) => (b[0] ?? []).map((_, col) => row.reduce((sum, value, i) => sum + value * (b[i]?.[col] ?? NaN), 0)));

const transposed = (a: Rows): number[][] => (a[0] ?? []).map((_, col) => a.map((row) => row[col] ?? NaN));
const columns = (a: Rows, from: number, to: number): number[][] => a.map((row) => row.slice(from, to));

function softmax(row: readonly number[]): number[] {
  const powers = row.map(Math.exp);
  return powers.map((power) => power / powers.reduce((a, b) => a + b, 0));
}

/** One head of the example in double precision: its weights and its output. */
function headOf(head: number): { weights: number[][]; output: number[][] } {
  const { x, wq, wk, wv } = kCatSatOnMat;
  const [q, k, v] = [wq, wk, wv].map((w) => product(x, columns(w, 2 * head, 2 * head + 2)));
  if (!q || !k || !v) throw new Error("a projection is missing");
  const weights = product(q, transposed(k)).map((row) => softmax(row.map((score) => score / Math.sqrt(2))));
  return { weights, output: product(weights, v) };
}

/** The sizes of a shape by its name, such as "2 4 8". */
async function shapeOf(lesson: OpenLesson, name: string): Promise<string> {
  const [names, sizes] = [await lesson.texts(".shape-name"), await lesson.texts(".shape ol")];
  return (sizes[names.indexOf(name)] ?? "").match(/\d+/g)?.join(" ") ?? `no shape ${name}`;
}

export function readHeads(book: Book): void {
  describe("heads", () => {
    test("T2.1: two heads step by step, each on its own until the output projection", async () => {
      const lesson = await book.lesson("heads", "six-steps");
      const heads = [headOf(0), headOf(1)];
      for (const [index, head] of heads.entries()) {
        await lesson.choose("head", String(index));
        expectPrinted(await lesson.numbers(`weights, head ${index}`), head.weights, 3);
        expectPrinted(await lesson.numbers(`output, head ${index}`), head.output, 3);
      }
      expect(await lesson.isAsExpected()).toBe(true);
      expect(await lesson.says()).toContain("2 heads take 384 multiplications and 64 parameters, one full-width head 384 and 64: the same.");
      const joined = kCatSatOnMat.tokens.map((_, row) => heads.flatMap(({ output }) => output[row] ?? []));
      expectPrinted(await lesson.numbers("heads joined"), joined, 3);
      expectPrinted(await lesson.numbers("output"), product(joined, kCatSatOnMat.wo), 3);
      expect(await lesson.point("output", 0, 0)).toMatch(/·0\.60 .*≈ 0\.182$/);
      await lesson.set("silent", true);
      const rest = joined.map((row) => [...row.slice(0, 2), 0, 0]);
      expectPrinted(await lesson.numbers("heads joined"), rest, 3);
      expectPrinted(await lesson.numbers("output"), product(rest, kCatSatOnMat.wo), 3);
      expect(await lesson.answer(1)).toMatch(/^Yes/);
    });

    test("T2.1, T1.6: heads cost as much as one full-width head, with 4 · 768² = 2,359,296 parameters", async () => {
      const lesson = await book.lesson("heads", "price");
      expect((await lesson.numbers("weights in the projections"))[0]?.slice(0, 2)).toEqual([2359296, 2359296]);
      expect((await lesson.says())[0]).toBe("8 heads of 96: 2,359,296 parameters; one head of 768: 2,359,296: the same.");
      const millions = (parts: readonly number[]): number[] =>
        [...parts, parts.reduce((a, b) => a + b, 0)].map((count) => count / 1e6);
      const [projections, scores, mixing] = [3 * 128 * 768 ** 2, 128 ** 2 * 768, 128 * 768 ** 2];
      const all = await lesson.numbers("multiplications (millions)");
      expectPrinted([all.map(([own = NaN]) => own)], [millions([projections, scores, scores, mixing])], 1);
      expect(all.map((row) => row[1])).toEqual(all.map((row) => row[0]));
      expect(await lesson.numbers("softmax")).toEqual([[8 * 128 ** 2, 128 ** 2, 8 * 128 ** 2]]);
      await lesson.set("heads", 4);
      await lesson.set("tokens", 2);
      await lesson.set("width", 1);
      expect(await lesson.numbers("softmax")).toEqual([[16 * 1024 ** 2, 1024 ** 2, 16 * 1024 ** 2]]);
      await lesson.set("bias", true);
      const { parameterCount } = book.engine.multiheadAttention({ embedDim: 512, numHeads: 16 });
      expect((await lesson.says())[0]).toContain(`16 heads of 32: ${parameterCount.toLocaleString("en")} parameters`);
      expect(await lesson.answer(2)).toMatch(/^Yes/);
    });

    test("T0.2: the shapes of B2 T4 D8 H2", async () => {
      const lesson = await book.lesson("heads", "shapes");
      const shapes = { "X": "2 4 8", "Q, cut": "2 4 2 4", "Q, by head": "2 2 4 4", "scores and weights": "2 2 4 4", "output": "2 4 8" };
      for (const [name, sizes] of Object.entries(shapes)) expect(await shapeOf(lesson, name), name).toBe(sizes);
      await lesson.set("tokens", 5);
      await lesson.set("batch", 3);
      expect(await shapeOf(lesson, "scores and weights")).toBe("3 2 5 5");
      expect(await shapeOf(lesson, "outputs of the heads")).toBe("3 2 5 4");
      expect(await lesson.isAsExpected()).toBe(true);
      await lesson.set("tokens", 4);
      await lesson.set("batch", 2);
    });

    test("T1.4: a width that is not a multiple of the heads is refused by the engine, which names both", async () => {
      const lesson = await book.lesson("heads", "shapes");
      await lesson.set("width", 13);
      await lesson.set("heads", 5);
      const [refusal = ""] = await lesson.texts(".note.error");
      expect(() => book.engine.multiheadAttention({ embedDim: 13, numHeads: 5 })).toThrow(refusal);
      expect(refusal).toMatch(/\b13\b.*\b5\b/);
      await lesson.set("width", 15);
      expect(await lesson.texts(".note.error")).toEqual([]);
      expect(await shapeOf(lesson, "Q, by head")).toBe("2 5 4 3");
      expect(await lesson.answer(1)).toMatch(/^Yes/);
    });

    test("T4.2, T0.2: heads are strides through one memory, and a reshape alone mixes tokens", async () => {
      const lesson = await book.lesson("heads", "split");
      const tokens = [0, 1, 2, 3];
      expectPrinted(await lesson.numbers("part of the head"), tokens.map((t) => [0.4, 0.5, 0.6, 0.7].map((i) => t + i)), 1);
      expect(await shapeOf(lesson, "strides")).toBe("4 8 1");
      expect(await lesson.isAsExpected()).toBe(true);
      await lesson.choose("head", "0");
      expectPrinted(await lesson.numbers("part of the head"), tokens.map((t) => [0, 0.1, 0.2, 0.3].map((i) => t + i)), 1);
      await lesson.choose("cut", "reshaped");
      const mixed = [[0, 0.1, 0.2, 0.3], [0.4, 0.5, 0.6, 0.7], [1, 1.1, 1.2, 1.3], [1.4, 1.5, 1.6, 1.7]];
      expectPrinted(await lesson.numbers("part of the head"), mixed, 1);
      expect(await shapeOf(lesson, "strides")).toBe("16 4 1");
      expect(await lesson.isAsExpected()).toBe(false);
      expect(await lesson.answer(1)).toMatch(/^Yes/);
    });

    test("T3.3: four tokens, width 16 and four heads: (4, 4, 4) three times, then (4, 16)", async () => {
      const lesson = await book.lesson("heads", "four-heads");
      for (const name of ["Q", "scores", "heads"]) expect(await shapeOf(lesson, name), name).toBe("4 4 4");
      for (const name of ["joined", "output"]) expect(await shapeOf(lesson, name), name).toBe("4 16");
      for (const row of (await lesson.numbers("head 3"))) expect(row.reduce((a, b) => a + b, 0)).toBeCloseTo(1, 1);
      await lesson.set("tokens", 5);
      expect([await shapeOf(lesson, "Q"), await shapeOf(lesson, "scores")]).toEqual(["4 5 4", "4 5 5"]);
      await lesson.set("heads", 3);
      expect([await shapeOf(lesson, "Q"), await shapeOf(lesson, "joined")]).toEqual(["8 5 2", "5 16"]);
      expect(await lesson.numbers("head 7")).toHaveLength(5);
      expect((await lesson.says())[1]).toContain("is the layer’s");
      expect(await lesson.answer(1)).toMatch(/^Yes/);
    });

    test("T0.3, T1.2: weights of each head are (2, 2, 4, 4), and different heads have the same average", async () => {
      const lesson = await book.lesson("heads", "averaged");
      expect([await shapeOf(lesson, "each head"), await shapeOf(lesson, "averaged")]).toEqual(["2 2 4 4", "2 4 4"]);
      const back = [[1, 0, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]];
      const ahead = [[0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1], [0, 0, 0, 1]];
      const average = back.map((row, i) => row.map((value, j) => (value + (ahead[i]?.[j] ?? NaN)) / 2));
      expectPrinted(await lesson.numbers("head 0"), back, 2);
      expectPrinted(await lesson.numbers("head 1"), ahead, 2);
      expectPrinted(await lesson.numbers("average"), average, 2);
      await lesson.choose("layer", "alike");
      for (const name of ["head 0", "head 1", "average"]) expectPrinted(await lesson.numbers(name), average, 2);
      expect(await lesson.isAsExpected()).toBe(true);
      expect(await lesson.answer(0)).toMatch(/^Yes/);
    });

    test("T1.2: tokens first and averaged by default: (4, 16, 16), and (4, 8, 16, 16) on request", async () => {
      const lesson = await book.lesson("heads", "defaults");
      expect(await shapeOf(lesson, "X")).toBe("16 4 128");
      expect(await shapeOf(lesson, "weights, averaged over heads")).toBe("4 16 16");
      await lesson.set("average", true);
      expect(await shapeOf(lesson, "weights of each head")).toBe("4 8 16 16");
      expect(await lesson.isAsExpected()).toBe(true);
      await lesson.choose("given", "sequences");
      expect(await shapeOf(lesson, "weights of each head")).toBe("16 8 4 4");
      expect(await lesson.isAsExpected()).toBe(false);
      await lesson.set("batchFirst", true);
      expect(await shapeOf(lesson, "weights of each head")).toBe("4 8 16 16");
      expect(await shapeOf(lesson, "output")).toBe("4 16 128");
      expect(await lesson.answer(2)).toMatch(/^Yes/);
    });
  });
}
