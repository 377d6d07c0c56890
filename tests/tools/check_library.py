#!/usr/bin/python3
"""libassay.so as other programs see it: reading and comparing through include/assay/assay.h. (Capturing: check_capture.py.)

    check_library.py --bin build/release [--only NAME] [--keep FOLDER]

With a sanitizer, what Python would have to load is left out; tests/hosts/library_host.cc runs in any build.
"""
from __future__ import annotations

import concurrent.futures
import ctypes
import json
import os
import pathlib
import re
import subprocess
import sys

from checker import Checker, run_checks, tail
from library_in_memory import check_cancel, check_memory, check_memory_of_a_program

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = ROOT / "tests" / "data"
SINK = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_int64)
ROW, SUMMARY, REPORT, MESSAGE, PROGRESS = 1, 2, 3, 4, 5
HAS_DATA, STATED_ONLY, NO_TENSOR, BROKEN = range(4)
OK, BAD_ARGUMENT, UNSUPPORTED, NOT_FOUND = 0, 1, 2, 5


class Info(ctypes.Structure):
    _fields_ = [("size", ctypes.c_int32), ("state", ctypes.c_int32), ("dtype", ctypes.c_int32), ("ndim", ctypes.c_int32),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("count", ctypes.c_int64), ("bytes", ctypes.c_int64),
                ("name", ctypes.c_char_p), ("section", ctypes.c_char_p), ("file", ctypes.c_char_p), ("trouble", ctypes.c_char_p),
                ("remark", ctypes.c_char_p), ("data_file", ctypes.c_char_p), ("data_offset", ctypes.c_int64)]


def words_of(words: tuple[str, ...]):
    return len(words), (ctypes.c_char_p * len(words))(*(os.fsencode(word) for word in words))


class Library:
    def __init__(self, path: pathlib.Path) -> None:
        self.c = ctypes.CDLL(str(path))
        for name in ("assay_last_error", "assay_dtype_name", "assay_version"):
            getattr(self.c, name).restype = ctypes.c_char_p
        self.c.assay_file_count.restype = ctypes.c_int64
        self.c.assay_file_info.argtypes = [ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p]
        self.c.assay_file_read.argtypes = [ctypes.c_void_p, ctypes.c_int64, ctypes.c_char_p, ctypes.c_int, ctypes.c_void_p,
                                           ctypes.c_int64]
        self.c.assay_file_describe.argtypes = [ctypes.c_void_p, ctypes.c_int64, ctypes.c_char_p, ctypes.c_int,
                                               ctypes.POINTER(ctypes.c_char_p)]

    @property
    def error(self) -> str:
        return self.c.assay_last_error().decode()

    def dtype(self, name: str) -> int:
        return self.c.assay_dtype_from_name(name.encode())


class Opened:
    def __init__(self, library: Library, path, *flags: str) -> None:
        self.library, self.handle, self.told = library, ctypes.c_void_p(), []
        self.sink = SINK(lambda user, kind, text, size: self.told.append((kind, text.decode())) or 0)
        self.status = library.c.assay_file_open(os.fsencode(path), *words_of(flags), self.sink, None, ctypes.byref(self.handle))
        self.error = library.error

    def __len__(self) -> int:
        return self.library.c.assay_file_count(self.handle)

    def info(self, number: int) -> Info:
        info = Info(size=ctypes.sizeof(Info))
        if self.library.c.assay_file_info(self.handle, number, ctypes.byref(info)):
            raise LookupError(self.library.error)
        return info

    def read(self, number: int, array, slice_text: str | None = None, dtype: int = -1) -> int:
        return self.library.c.assay_file_read(self.handle, number, slice_text.encode() if slice_text is not None else None, dtype,
                                              array.ctypes.data, array.nbytes)

    def describe(self, number: int, measures: bool, slice_text: str | None = None) -> dict:
        text = ctypes.c_char_p()
        if self.library.c.assay_file_describe(self.handle, number, slice_text.encode() if slice_text else None, measures,
                                              ctypes.byref(text)):
            raise LookupError(self.library.error)
        return json.loads(text.value)

    def close(self) -> None:
        self.library.c.assay_file_close(self.handle)


