#!/usr/bin/python3
"""Run `assay compare` on the pairs of dumps that make_atb_dump.py writes, and hold what it says against their truth.json:
what belongs together is compared, nothing else is, without a fault everything passes, with one the first divergence is it.

    check_atb.py --bin build/release [--only ranks] [--keep DIR]

A failure is a line 'variant: what is wrong'. The last line is 'N passed, M failed'.
"""
from __future__ import annotations

import argparse
import contextlib
import hashlib
import io
import itertools
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
import make_atb_dump
from checker import Count
from opened_files import count_opened


class Variant(NamedTuple):
    flags: str
    fault: str = ""  # as --fault has it; the variant is run without it as well
    compare: tuple[str, ...] = ()
    plain_side: str = ""  # the side whose statistics are replaced by the data
    exchanged: bool = False  # the dump of ATB is golden, that of torch mine


VARIANTS = {
    "float": Variant("", "model.layers.0.mlp.up_proj:1.5"),
    "float, inside attention": Variant("", "SelfAttentionOperation_3_0_2:0.5"),
    "fused projection": Variant("", "LinearOperation_2_0_0_0_1:1.5"),
    "last layer": Variant("--layers 3", "model.layers.2.self_attn.o_proj:1.5"),
    "bf16": Variant("--dtype bf16", "model.layers.1.mlp.down_proj:1.5"),
    # Twelve layers drift; a fault of three times that is still seen, in the layer where it is.
    "deep": Variant("--layers 12 --no-weights", "model.layers.10.mlp.down_proj:1.015"),
    "deep bf16": Variant("--layers 12 --no-weights --dtype bf16 --seed 2", "model.layers.9.self_attn.o_proj:1.12"),
    "deep quantised": Variant("--layers 12 --quant --tokens 1", "model.layers.8.mlp.up_proj:1.5"),
    "ranks": Variant("--ranks 2", "model.layers.0.self_attn.v_proj:1.5"),
    "torch against ATB": Variant("", "model.layers.0.mlp.up_proj:1.5", exchanged=True),
    "torch against ranks": Variant("--ranks 2", "model.layers.1.mlp.down_proj:1.5", exchanged=True),
    "torch against quantised": Variant("--quant", exchanged=True),
    "torch statistics against ATB": Variant("--statistics", "", exchanged=True),
    "tokens": Variant("--two-models --tokens 3", "model.layers.1.self_attn.q_proj:1.5"),
    "norms outside": Variant("--norms outside", "model.layers.1.post_attention_layernorm:1.5"),
    "outputs only": Variant("--outputs-only", "model.layers.1.mlp.gate_proj:1.5"),
    "quantised": Variant("--quant", "model.layers.1.self_attn.k_proj:2"),
    "stated scales": Variant("--quant --stated-scales", "model.layers.1.self_attn.k_proj:2"),
    "weights": Variant("--torch-weights", "model.layers.1.mlp.up_proj:1.5"),
    "weights of ranks": Variant("--torch-weights --ranks 2"),
    "transposed weights": Variant("--torch-weights --columns-out"),
    "transposed weights of ranks": Variant("--torch-weights --columns-out --ranks 2"),
    "weights of torch against ranks": Variant("--torch-weights --ranks 2", exchanged=True),
    "transposed weights twin": Variant("--atb-twin same --columns-out --ranks 2"),
    "stated scales twin": Variant("--atb-twin --quant --stated-scales --two-models --tokens 3"),
    "quantised ranks": Variant("--quant --ranks 2"),
    # Rows of 24 elements in the first layer: one that is clipped would be a quarter of them.
    "quantised ranks twin": Variant("--layers 1 --ranks 2 --golden-ranks 2 --atb-twin same --quant --two-models",
                                    "model.layers.0.mlp.up_proj:1.5"),
    "statistics": Variant("--statistics", "model.layers.0.mlp.up_proj:1.5"),
    "statistics of mine": Variant("--statistics", "model.layers.0.mlp.up_proj:1.5", (), "golden"),
    "statistics of golden": Variant("--statistics", "", (), "mine"),
    "statistics of ranks": Variant("--statistics --ranks 2", "SelfAttentionOperation_3_0_2:1.5"),
    "twin": Variant("--atb-twin same", "LinearOperation_2_2_4:1.5"),
    "renumbered twin": Variant("--atb-twin", "RopeOperation_2_0_1_0:1.5"),
    "transdata twin": Variant("--atb-twin transdata --two-models --tokens 3", "model.layers.1.mlp.up_proj:1.5"),
    "quantised twin": Variant("--atb-twin --quant --two-models --tokens 3", "model.layers.1.mlp.up_proj:2"),
    "batch twin": Variant("--atb-twin same --batch 2", "model.layers.1.mlp.up_proj:1.5"),
    "statistics twin": Variant("--atb-twin same --statistics", "model.layers.1.mlp.up_proj:1.5"),
    "ranks twin": Variant("--atb-twin same --ranks 2", "model.layers.1.mlp.up_proj:1.5"),
    "twin of ranks": Variant("--atb-twin same --ranks 2", exchanged=True),
    # Hooks of several ranks, against fewer, as many and more of ATB; two versions of ATB likewise.
    "ranks of torch": Variant("--golden-ranks 2 --torch-weights", "model.layers.0.mlp.up_proj:1.5"),
    "ranks of torch against ATB": Variant("--golden-ranks 2 --torch-weights", "model.layers.0.mlp.up_proj:1.5", exchanged=True),
    "as many ranks of torch": Variant("--ranks 2 --golden-ranks 2 --torch-weights", "model.layers.0.self_attn.v_proj:1.5"),
    "fewer ranks of torch": Variant("--ranks 4 --golden-ranks 2 --kv-heads 4 --torch-weights", "model.layers.1.mlp.gate_proj:1.5"),
    "more ranks of torch": Variant("--ranks 2 --golden-ranks 4 --kv-heads 4 --torch-weights --columns-out",
                                   "model.layers.1.self_attn.k_proj:1.5"),
    "quantised ranks of torch": Variant("--quant --ranks 2 --golden-ranks 4 --kv-heads 4"),
    "statistics of ranks of torch": Variant("--statistics --golden-ranks 2", "model.layers.0.mlp.up_proj:1.5"),
    "statistics of ranks of torch against ATB": Variant("--statistics --golden-ranks 2", "", exchanged=True),
    "statistics of torch against data of ATB": Variant("--statistics --golden-ranks 2", "", (), "mine"),
    "statistics of ranks of both": Variant("--statistics --ranks 2 --golden-ranks 4 --kv-heads 4"),
    "fewer ranks of the twin": Variant("--atb-twin same --ranks 4 --golden-ranks 2 --kv-heads 4", "model.layers.1.mlp.up_proj:1.5"),
    "more ranks of the twin": Variant("--atb-twin same --ranks 2 --golden-ranks 4 --kv-heads 4", "LinearOperation_2_0_0_0_1:1.5"),
    "as many ranks of the twin": Variant("--atb-twin same --ranks 2 --golden-ranks 2", "model.layers.1.mlp.up_proj:1.5"),
    "msprobe": Variant("--atb-twin same --msprobe-layout", "model.layers.1.mlp.up_proj:1.5"),
    "msprobe statistics": Variant("--atb-twin same --msprobe-layout --statistics", "model.layers.1.mlp.up_proj:1.5"),
    "msprobe statistics of ranks": Variant("--atb-twin same --msprobe-layout --statistics --ranks 2",
                                           "model.layers.1.mlp.up_proj:1.5"),
    "msprobe statistics of ranks of both": Variant("--atb-twin same --msprobe-layout --statistics --ranks 4 --golden-ranks 2 "
                                                   "--kv-heads 4", "model.layers.1.mlp.up_proj:1.5"),
}


