// SPDX-License-Identifier: Apache-2.0
/**
 * The workloads that are measured, under the names of `headlens bench`, and the operations or bytes that each needs.
 */
import type { Engine, Model, Tensor } from "headlens";

interface Layer {
  readonly kind: "layer";
  readonly batch: number;
  readonly tokens: number;
  readonly width: number;
  readonly heads: number;
  readonly causal: boolean;
  readonly maps: boolean;
}

interface Core {
  readonly kind: "core";
  readonly heads: number;
  readonly kvHeads: number;
  readonly queries: number;
  readonly keys: number;
  readonly headDim: number;
  readonly causal: boolean;
  readonly keysAndValues: "f32" | "bf16";
}

/** The map of one head of a model with one layer: pooled to this many rows and columns, or this many rows of it. */
interface MapOfHead {
  readonly kind: "map";
  readonly tokens: number;
  readonly width: number;
  readonly pool?: number;
  readonly rows?: number;
}

/** The built-in model on this many tokens, with the maps of all its heads. */
interface WholeModel {
  readonly kind: "model";
  readonly tokens: number;
}

interface Named {
  readonly name: string;
  readonly about: string;
  /** True when it takes a minute or more. */
  readonly isLong?: boolean;
}

export type Workload = Named & (Layer | Core | MapOfHead | WholeModel);

const inWords = (count: number): string => count.toLocaleString("en");

type LayerSizes = Pick<Layer, "tokens" | "width" | "heads"> & Partial<Pick<Layer, "batch" | "causal">>;

function layer(name: string, { batch = 1, tokens, width, heads, causal = false }: LayerSizes): Workload[] {
  const texts = batch === 1 ? "" : `${batch} texts of `;
  const about = `${texts}${inWords(tokens)} tokens, ${inWords(heads)} heads, width ${width}${causal ? ", causal" : ""}`;
  return [true, false].map((maps) => ({
    name: `${name}/${maps ? "maps" : "no_maps"}`,
    about: `${about}, ${maps ? "with all maps" : "without maps"}`,
    kind: "layer", batch, tokens, width, heads, causal, maps,
  }));
}

type CoreSizes =
  Pick<Core, "heads" | "keys" | "headDim"> & Partial<Pick<Core, "kvHeads" | "queries" | "causal" | "keysAndValues">>;

function core(name: string, sizes: CoreSizes): Workload {
  const { heads, kvHeads = heads, keys, queries = keys, headDim, causal = false, keysAndValues = "f32" } = sizes;
  const length = queries === keys ? `${inWords(keys)} tokens` : `1 query on ${inWords(keys)} keys`;
  const groups = kvHeads === heads ? "" : ` on ${kvHeads} of keys and values`;
  const kept = keysAndValues === "bf16" ? ", kept in BF16" : "";
  const about = `${length}, ${heads} heads${groups} of width ${headDim}${causal ? ", causal" : ""}${kept}`;
  return { name, about, kind: "core", heads, kvHeads, queries, keys, headDim, causal, keysAndValues };
}

export const kWorkloads: readonly Workload[] = [
  ...layer("tutorial", { tokens: 16, width: 64, heads: 4 }),
  ...layer("bert", { tokens: 128, width: 768, heads: 12 }),
  ...layer("bert512", { tokens: 512, width: 768, heads: 12 }),
  ...layer("gpt1k", { tokens: 1024, width: 768, heads: 12, causal: true }),
  ...layer("batch", { batch: 8, tokens: 128, width: 512, heads: 8 }),
  core("core2k", { heads: 8, keys: 2048, headDim: 64 }),
  core("core2k_causal", { heads: 8, keys: 2048, headDim: 64, causal: true }),
  core("core4k", { heads: 8, keys: 4096, headDim: 64, causal: true }),
  { ...core("core16k", { heads: 8, keys: 16384, headDim: 64, causal: true }), isLong: true },
  core("decode", { heads: 12, queries: 1, keys: 4096, headDim: 64 }),
  core("decode/bf16", { heads: 12, queries: 1, keys: 4096, headDim: 64, keysAndValues: "bf16" }),
  core("decode/gqa", { heads: 32, kvHeads: 8, queries: 1, keys: 4096, headDim: 128 }),
  core("gqa", { heads: 32, kvHeads: 8, keys: 512, headDim: 128, causal: true }),
  { name: "map4k/pooled", about: "one head's map of 4,096 tokens, as 512 × 512 cells", kind: "map", tokens: 4096, width: 64, pool: 512 },
  { name: "map4k/strip", about: "64 rows of one head's map of 4,096 tokens", kind: "map", tokens: 4096, width: 64, rows: 64 },
  { name: "tiny", about: "the built-in model on 64 tokens, with all maps", kind: "model", tokens: 64 },
];

