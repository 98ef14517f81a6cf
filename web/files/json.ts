// SPDX-License-Identifier: Apache-2.0
/** Reads the JSON of this program and of others: nested lists, packed numbers, and the cells of sparse maps. */
import type { TensorLike } from "headlens";
import { shapeOf } from "../maps/given.js";
import { type Numbers, showShape, tensorOf } from "../maps/nested.js";
import type { Facts, Given } from "./given-maps.js";
import { type Members, membersOf, tokensOf } from "./json-values.js";
import { countOf, show } from "./limits.js";
import { readNumbers, typeInWords } from "./numbers.js";
import { SparseMaps } from "./sparse.js";
import { axesOf } from "./stored.js";

function fromBase64(place: string, text: string): Uint8Array<ArrayBuffer> {
  let binary: string;
  try {
    binary = atob(text);
  } catch (cause) {
    throw new Error(`${place}.data is ${show(text)}, expected base64`, { cause });
  }
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

/** An array: nested lists, or `{ dtype, shape, data }`, whose data are a list or little-endian bytes in base64. */
function arrayOf(place: string, value: unknown): { tensor: TensorLike; words: string } {
  const { dtype = "F32", shape, data } = membersOf(value) ?? {};
  if (data === undefined) {
    const tensor = tensorOf(place, value as Numbers);
    return { tensor, words: `numbers ${showShape(shapeOf(tensor))}` };
  }
  if (!Array.isArray(shape) || typeof dtype !== "string" || !(typeof data === "string" || Array.isArray(data)))
    throw new Error(`${place} is an object with ${Object.keys(value as object).map(show).join(", ")}, expected dtype, shape and data`);
  const count = countOf(place, shape);
  const sizes = shape as number[];
  const read = typeof data === "string"
    ? readNumbers(place, dtype, fromBase64(place, data), count)
    : tensorOf(`${place}.data`, data as Numbers).data;
  return { tensor: { data: read, shape: sizes }, words: `${typeInWords(dtype)} ${showShape(sizes)}` };
}

/** An array of known axes, in words as well. */
function axedOf(place: string, value: unknown, last?: string): { tensor: TensorLike; words: string } {
  const { tensor, words } = arrayOf(place, value);
  const axes = axesOf(place, shapeOf(tensor), last);
  return { tensor: { data: tensor.data, shape: axes.shape }, words: `${words}, read as ${axes.words}` };
}

/** Which layers or heads of a model these are, where the file names them. */
function indexesInWords(what: string, indexes: unknown): string {
  return Array.isArray(indexes) && indexes.length > 0 ? `; ${what} ${indexes.slice(0, 12).map(show).join(", ")}${indexes.length > 12 ? ", …" : ""}` : "";
}

function factsOf(file: string, { tokens, pieces, keyTokens, key_pieces: keyPieces, causal, mask }: Members): Facts {
  return {
    tokens: tokensOf(`${file}: tokens`, pieces, tokens),
    keyTokens: tokensOf(`${file}: keyTokens`, keyTokens ?? keyPieces),
    causal: causal === true,
    ...(mask !== undefined && mask !== null && { mask: arrayOf(`${file}: mask`, mask).tensor }),
  };
}

/** Maps under one of several names: those of this program, of CircuitsVis, and the compact form. */
function weightsOf(file: string, members: Members, name: string): Given {
  const { tensor, words } = axedOf(`${file}: ${name}`, members[name]);
  const which = indexesInWords("layers", members.layers) + indexesInWords("heads", members.heads);
  return { ...factsOf(file, members), weights: tensor, understood: `${file}: ${words}${which}` };
}

function queriesOf(file: string, members: Members): Given {
  const [queries, keys] = [axedOf(`${file}: queries`, members.queries, "width"), axedOf(`${file}: keys`, members.keys, "width")];
  const { softmaxScale } = members;
  if (softmaxScale !== undefined && softmaxScale !== null && typeof softmaxScale !== "number")
    throw new Error(`${file}: softmaxScale is ${show(softmaxScale)}, expected a number`);
  const understood = `${file}: queries and keys, from which maps are computed; ${queries.words}`;
  return { ...factsOf(file, members), queries: queries.tensor, keys: keys.tensor, softmaxScale, understood };
}

/** The data of BertViz: a list of entries, of which a menu chooses, or in older versions an object of them. The first is read. */
function bertvizMaps(file: string, entries: readonly unknown[]): Given {
  const [entry] = entries.map(membersOf);
  const { attn, left_text: left, right_text: right, name } = entry ?? {};
  const { tensor, words } = axedOf(`${file}: attn`, attn);
  const which = entries.length > 1 ? `; the first of ${entries.length} entries${typeof name === "string" ? `, ${show(name)}` : ""}` : "";
  return {
    tokens: tokensOf(`${file}: left_text`, left),
    keyTokens: tokensOf(`${file}: right_text`, right),
    weights: tensor,
    understood: `${file}: BertViz's ${words}${which}`,
  };
}

/** One head, with `rows[query]` a list of `[key, weight]`. */
function rowsOf(file: string, members: Members): Given {
  const facts = factsOf(file, members);
  const rows = members.rows as readonly unknown[];
  const size = [facts.tokens?.length ?? rows.length, (facts.keyTokens ?? facts.tokens)?.length ?? rows.length] as const;
  const maps = new SparseMaps(file, 1, 1, size);
  rows.forEach((cells, row) => {
    if (!Array.isArray(cells)) throw new Error(`${file}: rows[${row}] is ${show(cells)}, expected a list of [key, weight]`);
    cells.forEach((cell: unknown, index) => {
      const [key, weight] = Array.isArray(cell) ? (cell as unknown[]) : [];
      if (typeof key !== "number" || (typeof weight !== "number" && weight !== null))
        throw new Error(`${file}: rows[${row}][${index}] is ${show(cell)}, expected [key, weight]`);
      maps.set(0, 0, row, key, weight ?? NaN);
    });
  });
  const { words, ...given } = maps.given(members.causal === true);
  return { ...facts, ...given, understood: `${file}: one head of ${size.join(" × ")}, read as rows of [key, weight]${words}` };
}

/** A sequence of HeadVis and Neuronpedia: the weights of some cells, by query × length + key. */
function headVisMaps(file: string, sequence: Members, which: string): Given {
  const tokens = tokensOf(`${file}: tokens`, sequence.tokens);
  const indexes = sequence.attention_indices ?? sequence.attentionIndices;
  const values = sequence.attention_values ?? sequence.attentionValues;
  if (!tokens || !Array.isArray(indexes) || !Array.isArray(values) || indexes.length !== values.length)
    throw new Error(`${file} has no tokens, attention_indices and as many attention_values, expected all three`);
  const length = tokens.length;
  const maps = new SparseMaps(file, 1, 1, [length, length]);
  indexes.forEach((at: unknown, index) => {
    const value: unknown = values[index];
    if (typeof at !== "number" || typeof value !== "number")
      throw new Error(`${file}: cell ${index} is ${show(at)} with the weight ${show(value)}, expected two numbers`);
    maps.set(0, 0, Math.floor(at / length), at % length, value);
  });
  const { words, ...given } = maps.given();
  return { tokens, ...given, understood: `${file}: one head of HeadVis, ${length} × ${length}${which}${words}` };
}

/** Of the sequences of a head, the one with the largest weight is read. */
function headVisFile(file: string, sequences: readonly unknown[]): Given {
  const all = sequences.map(membersOf);
  const most = all.map((sequence) => Number(sequence?.max_activation) || 0);
  const best = most.reduce((found, value, index) => (value > (most[found] ?? 0) ? index : found), 0);
  return headVisMaps(file, all[best] ?? {}, `; sequence ${best + 1} of ${all.length}, whose largest weight is the largest`);
}

export function jsonMaps(file: string, value: unknown): Given {
  const members: Members = membersOf(value) ?? { weights: value };
  const list = (name: string): readonly unknown[] | undefined => {
    const member = members[name];
    return Array.isArray(member) ? (member as unknown[]) : undefined;
  };
  const attention = list("attention") ?? Object.values(membersOf(members.attention) ?? {});
  if (membersOf(attention[0])?.attn !== undefined) return bertvizMaps(file, attention);
  if (membersOf(list("weights")?.[0])?.attn !== undefined) return bertvizMaps(file, list("weights") ?? []);
  const sequences = list("sequences");
  if (sequences) return headVisFile(file, sequences);
  if (members.attention_indices ?? members.attentionIndices) return headVisMaps(file, members, "");
  if (list("rows")) return rowsOf(file, members);
  if (members.queries !== undefined && members.keys !== undefined) return queriesOf(file, members);
  for (const name of ["weights", "maps", "attention"]) if (members[name] !== undefined) return weightsOf(file, members, name);
  const names = Object.keys(members).slice(0, 8).map(show).join(", ");
  throw new Error(`${file} is an object with ${names || "nothing"}, expected weights, maps, attention, queries with keys, rows or sequences`);
}
