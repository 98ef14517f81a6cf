// SPDX-License-Identifier: Apache-2.0
/** A reader does all this with the whole model: finds and sorts heads, brushes them, follows paths, rollout and flow, and words. */
import { expect, test } from "vitest";
import { bestHead } from "../../cards.js";
import { kSentence, numbersIn, type Reader } from "./reader.js";

const kText = "One two three. One two three.";
const kRow = "#whole attention-map >>> .finder-table tbody tr";

export function readWhole(reader: Reader): void {
  const lines = (): Promise<string[][]> => reader.page.$$eval(kRow, (rows) => rows.map((row) =>
    [row.querySelector("button")?.dataset.head ?? "", ...[...row.querySelectorAll("td")].map(({ textContent }) => (textContent ?? "").trim())]));

  /** Opens the finder, and waits until every head is measured. */
  async function openFinder(address = ""): Promise<void> {
    await reader.open(address);
    await reader.click("button", "Finder", ".whole");
    await reader.reads("#whole attention-map >>> .finder-status", /32 heads on 1 text/);
    await reader.until(lines, (found) => found.length === 32, "32 heads");
  }

  test("finds heads by what they measure, sorts them both ways, and opens the first", async () => {
    await reader.open();
    await reader.click("button", "The whole model", ".all");
    await reader.reads("#whole attention-map >>> .finder-status", /32 heads on 1 text/);
    await reader.until(() => reader.page.$eval("#whole-label", (title) => title.getBoundingClientRect().top),
      (top) => top >= 0 && top < 100, "the whole model at the top of the window");
    const ranked = await (await reader.model("tiny")).rankHeads([kSentence], { metrics: ["previous", "sink"] });
    const columns = (await reader.texts("#whole attention-map >>> .finder-table thead th")).map((name) => name.split(/\s/)[0]);
    const at = columns.indexOf("sink") - 1;
    const values = async (): Promise<number[]> => (await lines()).map((line) => numbersIn(line[at + 1] ?? "")[0] ?? NaN);
    await reader.click("button", "sink", "#whole");
    const down = await reader.until(values, (found) => found.every((value, index) => index === 0 || value <= (found[index - 1] ?? NaN)), "a falling order");
    const sinks = ranked.map(({ scores }) => scores.sink.mean ?? NaN).sort((a, b) => b - a);
    down.forEach((value, index) => expect(Math.abs(value - (sinks[index] ?? NaN))).toBeLessThan(1e-3));
    await reader.click("button", "sink", "#whole");
    await reader.until(values, (found) => found.every((value, index) => index === 0 || value >= (found[index - 1] ?? NaN)), "a rising order");
    await reader.click("button", "previous", "#whole");
    const [layer, head] = bestHead("previous token");
    const [first] = await reader.until(lines, ([line]) => line?.[0] === `${layer}.${head}`, "the head of the previous token");
    expect(first?.[0]).toBe(`${layer}.${head}`);
    await reader.click("button", `${layer}.${head}`, "#whole attention-map >>> .finder-table");
    await reader.reads("#map >>> .title", `${layer}.${head}`);
  });

  test("measures heads on more texts, with progress, and stops", async () => {
    await openFinder();
    const more = "Tom saw the dog and he smiled. Tom saw the dog.";
    await reader.fill("More texts", more, "#whole");
    await reader.reads("#whole attention-map >>> .finder-status", "32 heads on 2 texts");
    const ranked = await (await reader.model("tiny")).rankHeads([kSentence, more], { metrics: ["previous"] });
    const columns = (await reader.texts("#whole attention-map >>> .finder-table thead th")).map((name) => name.split(/\s/)[0]);
    const at = columns.indexOf("previous");
    await reader.until(lines, (found) => ranked.every(({ layer, head, scores }) => {
      const line = found.find(([word]) => word === `${layer}.${head}`);
      return Math.abs((numbersIn(line?.[at] ?? "")[0] ?? NaN) - (scores.previous.mean ?? NaN)) < 1e-3;
    }), "measures over two texts");
  });

  test("brushes a rectangle of the scatter, and the grid marks its heads", async () => {
    await openFinder();
    await reader.choose("Across", "sink", "#whole");
    const plot = await reader.page.$("#whole attention-map >>> .finder-plot");
    await plot?.scrollIntoView();
    const box = await plot?.boundingBox();
    if (!box) throw new Error("there is no scatter");
    const { page } = reader;
    await page.mouse.move(box.x + 0.6 * box.width, box.y + 0.02 * box.height);
    await page.mouse.down();
    await page.mouse.move(box.x + 0.99 * box.width, box.y + 0.88 * box.height, { steps: 4 });
    await page.mouse.up();
    const ranked = await (await reader.model("tiny")).rankHeads([kSentence], { metrics: ["sink"] });
    const sinks = ranked.map(({ layer, head, scores }) => ({ name: `Layer ${layer}, head ${head}`, value: scores.sink.mean ?? NaN }));
    const [least, most] = [Math.min(...sinks.map(({ value }) => value)), Math.max(...sinks.map(({ value }) => value))];
    // The scatter is 400 wide, and its axis goes from 58 to 390.
    const place = (value: number): number => (58 + ((value - least) / (most - least)) * 332) / 400;
    const inside = sinks.filter(({ value }) => place(value) >= 0.6).map(({ name }) => name).sort();
    expect(inside.length).toBeGreaterThan(3);
    const marked = await reader.until(() => page.$$eval("#grid >>> .marked .thumb", (found) =>
      found.map((thumb) => (thumb.getAttribute("aria-label") ?? "").split(", ").slice(0, 2).join(", ").replace(/:.*/, "")).sort()), (found) => found.length === inside.length, "marked heads");
    expect(marked).toEqual(inside);
  });

  test("follows the path of two heads from an earlier to a later one, by arcs between them", async () => {
    await reader.open(`#text=${encodeURIComponent(kText)}&query=&key=`);
    await reader.click("button", "Composition", ".whole");
    using attention = (await reader.model("tiny")).attend(kText, { keepParts: true });
    const [best] = await attention.paths({ rank: "induction", top: 1 });
    const name = `${best?.earlier.layer}.${best?.earlier.head} → ${best?.later.layer}.${best?.later.head}`;
    await reader.reads("#whole attention-map >>> .composition-list li:first-child", name);
    await reader.reads("#whole attention-map >>> .composition-title", name);
    const arcs = await reader.page.$$("#whole attention-map >>> .composition-arc");
    expect(arcs).toHaveLength(10);
    const [, weights = NaN] = numbersIn((await reader.texts("#whole attention-map >>> .composition-list li:first-child"))[0]?.split(": ")[1] ?? "");
    expect(Math.abs(weights - (best?.weights ?? NaN))).toBeLessThan(0.01);
    await reader.click("button", `Open head ${best?.later.layer}.${best?.later.head}`, "#whole");
    await reader.reads("#map >>> .title", `${best?.later.layer}.${best?.later.head}`);
  });

  test("follows what a word is made of through the layers: rollout, flow and lengths", async () => {
    await reader.open("#query=&key=");
    await reader.click("button", "Rollout and flow", ".whole");
    using attention = (await reader.model("tiny")).attend(kSentence, { keepValues: true });
    const weights = [0, 1, 2, 3].map((layer) => {
      const data = new Float32Array(8 * 100);
      for (let head = 0; head < 8; head++) data.set(attention.map(layer, head).data, head * 100);
      return { data, shape: [8, 10, 10] };
    });
    const model = await reader.model("tiny");
    const norms = weights.map((layer, index) => {
      const { data } = reader.engine.layerNorms(layer, attention.values(index), model.layerWeights(index).state["out_proj.weight"], { isCausal: true });
      const shares = Float32Array.from(data);
      for (let row = 0; row < 10; row++) {
        const own = shares.subarray(10 * row, 10 * row + 10);
        const sum = own.reduce((all, norm) => all + norm, 0);
        own.forEach((norm, col) => (own[col] = norm / sum));
      }
      return { data: shares, shape: [1, 10, 10] };
    });
    const numbers = async (): Promise<number[]> => (await reader.texts("#whole attention-map >>> .tokens-number")).map(Number);
    const shows = (row: ArrayLike<number>, words: string): Promise<number[]> => reader.until(numbers, (found) =>
      found.length === 10 && found.every((value, index) => Math.abs(value - (row[index] ?? NaN)) < 1e-3), words);
    const ofLast = ({ data }: { data: ArrayLike<number> }, row = 9): number[] =>
      Array.from(data).slice(10 * row, 10 * row + 10);
    await shows(ofLast(reader.engine.rollout(weights)), "rollout");
    await reader.click("check", "flow", "#whole");
    await shows(ofLast(reader.engine.flow(weights)), "flow");
    await reader.click("check", "norms", "#whole");
    await shows(ofLast(reader.engine.rollout(norms)), "lengths");
    await reader.click("check", "rollout", "#whole");
    await reader.click("button", "and", "#whole");
    await reader.reads("#whole attention-map >>> .flow-title", "‘and’ gets most from");
    await shows(ofLast(reader.engine.rollout(weights), 6), "the rollout of another word");
    await reader.choose("heads", "max", "#whole");
    await shows(ofLast(reader.engine.rollout(weights, { fusion: "max" }), 6), "the rollout of the largest weights");
  });

  test("reads strips of tokens with their sums, and searches a token in every map", async () => {
    await reader.open("#query=&key=");
    await reader.click("button", "Strips", "#map");
    using attention = (await reader.model("tiny")).attend(kSentence);
    const meanOf = (layer: number, head: number, col: number): number => {
      const { data } = attention.map(layer, head);
      let sum = 0;
      for (let row = col; row < 10; row++) sum += data[10 * row + col] ?? NaN;
      return sum / (10 - col);
    };
    const looked = await reader.until(() => reader.texts("#map >>> .tokens-row[aria-label='Tokens that are looked at'] .tokens-number"), (found) => found.length === 10, "sums");
    looked.forEach((text, col) => expect(Math.abs(Number(text) - meanOf(3, 4, col))).toBeLessThan(1e-3));
    await reader.fill("", "que", "#map >>> .strips-search");
    await reader.reads("#map >>> .strips-note", "1 token begins so");
    const heads = Array.from({ length: 32 }, (_, index) => ({ name: `${index >> 3}.${index & 7}`, value: meanOf(index >> 3, index & 7, 2) }))
      .sort((a, b) => b.value - a.value).slice(0, 12);
    const found = await reader.until(() => reader.texts("#map >>> .strips-head"), (names) => names.length === 12, "twelve heads");
    expect(found).toEqual(heads.map(({ name }) => name));
    await reader.click("button", heads[0]?.name ?? "", "#map >>> .strips-found");
    await reader.reads("#map >>> .title", heads[0]?.name ?? "");
  });

  test("reads a text step by step: rows grow, the cache fills, and the model goes on", async () => {
    await reader.open("#query=&key=");
    await reader.click("button", "Decoding", ".whole");
    await reader.reads("#whole attention-map >>> .decode-count", /^\d+ \/ 10$/);
    await reader.slide("Step", ["Home"], "#whole");
    await reader.reads("#whole attention-map >>> .decode-sentence", "Step 1 reads ‘<s>’");
    const first = await reader.ink("#whole attention-map >>> .decode-cells canvas");
    await reader.press("End");
    await reader.reads("#whole attention-map >>> .decode-sentence", "Step 10 reads ‘.’");
    expect((await reader.ink("#whole attention-map >>> .decode-cells canvas")).colors).toBeGreaterThan(first.colors);
    expect((await reader.texts("#whole attention-map >>> .decode-bytes b")).join()).toContain("40,960");
    await reader.choose("Cache", "bfloat16", "#whole");
    await reader.reads("#whole attention-map >>> .decode-bytes", "20,480");
    await reader.choose("Cache", "float32", "#whole");
    await reader.reads("#whole attention-map >>> .decode-bytes", "40,960");
  });
}
