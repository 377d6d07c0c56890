#!/usr/bin/python3
"""How often `assay compare` names the operator that is at fault, on dumps of ATB against PyTorch hooks, of ATB against ATB, and of
TorchAir against FX and against the engine without fusion (make_atb_dump.py, make_torchair_dump.py).

    measure_layouts.py --bin build/release --corpus DIR [--clean 10] [--faults 30] [--seed 1] [--only ge_fx] [--show]

Pairs are drawn and written below DIR, unless they are there: two programs may see the same. Clean pairs must pass. A fault is visible where
it is more than `RISE` times what honest rounding does to the same output, and hidden where it is not."""
from __future__ import annotations

import argparse
import collections
import contextlib
import io
import json
import pathlib
import random
import shutil
import subprocess
import tempfile

import torch

import make_atb_dump
import make_torchair_dump
from judgement_models import FAULTS

RISE = 3
ATB = {"atb_torch": [[]], "atb_atb": [["--atb-twin", "same"], ["--atb-twin"], ["--atb-twin", "same", "--golden-dtype", "fp16"]]}
TORCHAIR = {"ge_fx": [[]], "ge_ge": [["--golden", "ge"]]}
LAYOUTS = [*ATB, *TORCHAIR]


def draw(layout: str, pick: random.Random) -> list[str]:
    seed = ["--seed", str(pick.randrange(1 << 16))]
    if layout in ATB:
        words = ["--layers", str(pick.choice((2, 4, 8, 12, 24))), "--dtype", pick.choice(("fp16", "bf16")), "--tokens", str(pick.choice((1, 2)))]
        words += pick.choice(([], [], ["--norms", "outside"], ["--hidden", "64"], ["--no-weights"], ["--outputs-only"], ["--ranks", "2"]))
        return words + pick.choice(ATB[layout]) + seed
    words = ["--layers", str(pick.choice((1, 2, 4, 8, 16))), "--dtype", pick.choice(("f16", "bf16")), "--tokens", "1"]
    words += pick.choice(([], [], [], ["--mixed"], ["--no-fusion"], ["--arguments"], ["--no-private"]))
    return words + pick.choice(TORCHAIR[layout]) + seed


def write(layout: str, words: list[str], out: pathlib.Path) -> dict:
    maker = make_atb_dump if layout in ATB else make_torchair_dump
    shutil.rmtree(out, ignore_errors=True)
    with contextlib.redirect_stdout(io.StringIO()):
        maker.main([*words, "--out", str(out)])
    return json.loads((out / "truth.json").read_text())


def outputs(layout: str, truth: dict) -> dict[str, tuple[str, str]]:
    """Of operators of which an output has a partner: the node and the end of the file's name, as a report has them."""
    found = {}
    if layout in ATB:
        for pair in truth["pairs"]:
            folder, _, file = pair["mine"][0].partition("/after/")
            node = folder.split("/")[5:] if "_dump_" in truth["mine"] else []
            if file == "outtensor0.bin" and node and pair["op_type"].endswith("Operation"):
                found.setdefault("/".join(node), ("/".join(node), file))
        return found
    mine = truth["tensors"]["mine"]
    for pair in truth["pairs"]:
        held = mine[pair["mine"]]
        if held["slot"] == "output.0" and held["numeric"] and not held["private"]:
            found[held["op"]] = (held["op"], "output.0")
    return found


def compare(program: pathlib.Path, folder: pathlib.Path) -> dict:
    truth = json.loads((folder / "truth.json").read_text())
    with tempfile.TemporaryDirectory() as out:
        done = subprocess.run([program / "assay", "compare", folder / truth["mine"], folder / truth["golden"], "--report", "json",
                               "--output", out], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        reports = list(pathlib.Path(out).glob("*.json"))
        if done.returncode not in (0, 1) or len(reports) != 1:
            raise RuntimeError(f"{folder}: exit {done.returncode}\n{done.stdout.decode()}{done.stderr.decode()}")
        return json.loads(reports[0].read_text())


def error_at(report: dict, node: str, file: str) -> float | None:
    errors = [row["rel_l2"] for row in report["rows"] if row["name"] == node and (row["mine"] or "").endswith(file) and row["rel_l2"] is not None]
    return max(errors, default=None)


def fault_word(word: str) -> str:
    return word[1:] if word.startswith("x") else word


def prepare(layout: str, number: int, faulty: bool, seed: int, corpus: pathlib.Path, program: pathlib.Path) -> dict:
    """What the pair is; it is made where it is not there yet."""
    folder = corpus / layout / f"{'fault' if faulty else 'clean'}{number}"
    if (folder / "meta.json").exists():
        return json.loads((folder / "meta.json").read_text()) | {"folder": folder}
    pick = random.Random(f"{layout} {number} {faulty} {seed}")
    while True:
        words = draw(layout, pick)
        truth = write(layout, words, folder)
        meta: dict = {"words": words}
        if faulty:
            places = outputs(layout, truth)
            op = pick.choice(sorted(places))
            fault = pick.choice(FAULTS)
            honest = error_at(compare(program, folder), *places[op])
            try:
                write(layout, [*words, "--fault", f"{'0/' if False else ''}{op}:{fault_word(fault)}"], folder)
            except (RuntimeError, ValueError, IndexError, SystemExit):
                continue
            error = error_at(compare(program, folder), *places[op])
            if honest is None or error is None:
                continue
            meta |= {"op": op, "fault": fault, "rise": (max(error ** 2 - honest ** 2, 0) ** 0.5) / max(honest, 1e-9)}
        (folder / "meta.json").write_text(json.dumps(meta))
        return meta | {"folder": folder}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--corpus", type=pathlib.Path, required=True)
    parser.add_argument("--clean", type=int, default=10)
    parser.add_argument("--faults", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="*", default=LAYOUTS)
    parser.add_argument("--show", action="store_true")
    args = parser.parse_args()
    torch.set_num_threads(1)
    for layout in args.only:
        counts: collections.Counter = collections.Counter()
        for number in range(args.clean + args.faults):
            faulty = number >= args.clean
            meta = prepare(layout, number, faulty, args.seed, args.corpus, args.bin)
            report = compare(args.bin, meta["folder"])
            summary = report["summary"]
            name = {key: (summary.get(key) or {}).get("name") for key in ("first_divergence", "first_origin")}
            if not faulty:
                counts["clean"] += 1
                counts["clean: alarms"] += summary["failed"] > 0
                if summary["failed"] and args.show:
                    print(f"alarm {summary['failed']}: {' '.join(meta['words'])} {meta['folder']}: {name['first_divergence']}: "
                          f"{summary['first_divergence']['reason']}")
                continue
            kind = "visible" if meta["rise"] > RISE else "hidden"
            of = {key: "right" if each == meta["op"] else "none" if each is None else "wrong" for key, each in name.items()}
            counts[kind] += 1
            counts[f"{kind}: found"] += summary["failed"] > 0
            counts[f"{kind}: origin {of['first_origin']}"] += 1
            counts[f"{kind}: first {of['first_divergence']}"] += 1
            if args.show and (of["first_origin"] == "wrong" or (kind == "visible" and of["first_origin"] != "right")):
                print(f"{of['first_origin']}: {meta['fault']} rise {meta['rise']:.3g} at {meta['op']}: origin {name['first_origin']}, "
                      f"first {name['first_divergence']}; {' '.join(meta['words'])} {meta['folder']}")
        print(layout)
        for key in sorted(counts):
            print(f"  {key}: {counts[key]}")


if __name__ == "__main__":
    main()
