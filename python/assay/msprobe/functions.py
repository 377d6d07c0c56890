"""Wrappers around the functions of PyTorch that msprobe watches. Taken off, everything is as it was."""
import functools
import importlib
import sys
from typing import Any, Callable, Dict, List, Optional, Tuple

import torch

from assay.msprobe.api_names import WATCHED
from assay.torch.module_calls import compiling_begins, never_compiled

_MISSING = object()
_DROPOUTS = {"Functional.dropout", "Functional.dropout1d", "Functional.dropout2d", "Functional.dropout3d",
             "Functional.alpha_dropout", "Functional.feature_alpha_dropout", "Torch.dropout", "Torch.dropout_",
             "Torch.alpha_dropout", "Torch.alpha_dropout_", "Torch.feature_alpha_dropout", "Torch.feature_alpha_dropout_"}
# Of what is received into, nothing is known before the call.
_UNKNOWN_BEFORE: Dict[str, Tuple[Any, ...]] = {
    "recv": (0,), "irecv": (0, "tensor"), "all_gather": (0,), "gather": (1,), "scatter": (0,), "reduce_scatter": (0,),
    "_reduce_scatter_base": (0,), "_all_gather_base": (0,), "all_to_all_single": (0,), "all_to_all": (0,),
    "all_gather_into_tensor": (0,), "reduce_scatter_tensor": (0,)}
_grad_enabled, _tracing = torch.is_grad_enabled, torch._C._get_tracing_state
_graph_task = getattr(torch._C, "_current_graph_task_id", None)
try:
    from torch.utils.checkpoint import _StopRecomputationError as EarlyStop
except ImportError:  # before 2.1
    class EarlyStop(Exception):  # type: ignore[no-redef]
        pass


def _places(is_complete: bool) -> List[Tuple[str, str, List[Any], List[Any]]]:
    """Prefix in names, key of the list, where the functions are, and where the wrappers go."""
    places: List[Tuple[str, str, List[Any], List[Any]]] = [
        ("Functional", "functional", [torch.nn.functional], [torch.nn.functional]),
        ("Tensor", "tensor", [torch.Tensor], [torch.Tensor]), ("Torch", "torch", [torch], [torch])]
    if is_complete:  # the original lists them, but its wrappers never reach them
        places.append(("VF", "_VF", [torch._C._VariableFunctionsClass], [torch._VF]))
    if torch.distributed.is_available():
        both = [torch.distributed, torch.distributed.distributed_c10d]
        places.append(("Distributed", "distributed", both, both))
    if "torch_npu" in sys.modules:
        npu = sys.modules["torch_npu"]
        places.append(("NPU", "torch_npu", [torch.ops.npu, npu], [npu, torch.ops.npu]))
        if hasattr(npu, "distributed"):
            places.append(("Distributed", "npu_distributed", [npu.distributed], [npu.distributed]))
    if "mindspeed" in sys.modules:
        operators = importlib.import_module("mindspeed.ops")
        places.append(("MindSpeed", "mindspeed", [operators], [operators]))
    return places


