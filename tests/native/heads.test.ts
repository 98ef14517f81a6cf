// SPDX-License-Identifier: Apache-2.0
/** `headlens heads` on the built-in model: PyTorch's scores, ranked, in three formats. */
import { readFileSync, writeFileSync } from "node:fs";
import { PNG } from "pngjs";
import { describe, expect, test } from "vitest";
import { bestHead } from "../cards.js";
import { kGolden, kRoot } from "../compare.js";
import { readSafetensors, tensorOf } from "../safetensors.js";
import { fails, headlens, succeeds, temporaryFolder } from "./support.js";

const inFolder = temporaryFolder();
const kModel = `${kRoot}web/models/tiny`;
const kMetrics = ["previous", "induction", "entropy_normalized", "sharpness", "distance", "sink"];

const golden = readSafetensors(`${kGolden}/built_in/tiny.safetensors`);
const ids = tensorOf(golden, "repeats");
const [rows = 0, length = 0] = ids.shape;
const [, heads = 0] = tensorOf(golden, "previous").shape;

/** A file with the golden's first rows, and with an empty line and another line end, which must not matter. */
function tokensFile(count = rows): string {
  const lines = [...Array(count).keys()].map((row) => [...ids.data.slice(row * length, (row + 1) * length)]);
  const path = inFolder("rows.txt");
  writeFileSync(path, lines.map((line, i) => line.join(i % 2 ? " " : ", ") + (i % 3 ? "\n" : "\r\n\n")).join(""));
  return path;
}

const run = (...more: string[]): string => succeeds(["heads", "--model", kModel, ...more]);

interface Score {
  mean: number | null;
  texts: number;
  n_valid: number;
}
interface HeadsJson {
  texts: number;
  metrics: string[];
  heads: { layer: number; head: number; scores: Record<string, Score> }[];
}
const placeOf = (found: HeadsJson["heads"][number] | undefined): number[] => [found?.layer ?? NaN, found?.head ?? NaN];
const json = (...more: string[]): HeadsJson => JSON.parse(run("--format", "json", ...more)) as HeadsJson;

describe("scores", () => {
  test("are PyTorch's, ranked by the first metric", () => {
    const found = json("--tokens-file", tokensFile(), "--metric", kMetrics.join());
    expect(found).toMatchObject({ texts: rows, metrics: kMetrics });
    expect(found.heads).toHaveLength(32);
    expect(placeOf(found.heads[0])).toEqual(bestHead("previous token"));
    const previous = found.heads.map(({ scores }) => scores.previous?.mean ?? NaN);
    expect(previous).toEqual([...previous].sort((a, b) => b - a));
    for (const metric of kMetrics) {
      for (const { layer, head, scores } of found.heads) {
        const expected = tensorOf(golden, metric).data[layer * heads + head] ?? NaN;
        expect(Math.abs((scores[metric]?.mean ?? NaN) - expected), metric).toBeLessThan(2e-5 * Math.max(expected, 1));
      }
    }
    expect(found.heads[0]?.scores.previous).toMatchObject({ texts: rows, n_valid: rows * (length - 1) });
    expect(found.heads[0]?.scores.induction).toMatchObject({ texts: rows, n_valid: rows * (length - 1) / 2 });
  });

  test("--top, --ascending, and the reference backend", () => {
    const file = tokensFile();
    const best = json("--tokens-file", file, "--metric", "induction", "--top", "1").heads;
    expect(best).toHaveLength(1);
    expect(placeOf(best[0])).toEqual(bestHead("induction"));
    const all = json("--tokens-file", file, "--metric", "sink").heads;
    const ascending = json("--tokens-file", file, "--metric", "sink", "--ascending").heads;
    expect(ascending).toEqual([...all].reverse());
    const [simd, ...others] = ["simd", "reference", "opencl"].map((backend) =>
      json("--tokens-file", tokensFile(1), "--metric", "sink", "--backend", backend).heads[0]?.scores.sink?.mean ?? NaN);
    for (const other of others) expect(other).toBeCloseTo(simd ?? NaN, 5);
  });

  test("as CSV and as a table, they are the JSON's", () => {
    const args = ["--tokens", "0,300,301,302,300,301,302", "--metric", "induction,next,distance", "--top", "5"];
    const expected = json(...args).heads;
    const csv = run(...args, "--format", "csv").trimEnd().split("\n");
    expect(csv[0]).toBe("layer,head,induction,next,distance");
    const table = run(...args).trimEnd().split("\n");
    expect(table[0]).toBe("layer  head  induction      next  distance");
    for (const [i, { layer, head, scores }] of expected.entries()) {
      const [l, h, induction, next, distance] = csv[i + 1]?.split(",") ?? [];
      expect([Number(l), Number(h)]).toEqual([layer, head]);
      expect(Number(induction)).toBeCloseTo(scores.induction?.mean ?? NaN, 8);
      expect(next).toBe(""); // this model does not look ahead
      expect(Number(distance)).toBeCloseTo(scores.distance?.mean ?? NaN, 8);
      expect(table[i + 1]?.trim().split(/ +/)).toEqual([
        String(layer), String(head), scores.induction?.mean?.toFixed(4), "-", scores.distance?.mean?.toFixed(4)]);
    }
    expect(csv).toHaveLength(6);
    expect(table).toHaveLength(6);
  });

  test("of texts, one a line, by the model's tokenizer", () => {
    const texts = ["The cat sat on the mat because the cat was tired.", "Anna saw Anna."];
    writeFileSync(inFolder("texts.txt"), `${texts.join("\n\n")}\n`);
    const found = json("--text-file", inFolder("texts.txt"));
    expect(found.texts).toBe(2);
    expect(found.metrics).toContain("induction_text");
    const tokensOf = (text: string): number[] =>
      (JSON.parse(succeeds(["tokens", "--model", kModel, "--text", text])) as { tokens: number[] }).tokens;
    writeFileSync(inFolder("ids.txt"), texts.map((text) => tokensOf(text).join()).join("\n"));
    expect(json("--tokens-file", inFolder("ids.txt"))).toEqual(found);
    // " cat" occurs twice in the first text, and a head of layer 1 finds the token after it. Nothing occurs twice in
    // the second text ("Anna" and " Anna" are two tokens), so it does not count.
    const [best] = found.heads;
    expect(best).toMatchObject({ layer: 1, scores: { induction_text: { texts: 1 }, previous: { texts: 2 } } });
  });

  test("special tokens are those that are named", () => {
    const [first] = json("--tokens", "0,300,301", "--metric", "special,sink", "--special", "0").heads;
    // <s> is the only special token, and the first.
    expect(first?.scores.special?.mean).toBeCloseTo(first?.scores.sink?.mean ?? NaN, 12);
  });

  test("what is lost without a head: induction needs the previous-token head", () => {
    const [first] = json("--tokens-file", tokensFile(2), "--metric", "ablation_loss").heads;
    expect(placeOf(first)).toEqual(bestHead("previous token"));
    expect(first?.scores.ablation_loss?.mean).toBeGreaterThan(1);
  });
});

