"""Checks of check_python_api.py: assay.compare and assay.testing."""
from __future__ import annotations

import array
import collections
import csv
import dataclasses
import decimal
import fractions
import functools
import json
import math
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import types

import numpy
import torch

ROOT = pathlib.Path(__file__).resolve().parents[2]


def refused(call, kind: type, *words: str) -> list[str]:
    """What is wrong with how a call is refused."""
    try:
        call()
    except kind as trouble:
        return [f"{trouble!r} says nothing of {word!r}" for word in words if word not in str(trouble)]
    except BaseException as trouble:
        return [f"{trouble!r} is no {kind.__name__}"]
    return [f"no {kind.__name__} was raised"]


def python(text: str, folder: pathlib.Path, *words: str, **environment: str) -> subprocess.CompletedProcess:
    """Runs a text in a Python of its own, with the package on its path."""
    path = os.pathsep.join(str(ROOT / below) for below in ("python", "python/compat"))
    return subprocess.run([sys.executable, "-B", "-c", text, *words], cwd=folder, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, env={**os.environ, "PYTHONPATH": path, **environment}, timeout=300)


def demo(c) -> tuple[str, str]:
    """Two dumps with a planted fault."""
    folder = c.folder("demo")
    c.start(["demo"], folder)
    return str(folder / "assay_demo" / "mine"), str(folder / "assay_demo" / "golden")


def untimed(text: str) -> str:
    """A report without its clock and its command line."""
    return re.sub(r'"(generated|command)": "[^"]*"|timestamp="[^"]*"|<property name="(generated|command)" .*', "", text)


def check_as_the_program(c) -> list[str]:
    """Rows, counts, sentence, report and exit code are those of the program."""
    import assay

    mine, golden = demo(c)
    failures = []
    other = str(c.folder("noise") / "mine")
    shutil.copytree(mine, other)
    options = [({}, []), (dict(rule="max_abs <= 1e9", only="*mlp*"), ["--rule", "max_abs <= 1e9", "--only", "*mlp*"]),
               (dict(rule={"*mlp*": "rel_l2 <= 1", "*": "rel_l2 <= 0.01"}, metrics=["all"], threads=1),
                ["--rule", "*mlp*=rel_l2 <= 1", "--rule", "*=rel_l2 <= 0.01", "--metrics", "all", "--threads", "1"]),
               (dict(rename={r"^(\d+)_": r"\1_"}, match="exact", unmatched="ignore"),
                ["--rename", r"^(\d+)_=\1_", "--match", "exact", "--unmatched", "ignore"]),
               (dict(tolerance=torch.bfloat16, skip=["*mlp*", "*logits*"], min_compared=0.25, values="skip", memory="64MiB"),
                ["--tolerance", "bf16", "--skip", "*mlp*", "--skip", "*logits*", "--min-compared", "0.25", "--values", "skip",
                 "--memory", "64MiB"]),
               (dict(rtol=1.0, atol=0.5, order="name", layout="folder"),
                ["--rtol", "1.0", "--atol", "0.5", "--order", "name", "--layout", "folder"]),
               (dict(noise=[other], fail_fast=True), ["--noise", other, "--fail-fast"])]
    for given, flags in options:
        found = assay.compare(mine, golden, **given)
        done = c.start(["compare", mine, golden, *flags, "--report", "jsonl", "--output", "-"], c.folder("out"))
        lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        if [dict(row) for row in found.rows] != lines[:-1] or found.summary != lines[-1]["summary"]:
            failures.append(f"{given}: other rows or another summary: {len(found.rows)}, {found.summary}, {done.stdout[-300:]}")
        if found.exit_code != done.returncode or bool(found) != (done.returncode == 0):
            failures.append(f"{given}: {found.exit_code} is not {done.returncode}")
        shown = c.start(["compare", mine, golden, *flags], c.folder("out"))
        if found.report.split("\n")[0] != shown.stdout.split("\n")[0] or found.sentence not in " ".join(found.report.split()):
            failures.append(f"{given}: {found.report.splitlines()[:1]} is not {shown.stdout.splitlines()[:1]}")
    found = assay.compare(mine, golden)
    first = found.first_divergence
    if (found.verdict, first.name, first.verdict, first["mine_dtype"]) != \
            ("fail", "048_layers.2.mlp.activation.pt", "fail", "bf16") or "rel_l2" not in first.metrics or \
            "name" in first.metrics or "rel_l2" not in first.reason:
        failures.append(f"the first divergence: {dict(first)}")
    if found.rows[-1].name != "070_logits.pt" or [row.name for row in found.rows[2:4]] != [found.rows[2].name, found.rows[3].name]:
        failures.append("rows by number")
    failures += refused(lambda: first.nothing, AttributeError, "there are: section")
    failures += refused(lambda: found.rows[71], IndexError, "71")
    origin = assay.compare({"a": 1.0}, {"a": 1.0})
    if (origin.verdict, origin.first_divergence, origin.first_origin, list(origin.messages)) != ("pass", None, None, []):
        failures.append(f"a pass: {origin!r}")
    return failures


