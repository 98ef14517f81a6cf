// SPDX-License-Identifier: Apache-2.0
/**
 * Runs the documentation: every @example of the public types, and the READMEs' JavaScript, with the built package. A
 * line `expression // → value` shows a result, with numbers rounded to the digits shown. Every example of a type can
 * use `engine`.
 */
import { readdirSync, readFileSync } from "node:fs";
import * as headlens from "headlens";
import ts from "typescript";
import { describe, expect, test } from "vitest";
import { kRoot } from "./support.js";

interface Example {
  readonly name: string;
  readonly code: string;
}

/** Public functions that need no example, since every object has them. */
const kCommon = ["dispose"];

function commentText(comment: ts.JSDocTag["comment"]): string {
  return typeof comment === "string" ? comment : ts.getTextOfJSDocComment(comment) ?? "";
}

function examplesOf(node: ts.Node): string[] {
  const examples = ts.getJSDocTags(node).filter(({ tagName }) => tagName.text === "example");
  return examples.map(({ comment }) => commentText(comment));
}

function isExported({ modifiers }: ts.InterfaceDeclaration | ts.FunctionDeclaration): boolean {
  return modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) ?? false;
}

/** The exported functions, and those of the exported interfaces, with overloads together and with their examples. */
function functionsOf(file: string): Map<string, string[]> {
  const text = readFileSync(`${kRoot}wasm/src/${file}`, "utf8");
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const found = new Map<string, string[]>();
  for (const made of source.statements.filter(ts.isFunctionDeclaration)) {
    if (isExported(made)) found.set(made.name?.text ?? "", examplesOf(made));
  }
  for (const type of source.statements.filter(ts.isInterfaceDeclaration)) {
    if (!isExported(type)) continue;
    if (type.name.text.startsWith("Async")) continue; // the same functions, through a worker
    for (const member of type.members) {
      if (!ts.isMethodSignature(member) && !ts.isCallSignatureDeclaration(member)) continue;
      const name = member.name?.getText() ?? "()";
      if (kCommon.includes(name)) continue;
      const key = `${type.name.text}.${name}`;
      found.set(key, [...found.get(key) ?? [], ...examplesOf(member)]);
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
    // eslint-disable-next-line @typescript-eslint/no-implied-eval -- our own documentation
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
