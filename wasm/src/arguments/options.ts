// SPDX-License-Identifier: Apache-2.0
/** The options and sources of a call are read here, also by a page whose engine is in a worker and reads the rest. */
import { kFiles } from "../files/names.js";
import { reading, show, within, wrong } from "../module/failures.js";
import { builtInFile } from "../platform/own-files.js";
import { HeadlensError } from "../types/errors.js";
import type { AttendOptions, LoadModelOptions, LoadOptions, PathsOptions, RankOptions } from "../types/index.js";
import { attendOptions, pathsOptions, rankOptions } from "./followed-fields.js";

/** A copy of an array of such items, each read once, for it may be a proxy; undefined of anything else, and of one with holes. */
export function listOf<T>(value: unknown, isItem: (item: unknown) => boolean): T[] | undefined {
  if (!Array.isArray(value)) return undefined;
  const items: T[] = [];
  for (const item of value as unknown[]) {
    if (!isItem(item)) return undefined;
    items.push(item as T);
  }
  return items;
}

/** Returns true when a model's source is one of the models in the package. */
export function isBuiltIn(source: unknown): source is string {
  return typeof source === "string" && builtInFile(source, kFiles.config) !== undefined;
}

/** Returns `source`, or a copy of its list of files. Throws unless a model can come from it. */
export function checkSource(source: unknown): string | URL | readonly File[] {
  if (typeof source === "string" || source instanceof URL) return source;
  const files = reading("source", () => listOf<File>(source, (file) => file instanceof Blob && "name" in file));
  if (files) return files;
  throw wrong("value", "source", show(source), "a built-in model's name, a URL, or Files");
}

/** Options as they are read: what is null was left out. */
export type Read<O> = { readonly [Name in keyof O]: Exclude<O[Name], null> };

/** The options with which a caller follows a long call, and ends it. */
export interface Following {
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((...progress: number[]) => void) | undefined;
}

const kFollowing = { signal: "json", onProgress: "json" } as const;
const kAttend = { ...attendOptions, ...kFollowing, truncate: "json", textPair: "json", patches: "json" } as const;
const kAboutInput = ["segments", "paddingMask", "sourcePaddingMask", "truncate", "textPair"] as const;
/** Of another run of an input. */
const kAgain = Object.fromEntries(
  Object.entries(kAttend).filter(([name]) => !(kAboutInput as readonly string[]).includes(name)),
) as Omit<typeof kAttend, (typeof kAboutInput)[number]>;

/** The options of the calls that can be followed, and how each travels. */
export const kFollowed = {
  loadModel: { ...kFollowing, keep: "json" } as const satisfies Named<LoadModelOptions>,
  attend: kAttend satisfies Named<AttendOptions & Following>,
  again: kAgain,
  rankHeads: { ...rankOptions, ...kFollowing } satisfies Named<RankOptions>,
  paths: { ...pathsOptions, ...kFollowing } satisfies Named<PathsOptions>,
} as const;
export type FollowedCaller = keyof typeof kFollowed;
type Named<T> = Readonly<Record<keyof Required<T>, string>>;

export const kLoad = {
  simd: "json", threads: "json", wasm: "json", wasmUrl: "json", worker: "json", prefetch: "json",
} as const satisfies Named<LoadOptions>;

const namesOf = (options: object): ReadonlySet<string> => new Set(Object.keys(options));

/** The number of letters that have to be added, removed or changed to make one word of the other (Levenshtein 1966). */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (const [i, letter] of [...a].entries()) {
    const next = [i + 1];
    for (let j = 0; j < b.length; ++j) {
      const changed = (row[j] as number) + (letter === b[j] ? 0 : 1);
      next.push(Math.min(changed, (row[j + 1] as number) + 1, (next[j] as number) + 1));
    }
    row = next;
  }
  return row.at(-1) as number;
}

