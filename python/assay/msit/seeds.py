"""seed_all: the same random numbers and the same order of additions in every run."""
import argparse
import os
import random

from assay.msit.log import logger


def seed_all(seed: int = 2024) -> None:
    """Seeds Python, NumPy, PyTorch and its devices, and asks for deterministic algorithms.

    >>> import random
    >>> seed_all(7); first = random.random()
    >>> seed_all(7); random.random() == first
    True
    """
    if not isinstance(seed, int):
        raise argparse.ArgumentTypeError(f"{seed} is not an int.")
    import torch

    os.environ.update(LCCL_DETERMINISTIC="1", HCCL_DETERMINISTIC="true", ATB_MATMUL_SHUFFLE_K_ENABLE="0",
                      ATB_LLM_LCOC_ENABLE="0", PYTHONHASHSEED=str(seed))
    random.seed(seed)
    try:
        import numpy
    except ImportError:
        pass
    else:
        numpy.random.seed(seed)
    torch.manual_seed(seed)
    torch.use_deterministic_algorithms(mode=True)
    if torch.cuda.is_available():
        torch.cuda.manual_seed_all(seed)
        torch.backends.cudnn.deterministic = True
        torch.backends.cudnn.benchmark = False
    npu = getattr(_torch_npu(), "npu", None)
    if npu is not None and npu.is_available():
        npu.manual_seed_all(seed)
    logger.info("Deterministic computation is on, with the seed %s.", seed)


def _torch_npu():
    try:
        import torch_npu
    except ImportError:
        return None
    return torch_npu
