// SPDX-License-Identifier: Apache-2.0
/** The numbers of rollout and flow: each layer's mixing of tokens, and what reaches the chosen token through them. */
import type { Tensor } from "headlens";
import { nextTurn } from "../maps/source.js";
import type { RunMaps } from "./followed.js";

export const kMethods = ["rollout", "flow", "norms"] as const;
export type Method = (typeof kMethods)[number];
export const kFusions = ["mean", "max", "min"] as const;
export type Fusion = (typeof kFusions)[number];

/** The most tokens of a text that is drawn, and of one whose flow is computed. */
export const kMostTokens = 512;
export const kMostOfFlow = 64;

export interface Choice {
  readonly method: Method;
  readonly fusion: Fusion;
  readonly discardRatio: number;
  readonly startLayer: number;
}

export interface Mixed {
  readonly choice: Choice;
  readonly count: number;
  /**
   * For each layer from the first that counts, [T,T]: the shares of the tokens before it in each token after it, as
   * rollout has them: half of a token stays, and half is what the heads bring.
   */
  readonly layers: readonly Float32Array[];
  /** The maximal flow [T,T] through all layers; undefined for other methods. */
  readonly flow: Float32Array | undefined;
}

/** The weights [H,T,T] of a layer's heads. */
async function weightsOf({ run, heads, tokens }: RunMaps, layer: number, signal: AbortSignal): Promise<Tensor> {
  const [count, length] = [heads[layer] ?? 0, tokens.length];
  const data = new Float32Array(count * length * length);
  for (let head = 0; head < count; head++) {
    data.set((await run.attention.map(layer, head, run.of)).data, head * length * length);
    signal.throwIfAborted();
  }
  return { data, shape: [count, length, length] };
}

/** One map [1,T,T] for a layer: the norms of what each token adds to another, as shares of their row. */
async function normsOf({ run, tokens }: RunMaps, layer: number, weights: Tensor): Promise<Tensor> {
  const explained = await run.explained();
  const [values, { state }] = await Promise.all([explained.values(layer), run.model.layerWeights(layer)]);
  const { data } = await run.engine.layerNorms(weights, values, state["out_proj.weight"], { isCausal: run.info.causal });
  const length = tokens.length;
  const shares = Float32Array.from(data);
  for (let row = 0; row < length; row++) {
    const own = shares.subarray(row * length, (row + 1) * length);
    const sum = own.reduce((all, norm) => all + norm, 0);
    // A token to which nothing is added keeps itself.
    if (sum > 0) own.forEach((norm, col) => (own[col] = norm / sum));
    else own[row] = 1;
  }
  return { data: shares, shape: [1, length, length] };
}

/** Computes one layer after another, so that only the flow, which is of short texts, needs all weights at once. */
export async function mix(
  maps: RunMaps, choice: Choice, signal: AbortSignal, told: (done: number) => void,
): Promise<Mixed> {
  const { run: { engine }, tokens, heads } = maps;
  const { method, fusion, discardRatio, startLayer } = choice;
  const layers: Float32Array[] = [];
  const kept: Tensor[] = [];
  for (let layer = startLayer; layer < heads.length; layer++) {
    const weights = await weightsOf(maps, layer, signal);
    const mixed = method === "norms" ? await normsOf(maps, layer, weights) : weights;
    layers.push((await engine.rollout([mixed], { fusion, discardRatio })).data);
    if (method === "flow") kept.push(weights);
    signal.throwIfAborted();
    told((layer + 1 - startLayer) / (heads.length - startLayer));
    await nextTurn();
    signal.throwIfAborted();
  }
  const flow = method === "flow" ? (await engine.flow(kept, { fusion, discardRatio, maxTokens: kMostOfFlow })).data : undefined;
  signal.throwIfAborted();
  return { choice, count: tokens.length, layers, flow };
}

/**
 * The shares of the tokens in the chosen one, before the first layer and after each one up to `depth`: after the last
 * it is all of itself, and before the first they are its row of the rollout.
 */
export function sharesOf({ layers, count }: Mixed, token: number, depth: number): readonly Float32Array[] {
  const last = new Float32Array(count);
  last[token] = 1;
  const shares = [last];
  for (const layer of layers.slice(0, depth).reverse()) {
    const [after] = shares as [Float32Array];
    const before = new Float32Array(count);
    after.forEach((share, row) => {
      if (share === 0) return;
      for (let col = 0; col < count; col++) before[col] = (before[col] ?? 0) + share * (layer[row * count + col] ?? 0);
    });
    shares.unshift(before);
  }
  return shares;
}

export interface Line {
  /** The layer, counted from the first that counts; from `col` before it to `row` after it. */
  readonly layer: number;
  readonly row: number;
  readonly col: number;
  /** The share of the chosen token that comes along this line. Those of one layer sum to 1. */
  readonly share: number;
}

/** The lines along which at least `least` of the chosen token comes. */
export function linesOf({ layers, count }: Mixed, shares: readonly Float32Array[], least: number): Line[] {
  return shares.slice(1).flatMap((after, layer) => {
    const mixing = layers[layer];
    const lines: Line[] = [];
    after.forEach((of, row) => {
      if (of < least) return;
      for (let col = 0; col < count; col++) {
        const share = of * (mixing?.[row * count + col] ?? 0);
        if (share >= least) lines.push({ layer, row, col, share });
      }
    });
    return lines;
  });
}
