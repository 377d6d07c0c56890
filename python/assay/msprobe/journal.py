"""What is recorded, as it comes: an append-only file beside dump.json, from which that is made whole at the end.

`dump.jsonl` lies in the folder of a rank while a step is recorded, and is gone once its dump.json, stack.json and
construct.json are final. What was in it when a program was killed is not lost: `recover(folder)`. One JSON value a line:

    {"journal": 1, "head": {...}, "extra": true}      first: the keys before `data`; whether stack.json and construct.json are kept
    {"frames": ["File a.py, line 1, in f, \\n f()"]}   a call stack; they are numbered from 0 in this order
    {"call": NAME, "stack": 0}                        a call has begun
    {"node": NAME, "parent": NAME or null}            a line of construct.json
    {"at": 7, "name": NAME, "entry": {...}}           a complete entry, and its place among all of them
    {"more": 9, "name": NAME, "entry": {...}}         keys of an entry that was written before; a module's moves to the new place

Entries and parents are laid out as dump.json has them, but for their ends of line, which are tabs: nothing in a JSON text
is a tab otherwise, so that making dump.json takes one pass and no parser. A last line without its end was cut off, and is
left out. Memory does not grow with the entries, but by 16 bytes for each that a stack is kept of.
"""
import array
import json
import mmap
import os
import re
import shutil
from typing import Any, BinaryIO, Dict, Iterator, List, NamedTuple, Optional, Set, Tuple

from assay import _native
from assay.errors import AssayError
from assay.msprobe import recovery

NAME = "dump.jsonl"
DATA = "dump_tensor_data"
_DATA_NAME = re.compile(rb',\t *"data_name": ("(?:[^"\\\\]|\\\\.)*")')
_JOURNAL = re.compile(r"^dump\.jsonl(\.\d+)?$")  # with a number: of a program that was killed, when another began
_AT, _MORE, _CALL, _FRAMES, _NODE = b'{"at":', b'{"more":', b'{"call":', b'{"frames":', b'{"node":'
_quote = json.encoder.encode_basestring_ascii
_NAME, _ENTRY, _STACK, _PARENT = b',"name":', b',"entry":', b',"stack":', b',"parent":'


class Journal:
    """The journal of one folder, open for writing. Its methods are called by one thread at a time."""

    def __init__(self, folder: str, head: Dict[str, Any], has_extra_info: bool = True) -> None:
        self.folder = folder
        os.makedirs(folder, exist_ok=True)
        self._path = os.path.join(folder, NAME)
        self._file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
        recovery.claim(self._file)
        self._waiting: List[str] = []  # lines that go out with the next entry
        self._has_extra_info = has_extra_info
        self.entries = 0
        self._is_rendered = False
        self._head = _head_of(head).encode()
        self._write(json.dumps({"journal": 1, "head": head, "extra": has_extra_info,
                                "found": recovery.time_of(os.path.join(folder, "dump.json"))}) + "\n")

    def frames(self, lines: Tuple[str, ...]) -> None:
        self._waiting.append('{"frames":' + json.dumps(lines) + "}\n")

    def call(self, name: str, stack: int) -> None:
        self._waiting.append(f'{{"call":{_quote(name)},"stack":{stack}}}\n')

    def node(self, name: str, parent: str) -> None:
        """`parent` is JSON."""
        self._waiting.append(f'{{"node":{_quote(name)},"parent":{parent}}}\n')

    def entry(self, name: str, at: int, text: str, is_more: bool = False) -> None:
        """`text` is JSON with tabs for ends of line, indented as below a name of dump.json."""
        self.entries += 1
        line = f'{{"{"more" if is_more else "at"}":{at},"name":{_quote(name)},"entry":{text}}}\n'
        if self._waiting:
            self._waiting.append(line)
            line = "".join(self._waiting)
            self._waiting.clear()
        self._write(line)

    def entry_by(self, native: Any, begun: Optional[str], values: Dict[str, Any], name: str, at: int, is_more: bool) -> Optional[int]:
        """An entry that the native half describes and writes: what was told when it began, and `values`. None: it does not know
        them, and nothing was written; otherwise 0, or the errno of a write that failed."""
        self._waiting.append(f'{{"{"more" if is_more else "at"}":{at},"name":{_quote(name)},"entry":')
        head = "".join(self._waiting)
        trouble = native.line(native.handle, head, begun, values, 2, self._file)
        if trouble is None:
            self._waiting.pop()
            return None
        self._waiting.clear()
        self.entries += 1
        self._is_rendered = False
        return trouble

    def _write(self, text: str) -> None:
        self._is_rendered = False
        data = text.encode()
        while data:
            data = data[os.write(self._file, data):]

    def finish(self, keeps: bool = True) -> None:
        """Makes the three files of what there is; with `keeps`, more may follow."""
        if self._waiting:
            self._write("".join(self._waiting))
            self._waiting.clear()
        if not self._is_rendered:
            status = _native.library().assay_journal_render(os.fsencode(self._path), self._head, self._has_extra_info,
                                                            os.fsencode(self.folder))
            if status != _native.OK:  # it was added to an entry, or the disk is full
                render(self._path)
            self._is_rendered = True
        if not keeps:
            self.close()
            os.remove(self._path)

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def move(self, folder: str) -> None:
        """The folder was renamed."""
        self.folder, self._path = folder, os.path.join(folder, NAME)


