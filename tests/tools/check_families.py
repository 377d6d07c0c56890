#!/usr/bin/python3
"""Run `assay compare` on pairs of dumps of public model families (atb_families.py), and measure its pairs against what is known
of every tensor: how many of those that both sides hold are paired (recall), how many of the pairs are right (precision).
A clean pair passes; a planted fault is named where the faulty output was dumped on both sides.

    check_families.py --bin build/release [--only bloom] [--all] [--table] [--keep DIR]

A failure is a line 'variant: what is wrong'. The last line is 'N passed, M failed'.
"""
from __future__ import annotations

import argparse
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
from typing import NamedTuple

import torch

import atb_files
from atb_dump_writers import AtbWriter, Node, TorchWriter
from atb_families import FAMILIES, Family, Size, TorchPass, make_weights, module_tree, parameters
from atb_family_graph import GraphPass
from checker import Count

LEAST = 0.995  # of recall and precision
MARGIN = 0.1  # by which experts are chosen: less may go the other way in half precision
DTYPES = {"f16": torch.float16, "bf16": torch.bfloat16}


class Fault:
    """The first output of a key that is wrong by a factor."""

    def __init__(self, key: str, factor: float) -> None:
        self.key, self.factor = key, factor
        self.hits: list[str] = []
        self.struck: set[str] = set()

    def strike(self, node: Node, _ranks: int) -> None:
        for value in node.outputs:
            if value.key.removesuffix("~") != self.key or self.struck:
                continue
            self.struck.add(value.key)
            self.hits.append(node.path)
            value.shards = [(shard.double() * self.factor).to(shard.dtype) for shard in value.shards]


class Hooks(TorchWriter):
    """Notes what every file holds."""

    def __init__(self, root: pathlib.Path, modules: dict[str, str]) -> None:
        super().__init__(root, 3100, module_tree(modules), False, True)
        self.keys: dict[tuple[int, str], str] = {}

    def note(self, module: str, _kind: str, inputs: list, outputs: dict) -> None:
        self.record(module, [x for x, _ in inputs], {stem: x for stem, (x, _) in outputs.items()})
        for i, (_, key) in enumerate(inputs):
            self.keys[self.token, f"root.{module}/input_{i}.pth"] = key
        for stem, (_, key) in outputs.items():
            self.keys[self.token, f"root.{module}/{stem}.pth"] = key


class Variant(NamedTuple):
    family: str
    ranks: int = 1
    requests: int = 1
    dtype: str = "f16"
    weights: bool = False
    fault: str = ""  # a key
    exchanged: bool = False  # ATB is golden

    def title(self) -> str:
        words = [self.family, f"tp {self.ranks}", self.dtype] + [f"{self.requests} requests"] * (self.requests > 1)
        words += ["weights"] * self.weights + ["exchanged"] * self.exchanged + [f"fault in {self.fault}"] * bool(self.fault)
        return ", ".join(words)


class Truth(NamedTuple):
    mine: dict[tuple[int, str], str]  # by token and file
    golden: dict[tuple[int, str], str]
    folders: list[str]  # of the fault


def settled(family: Family, s: Size) -> tuple[Size, dict, list[torch.Tensor]]:
    """Weights with which experts are chosen clearly, and the inputs of the tokens."""
    for seed in range(s.seed, s.seed + 200):
        own = s._replace(seed=seed)
        weights = make_weights(family, own)
        ids = [torch.randint(s.vocab, (s.requests, s.prompt), generator=torch.Generator().manual_seed(seed + 1))]
        model = TorchPass(family, own, weights, lambda *_: None)
        past = 0
        for _ in range(s.tokens):
            logits = model.run(ids[-1], past)
            past += ids[-1].shape[1]
            ids.append(logits[:, -1:].argmax(-1))
        if model.margin > MARGIN:
            return own, weights, ids[:-1]
    sys.exit("no seed gives clear choices")


