"""Dumps of a real PyTorch model through `assay msprobe`, with NumPy as the second opinion. Part of check_msprobe.py."""
from __future__ import annotations

import json
import math
import pathlib
import tempfile
from typing import NamedTuple

import numpy as np
import torch

from msprobe_capture import capture
from msprobe_tables import Table, number, read_table

METRICS = ("Cosine", "EucDist", "MaxAbsErr", "MaxRelativeErr", "One Thousandth Err Ratio", "Five Thousandths Err Ratio")


class Planted(NamedTuple):
    task: str
    level: str
    fault: str
    at: str
    amount: float
    stack: str = "new"


# Each is strong enough for msprobe's own thresholds, but for two: msprobe passes them, the numbers still show where they begin.
PLANTED = [
    Planted("tensor", "L0", "noise", "layers.1.fc1", 1.0),
    Planted("tensor", "L1", "noise", "layers.0.attention.qkv", 1.0, "old"),
    Planted("tensor", "mix", "nan", "layers.0.norm2", 0.0),
    Planted("tensor", "L0", "scale", "layers.0.fc2", 1.01),
    Planted("tensor", "mix", "bf16", "layers.1.attention.proj", 0.0),
    Planted("statistics", "L0", "scale", "layers.1.fc1", 3.0, "old"),
    Planted("statistics", "mix", "scale", "layers.0.fc1", 3.0),
    Planted("md5", "L1", "scale", "layers.1.fc2", 1.01),
    Planted("md5", "mix", "bf16", "layers.1.act", 0.0),
]
BELOW_THRESHOLD = {"scale", "bf16"}  # in the tensor task


def round_12(value: float) -> float:
    return float(f"{value:.12f}")


def numpy_metrics(n: np.ndarray, b: np.ndarray, generation: str) -> dict[str, object]:
    """The six metrics of a pair of float tensors of one shape and dtype, two elements at least, by their definitions."""
    x, y = n.astype(np.float64).ravel(), b.astype(np.float64).ravel()
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        if (np.isnan(x) != np.isnan(y)).any() or (np.isinf(x) != np.isinf(y)).any():
            return dict.fromkeys(METRICS, "N/A")
        bad = ~np.isfinite(x)
        x[bad] = y[bad] = 0
        n, b = x.astype(n.dtype), y.astype(b.dtype)
    n, b = n.ravel().copy(), b.ravel().copy()
    eps = np.finfo(np.float64).eps if generation == "g2" else np.finfo(n.dtype).eps
    zero = b == 0
    n[zero] += n.dtype.type(eps)
    b[zero] += b.dtype.type(eps)
    relative = np.abs((n - b) / b)
    lengths = np.linalg.norm(x), np.linalg.norm(y)
    tiny = [length <= np.finfo(np.float64).eps for length in lengths]
    if all(tiny):
        cosine = 1.0
    elif any(tiny):
        cosine = "Nan"
    else:
        cosine = round_12(x @ y / (lengths[0] * lengths[1]))
        cosine = round(cosine, 6) if cosine > 0.9999 else cosine
    return {"Cosine": cosine, "EucDist": float(np.linalg.norm(x - y)), "MaxAbsErr": round_12(np.abs(x - y).max()),
            "MaxRelativeErr": round_12(relative.max()), "One Thousandth Err Ratio": round_12((relative < 0.001).mean()),
            "Five Thousandths Err Ratio": round_12((relative < 0.005).mean())}


def close(got, wanted) -> bool:
    value = number(got)
    if value is None or isinstance(wanted, str):
        return got == wanted
    # Two units of the twelfth decimal: a sum in another order may round to the other side.
    return math.isclose(value, wanted, rel_tol=1e-12, abs_tol=2e-12)


def check_metrics(table: Table, mine: pathlib.Path, golden: pathlib.Path, generation: str) -> list[str]:
    failures = []
    for line, row in enumerate(table.rows, 1):
        names = [part.strip("[]' ") for part in row["Data_name"].split(",")]
        if "-1" in names or "N/A" in names:
            continue
        n, b = (torch.load(side / "dump_tensor_data" / name).numpy() for side, name in zip((mine, golden), names))
        if n.size < 2:
            continue
        for column, wanted in numpy_metrics(n, b, generation).items():
            if not close(row[column], wanted):
                failures.append(f"row {line} {column}: got {row[column]!r}, expected {wanted!r} from NumPy")
    return failures


def first_row(table: Table, wanted) -> str | None:
    return next((row["NPU Name"] for row in table.rows if wanted(row)), None)


def is_bad(row: dict) -> bool:
    """What msprobe itself calls a failure, in any of its generations."""
    return row.get("Accuracy Reached or Not") == "No" or row.get("Result") in ("Warning", "Different", "error")


def is_different(row: dict) -> bool:
    return row.get("MaxAbsErr") == "N/A" or isinstance(row.get("MaxAbsErr"), (int, float)) and row["MaxAbsErr"] > 0


def compare(checker, folder: pathlib.Path, words: list[str], pattern: str) -> tuple[list[pathlib.Path], list[str]]:
    """Runs a comparison in `folder`; answers the result files that match, and what went wrong."""
    done = checker.run(words, folder)
    if done.returncode:
        return [], [f"exit code: got {done.returncode}, expected 0; {done.stdout.strip()[-300:]}"]
    found = sorted((folder / "out").glob(pattern))
    return found, [] if found else [f"files: got none like {pattern}"]


