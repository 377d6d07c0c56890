#!/usr/bin/python3
"""Checks Assay against NumPy and PyTorch: they write files that Assay reads and measures, and read files that it writes.

    check_python.py --bin build/release [--seed N] [--keep FOLDER]

Every tensor is one check for its statistics, one for its metrics, and one for each conversion. The expected numbers are
NumPy's, in float64. Ends with 'N passed, N failed'.
"""
from __future__ import annotations

import argparse
import collections
import json
import math
import pathlib
import random
import struct
import subprocess
import sys
import tempfile

import numpy
import torch

from checker import Count
from numpy_metrics import components, metrics_of, statistics_of

NUMPY_TYPES = ["float64", "float32", "float16", "int64", "int32", "int16", "int8", "uint64", "uint32", "uint16", "uint8",
               "bool", "complex64", "complex128"]
NAMES = {"float64": "f64", "float32": "f32", "float16": "f16", "bfloat16": "bf16", "int64": "i64", "int32": "i32",
         "int16": "i16", "int8": "i8", "uint64": "u64", "uint32": "u32", "uint16": "u16", "uint8": "u8",
         "bool": "bool", "complex64": "c64", "complex128": "c128"}
SHAPES = [(), (1,), (0,), (7,), (3, 5), (0, 4), (2, 3, 4), (16, 17), (1, 1, 9), (65539,), (131, 517)]
# Sums are rounded in another order than NumPy's; quotients of f32 elements are formed in f32.
QUOTIENTS = ("max_rel", "mean_rel", "max_rel_msit", "mean_rel_msit", "max_rel_msprobe")
TOLERANCE = {name: 2e-7 for name in QUOTIENTS} | {"cosine": 1e-12, "kl": 1e-8}


def close(found: object, expected: object, tolerance: float, slack: float) -> bool:
    if expected is None or isinstance(expected, (int, str, list)):
        return found == expected
    # JSON has no word for NaN and infinity; a report writes a text or null.
    if found is None or isinstance(found, str):
        return not math.isfinite(expected) and (found is None or str(float(found)) == str(expected))
    return math.isclose(found, expected, rel_tol=tolerance, abs_tol=max(slack, 1e-300))


# ----- the tensors

def random_array(rng: numpy.random.Generator, dtype: str, shape: tuple[int, ...]) -> numpy.ndarray:
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.startswith(("int", "uint")):
        limits = numpy.iinfo(dtype)
        return rng.integers(limits.min, limits.max, shape, dtype=dtype, endpoint=True)
    if dtype.startswith("complex"):
        return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(dtype)
    return (rng.standard_normal(shape) * 10.0 ** rng.integers(-3, 4)).astype(dtype)


