"""Files of random tensors for check_compact.py, some of which hold more than their tensors."""
from __future__ import annotations

import io
import json
import os
import pathlib
import random
import struct
import time
import zipfile

import numpy

CODES = {"float32": 1, "float16": 2, "int8": 3, "uint8": 4, "int16": 5, "uint16": 6, "int32": 7, "int64": 8,
         "uint32": 9, "uint64": 10, "bool": 11, "float64": 12, "complex64": 16, "complex128": 17}


def varint(number: int) -> bytes:
    out = b""
    while number > 0x7F:
        out += bytes([number & 0x7F | 0x80])
        number >>= 7
    return out + bytes([number])


def field(number: int, content: bytes | int) -> bytes:
    if isinstance(content, int):
        return varint(number << 3) + varint(content)
    return varint(number << 3 | 2) + varint(len(content)) + content


def ge_dump(inputs: list[numpy.ndarray], outputs: list[numpy.ndarray]) -> bytes:
    """A DumpData message and its payload, as docs/formats/ge_dump.md describes them."""
    def tensor(array: numpy.ndarray, size_field: int, original_field: int) -> bytes:
        shape = field(1, b"".join(varint(d) for d in array.shape))
        return (field(1, CODES[array.dtype.name]) + field(2, 2) + field(3, shape) + field(size_field, array.nbytes)
                + field(original_field, shape))
    message = field(1, b"2.0") + field(2, 1706596912161)
    message += b"".join(field(3, tensor(array, 6, 7)) for array in outputs)
    message += b"".join(field(4, tensor(array, 5, 6)) for array in inputs)
    message += field(6, b"Add_2")
    return struct.pack("<Q", len(message)) + message + b"".join(a.tobytes() for a in inputs + outputs)


class Made:
    """A file of a random folder: what it holds, and whether anything of it is no element of its tensors."""

    def __init__(self, content: bytes, arrays: list[numpy.ndarray], rest: bool = False) -> None:
        self.content, self.arrays, self.rest = content, arrays, rest


def random_array(chance: random.Random) -> numpy.ndarray:
    dtype = chance.choice(["<f4", "<f2", "<f8", "<i4", "<i8", "|u1", "|i1", "|b1"])
    shape = tuple(chance.randrange(1, 5) for _ in range(chance.randrange(0, 4)))
    numbers = [chance.choice([0, 1, 2, chance.randrange(0, 100)]) for _ in range(int(numpy.prod(shape)))]
    return numpy.array(numbers).astype(dtype).reshape(shape)


def npy_bytes(array: numpy.ndarray) -> bytes:
    out = io.BytesIO()
    numpy.lib.format.write_array(out, array)
    return out.getvalue()


def random_npy(chance: random.Random) -> Made:
    array = random_array(chance)
    kind = chance.randrange(6)
    if kind == 0:
        return Made(npy_bytes(numpy.array(array, order="F")), [array])
    if kind == 1:
        return Made(npy_bytes(array.astype(array.dtype.newbyteorder(">"))), [array])
    if kind == 2:
        return Made(npy_bytes(array) + b"more", [array], True)
    return Made(npy_bytes(array), [array])


def random_atb(chance: random.Random) -> Made:
    array = numpy.array([chance.randrange(100) for _ in range(chance.randrange(1, 9))], dtype=numpy.float32)
    kind = chance.randrange(7)
    padding = b"\0\0\1\0" * (kind == 0) + bytes(4 * (kind == 1))
    before = b"abcd" * (kind == 2)
    lines = {3: "scale=0.5\n", 4: "max=7\n"}.get(kind, "")
    length = array.nbytes + len(padding)
    head = (f"$Version=1.0\n$Object.Count=1\n$Object.Length={length}\nformat=2\ndtype=0\ndims={array.size}\n{lines}"
            f"$Object.data={len(before)},{length}\n$End=1\n").encode()
    whole = head + before + array.tobytes() + padding
    return Made(whole * (2 if kind == 5 else 1), [array], kind < 6)


