// SPDX-License-Identifier: Apache-2.0
/** The element as scripts of authors use it: its methods, its events, its slots, and what locks and fixes it. */
import type { Page } from "puppeteer-core";
import { expect, test } from "vitest";
import { closeTo, kSentence, Views } from "./views/harness.js";
import { seen, texts } from "./browser.js";

const views = new Views(true);
const kHead = { text: kSentence, layer: 3, head: 4 };

/** Logs these events of the page's body, to which they bubble, with their details. */
const listen = (page: Page, ...names: string[]): Promise<void> => page.evaluate((all) => {
  const log: string[] = [];
  (window as unknown as { log: string[] }).log = log;
  for (const name of all)
    document.body.addEventListener(name, (event) =>
      log.push(`${name} ${event.composed} ${JSON.stringify((event as CustomEvent<unknown>).detail)}`));
}, names);

const log = (page: Page): Promise<string[]> => page.evaluate(() => (window as unknown as { log: string[] }).log);

test("getMap gives a head's numbers as copies, whatever the picture leaves out", async () => {
  const page = await views.open([{ ...kHead, view: "map", threshold: 0.5, hide: "sink" }]);
  const { data, shape, tokens, isOwn } = await page.$eval("attention-map", async (element) => {
    const [one, other] = [await element.getMap(3, 4), await element.getMap(3, 4)];
    one.tokens[0] = "";
    return { data: [...other.data], shape: other.shape, tokens: other.tokens, isOwn: one.data !== other.data };
  });
  const expected = views.tiny.attend(kSentence);
  expect([shape, tokens, isOwn]).toEqual([[10, 10], [...expected.tokens], true]);
  closeTo(data, [...expected.map(3, 4).data], 1e-5);
  const refused = page.$eval("attention-map", (element) => element.getMap(9, 0));
  await expect(refused).rejects.toThrow("layer: 9 is not one of 0 to 3");
});

test("rank sorts all heads by a metric of the engine", async () => {
  const page = await views.open([{ ...kHead, view: "grid" }]);
  const ranked = await page.$eval("attention-map", (element) => element.rank("previous"));
  const heads = await views.tiny.rankHeads([kSentence], { metrics: ["previous"] });
  const expected = heads.map(({ scores }) => scores.previous.mean ?? NaN).sort((a, b) => b - a);
  closeTo(ranked.map(({ value }) => value ?? NaN), expected, 1e-5);
  const first = heads.find(({ layer, head }) => layer === ranked[0]?.layer && head === ranked[0].head);
  closeTo([first?.scores.previous.mean ?? NaN], [expected[0] ?? NaN], 1e-6);
});

test("pin, zoomTo and step move what is shown, and name what they cannot do", async () => {
  const page = await views.open([{ ...kHead, view: "map" }]);
  await listen(page, "pin-change", "state-change");
  const pins = await page.$eval("attention-map", async (element) => {
    await element.pin([5, 6], 2);
    const pinned = [element.query, element.key];
    await element.pin();
    return [...pinned, element.query, element.key];
  });
  expect(pins).toEqual(["5 6", "2", "", ""]);
  expect(await log(page), "scripts know what they did").toEqual([]);
  await expect(page.$eval("attention-map", (element) => element.pin(99))).rejects.toThrow("pin: query is 99, expected a token from 0 to 9");
  await page.$eval("attention-map", async (element) => {
    element.text = `${element.text} `.repeat(6).trim(); // a short text is shown as large as it can be
    await element.zoomTo({ rows: [20, 25], cols: [10, 15] });
  });
  expect((await texts(page, "#map >>> .rows .label"))[0]).toBe(await labelOf(page, 20));
  await expect(page.$eval("attention-map", (element) => element.zoomTo({ rows: [2, 99], cols: [1, 4] })))
    .rejects.toThrow("zoomTo: rows are 2 to 99");
  await expect(page.$eval("attention-map", (element) => element.step())).rejects.toThrow('step: the view "map" has no steps');
});

/** A token of the text as a label shows it. */
async function labelOf(page: Page, row: number): Promise<string> {
  const map = await page.$eval("attention-map", (element) => element.getMap(0, 0));
  return (map.tokens[row] ?? "").trim();
}

test("step reads a text token by token, and then lets the model go on", async () => {
  const page = await views.open([{ ...kHead, view: "decode", query: "8" }]);
  const steps = await page.$eval("attention-map", async (element) => [await element.step(), await element.step()]);
  expect(steps.map(({ row }) => row)).toEqual([9, 10]);
  const [likeliest] = views.tiny.attend(kSentence, { keepHidden: true }).predictions({ top: 1 });
  expect(steps[1]?.token.trim()).toBe(likeliest?.token.trim());
});

