"""The tables of `msit llm compare`, `ait llm compare` and `msprobe compare -m atb` on the dumps in tests/data/atb, held against
those of the originals, cell by cell. A deliberate difference stands in DIFFERENCES with its reason."""
from __future__ import annotations

import ast
import csv
import json
import pathlib
import re
import subprocess
import sys

DATA = pathlib.Path(__file__).resolve().parents[1] / "data" / "atb"
EXPECTED = DATA / "expected"

TORCH = "torch_bloom/msit_dump_20240601_101010/torch_tensors/cpu_4000"
ATB = "atb_bloom/ait_dump/tensors/0_4001"
PREFILL = "atb_prefill_decode/msit_dump_20240601_101010"
WARM_UP = PREFILL + "/tensors/0_4002/0"
QUANT = "atb_quant/ait_dump/tensors/0_4003/0"
TORCH_LOGITS = "torch_logits/msit_dump_20240601_101010/torch_tensors/cpu_4100"
ATB_LOGITS = "atb_logits/ait_dump"

# tool, golden, mine, further flags; what is expected has the same name.
TABLES = {
    "torch_vs_atb_layer": ("msit", TORCH, ATB, ["-cl", "layer"]),
    "torch_vs_atb_module": ("msit", TORCH, ATB, ["-cl", "module"]),
    "torch_vs_atb_module_token0": ("msit", TORCH + "/0", ATB + "/0", ["-cl", "module"]),
    "torch_vs_atb_api": ("msit", TORCH, ATB, ["-cl", "api"]),
    "torch_vs_atb_api_token0": ("msit", TORCH + "/0", ATB + "/0", ["-cl", "api"]),
    "torch_vs_atb_default": ("msit", TORCH, ATB, []),
    "torch_vs_prefill_decode_layer": ("msit", TORCH, PREFILL, ["-cl", "layer"]),
    "torch_vs_prefill_decode_api": ("msit", TORCH, PREFILL, ["-cl", "api"]),
    "prefill_decode_vs_itself_layer": ("msit", PREFILL, PREFILL, ["-cl", "layer"]),
    "prefill_decode_vs_itself_api": ("msit", PREFILL, PREFILL, ["-cl", "api"]),
    "warm_up_vs_round_1_layer": ("msit", WARM_UP, PREFILL + "/tensors/0_4002/1", ["-cl", "layer"]),
    "torch_vs_warm_up_layer": ("msit", TORCH + "/0", WARM_UP, ["-cl", "layer"]),
    "no_common_token_default": ("msit", TORCH, WARM_UP, []),
    "atb_float_vs_quant_api": ("msit", ATB + "/0", QUANT, ["-cl", "api"]),
    "atb_float_vs_quant_default": ("msit", ATB + "/0", QUANT, []),
    "logits": ("msit", TORCH_LOGITS, ATB_LOGITS, ["-cl", "logits"]),
    "ait202405_logits_token": ("ait", TORCH_LOGITS + "/", ATB_LOGITS + "/tensors/0_4101/", ["-cl", "token"]),
}
SHEETS = ("layer", "module", "api")

# Single precision in the original; the KL divergence is a difference of numbers that are almost equal.
TOLERANCE, KL_TOLERANCE, RELATIVE = 2.5e-7, 1e-6, 1e-5
WORDS = ("token_id", "data_id", "golden_data_path", "my_data_path", "cmp_fail_reason")
EXACT = ("max_relative_error", "max_absolute_error")  # no sum is in them

# ait of 2024: every row it has is in our table, with the same numbers.
OLD_TABLES = {
    "ait2024_torch_vs_atb_token0": (TORCH + "/0", ATB + "/0"),
    "ait202405_torch_vs_atb_token0": (TORCH + "/0", ATB + "/0"),
    "ait2024_atb_float_vs_quant": (ATB + "/0", QUANT),
}

