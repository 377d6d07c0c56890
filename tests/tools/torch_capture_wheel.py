"""Checks of check_torch_capture.py: the wheels, installed where there is nothing else."""
from __future__ import annotations

import base64
import hashlib
import importlib.util
import os
import pathlib
import subprocess
import sys
import zipfile

import torch

ROOT = pathlib.Path(__file__).resolve().parents[2]

USER = """
import sys, tempfile
import assay
folder = tempfile.mkdtemp()
with assay.Writer(folder) as writer:
    writer.text("x.txt", "y")
import subprocess
print(assay.__file__, subprocess.run([assay.program(), "--version"], stdout=subprocess.PIPE).returncode)
from msit_llm.dump.torchair_dump import get_ge_dump_config
try:
    import msit_llm.nothing
except ImportError as trouble:
    print(trouble)
import torch
done = subprocess.run([assay.program(), "capture", "--output", folder + "/c", "--", sys.executable, "-c",
                       "import torch; torch.nn.ReLU()(torch.ones(1))"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
print(done.returncode, done.stdout)
if hasattr(torch, "compile"):
    torch.compile(lambda x: x + 1, backend="assay_fx_dump", options={"path": folder + "/fx"})(torch.ones(1))
    import pathlib
    print(len(list(pathlib.Path(folder, "fx").rglob("add-aten.add.Tensor.*.npy"))), "files of FX")
"""


def record_is_true(path: pathlib.Path) -> list[str]:
    """Every file of a wheel is listed in its RECORD, with its checksum."""
    with zipfile.ZipFile(path) as wheel:
        (record,) = [name for name in wheel.namelist() if name.endswith(".dist-info/RECORD")]
        listed = dict(line.split(",", 1) for line in wheel.read(record).decode().strip().split("\n"))
        failures = [f"{path.name}: {name} is not listed" for name in wheel.namelist() if name not in listed]
        for name, rest in listed.items():
            data = wheel.read(name)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            if name != record and rest != f"sha256={digest},{len(data)}":
                failures.append(f"{path.name}: {name} is another file")
    return failures


def check_wheels(c) -> list[str]:
    out = c.folder("wheel")
    for _ in range(2):  # the second replaces the first
        done = subprocess.run([sys.executable, ROOT / "scripts" / "make_wheel.py", "--bin", c.program.parent, "--out", out],
                              text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode:
            return [done.stdout]
    wheels = sorted(out.glob("*.whl"))
    if [path.name.split("-")[0] for path in wheels] != ["assay", "assay_compat"]:
        return [f"wheels: {wheels}"]
    failures = [each for path in wheels for each in record_is_true(path)]
    site = c.folder("site")
    if importlib.util.find_spec("pip"):
        done = subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--no-compile",
                               "--target", site, *wheels], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode:
            return [*failures, done.stdout]
    else:  # Debian's python3 alone: a wheel is a zip of what is installed
        for path in wheels:
            with zipfile.ZipFile(path) as wheel:
                for entry in wheel.infolist():
                    placed = pathlib.Path(wheel.extract(entry, site))
                    placed.chmod(entry.external_attr >> 16 & 0o777)
    environment = {name: value for name, value in os.environ.items() if name != "ASSAY_LIBRARY"}
    done = subprocess.run([sys.executable, "-B", "-c", USER], cwd=c.folder("user"), text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, env={**environment, "PYTHONPATH": str(site)})
    if done.returncode or f"{site}/assay/__init__.py 0" not in done.stdout or "is not served by assay" not in done.stdout:
        failures.append(f"as a user: {done.stdout}")
    if "1 step of 1 process in" not in done.stdout:
        failures.append(f"assay capture: {done.stdout}")
    if hasattr(torch, "compile") and "3 files of FX" not in done.stdout:
        failures.append(f"the backend assay_fx_dump: {done.stdout}")
    return failures


WHEEL_CHECKS = {"wheels": check_wheels}
