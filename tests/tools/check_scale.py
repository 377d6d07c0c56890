#!/usr/bin/python3
"""assay-mpi on several processes against assay: the same bytes, whatever happens to the processes.

    check_scale.py --bin build/release [--only NAME] [--keep FOLDER]

Where there is no MPI, or the kernel lets nobody make hosts of their own (namespaces), it says so and skips that.
"""
from __future__ import annotations

import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import time

import run_cases
from check_threads import floats, npy, nudged
from checker import Checker, run_checks, tail

PROCESSES = (1, 2, 3, 5)
ROUNDS = 20
TIMEOUT_S = 120
REPORTS = "csv,json,jsonl,junit,xlsx,sqlite,html"
ENVIRONMENT = {"ASSAY_NOW": "2025-01-02T03:04:05Z", "TZ": "UTC", "LC_ALL": "C.UTF-8", "OMPI_ALLOW_RUN_AS_ROOT": "1",
               "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
               "OMPI_MCA_btl": "self,vader,tcp", "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
               "OMPI_MCA_hwloc_base_binding_policy": "none", "OMPI_MCA_mpi_yield_when_idle": "1"}
# Layouts, methods of pairing, and the command lines that we stand for.
CASES = ("single", "folder", "atb", "torchair", "msprobe", "msit", "opcheck", "errcheck", "names", "rules", "trust")
CASES_OF_EACH = 3


PROCESS = re.compile(r"\(\d+\) \[")  # in the log lines of msprobe


class Scale(Checker):
    def environment(self) -> dict[str, str]:
        return os.environ | ENVIRONMENT

    def run(self, words: list, folder: pathlib.Path) -> subprocess.CompletedProcess:
        return subprocess.run(words, cwd=folder, env=self.environment(), capture_output=True, stdin=subprocess.DEVNULL,
                              text=True, errors="replace", timeout=TIMEOUT_S)

    def mpi(self, processes: int, *words) -> list:
        return ["mpirun", "-q", "-n", str(processes), self.program.with_name("assay-mpi"), *words]


