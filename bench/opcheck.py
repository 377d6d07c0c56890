#!/usr/bin/python3
"""Golden operators of `assay opcheck` against PyTorch on the CPU, and their products against OpenBLAS.

Usage: bench/opcheck.py [--bin build/release] [--work DIR] [--threads N] [--clock cpu] [--only NAME] [--repeats 7] [--write]
Prints Markdown; --write puts it into bench/results_opcheck.md. Needs Debian's python3-torch.

What is timed: the arithmetic. Inputs lie in memory, in f16 or bf16, on either side. Ours is one call of the golden operator
(bench/golden.cc): it widens them, computes each element and how far it may be off, and keeps both. PyTorch's is the same
operator in f32: it widens the inputs, computes, and keeps the result; it has no bound to compute. (Inputs in f32: both compute
in f64.) OpenBLAS's is its own gemm on matrices that are f32 (f64) already. They take turns, and the median counts. No file is read.
--clock cpu: seconds of all cores instead of those of the clock, where other work disturbs the machine.
The exit code is 1 if a target is missed.
"""
from __future__ import annotations

import json
import os
import pathlib
import resource
import shutil
import statistics
import subprocess
import sys
import time
from typing import Callable

import torch
import torch.nn.functional as F

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests" / "tools"))

from common import MIB, Report, Usage, arguments, binaries, machine, work_folder  # noqa: E402
from golden_case import Run, Tensor  # noqa: E402
from golden_dump import dump_folder, token_folder, write_operator  # noqa: E402

TOKENS, HIDDEN, HEADS = 2048, 4096, 32
HEAD = HIDDEN // HEADS
TYPES = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32}
FASTER, OF_OPENBLAS, AS_FAST = 2.0, 0.7, 1.0


