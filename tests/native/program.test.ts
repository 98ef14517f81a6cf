// SPDX-License-Identifier: Apache-2.0
/** The program itself: help, version, usage, info and bench. */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { kRoot } from "../compare.js";
import { fails, headlens, succeeds } from "./support.js";

const { version } = JSON.parse(readFileSync(`${kRoot}package.json`, "utf8")) as { version: string };

test("--version is the package's", () => {
  expect(succeeds(["--version"])).toBe(`headlens ${version}\n`);
});

test("--help names every command, and each command's options", () => {
  expect(succeeds(["--help"])).toMatch(/attend[^]*map[^]*explain[^]*predict[^]*compare[^]*paths[^]*tokens[^]*bench[^]*info[^]*Exit status: 0 /);
  expect(succeeds(["attend", "--help"])).toMatch(/CASE[^]*--out RESULT[^]*--backend/);
  expect(succeeds(["map", "--help"])).toMatch(/--model MODEL[^]*--tokens[^]*--theme/);
  expect(succeeds(["explain", "--help"])).toMatch(/--layer N REQUIRED[^]*--what WHAT[^]*Changes of the run:[^]*--patch LAYER\.HEAD@POSITIONS/);
  expect(succeeds(["predict", "--help"])).toMatch(/--lens[^]*--contributions TOKEN[^]*Changes of the run:[^]*--ablate LAYER\.HEAD/);
  expect(succeeds(["compare", "--help"])).toMatch(/--with-text TEXT[^]*--layer N[^]*Changes of the run:[^]*--ablate LAYER\.HEAD/);
  expect(succeeds(["paths", "--help"])).toMatch(/--layer N[^]*--rank BY[^]*Changes of the run:[^]*An induction path/);
  expect(succeeds(["bench", "--help"])).toMatch(/--filter[^]*--json/);
  expect(succeeds(["info", "--help"])).toMatch(/--json/);
});

test.each([
  [[], /subcommand is required/i],
  [["attend"], /CASE|case/],
  [["attend", "a"], /--out is required/],
  [["attend", "a", "b", "--out", "c"], /not expected/],
  [["attend", "a", "--out", "c", "--backend", "abacus"], /--backend.*abacus/],
  [["bench", "--filter", "gpt3"], /--filter is "gpt3", expected one that matches some of tutorial\/maps tutorial\/no_maps bert\/maps/],
  [["bench", "--sweep", "--filter", "bert"], /--filter is "bert", expected one that matches some of sweep\/conventions\/torch-mha/],
  [["bench", "--target", "abacus"], /target is "abacus", expected one of: /],
  [["bench", "--filter", "^tiny$", "--model", "nowhere"], /nowhere\/config.json/],
  [["bench", "--filter", "("], /--filter is "\(", expected a regular expression: /],
  [["bench", "--repetitions", "0"], /--repetitions/],
  [["bench", "--threads", "0"], /--threads/],
  [["bench", "--threads", "2", "--backend", "reference"], /--threads is 2, expected 1: the reference backend works on one thread/],
  [["attend", "a", "--out", "c", "--threads", "1000"], /--threads/],
  [["bench", "--threads", "2", "--backend", "opencl"], /--threads is 2, expected 1: the opencl backend works on one thread/],
  [["bench", "--device", "0"], /--device is "0", expected none: the simd backend has no devices/],
  [["bench", "--precision", "fp16"], /--precision is fp16, expected fp32: the simd backend has no other/],
  [["bench", "--backend", "opencl", "--precision", "fp8"], /--precision: fp8 not in \{fp32,tf32x3,fp16,bf16\}/],
  [["attend", "a", "--out", "c", "--backend", "opencl", "--device", "abacus"], /device is "abacus", expected the number or a part of the name of one of: 0 /],
  [["info", "--frobnicate"], /--frobnicate/],
] as const)("wrong usage %j: exit status 2 and one line", (args, message) => {
  fails(args, 2, message);
});

interface Info {
  version: string;
  simd_target: string;
  simd_targets: { name: string; available: boolean }[];
  backends: string[];
  opencl: { devices: Record<"name" | "vendor" | "platform" | "driver" | "version" | "type", string>[] };
}

