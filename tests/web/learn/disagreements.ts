// SPDX-License-Identifier: Apache-2.0
import { describe, expect, test } from "vitest";
import { type Book, expectPrinted } from "./book.js";

const softmax = (scores: readonly number[]): number[] => {
  const powers = scores.map((score) => Math.exp(score));
  const sum = powers.reduce((a, b) => a + b, 0);
  return powers.map((power) => power / sum);
};

export function readDisagreements(book: Book): void {
  const open = (name: string): ReturnType<Book["lesson"]> => book.lesson("disagreements", name);

  describe("disagreements", () => {
    test("T0.4: true keeps the lower triangle, or ignores it", async () => {
      const lesson = await open("mask-true");
      expectPrinted((await lesson.numbers("true keeps")).slice(0, 2), [[1, 0, 0, 0], [...softmax([2, 1]), 0, 0]], 2);
      expectPrinted((await lesson.numbers("true ignores")).slice(2), [[0, 0, 0, 1], [0, 0, 0, 0]], 2);
      expect(await lesson.isAsExpected()).toBe(true);
      await lesson.type("mask", 0, 3, 1);
      expectPrinted((await lesson.numbers("true keeps")).slice(0, 1), [[softmax([2, 1])[0] ?? NaN, 0, 0, softmax([2, 1])[1] ?? NaN]], 2);
      expect((await lesson.says())[0]).toMatch(/11 are open where true keeps and 5 where it ignores/);
      expect(await lesson.answer(1)).toMatch(/^Yes/);
    });

    test("T0.4: the causal triangle of two queries on six keys starts at the top left, or ends at the bottom right", async () => {
      const lesson = await open("causal-corner");
      expectPrinted(await lesson.numbers("top left"), [[1, 0, 0, 0, 0, 0], [0.5, 0.5, 0, 0, 0, 0]], 2);
      const [before, last] = [[...Array<number>(5).fill(1 / 5), 0], Array<number>(6).fill(1 / 6)];
      expectPrinted(await lesson.numbers("bottom right"), [before, last], 2);
      await lesson.set("queries", 1);
      expectPrinted(await lesson.numbers("top left"), [[1, 0, 0, 0, 0, 0]], 2);
      expectPrinted(await lesson.numbers("bottom right"), [last], 2);
      await lesson.set("queries", 6);
      expect(await lesson.numbers("top left")).toEqual(await lesson.numbers("bottom right"));
      expect(await lesson.answer(0)).toMatch(/^Yes/);
    });

    test("T1.5: a fully masked row is zeros, NaN or the mean, and one open key ends the dispute", async () => {
      const lesson = await open("fully-masked-row");
      expectPrinted(await lesson.numbers("output"), [[0, 0], [NaN, NaN], [3, 2]], 2);
      expect(await lesson.isAsExpected()).toBe(true);
      await lesson.type("padding", 0, 1, 0);
      expectPrinted(await lesson.numbers("output"), [[0, 4], [0, 4], [0, 4]], 2);
      expectPrinted(await lesson.numbers("weights"), Array<number[]>(3).fill([0, 1, 0, 0]), 3);
      expect(await lesson.isAsExpected()).toBe(true);
      expect(await lesson.answer(2)).toMatch(/^Yes/);
    });

    test("a NaN or an infinity behind a mask spreads where it is multiplied by 0", async () => {
      const lesson = await open("nan-behind-mask");
      const weights = softmax([2, 1, 0]);
      const output = 4 * (weights[0] ?? NaN) + 2 * (weights[2] ?? NaN);
      expectPrinted(await lesson.numbers("output"), [[output], [NaN]], 3);
      for (const [number, place] of [["infinite", "value"], ["infinite", "key"], ["nan", "key"]] as const) {
        await lesson.choose("number", number);
        await lesson.choose("place", place);
        expectPrinted(await lesson.numbers("output"), [[output], [NaN]], 3);
        expect(await lesson.isAsExpected()).toBe(true);
      }
      await lesson.choose("number", "large");
      expectPrinted(await lesson.numbers("output"), [[output], [output]], 3);
      expect(await lesson.answer(2)).toMatch(/^Yes/);
    });

    test("T3.8: eight query heads read two key/value heads by ⌊h·G/H⌋, or by h mod G", async () => {
      const lesson = await open("shared-head-order");
      const rows = (groups: number, read: (head: number) => number): number[][] =>
        Array.from({ length: groups }, (_, g) => Array.from({ length: 8 }, (__, head) => Number(read(head) === g)));
      for (const [place, groups] of [[1, 2], [2, 4], [0, 1], [3, 8]] as const) {
        await lesson.set("groups", place);
        expect(await lesson.numbers("neighbours share")).toEqual(rows(groups, (head) => Math.floor((head * groups) / 8)));
        expect(await lesson.numbers("every G-th shares")).toEqual(rows(groups, (head) => head % groups));
      }
      expect((await lesson.says())[0]).toMatch(/both orders are the same/);
      expect(await lesson.answer(0)).toMatch(/^Yes/);
    });

    test("a bias of −20 hides its key after the soft cap, and not before it", async () => {
      const lesson = await open("cap-or-bias-first");
      const cap = (score: number, most: number): number => most * Math.tanh(score / most);
      const [scores, bias] = [[3, 2, 1, 0], [0, -20, 0, 0]];
      const holds = async (most: number): Promise<void> => {
        const first = softmax(scores.map((score, key) => cap(score, most) + (bias[key] ?? NaN)));
        expectPrinted(await lesson.numbers("weights, cap first"), [first], 3);
        const last = softmax(scores.map((score, key) => cap(score + (bias[key] ?? NaN), most)));
        expectPrinted(await lesson.numbers("weights, bias first"), [last], 3);
      };
      await holds(1);
      expect(await lesson.isAsExpected()).toBe(true);
      await lesson.set("cap", 20);
      await holds(20);
      await lesson.type("scores", 0, 3, 4);
      scores[3] = 4;
      await lesson.type("bias", 0, 0, -5);
      bias[0] = -5;
      await holds(20);
      expect(await lesson.answer(0)).toMatch(/^Yes/);
    });
  });
}
