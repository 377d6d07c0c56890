"""Which calls are recorded: `scope`, `list`, `risk_level` and `data_mode` of config.json."""
import re
from typing import List, Sequence, Set

from assay.msprobe.api_names import CORE, LOW

_API_PREFIXES = ("Distributed", "Functional", "Torch", "Tensor", "Mint", "MintFunctional", "Primitive", "Aten", "VF", "NPU",
                 "Jit")
_API = re.compile(rf"^({'|'.join(_API_PREFIXES)})\..*\.\d+\.(forward|backward)$")
_MODULE = re.compile(r"^(Cell|Module)\..*\.(forward|backward)\.\d+$")
_PATTERNS = {"L1": (_API,), "L0": (_MODULE,), "mix": (_API, _MODULE)}
_MODULES = ("Module", "Cell")


class Scope:
    """From the first name of `scope` to the second; with `names`, what has one of them in its name."""

    def __init__(self, level: str, scope: Sequence[str], names: Sequence[str]) -> None:
        self._ends, self._names, self._is_mixed = list(scope), list(names), level == "mix"
        if self._ends and len(self._ends) != 2:
            raise ValueError(f"scope: has {len(self._ends)} names, expected the first and the last one")
        for name in self._ends:
            if not any(pattern.match(name) for pattern in _PATTERNS.get(level, (_API, _MODULE))):
                raise ValueError(f"scope: {name!r} is not the full name of a call at level {level}")
        kinds = {name.split(".")[0] in _MODULES for name in self._ends}
        if len(kinds) > 1 and not self._is_mixed:
            raise ValueError(f"scope: {self._ends} has a module and a function, expected two of one kind")
        self._is_of_modules = self._is_mixed or kinds == {True}
        self._opens_itself = self._is_mixed or kinds != {True}
        self._is_in_scope = False
        self._listed_modules: Set[str] = set()  # that are running

    def begin_module(self, name: str) -> None:
        if not self._is_of_modules:
            return
        if self._ends and name == self._ends[0]:
            self._is_in_scope = True
        if self._is_mixed and any(each in name for each in self._names):
            self._listed_modules.add(name)

    def end_module(self, name: str) -> None:
        if not self._is_of_modules:
            return
        if self._ends and name == self._ends[1]:
            self._is_in_scope = False
        self._listed_modules.discard(name)

    def holds(self, name: str) -> bool:
        if self._ends and self._opens_itself and name == self._ends[0]:
            self._is_in_scope = True
        wanted = (not self._ends or self._is_in_scope) and (
            bool(self._listed_modules) or not self._names or any(each in name for each in self._names))
        if self._ends and self._opens_itself and name == self._ends[1]:
            self._is_in_scope = False
        return wanted


def is_of_risk(api: str, risk_level: str) -> bool:
    """Whether a function is recorded where neither scope nor list choose.

    >>> is_of_risk("reshape", "FOCUS"), is_of_risk("matmul", "CORE"), is_of_risk("linear", "CORE"), is_of_risk("relu", "FOCUS")
    (False, True, False, True)
    """
    if risk_level == "CORE":
        return api in CORE
    return risk_level != "FOCUS" or api in CORE or api not in LOW


def data_modes(modes: List[str]) -> Set[str]:
    """What is recorded of a call; a direction or a side that is not spoken of is meant with both of its sides."""
    wanted = set(modes)
    if not wanted or "all" in wanted:
        return {"forward", "backward", "input", "output"}
    for pair in ({"forward", "backward"}, {"input", "output"}):
        if not wanted & pair:
            wanted |= pair
    return wanted
