// SPDX-License-Identifier: Apache-2.0
/** The cards of the built-in models, which say what each head scores in probes whose answers are known. */

export interface CardProbe {
  readonly name: string;
  /** A sentence that says what was measured. */
  readonly about: string;
  /** The attention whose heads were measured, in an encoder–decoder. */
  readonly attention: string;
  /** The score from which a head is said to do it. */
  readonly threshold: number;
  /** The number of texts or pictures. */
  readonly items: number;
  /** The score of each head of each layer. */
  readonly heads: readonly (readonly number[])[];
}

export interface Card {
  readonly name: string;
  readonly probes: readonly CardProbe[];
}

const kCards: Readonly<Record<string, () => Promise<{ readonly default: Card }>>> = {
  "tiny": () => import("../models/tiny/card.json"),
  "tiny-bert": () => import("../models/tiny-bert/card.json"),
  "tiny-translator": () => import("../models/tiny-translator/card.json"),
  "tiny-vit": () => import("../models/tiny-vit/card.json"),
};

/** The card of a built-in model. Folders from elsewhere have none. */
export async function cardOf(model: string): Promise<Card | undefined> {
  const load = Object.hasOwn(kCards, model) ? kCards[model] : undefined;
  return load && (await load()).default;
}
