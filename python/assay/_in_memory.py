"""Arrays and tensors of any kind as the C interface takes them: where they lie, what they hold. Nothing is copied that lies in
the memory of the host in a type that the library knows."""
import ctypes
import sys
from collections.abc import Mapping
from typing import Any, Dict, Iterator, List, NamedTuple, Tuple

from assay import _native

_MOST_NESTED = 64
_CODES = {"e": "f16", "f": "f32", "d": "f64", "?": "bool", "b": "i8", "B": "u8", "c": "u8"}  # of buffers
_SIGNED, _UNSIGNED = "hilqn", "HILQN"
_BEYOND_SIGNED = 1 << 63


class InMemory(NamedTuple):
    """A tensor in the memory of the host; strides are in elements, None where it is dense."""

    address: int
    dtype: int
    shape: Tuple[int, ...]
    strides: Any
    owner: Any  # keeps the memory


def leaves(value: Any, name: str = "", depth: int = _MOST_NESTED) -> Iterator[Tuple[str, Any]]:
    """What containers hold, each with the way to it: keys and numbers with points between.

    >>> list(leaves({"a": [1, 2], "b": (3,)}))
    [('a.0', 1), ('a.1', 2), ('b.0', 3)]
    """
    if isinstance(value, Mapping):
        entries = [(str(key) or "''", value[key]) for key in value]
    elif isinstance(value, (list, tuple)):
        entries = [(str(place), each) for place, each in enumerate(value)]
        names = getattr(value, "_fields", None)
        if names:
            entries = list(zip(names, value))
    else:
        yield name, value
        return
    if depth == 0:
        raise ValueError(f"{name}: more than {_MOST_NESTED} containers in each other")
    if not entries:
        yield name, value
    for key, each in entries:
        yield from leaves(each, f"{name}.{key}" if name else key, depth - 1)


def named_leaves(value: Any) -> Dict[str, Any]:
    """leaves() by their names; the empty one is that of what is in no container. Two of one name are an error: one of them would
    not be compared.

    >>> named_leaves({"a": {"b": 1}, "a.b": 2})
    Traceback (most recent call last):
        ...
    ValueError: a.b: two values would have this name
    """
    found: Dict[str, Any] = {}
    for name, each in leaves(value):
        if name in found:
            raise ValueError(f"{name}: two values would have this name")
        found[name] = each
    return found


def is_tensor(value: Any) -> bool:
    """Something with elements, or a number that the library has a type for."""
    if isinstance(value, int):
        return -_BEYOND_SIGNED <= value < 2 * _BEYOND_SIGNED
    if isinstance(value, (float, complex)):
        return True
    if isinstance(value, (str, bytes, bytearray)) or value is None:
        return False
    return any(hasattr(type(value), name) for name in ("__array_interface__", "__array__", "__dlpack__")) or _has_buffer(value)


def _has_buffer(value: Any) -> bool:
    try:
        memoryview(value).release()
        return True
    except TypeError:
        return False


