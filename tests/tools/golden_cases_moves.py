"""Runs of operators whose elements only change their place, and ways to spoil them."""
from __future__ import annotations

import numpy as np

from golden_case import Case, Run, Tensor, tensor_of, values_of
from golden_faults import (ANY, MOVED, anything, copies, exchanged, floats, one_step, pick, same_type, shifted,
                           sizes, whole)


# ----- moves

def as_strided(rng):
    x = anything(rng, pick(rng, ANY), (int(rng.integers(60, 90)),))
    size, stride = sizes(rng, 2, 2, 4), sizes(rng, 2, 1, 6)
    offset = int(rng.integers(0, 20))
    index = offset + np.arange(size[0])[:, None] * stride[0] + np.arange(size[1]) * stride[1]
    return Run({"size": size, "stride": stride, "offset": [offset]}, [x], [same_type(x, x.array[index])])


def concat(rng):
    dtype, shape = pick(rng, ANY), sizes(rng, 3)
    axis = int(rng.integers(-3, 3))
    parts = []
    for _ in range(int(rng.integers(2, 4))):
        shape[axis] = int(rng.integers(1, 6))
        parts.append(anything(rng, dtype, shape))
    return Run({"concatDim": axis}, parts, [Tensor(dtype, np.concatenate([p.array for p in parts], axis))])


def slice_box(rng):
    shape = sizes(rng, int(rng.integers(1, 5)), 2, 7)
    x = anything(rng, pick(rng, ANY), shape)
    offsets, size, cut = [], [], []
    for n in shape:
        first = int(rng.integers(0, n - 1))
        count = int(rng.integers(1, n - first + 1))
        cut.append(np.s_[first:first + count])
        offsets.append(first - n if rng.random() < 0.3 else first)
        size.append(-1 if first + count == n and rng.random() < 0.5 else count)
    return Run({"offsets": offsets, "size": size}, [x], [same_type(x, x.array[tuple(cut)])])


def slice_off_by_one(rng, run):
    rolled = np.roll(run.inputs[0].array, -1, axis=-1)
    cut = []
    for n, offset, size in zip(rolled.shape, run.params["offsets"], run.params["size"]):
        first = offset % n
        cut.append(np.s_[first:n if size == -1 else first + size])
    return [same_type(run.inputs[0], rolled[tuple(cut)])]


def split(rng):
    number = pick(rng, (2, 3))
    shape, axis = sizes(rng, 3), int(rng.integers(-3, 3))
    by_size = rng.random() < 0.5
    parts = sizes(rng, number, 1, 4) if by_size else [int(rng.integers(1, 4))] * number
    shape[axis] = sum(parts)
    x = anything(rng, pick(rng, ANY), shape)
    cuts = np.split(x.array, np.cumsum(parts)[:-1], axis)
    return Run({"splitDim": axis, "splitNum": number, "splitSizes": parts if by_size else []}, [x],
               [same_type(x, part) for part in cuts])


def transpose(rng):
    shape = sizes(rng, int(rng.integers(2, 5)), 2, 6)
    perm = [int(i) for i in rng.permutation(len(shape))]
    if perm == sorted(perm):
        perm.reverse()
    x = anything(rng, pick(rng, ANY), shape)
    return Run({"perm": perm}, [x], [same_type(x, x.array.transpose(perm))])


def not_transposed(rng, run):
    return [same_type(run.inputs[0], run.inputs[0].array.reshape(run.outputs[0].array.shape).copy())]


def repeat(rng):
    shape = sizes(rng, int(rng.integers(1, 4)), 2, 4)
    multiples = sizes(rng, len(shape) + int(rng.integers(0, 2)), 1, 3)
    x = anything(rng, pick(rng, ANY), shape)
    return Run({"multiples": multiples}, [x], [same_type(x, np.tile(x.array, multiples))])


def repeated_elements(rng, run):
    """Each element several times in turn, instead of the whole several times."""
    x, multiples = run.inputs[0].array, run.params["multiples"]
    x = x.reshape((1,) * (len(multiples) - x.ndim) + x.shape)
    for axis, times in enumerate(multiples):
        x = np.repeat(x, times, axis)
    return [same_type(run.inputs[0], x)]


