// SPDX-License-Identifier: Apache-2.0
import { load } from "headlens";

const engine = await load();
const scores = [1, 3, 2, 0, 6, 4, 1, 5];
const values = [10, 20, 30, 40, 50, 60, 70, 80];
const attend = (from, to) => {
  const column = (numbers) => ({ data: numbers.slice(from, to), shape: [to - from, 1] });
  const one = { data: [1], shape: [1, 1] }; // with a query of 1, keys are scores
  const { lse, output } = engine.scaledDotProductAttention(one, column(scores), column(values), { scale: 1, stages: ["lse"] });
  return { lse: lse.data[0], output: output.data[0] };
};
const [a, b, whole] = [attend(0, 4), attend(4, 8), attend(0, 8)];
const lse = Math.log(Math.exp(a.lse) + Math.exp(b.lse)); // of both blocks
const output = a.output * Math.exp(a.lse - lse) + b.output * Math.exp(b.lse - lse);
console.log(lse, output, whole.lse, whole.output);
