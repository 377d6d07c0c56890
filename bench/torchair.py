#!/usr/bin/python3
"""Speed and memory of comparing two TorchAir dumps, as ratios measured in one run.

Usage: bench/torchair.py [--bin build/release] [--work DIR] [--gib 1] [--original 'COMMAND {mine} {golden} {out}'] [--write]
Prints Markdown; --write puts it into bench/results_torchair.md. Times are the best of several runs, page cache warm. The exit
code is 1 if a target is missed. --original: a program to time on the same dumps, once. For numbers worth quoting, nothing else
may run.
"""
from __future__ import annotations

import pathlib
import shlex
import shutil
import subprocess
import sys
import time

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests" / "tools"))

from common import MIB, Report, Usage, arguments, binaries, work_folder  # noqa: E402
from torchair_files import GraphText, Tensor, ge_bytes, npy_bytes  # noqa: E402

ROWS, COLUMNS = 1024, 1024
OP_BYTES = 3 * ROWS * COLUMNS * 2  # of an operator on either side: two inputs and an output of f16


def write_pair(out: pathlib.Path, ops: int, inputs_differ: bool = False) -> tuple[pathlib.Path, pathlib.Path, pathlib.Path]:
    """A GE dump, its FX dump, and the tensors of the GE dump as .npy under the names of the FX dump. The inputs of the two are the
    same elements, unless they have to differ as the outputs do."""
    mine, golden, plain = out / "msit_ge_dump", out / "msit_fx_dump", out / "plain"
    engine = mine / "worldsize1_global_rank0" / "20250101120000" / "0" / "graph_1" / "1" / "0"
    fx, same_names = golden / "worldsize1_global_rank0" / "graph_1" / "0", plain
    for folder in (engine, fx, same_names):
        folder.mkdir(parents=True)
    random = np.random.default_rng(1)
    graph = GraphText()
    graph.line('name: "graph_1"')
    for index in range(ops):
        name = "Add" if index == 0 else f"Add_{index}"
        node = "add" if index == 0 else f"add_{index}"
        a, b = (random.standard_normal((ROWS, COLUMNS), np.float32).astype(np.float16) for _ in range(2))
        exact = a + b
        rounded = (exact * np.float16(1.0009765625)).astype(np.float16)
        stamp = 1735732803000000 + index
        of_fx = [(x * np.float16(1.0009765625)).astype(np.float16) if inputs_differ else x for x in (a, b)]
        tensors = [Tensor(array, "f16") for array in (a, b)]
        (engine / f"Add.{name}.{index}.1.{stamp}").write_bytes(ge_bytes(name, tensors, [Tensor(rounded, "f16")], stamp // 1000))
        for slot, theirs, ours in (("INPUT.0", of_fx[0], a), ("INPUT.1", of_fx[1], b), ("OUTPUT.0", exact, rounded)):
            file = f"{node}-aten.add.Tensor.{slot}.{20250101120000000000 + index}.npy"
            (fx / file).write_bytes(npy_bytes(theirs))
            (same_names / file).write_bytes(npy_bytes(ours))
        graph.open("op")
        graph.line(f'name: "{name}"')
        graph.line('type: "Add"')
        graph.line('input: "arg0_1:0"')
        graph.line('input: "arg1_1:0"')
        graph.output("y", "f16", (ROWS, COLUMNS), f"{node}-aten.add.Tensor.OUTPUT.0")
        graph.close()
    graph.write(mine / "dynamo_original_graph_1_rank_0_pid_1_ts_20250101120000000000.txt")
    return mine, golden, plain


def opened_files(assay: pathlib.Path, mine: pathlib.Path, golden: pathlib.Path) -> float | None:
    """How often a file of the engine is opened, on average; nothing where there is no strace."""
    if shutil.which("strace") is None:
        return None
    run = subprocess.run(["strace", "-f", "-e", "trace=open,openat", assay, "compare", mine, golden, "-q"], capture_output=True,
                         text=True, check=False)
    lines = [line for line in run.stderr.splitlines() if "/Add.Add" in line and "ENOENT" not in line]
    return len(lines) / sum(1 for path in mine.rglob("Add.*"))


def measure(assay: pathlib.Path, work: pathlib.Path, ops: int, original: str, report: Report) -> None:
    mine, golden, plain = write_pair(work, ops)
    subprocess.run(["sync"], check=False)
    size = 2 * ops * OP_BYTES / MIB
    report.heading(f"GE against FX, {size:.0f} MiB together, {ops} operators")
    codes = (0, 1)
    fx = next(golden.rglob("*.npy")).parent
    folders = Usage(assay, "compare", plain, fx, "--layout", "folder", "-q", codes=codes)
    dumps = Usage(assay, "compare", mine, golden, "-q", codes=codes)
    report.line("the same tensors as folders of .npy", f"{folders.seconds:.2f} s, {size / folders.seconds:.0f} MiB/s", "none", True)
    speed = folders.seconds / dumps.seconds
    report.line("as dumps, traced through the graph", f"{dumps.seconds:.2f} s, {speed:.2f} times that speed", "0.50", speed >= 0.5)
    report.line("resident", f"{dumps.megabytes:.0f} MB", "1000 MB", dumps.megabytes < 1000)
    table = Usage(assay, "msit", "llm", "compare", "-mp", mine, "-gp", golden, "-o", work / "out")
    report.line("the table of msit llm compare", f"{table.seconds:.2f} s", "none", True)
    opened = opened_files(assay, mine, golden)
    if opened is not None:
        report.line("an engine's file is opened", f"{opened:.1f} times", "1", opened <= 1)
    if original:
        begin = time.monotonic()
        places = {"mine": mine, "golden": golden, "out": work / "original"}
        subprocess.run([word.format(**places) for word in shlex.split(original)], check=False, capture_output=True)
        seconds = time.monotonic() - begin
        report.line("the original, once", f"{seconds:.1f} s, {seconds / table.seconds:.0f} times as long as our table", "20",
                    seconds / table.seconds >= 20)


def main() -> int:
    parser = arguments(__doc__, "results_torchair.md")
    parser.add_argument("--gib", type=float, default=1.0, help="of each side, about")
    parser.add_argument("--original", default="", help="a command to time on the same dumps, with {mine}, {golden} and {out}")
    options = parser.parse_args()
    assay = binaries(options, "assay") / "assay"
    report = Report()
    with work_folder(options) as work:
        measure(assay, work, max(1, round(options.gib * (1 << 30) / OP_BYTES)), options.original, report)
    return report.finish(options, "results_torchair.md",
                         ["# Comparing TorchAir dumps", "", "Made by `bench/torchair.py --write`."])


if __name__ == "__main__":
    sys.exit(main())