# What is different on purpose, and why.
DIFFERENCES = {
    "ait rows": "ait of 2024 pairs fewer operators than msit; ours has all that msit pairs",
    "ait data_id": "it counts; ait of 2024 has 0 in every row of a comparison with torch",
    "ait token_id": "it is the token; ait of 2024 has the process there when two dumps of ATB are compared",
    "vector f32_square_overflow": "squares do not overflow; msit prints nan",
    "vector empty_both": "there is a reason, and the exit code 2; msit ends with an exception",
    "msprobe Mean, Norm of f16 and bf16": "rounded once; torch adds up in the type of the tensor and loses digits",
    "single g.pth | desc_only.bin": "a description without data ends with a line that says so, not with a traceback",
    "single g.pth | alias.bin": "the file it stands for is named, and missing here",
    "single g.pth | uint8.bin": "uint8 is read",
    "single g.pth | double.bin": "double is read",
    "single g.pth | appended_twice.bin": "the first record of a file that was written twice is read, with a warning",
    "single g.pth | truncated.bin": "the message says how many bytes are missing",
    "single g.pth | no_end.bin": "the message says what the header lacks",
    "msprobe_target_filtered": "aliases are followed; the original has N/A there",
}


def near(column: str, got: str, wanted: str) -> bool:
    if got == wanted:
        return True
    if column in WORDS:
        return False
    try:
        a, b = float(got), float(wanted)
    except ValueError:
        return False
    if column in EXACT:
        return a == b
    return abs(a - b) <= RELATIVE * abs(b) + (KL_TOLERANCE if column == "kl_divergence" else TOLERANCE)


def table_differences(got: list[list[str]], wanted: list[list[str]], ignored: tuple[str, ...] = ()) -> list[str]:
    if not got or got[0] != wanted[0]:
        return [f"columns: got {','.join(got[0] if got else [])}, expected {','.join(wanted[0])}"]
    failures = [] if len(got) == len(wanted) else [f"rows: got {len(got) - 1}, expected {len(wanted) - 1}"]
    for line, (mine, peer) in enumerate(zip(got[1:], wanted[1:]), 1):
        failures += [f"row {line} {column}: got {a}, expected {b}" for column, a, b in zip(wanted[0], mine, peer)
                     if column not in ignored and not near(column, a, b)]
    return failures[:12]


def read_csv(path: pathlib.Path) -> list[list[str]]:
    with path.open(newline="") as file:
        return [[cell.replace(f"{DATA}/", "") for cell in row] for row in csv.reader(file)]


def read_sheets(path: pathlib.Path) -> dict[str, list[list[str]]]:
    import openpyxl
    text = lambda cell: "" if cell is None else str(cell).replace(f"{DATA}/", "")
    return {sheet.title: [[text(cell) for cell in row] for row in sheet.iter_rows(values_only=True)]
            for sheet in openpyxl.load_workbook(path).worksheets}


def only_file(folder: pathlib.Path, pattern: str) -> tuple[pathlib.Path | None, list[str]]:
    found = sorted(path for path in folder.iterdir())
    if len(found) != 1 or not re.fullmatch(pattern, found[0].name):
        return None, [f"files: got {[path.name for path in found]}, expected one {pattern}"]
    mode = found[0].stat().st_mode & 0o777
    return found[0], [] if mode == 0o640 else [f"mode: got {mode:o}, expected 640"]


# Tables without a row: the originals end with 0 all the same.
NOTHING_COMPARED = {"no_common_token_default"}


def check_tables(checker) -> None:
    for name, (tool, golden, mine, flags) in TABLES.items():
        if not checker.wants(name):
            continue
        folder = checker.folder(name)
        done = checker.run(["llm", "compare", "-gp", f"{DATA}/{golden}", "-mp", f"{DATA}/{mine}", "-o", "made/here", *flags], folder, tool)
        suffix = "csv" if flags else "xlsx"
        code = 2 if name in NOTHING_COMPARED else 0
        if done.returncode != code or f"Saved comparing results: " not in done.stdout:
            checker.report(name, [f"exit code {done.returncode}: {done.stdout[-300:]}"])
            continue
        path, failures = only_file(folder / "made" / "here", rf"{tool}_cmp_report_\d{{14}}\.{suffix}")
        if path is None:
            pass
        elif flags:
            ignored = ("data_id",) if tool == "ait" else ()
            failures += table_differences(read_csv(path), read_csv(EXPECTED / f"{name}.csv"), ignored)
        else:
            sheets = read_sheets(path)
            failures += [] if tuple(sheets) == SHEETS else [f"sheets: got {list(sheets)}, expected {list(SHEETS)}"]
            for sheet in SHEETS:
                failures += [f"sheet {sheet} {each}"
                             for each in table_differences(sheets.get(sheet, []), read_csv(EXPECTED / f"{name}.{sheet}.csv"))]
        checker.report(name, failures)


