#!/usr/bin/python3
"""What recording a training step of PyTorch adds to it, beside the real msprobe in the same run, for bench/results_capture_torch.md.

    bench/capture_torch.py --python VENV/bin/python [--bin build/release] [--repeats 3] [--out bench/results_capture_torch.md]

VENV has torch 2 and mindstudio-probe (26.2.0); without the latter ours alone is measured. On the CPU a decoder of 4 layers of hidden size 256; where there is CUDA, a model of
Llama's form as well (16 layers, hidden size 4096, bf16, one sequence of 2048). --on cuda --repeats 1 --steps 5 takes a few minutes.
"""
from __future__ import annotations

import argparse
import contextlib
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
# What is measured: name -> (tool, level, task, summary).
CPU_MODES = {"msprobe L1": ("msprobe", "L1", "statistics", "statistics"), "ours L1": ("debugger", "L1", "statistics", "statistics"),
             "capture, functions": ("capture", "L1", "statistics", "statistics"), "msprobe L0": ("msprobe", "L0", "statistics", "statistics"),
             "capture, modules": ("capture", "L0", "statistics", "statistics")}
GPU_MODES = {"msprobe L0": ("msprobe", "L0", "statistics", "statistics"), "ours L0": ("debugger", "L0", "statistics", "statistics"),
             "msprobe L1": ("msprobe", "L1", "statistics", "statistics"), "ours L1": ("debugger", "L1", "statistics", "statistics"),
             "msprobe mix": ("msprobe", "mix", "statistics", "statistics"), "ours mix": ("debugger", "mix", "statistics", "statistics"),
             "msprobe L1 md5": ("msprobe", "L1", "statistics", "md5"), "ours L1 md5": ("debugger", "L1", "statistics", "md5"),
             "msprobe L0 tensors": ("msprobe", "L0", "tensor", "statistics"), "ours L0 tensors": ("debugger", "L0", "tensor", "statistics")}
GPU_TARGETS = {"ours L0": 1.1, "ours L1": 1.3, "ours mix": 1.5, "ours L1 md5": 2.0}
TIMES_LESS = 10  # than msprobe adds for an entry, on the CPU


# ----- in a process of its own, in the Python that has both


def make_model(size: dict):
    import torch
    from torch import nn
    from torch.nn import functional

    class Layer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            hidden, inner = size["hidden"], size["inner"]
            self.norm1, self.norm2 = nn.LayerNorm(hidden), nn.LayerNorm(hidden)
            self.q, self.k, self.v, self.o = (nn.Linear(hidden, hidden, bias=False) for _ in range(4))
            self.gate, self.up, self.down = nn.Linear(hidden, inner, bias=False), nn.Linear(hidden, inner, bias=False), \
                nn.Linear(inner, hidden, bias=False)

        def forward(self, x):
            batch, length, width = x.shape
            y = self.norm1(x)
            q, k, v = (part(y).view(batch, length, size["heads"], -1).transpose(1, 2) for part in (self.q, self.k, self.v))
            mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.o(mixed.transpose(1, 2).reshape(batch, length, width))
            y = self.norm2(x)
            return x + self.down(functional.silu(self.gate(y)) * self.up(y))

    class Decoder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed = nn.Embedding(size["words"], size["hidden"])
            self.layers = nn.ModuleList(Layer() for _ in range(size["layers"]))
            self.norm, self.head = nn.LayerNorm(size["hidden"]), nn.Linear(size["hidden"], size["words"], bias=False)

        def forward(self, ids):
            x = self.embed(ids)
            for layer in self.layers:
                x = layer(x)
            return self.head(self.norm(x))

    torch.manual_seed(0)
    if size["device"] == "cpu":
        return Decoder()
    torch.set_default_dtype(torch.bfloat16)  # made there: three billion random numbers of the CPU take longer than all that is measured
    try:
        with torch.device(size["device"]):
            return Decoder()
    finally:
        torch.set_default_dtype(torch.float32)


