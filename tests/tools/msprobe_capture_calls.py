"""PrecisionDebugger's calls and config.json, and what stands in the dump of odd values."""
from __future__ import annotations

import collections
import dataclasses
import doctest
import importlib
import json
import os
import pathlib
import subprocess
import sys
import time

import torch

import torch_models

ROOT = pathlib.Path(__file__).resolve().parents[2]
IS_2 = torch.__version__ >= "2"


def run_decoder(model):
    return lambda: model(*torch_models.inputs("decoder")).logits.sum().backward()


def names_with(c, **config) -> list[str]:
    model = torch_models.make("decoder")
    return list(c.entries(c.record(run_decoder(model), model, **config)))


def check_choices(c) -> list[str]:
    """scope, list, data_mode, risk_level: what the original keeps of the same model."""
    failures = []
    first, last = "Module.layers.0.self_attn.Attention.forward.0", "Module.layers.1.input_layernorm.LayerNorm.forward.0"
    found = [name for name in names_with(c, level="L0", scope=[first, last]) if ".forward." in name]
    if found[:2] != ["Module.layers.0.self_attn.q_proj.Linear.forward.0", "Module.layers.0.self_attn.k_proj.Linear.forward.0"] \
            or found[-1] != last or any("layers.1.self" in name or "embed" in name for name in found):
        failures.append(f"scope L0: {found}")
    found = names_with(c, level="L1", scope=["Functional.linear.1.forward", "Torch.matmul.1.forward"])
    if found[0] != "Functional.linear.1.forward" or found[-1] != "Torch.matmul.1.forward" or any("backward" in n for n in found):
        failures.append(f"scope L1: {found}")
    found = names_with(c, level="L1", list=["matmul", "softmax"])
    if not found or any("matmul" not in name and "softmax" not in name for name in found):
        failures.append(f"list: {found}")
    found = names_with(c, level="mix", list=["self_attn"], data_mode=["forward"])
    if not any(name.startswith("Torch.matmul.0") for name in found) or any("silu" in name for name in found):
        failures.append(f"list of a module in mix: {found}")
    if any("backward" in name or "grad" in name for name in names_with(c, level="mix", data_mode=["forward"])):
        failures.append("data_mode forward: gradients")
    everything, focus, core = (set(names_with(c, level="L1", risk_level=level)) for level in ("ALL", "FOCUS", "CORE"))
    if not core < focus < everything or "Tensor.transpose.0.forward" not in everything - focus:
        failures.append(f"risk_level: {len(core)}, {len(focus)}, {len(everything)} entries")
    model = torch_models.make("decoder")
    (entry, *_) = c.entries(c.record(run_decoder(model), model, level="L0", slice=[{"dim": 1, "begin": 1, "end": 3}])).values()
    if entry["output"][0]["shape"] != [1, 2, 16] or entry["parameters"]["weight"]["shape"] != [32, 2]:
        failures.append(f"slice: {entry['output'][0]['shape']}")
    out = c.record(run_decoder(model), model, level="L1", tensor_list=["matmul.0"], extra_info=False)
    files = sorted(os.listdir(c.rank(out) / "dump_tensor_data"))
    if not files or any("matmul.0" not in name for name in files) or (c.rank(out) / "stack.json").exists():
        failures.append(f"tensor_list, extra_info: {files}")
    return failures


def check_steps(c) -> list[str]:
    from assay.msprobe.debugger import PrecisionDebugger, forget

    model, failures = torch_models.make("decoder"), []
    out = c.record(run_decoder(model), model, steps=5, level="L1", step=[1, "3-4"])
    if sorted(os.listdir(out)) != ["step1", "step3", "step4"] or list(c.entries(out, 1)) != list(c.entries(out, 4)):
        failures.append(f"step: {sorted(os.listdir(out))}")
    out = c.record(lambda: torch_models.generate(model, [1, 2], 4), model, level="L0", start={"token_range": [1, 2]})
    heads = [name for name in c.entries(out) if "lm_head" in name]
    if heads != ["Module.lm_head.Linear.forward.0", "Module.lm_head.Linear.forward.1"]:
        failures.append(f"token_range: {heads}")
    forget()
    folder = c.folder("twice")
    debugger = PrecisionDebugger(dump_path=str(folder), task="statistics", level="L1")
    PrecisionDebugger.set_init_step(7)
    for _ in range(2):  # twice in one step: one dump
        debugger.start()
        torch.ones(2).sum()
        debugger.stop()
    torch.ones(3).sum()
    debugger.start(rank_id=3)
    torch.matmul(torch.ones(2, 2), torch.ones(2, 2))
    debugger.stop()
    debugger.step()
    forget()
    (path,) = folder.glob("step7/*/dump.json")
    if list(json.loads(path.read_text())["data"]) != ["Tensor.sum.0.forward", "Tensor.sum.1.forward", "Torch.matmul.0.forward"]:
        failures.append(f"several starts: {path.read_text()[:300]}")
    return failures