test("a reader's changes are told once each, bubble, and cross shadow roots", async () => {
  const page = await views.open([{ ...kHead, view: "map", controls: "full" }]);
  await listen(page, "pin-change", "view-change", "ablation", "selection-change", "scale-change");
  await page.focus("#map >>> .plot");
  await page.keyboard.press("Enter");
  await page.keyboard.press("Enter");
  await page.keyboard.press("s");
  await page.click("#map >>> [part=settings] summary");
  await seen(page, "#map >>> [part=settings] select"); // its code comes when it is opened
  await page.select("#map >>> [part=settings] select", "row");
  await page.click("#map >>> [part=tab] ::-p-text(Lines)");
  expect(await log(page)).toEqual([
    'pin-change true {"queries":[0],"key":0}',
    'pin-change true {"queries":[],"key":null}',
    'ablation true {"heads":["3.4"],"tokens":[]}',
    'scale-change true {"scale":"row"}',
    'view-change true {"view":"lines","before":"map"}',
  ]);
});

test("predictions that are drawn are told with their numbers", async () => {
  const page = await views.open([{ ...kHead, view: "next" }]);
  const detail = await page.$eval("attention-map", async (element) => {
    const told = new Promise<{ row: number; predictions: readonly { probability: number }[] }>((resolve) =>
      element.addEventListener("prediction", (event) => resolve(event.detail), { once: true }));
    element.query = "6";
    return told;
  });
  const expected = views.tiny.attend(kSentence, { keepHidden: true }).predictions({ position: 6, top: 10 });
  const shares = (of: readonly { probability: number }[]): number[] => of.map(({ probability }) => probability);
  expect(detail.row).toBe(6);
  closeTo(shares(detail.predictions), shares(expected), 1e-5);
});

test("a locked element shows values and changes nothing", async () => {
  const page = await views.open([{ ...kHead, view: "map", locked: true, controls: "full" }]);
  await listen(page, "state-change");
  await page.focus("#map >>> .plot");
  for (const key of ["ArrowRight", "Enter", "s", "Escape"] as const) await page.keyboard.press(key);
  expect((await texts(page, "#map >>> .readout"))[0]).toContain("query");
  expect(await page.$$("#map >>> .bar")).toEqual([]);
  expect(await log(page)).toEqual([]);
  expect(await page.$eval("attention-map", ({ query, ablate, view }) => [query, ablate, view])).toEqual(["", "", "map"]);
});

test("range ends a fixed scale, and says what is beyond it", async () => {
  const page = await views.open([{ ...kHead, view: "map", range: 0.5 }]);
  expect(await texts(page, "#map >>> .range")).toEqual(["0 – 0.50, and beyond"]);
  await page.$eval("attention-map", (element) => void (element.scale = "row"));
  await seen(page, '#map >>> [role=alert] ::-p-text(range: 0.5 is the end of the scale "fixed")');
});

test("captions, an author's own error and a fallback have their places", async () => {
  const page = await views.open([{ ...kHead, view: "map" }]);
  const shown = (slot: string): Promise<boolean> => page.$eval(`#map > [slot=${slot}]`, (own) => own.checkVisibility());
  await page.$eval("attention-map", (element) => {
    for (const slot of ["caption", "error", "fallback"]) {
      const own = Object.assign(document.createElement("p"), { slot, textContent: slot });
      element.append(own);
    }
  });
  expect([await shown("caption"), await shown("error"), await shown("fallback")]).toEqual([true, false, false]);
  await page.$eval("attention-map", async (element) => {
    element.layer = 9;
    await element.ready();
  });
  expect([await shown("caption"), await shown("error"), await shown("fallback")]).toEqual([true, true, true]);
  expect(await page.$eval("attention-map", ({ error }) => error?.message)).toBe("layer: 9 is not one of 0 to 3");
});

test("given maps start the engine when a reader asks for names, and not before", async () => {
  const row = (at: number): number[] => Array.from({ length: 8 }, (_, col) => Number(col === Math.max(at - 1, 0)));
  const weights = Array.from({ length: 8 }, (_, at) => row(at));
  const page = await views.open([{ weights: [weights], tokens: [..."abcdefgh"], view: "grid" }]);
  const started = (): Promise<boolean> => page.evaluate(() =>
    performance.getEntriesByType("resource").some(({ name }) => /\.wasm|worker/.test(name)));
  await page.evaluate(() => new Promise((later) => setTimeout(later, 300)));
  expect(await started()).toBe(false);
  await page.click("#map >>> [part=ask]");
  await seen(page, "#map >>> .badge ::-p-text(previous)");
  expect(await started()).toBe(true);
});
