"""Bad input for `assay msprobe`: exit codes and messages of msprobe, and what it should have put up with. Part of
check_msprobe.py."""
from __future__ import annotations

import json
import pathlib
import shutil
from typing import Callable, NamedTuple

from msprobe_tables import read_table

OUT = "out"
FAILED = "Compare failed. Please check the arguments and do it again!"
NOTHING_MATCHED = "Can`t match any op. No compare result file generated."


class Trouble(NamedTuple):
    name: str
    case: str  # whose data are spoiled
    spoil: Callable[[pathlib.Path], None]
    argv: list[str]
    code: int
    texts: tuple[str, ...]


def old(*flags: str, framework: str = "pytorch") -> list[str]:
    return ["-f", framework, "compare", "-i", "compare.json", "-o", OUT, *flags]


def new(*flags: str, target: str = "npu/dump.json", golden: str = "bench/dump.json") -> list[str]:
    return ["compare", "-tp", target, "-gp", golden, "-o", OUT, *flags]


def nothing(_folder: pathlib.Path) -> None:
    pass


def edit(name: str, change: Callable[[dict], object]) -> Callable[[pathlib.Path], None]:
    """Changes a JSON file of the case; `change` works on the object, or returns another one."""
    def spoil(folder: pathlib.Path) -> None:
        value = json.loads((folder / name).read_text())
        changed = change(value)
        (folder / name).write_text(json.dumps(value if changed is None else changed, indent=1))
    return spoil


def set_key(name: str, key: str, value) -> Callable[[pathlib.Path], None]:
    return edit(name, lambda data: data.update({key: value}))


def without(name: str, key: str) -> Callable[[pathlib.Path], None]:
    return edit(name, lambda data: {k: v for k, v in data.items() if k != key})


def write(name: str, text: str) -> Callable[[pathlib.Path], None]:
    return lambda folder: (folder / name).write_text(text) and None


def both(*changes: Callable[[pathlib.Path], None]) -> Callable[[pathlib.Path], None]:
    def spoil(folder: pathlib.Path) -> None:
        for change in changes:
            change(folder)
    return spoil


def rename_npu(folder: pathlib.Path) -> None:
    (folder / "npu" / "dump.json").rename(folder / "npu" / "other.json")
    set_key("compare.json", "npu_path", "./npu/other.json")(folder)


def remove_rank(folder: pathlib.Path) -> None:
    shutil.rmtree(folder / "npu" / "step0" / "rank2")


CONFIG, NPU, BENCH = "compare.json", "npu/dump.json", "bench/dump.json"


def add_crc(folder: pathlib.Path) -> None:
    """CRCs on the npu side only."""
    def add(value):
        if isinstance(value, dict):
            if "dtype" in value:
                value["md5"] = "00000000"
            for item in value.values():
                add(item)
        elif isinstance(value, list):
            for item in value:
                add(item)
    edit(NPU, lambda data: add(data["data"]))(folder)


