// SPDX-License-Identifier: Apache-2.0
/** Forced colours and reduced motion: axe finds nothing in any view, and nothing moves. */
import type { Page } from "puppeteer-core";
import { expect, test } from "vitest";
import { kViews } from "../../../web/views/computed.js";
import { axe } from "../browser.js";
import { kSentence, type Properties, shoot, Views } from "./harness.js";

const views = new Views();

/** The contrast of colours is left out: axe reads the author's, and the reader's own take their place. */
const findings = async (page: Page): Promise<string[]> => (await axe(page)).filter((finding) => !finding.startsWith("color-contrast"));

/** Emulates a reader's own colours, of which the browser makes a light or a dark set. */
async function force(page: Page, scheme: string): Promise<void> {
  const session = await page.createCDPSession();
  await session.send("Emulation.setEmulatedMedia", {
    features: [
      { name: "forced-colors", value: "active" },
      { name: "prefers-color-scheme", value: scheme },
      { name: "prefers-reduced-motion", value: "reduce" },
    ],
  });
  await page.evaluate(() => new Promise((next) => requestAnimationFrame(() => setTimeout(next, 200))));
}

const kOpen: Properties = { text: kSentence, layer: 3, head: 4, query: "6", key: "2", heads: "1.0 2.3", controls: "full" };
/** The views that show something else than the sentence. */
const kOther: Readonly<Record<string, Properties>> = {
  compare: { ...kOpen, compareText: "The king saw the queen and he laughed." },
  picture: { model: "tiny-vit", image: "/dist/models/tiny-vit/examples/00.png", layer: 1, head: 1, controls: "full" },
};

for (const scheme of ["dark", "light"])
  test(`all views in forced colours, ${scheme}`, async () => {
    for (const { name, needs } of kViews) {
      if (needs === "nothing") continue; // The worked example draws no maps, so it tells of no drawing to wait for.
      const page = await views.open([{ ...(kOther[name] ?? kOpen), view: name }]);
      await page.evaluate(() => (document.documentElement.style.colorScheme = "light dark"));
      await force(page, scheme);
      expect(await page.evaluate(() => matchMedia("(forced-colors: active)").matches)).toBe(true);
      expect(await findings(page), name).toEqual([]);
      const moving = await page.evaluate(() =>
        document.getAnimations().filter(({ playState }) => playState === "running").length);
      expect(moving, name).toBe(0);
      await shoot(page, `forced-${scheme}-${name}`);
      await page.close();
    }
  });
