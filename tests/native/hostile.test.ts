// SPDX-License-Identifier: Apache-2.0
/** What is wrong with a case is said in one line, with exit status 2, and leaves no file behind. */
import { spawnSync } from "node:child_process";
import { chmodSync, copyFileSync, mkdirSync, readFileSync, readdirSync, truncateSync, writeFileSync } from "node:fs";
import { beforeEach, describe, expect, test } from "vitest";
import { kGolden } from "../compare.js";
import { withHeader, writeSafetensors, type GivenTensor } from "../safetensors.js";
import { fails, succeeds, temporaryFolder, kProgram } from "./support.js";

const inFolder = temporaryFolder();

const floats = (...shape: number[]): GivenTensor =>
  ({ data: new Float32Array(shape.reduce((a, b) => a * b, 1)).fill(0.5), shape });
const kSdpa = { op: "scaled_dot_product_attention" };
const kMha = { op: "multihead_attention", options: JSON.stringify({ embed_dim: 8, num_heads: 2 }) };
const kQuery = { query: floats(1, 2, 3, 4) };
const kLayer = {
  query: floats(2, 3, 8),
  in_proj_weight: floats(24, 8), in_proj_bias: floats(24), "out_proj.weight": floats(8, 8), "out_proj.bias": floats(8),
};

const sdpa = (options: unknown, tensors: Record<string, GivenTensor> = kQuery): Uint8Array =>
  writeSafetensors(tensors, { ...kSdpa, options: typeof options === "string" ? options : JSON.stringify(options) });

/** A file with one tensor described so, and `bytes` bytes of data. */
const described = (entry: unknown, bytes = 96): Uint8Array =>
  withHeader(JSON.stringify({ __metadata__: kSdpa, query: entry }), new Uint8Array(bytes));
const f32 = (shape: unknown, ...offsets: unknown[]): unknown => ({ dtype: "F32", shape, data_offsets: offsets });

/** A file with two tensors of 16 bytes at these offsets, and `bytes` bytes of data. */
const two = (first: [number, number], second: [number, number], bytes: number): Uint8Array => {
  const header = { __metadata__: kSdpa, query: f32([1, 1, 1, 4], ...first), key: f32([1, 1, 1, 4], ...second) };
  return withHeader(JSON.stringify(header), new Uint8Array(bytes));
};

const lengthOnly = (length: bigint, bytes = 0): Uint8Array => {
  const file = new Uint8Array(8 + bytes);
  new DataView(file.buffer).setBigUint64(0, length, true);
  return file;
};

const good = (): Uint8Array => writeSafetensors(kQuery, kSdpa);
const without = (tensors: Record<string, GivenTensor>, name: string): Record<string, GivenTensor> =>
  Object.fromEntries(Object.entries(tensors).filter(([key]) => key !== name));
/** A header in which one byte is none of UTF-8. */
const notUtf8 = (): Uint8Array => withHeader('{"a~":1}', new Uint8Array(0)).map((byte) => (byte === 0x7e ? 0xff : byte));
const nan = (t: GivenTensor): GivenTensor => ({ ...t, data: Float32Array.from(t.data, (x, i) => (i === 1 ? NaN : x)) });

