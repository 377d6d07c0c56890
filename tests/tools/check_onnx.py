#!/usr/bin/python3
"""Has the onnx package check and read what `assay topology` writes.

    check_onnx.py --bin build/release [--seed N]

The topologies are those of tests/data/topology and random ones: tensors written in place, operations in the wrong order or
in a circle, names that are missing, empty or equal, parameters of every kind. Every file must pass the checker of onnx with
shape inference, and have the nodes that the JSON has. Ends with 'N passed, N failed'.
"""
from __future__ import annotations

import argparse
import json
import pathlib
import random
import subprocess
import sys
import tempfile

import onnx

from checker import Count

DATA = pathlib.Path(__file__).resolve().parents[1] / "data" / "topology"
LEVELS = (-1, 0, 1, 2)
RANDOM_TOPOLOGIES = 40


class Checks(Count):
    def __init__(self, program: pathlib.Path, folder: pathlib.Path) -> None:
        super().__init__()
        self.program, self.folder = program, folder

    def draw(self, topology: pathlib.Path, level: int) -> onnx.ModelProto:
        """What Assay makes of it; raises if that is not what onnx calls a model."""
        out = self.folder / "x.onnx"
        done = subprocess.run([self.program, "topology", topology, "--level", str(level), "-o", out, "--force"],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode:
            raise ValueError(done.stdout.strip())
        model = onnx.load(out)
        onnx.checker.check_model(model, full_check=True)
        return model


# ----- what the graph should be, from the JSON

def flatten(node: dict, level: int, depth: int = 0) -> list[dict]:
    inside = node.get("nodes") or []
    if depth == level or not inside:
        return [node]
    return [leaf for child in inside for leaf in flatten(child, level, depth + 1)]


def attributes(param: object) -> dict[str, list]:
    """As docs/topology.md says: texts as bytes, all else as floats, false and null as nothing."""
    found: dict[str, list] = {}

    def add(key: str, value: object) -> None:
        if isinstance(value, dict):
            for name, inner in value.items():
                add(f"{key}.{name}", inner)
        elif isinstance(value, str):
            found[key] = [value.encode()]
        elif isinstance(value, list):
            found[key] = [each.encode() for each in value] if value and isinstance(value[0], str) else list(map(float, value))
        else:
            found[key] = [float(value)] if value else []

    for name, value in (param.items() if isinstance(param, dict) else ()):
        add(name, value)
    return found


def attributes_of(node: onnx.NodeProto) -> dict[str, list]:
    return {each.name: list(each.strings) if each.type == onnx.AttributeProto.STRINGS else list(each.floats)
            for each in node.attribute}


def compare(model: onnx.ModelProto, topology: dict, level: int) -> list[str]:
    expected = flatten(topology, level)
    nodes = {node.name: node for node in model.graph.node}
    problems = [] if len(nodes) == len(model.graph.node) == len(expected) else [f"{len(nodes)} nodes, expected {len(expected)}"]
    for op in expected:
        name = op.get("opName", topology.get("modelName"))
        node = nodes.get(name)
        if node is None:
            problems.append(f"no node {name}")
            continue
        # A name of the file with a number behind it is the same buffer, written again.
        for what, found, wanted in (("op_type", node.op_type, op.get("opType", name)), ("attributes", attributes_of(node), attributes(op.get("param"))),
                                    ("input", [each.split("#")[0] for each in node.input], op["inTensors"]),
                                    ("output", [each.split("#")[0] for each in node.output], op["outTensors"])):
            if found != wanted:
                problems.append(f"{name}: {what} {found}, expected {wanted}")
    return problems


# ----- topologies

def random_params(rng: random.Random) -> object:
    values = [0, 1, 7, 2.5, 0.125, True, False, None, "text", "", [], [1, 2], [0.5, 0], ["a", "b"], {"x": 1, "y": {"z": "deep"}}, {}]
    return "" if rng.random() < 0.2 else {f"p{i}": rng.choice(values) for i in range(rng.randrange(4))}


def random_nodes(rng: random.Random, names: list[str], path: str, depth: int) -> list[dict]:
    nodes = []
    for i in range(rng.randrange(1, 5)):
        node = {"opName": f"Op{path}_{i}", "opType": rng.choice(["LinearOperation", "ElewiseOperation", "Add"]),
                "param": random_params(rng),
                "inTensors": [rng.choice(names) for _ in range(rng.randrange(1, 4))],
                "outTensors": [rng.choice(names) for _ in range(rng.randrange(1, 3))]}
        if depth > 0 and rng.random() < 0.4:
            node["nodes"] = random_nodes(rng, names, f"{path}_{i}", depth - 1)
        nodes.append(node)
    return nodes


def random_topology(rng: random.Random) -> dict:
    names = [f"t{i}" for i in range(rng.randrange(3, 30))] + [""]
    return {"modelName": "Random", "inTensors": rng.sample(names, 2), "outTensors": rng.sample(names, 2),
            "weightTensors": rng.sample(names, 1), "nodes": random_nodes(rng, names, "", 2)}


# Where there is nothing to compare with, the checker must still be content.
ODD = {
    "nothing": {"modelName": "", "nodes": []},
    "no names": {"nodes": [{}, {"opType": "A"}, {"opType": "A", "inTensors": ["x"]}, {"inTensors": [None], "outTensors": [""]}]},
    "equal names": {"opName": "a", "opType": "A", "nodes": [{"opName": "a", "outTensors": ["x", "x"]}] * 3},
    "strange bytes": {"opName": "a\x01\ud800\n", "opType": "\u0000", "inTensors": ["\x7f", "é"], "param": {"\n": "\ud800", "": ["\x00", 1, None]}},
    "no list": {"opName": "a", "inTensors": 3, "outTensors": {}, "param": [1, 2], "nodes": "none"},
    "nan": {"opName": "a", "param": {"x": float("nan"), "y": [float("inf"), None], "z": 1e300, "n": 10**40}},
}


def check_model_of_msit(checks: Checks) -> list[str]:
    """The nodes are those that the original tool wrote, attributes and all."""
    ours = checks.draw(DATA / "dump" / "model" / "27402" / "DemoModel.json", -1).graph
    theirs = onnx.load(DATA / "DemoModel_msit.onnx").graph

    def essence(node: onnx.NodeProto) -> tuple:
        return node.name, node.op_type, list(node.input), list(node.output), attributes_of(node)

    problems = [f"{essence(a)}, expected {essence(b)}" for a, b in zip(ours.node, theirs.node) if essence(a) != essence(b)]
    known = {each.name: each.type.tensor_type for each in [*ours.input, *ours.output, *ours.value_info]}
    for info in theirs.value_info:  # their table of types lacks some
        tensor = info.type.tensor_type
        if tensor.shape != known[info.name].shape or (tensor.elem_type or known[info.name].elem_type) != known[info.name].elem_type:
            problems.append(f"{info.name}: another type")
    wanted = {"in0": onnx.TensorProto.FLOAT, "w0": onnx.TensorProto.FLOAT16, "DemoLayer_0_internal_0": onnx.TensorProto.BFLOAT16}
    problems += [f"{name}: type {known[name].elem_type}, expected {number}" for name, number in wanted.items()
                 if known[name].elem_type != number]
    return problems if len(ours.node) == len(theirs.node) else problems + ["another number of nodes"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, required=True, help="folder of the assay program")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        checks = Checks((options.bin / "assay").resolve(), pathlib.Path(folder))

        def attempt(name: str, work) -> None:
            try:
                checks.check(name, work())
            except Exception as error:  # whatever onnx raises is a failed check
                checks.check(name, [f"{type(error).__name__}: {error}"])

        attempt("as msit", lambda: check_model_of_msit(checks))
        rng = random.Random(options.seed)
        files = {str(path.relative_to(DATA)): json.loads(path.read_text()) for path in sorted(DATA.rglob("*.json"))}
        files |= {f"random {i}": random_topology(rng) for i in range(RANDOM_TOPOLOGIES)}
        path = checks.folder / "x.json"
        for name, topology in files.items():
            path.write_text(json.dumps(topology))
            for level in LEVELS:
                attempt(f"{name}, level {level}", lambda: compare(checks.draw(path, level), topology, level))
        for name, topology in ODD.items():
            path.write_text(json.dumps(topology))
            for level in LEVELS:
                attempt(f"{name}, level {level}", lambda: checks.draw(path, level) and [])
    print(f"{checks.passed} passed, {checks.failed} failed")
    return checks.failed > 0


if __name__ == "__main__":
    sys.exit(main())
