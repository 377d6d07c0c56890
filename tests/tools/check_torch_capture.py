#!/usr/bin/python3
"""The Python package: what the hooks of msit_llm record of real models, what else its names do, and the pages that describe them.

    check_torch_capture.py --bin build/release [--only NAME] [--keep FOLDER]

Runs with whatever PyTorch the Python at hand has; bytes are compared with the original's dumps (tests/data/capture) under 1.13, with
which these were made.
"""
from __future__ import annotations

import contextlib
import copy
import csv
import io
import json
import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = ROOT / "tests" / "data" / "capture"
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "python" / "compat")]
sys.dont_write_bytecode = True

import torch  # noqa: E402

import torch_models  # noqa: E402
from checker import Checker, run_checks, tail  # noqa: E402
from torch_capture_calls import CALL_CHECKS  # noqa: E402
from torch_capture_context import CONTEXT_CHECKS  # noqa: E402
from torch_capture_program import PROGRAM_CHECKS  # noqa: E402
from torch_capture_wheel import WHEEL_CHECKS  # noqa: E402

IS_TORCH_1 = torch.__version__.startswith("1.13")


class TorchChecker(Checker):
    def record(self, model: torch.nn.Module, run, **settings) -> pathlib.Path:
        """Runs `run(model)` under the hooks; the folder of the rank."""
        from msit_llm import DumpConfig, register_hook, unregister

        folder = self.folder("dump")
        register_hook(model, DumpConfig(dump_path=str(folder), **settings))
        try:
            run(model)
        finally:
            unregister()
        (rank,) = folder.glob("msit_dump_*/torch_tensors/*")
        return rank

    def compare(self, mine: pathlib.Path, golden: pathlib.Path, *flags: str) -> tuple[int, str]:
        done = self.start(["compare", str(mine), str(golden), *flags], self.folder("compare"))
        return done.returncode, done.stdout


def files_below(root: pathlib.Path) -> dict[str, pathlib.Path]:
    return {str(path.relative_to(root)): path for path in sorted(root.rglob("*")) if path.is_file()}


def numbers_of(table: pathlib.Path) -> list[list]:
    """A table with its numbers as numbers, to the digits that PyTorch's versions agree on."""
    def cell(text: str):
        try:
            return float(f"{float(text):.5g}")
        except ValueError:
            return text

    with table.open(newline="") as text:
        return [[cell(each) for each in row] for row in csv.reader(text)]


def tree_differences(got: pathlib.Path, wanted: pathlib.Path) -> list[str]:
    mine, theirs = files_below(got), files_below(wanted)
    failures = [f"{name}: only in one" for name in sorted(set(mine) ^ set(theirs))]
    for name in sorted(set(mine) & set(theirs)):
        if mine[name].read_bytes() == theirs[name].read_bytes():
            continue
        if not IS_TORCH_1 and name.endswith(".csv") and numbers_of(mine[name])[1:] and \
                [row[:6] for row in numbers_of(mine[name])] == [row[:6] for row in numbers_of(theirs[name])]:
            continue  # other versions add in another order
        failures.append(f"{name}: other bytes")
    return failures


def replay(module: torch.nn.Module, result) -> None:
    module.forward = lambda *args, **kwargs: result


def check_fixture_of_hooks(c: TorchChecker) -> list[str]:
    (theirs,) = (DATA / "msit_torch_hook").glob("*/torch_tensors/*")
    attention = "root.layers.0.attn"
    model = torch_models.make("tiny")
    attn = model.layers[0].attn
    with torch.no_grad():
        for name, parameter in attn.named_parameters():
            parameter.copy_(torch.load(theirs / "weights" / f"{attention}.{name}.pth"))
    replay(model.layers[0].norm, torch.load(theirs / "0" / attention / "input_0.pth"))
    if not IS_TORCH_1:  # the sums of a product differ in their last digits
        results = {part: torch.load(theirs / "0" / f"{attention}.{part}" / "output.pth") for part in "qkvo"}
        inner = torch.load(theirs / "0" / f"{attention}.o" / "input_0.pth")
        weights = torch.load(theirs / "0" / attention / "output_1.pth")
        for part in "qkvo":
            replay(getattr(attn, part), results[part])
        attn.forward = lambda x: ([attn.q(x), attn.k(x), attn.v(x)], (attn.o(inner), weights))[1]

    def run(model):
        with torch.no_grad():
            model(*torch_models.inputs("tiny"))

    got = c.record(model, run, dump_statistics_mode=2, layer_name="root.layers.0.attn*", dump_weight=True)
    return tree_differences(got, theirs)


def check_fixture_of_logits(c: TorchChecker) -> list[str]:
    (theirs,) = (DATA / "msit_torch_logits").glob("*/torch_tensors/*")
    model = torch_models.make("tiny")
    outputs = iter([torch.load(theirs / token / "root.lm_head" / "output.pth") for token in "01"])
    model.lm_head.forward = lambda x: next(outputs)

    def run(model):
        with torch.no_grad():
            for _ in range(2):
                model(*torch_models.inputs("tiny"))

    return tree_differences(c.record(model, run, dump_last_logits=True, token_range=[0, 1]), theirs)


