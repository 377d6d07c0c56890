"""msprobe.pytorch, served by assay: PrecisionDebugger, seed_all, compare and compare_distributed."""
from typing import Any

# Loaded when they are asked for: comparing needs no PyTorch.
_OF_COMPARISON = ("compare", "compare_distributed")
_OF_DEBUGGER = ("save", "register_custom_api", "restore_custom_api")
_NOT_OURS = {
    "TrainerMon": "the monitor of trainings", "AclGraphDumper": "graphs of an NPU", "acl_save": "graphs of an NPU",
    "set_ge_dump_config": "use msit_llm.dump.torchair_dump.get_ge_dump_config",
    "set_fx_dump_config": "use msit_llm.dump.torchair_dump.get_fx_dump_config",
    "random_save": "the report of random calls", "PrecisionDebuggerMon": "the monitor of trainings"}

__all__ = ["PrecisionDebugger", "compare", "compare_distributed", "module_dump", "module_dump_end", "register_custom_api",
           "restore_custom_api", "save", "seed_all"]


def __getattr__(name: str) -> Any:
    if name in _OF_COMPARISON:
        from assay import msprobe_compare

        return getattr(msprobe_compare, name)
    if name in __all__:
        globals()[name] = value = _recording(name)
        return value
    if name.startswith("__"):
        raise AttributeError(name)
    what = f" ({_NOT_OURS[name]})" if name in _NOT_OURS else ""
    raise ImportError(f"msprobe.pytorch: assay does not serve {name}{what}; there are: {', '.join(__all__)}")


def _recording(name: str) -> Any:
    try:
        from assay.msprobe import debugger, seeds
    except ModuleNotFoundError as trouble:
        if trouble.name != "torch":
            raise
        raise ImportError(f"msprobe.pytorch.{name} needs PyTorch, which is not installed; {' and '.join(_OF_COMPARISON)} do "
                          "without") from None
    if name in _OF_DEBUGGER:
        return getattr(debugger.PrecisionDebugger, name)
    return seeds.seed_all if name == "seed_all" else getattr(debugger, name)
