// SPDX-License-Identifier: Apache-2.0
import { given, identity, observe, percent, rows, tensor } from "../../../experiments/numbers.js";
import { lesson } from "../../../lesson.js";

const kTokens = ["The", "boat", "that", "we", "painted", "with", "my", "uncle", "one", "cold", "week", "was"];
const kLast = kTokens.length - 1;

export default lesson({
  title: "Any token is one step away",
  claim: "A memory that is rewritten at every token fades with distance; attention compares all tokens at once.",
  teaches: [],
  controls: {
    wanted: { kind: "slider", label: "the token that “was” needs: number", min: 0, max: kLast, step: 1, value: 1 },
    keep: { kind: "slider", label: "of its memory, a token keeps", min: 0.1, max: 0.95, step: 0.05, value: 0.7 },
    fit: { kind: "slider", label: "score of that token (others: 0)", min: 0, max: 8, step: 0.5, value: 5 },
  },
  question: {
    ask: "“was” needs “week”, right before it, and not “boat”, ten tokens back. Its score is the same. How does its share in the attention change?",
    answers: ["it grows, since week is near", "it stays the same", "it shrinks"],
    right: 1,
    because: "The softmax sees scores, and no places. Choose “week”: only the memory changes.",
  },
  formula: () => "share in {the attention} = e^score ÷ (e^score + 11), share in {the memory}, n tokens back = (1 − kept) · keptⁿ",
  async run(engine, { wanted, keep, fit }) {
    // Query t fits key t, so row t of the weights is the one in which token t is needed.
    const one = tensor(identity(kTokens.length));
    const result = await engine.scaledDotProductAttention(one, one, one, { scale: fit, needWeights: true });
    const weights = rows(given(result.weights));
    const row = given(weights[wanted]);
    const memory = remembered(keep);
    const [held, found] = [memory[wanted] ?? NaN, row[wanted] ?? NaN];
    const distances = [...kTokens.keys()];
    const back = <T>(at: (token: number) => T): T[] => distances.map((distance) => at(kLast - distance));
    const name = `“${kTokens[wanted] ?? ""}”`;
    return {
      rows: [
        { title: "What a memory holds at “was”", items: [{ kind: "sentence", name: "the memory", tokens: kTokens, weights: memory, query: wanted, control: "wanted" }] },
        { title: `What attention gives to “was”, which needs ${name}`, items: [{ kind: "sentence", name: "the attention", tokens: kTokens, weights: row, query: wanted, control: "wanted" }] },
        {
          items: [{
            kind: "curve", name: "Share of the token that is needed, by its distance", at: kLast - wanted,
            x: { label: "tokens back", values: distances },
            y: { label: "share", min: 0, max: 1 },
            lines: [
              { name: "attention", values: back((token) => weights[token]?.[token] ?? NaN) },
              { name: "memory", values: back((token) => memory[token] ?? NaN) },
            ],
          }],
        },
      ],
      says: [
        observe(
          found > held,
          `${name} is ${kLast - wanted === 1 ? "1 token" : `${kLast - wanted} tokens`} back: the memory still holds ${percent(held)} of it, and attention gives it ${percent(found)}.`,
          `Here the memory is ahead: it holds ${percent(held)} of ${name}, and attention gives it ${percent(found)}.`,
        ),
        observe(true, `The attention would be the same at any distance: e^${fit} ÷ (e^${fit} + ${kLast}) = ${percent(found)}.`, ""),
      ],
    };
  },
  explore: () => ({
    text: "The queen saw the old king in the garden by the house and she laughed.", view: "lines", layer: 3, head: 4, query: "13",
  }),
  exploreShows: "A trained head that looks eleven tokens back",
});

/** At every token, the memory becomes a blend of what it was and the token. It begins empty. */
const remembered = (keep: number): number[] =>
  kTokens.reduce<number[]>((memory) => [...memory.map((share) => share * keep), 1 - keep], []);
