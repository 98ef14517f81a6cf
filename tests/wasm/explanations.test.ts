// SPDX-License-Identifier: Apache-2.0
/** Explanations and changed runs through the package: PyTorch's numbers (tests/golden/make_explained.py), in both builds and in a worker. */
import {
  load, type AsyncEngine, type AsyncModel, type AsyncModelAttention, type AttendOptions, type Engine, type Model,
  type ModelAttention, type StreamPart, type Tensor,
} from "headlens";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { expectedOf, filesOf, folderOf, inputOf, kModels } from "./golden-models.js";
import { bits, expectClose, expectError, floatsOf, kEpsilon, maxNorm, readSafetensors, tensorOf, type Safetensors } from "./support.js";

const explainedOf = (name: string): Safetensors => readSafetensors(`${folderOf(name)}/explained.safetensors`);

const named = (parts: readonly StreamPart[]): string => parts.map(({ kind, layer, head }) =>
  [kind === "feedForward" ? "feed_forward" : kind, layer, head].filter((item) => item !== undefined).join(".")).join();

const listOf = (golden: Safetensors, name: string): number[] => Array.from(tensorOf(golden, name).data, Number);

type AnyAttention = ModelAttention | AsyncModelAttention;

async function expectScores(golden: Safetensors, seen: AnyAttention): Promise<void> {
  const [layer = 0, head = 0, query = 0, key = 0, against = 0] = listOf(golden, "score.at");
  const terms = floatsOf(golden, "score.terms"), tolerance = 256 * kEpsilon * maxNorm(terms.data);
  const cell = await seen.explain({ layer, head, query, key });
  expect(named(cell.queryParts)).toBe(golden.metadata.query_parts);
  expect(named(cell.keyParts)).toBe(golden.metadata.key_parts);
  expectClose("terms", cell.terms, terms, tolerance);
  const pair = await seen.explain({ layer, head, query, key, against });
  expectClose("terms against", pair.terms, floatsOf(golden, "score.against"), tolerance);
  const row = await seen.explain({ layer, head, query });
  const size = 256 * kEpsilon * maxNorm(floatsOf(golden, "row.by_key").data);
  expectClose("by query", row.byQuery, floatsOf(golden, "row.by_query"), size);
  expectClose("by key", row.byKey, floatsOf(golden, "row.by_key"), size);
  expectClose("scores", row.scores, floatsOf(golden, "row.scores"), size);
  expect(Math.abs(cell.score - (row.scores.data[key] as number))).toBeLessThanOrEqual(0);
  const map = await seen.map(layer, head, { rows: [query, query + 1] });
  expectClose("weights", row.steps.weights, { data: map.data, shape: row.scores.shape }, 8 * kEpsilon);
  expect(cell.steps.weights).toBe(row.steps.weights.data[key]);
  const masked = row.steps.maskedScores.data;
  expect(pair.steps.maskedScores).toBeCloseTo((masked[key] as number) - (masked[against] as number), 4);
}

async function expectOutputs(golden: Safetensors, seen: AnyAttention): Promise<void> {
  const [layer = 0, head = 0, query = 0] = listOf(golden, "score.at");
  const within = (name: string, got: Tensor, size = 4 * maxNorm(floatsOf(golden, name).data)): void =>
    expectClose(name, got, floatsOf(golden, name), 256 * kEpsilon * size);
  const output = await seen.explainOutput({ layer, head, query });
  expect(named(output.parts)).toBe(golden.metadata.value_parts);
  within("output.written", output.written);
  within("output.terms", output.terms);
  const sources = await seen.sources({ layer, head });
  expect([sources.queryParts, sources.keyParts, sources.valueParts].map(named))
    .toEqual([golden.metadata.query_parts, golden.metadata.key_parts, golden.metadata.value_parts]);
  const rows = (output.terms.shape[1] as number) * maxNorm(floatsOf(golden, "row.by_key").data);
  within("sources.query", sources.query, rows);
  within("sources.key", sources.key, rows);
  within("sources.value", sources.value);
}

