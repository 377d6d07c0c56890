#!/usr/bin/python3
"""Hold what Assay says of TorchAir dumps against what the original tools say of those in tests/data/torchair, and against
truth.json of those that make_torchair_dump.py writes: what belongs together is compared, nothing else is, every tensor has its
row, without a fault everything passes, with one the first divergence is it.

    check_torchair.py --bin build/release [--only ranks] [--keep DIR]

A failure is a line 'variant: what is wrong'. The last line is 'N passed, M failed'.
"""
from __future__ import annotations

import argparse
import contextlib
import io
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
from typing import NamedTuple

import make_torchair_dump
import torchair_differences
import torchair_tables
from opened_files import count_opened


class Variant(NamedTuple):
    flags: str
    fault: str = ""  # as --fault has it; the variant is run without it as well
    judged: bool = True  # False: holds values that no rule can pass


VARIANTS = {
    "f16": Variant("", "Softmax:1.5@0.1.1"),
    "bf16": Variant("--dtype bf16", "MatMul_2:1.5@0.1.0"),
    "mixed types": Variant("--mixed", "MatMul_1:1.5@0.1.0"),
    "f32": Variant("--dtype f32 --layers 2", "BatchMatMul_3:1.5"),
    "deep": Variant("--layers 24 --tokens 1", "MatMul_100:1.05"),
    "deep bf16": Variant("--layers 24 --tokens 1 --dtype bf16", "MatMul_100:1.3"),
    "plain formats": Variant("--plain-formats", "Conv2D:1.5"),
    "device formats": Variant("--no-fusion --no-private", "Relu:1.5@0.1.1"),
    "many outputs": Variant("--no-private", "SplitV:1.5@0.1.0"),
    "many inputs": Variant("--no-private", "Concat:1.5@0.1.0"),
    "inside a fused operator": Variant("", "Swish:1.5@0.1.1"),
    "fused name with two readings": Variant("", "Neg:1.5@0.1.0"),
    "fused names that do not tell": Variant("--opaque-fused", "Mul_3:1.5@0.1.0"),
    "ranks": Variant("--ranks 3 --tokens 1", "ArgMax:2@1.1.0"),
    "ranks of the other tool": Variant("--ranks 2 --tokens 1 --tool msprobe", "Pow_1:1.5@1.1.0"),
    "graphs": Variant("--graphs 3", "MlaProlog:1.5@0.2.1"),
    "graphs in another order": Variant("--graphs 2 --model-ids reversed", "MlaProlog:1.5@0.2.0"),
    "graphs without names": Variant("--graphs 2 --model-ids opaque", "MlaProlog:1.5@0.2.0"),
    "ranks and graphs": Variant("--ranks 2 --graphs 2 --tokens 1", "MatMul_5:1.5@1.2.0"),
    "folders of 7.1.0": Variant("--ge plain --fx gm", "MatMul:1.5@0.1.1"),
    "folders before 7.1.0": Variant("--ge plain --fx gm_rank --tool ait", "MatMul:1.5@0.1.1"),
    "folders before 7.1.0, graphs": Variant("--ge plain --fx gm_rank --graphs 2", "MatMul:1.5@0.2.1"),
    "folders before 7.1.0, ranks": Variant("--ge plain --fx gm_rank --ranks 2 --tokens 1", "MatMul:1.5@1.1.0"),
    "the oldest folder": Variant("--ge plain --fx direct --tokens 1", "MatMul:1.5@0.1.0"),
    "new engine, old FX": Variant("--fx gm", "MatMul:1.5@0.1.1"),
    "four fields": Variant("--file-names four", "Square:1.5@0.1.1"),
    "nine fields": Variant("--file-names ffts", "Square:1.5@0.1.1"),
    "long names": Variant("--long-names", "Conv2D:1.5@0.1.0"),
    "hard graph text": Variant("--hard-graph-text", "Concat:1.5@0.1.0"),
    "arguments": Variant("--arguments", "FlashAttentionScore:1.5@0.1.1"),
    "odd values": Variant("--odd --empty", judged=False),
    "FX data missing": Variant("--missing golden:Pow --missing golden:Concat", "MatMul_5:1.5@0.1.0"),
    "engine data missing": Variant("--missing mine:Pow --missing mine:MatMul", "MatMul_5:1.5@0.1.0"),
    "two engines": Variant("--golden ge", "BatchMatMul_1:1.5@0.1.1"),
    "two engines, mixed types": Variant("--golden ge --mixed", "MatMul_1:1.5@0.1.0"),
    "two engines, inside a fused operator": Variant("--golden ge", "Add_3:4@0.1.0"),
    "two engines, graphs and ranks": Variant("--golden ge --graphs 2 --ranks 2 --tokens 1", "MatMul_5:1.5@1.2.0"),
    "two engines, older folders": Variant("--golden ge --ge plain --graphs 2", "MatMul_5:1.5@0.2.1"),
    "two engines, data missing": Variant("--golden ge --missing golden:Mul --missing golden:Square", "MatMul_5:1.5@0.1.0"),
    "two engines, odd values": Variant("--golden ge --odd --empty", judged=False),
    "two engines, long names": Variant("--golden ge --long-names", "Conv2D:1.5@0.1.0"),
    "minimum and maximum": Variant("--mine-form min_max --golden-form min_max", "MatMul_1:1.5@0.1.1"),
    "minimum and maximum of bf16": Variant("--dtype bf16 --layers 2 --mine-form min_max --golden-form min_max", "MatMul_1:1.5@0.1.1"),
    "minimum and maximum of mine": Variant("--mine-form min_max", "MatMul_1:1.5@0.1.1"),
    "minimum and maximum of golden": Variant("--golden-form min_max", "MatMul_1:1.5@0.1.1"),
    "minimum and maximum, two engines": Variant("--golden ge --mine-form min_max --golden-form min_max", "MatMul_1:1.5@0.1.1"),
    "minimum and maximum, long names": Variant("--mine-form min_max --long-names", "Conv2D:1.5@0.1.0"),
    "statistics of the engine": Variant("--mine-form stats_csv --plain-formats", "MatMul_1:1.5@0.1.1"),
    "statistics of two engines": Variant("--golden ge --mine-form stats_csv --golden-form stats_csv --plain-formats",
                                         "MatMul_1:1.5@0.1.1"),
}

