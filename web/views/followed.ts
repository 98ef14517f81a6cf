// SPDX-License-Identifier: Apache-2.0
/** Numbers of the place that is looked at. They follow the cursor: while some are fetched, only the newest place waits. */
import type { Run } from "../maps/run.js";
import type { MapSource } from "../maps/source.js";

/** Maps of a model's run. */
export type RunMaps = MapSource & { readonly run: Run };

/** A head that the shown maps do not have is one of maps that are on their way. */
function isThere(place: unknown, { heads }: MapSource): boolean {
  const { layer, head = 0 } = Object(place) as { layer?: number; head?: number };
  return layer === undefined || head < (heads[layer] ?? 0);
}

export class Followed<Place, Shown> {
  #shown: { readonly maps: RunMaps; readonly numbers: Shown } | undefined;
  #key = "";
  /** Numbers that were fetched for the next load. */
  #ahead: { readonly maps: MapSource; readonly key: string; readonly numbers: Shown } | undefined;
  #wanted: { readonly key: string; readonly place: Place } | undefined;
  #busy = false;
  /** Counts what makes numbers that are on their way useless. */
  #turn = 0;

  /** `drawn` is called when there is something new to show, and `failed` when something cannot be fetched. */
  constructor(
    private readonly fetch: (maps: RunMaps, place: Place) => Promise<Shown>,
    private readonly drawn: () => void,
    private readonly failed: (error: unknown) => void,
  ) {}

  /** The numbers that are there to be shown, and the maps that they belong to. */
  get shown(): { readonly maps: RunMaps; readonly numbers: Shown } | undefined {
    return this.#shown;
  }

  /** Fetches the numbers of a place, even of one that is shown. Rejects when that fails, or when `signal` ends it. */
  async load(maps: MapSource, place: Place, signal: AbortSignal): Promise<void> {
    const turn = ++this.#turn;
    const key = JSON.stringify(place);
    const ahead = this.#ahead?.maps === maps && this.#ahead.key === key ? this.#ahead : undefined;
    this.#ahead = undefined;
    const numbers = ahead ? ahead.numbers : await this.fetch(maps as RunMaps, place);
    signal.throwIfAborted();
    if (turn !== this.#turn) return;
    this.#key = key;
    this.#shown = { maps: maps as RunMaps, numbers };
  }

  /** Fetches the numbers of a place before they are loaded, unless they are there. */
  async prepare(maps: MapSource, place: Place): Promise<void> {
    const key = JSON.stringify(place);
    if (this.#ahead?.maps === maps && this.#ahead.key === key) return;
    this.#ahead = { maps, key, numbers: await this.fetch(maps as RunMaps, place) };
  }

  /** Shows this place of the same maps as soon as its numbers are there. */
  follow(place: Place): void {
    if (this.#shown && !isThere(place, this.#shown.maps)) return;
    this.#wanted = { key: JSON.stringify(place), place };
    if (!this.#busy && this.#shown && this.#wanted.key !== this.#key) void this.#catchUp();
  }

  async #catchUp(): Promise<void> {
    this.#busy = true;
    try {
      for (let to = this.#wanted; to && to.key !== this.#key; to = this.#wanted) await this.#fetch(to.key, to.place);
    } finally {
      this.#busy = false;
    }
  }

  async #fetch(key: string, place: Place): Promise<void> {
    const turn = this.#turn;
    const maps = this.#shown?.maps;
    this.#key = key;
    if (!maps) return;
    try {
      const numbers = await this.fetch(maps, place);
      if (turn !== this.#turn) return;
      this.#shown = { maps, numbers };
      this.drawn();
    } catch (error) {
      if (turn === this.#turn) this.failed(error);
    }
  }

  clear(): void {
    this.#turn++;
    this.#key = "";
    this.#shown = this.#wanted = this.#ahead = undefined;
  }
}
