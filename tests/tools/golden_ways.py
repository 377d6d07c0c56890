"""What cases of golden operators are made of: random tensors, fair ways to compute, ways to spoil an output.

Each honest output is computed in one of several ways that are all fair: NumPy in f64, NumPy in f32 one operation after
another, PyTorch on the CPU in f32 (its own order of sums) or, where the operator may round on the way, in the type of
the tensors; then it is rounded once to the type that the operator writes.
"""
from __future__ import annotations

import numpy as np
import torch

from golden_case import Run, Tensor, tensor_of, values_of

FLOATS = ("float16", "bfloat16", "float32")
WAYS = ("f64", "f32", "torch")


def pick(rng, choices):
    return choices[int(rng.integers(len(choices)))]


def shape_of(rng, least=1, most=3, extent=70):
    """Odd and even extents; the last one is at least 8, so that a fault has room."""
    dims = [int(n) for n in rng.integers(1, extent, int(rng.integers(least, most + 1)))]
    return tuple(dims[:-1] + [max(8, dims[-1])])


def noise(rng, shape, scale=1.0):
    """Mostly normal, some rows much larger or smaller."""
    x = rng.standard_normal(shape) * scale
    if len(shape) > 1 and rng.random() < 0.3:
        x = x * 10.0 ** rng.uniform(-2, 1, shape[:-1] + (1,))
    return x


def wide(way, *tensors):
    """The exact inputs, in the arithmetic of the way."""
    arrays = [values_of(t) for t in tensors]
    if way == "f64":
        return arrays
    if way == "f32":
        return [a.astype(np.float32) for a in arrays]
    return [torch.from_numpy(a.astype(np.float32)) for a in arrays]


def back(x):
    return x.numpy() if isinstance(x, torch.Tensor) else x


def lib(way):
    return torch if way == "torch" else np


def rounded(dtype, x):
    """x as `dtype` would hold it, in f64."""
    return values_of(tensor_of(dtype, back(x)))


# ----- faults that fit any output

def spoiled(k, change):
    """Spoils output k by its values; dtypes stay. Whole numbers are spoiled by three steps where all came out equal."""
    def fault(rng, run):
        outputs = list(run.outputs)
        dtype = outputs[k].dtype
        x = change(rng, values_of(outputs[k]).copy())
        if dtype.startswith("int"):
            limits = np.iinfo(dtype)
            x = np.clip(np.round(x), limits.min, limits.max)
            if np.array_equal(x, values_of(outputs[k])):
                x.reshape(-1)[0] += 3 if x.reshape(-1)[0] < 0 else -3
        outputs[k] = tensor_of(dtype, x)
        return outputs
    return fault


def stale_tile(rng, x):
    """The last sixteenth (at least one element) still holds what came before it."""
    flat = x.reshape(-1)
    n = max(1, flat.size // 16)
    before = flat[-n:].copy()
    flat[-n:] = np.roll(flat, n)[-n:]
    if np.array_equal(flat[-n:], before):
        flat[-1] += 1
    return x


def swap_neighbours(rng, x):
    flat = x.reshape(-1)
    differs = np.flatnonzero(flat[1:] != flat[:-1])
    if differs.size:
        i = int(pick(rng, differs))
        flat[i], flat[i + 1] = flat[i + 1], flat[i]
    else:
        flat[0] += 1
    return x


def flip_sign(rng, x):
    flat = x.reshape(-1)
    i = int(np.argmax(np.abs(np.where(np.isfinite(flat), flat, 0))))
    flat[i] = -flat[i] if flat[i] else 1
    return x


def zero_one(rng, x):
    """The largest element is lost."""
    flat = x.reshape(-1)
    flat[int(np.argmax(np.abs(np.where(np.isfinite(flat), flat, 0))))] = 0
    return x


def off_by_a_percent(rng, x):
    return x * 1.01


def off_by(steps):
    """For int8: one of the elements is off by so many."""
    def change(rng, x):
        flat = x.reshape(-1)
        i = int(rng.integers(flat.size))
        flat[i] += steps if flat[i] < 100 else -steps
        return x
    return change


def flip_truth(rng, x):
    flat = x.reshape(-1)
    i = int(rng.integers(flat.size))
    flat[i] = 0 if flat[i] else 1
    return x


def general(k=0):
    return {"stale last tile": spoiled(k, stale_tile), "neighbours exchanged": spoiled(k, swap_neighbours),
            "sign of the largest": spoiled(k, flip_sign), "largest element lost": spoiled(k, zero_one)}


def of_numbers(k=0):
    return general(k) | {"scaled by 1.01": spoiled(k, off_by_a_percent)}


def of_int8(k=0, steps=2):
    return {"stale last tile": spoiled(k, stale_tile_int8), f"one element off by {steps}": spoiled(k, off_by(steps)),
            "sign of the largest": spoiled(k, flip_sign), "largest element lost": spoiled(k, zero_one),
            "all a step down": spoiled(k, lambda rng, x: np.maximum(x - 1, -128))}


def stale_tile_int8(rng, x):
    flat = x.reshape(-1)
    n = max(1, flat.size // 16)
    before = flat[-n:].copy()
    flat[-n:] = np.roll(flat, n)[-n:]
    if np.all(np.abs(flat[-n:] - before) <= 1):
        flat[-1] = flat[-1] - 3 if flat[-1] > 0 else flat[-1] + 3
    return x


def of_truths():
    return {f"one truth wrong, {n}": spoiled(0, flip_truth) for n in range(4)} | {
        "all of them": spoiled(0, lambda rng, x: 1 - x)}


def again(change):
    """The same computation with something wrong in it: `change(params, inputs)` gives what it saw instead."""
    def fault(rng, run):
        return run.redo(*change(rng, run.params, [Tensor(t.dtype, t.array.copy()) for t in run.inputs]))
    return fault


class Redoable(Run):
    """A run that can be computed again from other inputs: for faults inside the computation."""
    redo = None


def make_run(params, inputs, compute, way):
    """`compute(params, inputs, way)` gives the outputs."""
    run = Redoable(params, inputs, compute(params, inputs, way))
    run.redo = lambda p, i: compute(p, i, way)
    return run


# ----- int8

def clipped(x, way="f64"):
    """One of the ways goes through f16, as processors do that have none from f32 to int8."""
    if way == "torch":
        x = np.clip(x, -1000, 1000).astype(np.float16).astype(np.float64)
    return np.clip(np.round(x), -128, 127)


def rows_as_int8(x, asymmetric, way="f64"):
    """Each row of the last axis with a scale of its own, in f32 (f64 where x is)."""
    one = x.dtype.type
    if not asymmetric:
        largest = np.abs(x).max(-1, keepdims=True)
        return [Tensor("int8", clipped(x * one(127) / largest, way).astype(np.int8)),
                tensor_of("float32", (largest / one(127))[..., 0])]
    high, low = x.max(-1, keepdims=True), x.min(-1, keepdims=True)
    scale = (high - low) / one(255)
    offset = -(high + low) / (2 * scale)
    return [Tensor("int8", clipped(x / scale + offset, way).astype(np.int8)), tensor_of("float32", scale[..., 0]),
            tensor_of("float32", offset[..., 0])]
