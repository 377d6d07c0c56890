#!/usr/bin/python3
"""-alg file.py:function of `msit llm compare` and `msit llm opcheck`: functions of the user beside the native run, and what they do wrong.

    check_algorithms.py --bin build/release [--only NAME] [--keep FOLDER]

The Python that runs them is Debian's, with torch (or NumPy where that is hidden).
"""
from __future__ import annotations

import csv
import os
import pathlib
import re
import subprocess
import sys
import time
import zipfile

import numpy

from checker import Checker, run_checks
from golden_case import Run, Tensor
from golden_dump import token_folder, write_operator
from torchair_differences import Pair, numbers

DATA = pathlib.Path(__file__).resolve().parents[1] / "data" / "atb"
PYTHON = "/usr/bin/python3"

FUNCTIONS = '''
import os, signal, sys, time
print("this is no answer")
calls = 0


def apart(golden, mine):
    """What it was given is in its message."""
    global calls
    calls += 1
    return float((golden - mine).abs().max()), "" if calls > 1 else "first call"


def given(golden, mine):
    return f"{type(golden).__module__} {str(golden.dtype)} {tuple(golden.shape)}", "said\\nso"


def whole(golden, mine):
    return 7, ""


def spoils(golden, mine):
    golden.zero_() if hasattr(golden, "zero_") else golden.fill(0)
    return float("nan"), ""


def fails(golden, mine):
    if len(golden.reshape(-1)) > 1:
        raise ValueError("not\\tme")
    return 0, ""


def odd(golden, mine):
    return (0, "") if len(golden.reshape(-1)) == 1 else 3


def dies(golden, mine):
    if len(golden.reshape(-1)) > 1:
        os.kill(os.getpid(), signal.SIGSEGV)
    return 0, ""


def leaves(golden, mine):
    if len(golden.reshape(-1)) > 1:
        sys.stdout.flush()
        os._exit(3)
    return 0, ""


def sleeps(golden, mine):
    if len(golden.reshape(-1)) > 1:
        time.sleep(60)
    return 0, ""


def one(golden):
    return 0, ""


def wrong(golden, mine):
    return golden


not_a_function = 3
'''


class AlgorithmChecker(Checker):
    def run(self, words: list, folder: pathlib.Path, **environment: str) -> subprocess.CompletedProcess:
        return subprocess.run([self.program, *map(str, words)], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="replace", stdin=subprocess.DEVNULL, timeout=300,
                              env={**os.environ, "ASSAY_PYTHON": PYTHON, "ASAN_OPTIONS": "detect_leaks=0", **environment})

    def functions(self, text: str = FUNCTIONS) -> pathlib.Path:
        path = self.folder("functions") / "mine.py"
        path.write_text(text)
        path.chmod(0o644)
        return path

    def compare_files(self, *names: str, path: pathlib.Path | None = None, **environment: str) -> tuple[dict, str, int]:
        """The row of two files, the log, the exit code."""
        folder, path = self.folder("files"), path or self.functions()
        done = self.run(["msit", "llm", "compare", "-gp", DATA / "single" / "g.pth", "-mp", DATA / "single" / "my_fp16.bin", "-o", "out", "-alg",
                         *(f"{path}:{name}" for name in names)], folder, **environment)
        tables = list((folder / "out").glob("*.csv"))
        return (rows_of(tables[0])[0] if tables else {}), done.stdout, done.returncode


def rows_of(path: pathlib.Path) -> list[dict]:
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def check_columns(c: AlgorithmChecker) -> list[str]:
    """A column for each function before the reason; the metrics are those of a run without."""
    row, log, code = c.compare_files("apart", "given", "whole", "spoils")
    plain, plain_log, plain_code = c.compare_files("whole")
    failures = []
    columns = list(row)
    if columns[-5:] != ["apart", "given", "whole", "spoils", "cmp_fail_reason"]:
        failures.append(f"columns: {columns}")
    if (row.get("apart"), row.get("whole"), row.get("spoils")) != ("1.0", "7", "") or row.get("given") != "torch torch.float32 (4,)":
        failures.append(f"cells: {row}")
    if row.get("cmp_fail_reason") != "said so":
        failures.append(f"reason: {row.get('cmp_fail_reason')}")
    if {name: row[name] for name in plain if name not in ("whole", "cmp_fail_reason")} != \
            {name: plain[name] for name in plain if name not in ("whole", "cmp_fail_reason")} or (code, plain_code) != (0, 0):
        failures.append(f"other metrics: {row} {plain} {code} {log}")
    found = re.search(r"Compared results: (\{.*\})", log)
    if not found or "'apart': 1.0, 'given': 'torch torch.float32 (4,)', 'whole': 7, 'spoils': nan, 'cmp_fail_reason': 'said so'}" not in found[1]:
        failures.append(f"log: {log}")
    if "Added custom comparing algorithm: apart" not in log or log.count("this is no answer") != 1:
        failures.append(f"log: {log}")
    return failures


