// SPDX-License-Identifier: Apache-2.0
/**
 * headlens against onnxruntime on one thread: the wasm builds against onnxruntime-web, the native library against onnxruntime-node.
 * Every contestant's results are checked first. Then rounds: in each, all contestants of a row take their turn, so what the machine does
 * meanwhile meets them all; a ratio is the median of the rounds' own ratios. run.mjs installs the peers and starts this.
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { cpus, loadavg } from "node:os";
import { dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { native, ours, peers, reference } from "./contestants.mjs";
import { dataOf, operations, workloads } from "./workloads.mjs";

const root = fileURLToPath(new URL("../..", import.meta.url));
const kEpsilon = 2 ** -23;
const kTurnSeconds = 0.03;

const sorted = (values) => [...values].sort((a, b) => a - b);
const quantile = (values, q) => sorted(values)[Math.round(q * (values.length - 1))];
const median = (values) => quantile(values, 0.5);
const quartiles = (values) => [quantile(values, 0.25), quantile(values, 0.75)];
const maxNorm = (values) => values.reduce((norm, value) => Math.max(norm, Math.abs(value)), 0);

/** Each result is a sum of D products, each rounded: within D·ε of the largest. */
function check(contestant, expected, { workload }) {
  const got = contestant.result();
  for (const key of ["output", "maps"]) {
    if (!expected[key]) continue;
    const tolerance = workload.width * kEpsilon * maxNorm(expected[key]);
    const worst = expected[key].reduce((most, value, i) => Math.max(most, Math.abs(value - (got[key]?.[i] ?? NaN))), 0);
    if (!(worst <= tolerance)) throw new Error(`${contestant.name} ${contestant.variant ?? ""}: ${key} is off by ${worst}, at most ${tolerance}`);
  }
}

/** The variant that is fastest here and now; the others are closed. */
async function fastest(variants, calls) {
  const times = variants.map(() => []);
  for (let round = 0; round < 7; ++round) {
    for (const [i, variant] of variants.entries()) times[i].push(await variant.round(calls));
  }
  const best = variants[times.map(median).reduce((at, time, i, all) => (time < all[at] ? i : at), 0)];
  for (const variant of variants) if (variant !== best) await variant.close();
  return best;
}

async function measure(contestants, rounds, calls) {
  const times = contestants.map(() => []);
  for (let round = 0; round < rounds; ++round) {
    // Every round in the other direction: nobody always comes after the same one.
    const order = [...contestants.keys()];
    if (round % 2) order.reverse();
    for (const i of order) times[i].push(await contestants[i].round(calls));
  }
  return times;
}

function rowsOf(contestants, times, job) {
  const peer = times.at(-1);
  return contestants.map(({ name, variant }, i) => {
    const ratios = peer.map((time, round) => time / times[i][round]);
    return {
      workload: job.workload.name, maps: job.maps, name, variant, rounds: times[i].length,
      seconds: median(times[i]), min: Math.min(...times[i]), quartiles: quartiles(times[i]),
      gflops: operations(job.workload) / median(times[i]) / 1e9,
      ratio: median(ratios), ratio_quartiles: quartiles(ratios),
    };
  });
}

/** One group of contestants on one workload; the peer comes last. */
async function compare(kind, job, rounds) {
  const expected = reference(job);
  const variants = await peers(kind, job);
  for (const variant of variants) check(variant, expected, job);
  const calls = Math.max(1, Math.ceil(kTurnSeconds / (await variants[0].round(3))));
  const peer = await fastest(variants, calls);
  const own = kind === "onnxruntime-web" ? [await ours("baseline", job), await ours("relaxed", job)] : [await native(job)];
  for (const contestant of own) check(contestant, expected, job);
  const contestants = [...own, peer];
  const rows = rowsOf(contestants, await measure(contestants, rounds, calls), job);
  const limit = await own[0].limit?.();
  for (const contestant of contestants) await contestant.close();
  return { rows, limit };
}

const percent = (value) => `${(100 * value).toFixed(0)} %`;
const milliseconds = (seconds) => (seconds * 1000).toFixed(seconds < 1e-3 ? 4 : 2);

function print(rows) {
  const head = ["workload", "maps", "contestant", "median ms", "min ms", "middle half ms", "GFLOP/s", "times the peer's speed"];
  const body = rows.map((row) => [
    row.workload, row.maps ? "yes" : "no", row.variant ? `${row.name} (${row.variant})` : row.name, milliseconds(row.seconds),
    milliseconds(row.min), row.quartiles.map(milliseconds).join("–"), row.gflops.toFixed(1),
    row.variant ? "1" : `${row.ratio.toFixed(2)} (${row.ratio_quartiles.map((q) => q.toFixed(2)).join("–")})`,
  ]);
  const widths = head.map((_, i) => Math.max(...[head, ...body].map((line) => line[i].length)));
  const line = (cells) => console.log(`| ${cells.map((cell, i) => cell.padEnd(widths[i])).join(" | ")} |`);
  line(head);
  line(widths.map((width) => "-".repeat(width)));
  body.forEach(line);
}

const command = (program, ...args) => spawnSync(program, args, { cwd: root, encoding: "utf8" }).stdout?.trim() ?? "";
const versionOf = (name) =>
  JSON.parse(readFileSync(new URL(`node_modules/${name}/package.json`, import.meta.url), "utf8")).version;

function context(load, limits) {
  return {
    date: new Date().toISOString(), cpu: cpus()[0].model, cpus: cpus().length, threads: 1,
    load_before: load, load_after: loadavg(),
    node: process.versions.node, v8: process.versions.v8, commit: command("git", "rev-parse", "HEAD"),
    modified: command("git", "status", "--porcelain", "--untracked-files=no") !== "",
    headlens: JSON.parse(command("build/native/headlens", "info", "--json")),
    peers: Object.fromEntries(["onnxruntime-node", "onnxruntime-web"].map((name) => [name, versionOf(name)])),
    native_multiply_add_limit_gflops: limits.length ? median(limits) : undefined,
  };
}

const { values: options } = parseArgs({
  options: {
    rounds: { type: "string", default: "31" },
    filter: { type: "string", default: "" },
    out: { type: "string", default: "build/bench/peers.json" },
  },
});
const load = loadavg();
if (load[0] > 0.5) console.error(`The machine is busy (load ${load[0].toFixed(1)}): ratios hold roughly, times do not.`);
const rows = [];
const limits = [];
for (const kind of ["onnxruntime-web", "onnxruntime-node"]) {
  for (const workload of workloads.filter(({ name }) => name.includes(options.filter))) {
    for (const maps of [true, false]) {
      console.error(`${kind}: ${workload.name} ${maps ? "with" : "without"} maps`);
      const compared = await compare(kind, { workload, data: dataOf(workload), maps }, Number(options.rounds));
      rows.push(...compared.rows);
      if (compared.limit) limits.push(compared.limit);
    }
  }
}
const about = context(load, limits);
print(rows);
if (limits.length) {
  const best = rows.find((row) => row.name === "headlens native" && row.maps);
  console.log(`\nmultiply-add limit of one thread ${median(limits).toFixed(0)} GFLOP/s (${about.headlens.simd_target}); ` +
    `${best.workload} with maps reaches ${percent(best.gflops / median(limits))} of it natively`);
}
const out = resolve(root, options.out);
mkdirSync(dirname(out), { recursive: true });
writeFileSync(out, `${JSON.stringify({ context: about, rows }, null, 2)}\n`);
console.log(`written to ${options.out}`);
