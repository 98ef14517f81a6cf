// SPDX-License-Identifier: Apache-2.0
/**
 * The same workloads as ONNX graphs in several variants, so that onnxruntime gets the one that it runs fastest. The
 * files are written here as protocol buffers.
 */

// Fields of onnx.proto are numbered. Wire type 0 is a varint, 2 is a length-delimited field, and 5 is four bytes.
const varint = (value) => {
  const bytes = [];
  let rest = BigInt.asUintN(64, BigInt(value));
  for (; rest > 127n; rest >>= 7n) bytes.push(Number(rest & 127n) | 128);
  return Uint8Array.from([...bytes, Number(rest)]);
};
const join = (parts) => {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
};
const integer = (field, value) => join([varint(field << 3), varint(value)]);
const bytes = (field, value) => join([varint((field << 3) | 2), varint(value.length), value]);
const text = (field, value) => bytes(field, new TextEncoder().encode(value));

const kFloat = 1;
const kInt32 = 6;
const kInt64 = 7;

function tensor(name, shape, data) {
  const type = data instanceof Float32Array ? kFloat : data instanceof Int32Array ? kInt32 : kInt64;
  const raw = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  return join([...shape.map((size) => integer(1, size)), integer(2, type), text(8, name), bytes(9, raw)]);
}

function attribute(name, value) {
  if (Array.isArray(value)) return join([text(1, name), ...value.map((item) => integer(8, item)), integer(20, 7)]);
  return join([text(1, name), integer(3, value), integer(20, 2)]);
}

function valueInfo(name, shape) {
  const dimensions = join(shape.map((size) => bytes(1, integer(1, size))));
  return join([text(1, name), bytes(2, bytes(1, join([integer(1, kFloat), bytes(2, dimensions)])))]);
}

class Graph {
  #nodes = [];
  #constants = [];
  #inputs = [];
  #outputs = [];

  input(name, shape) { this.#inputs.push(valueInfo(name, shape)); }
  output(name, shape) { this.#outputs.push(valueInfo(name, shape)); }
  constant(name, shape, data) {
    this.#constants.push(tensor(name, shape, data));
    return name;
  }
  sizes(name, shape) { return this.constant(name, [shape.length], BigInt64Array.from(shape.map(BigInt))); }

  /** Adds a node and returns the name of its first output. An output that is not wanted is "". */
  node(op, inputs, outputs, attributes = {}, domain = "") {
    const names = [].concat(outputs);
    this.#nodes.push(join([
      ...inputs.map((name) => text(1, name)), ...names.map((name) => text(2, name)), text(3, `n${this.#nodes.length}`), text(4, op),
      ...Object.entries(attributes).map(([name, value]) => bytes(5, attribute(name, value))), text(7, domain),
    ]));
    return names[0];
  }

  model(opset) {
    const graph = join([
      ...this.#nodes.map((part) => bytes(1, part)), text(2, "layer"), ...this.#constants.map((part) => bytes(5, part)),
      ...this.#inputs.map((part) => bytes(11, part)), ...this.#outputs.map((part) => bytes(12, part)),
    ]);
    const version = (domain, number) => bytes(8, join([text(1, domain), integer(2, number)]));
    return join([integer(1, opset >= 23 ? 11 : 8), bytes(7, graph), version("", opset), version("com.microsoft", 1)]);
  }
}

/** 0 where a query may look, and the lowest float elsewhere. */
function causalMask(size) {
  const mask = new Float32Array(size * size);
  for (let t = 0; t < size; ++t) mask.fill(-3.4028234663852886e38, t * size + t + 1, (t + 1) * size);
  return mask;
}

/** softmax(scale · q kᵀ + mask) for q and k as one matrix per head. */
function weightsOf(graph, q, transposedK, { head_dim: d, queries, causal }) {
  const scale = graph.constant("scale", [], Float32Array.of(1 / Math.sqrt(d)));
  let scores = graph.node("Mul", [graph.node("MatMul", [q, transposedK], "qk"), scale], "scaled");
  if (causal) scores = graph.node("Add", [scores, graph.constant("mask", [queries, queries], causalMask(queries))], "masked");
  return graph.node("Softmax", [scores], "maps", { axis: -1 });
}

const kContrib = "com.microsoft";

/**
 * GroupQueryAttention, which is always causal. Its further inputs are earlier keys and values, their number, and the
 * number of all keys.
 */
function groupQuery(graph, [q, k, v], row, past, output) {
  const { batch, kv_heads: groups, keys, head_dim: d } = row;
  const lengths = graph.constant("lengths", [batch], new Int32Array(batch).fill(keys - 1));
  const total = graph.constant("total", [], Int32Array.of(keys));
  graph.node("GroupQueryAttention", [q, k, v, ...past, lengths, total], [output, "present_k", "present_v"],
    { num_heads: row.heads, kv_num_heads: groups }, kContrib);
  for (const name of ["present_k", "present_v"]) graph.output(name, [batch, groups, keys, d]);
  return output;
}

