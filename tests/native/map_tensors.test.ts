// SPDX-License-Identifier: Apache-2.0
/** `headlens map --out FILE.safetensors`: the tensors of a model under the names that --what says. */
import { copyFileSync, mkdirSync, readFileSync, readdirSync, symlinkSync } from "node:fs";
import { beforeAll, expect, test } from "vitest";
import { expectClose, kEpsilon, kGolden, kRoot, maxNorm } from "../compare.js";
import { type FileTensor, type Safetensors, readSafetensors, tensorOf } from "../safetensors.js";
import { fails, succeeds, temporaryFolder } from "./support.js";

const inFolder = temporaryFolder();
const kTiny = `${kRoot}web/models/tiny`;
const kGrouped = `${kGolden}/models/qwen2_shards`;
const kAll = "maps,queries,keys,values,stream,logits";

function written(model: string, ids: Iterable<number>, ...more: string[]): Safetensors {
  const out = inFolder("maps.safetensors");
  succeeds(["map", "--model", model, "--tokens", [...ids].join(","), "--out", out, ...more]);
  return readSafetensors(out);
}

/** The part of a tensor at these places of its first axes. */
function part({ data, shape, dtype }: FileTensor, ...at: number[]): FileTensor {
  const rest = shape.slice(at.length);
  const size = rest.reduce((a, b) => a * b, 1);
  const begin = at.reduce((sum, place, axis) => sum * (shape[axis] ?? 0) + place, 0) * size;
  return { dtype, shape: rest, data: data.slice(begin, begin + size) };
}

/** The causal softmax of the scaled products of queries and keys [T, d]. */
function attention(queries: FileTensor, keys: FileTensor): FileTensor {
  const [length = 0, width = 0] = queries.shape;
  const data = new Float64Array(length * length);
  for (let t = 0; t < length; ++t) {
    const row = data.subarray(t * length, t * length + t + 1);
    for (let s = 0; s <= t; ++s) {
      let score = 0;
      for (let i = 0; i < width; ++i) score += (queries.data[t * width + i] ?? 0) * (keys.data[s * width + i] ?? 0);
      row[s] = Math.exp(score / Math.sqrt(width));
    }
    const sum = row.reduce((a, b) => a + b, 0);
    row.forEach((weight, s) => { row[s] = weight / sum; });
  }
  return { dtype: "F64", shape: [length, length], data };
}

test("maps alone, with what is known about them", () => {
  const golden = readSafetensors(`${kGolden}/built_in/tiny.safetensors`);
  const { data: ids } = tensorOf(golden, "ids");
  const { metadata, tensors } = written(kTiny, ids);
  expect([...tensors.keys()]).toEqual(["attentions.0", "attentions.1", "attentions.2", "attentions.3"]);
  const tolerance = 4 * kEpsilon * maxNorm(tensorOf(golden, "hidden").data);
  for (const [layer, maps] of [...tensors.values()].entries())
    expectClose(`layer ${layer}`, maps, part(tensorOf(golden, "weights"), layer), tolerance);
  expect(metadata).toMatchObject({ causal: "true", layers: "[0,1,2,3]", heads: "[0,1,2,3,4,5,6,7]" });
  expect(JSON.parse(metadata.tokens ?? "")).toEqual([...ids]);
  const out = inFolder("text.safetensors");
  succeeds(["map", "--model", kTiny, "--text", "The cat", "--out", out]);
  expect(JSON.parse(readSafetensors(out).metadata.pieces ?? "")).toEqual(["<s>", "The", " cat"]);
});

test("the residual stream and the logits are PyTorch's", () => {
  const golden = readSafetensors(`${kGrouped}/expected.safetensors`);
  const hidden = tensorOf(golden, "hidden");
  const found = written(kGrouped, tensorOf(golden, "ids").data, "--what", "stream,logits");
  expect([...found.tensors.keys()].sort()).toEqual(["logits", "stream.0", "stream.1", "stream.2"]);
  const tolerance = 64 * kEpsilon * maxNorm(hidden.data);
  for (const layer of [0, 1, 2]) expectClose(`stream.${layer}`, found.tensors.get(`stream.${layer}`), part(hidden, layer), tolerance);
  const logits = tensorOf(golden, "logits");
  expectClose("logits", found.tensors.get("logits"), logits, 64 * kEpsilon * maxNorm(logits.data));
});

