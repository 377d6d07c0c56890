"""Writing tensors, tables and texts through the native writer: asynchronous, bounded, whole files (docs/capture.md)."""
import ctypes
import os
from typing import Dict, NamedTuple, Optional, Sequence, Union

from assay import _native
from assay.errors import AssayError

_FORMATS = {"statistics": _native.STATISTICS_ONLY, "bin": _native.ATB_BIN, "npy": _native.NPY, "pt": _native.PT,
            "safetensors": _native.SAFETENSORS}
_SIGNED, _UNSIGNED = range(14, 20), range(20, 28)  # of assay_dtype
_ALL_BITS = (1 << 64) - 1


class Statistics(NamedTuple):
    """What one pass over a tensor gives. Of integers max and min are exact."""

    count: int
    nans: int
    infs: int
    zeros: int
    max: float
    min: float
    mean: float
    norm: float
    crc32: int
    xor64: int


class Tally(NamedTuple):
    """What was written so far, and what was not."""

    tensors: int
    bytes: int
    linked: int
    statistics: int
    lines: int
    dropped: int
    lost: int
    lost_bytes: int


class Writer:
    """Writes into a folder; paths are relative to it.

    A tensor is what has an address, a type, a shape and strides: the caller keeps it alive for the call alone.

    >>> import array, tempfile, os
    >>> values = array.array("f", [1.0, 2.0, 4.0])
    >>> with Writer(tempfile.mkdtemp()) as writer:
    ...     stats = writer.tensor("x.npy", values.buffer_info()[0], "f32", [3], format="npy", statistics=True)
    ...     writer.flush()
    ...     os.path.exists(os.path.join(writer.root, "x.npy")), stats.max, stats.zeros
    (True, 4.0, 0)
    """

    def __init__(self, root: Union[str, "os.PathLike[str]"], *, threads: int = 0, budget: Optional[int] = None,
                 drop: bool = False, keeps_count: bool = True) -> None:
        """`drop`: where the budget (bytes that wait) is used up, statistics are kept and data are not; otherwise
        the caller waits. `keeps_count`: a capture.json in the folder says what was lost."""
        self._handle: Optional[ctypes.c_void_p] = None
        self.root = os.path.abspath(os.fspath(root))
        self._library = _native.library()
        config = _native.CaptureConfig()
        self._library.assay_capture_config_init(ctypes.byref(config))
        self._is_relative = keeps_count
        config.root = os.fsencode(self.root) if keeps_count else None
        config.threads = threads
        config.drops_data = int(drop)
        if budget is not None:
            config.budget = budget
        handle = ctypes.c_void_p()
        _native.check(self._library.assay_capture_open(ctypes.byref(config), ctypes.byref(handle)))
        self._handle = handle
        self._dtypes: Dict[str, int] = {}

    def __enter__(self) -> "Writer":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def dtype(self, name: str) -> int:
        """The number of a type ("f32", "torch.bfloat16"), -1 if the library has none."""
        number = self._dtypes.get(name)
        if number is None:
            number = self._dtypes[name] = self._library.assay_dtype_from_name(name.encode())
        return number

    def tensor(self, path: str, address: int, dtype: str, shape: Sequence[int], strides: Optional[Sequence[int]] = None,
               *, format: str = "npy", replace: bool = False, statistics: bool = False, checksums: bool = False,
               torch_object: int = _native.PLAIN_TENSOR, name: Optional[str] = None,
               countdown: Optional[ctypes.c_int64] = None) -> Optional[Statistics]:
        """Hands a tensor over; it may change as soon as this returns. `strides` are in elements. With `countdown`, which outlives
        the writer, it is not copied: the number is one less when its memory is no longer needed."""
        ndim = len(shape)
        numbers = ctypes.c_int64 * max(ndim, 1)
        tensor = _native.Tensor(address, self.dtype(dtype), ndim, numbers(*shape), None, None, None)
        if strides is not None:
            tensor.strides = numbers(*strides)
        if countdown is not None:
            tensor.release = ctypes.cast(self._library.assay_count_down, ctypes.c_void_p)
            tensor.release_argument = ctypes.addressof(countdown)
        attributes = _native.Attributes(int(replace), 0, int(checksums), torch_object,
                                        name.encode() if name is not None else None)
        found = _native.Statistics() if statistics else None
        _native.check(self._library.assay_capture_tensor(
            self._open(), ctypes.byref(tensor), self._place(path), _FORMATS[format], ctypes.byref(attributes),
            ctypes.byref(found) if found is not None else None))
        if found is None:
            return None
        high, low = found.max, found.min
        if tensor.dtype in _SIGNED:
            high, low = found.max_integer, found.min_integer
        elif tensor.dtype in _UNSIGNED:  # the bits of the number
            high, low = found.max_integer & _ALL_BITS, found.min_integer & _ALL_BITS
        return Statistics(found.count, found.nans, found.infs, found.zeros, high, low, found.mean, found.norm,
                          found.crc32, found.xor64)

    def count_down(self, number: ctypes.c_int64) -> None:
        """As the writer does it, of a tensor that it refused."""
        self._library.assay_count_down(ctypes.addressof(number))

    def line(self, path: str, line: str, header: Optional[str] = None) -> None:
        """One line (its end is added) of a table; `header` is the first line of a new one."""
        _native.check(self._library.assay_capture_line(self._open(), self._place(path),
                                                       header.encode() if header is not None else None, line.encode()))

    def text(self, path: str, text: str) -> None:
        """The whole of a text file, in the place of what was there."""
        _native.check(self._library.assay_capture_text(self._open(), self._place(path), text.encode()))

    def flush(self, timeout: float = 600.0) -> None:
        """Until everything that was handed in is in its file."""
        _native.check(self._library.assay_capture_flush(self._open(), int(timeout * 1000)))

    def tally(self) -> Tally:
        found = _native.Tally()
        _native.check(self._library.assay_capture_tally(self._open(), ctypes.byref(found)))
        return Tally(*(getattr(found, name) for name in Tally._fields))

    def close(self) -> None:
        """Writes what waits, and ends. A program that ends needs no close."""
        handle, self._handle = self._handle, None
        if handle is not None:
            self._library.assay_capture_close(handle)

    def _open(self) -> ctypes.c_void_p:
        if self._handle is None:
            raise AssayError(f"{self.root}: this writer is closed")
        return self._handle

    def _place(self, path: str) -> bytes:
        return os.fsencode(path if self._is_relative else os.path.join(self.root, path))
