// SPDX-License-Identifier: Apache-2.0
/** The same rows in a page of Chromium without a window; what it needs is served from here. */
import { fileURLToPath } from "node:url";
import { serve } from "../wasm/server.ts";
import { launchChromium } from "../web/browser.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** Isolated, for the finest clock there is. */
function isolate(path, response) {
  response.setHeader("cross-origin-opener-policy", "same-origin");
  response.setHeader("cross-origin-embedder-policy", "require-corp");
  if (path === "/favicon.ico") return Boolean(response.writeHead(204).end());
  if (path !== "/") return false;
  response.writeHead(200, { "content-type": "text/html" }).end("<!doctype html><title>headlens</title>");
  return true;
}

/** { version, measure(row name, options), close() }. Each row has a page of its own. */
export async function openChromium() {
  const server = await serve(root, isolate);
  const browser = await launchChromium({ protocolTimeout: 3_600_000 });
  return {
    version: await browser.version(),
    async measure(name, options) {
      const page = await browser.newPage();
      // A peer that fails in a way of its own tells nobody else.
      page.on("pageerror", (error) => console.error(`${name} in chromium: ${String(error)}`));
      page.on("console", (message) => {
        if (message.type() === "error") console.error(`${name} in chromium: ${message.text()}`);
      });
      try {
        await page.goto(server.url);
        return await page.evaluate(async (...given) => {
          const { measureRow } = await import("/tests/bench/page-host.mjs");
          return measureRow(...given);
        }, name, options);
      } finally {
        await page.close();
      }
    },
    async close() {
      await browser.close();
      await server.close();
    },
  };
}
