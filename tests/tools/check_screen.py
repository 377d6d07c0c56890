#!/usr/bin/python3
"""Every command on files, folders, tensors and operators with hostile names: nothing of them steers a terminal.

    check_screen.py --bin build/release [--only NAME] [--keep FOLDER]

What the program prints, and every text file it writes, is read as strict UTF-8; no character of it may be a control, a
format character or a separator of lines, but for the line ends of the text itself. Names that are honest stay as they are.
"""
from __future__ import annotations

import json
import os
import pathlib
import struct
import subprocess
import sys
import unicodedata
import zipfile

from checker import Checker, run_checks

# The list of assay/base/hostile_texts.h.
HOSTILE = [b"\x1b[31m", b"\x1b]0;title\x07", b"\x1b[2J", b"\a", b"\b", b"\r", b"\v", b"\x7f", b"\xc2\x80", b"\xc2\x85",
           b"\xc2\x9b", b"\xc2\x9d", b"\xc2\x9f", b"\x9b", b"\x85", b"\xff", b"\xc0\x9b", b"\xe0\x82\x9b", b"\xed\xa0\x80",
           b"\xf4\x90\x80\x80", b"\xd8\x9c", b"\xe2\x80\x8b", b"\xe2\x80\x8d", b"\xe2\x80\x8e", b"\xe2\x80\x8f",
           b"\xe2\x80\xa8", b"\xe2\x80\xa9", b"\xe2\x80\xaa", b"\xe2\x80\xae", b"\xe2\x81\xa0", b"\xe2\x81\xa6",
           b"\xe2\x81\xa9", b"\xef\xb8\x8f", b"\xef\xbb\xbf", b"\xef\xbf\xb9", b"\xef\xbf\xbf", b"\xf0\x9f\xbf\xbe",
           b"\xf3\xa0\x80\x81", b"\xf3\xa0\x81\x81", b"\xf3\xa0\x84\x80", b"\n", b"\t"]
HONEST = ["größe", "層权重", "модель", "テンソル", "🔥", "👩\u200d💻", "❤\ufe0f"]
ALL = b"n".join(part for part in HOSTILE if b"/" not in part)[:200]
NAME = os.fsdecode(b"n" + ALL.decode("utf-8", "ignore").encode()[:150].decode("utf-8", "ignore").encode() + b"n")
RAW = os.fsdecode(b"n\x9bn\xffn\x1b[31mn\xc2\x9bn\xe2\x80\xaen")
KEPT = set("".join(HONEST))


def trouble_in(content: bytes, breaks: str = "\n") -> list[str]:
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        return [f"is not UTF-8: {content[max(error.start - 30, 0):error.end + 30]!r}"]
    found = []
    for at, c in enumerate(text):
        hidden = unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp") or 0xE0000 <= ord(c) <= 0xE0FFF \
            or ord(c) & 0xFFFE == 0xFFFE or 0xFE00 <= ord(c) <= 0xFE0F
        if hidden and c not in breaks and c not in KEPT:
            found.append(f"holds U+{ord(c):04X}: {text[max(at - 30, 0):at + 30]!r}")
    return found[:3]


def npy(values: list[float]) -> bytes:
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({len(values)},), }}".encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + struct.pack(f"<{len(values)}f", *values)


def safetensors(names: list[str]) -> bytes:
    header = json.dumps({name: {"dtype": "F32", "shape": [2], "data_offsets": [8 * i, 8 * i + 8]}
                         for i, name in enumerate(names)}).encode()
    return struct.pack("<Q", len(header)) + header + struct.pack("<2f", 1, 2) * len(names)


def valid(part: bytes) -> bool:
    try:
        part.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


TENSORS = [f"n{part.decode()}n" for part in HOSTILE if valid(part)] + HONEST


