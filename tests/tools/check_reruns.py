#!/usr/bin/python3
"""Origins that `assay compare` finds by running operators again (--origin): on pairs of dumps that make_atb_dump.py writes, and on
calls of PyTorch in dumps of msprobe (judgement_models.py).

    check_reruns.py --bin build/release [--only NAME] [--keep FOLDER]

Without a fault no operator adds an error that rounding does not explain. A fault that no tolerance sees is found, and so is one
on a single rank.
"""
from __future__ import annotations

import contextlib
import io
import json
import pathlib
import struct
import subprocess
import sys

import numpy as np
import torch

import make_atb_dump
from checker import Checker, run_checks
from judgement_models import Run, dump

SMALL = "--layers 4 --hidden 64 --tokens 1"
CLEAN = {"f16": f"{SMALL}", "bf16": f"{SMALL} --dtype bf16 --seed 3", "ranks": f"{SMALL} --ranks 2",
         "deep": "--layers 16 --hidden 64 --tokens 1 --seed 7 --no-weights", "twin": f"{SMALL} --atb-twin same",
         "quantised": f"{SMALL} --quant"}


def make(c: Checker, name: str, flags: str, fault: str = "") -> pathlib.Path:
    folder = c.folder(name)
    with contextlib.redirect_stdout(io.StringIO()):
        make_atb_dump.main(["--out", str(folder / "pair"), *flags.split(), *(["--fault", fault] if fault else [])])
    return folder / "pair"


def compare(c: Checker, pair: pathlib.Path, *flags: str) -> tuple[int, dict]:
    done = subprocess.run([c.program, "compare", "mine", "golden", "--report", "json", "--output", "-", "-q", *flags], cwd=pair,
                          capture_output=True, text=True)
    return done.returncode, json.loads(done.stdout)


def introduced(document: dict) -> list[str]:
    return [row["name"] for row in document["rows"] if "introduced here" in (row["note"] or "") + (row["reason"] or "")]


def check_clean(name: str):
    def check(c: Checker) -> list[str]:
        code, document = compare(c, make(c, f"clean_{name}", CLEAN[name]), "--origin", "all")
        found = introduced(document)
        return [f"exit {code}" for _ in range(code != 0)] + [f"{each} is said to have made an error" for each in found]
    return check


def check_unseen(c: Checker) -> list[str]:
    """A factor of 1.002 in f16 is within every tolerance."""
    pair = make(c, "unseen", "--layers 12 --hidden 64 --tokens 1 --seed 101", "model.layers.2.mlp.down_proj:1.002")
    where = json.loads((pair / "truth.json").read_text())["fault"]["folders"][0]
    problems = []
    code, document = compare(c, pair)
    if code != 0 or introduced(document):
        problems.append(f"by default: exit {code}, {introduced(document)}")
    code, document = compare(c, pair, "--origin", "all")
    if code != 0 or introduced(document) != [where] or document["summary"].get("introduced") != 1:
        problems.append(f"--origin all: exit {code}, {introduced(document)}, not {where}")
    if document["summary"]["first_origin"] is not None:
        problems.append("nothing fails, and there is an origin")
    said = subprocess.run([c.program, "compare", "mine", "golden", "--origin", "all"], cwd=pair, capture_output=True, text=True).stdout
    if f"1 row passes with an error that no rounding of the operator explains (first: {where})." not in said:
        problems.append(f"the answer does not say so: {said[:300]}")
    return problems


def check_one_rank(c: Checker) -> list[str]:
    """One rank of two has its output a little larger; nothing behind it was computed from that."""
    pair = make(c, "rank", "--layers 2 --hidden 64 --tokens 1 --ranks 2")
    ranks = sorted((pair / "mine").glob("*/tensors/*"))
    path = next(ranks[1].rglob("3_Prefill_layer/2_Mlp/0_NormLinear/1_LinearOperation/after/outtensor0.bin"))
    head, mark, data = path.read_bytes().partition(b"$End=1\n")
    values = struct.unpack(f"<{len(data) // 2}e", data)
    path.write_bytes(head + mark + struct.pack(f"<{len(values)}e", *(value * 1.05 for value in values)))
    code, document = compare(c, pair)
    origin = document["summary"]["first_origin"] or {}
    reasons = [row["reason"] or "" for row in document["rows"] if row["verdict"] == "fail"]
    problems = [] if code == 1 and "0_NormLinear/1_LinearOperation" in origin.get("name", "") and origin.get("times_bound", 0) > 2 else [
        f"exit {code}, origin {origin}"]
    if not any("introduced here: run again on what it was given on rank 2 of 2" in reason for reason in reasons):
        problems.append(f"no reason names the rank: {reasons[:3]}")
    return problems


def check_in_place(c: Checker) -> list[str]:
    """Inputs that were dumped after the operator had written its result to one of them: what it was given is lost."""
    pair = make(c, "in_place", "--layers 2 --hidden 64 --tokens 1", "model.layers.0.mlp.down_proj:1.05")
    op = next((pair / "mine").rglob("3_Prefill_layer/3_ElewiseOperation"))
    (op / "after" / "intensor1.bin").write_bytes((op / "before" / "intensor1.bin").read_bytes())
    (op / "after" / "intensor0.bin").write_bytes((op / "after" / "outtensor0.bin").read_bytes())
    for file in (op / "before").iterdir():
        file.unlink()
    code, document = compare(c, pair)
    where = [name for name in introduced(document) if "3_Prefill_layer/3_ElewiseOperation" in name]
    return [f"exit {code}: it is said to have made what it was given: {where}"] if where or code != 1 else []


