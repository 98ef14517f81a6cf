// SPDX-License-Identifier: Apache-2.0
/** The public reader of safetensors files: every golden file as the tests' own reader has it, and files of every fault. */
import { readdirSync, readFileSync } from "node:fs";
import { load, readSafetensors, type Engine, type SafetensorsFile, type SafetensorsTensor, type Tensor } from "headlens";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { withHeader, writeSafetensors } from "../safetensors.js";
import { expectError, goldenCases, kGolden, layerState, random, readSafetensors as readByTest } from "./support.js";

let engine: Engine;
beforeAll(async () => {
  engine = await load({ simd: "baseline" });
});
afterAll(() => engine.dispose());

const models = readdirSync(`${kGolden}/models`, { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".safetensors")).map((name) => `${kGolden}/models/${name}`);

test.each([...goldenCases().map((name) => `${kGolden}/cases/${name}`), ...models])("%s", async (path) => {
  const expected = readByTest(path);
  const bytes = readFileSync(path);
  for (const source of [bytes, new File([bytes], "a.safetensors")]) {
    const { tensors, metadata } = await readSafetensors(source);
    expect(metadata).toEqual(expected.metadata);
    expect(Object.fromEntries(tensors)).toEqual(Object.fromEntries(expected.tensors));
  }
});

test("every type, from memory of any kind and from a Blob; arrays are the caller's own", async () => {
  const file = writeSafetensors({
    floats: { data: Float32Array.of(1, -2), shape: [2] }, ints: { data: Int32Array.of(3), shape: [] },
    longs: { data: BigInt64Array.of(2n ** 62n), shape: [1] }, bytes: { data: Uint8Array.of(9), shape: [1, 1] },
    flags: { data: Uint8Array.of(1, 0, 1), shape: [3], writtenAs: "BOOL" }, none: { data: new Float32Array(0), shape: [0, 7] },
    small: { data: Int8Array.of(-128, 127), shape: [2] },
  }, { kept: "as text" });
  const padded = new Uint8Array(file.length + 3);
  padded.set(file, 3);
  const shared = new SharedArrayBuffer(file.length);
  new Uint8Array(shared).set(file);
  const blob = new Blob([file as BlobPart]);
  const sources = [file, file.buffer as ArrayBuffer, padded.subarray(3), new Uint8Array(shared), blob];
  for (const source of sources) {
    const { tensors, metadata }: SafetensorsFile = await readSafetensors(source);
    expect(metadata).toEqual({ kept: "as text" });
    expect(Object.fromEntries(tensors)).toEqual({
      floats: { dtype: "F32", data: Float32Array.of(1, -2), shape: [2] }, ints: { dtype: "I32", data: Int32Array.of(3), shape: [] },
      longs: { dtype: "I64", data: BigInt64Array.of(2n ** 62n), shape: [1] }, bytes: { dtype: "U8", data: Uint8Array.of(9), shape: [1, 1] },
      flags: { dtype: "BOOL", data: Uint8Array.of(1, 0, 1), shape: [3] }, none: { dtype: "F32", data: new Float32Array(0), shape: [0, 7] },
      small: { dtype: "I8", data: Int8Array.of(-128, 127), shape: [2] },
    });
    (tensors.get("floats") as SafetensorsTensor).data.fill(0 as never);
  }
});

test("all values of 16 bits", async () => {
  const bits = Uint16Array.from({ length: 1 << 16 }, (_, i) => i);
  const headerOf = (dtype: string): string =>
    JSON.stringify({ x: { dtype, shape: [1 << 16], data_offsets: [0, 1 << 17] } });
  const read = async (dtype: string): Promise<ArrayLike<number>> => {
    const { tensors } = await readSafetensors(withHeader(headerOf(dtype), new Uint8Array(bits.buffer)));
    return tensors.get("x")?.data as Float32Array;
  };
  const [halves, brains] = [await read("F16"), await read("BF16")];
  const kHalves = { 0x3c00: 1, 0xc000: -2, 0x0001: 2 ** -24, 0x7bff: 65504, 0x7c00: Infinity, 0x8000: -0 };
  for (const [at, value] of Object.entries(kHalves)) expect(halves[Number(at)], at).toBe(value);
  expect([0x3f80, 0xc000, 0x0001, 0x7f80].map((i) => brains[i])).toEqual([1, -2, 2 ** -133, Infinity]);
  expect([halves[0x7e00], brains[0x7fc0]]).toEqual([NaN, NaN]);
});

const entry = (fields: object = {}): object => ({ dtype: "F32", shape: [2], data_offsets: [0, 8], ...fields });
const eight = new Uint8Array(8);
const file = (header: unknown, body = eight): Uint8Array => withHeader(typeof header === "string" ? header : JSON.stringify(header), body);

