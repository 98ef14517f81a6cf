// SPDX-License-Identifier: Apache-2.0
/**
 * `<attention-map>` on its own: given arrays, its own navigation, its error messages, and the bundle that is published.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser, Page } from "puppeteer-core";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import type { AttentionMap } from "../../web/elements/index.js";
import { serve } from "../wasm/server.js";
import { cellColors, holds, launchShell, open, root, seen, servePackage, texts } from "./browser.js";
import type { Served } from "./browser.js";

const kPage = `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Element</title>
<script type="module" src="/dist/element.js"></script></head><body><main><h1>Element</h1></main></body></html>`;

let browser: Browser;
let server: Served;

beforeAll(async () => {
  [browser, server] = await Promise.all([launchShell(), servePackage(kPage)]);
});

afterAll(async () => {
  await browser.close();
  await server.close();
});

let faults: string[] = [];

afterEach(async () => {
  for (const page of await browser.pages()) if (page.url().startsWith(server.url)) await page.close();
  expect(faults.splice(0)).toEqual([]);
});

type Properties = Record<string, unknown>;

/** A page with one element that has these properties. `values` are those of the weights that JSON cannot hold. */
async function openElement(properties: Properties, values: readonly number[] = []): Promise<Page> {
  const { page, faults: found } = await open(browser, server.url, undefined, false);
  faults = found;
  await place(page, properties, values);
  return page;
}

/** Fills the page with one element that has these properties, and a new log of its events. */
async function place(page: Page, properties: Properties, values: readonly number[] = []): Promise<void> {
  await page.evaluate(async (given, texts) => {
    await customElements.whenDefined("attention-map");
    document.querySelector("#map")?.remove();
    const element = document.createElement("attention-map");
    element.id = "map";
    const log: string[] = [];
    (window as unknown as { log: string[] }).log = log;
    for (const name of ["attention-draw", "attention-error", "head-select", "head-close"]) {
      element.addEventListener(name, (event) => {
        const { error, ...detail } = (event as CustomEvent<{ error?: Error; layer?: number; head?: number }>).detail;
        log.push(
          `${name} ${error?.message ?? ""}${detail.layer !== undefined ? `${detail.layer} ${detail.head}` : ""}`.trim(),
        );
      });
    }
    Object.assign(element, given);
    if (texts.length > 0) Object.assign(element.weights ?? {}, { data: texts.map(Number) });
    document.querySelector("main")?.append(element);
  }, properties, values.map(String));
}

const log = (page: Page): Promise<string[]> => page.evaluate(() => (window as unknown as { log: string[] }).log);

const logged = (page: Page, start: string): Promise<unknown> =>
  page.waitForFunction(
    (text) => (window as unknown as { log: string[] }).log.some((line) => line.startsWith(text)),
    {},
    start,
  );

test("the bundle registers the element under a strict policy, and a model's maps are drawn", async () => {
  const page = await openElement({ text: "Anna saw Ben." });
  await logged(page, "attention-draw");
  expect(await page.$$("#map >>> .thumb:not(.unknown)")).toHaveLength(32);
});

test("opening a head by click and by key, and going back", async () => {
  const page = await openElement({ text: "Anna saw Ben." });
  await logged(page, "attention-draw");
  await page.click("#map >>> .thumb[data-layer='1'][data-head='2']");
  await seen(page, "#map >>> .plot:focus");
  expect(await texts(page, "#map >>> .title")).toEqual(["1.2"]);
  expect(await log(page)).toContain("head-select 1 2");
  await page.keyboard.press("Escape");
  await seen(page, "#map >>> .thumb[data-layer='1'][data-head='2']:focus");
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("Enter");
  await seen(page, "#map >>> .title ::-p-text(1.3)");
  await page.click("#map >>> .back");
  await seen(page, "#map >>> .thumb[data-head='3']:focus");
});

test("arrays computed elsewhere: cross-attention of several heads", async () => {
  const data = [0.7, 0.2, 0.1, 0.1, 0.1, 0.8, 0.25, 0.25, 0.5, 1, 0, 0];
  const page = await openElement({
    weights: { data, shape: [2, 2, 3] },
    tokens: ["le", "chat"],
    keyTokens: ["the", " cat", "!"],
  });
  await logged(page, "attention-draw");
  expect(await page.$$("#map >>> .thumb:not(.unknown)")).toHaveLength(2);
  await page.click("#map >>> .thumb[data-head='1']");
  await seen(page, "#map >>> .plot:focus");
  expect(await texts(page, "#map >>> .rows .label")).toEqual(["le", "chat"]);
  expect(await texts(page, "#map >>> .cols .label")).toEqual(["the", "cat", "!"]);
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowRight");
  expect((await texts(page, "#map >>> .readout"))[0]?.replaceAll(/[\u2068\u2069]/g, "")).toBe(
    "query ‘le’ → key ‘!’: 0.5000",
  );
});

