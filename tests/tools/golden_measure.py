"""Counts what `assay opcheck` makes of honest and spoilt runs of the cases of golden operators."""
from __future__ import annotations

import collections
import concurrent.futures
import dataclasses
import importlib
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import numpy as np

from golden_case import Case, Run
from golden_dump import dump_folder, token_folder, write_operator

HERE = pathlib.Path(__file__).resolve().parent
REALS = ("float16", "bfloat16", "float32")
IN_ONE_DUMP = 50  # honest runs: to start the program takes longer than to check an operator
MOST_MISSES = 3  # that are kept of one fault of one case


def all_cases(only: str | None = None) -> list[Case]:
    return [case for path in sorted(HERE.glob("golden_cases_*.py"))
            for case in importlib.import_module(path.stem).CASES if not only or only in case.op]


class Opcheck:
    """The program, on dumps that are written for it."""

    def __init__(self, program: pathlib.Path, work: pathlib.Path, threads: int = 0) -> None:
        self.program, self.work, self.threads = program, work, threads

    def verdicts(self, runs: list[tuple[str, Run]], before: bool = True) -> list[list[dict]]:
        """Of each run the rows of its outputs. Runs of one kind of processor at a time: a command has one --soc."""
        rows: list[list[dict]] = [[] for _ in runs]
        for soc in sorted({run.soc for _, run in runs}):
            root = pathlib.Path(tempfile.mkdtemp(dir=self.work))
            names = {}
            for number, (op, run) in enumerate(runs):
                if run.soc != soc:
                    continue
                own = run.params.get("rank", 0) if run.ranks else 0
                names[write_operator(token_folder(root, own), number, op, run, before)] = number
                for rank, inputs in enumerate(run.ranks):
                    if rank != own:
                        params = {**run.params, "rank": rank} if "rank" in run.params else run.params
                        write_operator(token_folder(root, rank), number, op, Run(params, inputs, []), before)
            command = [self.program, "opcheck", dump_folder(root), "--report", "jsonl", "--output", root / "out", "-q",
                       "--threads", str(self.threads)]
            done = subprocess.run(command + (["--soc", soc] if soc else []), capture_output=True, text=True, timeout=600)
            results = list((root / "out").glob("*.jsonl"))
            if done.returncode not in (0, 1, 2) or not results:
                sys.exit(f"opcheck ended with {done.returncode}: {done.stderr[-2000:]}")
            for line in results[0].read_text().splitlines():
                row = json.loads(line)
                if "verdict" in row and row.get("mine"):
                    rows[names[row["mine"].split("/")[0]]].append(row)
            shutil.rmtree(root)
        return rows


@dataclasses.dataclass
class Counts:
    """Of one case in one type."""
    runs: int = 0
    alarms: list[str] = dataclasses.field(default_factory=list)
    alarmed: int = 0
    planted: collections.Counter = dataclasses.field(default_factory=collections.Counter)  # by fault
    missed: collections.Counter = dataclasses.field(default_factory=collections.Counter)
    hidden: collections.Counter = dataclasses.field(default_factory=collections.Counter)  # planted, and within rounding
    seen: collections.Counter = dataclasses.field(default_factory=collections.Counter)    # of these, caught all the same
    misses: list[str] = dataclasses.field(default_factory=list)

    def add(self, other: "Counts") -> None:
        self.runs += other.runs
        self.alarmed += other.alarmed
        self.alarms += other.alarms
        self.planted.update(other.planted)
        self.missed.update(other.missed)
        self.hidden.update(other.hidden)
        self.seen.update(other.seen)
        self.misses += other.misses

    def faults(self) -> tuple[int, int, int, int]:
        """Planted; within rounding, and of these caught; missed of the others."""
        return self.planted.total(), self.hidden.total(), self.seen.total(), self.missed.total()


def type_of(run: Run) -> str:
    """What the operator computed in: the first real type of its tensors."""
    types = [t.dtype for t in run.inputs + run.outputs]
    return next((t for t in types if t in REALS), types[0])


def differs(wrong: Run, honest: Run) -> bool:
    """A fault that happens to change nothing is none."""
    return any(w.array.shape != h.array.shape or w.array.tobytes() != h.array.tobytes()
               for w, h in zip(wrong.outputs, honest.outputs))


