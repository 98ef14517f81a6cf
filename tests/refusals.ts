// SPDX-License-Identifier: Apache-2.0
/**
 * The table of refusals (tests/refusals), which C++, the program and the npm package all run. It does not use the code
 * under test.
 */
import { readdirSync, readFileSync } from "node:fs";
import { kRoot } from "./compare.js";
import type { GivenTensor } from "./safetensors.js";

export type Options = Readonly<Record<string, unknown>>;
/** A tensor filled with one number. Without a value, floats are 0.5 and all others 0. */
export type Filled = readonly [dtype: Dtype, shape: readonly number[], value?: number | "nan" | "inf"];
export type Tensors = Readonly<Record<string, Filled>>;
type Dtype = "F32" | "BOOL" | "U8" | "I32" | "I64";

/** An operation with valid options and inputs: B = 2, H = 2, T = S = 3, d = 4. */
export interface RightCase {
  readonly options: Options;
  readonly parameters: Tensors;
  readonly inputs: Tensors;
  /** Replacements for the marks in wrong cases ($mask, …). */
  readonly names: Readonly<Record<string, string>>;
}

interface Refusal {
  readonly code: string;
  /** The beginning of the message. */
  readonly says: string;
}

/** The changes to a right case, and the error that they cause. */
export interface WrongCase extends Refusal {
  /** Options are text when JavaScript's numbers cannot express them. */
  readonly options: Options | string;
  readonly tensors: Tensors;
  /** The error of the npm package where it differs, since it checks some things earlier, and the reason. */
  readonly npm?: Refusal & { readonly why: string };
}

export interface Theme {
  readonly op: string;
  readonly theme: string;
  readonly right: RightCase;
  readonly wrong: readonly WrongCase[];
}

interface Page {
  readonly ops: readonly string[];
  readonly wrong: Readonly<Record<string, readonly (Refusal & Partial<WrongCase>)[]>>;
}

const kFolder = `${kRoot}tests/refusals/`;
const readJson = (name: string): unknown => JSON.parse(readFileSync(kFolder + name, "utf8"));
export const kRight = readJson("right.json") as Readonly<Record<string, RightCase>>;

/** Replaces the marks by the operation's own names. */
function named(wrong: Partial<WrongCase>, { names }: RightCase): WrongCase {
  const text = Object.entries(names).reduce((all, [mark, name]) => all.replaceAll(mark, name), JSON.stringify(wrong));
  return { options: {}, tensors: {}, ...JSON.parse(text) as Refusal };
}

/** The whole table, by operation. */
export const kThemes: readonly Theme[] = readdirSync(kFolder).filter((name) => name !== "right.json").flatMap((name) => {
  const page = readJson(name) as Page;
  return page.ops.flatMap((op) => Object.entries(page.wrong).map(([theme, wrong]) => {
    const right = kRight[op];
    if (!right) throw new Error(`tests/refusals/${name}: there is no right case of ${op}`);
    return { op, theme, right, wrong: wrong.map((one) => named(one, right)) };
  }));
});

const kArrays = { F32: Float32Array, BOOL: Uint8Array, U8: Uint8Array, I32: Int32Array, I64: BigInt64Array };

export function numberOf([dtype, , value = dtype === "F32" ? 0.5 : 0]: Filled): number {
  return Number(value === "inf" ? Infinity : value);
}

export function sizeOf([, shape]: Filled): number {
  return shape.reduce((product, size) => product * size, 1);
}

/** The tensor as a case file has it. */
export function filled(tensor: Filled): GivenTensor {
  const [dtype, shape] = tensor;
  const data = new kArrays[dtype](sizeOf(tensor));
  if (data instanceof BigInt64Array) data.fill(BigInt(numberOf(tensor)));
  else data.fill(numberOf(tensor));
  return { data, shape, ...(dtype === "BOOL" && { writtenAs: dtype }) };
}
