// SPDX-License-Identifier: Apache-2.0
/**
 * The workloads of the table that `headlens bench` also uses, with their operation counts and numbers. Runs in Node and
 * in pages.
 */
import table from "../../native/bench/workloads.json" with { type: "json" };
import { normal, seedOf, uniform } from "./numbers.mjs";

/** Completes a row: sizes that its kind leaves out follow from others, and models are looked up. */
function complete(row) {
  return {
    batch: 1, causal: false, queries: row.tokens, keys: row.tokens, kv_heads: row.heads, rows: row.tokens,
    ...row, ...(row.model ? { model: { name: row.model, ...table.models[row.model] } } : {}),
  };
}

/** All workloads in order. Layers have one row with the maps of all heads and one without. */
export const workloads = table.workloads.map(complete).flatMap((row) => row.kind === "layer"
  ? [{ ...row, name: `${row.name}/maps`, maps: true }, { ...row, name: `${row.name}/no_maps`, maps: false }]
  : [row]);

/** The same attention problem with many lengths, head widths and conventions. */
export const sweeps = Object.entries(table.sweeps).flatMap(([varied, { values, ...sizes }]) =>
  values.map((value) => complete({ ...sizes, [varied]: value, name: `sweep/${varied}/${value}`, kind: "core" })));

/** The number of floating-point operations that the result needs, counted as in native/bench/workloads.h. */
export function operations({ kind, batch, tokens, width, heads, queries, keys, head_dim: d, causal, rows, model }) {
  const half = causal ? 0.5 : 1;
  switch (kind) {
    case "layer": return batch * (8 * tokens * width ** 2 + half * 4 * tokens ** 2 * width);
    case "core": return half * 4 * heads * queries * keys * d;
    case "map": return 2 * rows * tokens * model.width;
    case "model": return 2 * tokens * model.linear_parameters + 2 * model.layers * tokens ** 2 * model.width;
    case "decode":
      return 2 * tokens * (model.linear_parameters + model.vocabulary * model.width) +
        2 * model.layers * tokens ** 2 * model.width;
    default: throw new Error(`no kind of workload: ${kind}`);
  }
}

/**
 * The bytes that a decoding step must at least read: keys and values, or a model's weights. 0 when arithmetic limits
 * the speed.
 */
export function bytes(row) {
  const { kind, tokens, kv_heads: heads, queries, keys, keys_and_values: kept, head_dim: d, model, weights } = row;
  if (kind === "decode") return (weights === "bf16" ? 2 : 4) * tokens * (model.linear_parameters + model.vocabulary * model.width);
  return kind === "core" && queries === 1 ? (kept === "bf16" ? 2 : 4) * 2 * heads * keys * d : 0;
}

function concat(...parts) {
  const whole = new Float32Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

function transposed(matrix, n) {
  const result = new Float32Array(n * n);
  for (let i = 0; i < n; ++i) for (let j = 0; j < n; ++j) result[j * n + i] = matrix[i * n + j];
  return result;
}

/**
 * An input with deviation 1, weights with 1/√D and biases with 0.1, in two forms: ONNX's y = x W + b with one matrix
 * for each projection, and PyTorch's state dict.
 */
function layerData({ batch, tokens, width }) {
  const [q, k, v, o] = [2, 3, 4, 5].map((seed) => normal(width * width, seed, 1 / Math.sqrt(width)));
  const [bq, bk, bv, bo] = [6, 7, 8, 9].map((seed) => normal(width, seed, 0.1));
  return {
    x: { data: normal(batch * tokens * width, 1), shape: [batch, tokens, width] },
    weights: { q, k, v, o },
    biases: { q: bq, k: bk, v: bv, o: bo },
    state: {
      in_proj_weight: { data: concat(...[q, k, v].map((w) => transposed(w, width))), shape: [3 * width, width] },
      in_proj_bias: { data: concat(bq, bk, bv), shape: [3 * width] },
      "out_proj.weight": { data: transposed(o, width), shape: [width, width] },
      "out_proj.bias": { data: bo, shape: [width] },
    },
  };
}

/** With BF16, the keys and values are those that BF16 represents exactly. */
function coreData({ heads, kv_heads: groups, queries, keys, head_dim: d, keys_and_values: type }) {
  const kept = (seed) => {
    const data = normal(groups * keys * d, seed);
    if (type === "bf16") new Uint16Array(data.buffer).forEach((_, i, halves) => { if (i % 2 === 0) halves[i] = 0; });
    return { data, shape: [1, groups, keys, d] };
  };
  return { q: { data: normal(heads * queries * d, 11), shape: [1, heads, queries, d] }, k: kept(12), v: kept(13) };
}

/** Token ids that are spread over the vocabulary. */
export const idsOf = ({ tokens, model }) => Array.from({ length: tokens }, (_, i) => (i * 7919) % model.vocabulary);

/** Floats cut to BF16. */
function upperHalves(floats) {
  const halves = new Uint16Array(floats.buffer), result = new Uint16Array(floats.length);
  for (let i = 0; i < result.length; ++i) result[i] = halves[2 * i + 1];
  return result;
}

/**
 * The source for `engine.loadModel`: the name of the built-in model, or the files of a model with random weights.
 * `tokenizer` is the text of any tokenizer.json.
 */
export function modelSource({ model, weights = "f32" }, tokenizer) {
  if (!model.config) return model.name;
  const parameters = Object.entries(model.parameters).flatMap(([pattern, shape]) => pattern.includes("#")
    ? Array.from({ length: model.layers }, (_, i) => [pattern.replace("#", i), shape])
    : [[pattern, shape]]);
  let end = 0;
  const header = {};
  const parts = parameters.map(([name, shape]) => {
    const size = shape.reduce((product, n) => product * n, 1);
    const isScale = /(ln_|LayerNorm).*\.weight$/.test(name);
    const floats = isScale ? new Float32Array(size).fill(1) : uniform(size, seedOf(name), 0.04);
    const data = weights === "bf16" ? upperHalves(floats) : floats;
    header[name] = { dtype: weights.toUpperCase(), shape, data_offsets: [end, end += data.byteLength] };
    return data;
  });
  const text = new TextEncoder().encode(JSON.stringify(header));
  const file = (name, ...content) => new File(content, name);
  return [
    file("config.json", JSON.stringify(model.config)), file("tokenizer.json", tokenizer),
    file("model.safetensors", new BigUint64Array([BigInt(text.length)]), text, ...parts),
  ];
}

/** The inputs and parameters of a layer or a core row. */
export const dataOf = (row) => row.kind === "layer" ? layerData(row) : row.kind === "core" ? coreData(row) : {};

/** The queries whose results are compared; all of them when there are few. */
export function sampled(count, most = 16) {
  if (count <= 128) return Array.from({ length: count }, (_, i) => i);
  return Array.from({ length: most }, (_, i) => Math.round((i * (count - 1)) / (most - 1)));
}

/** Picks rows of the last but one dimension, in every block of the dimensions before it. */
export function pickRows({ data, shape }, rows) {
  const [length, width] = shape.slice(-2);
  const blocks = data.length / (length * width);
  const picked = new Float32Array(blocks * rows.length * width);
  for (let block = 0, at = 0; block < blocks; ++block)
    for (const row of rows) {
      const begin = (block * length + row) * width;
      picked.set(data.subarray(begin, begin + width), at);
      at += width;
    }
  return { data: picked, shape: [...shape.slice(0, -2), rows.length, width] };
}

export const everyRow = [...workloads, ...sweeps];
