"""A small decoder of the Llama family, computed twice: as PyTorch modules would do it, and as the graph of operations of the
Ascend Transformer Boost (ATB) library, whose every output is rounded to the type of the device.

Both passes call a recorder for each module or operation; the recorders in make_atb_dump.py write the dumps.
A value of the ATB pass has a key, such as "3.gate", that says what it is; `torch_files` says which files of the PyTorch dump
hold the same numbers.
"""
from __future__ import annotations

import contextlib
import math
from typing import NamedTuple

import torch

EPSILON = 1e-5
QUANTISE_ALL, ADD, MUL, QUANTISE, DEQUANTISE = 6, 8, 9, 17, 18  # elewiseType
INT8 = (-128, 127)


class Settings(NamedTuple):
    layers: int
    tokens: int
    prompt: int  # length of the first token's input
    hidden: int
    heads: int
    kv_heads: int
    inner: int
    vocab: int
    seed: int
    requests: int = 1  # different ones, on both sides
    ranks: int = 1
    batch: int = 1  # how often the ATB side has them
    dtype: torch.dtype = torch.float16
    quant: bool = False
    norms: str = "inside"  # of the Attention and Mlp graphs, or beside them
    columns_out: bool = False  # ATB holds the weights of projections as [in, out]
    stated_scales: bool = False  # one scale and offset for a tensor, in the parameters of the operation
    extra_cast: bool = False  # one operation more in each layer, which moves the numbers of those after it

    @property
    def head(self) -> int:
        return self.hidden // self.heads

    @property
    def positions(self) -> int:
        return self.prompt + self.tokens + 8  # the table of angles is longer than what is used, as in real models


def make_weights(s: Settings) -> dict[str, torch.Tensor]:
    random = torch.Generator().manual_seed(s.seed)

    def normal(*shape: int, scale: float) -> torch.Tensor:
        return torch.randn(*shape, generator=random) * scale

    def linear(rows: int, columns: int) -> torch.Tensor:
        return normal(rows, columns, scale=1 / math.sqrt(columns))
    weights = {"embed_tokens": normal(s.vocab, s.hidden, scale=1.0)}
    kv = s.kv_heads * s.head
    for n in range(s.layers):
        shapes = {"q_proj": (s.hidden, s.hidden), "k_proj": (kv, s.hidden), "v_proj": (kv, s.hidden),
                  "o_proj": (s.hidden, s.hidden), "gate_proj": (s.inner, s.hidden), "up_proj": (s.inner, s.hidden),
                  "down_proj": (s.hidden, s.inner)}
        weights |= {f"{n}.{name}": linear(*shape) for name, shape in shapes.items()}
        weights |= {f"{n}.{name}": 1 + normal(s.hidden, scale=0.1) for name in ("input_layernorm", "post_attention_layernorm")}
    weights["norm"] = 1 + normal(s.hidden, scale=0.1)
    weights["lm_head"] = linear(s.vocab, s.hidden)
    return weights


def angles(s: Settings) -> tuple[torch.Tensor, torch.Tensor]:
    frequencies = 1 / 10000 ** (torch.arange(0, s.head, 2).float() / s.head)
    table = torch.outer(torch.arange(s.positions).float(), frequencies)
    table = torch.cat([table, table], -1)
    return table.cos(), table.sin()


