// SPDX-License-Identifier: Apache-2.0
/** The page with files of every kind, for assistive technology, and on a phone. What a reader does is in reader/. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser, Page } from "puppeteer-core";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import type { AttentionMap } from "../../web/elements/index.js";
import type { State } from "../../web/state/state.js";
import { kModels } from "../cards.js";
import { axe, drawn, launchChromium, open, phone, root, seen, servePlayground, texts } from "./browser.js";
import type { Served, View } from "./browser.js";

let browser: Browser;
let server: Served;
let faults: string[] = [];

beforeAll(async () => {
  [browser, server] = await Promise.all([launchChromium(), servePlayground()]);
});

afterAll(async () => {
  await browser.close();
  await server.close();
});

afterEach(async () => {
  for (const page of await browser.pages()) if (page.url().startsWith(server.url)) await page.close();
  expect(faults.splice(0)).toEqual([]);
});

async function openPage(hash = "", view?: View): Promise<Page> {
  const opened = await open(browser, server.url + hash, view);
  faults = opened.faults;
  return opened.page;
}

const stateOf = (page: Page, name: keyof State): Promise<unknown> =>
  page.$eval("#map", (map, field) => (map as AttentionMap)[field], name);

const finding = async (page: Page): Promise<string> =>
  (await texts(page, "#sentence >>> .sentence-finding")).join().replaceAll(/[\u2068\u2069]/g, "");

/** Gives the page files, as the dialog for a folder does. */
async function give(page: Page, files: readonly (readonly [name: string, path: string])[]): Promise<void> {
  const read = files.map(([name, path]) => [name, readFileSync(path).toString("base64")] as const);
  await page.$eval("#files", (input, all) => {
    const data = new DataTransfer();
    const bytes = (base64: string): Uint8Array<ArrayBuffer> => Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
    for (const [name, base64] of all) data.items.add(new File([bytes(base64)], name));
    (input as HTMLInputElement).files = data.files;
    input.dispatchEvent(new Event("change"));
  }, read);
}

test("the folder of a model is read, and one that is not supported is refused by name", async () => {
  const page = await openPage();
  const names = ["config.json", "tokenizer.json", "model.safetensors"];
  const folder = names.map((name) => [name, join(kModels, "tiny", name)] as const);
  await give(page, folder);
  await expect.poll(() => stateOf(page, "model")).toBe("given:1");
  await drawn(page);
  expect(await page.$eval("#model", (select) => (select as HTMLSelectElement).selectedOptions[0]?.text)).toBe("1: your files");
  expect(await finding(page)).toMatch(/in head 0\.0/);
  await expect.poll(() => page.evaluate(() => location.hash)).toContain("needs=model");
  await give(page, [["config.json", join(root, "tests/golden/models/gpt2/config.json")]].map(([name = "", path = ""]) => [name, path]));
  await seen(page, "#map >>> [role=alert] ::-p-text(safetensors)");
  await give(page, [["song.mp3", join(root, "package.json")]]);
  expect((await texts(page, "#note"))[0]).toMatch(/^song\.mp3 is no model, picture, text or file of maps/);
});

test.each(["light", "dark"] as const)("every view of the page is clean for axe: %s", async (scheme) => {
  const page = await openPage("", { width: 1280, height: 900, scheme });
  for (const { textContent } of await page.$$eval("#map >>> .tabs button", (tabs) => tabs.map(({ textContent }) => ({ textContent })))) {
    await page.click(`#map >>> .tabs button ::-p-text(${textContent})`);
    await drawn(page);
    expect(await axe(page), `${textContent}`).toEqual([]);
  }
  await page.keyboard.press("?");
  await seen(page, "#keys[open]");
  expect(await axe(page)).toEqual([]);
  await page.keyboard.press("Escape");
  expect(await page.$("#keys[open]")).toBeNull();
});

test("nothing spills on a phone, in any view", async () => {
  const page = await openPage("", phone);
  await page.$eval("#map", (map) => map.scrollIntoView());
  await seen(page, "#map >>> .tabs");
  for (const name of await texts(page, "#map >>> .tabs button")) {
    await (await seen(page, `#map >>> .tabs button ::-p-text(${name})`)).click();
    await drawn(page);
    const spill = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    expect(spill, name).toBeLessThanOrEqual(0);
  }
});
