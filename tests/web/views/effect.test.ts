// SPDX-License-Identifier: Apache-2.0
/** The effect of a head: what it writes, copies and changes, in the engine's numbers, a click that silences, blanked tokens, patches, other models. */
import type { SourceAndTarget } from "headlens";
import type { Page } from "puppeteer-core";
import { expect, test } from "vitest";
import { axe, holds, phone, seen, texts } from "../browser.js";
import { change, kSentence, shoot, stateOf, Views } from "./harness.js";

const views = new Views();
const kHead = { view: "effect", text: kSentence, layer: 3, head: 4, query: "6", controls: "full" } as const;
const kOther = "The king saw the queen and she laughed.";

const plain = (text: string | undefined): string => (text ?? "").replace(/[\u2066-\u2069]/g, "").trim();
const words = async (page: Page, selector: string): Promise<string[]> => (await texts(page, `#map >>> ${selector}`)).map(plain);
const number = (text: string): number => Number(text.replace("−", "-").replace(/ .*/, ""));
const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;

/** The mask of a model's heads without one of them. */
function without(layer: number, head: number): { data: Float32Array; shape: number[] } {
  const mask = { data: new Float32Array(32).fill(1), shape: [4, 8] };
  mask.data[layer * 8 + head] = 0;
  return mask;
}

/** The share of its attention that each head has moved, the largest first. */
function moved(before: ReturnType<typeof views.tiny.attend>, after: typeof before): { name: string; share: number }[] {
  using difference = views.engine.difference(before, after);
  const rows = difference.pairs.length;
  const all = Array.from({ length: 32 }, (_, index) => {
    const [layer, head] = [Math.floor(index / 8), index % 8];
    const sum = difference.map(layer, head).data.reduce((of, value) => of + Math.abs(value), 0);
    return { name: `head ${layer}.${head}`, share: sum / 2 / rows };
  });
  return all.filter(({ share }) => share > 0).sort((a, b) => b.share - a.share).slice(0, 5);
}

test("a head writes, copies, and stands among the layers, with the engine's numbers", async () => {
  const page = await views.open([kHead]);
  using attention = views.tiny.attend(kSentence, { keepParts: true });
  const { likelier, lessLikely } = attention.written({ layer: 3, head: 4, position: 6, top: 8 });
  expect(await words(page, ".effect-columns .effect-label")).toEqual([...likelier, ...lessLikely].map(({ token }) => token.trim()));
  for (const [index, value] of (await words(page, ".effect-columns .effect-value")).entries())
    expect(number(value)).toBeCloseTo([...likelier, ...lessLikely][index]?.logit ?? NaN, 1.7);
  const { terms } = attention.explainOutput({ layer: 3, head: 4, query: 6 });
  const largest = [...terms.data].sort((a, b) => Math.abs(b) - Math.abs(a)).slice(0, 6);
  const copied = (await words(page, ".effect-copies .effect-value")).map(number);
  copied.forEach((value, index) => expect(value).toBeCloseTo(largest[index] ?? NaN, 1.7));
  expect(copied).toHaveLength(6);
  const rows = await page.$$eval("#map >>> .effect-lens tbody tr", (found) =>
    found.map((row) => Array.from(row.cells, (cell) => (cell.textContent ?? "").trim())));
  const [answer] = attention.predictions({ position: 6, top: 1 });
  for (const [layer, [, best, share, rank, probability]] of rows.entries()) {
    const asked = layer < 4 ? { position: 6, top: 2048, layer } : { position: 6, top: 2048 };
    const all = attention.predictions(asked);
    const at = all.findIndex(({ id }) => id === answer?.id);
    expect([best, Number(rank)]).toEqual([all[0]?.token.trim(), at + 1]);
    const most = all[0]?.probability ?? NaN;
    if (most > 0.001 && most < 0.999) expect(share).toBe(percent(most));
    if ((all[at]?.probability ?? 0) > 0.001) expect(probability).toBe(percent(all[at]?.probability ?? NaN));
  }
  expect(rows.map(([name]) => name?.replace(/\s+/g, " "))).toEqual(["the embeddings", "layer 0", "layer 1", "layer 2", "layer 3 this head’s"]);
  await shoot(page, "effect-desktop");
  expect(await axe(page)).toEqual([]);
});

