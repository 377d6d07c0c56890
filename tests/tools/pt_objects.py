#!/usr/bin/python3
"""Files of torch.save without torch.

    pt_objects.py make FILE EXPRESSION      T(1, 2, 3) is a tensor of f32, OrderedDict is collections.OrderedDict
    pt_objects.py show FILE…                the objects of files that assay wrote; a tensor is f32[3]
"""
from __future__ import annotations

import collections
import pickle
import struct
import sys
import types
import zipfile

DTYPES = {"FloatStorage": "f32", "DoubleStorage": "f64", "HalfStorage": "f16", "BFloat16Storage": "bf16",
          "LongStorage": "i64", "IntStorage": "i32", "ShortStorage": "i16", "CharStorage": "i8", "ByteStorage": "u8",
          "BoolStorage": "bool"}


class Storage:
    def __init__(self, numbers: tuple[float, ...]) -> None:
        self.numbers = numbers


class T:
    """A tensor of f32 with one dimension."""

    def __init__(self, *numbers: float) -> None:
        self.storage = Storage(numbers)

    def __reduce__(self) -> tuple:
        count = len(self.storage.numbers)
        return sys.modules["torch._utils"]._rebuild_tensor_v2, (self.storage, 0, (count,), (1,), False,
                                                               collections.OrderedDict())


def pretend_torch() -> type:
    """Names that pickle can refer to; they are written, and never called."""
    torch, utils = types.ModuleType("torch"), types.ModuleType("torch._utils")
    torch.FloatStorage = type("FloatStorage", (), {"__module__": "torch"})
    utils._rebuild_tensor_v2 = lambda *args: None
    utils._rebuild_tensor_v2.__module__ = "torch._utils"
    utils._rebuild_tensor_v2.__name__ = utils._rebuild_tensor_v2.__qualname__ = "_rebuild_tensor_v2"
    sys.modules.update({"torch": torch, "torch._utils": utils})
    return torch.FloatStorage


def make(path: str, expression: str) -> None:
    storage_class = pretend_torch()
    with zipfile.ZipFile(path, "w") as archive:
        storages: list[Storage] = []

        class Writer(pickle.Pickler):
            def persistent_id(self, thing: object) -> tuple | None:
                if not isinstance(thing, Storage):
                    return None
                storages.append(thing)
                return "storage", storage_class, str(len(storages) - 1), "cpu", len(thing.numbers)

        thing = eval(expression, {"T": T, "OrderedDict": collections.OrderedDict})  # of a test, by its author
        with archive.open("archive/data.pkl", "w") as stream:
            Writer(stream, protocol=2).dump(thing)
        for key, storage in enumerate(storages):
            archive.writestr(f"archive/data/{key}", struct.pack(f"<{len(storage.numbers)}f", *storage.numbers))
        archive.writestr("archive/version", "3\n")


class Word(str):
    """Shown without quotes."""

    def __repr__(self) -> str:
        return str(self)

    def __call__(self, *args: object) -> object:
        return Word(f"{args[0]}{list(args[2])}".replace(" ", ""))  # _rebuild_tensor_v2


class Reader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> object:
        return collections.OrderedDict if name == "OrderedDict" else Word(name)

    def persistent_load(self, pid: tuple) -> object:
        return Word(DTYPES.get(pid[1], pid[1]))


def shown(thing: object) -> str:
    if isinstance(thing, dict):
        text = "{" + ", ".join(f"{key!r}: {shown(value)}" for key, value in thing.items()) + "}"
        if type(thing) is dict:
            return text
        return f"OrderedDict({text})" + (f" with {shown(vars(thing))}" if vars(thing) else "")
    if isinstance(thing, list):
        return "[" + ", ".join(map(shown, thing)) + "]"
    if isinstance(thing, tuple):
        return "(" + ", ".join(map(shown, thing)) + ",)"
    return repr(thing)


def show(path: str) -> None:
    with zipfile.ZipFile(path) as archive:
        entry = next(name for name in archive.namelist() if name.endswith("/data.pkl"))
        with archive.open(entry) as stream:
            print(shown(Reader(stream).load()))


def main() -> int:
    if len(sys.argv) == 4 and sys.argv[1] == "make":
        make(sys.argv[2], sys.argv[3])
    elif len(sys.argv) > 2 and sys.argv[1] == "show":
        for path in sys.argv[2:]:
            show(path)
    else:
        print(__doc__, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
