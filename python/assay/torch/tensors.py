"""Finding the tensors in what a module is given and gives back, and handing them to the writer."""
import dataclasses
import os
import re
from typing import Any, Iterator, Mapping, Tuple

import torch

from assay import _native
from assay._writer import Writer

_SIMPLE = (type(None), bool, int, float, complex, str, bytes, torch.dtype, torch.device, torch.Size, slice)
_MOST_NESTED = 64


def leaves(value: Any, name: str, named: str) -> Iterator[Tuple[str, Any]]:
    """The tensors in `value`, each with its name, and whatever else could hold some and is not known.

    A place in a tuple or list adds its number to `name`; what has a key (dicts, dataclasses) begins with `named`.

    >>> x = torch.zeros(1)
    >>> [name for name, _ in leaves((x, [x, {"k": x}]), "output", "result")]
    ['output_0', 'output_1_0', 'result_1_1.k']
    """
    return _leaves(value, name, named, _MOST_NESTED)


def _leaves(value: Any, name: str, named: str, depth: int) -> Iterator[Tuple[str, Any]]:
    if isinstance(value, torch.Tensor):
        yield name, value
        return
    if isinstance(value, _SIMPLE):
        return
    if depth == 0:
        yield name, value
    elif isinstance(value, (tuple, list)):
        for place, each in enumerate(value):
            yield from _leaves(each, f"{name}_{place}", named, depth - 1)
    elif isinstance(value, Mapping) or (dataclasses.is_dataclass(value) and not isinstance(value, type)):
        try:
            fields = [(str(key), value[key]) for key in value] if isinstance(value, Mapping) else [
                (field.name, getattr(value, field.name, None)) for field in dataclasses.fields(value)]
        except Exception:  # code of somebody else's
            yield name, value
            return
        base = name if name.startswith(named) else named + name[_word_length(name):]
        taken: set = set()
        for key, each in fields:
            yield from _leaves(each, f"{base}.{_file_text(key, taken)}", named, depth - 1)
    else:
        yield name, value


def _word_length(name: str) -> int:
    found = re.match(r"[A-Za-z]+", name)
    return found.end() if found else 0


def _file_text(key: str, taken: set) -> str:
    """A key as part of a file's name, another one for every key."""
    text = re.sub(r"[^0-9A-Za-z_-]", "_", key)[:100] or "_"
    while text in taken:
        text += "_"
    taken.add(text)
    return text


def has_tensor(value: Any) -> bool:
    return any(isinstance(each, torch.Tensor) for _, each in leaves(value, "", ""))


def on_the_host(tensor: torch.Tensor) -> torch.Tensor:
    """Its values in memory of the host, without what autograd knows of it."""
    plain = tensor.detach()
    if plain.device.type != "cpu":
        plain = plain.to("cpu")
    if plain.is_conj():
        plain = plain.resolve_conj()
    return plain.resolve_neg() if plain.is_neg() else plain


def write(writer: Writer, path: str, tensor: torch.Tensor, copies: Any = None) -> None:
    """As a file of torch.save, whole or not at all; one of that name is replaced. Those of CUDA devices go by `copies`
    (device_copies.py).

    What the native writer has no type for (sparse, quantised) is written by torch itself.
    """
    with torch.no_grad():
        if tensor.layout is torch.strided and not tensor.is_quantized and writer.dtype(str(tensor.dtype)) >= 0 \
                and tensor.device.type != "meta":
            if copies is not None and tensor.is_cuda and tensor.numel():
                copies.save(tensor, path, _object_of(tensor), _stem(path))
                return
            plain = on_the_host(tensor)
            writer.tensor(path, plain.data_ptr(), str(plain.dtype), plain.shape, plain.stride(), format="pt",
                          replace=True, torch_object=_object_of(tensor), name=_stem(path))
            return
    whole = os.path.join(writer.root, path)
    os.makedirs(os.path.dirname(whole), exist_ok=True)
    part = f"{whole}.{os.getpid()}.part"
    try:
        torch.save(tensor, part)
        os.replace(part, whole)
    finally:
        if os.path.exists(part):
            os.remove(part)


def _object_of(tensor: torch.Tensor) -> int:
    if isinstance(tensor, torch.nn.Parameter):
        return _native.PARAMETER if tensor.requires_grad else _native.FIXED_PARAMETER
    return _native.WITH_GRADIENT if tensor.requires_grad else _native.PLAIN_TENSOR


def _stem(path: str) -> str:
    """What torch calls the folder in its archive."""
    return os.path.splitext(os.path.basename(path))[0]
