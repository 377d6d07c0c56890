"""Checks of check_python_api.py: the calls of other tools that read and compare."""
from __future__ import annotations

import contextlib
import csv
import io
import json
import pathlib
import shutil
import zipfile

import numpy

from python_api_compare import python, refused

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = ROOT / "tests" / "data"


def cells_of(path: pathlib.Path) -> object:
    """What a table holds, without the clock in its parts."""
    if path.suffix == ".csv":
        with open(path, newline="") as file:
            return list(csv.reader(file))
    if path.suffix == ".xlsx":
        with zipfile.ZipFile(path) as book:
            return {name: book.read(name) for name in book.namelist() if "sheet" in name or "sharedStrings" in name or "styles" in name}
    return path.read_text()


def tables_of(folder: pathlib.Path) -> dict:
    """By their names without digits of the clock."""
    return {"".join("#" if sign.isdigit() else sign for sign in str(path.relative_to(folder))): cells_of(path)
            for path in sorted(folder.rglob("*")) if path.is_file()}


def json_of(place: pathlib.Path) -> dict:
    """compare.json of a test, with whole paths."""
    told = json.loads((place / "compare.json").read_text())
    return {key: str(place / value) if key.endswith("_path") and isinstance(value, str) else value for key, value in told.items()}


def as_json_paths(told: dict) -> dict:
    names = {"npu_path": "npu_json_path", "bench_path": "bench_json_path", "stack_path": "stack_json_path"}
    return {names.get(key, key): value for key, value in told.items()}


def check_msprobe(c) -> list[str]:
    """The functions write what the command lines write."""
    from msprobe.core.common.utils import CompareException
    from msprobe.mindspore.compare.distributed_compare import ms_compare_distributed, ms_graph_compare
    from msprobe.mindspore.compare.ms_compare import ms_compare
    from msprobe.pytorch import compare, compare_distributed
    from msprobe.pytorch.compare.pt_compare import compare as other

    failures = [] if compare is other else ["two functions compare"]
    runs = []
    for name, framework, call, flags, given in (
            ("pt_l1_stats", "pytorch", compare, ["-s", "-hl"], dict(stack_mode=True, highlight=True)),
            ("pt_l0_tensor", "pytorch", compare, ["-c", "-f"], dict(auto_analyze=False, fuzzy_match=True)),
            ("pt_l1_md5", "pytorch", compare, [], {}), ("ms_stats_edge", "mindspore", ms_compare, ["-s"], dict(stack_mode=True)),
            ("am", "mindspore", ms_compare, ["-am", "api_mapping.yaml"], dict(api_mapping="api_mapping.yaml")),
            ("am", "mindspore", ms_compare, ["-am"], dict(api_mapping=True)),
            ("cm", "mindspore", ms_compare, ["-cm", "cell_mapping.yaml"], dict(cell_mapping="cell_mapping.yaml")),
            ("dm", "mindspore", ms_compare, ["-dm", "data_mapping.yaml"], dict(data_mapping="data_mapping.yaml"))):
        place = DATA / "msprobe" / name
        if not place.is_dir():
            failures.append(f"{name}: is not there")
            continue
        told = json_of(place)
        if not told["npu_path"].endswith(".json"):
            told_of_files = None
        else:
            told_of_files = as_json_paths(told)
        runs.append((name, place, told, told_of_files, framework, call, flags, given))
    for name, place, told, told_of_files, framework, call, flags, given in runs:
        theirs, ours = c.folder("theirs"), c.folder("ours")
        config = theirs.parent / f"{theirs.name}.json"
        config.write_text(json.dumps(told))
        words = [str(place / each) if each.endswith(".yaml") else each for each in flags]
        done = c.start(["msprobe", "-f", framework, "compare", "-i", str(config), "-o", str(theirs), *words], theirs)
        given = {key: str(place / value) if isinstance(value, str) else value for key, value in given.items()}
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            try:
                if told_of_files is not None:
                    call(told_of_files, str(ours), **given)
                else:
                    (compare_distributed if framework == "pytorch" else ms_compare_distributed)(told["npu_path"], told["bench_path"], ours, **given)
                trouble = None
            except CompareException as caught:
                trouble = caught
        if (trouble is None) != (done.returncode == 0):
            failures.append(f"{name} {flags}: {trouble}, and the program ends with {done.returncode}: {done.stdout[-300:]}")
        if tables_of(theirs) != tables_of(ours) or not tables_of(ours):
            failures.append(f"{name} {flags}: {list(tables_of(ours))} is not {list(tables_of(theirs))}")
        if "INFO" not in said.getvalue() and "INFO" in done.stdout:
            failures.append(f"{name}: no log: {said.getvalue()}")
    name, place, told, told_of_files, *_ = next(each for each in runs if each[3] is not None and each[5] is compare)
    out = c.folder("suffix")
    with contextlib.redirect_stdout(io.StringIO()):
        compare(told_of_files, out, suffix="_mine")
    if not [path for path in out.iterdir() if path.name.startswith("compare_result_mine_")] or [path for path in out.iterdir() if path.is_dir()]:
        failures.append(f"suffix: {[path.name for path in out.iterdir()]}")
    theirs = c.folder("positional")
    with contextlib.redirect_stdout(io.StringIO()):
        compare(told_of_files, theirs, True, False, True)
    failures += [] if list(theirs.glob("*.xlsx")) else ["arguments by their places"]
    failures += refused(lambda: compare("compare.json", out), CompareException, "should be dict")
    failures += refused(lambda: compare({"npu_json_path": "x"}, out), CompareException, "bench_json_path")
    failures += refused(lambda: compare(told_of_files, out, stack_mode=1), CompareException, "stack_mode")
    failures += refused(lambda: compare(told_of_files, out, nothing=1), TypeError, "nothing")
    failures += refused(lambda: compare_distributed("a", "b", out, suffix="x"), CompareException, "'suffix' is not supported")
    with contextlib.redirect_stdout(io.StringIO()):
        failures += refused(lambda: compare({**told_of_files, "npu_json_path": "nowhere.json"}, c.folder("nowhere")), CompareException)
    place = DATA / "msprobe" / "kernel"
    theirs, ours = c.folder("theirs"), c.folder("ours")
    done = c.start(["msprobe", "-f", "mindspore", "compare", "-i", str(place / "compare.json"), "-o", str(theirs)], place)
    with contextlib.redirect_stdout(io.StringIO()):
        ms_graph_compare(json_of(place), ours)
    if done.returncode or tables_of(theirs) != tables_of(ours) or not tables_of(ours):
        failures.append(f"kernels: {done.stdout[-300:]} {list(tables_of(ours))} is not {list(tables_of(theirs))}")
    return failures


