"""What is no tensor as the bytes of a NumPy file, as `numpy.save(numpy.array(value))` has it: a number, a flag, a text, None, a
list of them."""
import io
import struct
from typing import Any, List, Tuple

_PREAMBLE = b"\x93NUMPY\x01\x00"
_LENGTH, _BLOCK = 2, 64


def npy_of(value: Any) -> bytes:
    """None is an array of objects, as numpy has it; without numpy it is a text. What is nothing of that is the text of it.

    >>> npy_of([1, 2])[-16:] == bytes([1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0])
    True
    """
    if not _is_plain(value):
        value = str(value)
    try:
        import numpy
    except ImportError:
        return _without_numpy(value)
    try:
        array = numpy.array(value)
    except Exception:  # lists of unequal lengths
        array = numpy.array(str(value))
    file = io.BytesIO()
    numpy.save(file, array)
    return file.getvalue()


def _is_plain(value: Any) -> bool:
    """Of Python itself. The others numpy would pickle, and a pickle that names classes is read by nobody who is careful."""
    if isinstance(value, (list, tuple)):
        return all(_is_plain(each) for each in value)
    return value is None or isinstance(value, (bool, int, float, complex, str))


def _without_numpy(value: Any) -> bytes:
    shape, flat = _flat(value)
    kinds = {type(each) for each in flat}
    if kinds <= {bool} and flat:
        return _file("|b1", shape, bytes(flat))
    if kinds <= {bool, int} and flat and all(-1 << 63 <= each < 1 << 63 for each in flat):
        return _file("<i8", shape, struct.pack(f"<{len(flat)}q", *flat))
    if kinds <= {bool, int, float}:
        return _file("<f8", shape, struct.pack(f"<{len(flat)}d", *flat))
    text = str(value)
    return _file(f"<U{max(len(text), 1)}", (), text.encode("utf-32-le") or bytes(4))


def _flat(value: Any) -> Tuple[Tuple[int, ...], List[Any]]:
    """Shape and elements; what is no rectangle of numbers is one element."""
    if not isinstance(value, (list, tuple)):
        return (), [value]
    if any(isinstance(each, (list, tuple)) for each in value):
        return (), [value]
    return (len(value),), list(value)


def _file(descr: str, shape: Tuple[int, ...], data: bytes) -> bytes:
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}"
    room = -(len(_PREAMBLE) + _LENGTH + len(header) + 1) % _BLOCK
    text = header.encode() + b" " * room + b"\n"
    return _PREAMBLE + struct.pack("<H", len(text)) + text + data
