// SPDX-License-Identifier: Apache-2.0
/** The host for contestants in a page; node-host.mjs is that for Node. */
import { load } from "../../dist/index.js";
import { ours } from "./contestants.mjs";
import { makeHost } from "./host.mjs";
import { compare } from "./measure.mjs";
import { everyRow } from "./workloads.mjs";

const kModules = "/tests/bench/node_modules";

/** Loads a script that is not a module and leaves its exports in the page's globals. */
const script = (src) => new Promise((resolve, reject) => {
  const element = document.createElement("script");
  element.src = src;
  element.onload = resolve;
  element.onerror = () => reject(new Error(`cannot load ${src}`));
  document.head.append(element);
});

const peers = {
  async "onnxruntime-web"(threads) {
    const ort = await import(`${kModules}/onnxruntime-web/dist/ort.wasm.min.mjs`);
    ort.env.wasm.numThreads = threads;
    return ort;
  },
  async "tfjs-wasm"() {
    if (!globalThis.tf) {
      await script(`${kModules}/@tensorflow/tfjs-core/dist/tf-core.min.js`);
      await script(`${kModules}/@tensorflow/tfjs-backend-wasm/dist/tf-backend-wasm.min.js`);
    }
    const { tf } = globalThis;
    tf.wasm.setWasmPaths(`${kModules}/@tensorflow/tfjs-backend-wasm/dist/`);
    tf.env().set("WASM_HAS_MULTITHREAD_SUPPORT", false);  // its other build: that one starts workers, whatever is asked for
    await tf.setBackend("wasm");
    return tf;
  },
};

const hostOf = (threads) => makeHost({
  load, threads,
  peer: (name) => peers[name](threads),
  tokenizer: async () => (await fetch("/web/models/tiny/tokenizer.json")).text(),
});

/** Measures one row, given by its name, in this page, as measure.mjs's `compare` does. */
export function measureRow(name, { simd, threads, peers: names, ...effort }) {
  const host = hostOf(threads);
  const row = everyRow.find((candidate) => candidate.name === name);
  return compare(row, simd.map((kind) => (job) => ours(kind, job, host)), names, effort, host);
}
