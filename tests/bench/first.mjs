// SPDX-License-Identifier: Apache-2.0
/**
 * npm run bench -- first [PROFILES]: measures how soon the site shows something. Each time in a Chromium with a new
 * profile, it measures the time from the navigation to the first paint and to the first maps of the built-in model in
 * Explore, and to a live figure in a chapter of Learn, also over a line of 10 Mbit/s whose answers take 40 ms. In that
 * chapter it drags a score, and measures how long the figure takes to follow. It compares the first reading of a text in a page, with and
 * without warming up the engine, with the hundredth. Prints medians, and the range from least to most.
 */
import { loadavg } from "node:os";
import { join } from "node:path";
import { launchChromium, root, servePackage, servePlayground } from "../web/browser.ts";
import { serveThrottled } from "./throttled.mjs";

const profiles = Number(process.argv[2] ?? 7);
const kText = "The queen saw the king and she laughed.";
const kCalls = 100;
const kLine = { bytesPerSecond: 10e6 / 8, latency: 40 };

async function withPage(url, work) {
  const browser = await launchChromium();
  try {
    const page = await browser.newPage();
    await new Promise((resolve) => setTimeout(resolve, 1000)); // the browser's own start does not count
    await page.setViewport({ width: 1440, height: 900 });
    await page.goto(url, { waitUntil: "domcontentloaded" });
    return await work(page);
  } finally {
    await browser.close();
  }
}

/** Milliseconds since the navigation. */
async function opening(page) {
  await page.waitForFunction(() => document.documentElement.dataset.redrawMs !== undefined, { polling: 50 });
  return page.evaluate(() => {
    const [redraw] = performance.getEntriesByName("headlens:redraw");
    const [paint] = performance.getEntriesByName("first-contentful-paint");
    return { paint: paint?.startTime ?? NaN, maps: redraw.startTime + redraw.duration };
  });
}

/** Milliseconds from the navigation to the first paint and to the first live figure of a chapter, and of a changed score. */
async function chapter(page) {
  const isAlive = () => document.querySelector("attention-lesson")?.shadowRoot?.querySelector(".figure.alive");
  await page.waitForFunction(isAlive, { polling: "raf" });
  return page.evaluate(async () => {
    const alive = performance.now();
    const [paint] = performance.getEntriesByName("first-contentful-paint");
    const root = document.querySelector("attention-lesson").shadowRoot;
    const field = root.querySelector("td input");
    const weight = () => root.querySelector('table[data-matrix="weights"] td[data-row]').textContent;
    const times = [];
    for (let step = 1; step <= 40; ++step) {
      const before = weight();
      field.value = String(2 - step / 10);
      const start = performance.now();
      field.dispatchEvent(new Event("input", { bubbles: true }));
      while (weight() === before) await new Promise((resolve) => setTimeout(resolve));
      times.push(performance.now() - start);
    }
    return { paint: paint.startTime, alive, drag: times.sort((a, b) => a - b)[20] };
  });
}

/**
 * Runs in the page. Returns the milliseconds of each reading of the text, which runs the model and makes a picture of the
 * map of every head.
 */
async function read({ text, calls, warm }) {
  const { load } = await import("/dist/index.js");
  const engine = await load({ worker: true, prefetch: "tiny" });
  const [model] = await Promise.all([engine.loadModel("tiny"), warm && engine.warmUp()]);
  const times = [];
  for (let call = 0; call < calls; ++call) {
    const start = performance.now();
    const seen = await model.attend(text);
    for (let layer = 0; layer < model.info.layers; ++layer) await seen.overview(layer);
    times.push(performance.now() - start);
    seen.dispose();
  }
  return times;
}

const sorted = (values) => [...values].sort((a, b) => a - b);
const median = (values) => sorted(values)[values.length >> 1];

function print(name, values, unit) {
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const digits = unit === "ms" && median(values) >= 100 ? 0 : 1;
  const [middle, from, to] = [median(values), least, most].map((value) => value.toFixed(digits));
  console.log(`${name.padEnd(56)} ${middle.padStart(7)} ${unit.padEnd(2)}   ${from} … ${to}`);
}

const rows = {
  paint: [], maps: [], slowPaint: [], slowMaps: [],
  learnPaint: [], learnAlive: [], slowLearnPaint: [], slowLearnAlive: [], drag: [],
  cold: [], warm: [], steady: [], coldRatio: [], warmRatio: [],
};
const slow = await serveThrottled(join(root, "dist/site"), kLine);
const [playground, dist] = [await servePlayground(), await servePackage("<!doctype html><title>headlens</title>")];
if (loadavg()[0] > 0.5) console.error(`The machine is busy (load ${loadavg()[0].toFixed(1)}): these times are too long.`);
try {
  for (let profile = 0; profile < profiles; ++profile) {
    const { paint, maps } = await withPage(playground.url, opening);
    rows.paint.push(paint);
    rows.maps.push(maps);
    const slowly = await withPage(slow.url, opening);
    rows.slowPaint.push(slowly.paint);
    rows.slowMaps.push(slowly.maps);
    const lesson = await withPage(`${playground.url}learn/scores/`, chapter);
    rows.learnPaint.push(lesson.paint);
    rows.learnAlive.push(lesson.alive);
    rows.drag.push(lesson.drag);
    const slowLesson = await withPage(`${slow.url}learn/scores/`, chapter);
    rows.slowLearnPaint.push(slowLesson.paint);
    rows.slowLearnAlive.push(slowLesson.alive);
    for (const warm of [false, true]) {
      const times = await withPage(dist.url, (page) => page.evaluate(read, { text: kText, calls: kCalls, warm }));
      const steady = median(times.slice(-20)); // the hundredth, without outliers
      rows[warm ? "warm" : "cold"].push(times[0]);
      rows[warm ? "warmRatio" : "coldRatio"].push(times[0] / steady);
      rows.steady.push(steady);
    }
  }
} finally {
  await slow.close();
  await playground.close();
  await dist.close();
}
console.log(`medians of ${profiles} fresh profiles, and from least to most`);
print("navigation to the first paint", rows.paint, "ms");
print("navigation to the first maps of the built-in model", rows.maps, "ms");
print("over 10 Mbit/s and 40 ms: to the first paint", rows.slowPaint, "ms");
print("over 10 Mbit/s and 40 ms: to the maps of all heads", rows.slowMaps, "ms");
print("a chapter of Learn: to the first paint, with its figures", rows.learnPaint, "ms");
print("a chapter of Learn: to the first live figure", rows.learnAlive, "ms");
print("over 10 Mbit/s and 40 ms: to the first paint", rows.slowLearnPaint, "ms");
print("over 10 Mbit/s and 40 ms: to the first live figure", rows.slowLearnAlive, "ms");
print("a changed score, to the weights that follow", rows.drag, "ms");
print("first reading of a text, not warmed up", rows.cold, "ms");
print("first reading of a text, warmed up", rows.warm, "ms");
print("hundredth reading", rows.steady, "ms");
print("first against hundredth, not warmed up", rows.coldRatio, "×");
print("first against hundredth, warmed up", rows.warmRatio, "×");
