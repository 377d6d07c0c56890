"""Turns the runs of torchair_model.py into the folders that the graph engine and the FX interpreter leave, and keeps account of
what every tensor in them holds."""
from __future__ import annotations

import csv
import datetime
import hashlib
import pathlib
from typing import NamedTuple

import numpy as np

import torchair_files
from torchair_files import GraphText, Tensor
from torchair_model import Op, Run, Value, constant_key

START = datetime.datetime(2025, 1, 1, 12)
MICROSECOND = 1735732803000000  # START, about, as the engine counts
FUSED = "AutomaticBufferFusionOp"
LONGEST_NAME = 255


class Frame(NamedTuple):
    rank: int
    graph: int  # from 1
    token: int  # from 0
    number: int  # of all frames, so that no two files of a dump have the same time


class Held(NamedTuple):
    """A tensor in a dump."""
    frame: Frame
    file: str  # relative to the pair's folder
    name: str  # of the file as the engine meant it: without the hash of a long name, without what compaction appends
    slot: str  # input.0, output.1
    op: str  # in the graph of the engine, or of FX; of a fused operator the whole name
    members: tuple[str, ...]  # operators of the graph that it stands for; empty: the engine put it in
    value: Value
    readable: bool = True  # numbers, not a pickle or a text


class Written(NamedTuple):
    op_type: str
    name: str
    members: tuple[str, ...]
    inputs: list[tuple[Value, str]]  # and the storage format
    outputs: list[tuple[Value, str]]


def single(op: Op, plain: bool) -> Written:
    def formats(values: list[Value], side: str) -> list[tuple[Value, str]]:
        return [(value, "ND" if plain else op.formats.get(f"{side}.{i}", "ND")) for i, value in enumerate(values)]
    return Written(op.op_type, op.name, (op.name,), formats(op.inputs, "input"), formats(op.outputs, "output"))


def fused(ops: list[Op], plain: bool) -> Written:
    """Inputs of all that come from outside, in turn; outputs of the last."""
    names = tuple(op.name for op in ops)
    parts = [single(op, plain) for op in ops]
    outside = [pair for part in parts for pair in part.inputs if pair[0].producer.rpartition(":")[0] not in names]
    return Written(FUSED, "".join(names), names, outside, parts[-1].outputs)


def private(run: Run, position: int, before: Op) -> list[Written]:
    """What the engine puts in front of an operator: conversions, and work of its own whose names look like those of the graph."""
    made = []

    def add(op_type: str, name: str, source: tuple[Value, str], result: tuple[Value, str]) -> None:
        made.append(Written(op_type, name, (), [source], [result]))
    for index, value in enumerate(before.inputs):
        storage = before.formats.get(f"input.{index}")
        if storage and value.parameter:
            add("TransData", f"trans_TransData_{position}{index}", (value, "ND"), (value, storage))
    if before.op_type == "ArgMaxV2":
        add("Cast", f"trans_Cast_{position}", (before.inputs[0], "ND"), (before.inputs[0]._replace(dtype="f32"), "ND"))
    if before.op_type == "BatchMatMulV2":
        x = before.inputs[1]
        turned = x._replace(array=x.array.swapaxes(-1, -2), key=f"turned {position}")
        add("Transpose", f"transpose_Transpose_{position}", (x, "ND"), (turned, "ND"))
    if before.op_type == "SoftmaxV2":
        # Names that go on where that of Add_1 ends, and numbers of its shape, so that only the name can tell the two apart.
        for host in (op for op in run.ops[:position] if op.op_type in ("Add", "Mul") and op.name.endswith("_1")):
            name = f"{host.name}{100 + position}"
            x = host.outputs[0]
            add(host.op_type, name, (x._replace(array=x.array[::-1] * 2, key=f"private {name} 0"), "ND"),
                (x._replace(array=x.array[::-1] + 3, key=f"private {name} 1"), "ND"))
    return made


def engine_ops(run: Run, fuse: bool, insert: bool, plain: bool) -> list[Written]:
    written: list[Written] = []
    position = 0
    while position < len(run.ops):
        op = run.ops[position]
        end = position + 1
        while fuse and op.fuse and end < len(run.ops) and run.ops[end].fuse == op.fuse:
            end += 1
        group = run.ops[position:end]
        if insert:
            written += private(run, position, op)
        if len(group) > 1:
            written.append(fused(group, plain))
        elif op.dumped:
            written.append(single(op, plain))
        position = end
    return written


