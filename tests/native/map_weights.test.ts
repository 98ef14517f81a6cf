// SPDX-License-Identifier: Apache-2.0
/** `headlens map --weights FILE`: maps that were computed elsewhere, from NumPy's files and from safetensors. */
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { PNG } from "pngjs";
import { beforeAll, describe, expect, test } from "vitest";
import { kRoot } from "../compare.js";
import { readSafetensors, tensorOf, withHeader, writeSafetensors } from "../safetensors.js";
import { fails, succeeds, temporaryFolder } from "./support.js";

const inFolder = temporaryFolder();
const kModel = `${kRoot}web/models/tiny`;
beforeAll(() => { mkdirSync(inFolder("out")); });

/** A .npy file with this header, right or wrong, followed by these bytes. */
function npy(header: string, body: Uint8Array, version = 1): Buffer {
  const text = Buffer.from(header, "latin1");
  const length = Buffer.alloc(version === 1 ? 2 : 4);
  length.writeUIntLE(text.length, 0, length.length);
  return Buffer.concat([Buffer.from("\x93NUMPY", "latin1"), Buffer.from([version, 0]), length, text, body]);
}

const header = (type: string, shape: string, order = "False"): string =>
  `{'descr': '${type}', 'fortran_order': ${order}, 'shape': (${shape}), }\n`;
const bytesOf = (numbers: Float32Array | Float64Array): Uint8Array => new Uint8Array(numbers.buffer);
const numbers = (count: number): Float32Array => Float32Array.from({ length: count }, (_, i) => i / 128);

interface MapsJson {
  tokens?: number[];
  pieces?: string[];
  key_pieces?: string[];
  layers: number[];
  heads: number[];
  causal: boolean;
  maps: (number | null)[][][][];
}

/** The file that `headlens map` makes of given weights. */
function made(bytes: Uint8Array, kind: string, ...more: string[]): Buffer {
  writeFileSync(inFolder("given"), bytes);
  const out = inFolder(`maps.${kind}`);
  succeeds(["map", "--weights", inFolder("given"), "--out", out, ...more]);
  return readFileSync(out);
}

const json = (bytes: Uint8Array, ...more: string[]): MapsJson =>
  JSON.parse(made(bytes, "json", ...more).toString()) as MapsJson;

/** The numbers of `shape` = [L, H, T, S] as nested lists. */
function nested(data: ArrayLike<number>, shape: readonly [number, number, number, number]): number[][][][] {
  const [, heads, rows, cols] = shape;
  const cut = <T>(list: T[], size: number): T[][] =>
    Array.from({ length: list.length / size }, (_, i) => list.slice(i * size, (i + 1) * size));
  return cut(cut(cut(Array.from(data), cols), rows), heads);
}

