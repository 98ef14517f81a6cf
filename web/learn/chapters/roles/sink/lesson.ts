// SPDX-License-Identifier: Apache-2.0
import { count, given, mean, observe, percent, shown } from "../../../experiments/numbers.js";
import { lesson } from "../../../lesson.js";
import { builtIn } from "../../../models.js";
import { largestAt, layerHeads, readText, score, sentence, thresholdOf, wordOf, type Read } from "../reading.js";

const kLayer = 1;
const kTexts = {
  fresh: "The queen saw the king and she laughed.",
  repeat: " river king seven letter garden sister river king seven letter garden sister",
};

export default lesson({
  title: "Nothing to look for",
  claim: "The softmax shares out 100 % in every row, so a head that finds nothing has to put its weight somewhere: often on the first token.",
  teaches: ["T2.2"],
  controls: {
    text: { kind: "choice", label: "text", options: { fresh: "nothing repeats", repeat: "the words repeat" }, value: "fresh" },
    query: { kind: "slider", label: "token that looks", min: 0, max: 12, step: 1, value: 8 },
    head: { kind: "slider", label: "head of layer 1", min: 0, max: 7, step: 1, value: 0 },
  },
  question: {
    ask: "Almost all of this head’s weight is on <s>, which stands before every text. Is <s> what the model thinks about most?",
    answers: ["yes, the weight says so", "no: the head rests there, and learns nothing about the text"],
    right: 1,
    because: "The head looks for repeats, and there are none. What it writes is weight times value, and the value of <s> is short, and the same before every text. Choose the other text: now the head has work to do.",
  },
  formula: () => "what a token takes from the head = Σ {weights} · values, where Σ {weights} = 1",
  async run(engine, { text: name, query: asked, head }) {
    const model = await builtIn(engine, "tiny");
    const text = kTexts[name];
    const read = await readText(model, text, layerHeads(kLayer));
    const seen = await model.attend(text, { keepValues: true });
    const values = await seen.values(kLayer);
    seen.dispose();
    const lengths = lengthsOf(values.data, head, read);
    const query = Math.min(asked, read.tokens.length - 1);
    const weights = given(read.maps[head]);
    const row = given(weights[query]);
    const best = largestAt(row);
    const sinks = await Promise.all(read.maps.map((one) => score(engine, one, "sink", read.ids, true)));
    const least = thresholdOf("sink");
    const labels = read.tokens.map(wordOf);
    // 0 for a token that stands here for the first time, and else the place after its last one.
    const after = query === 0 ? 0 : read.ids.lastIndexOf(given(read.ids[query]), query - 1) + 1;
    const others = mean(lengths.slice(1));
    const [own = NaN] = lengths;
    const looks = `“${labels[query] ?? ""}” looks at “${labels[best] ?? ""}” with ${percent(row[best] ?? NaN)}`;
    return {
      rows: [
        { title: `Layer ${kLayer}, head ${head}: the weights of “${labels[query] ?? ""}”`, items: [sentence("weights", read, row, query, "query")] },
        {
          items: [
            { kind: "bars", name: "Mean weight on <s>, head by head", labels: count(sinks.length, (index) => `head ${index}`), values: sinks, most: 1, digits: 2 },
            { kind: "bars", name: `Length of each token’s value, head ${head}`, labels, values: lengths, digits: 1 },
          ],
        },
      ],
      says: [
        after === 0
          ? observe(best === 0, `${looks}: it has not stood here before, and the head rests.`, `${looks}, although it has not stood here before.`)
          : observe(best === after, `${looks}, which came after it the last time: the head has found what it looks for.`, `${looks}, although it has stood here before.`),
        observe((sinks[head] ?? NaN) >= least, `Its mean weight on <s> is ${shown(sinks[head] ?? NaN)}. From ${least} on, Explore calls a head a sink.`, `Its mean weight on <s> is ${shown(sinks[head] ?? NaN)}, less than the ${least} from which Explore calls a head a sink.`),
        observe(own < others, `The value of <s> has a length of ${shown(own)}, those of the others ${shown(others)} on average: a head that rests there writes less.`, `The value of <s> has a length of ${shown(own)}, those of the others ${shown(others)}.`),
      ],
    };
  },
  explore: ({ text, query, head }) =>
    ({ text: kTexts[text], layer: kLayer, head, query: String(query), key: "", view: "map" }),
});

/** ‖v‖ of each token in one head of values [G, S, d]. */
function lengthsOf(values: Float32Array, head: number, { tokens }: Read): number[] {
  const width = values.length / 8 / tokens.length;
  const first = (token: number): number => (head * tokens.length + token) * width;
  return tokens.map((_, token) => Math.hypot(...values.subarray(first(token), first(token + 1))));
}
