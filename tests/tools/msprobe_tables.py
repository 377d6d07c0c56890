"""Result tables of msprobe: reading them, and saying where two of them differ.

Every failure is a line 'row N COLUMN: got X, expected Y'; rows count from 1, the header being row 0.
"""
from __future__ import annotations

import csv
import math
import os
import pathlib
import re
from typing import Callable, NamedTuple

import openpyxl

NUMBER = re.compile(r"-?\d+(\.\d+)?(e[-+]?\d+)?")
INTEGER = re.compile(r"-?\d+")
RELATIVE = 1e-12
# The peer's kernel statistics are sums in the tensor's own type, in an order that its library chooses.
KERNEL_RELATIVE = {"float32": 2.0**-21, "float16": 2.0**-9}
# Columns that hold text even where it looks like a number (a CRC of eight digits, a file '-1').
TEXT_COLUMNS = {"NPU Name", "Bench Name", "NPU Dtype", "Bench Dtype", "NPU Tensor Shape", "Bench Tensor Shape", "NPU MD5",
                "BENCH MD5", "Result", "Accuracy Reached or Not", "Err_message", "NPU_Stack_Info", "Data_name"}
PATH_COLUMNS = {"NPU Name", "Bench Name", "NPU CSV File", "Bench CSV File"}
OPERANDS = {column: (f"NPU {part}", f"Bench {part}") for part, columns in (
    ("max", ("Max diff", "MaxRelativeErr")), ("min", ("Min diff", "MinRelativeErr")),
    ("mean", ("Mean diff", "MeanRelativeErr")), ("l2norm", ("L2norm diff", "NormRelativeErr"))) for column in columns}


STATISTICS = {f"{side} {part}" for side in ("NPU", "Bench") for part in ("max", "min", "mean", "l2norm")}


class Table(NamedTuple):
    header: list[str]
    rows: list[dict]  # cells by column: text, or a number where the file stores one
    fills: dict[int, str]  # colour of coloured rows
    sheet: str | None = None
    bold: bool = False


def read_csv(path: pathlib.Path) -> Table:
    with open(path, newline="", encoding="utf-8") as file:
        header, *rows = list(csv.reader(file))
    return Table(header, [dict(zip(header, row)) for row in rows], {})


def read_fills(path: pathlib.Path) -> dict[int, str]:
    if not path.exists():
        return {}
    with open(path, newline="") as file:
        return {int(row["row"]): row["argb"] for row in csv.DictReader(file)}


def cell_value(value):
    """A cell as the expected files have it, but numbers and truth values stay what they are.

    >>> cell_value(None), cell_value(True), cell_value(0.5)
    ('', True, 0.5)
    """
    return "" if value is None else value


def holds_truth(column: str, row: dict, sheet: str | None) -> bool:
    """Whether pandas stores True and False of this column as such: what was computed and what was an argument; a text that
    the dump has already made of one stays a text. Coloured sheets hold texts."""
    if sheet != "Sheet1":
        return False
    side = column.split()[0]
    return column == "Requires_grad Consistent" or column in STATISTICS and row.get(f"{side} Dtype") == "<class 'bool'>"


def read_xlsx(path: pathlib.Path) -> Table:
    sheet = openpyxl.load_workbook(path).worksheets[0]
    lines = list(sheet.iter_rows())
    header = [cell_value(cell.value) for cell in lines[0]]
    fills = {}
    for number, line in enumerate(lines[1:], 1):
        colours = {cell.fill.start_color.rgb if cell.fill.fill_type == "solid" else "" for cell in line}
        if colours != {""}:
            fills[number] = "/".join(sorted(colours))  # more than one: not the whole row
    rows = [dict(zip(header, (cell_value(cell.value) for cell in line))) for line in lines[1:]]
    return Table(header, rows, fills, sheet.title, bool(lines[0][0].font.bold))


def read_table(path: pathlib.Path) -> Table:
    return read_xlsx(path) if path.suffix == ".xlsx" else read_csv(path)


