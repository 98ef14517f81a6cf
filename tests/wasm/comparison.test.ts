// SPDX-License-Identifier: Apache-2.0
/** Differences of two runs and paths of two heads, held against what the runs themselves give, in both builds and in a worker. */
import {
  load, type AsyncEngine, type AsyncModel, type AsyncModelAttention, type Engine, type Model, type ModelAttention,
} from "headlens";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { filesOf } from "./golden-models.js";
import { bestHead } from "../cards.js";
import { bits, expectClose, expectError, kEpsilon } from "./support.js";

type AnyAttention = ModelAttention | AsyncModelAttention;
type AnyEngine = Engine | AsyncEngine;

const kTexts = ["The cat sat on the mat.", "The big cat sat on a mat."] as const;

const logSoftmax = (logits: Float32Array): number[] => {
  const largest = Math.max(...logits);
  const lse = largest + Math.log(logits.reduce((sum, logit) => sum + Math.exp(logit - largest), 0));
  return Array.from(logits, (logit) => logit - lse);
};

/** The longest list of pairs of equal ids in order, by the textbook's table. */
function longest(a: readonly number[], b: readonly number[]): number {
  let row = new Array<number>(b.length + 1).fill(0);
  for (const id of a) {
    const next = [0];
    for (const [j, other] of b.entries()) {
      next.push(id === other ? (row[j] as number) + 1 : Math.max(row[j + 1] as number, next[j] as number));
    }
    row = next;
  }
  return row.at(-1) as number;
}

