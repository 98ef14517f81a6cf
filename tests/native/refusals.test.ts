// SPDX-License-Identifier: Apache-2.0
/**
 * The table of refusals (tests/refusals), run by `headlens attend`: each gives one line and exit status 2, and writes
 * nothing.
 */
import { existsSync, writeFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { filled, kThemes, type Options, type RightCase, type Tensors, type WrongCase } from "../refusals.js";
import { writeSafetensors } from "../safetensors.js";
import { kRoot } from "../compare.js";
import { fails, headlens, succeeds, temporaryFolder } from "./support.js";

const inFolder = temporaryFolder();

/** Both as one JSON object. The second may be text that JavaScript's numbers cannot express. */
function merged(right: Options, wrong: Options | string): string {
  if (typeof wrong !== "string") return JSON.stringify({ ...right, ...wrong });
  const before = JSON.stringify(right).slice(0, -1);
  return before + (before === "{" ? "" : ",") + wrong.slice(1);
}

function writeCase(path: string, op: string, right: RightCase, options: string, tensors: Tensors = {}): void {
  const all = Object.entries({ ...right.parameters, ...right.inputs, ...tensors });
  const given = Object.fromEntries(all.map(([name, tensor]) => [name, filled(tensor)] as const));
  writeFileSync(path, writeSafetensors(given, { op, options }));
}

function isRefused(path: string, { code, says }: WrongCase, ...more: readonly string[]): void {
  const out = inFolder("result.safetensors");
  const { status, stdout, stderr } = headlens(["attend", path, "--out", out, ...more]);
  const begin = `headlens: ${path}${more.length > 0 ? " with --set" : ""}: ${code} error: ${says}`;
  expect(stderr.slice(0, begin.length)).toBe(begin);
  expect(stderr.indexOf("\n")).toBe(stderr.length - 1);
  expect({ status, stdout }).toEqual({ status: 2, stdout: "" });
  expect(existsSync(out)).toBe(false);
}

/** The argument NAME=VALUE of --set for each option. */
function assignments(options: Options | string): string[] {
  const given = typeof options === "string"
    ? [/^\{"(\w+)": (.*)\}$/.exec(options)?.slice(1) ?? []]
    : Object.entries(options).map(([name, value]) => [name, JSON.stringify(value)]);
  return given.flatMap(([name, value]) => ["--set", `${name}=${value}`]);
}

describe.each(kThemes)("$op, $theme", ({ op, right, wrong }) => {
  test("in a case file", () => {
    const path = inFolder("wrong.safetensors");
    for (const one of wrong) {
      writeCase(path, op, right, merged(right.options, one.options), one.tensors);
      isRefused(path, one);
    }
  });

  test("with --set, on a case file that is right", () => {
    const path = inFolder("right.safetensors");
    writeCase(path, op, right, JSON.stringify(right.options));
    succeeds(["attend", path, "--out", inFolder("right.out.safetensors")]);
    for (const one of wrong) {
      if (Object.keys(one.tensors).length === 0) isRefused(path, one, ...assignments(one.options));
    }
  });
});

test.each(["reference", "opencl"])("threads are refused where --backend %s would not use them", (backend) => {
  const path = `${kRoot}tests/golden/cases/sdpa_plain.safetensors`, out = inFolder("threads.safetensors");
  for (const args of [["attend", path, "--out", out], ["bench", "--filter", "tutorial"]]) {
    fails([...args, "--backend", backend, "--threads", "2"], 2,
      new RegExp(`^headlens: --threads is 2, expected 1: the ${backend} backend works on one thread\n$`));
  }
  expect(existsSync(out)).toBe(false);
});
