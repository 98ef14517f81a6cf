// SPDX-License-Identifier: Apache-2.0
/**
 * The tutorials' examples through the npm API, with the numbers they print; the names are their rows. T0.5, T2.1 and T3.5 to T3.8 are
 * lessons: tests/web/lessons.test.ts.
 */
import { load, type Engine, type Model, type MultiheadAttention, type Tensor, type TensorLike } from "headlens";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  expectClose,
  expectError,
  floatsOf,
  kEpsilon,
  kGolden,
  layerState,
  maxNorm,
  random,
  readSafetensors,
  tensorOf,
  type Safetensors,
} from "./support.js";

let engine: Engine;
beforeAll(async () => {
  engine = await load();
});
afterAll(() => engine.dispose());

const golden = (name: string): Safetensors => readSafetensors(`${kGolden}/cases/${name}.safetensors`);

/** Numbers rounded as they are printed. */
function rounded(tensor: Tensor | undefined, digits: number): number[] {
  return [...(tensor?.data ?? [])].map((x) => Number(x.toFixed(digits)));
}

/** The layer with the parameters that a case holds, in its own layout. */
function layerOf(file: Safetensors, embedDim: number, numHeads: number): MultiheadAttention {
  const mha = engine.multiheadAttention({ embedDim, numHeads, bias: false, batchFirst: true });
  mha.loadStateDict({
    in_proj_weight: floatsOf(file, "in_proj_weight"),
    "out_proj.weight": floatsOf(file, "out_proj.weight"),
  });
  return mha;
}

function layer(
  embedDim: number,
  numHeads: number,
  options: { batchFirst?: boolean } = { batchFirst: true },
): MultiheadAttention {
  const mha = engine.multiheadAttention({ embedDim, numHeads, ...options });
  mha.loadStateDict(layerState(embedDim, embedDim));
  return mha;
}

/** Row sums of a tensor [..., S]. */
function rowSums({ data, shape }: Tensor): number[] {
  const width = shape.at(-1) ?? 1;
  return Array.from({ length: data.length / width }, (_, row) =>
    data.subarray(row * width, (row + 1) * width).reduce((a, b) => a + b, 0),
  );
}

function expectRowsSumToOne(weights: Tensor): void {
  for (const sum of rowSums(weights))
    expect(Math.abs(sum - 1)).toBeLessThanOrEqual((weights.shape.at(-1) ?? 1) * kEpsilon);
}

/** a [n,k] times b [k,m], in double: the textbook's product, to hold results against. */
function matmul(a: ArrayLike<number>, b: ArrayLike<number>, n: number, k: number, m: number): number[] {
  return Array.from({ length: n * m }, (_, i) => {
    let sum = 0;
    for (let j = 0; j < k; ++j) sum += (a[Math.floor(i / m) * k + j] ?? NaN) * (b[j * m + (i % m)] ?? NaN);
    return sum;
  });
}

function transposed(a: ArrayLike<number>, rows: number, cols: number): number[] {
  return Array.from({ length: rows * cols }, (_, i) => a[(i % rows) * cols + Math.floor(i / rows)] ?? NaN);
}

