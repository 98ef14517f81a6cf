// SPDX-License-Identifier: Apache-2.0
/** The finding in words: what it says of a row holds in the row. */
import { expect, test } from "vitest";
import { findingOf, percent, type FindingRow } from "../../web/heads/finding.js";

const plain = (text: string): string => text.replace(/[\u2068\u2069]/g, "");

function rowOf(weights: readonly number[], more: Partial<FindingRow> = {}): FindingRow {
  const tokens = weights.map((_, i) => ` t${i}`);
  const row = weights.length - 1;
  const map = { weights, tokens, keyTokens: tokens, sumsToOne: true, isSelf: true };
  return { ...map, row, sees: () => true, head: "3.4", ...more };
}

const told = (weights: readonly number[], more: Partial<FindingRow> = {}): string =>
  plain(findingOf(rowOf(weights, more)).text);

test("every kind of row has its sentence", () => {
  expect(told([0.995, 0.005], { name: "antecedent" })).toBe("‘t1’ looks at ‘t0’: 99.5 % in head 3.4, antecedent.");
  expect(told([0.1, 0.9])).toBe("‘t1’ looks at itself: 90 % in head 3.4.");
  expect(told([0.1, 0.9], { isSelf: false })).toBe("‘t1’ looks at ‘t1’: 90 % in head 3.4.");
  expect(told([0.5, 0.4, 0.1])).toBe("‘t2’ shares its look between ‘t0’ (50 %) and ‘t1’ (40 %) in head 3.4.");
  expect(told(Array.from({ length: 10 }, () => 0.1))).toContain("over 9 tokens; none gets more than 10 %");
  expect(told([1, 0], { sees: (key) => key === 0 })).toBe("‘t1’ can only look at ‘t0’ in head 3.4.");
  expect(told([0.5, 0.5], { sees: () => false })).toBe("‘t1’ has nothing to look at in head 3.4.");
  expect(told([NaN, NaN])).toBe("No weight of ‘t1’ is known in head 3.4.");
  expect(told([0.3, NaN])).toBe(
    "The largest known weight of ‘t1’ is on ‘t0’: 0.3000 (1 of 2 are unknown) in head 3.4.",
  );
  expect(told([-2, 3], { sumsToOne: false })).toBe("The largest weight of ‘t1’ is on itself: 3.0000 in head 3.4.");
  expect(told([0, 0])).toBe("‘t1’ gives weight to no token in head 3.4.");
  const patches = ["[CLS]", "0,0", "0,1"];
  expect(told([0.1, 0.2, 0.7], { row: 0, tokens: patches, keyTokens: patches, isPicture: true }))
    .toBe("‘[CLS]’ looks at patch 0,1: 70 % in head 3.4.");
});

test("a percentage is whole or nothing only if the share is", () => {
  expect([1, 0.9999, 0.0001, 0].map(percent)).toEqual(["100 %", "over 99.9 %", "under 0.1 %", "0 %"]);
});

test("what the sentence says of random rows holds in them", () => {
  let state = 7;
  const random = (): number => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) / 2 ** 32;
  const kinds = new Set<string>();
  for (let round = 0; round < 4000; round++) {
    const length = 2 + Math.floor(random() * 20);
    const sharp = random() * 12;
    const seen = Array.from({ length }, () => random() < 0.9);
    const raw = seen.map((isSeen) => (isSeen ? Math.exp(sharp * random()) : 0));
    const sum = raw.reduce((all, weight) => all + weight, 0);
    const weights = raw.map((weight) => (sum > 0 ? Math.fround(weight / sum) : 0));
    const text = told(weights, { sees: (key) => seen[key] ?? false, isSelf: false });
    const sorted = weights.filter((_, key) => seen[key]).sort((a, b) => b - a);
    const top = sorted[0] ?? NaN;
    const claims = [...text.matchAll(/‘t(\d+)’(?: \(|: |, )((?:over |under )?[\d.]+) %/g)];
    claims.forEach(([, key, number = ""], i) => {
      const weight = weights[Number(key)] ?? NaN;
      expect(seen[Number(key)], text).toBe(true);
      expect(weight, text).toBe(sorted[i]);
      const share = Number(number.replace(/\D+ /, ""));
      if (number.startsWith("over")) expect(weight * 100, text).toBeGreaterThan(share);
      else if (number.startsWith("under")) expect(weight * 100, text).toBeLessThan(share);
      else expect(Math.abs(weight * 100 - share), text).toBeLessThanOrEqual(0.0501);
      if (number === "100") expect(weight, text).toBeGreaterThan(0.99998);
    });
    const spread = /over (\d+) tokens/.exec(text);
    if (spread) {
      const count = Number(spread[1]);
      const mass = (most: number): number => sorted.slice(0, most).reduce((all, weight) => all + weight, 0);
      expect(mass(count), text).toBeGreaterThanOrEqual(0.9 - 2e-5);
      expect(mass(count - 1), text).toBeLessThan(0.9);
      expect(top, text).toBeLessThan(0.7);
    }
    expect(text.includes("nothing to look at"), text).toBe(sorted.length === 0);
    expect(text.includes("can only look at"), text).toBe(sorted.length === 1);
    if (sorted.length > 1) expect(claims.length + (text.includes("none gets") ? 1 : 0), text).toBeGreaterThan(0);
    kinds.add(sorted.length < 2 ? "few" : spread ? "spread" : String(claims.length));
  }
  expect([...kinds].sort()).toEqual(["1", "2", "3", "few", "spread"]);
});

test("rows that are no shares or not wholly known are told by their largest weight", () => {
  let state = 11;
  const random = (): number => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) / 2 ** 32;
  for (let round = 0; round < 1000; round++) {
    const isSigned = random() < 0.5;
    const length = 2 + Math.floor(random() * 9);
    const weights = Array.from({ length }, () => (random() < 0.3 ? NaN : random() * 3 - (isSigned ? 1.5 : 0)));
    const known = weights.filter((weight) => !Number.isNaN(weight));
    const text = told(weights, { sumsToOne: false, isSelf: false });
    expect(text).not.toContain("%");
    if (known.length === 0) expect(text).toContain("No weight of");
    else {
      const [, key, value = ""] = /is on ‘t(\d+)’: (−?[\d.]+)/.exec(text) ?? [];
      expect(weights[Number(key)], text).toBe(Math.max(...known));
      expect(Number(value.replace("−", "-")), text).toBeCloseTo(Math.max(...known), 4);
      const missing = length - known.length;
      expect(text.includes(`${missing} of ${length} are unknown`), text).toBe(missing > 0);
    }
  }
});
