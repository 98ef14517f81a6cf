// SPDX-License-Identifier: Apache-2.0
import { describe, expect, test } from "vitest";
import { kCatSatOnMat } from "../../../web/views/cat-sat-on-mat.js";
import { type Book, expectPrinted } from "./book.js";
import { drag } from "./why.js";

type Rows = readonly (readonly number[])[];

const turned = (a: Rows): number[][] => (a[0] ?? []).map((_, col) => a.map((row) => row[col] ?? NaN));
const times = (a: Rows, b: Rows): number[][] =>
  a.map((row) => turned(b).map((column) => row.reduce((sum, value, i) => sum + value * (column[i] ?? NaN), 0)));
const softmax = (row: readonly number[]): number[] => {
  const powers = row.map(Math.exp), total = powers.reduce((sum, power) => sum + power, 0);
  return powers.map((power) => power / total);
};
const columns = (a: Rows, head: number): number[][] => a.map((row) => row.slice(2 * head, 2 * head + 2));

/** One head of “cat sat on mat”, in double precision. */
function headOf(head: number, x: Rows = kCatSatOnMat.x): Record<string, number[][]> {
  const { wq, wk, wv } = kCatSatOnMat;
  const [q = [], k = [], v = []] = [wq, wk, wv].map((w) => times(x, columns(w, head)));
  const scores = times(q, turned(k));
  const scaled = scores.map((row) => row.map((score) => score / Math.SQRT2));
  const weights = scaled.map(softmax);
  return { Q: q, K: k, V: v, Kᵀ: turned(k), scores, "scores ÷ √2": scaled, weights, "head output": times(weights, v) };
}

const beside = (a: Rows = [], b: Rows = []): number[][] => a.map((row, i) => [...row, ...(b[i] ?? [])]);

