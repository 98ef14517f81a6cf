// SPDX-License-Identifier: Apache-2.0
/** Every golden model in Chromium, through the package as it is published: PyTorch's numbers. */
import type { AsyncEngine } from "headlens";
import type { Browser, JSHandle, Page } from "puppeteer-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { expectFamily, lookAt, shownOf } from "../wasm/families.js";
import { kModels } from "../wasm/golden-models.js";
import { launchChromium, servePackage, type Served } from "./browser.js";

let browser: Browser;
let server: Served;
let page: Page;
let engine: JSHandle<AsyncEngine>;

beforeAll(async () => {
  [browser, server] = await Promise.all([launchChromium(), servePackage("<!doctype html><title>families</title>")]);
  page = await browser.newPage();
  await page.goto(server.url);
  // As text, since the test runner would replace an import.
  engine = await page.evaluateHandle(`import("/dist/index.js").then(({ load }) => load({ worker: true }))`) as typeof engine;
});

afterAll(async () => {
  await browser.close();
  await server.close();
});

test.each(kModels)("%s does all that models can do in a browser", async (name) => {
  const found = await page.evaluate(lookAt, engine, shownOf(name, `${server.url}tests/golden/models/${name}`));
  expectFamily(name, found);
});

test("all families are here", () => {
  expect(kModels.length).toBeGreaterThanOrEqual(28);
});
