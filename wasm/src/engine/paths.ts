// SPDX-License-Identifier: Apache-2.0
/** Finds paths of two heads without holding the thread. */
import { apiName } from "../arguments/names.js";
import { checkAborted, checkFollowed } from "../arguments/options.js";
import { guarded, show, unwrap, within, wrong } from "../module/failures.js";
import type { AttentionHandle, PathFinderHandle } from "../module/module.js";
import { HandleResource, type Resource } from "../module/resource.js";
import { HeadlensError } from "../types/errors.js";
import type { HeadPath, ModelInfo, PathsOptions } from "../types/index.js";
import { checkTop } from "./explanations.js";
import { checkIndex } from "./maps.js";
import { inTurns } from "./turns.js";

const kKinds = ["query", "key", "value"] as const;

class PathFinder extends HandleResource<PathFinderHandle> {
  get heads(): number {
    return this.held.heads();
  }

  /** Goes on to the next later head, and returns false when none is left. */
  next(): boolean {
    return guarded("paths", () => unwrap(this.held.next(), apiName));
  }

  paths(count: number, induction: boolean): HeadPath[] {
    const { data, shape } = guarded("paths", () => unwrap(this.held.paths(count, induction), apiName));
    const rows = Array.from({ length: shape[0] as number }, (_, i) => [...data.subarray(10 * i, 10 * i + 10)]);
    return rows.map((row) => pathOf(row, induction));
  }
}

function pathOf(numbers: readonly number[], induction: boolean): HeadPath {
  const at = (i: number): number => numbers[i] as number;
  const ifAny = (i: number): number | null => Number.isNaN(at(i)) ? null : at(i);
  return {
    earlier: { layer: at(0), head: at(1) }, later: { layer: at(2), head: at(3) },
    kind: kKinds[at(4)] as HeadPath["kind"], share: ifAny(5), weights: ifAny(6),
    ...(induction && { previous: at(7), induction: at(8), score: at(9) }),
  };
}

/** A run, whose handle is taken after the caller's options are read. */
interface Searched {
  readonly handle: () => AttentionHandle;
  readonly info: ModelInfo;
  readonly owner: Resource<unknown>;
}

export async function findPaths({ handle, info, owner }: Searched, given: unknown): Promise<HeadPath[]> {
  const options = checkFollowed<PathsOptions>("paths", given);
  const { layer, head, rank = "share", top } = options;
  if (layer !== undefined) checkIndex("layer", layer, info.layers);
  if (head !== undefined) checkIndex("head", head, info.heads);
  if ((layer === undefined) !== (head === undefined)) {
    const [argument, expected] = layer === undefined ? ["head", "layer"] as const : ["layer", "head"] as const;
    throw new HeadlensError("option", `paths: ${argument} needs ${expected}`, { argument, expected });
  }
  if (rank !== "share" && rank !== "induction") {
    throw within("paths", wrong("option", "rank", show(rank), '"share" or "induction"'));
  }
  const count = checkTop("paths", top, Number.MAX_SAFE_INTEGER);
  checkAborted("paths", options);
  const make = (): PathFinderHandle => unwrap(handle().findPaths(layer ?? -1, head ?? -1), apiName);
  const finder = new PathFinder("path finder", () => guarded("paths", make), owner);
  try {
    let done = 0;
    const { heads } = finder;
    await inTurns("paths", options, () => finder.next() ? ++done / heads : 1);
    return finder.paths(Math.min(count, 2 ** 30), rank === "induction");
  } finally {
    finder.dispose();
  }
}
