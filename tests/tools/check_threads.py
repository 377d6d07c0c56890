#!/usr/bin/python3
"""What is compared, inspected and compacted on one thread and on many: the same bytes.

    check_threads.py --bin build/release [--only NAME] [--keep FOLDER]

What a sanitizer finds is a failure in any build.
"""
from __future__ import annotations

import array
import os
import pathlib
import random
import shutil
import sys
import zipfile

from checker import Checker, run_checks, tail

THREADS = (1, 2, 8)
LARGE = 9 << 20  # elements: more than two bands, which run on threads of their own


def npy(values: array.array, shape: tuple[int, ...] | None = None, fortran: bool = False) -> bytes:
    header = f"{{'descr': '<f4', 'fortran_order': {fortran}, 'shape': {shape or (len(values),)}, }}".encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + values.tobytes()


def floats(count: int, seed: int) -> array.array:
    """A short run of numbers again and again: to draw millions of them would take longer than to compare them."""
    chance = random.Random(seed)
    values = array.array("f", (chance.gauss(0, 1) for _ in range(min(count, 4099))))
    return (values * (count // len(values) + 1))[:count]


def nudged(values: array.array, every: int) -> array.array:
    out = values[:]
    for i in range(every // 2, len(out), every):
        out[i] += 0.5
    return out


def small(side: pathlib.Path, is_mine: bool) -> None:
    for i in range(300):
        values = floats(100 + i, i)
        path = side / f"step{i % 3}" / f"layers.{i}.npy"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(npy(nudged(values, 17) if is_mine and i % 7 == 0 else values))
    (side / "broken.npy").write_bytes(npy(floats(100, 1))[:-7])


def large(side: pathlib.Path, is_mine: bool) -> None:
    side.mkdir()
    values = floats(LARGE, 1)
    (side / "x.npy").write_bytes(npy(nudged(values, 1 << 20) if is_mine else values))


def turned(side: pathlib.Path, is_mine: bool) -> None:
    side.mkdir()
    (side / "x.npy").write_bytes(npy(floats(3072 * 1536, 1), (3072, 1536), fortran=is_mine))


def deflated(side: pathlib.Path, is_mine: bool) -> None:
    side.mkdir()
    with zipfile.ZipFile(side / "x.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        for i in range(40):
            archive.writestr(f"layers.{i}.npy", npy(floats(20000, i), (200, 100), fortran=is_mine and i % 2 == 0))


DUMPS = {"many small files": small, "one large file": large, "other order": turned, "deflated": deflated}


def compare(checker: Checker, folder: pathlib.Path, threads: str) -> tuple:
    """What was printed, and what it should be the same in whatever the number of threads."""
    done = checker.start(["compare", "mine", "golden", "--metrics", "all", "--report", "csv,xlsx,jsonl,sqlite,html,terminal",
                          "--output", "out", "--threads", threads], folder)
    out = folder / "out"
    rows = [path.read_bytes().splitlines() for path in (*out.glob("*.csv"), *out.glob("*.jsonl"))]
    rows[-1:] = [table[:-1] for table in rows[-1:]]  # the summary says how long it took
    out.rename(folder / f"out{threads}")
    return done, (done.returncode, rows) if len(rows) == 2 else None


def inspect(checker: Checker, folder: pathlib.Path, threads: str) -> tuple:
    done = checker.start(["inspect", "mine", "--json", "--threads", threads], folder)
    return done, (done.returncode, done.stdout) if "histogram" in done.stdout else None


def compact(checker: Checker, folder: pathlib.Path, threads: str) -> tuple:
    copy = folder / "copy"
    shutil.copytree(folder / "mine", copy)
    done = checker.start(["compact", "copy", "--threads", threads], folder)
    left = {str(path.relative_to(copy)): path.read_bytes() for path in copy.rglob("*") if path.is_file()}
    shutil.rmtree(copy)
    return done, (done.returncode, left) if left else None


def check_dump(checker: Checker, name: str) -> None:
    folder = None
    for command in (compare, inspect, compact):
        title = f"{name}, {command.__name__}:"
        if not checker.wants(title):
            continue
        if folder is None:
            folder = checker.folder("threads")
            DUMPS[name](folder / "mine", True)
            DUMPS[name](folder / "golden", False)
        first, failures = None, []
        for threads in THREADS:
            done, answer = command(checker, folder, str(threads))
            found = done.stdout.find("Sanitizer: ")
            if found >= 0 or done.returncode not in (0, 1, 2):
                failures.append(f"--threads {threads}: exit {done.returncode}: {done.stdout[max(0, found - 30):][:3000]}")
            if answer is None:
                failures.append(f"--threads {threads}: no answer: {tail(done.stdout)}")
                break
            first = first or answer
            if answer != first:
                failures.append(f"--threads {threads}: the answer is not that of {THREADS[0]}")
        checker.report(title, failures)


def check(checker: Checker) -> None:
    os.environ |= {"ASSAY_NOW": "2025-01-02T03:04:05Z", "TZ": "UTC"}  # the hour is in the names of files
    for name in DUMPS:
        check_dump(checker, name)


if __name__ == "__main__":
    sys.exit(run_checks(__doc__, Checker, check))
