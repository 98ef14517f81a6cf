// SPDX-License-Identifier: Apache-2.0
import { describe, expect, test } from "vitest";
import { type Book, expectPrinted } from "./book.js";

const strongest = (rows: readonly (readonly number[])[]): number[] => rows.map((row) => row.indexOf(Math.max(...row)));
const times = (a: readonly (readonly number[])[], b: readonly (readonly number[])[]): number[][] =>
  a.map((row) => (b[0] ?? []).map((_, col) => row.reduce((sum, value, i) => sum + value * (b[i]?.[col] ?? NaN), 0)));

export function readKinds(book: Book): void {
  describe("kinds", () => {
    readSequences(book);
    readTranslator(book);
    readBlocks(book);
  });
}

function readSequences(book: Book): void {
  test("T1.3: (2,12,256) looks at (2,20,256): output (2,12,256), weights (2,8,12,20)", async () => {
    const lesson = await book.lesson("kinds", "one-or-two");
    const shapes = async (): Promise<string> => (await lesson.texts(".shape li b")).join(" ");
    expect(await shapes()).toBe("2 12 256 2 20 256 2 8 12 20 2 12 256");
    const [weights, values] = [await lesson.numbers("weights"), await lesson.numbers("V")];
    expect([weights.length, weights[0]?.length]).toEqual([2, 4]);
    for (const row of weights) expect(row.reduce((a, b) => a + b)).toBeCloseTo(1, 1);
    // The factors are printed with two decimals, so the product is known to one.
    for (const [row, cells] of times(weights, values).entries())
      for (const [col, value] of cells.entries())
        expect(Math.abs(((await lesson.numbers("output"))[row]?.[col] ?? NaN) - value)).toBeLessThan(0.06);
    expect(await lesson.point("output", 0, 0)).toContain("≈");
    await lesson.set("keys", 6);
    expect((await lesson.numbers("weights"))[0]?.length).toBe(6);
    expect((await lesson.numbers("output")).length).toBe(2);
    await lesson.choose("from", "own");
    expect((await lesson.numbers("weights"))[0]?.length).toBe(2);
    expect(await shapes()).toBe("2 12 256 2 12 256 2 8 12 12 2 12 256");
    expect(await lesson.isAsExpected()).toBe(true);
    expect(await lesson.answer(1)).toMatch(/^Yes/);
  });
}

