// SPDX-License-Identifier: Apache-2.0
/** Translations by the built-in translator, and the maps of its heads. */
import type { AsyncModel, AsyncModelAttention, Model, ModelAttention } from "headlens";
import { given, rows, type LessonEngine } from "../../experiments/numbers.js";
import { builtIn } from "../../models.js";

/** A translation that has not ended after so many tokens is cut there. */
const kMost = 24;
const kEnd = "</s>";

/** The French that the translator writes for some sentences, for those who need it before it has run. */
export const kFrench: Readonly<Record<string, string>> = {
  "the red horse does not sleep": "le cheval rouge ne dort pas",
  "the king's cat never sleeps": "le chat du roi ne dort jamais",
  "i see the small girl": "je vois la petite fille",
  "the cat sees a red house": "le chat voit une maison rouge",
  "she does not like the white cat": "elle n'aime pas le chat blanc",
};

export interface Translation {
  /** The English tokens that the encoder read. */
  readonly source: readonly string[];
  /** The tokens that the decoder read: a start token, and then those that it wrote itself. */
  readonly target: readonly string[];
  /** The token that each row of the decoder wrote: the target one token further on. */
  readonly written: readonly string[];
  map(attention: "encoder" | "decoder" | "cross", layer: number, head: number): Promise<number[][]>;
}

const trimmed = (tokens: readonly string[]): string[] => tokens.map((token) => token.trim());

/** Translates by taking the likeliest token each time, and hands the translation to `use`. */
export async function translated<T>(
  engine: LessonEngine, source: string, use: (translation: Translation) => Promise<T>,
): Promise<T> {
  const model = await builtIn(engine, "tiny-translator");
  const start = given(model.info.encoder?.startToken);
  const seen = await model.attend({ source, target: [start, ...await write(model, source, start)] });
  try {
    return await use(translationOf(seen));
  } finally {
    seen.dispose();
  }
}

function translationOf(seen: ModelAttention | AsyncModelAttention): Translation {
  const target = trimmed(seen.tokens);
  return {
    source: trimmed(given(seen.sourceTokens)),
    target: ["start", ...target.slice(1)],
    written: [...target.slice(1), kEnd],
    map: async (attention, layer, head) => rows(await seen.map(layer, head, { attention })),
  };
}

/** The ids of the translation, without the token that ends it. */
async function write(model: Model | AsyncModel, source: string, start: number): Promise<number[]> {
  const decoding = await model.startDecoding({ source });
  try {
    const ids: number[] = [];
    while (ids.length < kMost) {
      const { logits: { data }, tokens } = await decoding.step([ids.at(-1) ?? start]);
      if (tokens[0] === kEnd) return ids.slice(0, -1);
      data[start] = -Infinity; // it only begins a translation
      ids.push(data.reduce((best, logit, id) => (logit > (data[best] ?? 0) ? id : best), 0));
    }
    return ids;
  } finally {
    decoding.dispose();
  }
}

/** The index of the largest number of a row. */
export const strongest = (row: readonly number[]): number => row.indexOf(Math.max(...row));
