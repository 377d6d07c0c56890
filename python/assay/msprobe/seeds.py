"""seed_all of msprobe.pytorch."""
import os
import random
import sys
from typing import Any

import torch

from assay.msprobe.config import MsprobeException


def seed_all(seed: int = 1234, mode: bool = False, rm_dropout: bool = False, is_enhanced: bool = False) -> None:
    """Fixes every source of randomness; with `mode` the algorithms are deterministic, with `rm_dropout` none drops.

    >>> seed_all(7); first = torch.rand(3)
    >>> seed_all(7); bool(torch.equal(first, torch.rand(3)))
    True
    """
    if not isinstance(seed, int) or isinstance(seed, bool) or not 0 <= seed < 2 ** 32:
        raise MsprobeException(f"seed: is {seed!r}, expected a number from 0 to 2**32 - 1")
    for name, value in (("mode", mode), ("rm_dropout", rm_dropout), ("is_enhanced", is_enhanced)):
        if not isinstance(value, bool):
            raise MsprobeException(f"{name}: is {value!r}, expected a bool")
    os.environ["PYTHONHASHSEED"] = str(seed)
    random.seed(seed)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(seed)
    torch.manual_seed(seed)
    if torch.cuda.is_available():
        torch.cuda.manual_seed_all(seed)
    if "torch_npu" in sys.modules:
        sys.modules["torch_npu"].npu.manual_seed_all(seed)
    os.environ["HCCL_DETERMINISTIC"] = str(mode)
    if mode:
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
        torch.use_deterministic_algorithms(True)
        torch.backends.cudnn.deterministic, torch.backends.cudnn.benchmark = True, False
    if rm_dropout:
        _drop_nothing()


def _drop_nothing() -> None:
    for name in ("dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout"):
        original = getattr(torch.nn.functional, name, None)
        if original is None or getattr(original, "drops_nothing", False):
            continue

        def without(input: torch.Tensor, p: float = 0.5, *args: Any, _original: Any = original, **kwargs: Any) -> torch.Tensor:
            return _original(input, 0.0, *args, **kwargs)

        without.__name__ = name
        without.drops_nothing = True  # type: ignore[attr-defined]
        setattr(torch.nn.functional, name, without)
