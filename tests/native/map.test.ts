// SPDX-License-Identifier: Apache-2.0
/** `headlens map` on the built-in model: its numbers are PyTorch's, and its pictures show these numbers. */
import { mkdirSync, readFileSync, readdirSync, statSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { PNG } from "pngjs";
import { beforeAll, describe, expect, test } from "vitest";
import { expectClose, kEpsilon, kGolden, kRoot, maxNorm } from "../compare.js";
import { quantizedOf } from "../quantized.js";
import { readSafetensors, tensorOf } from "../safetensors.js";
import { fails, succeeds, temporaryFolder } from "./support.js";

const inFolder = temporaryFolder();
const kModel = `${kRoot}web/models/tiny`;
const golden = readSafetensors(`${kGolden}/built_in/tiny.safetensors`);
const ids = [...tensorOf(golden, "ids").data];
const weights = tensorOf(golden, "weights");
const [layers = 0, heads = 0, length = 0] = weights.shape;

interface MapsJson {
  tokens: number[];
  pieces?: string[];
  layers: number[];
  heads: number[];
  causal: boolean;
  maps: number[][][][];
}

/** The file that `headlens map` writes under this name. */
function map(name: string, ...more: string[]): Buffer {
  const out = inFolder(name);
  expect(succeeds(["map", "--model", kModel, "--tokens", ids.join(","), "--out", out, ...more])).toBe("");
  return readFileSync(out);
}

const json = (...more: string[]): MapsJson => JSON.parse(map("maps.json", ...more).toString()) as MapsJson;

/** The weight of query `t` for key `s`, from PyTorch. */
const goldenWeight = (layer: number, head: number, t: number, s: number): number =>
  weights.data[((layer * heads + head) * length + t) * length + s] ?? NaN;

describe("weights", () => {
  // Each layer rounds the residual stream again, and the error is in proportion to the stream.
  const kTolerance = 4 * kEpsilon * maxNorm(tensorOf(golden, "hidden").data);

  test.each(["simd", "reference", "opencl"])("as JSON, they are PyTorch's (%s)", (backend) => {
    const maps = json("--backend", backend);
    expect(maps).toMatchObject({ tokens: ids, layers: [0, 1, 2, 3], causal: true });
    expect(maps.heads).toEqual([...Array(heads).keys()]);
    expect(maps.layers).toHaveLength(layers);
    expectClose("weights", { data: maps.maps.flat(3), shape: [layers, heads, length, length] }, weights, kTolerance);
  });

  test("as CSV, they are the JSON's, without the masked cells", () => {
    const { maps } = json();
    const lines = map("maps.csv").toString().trimEnd().split("\n");
    expect(lines[0]).toBe("layer,head,query,key,weight");
    expect(lines).toHaveLength(1 + layers * heads * length * (length + 1) / 2);
    for (const line of lines.slice(1)) {
      const [layer = -1, head = -1, t = -1, s = -1, weight] = line.split(",").map(Number);
      if (!(s <= t) || weight !== maps[layer]?.[head]?.[t]?.[s]) throw new Error(`CSV and JSON differ: ${line}`);
    }
  });

  test("one layer, one head, or one map", () => {
    const { maps } = json();
    expect(json("--layer", "2")).toMatchObject({ layers: [2], maps: [maps[2]] });
    expect(json("--head", "3")).toMatchObject({ heads: [3], maps: maps.map((row) => [row[3]]) });
    expect(json("--layer", "1", "--head", "0")).toMatchObject({ layers: [1], heads: [0], maps: [[maps[1]?.[0]]] });
  });
});

/** The lightness in OKLab (Ottosson 2020) of an sRGB colour. */
function lightness(red: number, green: number, blue: number): number {
  const linear = (byte: number): number =>
    (byte <= 10.31475 ? byte / 255 / 12.92 : ((byte / 255 + 0.055) / 1.055) ** 2.4);
  const [r, g, b] = [linear(red), linear(green), linear(blue)];
  return 0.2104542553 * Math.cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b) +
    0.793617785 * Math.cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b) -
    0.0040720468 * Math.cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
}

