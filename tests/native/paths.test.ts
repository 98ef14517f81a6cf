// SPDX-License-Identifier: Apache-2.0
/** `headlens paths`: PyTorch's shares of heads, the induction circuit of the built-in model, and tables that say the same. */
import { writeFileSync } from "node:fs";
import { PNG } from "pngjs";
import { describe, expect, test } from "vitest";
import { kEpsilon, kGolden, kRoot, maxNorm } from "../compare.js";
import { readSafetensors, tensorOf } from "../safetensors.js";
import { fails, succeeds, temporaryFolder } from "./support.js";

const inFolder = temporaryFolder();
const kTiny = `${kRoot}web/models/tiny`;
const kText = "One two three. One two three.";

interface Place {
  layer: number;
  head: number;
}

interface Path {
  from: Place;
  to: Place;
  input: "query" | "key" | "value";
  share: number | null;
  weights?: number | null;
}

interface InductionPath extends Path {
  previous: number;
  induction: number;
  score: number;
}

interface Found<P> {
  tokens: number[];
  paths: P[];
}

const paths = (model: string, ...args: string[]): string => succeeds(["paths", "--model", model, ...args]);
const json = (model: string, ...args: string[]): Found<Path> => JSON.parse(paths(model, ...args, "--json")) as Found<Path>;
const induction = (...args: string[]): Found<InductionPath> =>
  JSON.parse(paths(kTiny, "--text", kText, "--rank", "induction", "--json", ...args)) as Found<InductionPath>;
const nameOf = ({ layer, head }: Place): string => `${layer}.${head}`;
const endsOf = ({ from, to, input }: Path): string => [nameOf(from), nameOf(to), input].join();
const isDescending = (numbers: readonly number[]): boolean =>
  numbers.every((number, i) => i === 0 || number <= (numbers[i - 1] ?? NaN));
const rowsOf = (...args: string[]): string[][] =>
  paths(kTiny, "--text", kText, ...args).trimEnd().split("\n").slice(3).map((line) => line.trim().split(/ +/));

describe.each(["gpt2", "llama"])("the golden model %s", (name) => {
  const folder = `${kGolden}/models/${name}`;
  const golden = readSafetensors(`${folder}/explained.safetensors`);
  const { data: ids, shape: [length = 0] } = tensorOf(readSafetensors(`${folder}/expected.safetensors`), "ids");
  const largest = maxNorm(tensorOf(golden, "row.by_key").data);
  const [layer = 0, head = 0] = tensorOf(golden, "score.at").data;

  test("shares are those of PyTorch's sources", () => {
    const found = json(folder, "--tokens", ids.join(","), "--layer", String(layer), "--head", String(head)).paths;
    const inputs = ["query", "key", "value"] as const;
    for (const input of inputs) {
      const sums = [...tensorOf(golden, `sources.${input}`).data];
      const all = sums.reduce((sum, term) => sum + term, 0);
      const parts = golden.metadata[`${input}_parts`]?.split(",") ?? [];
      const expected = new Map(parts.map((part, i) => [part, (sums[i] ?? NaN) / all]));
      const ours = found.filter((path) => path.input === input);
      expect(ours).toHaveLength(parts.filter((part) => part.startsWith("head.")).length);
      // Each sum may be off by as much as in the tests of `explain`, and all of them together by so many times as much.
      const error = 256 * kEpsilon * (input === "value" ? 4 * maxNorm(sums) : length * largest);
      for (const { from, share } of ours) {
        const exact = expected.get(`head.${nameOf(from)}`) ?? NaN;
        const tolerance = error * (1 + sums.length * Math.abs(exact)) / Math.abs(all);
        expect(Math.abs((share ?? NaN) - exact)).toBeLessThan(tolerance);
        expect(tolerance).toBeLessThan(0.05);
      }
    }
  });
});

