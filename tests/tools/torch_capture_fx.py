"""Checks of check_torch_capture.py: the FX dump that assay.torch.fx_dump writes, and what `assay compare` makes of it beside a dump of
the graph engine. They need torch.compile (PyTorch 2)."""
from __future__ import annotations

import io
import pathlib
import re
import warnings

import numpy as np
import torch

import torch_models
from checker import tail
from torch_capture_calls import python, refused
from torchair_files import GraphText, Tensor, ge_bytes

RANK = "worldsize1_global_rank0"
TIMED = re.compile(r"^(?P<slot>.+)\.(?P<time>\d{20})\.npy$")
DTYPES = {"float32": "f32", "float16": "f16", "int64": "i64", "int32": "i32", "bool": "bool"}


class Mixed(torch.nn.Module):
    """A break between two graphs, a buffer that changes in place, arguments that are no tensors, and several results."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.zeros(2))
        self.norm = torch.nn.BatchNorm1d(3)

    def forward(self, x, n):
        self.count.add_(1)
        y = self.norm(torch.cat([x, x * n], 0))
        torch._dynamo.graph_break()
        values, places = y.topk(2, -1)
        wide = (x.to(torch.bfloat16) * 2).sum(0)
        kernel = torch.ones(2, 4, 1, dtype=x.dtype)
        return values, places, wide, torch.nn.functional.conv1d(x[None], kernel), x > 5, y[:0] + 1


def run(model, folder: pathlib.Path, calls, **settings):
    import assay

    torch._dynamo.reset()
    compiled = torch.compile(model, backend=assay.torch.fx_dump(folder, **settings), dynamic=True)
    return [compiled(*each) for each in calls]


def slots_of(folder: pathlib.Path) -> dict[str, np.ndarray]:
    """{"mul-aten.mul.Tensor.INPUT.0": array}, in the order of time."""
    found = sorted((match["time"], match["slot"], path) for path in folder.iterdir() if (match := TIMED.match(path.name)))
    return {slot: np.load(path, allow_pickle=True) for _, slot, path in found}


def check_fx_files(c) -> list[str]:
    """Against what the module computes by itself, and what TorchAir's own writer names and holds in such a case."""
    folder = c.folder("fx") / "dump"
    x = torch.arange(12.0).view(4, 3)
    calls = [(x.clone(), 2), (x + 1, 2), (x * 2, 3)]
    torch.manual_seed(0)
    plain, watched = Mixed(), Mixed()
    with torch.no_grad():
        wanted = [plain(*each) for each in calls]
        found = run(watched, folder, calls)
    failures = []
    for mine, golden in zip(found, wanted):
        failures += ["other results"] if not all(torch.equal(a, b) for a, b in zip(mine, golden)) else []
    if not torch.equal(plain.count, watched.count) or not torch.equal(plain.norm.running_mean, watched.norm.running_mean):
        failures.append("buffers were changed otherwise")
    graphs = sorted(path.name for path in (folder / RANK).iterdir())
    tokens = {graph: sorted(path.name for path in (folder / RANK / graph).iterdir()) for graph in graphs}
    if graphs[:2] != ["graph_1", "graph_2"] or tokens["graph_1"][:2] != ["0", "1"] or sum(map(len, tokens.values())) != 6:
        failures.append(f"graphs and tokens: {tokens}")
    first, second = slots_of(folder / RANK / "graph_1" / "0"), slots_of(folder / RANK / "graph_2" / "0")
    expected = {
        "cat-aten.cat.default.INPUT.0.0": x.numpy(), "cat-aten.cat.default.INPUT.0.1": 2 * x.numpy(),
        "cat-aten.cat.default.OUTPUT.0": np.concatenate([x, 2 * x]), "add-aten.add.Tensor.INPUT.1": np.array(1),
        "add-aten.add.Tensor.OUTPUT.0": np.ones(2, np.float32)}
    later = {"topk-aten.topk.default.INPUT.1": np.array(2), "topk-aten.topk.default.OUTPUT.1": wanted[0][1].numpy(),
             "convolution-aten.convolution.default.INPUT.2": np.array(None),
             "convolution-aten.convolution.default.INPUT.3": np.array([1]),
             "convolution-aten.convolution.default.INPUT.6": np.array(False),
             "sum_1-aten.sum.dim_IntList.OUTPUT.0": wanted[0][2].float().numpy(), "gt-aten.gt.Scalar.OUTPUT.0": (x > 5).numpy()}
    for slots, values in ((first, expected), (second, later)):
        for name, value in values.items():
            got = slots.get(name)
            if got is None or got.dtype != value.dtype or got.shape != value.shape or not (got == value).all():
                failures.append(f"{name}: {got!r} is not {value!r}; there are {sorted(slots)}")
    if any("getitem" in name for name in second):
        failures.append("parts of results are nodes of their own")
    times = [TIMED.match(path.name) for path in sorted((folder / RANK / "graph_2" / "0").iterdir())]
    of_nodes = {match["slot"].split(".INPUT")[0].split(".OUTPUT")[0]: match["time"] for match in times}
    if len(set(of_nodes.values())) != len(of_nodes):
        failures.append("two nodes have one time")
    code, text = c.compare(folder, folder)
    if code != 0 or "PASS" not in text:
        failures.append(f"compared with itself: {code}: {tail(text)}")
    return failures


