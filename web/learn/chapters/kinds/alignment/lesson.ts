// SPDX-License-Identifier: Apache-2.0
import { given, map, observe, percent } from "../../../experiments/numbers.js";
import { lesson } from "../../../lesson.js";
import { table } from "../../../scene.js";
import { kFrench, strongest, translated } from "../translate.js";

const [kLayer, kHead] = [1, 0];
const kFirst = "the red horse does not sleep";

export default lesson({
  title: "A translator looks at the other language",
  claim: "In cross-attention the queries come from the sentence that is written, and keys and values from the one that was read: here each row is a French word, and each column an English one.",
  teaches: ["T1.3"],
  controls: {
    english: { kind: "words", label: "English", most: 60, value: kFirst },
    word: { kind: "slider", label: "French word, by its place", min: 0, max: 11, step: 1, value: 2 },
  },
  question: {
    ask: "“the king's cat never sleeps” becomes “le chat du roi ne dort jamais”. Where does the head look when it writes “du”?",
    answers: ["at “the”, the first article", "at “'s”, which says whose cat it is", "at “cat”, the third English word"],
    right: 1,
    because: "“du” means “of the”, and that is what “'s” stands for; its place in the sentence does not matter. Type the sentence and click “du”.",
  },
  formula: () => "{weights} = softmax(Q of the French · Kᵀ of the English ÷ √d)",
  async run(engine, { english, word }) {
    return translated(engine, english, async (translation) => {
      const { source, written } = translation;
      const weights = await translation.map("cross", kLayer, kHead);
      const query = Math.min(word, written.length - 1);
      const row = given(weights[query]);
      const best = strongest(row);
      const pairs = weights.map(strongest);
      const jumps = pairs.filter((key, index) => index > 0 && key < (pairs[index - 1] ?? 0)).length;
      const times = (length: number): string => ["never", "once", "twice"][length] ?? `${length} times`;
      return {
        rows: [
          { about: "What it writes. Choose a word:", items: [{ kind: "sentence", name: "French", tokens: written, query, control: "word" }] },
          { about: "Where it looks for that:", items: [{ kind: "sentence", name: "English", tokens: source, weights: row }] },
          { title: `Layer ${kLayer}, head ${kHead}`, items: [table({ ...map("weights", written, source, weights.flat()), digits: 2 }, { marked: { row: query, col: -1 } })] },
        ],
        says: [
          observe(true, `To write “${written[query] ?? ""}”, the head looks at “${source[best] ?? ""}”: ${percent(row[best] ?? NaN)}.`, ""),
          observe(true, jumps === 0 ? "Here its gaze never goes back: both languages have the same order." : `Its gaze goes back ${times(jumps)}: word by word would not do.`, ""),
        ],
      };
    });
  },
  explore({ english, word }) {
    // Explore does not translate: a reader writes what is not known here, word by word.
    const { [english]: text = "" } = kFrench;
    const query = text === "" ? "0" : String(word);
    return { model: "tiny-translator", source: english, text, attention: "cross", layer: kLayer, head: kHead, query, view: "map" };
  },
});
