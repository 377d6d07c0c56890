"""Recorders of the two passes of atb_decoder.py: they write the folders that the hooks of msit and the ATB probes write."""
from __future__ import annotations

import contextlib
import csv
import json
import pathlib
from typing import Iterator, NamedTuple

import torch

import atb_files
import judgement_models
from atb_decoder import Settings, Value, torch_files

STATISTICS_HEADER = ["NodeName", "NodeType", "InputOutput", "Index", "DataType", "Shape", "Max", "Min", "Mean", "L2Norm"]
MSPROBE_HEADER = ("Device and PID,Execution Count,Op Name,Op Type,Op Id,Input/Output,Index,Dtype,Format,Shape,"
                  "Max,Min,Mean,Norm,Tensor Path")


# Which dimension of what a module takes and gives is shared out over ranks: of a projection onto many features the result, of
# one back from them what it is given. Angles are the same everywhere; keys and values belong to heads.
SHARED_INPUTS = {"o_proj": -1, "down_proj": -1, "act_fn": -1, "rotary_emb": 1}
SHARED_OUTPUTS = {"q_proj": -1, "k_proj": -1, "v_proj": -1, "gate_proj": -1, "up_proj": -1, "act_fn": -1}
SHARED_WEIGHTS = {"q_proj": 0, "k_proj": 0, "v_proj": 0, "gate_proj": 0, "up_proj": 0, "o_proj": 1, "down_proj": 1}


def torch_rank(pid: int, rank: int, ranks: int) -> str:
    """The folder of a rank, as the hooks name it."""
    return f"cpu_{pid}" if ranks == 1 else f"npu{rank}_{pid + rank}"


class TorchWriter:
    """`{root}/torch_tensors/cpu_{pid}/{token}/{module}/*.pth`, or a statistics.csv in each module's folder; npu{rank}_… where
    several ranks hold shares."""

    def __init__(self, root: pathlib.Path, pid: int, tree: dict, statistics: bool, inputs: bool, ranks: int = 1) -> None:
        self.folders = [root / "torch_tensors" / torch_rank(pid, rank, ranks) for rank in range(ranks)]
        self.statistics, self.inputs = statistics, inputs
        self.token = 0
        for folder in self.folders:
            folder.mkdir(parents=True)
            (folder / "model_tree.json").write_text(json.dumps(tree))
        self.types: dict[str, str] = {}
        rest = [tree]
        while rest:
            node = rest.pop()
            self.types[node["name"]] = node["type"]
            rest += node["children"]

    def share(self, whole: torch.Tensor, axis: int | None, rank: int) -> torch.Tensor:
        return whole if axis is None else whole.chunk(len(self.folders), axis)[rank].contiguous()

    def write_weights(self, named: dict[str, torch.Tensor]) -> None:
        for rank, folder in enumerate(self.folders):
            (folder / "weights").mkdir()
            for name, tensor in named.items():
                own = self.share(tensor, SHARED_WEIGHTS.get(name.split(".")[-2]), rank)
                torch.save(torch.nn.Parameter(own.clone()), folder / "weights" / f"root.{name}.pth")

    def record(self, module: str, inputs: list[torch.Tensor], outputs: dict[str, torch.Tensor]) -> None:
        kind = module.rpartition(".")[2]
        for rank, folder in enumerate(self.folders):
            named = {}
            if self.inputs:
                named = {f"input_{i}": self.share(x, SHARED_INPUTS.get(kind), rank) for i, x in enumerate(inputs)}
            named |= {stem: self.share(x, 1 if stem.startswith("output_2_") else SHARED_OUTPUTS.get(kind), rank)
                      for stem, x in outputs.items()}
            self.write(folder / str(self.token), f"root.{module}", named)

    def write(self, token: pathlib.Path, name: str, named: dict[str, torch.Tensor]) -> None:
        folder = token / name
        folder.mkdir(parents=True)
        if not self.statistics:
            for stem, tensor in named.items():
                atb_files.write_pth(folder / f"{stem}.pth", tensor)
            return
        with open(folder / "statistics.csv", "w", newline="") as file:
            table = csv.writer(file)
            table.writerow(STATISTICS_HEADER)
            for stem, tensor in named.items():
                wide = tensor.float()
                index = stem.rpartition("_")[2]
                table.writerow([name, self.types[name], "Input" if stem.startswith("input") else "Output",
                                int(index) if index.isdigit() else 0, tensor.dtype, tuple(tensor.shape),
                                wide.max().item(), wide.min().item(), wide.mean().item(), wide.norm().item()])