class LibraryChecker(Checker):
    library: Library | None = None

    @property
    def bin(self) -> pathlib.Path:
        return self.program.parent

    def call(self, *command, folder: pathlib.Path | None = None, env: dict | None = None) -> subprocess.CompletedProcess:
        return subprocess.run([str(word) for word in command], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              errors="replace", timeout=600, env={**os.environ, **(env or {})}, check=False)

    def host(self, *words, folder: pathlib.Path | None = None) -> subprocess.CompletedProcess:
        return self.call(self.bin / "hosts" / "library_host", *words, folder=folder,
                         env={"ASSAY_PROBE": str(self.bin / "libassay_probe.so"), "ASAN_OPTIONS": "detect_leaks=0"})

    def run(self, *words: str, stop_at: int | None = None) -> tuple[int, dict[int, list[str]]]:
        """What assay_run answers, and what it told, by its kind."""
        told: dict[int, list[str]] = {kind: [] for kind in range(1, 6)}

        def hear(user, kind, text, size) -> int:
            told[kind].append(text.decode())
            return int(stop_at is not None and len(told[ROW]) >= stop_at)

        return self.library.c.assay_run(*words_of(words), SINK(hear), None), told


def code_blocks(page: pathlib.Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)


def check_header(c: LibraryChecker) -> None:
    header = ROOT / "include" / "assay" / "assay.h"
    for command in (["gcc", "-std=c99", "-pedantic", "-x", "c"], ["g++", "-std=c++11", "-pedantic", "-x", "c++"]):
        done = c.call(*command, "-Wall", "-Wextra", "-Werror", "-fsyntax-only", header)
        c.report(f"header {command[0]}", [tail(done.stderr)] if done.returncode else [])


def check_examples(c: LibraryChecker) -> None:
    """The programs of docs/c_interface.md print what the page says."""
    for page in (ROOT / "docs" / "c_interface.md", ROOT / "docs" / "zh" / "c_interface.md"):
        (source,), (script,) = code_blocks(page, "c"), code_blocks(page, "python")
        of_c, of_python = (text.split("\n", 1)[1] for text in code_blocks(page, "console"))
        folder = c.folder("examples")
        (folder / "example.c").write_text(source)
        (folder / "example.py").write_text(script)
        built = c.call("gcc", "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "example.c", f"-I{ROOT / 'include'}", f"-L{c.bin}",
                       "-lassay", f"-Wl,-rpath,{c.bin}", "-o", "example", folder=folder)
        ran = c.call(folder / "example", folder=c.folder("c")) if built.returncode == 0 else built
        c.report(f"{page.parent.name} C", [] if ran.stdout == of_c and ran.returncode == 1 and not ran.stderr else
                 [f"exit {ran.returncode}: {ran.stdout}{tail(ran.stderr)}"])
        ran = c.call("/usr/bin/python3", folder / "example.py", folder=c.folder("python"), env={"ASSAY_LIBRARY": str(c.bin / "libassay.so")})
        c.report(f"{page.parent.name} Python", [] if ran.stdout == of_python and ran.returncode == 0 and not ran.stderr else
                 [f"exit {ran.returncode}: {ran.stdout}{tail(ran.stderr)}"])


def check_numpy(c: LibraryChecker) -> None:
    """Every file that NumPy reads, as it is, converted, in parts, and mapped."""
    import numpy

    for path in sorted((DATA / "npy").glob("*.npy")):
        failures = []
        file = Opened(c.library, path)
        try:
            want = numpy.load(path)
        except ValueError:
            want = None
        if want is None or want.dtype.kind in "OUSVM" or want.dtype.itemsize > 16 or want.dtype == numpy.longdouble:
            refused = file.status or file.info(0).state == BROKEN
            c.report(f"refuses {path.name}", [] if refused else ["was read"])
            file.close()
            continue
        info = file.info(0)
        got = numpy.empty(want.shape, want.dtype.newbyteorder("<") if want.dtype.itemsize > 1 else want.dtype)
        if list(info.shape[:info.ndim]) != list(want.shape) or file.read(0, got) or not (got == want).all():
            failures.append(f"is {got} instead of {want}: {c.library.error}")
        if want.dtype.kind in "fiu":
            wide = numpy.empty(want.shape, numpy.float64)
            if file.read(0, wide, None, c.library.dtype("f64")) or not (wide == want.astype(numpy.float64)).all():
                failures.append(f"is {wide} as f64")
        if info.data_offset >= 0:
            mapped = numpy.memmap(info.data_file.decode(), got.dtype, "r", info.data_offset, want.shape) if want.size else got
            if not (mapped == want).all():
                failures.append("lies elsewhere")
        elif want.flags.c_contiguous and want.dtype.byteorder != ">" and want.ndim > 0:
            failures.append("has no place in its file")
        c.report(f"reads {path.name}", failures)
        file.close()


