// SPDX-License-Identifier: Apache-2.0
import { count, given, observe, percent, shown } from "../../../experiments/numbers.js";
import { lesson } from "../../../lesson.js";
import { builtIn } from "../../../models.js";
import { largestAt, layerHeads, readText, score, sentence, wordOf } from "../reading.js";

const [kLayer, kHeads, kLayers] = [1, 8, 4];
/** The previous-token head of `tiny`. */
const kPrevious = { layer: 0, head: 5 };

const kScore = "induction score of each head of layer 1";

/** The words twice, with a space before each, as words have it within a text. */
const twice = (words: string): string => ` ${words.trim()} ${words.trim()}`;

export default lesson({
  title: "[A] [B] … [A] → [B]",
  claim: "An induction head looks at the token after the last place where its own token stood, if a previous-token head has been at work before it.",
  teaches: ["T2.2"],
  controls: {
    words: { kind: "words", label: "words, which are read twice", most: 60, value: "river king seven letter garden sister" },
    query: { kind: "slider", label: "token that looks", min: 0, max: 59, step: 1, value: 11 },
    head: { kind: "slider", label: "head of layer 1", min: 0, max: kHeads - 1, step: 1, value: 0 },
    silent: { kind: "switch", label: "silence the previous-token head (layer 0, head 5)", value: false },
  },
  question: {
    ask: "The head of layer 0 that looks one token back is silenced. What do the induction heads of layer 1 do?",
    answers: ["the same as before", "half as much", "hardly anything"],
    right: 2,
    because: "They look for a key that says “the token before me was garden”, and it is the previous-token head that writes this into the key’s token. Tick the box: the scores fall to about 0.",
  },
  formula: () => `{${kScore}} = mean of A[i, j] over each i whose token stood before, last at j − 1; {weights} = row i of A`,
  async run(engine, { words, query: asked, head, silent }) {
    const model = await builtIn(engine, "tiny");
    const headMask = { data: new Float32Array(kLayers * kHeads).fill(1), shape: [kLayers, kHeads] };
    if (silent) headMask.data[kPrevious.layer * kHeads + kPrevious.head] = 0;
    const text = twice(words);
    const read = await readText(model, text, layerHeads(kLayer), { headMask });
    const scores = await Promise.all(read.maps.map((weights) => score(engine, weights, "induction", read.ids, true)));
    const query = Math.min(asked, read.tokens.length - 1);
    const row = given(read.maps[head]?.[query]);
    const best = largestAt(row);
    const after = read.ids.lastIndexOf(given(read.ids[query]), query - 1) + 1;
    const [looking, found] = [wordOf(read.tokens[query]), wordOf(read.tokens[best])];
    const seen = await model.attend(text, { headMask });
    const guesses = await seen.predictions({ position: query, top: 4 });
    seen.dispose();
    const looks = `“${looking}” looks at “${found}” with ${percent(row[best] ?? NaN)} of its weight`;
    const isRepeat = after > 0 && after < query;
    const most = Math.max(...scores);
    return {
      rows: [
        { title: `Layer ${kLayer}, head ${head}: the weights of “${looking}”`, items: [sentence("weights", read, row, query, "query")] },
        {
          items: [
            { kind: "bars", name: kScore, labels: count(kHeads, (index) => `head ${index}`), values: scores, most: 1, digits: 2 },
            { kind: "bars", name: `What the model expects after “${looking}”`, labels: guesses.map(({ token }) => wordOf(token)), values: guesses.map(({ probability }) => probability), most: 1, digits: 2 },
          ],
        },
      ],
      says: [
        isRepeat
          ? observe(best === after, `${looks}: it came after “${looking}” the last time.`, `${looks}, and not at “${wordOf(read.tokens[after])}”, which came after “${looking}” the last time.`)
          : observe(true, `${looks}: no “${looking}” stands before it.`, ""),
        silent
          ? observe(most < 0.3, `Without the previous-token head, the best head of layer 1 scores ${shown(most)}.`, `Without the previous-token head, a head of layer 1 still scores ${shown(most)}.`)
          : observe(most >= 0.5, `${scores.filter((one) => one >= 0.5).length} of 8 heads put half of their weight or more on what came next.`, `No head reaches 0.5 on these words: the best scores ${shown(most)}.`),
      ],
    };
  },
  explore: ({ words, query, head, silent }) => ({
    text: twice(words), layer: kLayer, head, query: String(query), view: "map", ablate: silent ? `${kPrevious.layer}.${kPrevious.head}` : "",
  }),
});
