"""Hooks on the modules of a model: their calls, their gradients, those of their parameters, and who called whom."""
import sys
from collections import OrderedDict
from typing import Any, Dict, Iterator, List, Optional, Tuple

import torch
from torch.utils.hooks import BackwardHook, RemovableHandle

from assay.msprobe.functions import EarlyStop, is_recomputing
from assay.msprobe.values import _quote
from assay.torch.module_calls import not_compiled

_IS_2 = int(torch.__version__.split(".")[0]) >= 2
_grad_enabled, _tracing = torch.is_grad_enabled, torch._C._get_tracing_state


def named_modules(models: Any) -> Iterator[Tuple[str, torch.nn.Module]]:
    """The modules below `models`, with what the original calls them; of a list with its number before."""
    is_list = isinstance(models, (list, tuple))
    for index, model in enumerate(models if is_list else [models]):
        for name, module in model.named_modules():
            if module is not model and not isinstance(module, torch.jit.ScriptModule) \
                    and type(module).__name__ != "FullyShardedDataParallel":
                yield f"Module.{index}.{name}" if is_list else f"Module.{name}", module


class Modules:
    """The hooks of one recorder on one model."""

    def __init__(self, recorder: Any, models: Any) -> None:
        self._recorder = recorder
        self.is_on = True
        self._counts: Dict[str, int] = {}
        self._running: "OrderedDict[str, None]" = OrderedDict()
        self._backward: Dict[str, BackwardHook] = {}
        self._removals: List[Any] = []
        # On torch 1 the original knows neither keyword arguments of modules nor their gradients.
        self._has_backward = _IS_2 and recorder.wants_backward_of_modules
        self._gradients = Gradients(recorder)
        for name, module in named_modules(models):
            self.watch(f"{name}.{type(module).__name__}", module)
        self._watch_phases()

    def watch(self, name: str, module: torch.nn.Module) -> None:
        def before(module: torch.nn.Module, args: tuple, kwargs: Optional[dict] = None) -> Any:
            return self._entered(name, module, args, kwargs)

        if _IS_2:
            def behind(module: torch.nn.Module, args: tuple, kwargs: dict, output: Any) -> Any:
                return self._left(module, output)

            self._removals.append(module.register_forward_pre_hook(not_compiled(before), with_kwargs=True).remove)
            handle = _hook_of_2(module, not_compiled(behind))
        else:
            def behind_of_1(module: torch.nn.Module, args: tuple, output: Any) -> Any:
                return self._left(module, output)

            self._removals.append(module.register_forward_pre_hook(before).remove)
            handle = RemovableHandle(module._forward_hooks)
            module._forward_hooks[handle.id] = behind_of_1
            module._forward_hooks.move_to_end(handle.id, last=False)
        self._removals.append(handle.remove)

    def remove(self) -> None:
        while self._removals:
            self._removals.pop()()
        self._gradients.remove()

    def forget_counts(self) -> None:
        self._counts.clear()
        self._running.clear()
        self._backward.clear()
        self._gradients.forget_counts()

    def _entered(self, prefix: str, module: torch.nn.Module, args: tuple, kwargs: Optional[dict]) -> Any:
        recorder, here = self._recorder, self._recorder.here
        if not recorder.is_running or here.is_busy or not self.is_on or _tracing() is not None:
            return None
        with recorder.lock:
            number = self._counts[prefix] = self._counts.get(prefix, -1) + 1
            name = f"{prefix}.forward.{number}"
            with recorder.recording(name):
                self.begin(module, name)
                recorder.began(name, recorder.is_wanted(name), args, kwargs, 1)
            if self._has_backward and _grad_enabled():
                changed = self._watch_backward(name, f"{prefix}.backward.{number}", module, args)
                if changed is not args:
                    return (changed, kwargs) if _IS_2 else changed
        return None

    def _left(self, module: torch.nn.Module, output: Any) -> Any:
        recorder, here = self._recorder, self._recorder.here
        if here.is_busy:
            return None
        place = next((number for number in range(len(here.modules) - 1, -1, -1) if here.modules[number][0] is module), -1)
        if place < 0:
            return None
        with recorder.lock:
            for late, name in reversed(here.modules[place + 1:]):  # left by an exception
                self.end(late, name)
            name = here.modules[place][1]
            trouble = _raised(sys._getframe(1)) if output is None else None
            if recorder.is_running and (trouble is None or issubclass(trouble, EarlyStop)):
                with recorder.recording(name):
                    parameters = dict(module.named_parameters(recurse=False)) if recorder.settings.task != "structure" else {}
                    if parameters and recorder.wants_gradients:
                        self._gradients.watch(name.rsplit(".", 2)[0], parameters)
                    recorder.ended(name, lambda: recorder.is_wanted(name), output, parameters,
                                   recorder.settings.complete and is_recomputing())
            self.end(module, name)
            hook = self._backward.pop(name, None)
            if hook is None or trouble is not None:
                return None
            here.is_busy = True
            try:
                return _through(hook.setup_output_hook, output)
            finally:
                here.is_busy = False

    # Who called whom

    def begin(self, module: torch.nn.Module, name: str) -> None:
        recorder, here = self._recorder, self._recorder.here
        parent = here.modules[-1][1] if here.modules else _last_parent(self._running, name)
        recorder.module_node(name, parent)
        self._running[name] = None
        here.modules.append((module, name))
        here.parent = _quote(name)
        if recorder.scope is not None:
            recorder.scope.begin_module(name)

    def end(self, module: torch.nn.Module, name: str) -> None:
        recorder, here = self._recorder, self._recorder.here
        self._running.pop(name, None)
        if here.modules:
            here.modules.pop()
        here.parent = _quote(here.modules[-1][1]) if here.modules else "null"
        if recorder.scope is not None:
            recorder.scope.end_module(name)

    def _watch_backward(self, name: str, backward: str, module: torch.nn.Module, args: tuple) -> tuple:
        recorder, step, told = self._recorder, self._recorder.step_number, []

        def before(module: torch.nn.Module, given: Any) -> None:
            if recorder.is_running and recorder.step_number == step:
                with recorder.lock:
                    self.begin(module, backward)

        def behind(module: torch.nn.Module, results: Any, given: Any) -> None:
            if recorder.step_number != step:
                return
            with recorder.lock:
                if recorder.is_running and not recorder.here.is_busy:
                    with recorder.recording(backward):
                        if recorder.went_back(backward, lambda: recorder.is_wanted(backward), given, results, bool(told)):
                            self._gradients.went_back.add(backward.rsplit(".", 2)[0])
                    told.append(None)
                self.end(module, backward)

        hook = self._backward[name] = BackwardHook(module, [behind], [before])
        here = recorder.here
        here.is_busy = True
        try:
            return _through(hook.setup_input_hook, args)
        finally:
            here.is_busy = False

    def _watch_phases(self) -> None:
        """What functions an optimizer and the clipping of gradients call stands below them in construct.json."""
        recorder = self._recorder
        if recorder.settings.level != "mix":
            return

        def enter(phase: str) -> None:
            recorder.phase = phase

        if _IS_2:
            from torch.optim import optimizer

            self._removals.append(optimizer.register_optimizer_step_pre_hook(lambda *_: enter("optimizer")).remove)
            self._removals.append(optimizer.register_optimizer_step_post_hook(lambda *_: enter("")).remove)
        for name in ("clip_grad_norm_", "clip_grad_norm", "clip_grad_value_"):
            original = getattr(torch.nn.utils, name, None)
            if original is not None:
                setattr(torch.nn.utils, name, _in_phase(original, enter))
                self._removals.append(lambda name=name, original=original: setattr(torch.nn.utils, name, original))


