// SPDX-License-Identifier: Apache-2.0
import type { AsyncModel, MetricName } from "headlens";
import { count, Draw, given, map, observe, shown, type LessonEngine } from "../../../experiments/numbers.js";
import { lesson } from "../../../lesson.js";
import { builtIn } from "../../../models.js";
import { table } from "../../../scene.js";
import { largestAt, readText, sentence, thresholdOf } from "../reading.js";

const kMetrics = ["induction", "previous", "next", "duplicate", "sink", "entropyNormalized"] as const satisfies readonly MetricName[];
type Measured = (typeof kMetrics)[number];

const kDoes: Readonly<Record<Measured, string>> = {
  induction: "looks at what followed the first copy",
  previous: "looks one token back",
  next: "looks one token ahead",
  duplicate: "looks at the first copy of its token",
  sink: "looks at the first token",
  entropyNormalized: "looks at everything alike",
};

/** So many sequences of so many random tokens, each twice. */
const [kSequences, kLength] = [2, 16];

/** A score is the mean of this over the rows i of a map A. */
const kAverages: Readonly<Record<Measured, string>> = {
  induction: `A[i, i − ${kLength - 1}] over the second copy`,
  previous: "A[i, i − 1]",
  next: "A[i, i + 1]",
  duplicate: `A[i, i − ${kLength}] over the second copy`,
  sink: "A[i, 0]",
  entropyNormalized: "−Σ A[i, j] · ln A[i, j] ÷ ln of the number of keys",
};

/** The key that counts for a query. */
const kPlaces: Readonly<Record<Measured, (query: number) => number>> = {
  induction: (query) => query - kLength + 1,
  previous: (query) => query - 1,
  next: (query) => query + 1,
  duplicate: (query) => query - kLength,
  sink: () => 0,
  entropyNormalized: (query) => query,
};

/** Ids below this are special tokens and single letters. */
const kFirstId = 300;

/** Different random ids, twice, after the token that begins every text. */
function drawTwice(draw: Draw, vocabulary: number, first: number): number[] {
  const once = new Set<number>();
  while (once.size < kLength)
    once.add(kFirstId + Math.floor(((Math.abs(draw.row(1)[0] ?? 0) * 1000) % 1) * (vocabulary - kFirstId)));
  return [first, ...once, ...once];
}

interface Probe {
  readonly inputs: readonly (readonly number[])[];
  /** [layer][head] for each metric. */
  readonly scores: Readonly<Record<Measured, number[][]>>;
}

async function measure(model: AsyncModel, seed: number): Promise<Probe> {
  const draw = new Draw(seed);
  const { vocabSize, layers, heads } = model.info;
  const begin = await model.attend("a");
  const first = given(begin.ids[0]);
  begin.dispose();
  const inputs = Array.from({ length: kSequences }, () => drawTwice(draw, vocabSize, first));
  const ranked = await model.rankHeads(inputs, { metrics: kMetrics });
  const scores = Object.fromEntries(kMetrics.map((metric) => [metric, Array.from({ length: layers }, (_, layer) =>
    Array.from({ length: heads }, (__, head) =>
      // A causal head may not look ahead, and has no score for it.
      ranked.find((one) => one.layer === layer && one.head === head)?.scores[metric].mean ?? 0))]));
  return { inputs, scores: scores as Record<Measured, number[][]> };
}

const measured = new WeakMap<LessonEngine, Map<string, Promise<Probe>>>();

/** Measures all heads once for each model and draw, since other metrics are only other columns. */
function probeOf(engine: LessonEngine, model: AsyncModel, name: string, seed: number): Promise<Probe> {
  const kept = measured.get(engine) ?? new Map<string, Promise<Probe>>();
  measured.set(engine, kept);
  const probe = kept.get(`${name} ${seed}`) ?? measure(model, seed);
  kept.set(`${name} ${seed}`, probe);
  return probe;
}

export default lesson({
  title: "How such heads are found",
  claim: "Random tokens, read twice, have no meaning and no grammar, so no head can score on them by either.",
  teaches: ["T2.2"],
  controls: {
    model: { kind: "choice", label: "model", options: { tiny: "tiny", "tiny-bert": "tiny-bert" }, value: "tiny" },
    metric: {
      kind: "choice", label: "score", value: "induction",
      options: { induction: "induction", previous: "previous", next: "next", duplicate: "same token", sink: "first token", entropyNormalized: "spread" },
    },
    seed: { kind: "slider", label: "draw of random tokens", min: 1, max: 6, step: 1, value: 1 },
  },
  question: {
    ask: "Other random tokens are drawn. What happens to the best head?",
    answers: ["another head wins each time", "the same head wins, or one that scores almost the same", "no head scores"],
    right: 1,
    because: "Such a head goes by places and repeats, and by no word. Move the draw: all tokens are others, and the dark cells stay where they are.",
  },
  formula: ({ metric }) => `{score} = mean of ${kAverages[metric]}`,
  async run(engine, { model: name, metric, seed }) {
    const model = await builtIn(engine, name);
    const { inputs, scores } = await probeOf(engine, model, name, seed);
    const all = scores[metric].flat();
    const most = Math.max(...all);
    const heads = model.info.heads;
    const [layer, head] = [Math.floor(all.indexOf(most) / heads), all.indexOf(most) % heads];
    const least = metric === "induction" ? 0.5 : thresholdOf(metric);
    const many = all.filter((one) => one >= least).length;
    const read = await readText(model, given(inputs[0]), [[layer, head]]);
    const weights = given(read.maps[0]);
    const second = weights.map((_, index) => index).slice(kLength + 1);
    const query = given(second[largestAt(second.map((row) => weights[row]?.[kPlaces[metric](row)] ?? 0))]);
    return {
      rows: [
        {
          title: "Score of every head",
          items: [table({
            ...map("score", count(model.info.layers, (index) => `layer ${index}`), count(heads, (index) => `head ${index}`), all), digits: 2,
          }, { marked: { row: layer, col: head } })],
        },
        {
          title: `The best one on ${kLength} random tokens, read twice: layer ${layer}, head ${head}`,
          about: metric === "entropyNormalized" ? "The weights of one token of the second copy." : "The framed token of the second copy is the one that shows it most clearly.",
          items: [sentence("weights of one token of the second copy", read, given(weights[query]), query)],
        },
      ],
      says: [
        observe(
          many > 0,
          `${many} of ${all.length} heads score ${least} or more. The best, layer ${layer}, head ${head}, ${kDoes[metric]}: ${shown(most)}.`,
          `No head of ${name} scores ${least}: the best one has ${shown(most)}.`,
        ),
      ],
    };
  },
  explore: ({ model }) => ({
    model, text: "One two three. One two three.", ...(model === "tiny" ? { layer: 1, head: 2 } : { layer: 0, head: 0 }), view: "finder",
  }),
  exploreShows: "All heads, measured on a text that repeats",
});