def check_refusals(c) -> list[str]:
    import assay

    mine, golden = demo(c)
    failures = refused(lambda: assay.compare(mine, "nowhere"), assay.AssayError, "nowhere: no such file")
    failures += refused(lambda: assay.compare(mine, golden, match="bad"), assay.AssayError, "no such method")
    failures += refused(lambda: assay.compare(mine, golden, rule="rel_l2 <"), assay.AssayError, "rel_l2 <")
    failures += refused(lambda: assay.compare(mine, golden, nothing=1), TypeError, "nothing")
    failures += refused(lambda: assay.compare(mine, {"x": 1.0}), TypeError, "memory")
    failures += refused(lambda: assay.compare({"x": "text"}, {"x": 1.0}), TypeError, "x: str")
    failures += refused(lambda: assay.compare(mine, golden, save="x.docx"), ValueError, "x.docx", ".csv")
    folder = c.folder("refusals")
    (folder / "-mine.npy").write_bytes((pathlib.Path(golden) / "070_logits.npy").read_bytes())
    here = os.getcwd()
    os.chdir(folder)  # a path that looks like a flag is a path
    try:
        if assay.compare("-mine.npy", pathlib.Path(golden) / "070_logits.npy").exit_code != 0:
            failures.append("-mine.npy")
    finally:
        os.chdir(here)
    # What is too little compared is a result, no exception.
    numpy.save(folder / "a.npy", numpy.zeros(3)), numpy.save(folder / "b.npy", numpy.zeros(4))
    shapes = assay.compare(folder / "a.npy", folder / "b.npy")
    (folder / "broken.npy").write_bytes(b"\x93NUMPY\x01\x00")
    os.mkdir(folder / "m"), os.mkdir(folder / "g")
    for side in "mg":
        numpy.save(folder / side / "x.npy", numpy.ones(3))
    (folder / "m" / "y.npy").write_bytes(b"\x93NUMPY\x01\x00")
    numpy.save(folder / "g" / "y.npy", numpy.ones(3))
    broken = assay.compare(folder / "m", folder / "g")
    if (shapes.exit_code, shapes.verdict) != (1, "fail") or (broken.exit_code, broken.verdict) != (2, "error") or \
            "y.npy" not in broken.rows[1].note:
        failures.append(f"{shapes!r} {broken!r}")
    return failures


