"""Small decoders of public families, each computed twice: as the modules of PyTorch that its hooks would dump, and as the graph
of operations of the Ascend Transformer Boost (ATB) library, whose every output is rounded to the type of the device.

Every tensor of either side has a key that says what it is, "1.context"; tensors of one key hold the same numbers. Families
differ in what the task of pairing is about: how modules are called, what one projection computes at once and in which order,
biases, positions, experts, and how ATB groups its operations.
"""
from __future__ import annotations

import math
from typing import Callable, NamedTuple

import torch

from atb_decoder import ADD, EPSILON, MUL, Value, attention, rms_norm, rotate

DIVIDE = 10  # elewiseType
SWISH, GELU = 6, 1  # activationType


class Names(NamedTuple):
    """Of the modules of PyTorch, below their parent."""
    model: str = "model"
    layers: str = "layers"
    embedding: str = "embed_tokens"
    position: str = ""
    embedding_norm: str = ""
    norm1: str = "input_layernorm"
    attention: str = "self_attn"
    query_key_value: str = ""  # empty: three
    output: str = "o_proj"
    norm2: str = "post_attention_layernorm"
    mlp: str = "mlp"
    gate: str = "gate_proj"  # empty: none
    up: str = "up_proj"
    activation: str = "act_fn"
    down: str = "down_proj"
    final_norm: str = "norm"


GPT2 = Names("transformer", "h", "wte", "wpe", "", "ln_1", "attn", "c_attn", "c_proj", "ln_2", "mlp", "", "c_fc", "act", "c_proj",
             "ln_f")
BLOOM = Names("transformer", "h", "word_embeddings", "", "word_embeddings_layernorm", "input_layernorm", "self_attention",
              "query_key_value", "dense", "post_attention_layernorm", "mlp", "", "dense_h_to_4h", "gelu_impl", "dense_4h_to_h",
              "ln_f")
MIXTRAL = Names()._replace(mlp="block_sparse_moe", gate="w1", up="w3", down="w2")


class Family(NamedTuple):
    kind: str  # the beginning of the names of classes
    names: Names = Names()
    rms: bool = True  # else LayerNorm, with a bias
    positions: str = "rope"  # rope, learned, alibi
    kv_heads: int = 4
    by_heads: bool = False  # queries, keys and values of a head stand together
    qkv_bias: bool = False
    bias: bool = False  # of all projections
    conv1d: bool = False
    tied: bool = False  # the head has the table of the embedding
    experts: int = 0
    shared: bool = False  # an expert that is given every token
    dense_layers: int = 0  # that have no experts
    choice_first: bool = False  # an expert is given its rows by first and second choice, not by token
    # How ATB has it.
    fused: bool = True  # one projection for query, key and value, one for gate and up
    bias_apart: bool = False  # biases are added by operations of their own
    attention_block: str = "Attention"  # empty: none
    core_block: str = ""  # around the attention itself
    mlp_block: str = "Mlp"
    linear_block: str = ""  # around each projection
    norms_inside: bool = False
    gather_head: bool = False  # the last positions are picked before the head
    layer: str = "Decoder_layer"


FAMILIES = {
    "gpt2": Family("GPT2", GPT2, rms=False, positions="learned", bias=True, conv1d=True, tied=True, bias_apart=True,
                   attention_block="", mlp_block="MlpLayer", layer="Gpt2Layer"),
    "bloom": Family("Bloom", BLOOM, rms=False, positions="alibi", by_heads=True, bias=True, tied=True, bias_apart=True,
                    attention_block="BloomAttention", mlp_block="MlpGateLayerV2", layer="Bloom7bCommonLayer", gather_head=True),
    "qwen": Family("Qwen2", kv_heads=2, qkv_bias=True, norms_inside=True, core_block="SelfAttentionPA",
                   linear_block="LinearNoQuant", layer="Prefill_layer", gather_head=True),
    "qwen, biases apart": Family("Qwen2", kv_heads=2, qkv_bias=True, bias_apart=True, fused=False, layer="Prefill_layer"),
    "deepseek experts": Family("Deepseek", experts=6, shared=True, dense_layers=1, attention_block="Attention",
                               mlp_block="SparseMoe", core_block="SelfAttentionFA", layer="DeepseekLayer"),
    "mixtral": Family("Mixtral", MIXTRAL, kv_heads=2, experts=4, choice_first=True, mlp_block="SparseMoe", gather_head=True),
    "multi-query": Family("GPTBigCode", GPT2, rms=False, positions="learned", kv_heads=1, bias=True, bias_apart=False,
                          attention_block="", mlp_block="", layer="StarcoderLayer"),
    "tied": Family("Llama", kv_heads=2, tied=True, fused=False, attention_block="", mlp_block="", layer="LlamaLayer"),
}


