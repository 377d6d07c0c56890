"""Being told of the calls of a module, with their keyword arguments, whatever version of PyTorch runs it."""
import sys
import threading
from typing import Any, Callable, Dict, List

import torch

_HAS_KWARGS = tuple(int(part) for part in torch.__version__.split(".")[:1]) >= (2,)

# Before PyTorch 2 hooks are not shown keyword arguments: the calls of watched modules pass here first.
_kwargs_of_calls = threading.local()
_watched: Dict[int, int] = {}  # how often each is watched
_own_call = None
_codes: set = set()


def watch_module(module: torch.nn.Module, entered: Callable[[torch.nn.Module], None],
                 left: Callable[[torch.nn.Module, tuple, Dict[str, Any], Any], None]) -> Callable[[], None]:
    """Calls `entered(module)` before each forward and `left(module, args, kwargs, output)` behind it, unless it
    raised. What they give back is ignored. The answer takes them off again."""

    entered, left = not_compiled(entered), not_compiled(left)

    def before(module: torch.nn.Module, *_: Any) -> None:
        entered(module)

    if _HAS_KWARGS:
        def behind(module: torch.nn.Module, args: tuple, kwargs: Dict[str, Any], output: Any) -> None:
            left(module, args, kwargs, output)

        handles = [module.register_forward_pre_hook(before), module.register_forward_hook(behind, with_kwargs=True)]
    else:
        def behind_without(module: torch.nn.Module, args: tuple, output: Any) -> None:
            left(module, args, kwargs_of(module), output)

        _pass_calls_through_here(module)
        handles = [module.register_forward_pre_hook(before), module.register_forward_hook(behind_without)]

    def remove() -> None:
        for handle in handles:
            handle.remove()
        if not _HAS_KWARGS:
            _pass_no_longer(module)

    return remove


def show_kwargs(module: torch.nn.Module) -> Callable[[], None]:
    """Before PyTorch 2: from here kwargs_of() knows the keyword arguments of the call of `module` that runs."""
    _pass_calls_through_here(module)
    return lambda: _pass_no_longer(module)


def not_compiled(function: Callable) -> Callable:
    """torch.compile breaks its graph where this is called, instead of tracing what is in it."""
    if hasattr(sys.modules.get("torch._dynamo"), "disable"):
        return sys.modules["torch._dynamo"].disable(function)
    kept = []

    def run(*args: Any) -> Any:
        if not kept:
            dynamo = sys.modules.get("torch._dynamo")
            if dynamo is None:  # nothing was compiled yet, and to import it takes seconds
                return function(*args)
            kept.append(dynamo.disable(function))
        return kept[0](*args)

    run._torchdynamo_disable = True  # type: ignore[attr-defined]
    _codes.add(run.__code__)
    return run


def never_compiled(code: Any) -> None:
    """torch.compile leaves frames of `code` alone; what they call it does not."""
    _codes.add(code)


def compiled_anew() -> None:
    """What torch.compile made before hooks were put on runs without them: from here it is made once more."""
    counted = getattr(sys.modules.get("torch._dynamo.utils"), "counters", {})
    if counted.get("frames"):
        sys.modules["torch._dynamo"].reset()


def compiling_begins() -> None:
    """torch.compile is about to be used: what not_compiled made before is no frame of its to compile either."""
    import torch._dynamo

    skip = getattr(torch._dynamo.eval_frame, "skip_code", None)
    while skip is not None and _codes:
        skip(_codes.pop())


def _stack() -> List[tuple]:
    if not hasattr(_kwargs_of_calls, "stack"):
        _kwargs_of_calls.stack = []
    return _kwargs_of_calls.stack


def kwargs_of(module: torch.nn.Module) -> Dict[str, Any]:
    """Of the call that runs, where it passes through here."""
    stack = _stack()
    return stack[-1][1] if stack and stack[-1][0] is module else {}


def _pass_calls_through_here(module: torch.nn.Module) -> None:
    global _own_call
    _watched[id(module)] = _watched.get(id(module), 0) + 1
    if _own_call is not None:
        return
    own_call = _own_call = torch.nn.Module.__call__

    def call(self: torch.nn.Module, *args: Any, **kwargs: Any) -> Any:
        if id(self) not in _watched:
            return own_call(self, *args, **kwargs)
        stack = _stack()
        stack.append((self, kwargs))
        try:
            return own_call(self, *args, **kwargs)
        finally:
            stack.pop()

    torch.nn.Module.__call__ = call


def _pass_no_longer(module: torch.nn.Module) -> None:
    global _own_call
    _watched[id(module)] -= 1
    if _watched[id(module)] == 0:
        del _watched[id(module)]
    if not _watched and _own_call is not None:
        torch.nn.Module.__call__, _own_call = _own_call, None
