// SPDX-License-Identifier: Apache-2.0
/** Attention does not see order: permuted tokens give permuted outputs, unless positions are added in some way. */
import type { AttentionOptions, EmbeddingOptions, Tensor } from "headlens";
import { embed } from "./embed.js";
import type { Findings, LessonEngine, LessonLayer, Observation } from "./numbers.js";
import { compare, count, Draw, given, headRows, layerState, map, matrix, observe, permuted, rows, shown } from "./numbers.js";
import { tensor, withLayer } from "./numbers.js";

export interface OrderOptions {
  tokens?: readonly string[];
  /** The other order: the index in `tokens` of its first token, its second, and so on. */
  order?: readonly number[];
  /** The names of the schemes that are run; all of them when absent. */
  schemes?: readonly string[];
  seed?: number;
}

interface Scheme {
  readonly name: string;
  readonly seesOrder: boolean;
  readonly positions?: EmbeddingOptions["positions"];
  readonly options?: AttentionOptions;
}

const [kWidth, kHeads, kBuckets] = [8, 2, 8];

/** Schemes that add positions: to embeddings, to scores, or by rotating queries and keys. */
function schemesOf(draw: Draw, tokens: number): Scheme[] {
  const relativeBias = tensor(draw.rows(kHeads, 2 * tokens - 1));
  const t5Bias = tensor(draw.rows(kBuckets, kHeads));
  return [
    { name: "no positions", seesOrder: false },
    { name: "sinusoidal", seesOrder: true, positions: "sinusoidal" },
    { name: "learned", seesOrder: true, positions: "learned" },
    { name: "relative bias", seesOrder: true, options: { relativeBias } },
    { name: "T5’s buckets", seesOrder: true, options: { t5Bias } },
    { name: "ALiBi", seesOrder: true, options: { alibi: true } },
    { name: "rotary", seesOrder: true, options: { rotary: "half" } },
  ];
}

export async function orderBlindness(engine: LessonEngine, options: OrderOptions = {}): Promise<Findings> {
  const { tokens = ["the", "woman", "ate", "the", "raccoon"], order = [0, 4, 2, 3, 1], seed = 36 } = options;
  const draw = new Draw(seed);
  const words = [...new Set(tokens)];
  const [weight, learned] = [draw.rows(words.length, kWidth), draw.rows(tokens.length, kWidth)].map(tensor);
  const table = { weight: given(weight), position_embeddings: given(learned) };
  const square = (): number[][] => draw.rows(kWidth, kWidth, 1 / Math.sqrt(kWidth));
  const state = layerState(square(), square(), square(), square());
  const schemes = schemesOf(draw, tokens.length).filter(({ name }) => options.schemes?.includes(name) ?? true);
  const other = permuted(tokens, order);
  return withLayer(engine, { embedDim: kWidth, numHeads: kHeads, bias: false }, state, async (layer) => {
    const matrices = [];
    const figures = [];
    const observations: Observation[] = [];
    for (const scheme of schemes) {
      const run = async (text: readonly string[]): Promise<Read> => {
        const ids = text.map((token) => words.indexOf(token));
        return read(layer, await embed(engine, ids, table, scheme.positions), scheme.options);
      };
      const [first, second] = [await run(tokens), await run(other)];
      const expected = permuted(first.output, order).flat();
      const { difference, tolerance, same } = compare(second.output.flat(), expected);
      matrices.push(
        map(`${scheme.name}: weights`, tokens, tokens, first.weights.flat()),
        map(`${scheme.name}: weights, other order`, other, other, second.weights.flat()),
        matrix(`${scheme.name}: output`, tokens, count(kWidth), first.output.flat()),
        matrix(`${scheme.name}: output, other order`, other, count(kWidth), second.output.flat()),
      );
      figures.push({ name: scheme.name, value: difference });
      observations.push(verdict(scheme, difference, same, difference > 1000 * tolerance));
    }
    return { title: "Who comes first?", matrices, figures, observations };
  });
}

function verdict({ name, seesOrder }: Scheme, difference: number, same: boolean, moved: boolean): Observation {
  const blind = `${name}: each word keeps its output wherever it stands (largest difference ${shown(difference)}).`;
  const seeing = `${name}: the same words in another order give other outputs (they move by up to ${shown(difference)}).`;
  return seesOrder ? observe(moved, seeing, blind) : observe(same, blind, seeing);
}

interface Read {
  readonly weights: number[][];
  readonly output: number[][];
}

/** Reads the output, and the weights of head 0. */
async function read(layer: LessonLayer, x: Tensor, options: AttentionOptions = {}): Promise<Read> {
  const { weights, output } = await layer.forward(x, { ...options, averageAttnWeights: false });
  return { weights: headRows(given(weights), 0), output: rows(output) };
}
