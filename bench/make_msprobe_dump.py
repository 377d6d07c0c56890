#!/usr/bin/python3
"""Write a synthetic msprobe dump: dump.json, stack.json, construct.json and, for the tensor task, dump_tensor_data/*.pt.

    make_msprobe_dump.py --apis 100000 --task statistics --out golden
    make_msprobe_dump.py --apis 100000 --task statistics --out mine --perturb 1e-3
    make_msprobe_dump.py --task tensor --tensors 16 --elements 33554432 --dtype fp16 --out big

The same seed gives the same numbers; --perturb changes every value by about that share of it. 100,000 APIs are about
115 MiB of JSON, written as the real dumper does (an indent of one space, all digits of a float32).
"""
from __future__ import annotations

import argparse
import itertools
import json
import pathlib
import struct
import sys
import zipfile
from typing import NamedTuple

import numpy as np

POOL = 1 << 15  # different statistics; more would change no byte that is parsed
DTYPES = {"fp16": (np.float16, "HalfStorage", "torch.float16"), "fp32": (np.float32, "FloatStorage", "torch.float32")}
ALIGNMENT = 64  # of the data within the .pt, as torch has it


class Api(NamedTuple):
    name: str
    inputs: list[list[int]]  # shapes
    outputs: list[list[int]]
    kwargs: dict


