// SPDX-License-Identifier: Apache-2.0
/** These names are types and lists alike. A new one stands here and nowhere else in TypeScript. */

export const kStages = [
  "q", "k", "v",
  "scores", "scaledScores", "cappedScores", "biasedScores", "maskedScores",
  "weights", "dropoutMask", "droppedWeights", "lse", "headOutputs", "headContributions",
  "presentKey", "presentValue",
] as const;
export type Stage = (typeof kStages)[number];

/** These are stages of a decoder layer's attention over the memory, which has no past. */
export type MemoryStage = `memory${Capitalize<Exclude<Stage, `present${string}`>>}`;
export const kMemoryStages = kStages.filter((stage) => !stage.startsWith("present"))
  .map((stage) => `memory${stage.slice(0, 1).toUpperCase()}${stage.slice(1)}` as MemoryStage);

/** Each is one number of one head. `engine.metrics()` says what it is. */
export const kMetrics = [
  "self", "previous", "next", "duplicate", "duplicateText", "duplicateAbs", "previousMatch", "previousAbs",
  "induction", "inductionDiagonal", "inductionText", "inductionTextLoose", "inductionMatch", "inductionAbs",
  "entropy", "entropySmoothed", "entropyUniform", "entropyNormalized", "perplexity", "confidence", "sharpness",
  "distance", "distanceVariance", "offset", "patchDistance",
  "locality0", "locality1", "locality2", "locality4", "locality8", "locality16", "locality32", "locality64", "locality128",
  "locality256", "locality512", "locality1024", "locality2048", "locality4096",
  "special", "specialFromSpecial", "specialFromRest", "sink", "sinkRate",
] as const;
export type MetricName = (typeof kMetrics)[number];

/** These numbers of a head need more than its map. `model.rankHeads` has them. */
export const kModelMetrics = [
  "outputChange", "outputChangeNormalized", "normShare", "outputCosine", "ablationOutput", "ablationLoss", "copying",
] as const;
export type ModelMetricName = (typeof kModelMetrics)[number];
