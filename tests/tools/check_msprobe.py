#!/usr/bin/python3
"""Run `assay msprobe` on the dumps in tests/data/msprobe and hold its files against those of msprobe itself, cell by cell;
then run it on broken input, and on dumps of a real PyTorch model with a planted fault.

    check_msprobe.py --bin build/release [--only ms_tensor_edge] [--keep DIR]

A failure is a line 'case generation row column: got X, expected Y'. The last line is 'N passed, M failed'.
"""
from __future__ import annotations

import json
import pathlib
import re
import shutil
import subprocess
import sys
from typing import Callable, NamedTuple

from checker import Checker, run_checks, tail
from msprobe_tables import (OPERANDS, Table, agrees, differences, read_csv, read_fills, read_table, sorted_rows,
                            with_relative_paths)

DATA = pathlib.Path(__file__).resolve().parents[1] / "data" / "msprobe"
OUT = "results/run"  # neither level exists yet; both must be made
STAMP = r"(\d{14}|\d{19})"


class Case(NamedTuple):
    name: str  # folder below DATA
    generation: str
    argv: list[str]
    prefix: str = ""  # of the files in expected/; the generation if empty
    also: tuple[str, ...] = ()  # suffixes of result files that must be there and are not compared
    reason: str = ""  # set where the peer fails on this command: what ours has to give, and why
    code: int = 0  # 2 where less than half of the tensors are compared; the peer ends with 0 all the same


def old(framework: str, *flags: str, config: str = "compare.json", profile: str = "") -> list[str]:
    words = ["-f", framework, "compare", "-i", config, "-o", OUT, *flags]
    return words + ["--profile", profile] if profile else words


def new(*flags: str, target: str = "npu/dump.json", golden: str = "bench/dump.json") -> list[str]:
    return ["compare", "-tp", f"./{target}", "-gp", f"./{golden}", "-o", OUT, *flags]


def consistent(backend: str, *flags: str, target: str = "npu/dump.json") -> list[str]:
    return new("--consistent_check", "--backend", backend, *flags, target=target)


