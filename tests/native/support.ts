// SPDX-License-Identifier: Apache-2.0
/** Helpers for the tests of the command-line program: running it, and a folder for its files. */
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect } from "vitest";
import { kRoot } from "../compare.js";

/** The environment can name the program of another build, for example that with sanitizers. */
export const kProgram = process.env.HEADLENS_PROGRAM ?? `${kRoot}build/native/headlens`;

export interface Ended {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

interface How {
  readonly input?: string;
  readonly uid?: number;
  /** Variables that are added to the environment. */
  readonly env?: Readonly<Record<string, string>>;
  /** A copy of the program, for a user who may not enter the checkout. */
  readonly program?: string;
  /** The time limit in milliseconds. */
  readonly timeout?: number;
}

const kEnvironment = {
  // Under AddressSanitizer, too, an allocation that is too large shall fail as any other; it still says so in a line.
  ASAN_OPTIONS: "allocator_may_return_null=1",
  // The program shares with the C++ tests what PoCL has compiled (tests/CMakeLists.txt says how).
  POCL_CACHE_DIR: `${kRoot}build/pocl`, HOME: undefined, XDG_CACHE_HOME: undefined,
};

/** Runs the program to its end. */
export function headlens(args: readonly string[], { input = "", uid, env = {}, program = kProgram, timeout = 50_000 }: How = {}): Ended {
  if (!existsSync(kProgram)) throw new Error(`${kProgram} is not there: cmake --preset native && cmake --build --preset native`);
  const { status, signal, stdout, stderr, error } = spawnSync(program, args, {
    env: { ...process.env, ...kEnvironment, ...env },
    input, uid, encoding: "utf8", maxBuffer: 2 ** 28, timeout,
  });
  if (error ?? signal) throw new Error(`headlens ${args.join(" ")}: ${error?.message ?? signal}\n${stderr}`);
  return { status, stdout, stderr: stderr.replace(/^==\d+==WARNING: AddressSanitizer failed to allocate .*\n/m, "") };
}

/** Checks that the program succeeds and writes nothing to the standard error. Returns its output. */
export function succeeds(args: readonly string[], how?: How): string {
  const ended = headlens(args, how);
  expect(ended, args.join(" ")).toMatchObject({ status: 0, stderr: "" });
  return ended.stdout;
}

/** Checks that the program ends with `status` after one line on the standard error, which matches `message`. */
export function fails(args: readonly string[], status: 1 | 2, message: RegExp, how?: How): void {
  const ended = headlens(args, how);
  expect(ended.stderr).toMatch(/^headlens: [^\n]+\n$/);
  expect(ended.stderr).toMatch(message);
  expect(ended).toMatchObject({ status, stdout: "" });
}

/** A folder that exists while the tests of a file run. */
export function temporaryFolder(): (name: string) => string {
  let folder = "";
  beforeAll(() => { folder = mkdtempSync(join(tmpdir(), "headlens-")); });
  afterAll(() => { rmSync(folder, { recursive: true, force: true }); });
  return (name) => join(folder, name);
}
