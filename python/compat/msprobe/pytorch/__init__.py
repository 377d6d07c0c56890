"""msprobe.pytorch, served by assay: PrecisionDebugger, seed_all, compare and compare_distributed."""
from typing import Any

from assay.msprobe.debugger import PrecisionDebugger, module_dump, module_dump_end
from assay.msprobe.seeds import seed_all

save = PrecisionDebugger.save
register_custom_api = PrecisionDebugger.register_custom_api
restore_custom_api = PrecisionDebugger.restore_custom_api

_OF_COMPARISON = ("compare", "compare_distributed")
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
    if name.startswith("__"):
        raise AttributeError(name)
    what = f" ({_NOT_OURS[name]})" if name in _NOT_OURS else ""
    raise ImportError(f"msprobe.pytorch: assay does not serve {name}{what}; there are: {', '.join(__all__)}")
