"""Checks of check_torch_capture.py: assay.capture, the context manager."""
from __future__ import annotations

import copy
import json
import os
import pathlib
import warnings

import torch

import torch_models
from checker import tail
from torch_capture_calls import python, refused

IS_2 = int(torch.__version__.split(".")[0]) >= 2
MODELS = ("decoder", "conv", "experts", "encoder", "recurrent")


def train(model: torch.nn.Module, name: str) -> list[torch.Tensor]:
    """A step of training: outputs, gradients, buffers."""
    outputs = torch_models.tensors_of(model(*torch_models.inputs(name)))
    sum(output.float().sum() for output in outputs if output.requires_grad).backward()
    return [*outputs, *(parameter.grad for parameter in model.parameters() if parameter.grad is not None), *model.buffers()]


def dump_of(folder: pathlib.Path, step: int = 0) -> dict:
    (path,) = folder.glob(f"step{step}/*/dump.json")
    return json.loads(path.read_text())["data"]


def saved(folder: pathlib.Path, name: str) -> torch.Tensor:
    (path,) = folder.glob(f"step0/*/dump_tensor_data/{name}.pt")
    return torch.load(path)


def check_unchanged(c) -> list[str]:
    import assay

    failures = []
    for name in MODELS:
        for settings in ({}, {"apis": True}, {"stats": True}, {"apis": True, "stats": True, "modules": "*attn*"}):
            model = torch_models.make(name)
            watched = copy.deepcopy(model)
            torch.manual_seed(3)
            plain = train(model, name)
            torch.manual_seed(3)
            folder = c.folder("capture") / "d"
            try:
                with assay.capture(folder, watched, **settings):
                    found = train(watched, name)
            except assay.AssayError as trouble:
                if "no module" not in str(trouble) or "modules" not in settings:
                    raise
                continue
            if len(plain) != len(found) or not all(torch.equal(a, b) for a, b in zip(plain, found)):
                failures.append(f"{name} {settings}: other results")
            if any(module._forward_hooks or module._forward_pre_hooks for module in watched.modules()):
                failures.append(f"{name} {settings}: hooks are left behind")
            if not dump_of(folder):
                failures.append(f"{name} {settings}: nothing is recorded")
    return failures


def check_what_is_kept(c) -> list[str]:
    """Against hooks of PyTorch alone, that remember what they see: every call of every module, the root too."""
    import assay

    failures = []
    for name in MODELS:
        model, seen = torch_models.make(name), {}
        for path, module in model.named_modules():
            full = f"Module.{path or 'root'}.{type(module).__name__}"
            module.register_forward_hook(lambda module, args, output, full=full: seen.setdefault(full, []).append(
                [each.detach().clone() for each in torch_models.tensors_of(output)]))
        folder = c.folder("capture") / "d"
        with assay.capture(folder, model):
            train(model, name)
        data = dump_of(folder)
        for full, calls in seen.items():
            for number, outputs in enumerate(calls):
                entry = data.get(f"{full}.forward.{number}")
                if entry is None:
                    failures.append(f"{name}: {full}.forward.{number} is missing")
                    continue
                files = [each["data_name"][:-3] for each in tensors_in(entry["output"])]
                if len(files) != len(outputs) or not all(torch.equal(saved(folder, file), each)
                                                         for file, each in zip(files, outputs)):
                    failures.append(f"{name}: the results of {full}.forward.{number} are not what {files} hold")
        backward = [each for each in data if ".backward." in each]
        if IS_2 != bool(backward) or not any(".parameters_grad." in each for each in data):
            failures.append(f"{name}: gradients: {backward[:4]}")
    folder = c.folder("capture") / "d"
    model = torch_models.make("decoder")
    with assay.capture(folder, model, stats=True, backward=False, stack=False):
        torch_models.generate(model, [3, 1, 4], 2)
    data = dump_of(folder)
    root = data["Module.root.Decoder.forward.1"]
    if "caches" not in root["input_kwargs"] or set(root["output"][0]) != {"logits", "caches", "loss"} or "Max" not in \
            root["output"][0]["logits"]:
        failures.append(f"kwargs and dataclasses: {json.dumps(root)[:500]}")
    if list(folder.glob("step0/*/stack.json")) or any("backward" in each or "grad" in each for each in data):
        failures.append("more was recorded than asked for")
    return failures


