"""Honest runs of attention whose weights are int8, as kernels make them."""
from __future__ import annotations

import numpy as np


class Int8Rule:
    """Queries, keys and values are int8, and kernels make int8 of the weights. `kind`: by_block, divided, multiplied, of a
    scale for each head; the factors are those of the heads, too."""

    def __init__(self, rng, kind: str, heads: int) -> None:
        self.kind = kind
        self.of_scores = (rng.uniform(0.5, 1.5, heads) * 2e-4).astype(np.float32)
        self.of_values = (rng.uniform(0.5, 1.5, heads) * 0.02).astype(np.float32)
        self.scale = rng.uniform(1, 2.5, heads).astype(np.float32) / np.float32(127)
        if kind == "multiplied":
            self.scale = (1 / self.scale).astype(np.float32)

    def attend(self, rng, q, k, v, scale, mask, how) -> np.ndarray:
        kind = np.float64 if how == 0 else np.float32
        group = q.shape[1] // k.shape[1]
        q, k, v = (each.astype(np.float64) for each in (q, np.repeat(k, group, axis=1), np.repeat(v, group, axis=1)))
        scores = np.einsum("ihd,jhd->hij", q, k).astype(kind) * self.of_scores[:, None, None].astype(kind) * kind(scale)
        if mask is not None:
            scores = scores + mask.astype(kind)
        undone = self.scale.astype(kind) if self.kind == "multiplied" else np.ones(len(self.scale), kind)
        if how == 0:
            weights = np.exp(scores - scores.max(-1, keepdims=True))
            out = np.einsum("hij,jhd->hid", weights, v) / weights.sum(-1, keepdims=True)
        else:
            out = self.by_blocks(scores, v, int(rng.choice([16, 64, 128, 256])), bool(rng.integers(2)))
            undone = np.ones_like(undone)
        return out.transpose(1, 0, 2) * (self.of_values.astype(kind) * undone)[:, None]

    def by_blocks(self, scores, v, block: int, through_f16: bool) -> np.ndarray:
        """As kernels do: keys a block at a time, weights relative to the largest score so far, added up unrounded."""
        top = np.full(scores.shape[:2] + (1,), -np.inf, np.float32)
        sums = out = np.float32(0)
        for first in range(0, scores.shape[2], block):
            part = scores[:, :, first:first + block]
            own = part.max(-1, keepdims=True)
            new = np.maximum(top, own)
            keep, top = np.where(np.isinf(top), np.float32(0), np.exp(top - new)), new
            weights = np.exp(part - new)
            step = self.scale[:, None, None]
            if self.kind == "by_block":
                step = np.exp(own - new) * np.float32(1 / 127)
            with np.errstate(invalid="ignore"):
                whole = weights * step if self.kind == "multiplied" else weights / step
            if through_f16:
                whole = whole.astype(np.float16)
            # Where a whole block is masked the step is 0, and what int8 makes of 0 / 0 is 0.
            whole = np.clip(np.nan_to_num(np.rint(whole.astype(np.float32))), -128, 127)
            local = np.einsum("hij,jhd->hid", whole.astype(np.float64), v[first:first + block]).astype(np.float32)
            out = out * keep + (local if self.kind == "multiplied" else local * step)
            sums = sums * keep + weights.sum(-1, keepdims=True)
        return out / sums

    def steps(self) -> np.ndarray:
        """Of each head, the largest weight being 1."""
        return {"by_block": np.full(len(self.scale), 1 / 127), "divided": self.scale.astype(np.float64),
                "multiplied": 1 / self.scale.astype(np.float64)}[self.kind]

    def factors(self) -> np.ndarray:
        """On the values of each head."""
        return self.of_values.astype(np.float64) * (self.scale if self.kind == "multiplied" else 1)
