"""Writes the .npz files of this folder; run with NumPy 1.24."""
import os

import numpy as np

os.chdir(os.path.dirname(os.path.abspath(__file__)))
arrays = {
    "weight": np.arange(6, dtype="<f4").reshape(2, 3),
    "layer.0/bias": np.array([1, -1], dtype=">i2"),
    "fortran": np.asfortranarray(np.arange(6, dtype="<f8").reshape(2, 3)),
    "scalar": np.int64(42),
    "empty": np.zeros((0, 2), dtype="<f2"),
}
np.savez("stored.npz", **arrays)
np.savez_compressed("deflated.npz", ramp=np.arange(200000, dtype="<i4") // 7, **arrays)
np.savez("unnamed.npz", np.ones(2), np.zeros(1))
np.savez("nothing.npz")
