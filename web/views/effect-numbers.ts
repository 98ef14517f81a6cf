// SPDX-License-Identifier: Apache-2.0
/** The numbers of a head at a token: what it writes, what it copies, and what the model expects after each layer. */
import type { AsyncModelAttention, Prediction, WrittenTokens } from "headlens";
import { namingOf, partInWords } from "../maps/parts.js";
import type { Run } from "../maps/run.js";
import { isSilenced } from "../maps/silenced.js";
import { isReleased } from "../maps/source.js";
import { predictedAt, probabilities, whyNothing } from "./expected.js";
import type { RunMaps } from "./followed.js";

/** The numbers of tokens and of copied parts that are listed. */
const kTokens = 8;
const kCopies = 6;

/** Something that the engine gave, or a sentence that says why there is nothing. */
export type Given<T> = { readonly value: T } | { readonly refusal: string };

/** A part of a key that the head copies, in words, and how far it moves the output in its own direction. */
export interface Copy {
  readonly words: string;
  readonly size: number;
}

export interface Copies {
  /** The length of what the head writes. */
  readonly length: number;
  readonly largest: readonly Copy[];
  readonly count: number;
}

/** The prediction as if later layers were not there, and how the model's final answer stands in it. */
export interface Lens {
  readonly answer: Prediction;
  readonly layers: readonly {
    /** The number of layers that have been. */
    readonly after: number;
    readonly best: Prediction;
    readonly rank: number;
    readonly share: number;
  }[];
}

export interface HeadEffect {
  readonly layer: number;
  readonly head: number;
  readonly row: number;
  readonly key: number;
  readonly isSilenced: boolean;
  readonly written: Given<WrittenTokens>;
  readonly copies: Given<Copies>;
  readonly lens: Given<Lens>;
}

/** Takes what the engine refuses as a sentence. What was released meanwhile is no such thing. */
async function given<T>(asked: Promise<T>): Promise<Given<T>> {
  try {
    return { value: await asked };
  } catch (error) {
    if (isReleased(error) || !(error instanceof Error) || !("code" in error)) throw error;
    return { refusal: `${error.message.charAt(0).toUpperCase()}${error.message.slice(1)}.` };
  }
}

async function copiesOf(
  { run, keyTokens }: RunMaps, explained: AsyncModelAttention, layer: number, head: number, query: number,
): Promise<Copies> {
  const { parts, written, terms } = await explained.explainOutput({ layer, head, query, ...run.of });
  const [width, naming] = [keyTokens.length, namingOf(run, "value")];
  const order = [...terms.data.keys()].filter((term) => terms.data[term] !== 0);
  order.sort((a, b) => Math.abs(terms.data[b] ?? 0) - Math.abs(terms.data[a] ?? 0));
  const copy = (term: number): Copy => {
    const part = parts[Math.floor(term / width)] ?? { kind: "bias" as const };
    const token = keyTokens[term % width] ?? "";
    return { words: partInWords(part, naming, token), size: terms.data[term] ?? 0 };
  };
  return { length: Math.hypot(...written.data), largest: order.slice(0, kCopies).map(copy), count: order.length };
}

async function lensOf({ info }: Run, explained: AsyncModelAttention, position: number): Promise<Lens> {
  const [answer] = await explained.predictions({ position, top: 1 });
  if (!answer) throw new Error("the model expects nothing");
  const after = Array.from({ length: info.layers }, (_, layer) => layer);
  const layers = await Promise.all(after.map(async (layer) => {
    const [best] = await explained.predictions({ position, top: 1, layer });
    const read = await probabilities(explained, position, best, layer);
    return { after: layer, best: best ?? answer, ...standing(read, info.logits, answer.id) };
  }));
  const final = { after: info.layers, best: answer, rank: 1, share: answer.probability };
  return { answer, layers: [...layers, final] };
}

/** The rank and the probability of a token. */
function standing(read: (id: number) => number, count: number, id: number): { rank: number; share: number } {
  const share = read(id);
  let rank = 1;
  for (let other = 0; other < count; other++) if (read(other) > share) rank++;
  return { rank, share };
}

/** The key that the row looks at most. */
async function strongestKey(maps: RunMaps, layer: number, head: number, row: number): Promise<number> {
  const width = maps.keyTokens.length;
  const { values } = await maps.part(layer, head, { rows: [row, row + 1], cols: [0, width] }, [1, width]);
  return values.reduce((best, value, key) => (value > (values[best] ?? NaN) ? key : best), 0);
}

export async function effectOf(
  maps: RunMaps, layer: number, head: number, row: number, col: number | undefined,
): Promise<HeadEffect> {
  const { run } = maps;
  const silenced = isSilenced(run.changes.ablate, { attention: run.shown, layer, head });
  const explained = await run.explained();
  const position = predictedAt(run.info, row);
  const attention = run.shown === "encoder" ? {} : run.of as { readonly attention?: "decoder" | "cross" };
  const reason = whyNothing(run);
  const none = { refusal: reason ?? "" };
  const [key, written, copies, lens] = await Promise.all([
    col ?? strongestKey(maps, layer, head, row),
    reason === undefined ? given(explained.written({ layer, head, position, top: kTokens, ...attention })) : none,
    given(copiesOf(maps, explained, layer, head, row)),
    reason === undefined ? given(lensOf(run, explained, position)) : none,
  ]);
  return { layer, head, row, key, isSilenced: silenced, written, copies, lens };
}
