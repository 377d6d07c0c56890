"""register_hook: records what goes through the modules and functions of a model, in the folders of the original."""
import functools
import importlib
import json
import os
import threading
from typing import Any, Callable, Dict, List, Optional, Tuple

import torch

from assay._writer import Writer
from assay.msit import tables
from assay.msit.api_names import WATCHED
from assay.msit.dump_config import DumpConfig, forget_config
from assay.msit.dump_folder import dump_folder, forget_dump_folder
from assay.msit.log import logger
from assay.torch.module_calls import watch_module
from assay.torch.tensors import leaves, write

_current: Optional["Hooks"] = None


def register_hook(model: torch.nn.Module, config: DumpConfig, hook_type: str = "dump_data") -> Optional["Hooks"]:
    """Records every module below `model`, itself included; one model for a process, until `unregister()`.

    >>> import glob, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> model = torch.nn.Sequential(torch.nn.Linear(2, 2))
    >>> hooks = register_hook(model, DumpConfig(dump_path=folder))
    >>> _ = model(torch.ones(1, 2))
    >>> unregister()
    >>> sorted(os.path.basename(path) for path in glob.glob(folder + "/*/torch_tensors/*/0/root.0/*"))
    ['input_0.pth', 'output.pth']
    """
    global _current
    if _current is not None:
        logger.warning("%s has been register in model.", "dump_data")
        return None
    if not isinstance(model, torch.nn.Module):
        logger.error("model must be instance of torch.nn.Module.")
        return None
    if type(config).__name__ != "DumpConfig":
        logger.error("config must be instance of DumpConfig.")
        return None
    if hook_type != "dump_data":
        logger.error("hook_type must be 'dump_data', and is %r: nothing is recorded.", hook_type)
        return None
    _current = Hooks(model, config)
    return _current


def unregister() -> None:
    """Takes the hooks off again, waits for the files, and forgets the configuration: a new one may follow."""
    global _current
    hooks, _current = _current, None
    forget_config()
    if hooks is not None:
        hooks._take_off()
        forget_dump_folder()


