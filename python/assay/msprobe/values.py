"""What dump.json says of the values that a call is given and gives back, as JSON text laid out as the original's:
one more blank for each level, and tabs for ends of line (journal.py)."""
import dataclasses
import json
import sys
import zlib
from typing import Any, Callable, Dict, List, Optional, Tuple

import torch

from assay.msprobe.native_values import open_native
from assay.msprobe.statistics import EMPTY, Measure, Numbers, OnDevice, _mean, _norm, number

_MOST_NESTED = 400
_KEYED = ("device", "dtype", "output_dtype")  # under these, devices and types are told
_FORMATS = {getattr(torch, name): name for name in
            ("contiguous_format", "channels_last", "channels_last_3d", "preserve_format")}
_PLAIN_TENSORS = (torch.Tensor, torch.nn.Parameter)
_quote = json.encoder.encode_basestring_ascii

Save = Callable[[torch.Tensor, str], bool]


class Values:
    """Describes values. `save(tensor, place)` may keep a tensor's data, and answers whether it did."""

    def __init__(self, task: str = "statistics", summary: str = "statistics", precision: str = "low",
                 slices: Optional[List[dict]] = None, complete: bool = False, save: Optional[Save] = None) -> None:
        self._summary, self.slices, self._complete, self._save = summary, slices or [], complete, save
        self._has_numbers = task != "nan_check"
        self.measure = Measure(precision, summary in ("md5", "xor"), complete)
        self.on_device = OnDevice(precision)
        self.native = open_native(task, summary, precision, self.measure.known, _mean, _norm)
        self._beginnings: Dict[tuple, Tuple[str, str]] = {}
        self._saved_name: Optional[Callable[[str], Optional[str]]] = None

    def of(self, value: Any, depth: int, place: str = "", name_of: Optional[Callable[[str], Optional[str]]] = None) -> str:
        """`depth` is how far the line is indented; `place` the way to this value from the entry, with points;
        `name_of(place)` names the file that a tensor's data go to, None if they are not wanted."""
        self._saved_name = name_of
        text = self._natively(value, depth, place)
        if text is not None:
            return text
        try:
            return self._of(value, depth, place, None, _MOST_NESTED)
        finally:
            self._saved_name = None

    def at_once(self, values: Dict[str, Any], depth: int, name_of: Optional[Callable[[str], Optional[str]]]) -> Optional[str]:
        """Several values as one dict, where the native half knows all that is in them."""
        if name_of is None:
            return self._natively(values, depth, "")
        self._saved_name = name_of
        try:
            return self._natively(values, depth, "")
        finally:
            self._saved_name = None

    def native_now(self) -> Any:
        """The native half; None where it must not be asked."""
        return None if self.slices or _transforms() is not None else self.native

    def _natively(self, value: Any, depth: int, place: str) -> Optional[str]:
        """None: there is something in it that the native half does not know."""
        native = self.native_now()
        if native is None:
            return None
        keep = None if self._saved_name is None else lambda tensor, where: self._kept(tensor, self._file_of(place + where))
        text = native.text(native.handle, value, depth, keep)
        if text is None and not native.has_tried and torch.cuda.is_initialized() and native.use_device():
            text = native.text(native.handle, value, depth, keep)
        return text

    def _kept(self, tensor: torch.Tensor, file: Optional[str]) -> Optional[str]:
        return file if file is not None and self._save is not None and self._save(tensor, file) else None

    def _of(self, value: Any, depth: int, place: str, key: Any, left: int) -> str:
        kind = type(value)
        if value is None:
            return "null"
        if key in _KEYED and isinstance(key, str):
            keyed = self._keyed(value, depth, key)
            if keyed is not None:
                return keyed
        if kind in _PLAIN_TENSORS:
            text = self._natively(value, depth, place)
            return self._tensor(value, depth, place) if text is None else text
        if kind is int or kind is float or kind is bool or kind is str:
            blanks = " " * (depth + 1)
            return f'{{\t{blanks}"type": "{kind.__name__}",\t{blanks}"value": {_quote(value) if kind is str else number(value)}\t{blanks[:-1]}}}'
        if left == 0:
            return "null"
        if kind is tuple or kind is list:
            return self._list(value, depth, place, left)
        if kind is dict:
            return self._dict(value, depth, place, left)
        return self._rare(value, depth, place, left)

    def _list(self, values: Any, depth: int, place: str, left: int) -> str:
        if not values:
            return "[]"
        inside = depth + 1
        texts = [self._of(each, inside, f"{place}.{number}", None, left - 1) for number, each in enumerate(values)]
        blanks = "\t" + " " * inside
        return f"[{blanks}{(',' + blanks).join(texts)}{blanks[:-1]}]"

    def _dict(self, values: Any, depth: int, place: str, left: int) -> str:
        inside = depth + 1
        blanks = "\t" + " " * inside
        texts = [f"{_quote(_key(key))}: {self._of(each, inside, f'{place}.{key}', key, left - 1)}"
                 for key, each in values.items()]
        if not texts:
            return "{}"
        return f"{{{blanks}{(',' + blanks).join(texts)}{blanks[:-1]}}}"

    def _keyed(self, value: Any, depth: int, key: str) -> Optional[str]:
        if isinstance(value, (list, tuple, dict)) and not isinstance(value, torch.Size):
            return None
        if key != "device":
            return self._pairs([("type", "torch.dtype"), ("value", str(value))], depth)
        if isinstance(value, (int, str)):
            return self._pairs([("type", "torch.device"), ("value", value)], depth)
        if isinstance(value, torch.device):
            return self._pairs([("type", "torch.device"), ("value", f"{value.type}:{value.index}")], depth)
        return self._pairs([("type", "torch.device")], depth)

    @staticmethod
    def _pairs(pairs: List[Tuple[str, Any]], depth: int) -> str:
        blanks = " " * depth
        return json.dumps(dict(pairs), indent=1).replace("\n", "\t" + blanks)

    def _rare(self, value: Any, depth: int, place: str, left: int) -> str:
        if isinstance(value, torch.Tensor):
            return self._tensor(value, depth, place)
        if isinstance(value, torch.Size):
            return self._pairs([("type", "torch.Size"), ("value", [int(each) for each in value])], depth)
        if isinstance(value, (bool, int, float, str)):  # of a kind derived from one
            plain = str.__str__(value) if isinstance(value, str) else (
                float(value) if isinstance(value, float) else int(value))
            return self._pairs([("type", type(value).__name__), ("value", plain)], depth)
        if isinstance(value, slice):
            parts = []
            for part in (value.start, value.stop, value.step):
                try:
                    parts.append(None if part is None else int(part))
                except (TypeError, ValueError):
                    parts.append(None)
            return self._pairs([("type", "slice"), ("value", parts)], depth)
        if value is Ellipsis:
            return self._pairs([("type", "ellipsis"), ("value", "...")], depth)
        if isinstance(value, torch.memory_format):
            return self._pairs([("type", "torch.memory_format"), ("format", _FORMATS.get(value))], depth)
        if isinstance(value, (torch.dtype, torch.device)):
            if self._complete:
                return self._pairs([("type", f"torch.{type(value).__name__}"), ("value", str(value))], depth)
            return "{}"
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return self._dict({field: getattr(value, field, None) for field in value._fields}, depth, place, left)
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            fields = {field: getattr(value, field, None) for field in value.__dataclass_fields__}
            return self._dict(fields, depth, place, left)
        if isinstance(value, (list, tuple)):
            return self._list(value, depth, place, left)
        if isinstance(value, dict):
            return self._dict(value, depth, place, left)
        found = self._of_numpy(value, depth, place) if "numpy" in sys.modules else None
        if found is None:
            found = self._of_process_groups(value, depth, place)
        if found is None and self._complete:
            return self._pairs([("type", type(value).__name__), ("value", str(value) if isinstance(value, complex) else None)],
                               depth)
        return "null" if found is None else found

    def _of_numpy(self, value: Any, depth: int, place: str) -> Optional[str]:
        numpy = sys.modules["numpy"]
        if isinstance(value, numpy.ndarray):
            pairs: List[Tuple[str, Any]] = [("type", "numpy.ndarray"), ("dtype", str(value.dtype)), ("shape", list(value.shape))]
            stats: List[Any] = [None] * 4
            if value.size and value.dtype.kind not in "USO":
                try:
                    stats = [numpy.max(value).item(), numpy.min(value).item(), numpy.mean(value).item(),
                             numpy.linalg.norm(value).item()]
                    json.dumps(stats)
                except (TypeError, ValueError):
                    stats = [None] * 4
            pairs += zip(("Max", "Min", "Mean", "Norm"), stats)
            file = self._file_of(place)
            if file is not None and value.dtype.kind not in "USO" and self._save is not None \
                    and self._save(torch.tensor(value), file):
                pairs.append(("data_name", file))
            return self._pairs(pairs, depth)
        if isinstance(value, numpy.generic):
            plain = value.item()
            return self._pairs([("type", type(value).__name__),
                                ("value", plain if isinstance(plain, (bool, int, float, str)) else str(plain))], depth)
        return None

    def _of_process_groups(self, value: Any, depth: int, place: str) -> Optional[str]:
        distributed = torch.distributed
        if not distributed.is_available():
            return None
        if isinstance(value, distributed.ProcessGroup):
            ranks = _ranks(value)
            return self._pairs([("type", "torch.ProcessGroup")] if ranks is None else
                               [("type", "torch.ProcessGroup"), ("group_ranks", ranks), ("group_id", _hash(ranks))], depth)
        if isinstance(value, distributed.ReduceOp):
            return self._pairs([("type", "torch.distributed.ReduceOp"), ("value", str(value))], depth)
        if isinstance(value, distributed.P2POp):
            blanks = "\t" + " " * (depth + 1)
            ranks = _ranks(value.group or distributed.distributed_c10d._get_default_group())
            return (f'{{{blanks}"class_type": "torch.distributed.P2POp",{blanks}"tensor": '
                    f'{self._tensor(value.tensor, depth + 1, place)},{blanks}"op": {_quote(value.op.__name__)},'
                    f'{blanks}"peer": {json.dumps(value.peer)},{blanks}"tag": {json.dumps(value.tag)},'
                    f'{blanks}"group_id": {json.dumps(None if ranks is None else _hash(ranks))}{blanks[:-1]}}}')
        return None

    # Tensors

    def _tensor(self, tensor: torch.Tensor, depth: int, place: str) -> str:
        kind, plain = "torch.Tensor", tensor
        if type(tensor) not in _PLAIN_TENSORS or _transforms() is not None or tensor.is_nested:
            kind, plain = _unwrapped(tensor)
        has_data = plain is not None and plain.layout is torch.strided and not plain.is_meta and not plain.is_quantized
        if has_data and plain is not tensor and plain.numel() and not plain.data_ptr():  # a wrapper around others
            has_data = False
        if has_data and self.slices:
            plain = self._sliced(plain)
        shown = tensor if plain is None else plain
        key = (kind, shown.dtype, shown.shape, depth)
        begun = self._beginnings.get(key)
        if begun is None:
            begun = self._beginnings[key] = self._begin(kind, shown, depth)
        beginning, blanks = begun
        parts = [beginning]
        numbers = EMPTY
        if self._has_numbers:
            if has_data:
                numbers = self._numbers_of(plain)
            if self._summary == "xor":
                parts.append(f'"md5": {self._xor_of(plain, numbers)},{blanks}')
            else:
                parts.append(f'"Max": {numbers.max},{blanks}"Min": {numbers.min},{blanks}"Mean": {numbers.mean},'
                             f'{blanks}"Norm": {numbers.norm},{blanks}')
        parts.append('"requires_grad": true' if tensor.requires_grad else '"requires_grad": false')
        if kind == "torch.distributed.tensor.DTensor":
            for name, more in _of_mesh(tensor):
                parts.append(f',{blanks}"{name}": ' + json.dumps(more, indent=1).replace("\n", blanks))
        if self._complete and not has_data:
            parts.append(f',{blanks}"layout": {_quote(_layout_of(shown))}')
        file = self._file_of(place) if self._saved_name is not None else None
        if file is not None and plain is not None and not plain.is_meta and self._save is not None \
                and (not has_data or plain.numel() > 0) and self._save(plain, file):
            parts.append(f',{blanks}"data_name": {_quote(file)}')
        if self._summary == "md5" and self._has_numbers:
            parts.append(f',{blanks}"md5": {numbers.crc32 or "null"}')
        parts.append(blanks[:-1] + "}")
        return "".join(parts)

    def _begin(self, kind: str, tensor: torch.Tensor, depth: int) -> Tuple[str, str]:
        if len(self._beginnings) > 20000:
            self._beginnings.clear()
        blanks = "\t" + " " * (depth + 1)
        shape = json.dumps([int(each) for each in tensor.shape], indent=1).replace("\n", blanks)
        return (f'{{{blanks}"type": "{kind}",{blanks}"dtype": "{tensor.dtype}",{blanks}"shape": {shape},{blanks}', blanks)

    def _numbers_of(self, plain: torch.Tensor) -> Numbers:
        if plain.device.type == "cpu":
            return self.measure.of(plain)
        if self._summary == "statistics":
            return self.on_device.of(plain)
        numbers = self.on_device.of(plain)
        crc32, xor64 = self.measure.checksums_of(plain.detach().cpu())
        return numbers._replace(crc32=crc32, xor64=xor64)

    def _xor_of(self, plain: Optional[torch.Tensor], numbers: Numbers) -> str:
        if plain is None or numbers.xor64 is None or plain.numel() == 0 or str(plain.dtype).startswith("torch.float8"):
            return "null"
        if plain.dim() == 0 and not plain.is_complex():
            value = plain.item()
            return number(value) if isinstance(value, float) else f'"0x{int(value) & ((1 << 64) - 1):016x}"'
        return numbers.xor64

    def _sliced(self, tensor: torch.Tensor) -> torch.Tensor:
        index = [slice(None)] * tensor.dim()
        for item in self.slices:
            dim, size = item.get("dim", 0), item.get("size")
            if item and dim < tensor.dim() and (size is None or tensor.shape[dim] == size):
                index[dim] = slice(item.get("begin", 0), item.get("end"))
        return tensor.detach()[tuple(index)] if index else tensor

    def _file_of(self, place: str) -> Optional[str]:
        return self._saved_name(place) if self._saved_name is not None else None


