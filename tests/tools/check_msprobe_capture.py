#!/usr/bin/python3
"""PrecisionDebugger: what it records of real models against dumps of the original (tests/data/msprobe_capture), that results stay as they
are, and what its calls and config.json do.

    check_msprobe_capture.py --bin build/release [--only NAME] [--keep FOLDER]

Runs with whatever PyTorch the Python at hand has; those dumps are compared that were made with its generation.
"""
from __future__ import annotations

import copy
import json
import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = ROOT / "tests" / "data" / "msprobe_capture"
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "python" / "compat")]
sys.dont_write_bytecode = True

import torch  # noqa: E402

import msprobe_models  # noqa: E402
import torch_models  # noqa: E402
from checker import Checker, run_checks  # noqa: E402
from msprobe_capture_calls import CALL_CHECKS  # noqa: E402
from msprobe_capture_journal import JOURNAL_CHECKS  # noqa: E402

IS_2 = torch.__version__ >= "2"


class CaptureChecker(Checker):
    """Runs models under a debugger of their own."""

    def record(self, run, model=None, steps: int = 1, **config) -> pathlib.Path:
        """Runs `run()` between start and stop, `steps` times; the folder of the dumps."""
        from assay.msprobe.debugger import PrecisionDebugger, forget

        folder = self.folder("dump")
        task = config.setdefault("task", "statistics")
        own = {key: config.pop(key) for key in ("scope", "list", "data_mode", "summary_mode", "tensor_list", "slice")
               if key in config}
        start = config.pop("start", {})
        path = folder / "config.json"
        path.write_text(json.dumps({"dump_path": str(folder / "out"), **config, task: own}))
        forget()
        debugger = PrecisionDebugger(config_path=str(path))
        try:
            for _ in range(steps):
                debugger.start(model=model, **start) if model is not None else debugger.start(**start)
                run()
                debugger.stop()
                debugger.step()
        finally:
            forget()
        return folder / "out"

    def rank(self, out: pathlib.Path, step: int = 0) -> pathlib.Path:
        (rank,) = (out / f"step{step}").iterdir()
        return rank

    def entries(self, out: pathlib.Path, step: int = 0) -> dict:
        return json.loads((self.rank(out, step) / "dump.json").read_text())["data"]


def same_text(mine: pathlib.Path, theirs: pathlib.Path) -> list[str]:
    """Byte for byte, but for the folder of the data."""
    texts = [[line for line in path.read_text().split("\n") if '"dump_data_dir"' not in line] for path in (mine, theirs)]
    return [] if texts[0] == texts[1] else [f"{theirs.parent.name}/{theirs.name}: other bytes: {first_difference(*texts)}"]


def first_difference(mine: list[str], theirs: list[str]) -> str:
    number = next((n for n, (a, b) in enumerate(zip(mine, theirs)) if a != b), min(len(mine), len(theirs)))
    return f"line {number + 1}: {mine[number:number + 1]}, expected {theirs[number:number + 1]}"


def differences(mine, theirs, at: str = "") -> list[str]:
    """Of two JSON values; sums may differ by what versions of PyTorch round differently."""
    if isinstance(mine, dict) and isinstance(theirs, dict):
        found = [] if list(mine) == list(theirs) else [f"{at}: keys {list(mine)[:8]}, expected {list(theirs)[:8]}"]
        return found + [each for key in theirs if key in mine for each in differences(mine[key], theirs[key], f"{at}/{key}")]
    if isinstance(mine, list) and isinstance(theirs, list):
        found = [] if len(mine) == len(theirs) else [f"{at}: {len(mine)} items, expected {len(theirs)}"]
        return found + [each for n, (a, b) in enumerate(zip(mine, theirs)) for each in differences(a, b, f"{at}/{n}")]
    if mine is None and isinstance(theirs, dict) and theirs.get("Norm") == 0.0:
        return []  # a gradient that newer PyTorch does not fill with zeros
    if isinstance(mine, float) and isinstance(theirs, float):
        if mine != mine and theirs != theirs or abs(mine - theirs) <= 1e-5 * abs(theirs) + 1e-6:
            return []
    return [] if type(mine) is type(theirs) and mine == theirs else [f"{at}: {mine!r}, expected {theirs!r}"]


def stack_names(path: pathlib.Path) -> list:
    return [names for names, _ in json.loads(path.read_text()).values()]


def check_fixture_mix_md5(c: CaptureChecker) -> list[str]:
    model = msprobe_models.tiny()
    rank = c.rank(c.record(lambda: msprobe_models.train_tiny(model), model, level="mix", summary_mode="md5", risk_level="FOCUS"))
    theirs = DATA / "msprobe_mix_md5"
    failures = same_text(rank / "dump.json", theirs / "dump.json") + same_text(rank / "construct.json", theirs / "construct.json")
    mine, wanted = (sorted(name for names in stack_names(path) for name in names)
                    for path in (rank / "stack.json", theirs / "stack.json"))
    return failures + ([] if mine == wanted else ["stack.json: other calls"])


