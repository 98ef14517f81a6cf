// SPDX-License-Identifier: Apache-2.0
import type { Field } from "./fields.js";
import { type Match, Regex } from "./regex.js";
import type { Steps } from "./steps.js";

/** Returns the places of `part`, which is not empty, from left to right and without overlaps. */
export function placesOf(part: string, text: string): Match[] {
  const matches: Match[] = [];
  for (let at = text.indexOf(part); at >= 0; at = text.indexOf(part, at + part.length)) {
    matches.push({ begin: at, end: at + part.length });
  }
  return matches;
}

export type Find = (text: string, steps: Steps) => Match[];

/** Makes the search of a pattern {"String": …} or {"Regex": …} of tokenizer.json. */
export function makePattern(field: Field): Find {
  const [part, regex] = [field.at("String"), field.at("Regex")];
  if (!part.isNull) {
    const text = part.text();
    if (text === "") part.fail("at least one character");
    return (within, steps) => {
      const places = placesOf(text, within);
      steps.takePass(within.length, places.length);
      return places;
    };
  }
  if (regex.isNull) return field.fail('{"String": …} or {"Regex": …}');
  const search = new Regex(regex.text());
  return (text, steps) => search.findAll(text, steps);
}
