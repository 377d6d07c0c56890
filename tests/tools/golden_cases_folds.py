"""Runs of operators that reduce, sort, draw and go over the ranks, and ways to spoil them."""
from __future__ import annotations

import ctypes

import numpy as np
import torch

from golden_case import Case, Run, Tensor, tensor_of, values_of
from golden_faults import (ANY, FLOATS, MOVED, anything, copies, exchanged, flip, floats, one_step, pick,
                           rounded, same_type, shifted, sizes, tail_not_written, whole)


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
    return spoil


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
    return spoil


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
    return spoil


MULTINOMIAL = {"another seed": drawn_again(lambda s, d, run: (s, draws(run.params["randSeed"] + 1, 64))),
               "draws from the second on": drawn_again(lambda s, d, run: (s, d[1:])),
               "first row everywhere": drawn_again(lambda s, d, run: (np.repeat(s[:1], len(s), 0), d)),
               "sums begin at zero": drawn_again(lambda s, d, run: (np.concatenate([0 * s[:, :1], s[:, :-1]], 1), d)),
               "most probable": (lambda rng, run: [whole(np.repeat(
                   values_of(run.inputs[0]).argmax(-1)[:, None], run.params["numSamples"], 1))]),
               "class before": (lambda rng, run: [whole(run.outputs[0].array - 1)])}


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
    return spoil


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
           "rank instead of place": ranks_for_places,
           "probability of the neighbour": probability_of_neighbour,
           "rows exchanged": (lambda rng, run: [Tensor(t.dtype, np.roll(t.array, 1, 0)) for t in run.outputs])}


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


def all_gather_v(rng):
    dtype, count = pick(rng, ANY), int(rng.integers(2, 6))
    counts = np.array(sizes(rng, count, 1, 6))
    places, room = np.concatenate([[0], np.cumsum(counts)[:-1]]), int(counts.sum())
    own, extent = int(rng.integers(count)), whole(np.zeros(room), "float16")
    ranks = [[anything(rng, dtype, (max(1, int(n)),)), whole([n], "int64"), whole(counts, "int64"), whole(places, "int64"), extent]
             for n in counts]
    out = np.zeros(room, ranks[0][0].array.dtype)
    for rank, (n, at) in enumerate(zip(counts, places)):
        out[at:at + n] = ranks[rank][0].array[:n]
    return collective(rng, ranks, [same_type(ranks[0][0], out)], own=own)


def all_to_all_vv2(rng):
    dtype, count = pick(rng, ANY), int(rng.integers(2, 5))
    sent = rng.integers(0, 5, (count, count))  # by rank, to rank
    sent[:, :] = np.maximum(sent, 1)
    places = np.concatenate([np.zeros((count, 1), int), np.cumsum(sent, 1)[:, :-1]], 1)
    come = np.concatenate([np.zeros((1, count), int), np.cumsum(sent, 0)[:-1]], 0)
    data = [anything(rng, dtype, (int(sent[rank].sum()),)) for rank in range(count)]
    ranks = [[data[rank], whole(sent[rank], "int64"), whole(places[rank], "int64"), whole(sent[:, rank], "int64"),
              whole(come[:, rank], "int64"), whole(np.zeros(int(sent[:, rank].sum())), "float16")] for rank in range(count)]
    own = int(rng.integers(count))
    out = np.concatenate([data[r].array[places[r, own]:places[r, own] + sent[r, own]] for r in range(count)])
    return collective(rng, ranks, [same_type(data[0], out[None])], own=own)


def reduce_scatter_v(rng):
    dtype, kind, count, width = pick(rng, FLOATS), pick(rng, ("sum", "max", "min")), int(rng.integers(2, 5)), int(rng.integers(2, 6))
    rows = np.array(sizes(rng, count, 1, 4))
    starts = np.concatenate([[0], np.cumsum(rows)[:-1]])
    own = int(rng.integers(count))
    tail = [whole(rows * width, "int64"), whole(starts * width, "int64"), whole([rows[own] * width], "int64"),
            whole(np.zeros(rows[own]), "float16")]
    ranks = [[anything(rng, dtype, (int(rows.sum()), width)), *tail] for _ in range(count)]
    out = folded(rng, dtype, np.stack([values_of(r[0]) for r in ranks]), kind)
    return collective(rng, ranks, [tensor_of(dtype, out[starts[own]:starts[own] + rows[own]])], own=own, reduceType=kind)


