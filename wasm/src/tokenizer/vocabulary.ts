// SPDX-License-Identifier: Apache-2.0
import type { Field } from "./fields.js";

/** The tokens with their ids. Each also has a place, counted from 0, since ids may be any numbers. */
export class Vocabulary {
  readonly #places = new Map<string, number>();
  readonly #ids: number[] = [];
  readonly #tokens = new Map<number, string>();
  #longest = 0;

  /** Reads {"token": id, …}. */
  static of(field: Field): Vocabulary {
    const vocabulary = new Vocabulary();
    for (const [token, id] of Object.entries(field.object())) {
      const isId = typeof id === "number" && (id | 0) === id && id >= 0; // a Field for each token would take long
      vocabulary.add(token, isId ? id : field.named(token).id());
    }
    return vocabulary;
  }

  add(token: string, id: number): void {
    const place = this.#places.get(token) ?? this.#ids.length;
    this.#places.set(token, place);
    this.#ids[place] = id;
    this.#tokens.set(id, token);
    this.#longest = Math.max(this.#longest, token.length);
  }

  get size(): number {
    return this.#ids.length;
  }

  /** The length of the longest token in UTF-16. */
  get longest(): number {
    return this.#longest;
  }

  placeOf(token: string): number | undefined {
    return this.#places.get(token);
  }

  idAt(place: number): number {
    return this.#ids[place] as number;
  }

  find(token: string): number | undefined {
    const place = this.#places.get(token);
    return place === undefined ? undefined : this.#ids[place];
  }

  tokenOf(id: number): string | undefined {
    return this.#tokens.get(id);
  }

  tokens(): IterableIterator<string> {
    return this.#places.keys();
  }
}
