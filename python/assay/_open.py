"""assay.open: the tensors of a file, a folder or a dump, read when they are asked for."""
import ctypes
import json
import os
import sys
import threading
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple, Union

from assay import _native, _options
from assay._options import PathLike, Texts
from assay.errors import AssayError

# Types that numpy, or a buffer of Python, has by itself.
_NUMPY = {"f64": "float64", "f32": "float32", "f16": "float16", "i64": "int64", "i32": "int32", "i16": "int16", "i8": "int8",
          "u64": "uint64", "u32": "uint32", "u16": "uint16", "u8": "uint8", "bool": "bool", "c64": "complex64", "c128": "complex128"}
_BYTES = {"i4": "int8", "i2": "int8", "u4": "uint8", "u2": "uint8", "u1": "uint8"}  # read as a byte each
_ML_DTYPES = {"bf16": "bfloat16", "f8e4m3fn": "float8_e4m3fn", "f8e5m2": "float8_e5m2", "f8e4m3fnuz": "float8_e4m3fnuz",
              "f8e5m2fnuz": "float8_e5m2fnuz", "f8e8m0": "float8_e8m0fnu", "f6e3m2": "float6_e3m2fn", "f6e2m3": "float6_e2m3fn",
              "f4e2m1": "float4_e2m1fn"}
_TORCH = {**_NUMPY, **_BYTES, "c32": "complex32", "bf16": "bfloat16", "f8e4m3fn": "float8_e4m3fn", "f8e5m2": "float8_e5m2",
          "f8e4m3fnuz": "float8_e4m3fnuz", "f8e5m2fnuz": "float8_e5m2fnuz", "f8e8m0": "float8_e8m0fnu"}
_STATES = {_native.HAS_DATA: "data", _native.STATED_ONLY: "stated", _native.NO_TENSOR: "value", _native.BROKEN: "broken"}


class _Handle:
    """The open file; it stays open while somebody reads from it."""

    def __init__(self, path: str, handle: ctypes.c_void_p) -> None:
        self.path, self._handle = path, handle
        self._users, self._is_closed, self._guard = 0, False, threading.Lock()

    def __enter__(self) -> ctypes.c_void_p:
        with self._guard:
            if self._is_closed:
                raise AssayError(f"{self.path}: is closed")
            self._users += 1
        return self._handle

    def __exit__(self, *_: object) -> None:
        with self._guard:
            self._users -= 1
            ends = self._is_closed and self._users == 0
        if ends:
            _native.library().assay_file_close(self._handle)

    def close(self) -> None:
        with self._guard:
            ends, self._is_closed = not self._is_closed and self._users == 0, True
        if ends:
            _native.library().assay_file_close(self._handle)

    def __del__(self) -> None:
        try:
            self.close()
        except Exception:  # the interpreter ends
            pass


