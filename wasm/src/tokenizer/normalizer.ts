// SPDX-License-Identifier: Apache-2.0
/** Normalizers change a text before it is split. */
import { type Field, type Kinds, make, stepsOf } from "./fields.js";
import { grown, kMaxText, type Steps } from "./steps.js";
import { byteLength } from "./unicode.js";

export interface Normalized {
  readonly text: string;
  /** False when the first character was removed: a text without it does not count as the first of a section any more. */
  readonly keepsFirst: boolean;
}

/** Changes a text. Throws when it takes more than `steps`. */
export type Normalizer = (text: string, steps: Steps) => Normalized;

/** Makes the normalizer of tokenizer.json's "normalizer", which may be null, of steps of these kinds. */
export function makeNormalizer(field: Field, kinds: Kinds<Normalizer>): Normalizer {
  const all = stepsOf(field, "normalizers").map((step) => make(kinds, step));
  return (given, steps) => {
    let text = given, keepsFirst = true;
    for (const step of all) {
      const changed = step(text, steps);
      text = changed.text;
      keepsFirst &&= changed.keepsFirst;
      const bytes = byteLength(text);
      steps.takePass(bytes, 1);
      if (bytes > kMaxText) throw grown(bytes, "normalized");
    }
    return { text, keepsFirst };
  };
}
