"""What a case of a golden operator is: one run of an operator, honest, and ways to spoil its outputs."""
from __future__ import annotations

import dataclasses
from typing import Callable

import numpy as np


@dataclasses.dataclass
class Tensor:
    """`dtype` as ATB names it: float16, bfloat16 (the array holds the bits as uint16), float32, int8 …"""
    dtype: str
    array: np.ndarray


@dataclasses.dataclass
class Run:
    params: dict
    inputs: list[Tensor]
    outputs: list[Tensor]
    soc: str = ""  # Ascend910B, Ascend310P; empty: it does not matter
    ranks: list[list[Tensor]] = dataclasses.field(default_factory=list)  # of a collective: the inputs of every rank


@dataclasses.dataclass
class Case:
    op: str  # "RmsNormOperation"
    name: str
    make: Callable[[np.random.Generator], Run]
    faults: dict[str, Callable[[np.random.Generator, Run], list[Tensor]]] = dataclasses.field(default_factory=dict)
    # Whether nobody could tell these outputs from honest ones, by what the fault alone does to each element and how far honest
    # kernels are apart there: None where that is not worked out, and every fault has to be caught. Asked before the program is.
    is_within_rounding: Callable[[Run, list[Tensor]], bool] | None = None


def to_bf16(values: np.ndarray) -> np.ndarray:
    """Bits of bfloat16, rounded to nearest even."""
    bits = np.ascontiguousarray(values, dtype=np.float32).view(np.uint32).astype(np.uint64)
    rounded = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
    return np.where(np.isnan(values), np.uint16(0x7FC0), rounded).astype(np.uint16)


def from_bf16(bits: np.ndarray) -> np.ndarray:
    return (bits.astype(np.uint32) << 16).view(np.float32)


def values_of(tensor: Tensor) -> np.ndarray:
    """In f64."""
    return (from_bf16(tensor.array) if tensor.dtype == "bfloat16" else tensor.array).astype(np.float64)


def tensor_of(dtype: str, values: np.ndarray) -> Tensor:
    """Rounded to `dtype`. From f64 to bfloat16 through f32: two roundings, of which the first seldom matters."""
    values = np.asarray(values)
    if dtype == "bfloat16":
        return Tensor(dtype, to_bf16(values.astype(np.float32)))
    with np.errstate(over="ignore"):  # a fault may leave the type
        return Tensor(dtype, values.astype(np.dtype(dtype)))
