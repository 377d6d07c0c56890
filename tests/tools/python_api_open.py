"""Checks of check_python_api.py: assay.open."""
from __future__ import annotations

import gc
import itertools
import json
import os
import pathlib
import threading

import numpy
import torch

from python_api_compare import python, refused

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = ROOT / "tests" / "data"
INDICES = [0, -1, slice(None), slice(1, 3), slice(None, None, 2), slice(None, None, -1), slice(5, 1, -2), slice(9, 9), Ellipsis,
           (0, 1), (slice(1), 2), (Ellipsis, -1), (0, Ellipsis), (slice(None), slice(1, None), slice(None, None, -2)), (1, 2, 3),
           (slice(-2, None), -1, slice(0, 4, 3)), None, [1, 0], (slice(None), [0, 2]), (0, None), ()]


def is_mapped(values: numpy.ndarray) -> bool:
    base = values
    while isinstance(getattr(base, "base", None), numpy.ndarray):
        base = base.base
    return type(base.base).__name__ in ("mmap", "memoryview")


def check_parts(c) -> list[str]:
    """Every index gives what NumPy gives of the whole, from files that can be mapped and from others."""
    import assay

    folder = c.folder("parts")
    whole = numpy.random.default_rng(0).standard_normal((4, 5, 6)).astype(numpy.float32)
    numpy.save(folder / "x.npy", whole)
    numpy.save(folder / "f.npy", numpy.asfortranarray(whole))
    numpy.save(folder / "big.npy", whole.astype(">f4"))
    numpy.savez_compressed(folder / "z.npz", a=whole, s=numpy.float64(3.5))
    torch.save({"w": torch.from_numpy(whole), "turned": torch.from_numpy(whole).permute(2, 0, 1), "n": 3}, folder / "x.pt")
    failures = []
    for path, name, want in (("x.npy", "x.npy", whole), ("f.npy", "f.npy", whole), ("big.npy", "big.npy", whole), ("z.npz", "a", whole),
                             ("x.pt", "w", whole), ("x.pt", "turned", whole.transpose(2, 0, 1))):
        tensor = assay.open(folder / path)[name]
        if tensor.shape != want.shape or tensor.dtype != "f32" or tensor.nbytes != want.nbytes or len(tensor) != want.shape[0]:
            failures.append(f"{path}: {tensor!r}")
        for index in INDICES:
            got = tensor[index]
            if not numpy.array_equal(got, want[index]) or numpy.shape(got) != want[index].shape:
                failures.append(f"{path} {name}[{index}]: {got}")
        if is_mapped(tensor.numpy()) != (path in ("x.npy", "x.pt") and name != "turned"):
            failures.append(f"{path} {name}: {'is' if is_mapped(tensor.numpy()) else 'is not'} a view of the file")
        if not numpy.array_equal(numpy.asarray(tensor), want) or tensor.tolist() != want.tolist():
            failures.append(f"{path} {name}: another whole")
        if not numpy.array_equal(tensor.astype("f16")[1, ::-1], want.astype(numpy.float16)[1, ::-1]) or tensor.astype("f16").dtype != "f16":
            failures.append(f"{path} {name}: as f16")
        failures += [f"{path}: {each}" for each in refused(lambda: tensor[99], IndexError, "99")]
        failures += [f"{path}: {each}" for each in refused(lambda: tensor[0, 0, 0, 0], IndexError)]
    view = assay.open(folder / "x.npy")["x.npy"].numpy()
    failures += refused(lambda: view.__setitem__(0, 1), ValueError, "read-only")
    scalar = assay.open(folder / "z.npz")["s"]
    if scalar.shape != () or float(scalar.numpy()) != 3.5 or scalar.tolist() != 3.5 or scalar[()] != 3.5:
        failures.append(f"a scalar: {scalar!r}")
    failures += refused(lambda: len(scalar), TypeError)
    return failures


