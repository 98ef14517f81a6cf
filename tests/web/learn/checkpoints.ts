// SPDX-License-Identifier: Apache-2.0
import { describe, expect, test } from "vitest";
import { type Book, expectPrinted } from "./book.js";

type Rows = readonly (readonly number[])[];

const softmax = (scores: readonly number[]): number[] => {
  const powers = scores.map((score) => Math.exp(score));
  const sum = powers.reduce((a, b) => a + b, 0);
  return powers.map((power) => power / sum);
};
const times = (a: Rows, b: Rows): number[][] =>
  a.map((row) => (b[0] ?? []).map((_, col) => row.reduce((sum, one, i) => sum + one * (b[i]?.[col] ?? NaN), 0)));
const farthest = (a: Rows, b: Rows): number =>
  Math.max(...a.flat().map((one, index) => Math.abs(one - (b.flat()[index] ?? NaN))));

export function readCheckpoints(book: Book): void {
  const open = (name: string): ReturnType<Book["lesson"]> => book.lesson("checkpoints", name);

  describe("checkpoints", () => {
    test("T3.7: 1. keys that are almost equal get almost equal weights, and part when they are dragged apart", async () => {
      const lesson = await open("near-equal-keys");
      const q = [[1, 0], [0, 1], [-1, -0.5]];
      const kt = [[1.5, 1.6, -1, -0.5], [0.5, 0.4, 1, -1.5]];
      expectPrinted(await lesson.numbers("weights"), times(q, kt).map(softmax), 3);
      expect(await lesson.isAsExpected()).toBe(true);
      await lesson.type("Kᵀ", 0, 1, -2);
      expectPrinted(await lesson.numbers("weights"), times(q, [[1.5, -2, -1, -0.5], kt[1] ?? []]).map(softmax), 3);
      expect(await lesson.isAsExpected()).toBe(false);
      expect(await lesson.answer(0)).toMatch(/^Yes/);
    });

    test("T3.7: 2. one huge score takes more than 99.9 % of the weight", async () => {
      const lesson = await open("one-huge-score");
      expectPrinted(await lesson.numbers("weights"), [softmax([10, 0, 0, 0])], 5);
      expect((await lesson.numbers("weights"))[0]?.[0]).toBeGreaterThan(0.999);
      expectPrinted(await lesson.numbers("output"), [[0, 0.99982]], 5);
      await lesson.type("scores", 0, 0, 3);
      expectPrinted(await lesson.numbers("weights"), [softmax([3, 0, 0, 0])], 5);
      expect((await lesson.says())[0]).toMatch(/87\.0 %/);
      expect(await lesson.answer(1)).toMatch(/^No: more than 99.9 %/);
    });

    test("T3.7: 3. keys give back the question, and values the content", async () => {
      const lesson = await open("keys-as-values");
      expectPrinted(await lesson.numbers("from keys"), [[1, 0, 0], [0, 1, 0], [0, 0, 1]], 2);
      expectPrinted(await lesson.numbers("from values"), await lesson.numbers("V"), 2);
      expect(await lesson.isAsExpected()).toBe(true);
      await lesson.type("V", 1, 1, -1);
      expectPrinted((await lesson.numbers("from values")).slice(1, 2), [[-0.2, -1, 0.1]], 2);
      expectPrinted(await lesson.numbers("from keys"), [[1, 0, 0], [0, 1, 0], [0, 0, 1]], 2);
      await lesson.set("length", 0);
      expectPrinted(await lesson.numbers("weights"), Array<number[]>(3).fill([1 / 3, 1 / 3, 1 / 3]), 3);
      expect(await lesson.answer(1)).toMatch(/^Yes/);
    });

    test("T3.7: 4. a token that changes is a key in self-attention, and none in cross-attention", async () => {
      const lesson = await open("self-or-cross");
      expect(await lesson.isAsExpected()).toBe(true);
      const [self, cross] = [await lesson.numbers("self-attention"), await lesson.numbers("cross-attention")];
      expect([self, cross].map((map) => [map.length, map[0]?.length])).toEqual([[3, 3], [3, 4]]);
      await lesson.set("push", -1);
      const [selfAfter, crossAfter] = [await lesson.numbers("self-attention"), await lesson.numbers("cross-attention")];
      for (const row of [0, 2]) {
        expect(selfAfter[row]).not.toEqual(self[row]);
        expect(crossAfter[row]).toEqual(cross[row]);
      }
      expect(crossAfter[1]).not.toEqual(cross[1]);
      await lesson.set("push", 0);
      expect((await lesson.says())[0]).toMatch(/nothing has moved/);
      expect(await lesson.answer(0)).toMatch(/^Yes/);
    });

    test("T3.7: 5. n equal scores give 1/n each, and the mean of the values", async () => {
      const lesson = await open("equal-scores");
      const isEven = async (n: number): Promise<void> => {
        expectPrinted(await lesson.numbers("weights"), [Array<number>(n).fill(1 / n)], 3);
        expect(await lesson.numbers("output")).toEqual(await lesson.numbers("mean of the values"));
        expect(await lesson.isAsExpected()).toBe(true);
      };
      await isEven(5);
      await lesson.set("score", -8);
      await isEven(5);
      await lesson.set("n", 8);
      await isEven(8);
      await lesson.set("lead", 2);
      expectPrinted(await lesson.numbers("weights"), [softmax([2, 0, 0, 0, 0, 0, 0, 0])], 3);
      expect((await lesson.says())[0]).toMatch(/7\.389 times that of another/);
      expect(await lesson.answer(1)).toMatch(/^Yes/);
    });

    test("T3.7: 6. other values leave the weights and change the output", async () => {
      const lesson = await open("other-values");
      const weights = [softmax([3, 1, 0]), softmax([1, 1, 2])];
      for (const name of ["weights, first V", "weights, other V"]) expectPrinted(await lesson.numbers(name), weights, 3);
      expectPrinted(await lesson.numbers("output, first V"), times(weights, [[1, 0], [0, 1], [-1, -1]]), 2);
      await lesson.type("other V", 1, 0, 9);
      expectPrinted(await lesson.numbers("weights, other V"), weights, 3);
      expectPrinted(await lesson.numbers("output, other V"), times(weights, [[5, 5], [9, 2], [0, 8]]), 2);
      expect(await lesson.isAsExpected()).toBe(true);
      expect(await lesson.answer(2)).toMatch(/^Yes/);
    });

    test("T3.7: 7. a masked token has weight 0, and the others keep their proportions", async () => {
      const lesson = await open("one-masked-token");
      const [cat = NaN, on = NaN, mat = NaN] = softmax([1, 0.5, 0]);
      expectPrinted(await lesson.numbers("weights"), [[cat, 0, on, mat]], 3);
      expectPrinted(await lesson.numbers("output"), [[cat - mat, on]], 2);
      expect(await lesson.isAsExpected()).toBe(true);
      await lesson.type("values", 1, 0, -9);
      expectPrinted(await lesson.numbers("output"), [[cat - mat, on]], 2);
      await lesson.choose("hidden", "none");
      expectPrinted(await lesson.numbers("weights"), [softmax([1, 2, 0.5, 0])], 3);
      expect(await lesson.answer(2)).toMatch(/^Yes/);
    });

    test("T3.7: 8. two heads look at one token and bring back different things", async () => {
      const lesson = await open("two-heads-one-token");
      const weights = softmax([1.6, 8, 0.8]);
      for (const head of [0, 1]) expectPrinted(await lesson.numbers(`weights, head ${head}`), Array<number[]>(3).fill(weights), 2);
      const other = await lesson.numbers("output, head 1");
      expect(await lesson.isAsExpected()).toBe(true);
      await lesson.type("X", 1, 1, -1);
      const output = times([weights], [[0.6], [-1], [0.4]])[0] ?? [];
      expectPrinted(await lesson.numbers("output, head 0"), [output, output, output], 2);
      expect(await lesson.numbers("output, head 1")).toEqual(other);
      await lesson.set("sharpness", 0);
      expectPrinted((await lesson.numbers("weights, head 0")).slice(0, 1), [[1 / 3, 1 / 3, 1 / 3]], 2);
      expect(await lesson.answer(1)).toMatch(/^Yes/);
    });

    test("T3.7: 9. two equal words differ only where positions are told", async () => {
      const lesson = await open("identical-embeddings");
      const twins = async (name: string, first: number, second: number): Promise<number> => {
        const rows = await lesson.numbers(name);
        return farthest([rows[first] ?? []], [rows[second] ?? []]);
      };
      expect(await twins("weights, plain", 0, 3)).toBe(0);
      expect(await twins("weights, with positions", 0, 3)).toBeGreaterThan(0.01);
      expect(await lesson.isAsExpected()).toBe(true);
      await lesson.set("sentence", "a rose is a flower");
      expect(await twins("weights, plain", 0, 3)).toBe(0);
      expect((await lesson.says())[0]).toMatch(/two “a” differ by 0/);
      await lesson.set("sentence", "no word twice");
      expect(await lesson.says()).toEqual(["No word stands twice here: type one again."]);
      await lesson.set("sentence", "");
      expect((await lesson.numbers("weights, plain"))).toEqual([[1]]);
      expect(await lesson.answer(0)).toMatch(/^Yes/);
    });

    test("T3.7, T1.4: 10. a width of 16 goes with 4 heads and not with 3, and the error names both", async () => {
      const lesson = await open("indivisible-width");
      expect(await lesson.numbers("made")).toEqual([[1, 1, 0, 1, 0, 0, 0, 1]]);
      expect(await lesson.texts(".note.error")).toEqual(["embedDim is 16, expected a multiple of numHeads, 3"]);
      await lesson.set("heads", 4);
      expect(await lesson.texts(".note.error")).toEqual([]);
      expect(await lesson.texts(".shape li b")).toEqual(["4", "4"]);
      await lesson.set("width", 15);
      expect(await lesson.numbers("made")).toEqual([[1, 0, 1, 0, 1, 0, 0, 0]]);
      expect(await lesson.isAsExpected()).toBe(true);
      expect(await lesson.answer(1)).toMatch(/^Yes/);
    });

    test("T3.7: 11. a query near zero looks everywhere, and a longer one chooses", async () => {
      const lesson = await open("weak-query");
      const kt = [[2, -1, 0.5, -2, 1], [0.5, 2, -1.5, -1, 1]];
      expectPrinted(await lesson.numbers("weights"), times([[0.05, 0.05]], kt).map(softmax), 3);
      expect(await lesson.isAsExpected()).toBe(true);
      await lesson.type("Q", 0, 0, 3);
      expectPrinted(await lesson.numbers("weights"), times([[3, 0.05]], kt).map(softmax), 3);
      expect((await lesson.says())[0]).toMatch(/^It does choose/);
      expect(await lesson.answer(1)).toMatch(/^Yes/);
    });

    test("T3.7: each of the eleven asks before it shows", async () => {
      const { page } = await open("near-equal-keys");
      const order = await page.$$eval("attention-lesson", (lessons) => lessons.map((one) =>
        [...one.querySelectorAll(".claim, .question:not(.unscripted), .scene")].map((part) => part.classList[0]).join()));
      expect(order).toEqual(Array<string>(11).fill("claim,question,scene"));
    });
  });
}
