// SPDX-License-Identifier: Apache-2.0
/** native/opencl/figures.py: its report, which needs neither a device nor the program. */
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { kRoot } from "../compare.js";
import { temporaryFolder } from "./support.js";

const inFolder = temporaryFolder();

const kRecord = {
  row: "attention/d64/1k", precision: "fp32", operations: 17179869184, bytes: 0, rounds: 3, seconds: [0.001, 0.0005, 0.002],
  peer: "SDPA", peer_seconds: [0.002, 0.004, 0.002], device: "A device", opencl: "OpenCL 3.0", driver: "580", torch: "2.11",
  commit: "abcdef0", date: "2026-01-02", tuned: true, limits: { multiply_add_limit_gflops: 50000, copy_limit_gbps: 2900 },
};

function report(records: object[]): { status: number | null; stderr: string; text: () => string } {
  const results = inFolder("results.jsonl"), to = inFolder("RESULTS.md");
  writeFileSync(results, records.map((record) => `${JSON.stringify(record)}\n`).join(""));
  const { status, stderr } = spawnSync("/usr/bin/python3",
    ["-B", `${kRoot}native/opencl/figures.py`, "--steps", "report", "--results", results, "--report", to], { encoding: "utf8" });
  return { status, stderr, text: () => readFileSync(to, "utf8") };
}

test("each device has a table of medians, rates and shares of its limits", () => {
  const decode = { ...kRecord, row: "decode/d64/16k", bytes: 2147483648, peer: null, peer_seconds: [], commit: "0123456" };
  const elsewhere = { ...kRecord, device: "Another device", precision: "tf32x3", torch: null, peer: null, tuned: false };
  const limits = { multiply_add_limit_gflops: 60000, copy_limit_gbps: 2950 };
  const { status, stderr, text } = report([kRecord, { ...decode, date: "2026-01-03", limits }, elsewhere]);
  expect([status, stderr]).toEqual([0, ""]);
  expect(text()).toContain("[`results.jsonl`](results.jsonl)");
  const [, one, other] = text().split("\n## ");
  expect(one).toContain("A device\n\nOpenCL 3.0, driver 580; PyTorch 2.11; commit abcdef0, 0123456, tuned; 2026-01-02 to 2026-01-03.\n");
  expect(one).toContain("50 to 60 TFLOP/s of fp32 multiply-adds, 2900 to 2950 GB/s of copying");
  expect(one).toContain("| attention/d64/1k | fp32 | 1.000 | 17.2 TFLOP/s | 34 % | SDPA | 8.59 | 2.00 |\n");
  expect(one).toContain("| decode/d64/16k | fp32 | 1.000 | 2147 GB/s | 73 % |  |  |  |\n");
  expect(other).toContain("Another device\n\nOpenCL 3.0, driver 580; no peer: PyTorch or CUDA is missing; commit abcdef0, not tuned; 2026-01-02.\n");
  expect(other).toContain("| attention/d64/1k | tf32x3 | 1.000 | 17.2 TFLOP/s | 34 % |  |  |  |\n");
});

test("without results there is no report", () => {
  const { status, stderr } = report([]);
  expect([status, stderr]).toEqual([1, expect.stringMatching(/results\.jsonl has no results\n$/)]);
});