def tensors_in(value) -> list[dict]:
    if isinstance(value, dict):
        return [value] if value.get("type") == "torch.Tensor" else [each for part in value.values() for each in tensors_in(part)]
    return [each for part in value for each in tensors_in(part)] if isinstance(value, list) else []


def check_choices(c) -> list[str]:
    import assay

    failures, folder = [], c.folder("capture") / "d"
    model = torch_models.make("tiny").eval()
    with torch.no_grad(), assay.capture(folder, model, steps=[1, 3], modules=["layers.1.*", "root"], stats=True) as cap:
        for _ in range(3):
            model(*torch_models.inputs("tiny"))
            cap.step()
        if cap.folder is None or not cap.folder.endswith(next(iter(folder.glob("step3/*"))).name):
            failures.append(f"the folder of a step: {cap.folder}")
    if sorted(path.name for path in folder.iterdir()) != ["step1"]:
        failures.append(f"steps: {[str(path) for path in folder.rglob('*')]}")
    names = list(dump_of(folder, 1))
    if not all(name.startswith(("Module.layers.1.", "Module.root.")) for name in names) or len(names) != 10:
        failures.append(f"modules: {names}")
    (before,) = [path.read_bytes() for path in folder.rglob("dump.json")]

    def twice() -> None:
        with assay.capture(folder, model) as cap:
            model(*torch_models.inputs("tiny"))
            cap.step()

    failures += refused(twice, assay.AssayError, "step1", "holds a dump already")
    if [path.read_bytes() for path in folder.glob("step1/*/dump.json")] != [before] or model._forward_hooks:
        failures.append("a dump that was there was touched, or hooks are left")
    failures += refused(lambda: assay.capture(folder), assay.AssayError, "nothing to capture")
    failures += refused(lambda: assay.capture(folder, "model"), assay.AssayError, "expected a torch.nn.Module")
    failures += refused(lambda: assay.capture(folder, model, steps=[-1]), assay.AssayError, "whole numbers")
    failures += refused(lambda: assay.capture(c.folder("x"), model, modules="nothing*").__enter__(), assay.AssayError, "no module")
    folder = c.folder("capture") / "d"
    with assay.capture(folder, apis=True, stats=True):
        torch.softmax(torch.ones(2, 2), -1)
    if list(dump_of(folder)) != ["Torch.softmax.0.forward"]:
        failures.append(f"functions alone: {list(dump_of(folder))}")
    return failures


