// SPDX-License-Identifier: Apache-2.0
/** All heads of a model in numbers, over the reader's texts. What is quick comes first, and more is added to it. */
import type { HeadScore, MetricInfo, MetricName, ModelInput, ModelMetricName } from "headlens";
import type { Run } from "../maps/run.js";
import { tokensOf } from "./names.js";
import { frameOf } from "./probe.js";

export type AnyMetric = MetricName | ModelMetricName;

/** A head with its metrics. Those that are not measured yet are absent. */
export interface Ranked {
  readonly layer: number;
  readonly head: number;
  readonly scores: Readonly<Partial<Record<AnyMetric, HeadScore>>>;
}

export const valueOf = ({ scores }: Ranked, metric: AnyMetric): number | null => scores[metric]?.mean ?? null;

/** The longest list of texts that is measured. */
export const kMostTexts = 200;

/** The metrics that tell most, for what the run shows. */
export function usualMetrics({ info, shown }: Run): readonly AnyMetric[] {
  if (info.image) return ["patchDistance", "entropyNormalized", "sharpness", "sink", "self"];
  if (shown === "cross") return ["sharpness", "entropyNormalized", "position", "sink", "distance"];
  const ofOrder = ["inductionText", "previous", "duplicateText", "entropyNormalized", "sink"] as const;
  const hasLoss = info.causal && info.logits > 0 && shown === "decoder";
  return hasLoss ? [...ofOrder, "ablationLoss"] : info.causal ? ofOrder : ["next", ...ofOrder];
}

/** The lines of a text that the reader wrote, each of which is a text. */
export const linesOf = (text: string): string[] =>
  text.split("\n").map((line) => line.trim()).filter((line) => line !== "");

/** A line as the model's input: for an encoder–decoder, the source and the target, with a tab between them. */
function inputOf(line: string, { info }: Run): ModelInput {
  if (!info.encoder) return line;
  const [source = "", target, ...more] = line.split("\t");
  if (target === undefined || more.length > 0)
    throw new Error(`texts: ${JSON.stringify(line)} has no tab between a source and its translation`);
  return { source, target };
}

/** A pair of texts is read as its first, since the finder reads texts one at a time. */
const ownInput = (run: Run): ModelInput => (run.reading.textPair === "" ? tokensOf(run) : run.reading.text);

export interface Ranking {
  readonly signal: AbortSignal;
  /** Told the share that is done, and what is being done. */
  readonly onProgress: (done: number, what: string) => void;
  /** Told what is known so far. */
  readonly onHeads: (heads: readonly Ranked[]) => void;
}

/**
 * Measures all heads on the run's own text and on these, without the reader's changes. It resolves when the metrics of
 * maps are there; those that run the model again come later, with the promise that is returned.
 */
export async function rankHeads(
  run: Run, lines: readonly string[], metrics: readonly AnyMetric[], infos: readonly MetricInfo[],
  { signal, onProgress, onHeads }: Ranking,
): Promise<{ readonly rest: Promise<void> }> {
  const inputs = [ownInput(run), ...lines.map((line) => inputOf(line, run))];
  const { special } = await frameOf(run.model);
  const needsModel = (metric: AnyMetric): boolean =>
    infos.find(({ name }) => name === metric)?.needs.includes("model") ?? false;
  const [ofModel, ofMaps] = [metrics.filter(needsModel), metrics.filter((metric) => !needsModel(metric))];
  const options = { ...run.of, signal, ...(special.length > 0 && { specialTokens: special }) };
  const found = new Map<string, Ranked>();
  const add = async (names: readonly AnyMetric[], what: string): Promise<void> => {
    if (names.length === 0) return;
    onProgress(0, what);
    const follow = (done: number): void => onProgress(done, what);
    const heads = await run.model.rankHeads(inputs, { ...options, metrics: names, onProgress: follow });
    signal.throwIfAborted();
    for (const { layer, head, scores } of heads) {
      const before = found.get(`${layer}.${head}`)?.scores;
      found.set(`${layer}.${head}`, { layer, head, scores: { ...before, ...scores } });
    }
    onHeads([...found.values()].sort((a, b) => a.layer - b.layer || a.head - b.head));
  };
  await add(ofMaps, "Reading the maps");
  const rest = add(ofModel, "Running the model without each head");
  if (ofMaps.length === 0) await rest;
  return { rest };
}
