// SPDX-License-Identifier: Apache-2.0
import { given, largest, map, matrix, mean, observe, percent, rows, tensor, type Observation } from "../../../experiments/numbers.js";
import { lesson } from "../../../lesson.js";
import { table } from "../../../scene.js";
import { kCatSatOnMat } from "../../../../views/cat-sat-on-mat.js";
import { kTokens, stepsOf, type Rows } from "../head.js";

const kRoles = { query: "its query", key: "its key", value: "its value" };
const kOwn = ["0", "1"];

export default lesson({
  title: "Three roles of one token",
  claim: "Every token takes part three times, as a query, as a key and as a value, and each part decides something else.",
  teaches: ["T0.1"],
  controls: {
    token: { kind: "choice", label: "the token", options: { 0: "cat", 1: "sat", 2: "on", 3: "mat" }, value: "1" },
    role: { kind: "choice", label: "what is changed", options: kRoles, value: "key" },
    factor: { kind: "slider", label: "it is multiplied by", min: -2, max: 3, step: 0.5, value: -1 },
  },
  question: {
    ask: "The value of sat is multiplied by 3. What changes in the map of weights?",
    answers: ["the row of sat", "the column of sat", "nothing"],
    right: 2,
    because: "Weights are made of queries and keys alone. Choose “its value”: the map stays, and every output that has a share of sat changes.",
  },
  formula: () => "{change of weights} = {weights after} − {weights before}",
  async run(engine, { token: chosen, role, factor }) {
    const token = Number(chosen);
    const { q, k, v, weights: before, headOutputs: outBefore } = await stepsOf(engine, kCatSatOnMat, 0);
    const changed = (own: typeof role, matrix: Rows): number[][] =>
      matrix.map((row, index) => row.map((value) => (own === role && index === token ? value * factor : value)));
    const result = await engine.scaledDotProductAttention(
      tensor(changed("query", q)), tensor(changed("key", k)), tensor(changed("value", v)), { needWeights: true },
    );
    const [after, outAfter] = [rows(given(result.weights)), rows(result.output)];
    const [weightChange, outputChange] = [difference(after, before), difference(outAfter, outBefore)];
    const name = kTokens[token] ?? "";
    const meanShare = (weights: Rows): number => mean(weights.map((row) => row[token] ?? NaN));
    const marked = role === "query" ? { row: token, col: -1 } : { row: -1, col: token };
    return {
      rows: [
        {
          title: `The weights, before and after: the ${role} of ${name} times ${String(factor).replace("-", "−")}`,
          items: [
            table(map("weights before", kTokens, kTokens, before.flat())), "→",
            table(map("weights after", kTokens, kTokens, after.flat()), role === "value" ? {} : { marked }),
          ],
        },
        {
          title: "What that changes: after − before",
          items: [
            table(matrix("change of weights", kTokens, kTokens, weightChange.flat())),
            table(matrix("change of the output", kTokens, kOwn, outputChange.flat())),
          ],
        },
      ],
      says: [
        saidOfWeights(role, name, movedRows(weightChange), [before, after].map(meanShare)),
        observe(true, changing("output", movedRows(outputChange)), ""),
      ],
    };
  },
  explore: ({ token }) => {
    const place = String([2, 3, 4, 6][Number(token)]); // after <s> and The
    return { text: "The cat sat on the mat.", view: "numbers", layer: 0, head: 2, query: place, key: place };
  },
  exploreShows: "A real query, key and value of the same token",
});

const difference = (a: Rows, b: Rows): number[][] =>
  a.map((row, index) => row.map((value, col) => value - (b[index]?.[col] ?? NaN)));

/** The tokens whose rows have changed by more than rounding. */
const movedRows = (change: Rows): string[] => kTokens.filter((_, row) => largest(change[row] ?? []) > 1e-6);

const changing = (what: string, tokens: readonly string[]): string =>
  tokens.length === 0 ? `No ${what} changes.` : `The ${what} changes for ${tokens.join(", ")}.`;

function saidOfWeights(
  role: keyof typeof kRoles, name: string, tokens: readonly string[],
  [shareBefore = NaN, shareAfter = NaN]: readonly number[],
): Observation {
  const said = changing("row of weights", tokens);
  const shares = `The mean share of ${name} was ${percent(shareBefore)} and is now ${percent(shareAfter)}.`;
  switch (role) {
    case "query":
      return observe(tokens.every((token) => token === name), `${said} A query decides where its own token looks.`, said);
    case "key": return observe(true, `${said} A key decides how much its token is looked at. ${shares}`, "");
    case "value": return observe(tokens.length === 0, `${said} A value only decides what is handed over.`, said);
  }
}
