// SPDX-License-Identifier: Apache-2.0
/** The playground in Chromium: its pictures and texts, which must equal what the engine computes in Node. */
import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { brotliCompressSync } from "node:zlib";
import { load } from "headlens";
import type { Engine, Model } from "headlens";
import type { Browser, Page } from "puppeteer-core";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import type { AttentionMap } from "../../web/elements/index.js";
import { shownTokens as joined } from "../../web/maps/characters.js";
import { kCatSatOnMat } from "../../web/views/cat-sat-on-mat.js";
import {
  desktop, drawn, editText, holds, launchShell, open, phone, root, seen, servePlayground, setText, shownTokens,
  smallMaps, texts,
} from "./browser.js";
import type { Served, View } from "./browser.js";

const kSentence = "The queen saw the king and she laughed.";

let browser: Browser;
let server: Served;
let engine: Engine;
let model: Model;

beforeAll(async () => {
  [browser, server, engine] = await Promise.all([launchShell(), servePlayground(), load()]);
  model = await engine.loadModel("tiny");
});

afterAll(async () => {
  await browser.close();
  await server.close();
  engine.dispose();
});

let faults: string[] = [];

/** Opens the page. After each test, nothing may have gone wrong in it. */
async function openPage(hash = "", view: View = desktop): Promise<Page> {
  const opened = await open(browser, server.url + hash, view);
  faults = opened.faults;
  return opened.page;
}

afterEach(async () => {
  for (const page of await browser.pages()) if (page.url().startsWith(server.url)) await page.close();
  expect(faults.splice(0)).toEqual([]);
});

