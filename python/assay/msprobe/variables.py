"""PrecisionDebugger.save: single variables and their gradients, in debug.json."""
import json
import os
from typing import Any, Callable, Dict, List, Optional

import torch

from assay._writer import Writer
from assay.msit.log import logger
from assay.msprobe.config import Config
from assay.msprobe.recorder import warn_of_earlier
from assay.msprobe.values import Values, _quote
from assay.torch.tensors import write


class Variables:
    """What was saved in one step."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._values = Values(config.task, config.summary_mode, config.precision, None, False, self._keep)
        self._writer: Optional[Writer] = None
        self._folder: Optional[str] = None
        self._entries: Dict[str, Any] = {}  # JSON, or a function that gives it
        self._calls: Dict[str, int] = {}
        self._step = 0

    @property
    def is_open(self) -> bool:
        return self._folder is not None

    def save(self, folder: str, variable: Any, name: str, save_backward: bool) -> None:
        if not _is_valid(variable):
            logger.warning("save: %s is neither a tensor, a number, a text, nor a list or dict of such: not recorded", name)
            return
        if not isinstance(name, str) or not isinstance(save_backward, bool):
            logger.warning("save: %r, %r: expected a name and a bool: not recorded", name, save_backward)
            return
        if not self.is_open:
            self._folder = folder
            data = os.path.join(self._folder, "dump_tensor_data")
            warn_of_earlier(folder, ["debug.json"], data if self._config.task == "tensor" else None)
            os.makedirs(data if self._config.task == "tensor" else self._folder, exist_ok=True)
            if self._config.task == "tensor":
                self._writer = Writer(data, keeps_count=False)
        call = self._calls.get(name, 0)
        self._calls[name] = call + 1
        saved = f"{name}.{call}.debug"
        with torch.no_grad():
            self._entries[saved] = self._values.of(variable, 2, "", self._file_names(saved))
        if save_backward:
            gradients = _Gradients(self, f"{name}_grad.{call}.debug", self._step)
            self._entries[gradients.name] = gradients
            gradients.shape = gradients.hook(variable, "", 2)

    def end(self) -> None:
        """The step is over: debug.json is written."""
        if self._folder is None:
            return
        if self._writer is not None:
            self._writer.close()
        texts = self._values.on_device.settle()
        head = {"task": self._config.task, "level": "debug", "framework": "pytorch",
                "dump_data_dir": os.path.join(self._folder, "dump_tensor_data") if self._writer is not None else None, "data": {}}
        body = ",".join(f"\n  {_quote(name)}: " + (entry if isinstance(entry, str) else entry.text()).replace("\t", "\n")
                        for name, entry in self._entries.items())
        for number, text in enumerate(texts):
            body = body.replace(f"\0{number}\0", text)
        if "\1" in body:
            body = self._values.native.settled(body, True)
        path = os.path.join(self._folder, "debug.json")
        with open(path + ".part", "w", encoding="utf-8") as file:
            file.write(json.dumps(head, indent=1)[:-len("{}\n}")] + "{" + body + "\n }\n}")
        os.replace(path + ".part", path)
        self._folder = self._writer = None
        self._entries, self._calls = {}, {}
        self._step += 1

    def _keep(self, tensor: torch.Tensor, file: str) -> bool:
        write(self._writer, file, tensor.detach())
        return True

    def _file_names(self, beginning: str) -> Optional[Callable[[str], str]]:
        return (lambda place: f"{beginning}{place}.pt") if self._writer is not None else None


class _Gradients:
    """The gradients of what was saved, as they come; null until then."""

    def __init__(self, variables: Variables, name: str, step: int) -> None:
        self._variables, self.name, self._step = variables, name, step
        self.shape: Any = None

    def hook(self, value: Any, place: str, depth: int) -> Any:
        if isinstance(value, torch.Tensor):
            slot: List[Optional[str]] = [None]
            if value.requires_grad:
                value.register_hook(lambda gradient: self._came(slot, gradient, place, depth))
            return slot
        if isinstance(value, dict):
            return {key: self.hook(each, f"{place}.{key}", depth + 1) for key, each in value.items()}
        if isinstance(value, (list, tuple)):
            return tuple(self.hook(each, f"{place}.{number}", depth + 1) for number, each in enumerate(value))
        return None

    def _came(self, slot: List[Optional[str]], gradient: torch.Tensor, place: str, depth: int) -> None:
        variables = self._variables
        if variables._step != self._step or not variables.is_open:
            return
        with torch.no_grad():
            slot[0] = variables._values.of(gradient, depth, place, variables._file_names(self.name))

    def text(self) -> str:
        return self._text(self.shape, 2)

    def _text(self, shape: Any, depth: int) -> str:
        blanks = "\t" + " " * (depth + 1)
        if isinstance(shape, list):
            return shape[0] if isinstance(shape[0], str) else "null"
        if isinstance(shape, dict):
            parts = [f"{_quote(str(key))}: {self._text(each, depth + 1)}" for key, each in shape.items()]
            return f"{{{blanks}{(',' + blanks).join(parts)}{blanks[:-1]}}}" if parts else "{}"
        if isinstance(shape, tuple):
            parts = [self._text(each, depth + 1) for each in shape]
            return f"[{blanks}{(',' + blanks).join(parts)}{blanks[:-1]}]" if parts else "[]"
        return "null"


def _is_valid(value: Any, left: int = 400) -> bool:
    if isinstance(value, (torch.Tensor, int, float, str)):
        return True
    if left and isinstance(value, (list, tuple)):
        return all(_is_valid(each, left - 1) for each in value)
    if left and isinstance(value, dict):
        return all(_is_valid(each, left - 1) for each in value.values())
    return False
