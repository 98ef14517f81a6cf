// SPDX-License-Identifier: Apache-2.0
/**
 * The result of a run in its different forms: numbers for the table, Google Benchmark's JSON, plain text, and the part
 * of an address after #.
 */
import { bytes, kWorkloads, operations } from "./workloads.js";

/** Seconds per call: the median of the rounds, the minimum, and the bounds of the middle half. */
export interface RowResult {
  readonly name: string;
  readonly median: number;
  readonly min: number;
  readonly lower: number;
  readonly upper: number;
  readonly rounds: number;
  /** The number of calls in each round. */
  readonly calls: number;
}

export interface Result {
  /** ISO 8601, UTC. */
  readonly date: string;
  readonly browser: string;
  readonly cores: number;
  readonly version: string;
  readonly simd: string;
  readonly threads: number;
  /** GFLOP/s of multiply-adds in registers. */
  readonly limit: number;
  readonly rows: readonly RowResult[];
}

/** Rounds to four digits. Results are rounded from the start, so that they read the same from an address. */
export function rounded(value: number): number {
  return Number(value.toPrecision(4));
}

export function roundedRow({ median, min, lower, upper, ...row }: RowResult): RowResult {
  return { ...row, median: rounded(median), min: rounded(min), lower: rounded(lower), upper: rounded(upper) };
}

/** The speed that a row's time means. */
export interface Speed {
  readonly gflops: number;
  /** GB/s of keys and values that are read; undefined where arithmetic limits the speed. */
  readonly gigabytes: number | undefined;
  /** The share of the limit. */
  readonly share: number;
}

const kByName = new Map(kWorkloads.map((workload) => [workload.name, workload]));

export function speedOf({ name, median }: RowResult, limit: number): Speed {
  const workload = kByName.get(name);
  const gflops = workload ? operations(workload) / median / 1e9 : NaN;
  const read = workload ? bytes(workload) : 0;
  return { gflops, gigabytes: read > 0 ? read / median / 1e9 : undefined, share: gflops / limit };
}

/** Google Benchmark's JSON, with its names where it has any. Times are in milliseconds. */
export function toJson({ date, browser, cores, version, simd, threads, limit, rows }: Result): string {
  const context = {
    date,
    executable: "headlens /bench",
    num_cpus: cores,
    library_build_type: "release",
    browser,
    headlens_version: version,
    simd_build: simd,
    threads,
    multiply_add_limit_gflops: limit,
  };
  const benchmarks = rows.map((row) => {
    const { gflops, gigabytes, share } = speedOf(row, limit);
    return {
      name: `${row.name}_median`,
      run_name: row.name,
      run_type: "aggregate",
      aggregate_name: "median",
      aggregate_unit: "time",
      repetitions: row.rounds,
      threads,
      iterations: row.calls,
      real_time: 1000 * row.median,
      cpu_time: 1000 * row.median,
      time_unit: "ms",
      min_ms: 1000 * row.min,
      lower_quartile_ms: 1000 * row.lower,
      upper_quartile_ms: 1000 * row.upper,
      "GFLOP/s": gflops,
      ...(gigabytes !== undefined && { "GB/s": gigabytes }),
      of_limit: share,
    };
  });
  return `${JSON.stringify({ context, benchmarks }, undefined, 2)}\n`;
}

/** A number with three significant digits. */
export function digits(value: number): string {
  return value >= 100 ? value.toFixed(0) : value.toPrecision(3);
}

export function aboutOf({ date, browser, cores, version, simd, threads, limit }: Result): string[] {
  return [
    `headlens ${version}, ${simd === "relaxed" ? "relaxed SIMD" : "SIMD"}, threads: ${threads} of ${cores}`,
    `Limit: ${digits(limit)} GFLOP/s (multiply-adds in registers alone, same run)`,
    browser,
    date,
  ];
}

export function toText(result: Result): string {
  const lines = result.rows.map((row) => {
    const { gflops, gigabytes, share } = speedOf(row, result.limit);
    const arithmetic = `${digits(gflops)} GFLOP/s, ${(100 * share).toFixed(0)} %`;
    const speed = gigabytes === undefined ? arithmetic : `${digits(gigabytes)} GB/s`;
    return `${row.name.padEnd(18)} ${digits(1000 * row.median).padStart(8)} ms   ${speed}`;
  });
  return `${[...aboutOf(result), "", ...lines].join("\n")}\n`;
}

// Anybody can write an address, so every part of it is checked and unknown parts are dropped.

const kPrefix = "#result=";
const kMaxHash = 12_000;

export function toHash(result: Result): string {
  const { date, browser, cores, version, simd, threads, limit, rows } = result;
  const lists = rows.map(({ name, median, min, lower, upper, rounds, calls }) =>
    [name, median, min, lower, upper, rounds, calls]);
  const text = JSON.stringify([1, date, browser, cores, version, simd, threads, limit, lists]);
  return kPrefix + btoa(text).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
}

const isNumber = (value: unknown, most: number): value is number =>
  typeof value === "number" && value > 0 && value <= most;
const isWhole = (value: unknown, most: number): value is number => isNumber(value, most) && Number.isInteger(value);
const isLine = (value: unknown, pattern: RegExp): value is string => typeof value === "string" && pattern.test(value);
const kMaxSeconds = 1e4;
const isSeconds = (value: unknown): value is number => isNumber(value, kMaxSeconds);

function rowOf(value: unknown): RowResult | undefined {
  if (!Array.isArray(value) || value.length !== 7) return undefined;
  const [name, median, min, lower, upper, rounds, calls] = value as unknown[];
  if (typeof name !== "string" || !kByName.has(name)) return undefined;
  if (!isSeconds(median) || !isSeconds(min) || !isSeconds(lower) || !isSeconds(upper)) return undefined;
  if (!(min <= lower && lower <= median && median <= upper)) return undefined;
  if (!isWhole(rounds, 1000) || !isWhole(calls, 1e7)) return undefined;
  return { name, median, min, lower, upper, rounds, calls };
}

function decoded(hash: string): unknown {
  const base64 = hash.slice(kPrefix.length).replace(/-/g, "+").replace(/_/g, "/");
  try {
    return JSON.parse(atob(base64));
  } catch {
    return undefined;
  }
}

/**
 * Reads the result in an address. Returns null when there is none, and undefined when it is not a result of this page.
 */
export function fromHash(hash: string): Result | null | undefined {
  if (!hash.startsWith(kPrefix)) return null;
  const value = hash.length <= kMaxHash ? decoded(hash) : undefined;
  if (!Array.isArray(value) || value.length !== 9 || value[0] !== 1) return undefined;
  const [, date, browser, cores, version, simd, threads, limit, lists] = value as unknown[];
  if (!isLine(date, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)) return undefined;
  if (!isLine(browser, /^[ -~]{1,300}$/)) return undefined;
  if (!isLine(version, /^[\w.+-]{1,40}$/) || !isLine(simd, /^(baseline|relaxed)$/)) return undefined;
  if (!isWhole(cores, 4096) || !isWhole(threads, 4096) || !isNumber(limit, 1e6)) return undefined;
  if (!Array.isArray(lists) || lists.length === 0 || lists.length > kWorkloads.length) return undefined;
  const rows = lists.map(rowOf).filter((row) => row !== undefined);
  if (rows.length !== lists.length || new Set(rows.map(({ name }) => name)).size !== rows.length) return undefined;
  return { date, browser, cores, version, simd, threads, limit, rows };
}