def check_old_tables(checker) -> None:
    for name, (golden, mine) in OLD_TABLES.items():
        if not checker.wants(name):
            continue
        folder = checker.folder(name)
        checker.run(["llm", "compare", "-gp", f"{DATA}/{golden}", "-mp", f"{DATA}/{mine}", "-o", "out"], folder, "ait")
        path, failures = only_file(folder / "out", r"ait_cmp_report_\d{14}\.csv")
        if path is not None:
            got, wanted = read_csv(path), read_csv(EXPECTED / f"{name}.csv")
            places = [wanted[0].index(column) for column in ("golden_data_path", "my_data_path")]
            by_pair = {tuple(row[place] for place in places): row for row in got[1:]}
            pairs = [tuple(row[place] for place in places) for row in wanted[1:]]
            failures += [f"has no row for {pair}" for pair in pairs if pair not in by_pair]
            failures += table_differences([got[0]] + [by_pair.get(pair, [""] * len(got[0])) for pair in pairs], wanted,
                                          ("data_id", "token_id"))
        checker.report(name, failures)


def check_rope(checker) -> None:
    """The angles of a rotary embedding, of which torch dumps all positions and ATB those of the sequence: of the second token, the last one."""
    if not checker.wants("rope"):
        return
    folder = checker.folder("rope")
    generator = pathlib.Path(__file__).with_name("make_atb_dump.py")
    subprocess.run([sys.executable, generator, "--out", folder / "dump", "--layers", "12"], check=True, stdout=subprocess.DEVNULL)
    torch_dump, atb_dump = (next((folder / "dump" / side).glob("msit_dump_*")) for side in ("golden", "mine"))
    checker.run(["llm", "compare", "-gp", str(torch_dump), "-mp", str(atb_dump), "-cl", "api", "-o", "out"], folder)
    path, failures = only_file(folder / "out", r"msit_cmp_report_\d{14}\.csv")
    if path is not None:
        table = read_csv(path)
        column = {title: place for place, title in enumerate(table[0])}
        rows = [row for row in table[1:] if "rotary_emb" in row[column["golden_data_path"]]]
        failures += [] if len(rows) == 24 else [f"rows: got {len(rows)}, expected 24"]
        failures += [f"{row[column['my_data_path']]} {title}: got {row[column[title]]}" for row in rows for title, fits in
                     (("golden_shape", lambda text: text == "[1, 8]"), ("cosine_similarity", lambda text: float(text) > 0.99999))
                     if not fits(row[column[title]])]
    checker.report("rope", failures[:5])


def stated(path: pathlib.Path) -> dict[str, float]:
    """max, min, mean, l2norm as a dump states them: of the last output of a module, or of one file."""
    if path.suffix == ".csv":
        row = [row for row in csv.DictReader(path.open()) if row["InputOutput"] == "Output"][-1]
        return {"max": row["Max"], "min": row["Min"], "mean": row["Mean"], "l2norm": row["L2Norm"]}
    return dict(line.split("=", 1) for line in path.read_text().splitlines() if "=" in line)


def check_statistics(checker) -> None:
    """Statistics of torch against those of ATB, and of two dumps of ATB, with NumPy as the second opinion."""
    if not checker.wants("statistics"):
        return
    import numpy as np
    generator = pathlib.Path(__file__).with_name("make_atb_dump.py")
    for name, flags in (("statistics torch", ["--layers", "12"]), ("statistics atb", ["--layers", "2", "--atb-twin", "same"])):
        folder = checker.folder("statistics")
        subprocess.run([sys.executable, generator, "--out", folder / "dump", "--statistics", "--tokens", "1", *flags], check=True,
                       stdout=subprocess.DEVNULL)
        golden, mine = (next((folder / "dump" / side).glob("*_dump*")) for side in ("golden", "mine"))
        checker.run(["llm", "compare", "-gp", str(golden), "-mp", str(mine), "-st", "-o", "out"], folder)
        path, failures = only_file(folder / "out", r"statstics_cmp_report_\d{14}\.csv")
        rows = list(csv.DictReader(path.open())) if path else []
        failures += [] if len(rows) > 50 else [f"rows: got {len(rows)}"]
        for row in rows:
            sides = [stated(pathlib.Path(row[f"{side}_data_path"])) for side in ("my", "golden")]
            for key in ("max", "min", "mean", "l2norm"):
                my, peer = (np.float32(side[key]) for side in sides)
                apart = abs(my - peer)
                wanted = {"absolute": apart, "relative": apart / max(abs(peer), np.float32(2 ** -23))}
                failures += [f"{row['my_data_path']} {key} {kind}: got {row[f'{key}_stat_{kind}_error']}, expected {value}"
                             for kind, value in wanted.items() if row[f"{key}_stat_{kind}_error"] != str(value)]
        checker.report(name, failures[:5])


