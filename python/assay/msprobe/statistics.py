"""What dump.json says of a tensor's elements, as JSON: Max, Min, Mean, Norm, a checksum.

Small tensors of the CPU are measured by PyTorch, as the original does, whose sums are rounded in the tensor's type and
so differ in their last digit from what one pass in f64 gives; large ones by the native core in one pass, without the
GIL. What is on a GPU is measured there: the results wait, and come over together when a step ends.
"""
import ctypes
import json
import struct
import threading
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

import torch

from assay import _native
from assay._writer import Writer

_BY_TORCH = 4096  # elements up to which PyTorch's own sums are taken: they cost as little, and show the same digits
_NOTHING = ("null", "null", "null", "null")

_detach, _item, _numel = torch.Tensor.detach, torch.Tensor.item, torch.Tensor.numel
_max, _min, _mean, _any, _all, _abs = torch.max, torch.min, torch.mean, torch.any, torch.all, torch.abs
if torch.__version__ >= "2":
    _norm: Callable = torch.linalg.vector_norm
else:
    def _norm(tensor: torch.Tensor) -> torch.Tensor:
        return torch._VF.frobenius_norm(tensor, dim=(), keepdim=False)

_TINY = {getattr(torch, name) for name in ("float8_e5m2", "float8_e4m3fn", "float8_e8m0fnu") if hasattr(torch, name)}
_ODD = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}


class Numbers(NamedTuple):
    """JSON texts. Those that start with "\\0" are not known yet."""

    max: str
    min: str
    mean: str
    norm: str
    crc32: Optional[str] = None
    xor64: Optional[str] = None
    is_finite: bool = True


EMPTY = Numbers(*_NOTHING)


def number(value: Any) -> str:
    """As json.dumps has it.

    >>> number(0.1), number(float("nan")), number(True), number(3), number(float("-inf"))
    ('0.1', 'NaN', 'true', '3', '-Infinity')
    """
    if type(value) is float:
        text = repr(value)
        return text if text[-1] not in "nf" else _ODD[text]
    return "true" if value is True else "false" if value is False else json.dumps(value)


class Measure:
    """Measures tensors of the CPU; from several threads at once, if need be."""

    def __init__(self, precision: str = "low", checksums: bool = False, complete: bool = False) -> None:
        self._has_sums = precision != "high"
        self._checksums = checksums
        self._complete = complete
        writer = Writer("/", keeps_count=False, threads=1)
        self.known = {each: writer.dtype(str(each)) for each in vars(torch).values()
                       if isinstance(each, torch.dtype) and writer.dtype(str(each)) >= 0}
        self._native = _OnePass(writer, self.known)

    def of(self, tensor: torch.Tensor) -> Numbers:
        """Of a plain dense tensor of the CPU."""
        count = _numel(tensor)
        if count == 0:
            return EMPTY._replace(crc32='"00000000"')
        if tensor.data_ptr() == 0:  # its memory was given back (FSDP)
            return EMPTY
        dtype = tensor.dtype
        if dtype in _TINY or dtype not in self.known:
            found = self._native.run(tensor, self._checksums) if dtype in self.known else None
            if found is None or not self._complete:
                return self._with_checksums(_NOTHING, found)
            return self._with_checksums(self._of_one_pass(found, dtype), found)
        if dtype.is_complex:
            found = self._native.run(tensor, True) if self._checksums else None
            return self._with_checksums(_magnitudes(tensor), found)
        if count <= _BY_TORCH or tensor.dim() == 0:
            try:
                texts = self._by_torch(_detach(tensor), dtype)
                found = self._native.run(tensor, True) if self._checksums else None
                return self._with_checksums(texts, found)
            except (RuntimeError, NotImplementedError):
                pass  # a type that this PyTorch has no maximum for
        found = self._native.run(tensor, self._checksums)
        return self._with_checksums(self._of_one_pass(found, dtype), found)

    def checksums_of(self, tensor: torch.Tensor) -> Tuple[str, str]:
        """CRC-32 and XOR, without the rest."""
        found = self._native.run(tensor, True)
        return f'"{found.crc32:08x}"', f'"0x{found.xor64:016x}"'

    def is_finite(self, tensor: torch.Tensor) -> bool:
        if _numel(tensor) == 0 or not (tensor.dtype.is_floating_point or tensor.dtype.is_complex):
            return True
        if tensor.dtype not in self.known:
            return True
        found = self._native.run(tensor, False)
        return found.nans == 0 and found.infs == 0

    def _by_torch(self, plain: torch.Tensor, dtype: torch.dtype) -> Tuple[str, str, str, str]:
        if dtype is torch.bool:
            return number(_item(_any(plain))), number(_item(_all(plain))), "null", "null"
        if plain.dim() == 0:
            value = number(_item(plain))
            return value, value, value, value
        high, low = number(_item(_max(plain))), number(_item(_min(plain)))
        if not self._has_sums or dtype is torch.float64 or not dtype.is_floating_point:
            return high, low, "null", "null"
        return high, low, number(_item(_mean(plain))), number(_item(_norm(plain)))

    def _of_one_pass(self, found: _native.Statistics, dtype: torch.dtype) -> Tuple[str, str, str, str]:
        if dtype is torch.bool:
            return ("true" if found.zeros < found.count else "false", "true" if found.zeros == 0 else "false", "null", "null")
        if not dtype.is_floating_point:
            mask = (1 << 64) - 1 if str(dtype).startswith("torch.uint") else -1
            return str(found.max_integer & mask), str(found.min_integer & mask), "null", "null"
        high, low = (float("nan"),) * 2 if found.nans else (found.max, found.min)
        if not self._has_sums or dtype is torch.float64:
            return number(high), number(low), "null", "null"
        return number(high), number(low), number(_round(found.mean, dtype)), number(_round(found.norm, dtype))

    @staticmethod
    def _with_checksums(texts: Tuple[str, str, str, str], found: Optional[_native.Statistics]) -> Numbers:
        if found is None:
            return Numbers(*texts)
        return Numbers(*texts, f'"{found.crc32:08x}"', f'"0x{found.xor64:016x}"')


