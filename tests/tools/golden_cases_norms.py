"""Honest runs and planted faults of norms and rotary positions."""
from __future__ import annotations

import numpy as np
import torch

from golden_case import Case, Tensor, tensor_of, values_of
from golden_int8_norms import layer_ways, rms_ways, within_rounding
from golden_ways import (FLOATS, WAYS, again, back, clipped, make_run, noise, of_int8, of_numbers, pick,
                         rounded, rows_as_int8, shape_of, spoiled, wide)

SHORT = ("float16", "bfloat16")
EPSILON = 1e-5


def arithmetic(way):
    return "f32" if way == "torch" else way


def sequential_mean(x):
    """The mean over the last axis, added up one after the other in the type of x."""
    return (np.cumsum(x, -1)[..., -1:] / x.dtype.type(x.shape[-1])).astype(x.dtype)


def mean_of(way, x):
    return sequential_mean(x) if way == "torch" else x.mean(-1, keepdims=True)


def sum_of(inputs, way, zoom=1.0):
    """In wide arithmetic, or with each step rounded to the type of the tensors."""
    dtype = inputs[0].dtype
    first, *others = wide(arithmetic(way), *inputs)
    one = first.dtype.type
    for x in others:
        term = x * one(zoom)
        if way == "torch":
            first = rounded(dtype, first + rounded(dtype, term)).astype(first.dtype)
        else:
            first = first + term
    return first


# ----- rms norm

def rms(way, x, gamma, own):
    one, epsilon = x.dtype.type, own["epsilon"]
    summed = np.where(np.arange(x.shape[-1]) < x.shape[-1] - own.get("not summed", 0), x, one(0))  # a fault
    if way == "f32":
        return x * gamma / np.sqrt((summed / one(x.shape[-1]) * summed).sum(-1, keepdims=True) + one(epsilon))
    return x * (1 / np.sqrt(mean_of(way, summed * summed) + one(epsilon))) * gamma


def rms_inputs(params):
    """How many tensors are added, and the parameters of this layer type."""
    kind = params["layerType"]
    own = params[{1: "normParam", 2: "preNormParam", 3: "postNormParam"}[kind]]
    return (1 if kind == 1 else 3 if own.get("hasBias") else 2), own


def rms_outputs(params, inputs, way):
    added, own = rms_inputs(params)
    dtype = inputs[0].dtype
    x = sum_of(inputs[:added], way)
    gamma = values_of(inputs[added]).astype(x.dtype).reshape(-1)
    if own.get("modelType"):
        gamma = gamma + 1
    if own.get("precisionMode"):
        y = rounded(dtype, rms(way, x, np.ones_like(gamma), own)) * gamma
        return [tensor_of(dtype, y)]
    y = rms(way, x, gamma, own)
    if own.get("rstd"):
        r = 1 / np.sqrt((x * x).mean(-1, keepdims=True) + x.dtype.type(own["epsilon"]))
        return [tensor_of(dtype, y), tensor_of("float32", r)]
    outputs = []
    if own["quantType"] == 0:
        outputs.append(tensor_of(dtype, y))
    elif own.get("dynamicQuantType"):
        beta = values_of(inputs[added + 1]).astype(x.dtype).reshape(-1)
        return rows_as_int8(y + beta, own["dynamicQuantType"] == 2, way)
    else:
        rest = [values_of(t).astype(x.dtype).reshape(-1) for t in inputs[added + 1:]]
        beta = rest.pop(0) if params["layerType"] != 3 else 0
        outputs.append(Tensor("int8", clipped((y + beta) / rest[0] + rest[1], way).astype(np.int8)))
    if params["layerType"] == 3 and own["quantType"] == 2:
        outputs.append(tensor_of(dtype, y))
    if params["layerType"] == 2:
        outputs.append(tensor_of(dtype, x))
    return outputs


def quant_tensors(rng, dtype):
    return [tensor_of(dtype, np.array([rng.uniform(0.02, 0.1)])),
            Tensor("int8", rng.integers(-20, 20, 1).astype(np.int8))]


def norm_shape(rng):
    shape = list(shape_of(rng, 2, 3, 30))
    shape[-1] = int(rng.integers(8, 600))
    return tuple(shape)


