"""Small real models for the tests of capture: a decoder with a cache and a generate loop, a convolution with batch norm, a mixture
of experts, a recurrent one, and the toy transformer that the dumps in tests/data/capture were recorded from."""
from __future__ import annotations

import dataclasses
import math

import torch
from torch import nn
from torch.nn import functional


class Attention(nn.Module):
    """Keyword arguments, a cache, two matmuls (the same function twice), and a tuple as result."""

    def __init__(self, hidden: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.q_proj, self.k_proj, self.v_proj, self.o_proj = (nn.Linear(hidden, hidden) for _ in range(4))

    def forward(self, hidden_states, attention_mask=None, cache=None):
        batch, length, width = hidden_states.shape

        def heads(x):
            return x.view(batch, -1, self.heads, width // self.heads).transpose(1, 2)

        q, k, v = heads(self.q_proj(hidden_states)), heads(self.k_proj(hidden_states)), heads(self.v_proj(hidden_states))
        if cache is not None:
            k, v = torch.cat([cache[0], k], 2), torch.cat([cache[1], v], 2)
        scores = torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(width // self.heads)
        if attention_mask is not None:
            scores = scores + attention_mask
        mixed = torch.matmul(torch.softmax(scores, -1), v)
        return self.o_proj(mixed.transpose(1, 2).reshape(batch, length, width)), (k, v)


class DecoderLayer(nn.Module):
    def __init__(self, hidden: int, heads: int) -> None:
        super().__init__()
        self.input_layernorm, self.post_layernorm = nn.LayerNorm(hidden), nn.LayerNorm(hidden)
        self.self_attn = Attention(hidden, heads)
        self.up_proj, self.act, self.down_proj = nn.Linear(hidden, 2 * hidden), nn.SiLU(), nn.Linear(2 * hidden, hidden)

    def forward(self, hidden_states, attention_mask=None, cache=None):
        mixed, cache = self.self_attn(self.input_layernorm(hidden_states), attention_mask=attention_mask, cache=cache)
        hidden_states = hidden_states + mixed
        return hidden_states + self.down_proj(self.act(self.up_proj(self.post_layernorm(hidden_states)))), cache


@dataclasses.dataclass
class DecoderOutput:
    logits: torch.Tensor
    caches: list
    loss: torch.Tensor | None = None


class Decoder(nn.Module):
    """Gives back a dataclass, of which the original keeps nothing."""

    def __init__(self, layers: int = 2, hidden: int = 16, heads: int = 2, words: int = 32) -> None:
        super().__init__()
        self.embed = nn.Embedding(words, hidden)
        self.layers = nn.ModuleList(DecoderLayer(hidden, heads) for _ in range(layers))
        self.norm, self.lm_head = nn.LayerNorm(hidden), nn.Linear(hidden, words, bias=False)

    def forward(self, input_ids, caches=None):
        x = self.embed(input_ids)
        length = x.shape[1]
        past = 0 if caches is None else caches[0][0].shape[2]
        mask = torch.full((length, past + length), float("-inf")).triu(past + 1)
        kept = []
        for number, layer in enumerate(self.layers):
            x, cache = layer(x, attention_mask=mask, cache=None if caches is None else caches[number])
            kept.append(cache)
        return DecoderOutput(self.lm_head(self.norm(x)), kept)


def generate(model: Decoder, prompt: list[int], count: int) -> list[int]:
    """Greedy; one forward for the prompt, one for each further token."""
    ids, caches, answer = torch.tensor([prompt]), None, []
    with torch.no_grad():
        for _ in range(count):
            output = model(ids, caches=caches)
            caches = output.caches
            ids = output.logits[:, -1:].argmax(-1)
            answer.append(int(ids))
    return answer


class ConvNet(nn.Module):
    """One activation, in place, for both stages; a dict as result."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4)
        self.conv2, self.bn2 = nn.Conv2d(4, 4, 3, padding=1), nn.BatchNorm2d(4)
        self.act, self.fc = nn.ReLU(inplace=True), nn.Linear(4, 5)

    def forward(self, x):
        x = self.act(self.bn1(self.conv1(x)))
        x = self.act(self.bn2(self.conv2(x)))
        features = functional.gelu(x).mean((2, 3))
        return {"features": features, "logits": self.fc(features)}


class Experts(nn.Module):
    """Top-2 routing: an expert runs as often as tokens are sent to it, or not at all."""

    def __init__(self, hidden: int = 8, experts: int = 4) -> None:
        super().__init__()
        self.router = nn.Linear(hidden, experts)
        self.experts = nn.ModuleList(nn.Sequential(nn.Linear(hidden, hidden), nn.GELU()) for _ in range(experts))

    def forward(self, x):
        weights, chosen = torch.softmax(self.router(x), -1).topk(2, -1)
        rows = []
        for row in range(x.shape[0]):
            rows.append(sum(weights[row, k] * self.experts[int(chosen[row, k])](x[row]) for k in range(2)))
        return torch.stack(rows), [weights, chosen]


class Encoder(nn.Module):
    """PyTorch's own attention, which computes without its submodules, and a tuple in a tuple."""

    def __init__(self, hidden: int = 8) -> None:
        super().__init__()
        self.attention, self.norm = nn.MultiheadAttention(hidden, 2, batch_first=True), nn.LayerNorm(hidden)
        self.feed, self.pool = nn.Sequential(nn.Linear(hidden, 16), nn.GELU(), nn.Linear(16, hidden)), nn.Linear(hidden, 3)

    def forward(self, x, mask=None):
        mixed, weights = self.attention(x, x, x, key_padding_mask=mask)
        x = self.norm(x + mixed)
        x = x + self.feed(x)
        return x, (self.pool(x[:, 0]), (weights,))


class Recurrent(nn.Module):
    """One cell, called once for each step of the sequence."""

    def __init__(self) -> None:
        super().__init__()
        self.cell, self.head = nn.GRUCell(4, 6), nn.Linear(6, 3)

    def forward(self, x):
        state = x.new_zeros(x.shape[1], 6)
        for step in x:
            state = self.cell(step, state)
        return self.head(state)


class Attn(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(8, 8) for _ in range(4))

    def forward(self, x):
        q, k, v = (part(x).view(1, 3, 2, 4).transpose(1, 2) for part in (self.q, self.k, self.v))
        weights = torch.softmax(torch.matmul(q, k.transpose(-1, -2)) / 2.0, -1)
        return self.o(torch.matmul(weights, v).transpose(1, 2).reshape(1, 3, 8)), weights


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm, self.attn = nn.LayerNorm(8), Attn()
        self.up, self.act, self.down = nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 8)

    def forward(self, x):
        x = x + self.attn(self.norm(x))[0]
        return x + self.down(self.act(self.up(x)))


class Tiny(nn.Module):
    """The model of tests/data/capture/msit_torch_*."""

    def __init__(self) -> None:
        super().__init__()
        self.emb, self.layers = nn.Embedding(32, 8), nn.ModuleList(Layer() for _ in range(2))
        self.lm_head = nn.Linear(8, 32)

    def forward(self, ids):
        x = self.emb(ids)
        for layer in self.layers:
            x = layer(x)
        return self.lm_head(x)


def make(name: str, seed: int = 5) -> nn.Module:
    torch.manual_seed(seed)
    return {"decoder": Decoder, "conv": ConvNet, "experts": Experts, "encoder": Encoder,
            "recurrent": Recurrent, "tiny": Tiny}[name]()


def inputs(name: str) -> tuple:
    torch.manual_seed(11)
    return {"decoder": (torch.tensor([[3, 1, 4, 1, 5]]),), "conv": (torch.randn(2, 3, 6, 6),),
            "experts": (torch.randn(6, 8),), "encoder": (torch.randn(2, 5, 8),), "recurrent": (torch.randn(5, 2, 4),),
            "tiny": (torch.tensor([[1, 2, 3]]),)}[name]


def tensors_of(value) -> list[torch.Tensor]:
    """All tensors in a result, in order."""
    if isinstance(value, torch.Tensor):
        return [value]
    if dataclasses.is_dataclass(value):
        value = [getattr(value, field.name) for field in dataclasses.fields(value)]
    if isinstance(value, dict):
        value = list(value.values())
    return [each for part in value for each in tensors_of(part)] if isinstance(value, (list, tuple)) else []