def check_reports(c) -> list[str]:
    """What is saved is what the program writes."""
    import assay

    mine, golden = demo(c)
    theirs, ours = c.folder("theirs"), c.folder("ours")
    c.start(["compare", mine, golden, "--report", "csv,xlsx,json,jsonl,junit,sqlite,html", "--output", str(theirs), "--quiet"], theirs)
    names = {"csv": "csv", "xlsx": "xlsx", "json": "json", "jsonl": "jsonl", "xml": "xml", "db": "db", "html": "html"}
    found = assay.compare(mine, golden, save=[ours / f"one.{name}" for name in ("csv", "json")])
    failures = []
    for suffix in names:
        path = found.save(ours / f"x.{suffix}")
        (other,) = theirs.glob(f"*.{suffix}")
        one, two = pathlib.Path(path).read_bytes(), other.read_bytes()
        if suffix in ("csv", "json", "jsonl", "xml") and untimed(one.decode()) != untimed(two.decode()):
            failures.append(f"{suffix}: other bytes")
        if not one or one[:4] != two[:4]:
            failures.append(f"{suffix}: {one[:4]!r}")
    if (ours / "one.csv").read_bytes() != (ours / "x.csv").read_bytes() or not (ours / "one.json").is_file():
        failures.append("save= writes another table")
    left = sorted(path.name for path in ours.iterdir())
    if left != sorted(["one.csv", "one.json", *(f"x.{suffix}" for suffix in names)]):
        failures.append(f"left behind: {left}")
    before = (ours / "x.csv").read_bytes()
    failures += refused(lambda: found.save(ours / "x.csv"), FileExistsError, "overwrite=True")
    failures += refused(lambda: assay.compare(mine, golden, save=ours / "x.csv"), FileExistsError, "overwrite=True")
    found.save(ours / "x.csv", overwrite=True)
    if (ours / "x.csv").read_bytes() != before:
        failures.append("replaced by something else")
    with tempfile.TemporaryDirectory(dir="/dev/shm") as elsewhere:  # another file system
        both = [ours / "first.csv", pathlib.Path(elsewhere) / "below" / "second.json"]
        assay.compare(mine, golden, save=both)
        if not all(path.is_file() for path in both) or len(list(both[1].parent.iterdir())) != 1:
            failures.append(f"two file systems: {list(both[1].parent.iterdir())}")
    in_memory = assay.compare({"x": numpy.ones(3)}, {"x": numpy.ones(3)})
    with open(in_memory.save(ours / "memory.csv"), newline="") as table:
        if [row["verdict"] for row in csv.DictReader(table)] != ["pass"]:
            failures.append("the table of tensors in memory")
    values = numpy.ones(3)
    changing = assay.compare({"x": values}, {"x": numpy.ones(3)})
    values[0] = 2
    failures += refused(lambda: changing.save(ours / "changed.csv"), assay.AssayError, "is not what was compared")
    try:
        import pandas
    except ImportError:
        failures += refused(found.to_pandas, assay.AssayError, "needs pandas")
    else:
        frame = found.to_pandas()
        if not isinstance(frame, pandas.DataFrame) or frame.shape[0] != 71 or frame["verdict"].tolist()[48] != "fail":
            failures.append(f"data frame: {frame}")
    return failures


def check_many_rows(c) -> list[str]:
    """Rows that do not fit lie in a file, and are the same."""
    import assay
    from assay import _rows

    tensors = {f"t{number:05}": float(number) for number in range(3000)}
    plain = assay.compare(tensors, tensors)
    kept, _rows._KEPT = _rows._KEPT, 10_000
    try:
        spilled = assay.compare(tensors, tensors)
    finally:
        _rows._KEPT = kept
    if spilled.rows._file is None or plain.rows._file is not None:
        return ["nothing was spilled"]
    order = list(range(3000))[::-7]
    same = [dict(plain.rows[i]) for i in order] == [dict(spilled.rows[i]) for i in order] and len(spilled.rows) == 3000
    return [] if same and spilled.rows[2999].name == "t02999" else ["other rows"]


def check_ctrl_c(c) -> list[str]:
    """Ctrl-C ends it soon, as a KeyboardInterrupt, and nothing is left behind."""
    folder = c.folder("ctrl_c")
    values = numpy.random.default_rng(0).standard_normal(48 << 20, dtype=numpy.float32)
    for side in ("a.npy", "b.npy"):
        numpy.save(folder / side, values)
    script = """
import assay, sys, time
try:
    print("go", flush=True)
    while True:
        assay.compare("a.npy", "b.npy", metrics="all", threads=1, save="out/x.csv", overwrite=True)
except KeyboardInterrupt:
    print("stopped", assay.compare({"x": 1.0}, {"x": 1.0}).verdict, flush=True)
"""
    path = str(ROOT / "python")
    # Whoever runs checks in the background has SIGINT ignored, and a Python that begins so never hears of it.
    child = subprocess.Popen([sys.executable, "-B", "-c", script], cwd=folder, text=True, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, env={**os.environ, "PYTHONPATH": path},
                             preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))
    child.stdout.readline()
    time.sleep(0.5)
    started = time.monotonic()
    child.send_signal(signal.SIGINT)
    text, _ = child.communicate(timeout=60)
    took = time.monotonic() - started
    left = list((folder / "out").glob(".assay*")) if (folder / "out").exists() else []
    return ([] if text == "stopped pass\n" and child.returncode == 0 else [f"{child.returncode} {text!r}"]) + \
        ([] if took < 5 else [f"it took {took:.1f} s"]) + [f"left: {each}" for each in left]


