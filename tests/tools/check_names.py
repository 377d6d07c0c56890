#!/usr/bin/python3
"""Checkpoints of one model under the names and in the layouts of several systems, held against each other.

    check_names.py --bin build/release [--only NAME] [--keep FOLDER]

All numbers of the model differ, so a row that agrees to the last bit was paired rightly: of a clean pair every tensor must be
compared, and agree. Then one tensor is made wrong: it must still be paired, and be the only one that fails.
"""
from __future__ import annotations

import csv
import pathlib
import sys
from typing import Callable

import numpy

from checker import Checker, run_checks, tail
from checkpoints import Model, Tensors, save

Ranks = list[Tensors]


def write(folder: pathlib.Path, side: Tensors | Ranks, dtype: str) -> None:
    if isinstance(side, list):
        for rank, tensors in enumerate(side):
            save(folder / f"mp_rank_{rank:02d}" / "model.safetensors", tensors, dtype)
    else:
        save(folder / "model.safetensors", side, dtype)


def filled(model: Model, side: Tensors | Ranks) -> Tensors | Ranks:
    return [model.filled(each) for each in side] if isinstance(side, list) else model.filled(side)


def plain(model: Model) -> Tensors:
    return model.plain


DENSE = Model()
FRESH = Model(fresh_norms=True, seed=5)
EXPERTS = Model(layers=2, experts=4, seed=6)
# Title, model, mine, golden, how many pairs may be unsure.
PAIRS: list[tuple[str, Model, Callable, Callable, int]] = [
    ("other prefix", DENSE, lambda m: {k.removeprefix("model."): v for k, v in m.plain.items()}, plain, 0),
    ("wrapped", DENSE, lambda m: {f"_orig_mod.module.{k}": v for k, v in m.plain.items()}, plain, 0),
    ("slashes", DENSE, lambda m: {k.replace(".", "/"): v for k, v in m.plain.items()}, plain, 0),
    ("names that say nothing", DENSE, lambda m: m.meaningless(m.plain), plain, 0),
    ("fused as vLLM", DENSE, Model.vllm, plain, 0),
    ("golden fused as vLLM", DENSE, plain, Model.vllm, 0),
    ("as Megatron", DENSE, Model.megatron, plain, 0),
    ("Megatron against vLLM", DENSE, Model.megatron, Model.vllm, 0),
    ("transposed", DENSE, Model.gpt2_like, plain, 0),
    ("experts stacked", EXPERTS, Model.stacked_experts, plain, 0),
    ("fresh norms", FRESH, Model.megatron, plain, 9),
    *((f"{ranks} ranks", DENSE, lambda m, n=ranks: m.shares(m.plain, n), plain, 0) for ranks in (2, 4)),
    ("golden of 2 ranks", DENSE, plain, lambda m: m.shares(m.plain, 2), 0),
    ("vLLM on 2 ranks", DENSE, lambda m: m.shares(m.vllm(), 2), Model.vllm, 0),
    ("Megatron on 2 ranks", DENSE, lambda m: m.shares(m.megatron(), 2), plain, 0),
    ("Megatron on 2 ranks against itself", DENSE, lambda m: m.shares(m.megatron(), 2), Model.megatron, 0),
]


class NamesChecker(Checker):
    def rows(self, folder: pathlib.Path, words: list[str]) -> tuple[list[dict], str]:
        done = self.start(["compare", "mine", "golden", "--match", "content", "--report", "csv", "--output", "out", *words], folder)
        tables = list((folder / "out").glob("*.csv"))
        if len(tables) != 1:
            return [], f"exit {done.returncode}: {tail(done.stdout)}"
        with open(tables[0], newline="") as file:
            return list(csv.DictReader(file)), ""


def check_clean(checker: NamesChecker, title: str, model: Model, mine: Callable, golden: Callable, unsure: int, dtype: str) -> None:
    name = f"{title}, {dtype}:"
    if not checker.wants(name):
        return
    folder = checker.folder("names")
    write(folder / "mine", filled(model, mine(model)), dtype)
    write(folder / "golden", filled(model, golden(model)), "F32")
    rows, trouble = checker.rows(folder, [])
    failures = [trouble] if trouble else []
    failures += [f"{row['mine'] or row['golden']}: {row['status']}, {row['reason']}" for row in rows if row["verdict"] != "pass"]
    if dtype == "F32":
        failures += [f"{row['mine']} against {row['golden']}: {row['max_abs']} apart" for row in rows if row["max_abs"] not in ("0", "")]
    found = sum("unsure" in row["note"] for row in rows)
    if found != unsure:
        failures.append(f"{found} rows are unsure, {unsure} should be")
    checker.report(name, failures)


def check_faults(checker: NamesChecker, title: str, model: Model, mine: Callable, golden: Callable) -> None:
    """One tensor of the third layer holds something else altogether."""
    name = f"{title}, a wrong tensor:"
    if not checker.wants(name):
        return
    numbers = mine(model)
    first = numbers[0] if isinstance(numbers, list) else numbers
    failures = []
    victims = [key for key in first if "layers.2." in key or ".h.2." in key]
    for victim in victims:
        folder = checker.folder("names")
        values = filled(model, numbers)
        wrong = values[0] if isinstance(values, list) else values
        wrong[victim] = numpy.random.default_rng(9).standard_normal(wrong[victim].shape).astype(numpy.float32)
        write(folder / "mine", values, "F32")
        write(folder / "golden", filled(model, golden(model)), "F32")
        rows, trouble = checker.rows(folder, [])
        failed = {row["mine"].split(":")[-1] for row in rows if row["verdict"] != "pass"}
        alone = [row["mine"] or row["golden"] for row in rows if row["status"] in ("only in mine", "only in golden")]
        if trouble or failed != {victim} or alone:
            failures.append(f"{victim}: {trouble}failing are {sorted(failed)}, without a partner {alone}")
    if not victims:
        failures.append("no tensor to make wrong")
    checker.report(name, failures)


def check(checker: NamesChecker) -> None:
    for title, model, mine, golden, unsure in PAIRS:
        for dtype in ("F32", "BF16"):
            check_clean(checker, title, model, mine, golden, unsure, dtype)
    for title, model, mine, golden, _ in PAIRS:
        if title in ("other prefix", "fused as vLLM", "as Megatron", "transposed", "2 ranks", "Megatron on 2 ranks"):
            check_faults(checker, title, model, mine, golden)


if __name__ == "__main__":
    sys.exit(run_checks(__doc__, NamesChecker, check))
