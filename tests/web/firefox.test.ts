// SPDX-License-Identifier: Apache-2.0
/** The same page in Firefox: it draws, reacts to the keyboard, and breaks no policy. */
import { load } from "headlens";
import type { Page } from "puppeteer-core";
import { expect, test } from "vitest";
import { firefoxPage, isDrawn, launchFirefox, servePlayground } from "./browser.js";

test("draws every head and says a cell's value", async () => {
  const [browser, server, engine] = await Promise.all([launchFirefox(), servePlayground(), load()]);
  try {
    const open = async (): Promise<{ page: Page; faults: string[] }> => {
      const page = await browser.newPage();
      const faults: string[] = [];
      page.on("pageerror", (error) => faults.push(String(error)));
      page.on("console", (message) => {
        if (message.type() === "error") faults.push(message.text());
      });
      await page.goto(`${server.url}#text=Anna+saw+Ben.&layer=1&head=0`);
      return { page, faults };
    };
    const { page, faults } = await firefoxPage(open, isDrawn);
    const model = await engine.loadModel("tiny");
    const attention = model.attend("Anna saw Ben.");
    expect(await page.$$eval("#tokens li", (items) => items.length)).toBe(attention.tokens.length);
    const canvases = await page.evaluate(() => {
      const found = document.querySelector("#grid")?.shadowRoot?.querySelectorAll("canvas") ?? [];
      return [...found].map((canvas) => {
        const { data } = canvas.getContext("2d")?.getImageData(0, 0, canvas.width, canvas.height) ?? { data: [] };
        return new Set(data).size;
      });
    });
    expect(canvases).toHaveLength(model.info.layers * model.info.heads);
    for (const colors of canvases) expect(colors).toBeGreaterThan(3);
    await page.evaluate(() => document.querySelector("#map")?.shadowRoot?.querySelector<HTMLElement>(".plot")?.focus());
    await page.keyboard.press("ArrowDown");
    const readout = await page.evaluate(
      () => document.querySelector("#map")?.shadowRoot?.querySelector(".readout")?.textContent ?? "",
    );
    expect(readout).toContain((attention.map(1, 0).data[attention.tokens.length] ?? NaN).toFixed(4));
    expect(faults).toEqual([]);
  } finally {
    await browser.close();
    await server.close();
    engine.dispose();
  }
});
