// SPDX-License-Identifier: Apache-2.0
/**
 * node peak.mjs THREADS ROW NAME [VARIANT]: prints the peak memory, in bytes, of a process in which only this
 * contestant makes one call.
 */
import { readFileSync } from "node:fs";
import { ours, peer } from "./contestants.mjs";
import { nodeHost } from "./node-host.mjs";
import { everyRow } from "./workloads.mjs";

const [threads, rowName, name, variant] = process.argv.slice(2);
const host = nodeHost(Number(threads));
const row = everyRow.find((candidate) => candidate.name === rowName);
const job = { row, data: await host.dataOf(row) };
const simd = /^headlens wasm (\w+)$/.exec(name)?.[1];
const contestant = simd ? await ours(simd, job, host) : await peer(name, variant, job, host);
await contestant.round(1);
// resourceUsage().maxRSS would include the parent's memory at the start of this process.
console.log(Number(/VmHWM:\s+(\d+)/.exec(readFileSync("/proc/self/status", "utf8"))[1]) * 1024);
process.exit(0);  // ends the threads that a peer keeps
