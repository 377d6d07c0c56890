"""Tensor files of the ATB scenarios, written by hand: `.bin` of the ATB probe, `.pth` of torch.save, statistics of both.

torch.save makes a dozen system calls for a tensor of any size; a dump has thousands of them.
"""
from __future__ import annotations

import json
import pathlib
import struct
import zlib
from typing import NamedTuple

import torch

ND = 2  # the format code of plain row-major data


class Kind(NamedTuple):
    code: int  # in the header of a .bin
    name: str  # in statistic.csv
    storage: str  # in the pickle of a .pth


KINDS = {
    torch.float32: Kind(0, "float", "FloatStorage"),
    torch.float16: Kind(1, "float16", "HalfStorage"),
    torch.int8: Kind(2, "int8", "CharStorage"),
    torch.int32: Kind(3, "int32", "IntStorage"),
    torch.int64: Kind(9, "int64", "LongStorage"),
    torch.bfloat16: Kind(27, "bf16", "BFloat16Storage"),
}


class Statistics(NamedTuple):
    """Texts, as the probe prints them: six decimals, whole numbers for the extremes of integers."""
    max: str
    min: str
    mean: str
    norm: str


def raw(tensor: torch.Tensor) -> memoryview:
    """The bytes in row-major order, whatever the type: NumPy knows no bf16."""
    flat = tensor.contiguous().reshape(-1)
    wide = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[flat.element_size()]
    return memoryview(flat.view(wide).numpy()).cast("B") if flat.numel() else memoryview(b"")


def statistics(tensor: torch.Tensor) -> Statistics:
    """Sums in double, extremes in the type of the elements."""
    wide = tensor.double()
    text = (lambda x: f"{x:f}") if tensor.is_floating_point() else (lambda x: str(int(x)))
    return Statistics(text(wide.max().item()), text(wide.min().item()), f"{wide.mean().item():f}",
                      f"{wide.square().sum().sqrt().item():f}")


def write_parts(path: pathlib.Path, parts: list) -> None:
    """One write for a small file, no copy of a large one."""
    if sum(map(len, parts)) < 1 << 20:
        parts = [b"".join(parts)]
    with open(path, "wb", buffering=0) as file:
        for part in parts:
            view = memoryview(part)
            while view:
                view = view[file.write(view):]


def write_bin(path: pathlib.Path, tensor: torch.Tensor) -> None:
    data = raw(tensor)
    header = (f"$Version=1.0\n$Object.Count=1\n$Object.Length={len(data)}\n{describe(tensor)}"
              f"$Object.data=0,{len(data)}\n$End=1\n")
    write_parts(path, [header.encode(), data])


def write_bin_statistics(path: pathlib.Path, tensor: torch.Tensor) -> None:
    """A header without data that holds the statistics."""
    s = statistics(tensor)
    path.write_text(f"$Version=1.0\n$Object.Count=0\n$Object.Length=0\n{describe(tensor)}"
                    f"max={s.max}\nmin={s.min}\nmean={s.mean}\nl2norm={s.norm}\n$End=1\n")


def describe(tensor: torch.Tensor) -> str:
    return f"format={ND}\ndtype={KINDS[tensor.dtype].code}\ndims={','.join(map(str, tensor.shape))}\n"


def read_bin(path: pathlib.Path) -> torch.Tensor:
    header, _, data = path.read_bytes().partition(b"$End=1\n")
    fields = dict(line.split("=") for line in header.decode().splitlines())
    dtype = next(key for key, kind in KINDS.items() if kind.code == int(fields["dtype"]))
    return torch.frombuffer(bytearray(data), dtype=dtype).reshape([int(d) for d in fields["dims"].split(",")])


def pickled(tensor: torch.Tensor) -> bytes:
    """data.pkl: _rebuild_tensor_v2(storage, 0, shape, strides, False, OrderedDict())."""
    def word(text: str) -> bytes:
        return b"X" + struct.pack("<I", len(text)) + text.encode()

    def integer(value: int) -> bytes:
        return b"J" + struct.pack("<i", value) if value < 1 << 31 else b"\x8a\x08" + struct.pack("<q", value)

    def integers(values) -> bytes:
        return b"(" + b"".join(map(integer, values)) + b"t"
    tensor = tensor.contiguous()
    return b"".join([b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n((", word("storage"), b"ctorch\n",
                     KINDS[tensor.dtype].storage.encode(), b"\n", word("0"), word("cpu"), integer(tensor.numel()), b"tQK\x00",
                     integers(tensor.shape), integers(tensor.stride()), b"\x89ccollections\nOrderedDict\n)RtR."])


def write_pth(path: pathlib.Path, tensor: torch.Tensor) -> None:
    """The container of torch.save: stored zip members, the data at a multiple of 64 bytes."""
    members = [("archive/data.pkl", pickled(tensor)), ("archive/data/0", raw(tensor)), ("archive/version", b"3\n")]
    parts: list = []
    directory = b""
    offset = 0
    for name, content in members:
        padding = -(offset + 30 + len(name) + 4) % 64
        extra = b"FB" + struct.pack("<H", padding) + b"Z" * padding if name.endswith("/0") else b""
        common = struct.pack("<HHHHHIII", 20, 0, 0, 0, 33, zlib.crc32(content), len(content), len(content))
        local = b"PK\3\4" + common + struct.pack("<HH", len(name), len(extra)) + name.encode() + extra
        directory += (b"PK\1\2" + struct.pack("<H", 20) + common +
                      struct.pack("<HHHHHII", len(name), 0, 0, 0, 0, 0, offset) + name.encode())
        parts += [local, content]
        offset += len(local) + len(content)
    parts.append(directory + b"PK\5\6" + struct.pack("<HHHHIIH", 0, 0, 3, 3, len(directory), offset, 0))
    write_parts(path, parts)


def write_safetensors(path: pathlib.Path, named: dict[str, torch.Tensor]) -> None:
    """A checkpoint of f32 tensors."""
    head, at = {}, 0
    for name, tensor in named.items():
        head[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": [at, at + 4 * tensor.numel()]}
        at += 4 * tensor.numel()
    text = json.dumps(head).encode()
    write_parts(path, [struct.pack("<Q", len(text)), text, *(raw(tensor) for tensor in named.values())])
