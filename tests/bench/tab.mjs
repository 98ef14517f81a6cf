// SPDX-License-Identifier: Apache-2.0
/**
 * npm run bench -- tab [TOKENS]: computes all maps of a model of GPT-2's size, with random weights, one after the other
 * in a tab of Chromium. Prints the time of each step, and the peak memory of the tab's process.
 */
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { serve } from "../wasm/server.ts";
import { launchChromium } from "../web/browser.ts";
import { gpt2Parameters, kGpt2, writeModel } from "./random-model.mjs";

const root = fileURLToPath(new URL("../..", import.meta.url));
const tokens = Number(process.argv[2] ?? 4096);
const kConfig = { ...kGpt2, n_positions: tokens };

/** The peak memory in MiB (VmHWM) of all processes that draw pages. */
function peakOfRenderers() {
  const peaks = readdirSync("/proc").filter((id) => /^\d+$/.test(id)).map((id) => {
    try {
      if (!readFileSync(`/proc/${id}/cmdline`, "utf8").includes("--type=renderer")) return 0;
      return Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${id}/status`, "utf8"))?.[1] ?? 0) / 1024;
    } catch {
      return 0;  // the process has ended
    }
  });
  return Math.max(...peaks);
}

/** Runs in the page. */
async function run({ count, layers, heads, vocabulary }) {
  const { load } = await import("/dist/index.js");
  const engine = await load();
  const times = [performance.now()];
  const model = await engine.loadModel(new URL("/model/", location.href));
  times.push(performance.now());
  const seen = model.attend(Array.from({ length: count }, (_, i) => (i * 7919) % vocabulary));
  times.push(performance.now());
  for (let layer = 0; layer < layers; ++layer)
    for (let head = 0; head < heads; ++head) seen.map(layer, head, { pool: [256, 256] });
  times.push(performance.now());
  const row = seen.map(layers - 1, heads - 1, { rows: [count - 1, count] });
  return {
    seconds: times.slice(1).map((time, i) => (time - times[i]) / 1000),
    heap: engine.heapBytes() / 2 ** 20,
    sumOfLastRow: row.data.reduce((a, b) => a + b, 0),
  };
}

const folder = mkdtempSync(join(tmpdir(), "headlens-tab-"));
try {
  console.error("writing a model of GPT-2's size (500 MB, removed afterwards)");
  cpSync(join(root, "dist"), join(folder, "dist"), { recursive: true });
  writeFileSync(join(folder, "index.html"), "<!doctype html><title>headlens</title>");
  const tokenizer = readFileSync(join(root, "web/models/tiny/tokenizer.json")); // not used: tokens are given as ids
  writeModel(join(folder, "model"), { config: kConfig, tokenizer, named: gpt2Parameters(kConfig), dtype: "F32" });
  const server = await serve(folder);
  const browser = await launchChromium({ protocolTimeout: 3_600_000 });
  try {
    const page = await browser.newPage();
    await page.goto(server.url);
    const { n_layer: layers, n_head: heads, vocab_size: vocabulary } = kConfig;
    const { seconds: [loading, attending, maps], heap, sumOfLastRow } = await page.evaluate(run, {
      count: tokens, layers, heads, vocabulary,
    });
    console.log(`${tokens} tokens, ${layers} layers, ${heads} heads, F32 weights`);
    console.log(`loading ${loading.toFixed(1)} s, attending ${attending.toFixed(1)} s, ${layers * heads} maps pooled to 256 × 256 ${maps.toFixed(1)} s`);
    console.log(`wasm heap ${heap.toFixed(0)} MiB, the tab's process at most ${peakOfRenderers().toFixed(0)} MiB; a row's weights sum to ${sumOfLastRow.toFixed(6)}`);
  } finally {
    await browser.close();
    await server.close();
  }
} finally {
  rmSync(folder, { recursive: true });
}
