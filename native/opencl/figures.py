#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests, tunes and measures the OpenCL backend on one GPU in one call. It builds the program if it is not there, runs
its tests on the device, tunes it, and measures `headlens bench --large` in every precision in turns with PyTorch on the
same GPU (scaled_dot_product_attention, and matmul, which is cuBLAS). It writes RESULTS.md beside this file.

    python3 native/opencl/figures.py [--device N] [--steps build,test,tune,measure] [--filter REGEX] [--rounds N]

It needs an OpenCL driver, and PyTorch with CUDA for the peers, which are left out without it. Times are medians of
rounds in which the two sides take turns. Transfers between host and device are not counted on either side.
"""
import argparse
import datetime
import json
import math
import os
import pathlib
import re
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
BUILD = ROOT / "build" / "native"
PROGRAM = BUILD / "headlens"
PRECISIONS = ["fp32", "tf32x3", "fp16", "bf16"]
HALVES = ["fp16", "bf16"]
SECONDS = 0.2  # each side takes so long in a round

try:
    import torch
    import torch.nn.functional as F
    HAS_PEER = torch.cuda.is_available()
except ImportError:
    HAS_PEER = False


def rows():
    """The large workloads, completed by the same defaults that the program has."""
    table = json.loads((ROOT / "native" / "bench" / "workloads.json").read_text())
    for row in table["large"]:
        row = {"batch": 1, "causal": False, "maps": False, **row}
        for name in ("queries", "keys"):
            row.setdefault(name, row.get("tokens"))
        row.setdefault("kv_heads", row.get("heads"))
        yield row


def operations(row):
    if row["kind"] == "product":
        return 2 * row["tokens"] * row["width"] * row["out"]
    half = 0.5 if row["causal"] else 1.0
    return half * 4 * row["batch"] * row["heads"] * row["queries"] * row["keys"] * row["head_dim"]


def moved(row, precision):
    """The bytes that have to be read or written at least, or 0 where arithmetic takes longer."""
    if row["kind"] != "core":
        return 0
    if row["queries"] == 1:
        return 2 * (2 if precision in HALVES else 4) * row["batch"] * row["kv_heads"] * row["keys"] * row["head_dim"]
    return 4 * row["batch"] * row["heads"] * row["queries"] * row["keys"] if row["maps"] else 0


class Headlens:
    """Runs `headlens bench --paced`, which answers each line with a line."""

    def __init__(self, device, precision):
        words = [PROGRAM, "bench", "--paced", "--large", "--backend", "opencl", "--precision", precision]
        self.child = subprocess.Popen(words + (["--device", device] if device else []), text=True,
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(self, line):
        self.child.stdin.write(line + "\n")
        self.child.stdin.flush()
        answer = self.child.stdout.readline()
        if not answer:
            sys.exit(f"headlens bench ended at {line!r}")
        return json.loads(answer)

    def seconds(self, name, calls):
        return statistics.mean(self.ask(f"{name} {calls}")["seconds"])

    def close(self):
        self.child.stdin.close()
        self.child.wait()


def peer(row, precision):
    """Returns a call of PyTorch that computes the row, and its name; None without an NVIDIA GPU."""
    if not HAS_PEER:
        return None
    dtype = {"fp16": torch.float16, "bf16": torch.bfloat16}.get(precision, torch.float32)
    new = lambda *shape: torch.randn(*shape, device="cuda", dtype=dtype)
    if row["kind"] == "product":
        x, w = new(row["tokens"], row["width"]), new(row["out"], row["width"])
        return lambda: x @ w.T, "cuBLAS"
    q = new(row["batch"], row["heads"], row["queries"], row["head_dim"])
    k, v = (new(row["batch"], row["kv_heads"], row["keys"], row["head_dim"]) for _ in range(2))
    if row["maps"]:
        scale = 1 / math.sqrt(row["head_dim"])

        def maps():
            weights = torch.softmax(q @ k.mT * scale, -1)
            return weights, weights @ v
        return maps, "softmax(q kᵀ) v"
    gqa = {"enable_gqa": True} if row["kv_heads"] != row["heads"] else {}
    return lambda: F.scaled_dot_product_attention(q, k, v, is_causal=row["causal"], **gqa), "SDPA"


def peer_seconds(call, calls):
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(calls):
        call()
    torch.cuda.synchronize()
    return (time.perf_counter() - start) / calls


def measure_row(program, row, precision, rounds):
    ours, theirs = [], []
    once = program.seconds(row["name"], 2)
    calls = max(1, min(1000, round(SECONDS / max(once, 1e-6))))
    other = peer(row, precision)
    if other:
        peer_seconds(other[0], 2)
        peer_calls = max(1, min(1000, round(SECONDS / max(peer_seconds(other[0], 2), 1e-6))))
    for _ in range(rounds):
        ours.append(program.seconds(row["name"], calls))
        if other:
            theirs.append(peer_seconds(other[0], peer_calls))
    return {"row": row["name"], "precision": precision, "operations": operations(row), "bytes": moved(row, precision),
            "seconds": ours, "peer": other[1] if other else None, "peer_seconds": theirs}


def measure(options):
    results, limits = [], {}
    for precision in PRECISIONS:
        program = Headlens(options.device, precision)
        limits = limits or program.ask("limit")
        for row in rows():
            # Rows that wait for memory take as long in all precisions, unless they read keys and values of 16 bits.
            reads_halves = precision in HALVES and not row["maps"]
            if re.search(options.filter, row["name"]) and (
                    precision == "fp32" or reads_halves or not moved(row, precision)):
                results.append(measure_row(program, row, precision, options.rounds))
                print(line_of(results[-1], limits), file=sys.stderr, flush=True)
        program.close()
    return results, limits


def rate(result, seconds):
    return (result["bytes"] / seconds / 1e9, "GB/s") if result["bytes"] else (result["operations"] / seconds / 1e12, "TFLOP/s")


def line_of(result, limits):
    seconds = statistics.median(result["seconds"])
    value, unit = rate(result, seconds)
    limit = limits["copy_limit_gbps"] if result["bytes"] else limits["multiply_add_limit_gflops"] / 1e3
    cells = [result["row"], result["precision"], f"{seconds * 1e3:.3f}", f"{value:.3g} {unit}", f"{100 * value / limit:.0f} %"]
    if result["peer"]:
        theirs = statistics.median(result["peer_seconds"])
        cells += [result["peer"], f"{rate(result, theirs)[0]:.3g}", f"{theirs / seconds:.2f}"]
    else:
        cells += ["", "", ""]
    return "| " + " | ".join(cells) + " |"


def device_line(options):
    devices = json.loads(subprocess.check_output([PROGRAM, "info", "--json"]))["opencl"]["devices"]
    if not devices:
        sys.exit("there is no OpenCL device on this machine")
    chosen = options.device or "0"
    device = (devices[int(chosen)] if chosen.isdigit() else
              next(device for device in devices if chosen.lower() in device["name"].lower()))
    return f"{device['name']}, {device['version']}, driver {device['driver']}"


def write(options, results, limits):
    command = "python3 native/opencl/figures.py" + "".join(f" {word}" for word in sys.argv[1:])
    lines = [
        "# Figures of the OpenCL backend", "",
        f"{device_line(options)}; {datetime.date.today()}; `{command}`"
        + (f"; PyTorch {torch.__version__}" if HAS_PEER else "; no peer: PyTorch or CUDA is missing") + ".", "",
        f"Measured limits of the device: {limits['multiply_add_limit_gflops'] / 1e3:.3g} TFLOP/s of fp32 multiply-adds, "
        f"{limits['copy_limit_gbps']:.0f} GB/s of copying, read and written both counted. Medians of "
        f"{options.rounds} rounds in turns with the peer in the same precision; transfers left out. Matrix units do more "
        "than the first limit: their rows can pass 100 %.", "",
        "| row | precision | ms | headlens | of the limit | peer | peer's rate | times as fast |",
        "|---|---|---|---|---|---|---|---|", *(line_of(result, limits) for result in results), "",
        "Seconds of each round:", "", "```json", *(json.dumps(result) for result in results), "```", ""]
    (HERE / "RESULTS.md").write_text("\n".join(lines))


def run(*words, **variables):
    subprocess.run([str(word) for word in words], cwd=ROOT, check=True, env={**os.environ, **variables})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="", help="number or part of the name, as `headlens info` lists them")
    parser.add_argument("--steps", default="build,test,tune,measure")
    parser.add_argument("--filter", default="", help="only rows whose name matches")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    steps = options.steps.split(",")
    if HAS_PEER:
        torch.backends.cuda.matmul.allow_tf32 = False
    if "build" in steps and not PROGRAM.exists():
        run("cmake", "--preset", "native")
        run("cmake", "--build", "--preset", "native")
    print(device_line(options), file=sys.stderr)
    if "test" in steps:
        run(BUILD / "headlens_tests", HEADLENS_OPENCL_DEVICE=options.device)
    if "tune" in steps:
        run(PROGRAM, "bench", "--tune", "--backend", "opencl", *(["--device", options.device] if options.device else []))
    if "measure" in steps:
        write(options, *measure(options))


if __name__ == "__main__":
    main()
