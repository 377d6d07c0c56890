"""What honest arithmetic may make of a norm that is written as int8: an interval of each element, for each way of rounding.

Worked out in f64 with NumPy, apart from the program: the exact number, what f32 may be off by before it is rounded, and then
the steps that kernels round at, from both ends. All of these steps rise with what they are given.
"""
from __future__ import annotations

import itertools

import numpy as np

from golden_case import Run, Tensor, values_of
from golden_ways import rounded

U = 2.0**-24
# No more than one of 10^7 honest runs is further off. A sum of n squares, one after the other in f32, is off by U √n / 3 of
# itself as a standard deviation.
DEVIATIONS = 5.2
LAYER_KEYS = {1: "normParam", 2: "preNormParam", 3: "postNormParam"}


def ends(low, high, step=lambda x: x, error=0.0):
    """After a step that is off by `error` of its result, unless f32 holds that."""
    low, high = step(low), step(high)
    low, high = np.minimum(low, high), np.maximum(low, high)
    of_low, of_high = (np.where(x.astype(np.float32) == x, 0, error * np.abs(x)) for x in (low, high))
    return low - of_low, high + of_high


def rounds(dtype, does, low, high):
    return ends(low, high, lambda x: rounded(dtype, x)) if does else (low, high)


def whole(through_f16, low, high):
    low, high = rounds("float16", through_f16, *(np.clip(x, -1000, 1000) for x in (low, high)))
    return tuple(np.clip(np.round(x), -128, 127) for x in (low, high))


def added_inputs(dtype, values):
    """The sum of the first inputs: as it is, or as it is written."""
    total = sum(values)
    return [total] if len(values) == 1 else [total, rounded(dtype, total)]


def of_mean_square(n):
    """How far √ of a mean of squares may be off, of itself: half of the sum's error, and 4 roundings."""
    return U * (DEVIATIONS * np.sqrt(n) / 6 + 4)


def rms_ways(params, own, inputs):
    """Pairs of lowest and highest whole numbers."""
    dtype, kind = inputs[0].dtype, params["layerType"]
    values = [values_of(t) for t in inputs]
    added = 1 if kind == 1 else 2
    gamma, *rest = (each.reshape(-1) for each in values[added:])
    beta = rest.pop(0) if kind != 3 else np.zeros(1)
    scale, offset = rest
    for x in added_inputs(dtype, values[:added]):
        y = x * gamma / np.sqrt((x * x).mean(-1, keepdims=True) + own["epsilon"])
        error = np.abs(y) * (of_mean_square(x.shape[-1]) + 2 * U)
        low, high = ends(y + beta - error, y + beta + error, error=U)
        low, high = ends(low, high, lambda q: q / scale, U)
        low, high = ends(low, high, lambda q: q + offset, U)
        for through_f16 in (False, True):
            yield whole(through_f16, low, high)


def layer_ways(params, own, inputs):
    dtype = inputs[0].dtype
    values = [values_of(t) for t in inputs]
    added = 1 if params["layerType"] == 1 else 2
    gamma, beta, scale, offset = (each.reshape(-1) for each in values[added:])
    for x in added_inputs(dtype, values[:added]):
        n, mean = x.shape[-1], x.mean(-1, keepdims=True)
        centred = x - mean
        r = 1 / np.sqrt((centred * centred).mean(-1, keepdims=True) + own["epsilon"])
        size = np.sqrt((x * x).mean(-1, keepdims=True))
        of_mean = U * DEVIATIONS * (np.sqrt(n) / 3 * np.abs(mean) + size)
        y = centred * r * gamma
        error = np.abs(gamma * r) * of_mean + np.abs(y) * (of_mean_square(n) + 3 * U)
        exact = ends(y + beta - error, y + beta + error, error=U)
        for of_norm, of_product, of_sum, through_f16 in itertools.product((False, True), repeat=4):
            low, high = rounds(dtype, of_norm, *exact)
            low, high = rounds(dtype, of_product, *ends(low, high, lambda q: q * scale, U))
            low, high = rounds(dtype, of_sum, *ends(low, high, lambda q: q + offset, U))
            yield whole(through_f16, low, high)


def within_rounding(ways):
    """For a case: whether one of `ways` gives the whole numbers of every element, and no other output was touched."""
    def is_within_rounding(run: Run, outputs: list[Tensor]) -> bool:
        own = run.params[LAYER_KEYS[run.params["layerType"]]]
        for spoilt, honest in zip(outputs, run.outputs):
            if honest.dtype != "int8":
                if spoilt.array.tobytes() != honest.array.tobytes():
                    return False
                continue
            found = values_of(spoilt)
            if not any(np.all((low <= found) & (found <= high)) for low, high in ways(run.params, own, run.inputs)):
                return False
        return True
    return is_within_rounding
