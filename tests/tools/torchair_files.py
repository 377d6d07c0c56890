"""Writers of the files of a TorchAir dump: what the graph engine (GE) writes for one operator, the text of its graph, and the
NumPy files of the FX interpreter. Everything is encoded by hand from docs/formats/ge_dump.md; no code of the program is used."""
from __future__ import annotations

import io
import pathlib
import struct
import zipfile
from typing import NamedTuple

import numpy as np

# Name here: number in the dump, name in the graph text, bytes of an element.
TYPES = {"f32": (1, "DT_FLOAT", 4), "f16": (2, "DT_FLOAT16", 2), "bf16": (27, "DT_BF16", 2), "i8": (3, "DT_INT8", 1),
         "i32": (7, "DT_INT32", 4), "i64": (8, "DT_INT64", 8), "bool": (11, "DT_BOOL", 1)}
NUMPY = {"f32": np.float32, "f16": np.float16, "bf16": np.float32, "i8": np.int8, "i32": np.int32, "i64": np.int64,
         "bool": np.bool_}
FORMATS = {"NCHW": 0, "NHWC": 1, "ND": 2, "NC1HWC0": 3, "NC1HWC0 of NHWC": 3, "FRACTAL_Z": 4, "FRACTAL_NZ": 29}
TILE = 16  # rows of a block of FRACTAL_NZ and FRACTAL_Z


class Tensor(NamedTuple):
    """array has the shape that the model sees; format says how the file has it."""
    array: np.ndarray
    dtype: str
    format: str = "ND"
    spare: int = 0  # bytes of the device's buffer behind the data


def bf16_bits(array: np.ndarray) -> np.ndarray:
    """The upper half of an f32, rounded to nearest, ties to even."""
    bits = np.ascontiguousarray(array, np.float32).view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def rounded(array: np.ndarray, dtype: str) -> np.ndarray:
    """The numbers that an element of this type can hold; those of bf16 as f32, as FX dumps have them."""
    if dtype == "bf16":
        return (bf16_bits(array).astype(np.uint32) << 16).view(np.float32).reshape(array.shape)
    return np.asarray(array, NUMPY[dtype])


def varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def number_field(field: int, number: int) -> bytes:
    return varint(field << 3) + varint(number) if number else b""


def bytes_field(field: int, content: bytes) -> bytes:
    return varint(field << 3 | 2) + varint(len(content)) + content


def shape_field(field: int, shape: tuple[int, ...]) -> bytes:
    """A scalar has a shape without dimensions, which is not the same as no shape."""
    return bytes_field(field, bytes_field(1, b"".join(map(varint, shape))) if shape else b"")


def block_width(dtype: str) -> int:
    """C0: 32 bytes, or 16 elements where those are fewer bytes."""
    return 32 if TYPES[dtype][2] == 1 else 16


