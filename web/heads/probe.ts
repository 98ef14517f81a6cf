// SPDX-License-Identifier: Apache-2.0
/** A probe that every model of texts can read: random tokens of its vocabulary, twice. It is the same each time. */
import type { AsyncModel, AsyncModelAttention, ModelInfo, ModelInput } from "headlens";

/** So many sequences, of so many different tokens, each of which stands twice. */
export const kSequences = 4;
export const kLength = 24;
const kSeed = 20_17;

/** The ids that a model's tokenizer adds by itself. */
export interface Frame {
  readonly special: readonly number[];
  /** Those of them that stand before a text. */
  readonly before: readonly number[];
}

type Ids = Pick<AsyncModelAttention, "ids" | "sourceIds">;

/** Tokenizes an empty text, of which nothing is left but the special tokens, and some models refuse it. */
async function idsOf(model: AsyncModel, text: string): Promise<Ids> {
  const { encoder, image } = model.info;
  if (image) return { ids: [], sourceIds: [] };
  try {
    const seen = await model.attend(encoder ? { source: text, target: text } : text);
    const { ids, sourceIds = [] } = seen;
    seen.dispose();
    return { ids, sourceIds };
  } catch {
    return { ids: [], sourceIds: [] };
  }
}

const frames = new WeakMap<AsyncModel, Promise<Frame>>();

async function readFrame(model: AsyncModel): Promise<Frame> {
  const [{ ids, sourceIds = [] }, { ids: some }] = [await idsOf(model, ""), await idsOf(model, "a")];
  const end = some.findIndex((id) => !ids.includes(id));
  return { special: [...new Set([...ids, ...sourceIds])], before: some.slice(0, Math.max(end, 0)) };
}

export function frameOf(model: AsyncModel): Promise<Frame> {
  const frame = frames.get(model) ?? readFrame(model);
  frames.set(model, frame);
  return frame;
}

/** Random numbers from 0 to below 1, always the same ones (mulberry32). */
function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let bits = Math.imul(state ^ (state >>> 15), 1 | state);
    bits = (bits + Math.imul(bits ^ (bits >>> 7), 61 | bits)) ^ bits;
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Different ids of the vocabulary, without special ones. */
function drawIds(count: number, vocabulary: number, special: readonly number[], random: () => number): number[] {
  const drawn = new Set<number>();
  const most = Math.min(count, vocabulary - special.length);
  while (drawn.size < most) {
    const id = Math.floor(random() * vocabulary);
    if (!special.includes(id)) drawn.add(id);
  }
  return [...drawn];
}

/** The sequences as the model's inputs, after the tokens that stand before a text. */
export function probeOf({ vocabSize, maxPositions, encoder }: ModelInfo, { special, before }: Frame): ModelInput[] {
  const random = randomNumbers(kSeed);
  const length = Math.min(kLength, Math.floor((maxPositions - before.length) / 2));
  return Array.from({ length: kSequences }, () => {
    const once = drawIds(length, vocabSize, special, random);
    const twice = [...once, ...once];
    const target = [...before, ...twice];
    return encoder ? { source: twice, target } : target;
  });
}
