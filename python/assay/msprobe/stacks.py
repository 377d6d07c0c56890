"""Call stacks, each kept once."""
import linecache
import os
import sys
from typing import Any, Dict, List, Tuple

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_LEFT_OUT = ("msprobe/core", "msprobe/pytorch", "msprobe/mindspore")  # by the original, too
_MOST_KNOWN = 20000  # stacks whose lines are kept for the next step
_OFF_COMPILING = "torch/_dynamo/eval_frame.py"  # keeps torch.compile off our hooks: a frame of it between two of ours


class Stacks:
    """Numbers call stacks in the order in which they are first seen; `told` is given the lines of each new one."""

    def __init__(self, told: Any) -> None:
        self._told = told
        self._numbers: Dict[tuple, int] = {}           # of this step, by code and place in it
        self._known: Dict[tuple, Tuple[str, ...]] = {}  # what those of all steps read
        self._texts: Dict[Tuple[str, ...], int] = {}   # several of the former may read the same
        self._lines: Dict[Tuple[int, int], str] = {}
        self._codes: Dict[int, Any] = {}               # kept alive, so that no other gets its id

    def forget(self) -> None:
        """The next step numbers them anew."""
        self._numbers.clear()
        self._texts.clear()
        if len(self._known) > _MOST_KNOWN:
            self._known.clear()

    def here(self, depth: int) -> int:
        """The number of the stack of the caller's caller and so on, `depth` frames up."""
        frame = sys._getframe(depth)
        key: List[int] = []
        while frame is not None:
            key += id(frame.f_code), frame.f_lasti
            frame = frame.f_back
        whole = tuple(key)
        number = self._numbers.get(whole)
        if number is None:
            text = self._known.get(whole)
            if text is None:
                text = self._known[whole] = self._text_from(sys._getframe(depth))
            number = self._texts.get(text)
            if number is None:
                number = self._texts[text] = len(self._texts)
                self._told(text)
            self._numbers[whole] = number
        return number

    def _text_from(self, frame: Any) -> Tuple[str, ...]:
        lines = []
        was_ours = True
        while frame is not None:
            path = frame.f_code.co_filename
            if was_ours and path.endswith(_OFF_COMPILING):
                frame = frame.f_back
                continue
            was_ours = path.startswith(_PACKAGE)
            place = (id(frame.f_code), frame.f_lasti)
            line = self._lines.get(place)
            if line is None:
                self._codes[place[0]] = frame.f_code
                line = self._lines[place] = _line_of(frame)
            if line:
                lines.append(line)
            frame = frame.f_back
        return tuple(lines)


def _line_of(frame: Any) -> str:
    path = frame.f_code.co_filename
    source = linecache.getline(path, frame.f_lineno).strip()
    if not source or path.startswith(_PACKAGE) or any(each in path for each in _LEFT_OUT):
        return ""
    return f"File {path}, line {frame.f_lineno}, in {frame.f_code.co_name}, \n {source}"
