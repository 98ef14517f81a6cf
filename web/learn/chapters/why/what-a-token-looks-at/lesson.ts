// SPDX-License-Identifier: Apache-2.0
import { map, observe, percent, rows, sum } from "../../../experiments/numbers.js";
import { lesson } from "../../../lesson.js";
import { builtIn } from "../../../models.js";

/** Heads of the model, as its card measures them. */
const kHeads = {
  "3.4": "3.4: whom a pronoun means",
  "0.5": "0.5: the token before",
  "1.2": "1.2: what came next last time",
  "0.3": "0.3: widely spread",
};

const placeOf = (head: string): [number, number] => [Number(head[0]), Number(head[2])];

export default lesson({
  title: "What a token looks at",
  claim: "In each head of a model, every token spreads 100 % of its attention over tokens of the text, and a map shows all of it at once.",
  teaches: ["T3.4"],
  controls: {
    text: { kind: "words", label: "a sentence of yours", most: 80, value: "The queen saw the king and she laughed." },
    head: { kind: "choice", label: "layer.head", options: kHeads, value: "3.4" },
    token: { kind: "slider", label: "the token that looks: number", min: 0, max: 40, step: 1, value: 6 },
  },
  question: {
    ask: "You replace “she” with “he”, right after the token “and”. What does “and” look at in head 3.4 then?",
    answers: ["the king", "the queen, as before", "both alike"],
    right: 1,
    because: "The model reads from left to right. At “and”, it has not seen the next word, so no word there can change this row. Type it and see.",
  },
  formula: ({ head }) => `shares in {the sentence} = one row of {The map of head ${head}}, and Σ of each row = 100 %`,
  async run(engine, { text, head, token }) {
    const [layer, index] = placeOf(head);
    const model = await builtIn(engine, "tiny");
    const seen = await model.attend(text);
    const { tokens } = seen;
    const weights = rows(await seen.map(layer, index));
    seen.dispose();
    const query = Math.min(token, tokens.length - 1);
    const row = weights[query] ?? [];
    const most = row.indexOf(Math.max(...row));
    const named = (at: number): string => `“${(tokens[at] ?? "").trim()}”`;
    const later = weights.flatMap((shares, at) => shares.slice(at + 1));
    return {
      rows: [
        { title: `What ${named(query)} looks at in head ${head}`, items: [{ kind: "sentence", name: "the sentence", tokens: tokens.map((piece) => piece.trim() || piece), weights: row, query, control: "token" }] },
        {
          title: "The map of the head",
          about: "A row is a token that looks, a column is a token that is looked at, and the colour is the share.",
          items: [{
            kind: "view", name: `The map of head ${head}`, stands: { ...map(`weights of head ${head}`, tokens, tokens, weights.flat()), digits: 2 },
            attributes: { text, view: "map", layer: String(layer), head: String(index), query: String(query), locked: "" },
          }],
        },
      ],
      says: [
        observe(true, `${named(query)} looks most at ${named(most)}: ${percent(row[most] ?? NaN)} of its attention.`, ""),
        observe(Math.abs(sum(row) - 1) < 1e-5, `The shares of its row sum to ${percent(sum(row))}.`, `The shares of its row sum to ${percent(sum(row))}, which is not 100 %.`),
        observe(later.every((share) => share === 0), "No token looks at a later one: this model reads from left to right.", "Some tokens look at later ones."),
      ],
    };
  },
  explore: ({ text, head, token }) => {
    const [layer, index] = placeOf(head);
    return { text, view: "map", layer, head: index, query: String(token) };
  },
});
