// SPDX-License-Identifier: Apache-2.0
/** Checkpoints 1, 2, 5, 7 and 11, about how the scores of a row determine its weights. */
import { compare, count, Draw, entropy, given, largest, map, matrix, mean, observe, percent } from "../numbers.js";
import { shown, transpose } from "../numbers.js";
import { attend, attendWithScores, type Checkpoint } from "./checkpoint.js";

export const kNearEqualKeys: Checkpoint = {
  number: 1,
  question: "Two tokens have almost the same key. How are they looked at?",
  prediction: "Every query weighs the two almost alike, whatever it weighs the others.",
  control: { name: "distance of the two keys", min: 0, max: 4, step: 0.1, value: 0.1 },
  async run(engine, distance = 0.1) {
    const draw = new Draw(1);
    const [q, k] = [draw.rows(6, 8), draw.rows(4, 8)];
    const twin = given(k[0]).map((value) => value + distance / Math.sqrt(8));
    const keys = ["a", "a′", "b", "c", "d"];
    const { weights } = await attend(engine, q, [given(k[0]), twin, ...k.slice(1)], [[0], [0], [0], [0], [0]]);
    const columns = transpose(weights);
    const apart = (other: number): number => compare(given(columns[0]), given(columns[other])).difference;
    const others = Math.min(...[2, 3, 4].map(apart));
    const numbers = `their weights differ by at most ${shown(apart(1))}, those of a and another key by ${shown(others)} or more`;
    return {
      matrices: [map("weights", count(6, (i) => `q${i}`), keys, weights.flat())],
      figures: [{ name: "a and a′ differ by", value: apart(1) }, { name: "a and the nearest other by", value: others }],
      verdict: observe(apart(1) < others, `The two go together: ${numbers}.`, `Too far apart to go together: ${numbers}.`),
    };
  },
};

export const kHugeScore: Checkpoint = {
  number: 2,
  question: "One score of a row is far larger than the rest. What comes out?",
  prediction: "Nearly all weight goes there, and the output is nearly that token’s value.",
  control: { name: "lead of the first score", min: 0, max: 20, step: 0.5, value: 10 },
  async run(engine, lead = 10) {
    const values = [[1, 0], [0, 1], [-1, 0], [0, -1]];
    const scores = [lead, 0, 0, 0];
    const { weights: [row = []], output: [output = []] } = await attendWithScores(engine, scores, values);
    const away = Math.hypot((output[0] ?? NaN) - 1, output[1] ?? NaN);
    const share = row[0] ?? NaN;
    const numbers = `${percent(share)} of the weight is on it, and the output is ${shown(away)} away from its value`;
    return {
      matrices: [
        matrix("scores", ["query"], count(4), scores), map("weights", ["query"], count(4), row),
        matrix("values", count(4), ["x", "y"], values.flat()), matrix("output", ["query"], ["x", "y"], output),
      ],
      figures: [{ name: "largest weight", value: share }, { name: "output’s distance from that value", value: away }],
      verdict: observe(share > 0.99, `It takes all: ${numbers}.`, `It does not take all yet: ${numbers}.`),
    };
  },
};

export const kEqualScores: Checkpoint = {
  number: 5,
  question: "All n scores of a row are equal. What are the weights?",
  prediction: "1/n each, and the output is the mean of the values.",
  control: { name: "n", min: 1, max: 64, step: 1, value: 5 },
  async run(engine, n = 5) {
    const values = new Draw(5).rows(n, 3).map((row) => row.map(Math.fround));
    const equal = Array<number>(n).fill(0.7);
    const { weights: [row = []], output: [output = []] } = await attendWithScores(engine, equal, values);
    const weights = compare(row, equal.map(() => 1 / n));
    const average = transpose(values).map(mean);
    const blend = largest(output.map((value, index) => value - (average[index] ?? NaN)));
    const numbers = `each weight is 1/${n} to within ${shown(weights.difference)}, the output the mean to within ${shown(blend)}`;
    return {
      matrices: [
        map("weights", ["query"], count(n), row), matrix("values", count(n), count(3), values.flat()),
        matrix("output", ["query"], count(3), output), matrix("mean of the values", ["mean"], count(3), average),
      ],
      figures: [{ name: "1/n", value: 1 / n }, { name: "largest weight", value: Math.max(...row) }],
      verdict: observe(weights.same && blend <= 1e-5 * largest(values.flat()), `Yes: ${numbers}.`, `No: ${numbers}.`),
    };
  },
};