/** The lightness of weight 0 and of weight 1. It changes evenly from one to the other. */
const kLightness = { light: [0.975, 0.27], dark: [0.21, 0.94] } as const;
const kLine = 2;

interface Cell {
  readonly layer: number;
  readonly head: number;
  readonly t: number;
  readonly s: number;
}

/** The colours of all pixels of a cell. */
function pixelsOf({ data, width }: PNG, cell: number, { layer, head, t, s }: Cell): number[][] {
  const step = length * cell + kLine;
  const pixels: number[][] = [];
  for (let y = 0; y < cell; ++y) {
    for (let x = 0; x < cell; ++x) {
      const at = ((kLine + layer * step + t * cell + y) * width + kLine + head * step + s * cell + x) * 4;
      pixels.push([...data.subarray(at, at + 4)]);
    }
  }
  return pixels;
}

function* cells(): Generator<Cell> {
  for (let layer = 0; layer < layers; ++layer) {
    for (let head = 0; head < heads; ++head) {
      for (let t = 0; t < length; ++t) for (let s = 0; s < length; ++s) yield { layer, head, t, s };
    }
  }
}

describe.each(["light", "dark"] as const)("the %s picture", (theme) => {
  const cell = 7;
  let picture: PNG;
  beforeAll(() => { picture = PNG.sync.read(map("maps.png", "--cell", String(cell), "--theme", theme)); });

  test("has a row for each layer and a column for each head, lines between them", () => {
    const step = length * cell + kLine;
    expect([picture.width, picture.height]).toEqual([heads * step + kLine, layers * step + kLine]);
    const line = [...picture.data.subarray(0, 4)];
    for (let i = 0; i <= layers; ++i) {
      for (let x = 0; x < picture.width; ++x) {
        const at = (i * step * picture.width + x) * 4;
        expect([...picture.data.subarray(at, at + 4)]).toEqual(line);
      }
    }
  });

  test("shows each weight: lightness runs evenly from 0 to 1", () => {
    const [zero, one] = kLightness[theme];
    for (const place of cells()) {
      if (place.s > place.t) continue;
      const pixels = pixelsOf(picture, cell, place);
      const [red = 0, green = 0, blue = 0] = pixels[0] ?? [];
      const shown = (lightness(red, green, blue) - zero) / (one - zero);
      // There are 256 steps of colour, and each channel is rounded to a byte.
      const weight = goldenWeight(place.layer, place.head, place.t, place.s);
      if (!(Math.abs(shown - weight) < 0.01)) throw new Error(`${JSON.stringify(place)} shows ${shown}, is ${weight}`);
      if (pixels.some((pixel) => pixel.join() !== [red, green, blue, 255].join())) throw new Error(`${JSON.stringify(place)} is not even`);
    }
  });

  test("hatches masked cells: they are not zeros", () => {
    for (const place of cells()) {
      if (place.s <= place.t) continue;
      const colors = new Set(pixelsOf(picture, cell, place).map((pixel) => pixel.join()));
      expect(colors.size).toBe(2);
    }
  });
});

const kClaims = "iVBORw0KGgoAAAANSUhEUgAAIAAAACAACAYAAAByqspZAAAACElEQVR4nAMAAAAAAUgGidIAAAAASUVORK5CYII=";

