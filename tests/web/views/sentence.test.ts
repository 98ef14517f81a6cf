// SPDX-License-Identifier: Apache-2.0
/** The sentence: its tints and its finding are the engine's numbers, its arcs lead where they should, and it can be edited. */
import type { Page } from "puppeteer-core";
import { expect, test } from "vitest";
import { axe, phone, seen, texts } from "../browser.js";
import { change, kSentence, shoot, stateOf, Views } from "./harness.js";

const views = new Views();

const kHead = { view: "sentence", text: kSentence, layer: 3, head: 4, controls: "full" } as const;

const finding = async (page: Page): Promise<string> =>
  (await texts(page, "#map >>> .sentence-finding")).join().replaceAll(/[\u2068\u2069]/g, "");

/** The tokens that arcs lead to, by where the arcs end. */
const arcEnds = (page: Page): Promise<number[]> =>
  page.$eval("#map", (map) => {
    const root = map.shadowRoot;
    const top = root?.querySelector(".sentence-rows")?.getBoundingClientRect();
    const tokens = [...root?.querySelectorAll<HTMLElement>(".sentence-token") ?? []];
    return [...root?.querySelectorAll(".sentence-arcs path") ?? []].map((path) => {
      const [x = 0] = (path.getAttribute("d") ?? "").split(" ").slice(-2).map(Number);
      const middle = (token: HTMLElement): number => {
        const { left, width } = token.getBoundingClientRect();
        return left + width / 2 - (top?.left ?? 0);
      };
      return Number(tokens.find((token) => Math.abs(middle(token) - x) < 1)?.dataset.index);
    });
  });

test("the finding, the arcs and the tints are the numbers of the chosen row", async () => {
  const page = await views.open([{ ...kHead, query: "8" }]);
  const attention = views.tiny.attend(kSentence);
  const { data } = attention.map(3, 4);
  const row = [...data.subarray(80, 90)];
  const order = row.map((_, col) => col).filter((col) => col <= 8).sort((a, b) => (row[b] ?? 0) - (row[a] ?? 0));
  let mass = 0;
  const end = order.findIndex((col) => (mass += row[col] ?? 0) >= 0.9) + 1;
  expect((await arcEnds(page)).sort()).toEqual(order.slice(0, Math.min(end, 8)).filter((col) => col !== 8).sort());
  const most = order[0] ?? NaN;
  const share = ((row[most] ?? 0) * 100).toFixed(1).replace(/\.0$/, "");
  // The head's name follows once it is known.
  expect((await finding(page)).split(/[,.](?= |$)/)[0]).toBe(`‘laughed’ looks at ‘${attention.tokens[most]?.trim()}’: ${share} % in head 3.4`);
  const tints = await page.$$eval("#map >>> .sentence-token", (found) =>
    found.map((token) => getComputedStyle(token).backgroundColor));
  expect(tints[9], "what the row may not see has no tint").toBe("rgba(0, 0, 0, 0)");
  expect(new Set(tints.slice(0, 9)).size).toBeGreaterThan(4);
  attention.dispose();
});

test("a text that is read from right to left runs so, with its arcs, its arrow keys and its field", async () => {
  const page = await views.open([{ ...kHead, text: "שלום cat עולם", query: "8" }]);
  const lefts = await page.$$eval("#map >>> .sentence-token", (tokens) =>
    tokens.map((token) => token.getBoundingClientRect().left));
  expect(lefts.length).toBeGreaterThan(8);
  expect(lefts, "the first token stands to the right of all others").toEqual([...lefts].sort((a, b) => b - a));
  const ends = await arcEnds(page);
  expect(ends.length).toBeGreaterThan(0);
  expect(ends.every((index) => index <= 8)).toBe(true);
  await page.focus("#map >>> .sentence-token[data-index='8']");
  await page.keyboard.press("ArrowLeft");
  const at = page.evaluate(() => (document.querySelector("#map")?.shadowRoot?.activeElement as HTMLElement | undefined)?.dataset.index);
  expect(await at).toBe("9");
  await page.click("#map >>> .sentence-edit");
  expect(await page.$eval("#map >>> textarea", (area) => getComputedStyle(area).direction)).toBe("rtl");
  await change(page, { text: "The word שלום" });
  await expect.poll(() => page.$eval("#map >>> .sentence-tokens", (group) => getComputedStyle(group).direction)).toBe("ltr");
});