def step(model: torch.nn.Module, name: str) -> list[torch.Tensor]:
    """One step of training: outputs, gradients, buffers."""
    outputs = torch_models.tensors_of(model(*torch_models.inputs(name)))
    sum(output.float().sum() for output in outputs if output.requires_grad).backward()
    return [*outputs, *(parameter.grad for parameter in model.parameters() if parameter.grad is not None), *model.buffers()]


def check_results_unchanged(c: TorchChecker) -> list[str]:
    failures = []
    for name in ("decoder", "conv", "experts", "recurrent"):
        for settings in ({}, {"mode": ["module", "api"], "dump_statistics_mode": 2, "analyze": True, "dump_weight": True},
                         {"dump_last_logits": True}):
            model = torch_models.make(name)
            watched, found = copy.deepcopy(model), []
            plain = step(model, name)
            c.record(watched, lambda m: found.extend(step(m, name)), **settings)
            if len(plain) != len(found) or not all(torch.equal(a, b) for a, b in zip(plain, found)):
                failures.append(f"{name} {settings}: other results under the hooks")
    return failures


def check_everything_is_kept(c: TorchChecker) -> list[str]:
    """Against hooks of PyTorch alone, that remember what they see."""
    failures = []
    for name, wanted in (("decoder", {"root.layers.0.self_attn/kwargs.attention_mask", "root/result.logits",
                                      "root/result.caches_0_1", "root.layers.1.self_attn/output_1_0"}),
                         ("conv", {"root/result.features", "root.act.call_0/output", "root.act/output"}),
                         ("recurrent", {f"root.cell.call_{n}/input_1" for n in range(4)}),
                         ("experts", {"root.router/output", "root/output_1_1"})):
        model, seen = torch_models.make(name), {}
        names = {id(module): "root" + ("." + path if path else "") for path, module in model.named_modules()}

        def remember(module, args, output):
            seen.setdefault(names[id(module)], []).append(([each.clone() for each in args if isinstance(each, torch.Tensor)],
                                                           [each.detach().clone() for each in torch_models.tensors_of(output)]))

        handles = [module.register_forward_hook(remember) for module in model.modules()]
        rank = c.record(model, lambda m: m(*torch_models.inputs(name)))
        for handle in handles:
            handle.remove()
        found = {name[2:-4]: path for name, path in files_below(rank).items() if name.startswith("0/")}
        failures += [f"{name}: {each} is missing" for each in sorted(wanted - set(found))]
        for module, calls in seen.items():
            for number, (_, outputs) in enumerate(calls):
                folder = module if number == len(calls) - 1 else f"{module}.call_{number}"
                kept = [torch.load(path) for place, path in found.items()
                        if place.rpartition("/")[0] == folder and place.rpartition("/")[2].startswith(("output", "result"))]
                lost = [each for each in outputs if not any(torch.equal(each, other) for other in kept)]
                if lost or len(kept) != len(outputs):
                    failures.append(f"{name}: {folder} has {len(kept)} results of {len(outputs)}, {len(lost)} of other values")
    return failures


def check_planted_fault(c: TorchChecker) -> list[str]:
    failures = []
    for settings in ({"token_range": [0, 1, 2]}, {"token_range": [0, 1], "dump_statistics_mode": 1},
                     {"token_range": [0], "mode": ["module", "api"]}):
        def run(model):
            torch_models.generate(model, [3, 1, 4, 1, 5], 3)

        good, same, bad = (torch_models.make("decoder") for _ in range(3))
        with torch.no_grad():
            bad.layers[1].up_proj.weight[3] *= 1.5
        golden, again, mine = (c.record(model, run, **settings) for model in (good, same, bad))
        code, text = c.compare(again, golden)
        if code != 0 or ("dump_statistics_mode" in settings) != ("statistics" in text):
            failures.append(f"{settings}: the same model twice ends with {code}: {tail(text)}")
        code, text = c.compare(mine, golden)
        first = next((line for line in text.split("\n") if line.startswith("First divergence")), "")
        if code != 1 or "root.layers.1.up_proj/output" not in first:
            failures.append(f"{settings}: the fault in root.layers.1.up_proj is not found: {code}, {first or tail(text)}")
        if "root.layers.1.up_proj" not in "".join(line for line in text.split("\n") if "rigin" in line):
            failures.append(f"{settings}: no origin is named: {tail(text, 12)}")
    return failures