const kFiles: readonly (readonly [string, () => Uint8Array, RegExp])[] = [
  ["no bytes at all", () => new Uint8Array(0), /0 bytes, too few for a header/],
  ["fewer bytes than a length", () => new Uint8Array(5), /5 bytes, too few for a header/],
  ["a header beyond the file's end", () => lengthOnly(1000n, 10), /claims 1000 bytes, the file has 10/],
  ["the largest length there is", () => lengthOnly(2n ** 64n - 1n, 10), /claims 18446744073709551615 bytes/],
  ["a header cut short", () => good().slice(0, 40), /claims \d+ bytes, the file has 32/],
  ["data cut short", () => good().slice(0, -1), /"query".*do not lie inside the 95 bytes/],
  ["an empty header", () => lengthOnly(0n), /not a JSON object/],
  ["no JSON", () => withHeader("not JSON", new Uint8Array(0)), /not a JSON object/],
  ["another file altogether", () => readFileSync(`${kGolden}/make.py`), /claims \d+ bytes/],
  ["a list for a header", () => withHeader("[]", new Uint8Array(0)), /not a JSON object/],
  ["bytes that are no UTF-8", notUtf8, /not a JSON object/],
  ["a header nested a million deep", () => withHeader("[".repeat(1_000_000), new Uint8Array(0)), /nested too deeply/],
  ["objects nested a million deep", () => withHeader('{"a":'.repeat(1_000_000), new Uint8Array(0)), /nested too deeply/],
  ["a name twice", () => withHeader('{"query":1,"query":2}', new Uint8Array(0)), /"query" twice/],
  ["metadata that is no object", () => withHeader('{"__metadata__":[]}', new Uint8Array(0)), /__metadata__ is not an object/],
  ["metadata that is no text", () => withHeader('{"__metadata__":{"op":1}}', new Uint8Array(0)), /__metadata__ "op" is not a string/],
  ["a tensor that is no object", () => described(1), /"query" is not described by an object/],
  ["no dtype", () => described({ shape: [1], data_offsets: [0, 4] }), /"query" has no dtype/],
  ["an unknown dtype", () => described({ dtype: "F33", shape: [1], data_offsets: [0, 4] }), /"query" has the type "F33"/],
  ["no shape", () => described({ dtype: "F32", data_offsets: [0, 4] }), /"query" has no shape/],
  ["a negative size", () => described(f32([-1, 4], 0, 96)), /"query": shape holds something that is not a size/],
  ["a fractional size", () => described(f32([1.5, 4], 0, 96)), /"query": shape holds something that is not a size/],
  ["a size that is no number", () => described(f32(["4"], 0, 96)), /"query": shape holds something that is not a size/],
  ["one offset", () => described(f32([24], 0)), /"query": data_offsets/],
  ["offsets the wrong way round", () => described(f32([24], 96, 0)), /"query": data_offsets do not lie inside/],
  ["offsets outside the data", () => described(f32([24], 4, 100)), /"query": data_offsets do not lie inside the 96 bytes/],
  ["offsets beyond all files", () => described(f32([24], 0, Number.MAX_SAFE_INTEGER)), /"query": data_offsets do not lie inside/],
  ["a size that fits no offsets", () => described(f32([25], 0, 96)), /"query" of shape \(25,\) needs 100 bytes, data_offsets give 96/],
  ["a product that overflows", () => described(f32([2 ** 32, 2 ** 32], 0, 0), 0), /"query".*too large/],
  ["a product that overflows to 96 bytes", () => described(f32([2 ** 62, 4, 24], 0, 96)), /"query".*too large/],
  ["overlapping tensors", () => two([0, 16], [8, 24], 24), /"key" overlaps another/],
  ["the same bytes twice", () => two([0, 16], [0, 16], 16), /overlaps another/],
  ["a hole before the data", () => two([4, 20], [20, 36], 36), /4 unused bytes before tensor "query"/],
  ["a hole between tensors", () => two([0, 16], [20, 36], 36), /4 unused bytes before tensor "key"/],
  ["bytes after the last tensor", () => two([0, 16], [16, 32], 40), /8 unused bytes at the end/],
  ["control characters in a name", () => withHeader(JSON.stringify({ "a\nb\u001b[31m": 1 }), new Uint8Array(0)), /"a\?b\?\[31m"/],
  ["a name of a megabyte", () => withHeader(JSON.stringify({ ["x".repeat(1e6)]: 1 }), new Uint8Array(0)), /^.{1,300}\n$/],

  ["no op", () => writeSafetensors(kQuery, {}), /no "op"/],
  ["an unknown op", () => writeSafetensors(kQuery, { op: "attention\n\n" }), /unknown operation .*expected one of/],
  ["options that are no JSON", () => sdpa("{"), /options is not a JSON object/],
  ["options that are a list", () => sdpa([]), /options is not a JSON object/],
  ["options nested a million deep", () => sdpa('{"a":'.repeat(1_000_000)), /options is not a JSON object/],
  ["an unknown option", () => sdpa({ is_casual: true }), /unknown option "is_casual"; known here: .*is_causal/],
  ["an unknown option with a line break", () => sdpa({ "is\ncausal": true }), /unknown option "is\\ncausal"/],
  ["an option of the wrong type", () => sdpa({ is_causal: "yes" }), /is_causal is "yes", expected true or false/],
  ["an option out of its range", () => sdpa({ dropout_p: 2 }), /dropout_p must be between 0 and 1/],
  ["a choice that is not offered", () => sdpa({ fully_masked: "one" }), /fully_masked.*"zero"/],
  ["an unknown backend", () => sdpa({ backend: "abacus" }), /abacus.*simd/],
  ["an unknown stage", () => sdpa({ stages: ["weights", "waits"] }), /"waits"/],
  ["an unknown convention", () => sdpa({ conventions: "tensorflow" }), /conventions is "tensorflow", expected one of "torch-mha"/],
  ["a decoder's option for an encoder", () => writeSafetensors({ src: floats(1, 2, 8) }, { op: "transformer_encoder_layer", options: '{"embed_dim":8,"num_heads":2,"tgt_is_causal":true}' }), /unknown option "tgt_is_causal"/],

  ["no query", () => sdpa({}, { key: floats(1, 2, 3, 4) }), /query is missing/],
  ["an unknown tensor", () => sdpa({}, { ...kQuery, keys: floats(1, 2, 3, 4) }), /unknown tensor "keys"; known here: query, key/],
  ["widths that differ", () => sdpa({}, { ...kQuery, key: floats(1, 2, 3, 5) }), /query \(1, 2, 3, 4\) and key \(1, 2, 3, 5\) differ in head width/],
  ["lengths that differ", () => sdpa({}, { ...kQuery, key: floats(1, 2, 3, 4), value: floats(1, 2, 4, 4) }), /value has shape \(1, 2, 4, 4\), expected \(1, 2, 3, 4\)/],
  ["ranks that differ", () => sdpa({}, { ...kQuery, key: floats(2, 3, 4) }), /key has shape \(2, 3, 4\)/],
  ["five dimensions", () => sdpa({}, { query: floats(1, 1, 1, 3, 4) }), /\(1, 1, 1, 3, 4\)/],
  ["no dimension", () => sdpa({}, { query: floats() }), /query has shape \(\)/],
  ["a mask of the wrong shape", () => sdpa({}, { ...kQuery, attn_mask: floats(3, 4) }), /attn_mask has shape \(3, 4\), expected .*\(3, 3\)/],
  ["NaN in a mask", () => sdpa({}, { ...kQuery, attn_mask: nan(floats(3, 3)) }), /attn_mask holds NaN at \(0, 0, 0, 1\)/],
  ["a mask of integers", () => sdpa({}, { ...kQuery, attn_mask: { data: new Int32Array(9), shape: [3, 3] } }), /attn_mask has the type I32/],
  ["a query of bytes", () => sdpa({}, { query: { data: new Uint8Array(24), shape: [1, 2, 3, 4] } }), /query has the type U8/],
  ["lengths beyond the keys", () => sdpa({}, { ...kQuery, valid_lens: { data: Int32Array.of(4), shape: [1] } }), /valid_lens holds 4, expected 0 to 3/],
  ["padding of the wrong shape", () => sdpa({}, { ...kQuery, key_padding_mask: { data: new Uint8Array(4), shape: [1, 4] } }), /key_padding_mask has shape \(1, 4\)/],
  ["maps larger than the memory", () => sdpa({ need_weights: true }, { query: floats(1, 1, 2 ** 20, 0) }), /memory error: .*4398046511104 bytes/],

  ["heads that do not divide the width", () => writeSafetensors(kLayer, { ...kMha, options: '{"embed_dim":8,"num_heads":3}' }), /embed_dim 8 and num_heads 3/],
  ["no width", () => writeSafetensors(kLayer, { ...kMha, options: '{"num_heads":2}' }), /embed_dim is missing/],
  ["a width of zero", () => writeSafetensors(kLayer, { ...kMha, options: '{"embed_dim":0,"num_heads":2}' }), /embed_dim is 0, expected a whole number, at least 1/],
  ["a width beyond all memory", () => writeSafetensors(kLayer, { ...kMha, options: '{"embed_dim":4611686018427387904,"num_heads":2}' }), /embed_dim is 4611686018427387904, expected a whole number/],
  ["a parameter missing", () => writeSafetensors(without(kLayer, "out_proj.bias"), kMha), /out_proj\.bias is missing; expected shape \(8,\)/],
  ["a parameter of the wrong shape", () => writeSafetensors({ ...kLayer, in_proj_bias: floats(23) }, kMha), /in_proj_bias has shape \(23,\), expected \(24,\)/],
  ["an input of the wrong width", () => writeSafetensors({ ...kLayer, query: floats(2, 3, 9) }, kMha), /query has shape \(3, 2, 9\).*expected \(3, 2, 8\)/],
];

