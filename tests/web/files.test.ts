// SPDX-License-Identifier: Apache-2.0
/** The room that reads maps from files, without a browser: every format, what is refused, and how both are said. */
import { zipSync } from "fflate";
import { expect, test } from "vitest";
import type { Given } from "../../web/files/given-maps.js";
import { readMaps } from "../../web/files/maps-file.js";
import { givenMaps } from "../../web/maps/given.js";
import type { MapSource } from "../../web/maps/source.js";
import { type Bytes, fromBase64, npy, safetensors, type Stored, text, toBase64, withHeader } from "./files.js";

/** The maps as the element opens them. */
function opened({ weights, tokens, keyTokens, mask, causal = false, known }: Given): MapSource {
  if (!weights) throw new Error("no weights");
  return givenMaps({ weights, tokens, keyTokens, mask, causal, known }).maps;
}

/** All numbers of a head. */
async function numbers(given: Given, layer = 0, head = 0): Promise<number[]> {
  const maps = opened(given);
  const [rows, cols] = [maps.tokens.length, maps.keyTokens.length];
  const { values } = await maps.part(layer, head, { rows: [0, rows], cols: [0, cols] }, [rows, cols]);
  return [...values];
}

function floats(count: number, first = 0): Float32Array {
  return Float32Array.from({ length: count }, (_, index) => first + index / 8);
}

/** Maps of one layer: `heads` heads of 2 × 3, whose numbers begin at `first`. */
const layer = (heads: number, first: number): Stored =>
  ({ dtype: "F32", shape: [1, heads, 2, 3], data: floats(heads * 6, first) });

test("safetensors of transformers: layers in natural order, without the batch, and with other numbers of heads", async () => {
  const names = Array.from({ length: 12 }, (_, index) => `attentions.${index}`).sort();
  const layers = names.map((name) => [name, layer(name.endsWith("11") ? 3 : 2, Number(name.slice(11)))] as const);
  const given = await readMaps(safetensors(Object.fromEntries(layers)), "a.safetensors");
  expect(opened(given).heads).toEqual([2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3]);
  expect(await numbers(given, 2, 1)).toEqual([2.75, 2.875, 3, 3.125, 3.25, 3.375]);
  expect(await numbers(given, 11, 2)).toEqual([12.5, 12.625, 12.75, 12.875, 13, 13.125]);
  expect(given.understood).toBe('a.safetensors: 12 layers from "attentions.0" on: float32 (1, 2, 2, 3), read as batch × heads × queries × keys');
});

test("a cache of TransformerLens: patterns alone, whatever else there is and of any type", async () => {
  const given = await readMaps(safetensors({
    "blocks.0.attn.hook_q": { dtype: "F8_E4M3", shape: [1, 4], data: new Uint8Array(4) },
    "blocks.0.attn.hook_pattern": { dtype: "BF16", shape: [1, 1, 1, 2], data: Uint16Array.of(0x3f00, 0x3e80) },
    "blocks.10.attn.hook_pattern": { dtype: "F64", shape: [1, 1, 1, 2], data: Float64Array.of(0.125, 1) },
    "blocks.2.attn.hook_pattern": { dtype: "F16", shape: [1, 1, 1, 2], data: Uint16Array.of(0x3800, 0x0001) },
    "ln_final.hook_scale": { dtype: "F32", shape: [2], data: floats(2) },
  }), "cache");
  expect(await numbers(given, 0)).toEqual([0.5, 0.25]);
  expect(await numbers(given, 1)).toEqual([0.5, 2 ** -24]);
  expect(await numbers(given, 2)).toEqual([0.125, 1]);
  expect(given.understood).toContain('cache: 3 layers from "blocks.0.attn.hook_pattern" on: bfloat16 (1, 1, 1, 2), read');
  expect(given.understood).toMatch(/; 2 other arrays are left out$/);
});

