// SPDX-License-Identifier: Apache-2.0
/**
 * npm run bench: headlens against other engines on one thread: the wasm builds against onnxruntime-web, the native library against
 * onnxruntime-node. run.mjs installs the peers and starts this.
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { cpus, loadavg } from "node:os";
import { dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { ours } from "./contestants.mjs";
import { compare, median } from "./measure.mjs";
import { kProgram, native } from "./native.mjs";
import { nodeHost } from "./node-host.mjs";
import { bytes, operations, sweeps, workloads } from "./workloads.mjs";

const root = fileURLToPath(new URL("../..", import.meta.url));

const percent = (value) => `${(100 * value).toFixed(0)} %`;
const milliseconds = (seconds) => (seconds * 1000).toPrecision(3);

function printRow(row) {
  const ratio = row.ratio === undefined || row.variant
    ? "" : `${row.ratio.toFixed(2)} × (${row.ratio_quartiles.map((q) => q.toFixed(2)).join("–")})`;
  const speed = `${row.gflops.toFixed(1)} GFLOP/s${row.gbps ? `, ${row.gbps.toFixed(1)} GB/s` : ""}`;
  const name = row.variant ? `${row.name} (${row.variant})` : row.name;
  console.log(`  ${name.padEnd(42)} ${milliseconds(row.seconds).padStart(8)} ms  ${speed.padEnd(26)} ${ratio}`);
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
    headlens: JSON.parse(command(kProgram, "info", "--json")),
    peers: Object.fromEntries(["onnxruntime-node", "onnxruntime-web"].map((name) => [name, versionOf(name)])),
    native_multiply_add_limit_gflops: limits.length ? median(limits) : undefined,
  };
}

const { values: options } = parseArgs({
  options: {
    rounds: { type: "string", default: "31" },
    seconds: { type: "string", default: "6" },
    filter: { type: "string", default: "" },
    peers: { type: "string", default: "onnxruntime-web,onnxruntime-node" },
    in: { type: "string", default: "node,native" },
    sweep: { type: "boolean", default: false },
    out: { type: "string", default: "build/bench/peers.json" },
  },
});
const load = loadavg();
if (load[0] > 0.5) console.error(`The machine is busy (load ${load[0].toFixed(1)}): ratios hold roughly, times do not.`);
const filter = new RegExp(options.filter);
const chosen = (options.sweep ? sweeps : workloads).filter(({ name }) => filter.test(name));
if (chosen.length === 0) throw new Error(`--filter ${options.filter} matches none of ${workloads.map(({ name }) => name).join(" ")}`);
const groups = {
  node: { peer: "onnxruntime-web", makers: ["baseline", "relaxed"].map((simd) => (job) => ours(simd, job, nodeHost)) },
  native: { peer: "onnxruntime-node", makers: [(job) => native(job)] },
};
const rows = [];
const limits = [];
for (const row of chosen) {
  for (const where of options.in.split(",")) {
    const { peer, makers } = groups[where];
    const wanted = options.peers.split(",").includes(peer) ? peer : undefined;
    const limitsOfRow = { rounds: Number(options.rounds), seconds: Number(options.seconds) };
    const compared = await compare(row, makers, wanted, limitsOfRow, nodeHost);
    console.log(`${row.name} in ${where}${compared.tried.length ? ` [${compared.tried.join("; ")}]` : ""}`);
    for (const result of compared.rows) {
      const full = {
        workload: row.name, in: where, ...result, gflops: operations(row) / result.seconds / 1e9,
        ...(bytes(row) ? { gbps: bytes(row) / result.seconds / 1e9 } : {}), tried: compared.tried,
      };
      rows.push(full);
      printRow(full);
    }
    if (compared.limit) limits.push(compared.limit);
  }
}
const about = context(load, limits);
if (limits.length) console.log(`\nnative multiply-add limit of one thread ${median(limits).toFixed(0)} GFLOP/s (${about.headlens.simd_target}); best row ${
  percent(Math.max(...rows.filter(({ in: where }) => where === "native").map(({ gflops }) => gflops)) / median(limits))} of it`);
const out = resolve(root, options.out);
mkdirSync(dirname(out), { recursive: true });
writeFileSync(out, `${JSON.stringify({ context: about, rows }, null, 2)}\n`);
console.log(`written to ${options.out}`);
