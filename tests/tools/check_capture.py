#!/usr/bin/python3
"""What the libraries that are loaded into other programs write: libassay_probe.so under a stand-in for ATB, and libassay.so.

    check_capture.py --bin build/release [--only NAME] [--keep FOLDER] [--long]

Trees are compared byte by byte with what the original probes wrote (tests/data/capture), and opened by `assay`. --long runs the faults
many times.
"""
from __future__ import annotations

import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import time

from atb_symbols import wanted_symbols
from capture_c_interface import check_c_interface
from checker import Checker, run_checks, tail

DATA = pathlib.Path(__file__).resolve().parents[1] / "data" / "capture"
ROUNDS_OF_KILLS = 8
LONG = "--long" in sys.argv
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


def is_whole(path: pathlib.Path) -> bool:
    """Does a file of ATB hold what its header says?"""
    data = path.read_bytes()
    end = data.find(b"$End=1\n")
    length = re.search(rb"\$Object\.Length=(\d+)\n", data[:end]) if end >= 0 else None
    return length is not None and len(data) == end + 7 + int(length[1])


GEN2 = {"ATB_DUMP_TYPE": "tensor|model|op|kernel|cpu_profiling|layer", "ATB_SAVE_TENSOR": "1", "ATB_SAVE_TENSOR_TIME": "1",
        "ATB_SAVE_TENSOR_IN_BEFORE_OUT_AFTER": "1", "ATB_SAVE_TENSOR_RANGE": "0,0", "ATB_SAVE_TENSOR_PART": "2",
        "ATB_SAVE_CHILD": "1", "ATB_SAVE_TILING": "1", "ATB_TIMESTAMP": "20260101_000000"}
GEN3 = {"task": "all", "dump_enable": True, "exec_range": "all", "ids": "", "op_name": "", "save_child": True, "device": "",
        "filter_level": 1}


class CaptureChecker(Checker):
    @property
    def bin(self) -> pathlib.Path:
        return self.program.parent

    def needed(self, name: str) -> set[str]:
        lines = subprocess.run(["readelf", "-d", self.bin / name], stdout=subprocess.PIPE, text=True, check=True).stdout
        return set(re.findall(r"NEEDED.*\[(.*)\]", lines))

    def sanitizers(self) -> list[str]:
        """Libraries that must be loaded before anything that was built with them."""
        return sorted(name for name in self.needed("libassay_probe.so") if name.startswith(("libasan", "libtsan", "libubsan")))

    def environment(self, more: dict[str, str]) -> dict[str, str]:
        plain = {name: value for name, value in os.environ.items() if not name.startswith(("ATB_", "ASSAY_", "LD_"))}
        return {**plain, "LD_PRELOAD": ":".join([*self.sanitizers(), str(self.bin / "libassay_probe.so")]),
                "ASAN_OPTIONS": "detect_leaks=0", "ASSAY_CAPTURE_RESERVE": "0", **more}

    def host(self, words: list[str], folder: pathlib.Path, more: dict[str, str], abi: int = 1,
             **rest) -> subprocess.CompletedProcess:
        return subprocess.run([self.bin / "hosts" / f"abi{abi}" / "atb_host", *words], cwd=folder, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=3600 if LONG else 300,
                              env=self.environment({"ATB_OUTPUT_DIR": f"{folder}/", **more}), **rest)

    def config(self, folder: pathlib.Path, **changes) -> dict[str, str]:
        path = folder / "config.json"
        path.write_text(json.dumps({**GEN3, **changes}))
        path.chmod(0o600)
        return {"ATB_DUMP_CONFIG": str(path)}

    def start_in(self, folder: pathlib.Path, words: list[str], code: int, text: str = "") -> list[str]:
        done = self.start(words, folder)
        return [] if done.returncode == code and text in done.stdout else \
            [f"{' '.join(words)}: exit {done.returncode}: {tail(done.stdout)}"]

    def compare(self, ours: dict[str, bytes], theirs: dict[str, bytes]) -> list[str]:
        failures = [f"{name} is not written" for name in sorted(theirs.keys() - ours.keys())]
        failures += [f"{name} is new" for name in sorted(ours.keys() - theirs.keys())]
        return failures + [f"{name}: {ours[name]!r} instead of {theirs[name]!r}"[:400]
                           for name in sorted(ours.keys() & theirs.keys()) if ours[name] != theirs[name]]