def make(out: pathlib.Path, flags: list[str]) -> pathlib.Path:
    with contextlib.redirect_stdout(io.StringIO()):
        make_atb_dump.main(["--out", str(out), *flags])
    return out


def content(file: pathlib.Path) -> str:
    """A digest of the numbers in a file: two files of one value are as good as one another."""
    if file.suffix == ".pth":
        return hashlib.sha256(torch.load(file).contiguous().numpy().tobytes()).hexdigest()
    return hashlib.sha256(file.read_bytes().partition(b"$End=1\n")[2]).hexdigest()


def name_of(file: str) -> str:
    """What a report calls a file: the part below its token or round, which is the fourth or fifth folder of truth.json's paths.

    mine/msit_dump_…/tensors/0_4200/0/1_Layer/…, golden/ait_dump/tensors/…, golden/…/torch_tensors/cpu_3100/0/root.x/output.pth,
    golden/…/torch_tensors/cpu_3100/weights/root.x.weight.pth: of a weight its folder too
    """
    parts = pathlib.PurePath(file).parts
    return "/".join(parts[4 if parts[4] == "weights" else 5:])


class Report:
    def __init__(self, program: pathlib.Path, out: pathlib.Path, variant: Variant) -> None:
        sides = ["golden", "mine"] if variant.exchanged else ["mine", "golden"]
        done = subprocess.run([program, "compare", *sides, "--report", "json", "--output", "-", "-q", *variant.compare],
                              cwd=out, capture_output=True, text=True)
        self.code, self.messages = done.returncode, done.stderr
        self.rows, self.summary = [], {}
        with contextlib.suppress(json.JSONDecodeError):
            document = json.loads(done.stdout)
            self.rows, self.summary = document["rows"], document["summary"]
        if variant.exchanged:  # as truth.json has them
            self.rows = [row | {"mine": row["golden"], "golden": row["mine"]} for row in self.rows]
        self.pairs: dict[tuple[str, str], list[dict]] = {}
        for row in self.rows:
            if row["mine"] and row["golden"]:
                self.pairs.setdefault((row["section"], row["mine"]), []).append(row)