def check_fx_choices(c) -> list[str]:
    import assay
    from assay.errors import AssayError
    from assay.torch.fx_backend import fx_dump, named_backend

    folder, x = c.folder("fx") / "dump", torch.ones(2)
    run(lambda a: (a * 2).sin() + 1, folder, [(x,)] * 3, tokens=[1], nodes=["sin*", "aten.add.*"])
    found = {str(path.relative_to(folder / RANK).parent): set(slots_of(path.parent)) for path in folder.rglob("*.npy")}
    wanted = {"graph_1/1": {"sin-aten.sin.default.INPUT.0", "sin-aten.sin.default.OUTPUT.0", "add-aten.add.Tensor.INPUT.0",
                            "add-aten.add.Tensor.INPUT.1", "add-aten.add.Tensor.OUTPUT.0"}}
    failures = [] if found == wanted else [f"chosen tokens and nodes: {found}"]
    before = sorted(folder.rglob("*"))
    again = f"import assay, torch\ntorch.compile(lambda x: x + 1, backend=assay.torch.fx_dump({str(folder)!r}))(torch.ones(1))"
    done = python(again, c.folder("again"))
    if done.returncode == 0 or "is there already" not in done.stdout or sorted(folder.rglob("*")) != before:
        failures.append(f"a second run into the same folder: {tail(done.stdout)}")
    ranks = c.folder("ranks")
    for rank in ("0", "1"):
        done = python("import assay, torch\ntorch.compile(lambda x: x + 1, backend=assay.torch.fx_dump('d'))(torch.ones(1))", ranks,
                      RANK=rank, WORLD_SIZE="2")
    if sorted(path.name for path in (ranks / "d").glob("worldsize*")) != ["worldsize2_global_rank0", "worldsize2_global_rank1"]:
        failures.append(f"ranks: {done.stdout} {list(ranks.rglob('*'))}")
    torch._dynamo.reset()
    named = c.folder("named") / "n"
    got = torch.compile(lambda a: a * 3, backend=named_backend, options={"path": str(named), "tokens": 0})(x)
    if not torch.equal(got, x * 3) or not list(named.rglob("mul-aten.mul.Tensor.OUTPUT.0.*.npy")):
        failures.append("the backend with a name records nothing")
    failures += refused(lambda: named_backend(None, [], options={"paht": "x"}), AssayError, "'paht'", "nodes, path, tokens")
    failures += refused(lambda: fx_dump("x", tokens=[-1]), AssayError, "whole numbers")
    torch._dynamo.reset()
    full = c.folder("full") / "d"
    backend = assay.torch.fx_dump(full)
    compiled = torch.compile(lambda a: (a + 1) * 2, backend=backend)
    compiled(x)
    (full / RANK / "graph_1" / "1").write_text("in the way")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        got = compiled(x)
    if not torch.equal(got, (x + 1) * 2) or not any("assay" in str(each.message) for each in told):
        failures.append(f"a folder that cannot be written stops the model, or nobody is told: {[str(each.message) for each in told]}")
    return failures


