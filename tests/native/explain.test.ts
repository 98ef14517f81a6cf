// SPDX-License-Identifier: Apache-2.0
/** `headlens explain`: PyTorch's parts of scores, rows, outputs and sources, and tables that say the same. */
import { readFileSync, writeFileSync } from "node:fs";
import { PNG } from "pngjs";
import { describe, expect, test } from "vitest";
import { expectClose, kEpsilon, kGolden, kRoot, maxNorm } from "../compare.js";
import { type FileTensor, readSafetensors, tensorOf } from "../safetensors.js";
import { fails, succeeds, temporaryFolder } from "./support.js";

const inFolder = temporaryFolder();
const kTiny = `${kRoot}web/models/tiny`;
const kText = "The queen saw the king and she laughed.";

interface Part {
  kind: string;
  layer?: number;
  head?: number;
}

type Numbers = readonly (number | null)[];

interface Cell {
  score: number;
  capped_scores: number;
  biased_scores: number;
  masked_scores: number | null;
  weights: number;
  query_parts: Part[];
  key_parts: Part[];
  terms: Numbers[];
}

interface Row {
  pieces: string[];
  scores: Numbers;
  masked_scores: Numbers;
  weights: number[];
  query_parts: Part[];
  key_parts: Part[];
  by_query: Numbers[];
  by_key: Numbers[];
}

interface Output {
  written: number[];
  parts: Part[];
  terms: Numbers[];
}

interface Sources {
  query_parts: Part[];
  query: number[];
  key_parts: Part[];
  key: number[];
  value_parts: Part[];
  value: number[];
}

const explain = (model: string, ...args: string[]): string => succeeds(["explain", "--model", model, ...args]);

/** "token,head.0.1,feed_forward.0", as the golden files name parts. */
const named = (parts: readonly Part[]): string =>
  parts.map(({ kind, layer, head }) => [kind, layer, head].filter((x) => x !== undefined).join(".")).join(",");

const flat = (numbers: Numbers | readonly Numbers[]): number[] => numbers.flat().map((x) => x ?? -Infinity);
const sum = (numbers: readonly number[]): number => numbers.reduce((a, b) => a + b, 0);