class Size(NamedTuple):
    layers: int = 2
    hidden: int = 32
    heads: int = 4
    inner: int = 48
    vocab: int = 48
    prompt: int = 5
    requests: int = 1
    tokens: int = 2
    seed: int = 1
    ranks: int = 1
    dtype: torch.dtype = torch.float16
    top: int = 2  # experts that a token is given to

    @property
    def head(self) -> int:
        return self.hidden // self.heads

    @property
    def positions(self) -> int:
        return self.prompt + self.tokens + 4


def has_experts(family: Family, n: int) -> bool:
    return family.experts > 0 and n >= family.dense_layers


def make_weights(family: Family, s: Size) -> dict[str, torch.Tensor]:
    random = torch.Generator().manual_seed(s.seed)
    weights: dict[str, torch.Tensor] = {}

    def normal(*shape: int, scale: float) -> torch.Tensor:
        return torch.randn(*shape, generator=random) * scale

    def linear(name: str, rows: int, columns: int, bias: bool) -> None:
        weights[name] = normal(rows, columns, scale=1 / math.sqrt(columns))
        if bias:
            weights[f"{name}.bias"] = normal(rows, scale=0.3)

    def norm(name: str) -> None:
        weights[name] = 1 + normal(s.hidden, scale=0.1)
        if not family.rms:
            weights[f"{name}.bias"] = normal(s.hidden, scale=0.1)
    weights["embedding"] = normal(s.vocab, s.hidden, scale=1.0)
    if family.positions == "learned":
        weights["position"] = normal(s.positions, s.hidden, scale=0.5)
    if family.names.embedding_norm:
        norm("embedding_norm")
    for n in range(s.layers):
        for part, rows in (("q", s.hidden), ("k", family.kv_heads * s.head), ("v", family.kv_heads * s.head)):
            linear(f"{n}.{part}", rows, s.hidden, family.bias or family.qkv_bias)
        linear(f"{n}.o", s.hidden, s.hidden, family.bias)
        for name in ("norm1", "norm2"):
            norm(f"{n}.{name}")
        owners = [f"{n}."]
        if has_experts(family, n):
            linear(f"{n}.router", family.experts, s.hidden, False)
            weights[f"{n}.router"] *= 4  # so that rounding does not change the choice
            owners = [f"{n}.e{i}." for i in range(family.experts)] + [f"{n}.shared."] * family.shared
        for owner in owners:
            if family.names.gate:
                linear(f"{owner}gate", s.inner, s.hidden, family.bias)
            linear(f"{owner}up", s.inner, s.hidden, family.bias)
            linear(f"{owner}down", s.hidden, s.inner, family.bias)
    norm("norm")
    weights["head"] = weights["embedding"] if family.tied else normal(s.vocab, s.hidden, scale=1 / math.sqrt(s.hidden))
    return weights


def angles(s: Size) -> tuple[torch.Tensor, torch.Tensor]:
    frequencies = 1 / 10000 ** (torch.arange(0, s.head, 2).float() / s.head)
    table = torch.outer(torch.arange(s.positions).float(), frequencies)
    table = torch.cat([table, table], -1)
    return table.cos(), table.sin()