/** The one name that is near: the same letters, perhaps with one or two forgotten, added or mistaken. The module does the same. */
export function nearest(name: string, known: readonly string[]): string | undefined {
  const lettersOf = (word: string): string => word.replaceAll("_", "").toLowerCase();
  const letters = lettersOf(name);
  if (letters.length > 40) return undefined;
  const near = known.map((word) => ({ word, distance: distance(letters, lettersOf(word)) }));
  const least = Math.min(...near.map((one) => one.distance));
  const all = near.filter((one) => one.distance === least);
  return least <= Math.min(2, Math.floor(letters.length / 3)) && all.length === 1 ? all[0]?.word : undefined;
}

/** Returns true when an object has a property, of its own or through its class. Properties that every object has do not count. */
function holds(object: object, name: string): boolean {
  return name in object && (Object.hasOwn(object, name) || !(name in Object.prototype));
}

/** The properties of an object of options: all that can be seen in it, and what getters of its class give, which a loop does not show. */
export function propertiesOf(options: object): [string, unknown][] {
  const names = new Set(Object.getOwnPropertyNames(options));
  for (const name in options) names.add(name);
  const above = (of: object): object | null => Object.getPrototypeOf(of) as object | null;
  for (let of = above(options); of && above(of); of = above(of)) {
    for (const [name, property] of Object.entries(Object.getOwnPropertyDescriptors(of))) if ("get" in property) names.add(name);
  }
  return [...names].filter((name) => holds(options, name)).map((name) => [name, options[name as keyof typeof options]]);
}

/** Returns true when an option, or an argument that may be left out, is absent: null, as JSON has it, is as good as undefined. */
export function isAbsent(value: unknown): value is undefined | null {
  return value === undefined || value === null;
}

/** Returns the options that are given. Throws unless it is an object whose every key is one of `known`. */
export function presentOptions(caller: string, options: unknown, known: ReadonlySet<string>): [string, unknown][] {
  if (isAbsent(options)) return [];
  const present = reading(`${caller}: options`, () => {
    // The options in a Map or a promise would not be seen.
    if (Object.prototype.toString.call(options) !== "[object Object]") {
      throw within(caller, wrong("option", "options", show(options), "an object", "are"));
    }
    return propertiesOf(options).filter(([, value]) => !isAbsent(value));
  });
  for (const [name] of present) {
    if (known.has(name)) continue;
    const names = [...known], near = nearest(name, names);
    const expected = near === undefined ? `, expected one of ${names.join(", ")}` : `; did you mean ${near}? Expected one of ${names.join(", ")}`;
    throw new HeadlensError("option", `${caller}: unknown option ${show(name)}${expected}`, { argument: name, expected: near ?? names.join(", ") });
  }
  return present;
}

/** The same, as an object. */
export function checkKnown<O>(caller: string, options: unknown, known: ReadonlySet<string>): Read<O> {
  return Object.fromEntries(presentOptions(caller, options, known)) as Read<O>;
}

/** The options of `load`. */
export function checkLoad(options: unknown): Read<LoadOptions> {
  return checkKnown<LoadOptions>("load", options, namesOf(kLoad));
}

/** The options of a call that can be followed. */
export function checkFollowed<O>(caller: FollowedCaller, given: unknown): Read<O> & Following {
  const options = checkKnown<O & Following>(caller, given, namesOf(kFollowed[caller]));
  const { signal, onProgress } = options;
  if (signal !== undefined && !(signal instanceof AbortSignal)) {
    throw within(caller, wrong("option", "signal", show(signal), "an AbortSignal"));
  }
  if (onProgress !== undefined && typeof onProgress !== "function") {
    throw within(caller, wrong("option", "onProgress", show(onProgress), "a function"));
  }
  return options;
}

/** Throws when the call's signal says so. */
export function checkAborted(caller: string, { signal }: Following): void {
  if (signal?.aborted) throw new HeadlensError("aborted", `${caller} was aborted by its signal`);
}
