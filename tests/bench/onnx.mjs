// SPDX-License-Identifier: Apache-2.0
/** The same layer as ONNX graphs, so that onnxruntime can be given the one it runs fastest. Written as protocol buffers by hand. */
import { TextEncoder } from "node:util";

// Fields of onnx.proto are numbered; a wire type of 0 is a varint, 2 a length-delimited field, 5 four bytes.
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
const kInt64 = 7;

function tensor(name, shape, data) {
  const type = data instanceof Float32Array ? kFloat : kInt64;
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

  /** Adds a node and returns its first output's name. An output that is not wanted is "". */
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

/** Plain operators: projections, split heads, scores, softmax, blend, joined heads. */
function plainOperators(graph, { tokens, width, heads }, project) {
  const split = graph.sizes("split", [1, tokens, heads, width / heads]);
  const head = (name, perm) => graph.node("Transpose", [graph.node("Reshape", [project(name), split], `${name}_r`)], `${name}_t`, { perm });
  const q = head("q", [0, 2, 1, 3]);
  const k = head("k", [0, 2, 3, 1]);
  const v = head("v", [0, 2, 1, 3]);
  const scale = graph.constant("scale", [], Float32Array.of(1 / Math.sqrt(width / heads)));
  graph.node("Softmax", [graph.node("Mul", [graph.node("MatMul", [q, k], "qk"), scale], "scaled")], "maps", { axis: -1 });
  const blend = graph.node("Transpose", [graph.node("MatMul", ["maps", v], "blend")], "joined", { perm: [0, 2, 1, 3] });
  return graph.node("Reshape", [blend, graph.sizes("join", [1, tokens, width])], "heads");
}

/** ai.onnx Attention of opset 23, which can hand its weights out (qk_matmul_output_mode 3). */
function attentionOperator(graph, { heads }, project, maps) {
  const attributes = { q_num_heads: heads, kv_num_heads: heads, ...(maps ? { qk_matmul_output_mode: 3 } : {}) };
  return graph.node("Attention", [project("q"), project("k"), project("v")], maps ? ["heads", "", "", "maps"] : "heads", attributes);
}

/** com.microsoft MultiHeadAttention, which adds the biases itself and hands no weights out. */
function contribOperator(graph, { width, heads }, project, { biases }) {
  const bias = new Float32Array(3 * width);
  ["q", "k", "v"].forEach((name, i) => bias.set(biases[name], i * width));
  const inputs = [...["q", "k", "v"].map((name) => project(name, false)), graph.constant("bias", [3 * width], bias)];
  return graph.node("MultiHeadAttention", inputs, "heads", { num_heads: heads }, "com.microsoft");
}

export const kVariants = ["operators", "Attention", "MultiHeadAttention"];

/** The layer as an ONNX model: x → y, and maps when asked for. Null where the variant cannot give them. */
export function modelOf(workload, variant, maps, onnx) {
  if (variant === "MultiHeadAttention" && maps) return null;
  const { tokens, width, heads } = workload;
  const graph = new Graph();
  graph.input("x", [1, tokens, width]);
  const project = (name, bias = true) => {
    const weight = graph.constant(`W_${name}`, [width, width], onnx.weights[name]);
    const product = graph.node("MatMul", ["x", weight], `${name}_m`);
    return bias ? graph.node("Add", [product, graph.constant(`b_${name}`, [width], onnx.biases[name])], `${name}_b`) : product;
  };
  const joined = {
    operators: () => plainOperators(graph, workload, project),
    Attention: () => attentionOperator(graph, workload, project, maps),
    MultiHeadAttention: () => contribOperator(graph, workload, project, onnx),
  }[variant]();
  const product = graph.node("MatMul", [joined, graph.constant("W_o", [width, width], onnx.weights.o)], "o_m");
  graph.node("Add", [product, graph.constant("b_o", [width], onnx.biases.o)], "y");
  graph.output("y", [1, tokens, width]);
  if (maps) graph.output("maps", [1, heads, tokens, tokens]);
  return graph.model(variant === "Attention" ? 23 : 17);
}