test("the program's safetensors have pieces and are causal, and queries with keys are found by layer", async () => {
  const metadata = { tokens: "[5,7]", pieces: '["The"," <img onerror=x>"]', causal: "true" };
  const maps = { "attentions.3": { dtype: "F32", shape: [1, 2, 2], data: floats(4) } };
  const given = await readMaps(safetensors(maps, metadata), "maps");
  expect(given).toMatchObject({ tokens: ["The", " <img onerror=x>"], causal: true });
  const part = (first: number): Stored => ({ dtype: "F32", shape: [2, 2, 3], data: floats(12, first) });
  const parts = { "queries.1": part(4), "queries.0": part(2), "keys.0": part(6), "keys.1": part(8) };
  const pair = await readMaps(safetensors(parts), "pair");
  expect(pair.queries).toMatchObject({ shape: [2, 2, 2, 3] });
  expect(pair.queries && [pair.queries].flatMap((of) => ("data" in of ? [of.data[0], of.data[12]] : []))).toEqual([2, 4]);
  expect(pair.understood).toBe('pair: queries and keys, from which maps are computed; 2 layers from "queries.0" on: float32 (2, 2, 3), read as heads × queries × width');
});

test("one array under any name, and the stack of a batch", async () => {
  const one = await readMaps(safetensors({ whatever: { dtype: "F32", shape: [2, 3], data: floats(6) } }), "one");
  expect(one.understood).toBe("one: float32 (2, 3), read as queries × keys");
  const stack = await readMaps(safetensors({ x: { dtype: "F32", shape: [2, 1, 1, 2, 3], data: floats(12) } }), "stack");
  expect(stack.understood).toBe("stack: float32 (2, 1, 1, 2, 3), read as layers × batch × heads × queries × keys");
  expect(await numbers(stack, 1)).toEqual([0.75, 0.875, 1, 1.125, 1.25, 1.375]);
});

// These were written by NumPy.
const kFloat64 = "k05VTVBZAQB2AHsnZGVzY3InOiAnPGY4JywgJ2ZvcnRyYW5fb3JkZXInOiBGYWxzZSwgJ3NoYXBlJzogKDIsIDMpLCB9ICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgIAoAAAAAAADgPwAAAAAAANA/AAAAAAAAwD8AAAAAAADwPwAAAAAAAABAAAAAAAAACEA=";
const kFortran = "k05VTVBZAQB2AHsnZGVzY3InOiAnPGY0JywgJ2ZvcnRyYW5fb3JkZXInOiBUcnVlLCAnc2hhcGUnOiAoMiwgMywgNCksIH0gICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgIAoAAAAAAABAQQAAgEAAAIBBAAAAQQAAoEEAAIA/AABQQQAAoEAAAIhBAAAQQQAAqEEAAABAAABgQQAAwEAAAJBBAAAgQQAAsEEAAEBAAABwQQAA4EAAAJhBAAAwQQAAuEE=";
const kNpz = "UEsDBBQAAAAIAAAAIQBNdON5TgAAAIgAAAALABQAd2VpZ2h0cy5ucHkBABAAiAAAAAAAAABOAAAAAAAAAJvsF+obEMnIUMZQrZ6SWpxcpG6loG6TZqSuo6Cell9UUpSYF59flJIKEndLzClOBYoXZyQWpAL5GoY6CkZApKmjUKtAHuBisABCEwYrAFBLAwQUAAAACAAAACEAfjF2IlsAAACoAAAACgAUAHRva2Vucy5ucHkBABAAqAAAAAAAAABbAAAAAAAAAJvsF+obEMnIUMZQrZ6SWpxcpG6loG4Taqquo6Cell9UUpSYF59flJIKEndLzClOBYoXZyQWpAL5GkY6mjoKtQoUAK4QBgaGDCBOZUAABSBOBuJEIC4B4pdADABQSwECFAMUAAAACAAAACEATXTjeU4AAACIAAAACwAAAAAAAAAAAAAAgAEAAAAAd2VpZ2h0cy5ucHlQSwECFAMUAAAACAAAACEAfjF2IlsAAACoAAAACgAAAAAAAAAAAAAAgAGLAAAAdG9rZW5zLm5weVBLBQYAAAAAAgACAHEAAAAiAQAAAAA=";