test("silencing a head by a click shows predictions and maps before and after", async () => {
  const page = await views.open([{ ...kHead, layer: 0, head: 1 }]);
  await page.click("#map >>> .effect-tools button");
  await seen(page, "#map >>> .effect-heads button");
  using before = views.tiny.attend(kSentence);
  using after = before.again({ headMask: without(0, 1) });
  const spoken = (await words(page, ".expected li > .unseen"))[0] ?? "";
  const [now] = after.predictions({ position: 6, top: 1 });
  expect(spoken).toContain(`‘${now?.token.trim()}’: `);
  using difference = views.engine.difference(before, after);
  const strip = (await words(page, ".effect-strip small")).map(number);
  difference.divergences().data.forEach((value, index) => expect(strip[index]).toBeCloseTo(value, 2.7));
  await holds(page, () => {
    const heads = document.querySelector("#map")?.shadowRoot?.querySelectorAll(".effect-heads button");
    return heads?.length === 5 && !document.querySelector("#map")?.shadowRoot?.querySelector(".effect-change progress");
  });
  const expected = moved(before, after);
  const shown = await words(page, ".effect-heads button");
  shown.forEach((line, index) => expect(line).toContain(expected[index]?.name ?? "none"));
  await shoot(page, "effect-silenced");
  expect(await axe(page)).toEqual([]);
  const [first] = expected;
  await (await seen(page, "#map >>> .effect-heads button")).click();
  expect(`head ${String(await stateOf(page, "layer"))}.${String(await stateOf(page, "head"))}`).toBe(first?.name);
});

test("s silences and frees, a token is blanked, and the strip pins tokens", async () => {
  const page = await views.open([{ ...kHead, theme: "dark" }], phone);
  await page.focus("#map >>> .effect-tools button");
  await page.keyboard.press("s");
  await seen(page, "#map >>> .effect-change");
  expect(await stateOf(page, "ablate")).toBe("3.4");
  expect((await words(page, ".effect-refused"))[0]).toBe("The head is silenced, so it writes nothing.");
  await page.keyboard.press("s");
  await holds(page, () => document.querySelector("#map")?.shadowRoot?.querySelector(".effect-change") === null);
  await page.click("#map >>> .effect-tools button:nth-child(2)");
  await seen(page, "#map >>> .effect-change .effect-strip");
  expect([await stateOf(page, "zeroToken"), await stateOf(page, "key")]).toEqual(["2", "2"]);
  using before = views.tiny.attend(kSentence);
  using after = before.again({ replacedTokens: [2] });
  using difference = views.engine.difference(before, after);
  const strip = (await words(page, ".effect-strip small")).map(number);
  difference.divergences().data.forEach((value, index) => expect(strip[index]).toBeCloseTo(value, 1.7));
  expect((await words(page, ".effect-change .effect-title"))[0]).toBe("Before and after: ‘queen’ is blanked");
  await shoot(page, "effect-phone");
  expect(await axe(page)).toEqual([]);
  expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0);
  await page.click("#map >>> .effect-strip li:nth-child(5) button");
  expect(await stateOf(page, "query")).toBe("4");
  await page.keyboard.press("ArrowRight");
  await page.keyboard.down("Shift");
  await page.keyboard.press("Enter");
  await page.keyboard.up("Shift");
  expect(await stateOf(page, "query")).toBe("4 5");
});

test("a head is patched from another text at all tokens, or at the pinned ones", async () => {
  const page = await views.open([kHead]);
  await page.click("#map >>> .effect-tools button:nth-child(3)");
  const field = await seen(page, "#map >>> .effect-patch input");
  const type = async (text: string): Promise<void> => {
    await field.click({ count: 3 });
    await page.keyboard.type(text);
    await page.keyboard.press("Enter");
  };
  await type(kOther);
  await seen(page, "#map >>> .effect-change");
  using from = views.tiny.attend(kOther, { keepParts: true });
  using before = views.tiny.attend(kSentence);
  using after = before.again({ patches: [views.tiny.patch({ from, layer: 3, head: 4 })] });
  const [now] = after.predictions({ position: 6, top: 1 });
  expect((await words(page, ".expected li > .unseen"))[0]).toContain(percent(now?.probability ?? NaN));
  expect(await stateOf(page, "ablate"), "letters of a text are no keys").toBe("");
  expect((await words(page, ".effect-change .effect-title"))[0]).toBe(`Before and after: head 3.4 gives what it gives in “${kOther}”, at all tokens`);
  await shoot(page, "effect-patched");
  await type("The king saw a dog and then he left it.");
  await seen(page, "#map >>> .effect-change .effect-title ::-p-text(at ‘\u2068and\u2069’)");
  await change(page, { query: "" });
  await type("The king saw a dog and then he left it.");
  await seen(page, "#map >>> .effect-patch [role=status] ::-p-text(so not all can be patched)");
  expect(await axe(page)).toEqual([]);
});

