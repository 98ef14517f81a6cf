// SPDX-License-Identifier: Apache-2.0
import { observe, percent } from "../../../experiments/numbers.js";
import { countOperations } from "../../../experiments/six-steps.js";
import { lesson } from "../../../lesson.js";
import { grouped } from "../sizes.js";

const kLengths = [128, 512, 2048, 8192, 32768, 131072];
const kHeads = 8;

interface Parts {
  readonly projections: number;
  readonly attention: number;
}

function partsOf(tokens: number, width: number): Parts {
  const counts = countOperations(tokens, width, kHeads);
  const { projections, scores, weightedValues, outputProjection } = counts;
  return { projections: projections + outputProjection, attention: scores + weightedValues };
}

const shareOf = ({ projections, attention }: Parts): number => attention / (projections + attention);

export default lesson({
  title: "The cost that grows with T²",
  claim: "Twice the text costs twice as much in the projections, and four times as much in the scores and the weighted values.",
  teaches: ["T3.8"],
  controls: {
    tokens: { kind: "steps", label: "tokens T", values: kLengths, value: 8192 },
    width: { kind: "steps", label: "width D", values: [256, 1024, 4096], value: 1024 },
  },
  question: {
    ask: "From which length on do scores and weighted values cost more than the four projections?",
    answers: ["T = D ÷ 2", "T = D", "T = 2 D", "T = D²"],
    right: 2,
    because: "Projections take 4 T D² multiplications, the rest 2 T² D. The two are equal at T = 2 D: set T to 2048 and D to 1024, and the bars have the same length.",
  },
  formula: () => "{billions of multiplications in a layer} = (4 · T · D² + 2 · T² · D) ÷ 10⁹",
  run(_, { tokens, width }) {
    const [now, twice] = [partsOf(tokens, width), partsOf(2 * tokens, width)];
    const shares = kLengths.map((length) => shareOf(partsOf(length, width)));
    return Promise.resolve({
      rows: [{
        items: [
          { kind: "bars", name: "billions of multiplications in a layer", labels: ["projections", "scores, values"], values: [now.projections / 1e9, now.attention / 1e9], digits: 2 },
          {
            kind: "curve", name: "share of scores and weighted values", at: tokens,
            x: { label: "tokens T", values: kLengths, scale: "log" }, y: { label: "share", min: 0, max: 1 },
            lines: [{ name: `D = ${width}`, values: shares }],
          },
        ],
      }],
      says: [
        observe(true, `At ${grouped(tokens)} tokens, scores and weighted values are ${percent(shareOf(now))} of the work.`, ""),
        observe(
          twice.projections === 2 * now.projections && twice.attention === 4 * now.attention,
          `At ${grouped(2 * tokens)} tokens, projections cost twice as much, the rest four times: ${percent(shareOf(twice))}.`,
          "Twice the text does not cost what the formula says.",
        ),
      ],
    });
  },
  explore: () => ({ model: "tiny", text: "The queen saw the king and she laughed.", layer: 0, head: 6, query: "9", key: "", view: "decode" }),
  exploreShows: "Rows that grow with each token",
});