test("arrays of NumPy, in rows and in columns", async () => {
  const given = await readMaps(fromBase64(kFloat64), "maps.npy");
  expect(given.understood).toBe("maps.npy: float64 (2, 3), read as queries × keys");
  expect(await numbers(given)).toEqual([0.5, 0.25, 0.125, 1, 2, 3]);
  const fortran = await readMaps(fromBase64(kFortran), "f.npy");
  expect(fortran.understood).toBe("f.npy: float32 (2, 3, 4), read as heads × queries × keys");
  expect(await numbers(fortran, 0, 1)).toEqual([12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23]);
});

test.each([
  ["<f2", 1, Uint16Array.of(0x3c00, 0xfc00)],
  ["<i8", 2, BigInt64Array.of(1n, -3n)],
  ["|b1", 3, Uint8Array.of(1, 0)],
  ["=u2", 1, Uint16Array.of(1, 65535)],
] as const)("numbers of the type %s in version %i", async (descr, version, data) => {
  const given = await readMaps(npy({ descr, version, shape: "(1, 2)", data }), "x");
  const expected = { "<f2": [1, -Infinity], "<i8": [1, -3], "|b1": [1, 0], "=u2": [1, 65535] }[descr];
  expect(await numbers(given)).toEqual(expected);
});

test("zips of NumPy with tokens, and with layers that have no names", async () => {
  const given = await readMaps(fromBase64(kNpz), "maps.npz");
  expect(given).toMatchObject({ tokens: ["The", " caté"], understood: "maps.npz: float16 (1, 2, 2), read as heads × queries × keys" });
  expect(await numbers(given)).toEqual([0.5, 0.5, 0.25, 0.75]);
  const array = (first: number): Uint8Array => npy({ descr: "<f4", shape: "(1, 1, 2, 3)", data: floats(6, first) });
  const zip = zipSync({ "arr_10.npy": array(10), "arr_0.npy": array(0), "arr_2.npy": [array(2), { level: 0 }] });
  const layers = await readMaps(Uint8Array.from(zip), "z");
  const all = await Promise.all([0, 1, 2].map((index) => numbers(layers, index)));
  expect(all.map(([first]) => first)).toEqual([0, 2, 10]);
});

test("nested lists, those of CircuitsVis, and null for NaN", async () => {
  const given = await readMaps(text("[[[1, 0], [0.25, null]], [[0.5, 0.5], [0, 1]]]"), "a.json");
  expect(given.understood).toBe("a.json: numbers (2, 2, 2), read as heads × queries × keys");
  expect(await numbers(given)).toEqual([1, 0, 0.25, NaN]);
  const vis = await readMaps(text({ tokens: ["a", "b"], attention: [[[1, 0], [0.5, 0.5]]] }), "c");
  expect(vis.tokens).toEqual(["a", "b"]);
  expect(opened(vis).heads).toEqual([1]);
});

test("BertViz in its newer and older forms: the first entry, with names on both sides", async () => {
  const entry = { name: "Cross", attn: [[[[0.25, 0.75, 0]]]], left_text: ["x"], right_text: ["a", "b", "c"] };
  for (const attention of [[entry, { ...entry, name: "All" }], { all: entry, ab: entry }]) {
    const given = await readMaps(text({ attention, default_filter: "0" }), "b");
    expect(given).toMatchObject({ tokens: ["x"], keyTokens: ["a", "b", "c"] });
    expect(given.understood).toBe('b: BertViz\'s numbers (1, 1, 1, 3), read as layers × heads × queries × keys; the first of 2 entries, "Cross"');
    expect(await numbers(given)).toEqual([0.25, 0.75, 0]);
  }
});

