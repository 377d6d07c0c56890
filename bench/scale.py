#!/usr/bin/python3
"""assay-mpi on several processes, and on hosts whose reading is limited. Results go to results_scale.md.

    bench/scale.py [--bin build/release] [--work DIR] [--mib 384] [--rate 40] [--first COMMAND] [--write]

A host is made here: the processes on it share a limit of so many MiB read in a second (bench/slow_reading.cc), as those of a
real one share its disk or its network; --mib is the size of either side. All times are those of the whole command, with the
start of mpirun, but where it says otherwise. --first: what runs in front of each command, e.g. "chrt -f 10" where other work runs beside it.
The exit code is 1 if a target is missed.
"""
from __future__ import annotations

import os
import pathlib
import shlex
import subprocess
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from common import ROOT, Report, Usage, arguments, binaries, machine, work_folder  # noqa: E402

QUIET = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
         "OMPI_MCA_hwloc_base_binding_policy": "none", "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
         "ASSAY_NOW": "2025-01-02T03:04:05Z"}
FILE_MIB = 4
SPEED = 0.9
LARGER = 5  # from memory so many times as much is read


def make_dump(folder: pathlib.Path, mib: int) -> None:
    """Two folders of tensors that differ by rounding: a run that passes, since mpirun takes a second to end one that does not."""
    chance = np.random.default_rng(1)
    values = chance.standard_normal(FILE_MIB << 18, dtype=np.float32)
    for side in ("mine", "golden"):
        (folder / side).mkdir(parents=True)
    for i in range(mib // FILE_MIB):
        np.save(folder / "golden" / f"layers.{i}.npy", np.roll(values, i))
        values[i] *= np.float32(1.0000001)
        np.save(folder / "mine" / f"layers.{i}.npy", np.roll(values, i))


class Bench:
    def __init__(self, bins: pathlib.Path, work: pathlib.Path, options, report: Report):
        self.bins, self.work, self.options, self.report = bins, work, options, report
        self.first = shlex.split(options.first)
        self.runs = 0
        self.library = work / "slow_reading.so"
        subprocess.run(["g++", "-O2", "-std=c++20", "-shared", "-fPIC", "-o", self.library, ROOT / "bench" / "slow_reading.cc"],
                       check=True)

    def words(self, program: str, threads: int, dump: str = "large") -> list:
        self.runs += 1
        return [self.bins / program, "compare", self.work / dump / "mine", self.work / dump / "golden", "--threads", str(threads), "-q",
                "--report", "csv", "--output", self.work / f"out{self.runs}"]

    def last_report(self) -> bytes:
        return next((self.work / f"out{self.runs}").glob("*.csv")).read_bytes().split(b"\n", 1)[1]

    def alone(self, threads: int) -> Usage:
        return Usage(*self.first, *self.words("assay", threads), repeats=1, codes=(0,))

    def together(self, processes: int, threads: int) -> Usage:
        return Usage(*self.first, "mpirun", "-q", "-n", processes, *self.words("assay-mpi", threads), repeats=1, codes=(0,))

    def hosts(self, count: int) -> Usage:
        """One process of one thread on each host."""
        words = self.words("assay-mpi", 1, "small")
        command: list = []
        for host in range(count):
            limit = ["env", f"LD_PRELOAD={self.library}", f"SLOW_READING_HOST={self.work / f'host{self.runs}_{host}'}",
                     f"SLOW_READING_MIB_S={self.options.rate}"]
            command += [":"] * (host > 0) + ["-n", "1", *limit, *words]
        return Usage(*self.first, "mpirun", "-q", *command, repeats=1, codes=(0,))

    def one_machine(self) -> None:
        self.report.heading(f"One machine, {LARGER * self.options.mib} MiB a side, from memory")
        self.alone(2)
        best = {}
        for _ in range(self.options.repeats):
            for name, run in (("threads", lambda: self.alone(2)), ("processes", lambda: self.together(2, 1))):
                usage = run()
                rows = self.last_report()
                best.setdefault("rows", rows)
                if rows != best["rows"]:
                    sys.exit(f"{name}: another report")
                if name not in best or usage.seconds < best[name].seconds:
                    best[name] = usage
        threads, processes = best["threads"], best["processes"]
        speed = threads.seconds / processes.seconds
        start = min(Usage(*self.first, "mpirun", "-q", "-n", 2, self.bins / "assay-mpi", "--version").seconds for _ in range(3))
        self.report.line("2 processes of 1 thread, speed of 1 process of 2 threads",
                         f"{threads.seconds:.2f} s / {processes.seconds:.2f} s = {speed:.2f}", "none", True)
        self.report.line("… without the start of mpirun and MPI",
                         f"{threads.seconds:.2f} s / {processes.seconds - start:.2f} s = {threads.seconds / (processes.seconds - start):.2f}",
                         f"{SPEED}", threads.seconds / (processes.seconds - start) >= SPEED)
        self.report.line("… CPU time", f"{threads.cpu:.2f} s, {processes.cpu:.2f} s", "none", True)
        self.report.line("largest process", f"{threads.megabytes:.0f} MiB, {processes.megabytes:.0f} MiB",
                         "1.25", processes.megabytes <= 1.25 * threads.megabytes)

    def limited(self) -> None:
        self.report.heading(f"Hosts that read {self.options.rate} MiB/s, {self.options.mib} MiB a side")
        one = self.hosts(1)
        rows = self.last_report()
        amount = 2 * self.options.mib
        for count in (1, 2, 4):
            usage = self.hosts(count) if count > 1 else one
            if self.last_report() != rows:
                sys.exit(f"{count} hosts: another report")
            speed = one.seconds / usage.seconds
            self.report.line(f"{count} hosts: time, speed", f"{usage.seconds:.2f} s ({amount / self.options.rate / count:.2f} s by the "
                             f"model), {speed:.2f}", f"{SPEED * count:.1f}", speed >= SPEED * count)


def main() -> int:
    parser = arguments(__doc__, "results_scale.md")
    parser.add_argument("--mib", type=int, default=384, help="of either side (default 384)")
    parser.add_argument("--rate", type=int, default=40, help="MiB/s that a host reads (default 40)")
    parser.add_argument("--repeats", type=int, default=5, help="runs on one machine, of which the fastest counts (default 5)")
    parser.add_argument("--first", default="", help="in front of each command")
    options = parser.parse_args()
    os.environ.update(QUIET)
    bins = binaries(options, "assay", "assay-mpi")
    report = Report()
    with work_folder(options) as work:
        make_dump(work / "small", options.mib)
        make_dump(work / "large", LARGER * options.mib)
        bench = Bench(bins, work, options, report)
        bench.one_machine()
        bench.limited()
    return report.finish(options, "results_scale.md", [
        "# Comparisons on several processes and hosts", "", f"Made by `bench/scale.py --write`. {machine()}."])


if __name__ == "__main__":
    sys.exit(main())
