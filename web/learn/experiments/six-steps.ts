// SPDX-License-Identifier: Apache-2.0
/**
 * Multi-head attention in six steps, with every matrix and a count of every operation: several heads cost as much as
 * one wide head.
 */
import { kCatSatOnMat } from "../../views/cat-sat-on-mat.js";
import type { WorkedExample } from "../../views/worked-example.js";
import type { Findings, LessonEngine, LessonLayer, Matrix } from "./numbers.js";
import { compare, count, given, headRows, layerState, map, matrix, observe, shown, sum, tensor, withLayer } from "./numbers.js";

export interface Counts {
  /** The number of multiplications, each of which comes with an addition. */
  readonly projections: number;
  readonly scores: number;
  readonly weightedValues: number;
  readonly outputProjection: number;
  readonly exponentials: number;
  readonly parameters: number;
}

/** Counts the operations of `heads` heads of width `headWidth` over tokens of width `width`, without biases. */
export function countOperations(tokens: number, width: number, heads: number, headWidth = width / heads): Counts {
  const joined = heads * headWidth;
  return {
    projections: 3 * tokens * width * joined,
    scores: tokens * tokens * joined,
    weightedValues: tokens * tokens * joined,
    outputProjection: tokens * joined * width,
    exponentials: heads * tokens * tokens,
    parameters: 4 * width * joined,
  };
}

export const multiplications = ({ projections, scores, weightedValues, outputProjection }: Counts): number =>
  projections + scores + weightedValues + outputProjection;

export interface LessonStep {
  readonly title: string;
  readonly matrices: readonly Matrix[];
  /** The number of multiplications in this step. */
  readonly operations: number;
}

export interface SixSteps extends Findings {
  readonly steps: readonly LessonStep[];
}

const kStages = ["q", "k", "v", "scaledScores", "weights", "headOutputs", "headContributions"] as const;

export async function sixSteps(engine: LessonEngine, example: WorkedExample = kCatSatOnMat): Promise<SixSteps> {
  const [tokens, width, heads] = [example.tokens.length, example.wq.length, example.numHeads];
  const copy = (matrix: WorkedExample["x"]): number[][] => matrix.map((row) => [...row]);
  const state = layerState(copy(example.wq), copy(example.wk), copy(example.wv), copy(example.wo));
  const options = { embedDim: width, numHeads: heads, bias: false };
  return withLayer(engine, options, state, async (layer) => {
    const result = await layer.forward(tensor(example.x), { averageAttnWeights: false, stages: kStages });
    const counts = countOperations(tokens, width, heads);
    const steps = arrange(example, result, counts);
    return {
      title: `${heads} heads for the price of one`,
      steps,
      matrices: steps.flatMap((step) => step.matrices),
      figures: [
        { name: "multiplications", value: multiplications(counts) },
        { name: "parameters", value: layer.parameterCount },
      ],
      observations: [
        await apart(engine, result, heads),
        summed(result, heads),
        await priced(engine, layer, tokens, width, heads),
      ],
    };
  });
}

type Result = Awaited<ReturnType<LessonLayer["forward"]>>;

