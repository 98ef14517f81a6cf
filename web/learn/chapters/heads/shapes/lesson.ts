// SPDX-License-Identifier: Apache-2.0
import { Draw, given, observe } from "../../../experiments/numbers.js";
import type { LessonLayer } from "../../../experiments/numbers.js";
import { lesson } from "../../../lesson.js";
import type { Row, Scene, Shape } from "../../../scene.js";
import { projectionsOf, stateOf } from "../layers.js";

type Sizes = Readonly<Record<"batch" | "tokens" | "width" | "heads", number>>;

const shape = (name: string, sizes: readonly number[], axes: string): Shape =>
  ({ kind: "shape", name, sizes, axes: axes.split(" ") });

const written = (sizes: readonly number[]): string => `(${sizes.join(", ")})`;

export default lesson({
  title: "A walk through the shapes",
  claim: "Splitting into heads only regroups the numbers, so the width must be a multiple of the number of heads.",
  teaches: ["T0.2", "T1.4"],
  controls: {
    batch: { kind: "slider", label: "sequences B", min: 1, max: 4, step: 1, value: 2 },
    tokens: { kind: "slider", label: "tokens T", min: 1, max: 8, step: 1, value: 4 },
    width: { kind: "slider", label: "width D", min: 4, max: 16, step: 1, value: 8 },
    heads: { kind: "slider", label: "heads H", min: 1, max: 8, step: 1, value: 2 },
  },
  question: {
    ask: "The width is 8. Which number of heads does the layer refuse?",
    answers: ["1", "3", "4", "8"],
    right: 1,
    because: "8 ÷ 3 leaves a remainder, and heads of unequal width could not be one tensor. Move the slider of the heads: 8 heads of width 1 are allowed.",
  },
  formula: ({ width, heads }) => width % heads === 0
    ? `{scores and weights} (B, H, T, T) = {Q, by head} (B, H, T, d) · Kᵀ (B, H, d, T) ÷ √d, with d = D ÷ H = ${width / heads}`
    : `d = D ÷ H = ${width} ÷ ${heads}, which is no whole number`,
  async run(engine, sizes) {
    const { batch, tokens, width, heads } = sizes;
    const x = shape("X", [batch, tokens, width], "B T D");
    let layer: LessonLayer;
    try {
      layer = await engine.multiheadAttention({ embedDim: width, numHeads: heads, bias: false, batchFirst: true });
    } catch (error) {
      const text = error instanceof Error ? error.message : String(error);
      return {
        rows: [{ title: "In", items: [x] }, { title: "The layer refuses", items: [{ kind: "note", text, tone: "error" }] }],
        says: [observe(false, "", `${width} is not a multiple of ${heads}.`)],
      };
    }
    try {
      return await walk(layer, x, sizes);
    } finally {
      layer.dispose();
    }
  },
  explore: () => ({ text: "The cat sat on the mat.", view: "numbers", layer: 0, head: 3, query: "2", key: "1" }),
  exploreShows: "Each step of a trained head, with its sizes",
});

async function walk(layer: LessonLayer, x: Shape, { batch, tokens, width, heads }: Sizes): Promise<Scene> {
  const draw = new Draw(2);
  await layer.loadStateDict(stateOf(projectionsOf(draw, width)));
  const input = { data: Float32Array.from(draw.row(batch * tokens * width)), shape: x.sizes };
  const { q, scores, headOutputs, output } = await layer.forward(input, { stages: ["q", "scores", "headOutputs"] });
  const [split, maps] = [given(q), given(scores)];
  const own = width / heads;
  const rows: Row[] = [
    { title: "In, and projected to queries; keys and values are alike", items: [x, "→", shape("Q", [batch, tokens, width], "B T D")] },
    {
      title: `Split into heads: ${width} = ${heads} · ${own}, and the axis of the heads moves forward`,
      items: [shape("Q, cut", [batch, tokens, heads, own], "B T H d"), "→", shape("Q, by head", split.shape, "B H T d")],
    },
    {
      title: "Attention in each head",
      items: [shape("scores and weights", maps.shape, "B H T T"), "→", shape("outputs of the heads", given(headOutputs).shape, "B H T d")],
    },
    { title: "Merged, and mixed by W_o", items: [shape("output", output.shape, "B T D")] },
  ];
  const numbers = [x.sizes, split.shape, output.shape].map((sizes) => sizes.reduce((all, size) => all * size, 1));
  return {
    rows,
    says: [
      observe(
        new Set(numbers).size === 1,
        `${written(x.sizes)}, ${written(split.shape)} and ${written(output.shape)} hold ${numbers[0] ?? NaN} numbers each: none is lost, and none is added.`,
        `The shapes hold ${numbers.join(", ")} numbers.`,
      ),
      observe(
        maps.data.length === batch * heads * tokens * tokens,
        `Only the maps know the tokens twice: ${heads} heads of ${tokens} × ${tokens} for each of ${batch} sequences are ${maps.data.length} weights.`,
        `There are ${maps.data.length} weights.`,
      ),
    ],
  };
}
