#!/usr/bin/python3
"""Files of torch.save without torch.

    pt_objects.py make FILE EXPRESSION      T(1, 2, 3) is a tensor of f32, with grad=True one that wants a gradient; view(t, first, shape,
                                            strides) is a view of its storage, Parameter(t) a parameter; torch.float32 is a dtype,
                                            Thing(a=1) an object of the class mypkg.Thing, holding(c, k) a list or dict c that holds itself
                                            at k; collections may be named
    pt_objects.py show FILE…                the objects of files that assay wrote; a tensor is f32[3], one that shares its storage
                                            f32[3]@0+2 (the key of the storage, the first element)
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

    def __init__(self, *numbers: float, grad: bool = False) -> None:
        self.storage = Storage(numbers)
        self.first, self.shape, self.strides, self.grad = 0, (len(numbers),), (1,), grad

    def __reduce__(self) -> tuple:
        return sys.modules["torch._utils"]._rebuild_tensor_v2, (self.storage, self.first, self.shape, self.strides, self.grad,
                                                               collections.OrderedDict())


def view(of: T, first: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> T:
    out = T()
    out.storage, out.first, out.shape, out.strides = of.storage, first, shape, strides
    return out


class Parameter:
    def __init__(self, data: T, grad: bool = True) -> None:
        self.data, self.grad = data, grad

    def __reduce__(self) -> tuple:
        return sys.modules["torch._utils"]._rebuild_parameter, (self.data, self.grad, collections.OrderedDict())


class DType:
    def __init__(self, name: str) -> None:
        self.name = name

    def __reduce__(self) -> str:
        return self.name


class Thing:
    def __init__(self, **attributes: object) -> None:
        vars(self).update(attributes)


def holding(container: list | dict, key: object = None) -> list | dict:
    if isinstance(container, list):
        container.append(container)
    else:
        container[key] = container
    return container


def pretend_torch() -> type:
    """Names that pickle can refer to; they are written, and never called."""
    torch, utils = types.ModuleType("torch"), types.ModuleType("torch._utils")
    torch.FloatStorage = type("FloatStorage", (), {"__module__": "torch"})
    for name in "_rebuild_tensor_v2", "_rebuild_parameter":
        function = lambda *args: None
        function.__module__, function.__name__, function.__qualname__ = "torch._utils", name, name
        setattr(utils, name, function)
    DType.__module__ = "torch"
    for name in "float32", "bfloat16":
        setattr(torch, name, DType(name))
    package = types.ModuleType("mypkg")
    package.Thing, Thing.__module__ = Thing, "mypkg"
    sys.modules.update({"torch": torch, "torch._utils": utils, "mypkg": package})
    return torch.FloatStorage


def make(path: str, expression: str) -> None:
    storage_class = pretend_torch()
    with zipfile.ZipFile(path, "w") as archive:
        storages: list[Storage] = []

        class Writer(pickle.Pickler):
            def persistent_id(self, thing: object) -> tuple | None:
                if not isinstance(thing, Storage):
                    return None
                if thing not in storages:
                    storages.append(thing)
                return "storage", storage_class, str(storages.index(thing)), "cpu", len(thing.numbers)

        thing = eval(expression, {"T": T, "view": view, "Parameter": Parameter, "Thing": Thing, "holding": holding,
                                  "torch": sys.modules["torch"], **vars(collections)})  # of a test, by its author
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
        if self == "_rebuild_parameter":
            return Word(f"Parameter({args[0]}" + ("" if args[1] else ", no grad") + ")")
        # _rebuild_tensor_v2
        return Word(f"{args[0]}{list(args[2])}".replace(" ", "") + args[0].place(args[1], args[2], args[3]) + (" grad" if args[4] else ""))


class StorageWord(Word):
    """The type of a storage that was met so often."""

    key, met = "", collections.Counter()

    def place(self, first: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> str:
        StorageWord.met[self.key] += 1
        if StorageWord.met[self.key] == 1 and self.key not in Reader.shared:
            return ""
        rows = [1]
        for size in reversed(shape[1:]):
            rows.insert(0, rows[0] * size)
        return f"@{self.key}+{first}" + (f" strides {strides}" if shape and tuple(rows) != strides else "")


class Reader(pickle.Unpickler):
    shared: set[str] = set()  # keys of storages that several tensors have

    def find_class(self, module: str, name: str) -> object:
        return collections.OrderedDict if name == "OrderedDict" else Word(name)

    def persistent_load(self, pid: tuple) -> object:
        word = StorageWord(DTYPES.get(pid[1], pid[1]))
        word.key = pid[2]
        return word


def shown(thing: object, around: tuple[int, ...] = ()) -> str:
    if id(thing) in around:
        return f"<{len(around) - around.index(id(thing))} up>"
    if isinstance(thing, (dict, list)):
        around += id(thing),
    if isinstance(thing, dict):
        text = "{" + ", ".join(f"{key!r}: {shown(value, around)}" for key, value in thing.items()) + "}"
        if type(thing) is dict:
            return text
        return f"OrderedDict({text})" + (f" with {shown(vars(thing), around)}" if vars(thing) else "")
    if isinstance(thing, list):
        return "[" + ", ".join(shown(part, around) for part in thing) + "]"
    if isinstance(thing, tuple):
        return "(" + ", ".join(shown(part, around) for part in thing) + ",)"
    return repr(thing)


def show(path: str) -> None:
    with zipfile.ZipFile(path) as archive:
        entry = next(name for name in archive.namelist() if name.endswith("/data.pkl"))
        for _ in range(2):  # which storages are shared is known behind the last tensor
            with archive.open(entry) as stream:
                StorageWord.met = collections.Counter()
                thing = Reader(stream).load()
            Reader.shared = {key for key, times in StorageWord.met.items() if times > 1}
        print(shown(thing))


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