HIDDEN, INNER, BATCH, LENGTH, HEADS = 4096, 11008, 2, 1024, 32
X = [BATCH * LENGTH, HIDDEN]
Q = [BATCH, HEADS, LENGTH, HIDDEN // HEADS]
# One transformer layer.
LAYER = [
    Api("Functional.layer_norm", [X, [HIDDEN], [HIDDEN]], [X], {"eps": 1e-05}),
    Api("Functional.linear", [X, [3 * HIDDEN, HIDDEN], [3 * HIDDEN]], [[BATCH * LENGTH, 3 * HIDDEN]], {}),
    Api("NPU.npu_fusion_attention", [Q, Q, Q, [1, 1, LENGTH, LENGTH]], [Q, [BATCH, HEADS, LENGTH, 8], [BATCH, HEADS, LENGTH, 8]],
        {"head_num": HEADS, "input_layout": "BNSD", "scale": 0.08838834764831845}),
    Api("Functional.linear", [X, [HIDDEN, HIDDEN], [HIDDEN]], [X], {}),
    Api("Functional.dropout", [X, X], [X, X], {"p": 0.1, "training": True}),
    Api("Tensor.__add__", [X, X], [X], {}),
    Api("Functional.layer_norm", [X, [HIDDEN], [HIDDEN]], [X], {"eps": 1e-05}),
    Api("Functional.linear", [X, [INNER, HIDDEN], [INNER]], [[BATCH * LENGTH, INNER]], {}),
    Api("Functional.gelu", [[BATCH * LENGTH, INNER]], [[BATCH * LENGTH, INNER]], {"approximate": "tanh"}),
    Api("Functional.linear", [[BATCH * LENGTH, INNER], [HIDDEN, INNER], [HIDDEN]], [X], {}),
    Api("Torch.addcmul", [X, X, X], [X], {"value": 1.0}),
    Api("Tensor.__add__", [X, X], [X], {}),
]
HOLE = "@STATISTICS@"
STACK = {"0": [["Functional.linear.0.forward"], ["File /home/user/train.py, line 10, in forward, \n y = self.fc(x)"]]}


def leaf(shape: list[int]) -> dict:
    return {"type": "torch.Tensor", "dtype": "torch.bfloat16", "shape": shape, HOLE: 0}


def as_member(name: str, entry: dict) -> str:
    """An entry as it stands within "data"."""
    text = json.dumps({name: entry}, indent=1)[2:-2]  # without the braces around it
    return "\n".join(" " + line for line in text.split("\n"))


def template(api: Api, direction: str) -> tuple[str, int]:
    """The JSON of one entry with %s for its name and for the statistics of each tensor, and how many tensors those are."""
    ins, outs = [leaf(shape) for shape in api.inputs], [leaf(shape) for shape in api.outputs]
    if direction == "forward":
        kwargs = {key: {"type": type(value).__name__, "value": value} for key, value in api.kwargs.items()}
        entry = {"input_args": ins, "input_kwargs": kwargs, "output": outs, "is_recompute": False}
    else:
        entry = {"input": outs, "output": ins}
    text = as_member("@NAME@", entry).replace("%", "%%").replace("@NAME@", "%s").replace(f'     "{HOLE}": 0', "%s")
    return text, len(ins) + len(outs)


def pool(seed: int, perturb: float, crc: bool) -> list[str]:
    """Texts of what differs from tensor to tensor: the four statistics and, where wanted, a CRC."""
    random = np.random.default_rng(seed)
    values = random.standard_normal((POOL, 4), dtype=np.float32) * np.float32([4, 4, 0.01, 500])
    values = np.abs(values) * np.float32([1, -1, 1, 1])
    values = values * (1 + np.float32(perturb) * random.standard_normal((POOL, 4), dtype=np.float32))
    crcs = random.integers(0, 1 << 32, POOL) ^ (1 if perturb else 0)
    texts = []
    for (high, low, mean, norm), check in zip(values.astype(np.float64).tolist(), crcs.tolist()):
        members = [f'"Max": {high!r}', f'"Min": {low!r}', f'"Mean": {mean!r}', f'"Norm": {norm!r}', '"requires_grad": true']
        if crc:
            members.append(f'"md5": "{check:08x}"')
        texts.append(",\n".join("     " + member for member in members))
    return texts


def entries(apis: int, seed: int, perturb: float, crc: bool, shift: int, drop: int):
    """The text of each entry: some layers forward, then the same backward in reverse, as a training step has it."""
    statistics = pool(seed, perturb, crc)
    picks = np.random.default_rng(seed + 1).integers(0, POOL, 1 << 20).tolist()
    picked = itertools.cycle(picks)
    forward = []
    counts: dict[str, int] = {}
    for api, _ in zip(itertools.cycle(LAYER), range((apis + 1) // 2)):
        number = counts.get(api.name, 0)
        counts[api.name] = number + 1
        forward.append((api, number))
    templates = {(id(api), direction): template(api, direction) for api in LAYER for direction in ("forward", "backward")}
    order = [(*call, "forward") for call in forward] + [(*call, "backward") for call in reversed(forward)]
    for index, (api, number, direction) in enumerate(order[:apis]):
        text, tensors = templates[id(api), direction]
        parts = [statistics[next(picked)] for _ in range(tensors)]
        if drop and index % drop == drop - 1:
            continue
        yield text % (f"{api.name}.{number + shift}.{direction}", *parts)


def write_json(folder: pathlib.Path, task: str, texts) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    data_dir = json.dumps("./dump_tensor_data" if task == "tensor" else None)
    with open(folder / "dump.json", "w", buffering=1 << 20) as file:
        file.write(f'{{\n "task": "{task}",\n "level": "L1",\n "framework": "pytorch",\n "dump_data_dir": {data_dir},\n')
        file.write(' "data": {\n')
        for index, text in enumerate(texts):
            file.write(",\n" + text if index else text)
        file.write("\n }\n}")
    (folder / "stack.json").write_text(json.dumps(STACK, indent=1))
    (folder / "construct.json").write_text("{}")


def pickled(storage: str, elements: int) -> bytes:
    """data.pkl of a one-dimensional tensor: _rebuild_tensor_v2(storage, 0, (n,), (1,), False, OrderedDict())."""
    def word(text: str) -> bytes:
        return b"X" + struct.pack("<I", len(text)) + text.encode()

    def integer(value: int) -> bytes:
        return b"J" + struct.pack("<i", value) if value < 1 << 31 else b"\x8a\x08" + struct.pack("<q", value)
    size = integer(elements)
    return b"".join([b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n((", word("storage"), b"ctorch\n", storage.encode(),
                     b"\n", word("0"), word("cpu"), size, b"tQK\x00", size, b"\x85K\x01\x85\x89ccollections\nOrderedDict\n)RtR."])


def write_pt(path: pathlib.Path, data: bytes, storage: str, elements: int) -> None:
    """The container of torch.save: stored zip members, the data at a multiple of 64 bytes."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        def member(name: str, content: bytes, aligned: bool = False) -> None:
            info = zipfile.ZipInfo(f"archive/{name}")
            if aligned:
                start = archive.fp.tell() + 30 + len(info.filename) + 4
                padding = -start % ALIGNMENT
                info.extra = b"FB" + struct.pack("<H", padding) + b"Z" * padding
            archive.writestr(info, content)
        member("data.pkl", pickled(storage, elements))
        member("data/0", data, aligned=True)
        member("version", b"3\n")


def write_tensors(folder: pathlib.Path, tensors: int, elements: int, dtype: str, seed: int, perturb: float) -> None:
    kind, storage, name = DTYPES[dtype]
    (folder / "dump_tensor_data").mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(seed)
    block = random.standard_normal(min(elements, 1 << 22), dtype=np.float32)
    block = (block * (1 + np.float32(perturb) * random.standard_normal(block.shape, dtype=np.float32))).astype(kind)
    whole = np.resize(block, elements)
    wide = block.astype(np.float64)
    stats = {"Max": wide.max(), "Min": wide.min(), "Mean": wide.mean(), "Norm": np.sqrt((wide * wide).mean() * elements)}
    texts = []
    for index in range(tensors):
        op = f"Torch.relu.{index // 2}.forward"
        side = "output" if index % 2 else "input"
        file = f"{op}.{side}.0.pt"
        # Each file is the block turned by another amount: different bytes at the cost of a copy.
        write_pt(folder / "dump_tensor_data" / file, np.roll(whole, index * 4099).tobytes(), storage, elements)
        value = {"type": "torch.Tensor", "dtype": name, "shape": [elements], **{key: float(x) for key, x in stats.items()},
                 "requires_grad": False, "data_name": file}
        if side == "input":
            entry = {"input_args": [value], "input_kwargs": {}, "output": [], "is_recompute": False}
        else:
            entry["output"] = [value]
        if side == "output" or index == tensors - 1:
            texts.append(as_member(op, entry))
    write_json(folder, "tensor", texts)


def write_dump(folder: pathlib.Path, apis: int, task: str = "statistics", seed: int = 1, perturb: float = 0.0, shift: int = 0,
               drop: int = 0) -> pathlib.Path:
    """Statistics or CRCs of `apis` entries; returns the path of dump.json."""
    write_json(folder, "statistics", entries(apis, seed, perturb, task == "md5", shift, drop))
    return folder / "dump.json"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--task", choices=("statistics", "tensor", "md5"), default="statistics")
    parser.add_argument("--apis", type=int, default=1000, help="entries of dump.json (statistics and md5)")
    parser.add_argument("--tensors", type=int, default=16, help="files (tensor)")
    parser.add_argument("--elements", type=int, default=1 << 20, help="elements of each (tensor)")
    parser.add_argument("--dtype", choices=DTYPES, default="fp16")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--perturb", type=float, default=0.0)
    parser.add_argument("--shift", type=int, default=0, help="add this to every call counter")
    parser.add_argument("--drop", type=int, default=0, help="leave out every N-th entry")
    options = parser.parse_args()
    if options.task == "tensor":
        write_tensors(options.out, options.tensors, options.elements, options.dtype, options.seed, options.perturb)
    else:
        write_dump(options.out, options.apis, options.task, options.seed, options.perturb, options.shift, options.drop)
    return 0


if __name__ == "__main__":
    sys.exit(main())