class Tensor:
    """One tensor of a file. Nothing is read before it is asked for.

    `tensor[0:10]` reads that part alone, `numpy.asarray(tensor)` all of it.
    """

    def __init__(self, handle: _Handle, number: int, dtype: Optional[str] = None) -> None:
        self._file, self._number = handle, number
        info = _native.TensorInfo(size=ctypes.sizeof(_native.TensorInfo))
        with handle as open_handle:
            _native.check(_native.library().assay_file_info(open_handle, number, info))
            self.name: str = info.name.decode(errors="replace")
            self.section: str = info.section.decode(errors="replace")  # of a dump of several: "rank 0 step 3"
            self.file: str = os.fsdecode(info.file)
            self.trouble: str = info.trouble.decode(errors="replace")  # why it cannot be read
            self.remark: str = info.remark.decode(errors="replace")
            self._data_file, self._data_offset = os.fsdecode(info.data_file), info.data_offset
            self.shape: Optional[Tuple[int, ...]] = tuple(info.shape[:info.ndim]) if info.dtype >= 0 else None
            self._own_dtype = _native.dtype_name(info.dtype) if info.dtype >= 0 else None
            self.state: str = _STATES.get(info.state, "broken")  # data, stated (statistics alone), value (no tensor), broken
        self._wanted = dtype

    @property
    def dtype(self) -> Optional[str]:
        """"f32", "bf16", "i64"; None where it is not known."""
        return self._wanted or self._own_dtype

    @property
    def ndim(self) -> int:
        return len(self.shape or ())

    @property
    def size(self) -> int:
        count = 1
        for each in self.shape or ():
            count *= each
        return count

    @property
    def nbytes(self) -> int:
        return self.size * _native.library().assay_dtype_size(_native.dtype_number(self.dtype)) if self.dtype else 0

    def astype(self, dtype: Any) -> "Tensor":
        """The same tensor, converted when it is read ("f32", numpy.float16, torch.bfloat16): rounded to nearest even."""
        name = _native.dtype_name(_native.dtype_number(_options.text_of(dtype)))
        return Tensor(self._file, self._number, name if name != self._own_dtype else None)

    def numpy(self, dtype: Any = None) -> Any:
        """As an array of NumPy. Where the file has the elements as they are, it is a read-only view of the file, without a copy, and
        keeps the file; a file that is cut short in the meantime ends the program, as with numpy.memmap."""
        if dtype is not None:
            return self.astype(dtype).numpy()
        numpy, kind = self._numpy_type()
        mapped = self._mapped(numpy, kind)
        return mapped if mapped is not None else self._read(numpy, kind, None, self.shape or ())

    def torch(self) -> Any:
        """As a tensor of PyTorch, of its own: it may be written to, and the file does not change."""
        import torch

        dtype, shape = self._need_data()
        name = _TORCH.get(dtype)
        kind = getattr(torch, name, None) if name else None
        if kind is None:
            raise AssayError(f"{self.name}: this PyTorch has no type for {dtype}; .astype('f32').torch() converts it")
        count, size = self.size, self.nbytes
        if count and self._is_in_place() and self._data_offset % max(kind.itemsize if hasattr(kind, "itemsize") else 16, 1) == 0 \
                and hasattr(torch, "frombuffer"):
            with self._file:
                memory, begin = _map(self._data_file, self._data_offset, size, private=True)
            return torch.frombuffer(memory, dtype=kind, count=count, offset=begin).reshape(shape)
        out = torch.empty(shape, dtype=kind)
        self._read_into(out.data_ptr(), size, None)
        return out

    def tolist(self) -> Any:
        """Numbers of Python in lists; needs nothing but Python."""
        dtype, shape = self._need_data()
        code, name = ("?", "bool") if dtype == "bool" else ("Q", "u64") if dtype[0] == "u" else ("q", "i64") if dtype[0] == "i" \
            else ("d", "f64")
        if dtype[0] == "c":
            raise AssayError(f"{self.name}: complex numbers have no list; .numpy() has them")
        if self.size == 0:
            return _empty_list(shape)
        buffer = ctypes.create_string_buffer(self.size * (1 if code == "?" else 8))
        self._read_into(ctypes.addressof(buffer), len(buffer), None, name)
        return memoryview(buffer).cast("B").cast(code, shape).tolist()  # type: ignore[call-overload]

    def stats(self) -> Dict[str, Any]:
        """min, max, mean, std, norm, nan, inf, zero, histogram: of the elements, as `assay inspect` has them; of a dump that keeps
        statistics alone what it states."""
        found = self.describe(measures=self.state == "data")
        if self.state == "stated" and "stated" in found:
            return dict(found["stated"])
        return {name: found[name] for name in ("min", "max", "mean", "std", "norm", "nan", "inf", "zero", "histogram")
                if name in found}

    def describe(self, measures: bool = False) -> Dict[str, Any]:
        """What `assay inspect --json` says of it: facts of its file, what the dump states, a value that is no tensor."""
        told = ctypes.c_char_p()
        with self._file as handle:
            _native.check(_native.library().assay_file_describe(handle, self._number, None, int(measures), told))
            return json.loads(told.value or b"{}")

    @property
    def value(self) -> Any:
        """Of a number or a text beside the tensors (state "value")."""
        return self.describe().get("value")

    def __getitem__(self, index: Any) -> Any:
        """As NumPy: whole numbers, slices and ... read what they name, and no more; anything else reads the whole."""
        numpy, kind = self._numpy_type()
        mapped = self._mapped(numpy, kind)
        if mapped is not None:
            return mapped[index]
        part = _part_of(index, self.shape or ())
        if part is None:
            return self.numpy()[index]
        text, shape, flips = part
        found = self._read(numpy, kind, text, shape)
        return found[flips] if flips else found

    def __array__(self, dtype: Any = None, copy: Optional[bool] = None) -> Any:
        found = self.numpy()
        found = found.astype(dtype) if dtype is not None and found.dtype != dtype else found
        return found.copy() if copy and found.base is not None else found

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a tensor without dimensions")
        return self.shape[0]

    def __repr__(self) -> str:
        if self.state == "broken":
            return f"<Tensor {self.name}: {self.trouble}>"
        kind = f"{self.dtype} {list(self.shape or ())}" if self.dtype else self.state
        return f"<Tensor {self.section + ' ' if self.section else ''}{self.name}: {kind}>"

    def _need_data(self) -> Tuple[str, Tuple[int, ...]]:
        """Type and shape."""
        dtype = self.dtype
        if self.state != "data" or dtype is None or self.shape is None:
            why = {"stated": "the dump keeps statistics of it alone: .stats()", "value": "is no tensor: .value"}
            raise AssayError(f"{self.name}: {why.get(self.state, self.trouble)}")
        return dtype, self.shape

    def _numpy_type(self) -> Tuple[Any, Any]:
        dtype, _ = self._need_data()
        try:
            import numpy
        except ImportError:
            raise AssayError("NumPy is not installed; .tolist(), .stats() and .torch() do without") from None
        name = _NUMPY.get(dtype) or _BYTES.get(dtype)
        if name:
            return numpy, numpy.dtype(name)
        small = _ML_DTYPES.get(dtype)
        ml_dtypes = sys.modules.get("ml_dtypes")
        if small and ml_dtypes is None:
            try:
                import ml_dtypes  # type: ignore[no-redef]
            except ImportError:
                pass
        kind = getattr(ml_dtypes, small, None) if small and ml_dtypes is not None else None
        if kind is None:
            hint = "the package ml_dtypes has one; " if small else ""
            raise AssayError(f"{self.name}: NumPy has no type for {self.dtype}; {hint}.numpy('f32') or .astype('f32') converts "
                             "it, .torch() may have it")
        return numpy, numpy.dtype(kind)

    def _is_in_place(self) -> bool:
        return self._wanted is None and self._data_offset >= 0 and sys.byteorder == "little"

    def _mapped(self, numpy: Any, kind: Any) -> Any:
        if not self._is_in_place() or self.size == 0:
            return None
        with self._file:  # a closed one gives nothing, as everywhere
            memory, begin = _map(self._data_file, self._data_offset, self.nbytes)
        return numpy.frombuffer(memory, kind, self.size, begin).reshape(self.shape)

    def _read(self, numpy: Any, kind: Any, part: Optional[str], shape: Sequence[int]) -> Any:
        out = numpy.empty(tuple(shape), kind)
        self._read_into(out.ctypes.data, out.nbytes, part)
        return out

    def _read_into(self, address: int, size: int, part: Optional[str], dtype: Optional[str] = None) -> None:
        wanted = dtype or self._wanted
        number = _native.dtype_number(wanted) if wanted else -1
        text = part.encode() if part is not None else None
        with self._file as handle:
            _native.check(_native.library().assay_file_read(handle, self._number, text, number, address or None, size))


