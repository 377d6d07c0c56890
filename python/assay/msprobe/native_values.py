"""The native half of values.py: one call into libassay describes all that a call is given, its tensors measured, as JSON.

What it does not know (subclasses of tensors, sparse ones, types of the user) it leaves to values.py, which knows everything.
"""
import ctypes
import glob
import os
import sys
from typing import Any, Callable, Dict, List, Optional

import torch

from assay import _native
from assay.errors import AssayError
from assay.msit.log import logger

_SUMMARIES = {"statistics": 0, "md5": 1, "xor": 2}
_NO_NUMBERS = 3
_told: set = set()


class _Config(ctypes.Structure):
    _fields_ = [("size", ctypes.c_int32), ("summary", ctypes.c_int32), ("has_sums", ctypes.c_int32), ("dtypes", ctypes.c_int32),
                ("dtype_objects", ctypes.POINTER(ctypes.c_void_p)), ("dtype_numbers", ctypes.POINTER(ctypes.c_int32)),
                *((name, ctypes.c_void_p) for name in ("tensor", "parameter", "strided", "mean", "norm", "stream", "keep"))]


def _raw_stream(device: int) -> int:
    return torch._C._cuda_getCurrentRawStream(device)


def _keep_for_stream(tensor: torch.Tensor) -> None:
    tensor.record_stream(torch.cuda.current_stream(tensor.device))


class NativeValues:
    def __init__(self, task: str, summary: str, precision: str, known: Dict[torch.dtype, int], mean: Callable, norm: Callable) -> None:
        self._library = _native.python_library()
        config = _Config(ctypes.sizeof(_Config), _NO_NUMBERS if task == "nan_check" else _SUMMARIES[summary],
                         int(precision != "high"), len(known))
        config.dtype_objects = (ctypes.c_void_p * len(known))(*(id(each) for each in known))
        config.dtype_numbers = (ctypes.c_int32 * len(known))(*known.values())
        self._kept = (torch.Tensor, torch.nn.Parameter, torch.strided, mean, norm, _raw_stream, _keep_for_stream)
        for (name, _), each in zip(_Config._fields_[6:], self._kept):
            setattr(config, name, id(each))
        handle = ctypes.c_void_p()
        _native.check(self._library.assay_values_open(ctypes.byref(config), ctypes.byref(handle)))
        # text(handle, value, depth, keep) is None where the value is not known here. Numbers that are still on a device are
        # marks that begin with "\1".
        self.handle, self.text, self._fill = handle, self._library.assay_values_text, self._library.assay_values_settled
        # line(handle, head, begun, value, depth, file) writes it to a journal; None where it cannot, the errno where that failed.
        self.line = self._library.assay_values_line
        self.has_device = False
        self.has_tried = False

    def __del__(self) -> None:
        if getattr(self, "handle", None):
            self._library.assay_values_close(self.handle)

    def settled(self, text: str, waits: bool) -> Optional[str]:
        """With the numbers; None where the device is not done with them."""
        return self._fill(self.handle, text, waits)

    def use_device(self) -> bool:
        """Whether tensors of CUDA devices are measured there by one kernel; asked for when one is seen."""
        if self.has_tried:
            return self.has_device
        self.has_tried = True
        if not torch.cuda.is_available() or torch.version.cuda is None:
            return False
        troubles = []
        for path in _compilers():
            status = self._library.assay_values_use_device(self.handle, torch.cuda.current_device(), os.fsencode(path))
            if status == _native.OK:
                self.has_device = True
                return True
            troubles.append(self._library.assay_last_error().decode(errors="replace"))
        text = "; ".join(troubles) or "no libnvrtc was found"
        if text not in _told:
            _told.add(text)
            logger.warning("tensors of the GPU are measured by several operations of torch each, which is slower: %s", text)
        return False


def _compilers() -> List[str]:
    """Where PyTorch has the compiler of CUDA kernels, the best guess first."""
    major = (torch.version.cuda or "").split(".")[0]
    folders = [os.path.join(os.path.dirname(torch.__file__), "lib")]
    for place in sys.path:
        folders += glob.glob(os.path.join(place, "nvidia", "*", "lib"))
    home = os.environ.get("CUDA_HOME") or "/usr/local/cuda"
    folders += [os.path.join(home, "lib64")]
    found = [path for folder in folders for path in sorted(glob.glob(os.path.join(folder, "libnvrtc[.-]*so*")))
             if "builtins" not in os.path.basename(path) and ".alt." not in os.path.basename(path)]
    found.sort(key=lambda path: f".so.{major}" not in path)
    return [*dict.fromkeys(found), f"libnvrtc.so.{major}"]


def open_native(task: str, summary: str, precision: str, known: Dict[torch.dtype, int], mean: Callable, norm: Callable) \
        -> Optional[NativeValues]:
    """None on an interpreter that the library finds no way into."""
    try:
        return NativeValues(task, summary, precision, known, mean, norm)
    except AssayError:
        return None
