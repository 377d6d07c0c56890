#!/usr/bin/python3
"""Every output under kill -9, on a full disk, beyond a limit of file sizes and in folders that cannot be written.

    check_writing.py --bin build/release [--only NAME] [--keep FOLDER]

A file appears whole or not at all, nothing else is ever left in its folder, and whatever is in the way is one line on
stderr and the exit code of trouble.
"""
from __future__ import annotations

import ctypes
import os
import pathlib
import random
import resource
import shutil
import signal
import struct
import subprocess
import sys
import time

from checker import Checker, run_checks

KILLS = 6  # of every command
REPORTS = ["csv", "xlsx", "json", "jsonl", "junit", "sqlite", "html"]
TOPOLOGY = """{"modelName": "m", "inTensors": ["a"], "outTensors": ["b"], "internalTensors": [], "nodes":
 [{"opName": "Add", "opType": "Add", "inTensors": ["a"], "outTensors": ["b"], "param": {}}]}"""


def npy(values: list[float]) -> bytes:
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({len(values)},), }}".encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + struct.pack(f"<{len(values)}f", *values)


def make_inputs(folder: pathlib.Path, count: int) -> None:
    for side in ("mine", "golden"):
        (folder / side).mkdir(parents=True)
        for i in range(count):
            (folder / side / f"layers.{i}.weight.npy").write_bytes(npy([i, side == "mine", 3]))
    for path in folder.rglob("*.npy"):
        os.utime(path, (1e9, 1e9))
    (folder / "t.json").write_text(TOPOLOGY)


# What each command writes, below the folder named out.
COMMANDS = {
    **{report: ["compare", "mine", "golden", "--quiet", "--report", report, "--output", "out"] for report in REPORTS},
    "convert": ["convert", "mine", "out", "--to", "npy"],
    "convert, replacing": ["convert", "mine", "out", "--to", "npy", "--force"],
    "convert to one file": ["convert", "mine/layers.0.weight.npy", "out/x.safetensors", "--force"],
    "topology": ["topology", "t.json", "-o", "out/t.onnx", "--force"],
    "msit": ["msit", "llm", "compare", "-gp", "golden/layers.0.weight.npy", "-mp", "mine/layers.0.weight.npy", "-o", "out"],
    "demo": ["demo", "--output", "out/demo"],
}


class Writing(Checker):
    def inputs(self, title: str, count: int = 100) -> pathlib.Path:
        folder = self.folder("".join(c if c.isalnum() else "_" for c in title))
        make_inputs(folder, count)
        return folder

    def run(self, words: list[str], folder: pathlib.Path, **more) -> subprocess.CompletedProcess:
        return subprocess.run([self.program, *words], cwd=folder, stdin=subprocess.DEVNULL, text=True, errors="replace",
                              timeout=120, **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **more})


def hidden(folder: pathlib.Path) -> list[str]:
    return [f"left {path.relative_to(folder)}" for path in folder.rglob(".*")]


def files(folder: pathlib.Path) -> list[pathlib.Path]:
    return [path for path in folder.rglob("*") if path.is_file()] if folder.is_dir() else []


def clear(folder: pathlib.Path) -> None:
    """Removes what a run made, but for what it should not have left."""
    for path in [path for path in folder.iterdir() if not path.name.startswith(".")]:
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()


