// SPDX-License-Identifier: Apache-2.0
/** Types of the results of attention calls, which depend on the options. */
import type { Maybe, Tensor } from "./tensors.js";
import type { MemoryStage, Stage } from "./vocabulary.js";

/** Tensors that receive results, by the results' names. */
export type Places<Result> = { readonly [Name in keyof Result]?: Maybe<Tensor> };

/** The options that decide which results there are: weights (W) and stages (S). Without one of them, the default of the call holds. */
export interface Asked<W extends boolean, S extends readonly (Stage | MemoryStage)[]> {
  needWeights?: Maybe<W>;
  stages?: Maybe<S>;
}

/** The results that are never undefined: `Weights` when they are needed, and the stages of every list that S may be. */
type Sure<Name extends string, Weights extends Name, W extends boolean, S extends readonly string[]> =
  | ([W] extends [true] ? Weights : never)
  | Name & keyof (S extends unknown ? Record<number extends S["length"] ? never : S[number], true> : never);

/**
 * The results of attention: `output`; `weights` when they are needed, [B,H,T,S] or averaged [B,T,S], which is the default of layers; and the stages
 * that were asked for. Stages are [B,H,T,S], except q [B,H,T,d], k and v [B,G,S,d], lse [B,H,T], headOutputs [B,H,T,dv], headContributions [B,H,T,D],
 * presentKey [B,G,S,d] and presentValue [B,G,S,dv]. Inputs without B or H give results without them. A result that the options ask for is never
 * `undefined`.
 */
export type AttentionResult<W extends boolean = boolean, S extends readonly Stage[] = readonly Stage[]> =
  { output: Tensor } & Partial<Record<Stage, Tensor>> & Record<Sure<Stage, "weights", W, S>, Tensor>;

/**
 * The results of a decoder layer. Weights and stages are those of self-attention; names that begin with "memory" belong to the attention over the
 * memory.
 */
export type DecoderLayerResult<
  W extends boolean = boolean, S extends readonly (Stage | MemoryStage)[] = readonly (Stage | MemoryStage)[],
> = { output: Tensor } & Partial<Record<Stage | MemoryStage, Tensor>>
  & Record<Sure<Stage | MemoryStage, "weights" | "memoryWeights", W, S>, Tensor>;