class Checker:
    """One pair of dumps and the report on it."""

    def __init__(self, out: pathlib.Path, report: Report, variant: Variant) -> None:
        self.out, self.report, self.variant = out, report, variant
        self.truth = json.loads((out / "truth.json").read_text())
        self.has_files = "--statistics" not in variant.flags
        self.digests: dict[str, str] = {}
        # As many ranks on both sides are compared one by one: sections are then called "rank 0 token 0".
        counts = dict(re.findall(r"--(golden-)?ranks (\d+)", variant.flags))
        each = counts.get("") == counts.get("golden-") is not None
        self.ranks = [f"rank {rank} " for rank in range(int(counts[""]))] if each else [""]
        # Where the report's names of golden lie.
        self.golden = {}
        for pair in self.truth["pairs"]:
            self.golden[pair["token"]] = "/".join(pathlib.PurePath(pair["golden"][0]).parts[:5])

    def digest(self, file: str) -> str:
        if file not in self.digests:
            self.digests[file] = content(self.out / file)
        return self.digests[file]

    def agrees(self, row: dict, pair: dict) -> bool:
        """Whether a row compares with what the truth says, or with other files of the same numbers."""
        names = row["golden"].split(" + ")
        if self.has_files:
            found = [self.digest(f"{self.golden[pair['token']]}/{name}") for name in names]
            return found == [self.digest(file) for file in pair["golden"]]
        if pair["golden"][0].endswith(".csv"):  # a table of all tensors of its module: a neighbour may have the same numbers
            return True
        return names == [name_of(file) for file in pair["golden"]]

    def check_pairs(self) -> list[str]:
        wrong = []
        for rank, pair in itertools.product(self.ranks, self.truth["pairs"]):
            mine = name_of(pair["mine"][0])
            rows = self.report.pairs.get((f"{rank}token {pair['token']}", mine), [])
            # Statistics of a table of angles do not tell those of some rows, and without inputs no dump tells which rows.
            if "rows" in pair and (not self.has_files or "--outputs-only" in self.variant.flags):
                continue
            if not rows:
                wrong.append(f"token {pair['token']}: {mine} ({pair['key']}) has no partner; {pair['golden']} is it")
            for row in rows:
                if not self.agrees(row, pair):
                    wrong.append(f"token {pair['token']}: {mine} ({pair['key']}) is paired with {row['golden']}, "
                                 f"not {[name_of(file) for file in pair['golden']]}")
                # Statistics of the terms of a sum cannot be added up, and the row has to say so.
                is_term = not self.has_files and pair["key"].endswith(".partial") and "a term of a sum" in (row["note"] or "")
                if row["status"] != "compared" and not is_term:
                    wrong.append(f"token {pair['token']}: {mine} ({pair['key']}): {row['status']}: {row['note']}")
                # Of a table of angles the other positions were not compared, and the row has to say so.
                if "rows" in pair and row["compared_by"] != "some elements":
                    wrong.append(f"token {pair['token']}: {mine} ({pair['key']}) is compared by {row['compared_by']}")
                first, last = pair.get("rows", (0, 0))
                if not re.search(rf"\b{last - first} of \d+ positions of " if last else "", row["note"] or ""):
                    wrong.append(f"token {pair['token']}: {mine} ({pair['key']}) does not tell its positions: {row['note']}")
        return wrong

    def check_weights(self) -> list[str]:
        wrong = []
        for rank, pair in itertools.product(self.ranks, self.truth["weights"] if self.has_files else []):
            mine = name_of(pair["mine"][0])
            golden = " + ".join(name_of(file) for file in pair["golden"])
            rows = self.report.pairs.get((f"{rank}token {pair['token']}", mine), [])
            if [row["golden"] for row in rows] != [golden] or rows[0]["verdict"] != "pass":
                wrong.append(f"{mine}: {[(row['golden'], row['verdict'], row['note']) for row in rows]}, not {golden}")
        return wrong

    def check_complete(self) -> list[str]:
        """Every tensor of either side has a row."""
        if not self.has_files:
            return []
        wrong = []
        for side in ("mine", "golden"):
            named = {name for row in self.report.rows if row[side] for name in row[side].split(" + ")}
            for file in sorted((self.out / side).rglob("*")):
                relative = pathlib.PurePath(file.relative_to(self.out))
                if file.suffix in (".bin", ".pth") and name_of(str(relative)) not in named:
                    wrong.append(f"{relative} has no row")
        return wrong

    def check_verdict(self) -> list[str]:
        fault, summary = self.truth["fault"], self.report.summary
        if not fault:
            bad = [f"{row['section']} {row['mine']} {row['golden']}: {row['verdict']}: {row['reason']}; {row['note']}"
                   for row in self.report.rows if row["verdict"] in ("fail", "error")]
            return bad or ([f"exit code {self.report.code}"] if self.report.code else [])
        wrong = []
        if self.report.code != 1:
            wrong.append(f"exit code {self.report.code} with a fault")
        places = fault["folders"]
        if self.variant.exchanged:  # a node is named after mine
            places = [f"root.{fault['node']}"]
        kinds = ["first_divergence"] + ["first_origin"] * ("--outputs-only" not in self.variant.flags)
        for kind in kinds:
            found = summary.get(kind) or {}
            if found.get("name") not in places or found.get("section") != f"{self.ranks[0]}token 0":
                wrong.append(f"{kind} is {found.get('section')} {found.get('name')}, planted at {places}")
        return wrong

    def run(self) -> list[str]:
        if not self.report.rows:
            return [f"no report: {self.report.messages}"]
        return self.check_verdict() + self.check_pairs() + self.check_weights() + self.check_complete()