def group_topk(rng):
    groups, width, tokens = int(rng.integers(2, 7)), int(rng.integers(2, 8)), int(rng.integers(1, 9))
    x = floats(rng, pick(rng, ("float16", "bfloat16")), (tokens, groups * width))
    several, kept = bool(rng.integers(2)), int(rng.integers(1, groups))
    params = {"groupNum": groups, "k": kept, "groupMultiFlag": int(several), "n": int(rng.integers(1, width + 1))}
    parts = values_of(x).reshape(tokens, groups, width)
    sums = np.sort(parts, -1)[..., ::-1][..., :params["n"] if several else 1].sum(-1)
    gone = np.argsort(-sums, -1, kind="stable")[:, kept:]
    out = x.array.copy().reshape(tokens, groups, width)
    for token in range(tokens):
        out[token, gone[token]] = 0
    return Run(params, [x, whole(np.arange(1024))], [same_type(x, out.reshape(x.array.shape))])


def nothing_dropped(rng, run):
    return [same_type(run.inputs[0], run.inputs[0].array)]


def folded_again(change):
    def spoil(rng, run):
        kind = run.params.get("allReduceType", run.params.get("reduceType"))
        values, kind = change(np.stack([values_of(r[0]) for r in run.ranks]), kind)
        out = {"sum": np.sum, "prod": np.prod, "max": np.max, "min": np.min}[kind](values, 0)
        rows = run.outputs[0].array.shape[0]
        if "reduceType" in run.params:
            out = out[run.params["rank"] * rows:(run.params["rank"] + 1) * rows]
        return [tensor_of(run.outputs[0].dtype, out)]
    return spoil


OTHER = {"sum": "max", "prod": "sum", "max": "min", "min": "max"}
FOLDED = {"last rank left out": folded_again(lambda v, k: (v[:-1] if k in ("sum", "prod") else -v, k)),
          "one rank twice": folded_again(lambda v, k: (np.concatenate([v, v[:1] * 1.5]), k) if k in ("sum", "prod") else (v * 0.5, k)),
          "another operation": folded_again(lambda v, k: (v, OTHER[k])),
          "mean or last": folded_again(lambda v, k: (v / len(v), k) if k in ("sum", "prod") else (v[-1:] + 0.125, k)),
          "own tensor": (lambda rng, run: [same_type(
              run.outputs[0], run.inputs[0].array.reshape(-1)[:run.outputs[0].array.size].reshape(run.outputs[0].array.shape))]),
          "elements shifted": shifted}


CASES = [
    Case("SortOperation", "sort", sort, dict(MOVED, **{"ranks for places": places_of_ranks,
                                                       "rising": rising_order})),
    Case("MultinomialOperation", "multinomial", multinomial, MULTINOMIAL),
    Case("TopkToppSamplingOperation", "one seed", lambda rng: topk_topp(rng, 0), SAMPLED),
    Case("TopkToppSamplingOperation", "seeds", lambda rng: topk_topp(rng, 1), SAMPLED),
    Case("TopkToppSamplingOperation", "exponential", lambda rng: topk_topp(rng, 2), SAMPLED),
    Case("AllGatherOperation", "all gather", all_gather, MOVED),
    Case("AllGatherVOperation", "all gather by counts", all_gather_v, MOVED),
    Case("AllToAllVV2Operation", "all to all by counts", all_to_all_vv2, MOVED),
    Case("GroupTopkOperation", "best groups", group_topk, dict(MOVED, **{"nothing dropped": nothing_dropped})),
    Case("BroadcastOperation", "broadcast", broadcast, dict(MOVED, **{"own tensor": own_tensor})),
    Case("AllToAllOperation", "all to all", all_to_all, MOVED),
    Case("CumsumOperation", "cumsum", cumsum, CUMSUM),
    Case("ReduceOperation", "reduce", reduce_over, REDUCED),
    Case("TopkToppSamplingOperation", "draws, logarithms", lambda rng: topk_topp(rng, 3), dict(SAMPLED, **LOGS)),
    Case("TopkToppSamplingOperation", "exponential, logarithms", lambda rng: topk_topp(rng, 4), dict(SAMPLED, **LOGS)),
    Case("AllReduceOperation", "all reduce", all_reduce, FOLDED),
    Case("ReduceScatterOperation", "reduce scatter", reduce_scatter, FOLDED),
    Case("ReduceScatterVOperation", "reduce scatter by counts", reduce_scatter_v,
         {name: MOVED[name] for name in ("neighbours exchanged", "shifted by one", "tail not written", "last row stale",
                                         "in another order")}),
]
