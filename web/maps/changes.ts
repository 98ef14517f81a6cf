// SPDX-License-Identifier: Apache-2.0
/** A reader's changes of a model as options of its run. */
import type { AsyncModelAttention, ModelInfo, TensorLike } from "headlens";
import { type Changes, type Run, sizeOf } from "./run.js";
import { type SilencedHead, silencedWord } from "./silenced.js";

/** The options of a run with changes. */
export type Options = NonNullable<Parameters<AsyncModelAttention["again"]>[0]>;

/** The options of a run over so many tokens; undefined when nothing is changed. Throws an Error that names what does not fit. */
export function optionsOf(changes: Changes, info: ModelInfo, tokens: number): Options | undefined {
  const { zeroToken, forbid, causal } = changes;
  const options = {
    ...stepsOf(changes, info),
    ...(zeroToken.length > 0 && { replacedTokens: zeroToken }),
    ...(forbid.length > 0 && { forbiddenDiagonals: forbid }),
    ...(causal && !info.causal && { attnMask: lowerTriangle(tokens) }),
  };
  return Object.keys(options).length > 0 ? options : undefined;
}

/** Those of them that a text has which is read step by step. */
export function stepsOf({ ablate, temperature, normalizer }: Changes, info: ModelInfo): Run["steps"] {
  const steps = {
    ...headMasks(ablate, info),
    ...(temperature !== 1 && { temperature }),
    ...(normalizer !== "softmax" && { normalizer }),
  };
  return steps as Run["steps"]; // the state has checked the normaliser's name
}

const kHeadMasks = { decoder: "headMask", encoder: "encoderHeadMask", cross: "crossHeadMask" } as const;

/** The masks of the heads of each attention in which heads are silenced. */
function headMasks(silenced: readonly SilencedHead[], info: ModelInfo): Record<string, TensorLike> {
  const masks: Record<string, { data: Float32Array; shape: number[] }> = {};
  for (const { attention, layer, head } of silenced) {
    const { layers, heads } = sizeOf(info, attention);
    const name = silencedWord({ attention, layer, head });
    if (attention !== "decoder" && !info.encoder)
      throw new Error(`ablate: the model has no head ${name}; it has one attention, whose heads are named as 3.2 is`);
    if (layer >= layers || head >= heads)
      throw new Error(`ablate: the model has no head ${name}; it has ${layers} layers of ${heads} heads`);
    const all = { data: new Float32Array(layers * heads).fill(1), shape: [layers, heads] };
    (masks[kHeadMasks[attention]] ??= all).data[layer * heads + head] = 0;
  }
  return masks;
}

const lowerTriangle = (length: number): { data: boolean[]; shape: number[] } => ({
  data: Array.from({ length: length * length }, (_, cell) => cell % length <= Math.floor(cell / length)),
  shape: [length, length],
});