def check(program: pathlib.Path, out: pathlib.Path, variant: Variant, fault: str) -> list[str]:
    flags = variant.flags.split() + (["--fault", fault] if fault else [])
    make(out, flags)
    if variant.plain_side:
        plain = make(out.with_name("plain"), [flag for flag in flags if flag != "--statistics"])
        shutil.rmtree(out / variant.plain_side)
        (plain / variant.plain_side).rename(out / variant.plain_side)
    return Checker(out, Report(program, out, variant), variant).run()


def check_checkpoint(program: pathlib.Path, out: pathlib.Path) -> list[str]:
    """The weights that hooks dumped against a checkpoint of the same ones, of which one is wrong, in one file or in two."""
    make(out, ["--torch-weights", "--tokens", "1"])
    weights = next(out.glob("golden/*/torch_tensors/*/weights"))
    named = {file.stem.removeprefix("root."): torch.load(file).detach() for file in sorted(weights.iterdir())}
    broken = "model.layers.1.mlp.up_proj.weight"
    named[broken] = named[broken] * 1.5
    atb_files.write_safetensors(out / "model.safetensors", named)
    (out / "shards").mkdir()
    for half in (0, 1):
        atb_files.write_safetensors(out / "shards" / f"model-{half}.safetensors", dict(list(named.items())[half::2]))
    wrong = []
    for checkpoint in ("model.safetensors", "shards"):
        for sides in ([weights, out / checkpoint], [out / checkpoint, weights]):
            done = subprocess.run([program, "compare", *sides, "--report", "json", "--output", "-", "-q"],
                                  capture_output=True, text=True)
            rows = json.loads(done.stdout or '{"rows": []}')["rows"]
            mine = 0 if sides[0] == weights else 1
            found = {row[("mine", "golden")[mine]].removeprefix("root.").removesuffix(".pth"):
                     (row[("golden", "mine")[mine]].rpartition(":")[2], row["verdict"]) for row in rows
                     if row["mine"] and row["golden"]}
            if done.returncode != 1 or found != {name: (name, "fail" if name == broken else "pass") for name in named}:
                wrong.append(f"{[str(side) for side in sides]}: exit code {done.returncode}, {found}; {done.stderr}")
    return wrong


