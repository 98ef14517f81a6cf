// SPDX-License-Identifier: Apache-2.0
/** The package reads the source and the target of a Marian with the two tokenizers that native/convert.py makes. */
import { File } from "node:buffer";
import { readFileSync } from "node:fs";
import { type AsyncEngine, type Engine, load, type ModelSource } from "headlens";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { kMarian, kMarianIds, kMarianTokenizer } from "../marian.js";
import { expectClose, expectError, kEpsilon, maxNorm, readSafetensors, tensorOf } from "./support.js";

const { texts, source, target, ids } = kMarianIds;
const [kSource = "", kTarget = ""] = texts;

function filesOf(tokenizer: object = kMarianTokenizer, folder = `${kMarian}/new`): ModelSource {
  const read = ["config.json", "model.safetensors"].map((file) => new File([readFileSync(`${folder}/${file}`)], file));
  const file = new File([JSON.stringify(tokenizer)], "tokenizer.json");
  return [...read, file] as never; // Node's File lacks what only browsers give
}

describe.each([false, true])("with worker: %s", (worker) => {
  let engine: Engine | AsyncEngine;
  beforeAll(async () => { engine = await (worker ? load({ worker: true }) : load()); });
  afterAll(() => engine.dispose());

  test("ids are those of MarianTokenizer", async () => {
    const model = await engine.loadModel(filesOf());
    const start = model.info.encoder?.startToken;
    for (const [i, text] of texts.entries()) {
      const seen = await model.attend({ source: text, target: text });
      expect(seen.sourceIds, text).toEqual(source[i]);
      expect(seen.ids, text).toEqual([start, ...(target[i] ?? []).slice(0, -1)]);
      seen.dispose();
    }
    model.dispose();
  });

  test("each text shows the pieces of its own tokenizer, and what comes next those of the target", async () => {
    const model = await engine.loadModel(filesOf());
    const seen = await model.attend({ source: ">>rus<< The cat", target: "Кошка сад" }, { keepHidden: true });
    expect(seen.sourceTokens).toEqual([">>rus<<", "The", " c", "at", "</s>"]);
    expect(seen.tokens.slice(1, 4)).toEqual(["Ко", "ш", "ка"]);
    const next = await seen.predictions({ top: model.info.vocabSize });
    const named = new Map(next.map(({ id, token }) => [id, token]));
    for (const [piece, id] of Object.entries(ids)) expect(named.get(id)).toBe(piece.replace("▁", " "));
    model.dispose();
  });

  test("the model has the library's logits, of the whole and step by step", async () => {
    const model = await engine.loadModel(filesOf());
    const expected = tensorOf(readSafetensors(`${kMarian}/expected.safetensors`), "logits");
    const [, width = 0] = expected.shape;
    const tolerance = 64 * kEpsilon * maxNorm(expected.data as Float32Array);
    const wanted = { data: Float32Array.from(expected.data), shape: expected.shape };
    const { data } = await (await model.attend({ source: kSource, target: kTarget })).logits();
    expectClose("logits", { data: data.slice(-width), shape: [1, width] }, wanted, tolerance);
    const decoding = await model.startDecoding({ source: kSource });
    const step = await decoding.step(kTarget);
    expect(step.ids).toEqual([model.info.encoder?.startToken, ...(target[1] ?? []).slice(0, -1)]);
    expectClose("logits of a step", { data: step.logits.data, shape: [1, width] }, wanted, tolerance);
    model.dispose();
  });

  test("what is wrong in it is refused by name, and models that read one text leave it unread", async () => {
    const { target_tokenizer: inner } = kMarianTokenizer;
    const refused = (wrong: unknown, code: "format" | "unsupported", message: RegExp): Promise<void> =>
      expectError(() => engine.loadModel(filesOf({ ...kMarianTokenizer, target_tokenizer: wrong })), code, message);
    await refused([], "format", /tokenizer\.json: target_tokenizer is \[\], expected an object/);
    await refused({}, "format", /tokenizer\.json: target_tokenizer\.model is missing, expected an object/);
    await refused({ ...inner, model: { type: "Trigram" } }, "unsupported",
      /target_tokenizer\.model\.type is "Trigram", expected one of BPE, /);
    await refused({ ...inner, model: { type: "Unigram", vocab: [["a", "b"]] } }, "format",
      /target_tokenizer\.model\.vocab\[0\]\[1\] is "b", expected a number/);
    await refused({ ...inner, target_tokenizer: inner }, "format",
      /target_tokenizer\.target_tokenizer is .*, expected none inside of another/);
    const folder = new URL("../../web/models/tiny/", import.meta.url).pathname;
    const json = JSON.parse(readFileSync(`${folder}tokenizer.json`, "utf8")) as object;
    const one = await engine.loadModel(filesOf({ ...json, target_tokenizer: inner }, folder));
    const tiny = await engine.loadModel("tiny");
    expect((await one.attend("The cat sat.")).ids).toEqual((await tiny.attend("The cat sat.")).ids);
    one.dispose();
    tiny.dispose();
  });
});
