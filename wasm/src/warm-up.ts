// SPDX-License-Identifier: Apache-2.0
/**
 * JavaScript engines start WebAssembly in a compiler that is quick to compile and slow to run, and swap optimised code in between two
 * calls, once a function has run long enough. So what pages compute first is computed here before, on zeros: a small model of the built-in
 * one's kind with its maps, and a layer of attention.
 */
import type { Engine, Model, TensorLike } from "./types.js";

/** Tokens of each round: the first ones, on slow code, are short. */
const kRounds = [2, 4, 8, 16, 32, 32, 32, 32] as const;
const kMaxTokens = 32;
const kWidth = 128;
const kInner = 352;
const kHeads = 8;
const kVocabulary = ["a", "b", "Ġ", "ab", "Ġab"];

const kConfig = {
  model_type: "llama", hidden_size: kWidth, intermediate_size: kInner, num_hidden_layers: 1, num_attention_heads: kHeads,
  num_key_value_heads: kHeads, hidden_act: "silu", rms_norm_eps: 1e-5, vocab_size: kVocabulary.length,
  max_position_embeddings: kMaxTokens, tie_word_embeddings: true,
};

const kTokenizer = {
  version: "1.0", added_tokens: [], normalizer: null, post_processor: null,
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

/** A safetensors file of half floats that are all 0. */
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

function loadZeros(engine: Engine): Promise<Model> {
  return engine.loadModel([
    new File([JSON.stringify(kConfig)], "config.json"), new File([JSON.stringify(kTokenizer)], "tokenizer.json"),
    new File([zeroWeights()], "model.safetensors"),
  ]);
}

/** What a page shows of a model. */
function* runModel(model: Model, tokens: number): Generator<undefined, void> {
  const seen = model.attend("ab" + " ab".repeat(tokens - 1));
  yield;
  seen.allPixels({ colormap: "sequential", min: 0, max: 1 });
  for (let head = 0; head < kHeads; ++head) seen.map(0, head);
  seen.logits({ rows: [tokens - 1, tokens] });
  seen.dispose();
}

const zeros = (...shape: number[]): TensorLike => ({ data: new Float32Array(sizeOf(shape)), shape });

/** A layer with its maps and without. */
function* runLayer(engine: Engine, tokens: number): Generator<undefined, void> {
  const layer = engine.multiheadAttention({ embedDim: 64, numHeads: 4 });
  layer.loadStateDict({
    in_proj_weight: zeros(192, 64), in_proj_bias: zeros(192), "out_proj.weight": zeros(64, 64), "out_proj.bias": zeros(64),
  });
  const x = zeros(1, tokens, 64);
  layer.forward(x, { averageAttnWeights: false });
  layer.forward(x, { needWeights: false, isCausal: true });
  layer.dispose();
  yield;
  const heads = zeros(1, 4, tokens, 16);
  engine.scaledDotProductAttention(heads, heads, heads, { isCausal: true, needWeights: true });
}

function* steps(engine: Engine, model: Model): Generator<undefined, void> {
  for (const tokens of kRounds) {
    yield;
    yield* runModel(model, tokens);
    yield;
    yield* runLayer(engine, tokens);
  }
}

/** Works in short turns, after each of which others have theirs. */
export async function warmUp(engine: Engine): Promise<void> {
  const model = await loadZeros(engine);
  try {
    for (const todo = steps(engine, model); !todo.next().done;) await new Promise((resolve) => setTimeout(resolve));
  } finally {
    model.dispose();
  }
}
