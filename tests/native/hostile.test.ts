// SPDX-License-Identifier: Apache-2.0
/** Errors in a case are reported in one line with exit status 2, and leave no file behind. */
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

/** A file with one tensor that is described by `entry`, and `bytes` bytes of data. */
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
/** A header with a byte that is not UTF-8. */
const notUtf8 = (): Uint8Array => withHeader('{"a~":1}', new Uint8Array(0)).map((byte) => (byte === 0x7e ? 0xff : byte));

const kFiles: readonly (readonly [string, () => Uint8Array, RegExp])[] = [
  ["no bytes at all", () => new Uint8Array(0), /safetensors has 0 bytes, expected at least 8/],
  ["fewer bytes than a length", () => new Uint8Array(5), /safetensors has 5 bytes, expected at least 8/],
  ["a header beyond the file's end", () => lengthOnly(1000n, 10), /the header claims 1000 bytes, expected at most 10/],
  ["the largest length there is", () => lengthOnly(2n ** 64n - 1n, 10), /claims 18446744073709551615 bytes, expected at most 10/],
  ["a header cut short", () => good().slice(0, 40), /claims \d+ bytes, expected at most 32/],
  ["data cut short", () => good().slice(0, -1), /tensor "query"\.data_offsets is \[0,96\], expected a begin and an end inside the 95 bytes of data/],
  ["an empty header", () => lengthOnly(0n), /the header claims 0 bytes, expected at least 1/],
  ["no JSON", () => withHeader("not JSON", new Uint8Array(0)), /the header is "not JSON", expected a JSON object/],
  ["another file altogether", () => readFileSync(`${kGolden}/make.py`), /claims \d+ bytes, expected at most \d+/],
  ["a list for a header", () => withHeader("[]", new Uint8Array(0)), /expected a JSON object/],
  ["bytes that are no UTF-8", notUtf8, /expected a JSON object/],
  ["a header nested a million deep", () => withHeader("[".repeat(1_000_000), new Uint8Array(0)), /the header is nested deeper, expected at most 3 levels/],
  ["objects nested a million deep", () => withHeader('{"a":'.repeat(1_000_000), new Uint8Array(0)), /the header is nested deeper, expected at most 3 levels/],
  ["a name twice", () => withHeader('{"query":1,"query":2}', new Uint8Array(0)), /the header names "query" twice, expected once/],
  ["metadata that is no object", () => withHeader('{"__metadata__":[]}', new Uint8Array(0)), /__metadata__ is \[\], expected an object/],
  ["metadata that is no text", () => withHeader('{"__metadata__":{"op":1}}', new Uint8Array(0)), /__metadata__\["op"\] is 1, expected a string/],
  ["a tensor that is no object", () => described(1), /tensor "query" is 1, expected an object/],
  ["no dtype", () => described({ shape: [1], data_offsets: [0, 4] }), /tensor "query"\.dtype is missing/],
  ["an unknown dtype", () => described({ dtype: "F33", shape: [1], data_offsets: [0, 4] }), /tensor "query"\.dtype is "F33", expected F32/],
  ["no shape", () => described({ dtype: "F32", data_offsets: [0, 4] }), /tensor "query"\.shape is missing/],
  ["a negative size", () => described(f32([-1, 4], 0, 96)), /tensor "query"\.shape\[0\] is -1, expected a whole number, at least 0/],
  ["a fractional size", () => described(f32([1.5, 4], 0, 96)), /tensor "query"\.shape\[0\] is 1\.5, expected a whole number, at least 0/],
  ["a size that is no number", () => described(f32(["4"], 0, 96)), /tensor "query"\.shape\[0\] is "4", expected a whole number, at least 0/],
  ["one offset", () => described(f32([24], 0)), /tensor "query"\.data_offsets is \[0\], expected a begin and an end/],
  ["offsets the wrong way round", () => described(f32([24], 96, 0)), /tensor "query"\.data_offsets is .*, expected a begin and an end inside/],
  ["offsets outside the data", () => described(f32([24], 4, 100)), /tensor "query"\.data_offsets is \[4,100\], expected a begin and an end inside the 96 bytes/],
  ["offsets beyond all files", () => described(f32([24], 0, Number.MAX_SAFE_INTEGER)), /tensor "query"\.data_offsets is .*, expected a begin and an end inside/],
  ["a size that fits no offsets", () => described(f32([25], 0, 96)), /tensor "query"\.data_offsets is \[0,96\], expected 100 bytes for shape \[25\]/],
  ["a product that overflows", () => described(f32([2 ** 32, 2 ** 32], 0, 0), 0), /tensor "query"\.shape is .*, expected a size that can be addressed/],
  ["a product that overflows to 96 bytes", () => described(f32([2 ** 62, 4, 24], 0, 96)), /tensor "query"\.shape is .*, expected a size that can be addressed/],
  ["overlapping tensors", () => two([0, 16], [8, 24], 24), /tensor "key" begins at byte 8, expected 16, where the one before it ends/],
  ["the same bytes twice", () => two([0, 16], [0, 16], 16), /tensor ".*" begins at byte 0, expected 16/],
  ["a hole before the data", () => two([4, 20], [20, 36], 36), /tensor "query" begins at byte 4, expected 0/],
  ["a hole between tensors", () => two([0, 16], [20, 36], 36), /tensor "key" begins at byte 20, expected 16/],
  ["bytes after the last tensor", () => two([0, 16], [16, 32], 40), /safetensors has 8 bytes after the last tensor, expected none/],
  ["control characters in a name", () => withHeader(JSON.stringify({ "a\nb\u001b[31m": 1 }), new Uint8Array(0)), /"a\?b\?\[31m"/],
  ["a name of a megabyte", () => withHeader(JSON.stringify({ ["x".repeat(1e6)]: 1 }), new Uint8Array(0)), /^.{1,300}\n$/],

  ["no op", () => writeSafetensors(kQuery, {}), /__metadata__\.op is missing, expected a string/],
  ["an unknown op", () => writeSafetensors(kQuery, { op: "attention\n\n" }), /op is "attention\?\?", expected one of/],
  ["options that are no JSON", () => sdpa("{"), /options is .*, expected a JSON object/],
  ["options that are a list", () => sdpa([]), /options is .*, expected a JSON object/],
  ["options nested a million deep", () => sdpa('{"a":'.repeat(1_000_000)), /options is nested deeper, expected at most 64 levels/],
  ["an unknown option with a line break", () => sdpa({ "is\ncausal": true }), /unknown option "is\?causal"/],

  ["integers of 8 bits for floats", () => sdpa({}, { query: { data: new Int8Array(24), shape: [1, 2, 3, 4] } }), /query has the type I8, expected floats/],
  ["no query", () => sdpa({}, { key: floats(1, 2, 3, 4) }), /query is missing/],
  ["maps larger than the memory", () => sdpa({ need_weights: true }, { query: floats(1, 1, 2 ** 20, 0) }), /memory error: .*4398046511104 bytes/],

  ["a parameter missing", () => writeSafetensors(without(kLayer, "out_proj.bias"), kMha), /out_proj\.bias is missing, expected shape \(8,\)/],
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
    fails(["attend", inFolder("out"), "--out", out()], 2, /out is a directory, expected a file/);
    fails(["attend", "/dev/null", "--out", out()], 2, /is a device, a pipe or a socket, expected a regular file/);
    fails(["attend", pipe, "--out", out()], 2, /is a device, a pipe or a socket, expected a regular file/);
    const secret = inFolder("secret.safetensors");
    writeFileSync(secret, good());
    chmodSync(secret, 0);
    // Root may read everything, so this runs as another user.
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
    fails(["attend", path, "--out", out()], 2, /huge\.safetensors has 4398046511104 bytes, expected at most \d+, half of this machine's memory/);
    leavesNothing();
  });

  test("what takes more memory than there is, and names the file", () => {
    const path = inFolder("large.safetensors"), size = 2 ** 27;
    const start = described(f32([1, 1, 1, size], 0, 4 * size), 0);
    writeFileSync(path, start);
    truncateSync(path, start.length + 4 * size);
    for (const kibibytes of [400_000, 700_000]) {  // too little for the file, and for what is made of it
      const { status, stderr } = spawnSync("sh", ["-c", `ulimit -v ${kibibytes}; exec "$0" attend "$1" --out "$2"`, kProgram, path, out()], { encoding: "utf8" });
      expect(stderr).toMatch(/^headlens: .*large\.safetensors: memory error: [^\n]+\n$/);
      expect(status).toBe(2);
    }
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
