"""Small PyTorch models of several kinds, whose calls are dumped as msprobe does at level L1 (or as a folder of numbered outputs), with a
fault in one of them. They share nothing with the generators of ATB and TorchAir dumps: what the rules say of those was measured on these."""
from __future__ import annotations

import collections
import json
import math
import pathlib
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch.overrides import TorchFunctionMode

FUNCTIONAL = {name: f"Functional.{name}" for name in (
    "linear", "layer_norm", "softmax", "gelu", "silu", "relu", "conv2d", "batch_norm", "adaptive_avg_pool2d", "embedding", "max_pool2d")}
TENSOR = {name: f"Tensor.{name}" for name in (
    "__add__", "__sub__", "__mul__", "__truediv__", "__getitem__", "add", "mul", "pow", "mean", "sum", "sigmoid", "tanh", "view", "reshape",
    "transpose", "permute", "flatten", "to", "float", "index_add", "masked_fill", "chunk", "expand", "contiguous")}
TORCH = {name: f"Torch.{name}" for name in ("matmul", "rsqrt", "cat", "bmm", "topk", "stack", "softmax", "sigmoid", "tanh", "cos", "sin", "addmm")}
PUBLIC = {"radd": "add", "__radd__": "__add__", "__rmul__": "__mul__"}