CASES = [
    Case("pt_g1", "g1", old("pytorch", "-s", profile="g1"), code=2),  # where the walk of generation 1 ends
    Case("pt_g1", "g2", old("pytorch", "-s", "-hl")),
    Case("pt_l0_tensor", "g1", old("pytorch", profile="g1")),
    Case("pt_l0_tensor", "g2", old("pytorch", "-s", "-hl")),
    Case("pt_l0_tensor", "g3", new()),
    Case("pt_l1_stats", "g1", old("pytorch", profile="g1")),
    Case("pt_l1_stats", "g2", old("pytorch", "-hl")),
    Case("pt_l1_stats", "g3", new()),
    Case("pt_l1_md5", "g1", old("pytorch", profile="g1")),
    Case("pt_l1_md5", "g2", old("pytorch")),
    Case("ms_tensor_edge", "g1", old("mindspore", "-s", profile="g1")),
    Case("ms_tensor_edge", "g2", old("mindspore", "-s", "-hl")),
    Case("ms_tensor_edge", "g3", new()),
    Case("ms_stats_edge", "g1", old("mindspore", "-s", profile="g1")),
    Case("ms_stats_edge", "g2", old("mindspore", "-s", "-hl")),
    Case("ms_stats_edge", "g3", new()),
    Case("ms_md5", "g1", old("mindspore", "-s", profile="g1")),
    Case("ms_md5", "g2", old("mindspore", "-s")),
    Case("ms_md5", "g2", old("mindspore", "-s", profile="g2")),
    Case("ms_md5", "g3", new()),
    Case("am", "g2", old("mindspore", "-am"), "g2_builtin"),
    Case("am", "g2", old("mindspore", "-am", "api_mapping.yaml"), "g2_user"),
    Case("cm", "g2", old("mindspore", "-cm", "cell_mapping.yaml"), "g2_user"),
    Case("dm", "g1", old("mindspore", "-dm", "data_mapping.yaml", profile="g1")),
    Case("dm", "g2", old("mindspore", "-dm", "data_mapping.yaml")),
    Case("dm", "g3", new("-dm", "data_mapping.yaml")),
    Case("lm", "g1", old("mindspore", "-s", "-c", "-lm", "layer_mapping.yaml", profile="g1")),
    Case("lm", "g2", old("mindspore", "-c", "-lm", "layer_mapping.yaml"), "g2_top"),
    Case("lm", "g2", old("mindspore", "-c", "-lm", "layer_mapping_seed.yaml"), "g2_top"),
    Case("kernel", "g2", old("mindspore"), also=("_1_0",)),
    Case("kernel", "g2", old("mindspore", config="compare_rank1.json"), "g2_rank1"),
    Case("kernel", "g3", new("--rank", "", target="npu", golden="bench"), also=("_1_0",)),
    Case("kernel_stat", "g2", old("mindspore")),
    Case("kernel_stat", "g3", new("--rank", "", target="npu", golden="bench")),
    Case("multi_rank", "g1", old("pytorch", profile="g1")),
    Case("multi_rank", "g2", old("pytorch", "-s")),
    Case("multi_rank", "g3", new(target="npu/step0", golden="bench/step0"), also=("_rank1", "_rank2")),
    Case("fuzzy", "g1", old("pytorch", "-f", profile="g1")),
    Case("fuzzy", "g2", old("pytorch", "-f")),
    Case("fuzzy", "g3", new("-fm")),
    Case("pt_process", "g3", new(target="npu/step0", golden="bench/step0")),
    Case("pt_debug_process", "g3", new(target="npu/step0", golden="bench/step0")),
    Case("pt_xor", "g3", new(target="npu/step0", golden="bench/step0")),
    Case("pt_xor", "g3", new("--xlsx", target="npu/step0", golden="bench/step0"), "g3_xlsx"),
    Case("pt_truth", "g2", old("pytorch")),
    Case("pt_truth", "g3", new("--xlsx", target="npu/step0", golden="bench/step0"), "g3_xlsx"),
    Case("train_infer_fsdp", "g3", consistent("fsdp")),
    Case("train_infer_calls", "g3", consistent("fsdp")),
    Case("train_infer_megatron", "g3", consistent("megatron")),
    Case("train_infer_tensor", "g3", consistent("fsdp")),
    Case("train_infer_tensor", "g3", consistent("megatron", target="npu_megatron/dump.json"), "g3_megatron"),
    Case("pt_first_difference", "g3", new("-da", target="npu/step0", golden="bench/step0"), "g3_da"),
    Case("pt_any_difference", "g2", old("pytorch", "-da"), "g2_da"),
    Case("am", "g2", old("mindspore", "-am", "api_mapping_doc.yaml"), "g2_builtin",
         reason="the manual's api_mapping is one object; the peer wants a list and crashes. This one says what the table says"),
    Case("multi_rank", "g2", old("pytorch", "-s", config="compare_comments.json"),
         reason="the manual's compare.json has comments; the peer's JSON reader refuses them"),
    Case("pt_l1_stats", "g2", old("pytorch", "-hl", "-f"),
         reason="the peer crashes on -f with statistics; both sides have the same calls, so -f changes nothing"),
    Case("pt_l1_md5", "g2", old("pytorch", "-f"),
         reason="the peer crashes on -f with CRCs; both sides have the same calls, so -f changes nothing"),
]


class Deliberate(NamedTuple):
    case: str
    generation: str
    column: str
    rows: Callable[[int, dict], bool]  # given the number of the row and the peer's row
    ours: Callable[[str], str]  # from the peer's text to ours
    reason: str


ZERO_D = ("This is type of 0-d tensor, can not calculate 'Cosine', 'EucDist', 'One Thousandth Err Ratio' and "
          "'Five Thousandths Err Ratio'. ")
