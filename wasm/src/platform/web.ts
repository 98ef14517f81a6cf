// SPDX-License-Identifier: Apache-2.0
/** The package lies flat in one folder when it is built, and the addresses of the scripts here are relative to that folder. */
import { kOwnFiles } from "./own-files.js";
import { fetchData, type Platform } from "./platform.js";
import { linkTo, startScript } from "./web-worker.js";

/** Returns a platform whose workers run the script at `worker`, which is wasm/src/worker/worker.ts. */
export function webPlatformWith(worker: () => URL, tokenizers: Platform["tokenizers"]): Platform {
  return {
    tokenizers,
    baseUrl: () => globalThis.document?.baseURI ?? globalThis.location.href,
    ownFile: (name) => kOwnFiles[name](),
    fetch: async (url, signal) => url.protocol === "data:" ? fetchData(url) : fetch(url, signal ? { signal } : {}),
    startWorker: () => linkTo(startScript(worker(), "headlens")),

    openThread() {
      const thread = startScript(worker(), "headlens thread");
      const running = new Promise<void>((resolve, reject) => {
        thread.addEventListener("message", () => resolve(), { once: true });
        thread.addEventListener("error", reject, { once: true });
      });
      running.catch(() => undefined); // the failure is reported by run
      return {
        run(task) {
          thread.postMessage({ kind: "thread", task });
          return running;
        },
        terminate: () => thread.terminate(),
      };
    },
  };
}
