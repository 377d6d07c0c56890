"""Writes the .npy files of this folder; run with NumPy 1.24."""
import io
import os

import numpy as np

os.chdir(os.path.dirname(os.path.abspath(__file__)))
values = [0, 1, 2, 3, 4, 100]

for descr in ("f8 f4 f2 i8 i4 i2 i1 u8 u4 u2 u1 b1 c8 c16").split():
    np.save(f"{descr}.npy", np.array(values).astype("<" + descr).reshape(2, 3))
np.save("complex_parts.npy", np.array([1 + 2j, -3 + 0.5j], dtype="<c8"))
np.save("big_f4.npy", np.array(values, dtype=">f4").reshape(2, 3))
np.save("big_c16.npy", np.array([1 + 2j, -3 + 0.5j], dtype=">c16"))
np.save("fortran.npy", np.asfortranarray(np.arange(24, dtype="<f4").reshape(2, 3, 4)))
np.save("fortran_big_i2.npy", np.asfortranarray(np.arange(6, dtype=">i2").reshape(2, 3)))
np.save("scalar.npy", np.float32(7.5))
np.save("empty.npy", np.zeros((0, 3), dtype="<i8"))
np.save("five_dims.npy", np.arange(16, dtype="|u1").reshape(2, 1, 2, 2, 2))
for version in ((2, 0), (3, 0)):
    with open(f"version{version[0]}.npy", "wb") as out:
        np.lib.format.write_array(out, np.array(values, dtype="<f4").reshape(2, 3), version=version)

# Refused, each with its reason.
np.save("structured.npy", np.zeros(2, dtype=[("a", "<f4"), ("b", "<i4")]))
np.save("text.npy", np.array(["a", "bc"]))
np.save("object.npy", np.array([None, 1], dtype=object), allow_pickle=True)
np.save("date.npy", np.array(["2024-01-01"], dtype="M8[D]"))
np.save("void2.npy", np.zeros((2, 3), dtype="V2"))  # what ml_dtypes bfloat16 looks like to NumPy
np.save("longdouble.npy", np.zeros(2, dtype=np.longdouble))