class Decoder(torch.nn.Module):
    """RMS norm, rotary attention with a mask, gated MLP; `experts` > 0: a mixture of them in the place of the MLP."""

    def __init__(self, depth: int, width: int = 64, heads: int = 4, experts: int = 0):
        super().__init__()
        self.embedding = torch.nn.Parameter(torch.randn(97, width) * 0.7)
        self.heads, self.experts = heads, experts
        make = lambda *shape: torch.nn.Parameter(torch.randn(*shape) / math.sqrt(shape[-1]))  # noqa: E731
        self.layers = torch.nn.ParameterList()
        self.depth = depth
        for _ in range(depth):
            mlp = [make(2 * width, width), make(2 * width, width), make(width, 2 * width)]
            mlp = mlp if not experts else [make(experts, width)] + [make(2 * width, width) if i % 2 == 0 else make(width, 2 * width)
                                                                    for i in range(2 * experts)]
            for parameter in [torch.nn.Parameter(1 + 0.2 * torch.randn(width)), make(3 * width, width), make(width, width),
                              torch.nn.Parameter(1 + 0.2 * torch.randn(width)), *mlp]:
                self.layers.append(parameter)
        self.per_layer = len(self.layers) // depth
        self.norm = torch.nn.Parameter(1 + 0.2 * torch.randn(width))
        self.head = make(97, width)

    @staticmethod
    def rms_norm(x, weight):
        wide = x.float()
        return (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-5)).to(x.dtype) * weight

    def rotate(self, x):
        half = x.shape[-1] // 2
        angles = torch.arange(x.shape[-2])[:, None] / 100.0 ** (torch.arange(half) / half)
        cos, sin = torch.cat([angles.cos()] * 2, -1).to(x.dtype), torch.cat([angles.sin()] * 2, -1).to(x.dtype)
        return x * cos + torch.cat([-x[..., half:], x[..., :half]], -1) * sin

    def forward(self, ids):
        x = F.embedding(ids, self.embedding)
        batch, length, width = x.shape
        mask = torch.full((length, length), float("-inf")).triu(1).to(x.dtype)
        for layer in range(self.depth):
            norm1, qkv, out, norm2, *mlp = [self.layers[layer * self.per_layer + i] for i in range(self.per_layer)]
            h = F.linear(self.rms_norm(x, norm1), qkv)
            q, k, v = h.view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
            scores = torch.matmul(self.rotate(q), self.rotate(k).transpose(-1, -2)) / math.sqrt(width // self.heads) + mask
            mixed = torch.matmul(F.softmax(scores, dim=-1), v).transpose(1, 2).reshape(batch, length, width)
            x = x + F.linear(mixed, out)
            h = self.rms_norm(x, norm2)
            x = x + (self.mixture(h, mlp) if self.experts else F.linear(F.silu(F.linear(h, mlp[0])) * F.linear(h, mlp[1]), mlp[2]))
        return F.linear(self.rms_norm(x, self.norm), self.head)

    def mixture(self, h, mlp):
        flat = h.reshape(-1, h.shape[-1])
        weights, chosen = torch.topk(F.softmax(F.linear(flat, mlp[0]), dim=-1), 2)
        total = torch.zeros_like(flat)
        for expert in range(self.experts):
            rows, places = torch.where(chosen == expert)
            made = F.linear(F.silu(F.linear(flat[rows], mlp[1 + 2 * expert])), mlp[2 + 2 * expert])
            total = total.index_add(0, rows, (made * weights[rows, places][:, None]).to(total.dtype))
        return total.view_as(h)


class Encoder(torch.nn.Module):
    def __init__(self, depth: int, width: int = 64, heads: int = 4):
        super().__init__()
        self.depth, self.heads = depth, heads
        self.norms = torch.nn.ModuleList(torch.nn.LayerNorm(width) for _ in range(2 * depth))
        self.linears = torch.nn.ModuleList(torch.nn.Linear(a, b) for _ in range(depth)
                                           for a, b in ((width, 3 * width), (width, width), (width, 4 * width), (4 * width, width)))

    def forward(self, x):
        batch, length, width = x.shape
        for layer in range(self.depth):
            qkv, out, up, down = self.linears[4 * layer:4 * layer + 4]
            q, k, v = qkv(x).chunk(3, -1)
            split = lambda t: t.view(batch, length, self.heads, -1).transpose(1, 2)  # noqa: E731
            weights = F.softmax(torch.matmul(split(q), split(k).transpose(-1, -2)) * (width // self.heads) ** -0.5, dim=-1)
            x = self.norms[2 * layer](x + out(torch.matmul(weights, split(v)).transpose(1, 2).reshape(batch, length, width)))
            x = self.norms[2 * layer + 1](x + down(F.gelu(up(x))))
        return x


class Convolutions(torch.nn.Module):
    def __init__(self, depth: int, channels: int = 12):
        super().__init__()
        self.stem = torch.nn.Conv2d(3, channels, 3, padding=1)
        self.convs = torch.nn.ModuleList(torch.nn.Conv2d(channels, channels, 3, padding=1) for _ in range(2 * depth))
        self.norms = torch.nn.ModuleList(torch.nn.BatchNorm2d(channels) for _ in range(2 * depth))
        self.head = torch.nn.Linear(channels, 10)

    def forward(self, x):
        x = self.stem(x)
        for i in range(0, len(self.convs), 2):
            h = F.relu(self.norms[i](self.convs[i](x)))
            x = F.relu(x + self.norms[i + 1](self.convs[i + 1](h)))
        return self.head(F.adaptive_avg_pool2d(x, 1).flatten(1))


class Recurrent(torch.nn.Module):
    def __init__(self, depth: int, width: int = 48):
        super().__init__()
        self.depth = depth
        self.of_input, self.of_state = torch.nn.Linear(width, 4 * width), torch.nn.Linear(width, 4 * width)
        self.head = torch.nn.Linear(width, 16)

    def forward(self, x):
        h = c = torch.zeros(x.shape[0], x.shape[-1], dtype=x.dtype)
        for step in range(self.depth):
            i, f, g, o = (self.of_input(x[:, step]) + self.of_state(h)).chunk(4, -1)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(c)
        return self.head(h)


def make_model(kind: str, depth: int, seed: int):
    """The model in f32 and what it is called with."""
    torch.manual_seed(seed)
    if kind in ("decoder", "experts"):
        return Decoder(depth, experts=4 if kind == "experts" else 0), torch.randint(0, 97, (2, 16))
    if kind == "encoder":
        return Encoder(depth), torch.randn(2, 16, 64)
    if kind == "convolutions":
        return Convolutions(depth), torch.randn(3, 3, 16, 16)
    return Recurrent(depth), torch.randn(4, depth, 48)


KINDS = ("decoder", "experts", "encoder", "convolutions", "recurrent")


def spoil(fault: str, x: torch.Tensor, axis_seed: int) -> torch.Tensor:
    """A result as a broken operator would give it."""
    y, pick = x.clone(), np.random.default_rng(axis_seed)
    if fault.startswith("x"):
        return (x.double() * float(fault[1:])).to(x.dtype)
    if fault.startswith("channel"):  # one along the last dimension
        channel = int(pick.integers(x.shape[-1]))
        y[..., channel] = (y[..., channel].double() * float(fault[7:])).to(x.dtype)
    elif fault == "tail zero":  # the last sixteenth of the last dimension
        y[..., -max(1, x.shape[-1] // 16):] = 0
    elif fault == "stale row":
        flat = y.reshape(-1, x.shape[-1])
        flat[-1] = flat[0]
        y = flat.reshape(x.shape)
    elif fault == "four bits":
        mantissa, exponent = torch.frexp(x.double())
        y = torch.ldexp(torch.round(mantissa * 32) / 32, exponent).to(x.dtype)
    elif fault == "toward zero":  # in bf16
        y = (x.float().view(torch.int32) & -65536).view(torch.float32).to(x.dtype)
    elif fault == "offset":
        y = (x.double() + 0.1 * x.double().std()).to(x.dtype)
    elif fault == "one element":
        y.reshape(-1)[int(pick.integers(x.numel()))] = float(3 * x.abs().max())
    elif fault == "swapped":  # two neighbouring rows
        flat = y.reshape(-1, x.shape[-1]).clone()
        flat[[0, 1]] = flat[[1, 0]]
        y = flat.reshape(x.shape)
    elif fault == "noise":
        y = (x.double() + 0.05 * x.double().std() * torch.randn(x.shape, generator=torch.Generator().manual_seed(axis_seed))).to(x.dtype)
    elif fault == "saturated":
        y = x.clamp(max=float(x.abs().max()) / 2)
    else:
        raise ValueError(fault)
    return y


FAULTS = ("x1.02", "x1.1", "x1.5", "channel1.3", "channel0", "tail zero", "stale row", "four bits", "toward zero", "offset", "one element",
          "swapped", "noise", "saturated", "x1.005")
COMPUTING = {"linear", "layer_norm", "softmax", "gelu", "silu", "conv2d", "batch_norm", "matmul", "__add__", "__mul__", "mean", "pow", "rsqrt",
             "sigmoid", "tanh", "relu"}


class Run(NamedTuple):
    kind: str
    depth: int
    seed: int
    dtype: str = "float32"
    order: bool = False     # sums in another order: the operands of products are permuted along what is summed
    autocast: bool = False
    backward: bool = False


class Recorder(TorchFunctionMode):
    def __init__(self, run: Run, folder: pathlib.Path, layout: str, fault: str | None, at: int):
        super().__init__()
        self.run, self.folder, self.layout, self.fault, self.at = run, folder, layout, fault, at
        self.data, self.calls, self.seen, self.count = {}, collections.Counter(), 0, 0
        self.faulty, self.visible = None, 0.0
        self.busy = False
        (folder / "dump_tensor_data" if layout == "msprobe" else folder).mkdir(parents=True)

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = getattr(function, "__name__", "")
        name = PUBLIC.get(name, name)
        known = FUNCTIONAL.get(name) if getattr(F, name, None) is function else None
        known = known or (TORCH.get(name) if getattr(torch, name, None) is function else None) or TENSOR.get(name)
        if known is None or self.busy:
            return function(*args, **kwargs)
        self.busy = True
        self.arguments = args
        before = [a.detach().clone() if isinstance(a, torch.Tensor) else a for a in args]
        try:
            output = self.compute(name, function, args, kwargs)
            op = f"{known}.{self.calls[known]}.forward"
            self.calls[known] += 1
            if name in COMPUTING and isinstance(output, torch.Tensor) and output.is_floating_point() and output.dim() and output.numel() > 32:
                if self.fault is not None and self.seen == self.at:
                    spoiled = spoil(self.fault, output.detach(), self.at)
                    self.visible = float((spoiled.double() - output.double()).norm() / output.double().norm())
                    output.data.copy_(spoiled)
                    self.faulty = op
                self.seen += 1
            self.record(op, before, kwargs, output)
        finally:
            self.busy = False
        return output

    def compute(self, name, function, args, kwargs):
        if self.run.order and name in ("linear", "matmul") and args[0].dtype == torch.float32:
            a, b = args[0], args[1]
            order = torch.randperm(a.shape[-1], generator=torch.Generator().manual_seed(5))
            if name == "linear":
                return function(a[..., order], b[:, order], *args[2:], **kwargs)
            return function(a[..., order], b[..., order, :])
        return function(*args, **kwargs)

    def save(self, tensor: torch.Tensor, name: str) -> None:
        torch.save(tensor.detach().contiguous().clone(), self.folder / name)

    def encode(self, value, name: str):
        if isinstance(value, torch.Tensor):
            if self.layout == "msprobe":
                self.save(value, f"dump_tensor_data/{name}.pt")
            wide = value.detach().float()
            stats = (wide.max().item(), wide.min().item(), wide.mean().item(), wide.norm().item()) if value.numel() else (None,) * 4
            return {"type": "torch.Tensor", "dtype": str(value.dtype), "shape": list(value.shape),
                    **dict(zip(("Max", "Min", "Mean", "Norm"), stats)), "requires_grad": False, "data_name": f"{name}.pt"}
        if isinstance(value, (list, tuple)):
            return [self.encode(item, f"{name}.{i}") for i, item in enumerate(value)]
        if isinstance(value, (bool, int, float, str)):
            return {"type": type(value).__name__, "value": value}
        return None

    def record(self, op: str, args, kwargs, output) -> None:
        outputs = output if isinstance(output, (list, tuple)) else (output,)
        if self.layout == "folder":
            for value in outputs:
                if isinstance(value, torch.Tensor) and value.is_floating_point():
                    self.save(value, f"{self.count:05d}_{op}.pt")
                    self.count += 1
            return
        self.data[op] = {"input_args": self.encode(tuple(args), f"{op}.input"),
                         "input_kwargs": {key: self.encode(value, f"{op}.input.{key}") for key, value in kwargs.items()},
                         "output": self.encode(tuple(outputs), f"{op}.output"), "is_recompute": False}
        is_new = not any(output is value for value in self.arguments)  # .float() of f32 gives back what it was given
        if self.run.backward and is_new and ".to." not in op and ".float." not in op and isinstance(output, torch.Tensor) and output.grad_fn is not None:
            output.grad_fn.register_hook(lambda below, above, op=op: self.record_backward(op, above, below))

    def record_backward(self, op: str, above, below) -> None:
        name = op.replace(".forward", ".backward")
        busy, self.busy = self.busy, True
        self.data[name] = {"input": self.encode(tuple(above), f"{name}.input"), "output": self.encode(tuple(below), f"{name}.output")}
        self.busy = busy

    def finish(self) -> None:
        if self.layout == "msprobe":
            dump = {"task": "tensor", "level": "L1", "framework": "pytorch", "dump_data_dir": "dump_tensor_data", "data": self.data}
            (self.folder / "dump.json").write_text(json.dumps(dump))
            (self.folder / "stack.json").write_text("{}")
            (self.folder / "construct.json").write_text("{}")


def dump(run: Run, folder: pathlib.Path, layout: str = "msprobe", fault: str | None = None, at: int = 0) -> Recorder:
    """One forward pass (and a backward one), dumped below `folder`; `at`: which of the calls that compute has the fault."""
    model, given = make_model(run.kind, run.depth, run.seed)
    dtype = getattr(torch, run.dtype)
    if not run.autocast:
        model = model.to(dtype)
        given = given.to(dtype) if given.is_floating_point() else given
    recorder = Recorder(run, folder, layout, fault, at)
    with torch.set_grad_enabled(run.backward), torch.autocast("cpu", torch.bfloat16, enabled=run.autocast), recorder:
        out = model(given)
        if run.backward:
            # A loss of squares behind a norm has no gradient but what rounding leaves; without the factor those of f16 vanish.
            weights = torch.randn(out.shape, generator=torch.Generator().manual_seed(run.seed))
            (1024 * (out.float() * weights).mean()).backward()
    recorder.finish()
    return recorder
