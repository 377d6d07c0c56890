"""What the benchmarks share: measuring a command, a table with targets, and their command line."""
from __future__ import annotations

import argparse
import contextlib
import os
import pathlib
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from typing import Iterator

ROOT = pathlib.Path(__file__).resolve().parent.parent
MIB = 1 << 20


# A process that is started by a large one counts that one's memory as its own. So a small one starts it, and tells.
LAUNCHER = """
import os, subprocess, sys, time
start = time.perf_counter()
child = subprocess.Popen(sys.argv[2:], stdin=subprocess.DEVNULL)
_, status, usage = os.wait4(child.pid, 0)
seconds = time.perf_counter() - start
child.returncode = os.waitstatus_to_exitcode(status)
os.write(int(sys.argv[1]), f"{seconds} {usage.ru_utime + usage.ru_stime} {usage.ru_maxrss} {child.returncode}".encode())
"""


class Usage:
    """The best time, the least CPU time and the largest resident set of some runs of one command."""

    def __init__(self, *command, repeats: int = 3, codes: tuple[int, ...] = (0,)):
        self.seconds, self.cpu, self.megabytes = float("inf"), float("inf"), 0.0
        words = [str(word) for word in command]
        for _ in range(repeats):
            told, tell = os.pipe()
            with tempfile.TemporaryFile() as output, open(told, closefd=True) as answer:
                subprocess.run([sys.executable, "-IS", "-c", LAUNCHER, str(tell), *words], pass_fds=[tell], stdout=output,
                               stderr=subprocess.STDOUT, check=True)
                os.close(tell)
                seconds, cpu, kilobytes, code = map(float, answer.read().split())
                self.seconds, self.cpu = min(self.seconds, seconds), min(self.cpu, cpu)
                self.megabytes = max(self.megabytes, kilobytes / 1024)
                if code not in codes:
                    output.seek(0)
                    sys.exit(f"{' '.join(words)}: exit {code:g}\n{output.read()[-2000:].decode(errors='replace')}")


def write_pairs(path: pathlib.Path, pairs) -> pathlib.Path:
    """The list that bench_plain_measure reads: a count, and type, offset and path of either side."""
    with open(path, "w") as file:
        for count, *sides in pairs:
            print(count, *(field for side in sides for field in side), sep="\t", file=file)
    return path


class Report:
    def __init__(self) -> None:
        self.lines: list[str] = []
        self.missed = 0

    def heading(self, text: str) -> None:
        self.lines += ["", f"## {text}", "", "| what | measured | target | |", "|---|---|---|---|"]
        print("\n".join(self.lines[-5:]), flush=True)

    def line(self, what: str, measured: str, target: str, met: bool) -> None:
        self.missed += not met
        self.lines.append(f"| {what} | {measured} | {target} | {'' if met else 'missed'} |")
        print(self.lines[-1], flush=True)

    def finish(self, options: argparse.Namespace, name: str, head: list[str]) -> int:
        """Writes the table where that was asked for; the exit code."""
        if options.write:
            (ROOT / "bench" / name).write_text("\n".join(head + self.lines) + "\n")
        print(f"\n{self.missed} targets missed")
        return self.missed > 0


def machine() -> str:
    """CPU, cores and commit."""
    commit = subprocess.run(["git", "-C", ROOT, "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    names = (line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name"))
    return f"{next(names, platform.machine())}, {os.cpu_count()} cores, commit {commit}"


def arguments(description: str, results: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build" / "release", help="folder of assay and bench/")
    parser.add_argument("--work", type=pathlib.Path, help="folder for the data; default: a temporary one")
    parser.add_argument("--write", action="store_true", help=f"write bench/{results}")
    return parser


def binaries(options: argparse.Namespace, *programs: str) -> pathlib.Path:
    for program in programs:
        if not (options.bin / program).is_file():
            sys.exit(f"{options.bin / program}: no such program; build the release preset, or name its folder with --bin")
    return options.bin.resolve()


@contextlib.contextmanager
def work_folder(options: argparse.Namespace) -> Iterator[pathlib.Path]:
    work = pathlib.Path(tempfile.mkdtemp(dir=options.work))
    try:
        yield work
    finally:
        shutil.rmtree(work)