def measure(job: dict) -> dict:
    """Seconds of a step, with and without; entries and bytes of a step's dump. The first steps of both do not count."""
    import torch

    if job["mode"][0] == "copies":
        return copied(job["sizes"], pathlib.Path(job["folder"]))
    size, folder = job["size"], pathlib.Path(job["folder"])
    torch.set_num_threads(job["threads"])
    model = make_model(size)
    ids = torch.randint(0, size["words"], (size["batch"], size["length"]), device=size["device"])
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)

    def train() -> None:
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(ids).flatten(0, 1).float(), ids.flatten()).backward()
        optimizer.step()

    def timed(step) -> float:
        times = []
        for number in range(job["steps"] + 2):
            if size["device"] != "cpu":
                torch.cuda.synchronize()
            start = clock()
            step()
            if size["device"] != "cpu":
                torch.cuda.synchronize()
            times.append(clock() - start)
        return statistics.median(times[2:])

    clock = time.process_time if job["cpu_time"] else time.perf_counter
    plain = timed(train)
    with recorder(job, model, folder) as around:
        recorded = timed(lambda: around(train))
    again = timed(train)
    steps = sorted(folder.glob("**/dump.json"), key=lambda path: path.stat().st_mtime)
    data = json.loads(steps[-1].read_text())["data"]
    sizes = [path.stat().st_size for path in sorted(steps[-1].parent.glob("dump_tensor_data/*"))]
    return {"plain": min(plain, again), "recorded": recorded, "entries": len(data), "bytes": sum(sizes), "sizes": sizes}


def copied(sizes: list[int], folder: pathlib.Path) -> dict:
    """Seconds that tensors of these sizes take from the device into files by copies on one stream and four threads that write, no more."""
    import concurrent.futures

    import torch

    folder.mkdir(parents=True)
    source = torch.ones(max(sizes), dtype=torch.uint8, device="cuda")
    pinned = [torch.empty(max(sizes), dtype=torch.uint8, pin_memory=True) for _ in range(8)]
    times = []
    with concurrent.futures.ThreadPoolExecutor(4) as writers:
        for number in range(3):
            torch.cuda.synchronize()
            start, busy = time.perf_counter(), [None] * len(pinned)
            for place, size in enumerate(sizes):
                slot = place % len(pinned)
                if busy[slot] is not None:
                    busy[slot].result()
                there = pinned[slot][:size]
                there.copy_(source[:size], non_blocking=True)
                done = torch.cuda.Event()
                done.record()
                busy[slot] = writers.submit(written, done, there, folder / f"{number}_{place}.bin")
            for each in filter(None, busy):
                each.result()
            times.append(time.perf_counter() - start)
            for path in folder.iterdir():
                path.unlink()
    return {"plain": 0.0, "recorded": min(times[1:]), "entries": len(sizes), "bytes": sum(sizes)}


def written(done, there, path: pathlib.Path) -> None:
    done.synchronize()
    path.write_bytes(memoryview(there.numpy()))


@contextlib.contextmanager
def recorder(job: dict, model, folder: pathlib.Path):
    tool, level, task, summary = job["mode"]
    if tool != "msprobe":
        sys.path.insert(0, str(ROOT / "python"))
    if tool == "capture":
        import assay

        with assay.capture(folder, model if level != "L1" else None, apis=level != "L0", stats=task == "statistics") as capture:
            def around(train) -> None:
                train()
                capture.step()
            yield around
        return
    if tool == "msprobe":
        from msprobe.pytorch import PrecisionDebugger
    else:
        from assay.msprobe.debugger import PrecisionDebugger
    config = folder.parent / "config.json"
    config.write_text(json.dumps({"task": task, "dump_path": str(folder), "rank": [], "step": [], "level": level,
                                  task: {"scope": [], "list": [], "data_mode": ["all"], "summary_mode": summary}}))
    debugger = PrecisionDebugger(config_path=str(config))

    def around(train) -> None:
        debugger.start(model=model)
        train()
        debugger.stop()
        debugger.step()
    yield around


# ----- the runs and the page


def run(python: str, mode: tuple, size: dict, options, scratch: pathlib.Path, sizes: tuple = ()) -> dict:
    """The best of some runs: the one that adds least."""
    found = []
    for _ in range(options.repeats):
        with tempfile.TemporaryDirectory(dir=scratch) as folder:
            job = {"mode": mode, "size": size, "sizes": sizes, "folder": str(pathlib.Path(folder) / "dump"), "steps": options.steps, "threads": options.threads,
                   "cpu_time": options.cpu_time}
            done = subprocess.run([python, "-B", __file__, "--job", json.dumps(job)], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  env={**os.environ, "ASSAY_LIBRARY": str(options.bin.resolve()), "OMP_NUM_THREADS": str(options.threads)})
            if done.returncode:
                sys.exit(f"{mode}: {done.stderr[-3000:]}")
            found.append(json.loads(done.stdout.strip().split("\n")[-1]))
    return min(found, key=lambda each: each["recorded"] - each["plain"])


def added(found: dict) -> float:
    """Milliseconds for an entry."""
    return max(found["recorded"] - found["plain"], 0.0) / max(found["entries"], 1) * 1000


