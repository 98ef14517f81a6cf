// SPDX-License-Identifier: Apache-2.0
import { describe, expect, test } from "vitest";
import { type Book, expectPrinted, type OpenLesson } from "./book.js";

const kSentence = "The queen saw the king and she laughed.";

/** The shares below the words of the sentences, in percent. */
const sharesOf = async (lesson: OpenLesson): Promise<number[]> =>
  (await lesson.texts(".sentence small")).map((text) => Number(text.replace(" %", "")));

export function readWhy(book: Book): void {
  describe("why", () => {
    test("T3.4: the map of a real head: “and” looks at “queen”, and the reader chooses text, head and token", async () => {
      const lesson = await book.lesson("why", "what-a-token-looks-at");
      expect(await lesson.isAsExpected()).toBe(true);
      expect((await lesson.says())[0]).toBe("“and” looks most at “queen”: 99.5 % of its attention.");
      const model = await book.engine.loadModel("tiny");
      const seen = model.attend(kSentence);
      const row = (layer: number, head: number, query: number): number[] =>
        [...seen.map(layer, head, { rows: [query, query + 1] }).data];
      const expectRow = async (weights: readonly number[]): Promise<void> => {
        const shares = await sharesOf(lesson);
        expect(shares.length).toBe(weights.length);
        for (const [col, weight] of weights.entries())
          expect(Math.abs((shares[col] ?? NaN) - 100 * weight)).toBeLessThan(0.51);
      };
      await expectRow(row(3, 4, 6));
      const view = (name: string): Promise<string | null> =>
        lesson.page.$eval(`attention-lesson[name="what-a-token-looks-at"] >>> attention-map`, (map, attribute) => map.getAttribute(attribute), name);
      expect([await view("layer"), await view("head"), await view("query"), await view("text")]).toEqual(["3", "4", "6", kSentence]);
      await lesson.page.waitForSelector(`attention-lesson[name="what-a-token-looks-at"] >>> attention-map >>> [part="legend"]`);
      expect(await lesson.answer(1)).toMatch(/^Yes/);
      await lesson.choose("head", "0.5");
      await lesson.set("token", 3);
      await expectRow(row(0, 5, 3));
      expect((await lesson.says())[0]).toContain("“saw” looks most at “queen”");
      expect([await view("layer"), await view("head"), await view("query")]).toEqual(["0", "5", "3"]);
      await lesson.choose("head", "3.4");
      await lesson.set("token", 6);
      await lesson.set("text", "The queen saw the king and he laughed.");
      expect((await lesson.says())[0]).toBe("“and” looks most at “queen”: 99.5 % of its attention.");
      await lesson.set("text", "");
      expect((await lesson.says())[0]).toContain("“<s>” looks most at “<s>”: 100.0 %");
      await lesson.set("text", kSentence);
      seen.dispose();
      model.dispose();
    });

    test("T3.2: parts become shares, and 0.7[2,0] + 0.2[0,2] + 0.1[1,1] = [1.5, 0.5]", async () => {
      const lesson = await book.lesson("why", "shares");
      expectPrinted(await lesson.numbers("weights"), [[0.7, 0.2, 0.1]], 3);
      expectPrinted(await lesson.numbers("output"), [[1.5, 0.5]], 3);
      expect(await lesson.isAsExpected()).toBe(true);
      await lesson.type("parts", 0, 1, 12);
      expectPrinted(await lesson.numbers("weights"), [[0.35, 0.6, 0.05]], 3);
      expectPrinted(await lesson.numbers("output"), [[0.75, 1.25]], 3);
      expect(await lesson.isAsExpected()).toBe(true);
      expect(await lesson.point("output", 0, 0)).toContain("0.350·2.0");
      expect(await lesson.answer(1)).toMatch(/^Yes/);
    });

    test("T3.2: 0.6[1,0] + 0.3[0,2] + 0.1[3,1] = [0.9, 0.7], and the output follows a value that is dragged", async () => {
      const lesson = await book.lesson("why", "blend-of-values");
      expectPrinted(await lesson.numbers("weights"), [[0.6, 0.3, 0.1]], 1);
      expectPrinted(await lesson.numbers("output"), [[0.9, 0.7]], 3);
      expect(await lesson.says()).toEqual(
        ["0.6 · [1, 0] + 0.3 · [0, 2] + 0.1 · [3, 1] = [0.9, 0.7]", "The largest part of the output comes from cat and sat."]);
      await lesson.type("values", 2, 0, 0);
      expectPrinted(await lesson.numbers("output"), [[0.6, 0.7]], 3);
      expect(await lesson.answer(1)).toMatch(/^Yes/);
      await drag(lesson, "blend-of-values", "cat", 60, -40);
      const [[x = NaN, y = NaN] = []] = await lesson.numbers("values");
      expect(x).toBeGreaterThan(1);
      expect(y).toBeGreaterThan(0);
      expectPrinted(await lesson.numbers("output"), [[0.6 * x, 0.6 * y + 0.7]], 3);
      expectPrinted(await lesson.numbers("weight × value"), [[0.6 * x, 0.6 * y], [0, 0.6], [0, 0.1]], 3);
    });

    test("attention reaches any token, while a memory fades", async () => {
      const lesson = await book.lesson("why", "direct-access");
      const expectShares = async (keep: number, fit: number, wanted: number): Promise<void> => {
        const shares = await sharesOf(lesson);
        for (let token = 0; token < 12; ++token) {
          const memory = (1 - keep) * keep ** (11 - token);
          const found = (token === wanted ? Math.exp(fit) : 1) / (Math.exp(fit) + 11);
          expect(Math.abs((shares[token] ?? NaN) - 100 * memory)).toBeLessThan(0.51);
          expect(Math.abs((shares[12 + token] ?? NaN) - 100 * found)).toBeLessThan(0.51);
        }
      };
      await expectShares(0.7, 5, 1);
      expect(await lesson.isAsExpected()).toBe(true);
      expect(await lesson.answer(1)).toMatch(/^Yes/);
      await lesson.set("wanted", 10);
      await lesson.set("keep", 0.9);
      await lesson.set("fit", 3);
      await expectShares(0.9, 3, 10);
      expect((await lesson.says())[0]).toContain("“week” is 1 token back");
      await lesson.set("keep", 0.5);
      await lesson.set("fit", 0);
      expect((await lesson.says())[0]).toBe("Here the memory is ahead: it holds 25.0 % of “week”, and attention gives it 8.3 %.");
    });
  });
}

/** Drags a mark of a plane by so many pixels. */
export async function drag(lesson: OpenLesson, name: string, mark: string, right: number, down: number): Promise<void> {
  const hold = await lesson.page.$(`attention-lesson[name="${name}"] >>> .hold[data-mark="${mark}"]`);
  if (!hold) throw new Error(`${name} has no mark ${mark}`);
  await hold.scrollIntoView();
  const { x, y } = await hold.clickablePoint();
  const { mouse } = lesson.page;
  await mouse.move(x, y);
  await mouse.down();
  await mouse.move(x + right, y + down, { steps: 4 });
  await mouse.up();
  await lesson.settled();
}