def set_aside(folder: str) -> Optional[str]:
    """A journal of a program that was killed stays, under another name, and with it the data that it names: the next run writes
    files of the same names. To be called before a journal is begun in `folder`."""
    path, data = os.path.join(folder, NAME), os.path.join(folder, DATA)
    if not os.path.exists(path):
        return None
    number = 1
    while os.path.lexists(f"{path}.{number}") or os.path.lexists(f"{data}.{number}"):
        number += 1
    if os.path.lexists(data) and _names_data(path):
        os.rename(data, f"{data}.{number}")  # first: a journal whose data are missing claims none, others' data would be taken for its own
    os.rename(path, f"{path}.{number}")
    return f"{path}.{number}"


def _names_data(path: str) -> bool:
    """Whether there are data of the journal's own. Of one that cannot be read, there may be."""
    try:
        with open(path, "rb") as file:
            return bool(json.loads(file.readline())["head"]["dump_data_dir"])
    except (ValueError, LookupError, TypeError, RecursionError):
        return True


def data_of(path: str) -> str:
    """Where the data of the journal at `path` are: those of one that was set aside have its number."""
    found = _JOURNAL.match(os.path.basename(path))
    return os.path.join(os.path.dirname(path), DATA + (found and found.group(1) or ""))


class Recovered(NamedTuple):
    folder: str
    entries: int
    was_cut: bool  # the last line was not whole
    without_data: int = 0  # tensors whose files were not written yet: what is said of them stays


def recover(dump: str) -> List[Recovered]:
    """Makes dump.json, stack.json and construct.json of every journal at or below `dump`, and removes these journals.
    One that is no journal raises an AssayError that says why, and stays.

    A whole dump.json of an earlier run stays: then they are made in `recovered` beside it.

    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> journal = Journal(folder, {"task": "statistics", "level": "L1", "framework": "pytorch", "dump_data_dir": None})
    >>> journal.entry("Torch.add.0.forward", 0, '{\\t   "output": []\\t  }')
    >>> journal.close()  # killed
    >>> [each.entries for each in recover(folder)]
    [1]
    >>> print(open(os.path.join(folder, "dump.json")).read())
    {
     "task": "statistics",
     "level": "L1",
     "framework": "pytorch",
     "dump_data_dir": null,
     "data": {
      "Torch.add.0.forward": {
       "output": []
      }
     }
    }
    """
    return [_recover_one(path) for path in journals_below(dump)]


def _recover_one(path: str) -> Recovered:
    with open(path, "rb") as file:
        if not recovery.claim(file.fileno()):
            raise AssayError(f"{recovery.shown(path)}: is still being written: the program that records into it, or a child of it, runs")
        try:
            recovery.check(file)
        except AssayError as trouble:
            raise AssayError(f"{recovery.shown(path)}: {trouble}") from None
        file.seek(0)
        found = json.loads(file.readline()).get("found")
        data = data_of(path)
        has_data_aside = os.path.basename(data) != DATA and os.path.isdir(data)
        place = recovery.place_for(path, has_data_aside)
        try:
            made = render(path, place, True)
        except BaseException:
            if place != os.path.dirname(path):
                shutil.rmtree(place)
            raise
        if has_data_aside:  # readers look beside dump.json
            os.rename(data, os.path.join(place, DATA))
        place = recovery.settle(place, path, os.path.basename(path) == NAME, found)
        os.remove(path)
    return made._replace(folder=place)


def journals_below(dump: str) -> List[str]:
    return [dump] if os.path.isfile(dump) else sorted(
        os.path.join(where, file) for where, _, files in os.walk(dump) for file in files if _JOURNAL.match(file))