describe("NumPy's files", () => {
  test.each([
    ["2, 3", [1, 1, 2, 3]], ["4, 2, 3", [1, 4, 2, 3]], ["2, 4, 3, 5", [2, 4, 3, 5]], ["1,1", [1, 1, 1, 1]],
  ] as const)("of shape (%s)", (shape, sizes) => {
    const data = numbers(sizes.reduce<number>((a, b) => a * b, 1));
    const found = json(npy(header("<f4", shape), bytesOf(data)));
    expect(found.maps).toEqual(nested(data, sizes));
    const [layers, heads] = sizes.map((size) => [...Array(size).keys()]);
    expect(found).toMatchObject({ layers, heads, causal: false });
    expect(found.tokens).toBeUndefined();
  });

  test("of each type and version", () => {
    const expected = nested(numbers(6), [1, 1, 2, 3]);
    const halves = Uint16Array.of(0, 0x2000, 0x2400, 0x2600, 0x2800, 0x2900);
    for (const version of [1, 2, 3]) {
      expect(json(npy(header("<f4", "2, 3"), bytesOf(numbers(6)), version)).maps).toEqual(expected);
      expect(json(npy(header("<f8", "2, 3"), bytesOf(Float64Array.from(numbers(6))), version)).maps).toEqual(expected);
      expect(json(npy(header("<f2", "2, 3"), new Uint8Array(halves.buffer), version)).maps).toEqual(expected);
    }
  });

  test("as NumPy writes them", ({ skip }) => {
    const code = "import numpy, sys; numpy.save(sys.argv[1], numpy.random.default_rng(1).random((2, 3, 4, 5)).astype(sys.argv[2]))";
    for (const type of ["<f2", "<f4", "<f8"]) {
      const saved = spawnSync("/usr/bin/python3", ["-c", code, inFolder("saved.npy"), type]);
      if (saved.status !== 0) skip("NumPy is not installed");
      expect(json(readFileSync(inFolder("saved.npy"))).maps.flat(3)[0]).toBeCloseTo(0.5118, 3);
    }
  });

  const f4 = (shape: string, count: number): Buffer => npy(header("<f4", shape), bytesOf(numbers(count)));
  const of = (text: string): Buffer => npy(text, new Uint8Array(24));
  test.each([
    ["nothing", Buffer.alloc(0), /the file begins with "", expected/],
    ["another file", Buffer.from("{\"a\": 1}         "), /the file begins with "\{"a": 1\}"/],
    ["a magic word alone", Buffer.from("\x93NUMPY", "latin1"), /the file begins with/],
    ["a version to come", npy(header("<f4", "2, 3"), bytesOf(numbers(6)), 4), /the format's version is 4, expected 1 to 3/],
    ["a header beyond its end", f4("2, 3", 6).subarray(0, 30), /the header claims \d+ bytes, expected at most 20/],
    ["a length of 4 GiB", Buffer.concat([Buffer.from("\x93NUMPY\x02\x00\xff\xff\xff\xff{}", "latin1")]), /the header claims 4294967295 bytes, expected at most 2/],
    ["a length cut short", Buffer.from("\x93NUMPY\x02\x00\xff\xff", "latin1"), /the file has 10 bytes, expected at least 12/],
    ["too few numbers", f4("2, 3", 5), /the array of shape \(2, 3\) has 20 bytes, expected 24/],
    ["too many numbers", f4("2, 3", 7), /has 28 bytes, expected 24/],
    ["sizes that overflow", f4("4294967296, 4294967296, 4294967296", 1), /memory error|too large|expected at most/],
    ["a size above 64 bits", of(header("<f4", "99999999999999999999, 1")), /the header is ".*", expected \{'descr'/],
    ["a negative size", of(header("<f4", "-2, -3")), /the header is/],
    ["no numbers", f4("0, 5", 0), /the array has shape \(0, 5\), expected \(T, S\)/],
    ["one axis", f4("6", 6), /the array has shape \(6,\), expected \(T, S\)/],
    ["five axes", f4("1, 1, 1, 2, 3", 6), /has shape \(1, 1, 1, 2, 3\), expected \(T, S\)/],
    ["more maps than anyone has", f4("65537, 1, 1", 65_537), /has shape \(65537, 1, 1\), expected at most 65536 maps/],
    ["Fortran order", of(header("<f4", "2, 3", "True")), /the array is in Fortran order, expected C order/],
    ["big-endian numbers", of(header(">f4", "2, 3")), /the array holds big-endian numbers \(">f4"\), expected little-endian floats/],
    ["pickled objects", of(header("|O", "2, 3")), /the array holds pickled Python objects \("\|O"\)/],
    ["whole numbers", of(header("<i4", "2, 3")), /the array holds another type \("<i4"\)/],
    ["fields", of("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (6,), }"), /the array has fields, expected floats of one type/],
    ["no type", of("{'fortran_order': False, 'shape': (2, 3), }"), /the header is/],
    ["a key twice", of("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)}"), /the header is/],
    ["a key that is not known", of("{'descr': '<f4', 'a': 1, 'fortran_order': False, 'shape': (2, 3)}"), /the header is/],
    ["more after the header", of("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)} x"), /the header is/],
    ["a text without end", of("{'descr': '<f4"), /the header is/],
    ["brackets without end", of("{'shape': ".padEnd(60_000, "(")), /the header is/],
    ["no header", of(""), /the header is ""/],
  ])("%s is refused", (_, bytes, message) => {
    writeFileSync(inFolder("wrong.npy"), bytes);
    fails(["map", "--weights", inFolder("wrong.npy"), "--out", inFolder("out/maps.png")], 2, message);
    expect(readdirSync(inFolder("out"))).toEqual([]);
  });
});

describe("safetensors", () => {
  const layer = (offset: number, ...shape: number[]): { data: Float32Array; shape: number[] } =>
    ({ data: numbers(shape.reduce((a, b) => a * b)).map((x) => x + offset / 8), shape });

  test("layers stand in the natural order of their names, without a batch axis, and without what else is there", () => {
    const layers = [0, 1, 2, 10].map((i) => [`blocks.${i}.attn.hook_pattern`, layer(i, 1, 2, 3, 3)] as const).reverse();
    const cache = writeSafetensors({ "blocks.0.hook_resid_pre": layer(0, 1, 3, 7), ...Object.fromEntries(layers) }, {});
    const found = json(cache);
    expect(found.layers).toEqual([0, 1, 2, 10]);
    expect(found.maps.map((maps) => maps[0]?.[0]?.[0])).toEqual([0, 1, 2, 10].map((i) => i / 8));
    expect(json(cache, "--layer", "10", "--head", "1")).toMatchObject({ layers: [10], heads: [1], maps: [[found.maps[3]?.[1]]] });
  });

  test("one tensor with all layers, and tensors with names of any kind", () => {
    expect(json(writeSafetensors({ maps: layer(0, 3, 2, 4, 5) }, {})).maps).toEqual(nested(numbers(120), [3, 2, 4, 5]));
    const found = json(writeSafetensors({ b: layer(8, 2, 2), a: layer(0, 2, 2) }, {}));
    const maps = [0, 1].map((i) => [[[i, i + 1 / 128], [i + 2 / 128, i + 3 / 128]]]);
    expect(found).toMatchObject({ layers: [0, 1], maps });
  });

  test("what the program writes, it reads: the same files come out of both", () => {
    const model = ["--model", kModel, "--text", "The cat <b>", "--head", "3"];
    succeeds(["map", ...model, "--what", "maps,queries", "--out", inFolder("model.safetensors")]);
    for (const kind of ["png", "svg", "csv", "html"]) {
      succeeds(["map", ...model, "--out", inFolder(`model.${kind}`)]);
      succeeds(["map", "--weights", inFolder("model.safetensors"), "--out", inFolder(`given.${kind}`)]);
      expect(readFileSync(inFolder(`given.${kind}`)).equals(readFileSync(inFolder(`model.${kind}`))), kind).toBe(true);
    }
    succeeds(["map", "--weights", inFolder("model.safetensors"), "--out", inFolder("given.json"), "--layer", "2"]);
    expect(JSON.parse(readFileSync(inFolder("given.json"), "utf8"))).toMatchObject({ layers: [2], heads: [3], causal: true });
  });

  const own = { generator: "headlens 0.1.0" };
  const square = { a: layer(0, 2, 3, 3) };
  test.each([
    ["ragged heads", writeSafetensors({ a: layer(0, 2, 3, 3), b: layer(0, 4, 3, 3) }, {}), /tensor "b" has shape \(4, 3, 3\), expected \(2, 3, 3\), as the layers before it/],
    ["a batch", writeSafetensors({ a: layer(0, 2, 2, 3, 3), b: layer(0, 2, 2, 3, 3) }, {}), /tensor "a" has shape \(2, 2, 3, 3\), expected a batch of 1/],
    ["a vector", writeSafetensors({ a: layer(0, 3) }, {}), /tensor "a" has shape \(3,\), expected/],
    ["whole numbers", writeSafetensors({ a: { data: new Int32Array(4), shape: [2, 2] } }, {}), /tensor "a" has the type I32, expected floats/],
    ["no tensors", withHeader("{}", new Uint8Array(0)), /holds no tensors/],
    ["a zip archive", Buffer.from("PK\x03\x04 and so on"), /the file is a zip archive, such as \.npz or \.pt, expected \.npy or \.safetensors/],
    ["another file", Buffer.from("%PDF-1.4 and so on"), /safetensors: the header claims/],
    ["names that do not fit", writeSafetensors(square, { ...own, pieces: '["a"]' }), /has 1 names, expected 3, one for each query/],
    ["names that are none", writeSafetensors(square, { ...own, pieces: "[1, 2, 3]" }), /__metadata__\.pieces is "\[1, 2, 3\]", expected a JSON list/],
    ["heads that do not fit", writeSafetensors(square, { ...own, heads: "[1]" }), /__metadata__\.heads has 1 numbers, expected 2/],
    ["heads below 0", writeSafetensors(square, { ...own, heads: "[-1, 2]" }), /__metadata__\.heads is "\[-1, 2\]"/],
  ])("%s is refused", (_, bytes, message) => {
    writeFileSync(inFolder("wrong.safetensors"), bytes);
    fails(["map", "--weights", inFolder("wrong.safetensors"), "--out", inFolder("out/maps.png")], 2, message);
    expect(readdirSync(inFolder("out"))).toEqual([]);
  });
});

describe("rectangular maps", () => {
  const data = numbers(12);
  const given = npy(header("<f4", "2, 2, 3"), bytesOf(data));
  const named = ["--tokens", 'a,"b"', "--key-tokens", '["x", " y", "z,"]'];

  test("as JSON and CSV", () => {
    expect(json(given, ...named)).toMatchObject({ pieces: ["a", '"b"'], key_pieces: ["x", " y", "z,"], maps: nested(data, [1, 2, 2, 3]) });
    const lines = made(given, "csv", ...named).toString().trimEnd().split("\n");
    expect(lines).toHaveLength(1 + 12);
    expect(lines[6]).toBe(`0,0,1,2,${5 / 128},"""b""","z,"`);
    expect(made(given, "csv").toString()).toMatch(/^layer,head,query,key,weight\n0,0,0,0,0\n/);
    expect(made(given, "csv", "--tokens", "a,b").toString()).toMatch(/,query_piece,key_piece\n0,0,0,0,0,"a",\n/);
  });

  test("as safetensors", () => {
    made(given, "safetensors", ...named);
    const file = readSafetensors(inFolder("maps.safetensors"));
    expect([...tensorOf(file, "attentions.0").data]).toEqual([...data]);
    expect(tensorOf(file, "attentions.0").shape).toEqual([2, 2, 3]);
    expect(file.metadata).toMatchObject({ pieces: '["a","\\"b\\""]', key_pieces: '["x"," y","z,"]', causal: "false" });
    expect(json(readFileSync(inFolder("maps.safetensors")))).toMatchObject({ key_pieces: ["x", " y", "z,"] });
    const again = json(made(given, "safetensors", "--tokens", "a,b"));
    expect([again.pieces, again.key_pieces]).toEqual([["a", "b"], undefined]);
  });

  test("as pictures", () => {
    const { width, height } = PNG.sync.read(made(given, "png", "--cell", "5"));
    expect([width, height]).toEqual([2 + 2 * (15 + 2), 2 + 10 + 2]);
    const svg = made(given, "svg", "--cell", "10", ...named).toString();
    expect([...svg.matchAll(/<image x="\d+" y="\d+" width="30" height="20"/g)]).toHaveLength(2);
    expect(svg).toContain(">z,</text>");
  });
});

describe("what is said about the maps", () => {
  const square = npy(header("<f4", "3, 3"), bytesOf(numbers(9)));

  test("cells above the diagonal are masked when the maps are causal", () => {
    expect(json(square, "--causal")).toMatchObject({ causal: true });
    expect(made(square, "csv", "--causal").toString().trimEnd().split("\n")).toHaveLength(1 + 6);
    expect(made(square, "svg", "--causal").toString()).toMatch(/>masked<\/text>/);
    expect(made(square, "svg").toString()).not.toMatch(/>masked<\/text>/);
  });

  test("names, as a list, as JSON, or as `headlens tokens` prints them", () => {
    for (const tokens of ["[CLS],b, c", '["[CLS]","b"," c"]']) expect(json(square, "--tokens", tokens)).toMatchObject({ pieces: ["[CLS]", "b", " c"] });
    expect(json(square, "--tokens", "a,b,c").key_pieces).toBeUndefined();
    writeFileSync(inFolder("names.json"), succeeds(["tokens", "--model", kModel, "--text", "The cat"]));
    expect(json(square, "--tokens-file", inFolder("names.json"))).toMatchObject({ pieces: ["<s>", "The", " cat"] });
    writeFileSync(inFolder("names.txt"), "a,b,c\n");
    expect(json(square, "--tokens-file", inFolder("names.txt"))).toMatchObject({ pieces: ["a", "b", "c"] });
  });

  test("the scale follows values that are no weights, and NaN is no number", () => {
    const scores = npy(header("<f4", "1, 3"), bytesOf(Float32Array.of(-2.5, NaN, 1)));
    expect(made(scores, "svg").toString()).toMatch(/weight −2\.5 – 2\.5<[^]*>not a number</);
    expect(json(scores).maps).toEqual([[[[-2.5, null, 1]]]]);
    const counts = npy(header("<f4", "1, 2"), bytesOf(Float32Array.of(0, 12)));
    expect(made(counts, "svg").toString()).toContain("weight 0 – 12<");
  });

  test.each([
    [["--tokens", "a,b"], /--tokens has 2 names, expected 3, one for each query/],
    [["--key-tokens", "a,b"], /--key-tokens has 2 names, expected 3, one for each key/],
    [["--tokens", "[1,2,3]"], /--tokens is "\[1,2,3\]", expected a JSON list of strings/],
    [["--tokens", '{"tokens":[1,2,3]}'], /expected a JSON list of strings/],
    [["--tokens-file", "/nowhere/names.json"], /nowhere\/names\.json: No such file/],
    [["--layer", "1"], /--layer is 1, expected 0 to 0/],
    [["--head", "1"], /--head is 1, expected 0 to 0/],
    [["--model", kModel], /--model excludes --weights|--weights excludes --model/],
    [["--text", "a"], /excludes/],
    [["--image", "a.png"], /excludes/],
    [["--threads", "2"], /excludes/],
    [["--what", "queries"], /--what needs --out \*\.safetensors/],
  ])("%j is refused", (args, message) => {
    writeFileSync(inFolder("given"), square);
    fails(["map", "--weights", inFolder("given"), "--out", inFolder("out/maps.png"), ...args], 2, message);
    expect(readdirSync(inFolder("out"))).toEqual([]);
  });

  test("what needs a model, or square maps, or --weights is refused", () => {
    writeFileSync(inFolder("given"), npy(header("<f4", "2, 3"), bytesOf(numbers(6))));
    const given = ["map", "--weights", inFolder("given")];
    fails([...given, "--causal", "--out", inFolder("out/maps.png")], 2, /--causal is for 2 queries and 3 keys, expected as many/);
    fails([...given, "--what", "logits", "--out", inFolder("out/maps.safetensors")], 2, /--what is logits, expected maps/);
    fails(["map", "--out", inFolder("out/maps.png")], 2, /--model or --weights is missing/);
    fails(["map", "--model", kModel, "--tokens", "1", "--causal", "--out", inFolder("out/maps.png")], 2, /--causal requires --weights/);
    fails([...given, "--out", inFolder("given")], 2, /--out is ".*given", expected a name that ends in/);
    writeFileSync(inFolder("given.csv"), "");
    fails(["map", "--weights", inFolder("given.csv"), "--out", inFolder("given.csv")], 2, /--out is .*given\.csv, expected another file/);
  });

  test("maps without end are refused before they are read into numbers", () => {
    writeFileSync(inFolder("given"), npy(header("<f2", "1048577, 1"), new Uint8Array(2 * 1048577)));
    const given = ["map", "--weights", inFolder("given")];
    fails([...given, "--out", inFolder("out/maps.svg")], 2, /the picture has 1 x 1048577 pixels, expected at most 1048576 on either side/);
    fails([...given, "--out", inFolder("out/maps.png")], 2, /the picture has/);
  });
});
