// SPDX-License-Identifier: Apache-2.0
/**
 * npm run bench -- gpt2 [ROUNDS]: drops a folder of GPT-2's size (124 million random weights, F16) on the built page in
 * Chromium with two threads, and measures what its reader waits for: until it is loaded, until all heads of a text are
 * drawn at first and after a key press, how long the page is deaf meanwhile, and the memory of the tab. Each round is a
 * fresh browser. The folder stays in build/bench/gpt2.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { loadavg } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { editText, launchChromium, servePlayground } from "../web/browser.ts";
import { quantile } from "./measure.mjs";
import { gpt2Parameters, kGpt2, writeModel } from "./random-model.mjs";

const root = fileURLToPath(new URL("../..", import.meta.url));
const folder = join(root, "build/bench/gpt2");
const rounds = Number(process.argv[2] ?? 5);
const kThreads = 2, kTokens = 256, kHeads = 144;
/** One token less than is measured: the last comes by a key press. */
const kText = `${"the cat sat on the mat. ".repeat(36)}the`;
const kKey = ".";
/** The page is at rest when processors have worked for less than a tenth of so many milliseconds. */
const kRest = 1000;

/** The project's own byte-level BPE, with tokens and merges up to GPT-2's number that no text here uses. */
function paddedTokenizer() {
  const tokenizer = JSON.parse(readFileSync(join(root, "web/models/tiny/tokenizer.json"), "utf8"));
  const { vocab, merges } = tokenizer.model;
  const known = Object.keys(vocab);
  for (let index = 0, count = known.length; count < kGpt2.vocab_size; ++index) {
    const [left, right] = [index % 500, Math.floor(index / 500)].map((back) => known.at(-1 - back));
    if (vocab[left + right] !== undefined) continue;
    vocab[left + right] = count++;
    merges.push(`${left} ${right}`);
  }
  return JSON.stringify(tokenizer);
}

/** The jiffies of Linux, of which a second has 100. */
const kJiffy = 10;

/**
 * The process that draws the page: its memory in MiB (PSS and RSS now, and the most RSS), and the milliseconds that processors
 * have worked for it, which other work of the machine hardly changes.
 */
function renderer() {
  const ofProcess = (pid) => {
    try {
      const text = (file) => readFileSync(`/proc/${pid}/${file}`, "utf8");
      if (!text("cmdline").includes("--type=renderer")) return [];
      const read = (file, name) => Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(text(file))?.[1]) / 1024;
      const [user, system] = text("stat").split(") ")[1].split(" ").slice(11, 13).map(Number);
      const worked = (user + system) * kJiffy;
      return [{ pss: read("smaps_rollup", "Pss"), rss: read("status", "VmRSS"), most: read("status", "VmHWM"), worked }];
    } catch {
      return []; // it has ended
    }
  };
  const all = readdirSync("/proc").filter((name) => /^\d+$/.test(name)).flatMap(ofProcess);
  return all.reduce((a, b) => (a.most > b.most ? a : b));
}

/** Waits until the engine has warmed up and the heads have names, so that nothing is computed any more. */
async function atRest() {
  for (let worked = -Infinity, now = renderer().worked; now - worked > kRest / 10; now = renderer().worked) {
    worked = now;
    await new Promise((later) => setTimeout(later, kRest));
  }
}

/** In the page: watches frames, long tasks, progress and what the grid draws. `seen.take()` begins anew. */
function watch() {
  const grid = document.querySelector("#grid");
  const seen = globalThis.seen = { gap: 0, longest: 0, loading: [], drawn: [], failed: [] };
  let last = performance.now();
  const frame = (now) => {
    seen.gap = Math.max(seen.gap, now - last);
    last = now;
    const bar = document.querySelector("#loading:not([hidden]) progress");
    if (bar) seen.loading.push({ at: now, share: bar.value });
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
  new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) seen.longest = Math.max(seen.longest, duration);
  }).observe({ entryTypes: ["longtask"] });
  grid.addEventListener("attention-draw", ({ detail }) => requestAnimationFrame(() => {
    const heads = grid.shadowRoot.querySelectorAll(".thumb:not(.unknown)").length;
    seen.drawn.push({ at: performance.now(), tokens: detail.tokens.length, heads });
  }));
  grid.addEventListener("attention-error", ({ detail }) => seen.failed.push(detail.error.message));
  addEventListener("drop", () => (seen.began = performance.now()), true);
  addEventListener("keydown", () => (seen.began = performance.now()), true);
  seen.take = () => {
    const { gap, longest } = seen;
    Object.assign(seen, { gap: 0, longest: 0 });
    return { gap, longest };
  };
}

