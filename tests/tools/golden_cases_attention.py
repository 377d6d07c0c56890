"""Honest runs of attention, computed apart from the program, and ways to spoil their outputs."""
from __future__ import annotations

from statistics import NormalDist

import numpy as np

from golden_case import Case, Run, Tensor, tensor_of, values_of
from golden_int8_attention import Int8Rule
from golden_matrices import (REAL, SHORT, exchange_rows, lengths, one_element, packed, real, rounded, same, spoiled,
                             stale_last_tile, twice_one_column, whole, zero_last_column)


def attend(rng, dtype: str, q, k, v, scale: float, mask=None, clamp=None, last: bool = False, how=None,
           int8: Int8Rule | None = None, from_int8: bool = False) -> np.ndarray:
    """[queries, heads, size] of one sample, as some honest arithmetic has it: f64; f32; f32 with weights rounded before
    the second product (flash kernels); every step rounded (operator by operator). `from_int8`: keys and values were made
    of int8, and are rounded to the type as well where weights are."""
    how = int(rng.integers(4)) if how is None else how
    if int8:
        return int8.attend(rng, q, k, v, scale, mask, 0 if rng is None else 1).astype(np.float64)
    if dtype == "float32" and how > 1:
        how = 1
    if from_int8 and how > 1:
        k, v = rounded(dtype, k), rounded(dtype, v)
    kind = np.float64 if how == 0 else np.float32
    step = (lambda values: rounded(dtype, values).astype(np.float32)) if how == 3 else (lambda values: values)
    group = q.shape[1] // k.shape[1]
    q, k, v = (each.astype(kind) for each in (q, np.repeat(k, group, axis=1), np.repeat(v, group, axis=1)))
    scores = step(np.einsum("ihd,jhd->hij", q, k))
    if not last:
        scores = step(scores * kind(scale))
    if clamp:
        scores = np.clip(scores, *clamp)
    if mask is not None:
        scores = step(scores + mask.astype(kind))
    if last:
        scores = step(scores * kind(scale))
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    sums = weights.sum(-1, keepdims=True)
    if how == 3:
        weights, sums = step(weights / sums), kind(1)
    elif how == 2:
        weights = rounded(dtype, weights).astype(kind)
    out = np.einsum("hij,jhd->hid", weights, v) / sums
    return out.transpose(1, 0, 2).astype(np.float64)


def head_sizes(rng) -> tuple[int, int, int]:
    keys, group = int(rng.integers(1, 4)), int(rng.integers(1, 4))
    return keys * group, keys, int(rng.choice([8, 16, 32, 64]))


def split(values: np.ndarray, sizes) -> list[np.ndarray]:
    return np.split(values, np.cumsum(sizes)[:-1])


def triangle(rows: int, columns: int, hidden: float) -> np.ndarray:
    return np.triu(np.full((rows, columns), hidden), 1 + columns - rows)


class Spoilt(list):
    """Outputs, and what the fault alone did to the first of them."""
    effect: np.ndarray


def attention_faults(again, only=None):
    """`again(run, change)` computes the run anew in f64 with one thing changed."""
    def changed(**change):
        def fault(rng, run):
            # What the fault alone does to the honest output, however that was rounded: to leave out a key that is hidden, or
            # to scale a head that sees one key, does nothing.
            effect = (again(run, change) - again(run, {})).reshape(run.outputs[0].array.shape)
            outputs = Spoilt(same(run, values_of(run.outputs[0]) + effect))
            outputs.effect = effect
            return outputs
        return fault

    if only:
        return {name: changed(**change) for name, change in only.items()}
    return {"last column zero": spoiled(zero_last_column), "one column doubled": spoiled(twice_one_column),
            "one element wrong": spoiled(one_element), "first and last row exchanged": spoiled(exchange_rows),
            "stale last tile": spoiled(stale_last_tile), "heaviest key left out": changed(drop="heaviest"),
            "last key left out": changed(drop="last"), "scale ten percent large": changed(scale=1.1),
            "scale of one head": changed(scale_of_head=1.5), "heads of queries exchanged": changed(roll_heads=True),
            "values of the next key": changed(roll_values=True)}


