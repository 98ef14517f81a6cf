// SPDX-License-Identifier: Apache-2.0
/** Checkpoints 3 and 6: choosing where to look is separate from choosing what to bring back. */
import { compare, count, Draw, identity, map, matrix, observe, rows, shown, tensor } from "../numbers.js";
import { attend, type Checkpoint } from "./checkpoint.js";

export const kKeysAsValues: Checkpoint = {
  number: 3,
  question: "Why have values at all, when keys could be handed over?",
  prediction: "Keys only give back what the query already asked with; the content has to stand elsewhere.",
  async run(engine) {
    const keys = identity(4);
    const queries = keys.map((row) => row.map((value) => value * 20));
    const contents = [[0.3, -0.9], [-0.7, 0.2], [0.5, 0.6], [-0.1, -0.4]];
    const withValues = await attend(engine, queries, keys, contents);
    const withKeys = await attend(engine, queries, keys, keys);
    const missing = compare(withValues.output.flat(), rows(tensor(contents)).flat()).difference;
    const echo = Math.min(...withKeys.output.map((row, index) => cosine(row, queries[index] ?? [])));
    const numbers = `values come back to within ${shown(missing)}, keys point where the query pointed, cosine ${shown(echo)}`;
    return {
      matrices: [
        map("weights", count(4, (i) => `q${i}`), count(4, (i) => `k${i}`), withValues.weights.flat()),
        matrix("values", count(4), ["x", "y"], contents.flat()),
        matrix("output from values", count(4), ["x", "y"], withValues.output.flat()),
        matrix("output from keys", count(4), count(4), withKeys.output.flat()),
      ],
      figures: [{ name: "content missed by", value: missing }, { name: "cosine of keys’ output and query", value: echo }],
      verdict: observe(missing < 0.01 && echo > 0.99, `Keys bring nothing new: ${numbers}.`, `Not so: ${numbers}.`),
    };
  },
};

export const kOtherValues: Checkpoint = {
  number: 6,
  question: "The weights stay and the values change. What changes?",
  prediction: "Only what is brought back: queries and keys alone decide where to look.",
  async run(engine) {
    const draw = new Draw(6);
    const [q, k, v, other] = [draw.rows(4, 4), draw.rows(4, 4), draw.rows(4, 2), draw.rows(4, 2)];
    const [first, second] = [await attend(engine, q, k, v), await attend(engine, q, k, other)];
    const weights = compare(first.weights.flat(), second.weights.flat()).difference;
    const output = compare(first.output.flat(), second.output.flat());
    const numbers = `the weights move by ${weights}, the outputs by up to ${shown(output.difference)}`;
    return {
      matrices: [
        map("weights, first values", count(4), count(4), first.weights.flat()),
        map("weights, other values", count(4), count(4), second.weights.flat()),
        matrix("output, first values", count(4), ["x", "y"], first.output.flat()),
        matrix("output, other values", count(4), ["x", "y"], second.output.flat()),
      ],
      figures: [{ name: "weights moved by", value: weights }, { name: "outputs moved by", value: output.difference }],
      verdict: observe(weights === 0 && !output.same, `Same places, other contents: ${numbers}.`, `Not so: ${numbers}.`),
    };
  },
};

function cosine(a: readonly number[], b: readonly number[]): number {
  return a.reduce((dot, value, index) => dot + value * (b[index] ?? NaN), 0) / (Math.hypot(...a) * Math.hypot(...b));
}
