// SPDX-License-Identifier: Apache-2.0
import { count, map, matrix, observe, type LessonEngine } from "../../../experiments/numbers.js";
import { lesson } from "../../../lesson.js";
import { table, type Item } from "../../../scene.js";

/** The message of the engine when it refuses to make such a layer. */
async function refusal(engine: LessonEngine, embedDim: number, numHeads: number): Promise<string | undefined> {
  try {
    (await engine.multiheadAttention({ embedDim, numHeads })).dispose();
    return undefined;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "shape") return error.message;
    throw error;
  }
}

export default lesson({
  title: "10. A width that the heads cannot share",
  claim: "The heads of a layer cut its width D into H pieces of the same size.",
  teaches: ["T3.7", "T1.4"],
  asksFirst: true,
  controls: {
    width: { kind: "slider", label: "width D", min: 4, max: 64, step: 1, value: 16 },
    heads: { kind: "slider", label: "heads H", min: 1, max: 8, step: 1, value: 3 },
  },
  question: {
    ask: "A layer is 16 wide. Which of these numbers of heads does it refuse?",
    answers: ["2", "3", "8"],
    right: 1,
    because: "16 ÷ 3 leaves a remainder of 1, and there is no equal cut. Move the width to 15: now 3 heads fit, and 2 do not.",
  },
  formula: () => "d = D ÷ H, and {made} is 1 where {D mod H} is 0",
  async run(engine, { width, heads }) {
    const all = count(8, (index) => String(index + 1));
    const refusals = await Promise.all(all.map((_, index) => refusal(engine, width, index + 1)));
    const message = refusals[heads - 1];
    const fits = all.filter((_, index) => refusals[index] === undefined);
    const right = refusals.every((one, index) => (one === undefined) === (width % (index + 1) === 0));
    const marked = { row: -1, col: heads - 1 };
    const answer: Item = message === undefined
      ? { kind: "shape", name: `queries, keys and values of a token: ${width} numbers`, sizes: [heads, width / heads], axes: ["H", "d"] }
      : { kind: "note", tone: "error", text: message };
    return {
      rows: [
        { title: `A layer of width ${width} with ${heads} head${heads === 1 ? "" : "s"}`, items: [answer] },
        {
          title: "All numbers of heads up to 8", about: "1 where the engine makes the layer, 0 where it refuses.",
          items: [
            table({ ...map("made", ["made"], all, refusals.map((one) => (one === undefined ? 1 : 0))), digits: 0 }, { marked }),
            table({ ...matrix("D mod H", ["remainder"], all, all.map((_, index) => width % (index + 1))), digits: 0 }, { marked }),
          ],
        },
      ],
      says: [observe(right, `Of 1 to 8 heads, a width of ${width} can have ${fits.join(", ")}: exactly those that leave no remainder.`, "Others than the divisors fit, too.")],
    };
  },
  explore: () => ({ layer: 0, head: 0, view: "steps" }),
  exploreShows: "A width of 4, cut for two heads",
});
