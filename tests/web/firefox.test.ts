// SPDX-License-Identifier: Apache-2.0
/** A large map in Firefox. What a reader does in it is in reader/firefox.test.ts. */
import { test } from "vitest";
import { launchFirefox, servePackage } from "./browser.js";
import { expectLargeMap } from "./large-map.js";

test("a large map's pixels and values are those of its numbers", async () => {
  const html = '<!doctype html><html lang="en"><meta charset="utf-8"><title>Large</title>'
    + '<script type="module" src="/dist/arrays.js"></script><attention-map view="map" scale="fixed"></attention-map></html>';
  const [browser, server] = await Promise.all([launchFirefox(), servePackage(html)]);
  try {
    const page = await browser.newPage();
    await page.setViewport({ width: 1000, height: 900 });
    await page.goto(server.url);
    await page.evaluate(() => customElements.whenDefined("attention-map").then(() => undefined));
    await expectLargeMap(page, 6);
  } finally {
    await browser.close();
    await server.close();
  }
});
