"""What the package msprobe offers: names of the original that are ours to serve."""
from assay import _served
from assay._served import Places

_COMPARE = "assay.msprobe_compare:"
_TORCH = {name: _COMPARE + name for name in ("compare", "compare_distributed")}
_DEBUGGER = "assay.msprobe.debugger:"
# What msprobe/pytorch/__init__.py has, so that those who ask for something else are told of it.
_RECORDING = {"PrecisionDebugger": _DEBUGGER + "PrecisionDebugger", "module_dump": _DEBUGGER + "module_dump",
              "module_dump_end": _DEBUGGER + "module_dump_end", "seed_all": "assay.msprobe.seeds:seed_all"}
_MINDSPORE = {name: _COMPARE + name for name in ("ms_compare", "ms_compare_distributed", "ms_graph_compare", "common_dir_compare")}

PLACES: Places = {
    "": {},
    "core": {},
    "core.common": {},
    "core.common.utils": {"CompareException": _COMPARE + "CompareException"},
    "mindspore": dict(_MINDSPORE),
    "mindspore.compare": {},
    "mindspore.compare.ms_compare": {"ms_compare": _COMPARE + "ms_compare"},
    "mindspore.compare.distributed_compare": {name: _COMPARE + name for name in ("ms_compare_distributed", "ms_graph_compare")},
    "mindspore.compare.common_dir_compare": {"common_dir_compare": _COMPARE + "common_dir_compare"},
    "pytorch": {**_TORCH, **_RECORDING},
    "pytorch.compare": {},
    "pytorch.compare.pt_compare": {"compare": _COMPARE + "compare", "pt_compare": _COMPARE + "compare"},
    "pytorch.compare.distributed_compare": {"compare_distributed": _COMPARE + "compare_distributed"},
}


def offer(names: dict, below: str) -> None:
    _served.offer(names, "msprobe", below, PLACES)