describe("models of every family", () => {
  const folderOf = (name: string): string => `${kGolden}/models/${name}`;

  /** Checks that the maps of a golden model are PyTorch's. */
  function expectGolden(name: string, ...input: string[]): Omit<MapsJson, "maps"> & { patches?: number[] } {
    const expected = readSafetensors(`${folderOf(name)}/expected.safetensors`);
    succeeds(["map", "--model", folderOf(name), "--out", inFolder("family.json"), ...input]);
    const { maps, ...rest } = JSON.parse(readFileSync(inFolder("family.json")).toString()) as MapsJson;
    const tolerance = 64 * kEpsilon * maxNorm(tensorOf(expected, "hidden").data);
    const all = tensorOf(expected, "weights");
    expectClose(name, { data: maps.flat(3), shape: all.shape }, all, tolerance);
    return rest;
  }

  test.each(["llama_yarn", "mistral", "qwen2_shards", "gpt2", "gpt2_f16_bare"])("%s", (name) => {
    const tokens = [...tensorOf(readSafetensors(`${folderOf(name)}/expected.safetensors`), "ids").data];
    expect(expectGolden(name, "--tokens", tokens.join(","))).toMatchObject({ tokens, causal: true });
  });

  test.each(["llama", "bert"])("%s as 8-bit integers has the maps of the floats that these stand for", (name) => {
    const { integers, floats } = quantizedOf(folderOf(name));
    const [whole, exact] = [integers, floats].map(({ config, weights }, at) => {
      const folder = inFolder(`${name}${at}`), out = inFolder(`${name}${at}.json`);
      mkdirSync(folder);
      writeFileSync(`${folder}/config.json`, config);
      writeFileSync(`${folder}/model.safetensors`, weights);
      succeeds(["map", "--model", folder, "--tokens", "5,6,7,8", "--out", out]);
      return readFileSync(out, "utf8");
    });
    expect(whole).toBe(exact);
    writeFileSync(`${inFolder(`${name}0`)}/config.json`, floats.config);
    fails(["map", "--model", inFolder(`${name}0`), "--tokens", "5", "--out", inFolder("no.json")], 2,
      /parameter .*\.weight has the type I8, expected floats, or with a quantization_config an I8 matrix/);
  });

  test("a model that looks both ways: every cell is in the CSV and in the picture", () => {
    const args = ["map", "--model", folderOf("bert"), "--tokens", "5,6,7,8", "--layer", "0", "--head", "1"];
    succeeds([...args, "--out", inFolder("both.csv")]);
    expect(readFileSync(inFolder("both.csv"), "utf8").trimEnd().split("\n")).toHaveLength(1 + 16);
    succeeds([...args, "--out", inFolder("both.svg")]);
    const [, data = ""] = /base64,([^"]+)"/.exec(readFileSync(inFolder("both.svg"), "utf8")) ?? [];
    const image = PNG.sync.read(Buffer.from(data, "base64"));
    expect([...image.data].filter((value, at) => at % 4 === 3 && value !== 255)).toEqual([]);
  });

  test("a picture for a model that reads pictures", () => {
    const expected = readSafetensors(`${folderOf("vit")}/expected.safetensors`);
    const { data, shape: [height = 0, width = 0] } = tensorOf(expected, "picture");
    const picture = new PNG({ width, height });
    picture.data.set(data);
    writeFileSync(inFolder("picture.png"), PNG.sync.write(picture));
    const model = folderOf("vit");
    const out = inFolder("vit.json");
    succeeds(["map", "--model", model, "--image", inFolder("picture.png"), "--out", out]);
    const maps = JSON.parse(readFileSync(out, "utf8")) as Omit<MapsJson, "tokens"> & { patches: number[] };
    expect(maps).toMatchObject({ patches: [3, 3], causal: false, layers: [0, 1], heads: [0, 1, 2, 3] });
    for (const row of maps.maps.flat(2)) expect(row.reduce((a, b) => a + b, 0)).toBeCloseTo(1, 5);
    fails(["map", "--model", model, "--out", out], 2, /--image is missing, expected a picture/);
    fails(["map", "--model", model, "--out", out, "--tokens", "1"], 2, /--image is missing, expected a picture/);
    fails(["map", "--model", kModel, "--out", out, "--image", inFolder("picture.png")], 2, /--image is ".*", expected none: the model reads tokens/);
    fails(["map", "--model", model, "--out", out, "--image", `${model}/config.json`], 2, /config\.json is unreadable \(.*\), expected a PNG picture/);
    fails(["map", "--model", model, "--out", out, "--image", inFolder("nothing.png")], 2, /nothing\.png: No such file/);
  });

  test("a picture takes memory by what its file holds, not by what it claims", () => {
    const args = ["map", "--model", folderOf("vit"), "--image", inFolder("claims.png"), "--out", inFolder("claims.json")];
    // The header claims 8192 x 8192 pixels of four bytes, but there are no pixels.
    writeFileSync(inFolder("claims.png"), Buffer.from(kClaims, "base64"));
    fails(args, 2, /claims\.png has 65 bytes, expected more for 8192 x 8192 pixels/);
    // The strongest compression that is possible.
    writeFileSync(inFolder("claims.png"), PNG.sync.write(new PNG({ width: 2048, height: 2048 }), { deflateLevel: 9 }));
    expect(statSync(inFolder("claims.png")).size).toBeLessThan(2048 * 2048 * 4 / 900);
    succeeds(args);
  });

  test.each([
    ["{}", /index\.json: format error: .*: weight_map is missing, expected an object/],
    ['{"weight_map": ["a.safetensors"]}', /index\.json: format error: .*: weight_map is \["a\.safetensors"\], expected an object/],
    ['{"weight_map": {"a": "a\\u001b.safetensors"}}', /weight_map names "a\?\.safetensors", expected names like/],
    ['{"weight_map": {"a": "a\\\\b.safetensors"}}', /weight_map names/],
    ['{"weight_map": {"a": "a\\u0085b.safetensors"}}', /weight_map names/],
    ['{"weight_map": {"a": ".safetensors"}}', /weight_map names "\.safetensors"/],
    ['{"weight_map": {"a": "../b.safetensors"}}', /weight_map names/],
    ['{"weight_map": {"a": 1}}', /weight_map names 1, expected/],
    ['{"weight_map": {"a": "one file, 100 %.safetensors"}}', /one file, 100 %\.safetensors: No such file/],
    ['{"weight_map": {"a": "../../etc/passwd.safetensors"}}', /weight_map names "\.\.\/\.\./],
    ['{"weight_map": {"a": "nowhere.safetensors"}}', /nowhere\.safetensors: No such file/],
    ['{"weight_map": {}}', /parameter model\.\S+ is missing/],
  ])("an index that says %s", (text, message) => {
    mkdirSync(inFolder("shards"), { recursive: true });
    writeFileSync(inFolder("shards/config.json"), readFileSync(`${folderOf("qwen2_shards")}/config.json`));
    writeFileSync(inFolder("shards/model.safetensors.index.json"), text);
    fails(["map", "--model", inFolder("shards"), "--tokens", "1", "--out", inFolder("x.json")], 2, message);
  });
});

test("a picture of one map, a pixel a cell, and the size that is chosen without --cell", () => {
  const small = PNG.sync.read(map("small.png", "--layer", "0", "--head", "0", "--cell", "1"));
  expect([small.width, small.height]).toEqual([length + 2 * kLine, length + 2 * kLine]);
  const { width } = PNG.sync.read(map("chosen.png", "--layer", "0", "--head", "0"));
  expect((width - 2 * kLine) % length).toBe(0);
  expect(width).toBeGreaterThan(100);
  expect(width).toBeLessThanOrEqual(204);
});

test("as SVG, each map is there once, with its name and its pixels", () => {
  const svg = map("maps.svg").toString();
  const found = [...svg.matchAll(/<title>layer (\d+), head (\d+)<\/title>.*?base64,([^"]+)"/g)];
  expect(found).toHaveLength(layers * heads);
  for (const [i, [, layer, head, data = ""]] of found.entries()) {
    expect([Number(layer), Number(head)]).toEqual([Math.floor(i / heads), i % heads]);
    const image = PNG.sync.read(Buffer.from(data, "base64"));
    const side = image.width / length;
    expect([side, image.height]).toEqual([5, image.width]);
    // Above the diagonal the hatched background is visible.
    const masked = [...image.data].filter((value, at) => at % 4 === 3 && value === 0).length;
    expect(masked).toBe(length * (length - 1) / 2 * side ** 2);
    expect(image.data[3]).toBe(255);
  }
  expect(svg).toMatch(/^<svg xmlns[^]*<\/svg>\n$/);
});

describe("a text", () => {
  const kText = 'The cat sat, "quoted", \u{1F408}\n';
  const ofText = (name: string): string => {
    const out = inFolder(name);
    expect(succeeds(["map", "--model", kModel, "--text", kText, "--layer", "0", "--head", "1", "--out", out])).toBe("");
    return readFileSync(out, "utf8");
  };

  test("gives the maps of its tokens, and the pieces that they show", () => {
    const { tokens, pieces = [] } = JSON.parse(succeeds(["tokens", "--model", kModel, "--text", kText])) as MapsJson;
    expect(pieces).toEqual(["<s>", "The", " cat", " sat", ",", ' "', ...pieces.slice(6)]);
    const found = JSON.parse(ofText("text.json")) as MapsJson;
    expect(found.tokens).toEqual(tokens);
    expect(found.pieces).toEqual(pieces);
    const out = inFolder("ids.json");
    succeeds(["map", "--model", kModel, "--tokens", tokens.join(","), "--layer", "0", "--head", "1", "--out", out]);
    const { maps, ...rest } = JSON.parse(readFileSync(out, "utf8")) as MapsJson;
    expect(maps).toEqual(found.maps);
    expect(rest.pieces).toBeUndefined();
  });

  test("from a file, too", () => {
    writeFileSync(inFolder("text.txt"), kText);
    const out = inFolder("file.json");
    succeeds(["map", "--model", kModel, "--text-file", inFolder("text.txt"), "--layer", "0", "--head", "1", "--out", out]);
    expect(readFileSync(out, "utf8")).toBe(ofText("text.json"));
  });

  test("as CSV, pieces are quoted", () => {
    const csv = ofText("text.csv");
    expect(csv.slice(0, csv.indexOf("\n"))).toBe("layer,head,query,key,weight,query_piece,key_piece");
    expect(csv).toMatch(/^0,1,0,0,1,"<s>","<s>"$/m);
    expect(csv).toMatch(/^0,1,5,2,[^,]+," """," cat"$/m);
  });
});

describe("map refuses", () => {
  beforeAll(() => { mkdirSync(inFolder("out")); });
  const config = JSON.parse(readFileSync(`${kModel}/config.json`, "utf8")) as Record<string, unknown>;

  /** A folder with this config.json and, when given, these bytes of weights. */
  function modelFolder(text: string, bytes?: Uint8Array): string {
    mkdirSync(inFolder("model"), { recursive: true });
    writeFileSync(inFolder("model/config.json"), text);
    writeFileSync(inFolder("model/model.safetensors"), bytes ?? readFileSync(`${kModel}/model.safetensors`));
    return inFolder("model");
  }

  function refuses(message: RegExp, model: string, ...more: string[]): void {
    fails(["map", "--model", model, "--out", inFolder("out/maps.png"), ...more], 2, message);
    expect(readdirSync(inFolder("out"))).toEqual([]);
  }

  test.each([
    [["--tokens", "1", "--layer", "4"], /--layer is 4, expected 0 to 3/],
    [["--tokens", "1", "--head", "8"], /--head is 8, expected 0 to 7/],
    [["--tokens", "1", "--layer", "-1"], /--layer/],
    [["--tokens", "1,x"], /--tokens has "x", expected ids of tokens, as 1,2,3/],
    [["--tokens", ""], /--tokens has "", expected ids/],
    [["--tokens", "1,,2"], /--tokens has "", expected ids/],
    [["--tokens", "1,"], /--tokens has "", expected ids/],
    [["--tokens", "1,99999"], /--tokens: value error: .*99999/],
    [["--tokens=-1"], /--tokens: value error: .*-1/],
    [["--tokens", "99999999999"], /--tokens has "99999999999", expected ids/],
    [["--tokens", Array(257).fill("1").join(",")], /--tokens: value error: .*257/],
    [["--tokens", Array(60_000).fill("1").join(",")], /the maps of 4 layers of 8 heads for 60000 tokens have 1\.152e\+11 weights, expected at most 67108864: choose a --layer/],
    [["--tokens", Array(256).fill("1").join(","), "--cell", "64"], /the picture has 131090 x 65546 pixels, expected at most 67108864: .*--cell/],
    [["--tokens", "1", "--cell", "65"], /--cell/],
    [["--tokens", "1", "--cell", "0"], /--cell/],
    [["--tokens", "1", "--theme", "blue"], /--theme/],
    [["--text", "The cat sat", "--tokens", "1"], /--text/],
    [["--text", "a", "--text-file", "b"], /--text/],
    [["--text-file", "b", "--tokens", "1"], /--text-file/],
    [["--text-file", "/nowhere/text.txt"], /nowhere\/text\.txt: No such file/],
    [["--text", "cat ".repeat(300)], /the text: value error: the input has 303 tokens/],
    [[], /--text, --text-file or --tokens is missing, expected the text/],
  ])("%j", (args, message) => { refuses(message, kModel, ...args); });

  test("a name that says no format", () => {
    fails(["map", "--model", kModel, "--tokens", "1", "--out", inFolder("out/maps.gif")], 2, /--out is ".*", expected a name that ends in \.png, \.svg, \.html, \.json, \.csv or \.safetensors/);
  });

  test.each([
    ["no JSON", "{", /config\.json: format error: config\.json is "\{", expected a JSON object/],
    ["another kind of model", JSON.stringify({ ...config, model_type: "mamba" }), /model_type is "mamba"/],
    ["no number of heads", JSON.stringify({ ...config, num_attention_heads: undefined }), /num_attention_heads is missing/],
    ["heads without end", JSON.stringify({ ...config, num_attention_heads: 1e9 }), /num_attention_heads is 1000000000/],
    ["layers that the file does not have", JSON.stringify({ ...config, num_hidden_layers: 5 }), /layers\.4\.self_attn\.q_proj\.weight is missing/],
    ["another width", JSON.stringify({ ...config, hidden_size: 64 }), /expected \(2048, 64\)/],
    ["a picture without end", JSON.stringify({ ...config, num_hidden_layers: 2 ** 24, num_attention_heads: 2 ** 24 }), /expected at most|out of/],
    ["a kind that is nested without end", `{"model_type":${"[".repeat(400_000)}`, /config\.json: format error: .* is nested deeper, expected at most 64 levels/],
  ])("a config with %s", (_, text, message) => { refuses(message, modelFolder(text), "--tokens", "1,2"); });

  test("an index of shards that is nested without end, or names other files", () => {
    mkdirSync(inFolder("sharded"));
    writeFileSync(inFolder("sharded/config.json"), JSON.stringify(config));
    const index = (names: string): void => { writeFileSync(inFolder("sharded/model.safetensors.index.json"), names); };
    index(`{"weight_map":{"a":${"[".repeat(400_000)}`);
    refuses(/index\.json: format error: .* is nested deeper, expected at most 64 levels/, inFolder("sharded"), "--tokens", "1");
    index('{"weight_map":{"a":["../model.safetensors"]}}');
    refuses(/weight_map names \["\.\.\/model\.safetensors"\], expected names like/, inFolder("sharded"), "--tokens", "1");
  });

  test("to write over what it reads", () => {
    const folder = modelFolder(JSON.stringify(config));
    const before = readFileSync(`${folder}/config.json`);
    symlinkSync(`${folder}/config.json`, inFolder("link.json"));
    fails(["map", "--model", folder, "--tokens", "1", "--out", inFolder("link.json")], 2, /--out is .*link\.json, expected another file than .*config\.json/);
    expect(readFileSync(`${folder}/config.json`)).toEqual(before);
  });

  test("weights that are missing, a folder, cut short or huge", () => {
    refuses(/nowhere\/config\.json: No such file/, inFolder("nowhere"), "--tokens", "1");
    const text = JSON.stringify(config);
    refuses(/model\.safetensors: format error: safetensors: the header claims/, modelFolder(text, new Uint8Array(100).fill(1)), "--tokens", "1");
    truncateSync(`${modelFolder(text)}/model.safetensors`, 2 ** 42);
    refuses(/half of this machine's memory/, inFolder("model"), "--tokens", "1");
    mkdirSync(inFolder("folder/model.safetensors"), { recursive: true });
    writeFileSync(inFolder("folder/config.json"), text);
    refuses(/model\.safetensors is a directory, expected a file/, inFolder("folder"), "--tokens", "1");
  });
});
