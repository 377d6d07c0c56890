#!/usr/bin/python3
"""Checkpoints of families of models, under the names of other systems against those of Hugging Face: each tensor meets its own.

    check_checkpoint_families.py --bin build/release [--only NAME] [--keep FOLDER]

All numbers of a model differ, so a row that agrees to the last bit was paired rightly. Of a clean pair every tensor must be
compared, agree, and be sure, in either direction. Then a tensor is made wrong, and only it may fail; and two of one shape in one
layer are exchanged, which must not pass.
"""
from __future__ import annotations

import collections
import csv
import pathlib
import sys

import numpy

from checker import Checker, run_checks, tail
from checkpoint_families import all_families
from checkpoint_parts import Family, Ranks
from checkpoints import Model, Tensors, save

# A handful of numbers tell nothing where names do not.
FEWEST = 16


def write(folder: pathlib.Path, family: Family, side: Tensors | Ranks, changed: dict[str, numpy.ndarray] | None = None) -> None:
    for rank, tensors in enumerate(side if isinstance(side, list) else [side]):
        values = family.filled(tensors)
        if rank == 0:
            values |= changed or {}
        save(folder / (f"mp_rank_{rank:02d}/model.safetensors" if isinstance(side, list) else "model.safetensors"), values)


class FamiliesChecker(Checker):
    def rows(self, folder: pathlib.Path) -> tuple[list[dict], str]:
        done = self.start(["compare", "mine", "golden", "--report", "csv", "--output", "out"], folder)
        tables = list((folder / "out").glob("*.csv"))
        if len(tables) != 1:
            return [], f"exit {done.returncode}: {tail(done.stdout)}"
        with open(tables[0], newline="") as file:
            return list(csv.DictReader(file)), ""


def key_of(name: str) -> str:
    return name.split("[")[0].split(":")[-1]


def check_clean(checker: FamiliesChecker, name: str, family: Family, side: Tensors | Ranks, is_golden: bool) -> list[dict]:
    folder = checker.folder("families")
    write(folder / ("golden" if is_golden else "mine"), family, side)
    write(folder / ("mine" if is_golden else "golden"), family, family.plain)
    rows, trouble = checker.rows(folder)
    failures = [trouble] if trouble else []
    failures += [f"{row['mine'] or row['golden']}: {row['status']}, {row['reason']} {row['note']}" for row in rows
                 if row["verdict"] != "pass" or row["max_abs"] != "0" or "unsure" in row["note"]]
    checker.report(name, failures[:5])
    return rows


def check_fault(checker: FamiliesChecker, name: str, family: Family, side: Tensors | Ranks, victim: str) -> None:
    folder = checker.folder("families")
    first = side[0] if isinstance(side, list) else side
    write(folder / "mine", family, side, {victim: numpy.random.default_rng(9).standard_normal(first[victim].shape).astype(numpy.float32)})
    write(folder / "golden", family, family.plain)
    rows, trouble = checker.rows(folder)
    failed = {key_of(row["mine"] or row["golden"]) for row in rows if row["verdict"] != "pass"}
    checker.report(name, [trouble] if trouble else [f"failing are {sorted(failed)}"] if failed != {victim} else [])


def check_exchanged(checker: FamiliesChecker, name: str, family: Family, side: Tensors | Ranks, both: list[str]) -> None:
    folder = checker.folder("families")
    values = family.filled(side[0] if isinstance(side, list) else side)
    write(folder / "mine", family, side, {both[0]: values[both[1]], both[1]: values[both[0]]})
    write(folder / "golden", family, family.plain)
    rows, trouble = checker.rows(folder)
    doubtful = {key_of(row["mine"]) for row in rows if row["verdict"] != "pass" or "unsure" in row["note"]}
    checker.report(name, [trouble] if trouble else [f"{each} passes" for each in both if each not in doubtful])


def of_one_shape(side: Tensors | Ranks) -> list[str]:
    """Two matrices of the second layer."""
    shapes = collections.defaultdict(list)
    for key, each in (side[0] if isinstance(side, list) else side).items():
        if (".1." in key or "_1/" in key) and each.ndim == 2 and "experts" not in key:
            shapes[each.shape].append(key)
    return next((keys[:2] for keys in shapes.values() if len(keys) > 1), [])


def check(checker: FamiliesChecker) -> None:
    found: collections.Counter = collections.Counter()
    for family in all_families():
        systems: dict[str, Tensors | Ranks] = dict(family.systems)
        big = {name: each for name, each in family.plain.items() if each.size >= FEWEST}
        for title, side in {**systems, "unknown words": Model.disguised(big), "names that say nothing": Model.meaningless(None, big)}.items():
            is_known = title in systems
            whole = Family(family.name, 0)
            whole.plain, whole.flat = (family.plain if is_known else big), family.flat
            for is_golden in (False, True):
                name = f"{family.name}, {title}{' as golden' if is_golden else ''}:"
                if not checker.wants(name):
                    continue
                rows = check_clean(checker, name, whole, side, is_golden)
                found.update({"rows": len(rows), "right": sum(row["max_abs"] == "0" for row in rows),
                              "wrong": sum(row["status"] == "compared" and row["max_abs"] != "0" and "unsure" not in row["note"] for row in rows)})
            tensors = side[0] if isinstance(side, list) else side
            victims = [key for key, each in tensors.items() if (".1." in key or "_1/" in key) and each.ndim == 2]
            name = f"{family.name}, {title}, a wrong tensor:"
            if is_known and victims and checker.wants(name):
                check_fault(checker, name, whole, side, victims[len(victims) // 2])
            name = f"{family.name}, {title}, two exchanged:"
            if is_known and of_one_shape(side) and checker.wants(name):
                check_exchanged(checker, name, whole, side, of_one_shape(side))
    if found["rows"]:
        print(f"{found['rows']} rows, {found['right']} paired rightly, {found['wrong']} wrong without a warning")


if __name__ == "__main__":
    sys.exit(run_checks(__doc__, FamiliesChecker, check))
