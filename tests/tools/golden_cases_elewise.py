"""Honest runs and planted faults of ElewiseOperation."""
from __future__ import annotations

import numpy as np
import torch

from golden_case import Case, Tensor, tensor_of, values_of
from golden_ways import (FLOATS, WAYS, again, back, clipped, lib, make_run, noise, of_int8, of_numbers, of_truths,
                         off_by_a_percent, pick, rounded, rows_as_int8, shape_of, spoiled, wide)

CODES = {0: "float32", 1: "float16", 3: "int32", 9: "int64", 27: "bfloat16"}
WHOLE = ("int8", "int32", "int64")


def whole(rng, dtype, shape, most=100):
    return Tensor(dtype, rng.integers(-most, most + 1, shape).astype(dtype))


def broadcast_pair(rng):
    """Two shapes that torch would broadcast, and mostly equal ones."""
    shape = shape_of(rng, 1, 3, 40)
    if rng.random() < 0.5:
        return shape, shape
    other = tuple(1 if rng.random() < 0.4 else n for n in shape)
    return shape, other[int(rng.integers(0, len(shape))):]


# ----- one tensor

def function_outputs(params, inputs, way):
    x, = wide(way, *inputs)
    m, kind = lib(way), params["elewiseType"]
    if kind == 2:
        factor = params["mulsParam"]["varAttr"]
        if way == "torch":  # in the type of the tensor, as a kernel of that type does
            dtype = getattr(torch, inputs[0].dtype)
            y = (x.to(dtype) * torch.tensor(factor, dtype=dtype)).float()
        else:
            y = x * x.dtype.type(factor)
    else:
        y = {3: m.cos, 4: m.sin, 5: lambda v: -v, 20: m.tanh}[kind](x)
    return [tensor_of(inputs[0].dtype, back(y))]


def function_case(kind, name, faults=None):
    def make(rng):
        params = {"elewiseType": kind}
        if kind == 2:
            params["mulsParam"] = {"varAttr": float(np.float32(rng.uniform(-3, 3)))}
        x = tensor_of(pick(rng, FLOATS), noise(rng, shape_of(rng), 2))
        return make_run(params, [x], function_outputs, pick(rng, WAYS))
    return Case("ElewiseOperation", name, make, of_numbers() | (faults or {}))


def cast_outputs(params, inputs, way):
    dtype = CODES[params["outTensorType"]]
    if dtype.startswith("int"):
        x = inputs[0].array if inputs[0].dtype in WHOLE else np.trunc(values_of(inputs[0]))
        return [Tensor(dtype, x.astype(dtype))]
    return [tensor_of(dtype, values_of(inputs[0]))]


def make_cast(rng):
    code = pick(rng, list(CODES))
    dtype = pick(rng, [d for d in FLOATS + ("int32", "int64") if d != CODES[code]])
    shape = shape_of(rng)
    x = whole(rng, dtype, shape, 2**15 if code == 1 else 2**20) if dtype in WHOLE else tensor_of(dtype, noise(rng, shape, 30))
    return make_run({"elewiseType": 1, "outTensorType": code}, [x], cast_outputs, "f64")


def not_outputs(params, inputs, way):
    return [Tensor("int8", (values_of(inputs[0]) == 0).astype(np.int8))]


def make_not(rng):
    dtype = pick(rng, ("int8", "float16"))
    return make_run({"elewiseType": 7}, [whole(rng, dtype, shape_of(rng), 2)], not_outputs, "f64")


# ----- two tensors

def arithmetic_outputs(params, inputs, way):
    kind = params["elewiseType"]
    with np.errstate(all="ignore"):
        if inputs[0].dtype in WHOLE:
            a, b = inputs[0].array, inputs[1].array
            return [Tensor(inputs[0].dtype, {8: a + b, 9: a * b, 15: a - b}[kind])]
        a, b = wide(way, *inputs)
        if way == "torch":
            dtype = getattr(torch, inputs[0].dtype)
            a, b = a.to(dtype), b.to(dtype)
        y = a + b if kind == 8 else a * b if kind == 9 else a / b if kind == 10 else a - b
        return [tensor_of(inputs[0].dtype, back(y.float() if way == "torch" else y))]


