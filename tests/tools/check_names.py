#!/usr/bin/python3
"""Checkpoints of one model under the names and in the layouts of several systems, held against each other.

    check_names.py --bin build/release [--only NAME] [--keep FOLDER]

All numbers of the model differ, so a row that agrees to the last bit was paired rightly: of a clean pair every tensor must be
compared, and agree. Then one tensor is made wrong: it must still be paired, and be the only one that fails.
"""
from __future__ import annotations

import csv
import pathlib
import sys
from typing import Callable

import numpy

from checker import Checker, run_checks, tail
from checkpoints import Model, Tensors, save

Ranks = list[Tensors]


def write(folder: pathlib.Path, side: Tensors | Ranks, dtype: str, pattern: str = "mp_rank_{:02d}/model.safetensors") -> None:
    if isinstance(side, list):
        for rank, tensors in enumerate(side):
            save(folder / pattern.format(rank), tensors, dtype)
    else:
        save(folder / "model.safetensors", side, dtype)


def filled(model: Model, side: Tensors | Ranks) -> Tensors | Ranks:
    return [model.filled(each) for each in side] if isinstance(side, list) else model.filled(side)


def plain(model: Model) -> Tensors:
    return model.plain


def disguised(make: Callable) -> Callable:
    def made(model: Model) -> Tensors | Ranks:
        side = make(model)
        return [Model.disguised(each) for each in side] if isinstance(side, list) else Model.disguised(side)
    return made


def on_ranks(make: Callable, ranks: int) -> Callable:
    return lambda model: model.shares(make(model), ranks)


def padded(make: Callable, multiple: int) -> Callable:
    return lambda model: model.padded(make(model), multiple)


DENSE = Model()
FRESH = Model(fresh_norms=True, seed=5)
EXPERTS = Model(layers=2, experts=4, seed=6)
WIDE = Model(heads=8, groups=8, seed=8)
ONE_LAYER = Model(layers=1, seed=7)
# Title, model, mine, golden. By names, also those that are known from other systems: no flag.
BY_NAME: list[tuple[str, Model, Callable, Callable]] = [
    ("other prefix", DENSE, lambda m: {k.removeprefix("model."): v for k, v in m.plain.items()}, plain),
    ("wrapped", DENSE, lambda m: {f"_orig_mod.module.{k}": v for k, v in m.plain.items()}, plain),
    ("slashes", DENSE, lambda m: {k.replace(".", "/"): v for k, v in m.plain.items()}, plain),
    ("as Meta", DENSE, Model.meta, plain),
    ("Meta against vLLM", DENSE, Model.vllm, Model.meta),
    ("fused as vLLM", DENSE, Model.vllm, plain),
    ("golden fused as vLLM", DENSE, plain, Model.vllm),
    ("as Megatron", DENSE, Model.megatron, plain),
    ("Megatron against vLLM", DENSE, Model.megatron, Model.vllm),
    ("transposed", DENSE, Model.gpt2_like, plain),
    ("experts stacked", EXPERTS, Model.stacked_experts, plain),
    ("experts fused", EXPERTS, Model.fused_experts, plain),
    ("experts as Llama 4", EXPERTS, Model.turned_experts, plain),
    ("experts as gpt-oss", EXPERTS, lambda m: m.turned_experts(in_turns=True), plain),
    ("fresh norms", FRESH, Model.megatron, plain),
    ("padded", DENSE, padded(Model.megatron, 128), plain),
    ("golden padded", DENSE, Model.meta, padded(plain, 64)),
    ("padded on 2 ranks", DENSE, on_ranks(padded(Model.megatron, 256), 2), plain),
    *((f"{ranks} ranks", DENSE, on_ranks(plain, ranks), plain) for ranks in (2, 4)),
    ("8 ranks", WIDE, on_ranks(plain, 8), plain),
    ("golden of 2 ranks", DENSE, plain, on_ranks(plain, 2)),
    ("2 ranks against 4", WIDE, on_ranks(plain, 2), on_ranks(plain, 4)),
    ("8 ranks against 2", WIDE, on_ranks(Model.vllm, 8), on_ranks(Model.vllm, 2)),
    ("4 ranks against vLLM on 2", WIDE, on_ranks(plain, 4), on_ranks(Model.vllm, 2)),
    ("2 ranks against vLLM", WIDE, on_ranks(plain, 2), Model.vllm),
    ("2 ranks against Megatron", DENSE, on_ranks(plain, 2), Model.megatron),
    ("vLLM on 2 ranks", WIDE, on_ranks(Model.vllm, 2), Model.vllm),
    ("vLLM on 4 ranks against HF", WIDE, on_ranks(Model.vllm, 4), plain),
    ("Meta on 2 ranks", DENSE, on_ranks(Model.meta, 2), plain),
    ("HF against Meta on 4 ranks", WIDE, plain, on_ranks(Model.meta, 4)),
    ("Megatron on 2 ranks", DENSE, on_ranks(Model.megatron, 2), plain),
    ("Megatron on 2 ranks against itself", DENSE, on_ranks(Model.megatron, 2), Model.megatron),
]
# … and how many pairs may be unsure. Names that nobody knows: --match content.
BY_CONTENT: list[tuple[str, Model, Callable, Callable, int]] = [
    ("names that say nothing", DENSE, lambda m: m.meaningless(m.plain), plain, 0),
    ("fresh norms that say nothing", FRESH, lambda m: m.meaningless(m.plain), plain, 9),
    *((f"{title}, disguised", model, disguised(mine), golden, 9 if model is FRESH else 0) for title, model, mine, golden in BY_NAME
      if not title.startswith(("other prefix", "wrapped", "slashes", "padded on", "experts fused", "experts as"))),
]


