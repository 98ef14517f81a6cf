// SPDX-License-Identifier: Apache-2.0
import { apiName, toRequest } from "../arguments/names.js";
import { floats } from "../arguments/inputs.js";
import { expectThere } from "../arguments/tensors.js";
import { guarded, show, showShape, unwrap, wrong } from "../module/failures.js";
import type { HeadlensModule } from "../module/module.js";
import type { Platform, Thread } from "../platform/platform.js";
import type {
  AttentionMaps, AttentionMapsOptions, CachedAttention, CacheOptions, ColorbarOptions, ColorOptions, Difference,
  Embedding, EmbeddingOptions, Engine, EngineInfo, Image, LoadModelOptions, Maybe, Model, ModelAttention, ModelSource,
  MultiheadAttention,
  MultiheadAttentionOptions, ScaledDotProductAttentionOptions, TensorLike, TransformerDecoderLayer,
  TransformerEncoderLayer, TransformerLayerOptions,
} from "../types/index.js";
import { WasmAnalyses } from "./analyses.js";
import { WasmDifference } from "./difference.js";
import {
  createAttention, queryKeyValue, WasmCachedAttention, WasmDecoderLayer, WasmEmbedding, WasmEncoderLayer,
  WasmMultiheadAttention,
} from "./layers.js";
import { WasmAttentionMaps } from "./maps.js";
import { loadModel } from "./model.js";
import type { Problem, Results } from "./problem.js";

/** The most cells of a picture, since its RGBA bytes have to fit into memory. */
const kMostCells = 2 ** 28;

export class WasmEngine extends WasmAnalyses implements Omit<Engine, "warmUp"> {
  readonly info: EngineInfo;
  readonly #platform: Platform;
  readonly #threads: readonly Thread[];
  #attention: Problem | undefined;

  constructor(module: HeadlensModule, info: EngineInfo, platform: Platform, threads: readonly Thread[]) {
    super(module);
    this.info = info;
    this.#platform = platform;
    this.#threads = threads;
  }

  protected override release(): void {
    this.#attention?.delete();
    this.#attention = undefined;
    for (const thread of this.#threads) thread.terminate();
  }

  scaledDotProductAttention(
    q: TensorLike, k: TensorLike, v: TensorLike, options?: Maybe<ScaledDotProductAttentionOptions>,
  ): Results {
    const caller = "scaledDotProductAttention";
    const { inputs, ...request } = toRequest(caller, options);
    const qkv = queryKeyValue(q, k, v);
    const module = this.held; // it is taken after the caller's data, whose getters may have disposed it
    this.#attention ??= createAttention(module);
    return this.#attention.run(caller, [...qkv, ...inputs], request);
  }

  attentionMaps(q: TensorLike, k: TensorLike, options?: Maybe<AttentionMapsOptions>): AttentionMaps {
    return WasmAttentionMaps.of(() => this.held, this, q, k, options);
  }

  difference(a: ModelAttention, b: ModelAttention): Difference {
    return WasmDifference.of(a, b, this, () => this.held);
  }

  cachedAttention(options?: Maybe<CacheOptions>): CachedAttention {
    return new WasmCachedAttention(this.held, options, this);
  }

  multiheadAttention(options: MultiheadAttentionOptions): MultiheadAttention {
    return new WasmMultiheadAttention(this.held, options, this);
  }

  transformerEncoderLayer(options: TransformerLayerOptions): TransformerEncoderLayer {
    return new WasmEncoderLayer(this.held, options, this);
  }

  transformerDecoderLayer(options: TransformerLayerOptions): TransformerDecoderLayer {
    return new WasmDecoderLayer(this.held, options, this);
  }

  embedding(options?: Maybe<EmbeddingOptions>): Embedding {
    return new WasmEmbedding(this.held, options, this);
  }

  async loadModel(source: ModelSource, options?: Maybe<LoadModelOptions>): Promise<Model> {
    return loadModel({ module: () => this.held, owner: this, platform: this.#platform }, source, options);
  }

  colorize(matrix: TensorLike, options?: Maybe<ColorOptions>): Image {
    const { json } = toRequest("colorize", options);
    const input = floats("matrix", matrix);
    const { data, shape } = input;
    const [rows, cols] = shape;
    if (shape.length !== 2 || rows === undefined || cols === undefined) {
      throw wrong("shape", "matrix", showShape(shape), "(rows, cols)", "has shape");
    }
    if (Math.max(rows, 1) * Math.max(cols, 1) > kMostCells) {
      throw wrong("shape", "matrix", showShape(shape), `at most ${kMostCells} cells, each 0 counted as 1`, "has shape");
    }
    const module = this.held;
    expectThere([input]);
    const values = data instanceof Float32Array ? data : Float32Array.from(data);
    return guarded("colorize", () => unwrap(module.colorize(values, rows, cols, json), apiName));
  }

  colorbar(steps: number, options?: Maybe<ColorbarOptions>): Uint8ClampedArray {
    const { json } = toRequest("colorbar", options);
    if (!Number.isInteger(steps) || steps < 1 || steps > 65536) {
      throw wrong("value", "steps", show(steps), "a whole number from 1 to 65536");
    }
    const module = this.held;
    return guarded("colorbar", () => unwrap(module.colorbar(json, steps), apiName));
  }

  heapBytes(): number {
    return this.held.heapBytes();
  }
}