def arithmetic_case(kind, name):
    def make(rng):
        dtype = pick(rng, FLOATS + (() if kind == 10 else WHOLE))
        shapes = broadcast_pair(rng)
        inputs = [whole(rng, dtype, s) if dtype in WHOLE else tensor_of(dtype, noise(rng, s)) for s in shapes]
        return make_run({"elewiseType": kind}, inputs, arithmetic_outputs, pick(rng, WAYS))
    other = {8: 15, 15: 8, 9: 10, 10: 9}[kind]
    faults = of_numbers()
    if kind in (8, 15):
        faults["sum instead of difference"] = again(lambda rng, p, i: (p | {"elewiseType": other}, nonzero(i)))
    else:
        faults["operand shifted by one"] = again(
            lambda rng, p, i: (p, [Tensor(i[0].dtype, np.roll(i[0].array, 1)), i[1]]))
    return Case("ElewiseOperation", name, make, faults)


def nonzero(inputs):
    """The second tensor must not be all zeros: a sum and a difference would be equal."""
    b = inputs[1]
    return inputs if np.any(values_of(b) != 0) else [inputs[0], Tensor(b.dtype, b.array + b.array.dtype.type(1))]


def truth_outputs(params, inputs, way):
    a, b = values_of(inputs[0]), values_of(inputs[1])
    y = {11: lambda: (a != 0) & (b != 0), 12: lambda: (a != 0) | (b != 0), 13: lambda: a < b, 14: lambda: a > b,
         16: lambda: a == b}[params["elewiseType"]]()
    return [Tensor("int8", y.astype(np.int8))]


def truth_case(kind, name):
    def make(rng):
        dtype = pick(rng, ("int8",) if kind in (11, 12) else ("float16", "int64", "float32", "bfloat16"))
        inputs = [whole(rng, dtype, s, 3) if dtype in WHOLE else tensor_of(dtype, rng.integers(-3, 4, s) / 2.0)
                  for s in broadcast_pair(rng)]
        return make_run({"elewiseType": kind}, inputs, truth_outputs, "f64")
    return Case("ElewiseOperation", name, make, of_truths())


# ----- to int8 and back

def quant_outputs(params, inputs, way):
    q = params["quantParam"]
    if way == "torch":  # each step in the type of the tensor
        dtype = inputs[0].dtype
        x = rounded(dtype, values_of(inputs[0]) * rounded(dtype, np.array(q["inputScale"])))
        return [Tensor("int8", clipped(rounded(dtype, x + q["inputOffset"])).astype(np.int8))]
    x, = wide(way, *inputs)
    one = x.dtype.type
    return [Tensor("int8", clipped(x * one(q["inputScale"]) + one(q["inputOffset"])).astype(np.int8))]


def make_quant(rng):
    x = tensor_of("float16", noise(rng, shape_of(rng), 4))
    params = {"elewiseType": 6, "quantParam": {"inputScale": float(np.float32(rng.uniform(0.5, 12))),
                                               "inputOffset": int(rng.integers(-20, 20)), "asymmetric": False}}
    return make_run(params, [x], quant_outputs, pick(rng, WAYS))


def channel_inputs(rng, dtype, shape):
    offset = Tensor("int8", rng.integers(-20, 20, shape[-1]).astype(np.int8)) if rng.random() < 0.7 else Tensor(
        "int8", np.zeros(0, np.int8))
    return [tensor_of(dtype, rng.uniform(0.05, 0.5, shape[-1])), offset]


def offset_of(tensor):
    return values_of(tensor) if tensor.array.size else np.zeros(1)


def quant_channel_outputs(params, inputs, way):
    dtype = inputs[0].dtype
    x, scale = wide("f32" if way == "torch" else way, inputs[0], inputs[1])
    offset = offset_of(inputs[2]).astype(x.dtype)
    if way == "torch":  # each step in the type of the tensor, the offset after the rounding
        return [Tensor("int8", clipped(np.round(rounded(dtype, x / scale)) + offset).astype(np.int8))]
    return [Tensor("int8", clipped(x / scale + offset).astype(np.int8))]