def times(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """x @ weight.T. Debian builds torch with a plain BLAS; a convolution runs ten times as fast, through oneDNN."""
    if x.numel() * weight.shape[0] < 1 << 26:
        return x @ weight.T
    rows = x.reshape(-1, x.shape[-1], 1, 1).contiguous(memory_format=torch.channels_last)
    return torch.nn.functional.conv2d(rows, weight[:, :, None, None]).reshape(*x.shape[:-1], weight.shape[0])


def rms_norm(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + EPSILON) * weight


def rotate(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """x: [..., length, heads, head]; cos, sin: [length, head]."""
    left, right = x.chunk(2, -1)
    return x * cos.unsqueeze(-2) + torch.cat([-right, left], -1) * sin.unsqueeze(-2)


def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """[batch, length, heads, head] each; head by head, because all scores of a long input do not fit in memory."""
    length, total = q.shape[1], k.shape[1]
    mask = torch.full((length, total), -math.inf).triu(total - length + 1)
    out = torch.empty_like(q)
    shared = q.shape[2] // k.shape[2]
    for head in range(q.shape[2]):
        scores = q[:, :, head] @ k[:, :, head // shared].transpose(1, 2) / math.sqrt(q.shape[3])
        out[:, :, head] = (scores + mask).softmax(-1) @ v[:, :, head // shared]
    return out


# --- PyTorch ---------------------------------------------------------------------------------------------------------------


def module_tree(s: Settings) -> dict:
    """model_tree.json: children in the order of their registration, which is not that of execution."""
    def node(name: str, kind: str, children=()) -> dict:
        return {"name": name, "type": kind, "children": list(children)}

    def layer(n: int) -> dict:
        at = f"root.model.layers.{n}"
        attn = [node(f"{at}.self_attn.{x}", "Linear") for x in ("q_proj", "k_proj", "v_proj", "o_proj")]
        attn.append(node(f"{at}.self_attn.rotary_emb", "LlamaRotaryEmbedding"))
        mlp = [node(f"{at}.mlp.{x}", "Linear") for x in ("gate_proj", "up_proj", "down_proj")]
        mlp.append(node(f"{at}.mlp.act_fn", "SiLUActivation"))
        return node(at, "LlamaDecoderLayer", [
            node(f"{at}.self_attn", "LlamaAttention", attn), node(f"{at}.mlp", "LlamaMLP", mlp),
            node(f"{at}.input_layernorm", "LlamaRMSNorm"), node(f"{at}.post_attention_layernorm", "LlamaRMSNorm")])
    model = node("root.model", "LlamaModel", [
        node("root.model.embed_tokens", "Embedding"),
        node("root.model.layers", "ModuleList", map(layer, range(s.layers))), node("root.model.norm", "LlamaRMSNorm")])
    return node("root", "LlamaForCausalLM", [model, node("root.lm_head", "Linear")])


def torch_pass(s: Settings, w: dict[str, torch.Tensor], ids: torch.Tensor, cache: dict, record) -> torch.Tensor:
    """One token; `record(module, inputs, {file stem: output})` is called as the hooks of PyTorch are. Returns the logits."""
    past = cache[0][0].shape[1] if cache else 0
    length = ids.shape[1]
    table = [part[None, None] for part in angles(s)]
    cos, sin = (part[0, 0, past:past + length] for part in table)

    def linear(name: str, key: str, x: torch.Tensor) -> torch.Tensor:
        y = times(x, w[key])
        record(name, [x], {"output": y})
        return y

    def norm(name: str, key: str, x: torch.Tensor) -> torch.Tensor:
        y = rms_norm(x, w[key])
        record(name, [x], {"output": y})
        return y
    x = w["embed_tokens"][ids]
    record("model.embed_tokens", [ids], {"output": x})
    for n in range(s.layers):
        at = f"model.layers.{n}"
        a = norm(f"{at}.input_layernorm", f"{n}.input_layernorm", x)
        q, k, v = (linear(f"{at}.self_attn.{name}", f"{n}.{name}", a).unflatten(-1, (-1, s.head))
                   for name in ("q_proj", "k_proj", "v_proj"))
        record(f"{at}.self_attn.rotary_emb", [v.transpose(1, 2)], {"output_0": table[0], "output_1": table[1]})
        k = rotate(k, cos, sin)
        if n in cache:
            k, v = torch.cat([cache[n][0], k], 1), torch.cat([cache[n][1], v], 1)
        cache[n] = (k, v)
        context = attention(rotate(q, cos, sin), k, v).flatten(-2)
        attn = linear(f"{at}.self_attn.o_proj", f"{n}.o_proj", context)
        record(f"{at}.self_attn", [], {"output_0": attn, "output_2_0": k.transpose(1, 2), "output_2_1": v.transpose(1, 2)})
        middle = x + attn
        b = norm(f"{at}.post_attention_layernorm", f"{n}.post_attention_layernorm", middle)
        gate = linear(f"{at}.mlp.gate_proj", f"{n}.gate_proj", b)
        act = gate * gate.sigmoid()
        record(f"{at}.mlp.act_fn", [gate], {"output": act})
        up = linear(f"{at}.mlp.up_proj", f"{n}.up_proj", b)
        down = linear(f"{at}.mlp.down_proj", f"{n}.down_proj", act * up)
        record(f"{at}.mlp", [b], {"output": down})
        record(at, [x], {"output_0": middle + down})
        x = middle + down
    x = norm("model.norm", "norm", x)
    return linear("lm_head", "lm_head", x)


def parameter_name(weight: str) -> str:
    """What PyTorch calls a weight of make_weights: "0.q_proj" is model.layers.0.self_attn.q_proj.weight."""
    layer, dot, name = weight.rpartition(".")
    group = {"q": "self_attn.", "k": "self_attn.", "v": "self_attn.", "o": "self_attn.", "gate": "mlp.", "up": "mlp.", "down": "mlp."}
    inside = group.get(name.removesuffix("_proj"), "") if name.endswith("_proj") else ""
    return f"model.layers.{layer}.{inside}{name}.weight" if dot else ("" if name == "lm_head" else "model.") + f"{name}.weight"


def torch_weights(weight: str) -> list[str] | None:
    """The parameters of PyTorch that a weight of the ATB pass holds, one below the other."""
    name, dot, kind = weight.rpartition(".")
    if not dot or kind != "weight":
        return None
    layer, _, last = name.rpartition(".")
    fused = {"qkv": ["q_proj", "k_proj", "v_proj"], "gate_up": ["gate_proj", "up_proj"]}
    return [parameter_name(f"{layer}.{part}" if layer else part) for part in fused.get(last, [last])]


class TorchFiles(NamedTuple):
    files: list[str]  # side by side along the last dimension
    rows: bool = False  # only the rows of the positions at hand


def torch_files(key: str, op_type: str, layer: int, ranks: int) -> TorchFiles | None:
    """Where the PyTorch dump has the value of this key; the graph that gives it may stand for a module of its own.

    `layer` is where the operation stands: the angles are the same in all, and every layer has a module for them.
    """
    if op_type in ("Attention", "Mlp") and key.endswith((".attn", ".mlp")):
        n = key.split(".")[0]
        return TorchFiles([f"root.model.layers.{n}." + ("self_attn/output_0" if op_type == "Attention" else "mlp/output")])
    whole = {"ids": "model.embed_tokens/input_0", "embed": "model.embed_tokens/output", "norm": "model.norm/output",
             "logits": "lm_head/output"}
    if key in whole:
        return TorchFiles([f"root.{whole[key]}"])
    if key in ("cos", "sin"):
        return TorchFiles([f"root.model.layers.{layer}.self_attn.rotary_emb/output_{int(key == 'sin')}"], rows=True)
    parts = {"input_norm": ["input_layernorm/output"], "q": ["self_attn.q_proj/output"], "k": ["self_attn.k_proj/output"],
             "v": ["self_attn.v_proj/output"], "context": ["self_attn.o_proj/input_0"], "attn": ["self_attn.o_proj/output"],
             "middle": ["post_attention_layernorm/input_0"], "post_norm": ["post_attention_layernorm/output"],
             "gate": ["mlp.gate_proj/output"], "up": ["mlp.up_proj/output"], "act": ["mlp.act_fn/output"],
             "gated": ["mlp.down_proj/input_0"], "mlp": ["mlp.down_proj/output"], "out": ["/output_0"]}
    if ranks == 1:  # of several ranks each has its share of every part
        parts |= {"qkv": [f"self_attn.{x}_proj/output" for x in "qkv"],
                  "gate_up": [f"mlp.{x}_proj/output" for x in ("gate", "up")]}
    n, _, name = key.partition(".")
    if name not in parts:
        return None
    return TorchFiles([f"root.model.layers.{n}" + (part if part.startswith("/") else f".{part}") for part in parts[name]])


# --- ATB -------------------------------------------------------------------------------------------------------------------


class Value:
    """A tensor of the graph: what each rank holds of it."""

    def __init__(self, shards: list[torch.Tensor], key: str = "", sharded: bool = False, weight: str = "") -> None:
        self.shards, self.key, self.sharded, self.weight = shards, key, sharded, weight
        self.name = weight or key  # in the topology; replaced by the operation that gives the value
        self.tainted = False  # comes after the planted fault
        self.holds: Value | None = None  # a cache holds the new keys or values, which thus are used
        self.is_quantised = False  # int8 that stand for real numbers
        self.quant_inputs: tuple[int, int] | None = None  # which inputs of its operation are its scale and offset

    def bare(self) -> Value:
        """The same without data, to be kept."""
        copy = Value([], self.key, self.sharded, self.weight)
        copy.name, copy.tainted, copy.quant_inputs = self.name, self.tainted, self.quant_inputs
        copy.is_quantised = self.is_quantised
        return copy

    def wide(self) -> list[torch.Tensor]:
        return [shard.float() for shard in self.shards]


class Ranges:
    """A recorder that keeps what a calibration looks for: the extremes, on each rank, of what is multiplied with a weight."""

    def __init__(self) -> None:
        self.of: dict[str, list[tuple[torch.Tensor, torch.Tensor]]] = {}  # by weight

    def inside(self, op_type: str) -> contextlib.AbstractContextManager:
        return contextlib.nullcontext()

    def op(self, op_type: str, inputs: list[Value], outputs: list[Value], param: dict) -> list[Value]:
        if op_type == "LinearOperation":
            seen = [(shard.min(), shard.max()) for shard in inputs[0].wide()]
            before = self.of.get(inputs[1].weight, seen)
            self.of[inputs[1].weight] = [(min(a, c), max(b, d)) for (a, b), (c, d) in zip(before, seen)]
        return outputs


class AtbPass:
    """Runs rounds of the graph. `graph` is the recorder: graph.op(...) for an operation, graph.inside(...) around a group.
    `ranges`: of a run in float, which tell the scales of one in int8."""

    def __init__(self, s: Settings, weights: dict[str, torch.Tensor], graph, ranges: Ranges | None = None) -> None:
        self.s, self.source, self.graph, self.ranges = s, weights, graph, ranges
        self.weights: dict[str, Value] = {}
        self.scales: dict[str, list[tuple[float, int]]] = {}
        self.cache: dict[int, tuple[Value, Value]] = {}
        self.table = [part.to(s.dtype) for part in angles(s)]

    def rounded(self, shards: list[torch.Tensor]) -> list[torch.Tensor]:
        return [shard.to(self.s.dtype) for shard in shards]

    def equal(self, tensor: torch.Tensor, key: str) -> Value:
        return Value([tensor] * self.s.ranks, key)

    def weight(self, name: str, parts: list[str], dim: int | None) -> Value:
        """Some weights one below the other, cut over the ranks along dim; None: every rank has all of it."""
        if name not in self.weights:
            cut = [self.source[part].chunk(self.s.ranks, dim) if dim is not None else [self.source[part]] * self.s.ranks
                   for part in parts]
            shards = [torch.cat(pieces) if len(pieces) > 1 else pieces[0] for pieces in zip(*cut)]
            if dim is not None and self.s.columns_out:
                shards = [shard.T.contiguous() for shard in shards]
            self.weights[name] = Value(self.rounded(shards), weight=name)
        return self.weights[name]

    def elementwise(self, kind: int, a: Value, b: Value, key: str) -> Value:
        out = [x + y if kind == ADD else x * y for x, y in zip(a.wide(), b.wide())]
        return self.graph.op("ElewiseOperation", [a, b], [Value(self.rounded(out), key, a.sharded)], {"elewiseType": kind})[0]

    def norm(self, x: Value, weight: str, key: str) -> Value:
        w = self.weight(f"{weight}.weight", [weight], None)
        out = [rms_norm(a, b) for a, b in zip(x.wide(), w.wide())]
        return self.graph.op("RmsNormOperation", [x, w], [Value(self.rounded(out), key)],
                             {"layerType": 1, "normParam": {"epsilon": EPSILON, "quantType": 0}})[0]

    def linear(self, x: Value, w: Value, key: str, sharded: bool, quantised: bool) -> Value:
        if quantised:
            return self.quant_linear(x, w, key, sharded)
        columns = self.s.columns_out
        out = [times(a, b.T if columns else b) for a, b in zip(x.wide(), w.wide())]
        return self.graph.op("LinearOperation", [x, w], [Value(self.rounded(out), key, sharded)],
                             {"hasBias": False, "transposeA": False, "transposeB": not columns, "outDataType": -1})[0]

    def quant_linear(self, x: Value, w: Value, key: str, sharded: bool) -> Value:
        """Activations get the scale and offset of a calibration; weights are symmetric."""
        if w.weight not in self.scales:
            self.scales[w.weight] = []
            for least, most in self.ranges.of[w.weight]:
                scale = float(((most - least) / 255).to(self.s.dtype))
                offset = int(torch.clamp(torch.round(-128 - least / scale), *INT8))
                self.scales[w.weight].append((scale, offset))
        scales = self.scales[w.weight]
        scale = Value([torch.tensor([a]).to(self.s.dtype) for a, _ in scales], weight=f"{w.weight}.input_scale")
        offset = Value([torch.tensor([b], dtype=torch.int8) for _, b in scales], weight=f"{w.weight}.input_offset")
        small = [torch.clamp(torch.round(shard / a) + b, *INT8).to(torch.int8) for shard, (a, b) in zip(x.wide(), scales)]
        given = Value(small, x.key, x.sharded)
        given.is_quantised = True
        if self.s.stated_scales:
            step = {"inputScale": 1 / scales[0][0], "inputOffset": scales[0][1], "asymmetric": False}
            given = self.graph.op("ElewiseOperation", [x], [given], {"elewiseType": QUANTISE_ALL, "quantParam": step})[0]
        else:
            given.quant_inputs = (1, 2)
            given = self.graph.op("ElewiseOperation", [x, scale, offset], [given], {"elewiseType": QUANTISE})[0]
        steps = [shard.abs().amax(1) / 127 for shard in w.wide()]
        grid = [torch.round(shard / step[:, None]).to(torch.int8) for shard, step in zip(w.wide(), steps)]
        bias = [(-b * g.int().sum(1)).int() for g, (_, b) in zip(grid, scales)]
        factors = [step * a for step, (a, _) in zip(steps, scales)]
        total = [(a.double() @ g.double().T + c).round().int() for a, g, c in zip(given.shards, grid, bias)]
        inputs = [given, Value(grid, weight=f"{w.weight}.int8"), Value(bias, weight=f"{w.weight}.quant_bias")]
        factor = Value(factors, weight=f"{w.weight}.deq_scale")
        out = self.rounded([t * f for t, f in zip(total, factors)])
        param = {"hasBias": True, "transposeB": True}
        if not key.endswith(".mlp"):
            return self.graph.op("LinearQuantOperation", [*inputs, factor], [Value(out, key, sharded)], param)[0]
        counts = self.graph.op("LinearQuantOperation", inputs, [Value(total, f"{key}.int32")], param)[0]
        exact = self.rounded([t * f for t, f in zip(counts.wide(), factors)])
        return self.graph.op("ElewiseOperation", [counts, factor], [Value(exact, key, sharded)], {"elewiseType": DEQUANTISE})[0]

    def row_linear(self, x: Value, weight: str, key: str) -> Value:
        """Each rank has some columns of the weight; the sums of all ranks are added up."""
        w = self.weight(f"{weight}.weight", [weight], 1)
        if self.s.ranks == 1:
            return self.linear(x, w, key, False, self.s.quant)
        with self.graph.inside("LinearRowParallelNoAdd"):
            part = self.linear(x, w, f"{key}.partial", False, self.s.quant)
            total = self.rounded([sum(part.wide())])[0]
            return self.graph.op("AllReduceOperation", [part], [self.equal(total, key)],
                                 {"rank": 0, "rankSize": self.s.ranks, "allReduceType": "sum", "backend": "lccl"})[0]

    def norm_linear(self, x: Value, norm: tuple[str, str], weights: list[str], key: str) -> Value:
        """x is normed already where the norms stand outside."""
        w = self.weight(f"{key}.weight", weights, 0)
        if self.s.norms == "outside":
            return self.linear(x, w, key, True, self.s.quant)
        with self.graph.inside("NormLinear"):
            return self.linear(self.norm(x, *norm), w, key, True, self.s.quant)

    def split(self, x: Value, sizes: list[int], keys: list[str]) -> list[Value]:
        parts = zip(*(shard.split(sizes, -1) for shard in x.shards))
        outs = [Value([part.contiguous() for part in shards], key, True) for shards, key in zip(parts, keys)]
        return self.graph.op("SplitOperation", [x], outs, {"splitDim": 1, "splitNum": len(sizes)})

    def attend(self, n: int, x: Value, cos: Value, sin: Value, length: Value, decode: bool) -> Value:
        s, graph = self.s, self.graph
        names = [f"{n}.{name}" for name in ("q_proj", "k_proj", "v_proj")]
        q_size, kv_size = s.hidden // s.ranks, s.kv_heads * s.head // s.ranks
        with graph.inside("QKVLinearSplitPack"):
            packed = self.norm_linear(x, (f"{n}.input_layernorm", f"{n}.input_norm"), names, f"{n}.qkv")
            q, k, v = self.split(packed, [q_size, kv_size, kv_size], [f"{n}.q", f"{n}.k", f"{n}.v"])
        if s.extra_cast:
            q = graph.op("ElewiseOperation", [q], [Value(q.shards, f"{n}.q", True)], {"elewiseType": 1, "outTensorType": 1})[0]

        def heads(shard: torch.Tensor) -> torch.Tensor:
            return shard.float().reshape(s.batch * s.requests, -1, shard.shape[-1] // s.head, s.head)

        def turned(value: Value, key: str) -> Value:
            rows = [part[:part.shape[0] // (s.batch * s.requests)] for part in (cos.wide()[0], sin.wide()[0])]
            return Value(self.rounded([rotate(heads(a), *rows).reshape(a.shape) for a in value.shards]), key, True)
        with graph.inside("RotaryPositionEmbedding"):
            q, k = graph.op("RopeOperation", [q, k, cos, sin, length],
                            [turned(q, f"{n}.q_turned"), turned(k, f"{n}.k_turned")], {"rotaryCoeff": 2})
        all_k, all_v = self.grown(n, k, v)
        out = [attention(heads(a), heads(b), heads(c)).reshape(a.shape)
               for a, b, c in zip(q.shards, all_k.shards, all_v.shards)]
        param = {"headNum": s.heads // s.ranks, "kvHeadNum": s.kv_heads // s.ranks, "qkScale": 1 / math.sqrt(s.head)}
        context = graph.op("PagedAttentionOperation" if decode else "SelfAttentionOperation", [q, all_k, all_v, length],
                           [Value(self.rounded(out), f"{n}.context", True)], param)[0]
        return self.row_linear(context, f"{n}.o_proj", f"{n}.attn")

    def grown(self, n: int, k: Value, v: Value) -> tuple[Value, Value]:
        """The keys and values of all tokens so far: [batch * total, kv]."""
        pair = []
        for old, new, name in zip(self.cache.get(n, (None, None)), (k, v), ("k", "v")):
            if old is None:
                pair.append(new)
                continue
            view = [[part.reshape(self.s.batch * self.s.requests, -1, part.shape[-1]) for part in both]
                    for both in zip(old.shards, new.shards)]
            grown = Value([torch.cat(both, 1).flatten(0, 1) for both in view], f"{n}.{name}_cache", True)
            grown.tainted = old.tainted or new.tainted
            grown.holds = new
            pair.append(grown)
        self.cache[n] = (pair[0], pair[1])
        return pair[0], pair[1]

    def mlp(self, n: int, x: Value) -> Value:
        inner = self.s.inner // self.s.ranks
        both = self.norm_linear(x, (f"{n}.post_attention_layernorm", f"{n}.post_norm"), [f"{n}.gate_proj", f"{n}.up_proj"],
                                f"{n}.gate_up")
        gate, up = self.split(both, [inner, inner], [f"{n}.gate", f"{n}.up"])
        swish = Value(self.rounded([a * a.sigmoid() for a in gate.wide()]), f"{n}.act", True)
        act = self.graph.op("ActivationOperation", [gate], [swish], {"activationType": 4, "scale": 1.0})[0]
        return self.row_linear(self.elementwise(MUL, act, up, f"{n}.gated"), f"{n}.down_proj", f"{n}.mlp")

    def lm_head(self, x: Value) -> Value:
        w = self.weight("lm_head.weight", ["lm_head"], 0)
        if self.s.ranks == 1:
            return self.linear(x, w, "logits", False, False)
        part = self.linear(x, w, "logits", True, False)
        stacked = self.equal(torch.stack(part.shards), "logits.stacked")
        param = {"rank": 0, "rankSize": self.s.ranks, "backend": "lccl"}
        stacked = self.graph.op("AllGatherOperation", [part], [stacked], param)[0]
        flat = stacked.shards[0].transpose(0, 1).flatten(1).contiguous()
        return self.graph.op("TransposeOperation", [stacked], [self.equal(flat, "logits")], {"perm": [1, 0, 2]})[0]

    def run(self, ids: torch.Tensor, past: int, layer_type: str, decode: bool) -> None:
        """One execution of the model for ids: [requests, length]."""
        s, graph = self.s, self.graph
        count = ids.shape[-1]
        total = s.batch * s.requests
        tokens = self.equal(ids.reshape(-1).repeat(s.batch), "ids")
        places = self.equal(torch.arange(past, past + count).repeat(total), "positions")
        length = self.equal(torch.tensor([past + count] * total, dtype=torch.int32), "seq_len")
        with graph.inside("WordEmbedding"):
            w = self.weight("embed_tokens.weight", ["embed_tokens"], None)
            x = graph.op("GatherOperation", [w, tokens], [self.equal(w.shards[0][tokens.shards[0]], "embed")], {"axis": 0})[0]
        with graph.inside("PositionalEmbeddingGather"):
            cos, sin = (graph.op("GatherOperation", [Value([table] * s.ranks, weight=f"{key}_table"), places],
                                 [self.equal(table[places.shards[0]], key)], {"axis": 0})[0]
                        for table, key in zip(self.table, ("cos", "sin")))
        outside = s.norms == "outside"
        for n in range(s.layers):
            with graph.inside(layer_type):
                a = self.norm(x, f"{n}.input_layernorm", f"{n}.input_norm") if outside else x
                with graph.inside("Attention"):
                    attn = self.attend(n, a, cos, sin, length, decode)
                middle = self.elementwise(ADD, x, attn, f"{n}.middle")
                b = self.norm(middle, f"{n}.post_attention_layernorm", f"{n}.post_norm") if outside else middle
                with graph.inside("Mlp"):
                    down = self.mlp(n, b)
                x = self.elementwise(ADD, middle, down, f"{n}.out")
        x = self.norm(x, "norm", "norm")
        with graph.inside("LmHead"):
            self.lm_head(x)
