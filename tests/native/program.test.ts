// SPDX-License-Identifier: Apache-2.0
/** The program itself: help, version, usage, info and bench. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { kRoot } from "../compare.js";
import { fails, headlens, succeeds } from "./support.js";

const { version } = JSON.parse(readFileSync(`${kRoot}package.json`, "utf8")) as { version: string };

test("--version is the package's", () => {
  expect(succeeds(["--version"])).toBe(`headlens ${version}\n`);
});

test("--help names every command, and each command's options", () => {
  expect(succeeds(["--help"])).toMatch(/attend[^]*map[^]*tokens[^]*bench[^]*info[^]*Exit status: 0 /);
  expect(succeeds(["attend", "--help"])).toMatch(/CASE[^]*--out RESULT[^]*--backend/);
  expect(succeeds(["map", "--help"])).toMatch(/--model DIR[^]*--tokens[^]*--theme/);
  expect(succeeds(["bench", "--help"])).toMatch(/--filter[^]*--json/);
  expect(succeeds(["info", "--help"])).toMatch(/--json/);
});

test.each([
  [[], /subcommand is required/i],
  [["attend"], /CASE|case/],
  [["attend", "a"], /--out is required/],
  [["attend", "a", "b", "--out", "c"], /not expected/],
  [["attend", "a", "--out", "c", "--backend", "abacus"], /--backend.*abacus/],
  [["bench", "--filter", "gpt"], /--filter gpt: matches none of bert\/maps/],
  [["bench", "--filter", "("], /--filter: not a regular expression/],
  [["bench", "--repetitions", "0"], /--repetitions/],
  [["info", "--frobnicate"], /--frobnicate/],
] as const)("wrong usage %j: exit status 2 and one line", (args, message) => {
  fails(args, 2, message);
});

interface Info {
  version: string;
  simd_target: string;
  simd_targets: { name: string; available: boolean }[];
  backends: string[];
  opencl: null;
}

test("info says what is there, as text and as JSON", () => {
  const info = JSON.parse(succeeds(["info", "--json"])) as Info;
  expect(info).toMatchObject({ version, backends: ["simd", "reference"], opencl: null });
  // The best that the machine has is the one that is used.
  expect(info.simd_targets.find(({ available }) => available)?.name).toBe(info.simd_target);
  expect(new Set(info.simd_targets.map(({ name }) => name)).size).toBe(info.simd_targets.length);
  const text = succeeds(["info"]);
  expect(text).toContain(`headlens ${version}\n`);
  expect(text).toContain(`${info.simd_target} (chosen)`);
  expect(text).toContain("OpenCL: not in this build\n");
});

interface Report {
  context: Record<string, string>;
  benchmarks: {
    name: string; run_type: string; cpu_time: number; time_unit: string; FLOPS: number; limit_percent: number;
  }[];
}

test("bench prints Google Benchmark's JSON, with the machine's limit", () => {
  const report = JSON.parse(succeeds(["bench", "--filter", "tutorial", "--json", "--seconds", "0.02"])) as Report;
  const limit = Number(report.context.multiply_add_limit_gflops);
  expect(limit).toBeGreaterThan(0.1);
  expect(report.context).toMatchObject({ headlens_version: version, threads: "1" });
  expect(report.benchmarks.map(({ name }) => name)).toEqual(["tutorial/maps/simd", "tutorial/no_maps/simd"]);
  const operations = 8 * 16 * 64 ** 2 + 4 * 16 ** 2 * 64;
  for (const row of report.benchmarks) {
    expect(row).toMatchObject({ run_type: "iteration", time_unit: "us" });
    expect(row.FLOPS).toBeCloseTo(operations / row.cpu_time * 1e6, -5);
    expect(row.limit_percent).toBeCloseTo(row.FLOPS / limit * 1e-7, 1);
    expect(row.limit_percent).toBeLessThan(110);
  }
});

test("bench measures the backend that is named, and repeats", () => {
  const args = ["bench", "--filter", "tutorial/maps", "--backend", "reference", "--repetitions", "2", "--seconds", "0.01", "--json"];
  const { benchmarks } = JSON.parse(succeeds(args)) as Report;
  const names = benchmarks.filter(({ run_type }) => run_type === "iteration").map(({ name }) => name);
  expect(names).toEqual(["tutorial/maps/reference", "tutorial/maps/reference"]);
});

test("bench for people is a table", () => {
  const { stdout } = headlens(["bench", "--filter", "tutorial/maps", "--seconds", "0.01"]);
  expect(stdout).toMatch(/Benchmark +Time +CPU[^\n]*limit_percent\n-+\ntutorial\/maps\/simd +\d/);
});

interface Answer {
  name?: string;
  seconds?: number[];
  multiply_add_limit_gflops?: number;
}

test("bench takes turns with another program", () => {
  const lines = succeeds(["bench", "--paced"], { input: "tutorial/maps 3\nlimit\ntutorial/no_maps 1\n" }).trimEnd().split("\n");
  const [maps, limit, plain] = lines.map((line) => JSON.parse(line) as Answer);
  expect(maps?.name).toBe("tutorial/maps");
  expect(maps?.seconds).toHaveLength(3);
  expect(maps?.seconds?.every((time) => time > 0 && time < 1)).toBe(true);
  expect(limit?.multiply_add_limit_gflops).toBeGreaterThan(0.1);
  expect(plain?.seconds).toHaveLength(1);
  fails(["bench", "--paced"], 2, /expected NAME COUNT, got "nonsense"/, { input: "nonsense\n" });
  fails(["bench", "--paced"], 2, /expected NAME COUNT/, { input: "tutorial/maps -1\n" });
});
