"""The models of which msprobe's dumps in tests/data/msprobe_capture were recorded: the toy transformer of PyTorch 1.13, and of PyTorch 2 a
decoder and a model of odd calls."""
from __future__ import annotations

import math

import torch
import torch.utils.checkpoint
from torch import nn
from torch.nn import functional


class Attn(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(8, 8) for _ in range(4))

    def forward(self, x, mask=None):
        q, k, v = (part(x).view(1, 3, 2, 4).transpose(1, 2) for part in (self.q, self.k, self.v))
        scores = torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(4)
        if mask is not None:
            scores = scores + mask
        scores = torch.softmax(scores, -1)
        return self.o(torch.matmul(scores, v).transpose(1, 2).reshape(1, 3, 8)), scores


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm, self.attn = nn.LayerNorm(8), Attn()
        self.up, self.act, self.down = nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 8)

    def forward(self, x, mask=None):
        x = x + self.attn(self.norm(x), mask=mask)[0]
        return x + self.down(self.act(self.up(x)))


class Tiny(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.emb, self.layers = nn.Embedding(32, 8), nn.ModuleList(Layer() for _ in range(2))
        self.lm_head = nn.Linear(8, 32, bias=False)

    def forward(self, ids):
        x = self.emb(ids)
        for layer in self.layers:
            x = layer(x, mask=torch.zeros(1))
        return {"logits": self.lm_head(x), "n": 3}


def train_tiny(model: nn.Module) -> None:
    logits = model(torch.tensor([[1, 2, 3]]))["logits"]
    functional.cross_entropy(logits.view(-1, 32), torch.tensor([2, 3, 4])).backward()


def tiny() -> nn.Module:
    torch.manual_seed(0)
    return Tiny()


# PyTorch 2


class GptAttention(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x, mask=None):
        batch, length, width = x.shape
        q, k, v = (part.view(batch, length, self.heads, width // self.heads).transpose(1, 2)
                   for part in self.qkv(x).split(width, dim=2))
        scores = (q @ k.transpose(-2, -1)) / (width // self.heads) ** 0.5
        if mask is not None:
            scores = scores.masked_fill(mask, float("-inf"))
        scores = functional.softmax(scores, dim=-1)
        return self.proj((scores @ v).transpose(1, 2).contiguous().view(batch, length, width))


class MLP(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        return self.fc2(functional.gelu(self.fc1(x), approximate="none"))


class Block(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.ln1, self.attn = nn.LayerNorm(width), GptAttention(width, heads)
        self.ln2, self.mlp = nn.LayerNorm(width), MLP(width)

    def forward(self, x, mask=None):
        x = x + self.attn(self.ln1(x), mask=mask)
        return x + self.mlp(self.ln2(x))


GptAttention.__name__ = "Attn"  # as the dumps have it


class GPT(nn.Module):
    def __init__(self, checkpoints: bool) -> None:
        super().__init__()
        self.tok, self.pos = nn.Embedding(50, 32), nn.Embedding(12, 32)
        self.blocks = nn.ModuleList(Block(32, 4) for _ in range(3))
        self.lnf, self.head = nn.LayerNorm(32), nn.Linear(32, 50, bias=False)
        self.checkpoints = checkpoints

    def forward(self, ids, wanted):
        length = ids.shape[1]
        x = self.tok(ids) + self.pos(torch.arange(length))
        mask = torch.triu(torch.ones(length, length, dtype=torch.bool), diagonal=1)
        for block in self.blocks:
            if self.checkpoints:
                x = torch.utils.checkpoint.checkpoint(block, x, mask, use_reentrant=False)
            else:
                x = block(x, mask=mask)
        logits = self.head(self.lnf(x))
        return functional.cross_entropy(logits.view(-1, logits.size(-1)).float(), wanted.view(-1))


def gpt(checkpoints: bool = False) -> tuple[nn.Module, tuple]:
    torch.manual_seed(7)
    model = GPT(checkpoints)
    return model, (torch.randint(0, 50, (2, 12)), torch.randint(0, 50, (2, 12)))


class Dictish(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lin, self.lin2 = nn.Linear(6, 6), nn.Linear(6, 3)

    def forward(self, x, *, scale=1.0, extra=None, names=("a", "b")):
        y = self.lin(x) * scale
        y = self.lin(y)
        if extra is not None:
            y = y + extra["bias"]
        return {"h": y, "list": [y.mean(), None, (y > 0)], "n": 3, "none": None, "s": "txt"}


class Head(nn.Module):
    def forward(self, d, flag=True):
        return d["h"].sum(), None, d["list"][2].sum(), (d["h"].argmax(dim=-1), 2.5)


class Odd(nn.Module):
    """Dicts, keyword arguments, repeated modules, changes in place, 0-d, empty, complex, infinite, half and double."""

    def __init__(self) -> None:
        super().__init__()
        self.d, self.head, self.act = Dictish(), Head(), nn.ReLU(inplace=True)
        self.par = nn.Parameter(torch.tensor(0.5))

    def forward(self, x):
        bias = torch.arange(6, dtype=torch.float32) / 10
        first = self.d(x, scale=2.0, extra={"bias": bias})
        total, _, _, (places, half) = self.head(first, flag=False)
        z = self.d(x.clone(), scale=self.par)["h"]
        z = self.act(z.clone()).clone()
        z.add_(1.0).mul_(2.0)
        empty = torch.zeros(0, 4)
        torch.cat([empty, empty], dim=0).sum(dim=0)
        turned = torch.complex(z.detach(), z.detach().flip(0))
        product = turned * torch.complex(z.detach(), -z.detach().flip(0)) * (1.0 + 0.0)
        torch.fft.fft(z.detach())
        torch.abs(product)
        torch.logical_not(first["list"][2])
        torch.cumsum(places, dim=0)
        torch.clamp(places.to(torch.int8), 0, 3)
        torch.bitwise_and(places, places)
        torch.add(torch.tensor(3.0), 0.0)
        torch.sum(torch.tensor([100, 27], dtype=torch.int64))
        infinite = torch.div(torch.tensor([1.0, 0.0, -1.0, 3.0]), torch.tensor([0.0, 0.0, 0.0, 1.0]))
        torch.nan_to_num(infinite, nan=0.0, posinf=1.0, neginf=-1.0)
        torch.mul(infinite, 1.0)
        torch.mul(z.detach().half(), 2.0)
        torch.exp(z.detach().double())
        torch.add(z.detach().bfloat16(), 1.0)
        torch.sort(z.detach(), dim=-1, descending=True)
        torch.max(z.detach(), dim=1)
        torch.chunk(torch.stack([z, z], dim=1), 2, dim=1)
        chosen = torch.where(z > 1, z, torch.zeros_like(z))
        torch.topk(z.detach(), 2)
        square = torch.einsum("ij,kj->ik", z, z)
        part = z[1:3, ::2]
        changed = z.clone()
        changed[0] = 1.0
        padded = functional.pad(z, (1, 1), mode="constant", value=-1e9)
        torch.ones(1) * 5
        torch.full((2, 2), 3e38) * torch.tensor(2.0)
        torch.tensor([2 ** 53 + 1, 5], dtype=torch.int64) + 0
        return total + z.sum() + half + square.sum() * 1e-3 + part.sum() + chosen.sum() + padded.clamp(min=-1).sum() * 1e-3


def odd() -> tuple[nn.Module, tuple]:
    torch.manual_seed(7)
    return Odd(), (torch.randn(4, 6),)


def save_variables(save) -> None:
    """What the dumps of level debug hold."""
    unused, used = (torch.tensor([1.0, 2.0], requires_grad=True) for _ in range(2))
    save(torch.tensor([1.5, float("nan"), float("inf")]), "naninf", False)
    save(torch.tensor([1.5, -2.25, 3.0], dtype=torch.bfloat16), "bf16", False)
    save(torch.tensor([True, False]), "bool", False)
    save(torch.tensor(5), "scalar_i", False)
    save(torch.tensor(0.1), "scalar_f", False)
    save(torch.tensor([1, 2, 3], dtype=torch.int32), "i32", False)
    save(torch.tensor([1.0, 2.0], dtype=torch.float64), "f64", False)
    save(torch.zeros(0, 3), "empty", False)
    save(torch.arange(6, dtype=torch.float32).view(2, 3).t(), "noncontig", False)
    save(torch.tensor([3 + 4j, 0j]), "cplx", False)
    save({"a": [unused, 2], "b": "str", "c": (used,)}, "nested", True)
    save(torch.tensor([1e-8, 123456789.0]), "fmt", False)
    (used * 2).sum().backward()
