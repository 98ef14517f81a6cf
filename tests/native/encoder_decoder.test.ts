// SPDX-License-Identifier: Apache-2.0
/** The program on encoder–decoders: the library's maps of all three attentions, what explains them, and what is refused. */
import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { kGolden } from "../compare.js";
import { readSafetensors, tensorOf } from "../safetensors.js";
import { fails, succeeds, temporaryFolder } from "./support.js";

const inFolder = temporaryFolder();
const kT5 = `${kGolden}/encoder_decoders/t5`;
const kGpt2 = `${kGolden}/models/gpt2`;
const golden = readSafetensors(`${kT5}/expected.safetensors`);
const kSource = [...tensorOf(golden, "source_ids").data].join();
const kTarget = [...tensorOf(golden, "target_ids").data].join();
const kPair = ["--source-tokens", kSource, "--tokens", kTarget];

describe("map", () => {
  test.each(["encoder", "decoder", "cross"])("--attention %s has the library's weights", (attention) => {
    const out = inFolder(`${attention}.safetensors`);
    succeeds(["map", "--model", kT5, ...kPair, "--attention", attention, "--out", out]);
    const written = readSafetensors(out), { data, shape: [layers = 0, ...one] } = tensorOf(golden, `${attention}.weights`);
    expect(written.tensors.size).toBe(layers);
    const size = one.reduce((a, b) => a * b, 1);
    for (let layer = 0; layer < layers; ++layer) {
      const map = tensorOf(written, `attentions.${layer}`);
      expect(map.shape.slice(-3)).toEqual(one);
      const errors = Array.from(map.data, (weight, i) => Math.abs(Number(weight) - Number(data[layer * size + i])));
      const worst = Math.max(...errors);
      expect(worst).toBeLessThan(1e-5);
    }
  });

  test("texts become a source with special tokens, and a target behind the start token", () => {
    const model = inFolder("words");
    cpSync(kT5, model, { recursive: true });
    writeFileSync(`${model}/tokenizer.json`, JSON.stringify({
      version: "1.0", added_tokens: [], normalizer: null, decoder: null, pre_tokenizer: { type: "Whitespace" },
      post_processor: {
        type: "TemplateProcessing", single: [{ Sequence: { id: "A", type_id: 0 } }, { SpecialToken: { id: "</s>", type_id: 0 } }],
        pair: [], special_tokens: { "</s>": { id: "</s>", ids: [1], tokens: ["</s>"] } },
      },
      model: { type: "WordLevel", vocab: { "<unk>": 0, "</s>": 1, the: 2, cat: 3, le: 4, chat: 5 }, unk_token: "<unk>" },
    }));
    const out = inFolder("cross.csv");
    const head = ["--attention", "cross", "--layer", "1", "--head", "2"];
    succeeds(["map", "--model", model, "--source", "the cat", "--target", "le chat", ...head, "--out", out]);
    const rows = readFileSync(out, "utf8").trim().split("\n").slice(1);
    expect(rows).toHaveLength(3 * 3);
    for (const word of ["cat", "</s>", "chat"]) expect(rows.some((row) => row.includes(word)), word).toBe(true);
  });
});

test("heads ranks the heads of one attention", () => {
  const of = (attention: string): { layer: number; head: number }[] =>
    (JSON.parse(succeeds([
      "heads", "--model", kT5, ...kPair, "--attention", attention, "--metric", "sharpness", "--format", "json",
    ])) as { heads: { layer: number; head: number }[] }).heads;
  for (const attention of ["encoder", "decoder", "cross"]) {
    const [layers = 0, heads = 0] = tensorOf(golden, `${attention}.weights`).shape;
    expect(of(attention)).toHaveLength(layers * heads);
  }
});

interface Part {
  kind: string;
  layer?: number;
  head?: number;
}
interface Explained {
  attention: string;
  source_tokens: number[];
  score: number;
  weights: number;
  query_parts: Part[];
  key_parts: Part[];
  parts: Part[];
  terms: number[][];
  written: number[];
}

const sumOf = (numbers: readonly number[]): number => numbers.reduce((sum, number) => sum + number, 0);

