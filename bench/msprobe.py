#!/usr/bin/python3
"""Speed and memory of `assay msprobe` on synthetic dumps, as ratios measured in one run.

Usage: bench/msprobe.py [--bin build/release] [--work DIR] [--only NAME] [--million] [--write]
Prints Markdown; --write puts it into bench/results_msprobe.md. Times are the best of several runs, page cache warm. Every
line has its target; the exit code is 1 if one is missed. For numbers worth quoting, nothing else may run.
"""
from __future__ import annotations

import json
import os
import pathlib
import shutil
import subprocess
import sys
import zipfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from common import ROOT, MIB, Report, Usage, arguments, binaries, machine, work_folder, write_pairs  # noqa: E402

# msprobe itself on 2 idle cores, statistics of 2 x 100,000 APIs (229 MiB of JSON) and a dump of two APIs.
ORIGINAL_CSV, ORIGINAL_XLSX, ORIGINAL_TINY = 108.0, 184.0, 6.0
APIS = 100_000
TENSORS, ELEMENTS = 16, 1 << 25  # of fp16: 1 GiB a side


def make_dump(folder: pathlib.Path, *flags) -> None:
    """In a process of its own: what a program holds when it starts a child counts as the child's peak memory."""
    subprocess.run([sys.executable, ROOT / "bench" / "make_msprobe_dump.py", "--out", folder, *map(str, flags)], check=True)
    os.sync()  # else the disk is busy with it while we measure


class Bench:
    def __init__(self, binaries: pathlib.Path, work: pathlib.Path, report: Report):
        self.assay, self.tools, self.work, self.report = binaries / "assay", binaries / "bench", work, report

    def pair(self, apis: int, name: str = "", *golden) -> tuple[pathlib.Path, pathlib.Path]:
        """Two dumps of statistics; made once for each size."""
        folder = self.work / f"{name}{apis}"
        if not folder.exists():
            make_dump(folder / "mine", "--apis", apis, "--perturb", 1e-3)
            make_dump(folder / "golden", "--apis", apis, *golden)
        return folder / "mine" / "dump.json", folder / "golden" / "dump.json"

    def new_form(self, mine: pathlib.Path, golden: pathlib.Path, *flags: str) -> list:
        return [self.assay, "msprobe", "compare", "-tp", mine, "-gp", golden, "-o", self.out(), *flags]

    def old_form(self, mine: pathlib.Path, golden: pathlib.Path, *flags: str) -> list:
        config = self.work / "compare.json"
        config.write_text(json.dumps({"npu_path": str(mine), "bench_path": str(golden), "is_print_compare_log": False}))
        return [self.assay, "msprobe", "-f", "pytorch", "compare", "-i", config, "-o", self.out(), *flags]

    def out(self) -> pathlib.Path:
        shutil.rmtree(self.work / "out", ignore_errors=True)
        return self.work / "out"

    def statistics(self) -> None:
        mine, golden = self.pair(APIS)
        size = (mine.stat().st_size + golden.stat().st_size) / MIB
        self.report.heading(f"Statistics of 2 x {APIS:,} APIs, {size:.0f} MiB of JSON")
        for what, command, original, factor in (
                ("csv", self.new_form(mine, golden), ORIGINAL_CSV, 50),
                ("xlsx", self.new_form(mine, golden, "--xlsx"), ORIGINAL_XLSX, 30),
                ("xlsx, old form", self.old_form(mine, golden), ORIGINAL_XLSX, 30)):
            usage = Usage(*command)
            speed = original / usage.seconds
            self.report.line(what, f"{usage.seconds:.2f} s, {speed:.0f} times msprobe's {original:.0f} s", f"{factor} times",
                             speed >= factor)
            self.report.line(f"{what}, resident", f"{usage.megabytes:.0f} MB", "1000 MB", usage.megabytes < 1000)

    def tensors(self) -> None:
        sides = [self.work / "big" / side for side in ("mine", "golden")]
        for side, perturb in zip(sides, (1e-3, 0.0)):
            make_dump(side, "--task", "tensor", "--tensors", TENSORS, "--elements", ELEMENTS, "--dtype", "fp16",
                      "--perturb", perturb)
        files = [path for pair in zip(*(sorted((side / "dump_tensor_data").iterdir()) for side in sides)) for path in pair]
        threads = os.cpu_count() or 1
        offset = data_offset(files[0])
        pairs = write_pairs(self.work / "pairs", [(ELEMENTS, ("f16", offset, a), ("f16", offset, b))
                                                  for a, b in zip(files[::2], files[1::2])])
        plain = Usage(self.tools / "bench_plain_measure", threads, pairs)
        usage = Usage(*self.new_form(sides[0] / "dump.json", sides[1] / "dump.json"))
        self.report.heading(f"Tensors, 2 x {TENSORS} .pt of {ELEMENTS * 2 // MIB} MiB, fp16, {threads} threads")
        ratio = usage.seconds / plain.seconds
        self.report.line("csv against a plain program that reads the same files and takes the same sums",
                         f"{usage.seconds:.2f} s / {plain.seconds:.2f} s = {ratio:.2f}", "1.30", ratio <= 1.3)
        reading = Usage(self.tools / "bench_plain_sum", threads, data_offset(files[0]), *files)
        self.report.line("csv against reading them and adding up their bytes as f32, fewer sums than ours",
                         f"{usage.seconds:.2f} s / {reading.seconds:.2f} s = {usage.seconds / reading.seconds:.2f}", "none", True)
        self.report.line("resident", f"{usage.megabytes:.0f} MB", "1000 MB", usage.megabytes < 1000)
        shutil.rmtree(self.work / "big")

    def tiny(self) -> None:
        case = ROOT / "tests" / "data" / "msprobe" / "pt_l1_stats"
        mine, golden = case / "npu" / "dump.json", case / "bench" / "dump.json"
        self.report.heading("A tiny dump")
        for what, command in (("csv", self.new_form(mine, golden)), ("xlsx, old form", self.old_form(mine, golden))):
            usage = Usage(*command, repeats=20)
            speed = ORIGINAL_TINY / usage.seconds
            self.report.line(what, f"{usage.seconds * 1000:.1f} ms, {speed:.0f} times msprobe's {ORIGINAL_TINY:.0f} s", "30 ms",
                             usage.seconds <= 0.03)

    def indexing(self) -> None:
        mine, _ = self.pair(APIS)
        parsing = Usage(self.tools / "bench_sax_parse", mine)
        # A name that fits nothing: the dump is read and indexed, and no line is printed.
        usage = Usage(self.assay, "inspect", mine, "--only", "@none@", "--threads", 1)
        size = mine.stat().st_size / MIB
        ratio = parsing.seconds / usage.seconds
        self.report.heading("Indexing dump.json against a bare parse of it")
        self.report.line("share of the parser's speed",
                         f"{size / usage.seconds:.0f} / {size / parsing.seconds:.0f} MiB/s = {ratio:.2f}", "0.50", ratio >= 0.5)

    def fuzzy(self) -> None:
        mine, golden = self.pair(APIS, "fuzzy", "--shift", 1, "--drop", 1000)
        usage = Usage(*self.new_form(mine, golden, "-fm"))
        self.report.heading(f"Fuzzy matching of {APIS:,} entries against {APIS - APIS // 1000:,} with other counters")
        self.report.line("csv", f"{usage.seconds:.2f} s", "10 s", usage.seconds <= 10)
        self.report.line("resident", f"{usage.megabytes:.0f} MB", "1000 MB", usage.megabytes < 1000)

    def growth(self, sizes: list[int]) -> None:
        self.report.heading("Growth with the number of entries, csv")
        smaller = None
        for apis in sizes:
            usage = Usage(*self.new_form(*self.pair(apis)), repeats=3 if apis <= APIS else 1)
            each = usage.seconds / apis * 1e6
            growth = each / smaller if smaller else 1.0
            self.report.line(f"{apis:,}", f"{usage.seconds:.2f} s, {each:.1f} us each, {usage.megabytes:.0f} MB",
                             "at most 1.5 times the cost of the smaller" if smaller else "", growth <= 1.5)
            smaller = each