async function expectLogits(golden: Safetensors, seen: AnyAttention): Promise<void> {
  if (!golden.tensors.has("lens")) {
    await expectError(() => seen.predictions(), "unsupported", /has no logits/);
    return expectError(() => seen.contributions(), "unsupported", /has no logits/);
  }
  const within = (name: string, got: Tensor): void =>
    expectClose(name, got, floatsOf(golden, name), 256 * kEpsilon * maxNorm(floatsOf(golden, name).data));
  within("lens", await seen.logits({ layer: 1 }));
  const [layer = 0, head = 0] = listOf(golden, "score.at");
  if (!golden.tensors.has("logits.at")) {
    await expectError(() => seen.contributions(), "unsupported", /no sum over its parts/);
    return expectError(() => seen.written({ layer, head }), "unsupported", /no sum over its parts/);
  }
  const [position = 0, ...tokens] = listOf(golden, "logits.at");
  const contributions = await seen.contributions({ position, tokens });
  expect(named(contributions.parts)).toBe(golden.metadata.logit_parts);
  within("logits.terms", contributions.terms);
  within("logits.head", await seen.logits({ layer, head }));
  await expectExtremes(seen, { layer, head, position });
}

async function expectExtremes(
  seen: AnyAttention, at: { layer: number; head: number; position: number },
): Promise<void> {
  const { position, ...ofHead } = at;
  const rows = [position, position + 1] as const;
  const { data } = await seen.logits({ rows }), own = (await seen.logits({ rows, ...ofHead })).data;
  const best = await seen.predictions({ position, top: 3 });
  const sorted = [...data].sort((a, b) => b - a), byHead = [...own].sort((a, b) => b - a);
  expect(best.map(({ logit }) => logit)).toEqual(sorted.slice(0, 3));
  const total = data.reduce((sum, logit) => sum + Math.exp(logit - (sorted[0] as number)), 0);
  for (const { id, logit, probability } of best) {
    expect(data[id]).toBe(logit);
    expect(probability).toBeCloseTo(Math.exp(logit - (sorted[0] as number)) / total, 5);
  }
  const { likelier, lessLikely } = await seen.written({ ...at, top: 2 });
  expect(likelier.map(({ logit }) => logit)).toEqual(byHead.slice(0, 2));
  expect(lessLikely.map(({ logit }) => logit)).toEqual(byHead.slice(-2).reverse());
  const { tokens } = await seen.contributions({ position });
  expect(tokens.slice(0, 3).map(({ id }) => id)).toEqual(best.map(({ id }) => id));
}

/** Each change under its name in the golden file. */
function changesOf(golden: Safetensors): Record<string, AttendOptions> {
  const list = (name: string): number[] => listOf(golden, name);
  const keep = tensorOf(golden, "changed.mask.keep");
  const replacedTokens = list("changed.tokens");
  const output = floatsOf(golden, "changed.patch.output");
  return {
    temperature: { temperature: 0.7 }, sparsemax: { normalizer: "sparsemax" },
    mask: { attnMask: { data: Uint8Array.from(keep.data, Number), shape: keep.shape } },
    diagonals: { forbiddenDiagonals: list("changed.diagonals.offsets") },
    zero: { replacedTokens }, mean: { replacedTokens, replacement: "mean", replacedLayer: 0 },
    patch: { patches: [{ layer: 0, head: 1, positions: list("changed.patch.positions"), output }] },
  };
}

async function expectChanges(
  golden: Safetensors, model: Model | AsyncModel, seen: AnyAttention, input: Safetensors,
): Promise<void> {
  const [ids, about] = inputOf(input), [layer = 0, head = 0] = listOf(golden, "score.at");
  for (const [name, changes] of Object.entries(changesOf(golden))) {
    const hidden = floatsOf(golden, `changed.${name}`), tolerance = 64 * kEpsilon * maxNorm(hidden.data);
    const runs: AnyAttention[] = [await model.attend(ids, { ...about, ...changes }), await seen.again(changes)];
    for (const run of runs) {
      expectClose(name, await run.hidden(model.info.layers), hidden, tolerance);
      expectClose(`${name}: map`, await run.map(layer, head), floatsOf(golden, `changed.${name}.map`), tolerance);
      run.dispose();
    }
  }
}

