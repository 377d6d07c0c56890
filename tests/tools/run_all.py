#!/usr/bin/python3
"""Everything that CI checks; `make test` calls it. The last line is 'N passed, N failed', over all stages.

With --threads, the pipeline under ThreadSanitizer and nothing else: `make test-threads`."""
from __future__ import annotations

import concurrent.futures
import contextlib
import functools
import io
import os
import pathlib
import re
import shlex
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

    def add(self, name: str, text: str, found: tuple[int, int, int], seconds: float) -> bool:
        passed, failed, skipped = found
        self.passed += passed
        self.failed += failed
        self.skipped += skipped
        result = f"== {name}: {counts(passed, failed, skipped)} ({seconds:.1f} s)"
        print(f"{text}{result}", flush=True)
        if failed:
            self.failures.append(f"{text[-FAILURE_SHOWN:]}{result}")
        return failed == 0


class Stages:
    """Runs checks that keep one core busy, as many at a time as there are cores, and beside them one build at a time, which
    takes what they leave: no core waits for the last check of a preset while the next one could be built."""

    def __init__(self, totals: Totals) -> None:
        self.totals = totals
        self.builder = concurrent.futures.ProcessPoolExecutor(1, initializer=os.nice, initargs=(10,))
        self.checkers = concurrent.futures.ProcessPoolExecutor(int(CORES))
        self.running: dict[concurrent.futures.Future, tuple] = {}

    def build(self, name: str, check, *args, then) -> None:
        """`then` gives the checks of what was built."""
        self.running[self.builder.submit(check_apart, check, *args)] = (name, then)

    def checks(self, checks: list[tuple]) -> None:
        for name, *check in checks:
            self.running[self.checkers.submit(check_apart, *check)] = (name, list)

    def finish(self) -> None:
        """Each is printed when it is done."""
        while self.running:
            for done in concurrent.futures.wait(self.running, return_when=concurrent.futures.FIRST_COMPLETED).done:
                name, then = self.running.pop(done)
                if self.totals.add(name, *done.result()):
                    self.checks(then())


def check_apart(check, *args) -> tuple[str, tuple[int, int, int], float]:
    """In a process of its own: what it would have printed is an answer too."""
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
    sources = [path for folder in ("assay", "bench", "capture", "cli", "include", "library", "probe", "tests") for path in sorted((ROOT / folder).rglob("*"))
               if path.suffix in (".cc", ".h")]
    done = run("clang-format", "--dry-run", "-Werror", *sources)
    bad = sorted(set(re.findall(r"^(.+?):\d+:\d+: error", done.stdout, re.MULTILINE)))
    for path in bad:
        print(f"not formatted: {os.path.relpath(path, ROOT)} (clang-format -i)")
    return int(done.returncode == 0), int(done.returncode != 0), 0


def check_build(preset: str, *targets: str) -> tuple[int, int, int]:
    """Quiet where all is well: a user of `make test` wants the end of a failed build, not a thousand lines before it."""
    for command in (["bash", TOOLS / "configure.sh", preset],
                    ["cmake", "--build", "--preset", preset, "-j", CORES, "--target", *(targets or ["all"])]):
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
                  "lib/assay/atb/load_atb_probe.sh", "lib/assay/atb/unload_atb_probe.sh", "lib/assay/atb/config.json",
                  "share/bash-completion/completions/assay", "share/zsh/site-functions/_assay", "include/assay/assay.h", "lib/libassay.so",
                  "lib/pkgconfig/assay.pc", "lib/python3/dist-packages/assay/__init__.py",
                  "lib/assay/libassay_probe.so", "lib/assay/libatb_probe_abi0.so", "lib/assay/libatb_probe_abi1.so"]
        missing = [name for name in wanted if not (moved / name).is_file()]
        if missing:
            print("not installed:", *missing)
            return 0, 1, 0
        return check_command(moved / "bin" / "assay", "--version") if builds_against(moved) else (0, 1, 0)


def builds_against(prefix: pathlib.Path) -> bool:
    """A program of somebody else's finds header and library through pkg-config."""
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "assay"], stdout=subprocess.PIPE, text=True, check=False,
                           env={**os.environ, "PKG_CONFIG_PATH": str(prefix / "lib" / "pkgconfig")})
    source = prefix / "x.c"
    source.write_text("#include <assay/assay.h>\nint main(void) { return assay_abi_version() != ASSAY_ABI_VERSION; }\n")
    built = run("gcc", source, *shlex.split(flags.stdout), f"-Wl,-rpath,{prefix / 'lib'}", "-o", prefix / "x")
    done = run(prefix / "x") if built.returncode == 0 else built
    print(done.stdout, end="")
    return done.returncode == 0


