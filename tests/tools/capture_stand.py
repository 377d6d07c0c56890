"""What the parts of check_capture.py share: the stand-in for ATB with the probe in it."""
from __future__ import annotations

import json
import os
import pathlib
import re
import subprocess
import sys
import threading
import time

from checker import Checker, tail

GEN2 = {"ATB_DUMP_TYPE": "tensor|model|op|kernel|cpu_profiling|layer", "ATB_SAVE_TENSOR": "1", "ATB_SAVE_TENSOR_TIME": "1",
        "ATB_SAVE_TENSOR_IN_BEFORE_OUT_AFTER": "1", "ATB_SAVE_TENSOR_RANGE": "0,0", "ATB_SAVE_TENSOR_PART": "2",
        "ATB_SAVE_CHILD": "1", "ATB_SAVE_TILING": "1", "ATB_TIMESTAMP": "20260101_000000"}
GEN3 = {"task": "all", "dump_enable": True, "exec_range": "all", "ids": "", "op_name": "", "save_child": True, "device": "",
        "filter_level": 1}


class CaptureChecker(Checker):
    long = "--long" in sys.argv

    @property
    def bin(self) -> pathlib.Path:
        return self.program.parent

    def needed(self, name: str) -> set[str]:
        lines = subprocess.run(["readelf", "-d", self.bin / name], stdout=subprocess.PIPE, text=True, check=True).stdout
        return set(re.findall(r"NEEDED.*\[(.*)\]", lines))

    def sanitizers(self) -> list[str]:
        """Libraries that must be loaded before anything that was built with them."""
        return sorted(name for name in self.needed("libassay_probe.so") if name.startswith(("libasan", "libtsan", "libubsan")))

    def environment(self, more: dict[str, str]) -> dict[str, str]:
        plain = {name: value for name, value in os.environ.items() if not name.startswith(("ATB_", "ASSAY_", "LD_"))}
        return {**plain, "LD_PRELOAD": ":".join([*self.sanitizers(), str(self.bin / "libassay_probe.so")]),
                "ASAN_OPTIONS": "detect_leaks=0", "ASSAY_CAPTURE_RESERVE": "0", **more}

    def host(self, words: list[str], folder: pathlib.Path, more: dict[str, str], abi: int = 1,
             **rest) -> subprocess.CompletedProcess:
        return subprocess.run([self.bin / "hosts" / f"abi{abi}" / "atb_host", *words], cwd=folder, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=3600 if self.long else 300,
                              env=self.environment({"ATB_OUTPUT_DIR": f"{folder}/", **more}), **rest)

    def config(self, folder: pathlib.Path, **changes) -> dict[str, str]:
        path = folder / "config.json"
        path.write_text(json.dumps({**GEN3, **changes}))
        path.chmod(0o600)
        return {"ATB_DUMP_CONFIG": str(path)}

    def start_in(self, folder: pathlib.Path, words: list[str], code: int, text: str = "") -> list[str]:
        done = self.start(words, folder)
        return [] if done.returncode == code and text in done.stdout else \
            [f"{' '.join(words)}: exit {done.returncode}: {tail(done.stdout)}"]

    def compare(self, ours: dict[str, bytes], theirs: dict[str, bytes]) -> list[str]:
        failures = [f"{name} is not written" for name in sorted(theirs.keys() - ours.keys())]
        failures += [f"{name} is new" for name in sorted(ours.keys() - theirs.keys())]
        return failures + [f"{name}: {ours[name]!r} instead of {theirs[name]!r}"[:400]
                           for name in sorted(ours.keys() & theirs.keys()) if ours[name] != theirs[name]]


def process_of(done: subprocess.CompletedProcess) -> str:
    return done.stdout.strip().split("\n")[-1]


def is_whole(path: pathlib.Path) -> bool:
    """Does a file of ATB hold what its header says?"""
    with path.open("rb") as file:
        head = file.read(4096)
    end = head.find(b"$End=1\n")
    length = re.search(rb"\$Object\.Length=(\d+)\n", head[:end]) if end >= 0 else None
    return length is not None and path.stat().st_size == end + 7 + int(length[1])


class Peak(threading.Thread):
    """The most memory that a process held, in MB, as far as it lived when it was looked at."""

    def __init__(self, process: int) -> None:
        super().__init__(daemon=True)
        self.process, self.mb, self.ends = process, 0.0, False
        self.start()

    def run(self) -> None:
        while not self.ends:
            try:
                text = pathlib.Path(f"/proc/{self.process}/status").read_text()
            except OSError:
                return
            if found := re.search(r"VmHWM:\s+(\d+) kB", text):
                self.mb = int(found[1]) / 1024
            time.sleep(0.01)

    def stop(self) -> float:
        self.ends = True
        self.join()
        return self.mb