def slopes(heads: int) -> torch.Tensor:
    return 2.0 ** (-8 * torch.arange(1, heads + 1).float() / heads)


def attend(family: Family, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, slope: torch.Tensor) -> torch.Tensor:
    """[batch, length, heads, head] each."""
    if family.positions != "alibi":
        return attention(q, k, v)
    length, total = q.shape[1], k.shape[1]
    distance = torch.arange(total)[None, :] - torch.arange(total - length, total)[:, None]
    mask = torch.full((length, total), -math.inf).triu(total - length + 1)
    scores = torch.einsum("blhd,bthd->bhlt", q, k) / math.sqrt(q.shape[3]) + slope[None, :, None, None] * distance + mask
    return torch.einsum("bhlt,bthd->blhd", scores.softmax(-1), v)


def normed(family: Family, x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
    if family.rms:
        return rms_norm(x, weight)
    return torch.nn.functional.layer_norm(x, x.shape[-1:], weight, bias, EPSILON)


def activated(family: Family, x: torch.Tensor) -> torch.Tensor:
    return x * x.sigmoid() if family.names.gate else torch.nn.functional.gelu(x)


def by_heads(s: Size, parts: list[torch.Tensor]) -> torch.Tensor:
    """Queries, keys and values of each head behind each other, along the last dimension."""
    heads = [part.unflatten(-1, (-1, s.head)) for part in parts]
    return torch.stack(heads, -2).flatten(-3)


Record = Callable[[str, str, list, dict], None]  # module, class, inputs, outputs by file: (tensor, key) each


class TorchPass:
    """Modules in the order in which their hooks are called."""

    def __init__(self, family: Family, s: Size, weights: dict[str, torch.Tensor], record: Record) -> None:
        self.family, self.s, self.w, self.record = family, s, weights, record
        self.names = family.names
        self.cache: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}
        self.margin = math.inf  # by which the closest choice of experts was made

    def linear(self, module: str, weights: list[str], x: tuple, key: str) -> torch.Tensor:
        outs = [torch.nn.functional.linear(x[0], self.w[name], self.w.get(f"{name}.bias")) for name in weights]
        out = outs[0] if len(outs) == 1 else by_heads(self.s, outs) if self.family.by_heads else torch.cat(outs, -1)
        is_conv = self.family.conv1d and module.rpartition(".")[2].startswith("c_")
        self.record(module, "Conv1D" if is_conv else "Linear", [x], {"output": (out, key)})
        return out

    def norm(self, module: str, name: str, x: tuple, key: str) -> torch.Tensor:
        out = normed(self.family, x[0], self.w[name], self.w.get(f"{name}.bias"))
        kind = f"{self.family.kind}RMSNorm" if self.family.rms else "LayerNorm"
        self.record(module, kind, [x], {"output": (out, key)})
        return out

    def attention(self, at: str, n: int, x: tuple, past: int) -> torch.Tensor:
        s, names = self.s, self.names
        if names.query_key_value:
            module = f"{at}.{names.query_key_value}"
            self.linear(module, [f"{n}.{part}" for part in "qkv"], x, f"{n}.qkv")
            q, k, v = (torch.nn.functional.linear(x[0], self.w[f"{n}.{part}"], self.w.get(f"{n}.{part}.bias")) for part in "qkv")
        else:
            q, k, v = (self.linear(f"{at}.{part}_proj", [f"{n}.{part}"], x, f"{n}.{part}") for part in "qkv")
        q, k, v = (part.unflatten(-1, (-1, s.head)) for part in (q, k, v))
        if self.family.positions == "rope":
            table = angles(s)
            self.record(f"{at}.rotary_emb", f"{self.family.kind}RotaryEmbedding", [(v.transpose(1, 2), f"{n}.v heads")],
                        {"output_0": (table[0][None, None], "cos"), "output_1": (table[1][None, None], "sin")})
            cos, sin = (part[past:past + x[0].shape[1]] for part in table)
            q, k = rotate(q, cos, sin), rotate(k, cos, sin)
        if n in self.cache:
            k, v = torch.cat([self.cache[n][0], k], 1), torch.cat([self.cache[n][1], v], 1)
        self.cache[n] = (k, v)
        context = attend(self.family, q, k, v, slopes(s.heads)).flatten(-2)
        return self.linear(f"{at}.{names.output}", [f"{n}.o"], (context, f"{n}.context"), f"{n}.attn")

    def mlp(self, at: str, owner: str, x: tuple) -> torch.Tensor:
        """`owner`: "1." of a layer, "1.e2." of an expert."""
        names = self.names
        first = self.linear(f"{at}.{names.gate or names.up}", [f"{owner}{'gate' if names.gate else 'up'}"], x,
                            f"{owner}{'gate' if names.gate else 'up'}")
        act = activated(self.family, first)
        self.record(f"{at}.{names.activation}", "SiLU" if names.gate else "GELU",
                    [(first, f"{owner}{'gate' if names.gate else 'up'}")], {"output": (act, f"{owner}act")})
        key = f"{owner}act"
        if names.gate:
            act = act * self.linear(f"{at}.{names.up}", [f"{owner}up"], x, f"{owner}up")
            key = f"{owner}gated"
        return self.linear(f"{at}.{names.down}", [f"{owner}down"], (act, key), f"{owner}mlp")

    def experts(self, at: str, n: int, x: tuple) -> torch.Tensor:
        flat = x[0].flatten(0, -2)
        logits = self.linear(f"{at}.gate", [f"{n}.router"], (flat, x[1]), f"{n}.router")
        ahead = logits.sort(-1, descending=True).values[:, :self.s.top + 1]
        self.margin = min(self.margin, (ahead[:, :-1] - ahead[:, 1:]).min().item())
        best = logits.softmax(-1).sort(-1, descending=True)
        chosen, parts = best.indices[:, :self.s.top], best.values[:, :self.s.top]
        parts = parts / parts.sum(-1, keepdim=True)
        out = torch.zeros_like(flat)
        for i in range(self.family.experts):
            if self.family.choice_first:
                place, token = torch.where(chosen.T == i)
            else:
                token, place = torch.where(chosen == i)
            if not len(token):
                continue
            module = f"{at}.experts.{i}"
            given = (flat[token], f"{n}.e{i}.in")
            made = self.mlp(module, f"{n}.e{i}.", given)
            self.record(module, f"{self.family.kind}ExpertMLP", [given], {"output": (made, f"{n}.e{i}.mlp")})
            out.index_add_(0, token, made * parts[token, place][:, None])
        out = out.reshape(x[0].shape)
        if self.family.shared:
            module = f"{at}.shared_experts"
            made = self.mlp(module, f"{n}.shared.", x)
            self.record(module, f"{self.family.kind}MLP", [x], {"output": (made, f"{n}.shared.mlp")})
            out = out + made
        return out

    def run(self, ids: torch.Tensor, past: int) -> torch.Tensor:
        s, names, family = self.s, self.names, self.family
        model = names.model
        x = self.w["embedding"][ids]
        key = "embed"
        self.record(f"{model}.{names.embedding}", "Embedding", [(ids, "ids")], {"output": (x, key)})
        if names.position:
            places = torch.arange(past, past + ids.shape[1])[None]
            table = self.w["position"][places]
            self.record(f"{model}.{names.position}", "Embedding", [(places, "positions")], {"output": (table, "position")})
            x, key = x + table, "0.in"
        if names.embedding_norm:
            x, key = self.norm(f"{model}.{names.embedding_norm}", "embedding_norm", (x, key), "0.in"), "0.in"
        for n in range(s.layers):
            at = f"{model}.{names.layers}.{n}"
            given = (x, key)
            a = (self.norm(f"{at}.{names.norm1}", f"{n}.norm1", given, f"{n}.norm1"), f"{n}.norm1")
            attn = self.attention(f"{at}.{names.attention}", n, a, past)
            self.record(f"{at}.{names.attention}", f"{family.kind}Attention", [a], {"output_0": (attn, f"{n}.attn")})
            middle = (x + attn, f"{n}.middle")
            b = (self.norm(f"{at}.{names.norm2}", f"{n}.norm2", middle, f"{n}.norm2"), f"{n}.norm2")
            module = f"{at}.{names.mlp}"
            is_sparse = has_experts(family, n)
            made = self.experts(module, n, b) if is_sparse else self.mlp(module, f"{n}.", b)
            mlp_key = f"{n}.mlp"
            self.record(module, f"{family.kind}{'SparseMoe' if is_sparse else 'MLP'}", [b], {"output": (made, mlp_key)})
            x, key = middle[0] + made, f"{n}.out"
            self.record(at, f"{family.kind}DecoderLayer", [given], {"output_0": (x, key)})
        x = self.norm(f"{model}.{names.final_norm}", "norm", (x, key), "norm")
        return self.linear("lm_head", ["head"], (x, "norm"), "logits")


