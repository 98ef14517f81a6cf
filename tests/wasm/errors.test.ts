// SPDX-License-Identifier: Apache-2.0
/** Errors as the caller sees them: their data, the names and places of the call's own tensors, and where their traces lead. */
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { SourceMap } from "node:module";
import { pathToFileURL } from "node:url";
import { HeadlensError, load, readSafetensors } from "headlens";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { kRoot } from "../compare.js";
import { withHeader } from "../safetensors.js";
import type { AnyEngine } from "./cases.js";
import { layerState, random, zeros } from "./support.js";

async function thrownBy(call: () => unknown): Promise<HeadlensError> {
  try {
    await call();
  } catch (error) {
    expect(error).toBeInstanceOf(HeadlensError);
    return error as HeadlensError;
  }
  throw new Error("nothing was thrown");
}

const maskOf = (...shape: number[]): { data: Float32Array; shape: number[] } =>
  ({ data: new Float32Array(shape.reduce((product, size) => product * size, 1)), shape });

describe.each([false, true])("worker: %s", (worker) => {
  let engine: AnyEngine;
  beforeAll(async () => {
    engine = await load({ simd: "baseline", worker });
  });
  afterAll(() => engine.dispose());

  const q = random(1, 2, 2, 3, 4);

  test("numbers in messages have six digits, as C++ prints them", async () => {
    const q = zeros(1, 2, 4);
    const shown = async (dropoutP: number): Promise<string | undefined> =>
      (await thrownBy(() => engine.scaledDotProductAttention(q, q, q, { dropoutP }))).got;
    const numbers = [1.5, 100, -0.001, -1.23456789e-7, -2e-5, 123456.7, 999999.9, 1234567, 1e21, -1e-100];
    const texts = ["1.5", "100", "-0.001", "-1.23457e-07", "-2e-05", "123457", "1e+06", "1.23457e+06", "1e+21", "-1e-100"];
    for (const [index, number] of numbers.entries()) expect(await shown(number)).toBe(texts[index]);
  });

  test("what is wrong is data, of the module and of the package alike", async () => {
    expect(await thrownBy(() => engine.scaledDotProductAttention(q, q, q, { attnMask: maskOf(2, 3) }))).toMatchObject({
      code: "shape", argument: "attnMask", got: "(2, 3)", expected: expect.stringMatching(/^\(3, 3\), /) as string,
    });
    expect(await thrownBy(() => engine.scaledDotProductAttention(q, q, q, { seed: -1 }))).toMatchObject({
      code: "option", argument: "seed", got: "-1", expected: "a whole number, at least 0",
    });
    expect(await thrownBy(() => engine.scaledDotProductAttention(q, q, q, { seed: NaN }))).toMatchObject({
      code: "option", argument: "seed", got: "NaN", expected: "a whole number, at least 0",
    });
    expect(await thrownBy(() => engine.colorbar(0))).toMatchObject({
      code: "value", argument: "steps", got: "0", expected: "a whole number from 1 to 65536",
      message: "steps is 0, expected a whole number from 1 to 65536",
    });
    const misnamed = { is_causal: true } as never;
    expect(await thrownBy(() => engine.scaledDotProductAttention(q, q, q, misnamed))).toMatchObject({
      code: "option", argument: "is_causal", got: undefined, expected: "isCausal",
    });
  });

  test("a call's tensors have the call's names and shapes", async () => {
    const three = random(1, 2, 3, 4), wide = random(2, 2, 3, 5);
    expect((await thrownBy(() => engine.scaledDotProductAttention(three, wide, wide))).message)
      .toBe("k has shape (2, 3, 5), expected (2, 3, 4), as q has but for the length");
    const mha = await engine.multiheadAttention({ embedDim: 8, numHeads: 2 });
    await mha.loadStateDict(layerState(1, 8));
    expect((await thrownBy(() => mha.forward(random(1, 3, 2, 7)))).message)
      .toBe("query has shape (3, 2, 7), expected (3, 2, 8): the width is embedDim");
    expect((await thrownBy(() => mha.forward(random(1, 3, 8), random(2, 3, 7)))).message)
      .toBe("key has shape (3, 7), expected (3, 8): the batch of query, the width kdim");
  });

  test("a NaN has its place in the caller's own mask, also when the call comes again", async () => {
    const attnMask = maskOf(3, 3);
    const call = (): unknown => engine.scaledDotProductAttention(q, q, q, { attnMask });
    for (let i = 0; i < 3; ++i) await call();
    attnMask.data[5] = NaN;
    for (let i = 0; i < 2; ++i) {
      expect(await thrownBy(call)).toMatchObject({
        code: "value", argument: "attnMask", got: "NaN at (1, 2)", message: "attnMask holds NaN at (1, 2), expected finite numbers or -inf",
      });
    }
    attnMask.data[5] = 0;
    await call();
  });

  test("what is wrong with a model's files is data, and what comes from them is short", async () => {
    const json = (value: unknown): string => typeof value === "string" ? value : JSON.stringify(value);
    const tooShort: Uint8Array = Uint8Array.of(1);
    const loading = (config: unknown, tokenizer: unknown, weights = tooShort) => (): unknown => engine.loadModel([
      new File([json(config)], "config.json"), new File([json(tokenizer)], "tokenizer.json"),
      new File([weights as BlobPart], "model.safetensors"),
    ]);
    const words = { model: { type: "WordLevel", vocab: { "[UNK]": 0 }, unk_token: "[UNK]" } };
    const llama = {
      model_type: "llama", hidden_size: 8, intermediate_size: 8, num_hidden_layers: 1, num_attention_heads: 1,
      vocab_size: 1,
    };
    const long = "x".repeat(1e5);
    const shown = (most: number): string => `"${"x".repeat(most)}…"`;
    expect(await thrownBy(loading("[", words))).toMatchObject({ code: "format", argument: "config.json", got: '"["', expected: "a JSON object" });
    expect(await thrownBy(loading(llama, "]"))).toMatchObject({ code: "format", argument: "tokenizer.json", got: '"]"', expected: "a JSON object" });
    expect(await thrownBy(loading(llama, {}))).toMatchObject({
      code: "format", argument: "tokenizer.json: model", got: undefined, expected: "an object", message: "tokenizer.json: model is missing, expected an object",
    });
    expect(await thrownBy(loading(llama, { model: { type: long } }))).toMatchObject({
      code: "unsupported", argument: "tokenizer.json: model.type", got: shown(60), expected: "one of BPE, Unigram, WordLevel, WordPiece",
    });
    expect(await thrownBy(loading(llama, words))).toMatchObject({ code: "format", argument: "safetensors", got: "1 bytes", expected: "at least 8" });
    const file = withHeader(JSON.stringify({ "a\n": { dtype: long, shape: [], data_offsets: [0, 4] } }), new Uint8Array(4));
    expect(await thrownBy(loading(llama, words, file))).toMatchObject({
      code: "format", argument: 'safetensors: tensor "a?".dtype', got: shown(80), expected: "F32, F64, F16, BF16, U8, BOOL, I8, I32 or I64",
    });
    expect(await thrownBy(() => readSafetensors(file))).toMatchObject({
      code: "format", argument: 'safetensors: tensor "a\\n".dtype', got: shown(60), expected: "F32, F64, F16, BF16, U8, BOOL, I8, I32, I64",
    });
    expect(await thrownBy(() => engine.loadModel([new File(["{}"], "config.json")]))).toMatchObject({
      code: "value", argument: "source", got: '["config.json"]', expected: "model.safetensors as well",
    });
  });

  test("what an option needs is data", async () => {
    const model = await engine.loadModel("tiny");
    expect(await thrownBy(() => model.attend("a", { replacedLayer: 0 }))).toMatchObject({
      code: "option", argument: "replacedLayer", got: undefined, expected: "the tensor replacedTokens",
      message: "replacedLayer needs the tensor replacedTokens",
    });
    model.dispose();
  });

  test("a layer that nothing was loaded into says so", async () => {
    const kHeads = { embedDim: 8, numHeads: 2, batchFirst: true };
    const layers = [
      () => engine.multiheadAttention(kHeads), () => engine.transformerEncoderLayer({ ...kHeads, dimFeedforward: 4 }),
    ];
    for (const make of layers) {
      const layer = await make();
      expect(await thrownBy(() => layer.forward(zeros(1, 2, 8)))).toMatchObject({
        code: "shape", message: "nothing was loaded yet: call loadStateDict first",
      });
    }
  });
});

