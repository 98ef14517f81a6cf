// SPDX-License-Identifier: Apache-2.0
/** Scores the heads of a model without holding the thread: after some milliseconds of work others have their turn. */
import { HeadlensError } from "./errors.js";
import { guarded, reading, show, unwrap } from "./failures.js";
import type { FinderHandle, ModelHandle, RawModelCall } from "./module.js";
import { checkAborted, checkFollowed, inApiWords, isListOf, kRankMetrics, toCamel, toSnake } from "./names.js";
import { HandleResource, type Resource } from "./resource.js";
import type { HeadScore, ModelInfo, ModelInput, RankedHead, RankOptions } from "./types.js";

const kTurnMs = 30;

function checkRank(given: unknown, vocabSize: number): RankOptions {
  const options = checkFollowed<RankOptions>("rankHeads", given);
  const expect = (name: keyof RankOptions, isRight: (value: unknown) => boolean, expected: string): void => {
    const value = options[name];
    if (value === undefined || reading(`rankHeads: ${name}`, () => isRight(value))) return;
    throw new HeadlensError("option", `rankHeads: ${name} is ${show(value)}, expected ${expected}`);
  };
  const isId = (id: unknown): boolean => Number.isInteger(id) && (id as number) >= 0 && (id as number) < vocabSize;
  const isMetrics = isListOf((name) => kRankMetrics.includes(name as string));
  expect("metrics", (value) => isMetrics(value) && (value as unknown[]).length > 0, `a list of ${kRankMetrics.join(", ")}`);
  expect("ascending", (value) => typeof value === "boolean", "a boolean");
  expect("specialTokens", isListOf(isId), "an array of token ids");
  return options;
}

/** Names of the error's input before its message. */
function blaming<T>(index: number, call: () => T): T {
  try {
    return call();
  } catch (error) {
    if (!(error instanceof HeadlensError)) throw error;
    throw new HeadlensError(error.code, `rankHeads: inputs[${index}]: ${error.message}`, { cause: error });
  }
}

class HeadFinder extends HandleResource<FinderHandle> {
  begin(call: RawModelCall): void {
    unwrap(this.held.begin(call), inApiWords);
  }

  next(): boolean {
    return unwrap(this.held.next(), inApiWords);
  }

  heads(ascending: boolean): RankedHead[] {
    return unwrap(this.held.heads(ascending), inApiWords).map(({ layer, head, scores }) => {
      const named = Object.entries(scores).map(([name, score]): [string, HeadScore] => [toCamel(name), score]);
      return { layer, head, scores: Object.fromEntries(named) as RankedHead["scores"] };
    });
  }
}

/** Whose heads, and how an input becomes what it takes. */
interface Ranked {
  readonly handle: ModelHandle;
  readonly info: ModelInfo;
  readonly owner: Resource<unknown>;
  readonly read: (input: ModelInput) => RawModelCall;
}

function startFinder({ handle, owner }: Ranked, { metrics, specialTokens }: RankOptions): HeadFinder {
  const made = guarded("rankHeads", () => unwrap(handle.findHeads(metrics?.map(toSnake), specialTokens), inApiWords));
  return new HeadFinder("head finder", made, owner);
}

export async function rankHeads(
  model: Ranked, inputs: readonly ModelInput[], given: unknown,
): Promise<RankedHead[]> {
  if (!Array.isArray(inputs) || inputs.length === 0) {
    throw new HeadlensError("dtype", `rankHeads: inputs is ${show(inputs)}, expected an array of what the model reads`);
  }
  const { info } = model;
  const options = checkRank(given, info.vocabSize);
  checkAborted("rankHeads", options);
  const finder = startFinder(model, options);
  try {
    let turn = performance.now();
    let done = 0;
    for (const [i, input] of (inputs as readonly ModelInput[]).entries()) {
      blaming(i, () => { finder.begin(model.read(input)); });
      while (blaming(i, () => finder.next())) {
        options.onProgress?.(++done / (info.layers * info.heads * inputs.length));
        if (performance.now() - turn > kTurnMs) {
          await new Promise((resolve) => setTimeout(resolve, 0));
          turn = performance.now();
        }
        checkAborted("rankHeads", options);
      }
    }
    return finder.heads(options.ascending ?? false);
  } finally {
    finder.dispose();
  }
}