def process_of(done: subprocess.CompletedProcess) -> str:
    return done.stdout.strip().split("\n")[-1]


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

    folder = c.folder("filter_level_2")
    done = c.host(["demo"], folder, c.config(folder, filter_level=2))
    kernel = next(folder.rglob("0_MatMulF16Kernel"))
    failures = [] if b"\ndata=intensor0.bin\n" in (kernel / "before" / "intensor0.bin").read_bytes() else ["no alias of a kernel"]
    c.report("filter_level_2_of_kernels", failures)
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
    c.report("links", [] if len(links) == 11 and all(os.readlink(path).startswith("/") and path.is_file() for path in links)
             else [f"{len(links)} links"])

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


def check_config(c: CaptureChecker) -> None:
    """The file is edited, replaced, made a link, made unreadable while the program runs."""
    folder = c.folder("hot")
    more = c.config(folder, dump_enable=False)
    path = folder / "config.json"
    child = subprocess.Popen([c.bin / "hosts" / "abi1" / "atb_host", "hot"], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True, env=c.environment({"ATB_OUTPUT_DIR": f"{folder}/", **more}))

    def saves() -> str:
        time.sleep(5.1)  # it looks at the file every five seconds
        child.stdin.write("\n")
        child.stdin.flush()
        return child.stdout.readline().split()[1]

    def replace() -> None:
        other = folder / "other.json"
        other.write_text(json.dumps(GEN3))
        other.chmod(0o600)
        other.rename(path)

    def link() -> None:
        path.rename(folder / "target.json")
        path.symlink_to(folder / "target.json")

    steps = [("disabled", lambda: None, "0"), ("edited", lambda: path.write_text(json.dumps(GEN3)), "1"),
             ("a link", link, "0"), ("replaced", replace, "1"), ("broken", lambda: path.write_text("{"), "0"),
             ("replaced again", replace, "1"), ("writable by others", lambda: path.chmod(0o666), "0")]
    for name, change, wanted in steps if LONG else steps[:4]:
        change()
        answer = saves()
        c.report(f"configuration {name}", [] if answer == wanted else [f"answers {answer}"])
    child.stdin.close()
    said = child.stderr.read()
    code = child.wait(30)
    c.report("configuration at the end", [] if code == 0 and "is a link" in said else [f"exit {code}: {said}"])


def check_kills(c: CaptureChecker) -> None:
    chance = random.Random(16)
    whole, broken = 0, []
    rounds = 200 if LONG else ROUNDS_OF_KILLS
    for _ in range(rounds):
        folder = c.folder("kill")
        child = subprocess.Popen([c.bin / "hosts" / "abi1" / "atb_host", "endless"], cwd=folder, stdout=subprocess.DEVNULL,
                                 env=c.environment({**GEN2, "ATB_OUTPUT_DIR": f"{folder}/"}))
        time.sleep(chance.uniform(0.02, 0.4))
        child.send_signal(signal.SIGKILL)
        child.wait()
        for path in (path for path in folder.rglob("*") if path.is_file()):
            data = path.read_bytes()
            good = {".csv": data.endswith(b"NO_ERROR\n"), ".json": data.endswith(b"}\n"), ".txt": data.endswith(b"\n"),
                    ".bin": path.name == "kernel_tilingdata.bin" or is_whole(path)}.get(path.suffix, False)
            whole += good
            broken += [] if good else [f"{path.name} ends with {data[-40:]!r}"]
        shutil.rmtree(folder)
    c.report(f"kill -9, {rounds} rounds", broken if broken or whole else ["nothing was written"])


