// SPDX-License-Identifier: Apache-2.0
/**
 * npm run bench -- explore [FOLDER…]: how Explore answers a reader, in Chromium with one thread: how long a key press
 * takes in a text of 64 tokens until the sentence, all heads, the open one, its finding and what comes next are painted,
 * how long a view takes to open after a click on its tab, at first and again, how long a head takes to be silenced, and how
 * long lines of 12 heads with 512 tokens take to be drawn after each step of scrolling. As a reader's, the pointer comes to
 * a tab a moment before the click. A FOLDER is the dist/ of another state, which takes turns with this one. Figures are
 * medians in milliseconds, and the range of the rounds.
 */
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { loadavg } from "node:os";
import { serve } from "../wasm/server.ts";
import { launchChromium } from "../web/browser.ts";
import { median } from "./measure.mjs";

const root = fileURLToPath(new URL("../..", import.meta.url));
const kRounds = 4;
const kText = "the cat sat on the mat. ".repeat(9).trim(); // 64 tokens with the beginning
const kKeys = " and then it was late, and they went home to bed";
/** Keys that are typed before the measured ones, while the browser compiles what it runs often. */
const kFirstKeys = " so the two";

/** In the page: types a key into the sentence, and returns the milliseconds until the frame that shows all of it. */
async function press(key) {
  const field = document.getElementById("sentence").shadowRoot.querySelector("textarea");
  const begin = performance.now();
  field.value += key;
  field.dispatchEvent(new Event("input", { bubbles: true, composed: true }));
  return globalThis.painted(begin);
}

/** In the page: the tab of a view of the open head. */
function tabOf(name) {
  const map = document.getElementById("map");
  const { title } = map.constructor.views.find((view) => view.name === name);
  return [...map.shadowRoot.querySelectorAll("[part=tab]")].find((tab) => tab.textContent === title);
}

/**
 * In the page: opens a view of the open head by its tab, and returns the milliseconds until the frame that shows it, and
 * until all of it is painted, which can be longer than a screen.
 */
async function openView(name) {
  const map = document.getElementById("map");
  const begin = performance.now();
  globalThis.tabOf(name).click();
  await Promise.resolve(); // the element has the view now
  const isShown = () => map.shadowRoot.querySelector(`[part~="${name}"]`) !== null;
  const shown = new Promise((done) => {
    const look = () => {
      if (!isShown()) return;
      watch.disconnect();
      void globalThis.nextFrame().then(() => done(performance.now() - begin));
    };
    const watch = new MutationObserver(look);
    watch.observe(map.shadowRoot, { childList: true, subtree: true });
    look();
  });
  await map.updateComplete;
  return Promise.all([shown, globalThis.painted(begin)]);
}

/** In the page: the milliseconds from `begin` until the figures are ready, and the frame with them is handed over. */
async function painted(begin) {
  await Promise.resolve();
  await Promise.all(["sentence", "next", "grid", "map"].map((id) => document.getElementById(id).ready()));
  await globalThis.nextFrame();
  return performance.now() - begin;
}

/**
 * In the page: resolves once the next frame is handed over. What a view does after its first frame is started by a
 * timer, and a message comes before it.
 */
function nextFrame() {
  return new Promise((done) => requestAnimationFrame(() => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = done;
    port2.postMessage(undefined);
  }));
}

/** Moves the pointer to the tab of a view, rests there for as long as a quick reader does, and opens the view. */
async function pointAndOpen(page, name) {
  const tab = await page.evaluateHandle((one) => globalThis.tabOf(one), name);
  await tab.hover();
  await rest(100);
  return page.evaluate((one) => globalThis.openView(one), name);
}

/** In the page: silences the open head by the view's button, or lets it speak again, and returns the milliseconds. */
async function silence() {
  const map = document.getElementById("map");
  const begin = performance.now();
  const drawn = new Promise((done) => map.addEventListener("attention-draw", done, { once: true }));
  map.shadowRoot.querySelector(".effect-tools button").click();
  await drawn;
  return performance.now() - begin;
}

