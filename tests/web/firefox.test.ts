// SPDX-License-Identifier: Apache-2.0
/** The same page in Firefox: it draws, reacts to the keyboard, and breaks no policy. */
import { load } from "headlens";
import type { Page } from "puppeteer-core";
import { expect, test } from "vitest";
import type { AttentionMap } from "../../web/elements/index.js";
import { desktop, firefoxPage, isDrawn, launchFirefox, servePackage, servePlayground, shownTokens } from "./browser.js";
import { expectLargeMap } from "./large-map.js";

/** The colours in the middle of each cell of the open head, in a page of this colour scheme. */
function cellColors(page: Page, scheme: string, size: number): Promise<number[][]> {
  return page.evaluate(
    async (wanted, count) => {
      const map = document.querySelector<AttentionMap>("#map");
      map?.setAttribute("theme", wanted);
      await map?.updateComplete;
      const canvas = map?.shadowRoot?.querySelector<HTMLCanvasElement>(".cells > canvas");
      const context = canvas?.getContext("2d");
      if (!canvas || !context) return [];
      const at = (index: number, length: number): number => Math.floor(((index + 0.5) / count) * length);
      return Array.from({ length: count * count }, (_, cell) => {
        const [x, y] = [at(cell % count, canvas.width), at(Math.floor(cell / count), canvas.height)];
        return [...context.getImageData(x, y, 1, 1).data];
      });
    },
    scheme,
    size,
  );
}

test("draws every head in the colours of its weights, and says a cell's value", async () => {
  const [browser, server, engine] = await Promise.all([launchFirefox(), servePlayground(), load()]);
  try {
    const open = async (): Promise<{ page: Page; faults: string[] }> => {
      const page = await browser.newPage();
      await page.setViewport(desktop);
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
    expect((await shownTokens(page)).length).toBe(attention.tokens.length);
    const canvases = await page.evaluate(() => {
      const found = document.querySelector("#grid")?.shadowRoot?.querySelectorAll("canvas") ?? [];
      return [...found].map((canvas) => {
        const { data } = canvas.getContext("2d")?.getImageData(0, 0, canvas.width, canvas.height) ?? { data: [] };
        return new Set(data).size;
      });
    });
    expect(canvases).toHaveLength(model.info.layers * model.info.heads);
    for (const colors of canvases) expect(colors).toBeGreaterThan(3);
    for (const scheme of ["light", "dark"] as const) {
      const shown = await cellColors(page, scheme, attention.tokens.length);
      expect(shown).toHaveLength(attention.tokens.length ** 2);
      const bar = engine.colorbar(256, { theme: scheme });
      const { data } = attention.map(1, 0);
      for (const [cell, color] of shown.entries()) {
        const isMasked = cell % attention.tokens.length > Math.floor(cell / attention.tokens.length);
        const step = Math.round(255 * Math.sqrt(data[cell] ?? NaN)) * 4;
        const expected = isMasked ? [0, 0, 0, 0] : [...bar.slice(step, step + 4)];
        const farthest = Math.max(...color.map((byte, index) => Math.abs(byte - (expected[index] ?? NaN))));
        expect(farthest, `${scheme}, cell ${cell}`).toBeLessThanOrEqual(6);
      }
    }
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
