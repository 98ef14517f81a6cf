// SPDX-License-Identifier: Apache-2.0
/**
 * npm run bench -- page [FOLDER…]: how the page answers, in Chromium: how soon maps of short and long texts are drawn,
 * how the pointer is followed, how a large map is moved, and the memory that it takes. A FOLDER is the dist/ of another
 * state, which takes turns with this one. Figures are medians; "–" is what a state does not have.
 */
import { readdirSync, readFileSync } from "node:fs";
import { cpSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { serve } from "../wasm/server.ts";
import { launchChromium } from "../web/browser.ts";
import { median } from "./measure.mjs";

const root = fileURLToPath(new URL("../..", import.meta.url));
const kLongTokens = 4096;
const kRounds = 3;
/** A call in the page that takes longer, in milliseconds, has failed. */
const kPatience = 90_000;
const kWord = "the cat sat on the mat. ";
const kShortText = kWord.repeat(9).trim(); // 64 tokens with the beginning

/** A copy of the built-in model with positions for long texts. Its positions are rotated, so that no weight is missing. */
function writeLongModel(folder) {
  const from = join(root, "web/models/tiny");
  cpSync(from, folder, { recursive: true });
  const config = JSON.parse(readFileSync(join(from, "config.json"), "utf8"));
  writeFileSync(join(folder, "config.json"), JSON.stringify({ ...config, max_position_embeddings: 16384 }));
}

/** The memory in MiB (VmHWM: the most, VmRSS: now) of the processes that draw pages. */
function memory(what) {
  const ofProcess = (pid) => {
    try {
      if (!readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("--type=renderer")) return 0;
      return Number(new RegExp(`${what}:\\s+(\\d+)`).exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) / 1024;
    } catch {
      return 0; // it has ended
    }
  };
  return Math.max(...readdirSync("/proc").filter((name) => /^\d+$/.test(name)).map(ofProcess));
}

const kPage = `<!doctype html><html lang="en"><meta charset="utf-8"><title>page</title>
<script type="module" src="/dist/element.js"></script><body></body></html>`;

/** In the page: makes an element, and returns the milliseconds until it has drawn. */
function draw(properties, id) {
  const begin = performance.now();
  return new Promise((resolve, reject) => {
    const element = Object.assign(document.createElement("attention-map"), { id });
    const drawn = () => requestAnimationFrame(() => resolve(performance.now() - begin));
    element.addEventListener("attention-draw", drawn, { once: true });
    element.addEventListener("attention-error", ({ detail }) => reject(detail.error), { once: true });
    Object.assign(element, properties);
    document.body.append(element);
  });
}

/** In the page: the milliseconds of main thread of each of `steps` moves of the pointer over the cells, with their frames. */
async function hover(id, steps) {
  const cells = document.getElementById(id).shadowRoot.querySelector(".cells");
  const box = cells.getBoundingClientRect();
  const times = [];
  for (let step = 1; step <= steps; ++step) {
    const begin = performance.now();
    const share = step / steps;
    const clientX = box.left + (0.1 + 0.3 * share) * box.width, clientY = box.top + (0.5 + 0.4 * share) * box.height;
    const pointer = { clientX, clientY, pointerType: "mouse", pointerId: 1, bubbles: true };
    cells.dispatchEvent(new PointerEvent("pointermove", pointer));
    await document.getElementById(id).updateComplete;
    cells.getBoundingClientRect(); // layout belongs to it
    times.push(performance.now() - begin);
    await new Promise((next) => setTimeout(next, 30));
  }
  return times;
}

/** In the page: types a key at the end of a text, and returns the milliseconds until all heads are drawn. */
function type(id, key) {
  const element = document.getElementById(id);
  const begin = performance.now();
  return new Promise((resolve) => {
    element.addEventListener("attention-draw", () => resolve(performance.now() - begin), { once: true });
    element.text += key;
  });
}

/** In the page: an element with maps of random queries and keys. */
async function computed(id, length, width) {
  let state = 1;
  const random = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 31 - 1;
  };
  const make = () => ({ data: Float32Array.from({ length: length * width }, random), shape: [length, width] });
  return globalThis.draw({ view: "map", queries: make(), keys: make(), causal: true }, id);
}

/** In the page: moves or zooms the large map; returns the milliseconds of main thread, and until all tiles are there. */
async function move(id, kind) {
  const element = document.getElementById(id);
  const cells = element.shadowRoot.querySelector(".cells");
  const box = cells.getBoundingClientRect();
  const [x, y] = [box.left + box.width * 0.4, box.top + box.height * 0.6];
  const begin = performance.now();
  if (kind === "zoom") {
    const wheel = { clientX: x, clientY: y, deltaY: -120, ctrlKey: true, bubbles: true, cancelable: true };
    cells.dispatchEvent(new WheelEvent("wheel", wheel));
  } else {
    const pointer = (type, by) => {
      const at = { clientX: x + by, clientY: y + by, pointerId: 1, buttons: 1, bubbles: true };
      cells.dispatchEvent(new PointerEvent(type, at));
    };
    pointer("pointerdown", 0);
    pointer("pointermove", -96);
    pointer("pointerup", -96);
  }
  await element.updateComplete;
  const main = performance.now() - begin;
  while (element.shadowRoot.querySelector(".coarse")) await new Promise((next) => setTimeout(next, 1));
  return { main, sharp: performance.now() - begin };
}

