// SPDX-License-Identifier: Apache-2.0
/** Names of heads: in the grid and the bar, against metrics that the engine computes in Node from the same maps. */
import type { MetricName } from "headlens";
import type { Page } from "puppeteer-core";
import { expect, test } from "vitest";
import type { AttentionMap } from "../../../web/elements/index.js";
import { probeOf } from "../../../web/heads/probe.js";
import { inOrder, kMeasuredMetrics, kRules, measure, nameOf, type Scores } from "../../../web/heads/rules.js";
import { kUsualPair } from "../../../web/playground/usual.js";
import { bestHead, cardOf, kBuiltIn } from "../../cards.js";
import { axe, desktop, phone, seen } from "../browser.js";
import { change, kSentence, shoot, stateOf, Views } from "./harness.js";

const views = new Views(true);

/** Waits until the grid has names, and returns its labels [layer][head]. */
async function labelsOf(page: Page): Promise<string[][]> {
  await page.waitForFunction(() => {
    const thumb = document.querySelector("#map")?.shadowRoot?.querySelector(".thumb");
    return /^Layer \d+, head \d+, (?!marked)/.test(thumb?.getAttribute("aria-label") ?? "");
  });
  return page.$$eval("#map >>> .thumb", (thumbs) => thumbs.reduce<string[][]>((rows, thumb) => {
    const { layer, head } = (thumb as HTMLElement).dataset;
    (rows[Number(layer)] ??= [])[Number(head)] = thumb.getAttribute("aria-label") ?? "";
    return rows;
  }, []));
}

const nameIn = (label: string): string => /^Layer \d+, head \d+, (.*?): /.exec(label)?.[1] ?? "";

/** The metrics of a text, computed from the maps themselves. */
function scoresOf(text: string, layer: number, head: number): Scores {
  const seen = views.tiny.attend(text);
  const { data, shape } = seen.map(layer, head);
  const options = { isCausal: true, tokens: seen.ids };
  const [values] = views.engine.headMetrics({ data, shape }, options);
  const [rows] = views.engine.headMetricCounts({ data, shape }, options);
  seen.dispose();
  const names = Object.keys(values ?? {}) as MetricName[];
  return Object.fromEntries(names.map((name) => [name, { value: values?.[name], rows: rows?.[name] }]));
}

/** The metrics of the probe, which Node reads anew. `<s>` stands before every text of tiny. */
async function probeScores(): Promise<Map<string, Scores>> {
  const probe = probeOf(views.tiny.info, { special: [0], before: [0] });
  const ranked = await views.tiny.rankHeads(probe, { metrics: kMeasuredMetrics });
  return new Map(ranked.map(({ layer, head, scores }) => {
    const entry = (metric: MetricName): [string, unknown] =>
      [metric, { value: scores[metric].mean, rows: scores[metric].nValid }];
    return [`${layer}.${head}`, Object.fromEntries(kMeasuredMetrics.map(entry))];
  }));
}

/** The names whose rule or card holds for a head, by numbers of Node. */
function namesOf(text: string, layer: number, head: number, probe: ReadonlyMap<string, Scores>): string[] {
  const onCard = cardOf("tiny").probes.filter(({ heads, threshold }) => (heads[layer]?.[head] ?? 0) >= threshold);
  const scores = { text: scoresOf(text, layer, head), probe: probe.get(`${layer}.${head}`) ?? {} };
  const holds = ({ metric, threshold }: (typeof kRules)[number], on: "text" | "probe"): boolean => {
    const { value = null, rows = 0 } = scores[on][metric] ?? {};
    const isElsewhere = metric !== "position" || scores[on].positionKey?.value !== 0;
    return value !== null && value >= threshold && rows >= 4 && isElsewhere;
  };
  const onMaps = kRules.filter((rule) => (["text", "probe"] as const).some((on) => rule.on.includes(on) && holds(rule, on)));
  const key = String(scores.text.positionKey?.value);
  return [...onCard.map(({ name }) => name), ...onMaps.map(({ name }) => name.replace("#", key))];
}

