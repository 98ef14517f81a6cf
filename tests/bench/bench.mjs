// SPDX-License-Identifier: Apache-2.0
/**
 * npm run bench: measures the workloads in Node, in Chromium and natively, and compares them with other engines.
 * run.mjs installs the peers and starts this file.
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { loadavg } from "node:os";
import { dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { openChromium } from "./chromium.mjs";
import { ours } from "./contestants.mjs";
import { benchmarks, context } from "./google-benchmark.mjs";
import { compare, median } from "./measure.mjs";
import { kProgram, native } from "./native.mjs";
import { nodeHost } from "./node-host.mjs";
import { kHelp, kPeers, readOptions, UsageError } from "./options.mjs";
import { reportOf } from "./report.mjs";
import { bytes, operations, sweeps, workloads } from "./workloads.mjs";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** The places where rows are measured: each is { measure(row, peers), version?, close?() }. */
const places = {
  async node(options) {
    const host = nodeHost(options.threads);
    const makers = options.simd.map((simd) => (job) => ours(simd, job, host));
    return { measure: (row, peers) => compare(row, makers, peers, options, host) };
  },
  async chromium(options) {
    const { version, measure, close } = await openChromium();
    const { rounds, seconds, simd, threads } = options;
    return { version, close, measure: (row, peers) => measure(row.name, { rounds, seconds, simd, threads, peers }) };
  },
  async native(options) {
    const host = nodeHost(options.threads);
    return { measure: (row, peers) => compare(row, [(job) => native(job, options.native)], peers, options, host) };
  },
};

/** Measures the peak memory in a process of its own; the native engine is in one already. */
function peakOf({ workload, in: place, threads, name, variant = "" }) {
  if (place === "chromium" || name === "headlens native") return undefined;
  const peak = fileURLToPath(new URL("peak.mjs", import.meta.url));
  const { stdout, status } = spawnSync(process.execPath, [peak, String(threads), workload, name, variant], { encoding: "utf8" });
  return status === 0 ? Number(stdout) : undefined;
}

/** The limit of each round, as ratios are those of each round. */
function limitOf(limits, threads, gflops) {
  if (limits.length === 0) return {};
  const each = gflops.map((speed, round) => speed / (limits[round] * threads));
  return { limit_gflops: median(limits) * threads, limit_percent: 100 * median(each) };
}

function completed(row, place, result, options) {
  const { limits, ...measured } = result;
  const gflops = (seconds) => operations(row) / seconds / 1e9;
  const full = {
    workload: row.name, in: place, threads: options.threads, ...measured, gflops: gflops(result.seconds),
    gbps: bytes(row) ? bytes(row) / result.seconds / 1e9 : undefined,
    ...limitOf(limits, options.threads, result.times.map(gflops)),
  };
  const peak = options.memory ? peakOf(full) : undefined;
  return peak === undefined ? full : { ...full, peak_bytes: peak };
}

const milliseconds = (seconds) => (seconds * 1000).toPrecision(3);

function print(row) {
  const cells = [
    (row.variant ? `${row.name} (${row.variant})` : row.name).padEnd(42), `${milliseconds(row.seconds).padStart(9)} ms`,
    `least ${milliseconds(row.min)}, middle half ${row.quartiles.map(milliseconds).join("–")}`.padEnd(44),
    `${row.gflops.toFixed(1)} GFLOP/s`, row.gbps && `${row.gbps.toFixed(1)} GB/s`,
    row.limit_percent && `${row.limit_percent.toFixed(0)} % of ${row.limit_gflops.toFixed(0)}`,
    row.peak_bytes && `${(row.peak_bytes / 2 ** 20).toFixed(0)} MiB`,
    ...Object.entries(row.ratios).map(([peer, { median, quartiles: [low, high] }]) =>
      `${median.toFixed(2)} × ${peer} (${low.toFixed(2)}–${high.toFixed(2)})`),
  ];
  console.log(`  ${cells.filter(Boolean).join("  ")}`);
}

const command = (program, ...args) => spawnSync(program, args, { cwd: root, encoding: "utf8" }).stdout?.trim() ?? "";
const versionOf = (name) =>
  JSON.parse(readFileSync(new URL(`node_modules/${name}/package.json`, import.meta.url), "utf8")).version;

function surroundings(options, opened) {
  const native = JSON.parse(command(kProgram, "info", "--json"));
  return context({
    headlens_version: native.version, simd_target: options.target ?? native.simd_target, threads: options.threads,
    node: process.versions.node, v8: process.versions.v8, chromium: opened.chromium?.version,
    commit: command("git", "rev-parse", "HEAD"),
    modified: command("git", "status", "--porcelain", "--untracked-files=no") !== "",
    peers: Object.fromEntries(Object.entries(kPeers).map(([name, module]) => [name, versionOf(module)])),
  });
}

function write(path, text) {
  const out = resolve(root, path);
  mkdirSync(dirname(out), { recursive: true });
  writeFileSync(out, text);
}

async function main() {
  const options = readOptions(process.argv.slice(2));
  if (options.help) return console.log(kHelp);
  const all = [...(options.sweep ? [] : workloads), ...(options.sweep || options.report ? sweeps : [])];
  const chosen = all.filter(({ name }) => options.filter.test(name));
  if (chosen.length === 0) throw new UsageError(`--filter: matches none of ${all.map(({ name }) => name).join(" ")}`);
  const [load] = loadavg();
  if (load > 0.5) console.error(`The machine is busy (load ${load.toFixed(1)}): ratios hold roughly, times do not.`);
  const opened = {};
  for (const place of options.in) opened[place] = await places[place](options);
  const rows = [];
  const about = surroundings(options, opened);
  for (const row of chosen)
    for (const place of options.in) {
      const isSweep = row.name.startsWith("sweep/");
      const peers = options.peersIn[place].filter(() => !isSweep);
      const { results, tried } = await opened[place].measure(row, peers);
      console.log(`${row.name} in ${place}${tried.length ? ` [${tried.join("; ")}]` : ""}`);
      for (const result of results) {
        rows.push({ ...completed(row, place, result, options), tried });
        print(rows.at(-1));
      }
      // Written after each row, so that results are not lost when a later row fails.
      write(options.out, `${JSON.stringify({ context: about, benchmarks: benchmarks(rows) }, null, 2)}\n`);
      if (options.report) write(options.report, reportOf(about, rows));
    }
  for (const place of Object.values(opened)) await place.close?.();
  console.log(`written to ${[options.out, options.report].filter(Boolean).join(" and ")}`);
}

try {
  await main();
  process.exit(0);  // ends the threads that a peer keeps
} catch (error) {
  console.error(error instanceof UsageError ? `npm run bench: ${error.message}` : error);
  process.exit(error instanceof UsageError ? 2 : 1);
}
