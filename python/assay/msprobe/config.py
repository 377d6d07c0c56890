"""config.json of msprobe, with its keys, defaults and checks."""
import json
import os
from typing import Any, Dict, List, Optional

TASKS = ("statistics", "tensor", "structure", "nan_check")
LEVELS = ("L0", "L1", "mix", "debug")
_NOT_OURS = {"acc_check": "the accuracy check of single functions", "diff_check": "the check against a dump while recording",
             "free_benchmark": "the free benchmark", "overflow_check": "use the task nan_check", "exception_dump": "MindSpore",
             "run_ut": "the accuracy check of single functions"}
_DEFAULTS: Dict[str, Any] = {"task": "statistics", "dump_path": "./dump_path", "level": "L1"}


class MsprobeException(Exception):
    """What the calls of msprobe raise of what they are given."""


class Config:
    """One configuration, checked. `arguments` of PrecisionDebugger beat the file."""

    def __init__(self, config_path: Optional[str] = None, task: Optional[str] = None, dump_path: Optional[str] = None,
                 level: Optional[str] = None, step: Optional[list] = None) -> None:
        for name, value in (("config_path", config_path), ("dump_path", dump_path)):
            if value is not None and not isinstance(value, str):
                raise MsprobeException(f"{name}: is {value!r}, expected a text")
        self.path = config_path
        content = _read(config_path) if config_path else dict(_DEFAULTS)
        self.task = _one_of("task", task or content.get("task") or "statistics", TASKS, _NOT_OURS)
        self.level = _one_of("level", level or content.get("level") or "L1", LEVELS, {"L2": "kernels of an NPU"})
        self.dump_path = dump_path or content.get("dump_path")
        if not isinstance(self.dump_path, str) or not self.dump_path:
            raise MsprobeException("dump_path: is missing")
        self.rank = numbers("rank", content.get("rank"))
        self.step = numbers("step", step if step is not None else content.get("step"))
        self.dump_enable = _of_kind("dump_enable", content.get("dump_enable"), bool)
        self.extra_info = _of_kind("extra_info", content.get("extra_info", True), bool)
        self.async_dump = _of_kind("async_dump", content.get("async_dump", False), bool)
        self.precision = _one_of("precision", content.get("precision", "low"), ("low", "high"))
        self.risk_level = _one_of("risk_level", content.get("risk_level", "FOCUS") or "ALL", ("CORE", "FOCUS", "ALL"))
        self.custom_op_namespaces = _texts("custom_op_namespaces", content.get("custom_op_namespaces"), ["_C_ascend"])
        if "load" in content:
            raise MsprobeException("load: putting dumped inputs in the place of real ones is not served by assay")
        own = content.get(self.task) or {}
        if not isinstance(own, dict):
            raise MsprobeException(f"{self.task}: is {own!r}, expected an object")
        self._read_task(own)
        self._check()

    def _read_task(self, own: Dict[str, Any]) -> None:
        self.scope = _texts("scope", own.get("scope"), [])
        self.list = _texts("list", own.get("list"), [])
        self.tensor_list = _texts("tensor_list", own.get("tensor_list"), []) if self.task == "statistics" else []
        self.data_mode = _texts("data_mode", own.get("data_mode"), ["all"]) or ["all"]
        for mode in self.data_mode:
            _one_of("data_mode", mode, ("all", "input", "output", "forward", "backward"))
        if "all" in self.data_mode and len(self.data_mode) != 1:
            raise MsprobeException(f"data_mode: {self.data_mode}: 'all' stands alone")
        if len(self.data_mode) > 4:
            raise MsprobeException(f"data_mode: {self.data_mode} has {len(self.data_mode)} items, expected 4 at most")
        self.summary_mode = _one_of("summary_mode", own.get("summary_mode") or "statistics", ("statistics", "md5", "xor"))
        self.slice = _slices(own.get("slice"))
        self.request_id = own.get("request_id")
        if self.request_id is not None and not isinstance(self.request_id, str):
            raise MsprobeException(f"request_id: is {self.request_id!r}, expected a text")
        for key in ("bench_path", "diff_nums"):
            if own.get(key) is not None and self.task == "tensor":
                raise MsprobeException(f"{key}: keeping what differs from another dump alone is not served by assay; "
                                       "record both and use `assay compare`")

    def _check(self) -> None:
        if self.task == "nan_check" and self.level != "L1":
            raise MsprobeException(f"level: is {self.level}, and nan_check works at L1 alone")
        if self.task == "nan_check" and "input" in self.data_mode and "output" not in self.data_mode:
            raise MsprobeException("data_mode: nan_check looks at outputs")
        if self.task == "structure" and self.level not in ("L0", "mix"):
            self.level = "mix"
        if self.task not in ("statistics", "tensor") or self.level == "debug":
            self.slice, self.request_id = [], None
        if self.level == "debug":
            self.tensor_list = []
        if self.async_dump and self.task == "tensor" and self.level != "debug" and not self.list:
            raise MsprobeException("list: is empty; async_dump of the task tensor needs some names")
        if self.async_dump and self.summary_mode == "md5":
            raise MsprobeException("summary_mode: cannot be md5 with async_dump")


