"""Part of check_capture.py: programs that `assay dump` and `assay errcheck` start, with the real probe in them."""
from __future__ import annotations

import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import time

from checker import tail


class Launch:
    """Starts `assay` in a folder of its own, and the stand-in for ATB below it."""

    def __init__(self, c, title: str) -> None:
        self.c, self.folder = c, c.folder(title)
        self.host = str(c.bin / "hosts" / "abi1" / "atb_host")

    def environment(self, more: dict[str, str]) -> dict[str, str]:
        plain = {name: value for name, value in os.environ.items() if not name.startswith(("ATB_", "ASSAY_", "LD_", "LOCAL_WORLD"))}
        return {**plain, "ATB_HOME_PATH": str(self.atb()), "ASSAY_CAPTURE_RESERVE": "0", **more}

    def atb(self) -> pathlib.Path:
        """Where the stand-in lies as ATB does."""
        home = self.c.work / "atb"
        (home / "lib").mkdir(parents=True, exist_ok=True)
        if not (home / "lib" / "libatb.so").exists():
            shutil.copy(self.c.bin / "hosts" / "abi1" / "libatb.so", home / "lib" / "libatb.so")
        return home

    def run(self, *words: str, **more: str) -> subprocess.CompletedProcess:
        return subprocess.run([self.c.program, *words], cwd=self.folder, env=self.environment(more), stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=120)

    def start(self, *words: str, **more: str) -> subprocess.Popen:
        return subprocess.Popen([self.c.program, *words], cwd=self.folder, env=self.environment(more), stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)

    def next_of(self, said: str) -> subprocess.CompletedProcess:
        """What the summary says to type next, typed into a shell."""
        command = re.search(r"^next: assay (.*)$", said, re.M)
        if command is None:
            return subprocess.CompletedProcess([], -1, "", "there is no next command")
        return subprocess.run(["sh", "-c", f"{shlex.quote(str(self.c.program))} {command[1]}"], cwd=self.folder, env=self.environment({}),
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120)


def tensors_in(folder: pathlib.Path) -> int:
    return sum(path.name.startswith(("intensor", "outtensor")) for path in folder.rglob("*.bin"))


def counted(said: str) -> int:
    found = re.search(r"^(\d+) tensors? \(", said, re.M)
    return int(found[1]) if found else -1


def expect(c, title: str, good: bool, done) -> None:
    c.report(title, [] if good else [f"exit {done.returncode}: {tail(done.stdout)} / {tail(done.stderr, 8)}"])


def wait_for(condition, seconds: float = 20) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.02)
    return False