class NamesChecker(Checker):
    def rows(self, folder: pathlib.Path, words: list[str]) -> tuple[list[dict], str]:
        done = self.start(["compare", "mine", "golden", "--report", "csv", "--output", "out", *words], folder)
        tables = list((folder / "out").glob("*.csv"))
        if len(tables) != 1:
            return [], f"exit {done.returncode}: {tail(done.stdout)}"
        with open(tables[0], newline="") as file:
            return list(csv.DictReader(file)), ""


def key_of(name: str) -> str:
    """The name of a tensor without its file and the part of it that is meant."""
    return name.split("[")[0].split(":")[-1]


def check_clean(checker: NamesChecker, title: str, model: Model, mine: Callable, golden: Callable, unsure: int, dtype: str, words: list[str]) -> None:
    name = f"{title}, {dtype}:"
    if not checker.wants(name):
        return
    folder = checker.folder("names")
    write(folder / "mine", filled(model, mine(model)), dtype)
    write(folder / "golden", filled(model, golden(model)), "F32")
    rows, trouble = checker.rows(folder, words)
    failures = [trouble] if trouble else []
    failures += [f"{row['mine'] or row['golden']}: {row['status']}, {row['reason']}" for row in rows if row["verdict"] != "pass"]
    if dtype == "F32":
        failures += [f"{row['mine']} against {row['golden']}: {row['max_abs']} apart" for row in rows if row["max_abs"] not in ("0", "")]
    found = sum("unsure" in row["note"] for row in rows)
    if found != unsure:
        failures.append(f"{found} rows are unsure, {unsure} should be")
    names = [(row["mine"], row["golden"]) for row in rows]
    if len(set(names)) != len(names):
        failures.append("two rows have the same names")
    checker.report(name, failures[:5])


def check_faults(checker: NamesChecker, title: str, model: Model, mine: Callable, golden: Callable, words: list[str]) -> None:
    """One tensor of the last layer but one holds something else altogether."""
    name = f"{title}, a wrong tensor:"
    if not checker.wants(name):
        return
    numbers = mine(model)
    first = numbers[0] if isinstance(numbers, list) else numbers
    failures = []
    layer = f".{max(0, model.layers - 2)}."
    victims = [key for key in first if layer in key]
    for victim in victims:
        folder = checker.folder("names")
        values = filled(model, numbers)
        wrong = values[0] if isinstance(values, list) else values
        wrong[victim] = numpy.random.default_rng(9).standard_normal(wrong[victim].shape).astype(numpy.float32)
        write(folder / "mine", values, "F32")
        write(folder / "golden", filled(model, golden(model)), "F32")
        rows, trouble = checker.rows(folder, words)
        failed = {key_of(row["mine"]) for row in rows if row["verdict"] != "pass"}
        alone = [row["mine"] or row["golden"] for row in rows if row["status"] in ("only in mine", "only in golden")]
        if trouble or failed != {victim} or alone:
            failures.append(f"{victim}: {trouble}failing are {sorted(failed)}, without a partner {alone}")
    if not victims:
        failures.append("no tensor to make wrong")
    checker.report(name, failures)