test("NaN and the infinities are shown as what they are, and told in the legend", async () => {
  const data = [0.5, NaN, 0, Infinity, 0.25, -Infinity];
  const page = await openElement({ view: "map", weights: { shape: [2, 3] } }, data);
  await logged(page, "attention-draw");
  const colors = (await cellColors(page, "#map", 2, 3)).flat().map(String);
  expect(new Set(colors).size).toBe(6);
  expect((await texts(page, "#map >>> .legend .masked")).sort()).toEqual(["NaN", "∞", "−∞"].sort());
  await page.focus("#map >>> .plot");
  await page.keyboard.press("ArrowRight");
  expect(await texts(page, "#map >>> .readout b")).toEqual(["NaN"]);
});

test("a mask, a scale, and layers with other numbers of heads", async () => {
  const page = await openElement({ view: "map", tokens: ["a", "b"], weights: { data: [0.5, 0.25, 1, 0], shape: [2, 2] } });
  await logged(page, "attention-draw");
  const before = (await cellColors(page, "#map", 2, 2)).flat();
  await page.$eval("#map", (element) => {
    Object.assign(element, { mask: { data: [1, 0, 1, 1], shape: [2, 2] }, scale: "row" });
  });
  await page.waitForFunction(() => document.querySelector("#map")?.shadowRoot?.querySelector(".legend .masked"));
  const after = (await cellColors(page, "#map", 2, 2)).flat();
  expect(after[1]).toEqual([0, 0, 0, 0]);
  expect(after[0], "0.5 is the largest of its row").toEqual(before[2]);
  expect(await texts(page, "#map >>> .range")).toEqual(["0 – the largest of each row"]);
  await page.$eval("#map", (element) => {
    const layer = (heads: number): object => ({ data: new Float32Array(heads * 4).fill(0.5), shape: [heads, 2, 2] });
    Object.assign(element, { mask: undefined, scale: "auto", view: "grid", weights: [layer(1), layer(3)] });
  });
  await page.waitForFunction(() => document.querySelector("#map")?.shadowRoot?.querySelectorAll(".thumb").length === 4);
  await page.focus("#map >>> .thumb");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("End");
  await seen(page, "#map >>> .thumb[data-layer='1'][data-head='2']:focus");
  await page.keyboard.press("ArrowUp");
  await seen(page, "#map >>> .thumb[data-layer='0'][data-head='0']:focus");
});

test("zoom by keys, wheel and buttons, drag, and the small map; what is drawn stays true", async () => {
  const page = await openElement({ view: "map", causal: true });
  const size = 300;
  await page.evaluate((length) => {
    const data = Float32Array.from({ length: length * length }, (_, index) => ((index * 2654435761) % 1000) / 1000);
    Object.assign(document.querySelector("#map")!, { weights: { data, shape: [length, length] } });
  }, size);
  await logged(page, "attention-draw");
  expect(await page.$("#map >>> .minimap")).toBeNull();
  await page.focus("#map >>> .plot");
  for (const key of ["+", "+", "+", "+"] as const) await page.keyboard.press(key);
  await seen(page, "#map >>> .minimap");
  // The first labels are those of the part that is seen.
  expect((await texts(page, "#map >>> .rows .label"))[0]).toBe("0");
  const cells = await seen(page, "#map >>> .cells");
  const box = (await cells.boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 };
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  await page.mouse.down();
  await page.mouse.move(box.x + 20, box.y + 20, { steps: 5 });
  await page.mouse.up();
  expect(Number((await texts(page, "#map >>> .rows .label"))[0])).toBeGreaterThan(10);
  await page.mouse.move(box.x + box.width / 3, box.y + box.height / 2);
  await page.waitForFunction(() => !document.querySelector("#map")?.shadowRoot?.querySelector(".coarse"));
  const [words = ""] = await texts(page, "#map >>> .readout");
  const [, row = "", col = "", value = ""] = /‘(\d+)’ → key ‘(\d+)’: ([\d.]+|masked)$/.exec(words.replaceAll(/[\u2068\u2069]/g, "")) ?? [];
  const index = Number(row) * size + Number(col);
  expect(value, words).toBe(Number(col) > Number(row) ? "masked" : (((index * 2654435761) % 1000) / 1000).toFixed(4));
  await page.mouse.wheel({ deltaY: -400 });
  await page.mouse.move(box.x + box.width / 3 + 1, box.y + box.height / 2);
  expect((await texts(page, "#map >>> .readout"))[0]?.replaceAll(/[\u2068\u2069]/g, "")).toContain(`‘${row}’ → key ‘${col}’`);
  await page.click("#map >>> .zoom button:last-child");
  expect(await page.$("#map >>> .minimap")).toBeNull();
});