def check_completion(preset: str) -> tuple[int, int, int]:
    """Every flag that --help shows is offered by the completion files."""
    program = ROOT / "build" / preset / "assay"
    flags = set()
    for verb in ([], ["compare"], ["opcheck"], ["errcheck"], ["dump"], ["capture"], ["recover"], ["inspect"], ["convert"], ["compact"], ["topology"], ["view"], ["doctor"], ["demo"]):
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


def checks_of(preset: str) -> list[tuple]:
    """The long ones first."""
    folder = ROOT / "build" / preset
    scripts = {"TorchAir": "check_torchair.py", "ATB": "check_atb.py", "ATB names": "check_atb_names.py",
               "ATB families": "check_families.py", "compact": "check_compact.py",
               "onnx": "check_onnx.py", "msprobe": "check_msprobe.py", "msit": "check_msit.py",
               "screen": "check_screen.py", "writing": "check_writing.py", "numpy and torch": "check_python.py",
               "threads": "check_threads.py", "names and shapes": "check_names.py", "families of checkpoints": "check_checkpoint_families.py", "judgement": "check_judgement.py",
               "operators run again": "check_reruns.py",
               "operators": "check_opcheck.py", "algorithms": "check_algorithms.py", "capture": "check_capture.py",
               "library": "check_library.py", "view": "check_view.py"}
    programs = sorted(folder.glob("assay_*_test"), key=lambda path: -path.stat().st_size)
    checks = [(f"{preset}: cases", check_script, "run_cases.py", "--bin", folder)]
    checks += [(f"{preset}: {name}", check_script, script, "--bin", folder) for name, script in scripts.items()]
    checks += [(f"{preset}: {program.name}", check_units, program) for program in programs]
    if preset == "release":
        return checks + [("release: Python as a reader", check_script, "check_python_api.py", "--bin", folder),
                         ("release: torch capture", check_script, "check_torch_capture.py", "--bin", folder),
                         ("release: msprobe capture", check_script, "check_msprobe_capture.py", "--bin", folder),
                         ("release: scale", check_script, "check_scale.py", "--bin", folder),
                         ("release: page", check_script, "check_page.py", "--bin", folder),
                         ("release: install", check_install, preset), ("release: completion", check_completion, preset)]
    targets = sorted(path.stem for path in (ROOT / "tests" / "fuzz").glob("fuzz_*.cc"))
    return checks + [(f"{preset}: {target}", check_fuzz, preset, target) for target in targets]


def add_all(stages: Stages) -> None:
    for preset in ("release", "dev"):
        stages.build(f"{preset}: build", check_build, preset, then=functools.partial(checks_of, preset))
    stages.checks([("synthetic ATB dumps", check_script, "check_atb_dump.py"), ("format", check_format),
                   ("dependencies", check_command, PYTHON, TOOLS / "check_dependencies.py"),
                   ("one way out", check_command, PYTHON, TOOLS / "check_output.py")])


def add_threads(stages: Stages) -> None:
    folder = ROOT / "build" / "tsan"
    stages.build("tsan: build", check_build, "tsan", "assay", "library_host", "assay_support_test", "assay_capture_test",
                 then=lambda: [("tsan: threads", check_script, "check_threads.py", "--bin", folder),
                               ("tsan: library", check_script, "check_library.py", "--bin", folder, "--only", "threads"),
                               ("tsan: assay_support_test", check_units, folder / "assay_support_test"),
                               ("tsan: assay_capture_test", check_units, folder / "assay_capture_test")])


def main() -> int:
    start = time.monotonic()
    totals = Totals()
    stages = Stages(totals)
    print("== each stage is shown when it is done; a build takes minutes", flush=True)
    (add_threads if sys.argv[1:] == ["--threads"] else add_all)(stages)
    stages.finish()
    print(f"== all stages: {time.monotonic() - start:.0f} s")
    if totals.failures:  # those who only see the end of a long log must see what failed
        print("== failed:", *totals.failures, sep="\n")
    print(counts(totals.passed, totals.failed, totals.skipped))
    return totals.failed > 0


if __name__ == "__main__":
    sys.exit(main())