def check_words(c: Checker) -> list[str]:
    """What each value of --origin says of one and the same fault."""
    pair = make(c, "words", SMALL, "model.layers.1.mlp.down_proj:1.05")
    where = json.loads((pair / "truth.json").read_text())["fault"]["folders"][0]
    problems = []
    for how, has_origin, says in (("run", True, True), ("all", True, True), ("estimate", True, False), ("off", False, False)):
        code, document = compare(c, pair, "--origin", how)
        origin = document["summary"]["first_origin"]
        names = [origin["name"]] if origin else []
        if code != 1 or names != [where] * has_origin or (where in introduced(document)) != says:
            problems.append(f"--origin {how}: exit {code}, origin {names}, introduced {introduced(document)}")
    if compare(c, pair, "--threads", "1")[1]["rows"] != compare(c, pair, "--threads", "8")[1]["rows"]:
        problems.append("other rows on other numbers of threads")
    return problems


# Models whose calls are run again, and what is another in mine.
TORCH = {"bf16 decoder": (Run("decoder", 3, 41), {"dtype": "bfloat16"}), "autocast encoder": (Run("encoder", 3, 42), {"autocast": True}),
         "other order": (Run("recurrent", 6, 43), {"order": True}), "backward": (Run("encoder", 2, 44, backward=True), {"dtype": "bfloat16"})}


def torch_pair(c: Checker, name: str, fault: str | None = None, at: int = 0) -> tuple[pathlib.Path, str | None]:
    golden, other = TORCH[name]
    folder = c.folder(name.replace(" ", "_"))
    dump(golden, folder / "golden")
    return folder, dump(golden._replace(**other), folder / "mine", fault=fault, at=at).faulty


def check_torch_clean(name: str):
    def check(c: Checker) -> list[str]:
        code, document = compare(c, torch_pair(c, name)[0], "--origin", "all")
        return [f"exit {code}" for _ in range(code != 0)] + [f"{each} is said to have made an error" for each in introduced(document)]
    return check


def check_torch_fault(name: str, fault: str, at: int):
    def check(c: Checker) -> list[str]:
        folder, faulty = torch_pair(c, name, fault, at)
        code, document = compare(c, folder, "--origin", "all")
        # A later call of its result in another form gives what it was given.
        return [] if introduced(document) == [faulty] else [f"exit {code}: {introduced(document)} and not {faulty} is said to have made it"]
    return check


def check_torch_words(c: Checker) -> list[str]:
    """A fault of many layers ago: what hands it on is told apart from what made it."""
    folder, faulty = torch_pair(c, "bf16 decoder", "x1.5", 5)
    problems = []
    for how, says in (("run", True), ("estimate", False), ("off", False)):
        code, document = compare(c, folder, "--origin", how)
        origin = (document["summary"]["first_origin"] or {}).get("name")
        if code != 1 or origin != (None if how == "off" else faulty) or (introduced(document) == [faulty]) != says:
            problems.append(f"--origin {how}: exit {code}, origin {origin}, introduced {introduced(document)}; it is in {faulty}")
        inherited = [row["name"] for row in document["rows"] if "inherited: run again" in (row["reason"] or "")]
        if bool(inherited) != says or faulty in inherited:
            problems.append(f"--origin {how}: inherited by {inherited[:4]}")
    return problems


def write_fx(folder: pathlib.Path, factor: float) -> None:
    """A product and a sum in bf16, which the files of FX keep as f32."""
    place = folder / "worldsize1_global_rank0" / "graph_1" / "0"
    place.mkdir(parents=True)
    torch.manual_seed(3)
    short = lambda tensor: tensor.to(torch.bfloat16).float()  # noqa: E731
    a, b = short(torch.randn(12, 32)), short(torch.randn(32, 16))
    product = short(a @ b * factor)
    values = {"mm-aten.mm.default.INPUT.0": a, "mm-aten.mm.default.INPUT.1": b, "mm-aten.mm.default.OUTPUT.0": product,
              "add-aten.add.Tensor.INPUT.0": product, "add-aten.add.Tensor.INPUT.1": torch.tensor(2), "add-aten.add.Tensor.OUTPUT.0": short(product + 2)}
    for i, (name, value) in enumerate(values.items()):
        np.save(place / f"{name}.{20250101121000000000 + i // 3}.npy", value.numpy())


def check_fx(c: Checker) -> list[str]:
    problems = []
    for factor, wanted in ((1.0, []), (1.02, ["mm-aten.mm.default"])):
        folder = c.folder("fx")
        write_fx(folder / "golden", 1.0)
        write_fx(folder / "mine", factor)
        code, document = compare(c, folder, "--origin", "all")
        if introduced(document) != wanted:
            problems.append(f"x{factor}: exit {code}, {introduced(document)}")
    return problems


def check(c: Checker) -> None:
    torch.set_num_threads(1)
    checks = {f"clean, {name}": check_clean(name) for name in CLEAN}
    c.report_each(checks | {"a fault that no tolerance sees": check_unseen, "one rank": check_one_rank,
                                "in place": check_in_place, "words": check_words}
                  | {f"torch, clean, {name}": check_torch_clean(name) for name in TORCH}
                  | {f"torch, {fault} in {name}": check_torch_fault(name, fault, at)
                     for name, fault, at in (("bf16 decoder", "x1.02", 22), ("autocast encoder", "channel1.3", 13), ("other order", "x1.02", 17))}
                  | {"torch, words": check_torch_words, "torch, fx": check_fx})


if __name__ == "__main__":
    sys.exit(run_checks(__doc__, Checker, check))