class File(Mapping):
    """The tensors of a file, a folder or a dump, by name; of a dump of several ranks or steps by "rank 0 step 3/NAME", and by NAME
    alone where one of them has it.

    >>> import assay, tempfile, os, array
    >>> folder, values = tempfile.mkdtemp(), array.array("f", [1, 2, 3, 4])
    >>> with assay.Writer(folder) as writer:
    ...     writer.tensor("x.npy", values.buffer_info()[0], "f32", [2, 2])
    >>> with assay.open(os.path.join(folder, "x.npy")) as file:
    ...     print(list(file), file["x.npy"].shape, file["x.npy"].tolist(), file["x.npy"].stats()["max"])
    ['x.npy'] (2, 2) [[1.0, 2.0], [3.0, 4.0]] 4.0
    """

    def __init__(self, path: PathLike, options: Sequence[str] = ()) -> None:
        library = _native.library()
        self.path = os.fsdecode(path)
        handle = ctypes.c_void_p()
        _native.check(library.assay_file_open(os.fsencode(path), len(options), _native.words_of(options), None, None, handle))
        self._file = _Handle(self.path, handle)
        self._count = library.assay_file_count(handle)
        self._numbers: "Optional[OrderedDict[str, int]]" = None
        self._by_name: Dict[str, List[str]] = {}

    def _keys(self) -> "OrderedDict[str, int]":
        if self._numbers is None:
            listed = [(tensor.name, tensor.section) for tensor in (Tensor(self._file, i) for i in range(self._count))]
            several = len({section for _, section in listed}) > 1
            keys: "OrderedDict[str, int]" = OrderedDict()
            for number, (name, section) in enumerate(listed):
                plain = key = f"{section}/{name}" if several and section else name
                more = 1
                while key in keys:
                    more += 1
                    key = f"{plain}#{more}"
                keys[key] = number
                self._by_name.setdefault(name, []).append(key)
            self._numbers = keys
        return self._numbers

    def __getitem__(self, key: Union[str, int]) -> Tensor:
        """By name, or by its number in the file."""
        if isinstance(key, int):
            if not -self._count <= key < self._count:
                raise IndexError(f"{self.path}: tensor {key} of {self._count}")
            return Tensor(self._file, key % self._count)
        keys = self._keys()
        if key in keys:
            return Tensor(self._file, keys[key])
        found = self._by_name.get(key, [])
        if len(found) == 1:
            return Tensor(self._file, keys[found[0]])
        if found:
            raise KeyError(f"{key} is in several places of {self.path}: {_some(found)}")
        raise KeyError(f"{self.path} has no tensor '{key}'{_near(key, keys)}")

    def __contains__(self, key: object) -> bool:
        keys = self._keys()
        return key in keys or len(self._by_name.get(key, ())) == 1  # type: ignore[call-overload]

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys())

    def __len__(self) -> int:
        return self._count

    def __repr__(self) -> str:
        return f"<{self.path}: {self._count} tensor{'s' if self._count != 1 else ''}>"

    def close(self) -> None:
        """Arrays that were taken out of it stay as they are."""
        self._file.close()

    def __enter__(self) -> "File":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def open(path: PathLike, *, only: Texts = None, skip: Texts = None, layout: Optional[str] = None, dtype: Any = None,
         shape: Union[str, Sequence[int], None] = None, offset: Optional[int] = None, memory: Union[str, int, None] = None,
         threads: Optional[int] = None, trusted: bool = False) -> File:
    """The tensors of a file of any format, a folder, or a dump of any layout. `dtype`, `shape` and `offset` describe raw bytes;
    `only` and `skip` choose by name, before anything is opened."""
    options = {name: value for name, value in locals().items() if name != "path"}
    return File(path, _options.words_of(options, {"only": "", "skip": ""}))


