// SPDX-License-Identifier: Apache-2.0
/** The finder: its numbers against those of the engine in Node, and what a reader does with it. */
import type { Page } from "puppeteer-core";
import { expect, test } from "vitest";
import { bestHead } from "../../cards.js";
import { axisOf, dotsOf, dotTowards } from "../../../web/views/finder-dots.js";
import { axe, desktop, phone, texts } from "../browser.js";
import { change, kSentence, shoot, stateOf, Views } from "./harness.js";

const views = new Views();
const kMore = "Tom saw the dog and he smiled. Tom saw the dog and he smiled.\nOne two three, one two three.";
const kUsual = ["inductionText", "previous", "duplicateText", "entropyNormalized", "sink", "ablationLoss"] as const;

/** Waits until all is measured, and no text is about to be. */
async function measured(page: Page, id = "map"): Promise<void> {
  await page.waitForFunction((of) => {
    const root = document.querySelector(`#${of}`)?.shadowRoot;
    const words = root?.querySelector(".finder-status[role=status]")?.textContent ?? "";
    return /heads on|Stopped/.test(words) && root?.querySelector(".finder-table tbody tr") !== null;
  }, {}, id);
}

/** The table's lines: heads, names, and numbers as they are written. */
const linesIn = (page: Page): Promise<string[][]> => page.$$eval("#map >>> .finder-table tbody tr", (rows) =>
  rows.map((row) => [row.querySelector("button")?.dataset.head ?? "",
    ...[...row.querySelectorAll("td")].map((cell) => (cell.textContent ?? "").trim())]));

const numberOf = (text: string): number | null => (text === "–" ? null : Number(text.replace("−", "-")));

async function write(page: Page, lines: string): Promise<void> {
  await page.$eval("#map >>> .finder-texts textarea", (field, given) => {
    (field).value = given;
    field.dispatchEvent(new Event("input", { bubbles: true }));
  }, lines);
  await page.waitForFunction((count) => {
    const words = document.querySelector("#map")?.shadowRoot?.querySelector(".finder-status[role=status]")?.textContent;
    return words?.includes(`on ${count} texts`);
  }, {}, lines.split("\n").length + 1);
  await new Promise((later) => setTimeout(later, 600));
  await measured(page);
}

async function expectNumbers(page: Page, read: readonly string[]): Promise<void> {
  const ranked = await views.tiny.rankHeads(read, { metrics: kUsual, specialTokens: [0] });
  const lines = await linesIn(page);
  expect(lines.length).toBe(ranked.length);
  for (const { layer, head, scores } of ranked) {
    const [, , ...cells] = lines.find(([word]) => word === `${layer}.${head}`) ?? [];
    expect(cells.length).toBe(kUsual.length);
    for (const [index, metric] of kUsual.entries()) {
      const [shown, { mean }] = [numberOf(cells[index] ?? ""), scores[metric]];
      if (mean === null || shown === null) expect([layer, head, metric, shown]).toEqual([layer, head, metric, mean]);
      else expect(Math.abs(shown - mean), `${layer}.${head} ${metric}`).toBeLessThan(6e-4 * Math.max(1, Math.abs(mean)));
    }
  }
}

test("numbers are those of the engine, over the text and over more texts, and the others have maps", async () => {
  const page = await views.open([{ text: kSentence, view: "finder" }]);
  await measured(page);
  await expectNumbers(page, [kSentence]);
  const [layer, head] = bestHead("induction");
  await change(page, { layer, head });
  await write(page, kMore);
  const read = [kSentence, ...kMore.split("\n")];
  await expectNumbers(page, read);
  const captions = await page.$$eval("#map >>> .finder-others figcaption", (found) => found.map((of) => of.textContent ?? ""));
  expect(captions.length).toBe(2);
  for (const [index, caption] of captions.entries()) {
    const seen = views.tiny.attend(read[index + 1] ?? "");
    const size = seen.tokens.length;
    const best = seen.map(layer, head).data.slice(size).reduce((most, weight) => Math.max(most, weight), 0);
    seen.dispose();
    expect(caption).toContain(`${(best * 100).toFixed(0)} %`);
  }
  expect(await axe(page)).toEqual([]);
  await shoot(page, "finder-desktop");
});