test("pointing previews, a click pins, Shift adds, Escape frees, and arrow keys walk", async () => {
  const page = await views.open([kHead]);
  expect(await finding(page), "at first the strongest link of the head").toMatch(/^‘and’ looks at ‘queen’/);
  await page.hover("#map >>> .sentence-token[data-index='7']");
  await expect.poll(() => finding(page)).toMatch(/^‘she’/);
  await page.click("#map >>> .sentence-token[data-index='7']");
  expect(await stateOf(page, "query")).toBe("7");
  await page.keyboard.down("Shift");
  await page.click("#map >>> .sentence-token[data-index='8']");
  await page.keyboard.up("Shift");
  expect(await stateOf(page, "query")).toBe("7 8");
  await page.mouse.move(0, 0);
  await expect.poll(() => finding(page)).toMatch(/^the mean of 2 tokens/);
  await page.keyboard.press("ArrowLeft");
  await expect.poll(() => finding(page)).toMatch(/^‘she’/);
  await page.keyboard.press("Escape");
  expect(await stateOf(page, "query")).toBe("");
  await page.keyboard.press("p");
  expect(await stateOf(page, "query")).toBe("7");
});

test("the text is edited in place, down to nothing and back", async () => {
  const page = await views.open([kHead]);
  await page.click("#map >>> .sentence-edit");
  await (await seen(page, "#map >>> textarea")).press("Backspace");
  expect(await stateOf(page, "text")).toBe("");
  await page.keyboard.type("Anna saw Ben.");
  await expect.poll(() => texts(page, "#map >>> .sentence-token")).toEqual(
    views.tiny.attend("Anna saw Ben.").tokens.map((token) => token.trim()),
  );
  await page.keyboard.press("Escape");
  await seen(page, "#map >>> .sentence-edit:focus");
  expect(await page.$("#map >>> textarea")).toBeNull();
});

test("two texts, a translation, a long text, and words whose pieces stand together", async () => {
  const pair = { model: "tiny-bert", text: "Unbelievable.", textPair: "She bought eggs." };
  const page = await views.open([{ ...kHead, ...pair, layer: 0, head: 0 }]);
  await page.click("#map >>> .sentence-edit");
  await seen(page, "#map >>> textarea[name='textPair']");
  const words = await page.$$eval("#map >>> .sentence-word", (found) => found.map((word) => word.textContent));
  expect(words.slice(0, 3)).toEqual(["[CLS]", "unbelievable", "."]);
  await change(page, {
    model: "tiny-translator", source: "The black cat sleeps.", text: "le chat noir dort.", textPair: "",
    attention: "cross", layer: 1, query: "2",
  });
  expect(await texts(page, "#map >>> .sentence-token[data-axis='col']")).toContain("black");
  const arcs = await page.$$("#map >>> .sentence-arcs path");
  expect(arcs.length).toBeGreaterThan(0);
  const long = "The cat sat on the mat. ".repeat(200);
  await change(page, { model: "tiny", text: long, source: "", attention: "decoder", layer: 3, query: "1500" });
  expect(await texts(page, "#map >>> .sentence-more")).toEqual([]);
  expect((await texts(page, "#map >>> .sentence-token")).length).toBeLessThanOrEqual(1024);
});

test("given maps whose keys are another text show both, and their cells are no text to edit", async () => {
  const page = await views.open([{
    view: "sentence", controls: "full", query: "0", tokens: ["one", "two"], keyTokens: ["uno", "due", "tre"],
    weights: [[0.75, 0.25, 0], [0, 0, 1]],
  }]);
  expect(await finding(page)).toBe("‘one’ looks at ‘uno’: 75 % in head 0.0.");
  expect(await texts(page, "#map >>> .sentence-token[data-axis='col']")).toEqual(["uno", "due", "tre"]);
  expect(await arcEnds(page)).toEqual([0, 1]);
  expect((await page.$$("#map >>> .sentence-token.spaced")).length, "words without spaces stand apart").toBe(5);
  expect(await page.$("#map >>> .sentence-edit")).toBeNull();
});

test.each(["light", "dark"] as const)("the sentence is clean for axe, and looked at: %s", async (scheme) => {
  const page = await views.open([kHead], { width: 900, height: 700, scheme });
  expect(await axe(page)).toEqual([]);
  await shoot(page, `sentence-${scheme}`);
  await page.close();
  const small = await views.open([{ ...kHead, text: `${kSentence} ${kSentence}` }], { ...phone, scheme });
  await small.click("#map >>> .sentence-edit");
  expect(await axe(small)).toEqual([]);
  await shoot(small, `sentence-phone-${scheme}`);
});

test("a field that a reader empties stays below the error, and what is typed next is read", async () => {
  const page = await views.open([{
    view: "sentence", model: "tiny-translator", source: "The cat sleeps.", text: "le chat dort.", attention: "cross",
    controls: "full",
  }]);
  await page.click("#map >>> .sentence-edit");
  await seen(page, "#map >>> textarea[name=source]");
  await page.$eval("#map >>> textarea[name=source]", (field) => (field).select());
  await page.keyboard.press("Backspace");
  await seen(page, "#map >>> [role=alert] ::-p-text(source is missing)");
  expect(await texts(page, "#map >>> .sentence-token"), "tokens of the text before").toEqual([]);
  await page.keyboard.type("The dog sleeps.");
  await seen(page, "#map >>> .sentence-token[data-axis=col][aria-label*=dog]");
  expect(await texts(page, "#map >>> [role=alert]")).toEqual([]);
  expect(await stateOf(page, "source")).toBe("The dog sleeps.");
});

