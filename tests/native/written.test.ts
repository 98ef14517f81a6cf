// SPDX-License-Identifier: Apache-2.0
/** The pictures and pages that `headlens map` writes, opened in Chromium from a file: no fault, and the right looks. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Browser, Page } from "puppeteer-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { AttentionMap } from "../../web/elements/index.js";
import { axe, holds, launchShell, open, root } from "../web/browser.js";
import { succeeds } from "./support.js";

const kFolder = mkdtempSync(join(tmpdir(), "headlens-"));
const kHostile = ["</script><b>", "]]>", "\"'&", "\u001b\u202e", "שלום·a", "<img src=x onerror=alert(1)>"];
let browser: Browser;
beforeAll(async () => { browser = await launchShell(); });
afterAll(async () => {
  await browser.close();
  rmSync(kFolder, { recursive: true });
});

/** Opens what the program writes under this name, and checks that nothing is wrong in it. */
async function opened(name: string, ...args: string[]): Promise<Page> {
  const path = join(kFolder, name);
  succeeds(["map", "--out", path, ...args]);
  const { page, faults } = await open(browser, pathToFileURL(path).href, undefined, false);
  expect(faults).toEqual([]);
  return page;
}

const ofText = ["--model", join(root, "web/models/tiny"), "--text", "The cat sat."];

function hostile(): string[] {
  const path = join(kFolder, "hostile.npy");
  const header = "{'descr': '<f4', 'fortran_order': False, 'shape': (6, 6), }\n";
  const numbers = Float32Array.from({ length: 36 }, (_, i) => i / 35);
  writeFileSync(path, Buffer.concat([
    Buffer.from(`\x93NUMPY\x01\x00${String.fromCharCode(header.length)}\x00${header}`, "latin1"), Buffer.from(numbers.buffer),
  ]));
  return ["--weights", path, "--tokens", JSON.stringify(kHostile)];
}

test("an SVG: names beside their rows, and nothing outside the picture", async () => {
  const page = await opened("maps.svg", ...ofText, "--layer", "3", "--head", "2");
  const { places, size, cells } = await page.evaluate(() => {
    const svg = document.documentElement;
    const box = (element: Element): { x: number; y: number; right: number; bottom: number } => {
      const { x, y, right, bottom } = element.getBoundingClientRect();
      return { x, y, right, bottom };
    };
    const texts = [...svg.querySelectorAll("text")];
    return {
      places: texts.map((text) => ({ name: text.textContent ?? "", ...box(text) })),
      size: { width: svg.clientWidth, height: svg.clientHeight },
      cells: box(svg.querySelector("image") as Element),
    };
  });
  for (const { name, x, y, right, bottom } of places) {
    expect([x >= 0, y >= 0, right <= size.width, bottom <= size.height], name).toEqual([true, true, true, true]);
  }
  const cats = places.filter(({ name }) => name === "·cat");
  const cell = (cells.right - cells.x) / 5;
  expect((cats[0]?.right ?? NaN) < cells.x).toBe(true);
  expect(((cats[0]?.y ?? 0) + (cats[0]?.bottom ?? 0)) / 2).toBeCloseTo(cells.y + 2.5 * cell, -1);
  expect((cats[1]?.bottom ?? NaN) < cells.y).toBe(true);
  expect(((cats[1]?.x ?? 0) + (cats[1]?.right ?? 0)) / 2).toBeCloseTo(cells.x + 2.5 * cell, -1);
  await page.close();
});

test.each(["light", "dark"])("a %s page without script has nothing that axe finds, and opens its tables", async (theme) => {
  const page = await opened(`${theme}.html`, ...ofText, "--theme", theme, "--no-script");
  expect(await page.$$eval("summary", (all) => all.map(({ textContent }) => textContent))).toHaveLength(32);
  await page.click("summary");
  expect(await page.$eval("details[open] tbody tr:nth-child(3)", (row) => (row as HTMLElement).innerText.split("\t").length)).toBe(6);
  expect(await axe(page)).toEqual([]);
  await page.close();
});

test("hostile names are text, each in its own direction", async () => {
  const page = await opened("hostile.html", ...hostile(), "--no-script");
  expect(await page.$$("b, img, script")).toHaveLength(0);
  expect(await page.$$eval("tbody th", (all) => all.map(({ textContent }) => textContent))).toEqual([
    "</script><b>", "]]>", "\"'&", "⟨U+001B⟩⟨U+202E⟩", "שלום·a", "<img·src=x·onerror=a…",
  ]);
  expect(await page.$eval("svg text[unicode-bidi]", (name) => getComputedStyle(name).unicodeBidi)).toBe("plaintext");
  const svg = await opened("hostile.svg", ...hostile());
  expect(await svg.$$("b, img, script")).toHaveLength(0);
  await Promise.all([page.close(), svg.close()]);
});

test("a page with a script gives it the data, and lets it load nothing", async () => {
  const script = join(kFolder, "draw.js");
  writeFileSync(script, `
    const text = "</script><!-- <script>";
    customElements.define("attention-map", class extends HTMLElement {
      connectedCallback() {
        const data = JSON.parse(this.querySelector("script").textContent);
        const bytes = Uint8Array.from(atob(data.weights.data), (c) => c.charCodeAt(0));
        globalThis.seen = { ...data, text, weights: [...new Float32Array(bytes.buffer)] };
      }
    });`);
  const page = await opened("script.html", ...hostile(), "--script", script);
  expect(await page.evaluate(() => (globalThis as { seen?: unknown }).seen)).toEqual({
    tokens: kHostile, causal: false, layers: [0], heads: [0], text: "</script><!-- <script>",
    weights: Array.from({ length: 36 }, (_, i) => Math.fround(i / 35)),
  });
  expect(await page.evaluate(() => fetch("data:text/plain,a").then(() => "loaded", () => "refused"))).toBe("refused");
  await page.close();
});

test("with headlens.arrays.js the page is alive, and has the program's numbers", async () => {
  const path = join(root, "dist/headlens.arrays.js");
  const page = await opened("alive.html", ...ofText, "--script", path);
  await holds(page, () => document.querySelector("attention-map")?.shadowRoot?.querySelector(".thumb:not(.unknown)") !== null);
  await page.click("attention-map >>> .thumb[data-layer='3'][data-head='2']");
  await holds(page, () => document.querySelector("attention-map")?.shadowRoot?.querySelector(".cells canvas") !== null);
  const shown = await page.evaluate(() => (document.querySelector("attention-map") as AttentionMap).toJSON());
  const file = join(kFolder, "maps.json");
  succeeds(["map", "--out", file, ...ofText, "--layer", "3", "--head", "2"]);
  const { maps, pieces } = JSON.parse(readFileSync(file, "utf8")) as { maps: unknown; pieces: unknown };
  expect(JSON.parse(shown)).toMatchObject({ weights: maps, tokens: pieces, causal: true });
  await page.close();
});
