#!/usr/bin/python3
"""End-to-end benchmarks: `assay compare` against a plain program that reads and sums the same bytes, and against NumPy.

Usage: bench/run.py [--build build/release] [--work DIR] [--write]
Prints Markdown; --write puts it into bench/results.md. Every time is the best of several runs, page cache warm.
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from common import ROOT, machine  # noqa: E402

GIB = 1 << 30
REPEATS = 5


def best(function, repeats=REPEATS):
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


def run(*command, codes=(0, 1)):
    done = subprocess.run([str(part) for part in command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if done.returncode not in codes:
        sys.exit(f"{' '.join(map(str, command))}: exit {done.returncode}\n{done.stderr}")
    return done


def peak_memory(*command):
    """Largest resident set in MB, read from the child itself."""
    pid = os.fork()
    if pid == 0:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(null, 2)
        os.execv(str(command[0]), [str(part) for part in command])
    _, status, usage = os.wait4(pid, 0)
    if os.waitstatus_to_exitcode(status) not in (0, 1):
        sys.exit(f"{' '.join(map(str, command))}: failed")
    return usage.ru_maxrss / 1024


def large_pair(folder, elements):
    block = np.random.default_rng(1).standard_normal(1 << 22, dtype=np.float32)
    for name, factor in (("golden", 1), ("mine", np.float32(1 + 1e-6))):
        array = np.lib.format.open_memmap(folder / f"{name}.npy", mode="w+", dtype=np.float32, shape=(elements,))
        for first in range(0, elements, len(block)):
            array[first:first + len(block)] = block[: elements - first] * factor
        del array
    return folder / "mine.npy", folder / "golden.npy"


def as_pt(assay, mine, golden):
    out = []
    for path in (mine, golden):
        target = path.with_suffix(".pt")
        run(assay, "convert", path, target, "--force")
        out.append(target)
    return out


def numpy_metrics(mine, golden):
    """The default metrics with NumPy in float64, one expression per metric."""
    a = np.load(mine).astype(np.float64)
    b = np.load(golden).astype(np.float64)
    d = a - b
    return (np.abs(d).max(), np.sqrt((d * d).sum() / (b * b).sum()), (a * b).sum() / np.sqrt((a * a).sum() * (b * b).sum()),
            np.abs(d).mean(), (a == b).sum(), np.isfinite(a).all(), np.isfinite(b).all(), np.abs(d).argmax(),
            a.min(), a.max(), a.mean(), b.min(), b.max(), b.mean())


def small_pairs(folder, count):
    values = np.random.default_rng(2).standard_normal(1000).astype(np.float32)
    for side in ("mine", "golden"):
        (folder / side).mkdir()
        for i in range(count):
            np.save(folder / side / f"{i}.npy", values)
    return folder / "mine", folder / "golden"


def deflated_pair(folder, mib, order):
    """Two .npz of one array each: the same elements, whose bytes lie in this order."""
    rows = 1 << 10
    array = np.random.default_rng(3).standard_normal((rows, (mib << 18) // rows), dtype=np.float32).round(2)
    for name in ("mine", "golden"):
        np.savez_compressed(folder / f"{name}.npz", x=np.asarray(array, order=order))
    return folder / "mine.npz", folder / "golden.npz"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release")
    parser.add_argument("--work", type=pathlib.Path, help="folder for the data (12 GiB); default: a temporary one")
    parser.add_argument("--write", action="store_true", help="write bench/results.md")
    options = parser.parse_args()
    assay = options.build / "assay"
    plain = options.build / "bench" / "bench_plain_sum"
    work = pathlib.Path(tempfile.mkdtemp(dir=options.work))
    lines = []
    try:
        kernels = subprocess.run([options.build / "bench" / "bench_kernels"], capture_output=True, text=True, check=True).stdout
        lines += ["## Kernels: time as a multiple of merely reading both arrays (SIMD sum)", "", kernels]

        mine, golden = large_pair(work, GIB // 4)
        mine_pt, golden_pt = as_pt(assay, mine, golden)
        lines += ["## Two tensors of 1 GiB (f32), page cache warm", "",
                  "| format | threads | read and sum, s | assay compare, s | ratio |", "|---|---|---|---|---|"]
        for a, b in ((mine, golden), (mine_pt, golden_pt)):
            for threads in (1, 2):
                reading = best(lambda: run(plain, threads, 128, a, b))
                comparing = best(lambda: run(assay, "compare", a, b, "--threads", threads))
                lines.append(f"| {a.suffix} | {threads} | {reading:.3f} | {comparing:.3f} | {comparing / reading:.2f} |")
        with_numpy = best(lambda: numpy_metrics(mine, golden), 1)
        one_thread = best(lambda: run(assay, "compare", mine, golden, "--threads", 1), 3)
        lines += ["", f"NumPy (float64, one expression per metric, without ULPs) on the same pair: {with_numpy:.1f} s, "
                      f"{with_numpy / one_thread:.0f} times the {one_thread:.2f} s of assay on one thread.", ""]
        for path in (mine, golden, mine_pt, golden_pt):
            path.unlink()

        lines += ["## Two deflated .npz, f32: time grows with the size, not with its square, in either order", "",
                  "| order | 64 MiB, s | 256 MiB, s | ratio |", "|---|---|---|---|"]
        for order, name in (("C", "C"), ("F", "Fortran")):
            times = []
            for mib in (64, 256):
                a, b = deflated_pair(work, mib, order)
                times.append(best(lambda: run(assay, "compare", a, b), 3))
                a.unlink(), b.unlink()
            lines.append(f"| {name} | {times[0]:.2f} | {times[1]:.2f} | {times[1] / times[0]:.1f} |")
        lines.append("")

        count = 20000
        small = work / "small"
        small.mkdir()
        a, b = small_pairs(small, count)
        seconds = best(lambda: run(assay, "compare", a, b, "--threads", 1, "--report", "csv", "--output", work / "csv", "-q"), 3)
        lines += [f"## {count} pairs of .npy with 1,000 elements, csv report", "",
                  f"{seconds:.2f} s on one thread: {count / seconds:,.0f} pairs a second.", ""]
        shutil.rmtree(small)

        mine, golden = large_pair(work, GIB)
        lines += ["## Peak resident memory, two tensors of 4 GiB", "", "| layout | threads | MB |", "|---|---|---|"]
        for threads in (1, 2):
            lines.append(f"| C order | {threads} | {peak_memory(assay, 'compare', mine, golden, '--threads', threads):.0f} |")
        fortran = work / "fortran.npy"
        with open(mine, "rb") as file:
            header = file.read(128)
        shape = header.replace(b"'fortran_order': False", b"'fortran_order': True ").replace(b"(1073741824,)", b"(32768, 32768)")
        shape = shape[:127].ljust(127)[:127] + b"\n"
        os.rename(golden, fortran)
        with open(fortran, "r+b") as file:
            file.write(shape)
        with open(mine, "r+b") as file:
            file.write(header.replace(b"(1073741824,)", b"(32768, 32768)")[:127].ljust(127)[:127] + b"\n")
        start = time.perf_counter()
        memory = peak_memory(assay, "compare", mine, fortran, "--threads", 2)
        lines.append(f"| C against Fortran order, {time.perf_counter() - start:.1f} s | 2 | {memory:.0f} |")
    finally:
        shutil.rmtree(work)
    text = "\n".join(["# Measured with bench/run.py", "", f"{machine()}.", ""] + lines) + "\n"
    print(text)
    if options.write:
        (ROOT / "bench" / "results.md").write_text(text)


if __name__ == "__main__":
    main()
