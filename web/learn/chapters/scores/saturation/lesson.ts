// SPDX-License-Identifier: Apache-2.0
import { saturation } from "../../../experiments/saturation.js";
import { given, map } from "../../../experiments/numbers.js";
import type { Findings, LessonEngine } from "../../../experiments/numbers.js";
import { lesson } from "../../../lesson.js";
import { table, type Curve, type Table } from "../../../scene.js";

const kWidths = [4, 16, 64, 256, 1024];

/** All widths are measured at once, so moving the slider only chooses what is shown. */
const kMeasured = new WeakMap<LessonEngine, Promise<Findings>>();

function measured(engine: LessonEngine): Promise<Findings> {
  const known = kMeasured.get(engine) ?? saturation(engine, { widths: kWidths, queries: 32, keys: 16, seed: 5 });
  kMeasured.set(engine, known);
  return known;
}

export default lesson({
  title: "Why scores are divided by √d",
  claim: "The wider the head, the larger its raw scores and the steeper its weights, unless the scores are divided by √d.",
  teaches: ["T0.5"],
  controls: {
    width: { kind: "steps", label: "head width d", values: kWidths, value: 256 },
  },
  question: {
    ask: "The head becomes four times as wide. How much do its raw scores grow?",
    answers: ["not at all", "twice", "four times", "sixteen times"],
    right: 1,
    because: "A score is a sum of d products, and a sum of random numbers grows with √d. Move the slider by one step: the deviation of the scores doubles.",
  },
  formula: () => "{scores as they are}: softmax(Q · Kᵀ), {scores ÷ √d}: softmax(Q · Kᵀ ÷ √d)",
  async run(engine, { width }) {
    const { matrices, observations } = await measured(engine);
    const named = (name: string): (typeof matrices)[number] => given(matrices.find((one) => one.name === name));
    const column = (name: string, index: number): number[] =>
      kWidths.map((_, row) => named(name).values[row * 4 + index] ?? NaN);
    const curve = (name: string, index: number, most: number): Curve => ({
      kind: "curve", name, at: width,
      x: { label: "head width d", values: kWidths, scale: "log" },
      y: { label: name, min: 0, max: most },
      lines: [
        { name: "÷ √d", values: column("scores ÷ √d", index) },
        { name: "as they are", values: column("scores as they are", index) },
      ],
    });
    const few = (scores: string): Table => {
      const { rows, cols, values } = named(`weights, d = ${width}, ${scores}`);
      const part = rows.slice(0, 4).flatMap((_, row) => [...values.subarray(row * cols.length, row * cols.length + 8)]);
      return table({ ...map(scores, rows.slice(0, 4), cols.slice(0, 8), part), digits: 2 });
    };
    return {
      rows: [
        { title: `Weights of four random queries on eight of sixteen keys, d = ${width}`, items: [few("scores as they are"), few("scores ÷ √d")] },
        { title: "Over all widths", items: [curve("entropy of the weights (nats)", 1, Math.log(16)), curve("gradient of the softmax", 3, 0.4)] },
      ],
      says: observations,
    };
  },
  explore: () => ({ text: "The queen saw the king and", view: "map", layer: 3, head: 1, query: "6", temperature: 0.25 }),
  exploreShows: "Trained heads without their division by √16",
});
