"""Where the tables of TorchAir comparisons differ from those of the originals on purpose. Each difference is a function with the
name of it: its text says what the originals do (seen by running them) and why Assay does something else, its body builds the
smallest dump that shows it and answers what is wrong with ours. docs/scenarios/torchair.md lists them for the user."""
from __future__ import annotations

import contextlib
import csv
import io
import json
import pathlib
import subprocess
from typing import Callable

import numpy as np

import make_torchair_dump
from torchair_files import GraphText, Tensor, ge_bytes, npy_bytes, quoted

DIFFERENCES: list[Callable[[pathlib.Path, pathlib.Path], list[str]]] = []
TIME = 1735732803000000
FX_TIME = 20250101120000000000


def numbers(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def tensor(array: np.ndarray, storage: str = "ND") -> Tensor:
    return Tensor(array, "f32", storage)


class Pair:
    """A GE dump and an FX dump of one rank, one graph and one token, operator by operator."""

    def __init__(self, program: pathlib.Path, work: pathlib.Path) -> None:
        self.program, self.work = program, work
        self.mine, self.golden = work / "mine" / "msit_ge_dump", work / "golden" / "msit_fx_dump"
        self.token = self.mine / "worldsize1_global_rank0" / "20250101120003" / "0" / "graph_1" / "1" / "0"
        self.fx_token = self.golden / "worldsize1_global_rank0" / "graph_1" / "0"
        for folder in (self.token, self.fx_token):
            folder.mkdir(parents=True)
        self.graph, self.written = GraphText(), 0

    def engine(self, op_type: str, name: str, inputs: list[Tensor], outputs: list[Tensor], file: str = "") -> pathlib.Path:
        """file: its name, where that is not the usual one."""
        self.written += 1
        path = self.token / (file or f"{op_type}.{name}.{self.written}.1.{TIME + self.written}")
        path.write_bytes(ge_bytes(name, inputs, outputs, TIME // 1000))
        return path

    def in_graph(self, op_type: str, name: str, fx: str, notes: str = "") -> None:
        self.graph.open("op")
        self.graph.line(f"name: {quoted(name)}")
        self.graph.line(f"type: {quoted(op_type)}")
        if notes:
            self.graph.attribute("notes", f"s: {quoted(notes)}")
        self.graph.output("y", "f32", (2, 3), f"{fx}.OUTPUT.0")
        self.graph.close()

    def fx(self, key: str, place: str, array: object) -> None:
        self.written += 1
        (self.fx_token / f"{key}.{place}.{FX_TIME + self.written}.npy").write_bytes(npy_bytes(np.asarray(array)))

    def operator(self, name: str, fx: str, inputs: list[np.ndarray], output: np.ndarray, notes: str = "") -> None:
        """The same in both dumps."""
        self.in_graph("Op", name, fx, notes)
        self.engine("Op", name, [tensor(x) for x in inputs], [tensor(output)])
        for index, x in enumerate(inputs):
            self.fx(fx, f"INPUT.{index}", x)
        self.fx(fx, "OUTPUT.0", output)

    def run(self, *words: object) -> subprocess.CompletedProcess:
        self.graph.write(self.mine / "dynamo_original_graph_1_rank_0_pid_1_ts_20250101120000000000.txt")
        return run(self.program, *words)

    def table(self) -> list[dict]:
        return tables(self.program, self.work, self.mine, self.golden, self.run)[0]

    def native(self) -> list[dict]:
        done = self.run("compare", self.mine, self.golden, "--report", "json", "--output", "-", "-q")
        return json.loads(done.stdout)["rows"]


def run(program: pathlib.Path, *words: object) -> subprocess.CompletedProcess:
    return subprocess.run([program, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)


def tables(program: pathlib.Path, work: pathlib.Path, mine: pathlib.Path, golden: pathlib.Path,
           call: Callable | None = None) -> list[list[dict]]:
    """Of `msit llm compare`, by name of file; empty where there is none."""
    words = ("msit", "llm", "compare", "-mp", mine, "-gp", golden, "-o", work / "tables")
    call(*words) if call else run(program, *words)
    found = []
    for path in sorted((work / "tables").glob("*.csv")):
        with path.open(newline="") as file:
            found.append(list(csv.DictReader(file)))
    return found or [[]]


def generated(work: pathlib.Path, flags: str) -> tuple[pathlib.Path, pathlib.Path]:
    with contextlib.redirect_stdout(io.StringIO()):
        make_torchair_dump.main(["--out", str(work / "pair"), *flags.split()])
    truth = json.loads((work / "pair" / "truth.json").read_text())
    return work / "pair" / truth["mine"], work / "pair" / truth["golden"]


def expect(what: str, got: object, wanted: object) -> list[str]:
    return [] if got == wanted else [f"{what}: got {got}, expected {wanted}"]


def places(rows: list[dict], name: str) -> list[str]:
    """outputs,0 and the like of one operator."""
    return [row["my_data_path"].rpartition(",")[0].rpartition(",")[2] + "," + row["my_data_path"].rpartition(",")[2]
            for row in rows if f".{name}." in row["my_data_path"]]


def all_equal(rows: list[dict], name: str = "") -> list[str]:
    """Up to the rounding of a small f16 model. A cosine would not see a wrong scale."""
    distances = [(row, row["relative_euclidean_distance"]) for row in rows if name in row["my_data_path"]]
    return [f"{row['my_data_path']} against {row['golden_data_path']}: distance {distance}" for row, distance in distances
            if not distance or float(distance) > 0.01] + ([] if distances else [f"no row of {name or 'any operator'}"])


def difference(check: Callable[[pathlib.Path, pathlib.Path], list[str]]) -> Callable[[pathlib.Path, pathlib.Path], list[str]]:
    """check is given the program and a folder to work in."""
    DIFFERENCES.append(check)
    return check


# ----- lost rows

@difference
def an_operator_without_a_partner_is_counted(program: pathlib.Path, work: pathlib.Path) -> list[str]:
    """The originals print nothing of an operator that the graph does not know. A tensor that is lost may be the wrong one: the
    table is theirs, the log counts it, the native report has its row."""
    pair = Pair(program, work)
    pair.operator("Known", "known-aten.x", [numbers(1, 2, 3)], numbers(2, 2, 3))
    pair.engine("Op", "stranger", [], [tensor(numbers(3, 2, 3))])
    done = pair.run("msit", "llm", "compare", "-mp", pair.mine, "-gp", pair.golden, "-o", work / "log")
    counted = "1 tensors have no partner" in done.stdout
    status = [row["status"] for row in pair.native() if "stranger" in (row["mine"] or "")]
    return expect("rows", places(pair.table(), "stranger"), []) + expect("counted", counted, True) + \
        expect("native", status, ["only in mine"])


@difference
def long_names_are_looked_up(program: pathlib.Path, work: pathlib.Path) -> list[str]:
    """Names of digits, which mapping.csv explains, are skipped by the originals (`invalid file name`): these are the largest
    fused operators, where faults are likely."""
    name, x, y = "Long" + "x" * 260, numbers(1, 2, 3), numbers(2, 2, 3)
    pair = Pair(program, work)
    pair.in_graph("Op", name, "long-aten.x")
    pair.engine("Op", name, [tensor(x)], [tensor(y)], file="12345678901234567890")
    (pair.token / "mapping.csv").write_text(f"12345678901234567890,Op.{name}.1.1.{TIME}\n")
    pair.fx("long-aten.x", "INPUT.0", x)
    pair.fx("long-aten.x", "OUTPUT.0", y)
    found = pair.table()
    return expect("rows", len(found), 2) + all_equal(found)


@difference
def names_of_four_fields_are_read(program: pathlib.Path, work: pathlib.Path) -> list[str]:
    """Old engines write no stream: the originals skip every file and save a table without a row, exit code 0."""
    found = tables(program, work, *generated(work, "--file-names four --tokens 1"))[0]
    return expect("has rows", len(found) > 100, True) + all_equal(found)


@difference
def channels_last_tensors_have_rows(program: pathlib.Path, work: pathlib.Path) -> list[str]:
    """The originals turn NHWC into NCHW and cut it by the original shape: numbers are lost, and then the row, since the sizes
    differ. The shape of the file is the model's: nothing is to convert."""
    pair = Pair(program, work)
    x, y = numbers(1, 2, 3, 2, 20), numbers(2, 2, 3, 2, 20)
    pair.in_graph("Op", "Conv", "conv-aten.x")
    pair.engine("Op", "Conv", [tensor(x, "NHWC")], [tensor(y, "NC1HWC0 of NHWC")])
    pair.fx("conv-aten.x", "INPUT.0", x)
    pair.fx("conv-aten.x", "OUTPUT.0", y)
    found = pair.table()
    return expect("shapes", [row["my_shape"] for row in found], ["[2, 3, 2, 20]"] * 2) + all_equal(found)


@difference
def blocked_tensors_keep_their_dimensions(program: pathlib.Path, work: pathlib.Path) -> list[str]:
    """FRACTAL_NZ of four dimensions has three in the originals' table, of five and of one it is not converted: the row is lost."""
    pair = Pair(program, work)
    for name, shape in (("Four", (2, 3, 20, 18)), ("Five", (2, 1, 3, 20, 18))):
        y = numbers(len(shape), *shape)
        pair.in_graph("Op", name, f"{name.lower()}-aten.x")
        pair.engine("Op", name, [], [tensor(y, "FRACTAL_NZ")])
        pair.fx(f"{name.lower()}-aten.x", "OUTPUT.0", y)
    found = pair.table()
    shapes = sorted(row["my_shape"] for row in found)
    return expect("shapes", shapes, ["[2, 1, 3, 20, 18]", "[2, 3, 20, 18]"]) + all_equal(found)


@difference
def the_oldest_folders_are_read(program: pathlib.Path, work: pathlib.Path) -> list[str]:
    """gm_{time}_dump, as the first guide of ait passes it: today's msit ends with a TypeError, msprobe finds no files in it."""
    mine, golden = generated(work, "--ge plain --fx direct --tokens 1")
    found = tables(program, work, mine, next(path for path in [golden, *golden.rglob("gm_*")] if path.name.startswith("gm_")))[0]
    return expect("has rows", len(found) > 100, True) + all_equal(found)


# ----- wrong matches

@difference
def a_name_that_only_begins_alike_is_no_match(program: pathlib.Path, work: pathlib.Path) -> list[str]:
    """Add_1125 is the engine's own, Add_11 is the model's: the originals take the longest name that it begins with and compare
    the two. The numbers mean nothing, and a cosine of two positive tensors looks well."""
    pair = Pair(program, work)
    pair.operator("Add_11", "add_11-aten.add", [numbers(1, 2, 3)], numbers(2, 2, 3))
    pair.engine("Op", "Add_1125", [tensor(numbers(3, 2, 3))], [tensor(numbers(4, 2, 3))])
    found = pair.table()
    return expect("rows", places(found, "Add_1125"), []) + expect("rows", len(places(found, "Add_11")), 2)


@difference
def fused_names_are_cut_where_all_of_it_is_known(program: pathlib.Path, work: pathlib.Path) -> list[str]:
    """AddNeg is Add and Neg. Where the graph has an AddN too, the originals take that and drop `eg`."""
    pair = Pair(program, work)
    x, between, y, other = (numbers(i, 2, 3) for i in range(4))
    for name in ("Add", "Neg", "AddN"):
        pair.in_graph("Op", name, f"{name.lower()}-aten.x")
    pair.engine("AutomaticBufferFusionOp", "AddNeg", [tensor(x)], [tensor(y)])
    for key, arrays in (("add-aten.x", (x, between)), ("neg-aten.x", (between, y)), ("addn-aten.x", (other, other))):
        pair.fx(key, "INPUT.0", arrays[0])
        pair.fx(key, "OUTPUT.0", arrays[1])
    found = pair.table()
    return expect("rows", len(found), 2) + all_equal(found)


@difference
def inputs_are_counted_as_numbers(program: pathlib.Path, work: pathlib.Path) -> list[str]:
    """The originals sort names as text: INPUT.10 is compared with the engine's third input."""
    pair = Pair(program, work)
    pair.operator("Concat", "cat-aten.cat", [numbers(i, 2, 3) for i in range(12)], numbers(99, 24, 3))
    found = pair.table()
    return expect("rows", len(found), 13) + all_equal(found)


@difference
def graphs_are_told_by_their_operators(program: pathlib.Path, work: pathlib.Path) -> list[str]:
    """The engine need not count its models as TorchAir counts graphs. The originals compare the i-th with the i-th, all rows
    wrong, exit code 0."""
    found = tables(program, work, *generated(work, "--graphs 2 --model-ids reversed --no-private --tokens 1"))
    return expect("tables", len(found), 2) + [line for rows in found for line in all_equal(rows)]


# ----- crashes of the originals

@difference
def every_graph_of_a_rank_has_a_table(program: pathlib.Path, work: pathlib.Path) -> list[str]:
    """msit ends with an IndexError behind the first graph; msprobe writes files of one name, so that graphs of the same second
    overwrite one another."""
    mine, golden = generated(work, "--ranks 2 --graphs 2 --tokens 1")
    found = tables(program, work, mine, golden)
    names = sorted(path.name.rpartition("_")[0] for path in (work / "tables").iterdir())
    return expect("rows", [len(rows) > 100 for rows in found], [True] * 4) + \
        expect("names", names, [f"msit_cmp_report_rank{r}_graph{g}" for r in (0, 1) for g in (1, 2)])


@difference
def arguments_of_none_are_passed_over(program: pathlib.Path, work: pathlib.Path) -> list[str]:
    """None is a pickled object, which the originals refuse to load and end at. Nothing is unpickled; the next argument counts."""
    pair = Pair(program, work)
    x, y, z = numbers(1, 2, 3), numbers(2, 2, 3), numbers(3, 2, 3)
    pair.in_graph("Op", "Norm", "norm-aten.x")
    pair.engine("Op", "Norm", [tensor(x), tensor(y)], [tensor(z)])
    for place, array in (("INPUT.0", x), ("INPUT.1", None), ("INPUT.2", y), ("OUTPUT.0", z)):
        pair.fx("norm-aten.x", place, array)
    found = pair.table()
    return expect("rows", len(found), 3) + all_equal(found)


@difference
def a_file_cut_short_is_a_row_with_the_reason(program: pathlib.Path, work: pathlib.Path) -> list[str]:
    """In the originals such a file has no tensors, or ends the run. The rest is as good as it was."""
    pair = Pair(program, work)
    pair.operator("Good", "good-aten.x", [numbers(1, 2, 3)], numbers(2, 2, 3))
    pair.operator("Half", "half-aten.x", [numbers(3, 2, 3)], numbers(4, 2, 3))
    half = next(pair.token.glob("Op.Half.*"))
    half.write_bytes(half.read_bytes()[:-3])
    rows = pair.table()
    reasons = [row["cmp_fail_reason"] for row in rows if row["cmp_fail_reason"]]
    return expect("rows", len(rows), 4) + expect("reasons", ["ends at byte" in reason for reason in reasons], [True])


@difference
def a_file_without_a_header_is_a_row_with_the_reason(program: pathlib.Path, work: pathlib.Path) -> list[str]:
    """It ends the originals. Which tensors it held, and so what they would be compared with, is not known."""
    pair = Pair(program, work)
    for name, content in (("Empty", b""), ("Zeros", bytes(8)), ("Junk", b"no dump"), ("Huge", b"\xff" * 8 + b"rest")):
        pair.operator(name, f"{name.lower()}-aten.x", [numbers(1, 2, 3)], numbers(2, 2, 3))
        next(pair.token.glob(f"Op.{name}.*")).write_bytes(content)
    pair.engine("Op", "NotInGraph", [], []).write_bytes(b"")
    pair.operator("Good", "good-aten.x", [numbers(1, 2, 3)], numbers(2, 2, 3))
    rows = pair.table()
    reasons = [bool(row["cmp_fail_reason"]) for row in rows]
    return expect("reasons", (reasons.count(True), reasons.count(False)), (5, 2)) + all_equal(rows, ".Good.")


@difference
def ranges_are_compared(program: pathlib.Path, work: pathlib.Path) -> list[str]:
    """Both originals read the archive after they have closed it (`seek of closed file`)."""
    found = tables(program, work, *generated(work, "--mine-form min_max --golden-form min_max --tokens 1"))[0]
    return expect("has rows", len(found) > 100, True) + all_equal(found, "outputs,")


@difference
def tables_of_the_engine_do_no_harm(program: pathlib.Path, work: pathlib.Path) -> list[str]:
    """A csv of statistics in the folder of a token is taken for a dump by the originals, and ends them. Its numbers are shown."""
    pair = Pair(program, work)
    pair.operator("Add", "add-aten.x", [numbers(1, 2, 3)], numbers(2, 2, 3))
    pair.in_graph("Op", "Sub", "sub-aten.x")
    pair.fx("sub-aten.x", "OUTPUT.0", numbers(3, 2, 3))
    (pair.token / f"Op.Sub.9.1.{TIME}.csv").write_text(
        "Input/Output,Index,Data Size,Data Type,Format,Shape,Max Value,Min Value,Avg Value,Count,Nan Count,"
        "Negative Inf Count,Positive Inf Count\nOutput,0,24,DT_FLOAT,ND,2x3,1,0,0.5,6,0,0,0\n")
    found = pair.table()
    stated = [(row["my_max_value"], row["my_min_value"], row["my_mean_value"], row["cmp_fail_reason"]) for row in found
              if "Sub" in row["my_data_path"]]
    return expect("stated", stated, [("1.0", "0.0", "0.5", "only statistics were dumped.")]) + all_equal(found, "Add")


@difference
def empty_tensors_do_no_harm(program: pathlib.Path, work: pathlib.Path) -> list[str]:
    """msit ends without a table. msprobe has a row without numbers, and so have we."""
    pair = Pair(program, work)
    pair.operator("Add", "add-aten.x", [numbers(1, 0, 3)], numbers(2, 2, 3))
    rows = pair.table()
    return expect("cosines", [row["cosine_similarity"] for row in rows], ["", "1.0"])


@difference
def an_original_operator_without_a_dump_is_passed_over(program: pathlib.Path, work: pathlib.Path) -> list[str]:
    """Fused against unfused, where golden has no file of one of the parts: msit waits for ever."""
    mine, golden = generated(work, "--golden ge --tokens 1 --missing golden:Mul --missing golden:Square")
    found = tables(program, work, mine, golden)[0]
    return expect("has rows", len(found) > 100, True)


@difference
def texts_of_the_graph_may_hold_anything(program: pathlib.Path, work: pathlib.Path) -> list[str]:
    """The originals read line by line: `": "` in a text ends them, `" {"` makes them lose every operator behind it."""
    pair = Pair(program, work)
    x, y = numbers(1, 2, 3), numbers(2, 2, 3)
    pair.operator("First", "first-aten.x", [x], y, notes='a: b {"c": {"d": 1}} }')
    pair.operator("Second", "second-aten.x", [y], x)
    found = pair.table()
    return expect("rows", len(found), 4) + all_equal(found)


@difference
def compaction_replaces_only_what_is_whole(program: pathlib.Path, work: pathlib.Path) -> list[str]:
    """The guide's script removes files that are still being written, and ends at None and at tensors without an element."""
    pair = Pair(program, work)
    pair.operator("Add", "add-aten.x", [numbers(1, 0, 3), numbers(2, 2, 3)], numbers(3, 2, 3))
    pair.fx("add-aten.x", "INPUT.2", None)
    half = pair.engine("Op", "Half", [], [tensor(numbers(4, 2, 3))])
    half.write_bytes(half.read_bytes()[:-3])
    before = half.read_bytes()
    none = next(pair.fx_token.glob("*INPUT.2*"))
    pair.run("compact", work, "--as", "min_max", "--keep-going")
    left = sorted(path.name.partition("_min_max")[1] for path in pair.fx_token.iterdir())
    return expect("half a file", half.read_bytes(), before) + expect("None", none.is_file(), True) + \
        expect("replaced", left.count("_min_max"), 3)
