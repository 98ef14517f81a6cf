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
    });

    test("T0.5: without ÷ √d the entropy falls with the width of the head", async () => {
      const lesson = await book.lesson("scores", "saturation");
      expect(await lesson.isAsExpected()).toBe(true);
      await lesson.set("width", 0);
      const narrow = (await lesson.numbers("scores as they are")).flat();
      await lesson.set("width", 4);
      const wide = (await lesson.numbers("scores as they are")).flat();
      expect(Math.max(...narrow)).toBeLessThan(Math.max(...wide));
    });
  });
}
