"""Runs of single operators as an ATB dump: a folder for each, with its parameters and tensors."""
from __future__ import annotations

import json
import pathlib

import numpy as np

from golden_case import Run, Tensor

CODES = {"float32": 0, "float16": 1, "int8": 2, "int32": 3, "uint8": 4, "int16": 6, "uint16": 7, "uint32": 8, "int64": 9,
         "uint64": 10, "float64": 11, "bool": 12, "bfloat16": 27}
ND = 2


def write_bin(path: pathlib.Path, tensor: Tensor) -> None:
    data = np.ascontiguousarray(tensor.array).tobytes()
    dims = ",".join(map(str, tensor.array.shape)) or "1"
    path.write_bytes((f"$Version=1.0\n$Object.Count=1\n$Object.Length={len(data)}\nformat={ND}\ndtype={CODES[tensor.dtype]}\n"
                      f"dims={dims}\n$Object.data=0,{len(data)}\n$End=1\n").encode() + data)


def write_operator(token: pathlib.Path, number: int, op: str, run: Run, before: bool = False) -> str:
    """`before`: inputs as they were before the operator ran, which matters where it works in place. Gives its name."""
    name = f"{number}_{op}"
    folder = token / name
    inputs = folder / ("before" if before else "after")
    inputs.mkdir(parents=True)
    (folder / "after").mkdir(exist_ok=True)
    (folder / "op_param.json").write_text(json.dumps(run.params))
    for i, tensor in enumerate(run.inputs):
        write_bin(inputs / f"intensor{i}.bin", tensor)
    for i, tensor in enumerate(run.outputs):
        write_bin(folder / "after" / f"outtensor{i}.bin", tensor)
    return name


def dump_folder(root: pathlib.Path) -> pathlib.Path:
    return root / "msit_dump_20260101_120000"


def token_folder(root: pathlib.Path, rank: int = 0) -> pathlib.Path:
    token = dump_folder(root) / "tensors" / f"{rank}_{4001 + rank}" / "0"
    token.mkdir(parents=True, exist_ok=True)
    return token
