#!/usr/bin/python3
"""What it costs a program to hand its tensors over, as ratios measured in one run (bench/capture_rates.cc).

Usage: bench/capture.py [--bin build/release] [--work DIR] [--files 100000] [--original LIBRARY] [--write]
Prints Markdown; --write puts it into bench/results_capture.md. Copies and statistics are CPU time of the caller's thread, the least of
several turns; files are wall time until all are written, and want a machine and a disk without other work (elsewhere `chrt -f 10`, which
lets nothing else run meanwhile). --original: a probe of the original tool, of the third generation, which then records the same program
beside ours. The exit code is 1 if a target is missed.
"""
from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from common import Report, Usage, arguments, binaries, machine, work_folder  # noqa: E402

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
LEAST_OF_PLAIN, LEAST_OF_ORIGINAL = 0.8, 5
WAYS = {"stdio": "fopen, fwrite, rename", "direct": "open, write, close", "unnamed": "a file without a name, link"}


def small_files(report: Report, folder: pathlib.Path, work: pathlib.Path, count: int, original: pathlib.Path | None) -> None:
    """A program that hands over tensors of 1 KiB, with a probe in it, and what the kernel takes for the same files."""
    config = work / "config.json"
    config.write_text(json.dumps({"task": "tensor", "dump_enable": True, "exec_range": "all", "save_child": True, "filter_level": 0}))
    config.chmod(0o600)
    places = iter(range(1000))

    def place() -> pathlib.Path:
        out = work / f"small{next(places)}"  # removed at the end alone: see bench/capture_rates.cc
        out.mkdir()
        return out

    def probe(library: pathlib.Path, in_a_folder: int) -> Usage:
        out = place()
        done = Usage("env", "-i", f"LD_PRELOAD={library}", f"ATB_OUTPUT_DIR={out}/", f"ATB_DUMP_CONFIG={config}",
                     folder / "hosts" / "abi1" / "atb_host", "kernels", count, in_a_folder, repeats=1)
        written = sum(name.startswith("outtensor") for _, _, names in os.walk(out) for name in names)
        if written != count:  # the quickest way is to lose them: both probes leave 2 GiB of the disk free
            sys.exit(f"{library}: {written} of {count} files were written to {work}; is there room for them?")
        return done

    def plain(way: str, threads: int, in_a_folder: int) -> Usage:
        return Usage(folder / "bench" / "bench_plain_files", place(), way, count, in_a_folder, threads, repeats=1)

    for in_a_folder in (1, 20):
        runs = {(way, threads): (lambda way=way, threads=threads: plain(way, threads, in_a_folder)) for way in WAYS for threads in (1, 2)}
        runs["ours", 0] = lambda: probe(folder / "libassay_probe.so", in_a_folder)
        if original:
            runs["original", 0] = lambda: probe(original, in_a_folder)
        best: dict[tuple[str, int], Usage] = {}
        for turn in range(2):
            for name, run in list(runs.items())[::1 if turn == 0 else -1]:
                done = run()
                if name not in best or done.seconds < best[name].seconds:
                    best[name] = done
        for name, usage in best.items():
            title = {"ours": "our probe", "original": "the original probe"}.get(name[0]) or f"{WAYS[name[0]]}; {name[1]} threads"
            report.line(f"{title}; {in_a_folder} in a folder", f"{count / usage.seconds:.0f} files/s, {usage.cpu / count * 1e6:.1f} us of CPU time each",
                        "none", True)
        ours, stdio = best["ours", 0], best["stdio", 2]
        rate = stdio.seconds / ours.seconds
        report.line(f"our probe to {WAYS['stdio']} on 2 threads; {in_a_folder} in a folder", f"{rate:.2f}", f"{LEAST_OF_PLAIN}",
                    rate >= LEAST_OF_PLAIN)
        if original:
            theirs = best["original", 0]
            least = min(usage.seconds for name, usage in best.items() if name[0] in ("direct", "unnamed"))
            rate, bound = theirs.seconds / ours.seconds, theirs.seconds / least
            report.line(f"our probe to the original; {in_a_folder} in a folder", f"{rate:.1f} in files/s, {theirs.cpu / ours.cpu:.1f} in CPU time; "
                        f"the quickest loop that only writes: {bound:.1f}", f"{LEAST_OF_ORIGINAL}, where that loop reaches it",
                        rate >= LEAST_OF_ORIGINAL or bound < LEAST_OF_ORIGINAL)


def main() -> int:
    parser = arguments(__doc__, "results_capture.md")
    parser.add_argument("--files", type=int, default=100_000, help="small files")
    parser.add_argument("--original", type=pathlib.Path, help="a probe of the original tool, to run beside ours")
    options = parser.parse_args()
    folder = binaries(options, "bench/bench_capture_rates", "bench/bench_plain_files", "libassay_probe.so", "hosts/abi1/atb_host")
    report = Report()
    with work_folder(options) as work:
        report.heading("Files of 1 KiB, until all are written")
        small_files(report, folder, work, options.files // 5, options.original and options.original.resolve())
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