RATIO_FELL = "The input's one thousandth err ratio exceeds 0.9, while the output's is below 0.6"
DRIFT = "the peer's groups slip by one after a kwargs row; ours stay those of the ops, so these outputs are red"
SLIP = "the peer's groups slip by one after an op without inputs or outputs; ours stay those of the ops"
IN_PLACE = "the peer adds its epsilon to the tensors themselves before the cosine; ours is the cosine of what was dumped"
DTYPE = '"error: The dtype of NPU and Bench are inconsistent."'
NAMES = "the peer compares the names of element types, and Float32 is never torch.float32; ours are the same type"
LEFT_EMPTY = "the peer has no word for a row without a counterpart; ours has that of its other tables"
DELIBERATE = [
    Deliberate("lm", "g1", "Result", lambda _, row: row["Bench Name"] == "N/A", lambda _: "N/A", LEFT_EMPTY),
    Deliberate("lm", "g1", "Err_message", lambda _, row: row["Bench Name"] == "N/A", lambda _: "No bench data matched.",
               LEFT_EMPTY),
    Deliberate("dm", "g3", "Err_message", lambda _, row: DTYPE in row["Err_message"],
               lambda text: text.replace(DTYPE + ", ", "").replace(DTYPE, ""), NAMES),
    Deliberate("dm", "g3", "Result", lambda _, row: row["Err_message"] == f"[{DTYPE}]", lambda _: "pass", NAMES),
    Deliberate("ms_tensor_edge", "g2", "Err_message", lambda _, row: row["Err_message"].count(ZERO_D) == 16,
               lambda text: text.replace(ZERO_D * 16, ZERO_D), "the peer repeats the message of a 0-d tensor 16 times"),
    Deliberate("ms_tensor_edge", "g1", "fill", lambda line, _: line in (38, 43, 45), lambda _: "FFFF0000", DRIFT),
    # Three inputs of row 38 have a ratio of 1: input.3, input.11 and kwargs.out. The two cells have one input each.
    Deliberate("ms_tensor_edge", "g1", "Err_message", lambda line, _: line == 38, lambda _: "\n".join([RATIO_FELL] * 3), DRIFT),
    Deliberate("ms_tensor_edge", "g1", "Err_message", lambda line, _: line in (43, 45), lambda _: RATIO_FELL, DRIFT),
    # Two ops without inputs stand before row 32; its op has two inputs with maxima to hold it against.
    Deliberate("pt_g1", "g1", "fill", lambda line, _: line == 32, lambda _: "FFFF0000", SLIP),
    Deliberate("pt_g1", "g1", "Err_message", lambda line, _: line == 32,
               lambda text: "\n".join([text] + ["maximum relative error exceeds 0.5"] * 2), SLIP),
    # Bench is all zeros in row 18; row 19 has one zero. The cosines are those of the later generations.
    Deliberate("ms_tensor_edge", "g1", "Cosine", lambda line, _: line == 18, lambda _: "Nan", IN_PLACE),
    Deliberate("ms_tensor_edge", "g1", "Accuracy Reached or Not", lambda line, _: line == 18, lambda _: "Yes", IN_PLACE),
    Deliberate("ms_tensor_edge", "g1", "Err_message", lambda line, _: line == 18,
               lambda _: "Cannot compare by Cosine Similarity, All the data is Zero in Bench dump data.", IN_PLACE),
    Deliberate("ms_tensor_edge", "g1", "Cosine", lambda line, _: line == 19, lambda _: "0.989247780702", IN_PLACE),
]


class Addition(NamedTuple):
    case: str
    generation: str
    stem: str  # of the advisor file
    line: str  # ours, behind the peer's text


# Read off the peer's tables: the first op without a failed input that has a failed output, and its line in stack.json.
ORIGIN = "First node whose inputs reach accuracy and whose output does not: "
# … and the rows whose Max or Min is NaN or infinite in mine alone, which its words count as reached.
NONFINITE = "NaN or Inf in {} of NPU where Bench has none, the first: {}"
AT_NET = ", called at File /home/user/net.py, line 10, in construct, y = ops.foo(x)"
ADDED = [
    Addition("pt_l1_stats", "g2", "advisor", ORIGIN + "Functional.layer_norm.0.backward"),  # stacks are of forward calls only
    Addition("ms_tensor_edge", "g1", "advisor", ORIGIN + "Functional.mul.0.forward" + AT_NET),
    Addition("ms_tensor_edge", "g2", "advisor", ORIGIN + "Functional.mul.0.forward" + AT_NET),
    Addition("ms_stats_edge", "g2", "advisor", ORIGIN + "Tensor.zzz.0.forward" + AT_NET),
    Addition("ms_stats_edge", "g2", "advisor", NONFINITE.format("2 tensors", "Mint.stat.0.forward.input.4")),
    Addition("ms_stats_edge", "g1", "advisor", NONFINITE.format("2 tensors", "Mint.stat.0.forward.input.4")),
    Addition("pt_g1", "g1", "advisor", NONFINITE.format("1 tensor", "Torch.stat.0.forward.input.1")),
    Addition("pt_g1", "g2", "advisor", NONFINITE.format("1 tensor", "Torch.stat.0.forward.input.1")),
    Addition("pt_truth", "g2", "advisor_rank", NONFINITE.format("10 tensors", "Tensor.masked_fill.0.backward.input.0")),
    Addition("multi_rank", "g2", "advisor_rank1", ORIGIN + "Torch.add.0.forward" + AT_NET),
    Addition("multi_rank", "g2", "advisor_rank2", ORIGIN + "Torch.add.0.forward" + AT_NET),
]


