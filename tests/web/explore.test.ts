// SPDX-License-Identifier: Apache-2.0
/** A reader's way through the page: models, examples, views, changes of the model, files that are dropped, and back. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser, Page } from "puppeteer-core";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import type { AttentionMap } from "../../web/elements/index.js";
import { kExamples } from "../../web/playground/examples.js";
import type { State } from "../../web/state/state.js";
import { bestHead, kModels } from "../cards.js";
import { axe, drawn, launchChromium, open, phone, root, seen, servePlayground, shownTokens, texts } from "./browser.js";
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

/** Waits until a part of the page's state has this value, and is drawn. */
async function has(page: Page, name: keyof State, value: unknown): Promise<void> {
  await expect.poll(() => stateOf(page, name)).toBe(value);
  await drawn(page);
}

const finding = async (page: Page): Promise<string> =>
  (await texts(page, "#sentence >>> .sentence-finding")).join().replaceAll(/[\u2068\u2069]/g, "");

test("the page says at once what its head finds, by the name that the card gives it", async () => {
  const page = await openPage();
  expect(await finding(page)).toMatch(/^‘and’ looks at ‘queen’: 9\d(\.\d)? % in head 3\.4/);
  await expect.poll(() => finding(page)).toContain("antecedent of a pronoun");
  const [first = ""] = await texts(page, "#next >>> li");
  expect(first).toMatch(/she/);
  const heads = kExamples.filter(({ state: { model } }) => model === "tiny").map(({ state: { layer, head } }) => [layer, head]);
  const probes = ["antecedent of a pronoun", "subject of a verb", "induction", "previous token", "opening quotation mark"];
  expect(heads, "the examples open the heads that the card measures").toEqual(probes.map(bestHead));
});

test("each example opens on a link that is plain to see", async () => {
  const page = await openPage();
  for (const { title, state } of kExamples.filter((example) => example.state.image === "")) {
    await page.click("header summary ::-p-text(Examples)");
    await page.click(`#examples button ::-p-text(${title})`);
    await has(page, "model", state.model);
    await has(page, "text", state.text);
    const tokens = await shownTokens(page);
    expect(tokens.length, title).toBeGreaterThan(5);
    expect(await finding(page), title).toMatch(/ looks at ‘.+’: (over )?[\d.]+ %/);
  }
});

test("another model, and back with the browser's button", async () => {
  const page = await openPage();
  await page.select("#model", "tiny-bert");
  await has(page, "model", "tiny-bert");
  expect(await finding(page)).toMatch(/^‘eggs’ looks at ‘eggs’: 9\d/);
  await expect.poll(() => page.evaluate(() => location.hash)).toContain("model=tiny-bert");
  await page.goBack();
  await has(page, "model", "tiny");
  expect(await finding(page)).toMatch(/^‘and’ looks at ‘queen’/);
  await page.goForward();
  await has(page, "model", "tiny-bert");
});

test("a head is silenced in its effect: maps and predictions answer, and it can be taken back", async () => {
  const page = await openPage();
  const before = await texts(page, "#next >>> li");
  await page.click("#map >>> .tabs button ::-p-text(Effect)");
  await has(page, "view", "effect");
  await (await seen(page, "#map >>> button ::-p-text(Silence this head)")).click();
  await has(page, "ablate", "3.4");
  await seen(page, "#map >>> .chip ::-p-text(head 3.4 silenced)");
  await expect.poll(() => texts(page, "#next >>> li")).not.toEqual(before);
  await page.goBack();
  await has(page, "ablate", "");
  await expect.poll(() => texts(page, "#next >>> li")).toEqual(before);
});

test("a link opens exactly what was shared", async () => {
  const page = await openPage();
  await page.click("#sentence >>> .sentence-token[data-index='8']");
  await has(page, "query", "8");
  await page.click("#map >>> .tabs button ::-p-text(Why)");
  await has(page, "view", "why");
  await expect.poll(() => page.evaluate(() => location.hash)).toContain("view=why");
  const again = await openPage(await page.evaluate(() => location.hash));
  expect(await Promise.all((["query", "key", "view", "layer"] as const).map((name) => stateOf(again, name)))).toEqual(["8", "", "why", 3]);
  const foreign = await openPage("#model=given:mine&needs=model");
  expect(await texts(foreign, "#note")).toEqual(["This address could not hold the model. Please give it once more."]);
  faults = faults.filter((fault) => !fault.includes("given:mine"));
});

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

test("the whole model's views come when they are wanted", async () => {
  const page = await openPage();
  for (const [view, part] of [["finder", "table"], ["composition", "svg"], ["flow", "canvas"], ["decode", "canvas"]] as const) {
    await page.click(`#whole-views button[value='${view}']`);
    await seen(page, `#whole attention-map >>> ${part}`);
  }
  await page.click("#whole-views button[value='finder']");
  await seen(page, "#whole attention-map >>> ::-p-text(32 heads on 1 text)");
  await page.click("#whole attention-map >>> tbody tr:first-child");
  await has(page, "head", 5);
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