def random_ge(chance: random.Random) -> Made:
    arrays = [random_array(chance) for _ in range(chance.randrange(1, 4))]
    kind = chance.randrange(9)
    padding = {0: b"\0\7\0\0", 1: bytes(8)}.get(kind, b"")
    others = {2: [b"a log"], 3: [bytes(3), b"\1\2"]}.get(kind, [])
    fields = {4: field(40, b"unknown"), 5: field(6, b"Add_1") + field(6, b"Add_2")}.get(kind, b"")
    inside = {6: field(4, b"hidden")}.get(kind, b"")  # `data` of an input, though the payload has the elements

    def tensor(array: numpy.ndarray, size: int) -> bytes:
        shape = field(1, b"".join(varint(d) for d in array.shape))
        return field(1, CODES[array.dtype.name]) + field(2, 2) + field(3, shape) + field(5, size) + field(6, shape) + inside
    message = field(1, b"2.0")
    message += b"".join(field(4, tensor(array, array.nbytes + len(padding))) for array in arrays)
    message += b"".join(field(8, field(3, len(other))) for other in others) + fields
    content = struct.pack("<Q", len(message)) + message + b"".join(a.tobytes() + padding for a in arrays) + b"".join(others)
    made = Made(content + b"x" * (kind == 7), arrays, kind in (0, 4, 5, 6, 7))
    made.others = [numpy.frombuffer(other, numpy.uint8) for other in others]
    return made


def random_pt(chance: random.Random) -> Made:
    import torch
    array = random_array(chance)
    tensor = torch.from_numpy(array.copy())
    kind = chance.randrange(11)
    rest = True
    if kind == 0:
        saved = torch.arange(16.0)[chance.randrange(15):][:1]
        array = saved.numpy()
    elif kind == 1:
        saved = {"t": tensor, "lr": 0.5}
    elif kind == 2:
        saved = [tensor, "text"]
    elif kind == 3:
        saved = torch.nn.Linear(2, 1)
    elif kind == 4:
        saved = tensor.as_subclass(KnownToNobody)
        saved.more = torch.ones(3)
    elif kind == 5:
        saved, rest = torch.arange(6.0).reshape(2, 3).t(), False
        array = saved.numpy()
    elif kind == 6 and array.dtype.kind == "f":
        saved, rest = torch.nn.Parameter(tensor), False
    elif kind == 7:
        saved = {"": tensor}
    elif kind == 8:
        saved = {"": tensor, "file": io.BytesIO(bytes(100))}
    else:
        saved, rest = tensor, False
    out = io.BytesIO()
    torch.save(saved, out, _use_new_zipfile_serialization=chance.random() < 0.6)
    content = out.getvalue()
    if content.startswith(b"PK") and not rest and chance.random() < 0.3:
        with zipfile.ZipFile(out, "a") as archive:
            if chance.random() < 0.5:
                archive.writestr("archive/notes.txt", "a note")
            else:
                archive.comment = b"a note"
        content, rest = out.getvalue(), True
    return Made(content, [array], rest)


def define_subclass() -> None:
    """At the top of the module, where pickle finds it."""
    import torch
    global KnownToNobody
    KnownToNobody = type("KnownToNobody", (torch.Tensor,), {"__module__": __name__})


def settle(folder: pathlib.Path) -> None:
    """Makes files old, so that a pass need not wait for them to rest."""
    for path in folder.rglob("*"):
        if path.is_file():
            os.utime(path, (time.time() - 100,) * 2)


def random_folder(chance: random.Random, folder: pathlib.Path) -> dict[str, Made]:
    """Names that get into each other's way: cases, stems, and those of replacements."""
    files: dict[str, Made] = {}
    for i in range(chance.randrange(4, 16)):
        stem = chance.choice(["x", "y", f"z{i}", "deep/x"])
        ge = f"{stem}.{stem.rpartition('/')[2]}_2.{chance.randrange(3)}.6.17065969121619"
        name, make = chance.choice([
            (stem + ".npy", random_npy), (stem + ".NPY", random_npy), (stem + ".Npy", random_npy),
            (stem + "_min_max.npy", random_npy), (stem + ".bin", random_atb), (stem + ".pt", random_pt),
            (stem + ".pth", random_pt), (ge, random_ge), (ge, random_ge), (ge + "_min_max.npz", random_npy)])
        files[name] = make(chance)
        if chance.random() < 0.1:
            files[name + ".stats.json"] = Made(chance.choice([
                b'{"mine": 1}', b'{"assay_stats":1,"source":{"name":"other"},"tensors":[]}',
                json.dumps({"assay_stats": 1, "source": {"name": name.rpartition("/")[2]}, "tensors": []}).encode()]), [], True)
        if chance.random() < 0.1 and name.endswith(".npy") and files[name].arrays[0].size:
            array = files[name].arrays[0]
            files[name[:-4] + "_min_max.npy"] = Made(npy_bytes(numpy.array([array.min(), array.max()])), [], True)
    for name, made in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(made.content)
    settle(folder)
    return files
