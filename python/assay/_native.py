"""The C interface, include/assay/assay.h, as ctypes sees it. Nothing here knows a framework.

One table per part of the header: `_CAPTURE`, `_READ`, `_RUN`.
"""
import ctypes
import os
from ctypes import POINTER, Structure, c_char_p, c_double, c_int, c_int32, c_int64, c_uint32, c_uint64, c_void_p
from typing import Dict, Optional, Sequence, Tuple

from assay import _places
from assay._version import __version__
from assay.errors import AssayError, LibraryNotFound

ABI = 4  # the least that this package can work with

OK, BAD_ARGUMENT, UNSUPPORTED, TIMEOUT, FAILED, NOT_FOUND, BAD_FILE, CANCELLED = range(8)
STATISTICS_ONLY, ATB_BIN, NPY, PT, SAFETENSORS = range(5)
ROW, SUMMARY, REPORT, MESSAGE, PROGRESS = range(1, 6)  # assay_told
HAS_DATA, STATED_ONLY, NO_TENSOR, BROKEN = range(4)  # assay_tensor_state
PLAIN_TENSOR, WITH_GRADIENT, PARAMETER, FIXED_PARAMETER = range(4)  # assay_attributes.torch_object


class Tensor(Structure):
    _fields_ = [("data", c_void_p), ("dtype", c_int32), ("ndim", c_int32), ("shape", POINTER(c_int64)),
                ("strides", POINTER(c_int64)), ("release", c_void_p), ("release_argument", c_void_p)]


class Statistics(Structure):
    _fields_ = [("count", c_int64), ("nans", c_int64), ("infs", c_int64), ("zeros", c_int64), ("max", c_double),
                ("min", c_double), ("max_integer", c_int64), ("min_integer", c_int64), ("mean", c_double),
                ("norm", c_double), ("crc32", c_uint32), ("reserved", c_uint32), ("xor64", c_uint64)]


class CaptureConfig(Structure):
    _fields_ = [("size", c_int32), ("threads", c_int32), ("root", c_char_p), ("budget", c_int64),
                ("drops_data", c_int32), ("dedupe", c_int32), ("patience_ms", c_int64), ("reserve", c_int64),
                ("file_mode", c_uint32), ("folder_mode", c_uint32)]


class Attributes(Structure):
    _fields_ = [("replaces", c_int32), ("atb_format", c_int32), ("checksums", c_int32), ("torch_object", c_int32),
                ("tensor_name", c_char_p)]


class Tally(Structure):
    _fields_ = [(name, c_int64) for name in
                ("tensors", "bytes", "linked", "statistics", "lines", "dropped", "lost", "lost_bytes")]


class Tensors(Structure):
    _fields_ = [("count", c_int64), ("tensors", POINTER(Tensor)), ("names", POINTER(c_char_p))]


class TensorInfo(Structure):
    _fields_ = [("size", c_int32), ("state", c_int32), ("dtype", c_int32), ("ndim", c_int32),
                ("shape", POINTER(c_int64)), ("count", c_int64), ("bytes", c_int64), ("name", c_char_p),
                ("section", c_char_p), ("file", c_char_p), ("trouble", c_char_p), ("remark", c_char_p),
                ("data_file", c_char_p), ("data_offset", c_int64)]


SINK = ctypes.CFUNCTYPE(c_int, c_void_p, c_int, POINTER(ctypes.c_char), c_int64)  # user, what, text, its size
_Words = POINTER(c_char_p)

