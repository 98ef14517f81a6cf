// SPDX-License-Identifier: Apache-2.0
/** Pages with elements of the published bundle, for the tests of views, and the engine in Node to compare them with. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { load } from "headlens";
import type { Engine, Model } from "headlens";
import type { Browser, Page } from "puppeteer-core";
import { afterAll, afterEach, beforeAll, expect } from "vitest";
import type { AttentionMap } from "../../../web/elements/index.js";
import type { State } from "../../../web/state/state.js";
import { desktop, launchShell, open, root, servePackage } from "../browser.js";
import type { Opened, Served, View } from "../browser.js";

const kPage = `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>View</title>
<script type="module" src="/dist/element.js"></script></head><body><main><h1>View</h1></main></body></html>`;

/** The sentence of the page. In `tiny`, head 3.4 looks from "and" (row 6) at "queen" (column 2). */
export const kSentence = "The queen saw the king and she laughed.";

/** An element's attributes and properties. */
export type Properties = Partial<State> & { group?: string; controls?: string; [name: string]: unknown };

/**
 * Opens pages for one file of tests. After each test, nothing may have gone wrong in a page. A test fills the page of
 * an earlier one with its elements, since a new page loads the engine and the model again. Tests that hold when these
 * are loaded, or that listen to the page itself, are alone in theirs.
 */
export class Views {
  engine!: Engine;
  tiny!: Model;
  #browser!: Browser;
  #server!: Served;
  #faults: string[] = [];
  /** The first page, and whether the test that runs has filled it. */
  #first: Opened | undefined;
  #isFilled = false;

  constructor(areAlone = false) {
    beforeAll(async () => {
      [this.#browser, this.#server, this.engine] = await Promise.all([launchShell(), servePackage(kPage), load()]);
      this.tiny = await this.engine.loadModel("tiny");
    });
    afterAll(async () => {
      await this.#browser.close();
      await this.#server.close();
      this.engine.dispose();
    });
    afterEach(async ({ task }) => {
      if (areAlone || task.result?.state === "fail" || this.#first?.page.isClosed()) this.#first = undefined;
      this.#isFilled = false;
      for (const page of await this.#browser.pages())
        if (page !== this.#first?.page && page.url().startsWith(this.#server.url)) await page.close();
      expect(this.#faults.splice(0)).toEqual([]);
    });
  }

  /** A page with these elements, whose ids are "map", "map1", "map2" and so on. It waits until all have drawn. */
  async open(elements: readonly Properties[], view: View = desktop): Promise<Page> {
    const { page, faults } = await this.#page(view);
    this.#faults = faults;
    await page.evaluate(async (all) => {
      await customElements.whenDefined("attention-map");
      const drawn = all.map((properties, index) => new Promise<void>((resolve, reject) => {
        const element = Object.assign(document.createElement("attention-map"), properties);
        element.id = index === 0 ? "map" : `map${index}`;
        element.addEventListener("attention-draw", () => resolve());
        element.addEventListener("attention-error", ({ detail: { error } }) => reject(error));
        document.querySelector("main")?.append(element);
      }));
      await Promise.all(drawn);
    }, elements);
    return page;
  }

  /** The weights [65, 65] of a head of tiny-vit on a picture, whose pixels are those that the page decodes. */
  async ofPicture(page: Page, address: string, layer: number, head: number): Promise<Float32Array> {
    const pixels = await page.evaluate(async (of) => {
      const bitmap = await createImageBitmap(await (await fetch(of)).blob());
      const context = new OffscreenCanvas(bitmap.width, bitmap.height).getContext("2d");
      context?.drawImage(bitmap, 0, 0);
      return [...(context?.getImageData(0, 0, bitmap.width, bitmap.height).data ?? [])];
    }, address);
    const side = Math.sqrt(pixels.length / 4);
    const model = await this.engine.loadModel("tiny-vit");
    return model.attend({ width: side, height: side, data: Uint8ClampedArray.from(pixels) }).map(layer, head).data;
  }

  /** The first page without its elements, or a new one if the test has it already or needs another screen. */
  async #page(view: View): Promise<Opened> {
    const isFirst = view === desktop && !this.#isFilled;
    if (isFirst) this.#isFilled = true;
    if (!isFirst || !this.#first) {
      const opened = await open(this.#browser, this.#server.url, view, false);
      if (isFirst) this.#first = opened;
      return opened;
    }
    const { page } = this.#first;
    await page.bringToFront();
    await page.mouse.move(0, 0);
    await page.evaluate(() => {
      for (const element of document.querySelectorAll("attention-map")) element.remove();
      scrollTo(0, 0);
    });
    return this.#first;
  }
}

/** Changes properties of the element with this id, and waits until it has drawn them. */
export async function change(page: Page, properties: Properties, id = "map"): Promise<void> {
  await page.$eval(`#${id}`, async (element, given) => {
    const drawn = new Promise<void>((resolve, reject) => {
      element.addEventListener("attention-draw", () => resolve(), { once: true });
      const failed = (event: Event): void => reject((event as CustomEvent<{ error: Error }>).detail.error);
      element.addEventListener("attention-error", failed, { once: true });
    });
    Object.assign(element, given);
    await drawn;
  }, properties);
}

/** The state of the element with this id. */
export const stateOf = (page: Page, name: keyof State, id = "map"): Promise<unknown> =>
  page.$eval(`#${id}`, (element, field) => (element as AttentionMap)[field], name);

/** Saves a picture of the page, or of what its window shows, in build/screenshots, to be looked at, and returns it. */
export async function shoot(page: Page, name: string, fullPage = true): Promise<Uint8Array> {
  const folder = join(root, "build/screenshots");
  mkdirSync(folder, { recursive: true });
  return page.screenshot({ path: join(folder, `${name}.png`), fullPage });
}

/** Numbers of another build of the engine are the same but for rounding. */
export function closeTo(numbers: readonly number[], expected: readonly number[], tolerance: number): void {
  expect(numbers).toHaveLength(expected.length);
  numbers.forEach((number, index) => expect(Math.abs(number - (expected[index] ?? NaN)), `number ${index}`).toBeLessThan(tolerance));
}
