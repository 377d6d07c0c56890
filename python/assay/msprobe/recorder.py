"""The recorder: what is told of calls becomes a dump in the layout of msprobe, one folder for a step and a rank.

Everything that records PyTorch stands on it: `PrecisionDebugger` of msprobe, and `assay.capture`.

    recorder = Recorder(Settings(level="mix"))
    recorder.attach(model)                      # hooks on the modules below it, wrappers around the functions
    recorder.begin("dump/step0/rank0")          # from here calls are recorded
    ...
    recorder.pause()                            # the files are whole; begin() with the same folder goes on
    recorder.end()                              # the step is over: call numbers start anew
    recorder.detach()                           # everything is as it was
"""
import collections
import os
import re
import threading
import weakref
from typing import Any, Callable, Deque, Dict, List, Optional, Sequence, Tuple

import torch

from assay._writer import Writer
from assay.msit.log import logger
from assay.msprobe import recovery
from assay.msprobe.entries import ALL_OF, BEGIN, CATEGORIES, END, OpenEntry, laid_out, tensors_of
from assay.msprobe.journal import DATA, Journal, set_aside
from assay.msprobe.scopes import Scope, data_modes, is_of_risk
from assay.msprobe.settings import Here, Recording, Settings, Threads
from assay.msprobe.stacks import Stacks
from assay.msprobe.values import Values, _quote
from assay.torch.device_copies import DeviceCopies
from assay.torch.tensors import write

_alive: "weakref.WeakSet[Recorder]" = weakref.WeakSet()
_MOST_ON_DEVICE = 20000  # results that wait on a GPU before they are fetched
_ENTRIES_BETWEEN = 32  # between two looks whether the GPU is done with the oldest