test("the program's JSON, with the layers and heads that it names", async () => {
  const maps = [[[[1, 0], [0.5, 0.5]], [[1, 0], [0.25, 0.75]]]];
  const which = { layers: [3], heads: [0, 2], causal: true };
  const given = await readMaps(text({ tokens: [5, 7], pieces: ["The", " cat"], ...which, maps }), "m.json");
  expect(given).toMatchObject({ tokens: ["The", " cat"], causal: true });
  expect(given.understood).toBe("m.json: numbers (1, 2, 2, 2), read as layers × heads × queries × keys; layers 3; heads 0, 2");
  expect(await numbers(given, 0, 1)).toEqual([1, NaN, 0.25, 0.75]);
});

test("the compact form, packed or as a list, with a mask, and with queries and keys", async () => {
  const weights = { dtype: "F32", shape: [1, 2, 2], data: toBase64(Float32Array.of(0.5, 0.5, 0.25, 0.75)) };
  const given = await readMaps(text({ tokens: ["a", "b"], mask: [[1, 0], [1, 1]], weights }), "c");
  expect(await numbers(given)).toEqual([0.5, NaN, 0.25, 0.75]);
  const halves = { dtype: "F16", shape: [1, 2], data: toBase64(Uint16Array.of(0x3c00, 0x3800)) };
  const half = await readMaps(text({ weights: halves }), "h");
  expect(await numbers(half)).toEqual([1, 0.5]);
  const plain = await readMaps(text({ tokens: ["q"], keyTokens: ["a", "b"], weights: { shape: [1, 2], data: [0.25, null] } }), "p");
  expect(await numbers(plain)).toEqual([0.25, NaN]);
  const pair = await readMaps(text({ queries: [[1, 2]], keys: { shape: [1, 2], data: [3, 4] }, softmaxScale: 2 }), "q");
  const keys = { shape: [1, 2], data: Float32Array.of(3, 4) };
  expect(pair).toMatchObject({ softmaxScale: 2, queries: { shape: [1, 2] }, keys });
});

test("sparse maps: what is missing is not known, and pooled only where all of a block is", async () => {
  const given = await readMaps(text({ tokens: ["a", "b", "c", "d"], rows: [[[0, 1]], [[0, 0.25]], [[2, 0.5]], [[0, 0], [3, null]]] }), "s");
  expect(given.understood).toBe("s: one head of 4 × 4, read as rows of [key, weight]; 5 of 10 cells are known; causal, since no key is after its query");
  const maps = opened(given);
  const whole = { rows: [0, 4], cols: [0, 4] } as const;
  const { known = [] } = await maps.part(0, 0, whole, [4, 4]);
  expect([...known]).toEqual([1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 1]);
  const pooled = await maps.part(0, 0, whole, [2, 2]);
  expect([...(pooled.known ?? [])]).toEqual([1, 0, 1, 1]);
  expect([...pooled.values]).toEqual([1, NaN, 0, NaN]);
  expect((await maps.overviews(0, [0, 1], [4, 4]))[0]?.largest).toEqual(Float32Array.of(1, 0.25, 0.5, 0));
});

test("a head of HeadVis: the strongest of its sequences, cell by cell", async () => {
  const sequence = (most: number, tokens: string[]): object =>
    ({ tokens, attention_indices: [0, 2, 3], attention_values: [1, 0.25, most], max_activation: most });
  const sequences = [sequence(0.5, ["x", "y"]), sequence(0.75, ["a", "b"])];
  const given = await readMaps(text({ sequences }), "L0H1.json");
  expect(given.tokens).toEqual(["a", "b"]);
  expect(await numbers(given)).toEqual([1, NaN, 0.25, 0.75]);
  expect(given.understood).toContain("L0H1.json: one head of HeadVis, 2 × 2; sequence 2 of 2, whose");
  expect(given.understood).toContain("is the largest; causal, since no key is after its query");
  const one = await readMaps(text({ tokens: ["a", "b"], attentionIndices: [3], attentionValues: [1] }), "n");
  expect(await numbers(one)).toEqual([NaN, NaN, NaN, 1]);
});

