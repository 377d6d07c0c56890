"""The recorder of a whole program, which knows nothing of it (`assay capture -- python train.py`): it finds the modules that are
called by no other module, and records what is below them."""
import atexit
import os
import sys
import threading
from typing import Any, Callable, List, Optional, Set

import torch

from assay.torch.capture import Recording
from assay.torch.captured_modules import is_within_another, unwrapped
from assay.torch.unseen import Unseen, is_compiling

_NOTES = "capture.txt"  # in the folder of the dump: a line for each process
_program: Optional["Program"] = None


def start() -> None:
    """In every process whose environment asks for it, once torch is imported."""
    global _program
    root = os.environ.get("ASSAY_CAPTURE")
    if not root or _program is not None:
        return
    _program = Program(root)
    _program.watch()
    os.register_at_fork(after_in_child=_forked)


def _forked() -> None:
    """The files are the parent's. A child that calls modules of its own records them in a folder of its own."""
    global _program
    if _program is not None:
        before, _program = _program, None
        before.leave_to_parent()
        if os.environ.get("ASSAY_CAPTURE"):
            _program = Program(before.root)
            _program.watch()


class Program:
    def __init__(self, root: str) -> None:
        self.root, self._process = root, os.getpid()
        self._recording: Optional[Recording] = None
        self._lock = threading.RLock()
        self._roots: Set[int] = set()    # modules that were called by no other, and are kept by their hooks
        self._called: Set[int] = set()   # of them: in this step
        self._has_optimizer = self._was_optimized = False
        self._is_over = False
        self._removals: List[Callable[[], None]] = []
        self._unseen = Unseen(None)      # what was compiled before a recording began

    # What tells of steps

    def watch(self) -> None:
        hook = torch.nn.modules.module.register_module_forward_pre_hook(self._called_module)
        self._removals.append(hook.remove)
        optimizer = torch.optim.Optimizer
        self._put_around(optimizer, "__init__", self._made_optimizer)
        self._put_around(optimizer, "_optimizer_step_code", self._optimized)  # the last thing that any step() calls
        self._unseen.watch_compiling()
        self._removals.append(self._unseen.remove)
        atexit.register(self.finish)

    def _put_around(self, place: Any, name: str, told: Callable[[], None]) -> None:
        original = vars(place).get(name)
        if original is None:
            return

        def call(*args: Any, **kwargs: Any) -> Any:
            told()
            return original(*args, **kwargs)

        call.__wrapped__ = original  # type: ignore[attr-defined]
        setattr(place, name, call)
        self._removals.append(lambda: setattr(place, name, original))

    def _made_optimizer(self) -> None:
        self._has_optimizer = True

    def _optimized(self) -> None:
        self._was_optimized = True

    def _called_module(self, module: torch.nn.Module, args: tuple) -> Any:
        if is_compiling() or self._is_over:
            return None
        try:
            if id(module) not in self._roots:
                if is_within_another(module) or _is_worker_of_data():
                    return None
            elif is_within_another(module):
                return None
            return self._begins(module, args, sys._getframe(1).f_locals.get("kwargs") or {})
        except Exception as trouble:
            self._is_over = True
            self._note(f"recording ended: {type(trouble).__name__}: {trouble}")
        return None

    def _begins(self, module: torch.nn.Module, args: tuple, kwargs: dict) -> Any:
        """A module is called by no other one."""
        with self._lock:
            if self._recording is None:
                self._recording = self._new_recording()
                self._recording.start()
            recording, number = self._recording, id(module)
            if self._is_next_step(number):
                recording.next_step()
                self._called.clear()
                self._was_optimized = False
                if recording.is_over():
                    self.finish()
                    return None
            self._called.add(number)
            if number not in self._roots:
                self._roots.add(number)
                if not recording.modules.holds(module):
                    recording.modules.watch_model(unwrapped(module))
                    return recording.modules.entered_late(module, args, kwargs)
            return None

    def _is_next_step(self, number: int) -> bool:
        """A step ends with that of an optimizer, where gradients are computed; otherwise where a module is called again."""
        if self._was_optimized:
            return True
        return number in self._called and not (self._has_optimizer and torch.is_grad_enabled())

    def _new_recording(self) -> Recording:
        environment = os.environ
        modules = environment.get("ASSAY_CAPTURE_MODULES")
        recording = Recording(self.root, "ASSAY_CAPTURE_APIS" in environment, "ASSAY_CAPTURE_STATS" in environment,
                              _steps(environment.get("ASSAY_CAPTURE_STEPS")), modules.split("\n") if modules else None)
        recording.may_stand_aside = True
        recording.unseen.compiled = self._unseen.compiled
        if "multiprocessing" in sys.modules:  # its children end without atexit
            from multiprocessing import util

            util.Finalize(None, self.finish, exitpriority=100)
        return recording

    # Ends

    def finish(self) -> None:
        with self._lock:
            if os.getpid() != self._process:
                return
            recording, self._recording, self._is_over = self._recording, None, True
            for remove in reversed(self._removals):
                remove()
            self._removals.clear()
            if recording is None:
                for line in self._unseen.lines():
                    self._note(line)
                return
            lines = recording.close()
            if recording.entries:
                self._note(f"{recording.place}: {recording.entries} calls in {recording.steps_recorded} "
                           f"step{'' if recording.steps_recorded == 1 else 's'}")
                for line in lines:
                    self._note(f"{recording.place}: {line}")

    def leave_to_parent(self) -> None:
        for remove in reversed(self._removals):
            remove()

    def _note(self, line: str) -> None:
        try:
            os.makedirs(self.root, exist_ok=True)
            file = os.open(os.path.join(self.root, _NOTES), os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
            try:
                os.write(file, (line.replace("\n", " ") + "\n").encode())
            finally:
                os.close(file)
        except OSError:
            pass


def _is_worker_of_data() -> bool:
    return torch.utils.data.get_worker_info() is not None


def _steps(text: Optional[str]) -> Optional[Set[int]]:
    """"0-2,5-5", as `assay capture` has checked it."""
    if not text:
        return None
    steps: Set[int] = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        steps.update(range(int(first), int(last or first) + 1))
    return steps
