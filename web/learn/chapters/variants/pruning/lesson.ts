// SPDX-License-Identifier: Apache-2.0
import { given, observe, percent, type Matrix } from "../../../experiments/numbers.js";
import { pruning } from "../../../experiments/variants/pruning.js";
import { lesson } from "../../../lesson.js";

const kHeads = 8;

export default lesson({
  title: "Which heads could go?",
  claim: "How much the output changes when heads are removed depends on which heads they are.",
  teaches: ["T3.8"],
  controls: {
    removed: { kind: "slider", label: "heads removed", min: 0, max: kHeads, step: 1, value: 4 },
    fading: { kind: "slider", label: "each head counts so many times the one before", min: 0.3, max: 1, step: 0.1, value: 0.6 },
  },
  question: {
    ask: "Now no head is made to count less than another. You remove half of them. Does it matter which?",
    answers: ["no", "yes, but less", "yes, even more"],
    right: 1,
    because: "No head is nearly without effect now, but heads still agree or cancel each other. Set the second slider to 1: the lines come closer, and do not meet until the end.",
  },
  formula: () => "{output changes without} head h = ‖output − output without h‖ ÷ ‖output‖",
  async run(engine, { removed, fading }) {
    const { matrices, observations } = await pruning(engine, { heads: kHeads, fading });
    const named = (name: string): Matrix => given(matrices.find((one) => one.name === name));
    const alone = named("output changes without");
    const [gentle, rough] = [named("least important first"), named("most important first")];
    const changes = ({ values }: Matrix): number[] => [0, ...values.filter((_, index) => index % 2 === 1)];
    const heads = ({ values }: Matrix): string => [...values].filter((_, index) => index % 2 === 0).slice(0, removed).join(", ");
    const [least, most] = [given(changes(gentle)[removed]), given(changes(rough)[removed])];
    return {
      rows: [{
        items: [
          { kind: "bars", name: "output changes without", labels: alone.rows, values: [...alone.values], digits: 3 },
          {
            kind: "curve", name: "change of the output", at: removed,
            x: { label: "heads removed", values: changes(gentle).map((_, index) => index) },
            y: { label: "change", min: 0 },
            lines: [{ name: "least first", values: changes(gentle) }, { name: "most first", values: changes(rough) }],
          },
        ],
      }],
      says: [
        given(observations[0]),
        removed === 0 ? observe(true, "Nothing is removed, and nothing changes.", "")
        : observe(
          removed === kHeads || least < most,
          `Without heads ${heads(gentle)} the output changes by ${percent(least)}, without heads ${heads(rough)} by ${percent(most)}.`,
          `Without heads ${heads(gentle)} the output changes by ${percent(least)}, and without heads ${heads(rough)} by as much.`,
        ),
      ],
    };
  },
  explore: ({ removed }) => ({ layer: 3, head: 4, query: "6", view: "effect", ablate: removed === 0 ? "" : "3.4" }),
  exploreShows: "A trained head, silenced",
});