def check_numpy(c: AlgorithmChecker) -> list[str]:
    """Where there is no torch, arrays of NumPy; where there is neither, an error."""
    hidden = c.folder("hidden")
    (hidden / "torch.py").write_text("raise ImportError('hidden')\n")
    row, log, code = c.compare_files("given", "whole", "spoils", PYTHONPATH=str(hidden))
    failures = [] if row.get("given") == "numpy float32 (4,)" and code == 0 and "arrays of NumPy" in log else [f"{row} {code} {log}"]
    (hidden / "numpy.py").write_text("raise ImportError('hidden')\n")
    row, log, code = c.compare_files("whole", PYTHONPATH=str(hidden))
    return failures + ([] if code != 0 and not row and "neither torch nor numpy" in log else [f"{row} {code} {log}"])


def check_wrong_functions(c: AlgorithmChecker) -> list[str]:
    """What a function does wrong is the reason in its row; the numbers of the row are there."""
    failures = []
    for name, word in (("fails", "function fails: ValueError: not me"), ("odd", "function odd should return 2 value in type ((float, int, str), str)"),
                       ("dies", "ended by itself (signal 11)"), ("leaves", "ended by itself (status 3)")):
        row, log, code = c.compare_files(name, "whole")
        if word not in row.get("cmp_fail_reason", "") or row.get("max_absolute_error") != "1.0" or row.get(name) != "" or code != 0:
            failures.append(f"{name}: {row} {code} {log}")
        if name in ("fails", "odd") and row.get("whole") != "7":
            failures.append(f"beside {name}: {row}")
    started = time.monotonic()
    row, log, code = c.compare_files("sleeps", ASSAY_ALGORITHM_SECONDS="2")
    if "was ended: it takes too long" not in row.get("cmp_fail_reason", "") or code != 0 or time.monotonic() - started > 30:
        failures.append(f"sleeps: {row} {code} {log}")
    return failures


def check_refused(c: AlgorithmChecker) -> list[str]:
    path = c.functions()
    failures = []
    for spec, word in (("mine.py", "should be in format '{python_file_path}:{function_name}'"), ("a:b:c", "should be in format"),
                       ("nowhere.py:f", "nowhere.py not exists"), (f"{path.parent}:f", "is not a py file"), (f"{path}:nothing", "getting nothing from"),
                       (f"{path}:one", "function one signature should have exact two parameters"), (f"{path}:not_a_function", "signature"),
                       (f"{path}:wrong", "should return 2 value in type ((float, int, str), str)"),
                       (f"{c.functions('raise OSError(5)')}:f", "import mine from"), (f"{c.functions('def f(a, b): return a.nothing')}:f", "function f should recieve")):
        folder = c.folder("refused")
        done = c.run(["msit", "llm", "compare", "-gp", DATA / "single" / "g.pth", "-mp", DATA / "single" / "my_fp16.bin", "-o", "out", "-alg", spec], folder)
        if done.returncode == 0 or word not in done.stdout or (folder / "out").exists():
            failures.append(f"{spec}: {done.returncode} {done.stdout}")
    open_to_all = c.functions()
    open_to_all.chmod(0o666)
    row, log, code = c.compare_files("whole", path=open_to_all)
    if row or code == 0 or "permission stat is illegal" not in log:
        failures.append(f"a file that all may write to: {log}")
    row, log, code = c.compare_files("whole", ASSAY_PYTHON="/nowhere/python")
    return failures + ([] if code != 0 and not row and "ASSAY_PYTHON" in log else [f"no Python: {log}"])


def check_nothing_else_is_run(c: AlgorithmChecker) -> list[str]:
    """A dump may hold files called like modules: none of them is imported, from the folder of the dump or where we stand."""
    folder = c.folder("hostile")
    for name in ("torch", "numpy", "json", "inspect", "importlib", "mine", "sitecustomize", "usercustomize"):
        (folder / f"{name}.py").write_text(f"open('{folder}/was_run', 'a').write('{name}')\n")
    for name in ("g.pth", "my_fp16.bin"):
        (folder / name).write_bytes((DATA / "single" / name).read_bytes())
    done = c.run(["msit", "llm", "compare", "-gp", "g.pth", "-mp", "my_fp16.bin", "-alg", f"{c.functions()}:whole"], folder)
    ran = folder / "was_run"
    return [] if done.returncode == 0 and "'whole': 7" in done.stdout and not ran.exists() else [f"{done.stdout} {ran.exists() and ran.read_text()}"]