def disturbed(rng: numpy.random.Generator, golden: numpy.ndarray) -> numpy.ndarray:
    """The same with some elements changed: a little, or to NaN, infinity and zero."""
    mine = numpy.array(golden)
    flat = mine.reshape(-1)
    if flat.size == 0:
        return mine
    if mine.dtype.kind in "fc":
        flat *= (1 + 1e-3 * rng.standard_normal(flat.size)).astype(mine.real.dtype)
        if flat.size > 6:
            places = rng.choice(flat.size, 4, replace=False)
            flat[places] = [numpy.nan, numpy.inf, -numpy.inf, 0]
    else:
        places = rng.integers(0, flat.size, max(1, flat.size // 9))
        flat[places] = random_array(rng, str(mine.dtype), places.shape)
    return mine


def strided(array: numpy.ndarray) -> numpy.ndarray:
    """The same values, scattered in memory."""
    if array.ndim == 0:
        return array
    wide = numpy.zeros((*array.shape[:-1], array.shape[-1] * 2), dtype=array.dtype)
    wide[..., ::2] = array
    return wide[..., ::2]


def pairs(rng: numpy.random.Generator) -> dict[str, tuple[numpy.ndarray, numpy.ndarray]]:
    out = {}
    for dtype in NUMPY_TYPES:
        for number, shape in enumerate(SHAPES):
            if math.prod(shape) > 1000 and dtype in ("int16", "uint16", "uint32", "bool"):
                continue  # the large ones show nothing new for these
            golden = random_array(rng, dtype, shape)
            out[f"{dtype}_{number}"] = (disturbed(rng, golden), golden)
    specials = numpy.array([0.0, -0.0, numpy.nan, numpy.inf, -numpy.inf, 1e-45, 3e38, 1.0], dtype=numpy.float32)
    out["specials_same"] = (specials, specials)
    out["specials_turned"] = (specials, numpy.roll(specials, 1))
    out["zeros"] = (numpy.zeros(5, numpy.float32), numpy.zeros(5, numpy.float32))
    out["zero_golden"] = (numpy.arange(5, dtype=numpy.float32), numpy.zeros(5, numpy.float32))
    for dtype in ("float16", "float32", "float64"):  # NaN and Inf in the same places, zeros in golden
        golden = random_array(rng, dtype, (41, 53))
        mine = golden * (1 + 2e-3 * rng.standard_normal(golden.shape)).astype(dtype)
        golden[3], mine[4, :5], golden[4, :5] = 0, 0, 0
        out[f"zeros_{dtype}"] = (mine, golden)
        mine, golden = mine.copy(), golden.copy()
        mine[7, :3], golden[7, :3] = (numpy.nan, numpy.inf, numpy.inf), (numpy.nan, -numpy.inf, numpy.inf)
        out[f"same_kinds_{dtype}"] = (mine, golden)
    out["mixed_types"] = (golden_like(rng).astype(numpy.float16), golden_like(rng).astype(numpy.float64))
    return out


def golden_like(rng: numpy.random.Generator) -> numpy.ndarray:
    return rng.standard_normal((33, 65))


# ----- what Assay says

class Assay:
    def __init__(self, bin_folder: pathlib.Path, folder: pathlib.Path):
        self.program = bin_folder / "assay"
        self.folder = folder

    def run(self, *args: object, expect: tuple[int, ...] = (0,)) -> str:
        done = subprocess.run([self.program, *map(str, args)], cwd=self.folder, capture_output=True, text=True, timeout=300)
        if done.returncode not in expect:
            raise RuntimeError(f"assay {' '.join(map(str, args))}: exit {done.returncode}\n{done.stderr}")
        return done.stdout

    def compare(self, mine: str, golden: str) -> dict[str, dict]:
        """The rows of the report, by the name of the tensor."""
        text = self.run("compare", mine, golden, "--metrics", "all", "--report", "json", "--output", "-", expect=(0, 1))
        return {pathlib.Path(row["mine"]).name: row for row in json.loads(text)["rows"]}

    def inspect(self, *paths: object) -> list[dict]:
        return json.loads(self.run("inspect", "--json", *paths))


def differences(found: dict, expected: dict, largest: float) -> list[str]:
    """Lines that say where the two differ. `largest`: the largest finite value, which sums of both signs are rounded to."""
    problems = []
    for key, value in expected.items():
        slack = 1e-13 * max(largest, 1.0) if key in ("bias", "mean", "mine_mean", "golden_mean", "std", "kl") else 0.0
        if key not in found:
            problems.append(f"{key}: missing")
        elif not close(found[key], value, TOLERANCE.get(key, 1e-9), slack):
            problems.append(f"{key}: {found[key]} found, {value} expected")
    return problems


def largest_of(*arrays: numpy.ndarray) -> float:
    values = numpy.concatenate([components(array).astype(numpy.float64) for array in arrays])
    return float(numpy.abs(values[numpy.isfinite(values)]).max(initial=0))


# ----- the checks

def write_all(folder: pathlib.Path, arrays: dict[str, numpy.ndarray], variant: int) -> None:
    """Every tensor as a file of its own: C order, Fortran order, big-endian by turns; torch's two containers likewise."""
    folder.mkdir(parents=True)
    for number, (name, array) in enumerate(arrays.items()):
        turn = (number + variant) % 5
        if turn == 3 and array.dtype.kind in "fib" and array.dtype.itemsize > 0:
            torch.save(torch.from_numpy(numpy.array(array)), folder / f"{name}.pt")
        elif turn == 4 and array.dtype.kind in "fib":
            tensor = torch.from_numpy(numpy.array(strided(array), copy=False))
            torch.save(tensor, folder / f"{name}.pt", _use_new_zipfile_serialization=False)
        else:
            layout = [array, numpy.asarray(array, order="F"), array.astype(array.dtype.newbyteorder(">"))][turn % 3]
            numpy.save(folder / f"{name}.npy", layout)


def check_metrics(checks: Count, assay: Assay, data: dict[str, tuple[numpy.ndarray, numpy.ndarray]]) -> None:
    write_all(assay.folder / "mine", {name: pair[0] for name, pair in data.items()}, 0)
    write_all(assay.folder / "golden", {name: pair[1] for name, pair in data.items()}, 0)
    rows = {pathlib.Path(name).stem: row for name, row in assay.compare("mine", "golden").items()}
    for name, (mine, golden) in data.items():
        if name not in rows:
            checks.check(f"metrics of {name}", ["no row in the report"])
            continue
        checks.check(f"metrics of {name}", differences(rows[name], metrics_of(mine, golden), largest_of(mine, golden)))


def check_statistics(checks: Count, assay: Assay, data: dict[str, tuple[numpy.ndarray, numpy.ndarray]]) -> None:
    paths = sorted((assay.folder / "mine").iterdir())
    for path, found in zip(paths, assay.inspect(*paths), strict=True):
        array = data[path.stem][0]
        problems = differences(found, statistics_of(array), largest_of(array))
        stated = (found["dtype"], found["shape"])
        wanted = (NAMES[str(array.dtype)], list(array.shape))
        if stated != wanted:
            problems.append(f"{stated} found, {wanted} expected")
        checks.check(f"statistics of {path.name}", problems)


def bits(array: numpy.ndarray) -> tuple:
    return str(array.dtype.newbyteorder("=")), array.shape, numpy.ascontiguousarray(array).tobytes()


def load(path: pathlib.Path) -> dict[str, numpy.ndarray]:
    """The tensors of a file, read by NumPy, torch or a few lines of our own."""
    if path.suffix == ".npy":
        return {"": numpy.load(path)}
    if path.suffix == ".npz":
        with numpy.load(path) as archive:
            return {name: archive[name] for name in archive.files}
    if path.suffix == ".pt":
        value = torch.load(path)
        return {name: tensor.numpy() for name, tensor in value.items()} if isinstance(value, dict) else {"": value.numpy()}
    content = path.read_bytes()  # .safetensors
    length = struct.unpack_from("<Q", content)[0]
    types = {"F64": "f8", "F32": "f4", "F16": "f2", "I64": "i8", "I32": "i4", "I16": "i2", "I8": "i1", "U8": "u1", "BOOL": "?"}
    out = {}
    for name, entry in json.loads(content[8:8 + length]).items():
        if name != "__metadata__":
            first, last = (8 + length + offset for offset in entry["data_offsets"])
            out[name] = numpy.frombuffer(content[first:last], types[entry["dtype"]]).reshape(entry["shape"])
    return out


def check_conversions(checks: Count, assay: Assay, rng: numpy.random.Generator) -> None:
    arrays = {dtype: disturbed(rng, random_array(rng, dtype, (3, 4)))
              for dtype in ("float64", "float32", "float16", "int64", "int32", "int16", "int8", "uint8", "bool")}
    numpy.savez(assay.folder / "all.npz", **arrays)
    for suffix in (".npz", ".pt", ".safetensors"):
        assay.run("convert", "all.npz", f"all_out{suffix}")
        loaded = load(assay.folder / f"all_out{suffix}")
        for name, array in arrays.items():
            same = name in loaded and bits(loaded[name]) == bits(array)
            checks.check(f"all.npz to {suffix}: {name}", [] if same else [f"{array} became {loaded.get(name)}"])
    for name, array in arrays.items():
        numpy.save(assay.folder / f"one_{name}.npy", array)
        for suffix in (".pt", ".npy"):
            target = f"one_{name}_out{suffix}"
            assay.run("convert", f"one_{name}.npy", target)
            found = next(iter(load(assay.folder / target).values()))
            checks.check(f"one_{name}.npy to {suffix}", [] if bits(found) == bits(array) else [f"{array} became {found}"])

    # Rounding to a smaller type is torch's.
    wide = torch.randn(1000, generator=torch.Generator().manual_seed(5), dtype=torch.float64) * 100
    torch.save(wide, assay.folder / "wide.pt")
    for name, dtype in (("bf16", torch.bfloat16), ("f16", torch.float16), ("f32", torch.float32)):
        assay.run("convert", "wide.pt", f"wide_{name}.pt", "--dtype", name)
        found = torch.load(assay.folder / f"wide_{name}.pt")
        found = next(iter(found.values())) if isinstance(found, dict) else found
        # torch rounds f64 to bf16 by way of f32.
        expected = wide.to(dtype) if dtype != torch.bfloat16 else wide.to(torch.float32).to(dtype)
        different = int((found != expected).sum()) if found.dtype == dtype else -1
        checks.check(f"wide.pt to {name}", [] if different == 0 else [f"{different} elements differ ({found.dtype})"])


def check_bfloat16(checks: Count, assay: Assay) -> None:
    """NumPy has no bfloat16; torch does."""
    generator = torch.Generator().manual_seed(3)
    golden = torch.randn(37, 41, generator=generator).bfloat16()
    mine = (golden.float() * (1 + 0.01 * torch.randn(37, 41, generator=generator))).bfloat16()
    for folder, tensor in (("bf16_mine", mine), ("bf16_golden", golden)):
        (assay.folder / folder).mkdir()
        torch.save({"plain": tensor, "turned": tensor.t(), "part": tensor[3:20:2, 5:]}, assay.folder / folder / "m.pt")
    views = {"plain": (mine, golden), "turned": (mine.t(), golden.t()), "part": (mine[3:20:2, 5:], golden[3:20:2, 5:])}
    text = assay.run("compare", "bf16_mine/m.pt", "bf16_golden/m.pt", "--metrics", "all", "--report", "json", "--output", "-",
                     expect=(0, 1))
    rows = {row["mine"].removeprefix("m.pt").strip("/:"): row for row in json.loads(text)["rows"]}
    for name, (a, b) in views.items():
        a, b = a.float().numpy(), b.float().numpy()
        expected = {key: value for key, value in metrics_of(a, b).items() if not key.endswith(("crc32", "md5", "ulp_max", "ulp_mean"))}
        problems = differences(rows[name], expected, largest_of(a, b)) if name in rows else ["no row"]
        checks.check(f"metrics of bf16 {name}", problems)


# ----- objects of all kinds in a file of torch.save; at the top of the module, where pickle finds their classes

class Thing:
    pass


class Slots:
    __slots__ = ("first", "second")


class NamedDict(collections.OrderedDict):
    pass


class NamedList(list):
    pass


class Sub(torch.Tensor):
    pass


Pair = collections.namedtuple("Pair", "left right")


class Nest:
    """A random nest of objects with tensors in every place that pickle knows; each tensor holds its own number."""

    def __init__(self, chance: random.Random) -> None:
        self.chance, self.count = chance, 0

    def tensor(self) -> torch.Tensor:
        self.count += 1
        made = torch.full((self.chance.randrange(1, 4),), float(self.count))
        kind = self.chance.randrange(6)
        if kind == 0:
            return torch.nn.Parameter(made)
        if kind == 1:
            made = made.as_subclass(Sub)
            made.more = self.thing(9)
        return made

    def thing(self, depth: int) -> object:
        chance = self.chance
        if depth > 3 or chance.random() < 0.25:
            return self.tensor() if chance.random() < 0.7 else chance.choice([1, 2.5, "text", None, b"bytes", True])
        children = [self.thing(depth + 1) for _ in range(chance.randrange(1, 4))]
        names = [f"k{i}" for i in range(len(children))]
        kind = chance.randrange(12)
        if kind == 0:
            return children
        if kind == 1:
            return tuple(children)
        if kind == 2:
            return {self.tensor(), 1, frozenset([self.tensor()])}
        if kind == 3:
            made = collections.OrderedDict(zip(names, children))
            made.attribute = self.tensor()
            return made
        if kind == 4:
            made = NamedDict(zip(names, children))
            made.attribute = self.tensor()
            return made
        if kind == 5:
            made = NamedList(children)
            made.attribute = self.tensor()
            return made
        if kind == 6:
            made = Thing()
            made.__dict__.update(zip(names, children))
            made.itself = made
            return made
        if kind == 7:
            made = Slots()
            made.first, made.second = children[0], self.tensor()
            return made
        if kind == 8:
            return {self.tensor(): children[0], (1, self.tensor()): 2, 7: 3}
        if kind == 9:
            return Pair(children[0], self.tensor())
        if kind == 10:
            module = torch.nn.Module()
            module.register_buffer("buffer", self.tensor().detach())
            module.other = children
            return module
        return collections.defaultdict(list, zip(names, children))


def numbers_in(thing: object, seen: set[int]) -> set[float]:
    """The number of every tensor that Python can get at from here."""
    if id(thing) in seen:
        return set()
    seen.add(id(thing))
    found = {float(thing.detach().reshape(-1)[0])} if isinstance(thing, torch.Tensor) else set()
    parts = list(getattr(thing, "__dict__", {}).values()) + [getattr(thing, name) for name in getattr(thing, "__slots__", ())
                                                             if isinstance(name, str) and hasattr(thing, name)]
    if isinstance(thing, dict):
        parts += [*thing.keys(), *thing.values()]
    elif isinstance(thing, (list, tuple, set, frozenset)):
        parts += list(thing)
    return found.union(*(numbers_in(part, seen) for part in parts))


def check_objects(checks: Count, assay: Assay, seed: int) -> None:
    """Every tensor is found, wherever it is; and a file compares equal to itself."""
    chance = random.Random(seed)
    for number in range(40):
        nest = Nest(chance)
        made = {"all": nest.thing(0), "one": nest.tensor()}
        name = f"objects_{number}.pt"
        torch.save(made, assay.folder / name, pickle_protocol=chance.choice([2, 3, 4, 5]),
                   _use_new_zipfile_serialization=number % 3 > 0)
        found = {row.get("max") for row in assay.inspect(name) if "value" not in row}
        expected = numbers_in(made, set())
        checks.check(f"tensors in {name}", [] if found == expected else [f"{found ^ expected} of {sorted(expected)}"])
        assay.run("compare", name, name)
        # Whatever becomes of the containers, every tensor is in what is written.
        assay.run("convert", name, f"written_{name}")
        written = numbers_in(torch.load(assay.folder / f"written_{name}"), set())
        checks.check(f"{name} to .pt", [] if written == expected else [f"{written ^ expected} of {sorted(expected)}"])


def plain_nest(chance: random.Random, depth: int) -> object:
    """Containers, tensors and values that a .pt keeps as they are."""
    kind = chance.randrange(9) if depth > 0 else chance.choice([0, 1, 3])
    count = chance.randrange(4)
    if kind == 0:
        keys = chance.sample(["a", "b.c", "", 7, -1, 2.5, None, True, "é"], count)
        return {key: plain_nest(chance, depth + 1) for key in keys} if depth < 5 else {}
    if kind in (1, 2):
        things = [plain_nest(chance, depth + 1) for _ in range(count)] if depth < 5 else []
        return things if kind == 1 else tuple(things)
    if kind == 3:
        made = collections.OrderedDict((f"k{i}", plain_nest(chance, depth + 1)) for i in range(count if depth < 5 else 0))
        if chance.random() < 0.3:
            made._metadata = {"version": plain_nest(chance, 6)}
        return made
    if kind == 4:
        return torch.tensor([chance.random() for _ in range(count)])
    return chance.choice([None, True, False, 0, -5, 2**40, 1.5, float("inf"), "text", "", "汉", 255, 65536])


def same_nest(found: object, expected: object) -> bool:
    if type(found) is not type(expected):
        return False
    if isinstance(expected, torch.Tensor):
        return found.dtype == expected.dtype and torch.equal(found, expected)
    if isinstance(expected, dict):
        if not (list(found) == list(expected) and all(same_nest(found[key], expected[key]) for key in expected)):
            return False
        return type(expected) is dict or same_nest(dict(vars(found)), dict(vars(expected)))
    if isinstance(expected, (list, tuple)):
        return len(found) == len(expected) and all(map(same_nest, found, expected))
    return found == expected


def check_nesting(checks: Count, assay: Assay, seed: int) -> None:
    """From .pt to .pt nothing of plain containers is lost."""
    chance = random.Random(seed)
    for number in range(40):
        made = {"nest": plain_nest(chance, 0), "t": torch.ones(2)}
        torch.save(made, assay.folder / "nest.pt", pickle_protocol=chance.choice([2, 3, 4, 5]),
                   _use_new_zipfile_serialization=number % 3 > 0)
        assay.run("convert", "nest.pt", f"nest_{number}.pt")
        found = torch.load(assay.folder / f"nest_{number}.pt")
        checks.check(f"nest {number}", [] if same_nest(found, made) else [f"{made} became {found}"])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True, type=pathlib.Path, help="the folder that holds assay")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=pathlib.Path, help="work in this folder, which must not exist, and leave it")
    args = parser.parse_args()
    checks = Count()
    numpy.seterr(all="ignore")
    with tempfile.TemporaryDirectory(prefix="assay_python_") as temporary:
        folder = args.keep or pathlib.Path(temporary)
        folder.mkdir(exist_ok=args.keep is None)
        assay = Assay(args.bin.resolve(), folder.resolve())
        rng = numpy.random.default_rng(args.seed)
        data = pairs(rng)
        for check, *rest in ((check_metrics, data), (check_statistics, data), (check_conversions, rng), (check_bfloat16,),
                             (check_objects, args.seed), (check_nesting, args.seed)):
            try:
                check(checks, assay, *rest)
            except (RuntimeError, KeyError, ValueError, OSError) as error:
                checks.check(check.__name__, [f"{type(error).__name__}: {error}"])
    print(f"{checks.passed} passed, {checks.failed} failed")
    return checks.failed > 0


if __name__ == "__main__":
    sys.exit(main())
