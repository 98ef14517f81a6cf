// SPDX-License-Identifier: Apache-2.0
/** Every golden case, which PyTorch computed (tests/golden/make.py), run by `headlens attend`: all with SIMD, some on the other backends. */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, lstatSync, readFileSync, readlinkSync, symlinkSync, writeFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { expectClose, goldenCases, kEpsilon, kGolden, maxNorm, scoreNorm } from "../compare.js";
import { readSafetensors, writeSafetensors, type FileTensor, type GivenTensor, type Safetensors } from "../safetensors.js";
import { fails, succeeds, temporaryFolder } from "./support.js";

const inFolder = temporaryFolder();

function attend(path: string, ...more: string[]): ReadonlyMap<string, FileTensor> {
  const out = inFolder("result.safetensors");
  expect(succeeds(["attend", path, "--out", out, ...more])).toBe("");
  const { metadata, tensors } = readSafetensors(out);
  expect(metadata.generator).toMatch(/^headlens \d+\.\d+\.\d+$/);
  return tensors;
}

/**
 * The same problem with its scores as results. Types that the writer does not have become floats, which hold all their
 * values.
 */
function scoresOf({ metadata, tensors }: Safetensors): number {
  if (metadata.op === "embedding") return 0;
  const given: Record<string, GivenTensor> = {};
  for (const [name, { data, shape }] of tensors) {
    if (!name.startsWith("expected.")) given[name] = { data: data instanceof Float64Array ? Float32Array.from(data) : data, shape };
  }
  const options = { ...JSON.parse(metadata.options ?? "{}") as object, stages: ["scores", "biased_scores"] };
  const path = inFolder("scores.safetensors");
  writeFileSync(path, writeSafetensors(given, { ...metadata, options: JSON.stringify(options) }));
  const results = attend(path, "--backend", "reference");
  return scoreNorm(results.get("scores")?.data, results.get("biased_scores")?.data);
}

/**
 * The allowed distance of a backend's results, in roundings of the largest result, multiplied by 1 + the largest score:
 * a score s has an error of ε·|s|, its exponential a relative error of exp(ε·|s|) − 1, and everything computed from
 * weights inherits that.
 */
const kFactors = { reference: 4, simd: 16, opencl: 16 } as const;

/**
 * Of so many cases, a backend gets one. tests/core/whole/golden_test.cc has all of them on all backends, in one process:
 * a process for each takes long to start, and longer with an OpenCL device.
 */
const kEach = { reference: 4, simd: 1, opencl: 16 } as const;

describe("golden cases", () => {
  test.each(goldenCases().map((name, i) => [name, i] as const))("%s", (name, i) => {
    const path = `${kGolden}/cases/${name}`;
    const file = readSafetensors(path);
    const expected = [...file.tensors].filter(([key]) => key.startsWith("expected."));
    expect(expected.length).toBeGreaterThan(0);
    const norm = scoresOf(file);
    for (const backend of ["reference", "simd", "opencl"] as const) {
      if (i % kEach[backend] !== 0) continue;
      const results = attend(path, "--backend", backend);
      // The results are only those that were asked for.
      expect([...results.keys()].sort()).toEqual(expected.map(([key]) => key.slice("expected.".length)).sort());
      for (const [key, tensor] of expected) {
        const tolerance = kFactors[backend] * kEpsilon * (1 + norm) * Math.max(maxNorm(tensor.data), 1e-3);
        expectClose(`${backend} ${key}`, results.get(key.slice("expected.".length)), tensor, tolerance);
      }
    }
  });

  test("the case's own backend is taken when the command line names none", () => {
    const path = `${kGolden}/cases/sdpa_plain.safetensors`;
    const file = readSafetensors(path);
    const inputs = Object.fromEntries([...file.tensors].filter(([key]) => !key.startsWith("expected."))) as Record<string, GivenTensor>;
    const options = { ...JSON.parse(file.metadata.options ?? "{}") as object, backend: "reference" };
    const own = inFolder("own.safetensors");
    writeFileSync(own, writeSafetensors(inputs, { ...file.metadata, options: JSON.stringify(options) }));
    expect(attend(own)).toEqual(attend(path, "--backend", "reference"));
    expect(attend(own, "--backend", "simd")).toEqual(attend(path));
    const refused = ["attend", own, "--out", inFolder("no.safetensors")];
    fails([...refused, "--threads", "2"], 2, /--threads is 2, expected 1: the reference backend works on one thread/);
    fails([...refused, "--device", "0"], 2, /--device is "0", expected none: the reference backend has no devices/);
    fails([...refused, "--set", "backend=simd", "--precision", "fp16"], 2, /--precision is fp16, expected fp32: the simd backend has no other/);
    expect(attend(own, "--backend", "simd", "--threads", "2")).toEqual(attend(path));
  });

  test.each(["sdpa_plain", "mha_add_bias_kv"])("%s: any number of threads gives the same numbers", (name) => {
    const path = `${kGolden}/cases/${name}.safetensors`;
    for (const threads of ["2", "5"]) expect(attend(path, "--threads", threads)).toEqual(attend(path));
  });

  test("options of the command line replace the case's own", () => {
    const path = `${kGolden}/cases/sdpa_plain.safetensors`;
    expect([...attend(path, "--set", "stages=[\"lse\"]", "--set", "need_weights=true").keys()].sort()).toEqual(["lse", "output", "weights"]);
    const hard = attend(path, "--set", "normalizer=hard", "--set", "need_weights=true").get("weights");
    expect(new Set(hard?.data)).toEqual(new Set([0, 1]));
    fails(["attend", path, "--out", inFolder("no.safetensors"), "--set", "normalizer"], 2, /--set is "normalizer", expected NAME=VALUE/);
    fails(["attend", path, "--out", inFolder("no.safetensors"), "--set", "temperature=-1"], 2, /sdpa_plain\.safetensors with --set: .*temperature is -1/);
    const deep = `softcap=${"[".repeat(60_000)}`;
    fails(["attend", path, "--out", inFolder("no.safetensors"), "--set", deep], 2, /softcap is "\[\[.*…", expected a finite number/);
    fails(["attend", path, "--out", inFolder("no.safetensors"), "--set", "colour=1"], 2, /unknown option "colour"/);
  });

  test("what --out names stays what it is: a link, a pipe, and never the case itself", async () => {
    const path = inFolder("case.safetensors"), target = inFolder("target"), link = inFolder("link"), pipe = inFolder("pipe");
    copyFileSync(`${kGolden}/cases/sdpa_plain.safetensors`, path);
    writeFileSync(target, "");
    symlinkSync(target, link);
    succeeds(["attend", path, "--out", link]);
    expect(readlinkSync(link)).toBe(target);
    spawnSync("mkfifo", [pipe]);
    const reader = spawn("sh", ["-c", `cat ${pipe} > ${inFolder("piped")}`]);
    succeeds(["attend", path, "--out", pipe]);
    await once(reader, "close");
    expect(lstatSync(pipe).isFIFO()).toBe(true);
    expect(readFileSync(inFolder("piped"))).toEqual(readFileSync(target));
    const before = readFileSync(path);
    fails(["attend", path, "--out", path], 2, /--out is .*case\.safetensors, expected another file than .*case\.safetensors/);
    expect(readFileSync(path)).toEqual(before);
  });
});
