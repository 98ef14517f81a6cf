// SPDX-License-Identifier: Apache-2.0
/** Models: the built-in one against PyTorch's numbers, where models come from, and every way in which reading one can fail. */
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { File } from "node:buffer";
import type { ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import {
  load,
  type AsyncEngine,
  type AsyncModel,
  type Engine,
  type ErrorCode,
  type Model,
  type ModelAttention,
  type Tensor,
} from "headlens";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { expectFamily, familyOf, isCausal, lookAt, shownOf } from "./families.js";
import { expectedOf, filesOf, folderOf, inputOf, kModels } from "./golden-models.js";
import { quantizedOf } from "../quantized.js";
import { writeSafetensors, type GivenTensor } from "../safetensors.js";
import { serve, type Server } from "./server.js";
import {
  expectClose,
  expectError,
  kBuilds,
  kEpsilon,
  kGolden,
  kRoot,
  maxNorm,
  readSafetensors,
  tensorOf,
} from "./support.js";

const kFolder = `${kRoot}web/models/tiny`;
const kNames = ["config.json", "tokenizer.json", "model.safetensors"] as const;
const kText = "The cat sat on the mat because it was tired.";

describe.each(kBuilds)("the built-in model on the %s build", (simd) => {
  let engine: Engine;
  let model: Model;
  beforeAll(async () => {
    engine = await load({ simd });
    model = await engine.loadModel("tiny");
  });
  afterAll(() => engine.dispose());

  test("says what it is", () => {
    const config = JSON.parse(readFileSync(`${kFolder}/config.json`, "utf8")) as Record<string, number>;
    const heads = config.num_attention_heads ?? NaN;
    expect(model.info).toEqual({
      name: "tiny",
      family: "llama",
      causal: true,
      segments: 0,
      windows: [],
      scales: Array.from({ length: config.num_hidden_layers ?? 0 }, () => 0.25), // 1/√16
      logits: config.vocab_size,
      layers: config.num_hidden_layers,
      heads,
      kvHeads: config.num_key_value_heads ?? heads,
      headDim: config.head_dim ?? (config.hidden_size ?? NaN) / heads,
      embedDim: config.hidden_size,
      vocabSize: config.vocab_size,
      maxPositions: config.max_position_embeddings,
    });
  });

  test("PyTorch's tokens, weights of every head and logits", () => {
    const golden = readSafetensors(`${kGolden}/built_in/tiny.safetensors`);
    const attention = model.attend(golden.metadata.text ?? "");
    expect(attention.ids).toEqual(Array.from(tensorOf(golden, "ids").data));
    const weights = tensorOf(golden, "weights");
    const [layers = 0, heads = 0, t = 0] = weights.shape;
    expect([layers, heads]).toEqual([model.info.layers, model.info.heads]);
    // Each layer rounds the residual stream anew; what it rounds is as large as the stream.
    const tolerance = 4 * kEpsilon * maxNorm(tensorOf(golden, "hidden").data);
    for (let layer = 0; layer < layers; ++layer) {
      for (let head = 0; head < heads; ++head) {
        const at = (layer * heads + head) * t * t;
        const expected = { data: weights.data.subarray(at, at + t * t), shape: [t, t] };
        expectClose(`layer ${layer} head ${head}`, attention.map(layer, head), expected, tolerance);
      }
    }
    const logits = tensorOf(golden, "logits");
    expectClose("logits", attention.logits(), logits, tolerance * Math.max(1, maxNorm(logits.data)));
    attention.dispose();
  });
});

/** The folders of tests/golden/models: each with its config and what PyTorch made of it. */
/** Part `index` of `count` equal parts along the first dimensions. */
function part({ data, shape }: { data: ArrayLike<number>; shape: number[] }, index: number, drop: number): Tensor {
  const rest = shape.slice(drop);
  const size = rest.reduce((a, b) => a * b, 1);
  return { data: Float32Array.from(Array.from(data).slice(index * size, (index + 1) * size)), shape: rest };
}

describe.each([false, true])("models of every family, worker: %s", (worker) => {
  let engine: Engine | AsyncEngine;
  let server: Server;
  beforeAll(async () => {
    engine = await load({ worker });
    server = await serve(kRoot);
  });
  afterAll(async () => {
    engine.dispose();
    await server.close();
  });

  /** Every map and the logits. */
  async function expectGolden(model: Model | AsyncModel, name: string): Promise<void> {
    const golden = expectedOf(name);
    const [input, options] = inputOf(golden);
    const logits = golden.tensors.get("logits");
    const attention = await model.attend(input, options);
    const weights = tensorOf(golden, "weights");
    const tolerance = 64 * kEpsilon * maxNorm(tensorOf(golden, "hidden").data);
    for (let layer = 0; layer < model.info.layers; ++layer) {
      for (let head = 0; head < model.info.heads; ++head) {
        const expected = part(weights, layer * model.info.heads + head, 2);
        expectClose(`layer ${layer} head ${head}`, await attention.map(layer, head), expected, tolerance);
      }
    }
    if (logits) expectClose("logits", await attention.logits(), logits, 64 * kEpsilon * maxNorm(logits.data));
    else await expectError(() => attention.logits(), "unsupported", /logits: this model has no logits/);
    attention.dispose();
  }

  test.each(kModels)("%s from a URL: PyTorch's maps and logits", async (name) => {
    const model = await engine.loadModel(`${server.url}tests/golden/models/${name}`);
    expect(model.info).toMatchObject({ name, family: familyOf(name), causal: isCausal(expectedOf(name)) });
    await expectGolden(model, name);
    model.dispose();
  });

  test.each(kModels)("%s from its files and from its folder on disk", async (name) => {
    for (const from of [filesOf(name), pathToFileURL(`${folderOf(name)}/`)]) {
      const model = await engine.loadModel(from as never);
      await expectGolden(model, name);
      model.dispose();
    }
  });

  test.each(kModels)("%s does all that models can do", async (name) => {
    const source = `${server.url}tests/golden/models/${name}`;
    expectFamily(name, await lookAt(engine, shownOf(name, source)));
  });

  test.each(["gpt2_f16_bare", "qwen2_shards", "qwen3"])("%s from files without an index", async (name) => {
    const files = filesOf(name).filter((file) => !file.name.endsWith("index.json"));
    const model = await engine.loadModel(files as never);
    await expectGolden(model, name);
    model.dispose();
  });

  test("shards of any name, by URL over the network and on disk, and among files", async () => {
    const names = ["model 1.safetensors", "50% of ü?#&+:ß.safetensors", "..a%20b.safetensors"];
    const folder = mkdtempSync(join(tmpdir(), "headlens shards #"));
    const source = filesOf("qwen2_shards");
    const renamed = new Map(source.map(({ name }) => name).filter((name) => name.endsWith(".safetensors")).map((name, i) => [name, names[i] ?? ""]));
    expect(renamed.size).toBe(names.length);
    for (const { name } of source) copyFileSync(`${kGolden}/models/qwen2_shards/${name}`, join(folder, renamed.get(name) ?? name));
    const path = join(folder, "model.safetensors.index.json");
    const index = [...renamed].reduce((text, [from, to]) => text.replaceAll(from, to), readFileSync(path, "utf8"));
    writeFileSync(path, index);
    const shards = await serve(folder);
    const files = readdirSync(folder).map((name) => new File([readFileSync(join(folder, name))], name));
    for (const from of [shards.url, pathToFileURL(`${folder}/`), files]) {
      const model = await engine.loadModel(from as never);
      await expectGolden(model, "qwen2_shards");
      model.dispose();
    }
    await shards.close();
    rmSync(folder, { recursive: true });
  });

  test.each(["llama", "bert", "gpt2"])("%s as 8-bit integers is, bit for bit, its floats in fewer bytes", async (name) => {
    const { integers, floats } = quantizedOf(folderOf(name));
    expect(integers.weights.length).toBeLessThan(0.45 * floats.weights.length);
    const [ids] = inputOf(expectedOf(name));
    const runs: Tensor[][] = [];
    for (const { config, weights } of [integers, floats]) {
      const folder = mkdtempSync(join(tmpdir(), "headlens integers "));
      copyFileSync(`${folderOf(name)}/tokenizer.json`, join(folder, "tokenizer.json"));
      writeFileSync(join(folder, "config.json"), config);
      writeFileSync(join(folder, "model.safetensors"), weights);
      const model = await engine.loadModel(pathToFileURL(`${folder}/`));
      const seen = await model.attend(ids);
      runs.push([await seen.map(0, 0), await seen.map(model.info.layers - 1, 1), await seen.logits()]);
      model.dispose();
      rmSync(folder, { recursive: true });
    }
    expect(runs[0]).toEqual(runs[1]);
  });

  test("integers and scales that do not belong together, and other ways of quantising, are refused", async () => {
    const { integers, floats } = quantizedOf(folderOf("llama"));
    const tokenizer = filesOf("llama").filter((file) => file.name === "tokenizer.json");
    type Tensors = Readonly<Record<string, GivenTensor>>;
    const refuses = (config: string, tensors: Tensors, code: ErrorCode, message: RegExp): Promise<void> => {
      const files = [new File([config], "config.json"), new File([writeSafetensors(tensors, {})], "model.safetensors"), ...tokenizer];
      return expectError(() => engine.loadModel(files as never), code, message);
    };
    const name = "model.layers.0.mlp.up_proj.weight", scale = `${name}_scale`;
    const { [scale]: scales, ...bare } = integers.tensors;
    const { data, shape } = scales as GivenTensor, negative = Float32Array.from(data as Float32Array).fill(-1, 2);
    const pair = /^parameter model\.layers\.0\.mlp\.up_proj\.weight has .* beside its _scale, without a _zero_point$/;
    await refuses(integers.config, bare, "dtype", pair);
    await refuses(integers.config, { ...integers.tensors, [name]: floats.tensors[name] as GivenTensor }, "dtype", pair);
    await refuses(floats.config, integers.tensors, "dtype", /^parameter .* has the type I8, expected floats alone, or with a quantization_config/);
    await refuses(integers.config, { ...integers.tensors, [scale]: { data, shape: [1, data.length] } }, "shape", /_scale has shape \(1, /);
    await refuses(integers.config, { ...integers.tensors, [scale]: { data: negative, shape } }, "value",
      /^parameter .*_scale is -1, expected finite numbers above 0$/);
    await refuses(integers.config, { ...integers.tensors, [`${name}_zero_point`]: { data: new Int8Array(data.length), shape } },
      "dtype", pair);
    await refuses(integers.config.replace('"num_bits":8', '"num_bits":4'), integers.tensors, "unsupported", /\.num_bits is 4, supported is 8;/);
    await refuses(integers.config.replace("compressed-tensors", "awq"), integers.tensors, "unsupported",
      /quant_method is "awq", supported is "compressed-tensors"; otherwise look for/);
  });

  test("progress over all shards", async () => {
    const seen: [number, number][] = [];
    const onProgress = (...bytes: [number, number]): number => seen.push(bytes);
    const model = await engine.loadModel(`${server.url}tests/golden/models/qwen2_shards`, { onProgress });
    const size = filesOf("qwen2_shards").reduce((sum, file) => sum + file.size, 0);
    await expect.poll(() => seen.at(-1)).toEqual([size, size]);
    model.dispose();
  });

  test.each<[string, string, RegExp]>([
    ["{", "format", /index.json/],
    ["{}", "format", /weight_map is missing, expected an object/],
    ['{"weight_map": ["model-00001-of-00003.safetensors"]}', "format", /weight_map is \[.*\], expected an object/],
    ['{"weight_map": {"a": "a/b.safetensors"}}', "format", /weight_map names "a\/b/],
    ['{"weight_map": {"a": "a\\\\b.safetensors"}}', "format", /weight_map names "a\\b/],
    ['{"weight_map": {"a": "https://x/b.safetensors"}}', "format", /weight_map names "https:/],
    ['{"weight_map": {"a": "a\\u0007.safetensors"}}', "format", /weight_map names "a/],
    ['{"weight_map": {"a": "\\ud800.safetensors"}}', "format", /index.json is ".*", expected a JSON object/],
    ['{"weight_map": {"a": ".safetensors"}}', "format", /weight_map names/],
    ['{"weight_map": {"a": "model.bin"}}', "format", /weight_map names "model.bin"/],
    ['{"weight_map": {"a": "%2e%2e%2fmodel.safetensors"}}', "model-load", /%2e%2e%2fmodel.safetensors gives HTTP status 404/],
    ['{"weight_map": {"a": "../model.safetensors"}}', "format", /weight_map names "..\/model.safetensors"/],
    ['{"weight_map": {"a": "nowhere.safetensors"}}', "model-load", /nowhere.safetensors gives HTTP status 404/],
    ['{"weight_map": {"a": "model-00001-of-00003.safetensors"}}', "shape", /parameter model\.\S+ is missing/],
  ])("an index that says %s", (text, code, message) => {
    const files = filesOf("qwen2_shards").filter((file) => !file.name.endsWith("index.json"));
    const index = new File([text], "model.safetensors.index.json");
    return expectError(() => engine.loadModel([...files, index] as never), code as "format", message);
  });

  test("a tokenizer is missed where one is needed", () =>
    expectError(() => engine.loadModel(filesOf("gpt2").filter((file) => file.name !== "tokenizer.json") as never), "model-load", /^tokenizer.json/));

  test("files of other formats are refused by name, each with what to do", async () => {
    const folder = `${kGolden}/converted/old`;
    const old = (...names: string[]): File[] => names.map((name) => new File([readFileSync(`${folder}/${name}`)], name));
    const named = (name: string): File => new File(["{}"], name);
    const refuses = (files: readonly File[], ...words: (string | RegExp)[]): Promise<void> =>
      expectError(() => engine.loadModel(files as never), "unsupported", ...words);
    const pickle = /^"pytorch_model-00001-of-00002.bin" is a pickle, .*model.safetensors, which native\/convert.py/;
    const shards = ["pytorch_model-00001-of-00002.bin", "pytorch_model-00002-of-00002.bin"];
    await refuses(old("vocab.txt", ...shards, "config.json"), pickle);
    const untold = filesOf("gpt2").filter((file) => file.name !== "tokenizer.json");
    const words = /^"vocab.txt" is a part of a tokenizer, expected tokenizer.json, which native\/convert.py/;
    await refuses([...untold, ...old("vocab.txt")], words);
    await refuses([...untold, named("spiece.model")], /^"spiece.model" is a SentencePiece model, expected tokenizer.json/);
    await refuses([named("q4.gguf")], /^"q4.gguf" is a file for llama.cpp, expected config.json: look for the folder/);
    const adapter = [named("adapter_config.json"), named("adapter_model.safetensors")];
    for (const files of [adapter, [...filesOf("gpt2").filter((file) => file.name !== "model.safetensors"), ...adapter]])
      await refuses(files, /^"adapter_config.json" is that of an adapter, .*which merge_and_unload of PEFT makes/);
    // A model of pictures asks for no tokenizer.
    const picture = await engine.loadModel([...filesOf("vit"), named("vocab.txt")] as never);
    expect(picture.info.family).toBe("vit");
    picture.dispose();
  });

  test("a folder on a server that lacks what can be converted says how", async () => {
    const folder = `${server.url}tests/golden/converted/old`;
    const told = /tokenizer.json gives HTTP status 404 .*, expected the file, which native\/convert.py of headlens/;
    await expectError(() => engine.loadModel(folder), "model-load", told);
    const untold = /config.json gives HTTP status 404 .*, expected the file$/;
    await expectError(() => engine.loadModel(`${server.url}nowhere`), "model-load", untold);
  });

  test("texts of GPT-2 and BERT, and two texts at once", async () => {
    const gpt2 = await engine.loadModel(filesOf("gpt2") as never);
    const one = await gpt2.attend("the cat at café");
    expect(joined(one.tokens)).toBe("the cat at café");
    await expectError(() => gpt2.attend("a", { textPair: "b" }), "option", /textPair needs/);
    gpt2.dispose();
    const bert = await engine.loadModel(filesOf("bert") as never);
    const pair = await bert.attend("The cats sat.", { textPair: "the cat" });
    expect(pair.tokens).toEqual(["[CLS]", "the", "cat", "##s", "sat", ".", "[SEP]", "the", "cat", "[SEP]"]);
    const same = await bert.attend([...pair.ids], { segments: [0, 0, 0, 0, 0, 0, 0, 1, 1, 1] });
    expect(await pair.map(1, 1)).toEqual(await same.map(1, 1));
    const other = await bert.attend([...pair.ids]);
    expect(await other.map(1, 1)).not.toEqual(await same.map(1, 1));
    const pixels = await pair.pixels(0, 0);
    expect(pixels.data.filter((value, i) => i % 4 === 3 && value !== 255)).toHaveLength(0);
    bert.dispose();
  });

  test.each([
    ["distilbert", ["[CLS]", "the", "cat", "[SEP]", "the", "[SEP]"]],
    ["roberta", ["<s>", "the", " cat", "</s>", "</s>", "the", "</s>"]],
    ["xlm_roberta", ["<s>", "the", " cat", "</s>", "</s>", " the", "</s>"]],
  ])("two texts for %s, which has no kinds of segments", async (name, tokens) => {
    const model = await engine.loadModel(filesOf(name) as never);
    const pair = await model.attend("the cat", { textPair: "the" });
    expect(pair.tokens).toEqual(tokens);
    const same = await model.attend([...pair.ids]);
    expect(await pair.map(0, 1)).toEqual(await same.map(0, 1));
    model.dispose();
  });

  test("pictures leave out what lies before a layer's window", async () => {
    const model = await engine.loadModel(filesOf("gpt_neo") as never);
    const { windows } = model.info;
    expect(windows).toEqual([0, 4, 4]);
    const attention = await model.attend([...tensorOf(expectedOf("gpt_neo"), "ids").data]);
    const t = attention.tokens.length;
    for (const [layer, window] of windows.entries()) {
      const { data } = await attention.pixels(layer, 0);
      for (let row = 0; row < t; ++row) {
        for (let col = 0; col < t; ++col) {
          const isSeen = col <= row && (window === 0 || col > row - window);
          expect(data[4 * (row * t + col) + 3], `${layer}: ${row}, ${col}`).toBe(isSeen ? 255 : 0);
        }
      }
    }
    model.dispose();
  });

  test("smaller pictures for DINOv2, which resizes its positions", async () => {
    const model = await engine.loadModel(filesOf("dinov2") as never);
    const { patchSize = 0, channels = 0, size = 0 } = model.info.image ?? {};
    const shape = [channels, patchSize, 2 * patchSize];
    const zeros = (...sides: number[]): Tensor =>
      ({ data: new Float32Array(channels * sides.reduce((a, b) => a * b, 1)), shape: [channels, ...sides] });
    const data = Float32Array.from({ length: 2 * channels * patchSize ** 2 }, (_, i) => Math.sin(i));
    const seen = await model.attend({ data, shape }, { replacedTokens: [2] });
    expect(seen.patches).toEqual([1, 2]);
    expect(seen.tokens).toEqual(["[CLS]", "0,0", "0,1"]);
    const attnMask = { data: new Uint8Array(9).fill(1), shape: [3, 3] };
    expect((await seen.again({ attnMask })).patches).toEqual([1, 2]);
    await expectError(() => model.attend(zeros(size, size + patchSize)), "shape", /image has shape/);
    const uneven = zeros(patchSize + 1, patchSize + 1);
    await expectError(() => model.attend(uneven), "shape", /image has shape .* multiples of/);
    model.dispose();
  });

  test("heads are ablated, values zeroed", async () => {
    const model = await engine.loadModel(filesOf("gpt2") as never);
    const golden = expectedOf("gpt2");
    const mask = tensorOf(golden, "head_mask");
    const ids = [...tensorOf(golden, "ids").data];
    const whole = await model.attend(ids);
    const headMask = { data: Float32Array.from(mask.data), shape: mask.shape };
    const ablated = await model.attend(ids, { headMask });
    const ones = { data: headMask.data.map(() => 1), shape: mask.shape };
    const neutral = await model.attend(ids, { headMask: ones });
    expect(await neutral.logits()).toEqual(await whole.logits());
    expect(await ablated.logits()).not.toEqual(await whole.logits());
    // The first layer's weights do not depend on its outputs.
    expect(await ablated.map(0, 0)).toEqual(await whole.map(0, 0));
    const zeroed = await model.attend(ids, { replacedTokens: [3] });
    const [before, after] = [await whole.logits({ rows: [0, 3] }), await zeroed.logits({ rows: [0, 3] })];
    expectClose("tokens before the zeroed one", after, before, 64 * kEpsilon * maxNorm(before.data));
    expect(await zeroed.logits({ rows: [3, 4] })).not.toEqual(await whole.logits({ rows: [3, 4] }));
    model.dispose();
  });

  test("a picture's bytes are resized and normalised as PyTorch does it", async () => {
    const model = await engine.loadModel(filesOf("vit") as never);
    const golden = expectedOf("vit");
    const { data, shape: [height = 0, width = 0] } = tensorOf(golden, "picture");
    const pixels = tensorOf(golden, "pixels");
    const tensor = { data: Float32Array.from(pixels.data), shape: pixels.shape };
    const byTensor = await model.attend(tensor);
    const byBytes = await model.attend({ data: Uint8ClampedArray.from(data), width, height });
    const logits = await byTensor.logits();
    expectClose("logits", await byBytes.logits(), logits, 64 * kEpsilon * maxNorm(logits.data));
    expect(byBytes.patches).toEqual([3, 3]);
    expect(byBytes.tokens).toEqual(["[CLS]", "0,0", "0,1", "0,2", "1,0", "1,1", "1,2", "2,0", "2,1", "2,2"]);
    expect(byBytes.ids).toEqual([]);
    expect(model.info.image).toEqual({ size: 12, patchSize: 4, channels: 3, prefix: ["[CLS]"] });
    await expectError(() => model.attend("a cat"), "dtype", /image is "a cat"/);
    const turned = { data: new Float32Array(432), shape: [12, 12, 3] };
    await expectError(() => model.attend(turned), "shape", /image has shape \(12, 12, 3\), expected \(3, 12, 12\)/);
    const spoilt = { data: Float32Array.from(tensor.data, (x, i) => i === 5 ? NaN : x), shape: tensor.shape };
    await expectError(() => model.attend(spoilt), "value", /image\.data\[5\] is NaN, expected a finite number/);
    await expectError(() => model.attend({ data: new Uint8Array(7), width: 2, height: 1 }), "shape", /7 bytes/);
    await expectError(() => model.attend({ data: new Uint8Array(0), width: 0, height: 1 }), "value", /width is 0/);
    await expectError(() => model.startDecoding(), "unsupported", /step by step/);
    model.dispose();
  });

  test.each(["llama", "mistral", "gpt2"])("%s step by step: the rows of one pass", async (name) => {
    const model = await engine.loadModel(filesOf(name) as never);
    const golden = expectedOf(name);
    const ids = [...tensorOf(golden, "ids").data];
    const weights = tensorOf(golden, "weights");
    const logits = tensorOf(golden, "logits");
    const tolerance = 64 * kEpsilon * maxNorm(tensorOf(golden, "hidden").data);
    const decoding = await model.startDecoding();
    for (let at = 0; at < ids.length;) {
      const count = at === 0 ? 4 : 1;
      const step = await decoding.step(ids.slice(at, at + count));
      expect(step).toMatchObject({ ids: ids.slice(at, at + count), length: at + count });
      const row = (at + count - 1) * model.info.vocabSize;
      const last = { data: logits.data.subarray(row, row + model.info.vocabSize), shape: [model.info.vocabSize] };
      expectClose("logits", step.logits, last, 64 * kEpsilon * maxNorm(logits.data));
      const map = await decoding.map(0, 1);
      const columns = at + count - step.firstKey;
      const t = ids.length;
      const row0 = t + at; // the maps of head 1 begin after T rows
      const rows = Array.from({ length: count }, (_, i) =>
        Array.from(weights.data).slice((row0 + i) * t + step.firstKey, (row0 + i) * t + at + count),
      );
      expectClose("map", map, { data: rows.flat(), shape: [count, columns] }, tolerance);
      at += count;
    }
    await decoding.reset();
    const again = await decoding.step("the cat");
    expect(again.length).toBe(again.ids.length);
    await expectError(() => decoding.step([-1]), "value", /id 0 is -1/);
    await expectError(() => decoding.step(""), "value", /tokens/);
    await expectError(() => decoding.map(99, 0), "value", /layer is 99/);
    decoding.dispose();
    await expectError(() => decoding.step([1]), "disposed", /decoding was disposed/);
    model.dispose();
  });

  test.each<[object, RegExp]>([
    [{ segments: [0] }, /segments has 1 values, expected 3/],
    [{ segments: [0, 0, 2] }, /segments is \[0,0,2\], expected whole numbers from 0 to 1/],
    [{ segments: 1 }, /segments is 1/],
    [{ paddingMask: [1, 0, 0] }, /paddingMask is \[1,0,0\], expected an array of booleans/],
    [{ paddingMask: [true] }, /padding has 1 values/],
    [{ headMask: { data: [1, 1], shape: [2] } }, /headMask has shape \(2,\), expected \(3, 4\)/],
    [{ replacedTokens: [7] }, /replacedTokens is 7, expected 0 to \d+/],
    [{ replacedTokens: [0], replacedLayer: 3 }, /replacedLayer is 3/],
    [{ textPair: "x" }, /textPair needs a text/],
  ])("attend([1, 2, 3], %j) is refused", async (options, message) => {
    const model = await engine.loadModel(filesOf("bert") as never);
    const call = async (): Promise<unknown> => model.attend([1, 2, 3], options);
    const error: unknown = await call().catch((reason: unknown) => reason);
    expect(error).toMatchObject({ name: "HeadlensError", message: expect.stringMatching(message) as string });
    model.dispose();
  });

  test("models and decodings leave nothing on the heap", async () => {
    const round = async (): Promise<void> => {
      const model = await engine.loadModel(filesOf("gpt2_f16_bare") as never);
      const decoding = await model.startDecoding();
      await decoding.step([1, 2, 3]);
      model.dispose();
      await expectError(() => engine.loadModel(filesOf("bert").filter((file) => file.name !== "tokenizer.json") as never), "model-load");
    };
    for (let i = 0; i < 3; ++i) await round(); // until reused blocks have their places
    const before = await engine.heapBytes();
    for (let i = 0; i < 3; ++i) await round();
    expect(await engine.heapBytes()).toBeLessThanOrEqual(before);
  });
});

/** Text of the tokens, with bytes of split characters put together again. */
function joined(tokens: readonly string[]): string {
  const bytes = tokens.flatMap((token) =>
    [...token.matchAll(/⟨([0-9A-F]{2})⟩|([^]+?)(?=⟨[0-9A-F]{2}⟩|$)/g)].flatMap(([, hex, text]) =>
      hex ? [parseInt(hex, 16)] : [...new TextEncoder().encode(text)],
    ),
  );
  return new TextDecoder().decode(Uint8Array.from(bytes));
}

describe.each([false, true])("attending, worker: %s", (worker) => {
  let engine: Engine | AsyncEngine;
  let model: Model | AsyncModel;
  beforeAll(async () => {
    engine = await load({ worker });
    model = await engine.loadModel("tiny");
  });
  afterAll(() => engine.dispose());

  test.each([
    kText,
    "  two  spaces\tand a tab\nand a line",
    "café naïve 日本語 🐈",
    "<b onclick=x>&amp;</b>",
    "x",
    " ",
    "",
  ])("the tokens of %j join back to it", async (text) => {
    const attention = await model.attend(text);
    const [first = "", ...rest] = attention.tokens;
    expect(first).toBe("<s>");
    expect(joined(rest)).toBe(text);
    expect(attention.ids).toHaveLength(attention.tokens.length);
    expect(attention.tokenCount).toBe(attention.tokens.length);
    attention.dispose();
  });

  test("a run after another has the numbers of a run of its own", async () => {
    const kept = { keepHidden: true, keepValues: true };
    let seen = await model.attend("The", kept);
    for (const text of ["The cat", "The cat sat on the mat.", "The cat sat on a mat", "Another text", "The cat"]) {
      const [next, whole] = [await seen.attend(text, kept), await model.attend(text, kept)];
      expect([next.tokens, next.tokenCount, next.ids]).toEqual([whole.tokens, whole.tokenCount, whole.ids]);
      const scale = maxNorm((await whole.hidden(3)).data);
      const check = (name: string, got: Tensor, expected: Tensor): void => {
        expectClose(name, got, expected, 64 * kEpsilon * Math.max(scale, maxNorm(expected.data)));
      };
      for (const layer of [0, 3]) {
        check("hidden", await next.hidden(layer), await whole.hidden(layer));
        check("values", await next.values(layer), await whole.values(layer));
        check("map", await next.map(layer, 5), await whole.map(layer, 5));
      }
      check("logits", await next.logits(), await whole.logits());
      seen.dispose();
      whole.dispose();
      seen = next;
    }
    await expectError(() => seen.attend([]), "value");
    await expectError(() => seen.attend("The", { keep: true } as never), "option", /unknown option/);
    seen.dispose();
    await expectError(() => seen.attend("The"), "disposed");
  });

  test("every row of every map sums to 1 and looks at nothing that comes later", async () => {
    const attention = await model.attend(kText);
    const t = attention.tokens.length;
    for (let layer = 0; layer < model.info.layers; ++layer) {
      for (let head = 0; head < model.info.heads; ++head) {
        const { data, shape } = await attention.map(layer, head);
        expect(shape).toEqual([t, t]);
        for (let row = 0; row < t; ++row) {
          const weights = data.subarray(row * t, (row + 1) * t);
          expect(Math.abs(weights.reduce((a, b) => a + b, 0) - 1)).toBeLessThanOrEqual(t * kEpsilon);
          expect(weights.subarray(row + 1).every((w) => w === 0)).toBe(true);
          expect(weights.subarray(0, row + 1).every((w) => w >= 0 && w <= 1)).toBe(true);
        }
      }
    }
    attention.dispose();
  });

  test("rows of a map are the map's rows; pooled cells are means of blocks", async () => {
    const ids = Array.from({ length: 64 }, (_, i) => (i * 37) % model.info.vocabSize);
    const attention = await model.attend(ids);
    expect(attention.ids).toEqual(ids);
    const whole = await attention.map(1, 1);
    const rows = await attention.map(1, 1, { rows: [10, 13] });
    expectClose("rows", rows, { data: whole.data.subarray(640, 832), shape: [3, 64] }, 8 * kEpsilon);
    expect((await attention.map(1, 1, { rows: [5, 5] })).shape).toEqual([0, 64]);
    const pooled = await attention.map(1, 1, { pool: [8, 4] });
    const means = Array.from({ length: 32 }, (_, i) => {
      let sum = 0;
      for (let row = 0; row < 8; ++row) {
        for (let col = 0; col < 16; ++col)
          sum += whole.data[(Math.floor(i / 4) * 8 + row) * 64 + (i % 4) * 16 + col] ?? NaN;
      }
      return sum / 128;
    });
    expectClose("pooled", pooled, { data: means, shape: [8, 4] }, 16 * kEpsilon);
    expect(await attention.map(1, 1, { pool: [64, 1e6] })).toEqual(whole);
    attention.dispose();
  });

  test("columns of a map are the map's columns, also of rows that were looked at before; maxima are those of blocks", async () => {
    const ids = Array.from({ length: 64 }, (_, i) => (i * 37) % model.info.vocabSize);
    const attention = await model.attend(ids);
    const whole = await attention.map(2, 3);
    const block = (top: number, left: number, rows: number, cols: number): number[] => {
      const at = (i: number): number => (top + Math.floor(i / cols)) * 64 + left + (i % cols);
      return Array.from({ length: rows * cols }, (_, i) => whole.data[at(i)] ?? NaN);
    };
    const columns = { data: block(30, 20, 4, 15), shape: [4, 15] };
    expectClose("columns", await attention.map(2, 3, { rows: [30, 34], cols: [20, 35] }), columns, 16 * kEpsilon);
    const maxima = Array.from({ length: 32 }, (_, i) => Math.max(...block(Math.floor(i / 4) * 8, (i % 4) * 16, 8, 16)));
    const pooled = await attention.map(2, 3, { pool: [8, 4], pooling: "max" });
    expectClose("maxima", pooled, { data: maxima, shape: [8, 4] }, 8 * kEpsilon);
    expectClose("the same columns", await attention.map(2, 3, { rows: [30, 34], cols: [20, 35] }), columns, 32 * kEpsilon);
    expect((await attention.map(2, 3, { cols: [7, 7] })).shape).toEqual([64, 0]);
    attention.dispose();
  });

  test("pixels: the whole map, what comes later is transparent", async () => {
    const attention = await model.attend("The cat sat");
    const t = attention.tokens.length;
    const picture = await attention.pixels(0, 0, { min: 0, max: 1 });
    expect([picture.width, picture.height]).toEqual([t, t]);
    picture.data.forEach((value, i) => {
      if (i % 4 === 3) expect(value).toBe(Math.floor(i / 4) % t > Math.floor(i / 4 / t) ? 0 : 255);
    });
    const same = await engine.colorize(await attention.map(0, 0), { causal: true, min: 0, max: 1 });
    expect(same).toEqual(picture);
    attention.dispose();
  });

  test("logits, or some rows of them", async () => {
    const attention = await model.attend("The cat");
    const { length } = attention.tokens;
    const all = await attention.logits();
    expect(all.shape).toEqual([length, model.info.vocabSize]);
    const last = await attention.logits({ rows: [length - 1, length] });
    expect(last).toEqual({ data: all.data.slice(-model.info.vocabSize), shape: [1, model.info.vocabSize] });
    attention.dispose();
  });

  test("one text while another is looked at", async () => {
    const first = await model.attend(kText);
    const before = await first.map(1, 0);
    const second = await model.attend("Something else entirely, and longer than the first text was by a good deal.");
    expect(await first.map(1, 0)).toEqual(before);
    first.dispose();
    expect((await second.map(1, 0)).shape[0]).toBe(second.tokens.length);
    second.dispose();
  });

  test("more tokens than positions: an error, or the beginning when asked", async () => {
    const { maxPositions } = model.info;
    const ids = new Array<number>(maxPositions + 3).fill(5);
    await expectError(() => model.attend(ids), "value", String(maxPositions + 3), String(maxPositions));
    const attention = await model.attend(ids, { truncate: true });
    expect([attention.ids.length, attention.tokenCount]).toEqual([maxPositions, maxPositions + 3]);
    attention.dispose();
  });

  test.each<[unknown, unknown, string, RegExp]>([
    [7, {}, "dtype", /text is 7, expected a string or an array/],
    [undefined, {}, "dtype", /text is undefined/],
    [[], {}, "value", /text has 0 tokens/],
    [[1, -1], {}, "value", /text: id 1 is -1/],
    [[1.5], {}, "value", /text: id 0 is 1.5/],
    [[1e9], {}, "value", /text: id 0 is 1000000000, expected a whole number from 0 to/],
    [["1"], {}, "value", /text: id 0 is "1"/],
    ["x", { logits: true }, "option", /unknown option "logits"/],
    ["x", { logit: true }, "option", /unknown option "logit"/],
    ["x", { replacedLayer: 1 }, "option", /replacedLayer needs/],
  ])("attend(%j, %j) is refused", (text, options, code, message) =>
    expectError(() => model.attend(text as string, options as object), code as "value", message),
  );

  test.each<[string, readonly unknown[], RegExp]>([
    ["map", [9, 0], /layer is 9, expected a whole number from 0 to/],
    ["map", [0, -1], /head is -1/],
    ["map", [0, 0.5], /head is 0.5/],
    ["map", [undefined, 0], /layer is undefined/],
    ["map", ["0", 0], /layer is "0"/],
    ["map", [0, 0, { rows: [0, 99] }], /rows is \[0,99\], expected two whole numbers from 0 to/],
    ["map", [0, 0, { rows: [2, 1] }], /rows is \[2,1\]/],
    ["map", [0, 0, { rows: [1] }], /rows is \[1\]/],
    ["map", [0, 0, { rows: 1 }], /rows is 1/],
    ["map", [0, 0, { cols: [0, 99] }], /cols is \[0,99\], expected two whole numbers from 0 to/],
    ["map", [0, 0, { cols: 0 }], /cols is 0/],
    ["map", [0, 0, { pool: [0, 4] }], /pool is \[0,4\]/],
    ["map", [0, 0, { row: [0, 1] }], /unknown option "row"/],
    ["pixels", [0, 99], /head is 99/],
    ["pixels", [0, 0, { theme: "blue" }], /theme is "blue"/],
    ["pixels", [0, 0, { causal: false }], /pixels: unknown option "causal", expected one of colormap, theme, min, max/],
  ])("%s(...%j) is refused", async (method, args, message) => {
    const attention = await model.attend("The cat");
    const call = attention[method as "map"].bind(attention) as (...all: readonly unknown[]) => unknown;
    const error: unknown = await Promise.resolve()
      .then(() => call(...args))
      .catch((reason: unknown) => reason);
    expect(error).toMatchObject({ name: "HeadlensError", message: expect.stringMatching(message) as string });
    attention.dispose();
  });

  test("a model disposed takes its attentions along; the engine goes on", async () => {
    const mine = await engine.loadModel("tiny");
    const attention = await mine.attend(kText);
    mine.dispose();
    await expectError(() => attention.map(0, 0), "disposed", /attention was disposed/);
    await expectError(() => mine.attend(kText), "disposed", /model was disposed/);
    attention.dispose();
    expect(attention.tokens[1]).toBe("The");
    expect(await engine.colorbar(2)).toHaveLength(8);
  });

  test("a hundred texts, and three models, leave nothing on the heap", async () => {
    const round = async (i: number): Promise<void> => {
      const attention = await model.attend(`${kText} ${i}`);
      await attention.map(0, 0, { pool: [4, 4] });
      await attention.logits();
      attention.dispose();
    };
    const reload = async (): Promise<void> => (await engine.loadModel("tiny")).dispose();
    await round(0);
    await reload();
    const before = await engine.heapBytes();
    for (let i = 0; i < 100; ++i) await round(i);
    for (let i = 0; i < 3; ++i) await reload();
    expect(await engine.heapBytes()).toBeLessThanOrEqual(before);
  });
});

/** Answers that a server may give instead of a file. */
type Answer = (response: ServerResponse) => void;

describe.each([false, true])("where a model comes from, worker: %s", (worker) => {
  let engine: Engine | AsyncEngine;
  let server: Server;
  let faults: Partial<Record<string, Answer>> = {};
  beforeAll(async () => {
    engine = await load({ worker });
    server = await serve(kRoot, (path, response) => {
      const fault = faults[path.split("/").at(-1) ?? ""];
      fault?.(response);
      return fault !== undefined;
    });
  });
  afterAll(async () => {
    engine.dispose();
    await server.close();
  });

  async function expectReads(model: Model | AsyncModel, name: string): Promise<void> {
    expect(model.info.name).toBe(name);
    const attention: Pick<ModelAttention, "ids" | "dispose"> = await model.attend(kText);
    expect(attention.ids.length).toBeGreaterThan(5);
    model.dispose();
  }

  /** Loading must fail with this code and these words when the files are replaced by these answers. */
  async function expectFault(
    answers: typeof faults,
    code: "model-load" | "format" | "aborted",
    ...words: (string | RegExp)[]
  ): Promise<void> {
    faults = answers;
    try {
      await expectError(() => engine.loadModel(`${server.url}web/models/tiny`), code, ...words);
    } finally {
      faults = {};
    }
  }
  const text =
    (content: string): Answer =>
    (response) =>
      void response.writeHead(200).end(content);

  test("a URL, with or without its slash", async () => {
    await expectReads(await engine.loadModel(`${server.url}web/models/tiny`), "tiny");
    await expectReads(await engine.loadModel(new URL(`${server.url}web/models/tiny/`)), "tiny");
  });

  test("a path, relative to the process, and a file: URL", async () => {
    expect(process.cwd()).toBe(kRoot.slice(0, -1));
    await expectReads(await engine.loadModel("./web/models/tiny"), "tiny");
    await expectReads(await engine.loadModel(pathToFileURL(kFolder)), "tiny");
  });

  test("files, as a file input or a drop gives them", async () => {
    const files = kNames.map((name) => new File([readFileSync(`${kFolder}/${name}`)], name));
    await expectReads(await engine.loadModel(files as never), "model");
    await expectError(() => engine.loadModel(files.slice(1) as never), "value", /holds \["tokenizer.json","model.safetensors"\], expected config.json as well$/);
    await expectError(() => engine.loadModel([]), "value", /holds \[\], expected config.json, tokenizer.json, model.safetensors as well$/);
  });

  test("progress: bytes so far, and of how many", async () => {
    const seen: [number, number][] = [];
    const model = await engine.loadModel(`${server.url}web/models/tiny`, {
      onProgress: (...bytes) => seen.push(bytes),
    });
    const size = kNames.reduce((sum, name) => sum + readFileSync(`${kFolder}/${name}`).length, 0);
    expect(seen.at(-1)).toEqual([size, size]);
    expect(seen.map(([loaded]) => loaded)).toEqual(seen.map(([loaded]) => loaded).sort((a, b) => a - b));
    for (const [, total] of seen) expect([0, size]).toContain(total);
    model.dispose();
  });

  test("aborted before, or in the middle", async () => {
    await expectError(() => engine.loadModel("tiny", { signal: AbortSignal.abort() }), "aborted");
    const abort = new AbortController();
    faults = {
      "model.safetensors": (response) => {
        const whole = readFileSync(`${kFolder}/model.safetensors`);
        response.writeHead(200, { "content-length": whole.length });
        response.write(whole.subarray(0, 100_000));
      },
    };
    const pending = engine.loadModel(`${server.url}web/models/tiny`, {
      signal: abort.signal,
      onProgress: () => abort.abort(),
    });
    await expectError(() => pending, "aborted");
    faults = {};
    await expectReads(await engine.loadModel("tiny"), "tiny");
  });

  test("progress: the last bytes before a server pauses are told", async () => {
    const texts = kNames.slice(0, 2).reduce((sum, name) => sum + readFileSync(`${kFolder}/${name}`).length, 0);
    let more = (): void => undefined;
    faults = {
      "model.safetensors": (response) => {
        const whole = readFileSync(`${kFolder}/model.safetensors`);
        response.writeHead(200, { "content-length": whole.length });
        response.write(whole.subarray(0, 50_000));
        more = () => void response.write(whole.subarray(50_000, 60_000));
      },
    };
    const abort = new AbortController();
    let told = 0;
    const onProgress = (loaded: number): void => {
      told = loaded;
      if (told === texts + 50_000) more(); // sooner than progress is told again
    };
    const pending = engine.loadModel(`${server.url}web/models/tiny`, { signal: abort.signal, onProgress });
    await expect.poll(() => told, { timeout: 20_000 }).toBe(texts + 60_000);
    abort.abort();
    await expectError(() => pending, "aborted");
    faults = {};
  });

  test.each(["first", "last"])("what onProgress throws at its %s call is what loadModel rejects with", async (which) => {
    const before = await engine.heapBytes();
    for (const thrown of [new Error("mine"), undefined]) {
      let calls = 0;
      const onProgress = (loaded: number, total: number): void => {
        if (which === "last" && loaded !== total) return;
        ++calls;
        throw thrown; // oxlint-disable-line typescript/only-throw-error -- callers may throw anything
      };
      const outcome = engine.loadModel("tiny", { onProgress }).then(() => "loaded", (error: unknown) => [error]);
      const [got] = await outcome;
      expect(got).toBe(thrown);
      expect(calls).toBe(1);
    }
    expect(await engine.heapBytes()).toBeLessThanOrEqual(before);
    await expectReads(await engine.loadModel("tiny"), "tiny");
  });

  test.each(kNames)("%s missing", (name) =>
    expectFault(
      { [name]: (response) => void response.writeHead(404).end() },
      "model-load",
      `${server.url}web/models/tiny/${name}`,
      "404",
    ),
  );

  test("a file larger than any should be is not read", async () => {
    await expectFault(
      { "config.json": (response) => void response.writeHead(200, { "content-length": 1e9 }).write("{") },
      "model-load",
      /config.json has 1000000000 bytes, expected at most 67108864/,
    );
    await expectFault(
      { "model.safetensors": (response) => void response.writeHead(200, { "content-length": 3e9 }).write("x") },
      "model-load",
      /3000000000 bytes, expected at most 2147483648/,
    );
    // No length given: counted as it comes.
    const endless: Answer = (response) => {
      response.writeHead(200);
      const write = (): boolean =>
        response.destroyed || (response.write(new Uint8Array(1 << 20)) ? write() : !!response.once("drain", write));
      write();
    };
    await expectFault(
      { "tokenizer.json": endless },
      "model-load",
      /tokenizer.json has \d+ bytes, expected at most 67108864/,
    );
  });

  test("a connection that breaks", () =>
    expectFault(
      {
        "model.safetensors": (response) => {
          const whole = readFileSync(`${kFolder}/model.safetensors`);
          response.writeHead(200, { "content-length": whole.length });
          response.write(whole.subarray(0, 100_000), () => response.destroy());
        },
      },
      "model-load",
      /model.safetensors: /,
    ));

  test("files that are not what they should be", async () => {
    await expectFault({ "config.json": text("not json") }, "format", /^config.json is "not json", expected a JSON object/);
    await expectFault({ "config.json": text("[]") }, "format", /config/);
    await expectFault({ "config.json": text("{}") }, "format", /./);
    await expectFault({ "tokenizer.json": text("<!doctype html>") }, "format", /^tokenizer.json is "<!doctype html>", expected a JSON object$/);
    await expectFault({ "tokenizer.json": text("{}") }, "format", /^tokenizer.json: /);
    await expectFault({ "tokenizer.json": text("3") }, "format", /^tokenizer.json is "3", expected a JSON object/);
    await expectFault({ "model.safetensors": text("") }, "format", /./);
    await expectFault({ "model.safetensors": text("\xff".repeat(64)) }, "format", /./);
  });

  test.each([7, {}, null, ["a"], [null], [new Blob([])]])("%j is no source", (source) =>
    expectError(() => engine.loadModel(source as never), "value", /source is/),
  );

  test("unknown options, and URLs that are none", async () => {
    await expectError(
      () => engine.loadModel("tiny", { onprogress: () => undefined } as never),
      "option",
      /unknown option "onprogress"/,
    );
    await expectError(
      () => engine.loadModel("tiny", { signal: true } as never),
      "option",
      /signal is true, expected an AbortSignal/,
    );
    await expectError(
      () => engine.loadModel("tiny", { onProgress: 1 } as never),
      "option",
      /onProgress is 1, expected a function/,
    );
    await expectError(() => engine.loadModel("tiny", { keep: 1 } as never), "option", "keep is 1, expected a boolean");
    await expectError(() => engine.loadModel("http://["), "value", /source .* expected a URL/);
    await expectError(() => engine.loadModel("nowhere"), "model-load", /nowhere/, /404/);
  });
});
