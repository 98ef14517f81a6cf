// SPDX-License-Identifier: Apache-2.0
/** Forced colours and reduced motion: all text of all views can be read, and nothing moves. */
import type { CDPSession, Page } from "puppeteer-core";
import { expect, test } from "vitest";
import { kViews } from "../../../web/views/computed.js";
import { faintLines } from "./contrast.js";
import { change, kSentence, type Properties, shoot, stateOf, Views } from "./harness.js";

const views = new Views();

/**
 * WCAG 2.2, success criterion 1.4.3. It is measured on the pixels, since axe reads the author's colours, and the reader's own
 * take their place. Nothing else that axe looks at changes with colours.
 */
const kLeastContrast = 4.5;

/** Emulates a reader's own colours, of which the browser makes a light or a dark set, and waits until they are drawn. */
async function force(page: Page, session: CDPSession, scheme: string): Promise<void> {
  await session.send("Emulation.setEmulatedMedia", {
    features: [
      { name: "forced-colors", value: "active" },
      { name: "prefers-color-scheme", value: scheme },
      { name: "prefers-reduced-motion", value: "reduce" },
    ],
  });
  await page.evaluate(async () => {
    await new Promise((next) => requestAnimationFrame(() => requestAnimationFrame(next)));
    await document.querySelector("attention-map")?.updateComplete;
  });
}

const kOpen: Properties = { text: kSentence, layer: 3, head: 4, query: "6", key: "2", heads: "1.0 2.3", controls: "full" };
/** The views that show something else than the sentence. */
const kOther: Readonly<Record<string, Properties>> = {
  compare: { ...kOpen, compareText: "The king saw the queen and he laughed." },
  picture: { model: "tiny-vit", image: "/dist/models/tiny-vit/examples/00.png", layer: 1, head: 1, controls: "full" },
};

async function expectForced(page: Page, session: CDPSession, view: string, scheme: "dark" | "light"): Promise<void> {
  await force(page, session, scheme);
  const isForced = await page.evaluate((name) =>
    matchMedia("(forced-colors: active)").matches && matchMedia(`(prefers-color-scheme: ${name})`).matches, scheme);
  expect(isForced).toBe(true);
  const picture = (): Promise<Uint8Array> => shoot(page, `forced-${scheme}-${view}`, false);
  const { lines, faint } = await faintLines(page, picture, kLeastContrast);
  expect(lines, `${view}, ${scheme}`).toBeGreaterThan(8);
  expect(faint, `${view}, ${scheme}`).toEqual([]);
  const moving = await page.evaluate(() =>
    document.getAnimations().filter(({ playState }) => playState === "running").length);
  expect(moving, `${view}, ${scheme}`).toBe(0);
}

test("all views in forced colours, dark and light", async () => {
  // The views of the sentence take turns in one element, whose model is loaded once.
  const open = async (properties: Properties): Promise<[Page, CDPSession]> => {
    const page = await views.open([properties]);
    await page.setViewport({ width: 1280, height: 1200, deviceScaleFactor: 2 });
    await page.evaluate(() => (document.documentElement.style.colorScheme = "light dark"));
    return [page, await page.createCDPSession()];
  };
  const shared = await open(kOpen);
  for (const { name, needs } of kViews) {
    if (needs === "nothing") continue; // The worked example draws no maps, so it tells of no drawing to wait for.
    const own = kOther[name];
    const [page, session] = own ? await open({ ...own, view: name }) : shared;
    await page.bringToFront();
    if (!own && name !== await stateOf(page, "view")) await change(page, { view: name });
    for (const scheme of ["dark", "light"] as const) await expectForced(page, session, name, scheme);
    if (own) await page.close();
  }
});