def refuse_unnamed_files() -> None:
    """For a child, as NFS would: O_TMPFILE is not supported. The kernel filters the call (seccomp)."""
    openat = {"x86_64": 257, "aarch64": 56}[os.uname().machine]
    o_tmpfile, not_supported = 0o20000000, 95
    program = b"".join(struct.pack("<HBBI", *step) for step in (
        (0x20, 0, 0, 0),  # the number of the call
        (0x15, 0, 4, openat),
        (0x20, 0, 0, 32),  # its flags
        (0x54, 0, 0, o_tmpfile),
        (0x15, 0, 1, o_tmpfile),
        (0x06, 0, 0, 0x00050000 | not_supported),
        (0x06, 0, 0, 0x7FFF0000)))  # allowed
    code = ctypes.create_string_buffer(program, len(program))
    filters = ctypes.create_string_buffer(struct.pack("@HP", len(program) // 8, ctypes.addressof(code)))
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    if prctl(38, 1, 0, 0, 0) != 0 or prctl(22, 2, ctypes.c_void_p(ctypes.addressof(filters)), 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "the filter was refused")


def check_kills(writing: Writing, where: str = "", prepare=None) -> None:
    """However far it came. Where a temporary name is needed, the next run removes what was left under it."""
    chance = random.Random(4)
    for name, words in COMMANDS.items():
        title = f"kill -9{where}: {name}"
        if not writing.wants(title):
            continue
        folder = writing.inputs(title)
        (folder / "out").mkdir()
        start = time.monotonic()
        writing.run(words, folder, preexec_fn=prepare)
        seconds = time.monotonic() - start
        failures = hidden(folder)
        replaces = "--force" in words
        leaves = replaces or prepare is not None
        killed = tries = 0
        while killed < KILLS and tries < 10 * KILLS:
            tries += 1
            if not replaces:
                clear(folder / "out")
            start = time.monotonic()
            run = subprocess.Popen([writing.program, *words], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                   preexec_fn=prepare)
            try:
                run.wait(seconds * chance.random())
                seconds = min(seconds, time.monotonic() - start)  # the first run had to read everything from the disk
            except subprocess.TimeoutExpired:
                run.kill()
                run.wait()
                killed += 1
            if not leaves:
                failures += hidden(folder)
        if leaves:
            if not replaces:
                clear(folder / "out")
            writing.run(words, folder, preexec_fn=prepare)
            failures += hidden(folder)
        if killed == 0:
            failures.append("was never killed")
        writing.report(title, failures[:3])


def check_interrupts(writing: Writing) -> None:
    """Ctrl-C: the run ends soon, says so in one line, and leaves nothing half written."""
    for name in ("csv", "xlsx", "sqlite", "convert", "convert to one file"):
        title = f"Ctrl-C: {name}"
        if not writing.wants(title):
            continue
        folder = writing.inputs(title, 0)
        for side in ("mine", "golden"):  # holes of a sparse file: long to read, and no space on the disk
            with open(folder / side / "layers.0.weight.npy", "wb") as out:
                out.write(npy([]).replace(b"(0,)", b"(%d,)" % (2 << 30)).replace(b" " * 9, b"", 1))
                out.truncate(128 + (8 << 30))
        (folder / "out").mkdir()
        run = subprocess.Popen([writing.program, *COMMANDS[name]], cwd=folder, stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        time.sleep(0.5)
        run.send_signal(signal.SIGINT)
        start = time.monotonic()
        said = run.communicate(timeout=60)[1]
        seconds = time.monotonic() - start
        failures = hidden(folder) + [f"left {path.name}" for path in files(folder / "out")]
        if run.returncode != 2 or seconds > 20 or said.count("\n") != 1 or "interrupted" not in said:
            failures.append(f"exit {run.returncode} after {seconds:.1f} s: {said!r}")
        writing.report(title, failures)


def check_file_size(writing: Writing) -> None:
    """ulimit -f: an error of the write like any other."""
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))

    for name, words in COMMANDS.items():
        title = f"file too large: {name}"
        if not writing.wants(title):
            continue
        folder = writing.inputs(title)
        done = writing.run(words, folder, preexec_fn=limit)
        failures = hidden(folder) + [f"wrote {path.name}" for path in files(folder / "out")]
        if done.returncode != (1 if words[0] == "msit" else 2):
            failures.append(f"exit {done.returncode}")
        if "File too large" not in done.stderr or done.stderr.count("\n") > (400 if "convert" in name else 12):
            failures.append(f"says {done.stderr[-300:]!r}")
        writing.report(title, failures[:3])
    for output in ("csv", "json", "jsonl", "junit", "terminal"):
        title = f"file too large: stdout, {output}"
        if not writing.wants(title):
            continue
        folder = writing.inputs(title)
        with open(folder / "stdout", "wb") as out:
            done = writing.run(["compare", "mine", "golden", "--report", output, "--output", "-"], folder, preexec_fn=limit, stdout=out)
        failures = [] if done.returncode == 2 and "File too large" in done.stderr else [f"exit {done.returncode}: {done.stderr!r}"]
        writing.report(title, failures)
    folder = writing.inputs("two reports")
    wide = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (48_000, 48_000))  # noqa: E731
    fits = writing.run(["compare", "mine", "golden", "--quiet", "--report", "csv", "--output", "fits"], folder, preexec_fn=wide)
    done = writing.run(["compare", "mine", "golden", "--quiet", "--report", "csv,json", "--output", "out"], folder, preexec_fn=wide)
    right = fits.returncode == 1 and done.returncode == 2 and not files(folder / "out")
    writing.report("file too large: one of two reports", [] if right else [f"exits {fits.returncode}, {done.returncode}: {done.stderr!r}, "
                                                                       f"{files(folder / 'out')}"])
    folder = writing.inputs("compact")
    before = sorted(path.name for path in files(folder))
    done = writing.run(["compact", "mine"], folder, preexec_fn=limit)
    failures = [] if sorted(path.name for path in files(folder)) == before else ["compact changed the folder"]
    if done.returncode != 2 or "File too large" not in done.stderr:
        failures.append(f"exit {done.returncode}: {done.stderr[-300:]!r}")
    writing.report("file too large: compact", failures)