def check_contexts(c) -> list[str]:
    """Checkpoints, inference mode, autocast, forks, an exception in the middle, wrappers."""
    import assay
    from torch.utils.checkpoint import checkpoint

    class Saving(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.block, self.head = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Tanh()), torch.nn.Linear(4, 2)

        def forward(self, x):
            inside = checkpoint(self.block, x, use_reentrant=False) if IS_2 else checkpoint(self.block, x)
            return self.head(inside)

    failures, folder = [], c.folder("capture") / "d"
    torch.manual_seed(1)
    model, x = Saving(), torch.ones(3, 4, requires_grad=True)
    plain = copy.deepcopy(model)
    plain(x).sum().backward()
    with assay.capture(folder, model, stats=True):
        model(x).sum().backward()
    data = dump_of(folder)
    marked = sorted(name for name, entry in data.items() if entry.get("recomputed"))
    if "Module.block.0.Linear.forward.1" not in marked or "Module.block.0.Linear.forward.0" in marked or \
            any(name.startswith("Module.head") for name in marked):
        failures.append(f"recomputed calls: {marked} of {list(data)}")
    if not all(torch.equal(a.grad, b.grad) for a, b in zip(model.parameters(), plain.parameters())):
        failures.append("other gradients under a checkpoint")
    model = torch_models.make("decoder")
    for context in (torch.inference_mode, lambda: torch.autocast("cpu", torch.bfloat16)):
        folder = c.folder("capture") / "d"
        with context():
            wanted = model(*torch_models.inputs("decoder")).logits
            with assay.capture(folder, model, apis=True):
                got = model(*torch_models.inputs("decoder")).logits
        if not torch.equal(got, wanted) or not torch.equal(saved(folder, "Module.root.Decoder.forward.0.output.0.logits"), got):
            failures.append(f"{context}: other results, or not those in the dump")
    folder = c.folder("capture") / "d"
    try:
        with assay.capture(folder, model, stats=True):
            model(*torch_models.inputs("decoder"))
            raise KeyError("mine")
    except KeyError:
        pass
    if "Module.root.Decoder.forward.0" not in dump_of(folder) or model.embed._forward_hooks:
        failures.append("an exception of the program: the dump is not whole, or hooks are left")
    done = python("import assay, torch, os\nm = torch.nn.Linear(2, 2)\n"
                  "with assay.capture('d', m):\n m(torch.ones(2))\n child = os.fork()\n m(torch.zeros(2))\n"
                  " if not child: os._exit(0)\n os.waitpid(child, 0)\n", folder := c.folder("fork"))
    names = list(dump_of(folder / "d")) if not done.returncode else done.stdout
    if names != ["Module.root.Linear.forward.0", "Module.root.Linear.forward.1"]:
        failures.append(f"a fork: {names}")
    return failures


def check_fault(c) -> list[str]:
    """The whole circle: two variants, one with an operator that computes something else, and the comparison blames that one."""
    import assay

    class Wrong(torch.nn.SiLU):
        def forward(self, x):
            return super().forward(x) * 1.25

    Wrong.__name__ = "SiLU"
    failures = []
    for settings in ({}, {"stats": True}, {"apis": True}):
        good, bad = torch_models.make("decoder"), torch_models.make("decoder")
        bad.layers[1].act = Wrong()
        folders = []
        for model in (good, bad):
            folders.append(c.folder("capture") / "d")
            with assay.capture(folders[-1], model, backward=False, **settings):
                torch_models.generate(model, [3, 1, 4, 1, 5], 2)
        code, text = c.compare(folders[1], folders[0])
        lines = text.split("\n")
        first = next((line for line in lines if line.startswith("First divergence")), "")
        origin = next((line for line in lines if line.startswith("First origin")), "")
        wanted = "Module.layers.1.act.SiLU.forward.0"
        if code != 1 or (wanted not in first and "apis" not in settings) or ("layers.1" not in origin and "apis" not in settings):
            failures.append(f"{settings}: {code}, {first!r}, {origin!r}: {tail(text, 6)}")
        elif "apis" not in settings and wanted not in origin:
            failures.append(f"{settings}: the origin is {origin!r}")
    return failures


