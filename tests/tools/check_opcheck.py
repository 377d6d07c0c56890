#!/usr/bin/python3
"""Holds `assay opcheck` against operators whose outputs are known.

- tests/data/opcheck: vectors of every operator, which must pass as they are, and must not when they are spoilt.
- golden_cases_*.py: honest runs of each operator in NumPy and PyTorch, in f16, bf16 and f32, at random odd sizes, which must
  pass; and wrong ones, which must not. --rounds N makes as many of each; the counts that docs/operators.md shows are those of
  1000.
"""
from __future__ import annotations

import argparse
import collections
import dataclasses
import importlib
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

import numpy as np

from golden_case import Case, Run, Tensor, tensor_of
from golden_dump import dump_folder, token_folder, write_operator

HERE = pathlib.Path(__file__).resolve().parent
DATA = HERE.parent / "data" / "opcheck"
MOST_SEEN = 6  # failures that are printed of one kind
FAULTS_CAUGHT = 0.99


def fixture(case: dict) -> Run:
    def read(of: dict) -> Tensor:
        return Tensor(of["dtype"], np.load(DATA / of["file"]).reshape(of["shape"]))
    return Run(case["op_param"], [read(t) for t in case["inputs"]], [read(t) for t in case["golden"]], case["soc"])


# What these vectors hold was rounded on the way, as no processor that accumulates in f32 does: PyTorch's bf16 product of
# matrices adds up in bf16, and the original's attention multiplies f16 in bf16. They are no honest f16 and bf16 runs, and are
# off by no more than such rounding makes of them.
ROUNDED_ON_THE_WAY = {"linear_bf16_ta": 0.05, "sa_pa_encoder": 0.03}


# The original adds 1,000 terms in the lanes of its processor, and takes the softmax of one element before it repeats it.
OTHER_DIGITS = {("999/1000", "kl_div"), ("bcast", "kl_div")}


def spoil(tensor: Tensor) -> Tensor | None:
    """Its last element wrong by far more than rounding explains."""
    array = np.array(tensor.array)
    flat = array.reshape(-1)
    if flat.size == 0:
        return None
    if tensor.dtype == "bool":
        flat[-1] = not flat[-1]
    elif tensor.dtype == "bfloat16":
        flat[-1] ^= 0x4040
    elif tensor.dtype.startswith("float"):
        flat[-1] = flat[-1] * 1.5 + 1
    else:
        flat[-1] = flat[-1] + 3 if flat[-1] < 100 else flat[-1] - 3
    return Tensor(tensor.dtype, array)


