#!/usr/bin/env python3
"""Print an .xlsx file as text, read by openpyxl: an opinion on our spreadsheets that is not ours.

Each sheet is a line "# NAME" followed by its rows, cells separated by tabs; empty cells are empty.

    check_xlsx.py out/assay_report_20250102030405.xlsx
"""
import argparse
import sys

import openpyxl


def cell_text(value: object) -> str:
    """Text of a cell on one line; floats as Python prints them.

    >>> cell_text(None), cell_text(0.5), cell_text("a\\tb")
    ('', '0.5', 'a\\\\tb')
    """
    if value is None:
        return ""
    return str(value).replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path")
    parser.add_argument("--sheet", action="append", help="print only this sheet; may be given more than once")
    parser.add_argument("--count", action="store_true", help="print the number of rows of each sheet instead of the rows")
    options = parser.parse_args()
    book = openpyxl.load_workbook(options.path, read_only=True)
    for sheet in book.worksheets:
        if options.sheet and sheet.title not in options.sheet:
            continue
        rows = sheet.iter_rows(values_only=True)
        if options.count:
            print(f"{sheet.title}\t{sum(1 for _ in rows)}")
            continue
        print(f"# {sheet.title}")
        for row in rows:
            print("\t".join(cell_text(value) for value in row))
    return 0


if __name__ == "__main__":
    sys.exit(main())
