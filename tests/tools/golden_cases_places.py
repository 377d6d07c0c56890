"""Runs of operators that find their places in other tensors, and ways to spoil them."""
from __future__ import annotations

import numpy as np
import torch

from golden_case import Case, Run, Tensor, tensor_of, values_of
from golden_faults import (ANY, COMPUTED, FLOATS, MOVED, anything, copies, floats, one_step, pick, rounded,
                           same_type, sizes, whole)


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
    return spoil


ADDED = {"last update left out": added_again(lambda i, t, a: (i[:-1], t[:-1], a)),
         "next index": added_again(lambda i, t, a: (i + 1, t, a)),
         "factor left out": added_again(lambda i, t, a: (i, t, 1.0 if a != 1 else 2.0)),
         "subtracted": added_again(lambda i, t, a: (i, -t, a)),
         "one column twice": added_again(lambda i, t, a: (i, np.where(np.arange(t.shape[-1]) == 0, 2 * t, t), a)),
         "written, not added": (lambda rng, run: [Tensor(run.inputs[0].dtype, run.inputs[0].array.copy())])}


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
    return spoil


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


CACHED = dict(MOVED, **{"slots off by one": (
    lambda rng, run: [Tensor(t.dtype, np.roll(t.array.reshape(len(t.array), -1), 1).reshape(t.array.shape)) for t in run.outputs])})

CASES = [
    Case("GatherOperation", "gather", gather, dict(MOVED, **{"next index": next_index})),
    Case("GatherOperation", "gather of batches", gather_batches, dict(MOVED, **{"next index": next_index})),
    Case("OnehotOperation", "onehot", onehot, dict(MOVED, **{"next class": next_class})),
    Case("NonzeroOperation", "nonzero", nonzero, dict(MOVED, **{"zeros counted": count_of_zeros})),
    Case("GatingOperation", "gating", gating, dict(MOVED, **{"order reversed": unstable_order,
                                                             "counts not summed": counts_not_summed})),
    Case("KvCacheOperation", "kv cache", kv_cache, dict(CACHED, **{"not written": not_cached(2)})),
    Case("ReshapeAndCacheOperation", "rows", rows_cache, CACHED),
    Case("ReshapeAndCacheOperation", "tiles", tiles_cache, dict(CACHED, **{"not written": not_cached(2)})),
    Case("ReshapeAndCacheOperation", "compressed heads", lambda rng: head_cache(rng, False),
         dict(CACHED, **{"not written": not_cached(2)})),
    Case("BlockCopyOperation", "block copy", block_copy, dict(CACHED, **{"not written": not_cached(0)})),
    Case("IndexAddOperation", "index add", index_add, ADDED),
    Case("IndexAddOperation", "index add of valid ones", index_add_valid, ADDED),
    Case("ScatterElementsV2Operation", "scatter", scatter_elements,
         dict(COMPUTED, **{"not scattered": not_scattered})),
    Case("ReshapeAndCacheOperation", "merged heads", lambda rng: head_cache(rng, True),
         dict(COMPUTED, **{"not written": not_cached(2)})),
]