test("heads of a translator's encoder and cross-attention are patched from another source and target", async () => {
  const model = await views.engine.loadModel("tiny-translator");
  const [source, target] = ["The cat sees the dog.", "Le chat voit le chien."];
  const page = await views.open([{ view: "effect", model: "tiny-translator", source, text: target, attention: "cross", layer: 1, head: 2, query: "3", controls: "full" }]);
  const patch = async (text: string): Promise<void> => {
    await page.click("#map >>> .effect-tools button:last-child");
    const field = await seen(page, "#map >>> .effect-patch input");
    await field.click({ count: 3 });
    await page.keyboard.type(text);
    await page.keyboard.press("Enter");
    await seen(page, "#map >>> .effect-change");
  };
  const other = "Le chien voit le chat.";
  await patch(other);
  using before = model.attend({ source, target });
  const expectPatched = async (attention: "cross" | "encoder", input: SourceAndTarget): Promise<void> => {
    using from = model.attend(input, { keepParts: true });
    using after = before.again({ patches: [model.patch({ from, layer: 1, head: 2, attention })] });
    using difference = views.engine.difference(before, after);
    const strip = (await words(page, ".effect-strip small")).map(number);
    difference.divergences().data.forEach((value, index) => expect(strip[index]).toBeCloseTo(value, 1.7));
  };
  expect((await words(page, ".effect-change .effect-title"))[0]).toBe(`Before and after: cross head 1.2 gives what it gives in “${other}”, at all tokens`);
  await expectPatched("cross", { source, target: other });
  await shoot(page, "effect-cross-patched");
  await change(page, { attention: "encoder", query: "1" });
  await patch("The dog sees the cat.");
  expect((await words(page, ".effect-change .effect-title"))[0]).toContain("encoder head 1.2 gives what it gives in “The dog sees the cat.”");
  await expectPatched("encoder", { source: "The dog sees the cat.", target });
  expect(await axe(page)).toEqual([]);
  model.dispose();
});

test("sections that do not apply say why", async () => {
  const page = await views.open([{ ...kHead, model: "tiny-bert", layer: 2, head: 1 }]);
  expect((await words(page, ".effect-refused"))[0]).toMatch(/^The logits of this bert model are no sum over its parts/);
  expect(await words(page, ".effect-lens tbody tr")).toHaveLength(5);
  const pair = { model: "tiny-translator", source: "The cat sleeps.", text: "Le chat dort." } as const;
  await change(page, { ...pair, attention: "encoder", query: "1" });
  expect(await words(page, ".effect-refused")).toHaveLength(2);
  expect(await words(page, ".effect-copies .effect-value")).toHaveLength(6);
  await change(page, { attention: "cross", ablate: "cross:2.1" });
  await seen(page, "#map >>> .effect-heads button, #map >>> .effect-change .effect-faint");
  expect((await words(page, ".effect-change .effect-title"))[0]).toBe("Before and after: cross head 2.1 is silenced");
  expect(await words(page, ".effect-strip li")).toHaveLength(5);
  const picture = { model: "tiny-vit", image: "/web/models/tiny-vit/examples/00.png", attention: "decoder" } as const;
  await change(page, { ...picture, ablate: "1.1", layer: 1, head: 1, query: "5" });
  expect((await words(page, ".effect-change p")).join()).toMatch(/The prediction changes by 0\.\d+ nats/);
  await change(page, { ablate: "" });
  expect(await words(page, ".effect-columns .effect-label")).toHaveLength(16);
  await page.click("#map >>> .effect-tools button:nth-child(3)");
  await seen(page, "#map >>> .effect-patch ::-p-text(this model reads pictures), #map >>> .effect-patch");
  expect(await words(page, ".effect-patch")).toEqual(["A head is patched from another text, and this model reads pictures."]);
  expect(await axe(page)).toEqual([]);
});
