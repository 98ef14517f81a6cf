// SPDX-License-Identifier: Apache-2.0
/** The lists that the state holds as words. Anyone may have written them, so what is no such list is refused in words. */

/** A head of a model. */
export interface Head {
  readonly layer: number;
  readonly head: number;
}

export const wordsOf = (text: string): string[] => text.split(/[\s,]+/).filter((word) => word !== "");

/** Reads "3.2 1.4" as heads: layers and heads. */
export function headsOf(name: string, text: string): Head[] {
  return wordsOf(text).map((word) => {
    const [, layer, head] = /^(\d{1,4})\.(\d{1,4})$/.exec(word) ?? [];
    if (layer === undefined) throw new Error(`${name}: ${JSON.stringify(word)} is not a head, as 3.2 is head 2 of layer 3`);
    return { layer: Number(layer), head: Number(head) };
  });
}

/** Reads "2 5" as whole numbers. */
export function indexesOf(name: string, text: string): number[] {
  return wordsOf(text).map((word) => {
    if (!/^-?\d{1,7}$/.test(word)) throw new Error(`${name}: ${JSON.stringify(word)} is not a whole number`);
    return Number(word);
  });
}

export const headName = ({ layer, head }: Head): string => `${layer}.${head}`;

/** The list with `word` when it had none, and without it when it had. */
export function toggled(list: string, word: string): string {
  const words = wordsOf(list);
  return (words.includes(word) ? words.filter((other) => other !== word) : [...words, word]).join(" ");
}

/** True for lists with the same values. */
export const isEqual = (a: readonly unknown[], b: readonly unknown[]): boolean =>
  a.length === b.length && a.every((value, index) => Object.is(value, b[index]));
