// SPDX-License-Identifier: Apache-2.0
/**
 * npm run bench: its command line, its formats, and that it runs the same workloads as `headlens bench`. No peer is
 * run, and no time is checked.
 */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { kRoot } from "../compare.js";
import { fails, headlens, succeeds, temporaryFolder } from "./support.js";

interface Row {
  name: string;
  kind: string;
}

interface Options {
  in: string[];
  filter: RegExp;
  threads: number;
  memory: boolean;
  peersIn: Record<string, string[]>;
  native: string[];
}

interface Result {
  workload: string; in: string; name: string; variant?: string; threads: number; seconds: number; min: number;
  quartiles: number[];
  times: number[]; ratios: Record<string, { median: number; quartiles: number[] }>; gflops: number; gbps?: number;
  limit_gflops?: number; limit_percent?: number; peak_bytes?: number; tried: string[];
}

// These files are plain JavaScript, so that pages can import them unchanged.
const module = async <T>(name: string): Promise<T> => await import(`${kRoot}tests/bench/${name}.mjs`) as T;
interface Tensor {
  data: Float32Array;
  shape: number[];
}
const { everyRow, workloads, sweeps, operations, bytes, dataOf, pickRows } = await module<{
  everyRow: Row[];
  workloads: Row[];
  sweeps: Row[];
  operations: (row: Row) => number;
  bytes: (row: Row) => number;
  dataOf: (row: Row) => Record<string, Tensor>;
  pickRows: (tensor: Tensor, rows: number[]) => Tensor;
}>("workloads");
const { readOptions, kHelp } = await module<{ readOptions: (args: string[]) => Options; kHelp: string }>("options");
const { benchmarks } = await module<{ benchmarks: (rows: Result[]) => Record<string, unknown>[] }>("google-benchmark");
const { reportOf } = await module<{ reportOf: (about: object, rows: Result[]) => string }>("report");
interface Measured {
  name: string;
  times: number[];
  limits: number[];
}
type Maker = (job: unknown) => Promise<unknown>;
const { compare } = await module<{
  compare: (row: Row, makers: Maker[], peers: string[], effort: { rounds: number; seconds: number }, host: unknown) =>
    Promise<{ results: Measured[] }>;
}>("measure");
const { native } = await module<{ native: Maker }>("native");
const { ours } = await module<{ ours: (simd: string, job: unknown, host: unknown) => Promise<unknown> }>("contestants");
const { nodeHost } = await module<{ nodeHost: (threads: number) => unknown }>("node-host");

test("both programs have the same rows", () => {
  const namesOf = (...args: string[]): string[] =>
    headlens(["bench", "--filter", "^none$", ...args]).stderr.trimEnd().split(/matches some of /)[1]?.split(" ") ?? [];
  expect(workloads.map(({ name }) => name)).toEqual(namesOf());
  expect(sweeps.map(({ name }) => name).sort()).toEqual(namesOf("--sweep").sort());
});

test("both programs count the same operations and bytes", () => {
  const args = ["bench", "--json", "--seconds", "0.001", "--repetitions", "1", "--filter", "tutorial|^decode|^tiny|strip"];
  const { benchmarks: rows } = JSON.parse(succeeds(args)) as {
    benchmarks: { name: string; real_time: number; FLOPS: number; bytes_per_second?: number }[];
  };
  expect(rows).toHaveLength(7);
  for (const row of rows) {
    const ours = workloads.find(({ name }) => row.name === `${name}/simd/real_time`);
    if (!ours) throw new Error(row.name);
    expect(row.FLOPS * row.real_time / 1e6 / operations(ours)).toBeCloseTo(1, 5);
    expect((row.bytes_per_second ?? 0) * row.real_time / 1e6 / (bytes(ours) || 1)).toBeCloseTo(bytes(ours) ? 1 : 0, 5);
  }
});

test("on a device: what moves is counted apart, and the limits are its own", () => {
  const args = ["bench", "--backend", "opencl", "--json", "--seconds", "0.001", "--repetitions", "1"];
  const { context, benchmarks: rows } = JSON.parse(succeeds([...args, "--filter", "^tutorial/maps|^decode$|^tiny$"])) as {
    context: { multiply_add_limit_gflops: string; copy_limit_gbps: string };
    benchmarks: {
      name: string; transfer_bytes: number; transfer_us: number; limit_percent: number; copy_limit_percent?: number;
    }[];
  };
  expect(rows.map(({ name }) => name)).toEqual(["tutorial/maps", "decode", "tiny"].map((name) => `${name}/opencl/manual_time`));
  expect(Number(context.multiply_add_limit_gflops)).toBeGreaterThan(0);
  expect(Number(context.copy_limit_gbps)).toBeGreaterThan(0);
  // Only results are copied back. Inputs and parameters are on the device already, and values between a model's layers
  // stay there. A few numbers that control the kernels are added.
  const results = [4 * (16 * 64 + 4 * 16 * 16), 4 * 12 * 64, 4 * 4 * 8 * 64 * 64];
  for (const [i, row] of rows.entries()) {
    expect(row.transfer_bytes).toBeGreaterThanOrEqual(results[i] ?? NaN);
    expect(row.transfer_bytes).toBeLessThan((results[i] ?? NaN) + 8192);
    expect(row.transfer_us).toBeGreaterThan(0);
    expect(row.limit_percent).toBeGreaterThan(0);
  }
  expect(rows[1]?.copy_limit_percent).toBeGreaterThan(0);
});

