// SPDX-License-Identifier: Apache-2.0
import type { BuiltInModel, MetricName } from "headlens";
import { given, map, observe, percent, shown } from "../../../experiments/numbers.js";
import { lesson } from "../../../lesson.js";
import { builtIn } from "../../../models.js";
import { largestAt, readable, readText, score, sentence, thresholdOf, wordOf } from "../reading.js";

interface Head {
  readonly model: BuiltInModel;
  readonly layer: number;
  readonly head: number;
  readonly name: string;
  /** The metric that says how far the head does what its name says. A specific link has none. */
  readonly metric?: MetricName;
}

const kHeads = {
  previous: { model: "tiny", layer: 0, head: 5, name: "previous token", metric: "previous" },
  next: { model: "tiny-bert", layer: 0, head: 0, name: "next token", metric: "next" },
  link: { model: "tiny", layer: 3, head: 4, name: "a specific link" },
  wide: { model: "tiny-bert", layer: 1, head: 4, name: "spread wide", metric: "entropyNormalized" },
  sink: { model: "tiny", layer: 1, head: 0, name: "first token", metric: "sink" },
} as const satisfies Record<string, Head>;

const kWhat: Readonly<Partial<Record<MetricName, string>>> = {
  previous: "weight on the token before",
  next: "weight on the token after",
  entropyNormalized: "entropy, where 1 is a head that looks at everything alike",
  sink: "weight on the first token",
};

const kMost = 60;

export default lesson({
  title: "One sentence, many points of view",
  claim: "Heads read the same tokens and look at different places: each has projections of its own.",
  teaches: ["T2.2"],
  controls: {
    head: {
      kind: "choice", label: "head", value: "link",
      options: { previous: "previous token", next: "next token", link: "a specific link", wide: "spread wide", sink: "first token" },
    },
    query: { kind: "slider", label: "token that looks", min: 0, max: kMost - 1, step: 1, value: 6 },
    text: { kind: "words", label: "sentence", most: kMost, value: "The queen saw the king and she laughed." },
  },
  question: {
    ask: "You write another sentence. Which of these heads will look at the same places as before?",
    answers: ["all of them", "those that go by position", "the specific link", "none"],
    right: 1,
    because: "One token back, one token ahead, the first token: that needs no words. The link goes by words. Put “One day” before the sentence and click on “and”: the queen stands elsewhere, and is found.",
  },
  formula: () => "{weights} = softmax(q · Kᵀ ÷ √d), with q = x · W_q and K = X · W_k of the head",
  async run(engine, { head: name, query: asked, text }) {
    const one: Head = kHeads[name];
    const model = await builtIn(engine, one.model);
    const read = await readText(model, text, [[one.layer, one.head]]);
    const weights = given(read.maps[0]);
    const query = Math.min(asked, read.tokens.length - 1);
    const row = given(weights[query]);
    const best = largestAt(row);
    const labels = read.tokens.map(wordOf);
    const address = `layer ${one.layer}, head ${one.head} of ${one.model}`;
    const { metric } = one;
    const value = metric && await score(engine, weights, metric, read.ids, model.info.causal);
    const least = metric ? thresholdOf(metric) : NaN;
    const looks = `“${labels[query] ?? ""}” looks at “${labels[best] ?? ""}” with ${percent(row[best] ?? NaN)} of its weight.`;
    return {
      rows: [
        { title: `${one.name}, ${address}: the weights of “${labels[query] ?? ""}”`, items: [sentence("weights", read, row, query, "query")] },
        {
          items: [{
            kind: "view", name: `map of ${address}`, stands: { ...map(one.name, labels, labels, weights.flat()), digits: 2 },
            attributes: { model: one.model, text: readable(text), view: "map", locked: "", layer: String(one.layer), head: String(one.head), query: String(query) },
          }],
        },
      ],
      says: [
        observe(true, looks, ""),
        ...(value === undefined || metric === undefined ? [] : [observe(
          value >= least,
          `Over all rows: ${kWhat[metric] ?? ""} ${shown(value)}. From ${least} on, Explore calls a head so.`,
          `In this sentence: ${kWhat[metric] ?? ""} ${shown(value)}, less than the ${least} from which Explore calls a head so.`,
        )]),
      ],
    };
  },
  explore({ head: name, query, text }) {
    const { model, layer, head }: Head = kHeads[name];
    return { model, layer, head, text, query: String(query), key: "", view: "map" };
  },
});