def check_inputs_only(program: pathlib.Path, out: pathlib.Path) -> list[str]:
    """A dump of ATB without outputs: nothing tells how long a cache has grown, and that is no failure."""
    make(out, [])
    for file in out.glob("mine/**/outtensor*.bin"):
        file.unlink()
    report = Report(program, out, Variant(""))
    failed = [row["mine"] for row in report.rows if row["verdict"] in ("fail", "error")]
    compared = sum(row["status"] == "compared" for row in report.rows)
    return [] if report.code == 0 and not failed and compared > 100 else [
        f"exit code {report.code}, {compared} rows compared, failed: {failed[:5]}"]


def check_other_ranks(program: pathlib.Path, out: pathlib.Path) -> list[str]:
    """What any rank of golden holds is looked at: shares and copies, of outputs, fused projections and weights."""
    wrong = []
    for ranks, flags in (("1 against 2", ["--golden-ranks", "2"]), ("4 against 2", ["--ranks", "4", "--golden-ranks", "2", "--kv-heads", "4"])):
        pair = make(out / ranks.replace(" ", "_"), [*flags, "--torch-weights", "--tokens", "1", "--layers", "1"])
        second = sorted(pair.glob("golden/*/torch_tensors/npu1_*"))[0]
        for name in ("0/root.model.layers.0.self_attn.q_proj/output.pth", "0/root.model.layers.0.mlp.gate_proj/output.pth",
                     "0/root.model.layers.0.mlp.down_proj/input_0.pth", "0/root.model.norm/output.pth",
                     "weights/root.model.layers.0.self_attn.k_proj.weight.pth", "weights/root.model.norm.weight.pth"):
            file = second / name
            kept = file.read_bytes()
            with torch.no_grad():
                torch.save(torch.load(file) * 1.5, file)
            report = Report(program, pair, Variant(""))
            file.write_bytes(kept)
            failed = [row["golden"] for row in report.rows if row["verdict"] == "fail"]
            short = name.removeprefix("0/")
            if report.code != 1 or not failed or not all(short in golden.split(" + ") for golden in failed):
                wrong.append(f"{ranks}: {name} of the second rank is wrong: exit code {report.code}, failed: {failed[:5]}")
        clean = Report(program, pair, Variant(""))
        if clean.code:
            wrong.append(f"{ranks}: exit code {clean.code} without a fault")
    return wrong