class Functions:
    """The wrappers of one recorder."""

    def __init__(self, recorder: Any, watches_all: bool = True) -> None:
        self._recorder = recorder
        self.is_on = True
        self._counts: Dict[str, int] = {}
        self._put: List[Tuple[Any, str, Any]] = []  # what is to be put back
        self._waited_for: Dict[Any, Callable[[], None]] = {}
        self._compile_by: Optional[Callable] = None  # tells what compiles the frames that are called from here, where something does
        if not watches_all:
            return
        for prefix, key, sources, targets in _places(recorder.settings.complete):
            wrappers: Dict[int, Callable] = {}
            for name in WATCHED[key]:
                for source, target in zip(sources, targets):
                    self._wrap(prefix, name, source, target, wrappers)
        if torch.distributed.is_available():
            self._watch_waiting()
        self._stay_off_scripts()
        self._stay_off_compiling()

    def _wrap(self, prefix: str, name: str, source: Any, target: Any, wrappers: Dict[int, Callable]) -> None:
        *way, last = name.split(".")
        for part in way:
            source, target = getattr(source, part, None), getattr(target, part, None)
        original = getattr(source, last, None) if source is not None and target is not None else None
        if callable(original):
            if id(original) not in wrappers:
                wrappers[id(original)] = self.watched(original, last, prefix)
            self.put(target, last, wrappers[id(original)])

    def put(self, target: Any, name: str, value: Any) -> None:
        self._put.append((target, name, vars(target).get(name, _MISSING) if hasattr(target, "__dict__") else
                          getattr(target, name, _MISSING)))
        setattr(target, name, value)

    def take_off(self, target: Any, name: str) -> bool:
        for number in range(len(self._put) - 1, -1, -1):
            if self._put[number][0] is target and self._put[number][1] == name:
                _put_back(*self._put.pop(number))
                return True
        return False

    def remove(self) -> None:
        while self._put:
            _put_back(*self._put.pop())

    def forget_counts(self) -> None:
        self._counts.clear()
        self._waited_for.clear()

    def watched(self, original: Callable, api: str, prefix: str) -> Callable:
        recorder, threads, counts = self._recorder, self._recorder.threads, self._counts
        known, is_of_risk = f"{prefix}.{api}", recorder.is_wanted("", api) if recorder.scope is None else True

        def is_wanted(name: str) -> bool:
            return is_of_risk if recorder.scope is None else recorder.scope.holds(name)

        is_distributed, unknown = prefix == "Distributed", _UNKNOWN_BEFORE.get(api, ()) if prefix == "Distributed" else ()
        is_dropout = known in _DROPOUTS

        def call(*args: Any, **kwargs: Any) -> Any:
            if not recorder.is_running:
                return original(*args, **kwargs)
            here = threads.here
            if here.depth or here.is_busy or here.was_cut or not self.is_on or _tracing() is not None:
                return original(*args, **kwargs)
            here.depth = 1
            compile_by = self._compile_by
            compiler = None if compile_by is None else compile_by(None)
            try:
                number = counts.get(known, 0)
                name = f"{known}.{number}.forward"
                with recorder.lock, recorder.recording(name):
                    shown, named = (_without(args, kwargs, unknown)) if unknown else (args, kwargs)
                    recorder.began(name, is_wanted(name), shown, named, 1)
                output = original(*args, **kwargs)
                if not recorder.is_running:
                    return output
                counts[known] = number + 1
                if _grad_enabled() and not (is_dropout and _never_drops(args, kwargs)):
                    self._watch_backward(output, f"{known}.{number}.backward", is_wanted)
                with recorder.lock, recorder.recording(name):
                    if is_distributed:
                        self._ended_distributed(name, api, args, kwargs, output)
                    else:
                        recorder.ended(name, lambda: is_wanted(name), output, None,
                                       recorder.settings.complete and is_recomputing())
                return output
            except EarlyStop:
                if not recorder.settings.complete:
                    here.was_cut = True  # the original records nothing more of this thread until the next step
                raise
            finally:
                here.depth = 0
                if compile_by is not None:
                    compile_by(compiler)

        never_compiled(call.__code__)
        for attribute in ("__name__", "__qualname__", "__doc__", "__module__", "default"):
            if hasattr(original, attribute):
                try:
                    setattr(call, attribute, getattr(original, attribute))
                except (AttributeError, TypeError):
                    pass
        call.__wrapped__ = original  # type: ignore[attr-defined]
        call._torchdynamo_disable = True  # type: ignore[attr-defined]  # a graph breaks here, and the call is seen
        return call

    def _stay_off_scripts(self) -> None:
        """torch.jit.script compiles the functions themselves."""
        original = torch.jit.script

        @functools.wraps(original)
        def script(*args: Any, **kwargs: Any) -> Any:
            kept, self._put = self._put, []
            wrappers = [(target, name, vars(target)[name]) for target, name, _ in kept if name in vars(target)]
            for each in reversed(kept):
                _put_back(*each)
            try:
                return original(*args, **kwargs)
            finally:
                for target, name, wrapper in wrappers:
                    setattr(target, name, wrapper)
                self._put = kept

        self.put(torch.jit, "script", script)

    def _stay_off_compiling(self) -> None:
        """What torch.compile calls while it compiles is none of the model's."""
        if not hasattr(torch, "compile"):
            return
        if "torch._dynamo.convert_frame" in sys.modules:
            self._watch_compiling()
            return
        original = torch.compile  # what it imports takes seconds: not before it is asked for

        @functools.wraps(original)
        def compile(*args: Any, **kwargs: Any) -> Any:
            result = original(*args, **kwargs)
            if "torch._dynamo.convert_frame" in sys.modules:
                self._watch_compiling()
            return result

        self.put(torch, "compile", compile)

    def _watch_compiling(self) -> None:
        frames = sys.modules["torch._dynamo.convert_frame"]
        compiling_begins()  # behind a break of a graph it would compile the wrappers, and what is recorded in them were lost
        self._compile_by = getattr(sys.modules["torch._dynamo.eval_frame"], "set_eval_frame", None)
        original, threads = getattr(frames, "_compile", None), self._recorder.threads
        if original is None or hasattr(original, "stays_off"):
            return

        @functools.wraps(original)
        def compiling(*args: Any, **kwargs: Any) -> Any:
            self._recorder.tell_once("torch.compile: functions are recorded where its graphs break; methods and operators of tensors "
                                     "within a graph are not seen")
            here = threads.here
            was_busy, here.is_busy = here.is_busy, True
            try:
                return original(*args, **kwargs)
            finally:
                here.is_busy = was_busy

        compiling.stays_off = True  # type: ignore[attr-defined]
        self.put(frames, "_compile", compiling)

    def _watch_backward(self, output: Any, name: str, is_wanted: Callable[[str], bool]) -> None:
        first = _first_tensor(output)
        if first is None or not first.requires_grad or first.grad_fn is None:
            return
        recorder, threads, step = self._recorder, self._recorder.threads, self._recorder.step_number
        told = []

        def behind(results: Any, given: Any) -> None:
            if threads.here.is_busy or recorder.step_number != step:
                return
            with recorder.lock, recorder.recording(name):
                recorder.went_back(name, lambda: is_wanted(name), given, results, bool(told))
            told.append(None)

        here = threads.here
        here.is_busy = True
        try:
            first.grad_fn.register_hook(behind)
        finally:
            here.is_busy = False

    # Distributed calls: what they fill is what they were given

    def _ended_distributed(self, name: str, api: str, args: tuple, kwargs: dict, output: Any) -> None:
        recorder = self._recorder

        def tell() -> None:
            result = args + tuple(kwargs.values())
            if api == "isend" and result:
                result = (None,) + result[1:]
            recorder.ended(name, lambda: recorder.is_wanted(name, api), result)

        def tell_later() -> None:
            with recorder.lock, recorder.recording(name):
                tell()

        if api == "batch_isend_irecv" and isinstance(output, list) and output:
            left = [len(output)]

            def tell_last() -> None:
                left[0] -= 1
                if left[0] == 0:
                    tell_later()

            for work in output:
                self._waited_for[work] = tell_last
        elif output is not None and hasattr(output, "wait") and (kwargs.get("async_op") or api in ("isend", "irecv")
                                                                 or any(each is True for each in args)):
            self._waited_for[output] = tell_later
        else:
            tell()

    def _watch_waiting(self) -> None:
        work = getattr(torch.distributed, "Work", None) or torch._C._distributed_c10d.Work
        original, waited_for = work.wait, self._waited_for

        @functools.wraps(original)
        def wait(self: Any, *args: Any, **kwargs: Any) -> Any:
            result = original(self, *args, **kwargs)
            tell = waited_for.pop(self, None) if waited_for else None
            if tell is not None:
                tell()
            return result

        self.put(work, "wait", wait)


