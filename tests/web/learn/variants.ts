// SPDX-License-Identifier: Apache-2.0
import { readFileSync } from "node:fs";
import { PNG } from "pngjs";
import { describe, expect, test } from "vitest";
import { kMoon } from "../../../web/learn/chapters/variants/shape-finder/moon.js";
import { kRoot } from "../../compare.js";
import { type Book, expectPrinted, type OpenLesson } from "./book.js";

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

function softmax(scores: readonly number[]): number[] {
  const powers = scores.map((score) => Math.exp(score - Math.max(...scores)));
  return powers.map((power) => power / sum(powers));
}

/** The nearest point of the simplex, by bisection of the threshold. */
function sparsemax(scores: readonly number[]): number[] {
  let [low, high] = [Math.min(...scores) - 1, Math.max(...scores)];
  for (let round = 0; round < 60; ++round) {
    const middle = (low + high) / 2;
    if (sum(scores.map((score) => Math.max(score - middle, 0))) > 1) low = middle;
    else high = middle;
  }
  return scores.map((score) => Math.max(score - low, 0));
}

const row = (rows: readonly number[][], index: number): number[] => rows[index] ?? [];
const column = (rows: readonly number[][], index: number): number[] => rows.map((cells) => cells[index] ?? NaN);

const click = (lesson: OpenLesson, patch: number): Promise<void> => lesson.press(`.picture .fade[data-patch="${patch}"]`);