test("queries and keys are those of the maps, with grouped heads", () => {
  const golden = readSafetensors(`${kGrouped}/expected.safetensors`);
  const weights = tensorOf(golden, "weights");
  const found = written(kGrouped, tensorOf(golden, "ids").data, "--what", kAll);
  const [layers = 0, heads = 0, length = 0] = weights.shape;
  for (let layer = 0; layer < layers; ++layer) {
    const queries = tensorOf(found, `queries.${layer}`);
    const keys = tensorOf(found, `keys.${layer}`);
    expect(queries.shape).toEqual([heads, length, 6]);
    expect(keys.shape).toEqual([2, length, 6]);
    expect(tensorOf(found, `values.${layer}`).shape).toEqual([2, length, 6]);
    for (let head = 0; head < heads; ++head)
      expectClose(`${layer}, ${head}`, attention(part(queries, head), part(keys, head >> 1)), part(weights, layer, head), 1e-5);
  }
  const one = written(kGrouped, tensorOf(golden, "ids").data, "--what", kAll, "--layer", "1", "--head", "3");
  expect([...one.tensors.keys()].sort()).toEqual(["attentions.1", "keys.1", "logits", "queries.1", "stream.1", "stream.2", "values.1"]);
  expect(one.metadata).toMatchObject({ layers: "[1]", heads: "[3]" });
  for (const [name, head] of [["queries.1", 3], ["keys.1", 1], ["values.1", 1], ["attentions.1", 3]] as const)
    expect([...tensorOf(one, name).data]).toEqual([...part(tensorOf(found, name), head).data]);
});

test("values are the normed stream times the model's matrix", () => {
  const model = readSafetensors(`${kTiny}/model.safetensors`);
  const config = JSON.parse(readFileSync(`${kTiny}/config.json`, "utf8")) as { rms_norm_eps: number };
  const found = written(kTiny, [0, 294, 907], "--what", "values,stream", "--layer", "2");
  const layer = "model.layers.2";
  const gamma = tensorOf(model, `${layer}.input_layernorm.weight`).data;
  const matrix = tensorOf(model, `${layer}.self_attn.v_proj.weight`);
  const stream = tensorOf(found, "stream.2");
  const values = tensorOf(found, "values.2");
  const [heads = 0, length = 0, width = 0] = values.shape;
  const hidden = stream.shape[1] ?? 0;
  const expected = new Float64Array(values.data.length);
  for (let t = 0; t < length; ++t) {
    const row = Array.from(part(stream, t).data);
    const scale = 1 / Math.sqrt(row.reduce((sum, x) => sum + x * x, 0) / hidden + config.rms_norm_eps);
    for (let head = 0; head < heads; ++head) {
      for (let i = 0; i < width; ++i) {
        const column = part(matrix, head * width + i).data;
        let sum = 0;
        for (let k = 0; k < hidden; ++k) sum += (row[k] ?? 0) * scale * (gamma[k] ?? 0) * (column[k] ?? 0);
        expected[(head * length + t) * width + i] = sum;
      }
    }
  }
  expectClose("values", values, { data: expected, shape: values.shape }, 64 * kEpsilon * maxNorm(stream.data));
});

test("the logits of a picture", () => {
  const out = inFolder("vit.safetensors");
  const model = `${kGolden}/models/vit`;
  succeeds(["map", "--model", model, "--image", `${kRoot}web/playground/screenshot.png`, "--what", "logits,maps", "--out", out]);
  const found = readSafetensors(out);
  expect(tensorOf(found, "logits").shape).toEqual([1, 3]);
  expect(found.metadata).toMatchObject({ patches: "[3,3]", causal: "false" });
});

beforeAll(() => { mkdirSync(inFolder("out")); });

test.each([
  [["png", "--tokens", "1", "--what", "queries"], /--what needs --out \*\.safetensors/],
  [["safetensors", "--tokens", "1", "--what", "query"], /--what: query not in/],
  [["safetensors", "--tokens", "1", "--what", ""], /--what/],
])("%j is refused", ([kind, ...args], message) => {
  fails(["map", "--model", kTiny, "--out", inFolder(`out/maps.${kind}`), ...args], 2, message);
  expect(readdirSync(inFolder("out"))).toEqual([]);
});

test("a file of tensors among those of the model is refused", () => {
  mkdirSync(inFolder("model"));
  for (const name of ["config.json", "model.safetensors"]) copyFileSync(`${kTiny}/${name}`, inFolder(`model/${name}`));
  symlinkSync(inFolder("model/model.safetensors"), inFolder("link.safetensors"));
  const message = /--out is ".*safetensors", expected a file outside of the model's folder/;
  for (const name of ["model/model.safetensors", "model/new.safetensors", "link.safetensors"])
    fails(["map", "--model", inFolder("model"), "--tokens", "1", "--out", inFolder(name)], 2, message);
  expect(readdirSync(inFolder("model"))).toEqual(["config.json", "model.safetensors"]);
});

test("tensors without end are refused before anything is computed", () => {
  const tokens = Array(40_000).fill("1").join(",");
  const args = ["map", "--model", kTiny, "--tokens", tokens, "--out", inFolder("out/maps.safetensors")];
  const of = (what: string, message: RegExp): void => { fails([...args, "--what", what], 2, message); };
  of("logits,stream", /--what for 40000 tokens has 1\.0752e\+08 numbers, expected at most 67108864: .* or --what with less/);
});
