"""Honest runs and planted faults of activations and softmaxes."""
from __future__ import annotations

import math

import numpy as np
import torch

from golden_case import Case, Tensor, tensor_of, values_of
from golden_ways import (FLOATS, WAYS, again, back, lib, make_run, noise, of_int8, of_numbers, off_by_a_percent, pick,
                         rows_as_int8, shape_of, spoiled, wide)

# ----- activations

def sigmoid(m, x):
    if m is torch:
        return torch.sigmoid(x)
    with np.errstate(over="ignore"):
        return 1 / (1 + np.exp(-x))


def gelu_tanh(m, x):
    if m is torch:
        return torch.nn.functional.gelu(x, approximate="tanh")
    return type(x.flat[0])(0.5) * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3)))


def gelu_erf(m, x):
    if m is torch:
        return torch.nn.functional.gelu(x)
    if x.dtype == np.float64:
        return 0.5 * x * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))
    erf = torch.erf(torch.from_numpy(np.ascontiguousarray(x / np.float32(math.sqrt(2))))).numpy()
    return np.float32(0.5) * x * (1 + erf)


def fast_gelu(m, x):
    return x * m.exp(0.851 * (x - abs(x))) / (1 + m.exp(-1.702 * abs(x)))


def faster_gelu(m, x):
    return x * sigmoid(m, 1.702 * abs(x)) * m.exp(0.851 * (x - abs(x)))


def silu(m, x, scale=1.0):
    if m is torch and scale == 1.0:
        return torch.nn.functional.silu(x)
    return x / (1 + m.exp(-scale * x))


def halves(x, axis):
    n = x.shape[axis] // 2
    first = [slice(None)] * x.ndim
    second = list(first)
    first[axis], second[axis] = slice(0, n), slice(n, 2 * n)
    return x[tuple(first)], x[tuple(second)]


def activation_outputs(params, inputs, way):
    m, kind = lib(way), params["activationType"]
    dtype = inputs[-1].dtype
    with np.errstate(all="ignore"):
        if kind == 7:
            dy, x = wide(way, *inputs)
            a, b = halves(x, params["dim"])
            s = sigmoid(m, a)
            y = (torch.cat if m is torch else np.concatenate)(
                [b * dy * (s + a * (1 - s) * s), dy * a * s], params["dim"])
        else:
            x, = wide(way, *inputs)
            if kind == 6:
                a, b = halves(x, params["dim"])
                y = silu(m, a) * b
            else:
                y = {1: lambda: np.maximum(back(x), 0),
                     2: lambda: (gelu_erf if params.get("geluMode") else gelu_tanh)(m, x),
                     3: lambda: fast_gelu(m, x), 4: lambda: silu(m, x, params["scale"]), 5: lambda: m.log(x),
                     8: lambda: sigmoid(m, x), 9: lambda: faster_gelu(m, x)}[kind]()
    return [tensor_of(dtype, back(y))]


def activation_case(kind, name, more=None, scale=3.0):
    def make(rng):
        dtype, way = pick(rng, FLOATS), pick(rng, WAYS)
        shape = list(shape_of(rng))
        params = {"activationType": kind, "scale": 1.0, "dim": -1} | (more or {})
        if kind == 4:
            params["scale"] = pick(rng, (1.0, 1.702, 0.5))
        inputs = []
        if kind in (6, 7):
            params["dim"] = axis = int(rng.integers(-len(shape), len(shape)))
            shape[axis] += shape[axis] % 2
            if kind == 7:
                half = list(shape)
                half[axis] //= 2
                inputs.append(tensor_of(dtype, noise(rng, tuple(half))))
        x = noise(rng, tuple(shape), scale)
        if kind == 5:
            x = np.abs(x) + 1e-3
        inputs.append(tensor_of(dtype, x))
        return make_run(params, inputs, activation_outputs, way)

    faults = of_numbers()
    wrong = {2: ("the other gelu", lambda p: p | {"geluMode": 1 - p.get("geluMode", 0)}),
             3: ("swish instead", lambda p: p | {"activationType": 4, "scale": 1.4}),
             4: ("scale forgotten", lambda p: p | {"scale": p["scale"] * 1.1}),
             9: ("swish instead", lambda p: p | {"activationType": 4, "scale": 1.4})}.get(kind)
    if wrong:
        faults = faults | {wrong[0]: again(lambda rng, p, i: (wrong[1](p), i))}
    if kind == 6:
        faults = faults | {"halves exchanged": again(lambda rng, p, i: (p, [exchanged(i[0], p["dim"])]))}
    if kind == 7:
        faults = faults | {"halves exchanged": again(lambda rng, p, i: (p, [i[0], exchanged(i[1], p["dim"])]))}
    return Case("ActivationOperation", name, make, faults)


def exchanged(tensor, axis):
    a, b = halves(tensor.array, axis)
    if np.array_equal(a, b):
        b = b + 1
    return Tensor(tensor.dtype, np.concatenate([b, a], axis))


# ----- softmax

