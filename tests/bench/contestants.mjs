// SPDX-License-Identifier: Apache-2.0
/**
 * The contestants, in Node and in pages. A contestant is { name, variant?, round(calls) → seconds per call, look(rows)
 * → Promise of { output?, maps? } for those queries, limit?() → Promise of one thread's highest GFLOP/s, peakBytes?(),
 * close() }. Its maker gets a job { row, data } and `host`: { load, threads, peer(name) → module, tokenizer() → text },
 * which differs between Node and pages.
 */
import { wasmLimit } from "./limit.mjs";
import { modelOf, scoreBytes, variantsOf } from "./onnx.mjs";
import { tensorflow } from "./tensorflow.mjs";
import { idsOf, modelSource, pickRows } from "./workloads.mjs";

/**
 * Rows whose scores take more bytes are skipped: a WebAssembly memory ends at 4 GiB, and this machine must not be
 * filled.
 */
const kMostScoreBytes = { "onnxruntime-web": 2 ** 31, "tfjs-wasm": 2 ** 31, "onnxruntime-node": 2 ** 32 };

/** In WebAssembly GroupQueryAttention takes 8 s and more for larger rows, for which other graphs take one second. */
const kMostGroupQueryScores = 2 ** 23;

async function timed(calls, call) {
  const start = performance.now();
  for (let i = 0; i < calls; ++i) await call();
  return (performance.now() - start) / 1000 / calls;
}

/**
 * V8 replaces WebAssembly by optimised code between calls, once its background compiler is done. So this calls and
 * waits.
 */
export async function warmUp(contestant) {
  const end = performance.now() + 600;
  let calls = 1;
  do {
    const seconds = await contestant.round(calls);
    calls = Math.max(1, Math.min(50, Math.floor(0.01 / seconds)));
    await new Promise((resolve) => setTimeout(resolve, Math.min(5, 1000 * seconds)));
  } while (performance.now() < end);
  return contestant;
}

/**
 * One query on keys and values that are already in the engine's cache, as in decoding. Each call adds another copy of
 * these keys and drops the oldest, so that the window always holds all of them.
 */
function decodingStep(engine, row, q, k, v) {
  const cache = engine.cachedAttention({ window: row.keys, dtype: row.keys_and_values === "bf16" ? "bfloat16" : "float32" });
  const all = Array.from({ length: row.keys }, (_, i) => i);
  const steps = all.map((i) => [q, pickRows(k, [i]), pickRows(v, [i])]);
  const [first, start] = [steps.pop(), all.slice(0, -1)];
  const options = { enableGqa: row.heads !== row.kv_heads };
  cache.forward(pickRows(q, start.map(() => 0)), pickRows(k, start), pickRows(v, start), options);
  steps.unshift(first);
  let call = 0;
  return () => cache.forward(...steps[call++ % row.keys], options);
}

/** Repeats a call, each time into the results of the call before. */
function again(options, call) {
  return () => {
    options.out = call();
    return { output: options.out.output, maps: options.out.weights };
  };
}

/**
 * A call of each kind, as a user of the npm package makes it: a function without arguments that returns { output?,
 * maps? }.
 */