def check_refusals(c) -> list[str]:
    """What is not served is refused by its name, in one line; wrong values too."""
    from assay.msprobe.config import MsprobeException
    from assay.msprobe.debugger import PrecisionDebugger, forget

    failures = []
    wrong = [({"task": "acc_check"}, "acc_check"), ({"level": "L2", "task": "tensor"}, "L2"), ({"task": "other"}, "other"),
             ({"dump_path": None}, "dump_path"), ({"step": ["3-x"]}, "3-x"), ({"rank": 3}, "rank"), ({"load": {}}, "load"),
             ({"tensor": {"bench_path": "x"}, "task": "tensor"}, "bench_path"), ({"risk_level": "NONE"}, "risk_level"),
             ({"statistics": {"data_mode": ["all", "input"]}}, "data_mode"), ({"statistics": {"scope": ["a"]}}, "scope"),
             ({"statistics": {"slice": [{"dim": -1}]}}, "slice"), ({"statistics": {"summary_mode": "sha"}}, "summary_mode"),
             ({"async_dump": True, "task": "tensor"}, "list"), ({"precision": "mid"}, "precision"), ({"extra_info": 3}, "extra_info")]
    for content, word in wrong:
        path = c.folder("wrong") / "config.json"
        path.write_text(json.dumps({"dump_path": str(path.parent / "out"), **content}))
        forget()
        try:
            PrecisionDebugger(config_path=str(path))
            failures.append(f"{content}: taken")
        except MsprobeException as refused:
            if word not in str(refused) or "\n" in str(refused):
                failures.append(f"{content}: {refused}")
    forget()
    import msprobe.pytorch

    for name in ("TrainerMon", "nothing"):
        try:
            getattr(msprobe.pytorch, name)
            failures.append(f"{name}: there")
        except ImportError as refused:
            if name not in str(refused) or "PrecisionDebugger" not in str(refused):
                failures.append(f"{name}: {refused}")
    return failures


def snapshot() -> dict:
    places = [torch.Tensor, torch, torch.nn.functional, torch.linalg, torch.fft, torch.nn.utils, torch.distributed]
    return {(id(place), name): id(value) for place in places for name, value in vars(place).items()}


def check_restored(c) -> list[str]:
    model = torch_models.make("decoder")
    hooks = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks")
    before = snapshot()
    c.record(run_decoder(model), model, level="mix")
    left = [name for (_, name), value in snapshot().items() if before.get((_, name)) not in (value, None)]
    left += [name for (_, name) in set(snapshot()) ^ set(before) if not name.startswith("_")]
    return [f"not as before: {sorted(left)}"] * bool(left) + [
        f"{name}: {hook} left" for name, module in model.named_modules() for hook in hooks if getattr(module, hook)]


@dataclasses.dataclass
class Result:
    value: torch.Tensor
    rest: object


class Strange(torch.nn.Module):
    def forward(self, x, *more, **named):
        pair = collections.namedtuple("Pair", "left right")(x, None)
        return Result(x * 2, {"pair": pair, 3: [(x,), "text", 2.5, True, slice(1, 2), ...], "of": more})


class Outer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Strange()

    def forward(self, x):
        self.inner(x, torch.zeros(0, 2), torch.tensor(3), 1j, torch.tensor([1 + 2j]), flag=None, dtype=torch.float16,
                   device="cpu", size=torch.Size([1, 2]), sparse=torch.eye(2).to_sparse(), view=x.t()[:, :1],
                   quantized=torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.qint8), meta=torch.empty(2, device="meta"),
                   **({"tiny": torch.ones(2).to(torch.float8_e4m3fn)} if hasattr(torch, "float8_e4m3fn") else {}))
        x.add_(1)
        return self.inner(x)