test("large rows are those of the table", () => {
  const names = headlens(["bench", "--large", "--filter", "^none$"]).stderr.trimEnd().split(/matches some of /)[1]?.split(" ");
  const { large } = JSON.parse(readFileSync(`${kRoot}native/bench/workloads.json`, "utf8")) as { large: Row[] };
  expect(names).toEqual(large.map(({ name }) => name));
});

/** softmax(q kᵀ / √d) v for one query, in double precision. */
function attend(q: Float32Array, k: Float32Array, v: Float32Array): number[] {
  const d = q.length;
  const scores = Array.from({ length: k.length / d }, (_, s) =>
    q.reduce((sum, value, i) => sum + value * (k[s * d + i] ?? NaN), 0) / Math.sqrt(d));
  const most = Math.max(...scores);
  const weights = scores.map((score) => Math.exp(score - most));
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const blend = (i: number): number => weights.reduce((sum, weight, s) => sum + weight * (v[s * d + i] ?? NaN), 0);
  return Array.from({ length: d }, (_, i) => blend(i) / total);
}

test("both programs have the same numbers: the native result is that of the numbers here", () => {
  const row = workloads.find(({ name }) => name === "decode");
  if (!row) throw new Error("there is no row decode");
  const { q, k, v } = dataOf(row);
  if (!q || !k || !v) throw new Error("there are no q, k and v");
  const answer = succeeds(["bench", "--paced", "--filter", "^decode$"], { input: "look decode 0\n" });
  const { output } = JSON.parse(answer) as { output: number[] };
  const heads = 12, d = 64, keys = 4096;
  for (let head = 0; head < heads; ++head) {
    const of = (values: Float32Array, length: number): Float32Array =>
      values.subarray(head * length * d, (head + 1) * length * d);
    const expected = attend(of(q.data, 1), of(k.data, keys), of(v.data, keys));
    expected.forEach((value, i) => { expect(output[head * d + i]).toBeCloseTo(value, 5); });
  }
});

const inFolder = temporaryFolder();

// All competing kernels are compiled, each twice, as the cache wants their binaries; without optimisation, which would
// take three times as long.
test("a device is tuned once, for every later run on it", { timeout: 300_000 }, () => {
  const how = { env: { XDG_CACHE_HOME: inFolder("cache"), HEADLENS_OPENCL_DEVICE: "0", POCL_EXTRA_BUILD_FLAGS: "-cl-opt-disable" }, timeout: 290_000 };
  const tuned = (): boolean | undefined =>
    (JSON.parse(succeeds(["info", "--json"], how)) as { opencl: { devices: { tuned: boolean }[] } }).opencl.devices[0]?.tuned;
  expect(tuned()).toBe(false);
  const [, , ...rows] = succeeds(["bench", "--tune"], how).trimEnd().split("\n");
  expect(rows.length).toBeGreaterThanOrEqual(8);
  for (const row of rows) expect(row).toMatch(/^[a-z0-9.-]+ +\d+\.\d +\d+\.\d {2}\w+ .*\d$/);
  expect(tuned()).toBe(true);
});

test("what cannot be tuned", () => {
  fails(["bench", "--tune", "--backend", "simd"], 2, /--backend is simd, expected opencl, which --tune is for/);
  fails(["bench", "--tune", "--device", "no such"], 2, /"no such"/);
  fails(["bench", "--tune", "--json"], 2, /--tune/);
});

test.each(["tutorial/maps", "decode", "map4k/pooled", "map4k/strip", "tiny"])("%s: both programs are right, and measured", async (name) => {
  const row = everyRow.find((candidate) => candidate.name === name);
  if (!row) throw new Error(`there is no row ${name}`);
  const host = nodeHost(1);
  const makers: Maker[] = [native, (job) => ours("baseline", job, host)];
  const { results } = await compare(row, makers, [], { rounds: 3, seconds: 0 }, host);
  expect(results.map((result) => result.name)).toEqual(["headlens native", "headlens wasm baseline"]);
  for (const { times, limits } of results) {
    expect(times).toHaveLength(3);
    for (const limit of limits) expect(limit).toBeGreaterThan(0);
  }
});