describe("images", () => {
  const model = `${kGolden}/models/vit`;
  const expected = readSafetensors(`${model}/expected.safetensors`);
  const picture = tensorOf(expected, "picture");

  /** The golden's picture, or its mirror image. */
  function pictureFile(name: string, mirrored: boolean): string {
    const [height = 0, width = 0] = picture.shape;
    const png = new PNG({ width, height });
    for (let at = 0; at < picture.data.length; ++at) {
      const x = Math.floor(at / 4) % width;
      const from = mirrored ? at + 4 * (width - 1 - 2 * x) : at;
      png.data[at] = picture.data[from] ?? 0;
    }
    writeFileSync(inFolder(name), PNG.sync.write(png));
    return inFolder(name);
  }

  const jsonOf = (...args: string[]): HeadsJson =>
    JSON.parse(succeeds(["heads", "--model", model, "--format", "json", ...args])) as HeadsJson;

  test("one picture: patch distances of its maps", () => {
    const file = pictureFile("picture.png", false);
    const found = jsonOf("--image", file, "--metric", "patch_distance,output_change");
    expect(found).toMatchObject({ texts: 1, metrics: ["patch_distance", "output_change"] });
    expect(found.heads).toHaveLength(8);
    succeeds(["map", "--model", model, "--image", file, "--out", inFolder("maps.json")]);
    const { maps } = JSON.parse(readFileSync(inFolder("maps.json"), "utf8")) as { maps: number[][][][] };
    // CLS, and then 3 × 3 patches of 4 pixels.
    for (const { layer, head, scores } of found.heads) {
      let sum = 0;
      for (let i = 0; i < 9; ++i) {
        for (let j = 0; j < 9; ++j) {
          const apart = Math.hypot(Math.floor(i / 3) - Math.floor(j / 3), i % 3 - j % 3);
          sum += 4 * apart * (maps[layer]?.[head]?.[i + 1]?.[j + 1] ?? NaN) / 9;
        }
      }
      expect(scores.patch_distance?.mean).toBeCloseTo(sum, 5);
      expect(scores.patch_distance).toMatchObject({ texts: 1, n_valid: 9 });
      expect(scores.output_change?.n_valid).toBe(10);
    }
  });

  test("several pictures: the mean over them", () => {
    const files = [pictureFile("picture.png", false), pictureFile("mirrored.png", true)];
    const both = jsonOf("--image", ...files, "--metric", "entropy");
    const [one, other] = files.map((file) => jsonOf("--image", file, "--metric", "entropy"));
    expect(both.texts).toBe(2);
    const meanOf = (found: HeadsJson | undefined, layer: number, head: number): number =>
      found?.heads.find((scored) => scored.layer === layer && scored.head === head)?.scores.entropy?.mean ?? NaN;
    for (const { layer, head, scores } of both.heads) {
      const means = [one, other].map((found) => meanOf(found, layer, head));
      expect(scores.entropy?.mean).toBeCloseTo(((means[0] ?? NaN) + (means[1] ?? NaN)) / 2, 10);
      expect(means[0]).not.toBe(means[1]);
    }
  });

  test("what is wrong with them", () => {
    const file = pictureFile("picture.png", false);
    const refuses = (args: string[], message: RegExp): void => { fails(["heads", "--model", model, ...args], 2, message); };
    refuses([], /--image is missing, expected a picture, which the model reads/);
    refuses(["--tokens", "1"], /--image is missing/);
    refuses(["--image", file, "--tokens", "1"], /--tokens|--image/);
    refuses(["--image", file, "--text-file", "x"], /--text-file|--image/);
    refuses(["--image", file, inFolder("nothing.png")], /nothing\.png: No such file/);
    refuses(["--image", `${model}/config.json`], /config\.json is unreadable \(.*\), expected a PNG picture/);
    refuses(["--image", file, "--metric", "copying"], /--metric is copying, expected one that has a value for some head: this model has none of these images/);
    refuses(["--image", file, "--metric", "induction_text"], /--metric is induction_text, expected one that has a value for some head: these images have no such places/);
    fails(["heads", "--model", kModel, "--image", file], 2, /--image is ".*", expected none: the model reads tokens/);
  });
});

