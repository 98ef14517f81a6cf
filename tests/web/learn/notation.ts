// SPDX-License-Identifier: Apache-2.0
import { describe, expect, test } from "vitest";
import { type Book, expectPrinted } from "./book.js";

const turned = (rows: readonly (readonly number[])[]): number[][] =>
  (rows[0] ?? []).map((_, col) => rows.map((row) => row[col] ?? NaN));
const times = (a: readonly (readonly number[])[], b: readonly (readonly number[])[]): number[][] =>
  a.map((row) => turned(b).map((col) => row.reduce((sum, value, i) => sum + value * (col[i] ?? NaN), 0)));

const kSteps = {
  x: ["X, rows", "X, columns"],
  q: ["Q = X Ω_qᵀ + 1 β_qᵀ", "Q = β_q 1ᵀ + Ω_q X"],
  k: ["K = X Ω_kᵀ + 1 β_kᵀ", "K = β_k 1ᵀ + Ω_k X"],
  v: ["V = X Ω_vᵀ + 1 β_vᵀ", "V = β_v 1ᵀ + Ω_v X"],
  scores: ["Q Kᵀ ÷ √d", "Kᵀ Q ÷ √d"],
  weights: ["softmax of each row", "softmax of each column"],
  output: ["weights · V", "V · weights"],
} as const;

export function readNotation(book: Book): void {
  describe("notation", () => {
    test("T3.5: tokens as rows and tokens as columns give the same numbers, transposed", async () => {
      const lesson = await book.lesson("notation", "rows-or-columns");
      const seen: Partial<Record<keyof typeof kSteps, number[][]>> = {};
      for (const step of Object.keys(kSteps) as (keyof typeof kSteps)[]) {
        const [row, column] = kSteps[step];
        await lesson.choose("step", step);
        const numbers = seen[step] = await lesson.numbers(column);
        expect(turned(await lesson.numbers(row)), step).toEqual(numbers);
        expect(await lesson.isAsExpected(), step).toBe(true);
      }
      // The textbook's formulas hold for the printed numbers, up to their three decimals.
      const { q = [], k = [], v = [], scores = [], weights = [], output = [] } = seen;
      expectPrinted(times(turned(k), q).map((row) => row.map((score) => score / Math.sqrt(3))), scores, 2);
      expectPrinted(times(v, weights), output, 2);
      for (const column of turned(weights)) expect(column.reduce((sum, weight) => sum + weight, 0)).toBeCloseTo(1, 2);
      await lesson.choose("step", "weights");
      await lesson.set("token", 3);
      expect((await lesson.says())[1]).toMatch(/^“mat” looks: its weights sum to 1/);
      expect(await lesson.texts(".marked")).toHaveLength(8);
      expect(await lesson.answer(1)).toMatch(/^Yes/);
    });
  });
}