def make_side(folder: pathlib.Path, value: float) -> None:
    """Hostile files and folders, hostile tensors in them, and files that are broken in ways that quote what they hold."""
    folder.mkdir(parents=True)
    for part in HOSTILE:
        (folder / os.fsdecode(b"n" + part + b"n.npy")).write_bytes(npy([1, value]))
    for name in HONEST:
        (folder / f"{name}.npy").write_bytes(npy([1, value]))
    inner = folder / RAW
    inner.mkdir()
    (inner / (RAW + ".safetensors")).write_bytes(safetensors(TENSORS))
    (inner / (RAW + ".npy")).write_bytes(npy([1, value])[:-3])
    (inner / "dtype.npy").write_bytes(npy([1]).replace(b"'<f4'", b"'\x1b['"))
    (inner / "key.npy").write_bytes(npy([1]).replace(b"'descr'", b"'\xc2\x9bxyz'"))
    (inner / "bad.safetensors").write_bytes(struct.pack("<Q", 40) + b'{"n\xe2\x80\xaen":{"dtype":"\xc2\x9b"}}'.ljust(40) + b"\0" * 8)
    with zipfile.ZipFile(inner / "z.npz", "w") as archive:
        for name in TENSORS:
            archive.writestr(name + ".npy", npy([1, value]))
    (inner / "cut.npz").write_bytes((inner / "z.npz").read_bytes()[:-10])


def msprobe_dump(folder: pathlib.Path, value: float) -> None:
    folder.mkdir(parents=True)
    tensor = {"type": "torch.Tensor", "dtype": NAME, "shape": [2], "Max": value, "Min": 0, "Mean": 1, "Norm": 1,
              "requires_grad": False, "md5": NAME}
    known = dict(tensor, dtype="torch.float32")
    data = {f"Functional.{name}.0.forward": {"input_args": [known, tensor], "input_kwargs": {NAME: known},
                                             "output": [known]} for name in ("linear", NAME, *HONEST)}
    (folder / "dump.json").write_text(json.dumps(
        {"task": "statistics", "level": "L1", "framework": "pytorch", "dump_data_dir": None, "data": data}))
    (folder / "stack.json").write_text(json.dumps({name: [f"File {NAME}, line 3, in {NAME}, \n {NAME}"] for name in data}))
    (folder / "construct.json").write_text(json.dumps({name: None for name in data}))


class Screen(Checker):
    def check(self, title: str, words: list[str], codes: tuple[int, ...], env: dict[str, str] | None = None,
              folder: pathlib.Path | None = None, honest: bool = False) -> None:
        if not self.wants(title):
            return
        done = subprocess.run([self.program, *words], cwd=folder or self.work, stdin=subprocess.DEVNULL, capture_output=True,
                              env=dict(os.environ, **(env or {})), timeout=120)
        failures = [f"stdout {why}" for why in trouble_in(done.stdout)] + [f"stderr {why}" for why in trouble_in(done.stderr)]
        if done.returncode not in codes:
            failures.append(f"exit {done.returncode}, {codes} expected: {done.stderr[-300:]!r}")
        if not done.stdout + done.stderr and "convert" not in words:
            failures.append("says nothing")
        if honest:
            shown = (done.stdout + done.stderr).decode("utf-8", "replace")
            failures += [f"does not show {name}" for name in HONEST if name not in shown]
        self.report(title, failures)

    def check_files(self, title: str, folder: pathlib.Path, breaks: str = "\n") -> None:
        """All text files below a folder."""
        if not self.wants(title) or not folder.is_dir():
            return
        failures = []
        count = 0
        for path in sorted(folder.rglob("*")):
            if path.suffix == ".xlsx":
                with zipfile.ZipFile(path) as book:
                    parts = [book.read(name) for name in book.namelist()]
            elif path.suffix in (".csv", ".json", ".jsonl", ".xml", ".txt", ".yaml"):
                parts = [path.read_bytes()]
            else:
                continue
            count += 1
            for part in parts:
                failures += [f"{path.name} {why}" for why in trouble_in(part, breaks + "\r\t")]
        self.report(title, failures if count else ["found no report"])


