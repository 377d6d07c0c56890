"""Checks of check_library.py: tensors in the caller's memory, and ending a run from another thread."""
from __future__ import annotations

import ctypes
import json
import threading
import time

ROW, SUMMARY, REPORT = 1, 2, 3
SINK = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_int64)


class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("dtype", ctypes.c_int32), ("ndim", ctypes.c_int32), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("release", ctypes.c_void_p), ("release_argument", ctypes.c_void_p)]


class Tensors(ctypes.Structure):
    _fields_ = [("count", ctypes.c_int64), ("tensors", ctypes.POINTER(Tensor)), ("names", ctypes.POINTER(ctypes.c_char_p))]


def side(library, arrays: dict) -> Tensors:
    listed = (Tensor * max(len(arrays), 1))()
    for place, array in enumerate(arrays.values()):
        numbers = ctypes.c_int64 * max(array.ndim, 1)
        strides = numbers(*(stride // array.itemsize for stride in array.strides))
        listed[place] = Tensor(array.ctypes.data, library.dtype(array.dtype.name), array.ndim, numbers(*array.shape), strides, None, None)
    names = (ctypes.c_char_p * max(len(arrays), 1))(*(name.encode() for name in arrays))
    return Tensors(len(arrays), listed, names)


def check_memory(c) -> None:
    import numpy

    ramp = numpy.arange(24, dtype=numpy.float32).reshape(2, 3, 4)
    folder = c.folder("memory")
    cases = {"equal": ({"a": ramp, "b": ramp.T}, {"a": ramp.copy(), "b": numpy.ascontiguousarray(ramp.T)}, 0),
             "backwards": ({"a": ramp[:, ::-1, ::-2]}, {"a": ramp[:, ::-1, ::-2].copy()}, 0), "scalars": ({"a": ramp[0, 0, 1:2].reshape(())}, {"a": ramp[0, 0, 1:2].reshape(())}, 0),
             "different": ({"a": ramp, "b": ramp}, {"a": ramp, "b": ramp + 1}, 1), "another shape": ({"a": ramp}, {"a": ramp[0]}, 1),
             "a single one of another name": ({"a": ramp}, {"b": ramp}, 0),  # what they hold tells
             "a single one of another name and content": ({"a": ramp}, {"b": numpy.cos(ramp) * 7}, 2), "too many": ({"a": ramp, "b": ramp}, {"a": ramp}, 1)}
    for title, (mine, golden, wanted) in cases.items():
        told = {kind: [] for kind in range(1, 6)}
        flags = (ctypes.c_char_p * 2)(b"--min-compared", b"0.1")
        code = c.library.c.assay_compare_tensors(ctypes.byref(side(c.library, mine)), ctypes.byref(side(c.library, golden)), 2, flags,
                                                 SINK(lambda user, kind, text, size: told[kind].append(text.decode()) or 0), None)
        rows = [json.loads(row) for row in told[ROW]]
        names = {row["mine"] for row in rows} | {row["golden"] for row in rows}
        # The same from files says the same of every row.
        for place, arrays in (("mine", mine), ("golden", golden)):
            numpy.savez(folder / f"{place}.npz", **arrays)
        theirs, of_files = c.run("compare", str(folder / "mine.npz"), str(folder / "golden.npz"), "--min-compared", "0.1")
        same = title.startswith("a single") or told[ROW] == of_files[ROW]
        c.report(f"memory, {title}", [] if code == wanted and names - {None} == {*mine, *golden} and same and told[REPORT] else
                 [f"{code} ({theirs} of files), {told[ROW]}, {of_files[ROW]}: {c.library.error}"])


def check_memory_of_a_program(c) -> None:
    done = c.host("memory")
    c.report("memory, a program", [] if done.returncode == 0 and not done.stdout and not done.stderr else
             [f"exit {done.returncode}: {done.stdout} {done.stderr[-2000:]}"])


def check_cancel(c) -> None:
    """A run is ended from another thread, and others go on."""
    import numpy

    folder = c.folder("cancel")
    values = numpy.random.default_rng(0).standard_normal(16 << 20, dtype=numpy.float32)
    for name in ("a.npy", "b.npy"):
        numpy.save(folder / name, values)
    flags = (ctypes.c_char_p * 5)(b"--metrics", b"all", b"--threads", b"1", b"--quiet")
    ended: dict[int, tuple] = {}

    def run(user: int) -> None:
        while user == 7 or not ended:
            code = c.library.c.assay_compare(str(folder / "a.npy").encode(), str(folder / "b.npy").encode(), 5, flags, None,
                                             ctypes.c_void_p(user))
            if code:
                ended[user] = code, c.library.error
                return
        ended[user] = code, c.library.error

    both = [threading.Thread(target=run, args=(user,)) for user in (7, 8)]
    for each in both:
        each.start()
    time.sleep(0.3)
    deadline, count = time.monotonic() + 30, 0
    while count == 0 and time.monotonic() < deadline:  # between two runs there is none
        count = c.library.c.assay_cancel(ctypes.c_void_p(7))
    for each in both:
        each.join()
    c.report("cancel", [] if count == 1 and ended.get(8) == (0, "") and ended.get(7, (0,))[0] == 2 and "interrupted" in ended[7][1] else
             [f"{count} {ended}"])