test("info says what is there, as text and as JSON", () => {
  const info = JSON.parse(succeeds(["info", "--json"])) as Info;
  expect(info).toMatchObject({ version, backends: ["simd", "reference", "opencl"] });
  expect(info.opencl.devices.length).toBeGreaterThan(0);
  for (const device of info.opencl.devices) {
    expect(device).toMatchObject({
      version: expect.stringContaining("OpenCL") as string, extensions: expect.any(Array) as string[],
      global_memory: expect.any(Number) as number, local_memory: expect.any(Number) as number,
      largest_allocation: expect.any(Number) as number, work_group_size: expect.any(Number) as number,
    });
  }
  // The best target that the machine has is the one in use.
  expect(info.simd_targets.find(({ available }) => available)?.name).toBe(info.simd_target);
  expect(new Set(info.simd_targets.map(({ name }) => name)).size).toBe(info.simd_targets.length);
  const text = succeeds(["info"]);
  expect(text).toContain(`headlens ${version}\n`);
  expect(text).toContain(`${info.simd_target} (chosen)`);
  for (const [i, { name, type }] of info.opencl.devices.entries()) expect(text).toContain(`\n  ${i} ${name}: ${type} of `);
});

describe("without an OpenCL device", () => {
  const how = { env: { OCL_ICD_VENDORS: "/nowhere" } };
  const path = `${kRoot}tests/golden/cases/sdpa_plain.safetensors`;

  test("the backend says so in one line, and all else works", () => {
    fails(["attend", path, "--out", "/dev/null", "--backend", "opencl"], 2, /^headlens: there is no OpenCL device on this machine/, how);
    succeeds(["attend", path, "--out", "/dev/null"], how);
    expect(succeeds(["info"], how)).toContain("OpenCL: no device on this machine\n");
  });

  test("one that HEADLENS_OPENCL_DEVICE does not find is an error, too", () => {
    const named = { env: { HEADLENS_OPENCL_DEVICE: "abacus" } };
    fails(["attend", path, "--out", "/dev/null", "--backend", "opencl"], 2, /^headlens: HEADLENS_OPENCL_DEVICE is "abacus", expected/, named);
    succeeds(["attend", path, "--out", "/dev/null", "--backend", "opencl", "--device", "0"], named);
  });
});

interface Workloads {
  workloads: { name: string; kind: string }[];
  explanations: { name: string }[];
  large: { name: string }[];
  sweeps: Record<string, { values: number[] }>;
}

const kTable = JSON.parse(readFileSync(`${kRoot}native/bench/workloads.json`, "utf8")) as Workloads;
const kRows = kTable.workloads.flatMap(({ name, kind }) => kind === "layer" ? [`${name}/maps`, `${name}/no_maps`] : [name]);

interface Report {
  context: Record<string, string>;
  benchmarks: {
    name: string; run_type: string; aggregate_name?: string; real_time: number; time_unit: string; FLOPS: number;
    limit_percent: number; limit_FLOPS: number; bytes_per_second?: number; peak_bytes: number;
  }[];
}

const kQuick = ["--seconds", "0.01", "--json"];

function bench(...args: string[]): Report {
  return JSON.parse(succeeds(["bench", ...kQuick, ...args])) as Report;
}

test("bench has every workload of the table, and every point of the sweeps", () => {
  const { stderr } = headlens(["bench", "--filter", "^none$"]);
  expect(stderr.trimEnd().split(/ that matches some of /)[1]?.split(" ")).toEqual(kRows);
  const points = Object.entries(kTable.sweeps).flatMap(([varied, { values }]) => values.map((value) => `sweep/${varied}/${value}`));
  const { stderr: sweeps } = headlens(["bench", "--sweep", "--filter", "^none$"]);
  expect(sweeps.trimEnd().split(/ that matches some of /)[1]?.split(" ").sort()).toEqual(points.sort());
});

test("bench --explain has every explanation of the table, and measures those of the built-in model", () => {
  const names = kTable.explanations.map(({ name }) => name);
  const { stderr } = headlens(["bench", "--explain", "--filter", "^none$"]);
  expect(stderr.trimEnd().split(/ that matches some of /)[1]?.split(" ")).toEqual(names);
  const { benchmarks } = bench("--explain", "--filter", "/tiny/", "--repetitions", "1");
  const tiny = names.filter((name) => name.includes("/tiny/"));
  expect(benchmarks.map(({ name }) => name.replace("/simd/real_time", ""))).toEqual(tiny);
  for (const row of benchmarks) expect(row.real_time).toBeGreaterThan(0);
  const operations = (start: string): number => {
    const row = benchmarks.find(({ name }) => name.startsWith(start));
    return (row?.FLOPS ?? NaN) * (row?.real_time ?? NaN);
  };
  expect(operations("again/tiny/whole") / operations("again/tiny/last")).toBeCloseTo(4, 3);  // one of four layers
});