describe.each(["gpt2", "llama"])("the golden model %s", (name) => {
  const folder = `${kGolden}/models/${name}`;
  const golden = readSafetensors(`${folder}/explained.safetensors`);
  const ids = [...tensorOf(readSafetensors(`${folder}/expected.safetensors`), "ids").data];
  const [layer = 0, head = 0, query = 0, key = 0, against = 0] = tensorOf(golden, "score.at").data;
  const place = ["--tokens", ids.join(","), "--layer", String(layer), "--head", String(head)];
  const json = (...more: string[]): unknown => JSON.parse(explain(folder, ...place, "--json", ...more));
  const atQuery = ["--query", String(query)];
  const atKey = [...atQuery, "--key", String(key)];

  /** Checks numbers with the tolerance of the C++ tests: roundings are in proportion to numbers of this size. */
  function expectGolden(tensor: string, got: Numbers | readonly Numbers[], size?: number): void {
    const expected: FileTensor = tensorOf(golden, tensor);
    const tolerance = 256 * kEpsilon * (size ?? maxNorm(expected.data));
    expectClose(tensor, { data: flat(got), shape: expected.shape }, expected, tolerance);
  }

  test("a score, and what it is more than another", () => {
    const cell = json(...atKey) as Cell;
    expect(cell).toMatchObject({ tokens: ids, layer, head, query, key });
    expect(named(cell.query_parts)).toBe(golden.metadata.query_parts);
    expect(named(cell.key_parts)).toBe(golden.metadata.key_parts);
    expectGolden("score.terms", cell.terms);
    const more = json(...atKey, "--against", String(against)) as Cell;
    expect(more).toMatchObject({ against });
    const size = maxNorm(tensorOf(golden, "score.terms").data);
    expectGolden("score.against", more.terms, size);
    expect(Math.abs(sum(flat(more.terms)) - more.score)).toBeLessThan(256 * kEpsilon * size * more.terms.length);
  });

  test("a row", () => {
    const row = json(...atQuery) as Row;
    const size = maxNorm(tensorOf(golden, "row.by_key").data);
    expectGolden("row.scores", row.scores, size);
    expectGolden("row.by_query", row.by_query, size);
    expectGolden("row.by_key", row.by_key);
    expect(sum(row.weights)).toBeCloseTo(1, 5);
    expect(row.masked_scores.map((score) => score === null)).toEqual(row.weights.map((weight) => weight === 0));
  });

  test("what the head copies where values are zeros or means", () => {
    for (const replacement of ["zero", "mean"]) {
      const { written, terms } = json("--what", "output", ...atQuery, "--replace-token", "0,1", "--replacement", replacement) as Output;
      const all = flat(terms), size = sum(all.map(Math.abs));
      expect(Math.abs(sum(all) - Math.hypot(...written))).toBeLessThan(1e-5 * size);
      const ofBlank = terms.flatMap((row) => row.slice(0, 2));
      expect(ofBlank.every((term) => term === 0)).toBe(replacement === "zero");
    }
  });

  test("what the head copies, and its sources", () => {
    const output = json("--what", "output", ...atQuery) as Output;
    expect(named(output.parts)).toBe(golden.metadata.value_parts);
    const written = tensorOf(golden, "output.written");
    expectGolden("output.written", output.written, 4 * maxNorm(written.data));
    expectGolden("output.terms", output.terms, 4 * maxNorm(tensorOf(golden, "output.terms").data));
    const sources = json("--what", "sources") as Sources;
    const size = ids.length * maxNorm(tensorOf(golden, "row.by_key").data);
    expectGolden("sources.query", sources.query, size);
    expectGolden("sources.key", sources.key, size);
    expectGolden("sources.value", sources.value, 4 * maxNorm(tensorOf(golden, "sources.value").data));
    expect(named(sources.value_parts)).toBe(golden.metadata.value_parts);
  });
});