function arrange(example: WorkedExample, result: Result, counts: Counts): LessonStep[] {
  const { tokens, numHeads } = example;
  const width = example.wq.length;
  const own = width / numHeads;
  const dims = (head: number): string[] => count(own, (index) => String(head * own + index));
  const each = <T>(make: (head: number) => T[]): T[] => [...Array(numHeads).keys()].flatMap(make);
  const part = (name: string, w: WorkedExample["wq"], head: number): Matrix => {
    const columns = w.flatMap((row) => row.slice(head * own, (head + 1) * own));
    return matrix(`${name}, head ${head}`, count(width), dims(head), columns);
  };
  const stage = (name: string, from: (typeof kStages)[number], head: number, cols: readonly string[]): Matrix =>
    matrix(`${name}, head ${head}`, tokens, cols, headRows(result[from], head).flat());
  const joined = tokens.map((_, row) => each((head) => given(headRows(result.headOutputs, head)[row])));
  return [
    {
      title: `1 · Each head gets ${width} ÷ ${numHeads} = ${own} of the ${width} dimensions`,
      matrices: [matrix("X", tokens, count(width), example.x.flat())],
      operations: 0,
    },
    {
      title: "2 · Queries, keys and values of its own",
      matrices: each((head) => [
        part("W_q", example.wq, head), stage("Q", "q", head, dims(head)),
        part("W_k", example.wk, head), stage("K", "k", head, dims(head)),
        part("W_v", example.wv, head), stage("V", "v", head, dims(head)),
      ]),
      operations: counts.projections,
    },
    {
      title: "3 · Attention within each head",
      matrices: each((head) => [
        stage("scores ÷ √d", "scaledScores", head, tokens),
        map(`weights, head ${head}`, tokens, tokens, headRows(result.weights, head).flat()),
        stage("output", "headOutputs", head, dims(head)),
      ]),
      operations: counts.scores + counts.weightedValues,
    },
    {
      title: `4 · Side by side: ${numHeads} · ${own} = ${width} columns again`,
      matrices: [matrix("heads joined", tokens, count(width), joined.flat())],
      operations: 0,
    },
    {
      title: "5 · Mixed by W_o",
      matrices: [
        matrix("W_o", count(width), count(width), example.wo.flat()),
        matrix("output", tokens, count(width), result.output.data),
      ],
      operations: counts.outputProjection,
    },
    { title: "6 · The price", matrices: [prices(tokens.length, width, numHeads)], operations: 0 },
  ];
}

/** The cost of the heads, compared with one head of full width and with several heads of full width each. */
export function prices(tokens: number, width: number, heads: number): Matrix {
  const narrow = countOperations(tokens, width, heads);
  const all = [narrow, countOperations(tokens, width, 1), countOperations(tokens, width, heads, width)];
  return matrix(
    "price",
    [`${heads} heads of ${width / heads}`, `1 head of ${width}`, `${heads} heads of ${width}`],
    ["projections", "scores", "weighted values", "output projection", "multiplications", "exponentials", "parameters"],
    all.flatMap((one) => [
      one.projections, one.scores, one.weightedValues, one.outputProjection,
      multiplications(one), one.exponentials, one.parameters,
    ]),
  );
}

/** Computes each head on its own, from its own queries, keys and values. */
async function apart(engine: LessonEngine, result: Result, heads: number): Promise<Findings["observations"][number]> {
  let difference = 0;
  let same = true;
  for (let head = 0; head < heads; head++) {
    const [q, k, v] = (["q", "k", "v"] as const).map((stage) => tensor(headRows(result[stage], head)));
    const alone = await engine.scaledDotProductAttention(given(q), given(k), given(v));
    const found = compare(alone.output.data, headRows(result.headOutputs, head).flat());
    difference = Math.max(difference, found.difference);
    same &&= found.same;
  }
  return observe(
    same,
    `Heads do not speak to each other: each one run alone gives the same numbers (largest difference ${shown(difference)}).`,
    `Heads run alone give other numbers: they differ by ${shown(difference)}.`,
  );
}

function summed(result: Result, heads: number): Findings["observations"][number] {
  const parts = Array.from({ length: heads }, (_, head) => headRows(result.headContributions, head).flat());
  const total = Array.from(result.output.data, (_, index) => sum(parts.map((part) => part[index] ?? NaN)));
  const { difference, same } = compare(total, result.output.data);
  return observe(
    same,
    `The output is the sum of what each head puts in through its rows of the output projection (largest difference ${shown(difference)}).`,
    `The heads’ parts do not add up to the output: it differs by ${shown(difference)}.`,
  );
}

async function priced(
  engine: LessonEngine, layer: LessonLayer, tokens: number, width: number, heads: number,
): Promise<Findings["observations"][number]> {
  const single = await engine.multiheadAttention({ embedDim: width, numHeads: 1, bias: false });
  const parameters = single.parameterCount;
  single.dispose();
  const [many, one] = [countOperations(tokens, width, heads), countOperations(tokens, width, 1)].map(multiplications);
  const same = many === one && parameters === layer.parameterCount;
  const price = `${many} multiplications and ${layer.parameterCount} parameters`;
  const numbers = `${heads} heads take ${price}, one full-width head ${one} and ${parameters}`;
  return observe(same, `${numbers}: the same.`, `${numbers}.`);
}
