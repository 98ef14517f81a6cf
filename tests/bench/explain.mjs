// SPDX-License-Identifier: Apache-2.0
/**
 * npm run bench -- explain [ROUNDS]: measures explanations, and runs again with a head silenced, of the built-in model and
 * of a model of GPT-2's size with random weights, in relaxed SIMD on one thread. Prints the least and the median of the
 * rounds.
 */
import { readFileSync } from "node:fs";
import { loadavg } from "node:os";
import { fileURLToPath } from "node:url";
import { load } from "../../dist/node.js";
import { modelSource } from "./workloads.mjs";

const root = fileURLToPath(new URL("../..", import.meta.url));
const rounds = Number(process.argv[2] ?? 12);
if (!(Number.isInteger(rounds) && rounds > 0)) {
  console.error(`ROUNDS is "${process.argv[2]}", expected a whole number from 1 on`);
  process.exit(2);
}
const { models } = JSON.parse(readFileSync(`${root}native/bench/workloads.json`, "utf8"));
const tokenizer = readFileSync(`${root}web/models/tiny/tokenizer.json`, "utf8");  // is not used: tokens are given as ids
const kModels = [["tiny", 128], ["gpt2", 256]];

/** A mask that silences one head of a layer. */
function without(layer, { layers, heads }) {
  const data = new Float32Array(layers * heads).fill(1);
  data[layer * heads + (heads >> 1)] = 0;
  return { data, shape: [layers, heads] };
}

/** The calls that are measured, by name: questions about the middle head of the last layer and the last query, and whole runs. */
function questions(model, seen, ids) {
  const { layers, heads } = model.info;
  const at = { layer: layers - 1, head: heads >> 1 }, query = ids.length - 1, key = 0;
  const again = (layer) => seen.again({ headMask: without(layer, model.info) }).dispose();
  return {
    "a cell: explain": () => seen.explain({ ...at, query, key }),
    "a cell against another": () => seen.explain({ ...at, query, key, against: 1 }),
    [`a row of ${ids.length} keys`]: () => seen.explain({ ...at, query }),
    "what a head copies: explainOutput": () => seen.explainOutput({ ...at, query }),
    "what a head is made of: sources": () => seen.sources(at),
    "ten logits: contributions": () => seen.contributions(),
    predictions: () => seen.predictions(),
    "what a head makes likelier: written": () => seen.written(at),
    "again, a head of the last layer silenced": () => again(layers - 1),
    "again, a head of the first layer silenced": () => again(0),
    "a whole run that keeps its parts": () => model.attend(ids, { keepParts: true }).dispose(),
  };
}

/** Milliseconds of each round, the least first. The first call, which allocates memory, does not count. */
function timesOf(ask) {
  ask();
  return Array.from({ length: rounds }, () => {
    const start = performance.now();
    ask();
    return performance.now() - start;
  }).sort((a, b) => a - b);
}

async function measure(engine, name, length) {
  const source = models[name].config ? modelSource({ model: { name, ...models[name] } }, tokenizer) : name;
  const model = await engine.loadModel(source);
  const ids = Array.from({ length }, (_, i) => (i * 7919) % model.info.vocabSize);
  const seen = model.attend(ids, { keepParts: true });
  console.log(`\n${name}, ${length} tokens: milliseconds`.padEnd(46) + "least".padStart(9) + "median".padStart(9));
  const least = [];
  for (const [question, ask] of Object.entries(questions(model, seen, ids))) {
    const times = timesOf(ask);
    least.push(times[0]);
    const columns = [times[0], times[rounds >> 1]].map((time) => time.toFixed(2).padStart(9));
    console.log(question.padEnd(45) + columns.join(""));
  }
  const [cell, , row] = least;
  console.log(`a row takes ${(row / cell).toFixed(1)} times as long as a cell`);
  seen.dispose();
  model.dispose();
}

if (loadavg()[0] > 0.5) console.error(`The machine is busy (load ${loadavg()[0].toFixed(1)}): these times are too long.`);
const engine = await load({ simd: "relaxed", threads: 1 });
console.log(`Node ${process.versions.node}, ${rounds} rounds`);
for (const [name, length] of kModels) await measure(engine, name, length);