describe("tables of the built-in model", () => {
  const kHead = ["--text", kText, "--layer", "3", "--head", "4"];
  const table = (...more: string[]): string[] => explain(kTiny, ...kHead, ...more).trimEnd().split("\n");
  const json = (...more: string[]): unknown => JSON.parse(explain(kTiny, ...kHead, "--json", ...more));
  const kAnd = ["--query", "6"];

  test("a score: its tokens, its sum, the largest terms and the steps", () => {
    const cell = json(...kAnd, "--key", "2") as Cell;
    const lines = table(...kAnd, "--key", "2");
    expect(lines[0]).toBe("layer 3, head 4: query 6 “·and”, key 2 “·queen”");
    const [score, count] = [cell.score.toFixed(3), cell.query_parts.length * cell.key_parts.length];
    expect(lines[1]).toBe(`score ${score} = sum of ${count} terms (parts add up to ${score})`);
    expect(lines[3]).toMatch(/^ *term {2}query part +key part$/);
    const largest = flat(cell.terms).sort((a, b) => Math.abs(b) - Math.abs(a)).slice(0, 12);
    const shown = lines.slice(4, 16).map((line) => line.trim().split(/ {2,}/));
    expect(shown.map(([term]) => Number(term).toFixed(3))).toEqual(largest.map((term) => term.toFixed(3)));
    for (const part of shown.flatMap(([, ...parts]) => parts))
      expect(part).toMatch(/^(token|head \d\.\d|feed-forward \d)$/);
    expect(lines[16]?.trim()).toBe(`+${(cell.score - sum(largest)).toFixed(3)}  ${count - 12} others`);
    expect(lines.slice(18)).toEqual([
      `capped  ${score}`, `biased  ${score}`, `masked  ${score}`, `weight  ${cell.weights.toFixed(4)}`]);
    expect(table(...kAnd, "--key", "2", "--top", "1")).toHaveLength(lines.length - 11);
  });

  test("a difference of scores is that of both", () => {
    const [queen, king] = ["2", "5"].map((key) => json(...kAnd, "--key", key) as Cell);
    const more = json(...kAnd, "--key", "2", "--against", "5") as Cell;
    expect(more.score).toBeCloseTo((queen?.score ?? NaN) - (king?.score ?? NaN), 5);
    expect(more.weights).toBeCloseTo((queen?.weights ?? NaN) - (king?.weights ?? NaN), 6);
    const lines = table(...kAnd, "--key", "2", "--against", "5");
    expect(lines[0]).toBe("layer 3, head 4: query 6 “·and”, key 2 “·queen”, against key 5 “·king”");
    expect(lines[1]).toMatch(new RegExp(`^difference of scores ${more.score.toFixed(3)} = sum of 784 terms`));
  });

  test("a row: each key that the query sees, with the weights of its map", () => {
    const out = inFolder("row.json");
    succeeds(["map", "--model", kTiny, ...kHead, "--out", out]);
    const { maps } = JSON.parse(readFileSync(out, "utf8")) as { maps: number[][][][] };
    const row = json(...kAnd) as Row;
    // A row that is computed alone may round in another order than the whole map.
    for (const [key, weight] of row.weights.entries()) expect(weight).toBeCloseTo(maps[0]?.[0]?.[6]?.[key] ?? NaN, 6);
    const [title, , header, ...lines] = table(...kAnd);
    expect(title).toBe("layer 3, head 4: scores of query 6 “·and”");
    expect(header?.trim()).toMatch(/^key +score +weight +term +strongest key part +token$/);
    expect(lines).toHaveLength(7);
    for (const [key, line] of lines.entries()) {
      const parts = row.by_key.map((terms) => terms[key] ?? NaN);
      const strongest = parts.reduce((a, b) => (Math.abs(b) > Math.abs(a) ? b : a));
      const part = row.key_parts[parts.indexOf(strongest)];
      const name = part?.kind === "feed_forward" ? `feed-forward ${part.layer}` : `head ${part?.layer}.${part?.head}`;
      expect(line.trim().split(/ {2,}/)).toEqual([
        String(key), row.scores[key]?.toFixed(3), row.weights[key]?.toFixed(4),
        `${strongest < 0 ? "" : "+"}${strongest.toFixed(3)}`, name, row.pieces[key]?.replace(" ", "·")]);
    }
    const [, , , first, second, ...none] = table(...kAnd, "--top", "2");
    expect([first, second].map((line) => line?.trim().split(/ +/)[0])).toEqual(["2", "1"]);
    expect(none).toEqual([]);
  });

  test("what the head copies for a query, and over the text", () => {
    const output = json("--what", "output", ...kAnd) as Output;
    const length = Math.hypot(...output.written).toFixed(3);
    const lines = table("--what", "output", ...kAnd, "--top", "3");
    expect(lines[0]).toBe("layer 3, head 4: what it writes for query 6 “·and”");
    expect(lines[1]).toBe(`length ${length} = sum of ${output.parts.length * 10} terms (parts add up to ${length})`);
    expect(lines[4]).toMatch(/^\+\d+\.\d{3} {2}feed-forward 2 +2 +·queen$/);
    const sources = table("--what", "sources", "--top", "2");
    expect(sources[0]).toBe("layer 3, head 4 over 10 tokens");
    expect(sources.filter((line) => /^(queries|keys|values): /.test(line))).toHaveLength(3);
    expect(sources).toHaveLength(1 + 3 * 6);
  });

  test("a key that the query may not see has a score and no weight", () => {
    const lines = table("--query", "2", "--key", "9");
    expect(lines.slice(-2)).toEqual(["masked  -inf", "weight  0.0000"]);
    expect((json("--query", "2", "--key", "9") as Cell).masked_scores).toBeNull();
    expect(table("--query", "2", "--key", "9", "--against", "8").slice(-2)).toEqual(["masked  NaN", "weight  0.0000"]);
  });

  test.each(["reference", "opencl"])("the %s backend explains the same", (backend) => {
    const [here, there] = [[], ["--backend", backend]].map((more) => json(...kAnd, "--key", "2", ...more) as Cell);
    const [a, b] = [flat(here?.terms ?? []), flat(there?.terms ?? [])];
    const tolerance = 256 * kEpsilon * maxNorm(a);
    expectClose(backend, { data: b, shape: [b.length] }, { data: a, shape: [a.length] }, tolerance);
  });
});

