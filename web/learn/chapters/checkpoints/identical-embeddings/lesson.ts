// SPDX-License-Identifier: Apache-2.0
import { embed } from "../../../experiments/embed.js";
import { compare, count, Draw, given, layerState, map, matrix, observe, rows, shown, tensor, withLayer } from "../../../experiments/numbers.js";
import { lesson } from "../../../lesson.js";
import { table, type Row } from "../../../scene.js";

const kWidth = 8;
const kMostTokens = 7;
const kSentence = "the dog saw the cat";

/** The first pair of places that hold the same word. */
function twins(tokens: readonly string[]): readonly [number, number] | undefined {
  const second = tokens.findIndex((token, index) => tokens.indexOf(token) < index);
  return second < 0 ? undefined : [tokens.indexOf(given(tokens[second])), second];
}

export default lesson({
  title: "9. The same word in two places",
  claim: "Attention sees tokens as vectors, and a vector tells only what was put into it.",
  teaches: ["T3.7", "T3.6"],
  asksFirst: true,
  controls: {
    sentence: { kind: "words", label: "a sentence, up to seven words", most: 48, value: kSentence },
  },
  question: {
    ask: "“the” stands first and fourth, and nothing tells positions. How do the two “the” differ after a layer with random weights?",
    answers: ["not at all", "slightly: their neighbours differ", "completely: the weights are random"],
    right: 0,
    because: "Equal vectors give equal queries, keys and values. Without positions there are no neighbours, either: each sees the same set of tokens. Type a sentence with another word twice.",
  },
  formula: () => "{weights, plain} = softmax(X W_q · (X W_k)ᵀ ÷ √8), and {weights, with positions} the same with X + P for X",
  async run(engine, { sentence }) {
    const typed = sentence.split(/\s+/).filter((word) => word !== "").slice(0, kMostTokens);
    const tokens = typed.length > 0 ? typed : ["the"];
    const words = [...new Set(tokens)];
    const ids = tokens.map((token) => words.indexOf(token));
    const weight = tensor(new Draw(9).rows(words.length, kWidth));
    const draw = new Draw(90);
    const square = (): number[][] => draw.rows(kWidth, kWidth, 1 / Math.sqrt(kWidth));
    const state = layerState(square(), square(), square(), square());
    return withLayer(engine, { embedDim: kWidth, numHeads: 1, bias: false }, state, async (layer) => {
      const plain = await layer.forward(await embed(engine, ids, { weight }));
      const placed = await layer.forward(await embed(engine, ids, { weight }, "sinusoidal"));
      const pair = twins(tokens);
      const marked = pair ? { row: pair[1], col: -1 } : undefined;
      const row = (name: string, { weights, output }: typeof plain): Row => ({
        title: name === "plain" ? "Without positions" : "With sinusoidal positions",
        items: [
          table({ ...map(`weights, ${name}`, tokens, tokens, given(weights).data), digits: 2 }, marked ? { marked } : {}), "→",
          table({ ...matrix(`first numbers of the output, ${name}`, tokens, count(3, (i) => `${i + 1}.`), rows(output).flatMap((all) => all.slice(0, 3))), digits: 2 }, marked ? { marked } : {}),
        ],
      });
      const apart = ({ output }: typeof plain): number => {
        const all = rows(output);
        return pair ? compare(given(all[pair[0]]), given(all[pair[1]])).difference : NaN;
      };
      return {
        rows: [row("plain", plain), row("with positions", placed)],
        says: pair ? [
          observe(apart(plain) < 1e-5, `Without positions, the two “${given(tokens[pair[1]])}” differ by ${shown(apart(plain))}.`, `The two differ by ${shown(apart(plain))}.`),
          observe(apart(placed) > 0.01, `With positions, they differ by up to ${shown(apart(placed))}.`, `With positions, they still differ by only ${shown(apart(placed))}.`),
        ] : [observe(false, "", "No word stands twice here: type one again.")],
      };
    });
  },
  explore: ({ sentence }) => ({
    model: "tiny-bert", text: sentence || "the", layer: 0, head: 0, view: "lines", query: sentence === kSentence ? "1 4" : "",
  }),
  exploreShows: "The same words in a model with positions",
});
