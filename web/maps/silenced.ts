// SPDX-License-Identifier: Apache-2.0
/**
 * The heads that a reader silenced, as the state has them: "3.2 cross:1.4". A head without the name of an attention is one
 * of the decoder's own, as in models that have no other. So a head stays the same one whichever attention is shown.
 */
import { type Head, headsOf, headName, toggled, wordsOf } from "../state/lists.js";
import { type AttentionName, kAttentions } from "./run.js";

export interface SilencedHead extends Head {
  readonly attention: AttentionName;
}

/** Reads a list of silenced heads. Throws an Error that names a word which is no head. */
export function silencedIn(list: string): SilencedHead[] {
  return wordsOf(list).map((word) => {
    const colon = word.indexOf(":");
    const attention = kAttentions.find((name) => name === (colon < 0 ? "decoder" : word.slice(0, colon)));
    const [head] = attention ? headsOf("ablate", word.slice(colon + 1)) : [];
    if (attention && head) return { attention, ...head };
    throw new Error(`ablate: ${JSON.stringify(word)} is not a head, as cross:3.2 is head 2 of layer 3 of the cross-attention`);
  });
}

/** The word for a head in the list. */
export const silencedWord = ({ attention, ...head }: SilencedHead): string =>
  `${attention === "decoder" ? "" : `${attention}:`}${headName(head)}`;

/** The list with a head when it had not, and without it when it had. */
export const silencedToggled = (list: string, head: SilencedHead): string =>
  toggled(wordsOf(list).map((word) => word.replace(/^decoder:/, "")).join(" "), silencedWord(head));

export const isSilenced = (heads: readonly SilencedHead[], { attention, layer, head }: SilencedHead): boolean =>
  heads.some((of) => of.attention === attention && of.layer === layer && of.head === head);