def check_dumps(c: AlgorithmChecker) -> list[str]:
    """The tables of whole dumps, of one worker for all rows; rows that are not finite are not given to it."""
    folder = c.folder("dumps")
    pair = Pair(c.program, folder)
    x, y = numbers(1, 2, 3), numbers(2, 2, 3)
    pair.operator("First", "first-aten.x", [x], y)
    pair.operator("Second", "second-aten.x", [y], x * numpy.float32(numpy.nan))
    pair.table()
    path = c.functions()
    done = c.run(["msit", "llm", "compare", "-mp", pair.mine, "-gp", pair.golden, "-o", folder / "out", "-alg", f"{path}:apart", f"{path}:given"], folder)
    tables = list((folder / "out").glob("*.csv"))
    failures = []
    rows = [row for table in tables for row in rows_of(table)]
    if len(rows) != 4 or list(rows[0])[-3:] != ["apart", "given", "cmp_fail_reason"]:
        return [f"{done.returncode} {done.stdout} {rows}"]
    for row in rows:
        finite = "NAN" not in row["cmp_fail_reason"]
        if (row["apart"] == "0.0") != finite or ("(6,)" in row["given"]) != finite or finite and row["cmp_fail_reason"] not in ("said so", "first call said so"):
            failures.append(f"{row}")
    if sum("NAN" in row["cmp_fail_reason"] for row in rows) != 1:
        failures.append(f"{rows}")
    again = c.run(["msit", "llm", "compare", "-mp", pair.mine, "-gp", pair.golden, "-o", folder / "dead", "-alg", f"{path}:dies"], folder)
    reasons = [row["cmp_fail_reason"] for table in (folder / "dead").glob("*.csv") for row in rows_of(table)]
    if again.returncode != done.returncode or sum("signal 11" in reason for reason in reasons) != 3:
        failures.append(f"dies each time: {reasons}")
    atb = c.folder("atb")
    done = c.run(["msit", "llm", "compare", "-gp", DATA / "torch_bloom", "-mp", DATA / "atb_bloom", "-o", atb / "x", "-cl", "layer", "-alg", f"{path}:whole"], atb)
    rows = [row for table in (atb / "x").glob("*.csv") for row in rows_of(table)]
    if not rows or any(row["whole"] != ("7" if row["cosine_similarity"] else "") for row in rows):
        failures.append(f"ATB: {done.stdout} {rows[:2]}")
    return failures


def check_opcheck(c: AlgorithmChecker) -> list[str]:
    """Tensors as they were dumped, messages behind the name of their function."""
    folder = c.folder("opcheck")
    a, b = (numpy.random.default_rng(i).standard_normal((4, 6)).astype(numpy.float16) for i in (0, 1))
    for number, result in enumerate((a + b, a - b)):
        run = Run({"elewiseType": 8}, [Tensor("float16", a), Tensor("float16", b)], [Tensor("float16", result)], "")
        write_operator(token_folder(folder), number, "ElewiseOperation", run)
    path = c.functions()
    (folder / "out").mkdir()
    done = c.run(["msit", "llm", "opcheck", "-i", token_folder(folder), "-o", "out", "-alg", f"{path}:given", f"{path}:fails"], folder)
    (book,) = (folder / "out").glob("*.xlsx")
    with zipfile.ZipFile(book) as archive:
        text = "".join(archive.read(name).decode() for name in archive.namelist() if "sheet" in name or "shared" in name)
    words = ["given</t>", "fails</t>", "fail_reason</t>", "torch torch.float16 (4, 6)</t>", "given: said so, fails: function fails: ValueError: not me</t>",
             "not met standart: "]
    failures = [f"{word!r} is missing: {done.stdout} {text[-3000:]}" for word in words if word not in text]
    if not text.index("given</t>") < text.index("fails</t>") < text.index("fail_reason</t>") or done.returncode:
        failures.append(f"columns: {text}")
    return failures


def check_all(c: AlgorithmChecker) -> None:
    checks = [check_columns, check_numpy, check_wrong_functions, check_refused, check_nothing_else_is_run, check_dumps, check_opcheck]
    for check in checks:
        if c.wants(check.__name__):
            c.report(check.__name__, check(c))


if __name__ == "__main__":
    sys.exit(run_checks(__doc__, AlgorithmChecker, check_all))