def in_memory(value: Any) -> InMemory:
    """Raises TypeError or ValueError where there is no such tensor."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        return _of_torch(torch, value)
    if isinstance(value, (bool, int, float, complex)):
        return _of_number(value)
    if hasattr(value, "__array_interface__") or hasattr(value, "__array__"):
        import numpy

        return _of_numpy(numpy, numpy.asanyarray(value))
    if hasattr(value, "__dlpack__"):
        import numpy

        return _of_numpy(numpy, numpy.from_dlpack(value))
    return _of_buffer(value)


def _of_torch(torch: Any, tensor: Any) -> InMemory:
    plain = tensor.detach()
    if plain.device.type == "meta":
        raise ValueError("a tensor on the device 'meta' has no elements")
    if plain.layout is not torch.strided:
        plain = plain.to_dense()
    if plain.is_quantized:
        plain = plain.dequantize()
    if plain.device.type != "cpu":
        plain = plain.to("cpu")
    if plain.is_conj():
        plain = plain.resolve_conj()
    if plain.is_neg():
        plain = plain.resolve_neg()
    dtype = _native.dtype_number(str(plain.dtype))
    strides = None if plain.is_contiguous() else tuple(plain.stride())
    return InMemory(plain.data_ptr(), dtype, tuple(plain.shape), strides, plain)


def _of_number(value: Any) -> InMemory:
    if isinstance(value, bool):
        held: Any = ctypes.c_bool(value)
        name = "bool"
    elif isinstance(value, int) and not is_tensor(value):
        raise ValueError("an integer of more than 64 bits")
    elif isinstance(value, int):
        held, name = (ctypes.c_int64(value), "i64") if value < _BEYOND_SIGNED else (ctypes.c_uint64(value), "u64")
    elif isinstance(value, complex):
        held, name = (ctypes.c_double * 2)(value.real, value.imag), "c128"
    else:
        held, name = ctypes.c_double(float(value)), "f64"
    return InMemory(ctypes.addressof(held), _native.dtype_number(name), (), None, held)


def _of_numpy(numpy: Any, array: Any) -> InMemory:
    if isinstance(array, numpy.ma.MaskedArray):
        raise TypeError("a masked array: compare its data and its mask, or what filled() gives")
    name = array.dtype.name
    if array.dtype.kind in "OSUMmV" and _native.library().assay_dtype_from_name(name.encode()) < 0:
        raise TypeError(f"an array of {array.dtype} has no numbers to compare")
    if name in ("int4", "uint4", "int2", "uint2"):  # of ml_dtypes: a byte each, which the library takes for packed
        array = array.astype(numpy.int8 if name.startswith("int") else numpy.uint8)
    elif _native.library().assay_dtype_from_name(name.encode()) < 0 or array.dtype.itemsize != \
            _native.library().assay_dtype_size(_native.dtype_number(name)):
        array = array.astype(numpy.complex128 if array.dtype.kind == "c" else numpy.float64)  # longdouble
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    size = array.dtype.itemsize
    if any(stride % size for stride in array.strides):
        array = numpy.ascontiguousarray(array)
    strides = None if array.flags.c_contiguous else tuple(stride // size for stride in array.strides)
    return InMemory(array.__array_interface__["data"][0] if array.dtype.kind != "V" else array.ctypes.data,
                    _native.dtype_number(array.dtype.name), tuple(array.shape), strides, array)


def _of_buffer(value: Any) -> InMemory:
    try:
        view = memoryview(value)
    except TypeError:
        raise TypeError(f"{type(value).__name__} is neither an array nor a tensor nor a number") from None
    code = view.format[-1:]
    if len(view.format) > 2 or view.format[:-1] not in ("", "@", "=", "<"):
        raise TypeError(f"a buffer of '{view.format}' has no numbers to compare")
    if code in _SIGNED or code in _UNSIGNED:
        name = f"{'i' if code in _SIGNED else 'u'}{8 * view.itemsize}"
    elif code in _CODES:
        name = _CODES[code]
    else:
        raise TypeError(f"a buffer of '{view.format}' has no numbers to compare")
    if not view.c_contiguous or view.readonly:
        held: Any = ctypes.create_string_buffer(view.tobytes(), max(view.nbytes, 1))
    else:
        held = (ctypes.c_char * max(view.nbytes, 1)).from_buffer(view) if view.nbytes else ctypes.create_string_buffer(1)
    return InMemory(ctypes.addressof(held), _native.dtype_number(name), tuple(view.shape or ()), None, (held, view))


class Side:
    """Named tensors as assay_compare_tensors takes them; keeps their memory."""

    def __init__(self, tensors: Dict[str, Any]) -> None:
        self._held: List[Any] = []
        count = len(tensors)
        listed = (_native.Tensor * max(count, 1))()
        for place, (name, value) in enumerate(tensors.items()):
            try:
                found = in_memory(value)
            except (TypeError, ValueError) as trouble:
                raise type(trouble)(f"{name}: {trouble}" if name else str(trouble)) from None
            numbers = ctypes.c_int64 * max(len(found.shape), 1)
            shape = numbers(*found.shape)
            strides = numbers(*found.strides) if found.strides is not None else None
            listed[place] = _native.Tensor(found.address or None, found.dtype, len(found.shape), shape, strides, None, None)
            self._held.append((found, shape, strides))
        names = (ctypes.c_char_p * max(count, 1))(*(name.encode(errors="surrogateescape") for name in tensors))
        self.tensors = _native.Tensors(count, listed, names)
