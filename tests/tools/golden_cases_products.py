"""Honest runs of products, computed apart from the program, and ways to spoil their outputs."""
from __future__ import annotations

import numpy as np

from golden_case import Case, Run, Tensor, tensor_of, values_of
from golden_matrices import COMMON, REAL, SHORT, packed, real, rounded, same, spoiled, whole


def accumulated(rng, dtype: str, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a @ b as some honest arithmetic has it: f64, or f32 in one of several orders."""
    how = rng.integers(4)
    if how == 0 or dtype == "float64":
        return a @ b
    a, b = a.astype(np.float32), b.astype(np.float32)
    if how == 1:
        return (a @ b).astype(np.float64)
    if how == 2:  # in chunks of the length
        sum_ = np.zeros((*a.shape[:-1], b.shape[-1]), np.float32)
        for k in range(0, a.shape[-1], 16):
            sum_ = sum_ + a[..., k:k + 16] @ b[..., k:k + 16, :]
        return sum_.astype(np.float64)
    sum_ = np.zeros((*a.shape[:-1], b.shape[-1]), np.float32)  # one term after another
    for k in range(a.shape[-1]):
        sum_ = sum_ + a[..., k:k + 1] * b[..., k:k + 1, :]
    return sum_.astype(np.float64)


def small_accumulator(dtype: str, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    sum_ = np.zeros((*a.shape[:-1], b.shape[-1]))
    for k in range(a.shape[-1]):
        sum_ = rounded(dtype, sum_ + a[..., k:k + 1] * b[..., k:k + 1, :])
    return sum_


def swap(values: np.ndarray, yes: bool) -> np.ndarray:
    return np.swapaxes(values, -1, -2) if yes else values


def linear(rng, dtype: str, bias: str = "", transpose_a: bool = False, transpose_b: bool = True, batch: int = 0) -> Run:
    m, n, k = int(rng.integers(2, 24)), int(rng.integers(2, 40)), int(rng.integers(24, 300))
    lead = (batch,) if batch else ()
    x = real(rng, dtype, *lead, *((k, m) if transpose_a else (m, k)))
    weight = real(rng, dtype, *lead, *((n, k) if transpose_b else (k, n)), scale=k**-0.5)
    y = accumulated(rng, dtype, swap(values_of(x), transpose_a), swap(values_of(weight), transpose_b))
    inputs = [x, weight]
    if bias:
        inputs.append(real(rng, bias, 1, n))
        fused = rng.integers(2)
        y = (y if fused else rounded(dtype, y)) + values_of(inputs[2])
    params = {"transposeA": transpose_a, "transposeB": transpose_b, "hasBias": bool(bias), "outDataType": -1}
    return Run(params, inputs, [tensor_of(dtype, y)])


def product_faults(transpose: str = "transposeB"):
    def parts(run):
        a = swap(values_of(run.inputs[0]), run.params.get("transposeA", False))
        b = swap(values_of(run.inputs[1]), run.params[transpose])
        added = values_of(run.inputs[2]) if run.params.get("hasBias") else 0
        return a, b, added

    def small(rng, run):
        a, b, added = parts(run)
        dtype = run.inputs[0].dtype
        return same(run, small_accumulator("float16" if dtype == "float32" else dtype, a, b) + added)

    def last_term(rng, run):
        a, b, added = parts(run)
        return same(run, a[..., :-1] @ b[..., :-1, :] + added)

    def shifted(rng, run):
        a, b, added = parts(run)
        return same(run, a @ np.roll(b, 1, axis=-1) + added)

    def transposed(rng, run):
        a, b, added = parts(run)  # the memory of the weight read in the other order
        return same(run, a @ np.swapaxes(b.reshape(*b.shape[:-2], b.shape[-1], b.shape[-2]), -1, -2) + added)

    return {**COMMON, "accumulated in the small type": small, "last term left out": last_term,
            "columns off by one": shifted, "transposed weight": transposed}


def no_bias(rng, run):
    return same(run, values_of(run.outputs[0]) - values_of(run.inputs[2]))


def quantised(rng, dtype: str, bias: bool = True, per_token: bool = False) -> Run:
    m, n, k = int(rng.integers(2, 20)), int(rng.integers(2, 40)), int(rng.integers(8, 2500))
    x, weight = whole(rng, m, k), whole(rng, n, k)
    sums = x.array.astype(np.int64) @ weight.array.astype(np.int64).T
    inputs = [x, weight]
    if bias:
        inputs.append(Tensor("int32", rng.integers(-5000, 5000, (1, n)).astype(np.int32)))
        sums = sums + inputs[2].array
    scale = (rng.uniform(0.5, 2, n) * 1e-4).astype(np.float32)
    if dtype == "float16" and not per_token:
        inputs.append(packed(scale))
        scale = inputs[-1].array.astype(np.uint32).view(np.float32)
    else:
        inputs.append(Tensor("float32", scale))
    y = (sums.astype(np.float32) * scale).astype(np.float64) if rng.integers(2) else sums * scale.astype(np.float64)
    if per_token:
        inputs.append(Tensor("float32", rng.uniform(0.5, 2, m).astype(np.float32)))
        y = y * inputs[-1].array.astype(np.float64)[:, None]
    params = {"transposeA": False, "transposeB": True, "hasBias": bias,
              "outDataType": 1 if dtype == "float16" else 27, "quantMode": 2 if per_token else 0}
    return Run(params, inputs, [tensor_of(dtype, y)])


def quantised_faults(has_bias: bool = False):
    def sums_of(run):
        return run.inputs[0].array.astype(np.int64) @ run.inputs[1].array.astype(np.int64).T

    def ratio(run, other):
        sums = sums_of(run).astype(np.float64)
        bias = run.inputs[2].array if run.params["hasBias"] else 0
        y = values_of(run.outputs[0])
        return y * (other + bias) / np.where(sums + bias == 0, 1, sums + bias)

    def wraps(rng, run):
        return same(run, ratio(run, sums_of(run).astype(np.int16).astype(np.float64) * 0.97))

    def last_terms(rng, run):
        a, b = run.inputs[0].array.astype(np.int64), run.inputs[1].array.astype(np.int64)
        return same(run, ratio(run, a[:, :-32] @ b[:, :-32].T if a.shape[1] > 32 else a[:, :-1] @ b[:, :-1].T))

    def no_bias(rng, run):
        sums = sums_of(run).astype(np.float64)
        both = sums + run.inputs[2].array
        return same(run, values_of(run.outputs[0]) * sums / np.where(both == 0, 1, both))

    def wrong_scale(rng, run):
        values = values_of(run.outputs[0]).copy()
        values[:, 0] *= 1.02
        return same(run, values)

    faults = {**COMMON, "sums too short": wraps, "last terms left out": last_terms, "scale of one channel": wrong_scale}
    return {**faults, "bias left out": no_bias} if has_bias else faults


def accumulating(rng, dtype: str) -> Run:
    run = linear(rng, dtype)
    base = Tensor("float32", rng.standard_normal(run.outputs[0].array.shape).astype(np.float32))
    y = accumulated(rng, dtype, values_of(run.inputs[0]), values_of(run.inputs[1]).T) + base.array
    return Run({**run.params, "enAccum": True}, [*run.inputs, base], [tensor_of("float32", y)])


def einsum(rng, dtype: str) -> Run:
    m, b = int(rng.integers(2, 12)), int(rng.integers(1, 5))
    n, k = int(rng.integers(2, 20)), int(rng.integers(8, 100))
    x, weight = real(rng, dtype, m, b, k), real(rng, dtype, b, k, n, scale=k**-0.5)
    y = np.einsum("mbk,bkn->mbn", values_of(x), values_of(weight))
    params = {"transposeA": False, "transposeB": False, "hasBias": False, "outDataType": -1, "matmulType": 1}
    return Run(params, [x, weight], [tensor_of(dtype, y)])


def matmul(rng, dtype: str) -> Run:
    run = linear(rng, dtype, transpose_b=bool(rng.integers(2)))
    params = {key: run.params[key] for key in ("transposeA", "transposeB")}
    y = accumulated(rng, dtype, values_of(run.inputs[0]), swap(values_of(run.inputs[1]), params["transposeB"]))
    return Run(params, run.inputs, [tensor_of("float16", y)])


def nz(values: np.ndarray, block: int) -> np.ndarray:
    """[rows, columns] as blocks of columns."""
    rows, columns = values.shape
    return np.ascontiguousarray(values.reshape(rows, columns // block, block).transpose(1, 0, 2))


def linear_nz(rng, in_place: bool) -> Run:
    m, n, k = int(rng.integers(2, 20)), int(rng.integers(2, 40)), 16 * int(rng.integers(2, 12))
    x, weight = real(rng, "float16", m, k), real(rng, "float16", n, k, scale=k**-0.5)
    y = accumulated(rng, "float16", values_of(x), values_of(weight).T)
    blocks = nz(weight.array, 16)
    stored = Tensor("float16", blocks.reshape(n, k) if in_place else blocks[None])
    params = {"transposeA": False, "transposeB": True, "hasBias": False, "outDataType": -1}
    return Run(params, [x, stored], [tensor_of("float16", y)], "Ascend310P" if in_place else "")


def strided(rng) -> Run:
    batch, heads = int(rng.integers(1, 4)), int(rng.integers(1, 4))
    m, n, k = ([int(rng.integers(1, 12)) for _ in range(batch)] for _ in range(3))
    a = real(rng, "float16", sum(m[i] * k[i] * heads for i in range(batch)))
    b = real(rng, "float16", sum(n[i] * k[i] * heads for i in range(batch)))
    flat_a, flat_b, out, at_a, at_b = values_of(a), values_of(b), [], 0, 0
    for i in range(batch):
        x = flat_a[at_a:at_a + m[i] * k[i] * heads].reshape(m[i], heads, k[i])
        y = flat_b[at_b:at_b + n[i] * k[i] * heads].reshape(n[i], heads, k[i])
        out.append(np.einsum("mhk,nhk->mhn", x, y).reshape(-1))
        at_a, at_b = at_a + x.size, at_b + y.size
    params = {"batch": batch, "headNum": heads, "transposeA": False, "transposeB": True, "m": m, "n": n, "k": k,
              "lda": [heads * each for each in k], "ldb": [heads * each for each in k],
              "ldc": [heads * each for each in n], "strideA": k, "strideB": k, "strideC": n}
    return Run(params, [a, b], [tensor_of("float16", np.concatenate(out))])


def flat_faults():
    def change(rng, values):
        values[int(rng.integers(values.size))] += 0.05
        return values

    return {"one element off": spoiled(change), "reversed": spoiled(lambda rng, v: v[::-1] + (v.size < 2)),
            "last element zero": spoiled(lambda rng, v: np.append(v[:-1], 0.0)),
            "all one percent large": spoiled(lambda rng, v: v * 1.01),
            "shifted by one": spoiled(lambda rng, v: np.roll(v, 1) + (v.size < 2))}


def parallel_alone(rng, dtype: str) -> Run:
    run = linear(rng, dtype)
    params = {"backend": "lcoc", "type": 3, "rank": 0, "rankRoot": 0, "rankSize": 1, "transWeight": True,
              "quantType": -1, "hasResidual": False}
    return Run(params, run.inputs, run.outputs)


def grouped_sum(rng, dtype: str, params: dict, x: Tensor, weight: Tensor, ends, base: Tensor, spoil=None) -> list[Tensor]:
    """Of each group of terms a product, added to its part of `base`."""
    a, b = swap(values_of(x), params["transposeA"]), values_of(weight)
    parts, before = [], 0
    for end in ends:
        parts.append(accumulated(rng, dtype, a[:, before:end], b[before:end]))
        before = end
    if spoil:
        parts = spoil(parts)
    return [tensor_of("float32", np.concatenate(parts) + values_of(base))]


def grouped(rng, dtype: str) -> Run:
    groups, m, n, k = (int(rng.integers(low, high)) for low, high in ((2, 6), (1, 12), (2, 24), (8, 120)))
    ends = np.append(np.sort(rng.permutation(k - 1)[:groups - 1]) + 1, k)
    if rng.random() < 0.3:
        ends, groups = np.append(0, ends), groups + 1  # one without terms
    params = {"transposeA": bool(rng.integers(2)), "transposeB": False}
    x = real(rng, dtype, *((k, m) if params["transposeA"] else (m, k)))
    weight, base = real(rng, dtype, k, n), real(rng, "float32", groups * m, n)
    run = Run(params, [x, weight, Tensor("int64", ends.astype(np.int64)), base],
              grouped_sum(rng, dtype, params, x, weight, ends, base))
    return run


def grouped_faults():
    def again(spoil, plain=lambda run: run.inputs[3]):
        def fault(rng, run):
            x, weight, ends, _ = run.inputs
            return grouped_sum(rng, x.dtype, run.params, x, weight, ends.array, plain(run), spoil)
        return fault

    nothing = lambda run: Tensor("float32", run.inputs[3].array * np.float32(0))
    return {**COMMON, "sum left out": again(None, nothing), "last group left out": again(lambda p: [*p[:-1], p[-1] * 0]),
            "groups not parted": again(lambda parts: [sum(parts)] * len(parts))}


def routed(rng, dtype: str, adds: bool, whole_numbers: bool = False) -> Run:
    experts, tokens, n, k = (int(rng.integers(low, high)) for low, high in ((2, 6), (2, 12), (2, 24), (8, 90)))
    chosen = int(rng.integers(1, experts + 1))
    of_token = [rng.permutation(experts)[:chosen] for _ in range(tokens)]
    index = np.array([t for e in range(experts) for t in range(tokens) if e in of_token[t]], np.int32)
    counts = np.array([sum(e in each for each in of_token) for e in range(experts)])
    rows = tokens * chosen if adds else tokens
    transposes = bool(rng.integers(2))
    shape = (experts, n, k) if transposes else (experts, k, n)
    x, weight = (whole(rng, rows, k), whole(rng, *shape)) if whole_numbers else (
        real(rng, dtype, rows, k), real(rng, dtype, *shape, scale=k**-0.5))
    params = {"transposeB": transposes, "topK": chosen, "groupedMatmulType": int(adds),
              "outDataType": -1 if not whole_numbers else 1 if dtype == "float16" else 27}
    inputs = [x, weight, Tensor("int32", np.cumsum(counts).astype(np.int32)), Tensor("int32", index)]
    if whole_numbers:
        inputs += [Tensor("float32", rng.uniform(0.5, 2, (experts, n)).astype(np.float32) * np.float32(1e-3)),
                   Tensor("float32", rng.uniform(0.5, 2, rows).astype(np.float32))]
    return Run(params, inputs, routed_outputs(rng, dtype, params, inputs))


def routed_outputs(rng, dtype: str, params: dict, inputs: list[Tensor], index=None, first_weight: bool = False) -> list[Tensor]:
    x, weight = values_of(inputs[0]), swap(values_of(inputs[1]), params["transposeB"])
    index = inputs[3].array if index is None else index
    adds, before, parts = params["groupedMatmulType"] == 1, 0, []
    for expert, end in enumerate(inputs[2].array):
        a, b = x[before:end] if adds else x[index[before:end]], weight[0 if first_weight else expert]
        if len(inputs) > 4:
            scales = inputs[5].array[before:end] if adds else inputs[5].array[index[before:end]]
            parts.append((a @ b) * scales.astype(np.float64)[:, None] * inputs[4].array[expert].astype(np.float64))
        else:
            parts.append(accumulated(rng, dtype, a, b))
        before = end
    out = np.concatenate(parts)
    if adds:
        total = np.zeros((len(x) // params["topK"], out.shape[1]))
        by_step = rng.integers(2)
        for row, token in enumerate(index):
            total[token] = rounded(dtype if by_step else "float32", total[token] + out[row])
        out = total
    return [tensor_of(dtype, out)]


def routed_faults():
    def again(**change):
        def fault(rng, run):
            given = {key: value(run) if callable(value) else value for key, value in change.items()}
            return routed_outputs(rng, run.outputs[0].dtype, run.params, run.inputs, **given)
        return fault

    return {**COMMON, "tokens off by one": again(index=lambda run: (run.inputs[3].array + 1) % (run.inputs[3].array.max() + 1)),
            "weight of the first expert": again(first_weight=True)}


def product_cases() -> list[Case]:
    cases = []
    for dtype in REAL:
        cases += [
            Case("LinearOperation", f"linear {dtype}", lambda rng, d=dtype: linear(rng, d), product_faults()),
            Case("LinearOperation", f"linear {dtype} with bias", lambda rng, d=dtype: linear(rng, d, d),
                 {**product_faults(), "bias left out": no_bias}),
            Case("LinearOperation", f"linear {dtype} transposed", lambda rng, d=dtype: linear(
                rng, d, transpose_a=True, transpose_b=False), product_faults()),
            Case("LinearOperation", f"linear {dtype} in batches", lambda rng, d=dtype: linear(rng, d, batch=3),
                 product_faults()),
            Case("LinearOperation", f"einsum {dtype}", lambda rng, d=dtype: einsum(rng, d), COMMON),
            Case("LinearParallelOperation", f"alone {dtype}", lambda rng, d=dtype: parallel_alone(rng, d),
                 product_faults("transWeight")),
            Case("MatmulOperation", f"matmul {dtype}", lambda rng, d=dtype: matmul(rng, d), COMMON),
        ]
    for dtype in SHORT:
        cases += [
            Case("LinearOperation", f"int8 to {dtype}", lambda rng, d=dtype: quantised(rng, d), quantised_faults(True)),
            Case("LinearOperation", f"int8 to {dtype} without bias", lambda rng, d=dtype: quantised(rng, d, False),
                 quantised_faults()),
            Case("LinearOperation", f"int8 to {dtype} per token", lambda rng, d=dtype: quantised(
                rng, d, False, True), quantised_faults()),
            Case("LinearOperation", f"accumulating {dtype}", lambda rng, d=dtype: accumulating(rng, d), COMMON),
            Case("GroupedMatmulInplaceAddOperation", f"groups {dtype}", lambda rng, d=dtype: grouped(rng, d), grouped_faults()),
            Case("GroupedMatmulWithRoutingOperation", f"up {dtype}", lambda rng, d=dtype: routed(rng, d, False), routed_faults()),
            Case("GroupedMatmulWithRoutingOperation", f"down {dtype}", lambda rng, d=dtype: routed(rng, d, True),
                 routed_faults()),
            Case("GroupedMatmulWithRoutingOperation", f"up, int8 to {dtype}", lambda rng, d=dtype: routed(rng, d, False, True),
                 routed_faults()),
            Case("GroupedMatmulWithRoutingOperation", f"down, int8 to {dtype}", lambda rng, d=dtype: routed(rng, d, True, True),
                 routed_faults()),
        ]
    return cases + [
        Case("LinearOperation", "weight in blocks", lambda rng: linear_nz(rng, False), COMMON),
        Case("LinearOperation", "weight in blocks in place", lambda rng: linear_nz(rng, True), COMMON),
        Case("StridedBatchMatmulOperation", "strided batches", strided, flat_faults()),
    ]


CASES = product_cases()