describe("attend refuses", () => {
  beforeEach(() => { mkdirSync(inFolder("out"), { recursive: true }); });
  const out = (): string => inFolder("out/result.safetensors");
  const leavesNothing = (): void => { expect(readdirSync(inFolder("out"))).toEqual([]); };

  test.each(kFiles)("%s", (_, bytes, message) => {
    const path = inFolder("case.safetensors");
    writeFileSync(path, bytes());
    fails(["attend", path, "--out", out()], 2, message);
    fails(["attend", path, "--out", out()], 2, /case\.safetensors: \w+ error: /);
    leavesNothing();
  });

  test("a file that is not there, a folder, a device, a pipe, what may not be read", () => {
    const pipe = inFolder("pipe");
    expect(spawnSync("mkfifo", [pipe]).status).toBe(0);
    fails(["attend", inFolder("nothing"), "--out", out()], 2, /nothing: No such file/);
    fails(["attend", inFolder("out"), "--out", out()], 2, /out: is a directory, expected a file/);
    fails(["attend", "/dev/null", "--out", out()], 2, /not a regular file/);
    fails(["attend", pipe, "--out", out()], 2, /not a regular file/);
    const secret = inFolder("secret.safetensors");
    writeFileSync(secret, good());
    chmodSync(secret, 0);
    // Root may read everything, so another user tries.
    chmodSync(inFolder(""), 0o755);
    copyFileSync(kProgram, inFolder("program"));
    const another = process.getuid?.() === 0 ? { uid: 65534, program: inFolder("program") } : {};
    fails(["attend", secret, "--out", out()], 2, /Permission denied/, another);
    leavesNothing();
  });

  test("a file larger than the memory, without reading it", () => {
    const path = inFolder("huge.safetensors");
    writeFileSync(path, lengthOnly(8n, 8));
    truncateSync(path, 2 ** 42);  // takes no room on the disk
    fails(["attend", path, "--out", out()], 2, /4398046511104 bytes, and half of this machine's memory is/);
    leavesNothing();
  });

  test("a result that cannot be written: exit status 1, and nothing left", () => {
    const path = inFolder("good.safetensors");
    writeFileSync(path, good());
    fails(["attend", path, "--out", inFolder("nowhere/result.safetensors")], 1, /nowhere\/result.safetensors: cannot be written: No such file/);
    fails(["attend", path, "--out", inFolder("out")], 1, /out: cannot be written/);
    leavesNothing();
    expect(readdirSync(inFolder("")).filter((name) => name.startsWith("out."))).toEqual([]);
  });

  test("an older result stays when a run fails, and is replaced when it does not", () => {
    const [right, wrong, result] = [inFolder("right.safetensors"), inFolder("wrong.safetensors"), inFolder("kept.safetensors")];
    writeFileSync(right, good());
    writeFileSync(wrong, good().slice(0, -1));
    writeFileSync(result, "older");
    fails(["attend", wrong, "--out", result], 2, /wrong/);
    expect(readFileSync(result, "utf8")).toBe("older");
    succeeds(["attend", right, "--out", result]);
    expect(readFileSync(result).length).toBeGreaterThan(96);
    expect(readdirSync(inFolder("")).filter((name) => name.startsWith("kept"))).toEqual(["kept.safetensors"]);
  });
});
