// SPDX-License-Identifier: Apache-2.0
/** native/convert.py: what it makes of a folder with pickles and a slow tokenizer, and what it refuses; and the program on both. */
import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { expectClose, kEpsilon, kGolden, kRoot, maxNorm } from "../compare.js";
import { readSafetensors, tensorOf } from "../safetensors.js";
import { type Ended, fails, succeeds, temporaryFolder } from "./support.js";

const inFolder = temporaryFolder();
const kConverted = `${kGolden}/converted`;
const kOldMarian = `${kGolden}/marian/old`;

function python(...args: readonly string[]): Ended {
  const { status, stdout, stderr, error } = spawnSync("/usr/bin/python3", args, { encoding: "utf8" });
  if (error) throw error;
  return { status, stdout, stderr };
}

const convert = (...args: readonly string[]): Ended => python("-B", `${kRoot}native/convert.py`, ...args);

/** The script ends with one line, and leaves nothing of a new folder. */
function refuses(message: RegExp, folder: string, made = inFolder("made")): void {
  const before = readdirSync(inFolder("."));
  expect(convert(folder, made)).toEqual({ status: 1, stdout: "", stderr: expect.stringMatching(message) as string });
  expect(readdirSync(inFolder("."))).toEqual(before);
}

function folderWith(name: string, files: Readonly<Record<string, string>>): string {
  mkdirSync(inFolder(name));
  for (const [file, text] of Object.entries(files)) writeFileSync(inFolder(`${name}/${file}`), text);
  return inFolder(name);
}

function expectSameFiles(made: string, expected: string, names: readonly string[]): void {
  expect(readdirSync(made).sort()).toEqual([...names].sort());
  for (const name of names) expect(readFileSync(`${made}/${name}`).equals(readFileSync(`${expected}/${name}`)), name).toBe(true);
}

describe("convert.py", () => {
  test("says how it is used", () => {
    expect(convert("--help")).toMatchObject({ status: 0, stderr: "" });
    for (const args of [[], ["a"], ["a", "b", "c"], ["--force", "a", "b"]])
      expect(convert(...args)).toMatchObject({ status: 2, stdout: "", stderr: expect.stringMatching(/^usage: convert\.py/) as string });
  });

  test.each([
    ["gpt2", ["config.json", "model.safetensors", "tokenizer.json"]],
    ["vit", ["config.json", "model.safetensors", "preprocessor_config.json"]],
    ["qwen2_shards", [
      "config.json", ...[1, 2, 3].map((i) => `model-0000${i}-of-00003.safetensors`), "model.safetensors.index.json", "tokenizer.json",
    ]],
  ])("copies what is right already: %s", (name, files) => {
    const from = folderWith(`of-${name}`, {}), to = inFolder(`copy-${name}`);
    for (const file of files) copyFileSync(`${kGolden}/models/${name}/${file}`, `${from}/${file}`);
    expect(convert(from, to)).toEqual({ status: 0, stdout: `${to}: ${[...files].sort().join(", ")}\n`, stderr: "" });
    expectSameFiles(to, from, files);
  });

  test("refuses what is no folder of a model, and writes over nothing", () => {
    const empty = folderWith("empty", { "config.json": "{}", "training_args.bin": "" });
    refuses(/nowhere has no config\.json, expected the folder of a model/, inFolder("nowhere"));
    refuses(/empty has no weights, expected model\.safetensors or one of pytorch_model\.bin, /, empty);
    refuses(/empty is there already, expected the name of a new folder/, `${kConverted}/old`, empty);
    refuses(/new is in no folder, expected a place that is there/, `${kConverted}/old`, inFolder("nowhere/new"));
  });

  const has = (library: string): boolean => python("-c", `import ${library}`).status === 0;

  test("makes safetensors of pickles and tokenizer.json of a list of words, where their libraries are", () => {
    if (!has("torch")) {
      refuses(/pytorch_model-00001-of-00002\.bin needs the Python library torch: No module named 'torch'/, `${kConverted}/old`);
    } else if (!has("transformers")) {
      refuses(/vocab\.txt needs the Python library transformers: No module named 'transformers'/, `${kConverted}/old`);
    } else {
      expect(convert(`${kConverted}/old`, inFolder("made"))).toMatchObject({ status: 0, stderr: "" });
      expectSameFiles(inFolder("made"), `${kConverted}/new`, readdirSync(`${kConverted}/new`));
    }
  });

  test("makes tokenizer.json of the two models of SentencePiece of a Marian, where their libraries are", () => {
    if (!has("google.protobuf")) {
      refuses(/source\.spm needs the Python library google\.protobuf: No module named /, kOldMarian);
    } else if (!has("sentencepiece")) {
      refuses(/source\.spm needs the Python library sentencepiece: No module named 'sentencepiece'/, kOldMarian);
    } else {
      expect(convert(kOldMarian, inFolder("marian"))).toMatchObject({ status: 0, stderr: "" });
      expectSameFiles(inFolder("marian"), `${kGolden}/marian/new`, readdirSync(`${kGolden}/marian/new`));
    }
  });

  test.each([
    ["no JSON", "{", /vocab\.json is no JSON of pieces and their ids: /],
    ["a list", "[1]", /vocab\.json is no JSON of pieces and their ids: /],
    ["ids that are no numbers", '{"</s>": 0, "<unk>": "1"}', /vocab\.json is no JSON of pieces and their ids: /],
    ["nested without end", "[".repeat(100_000), /vocab\.json is no JSON of pieces and their ids: /],
    ["an id too many", '{"</s>": 0, "<unk>": 2}', /vocab\.json has 2 pieces, expected the ids from 0 to 1, each once/],
    ["no piece for what is unknown", '{"</s>": 0, "a": 1}', /vocab\.json lacks the piece <unk>/],
  ])("refuses a vocab.json of a Marian: %s", (name, json, message) => {
    const folder = folderWith(`marian, ${name}`, { "vocab.json": json });
    for (const file of ["config.json", "model.safetensors", "source.spm", "target.spm"])
      copyFileSync(`${kOldMarian}/${file}`, `${folder}/${file}`);
    refuses(message, folder);
  });
});