test("the first maps need at most 90 kB of scripts, styles and HTML, compressed with Brotli", async () => {
  const page = await browser.newPage();
  await page.goto(server.url);
  await page.waitForFunction(() => performance.getEntriesByName("headlens:redraw").length > 0);
  const paths = await page.evaluate(() => {
    const [{ startTime, duration } = { startTime: NaN, duration: NaN }] = performance.getEntriesByName("headlens:redraw");
    const asked = [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")];
    return asked.filter((one) => one.startTime <= startTime + duration).map(({ name }) => new URL(name).pathname);
  });
  // The names of heads and the warm-up come after the maps of their own. What a reader may want next is asked for later.
  const isLater = (path: string): boolean => /\/(names|warm-up)-/.test(path);
  const first = new Set(paths.filter((path) => /(\.js|\.css|\/)$/.test(path) && !isLater(path)));
  await page.close();
  expect([...first].filter((path) => /\/(page|worker)-|\.css$/.test(path))).toHaveLength(3);
  const bytes = [...first].map((path) => {
    const file = join(root, "dist/site", path.endsWith("/") ? "index.html" : path);
    return brotliCompressSync(readFileSync(file)).length;
  });
  expect(bytes.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(90_000);
});

/** Waits until the heads have their names, which come last. */
function named(page: Page): Promise<void> {
  return holds(page, () => {
    const badges = document.querySelector("#grid")?.shadowRoot?.querySelectorAll(".badge") ?? [];
    return [...badges].some((badge) => / \p{L}+$/u.test(badge.textContent.trim()));
  });
}

/** Chromium sums up how far a page moves under its reader. At most 0.1 is good (https://web.dev/articles/cls). */
const kOpened = [{ ...phone, touch: true }, { width: 768, height: 1024, touch: true }, { width: 1280, height: 900 }];

test.each(kOpened)("nothing jumps while the page opens, $width px wide", async (view) => {
  const page = await openPage("", view);
  await named(page);
  const shifts = await page.evaluate(() => new Promise<number>((resolve) => {
    const valueOf = (entry: PerformanceEntry): number => (entry as PerformanceEntry & { value: number }).value;
    new PerformanceObserver((list) => resolve(list.getEntries().reduce((sum, entry) => sum + valueOf(entry), 0)))
      .observe({ type: "layout-shift", buffered: true });
    setTimeout(() => resolve(0), 500); // there are none
  }));
  expect(shifts).toBeLessThan(0.03);
});

test("a map stays where it is while its rows are pointed at, though the words above it change", async () => {
  const page = await openPage("#query=&key=", { width: 1280, height: 1000 });
  await named(page);
  const cells = await seen(page, "#map >>> .cells");
  const box = await cells.boundingBox();
  if (!box) throw new Error("there is no map");
  const tokens = ["<s>", "The", "queen", "saw", "the", "king", "and", "she", "laughed", "."];
  for (const [row, token] of tokens.entries()) {
    await page.mouse.move(box.x + 8, box.y + ((row + 0.5) * box.height) / tokens.length);
    const finding = async (): Promise<string> =>
      (await texts(page, "#sentence >>> .sentence-finding")).join().replaceAll(/[\u2066-\u2069]/g, "");
    await expect.poll(finding, { timeout: 30_000 }).toContain(`‘${token}’ `);
    expect(await cells.boundingBox(), await finding()).toEqual(box);
  }
});

/** The RGBA pixels of every canvas that a selector finds. */
function pixelsOf(page: Page, selector: string): Promise<{ width: number; height: number; data: number[] }[]> {
  return page.$$eval(`>>> ${selector}`, (found) =>
    found.map((canvas) => {
      const { width, height } = canvas as HTMLCanvasElement;
      const data = (canvas as HTMLCanvasElement).getContext("2d")?.getImageData(0, 0, width, height).data ?? [];
      return { width, height, data: [...data] };
    }),
  );
}

/** The colours [row][col] in the middle of each cell of the open head, as RGBA. */
async function cellColors(page: Page, size: number): Promise<number[][][]> {
  const [map] = await pixelsOf(page, "#map >>> .cells > canvas");
  if (!map) throw new Error("no map");
  const at = (index: number, length: number): number => Math.floor(((index + 0.5) / size) * length);
  const color = (row: number, col: number): number[] => {
    const pixel = (at(row, map.height) * map.width + at(col, map.width)) * 4;
    return map.data.slice(pixel, pixel + 4);
  };
  return Array.from({ length: size }, (_, row) => Array.from({ length: size }, (__, col) => color(row, col)));
}

/** The colour of a weight on the fixed scale, whose steps follow its square root. */
function colorOf(weight: number, theme: "light" | "dark" = "light"): number[] {
  const bar = engine.colorbar(256, { theme });
  const step = Math.round(255 * Math.sqrt(Math.min(Math.max(weight, 0), 1)));
  return [...bar.slice(step * 4, step * 4 + 4)];
}

/** The page may run another SIMD build than Node, so the last bit of a weight may round to the neighbouring colour. */
const farthest = (a: readonly number[], b: readonly number[]): number =>
  Math.max(...a.map((byte, index) => Math.abs(byte - (b[index] ?? NaN))));

/** The middle of a map's cell on the screen. */
async function cellAt(page: Page, row: number, col: number, size: number): Promise<{ x: number; y: number }> {
  const cells = await page.$("#map >>> .cells");
  await cells?.scrollIntoView();
  const box = await cells?.boundingBox();
  if (!box) throw new Error("the map has no box");
  return { x: box.x + ((col + 0.5) / size) * box.width, y: box.y + ((row + 0.5) / size) * box.height };
}

const readout = async (page: Page): Promise<string> => (await texts(page, "#map >>> .readout"))[0] ?? "";

const focused = (page: Page): Promise<string | null> =>
  page.evaluate(() => {
    let active = document.activeElement;
    while (active?.shadowRoot?.activeElement) active = active.shadowRoot.activeElement;
    return active?.getAttribute("aria-label") ?? active?.id ?? null;
  });

test.each(["light", "dark"] as const)("every head has a map in the colours of its weights: %s", async (scheme) => {
  const page = await openPage("", { ...desktop, scheme });
  const maps = await smallMaps(page, "#grid");
  const { layers, heads } = model.info;
  expect(maps).toHaveLength(layers * heads);
  const attention = model.attend(kSentence);
  const size = attention.tokens.length;
  for (const [index, map] of maps.entries()) {
    const [layer, head] = [Math.floor(index / heads), index % heads];
    const { data } = attention.map(layer, head);
    expect(map.width).toBeGreaterThan(size);
    const at = (cell: number): number => Math.floor(((cell + 0.5) / size) * map.width);
    for (let cell = 0; cell < size * size; cell++) {
      const isMasked = cell % size > Math.floor(cell / size);
      const expected = isMasked ? [0, 0, 0, 0] : colorOf(data[cell] ?? NaN, scheme);
      const name = `layer ${layer}, head ${head}, cell ${cell}`;
      const pixel = (at(Math.floor(cell / size)) * map.width + at(cell % size)) * 4;
      expect(farthest(map.data.slice(pixel, pixel + 4), expected), name).toBeLessThanOrEqual(6);
    }
    expect(new Set(map.data).size, `colours of layer ${layer}, head ${head}`).toBeGreaterThan(8);
  }
  const { data } = attention.map(3, 4);
  for (const [row, colors] of (await cellColors(page, size)).entries()) {
    for (const [col, color] of colors.entries()) {
      const expected = col > row ? [0, 0, 0, 0] : colorOf(data[row * size + col] ?? NaN, scheme);
      expect(farthest(color, expected), `row ${row}, column ${col}`).toBeLessThanOrEqual(6);
    }
  }
  attention.dispose();
});

test("masked cells are transparent, and told apart from zeros", async () => {
  const page = await openPage();
  const size = model.attend(kSentence).tokens.length;
  for (const [row, colors] of (await cellColors(page, size)).entries()) {
    for (const [col, color] of colors.entries()) expect(color[3], `${row}, ${col}`).toBe(col > row ? 0 : 255);
  }
  const thumbs = await page.$eval("#grid >>> .thumb", (thumb) => getComputedStyle(thumb).backgroundImage);
  expect(thumbs).toContain("gradient");
  const hatch = await page.$eval("#map >>> .cells", (cells) => getComputedStyle(cells).backgroundImage);
  expect(hatch).toContain("gradient");
  const { x, y } = await cellAt(page, 1, 4, size);
  await page.mouse.move(x, y);
  expect(await readout(page)).toMatch(/: masked$/);
});

test("hovering a cell says its exact value", async () => {
  const attention = model.attend(kSentence);
  const { tokens } = attention;
  const size = tokens.length;
  const page = await openPage();
  for (const [layer, head] of [
    [0, 0],
    [1, 3],
    [3, 7],
  ] as const) {
    await page.evaluate((hash) => (location.hash = hash), `#layer=${layer}&head=${head}`);
    await seen(page, `#map >>> .title ::-p-text(${layer}.${head})`);
    await drawn(page);
    const { data } = attention.map(layer, head);
    for (const [row, col] of [
      [0, 0],
      [4, 2],
      [size - 1, 1],
      [size - 1, size - 1],
    ] as const) {
      const { x, y } = await cellAt(page, row, col, size);
      await page.mouse.move(x, y);
      const words = (await readout(page)).replaceAll(/[\u2068\u2069]/g, "");
      const [, query = "", key = "", value = ""] = /^query ‘(.*)’ → key ‘(.*)’: ([\d.]+(?:e−\d+)?)$/.exec(words) ?? [];
      expect([query, key], words).toEqual([tokens[row]?.trim(), tokens[col]?.trim()]);
      expect(Math.abs(Number(value.replace("−", "-")) - (data[row * size + col] ?? NaN)), words).toBeLessThan(1e-4);
      const marks = await texts(page, "#map >>> .label.chosen");
      expect(marks).toEqual([tokens[col]?.trim(), tokens[row]?.trim()]);
    }
  }
  attention.dispose();
});

test("the page opens on a head that finds what a pronoun stands for, where the pronoun is due", async () => {
  const page = await openPage();
  const tokens = await shownTokens(page);
  const [row, col] = [tokens.indexOf("and"), tokens.indexOf("queen")];
  const { x, y } = await cellAt(page, row, col, tokens.length);
  await page.mouse.move(x, y);
  expect(Number(/[\d.]+$/.exec(await readout(page))?.[0])).toBeGreaterThan(0.5);
});

test("the tokens take the colours of the row that is pointed at", async () => {
  const page = await openPage("#layer=1&head=2");
  const size = model.attend(kSentence).tokens.length;
  const row = size - 1;
  const cells = (await cellColors(page, size))[row] ?? [];
  const { x, y } = await cellAt(page, row, 0, size);
  await page.mouse.move(x, y);
  await seen(page, `#sentence >>> .sentence-token.query[data-index='${row}']`);
  const colors = await page.$$eval("#sentence >>> .sentence-token", (found) =>
    found.map((item) => getComputedStyle(item).backgroundColor),
  );
  expect(colors).toEqual(cells.map((color) => `rgb(${color.slice(0, 3).join(", ")})`));
});

test("keys go through all of it: grid, one head, its cells, the next head, and back", async () => {
  const page = await openPage("#layer=0&head=0&query=&key=");
  const size = model.attend(kSentence).tokens.length;
  await seen(page, ".to-whole");
  await page.focus("#next >>> .next-more");
  await page.keyboard.press("Tab"); // to the link that leads to the whole model
  await page.keyboard.press("Tab");
  expect(await focused(page)).toMatch(/^Layer 0, head 0/);
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowDown");
  await page.waitForFunction(() => document.querySelector<AttentionMap>("#map")?.layer === 1);
  expect(await focused(page)).toMatch(/^Layer 1, head 1/);
  await page.keyboard.press("End");
  expect(await focused(page)).toMatch(new RegExp(`^Layer 1, head ${model.info.heads - 1}`));
  await page.keyboard.press("Home");
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("ArrowUp");
  expect(await focused(page)).toMatch(/^Layer 0, head 0/);
  await page.keyboard.press("Enter");

  await page.focus("#map >>> .plot");
  // Its name says what it shows. The worker may still be computing it.
  await expect.poll(() => focused(page)).toMatch(/^Layer 0, head 0: strongest link ‘.+’ to ‘.+’ \d+ %/);
  for (const key of ["ArrowDown", "ArrowDown", "ArrowRight"] as const) await page.keyboard.press(key);
  const { data } = model.attend(kSentence).map(0, 0);
  expect(await readout(page)).toContain((data[2 * size + 1] ?? NaN).toFixed(4));
  await page.keyboard.press("]");
  await page.waitForFunction(() => document.querySelector<AttentionMap>("#grid")?.head === 1);
  await seen(page, "#map >>> .title ::-p-text(0.1)");
  await page.keyboard.press("[");
  await seen(page, "#map >>> .title ::-p-text(0.0)");
  await page.keyboard.press("PageDown");
  await seen(page, "#map >>> .title ::-p-text(0.1)");
  await page.keyboard.press("Escape");
  await seen(page, "#grid >>> .thumb[data-layer='0'][data-head='1']:focus");
});

test("the grid's maps have their strongest link as text", async () => {
  const page = await openPage();
  await seen(page, "#grid >>> .thumb[aria-label*='strongest link']");
  const labels = await page.$$eval("#grid >>> .thumb", (found) =>
    found.map((thumb) => thumb.getAttribute("aria-label") ?? ""),
  );
  const attention = model.attend(kSentence);
  const size = attention.tokens.length;
  for (const [index, label] of labels.entries()) {
    const [layer, head] = [Math.floor(index / model.info.heads), index % model.info.heads];
    const { data } = attention.map(layer, head);
    // The first row has only one key, whose 100 % says nothing.
    const best = data.slice(size).reduce((most, weight) => Math.max(most, weight), 0);
    expect(label).toMatch(
      new RegExp(`^Layer ${layer}, head ${head}(, [^:]+)?: strongest link ‘.+’ to ‘.+’ ${(best * 100).toFixed(0)} %$`),
    );
  }
});

test("while typing fast the last text wins", async () => {
  const page = await openPage();
  await editText(page);
  await page.keyboard.down("Control");
  await page.keyboard.press("a");
  await page.keyboard.up("Control");
  const typed = "Anna met Ben, and Anna saw that Ben was late";
  await page.keyboard.type(typed);
  await drawn(page);
  const attention = model.attend(typed);
  expect(await shownTokens(page)).toEqual(attention.tokens.map((token) => token.trim()));
  const [first] = await smallMaps(page, "#grid");
  const { data } = attention.map(0, 0);
  expect(farthest(first?.data.slice(-4) ?? [], colorOf(data.at(-1) ?? NaN))).toBeLessThanOrEqual(6);
  attention.dispose();
});

test("the address holds text, layer and head", async () => {
  const page = await openPage();
  await setText(page, "Ben & Anna");
  await page.click("#grid >>> .thumb[data-layer='2'][data-head='1']");
  await page.waitForFunction(() => location.hash.includes("text=") && location.hash.includes("layer=2"));
  const again = await openPage(await page.evaluate(() => location.hash));
  expect(await again.$eval("#sentence", (element) => (element as AttentionMap).text)).toBe("Ben & Anna");
  expect(await texts(again, "#map >>> .title")).toEqual(["2.1"]);
  await again.evaluate(() => (location.hash = "#text=Other&layer=0&head=3"));
  await seen(again, "#map >>> .title ::-p-text(0.3)");
  await drawn(again);
  expect(await shownTokens(again)).toEqual(model.attend("Other").tokens.map((token) => token.trim()));
});

test("the page says which build runs and how long the last computation took", async () => {
  const page = await openPage();
  const { version } = engine.info;
  const threads = Math.min(availableParallelism(), 4);
  const said = threads === 1 ? "one thread" : `${threads} threads`;
  await expect.poll(() => page.$eval("#engine", (footer) => footer.textContent)).toMatch(
    new RegExp(`^headlens ${version} · (relaxed )?SIMD build \\(.+\\) · ${said}, in a worker · drawn in \\d+ ms$`),
  );
});

test("an empty text is no error", async () => {
  const page = await openPage();
  await setText(page, "");
  await seen(page, "#grid >>> ::-p-text(No text yet.)");
  expect(await shownTokens(page)).toEqual([]);
  await setText(page, "Hi");
  expect(await texts(page, "#grid >>> .thumb:not(.unknown)")).toHaveLength(model.info.layers * model.info.heads);
});

test("of a text that is too long the beginning is read, and that is said", async () => {
  const page = await openPage();
  const long = "the cat sat on the mat. ".repeat(4200);
  expect(long.length).toBeGreaterThan(100_000);
  await setText(page, long);
  const { maxPositions } = model.info;
  const all = model.attend(long, { truncate: true });
  expect(all.tokenCount).toBeGreaterThan(maxPositions);
  expect(await texts(page, "#sentence >>> .shortened")).toEqual([
    `Only the first ${maxPositions} of ${all.tokenCount} tokens: the model has no positions for more.`,
  ]);
  expect(await texts(page, "#grid >>> .status")).toEqual([expect.stringMatching(/^Scale of each head: .*; max of \d+×\d+$/)]);
  all.dispose();
});

test("the policy is strict, in the headers and in the page, and it is kept to", async () => {
  const page = await openPage();
  const response = await fetch(server.url);
  const inPage = await page.$eval(
    "meta[http-equiv='Content-Security-Policy']",
    (meta) => meta.getAttribute("content") ?? "",
  );
  for (const policy of [response.headers.get("content-security-policy") ?? "", inPage]) {
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("require-trusted-types-for 'script'");
    expect(policy).not.toMatch(/unsafe-inline|'unsafe-eval'|http:|\*/);
    // Models whose addresses a reader gives may be fetched, and their pictures; scripts and styles may not.
    const elsewhere = policy.split("; ").filter((directive) => /https:|blob:/.test(directive)).map((directive) => directive.split(" ")[0]);
    expect(elsewhere).toEqual(["connect-src", "img-src"]);
  }
  const parse = page.evaluate(() => {
    document.createElement("div").innerHTML = "<b>text as HTML</b>";
  });
  await expect(parse).rejects.toThrow(/TrustedHTML/);
  // One report is for the header, and one for the page's own policy.
  await expect.poll(() => faults.filter((fault) => fault.includes("trusted-types-sink")).length).toBe(2);
  faults = faults.filter((fault) => !/trusted-types-sink|TrustedHTML/.test(fault));
});

const kHostile = {
  markup: `<img src=x onerror="alert(1)"><script>alert(2)</script><b>bold</b> &amp; {{x}} \${y}`,
  "right to left": "שלום עולם مرحبا بالعالم \u202eevil\u202c end",
  emoji: "👩‍👩‍👧‍👦🏳️‍🌈 e\u0301\u0302\u0303 \u200b\u200d\u2060\ufeff z̸̢̛̳a̶͙l̴̰g̵o̶",
  "one long word": "a".repeat(4000),
  "lines and tabs": "one\n\n\ttwo\r\n   three\u00a0four\u2028five",
};

test.each(Object.entries({ desktop, phone }))("hostile text stays text: %s", async (_, view) => {
  const page = await openPage("", view);
  for (const [name, text] of Object.entries(kHostile)) {
    await setText(page, text);
    const shown = await page.$eval("#sentence", (element) => (element as AttentionMap).text);
    const { tokens } = model.attend(shown, { truncate: true });
    const items = await shownTokens(page);
    expect(items, name).toHaveLength(tokens.length);
    for (const [index, token] of joined(tokens).entries()) {
      // Invisible characters are shown as marks, and all others as they are.
      const seen = token.replaceAll(/[\p{Cc}\p{Cf}\p{Z}]/gu, "");
      expect(items[index]?.replaceAll(/U\+[\dA-F]{4,}|[\p{Cc}\p{Cf}\p{Z}◌↵⇥]/gu, ""), name).toContain(seen);
    }
    expect(await page.$$("main img, main script, main b"), name).toEqual([]);
    const spill = await page.evaluate(
      () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
    );
    expect(spill, name).toBeLessThanOrEqual(0);
  }
});

test("every number of the worked example is the engine's", async () => {
  const page = await openPage();
  await page.$eval("#steps", (steps) => steps.scrollIntoView());
  await seen(page, "#steps >>> table");
  for (const causal of [false, true]) {
    for (const head of [0, 1]) {
      if (causal !== (await page.$eval("#steps", (steps) => (steps as AttentionMap).causal)))
        await page.click("#steps >>> .check input");
      await page.$eval("#steps", (steps, index) => void ((steps as AttentionMap).head = index), head);
      await seen(page, `#steps >>> caption ::-p-text(head ${head})`);
      await page.waitForFunction(
        (count) => document.querySelector("#steps")?.shadowRoot?.querySelectorAll(".step").length === count,
        {},
        causal ? 9 : 8,
      );
      const expected = await workInNode(page, head, causal);
      const results = await page.$$eval("#steps >>> .result tbody", (found) =>
        found.map((body) => [...body.querySelectorAll("td")].map((cell) => (cell.textContent ?? "").replace("−", "-"))),
      );
      expect(results).toHaveLength(expected.length);
      for (const [step, numbers] of expected.entries()) {
        expect(results[step]).toHaveLength(numbers.length);
        for (const [cell, number] of numbers.entries()) {
          const shown = results[step]?.[cell] ?? "";
          if (number === -Infinity) expect(shown).toBe("-∞");
          else expect(Math.abs(Number(shown) - number), `step ${step + 1}, cell ${cell}`).toBeLessThan(6e-4);
        }
      }
    }
  }
});

/** The results of the steps for one head, from the reference backend, for the example in the page. */
async function workInNode(page: Page, head: number, isCausal: boolean): Promise<number[][]> {
  const example = (await page.$eval("#steps", (steps) => (steps as AttentionMap).example)) ?? kCatSatOnMat;
  const transposed = (matrix: readonly (readonly number[])[]): number[][] =>
    (matrix[0] ?? []).map((_, col) => matrix.map((row) => row[col] ?? NaN));
  const tensor = (rows: readonly (readonly number[])[]): { data: number[]; shape: number[] } => ({
    data: rows.flat(),
    shape: [rows.length, rows[0]?.length ?? 0],
  });
  const layer = engine.multiheadAttention({ embedDim: 4, numHeads: 2, bias: false });
  layer.loadStateDict({
    in_proj_weight: tensor([example.wq, example.wk, example.wv].flatMap(transposed)),
    "out_proj.weight": tensor(transposed(example.wo)),
  });
  const stages = ["q", "k", "v", "scores", "scaledScores", "maskedScores", "weights", "headOutputs"] as const;
  const result = layer.forward(tensor(example.x), {
    isCausal,
    stages,
    averageAttnWeights: false,
    backend: "reference",
  });
  layer.dispose();
  const own = (stage: (typeof stages)[number]): number[] => {
    const data = result[stage]?.data ?? new Float32Array();
    return [...data.slice((head * data.length) / 2, ((head + 1) * data.length) / 2)];
  };
  const order = [
    "q",
    "k",
    "scores",
    "scaledScores",
    ...(isCausal ? (["maskedScores"] as const) : []),
    "weights",
    "v",
    "headOutputs",
  ] as const;
  return [...order.map(own), [...result.output.data]];
}

test("a number of the worked example tells the sum that makes it, to pointer and keyboard alike", async () => {
  const page = await openPage();
  await page.$eval("#steps", (steps) => steps.scrollIntoView());
  const step = await seen(page, "#steps >>> .step");
  const cell = await step.$(".result tbody tr:nth-child(2) td:nth-of-type(1)");
  await cell?.hover();
  const sum = (await step.$eval(".sum", (output) => output.textContent)) ?? "";
  const [terms = "", result = ""] = sum.replaceAll("−", "-").split(" = ");
  const total = terms.split(" + ").reduce((before, term) => {
    const [left, right] = term.split("·").map((factor) => Number(factor.replaceAll(/[()]/g, "")));
    return before + (left ?? NaN) * (right ?? NaN);
  }, 0);
  expect(terms.split(" + ")).toHaveLength(4);
  expect(Number(result)).toBeCloseTo(total, 4);
  expect(await step.$$eval(".term:nth-child(1) td.lit", (lit) => lit.map(({ dataset }) => dataset.row))).toEqual([
    "1",
    "1",
    "1",
    "1",
  ]);
  expect(await step.$$eval(".term:nth-child(2) td.lit", (lit) => lit.map(({ dataset }) => dataset.col))).toEqual([
    "0",
    "0",
    "0",
    "0",
  ]);

  await step.$eval(".result td[tabindex='0']", (stop) => (stop as HTMLElement).focus());
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowDown");
  expect(await step.$eval("td:focus", ({ dataset }) => [dataset.row, dataset.col])).toEqual(["2", "1"]);
  expect(await step.$eval(".sum", (output) => output.textContent)).toMatch(/^0\.05·.+ = /);
});

test("what is exported from the page finds its scripts", async () => {
  const page = await openPage();
  const { code, html } = await page.evaluate(async () => {
    const map = document.querySelector<AttentionMap>("#map");
    return { code: await map?.toEmbedCode() ?? "", html: await map?.toHTML() ?? "" };
  });
  const script = /^<script src="([^"]+)"/.exec(code)?.[1] ?? "";
  expect((await fetch(script)).headers.get("content-type")).toMatch(/javascript/);
  expect(html.length).toBeGreaterThan(100_000);
  await page.click("header summary ::-p-text(Share)");
  await page.click("#copy-frame");
  await page.waitForFunction(() => document.querySelector("#note")?.textContent !== "");
});