/** Waits until all heads of so many tokens are drawn, and returns when they were. */
async function allDrawn(page, tokens) {
  const end = Date.now() + 120_000;
  while (Date.now() < end) {
    const { drawn, failed } = await page.evaluate(() => globalThis.seen);
    if (failed.length > 0) throw new Error(failed[0]);
    const found = drawn.find((one) => one.tokens === tokens && one.heads === kHeads);
    if (found) return found.at;
    await new Promise((later) => setTimeout(later, 100));
  }
  throw new Error(`${kHeads} heads of ${tokens} tokens are not drawn after two minutes: ${JSON.stringify(await page.evaluate(() => globalThis.seen.drawn))}`);
}

/** Drops the folder in the middle of the page, as a reader does. */
async function drop(session) {
  const data = { items: [], files: [folder], dragOperationsMask: 1 };
  for (const type of ["dragEnter", "dragOver", "drop"])
    await session.send("Input.dispatchDragEvent", { type, x: 700, y: 400, data });
}

async function round(url) {
  const browser = await launchChromium({ protocolTimeout: 120_000 });
  try {
    const page = await browser.newPage();
    const session = await page.createCDPSession();
    await session.send("Emulation.setHardwareConcurrencyOverride", { hardwareConcurrency: kThreads });
    await page.setViewport({ width: 1440, height: 900 });
    await page.goto(`${url}#text=${encodeURIComponent(kText)}`);
    await atRest();
    const engine = await page.$eval("#engine", ({ textContent }) => textContent);
    if (!engine.includes(`${kThreads} threads`)) throw new Error(`the page says "${engine}", expected ${kThreads} threads`);
    await page.evaluate(watch);

    await drop(session);
    const first = await allDrawn(page, kTokens - 1);
    const { began, loading } = await page.evaluate(() => globalThis.seen);
    const shares = new Set(loading.map(({ share }) => share)).size;
    if (shares < 10) throw new Error(`progress was seen in ${shares} steps, expected at least 10`);
    const loaded = loading.at(-1).at;
    const opening = await page.evaluate(() => globalThis.seen.take());

    await editText(page);
    await page.keyboard.press("End");
    await atRest();
    await page.evaluate(() => globalThis.seen.take());
    const before = renderer();
    await page.keyboard.type(kKey);
    const again = await allDrawn(page, kTokens) - await page.evaluate(() => globalThis.seen.began);
    const { pss, rss, most, worked } = renderer();
    const typing = await page.evaluate(() => globalThis.seen.take());
    const { bytes } = await page.evaluate(() => performance.measureUserAgentSpecificMemory());
    return {
      "the folder is dropped, until it is loaded (ms)": loaded - began,
      "from there to all heads of its first text drawn": first - loaded,
      "meanwhile, the longest time without a frame": opening.gap,
      "and the longest task": opening.longest,
      [`a key press to all ${kHeads} heads of ${kTokens} tokens drawn`]: again,
      "for which processors worked": worked - before.worked,
      "meanwhile, the longest time without a frame ": typing.gap,
      "and the longest task ": typing.longest,
      "memory that the browser counts as the tab's (MiB)": bytes / 2 ** 20,
      "the tab's process, resident (MiB)": rss,
      "of that, its proportional share": pss,
      "the most that was resident": most,
    };
  } finally {
    await browser.close();
  }
}

if (!existsSync(join(folder, "tokenizer.json"))) {
  console.error("writing a model of GPT-2's size (249 MB, which stays in build/bench/gpt2)");
  writeModel(folder, { config: kGpt2, tokenizer: paddedTokenizer(), named: gpt2Parameters(kGpt2), dtype: "F16" });
}
const server = await servePlayground();
const all = [];
try {
  for (let count = 0; count < rounds; ++count) all.push({ ...await round(server.url), "load of the machine": loadavg()[0] });
} finally {
  await server.close();
}
console.log(`Chromium, ${kThreads} threads, GPT-2's size in F16, ${rounds} rounds: medians (least to most)`);
for (const name of Object.keys(all[0])) {
  const values = all.map((one) => one[name]);
  const digits = name.startsWith("load") ? 1 : 0;
  const [middle, least, most] = [0.5, 0, 1].map((q) => quantile(values, q).toFixed(digits));
  console.log(`${name.trim().padEnd(56)} ${middle.padStart(6)} (${least} to ${most})`);
}