def check_only_what_is_asked_for(c) -> list[str]:
    """A part of a file that is deflated far behind, or a file of many GB with holes, costs no more than the part."""
    import resource

    import assay

    folder = c.folder("holes")
    count = 3 << 30
    with open(folder / "x.npy", "wb") as file:
        numpy.lib.format.write_array_header_1_0(file, {"descr": "<f4", "fortran_order": False, "shape": (count // 1024, 1024)})
        begin = file.tell()
        file.truncate(begin + 4 * count)
        file.seek(begin + 4 * 1024 * 1_000_000)
        file.write(numpy.arange(1024, dtype=numpy.float32).tobytes())
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    tensor = assay.open(folder / "x.npy")["x.npy"]
    part, other = tensor[1_000_000, :10].copy(), tensor.astype("f64")[1_000_000, 5:8]
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    good = part.tolist() == list(range(10)) and other.tolist() == [5, 6, 7] and grown < 65536
    return [] if good else [f"{part} {other}, {grown} KiB more"]


def check_types(c) -> list[str]:
    """What NumPy has no type for comes through ml_dtypes, as PyTorch's, or converted; the error says so."""
    import assay

    folder = c.folder("types")
    values = torch.tensor([[1.5, -2.0, 0.0], [3.0, 256.0, -0.5]])
    names = ["float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool", "complex64", "complex128"]
    names += [name for name in ("float8_e4m3fn", "float8_e5m2") if hasattr(torch, name)]
    torch.save({name: values.to(getattr(torch, name)) for name in names}, folder / "x.pt")
    file, failures = assay.open(folder / "x.pt"), []
    try:
        import ml_dtypes
    except ImportError:
        ml_dtypes = None
    for name in names:
        tensor, want = file[name], values.to(getattr(torch, name))
        got = tensor.torch()
        if got.dtype != want.dtype or not torch.equal(got.double() if not got.is_complex() else got,
                                                      want.double() if not want.is_complex() else want):
            failures.append(f"{name}: {got}")
        if name.startswith(("bfloat", "float8")) and ml_dtypes is None:
            failures += refused(tensor.numpy, assay.AssayError, f"{name}: NumPy has no type for", "ml_dtypes", ".numpy('f32')")
            failures += refused(lambda: tensor[0], assay.AssayError, "NumPy has no type for")
        elif tensor.numpy().dtype.name != name:
            failures.append(f"{name}: {tensor.numpy().dtype}")
        if "complex" not in name and not numpy.array_equal(tensor.numpy(numpy.float32), want.float().numpy()):
            failures.append(f"{name} as f32: {tensor.numpy('f32')}")
        if "complex" not in name and tensor.tolist() != want.tolist():
            failures.append(f"{name}: {tensor.tolist()}")
    failures += refused(file["complex64"].tolist, assay.AssayError, ".numpy()")
    failures += refused(lambda: file["float32"].astype("f99"), assay.AssayError, "no element type 'f99'")
    # What PyTorch is given may be written to, and is nobody else's.
    before = (folder / "x.pt").read_bytes()
    own = file["float32"].torch()
    own += 1
    other = file["float32"].torch()
    if (folder / "x.pt").read_bytes() != before or torch.equal(own, other) or not torch.equal(other, values):
        failures.append("writing to a tensor changed another one")
    return failures


def check_lifetimes(c) -> list[str]:
    """Arrays outlive their file; a closed file gives nothing more; readers on other threads end first."""
    import assay

    folder = c.folder("lifetimes")
    want = numpy.arange(1 << 16, dtype=numpy.float32)
    numpy.save(folder / "x.npy", want)
    numpy.savez_compressed(folder / "z.npz", a=want)
    failures = []
    for name, key in (("x.npy", "x.npy"), ("z.npz", "a")):
        with assay.open(folder / name) as file:
            tensor = file[key]
            kept, part, made = tensor.numpy(), tensor[10:20], tensor.torch()
        del file
        gc.collect()
        if not numpy.array_equal(kept, want) or not numpy.array_equal(part, want[10:20]) or made[7] != 7:
            failures.append(f"{name}: arrays changed when it was closed")
        for call in (tensor.numpy, tensor.torch, tensor.stats, lambda: tensor[0], tensor.tolist):
            failures += refused(call, assay.AssayError, name, "is closed")
        alone = assay.open(folder / name)[key]  # keeps its file
        gc.collect()
        if not numpy.array_equal(alone.numpy(), want):
            failures.append(f"{name}: a tensor without its file")
        file = assay.open(folder / name)
        tensor, seen = file[key], []

        def read() -> None:
            try:
                while True:
                    seen.append(numpy.array_equal(tensor.astype("f64").numpy(), want))
            except assay.AssayError as trouble:
                seen.append("is closed" in str(trouble))

        readers = [threading.Thread(target=read) for _ in range(4)]
        for each in readers:
            each.start()
        while len(seen) < 20:
            pass
        file.close()
        file.close()
        for each in readers:
            each.join(20)
        if not all(seen) or any(each.is_alive() for each in readers):
            failures.append(f"{name}: readers while it is closed: {seen.count(False)} wrong")
    file = assay.open(folder / "x.npy")
    tensor = file["x.npy"]
    os.truncate(folder / "x.npy", 1000)
    failures += refused(tensor.numpy, assay.AssayError, "shorter")
    return failures


def check_mapping(c) -> list[str]:
    import assay

    folder = c.folder("mapping")
    torch.save({"layers": [{"weight": torch.ones(2, 3)}], "epoch": 7}, folder / "x.pt")
    file = assay.open(folder / "x.pt")
    failures = []
    if list(file) != ["layers.0.weight", "epoch"] and list(file) != ["layers.0.weight"]:
        failures.append(f"names: {list(file)}")
    if "layers.0.weight" not in file or "nothing" in file or file.get("nothing") is not None or len(file) != len(list(file)):
        failures.append("the mapping")
    if [name for name, tensor in file.items() if tensor.state == "data"] != ["layers.0.weight"] or file[0].name != "layers.0.weight":
        failures.append("items")
    failures += refused(lambda: file["layers.0.weigt"], KeyError, "did you mean 'layers.0.weight'")
    failures += refused(lambda: file[9], IndexError)
    stats = file["layers.0.weight"].stats()
    if (stats["min"], stats["max"], stats["nan"], stats["norm"]) != (1.0, 1.0, 0, 6 ** 0.5):
        failures.append(f"statistics: {stats}")
    only = assay.open(folder / "x.pt", only="*.bias")
    if len(only) != 0:
        failures.append("--only")
    (folder / "raw.dat").write_bytes(numpy.arange(6, dtype=numpy.int16).tobytes())
    raw = assay.open(folder / "raw.dat", dtype=numpy.int16, shape=(2, 3))[0]
    if raw.tolist() != [[0, 1, 2], [3, 4, 5]]:
        failures.append(f"raw: {raw!r}")
    failures += refused(lambda: assay.open(folder / "nothing.pt"), assay.AssayError, "no such file")
    (folder / "broken.npy").write_bytes(b"\x93NUMPY\x01\x00")
    numpy.save(folder / "good.npy", numpy.ones(3))
    whole = assay.open(folder, skip="raw*")
    broken = next(tensor for name, tensor in whole.items() if "broken" in name)
    failures += refused(broken.numpy, assay.AssayError, "broken.npy")
    if broken.state != "broken" or "broken.npy" not in repr(broken) or whole["good.npy"].tolist() != [1, 1, 1]:
        failures.append(f"a folder: {broken!r}")
    return failures


def check_dumps(c) -> list[str]:
    """Dumps of ranks and steps, and those that keep statistics alone: as inspect lists them."""
    import assay

    failures = []
    dumps = sorted({path.parent for path in (DATA / "msprobe").rglob("dump.json")}) + [DATA / "atb" / "atb_logits", DATA / "ge"]
    seen = set()
    for dump in dumps:
        done = c.start(["inspect", str(dump), "--json", "--names"], c.folder("inspect"))
        listed = json.loads(done.stdout[done.stdout.index("["):done.stdout.rindex("]") + 1])
        file = assay.open(dump)
        tensors = list(file.values())
        if [tensor.name for tensor in tensors] != [each["name"] for each in listed] or len(set(file)) != len(tensors):
            failures.append(f"{dump}: {len(tensors)} tensors, inspect has {len(listed)}")
        for key, tensor in file.items():
            if file[key].describe() != tensor.describe():
                failures.append(f"{dump}: {key} is another one")
            seen.add(tensor.state)
            if tensor.state == "stated" and not (set(tensor.stats()) & {"max", "checksum", "min"} or not tensor.stats()):
                failures.append(f"{dump}: {key}: {tensor.stats()}")
            if tensor.state != "data":
                failures += [f"{dump} {key}: {each}" for each in refused(tensor.numpy, assay.AssayError, tensor.name)]
    if not {"data", "stated"} <= seen:
        failures.append(f"only {seen} were seen")
    folder = c.folder("ranks")
    for rank, step in itertools.product((0, 1), (0, 1)):
        place = folder / f"step{step}" / f"rank{rank}"
        (place / "dump_tensor_data").mkdir(parents=True)
        name = "Torch.relu.0.forward.output.0.pt"
        torch.save(torch.full((2,), 10.0 * rank + step), place / "dump_tensor_data" / name)
        entry = {"type": "torch.Tensor", "dtype": "torch.float32", "shape": [2], "Max": 0, "Min": 0, "Mean": 0, "Norm": 0,
                 "requires_grad": False, "data_name": name}
        (place / "dump.json").write_text(json.dumps({"task": "tensor", "level": "L1", "framework": "pytorch",
                                                     "dump_data_dir": str(place / "dump_tensor_data"),
                                                     "data": {"Torch.relu.0.forward": {"input_args": [], "input_kwargs": {}, "output": [entry]}}}))
    file = assay.open(folder)
    found = {key: float(tensor.torch()[0]) for key, tensor in file.items()}
    if sorted(found.values()) != [0, 1, 10, 11] or not all(" " in key.split("/")[0] for key in found):
        failures.append(f"ranks and steps: {found}")
    failures += refused(lambda: file[next(iter(file.values())).name], KeyError, "several places")
    return failures


def check_without_others(c) -> list[str]:
    """Nothing but the standard library: no NumPy, no PyTorch, and none is imported where they are."""
    folder = c.folder("without")
    numpy.save(folder / "x.npy", numpy.arange(6, dtype=numpy.float32).reshape(2, 3))
    text = """
import sys
sys.modules["numpy"] = sys.modules["torch"] = None
import assay
file = assay.open("x.npy")
print(file["x.npy"].tolist(), file["x.npy"].stats()["max"], assay.compare("x.npy", "x.npy").verdict)
try:
    file["x.npy"].numpy()
except assay.AssayError as trouble:
    print(trouble)
"""
    done = python(text, folder)
    lines = done.stdout.splitlines()
    good = lines[:1] == ["[[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]] 5.0 pass"] and "NumPy is not installed" in lines[-1] and len(lines) == 2
    failures = [] if good else [done.stdout]
    text = ("import sys, assay; assay.compare('x.npy', 'x.npy'); assay.open('x.npy')['x.npy'].stats(); assay.testing.assert_close(1.0, 1.0)\n"
            "print(sorted({'numpy', 'torch', 'pandas'} & set(sys.modules)))")
    done = python(text, folder)
    return failures + ([] if done.stdout == "[]\n" else [done.stdout])


OPEN_CHECKS = {"parts": check_parts, "only what is asked for": check_only_what_is_asked_for, "types": check_types,
               "lifetimes": check_lifetimes, "mapping": check_mapping, "dumps": check_dumps, "without others": check_without_others}
