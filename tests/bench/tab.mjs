// SPDX-License-Identifier: Apache-2.0
/**
 * npm run bench -- tab [TOKENS]: computes all maps of a model of GPT-2's size, with random weights, one after the other
 * in a tab of Chromium. Prints the time of each step, and the peak memory of the tab's process.
 */
import { Buffer } from "node:buffer";
import {
  closeSync, cpSync, mkdirSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync, writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { serve } from "../wasm/server.ts";
import { launchChromium } from "../web/browser.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const tokens = Number(process.argv[2] ?? 4096);
const kLayers = 12, kHeads = 12, kWidth = 768, kVocabulary = 50257;

/** Names and shapes of GPT-2's parameters. */
function parameters() {
  const norm = (name) => [[`${name}.weight`, [kWidth]], [`${name}.bias`, [kWidth]]];
  const linear = (name, from, to) => [[`${name}.weight`, [from, to]], [`${name}.bias`, [to]]];
  const block = (prefix) => [
    ...norm(`${prefix}.ln_1`), ...linear(`${prefix}.attn.c_attn`, kWidth, 3 * kWidth), ...linear(`${prefix}.attn.c_proj`, kWidth, kWidth),
    ...norm(`${prefix}.ln_2`), ...linear(`${prefix}.mlp.c_fc`, kWidth, 4 * kWidth), ...linear(`${prefix}.mlp.c_proj`, 4 * kWidth, kWidth),
  ];
  const blocks = Array.from({ length: kLayers }, (_, i) => block(`h.${i}`)).flat();
  return [["wte.weight", [kVocabulary, kWidth]], ["wpe.weight", [tokens, kWidth]], ...blocks, ...norm("ln_f")];
}

const sizeOf = (shape) => shape.reduce((product, n) => product * n, 1);

/** Small numbers that are the same in every run. The scales of norms are 1. */
function* numbers(named) {
  let state = 1;
  for (const [name, shape] of named) {
    const isScale = /ln_.*weight/.test(name);
    yield Float32Array.from({ length: sizeOf(shape) }, () => {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      return isScale ? 1 : (state / 2 ** 32 - 0.5) * 0.07;
    });
  }
}

function writeModel(folder) {
  cpSync(join(root, "web/models/tiny/tokenizer.json"), join(folder, "tokenizer.json"));  // not used: tokens are given as ids
  writeFileSync(join(folder, "config.json"), JSON.stringify({
    model_type: "gpt2", n_embd: kWidth, n_layer: kLayers, n_head: kHeads, n_positions: tokens, vocab_size: kVocabulary,
    activation_function: "gelu_new", layer_norm_epsilon: 1e-5,
  }));
  const named = parameters();
  let end = 0;
  const header = JSON.stringify(Object.fromEntries(named.map(([name, shape]) =>
    [name, { dtype: "F32", shape, data_offsets: [end, end += 4 * sizeOf(shape)] }])));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(Buffer.byteLength(header)));
  const file = openSync(join(folder, "model.safetensors"), "w");
  for (const part of [length, Buffer.from(header)]) writeSync(file, part);
  for (const values of numbers(named)) writeSync(file, new Uint8Array(values.buffer));
  closeSync(file);
}

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

/* global location -- of the page */
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
  mkdirSync(join(folder, "model"));
  writeModel(join(folder, "model"));
  const server = await serve(folder);
  const browser = await launchChromium({ protocolTimeout: 3_600_000 });
  try {
    const page = await browser.newPage();
    await page.goto(server.url);
    const { seconds: [loading, attending, maps], heap, sumOfLastRow } = await page.evaluate(run, {
      count: tokens, layers: kLayers, heads: kHeads, vocabulary: kVocabulary,
    });
    console.log(`${tokens} tokens, ${kLayers} layers, ${kHeads} heads, F32 weights`);
    console.log(`loading ${loading.toFixed(1)} s, attending ${attending.toFixed(1)} s, ${kLayers * kHeads} maps pooled to 256 × 256 ${maps.toFixed(1)} s`);
    console.log(`wasm heap ${heap.toFixed(0)} MiB, the tab's process at most ${peakOfRenderers().toFixed(0)} MiB; a row's weights sum to ${sumOfLastRow.toFixed(6)}`);
  } finally {
    await browser.close();
    await server.close();
  }
} finally {
  rmSync(folder, { recursive: true });
}
