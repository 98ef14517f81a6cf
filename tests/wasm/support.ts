// SPDX-License-Identifier: Apache-2.0
/**
 * Helpers of the npm tests: the builds to run, expected errors and random tensors, and the files and comparisons of all
 * tests.
 */
import { createHash } from "node:crypto";
import { HeadlensError, type ErrorCode, type Tensor, type TensorLike } from "headlens";
import { expect } from "vitest";
import { type FileTensor, type Safetensors, tensorOf } from "../safetensors.js";

/** Both builds, since the test runner is started with relaxed SIMD. */
export const kBuilds = ["baseline", "relaxed"] as const;

export { expectClose, goldenCases, kEpsilon, kGolden, kRoot, maxNorm } from "../compare.js";
export { readSafetensors, tensorOf, type FileTensor, type Safetensors } from "../safetensors.js";

/** A file's tensor of floats. */
export function floatsOf(file: Safetensors, name: string): FileTensor & Tensor {
  const tensor = tensorOf(file, name);
  expect(tensor.data).toBeInstanceOf(Float32Array);
  return tensor as FileTensor & Tensor;
}

/**
 * Checks that `call` fails, at once or as a promise, with a HeadlensError of this code whose message contains each of
 * `words`.
 */
export async function expectError(
  call: () => unknown,
  code: ErrorCode,
  ...words: readonly (string | RegExp)[]
): Promise<void> {
  let thrown: unknown;
  try {
    await call();
  } catch (error) {
    thrown = error;
  }
  expect(thrown, `expected an error "${code}"`).toBeInstanceOf(HeadlensError);
  const { code: gotCode, message } = thrown as HeadlensError;
  expect(`${gotCode}: ${message}`).toMatch(new RegExp(`^${code}: `));
  for (const word of words) expect(message).toMatch(word);
}

/** Random numbers in (−1, 1), which are the same everywhere for the same seed. */
export function random(seed: number, ...shape: number[]): Tensor {
  const data = new Float32Array(shape.reduce((a, b) => a * b, 1));
  let state = seed >>> 0;
  for (let i = 0; i < data.length; ++i) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    data[i] = (state >>> 8) / 2 ** 23 - 1;
  }
  return { data, shape };
}

export function zeros(...shape: number[]): TensorLike {
  return { data: new Float32Array(shape.reduce((a, b) => a * b, 1)), shape };
}

/** The parameters of a multi-head layer of width `d`, scaled so that its scores stay moderate. */
export function layerState(seed: number, d: number): Record<string, Tensor> {
  const scaled = (tensor: Tensor): Tensor => ({ ...tensor, data: tensor.data.map((x) => x / Math.sqrt(d)) });
  return {
    in_proj_weight: scaled(random(seed, 3 * d, d)),
    in_proj_bias: random(seed + 1, 3 * d),
    "out_proj.weight": scaled(random(seed + 2, d, d)),
    "out_proj.bias": random(seed + 3, d),
  };
}

/** `value` with every array replaced by its bits. */
export function bits(value: unknown): unknown {
  if (ArrayBuffer.isView(value)) {
    const { buffer, byteOffset, byteLength } = value;
    return createHash("sha256").update(new Uint8Array(buffer, byteOffset, byteLength)).digest("hex");
  }
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(bits);
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, bits(item)]));
}
