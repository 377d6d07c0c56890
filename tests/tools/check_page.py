#!/usr/bin/python3
"""The page of `--report html`: its types, its bundle, its logic (Node's test runner), and every view in Debian's Chromium.

Node, npm and Chromium are Debian's; npm fetches what web/package-lock.json names, once. Without a way to fetch it the checks
that need it are skipped, and said to be. --keep FOLDER leaves the pages and two screenshots there."""
from __future__ import annotations

import csv
import os
import pathlib
import re
import shutil
import subprocess
import sys

import check_view
import page_dumps
from checker import Checker, run_checks, tail

ROOT = pathlib.Path(__file__).resolve().parents[2]
WEB = ROOT / "web"
DATA = ROOT / "tests" / "data"
MOST_BYTES = 12 * 1024 * 1024
COUNTS = re.compile(r"(\d+) passed, (\d+) failed")


def run(*words: object, folder: pathlib.Path = WEB, seconds: int = 400) -> subprocess.CompletedProcess:
    try:
        return subprocess.run([str(word) for word in words], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                              text=True, errors="replace", timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(words, 124, f"{words[0]}: not done after {seconds} s")


def fetch_modules() -> str:
    """Why there are none; empty where there are."""
    if not shutil.which("node") or not shutil.which("npm"):
        return "node and npm are missing"
    wanted = (WEB / "package-lock.json").stat().st_mtime
    mark = WEB / "node_modules" / ".package-lock.json"
    if mark.exists() and mark.stat().st_mtime >= wanted:
        return ""
    # A network that swallows what it is sent is to cost a minute or two, not ten.
    done = run("npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts", "--prefer-offline", "--fetch-retries=1", "--fetch-timeout=60000", seconds=180)
    if done.returncode == 0:
        os.utime(mark)
    return "" if done.returncode == 0 else f"npm ci: {tail(done.stdout, 2)}"


def check_sources(checker: Checker) -> None:
    types = run("node", "node_modules/typescript/bin/tsc", "--noEmit")
    checker.report("types", [] if types.returncode == 0 else [types.stdout[-3000:]])
    bundle = run("node", "build.mjs", "--check")
    checker.report("bundle", [] if bundle.returncode == 0 else [bundle.stdout[-1000:]])
    units = run("node", "test/run_unit.mjs")
    checker.report("logic", [] if units.returncode == 0 else [units.stdout[-5000:]])


def write_pages(checker: Checker, folder: pathlib.Path) -> None:
    """Reports of each layout, as their users would ask for them."""
    (folder / "dumps").mkdir()
    checker.start(["demo", "--output", str(folder / "dumps" / "demo")], folder)
    made = {"ranks": page_dumps.write_ranks, "large": page_dumps.write_large, "hostile": page_dumps.write_hostile, "mix": page_dumps.write_mix,
            "checkpoint": page_dumps.write_checkpoint, "one": page_dumps.write_one, "same": page_dumps.write_same, "not_compared": page_dumps.write_apart,
            "broken": page_dumps.write_broken}
    for name, write in made.items():
        write(folder / "dumps" / name)
    pairs = {
        "folder": (folder / "dumps" / "demo" / "mine", folder / "dumps" / "demo" / "golden"),
        "msprobe": (DATA / "msprobe/pt_l0_tensor/npu", DATA / "msprobe/pt_l0_tensor/bench"),
        "statistics": (DATA / "msprobe/pt_l1_stats/npu", DATA / "msprobe/pt_l1_stats/bench"),
        "atb_torch": (DATA / "atb/atb_bloom", DATA / "atb/torch_bloom"),
        "torchair": (DATA / "torchair/ge_fx/msit_ge_dump", DATA / "torchair/ge_fx/msit_fx_dump"),
        "fusion": (DATA / "torchair/fused_unfused/fusion_on", DATA / "torchair/fused_unfused/fusion_off"),
    }
    pairs |= {name: (folder / "dumps" / name / "mine", folder / "dumps" / name / "golden") for name in made}
    commands = {name: ["compare", str(mine), str(golden)] for name, (mine, golden) in pairs.items()}
    commands["errcheck"] = ["errcheck", str(DATA / "atb/gen2_all/msit_dump_20260101_000000")]
    for name, words in commands.items():
        out = folder / name
        done = checker.start([*words, "--report", "html", "--output", str(out), "-q"], folder)
        pages = sorted(out.glob("*.html")) if out.is_dir() else []
        faults = [] if done.returncode in ((2,) if name in ("not_compared", "broken") else (0, 1)) and len(pages) == 1 else [f"no page: {tail(done.stdout)}"]
        for page in pages:
            faults += check_file(page)
            page.rename(folder / f"{name}.html")
        checker.report(f"page of {name}", faults)


def check_file(page: pathlib.Path) -> list[str]:
    """What can be told of the file without a browser."""
    text = page.read_text()
    faults = []
    if len(text.encode()) > MOST_BYTES:
        faults.append(f"has {len(text.encode())} bytes")
    if not re.search(r"""http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'sha256-""", text):
        faults.append("has no strict policy")
    outside = re.findall(r"""(?:src|href)=["'](?!data:)[^"']*["']|@import|url\((?!data:)[^)]*\)""", text)
    if outside:
        faults.append(f"refers to {outside[:3]}")
    if text.count("<script") != 4 or text.count("</script>") != 4:
        faults.append(f"has {text.count('<script')} scripts")
    return faults


def check_command(checker: Checker, path: pathlib.Path) -> list[str]:
    """What "Copy command" gave, run as it stands: as many rows as the page showed."""
    rows, command = path.read_text().split("\n", 1)
    out = path.with_suffix(".out")
    done = subprocess.run(["bash", "-c", f"{command} --report csv --output {out} -q"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                          stdin=subprocess.DEVNULL, env={**os.environ, "PATH": f"{checker.program.parent}:{os.environ['PATH']}"}, cwd=path.parent)
    found = sum(len(list(csv.reader(file.open()))) - 1 for file in out.glob("*.csv"))
    return [] if found == int(rows) else [f"{found} rows, not {rows}: {command}: {tail(done.stdout)}"]


def check_in_browser(checker: Checker, folder: pathlib.Path) -> None:
    chromium = shutil.which("chromium")
    demo = folder / "dumps" / "demo"
    checker.start(["compare", str(demo / "mine"), str(demo / "golden"), "--report", "sqlite", "--output", str(folder / "stored"), "-q"], folder)
    with check_view.serving(checker, folder, folder / "stored") as server:
        done = run("node", "test/end_to_end.mjs", chromium, folder, server.base)
    lines = done.stdout.rstrip().split("\n")
    found = COUNTS.fullmatch(lines[-1])
    if found is None:
        checker.report("browser", [done.stdout[-5000:]])
        return
    print("\n".join(lines[:-1]))
    for path in sorted(folder.glob("*.command")):
        checker.report(f"the command of {path.stem}", check_command(checker, path))
    checker.passed += int(found[1])
    checker.failed += int(found[2])


def check(checker: Checker) -> None:
    folder = checker.folder("pages")
    if checker.wants("files"):
        write_pages(checker, folder)
    reason = fetch_modules()
    if not reason and not shutil.which("chromium"):
        reason = "chromium is missing"
    if reason:
        checker.skipped = 2
        print(f"note: the page was not opened: {reason}")
        return
    if checker.wants("sources"):
        check_sources(checker)
    if checker.wants("browser"):
        check_in_browser(checker, folder)


if __name__ == "__main__":
    sys.exit(run_checks(__doc__, Checker, check))