ENGINE_TIME = re.compile(r"(?<!\d)\d{16}(?!\d)")
ENGINE_SLOT = re.compile(r"(input|output)s?[^a-z0-9]*(\d+)", re.IGNORECASE)
FX_TIME = re.compile(r"(?<!\d)\d{20}(?!\d)")
FX_SLOT = re.compile(r"\.(INPUT|OUTPUT)\.(\d+(?:\.\d{1,6})?)(?!\d)")


class Side:
    """The tensors of one dump, found by what a report calls them."""

    def __init__(self, tensors: list[dict]) -> None:
        self.tensors = tensors
        self.places: dict[tuple, int] = {}
        self.hashes: dict[str, str] = {}
        for index, tensor in enumerate(tensors):
            time = FX_TIME.search(tensor["name"]) or ENGINE_TIME.search(tensor["name"])
            self.places[time[0], tensor["slot"]] = index
            frame = (tensor["rank"], tensor["graph"], tensor["token"])
            self.places[frame, tensor["op"], tensor["slot"]] = index
            self.hashes[pathlib.PurePath(tensor["file"]).name] = time[0]
        self.frames = {(tensor["rank"], tensor["graph"], tensor["token"]) for tensor in tensors}

    def frame(self, section: str | None) -> tuple[int, ...] | None:
        """That a section such as 'rank 0 graph 1 token 3' means; what it does not say must be the same everywhere."""
        said = {word: int(number) for word, number in re.findall(r"(rank|graph|token) (\d+)", section or "")}
        fits = [frame for frame in self.frames
                if all(said.get(word, number) == number for word, number in zip(("rank", "graph", "token"), frame))]
        return fits[0] if len(fits) == 1 else None

    def find(self, text: str, row: dict) -> int | None:
        """The tensor that a row means: by the time in its file name, or by section, operator and slot."""
        fx = FX_SLOT.search(text)
        slot = fx or next(iter(list(ENGINE_SLOT.finditer(text))[-1:]), None)
        if slot is None:
            return None
        place = f"{slot[1].lower()}.{slot[2]}"
        time = (FX_TIME if fx else ENGINE_TIME).search(text)
        found = time[0] if time else next((at for name, at in self.hashes.items() if name in text), None)
        if found is not None and (found, place) in self.places:
            return self.places[found, place]
        frame = self.frame(row["section"])
        start = text[:slot.start()].rstrip(".:,/ ")
        for op in (start, start.rpartition("/")[2], row["name"]):
            if (frame, op, place) in self.places:
                return self.places[frame, op, place]
        return None