class Gradients:
    """Hooks behind the place where the gradient of a parameter is added up."""

    def __init__(self, recorder: Any) -> None:
        self._recorder = recorder
        self._hooked: Dict[Tuple[str, str], Tuple[torch.Tensor, Any, Any]] = {}
        self._parameters: Dict[str, int] = {}         # of a module: how many of them are watched
        self._calls: Dict[str, Tuple[int, str]] = {}  # of a module: how often its first gradient came, and which that is
        self._seen: Dict[str, set] = {}
        self.went_back: set = set()

    def watch(self, module: str, parameters: Dict[str, torch.Tensor]) -> None:
        for name, parameter in parameters.items():
            if not parameter.requires_grad:
                continue
            known = self._hooked.get((module, name))
            if known is not None and known[0] is parameter:
                continue
            if known is not None:
                known[2].remove()
            with torch.enable_grad():
                function = parameter.expand_as(parameter).grad_fn
            if function is not None:
                adding, place = function.next_functions[0]
                hook = adding.register_hook(self._behind(module, name, parameter, place))
                if known is None:
                    self._parameters[module] = self._parameters.get(module, 0) + 1
                self._hooked[module, name] = parameter, adding, hook

    def remove(self) -> None:
        for _, _, hook in self._hooked.values():
            hook.remove()
        self._hooked.clear()
        self._parameters.clear()

    def forget_counts(self) -> None:
        self._calls.clear()
        self._seen.clear()
        self.went_back.clear()

    def _behind(self, module: str, name: str, parameter: torch.Tensor, place: int) -> Any:
        recorder = self._recorder

        def gradient_of(given: tuple) -> Optional[torch.Tensor]:
            if parameter.is_leaf or parameter.retains_grad:
                return parameter.grad
            # A view of what FSDP has laid flat: nothing is added up in it. The original records null.
            return given[place] if recorder.settings.complete else None

        def behind(_: tuple, given: tuple) -> None:
            if not recorder.is_running or recorder.here.is_busy:
                return
            with recorder.lock:
                number, first = self._calls.get(module, (-1, name))
                if first == name:
                    number += 1
                    self._calls[module] = number, name
                full = f"{module}.parameters_grad.{number}"
                if recorder.scope is not None and not recorder.scope.holds(module) and module not in self.went_back:
                    return
                seen = self._seen.setdefault(full, set())
                seen.add(name)
                is_last = len(seen) == self._parameters[module]
                with recorder.recording(full):
                    recorder.grew(full, name, gradient_of(given), is_last, False)

        return behind