def check_faults(c: CaptureChecker) -> None:
    folder = c.folder("threads")
    done = c.host(["run", "1", "2", "1000", "64"], folder, {**GEN2, "ATB_SAVE_TENSOR_RANGE": "all"})
    files = [path for path in folder.rglob("*.bin")]
    c.report("64 threads", [] if done.returncode == 0 and len(files) == 64 * 2 * 12 and all(map(is_whole, files)) else
             [f"exit {done.returncode}, {len(files)} files"])

    folder = c.folder("small")
    wanted = 1_000_000 if LONG else 4000
    done = c.host(["kernels", str(wanted)], folder, {**GEN2, "ATB_SAVE_TENSOR_RANGE": "all"})
    count = sum(1 for _ in folder.rglob("outtensor0.bin"))
    c.report("tiny tensors", [] if done.returncode == 0 and count == wanted else [f"{count} files"])

    folder = c.folder("fork")
    done = c.host(["fork"], folder, {**GEN2, "ATB_SAVE_TENSOR_RANGE": "0,1"})
    child, status = done.stdout.split()[:2]
    parent = process_of(done)
    rounds = {path.name: sorted(each.name for each in path.iterdir()) for path in folder.glob("*/tensors/*")}
    tally = json.loads((folder / "msit_dump_20260101_000000" / "capture.json").read_text())
    # The host names its files by the process: each has its own.
    good = rounds == {f"0_{parent}": ["0", "1"], f"0_{child}": ["1"]} and set(tally) == {parent, child}
    c.report("fork", [] if status == "0" and good and tally[child]["tensors"] == 15 else [str((status, rounds, tally))])

    for title, change in (("removed folder", shutil.rmtree), ("read-only folder", lambda path: path.chmod(0o500))):
        folder = c.folder(title.replace(" ", "_"))
        out = folder / "out"
        out.mkdir()
        if title == "read-only folder":
            if os.geteuid() == 0:  # who may write anywhere: a file in the way instead
                out.rmdir()
                out.write_text("in the way")
            else:
                change(out)
        child = subprocess.Popen([c.bin / "hosts" / "abi1" / "atb_host", "run", "40", "2", "64"], cwd=folder, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True,
                                 env=c.environment({**GEN2, "ATB_SAVE_TENSOR_RANGE": "all", "ATB_OUTPUT_DIR": f"{out}/"}))
        if title == "removed folder":
            time.sleep(0.05)
            shutil.rmtree(out, ignore_errors=True)
        _, said = child.communicate(timeout=60)
        lines = said.splitlines()
        good = child.returncode == 0 and (title == "removed folder" or
                                          (len(lines) == 2 and "the program goes on" in lines[0] and "were lost" in lines[1]))
        if title == "removed folder":
            good = good and all(is_whole(path) for path in out.rglob("*tensor?.bin"))
        c.report(title, [] if good else [f"exit {child.returncode}: {said[:500]}"])

    folder = c.folder("full")
    if os.geteuid() == 0 and subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "none", folder], stderr=subprocess.DEVNULL,
                                            check=False).returncode == 0:
        try:
            done = c.host(["run", "40", "2", "4096"], folder, {**GEN2, "ATB_SAVE_TENSOR_RANGE": "all"})
            tally = json.loads(next(folder.rglob("capture.json")).read_text())
            lost = next(iter(tally.values()))
            good = done.returncode == 0 and lost["lost"] > 0 and "No space left" in lost["first_loss"] and lost["tensors"] > 0
            c.report("full disk", [] if good and all(is_whole(path) for path in folder.rglob("*tensor?.bin")) and
                     len(done.stderr.splitlines()) == 2 else [f"exit {done.returncode}: {done.stderr[:300]} {lost}"])
        finally:
            subprocess.run(["umount", folder], check=False)

    folder = c.folder("large_files")
    done = c.host(["run", "1", "1", "4096"], folder, {**GEN2, "ATB_SAVE_TENSOR_RANGE": "all"},
                  preexec_fn=lambda: __import__("resource").setrlimit(__import__("resource").RLIMIT_FSIZE, (8192, 8192)))
    c.report("file size limit", [] if done.returncode == 0 and "File too large" in done.stderr else
             [f"exit {done.returncode}: {done.stderr[:300]}"])


def check_all(c: CaptureChecker) -> None:
    checks = [check_symbols, check_gen2, check_gen3, check_generations, check_kept, check_opened, check_kills, check_faults,
              check_config]
    if not c.sanitizers():  # times mean nothing with them, and Python cannot load what was built with them
        checks += [check_queries, check_c_interface]
    for check in checks:
        if c.wants(check.__name__):
            check(c)


if __name__ == "__main__":
    sys.argv = [word for word in sys.argv if word != "--long"]
    sys.exit(run_checks(__doc__, CaptureChecker, check_all))