test("bench prints Google Benchmark's JSON, with the machine's limit and the most memory", () => {
  const report = bench("--filter", "tutorial", "--repetitions", "1");
  expect(Number(report.context.multiply_add_limit_gflops)).toBeGreaterThan(0.1);
  expect(report.context).toMatchObject({ headlens_version: version, threads: "1" });
  expect(report.benchmarks.map(({ name }) => name)).toEqual(["tutorial/maps/simd/real_time", "tutorial/no_maps/simd/real_time"]);
  const operations = 8 * 16 * 64 ** 2 + 4 * 16 ** 2 * 64;
  for (const row of report.benchmarks) {
    expect(row).toMatchObject({ run_type: "iteration", time_unit: "us" });
    expect(row.FLOPS * row.real_time / 1e6 / operations).toBeCloseTo(1, 3);
    expect(row.limit_FLOPS).toBeGreaterThan(1e8);
    expect(row.limit_percent).toBeCloseTo(row.FLOPS / row.limit_FLOPS * 100, 1);
    expect(row.peak_bytes).toBeGreaterThan(1e5);
  }
});

test("bench gives the median, the least and the spread of its repetitions", () => {
  const { benchmarks } = bench("--filter", "tutorial/maps", "--repetitions", "3");
  const repetitions = benchmarks.filter(({ run_type }) => run_type === "iteration");
  const times = repetitions.map(({ real_time }) => real_time);
  expect(times).toHaveLength(3);
  // There is one limit for the row, measured after it.
  expect(new Set(repetitions.map(({ limit_FLOPS }) => limit_FLOPS)).size).toBe(1);
  const aggregate = (name: string): number | undefined =>
    benchmarks.find(({ aggregate_name }) => aggregate_name === name)?.real_time;
  expect(aggregate("median")).toBeCloseTo(times.sort((a, b) => a - b)[1] ?? NaN, 3);
  expect(aggregate("min")).toBeCloseTo(times[0] ?? NaN, 3);
  expect(aggregate("cv")).toBeGreaterThanOrEqual(0);
});

test("bench counts what decoding reads, and half of what is causal", () => {
  const { benchmarks } = bench("--filter", "^decode$|^gqa$", "--repetitions", "1");
  const [decode, causal] = benchmarks;
  expect((decode?.bytes_per_second ?? 0) * (decode?.real_time ?? 0) / 1e6 / (2 * 12 * 4096 * 64 * 4)).toBeCloseTo(1, 3);
  expect((causal?.FLOPS ?? 0) * (causal?.real_time ?? 0) / 1e6 / (2 * 32 * 512 * 512 * 128)).toBeCloseTo(1, 3);
  expect(causal?.bytes_per_second).toBeUndefined();
});

test("bench runs maps and models, the built-in one and random ones", () => {
  const { benchmarks } = bench("--filter", "map4k|^tiny$", "--repetitions", "1");
  expect(benchmarks.map(({ name }) => name)).toEqual(["map4k/pooled", "map4k/strip", "tiny"].map((name) => `${name}/simd/real_time`));
  const elsewhere = bench("--filter", "^tiny$", "--repetitions", "1", "--model", `${kRoot}web/models/tiny`);
  expect(elsewhere.benchmarks).toHaveLength(1);
});

test("bench uses the instruction set that is named, whatever the machine's best", () => {
  const { simd_targets: targets } = JSON.parse(succeeds(["info", "--json"])) as Info;
  for (const { name, available } of targets) {
    if (!available) continue;
    const { context } = bench("--filter", "tutorial/maps", "--repetitions", "1", "--target", name);
    expect(context.simd_target).toBe(name);
  }
});