def masked(faults, again, name):
    """Linear slopes that are shifted by a key are what they were, but for a constant, which softmax does not see: there the
    slopes are those of the next head."""
    fault, change = ("slopes of the next head", "roll_slopes") if name.endswith(", alibi") and name.startswith("paged") else (
        "mask off by one", "roll_mask")
    return faults | attention_faults(again, {fault: {change: True}})


def tampered(parts, change):
    q, k, v, scale, mask = parts
    scale = scale * change.get("scale", 1)
    if change.get("scale_of_head"):  # the first one's
        q = np.concatenate([q[:, :1] * change["scale_of_head"], q[:, 1:]], axis=1)
    if change.get("roll_mask"):  # each key has the mask of the one before
        mask = np.concatenate([mask[..., :1], mask[..., :-1]], axis=-1)
    if change.get("roll_slopes"):
        mask = np.roll(mask, 1, axis=0)
    if change.get("drop"):
        scores = k[:, 0] @ q[-1, 0] * scale + (0 if mask is None else mask[0, -1])
        # Of the keys that the last query sees, the one that weighs most; or the last one.
        gone = np.argmax(scores) if change["drop"] == "heaviest" else k.shape[0] - 1
        left = np.delete(np.arange(k.shape[0]), gone)
        if left.size == 0:
            return q, k, v * 0, scale, mask
        k, v, mask = k[left], v[left], None if mask is None else mask[..., left]
    if change.get("roll_heads"):
        q = np.roll(q, 1, axis=1) if q.shape[1] > 1 else -q
    if change.get("roll_values"):
        v = np.roll(v, 1, axis=0)
    return q, k, v, scale, mask


