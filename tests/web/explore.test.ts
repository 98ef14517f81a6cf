// SPDX-License-Identifier: Apache-2.0
/** The page with files of every kind, for assistive technology, and on a phone. What a reader does is in reader/. */
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, Page } from "puppeteer-core";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import type { AttentionMap } from "../../web/elements/index.js";
import { usualOf } from "../../web/playground/usual.js";
import type { State } from "../../web/state/state.js";
import { axe, drawn, editText, launchShell, open, phone, root, seen, servePlayground, setText, texts } from "./browser.js";
import type { Served, View } from "./browser.js";
import { withHeader } from "./files.js";

let browser: Browser;
let server: Served;
let faults: string[] = [];

beforeAll(async () => {
  made = mkdtempSync(join(tmpdir(), "headlens-explore-"));
  [browser, server] = await Promise.all([launchShell(), servePlayground()]);
});

afterAll(async () => {
  await browser.close();
  await server.close();
  rmSync(made, { recursive: true });
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

const golden = (name: string): string => join(root, "tests/golden/models", name);
const kFiles = ["config.json", "tokenizer.json", "model.safetensors"];

let made: string;

/** Makes a folder of a golden model with other settings, without some of its files. */
function folderOf(name: string, from: string, settings: object = {}, without: readonly string[] = []): string {
  const folder = join(made, name);
  mkdirSync(folder);
  for (const file of kFiles.filter((one) => !without.includes(one))) cpSync(join(from, file), join(folder, file));
  const config = JSON.parse(readFileSync(join(from, "config.json"), "utf8")) as object;
  if (!without.includes("config.json")) writeFileSync(join(folder, "config.json"), JSON.stringify({ ...config, ...settings }));
  return folder;
}

/** A model of GPT-2's size, all of whose weights are 0 and take no room on a disk that can leave out zeros. */
function largeFolder(): string {
  const settings = { n_embd: 768, n_layer: 12, n_head: 12, n_positions: 1024, vocab_size: 50257 };
  const folder = folderOf("large", golden("gpt2"), settings, ["model.safetensors"]);
  const [d, inner, out] = [768, 3072, 2304];
  const shapes: [string, number[]][] = [["wte.weight", [50257, d]], ["wpe.weight", [1024, d]], ["ln_f.weight", [d]], ["ln_f.bias", [d]]];
  for (let i = 0; i < 12; i++) {
    const linear = (name: string, from: number, to: number): void =>
      void shapes.push([`h.${i}.${name}.weight`, [from, to]], [`h.${i}.${name}.bias`, [to]]);
    for (const name of ["ln_1", "ln_2"]) shapes.push([`h.${i}.${name}.weight`, [d]], [`h.${i}.${name}.bias`, [d]]);
    linear("attn.c_attn", d, out);
    linear("attn.c_proj", d, d);
    linear("mlp.c_fc", d, inner);
    linear("mlp.c_proj", inner, d);
  }
  let end = 0;
  const size = (shape: readonly number[]): number => 2 * shape.reduce((product, n) => product * n, 1);
  const header = withHeader(JSON.stringify(Object.fromEntries(shapes.map(([name, shape]) =>
    [name, { dtype: "F16", shape, data_offsets: [end, (end += size(shape))] }]))));
  writeFileSync(join(folder, "model.safetensors"), header);
  truncateSync(join(folder, "model.safetensors"), header.length + end);
  return folder;
}

/** Drops files or folders on the page, as the system does. */
async function drop(page: Page, ...files: readonly string[]): Promise<void> {
  const session = await page.createCDPSession();
  const data = { items: [], files: [...files], dragOperationsMask: 1 };
  for (const type of ["dragEnter", "dragOver", "drop"] as const)
    await session.send("Input.dispatchDragEvent", { type, x: 300, y: 300, data });
  await session.detach();
}

const said = async (page: Page): Promise<string> => (await texts(page, "#note")).join();
const chosen = (page: Page): Promise<string | undefined> =>
  page.$eval("#model", (select) => (select as HTMLSelectElement).selectedOptions[0]?.text);

test("a folder is dropped or chosen, and can be chosen again", async () => {
  const page = await openPage();
  const folder = folderOf("mine", join(root, "web/models/tiny"));
  mkdirSync(join(folder, "other"));
  writeFileSync(join(folder, "other/config.json"), "a folder in the folder is left alone");
  await drop(page, folder);
  await has(page, "model", "given:mine");
  expect(await chosen(page)).toBe("mine: your files");
  expect(await finding(page)).toMatch(/in head 0\.0/);
  await expect.poll(() => page.evaluate(() => location.hash)).toContain("needs=model");
  for (const name of ["given:mine 2", "given:mine 3"]) {
    const [dialog] = await Promise.all([page.waitForFileChooser(), page.select("#model", "files")]);
    await dialog.accept([folder]);
    await has(page, "model", name);
  }
  await drop(page, join(root, "package.json"), join(root, "README.md"));
  expect(await chosen(page)).toBe("mine 3: your files");
});

test("a file that the page does not know is named, and the page stays on what it shows", async () => {
  const page = await openPage();
  await drop(page, join(root, "README.md"));
  await expect.poll(() => said(page)).toMatch(/^README\.md is no model, picture, text or file of maps/);
  await drop(page, join(root, "package.json"));
  await expect.poll(() => said(page)).toMatch(/^package\.json is an object with .*, expected weights, maps/);
  expect([await stateOf(page, "src"), await chosen(page)]).toEqual(["", "tiny: continues English"]);
});

test("a file of maps takes the place of the model, with what can be seen of it, until a model or a text follows", async () => {
  const page = await openPage();
  const [maps, text] = [join(made, "maps.json"), join(made, "text.txt")];
  writeFileSync(maps, JSON.stringify({ tokens: ["one", "two"], weights: [[[1, 0], [0.25, 0.75]]] }));
  writeFileSync(text, "The king slept.");
  const seen = (): Promise<(boolean | undefined)[]> => page.evaluate(() =>
    ["#next", "#whole-model"].map((id) => document.querySelector(id)?.checkVisibility()));
  await drop(page, maps);
  await expect.poll(() => chosen(page)).toBe("given maps");
  await expect.poll(() => finding(page)).toMatch(/^‘one’ looks at itself: 100 % in head 0\.0/);
  expect(await seen()).toEqual([false, false]);
  const alerts = await page.$$eval(">>> [role=alert]", (all) => all.filter((alert) => alert.checkVisibility()).length);
  expect(alerts, "no figure fails").toBe(0);
  expect(await page.$("#sentence >>> .sentence-edit"), "given maps have no text to change").toBeNull();
  await drop(page, text);
  await expect.poll(() => chosen(page)).toBe("tiny: continues English");
  await expect.poll(() => texts(page, "#sentence >>> .sentence-token")).toContain("king");
  expect(await seen()).toEqual([true, true]);
});

type Refusal = readonly [what: string, from: string, settings: object, without: string[], message: RegExp];

const kRefused: readonly Refusal[] = [
  ["an activation", "gpt2", { activation_function: "mish" }, [], /activation_function.*"mish"/],
  ["a type of model", "gpt2", { model_type: "xlnet" }, [], /model_type.*"xlnet"/],
  ["a setting", "gpt2", { add_cross_attention: true }, [], /add_cross_attention.*true/],
  ["a type of rotation", "llama", { rope_scaling: { rope_type: "spiral", factor: 2 } }, [], /rope_type.*"spiral"/],
  ["a shape", "gpt2", { vocab_size: 999 }, [], /wte\.weight has shape \(263, 24\), expected \(999, 24\)/],
  ["no weights", "gpt2", {}, ["model.safetensors"], /expected model\.safetensors as well/],
  ["no tokenizer", "gpt2", {}, ["tokenizer.json"], /tokenizer\.json/],
];

test("a folder that is not supported is refused by the name of its setting, and the page stays on its model", async () => {
  const page = await openPage();
  for (const [what, from, settings, without, message] of kRefused) {
    await drop(page, folderOf(what, golden(from), settings, without));
    await expect.poll(() => said(page), { message: what, timeout: 20_000 }).toMatch(message);
    expect([await stateOf(page, "model"), await chosen(page)], what).toEqual(["tiny", "tiny: continues English"]);
  }
  expect(await page.$(">>> [role=alert]"), "no figure fails").toBeNull();
  await setText(page, "The king saw the queen and he laughed.");
  expect(await finding(page)).toContain("king");
});

test("a large model shows how far it is, is stopped by a click, and the text can be edited meanwhile", async () => {
  const page = await openPage();
  await drop(page, largeFolder());
  await (await seen(page, "#stop-loading")).click();
  expect(await page.$eval("#loading", (bar) => (bar as HTMLElement).hidden)).toBe(true);
  await drop(page, join(made, "large"));
  await seen(page, "#loading");
  expect((await texts(page, "#loading-what"))[0]).toBe("Loading large 2 …");
  await setText(page, "The king saw the queen and he laughed.");
  expect(await finding(page)).toContain("king");
  await page.waitForFunction(() => document.querySelector("#loading-amount")?.textContent?.includes("of 248.9 MB"));
  await expect.poll(() => stateOf(page, "model"), { timeout: 60_000 }).toBe("given:large 2");
  await drawn(page);
  expect(await page.$eval("#loading", (bar) => (bar as HTMLElement).hidden)).toBe(true);
});

test("heads are named only after all maps of a long text are drawn", async () => {
  const page = await openPage();
  await page.evaluate(() => {
    const { value: post } = Object.getOwnPropertyDescriptor(Worker.prototype, "postMessage") as { value: (...args: unknown[]) => void };
    const asked: string[] = [];
    Object.assign(globalThis, { asked });
    document.querySelector("#grid")?.addEventListener("attention-draw", () => asked.push("all maps are drawn"));
    // Each layer's maps take a while, as those of a large model do.
    Worker.prototype.postMessage = function (this: Worker, message: { method?: string }, ...more: []): void {
      asked.push(message.method ?? "");
      setTimeout(() => post.call(this, message, ...more), message.method === "overview" ? 150 : 0);
    };
  });
  await setText(page, "the cat sat on the mat. ".repeat(30));
  const asked = (): Promise<string[]> => page.evaluate(() => (globalThis as unknown as { asked: string[] }).asked);
  await expect.poll(asked, { timeout: 20_000 }).toContain("rankHeads");
  const order = await asked();
  expect(order.indexOf("all maps are drawn")).toBeGreaterThan(order.indexOf("overview"));
  expect(order.indexOf("rankHeads")).toBeGreaterThan(order.indexOf("all maps are drawn"));
});

test("every view of the page is clean for axe", async () => {
  const page = await openPage("", { width: 1280, height: 900, scheme: "dark" });
  expect(await axe(page)).toEqual([]);
  for (const { textContent } of await page.$$eval("#map >>> .tabs button", (tabs) => tabs.map(({ textContent }) => ({ textContent })))) {
    await page.click(`#map >>> .tabs button ::-p-text(${textContent})`);
    await drawn(page);
    expect(await axe(page, { within: "#map" }), `${textContent}`).toEqual([]);
  }
  await page.keyboard.press("?");
  await seen(page, "#keys[open]");
  expect(await axe(page, { within: "#keys" })).toEqual([]);
  await page.keyboard.press("Escape");
  expect(await page.$("#keys[open]")).toBeNull();
});

test("a text that begins as the last one did goes on from its run", async () => {
  const page = await openPage();
  await page.evaluate(`
    window.asked = [];
    const post = Worker.prototype.postMessage;
    Worker.prototype.postMessage = function (message, ...rest) {
      if (message.method === "attend") asked.push(message.id);
      post.call(this, message, ...rest);
    };
  `);
  for (const text of ["The king", "The king saw", "The king saw the queen"]) await setText(page, text);
  // The object that is asked is the last run that is there, where the model would always be the same.
  expect(await page.evaluate("new Set(asked).size")).toBeGreaterThanOrEqual(3);
  const named = async (of: Page): Promise<string> => {
    await seen(of, "#sentence >>> .sentence-finding i"); // the head's name follows the maps
    return finding(of);
  };
  const typed = await named(page);
  const fresh = await openPage("#text=The+king+saw+the+queen&query=&key=");
  expect(await named(fresh)).toBe(typed);
});

/** In the page: comes near the tab of a view of the open head, and returns once nothing more is asked of the engine. */
async function near(name: string): Promise<void> {
  const tabs = [...(document.querySelector("#map")?.shadowRoot?.querySelectorAll<HTMLElement>("[part=tab]") ?? [])];
  const counts = globalThis as unknown as { asked: number; tab: HTMLElement | undefined };
  counts.tab = tabs.find((tab) => tab.textContent?.toLowerCase() === name);
  counts.tab?.dispatchEvent(new PointerEvent("pointerenter"));
  let before;
  do {
    before = counts.asked;
    await new Promise((rest) => setTimeout(rest, 250));
  } while (counts.asked !== before);
}

/** Counts what the page asks of the engine, as `asked`. */
const countAsked = (page: Page): Promise<void> => page.evaluate(() => {
  const counts = Object.assign(globalThis, { asked: 0 });
  for (const { prototype } of [Worker, MessagePort]) {
    prototype.postMessage = new Proxy(prototype.postMessage, {
      apply(post, to, args) {
        counts.asked++;
        Reflect.apply(post, to, args);
      },
    });
  }
});

test("what a view of a head draws is fetched once, when the pointer comes to its tab", async () => {
  const page = await openPage();
  await countAsked(page);
  let last = 0;
  const count = (): Promise<number> => page.evaluate(() => (globalThis as unknown as { asked: number }).asked);
  for (const view of ["numbers", "why", "effect", "strips", "compare"]) {
    await page.evaluate(near, view);
    const before = await count();
    await page.evaluate(near, view);
    expect(await count() - before, `${view}, once more`).toBe(0);
    const asked = await page.evaluate(async (name) => {
      const counts = globalThis as unknown as { asked: number; tab: HTMLElement };
      const root = document.querySelector("#map")?.shadowRoot;
      const before = counts.asked;
      counts.tab.click();
      while (!root?.querySelector(`[part~=${name}]`)) await new Promise(requestAnimationFrame);
      return [before, counts.asked - before];
    }, view);
    expect(asked[0], view).toBeGreaterThan(last);
    expect(asked[1], view).toBe(0);
    await drawn(page);
    last = await count();
  }
});

test("what was fetched for a head is not shown for another that was chosen before its tab", async () => {
  const text = "The queen saw the king and she laughed.";
  const cellsOf = (page: Page): Promise<string[]> => texts(page, "#map >>> .strips .tokens-number");
  const expected = await openPage(`#text=${encodeURIComponent(text)}&layer=1&head=3&view=strips`);
  const cells = await cellsOf(expected);
  const page = await openPage(`#text=${encodeURIComponent(text)}&layer=0&head=2`);
  await countAsked(page);
  await page.evaluate(near, "strips");
  await page.$eval("#map", (map) => Object.assign(map, { layer: 1, head: 3 }));
  await page.evaluate(() => (globalThis as unknown as { tab: HTMLElement }).tab.click());
  await has(page, "view", "strips");
  await expect.poll(() => cellsOf(page)).toEqual(cells);
  expect(cells.length).toBeGreaterThan(10);
});

test("typing adds no steps to go back through, and what was chosen before it is one", async () => {
  const page = await openPage();
  await page.click("#grid >>> .thumb[data-layer='2'][data-head='1']");
  await page.waitForFunction(() => location.hash.includes("layer=2"));
  const steps = await page.evaluate(() => history.length);
  await editText(page);
  await page.keyboard.press("End");
  for (const letter of " Then") {
    await page.keyboard.type(letter);
    await drawn(page);
  }
  await page.waitForFunction(() => location.hash.includes("Then"));
  expect(await page.evaluate(() => history.length)).toBe(steps);
  await page.goBack();
  await has(page, "layer", 3);
  expect(await stateOf(page, "text")).toBe("The queen saw the king and she laughed.");
});

test("on a phone the menus share one line, and nothing spills in any view", async () => {
  const page = await openPage("", phone);
  const tops = await page.$$eval(".menus select, .menus summary, .menus > button", (all) => all.map((one) => one.getBoundingClientRect().top));
  expect(tops).toEqual(Array.from({ length: 4 }, () => tops[0]));
  await page.click(".menu summary");
  const list = await seen(page, "#examples li:last-child");
  expect((await list.boundingBox())?.x, "the examples begin within the window").toBeGreaterThan(0);
  await page.click(".menu summary");
  await page.$eval("#map", (map) => map.scrollIntoView());
  await seen(page, "#map >>> .tabs");
  for (const name of await texts(page, "#map >>> .tabs button")) {
    await (await seen(page, `#map >>> .tabs button ::-p-text(${name})`)).click();
    await drawn(page);
    const spill = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    expect(spill, name).toBeLessThanOrEqual(0);
  }
});

test("on a phone, a swipe goes to the next head, and one down scrolls", async () => {
  const page = await openPage("", { ...phone, touch: true });
  const head = await stateOf(page, "head");
  const swipe = async (right: number, down: number): Promise<void> => {
    const title = await seen(page, "#map >>> .title");
    await title.scrollIntoView();
    const { x, y } = await title.clickablePoint();
    const touch = await page.touchscreen.touchStart(x, y);
    await touch.move(x + right, y + down);
    await new Promise((resolve) => setTimeout(resolve, 100)); // as long as a finger takes
    await touch.end();
    await drawn(page);
  };
  // The first swipe is over before its code comes.
  await page.emulateNetworkConditions({ download: 1e6, upload: 1e6, latency: 500 });
  await swipe(-100, 5);
  await has(page, "head", Number(head) + 1);
  await swipe(100, 5);
  await has(page, "head", head);
  await swipe(-100, 80);
  expect(await stateOf(page, "head")).toBe(head);
});

test("an address that names only a model opens its first example", async () => {
  for (const model of ["tiny-bert", "tiny-translator", "tiny-vit"]) {
    const page = await openPage(`#model=${model}`);
    await seen(page, "#grid >>> .thumb:not(.unknown)");
    for (const id of ["sentence", "next", "grid", "map"])
      expect(await texts(page, `#${id} >>> [role=alert]`), `${model}, ${id}`).toEqual([]);
    const usual = usualOf(model);
    for (const name of ["text", "textPair", "source", "view", "attention", "layer", "head", "query", "key"] as const)
      expect(await stateOf(page, name), `${model}, ${name}`).toBe(usual?.[name]);
  }
});

test("an address that names a text of a model that reads two has no second text", async () => {
  const page = await openPage("#model=tiny-bert&text=The+lamp+is+on+the+%5BMASK%5D.");
  expect([await stateOf(page, "text"), await stateOf(page, "textPair")]).toEqual(["The lamp is on the [MASK].", ""]);
  await setText(page, usualOf("tiny-bert")?.text ?? "");
  await page.waitForFunction(() => location.hash.includes("Lucy"));
});
