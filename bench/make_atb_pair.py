#!/usr/bin/python3
"""Write a large pair of dumps for benchmarks: golden from PyTorch in fp32, mine from ATB in fp16, about --gib GiB each.

    bench/make_atb_pair.py --out pair            # 2 GiB + 2 GiB
    bench/make_atb_pair.py --out pair --gib 8 -- --dtype bf16

What follows -- goes to tests/tools/make_atb_dump.py, which does the work. Many short requests rather than one long prompt:
the time of attention grows with the square of the length, and the size does not.
"""
from __future__ import annotations

import argparse
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests" / "tools"))

import make_atb_dump  # noqa: E402  (lies in the folder named above)

PROMPT = 128
MODEL = ["--layers", "2", "--tokens", "1", "--hidden", "512", "--heads", "8", "--kv-heads", "2", "--inner", "1408",
         "--vocab", "1024", "--no-weights", "--prompt", str(PROMPT)]
REQUEST = PROMPT * 160_000  # bytes that a request takes on either side; measured


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, required=True, help="new folder")
    parser.add_argument("--gib", type=float, default=2.0, help="of each side, about")
    args, more = parser.parse_known_args()
    requests = max(1, round(args.gib * (1 << 30) / REQUEST))
    return make_atb_dump.main(["--out", str(args.out), *MODEL, "--requests", str(requests), *(x for x in more if x != "--")])


if __name__ == "__main__":
    sys.exit(main())