def check_parts(c: LibraryChecker) -> None:
    import numpy

    folder = c.folder("parts")
    array = numpy.arange(2 * 3 * 40, dtype=numpy.float32).reshape(2, 3, 40)
    numpy.savez_compressed(folder / "x.npz", a=array, b=numpy.array([1, numpy.nan, numpy.inf, 0]), c=array.T)
    file = Opened(c.library, folder / "x.npz")
    names = {file.info(i).name.decode(): i for i in range(len(file))}
    failures = [] if sorted(names) == ["a", "b", "c"] else [f"names {names}"]
    parts = {"[1]": numpy.s_[1], "[0, :, 3]": numpy.s_[0, :, 3], "[..., -1]": numpy.s_[..., -1], "": numpy.s_[:],
             "[:, 1:3, ::7]": numpy.s_[:, 1:3, ::7], "[5:]": numpy.s_[5:], "[0, 0, 0]": numpy.s_[0, 0, 0]}
    for text, part in parts.items():
        want = array[part]
        got = numpy.empty(want.shape, numpy.float32)
        if file.read(names["a"], got, text) or not (got == want).all():
            failures.append(f"{text}: {got}: {c.library.error}")
        if file.describe(names["a"], False, text or "[]").get("shape") != list(want.shape):
            failures.append(f"{text} is described otherwise")
    told = file.describe(names["b"], True)
    if (told["nan"], told["inf"], told["zero"], told["min"], told["max"]) != (1, 1, 1, 0.0, 1.0):
        failures.append(f"statistics: {told}")
    for slice_text, size, word in (("[9]", 12, "lies outside"), ("[x]", 12, "no number"), (None, 12, "takes 960 bytes, not 12")):
        small = numpy.empty(size, numpy.int8)
        if file.read(names["a"], small, slice_text) != BAD_ARGUMENT or word not in c.library.error:
            failures.append(f"{slice_text}: {c.library.error}")
    if file.read(names["a"], numpy.empty(960, numpy.int8), None, 99) != BAD_ARGUMENT:
        failures.append("type 99 was taken")
    for number in (-1, 3, 1 << 40):
        try:
            file.info(number)
            failures.append(f"there is a tensor {number}")
        except LookupError:
            pass
    file.close()
    c.report("parts", failures)


