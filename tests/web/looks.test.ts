// SPDX-License-Identifier: Apache-2.0
/** The looks of the page: axe's findings, and pictures in build/screenshots to look at. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Browser, Page } from "puppeteer-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { axe, desktop, launchShell, open, phone, root, seen, servePlayground, setText } from "./browser.js";
import type { Served } from "./browser.js";

const kFolder = join(root, "build/screenshots");
const kViews = { desktop, phone };
const kLong =
  "When the old man came home in the evening, the house was cold and the lamp was out, so he lit the fire, put the kettle on, " +
  "and sat down beside the cat, who had waited for him since the morning and was not pleased that he had come so late again today.";

let browser: Browser;
let server: Served;

beforeAll(async () => {
  mkdirSync(kFolder, { recursive: true });
  [browser, server] = await Promise.all([launchShell(), servePlayground()]);
});

afterAll(async () => {
  await browser.close();
  await server.close();
});

const shoot = (page: Page, name: string): Promise<unknown> => page.screenshot({ path: join(kFolder, `${name}.png`) });

/** Scrolls an element to the middle of the screen and moves the pointer to a point in it. */
async function point(page: Page, selector: string, across: number, down: number): Promise<void> {
  const element = await seen(page, selector);
  await element?.evaluate((target) => target.scrollIntoView({ block: "center" }));
  const box = await element?.boundingBox();
  if (box) await page.mouse.move(box.x + across * box.width, box.y + down * box.height);
}

test.each([["desktop", "light"], ["phone", "dark"]] as const)("%s, %s: axe finds nothing in any view", async (view, scheme) => {
  const { page, faults } = await open(browser, `${server.url}#layer=1&head=2`, { ...kViews[view], scheme });
  const name = (part: string): string => `${view}-${scheme}-${part}`;
  await seen(page, "#grid >>> .thumb[aria-label*='strongest link']");
  await shoot(page, name("grid"));
  await point(page, "#map >>> .cells", 0.4, 0.85);
  await shoot(page, name("map"));
  expect(await axe(page)).toEqual([]);
  await page.$eval("#steps", (steps) => steps.scrollIntoView());
  await seen(page, "#steps >>> table");
  await page.click("#steps >>> .check input");
  await seen(page, "#steps >>> .step-name ::-p-text(Masked)");
  await point(page, "#steps >>> .step:nth-of-type(3) .result td:nth-of-type(2)", 0.5, 0.5);
  await shoot(page, name("steps"));
  expect(await axe(page)).toEqual([]);
  await page.evaluate(() => scrollTo(0, 0));
  await setText(page, kLong);
  await shoot(page, name("long"));
  await point(page, "#map >>> .cells", 0.3, 0.6);
  await shoot(page, name("long-map"));
  await page.focus("#map >>> .plot");
  for (const key of ["+", "+", "+"] as const) await page.keyboard.press(key);
  await seen(page, "#map >>> .minimap");
  await shoot(page, name("zoomed"));
  expect(await axe(page)).toEqual([]);
  expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0);
  expect(faults).toEqual([]);
  await page.close();
});

test("errors and loading are accessible too", async () => {
  const { page } = await open(browser, `${server.url}#layer=99`, desktop, false);
  await seen(page, "#map >>> [role=alert]");
  await shoot(page, "desktop-light-error");
  expect(await axe(page)).toEqual([]);
  await page.close();
});

test("forced colours and reduced motion change nothing that is needed", async () => {
  const { page } = await open(browser, server.url, desktop);
  const session = await page.createCDPSession();
  await session.send("Emulation.setEmulatedMedia", {
    features: [
      { name: "forced-colors", value: "active" },
      { name: "prefers-reduced-motion", value: "reduce" },
      { name: "prefers-contrast", value: "more" },
    ],
  });
  await point(page, "#map >>> .cells", 0.4, 0.85);
  await shoot(page, "desktop-contrast-map");
  expect(await page.$eval("#map >>> .cells canvas", (canvas) => getComputedStyle(canvas).forcedColorAdjust)).toBe(
    "none",
  );
  expect(await axe(page)).toEqual([]);
  await page.close();
});