describe("T0: multi-head attention explained", () => {
  const kCatSatOnMat = [0.21, 0.85, 0.14, 0.62, 0.45, 0.33, 0.71, 0.18, 0.05, 0.12, 0.88, 0.09, 0.19, 0.79, 0.22, 0.58];

  test("T0.1 cat sat on mat: every step from embeddings to contextual embeddings", () => {
    const file = golden("t0_1_cat_sat_on_mat");
    const x = { data: kCatSatOnMat, shape: [4, 4] };
    const r = layerOf(file, 4, 1).forward(x, {
      averageAttnWeights: false,
      stages: ["q", "k", "v", "scores", "scaledScores", "maskedScores", "weights", "headOutputs"],
    });
    const w = floatsOf(file, "in_proj_weight").data;
    const near = (what: string, got: Tensor | undefined, data: number[], shape: number[]): void =>
      expectClose(what, got, { data, shape }, 8 * kEpsilon * Math.max(1, maxNorm(data)));
    const project = (part: number): number[] =>
      matmul(kCatSatOnMat, transposed(w.subarray(part * 16, part * 16 + 16), 4, 4), 4, 4, 4);
    const [q, k, v] = [project(0), project(1), project(2)];
    near("q", r.q, q, [1, 4, 4]);
    near("k", r.k, k, [1, 4, 4]);
    near("v", r.v, v, [1, 4, 4]);
    const scores = matmul(q, transposed(k, 4, 4), 4, 4, 4);
    near("scores", r.scores, scores, [1, 4, 4]);
    near(
      "scaled scores",
      r.scaledScores,
      scores.map((s) => s / 2),
      [1, 4, 4],
    );
    const weights = scores
      .map((s) => Math.exp(s / 2))
      .map((e, i, all) => e / all.slice(i - (i % 4), i - (i % 4) + 4).reduce((a, b) => a + b, 0));
    near("weights", r.weights, weights, [1, 4, 4]);
    near("head outputs", r.headOutputs, matmul(weights, v, 4, 4, 4), [1, 4, 4]);
    near("output", r.output, matmul(weights, v, 4, 4, 4), [4, 4]);
    expectClose("golden weights", r.weights, floatsOf(file, "expected.weights"), 16 * kEpsilon);
  });

  test("T0.2 the shapes of B2 T4 D8 H2", () => {
    const r = layer(8, 2).forward(random(2, 2, 4, 8), {
      averageAttnWeights: false,
      stages: ["q", "scores", "headOutputs"],
    });
    expect(r.q?.shape).toEqual([2, 2, 4, 4]);
    expect(r.scores?.shape).toEqual([2, 2, 4, 4]);
    expect(r.headOutputs?.shape).toEqual([2, 2, 4, 4]);
    expect(r.output.shape).toEqual([2, 4, 8]);
  });

  test("T0.3 weights of each head, not averaged", () => {
    const { weights } = layer(8, 2).forward(random(3, 2, 4, 8), { averageAttnWeights: false });
    expect(weights?.shape).toEqual([2, 2, 4, 4]);
    const [head0, head1] = [weights?.data.slice(0, 16), weights?.data.slice(16, 32)];
    expect(head0).not.toEqual(head1);
  });

  test("T0.4 the causal triangle, before the softmax and in each head by itself", () => {
    const x = random(4, 2, 4, 8);
    const mha = layer(8, 2);
    const { weights, maskedScores, scaledScores } = mha.forward(x, {
      isCausal: true,
      averageAttnWeights: false,
      stages: ["weights", "maskedScores", "scaledScores"],
    });
    if (!weights || !maskedScores || !scaledScores) throw new Error("a stage is missing");
    expectRowsSumToOne(weights);
    for (let i = 0; i < weights.data.length; ++i) {
      const isFuture = i % 4 > Math.floor(i / 4) % 4;
      expect(weights.data[i] === 0).toBe(isFuture);
      expect(maskedScores.data[i]).toBe(isFuture ? -Infinity : scaledScores.data[i]);
    }
  });
});