/**
 * The built-in model: 4 layers, each with four projections and the three matrices of the feed-forward network, without
 * the unembedding.
 */
const kTiny = { layers: 4, width: 128, linear: 4 * (4 * 128 * 128 + 3 * 128 * 352) };

/**
 * The number of floating-point operations that the result needs: 8·B·T·D² for projections, and 4·B·H·T·S·d for
 * attention, half of that when causal.
 */
export function operations(row: Workload): number {
  switch (row.kind) {
    case "layer":
      return row.batch * (8 * row.tokens * row.width ** 2 + (row.causal ? 2 : 4) * row.tokens ** 2 * row.width);
    case "core":
      return (row.causal ? 2 : 4) * row.heads * row.queries * row.keys * row.headDim;
    case "map":
      return 2 * (row.rows ?? row.tokens) * row.tokens * row.width;
    case "model":
      return 2 * row.tokens * kTiny.linear + 2 * kTiny.layers * row.tokens ** 2 * kTiny.width;
  }
}

/**
 * The bytes that must at least be read when memory limits the speed: keys and values for a single query. 0 for others.
 */
export function bytes(row: Workload): number {
  if (row.kind !== "core" || row.queries !== 1) return 0;
  return (row.keysAndValues === "bf16" ? 2 : 4) * 2 * row.kvHeads * row.keys * row.headDim;
}

/** Normally distributed random numbers around 0 (Box & Muller 1958). */
function normal(deviation: number, ...shape: number[]): Tensor {
  const data = new Float32Array(shape.reduce((size, n) => size * n, 1));
  for (let i = 0; i < data.length; i += 2) {
    const radius = deviation * Math.sqrt(-2 * Math.log(1 - Math.random()));
    const angle = 2 * Math.PI * Math.random();
    data[i] = radius * Math.cos(angle);
    data[i + 1] = radius * Math.sin(angle);
  }
  return { data, shape };
}

/** One call of a workload, and a function that frees its memory. */
export interface Prepared {
  call(this: void): void;
  dispose(this: void): void;
}

function prepareLayer(engine: Engine, { batch, tokens, width, heads, causal, maps }: Layer): Prepared {
  const made = engine.multiheadAttention({ embedDim: width, numHeads: heads, batchFirst: true });
  const weights = (rows: number): Tensor => normal(1 / Math.sqrt(width), rows, width);
  made.loadStateDict({
    in_proj_weight: weights(3 * width),
    in_proj_bias: normal(0.1, 3 * width),
    "out_proj.weight": weights(width),
    "out_proj.bias": normal(0.1, width),
  });
  const x = normal(1, batch, tokens, width);
  const options = { isCausal: causal, needWeights: maps, averageAttnWeights: false };
  return { call: () => void made.forward(x, options), dispose: () => made.dispose() };
}

/** A decoding step with a cache of keys and values. Each call adds one token, and the oldest is dropped. */
function prepareStep(engine: Engine, { heads, kvHeads, keys, headDim, keysAndValues }: Core): Prepared {
  const cache = engine.cachedAttention({ window: keys, dtype: keysAndValues === "bf16" ? "bfloat16" : "float32" });
  const q = normal(1, 1, heads, 1, headDim);
  const rows = (count: number): Tensor => normal(1, 1, kvHeads, count, headDim);
  const options = { enableGqa: heads !== kvHeads };
  cache.forward(q, rows(keys), rows(keys), options);
  const [k, v] = [rows(1), rows(1)];
  return { call: () => void cache.forward(q, k, v, options), dispose: () => cache.dispose() };
}

