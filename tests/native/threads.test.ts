// SPDX-License-Identifier: Apache-2.0
/** Threads that the system does not let start. */
import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { kProgram } from "./support.js";

test("more threads than there is room for are an error that says how many there can be", () => {
  // Each thread's stack takes 8 MiB of the addresses that the program may use.
  const limited = 'ulimit -v 900000; exec "$0" bench --filter tutorial --threads 200';
  const { status, stderr } = spawnSync("bash", ["-c", limited, kProgram], { encoding: "utf8" });
  expect(stderr).toMatch(/^headlens: threads is 200, expected at most the \d+ that can run here: .*\n$/);
  expect(status).toBe(2);
});
