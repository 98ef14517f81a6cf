// SPDX-License-Identifier: Apache-2.0
import { describe, expect, test } from "vitest";
import { type Book, expectPrinted } from "./book.js";

/** A table of 6 positions in fp64. */
const waves = (first: number, width: number): number[][] => Array.from({ length: 6 }, (_, p) =>
  Array.from({ length: width }, (__, i) => {
    const angle = (first + p) / 10000 ** (2 * Math.floor(i / 2) / width);
    return i % 2 ? Math.cos(angle) : Math.sin(angle);
  }));

const products = (rows: readonly (readonly number[])[]): number[][] =>
  rows.map((a) => rows.map((b) => a.reduce((sum, value, i) => sum + value * (b[i] ?? NaN), 0)));

const square = (size: number, cell: (i: number, j: number) => number): number[][] =>
  Array.from({ length: size }, (_, i) => Array.from({ length: size }, (__, j) => cell(i, j)));

const shares = (row: readonly number[]): number[] => {
  const powers = row.map(Math.exp);
  const total = powers.reduce((sum, power) => sum + power, 0);
  return powers.map((power) => power / total);
};

const kSentence = "the woman ate the raccoon";
const kSwapped = "the raccoon ate the woman";

export function readPositions(book: Book): void {
  describe("positions", () => {
    test("T3.6: without positions each word keeps its output, and every kind of positions changes that", async () => {
      const lesson = await book.lesson("positions", "order-blind");
      const first = await lesson.numbers(kSentence);
      expect(await lesson.numbers(kSwapped)).toEqual([0, 4, 2, 3, 1].map((place) => first[place]));
      expect(first[0]).toEqual(first[3]);
      expect(await lesson.isAsExpected()).toBe(true);
      for (const scheme of ["sinusoidal", "learned", "relative bias", "T5’s buckets", "ALiBi", "rotary"]) {
        await lesson.choose("scheme", scheme);
        expect(await lesson.isAsExpected(), scheme).toBe(true);
        expect((await lesson.numbers(kSwapped))[2], scheme).not.toEqual((await lesson.numbers(kSentence))[2]);
      }
      await lesson.choose("order", "same");
      expect((await lesson.says())[0]).toMatch(/^The order is the same/);
      await lesson.choose("scheme", "no positions");
      await lesson.choose("order", "backwards");
      expect((await lesson.numbers("raccoon the ate woman the")).reverse()).toEqual(await lesson.numbers(kSentence));
      expect(await lesson.answer(0)).toMatch(/^Yes/);
    });

    test("T3.6: sinusoidal positions are waves whose dot products go by distance", async () => {
      const lesson = await book.lesson("positions", "sinusoids");
      expectPrinted(await lesson.numbers("P"), waves(0, 6), 3);
      expectPrinted(await lesson.numbers("P · Pᵀ"), products(waves(0, 6)), 3);
      const start = await lesson.numbers("P · Pᵀ");
      await lesson.set("first", 50);
      expectPrinted(await lesson.numbers("P"), waves(50, 6), 3);
      expectPrinted(await lesson.numbers("P · Pᵀ"), start, 2);
      expect(await lesson.isAsExpected()).toBe(true);
      await lesson.set("width", 0);
      expectPrinted(await lesson.numbers("P"), waves(50, 2), 3);
      expect(await lesson.point("P · Pᵀ", 0, 0)).toMatch(/^50, 50: .* ≈ 1\.000$/);
      expect(await lesson.answer(1)).toMatch(/^Yes/);
    });

    test("T3.6: one number for each distance makes a head that looks one token back, or ahead", async () => {
      const lesson = await book.lesson("positions", "bias-by-distance");
      const [q, k] = [[0.5, 1, 1.2, 0.5, 1], [0.2, 1.5, 0.8, 0.2, 1.4]];
      const weights = (distance: number): number[][] =>
        square(5, (i, j) => (q[i] ?? NaN) * (k[j] ?? NaN) + (i - j === distance ? 6 : 0)).map(shares);
      expectPrinted(await lesson.numbers("b of i − j"), square(5, (i, j) => (i - j === 1 ? 6 : 0)), 1);
      expectPrinted(await lesson.numbers("weights"), weights(1), 2);
      expect(await lesson.isAsExpected()).toBe(true);
      await lesson.type("b", 0, 5, 0);
      await lesson.type("b", 0, 3, 6);
      expectPrinted(await lesson.numbers("weights"), weights(-1), 2);
      expect((await lesson.says())[0]).toContain("the token after it");
      await lesson.type("b", 0, 3, 0);
      await lesson.choose("content", "equal");
      expectPrinted(await lesson.numbers("weights"), square(5, () => 0.2), 2);
      expect(await lesson.answer(1)).toMatch(/^Yes/);
    });

    test("T3.6: T5 shares buckets among far distances, and ALiBi has a slope for each head", async () => {
      const lesson = await book.lesson("positions", "far-distances");
      const distances = [1, 4, 8, 16, 32, 64, 128, 512];
      expect(await lesson.numbers("T5’s bucket")).toEqual([[1, 4, 8, 10, 12, 14, 15, 15]]);
      for (const head of [0, 3]) {
        await lesson.set("head", head);
        const slope = 2 ** -(head + 1);
        expectPrinted(await lesson.numbers("ALiBi’s bias"), [distances.map((far) => -slope * far)], 1);
        const bias = square(6, (i, j) => (j > i ? -Infinity : -slope * (i - j)));
        // The numbers of masked cells say nothing.
        const seen = await lesson.numbers("bias");
        expectPrinted(seen.map((row, i) => row.slice(0, i + 1)), bias.map((row, i) => row.slice(0, i + 1)), 2);
        expectPrinted(await lesson.numbers("weights"), bias.map(shares), 2);
      }
      await lesson.set("distance", 5);
      expect((await lesson.says()).join(" ")).toContain("the distances 64 and 65 share bucket 14");
      expect(await lesson.isAsExpected()).toBe(true);
      expect(await lesson.answer(2)).toMatch(/^Yes/);
    });

    test("T3.6: a rotation by position leaves a score that goes by distance", async () => {
      const lesson = await book.lesson("positions", "rotation");
      const table = "score of the query at i and the key at j";
      const score = (i: number, j: number, degrees: number): number => {
        const turn = ([x, y]: readonly [number, number], by: number): [number, number] => {
          const angle = (by * degrees * Math.PI) / 180;
          return [x * Math.cos(angle) - y * Math.sin(angle), x * Math.sin(angle) + y * Math.cos(angle)];
        };
        const [q, k] = [turn([1, 0.2], i), turn([0.8, 0.6], j)];
        return q[0] * k[0] + q[1] * k[1];
      };
      expectPrinted(await lesson.numbers(table), square(8, (i, j) => score(i, j, 30)), 2);
      const [before] = await lesson.says();
      await lesson.set("query", 6);
      expect((await lesson.says())[0]).not.toContain("0.841");
      await lesson.set("key", 4);
      const [after] = await lesson.says();
      expect([before, after]).toEqual([
        "Query at 5, key at 3: the score is 0.841, as for all 6 pairs in the table at distance 2.",
        "Query at 6, key at 4: the score is 0.841, as for all 6 pairs in the table at distance 2.",
      ]);
      await lesson.set("angle", 45);
      expectPrinted(await lesson.numbers(table), square(8, (i, j) => score(i, j, 45)), 2);
      await lesson.set("angle", 0);
      expectPrinted(await lesson.numbers(table), square(8, () => 0.92), 2);
      expect(await lesson.isAsExpected()).toBe(true);
      expect(await lesson.answer(2)).toMatch(/^Yes/);
    });
  });
}