def check_names_of_msprobe(c) -> list[str]:
    failures = []
    for text, word in (("from msprobe.mindspore import PrecisionDebugger", "msprobe.mindspore.ms_compare"),
                       ("import msprobe.pytorch.monitor", "msprobe.pytorch.compare.pt_compare.compare"),
                       ("from msprobe import nothing", "msprobe.core.common.utils.CompareException")):
        done = python(text, c.folder("import"))
        last = done.stdout.strip().split("\n")[-1]
        if done.returncode == 0 or "Error" not in last or "is not served by assay; there are:" not in last or word not in last:
            failures.append(f"{text}: {last}")
    text = ("from msprobe.mindspore import ms_compare, common_dir_compare\n"
            "from msprobe.mindspore.compare.common_dir_compare import common_dir_compare as other\n"
            "import sys; assert 'numpy' not in sys.modules\n"
            "import msprobe.pytorch.compare.pt_compare, msprobe.pytorch.compare.distributed_compare\n"
            "from msprobe.pytorch import compare, compare_distributed\n"
            "assert callable(compare) and other is common_dir_compare")
    done = python(text, c.folder("import"))
    failures += [done.stdout] if done.returncode else []
    text = ("import sys; sys.modules['torch'] = None  # not installed\n"
            "from msprobe.pytorch import compare, compare_distributed\n"
            "assert callable(compare)\n"
            "from msprobe.pytorch import PrecisionDebugger")
    done = python(text, c.folder("import"))
    if "msprobe.pytorch.PrecisionDebugger needs PyTorch, which is not installed" not in done.stdout:
        failures.append(f"without PyTorch: {done.stdout}")
    # In whichever order they are imported, the function can be called; also where msprobe.pytorch has a file of its own.
    calls = "try:\n    msprobe.pytorch.compare(1, 2)\nexcept AssertionError:\n    raise\nexcept Exception as trouble:\n    print(trouble)"
    for order in ("import msprobe.pytorch.compare.pt_compare\nimport msprobe.pytorch\n",
                  "import msprobe.pytorch\nmsprobe.pytorch.compare\nimport msprobe.pytorch.compare.pt_compare\n",
                  "import types, sys, msprobe\nown = types.ModuleType('msprobe.pytorch'); own.__path__ = []\n"
                  "sys.modules['msprobe.pytorch'] = msprobe.pytorch = own\nimport msprobe.pytorch.compare.pt_compare\n"):
        done = python(order + calls, c.folder("import"))
        failures += [] if done.stdout == "input_param should be dict, and is int\n" else [f"{order}: {done.stdout}"]
    return failures