/** The part between the input projections and the output projection in each variant: q, k, v [B, T, D] → [B, T, D]. */
const layerVariants = {
  operators(graph, row, project) {
    const { batch, tokens, width, heads } = row;
    const split = graph.sizes("split", [batch, tokens, heads, width / heads]);
    const head = (name, perm) => graph.node("Transpose", [graph.node("Reshape", [project(name), split], `${name}_r`)], `${name}_t`, { perm });
    const [q, k, v] = [head("q", [0, 2, 1, 3]), head("k", [0, 2, 3, 1]), head("v", [0, 2, 1, 3])];
    const blend = graph.node("MatMul", [weightsOf(graph, q, k, row), v], "blend");
    const joined = graph.node("Transpose", [blend], "joined", { perm: [0, 2, 1, 3] });
    return graph.node("Reshape", [joined, graph.sizes("join", [batch, tokens, width])], "heads");
  },
  /** ai.onnx Attention of opset 23, which can return its weights (qk_matmul_output_mode 3). */
  Attention(graph, { heads, causal, maps }, project) {
    const attributes = { q_num_heads: heads, kv_num_heads: heads, is_causal: Number(causal) };
    if (maps) attributes.qk_matmul_output_mode = 3;
    const outputs = maps ? ["heads", "", "", "maps"] : "heads";
    return graph.node("Attention", [project("q"), project("k"), project("v")], outputs, attributes);
  },
  /** com.microsoft MultiHeadAttention, which adds the biases itself and cannot return its weights. */
  MultiHeadAttention(graph, { width, heads, causal }, project, { biases }) {
    const bias = new Float32Array(3 * width);
    ["q", "k", "v"].forEach((name, i) => bias.set(biases[name], i * width));
    const inputs = [...["q", "k", "v"].map((name) => project(name, false)), graph.constant("bias", [3 * width], bias)];
    return graph.node("MultiHeadAttention", inputs, "heads", { num_heads: heads, unidirectional: Number(causal) }, kContrib);
  },
  GroupQueryAttention: (graph, row, project) => groupQuery(graph, ["q", "k", "v"].map((name) => project(name)), row, ["", ""], "heads"),
};

function layerModel(row, variant, data) {
  const { batch, tokens, width, heads, maps } = row;
  const graph = new Graph();
  graph.input("x", [batch, tokens, width]);
  const project = (name, bias = true) => {
    const weight = graph.constant(`W_${name}`, [width, width], data.weights[name]);
    const product = graph.node("MatMul", ["x", weight], `${name}_m`);
    return bias ? graph.node("Add", [product, graph.constant(`b_${name}`, [width], data.biases[name])], `${name}_b`) : product;
  };
  const joined = layerVariants[variant](graph, { ...row, head_dim: width / heads }, project, data);
  const product = graph.node("MatMul", [joined, graph.constant("W_o", [width, width], data.weights.o)], "o_m");
  graph.node("Add", [product, graph.constant("b_o", [width], data.biases.o)], "output");
  graph.output("output", [batch, tokens, width]);
  if (maps) graph.output("maps", [batch, heads, tokens, tokens]);
  return { graph, feeds: { x: data.x } };
}

/** [1, X, Y, d] → [1, Y, X, d], since the contrib operators have their heads next to each other. */
export function swapHeads({ data, shape: [batch, x, y, d] }) {
  const swapped = new Float32Array(data.length);
  for (let i = 0; i < x; ++i)
    for (let j = 0; j < y; ++j) swapped.set(data.subarray((i * y + j) * d, (i * y + j + 1) * d), (j * x + i) * d);
  return { data: swapped, shape: [batch, y, x, d] };
}

const sideBySide = (tensor) => {
  const { data, shape: [batch, length, heads, d] } = swapHeads(tensor);
  return { data, shape: [batch, length, heads * d] };
};

/** The first `count` rows of keys or values [1, G, S, d]. */
function cut({ data, shape: [batch, groups, length, d] }, count) {
  const [past, rest] = [new Float32Array(groups * count * d), new Float32Array(groups * (length - count) * d)];
  for (let g = 0; g < groups; ++g) {
    const head = data.subarray(g * length * d, (g + 1) * length * d);
    past.set(head.subarray(0, count * d), g * count * d);
    rest.set(head.subarray(count * d), g * (length - count) * d);
  }
  return [{ data: past, shape: [batch, groups, count, d] }, { data: rest, shape: [batch, groups, length - count, d] }];
}

