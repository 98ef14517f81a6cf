// SPDX-License-Identifier: Apache-2.0
/** Writes results in the JSON of Google Benchmark, which its compare.py and other programs read. */
import { hostname, cpus, loadavg } from "node:os";

const kMilliseconds = 1000;

/** The facts about a machine that Google Benchmark reports, and `more`. */
export function context(more) {
  return {
    date: new Date().toISOString(), host_name: hostname(), executable: "npm run bench", num_cpus: cpus().length,
    mhz_per_cpu: cpus()[0].speed, cpu_model: cpus()[0].model, cpu_scaling_enabled: false, load_avg: loadavg(),
    library_build_type: "release", ...more,
  };
}

const nameOf = ({ workload, in: place, name, variant }) => [workload, place, variant ? `${name} ${variant}` : name].join("/");

function counters(row) {
  const ratios = Object.entries(row.ratios).map(([peer, { median }]) => [`times_faster_than_${peer}`, median]);
  const all = {
    FLOPS: row.gflops * 1e9, bytes_per_second: row.gbps && row.gbps * 1e9, limit_percent: row.limit_percent,
    peak_bytes: row.peak_bytes, ...Object.fromEntries(ratios),
  };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
}

/**
 * Each round as a repetition, and the median, minimum and spread with the counters. CPU time is not measured, so it is
 * given as the real time.
 */
export function benchmarks(rows) {
  return rows.flatMap((row) => {
    const shared = { name: nameOf(row), run_name: nameOf(row), repetitions: row.times.length, threads: row.threads };
    const time = (seconds) => ({ real_time: seconds * kMilliseconds, cpu_time: seconds * kMilliseconds, time_unit: "ms" });
    const repetitions = row.times.map((seconds, repetition_index) =>
      ({ ...shared, run_type: "iteration", repetition_index, iterations: 1, ...time(seconds) }));
    const aggregate = (name, seconds, more = {}) => ({
      ...shared, name: `${shared.name}_${name}`, run_type: "aggregate", aggregate_name: name, aggregate_unit: "time",
      iterations: row.times.length, ...time(seconds), ...more,
    });
    const [low, high] = row.quartiles;
    return [...repetitions, aggregate("median", row.seconds, counters(row)), aggregate("min", row.min),
      aggregate("interquartile_range", high - low)];
  });
}
