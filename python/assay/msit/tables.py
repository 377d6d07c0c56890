"""The tables of the original: statistics.csv beside the tensors, tensor_analyze.csv for the whole dump. Their numbers are those
of PyTorch's own reductions in float32, to the last digit."""
import csv
import io
from typing import Any, List, Optional

import torch

STATISTICS = "statistics.csv"
MORE_STATISTICS = "more_statistics.csv"  # of what the original has no row for
ANALYZE, MORE_ANALYZE = "tensor_analyze.csv", "more_tensor_analyze.csv"


def csv_line(cells: List[Any]) -> str:
    """Without its end, of which the writer adds the second half."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\r").writerow(cells)
    return text.getvalue()


STATISTICS_TITLES = csv_line(["NodeName", "NodeType", "InputOutput", "Index", "DataType", "Shape", "Max", "Min", "Mean",
                              "L2Norm"])
ANALYZE_TITLES = csv_line(["Node Name", "Node Type", "Tensor Path", "dtype", "shape", "max", "min", "variance", "mean"])


def statistics_line(node: str, kind: str, name: str, tensor: torch.Tensor) -> str:
    side = "Input" if name.startswith(("input", "argument", "kwargs")) else "Output"
    numbers = _measure(tensor, ("max", "min", "mean", "norm"))
    return csv_line([node, kind, side, _index_of(name), tensor.dtype, tuple(tensor.shape), *numbers])


def analyze_line(node: str, kind: str, path: str, tensor: torch.Tensor) -> str:
    numbers = _measure(tensor, ("max", "min", "var", "mean"))
    return csv_line([node, kind, path, tensor.dtype, tensor.shape, *numbers])


def is_of_the_original(name: str) -> bool:
    return name.startswith(("input", "output"))


def _index_of(name: str) -> Any:
    """The last number of a numbered place, as the original has it; the whole name of what it does not know."""
    if not is_of_the_original(name):
        return name
    last = name.rpartition("_")[2]
    return int(last) if last.isdigit() else 0


def _measure(tensor: torch.Tensor, what: tuple) -> List[Optional[float]]:
    with torch.no_grad():
        plain = tensor.detach()
        if plain.numel() == 0:
            return ["N/A"] * len(what)
        if plain.layout is not torch.strided:
            plain = plain.to_dense()
        if plain.is_quantized:
            plain = plain.dequantize()
        if plain.is_complex():
            plain = plain.real
        plain = plain.float()
        return [getattr(torch, each)(plain).item() for each in what]