/** In the page: the milliseconds of each redraw of the lines of 12 heads with 512 tokens, scrolled a bit before each. */
async function redrawLines() {
  const [heads, size] = [12, 512];
  const data = new Float32Array(heads * size * size);
  for (let row = 0; row < heads * size; row++) {
    const weights = data.subarray(row * size, (row + 1) * size);
    weights.forEach((_, col) => (weights[col] = ((row * 7919 + col * 104729) % 1009) ** 8));
    const sum = weights.reduce((total, weight) => total + weight, 0);
    weights.forEach((weight, col) => (weights[col] = weight / sum));
  }
  const map = document.createElement("attention-map");
  const drawn = new Promise((done) => map.addEventListener("attention-draw", done, { once: true }));
  const others = Array.from({ length: heads - 1 }, (_, head) => `0.${head + 1}`).join(" ");
  Object.assign(map, { weights: { data, shape: [1, heads, size, size] }, layer: 0, head: 0, heads: others, view: "lines" });
  document.body.prepend(map);
  map.scrollIntoView();
  await drawn;
  const times = [];
  for (let turn = 0; turn < 31; turn++) {
    map.shadowRoot.querySelector(".lines-box").scrollTop = turn * 24;
    await new Promise((next) => setTimeout(next, 20));
    const begin = performance.now();
    map.requestUpdate();
    map.performUpdate();
    times.push(performance.now() - begin);
  }
  map.remove();
  return times;
}

const rest = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

async function figuresOf(page) {
  const keys = [];
  for (const key of kFirstKeys + kKeys) {
    keys.push(await page.evaluate((one) => globalThis.press(one), key));
    await rest(40);
  }
  const figures = { "a key press, until all is painted": median(keys.slice(kFirstKeys.length)) };
  const views = await page.evaluate(() => document.getElementById("map").constructor.views
    .filter(({ isOfHead, isFor }) => isOfHead && !isFor).map(({ name }) => name));
  for (const when of ["at first", "again"]) {
    for (const view of views) {
      await pointAndOpen(page, view === "map" ? "lines" : "map");
      await rest(200);
      const [shown, all] = await pointAndOpen(page, view);
      figures[`${view} opens ${when}`] = shown;
      figures[`${view} opens ${when}, all of it`] = all;
      await rest(200);
    }
  }
  await pointAndOpen(page, "effect");
  await rest(500);
  const silenced = [];
  for (let turn = 0; turn < 10; turn++) silenced.push(await page.evaluate(() => globalThis.silence()));
  figures["a head is silenced, or speaks again"] = median(silenced.slice(2));
  figures["lines of 12 heads, 512 tokens, a redraw"] = median(await page.evaluate(() => globalThis.redrawLines()));
  return figures;
}

/** The functions that run in the page. */
const kInPage = [press, tabOf, openView, painted, nextFrame, silence, redrawLines];

async function measure(folder) {
  const server = await serve(join(folder, "site"));
  const browser = await launchChromium();
  try {
    const page = await browser.newPage();
    await page.setViewport({ width: 1440, height: 900 });
    await page.goto(`${server.url}#text=${encodeURIComponent(kText)}`);
    await page.waitForFunction(() => document.documentElement.dataset.state === "drawn");
    await page.evaluate(`Object.assign(globalThis, { ${kInPage.map((one) => `${one.name}: ${one}`).join(", ")} })`);
    await rest(2000); // what is loaded later comes now
    await page.evaluate(() => document.getElementById("sentence").shadowRoot.querySelector(".sentence-edit").click());
    return await figuresOf(page);
  } finally {
    await browser.close();
    await server.close();
  }
}

const states = ["dist", ...process.argv.slice(2)];
if (loadavg()[0] > 0.5) console.error(`The machine is busy (load ${loadavg()[0].toFixed(1)}): these times are too long.`);
const all = states.map(() => []);
for (let round = 0; round < kRounds; ++round) {
  for (const [index, state] of states.entries()) all[index].push(await measure(resolve(root, state)));
}
console.log(["", ...states].map((cell, index) => (index ? cell.padStart(24) : cell.padEnd(40))).join(""));
for (const name of Object.keys(all[0][0])) {
  const cells = all.map((rounds) => {
    const values = rounds.map((figures) => figures[name]).filter((value) => value !== undefined);
    if (values.length === 0) return "–";
    return `${median(values).toFixed(1)} (${Math.min(...values).toFixed(1)} to ${Math.max(...values).toFixed(1)})`;
  });
  console.log(name.padEnd(40) + cells.map((cell) => cell.padStart(24)).join(""));
}