NEW_FORM = ["compare", "-tp", "mine/dump.json", "-gp", "golden/dump.json", "-o", "out"]


def old_form(folder: pathlib.Path, below: str = "dump.json") -> list[str]:
    config = {"npu_path": f"./mine/{below}", "bench_path": f"./golden/{below}"}
    (folder / "compare.json").write_text(json.dumps(config))
    return ["-f", "pytorch", "compare", "-i", "compare.json", "-o", "out", "-s"]


def check_native(checker, folder: pathlib.Path, code: int, name: str | None) -> list[str]:
    done = checker.start(["compare", "mine/dump.json", "golden/dump.json"], folder)
    if done.returncode != code:
        return [f"assay compare: got exit code {done.returncode}, expected {code}; {done.stdout.strip()[-300:]}"]
    return [f"assay compare: got no word of {name}"] if name and name not in done.stdout else []


def check_identical(checker, task: str, level: str) -> list[str]:
    folder = pathlib.Path(tempfile.mkdtemp(dir=checker.work))
    for side in ("mine", "golden"):
        capture(folder / side, task, level)
    results, failures = compare(checker, folder, old_form(folder), "compare_result_*.xlsx")
    for path in results:
        table = read_table(path)
        bad = first_row(table, lambda row: is_bad(row) or is_different(row) or row["Bench Name"] != row["NPU Name"])
        failures += [f"identical dumps: got {bad} as different"] if bad else []
        failures += [f"rows: got {len(table.rows)}"] if len(table.rows) < 100 else []
    for path in sorted((folder / "out").glob("advisor_*.txt")) if results else []:
        if "meets the accuracy requirements" not in path.read_text():
            failures.append(f"advisor: got {path.read_text()!r}")
    results, trouble = compare(checker, folder, NEW_FORM, "compare_result_*.csv")
    bad = first_row(read_table(results[0]), lambda row: row["Result"] != "pass") if results else None
    failures += trouble + ([f"identical dumps, new form: got {bad} as bad"] if bad else [])
    return failures + check_native(checker, folder, 0, None)


def check_planted(checker, plan: Planted) -> list[str]:
    folder = pathlib.Path(tempfile.mkdtemp(dir=checker.work))
    spoiled = capture(folder / "mine", plan.task, plan.level, plan.fault, plan.at, plan.amount, plan.stack)
    capture(folder / "golden", plan.task, plan.level, stack_layout=plan.stack)
    wanted = f"{spoiled}.output.0"
    results, failures = compare(checker, folder, old_form(folder), "compare_result_*.xlsx")
    if not results:
        return failures
    table = read_table(results[0])
    quiet = plan.task == "tensor" and plan.fault in BELOW_THRESHOLD
    first = first_row(table, is_different if quiet else is_bad)
    if first != wanted:
        failures.append(f"first {'different' if quiet else 'failing'} row: got {first}, expected {wanted}")
    stack = next((row["NPU_Stack_Info"] for row in table.rows if row["NPU Name"].startswith(spoiled)), "")
    if "msprobe_capture.py" not in stack:
        failures.append(f"stack of {spoiled}: got {stack!r}, expected the lines that called it")
    advice = "".join(path.read_text() for path in (folder / "out").glob("advisor_*.txt"))
    if not quiet and f"Suspect Nodes: {wanted}\n" not in advice:
        failures.append(f"advisor: got {advice!r}, expected {wanted}")
    if not quiet and f"whose output does not: {spoiled}, called at File " not in advice:
        failures.append(f"advisor: got {advice!r}, expected {spoiled} and where it was called")
    if not quiet:
        failures += check_native(checker, folder, 1, spoiled)
    if plan.task == "tensor":
        failures += check_metrics(table, folder / "mine", folder / "golden", "g2")
        results, trouble = compare(checker, folder, NEW_FORM, "compare_result_*.csv")
        failures += trouble
        if results:
            failures += check_metrics(read_table(results[0]), folder / "mine", folder / "golden", "g3")
    return failures


def check_ranks(checker) -> list[str]:
    """Two ranks, the fault on the second only."""
    folder = pathlib.Path(tempfile.mkdtemp(dir=checker.work))
    spoiled = None
    for side in ("mine", "golden"):
        for rank in (0, 1):
            fault = ("scale", "layers.1.fc1", 3.0) if (side, rank) == ("mine", 1) else (None, None, 1.0)
            spoiled = capture(folder / side / "step0" / f"rank{rank}", "statistics", "L0", *fault, seed=rank) or spoiled
    results, failures = compare(checker, folder, old_form(folder, "step0"), "compare_result_rank*.xlsx")
    firsts = [first_row(read_table(path), is_bad) for path in results]
    if not failures and firsts != [None, f"{spoiled}.output.0"]:
        failures.append(f"first failing rows of the ranks: got {firsts}, expected none and {spoiled}.output.0")
    return failures


def check_model(checker) -> None:
    for task, level in (("tensor", "L0"), ("tensor", "mix"), ("statistics", "L1"), ("md5", "mix")):
        if checker.wants("model"):
            checker.report(f"model {task} {level} identical", check_identical(checker, task, level))
    for plan in PLANTED:
        if checker.wants("model"):
            checker.report(f"model {plan.task} {plan.level} {plan.fault} at {plan.at}", check_planted(checker, plan))
    if checker.wants("model"):
        checker.report("model ranks", check_ranks(checker))
