// SPDX-License-Identifier: Apache-2.0
import { count, matrix, observe, rows, shown, sum, transpose } from "../../../experiments/numbers.js";
import { lesson } from "../../../lesson.js";
import { table } from "../../../scene.js";

const [kPlaces, kFar] = [6, 40];

const dot = (a: readonly number[], b: readonly number[]): number => sum(a.map((value, i) => value * (b[i] ?? NaN)));

export default lesson({
  title: "Positions as waves",
  claim: "The dot product of two sinusoidal positions depends on their distance only, not on where the two stand.",
  teaches: ["T3.6"],
  controls: {
    first: { kind: "slider", label: "first position", min: 0, max: 200, step: 1, value: 0 },
    width: { kind: "steps", label: "width D", values: [2, 4, 6, 8], value: 6 },
  },
  question: {
    ask: "You move the window 50 positions on. What changes?",
    answers: ["P and P · Pᵀ", "only P", "only P · Pᵀ", "nothing"],
    right: 1,
    because: "All waves go on, so every row of P is another one. But two rows at a distance of 3 still have the same dot product. Move the first position, and watch both tables.",
  },
  formula: () => "{P}[p, 2i] = sin(p ÷ 10000^(2i ÷ D)), {P}[p, 2i + 1] = cos(p ÷ 10000^(2i ÷ D))",
  async run(engine, { first, width }) {
    const all = rows(await engine.sinusoidalPositions(kFar + 1, width, first));
    const start = rows(await engine.sinusoidalPositions(kFar + 1, width, 0));
    const near = all.slice(0, kPlaces);
    const names = count(kPlaces, (index) => String(first + index));
    const waves = count(width, (index) => (index % 2 ? `cos ${(index - 1) / 2}` : `sin ${index / 2}`));
    const products = near.map((a) => near.map((b) => dot(a, b)));
    const [here = [], atStart = []] = [all, start].map((one) => one.map((row) => dot(one[0] ?? [], row)));
    const usual = (i: number, j: number): number => atStart[Math.abs(i - j)] ?? NaN;
    const apart = Math.max(...products.flatMap((row, i) => row.map((value, j) => Math.abs(value - usual(i, j)))));
    const falls = (here[1] ?? NaN) < (here[0] ?? NaN);
    return {
      rows: [
        {
          title: `Positions ${first} to ${first + kPlaces - 1}`,
          items: [
            table(matrix("P", names, waves, near.flat())), "·", table(matrix("Pᵀ", waves, names, transpose(near).flat()), { from: { how: "transposed", of: "P" } }), "=",
            table(matrix("P · Pᵀ", names, names, products.flat()), { from: { how: "product", left: "P", right: "Pᵀ" } }),
          ],
        },
        {
          items: [{
            kind: "curve", name: `dot product of position ${first} with a later one`,
            x: { label: "distance", values: count(kFar + 1).map(Number) }, y: { label: "dot product", min: -width / 2, max: width / 2 },
            lines: [{ name: "P · Pᵀ", values: here }],
          }],
        },
      ],
      says: [
        observe(
          apart < 1e-3,
          `Each diagonal of P · Pᵀ has one number (to within ${shown(apart)})${first === 0 ? "" : ", the same as from position 0 on"}.`,
          `On a diagonal of P · Pᵀ, numbers differ by up to ${shown(apart)} from those at position 0.`,
        ),
        observe(
          falls,
          `A position is most like itself: ${shown(here[0] ?? NaN)} at distance 0, ${shown(here[1] ?? NaN)} at distance 1.`,
          `At distance 1 the dot product is ${shown(here[1] ?? NaN)}.`,
        ),
      ],
    };
  },
  explore: () => ({ model: "tiny-bert", text: "the dog saw the cat", layer: 0, head: 0, query: "1", view: "why" }),
  exploreShows: "A trained head in which position meets position",
});