def check_full_disk(writing: Writing) -> None:
    disk = writing.work / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)], capture_output=True).returncode != 0:
        print("no file system can be mounted here: /dev/full alone stands for a full disk")
    else:
        try:
            with open(disk / "ballast", "wb", buffering=0) as ballast:
                try:
                    while ballast.write(b"\0" * 4096):
                        pass
                except OSError:
                    pass
            for name, words in COMMANDS.items():
                title = f"full disk: {name}"
                if not writing.wants(title):
                    continue
                folder = writing.inputs(title)
                (folder / "out").symlink_to(disk)
                done = writing.run(words, folder)
                failures = [f"left {path.name}" for path in files(disk) if path.name != "ballast"]
                if done.returncode != (1 if words[0] == "msit" else 2) or "No space left on device" not in done.stderr:
                    failures.append(f"exit {done.returncode}: {done.stderr[-300:]!r}")
                writing.report(title, failures[:3])
        finally:
            subprocess.run(["umount", str(disk)], check=False)
    folder = writing.inputs("stdout")
    for words in (["compare", "mine", "golden"], ["compare", "mine", "golden", "--output", "-"], ["inspect", "mine"],
                  ["inspect", "--json", "mine"], ["doctor"], ["--help"], ["msprobe", "-h"], ["msit", "llm", "-h"],
                  ["compare", "mine", "golden", "--report", "junit", "--output", "-"]):
        with open("/dev/full", "wb") as full:
            done = writing.run(words, folder, stdout=full)
        right = done.returncode == 2 and "standard output: cannot be written: No space left on device" in done.stderr
        writing.report(f"full disk: stdout of {' '.join(words)}", [] if right else [f"exit {done.returncode}: {done.stderr!r}"])


def check_streams(writing: Writing) -> None:
    """Closed standard streams: no file that is opened takes their place. A closed pipe ends quietly."""
    folder = writing.inputs("streams")
    for title, words in (("terminal", ["compare", "mine", "golden", "--output", "out1", "--report", "csv,terminal"]),
                         ("report", ["compare", "mine", "golden", "--output", "-"]), ("inspect", ["inspect", "mine"])):
        line = '"$0" "$@" >&-'
        done = subprocess.run(["bash", "-c", line, writing.program, *words], cwd=folder, stderr=subprocess.PIPE, text=True)
        right = done.returncode == 2 and "standard output: cannot be written: Bad file descriptor" in done.stderr
        writing.report(f"closed stdout: {title}", [] if right else [f"exit {done.returncode}: {done.stderr!r}"])
    words = ["compare", "mine", "golden", "--quiet", "--output", "out2", "--report", "csv"]
    done = subprocess.run(["bash", "-c", '"$0" "$@" <&- >&- 2>&-', writing.program, *words], cwd=folder)
    tables = files(folder / "out2")
    right = done.returncode == 1 and len(tables) == 1 and tables[0].read_text().startswith("section,name,")
    writing.report("all streams closed", [] if right else [f"exit {done.returncode}: {tables}"])
    for words in (["inspect", "mine"], ["compare", "mine", "golden", "--output", "-"], ["compare", "mine", "golden"]):
        reader, writer = os.pipe()
        os.close(reader)
        done = writing.run(words, folder, stdout=writer, preexec_fn=lambda: signal.signal(signal.SIGPIPE, signal.SIG_DFL))
        os.close(writer)
        right = done.returncode in (0, 1) and done.stderr == ""
        writing.report(f"closed pipe: {' '.join(words)}", [] if right else [f"exit {done.returncode}: {done.stderr!r}"])


def check_folders(writing: Writing) -> None:
    """A folder that cannot be written. For root every folder can; a file in its place cannot."""
    for name, words in COMMANDS.items():
        title = f"no folder: {name}"
        if not writing.wants(title):
            continue
        folder = writing.inputs(title, 2)
        (folder / "out").write_text("mine")
        done = writing.run(words, folder)
        failures = [] if (folder / "out").read_text() == "mine" else ["replaced the file"]
        if done.returncode != (1 if words[0] == "msit" else 2) or done.stderr.count("\n") > 12:
            failures.append(f"exit {done.returncode}: {done.stderr[-300:]!r}")
        writing.report(title, failures + hidden(folder))


def check(writing: Writing) -> None:
    check_kills(writing)
    check_kills(writing, ", no unnamed files", refuse_unnamed_files)
    check_interrupts(writing)
    check_file_size(writing)
    check_full_disk(writing)
    check_streams(writing)
    check_folders(writing)


if __name__ == "__main__":
    sys.exit(run_checks(__doc__, Writing, check))