def check_others(c: LibraryChecker) -> None:
    """Other formats, folders and dumps."""
    import numpy
    import torch

    folder = c.folder("others")
    state = {"w": torch.arange(12, dtype=torch.bfloat16).reshape(3, 4), "turned": torch.arange(6.0).reshape(2, 3).T, "n": 3}
    torch.save(state, folder / "x.pt")
    (folder / "broken.npy").write_bytes(b"\x93NUMPY\x01\x00")
    numpy.save(folder / "y.npy", numpy.float32([1, 2]))
    (folder / "raw.dat").write_bytes(numpy.arange(6, dtype=numpy.int16).tobytes())
    file, failures = Opened(c.library, folder / "x.pt"), []
    names = {file.info(i).name.decode(): i for i in range(len(file))}
    for name in ("w", "turned"):
        got = numpy.empty(tuple(state[name].shape), numpy.float32)
        if file.read(names[name], got, None, c.library.dtype("f32")) or not (got == state[name].float().numpy()).all():
            failures.append(f"{name}: {got} {c.library.error}")
    if c.library.c.assay_dtype_name(file.info(names["w"]).dtype) != b"bf16" or c.library.c.assay_dtype_size(file.info(names["w"]).dtype) != 2:
        failures.append("w is no bf16")
    file.close()
    c.report("x.pt", failures)

    file = Opened(c.library, folder, "--skip", "raw*")
    states = {pathlib.Path(file.info(i).file.decode()).name: (file.info(i).state, file.info(i).trouble.decode()) for i in range(len(file))}
    got = numpy.empty(2, numpy.float32)
    number = next(i for i in range(len(file)) if file.info(i).file.endswith(b"y.npy"))
    good = states["broken.npy"][0] == BROKEN and "broken.npy" in states["broken.npy"][1] and file.read(number, got) == OK and got[1] == 2
    c.report("a folder with a broken file", [] if good else [f"{states} {got}"])
    file.close()

    file = Opened(c.library, folder / "raw.dat", "--dtype", "i16", "--shape", "2,3")
    got = numpy.empty((2, 3), numpy.int16)
    c.report("raw", [] if file.status == OK and file.read(0, got) == OK and got[1, 2] == 5 else [f"{file.error} {got}"])
    file.close()

    refusals = [((folder / "none.pt",), NOT_FOUND, "no such file"), ((folder / "raw.dat", "--dtype", "f99"), BAD_ARGUMENT, "no element type"),
                ((folder / "x.pt", "--values"), BAD_ARGUMENT, "--values"), ((folder / "x.pt", "--layout", "nonsense"), BAD_ARGUMENT, "no such layout")]
    for words, status, text in refusals:
        file = Opened(c.library, *words)
        c.report(f"refuses {words}", [] if file.status == status and text in file.error and not file.handle else
                 [f"{file.status} {file.error}"])

    dump = next((DATA / "msprobe").rglob("dump.json"), None)
    file = Opened(c.library, dump.parent)
    kinds = {file.info(i).state for i in range(len(file))}
    stated = [file.describe(i, False) for i in range(len(file)) if file.info(i).state == STATED_ONLY]
    c.report("a dump of statistics", [] if file.status == OK and STATED_ONLY in kinds and all("stated" in each for each in stated) else
             [f"{dump} {file.error} {kinds}"])
    file.close()


def check_hostile(c: LibraryChecker) -> None:
    """Nothing that a file holds ends the program, and nothing is printed."""
    corpus = ROOT / "tests" / "fuzz" / "corpus"
    paths = sorted(path for path in corpus.rglob("*") if path.is_file()) + sorted(path for path in DATA.rglob("*") if path.is_dir())
    for path in paths:
        done = c.host("read", path)
        c.report(f"hostile {path.relative_to(ROOT)}", [] if done.returncode == 0 and not done.stderr and
                 not re.search("and yet it was read|not described|no info", done.stdout) else
                 [f"exit {done.returncode}: {tail(done.stdout)} {tail(done.stderr)}"])


def make_pair(c: LibraryChecker, title: str) -> pathlib.Path:
    folder = c.folder(title)
    done = c.start(["demo"], folder)
    return next(path for path in folder.iterdir() if path.is_dir()) if done.returncode < 2 else folder


def check_threads(c: LibraryChecker) -> None:
    demo = make_pair(c, "threads")
    done = c.host("many", demo / "mine", demo / "golden", DATA / "npz" / "deflated.npz")
    c.report("eight threads", [] if done.returncode == 0 and not done.stdout and not done.stderr else
             [f"exit {done.returncode}: {tail(done.stdout)} {tail(done.stderr, 40)}"])


def check_state(c: LibraryChecker) -> None:
    demo = make_pair(c, "state")
    done = c.host("state", demo / "mine", demo / "golden", demo / "mine", folder=demo)
    c.report("state of the process", [] if done.returncode == 0 and not done.stdout and not done.stderr else
             [f"exit {done.returncode}: {done.stdout} {tail(done.stderr)}"])