def check_summary(c) -> None:
    """What the summary counts is what lies there."""
    launch = Launch(c, "killed")
    child = launch.start("dump", "--tokens", "all", "--", launch.host, "endless")
    wait_for(lambda: tensors_in(launch.folder) > 200)
    host = int(subprocess.run(["pgrep", "-P", str(child.pid)], stdout=subprocess.PIPE, text=True, check=True).stdout.split()[0])
    os.kill(host, signal.SIGKILL)
    out, said = child.communicate(timeout=60)
    done = subprocess.CompletedProcess([], child.returncode, out, said)
    expect(c, "summary of a killed program", done.returncode == 137 and counted(said) == tensors_in(launch.folder) > 200 and
           f"process {host} did not live to its end" in said, done)

    launch = Launch(c, "killed_waiting")
    child = launch.start("dump", "--tokens", "all", "--", launch.host, "endless", LD_PRELOAD=str(c.bin / "hosts" / "libslow_disk.so"),
                         SLOW_DISK_MIB_S="1", ASSAY_CAPTURE_BUDGET="8MiB")

    def waiting() -> int:
        found = [re.search(r'"waiting":(\d+)', path.read_text()) for path in launch.folder.rglob("capture.json")]
        return max([int(each[1]) for each in found if each] + [0])

    wait_for(lambda: waiting() > 100, 10)
    child.terminate()
    out, said = child.communicate(timeout=60)
    done = subprocess.CompletedProcess([], child.returncode, out, said)
    told = re.search(r"what still waited in it is not there: about (\d+) tensors", said)
    # 4096 numbers of 4 bytes each, and what a job takes.
    expect(c, "what waited in a killed program", done.returncode == 143 and told is not None and 100 < int(told[1]) <= (8 << 20) // 16384, done)

    launch = Launch(c, "one_second")
    now = {"ASSAY_NOW": "2026-01-02T03:04:05Z", "TZ": "UTC"}
    first = launch.run("dump", "--", launch.host, "demo", **now)
    second = launch.run("dump", "--tokens", "0,1", "--", launch.host, "run", "2", "2", "8", **now)
    folders = sorted(path.name for path in launch.folder.iterdir())
    expect(c, "two dumps in one second", folders == ["msit_dump_20260102_030405", "msit_dump_20260102_030406"] and
           counted(first.stderr) == 15 and counted(second.stderr) == 48 and f"in {launch.folder}/{folders[1]}\n" in second.stderr, second)

    launch = Launch(c, "generations")
    config = launch.folder / "config.json"
    config.write_text(json.dumps({"task": "tensor", "dump_enable": True, "exec_range": "all", "save_child": True}))
    config.chmod(0o600)
    for _ in range(2):
        done = launch.run("dump", "--config", str(config), "--", launch.host, "demo", ASSAY_ATB_GENERATION="3")
    expect(c, "the second dump of generation 3", counted(done.stderr) == 15 and tensors_in(launch.folder) == 30, done)
    launch = Launch(c, "generation_1a")
    done = launch.run("dump", "--output", "out", "--", launch.host, "demo", ASSAY_ATB_GENERATION="1a")
    expect(c, "a dump of generation 1a", counted(done.stderr) == 15 and f"in {launch.folder}/out\n" in done.stderr, done)

    launch = Launch(c, "child_left_behind")
    done = launch.run("dump", "--tokens", "all", "--", "sh", "-c", f"{launch.host} leave-child; exit 0")
    expect(c, "a child that is still running", "is still running" in done.stderr, done)
    for path in launch.folder.rglob("ends"):
        path.unlink()

    launch = Launch(c, "nothing_fits")
    config = launch.folder / "config.json"
    config.write_text("{}")
    config.chmod(0o600)
    for words, text in ((["--op", "nosuch"], "--op nosuch"), (["--ids", "7", "--tokens", "5,6"], "--ids 7 --tokens 5,6"), (["--tokens", "9,9"], "--tokens 9,9"),
                        (["--config", str(config)], f"--config {config}")):
        done = launch.run("dump", *words, "--", launch.host, "run", "1", "1", "8")
        expect(c, f"what {words[0]} leaves unsaid", ("has no dump_enable, which is to be true; no tensors are dumped" in done.stderr) == (words[0] == "--config"), done)
        expect(c, f"nothing fits {words[0]}", f"no tensors: nothing fits {text}\n" in done.stderr and "nobody counted" not in done.stderr, done)
    done = launch.run("dump", "--type", "model", "--", launch.host, "run", "1", "1", "8")
    expect(c, "a topology alone", "no tensors\n" in done.stderr and "nobody counted" not in done.stderr, done)

    launch = Launch(c, "left_out")
    done = launch.run("dump", "--", launch.host, "demo")
    expect(c, "what the choice leaves out", "filtered" not in done.stderr and "; 15 others were handed over, and left out by the choice of moment" in done.stderr, done)


def check_next(c) -> None:
    """What is suggested can be typed."""
    launch = Launch(c, "warm_up")
    done = launch.run("dump", "--", launch.host, "two-models")
    typed = launch.next_of(done.stderr)
    expect(c, "next of a warm-up", typed.returncode == 1 and "60 tensors" in typed.stdout, typed)
    launch = Launch(c, "blank in 'names'")
    done = launch.run("dump", "--", launch.host, "run", "1", "1", "8")
    typed = launch.next_of(done.stderr)
    expect(c, "next with blanks", typed.returncode == 0 and "PASS" in typed.stdout, typed)
    for title, types, wanted in (("statistics", "tensor,stats", "PASS"), ("topology", "model", "1 node"), ("tables", "op", None)):
        launch = Launch(c, f"next_{title}")
        done = launch.run("dump", "--type", types, "--", launch.host, "run", "1", "1", "8")
        typed = launch.next_of(done.stderr)
        expect(c, f"next of {title}", "next:" not in done.stderr and "no tensors, 2 lines of tables" in done.stderr if wanted is None else typed.returncode == 0 and
               wanted in typed.stdout.replace("2 nodes", "1 node"), done if wanted is None else typed)
    launch = Launch(c, "next_descriptions")
    done = launch.run("dump", "--descriptions", "--", launch.host, "run", "1", "1", "8")
    typed = launch.next_of(done.stderr)
    expect(c, "next of descriptions", typed.returncode == 0 and "12 tensors" in typed.stdout, typed)
    launch = Launch(c, "inspect_ranks")
    ranks = {"ASSAY_NOW": "2026-01-02T03:04:05Z", "LOCAL_WORLD_SIZE": "2"}
    dump = ["dump", "--tokens", "0,1", "--output", "dumps", "--"]
    waits = 'touch began; "$0" run 2 1 8; while [ ! -e other_ended ]; do sleep 0.02; done'
    first = launch.start(*dump, "sh", "-c", waits, launch.host, **ranks)
    while first.poll() is None and not (launch.folder / "began").exists():
        time.sleep(0.02)
    launch.run(*dump, launch.host, "run", "2", "1", "8", **ranks)
    (launch.folder / "other_ended").touch()
    first.communicate(timeout=60)
    dumps = list((launch.folder / "dumps").iterdir())
    shown = launch.run("inspect", "--names", str(dumps[0]))
    expect(c, "inspect counts files once", len(dumps) == 1 and "48 files, 48 tensors" in shown.stdout, shown)
    named = launch.run("topology", str(dumps[0]))
    expect(c, "topology of a dump", named.returncode == 2 and "assay topology " in named.stderr and "SeededModel.json" in named.stderr,
           named)


def check_refusals(c) -> None:
    """What cannot work is said before the program runs."""
    launch = Launch(c, "refused")
    for words, text in ((["dump", "--output", "/proc"], "/proc: nothing can be written there"),
                        (["errcheck", "--output", "/proc"], "/proc: nothing can be written there"),
                        (["dump", "--tokens", "1"], "1,1"), (["dump", "--tokens", "2,1"], "1,2"),
                        (["dump", "--tokens", "0,1,5"], "5,5"), (["dump", "--tokens", "0,99999999999"], "2147483647"),
                        (["dump", "--no-children"], "--ids"), (["dump", "--ids", "1-2"], "--ids: '1-2' names no operations")):
        done = launch.run(*words, "--", "touch", "was_run")
        expect(c, " ".join(words), done.returncode == 2 and text in done.stderr and not (launch.folder / "was_run").exists(), done)
    for words, text in ((["-er", "5"], "5,5"), (["-child", "False"], "-ids"), (["--type", "stats"], "tensor")):
        done = launch.run("msit", "llm", "dump", "--exec", "true", *words)
        expect(c, " ".join(["msit", *words]), done.returncode == 0 and "WARNING" in done.stderr and text in done.stderr, done)
    launch = Launch(c, "stats_alone")
    done = launch.run("dump", "--type", "stats", "--", launch.host, "run", "1", "1", "8")
    files = [path.read_bytes() for path in launch.folder.rglob("*tensor0.bin")]
    expect(c, "--type stats", counted(done.stderr) == 12 and bool(files) and all(b"\nl2norm=" in text for text in files), done)
    member = next(iter(json.loads(next(launch.folder.rglob("capture.json")).read_text()).values()))
    expect(c, "capture.json of --type stats", (member["tensors"], member["bytes"], member["statistics"]) == (0, 0, 12) and
           "12 tensors (statistics alone)" in done.stderr and "next: assay errcheck" in done.stderr, done)
    launch = Launch(c, "bad_values")
    done = subprocess.run([launch.host, "demo"], cwd=launch.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          env=c.environment({"ATB_OUTPUT_DIR": f"{launch.folder}/", "ATB_DUMP_TYPE": "tensor|modell", "ATB_SAVE_TENSOR_PART": "x",
                                             "ATB_SAVE_TENSOR_RANGE": "0,b", "ASSAY_CAPTURE_BUDGET": "lots", "ASSAY_CAPTURE_THREADS": "0"}))
    said = [line for line in done.stderr.splitlines() if "not understood" in line]
    names = ["ATB_DUMP_TYPE", "ATB_SAVE_TENSOR_PART", "ATB_SAVE_TENSOR_RANGE", "ASSAY_CAPTURE_BUDGET", "ASSAY_CAPTURE_THREADS"]
    expect(c, "values that are not understood", len(said) == 1 and all(name in said[0] for name in names) and
           done.returncode == 0, done)


def check_overflow_launch(c) -> None:
    """Overflows that the probe itself finds, and how a check ends."""
    launch = Launch(c, "check")
    for what, code, text in (("run", 0, "no overflow was found"), ("spoilt", 1, "first overflow: LinearOperation_0_0:MatMulKernel")):
        done = launch.run("errcheck", "--", launch.host, what)
        expect(c, f"errcheck of {what}", done.returncode == code and text in done.stderr, done)
    done = launch.run("errcheck", "--", launch.host, "demo")
    expect(c, "errcheck of inputs that are not finite", done.returncode == 1 and "no overflow was found" not in done.stderr and re.search(
        r"^5 inputs that came from outside hold NaN or infinities; the first: 0_\d+/0/0_DemoLayer/.*before/intensor1.bin$",
        done.stderr, re.M) is not None, done)
    launch.run("dump", "--output", "same", "--", launch.host, "demo")
    recorded = launch.run("errcheck", str(next((launch.folder / "same").iterdir())))
    expect(c, "the dump of the same says so, too", recorded.returncode == done.returncode and "5 of 15 tensors" in recorded.stdout, recorded)
    done = launch.run("errcheck", "--", "sh", "-c", f"{launch.host} demo; {launch.host} demo; {launch.host} spoilt; exit 3")
    expect(c, "errcheck of several processes", done.returncode == 1 and "at least 10 inputs that came from outside hold NaN" in done.stderr and
           "first overflow: LinearOperation_0_0:MatMulKernel" in done.stderr, done)
    done = launch.run("errcheck", "--", "true")
    expect(c, "errcheck of a program without ATB", done.returncode == 2 and "nothing was looked at" in done.stderr, done)
    for what, put, code, text in (("run", "mkdir", 2, "is no file, so the probe could not say so"), ("spoilt", "mkdir", 1, "first overflow: LinearOperation_0_0"),
                                  ("run", "mkfifo", 2, "is no file"), ("run", "ln -s gone", 2, "is no file")):
        done = launch.run("errcheck", "--", "sh", "-c", f"{put} $ASSAY_CHECK_ASKED; {launch.host} {what}")
        expect(c, f"errcheck of {what} with a mark made by {put}", done.returncode == code and text in done.stderr and "cannot be opened" in done.stderr, done)
    for words, code in ((["sh", "-c", "exit 1"], 2), ([launch.host, "fails"], 2), (["sh", "-c", f"{launch.host} spoilt; exit 3"], 1)):
        done = launch.run("errcheck", "--", *words)
        expect(c, f"errcheck of {words[-1]}", done.returncode == code and re.search(r"the program ended with status [13]", done.stderr)
               is not None, done)
    c.report("no mark of a check is left", [path.name for path in launch.folder.iterdir() if path.name.startswith(".")])
    launch = Launch(c, "stops")
    done = launch.run("errcheck", "--exit", "--", launch.host, "spoilt-twice")
    expect(c, "errcheck --exit", done.returncode == 1 and "went on" not in done.stdout and "signal 15" in done.stderr and
           "behind it" not in done.stderr, done)
    done = launch.run("errcheck", "--", launch.host, "spoilt-twice")
    expect(c, "errcheck without --exit", done.returncode == 1 and "went on" in done.stdout, done)


def check_links(c) -> None:
    """A dump with links may be moved."""
    launch = Launch(c, "links_move")
    launch.run("dump", "--links", "--", launch.host, "demo")
    moved = launch.folder / "elsewhere"
    next(launch.folder.glob("msit_dump_*")).rename(moved)
    links = [path for path in moved.rglob("*.bin") if path.is_symlink()]
    c.report("links of a dump that was moved", [] if len(links) == 11 and all(path.is_file() for path in links) else
             [f"{path} -> {os.readlink(path)}" for path in links if not path.is_file()])


def check_size_limit(c) -> None:
    """capture.json is never cut, and what it could not hold is said."""
    launch = Launch(c, "limit")
    command = f"for i in 1 2 3 4 5 6 7 8 9 10; do {launch.host} run 1 1 8; done"
    done = launch.run("dump", "--", "bash", "-c", f"ulimit -f 8; {command}")
    dump = next(launch.folder.glob("msit_dump_*"))
    counts = json.loads((dump / "capture.json").read_text())
    expect(c, "capture.json at a file size limit", len(counts) == 7 and "capture.json: cannot be written: File too large" in done.stderr
           and counted(done.stderr) == 120 and "nobody counted" in done.stderr, done)


def check_twins(c) -> None:
    """The other names of the program are there."""
    for name in ("msit", "ait", "msprobe"):
        path = c.bin / name
        done = subprocess.run([path, "--help"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False) \
            if path.exists() else subprocess.CompletedProcess([], -1, "", f"{path} leads nowhere")
        expect(c, f"{name} beside assay", done.returncode == 0, done)


def check_launch(c) -> None:
    check_summary(c)
    check_next(c)
    check_refusals(c)
    check_overflow_launch(c)
    check_links(c)
    check_size_limit(c)
    check_twins(c)