/** Each row names a fault, and has a file with it and its message. */
const kFaults: readonly (readonly [string, Uint8Array, RegExp])[] = [
  ["nothing", new Uint8Array(0), / has 0 bytes, expected at least 8$/],
  ["seven bytes", new Uint8Array(7), / has 7 bytes, expected at least 8$/],
  ["a header beyond the end", Uint8Array.of(9, 0, 0, 0, 0, 0, 0, 0), /the header claims 9 bytes, expected at most 0$/],
  ["a header of 2^63", Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 128, 0), /the header claims 9223372036854775808 bytes, expected at most 1$/],
  ["an empty header", file(""), /the header claims 0 bytes, expected at least 1$/],
  ["no JSON", file("{x"), /the header is "\{x", expected a JSON object$/],
  ["no UTF-8", withHeaderBytes(Uint8Array.of(0x7b, 0x22, 0xff, 0x22, 0x7d)), /the header is not UTF-8, expected a JSON object$/],
  ["a list", file("[]"), /expected a JSON object$/],
  ["null", file("null"), /expected a JSON object$/],
  ["nested deep", file(`{"x":${"[".repeat(10_000)}${"]".repeat(10_000)}}`), /tensor "x" is \[\[…\]\], expected an object$/],
  ["a name twice", file('{"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"x":{"dtype":"I32","shape":[2],"data_offsets":[0,8]}}'), /the header names "x" twice, expected once$/],
  ["the same name in other words", file('{"x":{"dtype":"F32","shape":[0],"data_offsets":[0,0]},"\\u0078":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}'), /the header names "x" twice, expected once$/],
  ["a tensor that is none", file({ x: 3 }), /tensor "x" is 3, expected an object$/],
  ["a list for a tensor", file({ x: [] }), /tensor "x" is \[\], expected an object$/],
  ["no type", file({ x: entry({ dtype: undefined }) }), /tensor "x"\.dtype is missing, expected F32, F64/],
  ["an unknown type", file({ x: entry({ dtype: "F8_E4M3" }) }), /tensor "x"\.dtype is "F8_E4M3", expected F32/],
  ["a type of every object", file({ x: entry({ dtype: "toString" }) }), /tensor "x"\.dtype is "toString"/],
  ["no shape", file({ x: entry({ shape: undefined }) }), /tensor "x"\.shape is missing, expected a list of sizes$/],
  ["a negative size", file({ x: entry({ shape: [-2] }) }), /tensor "x"\.shape is \[-2\]/],
  ["half a size", file({ x: entry({ shape: [0.5, 4] }) }), /tensor "x"\.shape is \[0.5,4\]/],
  ["a size beyond doubles", file('{"x":{"dtype":"F32","shape":[9007199254740993],"data_offsets":[0,8]}}'), /tensor "x"\.shape is/],
  ["sizes that are too large together", file({ x: entry({ shape: [0, 2 ** 40, 2 ** 40], data_offsets: [0, 0] }) }), /tensor "x"\.shape is .*, expected a size that can be addressed$/],
  ["another size", file({ x: entry({ shape: [3] }) }), /tensor "x"\.data_offsets is \[0,8\], expected 12 bytes for shape \[3\]$/],
  ["no offsets", file({ x: entry({ data_offsets: undefined }) }), /tensor "x"\.data_offsets is missing, expected a begin and an end/],
  ["three offsets", file({ x: entry({ data_offsets: [0, 8, 8] }) }), /tensor "x"\.data_offsets is \[/],
  ["offsets beyond the end", file({ x: entry({ data_offsets: [0, 2 ** 40], shape: [2 ** 38] }) }), /tensor "x"\.data_offsets is .*, expected a begin and an end inside the 8 bytes of data$/],
  ["offsets the wrong way round", file({ x: entry({ data_offsets: [8, 0] }) }), /tensor "x"\.data_offsets is \[/],
  ["a hole", file({ x: entry({ shape: [1], data_offsets: [4, 8] }) }), /tensor "x" begins at byte 4, expected 0, where the one before it ends$/],
  ["bytes that overlap", file({ x: entry(), y: entry({ shape: [1], data_offsets: [4, 8] }) }), /tensor "y" begins at byte 4, expected 8/],
  ["bytes at the end", file({ x: entry({ shape: [1], data_offsets: [0, 4] }) }), / has 4 bytes after the last tensor, expected none$/],
  ["metadata of numbers", file({ __metadata__: { op: 3 }, x: entry() }), /__metadata__\["op"\] is 3, expected a string$/],
  ["metadata that are none", file({ __metadata__: [], x: entry() }), /__metadata__ is \[\], expected an object$/],
];

function withHeaderBytes(header: Uint8Array): Uint8Array {
  const whole = new Uint8Array(8 + header.length);
  whole[0] = header.length;
  whole.set(header, 8);
  return whole;
}

describe("files of every fault", () => {
  test.each(kFaults)("%s", async (_, bytes, words) => {
    await expectError(() => readSafetensors(bytes), "format", /^safetensors(:| has) /, words);
    await expectError(() => readSafetensors(new File([bytes as BlobPart], "mine.st")), "format", /^mine\.st(:| has) /, words);
    // The engine's own reader, which models come through, refuses the same ones.
    const config = JSON.stringify({
      model_type: "llama", hidden_size: 8, intermediate_size: 8, num_hidden_layers: 1, num_attention_heads: 1, vocab_size: 8,
    });
    const tokenizer = readFileSync(new URL("../../web/models/tiny/tokenizer.json", import.meta.url));
    const files = [
      new File([config], "config.json"), new File([tokenizer], "tokenizer.json"),
      new File([bytes as BlobPart], "model.safetensors"),
    ];
    await expectError(() => engine.loadModel(files), "format", /safetensors/);
    const data = { argument: expect.stringMatching(/^safetensors/) as string, expected: expect.any(String) as string };
    await expect(readSafetensors(bytes)).rejects.toMatchObject(data);
    await expect((async () => engine.loadModel(files))()).rejects.toMatchObject(data);
  });

  test("a file that says it is larger than it is, or than any may be", async () => {
    const honest = new File([file({ x: entry() }) as BlobPart], "mine.st");
    const sized = (size: number): File => Object.defineProperty(honest.slice(), "size", { value: size }) as File;
    await expectError(() => readSafetensors(sized(2 ** 40)), "memory", /1099511627776 bytes, expected at most 2147483648/);
    await expectError(() => readSafetensors(sized(honest.size + 8)), "format");
    const short = { size: 1 << 20, slice: () => new Blob([]) };
    await expectError(() => readSafetensors(short as never), "format", /safetensors has 0 bytes from 0 to 8, expected 8$/);
    const broken = { size: 99, name: "gone.st", slice: () => ({ arrayBuffer: () => Promise.reject(new Error("no longer there")) }) };
    await expectError(() => readSafetensors(broken as never), "value", /gone\.st cannot be read: no longer there/);
  });

  test.each([undefined, null, 3, "model.safetensors", {}, [], new DataView(new ArrayBuffer(9)), new Float32Array(9)])(
    "%s is no source", async (source) => {
      await expectError(() => readSafetensors(source as never), "dtype", /source is/, /expected an ArrayBuffer, a Uint8Array, a Blob or a File/);
    });
});

describe.each([false, true])("state dicts of pairs, worker: %s", (worker) => {
  test("a Map, a file's tensors, and any pairs give what an object gives", async () => {
    using engine = await load({ worker });
    const state = layerState(1, 8);
    const x = random(2, 3, 8);
    const bytes = writeSafetensors(state, {});
    const { tensors } = await readSafetensors(bytes);
    const outputs: Tensor[] = [];
    for (const given of [state, new Map(Object.entries(state)), tensors, Object.entries(state), tensors.entries()]) {
      const mha = await engine.multiheadAttention({ embedDim: 8, numHeads: 2 });
      await mha.loadStateDict(given);
      outputs.push((await mha.forward(x)).output);
      mha.dispose();
    }
    outputs.forEach((output) => expect(output).toEqual(outputs[0]));
    const { in_proj_weight, "out_proj.weight": out } = state;
    const pair = { in_proj_weight, "out_proj.weight": out } as Record<string, typeof x>;
    const circuits = await engine.circuits(pair, { numHeads: 2 });
    expect(await engine.circuits(new Map(Object.entries(pair)), { numHeads: 2 })).toEqual(circuits);
  });

  test("what is missing, unexpected, there twice, no pair, or no floats", async () => {
    using engine = await load({ worker });
    const mha = await engine.multiheadAttention({ embedDim: 8, numHeads: 2 });
    const state = Object.entries(layerState(1, 8));
    await expectError(() => mha.loadStateDict(new Map(state.slice(1))), "value", /in_proj_weight missing/);
    await expectError(() => mha.loadStateDict(new Map([...state, ["more", random(1, 2)]])), "value", /more unexpected/);
    await expectError(() => mha.loadStateDict([...state, ...state]), "value", /"in_proj_weight" twice/);
    await expectError(() => mha.loadStateDict([random(1, 2)] as never), "dtype", /pairs of a name and a tensor/);
    await expectError(() => mha.loadStateDict(new Set(["in_proj_weight"]) as never), "dtype", /"in_proj_weight", expected pairs/);
    const { tensors } = await readSafetensors(writeSafetensors(
      { ...layerState(1, 8), in_proj_bias: { data: new BigInt64Array(24), shape: [24] } }, {}));
    await expectError(() => mha.loadStateDict(tensors), "dtype", /in_proj_bias\.data is BigInt64Array/);
    const { tensors: small } = await readSafetensors(writeSafetensors(
      { ...layerState(1, 8), in_proj_bias: { data: new Int8Array(24), shape: [24] } }, {}));
    await expectError(() => mha.loadStateDict(small), "dtype", /in_proj_bias\.data is Int8Array/);
  });
});
