// SPDX-License-Identifier: Apache-2.0
/** The host for contestants in Node; page-host.mjs is that for pages. */
import { readFile } from "node:fs/promises";
import { load } from "../../dist/node.js";
import { makeHost } from "./host.mjs";

const peers = {
  async "onnxruntime-web"(threads) {
    const ort = await import("onnxruntime-web");
    ort.env.wasm.numThreads = threads;
    return ort;
  },
  "onnxruntime-node": () => import("onnxruntime-node"),
  async "tfjs-wasm"() {
    const { default: tf } = await import("@tensorflow/tfjs-core");
    await import("@tensorflow/tfjs-backend-wasm");
    tf.env().set("WASM_HAS_MULTITHREAD_SUPPORT", false);
    await tf.setBackend("wasm");
    return tf;
  },
};

export const nodeHost = (threads = 1) => makeHost({
  load, threads,
  peer: (name) => peers[name](threads),
  tokenizer: () => readFile(new URL("../../web/models/tiny/tokenizer.json", import.meta.url), "utf8"),
});