def check_compare(c: LibraryChecker) -> None:
    """Rows, summary, texts and exit code are those of the program."""
    demo = make_pair(c, "compare")
    sides = [str(demo / "mine"), str(demo / "golden")]

    def plain(summary: str) -> dict:
        return json.loads(summary)["summary"]

    for flags in ([], ["--rule", "max_abs <= 1e9"], ["--only", "*mlp*"], ["--metrics", "all", "--threads", "1"]):
        ours, told = c.run("compare", *sides, *flags)
        theirs = c.start(["compare", *sides, *flags, "--report", "jsonl", "--output", "-"], demo)
        lines = [line for line in theirs.stdout.splitlines() if line.startswith("{")]
        shown = c.start(["compare", *sides, *flags], demo)
        c.report(f"rows {flags}", [] if told[ROW] == lines[:-1] and len(told[ROW]) > 0 else
                 [f"{len(told[ROW])} rows, not {len(lines) - 1}: {c.library.error}"])
        c.report(f"summary {flags}", [] if len(told[SUMMARY]) == 1 and plain(told[SUMMARY][0]) == plain(lines[-1]) else [f"{told[SUMMARY]}"])
        c.report(f"exit code {flags}", [] if ours == theirs.returncode else [f"{ours}, not {theirs.returncode}"])
        first = "".join(told[REPORT]).split("\n")[0]
        c.report(f"report {flags}", [] if first and first in shown.stdout else [f"{first!r} is not in {shown.stdout[:200]!r}"])

    for words, text in ((("compare", "a"), "golden is required"), (("compare", *sides, "--nonsense"), "--nonsense"),
                        (("compare", *sides, "--match", "bad"), "no such method"), (("nonsense",), "there is no command"),
                        (("compare", str(demo / "none"), sides[1]), "no such file")):
        code, told = c.run(*words)
        c.report(f"refuses {words[-1]}", [] if code == 2 and text in c.library.error and not told[REPORT] else [f"{code} {c.library.error}"])
    out = demo / "out"
    code, told = c.run("compare", *sides, "--report", "csv", "--output", str(out), stop_at=3)
    c.report("cancelled", [] if code == 2 and len(told[ROW]) == 3 and not told[SUMMARY] and "interrupted" in c.library.error and
             not list(out.glob("*")) else [f"{code} {len(told[ROW])} {c.library.error} {list(out.glob('*'))}"])
    code, told = c.run("compare", *sides, "--report", "csv,xlsx", "--output", str(out))
    c.report("files beside rows", [] if sorted(path.suffix for path in out.iterdir()) == [".csv", ".xlsx"] and told[ROW] else
             [f"{code} {c.library.error} {list(out.iterdir())}"])
    code, told = c.run("inspect", sides[0], "--json")
    c.report("inspect", [] if code == 0 and len(json.loads("".join(told[REPORT]))) > 10 else [c.library.error])
    code, told = c.run("--version")
    c.report("version", [] if code == 0 and c.library.c.assay_version().decode() in "".join(told[REPORT]) else [f"{told}"])
    code = c.library.c.assay_compare(sides[0].encode(), None, 0, None, None, None)
    c.report("null", [] if code == 2 and "null" in c.library.error else [f"{code} {c.library.error}"])
    quiet = c.library.c.assay_compare(*(side.encode() for side in sides), 0, None, None, None)
    c.report("without a sink", [] if quiet == 1 else [f"{quiet} {c.library.error}"])


def check_progress(c: LibraryChecker) -> None:
    """One tensor that takes long tells how far it is, and may be given up in the middle."""
    import numpy

    folder = c.folder("progress")
    # Sixteen bands: the first is told of after a tenth of a second, long before the last.
    values = numpy.resize(numpy.random.default_rng(0).standard_normal(1 << 20, dtype=numpy.float32), 64 << 20)
    for side in ("a.npy", "b.npy"):
        numpy.save(folder / side, values)
    told: list[dict] = []

    def hear(user, kind, text, size) -> int:
        told.extend([json.loads(text)] if kind == PROGRESS else [])
        return int(kind == PROGRESS)

    words = words_of(("compare", str(folder / "a.npy"), str(folder / "b.npy"), "--metrics", "all", "--threads", "1", "--quiet"))
    code = c.library.c.assay_run(*words, SINK(hear), None)
    good = code == 2 and len(told) == 1 and told[0]["what"] == "comparing" and 0 < told[0]["done"] < told[0]["total"]
    c.report("progress", [] if good and "interrupted" in c.library.error else [f"{code} {told} {c.library.error}"])


def check_python_threads(c: LibraryChecker) -> None:
    """Sinks in Python take the GIL on threads of the library's."""
    demo = make_pair(c, "python_threads")
    words = ("compare", str(demo / "mine"), str(demo / "golden"))
    alone = c.run(*words)
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda _: c.run(*words), range(24)))
    c.report("threads of Python", [] if all((code, told[ROW]) == (alone[0], alone[1][ROW]) for code, told in together) else ["differ"])