def check_threads_and_progress(c) -> list[str]:
    """The GIL is free meanwhile; progress is told; several run at once."""
    import assay

    values = numpy.random.default_rng(0).standard_normal(16 << 20, dtype=numpy.float32)
    told, failures = [], []
    beats, over = [0], threading.Event()

    def beat() -> None:
        while not over.wait(0.002):
            beats[0] += 1

    beside = threading.Thread(target=beat)
    beside.start()
    started = time.monotonic()
    found = assay.compare({"x": values}, {"x": values}, metrics="all", threads=1,
                          progress=lambda what, done, total: told.append((what, done, total)))
    took = time.monotonic() - started
    over.set()
    beside.join()
    if beats[0] < took / 0.002 / 20 or not found:
        failures.append(f"{beats[0]} beats in {took:.2f} s")
    if not told or told[0][0] != "comparing" or not 0 <= told[-1][1] <= told[-1][2]:
        failures.append(f"progress: {told[:3]}")

    def fail(*_: object) -> None:
        raise ZeroDivisionError("of mine")

    failures += refused(lambda: assay.compare({"x": values}, {"x": values}, metrics="all", threads=1, progress=fail),
                        ZeroDivisionError, "of mine")
    results: list = []
    many = [threading.Thread(target=lambda i=i: results.append(
        (i, assay.compare({"x": float(i)}, {"x": 3.0}).exit_code, len(assay.compare({"a": [1.0] * i}, {"a": [1.0] * i}).rows))))
        for i in range(1, 9)]
    for each in many:
        each.start()
    for each in many:
        each.join()
    if sorted(results) != [(i, int(i != 3), i) for i in range(1, 9)]:
        failures.append(f"threads: {sorted(results)}")
    return failures