def _put_back(target: Any, name: str, original: Any) -> None:
    if original is _MISSING:
        delattr(target, name)
    else:
        setattr(target, name, original)


def _without(args: tuple, kwargs: dict, unknown: Tuple[Any, ...]) -> Tuple[tuple, dict]:
    return (tuple(None if number in unknown else each for number, each in enumerate(args)),
            {key: None if key in unknown else each for key, each in kwargs.items()})


def _never_drops(args: tuple, kwargs: dict) -> bool:
    return (args[1] if len(args) >= 2 else kwargs.get("p", 0.5)) == 0


def _first_tensor(value: Any) -> Optional[torch.Tensor]:
    while not isinstance(value, torch.Tensor):
        if isinstance(value, dict):
            value = next((each for each in value.values() if isinstance(each, torch.Tensor)), None)
        elif isinstance(value, (list, tuple)) and len(value):
            value = value[0]
        else:
            return None
        if value is None:
            return None
    return value


def is_recomputing() -> bool:
    """Whether this is called while a checkpoint computes its forward again."""
    if _graph_task is not None and _graph_task() == -1:  # no backward runs
        return False
    frame: Any = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if code.co_filename.endswith("checkpoint.py") and code.co_name in (
                "backward", "recompute_fn", "unpack", "unpack_hook"):
            return True
        frame = frame.f_back
    return False