def measure(opcheck: Opcheck, case: Case, rng: np.random.Generator, rounds: int, faults_per_run: int = 0) -> dict[str, Counts]:
    """By type. `faults_per_run` 0: each run is spoilt in every way."""
    counts: dict[str, Counts] = collections.defaultdict(Counts)
    ways = list(case.faults.items())
    turn = int(rng.integers(len(ways)))
    while rounds > 0:
        runs = [case.make(rng) for _ in range(min(rounds, IN_ONE_DUMP))]
        rounds -= len(runs)
        spoilt = []
        for run in runs:
            chosen = ways if faults_per_run == 0 else [ways[(turn + k) % len(ways)] for k in range(faults_per_run)]
            turn += faults_per_run
            for fault, change in chosen:
                wrong = dataclasses.replace(run, outputs=change(rng, run))
                if differs(wrong, run):
                    hidden = case.is_within_rounding is not None and case.is_within_rounding(run, wrong.outputs)
                    spoilt.append((fault, wrong, hidden))
        found = opcheck.verdicts([(case.op, run) for run in runs] + [(case.op, wrong) for _, wrong, _ in spoilt])
        for run, rows in zip(runs, found):
            bad = [r for r in rows if r["verdict"] not in ("pass", "ignored")]
            own = counts[type_of(run)]
            own.runs += 1
            own.alarmed += bool(bad) or not rows
            own.alarms += [f"{r['verdict']}: {r.get('reason') or r.get('note')} {json.dumps(run.params)}" for r in bad]
        for (fault, wrong, hidden), rows in zip(spoilt, found[len(runs):]):
            own = counts[type_of(wrong)]
            own.planted[fault] += 1
            is_caught = any(r["verdict"] == "fail" for r in rows)
            own.hidden[fault] += hidden
            own.seen[fault] += hidden and is_caught
            if is_caught or hidden:
                continue
            own.missed[fault] += 1
            if own.missed[fault] <= MOST_MISSES:
                shapes = [list(t.array.shape) for t in wrong.inputs]
                own.misses.append(f"{fault}: {[r['verdict'] for r in rows]}, bound_max {[r.get('bound_max') for r in rows]}, "
                                  f"{json.dumps(wrong.params)[:300]}, {shapes}")
    return dict(counts)


# ----- several at once

def measure_part(program: str, work: str, only: str | None, case: int, part: int, seed: int, faults_per_run: int,
                 rounds: int = IN_ONE_DUMP):
    """One dump of one case, in a process of its own."""
    chosen = all_cases(only)[case]
    rng = np.random.default_rng([seed, part, *chosen.op.encode(), *chosen.name.encode()])
    opcheck = Opcheck(pathlib.Path(program), pathlib.Path(work), 1)
    return case, measure(opcheck, chosen, rng, rounds, faults_per_run)


def is_done(counts: dict[str, Counts], rounds: int) -> bool:
    reals = [c.runs for dtype, c in counts.items() if dtype in REALS]
    return min(reals or [c.runs for c in counts.values()], default=0) >= rounds


def measure_all(program: pathlib.Path, work: pathlib.Path, only: str | None, rounds: int, seed: int, jobs: int, minutes: float,
                faults_per_run: int) -> list[tuple[Case, dict[str, Counts]]]:
    """Each case in turn, a dump at a time, until it has `rounds` runs of every real type or time is up."""
    cases = all_cases(only)
    totals: list[dict[str, Counts]] = [collections.defaultdict(Counts) for _ in cases]
    parts = [0] * len(cases)
    queue = collections.deque(range(len(cases)))
    end = time.monotonic() + 60 * minutes
    with concurrent.futures.ProcessPoolExecutor(jobs) as pool:
        running = set()
        while queue or running:
            while queue and len(running) < 2 * jobs and time.monotonic() < end:
                case = queue.popleft()
                if parts[case] > 0 and is_done(totals[case], rounds):
                    continue
                running.add(pool.submit(measure_part, str(program), str(work), only, case, parts[case], seed, faults_per_run,
                                        min(rounds, IN_ONE_DUMP)))
                parts[case] += 1
                queue.append(case)
            if not running:
                break
            done, running = concurrent.futures.wait(running, return_when=concurrent.futures.FIRST_COMPLETED)
            for each in done:
                case, counts = each.result()
                for dtype, own in counts.items():
                    totals[case][dtype].add(own)
    return list(zip(cases, totals))
