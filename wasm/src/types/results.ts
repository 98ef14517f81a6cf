// SPDX-License-Identifier: Apache-2.0
/** These types describe the results that a call of attention gives, as its options ask for them. */
import type { Maybe, Tensor } from "./tensors.js";
import type { MemoryStage, Stage } from "./vocabulary.js";

/** Results are written to these tensors, by their names. */
export type Places<Result> = { readonly [Name in keyof Result]?: Maybe<Tensor> };

/** These options say which results there are: weights (W), and stages (S). Where one is absent, the default of the call holds. */
export interface Asked<W extends boolean, S extends readonly (Stage | MemoryStage)[]> {
  needWeights?: Maybe<W>;
  stages?: Maybe<S>;
}

/** These results are sure to be there: `Weights` when they are needed, and the stages of every list that S may be. */
type Sure<Name extends string, Weights extends Name, W extends boolean, S extends readonly string[]> =
  | ([W] extends [true] ? Weights : never)
  | Name & keyof (S extends unknown ? Record<number extends S["length"] ? never : S[number], true> : never);

/**
 * There is `output`, `weights` where they are needed, [B,T,S] when averaged (a layer's are, unless said otherwise) and else [B,H,T,S], and
 * the stages asked for: [B,H,T,S] but for q [B,H,T,d], k and v [B,G,S,d], lse [B,H,T], headOutputs [B,H,T,dv], headContributions
 * [B,H,T,D], presentKey [B,G,S,d], presentValue [B,G,S,dv]. Inputs without B or H give results without. What the options ask for is never
 * `undefined`.
 */
export type AttentionResult<W extends boolean = boolean, S extends readonly Stage[] = readonly Stage[]> =
  { output: Tensor } & Partial<Record<Stage, Tensor>> & Record<Sure<Stage, "weights", W, S>, Tensor>;

/** Weights and stages are those of self-attention. A name that begins with "memory" is of the attention over the memory. */
export type DecoderLayerResult<
  W extends boolean = boolean, S extends readonly (Stage | MemoryStage)[] = readonly (Stage | MemoryStage)[],
> = { output: Tensor } & Partial<Record<Stage | MemoryStage, Tensor>>
  & Record<Sure<Stage | MemoryStage, "weights" | "memoryWeights", W, S>, Tensor>;