def make_quant_channel(rng):
    dtype, shape = pick(rng, ("float16", "bfloat16")), shape_of(rng, 2, 3, 40)
    inputs = [tensor_of(dtype, noise(rng, shape, 3))] + channel_inputs(rng, dtype, shape)
    return make_run({"elewiseType": 17}, inputs, quant_channel_outputs, pick(rng, WAYS))


def dequant_channel_outputs(params, inputs, way):
    y, scale = wide("f32" if way == "torch" else way, inputs[0], inputs[1])
    return [tensor_of("float16", np.clip((y - offset_of(inputs[2]).astype(y.dtype)) * scale, -65504, 65504))]


def make_dequant_channel(rng):
    shape = shape_of(rng, 2, 3, 40)
    inputs = [whole(rng, "int8", shape, 127)] + channel_inputs(rng, "float16", shape)
    return make_run({"elewiseType": 18}, inputs, dequant_channel_outputs, pick(rng, WAYS))


def dynamic_outputs(params, inputs, way):
    x, = wide("f32" if way == "torch" else way, *inputs)
    if way == "torch" and not params["quantParam"]["asymmetric"]:  # through the scale, as other kernels do
        largest = np.abs(x).max(-1, keepdims=True)
        scale = largest * np.float32(1 / 127)
        return [Tensor("int8", clipped(x / scale).astype(np.int8)), tensor_of("float32", scale[..., 0])]
    return rows_as_int8(x, params["quantParam"]["asymmetric"])


def dynamic_case(asymmetric, name):
    def make(rng):
        x = tensor_of(pick(rng, ("float16", "bfloat16")), noise(rng, shape_of(rng, 2, 3, 40)))
        params = {"elewiseType": 19, "quantParam": {"asymmetric": asymmetric, "inputScale": 1.0, "inputOffset": 0}}
        return make_run(params, [x], dynamic_outputs, pick(rng, WAYS))
    faults = of_int8() | {"scale by 128 instead of 127": spoiled(1, lambda rng, x: x * 127 / 128),
                          "scale of one row": spoiled(1, one_row_off)}
    if asymmetric:
        faults["offset with the wrong sign"] = spoiled(2, lambda rng, x: np.where(np.abs(x) > 0.1, -x, x + 1))
    return Case("ElewiseOperation", name, make, faults)


def one_row_off(rng, x):
    x.reshape(-1)[int(rng.integers(x.size))] *= 1.01
    return x


WRONG_CHANNEL = {"scales shifted by a channel": again(
    lambda rng, p, i: (p, [i[0], Tensor(i[1].dtype, np.roll(i[1].array, 1)), i[2]]))}

CASES = [
    Case("ElewiseOperation", "cast", make_cast, of_numbers()),
    function_case(5, "neg"),
    Case("ElewiseOperation", "not", make_not, of_truths()),
    truth_case(11, "and"),
    truth_case(12, "or"),
    truth_case(13, "less"),
    truth_case(14, "greater"),
    truth_case(16, "equal"),
    function_case(2, "muls", {"factor off": again(lambda rng, p, i: (
        p | {"mulsParam": {"varAttr": p["mulsParam"]["varAttr"] * 1.02}}, i))}),
    function_case(3, "cos", {"sin instead": again(lambda rng, p, i: (p | {"elewiseType": 4}, i))}),
    function_case(4, "sin", {"cos instead": again(lambda rng, p, i: (p | {"elewiseType": 3}, i))}),
    function_case(20, "tanh"),
    arithmetic_case(8, "add"),
    arithmetic_case(9, "mul"),
    arithmetic_case(10, "div"),
    arithmetic_case(15, "sub"),
    Case("ElewiseOperation", "quant", make_quant, of_int8()),
    Case("ElewiseOperation", "quant by channel", make_quant_channel, of_int8() | WRONG_CHANNEL),
    Case("ElewiseOperation", "dequant by channel", make_dequant_channel, of_numbers() | WRONG_CHANNEL),
    dynamic_case(False, "dynamic quant"),
    dynamic_case(True, "dynamic quant with offset"),
]
