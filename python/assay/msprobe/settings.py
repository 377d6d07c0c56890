"""What a recorder is told to record, and what a thread is in while it records."""
import threading
from typing import Any, List, NamedTuple, Sequence, Tuple

import torch

_grad_enabled, _set_grad_enabled = torch.is_grad_enabled, torch._C._set_grad_enabled
_dispatch_modes = getattr(torch._C, "_len_torch_dispatch_stack", lambda: 0)


class Settings(NamedTuple):
    """What is recorded. The defaults are those of the original, but for `risk_level`: everything."""

    level: str = "L1"                  # L0: modules; L1: functions; mix: both
    task: str = "statistics"           # tensor: the data too; structure: no data; nan_check: whether all is finite
    summary_mode: str = "statistics"   # md5, xor: a checksum
    precision: str = "low"
    data_mode: Sequence[str] = ("all",)
    scope: Sequence[str] = ()
    list: Sequence[str] = ()
    tensor_list: Sequence[str] = ()    # of the names whose data are kept in the task statistics
    slice: Sequence[dict] = ()
    risk_level: str = "ALL"
    extra_info: bool = True            # stack.json, construct.json
    complete: bool = False             # what the original leaves out too; recomputed calls are marked
    wants_backward: bool = True


class Here:
    """What a thread is in."""

    __slots__ = ("depth", "is_busy", "was_cut", "parent", "modules")

    def __init__(self) -> None:
        self.depth = 0         # of watched functions: only the outermost is recorded
        self.is_busy = False   # recording: what is called meanwhile is not recorded
        self.was_cut = False   # a recomputation ended early (functions.py)
        self.parent = "null"   # of a function, for construct.json, as JSON
        self.modules: List[Tuple[Any, str]] = []


class Threads(threading.local):
    """Of each thread what it is in: taken once by whoever asks more than once, which is several times faster."""

    def __init__(self) -> None:
        self.here = Here()


class Recording:
    """While the recorder is at work on `what`."""

    __slots__ = ("_recorder", "_what", "_here", "_had_gradients", "_modes")

    def __init__(self, recorder: Any, what: str) -> None:
        self._recorder, self._what = recorder, what
        self._modes: Any = None

    def __enter__(self) -> None:
        self._had_gradients = _grad_enabled()
        self._here = self._recorder.threads.here
        self._here.is_busy = True
        _set_grad_enabled(False)
        if _dispatch_modes():
            self._modes = torch.utils._python_dispatch._disable_current_modes()
            self._modes.__enter__()

    def __exit__(self, kind: Any, trouble: Any, trace: Any) -> bool:
        if self._modes is not None:
            self._modes.__exit__(None, None, None)
        _set_grad_enabled(self._had_gradients)
        self._here.is_busy = False
        if isinstance(trouble, Exception):  # recording must not stop what is recorded
            self._recorder.complain(self._what, trouble)
            return True
        return False
