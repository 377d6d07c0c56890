#!/usr/bin/python3
"""Speed and memory of comparing two ATB dumps, as ratios measured in one run.

Usage: bench/atb.py [--bin build/release] [--work DIR] [--gib 2] [--write]
Prints Markdown; --write puts it into bench/results_atb.md. Times are the best of several runs, page cache warm. The exit code
is 1 if a target is missed. For numbers worth quoting, nothing else may run.
"""
from __future__ import annotations

import json
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from common import ROOT, MIB, Report, Usage, arguments, binaries, work_folder  # noqa: E402


def size_of(folder: pathlib.Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def count_of(assay: pathlib.Path, *arguments) -> int:
    run = subprocess.run([assay, "compare", *arguments, "--report", "json", "--output", "-"], capture_output=True, check=False)
    return json.loads(run.stdout)["summary"]["compared"]


def measure(assay: pathlib.Path, pair: pathlib.Path, report: Report) -> None:
    # Of one round the names are the same on both sides, so that they can be compared as mere folders too.
    mine, golden = (next((pair / side).glob("*/tensors/*/0")) for side in ("mine", "golden"))
    size = (size_of(mine) + size_of(golden)) / MIB
    report.heading(f"Two ATB dumps, {size:.0f} MiB together")
    codes = (0, 1)
    as_folders = Usage(assay, "compare", mine, golden, "--layout", "folder", "-q", codes=codes)
    as_dumps = Usage(assay, "compare", mine, golden, "-q", codes=codes)
    rows = [count_of(assay, mine, golden, *layout) for layout in (["--layout", "folder"], [])]
    report.line("tensors compared", f"{rows[0]} as folders, {rows[1]} as dumps", "as many", rows[1] >= rows[0] > 0)
    report.line("as folders of tensors", f"{as_folders.seconds:.2f} s, {size / as_folders.seconds:.0f} MiB/s", "none", True)
    speed = as_folders.seconds / as_dumps.seconds
    report.line("as dumps, paired by their graphs", f"{as_dumps.seconds:.2f} s, {speed:.2f} times that speed", "0.50",
                speed >= 0.5)
    report.line("resident", f"{as_dumps.megabytes:.0f} MB", "1000 MB", as_dumps.megabytes < 1000)
    out = pair / "out"
    table = Usage(assay, "msit", "llm", "compare", "-gp", golden, "-mp", mine, "-o", out, "-cl", "api")
    report.line("the table of msit llm compare -cl api", f"{table.seconds:.2f} s", "none", True)


def main() -> int:
    parser = arguments(__doc__, "results_atb.md")
    parser.add_argument("--gib", type=float, default=2.0, help="of each side, about")
    options = parser.parse_args()
    assay = binaries(options, "assay") / "assay"
    report = Report()
    with work_folder(options) as work:
        subprocess.run([sys.executable, ROOT / "bench" / "make_atb_pair.py", "--out", work / "pair", "--gib", str(options.gib),
                        "--", "--atb-twin", "same"], check=True)
        measure(assay, work / "pair", report)
    return report.finish(options, "results_atb.md", ["# Comparing ATB dumps", "", "Made by `bench/atb.py --write`."])


if __name__ == "__main__":
    sys.exit(main())
