// SPDX-License-Identifier: Apache-2.0
/** `--out` leaves the whole result behind or nothing, whatever ends the program, and wherever links lead. */
import { spawn, spawnSync } from "node:child_process";
import { existsSync, lstatSync, mkdirSync, readdirSync, readlinkSync, rmSync, statSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { beforeEach, describe, expect, test } from "vitest";
import { withHeader, writeSafetensors } from "../safetensors.js";
import { fails, kProgram, succeeds, temporaryFolder } from "./support.js";

const inFolder = temporaryFolder();
beforeEach(() => {
  rmSync(inFolder("out"), { recursive: true, force: true });
  mkdirSync(inFolder("out"));
});

/** Writes a case whose result has this many numbers: one query, one key and a long value, all 0. */
function caseOf(numbers: number): string {
  const path = inFolder(`case-${numbers}.safetensors`);
  const f32 = (size: number, begin: number): object => ({ dtype: "F32", shape: [1, 1, 1, size], data_offsets: [begin, begin + 4 * size] });
  const header = { __metadata__: { op: "scaled_dot_product_attention" }, query: f32(1, 0), key: f32(1, 4), value: f32(numbers, 8) };
  const start = withHeader(JSON.stringify(header), new Uint8Array(0));
  writeFileSync(path, start);
  truncateSync(path, start.length + 8 + 4 * numbers);  // zeros that take no room on the disk
  return path;
}

/** Sends the signal as soon as anything lies in the folder of the result, or there is a result. */
function interrupted(signal: NodeJS.Signals, args: readonly string[] = []): Promise<NodeJS.Signals | null> {
  const child = spawn(kProgram, ["attend", caseOf(2 ** 25), "--out", inFolder("out/result.safetensors"), ...args], { stdio: "ignore" });
  const timer = setInterval(() => {
    if (readdirSync(inFolder("out")).length > 0) child.kill(signal);
  }, 1);
  return new Promise((resolve) => {
    child.on("close", (_, by) => {
      clearInterval(timer);
      resolve(by);
    });
  });
}

describe("a signal in the middle of a write", () => {
  test.each(["SIGINT", "SIGTERM", "SIGHUP"] as const)("%s: ends the program as it always does, and nothing is left", async (signal) => {
    expect(await interrupted(signal)).toBe(signal);
    expect(readdirSync(inFolder("out"))).toEqual([]);
    expect(await interrupted(signal, ["--threads", "2"])).toBe(signal);  // whichever thread it comes to
    expect(readdirSync(inFolder("out"))).toEqual([]);
  });

  test("what is ignored stays so", () => {
    const command = `trap "" HUP; "$0" attend "$1" --out "$2" & pid=$!; while kill -HUP $pid 2>/dev/null; do sleep 0.01; done; wait $pid`;
    const out = inFolder("out/result.safetensors");
    expect(spawnSync("sh", ["-c", command, kProgram, caseOf(2 ** 22), out]).status).toBe(0);
    expect(readdirSync(inFolder("out"))).toEqual(["result.safetensors"]);
    expect(statSync(out).size).toBeGreaterThan(2 ** 24);
  });

  test("a limit on the size of files is an error as any other", () => {
    const command = `ulimit -f 100; exec "$0" attend "$1" --out "$2"`;
    const { status, stderr } = spawnSync("sh", ["-c", command, kProgram, caseOf(2 ** 20), inFolder("out/result.safetensors")], { encoding: "utf8" });
    expect(stderr).toMatch(/^headlens: .*out\/result\.safetensors: cannot be written: File too large\n$/);
    expect(status).toBe(1);
    expect(readdirSync(inFolder("out"))).toEqual([]);
  });
});

describe("--out that is a link", () => {
  const good = (): string => {
    const path = inFolder("good.safetensors");
    writeFileSync(path, writeSafetensors({ query: { data: new Float32Array(24), shape: [1, 2, 3, 4] } }, { op: "scaled_dot_product_attention" }));
    return path;
  };
  const at = (name: string): string => inFolder(`out/${name}`);

  test.each(["target", "folder/target", "second"])("to %s: what it leads to is made, then replaced; the link stays", (to) => {
    mkdirSync(at("folder"));
    symlinkSync("folder/../target", at("second"));
    symlinkSync(to, at("link"));
    for (let i = 0; i < 2; ++i) {
      succeeds(["attend", good(), "--out", at("link")]);
      expect(readlinkSync(at("link"))).toBe(to);
      const target = to === "folder/target" ? "folder/target" : "target";
      expect(lstatSync(at(target)).isFile()).toBe(true);
      expect(lstatSync(at(target)).size).toBeGreaterThan(96);
      expect(readdirSync(at("")).length + readdirSync(at("folder")).length).toBe(4);
    }
  });

  test("that leads in a circle, or to a folder that is not there, is refused", () => {
    symlinkSync("b", at("a"));
    symlinkSync("a", at("b"));
    fails(["attend", good(), "--out", at("a")], 1, /out\/a: cannot be written: Too many levels of symbolic links/);
    symlinkSync("nowhere/file", at("c"));
    fails(["attend", good(), "--out", at("c")], 1, /out\/c: cannot be written: No such file or directory/);
    expect(readdirSync(at("")).sort()).toEqual(["a", "b", "c"]);
    expect(existsSync(at("c"))).toBe(false);
  });
});
