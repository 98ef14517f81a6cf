// SPDX-License-Identifier: Apache-2.0
import { given, type Matrix } from "../../../experiments/numbers.js";
import { padding } from "../../../experiments/variants/padding.js";
import { lesson } from "../../../lesson.js";
import { table } from "../../../scene.js";

export default lesson({
  title: "Padding must be masked",
  claim: "A mask before the softmax makes a padded sentence come out as if it stood alone.",
  teaches: ["T3.8"],
  controls: {
    padding: { kind: "slider", label: "padding positions", min: 1, max: 5, step: 1, value: 2 },
    loudness: { kind: "slider", label: "size of the numbers in them", min: 0, max: 4, step: 0.5, value: 3 },
  },
  question: {
    ask: "All the numbers in the padding are 0. Is the mask still needed?",
    answers: ["no, zeros get no weight", "yes, zeros get weight, too"],
    right: 1,
    because: "Zeros make scores of 0, and e⁰ is 1: more than any negative score gets. Set the size to 0 and look at the map without a mask.",
  },
  formula: () => "{padded and masked} = softmax(scores + mask), where the mask is −∞ for padding and 0 elsewhere",
  async run(engine, { padding: extra, loudness }) {
    const { matrices, figures, observations } = await padding(engine, { padding: extra, loudness });
    const named = (name: string): Matrix => given(matrices.find((one) => one.name === name));
    const moved = (how: string): number => given(figures.find(({ name }) => name === `outputs moved, ${how}`)).value;
    const masked = named("padded and masked");
    const isPadding = masked.rows.flatMap(() => masked.cols.map((_, key) => key >= masked.rows.length));
    return {
      rows: [
        { title: "The sentence alone", items: [table(named("alone"))] },
        { title: "The same sentence in a batch, filled up to the longest one", items: [table(named("padded, not masked")), table(masked, { masked: isPadding })] },
        { items: [{ kind: "bars", name: "outputs move by at most", labels: ["not masked", "masked"], values: [moved("not masked"), moved("masked")], digits: 3 }] },
      ],
      says: observations,
    };
  },
  explore: () => ({
    text: "The queen saw the king", compareText: "The queen saw the king and she laughed.", layer: 3, head: 4, view: "compare",
  }),
  exploreShows: "A text, and the same with more words, which the causal mask hides",
});
