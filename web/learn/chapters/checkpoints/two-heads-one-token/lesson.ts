// SPDX-License-Identifier: Apache-2.0
import { given, headRows, map, matrix, observe, percent, shown } from "../../../experiments/numbers.js";
import { lesson } from "../../../lesson.js";
import { table, type Row } from "../../../scene.js";

const kTokens = ["two", "cats", "sleep"];
const kTraits = ["noun", "plural", "animal"];
/** The number that each head's values read off a token. */
const kReads = ["plural", "animal"] as const;

export default lesson({
  title: "8. Two heads look at one token",
  claim: "Every head has projections of its own, and no rule keeps heads apart.",
  teaches: ["T3.7"],
  asksFirst: true,
  controls: {
    tokens: { kind: "cells", label: "X", min: -1, max: 1, step: 0.1, value: [[0.2, 0.6, 0], [1, 0.9, 0.3], [0.1, 0.4, 0.7]] },
    sharpness: { kind: "slider", label: "length of the queries", min: 0, max: 16, step: 1, value: 8 },
  },
  question: {
    ask: "Two heads give almost all of their weight to the same noun. Can they bring back different things?",
    answers: ["no: the same weights give the same output", "yes", "only in different layers"],
    right: 1,
    because: "The weights say where from, and each head’s own projection of values says what. Drag “plural” of “cats” and only one head follows; drag “animal” and the other does.",
  },
  formula: () => "{output, head 0} = {weights, head 0} · “plural” of {X}, {output, head 1} = {weights, head 1} · “animal” of {X}",
  async run(engine, { tokens, sharpness }) {
    // Both heads ask for nouns. The first one’s values are the column “plural”, the second one’s are “animal”.
    const column = (trait: number): number[] => tokens.map((token) => given(token[trait]));
    const shape = [2, 3, 1];
    const { weights, output } = await engine.scaledDotProductAttention(
      { data: Float32Array.from({ length: 6 }, () => sharpness), shape },
      { data: Float32Array.from([...column(0), ...column(0)]), shape },
      { data: Float32Array.from([...column(1), ...column(2)]), shape },
      { scale: 1, needWeights: true },
    );
    const [seen, out] = [[0, 1].map((head) => headRows(weights, head)), [0, 1].map((head) => headRows(output, head))];
    const mostOf = given(given(seen[0])[0]);
    const share = Math.max(...mostOf);
    const target = given(kTokens[mostOf.indexOf(share)]);
    const apart = Math.abs(given(given(given(out[0])[0])[0]) - given(given(given(out[1])[0])[0]));
    const row = (head: number): Row => ({
      title: `Head ${head} reads “${given(kReads[head])}”`,
      items: [
        table({ ...map(`weights, head ${head}`, kTokens, kTokens, given(seen[head]).flat()), digits: 2 }), "→",
        table({ ...matrix(`output, head ${head}`, kTokens, [given(kReads[head])], given(out[head]).flat()), digits: 2 }),
      ],
    });
    return {
      rows: [
        { items: [table({ ...matrix("X", kTokens, kTraits, tokens.flat()), digits: 1 }, { control: "tokens" })] },
        row(0), row(1),
      ],
      says: [
        observe(share > 0.9, `Both heads give ${percent(share)} of their weight to “${target}”.`, `Both heads give at most ${percent(share)} to one token: there is no clear noun, or the queries are short.`),
        observe(apart > 0.05, `What they bring back differs by ${shown(apart)}.`, "What they bring back is almost the same, because the two columns are."),
      ],
    };
  },
  explore: () => ({
    model: "tiny-translator", source: "the king's cat never sleeps.", text: "le chat du roi ne dort jamais.",
    attention: "cross", layer: 2, head: 0, heads: "2.2", query: "1", view: "lines",
  }),
  exploreShows: "Two trained heads that look at one word",
});
