// SPDX-License-Identifier: Apache-2.0
/** Measures rows in a page of headless Chromium. The files of the page are served from here. */
import { fileURLToPath } from "node:url";
import { serve } from "../wasm/server.ts";
import { launchChromium } from "../web/browser.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** Isolates the page, which gives it the most precise clock. */
function isolate(path, response) {
  response.setHeader("cross-origin-opener-policy", "same-origin");
  response.setHeader("cross-origin-embedder-policy", "require-corp");
  if (path === "/favicon.ico") return Boolean(response.writeHead(204).end());
  if (path !== "/") return false;
  response.writeHead(200, { "content-type": "text/html" }).end("<!doctype html><title>headlens</title>");
  return true;
}

/** Returns { version, measure(row name, options), close() }. Each row gets its own page. */
export async function openChromium() {
  const server = await serve(root, isolate);
  const browser = await launchChromium({ protocolTimeout: 3_600_000 });
  return {
    version: await browser.version(),
    async measure(name, options) {
      const page = await browser.newPage();
      // Some failures of a peer are reported nowhere else.
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