TROUBLES = [
    Trouble("no npu_path", "pt_l1_stats", without(CONFIG, "npu_path"), old(), 1,
            ("Missing npu_path in input configuration file, please check!",)),
    Trouble("no bench_path", "pt_l1_stats", without(CONFIG, "bench_path"), old(), 1,
            ("Missing bench_path in input configuration file, please check!",)),
    Trouble("compare.json is a list", "pt_l1_stats", write(CONFIG, "[]"), old(), 1,
            ("input_param should be dict, please check!",)),
    Trouble("compare.json is cut", "pt_l1_stats", write(CONFIG, '{"npu_path": "./np'), old(), 1, (CONFIG,)),
    Trouble("compare.json is absent", "pt_l1_stats", lambda folder: (folder / CONFIG).unlink(), old(), 1,
            ("path does not exist, please check!",)),
    Trouble("path is absent", "pt_l1_stats", set_key(CONFIG, "npu_path", "./absent/dump.json"), old(), 1,
            ("path does not exist, please check!",)),
    Trouble("path is absent, new form", "pt_l1_stats", nothing, new(target="absent/dump.json"), 1, ("path does not exist",)),
    Trouble("a file and a folder", "pt_l1_stats", set_key(CONFIG, "bench_path", "./bench"), old(), 1,
            ("The npu_path and bench_path need to be of the same type.",)),
    Trouble("a file and a folder, new form", "pt_l1_stats", nothing, new(golden="bench"), 1,
            ("The target_path and golden_path need to be of the same type.",)),
    Trouble("not named dump.json", "pt_l1_stats", rename_npu, old(), 1,
            ("Please check the json path is valid and ensure that neither npu_path nor bench_path is None.", FAILED)),
    Trouble("tasks differ", "pt_l1_stats", set_key(NPU, "task", "tensor"), old(), 1,
            ("Please check the dump task is consistent.",)),
    Trouble("CRCs on one side", "pt_l1_stats", add_crc, old(), 1,
            ("Please check the dump task is consistent, dump mode of npu and bench should both be statistics or md5.",)),
    Trouble("no task", "pt_l1_stats", without(NPU, "task"), old(), 1, ("Task for npu is empty, please check.",)),
    Trouble("another task", "pt_l1_stats", both(set_key(NPU, "task", "overflow_check"), set_key(BENCH, "task", "overflow_check")),
            old(), 1, ("Compare applies only to task is tensor or statistics",)),
    Trouble("task structure", "pt_l1_stats", both(set_key(NPU, "task", "structure"), set_key(BENCH, "task", "structure")),
            old(), 1, ("structure",)),
    Trouble("no data", "pt_l1_stats", without(NPU, "data"), old(), 1,
            ("Missing 'data' in dump.json, please check dump.json of npu.",)),
    Trouble("data is a list", "pt_l1_stats", set_key(NPU, "data", []), old(), 1, ("Invalid type for 'data'",)),
    Trouble("dump.json is cut", "pt_l1_stats", write(NPU, '{"task": "statistics", "data": {"Torch.a'), old(), 1, (NPU,)),
    Trouble("dump.json is a number", "pt_l1_stats", write(NPU, "3"), old(), 1, (NPU,)),
    Trouble("pytorch with -am", "pt_l1_stats", nothing, old("-am"), 1,
            ("Argument -cm or -am is not supported in PyTorch framework",)),
    Trouble("pytorch with -cm", "pt_l1_stats", nothing, old("-cm"), 1,
            ("Argument -cm or -am is not supported in PyTorch framework",)),
    Trouble("pytorch with -am, new form", "pt_l1_stats", nothing, new("-am"), 1,
            ("Argument -am is not supported in PyTorch framework",)),
    Trouble("names that are no ranks", "multi_rank",
            both(set_key(CONFIG, "npu_path", "./npu"), set_key(CONFIG, "bench_path", "./bench")), old(), 1,
            ("dump_dir contains 'step0'. Expected 'rank'. This name is not in the format of dump output.",)),
    Trouble("numbers of ranks differ", "multi_rank", remove_rank, old(), 1,
            ("The number of ranks in the two runs are different. Unable to match the ranks.",)),
    Trouble("mode is unknown", "pt_l1_stats", nothing, new("-m", "bad"), 2, ("invalid choice: 'bad'",)),
    Trouble("flag is unknown to the mode", "pt_l1_stats", nothing, new("-fr", "x"), 1, ("Invalid argument '-fr' for mode 'auto'",)),
    Trouble("frameworks do not go together", "pt_l1_stats", set_key(BENCH, "framework", "mindspore"), new(), 1,
            ("Unrecognized framework, target now is pytorch, golden now is mindspore, please check dump.json.",)),
    Trouble("no -i", "pt_l1_stats", nothing, ["-f", "pytorch", "compare", "-o", OUT], 2, ("-i",)),
    Trouble("flag is unknown", "pt_l1_stats", nothing, old("--nonsense"), 2, ("--nonsense",)),
    Trouble("framework is unknown", "pt_l1_stats", nothing, old(framework="jax"), 2, ("jax",)),
    Trouble("-dm without a file", "pt_l1_stats", nothing, old("-dm"), 2, ("-dm",)),
    Trouble("mapping file is absent", "dm", nothing, old("-dm", "absent.yaml", framework="mindspore"), 1, ("absent.yaml",)),
    Trouble("nothing to match", "pt_l1_stats", both(set_key(NPU, "data", {}), set_key(BENCH, "data", {})), old(), 2,
            (NOTHING_MATCHED, "NOT COMPARED")),
]