test("columns sort both ways, what is not defined comes last, and metrics can be chosen", async () => {
  const page = await views.open([{ text: kSentence, view: "finder" }]);
  await measured(page);
  const column = async (index: number): Promise<(number | null)[]> => (await linesIn(page)).map((line) => numberOf(line[index] ?? ""));
  const header = (metric: string): Promise<string | null> => page.evaluate((name) => {
    const root = document.querySelector("#map")?.shadowRoot;
    const heads = [...(root?.querySelectorAll(".finder-table thead th") ?? [])];
    const of = heads.find((th) => th.textContent?.trim().startsWith(name));
    of?.querySelector("button")?.click();
    return new Promise<string | null>((next) => requestAnimationFrame(() => next(of?.getAttribute("aria-sort") ?? null)));
  }, metric);
  const isOrdered = (values: (number | null)[], sign: number): boolean =>
    values.every((value, at) => at === 0 || value === null || sign * (value - (values[at - 1] ?? NaN)) >= 0);
  // The first metric in which heads differ sorts at first.
  expect(isOrdered(await column(3), -1)).toBe(true);
  expect((await linesIn(page))[0]?.[0]).toBe(bestHead("previous token").join("."));
  expect(await header("previous")).toBe("ascending");
  expect(isOrdered(await column(3), 1)).toBe(true);
  expect(await header("previous")).toBe("descending");
  expect(isOrdered(await column(3), -1)).toBe(true);
  expect(await column(2)).toEqual(Array.from({ length: 32 }, () => null)); // no token of the text comes twice
  await page.$eval("#map >>> .finder-metrics", (details) => ((details as HTMLDetailsElement).open = true));
  await page.evaluate(() => {
    const labels = [...(document.querySelector("#map")?.shadowRoot?.querySelectorAll(".finder-options label") ?? [])];
    labels.find((label) => label.querySelector("b")?.textContent === "sharpness")?.querySelector("input")?.click();
  });
  await page.waitForFunction(() => /^0\.\d+|^1\.000/.test(document.querySelector("#map")?.shadowRoot?.querySelector(".finder-table tbody tr td:last-child")?.textContent?.trim() ?? ""));
  const [sharp] = await views.tiny.rankHeads([kSentence], { metrics: ["sharpness"] });
  expect(await header("sharpness")).toBe("descending");
  expect((await linesIn(page))[0]?.[0]).toBe(`${sharp?.layer}.${sharp?.head}`);
  expect((await axe(page))).toEqual([]);
  await shoot(page, "finder-metrics");
});