test("patches of a picture have the names of their places", () => {
  const model = `${kGolden}/models/vit`;
  const { data, shape: [height = 0, width = 0] } = tensorOf(readSafetensors(`${model}/expected.safetensors`), "picture");
  const picture = new PNG({ width, height });
  picture.data.set(data);
  writeFileSync(inFolder("picture.png"), PNG.sync.write(picture));
  const args = ["--image", inFolder("picture.png"), "--layer", "1", "--head", "0", "--query", "0", "--key", "6"];
  expect(explain(model, ...args)).toMatch(/^layer 1, head 0: query 0 “CLS”, key 6 “1,2”\nscore /);
  expect(JSON.parse(explain(model, ...args, "--json"))).toMatchObject({ patches: [3, 3] });
});

test("names of tokens are safe to show", () => {
  const text = "a\u001b[31m\u202eb";
  const args = ["--text", text, "--layer", "0", "--head", "0", "--query", "1"];
  for (const more of [[], ["--json"]]) {
    const shown = explain(kTiny, ...args, ...more);
    // oxlint-disable-next-line no-control-regex
    expect(shown).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u202e]/);
  }
});

describe("explain refuses", () => {
  const kRight = ["--layer", "0", "--head", "0", "--query", "1"];

  test.each([
    [["--layer", "4", "--head", "0", "--query", "1"], /--layer is 4, expected 0 to 3/],
    [["--layer", "0", "--head", "8", "--query", "1"], /--head is 8, expected 0 to 7/],
    [["--layer=-1", "--head", "0", "--query", "1"], /--layer is -1, expected 0 to 3/],
    [["--layer", "0", "--head", "0.5", "--query", "1"], /--head/],
    [["--layer", "0", "--query", "1"], /--head is required/],
    [["--layer", "0", "--head", "0"], /--query is missing, expected the position of a token, counted from 0/],
    [["--layer", "0", "--head", "0", "--query", "12"], /--query is 12, expected 0 to 9/],
    [["--layer", "0", "--head", "0", "--query=-1"], /--query is -1, expected 0 to 9/],
    [["--layer", "0", "--head", "0", "--query", "99999999999999999999"], /--query/],
    [[...kRight, "--key", "12"], /--key is 12, expected 0 to 9/],
    [[...kRight, "--key", "1", "--against", "-1"], /--against/],
    [[...kRight, "--key", "1", "--against", "12"], /--against is 12, expected 0 to 9/],
    [[...kRight, "--against", "1"], /--against requires --key/],
    [[...kRight, "--what", "map"], /--what: map not in \{scores,output,sources\}/],
    [[...kRight, "--what", "sources"], /--query needs --what scores or output/],
    [[...kRight, "--what", "output", "--key", "1"], /--key needs --what scores/],
    [[...kRight, "--top", "0"], /--top/],
    [[...kRight, "--tokens", "1"], /--tokens|--text/],
    [[...kRight, "--image", "a.png"], /--image|--text/],
    [[...kRight, "--what", "output", "--patch", "0.0@1", "--from-text", "a b"], /--what: unsupported error: the run replaced outputs of this head/],
  ])("%j", (args, message) => { fails(["explain", "--model", kTiny, "--text", kText, ...args], 2, message); });

  test("no text, no model", () => {
    fails(["explain", "--model", kTiny, ...kRight], 2, /--text, --text-file or --tokens is missing/);
    fails(["explain", "--model", inFolder("nowhere"), "--text", "a", ...kRight], 2, /nowhere\/config\.json: No such file/);
    fails(["explain", "--text", "a", ...kRight], 2, /--model is required/);
    fails(["explain", "--model", kTiny, "--tokens", "1,99999", ...kRight], 2, /--tokens: value error: .*99999/);
  });
});