class Attention:
    """A run and the samples it was computed from."""

    def __init__(self, params, inputs, parts, dtype, rng, soc="", **rules):
        self.parts, self.dtype, self.rules = parts, dtype, rules
        out = np.concatenate([attend(rng, dtype, *part, **rules) for part in parts])
        shape = inputs[0].array.shape
        width = parts[0][2].shape[-1]
        out = out.reshape(*shape[:-1], width) if len(shape) == 3 else out.reshape(shape[0], -1)
        self.run = Run(params, inputs, [tensor_of(dtype, out)], soc)
        self.run.attention = self

    @staticmethod
    def again(run, change):
        me = run.attention
        return np.concatenate([attend(None, me.dtype, *tampered(part, change), **me.rules, how=0)
                               for part in me.parts])

    @staticmethod
    def is_within_rounding(run, outputs) -> bool:
        """Either of two. A test that knows the fault, and weighs each element by how far honest kernels are spread there, sees
        it d deviations off: d² = Σ (effect / spread)². To raise no more than one alarm in 10^7 honest runs it has to let pass
        what is 5.2 deviations off, and 99 of 100 runs lie no more than 2.3 below their mean: below 7.5 no test catches 99 %.
        Or no element is where honest kernels do not come, and the verdict is one of each element."""
        me, honest = run.attention, values_of(run.outputs[0])
        effect = getattr(outputs, "effect", values_of(outputs[0]) - honest)
        spread = me.of_parts(me.spread).reshape(honest.shape)
        if float(np.sum((effect / spread)**2)) < 7.5**2:
            return True
        off = np.abs(values_of(outputs[0]) - Attention.again(run, {}).reshape(honest.shape))
        if me.rules.get("int8"):
            return bool(np.all(off <= me.of_parts(me.reach).reshape(honest.shape)))
        # Of all elements none is further off in more than one of 10^7 honest runs.
        return bool(np.all(off <= -NormalDist().inv_cdf(0.5e-7 / honest.size) * spread))

    def of_parts(self, of_part) -> np.ndarray:
        return np.concatenate([of_part(*part) for part in self.parts])

    def reach(self, q, k, v, scale, mask) -> np.ndarray:
        """[queries, heads, size]: how far int8 weights bring a result. Each is off by half a step, to either side as the blocks
        of keys fall, which a dump does not tell; or all of it is lost, if it is less."""
        int8, group = self.rules["int8"], q.shape[1] // k.shape[1]
        k, v = np.repeat(k, group, axis=1), np.repeat(v, group, axis=1)
        scores = np.einsum("ihd,jhd->hij", q, k) * int8.of_scores[:, None, None] * scale
        scores = scores if mask is None else scores + mask
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        half = (0.5 + 1 / 32) * int8.steps()[:, None, None]
        sums = weights.sum(-1, keepdims=True)
        factors = int8.factors()[:, None, None]
        most = np.einsum("hij,jhd->hid", np.minimum(weights, half), np.abs(v)) / sums * factors
        out = np.einsum("hij,jhd->hid", weights, v) / sums * factors
        unit = {"float16": 2.0**-11, "bfloat16": 2.0**-8}[self.dtype]
        return (most + unit * (np.abs(out) + most) + 2.0**-25).transpose(1, 0, 2)

    def spread(self, q, k, v, scale, mask) -> np.ndarray:
        """[queries, heads, size]: the standard deviation of honest kernels that round as docs/operators/products.md says. A
        rounding is even between half a step to either side; 0.42 units of a number where that may lie anywhere in its binade."""
        unit = {"float16": 2.0**-11, "bfloat16": 2.0**-8, "float32": 2.0**-24}[self.dtype]
        int8 = self.rules.get("int8")
        group = q.shape[1] // k.shape[1]
        k, v = np.repeat(k, group, axis=1), np.repeat(v, group, axis=1)
        plain = np.einsum("ihd,jhd->hij", q, k) * (int8.of_scores[:, None, None] if int8 else 1.0)
        masked = plain * (1 if self.rules.get("last") else scale)
        masked = np.clip(masked, *self.rules["clamp"]) if self.rules.get("clamp") else masked
        scores = masked if mask is None else masked + mask
        scores = scores * scale if self.rules.get("last") else scores
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        sums = weights.sum(-1, keepdims=True)
        out = np.einsum("hij,jhd->hid", weights, v) / sums
        if int8:
            half = (0.5 + 1 / 32) * int8.steps()[:, None, None]
            squares = np.einsum("hij,jhd->hid", np.minimum(weights, half)**2 / 3, v * v) / sums**2
        else:
            share = weights / sums
            seen = np.where(weights > 0, np.maximum(np.abs(scores), np.abs(masked)), 0)
            below = np.where(weights > 0, scores - scores.max(-1, keepdims=True), 0)
            roundings = share**2 * ((2 + (mask is not None)) * seen**2 + below**2)
            of_values = 1
            if self.rules.get("from_int8"):
                roundings += share**2 * np.einsum("ihd,jhd->hij", (q * scale)**2, k**2)
                of_values = 2
            # (v - out)², without a cube of queries, keys and elements: scores that are off move the sum as well.
            moved = (np.einsum("hij,jhd->hid", roundings, v * v) - 2 * out * np.einsum("hij,jhd->hid", roundings, v) +
                     out * out * roundings.sum(-1, keepdims=True))
            squares = (0.42 * unit)**2 * (of_values * np.einsum("hij,jhd->hid", share**2, v * v) + np.maximum(moved, 0))
        factors = int8.factors()[:, None, None] if int8 else 1.0
        out, squares = out * factors, squares * factors**2
        half_step = unit * 2.0**np.floor(np.log2(np.maximum(np.abs(out), 2.0**-14)))
        return np.sqrt(squares + half_step**2 / 3).transpose(1, 0, 2)


