"""parse_torchair_dump_data: the inputs and outputs of an operator in a dump of the graph engine, as arrays."""
import os
import re
from typing import Any, List, Tuple

from assay.errors import AssayError

_WIDENED = ("bf16", "hif8", "f8e5m2", "f8e4m3fn", "f8e8m0", "f6e3m2", "f6e2m3", "f4e2m1", "f4e1m2")


def parse_torchair_dump_data(dump_file: Any) -> Tuple[List[Any], List[Any]]:
    """(inputs, outputs) of one file of a GE dump, arrays of NumPy as the model sees them; types that NumPy has not come as float32.

    Of a `.npz` with statistics in their place the arrays `inputs` and `outputs` that it holds, or empty lists.
    """
    path = os.fspath(dump_file)
    if path.endswith(".npz"):
        import numpy

        with numpy.load(path) as loaded:
            return tuple(loaded[name] if name in loaded else [] for name in ("inputs", "outputs"))  # type: ignore[return-value]
    from assay._open import File

    found: Tuple[List[Any], List[Any]] = ([], [])
    with File(path) as file:
        for number in range(len(file)):
            tensor = file[number]
            place = re.search(r"(input|output)\.\d+$", tensor.name)
            if place is None:
                raise AssayError(f"{path}: is no file of a GE dump: it has a tensor '{tensor.name}'")
            array = tensor.numpy("f32") if tensor.dtype in _WIDENED else tensor.numpy()
            found[place.group(1) == "output"].append(array if array.flags.writeable else array.copy())
    return found
