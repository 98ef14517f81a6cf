// SPDX-License-Identifier: Apache-2.0
/** A row of weights and the values that it blends. */
import { given, tensor, type LessonEngine } from "../../experiments/numbers.js";
import type { PlaneMark } from "../../scene.js";

export const kTokens = ["cat", "sat", "mat"];
export const kDims = ["0", "1"];

interface Blended {
  readonly weights: number[];
  readonly output: number[];
}

/** The softmax of logarithms is the share of each in the sum: ln is what the softmax's e^score undoes. */
export async function weightsAsScores(
  engine: LessonEngine, parts: readonly number[], values: readonly (readonly number[])[],
): Promise<Blended> {
  const keys = tensor(parts.map((part) => [Math.log(part)]));
  const options = { scale: 1, needWeights: true };
  const { weights, output } = await engine.scaledDotProductAttention(tensor([[1]]), keys, tensor(values), options);
  return { weights: [...given(weights).data], output: [...output.data] };
}

/** The values as points, which `control` holds, and the output between them. */
export const marksOf = (
  values: readonly (readonly number[])[], output: readonly number[], control?: string,
): PlaneMark[] => {
  const at = ([x = NaN, y = NaN]: readonly number[]): [number, number] => [x, y];
  return [
    ...values.map((value, row): PlaneMark => ({
      name: kTokens[row] ?? "", form: "point", at: at(value), ...(control === undefined ? {} : { control: { name: control, row } }),
    })),
    { name: "output", form: "result", at: at(output) },
  ];
};
