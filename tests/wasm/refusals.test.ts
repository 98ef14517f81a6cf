// SPDX-License-Identifier: Apache-2.0
/** The table of refusals (tests/refusals) through the API, here and in a worker. What only JavaScript can do wrong is in nonsense.test.ts. */
import { HeadlensError, load } from "headlens";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { apiName, optionNames, toCamel } from "../../wasm/src/arguments/names.js";
import { type Filled, kThemes, numberOf, type RightCase, sizeOf, type Tensors, type Theme, type WrongCase } from "../refusals.js";
import { type AnyEngine, type AnyLayer, type AnyTensor, type Case, caseOf, forward, makeLayer, type Options } from "./cases.js";

/** As JavaScript has them: booleans are an array of their own, 64-bit integers one of numbers. */
function tensorLike(tensor: Filled): AnyTensor {
  const [dtype, shape] = tensor;
  const [size, number] = [sizeOf(tensor), numberOf(tensor)];
  switch (dtype) {
    case "F32": return { data: new Float32Array(size).fill(number), shape };
    case "I32": return { data: new Int32Array(size).fill(number), shape };
    case "U8": return { data: new Uint8Array(size).fill(number), shape };
    case "BOOL": return { data: Array.from({ length: size }, () => number !== 0), shape };
    case "I64": return { data: Array.from({ length: size }, () => number), shape };
  }
}

function inApi(op: string, right: RightCase, more: Options = {}, tensors: Tensors = {}): Case {
  const all = Object.entries({ ...right.parameters, ...right.inputs, ...tensors });
  const given = new Map(all.map(([name, tensor]) => [name, tensorLike(tensor)] as const));
  return caseOf(op, { ...right.options, ...more }, given, (name) => name in right.parameters);
}

const kPlaces: Readonly<Record<string, string>> = { query: "q", key: "k", value: "v" };

/** The table's message with the names of the call: options in camelCase, and q, k and v for functions. Quoted text stays. */
function inNamesOf({ maker }: Case, says: string): string {
  const nameOf = (word: string): string => (maker ? undefined : kPlaces[word]) ?? apiName(word);
  return says.replace(/"[^"]*"|\w+/g, (word) => word.startsWith('"') ? word : nameOf(word));
}

/**
 * The code and the beginning of the message that the API has for a row of the table: the same in its own words, but for
 * - names that the API's call does not know: tensors among options like all others, and what PyTorch's layers do not have either;
 * - tensors whose data are of another kind, or no 32-bit integers from the least on: they are named by what JavaScript calls them.
 */
function expectedOf({ code, says, npm }: WrongCase, wrong: Case): string {
  const { call, maker, options } = wrong;
  const unknown = Object.keys(options).find((name) => !optionNames(call).includes(name));
  if (unknown !== undefined) return `option: ${call}: unknown option "${unknown}"`;
  if (npm) return `${npm.code}: ${npm.says}`;
  const [, name = "", other] = /^(\w+) (?:has the type|holds (-?\d+) at )/.exec(says) ?? [];
  const camel = (maker ? undefined : kPlaces[name]) ?? toCamel(name);
  if (code === "dtype") return `dtype: ${camel}.data is `;
  const isWhole32 = other === undefined || (Number(other) >= 0 && Number(other) < 2 ** 31);
  return isWhole32 ? `${code}: ${inNamesOf(wrong, says)}` : `value: ${camel}.data[0] is ${other}, expected `;
}

/** "code: message" of what a call refuses. */
async function refusal(call: () => unknown): Promise<string> {
  try {
    await call();
  } catch (error) {
    expect(error).toBeInstanceOf(HeadlensError);
    const { code, message } = error as HeadlensError;
    return `${code}: ${message}`;
  }
  return "accepted";
}

/** A row whose options are text needs numbers that JavaScript has not. */
const sayable = (wrong: readonly WrongCase[]): WrongCase[] => wrong.filter(({ options }) => typeof options !== "string");

async function runTheme(engine: AnyEngine, { op, right, wrong }: Theme): Promise<void> {
  const rightCase = inApi(op, right);
  const layer = await makeLayer(engine, rightCase);
  const before = await forward(engine, layer, rightCase);
  for (const one of sayable(wrong)) {
    const wrongCase = inApi(op, right, one.options as Options, one.tensors);
    const expected = expectedOf(one, wrongCase);
    const isMade = Object.keys(one.options).some((name) => toCamel(name) in wrongCase.makerOptions);
    const got = await refusal(() => isMade ? runAnew(engine, wrongCase) : forward(engine, layer, wrongCase));
    expect(got.slice(0, expected.length), got).toBe(expected);
    expect(await forward(engine, layer, rightCase)).toEqual(before);
  }
  layer?.dispose();
}

/** Makes a layer for this case alone, since the options that it is made with are wrong. */
async function runAnew(engine: AnyEngine, wrong: Case): Promise<void> {
  let layer: AnyLayer | undefined;
  try {
    layer = await makeLayer(engine, wrong);
    await forward(engine, layer, wrong);
  } finally {
    layer?.dispose();
  }
}

describe.each([false, true])("worker: %s", (worker) => {
  let engine: AnyEngine;
  beforeAll(async () => {
    engine = await load({ simd: "baseline", worker });
  });
  afterAll(() => engine.dispose());

  test.each(kThemes)("$op, $theme", (theme) => runTheme(engine, theme));

  test("the whole table leaves nothing on the heap", async () => {
    const before = await engine.heapBytes();
    for (const theme of kThemes) await runTheme(engine, theme);
    expect(await engine.heapBytes()).toBeLessThanOrEqual(before);
  }, 60_000);
});

test("hardly a row is beyond JavaScript's numbers", () => {
  const all = kThemes.flatMap(({ wrong }) => wrong);
  expect(sayable(all).length).toBeGreaterThan(0.95 * all.length);
});
