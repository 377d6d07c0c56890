"""Runs of operators that move, index, reduce, draw, and go over the ranks: honest ones, and ways to spoil them.

Everything is computed with NumPy and PyTorch, independently of Assay, in more than one honest order.
"""
from __future__ import annotations

import ctypes
import functools

import numpy as np
import torch

from golden_case import Case, Run, Tensor, from_bf16, tensor_of, to_bf16, values_of

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


def surely(spoil):
    """A fault that happened to change nothing becomes one that does."""
    @functools.wraps(spoil)
    def wrapped(rng, run):
        outputs = spoil(rng, run)
        if all(np.array_equal(a.array, b.array) for a, b in zip(outputs, run.outputs)):
            flip(outputs[0])
        return outputs
    return wrapped


@surely
def one_step(rng, run):
    outputs = copies(run)
    flip(outputs[0], int(rng.integers(outputs[0].array.size)))
    return outputs


@surely
def exchanged(rng, run):
    outputs = copies(run)
    flat = outputs[0].array.reshape(-1)
    if flat.size > 1:
        i = int(rng.integers(flat.size - 1))
        flat[i], flat[i + 1] = flat[i + 1], flat[i]
    return outputs


@surely
def shifted(rng, run):
    outputs = copies(run)
    outputs[0].array[...] = np.roll(outputs[0].array.reshape(-1), 1).reshape(outputs[0].array.shape)
    return outputs