def data_offset(path: pathlib.Path) -> int:
    """Where the elements of a .pt file begin; the same in all files of one generator."""
    with zipfile.ZipFile(path) as archive, open(path, "rb") as file:
        member = next(info for info in archive.infolist() if info.filename.endswith("/data/0"))
        file.seek(member.header_offset + 26)
        name, extra = int.from_bytes(file.read(2), "little"), int.from_bytes(file.read(2), "little")
        return member.header_offset + 30 + name + extra


def main() -> int:
    parser = arguments(__doc__, "results_msprobe.md")
    parser.add_argument("--only", choices=("statistics", "tensors", "tiny", "indexing", "fuzzy", "growth"), action="append")
    parser.add_argument("--million", action="store_true", help="measure growth up to 1,000,000 entries (2.4 GiB of JSON)")
    options = parser.parse_args()
    programs = binaries(options, "assay", "bench/bench_plain_measure", "bench/bench_plain_sum", "bench/bench_sax_parse")
    report = Report()
    sizes = [APIS // 10, APIS] + ([APIS * 10] if options.million else [])
    with work_folder(options) as work:
        bench = Bench(programs, work, report)
        parts = {"statistics": bench.statistics, "tensors": bench.tensors, "tiny": bench.tiny, "indexing": bench.indexing,
                 "fuzzy": bench.fuzzy, "growth": lambda: bench.growth(sizes)}
        for name, part in parts.items():
            if options.only is None or name in options.only:
                part()
    return report.finish(options, "results_msprobe.md", ["# Measured with bench/msprobe.py", "", f"{machine()}."])


if __name__ == "__main__":
    sys.exit(main())
