// SPDX-License-Identifier: Apache-2.0
/** The pictures with names of `headlens map`: what they hold, as text and as librsvg draws it. */
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { PNG } from "pngjs";
import { beforeAll, describe, expect, test } from "vitest";
import { kRoot } from "../compare.js";
import { writeSafetensors } from "../safetensors.js";
import { succeeds, temporaryFolder } from "./support.js";

const inFolder = temporaryFolder();
const kModel = `${kRoot}web/models/tiny`;
const kHostile = ["</script><b>", "]]>", "\"'&", "\u0000\u001b[31m\u202e", "שלום", "", " two words", "x".repeat(30)];

beforeAll(() => {
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