class OpChecks:
    def __init__(self, program: pathlib.Path, work: pathlib.Path, rounds: int, only: str | None, seed: int) -> None:
        self.program, self.work, self.rounds, self.only, self.seed = program, work, rounds, only, seed
        self.passed = self.failed = 0
        self.table: dict[tuple[str, str], list[int]] = collections.defaultdict(lambda: [0, 0, 0, 0])

    def verdicts(self, runs: list[tuple[str, Run]], before: bool = True) -> list[list[dict]]:
        """Of each run the rows of its outputs. Runs of one kind of processor at a time: a command has one --soc."""
        rows: list[list[dict]] = [[] for _ in runs]
        for soc in {run.soc for _, run in runs}:
            root = pathlib.Path(tempfile.mkdtemp(dir=self.work))
            names = {}
            for number, (op, run) in enumerate(runs):
                if run.soc != soc:
                    continue
                own = run.params.get("rank", 0) if run.ranks else 0
                names[write_operator(token_folder(root, own), number, op, run, before)] = number
                for rank, inputs in enumerate(run.ranks):
                    if rank != own:
                        write_operator(token_folder(root, rank), number, op, Run(run.params, inputs, []), before)
            command = [self.program, "opcheck", dump_folder(root), "--report", "jsonl", "--output", root / "out", "-q"]
            done = subprocess.run(command + (["--soc", soc] if soc else []), capture_output=True, text=True, timeout=600)
            results = list((root / "out").glob("*.jsonl"))
            if done.returncode not in (0, 1, 2) or not results:
                sys.exit(f"opcheck ended with {done.returncode}: {done.stderr[-2000:]}")
            for line in results[0].read_text().splitlines():
                row = json.loads(line)
                if "verdict" in row and row.get("mine"):
                    rows[names[row["mine"].split("/")[0]]].append(row)
            shutil.rmtree(root)
        return rows

    def count(self, title: str, wrong: list[str]) -> None:
        self.passed += not wrong
        self.failed += bool(wrong)
        for each in wrong[:MOST_SEEN]:
            print(f"{title}: {each}")

    def check_fixtures(self) -> None:
        cases = [c for c in json.loads((DATA / "index.json").read_text())["cases"] if not self.only or self.only in c["op"]]
        runs = [(c["op"], fixture(c)) for c in cases]
        for case, (_, run), rows in zip(cases, runs, self.verdicts(runs, before=False)):
            if case["name"] in ROUNDED_ON_THE_WAY:
                limit = ROUNDED_ON_THE_WAY[case["name"]]
                self.count(f"fixture {case['name']}",
                           [f"{r['verdict']}, rel_l2 {r['rel_l2']}" for r in rows
                            if r["verdict"] != "fail" or not 0 < r["rel_l2"] < limit])
                continue
            wrong = [f"{r['verdict']}: {r.get('reason') or r.get('note')}" for r in rows if r["verdict"] != "pass"]
            if len(rows) != len(run.outputs):
                wrong.append(f"{len(rows)} rows of {len(run.outputs)} outputs")
            self.count(f"fixture {case['name']}", wrong)
        spoilt = []
        for case, (op, run) in zip(cases, runs):
            outputs = [spoil(t) or t for t in run.outputs]
            spoilt.append((op, dataclasses.replace(run, outputs=outputs)))
        for case, rows in zip(cases, self.verdicts(spoilt)):
            self.count(f"spoilt fixture {case['name']}",
                       [f"passes: {r['mine']}" for r in rows if r["verdict"] not in ("fail", "ignored")])

    def check_vectors(self) -> None:
        """The numbers and words of the original, cell by cell. An operator that repeats its input once has it for golden."""
        import openpyxl  # only here: what the rest does needs NumPy and PyTorch alone
        cases = json.loads((DATA / "compare_vectors.json").read_text())["cases"]
        root = pathlib.Path(tempfile.mkdtemp(dir=self.work))
        token = token_folder(root)

        def tensor(dtype: str, values: list) -> Tensor:
            array = np.array(values, dtype=np.float64)
            return tensor_of(dtype, array)
        for number, case in enumerate(cases):
            write_operator(token, number, "RepeatOperation",
                           Run({"multiples": [1]}, [tensor(case["golden_dtype"], case["golden"])],
                               [tensor(case["out_dtype"], case["out"])]))
        (root / "out").mkdir()
        done = subprocess.run([self.program, "msit", "llm", "opcheck", "-i", token, "-o", root / "out", "-metric", "abs", "kl",
                               "cos_sim"], capture_output=True, text=True, timeout=120)
        results = list((root / "out").glob("opcheck_result_*.xlsx"))
        if not results:
            self.count("msit llm opcheck", [f"wrote nothing: {done.stderr[-500:]}"])
            return
        sheet = openpyxl.load_workbook(results[0])["opcheck_result"]
        head, *rows = sheet.iter_rows(values_only=True)
        table = {int(row[0]): dict(zip(head, row)) for row in rows}
        columns = {"result": "precision_result", "precision_standard": "precision_standard",
                   "rel_pass_rate": "rel_precision_rate(%)", "max_rel": "max_rel_error", "abs_pass_rate": "abs_precision_rate(%)",
                   "max_abs": "max_abs_error", "cos_sim": "cosine_similarity", "kl_div": "kl_divergence",
                   "fail_reason": "fail_reason"}
        for number, case in enumerate(cases):
            row = table[number]
            if "raises" in case:  # ours has a row and a reason
                is_equal = case["out"] == case["golden"] and case["out"]
                wrong = [] if row["precision_result"] == ("PASS" if is_equal else "FAILED") else [str(row)]
            else:
                wrong = [f"{column}: {row[column]!r}, the original {case[key]!r}" for key, column in columns.items()
                         if (row[column] or "") != case[key] and (case["name"], key) not in OTHER_DIGITS]
            self.count(f"vector {case['name']}", wrong)

    def check_cases(self) -> None:
        for path in sorted(HERE.glob("golden_cases_*.py")):
            for case in importlib.import_module(path.stem).CASES:
                if not self.only or self.only in case.op:
                    self.check_case(case)

    def check_case(self, case: Case) -> None:
        rng = np.random.default_rng([self.seed, *case.op.encode(), *case.name.encode()])
        left = self.rounds
        honest = self.table[case.op, case.name]
        alarms: list[str] = []
        missed: collections.Counter = collections.Counter()
        tried: collections.Counter = collections.Counter()
        while left > 0:
            runs = [case.make(rng) for _ in range(min(left, 50))]
            left -= len(runs)
            # All in one dump: to start the program takes longer than to check an operator.
            spoilt = [(fault, dataclasses.replace(run, outputs=change(rng, run)), run)
                      for fault, change in case.faults.items() for run in runs]
            spoilt = [each for each in spoilt if differs(each[1], each[2])]
            found = self.verdicts([(case.op, run) for run in runs] + [(case.op, run) for _, run, _ in spoilt])
            for run, rows in zip(runs, found):
                bad = [r for r in rows if r["verdict"] not in ("pass", "ignored")]
                honest[0] += 1
                honest[1] += bool(bad) or not rows
                alarms += [f"{r['verdict']}: {r.get('reason') or r.get('note')} {json.dumps(run.params)}" for r in bad]
            for (fault, _, _), rows in zip(spoilt, found[len(runs):]):
                tried[fault] += 1
                missed[fault] += not any(r["verdict"] == "fail" for r in rows)
        honest[2] += sum(tried.values())
        honest[3] += sum(missed.values())
        self.count(f"honest {case.op} {case.name}", alarms)
        self.count(f"faults {case.op} {case.name}",
                   [f"{fault}: {missed[fault]} of {tried[fault]} passed" for fault in tried
                    if missed[fault] > (1 - FAULTS_CAUGHT) * tried[fault]])

    def print_table(self) -> None:
        print("| operator | case | honest runs | alarms | faults | missed |\n|---|---|---|---|---|---|")
        for (op, name), (runs, alarms, faults, missed) in sorted(self.table.items()):
            print(f"| {op} | {name} | {runs} | {alarms} | {faults} | {missed} |")


def differs(wrong: Run, honest: Run) -> bool:
    """A fault that happens to change nothing is none."""
    return any(w.array.shape != h.array.shape or w.array.tobytes() != h.array.tobytes()
               for w, h in zip(wrong.outputs, honest.outputs))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, required=True, help="folder with the assay program")
    parser.add_argument("--rounds", type=int, default=2, help="honest runs of each case")
    parser.add_argument("--only", help="operators with this in their names")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--table", action="store_true", help="print what docs/operators.md shows")
    options = parser.parse_args()
    work = pathlib.Path(tempfile.mkdtemp())
    checks = OpChecks((options.bin / "assay").resolve(), work, options.rounds, options.only, options.seed)
    try:
        checks.check_fixtures()
        if not options.only:
            checks.check_vectors()
        checks.check_cases()
    finally:
        shutil.rmtree(work, ignore_errors=True)
    if options.table:
        checks.print_table()
    print(f"{checks.passed} passed, {checks.failed} failed")
    return checks.failed > 0


if __name__ == "__main__":
    sys.exit(main())