const kDist = pathToFileURL(`${kRoot}dist/`);
type Map = ConstructorParameters<typeof SourceMap>[0];
const mapOf = (script: string): Map => JSON.parse(readFileSync(`${kRoot}dist/${script}.map`, "utf8")) as Map;

describe("traces in Node", () => {
  /** The trace of an error of `code`, from a script of the caller's own. */
  function traceOf(code: string, ...flags: readonly string[]): string {
    const script = `
      import { load } from ${JSON.stringify(`${kRoot}dist/node.js`)};
      async function theCaller(engine) { ${code} }
      async function theirMain() {
        const engine = await load({ worker: ${code.includes("await")} });
        try { await theCaller(engine); } finally { engine.dispose(); }
      }
      await theirMain().catch((error) => process.stdout.write(error.stack));`;
    const { stdout, stderr } = spawnSync(process.execPath, [...flags, "--input-type=module", "--eval", script], { encoding: "utf8" });
    expect(stderr).toBe("");
    return stdout;
  }

  test.each(["engine.colorbar(0);", "engine.scaledDotProductAttention(1, 2, 3);", "await engine.colorbar(0);"])("of %s", (code) => {
    for (const flags of [[], ["--enable-source-maps"]]) {
      const [message, ...frames] = traceOf(code, ...flags).split("\n");
      expect(message).toMatch(/^HeadlensError: (steps|q) is /);
      expect(frames[0]).toMatch(/theCaller/);
      expect(frames.filter((frame) => /dist\/|wasm\/src/.test(frame))).toEqual([]);
    }
  });

  test("each script has a map whose sources are there", () => {
    const scripts = readdirSync(`${kRoot}dist`).filter((name) => name.endsWith(".js") && !/^headlens\.|^standalone/.test(name));
    expect(scripts.length).toBeGreaterThan(5);
    for (const name of scripts) {
      const text = readFileSync(`${kRoot}dist/${name}`, "utf8");
      expect(text.trimEnd().endsWith(`//# sourceMappingURL=${name}.map`), name).toBe(true);
      const { sources, sourceRoot } = mapOf(name);
      // Libraries have maps of their own, which lead to sources that they do not ship.
      const own = sources.filter((source) => !source.startsWith("glue:") && !source.includes("node_modules/"));
      const places = own.map((source) => new URL(`${sourceRoot ?? ""}${source}`, kDist));
      expect(places.filter((place) => !existsSync(place)).map(String), name).toEqual([]);
    }
    const lines = readFileSync(`${kRoot}dist/worker-node.js`, "utf8").split("\n"), words = "nothing was loaded yet";
    const at = lines.findIndex((line) => line.includes(words));
    const entry = new SourceMap(mapOf("worker-node.js")).findEntry(at, lines[at]?.indexOf(words) ?? -1);
    expect(entry).toMatchObject({ originalSource: expect.stringMatching(/wasm\/src\/engine\/layers\.ts$/) as string });
  });
});