class Report:
    def __init__(self, program: pathlib.Path, out: pathlib.Path, truth: dict) -> None:
        done = subprocess.run([program, "compare", truth["mine"], truth["golden"], "--report", "json", "--output", "-", "-q"],
                              cwd=out, capture_output=True, text=True, errors="replace", timeout=120)
        self.code, self.messages = done.returncode, done.stderr.strip()
        self.rows, self.summary, self.layouts = [], {}, {}
        with contextlib.suppress(json.JSONDecodeError):
            document = json.loads(done.stdout)
            self.rows, self.summary, self.layouts = document["rows"], document["summary"], document["layouts"]


class Checker:
    """One pair of dumps and the report on it."""

    def __init__(self, truth: dict, report: Report, variant: Variant) -> None:
        self.truth, self.report, self.variant = truth, report, variant
        self.mine, self.golden = Side(truth["tensors"]["mine"]), Side(truth["tensors"]["golden"])
        self.seen: dict[str, set[int]] = {"mine": set(), "golden": set()}
        self.partners: dict[int, list[tuple[int, dict]]] = {}

    def label(self, side: str, index: int) -> str:
        tensor = (self.mine if side == "mine" else self.golden).tensors[index]
        return f"rank {tensor['rank']} graph {tensor['graph']} token {tensor['token']} {tensor['name']} {tensor['slot']}"

    def check_rows(self) -> list[str]:
        """Both sides of a row hold the same value."""
        wrong = []
        for row in self.report.rows:
            mine = self.mine.find(row["mine"], row) if row["mine"] else None
            golden = self.golden.find(row["golden"], row) if row["golden"] else None
            wrong += [f"cannot tell which tensor of {side} {row[side]!r} is (section {row['section']!r}, name {row['name']!r})"
                      for side, found in (("mine", mine), ("golden", golden))
                      if row[side] and found is None and not self.own_input(row)]
            for side, found in (("mine", mine), ("golden", golden)):
                if found is not None:
                    self.seen[side].add(found)
            if golden is None and self.own_input(row):
                self.seen["mine"].add(self.mine.find(row["golden"], row))
            if mine is None or golden is None:
                continue
            self.partners.setdefault(mine, []).append((golden, row))
            a, b = self.mine.tensors[mine], self.golden.tensors[golden]
            # An axis beside another axis is no pair, but no harm either as long as it raises no alarm.
            harmless = a["constant"] and b["constant"] and row["verdict"] not in ("fail", "error")
            if any(a[word] != b[word] for word in ("rank", "graph", "token", "value")) and not harmless:
                wrong.append(f"{self.label('mine', mine)} ({a['value']}) is paired with {self.label('golden', golden)} "
                             f"({b['value']})")
        return wrong

    def own_input(self, row: dict) -> bool:
        """A conversion that the engine put in may be compared with what it was given."""
        given, made = self.mine.find(row["golden"] or "", row), self.mine.find(row["mine"] or "", row)
        return None not in (given, made) and self.mine.tensors[given]["name"] == self.mine.tensors[made]["name"] \
            and self.mine.tensors[made]["private"]

    def check_pairs(self) -> list[str]:
        wrong = []
        for pair in self.truth["pairs"]:
            rows = [row for golden, row in self.partners.get(pair["mine"], []) if golden in pair["golden"]]
            if pair["required"] and not rows:
                wrong.append(f"{self.label('mine', pair['mine'])} has no row with {self.label('golden', pair['golden'][0])}")
            wrong += [f"{self.label('mine', pair['mine'])}: {row['status']}: {row['note']}" for row in rows
                      if row["status"] != "compared" and pair["required"] and self.variant.judged]
        return wrong

    def check_complete(self) -> list[str]:
        """Every tensor of either side has a row. A pickled None and a text are arguments, no tensors."""
        return [f"{self.label(side, index)} has no row" for side, tensors in self.truth["tensors"].items()
                for index, tensor in enumerate(tensors) if tensor["numeric"] and index not in self.seen[side]]

    def check_verdict(self) -> list[str]:
        if not self.variant.judged:
            return []
        bad = [row for row in self.report.rows if row["verdict"] in ("fail", "error")]
        wrong = [f"{row['section']} {row['mine']} {row['golden']}: {row['verdict']}: {row['reason']}; {row['note']}"
                 for row in bad if not self.is_tainted(row)]
        first = self.truth["first"]
        if self.report.code != (1 if first else 0):
            wrong.append(f"exit code {self.report.code}, expected {1 if first else 0}; {self.report.messages[-200:]}")
        if not first:
            return wrong
        for kind in ("first_divergence", "first_origin"):
            found = self.report.summary.get(kind) or {}
            text = found.get("mine") or found.get("name") or ""
            index = self.mine.find(text, {"section": found.get("section"), "name": found.get("name")})
            if index != first["mine"]:
                wrong.append(f"{kind} is {found.get('section')} {text}, planted at {self.label('mine', first['mine'])}")
        return wrong

    def is_tainted(self, row: dict) -> bool:
        index = self.mine.find(row["mine"], row) if row["mine"] else None
        return index is not None and self.mine.tensors[index]["tainted"]

    def run(self) -> list[str]:
        if not self.report.rows:
            return [f"no report: exit code {self.report.code}: {self.report.messages[-300:]}"]
        layouts = {"mine": "torchair_ge", "golden": "torchair_ge" if self.truth["golden"].endswith("ge_dump") else "torchair_fx"}
        wrong = [f"{side} is taken for {self.report.layouts.get(side)}, not {name}" for side, name in layouts.items()
                 if self.report.layouts.get(side) != name]
        return wrong + self.check_rows() + self.check_pairs() + self.check_verdict() + self.check_complete()


