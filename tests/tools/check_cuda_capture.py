#!/usr/bin/python3
"""Recording on an NVIDIA device: numbers measured there, data that come over behind the program's back, streams, CUDA graphs, memory.

    check_cuda_capture.py --bin build/release [--only NAME] [--keep FOLDER]

Without such a device all of it is skipped. ASSAY_TEST_DEVICE=cpu runs what makes sense there, to try the checks themselves.
"""
from __future__ import annotations

import json
import os
import pathlib
import sys
import warnings
import zlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "python" / "compat")]
sys.dont_write_bytecode = True
os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # sums in one order, so that results can be equal to the last bit

import torch  # noqa: E402

import torch_models  # noqa: E402
from checker import Checker, run_checks  # noqa: E402

DEVICE = os.environ.get("ASSAY_TEST_DEVICE", "cuda")
IS_CUDA = DEVICE == "cuda"
MODELS = ("decoder", "conv", "experts", "encoder", "recurrent")
# Mean and norm are rounded to the type: half a unit in its last place, and what f64 sums leave.
CLOSE = {torch.float32: 2e-7, torch.float16: 1e-3, torch.bfloat16: 8e-3}


def expected(tensor: torch.Tensor) -> dict:
    """By torch on the CPU, in f64."""
    plain = tensor.detach().cpu()
    if plain.numel() == 0:
        return dict.fromkeys(("Max", "Min", "Mean", "Norm"))
    if plain.dtype is torch.bool:
        return {"Max": bool(plain.any()), "Min": bool(plain.all()), "Mean": None, "Norm": None}
    if plain.dim() == 0:
        return dict.fromkeys(("Max", "Min", "Mean", "Norm"), plain.item())
    found = {"Max": plain.max().item(), "Min": plain.min().item(), "Mean": None, "Norm": None}
    if plain.dtype in CLOSE:
        wide = plain.double()
        found.update(Mean=wide.mean().item(), Norm=wide.norm().item())
    return found


def differs(told: dict, tensor: torch.Tensor) -> list[str]:
    """What dump.json says of a tensor against the tensor."""
    wanted, found = expected(tensor), []
    for key, value in wanted.items():
        mine = told.get(key)
        same = mine == value or (isinstance(value, float) and isinstance(mine, float) and (value != value and mine != mine))
        if not same and key in ("Mean", "Norm") and isinstance(value, float) and isinstance(mine, float):
            scale = max(abs(value), wanted["Norm"] / tensor.numel() ** 0.5 if key == "Mean" else 0)
            same = abs(mine - value) <= CLOSE[tensor.dtype] * scale or abs(value) > torch.finfo(tensor.dtype).max and abs(mine) == float("inf")
        if not same:
            found.append(f"{key} is {mine}, expected {value}")
    return found


def tensors_in(value) -> list[dict]:
    if isinstance(value, dict):
        return [value] if value.get("type") == "torch.Tensor" else [each for part in value.values() for each in tensors_in(part)]
    return [each for part in value for each in tensors_in(part)] if isinstance(value, list) else []


def dump_of(folder: pathlib.Path, step: int = 0) -> dict:
    (path,) = folder.glob(f"step{step}/*/dump.json")
    return json.loads(path.read_text())["data"]


def odd_tensors() -> list[torch.Tensor]:
    torch.manual_seed(1)
    found = []
    for dtype in (torch.float32, torch.float16, torch.bfloat16, torch.float64):
        for size in (0, 1, 3, 255, 4097, 100_003, 3_000_001):
            found.append((torch.randn(size) * 3 + 0.25).to(dtype))
        found += [torch.full((9000,), float("nan")).to(dtype), torch.tensor([1.0, float("nan"), 2.0]).to(dtype),
                  torch.tensor([float("inf"), 1.0]).to(dtype), torch.full((5000,), -float("inf")).to(dtype), torch.tensor(-1.5).to(dtype),
                  torch.zeros(70_000).to(dtype), (torch.randn(50_000) * 2e4).to(dtype)]
    for dtype in (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool):
        for size in (0, 1, 1021, 200_003):
            found.append(torch.randint(0, 2 if dtype is torch.bool else 100, (size,)).to(dtype))
    found += [torch.tensor([2**62 + 1, -2**62]), torch.tensor(7), torch.tensor(True), torch.full((4000,), True)]
    there = [each.to(DEVICE) for each in found]
    views = [each[1:] for each in there if each.numel() > 1000] + [each[:4096].view(64, 64).t() for each in there if each.numel() > 4096] \
        + [each[:90_000:3] for each in there if each.numel() > 90_000]
    return there + views