def check_unseen(c) -> list[str]:
    """What no hook is told of is told."""
    import assay

    class Graph:
        def replay(self) -> None:
            pass

        capture_begin = capture_end = replay

    failures, real = [], getattr(torch.cuda, "CUDAGraph", None)
    torch.cuda.CUDAGraph = Graph
    try:
        class Scripted(torch.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.inside = torch.jit.script(torch.nn.Linear(2, 2))

            def forward(self, x):
                return self.inside(x)

        model, folder = Scripted(), c.folder("capture") / "d"
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            with assay.capture(folder, model, stats=True):
                model(torch.ones(2))
                Graph().replay()
                Graph().replay()
                Graph().capture_begin()
                model(torch.ones(2))
                Graph().capture_end()
                model(torch.ones(2))
                torch.jit.trace(model, torch.ones(2), check_trace=False)
        if [name for name in dump_of(folder) if "root" in name] != [f"Module.root.Scripted.forward.{n}" for n in range(2)]:
            failures.append(f"around a CUDA graph: {list(dump_of(folder))}")
        text = " ".join(str(each.message) for each in told)
        for word in ("2 replays of CUDA graphs were not seen", "1 CUDA graphs were captured", "calls of modules while torch.jit.trace ran", "1 scripted modules were not seen: inside"):
            failures += [] if word in text else [f"{word!r} is not told: {text}"]
    finally:
        if real is not None:
            torch.cuda.CUDAGraph = real
        else:
            del torch.cuda.CUDAGraph
    if not IS_2:
        return failures
    model = torch_models.make("tiny").eval()
    folder = c.folder("capture") / "d"
    with torch.no_grad():
        wanted = model(*torch_models.inputs("tiny"))
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            with assay.capture(folder, model):
                torch._dynamo.reset()
                got = torch.compile(model, backend="eager")(*torch_models.inputs("tiny"))
                torch.compile(lambda x: x + 1, backend="eager")(torch.ones(1))
    if not torch.equal(wanted, got) or len(dump_of(folder)) != len([each for each in model.modules() if not isinstance(
            each, torch.nn.ModuleList)]):
        failures.append(f"compiled: {list(dump_of(folder))}")
    if not any("<lambda>" in str(each.message) for each in told):
        failures.append(f"a compiled function is not told of: {[str(each.message) for each in told]}")
    return failures


def check_compiled_before(c) -> list[str]:
    """What was compiled and ran before the recording begins is seen, and functions inside compiled modules are."""
    if not IS_2:
        return []
    import assay

    failures, model, given = [], torch_models.make("tiny").eval(), torch_models.inputs("tiny")
    names = {}
    for way, run in (("plain", model), ("module", torch.compile(model, backend="eager")),
                     ("function", torch.compile(lambda *x: model(*x), backend="eager"))):
        for apis in (False, True):
            folder = c.folder("capture") / "d"
            with torch.no_grad():
                run(*given)
                with assay.capture(folder, model, apis=apis, stats=True):
                    for _ in range(2):
                        run(*given)
            # methods and operators of tensors stay within graphs: that is told
            names[way, apis] = [name for name in dump_of(folder) if name.split(".")[0] in ("Module", "Functional")] if any(folder.iterdir()) else []
        torch._dynamo.reset()
    for (way, apis), found in names.items():
        if not found or found != names["plain", apis]:
            failures.append(f"{way}, apis={apis}: {found}, expected {names['plain', apis]}")
    return failures


def check_steps_of_ranks(c) -> list[str]:
    """A rank that leaves a step empty takes its folder away while this one is about to make its own in it."""
    import assay

    model, folder, original, taken = torch.nn.Linear(2, 2), c.folder("capture") / "d", os.mkdir, []

    def mkdir(path, *others) -> None:
        if pathlib.Path(path).parent == folder / "step1" and not taken:
            taken.append((folder / "step1").rmdir())
        original(path, *others)

    with assay.capture(folder, model, stats=True) as cap:
        model(torch.ones(2))
        os.mkdir = mkdir
        try:
            cap.step()
        finally:
            os.mkdir = original
        model(torch.ones(2))
    return [] if taken and dump_of(folder, 1) else [f"{taken}: {list(folder.rglob('*'))}"]


def check_nested(c) -> list[str]:
    """A tensor of several lengths has no shape: its elements are kept, behind each other."""
    import assay

    if not IS_2:
        return []
    model, folder = torch.nn.Identity(), c.folder("capture") / "d"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        given = torch.nested.nested_tensor([torch.ones(2), torch.ones(3)])
        with assay.capture(folder, model):
            model(given)
    found = tensors_in(dump_of(folder)["Module.root.Identity.forward.0"]["input_args"])
    return [] if [(each["shape"], each["Max"]) for each in found] == [([5], 1.0)] else [f"{found}"]


CONTEXT_CHECKS = {"compiled before": check_compiled_before, "capture unchanged": check_unchanged, "capture keeps": check_what_is_kept, "capture choices": check_choices,
                  "capture contexts": check_contexts, "capture fault": check_fault, "capture unseen": check_unseen,
                  "capture steps of ranks": check_steps_of_ranks, "capture nested": check_nested}
