// SPDX-License-Identifier: Apache-2.0
/** `headlens predict`: PyTorch's logits, by layers, parts and heads, and tables that say the same. */
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { PNG } from "pngjs";
import { beforeAll, describe, expect, test } from "vitest";
import { expectClose, kEpsilon, kGolden, kRoot, maxNorm } from "../compare.js";
import { type FileTensor, readSafetensors, tensorOf } from "../safetensors.js";
import { fails, succeeds, temporaryFolder } from "./support.js";

const inFolder = temporaryFolder();
const kTiny = `${kRoot}web/models/tiny`;
const kText = "The cat sat on the";
const folderOf = (name: string): string => `${kGolden}/models/${name}`;

interface Token {
  token: number;
  piece?: string;
  label?: number;
  name?: string;
  logit: number;
}

interface Predicted {
  pieces?: string[];
  position: number;
  predictions: (Token & { probability: number })[];
  before?: (Token & { probability: number })[];
  lens: { layer: number; predictions: Token[] }[];
  contributions: { logits: Token[]; parts: { kind: string; layer?: number; head?: number }[]; terms: number[][] };
  head: { layer: number; head: number; likelier: Token[]; less_likely: Token[] };
}

const predict = (model: string, ...args: string[]): string => succeeds(["predict", "--model", model, ...args]);
const json = (model: string, ...args: string[]): Predicted => JSON.parse(predict(model, ...args, "--json")) as Predicted;
const ofText = (...more: string[]): Predicted => json(kTiny, "--text", kText, ...more);

/** The row of a tensor [rows, columns]. */
function rowOf({ data, shape: [, columns = 0] }: FileTensor, row: number): number[] {
  return [...data.slice(row * columns, (row + 1) * columns)];
}

/** The values at the tokens' columns. */
function expectTokens(what: string, got: readonly Token[], expected: readonly number[], tolerance: number): void {
  const columns = got.map(({ token, label }) => token ?? label);
  expectClose(what, { data: got.map(({ logit }) => logit), shape: [got.length] },
    { data: columns.map((column) => expected[column] ?? NaN), shape: [got.length] }, tolerance);
}

const descending = (numbers: readonly number[]): number[] => [...numbers].sort((a, b) => b - a);

describe.each(["gpt2", "llama"])("the golden model %s", (name) => {
  const expected = readSafetensors(`${folderOf(name)}/expected.safetensors`);
  const golden = readSafetensors(`${folderOf(name)}/explained.safetensors`);
  const ids = tensorOf(expected, "ids").data.join(",");
  const [layer = 0, head = 0] = tensorOf(golden, "score.at").data;
  const [position = 0, ...tokens] = tensorOf(golden, "logits.at").data;
  const all = String(tensorOf(golden, "lens").shape[1]);
  const at = (...more: string[]): Predicted =>
    json(folderOf(name), "--tokens", ids, "--position", String(position), "--top", all, ...more);
  const close = (tensor: FileTensor): number => 256 * kEpsilon * maxNorm(tensor.data);

  test("logits and the logit lens are PyTorch's, the largest first", () => {
    const { predictions, lens } = at("--lens");
    const logits = tensorOf(expected, "logits");
    expect(predictions).toHaveLength(Number(all));
    expect(new Set(predictions.map(({ token }) => token)).size).toBe(Number(all));
    expectTokens("logits", predictions, rowOf(logits, position), close(logits));
    const sizes = predictions.map(({ logit }) => logit);
    expect(sizes).toEqual(descending(sizes));
    const total = sizes.reduce((sum, logit) => sum + Math.exp(logit), 0);
    for (const { logit, probability } of predictions) expect(probability).toBeCloseTo(Math.exp(logit) / total, 6);
    expect(lens.map((row) => row.layer)).toEqual([...lens.keys()]);
    expectTokens("lens", lens[1]?.predictions ?? [], rowOf(tensorOf(golden, "lens"), position), close(tensorOf(golden, "lens")));
    expect(lens.at(-1)?.predictions).toEqual(predictions);
  });

  test("contributions and a head's logits are PyTorch's", () => {
    const { contributions, head: of } = at("--contributions", ...tokens.map(String), "--head", `${layer}.${head}`);
    const terms = tensorOf(golden, "logits.terms");
    expect(contributions.logits.map(({ token }) => token)).toEqual(tokens);
    expectClose("terms", { data: contributions.terms.flat(), shape: terms.shape }, terms, close(terms));
    const names = contributions.parts.map((part) => Object.values(part).join(".")).join(",");
    expect(names).toBe(golden.metadata.logit_parts);
    const logits = tensorOf(golden, "logits.head");
    expect(of).toMatchObject({ layer, head });
    for (const list of [of.likelier, of.less_likely]) expectTokens("head", list, rowOf(logits, position), close(logits));
    const likelier = of.likelier.map(({ logit }) => logit);
    expect(likelier).toEqual(descending(likelier));
    expect(of.less_likely.map(({ logit }) => logit)).toEqual([...likelier].reverse());
  });
});