test("keys move, mark and silence; a rectangle marks heads in the grid of the group; a click opens a head", async () => {
  const page = await views.open([
    { text: kSentence, view: "finder", group: "one" }, { text: kSentence, view: "grid", group: "one" },
  ]);
  await measured(page);
  const [first, second] = (await linesIn(page)).map(([word]) => word);
  await page.$eval("#map >>> .finder-table button[tabindex='0']", (button) => (button as HTMLElement).focus());
  await page.keyboard.press("Home");
  await page.keyboard.press("p");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("p");
  expect(await stateOf(page, "heads")).toBe(`${first} ${second}`);
  await page.keyboard.press("s");
  expect(await stateOf(page, "ablate", "map1")).toBe(second);
  const markedIn = (): Promise<string[]> => page.$$eval("#map1 >>> .marked .thumb", (found) =>
    found.map((thumb) => `${(thumb as HTMLElement).dataset.layer}.${(thumb as HTMLElement).dataset.head}`));
  expect((await markedIn()).sort()).toEqual([first, second].sort());
  await page.keyboard.press("Escape");
  expect(await markedIn()).toEqual([]);

  const plot = await (await page.$("#map >>> .finder-plot"))?.boundingBox();
  if (!plot) throw new Error("no plot");
  const at = (x: number, y: number): [number, number] => [plot.x + plot.width * x, plot.y + plot.height * y];
  const ranked = await views.tiny.rankHeads([kSentence], { metrics: kUsual });
  await page.evaluate(() => {
    const select = document.querySelector("#map")?.shadowRoot?.querySelector<HTMLSelectElement>(".finder-axes select");
    if (!select) throw new Error("no axes");
    select.value = "sink";
    select.dispatchEvent(new Event("change"));
  });
  await page.mouse.move(...at(0.6, 0.02));
  await page.mouse.down();
  await page.mouse.move(...at(0.99, 0.88), { steps: 4 });
  await page.mouse.up();
  const sinks = ranked.map(({ layer, head, scores }) => ({ word: `${layer}.${head}`, value: scores.sink.mean ?? NaN }));
  const [least, most] = [Math.min(...sinks.map(({ value }) => value)), Math.max(...sinks.map(({ value }) => value))];
  const x = (value: number): number => (58 + ((value - least) / (most - least)) * 332) / 400;
  const inside = sinks.filter(({ value }) => x(value) >= 0.6).map(({ word }) => word).sort();
  expect(inside.length).toBeGreaterThan(3);
  expect(String(await stateOf(page, "heads")).split(" ").sort()).toEqual(inside);
  expect((await markedIn()).sort()).toEqual(inside);
  await shoot(page, "finder-brushed");
  await page.evaluate(() => document.querySelector("#map")?.shadowRoot?.querySelector<HTMLElement>(".finder-table tbody tr td")?.click());
  expect(await stateOf(page, "view")).toBe("map");
});

test("the plot's dots are one tab stop with names; keys go to the nearest, mark, silence and open", async () => {
  const page = await views.open([{ text: kSentence, view: "finder", layer: 3, head: 4 }]);
  await measured(page);
  await page.waitForFunction(() =>
    document.querySelector("#map")?.shadowRoot?.querySelector(".finder-name")?.textContent !== "");
  interface Focused { word: string; label: string; selected: string; x: number; y: number }
  const focused = (): Promise<Focused> => page.evaluate(() => {
    const dot = document.querySelector("#map")?.shadowRoot?.activeElement as SVGCircleElement;
    return {
      word: dot.dataset.dot ?? "", label: dot.getAttribute("aria-label") ?? "", selected: dot.getAttribute("aria-selected") ?? "",
      x: dot.cx.baseVal.value, y: dot.cy.baseVal.value,
    };
  });
  expect(await page.$$eval("#map >>> .finder-dot[tabindex='0']", (dots) => dots.map((dot) => (dot as SVGElement).dataset.dot))).toEqual(["3.4"]);
  await page.focus("#map >>> .finder-axes label:last-child select");
  await page.keyboard.press("Tab");
  const first = await focused();
  const ranked = await views.tiny.rankHeads([kSentence], { metrics: kUsual, specialTokens: [0] });
  const { scores } = ranked.find(({ layer, head }) => layer === 3 && head === 4) ?? {};
  expect(first.label).toMatch(/^head 3\.4, .+, previous -?\d\.\d+, entropy normalized \d\.\d+, open$/);
  expect(first.label).toContain(`previous ${(scores?.previous.mean ?? NaN).toFixed(3)}`);
  await page.keyboard.press("ArrowRight");
  const right = await focused();
  expect(right.x).toBeGreaterThan(first.x);
  expect(await texts(page, "#map >>> .finder-readout")).toEqual([expect.stringContaining(right.word)]);
  await page.keyboard.press("ArrowUp");
  const up = await focused();
  expect(up.y).toBeLessThan(right.y);
  await page.keyboard.press("Space");
  expect([await stateOf(page, "heads"), (await focused()).selected]).toEqual([up.word, "true"]);
  await page.keyboard.press("s");
  expect(await stateOf(page, "ablate")).toBe(up.word);
  // The names of the dots follow when the heads are measured again.
  await page.waitForFunction(() =>
    document.querySelector("#map")?.shadowRoot?.activeElement?.getAttribute("aria-label")?.endsWith(", silenced") === true);
  await measured(page);
  await page.keyboard.press("ArrowLeft");
  const left = await focused();
  await page.keyboard.down("Shift");
  await page.keyboard.press("Enter");
  await page.keyboard.up("Shift");
  expect(await stateOf(page, "heads")).toBe(`${up.word} ${left.word}`);
  expect(await axe(page)).toEqual([]);
  await shoot(page, "finder-dots");
  await page.keyboard.press("Enter");
  const opened = [await stateOf(page, "layer"), await stateOf(page, "head")];
  expect([await stateOf(page, "view"), opened.join(".")]).toEqual(["map", left.word]);
});

