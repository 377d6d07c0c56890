"""A small decoder with a convolution in front, run as TorchAir would compile it: a list of operators of the graph engine (GE),
each of which knows the node of the FX graph that it stands for, its arguments there, and the tensors of both.

The golden run computes in double precision; mine rounds every result to the type of the device and may have a fault.
"""
from __future__ import annotations

import math
from typing import Callable, NamedTuple

import numpy as np

from torchair_files import rounded

HIDDEN, HEADS, INNER, VOCAB, LENGTH = 32, 2, 48, 40, 6
CHANNELS, SIDE = 3, 4  # of the picture in front
PIECES = 12  # that are joined again: more than ten, so that names sort in another order than numbers


class Value(NamedTuple):
    """A tensor that flows between operators. Equal keys in one run: equal numbers (up to type and layout)."""
    array: np.ndarray
    dtype: str  # "float": the type of the device
    key: str
    producer: str  # operator and output as the graph names them, "Add_1:0"
    tainted: bool = False
    constant: bool = False
    parameter: str = ""  # storage format of a weight, where it has one of its own


class Op(NamedTuple):
    name: str
    op_type: str
    inputs: list[Value]
    outputs: list[Value]
    fx: str | None  # "add_1-aten.add.Tensor"; None: made by the converter, and no node of FX
    args: list  # of the FX node: values, lists of values, or plain Python objects
    fuse: str | None  # operators in a row with the same word here are one after fusion
    dumped: bool  # by the engine; a Reshape is not
    formats: dict[str, str]  # of tensors of mine: {"input.1": "FRACTAL_NZ"}


class Fault(NamedTuple):
    op: str
    factor: str  # or a word of judgement_models.FAULTS


def spoiled(fault: str, array: np.ndarray) -> np.ndarray:
    try:
        return array * float(fault)
    except ValueError:
        import judgement_models  # needs PyTorch, which plain factors do not
        import torch
        return judgement_models.spoil(fault, torch.from_numpy(array), 7).numpy()


class Run:
    """One execution of the graph: the operators, in order, with the numbers of this side."""

    def __init__(self, seed: int, dtype: str | None, reference: Run | None, fault: Fault | None, scope: str) -> None:
        """dtype: what results are rounded to, None: nothing. scope: what the names of operators that will be fused begin with."""
        self.random = np.random.default_rng(seed)
        self.dtype, self.reference, self.fault, self.scope = dtype, reference, fault, scope
        self.ops: list[Op] = []
        self.leaves: list[tuple[str, str, Value]] = []  # name, type: Data and Const
        self.counts: dict[str, int] = {}
        self.fault_hit = False

    def unique(self, base: str) -> str:
        """Add, Add_1, Add_2 …"""
        count = self.counts.get(base, 0)
        self.counts[base] = count + 1
        return f"{base}_{count}" if count else base

    def round(self, array: np.ndarray, dtype: str) -> np.ndarray:
        if dtype != "float":
            return rounded(array, dtype)
        return np.asarray(array, np.float64) if self.dtype is None else rounded(array, self.dtype).astype(np.float64)

    def data(self, array: np.ndarray, dtype: str = "float", storage: str = "") -> Value:
        name = self.unique("arg")
        value = Value(self.round(array, dtype), dtype, name, f"{name}:0", parameter=storage)
        self.leaves.append((name, "Data", value))
        return value

    def weight(self, *shape: int, storage: str = "") -> Value:
        scale = 1 / math.sqrt(np.prod(shape[:-1]) or 1)
        return self.data(self.random.standard_normal(shape) * scale, storage=storage)

    def constant(self, number, dtype: str = "float") -> Value:
        name = self.unique("Const")
        value = Value(self.round(np.asarray(number), dtype), dtype, constant_key(number), f"{name}:0", constant=True)
        self.leaves.append((name, "Const", value))
        return value

    def op(self, op_type: str, inputs: list[Value], results: Callable[..., object], *, base: str | None = None,
           fx: str | None = None, args: list | None = None, dtypes: tuple[str, ...] = ("float",), fuse: str | None = None,
           dumped: bool = True, same: bool = False, formats: dict[str, str] | None = None):
        """results gets the arrays of the inputs. same: the output has the numbers of input 0 (a cast). fx is
        "add aten.add.Tensor"; args is what FX is called with, the inputs where it is left out."""
        name = self.unique((self.scope if fuse else "") + (base or op_type))
        node = None
        if fx:
            word, _, target = fx.partition(" ")
            node = f"{self.unique('fx ' + word).partition(' ')[2]}-{target}"
        arrays = results(*(value.array for value in inputs))
        arrays = list(arrays) if isinstance(arrays, (tuple, list)) else [arrays]
        tainted = any(value.tainted for value in inputs)
        faulty = self.fault is not None and self.fault.op == name
        outputs = []
        for index, (array, dtype) in enumerate(zip(arrays, dtypes * len(arrays) if len(dtypes) == 1 else dtypes)):
            array = self.round(array, dtype)
            # A rounding error must not decide which index or which bit comes out: that would be a fault of its own.
            if self.reference and not tainted and dtype not in ("float", "f32"):
                array = self.reference.ops[len(self.ops)].outputs[index].array
            if faulty and index == 0:
                array = self.round(spoiled(self.fault.factor, np.asarray(array, np.float64)), dtype)
                self.fault_hit = True
            key = inputs[0].key if same and not faulty else f"{name}:{index}"
            outputs.append(Value(array, dtype, key, f"{name}:{index}", tainted or faulty))
        args = list(inputs) if args is None else args
        self.ops.append(Op(name, op_type, inputs, outputs, node, args, fuse, dumped, formats or {}))
        return outputs[0] if len(outputs) == 1 else outputs


