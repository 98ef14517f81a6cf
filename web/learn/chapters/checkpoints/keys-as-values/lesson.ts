// SPDX-License-Identifier: Apache-2.0
import { runHead } from "../../../experiments/head.js";
import { given, identity, map, matrix, observe, shown } from "../../../experiments/numbers.js";
import { lesson } from "../../../lesson.js";
import { table } from "../../../scene.js";

const kQuestions = ["who?", "did what?", "where?"];
const kTokens = ["cat", "sat", "mat"];
const kRoles = ["noun", "verb", "place"];
const kContents = ["furry", "moves", "flat"];

export default lesson({
  title: "3. Why not hand over the keys?",
  claim: "A head matches queries with keys first, and only then hands something over.",
  teaches: ["T3.7"],
  asksFirst: true,
  controls: {
    length: { kind: "slider", label: "length of the queries", min: 0, max: 20, step: 0.5, value: 10 },
    values: { kind: "cells", label: "V", min: -1, max: 1, step: 0.1, value: [[0.9, 0.3, -0.8], [-0.2, 0.8, 0.1], [0.4, -0.9, 0.9]] },
  },
  question: {
    ask: "Three queries ask for a noun, a verb and a place, and each finds its token. If the head handed over keys in place of values, what would the queries get?",
    answers: ["the contents of the tokens", "what they asked with, once more", "nothing at all"],
    right: 1,
    because: "A key that matches points where the query points. “who?” asked for a noun and would learn: a noun. Drag the numbers of V: they reach the output of values, and never that of keys.",
  },
  formula: () => "{from values} = {weights} · {V}, {from keys} = {weights} · {K}",
  async run(engine, { length, values }) {
    const keys = identity(3);
    const queries = keys.map((row) => row.map((one) => one * length));
    const withValues = await runHead(engine, queries, keys, values);
    const withKeys = await runHead(engine, queries, keys, keys);
    const missed = Math.max(...withValues.output.flat().map((one, i) => Math.abs(one - (values.flat()[i] ?? NaN))));
    const echo = withKeys.output.map((row, i) => given(row[i]) / Math.hypot(...row));
    return {
      rows: [
        {
          items: [
            table({ ...matrix("K", kTokens, kRoles, keys.flat()), digits: 0 }),
            table({ ...matrix("V", kTokens, kContents, values.flat()), digits: 1 }, { control: "values" }),
            table(map("weights", kQuestions, kTokens, withValues.weights.flat())),
          ],
        },
        {
          title: "What comes back",
          items: [
            table({ ...matrix("from values", kQuestions, kContents, withValues.output.flat()), digits: 2 }, { from: { how: "product", left: "weights", right: "V" } }),
            table({ ...matrix("from keys", kQuestions, kRoles, withKeys.output.flat()), digits: 2 }, { from: { how: "product", left: "weights", right: "K" } }),
          ],
        },
      ],
      says: [
        observe(
          missed < 0.01, `The values come back as they are, to within ${missed.toFixed(4)}.`,
          `The weights are too even to bring one value back: the output misses it by up to ${shown(missed)}.`,
        ),
        observe(
          Math.min(...echo) > 0.99, "The keys come back as a copy of the questions: their direction is the query’s own.",
          `The keys come back with a cosine of ${shown(Math.min(...echo))} to the questions.`,
        ),
      ],
    };
  },
  explore: () => ({
    model: "tiny-translator", source: "the king's cat never sleeps.", text: "le chat du roi ne dort jamais.",
    attention: "cross", layer: 2, head: 4, query: "3", view: "effect",
  }),
  exploreShows: "A head that finds an English word and hands over a French one",
});
