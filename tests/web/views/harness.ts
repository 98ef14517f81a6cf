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
import { desktop, launchChromium, open, root, servePackage } from "../browser.js";
import type { Served, View } from "../browser.js";

const kPage = `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>View</title>
<script type="module" src="/dist/element.js"></script></head><body><main><h1>View</h1></main></body></html>`;

/** The sentence of the page. In `tiny`, head 3.4 looks from "and" (row 6) at "queen" (column 2). */
export const kSentence = "The queen saw the king and she laughed.";

/** An element's attributes and properties. */
export type Properties = Partial<State> & { group?: string; controls?: string; [name: string]: unknown };

/** Opens pages for one file of tests. After each test, nothing may have gone wrong in a page. */
export class Views {
  engine!: Engine;
  tiny!: Model;
  #browser!: Browser;
  #server!: Served;
  #faults: string[] = [];

  constructor() {
    beforeAll(async () => {
      [this.#browser, this.#server, this.engine] = await Promise.all([launchChromium(), servePackage(kPage), load()]);
      this.tiny = await this.engine.loadModel("tiny");
    });
    afterAll(async () => {
      await this.#browser.close();
      await this.#server.close();
      this.engine.dispose();
    });
    afterEach(async () => {
      for (const page of await this.#browser.pages()) if (page.url().startsWith(this.#server.url)) await page.close();
      expect(this.#faults.splice(0)).toEqual([]);
    });
  }

  /** A page with these elements, whose ids are "map", "map1", "map2" and so on. It waits until all have drawn. */
  async open(elements: readonly Properties[], view: View = desktop): Promise<Page> {
    const { page, faults } = await open(this.#browser, this.#server.url, view, false);
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

/** Saves a picture of the page in build/screenshots, to be looked at. */
export async function shoot(page: Page, name: string): Promise<void> {
  const folder = join(root, "build/screenshots");
  mkdirSync(folder, { recursive: true });
  await page.screenshot({ path: join(folder, `${name}.png`), fullPage: true });
}

/** Numbers of another build of the engine are the same but for rounding. */
export function closeTo(numbers: readonly number[], expected: readonly number[], tolerance: number): void {
  expect(numbers).toHaveLength(expected.length);
  numbers.forEach((number, index) => expect(Math.abs(number - (expected[index] ?? NaN)), `number ${index}`).toBeLessThan(tolerance));
}
