// SPDX-License-Identifier: Apache-2.0
/** Scores the heads of a model without holding the thread: after some milliseconds of work others have their turn. */
import { apiName, kRankMetrics, toCamel, toJson, toSnake } from "../arguments/names.js";
import { checkAborted, checkFollowed, type Following, listOf, type Read } from "../arguments/options.js";
import { guarded, reading, show, unwrap, within, wrong } from "../module/failures.js";
import type { FinderHandle, ModelHandle, RawInput } from "../module/module.js";
import { HandleResource, type Resource } from "../module/resource.js";
import { HeadlensError } from "../types/errors.js";
import type { HeadScore, MetricName, ModelInfo, ModelInput, RankedHead, RankOptions } from "../types/index.js";

const kTurnMs = 30;

function checkRank(given: unknown, { vocabSize, encoder }: ModelInfo): Read<RankOptions> & Following {
  const options = checkFollowed<RankOptions>("rankHeads", given);
  const { metrics, ascending, specialTokens, attention } = options;
  const refuse = (name: keyof RankOptions, expected: string): never => {
    throw within("rankHeads", wrong("option", name, show(options[name]), expected));
  };
  const isId = (id: unknown): boolean => Number.isInteger(id) && (id as number) >= 0 && (id as number) < vocabSize;
  const isMetric = (name: unknown): boolean => kRankMetrics.includes(name as string);
  const parts = encoder ? ["decoder", "encoder", "cross"] : [];
  if (attention !== undefined && !parts.includes(attention)) {
    refuse("attention", encoder ? `one of ${parts.map(show).join(", ")}` : "an encoder–decoder");
  }
  const names = metrics && reading("rankHeads: metrics", () => listOf<MetricName>(metrics, isMetric));
  if (metrics !== undefined && !names?.length) refuse("metrics", `a list of ${kRankMetrics.join(", ")}`);
  if (ascending !== undefined && typeof ascending !== "boolean") refuse("ascending", "a boolean");
  const ids = specialTokens && reading("rankHeads: specialTokens", () => listOf<number>(specialTokens, isId));
  if (specialTokens !== undefined && !ids) refuse("specialTokens", "an array of token ids");
  return { ...options, ...(names && { metrics: names }), ...(ids && { specialTokens: ids }) };
}

/** Puts the name of the input before the message of its error. */
function blaming<T>(index: number, call: () => T): T {
  try {
    return call();
  } catch (error) {
    if (!(error instanceof HeadlensError)) throw error;
    throw within(`rankHeads: inputs[${index}]`, error);
  }
}

class HeadFinder extends HandleResource<FinderHandle> {
  begin(inputs: readonly RawInput[]): void {
    guarded("rankHeads", () => unwrap(this.held.begin(inputs), apiName));
  }

  next(): boolean {
    return guarded("rankHeads", () => unwrap(this.held.next(), apiName));
  }

  heads(): RankedHead[] {
    return unwrap(this.held.heads(), apiName).map(({ layer, head, scores }) => {
      const named = Object.entries(scores).map(([name, score]): [string, HeadScore] => [toCamel(name), score]);
      return { layer, head, scores: Object.fromEntries(named) as RankedHead["scores"] };
    });
  }
}

/** The model whose heads are ranked, and how it reads an input. */
interface Ranked {
  /** It is called after the caller's options are read, whose getters may have disposed of the model. */
  readonly handle: () => ModelHandle;
  readonly info: ModelInfo;
  readonly owner: Resource<unknown>;
  readonly read: (input: ModelInput) => readonly RawInput[];
}

function startFinder({ handle, owner }: Ranked, options: Read<RankOptions>): HeadFinder {
  const { metrics, ascending, specialTokens = [], attention } = options;
  const json = toJson({ metrics: metrics?.map(toSnake), ascending, attention });
  const make = (): FinderHandle => unwrap(handle().findHeads(json, specialTokens), apiName);
  return new HeadFinder("head finder", () => guarded("rankHeads", make), owner);
}

export async function rankHeads(
  model: Ranked, inputs: readonly ModelInput[], given: unknown,
): Promise<RankedHead[]> {
  if (!Array.isArray(inputs) || inputs.length === 0) {
    throw within("rankHeads", wrong("dtype", "inputs", show(inputs), "an array of what the model reads"));
  }
  const { info } = model;
  const texts = reading("inputs", () => Array.from(inputs as readonly ModelInput[]));
  const options = checkRank(given, info);
  const { layers, heads } = options.attention === "encoder" && info.encoder ? info.encoder : info;
  checkAborted("rankHeads", options);
  const finder = startFinder(model, options);
  try {
    let turn = performance.now();
    let done = 0;
    for (const [i, input] of texts.entries()) {
      blaming(i, () => { finder.begin(model.read(input)); });
      while (blaming(i, () => finder.next())) {
        options.onProgress?.(++done / (layers * heads * texts.length));
        if (performance.now() - turn > kTurnMs) {
          await new Promise((resolve) => setTimeout(resolve, 0));
          turn = performance.now();
        }
        checkAborted("rankHeads", options);
      }
    }
    return finder.heads();
  } finally {
    finder.dispose();
  }
}
