// SPDX-License-Identifier: Apache-2.0
/** A reader does all this with models of other kinds: two texts, a translation, a picture, grouped heads. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { PNG } from "pngjs";
import { expect, test } from "vitest";
import { cellColors, root } from "../browser.js";
import { numbersIn, type Reader } from "./reader.js";

/** The colour of a weight on the fixed scale. */
function colorOf(reader: Reader, weight: number): number[] {
  const step = Math.round(255 * Math.sqrt(weight)) * 4;
  return [...reader.engine.colorbar(256, { theme: "light" }).slice(step, step + 4)];
}

const farthest = (a: readonly number[], b: readonly number[]): number =>
  Math.max(...a.map((byte, index) => Math.abs(byte - (b[index] ?? NaN))));

export function readKinds(reader: Reader): void {
  test("filters the segments of two texts: A to A, A to B, B to A, B to B", async () => {
    await reader.open();
    await reader.choose("model", "tiny-bert");
    await reader.drawn();
    const [text, textPair] = ["Lucy wanted pears, eggs and milk.", "She bought pears, eggs and milk."];
    using attention = (await reader.model("tiny-bert")).attend(text, { textPair });
    const { tokens } = attention;
    const second = tokens.indexOf("[SEP]") + 1;
    const { data } = attention.map(1, 2);
    await reader.reads("#map >>> .title", "1.2");
    await reader.unfold("Settings", "#map");
    const parts = { A: [0, second], B: [second, tokens.length] } as const;
    for (const [from, to] of [["A", "A"], ["A", "B"], ["B", "A"], ["B", "B"]] as const) {
      await reader.choose("segments", `${from} → ${to}`, "#map");
      await reader.drawn();
      const [[top, bottom], [left, right]] = [parts[from], parts[to]];
      expect(await reader.texts("#map >>> .rows .label")).toEqual(tokens.slice(top, bottom));
      expect(await reader.texts("#map >>> .cols .label")).toEqual(tokens.slice(left, right));
      const shown = await cellColors(reader.page, "#map", bottom - top, right - left);
      shown.forEach((colors, row) => colors.forEach((color, col) => {
        const weight = data[(top + row) * tokens.length + left + col] ?? NaN;
        expect(farthest(color, colorOf(reader, weight)), `${from}${to} ${row}, ${col}`).toBeLessThanOrEqual(6);
      }));
    }
  });

  test("follows a translation word by word: cross-attention is rectangular, and the encoder and decoder have their own maps", async () => {
    await reader.open();
    await reader.click("button", "Examples");
    await reader.click("button", "A translation, word by word");
    await reader.drawn();
    await reader.reads("#sentence >>> .sentence-finding", /^‘poisson’ looks at ‘black’: [\d.]+ %/);
    const [source, target] = ["The small cat does not eat the black fish.", "le petit chat ne mange pas"];
    await reader.click("button", "Edit text");
    await reader.fill("Target", target, "#sentence");
    await reader.click("button", "Done", "#sentence");
    await reader.drawn();
    using attention = (await reader.model("tiny-translator")).attend({ source, target });
    const [rows, cols] = [attention.tokens, attention.sourceTokens ?? []];
    expect(rows.length).not.toBe(cols.length);
    const { data } = attention.map(1, 0, { attention: "cross" });
    const shown = await cellColors(reader.page, "#map", rows.length, cols.length);
    shown.forEach((colors, row) => colors.forEach((color, col) =>
      expect(farthest(color, colorOf(reader, data[row * cols.length + col] ?? NaN)), `${row}, ${col}`).toBeLessThanOrEqual(6)));
    await reader.page.mouse.move(...(await reader.cell(3, 3, rows.length, cols.length)));
    const words = await reader.reads("#map >>> .readout", /^query ‘.+’ → key ‘.+’: [\d.e−]+$/);
    expect(Math.abs((numbersIn(words).at(-1) ?? NaN) - (data[3 * cols.length + 3] ?? NaN))).toBeLessThan(1e-4);
    await reader.unfold("Settings", "#map");
    await reader.choose("attention", "encoder", "#map");
    await reader.until(() => reader.texts("#map >>> .rows .label"), (labels) => labels.length === cols.length, "rows of the source");
    await reader.choose("attention", "decoder", "#map");
    await reader.until(() => reader.texts("#map >>> .cols .label"), (labels) => labels.length === rows.length, "columns of the target");
    await reader.reads("#map >>> .legend", "masked");
  });

  test("drops a picture on the page, and sees a patch's weights over it", async () => {
    await reader.open("#model=tiny-vit");
    const path = join(root, "web/playground/pictures/arrow.png");
    await reader.drop(path);
    await reader.drawn();
    await reader.click("button", "Picture", "#map");
    const { data: pixels, width, height } = PNG.sync.read(readFileSync(path));
    using attention = (await reader.model("tiny-vit")).attend({ width, height, data: Uint8ClampedArray.from(pixels) });
    const [most] = attention.predictions({ position: 0, top: 1 });
    await reader.reads("#next >>> li:first-child", "arrow: > 99.9 %");
    expect(most?.token).toBe("arrow");
    expect(most?.probability).toBeGreaterThan(0.9995);
    const plot = await reader.find("part", "Picture of 8 rows", "#map");
    const box = await plot.boundingBox();
    if (!box) throw new Error("there is no picture");
    const at = (row: number, col: number): [number, number] =>
      [box.x + ((col + 0.5) / 8) * box.width, box.y + ((row + 0.5) / 8) * box.height];
    await reader.page.mouse.click(...at(3, 5));
    await reader.page.mouse.move(...at(3, 4));
    const [layer, head] = numbersIn((await reader.texts("#map >>> .title"))[0]?.replace(".", " ") ?? "") as [number, number];
    const weights = attention.map(layer, head).data.slice(30 * 65, 31 * 65);
    const words = await reader.reads("#map >>> .pic-readout", /row 3, column 5 → row 3, column 4: /);
    expect(Math.abs((numbersIn(words).at(-1) ?? NaN) - (weights[29] ?? NaN))).toBeLessThan(1e-3);
    const strongest = [...weights].sort((a, b) => b - a).slice(0, 5);
    const table = (await reader.texts("#map >>> .pic-table td")).slice(0, 5).map(Number);
    table.forEach((value, index) => expect(value).toBeCloseTo(strongest[index] ?? NaN, 1.9));
    expect((await reader.ink("#map >>> .pic-plot canvas")).colors).toBeGreaterThan(10);
  });

  test("opens a folder with grouped heads: the heads that share a key/value head are bracketed and said", async () => {
    await reader.open();
    await reader.drop(...["config.json", "model.safetensors", "tokenizer.json"].map((name) => join(root, "tests/golden/models/mistral", name)));
    await reader.until(() => reader.texts("#model option:checked"), ([name]) => name?.includes("your files") === true, "the model's name");
    await reader.drawn();
    await reader.click("button", "Edit text");
    await reader.fill("Your text", "one two three", "#sentence");
    await reader.click("button", "Done", "#sentence");
    await reader.drawn();
    await reader.click("button", "Numbers", "#map");
    await reader.reads("#map >>> [data-step=key]", "Head 0 reads key/value head 0, together with head 1.");
    await reader.click("button", "Decoding", ".whole");
    const groups = await reader.until(() => reader.texts("#whole attention-map >>> .decode-group"), (found) => found.length >= 2, "groups");
    expect(groups.slice(0, 2)).toEqual(["heads 0–1", "heads 2–3"]);
  });
}