def make(out: pathlib.Path, variant: Variant, tokens: int = 2) -> Truth:
    family = FAMILIES[variant.family]
    s, weights, ids = settled(family, Size(requests=variant.requests, ranks=variant.ranks, dtype=DTYPES[variant.dtype],
                                           tokens=tokens))
    modules: dict[str, str] = {}
    TorchPass(family, s, weights, lambda module, kind, *_: modules.setdefault(module, kind)).run(ids[0], 0)
    for name in list(modules):  # experts that the first token is not given to
        if ".experts." in name:
            for i in range(family.experts):
                modules.setdefault(re.sub(r"experts\.\d+", f"experts.{i}", name), modules[name])
    hooks = Hooks(out / "golden" / "msit_dump_20250101_115900", modules)
    if variant.weights:
        named = parameters(family, s, weights)
        for folder in hooks.folders:
            (folder / "weights").mkdir()
            for name, (tensor, key) in named.items():
                torch.save(torch.nn.Parameter(tensor.clone()), folder / "weights" / f"root.{name}.pth")
                hooks.keys[0, f"weights/root.{name}.pth"] = key
    fault = Fault(variant.fault, 1.5) if variant.fault else None
    writer = AtbWriter(out / "mine" / "msit_dump_20250101_120000", s, 4200, False, False, True, True, fault=fault)
    torch_pass, graph_pass = TorchPass(family, s, weights, hooks.note), GraphPass(family, s, weights, writer)
    past = 0
    for token, given in enumerate(ids):
        hooks.token = token
        torch_pass.run(given, past)
        writer.begin(token, token, 0)
        if fault and token > 0:
            fault.struck = {"one is enough"}
        graph_pass.run(given, past, decode=False)
        writer.end()
        if token == 0:
            writer.write_topology("Model")
        past += given.shape[1]
    mine = {(place.token, "/".join(pathlib.PurePath(place.files[0]).parts[3:])): place.value.key or place.value.weight
            for place in writer.places + writer.weight_places}
    return Truth(mine, hooks.keys, sorted(set(fault.hits)) if fault else [])


class Measure:
    def __init__(self, variant: Variant, truth: Truth, rows: list[dict]) -> None:
        self.variant, self.truth = variant, truth
        family = FAMILIES[variant.family]
        self.known: dict[int, set[str]] = {}
        for (token, _), key in truth.golden.items():
            self.known.setdefault(token, set()).add(key)
        self.family = family
        self.wrong: list[str] = []
        self.right = self.pairs = self.found = self.wanted = 0
        paired: set[tuple[int, str]] = set()
        for row in rows:
            if not row["mine"] or not row["golden"] or row["status"] != "compared":
                continue
            token = int(row["section"].split()[-1])
            self.pairs += 1
            if self.is_right(token, row):
                self.right += 1
                paired.add((token, row["mine"]))
            else:
                key = truth.mine.get((token, row["mine"]), "nothing")
                self.wrong.append(f"token {token}: {row['mine']} ({key}) is paired with {row['golden']}")
        for (token, file), key in truth.mine.items():
            if not any(set(keys) <= self.known[token] for keys in self.meant(token, key)):
                continue
            self.wanted += 1
            self.found += (token, file) in paired
            if (token, file) not in paired:
                self.wrong.append(f"token {token}: {file} ({key}) has no partner")

    def meant(self, token: int, key: str) -> list[list[str]]:
        """What of golden has the numbers of a key: one of these lists, whose tensors stand behind each other."""
        layer, dot, name = key.rpartition(".")
        name = name.removesuffix("~")
        if self.variant.requests > 1 and name in ("position", "positions"):
            return []  # PyTorch has them once for all requests
        found = [[key.removesuffix("~")]]
        if name.endswith(" last"):
            found = [[name.removesuffix(" last")]]
        if key.startswith("w:") and "+" in key:
            found.append(["w:" + part for part in key[2:].split("+")])
        if dot and name == "qkv":
            found.append([f"{layer}.{part}" for part in "qkv"])
        if dot and name in "qkv":
            found.append([f"{layer}.qkv"])  # a part of it
        if dot and name == "gate_up":
            found.append([f"{layer}.{part}" for part in ("gate", "up")])
        if layer.endswith(".e"):
            experts = [i for i in range(self.family.experts) if f"{layer}{i}.in" in self.known[token]]
            found = [[f"{layer}{i}.{part}" for part in (("gate", "up") if name == "gate_up" else (name,)) for i in experts]]
        return found

    def is_right(self, token: int, row: dict) -> bool:
        key = self.truth.mine.get((token, row["mine"]))
        names = []
        for name in row["golden"].split(" + "):
            span = re.search(r"\{([\d.,]+)\}", name)
            first, dots, last = (span[1] if span else "").partition("..")
            each = map(str, range(int(first), int(last) + 1)) if dots else first.split(",")
            names += [name.replace(span[0], i) if span else name for i in each]
        held = [self.truth.golden.get((0 if name.startswith("weights/") else token, name)) for name in names]
        return bool(key) and [each for each in held if each] in self.meant(token, key)