function prepareCore(engine: Engine, { heads, kvHeads, queries, keys, headDim, causal }: Core): Prepared {
  const q = normal(1, 1, heads, queries, headDim);
  const [k, v] = [normal(1, 1, kvHeads, keys, headDim), normal(1, 1, kvHeads, keys, headDim)];
  const options = { isCausal: causal, enableGqa: heads !== kvHeads };
  return { call: () => void engine.scaledDotProductAttention(q, k, v, options), dispose: () => undefined };
}

/** The files of a BERT model with one layer and one head, whose queries and keys give the maps. */
function oneHead(tokens: number, width: number): File[] {
  const config = {
    model_type: "bert", hidden_size: width, num_hidden_layers: 1, num_attention_heads: 1, intermediate_size: width,
    max_position_embeddings: tokens, vocab_size: 2, type_vocab_size: 1, hidden_act: "gelu", layer_norm_eps: 1e-12,
  };
  const tokenizer = { model: { type: "BPE", vocab: { a: 0, b: 1 }, merges: [] } };
  const layer = "encoder.layer.0.";
  const norms = ["embeddings.LayerNorm", `${layer}attention.output.LayerNorm`, `${layer}output.LayerNorm`];
  const attention = ["self.query", "self.key", "self.value", "output.dense"].map((part) => `${layer}attention.${part}`);
  const linears = [...attention, `${layer}intermediate.dense`, `${layer}output.dense`];
  const named = (names: readonly string[], weight: () => Tensor): [string, Tensor][] =>
    names.flatMap((name) => [[`${name}.weight`, weight()], [`${name}.bias`, normal(0.1, width)]]);
  const weights = safetensors([
    ["embeddings.word_embeddings.weight", normal(1, 2, width)],
    ["embeddings.position_embeddings.weight", normal(1, tokens, width)],
    ["embeddings.token_type_embeddings.weight", normal(1, 1, width)],
    ...named(norms, () => normal(1, width)),
    ...named(linears, () => normal(1 / Math.sqrt(width), width, width)),
  ]);
  return [
    new File([JSON.stringify(config)], "config.json"),
    new File([JSON.stringify(tokenizer)], "tokenizer.json"),
    new File(weights, "model.safetensors"),
  ];
}

/** The parts of a safetensors file. */
function safetensors(tensors: readonly (readonly [string, Tensor])[]): BlobPart[] {
  let end = 0;
  const entries = tensors.map(([name, { data, shape }]) =>
    [name, { dtype: "F32", shape, data_offsets: [end, (end += data.byteLength)] }]);
  const header = new TextEncoder().encode(JSON.stringify(Object.fromEntries(entries)));
  const values = tensors.map(([, { data }]) => data as Float32Array<ArrayBuffer>);
  return [new BigUint64Array([BigInt(header.length)]), header, ...values];
}

/** Token ids that are spread over the vocabulary. */
const idsOf = (tokens: number, { info }: Model): number[] =>
  Array.from({ length: tokens }, (_, i) => (i * 7919) % info.vocabSize);

async function prepareMap(engine: Engine, { tokens, width, pool, rows }: MapOfHead): Promise<Prepared> {
  const model = await engine.loadModel(oneHead(tokens, width));
  const seen = model.attend(idsOf(tokens, model));
  const begin = tokens / 2;
  const strip = { rows: [begin, begin + (rows ?? 0)] as const };
  const options = pool === undefined ? strip : { pool: [pool, pool] as const };
  return { call: () => void seen.map(0, 0, options), dispose: () => model.dispose() };
}

async function prepareModel(engine: Engine, { tokens }: WholeModel): Promise<Prepared> {
  const model = await engine.loadModel("tiny");
  const ids = idsOf(tokens, model);
  const { layers, heads } = model.info;
  const call = (): void => {
    const seen = model.attend(ids);
    for (let at = 0; at < layers * heads; at++) seen.map(Math.floor(at / heads), at % heads);
    seen.dispose();
  };
  return { call, dispose: () => model.dispose() };
}

export async function prepare(engine: Engine, row: Workload): Promise<Prepared> {
  switch (row.kind) {
    case "layer":
      return prepareLayer(engine, row);
    case "core":
      return row.queries === 1 ? prepareStep(engine, row) : prepareCore(engine, row);
    case "map":
      return prepareMap(engine, row);
    case "model":
      return prepareModel(engine, row);
  }
}