class Recorder:
    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.threads = Threads()
        self.is_running = False
        self.lock = threading.RLock()
        self.scope = Scope(settings.level, settings.scope, settings.list) if settings.scope or settings.list else None
        modes = data_modes(list(settings.data_mode))
        has_data = settings.task != "structure"
        self._wants = {(way, side): has_data and way in modes and side in modes
                       for way in ("forward", "backward") for side in ("input", "output")}
        self.wants_backward_of_modules = settings.wants_backward
        self.wants_gradients = has_data and settings.wants_backward and "backward" in modes
        self._values = Values(settings.task, settings.summary_mode, settings.precision, list(settings.slice),
                              settings.complete, self._save)
        self._has_plain_ends = settings.task in ("statistics", "structure") and not settings.tensor_list  # an entry has nothing but values
        self._stacks = Stacks(self._new_stack)
        self._journal: Optional[Journal] = None
        self._writer: Optional[Writer] = None
        self._copies: Optional[DeviceCopies] = None  # to the writer, from a GPU
        self._open: Dict[str, OpenEntry] = {}
        self._since_settling = 0
        self._begun: set = set()                 # names of entries that were written before they were complete
        self._unsettled: Deque[Tuple[str, int, str, bool]] = collections.deque()  # what journal.entry() will be told
        self._nodes_to_come: Dict[str, str] = {}  # modules that began since the last line of construct.json
        self.phase = ""                          # optimizer, clip_grad: while one is running
        self._phases_told: List[str] = []
        self._place = 0
        self.step_number = 0                     # of end(): what is told of an earlier step is known by it
        self._told: set = set()
        self._removals: List[Callable[[], None]] = []
        self._forget_counts: List[Callable[[], None]] = []
        self._functions: Any = None
        self._single: Dict[int, Any] = {}        # modules of dump_module
        _alive.add(self)

    @property
    def here(self) -> Here:
        """What this thread is in."""
        return self.threads.here

    # Hooks

    def attach(self, models: Any = None) -> None:
        """Hooks on the modules below `models` (one, or a list) as the level asks, and wrappers around the functions."""
        if self.settings.level in ("L0", "mix") and models is not None:
            from assay.msprobe.modules import Modules

            self.keep(Modules(self, models))
        if self.settings.level in ("L1", "mix"):
            self.functions  # noqa: B018, made when first asked for

    def detach(self) -> None:
        self.end()
        for remove in reversed(self._removals):
            remove()
        self._removals.clear()
        self._forget_counts.clear()
        self._single.clear()
        self._functions = None

    def keep(self, hooks: Any) -> None:
        """Hooks that detach() takes off."""
        self._removals.append(hooks.remove)
        self._forget_counts.append(hooks.forget_counts)

    @property
    def functions(self) -> Any:
        """The wrappers; made if the level alone asks for none."""
        if self._functions is None:
            from assay.msprobe.functions import Functions

            self._functions = Functions(self, watches_all=self.settings.level in ("L1", "mix"))
            self.keep(self._functions)
        return self._functions

    def dump_module(self, module: Any, name: str) -> None:
        """Records one module, and no functions, until `end_module_dump()`."""
        from assay.msprobe.modules import Modules

        if id(module) not in self._single:
            self._single[id(module)] = single = Modules(self, [])
            single.watch(f"Module.{name}.{type(module).__name__}", module)
            self.keep(single)
        for each in self._single.values():
            each.is_on = True
        self.functions.is_on = False

    def end_module_dump(self) -> None:
        for each in self._single.values():
            each.is_on = False
        self.functions.is_on = True

    def choose_slices(self, slices: List[dict]) -> None:
        self._values.slices = slices

    # Steps

    @property
    def folder(self) -> Optional[str]:
        return self._journal.folder if self._journal is not None else None

    @property
    def entries(self) -> int:
        """Of this step, complete or not."""
        return self._journal.entries + len(self._open) + len(self._unsettled) if self._journal is not None else 0

    def begin(self, folder: str) -> None:
        """Records into `folder`, which is made."""
        with self.lock:
            if self._journal is not None and self._journal.folder != os.path.abspath(folder):
                self._finish(keeps=False)
            if self._journal is None:
                settings = self.settings
                keeps_data = settings.task == "tensor" or (settings.task == "statistics" and len(settings.tensor_list) > 0)
                data = os.path.join(folder, DATA) if keeps_data else None
                kept_aside = set_aside(folder)  # before this run's data come to where those lie
                warn_of_earlier(folder, recovery.FILES if settings.extra_info else recovery.FILES[:1], data)
                os.makedirs(data or folder, exist_ok=True)
                folder = os.path.abspath(folder)
                head = {"task": settings.task, "level": settings.level, "framework": "pytorch", "dump_data_dir": data}
                self._journal = Journal(folder, head, settings.extra_info)
                if kept_aside is not None:
                    logger.warning("%s: what an earlier run left there is kept, with its data; `assay recover` makes a dump of it",
                                   os.path.abspath(kept_aside))
                self._writer = Writer(data, keeps_count=False) if data is not None else None
            self.is_running = True

    def pause(self) -> None:
        """Nothing more is recorded; the files are whole."""
        self.is_running = False
        with self.lock:
            self._finish(keeps=True)

    def end(self) -> None:
        """The step is over."""
        self.is_running = False
        with self.lock:
            self._finish(keeps=False)
            for forget in self._forget_counts:
                forget()
            self._stacks.forget()
            self._begun.clear()
            self._nodes_to_come.clear()
            self._phases_told.clear()
            self.phase = ""
            self._place = 0
            self.step_number += 1
            here = self.here
            here.depth, here.was_cut, here.parent = 0, False, "null"
            here.modules.clear()

    def rename(self, folder: str) -> None:
        """The rank became known only now: what was written moves to `folder`."""
        with self.lock:
            journal, folder = self._journal, os.path.abspath(folder)
            if journal is None or journal.folder == folder or os.path.exists(folder):
                return
            self._flush()
            if self._writer is not None:
                self._writer.close()
                self._copies = None
            os.rename(journal.folder, folder)
            journal.move(folder)
            if self._writer is not None:
                self._writer = Writer(os.path.join(folder, DATA), keeps_count=False)

    def _finish(self, keeps: bool) -> None:
        journal = self._journal
        if journal is None:
            return
        try:
            for name, entry in list(self._open.items()):
                self._write(name, entry)
            self._begun.update(self._open)
            self._open.clear()
            self._flush()
            self._settle(waits=True)
            journal.finish(keeps)
        except OSError as trouble:
            self.complain(journal.folder, trouble)
        if not keeps:
            if self._writer is not None:
                self._writer.close()
            journal.close()
            self._journal = self._writer = self._copies = None

    def _flush(self) -> None:
        """All data are in their files."""
        if self._copies is not None:
            self._copies.finish()
        if self._writer is not None:
            self._writer.flush()

    # Calls, as the hooks tell of them

    def recording(self, what: str) -> Recording:
        """What is called within is not recorded, computes no graph, and cannot stop the program."""
        return Recording(self, what)

    def is_wanted(self, name: str, api: Optional[str] = None) -> bool:
        """`api` is the name of a function without what is around it."""
        if self.scope is not None:
            return self.scope.holds(name)
        return api is None or is_of_risk(api, self.settings.risk_level)

    def began(self, name: str, is_wanted: bool, args: Any, kwargs: Optional[dict], depth: int) -> None:
        """A call begins; its stack is that of `depth` frames up."""
        journal = self._journal
        if not is_wanted or journal is None:
            return
        texts: Dict[str, str] = {}
        if self._wants["forward", "input"]:
            self._describe(name, {"input_args": args if isinstance(args, tuple) else (args,), "input_kwargs": kwargs or {}}, texts)
        if self.settings.extra_info:
            journal.call(name, self._stacks.here(depth + 1))
        if texts:
            self._add(name, texts)

    def ended(self, name: str, is_wanted: Callable[[], bool], output: Any, parameters: Optional[dict] = None,
              is_recomputed: bool = False) -> None:
        """A call is over. `parameters` of a module."""
        self._node(name)
        if not is_wanted() or self._journal is None:
            return
        texts: Dict[str, str] = {}
        if self._wants["forward", "output"]:
            values = {"output": output if isinstance(output, tuple) else (output,)}
            if parameters is not None:
                values["parameters"] = parameters
            if self._has_plain_ends and not (is_recomputed and self.settings.complete) and self._wrote_whole(name, values, False):
                return
            self._describe(name, values, texts)
            if self.settings.task == "nan_check":
                texts["is_nan"] = self._is_nan(output)
        if is_recomputed and self.settings.complete:
            texts["recomputed"] = "true"
        self._add(name, texts, is_complete=True)

    def went_back(self, name: str, is_wanted: Callable[[], bool], given: Any, result: Any, is_more: bool) -> bool:
        """Gradients of a call: of what it gave back (`given`), and of what it was given (`result`). Whether it is recorded."""
        self._node(name)
        if not is_wanted() or self._journal is None:
            return False
        texts: Dict[str, str] = {}
        values = {}
        if self._wants["backward", "input"]:
            values["input"] = given if isinstance(given, tuple) else (given,)
        if self._wants["backward", "output"]:
            values["output"] = result if isinstance(result, tuple) else (result,)
        if values:
            if self._has_plain_ends and self._wrote_whole(name, values, is_more):
                return True
            self._describe(name, values, texts)
        if self.settings.task == "nan_check" and texts:
            texts["is_nan"] = self._is_nan((given, result))
        self._add(name, texts, is_complete=True, is_more=is_more)
        return bool(texts)

    def grew(self, name: str, parameter: str, gradient: Any, is_last: bool, is_more: bool) -> None:
        """A parameter's gradient is there; with the last of its module's the entry `name` is complete."""
        if self._journal is None:
            return
        blanks = "\t    "
        text = self._values.of(gradient, 4, "", self._file_names(f"{name}.{parameter}"))
        self._add(name, {parameter: f"[{blanks}{text}{blanks[:-1]}]"}, is_complete=is_last, is_more=is_more)

    def module_node(self, name: str, parent: Optional[str]) -> None:
        """A module begins, within another; construct.json tells of it when something has ended."""
        self._nodes_to_come[name] = "null" if parent is None else _quote(parent)

    def _node(self, name: str) -> None:
        journal = self._journal
        if journal is None or not self.settings.extra_info or self.settings.level == "L1":
            return
        if self.phase:
            if self.phase not in self._phases_told:
                self._phases_told.append(self.phase)
                journal.node(self.phase, "null")
            self._nodes_to_come.pop(name, None)
            journal.node(name, _quote(self.phase))
        elif self.settings.level == "mix" and not name.startswith("Module."):
            journal.node(name, self.here.parent)
        for module, parent in self._nodes_to_come.items():
            journal.node(module, parent)
        self._nodes_to_come.clear()

    # Entries

    def _describe(self, name: str, values: Dict[str, Any], texts: Dict[str, str]) -> None:
        """Puts the text of each value into `texts`, or that of all of them at once."""
        whole = self._values.at_once(values, 2, None if self._writer is None else self._file_names(name, name, CATEGORIES))
        if whole is not None:
            texts[ALL_OF + next(iter(values))] = whole[len(BEGIN):-len(END)]
            return
        for key, value in values.items():
            texts[key] = self._values.of(value, 3, "", self._file_names(f"{name}.{CATEGORIES.get(key, key)}", name))

    def _file_names(self, beginning: str, name: str = "", categories: Optional[Dict[str, str]] = None) \
            -> Optional[Callable[[str], Optional[str]]]:
        if self._writer is None:
            return None
        if self.settings.task == "statistics" and not any(each in (name or beginning) for each in self.settings.tensor_list):
            return None
        if categories is None:
            return lambda place: f"{beginning}{place}.pt"

        def name_below(place: str) -> str:
            _, key, rest = place.split(".", 2)
            return f"{beginning}.{categories.get(key, key)}.{rest}.pt"

        return name_below

    def _save(self, tensor: torch.Tensor, file: str) -> bool:
        try:
            if tensor.is_cuda and self._copies is None:
                self._copies = DeviceCopies(self._writer)
            write(self._writer, file, tensor.detach(), self._copies)
            return True
        except Exception as trouble:
            self.complain(file, trouble)
            return False

    def _is_nan(self, value: Any) -> str:
        tensors = list(tensors_of(value))
        on_device = [each for each in tensors if each.device.type not in ("cpu", "meta")]
        if on_device:
            return self._values.on_device.is_nan(on_device)
        return "0" if all(self._values.measure.is_finite(each) for each in tensors) else "1"

    def _wrote_whole(self, name: str, values: Dict[str, Any], is_more: bool) -> bool:
        """The entry is complete with `values`, which go to the journal while they are described. False: another way must be taken."""
        native = self._values.native_now()
        if native is None or self._unsettled:
            return False
        entry, begun, at = self._open.get(name), None, self._place
        if entry is None:
            is_more = is_more or name in self._begun
        else:
            if len(entry.parts) != 1:
                return False
            ((key, begun),) = entry.parts.items()
            if key[0] != ALL_OF:
                return False
            is_more = entry.is_more
            if not name.startswith("Module."):
                at = entry.at
        trouble = self._journal.entry_by(native, begun, values, name, at, is_more)
        if trouble is None:
            return False
        if entry is not None:
            del self._open[name]
        if at == self._place:
            self._place += 1
        if trouble:
            raise OSError(trouble, os.strerror(trouble), self._journal.folder)
        return True

    def _add(self, name: str, texts: Dict[str, str], is_complete: bool = False, is_more: bool = False) -> None:
        entry = self._open.get(name)
        if entry is None:
            if not texts:
                return
            entry = self._open[name] = OpenEntry(self._place, is_more or name in self._begun)
            self._place += 1
        elif name.startswith("Module.") and texts:  # it stands where it was added to last
            entry.at = self._place
            self._place += 1
        entry.parts.update(texts)
        if is_complete:
            del self._open[name]
            self._write(name, entry)

    def _write(self, name: str, entry: OpenEntry) -> None:
        text = laid_out(entry.parts)
        if not self._unsettled and "\0" not in text and "\1" not in text:
            self._journal.entry(name, entry.at, text, entry.is_more)
            return
        self._unsettled.append((name, entry.at, text, entry.is_more))
        if len(self._values.on_device) > _MOST_ON_DEVICE:
            self._fetch()
        self._since_settling += 1
        if self._since_settling >= _ENTRIES_BETWEEN:
            self._settle(waits=False)

    def _settle(self, waits: bool) -> None:
        """Entries whose numbers have come from a GPU go out, in order; those behind one that has to wait wait too."""
        self._since_settling = 0
        if waits:
            self._fetch()
        unsettled, native = self._unsettled, self._values.native
        while unsettled:
            name, at, text, is_more = unsettled[0]
            if "\0" in text:
                return
            whole: Optional[str] = native.settled(text, waits) if "\1" in text else text
            if whole is None:
                return
            unsettled.popleft()
            self._journal.entry(name, at, whole, is_more)

    def _fetch(self) -> None:
        """The results of operations of torch on a GPU come over, for the entries that wait and for those still open."""
        if not len(self._values.on_device):
            return
        texts = self._values.on_device.settle()

        def settled(text: str) -> str:
            return re.sub("\0(\\d+)\0", lambda found: texts[int(found.group(1))], text) if "\0" in text else text

        for entry in self._open.values():
            entry.parts = {key: settled(text) for key, text in entry.parts.items()}
        self._unsettled = collections.deque((name, at, settled(text), is_more) for name, at, text, is_more in self._unsettled)

    def _new_stack(self, lines: Tuple[str, ...]) -> None:
        if self._journal is not None:
            self._journal.frames(lines)

    def forget_journal(self) -> None:
        """In a forked child: what the parent records is none of its business."""
        if self._journal is not None:
            self._journal.close()  # of the child alone: else the file would seem to be written while the child lives
        self.is_running, self._journal, self._writer, self._copies, self.lock = False, None, None, None, threading.RLock()
        self._open.clear()
        self._unsettled.clear()

    def complain(self, what: str, trouble: Exception) -> None:
        """A warning; of one kind no more than one."""
        if type(trouble) not in self._told:
            self._told.add(type(trouble))
            logger.warning("%s: not recorded: %s: %s", what, type(trouble).__name__, trouble)

    def tell_once(self, text: str) -> None:
        if text not in self._told:
            self._told.add(text)
            logger.warning(text)


def _after_fork() -> None:
    for recorder in list(_alive):
        recorder.forget_journal()


os.register_at_fork(after_in_child=_after_fork)


def warn_of_earlier(folder: str, files: Sequence[str], data: Optional[str]) -> None:
    """Says what of an earlier run may be replaced in `folder`: `files`, and what is in the folder `data`."""
    found = [name for name in files if os.path.lexists(os.path.join(folder, name))]
    if data is not None and os.path.isdir(data) and os.listdir(data):
        found.append(os.path.basename(data))
    if found:
        logger.warning("%s: holds a dump of an earlier run (%s), which is replaced, as by msprobe; what this run does not write "
                       "stays as it is", os.path.abspath(folder), ", ".join(found))
