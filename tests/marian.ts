// SPDX-License-Identifier: Apache-2.0
/** The files that tests/golden/make_marian.py makes: a small Marian, its tokenizer.json, and the ids that transformers gives. */
import { readFileSync } from "node:fs";
import { kGolden } from "./compare.js";

export const kMarian = `${kGolden}/marian`;

const readJson = (name: string): unknown => JSON.parse(readFileSync(`${kMarian}/${name}`, "utf8"));

export const kMarianTokenizer = readJson("new/tokenizer.json") as { readonly target_tokenizer: object };

interface MarianIds {
  readonly texts: readonly string[];
  readonly source: readonly (readonly number[])[];
  readonly target: readonly (readonly number[])[];
  /** The ids of pieces, for both. */
  readonly ids: Readonly<Record<string, number>>;
}

export const kMarianIds = {
  ...(readJson("expected.json") as object), ids: readJson("old/vocab.json"),
} as MarianIds;