def _through(setup: Any, values: Any) -> Any:
    """`values` with its tensors passed through `setup` of a backward hook. Lists and dicts stay the same objects."""
    found: List[torch.Tensor] = []
    _collect(values, found)
    if not found:
        setup(())
        return values
    passed = iter(setup(tuple(found)))
    return _replaced(values, passed, False)


def _passes(value: Any, only_results: bool) -> bool:
    return isinstance(value, torch.Tensor) and value.requires_grad and _grad_enabled() \
        and not str(value.dtype).startswith("torch.float8") and not (only_results and value.grad_fn is None)


def _collect(value: Any, found: List[torch.Tensor]) -> None:
    if _passes(value, False):
        found.append(value)
    elif isinstance(value, (list, tuple)):
        for each in value:
            _collect(each, found)
    elif isinstance(value, dict):
        for each in value.values():
            _collect(each, found)


def _replaced(value: Any, passed: Iterator[torch.Tensor], is_inside: bool) -> Any:
    if isinstance(value, torch.Tensor):
        if not _passes(value, False):
            return value
        new = next(passed)
        if is_inside and value.grad_fn is None:  # a leaf in a container stays itself
            return value
        if new._base is not None and hasattr(torch._C, "_autograd"):
            _let_change(new)
        return new
    if isinstance(value, list):
        for number, each in enumerate(value):
            value[number] = _replaced(each, passed, True)
        return value
    if isinstance(value, dict):
        for key, each in list(value.items()):
            value[key] = _replaced(each, passed, True)
        return value
    if isinstance(value, tuple):
        parts = [_replaced(each, passed, False) for each in value]
        if all(new is old for new, old in zip(parts, value)):
            return value
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    return value


def _let_change(tensor: torch.Tensor) -> None:
    """Changing what a hook gave back in place is otherwise refused."""
    default = torch._C._autograd.CreationMeta(0)
    if torch._C._autograd._get_creation_meta(tensor) != default:
        torch._C._autograd._set_creation_meta(tensor, default)


def _hook_of_2(module: torch.nn.Module, behind: Any) -> Any:
    try:
        return module.register_forward_hook(behind, prepend=True, with_kwargs=True, always_call=True)
    except TypeError:  # 2.0
        return module.register_forward_hook(behind, prepend=True, with_kwargs=True)


def _raised(caller: Any) -> Optional[type]:
    """What the module whose hook is called by `caller` raised, if that is why it is called."""
    kind, _, trace = sys.exc_info()
    while trace is not None:
        if trace.tb_frame is caller:
            return kind
        trace = trace.tb_next
    return None


def _last_parent(running: "OrderedDict[str, None]", name: str) -> Optional[str]:
    """The module that runs and, by its name, holds this one."""
    parts = name.split(".")
    above = ".".join(parts[:-4])
    if len(parts) < 5 or above in ("Module", "Cell"):
        return None
    for each in reversed(running):
        others = each.split(".")
        if len(others) < 5:
            return None
        if ".".join(others[:-3]) == above:
            return each
    return None


def _in_phase(original: Any, enter: Any) -> Any:
    import functools

    @functools.wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        enter("clip_grad")
        try:
            return original(*args, **kwargs)
        finally:
            enter("")

    return call
