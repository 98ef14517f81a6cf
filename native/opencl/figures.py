#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests, tunes and measures the OpenCL backend on one GPU, in slices. It builds the program if it is not there, runs
its tests on the device, tunes it, and measures `headlens bench --large` in every precision in turns with PyTorch on the
same GPU (peers.py has its side).

    python3 native/opencl/figures.py [--minutes M] [--commit TEXT] [--filter REGEX] [--again] [--results FILE]

It stops before the minutes are over. Each row is kept in the results file as soon as it is measured, so that a run that
is killed loses only the row in hand, and the next run goes on with the rows that the file does not have at this commit.
A row is known by its name, its precision and the device; what is measured last replaces what was there. The step
`report`, which needs no device, writes RESULTS.md beside this file from the results. For a machine that has no network,
the step `pack` collects the libraries' sources elsewhere: its folder is copied with the project's files, and the step
`build` takes the libraries from there.

It needs an OpenCL driver, and PyTorch with CUDA for the peers, which are left out without it. Times are medians of
rounds in which the two sides take turns. Transfers between host and device are not counted on either side.
"""
import argparse
import datetime
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

import pack
import peers

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
BUILD = ROOT / "build" / "native"
PROGRAM = BUILD / "headlens"
PRECISIONS = ["fp32", "tf32x3", "fp16", "bf16"]
HALVES = ["fp16", "bf16"]
SECONDS = 0.2  # each side takes so long in a round
LEAST_SECONDS = 30  # a row may take so long, before any has been measured
MOST_BYTES = 16 << 20  # of the results file


# ------------------------------------------------------------------------------------------------------------- results

class Results:
    """The results file: JSON lines, one for each row, precision and device."""

    def __init__(self, path):
        self.path = path
        lines = path.read_text().splitlines() if path.exists() else []
        self.records = {self.key(record): record for record in map(json.loads, lines)}

    @staticmethod
    def key(record):
        return record["row"], record["precision"], record["device"]

    def commit_of(self, *key):
        return self.records.get(key, {}).get("commit")

    def keep(self, record):
        self.records[self.key(record)] = record
        text = "".join(json.dumps(one) + "\n" for one in self.records.values())
        if len(text.encode()) > MOST_BYTES:
            sys.exit(f"{self.path} would have more than {MOST_BYTES >> 20} MiB: take another file with --results")
        part = self.path.with_name(self.path.name + ".part")
        part.write_text(text)
        os.replace(part, self.path)


# ------------------------------------------------------------------------------------------------------------- measure

class Ended(Exception):
    """The program has ended, as it does after an error, which it has printed."""


class Headlens:
    """Runs `headlens bench --paced`, which answers each line with a line."""

    def __init__(self, options, precision):
        words = [PROGRAM, "bench", "--paced", "--large", "--backend", "opencl", "--precision", precision]
        words += ["--filter", options.filter] if options.filter else []
        self.precision = precision
        self.child = subprocess.Popen(words + device_words(options), text=True, stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE)

    def ask(self, line):
        try:
            self.child.stdin.write(line + "\n")
            self.child.stdin.flush()
        except BrokenPipeError:
            pass
        answer = self.child.stdout.readline()
        if not answer:
            raise Ended(f"headlens bench ended at {line!r}")
        return json.loads(answer)

    def seconds(self, name, calls):
        return statistics.mean(self.ask(f"{name} {calls}")["seconds"])

    def close(self):
        self.child.stdout.close()
        try:
            self.child.stdin.close()
        except BrokenPipeError:
            pass
        self.child.wait()


def precisions_of(row):
    """The precisions that change how long a row takes. Those of 16 bits concern layers and attention without maps, and
    what a core reads for one query; 3×TF32 concerns every product of matrices."""
    if row["kind"] == "decode":
        return ["fp32"]
    if row["kind"] == "map" or (row["kind"] == "core" and row["maps"]):
        return ["fp32", "tf32x3"]
    if row["kind"] == "core" and row["queries"] == 1:
        return ["fp32", *HALVES]
    return PRECISIONS


def bytes_of(row, precision):
    """The program states the bytes of rows in fp32. Keys and values of 16 bits on the device have half of them."""
    halved = precision in HALVES and row["kind"] == "core" and row["queries"] == 1
    return row["bytes"] / 2 if halved else row["bytes"]


def find_peer(row, precision):
    try:
        return peers.find(row, precision, SECONDS)
    except Exception as error:  # whatever a peer lacks, the row is measured without it
        print(f"{row['name']} {precision}: no peer: {error}", file=sys.stderr)
        return None


def measure_row(program, row, rounds):
    program.seconds(row["name"], 1)  # makes the inputs and compiles the kernels
    start = time.perf_counter()
    program.seconds(row["name"], 2)
    once = (time.perf_counter() - start) / 2  # with transfers, which take time although they are not counted
    calls = peers.calls_in(SECONDS, once)
    peer = find_peer(row, program.precision)
    ours, theirs = [], []
    for _ in range(rounds):
        ours.append(program.seconds(row["name"], calls))
        if peer:
            theirs.append(peer.round())
    return {"row": row["name"], "precision": program.precision, "operations": row["operations"],
            "bytes": bytes_of(row, program.precision), "rounds": rounds, "seconds": ours,
            "peer": peer.name if peer else None, "peer_seconds": theirs}


def missing_first(rows, results, about, again):
    """Pairs of a precision and a row, those without a result of this commit first."""
    pairs = [(precision, row) for precision in PRECISIONS for row in rows if precision in precisions_of(row)]
    has = lambda pair: results.commit_of(pair[1]["name"], pair[0], about["device"]) == about["commit"]
    return sorted(pairs, key=has) if again else [pair for pair in pairs if not has(pair)]


def measure(options, deadline):
    results, about, longest = Results(options.results), about_of(options), LEAST_SECONDS
    program = Headlens(options, PRECISIONS[0])
    about["limits"] = program.ask("limit")
    pairs = missing_first(program.ask("rows"), results, about, options.again)
    for done, (precision, row) in enumerate(pairs):
        start = time.monotonic()
        if start + longest > deadline:
            print(f"The time is over: {len(pairs) - done} rows are left for the next run.", file=sys.stderr)
            break
        if program.precision != precision or program.child.poll() is not None:
            program.close()
            program = Headlens(options, precision)
        try:
            record = {**measure_row(program, row, options.rounds), **about}
        except Ended as error:
            print(f"{row['name']} {precision}: {error}", file=sys.stderr)
            program.child.wait()
            continue
        results.keep(record)
        print(line_of(record), file=sys.stderr, flush=True)
        longest = max(longest, time.monotonic() - start)
    program.close()


# -------------------------------------------------------------------------------------------------------------- report

def rate(record, seconds):
    if record["bytes"]:
        return record["bytes"] / seconds / 1e9, "GB/s"
    return record["operations"] / seconds / 1e12, "TFLOP/s"


def shown(value):
    """Three digits, and all digits of whole numbers."""
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def limit_of(record):
    """The limit in the unit of the row's rate."""
    limits = record["limits"]
    return limits["copy_limit_gbps"] if record["bytes"] else limits["multiply_add_limit_gflops"] / 1e3