def constant_key(content) -> str:
    """2 and 2.0 are one value; what is no number stands for itself."""
    if content is None:
        return "constant None"
    try:
        return f"constant {np.asarray(content, np.float64).tolist()}"
    except (TypeError, ValueError):
        return f"constant {content!r}"


def softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def view(run: Run, x: Value, shape: tuple[int, ...]) -> Value:
    """A node of FX that costs the device nothing and so is not in its dump."""
    return run.op("Reshape", [x, run.constant(list(shape), "i64")], lambda a, _: a.reshape(shape), dumped=False,
                  fx="view aten.view.default", args=[x, list(shape)])


def linear(run: Run, x: Value, width: int) -> Value:
    w = run.weight(x.array.shape[-1], width, storage="FRACTAL_NZ")
    return run.op("MatMulV2", [x, w], np.matmul, base="MatMul", fx="mm aten.mm.default", formats={"input.1": "FRACTAL_NZ"})


def stem(run: Run) -> Value:
    """Convolution over a picture, in the formats of the device; arguments of None and lists on the FX side."""
    picture = run.data(run.random.standard_normal((2, CHANNELS, SIDE, SIDE)))
    w = run.weight(8, CHANNELS, 1, 1, storage="FRACTAL_Z")
    x = run.op("Conv2D", [picture, w], lambda a, b: np.einsum("nchw,oc->nohw", a, b[:, :, 0, 0]),
               fx="convolution aten.convolution.default", args=[picture, w, None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1],
               formats={"input.0": "NC1HWC0", "input.1": "FRACTAL_Z", "output.0": "NC1HWC0"})
    x = run.op("Relu", [x], lambda a: np.maximum(a, 0), fx="relu aten.relu.default",
               formats={"input.0": "NC1HWC0", "output.0": "NC1HWC0"})
    order = run.constant([0, 2, 3, 1], "i64")
    return run.op("Transpose", [x, order], lambda a, _: a.transpose(0, 2, 3, 1), fx="permute aten.permute.default",
                  args=[x, [0, 2, 3, 1]], formats={"output.0": "NHWC"})


def norm(run: Run, x: Value, tag: str) -> Value:
    square = run.op("Pow", [x, run.constant(2.0)], lambda a, b: a ** b, fx="pow_1 aten.pow.Tensor_Scalar", args=[x, 2])
    mean = run.op("ReduceMean", [square, run.constant([-1], "i64")], lambda a, _: a.mean(-1, keepdims=True),
                  fx="mean aten.mean.dim", args=[square, [-1], True])
    tiny = run.constant(1e-3)
    shifted = run.op("Add", [mean, tiny], np.add, fx="add aten.add.Tensor", args=[mean, 1e-3], fuse=f"{tag}_shift")
    scale = run.op("Rsqrt", [shifted], lambda a: 1 / np.sqrt(a), fx="rsqrt aten.rsqrt.default", fuse=f"{tag}_shift")
    unit = run.op("Mul", [x, scale], np.multiply, fx="mul aten.mul.Tensor", fuse=f"{tag}_scale")
    w = run.data(1 + run.random.standard_normal(HIDDEN) * 0.1)
    return run.op("Mul", [w, unit], np.multiply, fx="mul aten.mul.Tensor", fuse=f"{tag}_scale")


