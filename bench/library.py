#!/usr/bin/python3
"""What libassay.so costs its callers: loading it, and comparing through it instead of with the program.

    bench/library.py --bin build/release [--before PROGRAM]     # --before: a program of an earlier commit, held against this one

CPU seconds, the least of several runs that take turns, so that a busy machine does not decide.
"""
from __future__ import annotations

import argparse
import pathlib
import sys
import tempfile

import numpy

from common import Usage

CALL = """
import ctypes, sys
library = ctypes.CDLL(sys.argv[1])
words = (ctypes.c_char_p * 4)(b"--threads", b"1", b"--rule", b"max_abs <= 1")
sys.exit(library.assay_compare(sys.argv[2].encode(), sys.argv[3].encode(), 4, words, None, None) if len(sys.argv) > 2 else 0)
"""
ROUNDS = 7


def make(folder: pathlib.Path) -> dict[str, tuple[pathlib.Path, pathlib.Path]]:
    chance = numpy.random.default_rng(0)
    sides = {"a pair of 192 MB": (folder / "a.npy", folder / "b.npy"), "3000 pairs of 16 KB": (folder / "a", folder / "b")}
    values = chance.standard_normal(48 << 20, dtype=numpy.float32)
    numpy.save(folder / "a.npy", values)
    values[::1000] += 1e-6
    numpy.save(folder / "b.npy", values)
    for side in ("a", "b"):
        (folder / side).mkdir()
        for i in range(3000):
            numpy.save(folder / side / f"layers.{i}.out.npy", values[i:i + 4096])
    return sides


def least(commands: dict[str, list]) -> dict[str, float]:
    best = dict.fromkeys(commands, float("inf"))
    for _ in range(ROUNDS):
        for name, command in commands.items():
            best[name] = min(best[name], Usage(*command, repeats=1).cpu)
    return best


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--before", type=pathlib.Path)
    options = parser.parse_args()
    library = (options.bin / "libassay.so").resolve()
    python = ["/usr/bin/python3", "-S", "-c"]
    with tempfile.TemporaryDirectory() as work:
        print("| CPU seconds | before | program | library | program / before | library / program |\n|---|---|---|---|---|---|")
        for name, sides in make(pathlib.Path(work)).items():
            flags = ["compare", *sides, "--threads", "1", "--rule", "max_abs <= 1"]
            commands = {"program": [options.bin / "assay", *flags], "library": [*python, CALL, library, *sides],
                        "python": [*python, "import ctypes, sys"]}
            if options.before:
                commands["before"] = [options.before, *flags]
            cpu = least(commands)
            called = cpu["library"] - cpu["python"]
            before = cpu.get("before", float("nan"))
            print(f"| {name} | {before:.3f} | {cpu['program']:.3f} | {called:.3f} | {cpu['program'] / before:.3f} | "
                  f"{called / cpu['program']:.2f} |", flush=True)
        cpu = least({"loaded": [*python, CALL, library], "python": [*python, "import ctypes, sys"]})
        print(f"\nTo load the library: {1000 * (cpu['loaded'] - cpu['python']):.1f} ms")
    return 0


if __name__ == "__main__":
    sys.exit(main())