class Node:
    """An operation, or a group of them, in one execution of the graph."""

    def __init__(self, op_type: str, ids: list[int], parent: str, shift: int, param: dict | None = None) -> None:
        self.op_type, self.ids, self.param = op_type, ids, param
        order = ids[-1] + (shift if len(ids) == 1 else 0)
        self.path = f"{parent}/{order}_{op_type}" if parent else f"{order}_{op_type}"
        self.name = "_".join([op_type, *map(str, ids)])
        self.children: list[Node] = []
        self.inputs: list[Value] = []
        self.outputs: list[Value] = []

    def close(self) -> None:
        """A group takes what its children use and did not make, and gives what they made and did not use."""
        made: dict[int, Value] = {}
        used: dict[int, Value] = {}
        for child in self.children:
            for value in child.inputs:
                used[id(value)] = value
                if value.holds is not None:
                    used[id(value.holds)] = value.holds
            made |= {id(value): value for value in child.outputs}
        held = {id(value.holds) for value in used.values() if value.holds is not None}
        self.inputs = [value for key, value in used.items() if key not in made and key not in held]
        self.outputs = [value for key, value in made.items() if key not in used]

    def forget(self) -> None:
        """Keeps the names and not the data: a large dump does not fit in memory."""
        rest = [self]
        while rest:
            node = rest.pop()
            node.inputs, node.outputs = ([value.bare() for value in values] for values in (node.inputs, node.outputs))
            rest += node.children

    def topology(self) -> dict:
        ins, outs = ([value.name for value in values] for values in (self.inputs, self.outputs))
        entry: dict = {"opName": self.name, "opType": self.op_type}
        if self.param is not None:
            entry["param"] = self.param
        entry |= {"inTensors": ins, "outTensors": outs}
        if self.children:
            inner = [value.name for child in self.children for value in child.outputs if value.name not in outs]
            entry |= {"internalTensors": inner, "nodes": [child.topology() for child in self.children]}
        return entry


class Place(NamedTuple):
    """A tensor of the ATB dump that has a meaning."""
    token: int
    layer: int  # of the decoder; 0 before the first
    node: Node
    side: str  # before, after
    index: int
    value: Value
    files: list[str]  # of each rank, below the root of the dump


class Fault:
    """One output that is wrong by a factor, or in a way that judgement_models.spoil knows, named by an operation (its name or folder)
    or by the module it stands for."""

    def __init__(self, text: str) -> None:
        self.node, _, self.factor = text.rpartition(":")
        self.hits: list[str] = []
        self.struck: set[str] = set()  # keys of this round: the module's value is copied by later operations

    def strike(self, node: Node, ranks: int) -> None:
        module = self.node.removeprefix("root.")
        for value in node.outputs:
            torch_side = torch_files(value.key, node.op_type, 0, ranks)
            same = torch_side is not None and torch_side.files in ([f"root.{module}/output"], [f"root.{module}/output_0"])
            if self.node not in (node.name, node.path) and not (same and value.key not in self.struck):
                continue
            self.struck.add(value.key)
            self.hits.append(node.path)
            value.tainted = True
            wrong = [spoiled(self.factor, shard) for shard in value.shards]
            value.shards = [w.to(shard.dtype) if shard.is_floating_point() else
                            w.round().clamp(torch.iinfo(shard.dtype).min, torch.iinfo(shard.dtype).max).to(shard.dtype)
                            for w, shard in zip(wrong, value.shards)]


