// SPDX-License-Identifier: Apache-2.0
/** Names come after the picture that they belong to, so that no picture waits for them. */
import type { CSSResult, TemplateResult } from "lit";
import type { MapSource } from "../maps/source.js";
import { isReleased } from "../maps/source.js";
import type { HeadName, HeadNames } from "./rules.js";

/** A head of which no rule holds. */
export const kNoPattern = "no clear pattern";

/** The code that names heads. It needs the engine. */
export interface NamingCode {
  namesOf(this: void, maps: MapSource, signal: AbortSignal): Promise<HeadNames>;
  nameButton(this: void, layer: number, head: number, name: HeadName): TemplateResult;
  readonly nameStyles: CSSResult;
}

/** Text that changes again within so many milliseconds is not measured. */
const kQuiet = 120;

/** The model and the attention whose heads a source shows. Given maps are their own. */
const subjectOf = (maps: MapSource): unknown =>
  maps.run ? JSON.stringify([maps.run.reading.model, maps.run.shown]) : maps;

/** Keeps the names of what an element shows. Those of the text before stay until there are new ones. */
export class Naming {
  names: HeadNames | undefined;
  code: NamingCode | undefined;
  #subject: unknown;
  #maps: MapSource | undefined;
  #abort = new AbortController();

  /** `changed` is called when there are new names. */
  constructor(private readonly changed: () => void) {}

  /** Ends the measurement under way, since its text is no longer wanted. */
  stop(): void {
    this.#abort.abort();
    this.#maps = undefined;
  }

  clear(): void {
    this.stop();
    this.names = undefined;
  }

  /** Names the heads of maps that have been drawn. */
  async start(maps: MapSource, load: () => Promise<NamingCode>): Promise<void> {
    if (maps === this.#maps) return;
    const subject = subjectOf(maps);
    if (subject !== this.#subject) this.clear();
    else this.stop();
    [this.#subject, this.#maps] = [subject, maps];
    this.#abort = new AbortController();
    const { signal } = this.#abort;
    try {
      await new Promise((later) => setTimeout(later, kQuiet));
      if (signal.aborted) return;
      this.code = await load();
      const names = await this.code.namesOf(maps, signal);
      if (signal.aborted) return;
      this.names = names;
      this.changed();
    } catch (error) {
      if (signal.aborted || isReleased(error)) return;
      this.names = undefined;
      this.changed();
      console.warn("headlens could not name the heads:", error);
    }
  }
}
