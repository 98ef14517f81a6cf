// SPDX-License-Identifier: Apache-2.0
/** A reader does all this with the maps of heads: looks, points, pins, adds heads together, leaves things out, and saves. */
import { expect, test } from "vitest";
import { cellColors, smallMaps } from "../browser.js";
import { kSentence, numbersIn, type Reader } from "./reader.js";

const kSize = 10;
const kReadout = "#map >>> .readout";

/** The largest weights of a row, with their columns. */
function largest(row: ArrayLike<number>, count: number): { col: number; weight: number }[] {
  const all = Array.from(row, (weight, col) => ({ col, weight }));
  return all.sort((a, b) => b.weight - a.weight).slice(0, count);
}

export function readHeads(reader: Reader): void {
  /** The weights [row][col] of a head of `tiny` for the page's sentence. */
  async function rowsOf(layer: number, head: number, text = kSentence): Promise<Float32Array[]> {
    using attention = (await reader.model("tiny")).attend(text);
    const { data, shape: [rows = 0, cols = 0] } = attention.map(layer, head);
    return Array.from({ length: rows }, (_, row) => data.slice(row * cols, (row + 1) * cols));
  }

  /** Holds the drawn colours of the open map against weights. NaN is a cell that is hatched, and Infinity one that is left out. */
  async function expectColors(rows: readonly ArrayLike<number>[], theme: "light" | "dark" = "light"): Promise<void> {
    const bar = reader.engine.colorbar(256, { theme });
    const shown = await cellColors(reader.page, "#map", rows.length, rows[0]?.length ?? 0);
    shown.forEach((colors, row) => colors.forEach((color, col) => {
      if (rows[row]?.[col] === Infinity) return;
      const step = Math.round(255 * Math.sqrt(rows[row]?.[col] ?? NaN)) * 4;
      const expected = Number.isNaN(step) ? [0, 0, 0, 0] : [...bar.slice(step, step + 4)];
      const farthest = Math.max(...color.map((byte, index) => Math.abs(byte - (expected[index] ?? NaN))));
      expect(farthest, `row ${row}, column ${col}`).toBeLessThanOrEqual(6);
    }));
  }

  const masked = (rows: readonly Float32Array[]): Float32Array[] =>
    rows.map((row, at) => row.map((weight, col) => (col > at ? NaN : weight)));

  test("reads a heat map, light and dark: every cell has the colour of its weight, and a masked one is hatched, not 0", async () => {
    await reader.open("#query=&key=");
    const rows = masked(await rowsOf(3, 4));
    await expectColors(rows);
    await reader.open("#theme=dark&query=&key=");
    await expectColors(rows, "dark");
    const hatch = await reader.page.$eval("#map >>> .cells", (cells) => getComputedStyle(cells).backgroundImage);
    expect(hatch).toContain("gradient");
    await reader.reads("#map >>> .legend", "masked");
    await reader.page.mouse.move(...(await reader.cell(1, 4, kSize)));
    await reader.reads(kReadout, "query ‘The’ → key ‘the’: masked");
    const faint = rows.flatMap((row) => [...row]).filter((weight) => weight > 0 && weight < 0.001);
    expect(faint.length, "weights that are nearly 0 are drawn and not hatched").toBeGreaterThan(0);
  });

  test("finds every layer and head in one grid, with its name, and opens a head by a click", async () => {
    await reader.open();
    const heads = await reader.page.$$eval("#grid >>> .thumb", (found) => found.map((one) => one.ariaLabel ?? one.getAttribute("aria-label")));
    expect(heads).toHaveLength(32);
    await reader.until(() => reader.texts("#grid >>> .badge"), (names) => names.includes("3.2 subject"), "names of heads");
    const maps = await smallMaps(reader.page, "#grid");
    for (const index of [0, 13, 31]) {
      expect(new Set(maps[index]?.data).size, `head ${index}`).toBeGreaterThan(3);
    }
    await reader.click("button", "Layer 1, head 2,", "#grid");
    await reader.drawn();
    expect(await reader.texts("#map >>> .title")).toEqual(["1.2"]);
    await expectColors(masked(await rowsOf(1, 2)));
    await reader.click("button", "Next head", "#map");
    await reader.reads("#map >>> .title", "1.3");
  });

  test("points at a cell for its row and column, locks it by a click, adds rows with Shift, and frees them with Escape", async () => {
    await reader.open("#query=&key=");
    const { page } = reader;
    await page.mouse.move(...(await reader.cell(6, 2, kSize)));
    await reader.until(() => reader.texts("#map >>> .label.chosen"), (found) => found.join() === "queen,and", "row and column");
    expect(await page.$$("#map >>> .across, #map >>> .down")).toHaveLength(2);
    const rows = await rowsOf(3, 4);
    await page.mouse.click(...(await reader.cell(6, 2, kSize)));
    await page.mouse.move(2, 2);
    await reader.reads(kReadout, "‘and’ → key ‘queen’");
    await page.keyboard.down("Shift");
    await page.mouse.click(...(await reader.cell(8, 0, kSize)));
    await page.keyboard.up("Shift");
    await page.mouse.move(2, 2);
    await reader.reads("#map >>> .strip-title", "Mean of 2 queries looks at");
    const mean = (rows[6] as Float32Array).map((weight, col) => (weight + (rows[8]?.[col] ?? NaN)) / 2);
    const values = (await reader.texts("#map >>> .strip-value")).map(Number);
    largest(mean, values.length).forEach(({ weight }, index) => expect(values[index]).toBeCloseTo(weight, 2));
    expect(await page.$$("#map >>> .pinned")).toHaveLength(2);
    await reader.press("Escape");
    await reader.until(() => page.$$("#map >>> .pinned"), (found) => found.length === 0, "nothing pinned");
  });

  test("reads exact values: of a cell, of a row as bars, and of a row as a table", async () => {
    await reader.open("#query=&key=");
    const rows = await rowsOf(3, 4);
    for (const [row, col] of [[0, 0], [6, 2], [9, 3]] as const) {
      await reader.page.mouse.move(...(await reader.cell(row, col, kSize)));
      const words = await reader.reads(kReadout, new RegExp(`^query ‘.*’ → key ‘.*’: [\\d.e−]+$`));
      const [value = NaN] = numbersIn(/: (.*)$/.exec(words)?.[1] ?? "");
      expect(Math.abs(value - (rows[row]?.[col] ?? NaN)), words).toBeLessThan(1e-4);
    }
    await reader.page.mouse.move(...(await reader.cell(6, 2, kSize)));
    await reader.reads("#map >>> .strip-title", "‘and’ looks at");
    expect(Number((await reader.texts("#map >>> .strip-value"))[0])).toBeCloseTo(rows[6]?.[2] ?? NaN, 3);
    await reader.click("button", "Lines", "#map");
    await reader.reads("#map >>> .lines caption", "Links of");
    const width = await reader.page.$eval("#map >>> .lines caption", (caption) => caption.closest(".unseen")?.getBoundingClientRect().width);
    expect(width, "the table is heard, and the lines are seen").toBeLessThanOrEqual(1);
    await reader.click("button", "and", "#map >>> .lines");
    await reader.reads("#map >>> .lines caption", "Links of ‘and’");
    const table = await reader.texts("#map >>> .lines tbody td:last-child");
    largest(rows[6] ?? [], table.length).forEach(({ weight }, index) =>
      expect(Math.abs((numbersIn(table[index] ?? "")[0] ?? NaN) - weight)).toBeLessThan(1e-3));
  });

  test("follows lines between words: of one head, of one word, of several heads, of one of them alone, and as arcs", async () => {
    await reader.open("#query=&key=");
    const { page } = reader;
    const ink = (): Promise<{ pixels: number }> => reader.ink("#map >>> .lines-canvas");
    await reader.click("button", "Lines", "#map");
    await reader.reads("#map >>> .lines-share", /^Links drawn hold \d+ % of the weight/);
    const one = await ink();
    await reader.click("button", "and", "#map >>> .lines-tokens");
    await page.mouse.move(2, 2);
    await reader.until(ink, ({ pixels }) => pixels > 50 && pixels < one.pixels / 2, "the lines of one word");
    await reader.click("button", "and", "#map >>> .lines-tokens");
    await page.mouse.move(2, 2);
    await page.keyboard.down("Shift");
    await reader.click("button", "Layer 2, head 3,", "#grid");
    await reader.click("button", "Layer 1, head 0", "#grid");
    await page.keyboard.up("Shift");
    await reader.until(() => reader.texts("#map >>> .lines-head"), (heads) => heads.length === 3, "three heads");
    const three = await reader.until(ink, ({ pixels }) => pixels > 1.5 * one.pixels, "lines of three heads");
    await reader.click("button", "2.3", "#map >>> .lines-legend");
    await reader.until(ink, ({ pixels }) => pixels < 0.8 * three.pixels, "lines of one head alone");
    await reader.click("button", "2.3", "#map >>> .lines-legend");
    await reader.click("button", "Arcs", "#map");
    await reader.until(() => page.$("#map >>> .lines.arcs"), (arcs) => arcs !== null, "arcs");
    expect((await ink()).pixels).toBeGreaterThan(200);
    const rows = await rowsOf(2, 3);
    await reader.click("button", "queen", "#map >>> .lines-tokens");
    const table = await reader.until(async () => page.$$eval("#map >>> .lines tbody tr", (found) =>
      found.map((row) => [...row.cells].map(({ textContent }) => textContent ?? ""))), (lines) => lines.some(([head]) => head === "2.3"), "links of queen");
    const [, key = "", weight = ""] = table.find(([head]) => head === "2.3") ?? [];
    const col = Number(/\((\d+)\)$/.exec(key)?.[1]);
    expect(Math.abs((numbersIn(weight)[0] ?? NaN) - (rows[2]?.[col] ?? NaN))).toBeLessThan(1e-3);
  });

  test("shows heads together: their mean, their largest weights, the weights times the lengths of values, and one alone again", async () => {
    await reader.open("#query=&key=");
    await reader.unfold("Settings", "#map");
    const heads = await Promise.all([0, 1, 2, 3, 4, 5, 6, 7].map((head) => rowsOf(3, head)));
    const made = (of: (weights: number[]) => number): Float32Array[] => masked(heads[0]!.map((row, at) =>
      row.map((_, col) => of(heads.map((rows) => rows[at]?.[col] ?? NaN)))));
    const drawnAs = async (option: string, rows: Float32Array[]): Promise<void> => {
      await reader.choose("show", option, "#map");
      await reader.drawn();
      await expectColors(rows);
    };
    await drawnAs("mean of heads", made((weights) => weights.reduce((sum, weight) => sum + weight, 0) / 8));
    await drawnAs("largest of heads", made((weights) => Math.max(...weights)));
    using attention = (await reader.model("tiny")).attend(kSentence, { keepValues: true });
    const values = attention.values(3);
    const [groups = 0, length = 0, width = 0] = values.shape;
    const group = Math.floor((4 * groups) / 8);
    const [begin, end] = [group * length * width, (group + 1) * length * width];
    const own = { data: values.data.slice(begin, end), shape: [1, length, width] };
    const weights = { data: attention.map(3, 4).data, shape: [1, length, length] };
    const { data } = reader.engine.weightedMap(weights, own);
    await drawnAs("weighted by values", masked(heads[4]!.map((_, row) => data.slice(row * length, (row + 1) * length))));
    await drawnAs("this head", masked(heads[4]!));
    await reader.page.keyboard.down("Shift");
    await reader.click("button", "Layer 3, head 4,", "#grid");
    await reader.click("button", "Layer 0, head 5,", "#grid");
    await reader.page.keyboard.up("Shift");
    const other = await rowsOf(0, 5);
    await drawnAs("mean of heads", masked(heads[4]!.map((row, at) => row.map((weight, col) => (weight + (other[at]?.[col] ?? NaN)) / 2))));
  });

  test("leaves out weak links, keeps the largest of each row, and hides the sink, special tokens and punctuation", async () => {
    await reader.open("#query=&key=");
    await reader.unfold("Settings", "#map");
    const rows = masked(await rowsOf(3, 4));
    await reader.slide("leave out below", Array<string>(10).fill("ArrowRight"), "#map");
    await reader.reads("#map >>> .drawer output", "0.10");
    await reader.drawn();
    await expectColors(rows.map((row) => row.map((weight) => (weight < 0.1 ? Infinity : weight))));
    await reader.reads("#map >>> .legend", "left out");
    await reader.slide("leave out below", ["Home"], "#map");
    await reader.slide("keys of a query", ["ArrowRight", "ArrowRight"], "#map");
    await reader.reads("#map >>> .drawer output", "2 largest");
    await reader.drawn();
    await expectColors(rows.map((row) => {
      const kept = largest(row.filter((weight) => !Number.isNaN(weight)), 2);
      return row.map((weight) => (weight < (kept.at(-1)?.weight ?? 0) ? Infinity : weight));
    }));
    for (const [key, said] of [[2, /0\.\d+$/], [4, /left out$/]] as const) {
      await reader.page.mouse.move(...(await reader.cell(5, key, kSize)));
      await reader.reads(kReadout, said);
    }
    await reader.slide("keys of a query", ["Home"], "#map");
    const columns = async (count: number): Promise<string[]> =>
      reader.until(() => reader.texts("#map >>> .cols .label"), (labels) => labels.length === count, `${count} columns`);
    await columns(10);
    await reader.click("check", "punctuation", "#map");
    expect(await columns(9)).not.toContain(".");
    await reader.click("check", "special tokens", "#map");
    expect(await columns(8)).not.toContain("<s>");
    await reader.click("check", "special tokens", "#map");
    await columns(9);
    await reader.click("check", "the first token", "#map");
    expect((await columns(8))[0]).toBe("The");
    await reader.drawn();
    await expectColors(rows.map((row) => row.slice(1, 9)));
  });

  test("merges the pieces of words: keys of a word are summed, its queries averaged", async () => {
    const text = "The elephant saw the dinosaur and she laughed.";
    await reader.open(`#text=${encodeURIComponent(text)}&layer=3&head=4&query=&key=`);
    await reader.unfold("Settings", "#map");
    await reader.click("check", "merge pieces of words", "#map");
    const labels = await reader.until(() => reader.texts("#map >>> .rows .label"), (found) => found.length === 10, "ten words");
    expect(labels).toEqual(["<s>", "The", "elephant", "saw", "the", "dinosaur", "and", "she", "laughed", "."]);
    const words = [[0, 1], [1, 2], [2, 5], [5, 6], [6, 7], [7, 11], [11, 12], [12, 13], [13, 14], [14, 15]] as const;
    const rows = await rowsOf(3, 4, text);
    const merged = words.map(([top, bottom]) => Float32Array.from(words, ([left, right]) => {
      let sum = 0;
      for (let row = top; row < bottom; row++) for (let col = left; col < right; col++) sum += rows[row]?.[col] ?? NaN;
      return sum / (bottom - top);
    }));
    await reader.drawn();
    await expectColors(masked(merged));
    await reader.page.mouse.move(...(await reader.cell(6, 2, 10)));
    const words2 = await reader.reads(kReadout, "query ‘and’ → key ‘elephant’");
    expect(Math.abs((numbersIn(words2).at(-1) ?? NaN) - (merged[6]?.[2] ?? NaN)), words2).toBeLessThan(1e-4);
  });
}
