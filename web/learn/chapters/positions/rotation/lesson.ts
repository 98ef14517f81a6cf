// SPDX-License-Identifier: Apache-2.0
import type { AttentionOptions } from "headlens";
import { count, given, matrix, observe, rows, shown, tensor } from "../../../experiments/numbers.js";
import { lesson } from "../../../lesson.js";
import { table, type PlaneMark } from "../../../scene.js";

const kPlaces = 8;
const [kQuery, kKey] = [[1, 0.2], [0.8, 0.6]];

export default lesson({
  title: "Rotary: a turn for each token",
  claim: "If query and key are turned by their positions, their score depends on the distance only.",
  teaches: ["T3.6"],
  controls: {
    query: { kind: "slider", label: "position of the query", min: 0, max: kPlaces - 1, step: 1, value: 5 },
    key: { kind: "slider", label: "position of the key", min: 0, max: kPlaces - 1, step: 1, value: 3 },
    angle: { kind: "slider", label: "degrees for each position", min: 0, max: 90, step: 5, value: 30 },
  },
  question: {
    ask: "You move both the query and the key on by one position. What happens to their score?",
    answers: ["it grows", "it falls", "it stays"],
    right: 2,
    because: "Both arrows turn by the same angle, so the angle between them stays, and with it the dot product. Only a different distance changes it: move one slider alone.",
  },
  formula: () => "{score of the query at i and the key at j} = (q turned by i · angle) · (k turned by j · angle)",
  async run(engine, { query, key, angle }) {
    const same = (vector: readonly number[]): number[][] => count(kPlaces).map(() => [...vector]);
    const [q, k] = [tensor(same(kQuery)), tensor(same(kKey))];
    // A head of width 2 has one pair, which turns by 1 radian for each position, divided by `rotaryScale`.
    const options: AttentionOptions = angle === 0 ? {} : { rotary: "half", rotaryScale: 180 / Math.PI / angle };
    const result = await engine.scaledDotProductAttention(q, k, k, { ...options, scale: 1, stages: ["scores", "q", "k"] });
    const scores = rows(given(result.scores));
    const [turnedQueries, turnedKeys] = [rows(result.q ?? q), rows(result.k ?? k)];
    const score = given(scores[query]?.[key]);
    const distance = query - key;
    const diagonal = scores.flatMap((row, i) => row.filter((_, j) => i - j === distance));
    const apart = Math.max(...diagonal) - Math.min(...diagonal);
    const arrow = (name: string, [x = 0, y = 0]: readonly number[], tone: 0 | 1, isFaint = false): PlaneMark =>
      ({ name, form: "arrow", at: [x, y], tone, isFaint });
    const places = count(kPlaces);
    return {
      rows: [
        {
          items: [
            {
              kind: "plane", name: "Query and key, before (faint) and after their turns", from: -1, to: 1,
              marks: [
                arrow("q", kQuery, 0, true), arrow("k", kKey, 1, true),
                arrow(`q at ${query}`, given(turnedQueries[query]), 0), arrow(`k at ${key}`, given(turnedKeys[key]), 1),
              ],
            },
            table({ ...matrix("score of the query at i and the key at j", places, places, scores.flat()), digits: 2 }, { marked: { row: query, col: key } }),
          ],
        },
      ],
      says: [
        observe(
          apart < 1e-5,
          `Query at ${query}, key at ${key}: the score is ${shown(score)}${diagonal.length === 1 ? "; the table has no other pair" : `, as for all ${diagonal.length} pairs in the table`} at distance ${distance < 0 ? `−${-distance}` : distance}.`,
          `Pairs at distance ${distance} have scores that differ by ${shown(apart)}.`,
        ),
        observe(
          true,
          angle === 0 ? "Without a turn, all scores are the same, and order is lost." : `The query has turned by ${query} · ${angle}° = ${query * angle}°, the key by ${key * angle}°, so the angle between them has changed by ${Math.abs(distance) * angle}°.`,
          "",
        ),
      ],
    };
  },
  explore: ({ query, key }) => ({
    model: "tiny", text: "The queen saw the king and she laughed.", layer: 0, head: 5, view: "numbers",
    query: String(Math.max(query, key)), key: String(Math.min(query, key)),
  }),
  exploreShows: "A turned query and a turned key of a trained head",
});
