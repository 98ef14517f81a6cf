// SPDX-License-Identifier: Apache-2.0
/** Lines between tokens: the links that are drawn are the engine's largest weights, for one head and for several. */
import type { Page } from "puppeteer-core";
import { expect, test } from "vitest";
import { kSurroundings, toLab } from "../../../web/maps/palette.js";
import { kHeadColors } from "../../../web/views/lines-draw.js";
import { axe, phone, texts } from "../browser.js";
import { change, kSentence, shoot, stateOf, Views } from "./harness.js";

const views = new Views();
const kHead = { view: "lines", text: kSentence, layer: 3, head: 4, controls: "full" } as const;

/** The links of the chosen query as the table has them. */
async function table(page: Page): Promise<{ head: string; col: number; weight: number }[]> {
  const rows = await page.$$eval("#map >>> .lines table[part=table] tbody tr", (found) =>
    found.map((row) => Array.from((row).cells, (cell) => cell.textContent)));
  return rows.map(([head = "", key = "", weight = ""]) => ({
    head, col: Number(/\((\d+)\)$/.exec(key)?.[1]), weight: Number(weight.replace("−", "-")),
  }));
}

/** The number of pixels of the canvas that are not transparent. */
const inked = (page: Page): Promise<number> =>
  page.$eval("#map >>> .lines-canvas", (found) => {
    const canvas = found as HTMLCanvasElement;
    const data = canvas.getContext("2d")?.getImageData(0, 0, canvas.width, canvas.height).data ?? [];
    let count = 0;
    for (let index = 3; index < data.length; index += 4) if (data[index]) count++;
    return count;
  });

const token = (axis: "row" | "col", index: number): string =>
  `#map >>> .lines-token[data-axis="${axis}"][data-index="${index}"]`;

test("the links of a query are its largest weights, and their share of the weight is said", async () => {
  const page = await views.open([{ ...kHead, heads: "1.0 2.3", query: "8", topK: 3 }]);
  using attention = views.tiny.attend(kSentence);
  const found = await table(page);
  let held = 0;
  for (const [layer, head] of [[3, 4], [1, 0], [2, 3]] as const) {
    const { data, shape } = attention.map(layer, head);
    const width = shape[1] ?? 0;
    const row = Array.from(data.subarray(8 * width, 9 * width), (weight, col) => ({ col, weight }));
    const best = row.sort((a, b) => b.weight - a.weight).slice(0, 3);
    const own = found.filter((one) => one.head === `${layer}.${head}`);
    expect(own.map(({ col }) => col)).toEqual(best.map(({ col }) => col));
    own.forEach(({ weight }, index) => expect(weight).toBeCloseTo(best[index]?.weight ?? NaN, 3));
    held += best.reduce((sum, { weight }) => sum + weight, 0);
  }
  const [share = ""] = await texts(page, "#map >>> .lines-share");
  expect(Math.abs(Number(/hold (\d+) %/.exec(share)?.[1]) - (100 * held) / 3)).toBeLessThan(0.6);
  await change(page, { threshold: 0.5 });
  expect((await table(page)).every(({ weight }) => weight >= 0.5)).toBe(true);
});

test("a reader points at tokens, pins them, moves by keys and chooses arcs", async () => {
  const page = await views.open([{ ...kHead, heads: "1.0 2.3" }]);
  const all = await inked(page);
  await page.hover(token("row", 6));
  const value = await page.$eval(`${token("col", 2)} .lines-value`, (found) => (found as HTMLElement).dataset.value);
  expect(Number(value)).toBeGreaterThan(0.98);
  expect(await inked(page)).toBeLessThan(all);
  await page.click(token("row", 6));
  expect(await stateOf(page, "query")).toBe("6");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("p");
  expect(await stateOf(page, "query")).toBe("7");
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("p");
  expect([await stateOf(page, "query"), await stateOf(page, "key")]).toEqual(["", "7"]);
  await page.keyboard.press("Escape");
  expect(await stateOf(page, "key")).toBe("");
  await page.click("#map >>> .lines-mode:last-child");
  expect(await stateOf(page, "lines")).toBe("arcs");
  expect(await inked(page)).toBeGreaterThan(100);
  await shoot(page, "lines-arcs");
  await page.hover(token("row", 6));
  await shoot(page, "lines-arcs-token");
  expect(await axe(page)).toEqual([]);
});

