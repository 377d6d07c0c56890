#!/usr/bin/python3
"""Runs the case tests: what a user sees, as text files under tests/cases/.

    run_cases.py --bin build/release                     all cases
    run_cases.py --bin build/release FILE…               these files, or all cases in these folders
    run_cases.py --bin build/release --bless FILE…       rewrites what the files expect; review the diff

A case is a list of directives, each on a line of its own. Set-up:
    # text                          a remark
    make FILE SPEC                  a tensor file; SPEC as in tests/tools/mkdump.cc: make a.npy f32[2,3] 1 2 3 4 5 6
    write FILE + block              a text file (the block may also be indented; then blank lines belong to it)
    bytes FILE 93 4e "UMPY" 00*16   a binary file: hex, quoted text, repetitions
    copy FILE from data/…           a file or folder of tests/data
    env NAME=VALUE                  for every command below
    run COMMAND                     a bash line, with assay and tests/tools on PATH; of a pipeline, the last exit code that is not 0.
                                    Indented lines below it are further lines of the command
All commands of a case run in one fresh folder. Expectations on the command before them (without `exit`, 0 is expected):
    exit N
    stdout + block, stderr + block  exactly these lines; the temporary folder is shown as $DIR
    stdout~ + block, stderr~ …      each line is a regular expression for a whole line; ... stands for any lines
    stdout has TEXT, stderr has TEXT, file NAME has TEXT
    file NAME + block               the exact contents of a file the command wrote
    no file NAME
A block is the lines up to a blank line or the next directive. A line that starts with | is the rest of it, whatever that
is (so | alone is an empty line); a last line of \\ alone says that the text ends without a newline.
Names with spaces stand in double quotes. Files named *.slow.case run with --slow only.
"""
from __future__ import annotations

import argparse
import concurrent.futures
import dataclasses
import difflib
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap

TESTS = pathlib.Path(__file__).resolve().parents[1]
TIMEOUT_S = 60
NAME = r'("[^"]+"|\S+)'
DIRECTIVES = {kind: re.compile(pattern + r"\s*$") for kind, pattern in {
    "make": rf"make\s+{NAME}\s+(.+?)",
    "write": rf"write\s+{NAME}",
    "bytes": rf"bytes\s+{NAME}\s*(.*?)",
    "copy": rf"copy\s+{NAME}\s+from\s+(data/\S+)",
    "env": r"env\s+(\w+)=(.*?)",
    "run": r"run\s+(.+?)",
    "exit": r"exit\s+(\d+)",
    "has": r"(stdout|stderr)\s+has\s+(.+?)",
    "file has": rf"file\s+{NAME}\s+has\s+(.+?)",
    "text": r"(stdout|stderr)",
    "pattern": r"(stdout|stderr)~",
    "file": rf"file\s+{NAME}",
    "no file": rf"no\s+file\s+{NAME}",
}.items()}
WITH_BLOCK = {"write", "text", "pattern", "file"}
EXPECTATIONS = {"exit", "has", "file has", "text", "pattern", "file", "no file"}
# What a sanitizer prints; a case that provokes it has failed whatever else it expects.
SANITIZER = re.compile(r"AddressSanitizer|LeakSanitizer|ThreadSanitizer|runtime error:")


class Failure(Exception):
    pass


@dataclasses.dataclass
class Directive:
    kind: str
    args: tuple[str, ...]
    line: int
    lines: list[str]  # as they stand in the file
    block: str = ""


def which_directive(line: str) -> tuple[str, tuple[str, ...]] | None:
    for kind, pattern in DIRECTIVES.items():
        if found := pattern.match(line):
            return kind, tuple(group.strip('"') if i == 0 and kind != "run" else group for i, group in enumerate(found.groups()))
    return None


def text_of_block(lines: list[str]) -> str:
    if lines and lines[-1] == "\\":
        return "\n".join(line.removeprefix("|") for line in lines[:-1])
    return "".join(line.removeprefix("|") + "\n" for line in lines)


def block_of_text(text: str) -> list[str]:
    lines = text.removesuffix("\n").split("\n") if text else []
    hidden = [line == "" or line[0] in "|#\\" or which_directive(line) is not None for line in lines]
    lines = ["|" + line if hide else line for line, hide in zip(lines, hidden)]
    return lines + ["\\"] if text and not text.endswith("\n") else lines


