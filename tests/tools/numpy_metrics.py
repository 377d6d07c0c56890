"""What NumPy says of a pair of arrays, in float64: the numbers that Assay should find."""
from __future__ import annotations

import hashlib
import math
import zlib

import numpy


def components(array: numpy.ndarray) -> numpy.ndarray:
    """Flat real numbers; two for a complex element."""
    flat = numpy.ascontiguousarray(array).reshape(-1)
    return flat.view(flat.real.dtype) if flat.dtype.kind == "c" else flat


def exact_difference(mine: numpy.ndarray, golden: numpy.ndarray) -> numpy.ndarray:
    if mine.dtype.kind in "iu" and mine.dtype.itemsize == 8:  # float64 would round before it subtracts
        return numpy.array([float(int(a) - int(b)) for a, b in zip(mine, golden)], dtype=numpy.float64)
    return mine.astype(numpy.float64) - golden.astype(numpy.float64)


def quotient(a: float, b: float) -> float | None:
    return a / b if b else None


def metrics_of(mine: numpy.ndarray, golden: numpy.ndarray) -> dict[str, object]:
    """Columns of the report, as docs/metrics.md defines them: over the components that are finite on both sides."""
    m, g = components(mine), components(golden)
    wide_m, wide_g = m.astype(numpy.float64), g.astype(numpy.float64)
    both = numpy.isfinite(wide_m) & numpy.isfinite(wide_g)
    same = (m == g) | ((m != m) & (g != g))
    expected: dict[str, object] = {
        "equal": int(same.sum()), "equal_ratio": quotient(int(same.sum()), same.size),
        "mine_nan": int(numpy.isnan(wide_m).sum()), "mine_inf": int(numpy.isinf(wide_m).sum()),
        "golden_nan": int(numpy.isnan(wide_g).sum()), "golden_inf": int(numpy.isinf(wide_g).sum()),
        "nonfinite_mismatch": int((~same & ~both).sum()),
        "mine_crc32": f"{zlib.crc32(mine.tobytes()):08x}", "golden_crc32": f"{zlib.crc32(golden.tobytes()):08x}",
        "mine_md5": hashlib.md5(mine.tobytes()).hexdigest(), "golden_md5": hashlib.md5(golden.tobytes()).hexdigest(),
    }
    expected |= msprobe_generations(m, g)
    a, b, d = wide_m[both], wide_g[both], exact_difference(m[both], g[both])
    measured = ["max_abs", "mean_abs", "bias", "rel_l2", "cosine", "max_rel", "mean_rel", "sqnr", "l2", "kl", "golden_rms",
                "rel_l2_squared", "worst_mine", "worst_golden", "cosine_logits", "l1_logits"]
    if d.size == 0:
        return expected | dict.fromkeys(measured)
    distance = numpy.abs(d)
    aa, bb, ab, dd = (math.fsum(x * y) for x, y in ((a, a), (b, b), (a, b), (d, d)))
    relative = distance[b != 0] / numpy.abs(b[b != 0])
    expected |= {
        "max_abs": float(distance.max()),
        "mean_abs": math.fsum(distance) / d.size,
        "bias": math.fsum(d) / d.size,
        "l2": math.sqrt(dd),
        "rel_l2": 0.0 if dd == 0 else quotient(math.sqrt(dd), math.sqrt(bb)),
        "rel_l2_squared": 0.0 if dd == 0 else quotient(dd, bb),
        "cosine": quotient(ab, math.sqrt(aa) * math.sqrt(bb)) if aa or bb else 1.0,
        "max_rel": float(relative.max()) if relative.size else None,
        "mean_rel": math.fsum(relative) / d.size if relative.size else None,
        "rel_undefined": int(((b == 0) & (a != 0)).sum()),
        "sqnr": 10 * float(numpy.log10(numpy.float64(bb) / dd)) if dd else math.inf,
        "kl": kl_divergence(a, b),
        "golden_rms": math.sqrt(bb / d.size),
    }
    norms = [max(math.sqrt(x), 1e-8) for x in (aa, bb)]
    mine_size, golden_size = math.fsum(numpy.abs(a)), math.fsum(numpy.abs(b))
    expected |= {"cosine_logits": round(ab / math.prod(norms), 10) if aa or bb else 1.0,
                 "l1_logits": mine_size / golden_size - 1 if golden_size else int(mine_size > 0)}
    for side, values in (("mine", a), ("golden", b)):
        expected |= {f"{side}_min": float(values.min()), f"{side}_max": float(values.max()),
                     f"{side}_mean": math.fsum(values) / d.size, f"{side}_norm": math.sqrt(math.fsum(values * values))}
    expected |= msit_errors(a, b) | msprobe_errors(a, b, distance)
    if mine.dtype == golden.dtype and (mine.dtype.kind in "iu" or mine.dtype in (numpy.float32, numpy.float16)):
        steps = distance if mine.dtype.kind in "iu" else ulp_distance(m[both], g[both])
        expected |= {"ulp_max": min(int(steps.max()), 2**63 - 1), "ulp_mean": math.fsum(steps) / d.size}
    # The first place of NaN or Inf against something else; or else of the largest difference.
    strange = numpy.flatnonzero(~same & ~both)
    if strange.size == 0 and dd == 0:
        return expected | dict.fromkeys(("worst_index", "worst_mine", "worst_golden"))
    worst = int(strange[0] if strange.size else numpy.flatnonzero(both)[distance.argmax()])
    place = numpy.unravel_index(worst // (2 if mine.dtype.kind == "c" else 1), mine.shape)
    expected["worst_index"] = [int(each) for each in place]
    return expected | {"worst_mine": float(wide_m[worst]), "worst_golden": float(wide_g[worst])}


def msit_errors(mine: numpy.ndarray, golden: numpy.ndarray) -> dict[str, float]:
    """In single precision, and in its order: |m / g - 1|. Golden values up to 2^-23 count as 0."""
    m, g = mine.astype(numpy.float32), golden.astype(numpy.float32)
    counts = numpy.abs(g) > numpy.float32(2.0**-23)
    one = numpy.float32(1)
    relative = numpy.where(counts, numpy.abs(m / numpy.where(counts, g, one) - one), 0).astype(numpy.float64)
    absolute = numpy.where(counts, numpy.abs(m - g), 0).astype(numpy.float64)
    return {"max_rel_msit": float(relative.max()), "mean_rel_msit": math.fsum(relative) / m.size,
            "max_abs_msit": float(absolute.max()), "mean_abs_msit": math.fsum(absolute) / m.size}


def msprobe_errors(mine: numpy.ndarray, golden: numpy.ndarray, distance: numpy.ndarray) -> dict[str, float]:
    relative = numpy.where(golden == 0, numpy.abs(mine) / 2.0**-52, distance / numpy.abs(golden))
    return {"max_rel_msprobe": float(relative.max()), "ratio_1e3": float((relative < 0.001).mean()),
            "ratio_5e3": float((relative < 0.005).mean())}


def msprobe_generations(mine: numpy.ndarray, golden: numpy.ndarray) -> dict[str, float | int | None]:
    """In NumPy's own arithmetic. Pairs that are not finite, but of the same kind, count as 0 against 0."""
    def held(x: numpy.ndarray) -> numpy.ndarray:
        return x if x.dtype.kind == "f" else x.astype(float)
    mine, golden = held(mine), held(golden)
    kinds = (numpy.isnan(mine) != numpy.isnan(golden)) | (numpy.isinf(mine) != numpy.isinf(golden))
    out: dict[str, float | int | None] = {"nonfinite_kind_mismatch": int(kinds.sum())}
    m, g = (numpy.where(numpy.isfinite(x), x, x.dtype.type(0)) for x in (mine, golden))
    known = m.size > 0 and not kinds.any()
    for generation in (1, 2, 3):
        r = msprobe_relative(m, g, generation) if known else None
        out |= {f"max_rel_g{generation}": float(r.max()) if known else None,
                f"ratio_1e3_g{generation}": float((r < 0.001).mean()) if known else None,
                f"ratio_5e3_g{generation}": float((r < 0.005).mean()) if known else None}
    if m.size == 1:  # G3 drops dimensions of size 1, and leaves NaN and Inf as they are where none remain
        out["max_rel_g3"] = float(msprobe_relative(mine.reshape(()), golden.reshape(()), 3))
    norms = [math.sqrt(math.fsum(x.astype(float) ** 2)) for x in (m, g)]
    small = sum(norm <= 2.0**-52 for norm in norms)
    cosine = (1.0, math.nan)[small % 2] if small else math.fsum(m.astype(float) * g) / math.prod(norms)
    return out | {"cosine_msprobe": cosine if known else None}


def msprobe_relative(mine: numpy.ndarray, golden: numpy.ndarray, generation: int) -> numpy.ndarray:
    held_as = [mine.dtype, golden.dtype]
    if generation == 3:
        held_as = [numpy.result_type(mine, golden, numpy.float32)] * 2
    m, g = mine.astype(held_as[0]), golden.astype(held_as[1])
    epsilon = numpy.finfo(float if generation == 2 else g.dtype).eps
    zeros = g == 0
    m[zeros] += epsilon
    g[zeros] += epsilon
    return numpy.abs((m - g) / g)


def ulp_distance(mine: numpy.ndarray, golden: numpy.ndarray) -> numpy.ndarray:
    """Steps between neighbouring floats; -0 and 0 are the same."""
    def place(values: numpy.ndarray) -> numpy.ndarray:
        sign_bit = 8 * values.dtype.itemsize - 1
        bits_of = values.view(f"u{values.dtype.itemsize}").astype(numpy.int64)
        return numpy.where(bits_of >> sign_bit, -(bits_of & ((1 << sign_bit) - 1)), bits_of)
    return numpy.abs(place(mine) - place(golden))


def kl_divergence(mine: numpy.ndarray, golden: numpy.ndarray) -> float:
    """KL(softmax(golden) || softmax(mine)) over all elements, in extended precision since the terms cancel."""
    def log_softmax(x: numpy.ndarray) -> numpy.ndarray:
        x = x.astype(numpy.longdouble)
        shifted = x - x.max()
        return shifted - numpy.log(numpy.exp(shifted).sum())
    p, q = log_softmax(golden), log_softmax(mine)
    return float((numpy.exp(p) * (p - q)).sum())


def statistics_of(array: numpy.ndarray) -> dict[str, float | int | None]:
    values = components(array)
    wide = values.astype(numpy.float64)
    finite = wide[numpy.isfinite(wide)]
    out: dict[str, float | int | None] = {"nan": int(numpy.isnan(wide).sum()), "inf": int(numpy.isinf(wide).sum()),
                                          "zero": int((wide == 0).sum()), "min": None, "max": None, "mean": None, "std": None}
    if finite.size:
        mean = math.fsum(finite) / finite.size
        out |= {"min": float(finite.min()), "max": float(finite.max()), "mean": mean,
                "std": math.sqrt(math.fsum((finite - mean) ** 2) / finite.size),
                "norm": math.sqrt(math.fsum(finite * finite))}
    return out
