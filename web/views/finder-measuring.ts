// SPDX-License-Identifier: Apache-2.0
/** The finder's measurement of all heads, which goes on while its first numbers are looked at, and can be stopped. */
import type { MetricInfo } from "headlens";
import { type AnyMetric, rankHeads, type Ranked } from "../heads/ranking.js";
import type { Run } from "../maps/run.js";
import { isReleased } from "../maps/source.js";
import type { Host } from "./view.js";

/** The input of a model, as the state has it. */
const kRead = ["model", "text", "textPair", "source", "image"] as const;

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** True while the element shows what this run has read. */
export function isShown({ reading, shown, info }: Run, { state }: Host): boolean {
  const isRead = kRead.every((name) => state[name] === reading[name]);
  return isRead && (!info.encoder || state.attention === shown);
}

/** The numbers that are wanted: these metrics of a run, and of more texts. */
export interface Wanted {
  readonly run: Run;
  readonly lines: readonly string[];
  readonly metrics: readonly AnyMetric[];
  readonly infos: readonly MetricInfo[];
}

export class Measuring {
  heads: readonly Ranked[] = [];
  /** The number of texts that those numbers are of. */
  textCount = 0;
  progress: { readonly done: number; readonly what: string } | undefined;
  message = "";
  /** True when a measurement was stopped or has failed, so that something may be missing. */
  isIncomplete = false;
  /** That which was measured last. */
  #tried = "";
  #abort = new AbortController();

  /** `changed` is called when there is something new to say. */
  constructor(private readonly changed: () => void) {}

  /** Ends the measurement under way; the next one begins anew. */
  leave(): void {
    this.#abort.abort();
    this.#tried = "";
  }

  forget(): void {
    this.heads = [];
  }

  /**
   * Measures all heads, if that was not what was measured last or `isAgain`. It resolves when there is something to see.
   * `drawn` is called whenever there are more numbers.
   */
  async measure({ run, lines, metrics, infos }: Wanted, isAgain: boolean, drawn: () => void): Promise<void> {
    const wanted = JSON.stringify([run.reading, run.shown, lines, metrics]);
    if (wanted === this.#tried && !isAgain) return;
    this.#abort.abort();
    const abort = (this.#abort = new AbortController());
    [this.#tried, this.message, this.isIncomplete] = [wanted, "", false];
    try {
      const { rest } = await rankHeads(run, lines, metrics, infos, {
        signal: abort.signal,
        onProgress: (done, what) => abort.signal.aborted || this.#follow(done, what),
        onHeads: (heads) => {
          [this.heads, this.textCount] = [heads, lines.length + 1];
          drawn();
        },
      });
      rest.then(() => this.#finish(abort), (error: unknown) => this.#fail(error, abort));
    } catch (error) {
      this.#fail(error, abort);
    }
  }

  #follow(done: number, what: string): void {
    const percent = (share: number): number => Math.floor(share * 100);
    const before = this.progress;
    if (before?.what === what && percent(before.done) === percent(done)) return;
    this.progress = { done, what };
    this.changed();
  }

  #finish(abort: AbortController): void {
    if (abort !== this.#abort) return;
    this.progress = undefined;
    this.changed();
  }

  /** Says what cannot be measured; what was measured before stays. */
  #fail(error: unknown, abort: AbortController): void {
    if (abort !== this.#abort) return;
    [this.progress, this.isIncomplete] = [undefined, true];
    if (!abort.signal.aborted && !isReleased(error)) this.message = messageOf(error);
    this.changed();
  }

  readonly halt = (): void => {
    this.#abort.abort();
    [this.progress, this.isIncomplete] = [undefined, true];
    this.message = "Stopped.";
    this.changed();
  };
}