test("CSV of one head, with and without names", async () => {
  const plain = await readMaps(text("0.5,0.5\n0.25,nan\n"), "a.csv");
  expect(plain.understood).toBe("a.csv: a table (2, 2), read as queries × keys");
  expect(await numbers(plain)).toEqual([0.5, 0.5, 0.25, NaN]);
  const named = await readMaps(text('query,"a,b",c""\r\n"x ""y""\nz",1,0\r\nw,0.5,-inf'), "n");
  expect(named).toMatchObject({ tokens: ['x "y"\nz', "w"], keyTokens: ["a,b", 'c""'] });
  expect(await numbers(named)).toEqual([1, 0, 0.5, -Infinity]);
  // An empty corner says that numbers are names, as pandas writes them.
  expect(await readMaps(text(",0,1\n0,0.5,0.5\n1,0.25,0.75\n"), "p")).toMatchObject({ tokens: ["0", "1"], keyTokens: ["0", "1"] });
  expect(await readMaps(text("\tle\tchat\nthe\t1\t0\n"), "t")).toMatchObject({ tokens: ["the"], keyTokens: ["le", "chat"] });
});

test("the program's CSV: layers and heads by their numbers, pieces as they were", async () => {
  const rows = ["4,1,0,0,1,'=1,'=1", "4,1,1,0,0.25,b,'=1", "4,1,1,1,null,b,b", "9,1,1,1,0.5,b,b"];
  const header = "layer,head,query,key,weight,query_piece,key_piece";
  const given = await readMaps(text([header, ...rows].join("\n")), "m.csv");
  expect(given).toMatchObject({ tokens: ["=1", "b"], keyTokens: ["=1", "b"], causal: true });
  expect(await numbers(given, 0)).toEqual([1, NaN, 0.25, NaN]);
  const { known } = await opened(given).part(1, 0, { rows: [0, 2], cols: [0, 2] }, [2, 2]);
  expect([...(known ?? [])]).toEqual([0, 0, 0, 1]);
  expect(given.understood).toBe("m.csv: a table of cells, 2 × 2, of layers 4, 9 and heads 1; 4 of 6 cells are known; causal, since no key is after its query");
});

const f32 = (shape: string, count: number): Bytes => npy({ descr: "<f4", shape, data: floats(count) });
const entry = (members: object): Bytes => withHeader(JSON.stringify({ a: members }), new Uint8Array(8));

/** A zip whose directory claims another size than its content has. */
function withSize(zip: Uint8Array, size: number): Bytes {
  const view = new DataView(Uint8Array.from(zip).buffer);
  view.setUint32(view.getUint32(zip.length - 6, true) + 24, size, true);
  return new Uint8Array(view.buffer);
}

const kZip = zipSync({ "a.npy": f32("(2, 3)", 6) });

