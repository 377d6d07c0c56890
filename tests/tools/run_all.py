#!/usr/bin/python3
"""Everything that CI checks; `make test` calls it. The last line is 'N passed, N failed', over all stages."""
from __future__ import annotations

import concurrent.futures
import contextlib
import io
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOLS = ROOT / "tests" / "tools"
PYTHON = "/usr/bin/python3"  # Debian's, which has Debian's numpy and torch
CORES = str(os.cpu_count() or 1)
FUZZ_SECONDS = 6
FAILURE_SHOWN = 3000  # characters that are shown again at the end
# What a stage that runs scripts of its own ends with.
COUNTS = re.compile(r"(\d+) passed, (\d+) failed(?:, (\d+) skipped)?")


class Totals:
    def __init__(self) -> None:
        self.passed = self.failed = self.skipped = 0
        self.failures: list[str] = []

    def stage(self, name: str, check, *args) -> bool:
        """Runs one check, which answers (passed, failed, skipped); prints what came of it and how long it took."""
        print(f"== {name}", flush=True)
        return self.add(name, *check_apart(check, *args))

    def add(self, name: str, text: str, found: tuple[int, int, int], seconds: float) -> bool:
        print(text, end="")
        passed, failed, skipped = found
        self.passed += passed
        self.failed += failed
        self.skipped += skipped
        result = f"== {name}: {counts(passed, failed, skipped)} ({seconds:.1f} s)"
        print(result, flush=True)
        if failed:
            self.failures.append(f"{text[-FAILURE_SHOWN:]}{result}")
        return failed == 0

    def stages(self, checks: list[tuple]) -> None:
        """Those that keep one core busy, as many at a time as there are cores; printed in this order."""
        with concurrent.futures.ProcessPoolExecutor(int(CORES)) as workers:
            running = [(name, workers.submit(check_apart, *check)) for name, *check in checks]
            for name, done in running:
                print(f"== {name}", flush=True)
                self.add(name, *done.result())


def check_apart(check, *args) -> tuple[str, tuple[int, int, int], float]:
    """Also in a process of its own: what it would have printed is an answer too."""
    start = time.monotonic()
    with contextlib.redirect_stdout(io.StringIO()) as text:
        found = check(*args)
    return text.getvalue(), found, time.monotonic() - start


def counts(passed: int, failed: int, skipped: int) -> str:
    return f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else "")


def run(*command) -> subprocess.CompletedProcess:
    return subprocess.run([str(word) for word in command], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, errors="replace")


def check_command(*command) -> tuple[int, int, int]:
    done = run(*command)
    print(done.stdout, end="")
    return int(done.returncode == 0), int(done.returncode != 0), 0


def check_format() -> tuple[int, int, int]:
    sources = [path for folder in ("assay", "cli", "bench", "tests") for path in sorted((ROOT / folder).rglob("*"))
               if path.suffix in (".cc", ".h")]
    done = run("clang-format", "--dry-run", "-Werror", *sources)
    bad = sorted(set(re.findall(r"^(.+?):\d+:\d+: error", done.stdout, re.MULTILINE)))
    for path in bad:
        print(f"not formatted: {os.path.relpath(path, ROOT)} (clang-format -i)")
    return int(done.returncode == 0), int(done.returncode != 0), 0


def check_build(preset: str) -> tuple[int, int, int]:
    """Quiet where all is well: a user of `make test` wants the end of a failed build, not a thousand lines before it."""
    for command in (["bash", TOOLS / "configure.sh", preset], ["cmake", "--build", "--preset", preset, "-j", CORES]):
        built = run(*command)
        if built.returncode:
            print(built.stdout[-20000:])
            return 0, 1, 0
    return 1, 0, 0


def check_units(program: pathlib.Path) -> tuple[int, int, int]:
    """All tests of a program in one process: under sanitizers, to start it takes longer than most tests."""
    with tempfile.NamedTemporaryFile(suffix=".xml") as report:
        tests = run("timeout", "300", program, "--gtest_brief=1", f"--gtest_output=xml:{report.name}")
        try:
            suites = xml.etree.ElementTree.parse(report.name).getroot()
        except xml.etree.ElementTree.ParseError:  # it did not live to write it
            print(tests.stdout[-20000:])
            return 0, 1, 0
    results = [(case.get("result"), case.find("failure") is not None) for case in suites.iter("testcase")]
    failed = sum(is_failure for _, is_failure in results)
    skipped = sum(result in ("skipped", "suppressed") for result, _ in results)
    if failed or tests.returncode or not results:
        print(tests.stdout[-20000:])
        failed = max(failed, 1)
    return max(len(results) - failed - skipped, 0), failed, skipped