def check_odd_values(c) -> list[str]:
    """Each has its line, as the original's where that has one; `complete` says more."""
    from assay.msprobe.recorder import Recorder, Settings

    found = {}
    for complete in (False, True):
        model, folder = Outer(), c.folder("odd")
        recorder = Recorder(Settings(level="L0", complete=complete))
        recorder.attach(model)
        recorder.begin(str(folder))
        with torch.no_grad():
            model(torch.arange(6, dtype=torch.float32).view(2, 3))
        recorder.end()
        recorder.detach()
        found[complete] = json.loads((folder / "dump.json").read_text())["data"]
    failures = []

    def expect(what, value, wanted):
        if value != wanted:
            failures.append(f"{what}: {value!r}, expected {wanted!r}")

    plain, whole = (each["Module.inner.Strange.forward.0"] for each in (found[False], found[True]))
    (output,) = plain["output"]
    expect("a dataclass", list(output), ["value", "rest"])
    expect("a key that is a number", list(output["rest"]), ["pair", "3", "of"])
    expect("a named tuple", list(output["rest"]["pair"]), ["left", "right"])
    expect("a text, a slice, ...", output["rest"]["3"][1:],
           [{"type": "str", "value": "text"}, {"type": "float", "value": 2.5}, {"type": "bool", "value": True},
            {"type": "slice", "value": [1, 2, None]}, {"type": "ellipsis", "value": "..."}])
    arguments = plain["input_args"]
    expect("empty", arguments[1]["Max"], None)
    expect("0-d", [arguments[2][key] for key in ("shape", "Max", "Mean")], [[], 3, 3])
    expect("complex", [arguments[3], whole["input_args"][3]], [None, {"type": "complex", "value": "1j"}])
    expect("complex tensor", round(arguments[4]["Max"], 5), 2.23607)
    if IS_2:
        named = plain["input_kwargs"]
        expect("dtype", named["dtype"], {"type": "torch.dtype", "value": "torch.float16"})
        expect("device", named["device"], {"type": "torch.device", "value": "cpu"})
        expect("size", named["size"], {"type": "torch.Size", "value": [1, 2]})
        expect("view", [named["view"]["shape"], named["view"]["Max"]], [[3, 1], 2.0])
        for name in ("sparse", "quantized", "meta"):
            expect(name, [named[name]["type"], named[name]["Max"], "layout" in whole["input_kwargs"][name]], ["torch.Tensor", None, True])
        if "tiny" in named:
            expect("fp8", [named["tiny"]["Max"], whole["input_kwargs"]["tiny"]["Max"]], [None, 1.0])
    expect("changed in place", found[False]["Module.inner.Strange.forward.1"]["input_args"][0]["Max"], 6.0)
    return failures


def check_own_calls(c) -> list[str]:
    """module_dump, register_custom_api, restore_custom_api, nan_check."""
    from assay.msprobe.debugger import PrecisionDebugger, forget
    from msprobe.pytorch import module_dump, module_dump_end

    class Operators:
        @staticmethod
        def twice(x):
            return x * 2

    failures, model, folder = [], torch_models.make("conv"), c.folder("own")
    forget()
    debugger = PrecisionDebugger(dump_path=str(folder), task="statistics", level="L1")
    debugger.register_custom_api(Operators, "twice", "Mine")
    debugger.start()
    Operators.twice(torch.ones(2))
    module_dump(model, "net")
    model(*torch_models.inputs("conv"))
    module_dump_end()
    debugger.restore_custom_api(Operators, "twice")
    Operators.twice(torch.ones(2))
    debugger.stop()
    debugger.step()
    forget()
    (path,) = folder.glob("step0/*/dump.json")
    found = list(json.loads(path.read_text())["data"])
    wanted = ["Mine.twice.0.forward", f"Module.net.{type(model).__name__}.forward.0", "Tensor.__mul__.0.forward"]
    if [name for name in found if "Module.net" in name or name in wanted] != wanted or len(found) != 3:
        failures.append(f"own calls: {found}")
    out = c.record(lambda: torch.div(torch.ones(2), torch.tensor([0.0, 1.0])) + 1 - torch.ones(2).sum(), level="L1", task="nan_check")
    found = {name: entry["is_nan"] for name, entry in c.entries(out).items()}
    if found.get("Torch.div.0.forward") != 1 or found.get("Tensor.sum.0.forward") != 0:
        failures.append(f"nan_check: {found}")
    return failures


