"""assay.capture: what the modules and functions of PyTorch compute, as a dump in the layout of msprobe."""
import os
import warnings
from typing import Any, Callable, Iterable, List, Optional, Set, Union

import torch

from assay.errors import AssayError
from assay.msprobe.recorder import Recorder, Settings
from assay.torch.captured_modules import CapturedModules, unwrapped
from assay.torch.module_calls import compiled_anew
from assay.torch.unseen import Unseen

# What PyTorch says of hooks, whoever put them on.
_OF_HOOKS = ("Full backward hook is firing when gradients are computed", "Using `torch.compile\\(module\\)` when there are global hooks")
_MOST_TRIES = 100
_Patterns = Union[str, Iterable[str], None]


class Capture:
    """Records until it is left. `step()` ends a step; the next call begins another.

    >>> import tempfile, assay
    >>> folder = tempfile.mkdtemp()
    >>> model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU())
    >>> with Capture(folder, model, stats=True) as cap:
    ...     for _ in range(2):
    ...         _ = model(torch.ones(1, 2))
    ...         cap.step()
    >>> sorted(os.listdir(folder))
    ['step0', 'step1']
    """

    def __init__(self, path: Union[str, "os.PathLike[str]"], model: Any = None, *, apis: bool = False, stats: bool = False,
                 steps: Union[int, Iterable[int], None] = None, modules: _Patterns = None, backward: bool = True,
                 stack: bool = True) -> None:
        """`model`: a module, or a list of them. `apis`: the functions of PyTorch, too; without a model they alone. `stats`:
        statistics, no data. `steps`: which, from 0. `modules`: patterns of their names, such as "layers.0.*" ("root" is the model
        itself). `backward`: gradients too. `stack`: stack.json and construct.json."""
        models = [] if model is None else list(model) if isinstance(model, (list, tuple)) else [model]
        for each in models:
            if not isinstance(each, torch.nn.Module):
                raise AssayError(f"model: is a {type(each).__name__}, expected a torch.nn.Module or a list of them")
        if not models and not apis:
            raise AssayError("nothing to capture: give a model, or apis=True, or both")
        self._recording = Recording(path, apis, stats, chosen_steps(steps), _patterns(modules), backward, stack, bool(models))
        self._models = [unwrapped(each) for each in models]

    def __enter__(self) -> "Capture":
        recording = self._recording
        try:
            for model in self._models:
                if recording.modules.watch_model(model) == 0 and len(self._models) == 1:
                    raise AssayError("modules: no module of the model has a name that fits")
            recording.start()
            compiled_anew()
        except BaseException:
            recording.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for line in self._recording.close():
            warnings.warn(f"assay: {line}", stacklevel=2)

    def step(self) -> None:
        """The step is over: its files are whole."""
        self._recording.next_step()

    @property
    def folder(self) -> Optional[str]:
        """Where this step is recorded; None where it is not chosen."""
        return self._recording.recorder.folder


def capture(path: Union[str, "os.PathLike[str]"], model: Any = None, *, apis: bool = False, stats: bool = False,
            steps: Union[int, Iterable[int], None] = None, modules: _Patterns = None, backward: bool = True,
            stack: bool = True) -> Capture:
    return Capture(path, model, apis=apis, stats=stats, steps=steps, modules=modules, backward=backward, stack=stack)


capture.__doc__ = Capture.__init__.__doc__


def chosen_steps(steps: Union[int, Iterable[int], None]) -> Optional[Set[int]]:
    if steps is None:
        return None
    chosen = {steps} if isinstance(steps, int) else set(steps)
    if not all(isinstance(each, int) and each >= 0 for each in chosen):
        raise AssayError(f"steps: {sorted(chosen, key=str)} are not whole numbers from 0")
    return chosen


def _patterns(modules: _Patterns) -> Optional[List[str]]:
    if modules is None:
        return None
    patterns = [modules] if isinstance(modules, str) else list(modules)
    if not patterns or not all(isinstance(each, str) and each for each in patterns):
        raise AssayError("modules: expected patterns of names, such as 'layers.0.*'")
    return patterns


