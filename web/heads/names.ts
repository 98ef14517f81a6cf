// SPDX-License-Identifier: Apache-2.0
/**
 * The names of a model's heads, from what its card measured, from a probe of random tokens, and from what the reader
 * gives it. They describe the model without the reader's changes.
 */
import type { AsyncEngine, AsyncModel, MetricName, ModelInput, ModelMetricName } from "headlens";
import { sharedEngine } from "../maps/engine.js";
import { type CellMask, kOpen } from "../maps/mask.js";
import type { AttentionName, Run } from "../maps/run.js";
import type { MapSource } from "../maps/source.js";
import { cardOf } from "./cards.js";
import { frameOf, probeOf } from "./probe.js";
import { type Definitions, type Finding, type HeadNames, inOrder, kMeasuredMetrics, type Measured, measure, nameOf, type Scores } from "./rules.js";

type AnyMetric = MetricName | ModelMetricName;

/** Measurements or scores as [layer][head]. */
type OfHeads<T> = readonly (readonly T[])[];

/** Given maps with more cells are not measured, since each of them goes to the engine. */
const kMostCells = 1 << 20;

let definitions: Promise<Definitions> | undefined;

function definitionsOf(engine: AsyncEngine): Promise<Definitions> {
  definitions ??= engine.metrics().then((metrics) => new Map(metrics.map((metric) => [metric.name, metric])));
  return definitions;
}

/** The names of all heads. `signal` ends the measurement, and the names of the same text are measured once. */
export async function namesOf(maps: MapSource, signal: AbortSignal): Promise<HeadNames> {
  const { run } = maps;
  const key = run ? JSON.stringify([run.reading, run.shown]) : undefined;
  if (key === undefined) return computeNames(maps, signal);
  const held = known.get(key) ?? hold(key, maps);
  const release = (): void => {
    if (--held.users > 0 || held.isDone) return;
    if (known.get(key) === held) known.delete(key);
    held.abort.abort();
  };
  held.users++;
  signal.addEventListener("abort", release, { once: true });
  const names = await held.names;
  signal.throwIfAborted();
  return names;
}

/** Names that are being measured for so many elements, or were. */
interface Held {
  readonly names: Promise<HeadNames>;
  readonly abort: AbortController;
  users: number;
  isDone: boolean;
}

/** The last few names, by what the model read. */
const known = new Map<string, Held>();
const kMostKnown = 8;

function hold(key: string, maps: MapSource): Held {
  const abort = new AbortController();
  const held: Held = { names: computeNames(maps, abort.signal), abort, users: 0, isDone: false };
  known.set(key, held);
  const [oldest] = known.keys();
  if (known.size > kMostKnown && oldest !== undefined) known.delete(oldest);
  held.names.then(() => (held.isDone = true), () => known.get(key) === held && known.delete(key));
  return held;
}

async function computeNames(maps: MapSource, signal: AbortSignal): Promise<HeadNames> {
  const { run, heads } = maps;
  const all = await definitionsOf(run?.engine ?? (await sharedEngine()));
  signal.throwIfAborted();
  // Given arrays need not be weights, and the engine refuses what is below 0 or above 1.
  const ofText = run?.reading.textPair === ""
    ? await readScores(run, kMeasuredMetrics, signal)
    : await mapScores(maps, kMeasuredMetrics, signal, () => undefined);
  const [card, probe] = run ? await Promise.all([cardFindings(run), probeScores(run)]) : [[], []];
  signal.throwIfAborted();
  const isOrdered = run ? run.shown !== "cross" && !run.info.image : isSame(maps.tokens, maps.keyTokens);
  const of = (on: Measured, scores: Scores | undefined): Finding[] => measure(on, scores ?? {}, isOrdered, all);
  return heads.map((count, layer) => Array.from({ length: count }, (_, head) => nameOf(inOrder([
    ...(card[layer]?.[head] ?? []), ...of("probe", probe[layer]?.[head]), ...of("text", ofText[layer]?.[head]),
  ]))));
}

const isSame = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((token, index) => token === b[index]);

async function cardFindings({ reading, info, shown }: Run): Promise<OfHeads<readonly Finding[]>> {
  const card = await cardOf(reading.model);
  const ofShown = card?.probes.filter(({ attention }) => !info.encoder || attention === shown) ?? [];
  const source = `${reading.model}/card.json`;
  const findings = (layer: number, head: number): Finding[] =>
    ofShown.map(({ name, about: formula, threshold, items: count, heads }) => {
      const value = heads[layer]?.[head] ?? NaN;
      return { name, on: "card", value, threshold, count, metric: undefined, formula, source };
    });
  return (ofShown[0]?.heads ?? []).map((heads, layer) => heads.map((_, head) => findings(layer, head)));
}

/** Scores of inputs that the model reads again. */
async function ranked(
  model: AsyncModel, inputs: readonly ModelInput[], metrics: readonly AnyMetric[],
  options: { attention?: AttentionName; specialTokens?: readonly number[]; signal?: AbortSignal },
): Promise<OfHeads<Scores>> {
  const heads = await model.rankHeads(inputs, { ...options, metrics });
  const scores: Scores[][] = [];
  for (const { layer, head, scores: of } of heads) {
    const entries = metrics.map((metric) => [metric, { value: of[metric].mean, rows: of[metric].nValid }]);
    (scores[layer] ??= [])[head] = Object.fromEntries(entries) as Scores;
  }
  return scores;
}