class _Index:
    """Where things lie in a journal."""

    def __init__(self, data: Any) -> None:
        self.data = data
        self.head: Dict[str, Any] = {}
        self.has_extra_info = True
        self.stacks: List[Tuple[int, int]] = []
        self.call_stacks, self.call_places = array.array("i"), array.array("q")
        self.late: List[Tuple[int, int]] = []  # entries whose place is before that of an earlier line, and where they are
        self.more: Dict[bytes, List[Tuple[int, int]]] = {}
        self.entries = 0
        self.was_cut = False
        self.data_folder: Optional[str] = None  # where data have to be for an entry to name them
        self.without_data: Set[str] = set()

    def lines(self) -> Iterator[Tuple[int, int]]:
        data, begin, size = self.data, 0, len(self.data)
        while begin < size:
            end = data.find(b"\n", begin)
            if end < 0:
                return
            yield begin, end
            begin = end + 1

    def read(self) -> None:
        self.was_cut = self.data[len(self.data) - 1:] != b"\n"
        highest = -1
        for begin, end in self.lines():
            try:
                highest = self._take(begin, end, highest)
            except (ValueError, KeyError, TypeError, OverflowError):
                raise AssayError(f"byte {begin}: not a line of a journal") from None
        if self.call_stacks and max(self.call_stacks) >= len(self.stacks):
            raise AssayError(f"names call stack {max(self.call_stacks)}, and has {len(self.stacks)}")
        if not self.head:
            raise AssayError("has no first line")
        self.late.sort()

    def _take(self, begin: int, end: int, highest: int) -> int:
        """Remembers what the line is; the highest place of an entry so far."""
        data = self.data
        if data[begin:begin + 6] in (_AT, _MORE[:6]) and not begin < data.find(_NAME, begin, end) < data.find(_ENTRY, begin, end):
            raise ValueError
        if data[begin:begin + 6] == _AT:
            at = int(data[begin + 6:data.find(_NAME, begin)])
            self.entries += 1
            if at >= highest:
                return at
            self.late.append((at, begin))
        elif data[begin:begin + 8] == _CALL:
            split = data.rfind(_STACK, begin, end)
            number = int(data[split + len(_STACK):end - 1])
            if split < begin or number < 0:
                raise ValueError
            self.call_stacks.append(number)
            self.call_places.append(begin)
        elif data[begin:begin + 8] == _NODE:
            if data.rfind(_PARENT, begin, end) < begin:
                raise ValueError
        elif data[begin:begin + 10] == _FRAMES:
            json.loads(data[begin:end])["frames"]
            self.stacks.append((begin, end))
        elif data[begin:begin + 8] == _MORE:
            name = data[data.find(_NAME, begin) + len(_NAME):data.find(_ENTRY, begin)]
            self.more.setdefault(name, []).append((int(data[begin + 8:data.find(_NAME, begin)]), begin))
        else:
            first = json.loads(data[begin:end])
            self.head, self.has_extra_info = dict(first["head"]), bool(first["extra"])
        return highest

    def entry_at(self, begin: int) -> Tuple[bytes, bytes]:
        """Name and text of the entry in the line at `begin`."""
        data, end = self.data, self.data.find(b"\n", begin)
        name, entry = data.find(_NAME, begin), data.find(_ENTRY, begin)
        text = data[entry + len(_ENTRY):end - 1]
        return data[name + len(_NAME):entry], text if self.data_folder is None else _DATA_NAME.sub(self._if_there, text)

    def _if_there(self, found: Any) -> bytes:
        name = json.loads(found.group(1))
        if os.path.exists(os.path.join(self.data_folder or "", name)):
            return found.group(0)
        self.without_data.add(name)
        return b""


def render(path: str, folder: Optional[str] = None, is_recovered: bool = False) -> Recovered:
    """The three files beside the journal at `path`, or in `folder`, each in its place at once. Of a program that was killed, data
    that were not written yet are not named."""
    folder = os.path.dirname(path) if folder is None else folder
    with open(path, "rb") as file:
        if os.fstat(file.fileno()).st_size == 0:
            raise AssayError(f"{recovery.shown(path)}: is empty")
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            index = _Index(data)
            try:
                index.read()
            except AssayError as trouble:
                raise AssayError(f"{recovery.shown(path)}: {trouble}") from None
            if is_recovered and index.head.get("dump_data_dir"):  # which is where it was when it was recorded
                index.data_folder = data_of(path)
                if os.path.basename(index.data_folder) != DATA:
                    index.head["dump_data_dir"] = os.path.join(os.path.abspath(folder), DATA)
            _replace(os.path.join(folder, "dump.json"), _write_dump, index)
            if index.has_extra_info:
                _replace(os.path.join(folder, "stack.json"), _write_stacks, index)
                _replace(os.path.join(folder, "construct.json"), _write_construct, index)
            return Recovered(folder, index.entries, index.was_cut, len(index.without_data))


