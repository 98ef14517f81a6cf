// SPDX-License-Identifier: Apache-2.0
/**
 * The C++ examples of the READMEs are those that the consumer project builds and runs, and the READMEs' commands do
 * what they say.
 */
import { spawnSync } from "node:child_process";
import { readFileSync, symlinkSync } from "node:fs";
import { delimiter, dirname } from "node:path";
import { describe, expect, test } from "vitest";
import { kRoot } from "../compare.js";
import { kProgram, temporaryFolder } from "./support.js";

/** The text of each block of a README in this language. */
function blocksOf(readme: string, language: string): string[] {
  const text = readFileSync(`${kRoot}${readme}`, "utf8");
  return [...text.matchAll(/^```(\w+)\n([^]*?)^```$/gm)].filter(([, name]) => name === language).map(([, , code = ""]) => code);
}

test.each([["README.md", 1], ["core/README.md", 3]])("every C++ example of %s stands in tests/consumer", (readme, count) => {
  const source = readFileSync(`${kRoot}tests/consumer/main.cc`, "utf8");
  const examples = blocksOf(readme, "cpp");
  expect(examples).toHaveLength(count);
  for (const example of examples) expect(source).toContain(example);
});

describe.each(["README.md", "native/README.md"])("%s", (readme) => {
  const file = temporaryFolder();
  const commands = blocksOf(readme, "sh").flatMap((code) => code.split("\n")).filter((line) => /^(headlens|echo) /.test(line));

  test("has commands", () => {
    expect(commands.length).toBeGreaterThan(3);
  });

  test("its commands work", () => {
    // A writable folder, with links to the folders of the checkout that the commands read.
    for (const folder of ["tests", "web"]) symlinkSync(`${kRoot}${folder}`, file(folder));
    const env = { ...process.env, PATH: `${dirname(kProgram)}${delimiter}${process.env.PATH}` };
    for (const command of commands) {
      const { status, stderr } = spawnSync("bash", ["-c", command], { cwd: file(""), env, encoding: "utf8", timeout: 100_000 });
      expect(status, `${command}\n${stderr}`).toBe(0);
    }
  });
});

test("the table of native/README.md is what the program prints", () => {
  const [table = "", ...none] = blocksOf("native/README.md", "text");
  expect(none).toEqual([]);
  const command = blocksOf("native/README.md", "sh").flatMap((code) => code.split("\n")).find((line) => line.endsWith("--query 6")) ?? "";
  const env = { ...process.env, PATH: `${dirname(kProgram)}${delimiter}${process.env.PATH}` };
  const { stdout } = spawnSync("bash", ["-c", command], { cwd: kRoot, env, encoding: "utf8" });
  expect(stdout.startsWith(table)).toBe(true);
});