def check_config_changes(c) -> list[str]:
    """dump_enable: the file is read again while it runs."""
    from assay.msprobe import debugger as module

    module.forget()
    folder = c.folder("dynamic")
    path = folder / "config.json"

    def write(text):
        path.write_text(text)
        os.utime(path, ns=(time.time_ns(), time.time_ns()))

    def config(**more):
        return json.dumps({"dump_path": str(folder / "out"), "task": "statistics", "level": "L1", **more})

    def step():
        debugger.start(model)
        model(*torch_models.inputs("decoder"))
        debugger.stop()
        debugger.step()

    model = torch_models.make("decoder")
    kept, module._SECONDS_BETWEEN_LOOKS = module._SECONDS_BETWEEN_LOOKS, {True: 0.0, False: 0.0}
    try:
        write(config(dump_enable=False))
        debugger = module.PrecisionDebugger(config_path=str(path))
        step()
        write(config(dump_enable=True))
        step()
        write(config(level="L0"))  # without the key: as before
        step()
        write("{")
        step()
        write(config(dump_enable=True, level="mix"))
        step()
    finally:
        module.forget()
        module._SECONDS_BETWEEN_LOOKS = kept
    kinds = {int(at.name[4:]): {name.split(".")[0] for entries in at.glob("*/dump.json") for name in json.loads(entries.read_text())["data"]}
             for at in (folder / "out").iterdir()}
    if sorted(kinds) != [1, 2, 4] or "Module" in kinds[1] or kinds[2] != {"Module"} or not {"Module", "Functional"} <= kinds[4]:
        return [f"{kinds}"]
    return []


GLOO = """
import os, sys
sys.path[:0] = [{python!r}, {compat!r}, {tools!r}]
import torch, torch.distributed as dist
from msprobe.pytorch import PrecisionDebugger
debugger = PrecisionDebugger(dump_path={out!r}, task="statistics", level="L1")
rank = int(sys.argv[1])
late = {late}
if late:
    debugger.start()
dist.init_process_group("gloo", init_method="file://" + {store!r}, rank=rank, world_size=2)
if not late:
    debugger.start()
x = torch.full((4,), float(rank + 1))
dist.all_reduce(x)
work = dist.all_reduce(x, async_op=True)
work.wait()
parts = [torch.zeros(4), torch.zeros(4)]
dist.all_gather(parts, torch.full((4,), float(rank)))
assert x[0] == 6 and parts[1][0] == 1
debugger.stop()
debugger.step()
dist.destroy_process_group()
"""


def check_ranks(c) -> list[str]:
    failures = []
    for late in (False, True):
        folder = c.folder("ranks")
        code = GLOO.format(python=str(ROOT / "python"), compat=str(ROOT / "python" / "compat"), tools=str(ROOT / "tests" / "tools"),
                           out=str(folder / "out"), store=str(folder / "store"), late=late)
        runs = [subprocess.Popen([sys.executable, "-c", code, str(rank)], env=dict(os.environ), stderr=subprocess.PIPE, text=True)
                for rank in range(2)]
        told = [run.communicate(timeout=120)[1] for run in runs]
        if any(run.returncode for run in runs):
            return [text[-400:] for text in told]
        if sorted(os.listdir(folder / "out" / "step0")) != ["rank0", "rank1"]:
            failures.append(f"folders: {sorted(os.listdir(folder / 'out' / 'step0'))}")
            continue
        data = json.loads((folder / "out" / "step0" / "rank1" / "dump.json").read_text())["data"]
        sums = [data[f"Distributed.all_reduce.{n}.forward"] for n in range(2)]
        values = [[entry["input_args"][0]["Max"], entry["output"][0]["Max"]] for entry in sums]
        if values != [[2.0, 3.0], [3.0, 6.0]] or data["Distributed.all_gather.0.forward"]["input_args"][0] is not None:
            failures.append(f"collective calls: {values}")
    return failures


def check_forks(c) -> list[str]:
    """A forked child, as a worker that loads data, writes into no dump."""
    def run():
        torch.ones(2).sum()
        child = os.fork()
        if child == 0:
            torch.ones(3).prod()
            os._exit(0)
        os.waitpid(child, 0)
        torch.ones(2).mean()

    found = list(c.entries(c.record(run, level="L1")))
    return [] if found == ["Tensor.sum.0.forward", "Tensor.mean.0.forward"] else [f"{found}"]


