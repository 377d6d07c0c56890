#!/usr/bin/python3
"""make wheel: assay-*.whl (package, libraries, programs) and assay_compat-*.whl (the import names msit_llm, ait_llm,
msprobe, components.utils.acc_cmp).

    scripts/make_wheel.py --bin build/release --out build/wheel

A wheel is a zip archive with a list of its files: nothing but the standard library is needed to write one. The same input gives the same
bytes.
"""
from __future__ import annotations

import argparse
import base64
import hashlib
import pathlib
import platform
import re
import subprocess
import sys
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
PYTHON = ROOT / "python"
PYTHON_NEEDED = ">=3.8"
# In the folder `native` of the package. The program stands for other tools where it is called by their names.
LIBRARIES = ("libassay.so", "libassay_probe.so", "libatb_probe_abi0.so", "libatb_probe_abi1.so")
PROGRAM = "assay"
TOOLS = ("msit", "ait", "msprobe")
# torch.compile(model, backend="assay_fx_dump")
BACKENDS = "\n[torch_dynamo_backends]\nassay_fx_dump = assay.torch.fx_backend:named_backend\n"
FIRST_DATE = (1980, 1, 1, 0, 0, 0)

class Wheel:
    def __init__(self, out: pathlib.Path, name: str, version: str, tag: str, summary: str, needs: list[str]) -> None:
        self.info = f"{name}-{version}.dist-info"
        self.path = out / f"{name}-{version}-{tag}.whl"
        self.archive = zipfile.ZipFile(self.path, "w", zipfile.ZIP_DEFLATED, compresslevel=6)
        self.records: list[str] = []
        head = [f"Name: {name.replace('_', '-')}", f"Version: {version}", f"Summary: {summary}",
                f"Requires-Python: {PYTHON_NEEDED}", *(f"Requires-Dist: {each}" for each in needs)]
        self.add(f"{self.info}/METADATA", "\n".join(["Metadata-Version: 2.1", *head, ""]).encode())
        purity = "true" if tag.endswith("-any") else "false"
        self.add(f"{self.info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: assay\nRoot-Is-Purelib: {purity}\nTag: {tag}\n".encode())

    def add(self, name: str, data: bytes, mode: int = 0o644) -> None:
        entry = zipfile.ZipInfo(name, FIRST_DATE)
        entry.external_attr = (0o100000 | mode) << 16
        entry.compress_type = zipfile.ZIP_DEFLATED
        self.archive.writestr(entry, data)
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        self.records.append(f"{name},sha256={digest},{len(data)}")

    def add_package(self, folder: pathlib.Path) -> None:
        for path in sorted(folder.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                self.add(str(path.relative_to(folder.parent)), path.read_bytes())

    def add_entry_points(self, commands: tuple[str, ...], others: str = "") -> None:
        lines = "".join(f"{name} = assay._launch:run\n" for name in commands)
        self.add(f"{self.info}/entry_points.txt", f"[console_scripts]\n{lines}{others}".encode())

    def close(self) -> pathlib.Path:
        name = f"{self.info}/RECORD"
        self.add(name, "\n".join([*self.records, f"{name},,", ""]).encode())
        self.archive.close()
        return self.path


def version() -> str:
    return re.search(r'__version__ = "(.+)"', (PYTHON / "assay" / "_version.py").read_text())[1]


def needed_glibc(paths: list[pathlib.Path]) -> tuple[int, int]:
    """The newest version of glibc that a file asks for."""
    asked = {(2, 17)}
    for path in paths:
        asked |= {(int(major), int(minor)) for major, minor in re.findall(rb"GLIBC_(\d+)\.(\d+)", path.read_bytes())}
    return max(asked)


def foreign_libraries(path: pathlib.Path) -> list[str]:
    """What a program needs beyond the C and C++ libraries: those go into the wheel as well."""
    basic = re.compile(r"(libc|libm|libdl|librt|libpthread|libstdc\+\+|libgcc_s|ld-linux[^.]*|linux-vdso)\.so")
    found = []
    for line in subprocess.run(["ldd", path], stdout=subprocess.PIPE, text=True, check=True).stdout.split("\n"):
        match = re.match(r"\s*(\S+) => (/\S+)", line)
        if match and not basic.match(match[1]):
            found.append(match[2])
    return found


def make_native(build: pathlib.Path, out: pathlib.Path) -> pathlib.Path:
    files = [build / name for name in (*LIBRARIES, PROGRAM)]
    missing = [str(path) for path in files if not path.is_file()]
    if missing:
        sys.exit(f"not built: {', '.join(missing)}; run make wheel")
    shared = sorted({each for path in files for each in foreign_libraries(path)})
    major, minor = needed_glibc([*files, *map(pathlib.Path, shared)])
    wheel = Wheel(out, "assay", version(), f"py3-none-manylinux_{major}_{minor}_{platform.machine()}",
                  "Says where two runs of a model part: capture, comparison, operators by themselves", [])
    wheel.add_package(PYTHON / "assay")
    for path in files:
        wheel.add(f"assay/native/{path.name}", path.read_bytes(), 0o755)
    for path in map(pathlib.Path, shared):
        wheel.add(f"assay/native/lib/{path.name}", path.read_bytes(), 0o755)
    wheel.add_entry_points((PROGRAM,), BACKENDS)
    return wheel.close()


def make_compat(out: pathlib.Path) -> pathlib.Path:
    wheel = Wheel(out, "assay_compat", version(), "py3-none-any", "The import names msit_llm, ait_llm and msprobe, served by assay",
                  [f"assay=={version()}"])
    for folder in sorted((PYTHON / "compat").iterdir()):
        wheel.add_package(folder)
    wheel.add_entry_points(TOOLS)
    return wheel.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, required=True, help="folder with the libraries and programs")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="folder for the wheels")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    for path in (make_native(options.bin, options.out), make_compat(options.out)):
        print(f"{path}: {path.stat().st_size >> 10} KiB")


if __name__ == "__main__":
    main()
