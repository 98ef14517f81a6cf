// SPDX-License-Identifier: Apache-2.0
/** The parts of a regular expression, as a tree. */
import { kFiles } from "../files/names.js";
import { show, wrong } from "../module/failures.js";
import type { HeadlensError } from "../types/errors.js";
import type { CharacterSet } from "./character-set.js";

/** A place between two characters. The last one is the end, or before a newline there. */
export type Place = "line-start" | "line-end" | "start" | "end" | "last-line-end";
export type Mode = "greedy" | "lazy" | "possessive";

export interface Repeat {
  readonly kind: "repeat";
  readonly part: Node;
  readonly least: number;
  readonly most: number;
  readonly mode: Mode;
}

export type Node =
  | Repeat
  | { readonly kind: "character"; readonly code: number }
  | { readonly kind: "set"; readonly set: CharacterSet }
  | { readonly kind: "place"; readonly place: Place }
  | { readonly kind: "back"; readonly count: number } // steps back by characters
  | { readonly kind: "sequence" | "choice"; readonly parts: readonly Node[] }
  | { readonly kind: "atomic"; readonly part: Node } // only its first way to match counts
  | { readonly kind: "look"; readonly part: Node; readonly isNegated: boolean };

/** Returns the number of characters that a part always has, or undefined when it varies. */
export function lengthOf(node: Node): number | undefined {
  switch (node.kind) {
    case "character":
    case "set": return 1;
    case "place":
    case "back":
    case "look": return 0;
    case "atomic": return lengthOf(node.part);
    case "repeat": {
      const length = node.least === node.most ? lengthOf(node.part) : undefined;
      return length === undefined ? undefined : length * node.least;
    }
    case "sequence":
    case "choice": {
      const lengths = node.parts.map(lengthOf);
      const isFixed = lengths.every((length) => length !== undefined);
      if (!isFixed) return undefined;
      if (node.kind === "sequence") return lengths.reduce((sum, length) => sum + length, 0);
      return lengths.every((length) => length === lengths[0]) ? lengths[0] : undefined;
    }
  }
}

/** Returns true for parts that may match no characters at all. */
export function canBeEmpty(node: Node): boolean {
  switch (node.kind) {
    case "character":
    case "set": return false;
    case "place":
    case "back":
    case "look": return true;
    case "atomic": return canBeEmpty(node.part);
    case "repeat": return node.least === 0 || canBeEmpty(node.part);
    case "sequence": return node.parts.every(canBeEmpty);
    case "choice": return node.parts.some(canBeEmpty);
  }
}

/** Returns the set of a part that matches one character of it, or the only character. */
export function setOf(node: Node): CharacterSet | number | undefined {
  if (node.kind === "character") return node.code;
  if (node.kind === "set") return node.set;
  return node.kind === "sequence" && node.parts.length === 1 ? setOf(node.parts[0] as Node) : undefined;
}

/** The error of an expression that has what is not known here. */
export function unknownPart(pattern: string, what: string, expected = "what this package knows"): HeadlensError {
  return wrong("unsupported", `${kFiles.tokenizer}: the regular expression ${show(pattern)}`, what, expected, "has");
}
