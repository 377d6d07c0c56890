"""atb_json_to_onnx: a topology of ATB as an ONNX graph, drawn by the program."""
import os
import subprocess
from typing import Any, Optional

import assay
from assay.errors import AssayError


def atb_json_to_onnx(atb_json_path: str, target_level: int = -1, cache_csv_file: Optional[dict] = None) -> None:
    """Writes X.onnx beside X.json, in the place of an older one. `target_level`: how deep to take operations apart;
    -1: all the way. Shapes come from the tables of operations beside the topology; `cache_csv_file` is not needed for that.
    """
    path = os.fspath(atb_json_path)
    if not isinstance(target_level, int):
        raise TypeError(f"target_level must be an int, and is {type(target_level).__name__}")
    done = _run(["topology", path, "--level", str(target_level), "--force"])
    if done.returncode:
        raise AssayError(done.stderr.strip() or f"{path}: assay topology ended with {done.returncode}")


def _run(words: list) -> Any:
    return subprocess.run([assay.program(), *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          stdin=subprocess.DEVNULL, universal_newlines=True, errors="replace")