class EngineDump:
    """{root}/[worldsize…/]{time}/{device}/{model}/{id}/{token}/{operator's file}, and the text of the graphs in {root}."""

    def __init__(self, out: pathlib.Path, root: str, args, hours: int, form: str, file_names: str) -> None:
        self.out, self.root, self.args, self.form, self.file_names = out, root, args, form, file_names
        self.time = START + datetime.timedelta(hours=hours)
        self.hours = hours
        self.held: list[Held] = []
        (out / root).mkdir(parents=True)

    def folder(self, frame: Frame) -> str:
        args = self.args
        rank = f"worldsize{args.ranks}_global_rank{frame.rank}/" if args.ge == "ranks" else ""
        number = args.graphs + 1 - frame.graph if args.model_ids == "reversed" else frame.graph
        model = f"online_{self.time:%Y%m%d}_{7 * number}" if args.model_ids == "opaque" else f"graph_{frame.graph}"
        if args.model_ids == "opaque":
            number = 10 * number + 1
        return f"{self.root}/{rank}{self.time:%Y%m%d%H%M%S}/{frame.rank}/{model}/{number}/{frame.token}"

    def file_name(self, frame: Frame, index: int, written: Written) -> str:
        stamp = MICROSECOND + self.hours * 3600_000_000 + frame.number * 1_000_000 + index
        start = f"{written.op_type}.{written.name}.{index + 2}"
        if self.file_names == "four":
            return f"{start}.{stamp}"
        if self.file_names == "ffts" and index % 2:  # threads of a task of its own kind, beside plain tasks
            return f"{start}.9.{stamp}.4.{480 + index}.0.{frame.rank}"
        return f"{start}.{5 + frame.rank}.{stamp}"

    def write(self, frame: Frame, ops: list[Written], missing: set[str]) -> None:
        folder = self.folder(frame)
        path = self.out / folder
        path.mkdir(parents=True)
        long_names = []
        for index, written in enumerate(ops):
            if written.name in missing:
                continue
            name = self.file_name(frame, index, written)
            ins, outs = ([Tensor(value.array, self.args.dtype if value.dtype == "float" else value.dtype, storage,
                                 32 if i == 0 and index % 5 == 0 else 0) for i, (value, storage) in enumerate(side)]
                         for side in (written.inputs, written.outputs))
            suffix, content = self.content(written, index, ins, outs)
            stored_as = name
            if len(name) > LONGEST_NAME:
                stored_as = str(int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big"))
                long_names.append((stored_as + suffix, name + suffix))
            (path / (stored_as + suffix)).write_bytes(content)
            for side, values in (("input", written.inputs), ("output", written.outputs)):
                self.held += [Held(frame, f"{folder}/{stored_as}{suffix}", name, f"{side}.{i}", written.name, written.members,
                                   value) for i, (value, _) in enumerate(values)]
        if long_names:
            with open(path / "mapping.csv", "w", newline="") as file:
                csv.writer(file, lineterminator="\n").writerows(long_names)

    def content(self, written: Written, index: int, ins: list[Tensor], outs: list[Tensor]) -> tuple[str, bytes]:
        if self.form == "min_max" and all(tensor.array.size for tensor in ins + outs):
            return "_min_max.npz", torchair_files.min_max_npz(ins, outs)
        if self.form == "stats_csv":
            return ".csv", torchair_files.statistics_csv(ins, outs)
        return "", torchair_files.ge_bytes(written.name, ins, outs, MICROSECOND // 1000 + index, extra=index % 7 == 3)

    def write_graph(self, rank: int, graph: int, run: Run, opaque: dict[str, tuple[str, ...]]) -> None:
        pid = 4242 + rank
        for kind, second in (("original", 0), ("optimized", 1)):
            text = graph_text(run, f"graph_{graph}", self.args, kind == "optimized")
            stamp = f"{self.time + datetime.timedelta(minutes=-5, seconds=10 * graph + second):%Y%m%d%H%M%S%f}"
            text.write(self.out / self.root / f"dynamo_{kind}_graph_{graph}_rank_{rank}_pid_{pid}_ts_{stamp}.txt")
        if opaque:
            engine_graph(run, f"graph_{graph}", opaque).write(
                self.out / self.root / f"ge_proto_{graph:05}_graph_{graph}_rank_{rank}_Build.txt")


def graph_text(run: Run, name: str, args, optimised: bool) -> GraphText:
    text = GraphText()
    text.line(f'name: "{name}"')
    dtype = lambda value: args.dtype if value.dtype == "float" else value.dtype
    for leaf, kind, value in run.leaves:
        text.open("op")
        text.line(f'name: "{leaf}"')
        text.line(f'type: "{kind}"')
        text.output("y", dtype(value), value.array.shape, None)
        text.close()
    for position, op in enumerate(run.ops):
        text.open("op")
        text.line(f'name: "{op.name}"')
        text.line(f'type: "{op.op_type}"')
        for value in op.inputs:
            text.line(f'input: "{value.producer}"')
        if position:
            text.line(f'input: "{run.ops[position - 1].name}:-1"')  # it only has to run before
        if args.hard_graph_text:
            text.attribute("_description", 's: "note: {\\"a\\": {\\"b\\": 1}} } end\\n"')
            text.line('attr { key: "_one_line" value { i: 1 } }  # a comment: {')
        text.attribute("_index", f"i: {position}")
        for index, value in enumerate(op.outputs):
            text.output(f"y{index or ''}", dtype(value), value.array.shape, f"{op.fx}.OUTPUT.{index}" if op.fx else None)
        text.close()
    text.open("op")
    text.line('name: "NetOutput"')
    text.line('type: "NetOutput"')
    text.line(f'input: "{run.ops[-1].outputs[0].producer}"')
    text.close()
    if optimised:
        text.attribute("_executor_type", "i: 1")
    return text


def engine_graph(run: Run, name: str, opaque: dict[str, tuple[str, ...]]) -> GraphText:
    """The graph that the engine itself writes after fusion, as a ModelDef, with what fused operators came from."""
    text = GraphText()
    text.line(f'name: "model_{name}"')
    text.open("graph")
    text.line(f'name: "{name}"')
    for fused_name, members in opaque.items():
        text.open("op")
        text.line(f'name: "{fused_name}"')
        text.line(f'type: "{FUSED}"')
        text.names("_datadump_original_op_names", list(members))
        text.close()
    text.close()
    return text


class FxDump:
    """The NumPy files of one run under eager interpretation, in one of the four folders that TorchAir has used."""

    def __init__(self, out: pathlib.Path, root: str, args) -> None:
        self.out, self.root, self.args = out, root, args
        self.held: list[Held] = []
        (out / root).mkdir(parents=True)

    def folder(self, frame: Frame) -> str:
        args = self.args
        if args.fx == "graph":
            return f"{self.root}/worldsize{args.ranks}_global_rank{frame.rank}/graph_{frame.graph}/{frame.token}"
        stamp = START + datetime.timedelta(seconds=args.graphs * frame.rank + frame.graph)
        gm = f"gm_{stamp:%Y%m%d%H%M%S%f}_dump"
        return f"{self.root}/{gm}" if args.fx == "direct" else f"{self.root}/data_dump/{frame.token + 1}/{gm}"

    def passed(self) -> str:
        """What the user gives as the path of golden."""
        return self.folder(Frame(0, 1, 0, 0)) if self.args.fx == "direct" else self.root

    def write(self, frame: Frame, run: Run, missing: set[str]) -> None:
        folder = self.folder(frame)
        (self.out / folder).mkdir(parents=True)
        end = f"_rank_{frame.rank}_pid_{900 + frame.rank}" if self.args.fx == "gm_rank" else ""
        for index, op in enumerate(run.ops):
            if op.fx is None or op.name in missing:
                continue
            stamp = f"{START + datetime.timedelta(minutes=10, seconds=frame.number, microseconds=index):%Y%m%d%H%M%S%f}"
            slots = []
            for i, argument in enumerate(op.args):
                if isinstance(argument, list) and argument and isinstance(argument[0], Value):
                    slots += [(f"INPUT.{i}.{j}", part) for j, part in enumerate(argument)]
                else:
                    slots.append((f"INPUT.{i}", argument))
            slots += [(f"OUTPUT.{i}", value) for i, value in enumerate(op.outputs)]
            for slot, content in slots:
                self.save(frame, folder, op, slot, f"{stamp}{end}", content)

    def save(self, frame: Frame, folder: str, op: Op, slot: str, stamp: str, content) -> None:
        if isinstance(content, Value):
            array = torchair_files.rounded(content.array, self.args.dtype if content.dtype == "float" else content.dtype)
            value = content
        else:
            array = np.array(content)
            value = Value(array, "", constant_key(content), "", constant=True)
        numeric = array.dtype.kind in "biuf"
        name = f"{op.fx}.{slot}.{stamp}"
        compact = self.args.golden_form == "min_max" and numeric and array.size
        file = f"{folder}/{name}{'_min_max' if compact else ''}.npy"
        (self.out / file).write_bytes(torchair_files.min_max_npy(array) if compact else torchair_files.npy_bytes(array))
        side, _, number = slot.lower().partition(".")
        self.held.append(Held(frame, file, name, f"{side}.{number}", op.fx or "", (op.name,), value, numeric))