def softmax_of(way, x, axes):
    if way == "torch":
        if len(axes) == 1:
            return torch.softmax(x, axes[0])
        first = axes[0] % x.ndim
        flat = x.flatten(first, axes[-1] % x.ndim)
        return torch.softmax(flat, first).reshape(x.shape)
    e = np.exp(x - x.max(axis=tuple(axes), keepdims=True))
    return e / e.sum(axis=tuple(axes), keepdims=True)


def softmax_outputs(params, inputs, way):
    x, = wide(way, *inputs)
    return [tensor_of(inputs[0].dtype, back(softmax_of(way, x, params["axes"])))]


def make_softmax(rng):
    shape = shape_of(rng, 1, 4, 20 if rng.random() < 0.7 else 60)
    first = int(rng.integers(len(shape)))
    axes = list(range(first, int(rng.integers(first, len(shape))) + 1))
    if rng.random() < 0.3:
        axes = [-1]
    shape = tuple(max(2, n) for n in shape)
    x = tensor_of(pick(rng, FLOATS), noise(rng, shape, pick(rng, (1.0, 5.0))))
    return make_run({"axes": axes}, [x], softmax_outputs, pick(rng, WAYS))


def squares(params):
    for n in params["qSeqLen"]:
        yield from [n] * params["headNum"]


def fast_softmax_outputs(params, inputs, way):
    x, = wide(way, *inputs)
    parts, at = [], 0
    for n in squares(params):
        parts.append(back(softmax_of(way, x[at:at + n * n].reshape(n, n), [-1])).reshape(-1))
        at += n * n
    return [tensor_of(inputs[0].dtype, np.concatenate(parts))]


def fast_softmax_grad_outputs(params, inputs, way):
    y, dy = wide(way, *inputs)
    parts, at = [], 0
    for n in squares(params):
        p, d = y[at:at + n * n].reshape(n, n), dy[at:at + n * n].reshape(n, n)
        parts.append(back(p * (d - (p * d).sum(-1)[:, None])).reshape(-1))
        at += n * n
    return [tensor_of(inputs[0].dtype, np.concatenate(parts))]


def squares_params(rng):
    return {"headNum": int(rng.integers(1, 4)), "qSeqLen": [int(n) for n in rng.integers(2, 30, int(rng.integers(1, 4)))]}


def make_fast_softmax(rng):
    params = squares_params(rng)
    count = sum(n * n for n in squares(params))
    x = tensor_of(pick(rng, ("float16", "bfloat16")), rng.standard_normal(count) * 3)
    return make_run(params, [x], fast_softmax_outputs, pick(rng, WAYS))


def make_fast_softmax_grad(rng):
    params = squares_params(rng)
    dtype = pick(rng, ("float16", "bfloat16"))
    count = sum(n * n for n in squares(params))
    y = fast_softmax_outputs(params, [tensor_of(dtype, rng.standard_normal(count) * 2)], "f64")[0]
    return make_run(params, [y, tensor_of(dtype, rng.standard_normal(count))], fast_softmax_grad_outputs,
                    pick(rng, WAYS))


def masked(choose):
    def change(rng, params, inputs):
        x = values_of(inputs[0])
        x.reshape(-1)[choose(rng, x)] = x.min() - 3
        return params, [tensor_of(inputs[0].dtype, x)]
    return again(change)


MASKED = {"largest element masked": masked(lambda rng, x: int(np.argmax(x))),
          "one element masked": masked(lambda rng, x: int(rng.integers(x.size)))}


# ----- swiglu, then int8

def swiglu_quant_outputs(params, inputs, way):
    x, = wide(way, *inputs)
    a, b = halves(x, -1)
    with np.errstate(all="ignore"):
        return rows_as_int8(back(silu(lib(way), a) * b), False)


def make_swiglu_quant(rng):
    shape = shape_of(rng, 2, 2)
    x = tensor_of(pick(rng, ("float16", "bfloat16")), noise(rng, shape[:-1] + (2 * shape[-1],)))
    return make_run({"quantType": 0}, [x], swiglu_quant_outputs, pick(rng, WAYS))


CASES = [activation_case(1, "relu")] + [
    activation_case(2, "gelu by tanh"),
    activation_case(2, "gelu by erf", {"geluMode": 1}),
    activation_case(3, "fast gelu"),
    activation_case(4, "swish"),
    activation_case(5, "log"),
    activation_case(6, "swiglu"),
    activation_case(7, "swiglu backward"),
    activation_case(8, "sigmoid"),
    activation_case(9, "faster gelu"),
    Case("SoftmaxOperation", "softmax", make_softmax, of_numbers() | MASKED),
    Case("FastSoftMaxOperation", "fast softmax", make_fast_softmax, of_numbers() | MASKED),
    Case("FastSoftMaxGradOperation", "fast softmax gradient", make_fast_softmax_grad,
         of_numbers() | {"sum left out": lambda rng, run: [tensor_of(
             run.inputs[0].dtype, values_of(run.inputs[0]) * values_of(run.inputs[1]))]}),
    Case("SwigluQuantOperation", "swiglu to int8", make_swiglu_quant, of_int8() | {"scale off": spoiled(
        1, off_by_a_percent)}),
]