def numbers(what: str, given: Any) -> List[int]:
    """Steps or ranks: numbers, and texts like "3" and "4-6".

    >>> numbers("step", [9, "4-6", "5"])
    [4, 5, 6, 9]
    """
    if given is None:
        return []
    if not isinstance(given, list):
        raise MsprobeException(f"{what}: is {given!r}, expected a list")
    found = set()
    for each in given:
        ends = [each, each] if isinstance(each, int) and not isinstance(each, bool) else _range(what, each)
        if not 0 <= ends[0] <= ends[1] <= 1000000:
            raise MsprobeException(f"{what}: {each!r} is not within 0 to 1000000, in order")
        found.update(range(ends[0], ends[1] + 1))
    return sorted(found)


def _range(what: str, text: Any) -> List[int]:
    parts = text.split("-") if isinstance(text, str) else []
    if not 1 <= len(parts) <= 2 or not all(part.strip().isdigit() for part in parts):
        raise MsprobeException(f"{what}: {text!r} is neither a number nor a range like '3-5'")
    return [int(parts[0]), int(parts[-1])]


def _read(path: str) -> Dict[str, Any]:
    try:
        with open(path, encoding="utf-8") as file:
            content = json.load(file)
    except (OSError, ValueError) as trouble:
        raise MsprobeException(f"{os.path.basename(path)}: {trouble}") from trouble
    if not isinstance(content, dict):
        raise MsprobeException(f"{os.path.basename(path)}: is no object")
    return content


def _one_of(what: str, given: Any, known: tuple, refused: Optional[Dict[str, str]] = None) -> str:
    if isinstance(given, str) and refused and given in refused:
        raise MsprobeException(f"{what}: {given} ({refused[given]}) is not served by assay; there are: {', '.join(known)}")
    if not isinstance(given, str) or given not in known:
        raise MsprobeException(f"{what}: is {given!r}, expected one of {', '.join(known)}")
    return given


def _of_kind(what: str, given: Any, kind: type) -> Any:
    if given is not None and not isinstance(given, kind):
        raise MsprobeException(f"{what}: is {given!r}, expected {kind.__name__}")
    return given


def _texts(what: str, given: Any, default: List[str]) -> List[str]:
    if given is None:
        return list(default)
    if not isinstance(given, list) or not all(isinstance(each, str) for each in given):
        raise MsprobeException(f"{what}: is {given!r}, expected a list of texts")
    return given


def _slices(given: Any) -> List[Dict[str, int]]:
    if not given:
        return []
    if not isinstance(given, list) or not all(isinstance(each, dict) for each in given):
        raise MsprobeException(f"slice: is {given!r}, expected a list of objects")
    for each in given:
        for key, value in each.items():
            if not isinstance(value, int) or (key in ("dim", "size") and value < 0):
                raise MsprobeException(f"slice: {key} is {value!r}, expected a number" + (
                    " of 0 or more" if key in ("dim", "size") else ""))
    return [dict(each) for each in given]