def number(text) -> float | None:
    if isinstance(text, (int, float)):
        return float(text)
    return float(text) if NUMBER.fullmatch(text) else None


def tolerance(column: str, row: dict) -> float:
    """Relative tolerance of a cell. Differences of statistics are those of the peer to the last digit."""
    if column in OPERANDS and "Max diff" in row:
        return 0.0
    if "NPU Requires_grad" not in row and "Cosine" in row and column.split()[-1] in ("mean", "l2norm"):
        return KERNEL_RELATIVE.get(row.get(f"{column.split()[0]} Dtype"), RELATIVE)
    return RELATIVE


def agrees(column: str, got, expected: str, row: dict) -> bool:
    """Whether a cell says what the expected text says."""
    as_text = row["from_csv"] or column in row.get("texts", ())
    if expected in ("True", "False") and row["sheet"] is not None:
        return got == (expected == "True" if holds_truth(column, row, row["sheet"]) else expected)
    if got == expected and isinstance(got, str):
        # A number that was written as text shows in a spreadsheet as a sum that does not add up.
        return column in TEXT_COLUMNS or number(expected) is None or as_text
    if column.endswith("MD5") and not isinstance(got, str):
        # A 0-d tensor that stands for itself.
        return row["NPU Tensor Shape"] == "[]" and number(expected) == got
    if column in TEXT_COLUMNS:
        return False
    if isinstance(got, str):
        percent = got.endswith("%") and expected.endswith("%")
        if percent:
            got, expected = got[:-1], expected[:-1]
        elif not as_text:
            return False
        if number(got) is None or number(expected) is None:
            return False
        whole = [INTEGER.fullmatch(text) is not None for text in (got, expected)]
        if whole[0] != whole[1] or not whole[0] and repr(float(got)) != got:
            return False  # 1 for 1.0, or not the shortest text of this number
    elif number(expected) is None:
        return False
    return math.isclose(number(got), number(expected), rel_tol=tolerance(column, row))


def relative_path(text: str, folder: pathlib.Path) -> str:
    if not text:
        return text
    return os.path.normpath(os.path.relpath(text, folder) if os.path.isabs(text) else text)


def with_relative_paths(table: Table, folder: pathlib.Path) -> Table:
    rows = [{column: relative_path(str(cell), folder) if column in PATH_COLUMNS and "/" in str(cell) else cell
             for column, cell in row.items()} for row in table.rows]
    return table._replace(rows=rows)


def sorted_rows(table: Table) -> Table:
    return table._replace(rows=sorted(table.rows, key=lambda row: (row["NPU Name"], row["Bench Name"])))


def differences(got: Table, expected: Table, ours: Callable[[str, int, dict, str], str],
                texts: frozenset[str] = frozenset()) -> list[str]:
    """Where two tables differ. `texts`: columns whose numbers the peer writes as texts. `ours(column, row number, expected row, expected text)` gives the text that is wanted instead
    where we differ from the peer on purpose, and the same text where we do not."""
    if got.header != expected.header:
        return [f"row 0 header: got {got.header}, expected {expected.header}"]
    failures = []
    if len(got.rows) != len(expected.rows):
        failures.append(f"number of rows: got {len(got.rows)}, expected {len(expected.rows)}")
    for line, (mine, theirs) in enumerate(zip(got.rows, expected.rows), 1):
        theirs = {**theirs, "from_csv": got.sheet is None, "sheet": got.sheet, "texts": texts}
        for column in expected.header:
            wanted = ours(column, line, theirs, theirs[column])
            if not agrees(column, mine[column], wanted, theirs):
                failures.append(f"row {line} {column}: got {mine[column]!r}, expected {wanted!r}")
        wanted = ours("fill", line, theirs, expected.fills.get(line, ""))
        if got.fills.get(line, "") != wanted:
            failures.append(f"row {line} fill: got {got.fills.get(line, '') or 'none'}, expected {wanted or 'none'}")
    return failures
