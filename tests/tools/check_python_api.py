#!/usr/bin/python3
"""The Python package as a reader: assay.compare, assay.open, assay.testing, the calls of msprobe that compare.

    check_python_api.py --bin build/release [--only NAME] [--keep FOLDER]

Needs Debian's numpy and torch; pandas and ml_dtypes are tried where they are.
"""
from __future__ import annotations

import os
import pathlib
import sys
import traceback

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "python" / "compat")]
sys.dont_write_bytecode = True

from checker import Checker, run_checks  # noqa: E402
from python_api_calls import CALL_CHECKS  # noqa: E402
from python_api_compare import COMPARE_CHECKS  # noqa: E402
from python_api_oldest import OLDEST_CHECKS  # noqa: E402
from python_api_open import OPEN_CHECKS  # noqa: E402


def check_all(c: Checker) -> None:
    os.environ["ASSAY_LIBRARY"] = str(c.program.parent)
    for name, check in {**COMPARE_CHECKS, **OPEN_CHECKS, **CALL_CHECKS, **OLDEST_CHECKS}.items():
        if not c.wants(name):
            continue
        try:
            failures = check(c)
        except Exception:
            failures = [traceback.format_exc()]
        c.report(name, failures)


if __name__ == "__main__":
    sys.exit(run_checks(__doc__, Checker, check_all))