class MsprobeChecker(Checker):
    def folder(self, case: str) -> pathlib.Path:
        """A copy of a case to run in."""
        folder = super().folder(case)
        shutil.copytree(DATA / case, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("expected"))
        return folder

    def run(self, argv: list[str], folder: pathlib.Path) -> subprocess.CompletedProcess:
        return self.start(["msprobe", *argv], folder)


def result_file(out: pathlib.Path, stem: str, suffix: str) -> pathlib.Path | None:
    found = [path for path in sorted(out.iterdir()) if re.fullmatch(rf"{re.escape(stem)}_{STAMP}\.{suffix}", path.name)]
    return found[0] if len(found) == 1 else None


def strangers(out: pathlib.Path, stems: list[str]) -> list[str]:
    """Files of the result folder that the peer would not have written; Assay's own summary of many ranks is not one."""
    known = re.compile(rf"({'|'.join(map(re.escape, stems))})_{STAMP}\.(xlsx|csv|txt|yaml|json)|assay_.+|summary.+")
    return [f"wrote {path.name}, expected {' '.join(stems)} only"
            for path in sorted(out.iterdir()) if not known.fullmatch(path.name)]


def look_of(case: Case, table: Table) -> list[str]:
    """The sheet: pandas' own where msprobe lets pandas write, a plain one where it colours rows itself."""
    if table.sheet is None:
        return []
    plain = case.generation == "g1" or "-hl" in case.argv
    wanted = ("Sheet", False) if plain else ("Sheet1", True)
    got = (table.sheet, table.bold)
    return [] if got == wanted else [f"sheet and bold header: got {got}, expected {wanted}"]


def expected_table(path: pathlib.Path) -> Table:
    return read_csv(path)._replace(fills=read_fills(path.with_name(path.name.replace(".csv", ".fill.csv"))))


def check_result(case: Case, folder: pathlib.Path, path: pathlib.Path, expected: pathlib.Path) -> list[str]:
    got, wanted = read_table(path), expected_table(expected)
    if case.name.startswith("kernel"):
        got, wanted = with_relative_paths(got, folder), with_relative_paths(wanted, folder)
    if case.name == "kernel":
        got, wanted = sorted_rows(got), sorted_rows(wanted)

    def ours(column: str, line: int, row: dict, text: str) -> str:
        for rule in DELIBERATE:
            if (rule.case, rule.generation, rule.column) == (case.name, case.generation, column) and rule.rows(line, row):
                return rule.ours(text)
        return text

    texts = frozenset(OPERANDS) if case.generation == "g3" else frozenset()
    failures = look_of(case, got) + differences(got, wanted, ours, texts)
    mode = path.stat().st_mode & 0o777
    return failures + ([f"mode of {path.name}: got {mode:o}, expected 640"] if mode != 0o640 else [])


def check_text(case: Case, stem: str, path: pathlib.Path | None, expected: pathlib.Path) -> list[str]:
    """The peer's text, byte by byte, and behind it what ours adds on purpose."""
    if path is None:
        return [f"no file for {expected.name}"]
    got, peer = path.read_text(), expected.read_text()
    added = "".join(extra.line + "\n" for extra in ADDED
                    if (extra.case, extra.generation, extra.stem) == (case.name, case.generation, stem))
    if not got.startswith(peer):
        return [f"{path.name}: got {got!r}, expected {peer!r} first"]
    rest = got[len(peer):]
    return [] if rest == added else [f"{path.name}: got {rest!r} behind the peer's text, expected {added!r}"]


def json_differences(got, peer, place: str = "") -> list[str]:
    """Where two JSON values differ; the order of keys matters. Numbers in rows of a table, and texts with numbers, are held to
    what tables are held to, all other values must be the same."""
    if isinstance(got, dict) and isinstance(peer, dict):
        if list(got) != list(peer):
            return [f"{place}: got the keys {list(got)}, expected {list(peer)}"]
        if "NPU Name" in peer:
            row = {**peer, "from_csv": True, "sheet": None}
            got = {key: peer[key] if type(value) is type(peer[key]) and isinstance(value, (str, float))
                   and agrees(key, value, str(peer[key]), row) else value for key, value in got.items()}
        return [text for key in peer for text in json_differences(got[key], peer[key], f"{place}/{key}")]
    if isinstance(got, list) and isinstance(peer, list) and len(got) == len(peer):
        return [text for i, each in enumerate(peer) for text in json_differences(got[i], each, f"{place}/{i}")]
    return [] if type(got) is type(peer) and repr(got) == repr(peer) else [f"{place}: got {got!r}, expected {peer!r}"]


