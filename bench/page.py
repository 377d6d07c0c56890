#!/usr/bin/python3
"""The page: what writing it costs, how soon it can be used, and what a close look at a tensor costs.

Usage: bench/page.py [--bin build/release] [--work DIR] [--gib 1] [--repeats 3] [--only files,detail,browser] [--write]
Prints Markdown; --write puts it into bench/results_page.md. The browser is Debian's Chromium, driven by web/test/measure.mjs on two
cores (`make web` has fetched what that needs); times in it are those of a clock, so nothing else may run. Times of programs are CPU
time, user and system, the least of several runs, but for the first and last of "Writing the file". The exit code is 1 if a target is missed.
"""
from __future__ import annotations

import json
import pathlib
import shutil
import subprocess
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests" / "tools"))

import page_dumps  # noqa: E402
from common import MIB, ROOT, Report, Usage, arguments, binaries, machine, work_folder  # noqa: E402

TENSORS, FAILING = 64, 5


class Bench:
    def __init__(self, assay: pathlib.Path, work: pathlib.Path, gib: float, repeats: int, report: Report):
        self.assay, self.work, self.bytes, self.repeats, self.report = assay, work, int(gib * (1 << 30)), repeats, report

    def compare(self, mine: pathlib.Path, golden: pathlib.Path, *flags: str) -> Usage:
        out = self.work / "out"
        shutil.rmtree(out, ignore_errors=True)
        return Usage(self.assay, "compare", mine, golden, "-q", "--output", out, *flags, repeats=self.repeats, codes=(0, 1))

    def against(self, what: str, measured: Usage, base: Usage, most: float) -> None:
        for name, ours, theirs in (("CPU time", measured.cpu, base.cpu), ("clock", measured.seconds, base.seconds)):
            ratio = ours / theirs
            self.report.line(f"{what}, {name}", f"{ours:.3f} s / {theirs:.3f} s = {ratio:.2f}", f"{most:.2f}", ratio <= most)

    def files(self) -> None:
        self.report.heading("Writing the file")
        mine, golden = self.write_gib()
        csv, off = self.compare(mine, golden, "--report", "csv"), self.compare(mine, golden, "--report", "csv", "--detail", "off")
        html = self.compare(mine, golden, "--report", "html")
        what = f"html of {2 * self.bytes / (1 << 30):g} GiB in {TENSORS} pairs, {FAILING} of which fail"
        self.against(f"{what}, against csv", html, csv, 1.3)
        self.against(f"{what}, against csv that nothing was looked at closely for", html, off, 1.3)
        self.against("… of which csv with diagnoses takes", csv, off, 1.3)
        shutil.rmtree(mine.parent)
        page_dumps.write_large(self.work / "large")
        mine, golden = (self.work / "large" / side for side in ("mine", "golden"))
        csv, html = self.compare(mine, golden, "--report", "csv"), self.compare(mine, golden, "--report", "html")
        for name, more in (("CPU time", html.cpu - csv.cpu), ("clock", html.seconds - csv.seconds)):
            self.report.line(f"50,000 rows: html beside csv, {name}", f"{more:.2f} s more", "1.00 s", more <= 1)
        page = next((self.work / "out").glob("*.html"))
        size = page.stat().st_size / MIB
        self.report.line("50,000 rows: size", f"{size:.1f} MiB", "12 MiB", size <= 12)
        page.rename(self.work / "large.html")

    def write_gib(self) -> tuple[pathlib.Path, pathlib.Path]:
        """Half of it on each side, rounded apart; those that fail have columns that are twice what they should be."""
        random = np.random.default_rng(1)
        mine, golden = self.work / "gib" / "mine", self.work / "gib" / "golden"
        mine.mkdir(parents=True)
        golden.mkdir()
        columns = 1024
        rows = max(1, self.bytes // TENSORS // 2 // columns)
        for i in range(TENSORS):
            values = random.standard_normal((rows, columns), dtype=np.float32)
            np.save(golden / f"layers.{i}.npy", values.astype(np.float16))
            values *= np.float32(1 + 2e-4)
            if i % (TENSORS // FAILING) == 5:
                values[:, 7:71] *= 2
            np.save(mine / f"layers.{i}.npy", values.astype(np.float16))
        return mine, golden

    def detail(self) -> None:
        self.report.heading("A close look at a pair of 256 MiB, beside comparing it")
        random = np.random.default_rng(2)
        for name, dtype, factor in (("f32", np.float32, 1.01), ("f16", np.float16, 1.01), ("f32, a few columns", np.float32, None)):
            values = random.standard_normal((256 * MIB // np.dtype(dtype).itemsize // 4096, 32, 128), dtype=np.float32)
            files = [self.work / f"{side}.npy" for side in ("mine", "golden")]
            np.save(files[1], values.astype(dtype))
            if factor:
                values *= factor
            else:
                values[:, :, 100:] *= 2
            np.save(files[0], values.astype(dtype))
            plain, close = self.compare(*files, "--detail", "off"), self.compare(*files, "--detail", "words")
            self.against(name, Difference(close, plain), plain, 3)

    def browser(self) -> None:
        self.report.heading("The page of 50,000 rows in headless Chromium, two cores")
        page = self.work / "large.html"
        if not page.exists():
            page_dumps.write_large(self.work / "large")
            self.compare(self.work / "large" / "mine", self.work / "large" / "golden", "--report", "html")
            next((self.work / "out").glob("*.html")).rename(page)
        done = subprocess.run(["taskset", "-c", "0,1", "node", "test/measure.mjs", shutil.which("chromium"), page, str(self.repeats)],
                              cwd=ROOT / "web", capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"web/test/measure.mjs: {done.stderr[-2000:]}")
        found = json.loads(done.stdout)
        for what, key, unit, most in (("first paint", "paint_s", "s", 1), ("usable", "ready_s", "s", 2), ("usable, CPU time", "task_s", "s", 2),
                                      ("memory of the script", "heap_mb", "MB", 300), ("memory of the tab's process", "tab_mb", "MB", 300),
                                      ("scrolling, of a frame", "frame_ms", "ms", 1000 / 60), ("… its CPU time", "frame_task_ms", "ms", 1000 / 60)):
            self.report.line(what, f"{found[key]:.3g} {unit}", f"{most:.3g} {unit}", found[key] <= most * (1.02 if key == "frame_ms" else 1))


class Difference:
    def __init__(self, more: Usage, less: Usage) -> None:
        self.cpu, self.seconds = more.cpu - less.cpu, more.seconds - less.seconds


def main() -> int:
    parser = arguments(__doc__, "results_page.md")
    parser.add_argument("--gib", type=float, default=1, help="of the dump that is compared")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", default="files,detail,browser", help="parts, with commas")
    options = parser.parse_args()
    folder = binaries(options, "assay")
    report = Report()
    with work_folder(options) as work:
        bench = Bench(folder / "assay", work, options.gib, options.repeats, report)
        for part in options.only.split(","):
            getattr(bench, part)()
    return report.finish(options, "results_page.md", ["# Measured with bench/page.py", "", f"{machine()}."])


if __name__ == "__main__":
    sys.exit(main())