export function readVariants(book: Book): void {
  describe("variants", () => {
    test("T3.8: softmax, sparsemax, sigmoid and top-k on the same scores", async () => {
      const lesson = await book.lesson("variants", "normalizers");
      const scores = [1.2, 1, 0.1, -0.5, -2];
      expectPrinted(await lesson.numbers("scores"), [scores], 1);
      const before = await lesson.numbers("weights");
      const sigmoid = scores.map((score) => 1 / (1 + Math.exp(-score)));
      expectPrinted([row(before, 0), row(before, 1), row(before, 3)], [softmax(scores), sparsemax(scores), sigmoid], 3);
      expectPrinted([column(await lesson.numbers("its row"), 0)], [[1, 1, 1, sum(sigmoid), 1, 1]], 3);
      expect(column(await lesson.numbers("its keys"), 0)).toEqual([0, 3, 2, 0, 3, 4]);
      expect(await lesson.isAsExpected()).toBe(true);

      await lesson.set("most", 3);
      expectPrinted([row(await lesson.numbers("weights"), 4)], [[...softmax(scores.slice(0, 3)), 0, 0]], 3);
      await lesson.set("most", 2);
      for (const [col, score] of scores.entries()) await lesson.type("scores", 0, col, Number((score + 5).toFixed(1)));
      const after = await lesson.numbers("weights");
      for (const kind of before.keys()) {
        if (kind === 3) expect(row(after, kind)).not.toEqual(row(before, kind));
        else expectPrinted([row(after, kind)], [row(before, kind)], 3);
      }
      expect(await lesson.answer(1)).toMatch(/^Yes/);
    });

    test("T3.8: masked padding gets nothing, and the sentence comes out as if alone", async () => {
      const lesson = await book.lesson("variants", "padded-batch");
      for (const padding of [2, 4]) {
        await lesson.set("padding", padding);
        const [alone, masked] = [await lesson.numbers("alone"), await lesson.numbers("padded and masked")];
        expectPrinted(masked, alone.map((cells) => [...cells, ...Array<number>(padding).fill(0)]), 3);
        const open = await lesson.numbers("padded, not masked");
        expect(open.some((cells) => sum(cells.slice(3)) > 0.1)).toBe(true);
        expect(Number((await lesson.texts(".bars .number"))[1])).toBe(0);
        expect(await lesson.isAsExpected()).toBe(true);
      }
      await lesson.set("loudness", 0);
      const open = await lesson.numbers("padded, not masked");
      for (const cells of open) expect(Math.min(...cells.slice(3))).toBeGreaterThan(0.05);
      expect(await lesson.answer(1)).toMatch(/^Yes/);
    });

    test("T3.8: shared keys and values make the cache smaller, and decoding gives the numbers of one pass", async () => {
      const lesson = await book.lesson("variants", "shared-keys");
      const steps = [1, 2, 3, 4, 5, 6];
      expect(await lesson.numbers("numbers in the cache")).toEqual([64, 16].map((size) => steps.map((step) => size * step)));
      expect(await lesson.texts(".bars .number")).toEqual(["64.000", "16.000", "8.000", "2.000"]);
      expect((await lesson.says()).join(" ")).toContain("128 KiB");
      for (const cells of await lesson.numbers("head 0")) expect(sum(cells)).toBeCloseTo(1, 2);
      await lesson.set("step", 2);
      expect((await lesson.numbers("head 0")).map((cells) => Math.round(sum(cells)))).toEqual([1, 1, 0, 0, 0, 0]);
      await lesson.set("groups", 0);
      expect(await lesson.numbers("reads")).toEqual([Array<number>(8).fill(1)]);
      expect(row(await lesson.numbers("numbers in the cache"), 1)).toEqual(steps.map((step) => 8 * step));
      await lesson.set("groups", 3);
      expect((await lesson.numbers("reads")).map((cells) => cells.indexOf(1))).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
      await lesson.set("length", 0);
      expect((await lesson.texts(".bars .number"))[0]).toBe("0.500");
      expect(await lesson.isAsExpected()).toBe(true);
      expect(await lesson.answer(1)).toMatch(/^Yes/);
    });

    test("T3.8: a picture in patches is a sequence, and halved patches make 16 times the weights", async () => {
      const lesson = await book.lesson("variants", "patches");
      expect(await lesson.numbers("patches of 32 × 32 pixels")).toEqual([[4, 16], [16, 256], [64, 4096], [256, 65536]]);
      expect(sum((await lesson.numbers("patch 2,1 looks at")).flat())).toBeCloseTo(1, 1);
      await click(lesson, 63);
      const corner = await lesson.numbers("patch 7,7 looks at");
      expect(corner[7]?.[7]).toBeCloseTo(corner[0]?.[7] ?? NaN, 3);
      await lesson.set("size", 2);
      expect((await lesson.numbers("patch 3,3 looks at")).length).toBe(4);
      expect((await lesson.says())[1]).toContain("16 tokens and 256 weights");
      await lesson.set("size", 0);
      expect((await lesson.says())[1]).toContain("256 tokens and 65536 weights");
      await lesson.set("place", 0);
      expect((await lesson.texts(".picture figcaption"))[1]).toContain("0,0");
      expect(await lesson.answer(3)).toMatch(/^Yes/);
    });

    test("T3.8: heads of tiny-vit find the shape in one of its sample pictures", async () => {
      const { data, width, height } = PNG.sync.read(readFileSync(`${kRoot}web/models/tiny-vit/examples/06.png`));
      expect([...Buffer.from(kMoon, "base64")]).toEqual([...data].filter((_, index) => index % 4 !== 3));
      using model = await book.engine.loadModel("tiny-vit");
      using seen = model.attend({ data: new Uint8ClampedArray(data), width, height });
      const expected = (layer: number, head: number, token: number): number[][] => {
        const weights = [...seen.map(layer, head).data].slice(token * 65 + 1, (token + 1) * 65);
        return Array.from({ length: 8 }, (_, index) => weights.slice(8 * index, 8 * index + 8));
      };
      const lesson = await book.lesson("variants", "shape-finder");
      expectPrinted(await lesson.numbers("weights"), expected(1, 2, 0), 2);
      expect(await lesson.isAsExpected()).toBe(true);
      expect((await lesson.says())[1]).toContain("moon");
      await lesson.set("head", 1);
      await click(lesson, 21);
      expectPrinted(await lesson.numbers("weights"), expected(1, 1, 22), 2);
      await lesson.set("token", 0);
      await lesson.set("layer", 0);
      expect(sum((await lesson.numbers("weights")).flat())).toBeLessThan(0.05);
      expect((await lesson.says())[0]).toMatch(/^Only/);
      expect(await lesson.answer(2)).toMatch(/^Yes/);
    });

    test("T3.8: words look at the patches of their colour", async () => {
      const lesson = await book.lesson("variants", "words-and-picture");
      for (const [word, places] of [["red", [0, 1, 6, 7]], ["green", [16, 17, 22, 23]], ["blue", [25, 26, 31, 32]]] as const) {
        await lesson.choose("word", word);
        const weights = (await lesson.numbers(`weights of “${word}”`)).flat();
        for (const place of places) expect(weights[place]).toBeGreaterThan(0.2);
        expect(await lesson.isAsExpected()).toBe(true);
      }
      await lesson.set("sharpness", 0);
      expectPrinted([(await lesson.numbers("weights of “blue”")).flat()], [Array<number>(36).fill(1 / 36)], 3);
      expect(await lesson.isAsExpected()).toBe(false);
      expect(await lesson.answer(1)).toMatch(/^Yes/);
    });

    test("T3.8: removing heads changes the output by what they added", async () => {
      const lesson = await book.lesson("variants", "pruning");
      expect((await lesson.texts(".bars .number")).length).toBe(8);
      const shares = async (): Promise<number[]> =>
        [...((await lesson.says())[1] ?? "").matchAll(/by (\d+\.\d) %/g)].map(([, share]) => Number(share));
      const [least = NaN, most = NaN] = await shares();
      expect(least).toBeLessThan(most / 3);
      await lesson.set("fading", 1);
      const [gentle = NaN, rough = NaN] = await shares();
      expect(gentle).toBeLessThan(rough);
      expect(rough - gentle).toBeLessThan((most - least) / 2);
      await lesson.set("removed", 8);
      expect(await shares()).toEqual([100, 100]);
      await lesson.set("removed", 0);
      expect((await lesson.says())[1]).toContain("nothing changes");
      expect(await lesson.isAsExpected()).toBe(true);
      expect(await lesson.answer(1)).toMatch(/^Yes/);
    });
  });
}
