// SPDX-License-Identifier: Apache-2.0
/** The package lies flat in one folder when it is built, and the addresses of the scripts here are relative to that folder. */
import { fetchData, type Platform } from "./platform.js";

export const webPlatform: Platform = {
  baseUrl: () => globalThis.document?.baseURI ?? globalThis.location.href,

  fetch: async (url, signal) => url.protocol === "data:" ? fetchData(url) : fetch(url, signal ? { signal } : {}),

  startWorker() {
    const worker = new Worker(new URL("./worker.js", import.meta.url), { type: "module", name: "headlens" });
    return {
      post: (message, transfer) => worker.postMessage(message, transfer),
      onMessage(listener) {
        worker.addEventListener("message", ({ data }) => listener(data));
      },
      onFailure(listener) {
        worker.addEventListener("error", (event) => listener(event.message || "the script could not be loaded"), { once: true });
      },
      setBusy: () => undefined,
      terminate: () => worker.terminate(),
    };
  },

  startThread(task) {
    const worker = new Worker(new URL("./thread.js", import.meta.url), { type: "module", name: "headlens thread" });
    return new Promise((resolve, reject) => {
      worker.addEventListener("message", () => resolve(worker), { once: true });
      worker.addEventListener("error", reject, { once: true });
      worker.postMessage(task);
    });
  },
};