class Recording:
    """A recorder, its modules and its steps. What Capture and the recorder of whole programs share."""

    def __init__(self, path: Union[str, "os.PathLike[str]"], apis: bool, stats: bool, steps: Optional[Set[int]],
                 patterns: Optional[List[str]], backward: bool = True, stack: bool = True, has_modules: bool = True) -> None:
        self.root, self._steps, self._has_apis = os.path.abspath(os.fspath(path)), steps, apis
        level = ("mix" if has_modules else "L1") if apis else "L0"
        self.recorder = Recorder(Settings(level=level, task="statistics" if stats else "tensor", complete=True,
                                          extra_info=stack, wants_backward=backward,
                                          data_mode=("all",) if backward else ("forward",)))
        self.modules = CapturedModules(self.recorder, patterns)
        self.recorder.keep(self.modules)
        self.step = 0
        self.entries = self.steps_recorded = 0
        self.place: Optional[str] = None  # of this process below a step: rank0
        self.may_stand_aside = False  # where a folder of this rank is there already: a folder for the process
        self.unseen = Unseen(self.recorder)
        self._process = os.getpid()

    def start(self) -> None:
        for noise in _OF_HOOKS:
            warnings.filterwarnings("ignore", message=noise)
        if self._has_apis:
            self.recorder.attach()
        self.unseen.watch()
        self._begin()

    def is_over(self) -> bool:
        """Whether no later step is chosen."""
        return self._steps is not None and (not self._steps or self.step > max(self._steps))

    def _begin(self) -> None:
        if self._steps is not None and self.step not in self._steps:
            return
        known = rank_name()
        if self.place is None or (known is not None and not self.may_stand_aside):
            self.place = known or f"proc{os.getpid()}"
        folder = os.path.join(self.root, f"step{self.step}", self.place)
        try:
            _make_folder(folder)
        except FileExistsError:
            own = f"proc{os.getpid()}"
            if self.may_stand_aside and self.place != own and os.listdir(folder):
                self.place = own
                return self._begin()
            if os.listdir(folder):
                raise AssayError(f"{folder}: holds a dump already, and none is added to another; remove it, or give another "
                                 f"path") from None
        self.recorder.begin(folder)

    def next_step(self) -> None:
        if self._process != os.getpid():
            return
        self._end()
        self.step += 1
        self._begin()

    def _end(self) -> None:
        folder, entries = self.recorder.folder, self.recorder.entries
        self.recorder.end()
        if folder is None:
            return
        if entries == 0:  # nothing was called behind the last step()
            _remove_empty(folder, self.root)
        else:
            self.entries += entries
            self.steps_recorded += 1

    def close(self) -> List[str]:
        """Everything is as it was. What was not seen, a line each."""
        lines = self.unseen.lines(self.modules.traced, self.modules.scripted)
        self.unseen.remove()
        if self._process != os.getpid():
            return []
        self._end()
        self.recorder.detach()
        return lines


def rank_name() -> Optional[str]:
    """None in a program that runs alone, or whose rank nobody knows yet."""
    group = torch.distributed
    if group.is_available() and group.is_initialized():
        return f"rank{group.get_rank()}"
    rank, world = os.environ.get("RANK", ""), os.environ.get("WORLD_SIZE", "")
    return f"rank{int(rank)}" if rank.isdigit() and world.isdigit() and int(rank) < int(world) else None


def _make_folder(folder: str) -> None:
    """A rank that recorded nothing in a step removes its folder, perhaps while this one is about to make another in it."""
    for _ in range(_MOST_TRIES):
        try:
            return os.makedirs(folder)
        except FileNotFoundError:
            pass
    os.makedirs(folder)


def _remove_empty(folder: str, root: str) -> None:
    for name in ("dump.json", "stack.json", "construct.json"):
        path = os.path.join(folder, name)
        if os.path.exists(path):
            os.remove(path)
    for below in (os.path.join(folder, "dump_tensor_data"), folder, os.path.dirname(folder)):
        if below.startswith(root) and os.path.isdir(below):
            try:
                os.rmdir(below)
            except OSError:  # other ranks are there
                return
