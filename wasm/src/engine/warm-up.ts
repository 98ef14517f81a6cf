// SPDX-License-Identifier: Apache-2.0
/**
 * JavaScript engines start WebAssembly in a compiler that is quick to compile and slow to run, and swap optimised code in between two
 * calls, once a function has run long enough. So what pages compute first is computed here before, on zeros: a small model of the built-in
 * one's kind with its maps, and a layer of attention.
 */
import type { AsyncEngine, AsyncModel, Engine, TensorLike } from "../types/index.js";

/** The number of tokens of each round. The first rounds run slow code, and are short. */
const kRounds = [2, 4, 8, 16, 32, 32, 32, 32, 16, 16, 16, 16, 8, 8, 8, 8] as const;
/** The number of tokens of each round of explanations, which are looked at less often. */
const kExplained = [4, 8, 8] as const;
const kMaxTokens = 32;
const kWidth = 128;
const kInner = 352;
const kHeads = 8;
const kStart = "<s>";
const kVocabulary = [kStart, "a", "b", "Ġ", "ab", "Ġab"];

const kConfig = {
  model_type: "llama", hidden_size: kWidth, intermediate_size: kInner, num_hidden_layers: 1, num_attention_heads: kHeads,
  num_key_value_heads: kHeads, hidden_act: "silu", rms_norm_eps: 1e-5, vocab_size: kVocabulary.length,
  max_position_embeddings: kMaxTokens, tie_word_embeddings: true,
};

const kTokenizer = {
  version: "1.0", normalizer: null,
  added_tokens: [
    { id: 0, content: kStart, single_word: false, lstrip: false, rstrip: false, normalized: false, special: true },
  ],
  post_processor: {
    type: "TemplateProcessing", single: [{ SpecialToken: { id: kStart, type_id: 0 } }, { Sequence: { id: "A", type_id: 0 } }],
    pair: [], special_tokens: { [kStart]: { id: kStart, ids: [0], tokens: [kStart] } },
  },
  pre_tokenizer: { type: "ByteLevel", add_prefix_space: false, use_regex: true }, decoder: { type: "ByteLevel" },
  model: { type: "BPE", vocab: Object.fromEntries(kVocabulary.map((token, id) => [token, id])), merges: [["a", "b"], ["Ġ", "ab"]] },
};

const kParameters: readonly (readonly [name: string, ...shape: number[]])[] = [
  ["model.embed_tokens.weight", kVocabulary.length, kWidth], ["model.norm.weight", kWidth],
  ...["input_layernorm", "post_attention_layernorm"].map((name) => [`model.layers.0.${name}.weight`, kWidth] as const),
  ...["q", "k", "v", "o"].map((name) => [`model.layers.0.self_attn.${name}_proj.weight`, kWidth, kWidth] as const),
  ["model.layers.0.mlp.gate_proj.weight", kInner, kWidth], ["model.layers.0.mlp.up_proj.weight", kInner, kWidth],
  ["model.layers.0.mlp.down_proj.weight", kWidth, kInner],
];

const sizeOf = (shape: readonly number[]): number => shape.reduce((size, n) => size * n, 1);

/** Makes a safetensors file of half floats that are all 0. */
function zeroWeights(): Uint8Array<ArrayBuffer> {
  let end = 0;
  const entries = kParameters.map(([name, ...shape]) =>
    [name, { dtype: "F16", shape, data_offsets: [end, end += 2 * sizeOf(shape)] }]);
  const header = new TextEncoder().encode(JSON.stringify(Object.fromEntries(entries)));
  const file = new Uint8Array(8 + header.length + end);
  new DataView(file.buffer).setBigUint64(0, BigInt(header.length), true);
  file.set(header, 8);
  return file;
}

function loadZeros(engine: AsyncEngine): Promise<AsyncModel> {
  return engine.loadModel([
    new File([JSON.stringify(kConfig)], "config.json"), new File([JSON.stringify(kTokenizer)], "tokenizer.json"),
    new File([zeroWeights()], "model.safetensors"),
  ]);
}

/** Resolves when others have had their turn. */
type Turn = () => Promise<void>;

const nextTurn: Turn = () => new Promise((resolve) => setTimeout(resolve));

/** Computes what a page shows of a model. */
async function runModel(model: AsyncModel, tokens: number, turn: Turn): Promise<void> {
  const seen = await model.attend("ab" + " ab".repeat(tokens - 2));
  await turn();
  await seen.overview(0, { pool: [tokens, tokens] });
  await seen.map(0, 0, { pool: [tokens, tokens], pooling: "max" });
  for (let head = 0; head < kHeads; ++head) await seen.map(0, head);
  await seen.logits({ rows: [tokens - 1, tokens] });
  seen.dispose();
}

/** Computes what a page tells of a head: why it looks where it looks, what it writes, and how two runs differ. */
async function explainRun(engine: AsyncEngine, model: AsyncModel, tokens: number, turn: Turn): Promise<void> {
  const seen = await model.attend("ab" + " ab".repeat(tokens - 2), { keepHidden: true });
  await turn();
  const from = await seen.again({ keepHidden: true, keepParts: true, keepValues: true });
  await turn();
  const place = { layer: 0, head: 0 };
  const [query, position] = [tokens - 1, tokens - 1];
  await Promise.all([from.queries(0), from.keys(0), from.values(0)]);
  await from.explain({ ...place, query });
  await turn();
  await from.explainOutput({ ...place, query });
  await from.written({ ...place, position, top: 1 });
  await from.predictions({ position, top: 1, layer: 0 });
  await turn();
  await model.patch({ from, ...place, positions: [query] });
  const difference = await engine.difference(seen, from);
  await difference.divergences();
  for (const made of [difference, from, seen]) made.dispose();
}

const zeros = (...shape: number[]): TensorLike => ({ data: new Float32Array(sizeOf(shape)), shape });

/** Runs a layer with its maps and without. */
async function runLayer(engine: AsyncEngine, tokens: number, turn: Turn): Promise<void> {
  const layer = await engine.multiheadAttention({ embedDim: 64, numHeads: 4 });
  await layer.loadStateDict({
    in_proj_weight: zeros(192, 64), in_proj_bias: zeros(192), "out_proj.weight": zeros(64, 64), "out_proj.bias": zeros(64),
  });
  const x = zeros(1, tokens, 64);
  await layer.forward(x, { averageAttnWeights: false });
  await layer.forward(x, { needWeights: false, isCausal: true });
  layer.dispose();
  await turn();
  const heads = zeros(1, 4, tokens, 16);
  await engine.scaledDotProductAttention(heads, heads, heads, { isCausal: true, needWeights: true });
}

/**
 * Warms up an engine in short turns, before each of which `turn` lets others have theirs. An engine that answers at once is awaited like
 * one in a worker. A worker's engine is warmed up from here, so that the way to it and back is warm, too.
 */
export async function warmUp(anyEngine: Engine | AsyncEngine, turn: Turn = nextTurn): Promise<void> {
  const engine = anyEngine as AsyncEngine;
  const model = await loadZeros(engine);
  try {
    for (const tokens of kRounds) {
      await turn();
      await runModel(model, tokens, turn);
      await turn();
      await runLayer(engine, tokens, turn);
    }
    for (const tokens of kExplained) {
      await turn();
      await explainRun(engine, model, tokens, turn);
    }
  } finally {
    model.dispose();
  }
}