test("it is accessible and fits, light and dark, on a phone too", async () => {
  const page = await views.open([{ ...kHead, heads: "1.0 2.3 0.1 3.1", query: "6" }]);
  await shoot(page, "lines-desktop");
  expect(await axe(page)).toEqual([]);
  await change(page, { heads: "1.0 2.3 0.1 3.1 2.1", theme: "dark" });
  await shoot(page, "lines-dark");
  expect(await axe(page)).toEqual([]);
  const small = await views.open([{ ...kHead, query: "6" }], phone);
  expect(await small.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true);
  await shoot(small, "lines-phone");
  expect(await axe(small)).toEqual([]);
});

test("lines draw maps as the settings shape them: merged, hidden, combined, weighted, and pins stay with their tokens", async () => {
  const page = await views.open([{ ...kHead, heads: "1.0 2.3", query: "8", hide: "sink punctuation" }]);
  using attention = views.tiny.attend(kSentence, { keepValues: true });
  const size = attention.tokens.length;
  const rowOf = (layer: number, head: number, row: number): number[] =>
    [...attention.map(layer, head).data.subarray(row * size, (row + 1) * size)];
  const seenKeys = [...attention.tokens.keys()].filter((col) => col > 0 && attention.tokens[col]?.trim() !== ".");
  const expectBest = (found: readonly { weight: number }[], weights: readonly number[]): void => {
    const best = weights.toSorted((a, b) => b - a).slice(0, found.length);
    found.forEach(({ weight }, index) => expect(weight).toBeCloseTo(best[index] ?? NaN, 3));
  };
  const own = (await table(page)).filter(({ head }) => head === "3.4");
  expect(own.length).toBe(Math.min(8, seenKeys.length));
  expectBest(own, seenKeys.map((col) => rowOf(3, 4, 8)[col] ?? NaN));
  expect((await texts(page, "#map >>> .lines-share"))[0]).toMatch(/ on the keys that are shown$/);
  // The first column is the second token now, and arcs still end at the tokens of the line.
  await page.click(token("col", 0));
  expect(await stateOf(page, "key")).toBe("1");
  await page.mouse.move(1, 1);
  await change(page, { key: "", query: "6", lines: "arcs" });
  const beside = await page.$eval(`${token("row", 2)} .lines-value`, (found) => Number((found as HTMLElement).dataset.value));
  expect(beside).toBeCloseTo(rowOf(3, 4, 6)[2] ?? NaN, 3);

  await change(page, { hide: "", lines: "columns", combine: "mean", query: "8" });
  expect(await texts(page, "#map >>> .lines-head")).toEqual(["mean of 1.0, 2.3"]);
  const [first, second] = [rowOf(1, 0, 8), rowOf(2, 3, 8)];
  expectBest(await table(page), first.map((weight, col) => (weight + (second[col] ?? NaN)) / 2));

  await change(page, { combine: "norm", heads: "" });
  const { data, shape: [groups = 1, , width = 1] } = attention.values(3);
  const group = Math.floor((4 * groups) / 8);
  const norms = Array.from({ length: size }, (_, row) =>
    Math.hypot(...data.subarray((group * size + row) * width, (group * size + row + 1) * width)));
  const most = Math.max(...norms);
  expectBest(await table(page), rowOf(3, 4, 8).map((weight, col) => (weight * (norms[col] ?? NaN)) / most));
  await shoot(page, "lines-norm");

  await change(page, { combine: "none", text: "Unbelievably, she laughed.", merge: "words", query: "" });
  const written = await page.$$eval("#map >>> .lines-token.row", (found) => found.map((of) => of.getAttribute("aria-label")));
  using merged = views.tiny.attend("Unbelievably, she laughed.");
  expect(written.length).toBeLessThan(merged.tokens.length);
  expect(written.some((name) => name?.includes("Unbelievably"))).toBe(true);
  expect(await axe(page)).toEqual([]);
});