def check_native(screen: Screen) -> None:
    mine, golden = f"m{RAW}", f"g{RAW}"
    make_side(screen.work / mine, 2)
    make_side(screen.work / golden, 3)
    screen.check("inspect a folder", ["inspect", mine], (2,), honest=True)
    screen.check("inspect as json", ["inspect", "--json", "--values", mine], (2,), honest=True)
    files = sorted(str(path.relative_to(screen.work)) for path in (screen.work / mine).rglob("*") if path.is_file())
    screen.check("inspect files", ["inspect", "-v", *files, RAW], (2,))
    screen.check("inspect filters", ["inspect", "--only", RAW, "--layout", RAW, mine], (2,))
    screen.check("compare folders", ["compare", mine, golden, "--report", "csv,json,jsonl,junit,sqlite,xlsx", "--output",
                                     f"out{RAW}"], (2,))
    screen.check_files("reports", screen.work / f"out{RAW}")
    for output in ("csv", "json", "jsonl", "junit"):
        screen.check(f"compare to stdout, {output}", ["compare", mine, golden, "--report", output, "--output", "-"], (2,), honest=True)
    good = screen.work / "good"
    for side, value in (("mine", 2.0), ("golden", 3.0)):
        (good / side).mkdir(parents=True)
        for part in HOSTILE:
            (good / side / os.fsdecode(b"n" + part + b"n.npy")).write_bytes(npy([1, value]))
    screen.check("compare on the terminal", ["-v", "compare", "good/mine", "good/golden", "--output", "good/out"], (1,))
    bad = screen.work / "bad"
    bad.mkdir()
    for part in HOSTILE:
        (bad / os.fsdecode(b"n" + part + b"n.npy")).write_bytes(npy([1, float("nan")]))
    screen.check("errcheck on the terminal", ["-v", "errcheck", "bad", "--rule", RAW + "=ignore"], (1,))
    screen.check("errcheck of a folder", ["errcheck", mine, "--report", "csv,json,jsonl,junit,sqlite,xlsx", "--output",
                                          f"errors{RAW}"], (2,))
    screen.check_files("reports of errcheck", screen.work / f"errors{RAW}")
    screen.check("errcheck to stdout", ["errcheck", mine, "--output", "-"], (2,), honest=True)
    probe = screen.work / f"probe{RAW}.so"
    probe.write_bytes(b"")
    quiet = {"ASSAY_PROBE": str(probe), "ATB_HOME_PATH": RAW}
    screen.check("dump of no program", ["dump", "--output", f"dump{RAW}", "--", RAW], (127,), env=quiet)
    screen.check("dump with wrong flags", ["dump", "--ids", RAW, "--", "true"], (2,), env=quiet)
    screen.check("msit dump", ["msit", "llm", "dump", "--exec", RAW.replace("'", ""), "-o", RAW], (1, 2), env=quiet)
    screen.check("no probe", ["dump", "--", "true"], (2,), env={"ASSAY_PROBE": RAW})
    screen.check("compare fails", ["compare", RAW, golden], (2,))
    screen.check("compare with a rule", ["compare", mine, golden, "--rule", RAW], (2,))
    screen.check("compare by a name", ["compare", mine, golden, "--match", RAW, "--layout", RAW], (2,))
    screen.check("compare with files of rules", ["compare", mine, golden, "--rules", RAW], (2,))
    screen.check("an unknown command", [RAW], (2,))
    screen.check("an unknown flag", ["compare", f"--{RAW}", mine, golden], (2,))
    screen.check("a flag of another kind", ["inspect", "--threads", RAW, mine], (2,))
    screen.check("convert a folder", ["-v", "convert", mine, f"converted{RAW}"], (2,))
    screen.check("convert again", ["convert", mine, f"converted{RAW}"], (2,))
    screen.check("convert to nothing known", ["convert", mine, "x", "--to", RAW], (2,))
    screen.check("compact, dry", ["compact", mine, "--dry-run"], (1,))
    for path in (screen.work / mine).rglob("*"):
        os.utime(path, (1e9, 1e9))
    screen.check("compact", ["-v", "compact", mine], (1,))
    screen.check_files("statistics of compact", screen.work / mine)
    screen.check("compact nothing", ["compact", RAW], (2,))
    screen.check("demo", ["demo", "--output", f"demo{RAW}"], (0,))
    screen.check("doctor", ["doctor"], (0,), {"LANG": NAME, "LC_ALL": "", "TMPDIR": "/" + RAW})


def check_topology(screen: Screen) -> None:
    op = {"opName": NAME, "opType": NAME, "inTensors": [NAME, "a"], "outTensors": [NAME + "b"], "param": {NAME: NAME}}
    model = {"modelName": NAME, "inTensors": [NAME], "outTensors": [NAME], "internalTensors": [], "nodes": [op, op, dict(op, opName=3)],
             NAME: 3}
    (screen.work / f"t{RAW}.json").write_text(json.dumps(model))
    (screen.work / f"cut{RAW}.json").write_text(json.dumps(model)[:-40])
    screen.check("topology", ["-v", "topology", f"t{RAW}.json"], (0,))
    screen.check("topology again", ["topology", f"t{RAW}.json"], (2,))
    screen.check("topology, cut off", ["topology", f"cut{RAW}.json"], (2,))
    screen.check("topology of nothing", ["topology", RAW], (2,))