test("rows are picked out of every block", () => {
  const tensor = { data: Float32Array.from({ length: 12 }, (_, i) => i), shape: [2, 3, 2] };
  expect(pickRows(tensor, [0, 2])).toEqual({ data: Float32Array.of(0, 1, 4, 5, 6, 7, 10, 11), shape: [2, 2, 2] });
});

test("options of npm run bench", () => {
  expect(readOptions([])).toMatchObject({ in: ["node", "native"], threads: 1, memory: false });
  expect(readOptions(["--report"])).toMatchObject({ memory: true, report: "build/bench/report.html" });
  const { peersIn, native } = readOptions(["--in", "chromium,native", "--peers", "tfjs-wasm", "--target", "SSE4"]);
  expect(peersIn).toEqual({ chromium: ["tfjs-wasm"], native: [] });
  expect(native).toEqual(["--target", "SSE4", "--threads", "1"]);
  const names = ["--filter", "--peers", "--target", "--threads", "--sweep", "--memory", "--report", "--out"];
  for (const name of names) expect(kHelp).toContain(name);
});

test.each([
  [["--in", "moon"], /--in: "moon" is none of node, chromium, native/],
  [["--peers", "onnx"], /--peers: "onnx" is none of onnxruntime-web/],
  [["--filter", "("], /--filter: /],
  [["--rounds", "2"], /--rounds is "2", expected a number from 3 on/],
  [["--threads", "0"], /--threads is "0", expected a number from 1 on/],
  [["--frobnicate"], /--frobnicate/],
])("wrong options %j", (args, message) => {
  expect(() => readOptions(args)).toThrow(message);
});

const kHostile = '<script>alert("&")</script>';

const kResult: Result = {
  workload: `core2k${kHostile}`, in: "native", name: "headlens native", threads: 1, seconds: 0.002, min: 0.001,
  quartiles: [0.0015, 0.0025], times: [0.001, 0.002, 0.003], ratios: { "onnxruntime-node": { median: 1.5, quartiles: [1.25, 1.75] } }, gflops: 12, gbps: 3,
  limit_gflops: 100, limit_percent: 12, peak_bytes: 2 ** 20, tried: [kHostile],
};
const kPeer: Result = { ...kResult, name: `onnxruntime-node${kHostile}`, variant: "operators", ratios: {}, seconds: 0.003 };

test("results in Google Benchmark's JSON: each round, and median, least and spread", () => {
  const rows = benchmarks([kResult]);
  expect(rows.slice(0, 3)).toMatchObject([0, 1, 2].map((repetition_index) =>
    ({ run_type: "iteration", repetition_index, repetitions: 3, threads: 1, real_time: repetition_index + 1, time_unit: "ms" })));
  expect(rows.slice(3).map(({ aggregate_name }) => aggregate_name)).toEqual(["median", "min", "interquartile_range"]);
  expect(rows[3]).toMatchObject({
    run_type: "aggregate", real_time: 2, FLOPS: 12e9, bytes_per_second: 3e9, limit_percent: 12, peak_bytes: 2 ** 20,
    "times_faster_than_onnxruntime-node": 1.5,
  });
});

test("the report has every figure, needs nothing from elsewhere, and escapes all that is put in", () => {
  const about = {
    cpu_model: kHostile, num_cpus: 2, load_avg: [0, 0, 0], threads: 1, simd_target: "AVX2", node: "24", v8: "13", chromium: kHostile,
    headlens_version: "0", commit: "0123456789abcdef", modified: true, peers: { "onnxruntime-node": kHostile }, date: "today",
  };
  const sweep = (size: number): Result => ({ ...kResult, workload: `sweep/tokens/${size}`, ratios: {}, tried: [] });
  const page = reportOf(about, [kResult, kPeer, sweep(16), sweep(33), sweep(16384)]);
  expect(page).not.toContain("<script");
  expect(page).toContain("core2k&lt;script&gt;alert(&quot;&amp;&quot;)&lt;/script&gt;");
  for (const text of ["2.00 ms", "1.00 ms", "12.0", "3.0 GB/s", "12 %", "1.0 MiB", "1.50 ×", "1.25–1.75", "prefers-color-scheme: dark", "viewport"])
    expect(page).toContain(text);
  expect(/<polyline points="([^"]+)"/.exec(page)?.[1]?.split(" ")).toHaveLength(3);
  expect(page).not.toMatch(/(src|href)="(?!#)|url\(|@import/);
  expect(page).not.toMatch(/NaN|undefined|Infinity|\[object/);
});
