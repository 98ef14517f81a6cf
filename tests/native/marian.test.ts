// SPDX-License-Identifier: Apache-2.0
/** The program reads the source and the target of a Marian with the two tokenizers that native/convert.py makes. */
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { expectClose, kEpsilon, maxNorm } from "../compare.js";
import { kMarian, kMarianIds, kMarianTokenizer } from "../marian.js";
import { readSafetensors, tensorOf } from "../safetensors.js";
import { fails, succeeds, temporaryFolder } from "./support.js";

const inFolder = temporaryFolder();
const kNew = `${kMarian}/new`;
const [kSource = "", kTarget = ""] = kMarianIds.texts;
const kPair = ["--source", kSource, "--target", kTarget];

function folderOf(name: string, json: object): string {
  mkdirSync(inFolder(name), { recursive: true });
  writeFileSync(inFolder(`${name}/tokenizer.json`), JSON.stringify(json));
  return inFolder(name);
}

function idsOf(model: string): number[][] {
  const input = kMarianIds.texts.map((text) => JSON.stringify(text)).join("\n");
  const lines = succeeds(["tokens", "--model", model, "--json-lines"], { input }).trimEnd().split("\n");
  return lines.map((line) => (JSON.parse(line) as { tokens: number[] }).tokens);
}

describe("ids are those of MarianTokenizer", () => {
  test("of a source", () => { expect(idsOf(kNew)).toEqual(kMarianIds.source); });
  test("of a target", () => {
    expect(idsOf(folderOf("target", kMarianTokenizer.target_tokenizer))).toEqual(kMarianIds.target);
  });
});

test("the model reads each text with its own tokenizer, and has the library's logits", () => {
  const out = inFolder("run.safetensors");
  succeeds(["map", "--model", kNew, ...kPair, "--what", "logits", "--out", out]);
  const expected = tensorOf(readSafetensors(`${kMarian}/expected.safetensors`), "logits");
  const [, width = 0] = expected.shape;
  const { data, shape } = tensorOf(readSafetensors(out), "logits");
  expect(shape.slice(-2)).toEqual([kMarianIds.target[1]?.length, width]); // with the start token, and without "</s>"
  const last = { data: Float32Array.from(data.slice(-width)), shape: expected.shape };
  expectClose("logits", last, expected, 64 * kEpsilon * maxNorm(expected.data));
});

test("what comes next is named as the target's tokenizer names it", () => {
  const answer = succeeds(["predict", "--model", kNew, ...kPair, "--top", "150", "--json"]);
  const { predictions } = JSON.parse(answer) as { predictions: { token: number; piece: string }[] };
  const pieces = new Map(predictions.map(({ token, piece }) => [token, piece]));
  for (const [piece, id] of Object.entries(kMarianIds.ids)) expect(pieces.get(id)).toBe(piece.replace("▁", " "));
});

describe("a target_tokenizer", () => {
  const { target_tokenizer: target } = kMarianTokenizer;
  test.each<readonly [string, unknown, RegExp]>([
    ["no object", [], /tokenizer\.json.*target_tokenizer is \[\], expected an object/],
    ["empty", {}, /target_tokenizer\.model/],
    ["with an unknown model", { ...target, model: { type: "Trigram" } },
      /target_tokenizer\.model\.type is "Trigram", supported is BPE, /],
    ["with a score that is none", { ...target, model: { type: "Unigram", vocab: [["a", "b"]] } },
      /target_tokenizer\.model\.vocab\[0\]\[1\] is "b", expected a number/],
    ["with one more inside", { ...target, target_tokenizer: target },
      /target_tokenizer\.target_tokenizer is .*, expected none inside of another/],
  ])("%s is refused", (_, json, message) => {
    fails(["tokens", "--model", folderOf("wrong", { ...kMarianTokenizer, target_tokenizer: json }), "--text", "a"], 2, message);
  });

  test("stays unread by models that read one text", () => {
    const tiny = new URL("../../web/models/tiny/", import.meta.url).pathname, model = inFolder("tiny");
    cpSync(tiny, model, { recursive: true });
    const json = JSON.parse(readFileSync(`${tiny}tokenizer.json`, "utf8")) as object;
    folderOf("tiny", { ...json, target_tokenizer: target });
    const predict = (folder: string): object =>
      JSON.parse(succeeds(["predict", "--model", folder, "--text", "The cat sat", "--json"])) as object;
    expect(predict(model)).toEqual(predict(tiny));
  });
});
