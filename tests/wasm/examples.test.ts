// SPDX-License-Identifier: Apache-2.0
/**
 * Runs the documentation: every @example of the public types, and the READMEs' JavaScript, with the built package. A
 * line `expression // → value` shows a result, with numbers rounded to the digits shown. Every example of a type can
 * use `engine`.
 */
import { readdirSync, readFileSync } from "node:fs";
import * as headlens from "headlens";
import { parseSync } from "oxc-parser";
import { describe, expect, test } from "vitest";
import { kRoot } from "./support.js";

interface Example {
  readonly name: string;
  readonly code: string;
}

/** Public functions that need no example, since every object has them. */
const kCommon = ["dispose"];

/** The examples of the comment that ends where only spaces come before `start`. */
function examplesBefore(text: string, start: number): string[] {
  const comment = /\/\*\*((?:(?!\*\/)[^])*)\*\/\s*$/.exec(text.slice(0, start))?.[1] ?? "";
  const tags = comment.replace(/^[ \t]*\*[ \t]?/gm, "").split(/^@/m).slice(1);
  return tags.flatMap((tag) => /^example\s+([^]*)$/.exec(tag)?.[1]?.trimEnd() ?? []);
}

/** The exported functions, and those of the exported interfaces, with overloads together and with their examples. */
function functionsOf(file: string): Map<string, string[]> {
  const text = readFileSync(`${kRoot}wasm/src/${file}`, "utf8");
  const found = new Map<string, string[]>();
  for (const exported of parseSync(file, text).program.body) {
    const made = exported.type === "ExportNamedDeclaration" ? exported.declaration : null;
    if (made?.type === "FunctionDeclaration" || made?.type === "TSDeclareFunction")
      found.set(made.id?.name ?? "", examplesBefore(text, exported.start));
    if (made?.type !== "TSInterfaceDeclaration") continue;
    if (made.id.name.startsWith("Async")) continue; // the same functions, through a worker
    for (const member of made.body.body) {
      if (member.type !== "TSMethodSignature" && member.type !== "TSCallSignatureDeclaration") continue;
      const name = member.type === "TSMethodSignature" ? text.slice(member.key.start, member.key.end) : "()";
      if (kCommon.includes(name)) continue;
      const key = `${made.id.name}.${name}`;
      found.set(key, [...found.get(key) ?? [], ...examplesBefore(text, member.start)]);
    }
  }
  return found;
}

function examplesIn(readme: string): Example[] {
  const blocks = readFileSync(`${kRoot}${readme}`, "utf8").matchAll(/^```js\n(.*?)^```$/gms);
  return [...blocks].map(([, code = ""], i) => ({ name: `${readme}, example ${i + 1}`, code }));
}

/** The value as JSON would have it, except that typed arrays become lists. */
function plainly(value: unknown): unknown {
  if (ArrayBuffer.isView(value)) return Array.from(value as Float32Array);
  if (Array.isArray(value)) return value.map(plainly);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, plainly(item)]));
}

/** The number of digits after the point in the numbers of `shown`. */
function digitsOf(shown: string): number {
  return Math.max(0, ...[...shown.matchAll(/\d\.(\d+)/g)].map(([, digits = ""]) => digits.length));
}

function rounded(value: unknown, digits: number): unknown {
  if (typeof value === "number") return Number(value.toFixed(digits)) + 0;
  if (Array.isArray(value)) return value.map((item) => rounded(item, digits));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, rounded(item, digits)]));
}

type Code = (scope: unknown, shows: (value: unknown, shown: string) => void) => Promise<void>;
const AsyncFunction = (async () => Promise.resolve()).constructor as new (...args: string[]) => Code;

/** Runs an example, and returns the number of results that it showed. */
async function run(code: string, engine?: headlens.Engine): Promise<number> {
  let count = 0;
  const shows = (value: unknown, shown: string): void => {
    // oxlint-disable-next-line typescript/no-implied-eval -- our own documentation
    const expected: unknown = (new Function(`return (${shown})`) as () => unknown)();
    const digits = digitsOf(shown);
    expect(rounded(plainly(value), digits)).toEqual(rounded(expected, digits));
    ++count;
  };
  const body = code
    .replace(/^import \{([^}]*)\} from "headlens";$/gm, "const {$1} = headlens;")
    .replace(/^(\s*)(.*?);? *\/\/ → (.*)$/gm, (_, space: string, expression: string, shown: string) =>
      `${space}shows(${expression}, ${JSON.stringify(shown)});`);
  const names = engine ? "{ headlens, engine }" : "{ headlens }";
  await new AsyncFunction(names, "shows", body)({ headlens, engine }, shows);
  return count;
}

const kTypes = readdirSync(`${kRoot}wasm/src/types`, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".ts"));
const kFiles = [...kTypes.map((name) => `types/${name}`), "files/safetensors.ts"];
const kFunctions = new Map(kFiles.flatMap((file) => [...functionsOf(file)]));

test("the functions are found", () => {
  expect(kFunctions.size).toBeGreaterThan(30);
  expect([...kFunctions.keys()]).toEqual(expect.arrayContaining(["Engine.scaledDotProductAttention", "Load.()", "readSafetensors"]));
});

describe.each([...kFunctions])("%s", (name, examples) => {
  test("has an example, which runs and shows what it says", async () => {
    expect(examples, `${name} needs an @example in its comment`).not.toEqual([]);
    for (const code of examples) {
      using engine = await headlens.load();
      expect(await run(code, engine), "results shown").toBeGreaterThan(0);
    }
  });
});

const kReadmes = ["README.md", "wasm/README.md"].map(examplesIn);

test("each README has examples", () => {
  expect(kReadmes.map((examples) => examples.length)).not.toContain(0);
});

test.each(kReadmes.flat())("$name", async ({ code }) => {
  expect(await run(code), "results shown").toBeGreaterThan(0);
});
