// SPDX-License-Identifier: Apache-2.0
/** The reasons of a link: the engine's terms, which add up to the score, comparisons, single parts, and other models. */
import type { Page } from "puppeteer-core";
import { expect, test } from "vitest";
import { axe, phone, seen, texts } from "../browser.js";
import { change, kSentence, shoot, stateOf, Views } from "./harness.js";

const views = new Views();
const kHead = { view: "why", text: kSentence, layer: 3, head: 4, controls: "full" } as const;
const kTable = "#map >>> .why-table:not(.why-keys)";

const number = (text: string): number => Number(text.replace("−", "-"));
const plain = (text: string | undefined): string => (text ?? "").replace(/[\u2066-\u2069]/g, "");

interface Line {
  readonly name: string;
  readonly values: number[];
}

/** The rows of the table of parts, with the column names first. The last number of each row, and the last row, are sums. */
async function table(page: Page, selector = kTable): Promise<{ columns: string[]; lines: Line[] }> {
  const cells = await page.$eval(selector, (found) =>
    Array.from((found as HTMLTableElement).rows, (row) => Array.from(row.cells, (cell) => (cell.textContent ?? "").trim())));
  const [columns = [], ...rows] = cells;
  const clean = (name: string): string => name.replace(/[▸▾↗]/g, "").trim();
  return {
    columns: columns.slice(1).map(clean),
    lines: rows.map(([name = "", ...values]) => ({ name: clean(name), values: values.map(number) })),
  };
}

test("a link is the sum of its parts, with the engine's numbers in every cell", async () => {
  const page = await views.open([kHead]);
  using attention = views.tiny.attend(kSentence, { keepParts: true });
  const { score, terms, queryParts, keyParts } = attention.explain({ layer: 3, head: 4, query: 6, key: 2 });
  const [sentence] = await texts(page, "#map >>> .why-sentence");
  expect(plain(sentence)).toMatch(/^‘and’ looks at ‘queen’ \(99\.5 %\) because .+ meets .+\.$/);
  const best = terms.data.indexOf(Math.max(...terms.data));
  const leading = queryParts[Math.floor(best / keyParts.length)];
  if (leading?.kind === "head") expect(sentence).toContain(`head ${leading.layer}.${leading.head} meets`);
  const { columns, lines } = await table(page);
  const group = ({ kind, layer = 0 }: (typeof keyParts)[number]): string =>
    kind === "token" ? "token" : kind === "head" ? `heads of layer ${layer}` : `feed-forward ${layer}`;
  for (const { name, values } of lines.slice(0, -1)) {
    for (const [col, value] of values.slice(0, -1).entries()) {
      const expected = queryParts.flatMap((part, a) => keyParts.map((of, b) =>
        group(part) === name && group(of) === columns[col] ? (terms.data[a * keyParts.length + b] ?? 0) : 0));
      expect(value, `${name} by ${columns[col]}`).toBeCloseTo(expected.reduce((sum, term) => sum + term, 0), 1.5);
    }
  }
  expect(lines.at(-1)?.values.at(-1)).toBeCloseTo(score, 2);
  const [sum = ""] = await texts(page, "#map >>> [part=sum]");
  expect(sum).toMatch(new RegExp(`^The parts add up to ${score.toFixed(3)} of ${score.toFixed(3)}; remainder −?\\d`));
  expect(await texts(page, "#map >>> .why-chain b")).toEqual([score.toFixed(3), "99.5 %"]);
  await shoot(page, "why-desktop");
  expect(await axe(page)).toEqual([]);
});

test("a group opens into its parts, and a part opens the head that wrote it", async () => {
  const page = await views.open([{ ...kHead, query: "6", key: "2" }]);
  using attention = views.tiny.attend(kSentence, { keepParts: true });
  const { terms, keyParts } = attention.explain({ layer: 3, head: 4, query: 6, key: 2 });
  const button = await seen(page, `${kTable} thead button`);
  await button.focus();
  await page.keyboard.press("Enter");
  await seen(page, `${kTable} thead .why-member`);
  const { columns, lines } = await table(page);
  const at = columns.findIndex((name) => name.startsWith("head "));
  const part = keyParts.findIndex(({ kind, layer, head }) => `${kind} ${layer}.${head}` === columns[at]);
  const sum = terms.data.reduce((of, term, index) => (index % keyParts.length === part ? of + term : of), 0);
  expect(lines.at(-1)?.values[at]).toBeCloseTo(sum, 1.5);
  await shoot(page, "why-open");
  expect(await axe(page)).toEqual([]);
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("Enter");
  const { layer = -1, head = -1 } = keyParts[part] ?? {};
  expect([await stateOf(page, "layer"), await stateOf(page, "head")]).toEqual([layer, head]);
  expect(await stateOf(page, "query"), "its row is the key's token").toBe("2");
});