async function expectAll(model: Model | AsyncModel, name: string): Promise<void> {
  const golden = explainedOf(name), [ids, about] = inputOf(expectedOf(name));
  const seen = await model.attend(ids, { ...about, keepParts: true });
  await expectScores(golden, seen);
  await expectOutputs(golden, seen);
  await expectLogits(golden, seen);
  await expectChanges(golden, model, seen, expectedOf(name));
  seen.dispose();
}

describe.each([["baseline", false], ["relaxed", false], ["baseline", true]] as const)("the %s build, in a worker: %s", (simd, worker) => {
  let engine: Engine | AsyncEngine;
  beforeAll(async () => { engine = worker ? await load({ simd, worker }) : await load({ simd }); });
  afterAll(() => engine.dispose());

  test.each(kModels)("%s is explained and changed as PyTorch does it", async (name) => {
    const model = await engine.loadModel(filesOf(name) as never);
    await expectAll(model, name);
    model.dispose();
  });

  test("a patch of another run, and one of the same", async () => {
    const model = await engine.loadModel("tiny");
    const texts = ["The cat sat on the mat.", "The dog sat on the mat."] as const;
    const seen: AnyAttention = await model.attend(texts[0], { keepParts: true });
    const from: AnyAttention = await model.attend(texts[1], { keepParts: true });
    const patchFrom = async (source: AnyAttention): Promise<AttendOptions> =>
      ({ keepParts: true, patches: [await model.patch({ from: source as never, layer: 1, head: 4 })] });
    const same = await seen.again(await patchFrom(seen));
    expect(bits(await same.logits())).toEqual(bits(await seen.logits()));
    const patched = await seen.again(await patchFrom(from));
    expect(await patched.logits()).not.toEqual(await seen.logits());
    expect(bits(await patched.map(1, 0))).toEqual(bits(await seen.map(1, 0)));
    expect(bits(await (await patched.again()).logits())).toEqual(bits(await seen.logits()));
    from.dispose();
    await expectError(() => model.patch({ from: from as never, layer: 1, head: 4 }), "disposed");
    model.dispose();
  });

  test.each(["zero", "mean"] as const)("what a head writes is a sum over parts where values are replaced (%s)", async (replacement) => {
    const model = await engine.loadModel("tiny");
    const text = "The queen saw the king and she laughed.", blank = 2;
    const seen = await model.attend(text, { keepParts: true, replacedTokens: [blank], replacement });
    const size = seen.tokens.length;
    for (let head = 0; head < model.info.heads; ++head) {
      const { written, terms } = await seen.explainOutput({ layer: 3, head, query: 6 });
      const all = [...terms.data], sum = all.reduce((of, term) => of + term, 0);
      const sizes = all.reduce((of, term) => of + Math.abs(term), 0);
      expect(Math.abs(sum - Math.hypot(...written.data))).toBeLessThan(1e-5 * sizes);
      expect(all.every((term, i) => i % size !== blank || term === 0)).toBe(replacement === "zero");
    }
    model.dispose();
  });

  test("predictions of pictures have the names of their labels", async () => {
    const model = await engine.loadModel(filesOf("vit") as never), [input] = inputOf(expectedOf("vit"));
    expect(model.info.labels).toEqual(["cat", "dog", "house"]);
    const seen = await model.attend(input, { keepParts: true });
    for (const { id, token } of await seen.predictions()) expect(token).toBe(model.info.labels?.[id]);
    expect((await seen.contributions({ tokens: [2] })).tokens[0]?.token).toBe("house");
    const other = await engine.loadModel("tiny");
    expect(other.info).not.toHaveProperty("labels");
    model.dispose();
    other.dispose();
  });

  test("again can be followed and stopped", async () => {
    const model = await engine.loadModel("tiny");
    const seen: AnyAttention = await model.attend("The cat sat on the mat.", { keepHidden: true });
    const shares: number[] = [];
    const run = await seen.again({ temperature: 2, onProgress: (done) => shares.push(done) });
    expect(shares.at(-1)).toBe(1);
    expect(bits(await run.logits())).toEqual(bits(await (await seen.again({ temperature: 2 })).logits()));
    await expectError(() => seen.again({ signal: AbortSignal.abort() }), "aborted");
    model.dispose();
  });
});