def pa_encoder(rng, dtype: str, mask_type: int = 0, clamp=None, mla: bool = False, precise: bool = False,
               int8: str = "") -> Run:
    heads, keys, size = head_sizes(rng)
    samples = [int(each) for each in rng.integers(2, 90, int(rng.integers(1, 4)))]
    tokens, width = sum(samples), size // 2 if mla else size
    q, k = real(rng, dtype, tokens, heads, size), real(rng, dtype, tokens, keys, size)
    v = Tensor(k.dtype, k.array[..., :width]) if mla else real(rng, dtype, tokens, keys, width)
    rule, scale = None, size**-0.5
    if int8:
        rule = Int8Rule(rng, int8, heads)
        q, k, v = (whole(rng, tokens, of, size) for of in (heads, keys, keys))
    params = {"headNum": heads, "kvHeadNum": keys, "qkScale": scale, "qScale": 1.0, "calcType": 3, "maskType": mask_type,
              "kernelType": int(precise), "mlaVHeadSize": width if mla else 0}
    inputs, extra, longest = [q, k] if mla else [q, k, v], [], max(samples)
    plain = dtype == "float16" or precise
    slopes = 2.0**-np.arange(1, heads + 1)
    masks = [None] * len(samples)
    if mask_type in (1, 3):
        given = triangle(longest, longest, -10000 if plain else 1)
        inputs.append(tensor_of(dtype, given if mask_type == 1 else given[:2, :2]))
        masks = [triangle(s, s, -10000.0)[None] for s in samples]
    elif mask_type == 2:
        given = (np.arange(longest)[None, :] - np.arange(longest)[:, None]) * slopes[:, None, None]
        given = given + triangle(longest, longest, -10000)
        inputs.append(tensor_of(dtype, given))
        masks = [values_of(inputs[-1])[:, :s, :s] for s in samples]
    elif mask_type in (4, 5, 6):
        small = 16
        lower = np.tril(np.arange(small)[:, None] - np.arange(small)[None, :])
        if mask_type == 6:
            given = np.tile(np.arange(small, dtype=float), (small, 1)) + np.triu(np.full((small, small), -np.inf), 1)
        else:
            given = (np.sqrt(lower) if mask_type == 5 else lower) + np.triu(np.full((small, small), 60000.0), 1)
        inputs.append(tensor_of(dtype, given))
        extra = [Tensor("float32", (slopes if mask_type == 6 else -slopes).astype(np.float32))]
        column = values_of(inputs[-1])[:, 0]

        def bias(s):
            far = np.arange(s)[:, None] - np.arange(s)[None, :]
            if mask_type == 6:
                factors = np.broadcast_to(np.arange(s, dtype=float)[None, :], (s, s)) * np.ones((s, 1))
                each = factors * slopes[:, None, None]
            else:
                distance = np.maximum(far, 0)
                factors = np.sqrt(distance) if mask_type == 5 else distance.astype(float)
                factors = np.where(distance < small, column[np.minimum(distance, small - 1)], factors)
                each = -slopes[:, None, None] * factors
            return np.where(far < 0, -1e9, each)
        masks = [bias(s) for s in samples]
    if clamp:
        params.update(clampType=1, clampMin=clamp[0], clampMax=clamp[1])
    inputs += [lengths(samples), *extra]
    if rule:
        params.update(quantType=3 if int8 == "by_block" else 2, outDataType=27 if dtype == "bfloat16" else 1)
        unused = Tensor("int32", np.zeros(heads, np.int32))
        inputs += [Tensor("float32", rule.of_scores), unused, Tensor("float32", rule.of_values), unused]
        inputs += [Tensor("float32", rule.scale)] if int8 == "divided" else []
    parts = [(a, b, c, scale, m) for a, b, c, m in zip(split(values_of(q), samples), split(values_of(k), samples),
                                                       split(values_of(v), samples), masks)]
    return Attention(params, inputs, parts, dtype, rng, clamp=clamp, int8=rule).run


def bypass(rng, dtype: str, has_mask: bool) -> Run:
    heads, keys, size = head_sizes(rng)
    batch, layers, room = int(rng.integers(1, 4)), 2, 50
    contexts = [int(each) for each in rng.integers(8, room, batch)]
    queries = [int(rng.integers(1, n + 1)) for n in contexts]
    q = real(rng, dtype, sum(queries), heads * size)
    k, v = real(rng, dtype, layers, batch, room, keys * size), real(rng, dtype, layers, batch, room, keys * size)
    scale, inputs, masks = size**-0.5, [q, k, v], [None] * batch
    params = {"headNum": heads, "kvHeadNum": keys, "qScale": 1.0, "qkScale": scale, "calcType": 2, "kvcacheCfg": 1,
              "maskType": int(has_mask)}
    if has_mask:
        hidden = rng.integers(0, 2, (batch, room, room)) * (rng.random((batch, room, room)) < 0.5)
        hidden[..., 0] = 0
        inputs.append(tensor_of(dtype, hidden * (-10000.0 if dtype == "float16" else 1.0)))
        masks = [hidden[b, :queries[b], :contexts[b]][None] * -10000.0 for b in range(batch)]
    inputs += [lengths(contexts), lengths(queries), lengths([1])]
    parts = []
    for b, part in enumerate(split(values_of(q).reshape(-1, heads, size), queries)):
        cut = [values_of(each)[1, b, :contexts[b]].reshape(-1, keys, size) for each in (k, v)]
        parts.append((part, *cut, scale, masks[b]))
    return Attention(params, inputs, parts, dtype, rng).run


