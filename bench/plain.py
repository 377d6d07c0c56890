#!/usr/bin/python3
"""Comparisons against a plain program that reads the same tensors and takes the same sums (bench/plain_measure.cc).

Usage: bench/plain.py [--bin build/release] [--work DIR] [--gib 0.5] [--only NAME] [--repeats 5] [--write]
Prints Markdown; --write puts it into bench/results_plain.md. The plain program knows where the elements lie and opens, reads and
sums: no names, graphs, rules, reports, ULPs, nor the softmax that the tables of msit have. Times are CPU time, user and system, the
least of several runs that take turns, so that other work on the machine matters little. Each line is measured twice, the
second time without AVX-512 on either side. The exit code is 1 if a target is missed.
"""
from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import torchair  # noqa: E402
from common import ROOT, Report, arguments, binaries, machine, work_folder, write_pairs  # noqa: E402
from msprobe import data_offset, make_dump  # noqa: E402

NATIVE, TWIN = 1.3, 2.0
NPY_OFFSET = 128


class Bench:
    def __init__(self, binaries: pathlib.Path, work: pathlib.Path, gib: float, repeats: int, report: Report):
        self.assay, self.tools, self.work = binaries / "assay", binaries / "bench", work
        self.bytes, self.repeats, self.report = int(gib * (1 << 30)), repeats, report

    def cpu_time(self, command: list, preload: str = "") -> float:
        environment = dict(os.environ, LD_PRELOAD=preload) if preload else None
        child = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                 stderr=subprocess.PIPE, env=environment)
        errors = child.stderr.read()
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode not in (0, 1):
            sys.exit(f"{command}: exit {child.returncode}\n{errors[-2000:].decode(errors='replace')}")
        return usage.ru_utime + usage.ru_stime

    def line(self, what: str, pairs: list, lines: dict[str, tuple[float, list]]) -> None:
        """pairs: what the plain program reads; lines: target and arguments of assay by name."""
        path = write_pairs(self.work / "pairs", pairs)
        preload = next(self.tools.glob("*bench_without_avx512.so"))
        for target, plain, preloaded in (("AVX-512", "bench_plain_measure", ""),
                                         ("AVX2", "bench_plain_measure_avx2", str(preload))):
            commands = {"": ([self.tools / plain, 1, path], "")}
            commands |= {name: ([self.assay, *words], preloaded) for name, (_, words) in lines.items()}
            least = dict.fromkeys(commands, float("inf"))
            for _ in range(self.repeats):
                for name, command in commands.items():
                    shutil.rmtree(self.work / "out", ignore_errors=True)
                    least[name] = min(least[name], self.cpu_time(*command))
            for name, (most, _) in lines.items():
                ratio = least[name] / least[""]
                self.report.line(f"{what}, {name}, {target}", f"{least[name]:.3f} s / {least['']:.3f} s = {ratio:.2f}",
                                 f"{most:.2f}" if most < float("inf") else "none", ratio <= most)

    def single(self) -> None:
        random = np.random.default_rng(1)
        for what, dtype, factor in (("f32", np.float32, 1), ("f16", np.float16, 1), ("f32, nearly all beyond 100", np.float32, 1e6)):
            count = self.bytes // np.dtype(dtype).itemsize
            golden = random.standard_normal(count, dtype=np.float32) * np.float32(factor)
            files = [self.work / f"{side}.npy" for side in ("mine", "golden")]
            np.save(files[0], (golden * np.float32(1 + 1e-3)).astype(dtype))
            np.save(files[1], golden.astype(dtype))
            name = what[:3]
            self.line(f"a file of {what}", [(count, *((name, NPY_OFFSET, file) for file in files))],
                      {"compare": (NATIVE, ["compare", *files, "-q"])})

    def small(self) -> None:
        """Files of 4 kB: opening them is most of the work of either program."""
        values = np.random.default_rng(2).standard_normal(1000).astype(np.float32)
        sides, count = [self.work / "small" / side for side in ("mine", "golden")], 10_000
        for side in sides:
            side.mkdir(parents=True)
            for i in range(count):
                np.save(side / f"{i}.npy", values)
        pairs = [(len(values), *(("f32", NPY_OFFSET, side / f"{i}.npy") for side in sides)) for i in range(count)]
        self.line(f"{count} pairs of 1,000 elements", pairs, {"compare": (float("inf"), ["compare", *sides, "-q"])})
        shutil.rmtree(self.work / "small")

    def atb(self) -> None:
        out = self.work / "atb"
        subprocess.run([sys.executable, ROOT / "bench" / "make_atb_pair.py", "--out", out, "--gib", str(self.bytes / (1 << 30) / 2),
                        "--", "--atb-twin", "same"], check=True, stdout=subprocess.DEVNULL)
        mine, golden = (next((out / side).glob("*/tensors/*/0")) for side in ("mine", "golden"))
        pairs = []
        for path in sorted(mine.rglob("*.bin")):
            sides = [atb_tensor(file) for file in (path, golden / path.relative_to(mine))]
            if all(sides):
                pairs.append((sides[0][0], sides[0][1:], sides[1][1:]))
        self.line("ATB, f16 against f32", pairs, {
            "compare": (NATIVE, ["compare", mine, golden, "-q"]),
            "msit llm compare": (TWIN, ["msit", "llm", "compare", "-gp", golden, "-mp", mine, "-o", self.work / "out", "-cl", "api"])})
        shutil.rmtree(out)

    def torchair(self) -> None:
        """Equal tensors need one softmax of the two: once with inputs that are equal, as most are, and once without any."""
        self.torchair_pair("TorchAir, f16, inputs equal", False)
        self.torchair_pair("TorchAir, f16, all differ", True)

    def torchair_pair(self, what: str, inputs_differ: bool) -> None:
        out = self.work / "torchair"
        mine, golden, _ = torchair.write_pair(out, max(1, self.bytes // torchair.OP_BYTES), inputs_differ)
        count = torchair.ROWS * torchair.COLUMNS
        engine = {int(path.name.split(".")[2]): path for path in mine.rglob("Add.*")}
        pairs = []
        for path in sorted(golden.rglob("*.npy")):
            node, slot = path.name.split("-")[0], path.name.split(".")[-4:-2]
            file = engine[int(node.split("_")[1]) if "_" in node else 0]
            place = {"INPUT0": 3, "INPUT1": 2, "OUTPUT0": 1}["".join(slot)]
            pairs.append((count, ("f16", file.stat().st_size - place * count * 2, file), ("f16", NPY_OFFSET, path)))
        self.line(what, pairs, {
            "compare": (NATIVE, ["compare", mine, golden, "-q"]),
            "msit llm compare": (TWIN, ["msit", "llm", "compare", "-gp", golden, "-mp", mine, "-o", self.work / "out"])})
        shutil.rmtree(out)

    def msprobe(self) -> None:
        sides, count = [self.work / "msprobe" / side for side in ("mine", "golden")], 1 << 22
        for side, perturb in zip(sides, (1e-3, 0.0)):
            make_dump(side, "--task", "tensor", "--tensors", max(1, self.bytes // count // 2), "--elements", count, "--dtype", "fp16",
                      "--perturb", perturb)
        files = list(zip(*(sorted((side / "dump_tensor_data").iterdir()) for side in sides)))
        offset = data_offset(files[0][0])
        mine, golden = (side / "dump.json" for side in sides)
        self.line("msprobe, f16", [(count, *(("f16", offset, file) for file in pair)) for pair in files], {
            "compare": (NATIVE, ["compare", mine, golden, "-q"]),
            "msprobe compare": (TWIN, ["msprobe", "compare", "-tp", mine, "-gp", golden, "-o", self.work / "out"])})
        shutil.rmtree(self.work / "msprobe")


def atb_tensor(path: pathlib.Path) -> tuple | None:
    """Count, type, offset and path of a file with data of f16 or f32."""
    end = b"$End=1\n"
    head, found, _ = path.read_bytes()[:4096].partition(end)
    fields = dict(line.split("=", 1) for line in head.decode(errors="replace").splitlines() if "=" in line)
    dtype = {"0": ("f32", 4), "1": ("f16", 2)}.get(fields.get("dtype", ""))
    if not found or dtype is None:
        return None
    return int(fields["$Object.Length"]) // dtype[1], dtype[0], len(head) + len(end), path


def main() -> int:
    parser = arguments(__doc__, "results_plain.md")
    parser.add_argument("--gib", type=float, default=0.5, help="of each side, about")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--only", choices=("single", "small", "atb", "torchair", "msprobe"), action="append")
    options = parser.parse_args()
    programs = binaries(options, "assay", "bench/bench_plain_measure", "bench/bench_plain_measure_avx2")
    report = Report()
    report.heading(f"About {options.gib:g} GiB a side, CPU time")
    with work_folder(options) as work:
        bench = Bench(programs, work, options.gib, options.repeats, report)
        for name in ("single", "small", "atb", "torchair", "msprobe"):
            if options.only is None or name in options.only:
                getattr(bench, name)()
    head = ["# Comparisons against a plain program that reads and measures", "",
            f"Made by `bench/plain.py --write`. {machine()}. CPU time (user and system):", "other work may run beside it."]
    return report.finish(options, "results_plain.md", head)


if __name__ == "__main__":
    sys.exit(main())
