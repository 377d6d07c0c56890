#!/usr/bin/python3
"""Check the dumps that make_atb_dump.py writes against their truth.json: what belongs together agrees, what comes after a
planted fault does not, the same seed gives the same bytes. The last line is 'N passed, M failed'.
"""
from __future__ import annotations

import contextlib
import csv
import hashlib
import io
import json
import pathlib
import shutil
import sys
import tempfile

import torch

import make_atb_dump
from atb_files import read_bin

CLOSE = {"fp32": 0.99999, "fp16": 0.9999, "bf16": 0.999, "int8": 0.97}  # cosine; int8 loses 1/255 of the range at each step
VARIANTS = {
    "plain": "", "bf16": "--dtype bf16", "fp32": "--dtype fp32", "outside": "--norms outside", "ranks": "--ranks 2",
    "two_models": "--two-models --tokens 3", "batch": "--batch 3",
    "requests": "--requests 2 --batch 2", "quant": "--quant", "quant_ranks": "--quant --ranks 2",
    "fault": "--fault model.layers.0.mlp.up_proj:1.5", "fault_op": "--fault SelfAttentionOperation_3_0_2:0.5",
    "twin": "--atb-twin", "twin_quant": "--atb-twin --quant", "twin_transdata": "--atb-twin transdata --two-models",
    "twin_batch": "--atb-twin same --batch 2",
}


def read(path: pathlib.Path) -> torch.Tensor:
    return read_bin(path) if path.suffix == ".bin" else torch.load(path)


def joined(files: list[pathlib.Path], axis: int | None) -> torch.Tensor:
    tensors = [read(file) for file in files]
    return tensors[0] if axis is None else torch.cat(tensors, axis)


def cosine(out: pathlib.Path, pair: dict) -> float:
    mine = joined([out / file for file in pair["mine"]], pair["mine_axis"]).double()
    golden = joined([out / file for file in pair["golden"]], -1 if len(pair["golden"]) > 1 else None).double()
    if "scale" in pair:
        scale, offset = (joined([out / file for file in pair[word]], None).double() for word in ("scale", "offset"))
        mine = (joined([out / pair["mine"][0]], None).double() - offset) * scale
        golden = golden[..., :mine.shape[-1]]
    if "rows" in pair:
        golden = golden[..., slice(*pair["rows"]), :]
    golden = golden.flatten().repeat(pair.get("repeat", 1))
    if mine.numel() != golden.numel():
        return float("-inf")
    return float(torch.cosine_similarity(mine.flatten(), golden, dim=0))


def check_variant(out: pathlib.Path, flags: list[str]) -> list[str]:
    truth = json.loads((out / "truth.json").read_text())
    kind = "int8" if "--quant" in flags else flags[flags.index("--dtype") + 1] if "--dtype" in flags else "fp16"
    wrong = []
    tainted = []
    for pair in truth["pairs"]:
        value = cosine(out, pair)
        if pair["tainted"]:
            tainted.append(value)
        elif value < CLOSE[kind]:
            wrong.append(f"{pair['op']} {pair['key']} of token {pair['token']}: cosine {value}")
    if len(truth["pairs"]) < 150:
        wrong.append(f"only {len(truth['pairs'])} pairs")
    # A factor alone leaves the cosine as it is; what follows from it does not.
    if bool(truth["fault"]) != bool(tainted) or (tainted and min(tainted) > 0.999):
        wrong.append(f"fault {truth['fault']}: {len(tainted)} values after it, least cosine {min(tainted, default=None)}")
    return wrong


def make(out: pathlib.Path, *flags: str) -> pathlib.Path:
    with contextlib.redirect_stdout(io.StringIO()):
        make_atb_dump.main(["--out", str(out), *flags])
    return out


def digest(folder: pathlib.Path) -> str:
    total = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        total.update(str(path.relative_to(folder)).encode() + (path.read_bytes() if path.is_file() else b""))
    return total.hexdigest()


def check_statistics(work: pathlib.Path) -> list[str]:
    """The statistics of a value on both sides are close, in the headers and in the tables."""
    wrong = []
    out = make(work / "statistics", "--statistics")
    for pair in json.loads((out / "truth.json").read_text())["pairs"]:
        if pair["key"] != "logits":
            continue
        fields = dict(line.split("=") for line in (out / pair["mine"][0]).read_text().splitlines())
        with open(out / pair["golden"][0], newline="") as file:
            row = [row for row in csv.DictReader(file) if row["InputOutput"] == "Output"][-1]
        if abs(float(fields["l2norm"]) / float(row["L2Norm"]) - 1) > 1e-3:
            wrong.append(f"norm {fields['l2norm']} and {row['L2Norm']}")
    out = make(work / "msprobe", "--atb-twin", "same", "--msprobe-layout")
    tables = []
    for side in ("golden", "mine"):
        found = sorted((out / side / "atb_dump_data" / "data").glob("*/0/statistic.csv"))
        with open(found[0], newline="") as file:
            tables.append(list(csv.DictReader(file)))
    for ours, theirs in zip(*tables):
        if any(ours[key] != theirs[key] for key in ("Op Name", "Op Id", "Input/Output", "Index", "Shape")):
            wrong.append(f"{ours} and {theirs}")
        if not pathlib.Path(ours["Tensor Path"]).is_file():
            wrong.append(f"{ours['Tensor Path']} is not there")
    return wrong


def main() -> int:
    failed = 0
    memory = pathlib.Path("/dev/shm")  # thousands of small files
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        work = pathlib.Path(folder)
        checks = {name: lambda name=name, flags=flags: check_variant(make(work / name, *flags.split()), flags.split())
                  for name, flags in VARIANTS.items()}
        checks["statistics"] = lambda: check_statistics(work)
        checks["same seed"] = lambda: ([] if digest(make(work / "one")) == digest(make(work / "two")) else ["bytes differ"])
        for name, check in checks.items():
            wrong = check()
            failed += bool(wrong)
            for line in wrong[:5]:
                print(f"{name}: {line}")
            for path in work.iterdir():
                shutil.rmtree(path)
        print(f"{len(checks) - failed} passed, {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