export const kMaskedToken: Checkpoint = {
  number: 7,
  question: "A mask hides one token. What is left of it?",
  prediction: "Nothing: its weight is exactly 0, the others share its part, and its value no longer matters.",
  control: { name: "masked token", min: 0, max: 3, step: 1, value: 1 },
  async run(engine, masked = 1) {
    const [scores, values] = [[1, 2, 0.5, 0], [[1, 0], [5, 5], [0, 1], [-1, 0]]];
    const attnMask = { data: scores.map((_, index) => index !== masked), shape: [1, 4] };
    const open = await attendWithScores(engine, scores, values);
    const hidden = await attendWithScores(engine, scores, values, { attnMask });
    const other = values.map((value, index) => (index === masked ? [-1e6, 1e6] : value));
    const replaced = await attendWithScores(engine, scores, other, { attnMask });
    const [before, after] = [given(open.weights[0]), given(hidden.weights[0])];
    const rest = 1 - (before[masked] ?? NaN);
    const shared = compare(after, before.map((weight, index) => (index === masked ? 0 : weight / rest)));
    const unmoved = compare(replaced.output.flat(), hidden.output.flat()).difference;
    const weight = after[masked] ?? NaN;
    const numbers = `its weight is ${weight}, the others’ grow by the same factor to within ${shown(shared.difference)}, `
      + `and another value there moves the output by ${unmoved}`;
    return {
      matrices: [
        map("weights, unmasked", ["query"], count(4), before), map("weights, masked", ["query"], count(4), after),
        matrix("output, unmasked", ["query"], ["x", "y"], open.output.flat()),
        matrix("output, masked", ["query"], ["x", "y"], hidden.output.flat()),
      ],
      figures: [{ name: "masked weight", value: weight }, { name: "output moved by", value: unmoved }],
      verdict: observe(weight === 0 && shared.same && unmoved === 0, `Gone: ${numbers}.`, `Something is left: ${numbers}.`),
    };
  },
};

export const kWeakQuery: Checkpoint = {
  number: 11,
  question: "A query is close to zero. Where does it look?",
  prediction: "Everywhere alike: its scores are all near 0, so the output is near the mean of the values.",
  control: { name: "length of the query", min: 0, max: 8, step: 0.05, value: 0.05 },
  async run(engine, length = 0.05) {
    const draw = new Draw(11);
    const [k, v, direction] = [draw.rows(6, 8), draw.rows(6, 2), draw.row(8)];
    const norm = Math.hypot(...direction);
    const { weights: [row = []], output } = await attend(engine, [direction.map((x) => (x * length) / norm)], k, v);
    const breadth = entropy(row) / Math.log(6);
    const away = compare(output.flat(), transpose(v).map(mean)).difference;
    const numbers = `its weights have ${percent(breadth)} of the entropy of equal ones, the output is ${shown(away)} from the mean`;
    return {
      matrices: [
        map("weights", ["query"], count(6), row), matrix("values", count(6), ["x", "y"], v.flat()),
        matrix("output", ["query"], ["x", "y"], output.flat()),
      ],
      figures: [{ name: "entropy ÷ ln n", value: breadth }, { name: "output’s distance from the mean", value: away }],
      verdict: observe(breadth > 0.99, `It looks everywhere: ${numbers}.`, `It does choose: ${numbers}.`),
    };
  },
};