test("queries and keys of any length are mapped as they are looked at", async () => {
  const page = await openElement({ view: "map" });
  const [length, width] = [3000, 16];
  const expected = await page.evaluate(
    (rows, cols) => {
      let state = 7;
      const random = (): number => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) / 2 ** 31 - 1;
      const make = (): { data: Float32Array; shape: number[] } => {
        return { data: Float32Array.from({ length: rows * cols }, random), shape: [rows, cols] };
      };
      const [queries, keys] = [make(), make()];
      Object.assign(document.querySelector("#map")!, { queries, keys, causal: true });
      const row = 1500;
      const scores = Array.from({ length: row + 1 }, (_, key) => {
        let sum = 0;
        for (let i = 0; i < cols; i++) sum += (queries.data[row * cols + i] ?? 0) * (keys.data[key * cols + i] ?? 0);
        return Math.exp(sum / Math.sqrt(cols));
      });
      const total = scores.reduce((sum, score) => sum + score, 0);
      return scores.map((score) => score / total);
    },
    length,
    width,
  );
  await logged(page, "attention-draw");
  expect((await texts(page, "#map >>> .range"))[0]).toMatch(/this head · max of 8×8$/);
  const cells = await seen(page, "#map >>> .cells");
  const box = (await cells.boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 };
  await page.mouse.move(box.x + 0.2 * box.width, box.y + 0.5001 * box.height);
  await page.waitForFunction(() => /: [\d.e−]+$/.test(document.querySelector("#map")?.shadowRoot?.querySelector(".readout")?.textContent ?? ""));
  const words = ((await texts(page, "#map >>> .readout"))[0] ?? "").replaceAll(/[\u2068\u2069]/g, "");
  const [, row = "", col = "", value = ""] = /‘(\d+)’ → key ‘(\d+)’: (.+)$/.exec(words) ?? [];
  expect(row).toBe("1500");
  const number = Number(value.replace("−", "-"));
  expect(Math.abs(number / (expected[Number(col)] ?? NaN) - 1)).toBeLessThan(1e-3);
});

test("a single array with masked and with negative values", async () => {
  const page = await openElement({ view: "map", weights: { data: [-2, 1, 0, 4], shape: [2, 2] }, causal: true });
  await logged(page, "attention-draw");
  const colors = (await cellColors(page, "#map", 2, 2)).flat();
  expect(colors.map(([, , , alpha]) => alpha)).toEqual([255, 0, 255, 255]);
  expect(await texts(page, "#map >>> .ticks span")).toEqual(["−4", "−2", "0", "2", "4"]);
  expect(await texts(page, "#map >>> .legend .masked")).toEqual(["masked"]);
});

const kTwo = { data: [1, 2], shape: [2, 1] };

const kMistakes: [string, Properties, RegExp][] = [
  ["an unknown view", { text: "a", view: "cube" }, /view: "cube" is not known; grid, map, .*steps are/],
  ["a layer that is not there", { text: "a", view: "map", layer: 9 }, /layer: 9 is not one of 0 to 3/],
  ["an unknown scale", { text: "a", scale: "cube" }, /scale: "cube" is not known; auto, fixed, head, row, log are/],
  ["queries without keys", { queries: { data: [1, 2], shape: [1, 2] } }, /keys is missing: maps are computed from both/],
  [
    "a mask that does not fit queries and keys",
    { queries: kTwo, keys: kTwo, mask: { data: [1, 0], shape: [1, 2] } },
    /mask has shape \(1, 2\) and 2 values, expected \(2, 2\)/,
  ],
  [
    "a shape that does not fit",
    { weights: { data: [1, 2, 3], shape: [2, 2] } },
    /3 values do not fill the shape \(2, 2\)/,
  ],
  ["too few tokens", { weights: { data: [1, 0, 0, 1], shape: [2, 2] }, tokens: ["a"] }, /tokens: 1 names for 2 rows/],
  ["an example's head that is not there", { view: "steps", head: 5 }, /head 5: this example has heads 0 to 1/],
];

