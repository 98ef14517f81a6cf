// SPDX-License-Identifier: Apache-2.0
/**
 * npm run bench -- pythia [ROUNDS]: opens a model of Pythia-70m's shape (random weights, F16) in Chromium on two threads,
 * and measures how soon all heads of 256 tokens are drawn once it is loaded and the engine has warmed up. Each round is
 * a fresh browser. Prints medians, and the range from least to most, in milliseconds.
 */
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { kIsolation, serve } from "../wasm/server.ts";
import { launchChromium } from "../web/browser.ts";
import { writeModel } from "./random-model.mjs";

const root = fileURLToPath(new URL("../..", import.meta.url));
const rounds = Number(process.argv[2] ?? 7);
const kTokens = 256, kThreads = 2;
const kLayers = 6, kHeads = 8, kWidth = 512, kInner = 2048, kVocabulary = 50304;
/** Each letter is a token of the tokenizer, which has few others. */
const kText = "is good ".repeat(kTokens / 8);

/** Names and shapes of the parameters. */
function parameters() {
  const linear = (name, out, width) => [[`${name}.weight`, [out, width]], [`${name}.bias`, [out]]];
  const norm = (name) => [[`${name}.weight`, [kWidth]], [`${name}.bias`, [kWidth]]];
  const layer = (at) => [
    ...norm(`${at}.input_layernorm`), ...norm(`${at}.post_attention_layernorm`),
    ...linear(`${at}.attention.query_key_value`, 3 * kWidth, kWidth), ...linear(`${at}.attention.dense`, kWidth, kWidth),
    ...linear(`${at}.mlp.dense_h_to_4h`, kInner, kWidth), ...linear(`${at}.mlp.dense_4h_to_h`, kWidth, kInner),
  ];
  const layers = Array.from({ length: kLayers }, (_, i) => layer(`gpt_neox.layers.${i}`)).flat();
  return [
    ["gpt_neox.embed_in.weight", [kVocabulary, kWidth]], ...layers, ...norm("gpt_neox.final_layer_norm"),
    ["embed_out.weight", [kVocabulary, kWidth]],
  ];
}

const kConfig = {
  model_type: "gpt_neox", hidden_size: kWidth, num_hidden_layers: kLayers, num_attention_heads: kHeads,
  intermediate_size: kInner, vocab_size: kVocabulary, max_position_embeddings: 2048, rotary_pct: 0.25,
  rotary_emb_base: 10000, use_parallel_residual: true, hidden_act: "gelu", layer_norm_eps: 1e-5, tie_word_embeddings: false,
};

const kPage = `<!doctype html><html lang="en"><meta charset="utf-8"><title>pythia</title>
<script type="module" src="/dist/element.js"></script><body></body></html>`;

/** In the page: the element loads the model for one letter, and the engine warms up. Then the whole text is set. */
async function drawAll({ model, text }) {
  const drawn = (element) => new Promise((resolve, reject) => {
    element.addEventListener("attention-draw", () => requestAnimationFrame(() => resolve()), { once: true });
    element.addEventListener("attention-error", ({ detail }) => reject(detail.error), { once: true });
  });
  const begin = performance.now();
  const element = Object.assign(document.createElement("attention-map"), { model, text: "i", view: "grid" });
  document.body.append(element);
  await drawn(element);
  const opened = performance.now();
  await new Promise((later) => setTimeout(later, 3000)); // it warms up
  const call = performance.now();
  element.text = text;
  await drawn(element);
  const all = performance.now() - call;
  const heads = element.shadowRoot.querySelectorAll(".thumb:not(.unknown)").length;
  return { opening: opened - begin, all, heads };
}

/** In the page: the same work without drawing. */
async function computeAll({ model: url, text, threads }) {
  const { load } = await import("/dist/index.js");
  const engine = await load({ worker: true, threads });
  const model = await engine.loadModel(url);
  await engine.warmUp();
  const times = [performance.now()];
  const seen = await model.attend(text);
  times.push(performance.now());
  for (let layer = 0; layer < model.info.layers; ++layer) await seen.overview(layer, { pool: [256, 256] });
  times.push(performance.now());
  const [attend, overviews] = [times[1] - times[0], times[2] - times[1]];
  return { tokens: seen.tokens.length, threads: engine.info.threads, attend, overviews };
}

/** A browser that says it has two cores, and a page that may share memory. */
async function inPage(url, work, options) {
  const browser = await launchChromium({ protocolTimeout: 120_000 });
  try {
    const page = await browser.newPage();
    const session = await page.createCDPSession();
    await session.send("Emulation.setHardwareConcurrencyOverride", { hardwareConcurrency: kThreads });
    await page.setViewport({ width: 1440, height: 900 });
    await page.goto(url);
    return await page.evaluate(work, { model: `${url}model`, text: kText, threads: kThreads, ...options });
  } finally {
    await browser.close();
  }
}

const folder = mkdtempSync(join(tmpdir(), "headlens-pythia-"));
const figures = {};
const add = (name, value) => (figures[name] ??= []).push(value);
try {
  console.error("writing a model of Pythia-70m's shape (141 MB, removed afterwards)");
  symlinkSync(join(root, "dist"), join(folder, "dist"));
  const tokenizer = readFileSync(join(root, "tests/golden/models/gpt_neox/tokenizer.json"));
  writeModel(join(folder, "model"), { config: kConfig, tokenizer, named: parameters(), dtype: "F16" });
  const answer = (path, response) => path === "/" && !!response.writeHead(200, { "content-type": "text/html" }).end(kPage);
  const server = await serve(folder, answer, kIsolation);
  for (let round = 0; round < rounds; ++round) {
    const { opening, all, heads } = await inPage(server.url, drawAll);
    if (heads !== kLayers * kHeads) throw new Error(`${heads} heads are drawn, expected ${kLayers * kHeads}`);
    const { tokens, threads, attend, overviews } = await inPage(server.url, computeAll);
    if (tokens !== kTokens || threads !== kThreads) throw new Error(`${tokens} tokens on ${threads} threads, expected ${kTokens} on ${kThreads}`);
    add("the element opens the model with one token", opening);
    add(`text to all ${heads} heads of ${tokens} tokens drawn`, all);
    add("of that, the run alone", attend);
    add("and its overviews", overviews);
  }
  await server.close();
} finally {
  rmSync(folder, { recursive: true });
}
console.log(`Chromium, ${kThreads} threads, F16, ${rounds} rounds; load ${loadavg()[0].toFixed(1)}`);
for (const [name, values] of Object.entries(figures)) {
  const sorted = values.toSorted((a, b) => a - b);
  console.log(`${name.padEnd(52)} ${sorted[sorted.length >> 1].toFixed(0).padStart(6)} (${sorted[0].toFixed(0)} to ${sorted.at(-1).toFixed(0)})`);
}
