"""What runs of products and attention are made of: random matrices, and ways to spoil an output."""
from __future__ import annotations

import numpy as np

from golden_case import Run, Tensor, tensor_of, values_of

SHORT = ["float16", "bfloat16"]
REAL = [*SHORT, "float32"]


def rounded(dtype: str, values: np.ndarray) -> np.ndarray:
    """In f64, rounded to `dtype`."""
    return values_of(tensor_of(dtype, values))


def real(rng: np.random.Generator, dtype: str, *shape: int, scale: float = 1.0) -> Tensor:
    return tensor_of(dtype, rng.standard_normal(shape) * scale)


def whole(rng: np.random.Generator, *shape: int, low: int = -128, high: int = 127) -> Tensor:
    return Tensor("int8", rng.integers(low, high, shape, endpoint=True).astype(np.int8))


def lengths(values) -> Tensor:
    return Tensor("int32", np.asarray(values, dtype=np.int32))


def same(run: Run, values: np.ndarray) -> list[Tensor]:
    """The outputs with the first replaced by these values, rounded to its type."""
    first = run.outputs[0]
    return [tensor_of(first.dtype, values.reshape(first.array.shape)), *run.outputs[1:]]


def spoiled(change):
    """A fault that only looks at the output: `change(rng, values)` in f64."""
    def fault(rng, run):
        return same(run, change(rng, values_of(run.outputs[0]).copy()))
    return fault


def zero_last_column(rng, values):
    values[..., -1] = 0
    return values


def exchange_rows(rng, values):
    flat = values.reshape(-1, values.shape[-1])
    flat[[0, -1]] = flat[[-1, 0]]
    return flat.reshape(values.shape)


def stale_last_tile(rng, values):
    width = max(1, values.shape[-1] // 4)
    values[..., -width:] = values[..., :width] if values.shape[-1] > width else values * 2
    return values


def twice_one_column(rng, values):
    values[..., int(rng.integers(values.shape[-1]))] *= 2
    return values


def one_element(rng, values):
    """A neighbour's value in place of the largest element."""
    flat = values.reshape(-1)
    at = int(np.argmax(np.abs(flat)))
    flat[at] = flat[(at + 1) % flat.size] * 0.5
    return values


COMMON = {"last column zero": spoiled(zero_last_column), "first and last row exchanged": spoiled(exchange_rows),
          "stale last tile": spoiled(stale_last_tile), "one column doubled": spoiled(twice_one_column),
          "one element wrong": spoiled(one_element)}


def packed(scale: np.ndarray) -> Tensor:
    """f32 in the low half of an int64, with the bits that the cube reads."""
    bits = scale.astype(np.float32).view(np.uint32) & np.uint32(0xFFFFE000)
    return Tensor("int64", bits.astype(np.int64))