class Server:
    """bench_golden, waiting to be told to go."""

    def __init__(self, program: pathlib.Path, *words):
        self.child = subprocess.Popen([str(word) for word in (program, *words)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                      text=True)

    def ask(self, line: str) -> str:
        print(line, file=self.child.stdin, flush=True)
        answer = self.child.stdout.readline()
        if not answer:
            sys.exit(f"{self.child.args}: exit {self.child.wait()}")
        return answer

    def go(self) -> tuple[float, float]:
        wall, cpu = self.ask("go").split()
        return float(wall), float(cpu)

    def close(self) -> None:
        self.child.stdin.close()
        self.child.wait()


def cpu_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def timed(work: Callable) -> tuple[float, float]:
    cpu, start = cpu_seconds(), time.perf_counter()
    kept = work()
    seconds = time.perf_counter() - start, cpu_seconds() - cpu
    del kept  # after the clock, as ours
    return seconds


class Bench:
    def __init__(self, program: pathlib.Path, work: pathlib.Path, options, report: Report):
        self.program, self.work, self.report = program, work, report
        self.threads, self.repeats, self.clock = options.threads, options.repeats, {"wall": 0, "cpu": 1}[options.clock]
        self.random = torch.Generator().manual_seed(1)
        torch.set_num_threads(self.threads)

    def tensor(self, dtype: str, *shape: int, size: float = 1.0) -> torch.Tensor:
        return (torch.randn(shape, generator=self.random) * size).to(TYPES[dtype])

    def server(self, op: str, params: dict, inputs: list[torch.Tensor]) -> Server:
        (self.work / "params.json").write_text(json.dumps(params))
        words = []
        for i, each in enumerate(inputs):
            name = {value: key for key, value in TYPES.items()}.get(each.dtype, "i32")
            path = self.work / f"input{i}"
            bits = each.contiguous().view(torch.int16) if name in ("f16", "bf16") else each.contiguous()
            bits.numpy().tofile(path)
            words.append(f"{name}:{','.join(map(str, each.shape))}:{path}")
        server = Server(self.program, self.threads, "op", op, self.work / "params.json", *words)
        server.go()  # until it has, it reads the files
        return server

    def check(self, what: str, server: Server, theirs: torch.Tensor) -> None:
        """That both compute the same."""
        server.ask(f"out {self.work / 'output'}")
        ours = torch.from_file(str(self.work / "output"), size=theirs.numel()).reshape(theirs.shape)
        apart = (ours - theirs.float()).abs().max().item()
        if not apart <= 2**-7 * theirs.abs().max().item():
            sys.exit(f"{what}: ours and PyTorch's differ by {apart}")

    def in_turns(self, *sides: Callable) -> list[float]:
        times = [[] for _ in sides]
        for _ in range(self.repeats):
            for all_of_side, side in zip(times, sides):
                all_of_side.append(side()[self.clock])
        return [statistics.median(each) for each in times]

    def line(self, what: str, op: str, params: dict, inputs: list[torch.Tensor], theirs: Callable, least: float = FASTER,
             gemm: tuple | None = None) -> None:
        """gemm: type and sizes of the product that OpenBLAS is asked for; its target is another."""
        server = self.server(op, params, inputs)
        self.check(what, server, theirs())
        sides = [server.go, lambda: timed(theirs)]
        if gemm:
            blas = Server(self.program, self.threads, "gemm", *gemm)
            blas.go()
            sides.append(blas.go)
        ours, torchs, *own = self.in_turns(*sides)
        self.report.line(what, f"{torchs * 1e3:.1f} ms / {ours * 1e3:.1f} ms = {torchs / ours:.2f}", f"≥ {least:g}",
                         torchs / ours >= least)
        if own:
            self.report.line(f"{what}: rate, of OpenBLAS's own", f"{own[0] * 1e3:.1f} ms / {ours * 1e3:.1f} ms = {own[0] / ours:.2f}",
                             f"≥ {OF_OPENBLAS:g}", own[0] / ours >= OF_OPENBLAS)
            blas.close()
        server.close()

    def products(self) -> None:
        params = {"transposeA": False, "transposeB": True, "hasBias": False, "outDataType": -1}
        for dtype, rows in (("f16", TOKENS), ("bf16", TOKENS), ("f32", TOKENS // 4)):
            x, w = self.tensor(dtype, rows, HIDDEN), self.tensor(dtype, HIDDEN, HIDDEN, size=HIDDEN**-0.5)
            wide = torch.float64 if dtype == "f32" else torch.float32
            self.line(f"linear, {dtype}, [{rows}, {HIDDEN}] · [{HIDDEN}, {HIDDEN}]ᵀ", "LinearOperation", params, [x, w],
                      lambda: F.linear(x.to(wide), w.to(wide)), AS_FAST,
                      ("f64" if dtype == "f32" else "f32", rows, HIDDEN, HIDDEN))

    def attention(self) -> None:
        params = attention_params(HEADS, HEAD)
        lengths = torch.tensor([TOKENS], dtype=torch.int32)
        for dtype in ("f16", "bf16"):
            q, k, v = (self.tensor(dtype, TOKENS, HEADS, HEAD) for _ in range(3))

            def theirs():
                a, b, c = (each.float().transpose(0, 1) for each in (q, k, v))
                weights = torch.softmax(torch.matmul(a, b.transpose(1, 2)) * HEAD**-0.5, -1)
                return torch.matmul(weights, c).transpose(0, 1)
            self.line(f"self attention, {dtype}, {TOKENS} tokens, {HEADS} heads of {HEAD}", "SelfAttentionOperation", params,
                      [q, k, v, lengths], theirs)

    def norms(self) -> None:
        for dtype in ("f16", "bf16"):
            x, gamma, beta = self.tensor(dtype, TOKENS, HIDDEN), self.tensor(dtype, HIDDEN), self.tensor(dtype, HIDDEN)

            def rms():
                wide = x.float()
                return wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-5) * gamma.float()
            self.line(f"rms norm, {dtype}", "RmsNormOperation", {"layerType": 1, "normParam": {"epsilon": 1e-5}}, [x, gamma], rms)
            self.line(f"layer norm, {dtype}", "LayerNormOperation",
                      {"layerType": 1, "normParam": {"epsilon": 1e-5, "beginNormAxis": 1}}, [x, gamma, beta],
                      lambda: F.layer_norm(x.float(), (HIDDEN,), gamma.float(), beta.float(), 1e-5))

    def rope(self) -> None:
        def turned(x):
            return torch.cat((-x[..., HEAD // 2:], x[..., :HEAD // 2]), -1)
        for dtype in ("f16", "bf16"):
            q, k = (self.tensor(dtype, TOKENS, HIDDEN) for _ in range(2))
            angles = torch.outer(torch.arange(TOKENS), 10000.0 ** (-torch.arange(0, HEAD, 2) / HEAD)).repeat(1, 2)
            cos, sin = angles.cos().to(TYPES[dtype]), angles.sin().to(TYPES[dtype])
            lengths = torch.tensor([TOKENS], dtype=torch.int32)

            def theirs():
                c, s = cos.float()[:, None], sin.float()[:, None]
                wide = [each.float().reshape(TOKENS, HEADS, HEAD) for each in (q, k)]
                return [(each * c + turned(each) * s).reshape(TOKENS, HIDDEN) for each in wide][0]
            self.line(f"rope, {dtype}, q and k", "RopeOperation", {"rotaryCoeff": 2, "cosFormat": 0}, [q, k, cos, sin, lengths], theirs)

    def activations(self) -> None:
        functions = {"swish": ({"activationType": 4, "scale": 1.0}, F.silu),
                     "gelu by tanh": ({"activationType": 2, "geluMode": 0}, lambda x: F.gelu(x, approximate="tanh")),
                     "gelu by erf": ({"activationType": 2, "geluMode": 1}, F.gelu),
                     "fast gelu": ({"activationType": 3}, lambda x: x * torch.sigmoid(1.702 * x)),
                     "sigmoid": ({"activationType": 8}, torch.sigmoid),
                     "log": ({"activationType": 5}, torch.log),
                     "relu": ({"activationType": 1}, torch.relu)}
        for dtype in ("f16", "bf16"):
            x = self.tensor(dtype, TOKENS, HIDDEN)
            for name, (params, function) in functions.items():
                y = x.abs() + 0.125 if name == "log" else x
                self.line(f"{name}, {dtype}", "ActivationOperation", params, [y], lambda: function(y.float()))
            both = self.tensor(dtype, TOKENS, 2 * HIDDEN)

            def swiglu():
                a, b = both.float().chunk(2, -1)
                return F.silu(a) * b
            self.line(f"swiglu, {dtype}", "ActivationOperation", {"activationType": 6, "dim": -1}, [both], swiglu)

    def elewise(self) -> None:
        one = {"muls": ({"elewiseType": 2, "mulsParam": {"varAttr": 0.5}}, lambda x: x * 0.5),
               "cos": ({"elewiseType": 3}, torch.cos), "sin": ({"elewiseType": 4}, torch.sin),
               "neg": ({"elewiseType": 5}, torch.neg), "tanh": ({"elewiseType": 20}, torch.tanh)}
        two = {"add": (8, torch.add), "mul": (9, torch.mul), "div": (10, torch.div), "sub": (15, torch.sub)}
        for dtype in ("f16", "bf16"):
            x, y = self.tensor(dtype, TOKENS, HIDDEN), self.tensor(dtype, TOKENS, HIDDEN).abs() + 0.5
            for name, (params, function) in one.items():
                self.line(f"{name}, {dtype}", "ElewiseOperation", params, [x], lambda: function(x.float()))
            for name, (kind, function) in two.items():
                self.line(f"{name}, {dtype}", "ElewiseOperation", {"elewiseType": kind}, [x, y],
                          lambda: function(x.float(), y.float()))

    def softmax(self) -> None:
        for dtype in ("f16", "bf16"):
            x = self.tensor(dtype, TOKENS, HIDDEN, size=3.0)
            self.line(f"softmax, {dtype}", "SoftmaxOperation", {"axes": [-1]}, [x], lambda: torch.softmax(x.float(), -1))


    def token(self, assay: pathlib.Path) -> None:
        """A whole token, read from its files, checked and reported. Beside it the same dump compared with itself, which reads,
        measures and reports the same outputs and more, and computes no operator: what is outside of the arithmetic."""
        root = self.work / "token"
        hidden = write_token(root, LAYERS)
        words = [assay, "opcheck", dump_folder(root), "--threads", self.threads, "-q"]
        plain = [assay, "compare", dump_folder(root), dump_folder(root), "--threads", self.threads, "-q"]
        checks, compares = [], []
        for _ in range(3):
            checks.append(Usage(*words, repeats=1))
            compares.append(Usage(*plain, repeats=1))
        check = sorted(checks, key=lambda each: each.cpu)[1]
        compare = sorted(compares, key=lambda each: each.cpu)[1]
        size = sum(path.stat().st_size for path in root.rglob("*.bin")) / MIB
        what = f"a token of {LAYERS} layers, {hidden}, {size:.0f} MiB of f16"
        self.report.line(what, f"{check.seconds:.2f} s by the clock, {check.cpu:.2f} s of CPU", "none", True)
        self.report.line("cores busy, of all", f"{check.cpu / check.seconds:.2f} of {self.threads}", "none", True)
        bounded = check.megabytes <= size / 4 + 256
        self.report.line("memory, of the dump", f"{check.megabytes:.0f} MiB of {size:.0f}", "≤ 1/4 + 256 MiB", bounded)
        self.report.line("outside of the arithmetic, at most", f"{compare.cpu:.2f} s / {check.cpu:.2f} s = "
                         f"{compare.cpu / check.cpu:.2f}", "none", True)
        shutil.rmtree(root)


LAYERS = 32


def write_token(root: pathlib.Path, layers: int) -> str:
    """A prefill of a decoder as a dump of ATB, f16, computed by PyTorch in f32. Gives its sizes in words."""
    hidden, heads, tokens, inner = 512, 4, 512, 1376
    head, random, folder, number = hidden // heads, torch.Generator().manual_seed(2), token_folder(root), 0

    def noise(*shape: int) -> torch.Tensor:
        return (torch.randn(shape, generator=random) * shape[-1] ** -0.5).half()

    def write(op: str, params: dict, inputs: list[torch.Tensor], *outputs: torch.Tensor) -> list[torch.Tensor]:
        nonlocal number
        outputs = [each.half() for each in outputs]
        tensors = [[Tensor("int32" if each.dtype == torch.int32 else "float16", each.numpy()) for each in side]
                   for side in (inputs, outputs)]
        write_operator(folder, number, op, Run(params, *tensors))
        number += 1
        return outputs

    def linear(x: torch.Tensor, width: int) -> torch.Tensor:
        weight = noise(width, x.shape[-1])
        params = {"transposeA": False, "transposeB": True, "hasBias": False, "outDataType": -1}
        return write("LinearOperation", params, [x, weight], F.linear(x.float(), weight.float()))[0]

    def norm(x: torch.Tensor) -> torch.Tensor:
        gamma, wide = (1 + noise(hidden)).half(), x.float()
        y = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-5) * gamma.float()
        return write("RmsNormOperation", {"layerType": 1, "normParam": {"epsilon": 1e-5}}, [x, gamma], y)[0]

    def add(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return write("ElewiseOperation", {"elewiseType": 8}, [x, y], x.float() + y.float())[0]

    lengths = torch.tensor([tokens], dtype=torch.int32)
    angles = torch.outer(torch.arange(tokens), 10000.0 ** (-torch.arange(0, head, 2) / head)).repeat(1, 2)
    cos, sin = angles.cos().half(), angles.sin().half()

    def turned(x: torch.Tensor) -> torch.Tensor:
        wide = x.float().reshape(tokens, heads, head)
        other = torch.cat((-wide[..., head // 2:], wide[..., :head // 2]), -1)
        return (wide * cos.float()[:, None] + other * sin.float()[:, None]).reshape(tokens, hidden)

    x = torch.randn((tokens, hidden), generator=random).half()
    for _ in range(layers):
        y = norm(x)
        q, k, v = (linear(y, hidden) for _ in range(3))
        q, k = write("RopeOperation", {"rotaryCoeff": 2, "cosFormat": 0}, [q, k, cos, sin, lengths], turned(q), turned(k))
        q, k, v = (each.reshape(tokens, heads, head) for each in (q, k, v))
        a, b, c = (each.float().transpose(0, 1) for each in (q, k, v))
        weights = torch.softmax(torch.matmul(a, b.transpose(1, 2)) * head**-0.5, -1)
        z = write("SelfAttentionOperation", attention_params(heads, head), [q, k, v, lengths],
                  torch.matmul(weights, c).transpose(0, 1).contiguous())[0]
        x = add(x, linear(z.reshape(tokens, hidden), hidden))
        both = linear(norm(x), 2 * inner)
        first, second = both.float().chunk(2, -1)
        gated = write("ActivationOperation", {"activationType": 6, "dim": -1}, [both], F.silu(first) * second)[0]
        x = add(x, linear(gated, hidden))
    return f"{tokens} tokens of {hidden}"


def attention_params(heads: int, head: int) -> dict:
    return {"headNum": heads, "kvHeadNum": heads, "qkScale": head**-0.5, "qScale": 1.0, "calcType": 3, "maskType": 0,
            "kernelType": 0, "mlaVHeadSize": 0}


SECTIONS = {"products": "Matrix products", "attention": "Attention", "norms": "Norms", "rope": "Rope", "softmax": "Softmax",
            "activations": "Activations", "elewise": "Element by element", "token": "A whole token"}


def main() -> int:
    parser = arguments(__doc__, "results_opcheck.md")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--only", choices=SECTIONS, action="append")
    options = parser.parse_args()
    programs = binaries(options, "assay", "bench/bench_golden")
    report = Report()
    with work_folder(options) as work:
        bench = Bench(programs / "bench" / "bench_golden", work, options, report)
        for name, title in SECTIONS.items():
            if options.only is None or name in options.only:
                is_token = name == "token"
                report.heading(title if is_token else f"{title}: PyTorch's time / ours")
                bench.token(programs / "assay") if is_token else getattr(bench, name)()
    by = "seconds by the clock" if options.clock == "wall" else "CPU seconds, user and system: other work ran beside it"
    head = ["# Golden operators against PyTorch and OpenBLAS", "",
            f"Made by `bench/opcheck.py --write`, which says what is timed. {machine()}, {options.threads} thread(s), PyTorch "
            f"{torch.__version__}.",
            f"Medians of {options.repeats} turns, {by}. Tensors of {TOKENS} tokens by {HIDDEN} where nothing else is said."]
    return report.finish(options, "results_opcheck.md", head)


if __name__ == "__main__":
    sys.exit(main())