def check_msprobe(screen: Screen) -> None:
    mine, golden = screen.work / f"pm{RAW}", screen.work / f"pg{RAW}"
    msprobe_dump(mine, 2)
    msprobe_dump(golden, 3)
    (screen.work / "compare.json").write_text(json.dumps(
        {"npu_path": str(mine / "dump.json"), "bench_path": str(golden / "dump.json"), "stack_path": str(mine / "stack.json")}))
    debug = {"MSPROBE_LOG_LEVEL": "0"}
    for generation, words in (("g2", ["-f", "pytorch", "compare", "-i", "compare.json", "-s", "-hl"]),
                              ("g1", ["-f", "pytorch", "compare", "-i", "compare.json", "-s", "--profile", "g1"]),
                              ("g3", ["compare", "-tp", mine, "-gp", golden])):
        out = screen.work / f"p{generation}{RAW}"
        screen.check(f"msprobe {generation}", ["msprobe", *words, "-o", out], (0,), debug)
        screen.check_files(f"tables of msprobe {generation}", out)
    screen.check("msprobe in full", ["compare", mine, golden, "--output", f"pn{RAW}", "--report", "csv,json"], (0, 1, 2))
    screen.check_files("reports of msprobe dumps", screen.work / f"pn{RAW}")
    screen.check("msprobe of nothing", ["msprobe", "compare", "-tp", RAW, "-gp", RAW], (1,))
    screen.check("msprobe, unknown framework", ["msprobe", "-f", RAW, "compare", "-i", "x"], (2,))
    screen.check("msprobe, unknown command", ["msprobe", "-f", "pytorch", RAW, "-i", "x"], (2,))
    screen.check("msprobe, unknown flag", ["msprobe", "compare", f"-{RAW}", "x"], (1, 2))
    screen.check("msprobe, unknown mode", ["msprobe", "compare", "-tp", "a", "-gp", "b", "-m", RAW], (1, 2))
    (screen.work / "broken.json").write_bytes(b'{"npu_path": "\xc2\x9b' + os.fsencode(RAW))
    screen.check("msprobe, broken list", ["msprobe", "-f", "pytorch", "compare", "-i", "broken.json"], (1,))


def check_msit(screen: Screen) -> None:
    mine, golden = screen.work / f"im{RAW}", screen.work / f"ig{RAW}"
    make_side(mine, 2)
    make_side(golden, 3)
    first = os.fsdecode(b"n" + HOSTILE[0] + b"n.npy")
    for tool in ("msit", "ait"):
        screen.check(f"{tool} compare", [tool, "llm", "compare", "-gp", golden / first, "-mp", mine / first, "-o", f"i{tool}{RAW}",
                                         "-l", "debug"], (0,))
        screen.check_files(f"table of {tool}", screen.work / f"i{tool}{RAW}")
        screen.check(f"{tool} compare folders", [tool, "llm", "compare", "-gp", golden, "-mp", mine], (0, 1, 2))
        screen.check(f"{tool} of nothing", [tool, "llm", "compare", "-gp", RAW, "-mp", RAW], (1, 2))
        screen.check(f"{tool} logitscmp", [tool, "llm", "logitscmp", "-gp", golden, "-mp", mine], (0, 1, 2))
        screen.check(f"{tool}, unknown command", [tool, "llm", RAW], (2,))
        screen.check(f"{tool}, unknown word", [tool, RAW], (2,))
        screen.check(f"{tool}, unknown flag", [tool, "llm", "compare", f"--{RAW}"], (2,))
        screen.check(f"{tool}, a limit", [tool, "llm", "logitscmp", "-gp", golden, "-mp", mine, "-cs", RAW], (1, 2))
    table = b"key,value\n" + b",".join((b'"n' + part.replace(b"\n", b"") + b'n"') for part in HOSTILE[:2]) + b"\n"
    for side in ("g.csv", "m.csv"):
        (screen.work / side).write_bytes(table)
    screen.check("msit analyze", ["msit", "llm", "analyze", "-gp", "g.csv", "-tp", "m.csv"], (0, 1, 2))


def check(screen: Screen) -> None:
    check_native(screen)
    check_topology(screen)
    check_msprobe(screen)
    check_msit(screen)


if __name__ == "__main__":
    sys.exit(run_checks(__doc__, Screen, check))
