// SPDX-License-Identifier: Apache-2.0
/** Heads are removed with a mask, to see how much each one matters and how many can go (Michel et al. 2019). */
import type { Findings, LessonEngine, LessonLayer } from "../numbers.js";
import { compare, count, Draw, given, headRows, layerState, matrix, observe, percent, shown, tensor, withLayer } from "../numbers.js";

export interface PruningOptions {
  tokens?: number;
  heads?: number;
  /**
   * The output projection of each head is this factor times that of the head before. Below 1, some heads matter little.
   */
  fading?: number;
  seed?: number;
}

const kHeadWidth = 4;

export interface PruningStep {
  readonly head: number;
  /** ‖out − out without all heads removed so far‖ / ‖out‖ */
  readonly change: number;
}

export async function pruning(engine: LessonEngine, options: PruningOptions = {}): Promise<Findings> {
  const { tokens = 6, heads = 8, fading = 0.6, seed = 86 } = options;
  const width = heads * kHeadWidth;
  const draw = new Draw(seed);
  const square = (): number[][] => draw.rows(width, width, 1 / Math.sqrt(width));
  const out = square().map((row, index) => row.map((value) => value * fading ** Math.floor(index / kHeadWidth)));
  const state = layerState(square(), square(), square(), out);
  const x = tensor(draw.rows(tokens, width));
  return withLayer(engine, { embedDim: width, numHeads: heads, bias: false }, state, async (layer) => {
    const measure = await measureOf(layer, x, heads);
    const alone: number[] = [];
    for (let head = 0; head < heads; head++) alone.push(await measure.change([head]));
    const [gentle, rough] = [await curve(measure.change, heads, 1), await curve(measure.change, heads, -1)];
    const names = count(heads, (head) => `head ${head}`);
    const half = Math.floor(heads / 2) - 1;
    const [least, most] = [gentle[half], rough[half]].map((step) => given(step).change);
    const steps = count(heads, (step) => String(step + 1));
    return {
      title: "Which heads could go?",
      matrices: [
        matrix("output changes without", names, ["change"], alone),
        table("least important first", steps, gentle), table("most important first", steps, rough),
      ],
      figures: alone.map((value, head) => ({ name: given(names[head]), value })),
      observations: [
        await measure.exact(),
        observe(
          given(least) < given(most),
          `Without half of its heads the output changes by ${percent(given(least))} when the least important go, by ${percent(given(most))} when the most important do.`,
          `Without half of its heads the output changes by ${percent(given(least))}, whichever go first.`,
        ),
        observe(
          Math.abs(given(gentle.at(-1)).change - 1) < 1e-6,
          "Without any head nothing is left of the output.",
          `Without any head the output still changes by ${percent(given(gentle.at(-1)).change)} only.`,
        ),
      ],
    };
  });
}

const table = (name: string, steps: readonly string[], curve: readonly PruningStep[]): Findings["matrices"][number] =>
  matrix(name, steps, ["head removed", "change"], curve.flatMap(({ head, change }) => [head, change]));

type Change = (removed: readonly number[]) => Promise<number>;

interface Measure {
  change: Change;
  exact(): Promise<Findings["observations"][number]>;
}

async function measureOf(layer: LessonLayer, x: ReturnType<typeof tensor>, heads: number): Promise<Measure> {
  const whole = await layer.forward(x, { stages: ["headContributions"] });
  const without = async (removed: readonly number[]): Promise<Float32Array> => {
    const headMask = { data: count(heads).map((_, head) => (removed.includes(head) ? 0 : 1)), shape: [heads] };
    return (await layer.forward(x, { headMask })).output.data;
  };
  const lost = async (removed: readonly number[]): Promise<number[]> => {
    const rest = await without(removed);
    return Array.from(whole.output.data, (value, index) => value - (rest[index] ?? NaN));
  };
  return {
    change: async (removed) => Math.hypot(...(await lost(removed))) / Math.hypot(...whole.output.data),
    exact: async () => {
      let difference = 0;
      for (let head = 0; head < heads; head++) {
        const part = headRows(whole.headContributions, head).flat();
        difference = Math.max(difference, compare(await lost([head]), part).difference);
      }
      const { tolerance } = compare(whole.output.data, whole.output.data);
      return observe(
        difference <= tolerance,
        `A head that is masked out takes exactly its own part of the output with it (to within ${shown(difference)}).`,
        `A head that is masked out takes more than its own part with it: ${shown(difference)}.`,
      );
    },
  };
}

/** Greedy removal: each step removes the head whose loss changes the output least (`sign` 1) or most (−1). */
async function curve(change: Change, heads: number, sign: 1 | -1): Promise<PruningStep[]> {
  const steps: PruningStep[] = [];
  while (steps.length < heads) {
    const removed = steps.map((step) => step.head);
    const tried: PruningStep[] = [];
    for (let head = 0; head < heads; head++)
      if (!removed.includes(head)) tried.push({ head, change: await change([...removed, head]) });
    steps.push(tried.reduce((best, one) => (sign * one.change < sign * best.change ? one : best)));
  }
  return steps;
}