def parse(path: pathlib.Path) -> list[Directive]:
    """The directives in order; remarks and blank lines between them are kept as directives of kind ''."""
    lines = path.read_bytes().decode("utf-8", "surrogateescape").split("\n")
    if lines[-1] == "":
        lines.pop()
    directives = []
    at = 0
    while at < len(lines):
        line = lines[at]
        start = at
        at += 1
        if line.strip() == "" or line.startswith("#"):
            directives.append(Directive("", (), start + 1, [line]))
            continue
        found = which_directive(line)
        if found is None:
            raise Failure(f"line {start + 1}: not a directive (start a line of text with |): {line}")
        directive = Directive(*found, start + 1, [line])
        if directive.kind == "run":
            while at < len(lines) and lines[at].startswith("  "):
                at += 1
            directive.args = ("\n".join([*directive.args, *lines[start + 1:at]]),)
        if directive.kind in WITH_BLOCK:
            if directive.kind == "write" and at < len(lines) and lines[at].startswith((" ", "\t")):
                while at < len(lines) and (lines[at].strip() == "" or lines[at].startswith((" ", "\t"))):
                    at += 1
                while lines[at - 1].strip() == "":
                    at -= 1
                directive.block = textwrap.dedent("\n".join(lines[start + 1:at])) + "\n"
            else:
                while at < len(lines) and lines[at] != "" and not lines[at].startswith("#") \
                        and not which_directive(lines[at]):
                    at += 1
                directive.block = text_of_block(lines[start + 1:at])
        directive.lines = lines[start:at]
        directives.append(directive)
    return directives


def parse_bytes(spec: str) -> bytes:
    out = b""
    rest = spec
    while rest := rest.lstrip():
        found = re.match(r'(?:"([^"]*)"|((?:[0-9a-fA-F]{2})+))(?:\*(\d+))?(?=\s|$)', rest)
        if found is None:
            raise Failure(f"not hex or quoted text: {rest}")
        part = found[1].encode() if found[1] is not None else bytes.fromhex(found[2])
        out += part * int(found[3] or 1)
        rest = rest[found.end():]
    return out


def matches(patterns: list[str], lines: list[str]) -> bool:
    """Each pattern a whole line, in order; '...' any number of lines. One row of a table per pattern, no recursion."""
    possible = {0}  # how many lines may be used up so far
    for pattern in patterns:
        if pattern == "...":
            possible = set(range(min(possible, default=len(lines) + 1), len(lines) + 1))
        else:
            possible = {n + 1 for n in possible if n < len(lines) and re.fullmatch(pattern, lines[n])}
    return len(lines) in possible


def difference(what: str, expected: str, actual: str) -> str:
    lines = difflib.unified_diff(expected.splitlines(), actual.splitlines(), f"{what} expected", f"{what} found", lineterm="")
    return "\n".join(lines) or f"{what}: differs in the newline at the end"


@dataclasses.dataclass
class Outcome:
    exit: int
    stdout: str
    stderr: str


