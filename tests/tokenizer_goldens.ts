// SPDX-License-Identifier: Apache-2.0
/** The files that tests/golden/make_tokenizers.py has made: lines, tokenizers, and the ids that Hugging Face's library gives them. */
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { crc32 } from "node:zlib";
import { kRoot } from "./compare.js";
import { readSafetensors, tensorOf } from "./safetensors.js";

const kFolder = `${kRoot}tests/golden/tokenizers`;

interface Lines {
  readonly lines: readonly string[];
  readonly broken: Readonly<Record<string, string>>;
  readonly pairs: readonly (readonly [number, number])[];
}

interface Steps {
  readonly base: object;
  readonly steps: Readonly<Record<string, object>>;
}

export interface TokenizerGolden {
  readonly name: string;
  /** The contents of tokenizer.json. */
  readonly json: object;
}

const readJson = (name: string): unknown => JSON.parse(readFileSync(`${kFolder}/${name}`, "utf8"));

export const kGoldenLines = readJson("lines.json") as Lines;

export const kPublishedTokenizers: readonly TokenizerGolden[] = readdirSync(kFolder)
  .filter((name) => existsSync(`${kFolder}/${name}/tokenizer.json`))
  .map((name) => ({ name, json: readJson(`${name}/tokenizer.json`) as object }));

const { base, steps } = readJson("steps.json") as Steps;
export const kSingleSteps: readonly TokenizerGolden[] =
  Object.entries(steps).map(([name, changes]) => ({ name, json: { ...base, ...changes } }));

const kIds = readSafetensors(`${kFolder}/ids.safetensors`);
const kBlock = Number(kIds.metadata.block);

/** Lists of ids that stand one after the other, each ended by a -1. */
function taken(name: string): number[][] {
  const lists: number[][] = [];
  let list: number[] = [];
  for (const id of tensorOf(kIds, name).data) {
    if (id >= 0) {
      list.push(id);
    } else {
      lists.push(list);
      list = [];
    }
  }
  return lists;
}

export const idsOfPairs = (name: string): number[][] => taken(`${name}.pairs`);

function sumOf(lists: readonly (readonly number[])[]): number {
  const ids = Int32Array.from(lists.flatMap((list) => [...list, -1]));
  return crc32(new Uint8Array(ids.buffer)) | 0;
}

/** Says at which line the `ids` of all lines are not those of the library. "" when they are the same. */
export function differences(name: string, ids: readonly (readonly number[])[]): string {
  const { lines } = kGoldenLines;
  if (ids.length !== lines.length) return `${ids.length} lists of ids, expected ${lines.length}`;
  for (const [i, expected] of taken(`${name}.ids`).entries()) {
    if (String(ids[i]) !== String(expected)) return `line ${i}, ${JSON.stringify(lines[i])}: [${ids[i]?.join()}], expected [${expected.join()}]`;
  }
  const wrong = [...tensorOf(kIds, `${name}.sums`).data].findIndex((sum, i) => sumOf(ids.slice(kBlock * i, kBlock * (i + 1))) !== sum);
  return wrong < 0 ? "" : `one of the lines ${kBlock * wrong} to ${kBlock * (wrong + 1) - 1}: ${JSON.stringify(lines.slice(kBlock * wrong, kBlock * (wrong + 1)))}`;
}