def spoiled(fault: str, x: torch.Tensor) -> torch.Tensor:
    """`fault`: a factor, or a word of judgement_models.FAULTS."""
    with contextlib.suppress(ValueError):
        return x.double() * float(fault)
    return judgement_models.spoil(fault, x, 7)


class AtbWriter:
    """Records rounds of the graph and writes them in the layout of msit or of msprobe."""

    def __init__(self, root: pathlib.Path, s: Settings, pid: int, msprobe: bool, statistics: bool, weights: bool, inputs: bool,
                 shift: int = 0, fault: Fault | None = None) -> None:
        self.root, self.s, self.pid, self.msprobe, self.statistics = root, s, pid, msprobe, statistics
        self.weights, self.inputs, self.shift, self.fault = weights, inputs, shift, fault
        self.places: list[Place] = []
        self.weight_places: list[Place] = []
        self.open: list[Node] = []
        self.top: list[Node] = []

    def devices(self) -> list[str]:
        return [f"{rank}_{self.pid + rank}" for rank in range(self.s.ranks)]

    def data(self) -> pathlib.Path:
        return self.root / "data" if self.msprobe else self.root / "tensors"

    def begin(self, folder: int, token: int | None, start: int) -> None:
        """`start` is the number of the model's first operation; a warm-up has no token."""
        self.folder, self.token, self.start = folder, token, start
        self.top = []
        self.rows: list[list[str]] = [[] for _ in range(self.s.ranks)]
        if self.fault:
            self.fault.struck = set()

    def add(self, op_type: str, param: dict | None) -> Node:
        siblings = self.open[-1].children if self.open else self.top
        above = self.open[-1] if self.open else None
        number = len(siblings) + (0 if above else self.start)
        node = Node(op_type, [*(above.ids if above else []), number], above.path if above else "", self.shift, param)
        siblings.append(node)
        return node

    @contextlib.contextmanager
    def inside(self, op_type: str) -> Iterator[None]:
        node = self.add(op_type, None)
        self.open.append(node)
        places = [len(rows) for rows in self.rows]
        yield
        self.open.pop()
        node.close()
        self.write(node, places)
        if not self.open:
            node.forget()

    def op(self, op_type: str, inputs: list[Value], outputs: list[Value], param: dict) -> list[Value]:
        node = self.add(op_type, param)
        node.inputs, node.outputs = inputs, outputs
        for index, value in enumerate(outputs):
            value.name = f"{node.name}_output_{index}"
            value.tainted = any(given.tainted for given in inputs)
        if self.fault:
            self.fault.strike(node, self.s.ranks)
        self.write(node, [len(rows) for rows in self.rows])
        return outputs

    def write(self, node: Node, before: list[int]) -> None:
        """`before`: where the rows of the inputs belong, in front of those of the children."""
        sides = [("after", "outtensor", node.outputs)]
        if self.inputs:
            sides.insert(0, ("before", "intensor", node.inputs))
        for side, word, values in sides:
            for index, value in enumerate(values):
                if value.weight and not (self.weights and node.param is not None):
                    continue
                below = f"{self.folder}/{node.path}/{side}/{word}{index}.bin"
                if self.token is not None and (value.key or value.weight):
                    files = [str((self.data() / device / below).relative_to(self.root)) for device in self.devices()]
                    layer = max(sum(top.op_type.endswith("_layer") for top in self.top) - 1, 0)
                    places = self.places if value.key else self.weight_places
                    places.append(Place(self.token, layer, node, side, index, value.bare(), files))
                for rank, device in enumerate(self.devices()):
                    self.write_tensor(self.data() / device / below, value.shards[rank])
                    if self.msprobe:
                        row = self.csv_row(node, device, side, index, value.shards[rank], self.data() / device / below)
                        self.rows[rank].insert(before[rank], row) if side == "before" else self.rows[rank].append(row)
                        before[rank] += side == "before"
        if node.param is not None and not (self.msprobe and self.statistics):
            for device in self.devices():
                (self.data() / device / str(self.folder) / node.path / "op_param.json").write_text(json.dumps(node.param))

    def write_tensor(self, path: pathlib.Path, tensor: torch.Tensor) -> None:
        if self.msprobe and self.statistics:
            return  # all is in statistic.csv
        path.parent.mkdir(parents=True, exist_ok=True)
        (atb_files.write_bin_statistics if self.statistics else atb_files.write_bin)(path, tensor)

    def csv_row(self, node: Node, device: str, side: str, index: int, tensor: torch.Tensor, path: pathlib.Path) -> str:
        types = "/".join(part.partition("_")[2] for part in node.path.split("/"))
        stated = atb_files.statistics(tensor)
        cells = [device, self.folder, types, node.op_type, "_".join(map(str, node.ids)),
                 "input" if side == "before" else "output", index, atb_files.KINDS[tensor.dtype].name, "nd",
                 "x".join(map(str, tensor.shape)), *stated, "N/A" if self.statistics else path.absolute()]
        return ",".join(map(str, cells))

    def end(self) -> None:
        for device, rows in zip(self.devices(), self.rows if self.msprobe else []):
            table = self.data() / device / str(self.folder) / "statistic.csv"
            table.parent.mkdir(parents=True, exist_ok=True)
            with open(table, "a") as file:
                file.write("" if file.tell() else MSPROBE_HEADER + "\n")
                file.writelines(row + "\n" for row in rows)

    def write_topology(self, model: str, transdata: bool = False) -> None:
        """The graph of the last round, as a model and as its layers."""
        nodes = [node.topology() for node in self.top]
        made = {name for node in nodes for name in node["outTensors"]}
        weights = {value.name for node in self.top for value in node.inputs if value.weight}
        ins = dict.fromkeys(name for node in nodes for name in node["inTensors"] if name not in made | weights)
        entry = {"modelName": model, "inTensors": list(ins), "outTensors": nodes[-1]["outTensors"],
                 "internalTensors": sorted(made - set(nodes[-1]["outTensors"])), "weightTensors": sorted(weights),
                 "nodes": nodes}
        info = self.root / "info" if self.msprobe else self.root
        for device in self.devices():
            owner = device if self.msprobe else device.split("_")[1]
            for kind in ("model", "layer"):
                (info / kind / owner).mkdir(parents=True, exist_ok=True)
            (info / "model" / owner / f"{model}.json").write_text(compact(entry))
            for node in nodes:
                (info / "layer" / owner / f"{node['opName']}.json").write_text(compact(as_layer(node)))
            if transdata:
                lone = {"opName": "TransdataOperation_0", "opType": "TransdataOperation", "param": {"transdataType": 1},
                        "inTensors": ["in"], "outTensors": ["out"]}
                (info / "layer" / owner / "TransdataOperation_0.json").write_text(compact(lone))


def compact(entry: dict) -> str:
    return json.dumps(entry, separators=(",", ":"))


def as_layer(node: dict) -> dict:
    """A layer on its own names its tensors after itself."""
    names = {}
    for kind, word in (("inTensors", "input"), ("outTensors", "output")):
        names |= {name: f"{node['opName']}_{word}_{index}" for index, name in enumerate(node[kind])}

    def renamed(entry: dict) -> dict:
        copy = dict(entry)
        for kind in ("inTensors", "outTensors", "internalTensors"):
            if kind in entry:
                copy[kind] = [names.setdefault(name, f"{node['opName']}_internal_{len(names)}") for name in entry[kind]]
        if "nodes" in entry:
            copy["nodes"] = [renamed(child) for child in entry["nodes"]]
        return copy
    return renamed(node)