function readTranslator(book: Book): void {
  test("T1.3: each French word is written while looking at the English one, in another order", async () => {
    const lesson = await book.lesson("kinds", "alignment");
    const french = async (): Promise<string[]> => lesson.texts("ol[aria-label=French] .word");
    expect(await french()).toEqual(["le", "cheval", "rouge", "ne", "dort", "pas", "</s>"]);
    expect(strongest(await lesson.numbers("weights"))).toEqual([0, 2, 1, 4, 5, 4, 6]);
    const model = await book.engine.loadModel("tiny-translator");
    const seen = model.attend({ source: "the red horse does not sleep", target: "le cheval rouge ne dort pas" });
    const { data, shape } = seen.map(1, 0, { attention: "cross" });
    const width = shape[1] ?? 0;
    const fresh = Array.from({ length: shape[0] ?? 0 }, (_, row) => [...data.slice(row * width, (row + 1) * width)]);
    expectPrinted(await lesson.numbers("weights"), fresh, 2);
    model.dispose();
    expect((await lesson.says())[0]).toMatch(/To write “rouge”, the head looks at “red”: (100|99).\d %/);
    await lesson.set("word", 1);
    expect((await lesson.says())[0]).toMatch(/To write “cheval”, the head looks at “horse”/);
    await lesson.set("english", "she does not like the white cat");
    expect(await french()).toEqual(["elle", "n'", "aime", "pas", "le", "chat", "blanc", "</s>"]);
    await lesson.set("english", "the king's cat never sleeps");
    await lesson.set("word", 2);
    expect((await lesson.says())[0]).toMatch(/To write “du”, the head looks at “'s”/);
    for (const text of ["", "zzz"]) {
      await lesson.set("english", text);
      expect((await lesson.numbers("weights")).length).toBeGreaterThan(0);
    }
    expect(await lesson.answer(1)).toMatch(/^Yes/);
  });

  test("T1.3: the encoder looks ahead, the decoder does not, and the map between them is no square", async () => {
    const lesson = await book.lesson("kinds", "three-attentions");
    const [encoder, decoder] = [await lesson.numbers("encoder"), await lesson.numbers("decoder")];
    const cross = await lesson.numbers("cross");
    expect([encoder.length, encoder[0]?.length]).toEqual([7, 7]);
    expect([decoder.length, decoder[0]?.length]).toEqual([8, 8]);
    expect([cross.length, cross[0]?.length]).toEqual([8, 7]);
    expect(encoder[0]?.slice(1).some((weight) => weight > 0.5)).toBe(true);
    for (const [query, row] of decoder.entries())
      expect(row.slice(query + 1).every((weight) => weight === 0)).toBe(true);
    expect(await lesson.isAsExpected()).toBe(true);
    await lesson.set("head", 4);
    expect(await lesson.numbers("encoder")).not.toEqual(encoder);
    await lesson.set("layer", 2);
    await lesson.choose("sentence", "girl");
    expect((await lesson.numbers("encoder")).length).toBe(6);
    expect(await lesson.isAsExpected()).toBe(true);
    expect(await lesson.answer(1)).toMatch(/^Yes/);
  });
}

function readBlocks(book: Book): void {
  test("T1.3: a new word moves nothing before it in a decoder, and everything in an encoder", async () => {
    const lesson = await book.lesson("kinds", "both-ways");
    const bars = async (): Promise<number[]> => (await lesson.texts("table.bars .number")).map(Number);
    for (const layer of [4, 1]) {
      await lesson.set("layer", layer);
      for (const word of [5, 3, 2, 1]) {
        await lesson.choose("word", String(word));
        expect(await lesson.isAsExpected(), `word ${word}, layer ${layer}`).toBe(true);
        // The decoder has 7 tokens, of which the first is a token of its own.
        const moved = (await bars()).slice(0, 7).map((value) => value > 0);
        expect(moved).toEqual(Array.from({ length: 7 }, (_, index) => index > word));
      }
    }
    expect(await lesson.answer(1)).toMatch(/^Yes/);
  });

  test("T4.2: the feed-forward block is ReLU between two linear maps, for each token by itself", async () => {
    const lesson = await book.lesson("kinds", "feed-forward");
    expect(await lesson.numbers("Y")).toEqual([[2, 1], [3, 0.5], [1, 4]]);
    const [w1, w2] = [await lesson.numbers("W_1"), await lesson.numbers("W_2")];
    await lesson.type("X", 1, 0, 2.5);
    expect(await lesson.numbers("Y")).toEqual([[2, 1], [2.5, 0.5], [1, 4]]);
    await lesson.type("W_1", 1, 0, 0.5);
    await lesson.type("b_1", 0, 0, -1);
    await lesson.type("W_2", 0, 1, 2);
    await lesson.type("b_2", 0, 1, 3);
    const [x, edited] = [await lesson.numbers("X"), w1.map((row) => [...row])];
    edited[1]?.splice(0, 1, 0.5);
    const second = w2.map((row) => [...row]);
    second[0]?.splice(1, 1, 2);
    const h = times(x, edited).map((row) => row.map((value, col) => value + (col === 0 ? -1 : 0)));
    const after = (rows: readonly (readonly number[])[]): number[][] =>
      times(rows, second).map(([a = 0, b = 0]) => [a, b + 3]);
    expectPrinted(await lesson.numbers("H"), h, 2);
    expectPrinted(await lesson.numbers("Y"), after(h.map((row) => row.map((value) => Math.max(value, 0)))), 2);
    await lesson.set("relu", false);
    expectPrinted(await lesson.numbers("Y"), after(h), 2);
    expect(await lesson.isAsExpected()).toBe(true);
    expect(await lesson.point("H as it is", 0, 0)).toContain("stays");
    expect(await lesson.answer(1)).toMatch(/^Yes/);
  });
}
