"""What families of checkpoints are made of: their tensors, and how systems rename, fuse, turn and share them out."""
from __future__ import annotations

import re
from typing import Callable

import numpy

from checkpoints import Model, Tensors

Ranks = list[Tensors]
HIDDEN, HEADS, GROUPS, HEAD, INNER, VOCABULARY, LAYERS = 64, 8, 4, 8, 176, 304, 3


class Family:
    """The names of Hugging Face are `plain`; `systems` are the others, by title."""

    def __init__(self, name: str, seed: int) -> None:
        self.name = name
        self.chance = numpy.random.default_rng(seed)
        self.values: list[numpy.ndarray] = []
        self.size = 0
        self.plain: Tensors = {}
        self.systems: dict[str, Tensors | Ranks] = {}

    tensor = Model.tensor
    fresh_norms = False

    def add(self, name: str, *shape: int, norm: bool = False) -> None:
        self.plain[name] = self.tensor(*shape, norm=norm)

    def linear(self, name: str, out: int, into: int, bias: bool = False) -> None:
        self.add(f"{name}.weight", out, into)
        if bias:
            self.add(f"{name}.bias", out)

    def norm(self, name: str, bias: bool = False, size: int = HIDDEN) -> None:
        self.add(f"{name}.weight", size, norm=True)
        if bias:
            self.add(f"{name}.bias", size)

    def done(self) -> "Family":
        self.flat = numpy.concatenate(self.values + [numpy.zeros(1, numpy.float32)])
        return self

    def filled(self, numbers: Tensors) -> Tensors:
        return {name: self.flat[each] for name, each in numbers.items()}


# ----- from one system to another

def renamed(tensors: Tensors, rules: dict[str, str]) -> Tensors:
    """Every rule is a regular expression and what takes its place, in order."""
    out = {}
    for name, each in tensors.items():
        for old, new in rules.items():
            name = re.sub(old, new, name)
        assert name not in out, name
        out[name] = each
    return out


def fused(tensors: Tensors, parts: list[str], whole: str, join: Callable = numpy.concatenate) -> Tensors:
    """Names that differ in these words become one, in the place of the first."""
    out = {}
    for name, each in tensors.items():
        which = next((part for part in parts if part in name), None)
        if which is None:
            out[name] = each
        elif which == parts[0]:
            out[name.replace(which, whole)] = join([tensors[name.replace(which, part)] for part in parts])
    return out


def grouped(groups: int) -> Callable:
    """Queries, key and value of each group of heads beside each other, as Megatron."""
    def join(parts: list[numpy.ndarray]) -> numpy.ndarray:
        rest = parts[0].shape[1:]
        return numpy.concatenate([part.reshape(groups, -1, *rest) for part in parts], axis=1).reshape(-1, *rest)
    return join


def stacked(tensors: Tensors, pattern: str = r"\.experts\.(\d+)\.") -> Tensors:
    """The experts of a layer in one tensor."""
    out: dict[str, list] = {}
    for name, each in tensors.items():
        out.setdefault(re.sub(pattern, ".experts.", name), []).append(each)
    return {name: numpy.stack(each) if ".experts." in name else each[0] for name, each in out.items()}


def transposed(tensors: Tensors, which: str) -> Tensors:
    return {name: numpy.ascontiguousarray(each.swapaxes(-1, -2)) if each.ndim >= 2 and re.search(which, name) else each
            for name, each in tensors.items()}


ROW_PARALLEL = r"o_proj|out_proj|down_proj|linear_proj|linear_fc2|\.wo\.|\.w2|\.fc2\.|attn_output|ffn_down|attn\.proj|mlp\.2\.|c_proj|attention\.output|\d\.output\.dense|self_attn\.dense|DenseReluDense\.wo|Attention\.o\."
WHOLE = r"norm|ln|router|gate\.(weight|bias)|q_a_proj|kv_a_proj|wq_a|wkv_a|q_down_proj|kv_down_proj|conv\d|positional|position|cls_token|patch|relative|A_log|mixer|expert_bias|correction"


def shares(tensors: Tensors, ranks: int, fused_parts: dict[str, list[int]] | None = None) -> Ranks:
    """Tensor parallel. fused_parts: of names that match, the rows of each part, which is shared out by itself."""
    out: Ranks = [{} for _ in range(ranks)]
    for name, each in tensors.items():
        narrows = re.search(ROW_PARALLEL, name) is not None
        sizes = next((rows for pattern, rows in (fused_parts or {}).items() if re.search(pattern, name)), None)
        if re.search(WHOLE, name) and not sizes or (narrows and each.ndim < 2):
            parts = [each] * ranks
        elif narrows:
            parts = numpy.split(each, ranks, axis=-1)
        elif sizes:
            each_part = [numpy.split(part, ranks) for part in numpy.split(each, numpy.cumsum(sizes)[:-1])]
            parts = [numpy.concatenate([part[r] for part in each_part]) for r in range(ranks)]
        else:
            parts = numpy.split(each, ranks)
        for rank in range(ranks):
            out[rank][name] = numpy.ascontiguousarray(parts[rank])
    return out


# ----- what many families have

def attention(family: Family, at: str, bias: bool = False, groups: int = GROUPS, out: str = "o_proj", out_bias: bool = False) -> None:
    family.linear(f"{at}.q_proj", HIDDEN, HIDDEN, bias)
    family.linear(f"{at}.k_proj", groups * HEAD, HIDDEN, bias)
    family.linear(f"{at}.v_proj", groups * HEAD, HIDDEN, bias)
    family.linear(f"{at}.{out}", HIDDEN, HIDDEN, out_bias)


def gated(family: Family, at: str, inner: int = INNER, names: tuple[str, str, str] = ("gate_proj", "up_proj", "down_proj")) -> None:
    family.linear(f"{at}.{names[0]}", inner, HIDDEN)
    family.linear(f"{at}.{names[1]}", inner, HIDDEN)
    family.linear(f"{at}.{names[2]}", HIDDEN, inner)


QKV = ["q_proj", "k_proj", "v_proj"]
GGUF = {r"^model\.layers": "blk", r"self_attn\.q_proj": "attn_q", r"self_attn\.k_proj": "attn_k", r"self_attn\.v_proj": "attn_v",
        r"self_attn\.o_proj": "attn_output", r"mlp\.(gate|up|down)_proj": r"ffn_\1", r"^model\.embed_tokens": "token_embd",
        r"^model\.norm": "output_norm", r"^lm_head": "output"}
MEGATRON = {r"^model\.layers": "decoder.layers", r"self_attn\.qkv_proj": "self_attention.linear_qkv", r"self_attn\.o_proj": "self_attention.linear_proj",
            r"mlp\.gate_up_proj": "mlp.linear_fc1", r"mlp\.down_proj": "mlp.linear_fc2", r"^model\.embed_tokens": "embedding.word_embeddings",
            r"^model\.norm": "decoder.final_layernorm", r"^lm_head": "output_layer"}