test("bench shares the work among threads, with the same results", () => {
  expect(bench("--filter", "tutorial/maps", "--repetitions", "1", "--threads", "2").context).toMatchObject({ threads: "2" });
  const look = (threads: string): string =>
    succeeds(["bench", "--paced", "--threads", threads], { input: "look bert/maps 0 127\nlook gqa 511\n" });
  expect(look("2")).toBe(look("1"));
});

test("bench measures the backend that is named, and repeats", () => {
  const { benchmarks } = bench("--filter", "tutorial/maps", "--backend", "reference", "--repetitions", "2");
  const names = benchmarks.filter(({ run_type }) => run_type === "iteration").map(({ name }) => name);
  expect(names).toEqual(["tutorial/maps/reference/real_time", "tutorial/maps/reference/real_time"]);
});

test("bench for people is a table of medians, least and spread", () => {
  const { stdout } = headlens(["bench", "--filter", "tutorial/maps", "--seconds", "0.01", "--repetitions", "2"]);
  expect(stdout).toMatch(/Benchmark +Time +CPU[^\n]*limit_percent[^\n]*\n-+\ntutorial\/maps\/simd\/real_time_mean +\d/);
  expect(stdout).toMatch(/real_time_median[^]*real_time_cv[^]*real_time_min/);
});

interface Answer {
  name?: string;
  seconds?: number[];
  output?: number[];
  maps?: number[];
  peak_bytes?: number;
  multiply_add_limit_gflops?: number;
}

test("bench takes turns with another program", () => {
  const input = "tutorial/maps 3\nlimit\ntutorial/no_maps 1\nlook tutorial/maps 0 15\nlook decode 0\nmemory\n";
  const lines = succeeds(["bench", "--paced"], { input }).trimEnd().split("\n");
  const [maps, limit, plain, look, core, memory] = lines.map((line) => JSON.parse(line) as Answer);
  expect(maps?.name).toBe("tutorial/maps");
  expect(maps?.seconds).toHaveLength(3);
  expect(maps?.seconds?.every((time) => time > 0 && time < 1)).toBe(true);
  expect(limit?.multiply_add_limit_gflops).toBeGreaterThan(0.1);
  expect(plain?.seconds).toHaveLength(1);
  expect(look?.output).toHaveLength(2 * 64);
  expect(look?.maps).toHaveLength(4 * 2 * 16);
  const row = look?.maps?.slice(0, 16) ?? [];
  expect(row.reduce((sum, weight) => sum + weight, 0)).toBeCloseTo(1, 5);
  expect(core?.output).toHaveLength(12 * 64);
  expect(memory?.peak_bytes).toBeGreaterThan(1e5);
  fails(["bench", "--paced"], 2, /the standard input says "nonsense", expected NAME COUNT/, { input: "nonsense\n" });
  fails(["bench", "--paced"], 2, /expected NAME COUNT/, { input: "tutorial/maps -1\n" });
  fails(["bench", "--paced"], 2, /a row is 16, expected 0 to 15/, { input: "look tutorial/maps 16\n" });
});

interface Described {
  name: string; kind: string; operations: number; bytes: number; tokens: number; pool: number; rows: number;
  model?: { width: number; config: Record<string, unknown> };
}

test("bench describes the rows that another program is to measure", () => {
  const describe = (...args: string[]): Described[] =>
    JSON.parse(succeeds(["bench", "--paced", ...args], { input: "rows\n" })) as Described[];
  const [decode, ...none] = describe("--filter", "^decode$");
  expect(none).toEqual([]);
  expect(decode).toMatchObject({
    name: "decode", kind: "core", operations: 4 * 12 * 4096 * 64, bytes: 4 * 2 * 12 * 4096 * 64, causal: false, maps: false,
    batch: 1, heads: 12, kv_heads: 12, queries: 1, keys: 4096, head_dim: 64,
  });
  expect(decode?.model).toBeUndefined();
  // This model is like one for shorter texts: it changes two fields, and keeps the others.
  const [map] = describe("--large", "--filter", "^map16k/pooled$");
  expect(map).toMatchObject({
    kind: "map", operations: 2 * 16384 ** 2 * 64, bytes: 0, tokens: 16384, pool: 512, rows: 16384,
    model: { layers: 1, heads: 1, width: 64, weights: "f32", config: { hidden_size: 64, max_position_embeddings: 16384 } },
  });
  expect(describe("--large")).toHaveLength(kTable.large.length);
});
