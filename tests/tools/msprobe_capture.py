#!/usr/bin/python3
"""Run a small transformer on the CPU and write what it computed as an msprobe dump: dump.json, stack.json, construct.json
and, for the tensor task, dump_tensor_data/*.pt.

    msprobe_capture.py out/golden
    msprobe_capture.py out/mine --fault scale --at layers.1.fc1
    msprobe_capture.py out/ranks --rank 0 --step 0 --task statistics --level mix

Every run computes the same numbers unless a fault is planted. A fault hits the result of the API that the module named by
--at calls itself, so that it shows at every level.
"""
from __future__ import annotations

import argparse
import collections
import json
import pathlib
import sys
import traceback
import zlib

import torch
import torch.nn.functional as F
from torch.overrides import TorchFunctionMode

# The APIs that are recorded; the rest (shapes, views, flags) would only lengthen the dump.
RECORDED = {"linear", "layer_norm", "softmax", "gelu", "matmul", "mul", "__mul__", "__add__", "add", "pow", "mean"}


class Attention(torch.nn.Module):
    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.qkv = torch.nn.Linear(width, 3 * width)
        self.proj = torch.nn.Linear(width, width)

    def forward(self, x: torch.Tensor, scale: float) -> torch.Tensor:
        batch, length, width = x.shape
        q, k, v = self.qkv(x).view(batch, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4).unbind(0)
        weights = torch.softmax(torch.matmul(q, k.transpose(-1, -2)) * scale, dim=-1)
        return self.proj(torch.matmul(weights, v).transpose(1, 2).reshape(batch, length, width))


class Layer(torch.nn.Module):
    def __init__(self, width: int, heads: int):
        super().__init__()
        self.norm1 = torch.nn.LayerNorm(width)
        self.attention = Attention(width, heads)
        self.norm2 = torch.nn.LayerNorm(width)
        self.fc1 = torch.nn.Linear(width, 4 * width)
        self.act = torch.nn.GELU()
        self.fc2 = torch.nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attention(self.norm1(x), 0.25)
        return x + self.fc2(self.act(self.fc1(self.norm2(x))))


