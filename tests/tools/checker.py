"""What the checks that run the program in folders of their own share: counting, running, and their command line."""
from __future__ import annotations

import argparse
import contextlib
import io
import pathlib
import shutil
import subprocess
import sys
import tempfile
import traceback
from typing import Callable


class Count:
    """Tests that passed and failed; what is wrong with one is printed below its name."""

    def __init__(self) -> None:
        self.passed = self.failed = 0

    def check(self, name: str, problems: list[str]) -> None:
        self.passed += not problems
        self.failed += bool(problems)
        if problems:
            print(f"FAILED {name}\n  " + "\n  ".join(problems))

    def check_some(self, title: str, problems: list[str]) -> None:
        """The same where one fault makes many problems."""
        self.passed += not problems
        self.failed += bool(problems)
        for line in problems[:5]:
            print(f"{title}: {line}")
        if len(problems) > 5:
            print(f"{title}: {len(problems) - 5} more")


class Checker:
    def __init__(self, program: pathlib.Path, work: pathlib.Path, only: str | None) -> None:
        self.program, self.work, self.only = program, work, only
        self.passed = self.failed = self.skipped = 0

    def wants(self, name: str) -> bool:
        return self.only is None or self.only in name

    def report(self, title: str, failures: list[str]) -> None:
        """Counts one test and prints what is wrong with it."""
        self.passed += not failures
        self.failed += bool(failures)
        for failure in failures:
            print(f"{title} {failure}")

    def report_each(self, checks: dict[str, Callable[["Checker"], list[str]]]) -> None:
        """What a check raises is its failure; what it says to stderr is not shown."""
        for name, check in checks.items():
            if not self.wants(name):
                continue
            try:
                with contextlib.redirect_stderr(io.StringIO()):
                    failures = check(self)
            except Exception:
                failures = [traceback.format_exc()]
            self.report(name + ":", failures)

    def folder(self, title: str) -> pathlib.Path:
        """A new one to run in."""
        return pathlib.Path(tempfile.mkdtemp(prefix=f"{title}_", dir=self.work))

    def start(self, words: list[str], folder: pathlib.Path) -> subprocess.CompletedProcess:
        return subprocess.run([self.program, *words], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              stdin=subprocess.DEVNULL, text=True, errors="replace", timeout=120)


def tail(text: str, count: int = 4) -> str:
    return " | ".join(text.strip().split("\n")[-count:])


def run_checks(description: str, kind: type[Checker], check: Callable[[Checker], None]) -> int:
    """Reads the command line, checks in a folder that is removed behind it, and prints the last line; the exit code."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, required=True, help="folder with the assay program")
    parser.add_argument("--only", help="run what has this in its name")
    parser.add_argument("--keep", type=pathlib.Path, help="work in this folder and leave what was written")
    options = parser.parse_args()
    program = (options.bin / "assay").resolve()
    if not program.is_file():
        sys.exit(f"{program}: no such program; build it, or name its folder with --bin")
    if options.keep:
        options.keep.mkdir(parents=True, exist_ok=True)
    work = pathlib.Path(tempfile.mkdtemp(dir=options.keep)).resolve()
    checker = kind(program, work, options.only)
    try:
        check(checker)
    finally:
        if not options.keep:
            shutil.rmtree(work)
    print(f"{checker.passed} passed, {checker.failed} failed" + (f", {checker.skipped} skipped" if checker.skipped else ""))
    return checker.failed > 0