class Case:
    def __init__(self, path: pathlib.Path, bin_folder: pathlib.Path, bless: bool):
        self.path = path
        self.bin = bin_folder
        self.bless = bless
        self.failures: list[str] = []

    def run(self) -> list[str]:
        """The reasons it failed; none if it passed."""
        try:
            directives = parse(self.path)
            with tempfile.TemporaryDirectory(prefix="assay_case_") as folder:
                self.folder = pathlib.Path(folder).resolve()
                self.work = self.folder / "work"
                self.work.mkdir()
                home = self.folder / "home"
                home.mkdir()
                self.env = {"PATH": f"{self.bin}:{TESTS / 'tools'}:/usr/bin:/bin", "HOME": str(home), "TMPDIR": str(self.folder),
                            "ASSAY_NOW": "2025-01-02T03:04:05Z", "TZ": "UTC", "LC_ALL": "C.UTF-8"}
                self.env |= {k: v for k, v in os.environ.items() if k in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS")}
                self.perform(directives)
        except (Failure, OSError) as error:
            self.failures.append(str(error))
        return self.failures

    def perform(self, directives: list[Directive]) -> None:
        written: list[str] = []  # the file again, for --bless
        at = 0
        while at < len(directives):
            directive = directives[at]
            at += 1
            written += directive.lines
            if directive.kind == "run":
                end = at
                while end < len(directives) and directives[end].kind in EXPECTATIONS | {""}:
                    end += 1
                written += self.check(directive, directives[at:end])
                at = end
            elif directive.kind in EXPECTATIONS:
                raise Failure(f"line {directive.line}: there is no command above for this to be about")
            elif directive.kind:
                self.prepare(directive)
        if self.bless:
            self.path.write_text("\n".join(written) + "\n", encoding="utf-8", errors="surrogateescape")

    def target(self, name: str) -> pathlib.Path:
        path = self.work / name
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def prepare(self, directive: Directive) -> None:
        name, *rest = directive.args
        if directive.kind == "env":
            self.env[name] = rest[0]
        elif directive.kind == "write":
            self.target(name).write_text(directive.block, encoding="utf-8", errors="surrogateescape")
        elif directive.kind == "bytes":
            self.target(name).write_bytes(parse_bytes(rest[0]))
        elif directive.kind == "copy":
            source = TESTS / rest[0]
            copy = shutil.copytree if source.is_dir() else shutil.copyfile
            copy(source, self.target(name))
        elif directive.kind == "make":
            made = subprocess.run([self.bin / "mkdump", name, rest[0]], cwd=self.work, env=self.env, text=True,
                                  capture_output=True)
            if made.returncode:
                raise Failure(f"line {directive.line}: {made.stderr.strip()}")

    def execute(self, run: Directive) -> Outcome:
        # A session of its own, so that a command that hangs is ended together with its children.
        process = subprocess.Popen(["/bin/bash", "-o", "pipefail", "-c", run.args[0]], cwd=self.work, env=self.env, start_new_session=True,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            out, err = process.communicate(timeout=TIMEOUT_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            raise Failure(f"line {run.line}: still running after {TIMEOUT_S} s: {run.args[0]}") from None
        text = [part.decode("utf-8", "surrogateescape").replace(str(self.work), "$DIR") for part in (out, err)]
        return Outcome(process.returncode, *text)

    def check(self, run: Directive, expectations: list[Directive]) -> list[str]:
        """Runs one command; answers the lines that describe what came of it."""
        outcome = self.execute(run)
        if SANITIZER.search(outcome.stderr):
            raise Failure(f"line {run.line}: a sanitizer objects to: {run.args[0]}\n{outcome.stderr}")
        wants = [e for e in expectations if e.kind]
        reasons = []
        if outcome.exit != 0 and not any(e.kind == "exit" for e in wants) and not self.bless:
            reasons.append(f"exit {outcome.exit}, 0 expected")
        lines = []
        if self.bless and not wants:
            lines += [f"exit {outcome.exit}"]
            for stream in ("stdout", "stderr"):
                if text := getattr(outcome, stream):
                    lines += [stream, *block_of_text(text)]
        for want in expectations:
            reason, blessed = self.compare(want, outcome)
            lines += blessed if self.bless and blessed is not None else want.lines
            if reason and not (self.bless and blessed is not None):
                reasons.append(reason)
        if reasons:
            if outcome.stderr and not any(e.args[:1] == ("stderr",) for e in wants):
                reasons.append(textwrap.indent(outcome.stderr.rstrip("\n"), "stderr: "))
            self.failures.append(f"line {run.line}: {run.args[0]}\n" + textwrap.indent("\n".join(reasons), "  "))
        return lines

    def compare(self, want: Directive, outcome: Outcome) -> tuple[str | None, list[str] | None]:
        """Why it is not as wanted, or None; and how --bless would write it, or None where only a person can tell."""
        if want.kind == "exit":
            ok = int(want.args[0]) == outcome.exit
            return (None if ok else f"exit {outcome.exit}, {want.args[0]} expected"), [f"exit {outcome.exit}"]
        if want.kind == "text":
            return self.compare_text(want, want.args[0], getattr(outcome, want.args[0]))
        if want.kind in ("file", "file has"):
            path = self.work / want.args[0]
            if not path.is_file():
                return f"file {want.args[0]} was not written", None
            text = path.read_bytes().decode("utf-8", "surrogateescape").replace(str(self.work), "$DIR")
            if want.kind == "file":
                return self.compare_text(want, want.args[0], text)
            return (None if want.args[1] in text else f"file {want.args[0]} lacks: {want.args[1]}\n{text}"), None
        if want.kind == "no file":
            found = (self.work / want.args[0]).exists()
            return (f"file {want.args[0]} exists" if found else None), None
        if want.kind == "":
            return None, None
        text = getattr(outcome, want.args[0])
        if want.kind == "has":
            return (None if want.args[1] in text else f"{want.args[0]} lacks: {want.args[1]}\n{text}"), None
        ok = matches(want.block.splitlines(), text.splitlines())
        return (None if ok else difference(want.args[0], want.block, text)), None

    @staticmethod
    def compare_text(want: Directive, what: str, text: str) -> tuple[str | None, list[str]]:
        return (None if text == want.block else difference(what, want.block, text)), [want.lines[0], *block_of_text(text)]


def find_cases(places: list[pathlib.Path], slow: bool) -> list[pathlib.Path]:
    cases = []
    for place in places:
        found = sorted(place.rglob("*.case")) if place.is_dir() else [place]
        cases += [path for path in found if slow or not path.name.endswith(".slow.case") or path == place]
    return cases


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True, type=pathlib.Path, help="the folder that holds assay and mkdump")
    parser.add_argument("--bless", action="store_true", help="rewrite the expected parts of these files")
    parser.add_argument("--slow", action="store_true", help="also the cases named *.slow.case")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("cases", nargs="*", type=pathlib.Path)
    args = parser.parse_args()
    if args.bless and not args.cases:
        parser.error("--bless needs the files to rewrite")
    bin_folder = args.bin.resolve()
    if not bin_folder.is_dir():
        bin_folder = bin_folder.parent
    for program in ("assay", "mkdump"):
        if not (bin_folder / program).is_file():
            parser.error(f"{bin_folder} has no {program}; build it first")

    paths = find_cases(args.cases or [TESTS / "cases"], args.slow)
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for path, failures in zip(paths, pool.map(lambda p: Case(p, bin_folder, args.bless).run(), paths)):
            if failures:
                failed += 1
                print(f"FAILED {os.path.relpath(path)}")
                print(textwrap.indent("\n".join(failures), "  ").encode("utf-8", "backslashreplace").decode())
    print(f"{len(paths) - failed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
