"""Checks of check_python_api.py: the oldest Python that the package runs on, which is 3.8."""
from __future__ import annotations

import ast
import pathlib
import shutil
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
OLDEST = (3, 8)
# What came later, by how it looks in the tree of a module.
LATER_METHODS = {"removeprefix", "removesuffix", "bit_count", "is_relative_to", "with_stem", "hardlink_to", "readlink"}
LATER_NAMES = {("functools", "cache"), ("ast", "unparse"), ("math", "lcm"), ("math", "nextafter"), ("itertools", "pairwise"),
               ("itertools", "batched"), ("inspect", "get_annotations"), ("typing", "Annotated"), ("typing", "TypeAlias"),
               ("typing", "ParamSpec"), ("typing", "Self"), ("contextlib", "chdir"), ("contextlib", "aclosing"), ("os", "waitstatus_to_exitcode")}
LATER_MODULES = {"graphlib", "zoneinfo", "tomllib"}
LATER_ARGUMENTS = {("zip", "strict"), ("dataclass", "slots"), ("dataclass", "kw_only"), ("rmtree", "onexc")}
BUILTIN_TYPES = {"list", "dict", "tuple", "set", "frozenset", "type"}


def later_than_oldest(text: str, name: str) -> list[str]:
    """Each thing in a module that the oldest Python has not."""
    tree, found = ast.parse(text, name, feature_version=OLDEST), []
    postponed = any(isinstance(node, ast.ImportFrom) and node.module == "__future__" and "annotations" in {each.name for each in node.names}
                    for node in tree.body)
    annotations = [each for node in ast.walk(tree) for each in (getattr(node, "annotation", None), getattr(node, "returns", None)) if each is not None]
    unread = {id(node) for each in annotations for node in ast.walk(each)} if postponed else set()
    of_annotations = {id(node) for each in annotations for node in ast.walk(each)}
    for node in ast.walk(tree):
        what = None
        if isinstance(node, ast.Attribute) and (node.attr in LATER_METHODS or (isinstance(node.value, ast.Name) and (node.value.id, node.attr) in LATER_NAMES)):
            what = f".{node.attr}"
        elif isinstance(node, ast.ImportFrom) and ({(node.module, each.name) for each in node.names} & LATER_NAMES or node.module in LATER_MODULES):
            what = f"from {node.module} import {', '.join(each.name for each in node.names)}"
        elif isinstance(node, ast.Import) and {each.name for each in node.names} & LATER_MODULES:
            what = "import"
        elif isinstance(node, ast.Call):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if {(called, each.arg) for each in node.keywords} & LATER_ARGUMENTS:
                what = f"an argument of {called}"
        elif id(node) not in unread and isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id in BUILTIN_TYPES:
            what = f"{node.value.id}[...]"
        elif id(node) in of_annotations - unread and isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            what = "X | Y"
        if what is not None:
            found.append(f"{name}:{node.lineno}: {what} came after Python {OLDEST[0]}.{OLDEST[1]}")
    return found


def check_oldest_python(c) -> list[str]:
    """No module uses what came after 3.8; and where there is a Python 3.8, it imports them."""
    failures = []
    sources = sorted((ROOT / "python").rglob("*.py"))
    for path in sources:
        try:
            failures += later_than_oldest(path.read_text(), str(path.relative_to(ROOT)))
        except SyntaxError as trouble:
            failures.append(f"{path.relative_to(ROOT)}: {trouble}")
    if len(sources) < 40:
        failures.append(f"only {len(sources)} modules were looked at")
    for wrong in ("x: list[int] = []", "def f(x: int | None): pass", "'ab'.removeprefix('a')", "zip(a, b, strict=True)", "from functools import cache"):
        failures += [] if later_than_oldest(wrong, "wrong") else [f"not noticed: {wrong}"]
    oldest = shutil.which("python3.8")
    if oldest is None or subprocess.run([oldest, "-c", "import ctypes"], stderr=subprocess.DEVNULL).returncode:
        return failures
    text = ("import sys; sys.path[:0] = sys.argv[1:]; sys.dont_write_bytecode = True\n"
            "import assay, assay.testing, msit_llm, msprobe\n"
            "print(sys.version_info[:2], assay.compare({'x': 1.0}, {'x': 1.0}).verdict)")
    done = subprocess.run([oldest, "-c", text, str(ROOT / "python"), str(ROOT / "python" / "compat")], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return failures + ([] if done.stdout == "(3, 8) pass\n" else [done.stdout])


OLDEST_CHECKS = {"oldest Python": check_oldest_python}
