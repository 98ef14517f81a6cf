// SPDX-License-Identifier: Apache-2.0
/** The command line of npm run bench. */
import { parseArgs } from "node:util";

export class UsageError extends Error {}

/** The peers, and the npm module that has the version of each. */
export const kPeers = {
  "onnxruntime-web": "onnxruntime-web", "onnxruntime-node": "onnxruntime-node", "tfjs-wasm": "@tensorflow/tfjs-backend-wasm",
};
const kPeersIn = {
  node: ["onnxruntime-web", "tfjs-wasm"], chromium: ["onnxruntime-web", "tfjs-wasm"], native: ["onnxruntime-node"],
};
const kSimd = ["baseline", "relaxed"];

export const kHelp = `npm run bench -- [options]
  --in LIST       node, chromium, native: where to measure; default node,native
  --filter REGEX  only rows whose name matches, such as '^bert/' or core
  --peers LIST    ${Object.keys(kPeers).join(", ")}, all (default) or none
  --simd LIST     our WebAssembly modules: ${kSimd.join(", ")}; default both
  --target NAME   native instruction set, such as SSE4; default the machine's best
  --threads N     of ours and of onnxruntime's; tfjs-wasm has one; default 1
  --rounds N      of turns, at most; default 31
  --seconds S     for the rounds of a row; default 6 (3 rounds are always made)
  --memory        the peak of a fresh process for each contestant, too (not in chromium)
  --sweep         attention at many lengths, head widths and conventions, instead of the workloads
  --out FILE      Google Benchmark's JSON; default build/bench/bench.json
  --report[=FILE] workloads and sweeps as one HTML page, with --memory; default build/bench/report.html
npm run bench -- tab [TOKENS]: the maps of a large model in a tab of Chromium
npm run bench -- first [PROFILES]: how soon the playground shows its first maps
npm run bench -- page [DIST…]: how the element answers, beside other states
npm run bench -- explain [ROUNDS]: explanations, and runs again with a head silenced
npm run bench -- pythia [ROUNDS]: how soon all heads of a model of Pythia-70m's shape are drawn
npm run bench -- gpt2 [ROUNDS]: a folder of GPT-2's size on the page, and its memory`;

function listOf(name, text, known) {
  const items = text.split(",");
  const unknown = items.find((item) => !known.includes(item));
  if (unknown !== undefined) throw new UsageError(`--${name}: "${unknown}" is none of ${known.join(", ")}`);
  return items;
}

function numberOf(name, text, least) {
  const value = Number(text);
  if (!(value >= least && value <= 1e6)) throw new UsageError(`--${name} is "${text}", expected a number from ${least} on`);
  return value;
}

function regexOf(text) {
  try {
    return new RegExp(text);
  } catch (error) {
    throw new UsageError(`--filter: ${error.message}`);
  }
}

function parse(args) {
  const text = (value) => ({ type: "string", default: value });
  const flag = { type: "boolean", default: false };
  try {
    return parseArgs({
      // A bare --report has its own default, which parseArgs cannot express.
      args: args.map((arg) => arg === "--report" ? "--report=build/bench/report.html" : arg),
      options: {
        in: text("node,native"), filter: text(""), peers: text("all"), simd: text(kSimd.join(",")), target: { type: "string" },
        threads: text("1"), rounds: text("31"), seconds: text("6"), memory: flag, sweep: flag, out: text("build/bench/bench.json"),
        report: { type: "string" }, help: flag,
      },
    }).values;
  } catch (error) {
    throw new UsageError(error.message);
  }
}

/** Throws UsageError. */
export function readOptions(args) {
  const values = parse(args);
  const all = Object.keys(kPeers);
  const wanted = values.peers === "none" ? [] : values.peers === "all" ? all : listOf("peers", values.peers, all);
  const isWanted = (peer) => wanted.includes(peer);
  const places = listOf("in", values.in, Object.keys(kPeersIn));
  const threads = numberOf("threads", values.threads, 1);
  return {
    in: places, filter: regexOf(values.filter), target: values.target, threads, out: values.out, report: values.report,
    help: values.help, sweep: values.sweep, memory: values.memory || values.report !== undefined,
    simd: listOf("simd", values.simd, kSimd), rounds: numberOf("rounds", values.rounds, 3),
    seconds: numberOf("seconds", values.seconds, 0),
    peersIn: Object.fromEntries(places.map((place) => [place, kPeersIn[place].filter((peer) => isWanted(peer))])),
    native: [...(values.target === undefined ? [] : ["--target", values.target]), "--threads", String(threads)],
  };
}
