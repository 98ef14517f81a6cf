// SPDX-License-Identifier: Apache-2.0
/**
 * Tensors without elements whose other sizes are huge give a result at once, or an error. With loops over all sizes,
 * each would take minutes or gigabytes.
 */
import { describe, expect, test } from "vitest";
import { HeadlensError, load, type MultiheadAttention, type Tensor, type TensorLike } from "headlens";

const engine = await load();
const kMost = 2 ** 26;

const empty = (...shape: number[]): TensorLike => ({ data: new Float32Array(0), shape });
const layer = (): MultiheadAttention => {
  const mha = engine.multiheadAttention({ embedDim: 4, numHeads: 2 });
  mha.loadStateDict({
    in_proj_weight: { data: new Float32Array(48), shape: [12, 4] },
    in_proj_bias: { data: new Float32Array(12), shape: [12] },
    "out_proj.weight": { data: new Float32Array(16), shape: [4, 4] },
    "out_proj.bias": { data: new Float32Array(4), shape: [4] },
  });
  return mha;
};
const attention = (...shape: number[]): Tensor =>
  engine.scaledDotProductAttention(empty(...shape), empty(...shape), empty(...shape)).output;
const embedding = (width: number): void => {
  engine.embedding().loadStateDict({ weight: empty(0, width) });
};

describe("beyond the limit", () => {
  test.each<[string, () => unknown]>([
    ["queries of many batches", () => attention(2 ** 31, 0, 4)],
    ["heads", () => attention(1, 2 ** 30, 0, 4)],
    ["batches of nothing", () => attention(2 ** 27, 0, 1)],
    ["a layer's query", () => layer().forward(empty(0, 2 ** 31, 4))],
    ["a width", () => {
      const q = empty(1, 0, 2 ** 40);
      engine.scaledDotProductAttention(q, q, q, { rotary: "half" });
    }],
    ["an embedding", () => { embedding(5e8); }],
    ["a wider one", () => { embedding(2 ** 34); }],
  ])("%s", (_, call) => {
    let thrown: unknown;
    try {
      call();
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toBeInstanceOf(HeadlensError);
    const { code, message } = thrown as HeadlensError;
    expect(message).toMatch(/expected sizes beside 0 that multiply to at most 67108864$/);
    expect(code).toBe("shape");
  });
});

describe("within the limit", () => {
  test("attention", () => {
    const shapes = [[kMost, 0, 1], [1, kMost, 0, 1], [1, 0, kMost]];
    for (const shape of shapes) expect(attention(...shape).shape).toEqual(shape);
  });

  test("a layer", () => {
    const { output } = layer().forward(empty(0, kMost / 4, 4), null, null, { needWeights: false });
    expect(output.shape).toEqual([0, kMost / 4, 4]);
  });

  test("an embedding", () => { embedding(kMost); });
});
