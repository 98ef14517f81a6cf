// SPDX-License-Identifier: Apache-2.0
/** The native library, in a process that makes calls on command. */
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { warmUp } from "./contestants.mjs";

export const kProgram = fileURLToPath(new URL("../../build/native/headlens", import.meta.url));

/** `options` are further options of the program. */
export async function native({ row }, options = []) {
  const which = ["--filter", `^${row.name}$`, ...(row.name.startsWith("sweep/") ? ["--sweep"] : [])];
  const child = spawn(kProgram, ["bench", "--paced", ...which, ...options], { stdio: ["pipe", "pipe", "inherit"] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const ask = async (line) => {
    child.stdin.write(`${line}\n`);
    const { value, done } = await lines.next();
    if (done) throw new Error("headlens bench ended");
    return JSON.parse(value);
  };
  let peak;
  return warmUp({
    name: "headlens native",
    async round(calls) {
      const { seconds } = await ask(`${row.name} ${calls}`);
      return seconds.reduce((sum, second) => sum + second, 0) / calls;
    },
    async look(rows) {
      peak ??= (await ask("memory")).peak_bytes;
      const { output, maps } = await ask(`look ${row.name} ${rows.join(" ")}`);
      return { output: { data: output }, maps: { data: maps } };
    },
    limit: async () => (await ask("limit")).multiply_add_limit_gflops,
    peakBytes: () => peak,
    close: () => child.stdin.end(),
  });
}