test("--help names every metric with its formula and source", () => {
  const help = succeeds(["heads", "--help"]);
  for (const name of [...kMetrics, "norm_share", "ablation_loss", "patch_distance", "locality_4096", "copying"]) {
    expect(help).toMatch(new RegExp(`^  ${name} +\\S.*\n +\\(.+\\)$`, "m"));
  }
});

describe("heads refuses", () => {
  test.each([
    [[], /--text-file, --tokens-file or --tokens is missing, expected texts/],
    [["--tokens", "1", "--metric", "indukction"], /--metric: option error: no metric is called "indukction"; there are self, .*ablation_loss/],
    [["--tokens", "1,2,3", "--metric", "induction"], /--metric is induction, expected one that has a value for some head: it needs texts of the form \[s\]\[s\]/],
    [["--tokens", "1,2,3", "--metric", "special"], /it needs --special/],
    [["--tokens", "1,2,3", "--metric", "patch_distance"], /it needs images/],
    [["--tokens", "1", "--metric", "previous"], /no such places/],
    [["--tokens", "1,99999"], /--tokens: value error: text 1: .*99999/],
    [["--tokens", "1,x"], /--tokens/],
    [["--tokens", "1", "--top", "0"], /--top/],
    [["--tokens", "1", "--format", "xml"], /--format/],
    [["--tokens", "1", "--tokens-file", "x"], /--tokens/],
    [["--tokens", "1", "--text-file", "x"], /--t/],
    [["--text-file", "x", "--tokens-file", "x"], /--t/],
    [["--text-file", "/nowhere/x"], /\/nowhere\/x: No such file/],
    [["--tokens-file", "/nowhere/x"], /\/nowhere\/x: No such file/],
  ])("%j", (args, message) => { fails(["heads", "--model", kModel, ...args], 2, message); });

  test.each([
    ["words", "1 2\n3 four\n", /bad\.txt, line 2 has "four", expected ids of tokens, as 1,2,3/],
    ["a number that is too large", "99999999999", /line 1 has "99999999999", expected ids/],
    ["nothing", "\n \r\n", /bad\.txt holds no texts, expected one a line/],
    ["only commas", "1,2\n,,\n", /bad\.txt, line 2 has "", expected ids of tokens/],
    ["too many tokens", "1 ".repeat(257), /bad\.txt: value error: text 1: .*257/],
    ["bytes of any kind", "\u0000\u0001", /bad\.txt, line 1/],
  ])("a file with %s", (_, content, message) => {
    writeFileSync(inFolder("bad.txt"), content);
    fails(["heads", "--model", kModel, "--tokens-file", inFolder("bad.txt")], 2, message);
  });

  test("texts that are empty or too long", () => {
    writeFileSync(inFolder("bad.txt"), "\n");
    fails(["heads", "--model", kModel, "--text-file", inFolder("bad.txt")], 2, /bad\.txt holds no texts, expected one a line/);
    writeFileSync(inFolder("bad.txt"), `The cat sat.\n${"word ".repeat(300)}\n`);
    fails(["heads", "--model", kModel, "--text-file", inFolder("bad.txt")], 2, /bad\.txt: value error: text 2: the input has \d+ tokens/);
  });

  test("no model", () => {
    expect(headlens(["heads", "--tokens", "1"])).toMatchObject({ status: 2 });
    fails(["heads", "--model", inFolder("nowhere"), "--tokens", "1"], 2, /nowhere\/config\.json: No such file/);
  });
});