const coreVariants = {
  operators(graph, row, { q, k, v }) {
    const { heads, kv_heads: groups, keys, head_dim: d } = row;
    let names = ["q", "k", "v"];
    if (heads !== groups) {  // another dimension, which broadcasts
      const many = graph.sizes("many", [1, groups, heads / groups, row.queries, d]);
      const one = graph.sizes("one", [1, groups, 1, keys, d]);
      names = [["q", many], ["k", one], ["v", one]].map(([name, shape]) => graph.node("Reshape", [name, shape], `${name}_r`));
    }
    const perm = heads === groups ? [0, 1, 3, 2] : [0, 1, 2, 4, 3];
    const transposed = graph.node("Transpose", [names[1]], "k_t", { perm });
    const weights = weightsOf(graph, names[0], transposed, row);
    if (heads === groups) graph.node("MatMul", [weights, names[2]], "output");
    else graph.node("Reshape", [graph.node("MatMul", [weights, names[2]], "blend"), graph.sizes("back", q.shape)], "output");
    return { q, k, v };
  },
  Attention(graph, { causal }, { q, k, v }) {
    graph.node("Attention", ["q", "k", "v"], "output", { is_causal: Number(causal) });
    return { q, k, v };
  },
  MultiHeadAttention(graph, { heads, causal }, { q, k, v }) {
    graph.node("MultiHeadAttention", ["q", "k", "v"], "output", { num_heads: heads, unidirectional: Number(causal) }, kContrib);
    return { q: sideBySide(q), k: sideBySide(k), v: sideBySide(v) };
  },
  GroupQueryAttention(graph, row, { q, k, v }) {
    const past = row.queries === 1 ? row.keys - 1 : 0;
    const [[pastK, newK], [pastV, newV]] = [cut(k, past), cut(v, past)];
    groupQuery(graph, ["q", "k", "v"], row, ["past_k", "past_v"], "output");
    return { q: sideBySide(q), k: sideBySide(newK), v: sideBySide(newV), past_k: pastK, past_v: pastV };
  },
};

function coreModel(row, variant, data) {
  const { heads, queries, head_dim: d } = row;
  const graph = new Graph();
  const feeds = coreVariants[variant](graph, row, data);
  for (const [name, { shape }] of Object.entries(feeds)) graph.input(name, shape);
  const isContrib = variant.endsWith("HeadAttention") || variant === "GroupQueryAttention";
  graph.output("output", isContrib ? [1, queries, heads * d] : [1, heads, queries, d]);
  const apart = (output) => swapHeads({ data: output.data, shape: [1, queries, heads, d] });
  return { graph, feeds, result: isContrib ? apart : undefined };
}

/** One head's map, averaged over blocks for the picture. */
function mapModel(row, _, { q, k }) {
  const { tokens, pool, rows } = row;
  const d = q.shape[3];
  const graph = new Graph();
  const feeds = { q: pool ? q : { data: q.data.subarray(0, rows * d), shape: [1, 1, rows, d] }, k };
  for (const [name, { shape }] of Object.entries(feeds)) graph.input(name, shape);
  const transposed = graph.node("Transpose", ["k"], "k_t", { perm: [0, 1, 3, 2] });
  const weights = weightsOf(graph, "q", transposed, { head_dim: d, causal: false });
  const block = tokens / pool;
  if (pool) graph.node("AveragePool", [weights], "pooled", { kernel_shape: [block, block], strides: [block, block] });
  const name = pool ? "pooled" : "maps";
  graph.output(name, pool ? [1, 1, pool, pool] : [1, 1, rows, tokens]);
  return { graph, feeds, maps: name };
}

/** The variants that can return what the row asks for. */
export function variantsOf({ kind, maps, causal, heads, kv_heads: groups, queries }) {
  if (kind === "map") return ["operators"];
  if (kind !== "layer" && kind !== "core") return [];
  const variants = ["operators", "Attention"];
  if (!maps && heads === groups) variants.push("MultiHeadAttention");
  if (!maps && (causal || queries === 1)) variants.push("GroupQueryAttention");
  return variants;
}

/** The bytes of all scores before and after a softmax, and of a mask, which a graph has in memory at once. */
export function scoreBytes({ batch, heads, queries, keys, causal }) {
  return 4 * queries * keys * (2 * batch * heads + Number(causal));
}

/**
 * The row as an ONNX model with its inputs. Its results are "output" and, when wanted, "maps" (or the name in `maps`),
 * which `result` puts in order.
 */
export function modelOf(row, variant, data) {
  const make = { layer: layerModel, core: coreModel, map: mapModel }[row.kind];
  const { graph, ...rest } = make(row, variant, data);
  return { model: graph.model(variant === "Attention" ? 23 : 17), ...rest };
}