describe("the built-in model", () => {
  test("all paths are ranked by their shares, and the first have the score of the weights", () => {
    const found = json(kTiny, "--text", kText).paths;
    expect(found).toHaveLength(3 * 8 * 8 * (1 + 2 + 3));
    expect(new Set(found.map(endsOf)).size).toBe(found.length);
    expect(found.every(({ from, to }) => from.layer < to.layer)).toBe(true);
    expect(isDescending(found.map(({ share }) => share ?? -Infinity))).toBe(true);
    expect(found.filter(({ weights }) => weights !== undefined)).toEqual(found.slice(0, 12));
    for (const { weights } of found.slice(0, 12)) expect(weights).toSatisfy((score: number) => score > 0 && score < 1);
    const few = json(kTiny, "--text", kText, "--top", "3").paths;
    expect(few.map(({ share }) => share)).toEqual(found.map(({ share }) => share));
    expect(few.filter(({ weights }) => weights !== undefined)).toEqual(found.slice(0, 3));
  });

  test("a head's own paths are those of all that lead to it", () => {
    const to = ["--layer", "2", "--head", "5"];
    const found = json(kTiny, "--text", kText, ...to).paths;
    const plain = ({ from, input, share }: Path): unknown => [from, input, share];
    expect(found.map(plain)).toEqual(json(kTiny, "--text", kText).paths.filter((path) => nameOf(path.to) === "2.5").map(plain));
    expect(found).toHaveLength(3 * 16);
  });

  test("tables show the first paths", () => {
    const shown = ({ share, weights, from, to, input }: Path): string[] =>
      [share?.toFixed(4) ?? "-", weights?.toFixed(4) ?? "-", nameOf(from), nameOf(to), input];
    const { paths: found, tokens } = json(kTiny, "--text", kText);
    expect(rowsOf()).toEqual(found.slice(0, 12).map(shown));
    expect(rowsOf("--top", "2")).toEqual(found.slice(0, 2).map(shown));
    expect(paths(kTiny, "--text", kText)).toMatch(new RegExp(`^1152 paths of two heads over ${tokens.length} tokens\n\n share +weights +from +to +input\n`));
    expect(paths(kTiny, "--text", kText, "--layer", "1", "--head", "4")).toMatch(/^24 paths of two heads to layer 1, head 4, over 9 tokens\n/);
  });

  test("induction paths have the metrics of their heads, the best first", () => {
    const { paths: found, tokens } = induction();
    expect(isDescending(found.map(({ score }) => score))).toBe(true);
    const [best] = found;
    expect(best?.previous).toBeGreaterThan(0.9);
    expect(best?.induction).toBeGreaterThan(0.4);
    const { heads } = JSON.parse(succeeds(["heads", "--model", kTiny, "--tokens", tokens.join(","), "--metric",
      "previous,induction_text", "--format", "json"])) as { heads: (Place & { scores: Record<string, { mean: number }> })[] };
    const metric = (place: Place, name: string): number =>
      heads.find((head) => nameOf(head) === nameOf(place))?.scores[name]?.mean ?? NaN;
    const shares = new Map(json(kTiny, "--text", kText).paths.map((path) => [endsOf(path), path.share]));
    for (const path of found) {
      expect(path.input).toBe("key");
      expect(path.previous).toBeCloseTo(metric(path.from, "previous"), 6);
      expect(path.induction).toBeCloseTo(metric(path.to, "induction_text"), 6);
      expect(path.share).toBe(shares.get(endsOf(path)));
      expect(path.score).toBeCloseTo(path.previous * path.induction * Math.max(path.share ?? NaN, 0), 6);
    }
    const [first] = rowsOf("--rank", "induction", "--top", "1");
    expect(first).toEqual([best?.score, best?.previous, best?.induction, best?.share].map((x) => x?.toFixed(4))
      .concat([best?.from, best?.to].map((place) => place && nameOf(place))));
    expect(rowsOf("--rank", "induction")).toHaveLength(12);
  });

  test("silencing the earlier head takes the induction from the later one", () => {
    const [best] = induction().paths;
    if (!best) throw new Error("there is no path");
    const without = induction("--ablate", nameOf(best.from)).paths.find(({ to }) => nameOf(to) === nameOf(best.to));
    expect(without?.induction).toBeLessThan(best.induction / 2);
  });

  test.each(["reference", "opencl"])("the %s backend finds the same", (backend) => {
    const [here, there] = [[], ["--backend", backend]].map((more) => json(kTiny, "--text", kText, "--layer", "2", "--head", "1", ...more).paths);
    for (const [i, { share }] of (there ?? []).entries()) expect(share).toBeCloseTo(here?.[i]?.share ?? NaN, 3);
  });
});

describe("paths refuses", () => {
  test.each([
    [["--layer", "0", "--head", "0"], /--layer is 0, expected 1 to 3: heads of the first layer read no other head/],
    [["--layer", "4", "--head", "0"], /--layer is 4, expected 0 to 3/],
    [["--layer=-1", "--head", "0"], /--layer is -1, expected 0 to 3/],
    [["--layer", "1", "--head", "8"], /--head is 8, expected 0 to 7/],
    [["--layer", "1"], /--layer requires --head/],
    [["--head", "1"], /--head requires --layer/],
    [["--rank", "weights"], /--rank: weights not in \{share,induction\}/],
    [["--top", "0"], /--top/],
    [["--tokens", "1"], /--tokens|--text/],
    [["--patch", "1.0@1", "--from-text", "a b"], /the changes of the run: unsupported error: the run replaced outputs of this head/],
  ])("%j", (args, message) => { fails(["paths", "--model", kTiny, "--text", kText, ...args], 2, message); });

  test("induction where nothing comes again, and a model of one layer", () => {
    fails(["paths", "--model", kTiny, "--text", "One two", "--rank", "induction"], 2,
      /--rank is induction, expected share, since no token of the text comes again/);
    fails(["paths", "--model", `${kGolden}/models/llama_yarn`, "--tokens", "1,2"], 2,
      /llama_yarn has 1 layer, expected at least 2: a path leads from one to a later one/);
    fails(["paths", "--model", inFolder("nowhere"), "--text", "a"], 2, /nowhere\/config\.json: No such file/);
  });

  test("induction in pictures, which have paths", () => {
    const model = `${kGolden}/models/vit`;
    const { data, shape: [height = 0, width = 0] } = tensorOf(readSafetensors(`${model}/expected.safetensors`), "picture");
    const picture = new PNG({ width, height });
    picture.data.set(data);
    writeFileSync(inFolder("picture.png"), PNG.sync.write(picture));
    const image = ["--image", inFolder("picture.png")];
    expect(json(model, ...image).paths).toHaveLength(3 * 4 * 4);
    fails(["paths", "--model", model, ...image, "--rank", "induction"], 2, /--rank: unsupported error: induction is about tokens that come again/);
  });
});
