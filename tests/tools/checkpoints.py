"""Checkpoints of one model in the namings and layouts of several systems, with the truth of what belongs to what.

A checkpoint is {name: array}; `truth` says of every tensor of a layout which elements of which plain tensor it holds:
{name: array of the same shape with the numbers of the elements}, so that any two layouts can be held against each other.
"""
from __future__ import annotations

import json
import pathlib

import numpy

Tensors = dict[str, numpy.ndarray]


class Model:
    """A decoder with grouped queries, gated MLP and norms; every element of it has a number of its own."""

    def __init__(self, layers: int = 4, hidden: int = 64, heads: int = 8, groups: int = 2, inner: int = 176,
                 vocabulary: int = 304, seed: int = 1, fresh_norms: bool = False, experts: int = 0) -> None:
        self.layers, self.hidden, self.heads, self.groups = layers, hidden, heads, groups
        self.head = hidden // heads
        self.inner, self.vocabulary, self.fresh_norms, self.experts = inner, vocabulary, fresh_norms, experts
        self.chance = numpy.random.default_rng(seed)
        self.values: list[numpy.ndarray] = []
        self.size = 0
        self.plain = self.tensors()
        self.flat = numpy.concatenate(self.values + [numpy.zeros(1, numpy.float32)])  # number -1: padding

    def tensor(self, *shape: int, norm: bool = False) -> numpy.ndarray:
        """The numbers of its elements; the values go to self.values."""
        count = int(numpy.prod(shape))
        if norm:
            values = numpy.ones(count) if self.fresh_norms else 1 + 0.1 * self.chance.standard_normal(count)
        else:
            values = 0.02 * self.chance.standard_normal(count)
        self.values.append(values.astype(numpy.float32))
        self.size += count
        return numpy.arange(self.size - count, self.size).reshape(shape)

    def tensors(self) -> Tensors:
        """As transformers names them."""
        out = {"model.embed_tokens.weight": self.tensor(self.vocabulary, self.hidden)}
        keys = self.groups * self.head
        for i in range(self.layers):
            layer = f"model.layers.{i}"
            out[f"{layer}.self_attn.q_proj.weight"] = self.tensor(self.hidden, self.hidden)
            out[f"{layer}.self_attn.k_proj.weight"] = self.tensor(keys, self.hidden)
            out[f"{layer}.self_attn.v_proj.weight"] = self.tensor(keys, self.hidden)
            out[f"{layer}.self_attn.o_proj.weight"] = self.tensor(self.hidden, self.hidden)
            for e in range(max(1, self.experts)):
                mlp = f"{layer}.mlp.experts.{e}" if self.experts else f"{layer}.mlp"
                out[f"{mlp}.gate_proj.weight"] = self.tensor(self.inner, self.hidden)
                out[f"{mlp}.up_proj.weight"] = self.tensor(self.inner, self.hidden)
                out[f"{mlp}.down_proj.weight"] = self.tensor(self.hidden, self.inner)
            out[f"{layer}.input_layernorm.weight"] = self.tensor(self.hidden, norm=True)
            out[f"{layer}.post_attention_layernorm.weight"] = self.tensor(self.hidden, norm=True)
        out["model.norm.weight"] = self.tensor(self.hidden, norm=True)
        out["lm_head.weight"] = self.tensor(self.vocabulary, self.hidden)
        return out

    def filled(self, numbers: Tensors) -> Tensors:
        """The values of a layout."""
        return {name: self.flat[each] for name, each in numbers.items()}

    # ----- layouts of other systems

    def meta(self) -> Tensors:
        """As Meta names them, with the numbers that a rotary embedding turns beside each other."""
        names = {"self_attn.q_proj": "attention.wq", "self_attn.k_proj": "attention.wk", "self_attn.v_proj": "attention.wv",
                 "self_attn.o_proj": "attention.wo", "mlp.gate_proj": "feed_forward.w1", "mlp.down_proj": "feed_forward.w2",
                 "mlp.up_proj": "feed_forward.w3", "input_layernorm": "attention_norm", "post_attention_layernorm": "ffn_norm",
                 "embed_tokens": "tok_embeddings", "lm_head": "output", "model.": ""}
        out = {}
        for name, each in self.plain.items():
            renamed = name
            for old, new in names.items():
                renamed = renamed.replace(old, new)
            if ".q_proj." in name or ".k_proj." in name:
                each = each.reshape(-1, 2, self.head // 2, self.hidden).swapaxes(1, 2).reshape(-1, self.hidden)
            out[renamed] = each
        return out

    def padded(self, numbers: Tensors, multiple: int) -> Tensors:
        """Embedding and head with zeros behind them."""
        out = dict(numbers)
        for name, each in numbers.items():
            if each.ndim == 2 and each.shape[0] == self.vocabulary and -each.shape[0] % multiple:
                out[name] = numpy.concatenate([each, numpy.full((-each.shape[0] % multiple, each.shape[1]), -1)])
        return out

    def stages(self, numbers: Tensors, count: int) -> list[Tensors]:
        """A pipeline: every stage counts its layers from 0."""
        out: list[Tensors] = [{} for _ in range(count)]
        each = self.layers // count
        for name, values in numbers.items():
            words = name.split(".")
            if "layers" not in words:
                out[0 if "embed" in name else count - 1][name] = values
                continue
            at = words.index("layers") + 1
            stage, words[at] = int(words[at]) // each, str(int(words[at]) % each)
            out[stage][".".join(words)] = values
        return out

    def fused_experts(self) -> Tensors:
        """Gate and up of all experts in one, as vLLM."""
        out = {}
        for name, each in self.stacked_experts().items():
            if ".experts.gate_proj." in name:
                out[name.replace("gate_proj.weight", "w13_weight")] = numpy.concatenate(
                    [each, self.stacked_experts()[name.replace("gate_proj", "up_proj")]], axis=1)
            elif ".experts.down_proj." in name:
                out[name.replace("down_proj.weight", "w2_weight")] = each
            elif ".experts.up_proj." not in name:
                out[name] = each
        return out

    def turned_experts(self, in_turns: bool = False) -> Tensors:
        """Matrices of all experts as [expert, in, out], gate and up in one, behind each other or in turns: as Llama 4, and as gpt-oss."""
        out = {}
        for name, each in self.stacked_experts().items():
            if ".experts.gate_proj." in name:
                both = [each, self.stacked_experts()[name.replace("gate_proj", "up_proj")]]
                fused = numpy.stack(both, axis=2).reshape(self.experts, -1, self.hidden) if in_turns else numpy.concatenate(both, axis=1)
                out[name.replace("gate_proj.weight", "gate_up_proj")] = fused.swapaxes(1, 2)
            elif ".experts.down_proj." in name:
                out[name.removesuffix(".weight")] = each.swapaxes(1, 2)
            elif ".experts.up_proj." not in name:
                out[name] = each
        return out

    def layer_files(self, numbers: Tensors, first: int) -> dict[int, Tensors]:
        """A file for each layer, as DeepSpeed's pipeline: what stands before the layers and behind them is counted, too."""
        files: dict[int, Tensors] = {}
        for name, each in numbers.items():
            words = name.removeprefix("model.").split(".")
            if words[0] == "layers":
                files.setdefault(first + int(words[1]), {})[".".join(words[2:])] = each
            else:
                number = {"embed_tokens": 1, "norm": first + self.layers, "lm_head": first + self.layers + 1}[words[0]]
                files.setdefault(number, {})[".".join(words)] = each
        return files

    @staticmethod
    def disguised(numbers: Tensors) -> Tensors:
        """The same words for others that nobody knows; numbers stay."""
        def word(text: str) -> str:
            return text if text.isdigit() else "x" + "".join(chr(97 + (ord(c) * 7 + i) % 26) for i, c in enumerate(text.replace("_", "")))
        return {".".join(word(w) for w in name.split(".")): each for name, each in numbers.items()}

    def vllm(self) -> Tensors:
        """Query, key and value in one, gate and up in one."""
        out = {}
        for name, each in self.plain.items():
            if ".q_proj." in name:
                parts = [self.plain[name.replace("q_proj", which)] for which in ("q_proj", "k_proj", "v_proj")]
                out[name.replace("q_proj", "qkv_proj")] = numpy.concatenate(parts)
            elif ".gate_proj." in name:
                out[name.replace("gate_proj", "gate_up_proj")] = numpy.concatenate([each, self.plain[name.replace("gate_proj", "up_proj")]])
            elif ".k_proj." not in name and ".v_proj." not in name and ".up_proj." not in name:
                out[name] = each
        return out

    def megatron(self) -> Tensors:
        """Other names, and the heads of a group beside each other: queries, key, value."""
        names = {"self_attn.o_proj": "self_attention.linear_proj", "mlp.down_proj": "mlp.linear_fc2",
                 "input_layernorm.weight": "self_attention.linear_qkv.layer_norm_weight",
                 "post_attention_layernorm.weight": "mlp.linear_fc1.layer_norm_weight"}
        out = {}
        for name, each in self.plain.items():
            if ".k_proj." in name or ".v_proj." in name or ".up_proj." in name:
                continue
            renamed = name.replace("model.layers", "decoder.layers")
            for old, new in names.items():
                renamed = renamed.replace(old, new)
            renamed = {"model.embed_tokens.weight": "embedding.word_embeddings.weight", "lm_head.weight": "output_layer.weight",
                       "model.norm.weight": "decoder.final_layernorm.weight"}.get(name, renamed)
            if ".q_proj." in name:
                parts = [self.plain[name.replace("q_proj", which)].reshape(self.groups, -1, self.head, self.hidden)
                         for which in ("q_proj", "k_proj", "v_proj")]
                each = numpy.concatenate(parts, axis=1).reshape(-1, self.hidden)
                renamed = renamed.replace("self_attn.q_proj", "self_attention.linear_qkv")
            elif ".gate_proj." in name:
                each = numpy.concatenate([each, self.plain[name.replace("gate_proj", "up_proj")]])
                renamed = renamed.replace("mlp.gate_proj", "mlp.linear_fc1")
            out[renamed] = each
        return out

    def gpt2_like(self) -> Tensors:
        """Weights as [in, out]."""
        return {name.replace("model.", "transformer.", 1).replace("layers", "h"):
                numpy.ascontiguousarray(each.T) if each.ndim == 2 and "embed" not in name else each for name, each in self.plain.items()}

    def stacked_experts(self) -> Tensors:
        out = {}
        for name, each in self.plain.items():
            if ".experts." not in name:
                out[name] = each
            elif ".experts.0." in name:
                out[name.replace("experts.0", "experts")] = numpy.stack(
                    [self.plain[name.replace("experts.0", f"experts.{e}")] for e in range(self.experts)])
        return out

    def meaningless(self, numbers: Tensors, seed: int = 3) -> Tensors:
        """Other names, in another order."""
        order = numpy.random.default_rng(seed).permutation(len(numbers))
        arrays = list(numbers.values())
        return {f"param_{i:05d}": arrays[k] for i, k in enumerate(order)}

    @staticmethod
    def shares(numbers: Tensors, ranks: int) -> list[Tensors]:
        """Tensor parallel: rows of what widens (each fused part by itself), columns of what narrows, copies of norms."""
        out: list[Tensors] = [{} for _ in range(ranks)]
        for name, each in numbers.items():
            if each.ndim < 2:
                parts = [each] * ranks
            elif any(word in name for word in ("o_proj", "down_proj", "linear_proj", "linear_fc2", ".wo.", ".w2.", "tok_embeddings")):
                parts = numpy.split(each, ranks, axis=-1)
            elif "gate_up" in name or "linear_fc1" in name:
                halves = [numpy.split(half, ranks) for half in numpy.split(each, 2)]
                parts = [numpy.concatenate([half[r] for half in halves]) for r in range(ranks)]
            elif "qkv_proj" in name:
                queries, keys = each.shape[1], (each.shape[0] - each.shape[1]) // 2
                thirds = [numpy.split(third, ranks) for third in numpy.split(each, [queries, queries + keys])]
                parts = [numpy.concatenate([third[r] for third in thirds]) for r in range(ranks)]
            else:
                parts = numpy.split(each, ranks)
            for rank in range(ranks):
                out[rank][name] = numpy.ascontiguousarray(parts[rank])
        return out


def bf16_bytes(values: numpy.ndarray) -> bytes:
    """To the nearest, ties to even."""
    bits = values.astype("<f4").view("<u4").astype(numpy.uint64)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype("<u2").tobytes()


def save(path: pathlib.Path, tensors: Tensors, dtype: str = "F32") -> None:
    """As safetensors."""
    header, data = {}, []
    position = 0
    for name, values in tensors.items():
        content = {"F32": lambda v: v.astype("<f4").tobytes(), "F16": lambda v: v.astype("<f2").tobytes(), "BF16": bf16_bytes}[dtype](values)
        header[name] = {"dtype": dtype, "shape": list(values.shape), "data_offsets": [position, position + len(content)]}
        position += len(content)
        data.append(content)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(len(text).to_bytes(8, "little") + text + b"".join(data))
