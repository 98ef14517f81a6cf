// SPDX-License-Identifier: Apache-2.0
/** The tokens that a model expects: the engine's probabilities, before and after a reader's changes, and what cannot be expected. */
import { expect, test } from "vitest";
import { axe, phone, seen, texts } from "../browser.js";
import { change, kSentence, shoot, Views } from "./harness.js";

const views = new Views();

/** The list as it is read aloud: "‘she’: 98.3 %". */
const kSpoken = "#map >>> .expected li > .unseen";
const plain = (names: readonly string[]): string[] => names.map((name) => name.replace(/[\u2066-\u2069‘’]/g, ""));
const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;

test("the last token's next tokens are listed with the engine's probabilities, and more on request", async () => {
  const page = await views.open([{ view: "next", text: kSentence }]);
  using attention = views.tiny.attend("The queen saw the king and");
  await change(page, { text: "The queen saw the king and" });
  const expected = attention.predictions({ top: 10 }).map(({ token, probability }) => {
    const name = token === "\n" ? "↵" : token.replace(/^ /, "");
    return `${name}: ${probability < 0.001 ? "< 0.1 %" : percent(probability)}`;
  });
  expect(plain(await texts(page, "#map >>> .next-title"))).toEqual(["After and, the model expects"]);
  expect(plain(await texts(page, kSpoken))).toEqual(expected.slice(0, 5));
  await page.click("#map >>> .next-more");
  await seen(page, "#map >>> .expected li:nth-child(10)");
  expect(plain(await texts(page, kSpoken))).toEqual(expected);
  await shoot(page, "next-desktop");
  expect(await axe(page)).toEqual([]);
});

test("a pinned token comes before the place under the pointer, which comes before the last token", async () => {
  const page = await views.open([
    { view: "next", text: kSentence, group: "g" },
    { view: "map", text: kSentence, layer: 3, head: 4, group: "g" },
  ]);
  const heading = async (word: string): Promise<unknown> => seen(page, `#map >>> .next-title ::-p-text(${word})`);
  await heading("After ‘\u2068.\u2069’");
  await page.focus("#map1 >>> .plot");
  await page.keyboard.press("ArrowDown");
  for (let row = 0; row < 2; row++) await page.keyboard.press("ArrowUp");
  const [pointed = ""] = await texts(page, "#map >>> .next-title");
  expect(pointed).toMatch(/^After/);
  await change(page, { query: "6" });
  await heading("After ‘\u2068and\u2069’");
  await change(page, { query: "99" });
  await page.keyboard.press("ArrowDown");
  expect((await texts(page, "#map >>> .next-title"))[0], "a pin that the text does not have is none").not.toContain("and");
});

test("silencing a head shows each token before and after, with the change in points", async () => {
  const page = await views.open([{ view: "next", text: kSentence, query: "6", ablate: "3.4", theme: "dark" }], phone);
  const mask = { data: new Float32Array(32).fill(1), shape: [4, 8] };
  mask.data[3 * 8 + 4] = 0;
  using before = views.tiny.attend(kSentence);
  using after = before.again({ headMask: mask });
  const [first] = before.predictions({ position: 6, top: 1 });
  const [now] = after.predictions({ position: 6, top: 1 });
  expect(now?.token).toBe(" she");
  const points = (100 * ((now?.probability ?? NaN) - (first?.probability ?? NaN))).toFixed(1).replace("-", "−");
  const [spoken = ""] = plain(await texts(page, kSpoken));
  expect(spoken).toBe(`she: ${percent(now?.probability ?? NaN)}, before the changes ${percent(first?.probability ?? NaN)}, ${points} points`);
  expect((await texts(page, "#map >>> .expected-change"))[0]).toBe(points);
  await shoot(page, "next-phone-silenced");
  expect(await axe(page)).toEqual([]);
});

test("a masked model is asked at its token, a picture has classes, and an encoder expects nothing", async () => {
  const page = await views.open([{ view: "next", text: kSentence, model: "tiny-bert", query: "2" }]);
  const bert = await views.engine.loadModel("tiny-bert");
  const [best] = bert.attend(kSentence).predictions({ position: 2, top: 1 });
  expect(plain(await texts(page, "#map >>> .next-title"))).toEqual(["At queen, the model expects"]);
  expect(plain(await texts(page, kSpoken))[0]).toContain(`${best?.token}: `);
  await change(page, { query: "" });
  expect(plain(await texts(page, "#map >>> .next-title"))).toEqual(["At ., the model expects"]);
  await change(page, { text: "The queen saw the [MASK] and laughed." });
  expect(plain(await texts(page, "#map >>> .next-title"))).toEqual(["At [MASK], the model expects"]);
  await change(page, { model: "tiny-translator", source: "The cat sleeps.", text: "Le chat dort.", attention: "encoder", query: "" });
  expect((await texts(page, "#map >>> .next-none"))[0]).toMatch(/^The encoder only reads the source/);
  await change(page, { attention: "cross" });
  expect(plain(await texts(page, "#map >>> .next-title"))).toEqual(["After ., the model expects"]);
  await change(page, { model: "tiny-vit", image: "/web/models/tiny-vit/examples/00.png", attention: "decoder" });
  expect(await texts(page, "#map >>> .next-title")).toEqual(["In this picture, the model sees"]);
  await page.click("#map >>> .next-more");
  await seen(page, "#map >>> .expected li:nth-child(10)");
  const vit = await views.engine.loadModel("tiny-vit");
  const spokenClasses = (await texts(page, kSpoken)).map((words) => /^([a-z]+): (< )?([\d.]+) %$/.exec(words) ?? []);
  expect(spokenClasses.map(([, name]) => name).sort()).toEqual([...vit.info.labels ?? []].sort());
  await shoot(page, "next-picture");
  const shares = spokenClasses.map(([, , , share]) => share);
  const sum = shares.reduce((of, share) => of + Number(share), 0);
  expect(sum, "the ten classes are all there").toBeGreaterThan(99);
  expect(sum).toBeLessThan(102);
  vit.dispose();
  bert.dispose();
});
