"""dump_data: a golden tensor of one's own, beside the path of the tensor that it belongs to."""
import json
import os
from typing import Any

import torch

from assay._writer import Writer
from assay.msit.dump_folder import dump_folder
from assay.msit.log import logger
from assay.torch.tensors import write


def dump_data(token_id: int = -1, data_id: Any = -1, golden_data: Any = None, my_path: str = "",
              output_path: str = "./") -> None:
    """Writes `golden_data` and notes in metadata.json that `my_path` is to be compared with it.

    >>> import glob, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> dump_data(0, 3, torch.zeros(2), my_path=__file__, output_path=folder)
    >>> [os.path.basename(path) for path in glob.glob(folder + "/*/*/golden_tensor/0/*")]
    ['3_tensor.pth']
    """
    if token_id == -1:
        logger.warning("Please check whether token_id passed in are correct")
    elif data_id == -1:
        logger.warning("Please check whether data_id passed in are correct")
    elif not isinstance(golden_data, torch.Tensor):
        logger.warning("The golden_data is not a torch tensor!")
    elif my_path == "":
        logger.warning("Please check whether my_path passed in are correct")
    elif not os.path.exists(my_path):
        raise FileNotFoundError(f"my_path: {my_path} not found")
    else:
        _write(token_id, data_id, golden_data, os.path.realpath(my_path), output_path)


def _write(token_id: int, data_id: Any, golden: torch.Tensor, my_path: str, output_path: str) -> None:
    folder = os.path.join(output_path, dump_folder(), f"{os.getpid()}_{golden.get_device()}", "golden_tensor")
    os.makedirs(os.path.join(folder, str(token_id)), exist_ok=True)
    file = f"{token_id}/{data_id}_tensor.pth"
    metadata = os.path.join(folder, "metadata.json")
    known = {}
    if os.path.exists(metadata):
        with open(metadata) as text:
            known = json.load(text)
    # The original forgets the other tokens of a tensor.
    known.setdefault(str(data_id), {})[str(token_id)] = [os.path.join(folder, file), my_path]
    with Writer(folder, keeps_count=False) as writer:
        write(writer, file, golden)
        writer.text("metadata.json", json.dumps(known))
