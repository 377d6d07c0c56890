"""Calls libassay.so from Python, and reads back what it wrote."""
from __future__ import annotations

import ctypes
import json
import os
import struct
import subprocess
import sys
import threading


class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("dtype", ctypes.c_int32), ("ndim", ctypes.c_int32),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
                ("release", ctypes.c_void_p), ("release_argument", ctypes.c_void_p)]


class Statistics(ctypes.Structure):
    _fields_ = [("count", ctypes.c_int64), ("nans", ctypes.c_int64), ("infs", ctypes.c_int64), ("zeros", ctypes.c_int64),
                ("max", ctypes.c_double), ("min", ctypes.c_double), ("max_integer", ctypes.c_int64), ("min_integer", ctypes.c_int64),
                ("mean", ctypes.c_double), ("norm", ctypes.c_double), ("crc32", ctypes.c_uint32), ("reserved", ctypes.c_uint32),
                ("xor64", ctypes.c_uint64)]


class Attributes(ctypes.Structure):
    _fields_ = [("replaces", ctypes.c_int32), ("atb_format", ctypes.c_int32), ("checksums", ctypes.c_int32),
                ("reserved", ctypes.c_int32), ("tensor_name", ctypes.c_char_p)]


class Config(ctypes.Structure):
    _fields_ = [("size", ctypes.c_int32), ("threads", ctypes.c_int32), ("root", ctypes.c_char_p), ("budget", ctypes.c_int64),
                ("drops_data", ctypes.c_int32), ("dedupe", ctypes.c_int32), ("patience_ms", ctypes.c_int64),
                ("reserve", ctypes.c_int64), ("file_mode", ctypes.c_uint32), ("folder_mode", ctypes.c_uint32)]


# Handles that are used after they were closed, closed twice, and closed while other threads use them.
CLOSED = """
import ctypes, sys, threading
l = ctypes.CDLL(sys.argv[1])
l.assay_last_error.restype = ctypes.c_char_p
l.assay_file_count.restype = ctypes.c_int64
config, path = (ctypes.c_char * 64)(), b"closed.txt"
def open_capture():
    l.assay_capture_config_init(config)
    handle = ctypes.c_void_p()
    assert l.assay_capture_open(config, ctypes.byref(handle)) == 0
    return handle
capture, file, tally = open_capture(), ctypes.c_void_p(), (ctypes.c_int64 * 8)()
assert l.assay_capture_text(capture, path, b"x") == 0
l.assay_capture_close(capture)
l.assay_capture_close(capture)
answers = [l.assay_capture_line(capture, path, None, b"x"), l.assay_capture_text(capture, path, b"x"),
           l.assay_capture_flush(capture, ctypes.c_int64(1)), l.assay_capture_tally(capture, tally),
           l.assay_capture_tensor(capture, ctypes.byref(tally), path, 2, None, None)]
l.assay_file_open(sys.argv[2].encode(), 0, None, None, None, ctypes.byref(file))
assert l.assay_file_count(file) == 1
l.assay_file_close(file)
l.assay_file_close(file)
answers += [l.assay_file_count(file), l.assay_file_info(file, ctypes.c_int64(0), tally)]
capture = open_capture()
def submit():
    while l.assay_capture_line(capture, path, None, b"y") == 0:
        pass
threads = [threading.Thread(target=submit) for _ in range(8)]
for thread in threads:
    thread.start()
l.assay_capture_close(capture)
for thread in threads:
    thread.join()
print(answers, l.assay_last_error().decode())
"""


