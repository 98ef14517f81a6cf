// SPDX-License-Identifier: Apache-2.0
import { count, given, map, matrix, observe, rows, shown, tensor } from "../../../experiments/numbers.js";
import { lesson } from "../../../lesson.js";
import { table } from "../../../scene.js";

const kTokens = ["the", "woman", "ate", "the", "raccoon"];
const kReach = kTokens.length - 1;
/** A head of width 1 whose scores are queries · keys. */
const [kQueries, kKeys] = [[0.5, 1, 1.2, 0.5, 1], [0.2, 1.5, 0.8, 0.2, 1.4]];

const distanceName = (distance: number): string => (distance > 0 ? `+${distance}` : String(distance).replace("-", "−"));
/** Says where a key stands that is so many tokens before its query. */
const placeOf = (distance: number): string =>
  distance === 0 ? "itself" : `the token ${Math.abs(distance) === 1 ? "" : `${Math.abs(distance)} places `}${distance > 0 ? "before it" : "after it"}`;

export default lesson({
  title: "One number for each distance",
  claim: "A relative bias adds the same number to all scores of one distance, and so a head can look at places instead of words.",
  teaches: ["T3.6"],
  controls: {
    bias: { kind: "cells", label: "bias b", min: -9, max: 9, step: 0.5, value: [[0, 0, 0, 0, 0, 6, 0, 0, 0]] },
    content: { kind: "choice", label: "scores of the words", options: { words: "as the words have them", equal: "all 0" }, value: "words" },
  },
  question: {
    ask: "At first b is 6 for a distance of +1 and 0 for all others. Whom does a word look at?",
    answers: ["itself", "the word before it", "the word after it", "the word that fits best"],
    right: 1,
    because: "Distance +1 means that the key stands one place before the query. Set that number to 0 and the one for −1 to 6, and the head looks ahead.",
  },
  formula: () => "{weights} = softmax({scores} + {b of i − j})",
  async run(engine, { bias, content }) {
    const numbers = bias[0] ?? [];
    const column = (values: readonly number[]): number[][] => values.map((value) => [content === "words" ? value : 0]);
    const [queries, keys] = [tensor(column(kQueries)), tensor(column(kKeys))];
    const result = await engine.scaledDotProductAttention(queries, keys, keys, {
      needWeights: true, stages: ["scaledScores"], relativeBias: tensor([numbers]),
    });
    const added = kTokens.map((_, i) => kTokens.map((__, j) => numbers[kReach + i - j] ?? NaN));
    const weights = rows(given(result.weights));
    const best = numbers.indexOf(Math.max(...numbers)) - kReach;
    const having = weights.flatMap((row, i) => (row[i - best] === undefined ? [] : [row[i - best] ?? NaN]));
    const least = Math.min(...having);
    const isAlone = numbers.filter((value) => value === numbers[kReach + best]).length === 1;
    return {
      rows: [
        {
          title: "b: drag or type a number",
          about: "+1 is the token before, −1 the token after.",
          items: [table(matrix("b", ["i − j"], count(2 * kReach + 1, (index) => distanceName(index - kReach)), numbers), { control: "bias" })],
        },
        {
          items: [
            table({ ...matrix("scores", kTokens, kTokens, given(result.scaledScores).data), digits: 1 }), "+",
            table({ ...matrix("b of i − j", kTokens, kTokens, added.flat()), digits: 1 }), "→",
            table({ ...map("weights", kTokens, kTokens, weights.flat()), digits: 2 }),
          ],
        },
      ],
      says: [
        isAlone
          ? observe(
            least > 0.5,
            `Distance ${distanceName(best)} wins: every word looks at ${placeOf(best)}, if there is one, with at least ${shown(least)} of its weight.`,
            `The largest bias is that of distance ${distanceName(best)}, but ${content === "words" ? "words still count" : "it is small"}: some word gives ${placeOf(best)} only ${shown(least)}.`,
          )
          : observe(
            true,
            content === "words" ? "No single distance has the largest bias: among those that have it, the words decide."
            : "No single distance has the largest bias, and no word counts more than another.",
            "",
          ),
      ],
    };
  },
  explore: ({ bias }) => {
    const [numbers] = bias;
    const ahead = numbers?.indexOf(Math.max(...numbers)) === kReach - 1;
    return { model: "tiny-bert", text: "the dog saw the cat", layer: 0, head: ahead ? 0 : 1, query: "3", view: "map" };
  },
  exploreShows: "A trained head that goes by distance",
});