def check(program: pathlib.Path, out: pathlib.Path, variant: Variant, fault: str) -> list[str]:
    with contextlib.redirect_stdout(io.StringIO()):
        make_torchair_dump.main(["--out", str(out), *variant.flags.split(), *(["--fault", fault] if fault else [])])
    truth = json.loads((out / "truth.json").read_text())
    return Checker(truth, Report(program, out, truth), variant).run()


def check_without_constants(program: pathlib.Path, out: pathlib.Path) -> list[str]:
    """A graph whose text lacks its constants, and one that does not even name them: inputs keep their numbers."""
    wrong = []
    for golden in ([], ["--golden", "ge"]):
        pair = out / "_".join(["pair", *golden[1:]])
        with contextlib.redirect_stdout(io.StringIO()):
            make_torchair_dump.main(["--out", str(pair), "--tokens", "1", *golden])
        truth = json.loads((pair / "truth.json").read_text())
        for pattern in (r'(?ms)^op \{\n  name: "Const\w*"\n.*?^\}\n', r'  input: "Const[^"]*"\n'):
            for graph in pair.rglob("dynamo_*.txt"):
                graph.write_text(re.sub(pattern, "", graph.read_text()))
            wrong += Checker(truth, Report(program, pair, truth), Variant(" ".join(golden))).run()
    return wrong


def check_opened_once(program: pathlib.Path, out: pathlib.Path) -> list[str]:
    """A file of the engine holds inputs and outputs, header and data: each is opened once for all of them."""
    with contextlib.redirect_stdout(io.StringIO()):
        make_torchair_dump.main(["--out", str(out), "--ranks", "2", "--layers", "2"])
    truth = json.loads((out / "truth.json").read_text())
    mine, golden = out / truth["mine"], out / truth["golden"]
    files = [path for path in mine.rglob("*") if re.search(r"\.\d{16}$", path.name)]
    wrong = [] if files else ["the dump has no file of the engine"]
    for words in (["compare", mine, golden], ["msit", "llm", "compare", "-mp", mine, "-gp", golden, "-o", out / "tables"]):
        with count_opened(mine) as opened:
            subprocess.run([program, *words], capture_output=True, check=False)
        wrong += [f"{words[0]} opens {path.name} {opened[path]} times" for path in files if opened[path] != 1]
    return wrong


