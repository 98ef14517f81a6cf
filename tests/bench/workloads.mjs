// SPDX-License-Identifier: Apache-2.0
/** The layers that are measured, their numbers and their operation counts: those of native/bench/workload.cc. */
export const workloads = [
  { name: "bert", tokens: 128, width: 768, heads: 12 },
  { name: "tutorial", tokens: 16, width: 64, heads: 4 },
];

/** 8·T·D² for the four projections, 4·T²·D for the scores and what they blend. */
export const operations = ({ tokens, width }) => 8 * tokens * width ** 2 + 4 * tokens ** 2 * width;

/** A number from 0 to 2³² - 1 that depends on `seed` and `i` alone. */
function mix(seed, i) {
  const a = (seed + Math.imul(i + 1, 0x6d2b79f5)) | 0;
  let t = Math.imul(a ^ (a >>> 15), 1 | a);
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
  return (t ^ (t >>> 14)) >>> 0;
}

/** Normally distributed numbers, the same for the same seed (Box & Muller 1958). */
function normal(count, seed, deviation) {
  return Float32Array.from({ length: count }, (_, i) => {
    const u = (mix(seed, 2 * i) + 1) / 2 ** 32;
    const v = mix(seed, 2 * i + 1) / 2 ** 32;
    return deviation * Math.sqrt(-2 * Math.log(u)) * Math.cos(2 * Math.PI * v);
  });
}

const concat = (...parts) => {
  const whole = new Float32Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
};

const transposed = (matrix, n) => Float32Array.from(matrix, (_, i) => matrix[(i % n) * n + Math.floor(i / n)]);

/**
 * An input of deviation 1, weights of 1/√D and biases of 0.1, in both conventions: ONNX's y = x W + b with a matrix for each projection,
 * and PyTorch's state dict.
 */
export function dataOf({ tokens, width }) {
  const [q, k, v, o] = [2, 3, 4, 5].map((seed) => normal(width * width, seed, 1 / Math.sqrt(width)));
  const [bq, bk, bv, bo] = [6, 7, 8, 9].map((seed) => normal(width, seed, 0.1));
  return {
    x: { data: normal(tokens * width, 1, 1), shape: [1, tokens, width] },
    onnx: { weights: { q, k, v, o }, biases: { q: bq, k: bk, v: bv, o: bo } },
    state: {
      in_proj_weight: {
        data: concat(...[q, k, v].map((matrix) => transposed(matrix, width))), shape: [3 * width, width],
      },
      in_proj_bias: { data: concat(bq, bk, bv), shape: [3 * width] },
      "out_proj.weight": { data: transposed(o, width), shape: [width, width] },
      "out_proj.bias": { data: bo, shape: [width] },
    },
  };
}