test("every mistake is said in the element and by an event", async () => {
  const page = await openElement({ view: "steps" });
  for (const [what, properties, message] of kMistakes) {
    await place(page, properties);
    const alert = await seen(page, "#map >>> [role=alert] p");
    expect(await alert.evaluate(({ textContent }) => textContent), what).toMatch(message);
    expect(await log(page), what).toContainEqual(expect.stringMatching(message));
    expect(await page.$$("#map >>> canvas"), what).toEqual([]);
  }
});

test("a model that is not there is said, and the next one is drawn", async () => {
  const page = await openElement({ text: "Anna saw Ben.", model: "models/none" });
  const alert = await seen(page, "#map >>> [role=alert] p");
  expect(await alert.evaluate(({ textContent }) => textContent)).toMatch(/config\.json.*404/);
  // The browser rightly reports every failed request.
  faults = faults.filter((fault) => !/404|models\/none/.test(fault));
  await page.$eval("#map", (element) => void ((element as AttentionMap).model = "tiny"));
  await logged(page, "attention-draw");
  expect(await page.$$("#map >>> [role=alert]")).toEqual([]);
  expect(await page.$$("#map >>> .thumb:not(.unknown)")).toHaveLength(32);
});

test("a model that never comes does not hold the next one up, and its text can be read meanwhile", async () => {
  const page = await openElement({ text: "Anna saw Ben.", model: "/never/", view: "sentence" });
  await seen(page, "#map >>> [role=status]");
  expect(await texts(page, "#map >>> .awaited")).toEqual(["Anna saw Ben."]);
  await page.$eval("#map", (element) => void ((element as AttentionMap).view = "grid"));
  await holds(page, () => !document.querySelector("#map")?.shadowRoot?.querySelector(".awaited"));
  await page.$eval("#map", (element) => void ((element as AttentionMap).model = "tiny"));
  await logged(page, "attention-draw");
  expect(await page.$$("#map >>> .thumb:not(.unknown)")).toHaveLength(32);
  faults = faults.filter((fault) => !fault.includes("/never/"));
});

test("twelve heads of 1024 by 1024 are drawn and stay quick to the pointer", async () => {
  const page = await openElement({});
  await page.evaluate(() => {
    const data = Float32Array.from({ length: 12 * 1024 * 1024 }, (_, index) => ((index * 2654435761) % 1000) / 1000);
    Object.assign(document.querySelector("#map")!, { weights: { data, shape: [12, 1024, 1024] } });
  });
  await logged(page, "attention-draw");
  // Small maps have the numbers and the pixels that the screen has, and no more.
  const [side = 0] = await page.$$eval("#map >>> .thumb", (found) => found.map((thumb) => thumb.clientWidth));
  const most = Math.ceil(1024 / side);
  expect(await texts(page, "#map >>> .status")).toEqual([expect.stringContaining(`max of ${most}×${most}`)]);
  expect(await page.$$eval("#map >>> canvas", (found) => found.map((canvas) => canvas.width - canvas.clientWidth))).toEqual([0]);
  await page.click("#map >>> .thumb[data-head='7']");
  await seen(page, "#map >>> .plot:focus");
  const milliseconds = await page.evaluate(async () => {
    const element = document.querySelector<AttentionMap>("#map")!;
    const cells = element.shadowRoot!.querySelector(".cells")!;
    const box = cells.getBoundingClientRect();
    const started = performance.now();
    for (let step = 0; step < 50; step++) {
      const [clientX, clientY] = [box.left + (step / 50) * box.width, box.top + (step / 50) * box.height];
      cells.dispatchEvent(new PointerEvent("pointermove", { clientX, clientY }));
      await element.updateComplete;
    }
    return (performance.now() - started) / 50;
  });
  expect(milliseconds).toBeLessThan(50);
});

test("a second copy of the script leaves the first element in place", async () => {
  const page = await openElement({ text: "a" });
  const first = await page.evaluateHandle(() => customElements.get("attention-map"));
  await page.addScriptTag({ type: "module", url: "/dist/element.js?again" });
  const isSame = await page.evaluate((before) => before === customElements.get("attention-map"), first);
  expect(isSame).toBe(true);
});

