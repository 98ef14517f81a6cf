// SPDX-License-Identifier: Apache-2.0
import type { MetricName, ModelMetricName } from "headlens";
import type { MapSource } from "../maps/source.js";
import { mapScores, readScores } from "./names.js";

/** A head with a metric; null where the metric is not defined. */
interface HeadValue {
  readonly layer: number;
  readonly head: number;
  readonly value: number | null;
}

/** All heads by a metric, without the reader's changes: the largest value first, and those without one last. */
export async function rankBy(maps: MapSource, metric: MetricName | ModelMetricName): Promise<HeadValue[]> {
  const { run, heads } = maps;
  const scores = run?.reading.textPair === ""
    ? await readScores(run, [metric])
    : await mapScores(maps, [metric as MetricName], undefined, refuse);
  const values = heads.flatMap((count, layer) => Array.from({ length: count }, (_, head): HeadValue => {
    const value = scores[layer]?.[head]?.[metric]?.value ?? null;
    return { layer, head, value };
  }));
  return values.sort((a, b) => (b.value ?? -Infinity) - (a.value ?? -Infinity) || a.layer - b.layer || a.head - b.head);
}

function refuse(error: unknown): never {
  throw error;
}