def check_exchanged(checker: NamesChecker) -> None:
    """Key and value, gate and up in each other's place: what they hold is there, and no pass."""
    spoken = {"q_proj": "query", "k_proj": "key", "v_proj": "value", "self_attn": "a", "mlp": "b", "gate_proj": "gate", "up_proj": "up"}

    def named(tensors: Tensors) -> Tensors:
        out = {}
        for name, each in tensors.items():
            out[".".join(spoken.get(word, "x" + word) if not word.isdigit() else word for word in name.split("."))] = each
        return out

    for title, model, naming, golden, layers, words in (
            ("known names", DENSE, lambda t: t, Model.meta, range(4), []),
            ("known names in a fused one", WIDE, lambda t: t, Model.vllm, range(4), []),
            ("words", WIDE, named, plain, range(4), ["--match", "content"]),
            ("disguised, one layer", WIDE, Model.disguised, plain, [1], ["--match", "content"]),
            ("disguised and fused, one layer", WIDE, Model.disguised, Model.vllm, [1], ["--match", "content"])):
        for a, b in (("k_proj", "v_proj"), ("gate_proj", "up_proj")):
            name = f"{a} and {b} exchanged, {title}:"
            if not checker.wants(name):
                continue
            folder = checker.folder("names")
            numbers = dict(model.plain)
            for layer in layers:
                for key in [k for k in numbers if f".{layer}." in k and a in k]:
                    numbers[key], numbers[key.replace(a, b)] = numbers[key.replace(a, b)], numbers[key]
            write(folder / "mine", model.filled(naming(numbers)), "F32")
            write(folder / "golden", filled(model, golden(model)), "F32")
            rows, trouble = checker.rows(folder, words)
            exchanged = 2 * len(layers)
            bad = sum(row["verdict"] == "fail" for row in rows)
            checker.report(name, [trouble] if trouble else [f"{bad} rows fail, {exchanged} or more should"] if bad < exchanged else [])


def check_some_ranks(checker: NamesChecker) -> None:
    """Two ranks of four, whose fused tensors are held against the parts of the whole."""
    for title, make in (("vLLM", Model.vllm), ("HF", plain)):
        name = f"ranks 1 and 3 of 4, {title}:"
        if not checker.wants(name):
            continue
        failures = []
        shares = WIDE.shares(make(WIDE), 4)
        victims = [key for key in shares[3] if ".2." in key and shares[3][key].ndim == 2]
        for victim in [None, *victims]:
            folder = checker.folder("names")
            for rank in (1, 3):
                values = WIDE.filled(shares[rank])
                if rank == 3 and victim:
                    values[victim] = values[victim] + 1
                save(folder / "mine" / f"model-rank-{rank}-part-0.safetensors", values)
            write(folder / "golden", WIDE.filled(WIDE.plain), "F32")
            rows, trouble = checker.rows(folder, [])
            failures += [trouble] if trouble else []
            failed = {(row["mine"].split(":")[0], key_of(row["mine"])) for row in rows if row["verdict"] != "pass"}
            if failed != ({("model-rank-3-part-0.safetensors", victim)} if victim else set()):
                failures.append(f"{victim} is wrong, failing are {sorted(failed)}")
        checker.report(name, failures[:5])


