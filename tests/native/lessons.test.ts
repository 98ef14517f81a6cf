// SPDX-License-Identifier: Apache-2.0
/**
 * The code beside each lesson of the book is run, and prints the same numbers in JavaScript, in C++ and in PyTorch.
 * PyTorch's are those that tests/golden/make_lessons.py wrote.
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { expect, test } from "vitest";
import { kRoot } from "../compare.js";

const kExamples = join(kRoot, "build/native/headlens_lessons");

const kGolden = join(kRoot, "tests/golden/lessons");
const golden = Object.fromEntries(readdirSync(kGolden).map((file) =>
  [basename(file, ".json"), JSON.parse(readFileSync(join(kGolden, file), "utf8")) as { sha256: string; printed: string[] }]));

/** All numbers in a text, in order. True and false count as 1 and 0. */
const numbersIn = (text: string): number[] =>
  [...text.matchAll(/-?\d+(\.\d+)?(e[+-]?\d+)?|\btrue\b|\bfalse\b/gi)].map(([word]) =>
    /^[tf]/i.test(word) ? Number(/^t/i.test(word)) : Number(word));

const folders = readdirSync(join(kRoot, "web/learn/chapters"), { recursive: true, encoding: "utf8" })
  .filter((path) => basename(path) === "lesson.ts").map((path) => join("web/learn/chapters", dirname(path))).sort();
if (!existsSync(kExamples)) throw new Error(`${kExamples} is not there: cmake --build --preset native`);
const inCpp = Object.fromEntries(execFileSync(kExamples, { cwd: kRoot, encoding: "utf8" }).split("\n== ").slice(1).map((part) => {
  const [name = "", ...lines] = part.split("\n");
  return [name, lines.join("\n")];
}));

test("every lesson has code in three languages, and its PyTorch code is the one that was run", () => {
  expect(folders.length).toBeGreaterThan(0);
  expect(Object.keys(golden).sort()).toEqual(folders.map((folder) => basename(folder)).sort());
  for (const folder of folders) {
    for (const type of ["js", "cc", "py"]) expect(existsSync(join(kRoot, folder, `example.${type}`)), folder).toBe(true);
    const bytes = readFileSync(join(kRoot, folder, "example.py"));
    expect(createHash("sha256").update(bytes).digest("hex"), `${folder}: run tests/golden/make_lessons.py`).toBe(golden[basename(folder)]?.sha256);
  }
});

test.each(folders)("%s: JavaScript and C++ print what PyTorch prints", (folder) => {
  const expected = numbersIn(golden[basename(folder)]?.printed.join("\n") ?? "");
  const javascript = execFileSync(process.execPath, [join(kRoot, folder, "example.js")], { cwd: kRoot, encoding: "utf8" });
  expect(expected.length).toBeGreaterThan(0);
  for (const [language, printed] of [["JavaScript", javascript], ["C++", inCpp[basename(folder)] ?? ""]] as const) {
    const numbers = numbersIn(printed);
    expect(numbers.length, `${language}:\n${printed}`).toBe(expected.length);
    // Examples print six digits or more.
    for (const [index, value] of expected.entries())
      expect(Math.abs((numbers[index] ?? NaN) - value), `${language}, number ${index}`).toBeLessThanOrEqual(2e-5 * Math.max(1, Math.abs(value)));
  }
});