def check_around(c) -> list[str]:
    """no_grad, inference_mode, autocast, transforms, scripts, traces; what raises; a thread of one's own."""
    import threading

    def both(x):
        return torch.relu(torch.matmul(x, x))

    def run():
        with torch.no_grad():
            both(torch.ones(2, 2))
        with torch.inference_mode(), torch.autocast("cpu", dtype=torch.bfloat16):
            both(torch.ones(2, 2))
        torch.jit.trace(both, (torch.ones(2, 2),), check_trace=False)
        try:
            torch.matmul(torch.ones(2, 3), torch.ones(2, 3))
        except RuntimeError:
            pass
        thread = threading.Thread(target=lambda: both(torch.ones(2, 2)))
        thread.start()
        thread.join()
        if IS_2:
            torch.vmap(both)(torch.ones(2, 2, 2))
            torch.func.grad(lambda x: both(x).sum())(torch.ones(2, 2))

    data = c.entries(c.record(run, level="L1"))
    # The third call is the one that raised: it has no output, and so the next one of its name took its place.
    matmuls = [name for name in data if "matmul" in name and "forward" in name]
    failures = [] if len(matmuls) == (5 if IS_2 else 3) and all("output" in data[name] for name in matmuls) else [f"{list(data)}"]
    if data["Torch.matmul.1.forward"]["output"][0]["dtype"] != "torch.bfloat16":
        failures.append("autocast: not bfloat16")
    if IS_2 and data["Torch.matmul.3.forward"]["input_args"][0]["type"] != "BatchedTensor":
        failures.append(f"vmap: {data['Torch.matmul.3.forward']['input_args'][0]}")
    source = c.folder("script") / "scripted.py"
    source.write_text("import torch\ndef double(x):\n    return torch.nn.functional.gelu(torch.matmul(x, x))\n")
    sys.path.insert(0, str(source.parent))
    module, results = importlib.import_module("scripted"), []
    c.record(lambda: results.append(torch.jit.script(module.double)(torch.ones(2, 2))), level="L1")
    return failures + ([] if torch.equal(results[0], module.double(torch.ones(2, 2))) else ["script: other results"])


def check_compiled(c) -> list[str]:
    """torch.compile breaks its graph at the hooks: the same modules as without."""
    model, results = torch_models.make("tiny").eval(), []

    def names(run):
        return list(c.entries(c.record(lambda: results.append(run(*torch_models.inputs("tiny"))), model, level="L0")))

    plain, compiled = names(model), names(torch.compile(model, backend="eager"))
    return ([] if plain == compiled else [f"{compiled}"]) + ([] if torch.equal(*results) else ["other results"])


def check_examples(c) -> list[str]:
    failures = []
    for name in ("config", "debugger", "journal", "scopes", "seeds", "statistics"):
        from assay.msprobe.debugger import forget

        forget()
        done = doctest.testmod(importlib.import_module(f"assay.msprobe.{name}"))
        failures += [f"assay.msprobe.{name}: {done.failed} examples fail"] * bool(done.failed)
    return failures


def check_cuda_graphs(c) -> list[str]:
    """What is looked at while a CUDA graph is captured would end the capture: nothing is."""
    class Graph:
        def replay(self) -> None:
            pass

        capture_begin = capture_end = replay

    real, x = getattr(torch.cuda, "CUDAGraph", None), torch.ones(2)
    torch.cuda.CUDAGraph = Graph

    def run() -> None:
        torch.add(x, x)
        Graph().capture_begin()
        torch.mul(x, x)
        Graph().capture_end()
        torch.sub(x, x)

    try:
        out = c.record(run, level="L1", risk_level="ALL")
    finally:
        if real is not None:
            torch.cuda.CUDAGraph = real
        else:
            del torch.cuda.CUDAGraph
    names = list(c.entries(out))
    return [] if names == ["Torch.add.0.forward", "Torch.sub.0.forward"] else [f"{names}"]


CALL_CHECKS = {"CUDA graphs": check_cuda_graphs, "choices": check_choices, "steps": check_steps, "refusals": check_refusals, "restored": check_restored,
               "odd values": check_odd_values, "own calls": check_own_calls, "config changes": check_config_changes,
               "ranks": check_ranks, "forks": check_forks, "around": check_around, "examples": check_examples}
if hasattr(torch, "compile"):
    CALL_CHECKS["compiled"] = check_compiled