def check_weights(checker) -> None:
    """int8 weights with scales and offsets against the float ones they were made of, with torch as the second opinion."""
    if not checker.wants("weight"):
        return
    import torch
    folder = checker.folder("weight")
    generator = torch.Generator().manual_seed(3)
    floats = {f"layers.{i}.weight": torch.randn((6, 4 + i), generator=generator) for i in range(4)}
    quantised: dict = {"layers.9.weight": torch.zeros((2, 2), dtype=torch.int8), "layers.3.weight": floats["layers.3.weight"]}
    scale_types = (torch.float32, torch.float16, torch.bfloat16)
    expected = {}
    for i, scale_type in enumerate(scale_types):
        key = f"layers.{i}.weight"
        scale = (floats[key].abs().amax(1, keepdim=True) / 100).to(scale_type)
        offset = torch.full((6, 1), 3.0 * i).to(scale_type)
        whole = (floats[key] / scale.float() + offset.float()).round().clamp(-128, 127).to(torch.int8)
        quantised |= {key: whole, key + "_scale": scale, key + "_offset": offset}
        expected[key] = (whole - offset) * scale
    (folder / "float").mkdir()
    (folder / "int8").mkdir()
    torch.save({key: value for key, value in floats.items() if key < "layers.2"}, folder / "float" / "pytorch_model-1.bin")
    torch.save({key: value for key, value in floats.items() if key >= "layers.2"}, folder / "float" / "pytorch_model-2.bin")
    torch.save(quantised, folder / "int8" / "pytorch_model.bin")
    done = checker.run(["llm", "compare", "-gp", "float", "-mp", "int8", "--weight", "-o", "out"], folder)
    path, failures = only_file(folder / "out", r"msit_cmp_report_\d{14}\.csv") if (folder / "out").is_dir() else (None, [done.stdout[-300:]])
    if path is not None:
        rows = list(csv.DictReader(path.open()))
        failures += [] if [row["weight_name"] for row in rows] == list(expected) else [f"weights: got {[row['weight_name'] for row in rows]}"]
        for row, (key, mine) in zip(rows, expected.items()):
            golden, mine = floats[key].flatten().float(), mine.flatten()
            wanted = {"my_dtype": str(mine.dtype), "my_max_value": str(mine.float().max().item()),
                      "max_absolute_error": str((mine.float() - golden).abs().max().item()),
                      "cosine_similarity": str(torch.cosine_similarity(golden.double(), mine.double(), dim=0).item()),
                      "relative_euclidean_distance": str(((mine.float() - golden).norm() / golden.norm()).item())}
            failures += [f"{key} {title}: got {row[title]}, expected {value}" for title, value in wanted.items()
                         if not near(title, row[title], value)]
    checker.report("weight", failures)


def check_single_files(checker) -> None:
    """The line that both tools log about two files; where the original ends with an exception, ours ends with a reason or compares."""
    if not checker.wants("single"):
        return
    for pair, wanted in json.loads((EXPECTED / "single_files.json").read_text()).items():
        golden, mine = (DATA / "single" / name for name in pair.split(" | "))
        folder = checker.folder("single")
        done = checker.run(["llm", "compare", "-gp", str(golden), "-mp", str(mine)], folder)
        last = done.stdout.strip().split("\n")[-1]
        failures = [f"files: got {[path.name for path in folder.iterdir()]}, expected none"] if any(folder.iterdir()) else []
        if wanted["rc"] != 0:
            is_named = f"single {pair}" in DIFFERENCES and "Traceback" not in done.stdout
            says_why = (done.returncode == 0 or (done.returncode == 1 and mine.name in last)
                        or (done.returncode == 2 and "NOT COMPARED: " in last))
            failures += [] if is_named and says_why else [f"exit code {done.returncode}: {last}"]
        else:
            failures += line_differences(results_line(done.stdout), wanted["last_line"])
        checker.report(f"single {pair}", failures)
    done = checker.run(["llm", "compare", "-gp", str(DATA / "single" / "g.pth"), "-mp", str(DATA / "single" / "my_fp16.bin")],
                       checker.folder("single"), "ait")  # of 2024: it took no root
    checker.report("single ait", [] if "'relative_euclidean_distance': 0.0416666679" in done.stdout else [done.stdout[-300:]])