describe("explain", () => {
  test.each(["encoder", "decoder", "cross"])("--attention %s has terms that sum to the library's scores", (attention) => {
    const place = ["--attention", attention, "--layer", "1", "--head", "2", "--query", "7"];
    const explain = (...args: string[]): string => succeeds(["explain", "--model", kT5, ...kPair, ...place, ...args]);
    const cell = JSON.parse(explain("--key", "5", "--json")) as Explained;
    expect([cell.attention, cell.source_tokens.join()]).toEqual([attention, kSource]);
    const { data, shape: [, heads = 0, rows = 0, columns = 0] } = tensorOf(golden, `${attention}.weights`);
    const weight = Number(data[((heads + 2) * rows + 7) * columns + 5]);
    expect(Math.abs(cell.weights - weight)).toBeLessThan(1e-5);
    const size = sumOf(cell.terms.flat().map(Math.abs));
    expect(Math.abs(sumOf(cell.terms.flat()) - cell.score)).toBeLessThan(1e-5 * size);
    expect(cell.query_parts.some(({ kind }) => kind === "cross")).toBe(attention !== "encoder");
    const output = JSON.parse(explain("--what", "output", "--json")) as Explained;
    expect(output.parts).toEqual(cell.key_parts);
    expect(output.terms[0]).toHaveLength(columns);
    expect(Math.abs(sumOf(output.terms.flat()) - Math.hypot(...output.written))).toBeLessThan(1e-4 * size);
    const title = attention === "decoder" ? "layer 1, head 2" : `${attention}, layer 1, head 2`;
    expect(explain("--key", "5").startsWith(`${title}: query 7 `)).toBe(true);
    expect(explain().split("\n")[0]).toContain(`${title}: scores of query 7 `);
  });

  test("logits have parts that look at the source", () => {
    const at = ["predict", "--model", kT5, ...kPair];
    const { contributions } = JSON.parse(succeeds([...at, "--contributions", "5", "--json"])) as {
      contributions: { parts: Part[]; terms: number[][] };
    };
    const part = contributions.parts.findIndex(({ kind, layer, head }) => kind === "cross" && layer === 1 && head === 2);
    const head = JSON.parse(succeeds([...at, "--head", "1.2", "--attention", "cross", "--top", "100", "--json"])) as {
      head: { attention: string; likelier: { token: number; logit: number }[] };
    };
    const said = head.head.likelier.find(({ token }) => token === 5)?.logit ?? NaN;
    expect(Math.abs(said - (contributions.terms[part]?.[0] ?? NaN))).toBeLessThan(1e-4);
    expect(head.head.attention).toBe("cross");
    expect(succeeds([...at, "--head", "1.2", "--attention", "cross"])).toContain("cross 1.2 adds to the logits");
  });

  test.each([
    ["an attention that another model lacks", ["explain", "--model", kGpt2, "--tokens", "1,2", "--attention", "cross", "--query", "0"],
      /--attention is cross, expected an encoder–decoder/],
    ["a layer beyond the decoder's", ["explain", "--model", kT5, ...kPair, "--attention", "cross", "--layer", "2", "--query", "0"],
      /--layer is 2, expected 0 to 1/],
    ["a query beyond the target", ["explain", "--model", kT5, ...kPair, "--attention", "cross", "--query", "8"], /--query is 8, expected 0 to 7/],
    ["a key beyond the source", ["explain", "--model", kT5, ...kPair, "--attention", "cross", "--query", "7", "--key", "11"],
      /--key is 11, expected 0 to 10/],
    ["logits of the encoder", ["predict", "--model", kT5, ...kPair, "--attention", "encoder", "--head", "0.0"], /heads of the encoder add nothing/],
    ["an attention of no head", ["predict", "--model", kT5, ...kPair, "--attention", "cross"], /--attention requires --head/],
  ])("refuses %s", (_, args, message) => {
    const place = args[0] === "explain" ? [...(args.includes("--layer") ? [] : ["--layer", "0"]), "--head", "0"] : [];
    fails([...args, ...place], 2, message);
  });
});

describe("refuses", () => {
  test.each([
    ["a source without a target", ["--model", kT5, "--source-tokens", kSource], /--target or --tokens is missing/],
    ["a target without a source", ["--model", kT5, "--tokens", kTarget], /--source or --source-tokens is missing/],
    ["a pair for another model", ["--model", kGpt2, "--tokens", "1", "--source-tokens", "1"], /only an encoder–decoder/],
    ["one text", ["--model", kT5, ...kPair, "--text", "a"], /--text|--tokens/],
    ["one text beside a pair", ["--model", kT5, "--source-tokens", "1", "--target", "a", "--text", "b"], /--text .*--source/],
    ["an attention that another model lacks", ["--model", kGpt2, "--tokens", "1", "--attention", "cross"],
      /--attention is cross, expected an encoder–decoder/],
    ["an attention that nobody has", ["--model", kT5, ...kPair, "--attention", "memory"], /--attention/],
    ["other tensors of the encoder", ["--model", kT5, ...kPair, "--attention", "encoder", "--what", "values"], /--what is values/],
  ])("%s", (_, args, message) => {
    fails(["map", ...args, "--out", inFolder("maps.safetensors")], 2, message);
  });
});