/** The input of a run as the tokens that were read, or as the picture. */
export function tokensOf({ input, info, unchanged: { ids, sourceIds = [] } }: Run): ModelInput {
  if (info.image) return input;
  return info.encoder ? { source: sourceIds, target: ids } : ids;
}

export async function readScores(
  run: Run, metrics: readonly AnyMetric[], signal?: AbortSignal,
): Promise<OfHeads<Scores>> {
  const { special } = await frameOf(run.model);
  const { ids, sourceIds } = run.unchanged;
  const keys = run.shown === "decoder" ? ids : (sourceIds ?? []);
  // Where only the first token is special, it is what "sink" measures.
  const isAnywhere = keys.slice(1).some((id) => special.includes(id));
  const options = { ...run.of, ...(signal && { signal }), ...(isAnywhere && { specialTokens: special }) };
  return ranked(run.model, [tokensOf(run)], metrics, options);
}

/** The scores of the probe, which is read once for each attention of a model. */
const probes = new WeakMap<AsyncModel, Map<AttentionName, Promise<OfHeads<Scores>>>>();

function probeScores({ model, info, shown, of }: Run): Promise<OfHeads<Scores>> {
  if (info.image || shown === "cross") return Promise.resolve([]);
  const ofModel = probes.get(model) ?? new Map<AttentionName, Promise<OfHeads<Scores>>>();
  probes.set(model, ofModel);
  const read = async (): Promise<OfHeads<Scores>> =>
    ranked(model, probeOf(info, await frameOf(model)), kMeasuredMetrics, of);
  const scores = ofModel.get(shown) ?? read();
  ofModel.set(shown, scores);
  scores.catch(() => ofModel.delete(shown));
  return scores;
}

/**
 * Scores of maps that no model need read again: of given arrays, and of pairs of texts. A head that the engine refuses to
 * measure is told to `refused`, and has none where that does not throw.
 */
export async function mapScores(
  maps: MapSource, metrics: readonly MetricName[], signal: AbortSignal | undefined, refused: (error: unknown) => void,
): Promise<OfHeads<Scores>> {
  const { run, tokens, keyTokens, heads } = maps;
  const [rows, cols] = [tokens.length, keyTokens.length];
  if (rows * cols > kMostCells) return [];
  const engine = run?.engine ?? (await sharedEngine());
  const words = [...new Set(keyTokens)];
  const special = run ? (await frameOf(run.model)).special : [];
  const context = {
    metrics,
    tokens: keyTokens.map((token) => words.indexOf(token)),
    ...(run && { special: run.unchanged.ids.map((id) => special.includes(id)) }),
  };
  const scoresOf = async (layer: number, head: number): Promise<Scores> => {
    const data = await weightsOf(maps, layer, head);
    signal?.throwIfAborted();
    if (!data) return {};
    const visible = run ? undefined : visibleOf(maps.maskOf(layer), rows, cols);
    const options = { ...context, ...(visible && { visible }) };
    const weights = { data, shape: [rows, cols] };
    const asked = [engine.headMetrics(weights, options), engine.headMetricCounts(weights, options)] as const;
    const [values, counts] = await Promise.all(asked).catch((error: unknown) => {
      refused(error);
      return [[], []] as const;
    });
    signal?.throwIfAborted();
    const [value, count] = [values[0], counts[0]];
    // Rows that do not sum to 1 have no entropy, and are no weights.
    if (!value || !count || (cols > 1 && value.entropyNormalized === null)) return {};
    const entry = (metric: MetricName): [string, unknown] => [metric, { value: value[metric], rows: count[metric] }];
    return Object.fromEntries(metrics.map(entry));
  };
  const scores: Scores[][] = [];
  for (const [layer, count] of heads.entries()) {
    scores[layer] = [];
    for (let head = 0; head < count; head++) scores[layer][head] = await scoresOf(layer, head);
  }
  return scores;
}

/** The map of a head without the reader's changes; undefined where not all of it is known. */
async function weightsOf(maps: MapSource, layer: number, head: number): Promise<Float32Array | undefined> {
  const { run, tokens, keyTokens } = maps;
  if (run) return (await run.unchanged.map(layer, head, run.of)).data;
  const [rows, cols] = [tokens.length, keyTokens.length];
  const { values, known: cells } = await maps.part(layer, head, { rows: [0, rows], cols: [0, cols] }, [rows, cols]);
  return cells?.includes(0) ? undefined : values.map((value) => (Number.isNaN(value) ? 0 : value));
}

function visibleOf(mask: CellMask, rows: number, cols: number): { data: boolean[]; shape: number[] } | undefined {
  if (mask === kOpen) return undefined;
  const isSeen = (_: unknown, cell: number): boolean => {
    const [row, col] = [Math.floor(cell / cols), cell % cols];
    return !mask.hides(row, row + 1, col, col + 1);
  };
  return { data: Array.from({ length: rows * cols }, isSeen), shape: [rows, cols] };
}