def line_of(record):
    seconds = statistics.median(record["seconds"])
    value, unit = rate(record, seconds)
    cells = [record["row"], record["precision"], f"{seconds * 1e3:.3f}", f"{shown(value)} {unit}",
             f"{100 * value / limit_of(record):.0f} %", "", "", ""]
    if record["peer"]:
        theirs = statistics.median(record["peer_seconds"])
        cells[5:] = [record["peer"], shown(rate(record, theirs)[0]), f"{theirs / seconds:.2f}"]
    return "| " + " | ".join(cells) + " |"


def every(records, value):
    """All different values, in order."""
    return ", ".join(dict.fromkeys(str(value(record)) for record in records if value(record)))


def span(records, name, scale):
    """A limit, from the least to the most that slices measured."""
    values = [record["limits"][name] * scale for record in records]
    least, most = shown(min(values)), shown(max(values))
    return least if least == most else f"{least} to {most}"


def device_section(device, records):
    dates = sorted({record["date"] for record in records})
    torch = every(records, lambda record: record["torch"])
    return [
        f"## {device}", "",
        f"{every(records, lambda record: record['opencl'])}, driver {every(records, lambda record: record['driver'])}; "
        + (f"PyTorch {torch}" if torch else "no peer: PyTorch or CUDA is missing")
        + f"; commit {every(records, lambda record: record['commit'])}, "
        + every(records, lambda record: "tuned" if record["tuned"] else "not tuned") + "; " + " to ".join(dict.fromkeys((dates[0], dates[-1])))
        + ".", "",
        f"Measured limits of the device: {span(records, 'multiply_add_limit_gflops', 1e-3)} TFLOP/s of fp32 multiply-adds, "
        f"{span(records, 'copy_limit_gbps', 1)} GB/s of copying, read and written both counted.", "",
        "| row | precision | ms | headlens | of the limit | peer | peer's rate | times as fast |",
        "|---|---|---|---|---|---|---|---|", *map(line_of, records), ""]


