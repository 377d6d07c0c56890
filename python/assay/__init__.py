"""Assay from Python: record what a model computes, and find where two runs part.

Everything heavy happens in libassay.so; the package needs nothing but the standard library, and loads
the library when it is first used.

>>> import assay
>>> assay.__version__.count(".")
2
>>> import tempfile, pathlib
>>> folder = tempfile.mkdtemp()
>>> with assay.Writer(folder) as writer:
...     writer.text("note.txt", "kept whole")
>>> (pathlib.Path(folder) / "note.txt").read_text()
'kept whole'
"""
from assay._version import __version__
from assay.errors import AssayError, LibraryNotFound

TYPE_CHECKING = False  # type checkers take it for true; to import typing takes longer than all of this
if TYPE_CHECKING:
    from assay._writer import Statistics, Tally, Writer
    from assay.torch.capture import capture

# What is loaded when it is first asked for: `import assay` stays below a few milliseconds.
_LAZY = {"Writer": "assay._writer", "Statistics": "assay._writer", "Tally": "assay._writer",
         "capture": "assay.torch.capture"}

__all__ = ["AssayError", "LibraryNotFound", "Statistics", "Tally", "Writer", "__version__", "capture", "program"]


def __getattr__(name: str):
    if name in _LAZY:
        import importlib

        value = getattr(importlib.import_module(_LAZY[name]), name)
        globals()[name] = value
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