/** The measures. Each gets a fresh page and the address of the server, and returns named figures. */
const kMeasures = [
  async function keys(page) {
    await page.evaluate((text) => globalThis.draw({ text }, "grid"), kShortText);
    const times = [];
    for (const key of " and then it was late") times.push(await page.evaluate((one) => globalThis.type("grid", one), key));
    return { "64 tokens, key press to all heads": median(times) };
  },

  async function givenArrays(page) {
    const [first, all] = await page.evaluate(() => {
      const data = Float32Array.from({ length: 144 * 512 * 512 }, (_, i) => ((i * 2654435761) % 1000) / 1000);
      const begin = performance.now();
      const drawn = globalThis.draw({ weights: { data, shape: [12, 12, 512, 512] } }, "given");
      const seen = (async () => {
        const element = document.getElementById("given");
        while (!element.shadowRoot?.querySelector(".thumb:not(.unknown)")) await new Promise((next) => setTimeout(next, 1));
        return performance.now() - begin;
      })();
      return Promise.all([seen, drawn]);
    });
    return { "given [12,12,512,512], first drawn": first, "given [12,12,512,512], all drawn": all };
  },

  async function longText(page, url) {
    const properties = { text: kWord.repeat(Math.ceil(kLongTokens / 7) + 1), model: `${url}models/long` };
    await page.evaluate((all) => globalThis.draw({ ...all, text: "One two." }, "warm"), properties);
    await page.evaluate(() => document.getElementById("warm").remove());
    const named = (what) => `${kLongTokens} tokens, ${what}`;
    return {
      [named("text to all thumbnails")]: await page.evaluate((all) => globalThis.draw(all, "grid"), properties),
      [named("open head")]: await page.evaluate((all) => globalThis.draw({ ...all, view: "map" }, "map"), properties),
      [named("hover")]: median(await page.evaluate(() => globalThis.hover("map", 20))),
      [named("memory at most (MiB)")]: memory("VmHWM"),
      [named("memory now (MiB)")]: memory("VmRSS"),
    };
  },

  async function queriesAndKeys(page) {
    const figures = { "16384² from q, k: first drawn": await page.evaluate(() => globalThis.computed("map", 16384, 64)) };
    for (const kind of ["zoom", "pan"]) {
      const moves = [];
      for (let i = 0; i < 12; ++i) moves.push(await page.evaluate((one) => globalThis.move("map", one), kind));
      figures[`16384² ${kind}, main thread`] = median(moves.map(({ main }) => main));
      figures[`16384² ${kind}, sharp (median)`] = median(moves.map(({ sharp }) => sharp));
      figures[`16384² ${kind}, sharp (longest)`] = Math.max(...moves.map(({ sharp }) => sharp));
    }
    return figures;
  },
];

async function freshPage(browser, url) {
  const page = await browser.newPage();
  await page.setViewport({ width: 1440, height: 900 });
  await page.goto(url);
  await page.evaluate(() => customElements.whenDefined("attention-map"));
  await page.evaluate(`Object.assign(globalThis, { draw: ${draw}, hover: ${hover}, type: ${type}, computed: ${computed}, move: ${move} })`);
  return page;
}

/** All figures of one state. Each measure has a browser of its own, since a state may fail in it. */
async function measure(folder) {
  const server = await serve(folder, (path, response) => {
    if (path !== "/") return false;
    response.writeHead(200, { "content-type": "text/html" }).end(kPage);
    return true;
  });
  const figures = {};
  for (const one of kMeasures) {
    const browser = await launchChromium({ protocolTimeout: kPatience });
    try {
      Object.assign(figures, await one(await freshPage(browser, server.url), server.url));
    } catch (error) {
      console.error(`${one.name}: ${String(error).split("\n")[0]}`);
    } finally {
      await browser.close();
    }
  }
  await server.close();
  return figures;
}

/** A folder to serve: a dist/, and the model with many positions. */
function prepare(dist) {
  const folder = mkdtempSync(join(tmpdir(), "headlens-page-"));
  symlinkSync(resolve(dist), join(folder, "dist"));
  writeLongModel(join(folder, "models/long"));
  return folder;
}

const states = ["dist", ...process.argv.slice(2)];
const folders = states.map(prepare);
const all = states.map(() => []);
try {
  for (let round = 0; round < kRounds; ++round) {
    for (const [index, folder] of folders.entries()) all[index].push(await measure(folder));
  }
} finally {
  for (const folder of folders) rmSync(folder, { recursive: true });
}
const names = [...new Set(all.flat().flatMap(Object.keys))];
console.log(["", ...states].map((cell, index) => (index ? cell.padStart(16) : cell.padEnd(44))).join(""));
for (const name of names) {
  const cells = all.map((rounds) => rounds.map((figures) => figures[name]).filter((value) => value !== undefined));
  const shown = cells.map((values) => (values.length ? median(values).toFixed(1) : "–").padStart(16));
  console.log(name.padEnd(44) + shown.join(""));
}
