// SPDX-License-Identifier: Apache-2.0
import { given, observe, rows, type LessonEngine } from "../../../experiments/numbers.js";
import { lesson } from "../../../lesson.js";
import { builtIn } from "../../../models.js";
import type { Bars } from "../../../scene.js";

const kSentence = ["The", "cat", "sat", "on", "the", "mat"];
const kChanges = {
  1: ["cat → dog", "dog"], 2: ["sat → stood", "stood"], 3: ["on → near", "near"], 5: ["mat → chair", "chair"],
} as const;
type Place = keyof typeof kChanges;

const replaced = (place: Place): string[] =>
  kSentence.map((token, index) => (index === place ? kChanges[place][1] : token));

interface Moved {
  readonly tokens: readonly string[];
  /** The distance that the vector of each token has moved, as a share of its length. */
  readonly distances: readonly number[];
}

const distance = (a: readonly number[], b: readonly number[]): number =>
  Math.hypot(...a.map((value, index) => value - (b[index] ?? NaN))) / Math.hypot(...a);

async function moved(engine: LessonEngine, name: "tiny" | "tiny-bert", texts: readonly string[], layer: number): Promise<Moved> {
  const model = await builtIn(engine, name);
  const read = async (text: string): Promise<{ tokens: readonly string[]; vectors: number[][] }> => {
    const seen = await model.attend(text, { keepHidden: true });
    try {
      return { tokens: seen.tokens.map((token) => token.trim()), vectors: rows(await seen.hidden(layer)) };
    } finally {
      seen.dispose();
    }
  };
  const [before, after] = [await read(given(texts[0])), await read(given(texts[1]))];
  const distances = before.vectors.map((vector, index) => distance(vector, given(after.vectors[index])));
  return { tokens: after.tokens, distances };
}

const bars = (name: string, { tokens, distances }: Moved): Bars => ({ kind: "bars", name, labels: tokens, values: distances, most: 1 });

export default lesson({
  title: "An encoder sees both ways, a decoder only back",
  claim: "Replace one word: in a decoder no token before it changes at all, and in an encoder every token does.",
  teaches: ["T1.3"],
  controls: {
    word: {
      kind: "choice", label: "The cat sat on the mat",
      options: { 1: kChanges[1][0], 2: kChanges[2][0], 3: kChanges[3][0], 5: kChanges[5][0] }, value: "5",
    },
    layer: { kind: "slider", label: "after layer", min: 1, max: 4, step: 1, value: 4 },
  },
  question: {
    ask: "Now the second word is replaced, cat by dog. Which tokens of the decoder change?",
    answers: ["only dog", "dog and all after it", "all, as in the encoder"],
    right: 1,
    because: "Every later token may look back at it, directly or through others. Choose cat → dog: only what stands before it has a bar of 0.",
  },
  formula: () => "{decoder (tiny)} and {encoder (tiny-bert)} = |vector after − vector before| ÷ |vector before|",
  async run(engine, { word, layer }) {
    const place = Number(word) as Place;
    const texts = [kSentence.join(" "), replaced(place).join(" ")];
    const [decoder, encoder] = [await moved(engine, "tiny", texts, layer), await moved(engine, "tiny-bert", texts, layer)];
    // Both models put one token before the sentence.
    const before = decoder.distances.slice(0, place + 1);
    return {
      rows: [{
        title: `How far each token’s vector moves: ${kChanges[place][0]}`,
        about: "As a share of its length, so that 1 is as far as the vector is long.",
        items: [bars("decoder (tiny)", decoder), bars("encoder (tiny-bert)", encoder)],
      }],
      says: [
        observe(before.every((value) => value === 0), `In the decoder the ${before.length} tokens before the new word stay the same, bit for bit.`, "In the decoder tokens before the new word move."),
        observe(encoder.distances.every((value) => value > 0), "In the encoder all tokens move, also those before it.", "In the encoder some token stays."),
      ],
    };
  },
  explore: ({ word, layer }) => ({
    text: kSentence.join(" "), compareText: replaced(Number(word) as Place).join(" "), layer: Math.min(layer, 3), head: 4, view: "compare",
  }),
  exploreShows: "A decoder’s maps of both sentences",
});