describe("the built-in model", () => {
  const table = (...more: string[]): string[] => predict(kTiny, "--text", kText, ...more).trimEnd().split("\n");
  const dotted = ({ piece = "" }: Token): string => piece.replace(" ", "·");

  test("a table of tokens at the last position, or at another", () => {
    const { position, predictions, pieces } = ofText();
    expect([position, predictions.length, pieces?.at(-1)]).toEqual([5, 10, " the"]);
    const [title, , header, ...lines] = table();
    expect(title).toBe("position 5 “·the”");
    expect(header?.trim()).toMatch(/^probability +logit +id +token$/);
    expect(lines.map((line) => line.trim().split(/ +/))).toEqual(predictions.map((token) =>
      [token.probability.toFixed(4), token.logit.toFixed(3), String(token.token), dotted(token)]));
    expect(table("--position", "1", "--top", "3")).toHaveLength(6);
    // A causal model predicts there as if nothing followed.
    const first = json(kTiny, "--text", "The", "--top", "3").predictions;
    for (const [i, { token, logit }] of ofText("--position", "1", "--top", "3").predictions.entries()) {
      expect(token).toBe(first[i]?.token);
      expect(logit).toBeCloseTo(first[i]?.logit ?? NaN, 4);
    }
  });

  test("the logit lens has a row for each layer, and one after the last", () => {
    const { lens } = ofText("--lens");
    const lines = table("--lens").slice(-5);
    expect(lens).toHaveLength(5);
    for (const [i, line] of lines.entries()) {
      expect(line).toMatch(new RegExp(`^ +${i < 4 ? i : "end"}  \\S+ \\d\\.\\d{4}  \\S+ \\d\\.\\d{4}  \\S+ \\d\\.\\d{4}$`));
      for (const token of lens[i]?.predictions ?? []) expect(line).toContain(`${dotted(token)} `);
    }
  });

  test("contributions add up: of the most probable token, or of those that are named", () => {
    const { predictions: [best], contributions } = ofText("--contributions");
    expect(contributions.logits).toMatchObject([{ token: best?.token, piece: best?.piece, logit: best?.logit }]);
    const total = contributions.terms.reduce((sum, [term = NaN]) => sum + term, 0);
    expect(total).toBeCloseTo(best?.logit ?? NaN, 4);
    const logit = best?.logit.toFixed(3);
    expect(table("--contributions").slice(13, 17)).toEqual(["",
      `“${best ? dotted(best) : ""}”: logit ${logit} = sum of 37 terms (parts add up to ${logit})`, "", "  term  part"]);
    const named = ofText("--contributions", " mat", "320").contributions;
    expect(named.logits).toMatchObject([{ token: 685, piece: " mat" }, { token: 320, piece: " on" }]);
    expect(named.terms.every((row) => row.length === 2)).toBe(true);
  });

  test("a head's tokens, with the norm that is frozen", () => {
    const { head } = ofText("--head", "3.2", "--top", "2");
    const lines = table("--head", "3.2", "--top", "2");
    expect(lines).toContain("head 3.2 adds to the logits, with the norms behind it frozen");
    for (const [title, list] of [["likelier", head.likelier], ["less likely", head.less_likely]] as const) {
      expect(list).toHaveLength(2);
      for (const [i, token] of list.entries()) {
        expect(lines[lines.indexOf(title) + 1 + i]?.trim().split(/ +/)).toEqual([
          `${token.logit < 0 ? "" : "+"}${token.logit.toFixed(3)}`, String(token.token), dotted(token)]);
      }
    }
  });

  test("--compare has the predictions before and after a change", () => {
    const changed = ["--ablate", "0.2", "--ablate", "1.4", "--top", "4"];
    const { before = [], predictions } = ofText(...changed, "--compare");
    expect(before).toEqual(ofText("--top", "4").predictions);
    expect(predictions).toEqual(ofText(...changed).predictions);
    const [, , header, ...lines] = table(...changed, "--compare");
    expect(header?.trim()).toMatch(/^before +after +id +token$/);
    const rows = lines.map((line) => line.trim().split(/ +/));
    const shown = new Set([...predictions, ...before].map(({ token }) => String(token)));
    expect(rows.map(([, , id]) => id)).toEqual([...shown]);
    for (const { token, probability } of before)
      expect(rows.find(([, , id]) => id === String(token))?.[0]).toBe(probability.toFixed(4));
    for (const { token, probability } of predictions)
      expect(rows.find(([, , id]) => id === String(token))?.[1]).toBe(probability.toFixed(4));
  });

  test.each(["reference", "opencl"])("the %s backend predicts the same", (backend) => {
    const [here, there] = [[], ["--backend", backend]].map((more) => ofText("--top", "3", ...more).predictions);
    for (const [i, { token, logit }] of (there ?? []).entries()) {
      expect(token).toBe(here?.[i]?.token);
      expect(logit).toBeCloseTo(here?.[i]?.logit ?? NaN, 3);
    }
  });
});