def check_lost_arguments(program: pathlib.Path, out: pathlib.Path) -> list[str]:
    """Whichever file of an argument is lost, no other one takes its place."""
    with contextlib.redirect_stdout(io.StringIO()):
        make_torchair_dump.main(["--out", str(out), "--layers", "1", "--tokens", "1", "--no-private"])
    truth = json.loads((out / "truth.json").read_text())
    files = sorted((out / truth["golden"]).rglob("*.INPUT.*.npy"))
    wrong = [] if any(re.search(r"\.INPUT\.0\.\d{1,6}\.", path.name) for path in files) else ["the dump has no list of tensors"]
    for path in files:
        path.rename(out / "lost.npy")
        checker = Checker(truth, Report(program, out, truth), Variant(""))
        wrong += [f"without {path.name}: {line}" for line in checker.check_rows()]
        (out / "lost.npy").rename(path)
    return wrong


def check_own_inputs_alone(program: pathlib.Path, out: pathlib.Path) -> list[str]:
    """Operators that change type or layout only are held against what they were given: no word of golden."""
    with contextlib.redirect_stdout(io.StringIO()):
        make_torchair_dump.main(["--out", str(out), "--layers", "2", "--tokens", "1"])
    truth = json.loads((out / "truth.json").read_text())
    words = [program, "compare", out / truth["mine"], out / truth["golden"]]
    alone = subprocess.run([*words, "--only", "*trans_*"], capture_output=True, text=True, check=False)
    wrong = [] if alone.returncode == 2 else [f"exit code {alone.returncode} of these alone"]
    for done, said in ((alone, "NOT COMPARED: no tensor was held against one of golden"),
                       (subprocess.run(words, capture_output=True, text=True, check=False), "PASS: all ")):
        if not done.stdout.startswith(said) or not re.search(r"\d tensors were held against what their operators were given", done.stdout):
            wrong.append(f"it says: {done.stdout[:300]}")
    return wrong


class Counts:
    def __init__(self, lines: int) -> None:
        self.passed = self.failed = 0
        self.lines = lines

    def add(self, title: str, wrong: list[str]) -> None:
        self.passed, self.failed = self.passed + (not wrong), self.failed + bool(wrong)
        for line in wrong[:self.lines]:
            print(f"{title}: {line}")
        if len(wrong) > self.lines:
            print(f"{title}: {len(wrong) - self.lines} more")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, required=True, help="folder of the program")
    parser.add_argument("--only", default="", help="only tables and variants whose name has this in it")
    parser.add_argument("--keep", type=pathlib.Path, help="new folder for what is written, which stays")
    parser.add_argument("--lines", type=int, default=5, help="of each failure (5)")
    args = parser.parse_args()
    program = (args.bin / "assay").resolve()
    if not program.is_file():
        sys.exit(f"{program}: no such program; build it, or name its folder with --bin")
    memory = pathlib.Path("/dev/shm")  # thousands of small files
    counts = Counts(args.lines)
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        def place(title: str) -> pathlib.Path:
            work = (args.keep.resolve() if args.keep else pathlib.Path(folder)) / re.sub(r"[^\w.-]+", "_", title)
            work.mkdir(parents=True)
            return work
        for name in torchair_tables.TABLES:
            for tool in torchair_tables.TOOLS:
                title = f"{tool} {name}"
                if args.only in title:
                    counts.add(title, torchair_tables.check_table(program, place(title), tool, name))
        for difference in torchair_differences.DIFFERENCES:
            if args.only in difference.__name__:
                counts.add(difference.__name__, difference(program, place(difference.__name__)))
        if args.only in "graph without constants":
            counts.add("graph without constants", check_without_constants(program, place("graph without constants")))
        if args.only in "opened once":
            counts.add("opened once", check_opened_once(program, place("opened once") / "pair"))
        if args.only in "own inputs alone":
            counts.add("own inputs alone", check_own_inputs_alone(program, place("own inputs alone") / "pair"))
        if args.only in "lost arguments":
            counts.add("lost arguments", check_lost_arguments(program, place("lost arguments") / "pair"))
        for name, variant in VARIANTS.items():
            for fault in dict.fromkeys(("", variant.fault)):
                title = f"{name}{f' with {fault}' if fault else ''}"
                if args.only not in title:
                    continue
                work = place(title)
                counts.add(title, check(program, work / "pair", variant, fault))
                if not args.keep:
                    shutil.rmtree(work)
    print(f"{counts.passed} passed, {counts.failed} failed")
    return int(counts.failed > 0)


if __name__ == "__main__":
    sys.exit(main())