def check_closed_handles(c, file) -> None:
    done = subprocess.run(["/usr/bin/python3", "-c", CLOSED, str(c.bin / "libassay.so"), str(file)],
                          cwd=c.folder("closed"), timeout=60, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    c.report("handles that were closed", [] if done.returncode == 0 and done.stdout.startswith("[1, 1, 1, 1, 1, 0, 1] ") else
             [f"exit {done.returncode} {done.stdout} {done.stderr[-400:]}"])


def check_several_captures(c, library) -> None:
    """Captures of one process on one folder, one after another and at once: each has its own member in capture.json."""
    folder = c.folder("several_captures")

    def record(number: int) -> None:
        config = Config()
        library.assay_capture_config_init(ctypes.byref(config))
        config.root = str(folder).encode()
        capture = ctypes.c_void_p()
        library.assay_capture_open(ctypes.byref(config), ctypes.byref(capture))
        values = (ctypes.c_float * 2)(number, number)
        tensor = Tensor(ctypes.cast(values, ctypes.c_void_p), library.assay_dtype_from_name(b"f32"), 1, (ctypes.c_int64 * 1)(2), None, None, None)
        library.assay_capture_tensor(capture, ctypes.byref(tensor), b"%d.npy" % number, 2, None, None)
        library.assay_capture_close(capture)

    for number in range(3):
        record(number)
    threads = [threading.Thread(target=record, args=(number,)) for number in range(3, 11)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    members = json.loads((folder / "capture.json").read_text(), object_pairs_hook=list)
    keys = [key for key, _ in members]
    wanted = {str(os.getpid())} | {f"{os.getpid()}.{number}" for number in range(2, 12)}
    tensors = sum(dict(of)["tensors"] for _, of in members)
    c.report("captures of one process on one folder", [] if len(keys) == 11 and set(keys) == wanted and tensors == 11 else
             [f"{tensors} tensors, {keys}"])


# One thread, two tensors of which each takes a second: longer than anybody has patience, but something gets done all the time.
SLOW = """
import ctypes, sys
sys.path.insert(0, sys.argv[3])
from capture_c_interface import Config, Tensor
l = ctypes.CDLL(sys.argv[1])
config, capture, tally = Config(), ctypes.c_void_p(), (ctypes.c_int64 * 8)()
l.assay_capture_config_init(ctypes.byref(config))
config.root, config.patience_ms, config.threads, config.budget = sys.argv[2].encode(), 500, 1, 40 << 20
assert l.assay_capture_open(ctypes.byref(config), ctypes.byref(capture)) == 0
data, shape = (ctypes.c_char * (32 << 20))(), (ctypes.c_int64 * 1)(32 << 20)
release = ctypes.cast(l.assay_count_down, ctypes.c_void_p)
for name in (b"first.npy", b"second.npy"):
    tensor = Tensor(ctypes.addressof(data), l.assay_dtype_from_name(b"u8"), 1, shape, None, release, None)
    assert l.assay_capture_tensor(capture, ctypes.byref(tensor), name, 2, None, None) == 0
l.assay_capture_close(capture)
"""


def check_slow_tensors(c, library) -> None:
    folder = c.folder("slow_tensors")
    more = {"LD_PRELOAD": str(c.bin / "hosts" / "libslow_disk.so"), "SLOW_DISK_MIB_S": "32"}
    done = subprocess.run([sys.executable, "-c", SLOW, library, folder / "out", os.path.dirname(os.path.abspath(__file__))],
                          env={**os.environ, **more}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120, check=False)
    sizes = {path.name: path.stat().st_size for path in (folder / "out").glob("*.npy")}
    c.report("tensors that take longer than patience", [] if done.returncode == 0 and not done.stderr and len(sizes) == 2 and
             min(sizes.values()) > 32 << 20 else [f"exit {done.returncode}: {done.stderr[:500]} {sizes}"])


def check_c_interface(c) -> None:
    """What Python hands over through the C interface is what NumPy and PyTorch read back."""
    import numpy
    import torch

    library = ctypes.CDLL(str(c.bin / "libassay.so"))
    library.assay_last_error.restype = ctypes.c_char_p
    for name in ("assay_capture_tensor", "assay_capture_line", "assay_capture_flush", "assay_capture_close", "assay_capture_text"):
        getattr(library, name).argtypes = None
    folder = c.folder("c_interface")
    config = Config()
    library.assay_capture_config_init(ctypes.byref(config))
    config.root = str(folder).encode()
    capture = ctypes.c_void_p()
    status = library.assay_capture_open(ctypes.byref(config), ctypes.byref(capture))
    chance = numpy.random.default_rng(1)
    array = chance.standard_normal((5, 7)).astype(numpy.float32)
    turned = array.T

    def submit(values, name: bytes, form: int, dtype: bytes = b"f32") -> tuple[int, Statistics]:
        shape = (ctypes.c_int64 * values.ndim)(*values.shape)
        strides = (ctypes.c_int64 * values.ndim)(*(step // values.itemsize for step in values.strides))
        tensor = Tensor(values.ctypes.data, library.assay_dtype_from_name(dtype), values.ndim, shape, strides, None, None)
        statistics = Statistics()
        attributes = Attributes(checksums=1)
        return library.assay_capture_tensor(capture, ctypes.byref(tensor), name, form, ctypes.byref(attributes),
                                            ctypes.byref(statistics)), statistics

    _, statistics = submit(array, b"a/x.npy", 2)
    submit(turned, b"a/turned.npy", 2)
    submit(array, b"a/x.pt", 3)
    submit(array, b"a/x.safetensors", 4)
    submit(array, b"a/x.bin", 1)
    submit(array.view(numpy.uint16)[:, :2].copy(), b"a/bf16.pt", 3, b"bf16")
    scalar = numpy.array(3, dtype=numpy.int64)
    submit(scalar, b"a/scalar.pt", 3, b"i64")
    submit(numpy.zeros((0, 3), numpy.float32), b"a/empty.npy", 2)
    for i in range(100):
        library.assay_capture_line(capture, b"lines.csv", b"head", f"line {i}".encode())
    failures = []
    refused, _ = submit(array, b"../out.npy", 2)
    if refused != 1 or b"leads out" not in library.assay_last_error():
        failures.append(f"a path that leads out: {refused} {library.assay_last_error()}")
    for path in (b".", b"a/.", b"a/", b""):
        refused, _ = submit(array, path, 2)
        if refused != 1 or b"names no file" not in library.assay_last_error():
            failures.append(f"the path {path}: {refused} {library.assay_last_error()}")
    for path in (b"capture.json", b"./capture.json"):
        refused, _ = submit(array, path, 2)
        if refused != 1 or b"in which the capture counts" not in library.assay_last_error():
            failures.append(f"the path {path}: {refused} {library.assay_last_error()}")
    refused, _ = submit(array.view(numpy.uint16)[:, :2].copy(), b"bf16.npy", 2, b"bf16")
    if refused != 2 or b"NumPy has no type for bf16" not in library.assay_last_error():
        failures.append(f"bf16 as .npy: {refused} {library.assay_last_error()}")
    alone, of_alone = submit(array, None, 0)
    tally = (ctypes.c_int64 * 8)()
    library.assay_capture_flush(capture, ctypes.c_int64(60000))
    library.assay_capture_tally(capture, tally)
    if alone != 0 or of_alone.max != statistics.max or tally[3] != 1 or tally[0] != 8:
        failures.append(f"statistics alone: {alone} {of_alone.max} {list(tally)}")
    library.assay_capture_close(capture)
    if list(json.loads((folder / "capture.json").read_text()).values())[0]["statistics"] != 1:
        failures.append("capture.json does not count statistics")
    want = {"max": array.max(), "min": array.min(), "mean": array.astype(float).mean(), "norm": numpy.linalg.norm(array.astype(float)),
            "crc32": __import__("zlib").crc32(array.tobytes()), "count": 35}
    failures += [f"{key} is {getattr(statistics, key)}, not {value}" for key, value in want.items()
                 if abs(float(getattr(statistics, key)) - float(value)) > 1e-12 * abs(float(value))]
    for name, loaded, expected in (
            ("x.npy", numpy.load(folder / "a/x.npy"), array), ("turned.npy", numpy.load(folder / "a/turned.npy"), turned),
            ("x.pt", torch.load(folder / "a/x.pt").numpy(), array), ("scalar.pt", torch.load(folder / "a/scalar.pt").numpy(), scalar),
            ("empty.npy", numpy.load(folder / "a/empty.npy"), numpy.zeros((0, 3), numpy.float32))):
        if loaded.shape != expected.shape or loaded.dtype != expected.dtype or (loaded != expected).any():
            failures.append(f"{name} reads back as {loaded}")
    if torch.load(folder / "a/bf16.pt").dtype != torch.bfloat16:
        failures.append("bf16.pt is no bf16")
    if (folder / "a/x.npy").read_bytes() != (numpy.save(folder / "by_numpy.npy", array) or (folder / "by_numpy.npy").read_bytes()):
        failures.append("x.npy is not byte for byte what NumPy writes")
    if (folder / "lines.csv").read_text() != "head\n" + "".join(f"line {i}\n" for i in range(100)):
        failures.append("lines.csv is not in order")
    raw = (folder / "a/x.safetensors").read_bytes()
    length = struct.unpack("<Q", raw[:8])[0]
    if json.loads(raw[8:8 + length])["tensor"]["shape"] != [5, 7] or raw[8 + length:] != array.tobytes():
        failures.append("x.safetensors is not what it should be")
    c.report("C interface", failures + ([] if status == 0 else [f"open: {status}"]))
    for name in ("x.pt", "x.safetensors", "x.bin"):
        c.report(f"compare {name}", c.start_in(folder, ["compare", f"a/{name}", "a/x.npy"], 0, "PASS"))
    check_several_captures(c, library)
    check_closed_handles(c, folder / "a" / "x.npy")
    check_slow_tensors(c, c.bin / "libassay.so")
    # A program that ends without closing.
    script = ("import ctypes,sys; l=ctypes.CDLL(sys.argv[1]); c=(ctypes.c_char*64)(); l.assay_capture_config_init(c); "
              "p=ctypes.c_void_p(); print(l.assay_capture_open(c, ctypes.byref(p))); "
              "[l.assay_capture_line(p, b'unclosed.txt', None, b'x') for _ in range(1000)]")
    done = subprocess.run(["/usr/bin/python3", "-c", script, str(c.bin / "libassay.so")], cwd=folder, timeout=60,
                          stdout=subprocess.PIPE, text=True, check=False)
    written = folder / "unclosed.txt"
    c.report("exit without close", [] if done.returncode == 0 and written.is_file() and
             written.read_text() == "x\n" * 1000 else [f"exit {done.returncode} {done.stdout}"])