describe("a picture", () => {
  const model = folderOf("vit");
  const expected = readSafetensors(`${model}/expected.safetensors`);
  beforeAll(() => {
    const { data, shape: [height = 0, width = 0] } = tensorOf(expected, "picture");
    const picture = new PNG({ width, height });
    picture.data.set(data);
    writeFileSync(inFolder("picture.png"), PNG.sync.write(picture));
  });

  test("has labels by their numbers, and by their names where the folder has them", () => {
    const picture = ["--image", inFolder("picture.png")];
    const { predictions, contributions } = json(model, ...picture, "--contributions", "1", "0");
    expect(predictions.map(({ label = NaN }) => label).sort()).toEqual([0, 1, 2]);
    expect(predictions.map(({ token }) => token)).toEqual([undefined, undefined, undefined]);
    expect(contributions.logits.map(({ label }) => label)).toEqual([1, 0]);
    for (const [n, { logit }] of contributions.logits.entries())
      expect(contributions.terms.reduce((sum, row) => sum + (row[n] ?? NaN), 0)).toBeCloseTo(logit, 5);
    const names = ["cat", "dog", "house"];
    for (const { label = NaN, name } of [...predictions, ...contributions.logits]) expect(name).toBe(names[label]);
    expect(predict(model, ...picture))
      .toMatch(/^position 0 “CLS”\n\nprobability +logit +label +name\n.* [012] +(cat|dog|house)\n/);
    const ofHouse = json(model, ...picture, "--contributions", "house").contributions;
    expect(ofHouse.logits.map(({ label }) => label)).toEqual([2]);
    fails(["predict", "--model", model, ...picture, "--position", "1"], 2, /--position is 1, expected 0 to 0/);
    fails(["predict", "--model", model, ...picture, "--contributions", "3"], 2, /--contributions is 3, expected 0 to 2/);
    fails(["predict", "--model", model, ...picture, "--contributions", "cow"], 2, /--contributions is "cow", expected the name of a label, or a number from 0 to 2/);
    fails(["predict", "--model", model, "--tokens", "1"], 2, /--image is missing/);
  });

  test("hostile names of labels are shown as text, or refused", () => {
    const folder = inFolder("hostile");
    mkdirSync(folder);
    copyFileSync(`${model}/model.safetensors`, `${folder}/model.safetensors`);
    const config = JSON.parse(readFileSync(`${model}/config.json`, "utf8")) as object;
    const withLabels = (id2label: unknown): void => {
      writeFileSync(`${folder}/config.json`, JSON.stringify({ ...config, id2label }));
    };
    const picture = ["--image", inFolder("picture.png")], hostile = "<img src=x>\u001b[31m\n";
    withLabels({ 0: hostile, 1: "a, b c", 2: "" });
    expect(json(folder, ...picture).predictions.map(({ name }) => name).sort()).toEqual(["", hostile, "a, b c"].sort());
    const table = predict(folder, ...picture);
    expect(table).not.toContain("\u001b");
    expect(table).toContain("a, b c");
    withLabels({ 0: "a", 1: 7, 2: "c" });
    fails(["predict", "--model", folder, ...picture], 2, /config\.json: id2label\["1"\] is 7, expected a string/);
    withLabels({ 0: "a", 1: "b", 5: "c" });
    fails(["predict", "--model", folder, ...picture], 2, /id2label\["2"\] is missing/);
  });
});

