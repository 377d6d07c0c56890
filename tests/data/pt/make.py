"""Writes the .pt files of this folder; run with torch 1.13 (all but those in new/, see README.md)."""
import collections
import os
import pickle
import zipfile

import numpy as np
import torch

os.chdir(os.path.dirname(os.path.abspath(__file__)))
base = torch.arange(24, dtype=torch.float32)

torch.save(base.reshape(2, 3, 4), "tensor.pt")
torch.save(torch.nn.Parameter(torch.tensor([1.5, -2.5])), "parameter.pt")
types = {str(t)[6:]: torch.tensor([0, 1, 2, 100]).to(t) for t in (
    torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16, torch.int8,
    torch.uint8, torch.bool, torch.complex64, torch.complex128)}
torch.save(types, "types.pt")
torch.save(types, "types_legacy.pt", _use_new_zipfile_serialization=False)
views = {
    "transposed": base.reshape(4, 6).t(),
    "slice": base[5:11],
    "steps": base[1::3],
    "permuted": base.reshape(2, 3, 4).permute(2, 0, 1),
    "expanded": base[3:5].reshape(2, 1).expand(2, 3),
    "empty": base[:0],
    "scalar": base[7],
    "ones": base[2:6].reshape(1, 4, 1),
}
torch.save(views, "views.pt")
torch.save(views, "views_legacy.pt", _use_new_zipfile_serialization=False)
tied = torch.ones(2)
torch.save({
    "model": collections.OrderedDict([("fc.weight", tied), ("fc.bias", torch.zeros(1))]),
    "list": [torch.tensor(1), (torch.tensor(2), None, "text", 3.5)],
    7: tied,
    "set": {1, 2},
    "step": 100,
    "shape": torch.Size([1, 2]),
    "device": torch.device("cpu"),
    "dtype": torch.float32,
    "default": collections.defaultdict(list, a=torch.tensor([9])),
    "numpy": np.arange(6, dtype=">i2").reshape(2, 3).T,
    "numpy_scalar": np.float64(2.5),
}, "nested.pt")
for protocol in (1, 3, 4, 5):
    torch.save({"a": [base[:3]], "n": np.arange(3, dtype="<f4")}, f"protocol{protocol}.pt", pickle_protocol=protocol)
    torch.save({"a": [base[:3]]}, f"protocol{protocol}_legacy.pt", pickle_protocol=protocol, _use_new_zipfile_serialization=False)
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))
torch.save(model.state_dict(), "state_dict.pt")
torch.save(model, "module.pt")  # refused: wants classes
torch.jit.save(torch.jit.script(torch.nn.Linear(1, 1)), "script.pt")  # refused
torch.save({
    "good": torch.tensor([1.0]),
    "quantised": torch.quantize_per_tensor(torch.tensor([1.0]), 0.1, 0, torch.quint8),
    "sparse": torch.eye(2).to_sparse(),
    "csr": torch.eye(2).to_sparse_csr(),
    "meta": torch.empty(2, device="meta"),
}, "unreadable.pt")
cycle = {"a": torch.tensor([5])}
cycle["self"] = cycle
torch.save(cycle, "cycle.pt")


class Evil:
    def __reduce__(self):
        return os.system, ("echo this must never run",)


torch.save(Evil(), "evil.pt")
torch.save({"t": torch.tensor([3]), "evil": Evil()}, "evil_beside.pt")
torch.save({"t": torch.tensor([3]), "evil": Evil()}, "evil_protocol4.pt", pickle_protocol=4)
torch.save({"evil": Evil()}, "evil_legacy.pt", _use_new_zipfile_serialization=False)

# Tensors beside tensors: attributes, parts of objects whose classes are unknown, keys, storages as such.
class Sub(torch.Tensor):
    pass


class NamedDict(collections.OrderedDict):
    pass


class NamedList(list):
    pass


class Thing:
    def __init__(self, **attributes):
        self.__dict__.update(attributes)


class Slots:
    __slots__ = ("a", "b")


class Keywords:
    def __new__(cls, *, t=None):
        return super().__new__(cls)

    def __getnewargs_ex__(self):
        return (), {"t": torch.tensor([11.0])}


def with_attributes(thing, **attributes):
    for key, value in attributes.items():
        setattr(thing, key, value)
    return thing


one, two = torch.tensor([1.0]), torch.tensor([2.0])
torch.save(with_attributes(torch.tensor([1.0, 2.0]).as_subclass(Sub), extra=torch.tensor([8.0])), "subclass.pt")
first, second = Thing(t=torch.tensor([12.0])), Thing()
first.other, second.other = second, first
torch.save({
    "ordered": with_attributes(collections.OrderedDict(w=one), hidden=two),
    "dict": with_attributes(NamedDict(w=one), hidden=two),
    "list": with_attributes(NamedList([one]), hidden=two),
    "thing": Thing(a=torch.tensor([4.0]), n=3),
    "slots": with_attributes(Slots(), a=torch.tensor([5.0]), b=2),
    "loop": first,
    "again": second,
    "set": {torch.tensor([6.0])},
    (1, "a"): torch.tensor([7.0]),
    torch.tensor([9.0]): 1,
    "storage": torch.tensor([1.0, 2.0, 3.0]).storage(),
}, "objects.pt")
torch.save({"k": Keywords()}, "keywords.pt", pickle_protocol=4)
torch.save({"n": Thing(lr=0.1, names=["a"]), "t": one}, "settings.pt")
torch.save(torch.arange(16.0)[3], "one_of_sixteen.pt")

# Repacked by hand: deflated storages; a machine of the other byte order.
with zipfile.ZipFile("views.pt") as source, zipfile.ZipFile("deflated.pt", "w", zipfile.ZIP_DEFLATED) as out:
    for name in source.namelist():
        out.writestr(zipfile.ZipInfo(name), source.read(name), zipfile.ZIP_DEFLATED)
with zipfile.ZipFile("views.pt") as source, zipfile.ZipFile("big_endian.pt", "w") as out:
    for name in source.namelist():
        data = source.read(name)
        out.writestr(zipfile.ZipInfo(name), np.frombuffer(data, "<f4").astype(">f4").tobytes() if "/data/" in name else data)
    out.writestr(zipfile.ZipInfo("views/byteorder"), "big")