def parameters(family: Family, s: Size, weights: dict[str, torch.Tensor]) -> dict[str, tuple[torch.Tensor, str]]:
    """What the hooks dump of weights: by name, with its key. A tied head has none of its own."""
    names = family.names
    found: dict[str, tuple[torch.Tensor, str]] = {}

    def add(module: str, owners: list[str], conv: bool = False) -> None:
        for suffix, rest in (("weight", ""), ("bias", ".bias")):
            parts = [weights.get(owner + rest) for owner in owners]
            if parts[0] is None:
                continue
            whole = parts[0] if len(parts) == 1 else torch.cat(parts)
            if len(parts) > 1 and family.by_heads:
                whole = torch.stack([part.unflatten(0, (-1, s.head)) for part in parts], 1).flatten(0, 2)
            whole = whole.T.contiguous() if conv and not rest else whole
            found[f"{module}.{suffix}"] = (whole, "w:" + "+".join(owner + rest for owner in owners))
    add(f"{names.model}.{names.embedding}", ["embedding"])
    if names.position:
        add(f"{names.model}.{names.position}", ["position"])
    if names.embedding_norm:
        add(f"{names.model}.{names.embedding_norm}", ["embedding_norm"])
    for n in range(s.layers):
        at = f"{names.model}.{names.layers}.{n}"
        add(f"{at}.{names.norm1}", [f"{n}.norm1"])
        add(f"{at}.{names.norm2}", [f"{n}.norm2"])
        if names.query_key_value:
            add(f"{at}.{names.attention}.{names.query_key_value}", [f"{n}.{part}" for part in "qkv"], family.conv1d)
        else:
            for part in "qkv":
                add(f"{at}.{names.attention}.{part}_proj", [f"{n}.{part}"])
        add(f"{at}.{names.attention}.{names.output}", [f"{n}.o"], family.conv1d)
        if not has_experts(family, n):
            for part, name in (("gate", names.gate), ("up", names.up), ("down", names.down)):
                if name:
                    add(f"{at}.{names.mlp}.{name}", [f"{n}.{part}"], family.conv1d)
    add(f"{names.model}.{names.final_norm}", ["norm"])
    if not family.tied:
        add("lm_head", ["head"])
    return found


def module_tree(modules: dict[str, str]) -> dict:
    """model_tree.json of modules with their classes; those in between are lists."""
    root: dict = {"name": "root", "type": "ForCausalLM", "children": []}
    nodes = {"root": root}
    for module in modules:
        parts = ["root", *module.split(".")]
        for i in range(1, len(parts)):
            name = ".".join(parts[:i + 1])
            if name not in nodes:
                kind = modules.get(name.removeprefix("root."), "ModuleList" if parts[i] in ("h", "layers", "experts") else "Model")
                nodes[name] = {"name": name, "type": kind, "children": []}
                nodes[".".join(parts[:i])]["children"].append(nodes[name])
    return root