def report(options):
    records = list(Results(options.results).records.values())
    if not records:
        sys.exit(f"{options.results} has no results")
    records.sort(key=lambda record: PRECISIONS.index(record["precision"]))
    folder = options.report.parent
    raw = os.path.relpath(options.results, folder) if options.results.is_relative_to(folder) else options.results.name
    lines = [
        "# Figures of the OpenCL backend", "",
        "`python3 native/opencl/figures.py` measured them, in as many runs as it took; "
        f"[`{options.results.name}`]({raw}) has the seconds of every round.", "",
        f"Each row is the median of {every(records, lambda record: record['rounds'])} rounds in turns with the peer in the "
        "same precision (for tf32x3 it is fp32); transfers are left out. The limit of a row is copying where its rate is in "
        "GB/s, and fp32 multiply-adds elsewhere. Matrix units do more than this limit: their rows can pass 100 %.", ""]
    for device in dict.fromkeys(record["device"] for record in records):
        lines += device_section(device, [record for record in records if record["device"] == device])
    options.report.write_text("\n".join(lines))


# --------------------------------------------------------------------------------------------------------------- steps

def device_words(options):
    return ["--device", options.device] if options.device else []


def find_device(options):
    devices = json.loads(subprocess.check_output([PROGRAM, "info", "--json"]))["opencl"]["devices"]
    if not devices:
        sys.exit("there is no OpenCL device on this machine")
    chosen = options.device or "0"
    return (devices[int(chosen)] if chosen.isdigit() else
            next(device for device in devices if chosen.lower() in device["name"].lower()))


def commit_here():
    """The commit of this folder; a copy without its history has none."""
    asked = ["git", "-C", ROOT, "rev-parse", "--short", "HEAD"]
    try:
        return subprocess.run(asked, check=True, text=True, capture_output=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def about_of(options):
    """Returns what all records of this run have in common."""
    device = find_device(options)
    return {"device": device["name"], "opencl": device["version"], "driver": device["driver"], "torch": peers.VERSION,
            "commit": options.commit or commit_here(), "date": str(datetime.date.today()), "tuned": device["tuned"]}


def run(*words, **variables):
    subprocess.run([str(word) for word in words], cwd=ROOT, check=True, env={**os.environ, **variables})


def build(libraries):
    """Builds the program and its tests, with the packed libraries where there are any."""
    packed = [f"-DHEADLENS_TOOLCHAIN={libraries}", "-DHEADLENS_SOURCES_ONLY=ON"] if libraries.exists() else []
    run("cmake", "--preset", "native", "-DHEADLENS_OPENCL=REQUIRED", *packed)
    run("cmake", "--build", "--preset", "native", "--parallel", os.cpu_count(), "--target", "headlens", "headlens_tests")


def read_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="", help="number or part of the name, as `headlens info` lists them")
    parser.add_argument("--steps", default="build,test,tune,measure,report")
    parser.add_argument("--minutes", type=float, default=9, help="measuring ends before they are over, all steps counted")
    parser.add_argument("--filter", default="", help="only rows whose name matches")
    parser.add_argument("--again", action="store_true", help="measure also rows that have a result of this commit")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--results", type=pathlib.Path, default=HERE / "results.jsonl")
    parser.add_argument("--report", type=pathlib.Path, default=HERE / "RESULTS.md")
    parser.add_argument("--libraries", type=pathlib.Path, default=ROOT / "build" / "libraries",
                        help="folder that the step pack fills, and from which the step build takes the libraries")
    parser.add_argument("--commit", default="", help="the commit of these sources, for a copy without its history")
    options = parser.parse_args()
    for name in ("results", "report", "libraries"):
        setattr(options, name, getattr(options, name).resolve())
    return options


def main():
    started, options = time.monotonic(), read_options()
    steps = options.steps.split(",")
    peers.prepare()
    if "pack" in steps:
        pack.pack(options.libraries)
    if "build" in steps and not PROGRAM.exists():
        build(options.libraries)
    if "test" in steps:
        run(BUILD / "headlens_tests", HEADLENS_OPENCL_DEVICE=options.device)
    if "tune" in steps:
        run(PROGRAM, "bench", "--tune", "--backend", "opencl", *device_words(options))
    if "measure" in steps:
        try:
            measure(options, started + 60 * options.minutes)
        except Ended as error:
            sys.exit(str(error))
    if "report" in steps:
        report(options)


if __name__ == "__main__":
    main()
