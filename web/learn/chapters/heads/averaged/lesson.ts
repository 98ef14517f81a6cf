// SPDX-License-Identifier: Apache-2.0
import { compare, count, given, headRows, identity, layerState, map, observe, shown, withLayer } from "../../../experiments/numbers.js";
import type { LessonEngine } from "../../../experiments/numbers.js";
import { lesson } from "../../../lesson.js";
import { table, type Table } from "../../../scene.js";

const kTokens = ["cat", "sat", "on", "mat"];
const [kOwn, kHeads] = [kTokens.length, 2];
const kWidth = kOwn * kHeads;
/** So high a scaled score takes all but 0.01 % of the weight. */
const kHigh = 10 * Math.sqrt(kOwn);

type Looks = (query: number, key: number) => boolean;
const last = kTokens.length - 1;
const back: Looks = (query, key) => key === Math.max(query - 1, 0);
const ahead: Looks = (query, key) => key === Math.min(query + 1, last);
const either: Looks = (query, key) => back(query, key) || ahead(query, key);

const kLayers = { apart: [back, ahead], alike: [either, either] } as const;
type Name = keyof typeof kLayers;

interface Read {
  readonly heads: readonly number[][];
  readonly average: number[];
  readonly shapes: Readonly<Record<"each" | "average", readonly number[]>>;
}

/**
 * A token is the unit vector of its place, so the scores of a head are W_q · W_kᵀ. W_q copies, and W_k holds the
 * scores. The second sequence is the first one backwards.
 */
async function read(engine: LessonEngine, name: Name): Promise<Read> {
  const places = identity(kWidth).slice(0, kOwn);
  const x = { data: [...places, ...[...places].reverse()].flat(), shape: [2, kOwn, kWidth] };
  const blank = (): number[][] => identity(kWidth).map((row) => row.map(() => 0));
  const [wq, wk] = [blank(), blank()];
  for (const [head, looks] of kLayers[name].entries()) {
    for (const query of kTokens.keys()) {
      given(wq[query])[head * kOwn + query] = 1;
      for (const key of kTokens.keys()) given(wk[key])[head * kOwn + query] = looks(query, key) ? kHigh : 0;
    }
  }
  const options = { embedDim: kWidth, numHeads: kHeads, bias: false, batchFirst: true };
  return withLayer(engine, options, layerState(wq, wk, identity(kWidth), identity(kWidth)), async (layer) => {
    const each = given((await layer.forward(x, { averageAttnWeights: false })).weights);
    const average = given((await layer.forward(x)).weights);
    return {
      heads: count(kHeads).map((_, head) => headRows(each, head).flat()),
      average: headRows(average, 0).flat(),
      shapes: { each: each.shape, average: average.shape },
    };
  });
}

export default lesson({
  title: "What an average hides",
  claim: "Layers whose heads do different things can have the same average over heads.",
  teaches: ["T0.3", "T1.2"],
  controls: {
    layer: {
      kind: "choice", label: "layer",
      options: { apart: "one head looks back, one ahead", alike: "both heads look both ways" }, value: "apart",
    },
  },
  question: {
    ask: "In another layer, both heads give half of their weight to the word before and half to the word after. What is its average?",
    answers: ["the same as here", "weights half as large", "equal weights for all words"],
    right: 0,
    because: "Half of “all back” and half of “all ahead” is what each of those heads does by itself. Switch the layer: both heads change, and the average stays.",
  },
  formula: () => "{average} = ({head 0} + {head 1}) ÷ 2",
  async run(engine, { layer }) {
    const own = await read(engine, layer);
    const other = await read(engine, layer === "apart" ? "alike" : "apart");
    const between = compare(own.average, other.average).difference;
    const heads = Math.max(...own.heads.map((head, index) => compare(head, given(other.heads[index])).difference));
    const drawn = (name: string, values: readonly number[]): Table =>
      table({ ...map(name, kTokens, kTokens, values), digits: 2 });
    return {
      rows: [
        { title: "First sequence", items: [...own.heads.map((head, index) => drawn(`head ${index}`, head)), "→", drawn("average", own.average)] },
        {
          title: "Weights of both sequences",
          items: [
            { kind: "shape", name: "each head", sizes: own.shapes.each, axes: ["B", "H", "T", "T"] }, "→",
            { kind: "shape", name: "averaged", sizes: own.shapes.average, axes: ["B", "T", "T"] },
          ],
        },
      ],
      says: [
        observe(
          between < 0.001 && heads > 0.4,
          `The heads of the two layers differ by up to ${heads.toFixed(2)}, and their averages by less than 0.001.`,
          `The heads of the two layers differ by up to ${heads.toFixed(2)}, and their averages by ${shown(between)}.`,
        ),
      ],
    };
  },
  explore: () => ({ model: "tiny-bert", text: "The cat sat on the mat.", view: "map", layer: 0, head: 0, heads: "0.0 0.1", combine: "mean", query: "3" }),
  exploreShows: "Two trained heads, averaged",
});