def check_assert_close(c) -> list[str]:
    import assay
    from assay.testing import assert_close

    Point = collections.namedtuple("Point", "x y")
    ramp = numpy.arange(24.0).reshape(2, 3, 4)
    bf16 = torch.randn(4, 5, generator=torch.Generator().manual_seed(0)).to(torch.bfloat16)
    good = [(ramp, ramp), (ramp.T, numpy.ascontiguousarray(ramp.T)), (ramp[::-1, :, ::2], ramp[::-1, :, ::2].copy()),
            (torch.arange(6.0).view(2, 3).t(), numpy.arange(6.0).reshape(2, 3).T), (bf16, bf16.float()), (bf16.t(), bf16.t().clone()),
            (numpy.float32(1.5), 1.5), (3, 3), (True, True), (1 + 2j, 1 + 2j), (array.array("i", [1, 2]), numpy.int32([1, 2])),
            (b"text", b"text"), (None, None), ("a", "a"), ([], []), ({}, {}), ({"a": [1.0, (2.0, None)]}, {"a": [1.0, (2.0, None)]}),
            (Point(1.0, 2.0), Point(1.0, 2.0)), (numpy.zeros((0, 3)), numpy.zeros((0, 3))),
            (torch.zeros(3, requires_grad=True), torch.zeros(3)), (torch.eye(3).to_sparse(), torch.eye(3)),
            (torch.complex(torch.ones(2), torch.ones(2)).conj(), numpy.array([1 - 1j, 1 - 1j], numpy.complex64)),
            (numpy.array([1, 2], ">i4"), numpy.array([1, 2], "<i4")), (numpy.array([[1.0, 2], [3, 4]], numpy.longdouble), torch.tensor([[1.0, 2], [3, 4]])),
            (memoryview(array.array("d", [1.0])), array.array("d", [1.0])),
            (numpy.array([True, False]), torch.tensor([True, False]))]
    failures = []
    for place, (one, other) in enumerate(good):
        try:
            assert_close(one, other)
        except BaseException as trouble:
            failures.append(f"good {place}: {one!r}: {trouble!r}")
    bad = [(ramp, ramp + 1, ("FAIL", "max_abs 1", "worst element")), (ramp, ramp.T, ("shape",)), ([1.0], [1.0, 2.0], ("only in golden", "1")),
           ({"a": 1.0}, {"b": 1.0}, ("only in mine", "a")), (None, 1.0, ("None stands against a tensor",)),
           ({"a": "x", "b": 1.0}, {"a": "y", "b": 1.0}, ("a: 'x' is not 'y'",)), (bf16, bf16.float() * 1.5, ("mine bf16", "golden f32")),
           (numpy.array([numpy.nan, 1]), numpy.array([1.0, 1]), ("nonfinite",)), (numpy.int64([1 << 62]), numpy.int64([(1 << 62) + 1]), ("max_abs",)),
           (numpy.zeros((0, 3)), numpy.zeros((0, 4)), ("shape",)), (True, False, ("FAIL",)), ([1.0, 2.0], {"0": 1.0, "1": 2.5}, ("1",)),
           (numpy.zeros(3), [], ("value",)), (1 << 70, (1 << 70) + 1, ("is not",)), ({"": 1.0, "a": 1.0}, {"": 2.0, "a": 1.0}, ("FAIL",)),
           ({"a": numpy.array([numpy.nan]), "b": ramp}, {"a": numpy.array([numpy.nan]), "b": ramp}, ("NOT COMPARED", "1 of 2"))]
    for one, other, words in bad:
        failures += [f"{one!r} against {other!r}: {each}" for each in refused(lambda: assert_close(one, other), AssertionError, *words)]
    failures += refused(lambda: assert_close(1.0, 2.0, msg="of mine"), AssertionError, "of mine\nFAIL")
    failures += refused(lambda: assert_close(numpy.array(["a"]), numpy.array(["a"])), TypeError, "no numbers")
    failures += refused(lambda: assert_close(torch.zeros(2, device="meta"), torch.zeros(2)), ValueError, "meta")
    for one, other in (({1: 5.0, "1": 6.0}, {1: 7.0, "1": 6.0}), ({"a": {"b": 1.0}, "a.b": 2.0}, {"a": {"b": 9.0}, "a.b": 2.0})):
        failures += refused(lambda: assert_close(one, other), ValueError, "two values would have this name")
        failures += refused(lambda: assay.compare(one, other), ValueError, "two values would have this name")
    failures += refused(lambda: assay.compare({"a": 1 << 70}, {"a": (1 << 70) + 1}), ValueError, "64 bits")
    masked = [numpy.ma.masked_array([1.0, 2.0], mask=mask) for mask in ([1, 0], [0, 0])]
    failures += refused(lambda: assert_close(*masked), TypeError, "masked")
    failures += refused(lambda: assert_close({"a": ramp}, {"a": ramp + 1}, rule="*=ignore"), AssertionError, "NOT COMPARED")
    if assay.compare({"": 1.0, "a": 1.0}, {"": 2.0, "a": 1.0}).exit_code != 1:
        failures.append("an empty name is not compared")
    assert_close({"a": ramp, "b": ramp}, {"a": ramp, "b": ramp + 1}, rule="b=ignore")
    assert_close(1 << 70, 1 << 70)
    assert_close(1.0, 1.25, atol=0.5)
    assert_close({"x": ramp}, {"x": ramp + 1e-4}, rule="max_abs <= 1e-3")
    nan = numpy.array([numpy.nan, 1.0])
    assert_close(nan, numpy.array([0.0, 1.0]), rule="max_abs <= 1", allow_nonfinite=True)
    loop: list = []
    loop.append(loop)
    failures += refused(lambda: assert_close(loop, loop), ValueError, "containers")
    try:
        import ml_dtypes
    except ImportError:
        return failures
    for name in ("bfloat16", "float8_e4m3fn", "float8_e5m2", "int4"):
        values = numpy.array([0, 1, -2, 3], dtype=getattr(ml_dtypes, name))
        assert_close(values, values.astype(numpy.float32))
        failures += refused(lambda: assert_close(values, values.astype(numpy.float32) + 2), AssertionError, "FAIL")
    return failures


