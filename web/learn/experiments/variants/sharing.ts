// SPDX-License-Identifier: Apache-2.0
/** Query heads that share keys and values (grouped and multi-query attention), decoded token by token from a cache. */
import type { StateDict, Tensor } from "headlens";
import type { Findings, LessonEngine, LessonLayer, Observation } from "../numbers.js";
import { compare, count, Draw, given, headRows, map, matrix, observe, rows, shown, tensor, withLayer } from "../numbers.js";

export interface SharingOptions {
  tokens?: number;
  heads?: number;
  /** The numbers of key/value heads to compare. Each must divide `heads`. */
  groups?: readonly number[];
  seed?: number;
}

const kHeadWidth = 4;

interface Decoded {
  readonly difference: number;
  readonly same: boolean;
  /** The number of values in the cache after each token. */
  readonly cached: number[];
  /** The rows of head 0, each computed in its own step. */
  readonly map: number[][];
}

export async function sharing(engine: LessonEngine, options: SharingOptions = {}): Promise<Findings> {
  const { tokens = 6, heads = 8, groups = [8, 2, 1], seed = 83 } = options;
  const width = heads * kHeadWidth;
  const draw = new Draw(seed);
  const x = draw.rows(tokens, width);
  const weight = (rows: number): number[][] => draw.rows(rows, width, 1 / Math.sqrt(width));
  const [q, out] = [weight(width), weight(width)];
  const decoded: Decoded[] = [];
  for (const numKvHeads of groups) {
    const state = stateOf(q, weight(numKvHeads * kHeadWidth), weight(numKvHeads * kHeadWidth), out);
    const layer = { embedDim: width, numHeads: heads, numKvHeads, bias: false };
    decoded.push(await withLayer(engine, layer, state, (mha) => decode(mha, x)));
  }
  const names = groups.map((group) => nameOf(group, heads));
  const steps = count(tokens, (t) => `after ${t + 1}`);
  return {
    title: "Fewer keys to keep",
    matrices: [
      matrix("numbers in the cache", names, steps, decoded.flatMap((one) => one.cached)),
      ...decoded.map((one, index) =>
        map(`${given(names[index])}: head 0, a row each step`, count(tokens), count(tokens), one.map.flat())),
    ],
    figures: decoded.map((one, index) => ({ name: `cache, ${given(names[index])}`, value: given(one.cached.at(-1)) })),
    observations: decoded.flatMap((one, index) => [
      observe(
        one.same,
        `${given(names[index])}: token by token gives the numbers of one causal pass (largest difference ${shown(one.difference)}).`,
        `${given(names[index])}: token by token gives other numbers than one causal pass: ${shown(one.difference)} apart.`,
      ),
      ...sizes(one, given(names[index]), given(groups[index]), heads, tokens),
    ]),
  };
}

const nameOf = (groups: number, heads: number): string =>
  groups === heads ? "multi-head" : groups === 1 ? "multi-query" : `${groups} groups`;

/** A state dict of weights [out, in], packed when the layer packs them. */
function stateOf(q: number[][], k: number[][], v: number[][], out: number[][]): StateDict {
  const parts: StateDict = k.length === q.length
    ? { in_proj_weight: tensor([...q, ...k, ...v]) }
    : { q_proj_weight: tensor(q), k_proj_weight: tensor(k), v_proj_weight: tensor(v) };
  return { ...parts, "out_proj.weight": tensor(out) };
}

/** Runs one causal pass, and then each token on its own with the keys and values of the tokens before it. */
async function decode(layer: LessonLayer, x: number[][]): Promise<Decoded> {
  const options = { isCausal: true, averageAttnWeights: false } as const;
  const whole = await layer.forward(tensor(x), options);
  const [outputs, cached, map]: [number[][], number[], number[][]] = [[], [], []];
  let past: { pastKey?: Tensor; pastValue?: Tensor } = {};
  for (const row of x) {
    const stages = ["presentKey", "presentValue"] as const;
    const step = await layer.forward(tensor([row]), { ...options, ...past, stages });
    past = { pastKey: given(step.presentKey), pastValue: given(step.presentValue) };
    cached.push(given(step.presentKey).data.length + given(step.presentValue).data.length);
    outputs.push(given(rows(step.output)[0]));
    const seen = given(headRows(given(step.weights), 0)[0]);
    map.push([...seen, ...Array<number>(x.length - seen.length).fill(0)]);
  }
  const { difference, same } = compare(outputs.flat(), whole.output.data);
  const maps = compare(map.flat(), headRows(given(whole.weights), 0).flat());
  return { difference: Math.max(difference, maps.difference), same: same && maps.same, cached, map };
}

function sizes(one: Decoded, name: string, groups: number, heads: number, tokens: number): Observation[] {
  const [kept, all] = [given(one.cached.at(-1)), 2 * heads * kHeadWidth * tokens];
  if (groups === heads) return [];
  const numbers = `${name}: ${kept} numbers are kept after ${tokens} tokens, where ${heads} heads of their own keep ${all}`;
  return [observe(kept * heads === all * groups, `${numbers}: ${heads / groups} times less.`, `${numbers}.`)];
}