def results_line(output: str) -> str:
    """The last line of the original; of ours, NOT COMPARED stands behind it where there was nothing to compare."""
    lines = output.strip().split("\n")
    return next((line for line in reversed(lines) if "Compared results: " in line), lines[-1])


def line_differences(got: str, wanted: str) -> list[str]:
    parse = lambda line: ast.literal_eval(line[line.index("{"):])
    if "Compared results: " not in got:
        return [f"got {got}, expected {wanted}"]
    a, b = parse(got), parse(wanted)
    if list(a) != list(b):
        return [f"keys: got {list(a)}, expected {list(b)}"]
    return [f"{key}: got {a[key]}, expected {b[key]}" for key in b if not near(key, str(a[key]), str(b[key]))]


def check_vectors(checker) -> None:
    """Numbers of the seven metrics for chosen inputs, through files that NumPy and PyTorch write."""
    if not checker.wants("vector"):
        return
    import torch
    for vector in json.loads((EXPECTED / "metric_vectors.json").read_text()):
        folder = checker.folder("vector")
        for side in ("golden", "my"):
            values = [float(x) if isinstance(x, str) else x for x in vector[side]]
            torch.save(torch.tensor(values, dtype=getattr(torch, vector[f"{side}_dtype"])), folder / f"{side}.pth")
        done = checker.run(["llm", "compare", "-gp", "golden.pth", "-mp", "my.pth"], folder)
        last = done.stdout.strip().split("\n")[-1]
        if f"vector {vector['name']}" in DIFFERENCES:
            is_empty = vector["name"] == "empty_both"
            said = "NOT COMPARED: the tensors have no elements." if is_empty else "Compared results: "
            code = 2 if is_empty else 0
            failures = [] if done.returncode == code and said in last else [f"exit code {done.returncode}: {last}"]
        else:
            failures = vector_differences(results_line(done.stdout), vector["result"])
        checker.report(f"vector {vector['name']}", failures)


def vector_differences(line: str, wanted: dict) -> list[str]:
    text = line[line.index("{"):] if "{" in line else "{}"
    got = ast.literal_eval(re.sub(r"(?<=: )(nan|-?inf)", r"'\1'", text))
    return [f"{key}: got {got.get(key)}, expected {value}" for key, value in wanted.items()
            if str(got.get(key)) != str(value) and not near(key, str(got.get(key)), str(value))]


SUMMED = ("Target Mean", "Golden Mean", "Target Norm", "Golden Norm")


def summed_differences(got: list[list[str]], wanted: list[list[str]]) -> list[str]:
    failures = []
    for line, rows in enumerate(zip(got[1:], wanted[1:]), 1):
        mine, peer = (dict(zip(wanted[0], row)) for row in rows)
        for column in SUMMED:
            coarse = peer[column.split()[0] + " Data Type"] in ("float16", "bf16")
            fits = near(column, mine[column], peer[column])
            if not fits and coarse and peer[column] != "N/A":
                fits = abs(float(mine[column]) - float(peer[column])) <= 0.02 * abs(float(peer[column]))
            failures += [] if fits else [f"row {line} {column}: got {mine[column]}, expected {peer[column]}"]
    return failures


# type, golden, target; cosine, distance, max absolute, max relative, 1/1000, 5/1000; max, min of the target. What msprobe of 2026 prints.
ROUND_VECTORS = [
    ("float", [1, 2, 3, 4], [1, 2.5, 2, 4], "0.979296383496 1.118033988749895 1.0 0.333333343267 0.5 0.5 4.0 1.0"),
    ("float", [0, 0, 0, 0], [0, 0, 0, 0], "1.0 0.0 0.0 0.0 1.0 1.0 0.0 0.0"),
    ("float", [0, 0, 0], [1, -1, 2], "N/A 2.449489742783178 2.0 16777215.0 0.0 0.0 2.0 -1.0"),
    ("float", [2], [3], "unsupported 1.0 1.0 0.5 0.0 0.0 3.0 3.0"),
    ("int8", [-128, 127, 0], [-127, 127, 1], "0.999977 1.4142135623730951 1.0 4503599627370496.0 0.333333333333 0.333333333333 127.0 -127.0"),
    ("bool", [1, 0], [1, 0], "1.0 0.0 0.0 0.0 1.0 1.0 tensor(True) tensor(False)"),
    ("float", [1, 2], [1, 2, 3], "N/A N/A N/A N/A N/A N/A 3.0 1.0"),
]