describe.each([["baseline", false], ["relaxed", false], ["baseline", true]] as const)("the %s build, in a worker: %s", (simd, worker) => {
  let engine: AnyEngine;
  let model: Model | AsyncModel;
  beforeAll(async () => {
    engine = worker ? await load({ simd, worker }) : await load({ simd });
    model = await engine.loadModel("tiny");
  });
  afterAll(() => engine.dispose());
  const compare = (a: AnyAttention, b: AnyAttention): ReturnType<AsyncEngine["difference"]> =>
    Promise.resolve((engine as Engine).difference(a as ModelAttention, b as ModelAttention)) as never;

  test("tokens are aligned, maps and predictions subtracted", async () => {
    const [a, b]: AnyAttention[] = [await model.attend(kTexts[0]), await model.attend(kTexts[1])];
    if (!a || !b) return;
    const difference = await compare(a, b);
    expect(difference.pairs).toHaveLength(longest(a.ids, b.ids));
    for (const [i, j] of difference.pairs) expect(a.ids[i]).toBe(b.ids[j]);
    const [before, after] = [await a.map(2, 5), await b.map(2, 5)];
    const [width, height] = [a.tokens.length, b.tokens.length];
    const cells = difference.pairs.flatMap(([i, j]) => difference.pairs.map(([k, l]) =>
      (after.data[j * height + l] as number) - (before.data[i * width + k] as number)));
    const count = difference.pairs.length;
    expectClose("map", await difference.map(2, 5), { data: cells, shape: [count, count] }, 8 * kEpsilon);
    const rows = await difference.map(2, 5, { rows: [1, 3] });
    expectClose("rows", rows, { data: cells.slice(count, 3 * count), shape: [2, count] }, 8 * kEpsilon);
    const { data } = await difference.divergences();
    for (const [n, [i, j]] of difference.pairs.entries()) {
      const logits = [await a.logits({ rows: [i, i + 1] }), await b.logits({ rows: [j, j + 1] })];
      const [p, q] = logits.map((x) => logSoftmax(x.data));
      const expected = (p ?? []).reduce((sum, lp, id) => sum + Math.exp(lp) * (lp - (q?.[id] ?? NaN)), 0);
      expect(Math.abs((data[n] ?? NaN) - expected)).toBeLessThan(1e-5 * (1 + expected));
    }
  });

  test("the tokens whose probability changes most", async () => {
    const a: AnyAttention = await model.attend(kTexts[0], { keepHidden: true });
    const b: AnyAttention = await a.again({ replacedTokens: [2] });
    const difference = await compare(a, b);
    const [p, q] = [await a.logits({ rows: [3, 4] }), await b.logits({ rows: [3, 4] })].map((x) => logSoftmax(x.data));
    const changes = (p ?? []).map((lp, id) => (q?.[id] ?? NaN) - lp);
    const { likelier, lessLikely } = await difference.predictionChanges({ pair: 3, top: 4 });
    expect(likelier[0]?.change).toBeCloseTo(Math.max(...changes), 4);
    expect(lessLikely[0]?.change).toBeCloseTo(Math.min(...changes), 4);
    for (const { id, change, before, after } of [...likelier, ...lessLikely]) {
      expect(change).toBeCloseTo(changes[id] ?? NaN, 4);
      expect(before).toBeCloseTo(Math.exp(p?.[id] ?? NaN), 6);
      expect(after).toBeCloseTo(Math.exp(q?.[id] ?? NaN), 6);
    }
    a.dispose(); // the difference shares the runs
    b.dispose();
    expect((await difference.predictionChanges({ pair: 3, top: 4 })).likelier).toEqual(likelier);
    difference.dispose();
    await expectError(() => difference.divergences(), "disposed");
  });

  test("a run does not differ from itself", async () => {
    const a: AnyAttention = await model.attend(kTexts[0]);
    const difference = await compare(a, a);
    expect((await difference.map(0, 1)).data.every((x) => x === 0)).toBe(true);
    expect((await difference.divergences()).data.every((x) => x === 0)).toBe(true);
  });

  test("the path from a previous-token head to an induction head", async () => {
    const text = "One two three. One two three.";
    const seen: AnyAttention = await model.attend(text, { keepParts: true });
    const shares: number[] = [];
    const [best, second] = await seen.paths({ rank: "induction", top: 2, onProgress: (done) => shares.push(done) });
    const [layer, head] = bestHead("previous token");
    expect(best).toMatchObject({ earlier: { layer, head }, later: { layer: 1 }, kind: "key" });
    const later = best?.later.head ?? NaN;
    const { previous = NaN, induction = NaN, score = NaN, share } = best ?? {};
    expect(previous).toBeGreaterThan(0.5);
    expect(score).toBeCloseTo(previous * induction * (share ?? NaN), 5);
    expect(score).toBeGreaterThanOrEqual(second?.score ?? NaN);
    expect(shares.at(-1)).toBe(1);
    // The same share as in the sources of the later head, and the composition score that its weights give.
    const { keyParts, key } = await seen.sources({ layer: 1, head: later });
    const at = keyParts.findIndex((part) => part.layer === layer && part.head === head);
    expect((key.data[at] ?? NaN) / key.data.reduce((sum, x) => sum + x, 0)).toBeCloseTo(share ?? NaN, 5);
    const [from, to] = [await model.layerWeights(0), await model.layerWeights(1)];
    const norms = { ...(from.norm && { earlierNorm: from.norm }), ...(to.norm && { laterNorm: to.norm }) };
    const scores = await engine.compositionScores(from.state, to.state, { numHeads: 8, ...norms });
    expect(scores.key[later]?.[head]).toBeCloseTo(best?.weights ?? NaN, 5);
    const all = await seen.paths({ layer: 1, head: later, top: 1000 });
    expect(all).toHaveLength(24);
    expect(all.every(({ later: to }) => to.layer === 1 && to.head === later)).toBe(true);
    await expectError(() => seen.paths({ signal: AbortSignal.abort() }), "aborted");
    expect(await seen.paths({ layer: 0, head: 4 })).toEqual([]);
  });

  test("what cannot be compared is refused", async () => {
    const tiny: AnyAttention = await model.attend("The cat", { keepParts: true });
    const gpt2 = await engine.loadModel(filesOf("gpt2") as never);
    const vit = await engine.loadModel(filesOf("vit_f16_bare") as never);
    const other: AnyAttention = await gpt2.attend([1, 2, 3]);
    const image: AnyAttention = await vit.attend({ data: new Float32Array(144), shape: [1, 12, 12] });
    await expectError(() => compare(tiny, other), "shape");
    await expectError(() => compare(other, image), "unsupported");
    await expectError(() => compare(other, {} as never), "option", /b is Object, expected a run of a model of this engine/);
    const same = await compare(image, image);
    expect(same.pairs).toHaveLength(image.tokens.length);
    await expectError(() => same.divergences(), "unsupported", /no logits/);
    const difference = await compare(tiny, tiny);
    await expectError(() => difference.map(4, 0), "value", /layer is 4/);
    await expectError(() => difference.map(0, 0, { rows: [0, 9] }), "value", /rows/);
    await expectError(() => difference.predictionChanges({ pair: 3 }), "value", /pair is 3, expected a whole number from 0 to 2/);
    await expectError(() => tiny.paths({ layer: 1 }), "option", /layer needs head/);
    await expectError(() => tiny.paths({ rank: "best" as never }), "option", /rank is "best"/);
    await expectError(() => other.paths(), "option", /keepParts/);
    expect(bits(await difference.map(0, 0))).toBeDefined();
  });
});
