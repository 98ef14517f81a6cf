// SPDX-License-Identifier: Apache-2.0
import { describe, expect, test } from "vitest";
import type { Engine, Model } from "headlens";
import type { Book, OpenLesson } from "./book.js";

const kSentence = "The queen saw the king and she laughed.";
const kWords = " river king seven letter garden sister";

/** The shares below the tokens of a sentence, as they are printed. */
const sharesIn = async (lesson: OpenLesson): Promise<number[]> =>
  (await lesson.texts(".sentence small")).map((text) => Number.parseFloat(text) / 100);

const barsIn = async (lesson: OpenLesson, index: number): Promise<number[]> =>
  (await lesson.texts(`.bars:nth-of-type(${index + 1}) .number`)).map((text) => Number(text.replace("−", "-")));

function rowOf(model: Model, text: string, layer: number, head: number, query: number): number[] {
  const seen = model.attend(text);
  const row = [...seen.map(layer, head, { rows: [query, query + 1] }).data];
  seen.dispose();
  return row;
}

function expectNear(printed: readonly number[], expected: readonly number[], bound: number): void {
  expect(printed).toHaveLength(expected.length);
  for (const [index, value] of expected.entries())
    expect(Math.abs((printed[index] ?? NaN) - value), String(index)).toBeLessThanOrEqual(bound);
}

async function withModel<T>(engine: Engine, name: "tiny" | "tiny-bert", use: (model: Model) => T | Promise<T>): Promise<T> {
  const model = await engine.loadModel(name);
  try {
    return await use(model);
  } finally {
    model.dispose();
  }
}

export function readRoles(book: Book): void {
  describe("roles", () => {
    test("T2.2: real heads look one back, one ahead, at one word, at everything, or at the first token", async () => {
      const lesson = await book.lesson("roles", "flip");
      expect((await lesson.says())[0]).toBe("“and” looks at “queen” with 99.5 % of its weight.");
      await withModel(book.engine, "tiny", async (model) => expectNear(await sharesIn(lesson), rowOf(model, kSentence, 3, 4, 6), 0.005));
      const map = await lesson.page.$('attention-lesson[name="flip"] >>> attention-map');
      expect(await map?.evaluate((one) => [one.getAttribute("layer"), one.getAttribute("head")])).toEqual(["3", "4"]);
      const metrics = { previous: 0.6, next: 0.6, wide: 0.85, sink: 0.5 };
      for (const [head, least] of Object.entries(metrics)) {
        await lesson.choose("head", head);
        expect(await lesson.isAsExpected(), head).toBe(true);
        expect((await lesson.says())[1], head).toContain(`From ${least} on`);
      }
      await lesson.choose("head", "next");
      await lesson.set("text", "A dog ran home.");
      await lesson.set("query", 2);
      expect((await lesson.says())[0]).toMatch(/^“dog” looks at “ran”/);
      await lesson.choose("head", "link");
      await lesson.set("text", "One day the queen saw the king and she laughed.");
      await lesson.set("query", 8);
      expect((await lesson.says())[0]).toMatch(/^“and” looks at “queen”/);
      await lesson.set("text", "");
      expect(await lesson.texts(".sentence .word")).toEqual(["<s>", "."]);
      expect(await lesson.answer(1)).toMatch(/^Yes/);
    });

    test("T2.2: induction heads find what came next, until the previous-token head is silenced", async () => {
      const lesson = await book.lesson("roles", "induction");
      const scores = (silent: boolean): Promise<number[]> => withModel(book.engine, "tiny", (model) => {
        const headMask = { data: new Float32Array(32).fill(1), shape: [4, 8] };
        if (silent) headMask.data[5] = 0;
        const seen = model.attend(kWords + kWords, { headMask });
        const found = Array.from({ length: 8 }, (_, head) => book.engine.headMetrics(
          seen.map(1, head), { isCausal: true, tokens: [...seen.ids], metrics: ["induction"] })[0]?.induction ?? NaN);
        seen.dispose();
        return found;
      });
      const before = await scores(false);
      expectNear(await barsIn(lesson, 0), before, 0.0051);
      expect(Math.max(...before)).toBeGreaterThan(0.9);
      expect((await lesson.says())[0]).toMatch(/^“garden” looks at “sister” .* it came after “garden” the last time/);
      await lesson.set("silent", true);
      const after = await scores(true);
      expectNear(await barsIn(lesson, 0), after, 0.0051);
      expect(Math.max(...after)).toBeLessThan(0.2);
      expect((await lesson.says())[0]).toContain("and not at “sister”");
      await lesson.set("silent", true); // A click takes it back.
      await lesson.set("head", 2);
      await lesson.set("query", 9);
      expect((await lesson.says())[0]).toMatch(/^“seven” looks at “letter”/);
      await lesson.set("words", "");
      expect(await lesson.texts(".trouble")).toEqual([]);
      expect(await lesson.answer(2)).toMatch(/^Yes/);
    });

    test("T2.2: heads are found by a score on random tokens, read twice", async () => {
      const lesson = await book.lesson("roles", "found");
      const best = async (): Promise<string> => (await lesson.says())[0] ?? "";
      expect(await best()).toMatch(/layer 1, head \d, looks at what followed/);
      const induction = await lesson.numbers("score");
      expect(induction[1]?.filter((score) => score >= 0.5).length).toBeGreaterThanOrEqual(5);
      expect([0, 2, 3].flatMap((layer) => induction[layer] ?? []).every((score) => score < 0.2)).toBe(true);
      await lesson.set("seed", 2);
      expect(await lesson.numbers("score")).not.toEqual(induction);
      expect(await best()).toMatch(/layer 1/);
      await lesson.choose("metric", "previous");
      expect(await best()).toMatch(/layer 0, head 5, looks one token back: 0\.[89]/);
      await lesson.choose("metric", "next");
      expect((await lesson.numbers("score")).flat().every((score) => score === 0)).toBe(true);
      await lesson.choose("model", "tiny-bert");
      expect(await best()).toMatch(/layer 0, head 0, looks one token ahead/);
      for (const metric of ["duplicate", "sink", "entropyNormalized"]) {
        await lesson.choose("metric", metric);
        expect(await lesson.numbers("score")).toHaveLength(4);
      }
      expect(await lesson.answer(1)).toMatch(/^Yes/);
    });

    test("T2.2: a head that finds nothing rests on the first token, whose value is short", async () => {
      const lesson = await book.lesson("roles", "sink");
      expect(await lesson.isAsExpected()).toBe(true);
      await withModel(book.engine, "tiny", async (model) => {
        expectNear(await sharesIn(lesson), rowOf(model, kSentence, 1, 0, 8), 0.005);
        const seen = model.attend(kSentence, { keepValues: true });
        const { data, shape } = seen.values(1);
        const [, tokens = 0, width = 0] = shape;
        const lengthOf = (token: number): number => Math.hypot(...data.subarray(token * width, (token + 1) * width));
        const lengths = Array.from({ length: tokens }, (_, token) => lengthOf(token));
        seen.dispose();
        expectNear(await barsIn(lesson, 1), lengths, 0.051);
      });
      await lesson.choose("text", "repeat");
      for (const query of [8, 9, 10, 11, 12]) {
        await lesson.set("query", query);
        expect((await lesson.says())[0], String(query)).toContain("has found what it looks for");
      }
      await lesson.set("head", 5);
      expect((await lesson.texts(".row-title"))[0]).toContain("head 5");
      expect(await lesson.answer(1)).toMatch(/^Yes/);
    });
  });
}