def check_numbers(c: Checker) -> list[str]:
    """Every type, size and layout, at every place in memory that a view can begin at."""
    from assay.msprobe.values import Values

    failures, all_of_them = [], odd_tensors()
    for summary in ("statistics", "md5", "xor"):
        values = Values("statistics", summary)
        tensors = [each for each in all_of_them if summary != "xor" or each.dim()]  # of a number xor tells the value
        text = values.at_once({"output": tuple(tensors)}, 2, None)
        if text is None or IS_CUDA and "\1" not in text:
            return [f"{summary}: the native half does not know them: {text and text[:200]}"]
        whole = json.loads(values.native.settled(text, True))["output"]
        for told, tensor in zip(whole, tensors):
            plain = tensor.detach().cpu().contiguous()
            data = plain.reshape(-1).view(torch.uint8).numpy().tobytes() if plain.numel() else b""
            title = f"{summary} {tensor.dtype} {tuple(tensor.shape)} {tensor.stride()} at {tensor.storage_offset()}: "
            if summary != "xor":
                failures += [title + each for each in differs(told, tensor)]
            if summary == "md5" and told["md5"] != f"{zlib.crc32(data):08x}":
                failures.append(f"{title}CRC-32 {told['md5']}, expected {zlib.crc32(data):08x}")
            if summary == "xor" and plain.numel():
                words = 0
                for place in range(0, len(data), 8):
                    words ^= int.from_bytes(data[place:place + 8], "little")
                if told["md5"] != f"0x{words:016x}":
                    failures.append(f"{title}XOR {told['md5']}, expected 0x{words:016x}")
    return failures[:12]


def inputs_of(name: str) -> list:
    return [each.to(DEVICE) if isinstance(each, torch.Tensor) else each for each in torch_models.inputs(name)]


def train(model: torch.nn.Module, name: str, is_bf16: bool = False) -> list[torch.Tensor]:
    with torch.autocast(DEVICE, torch.bfloat16, enabled=is_bf16):
        outputs = torch_models.tensors_of(model(*inputs_of(name)))
    sum(output.float().sum() for output in outputs if output.requires_grad).backward()
    return [*outputs, *(each.grad for each in model.parameters() if each.grad is not None), *model.buffers()]


def check_models(c: Checker) -> list[str]:
    """What is said of each tensor against its data, which went another way; results are the same to the last bit."""
    import assay

    failures = []
    for name in MODELS:
        for is_bf16 in (False, True):
            results = []
            for settings in (None, {}, {"apis": True}, {"apis": True, "stats": True}):
                torch.manual_seed(3)
                model, folder = torch_models.make(name).to(DEVICE), c.folder("capture") / "d"
                if settings is None:
                    results.append(train(model, name, is_bf16))
                    continue
                with assay.capture(folder, model, **settings):
                    results.append(train(model, name, is_bf16))
                title, (rank,) = f"{name}{' bf16' * is_bf16} {settings}: ", (folder / "step0").iterdir()
                told = [each for entry in dump_of(folder).values() for each in tensors_in(entry)]
                if not told or any("Max" not in each for each in told):
                    failures.append(f"{title}{len(told)} tensors, some without numbers")
                for each in told:
                    if "data_name" in each:
                        failures += [f"{title}{each['data_name']}: {problem}" for problem in
                                     differs(each, torch.load(rank / "dump_tensor_data" / each["data_name"]))]
            for other in results[1:]:
                if len(other) != len(results[0]) or not all(torch.equal(a, b) for a, b in zip(results[0], other)):
                    failures.append(f"{name}{' bf16' * is_bf16}: other results")
    return failures[:12]


def check_streams(c: Checker) -> list[str]:
    """Tensors that are freed at once, their memory used again, on two streams in turn; with their data and without."""
    import assay

    failures, count = [], 200
    for stats in (True, False):
        model, folder, streams = torch.nn.Identity(), c.folder("capture") / "d", [torch.cuda.Stream() for _ in range(2)]
        with assay.capture(folder, model, stats=stats):
            for number in range(count):
                with torch.cuda.stream(streams[number % 2]):
                    model(torch.full((1 << 18,), float(number), device=DEVICE))
        entries = dump_of(folder)
        for number in range(count):
            for each in tensors_in(entries[f"Module.root.Identity.forward.{number}"]):
                if each["Max"] != number or each["Min"] != number:
                    failures.append(f"call {number}: {each['Max']}, {each['Min']}")
                elif not stats:
                    (rank,) = (folder / "step0").iterdir()
                    if not torch.load(rank / "dump_tensor_data" / each["data_name"], map_location="cpu").eq(number).all():
                        failures.append(f"{each['data_name']}: other data")
    return failures[:8]


