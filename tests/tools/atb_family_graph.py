"""The graph of operations of ATB for the families of atb_families.py. Every output is rounded to the type of the device; a rank
holds its heads and its share of the inner features, and the ranks add up what they make of them."""
from __future__ import annotations

import contextlib
import math

import torch

from atb_decoder import ADD, MUL, Value, rotate
from atb_families import DIVIDE, GELU, SWISH, Family, Size, activated, angles, attend, has_experts, normed, slopes


class GraphPass:
    """`graph` records operations and groups, as atb_dump_writers.AtbWriter does."""

    def __init__(self, family: Family, s: Size, weights: dict[str, torch.Tensor], graph) -> None:
        self.family, self.s, self.source, self.graph = family, s, weights, graph
        self.weights: dict[str, Value] = {}
        self.cache: dict[int, tuple[Value, Value]] = {}
        self.table = [part.to(s.dtype) for part in angles(s)]

    # ----- values

    def rounded(self, shards: list[torch.Tensor]) -> list[torch.Tensor]:
        return [shard.to(self.s.dtype) for shard in shards]

    def equal(self, tensor: torch.Tensor, key: str) -> Value:
        return Value([tensor] * self.s.ranks, key)

    def shares(self, name: str, dim: int | None) -> list[torch.Tensor]:
        """What each rank holds of a weight; of fewer heads of keys and values than ranks, several hold the same one."""
        whole = self.source[name]
        part = name.removesuffix(".bias").rpartition(".")[2]
        if dim is None:
            return [whole] * self.s.ranks
        if part in ("k", "v") and self.family.kv_heads < self.s.ranks:
            heads = whole.chunk(self.family.kv_heads)
            return [heads[r * self.family.kv_heads // self.s.ranks] for r in range(self.s.ranks)]
        return list(whole.chunk(self.s.ranks, dim))

    def weight(self, parts: list[str], dim: int | None, suffix: str = "") -> Value:
        name = "w:" + "+".join(part + suffix for part in parts)
        if parts == ["head"] and self.family.tied:
            name = "w:embedding" if self.s.ranks == 1 else "w:embedding in part"
        if name not in self.weights:
            shards = [torch.cat(pieces) if len(pieces) > 1 else pieces[0]
                      for pieces in zip(*(self.shares(part + suffix, dim) for part in parts))]
            is_repeated = self.family.kv_heads < self.s.ranks and any(part.endswith((".k", ".v")) for part in parts)
            self.weights[name] = Value(self.rounded(shards), weight=name + " in part" * is_repeated)
        return self.weights[name]

    def op(self, kind: str, inputs: list[Value], shards: list[torch.Tensor], key: str, sharded: bool = False, **param) -> Value:
        return self.graph.op(kind, inputs, [Value(self.rounded(shards), key, sharded)], param)[0]

    def inside(self, block: str):
        return self.graph.inside(block) if block else contextlib.nullcontext()

    def elementwise(self, kind: int, a: Value, b: Value, key: str) -> Value:
        act = {ADD: torch.add, MUL: torch.mul, DIVIDE: torch.div}[kind]
        return self.op("ElewiseOperation", [a, b], [act(x, y) for x, y in zip(a.wide(), b.wide())], key, a.sharded,
                       elewiseType=kind)

    # ----- projections

    def linear(self, x: Value, parts: list[str], key: str, sharded: bool = True) -> Value:
        """Columns of what it gives are shared out."""
        w = self.weight(parts, 0)
        has_bias = f"{parts[0]}.bias" in self.source
        in_op = has_bias and not self.family.bias_apart
        inputs, made = [x, w], [a @ b.T for a, b in zip(x.wide(), w.wide())]
        if in_op:
            inputs.append(self.weight(parts, 0, ".bias"))
            made = [a + b for a, b in zip(made, inputs[2].wide())]
        with self.inside(self.family.linear_block):
            out = self.op("LinearOperation", inputs, made, "" if has_bias and not in_op else key, sharded, hasBias=in_op,
                          transposeB=True)
        if has_bias and not in_op:
            out = self.elementwise(ADD, out, self.weight(parts, 0, ".bias"), key)
        return out

    def all_reduced(self, part: Value, key: str) -> Value:
        total = self.rounded([sum(part.wide())])[0]
        return self.graph.op("AllReduceOperation", [part], [self.equal(total, key)], {"rankSize": self.s.ranks})[0]

    def row_linear(self, x: Value, name: str, key: str) -> Value:
        """Each rank has some columns of the weight, and makes a term of the result."""
        w = self.weight([name], 1)
        has_bias = f"{name}.bias" in self.source
        in_op = has_bias and not self.family.bias_apart and self.s.ranks == 1
        later = has_bias and not in_op
        inputs, made = [x, w], [a @ b.T for a, b in zip(x.wide(), w.wide())]
        if in_op:
            inputs.append(self.weight([name], None, ".bias"))
            made = [a + b for a, b in zip(made, inputs[2].wide())]
        param = {"hasBias": in_op, "transposeB": True}
        if self.s.ranks == 1:
            out = self.op("LinearOperation", inputs, made, "" if later else key, **param)
        else:
            with self.inside("LinearRowParallelNoAdd"):
                with self.inside(self.family.linear_block):
                    out = self.op("LinearOperation", inputs, made, "" if later else f"{key}~", **param)
                out = self.all_reduced(out, "" if later else key)
        return self.elementwise(ADD, out, self.weight([name], None, ".bias"), key) if later else out

    def norm(self, x: Value, name: str, key: str) -> Value:
        inputs = [x, self.weight([name], None)]
        bias = None
        if not self.family.rms:
            inputs.append(self.weight([name], None, ".bias"))
            bias = inputs[2].wide()[0]
        made = [normed(self.family, shard, inputs[1].wide()[0], bias) for shard in x.wide()]
        return self.op("RmsNormOperation" if self.family.rms else "LayerNormOperation", inputs, made, key, layerType=1)

    def split(self, x: Value, sizes: list[int], keys: list[str]) -> list[Value]:
        parts = zip(*(shard.split(sizes, -1) for shard in x.shards))
        outs = [Value([part.contiguous() for part in shards], key, True) for shards, key in zip(parts, keys)]
        return self.graph.op("SplitOperation", [x], outs, {"splitDim": -1, "splitNum": len(sizes)})

    # ----- attention

    def heads(self, shard: torch.Tensor) -> torch.Tensor:
        return shard.float().reshape(self.s.requests, -1, shard.shape[-1] // self.s.head, self.s.head)

    def projections(self, n: int, x: Value) -> list[Value]:
        s, family = self.s, self.family
        kv_ranks = min(s.ranks, family.kv_heads)
        if family.fused:
            packed = self.linear(x, [f"{n}.{part}" for part in "qkv"], f"{n}.qkv" if kv_ranks == s.ranks else "")
            sizes = [s.hidden // s.ranks] + [family.kv_heads * s.head // kv_ranks] * 2
            parts = self.split(packed, sizes, [f"{n}.{part}" for part in "qkv"])
        else:
            parts = [self.linear(x, [f"{n}.{part}"], f"{n}.{part}") for part in "qkv"]
        for part in parts[1:]:
            part.sharded = kv_ranks > 1
        return parts

    def attention(self, n: int, x: Value, cos: Value | None, sin: Value | None, length: Value, decode: bool) -> Value:
        s, family, graph = self.s, self.family, self.graph
        with self.inside("QKVLinearSplitPack" if family.norms_inside else ""):
            if family.norms_inside:
                x = self.norm(x, f"{n}.norm1", f"{n}.norm1")
            q, k, v = self.projections(n, x)
        if cos is not None:
            rows = [part[:part.shape[0] // s.requests] for part in (cos.wide()[0], sin.wide()[0])]
            turned = [Value(self.rounded([rotate(self.heads(a), *rows).reshape(a.shape) for a in value.shards]), "", True)
                      for value in (q, k)]
            with self.inside("RotaryPositionEmbedding"):
                q, k = graph.op("RopeOperation", [q, k, cos, sin, length], turned, {"rotaryCoeff": 2})
        with self.inside(family.core_block):
            all_k, all_v = self.grown(n, k, v)
            per_rank = s.heads // s.ranks
            slope = slopes(s.heads)
            out = [attend(family, *(self.heads(a) for a in three), slope[r * per_rank:(r + 1) * per_rank]).reshape(three[0].shape)
                   for r, three in enumerate(zip(q.shards, all_k.shards, all_v.shards))]
            inputs = [q, all_k, all_v, length]
            if family.positions == "alibi":
                inputs.append(Value([shard.to(s.dtype) for shard in slope.chunk(s.ranks)], weight="slopes"))
            context = self.op("PagedAttentionOperation" if decode else "SelfAttentionOperation", inputs, out, f"{n}.context", True,
                              headNum=per_rank, qkScale=1 / math.sqrt(s.head))
        return self.row_linear(context, f"{n}.o", f"{n}.attn")

    def grown(self, n: int, k: Value, v: Value) -> tuple[Value, Value]:
        """The keys and values of all tokens so far."""
        pair = []
        for old, new in zip(self.cache.get(n, (None, None)), (k, v)):
            shards = new.shards
            if old is not None:
                view = [[part.reshape(self.s.requests, -1, part.shape[-1]) for part in both]
                        for both in zip(old.shards, new.shards)]
                shards = [torch.cat(both, 1).flatten(0, 1) for both in view]
            pair.append(Value(shards, "", True))
        if self.family.core_block:
            made = self.graph.op("ReshapeAndCacheOperation", [k, v], pair, {})
            self.cache[n] = (made[0], made[1])
        elif n in self.cache:
            for name, value, new in zip("kv", pair, (k, v)):
                value.name, value.holds, value.tainted = f"{n}.{name}_cache", new, new.tainted
            self.cache[n] = (pair[0], pair[1])
        else:
            self.cache[n] = (k, v)
        return self.cache[n]

    # ----- feed-forward

    def mlp(self, owner: str, x: Value, key: str, reduce: bool = True) -> Value:
        names, inner = self.family.names, self.s.inner // self.s.ranks
        if not names.gate:
            first, up = self.linear(x, [f"{owner}up"], f"{owner}up"), None
        elif self.family.fused:
            both = self.linear(x, [f"{owner}gate", f"{owner}up"], f"{owner}gate_up")
            first, up = self.split(both, [inner, inner], [f"{owner}gate", f"{owner}up"])
        else:
            first, up = (self.linear(x, [f"{owner}{part}"], f"{owner}{part}") for part in ("gate", "up"))
        act = self.op("ActivationOperation", [first], [activated(self.family, shard) for shard in first.wide()], f"{owner}act", True,
                      activationType=SWISH if names.gate else GELU)
        if up is not None:
            act = self.elementwise(MUL, act, up, f"{owner}gated")
        if reduce:
            return self.row_linear(act, f"{owner}down", key)
        w = self.weight([f"{owner}down"], 1)
        made = [a @ b.T for a, b in zip(act.wide(), w.wide())]
        return self.op("LinearOperation", [act, w], made, key + "~" * (self.s.ranks > 1), hasBias=False, transposeB=True)

    def grouped(self, x: Value, name: str, parts: list[list[str]], groups: Value, dim: int, key: str, sharded: bool) -> Value:
        """`parts`: of each expert, one below the other."""
        stacks = [torch.stack([torch.cat([self.shares(part, dim)[r] for part in each]) for each in parts])
                  for r in range(self.s.ranks)]
        w = Value(self.rounded(stacks), weight=name)
        ends = [0, *groups.shards[0].tolist()]
        made = [torch.cat([a[ends[i]:ends[i + 1]] @ stack[i].float().T for i in range(len(parts))])
                for a, stack in zip(x.wide(), w.shards)]
        return self.op("GroupedMatmulOperation", [x, w, groups], made, key, sharded)

    def experts(self, n: int, x: Value) -> Value:
        s, family, graph = self.s, self.family, self.graph
        router = self.linear_whole(x, f"{n}.router", f"{n}.router")
        soft = self.op("SoftmaxOperation", [router], [shard.softmax(-1) for shard in router.wide()], "", axes=[1])
        best = [shard.sort(dim=-1, descending=True, stable=True) for shard in soft.wide()]
        parts, chosen = graph.op("SortOperation", [soft], [
            Value(self.rounded([b.values[:, :s.top].contiguous() for b in best])),
            Value([b.indices[:, :s.top].int().contiguous() for b in best])], {"num": [s.top]})
        total = self.op("ReduceOperation", [parts], [shard.sum(-1, keepdim=True) for shard in parts.wide()], "", reduceType=3)
        share = self.elementwise(DIVIDE, parts, total, "")
        flat = chosen.shards[0].flatten().long()
        order = flat.argsort(stable=True)
        counts = torch.bincount(flat, minlength=family.experts).cumsum(0)
        tokens = order // s.top
        rows, index, groups = graph.op("MoeInitRoutingOperation", [x, chosen], [
            self.equal(x.shards[0][tokens], f"{n}.e.in"), self.equal(order.int(), ""), self.equal(counts, "")], {"topkNum": s.top})
        everyone = range(family.experts)
        both = self.grouped(rows, f"w13.{n}", [[f"{n}.e{i}.gate", f"{n}.e{i}.up"] for i in everyone], groups, 0,
                            f"{n}.e.gate_up", True)
        gate, up = self.split(both, [s.inner // s.ranks] * 2, [f"{n}.e.gate", f"{n}.e.up"])
        act = self.op("ActivationOperation", [gate], [activated(family, shard) for shard in gate.wide()], f"{n}.e.act", True,
                      activationType=SWISH)
        gated = self.elementwise(MUL, act, up, f"{n}.e.gated")
        terms = "~" * (s.ranks > 1)
        down = self.grouped(gated, f"w2.{n}", [[f"{n}.e{i}.down"] for i in everyone], groups, 1, f"{n}.e.mlp{terms}", False)
        weight = share.wide()[0].flatten()[order][:, None]
        made = [torch.zeros(x.shards[0].shape).index_add_(0, tokens, shard * weight) for shard in down.wide()]
        alone = not family.shared and s.ranks == 1
        out = self.op("MoeTokenUnpermuteOperation", [down, share, index], made, f"{n}.mlp" if alone else
                      f"{n}.mlp~" if not family.shared else "")
        if family.shared:
            beside = self.mlp(f"{n}.shared.", x, f"{n}.shared.mlp", reduce=False)
            out = self.elementwise(ADD, out, beside, f"{n}.mlp{terms}")
        return self.all_reduced(out, f"{n}.mlp") if s.ranks > 1 else out

    def linear_whole(self, x: Value, name: str, key: str) -> Value:
        w = self.weight([name], None)
        return self.op("LinearOperation", [x, w], [a @ b.T for a, b in zip(x.wide(), w.wide())], key, hasBias=False, transposeB=True)

    # ----- the whole

    def embedding(self, block: str, name: str, rows: Value, key: str) -> Value:
        with self.inside(block):
            w = self.weight([name], None)
            return self.graph.op("GatherOperation", [w, rows], [self.equal(w.shards[0][rows.shards[0]], key)], {"axis": 0})[0]

    def head(self, x: Value) -> None:
        s, last = self.s, ""
        if self.family.gather_head:
            length = x.shards[0].shape[0] // s.requests
            rows = self.equal(torch.arange(1, s.requests + 1) * length - 1, "rows")
            last = " last" if length > 1 else ""
            x = self.graph.op("GatherOperation", [x, rows], [self.equal(x.shards[0][rows.shards[0]], f"norm{last}")], {"axis": 0})[0]
        w = self.weight(["head"], 0)
        part = self.op("LinearOperation", [x, w], [a @ b.T for a, b in zip(x.wide(), w.wide())], f"logits{last}", True,
                       hasBias=False, transposeB=True)
        if s.ranks == 1:
            return
        stacked = self.graph.op("AllGatherOperation", [part], [self.equal(torch.stack(part.shards), "")], {"rankSize": s.ranks})[0]
        flat = stacked.shards[0].transpose(0, 1).flatten(1).contiguous()
        self.graph.op("TransposeOperation", [stacked], [self.equal(flat, f"logits{last}")], {"perm": [1, 0, 2]})

    def run(self, ids: torch.Tensor, past: int, decode: bool) -> None:
        s, family = self.s, self.family
        count = ids.shape[-1]
        tokens = self.equal(ids.reshape(-1), "ids")
        places = self.equal(torch.arange(past, past + count).repeat(s.requests), "positions")
        length = self.equal(torch.tensor([past + count] * s.requests, dtype=torch.int32), "seq_len")
        x = self.embedding("WordEmbedding", "embedding", tokens, "embed")
        cos = sin = None
        if family.positions == "rope":
            with self.inside("PositionalEmbeddingGather"):
                cos, sin = (self.graph.op("GatherOperation", [Value([table] * s.ranks, weight=f"{key}_table"), places],
                                          [self.equal(table[places.shards[0]], key)], {"axis": 0})[0]
                            for table, key in zip(self.table, ("cos", "sin")))
        elif family.positions == "learned":
            table = self.embedding("PositionEmbedding", "position", places, "position")
            x = self.elementwise(ADD, x, table, "0.in")
        if family.names.embedding_norm:
            x = self.norm(x, "embedding_norm", "0.in")
        for n in range(s.layers):
            with self.inside(family.layer):
                a = x if family.norms_inside else self.norm(x, f"{n}.norm1", f"{n}.norm1")
                with self.inside(family.attention_block):
                    attn = self.attention(n, a, cos, sin, length, decode)
                middle = self.elementwise(ADD, x, attn, f"{n}.middle")
                b = middle if family.norms_inside else self.norm(middle, f"{n}.norm2", f"{n}.norm2")
                with self.inside(family.mlp_block if has_experts(family, n) or family.mlp_block != "SparseMoe" else "Mlp"):
                    if family.norms_inside:
                        b = self.norm(b, f"{n}.norm2", f"{n}.norm2")
                    down = self.experts(n, b) if has_experts(family, n) else self.mlp(f"{n}.", b, f"{n}.mlp")
                x = self.elementwise(ADD, middle, down, f"{n}.out")
        x = self.norm(x, "norm", "norm")
        with self.inside("LmHead"):
            self.head(x)