describe("the program", () => {
  test("gives for a converted folder what transformers gives for the old one", () => {
    const expected = readSafetensors(`${kConverted}/expected.safetensors`);
    const { text = "" } = expected.metadata;
    const { tokens } = JSON.parse(succeeds(["tokens", "--model", `${kConverted}/new`, "--text", text])) as { tokens: number[] };
    expect(tokens).toEqual([...tensorOf(expected, "ids").data]);
    succeeds(["map", "--model", `${kConverted}/new`, "--text", text, "--what", "logits", "--out", inFolder("run.safetensors")]);
    const logits = tensorOf(expected, "logits");
    expectClose("logits", tensorOf(readSafetensors(inFolder("run.safetensors")), "logits"), logits, 64 * kEpsilon * maxNorm(logits.data));
  });

  test("says of an old folder what each file is, and what to do", () => {
    const map = (model: string, ...more: string[]): string[] => ["map", "--model", model, "--out", inFolder("maps.png"), ...more];
    const old = `${kConverted}/old`;
    fails(map(old, "--tokens", "1"), 2, /old: unsupported error: "pytorch_model-00001-of-00002\.bin" is a pickle, which can/);
    fails(map(old, "--tokens", "1"), 2, /expected model\.safetensors, which native\/convert\.py of headlens makes of such a folder/);
    fails(["tokens", "--model", old, "--text", "a"], 2, /old: unsupported error: "vocab\.txt" is a part of a tokenizer/);
    fails(["tokens", "--model", old, "--text", "a"], 2, /expected tokenizer\.json, which native\/convert\.py of headlens makes/);
    const adapter = folderWith("adapter", { "adapter_config.json": "{}", "adapter_model.safetensors": "" });
    fails(map(adapter, "--tokens", "1"), 2, /adapter: unsupported error: "adapter_config\.json" is that of an adapter, .*merge_and_unload of PEFT/);
    const file = folderWith("llama", { "q4.gguf": "GGUF" });
    for (const model of [file, `${file}/q4.gguf`])
      fails(map(model, "--tokens", "1"), 2, /"q4\.gguf" is a file for llama\.cpp, expected config\.json: look for the folder that this was made from/);
    expect(existsSync(inFolder("maps.png"))).toBe(false);
  });
});
