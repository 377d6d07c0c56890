"""Dumps for the page: statistics of a model on several ranks and steps, of 50,000 tensors, and with names that attack a browser."""
from __future__ import annotations

import json
import pathlib
import random
import struct
from typing import Callable

PARTS = [("input_layernorm", "RMSNorm"), ("self_attn.q_proj", "Linear"), ("self_attn.k_proj", "Linear"),
         ("self_attn.o_proj", "Linear"), ("mlp.gate_proj", "Linear"), ("mlp.down_proj", "Linear")]
HOSTILE = ["<img src=x onerror=alert(1)>", "</script><script>alert(2)</script>", "<!--<script>", "\"'><svg onload=window.hacked=1>",
           "javascript:alert(3)", "&lt;b&gt;", "\\u003cscript\\u003e", "'; alert(4); '", "{{constructor}}", "\u202eevil", "a\u0000b", "\u2028"]


def write_dump(folder: pathlib.Path, data: dict) -> None:
    folder.mkdir(parents=True)
    dump = {"task": "statistics", "level": "L0", "framework": "pytorch", "dump_data_dir": None, "data": data}
    (folder / "dump.json").write_text(json.dumps(dump))
    (folder / "construct.json").write_text("{}")
    (folder / "stack.json").write_text("{}")


def model(error: Callable[[int, str], float], layers: int, seed: int) -> dict:
    """Statistics of a model whose numbers are off by this share."""
    numbers = random.Random(seed)

    def stated(off: float) -> dict:
        largest, smallest, mean, norm = (numbers.uniform(*ends) for ends in ((1, 4), (-4, -1), (-.1, .1), (10, 40)))
        return {"type": "torch.Tensor", "dtype": "torch.bfloat16", "shape": [2, 16, 64], "Max": largest * (1 + off),
                "Min": smallest * (1 + off), "Mean": mean * (1 + off), "Norm": norm * (1 + off), "requires_grad": False}

    return {f"Module.model.layers.{layer}.{part}.{kind}.forward.0": {"input_args": [stated(error(layer, part) / 2)],
                                                                     "input_kwargs": {}, "output": [stated(error(layer, part))]}
            for layer in range(layers) for part, kind in PARTS}


def write_ranks(folder: pathlib.Path) -> None:
    """Only rank 3 is wrong, from step 1 on, from the second half of layer 2 on."""
    for step in range(3):
        for rank in range(4):
            is_bad = rank == 3 and step >= 1
            seed = rank * 10 + step
            write_dump(folder / "mine" / f"step{step}" / f"rank{rank}",
                       model(lambda layer, part, bad=is_bad: 0.2 if bad and (layer > 2 or (layer == 2 and part.startswith("mlp")))
                             else 1e-4 * (layer + 1), 6, seed))
            write_dump(folder / "golden" / f"step{step}" / f"rank{rank}", model(lambda layer, part: 0, 6, seed))


def write_large(folder: pathlib.Path, layers: int = 4166) -> None:
    """49,992 tensors, of which the last sixth differs."""
    write_dump(folder / "mine", model(lambda layer, part: 0.05 if layer >= layers * 0.84 else 1e-5 * (layer + 1) ** .5, layers, 1))
    write_dump(folder / "golden", model(lambda layer, part: 0, layers, 1))


def write_hostile(folder: pathlib.Path) -> None:
    for side, off in (("mine", 0.5), ("golden", 0.0)):
        entry = next(iter(model(lambda layer, part, off=off: off, 1, 3).values()))
        write_dump(folder / side, {f"Functional.{name}.{i}.forward": entry for i, name in enumerate(HOSTILE)})


def write_mix(folder: pathlib.Path) -> None:
    """Calls of functions that only construct.json places in the model; that of layer 2 is wrong."""
    for side in ("mine", "golden"):
        data, construct = {}, {}
        for layer in range(4):
            for call, part in enumerate(("self_attn.q_proj", "mlp.up_proj")):
                name = f"Functional.linear.{2 * layer + call}.forward"
                entries = model(lambda _, __, off=0.3 if side == "mine" and layer == 2 else 0.0: off, 1, 2 * layer + call)
                data[name] = next(iter(entries.values()))
                construct[name] = f"Module.model.layers.{layer}.{part}.Linear.forward.0"
        write_dump(folder / side, data)
        (folder / side / "construct.json").write_text(json.dumps(construct))


def write_npy(path: pathlib.Path, values: list[float]) -> None:
    head = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({len(values)},), }}"
    head = head.ljust(117) + "\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + struct.pack(f"<{len(values)}f", *values))


def write_one(folder: pathlib.Path) -> None:
    write_npy(folder / "mine" / "x.npy", [1, 2, 3])
    write_npy(folder / "golden" / "x.npy", [1, 2, 4])


def write_same(folder: pathlib.Path) -> None:
    for side in ("mine", "golden"):
        for i in range(12):
            write_npy(folder / side / f"layers.{i}.weight.npy", [float(i + j) for j in range(64)])


def write_apart(folder: pathlib.Path) -> None:
    """No tensor has elements."""
    for side in ("mine", "golden"):
        write_npy(folder / side / "x.npy", [])


def write_broken(folder: pathlib.Path) -> None:
    """Two of four tensors differ, and one file of mine is cut."""
    for side, values in (("mine", [1, 2, 3]), ("golden", [1, 2, 4])):
        for name in "abcd":
            write_npy(folder / side / f"{name}.npy", [1, 2, 3] if name == "a" else values)
    cut = folder / "mine" / "b.npy"
    cut.write_bytes(cut.read_bytes()[:-4])


def write_checkpoint(folder: pathlib.Path) -> None:
    """5,000 tensors of 500 layers in one file; one of layer 77 is twice what it should be."""
    numbers = random.Random(7)
    parts = ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj", "mlp.gate_proj", "mlp.up_proj", "mlp.down_proj",
             "input_layernorm", "post_attention_layernorm", "mlp.bias")
    tensors = {f"model.layers.{layer}.{part}.weight": [numbers.gauss(0, 1) for _ in range(48)] for layer in range(500) for part in parts}
    for side, factor in (("mine", 2), ("golden", 1)):
        head, data = {}, bytearray()
        for name, values in tensors.items():
            scale = factor if name == "model.layers.77.self_attn.k_proj.weight" else 1
            head[name] = {"dtype": "F32", "shape": [6, 8], "data_offsets": [len(data), len(data) + 192]}
            data += struct.pack("<48f", *(scale * value for value in values))
        (folder / side).mkdir(parents=True)
        text = json.dumps(head).encode()
        (folder / side / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + bytes(data))
