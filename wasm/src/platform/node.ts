// SPDX-License-Identifier: Apache-2.0
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { Readable } from "node:stream";
import { pathToFileURL } from "node:url";
import { Worker } from "node:worker_threads";
import { kOwnFiles } from "./own-files.js";
import { fetchData, type Platform } from "./platform.js";

/** Answers with a file as a fetch does. The status is 404 where there is none. */
async function fetchFile(url: URL, signal?: AbortSignal): Promise<Response> {
  signal?.throwIfAborted();
  const stats = await stat(url).catch(() => undefined);
  if (!stats?.isFile()) return new Response(null, { status: 404, statusText: "no such file" });
  const stream = Readable.toWeb(createReadStream(url, { signal, highWaterMark: 1 << 20 }));
  const type = url.pathname.endsWith(".wasm") ? "application/wasm" : "application/octet-stream";
  const headers = { "content-length": String(stats.size), "content-type": type };
  return new Response(stream as ReadableStream<Uint8Array>, { headers });
}

export const nodePlatform: Platform = {
  baseUrl: () => pathToFileURL(`${process.cwd()}/`).href,
  ownFile: (name) => kOwnFiles[name](),
  tokenizers: () => import("../tokenizer/kinds.js"),

  async fetch(url, signal) {
    if (url.protocol === "file:") return fetchFile(url, signal);
    return url.protocol === "data:" ? fetchData(url) : fetch(url, signal ? { signal } : {});
  },

  startWorker() {
    // Flags of the process that concern its main script, such as --input-type, would stop the worker.
    const worker = new Worker(new URL("./worker-node.js", import.meta.url), { execArgv: [] });
    worker.unref();
    return {
      post: (message, transfer) => worker.postMessage(message, transfer),
      onMessage(listener) {
        worker.on("message", listener);
      },
      onFailure(listener) {
        worker.once("error", (error) => listener(error.message));
      },
      setBusy: (isBusy) => isBusy ? worker.ref() : worker.unref(),
      terminate: () => void worker.terminate(),
    };
  },

  openThread() {
    const worker = new Worker(new URL("./worker-node.js", import.meta.url), { execArgv: [] });
    const running = new Promise<void>((resolve, reject) => {
      worker.once("error", reject);
      worker.once("message", () => {
        worker.unref();
        resolve();
      });
    });
    running.catch(() => undefined); // the failure is reported by run
    return {
      run(task) {
        worker.postMessage({ kind: "thread", task });
        return running;
      },
      terminate: () => void worker.terminate(),
    };
  },
};