test("heads that are drawn together have colours that differ for all eyes, and names beside their lines", async () => {
  // Machado et al. 2009: the colours as they are without cones for red, and for green, in linear RGB.
  const eyes = [
    [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
  ];
  const linear = (hex: string): number[] => [1, 3, 5].map((at) => {
    const value = parseInt(hex.slice(at, at + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  });
  const luminance = ([red = 0, green = 0, blue = 0]: number[]): number => 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  const lab = (rgb: readonly number[]): readonly number[] => {
    const byte = (x: number): number => 255 * (x <= 0.0031308 ? 12.92 * x : 1.055 * x ** (1 / 2.4) - 0.055);
    const [red = 0, green = 0, blue = 0] = rgb.map((x) => byte(Math.min(Math.max(x, 0), 1)));
    return toLab([red, green, blue]);
  };
  for (const theme of ["light", "dark"] as const) {
    const ground = luminance(linear(kSurroundings[theme].paper));
    const colors = kHeadColors[theme].map(linear);
    expect(colors.length).toBe(12);
    for (const color of colors) {
      const [least, most] = [ground, luminance(color)].sort((a, b) => a - b) as [number, number];
      expect((most + 0.05) / (least + 0.05)).toBeGreaterThan(3);
    }
    for (const eye of eyes) {
      const through = (rgb: readonly number[]): number[] =>
        eye.map((row) => row.reduce((sum, part, at) => sum + part * (rgb[at] ?? 0), 0));
      const seenAs = colors.map((rgb) => lab(through(rgb)));
      seenAs.forEach((a, index) => seenAs.slice(0, index).forEach((b) =>
        expect(Math.hypot(...a.map((part, at) => part - (b[at] ?? 0)))).toBeGreaterThan(0.085)));
    }
  }
  const page = await views.open([{ ...kHead, heads: "1.0 2.3", query: "6" }]);
  expect(await page.$eval(`${token("col", 2)} .lines-of`, (found) => (found as HTMLElement).dataset.value)).toBe("3.4");
  expect(await page.$eval(token("col", 2), (found) => found.getAttribute("aria-label"))).toMatch(/ 3\.4$/);
  const many = Array.from({ length: 12 }, (_, index) => `${index >> 2}.${index & 3}`).join(" ");
  for (const theme of ["light", "dark"]) {
    await change(page, { theme, heads: theme === "light" ? many : `${many} 3.0`, query: "" });
    await shoot(page, `lines-twelve-${theme}`);
  }
  expect(await page.$$eval("#map >>> button.lines-head", (found) => found.length)).toBe(12);
  await expect(texts(page, "#map >>> .lines-legend")).resolves.toEqual([expect.stringContaining("No more than 12 heads")]);
});

test("of twelve heads of 512 tokens, only what is in sight is written", async () => {
  const page = await views.open([{ ...kHead, text: "a" }]);
  const written = await page.$eval("#map", async (found) => {
    const [heads, size] = [12, 512];
    const data = new Float32Array(heads * size * size).fill(1 / size);
    const drawn = new Promise((resolve) => found.addEventListener("attention-draw", resolve, { once: true }));
    const others = Array.from({ length: heads - 1 }, (_, head) => `0.${head + 1}`).join(" ");
    Object.assign(found, { weights: { data, shape: [1, heads, size, size] }, layer: 0, head: 0, heads: others });
    await drawn;
    const counts: number[] = [];
    for (const top of [0, 360, 720]) {
      found.shadowRoot?.querySelector(".lines-box")?.scrollTo(0, top);
      await new Promise((next) => requestAnimationFrame(() => setTimeout(next, 20)));
      counts.push(found.shadowRoot?.querySelectorAll(".lines-token").length ?? NaN);
    }
    return counts;
  });
  expect(Math.min(...written)).toBeGreaterThan(20);
  expect(Math.max(...written)).toBeLessThan(120);
});

test("given arrays of any sign scroll to rows that are fetched then, and a form that is unknown is refused", async () => {
  const page = await views.open([{ ...kHead, text: "a" }]);
  await page.$eval("#map", async (found) => {
    const size = 600;
    const data = new Float32Array(size * size);
    for (let row = 0; row < size; row++) data[row * size + (size - 1 - row)] = row % 2 ? -0.75 : 0.5;
    const drawn = new Promise((resolve) => found.addEventListener("attention-draw", resolve, { once: true }));
    Object.assign(found, { weights: { data, shape: [1, 1, size, size] }, layer: 0, head: 0 });
    await drawn;
  });
  expect(await texts(page, "#map >>> .lines-share")).toEqual(["Links drawn hold 100 % of the weight of the queries in sight"]);
  await change(page, { query: "599", threshold: 0.6 });
  await page.waitForSelector(token("row", 599));
  await page.waitForFunction(() =>
    document.querySelector("#map")?.shadowRoot?.querySelectorAll(".lines table[part=table] tbody tr").length === 1);
  expect(await table(page)).toEqual([{ head: "0.0", col: 0, weight: -0.75 }]);
  await expect(change(page, { lines: "spiral" })).rejects.toThrow('lines: "spiral" is not known; columns, arcs are');
});
