#!/usr/bin/python3
"""What the libraries that are loaded into other programs write: libassay_probe.so under a stand-in for ATB, and libassay.so.

    check_capture.py --bin build/release [--only NAME] [--keep FOLDER] [--long]

Trees are compared byte by byte with what the original probes wrote (tests/data/capture), and opened by `assay`. --long runs the faults
many times.
"""
from __future__ import annotations

import csv
import json
import os
import pathlib
import re
import subprocess
import sys

from atb_symbols import wanted_symbols
from capture_c_interface import check_c_interface
from capture_faults import check_config, check_ends, check_faults, check_full_for_a_while, check_kills, check_large, check_old_kernel, \
    check_quota, check_room_that_takes_long, check_slow_disk
from capture_launch import check_launch
from capture_stand import GEN2, GEN3, CaptureChecker, is_whole, process_of
from checker import run_checks

DATA = pathlib.Path(__file__).resolve().parents[1] / "data" / "capture"
# The libraries that a program has anyway.
BASIC = {"libc.so.6", "libstdc++.so.6", "libm.so.6", "libgcc_s.so.1", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}
# What reading and comparing needs, as the program does.
OF_THE_PROGRAM = {"libprotobuf.so.32", "libre2.so.9", "libyaml-cpp.so.0.7", "libtbb.so.12", "libsqlite3.so.0",
                  "libfmt.so.9", "libmd.so.0", "libz.so.1", "libhwy.so.1"}


def tree(root: pathlib.Path, process: int | str) -> dict[str, bytes]:
    """Every file below a folder by its name, without the number of its process."""
    out = {}
    for path in sorted(root.rglob("*")):
        if path.is_file() and path.name != "capture.json":
            name = re.sub(rf"(^|[/_]){process}(?=[/_.]|$)", r"\1PID", str(path.relative_to(root)))
            data = path.read_bytes()
            out[name] = data if path.suffix == ".bin" else data.replace(b"0_%d" % int(process), b"0_PID")
    return out