def _magnitudes(tensor: torch.Tensor) -> Tuple[str, str, str, str]:
    plain = tensor.detach().resolve_conj()
    try:
        import numpy

        sizes = numpy.abs(plain.numpy())
        return number(numpy.max(sizes).item()), number(numpy.min(sizes).item()), number(numpy.mean(sizes).item()), "null"
    except (ImportError, RuntimeError, TypeError):
        sizes = _abs(plain)
        return number(_item(_max(sizes))), number(_item(_min(sizes))), number(_item(_mean(sizes))), "null"


def _round(value: float, dtype: torch.dtype) -> float:
    """To the type that the original adds in."""
    if dtype is torch.float32:
        return ctypes.c_float(value).value
    if dtype is not torch.float16 or value != value:
        return torch.tensor(value, dtype=torch.float64).to(dtype).item()
    try:
        return struct.unpack("<e", struct.pack("<e", value))[0]
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


class _OnePass(threading.local):
    """The native pass. What a call fills in is made once a thread; the writer is one for all of them."""

    def __init__(self, writer: Writer, numbers: Dict[torch.dtype, int]) -> None:
        self._call, self._handle, self.numbers = writer._library.assay_capture_tensor, writer._open(), numbers
        self._tensor = _native.Tensor()
        self._found = _native.Statistics()
        self._plain, self._summed = _native.Attributes(), _native.Attributes(0, 0, 1, 0, None)
        self._arguments = [ctypes.byref(each) for each in (self._tensor, self._plain, self._summed, self._found)]
        self._sizes: Dict[Tuple[int, ...], Any] = {}

    def run(self, tensor: torch.Tensor, checksums: bool) -> _native.Statistics:
        if tensor.is_conj():
            tensor = tensor.resolve_conj()
        if tensor.is_neg():
            tensor = tensor.resolve_neg()
        given = self._tensor
        given.data, given.dtype, given.ndim = tensor.data_ptr(), self.numbers[tensor.dtype], tensor.dim()
        given.shape = self._array(tuple(tensor.shape))
        given.strides = None if tensor.is_contiguous() else self._array(tensor.stride())
        one, plain, summed, found = self._arguments
        _native.check(self._call(self._handle, one, b"", _native.STATISTICS_ONLY, summed if checksums else plain, found))
        return self._found

    def _array(self, sizes: Tuple[int, ...]) -> Any:
        array = self._sizes.get(sizes)
        if array is None:
            if len(self._sizes) > 10000:
                self._sizes.clear()
            kept = (ctypes.c_int64 * max(len(sizes), 1))(*sizes)
            array = self._sizes[sizes] = ctypes.cast(kept, ctypes.POINTER(ctypes.c_int64))
            array.kept = kept
        return array


class OnDevice:
    """Measures tensors where they are, without waiting for them: `settle` fetches what was measured, at once."""

    def __init__(self, precision: str = "low") -> None:
        self._has_sums = precision != "high"
        self._waiting: List[torch.Tensor] = []

    def __len__(self) -> int:
        return len(self._waiting)

    def of(self, tensor: torch.Tensor) -> Numbers:
        plain = tensor.detach()
        dtype = plain.dtype
        if plain.numel() == 0 or dtype in _TINY:
            return EMPTY
        if dtype.is_complex:
            sizes = _abs(plain)
            return Numbers(self._later(_max(sizes)), self._later(_min(sizes)), self._later(_mean(sizes)), "null")
        if dtype is torch.bool:
            return Numbers(self._later(_any(plain)), self._later(_all(plain)), "null", "null")
        if plain.dim() == 0:
            value = self._later(plain.clone())
            return Numbers(value, value, value, value)
        low, high = torch.aminmax(plain)
        if not self._has_sums or dtype is torch.float64 or not dtype.is_floating_point:
            return Numbers(self._later(high), self._later(low), "null", "null")
        return Numbers(self._later(high), self._later(low), self._later(_mean(plain)), self._later(_norm(plain)))

    def is_nan(self, tensors: List[torch.Tensor]) -> str:
        """Whether an element of one of them is not finite, as 0 or 1."""
        bad = [_any(~torch.isfinite(each.detach())) for each in tensors if each.numel()]
        return self._later(torch.stack(bad).any().to(torch.int64)) if bad else "0"

    def _later(self, value: torch.Tensor) -> str:
        self._waiting.append(value)
        return f"\0{len(self._waiting) - 1}\0"

    def settle(self) -> List[str]:
        """The JSON of everything that waits, by its number. One copy for each device and type."""
        waiting, self._waiting = self._waiting, []
        texts = [""] * len(waiting)
        groups: Dict[Tuple[torch.device, torch.dtype], List[int]] = {}
        for place, value in enumerate(waiting):
            groups.setdefault((value.device, value.dtype), []).append(place)
        for places in groups.values():
            for place, value in zip(places, torch.stack([waiting[place] for place in places]).cpu().tolist()):
                texts[place] = number(value)
        return texts
