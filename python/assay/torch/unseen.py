"""What no hook is told of, counted, so that a dump never lacks something silently: replays of CUDA graphs, calls while one is
captured, functions that were compiled, scripted modules."""
import functools
import sys
from typing import Any, Callable, List, Sequence

import torch

from assay.torch.module_calls import compiling_begins


class Unseen:
    def __init__(self, recorder: Any) -> None:
        self._recorder = recorder
        self.replays = self.graphs = 0
        self._is_capturing = False
        self.compiled: List[str] = []
        self._removals: List[Callable[[], None]] = []

    def watch(self) -> None:
        self.watch_graphs()
        self.watch_compiling()

    def watch_compiling(self) -> None:
        if hasattr(torch, "compile"):
            self._wrap(torch, "compile", self._compiled)

    def watch_graphs(self) -> None:
        graph = getattr(torch.cuda, "CUDAGraph", None)
        if graph is not None and hasattr(graph, "replay"):
            self._wrap(graph, "replay", self._replayed)
            for name, told in (("capture_begin", self._graph_begins), ("capture_end", self._graph_ends)):
                if hasattr(graph, name):
                    self._wrap(graph, name, told)

    def remove(self) -> None:
        while self._removals:
            self._removals.pop()()

    def _wrap(self, place: Any, name: str, told: Callable) -> None:
        original = getattr(place, name)

        @functools.wraps(original)
        def call(*args: Any, **kwargs: Any) -> Any:
            told(*args, **kwargs)
            return original(*args, **kwargs)

        try:
            setattr(place, name, call)
        except (AttributeError, TypeError):  # not to be changed: nothing is counted
            return
        self._removals.append(functools.partial(setattr, place, name, original))

    def forget_counts(self) -> None:
        """Those of the whole run are told."""

    def _replayed(self, *_: Any, **__: Any) -> None:
        if self._recorder.is_running:
            self.replays += 1
            self._tell()

    def _graph_begins(self, *_: Any, **__: Any) -> None:
        """What is looked at while a graph is captured would have to wait for the device, which ends the capture."""
        if self._recorder.is_running:
            self._recorder.is_running = False
            self._is_capturing = True
            self.graphs += 1
            self._tell()

    def _tell(self) -> None:
        if not self._recorder.settings.complete:  # nobody will ask for lines()
            self._recorder.tell_once("CUDA graphs: what is called while one is captured, and what its replays run, is not recorded")

    def _graph_ends(self, *_: Any, **__: Any) -> None:
        if self._is_capturing:
            self._is_capturing = False
            self._recorder.is_running = True

    def _compiled(self, model: Any = None, *_: Any, **__: Any) -> None:
        compiling_begins()
        if model is not None and not isinstance(model, torch.nn.Module):
            self.compiled.append(getattr(model, "__qualname__", type(model).__name__))

    def lines(self, traced: int = 0, scripted: Sequence[str] = ()) -> List[str]:
        found = []
        if self.replays:
            found.append(f"{self.replays} replays of CUDA graphs were not seen: what runs in them calls no module; run without "
                         f"CUDA graphs to record it")
        if self.graphs:
            found.append(f"{self.graphs} CUDA graphs were captured: the calls meanwhile were not recorded")
        if traced:
            found.append(f"{traced} calls of modules while torch.jit.trace ran were not recorded")
        if self.compiled:
            found.append(f"torch.compile of {', '.join(sorted(set(self.compiled)))}: of the modules that are called inside, "
                         f"those were not seen that no hook was on when it was compiled; TORCHDYNAMO_DISABLE=1 shows them all")
        if scripted:
            found.append(f"the insides of {len(scripted)} scripted modules were not seen: "
                         f"{', '.join(scripted[:4])}{' …' if len(scripted) > 4 else ''}")
        return found


def is_compiling() -> bool:
    """Whether torch.compile traces this. It is a constant to it."""
    if "torch._dynamo" not in sys.modules:
        return False
    compiler = getattr(torch, "compiler", None)
    return bool(compiler is not None and compiler.is_compiling())
