// SPDX-License-Identifier: Apache-2.0
import { count, given, map, matrix, observe, rows, shown, tensor } from "../../../experiments/numbers.js";
import { lesson } from "../../../lesson.js";
import { table } from "../../../scene.js";

const [kHeads, kBuckets, kMostDistance] = [8, 32, 128];
const kDistances = [1, 4, 8, 16, 32, 64, 128, 512];
const kFew = 6;

export default lesson({
  title: "All distances with few numbers",
  claim: "T5 lets far distances share a number, and ALiBi computes the bias of any distance from one slope for each head.",
  teaches: ["T3.6"],
  controls: {
    head: { kind: "slider", label: "head of 8 (ALiBi)", min: 0, max: kHeads - 1, step: 1, value: 0 },
    distance: { kind: "steps", label: "distance", values: kDistances, value: 16 },
  },
  question: {
    ask: "T5 learns a bias for each of 16 buckets of earlier tokens. How many of them are for the distances 0 to 15?",
    answers: ["2", "8", "10", "16"],
    right: 2,
    because: "The distances 0 to 7 have a bucket each, and 8 to 15 share two. From there on buckets grow: the last one holds every distance from 91 on. The curve is the staircase.",
  },
  formula: () => "{bias} = −slope · (i − j) for j ≤ i, {weights} = softmax({bias})",
  async run(engine, { head, distance }) {
    const slopes = [...(await engine.alibiSlopes(kHeads)).data];
    const slope = given(slopes[head]);
    const options = { buckets: kBuckets, bidirectional: true, maxDistance: kMostDistance };
    const bucketOf = async (far: number): Promise<number> => engine.t5Bucket(-far, options);
    const reach = count(kMostDistance + 1).map(Number);
    const buckets = await Promise.all(reach.map(bucketOf));
    const biases = kDistances.map((far) => -slope * far);
    const equal = tensor(count(kFew).map(() => [0]));
    const result = await engine.scaledDotProductAttention(equal, equal, equal, {
      needWeights: true, stages: ["biasedScores"], alibiSlopes: { data: [slope], shape: [1] }, isCausal: true,
    });
    const tokens = count(kFew);
    const [own, later] = [await bucketOf(distance), await bucketOf(distance + 1)];
    const share = Math.exp(-slope * distance);
    return {
      rows: [
        {
          title: `ALiBi, head ${head}: −slope · distance, slope ${shown(slope)}`,
          about: "All scores are 0 before, so that only the bias counts.",
          items: [
            table({ ...matrix("bias", tokens, tokens, rows(given(result.biasedScores)).flatMap((row, i) => row.map((value, j) => (j > i ? -Infinity : value)))), digits: 2 }, { masked: tokens.flatMap((_, i) => tokens.map((__, j) => j > i)) }),
            "→",
            table({ ...map("weights", tokens, tokens, given(result.weights).data), digits: 2 }, { masked: tokens.flatMap((_, i) => tokens.map((__, j) => j > i)) }),
          ],
        },
        {
          title: "By distance",
          items: [
            table({ ...matrix("ALiBi’s bias", ["bias"], kDistances.map(String), biases), digits: 1 }, { marked: { row: -1, col: kDistances.indexOf(distance) } }),
            table({ ...matrix("T5’s bucket", ["bucket"], kDistances.map(String), await Promise.all(kDistances.map(bucketOf))), digits: 0 }, { marked: { row: -1, col: kDistances.indexOf(distance) } }),
            {
              kind: "curve", name: "T5: the bucket of a distance", at: Math.min(distance, kMostDistance),
              x: { label: "distance to an earlier token", values: reach }, y: { label: "bucket", min: 0, max: kBuckets / 2 },
              lines: [{ name: "bucket", values: buckets }],
            },
          ],
        },
      ],
      says: [
        observe(true, `ALiBi: in this head a key ${distance} tokens back gets ${shown(share)} times the weight of the token itself, if the words fit as well.`, ""),
        observe(own === later || distance < kBuckets / 4, own === later
          ? `T5: the distances ${distance} and ${distance + 1} share bucket ${own}: to this bias they are the same.`
          : `T5: the distances ${distance} and ${distance + 1} have buckets ${own} and ${later}.`, `T5: bucket ${own} ends with distance ${distance}.`),
      ],
    };
  },
  exploreMaps: ["weights"],
  exploreShows: "This head’s weights",
});