def check_torchair_file(c) -> list[str]:
    from components.utils.acc_cmp import parse_torchair_dump_data

    failures = []
    inputs, outputs = parse_torchair_dump_data(str(DATA / "ge" / "add_103_bytes"))
    if [each.tolist() for each in outputs] != [[[5, 6]]] or [each.dtype.name for each in inputs] != ["float32", "float16"] or \
            inputs[0].tolist() != [1.0, 2.0] or not inputs[0].flags.writeable:
        failures.append(f"{inputs} {outputs}")
    for name, kind in (("bf16", "float32"), ("nz2d", None), ("scalar", None), ("fp8", "float32")):
        parts = parse_torchair_dump_data(DATA / "ge" / name)
        if not [each for part in parts for each in part] or kind and kind not in [each.dtype.name for part in parts for each in part]:
            failures.append(f"{name}: {parts}")
    folder = c.folder("torchair")
    numpy.savez(folder / "x.npz", inputs=[[0.0, 1.0]], outputs=[[2.0, 3.0]])
    inputs, outputs = parse_torchair_dump_data(str(folder / "x.npz"))
    if inputs.tolist() != [[0, 1]] or outputs.tolist() != [[2, 3]]:
        failures.append(f"{inputs} {outputs}")
    import assay

    failures += refused(lambda: parse_torchair_dump_data(str(DATA / "ge" / "short")), assay.AssayError)
    failures += refused(lambda: parse_torchair_dump_data(str(folder / "nothing")), assay.AssayError, "no such file")
    # The script of the guide, around it.
    shutil.copyfile(DATA / "ge" / "add_103_bytes", folder / "Add.add.1.2.3")
    text = """
import numpy as np
from components.utils.acc_cmp import parse_torchair_dump_data
inputs, outputs = parse_torchair_dump_data("Add.add.1.2.3")
np.savez("y.npz", inputs=[[each.min(), each.max()] for each in inputs], outputs=[[each.min(), each.max()] for each in outputs])
print(parse_torchair_dump_data("y.npz")[1].tolist())
"""
    done = python(text, folder)
    return failures + ([] if done.stdout == "[[5, 6]]\n" else [done.stdout])


def check_other_commands(c) -> list[str]:
    import assay

    folder = c.folder("commands")
    numpy.savez(folder / "x.npz", a=numpy.float32([1, numpy.nan]), b=numpy.arange(4.0))
    failures = []
    found = assay.errcheck(folder / "x.npz")
    if found.exit_code != 1 or found.first_divergence is None or found.rows[0].name != "a":
        failures.append(f"errcheck: {found!r} {found.summary}")
    if assay.errcheck(folder / "x.npz", only="b", save=folder / "e.csv").exit_code != 0 or not (folder / "e.csv").is_file():
        failures.append("errcheck of b")
    listed = {each["name"]: each for each in assay.inspect(folder / "x.npz", values=True)}
    if listed["b"]["max"] != 3.0 or listed["a"]["nan"] != 1 or "values" not in listed["b"]:
        failures.append(f"inspect: {listed}")
    assay.convert(folder / "x.npz", folder / "y.safetensors", dtype="f32", only="b")
    if assay.open(folder / "y.safetensors")["b"].dtype != "f32":
        failures.append("convert")
    failures += refused(lambda: assay.convert(folder / "x.npz", folder / "y.safetensors"), assay.AssayError, "y.safetensors")
    assay.convert(folder / "x.npz", folder / "y.safetensors", overwrite=True)
    failures += refused(lambda: assay.opcheck(folder), assay.AssayError)
    from golden_case import Run, Tensor
    from golden_dump import dump_folder, token_folder, write_operator

    a, b = (numpy.random.default_rng(i).standard_normal((8, 8)).astype(numpy.float32) for i in (0, 1))
    run = Run({"transposeA": False, "transposeB": False, "hasBias": False}, [Tensor("float32", a), Tensor("float32", b)],
              [Tensor("float32", a @ b)], "")
    write_operator(token_folder(folder), 0, "LinearOperation", run)
    found = assay.opcheck(dump_folder(folder), op="Linear*", save=[folder / "o.csv"])
    if found.exit_code != 0 or len(found.rows) != 1 or not (folder / "o.csv").is_file():
        failures.append(f"opcheck: {found!r}")
    return failures


CALL_CHECKS = {"msprobe": check_msprobe, "names of msprobe": check_names_of_msprobe, "a file of TorchAir": check_torchair_file,
               "other commands": check_other_commands}
