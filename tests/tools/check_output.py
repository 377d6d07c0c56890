#!/usr/bin/python3
"""Checks that text leaves the program in one place only: nothing but assay/base/console.cc, and
capture/say.cc in what is loaded into other programs, writes to stdout or stderr."""
import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parents[2]
ALLOWED = {"assay/base/console.cc", "capture/say.cc"}
COMMENT_OR_TEXT = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)
WRITER = re.compile(r"\b(?:stdout|stderr|STDOUT_FILENO|STDERR_FILENO|(?:std::)?(?:cout|cerr|clog|printf|puts|putchar|perror|psignal)"
                    r"|fmt::print|spdlog|syslog)\b|::(?:write|dprintf)\(\s*[12]\s*,")


def blank(found: re.Match) -> str:
    return re.sub(r"[^\n]", " ", found[0])


bad, count = [], 0
for path in sorted(path for folder in ("assay", "capture", "cli", "library", "probe") for path in (root / folder).rglob("*.[ch]*")):
    name = path.relative_to(root).as_posix()
    if name in ALLOWED or name.endswith("_test.cc"):
        continue
    count += 1
    for number, line in enumerate(COMMENT_OR_TEXT.sub(blank, path.read_text()).splitlines(), 1):
        for found in WRITER.finditer(line):
            bad.append(f"{name}:{number}: {found[0]} goes past assay/base/console.h, which keeps terminals safe from names")
print("\n".join(bad) if bad else f"{count} files leave stdout and stderr to assay/base/console.cc")
sys.exit(bool(bad))