def check_json(path: pathlib.Path | None, expected: pathlib.Path) -> list[str]:
    if path is None:
        return [f"no file for {expected.name}"]
    return [f"{path.name} {text}" for text in json_differences(json.loads(path.read_text()), json.loads(expected.read_text()))]


def check_case(checker: MsprobeChecker, case: Case) -> list[str]:
    folder = checker.folder(case.name)
    done = checker.run(case.argv, folder)
    if done.returncode != case.code:
        return [f"exit code: got {done.returncode}, expected {case.code}; {tail(done.stdout)}"]
    failures = []
    is_search = "-da" in case.argv
    if case.code == 0 and not case.name.startswith("kernel") and not is_search and "msprobe compare ends successfully." not in done.stdout:
        failures.append(f"log: got no 'msprobe compare ends successfully.'; {tail(done.stdout)}")
    out = folder / OUT
    if not out.is_dir():
        return failures + [f"folder {OUT}: got none, expected the results there"]
    if out.stat().st_mode & 0o777 != 0o750:
        failures.append(f"mode of {OUT}: got {out.stat().st_mode & 0o777:o}, expected 750")
    prefix = case.prefix or case.generation
    kind = "csv" if case.generation == "g3" and "--xlsx" not in case.argv else "xlsx"
    stems = [f"compare_result{suffix}" for suffix in case.also]
    for stem in stems:
        if result_file(out, stem, kind) is None:
            failures.append(f"{stem}: got no file, expected one .{kind}")
    for expected in sorted((DATA / case.name / "expected").glob(f"{prefix}.*")):
        stem, suffix = re.fullmatch(r"[^.]+\.(.+)\.(csv|txt|yaml|json)", expected.name).groups()
        if stem.endswith(".fill"):
            continue
        stems.append(stem)
        if suffix == "json":
            failures += check_json(result_file(out, stem, suffix), expected)
            continue
        if suffix != "csv":
            failures += check_text(case, stem, result_file(out, stem, suffix), expected)
            continue
        path = result_file(out, stem, kind)
        failures += check_result(case, folder, path, expected) if path else [f"{stem}: got no file, expected one .{kind}"]
    return failures + strangers(out, stems)


def check_cases(checker: MsprobeChecker) -> None:
    for case in CASES:
        if checker.wants(case.name):
            title = f"{case.name} {case.generation}"
            failures = check_case(checker, case)
            checker.report(title, failures)
            if failures:
                print(f"{title} command: assay msprobe {' '.join(word or repr(word) for word in case.argv)}"
                      + (f" ({case.reason})" if case.reason else ""))


def check_deliberate(checker: MsprobeChecker) -> None:
    """Every deliberate difference is one: the peer's own file has the row, and says something else there."""
    for rule in DELIBERATE:
        if not checker.wants(rule.case):
            continue
        table = expected_table(DATA / rule.case / "expected" / f"{rule.generation}.compare_result.csv")
        texts = [table.fills.get(line, "") if rule.column == "fill" else row[rule.column]
                 for line, row in enumerate(table.rows, 1) if rule.rows(line, row)]
        failures = [] if texts and all(rule.ours(text) != text for text in texts) else [f"is no difference: {rule.reason}"]
        checker.report(f"{rule.case} {rule.generation} {rule.column} deliberate", failures)


def check(checker: MsprobeChecker) -> None:
    probe = checker.run([], checker.work)  # with fewer than three words the peer prints its help
    if probe.returncode != 0 or "compare" not in probe.stdout:
        checker.report("assay msprobe:", [f"got exit code {probe.returncode}, expected 0; {tail(probe.stdout)}"])
        return
    # Here rather than above, so that a program without the command is told so at once: torch takes seconds to load.
    from msprobe_errors import check_errors
    from msprobe_model import check_model
    check_cases(checker)
    check_deliberate(checker)
    check_errors(checker)
    check_model(checker)


if __name__ == "__main__":
    sys.exit(run_checks(__doc__, MsprobeChecker, check))