export function readProjections(book: Book): void {
  describe("projections", () => {
    test("T3.2: [2,1]·[2,1] = 5 and [2,1]·[0,1] = 1, and the vectors are dragged", async () => {
      const lesson = await book.lesson("projections", "measure-of-fit");
      expectPrinted(await lesson.numbers("query"), [[2, 1]], 1);
      expectPrinted(await lesson.numbers("keysᵀ"), [[2, 0], [1, 1]], 1);
      expectPrinted(await lesson.numbers("scores"), [[5, 1]], 2);
      expect(await lesson.point("scores", 0, 0)).toContain("2.0·2.0 + 1.0·1.0 ≈ 5.00");
      await lesson.type("keys", 1, 0, -1);
      await lesson.type("keys", 1, 1, 2);
      expectPrinted(await lesson.numbers("scores"), [[5, 0]], 2);
      expect(await lesson.answer(1)).toMatch(/^Yes/);
      expect((await lesson.says())[0]).toContain("The: 90°, score 0. cat fits the query better");
      await drag(lesson, "measure-of-fit", "The", 20, 80);
      const [cat = [], the = []] = await lesson.numbers("keys");
      expect(the[1]).toBeLessThan(2);
      const scores = times([[2, 1]], turned([cat, the]));
      expectPrinted(await lesson.numbers("scores"), scores, 2);
      await lesson.type("query", 0, 0, -2);
      expectPrinted(await lesson.numbers("scores"), times([[-2, 1]], turned([cat, the])), 2);
    });

    test("T0.1: “cat sat on mat” from the embeddings to each token in its context, every matrix", async () => {
      const lesson = await book.lesson("projections", "cat-sat-on-mat");
      expectPrinted(await lesson.numbers("X"), [[0.21, 0.85, 0.14, 0.62], [0.45, 0.33, 0.71, 0.18], [0.05, 0.12, 0.88, 0.09], [0.19, 0.79, 0.22, 0.58]], 2);
      const expectHead = async (head: number, x?: Rows): Promise<void> => {
        for (const [name, w] of [["W_q", "wq"], ["W_k", "wk"], ["W_v", "wv"]] as const)
          expectPrinted(await lesson.numbers(name), columns(kCatSatOnMat[w], head), 2);
        for (const [name, rows] of Object.entries(headOf(head, x))) expectPrinted(await lesson.numbers(name), rows, 3);
        const joined = beside(headOf(0, x)["head output"], headOf(1, x)["head output"]);
        expectPrinted(await lesson.numbers("heads joined"), joined, 3);
        expectPrinted(await lesson.numbers("output"), times(joined, kCatSatOnMat.wo), 3);
      };
      await expectHead(0);
      expect((await lesson.says())[0]).toMatch(/cat looks most at sat .*sat looks most at cat .*mat looks most at sat/);
      expect(await lesson.point("scores", 1, 0)).toMatch(/^sat, cat: .*·.* \+ .* ≈ 2\.096$/);
      await lesson.choose("head", "1");
      await expectHead(1);
      await lesson.type("X", 0, 1, -0.5);
      const [first = [], ...rest] = kCatSatOnMat.x;
      await expectHead(1, [first.map((value, i) => (i === 1 ? -0.5 : value)), ...rest]);
      await lesson.choose("head", "0");
      for (let row = 0; row < 4; ++row) for (const col of [0, 1]) await lesson.type("W_q", row, col, 0);
      expectPrinted(await lesson.numbers("weights"), Array.from({ length: 4 }, () => [0.25, 0.25, 0.25, 0.25]), 3);
      await lesson.type("W_k", 0, 0, 3);
      await lesson.type("W_v", 0, 0, 3);
      expect((await lesson.numbers("K"))[1]?.[0]).toBeCloseTo((headOf(0).K?.[1]?.[0] ?? NaN) + 0.45 * 3.74, 2);
      expect((await lesson.numbers("V"))[1]?.[0]).toBeCloseTo((headOf(0).V?.[1]?.[0] ?? NaN) + 0.45 * 2.5, 2);
      expect(await lesson.isAsExpected()).toBe(true);
      expect(await lesson.answer(1)).toMatch(/^Yes/);
    });

    test("T0.1: a query decides its row, a key its column, and a value no weight", async () => {
      const lesson = await book.lesson("projections", "three-roles");
      const { Q: q = [], K: k = [], V: v = [], weights: before = [] } = headOf(0);
      const expectChanged = async (role: "q" | "k" | "v", token: number, factor: number): Promise<void> => {
        const changed = (own: string, rows: Rows): number[][] =>
          rows.map((row, i) => row.map((value) => (own === role && i === token ? value * factor : value)));
        const scores = times(changed("q", q), turned(changed("k", k)));
        const after = scores.map((row) => softmax(row.map((score) => score / Math.SQRT2)));
        expectPrinted(await lesson.numbers("weights before"), before, 3);
        expectPrinted(await lesson.numbers("weights after"), after, 3);
        const [out, old] = [times(after, changed("v", v)), times(before, v)];
        expectPrinted(await lesson.numbers("change of the output"), out.map((row, r) => row.map((value, c) => value - (old[r]?.[c] ?? NaN))), 3);
      };
      await expectChanged("k", 1, -1);
      expect(await lesson.isAsExpected()).toBe(true);
      await lesson.choose("role", "query");
      await expectChanged("q", 1, -1);
      expect((await lesson.says())[0]).toMatch(/^The row of weights changes for sat\. /);
      await lesson.choose("role", "value");
      await lesson.set("factor", 3);
      await expectChanged("v", 1, 3);
      expect(await lesson.says()).toEqual(
        ["No row of weights changes. A value only decides what is handed over.", "The output changes for cat, sat, on, mat."]);
      await lesson.choose("token", "3");
      await expectChanged("v", 3, 3);
      expect(await lesson.answer(2)).toMatch(/^Yes/);
    });

    test("T3.1: PyTorch’s seed 123 gives the four printed rows", async () => {
      const lesson = await book.lesson("projections", "seed-123");
      const printed = [
        [0.2352, 0.2783, 0.2205, 0.2659], [0.2094, 0.31, 0.2795, 0.2011],
        [0.336, 0.2504, 0.2338, 0.1797], [0.3234, 0.2881, 0.2501, 0.1385],
      ];
      expect(await lesson.numbers("weights")).toEqual(printed);
      expect(await lesson.isAsExpected()).toBe(true);
      expect((await lesson.numbers("output"))[0]).toEqual([0.22, -0.33, 0.47, 0.85, 0.12, 0.48, -0.53, -0.05]);
      expect(await lesson.answer(0)).toMatch(/^Yes/);
      await lesson.type("ids", 0, 1, 0);
      const twice = await lesson.numbers("weights");
      expect(twice[1]).toEqual(twice[0]);
      for (const row of twice) expect(row[1]).toBe(row[0]);
      await lesson.type("ids", 0, 1, 1);
      await lesson.set("growth", 8);
      const sharp = (await lesson.numbers("weights")).map((row) => Math.max(...row));
      expect(Math.max(...sharp)).toBeGreaterThan(0.9);
      expect(await lesson.isAsExpected()).toBe(false);
      await lesson.set("growth", 0);
      expectPrinted(await lesson.numbers("weights"), printed.map((row) => row.map(() => 0.25)), 4);
    });
  });
}