def check(program: pathlib.Path, out: pathlib.Path, variant: Variant) -> tuple[list[str], Measure | None]:
    truth = make(out, variant)
    sides = ["golden", "mine"] if variant.exchanged else ["mine", "golden"]
    done = subprocess.run([program, "compare", *sides, "--report", "json", "--output", "-", "-q"], cwd=out, capture_output=True,
                          text=True)
    try:
        document = json.loads(done.stdout)
    except json.JSONDecodeError:
        return [f"no report: {done.stderr}"], None
    rows, summary = document["rows"], document["summary"]
    if variant.exchanged:
        rows = [row | {"mine": row["golden"], "golden": row["mine"]} for row in rows]
    measured = Measure(variant, truth, rows)
    wrong = []
    if measured.found < LEAST * measured.wanted or measured.right < LEAST * measured.pairs:
        wrong += measured.wrong
    if variant.fault:
        for kind in ("first_divergence", "first_origin"):
            found = summary.get(kind) or {}
            if found.get("name") not in truth.folders or found.get("section") != "token 0":
                wrong.append(f"{kind} is {found.get('section')} {found.get('name')}, planted at {truth.folders}")
    else:
        wrong += [f"{row['section']} {row['mine']} | {row['golden']}: {row['status']}: {row['reason']}; {row['note']}" for row in rows
                  if row["verdict"] in ("fail", "error")]
        if done.returncode:
            wrong.append(f"exit code {done.returncode}")
    return wrong, measured


def faults(family: Family) -> list[str]:
    keys = ["1.attn", "1.norm2", "1.mlp", "0.context", "logits" if not family.gather_head else "norm"]
    keys += ["0.qkv" if family.names.query_key_value and family.kv_heads > 1 else "0.q"]
    keys += ["1.e.act", "1.e.mlp", "1.router"] if family.experts else ["0.act"]
    return keys + (["1.shared.mlp"] if family.shared else [])


def variants(everything: bool) -> list[Variant]:
    found = []
    for i, (name, family) in enumerate(FAMILIES.items()):
        sizes = [(ranks, requests, dtype) for ranks in (1, 2, 4) for requests in (1, 2) for dtype in DTYPES]
        if not everything:
            sizes = [(1, 1, "f16"), (2, 2, "bf16"), (4, 1, "f16" if i % 2 else "bf16")]
        found += [Variant(name, ranks, requests, dtype, weights=requests == 1) for ranks, requests, dtype in sizes]
        found.append(Variant(name, 2, exchanged=True))
        chosen = faults(family)
        for k, key in enumerate(chosen):
            if everything or k % 4 == i % 4:
                found.append(Variant(name, (1, 2)[k % 2] if everything else 1 + (i + k) % 2, fault=key))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, required=True, help="folder of the program")
    parser.add_argument("--only", default="", help="only variants whose name has this in it")
    parser.add_argument("--all", action="store_true", help="every combination; minutes")
    parser.add_argument("--table", action="store_true", help="what was measured, by family")
    parser.add_argument("--keep", type=pathlib.Path, help="new folder for the dumps, which stay")
    args = parser.parse_args()
    torch.set_num_threads(1)
    program = (args.bin / "assay").resolve()
    memory = pathlib.Path("/dev/shm")  # thousands of small files
    count = Count()
    totals: dict[str, list[int]] = {}
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        for variant in variants(args.all):
            title = variant.title()
            if args.only not in title:
                continue
            work = (args.keep or pathlib.Path(folder)) / title.replace(" ", "_")
            wrong, measured = check(program, work, variant)
            count.check_some(title, wrong)
            if measured:
                counts = (1, not wrong, measured.wanted, measured.found, measured.pairs, measured.right)
                totals[variant.family] = [a + b for a, b in zip(totals.get(variant.family, [0] * 6), counts)]
            if not args.keep:
                shutil.rmtree(work)
    if args.table:
        print("| family | runs | right | tensors of both | paired | recall | pairs | precision |\n|---|---|---|---|---|---|---|---|")
        for name, (runs, right, wanted, found, pairs, good) in totals.items():
            print(f"| {name} | {runs} | {right} | {wanted} | {found} | {found / wanted:.2%} | {pairs} | {good / pairs:.2%} |")
    print(f"{count.passed} passed, {count.failed} failed")
    return int(count.failed > 0)


if __name__ == "__main__":
    sys.exit(main())