describe("T1: multi-head attention", () => {
  test("T1.1 padding and the causal flag: (4,16,128), H8", () => {
    const lengths = [16, 11, 7, 3];
    const padding = { data: lengths.flatMap((n) => Array.from({ length: 16 }, (_, s) => s >= n)), shape: [4, 16] };
    const { output, weights } = layer(128, 8).forward(random(11, 4, 16, 128), {
      keyPaddingMask: padding,
      isCausal: true,
      averageAttnWeights: false,
    });
    expect(output.shape).toEqual([4, 16, 128]);
    expect(weights?.shape).toEqual([4, 8, 16, 16]);
    if (!weights) return;
    expectRowsSumToOne(weights);
    weights.data.forEach((w, i) => {
      const [s, t, b] = [i % 16, Math.floor(i / 16) % 16, Math.floor(i / (8 * 256))];
      expect(w === 0).toBe(s > t || s >= (lengths[b] ?? 0));
    });
  });

  test("T1.2 sequence first: averaged weights by default, each head's on request", () => {
    const mha = layer(128, 8, {});
    const x = random(12, 16, 4, 128);
    const { output, weights: mean } = mha.forward(x);
    const { weights: each } = mha.forward(x, { averageAttnWeights: false });
    expect(output.shape).toEqual([16, 4, 128]);
    expect(mean?.shape).toEqual([4, 16, 16]);
    expect(each?.shape).toEqual([4, 8, 16, 16]);
    const average = Array.from(mean?.data ?? [], (_, i) => {
      let sum = 0;
      for (let h = 0; h < 8; ++h) sum += each?.data[(Math.floor(i / 256) * 8 + h) * 256 + (i % 256)] ?? NaN;
      return sum / 8;
    });
    expectClose("mean weights", mean, { data: average, shape: [4, 16, 16] }, 8 * kEpsilon);
    expect(mha.forward(x, { needWeights: false }).weights).toBeUndefined();
  });

  test("T1.3 cross-attention: (2,12,256) on (2,20,256), H8", () => {
    const memory = random(14, 2, 20, 256);
    const { output, weights } = layer(256, 8).forward(random(13, 2, 12, 256), memory, memory, {
      averageAttnWeights: false,
    });
    expect(output.shape).toEqual([2, 12, 256]);
    expect(weights?.shape).toEqual([2, 8, 12, 20]);
    if (weights) expectRowsSumToOne(weights);
  });

  test("T1.4 D not divisible by H names both", () =>
    expectError(
      () => engine.multiheadAttention({ embedDim: 130, numHeads: 8 }),
      "shape",
      "embedDim",
      "numHeads",
      /\b130\b/,
      /\b8\b/,
    ));

  test("T1.5 seeded dropout on the weights", () => {
    const mha = engine.multiheadAttention({ embedDim: 32, numHeads: 4, batchFirst: true, dropoutP: 0.25 });
    mha.loadStateDict(layerState(5, 32));
    const x = random(15, 2, 24, 32);
    const run = (seed: number): Tensor & { plain: Tensor } => {
      const { droppedWeights, weights } = mha.forward(x, {
        seed,
        averageAttnWeights: false,
        stages: ["weights", "droppedWeights"],
      });
      if (!droppedWeights || !weights) throw new Error("a stage is missing");
      return { ...droppedWeights, plain: weights };
    };
    const first = run(7);
    expect(run(7)).toEqual(first);
    expect(run(8).data).not.toEqual(first.data);
    let dropped = 0;
    first.data.forEach((w, i) => {
      if (w === 0) ++dropped;
      else expect(Math.abs(w - (first.plain.data[i] ?? NaN) / 0.75)).toBeLessThanOrEqual(2 * kEpsilon);
    });
    // Of n cells a quarter goes: five standard deviations around it.
    const n = first.data.length;
    expect(Math.abs(dropped - n / 4)).toBeLessThan(5 * Math.sqrt(n * 0.25 * 0.75));
  });

  test("T1.5 a fully masked row gives zeros, never NaN", () => {
    const attnMask = { data: Array.from({ length: 16 }, (_, i) => Math.floor(i / 4) === 2), shape: [4, 4] };
    const mha = engine.multiheadAttention({ embedDim: 8, numHeads: 2, batchFirst: true, bias: false });
    const state = layerState(8, 8);
    mha.loadStateDict({
      in_proj_weight: state.in_proj_weight as Tensor,
      "out_proj.weight": state["out_proj.weight"] as Tensor,
    });
    const { output, weights } = mha.forward(random(16, 1, 4, 8), { attnMask, averageAttnWeights: false });
    expect(weights?.data.subarray(8, 12)).toEqual(new Float32Array(4));
    expect(output.data.subarray(16, 24)).toEqual(new Float32Array(8));
    expect(output.data.every(Number.isFinite)).toBe(true);
  });

  test("T1.6 four times 768 squared parameters", () => {
    expect(engine.multiheadAttention({ embedDim: 768, numHeads: 12, bias: false }).parameterCount).toBe(2_359_296);
    expect(engine.multiheadAttention({ embedDim: 768, numHeads: 12 }).parameterCount).toBe(4 * 768 * 768 + 4 * 768);
  });
});

