// SPDX-License-Identifier: Apache-2.0
/** node peak.mjs ROW NAME [VARIANT]: the most memory that a process ever has in which this contestant alone makes one call; in bytes. */
import { readFileSync } from "node:fs";
import { ours, peer } from "./contestants.mjs";
import { nodeHost } from "./node-host.mjs";
import { everyRow } from "./workloads.mjs";

const [rowName, name, variant] = process.argv.slice(2);
const row = everyRow.find((candidate) => candidate.name === rowName);
const job = { row, data: await nodeHost.dataOf(row) };
const simd = /^headlens wasm (\w+)$/.exec(name)?.[1];
const contestant = simd ? await ours(simd, job, nodeHost) : await peer(name, variant, job, nodeHost);
await contestant.round(1);
// Not resourceUsage().maxRSS: that has what the parent had when it started this.
console.log(Number(/VmHWM:\s+(\d+)/.exec(readFileSync("/proc/self/status", "utf8"))[1]) * 1024);
process.exit(0);  // whatever threads a peer keeps