test("arrow keys reach every dot, also of heads at one place", async () => {
  const ranked = await views.tiny.rankHeads([kSentence], { metrics: kUsual });
  for (const [x, y] of [["previous", "sink"], ["inductionText", "previous"], ["previous", "previous"]] as const) {
    const heads = ranked.map((of, index) => (index % 5 ? of : { ...of, scores: ranked[0]?.scores ?? of.scores }));
    const dots = dotsOf(heads, axisOf(heads, x), axisOf(heads, y));
    const reached = new Set(dots.slice(0, 1));
    for (const dot of reached)
      for (const key of ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"]) {
        const to = dotTowards(dots, dots.indexOf(dot), key);
        if (to) reached.add(to);
      }
    expect(reached.size, `${x} and ${y}`).toBe(dots.length);
  }
});

test("a measurement of many texts shows how far it is, stops, and goes on", async () => {
  const page = await views.open([{ text: kSentence, view: "finder" }]);
  await measured(page);
  await page.$eval("#map >>> .finder-texts textarea", (field, line) => {
    (field).value = Array.from({ length: 80 }, (_, index) => `${line} ${index}`).join("\n");
    field.dispatchEvent(new Event("input", { bubbles: true }));
  }, kSentence.repeat(3));
  await page.waitForFunction(() => (document.querySelector("#map")?.shadowRoot?.querySelector<HTMLProgressElement>(".finder-status progress")?.value ?? 0) > 0);
  expect(await axe(page)).toEqual([]);
  const press = (): Promise<void> => page.$eval("#map >>> .finder-status button", (button) => (button as HTMLElement).click());
  await press();
  await measured(page);
  const words = await page.$eval("#map >>> .finder-status", (status) => status.textContent);
  // The maps' metrics may have been there, and those of the model were not.
  expect(words).toMatch(/Stopped\. 32 heads on (1 text|81 texts), .*Measure again/);
  await press();
  await page.waitForFunction(() => document.querySelector("#map")?.shadowRoot?.querySelector(".finder-status progress"));
  await press();
  await measured(page);
});

test.each([["tiny-bert", ""], ["tiny-translator", "cross"], ["tiny-translator", "encoder"]])("%s %s is measured, and axe finds nothing", async (model, attention) => {
  const page = await views.open([{ model, view: "finder", text: "Le chat voit un chien.", source: "The cat sees a dog.", theme: "dark", ...(attention && { attention }) }]);
  await measured(page);
  const lines = await linesIn(page);
  expect(lines.length).toBe(model === "tiny-bert" ? 32 : 18);
  expect(lines.every(([, , , ...cells]) => cells.some((cell) => cell !== "–"))).toBe(true);
  expect(await axe(page)).toEqual([]);
  await shoot(page, `finder-${model}-${attention}`);
});

test("given arrays have no finder, and that is said", async () => {
  await expect(views.open([{ weights: [[[1, 0], [0.5, 0.5]]], view: "finder" }])).rejects.toThrow(/needs a model/);
});

test("a picture of it on a phone", async () => {
  const page = await views.open([{ text: kSentence, view: "finder", heads: "1.2 3.4" }], phone);
  await measured(page);
  await page.waitForFunction(() =>
    document.querySelector("#map")?.shadowRoot?.querySelector(".finder-name")?.textContent !== "");
  expect(await axe(page)).toEqual([]);
  await shoot(page, "finder-phone");
  expect(desktop.width).toBeGreaterThan(phone.width);
});