test("a picture stands beside its patches, and another one takes its place", async () => {
  const pictures = ["00", "01"].map((name) => `/dist/models/tiny-vit/examples/${name}.png`);
  const page = await views.open([{ view: "sentence", model: "tiny-vit", image: pictures[0], controls: "full" }]);
  const isShown = (address: string): Promise<unknown> => page.waitForFunction(async (of) => {
    const bitmap = await createImageBitmap(await (await fetch(of)).blob());
    const context = new OffscreenCanvas(bitmap.width, bitmap.height).getContext("2d");
    context?.drawImage(bitmap, 0, 0);
    const pixels = (from: typeof context | CanvasRenderingContext2D): string | undefined =>
      from?.getImageData(0, 0, bitmap.width, bitmap.height).data.join();
    const canvas = document.querySelector("#map")?.shadowRoot?.querySelector<HTMLCanvasElement>(".sentence-seen canvas[role=img]");
    return canvas?.width === bitmap.width && pixels(canvas.getContext("2d")) === pixels(context);
  }, {}, address);
  await isShown(pictures[0] ?? "");
  await shoot(page, "sentence-picture");
  await change(page, { image: pictures[1] });
  await isShown(pictures[1] ?? "");
  await page.setViewport(phone);
  await shoot(page, "sentence-picture-phone");
  expect(await axe(page)).toEqual([]);
  await change(page, { model: "tiny", image: "", text: kSentence });
  expect(await page.$("#map >>> .sentence-seen")).toBeNull();
});

test("patches lie at their places over the picture, as strong as their weights, the largest with names", async () => {
  const image = "/dist/models/tiny-vit/examples/00.png";
  const page = await views.open([{ view: "sentence", model: "tiny-vit", image, layer: 1, head: 2, query: "0" }]);
  const row = [...(await views.ofPicture(page, image, 1, 2)).subarray(0, 65)];
  const plate = await page.$eval("#map >>> .sentence-plate", (of) => {
    const { left, top, width, height } = of.getBoundingClientRect();
    const patches = [...of.querySelectorAll<HTMLElement>(".sentence-token")].map((patch) => {
      const { left: x, top: y } = patch.getBoundingClientRect();
      const { color, backgroundColor } = getComputedStyle(patch);
      const opacity = Number(/\/ ([\d.]+)\)$/.exec(backgroundColor)?.[1] ?? 1);
      return {
        name: patch.textContent, row: ((y - top) / height) * 8, column: ((x - left) / width) * 8,
        isNamed: color !== "rgba(0, 0, 0, 0)", opacity,
      };
    });
    return { below: of.querySelector("canvas")?.getBoundingClientRect().width === width, patches };
  });
  expect(plate.below).toBe(true);
  expect(plate.patches.length).toBe(64);
  const order = [...row.keys()].sort((a, b) => (row[b] ?? 0) - (row[a] ?? 0));
  let mass = 0;
  const held = order.slice(0, Math.min(order.findIndex((token) => (mass += row[token] ?? 0) >= 0.9) + 1, 8));
  for (const [index, patch] of plate.patches.entries()) {
    const [down, across] = [Math.floor(index / 8), index % 8];
    expect(patch.name?.trim()).toBe(`${down},${across}`);
    expect(patch.row).toBeCloseTo(down, 1);
    expect(patch.column).toBeCloseTo(across, 1);
    expect(patch.isNamed, patch.name ?? "").toBe(held.includes(index + 1));
  }
  // The colours themselves are tested with the map; here, larger weights are less transparent.
  const faint = plate.patches.filter(({ isNamed }) => !isNamed);
  const weightOf = (patch: (typeof faint)[number]): number => row[plate.patches.indexOf(patch) + 1] ?? NaN;
  const opacities = [...faint].sort((a, b) => weightOf(a) - weightOf(b)).map(({ opacity }) => opacity);
  expect(opacities).toEqual([...opacities].sort((a, b) => a - b));
  expect(new Set(opacities).size).toBeGreaterThan(10);
  await page.focus("#map >>> .sentence-token[data-index='0']");
  for (const key of ["ArrowRight", "ArrowDown", "ArrowRight"] as const) await page.keyboard.press(key);
  await page.keyboard.press("p");
  expect(await stateOf(page, "query"), "one row down, one column further").toBe("10");
});

test("a model that reads texts has fields for them, even without a text after one that reads pictures", async () => {
  const image = "/dist/models/tiny-vit/examples/00.png";
  const page = await views.open([{ view: "sentence", model: "tiny-vit", image, controls: "full" }]);
  await seen(page, "#map >>> .sentence-picture");
  await page.$eval("#map", (map) => void Object.assign(map, { model: "tiny", image: "", text: "" }));
  await seen(page, "#map >>> textarea[name=text]");
  expect(await texts(page, "#map >>> .sentence-picture")).toEqual([]);
});
