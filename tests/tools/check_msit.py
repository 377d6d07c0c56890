#!/usr/bin/python3
"""Run `assay msit llm` and its kin on the data in tests/data/atb and hold their files against those of the originals, cell by
cell; then on random input, with NumPy and PyTorch as the second opinion.

    check_msit.py --bin build/release [--only logitscmp] [--keep DIR]

A failure is a line 'case row column: got X, expected Y'. The last line is 'N passed, M failed'.
"""
from __future__ import annotations

import csv
import pathlib
import re
import subprocess
import sys

import msit_tables
from checker import Checker, run_checks, tail

DATA = pathlib.Path(__file__).resolve().parents[1] / "data" / "atb"


class MsitChecker(Checker):
    def run(self, argv: list[str], folder: pathlib.Path, tool: str = "msit") -> subprocess.CompletedProcess:
        return self.start([tool, *argv], folder)


def read_rows(path: pathlib.Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def differences(got: list[dict[str, str]], wanted: list[dict[str, str]], tolerances: dict[str, tuple[float, float]]) -> list[str]:
    """tolerances: by column, absolute and relative; a column that has none must be the same text."""
    if len(got) != len(wanted):
        return [f"rows: got {len(got)}, expected {len(wanted)}"]
    failures = []
    for line, (mine, peer) in enumerate(zip(got, wanted), 1):
        if list(mine) != list(peer):
            return [f"columns: got {','.join(mine)}, expected {','.join(peer)}"]
        for column, text in peer.items():
            absolute, relative = tolerances.get(column, (0.0, 0.0))
            a, b = number(mine[column]), number(text)
            near = column in tolerances and None not in (a, b) and abs(a - b) <= absolute + relative * abs(b)
            if mine[column] != text and not near:
                failures.append(f"row {line} {column}: got {mine[column]}, expected {text}")
    return failures


# The original takes the KL divergence in single precision.
LOGITS_TOLERANCES = {"kl_divergence": (1e-6, 1e-5)}


def logits_result(done: subprocess.CompletedProcess, folder: pathlib.Path) -> tuple[pathlib.Path | None, list[str]]:
    if done.returncode != 0:
        return None, [f"exit code: got {done.returncode}, expected 0; {tail(done.stdout)}"]
    found = [path for path in (folder / "output").iterdir() if re.fullmatch(r"logits_cmp_res_\d{14}\.csv", path.name)]
    if len(found) != 1:
        return None, [f"files: got {len(found)}, expected one logits_cmp_res_*.csv"]
    text = found[0].read_bytes()
    failures = [] if text.count(b"\n") == text.count(b"\r\n") else ["line ends: got \\n, expected \\r\\n"]
    mode = found[0].stat().st_mode & 0o777
    return found[0], failures + ([] if mode == 0o640 else [f"mode: got {mode:o}, expected 640"])


def check_logits_golden(checker: MsitChecker) -> None:
    if not checker.wants("logitscmp"):
        return
    for tool in ("msit", "ait"):
        folder, data = checker.folder("logitscmp"), DATA / "logitscmp"
        done = checker.run(["llm", "logitscmp", "-gp", str(data / "golden"), "-mp", str(data / "my")], folder, tool)
        path, failures = logits_result(done, folder)
        if path is not None:
            failures += differences(read_rows(path), read_rows(data / "expected.csv"), LOGITS_TOLERANCES)
        checker.report(f"logitscmp {tool}", failures)


def check_logits_torch(checker: MsitChecker) -> None:
    """Rows of random logits of every dtype and shape against PyTorch's own numbers."""
    if not checker.wants("logitscmp_torch"):
        return
    import torch
    folder = checker.folder("logitscmp_torch")
    generator = torch.Generator().manual_seed(5)
    expected = {}
    for side in ("golden", "my"):
        (folder / side).mkdir()
    cases = [(key, dtype, shape, noise) for key, (dtype, shape) in enumerate((
        (torch.float32, (1, 1000)), (torch.float16, (777,)), (torch.bfloat16, (1, 33)), (torch.float64, (2, 40)),
        (torch.float32, (1,)))) for noise in (0.0, 1e-4, 0.3)]
    for token, (key, dtype, shape, noise) in enumerate(cases):
        golden = (torch.randn(shape, generator=generator) * 5 + 1).to(dtype)
        my = (golden.double() + noise * torch.randn(shape, generator=generator).double()).to(dtype)
        name = f"logits_task_{key}_{token}.pth"
        torch.save(golden, folder / "golden" / name)
        torch.save(my, folder / "my" / name)
        expected[name] = logits_row(golden.flatten().double(), my.flatten().double(), name, key, token)
    done = checker.run(["llm", "logitscmp", "-gp", "golden", "-mp", "my", "-d", "bf16", "-kl", "0.001"], folder)
    path, failures = logits_result(done, folder)
    if path is not None:
        tolerances = {"kl_divergence": (1e-9, 1e-6), "l1_norm": (1e-12, 1e-9), "cosine_similarity": (1e-9, 0)}
        failures += differences(read_rows(path), [expected[name] for name in expected], tolerances)
    checker.report("logitscmp_torch", failures)


def logits_row(golden, my, name: str, key: int, token: int) -> dict[str, str]:
    import torch
    cosine = round(torch.cosine_similarity(golden, my, dim=0).item(), 10)
    kl = max(torch.nn.functional.kl_div(my.log_softmax(0), golden.softmax(0), reduction="sum").item(), 0.0)
    l1 = (my.abs().sum() / golden.abs().sum() - 1).item()
    largest = my.float().max()
    distance = (golden.float().max() - largest).abs().item()
    row = {"file_name": name, "key": str(key), "token_id": str(token)}
    if largest == 0:
        return row | dict.fromkeys(("cosine_similarity", "kl_divergence", "l1_norm", "ulp_max_diff", "ulp", "passed"), "NA") | {
            "cmp_fail_reason": "max value is 0, cannot compute ulp"}
    ulp = (2 ** torch.floor(torch.log2(largest)) * 2 ** -7).item()
    passed = (cosine > 0.999 and kl < 0.001 and l1 < 0.01) or distance <= ulp
    return row | {"cosine_similarity": repr(cosine), "kl_divergence": repr(kl), "l1_norm": repr(l1), "ulp_max_diff": repr(distance),
                  "ulp": repr(ulp), "passed": str(passed), "cmp_fail_reason": ""}


def check(checker: MsitChecker) -> None:
    msit_tables.check_tables(checker)
    msit_tables.check_old_tables(checker)
    msit_tables.check_rope(checker)
    msit_tables.check_statistics(checker)
    msit_tables.check_weights(checker)
    msit_tables.check_single_files(checker)
    msit_tables.check_vectors(checker)
    msit_tables.check_msprobe(checker)
    msit_tables.check_round_vectors(checker)
    check_logits_golden(checker)
    check_logits_torch(checker)


if __name__ == "__main__":
    sys.exit(run_checks(__doc__, MsitChecker, check))