def check_symbols(c: CaptureChecker) -> None:
    def lines(*command) -> list[str]:
        return subprocess.run([*command], stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()

    def symbols(name: str) -> set[str]:
        return {line.split()[-1].split("@")[0] for line in lines("nm", "-D", "--defined-only", c.bin / name)
                if line.split()[-2] != "A"}

    for name, more in (("libassay.so", OF_THE_PROGRAM), ("libassay_probe.so", set())):
        c.report(f"{name} needs", sorted(c.needed(name) - BASIC - more - set(c.sanitizers())))
    c.report("libassay_probe.so shows", sorted(symbols("libassay_probe.so") ^ wanted_symbols()))
    header = (pathlib.Path(__file__).resolve().parents[2] / "include" / "assay" / "assay.h").read_text()
    declared = set(re.findall(r"ASSAY_API [^;]*?\b(assay_\w+)\(", header))
    c.report("libassay.so shows", sorted(symbols("libassay.so") ^ declared))
    c.report("both names of the probe", [name for name in ("libatb_probe_abi0.so", "libatb_probe_abi1.so")
                                         if not (c.bin / name).exists()])


def check_gen2(c: CaptureChecker) -> None:
    for abi in (0, 1):
        folder = c.folder(f"gen2_abi{abi}")
        done = c.host(["demo"], folder, GEN2, abi)
        ours = tree(folder / "msit_dump_20260101_000000", process_of(done))
        ours = {name: text.replace(str(folder).encode(), b"/dump") for name, text in ours.items()}
        c.report(f"gen2_abi{abi}", c.compare(ours, tree(DATA / "gen2_all" / "msit_dump_20260101_000000", 27402)) +
                 ([done.stderr] if done.stderr or done.returncode else []))
    folder = c.folder("gen2_stats")
    done = c.host(["demo"], folder, {**GEN2, "ATB_DUMP_TYPE": "tensor|stats", "ATB_SAVE_TENSOR_IDS": "0", "ATB_SAVE_CHILD": "0",
                                     "ATB_SAVE_TENSOR_STATISTICS": "1", "ATB_SAVE_TILING": "0"})
    c.report("gen2_stats", c.compare(tree(folder / "msit_dump_20260101_000000", process_of(done)),
                                     tree(DATA / "gen2_stats" / "msit_dump_20260101_000000", 27417)))
    modes = {oct(path.stat().st_mode & 0o777) for path in folder.rglob("*.bin")}
    c.report("gen2_modes", [] if modes == {"0o640"} else [str(modes)])


def check_gen3(c: CaptureChecker) -> None:
    for abi in (0, 1):
        folder = c.folder(f"gen3_abi{abi}")
        done = c.host(["demo"], folder, {**c.config(folder), "ATB_OUTPUT_DIR": "./"}, abi)
        ours = tree(folder / "atb_dump_data", process_of(done))
        theirs = tree(DATA / "gen3_all" / "atb_dump_data", 27429)
        table = "data/0_PID/0/statistic.csv"
        # The original's rows in any order; ours in that of the calls, with columns of our own behind them.
        rows = ours.pop(table).decode().splitlines()
        known = theirs.pop(table).decode().splitlines()
        failures = c.compare(ours, theirs)
        if sorted(row.rsplit(",", 4)[0] for row in rows) != sorted(known):
            failures.append("statistic.csv has other rows")
        if rows[0] != known[0] + ",Full Max,Full Min,Full Mean,Full Norm" or "5.477225575051661" not in rows[1]:
            failures.append(f"statistic.csv begins with {rows[:2]}")
        if [row.split(",")[6] for row in rows[1:4]] != ["0", "1", "0"]:
            failures.append("statistic.csv is not in the order of the calls")
        c.report(f"gen3_abi{abi}", failures)


def check_generations(c: CaptureChecker) -> None:
    """The folders of the first generation."""
    for generation, place in (("1a", "0_{}/0"), ("1b", "ait_dump/tensors/0_{}/0"), ("1c", "ait_dump_20260101_000000/tensors/0_{}/0"),
                              ("2", "msit_dump_20260101_000000/tensors/0_{}/0"), ("3", None)):
        folder = c.folder(f"generation_{generation}")
        done = c.host(["demo"], folder, {**GEN2, "ATB_DUMP_TYPE": "tensor", "ASSAY_ATB_GENERATION": generation})
        if place is None:
            c.report("generation_3_without_configuration", [str(path) for path in folder.rglob("*")])
        else:
            path = folder / place.format(process_of(done)) / "0_DemoLayer" / "before" / "intensor0.bin"
            c.report(f"generation_{generation}", [] if path.is_file() else [f"no {path}"])
    folder = c.folder("no_variables")
    done = subprocess.run([c.bin / "hosts" / "abi1" / "atb_host", "demo"], cwd=folder, env=c.environment({}), stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=60)
    c.report("no_variables", [str(path) for path in folder.rglob("*")] + ([done.stderr] if done.stderr else []))


def check_kept(c: CaptureChecker) -> None:
    """What the originals lose."""
    folder = c.folder("second_save")
    done = c.host(["second-save"], folder, {**GEN2, "ATB_DUMP_TYPE": "tensor"})
    before = folder / "msit_dump_20260101_000000" / "tensors" / f"0_{process_of(done)}" / "0" / "0_DemoLayer" / "before"
    names = sorted(path.name for path in before.iterdir())
    c.report("second_save", [] if names == ["intensor0.2.bin", "intensor0.bin", "intensor1.2.bin", "intensor1.bin"] and
             all(is_whole(path) for path in before.iterdir()) else [str(names)])

    folder = c.folder("infinities")
    done = c.host(["spoilt"], folder, c.config(folder))
    rows = next(folder.rglob("statistic.csv")).read_text().splitlines()
    c.report("infinities", [] if len(rows) == 11 and sum(row.startswith("Device") for row in rows) == 1 and
             any("nan" in row for row in rows) else rows)

    folder = c.folder("odd")
    done = c.host(["odd"], folder, c.config(folder))
    table = next(folder.rglob("statistic.csv"))
    rows = {(row["Op Name"], row["Index"]): row for row in csv.DictReader(table.read_text().splitlines())}
    complex_row, infinite = rows["DemoLayer/ElewiseOperation", "0"], table.read_text().count(",-inf,")
    c.report("complex statistics are quoted", [] if complex_row["Full Norm"] != "" and None not in complex_row and
             table.read_text().count('"(') >= 2 else [str(complex_row)])
    c.report("complex statistics are read", c.start_in(folder, ["errcheck", "atb_dump_data"], 1, "FAIL: 3 of 6 tensors hold NaN"))
    c.report("rows with -inf", [] if infinite >= 1 else [table.read_text()])
    child = next(folder.rglob("0_LinearOperation")) / "before"
    c.report("aliases of names that were written", [] if b"Count=1" in (child / "intensor0.bin").read_bytes() and
             b"data=0_intensor1.bin" in (child / "intensor1.bin").read_bytes() else
             [str((child / name).read_bytes()) for name in ("intensor0.bin", "intensor1.bin")])
    folder = c.folder("odd_rows")
    done = c.host(["odd"], folder, {**GEN2, "ATB_DUMP_TYPE": "op"})
    rows = [row.split("|")[3] for row in next(folder.rglob("operation_tensors_0.csv")).read_text().splitlines()[1:]]
    c.report("rows that look like formulas", [] if rows == ["=1+1", "two lines"] else rows)

    folder = c.folder("filter_level_2")
    done = c.host(["demo"], folder, c.config(folder, filter_level=2))
    kernel = next(folder.rglob("0_MatMulF16Kernel"))
    failures = [] if b"\ndata=intensor0.bin\n" in (kernel / "before" / "intensor0.bin").read_bytes() else ["no alias of a kernel"]
    # They come before those of their operation, which would have to be named.
    outputs = [path for each in ("0_MatMulF16Kernel", "0_AddF16Kernel") for path in next(folder.rglob(each)).rglob("outtensor*.bin")]
    failures += [f"{path} has no data" for path in outputs if b"Count=1" not in path.read_bytes()]
    c.report("filter_level_2_of_kernels", failures if outputs else ["no outputs of kernels"])
    folder = c.folder("unknown_operation")
    done = c.host(["kernels", "3"], folder, c.config(folder, filter_level=2))
    files = list(folder.rglob("outtensor0.bin"))
    c.report("filter_level_2_of_unknown_names", [] if len(files) == 3 and all(b"Count=1" in f.read_bytes() for f in files) else
             [str(files)])

    folder = c.folder("two_models")
    done = c.host(["two-models"], folder, {**GEN2, "ATB_DUMP_TYPE": "model"})
    models = {path.name: json.loads(path.read_text())["nodes"][0]["opName"] for path in folder.rglob("model/*/*.json")}
    wanted = {"FirstModel.json": "FirstLayer_0", "SecondModel.json": "SecondLayer_2", "FirstModel.2.json": "FirstLayer_3"}
    c.report("two_models", [] if models == wanted else [str(models)])

    folder = c.folder("header_once")
    done = c.host(["run", "1", "4", "64", "8"], folder, c.config(folder))
    rows = next(folder.rglob("statistic.csv")).read_text().splitlines()
    wide = {len(row.split(",")) for row in rows}
    c.report("header_once", [] if sum(row.startswith("Device") for row in rows) == 1 and wide == {19} and
             len(rows) == 1 + 8 * 4 * 12 else [f"{len(rows)} rows of {wide} cells"])

    folder = c.folder("links")
    done = c.host(["demo"], folder, {**GEN2, "ATB_DUMP_TYPE": "tensor", "ATB_SAVE_SYMLINK": "1"})
    links = [path for path in folder.rglob("*.bin") if path.is_symlink()]
    c.report("links", [] if len(links) == 11 and all(os.readlink(path).startswith("../") and path.is_file() for path in links)
             else [f"{len(links)} links"])

    folder = c.folder("links_of_descriptions")
    done = c.host(["demo"], folder, {**GEN2, "ATB_DUMP_TYPE": "tensor", "ATB_SAVE_SYMLINK": "1", "ATB_SAVE_TENSOR": "2"})
    files = list(folder.rglob("*tensor*.bin"))
    c.report("descriptions are no links", [] if len(files) == 15 and not any(path.is_symlink() for path in files) else [str(files[:3])])

    folder = c.folder("onnx")
    done = c.host(["demo"], folder, {**GEN2, "ATB_DUMP_TYPE": "onnx|model|op", "ATB_DUMP_SUB_PROC_INFO_SAVE_PATH": f"{folder}/list"})
    listed = (folder / "list" / "subprocess_info.txt").read_text().splitlines()
    c.report("onnx", [] if [pathlib.Path(path).name for path in listed] == ["DemoLayer_0.json", "DemoModel.json"] and
             all(pathlib.Path(path).is_file() for path in listed) else listed)

    folder = c.folder("overflow")
    done = c.host(["spoilt"], folder, {"ATB_CHECK_TYPE": "1", "ATB_OUTPUT_DIR": str(folder)})
    said = {path.name: path.read_text() for path in folder.iterdir()}
    wanted = {f"msit_overflow_res_{process_of(done)}.txt": "Overflow detected! Operator name: LinearOperation_0_0:MatMulKernel\n"}
    c.report("overflow_of_bf16", [] if said == wanted else [str(said)])
    folder = c.folder("overflows")
    c.host(["spoilt-twice"], folder, {"ATB_CHECK_TYPE": "1", "ATB_OUTPUT_DIR": str(folder)})
    lines = next(folder.iterdir()).read_text().splitlines()
    c.report("one line for each overflow", [] if len(lines) == 2 and all("Overflow detected!" in line for line in lines) else lines)


def check_opened(c: CaptureChecker) -> None:
    """The trees are dumps like any other."""
    folder = c.folder("opened")
    dumps = []
    for name in ("mine", "golden"):
        side = folder / name
        side.mkdir()
        c.host(["run", "2", "3", "100"], side, {**GEN2, "ATB_DUMP_TYPE": "tensor|model|op", "ATB_SAVE_TENSOR_RANGE": "0,1"})
        dumps.append(str(side / "msit_dump_20260101_000000"))
    c.report("compare", c.start_in(folder, ["compare", *dumps], 0, "PASS"))
    side = folder / "operations"
    side.mkdir()
    c.host(["run", "1", "2", "100"], side, {**GEN2, "ATB_DUMP_TYPE": "tensor", "ATB_SAVE_TENSOR_IDS": "0_0,0_1,1_0,1_1",
                                            "ATB_SAVE_CHILD": "0"})
    c.report("opcheck", c.start_in(folder, ["opcheck", str(side / "msit_dump_20260101_000000")], 0, "PASS"))
    model = next((folder / "mine").rglob("SeededModel.json"))
    c.report("topology", c.start_in(folder, ["topology", str(model), "--output", "x.onnx"], 0))
    side = folder / "three"
    side.mkdir()
    c.host(["run", "2", "3", "100"], side, c.config(side))
    c.report("compare generation 3", c.start_in(folder, ["compare", str(side / "atb_dump_data"), dumps[1]], 0, "PASS"))
    side = folder / "level2"
    side.mkdir()
    c.host(["run", "2", "3", "100"], side, c.config(side, filter_level=2))
    c.report("compare filter level 2", c.start_in(folder, ["compare", str(side / "atb_dump_data"), dumps[1]], 0, "PASS"))
    only = folder / "statistics"
    only.mkdir()
    c.host(["run", "2", "3", "100"], only, c.config(only, task="statistics"))
    c.report("compare statistics", c.start_in(folder, ["compare", str(only / "atb_dump_data"), str(side / "atb_dump_data")], 0))


def check_queries(c: CaptureChecker) -> None:
    folder = c.folder("queries")
    for title, more in (("environment", {**GEN2, "ATB_SAVE_TENSOR_IDS": "5,7_1", "ATB_SAVE_TENSOR_RUNNER": "self,rms"}),
                        ("configuration", c.config(folder, ids="5,7_1", op_name="self,rms", exec_range="0,3"))):
        times = dict(line.split() for line in c.host(["queries"], folder, more).stdout.splitlines()[:4])
        # Ten times the goal: the machine that tests may be busy. bench/capture.py measures.
        c.report(f"queries by {title}", [f"{name} takes {ns} ns" for name, ns in times.items() if float(ns) > 1000] +
                 ([] if len(times) == 4 else [str(times)]))


def check_all(c: CaptureChecker) -> None:
    checks = [check_symbols, check_gen2, check_gen3, check_generations, check_kept, check_opened, check_kills, check_faults,
              check_ends, check_slow_disk, check_room_that_takes_long, check_full_for_a_while, check_quota, check_old_kernel, check_large, check_config]
    if not c.sanitizers():  # times mean nothing with them, and Python cannot load what was built with them
        checks += [check_queries, check_c_interface, check_launch]
    for check in checks:
        if c.wants(check.__name__):
            check(c)


if __name__ == "__main__":
    sys.argv = [word for word in sys.argv if word != "--long"]  # CaptureChecker has seen it
    sys.exit(run_checks(__doc__, CaptureChecker, check_all))