def _map(path: str, offset: int, size: int, private: bool = False) -> Tuple[Any, int]:
    """The bytes of a file in memory, and where in it they begin. private: may be written to, and nobody sees it."""
    import mmap

    begin = offset % mmap.ALLOCATIONGRANULARITY
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
    try:
        if os.fstat(descriptor).st_size < offset + size:
            raise AssayError(f"{path}: is shorter than when it was opened")
        return mmap.mmap(descriptor, size + begin, access=mmap.ACCESS_COPY if private else mmap.ACCESS_READ,
                         offset=offset - begin), begin
    finally:
        os.close(descriptor)


def _part_of(index: Any, shape: Sequence[int]) -> Optional[Tuple[str, List[int], tuple]]:
    """The text of a part, its shape, and what of it is to be turned around; None where an index is more than numbers and slices."""
    given = index if isinstance(index, tuple) else (index,)
    if any(each is not Ellipsis and not isinstance(each, (int, slice)) or isinstance(each, bool) for each in given):
        return None
    if sum(each is Ellipsis for each in given) > 1:
        raise IndexError("an index can only have one ellipsis ('...')")
    if Ellipsis in given:
        at = given.index(Ellipsis)
        given = given[:at] + (slice(None),) * (len(shape) - len(given) + 1) + given[at + 1:]
    if len(given) > len(shape):
        raise IndexError(f"{len(given)} indices for {len(shape)} dimensions")
    words, extents, flips, is_turned = [], [], [], False
    for each, extent in zip(given + (slice(None),) * (len(shape) - len(given)), shape):
        if isinstance(each, int):
            if not -extent <= each < extent:
                raise IndexError(f"index {each} is out of bounds for a dimension of {extent}")
            words.append(str(each % extent))
            continue
        steps = range(*each.indices(extent))
        if steps.step < 0:
            steps, is_turned = steps[::-1], True
            flips.append(slice(None, None, -1))
        else:
            flips.append(slice(None))
        if len(steps) == 0:
            return None
        words.append(f"{steps.start}:{steps[-1] + 1}:{steps.step}")
        extents.append(len(steps))
    return f"[{', '.join(words)}]", extents, tuple(flips) if is_turned else ()


def _empty_list(shape: Sequence[int]) -> Any:
    return [] if len(shape) <= 1 or shape[0] == 0 else [_empty_list(shape[1:]) for _ in range(shape[0])]


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _near(key: str, keys: Mapping) -> str:
    import difflib

    near = difflib.get_close_matches(key, list(keys)[:10000], 1)
    return f"; did you mean '{near[0]}'?" if near else f"; there are {_some(list(keys))}" if keys else ""