def to_tiles(rng):
    dtype = pick(rng, ("float16", "bfloat16", "int8"))
    shape = sizes(rng, int(rng.integers(2, 4)), 1, 50)
    x = anything(rng, dtype, shape)
    tile = 32 if dtype == "int8" else 16
    array = x.array if x.array.ndim == 3 else x.array[None]
    b, m, n = array.shape
    padded = np.zeros((b, -(-m // 16) * 16, -(-n // tile) * tile), array.dtype)
    padded[:, :m, :n] = array
    tiles = padded.reshape(b, padded.shape[1], -1, tile).transpose(0, 2, 1, 3)
    return Run({"transdataType": 2, "outCrops": [0, 0]}, [x], [same_type(x, tiles)])


def from_tiles(rng):
    b, across, tile = int(rng.integers(1, 3)), int(rng.integers(1, 4)), 16
    x = anything(rng, pick(rng, ("float16", "bfloat16")), (b, across, 32, tile))
    crops = [int(rng.integers(17, 33)), int(rng.integers((across - 1) * tile + 1, across * tile + 1))]
    rows = x.array.transpose(0, 2, 1, 3).reshape(b, 32, across * tile)[:, :crops[0], :crops[1]]
    return Run({"transdataType": 1, "outCrops": crops}, [x], [same_type(x, rows)])


def fill(rng):
    if rng.random() < 0.3:
        value, shape = float(rng.normal()), sizes(rng, 2)
        return Run({"withMask": False, "outDim": shape, "value": [value]}, [],
                   [tensor_of("float16", np.full(shape, value))])
    x, shape = None, sizes(rng, 3, 2, 6)
    x = floats(rng, pick(rng, ("float16", "bfloat16")), shape)
    mask = (rng.random([n if rng.random() < 0.7 else 1 for n in shape]) < 0.5).astype(np.int8)
    value = float(rng.normal())
    return Run({"withMask": True, "outDim": [], "value": [value]}, [x, Tensor("int8", mask)],
               [same_type(x, np.where(mask != 0, tensor_of(x.dtype, np.array(value)).array, x.array))])


def mask_inverted(rng, run):
    if not run.params["withMask"]:
        return one_step(rng, run)
    x, mask = run.inputs
    value = tensor_of(x.dtype, np.array(run.params["value"][0])).array
    return [same_type(x, np.where(mask.array == 0, value, x.array))]


def where(rng):
    dtype, shape = pick(rng, ANY), sizes(rng, 2, 2, 7)
    condition = Tensor("int8", (rng.random(shape) < 0.5).astype(np.int8))
    yes, no = anything(rng, dtype, shape), anything(rng, dtype, [1, shape[1]])
    return Run({}, [condition, yes, no],
               [Tensor(dtype, np.where(condition.array != 0, yes.array, no.array).astype(yes.array.dtype))])


def sides_exchanged(rng, run):
    condition, yes, no = (t.array for t in run.inputs)
    return [same_type(run.inputs[1], np.where(condition == 0, yes, no))]


def set_value(rng):
    shape = sizes(rng, 3, 2, 6)
    x = anything(rng, pick(rng, ("float16", "float32", "int8")), shape)
    starts = [int(rng.integers(0, n)) for n in shape]
    ends = [int(rng.integers(s + 1, n + 1)) for s, n in zip(starts, shape)]
    box = tuple(np.s_[s:e] for s, e in zip(starts, ends))
    values = anything(rng, x.dtype, [e - s for s, e in zip(starts, ends)])
    out = x.array.copy()
    out[box] = values.array
    return Run({"starts": starts, "ends": ends, "strides": [1, 1, 1]}, [x, values],
               [same_type(x, out), Tensor(values.dtype, values.array.copy())])


def not_set(rng, run):
    return [Tensor(run.inputs[0].dtype, run.inputs[0].array.copy()), run.outputs[1]]


def gen_mask(rng):
    batch, room, heads = int(rng.integers(1, 4)), int(rng.integers(3, 8)), int(rng.integers(1, 4))
    x = floats(rng, "float16", (batch, 1, room, room))
    lengths = sizes(rng, batch, 2, room)
    parts = [x.array[i, :, :s, :s].reshape(-1) for i, s in enumerate(lengths) for _ in range(heads)]
    return Run({"seqLen": lengths, "headNum": heads}, [x], [same_type(x, np.concatenate(parts))])


def pad(rng):
    batch, room, width = int(rng.integers(2, 5)), int(rng.integers(2, 7)), int(rng.integers(2, 9))
    lengths = np.array(sizes(rng, batch, 1, room))
    x = floats(rng, pick(rng, ("float16", "bfloat16")), (int(lengths.sum()), width))
    return Run({}, [x, whole(np.zeros((1, lengths.sum()))), whole(lengths[:, None]), whole(np.zeros((batch, room)), "int64")],
               [same_type(x, x.array[np.cumsum(lengths) - 1])])


def token_before(rng, run):
    ends = np.cumsum(run.inputs[2].array) - 1
    return [same_type(run.inputs[0], run.inputs[0].array[np.maximum(ends - 1, 0)])]


def unpad(rng):
    batch, room = int(rng.integers(2, 5)), int(rng.integers(3, 8))
    lengths = np.array(sizes(rng, batch, 1, room))
    ids = np.zeros((batch, room), np.int64)
    packed, padding = [], []
    missing = np.cumsum(room - lengths)
    before = np.concatenate([[0], missing[:-1]])
    for b, n in enumerate(lengths):
        ids[b, :n] = rng.integers(1, 1000, n)
        packed += list(ids[b, :n])
        padding += [before[b]] * n
    rest = [0] * (batch * room - len(packed))
    return Run({}, [whole(ids, "int64"), whole(missing[:, None]), whole([[len(packed)]], "int64"), whole(lengths[:, None])],
               [whole([packed + rest], "int64"), whole(before[:, None]), whole([padding + rest])])


def offsets_not_shifted(rng, run):
    outputs = copies(run)
    outputs[1] = Tensor("int32", run.inputs[1].array.copy())
    return outputs


def unpad_hidden(rng):
    batch, room, width = int(rng.integers(2, 4)), int(rng.integers(3, 7)), int(rng.integers(2, 6))
    x, lengths = floats(rng, "float16", (batch, room, width)), sizes(rng, batch, 1, room)
    return Run({"qSeqLen": lengths, "maxSeqLen": room}, [x],
               [same_type(x, np.concatenate([x.array[i, :s] for i, s in enumerate(lengths)]))])


def pad_hidden(rng):
    back = unpad_hidden(rng)
    lengths, room = back.params["qSeqLen"], back.params["maxSeqLen"]
    x = back.outputs[0]
    out, at = np.zeros((len(lengths), room, x.array.shape[1]), x.array.dtype), 0
    for i, s in enumerate(lengths):
        out[i, :s] = x.array[at:at + s]
        at += s
    return Run(back.params, [x], [same_type(x, out)])


CASES = [
    Case("AsStridedOperation", "as strided", as_strided, MOVED),
    Case("ConcatOperation", "concat", concat, MOVED),
    Case("SliceOperation", "slice", slice_box, dict(MOVED, **{"off by one": slice_off_by_one})),
    Case("SplitOperation", "split", split, MOVED),
    Case("TransposeOperation", "transpose", transpose, dict(MOVED, **{"not transposed": not_transposed})),
    Case("RepeatOperation", "repeat", repeat, dict(MOVED, **{"element by element": repeated_elements})),
    Case("TransdataOperation", "rows to tiles", to_tiles, MOVED),
    Case("TransdataOperation", "tiles to rows", from_tiles, MOVED),
    Case("FillOperation", "fill", fill, dict(MOVED, **{"mask inverted": mask_inverted})),
    Case("WhereOperation", "where", where, dict(MOVED, **{"sides exchanged": sides_exchanged})),
    Case("SetValueOperation", "set value", set_value, dict(MOVED, **{"not set": not_set})),
    Case("GenAttentionMaskOperation", "mask", gen_mask, MOVED),
    Case("PadOperation", "pad", pad, dict(MOVED, **{"token before": token_before})),
    Case("UnpadOperation", "unpad", unpad, dict(MOVED, **{"offsets not shifted": offsets_not_shifted})),
    Case("UnpadWithHiddenStateOperation", "unpad hidden", unpad_hidden, MOVED),
    Case("PadWithHiddenStateOperation", "pad hidden", pad_hidden, MOVED),
]
