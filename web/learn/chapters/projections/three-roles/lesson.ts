// SPDX-License-Identifier: Apache-2.0
import { given, map, matrix, observe, percent, rows, tensor } from "../../../experiments/numbers.js";
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
  async run(engine, { token: chosen, role, factor }) {
    const token = Number(chosen);
    const { q, k, v, weights: before, headOutputs: outBefore } = await stepsOf(engine, kCatSatOnMat, 0);
    const changed = (own: typeof role, matrix: Rows): number[][] =>
      matrix.map((row, index) => row.map((value) => (own === role && index === token ? value * factor : value)));
    const result = await engine.scaledDotProductAttention(
      tensor(changed("query", q)), tensor(changed("key", k)), tensor(changed("value", v)), { needWeights: true },
    );
    const [after, outAfter] = [rows(given(result.weights)), rows(result.output)];
    const moved = (a: Rows, b: Rows): boolean[][] => a.map((row, r) => row.map((value, c) => Math.abs(value - (b[r]?.[c] ?? NaN)) > 1e-6));
    const difference = (a: Rows, b: Rows): number[] => a.flatMap((row, r) => row.map((value, c) => value - (b[r]?.[c] ?? NaN)));
    const movedWeights = moved(after, before);
    const movedRows = kTokens.filter((_, row) => movedWeights[row]?.includes(true));
    const movedOutputs = kTokens.filter((_, row) => moved(outAfter, outBefore)[row]?.includes(true));
    const name = kTokens[token] ?? "";
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
            table(matrix("change of weights", kTokens, kTokens, difference(after, before))),
            table(matrix("change of the output", kTokens, kOwn, difference(outAfter, outBefore))),
          ],
        },
      ],
      says: [said(role, name, movedRows), saidOfOutputs(movedOutputs)],
    };

    function said(own: typeof role, of: string, changedRows: readonly string[]): ReturnType<typeof observe> {
      const listed = changedRows.length === 0 ? "No row of weights changes" : `Rows of weights that change: ${changedRows.join(", ")}`;
      switch (own) {
        case "query": return observe(changedRows.every((row) => row === of), `${listed}. A query decides where its own token looks.`, `${listed}.`);
        case "key": {
          const [low, high] = [before, after].map((rows) => rows.reduce((total, row) => total + (row[token] ?? NaN), 0) / rows.length);
          return observe(true, `${listed}. A key decides how much the others look at its token: the mean share of ${of} was ${percent(low ?? NaN)} and is now ${percent(high ?? NaN)}.`, "");
        }
        case "value": return observe(changedRows.length === 0, `${listed}. A value only decides what is handed over.`, `${listed}.`);
      }
    }

    function saidOfOutputs(names: readonly string[]): ReturnType<typeof observe> {
      return observe(true, names.length === 0 ? "No output changes." : `Outputs that change: ${names.join(", ")}.`, "");
    }
  },
});
