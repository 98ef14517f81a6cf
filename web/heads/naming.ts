// SPDX-License-Identifier: Apache-2.0
/** Names come after all pictures of a page, so that none waits for them. */
import type { TemplateResult } from "lit";
import { isReleased, type MapSource } from "../maps/source.js";
import { nameButton } from "./name-button.js";
import { namesOf } from "./names.js";
import type { HeadNames } from "./rules.js";

/** Text that changes again within so many milliseconds is not measured: a measurement would keep the next letter waiting. */
const kQuiet = 250;

/** The model and the attention whose heads a source shows. Given maps are their own. */
const subjectOf = (maps: MapSource): unknown =>
  maps.run ? JSON.stringify([maps.run.reading.model, maps.run.shown]) : maps;

/** Keeps the names of what an element shows. Those of the text before stay until there are new ones. */
export class Naming {
  names: HeadNames | undefined;
  #subject: unknown;
  #maps: MapSource | undefined;
  #abort = new AbortController();

  /** `changed` is called when there are new names, and `atRest` resolves when nothing is being drawn. */
  constructor(private readonly changed: () => void, private readonly atRest: () => Promise<void>) {}

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
  async start(maps: MapSource): Promise<void> {
    if (maps === this.#maps) return;
    const subject = subjectOf(maps);
    if (subject !== this.#subject) this.clear();
    else this.stop();
    [this.#subject, this.#maps] = [subject, maps];
    this.#abort = new AbortController();
    const { signal } = this.#abort;
    try {
      await new Promise((later) => setTimeout(later, kQuiet));
      await this.atRest();
      if (signal.aborted) return;
      const names = await namesOf(maps, signal);
      signal.throwIfAborted();
      this.names = names;
    } catch (error) {
      if (signal.aborted || isReleased(error)) return;
      this.names = undefined;
      throw error;
    } finally {
      if (!signal.aborted) this.changed();
    }
  }

  /** The button with the name of a head, once there is one. */
  button(layer: number, head: number): TemplateResult | undefined {
    const name = this.names?.[layer]?.[head];
    return name && nameButton(layer, head, name);
  }
}
