"""Tensors of the cases of golden operators, and faults that fit any of them."""
from __future__ import annotations

import numpy as np

from golden_case import Tensor, tensor_of, values_of

FLOATS = ("float16", "bfloat16", "float32")
ANY = FLOATS + ("int8", "int32", "int64")


# ----- tensors

def sizes(rng, count, low=1, high=9):
    return [int(n) for n in rng.integers(low, high + 1, count)]


def floats(rng, dtype, shape, scale=1.0):
    return tensor_of(dtype, rng.normal(0, scale, shape))


def anything(rng, dtype, shape):
    """Numbers of a type; no two neighbours are likely to be equal."""
    if dtype in FLOATS:
        return floats(rng, dtype, shape)
    return Tensor(dtype, rng.integers(-100, 100, shape).astype(dtype))


def whole(values, dtype="int32"):
    return Tensor(dtype, np.asarray(values).astype(dtype))


def pick(rng, choices):
    return choices[int(rng.integers(len(choices)))]


def rounded(dtype, values):
    """To `dtype` and back to f64."""
    return values_of(tensor_of(dtype, values))


def same_type(tensor, array):
    return Tensor(tensor.dtype, np.array(array, order="C"))


# ----- faults that fit any tensor

def copies(run):
    return [Tensor(t.dtype, t.array.copy()) for t in run.outputs]


def flip(tensor, index=-1):
    """The lowest bit of one element: one step of a real, one of a whole number."""
    flat = tensor.array.reshape(-1)
    bits = flat.view({1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}[flat.itemsize])
    bits[index] ^= bits.dtype.type(1)


def one_step(rng, run):
    outputs = copies(run)
    flip(outputs[0], int(rng.integers(outputs[0].array.size)))
    return outputs


def exchanged(rng, run):
    outputs = copies(run)
    flat = outputs[0].array.reshape(-1)
    if flat.size > 1:
        i = int(rng.integers(flat.size - 1))
        flat[i], flat[i + 1] = flat[i + 1], flat[i]
    return outputs


def shifted(rng, run):
    outputs = copies(run)
    outputs[0].array[...] = np.roll(outputs[0].array.reshape(-1), 1).reshape(outputs[0].array.shape)
    return outputs


def tail_not_written(rng, run):
    outputs = copies(run)
    flat = outputs[0].array.reshape(-1)
    flat[-max(1, flat.size // 4):] = 0
    return outputs


def last_row_stale(rng, run):
    outputs = copies(run)
    array = outputs[0].array
    if array.ndim and len(array) > 1:
        array[-1] = array[-2]
    return outputs


def in_another_order(rng, run):
    outputs = copies(run)
    array = outputs[0].array
    outputs[0].array = np.ascontiguousarray(array.transpose()).reshape(array.shape)
    return outputs


MOVED = {"one step": one_step, "neighbours exchanged": exchanged, "shifted by one": shifted,
         "tail not written": tail_not_written, "last row stale": last_row_stale, "in another order": in_another_order}


def two_from(*names):
    return {name: MOVED[name] for name in names}


COMPUTED = two_from("neighbours exchanged", "shifted by one", "tail not written", "last row stale")