test("heads of tiny have the names that its card measured, in the grid and in the bar", async () => {
  const page = await views.open([{ text: kSentence }]);
  const labels = await labelsOf(page);
  for (const { name, threshold, heads } of cardOf("tiny").probes) {
    const [layer, head] = bestHead(name);
    if ((heads[layer]?.[head] ?? 0) >= threshold) expect(nameIn(labels[layer]?.[head] ?? "")).toBe(name);
  }
  const [layer, head] = bestHead("antecedent of a pronoun");
  const badges = await page.$$eval("#map >>> .badge", (all) =>
    all.map((badge) => [(badge.textContent ?? "").trim(), (badge as HTMLElement).title]));
  expect(badges).toContainEqual([`${layer}.${head} pronoun`, `${layer}.${head} antecedent of a pronoun`]);
  await change(page, { view: "map", layer, head });
  expect(await page.$eval("#map >>> .name-button", (button) => button.firstChild?.nextSibling?.textContent)).toBe("antecedent of a pronoun");
});

test("every name of a rule or a card is short below a small map", () => {
  const onCards = kBuiltIn.flatMap((model) => cardOf(model).probes);
  const finding = { on: "card", value: 1, threshold: 0.5, count: 8, metric: undefined, formula: "", source: "" } as const;
  for (const { name } of [...kRules, ...onCards])
    expect(nameOf([{ ...finding, name }]).short.length, name).toBeLessThanOrEqual("position #".length);
});

test("no name is cut off below a small map", async () => {
  const page = await views.open([{ text: kSentence }]);
  const expectWhole = async (width: number): Promise<void> => {
    await page.setViewport({ width, height: 900 });
    await page.$eval("#map", (map) => (map as AttentionMap).ready());
    await labelsOf(page);
    const cut = await page.$$eval("#map >>> .badge", (all) => all
      .filter((badge) => badge.scrollHeight > badge.clientHeight || badge.scrollWidth > badge.clientWidth)
      .map(({ textContent }) => textContent));
    expect(cut, `${width} pixels`).toEqual([]);
  };
  const widths = [360, 374, 390, 700, 800, 900, 1000, 1100];
  for (const width of widths) await expectWhole(width);
  const { text, textPair } = kUsualPair;
  await change(page, { model: "tiny-bert", text, textPair });
  for (const width of widths) await expectWhole(width);
});

test("heads are called by the first name whose threshold is reached on these maps, and by no other", async () => {
  const page = await views.open([{ text: "Anna", view: "map" }]);
  const probe = await probeScores();
  const counts = new Map<string, number>();
  for (const text of [kSentence, "one two three four one two three four one two three four", "Hi", "Tom ran. Tom ran home."]) {
    await change(page, { text, view: "grid" });
    // Names come a moment after the maps.
    await new Promise((later) => setTimeout(later, 500));
    for (const [layer, row] of (await labelsOf(page)).entries())
      for (const [head, label] of row.entries()) {
        const [expected = "no clear pattern"] = namesOf(text, layer, head, probe);
        expect(nameIn(label), `${text}: ${layer}.${head}`).toBe(expected);
        counts.set(expected, (counts.get(expected) ?? 0) + 1);
      }
  }
  expect(counts.size).toBeGreaterThan(6);
});