def with_cache(rng, dtype: str) -> Run:
    heads, _, size = head_sizes(rng)
    batch, layers, room = int(rng.integers(1, 4)), 2, 40
    queries = [int(each) for each in rng.integers(1, 8, batch)]
    contexts = [s + int(rng.integers(4, 30)) for s in queries]
    q, k, v = (real(rng, dtype, sum(queries), heads * size) for _ in range(3))
    old_k, old_v = (real(rng, dtype, layers, batch, room, heads * size) for _ in range(2))
    mask = (rng.random((40, 40)) < 0.2) * (np.arange(40) > 0) * -10000.0
    scale = size**-0.5
    params = {"headNum": heads, "kvHeadNum": heads, "qScale": 1.0, "qkScale": scale, "calcType": 0, "maskType": 1}
    inputs = [q, k, v, old_k, old_v, tensor_of(dtype, mask), lengths(contexts), lengths(queries), lengths([0])]
    parts = []
    for b, (part, new_k, new_v) in enumerate(zip(*(split(values_of(each), queries) for each in (q, k, v)))):
        old = contexts[b] - queries[b]
        both = [np.concatenate([values_of(cache)[0, b, :old], new]).reshape(-1, heads, size)
                for cache, new in ((old_k, new_k), (old_v, new_v))]
        parts.append((part.reshape(-1, heads, size), *both, scale,
                      values_of(inputs[5])[None, :queries[b], :contexts[b]]))
    return Attention(params, inputs, parts, dtype, rng, last=True).run


def blocks_of(cache: np.ndarray, table: np.ndarray, count: int) -> np.ndarray:
    return cache[table].reshape(-1, *cache.shape[2:])[:count]


