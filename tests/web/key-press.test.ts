// SPDX-License-Identifier: Apache-2.0
/**
 * Counts what a key press makes the page ask for, which does not depend on the machine. Times are measured by
 * tests/bench/explore.mjs.
 */
import type { Browser } from "puppeteer-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { editText, launchShell, open, servePlayground, setText } from "./browser.js";
import type { Served } from "./browser.js";

const kText =
  "The old man and the sea were quiet when night came down over the small town where no one had seen a ship for years and the " +
  "children told each other stories about the day the last one left with all the men on board and never came home again to us";

let browser: Browser;
let server: Served;

beforeAll(async () => {
  [browser, server] = await Promise.all([launchShell(), servePlayground()]);
});

afterAll(async () => {
  await browser.close();
  await server.close();
});

/**
 * A record of a page from a key press until its figures have drawn: the overviews that it asked for, the places of
 * elements that it asked for before it sent the text to the engine, how often it gave a canvas the size that it had, and
 * how often each figure was rendered.
 */
interface Seen {
  overviews: string[];
  placesBefore: number;
  sizes: number;
  renders: Record<string, number>;
}

/** In a page: records what the next input makes it do, and resolves once that is drawn. */
function record(): Promise<Seen> {
  const seen: Seen = { overviews: [], placesBefore: 0, sizes: 0, renders: {} };
  type Figure = HTMLElement & { render: () => unknown; ready: () => Promise<void> };
  const figures = ["sentence", "next", "grid", "map"].map((id) => document.getElementById(id) as Figure);
  return new Promise((done) => {
    let isSent = false;
    const { postMessage } = Worker.prototype as { postMessage: (...message: unknown[]) => void };
    Worker.prototype.postMessage = function (this: Worker, ...all: unknown[]): void {
      const { method, id, args } = all[0] as { method?: string; id?: number; args?: unknown };
      if (method === "overview") seen.overviews.push(JSON.stringify([id, args]));
      if (method === "attend" && !isSent) {
        isSent = true;
        void Promise.all(figures.map((figure) => figure.ready())).then(() => done(structuredClone(seen)));
      }
      postMessage.apply(this, all);
    };
    const { getBoundingClientRect } = Element.prototype as { getBoundingClientRect: (this: Element) => DOMRect };
    Element.prototype.getBoundingClientRect = function (this: Element): DOMRect {
      if (!isSent) seen.placesBefore++;
      return getBoundingClientRect.call(this);
    };
    for (const side of ["width", "height"] as const) {
      const property = Object.getOwnPropertyDescriptor(HTMLCanvasElement.prototype, side);
      Object.defineProperty(HTMLCanvasElement.prototype, side, {
        ...property,
        set(this: HTMLCanvasElement, value: number) {
          if (value === this[side]) seen.sizes++;
          property?.set?.call(this, value);
        },
      });
    }
    for (const figure of figures) {
      const render = figure.render.bind(figure);
      figure.render = (): unknown => {
        seen.renders[figure.id] = (seen.renders[figure.id] ?? 0) + 1;
        return render();
      };
    }
    // The page may still be at work on the text before, which does not count.
    const begin = (): unknown => Object.assign(seen, { overviews: [], placesBefore: 0, sizes: 0, renders: {} });
    document.addEventListener("input", begin, { capture: true, once: true });
  });
}

test("a key press asks the engine first, for each overview once, and draws each figure once", async () => {
  const { page, faults } = await open(browser, server.url);
  await setText(page, `${kText} ${kText}`); // more tokens than a small map has pixels
  await editText(page);
  await page.keyboard.press("End");
  await page.evaluate(`void (globalThis.seen = (${record.toString()})())`);
  await page.keyboard.type("s");
  const { overviews, placesBefore, sizes, renders } =
    await page.evaluate(() => (globalThis as unknown as { seen: Promise<Seen> }).seen);
  expect(placesBefore).toBe(0);
  expect(overviews.length).toBeGreaterThan(4);
  expect(new Set(overviews).size).toBe(overviews.length);
  expect(sizes).toBe(0);
  expect(renders).toEqual({ sentence: 1, next: 1, grid: 1, map: 1 });
  expect(faults).toEqual([]);
  await page.close();
});
