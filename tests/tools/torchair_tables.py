"""The tables of `msit llm compare`, `ait llm compare` and `msprobe compare -m torchair` on the dumps in tests/data/torchair, held
against those of the originals, cell by cell."""
from __future__ import annotations

import csv
import pathlib
import re
import subprocess

DATA = pathlib.Path(__file__).resolve().parents[1] / "data" / "torchair"

# folder: mine, golden, the rank in the name of the table
TABLES = {
    "ge_fx": ("msit_ge_dump", "msit_fx_dump", "rank0_"),
    "fused_unfused": ("fusion_on/msit_ge_dump", "fusion_off/msit_ge_dump", "rank0_"),
    "ge_fx_pta710": ("msit_ge_dump", "msit_fx_dump/data_dump", ""),
    "ge_fx_pta710 from above": ("msit_ge_dump", "msit_fx_dump", ""),
    "stats_min_max": ("msit_ge_dump", "msit_fx_dump", "rank0_"),
}
TOOLS = ("msit", "ait", "msprobe")

# The originals add up in single precision, in an order that depends on the library; the rest is reproducible.
SUMS = ("golden_mean_value", "my_mean_value", "mean_relative_error", "mean_absolute_error", "kl_divergence",
        "relative_euclidean_distance")
TOLERANCE = 1e-6


def same(column: str, got: str, wanted: str) -> bool:
    if got == wanted:
        return True
    try:
        a, b = float(got), float(wanted)
    except ValueError:
        return False
    if column in SUMS:
        return abs(a - b) <= TOLERANCE * max(1.0, abs(b))
    return a == b  # 0 and 0.0


def differences(got: list[list[str]], wanted: list[list[str]]) -> list[str]:
    if not got or got[0] != wanted[0]:
        return [f"columns: got {','.join(got[0] if got else [])}, expected {','.join(wanted[0])}"]
    failures = [] if len(got) == len(wanted) else [f"rows: got {len(got) - 1}, expected {len(wanted) - 1}"]
    for line, (mine, peer) in enumerate(zip(got[1:], wanted[1:]), 1):
        failures += [f"row {line} {column}: got {a}, expected {b}" for column, a, b in zip(wanted[0], mine, peer)
                     if not same(column, a, b)]
    return failures


def command(tool: str, mine: pathlib.Path, golden: pathlib.Path) -> list[str]:
    if tool == "msprobe":
        return ["msprobe", "compare", "-m", "torchair", "-tp", str(mine), "-gp", str(golden), "-o", "made/here"]
    return [tool, "llm", "compare", "-mp", str(mine), "-gp", str(golden), "-o", "made/here"]


def check_table(program: pathlib.Path, work: pathlib.Path, tool: str, name: str) -> list[str]:
    mine, golden, rank = TABLES[name]
    folder = DATA / name.partition(" ")[0]
    done = subprocess.run([program, *command(tool, folder / mine, folder / golden)], cwd=work, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True, errors="replace", timeout=120)
    if done.returncode:
        return [f"exit code: got {done.returncode}, expected 0; {' | '.join(done.stdout.strip().splitlines()[-3:])}"]
    found = sorted(path.name for path in (work / "made" / "here").glob("*"))
    pattern = rf"{tool}_cmp_report_{rank}\d{{14}}\.csv"
    if len(found) != 1 or not re.fullmatch(pattern, found[0]):
        return [f"files: got {found}, expected one {pattern}"]
    with (work / "made" / "here" / found[0]).open(newline="") as file:
        got = [[cell.replace(f"{folder}/", "") for cell in row] for row in csv.reader(file)]
    with (folder / "expected.csv").open(newline="") as file:
        wanted = list(csv.reader(file))
    failures = differences(got, wanted)
    kind = "Comparing GE with GE" if name == "fused_unfused" else "Comparing GE with FX"
    failures += [f"messages: no line with {text!r}" for text in (kind, "Comparing token_id: 0", "Saved comparing results: ")
                 if text not in done.stdout]
    return failures
