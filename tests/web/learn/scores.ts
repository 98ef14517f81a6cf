// SPDX-License-Identifier: Apache-2.0
import { describe, expect, test } from "vitest";
import { type Book, expectPrinted } from "./book.js";

export function readScores(book: Book): void {
  describe("scores", () => {
    test("T3.2: scores of 2, 1 and 0 become 0.67, 0.24 and 0.09, and only differences count", async () => {
      const lesson = await book.lesson("scores", "softmax-by-hand");
      expectPrinted(await lesson.numbers("scores"), [[2, 1, 0]], 1);
      const weights = [[0.665, 0.245, 0.09]];
      expectPrinted(await lesson.numbers("weights"), weights, 3);
      for (const [col, value] of [7, 6, 5].entries()) await lesson.type("scores", 0, col, value);
      expectPrinted(await lesson.numbers("weights"), weights, 3);
      expect(await lesson.answer(2)).toMatch(/^Yes/);
      expect(await lesson.point("weights", 0, 1)).toContain("e^6");
      await lesson.set("temperature", 2);
      const powers = [7, 6, 5].map((score) => Math.exp(score / 2));
      expectPrinted(await lesson.numbers("scores ÷ temperature"), [[3.5, 3, 2.5]], 3);
      expectPrinted(await lesson.numbers("weights"), [powers.map((power) => power / powers.reduce((a, b) => a + b, 0))], 3);
      expect(await lesson.point("weights", 0, 1)).toContain("e^3.000");
    });

    test("T0.5: without ÷ √d the entropy falls with the width of the head", async () => {
      const lesson = await book.lesson("scores", "saturation");
      expect(await lesson.isAsExpected()).toBe(true);
      await lesson.set("width", 0);
      const narrow = (await lesson.numbers("scores as they are")).flat();
      await lesson.set("width", 4);
      const wide = (await lesson.numbers("scores as they are")).flat();
      expect(Math.max(...narrow)).toBeLessThan(Math.max(...wide));
      expect(await lesson.texts("figure.curve figcaption")).toEqual(["entropy of the weights (nats)", "gradient of the softmax"]);
      const cells = (await lesson.texts("figure.curve table.unseen td")).map(Number);
      const columns = [cells.slice(0, 10), cells.slice(10)]
        .map((one) => [0, 1].map((at) => one.filter((_, i) => i % 2 === at)));
      for (const [scaled = [], raw = []] of columns) {
        expect(raw.every((value, i) => i === 0 || value < (raw[i - 1] ?? NaN))).toBe(true);
        expect(Math.min(...scaled) / Math.max(...scaled)).toBeGreaterThan(0.9);
        expect(raw.at(-1)).toBeLessThan((scaled.at(-1) ?? NaN) / 2);
      }
      expect(await lesson.answer(1)).toMatch(/^Yes/);
    });

    test("T0.5: a score far above the rest leaves no gradient, by hand and against small changes of the scores", async () => {
      const lesson = await book.lesson("scores", "vanishing");
      const weightsOf = (scores: readonly number[]): number[] => {
        const powers = scores.map(Math.exp);
        return powers.map((power) => power / powers.reduce((a, b) => a + b, 0));
      };
      /** Central differences in double precision, where the page has the closed form. */
      const gradientOf = (scores: readonly number[]): number[][] => scores.map((_, weight) =>
        scores.map((__, moved) => {
          const at = (by: number): number[] => weightsOf(scores.map((score, i) => (i === moved ? score + by : score)));
          return ((at(1e-4)[weight] ?? NaN) - (at(-1e-4)[weight] ?? NaN)) / 2e-4;
        }));
      expectPrinted(await lesson.numbers("weights"), [[0.9993, 0.0003, 0.0003]], 4);
      expectPrinted(await lesson.numbers("gradient"), gradientOf([8, 0, 0]), 4);
      expect((await lesson.says())[0]).toContain("0.9993 · (1 − 0.9993) = 0.0007");
      expect(await lesson.answer(2)).toMatch(/^Yes/);
      await lesson.set("added", 1);
      expectPrinted(await lesson.numbers("weights"), [weightsOf([8, 0, 1])], 4);
      await lesson.set("lead", 1);
      expectPrinted(await lesson.numbers("gradient"), gradientOf([1, 0, 1]), 4);
      expect(await lesson.isAsExpected()).toBe(false);
    });

    test("T3.2, T0.5: 8 ÷ √4 = 4 and 32 ÷ √64 = 4", async () => {
      const lesson = await book.lesson("scores", "two-divisions");
      expect(await lesson.numbers("√d")).toEqual([[2], [8]]);
      expect(await lesson.numbers("scaled score")).toEqual([[4], [4]]);
      expect((await lesson.says())[0]).toContain("8 ÷ √4 = 4, and 32 ÷ √64 = 4");
      const beside = (score: number): number => Math.exp(score) / (Math.exp(score) + 3);
      expectPrinted(await lesson.numbers("with ÷ √d"), [[beside(4)], [beside(4)]], 3);
      expectPrinted(await lesson.numbers("without"), [[beside(8)], [beside(32)]], 3);
      await lesson.set("wide", 3);
      expect(await lesson.isAsExpected()).toBe(false);
      await lesson.type("raw score", 1, 0, 64);
      expect(await lesson.numbers("scaled score")).toEqual([[4], [4]]);
      await lesson.set("narrow", 1);
      await lesson.type("raw score", 0, 0, 3);
      expect(await lesson.numbers("scaled score")).toEqual([[0.75], [4]]);
      expect(await lesson.answer(1)).toMatch(/^Yes/);
    });
  });
}
