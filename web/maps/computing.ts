// SPDX-License-Identifier: Apache-2.0
/** The interface between the element and the engine, which the script that only draws arrays goes without. */
import type { AsyncEngine, Maybe } from "headlens";
import type { CSSResult } from "lit";
import type { Naming } from "../heads/naming.js";
import type { rankBy } from "../heads/rank-by.js";
import type { State } from "../state/state.js";
import type { Numbers } from "./nested.js";
import type { AttentionName, Changes, Reading } from "./run.js";
import type { SilencedHead } from "./silenced.js";
import type { Lease } from "./source.js";

export interface GivenQueries {
  /** [T,d], [H,T,d] or [L,H,T,d]. */
  readonly queries: Numbers;
  /** [S,d], [G,S,d] or [L,G,S,d], where G divides H. */
  readonly keys: Numbers;
  /** [T,S], nonzero where a query may look at a key. */
  readonly mask: Numbers | undefined;
  /** The factor of the scores; by default 1/√d. */
  readonly softmaxScale: Maybe<number>;
  readonly causal: boolean;
  readonly tokens: readonly string[] | undefined;
  readonly keyTokens: readonly string[] | undefined;
}

/** The maps that are wanted of a model. */
export interface Asked {
  readonly reading: Reading;
  readonly changes: Changes;
  readonly attention: AttentionName;
}

/** Loaded and total bytes. The total is 0 when it is not known. */
export type Progress = (loaded: number, total: number) => void;

export interface Computing {
  /** Loads a model, which stays. Rejects when `signal` ends the wait for it. */
  loadModel(this: void, model: string, signal: AbortSignal, onProgress: Progress): Promise<void>;
  /** True for a model that reads pictures. */
  readsPictures(this: void, model: string): Promise<boolean>;
  /** Takes the files of a model, and returns a name for it that the other functions know, after the folder where that is known. */
  giveModel(this: void, files: readonly File[], folder?: string): string;
  /** Runs the model of a state on its input. `onProgress` is told the share that is done. */
  modelMaps(
    this: void, state: Readonly<State>, signal: AbortSignal, onProgress: (done: number) => void,
  ): Promise<Lease>;
  /** A list of silenced heads with a head when it had not, and without it when it had. */
  silencedToggled(this: void, list: string, head: SilencedHead): string;
  /** Takes queries and keys, from which maps are computed as they are looked at. */
  computedMaps(this: void, given: GivenQueries): Promise<Lease>;
  /** Loads the code that names heads and ranks them. */
  naming(this: void): Promise<{
    readonly Naming: typeof Naming; readonly nameStyles: CSSResult; readonly rankBy: typeof rankBy;
  }>;
  /** The engine, which is started where it was not. */
  engine(this: void): Promise<AsyncEngine>;
  /** True once something has asked for the engine. */
  isStarted(this: void): boolean;
}