test.each([
  ["nothing", new Uint8Array(), /^f is empty, expected maps as \.safetensors, \.npy, \.npz, JSON or CSV$/],
  ["an HTML page", text("\n<!DOCTYPE html><title>404</title>"), /^f is an HTML page, as servers send/],
  ["a picture", Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 13, 10, 26, 10), /^f is a picture, expected maps/],
  ["a pickle", Uint8Array.of(0x80, 4, 0x95, 0), /^f is a Python pickle/],
  ["an ONNX model", Uint8Array.of(8, 7, 0x12, 7, 0x70), /^f is an ONNX model/],
  ["a PyTorch file", Uint8Array.from(zipSync({ "archive/data.pkl": Uint8Array.of(1) })), /^f is a PyTorch file \(a zip with a pickle\)/],
  ["a zip of other files", Uint8Array.from(zipSync({ "a.txt": Uint8Array.of(1) })), /^f is a zip without arrays/],
  ["bytes", Uint8Array.of(0xff, 0xfe, 1, 0, 2), /^f is neither of a known format nor text/],
  ["a claim of a long header", withHeader("{}".padEnd(20)).subarray(0, 18), /^f claims a header of 20 bytes, expected at most 10/],
  ["a header that is no JSON", withHeader("{nothing}"), /^f: the header is not JSON: /],
  ["a header without arrays", withHeader("{}"), /^f has 0 arrays, expected maps under names such as/],
  ["an entry that is no object", withHeader('{"a":7}'), /^f: "a" is 7, expected an object with dtype, shape and data_offsets/],
  ["an overflowing shape", entry({ dtype: "F32", shape: [2 ** 40, 2 ** 40], data_offsets: [0, 8] }), /^f: "a" has shape \(1099511627776, 1099511627776\), expected at most/],
  ["a negative size", entry({ dtype: "F32", shape: [-1, 2], data_offsets: [0, 8] }), /^f: "a" has the shape \(-1, 2\), expected whole numbers/],
  ["an unknown type", entry({ dtype: "constructor", shape: [1, 2], data_offsets: [0, 8] }), /^f: "a" has the type "constructor", expected F64, F32/],
  ["offsets out of the file", entry({ dtype: "F32", shape: [1, 4], data_offsets: [0, 16] }), /^f has 8 bytes of numbers, expected 16/],
  ["offsets that do not fit the shape", entry({ dtype: "F32", shape: [1, 1], data_offsets: [0, 8] }), /^f: "a" has 8 bytes of numbers, expected 4/],
  ["arrays that overlap", withHeader(JSON.stringify({ a: { dtype: "F32", shape: [1, 2], data_offsets: [0, 8] }, b: { dtype: "F32", shape: [1, 1], data_offsets: [4, 8] } }), new Uint8Array(8)), /^f: "b" has bytes 4 to 8, expected to begin at 8/],
  ["arrays of several kinds", safetensors({ one: layer(1, 0), two: layer(1, 1) }), /^f has 2 arrays: "one", "two", expected maps under names/],
  ["a batch of two", safetensors({ "attentions.0": { dtype: "F32", shape: [2, 1, 1, 2], data: floats(4) }, "attentions.1": layer(1, 0) }), /^f: "attentions\.0" has shape \(2, 1, 1, 2\), expected \(H, T, S\) or \(1, H, T, S\)/],
  ["one axis", f32("(7,)", 7), /^f has shape \(7,\), expected \(T, S\), \(H, T, S\) or \(L, H, T, S\)/],
  ["a truncated array", f32("(2, 4)", 7), /^f has 28 bytes of numbers, expected 32/],
  ["a huge shape", f32("(99999999999, 99999999999)", 1), /^f has shape .* expected at most 536870912 values/],
  ["a header that is longer than the file", npy({ descr: "<f4", shape: "(1, 1)", data: floats(1), version: 2, claimed: 2 ** 31 }), /^f has a header of 2147483648 bytes/],
  ["big-endian numbers", npy({ descr: ">f4", shape: "(1, 1)", data: floats(1) }), /^f has the type ">f4", expected little-endian numbers/],
  ["Python objects", npy({ descr: "|O", shape: "(1, 1)", data: floats(1) }), /^f has the type "\|O" \(Python objects, which are not read\)/],
  ["a structured type", npy({ descr: "[('x', '<f4')]", shape: "(1, 1)", data: floats(1) }), /^f has the header .* expected plain numbers/],
  ["a zip that claims much", withSize(kZip, 2 ** 31 - 1), /^f: "a\.npy" claims 2147483647 bytes, packed into \d+,/],
  ["a zip that claims less than it has", withSize(kZip, 50), /^f: "a\.npy" cannot be unpacked to 50 bytes$/],
  ["a truncated zip", Uint8Array.from(kZip.subarray(0, 60)), /^f is not a whole zip$/],
  ["broken JSON", text('{"weights": [['), /^f is not JSON: /],
  ["JSON of something else", text({ model: 1 }), /^f is an object with "model", expected weights, maps/],
  ["a polluted prototype", text('{"__proto__": {"weights": [[1]]}}'), /^f is an object with "__proto__", expected weights/],
  ["ragged lists", text("[[[1, 2], [3]]]"), /^f: weights\[0\]\[1\] has 1 numbers, expected 2/],
  ["texts in place of numbers", text('[["a"]]'), /^f: weights\[0\]\[0\] is of the type string, expected a number/],
  ["lists that are too deep", text("[".repeat(1e5) + "]".repeat(1e5)), /^f: weights is nested deeper than 5 lists/],
  ["packed numbers that are no base64", text({ weights: { shape: [1, 1], data: "~" } }), /^f: weights\.data is "~", expected base64/],
  ["packed numbers that are too few", text({ weights: { shape: [1, 2], data: toBase64(floats(1)) } }), /^f: weights has 4 bytes of numbers, expected 8/],
  ["tokens that are none", text({ weights: [[1]], tokens: [{}] }), /^f: tokens is a list of 1, expected a list of texts or ids/],
  ["a cell out of its map", text({ rows: [[[1, 0.5]]] }), /^f has a cell of query 0 and key 1, expected 0 to 0 and 0 to 0/],
  ["a sparse map that is too large", text({ tokens: Array(9000).fill("a"), rows: [] }), /^f has maps of 1 × 1 × 9000 × 9000 cells, expected 1 to 67108864/],
  ["CSV with a word", text("1,2\n3,four\n"), /^f: row 2, column 2 is "four", expected a number/],
  ["CSV with a short row", text("1,2\n3\n"), /^f: row 2 has 1 numbers, expected 2/],
  ["CSV with an open quote", text('"a,1\n2,3\n'), /^f has a quote that is not closed/],
  ["cells far out", text("layer,head,query,key,weight\n0,0,99999999,99999999,1\n"), /^f has maps of 1 × 1 × 100000000 × 100000000 cells/],
  ["cells at no place", text("layer,head,query,key,weight\n0,0,-1,0,1\n"), /^f: row 2 has the query "-1", expected a whole number from 0/],
])("%s is refused by name", async (_, bytes, message) => {
  await expect(readMaps(bytes, "f").then(opened)).rejects.toThrow(message);
});

test("no beginning of a file and no file with other bytes crashes: each is read, or refused with its name", async () => {
  const weights = { dtype: "F32", shape: [1, 2], data: toBase64(floats(2)) };
  const files = [
    safetensors({ a: layer(1, 0) }, { tokens: '["a"]' }), fromBase64(kFortran), fromBase64(kNpz), text({ weights }),
    text({ rows: [[[0, 1]]] }), text("layer,head,query,key,weight\n0,0,0,0,1\n"), text(",a\nb,1\n"),
  ];
  const tryToRead = async (bytes: Bytes): Promise<void> => {
    try {
      await readMaps(bytes, "the file");
    } catch (error) {
      expect(String(error), Buffer.from(bytes).toString("latin1")).toMatch(/^Error: the file/);
    }
  };
  let state = 7;
  const random = (most: number): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * most);
  };
  for (const file of files) {
    for (let length = 0; length < file.length; length++) await tryToRead(file.slice(0, length));
    for (let round = 0; round < 1000; round++) {
      const changed = file.slice();
      for (let count = random(3); count >= 0; count--) changed[random(changed.length)] = random(256);
      await tryToRead(changed);
    }
  }
});
