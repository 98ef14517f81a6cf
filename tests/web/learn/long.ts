// SPDX-License-Identifier: Apache-2.0
import { describe, expect, test } from "vitest";
import { Draw } from "../../../web/learn/experiments/numbers.js";
import { type Book, expectPrinted } from "./book.js";

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
const dot = (a: readonly number[], b: readonly number[]): number =>
  sum(a.map((value, index) => value * (b[index] ?? NaN)));

function softmax(scores: readonly number[]): number[] {
  const powers = scores.map((score) => Math.exp(score - Math.max(...scores)));
  return powers.map((power) => power / sum(powers));
}

const kValues = [[1, 0], [0, 2], [3, 1], [1, 1], [0, 4], [2, 2], [5, 0], [1, 3]];

function attend(scores: readonly number[]): number[] {
  const weights = softmax(scores);
  return [0, 1].map((col) => dot(weights, kValues.map((value) => value[col] ?? NaN)));
}

/** The numbers that are kept after the first keys. */
function kept(scores: readonly number[], before: number): number[] {
  const maximum = Math.max(...scores);
  const correction = before === 0 ? 0 : Math.exp(Math.max(...scores.slice(0, before)) - maximum);
  return [maximum, correction, sum(scores.map((score) => Math.exp(score - maximum))), ...attend(scores)];
}

export function readLong(book: Book): void {
  describe("long", () => {
    test("T3.8: projections cost 4 T D², scores and weighted values 2 T² D", async () => {
      const lesson = await book.lesson("long", "quadratic-cost");
      const bars = async (): Promise<number[]> => (await lesson.texts(".bars .number")).map(Number);
      const cost = (tokens: number, width: number): number[] =>
        [4 * tokens * width ** 2, 2 * tokens ** 2 * width].map((value) => Number((value / 1e9).toFixed(2)));
      expect(await bars()).toEqual(cost(8192, 1024));
      await lesson.set("tokens", 2);
      const [projections, rest] = await bars();
      expect(projections).toBe(rest);
      await lesson.set("width", 2);
      expect(await bars()).toEqual(cost(2048, 4096));
      expect(await lesson.isAsExpected()).toBe(true);
      expect(await lesson.answer(2)).toMatch(/^Yes/);
    });

    test("T3.8: block by block, a row of attention is that of one piece", async () => {
      const lesson = await book.lesson("long", "blocks");
      const scores = [1, 3, 2, 0, 6, 4, 1, 5];
      expectPrinted(await lesson.numbers("kept"), [2, 4, 6, 8].map((keys) => kept(scores.slice(0, keys), keys - 2)), 3);
      expectPrinted(await lesson.numbers("output"), [attend(scores)], 3);
      expectPrinted(await lesson.numbers("weights"), [softmax(scores)], 3);
      await lesson.set("read", 4);
      expectPrinted(await lesson.numbers("kept"), [2, 4, 6].map((keys) => kept(scores.slice(0, keys), keys - 2)), 3);
      expect((await lesson.says())[0]).toContain("After 6 of 8 keys");
      await lesson.set("read", 7);
      await lesson.set("size", 0);
      expectPrinted(await lesson.numbers("kept"), scores.map((_, key) => kept(scores.slice(0, key + 1), key)), 3);
      await lesson.type("scores", 0, 3, 100);
      const large = scores.map((score, key) => (key === 3 ? 100 : score));
      expectPrinted((await lesson.numbers("kept")).slice(-1), [kept(large, 7)], 3);
      expect(await lesson.isAsExpected()).toBe(true);
      expect(await lesson.answer(1)).toMatch(/^Yes/);
    });

    test("T3.8: a map of 131,072 tokens would take 64 GiB, and a part of it is computed alone", async () => {
      const lesson = await book.lesson("long", "unstored-maps");
      expect((await lesson.numbers("its map")).flat()).toEqual([4, 64, 1024, 16384, 65536]);
      expect((await lesson.numbers("a number for each row")).flat()).toEqual([4, 16, 64, 256, 512]);
      expect((await lesson.says())[0]).toContain("64 GiB");
      expect(await lesson.isAsExpected()).toBe(true);
      await lesson.set("tokens", 0);
      const numbers = new Draw(91).row(2 * 1024 * 4).map(Math.fround);
      const vector = (first: number, token: number): number[] =>
        numbers.slice(first + 4 * token, first + 4 * token + 4);
      const rows = [1020, 1021, 1022, 1023].map((query) => {
        const scores = Array.from({ length: query + 1 }, (_, key) =>
          dot(vector(0, query), vector(1024 * 4, key)) / 2 - 0.5 * (query - key));
        const weights = softmax(scores);
        return Array.from({ length: 6 }, (_, col) => weights[1018 + col] ?? 0);
      });
      expectPrinted(await lesson.numbers("weights"), rows, 3);
      expect(await lesson.answer(2)).toMatch(/^Yes/);
    });

    test("T3.8: a window leaves few weights, and layers carry what it saw further", async () => {
      const lesson = await book.lesson("long", "window-reach");
      const draw = new Draw(94);
      const [q, k] = [draw.rows(8, 4), draw.rows(8, 4)];
      const weights = q.map((query, row) => {
        const open = k.map((_, col) => col <= row && row - col <= 2);
        return softmax(k.map((key, col) => (open[col] ? dot(query, key) / 2 : -Infinity)));
      });
      expectPrinted(await lesson.numbers("weights"), weights, 2);
      const twice = weights.map((row) => row.map((_, col) => dot(row, weights.map((cells) => cells[col] ?? NaN))));
      expectPrinted(await lesson.numbers("weights, layer after layer"), twice, 2);
      expect((await lesson.says())[0]).toBe("21 of 36 cells of the map are computed.");
      await lesson.set("layers", 3);
      expect((await lesson.says())[1]).toContain("“left”, 6 before it");
      await lesson.set("global", true);
      expect((await lesson.says())[1]).toContain("“we”, 7 before it");
      await lesson.set("window", 0);
      expect(await lesson.isAsExpected()).toBe(true);
      expect((await lesson.numbers("weights"))[7]?.filter((weight) => weight > 0).length).toBe(2);
      expect(await lesson.answer(2)).toMatch(/^Yes/);
    });
  });
}