def files_below(folder: pathlib.Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def differences(alone: dict[str, bytes], together: dict[str, bytes]) -> list[str]:
    return [f"{name}: {'missing' if name not in together else 'not there alone' if name not in alone else 'other bytes'}"
            for name in sorted(alone.keys() | together.keys()) if alone.get(name) != together.get(name)]


def small(side: pathlib.Path, is_mine: bool) -> None:
    """Files of several kinds, some of which differ, lack a partner, or cannot be read."""
    for i in range(120):
        values = floats(1000 + i, i)
        path = side / f"step{i % 3}" / f"layers.{i}.npy"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(npy(nudged(values, 17) if is_mine and i % 7 == 0 else values))
    (side / f"only_{side.name}.npy").write_bytes(npy(floats(10, 1)))
    (side / "broken.npy").write_bytes(npy(floats(100, 1))[:-7])


def large(side: pathlib.Path, is_mine: bool) -> None:
    """One tensor that all processes measure together, among small ones."""
    side.mkdir(parents=True)
    values = floats(14 << 20, 1)
    (side / "x.npy").write_bytes(npy(nudged(values, 1 << 20) if is_mine else values))
    for i in range(5):
        (side / f"small{i}.npy").write_bytes(npy(floats(50, i)))


def make_pair(folder: pathlib.Path, make) -> None:
    make(folder / "mine", True)
    make(folder / "golden", False)


def check_reports(checker: Scale, make, *flags) -> list[str]:
    """All reports and the terminal, for every number of processes."""
    work = checker.folder("reports")
    make_pair(work, make)
    words = ["compare", "mine", "golden", *flags]
    problems = []
    found = {}
    for processes in (0, *PROCESSES):
        out = work / "out"
        command = [*words, "--output", "out", "--report", REPORTS]
        done = checker.run(checker.mpi(processes, *command) if processes else [checker.program, *command], work)
        found[processes] = (done.returncode, done.stdout, files_below(out) if out.exists() else {})
        shutil.rmtree(out, ignore_errors=True)
        if not found[processes][2]:
            problems.append(f"{processes} processes: no report: {tail(done.stderr)}")
        if found[processes][:2] != found[0][:2]:
            problems.append(f"{processes} processes: exit code {done.returncode}, not {found[0][0]}, or another terminal: "
                            f"{tail(done.stdout)} {tail(done.stderr)}")
        problems += [f"{processes} processes: {line}" for line in differences(found[0][2], found[processes][2])]
    return problems


def check_sharing(checker: Scale) -> list[str]:
    """That several processes really measure."""
    work = checker.folder("sharing")
    make_pair(work, small)
    done = checker.run(checker.mpi(3, "compare", "mine", "golden", "-v", "--threads", "1"), work)
    shared = re.search(r"(\d+) of (\d+) pieces were measured by other processes", done.stderr)
    if shared is None or not 0 < int(shared[1]) < int(shared[2]):
        return [f"not shared out: {tail(done.stderr)}"]
    return []


class Recorded(run_cases.Case):
    """What the commands of a case do, not whether that is right."""

    def __init__(self, path: pathlib.Path, bin_folder: pathlib.Path):
        super().__init__(path, bin_folder, bless=False)
        self.outcomes = []

    def perform(self, directives) -> None:
        for directive in directives:
            if directive.kind == "run":
                done = self.execute(directive)
                self.outcomes.append((directive.args[0], done.exit, done.stdout, done.stderr))
            elif directive.kind and directive.kind not in run_cases.EXPECTATIONS:
                self.prepare(directive)
        self.files = files_below(self.work)

    def execute(self, run):
        self.env |= ENVIRONMENT
        return super().execute(run)


def check_case(path: pathlib.Path, alone: pathlib.Path, together: pathlib.Path) -> list[str]:
    one, many = Recorded(path, alone), Recorded(path, together)
    problems = one.run() + many.run()
    for (command, *expected), (_, *found) in zip(one.outcomes, many.outcomes):
        expected[1], found[1] = (PROCESS.sub("(process) [", text) for text in (expected[1], found[1]))
        if expected[:2] != found[:2]:
            problems.append(f"{command}: exit code {found[0]}, not {expected[0]}, or another output: {tail(found[1])} {tail(found[2])}")
    return problems or differences(one.files, many.files)


def chosen_cases() -> list[pathlib.Path]:
    """Those that compare, check operators or look for overflows: of each folder a few, always the same ones."""
    compares = re.compile(r"^run\s+assay (compare|opcheck|errcheck|msprobe|msit|ait)", re.MULTILINE)
    cases = []
    for folder in CASES:
        texts = {path: path.read_text(errors="replace") for path in sorted((run_cases.TESTS / "cases" / folder).glob("*.case"))}
        fitting = [path for path, text in texts.items() if compares.search(text) and text.count("\nrun ") <= 3
                   and not re.search(r"--threads|--verbose| -- |[2&]>|> log|[|] head|python3", text) and ".slow" not in path.name]
        cases += random.Random(folder).sample(fitting, min(CASES_OF_EACH, len(fitting)))
    return cases


def check_layouts(checker: Scale) -> list[str]:
    """Cases of all layouts and command lines, with three processes in the place of one."""
    together = checker.folder("bin")
    for path in checker.program.parent.iterdir():
        if path.is_file() and os.access(path, os.X_OK) and path.name != "assay":
            (together / path.name).symlink_to(path)
    wrapper = together / "assay"
    wrapper.write_text(f'#!/bin/sh\nexec mpirun -q -n 3 "{checker.program.with_name("assay-mpi")}" "$@"\n')
    wrapper.chmod(0o755)
    problems = []
    for path in chosen_cases():
        found = check_case(path, checker.program.parent, together)
        checker.report(f"case {path.parent.name}/{path.stem}:", found)
    return problems


def own_processes(program: pathlib.Path, parent: int) -> list[int]:
    """Those of assay-mpi that one mpirun started."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and os.readlink(entry / "exe") == str(program):
                status = (entry / "stat").read_text().rsplit(")", 1)[1].split()
                if int(status[1]) == parent:
                    found.append(int(entry.name))
        except OSError:
            pass
    return found


def run_and_kill(checker: Scale, words: list, folder: pathlib.Path, environment: dict[str, str], delay: float,
                 chance: random.Random) -> int:
    """Ends one of the processes, whichever it is, some time after work began; the exit code of the run."""
    started = subprocess.Popen(words, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    while started.poll() is None and not list(folder.glob("out/.assay_resume_*")):
        time.sleep(0.01)
    time.sleep(delay)
    if victims := own_processes(checker.program.with_name("assay-mpi"), started.pid):
        os.kill(chance.choice(victims), signal.SIGKILL)
    return started.wait(timeout=TIMEOUT_S)


def check_resume(checker: Scale) -> list[str]:
    """A process is killed at a random moment; the same command goes on, and writes the same bytes."""
    work = checker.folder("resume")
    make_pair(work, small)
    command = ["compare", "mine", "golden", "--output", "out", "--report", "csv,json,xlsx", "-v"]
    checker.run([checker.program, *command], work)
    expected = files_below(work / "out")
    shutil.rmtree(work / "out")
    environment = slow_reading(checker, work, 0.5)
    problems, killed, went_on = [], 0, 0
    chance = random.Random(1)
    for number in range(ROUNDS):
        code = run_and_kill(checker, checker.mpi(3, "--resume", *command), work, environment, chance.uniform(0, 2.5), chance)
        found = files_below(work / "out")
        if any(name.startswith(".assay_resume_") for name in found):
            killed += 1
            if len(found) > 1:
                problems.append(f"round {number}: half a report: {sorted(found)}")
            done = checker.run(checker.mpi(chance.choice((1, 2, 3)), "--resume", *command), work)
            went_on += re.search(r"[1-9]\d* by earlier runs", done.stderr) is not None
            if done.returncode != 2:  # a file is broken, to a single process as well
                problems.append(f"round {number}: exit code {done.returncode}: {tail(done.stderr)}")
        elif code not in (2, 128 + signal.SIGKILL):  # killed behind its report, which is held against the other below
            problems.append(f"round {number}: exit code {code}, and nothing to go on with")
        problems += [f"round {number}: {line}" for line in differences(expected, files_below(work / "out"))]
        shutil.rmtree(work / "out", ignore_errors=True)
    if killed < ROUNDS // 2 or went_on < ROUNDS // 4:
        problems.append(f"only {killed} of {ROUNDS} runs were killed in time, and {went_on} went on with what was done")
    return problems


def reads_from(pid: int, folder: pathlib.Path) -> bool:
    try:
        return any(os.readlink(link).startswith(str(folder)) for link in pathlib.Path(f"/proc/{pid}/fd").iterdir())
    except OSError:
        return False


def slow_reading(checker: Scale, work: pathlib.Path, mib_s: float) -> dict[str, str]:
    """What makes programs read slowly."""
    library = work / "slow_reading.so"
    subprocess.run(["g++", "-std=c++20", "-shared", "-fPIC", "-o", library, run_cases.TESTS.parent / "bench" / "slow_reading.cc"],
                   check=True)
    return checker.environment() | {"LD_PRELOAD": str(library), "SLOW_READING_HOST": str(work / "host"),
                                    "SLOW_READING_MIB_S": str(mib_s)}


def check_lost(checker: Scale) -> list[str]:
    """Without --resume a process that says nothing any more ends the run."""
    work = checker.folder("lost")
    make_pair(work, large)
    environment = slow_reading(checker, work, 5) | {"ASSAY_MPI_PATIENCE": "3"}
    started = subprocess.Popen(checker.mpi(2, "compare", "mine", "golden", "--output", "out"), cwd=work, env=environment,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    victim = None
    until = time.monotonic() + 60
    while victim is None and time.monotonic() < until:
        for pid in own_processes(checker.program.with_name("assay-mpi"), started.pid):
            is_second = b"OMPI_COMM_WORLD_RANK=1\0" in pathlib.Path(f"/proc/{pid}/environ").read_bytes()
            if is_second and reads_from(pid, work / "mine"):
                victim = pid
        time.sleep(0.01)
    if victim is None:
        started.kill()
        return [f"the second process read nothing: {tail(started.communicate()[1])}"]
    os.kill(victim, signal.SIGSTOP)  # mpirun would end all others if it were dead
    try:
        _, messages = started.communicate(timeout=60)
    finally:
        try:
            os.kill(victim, signal.SIGKILL)
        except ProcessLookupError:
            pass
    problems = []
    if started.returncode != 2:
        problems.append(f"exit code {started.returncode}, not 2: {tail(messages)}")
    if messages.count("is lost") != 1:
        problems.append(f"no clear line: {messages}")
    if (work / "out").exists() and files_below(work / "out"):
        problems.append(f"half a report: {list(files_below(work / 'out'))}")
    return problems


def own_mounts_work() -> bool:
    return subprocess.run(["unshare", "-m", "-u", "true"], capture_output=True).returncode == 0


def check_other_files(checker: Scale) -> list[str]:
    """A process that sees another version of a file: an error before anything is measured."""
    if not own_mounts_work():
        checker.skipped += 1
        print("no namespaces here: processes that see other files are not tested")
        return []
    work = checker.folder("other")
    make_pair(work, small)
    (work / "newer.npy").write_bytes(npy(floats(7, 7)))
    (work / "host.sh").write_text('#!/bin/sh\nmount --make-rprivate / && mount --bind newer.npy mine/step0/layers.0.npy && '
                                  'hostname elsewhere && exec "$@"\n')
    program = checker.program.with_name("assay-mpi")
    command = ["compare", "mine", "golden", "--output", "out"]
    done = checker.run(["mpirun", "-q", "-n", "1", program, *command, ":", "-n", "1", "unshare", "-m", "-u", "sh", "host.sh", program,
                        *command], work)
    problems = []
    if done.returncode != 2:
        problems.append(f"exit code {done.returncode}")
    if not re.search(r"layers\.0\.npy: has \d+ bytes of .* on elsewhere", done.stderr):
        problems.append(f"does not name the file: {tail(done.stderr)}")
    if (work / "out").exists() and files_below(work / "out"):
        problems.append("there is a report")
    return problems


class Hosts:
    """Network namespaces on a bridge, each with an address, a host name and a loopback of its own; the link to the last is slow
    where the kernel can do that."""
    COUNT = 3

    def __init__(self, work: pathlib.Path) -> None:
        self.work, self.made = work, []
        self.names = [f"h{i + 1}" for i in range(self.COUNT)]
        self.spaces = [f"assay{os.getpid()}_{name}" for name in (*self.names, "bridge")]
        self.has_slow_link = False

    def __enter__(self) -> Hosts | None:
        try:
            self.make()
        except (OSError, subprocess.CalledProcessError):
            self.__exit__()
            return None
        return self

    def __exit__(self, *_) -> None:
        for space in self.made:
            subprocess.run(["ip", "netns", "del", space], capture_output=True)
        self.made = []

    def make(self) -> None:
        def ip(*words) -> None:
            subprocess.run(["ip", *map(str, words)], check=True, capture_output=True)
        for space in self.spaces:
            ip("netns", "add", space)
            self.made.append(space)
            ip("-n", space, "link", "set", "lo", "up")
        bridge = self.spaces[-1]
        ip("-n", bridge, "link", "add", "bridge", "type", "bridge")
        ip("-n", bridge, "link", "set", "bridge", "up")
        for number, space in enumerate(self.spaces[:-1], 1):
            ip("-n", bridge, "link", "add", f"to{number}", "type", "veth", "peer", "name", "eth0", "netns", space)
            ip("-n", bridge, "link", "set", f"to{number}", "master", "bridge", "up")
            ip("-n", space, "addr", "add", f"10.77.0.{number}/24", "dev", "eth0")
            ip("-n", space, "link", "set", "eth0", "up")
        slow = ["ip", "netns", "exec", self.spaces[self.COUNT - 1], "tc", "qdisc", "add", "dev", "eth0", "root", "netem", "delay", "5ms"]
        self.has_slow_link = shutil.which("tc") is not None and subprocess.run(slow, capture_output=True).returncode == 0
        lines = [f"10.77.0.{number} {name}" for number, name in enumerate(self.names, 1)]
        (self.work / "hosts").write_text("\n".join([*lines, "127.0.0.1 localhost", ""]))
        (self.work / "hostfile").write_text("".join(f"{name} slots=1\n" for name in self.names))
        agent = self.work / "agent.sh"  # what mpirun starts in the place of ssh: agent HOST COMMAND
        agent.write_text(f'#!/bin/sh\nhost=$1\nshift\nexec ip netns exec "assay{os.getpid()}_$host" unshare -u sh -c "hostname $host; $*"\n')
        agent.chmod(0o755)

    def mpi(self, program: pathlib.Path, *words: str) -> list:
        """From the first of them, over TCP."""
        start = 'mount --make-rprivate / && mount --bind hosts /etc/hosts && hostname h1 && exec "$@"'
        return ["ip", "netns", "exec", self.spaces[0], "unshare", "-m", "-u", "sh", "-c", start, "sh", "mpirun", "-q", "--mca",
                "plm_rsh_agent", self.work / "agent.sh", "--hostfile", "hostfile", "--mca", "btl", "self,tcp", "-n", str(self.COUNT),
                program, *words]


def check_hosts(checker: Scale) -> list[str]:
    """Hosts with addresses of their own, one behind a slow link."""
    work = checker.folder("hosts")
    make_pair(work, small)
    command = ["compare", "mine", "golden", "--output", "out", "--report", REPORTS, "-v", "--threads", "1"]
    checker.run([checker.program, *command], work)
    expected = files_below(work / "out")
    shutil.rmtree(work / "out")
    with Hosts(work) as hosts:
        if hosts is None:
            checker.skipped += 1
            print("no network namespaces here: hosts with addresses of their own are not tested")
            return []
        if not hosts.has_slow_link:
            print("no tc or no netem here: a slow link is not tested")
        done = checker.run(hosts.mpi(checker.program.with_name("assay-mpi"), *command), work)
    problems = differences(expected, files_below(work / "out") if (work / "out").exists() else {})
    if not re.search(r"[1-9]\d* of \d+ pieces were measured by other processes", done.stderr):
        problems.append(f"not shared out: {tail(done.stderr)}")
    return problems


CHECKS = {
    "hosts": check_hosts,
    "shared out": check_sharing,
    "layouts": check_layouts,
    "many files": lambda checker: check_reports(checker, small),
    "a large tensor": lambda checker: check_reports(checker, large),
    "on one thread, with all metrics": lambda checker: check_reports(checker, large, "--threads", "1", "--origin", "off"),
    "stop at the first failure": lambda checker: check_reports(checker, small, "--fail-fast"),
    "killed and resumed": check_resume,
    "a lost process": check_lost,
    "other files": check_other_files,
}


def check_all(checker: Scale) -> None:
    if not checker.program.with_name("assay-mpi").exists() or shutil.which("mpirun") is None:
        checker.skipped += 1
        print("no assay-mpi, or no mpirun: install libopenmpi-dev and openmpi-bin, and build again")
        return
    checker.report_each(CHECKS)


if __name__ == "__main__":
    sys.exit(run_checks(__doc__, Scale, check_all))