def engine_dump(fx: pathlib.Path, out: pathlib.Path, fault: str = "") -> None:
    """What the graph engine would have written for the same graph: one operator for each node, with the name of the node's tensors."""
    text = GraphText()
    text.line('name: "graph_1"')
    for token in sorted((fx / RANK / "graph_1").iterdir()):
        folder = out / RANK / "20260101000000" / "0" / "graph_1" / "1" / token.name
        folder.mkdir(parents=True)
        nodes: dict[str, dict[str, np.ndarray]] = {}
        for slot, array in slots_of(token).items():
            node, side, place = re.match(r"(.+)\.(INPUT|OUTPUT)\.(.+)", slot).groups()
            nodes.setdefault(node, {})[f"{side}.{place}"] = array
        for index, (node, slots) in enumerate(nodes.items()):
            name = "".join(word.capitalize() for word in node.split("-")[0].split("_")) + f"_{index}"
            tensors = {slot: Tensor(array, DTYPES[array.dtype.name]) for slot, array in slots.items() if array.dtype.name in DTYPES}
            outputs = [tensor for slot, tensor in tensors.items() if slot.startswith("OUTPUT")]
            if node == fault:
                outputs[0] = outputs[0]._replace(array=outputs[0].array * np.float32(1.5))
            inputs = [tensor for slot, tensor in tensors.items() if slot.startswith("INPUT") and tensor.array.ndim]
            data = ge_bytes(name, inputs, outputs, 1706596912161)
            (folder / f"{name.split('_')[0]}.{name}.{index}.1.{1706596912161000 + index}").write_bytes(data)
            if token.name == "0":
                text.open("op")
                text.line(f'name: "{name}"')
                text.line(f'type: "{name.split("_")[0]}"')
                for place, each in enumerate(outputs):
                    text.output(f"y{place}", each.dtype, each.array.shape, f"{node}.OUTPUT.{place}")
                text.close()
    assert not fault or fault in nodes, nodes.keys()
    text.write(out / "dynamo_original_graph_1_rank_0_pid_1_ts_20260101000000000000.txt")


def check_fx_with_engine(c) -> list[str]:
    """The golden side of `assay compare GE FX`; a fault in one operator is found, and no more than that one is blamed."""
    folder = c.folder("fx") / "golden"
    model = torch_models.make("decoder").eval()
    ids = torch.tensor([[3, 1, 4, 1, 5]])
    with torch.no_grad():
        run(lambda x: model(x).logits, folder, [(ids,), (ids + 1,)])
    failures = []
    for fault, wanted in (("", 0), ("addmm_4-aten.addmm.default", 1)):
        mine = c.folder("ge") / "mine"
        engine_dump(folder, mine, fault)
        code, text = c.compare(mine, folder)
        if code != wanted:
            failures.append(f"fault {fault or 'none'}: {code}: {tail(text, 20)}")
        first = next((line for line in text.split("\n") if line.startswith("First divergence")), "")
        if fault and "Addmm4_" not in first:
            failures.append(f"the fault in {fault} is not found: {first or tail(text)}")
    return failures


def check_fx_training(c) -> list[str]:
    """Forward and backward are a graph each; gradients are those without."""
    folder = c.folder("fx") / "dump"
    plain, watched = torch_models.make("experts"), torch_models.make("experts")
    x = torch_models.inputs("experts")[0]
    torch.softmax(plain.router(x), -1).square().sum().backward()
    (found,) = run(lambda a: torch.softmax(watched.router(a), -1).square().sum(), folder, [(x,)])
    found.backward()
    failures = [] if torch.equal(plain.router.weight.grad, watched.router.weight.grad) else ["other gradients"]
    nodes = {path.name: [slot for slot in slots_of(path / "0") if "OUTPUT" in slot] for path in sorted((folder / RANK).iterdir())}
    if list(nodes) != ["graph_1", "graph_2"] or not any("_softmax_backward_data" in each for each in nodes["graph_2"]):
        failures.append(f"graphs: {nodes}")
    return failures


def check_npy_values(c) -> list[str]:
    """What is no tensor, written without NumPy: the bytes that NumPy writes."""
    from assay.torch.npy_values import _without_numpy, npy_of

    failures = []
    for value in (3, -1.5, True, [1, 2, 3], [0.5, 2], [True, False], [], "BSH", float("inf")):
        if _without_numpy(value) != npy_of(value):
            failures.append(f"{value!r}: {_without_numpy(value)} is not {npy_of(value)}")
    for value in (torch.float16, torch.device("cpu"), [1, [2]], slice(1)):
        text = np.load(io.BytesIO(npy_of(value)))
        if text.dtype.kind != "U" or str(text) != str(value):
            failures.append(f"{value!r}: {text!r}")
    return failures


FX_CHECKS = {"fx training": check_fx_training, "fx values": check_npy_values, "fx files": check_fx_files, "fx choices": check_fx_choices, "fx and the engine": check_fx_with_engine}