def check_script(script: str, *args) -> tuple[int, int, int]:
    """A script of ours that ends with its own counts."""
    done = run(PYTHON, TOOLS / script, *args)
    lines = done.stdout.rstrip("\n").split("\n")
    found = COUNTS.fullmatch(lines[-1])
    if found is None:
        print(done.stdout[-20000:])
        return 0, 1, 0
    print("\n".join(lines[:-1]), end="\n" if lines[:-1] else "")
    passed, failed, skipped = (int(group or 0) for group in found.groups())
    return passed, failed or int(done.returncode != 0), skipped


def check_install(preset: str) -> tuple[int, int, int]:
    """An installed tree runs from wherever it is moved, and has its completion files."""
    with tempfile.TemporaryDirectory() as folder:
        first, moved = pathlib.Path(folder) / "first", pathlib.Path(folder) / "a moved tree"
        done = run("cmake", "--install", f"build/{preset}", "--prefix", first)
        if done.returncode:
            print(done.stdout)
            return 0, 1, 0
        first.rename(moved)
        wanted = ["bin/assay", "lib/assay/compat/msprobe", "lib/assay/compat/msit", "lib/assay/compat/ait",
                  "share/bash-completion/completions/assay", "share/zsh/site-functions/_assay"]
        missing = [name for name in wanted if not (moved / name).is_file()]
        if missing:
            print("not installed:", *missing)
            return 0, 1, 0
        return check_command(moved / "bin" / "assay", "--version")


def check_completion(preset: str) -> tuple[int, int, int]:
    """Every flag that --help shows is offered by the completion files."""
    program = ROOT / "build" / preset / "assay"
    flags = set()
    for verb in ([], ["compare"], ["inspect"], ["convert"], ["compact"], ["topology"], ["doctor"], ["demo"]):
        flags |= set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", run(program, *verb, "--help").stdout))
    missing = [f"{path.name} lacks {flag}" for path in sorted((ROOT / "cli" / "completion").iterdir())
               for flag in sorted(flags) if not re.search(rf"{flag}(?![a-z-])", path.read_text())]
    print(*missing, sep="\n", end="\n" if missing else "")
    return (0, 1, 0) if missing or not flags else (1, 0, 0)


def check_fuzz(preset: str, target: str) -> tuple[int, int, int]:
    """The kept inputs and some seconds of mutations of them. A crash leaves the input in build/<preset>/."""
    folder = ROOT / "build" / preset
    corpus = ROOT / "tests" / "fuzz" / "corpus" / target
    done = subprocess.run([folder / target, corpus, "--seconds", str(FUZZ_SECONDS)], cwd=folder, text=True,
                          errors="replace", stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    ok = done.returncode == 0
    print(done.stdout[-20000:], end="")
    if not ok:
        print(f"exit {done.returncode}; replay with: build/{preset}/{target} build/{preset}/crash-{target}.bin")
    return int(ok), int(not ok), 0


def main() -> int:
    start = time.monotonic()
    totals = Totals()
    totals.stage("format", check_format)
    totals.stage("dependencies", check_command, PYTHON, TOOLS / "check_dependencies.py")
    totals.stage("one way out", check_command, PYTHON, TOOLS / "check_output.py")
    totals.stage("synthetic ATB dumps", check_script, "check_atb_dump.py")
    for preset in ("release", "dev"):
        if not totals.stage(f"{preset}: build", check_build, preset):
            continue
        bin_folder = ROOT / "build" / preset
        programs = sorted(bin_folder.glob("assay_*_test"), key=lambda path: -path.stat().st_size)  # the long ones first
        totals.stages([(f"{preset}: {program.name}", check_units, program) for program in programs])
        totals.stage(f"{preset}: cases", check_script, "run_cases.py", "--bin", bin_folder)
        scripts = {"TorchAir": "check_torchair.py", "ATB": "check_atb.py", "compact": "check_compact.py",
                   "onnx": "check_onnx.py", "msprobe": "check_msprobe.py", "msit": "check_msit.py",
                   "screen": "check_screen.py", "writing": "check_writing.py", "numpy and torch": "check_python.py"}
        totals.stages([(f"{preset}: {name}", check_script, script, "--bin", bin_folder) for name, script in scripts.items()])
        if preset == "release":
            totals.stage("release: install", check_install, preset)
            totals.stage("release: completion", check_completion, preset)
        else:
            targets = sorted(path.stem for path in (ROOT / "tests" / "fuzz").glob("fuzz_*.cc"))
            totals.stages([(f"{preset}: {target}", check_fuzz, preset, target) for target in targets])
    print(f"== all stages: {time.monotonic() - start:.0f} s")
    if totals.failures:  # those who only see the end of a long log must see what failed
        print("== failed:", *totals.failures, sep="\n")
    print(counts(totals.passed, totals.failed, totals.skipped))
    return totals.failed > 0


if __name__ == "__main__":
    sys.exit(main())