describe("T2: heads that specialise", () => {
  let model: Model;
  beforeAll(async () => {
    model = await engine.loadModel("tiny");
  });
  afterAll(() => model.dispose());

  /** The rows of a causal map, each cut off after its own token. */
  const rowsOf = ({ data, shape: [length = 0] }: Tensor): Float32Array[] =>
    Array.from({ length }, (_, t) => data.subarray(t * length, t * length + t + 1));
  const mean = (values: number[]): number => values.reduce((a, b) => a + b, 0) / values.length;
  const entropy = (row: Float32Array): number => row.reduce((sum, w) => sum - (w > 0 ? w * Math.log(w) : 0), 0);

  test("T2.2 previous token, induction [A][B]…[A] → [B], spread wide: each head by itself", () => {
    // <s> and 32 tokens drawn at random, twice; 16 such rows, and PyTorch's scores on them.
    const file = readSafetensors(`${kGolden}/built_in/tiny.safetensors`);
    const { data, shape: [texts = 0, length = 0] } = tensorOf(file, "repeats");
    const half = (length - 1) / 2;
    const kScores: Record<string, (rows: Float32Array[]) => number> = {
      previous: (rows) => mean(rows.slice(1).map((row) => row.at(-2) ?? NaN)),
      // The second time round, the token after the first occurrence of this one.
      induction: (rows) => mean(rows.slice(half + 1).map((row) => row.at(-half) ?? NaN)),
      entropy_normalized: (rows) => mean(rows.slice(1).map((row) => entropy(row) / Math.log(row.length))),
    };
    const heads = [[0, 2], [1, 4], [0, 6]] as const;
    const maps = heads.map((): Float32Array[][] => []);
    for (let text = 0; text < texts; ++text) {
      const attention = model.attend([...data.subarray(text * length, (text + 1) * length)]);
      for (const [i, [layer, head]] of heads.entries()) maps[i]?.push(rowsOf(attention.map(layer, head)));
      attention.dispose();
    }
    const scores = Object.entries(kScores).map(([name, score]) => maps.map((all, i) => {
      const [layer, head] = heads[i] ?? [0, 0];
      const value = mean(all.map(score));
      expect(Math.abs(value - (floatsOf(file, name).data[layer * model.info.heads + head] ?? NaN))).toBeLessThan(1e-4);
      return value;
    }));
    const [previous = [], induction = [], breadth = []] = scores;
    const expectOnly = (values: number[], which: number, least: number): void =>
      expect(values.map((value) => value > least)).toEqual(heads.map((_, i) => i === which));
    expectOnly(previous, 0, 0.95);
    expectOnly(induction, 1, 0.85);
    expectOnly(breadth, 2, 0.6);
  });

  test("T2.2 a link of its own: the verbs look at their subject", () => {
    const attention = model.attend("The cat sat on the mat because it was tired.");
    try {
      const { data, shape } = attention.map(3, 2);
      const at = (query: string, key: string): number =>
        data[attention.tokens.indexOf(query) * (shape[1] ?? 0) + attention.tokens.indexOf(key)] ?? NaN;
      expect(at(" sat", " cat")).toBeGreaterThan(0.5);
      expect(at(" was", " cat")).toBeGreaterThan(0.9);
      expect(at(" was", " mat")).toBeLessThan(0.05);
    } finally {
      attention.dispose();
    }
  });
});