def to_nz(array: np.ndarray, width: int) -> np.ndarray:
    """(…, n, c) -> (…, C1, N1, 16, C0): out[j div C0, i div 16, i mod 16, j mod C0] = in[i, j]."""
    *batch, rows, columns = array.shape
    high, wide = -(-rows // TILE), -(-columns // width)
    padded = np.zeros((*batch, high * TILE, wide * width), array.dtype)
    padded[..., :rows, :columns] = array
    blocks = padded.reshape(*batch, high, TILE, wide, width)
    first = len(batch)
    return blocks.transpose(*range(first), first + 2, first, first + 1, first + 3)


def to_nc1hwc0(array: np.ndarray, width: int) -> np.ndarray:
    n, c, h, w = array.shape
    deep = -(-c // width)
    padded = np.zeros((n, deep * width, h, w), array.dtype)
    padded[:, :c] = array
    return padded.reshape(n, deep, width, h, w).transpose(0, 1, 3, 4, 2)


def to_fractal_z(array: np.ndarray, width: int) -> np.ndarray:
    """(N, C, H, W) -> (C1·H·W, N1, 16, C0)."""
    n, c, h, w = array.shape
    deep, tall = -(-c // width), -(-n // TILE)
    padded = np.zeros((tall * TILE, deep * width, h, w), array.dtype)
    padded[:n, :c] = array
    return padded.reshape(tall, TILE, deep, width, h, w).transpose(2, 4, 5, 0, 1, 3).reshape(deep * h * w, tall, TILE, width)


def stored(tensor: Tensor) -> np.ndarray:
    """The elements as the device has them."""
    array = bf16_bits(tensor.array).reshape(tensor.array.shape) if tensor.dtype == "bf16" else rounded(tensor.array, tensor.dtype)
    if tensor.format == "FRACTAL_NZ":
        return to_nz(array, 8 if tensor.dtype == "f32" else block_width(tensor.dtype))
    if tensor.format == "NC1HWC0":
        return to_nc1hwc0(array, block_width(tensor.dtype))
    if tensor.format == "NC1HWC0 of NHWC":
        return to_nc1hwc0(array.transpose(0, 3, 1, 2), block_width(tensor.dtype))
    if tensor.format == "FRACTAL_Z":
        return to_fractal_z(array, block_width(tensor.dtype))
    return array


def described(tensor: Tensor, is_output: bool) -> tuple[bytes, bytes]:
    """The message of one input or output, and its part of the payload. The numbers of the fields differ between the two."""
    array = stored(tensor)
    payload = array.tobytes() + bytes(tensor.spare)
    size, original = (6, 7) if is_output else (5, 6)
    message = number_field(1, TYPES[tensor.dtype][0]) + number_field(2, FORMATS[tensor.format]) + shape_field(3, array.shape)
    message += number_field(size, len(payload)) + shape_field(original, tensor.array.shape)
    return message, payload


def ge_bytes(op_name: str, inputs: list[Tensor], outputs: list[Tensor], time: int, extra: bool = False) -> bytes:
    """One operator's file; extra: with a buffer and a log behind the tensors."""
    ins = [described(tensor, False) for tensor in inputs]
    outs = [described(tensor, True) for tensor in outputs]
    message = bytes_field(1, b"2.0") + number_field(2, time)
    message += b"".join(bytes_field(3, part) for part, _ in outs) + b"".join(bytes_field(4, part) for part, _ in ins)
    tail = b""
    if extra:
        message += bytes_field(5, number_field(3, 4))
        tail += b"1234"
    message += bytes_field(6, op_name.encode())
    if extra:
        message += bytes_field(8, number_field(3, 4))
        tail += b"log\0"
    payload = b"".join(part for _, part in ins) + b"".join(part for _, part in outs) + tail
    return struct.pack("<Q", len(message)) + message + payload


def npy_bytes(array: np.ndarray) -> bytes:
    """An argument of None becomes an array of objects, which NumPy pickles."""
    file = io.BytesIO()
    np.lib.format.write_array(file, array, allow_pickle=True)
    return file.getvalue()


def extremes(array: np.ndarray) -> list:
    return [array.min(), array.max()]


def min_max_npy(array: np.ndarray) -> bytes:
    return npy_bytes(np.asarray(extremes(array)))


def min_max_npz(inputs: list[Tensor], outputs: list[Tensor]) -> bytes:
    """What a script of the TorchAir guide leaves of an operator's file: `np.savez` of the minimum and maximum of each tensor."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for member, tensors in (("inputs", inputs), ("outputs", outputs)):
            table = np.asarray([extremes(rounded(tensor.array, tensor.dtype)) for tensor in tensors])
            # The clock is no input of a dump.
            archive.writestr(zipfile.ZipInfo(f"{member}.npy", (2025, 1, 1, 0, 0, 0)), npy_bytes(table))
    return file.getvalue()


def quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


class GraphText:
    """The text form of a GraphDef, one field a line."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.depth = 0

    def line(self, text: str) -> None:
        self.lines.append("  " * self.depth + text)

    def open(self, name: str) -> None:
        self.line(f"{name} {{")
        self.depth += 1

    def close(self) -> None:
        self.depth -= 1
        self.line("}")

    def attribute(self, key: str, value: str) -> None:
        """value is a field of AttrDef, such as 'i: 1'."""
        self.open("attr")
        self.line(f"key: {quoted(key)}")
        self.open("value")
        self.line(value)
        self.close()
        self.close()

    def names(self, key: str, values: list[str]) -> None:
        self.open("attr")
        self.line(f"key: {quoted(key)}")
        self.open("value")
        self.open("list")
        for value in values:
            self.line(f"s: {quoted(value)}")
        for _ in range(3):
            self.close()

    def output(self, name: str, dtype: str, shape: tuple[int, ...], fx_name: str | None) -> None:
        self.open("output_desc")
        self.line(f"name: {quoted(name)}")
        self.line(f"dtype: {TYPES[dtype][1]}")
        self.open("shape")
        for dim in shape:
            self.line(f"dim: {dim}")
        self.close()
        self.line('layout: "ND"')
        if fx_name:
            self.attribute("_fx_tensor_name", f"s: {quoted(fx_name)}")
        self.line('device_type: "NPU"')
        self.close()

    def write(self, path: pathlib.Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(self.lines) + "\n")


STATISTICS_HEADER = ("Input/Output,Index,Data Size,Data Type,Format,Shape,Max Value,Min Value,Avg Value,Count,Nan Count,"
                     "Negative Inf Count,Positive Inf Count")


def statistics_csv(inputs: list[Tensor], outputs: list[Tensor]) -> bytes:
    """What the engine writes when it is asked for statistics: of the elements as stored, padding included."""
    lines = [STATISTICS_HEADER]
    for side, tensors in (("Input", inputs), ("Output", outputs)):
        for index, tensor in enumerate(tensors):
            storage = stored(tensor)
            wide = stored(tensor._replace(array=rounded(tensor.array, tensor.dtype), dtype="f32")) if tensor.dtype == "bf16" \
                else storage
            wide = wide.astype(np.float64)
            numbers = [f"{x:g}" for x in (wide.max(), wide.min(), wide.mean())]
            lines.append(",".join([side, str(index), str(storage.nbytes), TYPES[tensor.dtype][1], tensor.format,
                                   "x".join(map(str, storage.shape)), *numbers, str(storage.size), "0", "0", "0"]))
    return ("\n".join(lines) + "\n").encode()