def check_layer_files(checker: NamesChecker) -> None:
    """Files of layers whose numbers begin behind those of the embedding."""
    for first in (1, 2, 3):
        name = f"files of layers from {first}:"
        if not checker.wants(name):
            continue
        folder = checker.folder("names")
        for rank, share in enumerate(DENSE.shares(DENSE.plain, 2)):
            for number, tensors in DENSE.layer_files(share, first).items():
                if first > 1 or number != 1 or "embed_tokens.weight" not in tensors:
                    save(folder / "mine" / f"layer_{number:02d}-model_{rank:02d}-model_states.safetensors", DENSE.filled(tensors))
                else:  # the embedding has the number 0
                    layer = {key: each for key, each in tensors.items() if key != "embed_tokens.weight"}
                    save(folder / "mine" / f"layer_01-model_{rank:02d}-model_states.safetensors", DENSE.filled(layer))
                    save(folder / "mine" / f"layer_00-model_{rank:02d}-model_states.safetensors",
                         DENSE.filled({"embed_tokens.weight": tensors["embed_tokens.weight"]}))
        save(folder / "golden" / "model.safetensors", DENSE.filled(DENSE.plain))
        rows, trouble = checker.rows(folder, [])
        failures = [trouble] if trouble else []
        failures += [f"{row['mine'] or row['golden']}: {row['status']}, {row['reason']}" for row in rows if row["verdict"] != "pass"]
        checker.report(name, failures[:5])


def flat_shards(tensors: Tensors, ranks: int, each_by_itself: bool) -> list[numpy.ndarray]:
    """One behind the other and cut into as many pieces as there are ranks; or every tensor cut by itself, as ZeRO 3 does."""
    def cut(flat: numpy.ndarray) -> numpy.ndarray:
        return numpy.concatenate([flat, numpy.zeros(-flat.size % ranks, numpy.float32)]).reshape(ranks, -1)

    flat = [each.reshape(-1) for each in tensors.values()]
    pieces = numpy.concatenate([cut(each) for each in flat], axis=1) if each_by_itself else cut(numpy.concatenate(flat))
    return [numpy.ascontiguousarray(piece) for piece in pieces]


def check_flat(checker: NamesChecker) -> None:
    """FSDP and ZeRO lay the parameters of a module flat; files list them in the order of the module, or by name."""
    model = Model(vocabulary=305)
    tensors = model.filled(model.plain)
    modules: dict[str, Tensors] = {}
    for key, each in tensors.items():
        module = ".".join(key.split(".")[:3]) if ".layers." in key else ""
        modules.setdefault(module, {})[key] = each
    for title in ("FSDP", "FSDP's root alone", "ZeRO 2", "ZeRO 3"):
        for ranks in (2, 3, 4):
            for order in ("as the module", "by name"):
                name = f"{title}, {ranks} ranks, listed {order}:"
                if not checker.wants(name):
                    continue
                failures = []
                for victim in (None, "model.layers.2.mlp.up_proj.weight", "model.norm.weight", "model.embed_tokens.weight"):
                    folder = checker.folder("names")
                    changed = {key: numpy.flip(each).copy() if key == victim else each for key, each in tensors.items()}
                    save(folder / "golden" / "model.safetensors", dict(sorted(changed.items())) if order == "by name" else changed)
                    for rank in range(ranks):
                        if title == "FSDP":
                            save(folder / "mine" / f"model_world_size_{ranks}_rank_{rank}.safetensors",
                                 {f"{module}{'.' if module else ''}_flat_param": flat_shards(below, ranks, False)[rank]
                                  for module, below in modules.items()})
                            continue
                        flat = flat_shards(tensors, ranks, title == "ZeRO 3")[rank]
                        if title.startswith("FSDP"):
                            save(folder / "mine" / f"model_world_size_{ranks}_rank_{rank}.safetensors", {"_flat_param": flat})
                        else:
                            group = "fp32_flat_groups" if title == "ZeRO 3" else "single_partition_of_fp32_groups"
                            save(folder / "mine" / f"zero_pp_rank_{rank}_mp_rank_00_optim_states.safetensors",
                                 {f"optimizer_state_dict.{group}.0": flat})
                    rows, trouble = checker.rows(folder, [])
                    failures += [trouble] if trouble else []
                    failed = {key_of(row["golden"]) for row in rows if row["verdict"] != "pass"}
                    if failed != ({victim} if victim else set()) or len(rows) != len(tensors):
                        failures.append(f"{victim} is wrong, of {len(rows)} rows fail {sorted(failed)[:4]}")
                checker.report(name, failures[:3])