describe("T3: how transformers think", () => {
  const kPrinted = [
    0.2352, 0.2783, 0.2205, 0.2659, 0.2094, 0.31, 0.2795, 0.2011, 0.336, 0.2504, 0.2338, 0.1797, 0.3234, 0.2881, 0.2501,
    0.1385,
  ];

  test("T3.1 seed 123: the printed weights, from Q, K and V", () => {
    const file = golden("t3_1_self_attention");
    const { weights, output } = engine.scaledDotProductAttention(
      floatsOf(file, "query"),
      floatsOf(file, "key"),
      floatsOf(file, "value"),
      { needWeights: true },
    );
    expect(rounded(weights, 4)).toEqual(kPrinted);
    expect(output.shape).toEqual([4, 8]);
  });

  test("T3.1 the same from token ids: embeddings as printed, then the layer", () => {
    const file = golden("t3_1_from_embeddings");
    const embedding = engine.embedding();
    embedding.loadStateDict({ weight: floatsOf(file, "query") });
    const { output: x } = embedding.forward({ data: [0, 1, 2, 3], shape: [4] });
    expect(x.shape).toEqual([4, 16]);
    expect(rounded(x, 4).slice(0, 4)).toEqual([0.3374, -0.1778, -0.3035, -0.588]);
    expect(rounded(x, 4).slice(-4)).toEqual([-0.6596, -0.7979, 0.1838, 0.2293]);
    const { weights } = layerOf(file, 16, 2).forward(x, { averageAttnWeights: false });
    expect(weights?.shape).toEqual([2, 4, 4]);
    expect(rounded(weights, 4).slice(0, 16)).toEqual(kPrinted);
    expect(rounded(weights, 4).slice(16)).toEqual(new Array(16).fill(0.25));
  });

  /** Attention of one query with the scores given: width 1, q = 1, k = the scores. */
  function withScores(scores: number[], values: number[]): { weights: Tensor | undefined; output: Tensor } {
    const one: TensorLike = { data: [1], shape: [1, 1] };
    const n = scores.length;
    return engine.scaledDotProductAttention(
      one,
      { data: scores, shape: [n, 1] },
      { data: values, shape: [n, values.length / n] },
      { scale: 1, needWeights: true },
    );
  }

  test("T3.2 softmax of [2,1,0]", () => {
    expect(rounded(withScores([2, 1, 0], [0, 0, 0]).weights, 2)).toEqual([0.67, 0.24, 0.09]);
  });

  test.each([
    [
      [0.7, 0.2, 0.1],
      [2, 0, 0, 2, 1, 1],
      [1.5, 0.5],
    ],
    [
      [0.6, 0.3, 0.1],
      [1, 0, 0, 2, 3, 1],
      [0.9, 0.7],
    ],
  ])("T3.2 %j blends the values %j to %j", (weights, values, expected) => {
    const r = withScores(weights.map(Math.log), values);
    expectClose("weights", r.weights, { data: weights, shape: [1, 3] }, 4 * kEpsilon);
    expectClose("output", r.output, { data: expected, shape: [1, 2] }, 8 * kEpsilon);
  });

  test("T3.2 dot products 5 and 1; 8/√4 = 4 and 32/√64 = 4", () => {
    const stages = ["scores", "scaledScores"] as const;
    const query = { data: [2, 1], shape: [1, 2] };
    const keys = { data: [2, 1, 0, 1], shape: [2, 2] };
    expect([...(engine.scaledDotProductAttention(query, keys, keys, { stages }).scores?.data ?? [])]).toEqual([5, 1]);
    const four = { data: [2, 2, 0, 0], shape: [1, 4] };
    const r4 = engine.scaledDotProductAttention(four, four, four, { stages });
    expect([r4.scores?.data[0], r4.scaledScores?.data[0]]).toEqual([8, 4]);
    const wide = { data: Float32Array.from({ length: 64 }, (_, i) => (i < 8 ? 2 : 0)), shape: [1, 64] };
    const r64 = engine.scaledDotProductAttention(wide, wide, wide, { stages });
    expect([r64.scores?.data[0], r64.scaledScores?.data[0]]).toEqual([32, 4]);
  });

  test("T3.4 the heatmap: a row for each query, a column for each key, and its colour bar", () => {
    const weights = { data: kPrinted, shape: [4, 4] };
    const { data, width, height } = engine.colorize(weights, { min: 0, max: 1 });
    expect([width, height]).toEqual([4, 4]);
    const steps = 10001;
    const bar = engine.colorbar(steps);
    const step = (weight: number): number => Math.round(weight * (steps - 1));
    const lightness = (rgba: ArrayLike<number>, at: number): number =>
      0.2126 * (rgba[at] ?? NaN) + 0.7152 * (rgba[at + 1] ?? NaN) + 0.0722 * (rgba[at + 2] ?? NaN);
    for (let i = 1; i <= 8; ++i) expect(lightness(bar, 5000 * i)).toBeLessThan(lightness(bar, 5000 * (i - 1)));
    // The bar's step for a printed weight is the colour of its cell.
    for (const [i, weight] of kPrinted.entries())
      expect([...data.subarray(4 * i, 4 * i + 4)]).toEqual([...bar.subarray(4 * step(weight), 4 * step(weight) + 4)]);
    // Rows are queries: token 2 looks at token 0 (0.3360) more than 0 at 2 (0.2205).
    expect(lightness(data, 4 * 8)).toBeLessThan(lightness(data, 4 * 2));
  });

  test("T3.3 manual multi-head: 4 tokens, D16, H4", () => {
    const file = golden("t3_3_multi_head");
    const x = floatsOf(file, "query");
    const r = layerOf(file, 16, 4).forward(x, {
      averageAttnWeights: false,
      stages: ["q", "k", "v", "scores", "headOutputs"],
    });
    for (const stage of [r.q, r.scores, r.weights, r.headOutputs]) expect(stage?.shape).toEqual([4, 4, 4]);
    expect(r.output.shape).toEqual([4, 16]);
    // By hand: heads one by one, then concatenated and projected.
    const [q, k, v] = [0, 1, 2].map((part) => {
      const w = floatsOf(file, "in_proj_weight").data.subarray(part * 256, part * 256 + 256);
      return matmul(x.data, transposed(w, 16, 16), 4, 16, 16);
    }) as [number[], number[], number[]];
    const columns = (m: number[], h: number): number[] =>
      Array.from({ length: 16 }, (_, i) => m[Math.floor(i / 4) * 16 + h * 4 + (i % 4)] ?? NaN);
    const concat = new Array<number>(64).fill(NaN);
    for (let h = 0; h < 4; ++h) {
      const exp = matmul(columns(q, h), transposed(columns(k, h), 4, 4), 4, 4, 4).map((s) => Math.exp(s / 2));
      const weights = exp.map((e, i) => e / exp.slice(i - (i % 4), i - (i % 4) + 4).reduce((a, b) => a + b, 0));
      matmul(weights, columns(v, h), 4, 4, 4).forEach((z, i) => {
        concat[Math.floor(i / 4) * 16 + h * 4 + (i % 4)] = z;
      });
    }
    const output = matmul(concat, transposed(floatsOf(file, "out_proj.weight").data, 16, 16), 4, 16, 16);
    expectClose("output", r.output, { data: output, shape: [4, 16] }, 64 * kEpsilon * maxNorm(output));
  });
});

