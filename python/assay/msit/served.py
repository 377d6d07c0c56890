"""What the packages msit_llm and ait_llm offer: names of the originals that are ours to serve."""
from typing import Tuple

from assay import _served
from assay._served import Places

_COMMON: Places = {
    "": {"DumpConfig": "assay.msit.dump_config:DumpConfig", "register_hook": "assay.msit.hooks:register_hook",
         "unregister": "assay.msit.hooks:unregister", "seed_all": "assay.msit.seeds:seed_all",
         "atb_json_to_onnx": "assay.msit.topology:atb_json_to_onnx"},
    "common": {},
    "common.json_fitter": {"atb_json_to_onnx": "assay.msit.topology:atb_json_to_onnx"},
    "common.tool": {"seed_all": "assay.msit.seeds:seed_all"},
    "dump": {},
    "dump.manual_dump": {"dump_data": "assay.msit.manual_dump:dump_data"},
    "dump.torch_dump": {"DumpConfig": "assay.msit.dump_config:DumpConfig",
                        "register_hook": "assay.msit.hooks:register_hook",
                        "unregister": "assay.msit.hooks:unregister"},
    "dump.torch_dump.dump_config": {"DumpConfig": "assay.msit.dump_config:DumpConfig"},
    "dump.torch_dump.hook": {"register_hook": "assay.msit.hooks:register_hook"},
}
_TORCHAIR = {
    "msit_llm": {"get_ge_dump_config": "assay.msit.torchair_dump:get_ge_dump_config",
                 "get_fx_dump_config": "assay.msit.torchair_dump:get_fx_dump_config"},
    "ait_llm": {"get_ge_dump_config": "assay.msit.torchair_dump:ait_ge_dump_config",
                "get_fx_dump_config": "assay.msit.torchair_dump:ait_fx_dump_config"},
}


def _places(package: str) -> Places:
    torchair = _TORCHAIR[package]
    return {**_COMMON, "dump.torchair_dump": torchair, "dump.torchair_dump.torchair_dump": torchair}


def served_names(package: str) -> Tuple[str, ...]:
    return _served.served_names(package, _places(package))


def offer(names: dict, package: str, below: str) -> None:
    _served.offer(names, package, below, _places(package))
