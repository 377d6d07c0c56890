"""The modules that assay.capture records: the root too, by names that do not depend on what a model is wrapped in."""
import fnmatch
import sys
import weakref
from typing import Any, Callable, Dict, Iterable, List, Optional, Tuple

import torch

from assay.msprobe.modules import Modules
from assay.torch import module_calls

_IS_2 = int(torch.__version__.split(".")[0]) >= 2
# What stands around a module and adds nothing to what it computes: the child that it calls.
_WRAPPERS = {"DistributedDataParallel": "module", "DataParallel": "module", "OptimizedModule": "_orig_mod",
             "FullyShardedDataParallel": "_fsdp_wrapped_module", "CheckpointWrapper": "_checkpoint_wrapped_module"}
_ROOT = "root"


def unwrapped(module: torch.nn.Module) -> torch.nn.Module:
    while type(module).__name__ in _WRAPPERS:
        inside = module._modules.get(_WRAPPERS[type(module).__name__])
        if inside is None:
            return module
        module = inside
    return module


def class_name(module: torch.nn.Module) -> str:
    """Of what it was before it was sharded: fully_shard makes an FSDPLinear of a Linear."""
    kind = type(module)
    if any(each.__name__ == "FSDPModule" for each in kind.__mro__[1:]) and kind.__name__.startswith("FSDP"):
        return kind.__name__[len("FSDP"):] or kind.__name__
    return kind.__name__


class CapturedModules(Modules):
    """Hooks of one recorder, on models that come one after the other."""

    def __init__(self, recorder: Any, patterns: Optional[Iterable[str]]) -> None:
        super().__init__(recorder, [])
        self._patterns = list(patterns) if patterns is not None else None
        self._known: "weakref.WeakSet[torch.nn.Module]" = weakref.WeakSet()
        self._names: "weakref.WeakKeyDictionary[torch.nn.Module, str]" = weakref.WeakKeyDictionary()
        self._models = 0
        self.scripted: List[str] = []  # whose insides no hook sees
        self.traced = 0                # calls while torch.jit.trace runs

    def holds(self, module: torch.nn.Module) -> bool:
        return module in self._known

    def _entered(self, prefix: str, module: torch.nn.Module, args: tuple, kwargs: Optional[Dict[str, Any]]) -> Any:
        if torch.jit.is_tracing():  # a look at a tensor would become a part of what is traced
            self.traced += 1
            return None
        return super()._entered(prefix, module, args, kwargs)

    def entered_late(self, module: torch.nn.Module, args: tuple, kwargs: Dict[str, Any]) -> Any:
        """The hooks came during the call: this one is told of it here. What the arguments are to be replaced by."""
        name = self._names.get(module)
        changed = None if name is None else self._entered(name, module, args, kwargs)
        return changed[0] if _IS_2 and changed is not None else changed

    def watch_model(self, model: torch.nn.Module) -> int:
        """All of its modules that are not watched yet; how many that are. The second model's names begin with root1."""
        prefix = f"{_ROOT}{self._models}" if self._models else ""
        self._models += 1
        count = 0
        for name, module in named_tree(model, prefix):
            if module in self._known:
                continue
            self._known.add(module)
            if isinstance(module, torch.jit.ScriptModule):
                self.scripted.append(name or _ROOT)
                continue
            if type(module).__name__ in _WRAPPERS or not self._fits(name or _ROOT):
                continue
            self.watch(f"Module.{name or _ROOT}.{class_name(module)}", module)
            count += 1
        return count

    def _fits(self, name: str) -> bool:
        return self._patterns is None or any(fnmatch.fnmatchcase(name, pattern) for pattern in self._patterns)

    def watch(self, name: str, module: torch.nn.Module) -> None:
        self._names[module] = name
        if _IS_2:
            def before(module: torch.nn.Module, args: tuple, kwargs: Dict[str, Any]) -> Any:
                return self._entered(name, module, args, kwargs)

            def behind(module: torch.nn.Module, args: tuple, kwargs: Dict[str, Any], output: Any) -> Any:
                return self._left(module, output)

            handle = module.register_forward_pre_hook(module_calls.not_compiled(before), with_kwargs=True)
            self._removals.append(handle.remove)
            self._removals.append(_first_hook(module, module_calls.not_compiled(behind)).remove)
            return

        def before_of_1(module: torch.nn.Module, args: tuple) -> Any:
            return self._entered(name, module, args, module_calls.kwargs_of(module))

        def behind_of_1(module: torch.nn.Module, args: tuple, output: Any) -> Any:
            return self._left(module, output)

        self._removals.append(module_calls.show_kwargs(module))
        self._removals.append(module.register_forward_pre_hook(before_of_1).remove)
        handle = module.register_forward_hook(behind_of_1)
        module._forward_hooks.move_to_end(handle.id, last=False)
        self._removals.append(handle.remove)


def _first_hook(module: torch.nn.Module, behind: Callable) -> Any:
    try:
        return module.register_forward_hook(behind, prepend=True, with_kwargs=True, always_call=True)
    except TypeError:  # 2.0
        return module.register_forward_hook(behind, prepend=True, with_kwargs=True)


def named_tree(model: torch.nn.Module, prefix: str = "") -> Iterable[Tuple[str, torch.nn.Module]]:
    """Every module once, with its name; a wrapper has the name of what it is around.

    >>> [name for name, _ in named_tree(torch.nn.Sequential(torch.nn.Linear(1, 1)), "root1")]
    ['root1', 'root1.0']
    """
    seen = set()
    waiting = [(prefix, model)]
    while waiting:
        name, module = waiting.pop()
        if id(module) in seen:
            continue
        seen.add(id(module))
        yield name, module
        wrapped = _WRAPPERS.get(type(module).__name__)
        children = [(name if child == wrapped else f"{name}.{child}" if name else child, each)
                    for child, each in module._modules.items() if each is not None]
        waiting.extend(reversed(children))


def is_within_another(module: torch.nn.Module) -> bool:
    """Whether a module is called by one that is running, as the frames of the call tell."""
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_name in ("_call_impl", "_wrapped_call_impl"):
            caller = frame.f_locals.get("self")
            if caller is not module and isinstance(caller, torch.nn.Module):
                return True
        frame = frame.f_back  # type: ignore[assignment]
    return False