test("an object of another engine, or of none, is no argument", async () => {
  const [engine, other] = [await load({ worker: true }), await load({ worker: true })];
  const model = await engine.loadModel("tiny");
  const from = await (await other.loadModel("tiny")).attend("The cat", { keepParts: true });
  await expectError(() => model.patch({ from, layer: 0, head: 0 }), "option", /another engine/);
  await expectError(() => model.patch({ from: {} as never, layer: 0, head: 0 }), "option", /from is Object, expected a run/);
  engine.dispose();
  other.dispose();
});

describe("what is wrong is named", () => {
  let engine: Engine;
  let seen: ModelAttention;
  beforeAll(async () => {
    engine = await load();
    seen = (await engine.loadModel("tiny")).attend("The cat sat on the mat.", { keepParts: true });
  });
  afterAll(() => engine.dispose());

  test.each<[string, object, string, RegExp]>([
    ["explain", {}, "value", /layer is undefined/],
    ["explain", { layer: 4, head: 0, query: 1 }, "value", /layer is 4, expected a whole number from 0 to 3/],
    ["explain", { layer: 0, head: 0, query: 8 }, "value", /query is 8/],
    ["explain", { layer: 0, head: 0, query: 1, key: 0.5 }, "value", /key is 0.5/],
    ["explain", { layer: 0, head: 0, query: 1, against: 1 }, "option", /against needs key/],
    ["explain", { layer: 0, head: 0, query: 1, keys: 1 }, "option", /unknown option "keys"; did you mean key/],
    ["explainOutput", { layer: 0, head: 8, query: 1 }, "value", /head is 8/],
    ["sources", { layer: -1, head: 0 }, "value", /layer is -1/],
    ["predictions", { position: 8 }, "value", /position is 8/],
    ["predictions", { layer: 5 }, "value", /layer is 5/],
    ["predictions", { top: 0 }, "value", /top is 0/],
    ["written", { layer: 0, head: 0, top: 1.5 }, "value", /top is 1.5/],
    ["contributions", { tokens: [2048] }, "value", /tokens is \[2048\], expected an array of ids, 0 to 2047/],
    ["logits", { head: 1 }, "option", /head needs layer/],
    ["logits", { layer: 4, head: 1 }, "value", /layer is 4/],
    ["again", { truncate: true }, "option", /unknown option "truncate"/],
    ["again", { patches: [{}] }, "value", /patches\[0\].layer is undefined/],
    ["again", { patches: [{ layer: 0, head: 0, positions: [0], output: { data: [1], shape: [1, 1] } }] }, "shape", /output has shape \(1, 1\), expected \(1, 16\)/],
    ["again", { patches: [{ layer: 0, head: 0, positions: [9], output: { data: new Float32Array(16), shape: [1, 16] } }] }, "value", /token of a patch is 9/],
    ["again", { patches: {} }, "option", /patches is Object/],
    ["again", { forbiddenDiagonals: [] }, "shape", /forbiddenDiagonals has shape/],
    ["again", { attnMask: { data: [1, 2], shape: [2] } }, "shape", /attnMask has shape/],
    ["again", { temperature: 0 }, "value", /temperature is 0/],
    ["again", { normalizer: "max" }, "option", /normalizer is "max"/],
    ["again", { topK: 2 }, "option", /topK needs normalizer "top_k"/],
  ])("%s(%j)", async (method, options, code, message) => {
    await expectError(() => seen[method as "explain"](options as never), code as never, message);
  });

  test("parts have to be kept", async () => {
    const bare = seen.again({ temperature: 2 });
    await expectError(() => bare.sources({ layer: 0, head: 0 }), "option", /attend with `?keepParts/);
    await expectError(() => bare.predictions({ layer: 1 }), "option", /attend with `?keepHidden/);
  });
});