def _key(key: Any) -> str:
    """As json.dumps makes keys of what is none."""
    if isinstance(key, str):
        return key
    if key is None or isinstance(key, (bool, float)):
        return json.dumps(key)
    return str(int(key)) if isinstance(key, int) else str(key)


def _layout_of(tensor: torch.Tensor) -> str:
    return "quantized" if tensor.is_quantized else "meta" if tensor.is_meta else str(tensor.layout)


# Whether a transform of functorch (vmap, grad) is active: what it wraps looks like any tensor.
_transforms = getattr(getattr(torch._C, "_functorch", None), "peek_interpreter_stack", lambda: None)


def _unwrapped(tensor: torch.Tensor) -> Tuple[str, Optional[torch.Tensor]]:
    """How the original calls its kind, and the plain tensor in it; None if there are no data to be had."""
    name = type(tensor).__name__
    if name == "DTensor":
        return "torch.distributed.tensor.DTensor", tensor.to_local()
    if name == "FakeTensor":
        return "torch._subclasses.fake_tensor.FakeTensor", None
    if name == "AsyncCollectiveTensor":
        return "torch.distributed._functional_collectives.AsyncCollectiveTensor", None
    if name == "NestedTensor":
        return "torch.nested._internal.nested_tensor.NestedTensor", tensor.values()
    functorch = getattr(torch._C, "_functorch", None)
    if hasattr(functorch, "is_gradtrackingtensor"):
        if functorch.is_batchedtensor(tensor):
            return "BatchedTensor", None
        if functorch.is_gradtrackingtensor(tensor):
            return "GradTrackingTensor", functorch.get_unwrapped(tensor)
    return "torch.Tensor", tensor.values() if tensor.is_nested else tensor


def _of_mesh(tensor: Any) -> List[Tuple[str, Any]]:
    found: List[Tuple[str, Any]] = []
    if getattr(tensor, "device_mesh", None):
        found.append(("device_mesh", tensor.device_mesh.mesh.tolist()))
    placements: List[dict] = []
    for each in getattr(tensor, "placements", ()):
        if each.is_shard():
            placements.append({"Shard": {"dim": each.dim}})
        elif each.is_replicate():
            placements.append({"Replicate": {}})
        elif each.is_partial():
            placements.append({"Partial": {"reduce_op": str(each.reduce_op)}})
    return found + [("placements", placements)]


def _ranks(group: Any) -> Optional[List[int]]:
    try:
        return list(torch.distributed.get_process_group_ranks(group))
    except Exception:  # 1.13 has no such call
        return None


def _hash(ranks: List[int]) -> str:
    return f"{zlib.crc32(str(ranks).encode()):08x}"