def row(name: str, found: dict, note: str) -> str:
    return (f"| {name} | {found['plain'] * 1000:.1f} ms | {found['recorded'] * 1000:.1f} ms | {found['recorded'] / found['plain']:.2f}x | "
            f"{found['entries']} | {added(found):.3f} ms | {note} |")


HEAD = ["| what | plain step | recorded step | ratio | entries | added for an entry | |", "|---|---|---|---|---|---|---|"]
CPU = {"layers": 4, "hidden": 256, "inner": 688, "heads": 4, "words": 1000, "batch": 2, "length": 64, "device": "cpu"}
LLAMA = {"layers": 16, "hidden": 4096, "inner": 11008, "heads": 32, "words": 32000, "batch": 1, "length": 2048, "device": "cuda"}


def wanted(modes: dict, has_msprobe: bool) -> dict:
    return {name: mode for name, mode in modes.items() if has_msprobe or mode[0] != "msprobe"}


def page(options, has_cuda: bool, has_msprobe: bool, about: str) -> list[str]:
    lines = ["# What recording PyTorch costs a training step", "", f"Made by `bench/capture_torch.py`. {about}",
             f"{'CPU time of all threads' if options.cpu_time else 'Time'} of a step: forward, backward and the optimizer's step, the dump of it "
             "written. Medians of "
             f"{options.steps} steps; the run of {options.repeats} that adds least; plain steps are of the same process.", "",
             "## On the CPU: a decoder of 4 layers, hidden size 256", "", *HEAD]
    with tempfile.TemporaryDirectory() as scratch:
        modes = wanted(CPU_MODES, has_msprobe) if options.on != "cuda" else {}
        found = {name: run(options.python, mode, CPU, options, pathlib.Path(scratch)) for name, mode in modes.items()}
        for name, each in found.items():
            note = ""
            theirs = found.get("msprobe L0" if "modules" in name else "msprobe L1")
            if not name.startswith("msprobe") and theirs is not None:
                times = added(theirs) / max(added(each), 1e-9)
                note = f"{times:.1f} times less than msprobe{'' if times >= TIMES_LESS else ' (asked: 10)'}"
            lines.append(row(name, each, note))
        lines += ["", "## On a GPU: 16 layers, hidden size 4096, bf16, one sequence of 2048", ""]
        if options.on == "cpu":
            return [*lines, "Not asked for."]
        if not has_cuda:
            lines += ["Not run: this machine has no CUDA device. The script runs it where there is one; the targets are ratios to the plain "
                      "step of " + ", ".join(f"{ratio} ({name})" for name, ratio in GPU_TARGETS.items()) + "."]
            return lines
        lines += HEAD
        for name, mode in wanted(GPU_MODES, has_msprobe).items():
            each = run(options.python, mode, LLAMA, options, pathlib.Path(scratch))
            target = GPU_TARGETS.get(name)
            note = "" if target is None else f"asked: at most {target}x" + ("" if each["recorded"] <= target * each["plain"] else ", missed")
            if each["bytes"]:
                beyond = each["recorded"] - each["plain"]
                note = f"{each['bytes'] / beyond / 1e9:.2f} GB/s of tensors beyond the step"
                if not name.startswith("msprobe"):
                    plain = run(options.python, ("copies", "", "", ""), LLAMA, options, pathlib.Path(scratch), each["sizes"])["recorded"]
                    note += f"; plain copies and writes of the same bytes take {plain:.2f} s, {plain / beyond:.2f} of this (asked: 0.8)"
            lines.append(row(name, each, note))
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", default=sys.executable, help="a Python with torch 2 and mindstudio-probe")
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build" / "release")
    parser.add_argument("--on", choices=("cpu", "cuda"), help="one of the two alone")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--cpu-time", action="store_true", help="time of the CPU, of all threads: for a machine that does other things too")
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--note", default="", help="about the machine, for the page")
    parser.add_argument("--job", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.job:
        sys.path.pop(0)  # where another benchmark has the name of msprobe
        print(json.dumps(measure(json.loads(options.job))))
        return
    about = subprocess.run([options.python, "-c", "import torch, importlib.metadata as m; print(torch.cuda.is_available(), torch.__version__, "
                            "*(each.version for each in m.distributions(name='mindstudio-probe')))"],
                           text=True, stdout=subprocess.PIPE, check=True).stdout.split()
    theirs = f"msprobe {about[2]}" if len(about) > 2 else "no msprobe"
    text = "\n".join(page(options, about[0] == "True", len(about) > 2,
                          f"PyTorch {about[1]}, {theirs}, {options.threads} thread. {options.note}".strip()))
    if options.out:
        options.out.write_text(text + "\n")
    print(text)


if __name__ == "__main__":
    main()
