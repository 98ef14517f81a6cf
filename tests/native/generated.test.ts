// SPDX-License-Identifier: Apache-2.0
/** The committed TypeScript files are those that `npm run generate` writes from the engine's names. */
import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { kRoot } from "../compare.js";
import { kProgram } from "./support.js";

test("the generated TypeScript is what the program's names make of it", () => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [`${kRoot}wasm/generate.mjs`, "--check"], {
    encoding: "utf8",
    env: { ...process.env, HEADLENS_PROGRAM: kProgram },
  });
  expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: "", stderr: "" });
});