# Name -> (answer, arguments). The GIL is released while one of them runs.
_Table = Dict[str, Tuple[object, list]]
_COMMON: _Table = {
    "assay_abi_version": (c_int, []),
    "assay_version": (c_char_p, []),
    "assay_last_error": (c_char_p, []),
    "assay_dtype_from_name": (c_int, [c_char_p]),
    "assay_dtype_name": (c_char_p, [c_int]),
    "assay_dtype_size": (c_int, [c_int]),
}
_READ: _Table = {
    "assay_file_open": (c_int, [c_char_p, c_int, _Words, c_void_p, c_void_p, POINTER(c_void_p)]),
    "assay_file_count": (c_int64, [c_void_p]),
    "assay_file_info": (c_int, [c_void_p, c_int64, POINTER(TensorInfo)]),
    "assay_file_read": (c_int, [c_void_p, c_int64, c_char_p, c_int, c_void_p, c_int64]),
    "assay_file_describe": (c_int, [c_void_p, c_int64, c_char_p, c_int, POINTER(c_char_p)]),
    "assay_file_close": (None, [c_void_p]),
}
_RUN: _Table = {
    "assay_compare_tensors": (c_int, [POINTER(Tensors), POINTER(Tensors), c_int, _Words, SINK, c_void_p]),
    "assay_run": (c_int, [c_int, _Words, SINK, c_void_p]),
    "assay_cancel": (c_int, [c_void_p]),
}
_CAPTURE: _Table = {
    "assay_capture_config_init": (None, [POINTER(CaptureConfig)]),
    "assay_capture_open": (c_int, [POINTER(CaptureConfig), POINTER(c_void_p)]),
    "assay_capture_tensor": (c_int, [c_void_p, POINTER(Tensor), c_char_p, c_int, POINTER(Attributes),
                                     POINTER(Statistics)]),
    "assay_capture_line": (c_int, [c_void_p, c_char_p, c_char_p, c_char_p]),
    "assay_capture_text": (c_int, [c_void_p, c_char_p, c_char_p]),
    "assay_capture_flush": (c_int, [c_void_p, c_int64]),
    "assay_capture_tally": (c_int, [c_void_p, POINTER(Tally)]),
    "assay_capture_close": (None, [c_void_p]),
    "assay_count_down": (None, [c_void_p]),
    "assay_journal_render": (c_int, [c_char_p, c_char_p, c_int32, c_char_p]),
}

# Called with Python's lock, on Python's objects.
_PYTHON: _Table = {
    "assay_values_open": (c_int, [c_void_p, POINTER(c_void_p)]),
    "assay_values_use_device": (c_int, [c_void_p, c_int, c_char_p]),
    "assay_values_text": (ctypes.py_object, [c_void_p, ctypes.py_object, c_int32, ctypes.py_object]),
    "assay_values_line": (ctypes.py_object, [c_void_p, ctypes.py_object, ctypes.py_object, ctypes.py_object, c_int32, c_int]),
    "assay_values_settled": (ctypes.py_object, [c_void_p, ctypes.py_object, c_int32]),
    "assay_values_close": (None, [c_void_p]),
    "assay_last_error": (c_char_p, []),
}

_library: Optional[ctypes.CDLL] = None
_python_library: Optional[ctypes.PyDLL] = None


def _bind(library: ctypes.CDLL, path: str, table: _Table) -> None:
    for name, (answer, arguments) in table.items():
        try:
            function = getattr(library, name)
        except AttributeError:
            raise LibraryNotFound(f"{path}: lacks {name}; it is older than this package, {__version__}") from None
        function.restype, function.argtypes = answer, arguments


def library() -> ctypes.CDLL:
    """The library, loaded once; its version is that of the package."""
    global _library
    if _library is None:
        path = _places.find_library()
        try:
            loaded = ctypes.CDLL(path)
        except OSError as trouble:
            raise LibraryNotFound(f"{path}: cannot be loaded: {trouble}") from trouble
        _bind(loaded, path, _COMMON)
        version, abi = loaded.assay_version().decode(), loaded.assay_abi_version()
        if version != __version__ or abi < ABI:
            raise LibraryNotFound(f"{path}: is version {version} (interface {abi}), this package is {__version__} "
                                  f"(interface {ABI}); install both from one wheel")
        for table in (_CAPTURE, _READ, _RUN):
            _bind(loaded, path, table)
        _library = loaded
    return _library


def python_library() -> ctypes.PyDLL:
    """The same library, for the functions that are given Python's objects."""
    global _python_library
    if _python_library is None:
        loaded = ctypes.PyDLL(library()._name)
        _bind(loaded, loaded._name, _PYTHON)
        _python_library = loaded
    return _python_library


def check(status: int) -> None:
    """Raises what the library says of a refused call."""
    if status != OK:
        raise AssayError(library().assay_last_error().decode(errors="replace"))


def words_of(words: Sequence[str]) -> "ctypes.Array":
    """For the functions that take a list of words."""
    return (c_char_p * max(len(words), 1))(*(os.fsencode(word) for word in words))


def dtype_number(name: str) -> int:
    """The number of an element type: "f32", "bfloat16", "torch.float16"."""
    number = library().assay_dtype_from_name(name.encode())
    if number < 0:
        raise AssayError(f"there is no element type '{name}'; there are f64 f32 f16 bf16 f8e4m3fn f8e5m2 i64 i32 i16 "
                         "i8 u8 bool c64 c128 and others: docs/dtypes.md")
    return number


def dtype_name(number: int) -> str:
    return library().assay_dtype_name(number).decode()