describe("T4: the math behind multi-head attention", () => {
  test("T4.1 valid lengths: X (2,4,100), Y (2,6,100), H5, lengths [3,2]", () => {
    const y = random(42, 2, 6, 100);
    const { output, weights } = layer(100, 5).forward(random(41, 2, 4, 100), y, y, {
      validLens: { data: [3, 2], shape: [2] },
      averageAttnWeights: false,
    });
    expect(output.shape).toEqual([2, 4, 100]);
    expect(weights?.shape).toEqual([2, 5, 4, 6]);
    if (!weights) return;
    expectRowsSumToOne(weights);
    weights.data.forEach((w, i) => expect(w === 0).toBe(i % 6 >= (i < weights.data.length / 2 ? 3 : 2)));
  });

  test("T4.2 the feed-forward block by itself", () => {
    // An attention whose output projection is zero adds nothing: what the layer adds to src is the block's own work.
    const [d, width] = [8, 20];
    const src = random(43, 1, 5, d);
    const state = layerState(44, d);
    const blank = (tensor: Tensor | undefined): Tensor => ({
      data: new Float32Array(tensor?.data.length ?? 0),
      shape: tensor?.shape ?? [],
    });
    const w1 = random(45, width, d);
    const b1 = random(46, width);
    const w2 = random(47, d, width);
    const b2 = random(48, d);
    const ones = { data: new Float32Array(d).fill(1), shape: [d] };
    const encoder = engine.transformerEncoderLayer({
      embedDim: d,
      numHeads: 2,
      dimFeedforward: width,
      normFirst: true,
      batchFirst: true,
    });
    encoder.loadStateDict({
      "self_attn.in_proj_weight": state.in_proj_weight as Tensor,
      "self_attn.in_proj_bias": state.in_proj_bias as Tensor,
      "self_attn.out_proj.weight": blank(state["out_proj.weight"]),
      "self_attn.out_proj.bias": blank(state["out_proj.bias"]),
      "linear1.weight": w1,
      "linear1.bias": b1,
      "linear2.weight": w2,
      "linear2.bias": b2,
      "norm1.weight": ones,
      "norm1.bias": blank(b2),
      "norm2.weight": ones,
      "norm2.bias": blank(b2),
    });
    const { output } = encoder.forward(src);
    const normed = Array.from(src.data, (x, i) => {
      const row = [...src.data.subarray(i - (i % d), i - (i % d) + d)];
      const mean = row.reduce((a, b) => a + b, 0) / d;
      const variance = row.reduce((sum, y) => sum + (y - mean) ** 2, 0) / d;
      return (x - mean) / Math.sqrt(variance + 1e-5);
    });
    const hidden = matmul(normed, transposed(w1.data, width, d), 5, d, width).map((h, i) =>
      Math.max(0, h + (b1.data[i % width] ?? NaN)),
    );
    const expected = matmul(hidden, transposed(w2.data, d, width), 5, width, d).map(
      (y, i) => y + (b2.data[i % d] ?? NaN) + (src.data[i] ?? NaN),
    );
    expectClose("output", output, { data: expected, shape: [1, 5, d] }, 64 * kEpsilon * maxNorm(expected));
  });

  test("T4.2 splitting and merging heads is arithmetic on indices: the same numbers as the fused path", () => {
    const mha = layer(20, 5);
    const x = random(49, 2, 6, 20);
    const r = mha.forward(x, { stages: ["q", "k", "v", "headOutputs", "headContributions"] });
    if (!r.q || !r.k || !r.v || !r.headContributions) throw new Error("a stage is missing");
    // The heads, split by the layer, attended to one by one and merged again by their contributions.
    const { output: heads } = engine.scaledDotProductAttention(r.q, r.k, r.v);
    expectClose("heads", heads, r.headOutputs, 16 * kEpsilon * maxNorm(heads.data));
    const bias = layerState(20, 20)["out_proj.bias"] as Tensor;
    const merged = Array.from(r.output.data, (_, i) => {
      const [b, t, j] = [Math.floor(i / 120), Math.floor(i / 20) % 6, i % 20];
      let sum = bias.data[j] ?? NaN;
      for (let h = 0; h < 5; ++h) sum += r.headContributions?.data[((b * 5 + h) * 6 + t) * 20 + j] ?? NaN;
      return sum;
    });
    expectClose("merged", r.output, { data: merged, shape: [2, 6, 20] }, 16 * kEpsilon * maxNorm(merged));
  });
});
