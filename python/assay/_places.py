"""Where the library and the program lie: beside the package (a wheel), where ASSAY_LIBRARY says, in the build
folder of a source tree, or where they were installed."""
import os
import shutil
import sys
from typing import Iterator, List

from assay.errors import LibraryNotFound

_PACKAGE = os.path.dirname(os.path.abspath(__file__))
LIBRARY = "libassay.so"


def _folders() -> Iterator[str]:
    given = os.environ.get("ASSAY_LIBRARY")
    if given:
        yield given if os.path.isdir(given) else os.path.dirname(given)
        return  # who names a place wants that one, or to be told
    yield os.path.join(_PACKAGE, "native")
    source_tree = os.path.dirname(os.path.dirname(_PACKAGE))
    yield os.path.join(source_tree, "build", "release")
    # PREFIX/lib/python3/dist-packages/assay belongs to PREFIX/lib and PREFIX/bin.
    prefixes: List[str] = []
    folder = _PACKAGE
    while os.path.dirname(folder) != folder:
        folder = os.path.dirname(folder)
        if os.path.basename(folder) in ("lib", "lib64"):
            prefixes.append(os.path.dirname(folder))
    for prefix in [*prefixes, sys.prefix, "/usr/local", "/usr"]:
        for below in ("lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu", "lib64", "lib", "bin"):
            yield os.path.join(prefix, below)


def find_library() -> str:
    looked = []
    given = os.environ.get("ASSAY_LIBRARY")
    if given and os.path.isfile(given):
        return given
    for folder in _folders():
        path = os.path.join(folder, LIBRARY)
        if os.path.isfile(path):
            return path
        looked.append(folder)
    raise LibraryNotFound(_missing(LIBRARY, looked))


def find_program() -> str:
    looked = []
    for folder in _folders():
        path = os.path.join(folder, "assay")
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
        looked.append(folder)
    on_path = shutil.which("assay")
    if on_path and not os.environ.get("ASSAY_LIBRARY"):
        return on_path
    raise LibraryNotFound(_missing("the program assay", looked))


def _missing(what: str, looked: List[str]) -> str:
    return (f"{what} is not in {', '.join(dict.fromkeys(looked))}; install the wheel of assay, or set ASSAY_LIBRARY "
            f"to the folder that has it (build/release of a source tree)")