def _replace(path: str, write: Any, index: _Index) -> None:
    part = f"{path}.{os.getpid()}.part"
    try:
        with open(part, "wb", buffering=1 << 16) as file:
            write(file, index)
        os.replace(part, path)
    except BaseException:
        if os.path.exists(part):
            os.remove(part)
        raise


def _in_order(index: _Index) -> Iterator[Tuple[int, int]]:
    """Places and lines of entries, as dump.json has them: lines in order, with those that are late put between."""
    late, next_late = index.late, 0
    data, highest = index.data, -1
    for begin, _ in index.lines():
        if data[begin:begin + 6] != _AT:
            continue
        at = int(data[begin + 6:data.find(_NAME, begin)])
        if at < highest:
            continue
        highest = at
        while next_late < len(late) and late[next_late][0] < at:
            yield late[next_late]
            next_late += 1
        yield at, begin
    yield from late[next_late:]


def _head_of(head: Dict[str, Any]) -> str:
    """dump.json up to its entries."""
    return json.dumps({**head, "data": {}}, indent=1)[:-len("{}\n}")]


def _write_dump(file: BinaryIO, index: _Index) -> None:
    file.write(_head_of(index.head).encode() + b"{")
    begun = False

    def put(name: bytes, text: bytes) -> None:
        nonlocal begun
        file.write(b"%s\n  %s: %s" % (b"," if begun else b"", name, text.replace(b"\t", b"\n")))
        begun = True

    # The few that were added to. Those of modules stand where the last part came, the others where the first did.
    moved = sorted((lines[-1][0], name) for name, lines in index.more.items() if name.startswith(b'"Module.'))
    left = set(index.more)
    bases = _first_parts(index, {name for _, name in moved})
    next_moved = 0

    def put_parts(name: bytes, first: Optional[int]) -> None:
        left.discard(name)
        value: Dict[str, Any] = {} if first is None else json.loads(index.entry_at(first)[1])
        for _, begin in index.more[name]:
            value.update(json.loads(index.entry_at(begin)[1]))
        put(name, json.dumps(value, indent=1).replace("\n", "\n  ").encode())

    for at, begin in _in_order(index):
        while next_moved < len(moved) and moved[next_moved][0] < at:
            put_parts(moved[next_moved][1], bases.get(moved[next_moved][1]))
            next_moved += 1
        name, text = index.entry_at(begin)
        if name not in index.more:
            put(name, text)
        elif name not in bases:
            put_parts(name, begin)
    for name in [name for _, name in moved[next_moved:]]:
        put_parts(name, bases.get(name))
    for name in sorted(left):
        put_parts(name, None)
    file.write(b"\n }\n}" if begun else b"}\n}")


def _first_parts(index: _Index, names: Set[bytes]) -> Dict[bytes, int]:
    found: Dict[bytes, int] = {}
    if names:
        for begin, _ in index.lines():
            if index.data[begin:begin + 6] == _AT:
                name = index.entry_at(begin)[0]
                if name in names:
                    found[name] = begin
    return found


def _write_stacks(file: BinaryIO, index: _Index) -> None:
    counts = array.array("q", bytes(8 * (len(index.stacks) + 1)))
    for number in index.call_stacks:
        counts[number + 1] += 1
    for number in range(len(index.stacks)):
        counts[number + 1] += counts[number]
    ends = array.array("q", counts)
    places = array.array("q", bytes(8 * len(index.call_places)))
    for number, place in zip(index.call_stacks, index.call_places):
        places[ends[number]] = place
        ends[number] += 1
    data = index.data
    file.write(b"{")
    for number, (begin, end) in enumerate(index.stacks):
        file.write(b'%s\n "%d": [\n  [' % (b"," if number else b"", number))
        for which, place in enumerate(places[counts[number]:ends[number]]):
            name = data[place + len(_CALL):data.find(_STACK, place)]
            file.write(b"%s\n   %s" % (b"," if which else b"", name))
        lines = json.loads(data[begin:end])["frames"]
        file.write(b"\n  ],\n  " + json.dumps(lines, indent=1).replace("\n", "\n  ").encode() + b"\n ]")
    file.write(b"\n}" if index.stacks else b"}")


def _write_construct(file: BinaryIO, index: _Index) -> None:
    data, is_first = index.data, True
    file.write(b"{")
    for begin, end in index.lines():
        if data[begin:begin + 8] == _NODE:
            split = data.rfind(_PARENT, begin, end)
            file.write(b"%s\n %s: %s" % (b"" if is_first else b",", data[begin + len(_NODE):split],
                                         data[split + len(_PARENT):end - 1].replace(b"\t", b"\n")))
            is_first = False
    file.write(b"}" if is_first else b"\n}")