def rms_case(kind, name, own, dtypes=FLOATS, size=1.0):
    key = {1: "normParam", 2: "preNormParam", 3: "postNormParam"}[kind]

    def make(rng):
        dtype, shape = pick(rng, dtypes), norm_shape(rng)
        params = {"layerType": kind, key: {"quantType": 0, "epsilon": EPSILON} | own}
        added, _ = rms_inputs(params)
        inputs = [tensor_of(dtype, size * noise(rng, shape)) for _ in range(min(added, 2))]
        if added == 3:
            inputs.append(tensor_of(dtype, rng.standard_normal(shape[-1:])))
        inputs.append(tensor_of(dtype, rng.uniform(0.5, 1.5, shape[-1:])))
        if own.get("dynamicQuantType"):
            inputs.append(tensor_of(dtype, rng.standard_normal(shape[-1:])))
        elif own.get("quantType"):
            inputs += [tensor_of(dtype, rng.standard_normal(shape[-1:]))] if kind != 3 else []
            inputs += quant_tensors(rng, dtype)
        return make_run(params, inputs, rms_outputs, pick(rng, WAYS))

    quantized = bool(own.get("quantType"))
    faults = (of_int8() if quantized else of_numbers()) | {
        "a tile not summed": not_summed(16), "last column not summed": not_summed(0),
        "weights shifted by one": again(lambda rng, p, i: (p, shifted(p, i)))}
    if kind != 1:
        faults["residual left out"] = again(lambda rng, p, i: (p, [i[0], zeros_like(i[1])] + i[2:]))
    faults["epsilon ten times"] = again(ten_epsilon)
    is_static = quantized and not own.get("dynamicQuantType")
    return Case("RmsNormOperation", name, make, faults, within_rounding(rms_ways) if is_static else None)


def zeros_like(tensor):
    return Tensor(tensor.dtype, np.zeros_like(tensor.array))


def shifted(params, inputs):
    added = rms_inputs(params)[0]
    gamma = inputs[added]
    return inputs[:added] + [Tensor(gamma.dtype, np.roll(gamma.array, 1, -1))] + inputs[added + 1:]


def changed(params, change):
    """The parameters of the layer type with something changed in them."""
    return {k: v | change(v) if isinstance(v, dict) else v for k, v in params.items()}


