// SPDX-License-Identifier: Apache-2.0
/** The pictures with names and the pages of `headlens map`: what they hold, as text and as librsvg draws it. */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { copyFileSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { PNG } from "pngjs";
import { beforeAll, describe, expect, test } from "vitest";
import { kRoot } from "../compare.js";
import { writeSafetensors } from "../safetensors.js";
import { fails, kProgram, succeeds, temporaryFolder } from "./support.js";

const inFolder = temporaryFolder();
const kModel = `${kRoot}web/models/tiny`;
const kHostile = ["</script><b>", "]]>", "\"'&", "\u0000\u001b[31m\u202e", "שלום", "", " two words", "x".repeat(30)];

beforeAll(() => {
  mkdirSync(inFolder("out"));
  const weights = Float32Array.from({ length: 64 }, (_, i) => i / 63);
  writeFileSync(inFolder("hostile.safetensors"), writeSafetensors({ maps: { data: weights, shape: [8, 8] } }, {}));
});

function map(kind: string, ...args: string[]): string {
  const out = inFolder(`maps.${kind}`);
  succeeds(["map", "--out", out, ...args]);
  return readFileSync(out, "utf8");
}

const ofText = (kind: string, ...args: string[]): string => map(kind, "--model", kModel, "--text", "The cat sat.", ...args);
const hostile = (kind: string, ...args: string[]): string =>
  map(kind, "--weights", inFolder("hostile.safetensors"), "--tokens", JSON.stringify(kHostile), ...args);

const kNames = ["&lt;s&gt;", "The", "·cat", "·sat", "."].map((name) => name.replace("&lt;", "&#60;").replace("&gt;", "&#62;"));
const namesIn = (svg: string): string[] => [...svg.matchAll(/^<text unicode-bidi="plaintext" [^>]*>(.*)<\/text>$/gm)].map(([, name = ""]) => name);

describe("an SVG", () => {
  test("of one map has the names of queries and keys, however small its cells are", () => {
    for (const cell of ["1", "5", "24"])
      expect(namesIn(ofText("svg", "--layer", "3", "--head", "2", "--cell", cell))).toEqual([...kNames, ...kNames]);
  });

  test("of several maps has names for each row and column of maps where they fit", () => {
    const svg = ofText("svg", "--cell", "9");
    expect(namesIn(svg)).toEqual([...Array<string[]>(4).fill(kNames), ...Array<string[]>(8).fill(kNames)].flat());
    expect(namesIn(ofText("svg", "--cell", "8"))).toEqual([]);
  });

  test("has headings, and a legend in words", () => {
    const svg = ofText("svg");
    for (const words of ["layer 0", "layer 3", "head 0", "head 7", "weight 0 – 1", "masked"]) expect(svg).toContain(`>${words}</text>`);
    expect(svg).toContain('aria-label="Attention of 4 layers, 8 heads"');
  });

  test("names tokens by ids where texts are not known, and patches by their places", () => {
    const ids = map("svg", "--model", kModel, "--tokens", "5,6", "--layer", "0", "--head", "0");
    expect(namesIn(ids)).toEqual(["5", "6", "5", "6"]);
    const patches = map("svg", "--model", `${kRoot}tests/golden/models/vit`, "--image", `${kRoot}web/playground/screenshot.png`,
      "--layer", "0", "--head", "0");
    expect(namesIn(patches).slice(0, 10)).toEqual(["CLS", "0,0", "0,1", "0,2", "1,0", "1,1", "1,2", "2,0", "2,1", "2,2"]);
  });

  test("shows hostile names as text", () => {
    const names = namesIn(hostile("svg"));
    expect(names.slice(0, 8)).toEqual([
      "&#60;/script&#62;&#60;b&#62;", "]]&#62;", "&#34;&#39;&#38;", "⟨U+0000⟩⟨U+001B⟩[31m…", "שלום", "∅", "·two·words", `${"x".repeat(20)}…`,
    ]);
    expect(names.slice(8)).toEqual(names.slice(0, 8));
  });
});

/** The colour of the pixel of a picture at a place. */
function colorAt({ data, width }: PNG, x: number, y: number): number[] {
  const at = (Math.round(y) * width + Math.round(x)) * 4;
  return [...data.subarray(at, at + 3)];
}

test.for(["light", "dark"])("librsvg draws a %s SVG: each cell in its colour, sharp to its edge", (theme, { skip }) => {
  const options = ["--layer", "3", "--head", "2", "--theme", theme, "--cell", "20"];
  const svg = ofText("svg", ...options);
  const drawn = spawnSync("rsvg-convert", [inFolder("maps.svg")]);
  if (drawn.error) skip("librsvg is not installed");
  expect(drawn.stderr.toString()).toBe("");
  const picture = PNG.sync.read(drawn.stdout);
  ofText("png", ...options);
  const expected = PNG.sync.read(readFileSync(inFolder("maps.png")));
  const [, left = "", top = ""] = /<image x="(\d+)" y="(\d+)"/.exec(svg) ?? [];
  for (let t = 0; t < 5; ++t) {
    for (let s = 0; s <= t; ++s) {
      for (const [dx, dy] of [[1, 1], [18, 1], [10, 10], [18, 18]] as const) {
        const shown = colorAt(picture, Number(left) + s * 20 + dx, Number(top) + t * 20 + dy);
        const right = colorAt(expected, 2 + s * 20 + dx, 2 + t * 20 + dy);
        for (const [channel, value] of right.entries())
          expect(Math.abs((shown[channel] ?? 0) - value)).toBeLessThanOrEqual(1);
      }
    }
  }
  const hatch = Array.from({ length: 18 }, (_, i) => colorAt(picture, Number(left) + 61 + i, Number(top) + 10).join());
  expect(new Set(hatch).size).toBeGreaterThan(1);
  const names = Array.from({ length: 100 }, (_, y) => colorAt(picture, Number(left) - 8, Number(top) + y).join());
  expect(new Set(names).size).toBeGreaterThan(1);
});

describe("a page", () => {
  /** The texts of a table's cells, row by row. */
  const tablesOf = (page: string): string[][][] => [...page.matchAll(/<table>([^]*?)<\/table>/g)].map(([, table = ""]) =>
    [...table.matchAll(/<tr>(.*?)<\/tr>/g)].map(([, row = ""]) =>
      [...row.matchAll(/<t[hd][^>]*>(?:<bdi>)?(.*?)(?:<\/bdi>)?<\/t[hd]>/g)].map(([, cell = ""]) => cell)));

  test("has a picture, and a table of each map's numbers", () => {
    const { maps } = JSON.parse(ofText("json")) as { maps: number[][][][] };
    const page = ofText("html");
    expect(page).toMatch(/^<!DOCTYPE html>\n<html lang="en">/);
    expect(page).toContain("<title>Attention of 4 layers, 8 heads</title>");
    expect(page).not.toMatch(/<script/);
    expect(page).toContain(ofText("svg"));
    const tables = tablesOf(page);
    expect(tables).toHaveLength(32);
    const [head = [], ...rows] = tables[26] ?? [];
    expect(head.slice(1)).toEqual(kNames);
    expect(rows.map(([name]) => name)).toEqual(kNames);
    for (const [t, [, ...cells]] of rows.entries()) {
      expect(cells.slice(t + 1)).toEqual(Array<string>(4 - t).fill("–"));
      for (const [s, cell] of cells.slice(0, t + 1).entries()) {
        const weight = maps[3]?.[2]?.[t]?.[s] ?? NaN;
        expect(cell).toMatch(/^[01]\.\d{4}$/);
        expect(Math.abs(Number(cell) - weight)).toBeLessThanOrEqual(0.00005001);
      }
    }
    expect(page).toContain("<summary>layer 3, head 2</summary>");
  });

  test("has the strongest key of each query where a map is large, and says so", () => {
    const args = ["--model", kModel, "--text", "one two three ".repeat(11), "--layer", "1", "--head", "4"];
    const { maps, pieces } = JSON.parse(map("json", ...args)) as { maps: number[][][][]; pieces: string[] };
    const page = map("html", ...args);
    expect(page).toContain("The strongest key of each query, since the map has more than 1024 cells");
    const [[, ...rows] = []] = tablesOf(page);
    expect(rows).toHaveLength(pieces.length);
    for (const [t, [, key = "", weight]] of rows.entries()) {
      const row = maps[0]?.[0]?.[t] ?? [];
      expect(Number.parseInt(key)).toBe(row.indexOf(Math.max(...row)));
      expect(Number(weight)).toBeCloseTo(Math.max(...row), 3);
    }
  });

  test("shows hostile names as text", () => {
    const page = hostile("html");
    expect(page).not.toMatch(/<(?:b|script)\b/);
    for (const unseen of "\u0000\u001b\u202e") expect(page).not.toContain(unseen);
    expect(tablesOf(page)[0]?.[1]?.[0]).toBe("&#60;/script&#62;&#60;b&#62;");
    expect(page).toContain("<bdi>שלום</bdi>");
  });
});

describe("a page with a script", () => {
  const kScript = 'document.title = "</script><!-- </SCRIPT >" + /<\\/b>/.source;\n';
  beforeAll(() => { writeFileSync(inFolder("draw.js"), kScript); });
  const scripted = (...args: string[]): string => hostile("html", "--script", inFolder("draw.js"), ...args);

  interface Data {
    tokens: string[];
    keyTokens?: string[];
    causal: boolean;
    layers: number[];
    heads: number[];
    weights: { dtype: string; shape: number[]; data: string };
  }
  function dataOf(page: string): Data {
    const element = /<attention-map [^>]*><script type="application\/json">(.*?)<\/script><\/attention-map>/;
    const [, data = ""] = element.exec(page) ?? [];
    return JSON.parse(data) as Data;
  }

  test("holds the data and the script, of which neither can end its element", () => {
    const page = scripted("--causal");
    expect(page.match(/<\/?script/gi)).toEqual(["<script", "</script", "<script", "</script"]);
    expect(page).not.toContain("<!--");
    expect(page).toContain('<script>document.title = "\\x3c/script>\\x3c!-- \\x3c/SCRIPT >" + /<\\/b>/.source;\n</script>');
    const [, script = ""] = /<script>([^]*)<\/script>/.exec(page) ?? [];
    expect(page).toContain(`; script-src 'sha256-${createHash("sha256").update(script).digest("base64")}'">`);
    const { weights, ...data } = dataOf(page);
    expect(data).toEqual({ tokens: kHostile, causal: true, layers: [0], heads: [0] });
    expect(weights).toMatchObject({ dtype: "F32", shape: [1, 1, 8, 8] });
    const bytes = Buffer.from(weights.data, "base64");
    expect(bytes).toHaveLength(256);
    for (let i = 0; i < 64; ++i) expect(bytes.readFloatLE(4 * i)).toBe(Math.fround(i / 63));
  });

  test("has the numbers of all maps, in order", () => {
    const { maps } = JSON.parse(ofText("json")) as { maps: number[][][][] };
    const { weights, tokens, causal } = dataOf(ofText("html", "--script", inFolder("draw.js")));
    expect({ tokens, causal }).toEqual({ tokens: ["<s>", "The", " cat", " sat", "."], causal: true });
    const bytes = Buffer.from(weights.data, "base64");
    expect(weights.shape).toEqual([4, 8, 5, 5]);
    expect(maps.flat(3).map(Math.fround)).toEqual(Array.from({ length: 800 }, (_, i) => bytes.readFloatLE(4 * i)));
  });

  test("has other names for keys only where they are others", () => {
    expect(dataOf(scripted()).keyTokens).toBeUndefined();
    expect(dataOf(scripted("--key-tokens", "a,b,c,d,e,f,g,h")).keyTokens).toEqual(["a", "b", "c", "d", "e", "f", "g", "h"]);
  });

  test("takes the script that is installed with the program", () => {
    mkdirSync(inFolder("bin"));
    mkdirSync(inFolder("share/headlens"), { recursive: true });
    copyFileSync(kProgram, inFolder("bin/headlens"));
    const page = (...args: string[]): string => {
      const out = inFolder("installed.html");
      const weights = inFolder("hostile.safetensors");
      succeeds(["map", "--weights", weights, "--out", out, ...args], { program: inFolder("bin/headlens") });
      return readFileSync(out, "utf8");
    };
    expect(page()).not.toContain("<script");
    writeFileSync(inFolder("share/headlens/headlens.arrays.js"), "installed();");
    expect(page()).toContain("<script>installed();</script>");
    expect(page("--script", inFolder("draw.js"))).not.toContain("installed();");
    expect(page("--no-script")).not.toContain("<script");
  });

  test.each([
    ["a script that is not there", ["--script", "/nowhere/draw.js"], "html", /nowhere\/draw\.js: No such file/],
    ["a script that is a folder", ["--script", "/"], "html", /is a directory, expected a file/],
    ["a script for a picture", ["--script", "draw.js"], "svg", /--script needs --out \*\.html/],
    ["no script for a picture", ["--no-script"], "svg", /--no-script needs --out \*\.html/],
    ["a script and none", ["--no-script", "--script", "draw.js"], "html", /excludes/],
    ["more numbers than browsers like", ["--tokens", Array(2900).fill("1").join(",")], "html", /have 2\.69\d*e\+08 weights, expected at most 16777216/],
  ])("%s is refused", (_, args, kind, message) => {
    const tokens = args.includes("--tokens") ? [] : ["--tokens", "1"];
    fails(["map", "--model", kModel, ...tokens, "--out", inFolder(`out/maps.${kind}`), ...args], 2, message);
    expect(readdirSync(inFolder("out"))).toEqual([]);
  });

  test("a script that is no text is refused", () => {
    const refuses = (bytes: Uint8Array, message: RegExp): void => {
      writeFileSync(inFolder("draw.bin"), bytes);
      const out = inFolder("out/maps.html");
      fails(["map", "--model", kModel, "--tokens", "1", "--script", inFolder("draw.bin"), "--out", out], 2, message);
    };
    refuses(Buffer.from([0xff, 0xfe]), /draw\.bin is no UTF-8, expected a script/);
    refuses(Buffer.alloc(0), /draw\.bin is empty/);
  });
});