def paged(rng, dtype: str, mask_type: int = 0, quant: str = "", spec: bool = False, mla: bool = False,
          in_blocks: bool = False, compresses: bool = False, prefix: bool = False, offsets: bool = False,
          int8: str = "") -> Run:
    heads, keys, size = (head_sizes(rng) if not mla else (int(rng.integers(1, 9)), 1, 32))
    if in_blocks:
        size = 32
    block, count, batch = int(rng.choice([4, 16])), int(rng.integers(8, 20)), int(rng.integers(1, 5))
    contexts = [int(rng.integers(8, 60)), *(int(each) for each in rng.integers(1, 60, batch - 1))]
    queries = [int(rng.integers(1, min(n, 6) + 1)) for n in contexts] if spec or prefix else [1] * batch
    tokens, width, scale = sum(queries), 16 if mla else size, size**-0.5
    q = real(rng, dtype, tokens, heads, size)
    rows = 1 if compresses else keys
    rule, weight_scale = None, []
    if int8:
        rule, q = Int8Rule(rng, int8, heads), whole(rng, tokens, heads, size)
    inputs, scales = [q], []
    if int8:
        caches = [whole(rng, count, block, rows, size) for _ in range(2)]
        real_caches = [values_of(each) for each in caches]
        scales = [Tensor("float32", rule.of_scores), Tensor("float32", rule.of_values)]
        weight_scale = [Tensor("float32", rule.scale)] if int8 == "multiplied" else []
    elif quant:
        caches = [whole(rng, count, block, rows, size) for _ in range(2)]
        real_caches = []
        for cache in caches:
            factor = (rng.uniform(0.5, 1.5, rows * size) * 0.02).astype(np.float32)
            offset = rng.integers(-20, 20, rows * size).astype(np.int32)
            scales.append(packed(factor) if quant == "packed" else Tensor("float32", factor))
            if quant == "packed":
                factor = scales[-1].array.astype(np.uint32).view(np.float32)
                scales.append(Tensor("int32", offset))
            else:
                offset = offset * 0
            real_caches.append((cache.array.astype(np.float64) + offset.reshape(rows, size)) *
                               factor.astype(np.float64).reshape(rows, size))
    else:
        caches = [real(rng, dtype, count, block, rows, size) for _ in range(2)]
        real_caches = [values_of(each) for each in caches]
    if mla:
        caches, real_caches = caches[:1], [real_caches[0], real_caches[0][..., :width]]
    if in_blocks:
        inputs += [Tensor(each.dtype, np.ascontiguousarray(each.array.reshape(count, block, -1, 16).transpose(
            0, 2, 1, 3))) for each in caches]
    else:
        inputs += caches
    per_token = keys if compresses else 1
    widest = max(-(-n // block) for n in contexts)
    table = rng.integers(0, count, (batch * per_token, widest)).astype(np.int32)
    inputs += [Tensor("int32", table)]
    all_contexts = [n for n in contexts for _ in range(per_token)]
    longest = max(contexts)
    if not prefix:
        inputs.append(lengths(all_contexts))
    masks = [None] * batch
    if prefix:
        inputs.append(tensor_of(dtype, triangle(128, 128, -10000.0 if dtype == "float16" else 1.0)))
        masks = [triangle(queries[b], contexts[b], -10000.0)[None] for b in range(batch)]
    elif mask_type == 1 and spec:
        square = triangle(longest, longest, -10000.0)
        inputs.append(tensor_of(dtype, square))
        masks = [values_of(inputs[-1])[None, n - s:n, :n] for s, n in zip(queries, contexts)]
    elif mask_type == 1:
        hidden = (rng.random((batch, 1, longest)) < 0.3) * (np.arange(longest) > 0) * -10000.0
        inputs.append(tensor_of(dtype, hidden))
        masks = [values_of(inputs[-1])[b, :, None, :n] for b, n in enumerate(contexts)]
    elif mask_type == 2:
        bias = (np.arange(longest) - longest + 1) * 2.0**-np.arange(1, heads + 1)[None, :, None, None]
        inputs.append(tensor_of(dtype, np.repeat(bias, batch, axis=0)))
        masks = [values_of(inputs[-1])[b, :, :, :n] for b, n in enumerate(contexts)]
    elif mask_type == 3:
        hidden = (rng.random((tokens, longest)) < 0.3) * (np.arange(longest) > 0) * -10000.0
        inputs.append(tensor_of(dtype, hidden))
        masks = [each[None, :, :n] for each, n in zip(split(values_of(inputs[-1]), queries), contexts)]
    inputs += scales
    if offsets:
        added = real(rng, "float32", count, block)
        inputs.append(added)
    if spec or prefix:
        inputs.append(lengths(queries))
    inputs += weight_scale
    if prefix:
        inputs.append(lengths(contexts))
    params = {"headNum": heads, "kvHeadNum": keys, "qkScale": scale, "maskType": 3 if prefix else mask_type,
              "mlaVHeadSize": width if mla else 0}
    if prefix:
        params["calcType"] = 4
    else:
        params.update(calcType=int(spec), quantType=int(bool(quant)), hasQuantOffset=quant == "packed",
                      compressType=2 if offsets else int(compresses))
    if int8:
        params.update(quantType=3 if int8 == "by_block" else 2, outDataType=27 if dtype == "bfloat16" else 1)
    parts = []
    for b, part in enumerate(split(values_of(q), queries)):
        if compresses:
            cut = [np.concatenate([blocks_of(each, table[b * keys + h], contexts[b]) for h in range(keys)], axis=1)
                   for each in real_caches]
            if offsets:
                of_keys = [blocks_of(values_of(added), table[b * keys + h], contexts[b]) for h in range(keys)]
                masks[b] = np.repeat(np.stack(of_keys), heads // keys, axis=0)[:, None] * scale
        else:
            cut = [blocks_of(each, table[b], contexts[b]) for each in real_caches]
        parts.append((part, *cut, scale, masks[b]))
    return Attention(params, inputs, parts, dtype, rng, soc="Ascend310P" if in_blocks else "", int8=rule,
                     from_int8=bool(quant) and not int8).run


def attention_cases() -> list[Case]:
    faults = attention_faults(Attention.again)
    cases = []

    def case(op, name, make):
        cases.append(Case(op, name, make, masked(faults, Attention.again, name) if has_mask(name) else faults,
                          Attention.is_within_rounding))

    def self_case(name, make):
        case("SelfAttentionOperation", name, make)

    def paged_case(name, make):
        case("PagedAttentionOperation", name, make)

    def has_mask(name):
        return any(word in name for word in ("mask", "alibi", "cache", "prefix", "speculating", "offsets", "compressed"))

    for dtype in REAL:
        self_case(f"pa encoder {dtype}", lambda rng, d=dtype: pa_encoder(rng, d))
        self_case(f"pa encoder {dtype}, mask", lambda rng, d=dtype: pa_encoder(rng, d, 1))
        self_case(f"pa encoder {dtype}, alibi", lambda rng, d=dtype: pa_encoder(rng, d, 2))
        self_case(f"with cache {dtype}", lambda rng, d=dtype: with_cache(rng, d))
        self_case(f"bypass {dtype}, mask", lambda rng, d=dtype: bypass(rng, d, True))
        paged_case(f"paged {dtype}", lambda rng, d=dtype: paged(rng, d))
        paged_case(f"paged {dtype}, mask", lambda rng, d=dtype: paged(rng, d, 1))
    for dtype in SHORT:
        self_case(f"pa encoder {dtype}, compressed mask", lambda rng, d=dtype: pa_encoder(rng, d, 3))
        for kind, name in ((4, "alibi"), (5, "root alibi"), (6, "left alibi")):
            self_case(f"pa encoder {dtype}, compressed {name}", lambda rng, d=dtype, k=kind: pa_encoder(rng, d, k))
        self_case(f"pa encoder {dtype}, clamp", lambda rng, d=dtype: pa_encoder(rng, d, clamp=(-0.75, 0.5)))
        self_case(f"pa encoder {dtype}, values in keys", lambda rng, d=dtype: pa_encoder(rng, d, mla=True))
        self_case(f"bypass {dtype}", lambda rng, d=dtype: bypass(rng, d, False))
        self_case(f"prefix encoder {dtype}", lambda rng, d=dtype: paged(rng, d, prefix=True))
        paged_case(f"paged {dtype}, alibi", lambda rng, d=dtype: paged(rng, d, 2))
        paged_case(f"paged {dtype}, speculating", lambda rng, d=dtype: paged(rng, d, 3, spec=True))
        paged_case(f"paged {dtype}, speculating, square mask", lambda rng, d=dtype: paged(rng, d, 1, spec=True))
        paged_case(f"paged {dtype}, int8", lambda rng, d=dtype: paged(rng, d, quant="plain"))
        paged_case(f"paged {dtype}, int8 with offsets", lambda rng, d=dtype: paged(rng, d, 1, quant="packed"))
        paged_case(f"paged {dtype}, compressed heads", lambda rng, d=dtype: paged(rng, d, 1, compresses=True))
        paged_case(f"paged {dtype}, compressed heads with offsets", lambda rng, d=dtype: paged(
            rng, d, compresses=True, offsets=True))
        paged_case(f"paged {dtype}, values in keys", lambda rng, d=dtype: paged(rng, d, mla=True))
    for dtype in SHORT:
        self_case(f"pa encoder {dtype}, int8 weights by block, mask", lambda rng, d=dtype: pa_encoder(rng, d, 1, int8="by_block"))
        self_case(f"pa encoder {dtype}, int8 weights", lambda rng, d=dtype: pa_encoder(rng, d, int8="divided"))
        paged_case(f"paged {dtype}, int8 weights by block", lambda rng, d=dtype: paged(rng, d, int8="by_block"))
        paged_case(f"paged {dtype}, int8 weights, mask", lambda rng, d=dtype: paged(rng, d, 1, int8="multiplied"))
    paged_case("paged float16, blocks of columns", lambda rng: paged(rng, "float16", in_blocks=True))
    return cases


CASES = attention_cases()
