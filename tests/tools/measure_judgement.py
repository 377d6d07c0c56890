#!/usr/bin/python3
"""How often `assay compare` names the operator that is at fault, on pairs of dumps made by PyTorch (judgement_models.py).

    measure_judgement.py --bin build/release [--clean 40] [--faults 120] [--seed 1] [--only decoder] [--sides bf16] [--statistics] [--origin estimate] [--show]

Clean pairs must pass. A fault counts as visible where it is more than `RISE` times what honest rounding does to the same output."""
from __future__ import annotations

import argparse
import collections
import json
import pathlib
import random
import shutil
import subprocess
import tempfile

import torch

from judgement_models import FAULTS, KINDS, Run, dump

RISE = 3
SIDES = {"bf16": {"dtype": "bfloat16"}, "f16": {"dtype": "float16"}, "order": {"order": True}, "autocast": {"autocast": True}}


def compare(program: pathlib.Path, mine: pathlib.Path, golden: pathlib.Path, out: pathlib.Path, origin: str = "run") -> dict:
    shutil.rmtree(out, ignore_errors=True)
    done = subprocess.run([program / "assay", "compare", mine, golden, "--report", "json", "--output", out, "--origin", origin], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    reports = list(out.glob("*.json"))
    if done.returncode not in (0, 1) or len(reports) != 1:
        raise RuntimeError(f"{mine}: exit {done.returncode}\n{done.stdout.decode()}{done.stderr.decode()}")
    return json.loads(reports[0].read_text())


def keep_statistics(folder: pathlib.Path) -> None:
    """What a dump of the task `statistics` has of the same run."""
    def stripped(value):
        if isinstance(value, dict):
            return {key: stripped(each) for key, each in value.items() if key != "data_name"}
        return [stripped(each) for each in value] if isinstance(value, list) else value
    dump = stripped(json.loads((folder / "dump.json").read_text()))
    (folder / "dump.json").write_text(json.dumps({**dump, "task": "statistics", "dump_data_dir": None}))
    shutil.rmtree(folder / "dump_tensor_data")


def error_of(op: str, mine: pathlib.Path, golden: pathlib.Path) -> float:
    name = f"dump_tensor_data/{op}.output.0.pt"
    a, b = torch.load(mine / name).double(), torch.load(golden / name).double()
    return float((a - b).norm() / b.norm()) if a.shape == b.shape else None


def name_of(row) -> str | None:
    if row is None:
        return None
    return row["name"]


def draw(pick: random.Random, kinds, sides) -> tuple[Run, Run]:
    kind = pick.choice(kinds)
    depth = pick.choice({"decoder": (2, 4, 8, 16, 24), "experts": (2, 4, 6), "encoder": (2, 6, 12), "convolutions": (2, 4, 8),
                         "recurrent": (8, 24)}[kind])
    side = pick.choice(sides)
    # Gradients of permuted operands are permuted, too.
    backward = kind != "experts" and side != "order" and pick.random() < 0.3
    golden = Run(kind, depth, pick.randrange(1 << 20), backward=backward)
    return golden, golden._replace(**SIDES[side])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--clean", type=int, default=40)
    parser.add_argument("--faults", type=int, default=120)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="*", default=list(KINDS))
    parser.add_argument("--sides", nargs="*", default=list(SIDES))
    parser.add_argument("--statistics", action="store_true", help="compare dumps of statistics")
    parser.add_argument("--origin", default="run", help="as assay compare has it")
    parser.add_argument("--show", action="store_true")
    args = parser.parse_args()
    torch.set_num_threads(1)
    pick = random.Random(args.seed)
    counts: collections.Counter = collections.Counter()
    by_fault: dict = collections.defaultdict(collections.Counter)
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        for turn in range(args.clean + args.faults):
            golden, mine = draw(pick, args.only, args.sides)
            shutil.rmtree(work)
            work.mkdir()
            dump(golden, work / "golden")
            clean = dump(mine, work / "clean")
            if turn < args.clean:
                if args.statistics:
                    keep_statistics(work / "clean"), keep_statistics(work / "golden")
                report = compare(args.bin, work / "clean", work / "golden", work / "out", args.origin)["summary"]
                counts["clean"] += 1
                failed = report["failed"]
                is_flip = failed and (report.get("first_divergence") or {}).get("reason", "").startswith("a flip")
                counts["flips" if is_flip else "alarms"] += failed > 0
                if failed and not is_flip and args.show:
                    print(f"alarm {failed}: {mine}: {name_of(report.get('first_divergence'))}")
                continue
            fault, at = pick.choice(FAULTS), pick.randrange(clean.seen)
            spoiled = dump(mine, work / "mine", fault=fault, at=at)
            honest = error_of(spoiled.faulty, work / "clean", work / "golden")
            if honest is None:  # tokens went to other experts before it
                counts["behind a flip"] += 1
                continue
            rise = spoiled.visible / max(honest, 1e-12)
            if args.statistics:
                keep_statistics(work / "mine"), keep_statistics(work / "golden")
            report = compare(args.bin, work / "mine", work / "golden", work / "out", args.origin)["summary"]
            origin, first = name_of(report.get("first_origin")), name_of(report.get("first_divergence"))
            visible = "visible" if rise > RISE else "hidden"
            counts[visible] += 1
            what = "right" if origin == spoiled.faulty else "none" if origin is None else "wrong"
            counts[f"{visible}: origin {what}"] += 1
            counts[f"{visible}: first {'right' if first == spoiled.faulty else 'none' if first is None else 'wrong'}"] += 1
            by_fault[fault][f"{visible} {what}"] += 1
            if args.show and (what == "wrong" or (visible == "visible" and what == "none")):
                print(f"{what}: {fault} rise {rise:.3g} at {spoiled.faulty}: origin {origin}, first {first}; {mine}")
    for key in sorted(counts):
        print(f"{key}: {counts[key]}")
    for fault in FAULTS:
        print(f"  {fault}: {dict(by_fault[fault])}")


if __name__ == "__main__":
    main()