test("the winner is compared with the runner-up, and with a key of the reader's choice", async () => {
  const page = await views.open([{ ...kHead, query: "6", theme: "dark" }], phone);
  using attention = views.tiny.attend(kSentence, { keepParts: true });
  const { steps } = attention.explain({ layer: 3, head: 4, query: 6 });
  const order = [...steps.weights.data.keys()].filter((key) => key <= 6);
  order.sort((a, b) => (steps.weights.data[b] ?? 0) - (steps.weights.data[a] ?? 0));
  const [key = 0, second = 0, third = 0] = order;
  await page.click("#map >>> .why-compare input");
  const difference = attention.explain({ layer: 3, head: 4, query: 6, key, against: second });
  await seen(page, `#map >>> .why-chain b ::-p-text(${difference.score.toFixed(3)})`);
  expect((await table(page)).lines.at(-1)?.values.at(-1)).toBeCloseTo(difference.score, 2);
  expect(plain((await texts(page, "#map >>> .why-sentence"))[0])).toMatch(/^‘and’ looks at ‘queen’ \(99\.5 %\) rather than at .+ because .+ tells apart .+\.$/);
  await page.select("#map >>> .why-compare select", String(third));
  const other = attention.explain({ layer: 3, head: 4, query: 6, key, against: third });
  await seen(page, `#map >>> .why-chain b ::-p-text(${other.score.toFixed(3)})`);
  expect(await stateOf(page, "against")).toBe(String(third));
  await shoot(page, "why-phone");
  expect(await axe(page)).toEqual([]);
  expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0);
});

test("the row's scores stand by parts of the keys, and a key is pinned by a click", async () => {
  const page = await views.open([kHead]);
  using attention = views.tiny.attend(kSentence, { keepParts: true });
  const { scores, steps: { weights } } = attention.explain({ layer: 3, head: 4, query: 6 });
  const order = [...weights.data.keys()].filter((key) => key <= 6);
  order.sort((a, b) => (weights.data[b] ?? 0) - (weights.data[a] ?? 0));
  const { lines } = await table(page, "#map >>> .why-keys");
  for (const [index, { values }] of lines.entries()) {
    const parts = values.slice(0, -2), [score = NaN] = values.slice(-2);
    expect(score).toBeCloseTo(scores.data[order[index] ?? -1] ?? NaN, 1.5);
    expect(parts.reduce((sum, value) => sum + value, 0)).toBeCloseTo(score, 0.5);
  }
  await page.click("#map >>> .why-keys tbody tr:nth-child(2) button");
  expect([await stateOf(page, "query"), await stateOf(page, "key")]).toEqual(["6", String(order[1])]);
  const { score } = attention.explain({ layer: 3, head: 4, query: 6, key: order[1] ?? -1 });
  await seen(page, `#map >>> .why-chain b ::-p-text(${score.toFixed(3).replace("-", "−")})`);
  await page.keyboard.press("s");
  expect(await stateOf(page, "ablate")).toBe("3.4");
  await page.keyboard.press("Escape");
  expect([await stateOf(page, "query"), await stateOf(page, "key")]).toEqual(["", ""]);
});

test("keys of a cross-attention have parts of the encoder, and a masked key is said to be hidden", async () => {
  const page = await views.open([{ ...kHead, query: "2", key: "7" }]);
  expect(plain((await texts(page, "#map >>> .why-sentence"))[0])).toMatch(/^‘queen’ may not look at ‘she’: the mask hides it\./);
  const pair = { model: "tiny-translator", source: "The cat sleeps.", text: "Le chat dort." } as const;
  await change(page, { ...pair, attention: "cross", layer: 2, head: 1, query: "1", key: "" });
  const { columns, lines } = await table(page);
  expect(columns.join()).toMatch(/encoder heads of layer 0/);
  expect(lines.map(({ name }) => name).join()).toMatch(/cross heads of layer 0/);
  await change(page, { model: "tiny-bert", text: kSentence, source: "", attention: "decoder", layer: 1 });
  const bert = await views.engine.loadModel("tiny-bert");
  using attention = bert.attend(kSentence, { keepParts: true });
  const { steps } = attention.explain({ layer: 1, head: 1, query: 1 });
  const key = steps.weights.data.indexOf(Math.max(...steps.weights.data));
  const { score } = attention.explain({ layer: 1, head: 1, query: 1, key });
  expect((await table(page)).lines.at(-1)?.values.at(-1)).toBeCloseTo(score, 1.5);
});