def check_fixture_l0_tensor(c: CaptureChecker) -> list[str]:
    model = msprobe_models.tiny()
    rank = c.rank(c.record(lambda: msprobe_models.train_tiny(model), model, level="L0", task="tensor"))
    theirs = DATA / "msprobe_l0_tensor"
    failures = same_text(rank / "dump.json", theirs / "dump.json") + same_text(rank / "construct.json", theirs / "construct.json")
    for path in sorted((theirs / "dump_tensor_data").iterdir()):
        if (rank / "dump_tensor_data" / path.name).read_bytes() != path.read_bytes():
            failures.append(f"{path.name}: other bytes")
    said = {name for entry in c_names(json.loads((rank / "dump.json").read_text())) for name in entry}
    written = {path.name for path in (rank / "dump_tensor_data").iterdir()}
    return failures + [f"{name}: in dump.json or in the folder alone" for name in sorted(said ^ written)]


def c_names(value) -> list[list[str]]:
    if isinstance(value, dict):
        return [[value["data_name"]]] if "data_name" in value else [n for each in value.values() for n in c_names(each)]
    return [n for each in value for n in c_names(each)] if isinstance(value, list) else []


def check_fixtures_of_2(c: CaptureChecker) -> list[str]:
    """Names and places exactly; numbers to what PyTorch's versions agree on."""
    failures = []
    runs = {"torch2_gpt_L0_stat_base": (msprobe_models.gpt, "L0", "statistics"),
            "torch2_gpt_L1_statck_ckpt": (lambda: msprobe_models.gpt(True), "L1", "statistics"),
            "torch2_odd_L1_stat_base": (msprobe_models.odd, "L1", "statistics"),
            "torch2_odd_mix_tensor_base": (msprobe_models.odd, "mix", "tensor")}
    for name, (make, level, task) in runs.items():
        model, inputs = make()
        out = c.record(lambda: model(*inputs).backward(), model, level=level, task=task)
        for file in ("dump.json", "construct.json"):
            mine, theirs = (json.loads((folder / file).read_text()) for folder in (c.rank(out), DATA / name))
            mine.pop("dump_data_dir", None), theirs.pop("dump_data_dir", None)
            failures += [f"{name}/{file}{each}" for each in differences(mine, theirs)[:3]]
    return failures


def check_fixture_of_variables(c: CaptureChecker) -> list[str]:
    from assay.msprobe.debugger import PrecisionDebugger

    failures = []
    for file, config in (("debug_md5.json", {"summary_mode": "md5"}), ("debug_xor.json", {"summary_mode": "xor"}),
                         ("debug_tensor.json", {"task": "tensor"})):
        out = c.record(lambda: msprobe_models.save_variables(PrecisionDebugger.save), level="debug", **config)
        failures += same_text(c.rank(out) / "debug.json", DATA / file)
    return failures


def step(model: torch.nn.Module, name: str) -> list[torch.Tensor]:
    outputs = torch_models.tensors_of(model(*torch_models.inputs(name)))
    sum(output.float().sum() for output in outputs if output.requires_grad).backward()
    return [*outputs, *(parameter.grad for parameter in model.parameters() if parameter.grad is not None), *model.buffers()]


def check_results_unchanged(c: CaptureChecker) -> list[str]:
    failures = []
    settings = [{"level": level} for level in ("L0", "L1", "mix")] + [
        {"level": "mix", "task": "tensor"}, {"level": "mix", "summary_mode": "md5", "risk_level": "ALL"},
        {"level": "mix", "task": "structure"}, {"level": "L1", "task": "nan_check"}, {"level": "mix", "summary_mode": "xor"}]
    for name in ("decoder", "conv", "experts", "recurrent"):
        for each in settings:
            model = torch_models.make(name)
            watched, found = copy.deepcopy(model), []
            plain = step(model, name)
            c.record(lambda: found.extend(step(watched, name)), watched, **each)
            if len(plain) != len(found) or not all(torch.equal(a, b) for a, b in zip(plain, found)):
                failures.append(f"{name} {each}: other results")
    model = torch_models.make("decoder")
    plain, found = torch_models.generate(model, [1, 2, 3], 4), []
    c.record(lambda: found.extend(torch_models.generate(model, [1, 2, 3], 4)), model, level="mix")
    return failures + ([] if plain == found else ["generate: other tokens"])


def check_planted_fault(c: CaptureChecker) -> list[str]:
    """Two runs of which one has a fault: `assay compare` names the call that it came in by."""
    outs = []
    for scale in (1.0, 1.05):
        model = torch_models.make("decoder")
        with torch.no_grad():
            model.layers[1].up_proj.weight.mul_(scale)
        outs.append(c.rank(c.record(lambda: step(model, "decoder"), model, level="L0", task="tensor", data_mode=["forward"])))
    done = c.start(["compare", str(outs[1]), str(outs[0])], c.folder("compare"))
    wanted = "Module.layers.1.up_proj.Linear.forward.0"
    return [] if done.returncode == 1 and wanted in done.stdout else [f"exit {done.returncode}: {done.stdout[-600:]}"]


CHECKS = {"variables": check_fixture_of_variables, "results unchanged": check_results_unchanged,
          "planted fault": check_planted_fault, **CALL_CHECKS, **JOURNAL_CHECKS}
if IS_2:
    CHECKS["fixtures of torch 2"] = check_fixtures_of_2
else:
    CHECKS.update({"fixture mix md5": check_fixture_mix_md5, "fixture L0 tensor": check_fixture_l0_tensor})


def check_all(c: CaptureChecker) -> None:
    torch.set_num_threads(1)
    os.environ["ASSAY_LIBRARY"] = str(c.program.parent)
    c.report_each(CHECKS)


if __name__ == "__main__":
    sys.exit(run_checks(__doc__, CaptureChecker, check_all))
