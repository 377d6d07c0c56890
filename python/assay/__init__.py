"""Assay from Python: find where two runs part, read what they dumped, record what a model computes.

Everything heavy happens in libassay.so; the package needs nothing but the standard library, and loads
the library when it is first used.

>>> import assay, array, os, tempfile
>>> assay.__version__.count(".")
2
>>> folder = tempfile.mkdtemp()
>>> with assay.Writer(folder) as writer:
...     for name, last in (("mine.npy", 5), ("golden.npy", 4)):
...         values = array.array("f", [1, 2, 3, last])
...         writer.tensor(name, values.buffer_info()[0], "f32", [4])
>>> result = assay.compare(os.path.join(folder, "mine.npy"), os.path.join(folder, "golden.npy"))
>>> result.verdict, result.rows[0]["worst_index"]
('fail', [3])
>>> assay.open(folder)["mine.npy"].tolist()
[1.0, 2.0, 3.0, 5.0]
"""
from assay._version import __version__
from assay.errors import AssayError, LibraryNotFound

TYPE_CHECKING = False  # type checkers take it for true; to import typing takes longer than all of this
if TYPE_CHECKING:
    from assay import testing
    from assay._commands import convert, errcheck, inspect, opcheck
    from assay._compare import Result, compare
    from assay._open import File, Tensor, open
    from assay._rows import Row
    from assay._writer import Statistics, Tally, Writer
    from assay.torch.capture import capture

# What is loaded when it is first asked for: `import assay` stays below a few milliseconds.
_LAZY = {"Writer": "_writer", "Statistics": "_writer", "Tally": "_writer", "compare": "_compare", "Result": "_compare", "Row": "_rows",
         "open": "_open", "File": "_open", "Tensor": "_open", "opcheck": "_commands", "errcheck": "_commands",
         "inspect": "_commands", "convert": "_commands", "capture": "torch.capture"}
_MODULES = ("testing",)

__all__ = ["AssayError", "LibraryNotFound", "__version__", "program", *sorted(_LAZY), *_MODULES]


def __getattr__(name: str):
    if name in _LAZY or name in _MODULES:
        import importlib

        module = importlib.import_module(f"assay.{_LAZY.get(name, name)}")
        globals()[name] = value = getattr(module, name) if name in _LAZY else module
        return value
    if name == "torch":  # what knows PyTorch is loaded by those who ask for it
        import importlib

        return importlib.import_module("assay.torch")
    raise AttributeError(f"module 'assay' has no attribute {name!r}; there are: {', '.join(__all__)}")


def __dir__():
    return sorted(__all__)


def program() -> str:
    """The path of the `assay` program that belongs to this package.

    >>> import assay, os
    >>> os.access(assay.program(), os.X_OK)
    True
    """
    from assay._places import find_program

    return find_program()