def write_round(round_folder: pathlib.Path, tensors: list[tuple[str, list]]) -> None:
    import numpy as np
    types = {"float": (0, np.float32), "int8": (2, np.int8), "bool": (12, np.bool_)}
    round_folder.mkdir(parents=True)
    lines = ["Device and PID,Execution Count,Op Name,Op Type,Op Id,Input/Output,Index,Dtype,Format,Shape,Max,Min,Mean,Norm,Tensor Path"]
    for index, (dtype, values) in enumerate(tensors):
        code, numpy_type = types[dtype]
        data = np.array(values, dtype=numpy_type).tobytes()
        name = f"0_Op/after/outtensor{index}.bin"
        (round_folder / name).parent.mkdir(parents=True, exist_ok=True)
        (round_folder / name).write_bytes(f"$Version=1.0\n$Object.Count=1\n$Object.Length={len(data)}\nformat=2\ndtype={code}\n"
                                          f"dims={len(values)}\n$Object.data=0,{len(data)}\n$End=1\n".encode() + data)
        lines.append(f"0_1,0,Op,Op,0,output,{index},{dtype},nd,{len(values)},N/A,N/A,N/A,N/A,/x/atb_dump_data/data/0_1/0/{name}")
    (round_folder / "statistic.csv").write_text("\n".join(lines) + "\n")


def check_round_vectors(checker) -> None:
    if not checker.wants("round_vectors"):
        return
    folder = checker.folder("round_vectors")
    write_round(folder / "golden", [(dtype, golden) for dtype, golden, _, _ in ROUND_VECTORS])
    write_round(folder / "target", [(dtype, target) for dtype, _, target, _ in ROUND_VECTORS])
    checker.run(["compare", "-m", "atb", "-gp", "golden", "-tp", "target"], folder, "msprobe")
    path, failures = only_file(folder / "output", r"atb_tensor_compare_result_\d{14}\.xlsx")
    if path is not None:
        rows = next(iter(read_sheets(path).values()))
        first, largest, smallest = (rows[0].index(title) for title in ("Cosine", "Target Max", "Target Min"))
        got = [" ".join([*row[first:first + 6], row[largest], row[smallest]]) for row in rows[1:]]
        failures += [f"{vector[1]} {vector[2]}: got {line}, expected {vector[3]}" for line, vector in zip(got, ROUND_VECTORS)
                     if line != vector[3]] + ([] if len(got) == len(ROUND_VECTORS) else [f"rows: got {len(got)}"])
    checker.report("round_vectors", failures)


def check_msprobe(checker) -> None:
    golden = "msprobe_atb/golden/atb_dump_data/data/0_4321/0"
    for name, target in (("msprobe_target", "msprobe_atb/target/atb_dump_data/data/0_4322/0"),
                         ("msprobe_target_filtered", "msprobe_atb/target_filtered/atb_dump_data/data/0_4323/0")):
        if not checker.wants(name):
            continue
        folder = checker.folder(name)
        done = checker.run(["compare", "-m", "atb", "-gp", f"{DATA}/{golden}", "-tp", f"{DATA}/{target}"], folder, "msprobe")
        if done.returncode != 0 or "Complete ATB dump data comparison." not in done.stdout:
            checker.report(name, [f"exit code {done.returncode}: {done.stdout[-300:]}"])
            continue
        path, failures = only_file(folder / "output", r"atb_tensor_compare_result_\d{14}\.xlsx")
        if path is not None:
            wanted = read_csv(EXPECTED / f"{name}.csv")
            if name in DIFFERENCES:  # … so its rows are those of the dump in which nothing is an alias
                whole = read_csv(EXPECTED / "msprobe_target.csv")
                device = wanted[0].index("Target Device and PID")
                wanted = [whole[0]] + [row[:device] + [alias[device]] + row[device + 1:] for row, alias in zip(whole[1:], wanted[1:])]
            got = next(iter(read_sheets(path).values()))
            failures += table_differences(got, wanted, SUMMED) + summed_differences(got, wanted)
        checker.report(name, failures)