def check_trouble(checker, trouble: Trouble) -> list[str]:
    folder = checker.folder(trouble.case)
    trouble.spoil(folder)
    done = checker.run(trouble.argv, folder)
    failures = []
    if done.returncode != trouble.code:
        failures.append(f"exit code: got {done.returncode}, expected {trouble.code}")
    for text in trouble.texts:
        if text not in done.stdout:
            failures.append(f"log: got {done.stdout.strip()[-300:]!r}, expected {text!r}")
    left = sorted(path.name for path in (folder / OUT).glob("*compare_result*")) if (folder / OUT).is_dir() else []
    if left:
        failures.append(f"files: got {left}, expected none")
    return failures


def result_tables(folder: pathlib.Path) -> dict[str, object]:
    """The tables of a run by the part of their name between compare_result and the time stamp."""
    return {path.stem.replace("compare_result", "").rsplit("_", 1)[0]: read_table(path)
            for path in sorted((folder / OUT).glob("compare_result*"))} if (folder / OUT).is_dir() else {}


def check_broken_rank(checker) -> list[str]:
    """One rank without data: it is skipped with a word and in the exit code, the others are compared."""
    folder = checker.folder("multi_rank")
    without("npu/step0/rank1/dump.json", "data")(folder)
    done = checker.run(old("-s"), folder)
    names = sorted(result_tables(folder))
    failures = [f"exit code: got {done.returncode}, expected 2"] if done.returncode != 2 else []
    if names != ["_rank0", "_rank2"]:
        failures.append(f"files: got {names}, expected those of rank 0 and rank 2")
    said = any("'data'" in line and "rank1" in line for line in done.stdout.splitlines())
    return failures + ([] if said else ["log: got no word of the broken rank"])


def check_formula(checker) -> list[str]:
    """A string that a spreadsheet would run ends the peer's run; ours keeps it as text and goes on. '-inf' is a number."""
    folder = checker.folder("pt_l1_stats")
    for side in (NPU, BENCH):
        edit(side, lambda data: next(iter(data["data"].values()))["input_args"].extend(
            [{"type": "str", "value": "=1+1"}, {"type": "str", "value": "-inf"}]))(folder)
    done = checker.run(old(), folder)
    if done.returncode:
        return [f"exit code: got {done.returncode}, expected 0; {done.stdout.strip()[-300:]}"]
    tables = list(result_tables(folder).values())
    cells = [str(row["NPU max"]) for table in tables for row in table.rows]
    return [f"cells: got none that is {text!r}" for text in ("'=1+1", "-inf") if text not in cells]


def check_nested(checker) -> list[str]:
    """A hundred thousand nested lists: a message or a skipped entry, never a crash."""
    folder = checker.folder("pt_l1_stats")
    depth = 100_000
    text = (folder / NPU).read_text()
    head, rest = text.split('"input_args": [', 1)
    (folder / NPU).write_text(f'{head}"input_args": [{"[" * depth}{"]" * depth},{rest}')
    done = checker.run(old(), folder)
    return [] if done.returncode in (0, 1) else [f"exit code: got {done.returncode}, expected 0 or 1"]


def check_compare_only(checker) -> list[str]:
    folder = checker.folder("pt_l1_stats")
    done = checker.run(old("-c"), folder)
    left = sorted(path.name for path in (folder / OUT).glob("*advisor*")) if (folder / OUT).is_dir() else ["no folder"]
    return [f"-c: got exit code {done.returncode} and {left}, expected 0 and no advisor"] if done.returncode or left else []


def check_help(checker) -> list[str]:
    done = checker.run(["-f"], checker.work)
    ok = done.returncode == 0 and "compare" in done.stdout
    return [] if ok else [f"with two words: got exit code {done.returncode}, expected the help and 0"]


def check_errors(checker) -> None:
    for trouble in TROUBLES:
        if checker.wants(trouble.name):
            checker.report(f"error '{trouble.name}'", check_trouble(checker, trouble))
    for name, check in (("a rank without data", check_broken_rank), ("strings that look like formulas", check_formula),
                        ("deep nesting", check_nested), ("compare only", check_compare_only), ("help", check_help)):
        if checker.wants(name):
            checker.report(f"error '{name}'", check(checker))
