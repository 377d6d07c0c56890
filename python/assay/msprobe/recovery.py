"""What makes a journal safe to take apart: that every line of it is what the recorder writes, that no program still writes it,
and where what is made of it may lie. See journal.py."""
import fcntl
import json
import os
from typing import Any, BinaryIO, Optional

from assay.errors import AssayError

FILES = ("dump.json", "stack.json", "construct.json")
_LONGEST_LINE, _LONGEST_HEAD = 128 << 20, 1 << 20  # bytes
_BLOCK = 1 << 20
_quote = json.encoder.encode_basestring_ascii


def shown(text: str) -> str:
    """Without what steers a terminal: names of folders come from anywhere."""
    return "".join(each if each.isprintable() else
                   "".join(f"\\x{byte:02x}" for byte in each.encode("utf-8", "surrogateescape")) for each in text)


def claim(file: int) -> bool:
    """Marks the open file as one that a process writes, until it ends; false where another one does."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        pass
    return True


def check(file: BinaryIO) -> None:
    """Raises an AssayError where a line is not as the recorder writes it: what is made of the others would be no JSON, or lack
    what the broken line was to say, and the journal would be gone."""
    if os.fstat(file.fileno()).st_size == 0:
        raise AssayError("is empty")
    begin = 0
    while True:
        line = file.readline(_LONGEST_LINE if begin else _LONGEST_HEAD)
        if line[-1:] != b"\n":
            if len(line) >= (_LONGEST_LINE if begin else _LONGEST_HEAD):
                raise AssayError(f"byte {begin}: a line that is longer than any of a journal")
            if begin == 0:
                raise AssayError("has no first line")
            return
        try:
            is_one = _is_line(line[:-1].decode()) if begin else _is_head(json.loads(line.decode()))
        except (ValueError, RecursionError):
            is_one = False
        if not is_one:
            raise AssayError(f"byte {begin}: not a line of a journal")
        begin += len(line)


def _is_head(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("head"), dict) and "data" not in value["head"] and "extra" in value


def _is_line(text: str) -> bool:
    """Whether the recorder would write the line so, to the letter: it is taken apart by its marks later, not by a parser."""
    value = json.loads(text)
    if not isinstance(value, dict) or not value:
        return False
    kind = next(iter(value))
    if kind == "frames":
        return isinstance(value[kind], list) and all(isinstance(each, str) for each in value[kind])
    name = value.get("name" if kind in ("at", "more") else kind)
    if not isinstance(name, str):
        return False
    if kind == "call":
        return text == f'{{"call":{_quote(name)},"stack":{value.get("stack")}}}'
    if kind == "node":
        return _ends_in(text, f'{{"node":{_quote(name)},"parent":', (str, list, type(None)))
    return kind in ("at", "more") and _ends_in(text, f'{{"{kind}":{value[kind]},"name":{_quote(name)},"entry":', dict)


def _ends_in(text: str, beginning: str, kinds: Any) -> bool:
    return text.startswith(beginning) and isinstance(json.loads(text[len(beginning):-1]), kinds)


def place_for(path: str, is_apart: bool = False) -> str:
    """The folder of what is made of the journal at `path`: its own, or a new one where that holds what is perhaps not of this
    journal, and with `is_apart`: its data are not those of that folder."""
    folder = os.path.dirname(path)
    if not is_apart and not any(os.path.lexists(os.path.join(folder, name)) for name in FILES):
        return folder
    number, place = 0, os.path.join(folder, "recovered")
    while os.path.lexists(place):
        number += 1
        place = os.path.join(folder, f"recovered_{number}")
    os.mkdir(place)
    return place


def settle(place: str, path: str, is_newest: bool, found: Optional[int]) -> str:
    """Moves what was made in `place` to where it belongs, beside the journal, if the dump.json there is an earlier state of it:
    made by the same program at the end of a part of its step. The folder in which it lies then."""
    folder = os.path.dirname(path)
    earlier = os.path.join(folder, FILES[0])
    if place == folder or not is_newest or time_of(earlier) in (None, found) or not _begins_with(os.path.join(place, FILES[0]), earlier):
        return place
    for name in FILES:
        if os.path.exists(os.path.join(place, name)):
            os.replace(os.path.join(place, name), os.path.join(folder, name))
    os.rmdir(place)
    return folder


def time_of(path: str) -> Optional[int]:
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return None


def _begins_with(whole: str, part: str) -> bool:
    """Whether all entries of the dump.json `part` are the first ones of `whole`."""
    with open(whole, "rb") as all_of_it, open(part, "rb") as first:
        size = first.seek(0, os.SEEK_END)
        first.seek(max(size - 5, 0))
        end = first.read()
        if end == b"\n }\n}":
            size -= len(end)
        elif end.endswith(b"{}\n}"):  # none at all
            size -= len("}\n}")
        else:
            return False
        first.seek(0)
        while size > 0:
            block = first.read(min(size, _BLOCK))
            if not block or all_of_it.read(len(block)) != block:
                return False
            size -= len(block)
    return True