class Hooks:
    """What `register_hook` put on a model; `unregister()` takes it off again."""

    def __init__(self, model: torch.nn.Module, config: DumpConfig) -> None:
        self._model, self._config = model, config
        self._removals: List[Callable[[], None]] = []
        self._names: Dict[int, str] = {}  # of modules, by their id
        self._here = threading.local()    # the modules that this thread is in; whether it is recording
        self._token, self._is_wanted, self._next_token = 0, True, 0
        self._calls: Dict[str, int] = {}        # in this token, by folder
        self._files: Dict[str, List[str]] = {}  # of the last call, by folder
        self._last_output: Optional[Tuple[str, Any]] = None
        self._told: set = set()
        device = _device_of(model)
        if not config.wants_device(device):
            self._writer = None
            return
        self._dump = os.path.join(config.dump_path, dump_folder())
        self._rank = f"torch_tensors/{device}_{os.getpid()}"
        self._writer = Writer(self._dump)
        os.makedirs(os.path.join(self._dump, self._rank), mode=0o750, exist_ok=True)
        self._write_tree()
        self._watch_modules()
        if config.dump_api:
            self._watch_functions()
        if config.dump_weight:
            self._write_weights()

    def unregister(self) -> None:
        """The same as the function of this name."""
        if _current is self:
            unregister()

    def tally(self):
        """What was written so far; None if this device is not recorded."""
        return self._writer.tally() if self._writer is not None else None

    def flush(self) -> None:
        """Until everything that was recorded is in its file."""
        if self._writer is not None:
            self._writer.flush()

    def _take_off(self) -> None:
        for remove in reversed(self._removals):
            remove()
        self._removals.clear()
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    # Modules

    def _watch_modules(self) -> None:
        for name, module in _named_tree(self._model):
            self._names[id(module)] = name  # a shared one has the last of its names
        seen = set()
        for _, module in _named_tree(self._model):
            if id(module) in seen:
                continue
            seen.add(id(module))
            is_root = module is self._model
            self._removals.append(watch_module(module, functools.partial(self._enter, is_root),
                                               functools.partial(self._leave, is_root)))

    def _enter(self, is_root: bool, module: torch.nn.Module) -> None:
        name = self._names.get(id(module))
        if name is None:
            return
        if is_root:
            self._token, self._next_token = self._next_token, self._next_token + 1
            self._is_wanted = self._token in self._config.token_range
            self._calls.clear()
            self._files.clear()
            self._here.modules = []
        self._inside().append(name)

    def _leave(self, is_root: bool, module: torch.nn.Module, args: tuple, kwargs: dict, output: Any) -> None:
        name, inside = self._names.get(id(module)), self._inside()
        if name is None:
            self._tell(f"A copy of a watched {_kind_of(module)} runs: it is not recorded.", "copy")
            return
        if name in inside:  # modules that were left by an exception are still on top of it
            del inside[len(inside) - 1 - inside[::-1].index(name):]
        config = self._config
        try:
            if config.dump_last_logits:
                if is_root:
                    self._write_logits(module)
                if _is_logits(output):
                    self._last_output = name, output
            elif config.dump_module and self._is_wanted and config.wants(name, module=module):
                self._record(name, _kind_of(module), args, kwargs, output)
            if is_root and self._token == 0:
                self._write_tree()  # modules may have come during the first forward
        except Exception as trouble:
            self._complain(name, trouble)

    def _inside(self) -> List[str]:
        if not hasattr(self._here, "modules"):
            self._here.modules = []
        return self._here.modules

    def _write_tree(self) -> None:
        def tree(name: str, module: torch.nn.Module) -> dict:
            return {"name": name, "type": type(module).__name__,
                    "children": [tree(f"{name}.{child}", below) for child, below in module.named_children()]}

        self._writer.text(f"{self._rank}/model_tree.json", json.dumps(tree("root", self._model)))

    def _write_weights(self) -> None:
        for name, parameter in self._model.named_parameters():
            if self._config.wants(f"root.{name}"):
                self._save(f"{self._rank}/weights/root.{name}.pth", parameter)

    def _write_logits(self, root: torch.nn.Module) -> None:
        if self._last_output is None or not self._is_wanted:
            return
        name, output = self._last_output
        folder = self._folder(name)
        for file, tensor in leaves(output, "output", "result"):
            self._keep(name, _kind_of(root), folder, file, tensor)

    # Functions

    def _watch_functions(self) -> None:
        for module_name, names in WATCHED.items():
            try:
                module = importlib.import_module(module_name)
            except ImportError:  # torch_npu
                continue
            for name in names:
                original = getattr(module, name, None)
                if original is not None:
                    setattr(module, name, self._watched(original))
                    self._removals.append(functools.partial(setattr, module, name, original))

    def _watched(self, function: Callable) -> Callable:
        @functools.wraps(function)
        def watched(*args: Any, **kwargs: Any) -> Any:
            output = function(*args, **kwargs)
            if self._writer is not None and self._is_wanted and not getattr(self._here, "is_recording", False):
                inside = self._inside()
                name = f"{inside[-1] if inside else 'root'}.{function.__name__}"
                try:
                    if self._config.wants(name, api=function):
                        self._record(name, _kind_of(self._model), args, kwargs, output)
                except Exception as trouble:
                    self._complain(name, trouble)
            return output

        return watched

    # Files

    def _folder(self, name: str) -> str:
        return f"{self._rank}/{self._token}/{name}"

    def _record(self, name: str, kind: str, args: tuple, kwargs: dict, output: Any) -> None:
        """One call. The folder holds the last one of a token, as the original's; the earlier ones stand beside it."""
        folder = self._folder(name)
        before = self._calls.get(folder, 0)
        self._calls[folder] = before + 1
        if before:
            self._set_aside(folder, before - 1)
        parts = []
        if self._config.tensor_part != 1:
            parts += leaves(args, "input", "argument")
            parts += leaves(kwargs, "kwargs", "kwargs")
        if self._config.tensor_part != 0:
            parts += leaves(output, "output", "result")
        self._files[folder] = []
        for file, tensor in parts:
            self._keep(name, kind, folder, file, tensor)
        if not parts:  # the original leaves an empty one
            os.makedirs(os.path.join(self._dump, folder), mode=0o750, exist_ok=True)

    def _set_aside(self, folder: str, call: int) -> None:
        files = self._files.get(folder)
        if not files:
            return
        source = os.path.join(self._dump, folder)
        aside = f"{source}.call_{call}"
        try:
            self._writer.flush()
            os.makedirs(aside, mode=0o750, exist_ok=True)
            for file in files:
                os.replace(os.path.join(source, file), os.path.join(aside, file))
        except Exception as trouble:
            self._tell(f"{folder}: call {call} is lost: {trouble}")

    def _keep(self, name: str, kind: str, folder: str, file: str, tensor: Any) -> None:
        if not isinstance(tensor, torch.Tensor):
            self._tell(f"Unrecognized data type {type(tensor)}, cannot be saved in path {folder}/{file}.", type(tensor))
            return
        config, is_known = self._config, tables.is_of_the_original(file)
        self._here.is_recording = True
        try:
            path = f"{folder}/{file}"
            if config.dump_statistics_mode != 0:
                table = tables.STATISTICS if is_known else tables.MORE_STATISTICS
                self._writer.line(f"{folder}/{table}", tables.statistics_line(name, kind, file, tensor),
                                  tables.STATISTICS_TITLES)
            if config.dump_statistics_mode != 1:
                path += ".pth"
                self._save(path, tensor)
                self._files.setdefault(folder, []).append(f"{file}.pth")
            if config.analyze is True:
                self._writer.line(tables.ANALYZE if is_known else tables.MORE_ANALYZE,
                                  tables.analyze_line(name, kind, os.path.join(self._dump, path), tensor),
                                  tables.ANALYZE_TITLES)
        except Exception as trouble:
            self._complain(f"{folder}/{file}", trouble)
        finally:
            self._here.is_recording = False

    def _save(self, path: str, tensor: torch.Tensor) -> None:
        write(self._writer, path, tensor)

    def _complain(self, what: str, trouble: Exception) -> None:
        """Recording must not stop what is recorded."""
        self._tell(f"{what}: not recorded: {trouble}", type(trouble))

    def _tell(self, message: str, once_per: Any = None) -> None:
        """A warning; of one kind no more than one."""
        if once_per is None or once_per not in self._told:
            self._told.add(once_per)
            logger.warning(message)


def _named_tree(module: torch.nn.Module, name: str = "root"):
    yield name, module
    for child, below in module.named_children():
        yield from _named_tree(below, f"{name}.{child}")


def _device_of(model: torch.nn.Module) -> str:
    """Of the last parameter: "cpu", "cuda0"."""
    device = "cpu"
    for parameter in model.parameters():
        device = str(parameter.device)
    return device.replace(":", "")


def _kind_of(module: torch.nn.Module) -> str:
    return type(module).__name__


def _is_logits(output: Any) -> bool:
    """Whether the original finds a tensor in it: it does not look into dicts."""
    if isinstance(output, (tuple, list)):
        return any(_is_logits(each) for each in output)
    return isinstance(output, torch.Tensor)
