"""An entry of dump.json while it is being put together: its parts, as text."""
from typing import Any, Dict, Iterator

import torch

from assay.msprobe.values import _quote

BEGIN, END = "{\t   ", "\t  }"
ALL_OF = "\0"  # before a key of parts: its text has the keys in it, those of several values
CATEGORIES = {"input_args": "input", "input_kwargs": "kwargs"}  # in names of files


class OpenEntry:
    """An entry that is not complete."""

    __slots__ = ("at", "parts", "is_more")

    def __init__(self, at: int, is_more: bool) -> None:
        self.at, self.parts, self.is_more = at, {}, is_more  # type: int, Dict[str, str], bool


def laid_out(parts: Dict[str, str]) -> str:
    return BEGIN + ",\t   ".join([text if key[0] == ALL_OF else f"{_quote(key)}: {text}" for key, text in parts.items()]) + END


def tensors_of(value: Any, left: int = 64) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif left and isinstance(value, (list, tuple)):
        for each in value:
            yield from tensors_of(each, left - 1)
    elif left and isinstance(value, dict):
        for each in value.values():
            yield from tensors_of(each, left - 1)