describe("predict refuses", () => {
  test.each([
    [["--position", "6"], /--position is 6, expected 0 to 5/],
    [["--position=-1"], /--position is -1, expected 0 to 5/],
    [["--top", "0"], /--top/],
    [["--head", "4.0"], /--head is "4\.0", expected a layer from 0 to 3 and a head from 0 to 7, as 0\.1/],
    [["--head", "3"], /--head is "3", expected a layer/],
    [["--contributions", "2048"], /--contributions is 2048, expected 0 to 2047/],
    [["--contributions", "99999999999"], /--contributions is "99999999999", expected the text of a token/],
    [["--contributions", "mat sat"], /--contributions is "mat sat", expected the text of a token, with its space if it begins with one, or a number from 0 to 2047/],
    [["--contributions", " mat", ""], /--contributions is "", expected the text of a token/],
    [["--contributions", "\u001b[31m"], /--contributions is "\?\[31m", expected the text of a token/],
    [["--compare"], /--compare needs a change of the run, such as --ablate/],
    [["--tokens", "1"], /--tokens|--text/],
  ])("%j", (args, message) => { fails(["predict", "--model", kTiny, "--text", kText, ...args], 2, message); });

  test("what a model cannot give", () => {
    const bert = ["predict", "--model", folderOf("bert"), "--tokens", "5,6,7"];
    const activation = /: unsupported error: the logits of this bert model are no sum over its parts: /;
    succeeds([...bert, "--lens"]);
    fails([...bert, "--contributions"], 2, activation);
    fails([...bert, "--head", "0.1"], 2, activation);
    fails(["predict", "--model", folderOf("bert_bare"), "--tokens", "5"], 2, /bert_bare: unsupported error: this bert model has no logits/);
  });

  test("texts of tokens without a tokenizer", () => {
    mkdirSync(inFolder("bare"));
    for (const file of ["config.json", "model.safetensors"]) copyFileSync(`${kTiny}/${file}`, inFolder(`bare/${file}`));
    const bare = ["predict", "--model", inFolder("bare"), "--tokens", "0,294"];
    expect(succeeds([...bare, "--contributions", "7", "--top", "1"])).toContain("“7”: logit ");
    fails([...bare, "--contributions", " cat"], 2, /--contributions is " cat", expected a number from 0 to 2047/);
  });
});