def check_odd_tensors(c: TorchChecker) -> list[str]:
    """Views, empty ones, other types, and what the native writer leaves to torch."""
    class Odd(torch.nn.Module):
        def forward(self, x):
            return (x.t(), x[1:, ::2], x[0, 0], x[:0], x.expand(2, *x.shape), x.to(torch.bfloat16), x.half(), x > 0,
                    torch.complex(x, x).conj(), x.to(torch.int8), x.to_sparse(), None, 3, "text", x.double()[None, None, None])

    model, x, results = Odd(), torch.arange(12.0).view(3, 4) - 5, []
    messages = io.StringIO()
    with contextlib.redirect_stderr(messages):
        rank = c.record(model, lambda m: results.append(m(x)))
    failures = []
    for place, wanted in enumerate(results[0]):
        path = rank / "0" / "root" / f"output_{place}.pth"
        if not isinstance(wanted, torch.Tensor):
            failures += [f"output_{place} should not exist"] if path.exists() else []
            continue
        if not path.exists():
            failures.append(f"output_{place} ({wanted.dtype}) is missing")
            continue
        got = torch.load(path)
        same = got.dtype == wanted.dtype and got.shape == wanted.shape and \
            torch.equal(got.to_dense() if got.is_sparse else got, wanted.to_dense() if wanted.is_sparse else wanted)
        if not same:
            failures.append(f"output_{place} ({wanted.dtype}): {got} is not {wanted}")
    code, text = c.compare(rank, rank)
    if code not in (0, 2) or "FAIL" in text:
        failures.append(f"compared with itself: {code}: {tail(text)}")
    return failures


def check_unregister(c: TorchChecker) -> list[str]:
    functions = torch.matmul, torch.nn.functional.gelu, torch.nn.Module.__call__
    model = torch_models.make("conv")
    rank = c.record(model, lambda m: m(*torch_models.inputs("conv")), mode=["module", "api"])
    before = files_below(rank)
    model(*torch_models.inputs("conv"))
    failures = [] if files_below(rank).keys() == before.keys() else ["it goes on recording"]
    if functions != (torch.matmul, torch.nn.functional.gelu, torch.nn.Module.__call__):
        failures.append("functions of torch are still wrapped")
    if any(module._forward_hooks or module._forward_pre_hooks for module in model.modules()):
        failures.append("hooks are still there")
    if not any("root.gelu" in name for name in before):
        failures.append("the function gelu was not recorded")
    tally = json.loads(next(rank.parents[1].glob("capture.json")).read_text())
    if any(process.get("lost") for process in tally.values()):
        failures.append(f"something was lost: {tally}")
    return failures


def check_what_goes_wrong(c: TorchChecker) -> list[str]:
    """A module that raises, a result that cannot be looked at, a copy of the model: the program goes on as it would."""
    class Unreadable(dict):
        def __iter__(self):
            raise RuntimeError("not for you")

    class Fragile(torch.nn.Module):
        def forward(self, x):
            if x.shape[0] == 3:
                raise ValueError("three")
            return Unreadable(x=torch.matmul(x, x.t()))

    class Outer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner, self.after = Fragile(), torch.nn.Identity()

        def forward(self, x):
            self.inner(x)
            return self.after(torch.softmax(x, -1))

    model, failures = Outer(), []

    def run(model):
        try:
            model(torch.ones(3, 2))
            failures.append("the module did not raise")
        except ValueError:
            pass
        model(torch.ones(2, 2))
        copy.deepcopy(model)(torch.ones(2, 2))
        if torch.__version__ >= "2":
            with torch.inference_mode(), torch.autocast("cpu"):
                model(torch.ones(2, 2))

    rank = c.record(model, run, token_range=[0, 1, 2], mode=["module", "api"])
    found = set(files_below(rank))
    wanted = {"1/root.inner/input_0.pth", "1/root.inner.matmul/output.pth", "1/root.softmax/output.pth", "1/root.after/output.pth",
              "1/root/output.pth"}
    failures += [f"{name} is missing" for name in sorted(wanted - found)]
    failures += [f"{name} should not be there" for name in sorted(found) if "inner.softmax" in name or "inner.after" in name]
    return failures


def check_compiled(c: TorchChecker) -> list[str]:
    """torch.compile breaks its graph at the hooks: the same results, and the same files as without."""
    model, results = torch_models.make("tiny").eval(), []
    plain = c.record(model, lambda m: results.append(m(*torch_models.inputs("tiny"))))
    compiled = c.record(model, lambda m: results.append(torch.compile(m, backend="eager")(*torch_models.inputs("tiny"))))
    failures = [] if torch.equal(*results) else ["other results"]
    return failures + tree_differences(compiled, plain)


CHECKS = {"fixture hooks": check_fixture_of_hooks, "fixture logits": check_fixture_of_logits,
          "results unchanged": check_results_unchanged, "everything is kept": check_everything_is_kept,
          "planted fault": check_planted_fault, "odd tensors": check_odd_tensors, "unregister": check_unregister,
          "what goes wrong": check_what_goes_wrong,
          **CALL_CHECKS, **CONTEXT_CHECKS, **PROGRAM_CHECKS,
          **WHEEL_CHECKS}
if hasattr(torch, "compile"):
    from torch_capture_fx import FX_CHECKS

    CHECKS.update({"compiled": check_compiled, **FX_CHECKS})


def check_all(c: TorchChecker) -> None:
    torch.set_num_threads(1)
    os.environ["ASSAY_LIBRARY"] = str(c.program.parent)
    c.report_each(CHECKS)


if __name__ == "__main__":
    sys.exit(run_checks(__doc__, TorchChecker, check_all))
