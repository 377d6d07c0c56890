#!/usr/bin/python3
"""How rightly, and in what time, tensors of other names and layouts meet: the table of docs/scenarios/checkpoints.md.

    bench/names.py --bin build/release [--layers 555] [--hidden 160] [--runs 3] [--keep FOLDER] [--write]

Writes checkpoints of one model (9 tensors in a layer) as several systems have them. All numbers of the model differ, so that a
row that agrees to the last bit was paired rightly. The time is that of the processors, so that other work does not count. It is held
against that of a plain comparison of two copies of golden under equal names, and against reading what is compared: half of a
comparison of mine with itself and half of golden with itself, which read as many files and tensors.
"""
from __future__ import annotations

import argparse
import csv
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests" / "tools"))
from checkpoints import Model, Tensors, save  # noqa: E402


def write(folder: pathlib.Path, model: Model, side: Tensors | list[Tensors]) -> None:
    if isinstance(side, list):
        for rank, tensors in enumerate(side):
            save(folder / f"mp_rank_{rank:02d}" / "model.safetensors", model.filled(tensors), "BF16")
    else:
        save(folder / "model.safetensors", model.filled(side), "BF16")


def sides(model: Model):
    """Title, mine, flags; golden has the names of Hugging Face."""
    yield "equal names", model.plain, []
    yield "Meta's names, rotary pairs", model.meta(), []
    yield "Megatron-like", model.megatron(), []
    yield "vLLM-like, fused", model.vllm(), []
    for ranks in (2, 4, 8):
        yield f"{ranks} ranks", model.shares(model.plain, ranks), []
    yield "vLLM-like on 4 ranks", model.shares(model.vllm(), 4), []
    yield "names that say nothing, permuted", model.meaningless(model.plain), ["--match", "content"]
    yield "Megatron-like, unknown words", model.disguised(model.megatron()), ["--match", "content"]
    yield "vLLM-like, unknown words", model.disguised(model.vllm()), ["--match", "content"]
    yield "4 ranks, unknown words", [model.disguised(each) for each in model.shares(model.plain, 4)], ["--match", "content"]


def run(program: pathlib.Path, folder: pathlib.Path, flags: list[str], golden: str = "golden") -> float:
    out = "out" if golden == "golden" else "read"
    shutil.rmtree(folder / out, ignore_errors=True)
    start = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([program, "compare", "mine", golden, "--report", "csv", "--output", out, *flags], cwd=folder,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    end = resource.getrusage(resource.RUSAGE_CHILDREN)
    return end.ru_utime + end.ru_stime - start.ru_utime - start.ru_stime


def measure(program: pathlib.Path, layers: int, hidden: int, runs: int, keep: pathlib.Path | None) -> list[str]:
    """The table, printed line by line; the quickest of some runs counts."""
    model = Model(layers=layers, hidden=hidden, heads=8, groups=8, inner=hidden * 11 // 4, vocabulary=1024)
    lines = ["| mine | rows | paired rightly | wrong without a warning | unsure | without a partner | CPU s | of reading it | of equal names |",
             "|---|---|---|---|---|---|---|---|---|"]
    print("\n".join(lines))
    with tempfile.TemporaryDirectory(dir=keep) as work:
        folder = pathlib.Path(work)
        write(folder / "golden", model, model.plain)
        plain = 0.0
        for title, side, flags in sides(model):
            shutil.rmtree(folder / "mine", ignore_errors=True)
            write(folder / "mine", model, side)
            seconds = min(run(program, folder, flags) for _ in range(runs))
            plain = plain or seconds
            shutil.copytree(folder / "mine", folder / "copy", copy_function=os.link)
            reading = (plain + min(run(program, folder, ["--match", "exact"], "copy") for _ in range(runs))) / 2
            shutil.rmtree(folder / "copy")
            with open(next((folder / "out").glob("*.csv")), newline="") as file:
                rows = list(csv.DictReader(file))
            right = sum(row["max_abs"] == "0" for row in rows)
            unsure = sum("unsure" in row["note"] + row["reason"] for row in rows)
            wrong = sum(row["status"] == "compared" and row["max_abs"] != "0" and "unsure" not in row["note"] + row["reason"]
                        for row in rows)
            alone = sum(row["status"].startswith("only in") for row in rows)
            lines.append(f"| {title} | {len(rows)} | {100 * right / len(rows):.2f} % | {wrong} | {unsure} | {alone} | {seconds:.2f} "
                         f"| {seconds / reading:.2f} | {seconds / plain:.2f} |")
            print(lines[-1], flush=True)
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--layers", type=int, default=555)
    parser.add_argument("--hidden", type=int, default=160, help="a multiple of 32; matrices have so many rows, or 2.75 times as many")
    parser.add_argument("--runs", type=int, default=3, help="of which the quickest counts")
    parser.add_argument("--keep", type=pathlib.Path, help="write the checkpoints here")
    parser.add_argument("--write", action="store_true", help="also with 60 layers of 512; writes bench/results_names.md")
    options = parser.parse_args()
    program = (options.bin / "assay").resolve()
    text = ["# Pairing tensors of other names and layouts", "",
            "Made by `bench/names.py --write`, against the names of Hugging Face, bf16. CPU time (user and system): other work may run",
            "beside it. The goal is 1.50 of reading what is compared: half of a comparison of mine with itself and half of golden with itself."]
    for layers, hidden in [(options.layers, options.hidden)] + ([(60, 512)] if options.write else []):
        tensors = 9 * layers + 3
        text += ["", f"## {tensors} tensors, matrices of {hidden} by {hidden} and {hidden * 11 // 4} by {hidden}", ""]
        print(f"\n{text[-2]}\n")
        text += measure(program, layers, hidden, options.runs, options.keep)
    if options.write:
        (pathlib.Path(__file__).parent / "results_names.md").write_text("\n".join(text) + "\n")


if __name__ == "__main__":
    main()