class Model(torch.nn.Module):
    def __init__(self, width: int = 32, heads: int = 4, depth: int = 2):
        super().__init__()
        self.layers = torch.nn.ModuleList(Layer(width, heads) for _ in range(depth))
        self.head = torch.nn.Linear(width, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


def spoil(fault: str, amount: float, function, args, kwargs) -> torch.Tensor:
    """The result of a call with a fault in its values; its place in the graph stays as it is, so that no op is added."""
    result = function(*args, **kwargs)
    values = result.data
    if fault == "scale":
        values.mul_(amount)
    elif fault == "nan":
        values.view(-1)[0] = float("nan")
    elif fault == "noise":  # the same in every run
        values.add_(amount * values.std() * torch.randn(values.shape, generator=torch.Generator().manual_seed(7)))
    else:  # bf16: operands and result are rounded, sums are float32, as accelerators do
        def low(value):
            return value.detach().bfloat16().float() if isinstance(value, torch.Tensor) and value.is_floating_point() else value
        values.copy_(low(function(*map(low, args), **{key: low(value) for key, value in kwargs.items()})))
    return result


FAULTS = ("scale", "bf16", "nan", "noise")


def statistics(tensor: torch.Tensor) -> dict:
    tensor = tensor.detach()
    if tensor.numel() == 0:
        values = [None] * 4
    elif tensor.dtype == torch.bool:
        values = [bool(tensor.any()), bool(tensor.all()), None, None]
    else:
        if not tensor.is_floating_point() or tensor.dtype == torch.float64:
            tensor = tensor.float()
        values = [tensor.item()] * 4 if tensor.dim() == 0 else [
            x.item() for x in (tensor.max(), tensor.min(), tensor.mean(), torch.linalg.norm(tensor.reshape(-1)))]
    return dict(zip(("Max", "Min", "Mean", "Norm"), values))


def crc(tensor: torch.Tensor) -> str:
    return f"{zlib.crc32(tensor.detach().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()):08x}"


class Recorder:
    """What one run dumps. Names of ops and of data files are those of the format."""

    def __init__(self, folder: pathlib.Path, task: str, level: str):
        self.folder, self.task, self.level = folder, task, level
        self.data: dict[str, dict] = {}
        self.stacks: dict[str, list[str]] = {}
        self.parents: dict[str, str | None] = {}
        self.calls: collections.Counter = collections.Counter()
        self.open_modules: list[str] = []  # forward ops that have begun, outermost first
        self.busy = False  # computing statistics, which are no part of the model
        if task == "tensor":
            (folder / "dump_tensor_data").mkdir(parents=True, exist_ok=True)

    def encode(self, value, name: str):
        """A value as dump.json has it; `name` is that of its data file, without suffix."""
        if isinstance(value, torch.Tensor):
            leaf = {"type": "torch.Tensor", "dtype": str(value.dtype), "shape": list(value.shape), **statistics(value),
                    "requires_grad": value.requires_grad}
            if self.task == "md5":
                leaf["md5"] = crc(value)
            if self.task == "tensor":
                leaf["data_name"] = f"{name}.pt"
                torch.save(value.detach().contiguous().clone(), self.folder / "dump_tensor_data" / leaf["data_name"])
            return leaf
        if isinstance(value, torch.Size):
            return {"type": "torch.Size", "value": list(value)}
        if isinstance(value, (list, tuple)):
            return [self.encode(item, f"{name}.{i}") for i, item in enumerate(value)]
        if isinstance(value, dict):
            return {key: self.encode(item, f"{name}.{key}") for key, item in value.items()}
        if isinstance(value, (bool, int, float, str)):
            return {"type": type(value).__name__, "value": value}
        return None

    def record_stack(self, op: str) -> None:
        frames = [frame for frame in reversed(traceback.extract_stack()) if frame.name not in HOOKS]
        self.stacks[op] = [f"File {f.filename}, line {f.lineno}, in {f.name}, \n {f.line}" for f in frames[:6]]

    def record_forward(self, op: str, args, kwargs, output, parameters=None) -> None:
        self.busy = True
        outputs = output if isinstance(output, (list, tuple)) else (output,)
        entry = {"input_args": self.encode(tuple(args), f"{op}.input"), "input_kwargs": self.encode(kwargs, f"{op}.kwargs"),
                 "output": self.encode(tuple(outputs), f"{op}.output")}
        if parameters is not None:
            entry["parameters"] = self.encode(parameters, f"{op}.parameters")
        entry["is_recompute"] = False
        self.data[op] = entry
        self.record_stack(op)
        self.busy = False

    def record_backward(self, op: str, from_above, to_below) -> None:
        self.data[op] = {"input": self.encode(tuple(from_above), f"{op}.input"),
                         "output": self.encode(tuple(to_below), f"{op}.output")}

    def record_gradient(self, op: str, parameter: str, gradient: torch.Tensor) -> None:
        self.data.setdefault(op, {})[parameter] = [self.encode(gradient, f"{op}.{parameter}")]

    def write(self, stack_layout: str) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        dump = {"task": "tensor" if self.task == "tensor" else "statistics", "level": self.level, "framework": "pytorch",
                "dump_data_dir": str(self.folder / "dump_tensor_data") if self.task == "tensor" else None, "data": self.data}
        stacks = self.stacks
        if stack_layout == "new":
            shared: dict[tuple, list[str]] = {}
            for op, lines in self.stacks.items():
                shared.setdefault(tuple(lines), []).append(op)
            stacks = {str(i): [ops, list(lines)] for i, (lines, ops) in enumerate(shared.items())}
        for name, value in (("dump", dump), ("stack", stacks), ("construct", self.parents if self.level != "L1" else {})):
            (self.folder / f"{name}.json").write_text(json.dumps(value, indent=1))


class ApiMode(TorchFunctionMode):
    """Sees every torch call of the model. While one is handled the mode is off, so calls within calls are not seen."""

    def __init__(self, recorder: Recorder, modules: list[str], fault: tuple[str, float] | None, at: str | None):
        super().__init__()
        self.recorder, self.modules, self.fault, self.at = recorder, modules, fault, at
        self.spoiled: str | None = None  # the first op that shows the fault

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = getattr(function, "__name__", "")
        if name not in RECORDED or self.recorder.busy:
            return function(*args, **kwargs)
        hit = self.fault is not None and bool(self.modules) and self.modules[-1] == self.at
        output = spoil(*self.fault, function, args, kwargs) if hit else function(*args, **kwargs)
        op = self.recorder.open_modules[-1] if self.recorder.open_modules else None
        if self.recorder.level != "L0":
            op = self.record(function, name, args, kwargs, output)
        if hit and self.spoiled is None:
            self.spoiled = op
        return output

    def record(self, function, name: str, args, kwargs, output: torch.Tensor) -> str:
        homes = (("Functional", F), ("Torch", torch))
        kind = next((kind for kind, home in homes if getattr(home, name, None) is function), "Tensor")
        recorder = self.recorder
        op = f"{kind}.{name}.{recorder.calls[kind, name]}"
        recorder.calls[kind, name] += 1
        recorder.record_forward(f"{op}.forward", args, kwargs, output)
        recorder.parents[f"{op}.forward"] = recorder.open_modules[-1] if recorder.open_modules else None
        if output.grad_fn is not None:
            def node_hook(to_below, from_above):
                recorder.record_backward(f"{op}.backward", from_above, to_below)
                recorder.parents[f"{op}.backward"] = None
            output.grad_fn.register_hook(node_hook)
        return f"{op}.forward"


def watch_module(recorder: Recorder, modules: list[str], path: str, module: torch.nn.Module) -> None:
    """Hooks that keep track of where the run is and, above level L1, record the module."""
    base = f"Module.{path}.{type(module).__name__}"
    records = recorder.level != "L1"

    def before_hook(_module, _args):
        modules.append(path)
        op = f"{base}.forward.{recorder.calls[base]}"
        if records:
            recorder.parents[op] = recorder.open_modules[-1] if recorder.open_modules else None
            recorder.open_modules.append(op)

    def forward_hook(_module, args, output):
        modules.pop()
        if records:
            recorder.record_forward(recorder.open_modules.pop(), args, {}, output, dict(module.named_parameters(recurse=False)))
        recorder.calls[base] += 1

    def backward_hook(_module, to_below, from_above):
        op = f"{base}.backward.0"
        recorder.record_backward(op, from_above, to_below)
        parent = recorder.parents.get(f"{base}.forward.0")
        recorder.parents[op] = parent and parent.replace(".forward.", ".backward.")

    module.register_forward_pre_hook(before_hook)
    module.register_forward_hook(forward_hook)
    if not records:
        return
    module.register_full_backward_hook(backward_hook)
    for name, parameter in module.named_parameters(recurse=False):
        parameter.register_hook(lambda gradient, name=name: recorder.record_gradient(f"{base}.parameters_grad.0", name, gradient))


# Functions of this file and of the hook machinery, which are not part of the model's own stack.
HOOKS = {"record_stack", "record_forward", "forward_hook", "record", "__torch_function__", "handle_torch_function"}


def capture(folder: pathlib.Path, task: str = "tensor", level: str = "L0", fault: str | None = None, at: str | None = None,
            amount: float = 1.01, stack_layout: str = "new", seed: int = 0) -> str | None:
    """One forward and one backward pass, dumped into `folder`. Returns the first op whose output is spoiled, if one is.

    >>> capture(pathlib.Path("out/mine"), task="md5", level="L1", fault="noise", at="layers.0.fc1", amount=0.5)
    'Functional.linear.2.forward'
    """
    torch.set_num_threads(1)  # the same sums in every run
    torch.manual_seed(seed)
    model = Model()
    data = torch.randn(2, 6, 32)
    recorder = Recorder(folder, task, level)
    modules: list[str] = []
    if at is not None and at not in dict(model.named_modules()):
        raise SystemExit(f"--at {at}: the model has {', '.join(name for name, _ in model.named_modules() if name)}")
    for path, module in model.named_modules():
        if path and not isinstance(module, torch.nn.ModuleList):
            watch_module(recorder, modules, path, module)
    with ApiMode(recorder, modules, (fault, amount) if fault else None, at) as mode:
        output = model(data)
    (output * output).mean().backward()
    if fault and mode.spoiled is None:
        raise SystemExit(f"--at {at}: this module calls no recorded API itself, choose a Linear, LayerNorm or GELU in it")
    recorder.write(stack_layout)
    return mode.spoiled


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--task", choices=("tensor", "statistics", "md5"), default="tensor")
    parser.add_argument("--level", choices=("L0", "L1", "mix"), default="L0")
    parser.add_argument("--fault", choices=FAULTS)
    parser.add_argument("--at", metavar="MODULE", help="where the fault is planted, such as layers.1.fc1")
    parser.add_argument("--amount", type=float, default=1.01, help="factor of 'scale', size of 'noise' in standard deviations")
    parser.add_argument("--rank", type=int, help="write into FOLDER/stepS/rankR")
    parser.add_argument("--step", type=int, default=0)
    parser.add_argument("--stack", choices=("old", "new"), default="new", help="layout of stack.json")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    if (options.fault is None) != (options.at is None):
        parser.error("--fault and --at go together")
    folder = options.folder
    if options.rank is not None:
        folder = folder / f"step{options.step}" / f"rank{options.rank}"
    spoiled = capture(folder, options.task, options.level, options.fault, options.at, options.amount, options.stack, options.seed)
    if spoiled:
        print(f"planted: {spoiled}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