test("elements with the same text share one computation; one that leaves the page does not disturb the other", async () => {
  const page = await openElement({ text: "Anna saw Ben." });
  await page.evaluate(() => {
    const second = document.createElement("attention-map");
    Object.assign(second, { text: "Anna saw Ben.", view: "map", id: "second" });
    document.querySelector("main")?.append(second);
  });
  await seen(page, "#second >>> .plot");
  await page.$eval("#map", (element) => element.remove());
  await page.click("#second >>> .turn[aria-label='Next head']");
  await seen(page, "#second >>> .title ::-p-text(0.1)");
});

test("dark maps follow the page's color-scheme, not the reader's alone", async () => {
  const page = await openElement({ view: "map", weights: { data: [0, 1], shape: [1, 2] } });
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: "dark" }]);
  await logged(page, "attention-draw");
  const zero = (): Promise<number> =>
    page.$eval("#map >>> .cells canvas", (canvas) => {
      const pixels = canvas.getContext("2d")?.getImageData(0, 0, 1, 1).data ?? [];
      return pixels[0] ?? NaN;
    });
  expect(await zero(), "a page that is always light").toBeGreaterThan(200);
  await page.evaluate(() => {
    document.documentElement.style.colorScheme = "light dark";
    document.querySelector("attention-map")?.requestUpdate();
  });
  await page.waitForFunction(() => {
    const canvas = document.querySelector("#map")?.shadowRoot?.querySelector<HTMLCanvasElement>(".cells canvas");
    return (canvas?.getContext("2d")?.getImageData(0, 0, 1, 1).data[0] ?? 255) < 60;
  });
});

test("what is seen draws first: an element that is only near waits, until it comes into sight itself", async () => {
  const { page } = await open(browser, server.url, { width: 800, height: 600 }, false);
  await page.evaluate(async () => {
    await customElements.whenDefined("attention-map");
    const main = document.querySelector("main");
    const make = (properties: Record<string, unknown>): void => {
      const element = document.createElement("attention-map");
      main?.append(Object.assign(element, properties));
    };
    make({ id: "seen", text: "Anna saw Ben.", model: "/never/" });
    const gap = document.createElement("div");
    main?.append(Object.assign(gap, { id: "gap" }));
    gap.style.height = "600px";
    make({ id: "near", view: "steps" });
  });
  // The visible element has asked for the engine, which answers, but the model's files never arrive.
  await page.waitForFunction(() => {
    const answers = performance.getEntriesByType("resource").map(({ name }) => name);
    return answers.some((name) => name.endsWith(".wasm"));
  });
  await page.evaluate(() => new Promise((later) => setTimeout(later, 300)));
  expect(await page.$$("#near >>> table")).toEqual([]);
  await page.$eval("#near", (element) => element.scrollIntoView());
  await seen(page, "#near >>> table");
  await page.close();
});

test("an engine that cannot warm up says so in the console, and draws all the same", async () => {
  const refusals: string[] = [];
  const broken = await serve(root, (path, response) => {
    if (path !== "/" && !path.endsWith(".js")) return false;
    const script = path === "/" ? "" : readFileSync(join(root, path), "utf8");
    const refused = script.replace('model_type:"llama"', 'model_type:"nonsense"');
    if (refused === script && path !== "/") return false;
    refusals.push(path);
    const [type, body] = path === "/" ? ["text/html", kPage] : ["text/javascript", refused];
    response.writeHead(200, { "content-type": type }).end(body);
    return true;
  });
  const page = await browser.newPage();
  const warnings: string[] = [];
  page.on("console", (message) => warnings.push(`${message.type()}: ${message.text()}`));
  await page.goto(broken.url);
  await page.evaluate(() => {
    const element = document.createElement("attention-map");
    element.setAttribute("text", "Anna saw Ben.");
    document.querySelector("main")?.append(element);
  });
  await seen(page, "attention-map >>> canvas");
  expect(await page.$$("attention-map >>> .thumb:not(.unknown)")).toHaveLength(32);
  await expect.poll(() => warnings.join("\n")).toMatch(/^warn(ing)?: headlens could not warm up: .*nonsense/m);
  expect(refusals.filter((path) => path.startsWith("/dist/warm-up-"))).toHaveLength(1);
  await page.close();
  await broken.close();
});