def check_weights_of_int8(program: pathlib.Path, out: pathlib.Path) -> list[str]:
    """What a run in int8 did not quantise is judged as what it is: a wrong weight is named, though the results that it makes
    have the bounds of int8."""
    sides = {"torch": "--torch-weights", "torch in float": "--torch-weights --layers 12", "twin": "--atb-twin",
             "ranks": "--torch-weights --ranks 2", "twin of ranks": "--atb-twin same --ranks 2 --golden-ranks 2"}
    wrong = []
    for (side, flags), weight in itertools.product(sides.items(), ("norm", "lm_head", "1.post_attention_layernorm")):
        quant = [] if "float" in side else ["--quant"]
        factor = "1.01" if "float" in side else "1.2"
        pair = make(out / f"{side}_{weight}".replace(" ", "_"),
                    [*flags.split(), *quant, "--tokens", "1", "--wrong-weight", f"{weight}:{factor}"])
        report = Report(program, pair, Variant(""))
        failed = [row["mine"] for row in report.rows if row["verdict"] == "fail"]
        files = [name_of(weights["mine"][0]) for weights in json.loads((pair / "truth.json").read_text())["weights"]
                 if weights["name"] == f"{weight}.weight"]
        first = (report.summary.get("first_divergence") or {}).get("name")
        if not files or not set(files) <= set(failed) or f"{first}/before/intensor1.bin" not in files:
            wrong.append(f"{side}: {weight} is wrong, {files}; the first is {first}, failed: {failed[:5]}")
        shutil.rmtree(pair)
    return wrong


def check_opened_once(program: pathlib.Path, out: pathlib.Path) -> list[str]:
    """Headers, data and several levels of one dump: each file is opened once for all of them, and a topology is read once."""
    truth = json.loads((make(out, ["--atb-twin", "--two-models", "--layers", "2"]) / "truth.json").read_text())
    mine, golden = out / truth["mine"], out / truth["golden"]
    tensors = [path for dump in (mine, golden) for path in dump.rglob("*.bin")]
    topologies = [path for dump in (mine, golden) for path in dump.rglob("model/*/*.json")]
    wrong = [] if tensors and topologies else ["the dumps have no tensors, or no topologies"]
    for words in (["compare", mine, golden], ["msit", "llm", "compare", "-mp", mine, "-gp", golden, "-o", out / "tables"]):
        with count_opened(out) as opened:
            subprocess.run([program, *words], capture_output=True, check=False)
        wrong += [f"{words[0]} opens {path.relative_to(out)} {opened[path]} times" for path in tensors if opened[path] > 1]
        wrong += [] if any(opened[path] for path in tensors) else [f"{words[0]} opens no tensor"]
        # Once more to see that it is no tensor.
        wrong += [f"{words[0]} opens {path.relative_to(out)} {opened[path]} times" for path in topologies if opened[path] > 2]
    return wrong


OTHER_PAIRS = {"checkpoint": check_checkpoint, "inputs only": check_inputs_only, "other ranks": check_other_ranks,
               "weights of int8": check_weights_of_int8, "files that are opened": check_opened_once}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, required=True, help="folder of the program")
    parser.add_argument("--only", help="only variants whose name has this in it")
    parser.add_argument("--keep", type=pathlib.Path, help="new folder for the dumps, which stay")
    args = parser.parse_args()
    program = (args.bin / "assay").resolve()
    memory = pathlib.Path("/dev/shm")  # thousands of small files
    count = Count()
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        for name, check_pair in OTHER_PAIRS.items():
            if not args.only or args.only in name:
                count.check_some(name, check_pair(program, (args.keep or pathlib.Path(folder)) / name.replace(" ", "_")))
        for name, variant in VARIANTS.items():
            if args.only and args.only not in name:
                continue
            for fault in dict.fromkeys(("", variant.fault)):
                title = f"{name}{f' with {fault}' if fault else ''}"
                work = args.keep / title.replace(" ", "_") if args.keep else pathlib.Path(folder) / "work"
                work.mkdir(parents=True)
                count.check_some(title, check(program, work / "pair", variant, fault))
                if not args.keep:
                    shutil.rmtree(work)
    print(f"{count.passed} passed, {count.failed} failed")
    return int(count.failed > 0)


if __name__ == "__main__":
    sys.exit(main())