def not_summed(share):
    """The last part of each row (0: its last column) is not in its mean: all come out too large."""
    def change(rng, params, inputs):
        width = inputs[0].array.shape[-1]
        return changed(params, lambda own: {"not summed": max(1, width // share) if share else 1}), inputs
    return again(change)


def ten_epsilon(rng, params, inputs):
    return changed(params, lambda own: {"epsilon": 10 * own["epsilon"]}), inputs


# ----- layer norm

def layer(way, x, gamma, beta, epsilon):
    if way == "torch":
        return torch.nn.functional.layer_norm(torch.from_numpy(x), (x.shape[-1],), torch.from_numpy(gamma.copy()),
                                              torch.from_numpy(beta.copy()), epsilon).numpy()
    one = x.dtype.type
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred * centred).mean(-1, keepdims=True) + one(epsilon)) * gamma + beta


def layer_outputs(params, inputs, way):
    kind = params["layerType"]
    own = params[{1: "normParam", 2: "preNormParam", 3: "postNormParam"}[kind]]
    dtype, first = inputs[0].dtype, 1 if kind == 1 else 2
    quantized = own["quantType"] == 2
    x = sum_of(inputs[:first], way, 1.0 if quantized else own.get("zoomScaleValue", 1.0))
    gamma, beta = (values_of(t).astype(x.dtype).reshape(-1) for t in inputs[first:first + 2])
    y = layer(way, x.reshape(-1, gamma.size), gamma, beta, own["epsilon"]).reshape(x.shape)
    if own.get("dynamicQuantType"):
        return rows_as_int8(rounded(dtype, y).astype(x.dtype), own["dynamicQuantType"] == 2, way)
    outputs = []
    if not quantized:
        outputs.append(tensor_of(dtype, y))
    else:
        scale, offset = (values_of(t) for t in inputs[first + 2:])
        if way == "f32":
            q = y * scale + offset
        else:
            q = rounded(dtype, rounded(dtype, rounded(dtype, y) * scale) + offset)
        outputs += [tensor_of(dtype, y)] if kind == 3 else []
        outputs.append(Tensor("int8", clipped(q, way).astype(np.int8)))
    if kind == 2:
        outputs.append(tensor_of(dtype, x))
    return outputs


def layer_case(kind, name, own, dtypes=FLOATS, size=1.0):
    key = {1: "normParam", 2: "preNormParam", 3: "postNormParam"}[kind]
    quantized = own.get("quantType") == 2

    def make(rng):
        dtype, shape = pick(rng, dtypes), norm_shape(rng)
        params = {"layerType": kind, key: {"quantType": 0, "epsilon": EPSILON} | own}
        width = shape[-1:]
        if kind == 1 and not quantized:
            axis = pick(rng, (-1, len(shape) - 1, 1 if len(shape) == 3 else -1))
            params[key] |= {"beginNormAxis": axis, "beginParamsAxis": 0}
            width = shape[axis:]
        inputs = [tensor_of(dtype, size * (noise(rng, shape) + rng.uniform(-2, 2)))
                  for _ in range(1 if kind == 1 else 2)]
        inputs += [tensor_of(dtype, rng.uniform(0.5, 1.5, width)), tensor_of(dtype, rng.standard_normal(width))]
        if quantized and not own.get("dynamicQuantType"):
            inputs += [tensor_of(dtype, np.array([rng.uniform(5, 20)])), quant_tensors(rng, dtype)[1]]
        return make_run(params, inputs, layer_outputs, pick(rng, WAYS))

    where = 1 if kind == 3 and quantized else 0
    faults = (of_int8(where) | of_int8(where, 5) if quantized else of_numbers()) | {
        "bias left out": again(lambda rng, p, i: (p, i[:kinds(p)] + [zeros_like(i[kinds(p)])] + i[kinds(p) + 1:])),
        "weights shifted by one": again(lambda rng, p, i: (p, i[:kinds(p) - 1] + [Tensor(
            i[kinds(p) - 1].dtype, np.roll(i[kinds(p) - 1].array, 1, -1))] + i[kinds(p):]))}
    if kind != 1:
        faults["residual left out"] = again(lambda rng, p, i: (p, [i[0], zeros_like(i[1])] + i[2:]))
    faults["epsilon ten times"] = again(ten_epsilon)
    is_static = quantized and not own.get("dynamicQuantType")
    return Case("LayerNormOperation", name, make, faults, within_rounding(layer_ways) if is_static else None)


def kinds(params):
    """Where the bias is."""
    return 2 if params["layerType"] == 1 else 3


def cohere_outputs(params, inputs, way):
    x, gamma = wide(arithmetic(way), *inputs)
    return [tensor_of(inputs[0].dtype, layer("f32", x, gamma, x.dtype.type(0), params["epsilon"]))]


def make_cohere(rng):
    dtype = pick(rng, SHORT)
    shape = (int(rng.integers(1, 20)), int(rng.integers(1, 6)), int(rng.integers(8, 200)))
    inputs = [tensor_of(dtype, noise(rng, shape)), tensor_of(dtype, rng.uniform(0.5, 1.5, shape[1:]))]
    return make_run({"epsilon": EPSILON}, inputs, cohere_outputs, pick(rng, WAYS))


def backward_outputs(params, inputs, way):
    dy, x, r, gamma = wide(arithmetic(way), *inputs)
    mean = (dy * gamma * r ** 3 * x).mean(-1, keepdims=True)
    if way == "torch":
        dgamma = rounded(inputs[0].dtype, dy * rounded(inputs[0].dtype, x * r)).astype(np.float32)
    else:
        dgamma = dy * x * r
    return [tensor_of(inputs[0].dtype, dy * gamma * r - mean * x),
            tensor_of("float32", dgamma.reshape(-1, gamma.size).sum(0).reshape(gamma.shape))]


def make_backward(rng):
    dtype, shape = pick(rng, FLOATS), norm_shape(rng)
    x = tensor_of(dtype, noise(rng, shape))
    r = 1 / np.sqrt((values_of(x) ** 2).mean(-1, keepdims=True) + 1e-6)
    inputs = [tensor_of(dtype, noise(rng, shape)), x, tensor_of("float32", r),
              tensor_of(dtype, rng.uniform(0.5, 1.5, shape[-1:]))]
    return make_run({}, inputs, backward_outputs, pick(rng, WAYS))


# ----- rotary positions

def turned(x, block):
    parts = x.reshape(x.shape[:-1] + (-1, block))
    a, b = parts[..., :block // 2], parts[..., block // 2:]
    return np.concatenate([-b, a], -1).reshape(x.shape)


def rope_outputs(params, inputs, way):
    dtype = inputs[0].dtype
    cos, sin = (values_of(t) for t in inputs[2:4])
    if params.get("cosFormat"):
        rows = np.concatenate([np.arange(n) for n in inputs[4].array])
        cos, sin = cos[rows], sin[rows]
    head, c = cos.shape[-1], params["rotaryCoeff"]
    block = head if c == 2 else head // 2 if c == 4 else 2
    if block == 2:
        cos, sin = np.repeat(cos[:, ::2], 2, -1), np.repeat(sin[:, ::2], 2, -1)
    outputs = []
    for t in inputs[:2]:
        x = values_of(t).reshape(cos.shape[0], -1, head)
        if way == "torch":  # each step in the type of the tensors
            real = getattr(torch, dtype)
            of = lambda a: torch.from_numpy(np.ascontiguousarray(a)).to(real)
            y = (of(x) * of(cos[:, None]) + of(turned(x, block)) * of(sin[:, None])).float().numpy()
        else:
            real = np.float64 if way == "f64" else np.float32
            y = x.astype(real) * cos[:, None].astype(real) + turned(x, block).astype(real) * sin[:, None].astype(real)
        outputs.append(tensor_of(dtype, y.reshape(t.array.shape)))
    return outputs


def rope_case(coefficient, name, cos_format=0, deep=False):
    def make(rng):
        dtype = pick(rng, FLOATS)
        head = int(rng.integers(1, 20)) * (4 if coefficient == 4 else 2)
        if coefficient == "head":
            head = max(6, head)
        heads, groups = int(rng.integers(1, 4)), int(rng.integers(1, 4))
        lengths = rng.integers(1, 9, int(rng.integers(1, 4))).astype(np.int32)
        if deep:
            lengths[:] = lengths[0]
        tokens = int(lengths.sum())
        rows = int(lengths.max()) + int(rng.integers(3)) if cos_format else tokens
        angles = rng.uniform(-4, 4, (rows, head))
        shapes = [(tokens, heads * groups * head), (tokens, heads * head)]
        if deep:
            shapes = [(len(lengths), int(lengths[0]), n, head) for n in (heads * groups, heads)]
        inputs = [tensor_of(dtype, noise(rng, s)) for s in shapes]
        inputs += [tensor_of(dtype, np.cos(angles)), tensor_of(dtype, np.sin(angles)), Tensor("int32", lengths)]
        params = {"rotaryCoeff": head if coefficient == "head" else coefficient, "cosFormat": cos_format}
        return make_run(params, inputs, rope_outputs, pick(rng, WAYS))

    faults = of_numbers() | {
        "wrong half": again(lambda rng, p, i: (p, i[:3] + [Tensor(i[3].dtype, negated(i[3]))] + i[4:])),
        "cos and sin exchanged": again(lambda rng, p, i: (p, i[:2] + [i[3], i[2]] + i[4:])),
        "keys not turned": lambda rng, run: [run.outputs[0], run.inputs[1]],
        "angles of the next token": again(lambda rng, p, i: (p, i[:2] + [next_token(t) for t in i[2:4]] + i[4:]))}
    return Case("RopeOperation", name, make, faults)


def negated(tensor):
    return tensor_of(tensor.dtype, -values_of(tensor)).array


def next_token(tensor):
    x = np.roll(tensor.array, 1, 0)
    return Tensor(tensor.dtype, np.roll(x, 1, 1) if x.shape[0] == 1 else x)


def rope_grad_outputs(params, inputs, way):
    dtype = inputs[0].dtype
    rows = np.concatenate([np.arange(n) for n in params["c_qSeqLen"]])
    cos, sin = (values_of(t)[rows] for t in inputs[2:])
    half = cos.shape[-1] // 2
    factor = cos + np.concatenate([sin[:, half:], -sin[:, :half]], -1)
    if way == "torch":
        factor = rounded(dtype, factor)
    elif way == "f32":
        factor = factor.astype(np.float32)
    outputs = []
    for t in inputs[:2]:
        d = values_of(t).astype(factor.dtype).reshape(cos.shape[0], -1, 2 * half)
        outputs.append(tensor_of(dtype, (d * factor[:, None]).reshape(t.array.shape)))
    return outputs


def make_rope_grad(rng):
    dtype = pick(rng, SHORT)
    lengths = [int(n) for n in rng.integers(1, 7, int(rng.integers(1, 4)))]
    rows = max(lengths) + int(rng.integers(4))
    angles = rng.uniform(-4, 4, (rows, 128))
    shape = (sum(lengths), 128 * int(rng.integers(1, 4)))
    inputs = [tensor_of(dtype, rng.standard_normal(shape)), tensor_of(dtype, rng.standard_normal(shape)),
              tensor_of(dtype, np.cos(angles)), tensor_of(dtype, np.sin(angles))]
    return make_run({"c_qSeqLen": lengths}, inputs, rope_grad_outputs, pick(rng, WAYS))


QUANT, DYNAMIC, MOVED = {"quantType": 2}, {"quantType": 2, "dynamicQuantType": 1}, {"quantType": 2, "dynamicQuantType": 2}
GRADIENT_FAULTS = of_numbers() | {
    "angles exchanged": again(lambda rng, p, i: (p, i[:2] + [i[3], i[2]])),
    "sin with the other sign": again(lambda rng, p, i: (p, i[:3] + [Tensor(i[3].dtype, negated(i[3]))]))}

CASES = [
    rms_case(1, "rms norm", {}),
    rms_case(1, "rms norm of small rows", {}, FLOATS, 0.003),
    rms_case(1, "rms norm, gemma", {"modelType": 1}),
    rms_case(1, "rms norm, precision mode 1", {"precisionMode": 1}, ("float16",)),
    rms_case(1, "rms norm with rstd", {"rstd": True}),
    rms_case(1, "rms norm to int8", QUANT, SHORT),
    rms_case(1, "rms norm, dynamic", DYNAMIC, SHORT),
    rms_case(1, "rms norm, dynamic with offset", MOVED, SHORT),
    rms_case(2, "rms prenorm", {}),
    rms_case(2, "rms prenorm with bias", {"hasBias": True}),
    rms_case(2, "rms prenorm to int8", QUANT, SHORT),
    rms_case(3, "rms postnorm", {}),
    rms_case(3, "rms postnorm with bias", {"hasBias": True}),
    rms_case(3, "rms postnorm to int8", QUANT, SHORT),
    layer_case(1, "layer norm", {}),
    layer_case(1, "layer norm of small rows", {}, FLOATS, 0.003),
    layer_case(1, "layer norm to int8", QUANT, SHORT),
    layer_case(1, "layer norm, dynamic", DYNAMIC, SHORT),
    layer_case(1, "layer norm, dynamic with offset", MOVED, SHORT),
    layer_case(2, "layer prenorm", {"zoomScaleValue": 0.75}),
    layer_case(3, "layer postnorm", {"zoomScaleValue": 1.0}),
    layer_case(3, "layer postnorm to int8", QUANT, SHORT),
    Case("CohereLayerNormOperation", "cohere layer norm", make_cohere, of_numbers() | {
        "weights of the first head": again(lambda rng, p, i: (p, [i[0], Tensor(i[1].dtype, np.roll(
            i[1].array, 1, -1))]))}),
    Case("RmsNormBackwardOperation", "rms norm backward", make_backward, of_numbers() | {
        "weights of the gradient 3 % large": spoiled(1, lambda rng, x: x * 1.03),
        "weights of the gradient 1 % large": spoiled(1, lambda rng, x: x * 1.01),
        "mean left out": lambda rng, run: [tensor_of(run.inputs[0].dtype, values_of(run.inputs[0]) * values_of(
            run.inputs[2]) * values_of(run.inputs[3])), run.outputs[1]]}),
    rope_case(2, "rope by halves"),
    rope_case(4, "rope by quarters"),
    rope_case(64, "rope by pairs"),
    rope_case("head", "rope by pairs of the head"),
    rope_case(2, "rope of samples", 1),
    rope_case(64, "rope of four dimensions", 0, True),
    Case("RopeGradOperation", "rope gradient", make_rope_grad, GRADIENT_FAULTS),
]
