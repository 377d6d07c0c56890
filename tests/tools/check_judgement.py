#!/usr/bin/python3
"""Dumps of PyTorch models in the form of msprobe: mixed precision without a fault passes, and a fault is named as the origin.

    check_judgement.py --bin build/release [--only decoder]

A part of what measure_judgement.py draws, with fixed seeds. Ends with 'N passed, N failed'."""
from __future__ import annotations

import json
import pathlib
import subprocess
import sys

import torch

from checker import Checker, run_checks
from judgement_models import Run, dump

BF16 = {"dtype": "bfloat16"}
AUTOCAST = {"autocast": True}
CLEAN = [
    (Run("decoder", 4, 11), BF16),
    (Run("decoder", 16, 12), BF16),
    (Run("decoder", 4, 13, backward=True), AUTOCAST),
    (Run("encoder", 6, 14, backward=True), BF16),
    (Run("encoder", 4, 15), AUTOCAST),
    (Run("convolutions", 4, 16, backward=True), BF16),
    (Run("recurrent", 12, 17), AUTOCAST),
    (Run("decoder", 6, 18), {"order": True}),
]
# The calls that compute are counted; each of these rises above what rounding does there.
FAULTS = [
    (Run("decoder", 8, 21), BF16, "x1.1", 40),
    (Run("decoder", 8, 22), BF16, "channel0", 71),
    (Run("decoder", 4, 23), AUTOCAST, "offset", 17),
    (Run("encoder", 6, 24), BF16, "tail zero", 33),
    (Run("encoder", 6, 25, backward=True), AUTOCAST, "stale row", 21),
    (Run("convolutions", 4, 26), BF16, "one element", 9),
    (Run("recurrent", 12, 27), AUTOCAST, "x1.1", 30),
    (Run("decoder", 6, 28), {"order": True}, "toward zero", 25),
]


def compare(checker: Checker, folder: pathlib.Path) -> dict:
    done = subprocess.run([checker.program, "compare", "mine", "golden", "--report", "json", "--output", "out"], cwd=folder,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300)
    reports = list((folder / "out").glob("*.json"))
    return json.loads(reports[0].read_text())["summary"] if reports else {"verdict": done.stdout, "failed": -1, "first_origin": None}


def write_ranks(folder: pathlib.Path, spoilt: int | None) -> None:
    """Two ranks that share a product and add up what they have; rank 1 did more before it."""
    torch.manual_seed(7)
    x = torch.randn(8, 32)
    weights = [torch.randn(32, 32) / 6 for _ in range(2)]
    parts = [x @ weight.T * (1.2 if rank == spoilt else 1) for rank, weight in enumerate(weights)]
    total = parts[0] + parts[1]
    for rank in range(2):
        place = folder / "step0" / f"rank{rank}"
        (place / "dump_tensor_data").mkdir(parents=True)
        data = {}

        def add(name: str, given: list, made: torch.Tensor) -> None:
            def encode(tensor: torch.Tensor, item: str) -> dict:
                torch.save(tensor.clone(), place / "dump_tensor_data" / f"{item}.pt")
                return {"type": "torch.Tensor", "dtype": str(tensor.dtype), "shape": list(tensor.shape), "Max": tensor.max().item(),
                        "Min": tensor.min().item(), "Mean": tensor.mean().item(), "Norm": tensor.norm().item(), "requires_grad": False,
                        "data_name": f"{item}.pt"}
            data[name] = {"input_args": [encode(each, f"{name}.input.{i}") for i, each in enumerate(given)], "input_kwargs": {},
                          "output": [encode(made, f"{name}.output.0")]}
        for i in range(5 * rank):
            add(f"Tensor.neg.{i}.forward", [x + i], -(x + i))
        add("Functional.linear.0.forward", [x, weights[rank]], parts[rank])
        add("Distributed.all_reduce.0.forward", [parts[rank]], total)
        add("Functional.relu.0.forward", [total], total.relu())
        (place / "dump.json").write_text(json.dumps({"task": "tensor", "level": "L1", "framework": "pytorch",
                                                     "dump_data_dir": "dump_tensor_data", "data": data}))
        for name in ("stack", "construct"):
            (place / f"{name}.json").write_text("{}")


def check_ranks(checker: Checker) -> None:
    """What one rank gives to a collective all others get: the rank where it began is named."""
    for spoilt in (0, 1):
        title = f"rank {spoilt} of two"
        if not checker.wants(title):
            continue
        folder = checker.folder("ranks")
        write_ranks(folder / "golden", None)
        write_ranks(folder / "mine", spoilt)
        for how in ("run", "estimate"):
            done = subprocess.run([checker.program, "compare", "mine", "golden", "--report", "json", "--output", "-", "-q", "--origin", how],
                                  cwd=folder, capture_output=True, text=True, timeout=300)
            summary = json.loads(done.stdout)["summary"]
            found = [(summary[key] or {}).get(part) for key in ("first_origin", "first_divergence") for part in ("section", "name")]
            wanted = [f"rank {spoilt} step 0", "Functional.linear.0.forward"] * 2
            checker.report(f"{title}, {how}", [] if found == wanted else [f"{found} and not {wanted}"])


def check(checker: Checker) -> None:
    torch.set_num_threads(1)
    check_ranks(checker)
    for golden, other in CLEAN:
        title = f"clean {golden.kind} {golden.depth} {'-'.join(map(str, other.values()))}"
        if not checker.wants(title):
            continue
        folder = checker.folder(golden.kind)
        dump(golden, folder / "golden")
        dump(golden._replace(**other), folder / "mine")
        found = compare(checker, folder)
        checker.report(title, [found["verdict"]] if found["failed"] else [])
    for golden, other, fault, at in FAULTS:
        title = f"{fault} in {golden.kind} {golden.depth}"
        if not checker.wants(title):
            continue
        folder = checker.folder(golden.kind)
        dump(golden, folder / "golden")
        spoiled = dump(golden._replace(**other), folder / "mine", fault=fault, at=at)
        origin = (compare(checker, folder)["first_origin"] or {}).get("name")
        checker.report(title, [] if origin == spoiled.faulty else [f"is in {spoiled.faulty}, the first origin is {origin}"])


if __name__ == "__main__":
    sys.exit(run_checks(__doc__, Checker, check))