const calls = {
  layer(engine, { row, data }) {
    const layer = engine.multiheadAttention({ embedDim: row.width, numHeads: row.heads, batchFirst: true });
    layer.loadStateDict(data.state);
    const options = { isCausal: row.causal, needWeights: row.maps, averageAttnWeights: false };
    return again(options, () => layer.forward(data.x, undefined, undefined, options));
  },
  core(engine, { row, data: { q, k, v } }) {
    if (row.queries === 1) return decodingStep(engine, row, q, k, v);
    const options = { isCausal: row.causal, enableGqa: row.heads !== row.kv_heads, conventions: row.conventions };
    return again(options, () => engine.scaledDotProductAttention(q, k, v, options));
  },
  async map(engine, { row }, host) {
    const model = await engine.loadModel(modelSource(row, await host.tokenizer()));
    const seen = model.attend(idsOf(row));
    const options = row.pool ? { pool: [row.pool, row.pool] } : { rows: [0, row.rows] };
    return () => ({ maps: seen.map(0, 0, options) });
  },
  async model(engine, { row }, host) {
    const model = await engine.loadModel(modelSource(row, await host.tokenizer()));
    const ids = idsOf(row);
    return () => {
      const seen = model.attend(ids);
      const maps = [];
      for (let layer = 0; layer < row.model.layers; ++layer)
        for (let head = 0; head < row.model.heads; ++head) maps.push(seen.map(layer, head));
      seen.dispose();
      return { maps: maps.at(-1) };
    };
  },
  async decode(engine, { row }, host) {
    const model = await engine.loadModel(modelSource(row, await host.tokenizer()));
    const ids = idsOf(row);
    return () => {
      const decoding = model.startDecoding();
      let step;
      for (const id of ids) step = decoding.step([id]);
      decoding.dispose();
      return { output: { data: step.logits.data, shape: [step.logits.data.length, 1] } };
    };
  },
};

/** The npm package, called as its users call it. */
export async function ours(simd, job, host) {
  const engine = await host.load({ simd, threads: host.threads });
  const call = await calls[job.row.kind](engine, job, host);
  const limit = await wasmLimit(simd);
  let last;
  return warmUp({
    name: `headlens wasm ${simd}`,
    // Calls are not awaited one by one: ours return at once, where onnxruntime's return promises.
    async round(count) {
      const start = performance.now();
      for (let i = 0; i < count; ++i) {
        last = undefined;
        last = call();
      }
      return (performance.now() - start) / 1000 / count;
    },
    look: async (rows) => lookAt(last, rows),
    limit: async () => limit(),
    close: () => engine.dispose(),
  });
}

function lookAt({ output, maps }, rows) {
  return { output: output && pickRows(output, rows), maps: maps && pickRows(maps, rows) };
}

/** A peer with one of its graphs. Passes on the peer's errors. */
export async function peer(name, variant, job, host) {
  if (name !== "tfjs-wasm") return onnxruntime(name, variant, job, host);
  const contestant = await tensorflow(name, variant, job, host);
  return { ...contestant, look: async (rows) => lookAt(contestant.results(), rows) };
}

async function onnxruntime(name, variant, { row, data }, host) {
  const ort = await host.peer(name);
  const { model, feeds: inputs, result = (output) => output, maps = row.maps && "maps" } = modelOf(row, variant, data);
  const session = await ort.InferenceSession.create(model, {
    executionProviders: [name === "onnxruntime-web" ? "wasm" : "cpu"], graphOptimizationLevel: "all",
    intraOpNumThreads: host.threads, interOpNumThreads: 1, logSeverityLevel: 4,
  });
  const feeds = {};
  for (const [input, { data: values, shape }] of Object.entries(inputs)) feeds[input] = new ort.Tensor("float32", values, shape);
  const tensor = (output) => output && { data: output.data, shape: [...output.dims] };
  let last;
  return {
    name, variant,
    round: (count) => timed(count, async () => {
      last = undefined;
      last = await session.run(feeds);
    }),
    async look(rows) {
      const output = last.output && result(tensor(last.output));
      return lookAt({ output, maps: maps && tensor(last[maps]) }, rows);
    },
    close: () => session.release(),
  };
}

/** The graphs that the peer can run for this row, and the reasons against others: { variants, skipped }. */
export function graphsFor(name, row) {
  const isSlow = (variant) => name === "onnxruntime-web" && variant === "GroupQueryAttention" &&
    row.heads * row.queries * row.keys > kMostGroupQueryScores;
  const all = variantsOf(row).filter((variant) => !isSlow(variant) && (name !== "tfjs-wasm" || variant === "operators"));
  const needed = row.kind === "map" ? 0 : scoreBytes(row);
  if (needed <= kMostScoreBytes[name]) return { variants: all, skipped: [] };
  const why = `its scores would take ${(needed / 2 ** 30).toFixed(0)} GiB`;
  return { variants: [], skipped: all.map((variant) => `${variant}: ${why}`) };
}