def check_uneven_rows(checker: NamesChecker) -> None:
    """Rows that cannot be shared out evenly, as FSDP does: the last ranks have fewer, or none."""
    model = Model(vocabulary=305, hidden=66, heads=6, groups=2, inner=178)
    tensors = model.filled(model.plain)
    for ranks in (4, 7):
        name = f"uneven rows of {ranks} ranks:"
        if not checker.wants(name):
            continue
        failures = []
        for victim in (None, "model.embed_tokens.weight", "model.layers.1.mlp.down_proj.weight"):
            folder = checker.folder("names")
            save(folder / "golden" / "model.safetensors", tensors)
            for rank in range(ranks):
                shares = {}
                for key, each in tensors.items():
                    rows_of_one = -(-each.shape[0] // ranks)
                    share = each[rank * rows_of_one:(rank + 1) * rows_of_one]
                    if share.size:
                        shares[key] = share + 1 if key == victim and rank == 1 else share
                save(folder / "mine" / f"model_world_size_{ranks}_rank_{rank}.safetensors", shares)
            rows, trouble = checker.rows(folder, [])
            failures += [trouble] if trouble else []
            failed = {key_of(row["golden"]) for row in rows if row["verdict"] != "pass"}
            if failed != ({victim} if victim else set()):
                failures.append(f"{victim} is wrong, failing are {sorted(failed)[:4]}")
        checker.report(name, failures[:3])


def check_one_rank(checker: NamesChecker) -> None:
    """One rank of several against the whole: its shares are compared, and every row says that it is one."""
    for title, model, make, ranks, pattern in (
            ("HF", WIDE, plain, 4, "mp_rank_{:02d}/model.safetensors"),
            ("Meta", DENSE, Model.meta, 2, "consolidated.{:02d}.safetensors"),
            ("vLLM", WIDE, Model.vllm, 2, "model-rank-{}-part-0.safetensors"),
            ("Megatron", DENSE, Model.megatron, 2, "mp_rank_{:02d}_000/model.safetensors")):
        for rank in (0, ranks - 1):
            name = f"only rank {rank} of {ranks}, {title}:"
            if not checker.wants(name):
                continue
            failures = []
            values = model.filled(model.shares(make(model), ranks)[rank])
            victims = [key for key in values if ".2." in key and values[key].ndim == 2]
            for victim in [None, *victims]:
                folder = checker.folder("names")
                changed = {key: each + 1 if key == victim else each for key, each in values.items()}
                save(folder / "mine" / pattern.format(rank), changed, "F32")
                write(folder / "golden", model.filled(model.plain), "F32")
                rows, trouble = checker.rows(folder, [])
                failures += [trouble] if trouble else []
                failed = {key_of(row["mine"]) for row in rows if row["verdict"] != "pass"}
                if failed != ({victim} if victim else set()):
                    failures.append(f"{victim} is wrong, failing are {sorted(failed)}")
                wholes = [row["golden"] for row in rows
                          if (row["mine_shape"].count(",") == 1) != (row["compared_by"] == "one rank")]
                if wholes:
                    failures.append(f"compared by something else than one rank, or not: {wholes[:3]}")
            checker.report(name, failures[:5])


def check_padding(checker: NamesChecker) -> None:
    """What lies behind a vocabulary is no padding where it is not zero."""
    name = "padding that is not zero:"
    if not checker.wants(name):
        return
    failures = []
    for words in ([], ["--match", "content"]):
        folder = checker.folder("names")
        values = DENSE.filled(DENSE.padded(DENSE.meta(), 128))
        values["tok_embeddings.weight"][-1, 5] = 1e-30
        write(folder / "mine", values, "F32")
        write(folder / "golden", DENSE.filled(DENSE.plain), "F32")
        rows, trouble = checker.rows(folder, words)
        passed = {key_of(row["mine"]) for row in rows if row["verdict"] == "pass"}
        failures += [trouble] if trouble else []
        if any(name.startswith("tok_embeddings") for name in passed) or not any(name.startswith("output") for name in passed):
            failures.append(f"passing: {sorted(passed)}")
    checker.report(name, failures)


def check_norms(checker: NamesChecker) -> None:
    """Weights that are all near 1 differ in what little they differ from it."""
    name = "norms near one:"
    if not checker.wants(name):
        return
    chance = numpy.random.default_rng(2)
    norms = [(1 + 0.01 * chance.standard_normal(4096)).astype(numpy.float32) for _ in range(40)]
    order = [int(i) for i in chance.permutation(len(norms))]
    folder = checker.folder("names")
    save(folder / "mine" / "a.safetensors", {f"w.{i}.x": norm for i, norm in enumerate(norms)}, "BF16")
    save(folder / "golden" / "b.safetensors", {f"q_{i}": norms[k] for i, k in enumerate(order)})
    rows, trouble = checker.rows(folder, ["--match", "content"])
    wrong = [f"{row['mine']} against {row['golden']}" for row in rows
             if not row["golden"] or not row["mine"] or order[int(row["golden"].split("_")[-1])] != int(row["mine"].split(".")[-2])]
    checker.report(name, [trouble] if trouble else wrong[:5])


def check_folders(checker: NamesChecker) -> None:
    """Shards of Megatron and DeepSpeed, whose files tell ranks and stages of a pipeline."""
    stages = DENSE.stages(DENSE.megatron(), 2)
    for title, pattern, count in (("mp_rank_00_000/model_optim_rng.safetensors", "mp_rank_{:02d}_{:03d}/model_optim_rng.safetensors", 2),
                                  ("tp_rank_00_pp_rank_000", "tp_rank_{:02d}_pp_rank_{:03d}.safetensors", 2)):
        name = f"{title}:"
        if not checker.wants(name):
            continue
        folder = checker.folder("names")
        for stage, tensors in enumerate(stages):
            for rank, share in enumerate(DENSE.shares(tensors, count)):
                save(folder / "mine" / pattern.format(rank, stage), DENSE.filled(share))
        save(folder / "golden" / "model.safetensors", DENSE.filled(DENSE.plain))
        rows, trouble = checker.rows(folder, [])
        failures = [trouble] if trouble else []
        failures += [f"{row['mine'] or row['golden']}: {row['status']}, {row['reason']}" for row in rows if row["verdict"] != "pass"]
        checker.report(name, failures[:5])


def check(checker: NamesChecker) -> None:
    for title, model, mine, golden in BY_NAME:
        for dtype in ("F32", "BF16"):
            check_clean(checker, title, model, mine, golden, 0, dtype, [])
    for title, model, mine, golden, unsure in BY_CONTENT:
        for dtype in ("F32", "BF16"):
            check_clean(checker, title, model, mine, golden, unsure, dtype, ["--match", "content"])
    for title, model, mine, golden in BY_NAME:
        if title in ("other prefix", "as Meta", "fused as vLLM", "as Megatron", "transposed", "2 ranks", "Megatron on 2 ranks"):
            check_faults(checker, title, model, mine, golden, [])
        if title in ("fused as vLLM", "as Megatron", "transposed", "2 ranks", "Megatron on 2 ranks"):
            check_faults(checker, f"{title}, disguised", model, disguised(mine), golden, ["--match", "content"])
        if title in ("golden fused as vLLM", "as Meta", "as Megatron"):
            check_faults(checker, f"{title}, one layer", ONE_LAYER, mine, golden, [])
        if title in ("golden fused as vLLM", "as Meta"):
            check_faults(checker, f"{title}, one layer, disguised", ONE_LAYER, disguised(mine), golden, ["--match", "content"])
    check_exchanged(checker)
    check_one_rank(checker)
    check_some_ranks(checker)
    check_layer_files(checker)
    check_flat(checker)
    check_uneven_rows(checker)
    check_padding(checker)
    check_norms(checker)
    check_folders(checker)


if __name__ == "__main__":
    sys.exit(run_checks(__doc__, NamesChecker, check))
