"""The import name of msit's helper for dumps of TorchAir, served by assay: docs/python.md of assay."""
from assay.msit.acc_cmp import parse_torchair_dump_data

__all__ = ["parse_torchair_dump_data"]