def check_nobody_waits(c: Checker) -> list[str]:
    """PyTorch tells of everything that waits for the device: in a step nothing does."""
    import assay

    for settings in ({}, {"apis": True}):
        model, folder = torch_models.make("encoder").to(DEVICE), c.folder("capture") / "d"
        with assay.capture(folder, model, stats=True, **settings) as cap:
            train(model, "encoder")  # the kernel is compiled
            cap.step()
            inputs = inputs_of("encoder")
            torch.cuda.set_sync_debug_mode("error")
            try:
                outputs = torch_models.tensors_of(model(*inputs))
                sum(output.sum() for output in outputs).backward()
            finally:
                torch.cuda.set_sync_debug_mode("default")
    return []


def check_graphs(c: Checker) -> list[str]:
    """While a graph is captured nothing is looked at; that, and its replays, are told. Recording breaks neither."""
    import assay
    from assay.msprobe.debugger import PrecisionDebugger, forget

    failures = []
    model, x = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.GELU()).to(DEVICE), torch.ones(4, 64, device=DEVICE)

    def graphed() -> torch.Tensor:
        with torch.no_grad():
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                model(x)
            torch.cuda.current_stream().wait_stream(side)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                y = model(x)
            graph.replay()
            return y.clone()

    wanted = graphed()
    for settings in ({"stats": True}, {"apis": True}):
        folder = c.folder("capture") / "d"
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            with assay.capture(folder, model, **settings):
                got = graphed()
        text = " ".join(str(each.message) for each in told)
        if not torch.equal(got, wanted) or "Module.root.Sequential.forward.0" not in dump_of(folder) or "1 replays" not in text:
            failures.append(f"{settings}: {list(dump_of(folder))}: {text}")
    for task in ("statistics", "tensor"):
        forget()
        debugger, folder = PrecisionDebugger(dump_path=str(c.folder("graph")), task=task, level="mix"), None
        try:
            debugger.start(model=model)
            got = graphed()
            debugger.stop()
            debugger.step()
        finally:
            forget()
        if not torch.equal(got, wanted):
            failures.append(f"PrecisionDebugger, {task}: other results")
    return failures


def check_memory(c: Checker) -> list[str]:
    """Statistics take no memory of the device that grows with what is recorded; data take what waits in one batch."""
    import assay

    model = torch.nn.Sequential(*(torch.nn.Linear(1024, 1024) for _ in range(24))).to(DEVICE)
    x = torch.randn(2048, 1024, device=DEVICE)

    def peak(settings) -> int:
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        if settings is None:
            model(x).sum().backward()
        else:
            with assay.capture(c.folder("capture") / "d", model, backward=False, **settings):
                model(x).sum().backward()
        torch.cuda.synchronize()
        return torch.cuda.max_memory_allocated() >> 20

    peak(None)
    plain = peak(None)
    found = {name: peak(settings) - plain for name, settings in (("statistics", {"stats": True}), ("data", {}))}
    return [f"{name}: {more} MiB more than the {plain} MiB of the plain step" for (name, more), most in zip(found.items(), (16, 200)) if more > most]


def main(c: Checker) -> None:
    if IS_CUDA and not torch.cuda.is_available():
        print("skipped: PyTorch finds no CUDA device here")
        c.skipped += 1
        return
    torch.use_deterministic_algorithms(True, warn_only=True)
    of_device = {"streams": check_streams, "nobody waits": check_nobody_waits, "graphs": check_graphs, "memory": check_memory}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        c.report_each({"numbers": check_numbers, "models": check_models, **(of_device if IS_CUDA else {})})


if __name__ == "__main__":
    class CudaChecker(Checker):
        def __init__(self, program: pathlib.Path, work: pathlib.Path, only: str | None) -> None:
            super().__init__(program, work, only)
            os.environ["ASSAY_LIBRARY"] = str(program.parent)

    sys.exit(run_checks(__doc__, CudaChecker, main))
