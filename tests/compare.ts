// SPDX-License-Identifier: Apache-2.0
/**
 * Comparisons with tolerances that come from the norms of the data, and the golden cases that every interface is tested
 * with.
 */
import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect } from "vitest";

export const kRoot = fileURLToPath(new URL("..", import.meta.url));
export const kGolden = `${kRoot}tests/golden`;

export function goldenCases(): string[] {
  const names = readdirSync(`${kGolden}/cases`).filter((name) => name.endsWith(".safetensors")).sort();
  expect(names.length).toBeGreaterThan(100);
  return names;
}

/** The largest finite absolute value. */
export function maxNorm(values: Iterable<number>): number {
  let norm = 0;
  for (const value of values) {
    const magnitude = Math.abs(value);
    if (Number.isFinite(magnitude) && magnitude > norm) norm = magnitude;
  }
  return norm;
}

/** Scores beyond this are exact in every golden case that has them, which make.py ensures, so they add no error. */
const kExactBeyond = 1e6;

/**
 * The largest absolute value among scores that may be inexact. Errors of weights and outputs grow with it: exp(x + δ) ≈
 * exp(x)(1 + δ).
 */
export function scoreNorm(...scores: readonly (Iterable<number> | undefined)[]): number {
  return Math.max(...scores.map((values) => maxNorm([...(values ?? [])].filter((x) => Math.abs(x) <= kExactBeyond))));
}

/** The distance between 1 and the next float32. */
export const kEpsilon = 2 ** -23;

interface Values {
  readonly data: ArrayLike<number>;
  readonly shape: readonly number[];
}

/**
 * Checks that the shapes are equal and each element is within `tolerance`. NaN equals NaN, and an infinity equals
 * itself. Names the worst element.
 */
export function expectClose(what: string, got: Values | undefined, expected: Values, tolerance: number): void {
  if (!got) throw new Error(`${what} is missing`);
  expect(got.shape, `${what}: shape`).toEqual(expected.shape);
  let outside = 0;
  let worst = 0;
  let at = -1;
  for (let i = 0; i < expected.data.length; ++i) {
    const a = got.data[i] ?? NaN;
    const b = expected.data[i] ?? NaN;
    const error = Object.is(a, b) || a === b ? 0 : Math.abs(a - b);
    if (!(error <= tolerance)) ++outside;
    if (!(error <= worst)) [worst, at] = [error, i];
  }
  if (outside > 0) {
    throw new Error(`${what}: ${outside} of ${expected.data.length} differ by more than ${tolerance}; worst at ${at}: ${got.data[at]} instead of ${expected.data[at]}`);
  }
}