@dataclasses.dataclass
class Held:
    x: object


class Plain:
    def __init__(self, x: object) -> None:
        self.x = x


class Slotted:
    __slots__ = ("x",)


def check_members(c) -> list[str]:
    """That a thing is the same object shows nothing: NaN is found in whatever holds it, and what cannot be seen is refused."""
    from assay.testing import assert_close

    nan, ones = math.nan, torch.ones(3)
    holders = [lambda x: collections.deque([x]), Held, lambda x: types.SimpleNamespace(a=x), Plain, lambda x: {"a": x}.values(),
               lambda x: {"a": x}.items(), lambda x: slice(x), lambda x: [Held([Plain(x)])], lambda x: {"a": {"b": collections.deque([x])}}]
    failures = []
    for place, hold in enumerate(holders):
        for one, other in ((ones, ones.clone()), (1.0, 1.0), ("text", "text"), (None, None), (decimal.Decimal("0.1"), decimal.Decimal("0.1"))):
            try:
                assert_close(hold(one), hold(other))
            except BaseException as trouble:
                failures.append(f"holder {place} of {one!r}: {trouble!r}")
        held = hold(nan)
        bad = [(held, held, "NOT COMPARED"), (hold(ones), hold(ones + 1), "FAIL"), (hold("a"), hold("b"), "is not"),
               (hold(None), hold(1.0), "stands against"),
               (hold(decimal.Decimal("NaN")), hold(decimal.Decimal("NaN")), "NOT COMPARED"), (hold(math.inf), hold(math.inf), "NOT COMPARED")]
        for one, other, word in bad:
            failures += [f"holder {place}: {one!r}: {each}" for each in refused(lambda: assert_close(one, other), AssertionError, word)]
    for good in ({1, "a", None, 1.5, (2, "b")}, frozenset([numpy.int64(3)]), {"a": 1}.keys(), set(), fractions.Fraction(1, 3),
                 pathlib.Path("a"), torch.float32, numpy.dtype("f4"), torch.device("cpu"), range(3), int, collections.deque(), torch.nn.Linear(2, 2)):
        try:
            assert_close([good], [good])
        except BaseException as trouble:
            failures.append(f"{good!r}: {trouble!r}")
    both = (Slotted(), functools.partial(max, nan), ValueError(nan), (each for each in [nan]), iter([nan]), {nan}, frozenset([(1, nan)]),
            {math.inf}, {nan: 1}.keys(), {decimal.Decimal("NaN")}, {numpy.float32("nan")}, {ones}, object())
    for same in both:
        failures += [f"{same!r}: {each}" for each in refused(lambda: assert_close({"a": same}, {"a": same}), TypeError, "a: ")]
    failures += refused(lambda: assert_close(Held(1.0), types.SimpleNamespace(x=1.0)), AssertionError, "type()")
    failures += refused(lambda: assert_close({1, 2}, {1, 3}), AssertionError, "is not")
    loop = Plain(None)
    loop.x = [loop, loop]
    return failures + refused(lambda: assert_close(loop, loop), ValueError, "containers")


def check_no_files(c) -> list[str]:
    """Comparing in memory opens no file for writing, and changes no tensor."""
    folder = c.folder("no_files")
    text = ("import assay, array\nx = array.array('f', [1, 2, 3])\nassay.testing.assert_close(x, x)\nprint(list(x))\n"
            "import os; print(os.listdir('.'), os.listdir(os.environ['TMPDIR']))")
    done = python(text, folder, TMPDIR=str(c.folder("tmp")))
    return [] if done.stdout == "[1.0, 2.0, 3.0]\n[] []\n" else [done.stdout]


COMPARE_CHECKS = {"as the program": check_as_the_program, "refusals": check_refusals, "reports": check_reports, "many rows": check_many_rows,
                  "ctrl-c": check_ctrl_c, "threads and progress": check_threads_and_progress, "assert_close": check_assert_close,
                  "members": check_members, "no files": check_no_files}