def check_other_tools(c: LibraryChecker) -> None:
    """The words of other tools are told to who asked for them, and to nobody beside."""
    folder = c.folder("tools")
    dump = str(next((DATA / "msprobe").rglob("dump.json")))

    def shape(text: str) -> list[str]:
        return [re.sub(r"^\S+ \S+ \(\d+\)|/[^ ]*compare_result\S*", "", line) for line in text.splitlines()]

    theirs = c.start(["msprobe", "compare", "-tp", dump, "-gp", dump, "-o", str(folder / "program")], folder)
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        both = list(pool.map(lambda i: c.run(*(["msprobe", "compare", "-tp", dump, "-gp", dump, "-o", str(folder / f"o{i}")] if i % 2 else
                                               ["compare", dump, dump, "--only", "*", "--only", "nothing"])), range(16)))
    failures = [f"{told}" for code, told in both[1::2] if code != theirs.returncode or shape("".join(told[REPORT])) != shape(theirs.stdout)]
    failures += [f"{told[MESSAGE]}" for code, told in both[::2]
                 if code != 0 or len(told[MESSAGE]) != 1 or not told[MESSAGE][0].startswith("assay: warning: --only: 'nothing' fits no")]
    c.report("other tools", failures[:2] + ([] if "[INFO]" in theirs.stdout else [theirs.stdout]))


def check_blas(c: LibraryChecker) -> None:
    """OpenBLAS is not loaded before an operator is computed, and what it was set to is its owner's."""
    script = """
import ctypes, os, sys
def loaded(): return "libopenblas" in open("/proc/self/maps").read()
library = ctypes.CDLL(sys.argv[1])
rows = []
sink = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_int64)(
    lambda user, kind, text, size: rows.append(kind) or 0)
before = loaded(), len(os.listdir("/proc/self/task"))
blas = ctypes.CDLL("libopenblas.so.0")
blas.openblas_set_num_threads(2)
words = (ctypes.c_char_p * 2)(b"opcheck", sys.argv[2].encode())
code = library.assay_run(2, words, sink, None)
print(before, code, rows.count(1) > 0, blas.openblas_get_num_threads())
"""
    import numpy
    from golden_case import Run, Tensor
    from golden_dump import dump_folder, token_folder, write_operator

    folder = c.folder("blas")
    a, b = (numpy.random.default_rng(i).standard_normal((16, 16)).astype(numpy.float32) for i in (0, 1))
    run = Run({"transposeA": False, "transposeB": False, "hasBias": False}, [Tensor("float32", a), Tensor("float32", b)],
              [Tensor("float32", a @ b)], "")
    write_operator(token_folder(folder), 0, "LinearOperation", run)
    done = c.call("/usr/bin/python3", "-c", script, c.bin / "libassay.so", dump_folder(folder))
    c.report("OpenBLAS", [] if done.stdout == "(False, 1) 0 True 2\n" else [f"{done.stdout} {tail(done.stderr)}"])


def check_beside_onnx(c: LibraryChecker) -> None:
    """Other packages of Python that have libraries of ours too."""
    version = re.search(r"#define ASSAY_ABI_VERSION (\d+)", (ROOT / "include" / "assay" / "assay.h").read_text()).group(1)
    script = "import numpy, torch, onnx, ctypes, sys; l = ctypes.CDLL(sys.argv[1]); print(l.assay_abi_version())"
    for text in (script, script.replace("import numpy, torch, onnx, ctypes, sys; ", "import ctypes, sys; ") + "; import onnx, torch"):
        done = c.call("/usr/bin/python3", "-c", text, c.bin / "libassay.so")
        c.report("beside onnx", [] if done.returncode == 0 and done.stdout == f"{version}\n" else [f"exit {done.returncode}, said {done.stdout!r}: {tail(done.stderr)}"])


def check_all(c: LibraryChecker) -> None:
    needed = c.call("readelf", "-d", c.bin / "libassay.so").stdout
    checks = [check_header, check_hostile, check_threads, check_state, check_memory_of_a_program]
    if not re.search(r"lib[at]san|libubsan", needed):  # Python cannot load what was built with them
        c.library = Library(c.bin / "libassay.so")
        checks += [check_examples, check_numpy, check_parts, check_others, check_compare, check_memory, check_cancel, check_progress,
                   check_python_threads, check_other_tools, check_blas, check_beside_onnx]
    for check in checks:
        if c.wants(check.__name__):
            check(c)


if __name__ == "__main__":
    sys.exit(run_checks(__doc__, LibraryChecker, check_all))