test("a name is given only where its metric reaches the threshold, for random maps", () => {
  let seed = 3;
  const random = (): number => (seed = (seed * 16807) % 2147483647) / 2147483647;
  const definitions = new Map(views.engine.metrics().map((metric) => [metric.name, metric]));
  let named = 0;
  for (let round = 0; round < 200; round++) {
    const size = 4 + Math.floor(random() * 9);
    const sharp = random() * 12;
    const tokens = Array.from({ length: size }, () => Math.floor(random() * size));
    const diagonal = Math.floor(random() * 3) - 1;
    const data = Array.from({ length: size }, (_, row) => {
      const bonus = (col: number): number => (row - col === diagonal ? 0.5 : 0);
      const raw = Array.from({ length: size }, (__, col) => Math.exp(sharp * (random() + bonus(col))));
      const sum = raw.reduce((total, value) => total + value);
      return raw.map((value) => value / sum);
    }).flat();
    const weights = { data, shape: [size, size] };
    const [values] = views.engine.headMetrics(weights, { tokens });
    const [rows] = views.engine.headMetricCounts(weights, { tokens });
    if (!values || !rows) throw new Error("no metrics");
    const names = Object.keys(values) as MetricName[];
    const scores = Object.fromEntries(names.map((name) => [name, { value: values[name], rows: rows[name] }])) as Scores;
    const { name, findings, missed } = nameOf(inOrder(measure("text", scores, true, definitions)));
    expect(name).toBe(findings[0]?.name ?? "no clear pattern");
    for (const { metric, value, threshold, formula, source } of [...findings, ...missed]) {
      expect(value).toBe(values[metric as MetricName]);
      expect(threshold).toBe(kRules.find((rule) => rule.metric === metric)?.threshold);
      expect([formula, source]).not.toContain("");
    }
    expect(findings.every(({ value, threshold }) => value >= threshold)).toBe(true);
    expect(missed.every(({ value, threshold }) => value < threshold)).toBe(true);
    named += findings.length;
  }
  expect(named).toBeGreaterThan(40);
});

test("the name opens its reasons, Escape closes them, and silencing renames nothing", async () => {
  const [layer, head] = bestHead("previous token");
  const page = await views.open([{ text: kSentence, view: "map", layer, head }]);
  await page.waitForFunction(() => document.querySelector("#map")?.shadowRoot?.querySelector(".name-button"));
  await page.$eval("#map >>> .name-button", (button) => (button as HTMLElement).focus());
  await page.keyboard.press("Enter");
  const words = await page.$eval("#map >>> .reasons:popover-open", (popover) => popover.textContent ?? "");
  const { previous } = scoresOf(kSentence, layer, head);
  for (const part of [`${(previous?.value ?? NaN).toFixed(2)} ≥ 0.60`, "mean_{i>=1} A[i,i-1]", "TransformerLens", "tiny/card.json", "unchanged model"])
    expect(words).toContain(part);
  expect(await axe(page)).toEqual([]);
  await shoot(page, "names-reasons");
  await page.keyboard.press("Escape");
  expect(await page.$("#map >>> .reasons:popover-open")).toBeNull();
  expect(await stateOf(page, "view")).toBe("map");
  await change(page, { ablate: `${layer}.${head}` });
  await new Promise((later) => setTimeout(later, 400));
  expect(await page.$eval("#map >>> .name-button", (named) => named.textContent)).toContain("previous token");
});

test("given weights are named by their maps alone, and scores that are no weights by nothing", async () => {
  const weights = [Array.from({ length: 6 }, (_, row) =>
    Array.from({ length: 6 }, (__, col) => Number(col === Math.max(row - 1, 0))))];
  const page = await views.open([{ weights, heads: "0.0", tokens: ["a", "b", "c", "d", "e", "f"] }]);
  await (await seen(page, "#map >>> .ask")).click();
  expect((await labelsOf(page))[0]?.[0]).toMatch(/^Layer 0, head 0, previous token, marked: /);
  await change(page, { weights: weights.map((head) => head.map((row) => row.map((value) => 3 * value))) });
  await page.waitForFunction(() => document.querySelector("#map")?.shadowRoot?.querySelector(".thumb")?.getAttribute("aria-label")?.includes("no clear pattern"));
});

test.each([["tiny-bert", "light"], ["tiny-bert", "dark"], ["tiny-translator", "light"]])("%s, %s: all heads have names, and axe finds nothing", async (model, theme) => {
  const page = await views.open([{ model, text: "Le chat voit un chien.", source: "The cat sees a dog.", attention: "cross", theme }]);
  const labels = (await labelsOf(page)).flat();
  expect(labels.every((label) => nameIn(label) !== "")).toBe(true);
  expect(await axe(page)).toEqual([]);
});

test("pictures of the grid with names", async () => {
  for (const [view, name] of [[desktop, "names-desktop"], [phone, "names-phone"]] as const) {
    const page = await views.open([{ text: kSentence, heads: "1.2 3.4" }], view);
    await labelsOf(page);
    await shoot(page, name);
  }
});
