"""What the packages msit_llm and ait_llm offer: names of the originals that are ours to serve, and an ImportError that lists
them for any other."""
import importlib
import importlib.abc
import importlib.machinery
import sys
from typing import Dict, Optional, Tuple

# Module of the original (below the package) -> its names -> where they are.
_Places = Dict[str, Dict[str, str]]

_COMMON: _Places = {
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


def _places(package: str) -> _Places:
    torchair = _TORCHAIR[package]
    return {**_COMMON, "dump.torchair_dump": torchair, "dump.torchair_dump.torchair_dump": torchair}


def served_names(package: str) -> Tuple[str, ...]:
    """`msit_llm.dump.manual_dump.dump_data` and so on, in order."""
    return tuple(sorted(".".join(part for part in (package, module, name) if part)
                        for module, names in _places(package).items() for name in names))


def _not_served(what: str, package: str) -> str:
    return f"{what} is not served by assay; there are: {', '.join(served_names(package))}"


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Makes the modules below a package; they have no files."""

    def __init__(self, package: str) -> None:
        self.package, self.places = package, _places(package)

    def find_spec(self, name: str, path: object = None, target: object = None) -> Optional[importlib.machinery.ModuleSpec]:
        if not name.startswith(self.package + "."):
            return None
        below = name[len(self.package) + 1:]
        if below not in self.places:
            raise ModuleNotFoundError(_not_served(name, self.package), name=name)
        is_package = any(other.startswith(below + ".") for other in self.places)
        return importlib.machinery.ModuleSpec(name, self, is_package=is_package)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> None:
        return None

    def exec_module(self, module) -> None:
        offer(module.__dict__, self.package, module.__name__[len(self.package) + 1:])


def offer(names: dict, package: str, below: str) -> None:
    """Fills a module: its names are loaded when they are asked for."""
    finder = next((each for each in sys.meta_path if isinstance(each, _Finder) and each.package == package), None)
    if finder is None:
        finder = _Finder(package)
        sys.meta_path.append(finder)
    whole = f"{package}.{below}" if below else package
    places = finder.places[below]
    modules = {other[len(below) + 1 if below else 0:] for other in finder.places
               if other and other != below and (not below or other.startswith(below + "."))}
    modules = {each for each in modules if "." not in each}

    def load(name: str):
        if name in places:
            module, _, attribute = places[name].partition(":")
            value = getattr(importlib.import_module(module), attribute)
        elif name in modules:
            value = importlib.import_module(f"{whole}.{name}")
        elif name.startswith("__"):
            raise AttributeError(f"module {whole!r} has no attribute {name!r}")
        else:
            raise ImportError(_not_served(f"{whole}.{name}", package), name=whole)
        names[name] = value
        return value

    names["__getattr__"] = load
    names["__dir__"] = lambda: sorted([*places, *modules])
    names["__all__"] = sorted(places)