@surely
def tail_not_written(rng, run):
    outputs = copies(run)
    flat = outputs[0].array.reshape(-1)
    flat[-max(1, flat.size // 4):] = 0
    return outputs


@surely
def last_row_stale(rng, run):
    outputs = copies(run)
    array = outputs[0].array
    if array.ndim and len(array) > 1:
        array[-1] = array[-2]
    return outputs


@surely
def in_another_order(rng, run):
    outputs = copies(run)
    array = outputs[0].array
    outputs[0].array = np.ascontiguousarray(array.transpose()).reshape(array.shape)
    return outputs


MOVED = {"one step": one_step, "neighbours exchanged": exchanged, "shifted by one": shifted,
         "tail not written": tail_not_written, "last row stale": last_row_stale, "in another order": in_another_order}


def recomputed(make_outputs):
    """A fault that is another computation from the same run."""
    return surely(lambda rng, run: make_outputs(rng, run))


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


# ----- indexings

def gather(rng):
    table = anything(rng, pick(rng, ANY), sizes(rng, int(rng.integers(1, 4)), 2, 8))
    axis = int(rng.integers(table.array.ndim))
    index = rng.integers(0, table.array.shape[axis], sizes(rng, int(rng.integers(1, 3)), 1, 5))
    return Run({"axis": axis, "batchDims": 0}, [table, whole(index, pick(rng, ("int32", "int64")))],
               [same_type(table, np.take(table.array, index, axis))])


def gather_batches(rng):
    b, n, width, k = sizes(rng, 4, 2, 6)
    table = anything(rng, pick(rng, ANY), (b, n, width))
    index = rng.integers(0, n, (b, k))
    out = np.stack([table.array[i][index[i]] for i in range(b)])
    return Run({"axis": 1, "batchDims": 1}, [table, whole(index, "int64")], [same_type(table, out)])


def next_index(rng, run):
    table, index = run.inputs[0].array, run.inputs[1].array
    axis = run.params["axis"]
    index = (index + 1) % table.shape[axis]
    if run.params["batchDims"]:
        return [same_type(run.inputs[0], np.stack([table[i][index[i]] for i in range(len(table))]))]
    return [same_type(run.inputs[0], np.take(table, index, axis))]


def onehot(rng):
    depth, classes = int(rng.integers(3, 9)), None
    classes = rng.integers(0, depth, sizes(rng, int(rng.integers(1, 3)), 2, 6))
    axis = int(rng.integers(-classes.ndim - 1, classes.ndim + 1))
    axis = axis if axis != -classes.ndim - 1 else 0
    out = np.moveaxis(np.eye(depth, dtype=np.int64)[classes], -1, axis)
    dtype = pick(rng, ("int32", "int64"))
    return Run({"axis": axis, "depth": depth}, [whole(classes, dtype), whole([1], dtype), whole([0], dtype)],
               [whole(np.ascontiguousarray(out), dtype)])


def next_class(rng, run):
    return [Tensor(run.outputs[0].dtype, np.roll(run.outputs[0].array, 1, run.params["axis"]))]


def nonzero(rng):
    x = rng.integers(0, 3, sizes(rng, int(rng.integers(1, 4)), 2, 6)) * rng.integers(-5, 6)
    x.reshape(-1)[0] = 1
    found = np.stack(np.nonzero(x))
    out = np.zeros((x.ndim, x.size), np.int64)
    out[:, :found.shape[1]] = found
    return Run({}, [whole(x, "int64")], [whole(out, "int64"), whole([found.shape[1]], "int64")])


def count_of_zeros(rng, run):
    outputs = copies(run)
    outputs[1].array[...] = run.inputs[0].array.size - outputs[1].array
    return outputs


def gating(rng):
    experts, chosen, tokens = int(rng.integers(4, 12)), int(rng.integers(1, 4)), int(rng.integers(2, 12))
    ids = np.concatenate([rng.permutation(experts)[:chosen] for _ in range(tokens)])
    places = np.arange(len(ids))
    order = np.argsort(ids, kind="stable")
    counts = np.bincount(ids, minlength=experts)
    params = {"topkExpertNum": chosen, "cumSumNum": experts, "deviceExpert": []}
    inputs = [whole(ids), whole(places)]
    if rng.random() < 0.5:
        return Run(params, inputs, [whole(order // chosen), whole(np.cumsum(counts)), whole(order)])
    local = np.sort(rng.permutation(experts)[:int(rng.integers(1, experts))])
    kept = [i for i in order if ids[i] in local]
    original = np.array(kept + [0] * (len(ids) - len(kept)))
    params["deviceExpert"] = [int(e) for e in rng.permutation(local)]
    return Run(params, inputs, [whole(original // chosen), whole(np.cumsum(counts[local])), whole(original),
                                whole([len(kept)])])


def unstable_order(rng, run):
    outputs = copies(run)
    outputs[0].array[...] = outputs[0].array[::-1]
    return outputs


def counts_not_summed(rng, run):
    outputs = copies(run)
    outputs[1].array[...] = np.diff(outputs[1].array, prepend=0)
    return outputs if not np.array_equal(outputs[1].array, run.outputs[1].array) else one_step(rng, run)


def add_rounded(dtype, total, term):
    """One addition in `dtype`."""
    return rounded(dtype, total + term)


def index_add(rng):
    dtype = pick(rng, FLOATS)
    shape = sizes(rng, 2, 3, 7)
    axis = int(rng.integers(-2, 2))
    count = int(rng.integers(2, 9))
    index = rng.integers(0, shape[axis], count)
    x, alpha = floats(rng, dtype, shape), floats(rng, dtype, (1,))
    shape[axis] = count
    updates = floats(rng, dtype, shape)
    total = values_of(x)
    steps = rng.permutation(count)
    terms = values_of(updates) * values_of(alpha)[0]
    by_step = rng.random() < 0.5
    if by_step:
        terms = rounded(dtype, terms)
    total, terms = np.moveaxis(total, axis, 0).copy(), np.moveaxis(terms, axis, 0)
    for i in steps:
        total[index[i]] = add_rounded(dtype if by_step else "float32", total[index[i]], terms[i])
    return Run({"indexType": 1, "axis": axis}, [x, whole(index), updates, alpha],
               [tensor_of(dtype, np.moveaxis(total, 0, axis))])


def index_add_valid(rng):
    dtype, rows, width, count = pick(rng, ("float16", "bfloat16")), *sizes(rng, 3, 2, 8)
    index, valid = rng.integers(0, rows, count), int(rng.integers(1, count + 1))
    x, updates = floats(rng, dtype, (rows, width)), floats(rng, dtype, (count, width))
    total = torch.from_numpy(values_of(x)).float()
    total.index_add_(0, torch.from_numpy(index[:valid]), torch.from_numpy(values_of(updates)).float()[:valid])
    return Run({"indexType": 2, "axis": 0}, [x, whole(index), updates, whole([valid])],
               [tensor_of(dtype, total.numpy())])


def added_again(change):
    """The sum with something changed in it: `change(index, updates, alpha)` gives what is added instead."""
    def spoil(rng, run):
        x, index, updates, last = run.inputs
        axis, total = run.params["axis"], values_of(x)
        is_valid = run.params["indexType"] == 2
        count = int(last.array[0]) if is_valid else len(index.array)
        terms = np.moveaxis(values_of(updates), axis, 0)[:count]
        alpha = 1.0 if is_valid else values_of(last)[0]
        index, terms, alpha = change(index.array[:count].copy(), terms.copy(), alpha)
        total = np.moveaxis(total, axis, 0).copy()
        for i, place in enumerate(index):
            total[place % len(total)] += alpha * terms[i]
        return [tensor_of(x.dtype, np.moveaxis(total, 0, axis))]
    return surely(spoil)


ADDED = {"last update left out": added_again(lambda i, t, a: (i[:-1], t[:-1], a)),
         "next index": added_again(lambda i, t, a: (i + 1, t, a)),
         "factor left out": added_again(lambda i, t, a: (i, t, 1.0 if a != 1 else 2.0)),
         "subtracted": added_again(lambda i, t, a: (i, -t, a)),
         "one column twice": added_again(lambda i, t, a: (i, np.where(np.arange(t.shape[-1]) == 0, 2 * t, t), a)),
         "written, not added": recomputed(lambda rng, run: [Tensor(run.inputs[0].dtype, run.inputs[0].array.copy())])}


def scatter_elements(rng):
    dtype, reduction = pick(rng, ("float16", "float32")), int(rng.integers(2))
    rows, columns, count = int(rng.integers(2, 6)), int(rng.integers(4, 9)), int(rng.integers(1, 4))
    x, updates = floats(rng, dtype, (rows, columns)), floats(rng, dtype, (rows, count))
    index = np.stack([rng.permutation(columns)[:count] for _ in range(rows)])
    out = values_of(x)
    for r in range(rows):
        for k in range(count):
            out[r, index[r, k]] = values_of(updates)[r, k] + (out[r, index[r, k]] if reduction else 0)
    return Run({"axis": 1, "reduction": reduction}, [x, whole(index), updates], [tensor_of(dtype, out)])


def not_scattered(rng, run):
    return [Tensor(run.inputs[0].dtype, run.inputs[0].array.copy())]


# ----- caches

def kv_cache(rng):
    layers, batch, room, width = 2, int(rng.integers(1, 4)), int(rng.integers(3, 8)), int(rng.integers(2, 9))
    lengths = np.array(sizes(rng, batch, 1, room))
    ends = np.array([int(rng.integers(n, room + 1)) for n in lengths])
    dtype = pick(rng, ("float16", "int8"))
    new, cache = anything(rng, dtype, (int(lengths.sum()), width)), anything(rng, dtype, (layers, batch, room, width))
    out, at, layer = cache.array.copy(), 0, int(rng.integers(layers))
    for b, (n, end) in enumerate(zip(lengths, ends)):
        out[layer, b, end - n:end] = new.array[at:at + n]
        at += n
    return Run({}, [new, whole([layer]), cache, whole(ends), whole(lengths)], [same_type(cache, out)])


def not_cached(which):
    def spoil(rng, run):
        outputs = copies(run)
        outputs[0].array[...] = run.inputs[which].array
        return outputs
    return surely(spoil)


def slots_of(rng, tokens, slots):
    mapping = rng.permutation(slots)[:tokens]
    return np.where(rng.random(tokens) < 0.15, -1, mapping)


def rows_cache(rng):
    tokens, heads, width, blocks, size = (*sizes(rng, 3, 1, 5), int(rng.integers(2, 4)), int(rng.integers(3, 6)))
    dtype = pick(rng, ("float16", "bfloat16", "int8"))
    slots = slots_of(rng, tokens, blocks * size)
    slots[0] = abs(slots[0])
    inputs, outputs = [], []
    for _ in range(2):
        new, cache = anything(rng, dtype, (tokens, heads, width)), anything(rng, dtype, (blocks, size, heads, width))
        out = cache.array.copy()
        for i, slot in enumerate(slots):
            if slot >= 0:
                out[slot // size, slot % size] = new.array[i]
        inputs.append((new, cache))
        outputs.append(same_type(cache, out))
    (key, key_cache), (value, value_cache) = inputs
    if rng.random() < 0.25:
        return Run({"compressType": 0, "kvCacheCfg": 1}, [key, key_cache, whole(slots)], outputs[:1], "Ascend910B")
    return Run({"compressType": 0, "kvCacheCfg": 0}, [key, value, key_cache, value_cache, whole(slots)], outputs,
               "Ascend910B")


def tiles_cache(rng):
    tokens, heads, width, blocks, size = int(rng.integers(1, 6)), int(rng.integers(1, 3)), 32, 2, 16
    is_310p = rng.random() < 0.5
    slots, inputs, outputs = slots_of(rng, tokens, blocks * size), [], []
    slots[0] = abs(slots[0])
    for _ in range(2):
        new = anything(rng, "float16", (tokens, heads, width))
        cache = anything(rng, "float16", (blocks, heads * width // 16, size, 16))
        out = cache.array.copy()
        for i, slot in enumerate(slots):
            if slot >= 0:
                out[slot // size, :, slot % size] = new.array[i].reshape(-1, 16)
        inputs.append((new, cache))
        outputs.append(same_type(cache, out))
    (key, key_cache), (value, value_cache) = inputs
    return Run({"compressType": 0, "kvCacheCfg": 0 if is_310p else 2}, [key, value, key_cache, value_cache, whole(slots)],
               outputs, "Ascend310P" if is_310p else "Ascend910B")


def head_cache(rng, merges):
    batch, heads, width, size = int(rng.integers(1, 3)), int(rng.integers(1, 4)), int(rng.integers(2, 5)), 8
    lengths = np.array(sizes(rng, batch, 3, 7))
    windows = np.array([int(rng.integers(1, lengths[i // heads] + 1)) for i in range(batch * heads)])
    offsets = np.array([int(rng.integers(-1, lengths[i // heads] - windows[i] + 1)) for i in range(batch * heads)])
    starts, slot = [], 0
    for i in range(batch * heads):
        starts.append(slot if rng.random() < 0.9 or i == 0 else -1)
        slot += int(lengths[i // heads])
    blocks = -(-slot // size)
    dtype, firsts = pick(rng, ("float16", "bfloat16")), np.cumsum(lengths) - lengths
    inputs, outputs = [], []
    for _ in range(2):
        new, cache = floats(rng, dtype, (int(lengths.sum()), heads, width)), floats(rng, dtype, (blocks, size, 1, width))
        out = cache.array.copy().reshape(-1, width)
        for i, start in enumerate(starts):
            if start < 0:
                continue
            sample = new.array[firsts[i // heads]:firsts[i // heads] + lengths[i // heads], i % heads]
            if not merges:
                rows = sample[len(sample) - windows[i]:]
            elif offsets[i] == -1:
                rows = sample
            else:
                first, last = offsets[i], offsets[i] + windows[i]
                mean = torch.from_numpy(values_of(Tensor(dtype, sample[first:last]))).float().mean(0).numpy()
                rows = np.concatenate([sample[:first], tensor_of(dtype, mean).array[None], sample[last:]])
            out[start:start + len(rows)] = rows
        inputs.append((new, cache))
        outputs.append(same_type(cache, out.reshape(cache.array.shape)))
    (key, key_cache), (value, value_cache) = inputs
    extra = [whole(windows), whole(lengths)] + ([whole(offsets)] if merges else [])
    return Run({"compressType": 2 if merges else 1, "kvCacheCfg": 0},
               [key, value, key_cache, value_cache, whole(starts)] + extra, outputs, "Ascend910B")


def block_copy(rng):
    blocks, shape = int(rng.integers(4, 9)), sizes(rng, 2, 1, 4)
    caches = [anything(rng, pick(rng, ("float16", "int8")), [blocks] + shape)] * 1
    caches.append(anything(rng, caches[0].dtype, [blocks] + shape))
    order = rng.permutation(blocks)
    sources = order[:int(rng.integers(1, 3))]
    targets = order[len(sources):len(sources) + int(rng.integers(len(sources), blocks - len(sources) + 1))]
    ends = np.append(np.sort(rng.permutation(np.arange(1, len(targets)))[:len(sources) - 1]), len(targets))
    outputs = [c.array.copy() for c in caches]
    at = 0
    for source, end in zip(sources, ends):
        for target in targets[at:end]:
            for out in outputs:
                out[target] = out[source]
        at = end
    return Run({}, caches + [whole(sources), whole(targets), whole(ends)], [same_type(c, o) for c, o in zip(caches, outputs)])


# ----- reductions

def cumsum(rng):
    dtype, shape = pick(rng, FLOATS), sizes(rng, 3, 2, 40)
    axis, exclusive, reverse = int(rng.integers(3)), bool(rng.random() < 0.3), bool(rng.random() < 0.3)
    x = floats(rng, dtype, shape)
    values = values_of(x) if rng.random() < 0.5 else np.abs(values_of(x))
    x = tensor_of(dtype, values)
    kind = int(rng.integers(3))
    data = np.flip(values, axis) if reverse else values
    if kind == 0:
        sums = np.cumsum(data, axis)
    elif kind == 1:
        sums = torch.cumsum(torch.from_numpy(data.copy()).float(), axis).numpy().astype(np.float64)
    else:
        sums = np.cumsum(data.astype(np.float32), axis, dtype=np.float32).astype(np.float64)
    if exclusive:
        sums = np.roll(sums, 1, axis)
        first = [np.s_[:]] * 3
        first[axis] = 0
        sums[tuple(first)] = 0
    sums = np.flip(sums, axis) if reverse else sums
    return Run({"axes": [axis], "exclusive": exclusive, "reverse": reverse}, [x], [tensor_of(dtype, sums)])


def cumsum_again(change):
    def spoil(rng, run):
        return [tensor_of(run.inputs[0].dtype, change(rng, values_of(run.inputs[0]), run.params))]
    return surely(spoil)


def plain_cumsum(values, params, exclusive=None, reverse=None, axis=None):
    axis = params["axes"][0] if axis is None else axis
    exclusive = params["exclusive"] if exclusive is None else exclusive
    reverse = params["reverse"] if reverse is None else reverse
    data = np.flip(values, axis) if reverse else values
    sums = np.cumsum(data, axis) - (data if exclusive else 0)
    return np.flip(sums, axis) if reverse else sums


def without_last_term(rng, values, params):
    sums = plain_cumsum(values, params)
    end = np.s_[0] if params["reverse"] else np.s_[-1]
    place = [np.s_[:]] * values.ndim
    place[params["axes"][0]] = end
    before = list(place)
    before[params["axes"][0]] = 1 if params["reverse"] else -2
    sums[tuple(place)] = sums[tuple(before)]
    return sums


CUMSUM = {"exclusive or not": cumsum_again(lambda r, v, p: plain_cumsum(v, p, exclusive=not p["exclusive"])),
          "the other direction": cumsum_again(lambda r, v, p: plain_cumsum(v, p, reverse=not p["reverse"])),
          "another axis": cumsum_again(lambda r, v, p: plain_cumsum(v, p, axis=(p["axes"][0] + 1) % 3)),
          "last term left out": cumsum_again(without_last_term),
          "not summed": cumsum_again(lambda r, v, p: v),
          "neighbours exchanged": cumsum_again(
              lambda r, v, p: np.roll(plain_cumsum(v, p), 1, p["axes"][0]))}


def reduce_over(rng):
    dtype = pick(rng, FLOATS + ("int32",))
    shape = sizes(rng, 3, 2, 17)
    x = anything(rng, dtype, shape)
    axes = [int(a) for a in rng.permutation(3)[:int(rng.integers(1, 3))]]
    kind, over = int(rng.integers(1, 4)), tuple(axes)
    values = values_of(x)
    if kind != 3:
        out = values.max(over) if kind == 1 else values.min(over)
    elif dtype == "int32":
        out = values.sum(over)
    else:
        way = int(rng.integers(3))
        small = torch.from_numpy(values).float()
        if way == 0:
            out = values.sum(over)
        elif way == 1:
            out = small.sum(axes).numpy()
        else:
            flat = np.moveaxis(values, axes, range(len(axes))).reshape(-1, *np.delete(shape, axes)).astype(np.float32)
            out = np.cumsum(flat, 0, dtype=np.float32)[-1]
    return Run({"reduceType": kind, "axis": axes}, [x], [tensor_of(dtype, np.ascontiguousarray(out))])


def reduced_again(change):
    def spoil(rng, run):
        values, over, kind = change(values_of(run.inputs[0]), tuple(run.params["axis"]), run.params["reduceType"])
        out = {1: np.max, 2: np.min, 3: np.sum}[kind](values, over)
        return [tensor_of(run.inputs[0].dtype, np.ascontiguousarray(out))]
    return surely(spoil)


def last_zero(values, over):
    values = values.copy()
    place = [np.s_[:]] * values.ndim
    for axis in over:
        place[axis] = -1
    values[tuple(place)] *= -3
    values[tuple(place)] += 7
    return values


REDUCED = {"the other extreme, or a mean": reduced_again(
               lambda v, o, k: (v, o, 3 - k) if k < 3 else (v / np.prod([v.shape[a] for a in o]), o, 3)),
           "last element of each wrong": reduced_again(lambda v, o, k: (last_zero(v, o), o, k)),
           "of absolute values": reduced_again(lambda v, o, k: (-np.abs(v) if k == 1 else np.abs(v), o, k)),
           "neighbours exchanged": exchanged, "shifted by one": shifted, "tail not written": tail_not_written}


def sort(rng):
    dtype, rows, width = pick(rng, FLOATS), int(rng.integers(1, 6)), int(rng.integers(2, 60))
    x = floats(rng, dtype, (rows, width))
    k = int(rng.integers(1, width + 1))
    order = np.argsort(-values_of(x), axis=-1, kind="stable")[:, :k]
    return Run({"num": [k]}, [x], [same_type(x, np.take_along_axis(x.array, order, -1)), whole(order)])


def places_of_ranks(rng, run):
    outputs = copies(run)
    outputs[1].array[...] = np.arange(outputs[1].array.shape[1])
    return outputs if not np.array_equal(outputs[1].array, run.outputs[1].array) else one_step(rng, run)


def rising_order(rng, run):
    outputs = copies(run)
    for output in outputs:
        output.array = np.ascontiguousarray(output.array[:, ::-1])
    return outputs


# ----- samplings

LIBC = ctypes.CDLL("libc.so.6")


def draws(seed, count):
    LIBC.srand(ctypes.c_uint(seed))
    return [LIBC.rand() / 0x7FFFFFFF for _ in range(count)]


def probabilities(rng, dtype, shape, sharpness):
    logits = rng.normal(0, sharpness, shape)
    exps = np.exp(logits - logits.max(-1, keepdims=True))
    return tensor_of(dtype, exps / exps.sum(-1, keepdims=True))


def sums_by_step(dtype, values):
    sums = values.copy()
    for i in range(1, values.shape[-1]):
        sums[..., i] = rounded(dtype, sums[..., i - 1] + values[..., i])
    return sums


def drawn_classes(sums, chosen):
    out = np.zeros((len(sums), len(chosen)), np.int32)
    for row, line in enumerate(sums):
        for z, draw in enumerate(chosen):
            beyond = np.nonzero(line > draw)[0]
            out[row, z] = beyond[0] if len(beyond) else 0
    return out


def multinomial(rng):
    dtype, rows, classes = pick(rng, FLOATS), int(rng.integers(2, 6)), int(rng.integers(16, 60))
    x, samples, seed = probabilities(rng, dtype, (rows, classes), 1), int(rng.integers(8, 33)), int(rng.integers(2**32 - 1))
    return Run({"numSamples": samples, "randSeed": seed}, [x],
               [whole(drawn_classes(sums_by_step(dtype, values_of(x)), draws(seed, samples)))])


def drawn_again(change):
    def spoil(rng, run):
        x = values_of(run.inputs[0])
        sums, chosen = change(sums_by_step(run.inputs[0].dtype, x), draws(run.params["randSeed"], 64), run)
        return [whole(drawn_classes(sums, chosen[:run.params["numSamples"]]))]
    return surely(spoil)


MULTINOMIAL = {"another seed": drawn_again(lambda s, d, run: (s, draws(run.params["randSeed"] + 1, 64))),
               "draws from the second on": drawn_again(lambda s, d, run: (s, d[1:])),
               "first row everywhere": drawn_again(lambda s, d, run: (np.repeat(s[:1], len(s), 0), d)),
               "sums begin at zero": drawn_again(lambda s, d, run: (np.concatenate([0 * s[:, :1], s[:, :-1]], 1), d)),
               "most probable": recomputed(lambda rng, run: [whole(np.repeat(
                   values_of(run.inputs[0]).argmax(-1)[:, None], run.params["numSamples"], 1))]),
               "class before": recomputed(lambda rng, run: [whole(run.outputs[0].array - 1)])}


def f32_sums(dtype, values):
    return rounded(dtype, np.cumsum(values.astype(np.float32), -1, dtype=np.float32))


def topk_topp(rng, kind):
    dtype, rows, words = pick(rng, ("float16", "bfloat16")), int(rng.integers(6, 13)), int(rng.integers(8, 25))
    x = probabilities(rng, dtype, (rows, words), 1.5)
    values = values_of(x)
    order = np.argsort(-values, -1, kind="stable")
    ranked = np.take_along_axis(values, order, -1)
    p = tensor_of(dtype, rng.uniform(0.5, 0.95, (rows, 1)))
    params = {"topkToppSamplingType": kind, "randSeed": 0, "randSeeds": [], "topk": 100, "logProbsSize": 0}
    inputs = [x]
    mask = np.zeros_like(ranked, bool)
    if kind == 0:
        params["topk"], params["randSeed"] = int(rng.integers(4, words + 1)), int(rng.integers(2**31))
        ranked = ranked[:, :params["topk"]]
        chosen = np.array(draws(params["randSeed"], rows))[:, None]
        kept = ranked
    else:
        k = rng.integers(3, words - 1, (rows, 1))
        mask = ranked < np.take_along_axis(ranked, k, -1)
        kept = np.where(mask, 0, ranked)
        inputs.append(whole(k))
        params["randSeeds"] = [int(s) for s in rng.integers(2**31, size=rows)] if kind == 1 else []
        chosen = np.array([draws(s, 1)[0] for s in params["randSeeds"]])[:, None] if kind == 1 else None
    inputs.append(p)
    sums, end = f32_sums(dtype, kept), values_of(p)
    last = np.maximum((sums < end).sum(-1, keepdims=True) - 1, 0)
    if kind == 3:
        inputs.append(tensor_of("float32", rng.uniform(0.01, 0.99, (rows, 1))))
        chosen = values_of(inputs[-1])
    if kind in (2, 4):
        inputs.append(tensor_of(dtype, np.maximum(rng.exponential(1, (rows, words)), 1e-3)))
        beyond = sums > end
        scores = rounded(dtype, np.where(beyond, 0, kept) / values_of(inputs[-1]))
        rank = np.argmax(scores, -1)[:, None]
        out = beyond | mask
        out[:, 0] = False
        last = (~out).sum(-1, keepdims=True) - 1
    else:
        cut = np.take_along_axis(sums, last, -1) * chosen
        rank = (sums <= cut if kind == 0 else sums < cut).sum(-1, keepdims=True)
    outputs = [whole(np.take_along_axis(order, rank, -1)), tensor_of(dtype, np.take_along_axis(ranked, rank, -1))]
    if kind >= 3:
        params["logProbsSize"] = int(rng.integers(2, words + 1))
        size = params["logProbsSize"]
        logs = np.log((ranked[:, :size] / np.take_along_axis(sums, last, -1)).astype(np.float32))
        outputs.append(tensor_of("float32", np.where(np.arange(size) <= last, logs, -9999)))
    return Run(params, inputs, outputs)


def all_words(change):
    """Every row another word: one row may be unknown, or right by chance."""
    def spoil(rng, run):
        outputs = copies(run)
        places = outputs[0].array
        probabilities_ = values_of(run.inputs[0])
        order = np.argsort(-probabilities_, -1, kind="stable")
        rank = np.argmax(order == places, -1)
        rank = change(rank, order.shape[1])[:, None]
        outputs[0] = whole(np.take_along_axis(order, rank, -1))
        outputs[1] = tensor_of(outputs[1].dtype, np.take_along_axis(probabilities_, outputs[0].array.astype(np.int64), -1))
        return outputs
    return surely(spoil)


def ranks_for_places(rng, run):
    outputs = copies(run)
    order = np.argsort(-values_of(run.inputs[0]), -1, kind="stable")
    outputs[0] = whole(np.argmax(order == outputs[0].array, -1)[:, None])
    return outputs


def probability_of_neighbour(rng, run):
    outputs = copies(run)
    places = (outputs[0].array + 1) % run.inputs[0].array.shape[1]
    outputs[1] = same_type(run.inputs[0], np.take_along_axis(run.inputs[0].array, places.astype(np.int64), -1))
    return outputs


SAMPLED = {"next rank": all_words(lambda rank, n: (rank + 1) % n),
           "rank before": all_words(lambda rank, n: (rank - 1) % n),
           "always the first": all_words(lambda rank, n: np.zeros_like(rank) if rank.any() else rank + 1),
           "rank instead of place": recomputed(ranks_for_places),
           "probability of the neighbour": recomputed(probability_of_neighbour),
           "rows exchanged": recomputed(lambda rng, run: [Tensor(t.dtype, np.roll(t.array, 1, 0)) for t in run.outputs])}


def logs_again(change):
    def spoil(rng, run):
        outputs = copies(run)
        outputs[2] = tensor_of("float32", change(values_of(outputs[2])))
        return outputs
    return spoil


LOGS = {"logarithm to base 2": logs_again(lambda v: np.where(v == -9999, v, v / np.log(2))),
        "not divided by the sum": logs_again(lambda v: np.where(v == -9999, v, v - 0.1)),
        "nothing dropped": logs_again(lambda v: np.where(v == -9999, -1, v) - (v != -9999) * 0.01)}


# ----- collectives

def ranks_of(rng, dtype, shape, count):
    return [[anything(rng, dtype, shape)] for _ in range(count)]


def collective(rng, ranks, outputs, **params):
    own = params.pop("own")
    params |= {"rank": own, "rankSize": len(ranks), "rankRoot": params.get("rankRoot", 0), "backend": "hccl"}
    return Run(params, ranks[own], outputs, ranks=ranks)


def all_gather(rng):
    ranks = ranks_of(rng, pick(rng, ANY), sizes(rng, 2, 2, 5), int(rng.integers(2, 6)))
    out = np.stack([r[0].array for r in ranks])
    return collective(rng, ranks, [same_type(ranks[0][0], out)], own=int(rng.integers(len(ranks))))


def broadcast(rng):
    ranks = ranks_of(rng, pick(rng, ANY), sizes(rng, 2, 2, 5), int(rng.integers(2, 6)))
    root = int(rng.integers(len(ranks)))
    return collective(rng, ranks, [Tensor(ranks[root][0].dtype, ranks[root][0].array.copy())],
                      own=(root + 1) % len(ranks), rankRoot=root)


def own_tensor(rng, run):
    return [Tensor(run.inputs[0].dtype, run.inputs[0].array.copy())]


def all_to_all(rng):
    count, rows, width = int(rng.integers(2, 5)), int(rng.integers(1, 4)), int(rng.integers(1, 5))
    ranks, own = ranks_of(rng, pick(rng, ANY), (count * rows, width), count), int(rng.integers(count))
    out = np.concatenate([r[0].array[own * rows:(own + 1) * rows] for r in ranks])
    return collective(rng, ranks, [same_type(ranks[0][0], out)], own=own)


def folded(rng, dtype, values, kind):
    if kind == "max":
        return np.max(values, 0)
    if kind == "min":
        return np.min(values, 0)
    order = rng.permutation(len(values))
    step = dtype if dtype.startswith("int") or rng.random() < 0.6 else "float32"
    total = values[order[0]]
    for i in order[1:]:
        total = rounded(step, total + values[i] if kind == "sum" else total * values[i])
    return total


def all_reduce(rng):
    dtype, kind = pick(rng, FLOATS + ("int32",)), pick(rng, ("sum", "max", "min", "prod"))
    ranks = ranks_of(rng, dtype, sizes(rng, 2, 2, 9), int(rng.integers(2, 9)))
    if dtype == "int32":
        ranks = [[whole(r[0].array % 7 - 3)] for r in ranks]
    out = folded(rng, dtype, np.stack([values_of(r[0]) for r in ranks]), kind)
    return collective(rng, ranks, [tensor_of(dtype, out)], own=int(rng.integers(len(ranks))), allReduceType=kind)


def reduce_scatter(rng):
    dtype, kind, count = pick(rng, FLOATS), pick(rng, ("sum", "max", "min")), int(rng.integers(2, 5))
    ranks, own = ranks_of(rng, dtype, (count * 2, int(rng.integers(2, 7))), count), int(rng.integers(count))
    out = folded(rng, dtype, np.stack([values_of(r[0]) for r in ranks]), kind)
    return collective(rng, ranks, [tensor_of(dtype, out[own * 2:own * 2 + 2])], own=own, reduceType=kind)


def folded_again(change):
    def spoil(rng, run):
        kind = run.params.get("allReduceType", run.params.get("reduceType"))
        values, kind = change(np.stack([values_of(r[0]) for r in run.ranks]), kind)
        out = {"sum": np.sum, "prod": np.prod, "max": np.max, "min": np.min}[kind](values, 0)
        rows = run.outputs[0].array.shape[0]
        if "reduceType" in run.params:
            out = out[run.params["rank"] * rows:(run.params["rank"] + 1) * rows]
        return [tensor_of(run.outputs[0].dtype, out)]
    return surely(spoil)


OTHER = {"sum": "max", "prod": "sum", "max": "min", "min": "max"}
FOLDED = {"last rank left out": folded_again(lambda v, k: (v[:-1] if k in ("sum", "prod") else -v, k)),
          "one rank twice": folded_again(lambda v, k: (np.concatenate([v, v[:1] * 1.5]), k) if k in ("sum", "prod") else (v * 0.5, k)),
          "another operation": folded_again(lambda v, k: (v, OTHER[k])),
          "mean or last": folded_again(lambda v, k: (v / len(v), k) if k in ("sum", "prod") else (v[-1:] + 0.125, k)),
          "own tensor": recomputed(lambda rng, run: [same_type(
              run.outputs[0], run.inputs[0].array.reshape(-1)[:run.outputs[0].array.size].reshape(run.outputs[0].array.shape))]),
          "elements shifted": shifted}


def two_from(*names):
    return {name: MOVED[name] for name in names}


COMPUTED = two_from("neighbours exchanged", "shifted by one", "tail not written", "last row stale")
CACHED = dict(MOVED, **{"slots off by one": recomputed(
    lambda rng, run: [Tensor(t.dtype, np.roll(t.array.reshape(len(t.array), -1), 1).reshape(t.array.shape)) for t in run.outputs])})

CASES = [
    Case("AsStridedOperation", "as strided", as_strided, MOVED),
    Case("ConcatOperation", "concat", concat, MOVED),
    Case("SliceOperation", "slice", slice_box, dict(MOVED, **{"off by one": recomputed(slice_off_by_one)})),
    Case("SplitOperation", "split", split, MOVED),
    Case("TransposeOperation", "transpose", transpose, dict(MOVED, **{"not transposed": recomputed(not_transposed)})),
    Case("RepeatOperation", "repeat", repeat, dict(MOVED, **{"element by element": recomputed(repeated_elements)})),
    Case("TransdataOperation", "rows to tiles", to_tiles, MOVED),
    Case("TransdataOperation", "tiles to rows", from_tiles, MOVED),
    Case("FillOperation", "fill", fill, dict(MOVED, **{"mask inverted": recomputed(mask_inverted)})),
    Case("WhereOperation", "where", where, dict(MOVED, **{"sides exchanged": recomputed(sides_exchanged)})),
    Case("SetValueOperation", "set value", set_value, dict(MOVED, **{"not set": recomputed(not_set)})),
    Case("GenAttentionMaskOperation", "mask", gen_mask, MOVED),
    Case("PadOperation", "pad", pad, dict(MOVED, **{"token before": recomputed(token_before)})),
    Case("UnpadOperation", "unpad", unpad, dict(MOVED, **{"offsets not shifted": recomputed(offsets_not_shifted)})),
    Case("UnpadWithHiddenStateOperation", "unpad hidden", unpad_hidden, MOVED),
    Case("PadWithHiddenStateOperation", "pad hidden", pad_hidden, MOVED),
    Case("GatherOperation", "gather", gather, dict(MOVED, **{"next index": recomputed(next_index)})),
    Case("GatherOperation", "gather of batches", gather_batches, dict(MOVED, **{"next index": recomputed(next_index)})),
    Case("OnehotOperation", "onehot", onehot, dict(MOVED, **{"next class": recomputed(next_class)})),
    Case("NonzeroOperation", "nonzero", nonzero, dict(MOVED, **{"zeros counted": recomputed(count_of_zeros)})),
    Case("GatingOperation", "gating", gating, dict(MOVED, **{"order reversed": recomputed(unstable_order),
                                                             "counts not summed": counts_not_summed})),
    Case("IndexAddOperation", "index add", index_add, ADDED),
    Case("IndexAddOperation", "index add of valid ones", index_add_valid, ADDED),
    Case("ScatterElementsV2Operation", "scatter", scatter_elements,
         dict(COMPUTED, **{"not scattered": recomputed(not_scattered)})),
    Case("KvCacheOperation", "kv cache", kv_cache, dict(CACHED, **{"not written": not_cached(2)})),
    Case("ReshapeAndCacheOperation", "rows", rows_cache, CACHED),
    Case("ReshapeAndCacheOperation", "tiles", tiles_cache, dict(CACHED, **{"not written": not_cached(2)})),
    Case("ReshapeAndCacheOperation", "compressed heads", lambda rng: head_cache(rng, False),
         dict(CACHED, **{"not written": not_cached(2)})),
    Case("ReshapeAndCacheOperation", "merged heads", lambda rng: head_cache(rng, True),
         dict(COMPUTED, **{"not written": not_cached(2)})),
    Case("BlockCopyOperation", "block copy", block_copy, dict(CACHED, **{"not written": not_cached(0)})),
    Case("CumsumOperation", "cumsum", cumsum, CUMSUM),
    Case("ReduceOperation", "reduce", reduce_over, REDUCED),
    Case("SortOperation", "sort", sort, dict(MOVED, **{"ranks for places": places_of_ranks,
                                                       "rising": recomputed(rising_order)})),
    Case("MultinomialOperation", "multinomial", multinomial, MULTINOMIAL),
    Case("TopkToppSamplingOperation", "one seed", lambda rng: topk_topp(rng, 0), SAMPLED),
    Case("TopkToppSamplingOperation", "seeds", lambda rng: topk_topp(rng, 1), SAMPLED),
    Case("TopkToppSamplingOperation", "exponential", lambda rng: topk_topp(rng, 2), SAMPLED),
    Case("TopkToppSamplingOperation", "draws, logarithms", lambda rng: topk_topp(rng, 3), dict(SAMPLED, **LOGS)),
    Case("TopkToppSamplingOperation", "exponential, logarithms", lambda rng: topk_topp(rng, 4), dict(SAMPLED, **LOGS)),
    Case("AllGatherOperation", "all gather", all_gather, MOVED),
    Case("AllReduceOperation", "all reduce", all_reduce, FOLDED),
    Case("BroadcastOperation", "broadcast", broadcast, dict(MOVED, **{"own tensor": recomputed(own_tensor)})),
    Case("AllToAllOperation", "all to all", all_to_all, MOVED),
    Case("ReduceScatterOperation", "reduce scatter", reduce_scatter, FOLDED),
]
