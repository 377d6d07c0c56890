"""The C interface, include/assay/assay.h, as ctypes sees it. Nothing here knows a framework.

One table per part of the header (`_CAPTURE`): a later part gets a table of its own, and `library()` binds it
where the library is new enough.
"""
import ctypes
from ctypes import POINTER, Structure, c_char_p, c_double, c_int, c_int32, c_int64, c_uint32, c_uint64, c_void_p
from typing import Dict, Optional, Tuple

from assay import _places
from assay._version import __version__
from assay.errors import AssayError, LibraryNotFound

ABI = 2  # the least that this package can work with

OK, BAD_ARGUMENT, UNSUPPORTED, TIMEOUT, FAILED = range(5)
STATISTICS_ONLY, ATB_BIN, NPY, PT, SAFETENSORS = range(5)
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


# Name -> (answer, arguments). The GIL is released while one of them runs.
_Table = Dict[str, Tuple[object, list]]
_COMMON: _Table = {
    "assay_abi_version": (c_int, []),
    "assay_version": (c_char_p, []),
    "assay_last_error": (c_char_p, []),
    "assay_dtype_from_name": (c_int, [c_char_p]),
    "assay_dtype_name": (c_char_p, [c_int]),
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
}

_library: Optional[ctypes.CDLL] = None


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
        _bind(loaded, path, _CAPTURE)
        _library = loaded
    return _library


def check(status: int) -> None:
    """Raises what the library says of a refused call."""
    if status != OK:
        raise AssayError(library().assay_last_error().decode(errors="replace"))