def attention(run: Run, x: Value, mixed: bool) -> Value:
    """mixed: softmax in f32, whatever the type of the model."""
    both = linear(run, x, 3 * HIDDEN)
    sizes = [HIDDEN] * 3
    parts = run.op("SplitV", [both, run.constant(sizes, "i64"), run.constant(-1, "i32")], lambda a, *_: np.split(a, 3, -1),
                   fx="split_with_sizes aten.split_with_sizes.default", args=[both, sizes, -1])
    heads = []
    for part in parts:
        apart = view(run, part, (LENGTH, HEADS, HIDDEN // HEADS))
        heads.append(run.op("Transpose", [apart, run.constant([1, 0, 2], "i64")], lambda a, _: a.transpose(1, 0, 2),
                            fx="permute aten.permute.default", args=[apart, [1, 0, 2]]))
    q, k, v = heads
    turned = run.op("Transpose", [k, run.constant([0, 2, 1], "i64")], lambda a, _: a.transpose(0, 2, 1),
                    fx="transpose_1 aten.transpose.int", args=[k, 1, 2])
    scores = run.op("BatchMatMulV2", [q, turned], np.matmul, base="BatchMatMul", fx="bmm aten.bmm.default",
                    formats={"output.0": "FRACTAL_NZ"})
    scale = 1 / math.sqrt(HIDDEN // HEADS)
    scores = run.op("Mul", [scores, run.constant(scale)], np.multiply, fx="mul aten.mul.Tensor", args=[scores, scale])
    # The converter of softmax makes a copy by itself: an operator of the graph without a node of FX.
    wide = ("f32",) if mixed else ("float",)
    copy = "Cast" if mixed else "TensorMove"
    copied = run.op(copy, [scores], lambda a: a, dtypes=wide, same=True)
    soft = run.op("SoftmaxV2", [copied], softmax, base="Softmax", fx="_softmax aten._softmax.default", args=[scores, -1, mixed],
                  dtypes=wide)
    narrow = run.op(copy, [soft], lambda a: a, fx="_to_copy aten._to_copy.default" if mixed else "clone aten.clone.default")
    heeded = run.op("BatchMatMulV2", [narrow, v], np.matmul, base="BatchMatMul", fx="bmm aten.bmm.default")
    back = run.op("Transpose", [heeded, run.constant([1, 0, 2], "i64")], lambda a, _: a.transpose(1, 0, 2),
                  fx="permute aten.permute.default", args=[heeded, [1, 0, 2]])
    return linear(run, view(run, back, (LENGTH, HIDDEN)), HIDDEN)


def mlp(run: Run, x: Value, tag: str) -> Value:
    gate, up = linear(run, x, INNER), linear(run, x, INNER)
    act = run.op("Swish", [gate], lambda a: a / (1 + np.exp(-a)), fx="silu aten.silu.default", fuse=f"{tag}_act")
    gated = run.op("Mul", [act, up], np.multiply, fx="mul aten.mul.Tensor", fuse=f"{tag}_act")
    return linear(run, gated, HIDDEN)


def many_inputs(run: Run, x: Value) -> Value:
    """Twelve tensors as arguments of their own, then twelve in one list."""
    vectors = [run.data(1 + 0.2 * run.random.standard_normal(HIDDEN)) for _ in range(11)]
    mixed, total = run.op("MlaProlog", [x, *vectors], lambda a, *b: (a * np.prod(b, 0), np.asarray(sum(a[0] * w for w in b))),
                          fx="npu_mla_prolog npu.npu_mla_prolog.default")
    pieces = [run.op("AddV2", [mixed, part], np.add, base="Shift", fx="add aten.add.Tensor")
              for part in [run.data(run.random.standard_normal(HIDDEN)) for _ in range(PIECES)]]
    joined = run.op("ConcatV2", [*pieces, run.constant(0, "i32")], lambda *a: np.concatenate(a[:-1], 0), base="Concat",
                    fx="cat aten.cat.default", args=[pieces, 0])
    apart = view(run, joined, (PIECES, LENGTH, HIDDEN))
    mean = run.op("ReduceMean", [apart, run.constant([0], "i64")], lambda a, _: a.mean(0), fx="mean aten.mean.dim",
                  args=[apart, [0]])
    return run.op("Add", [mean, total], np.add, fx="add aten.add.Tensor")


def shifted_arguments(run: Run, x: Value) -> Value:
    """Nothing, a number and a text among the arguments of FX, where the engine has tensors only; and a flag that stands where the
    engine has a constant of another meaning."""
    q, k, v = linear(run, x, HIDDEN), linear(run, x, HIDDEN), linear(run, x, HIDDEN)
    mask = run.data(np.tril(np.ones((LENGTH, LENGTH))) - 0.5)

    def attend(a, b, c, m):
        return softmax(a @ b.T / math.sqrt(HIDDEN) + m) @ c
    x = run.op("FlashAttentionScore", [q, k, v, mask], attend, fx="npu_fusion_attention npu.npu_fusion_attention.default",
               args=[q, k, v, HEADS, "BSH", None, None, mask])
    table, rows = run.weight(VOCAB, HIDDEN), run.data(run.random.integers(0, VOCAB, LENGTH), "i64")
    picked = run.op("GatherV2", [table, rows, run.constant(0, "i32")], lambda t, i, _: t[i],
                    fx="embedding aten.embedding.default", args=[table, rows, -1])
    return run.op("Add", [x, picked], np.add, fx="add aten.add.Tensor")


def odd_values(run: Run, x: Value) -> None:
    """Not-a-number, infinity, integers that f32 cannot hold."""
    holes = x.array.copy()
    holes.flat[3] = np.nan
    holes.flat[7] = np.inf
    holed = run.data(holes)
    run.op("Abs", [holed], np.abs, fx="abs_1 aten.abs.default")
    large = run.data(np.array([2 ** 53 + 1, -7, 2 ** 24 + 1]), "i64")
    run.op("Sign", [large], np.sign, fx="sign aten.sign.default", dtypes=("i64",))


def empty_tensors(run: Run, x: Value) -> None:
    none = run.op("Slice", [x], lambda a: a[:0], fx="slice_1 aten.slice.Tensor", args=[x, 0, 0, 0])
    run.op("Abs", [none], np.abs, fx="abs_1 aten.abs.default")


def backtracking_names(run: Run, x: Value) -> Value:
    """`AddNeg` is Add and Neg, although there is an AddN as well."""
    y = run.op("Add", [x, run.weight(HIDDEN)], np.add, fx="add aten.add.Tensor", fuse="short")
    y = run.op("Neg", [y], np.negative, fx="neg aten.neg.default", fuse="short")
    return run.op("AddN", [x, y, x], lambda a, b, c: a + b + c, fx="npu_add_n npu.npu_add_n.default", args=[[x, y, x]])


def run_graph(run: Run, layers: int, mixed: bool, arguments: bool, odd: bool, empty: bool) -> Run:
    ids = run.data(run.random.integers(0, VOCAB, LENGTH), "i64")
    table = run.weight(VOCAB, HIDDEN)
    stem(run)
    x = run.op("GatherV2", [table, ids, run.constant(0, "i32")], lambda t, i, _: t[i],
               fx="embedding aten.embedding.default", args=[table, ids])
    x = backtracking_names(run, x)
    for n in range(layers):
        attended = attention(run, norm(run, x, f"{n}a"), mixed)
        x = run.op("Add", [x, attended], np.add, fx="add aten.add.Tensor")
        x = run.op("Add", [x, mlp(run, norm(run, x, f"{n}m"), f"{n}")], np.add, fx="add aten.add.Tensor")
    x = many_inputs(run, x)
    if arguments:
        x = shifted_arguments(run, x)
    if odd:
        odd_values(run, x)
    if empty:
        empty_tensors(run, x)
    logits = linear(run, norm(run, x, "last"), VOCAB)
    run.op("ReduceSum", [run.op("Square", [logits], np.square, fx="square aten.square.default")], lambda a: a.sum(),
           fx="sum_1 aten.sum.default")
    run.op("Greater", [logits, run.constant(0.0)], lambda a, b: a > b, fx="gt aten.gt.Scalar", args=[logits, 0], dtypes=("bool",))
    run.op("AscendQuantV2", [logits], lambda a: np.clip(np.rint(a * 20), -128, 127), base="AscendQuant",
           fx="npu_quantize npu.npu_quantize.default", dtypes=("i8",))
    run.op("ArgMaxV2", [logits, run.constant(-1, "i32")], lambda a, _: a.argmax(-1), base="ArgMax",
           fx="argmax aten.argmax.default", args=[logits, -1], dtypes=("i64",))
    return run
