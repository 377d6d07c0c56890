#!/usr/bin/python3
"""What it costs a program to hand its tensors over, as ratios measured in one run (bench/capture_rates.cc).

Usage: bench/capture.py [--bin build/release] [--work DIR] [--files 100000] [--write]
Prints Markdown; --write puts it into bench/results_capture.md. Copies and statistics are CPU time of the caller's thread, the least of
several turns; files are wall time until all are written, and want a machine and a disk without other work. The exit code is 1 if a
target is missed.
"""
from __future__ import annotations

import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from common import Report, arguments, binaries, machine, work_folder  # noqa: E402

# Least share of the plain rate.
TARGETS = {"copy_again": 0.8, "copy_first": 0.8, "burst": 0.9, "handed_over": 0.9, "large_files": 0.9, "small_files": 0.8,
           **{f"statistics_{name}": 0.5 for name in ("f32", "f16", "bf16", "i8")}}
TITLES = {"copy_again": "copy, memory used again (memcpy to warm memory)", "copy_first": "copy, new memory (memcpy to new memory)",
          "burst": "16 files of 64 MiB copied, which fill the budget, until written (fopen, fwrite, rename)",
          "handed_over": "64 files of 64 MiB handed over, until written (fopen, fwrite, rename)",
          "large_files": "64 files of 64 MiB copied, until written (fopen, fwrite, rename)",
          "small_files": "files of 1 KiB, until written (fopen, fwrite, rename)"}
QUERIES = {"environment": {"ATB_DUMP_TYPE": "tensor", "ATB_SAVE_TENSOR_IDS": "5,7_1", "ATB_SAVE_TENSOR_RUNNER": "self,rms",
                           "ATB_SAVE_TENSOR_RANGE": "0,3"}}
MOST_NS = 100


def main() -> int:
    parser = arguments(__doc__, "results_capture.md")
    parser.add_argument("--files", type=int, default=100_000, help="small files")
    options = parser.parse_args()
    folder = binaries(options, "bench/bench_capture_rates", "libassay_probe.so", "hosts/abi1/atb_host")
    report = Report()
    with work_folder(options) as work:
        done = subprocess.run([folder / "bench" / "bench_capture_rates", work, str(options.files)], stdout=subprocess.PIPE, text=True,
                              check=True)
        rows = [line.split() for line in done.stdout.splitlines()]
        report.heading("Ours against the least that must be done")
        for name, ours, plain in ((name, float(ours), float(plain)) for name, ours, plain in rows):
            if name == "memory_mb":
                report.line("memory beyond what was there before, budget 256 MB", f"{ours:.0f} MB", f"{plain + 64:.0f} MB",
                            ours <= plain + 64)
                continue
            title = TITLES.get(name) or f"statistics of {name[11:].replace('_', ' ')}, caller's thread (summing up words of 8 bytes)"
            unit = "files/s" if name == "small_files" else "GB/s"
            target = TARGETS.get(name)
            report.line(title, f"{ours:.4g} / {plain:.4g} {unit} = {ours / plain:.2f}", f"{target:.2f}" if target else "none",
                        target is None or ours / plain >= target)
        report.heading("Questions that ATB asks, answered with no")
        plain = {name: value for name, value in os.environ.items() if not name.startswith("ATB_")}
        more = {"LD_PRELOAD": str(folder / "libassay_probe.so"), "ATB_OUTPUT_DIR": f"{work}/", **QUERIES["environment"]}
        best: dict[str, float] = {}
        for _ in range(5):
            asked = subprocess.run([folder / "hosts" / "abi1" / "atb_host", "queries"], env={**plain, **more}, stdout=subprocess.PIPE,
                                   text=True, check=True).stdout
            for name, ns in (line.split() for line in asked.splitlines()[:4]):
                best[name] = min(best.get(name, 1e9), float(ns))
        for name, ns in best.items():
            report.line(name, f"{ns:.0f} ns", f"{MOST_NS} ns", ns <= MOST_NS)
    head = ["# What capturing costs the program", "", f"Made by `bench/capture.py --write`. {machine()}.",
            "The original probe: statistics of f32 at 1.9 GB/s, of f16 at 0.05 GB/s, tensors at 0.22 GB/s of the caller's time."]
    return report.finish(options, "results_capture.md", head)


if __name__ == "__main__":
    sys.exit(main())
