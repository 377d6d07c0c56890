"""Import names of other tools: packages whose modules have no files, and whose names are loaded when they are asked for. Any name
that is not ours to serve raises an ImportError that says which are."""
import importlib
import importlib.abc
import importlib.machinery
import sys
import types
from typing import Dict, Optional, Tuple

# Module of the original (below the package) -> its names -> where they are ("assay.x:name").
Places = Dict[str, Dict[str, str]]


def served_names(package: str, places: Places) -> Tuple[str, ...]:
    """`msit_llm.dump.manual_dump.dump_data` and so on, in order."""
    return tuple(sorted(".".join(part for part in (package, module, name) if part)
                        for module, names in places.items() for name in names))


def _not_served(what: str, package: str, places: Places) -> str:
    return f"{what} is not served by assay; there are: {', '.join(served_names(package, places))}"


def _found(place: str):
    module, _, attribute = place.partition(":")
    return getattr(importlib.import_module(module), attribute)


class _CallableModule(types.ModuleType):
    def __call__(self, *args, **kwargs):
        return _found(self.__place__)(*args, **kwargs)


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Makes the modules below a package that have no files; those with files come first."""

    def __init__(self, package: str, places: Places) -> None:
        self.package, self.places = package, places

    def find_spec(self, name: str, path: object = None, target: object = None) -> Optional[importlib.machinery.ModuleSpec]:
        if not name.startswith(self.package + "."):
            return None
        below = name[len(self.package) + 1:]
        if below not in self.places:
            raise ModuleNotFoundError(_not_served(name, self.package, self.places), name=name)
        is_package = any(other.startswith(below + ".") for other in self.places)
        return importlib.machinery.ModuleSpec(name, self, is_package=is_package)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> None:
        return None

    def exec_module(self, module) -> None:
        parent, _, name = module.__name__[len(self.package) + 1:].rpartition(".")
        if name in self.places.get(parent, ()):
            # A function is called like the module beside it, which takes its place where it is imported.
            module.__class__, module.__dict__["__place__"] = _CallableModule, self.places[parent][name]
        offer(module.__dict__, self.package, module.__name__[len(self.package) + 1:], self.places)


def offer(names: dict, package: str, below: str, places: Places) -> None:
    """Fills a module: its names are loaded when they are asked for."""
    finder = next((each for each in sys.meta_path if isinstance(each, _Finder) and each.package == package), None)
    if finder is None:
        finder = _Finder(package, places)
        sys.meta_path.append(finder)
    whole = f"{package}.{below}" if below else package
    own = places[below]
    modules = {other[len(below) + 1 if below else 0:] for other in places
               if other and other != below and (not below or other.startswith(below + "."))}
    modules = {each for each in modules if "." not in each}

    def load(name: str):
        if name in own:
            value = _found(own[name])
        elif name in modules:
            value = importlib.import_module(f"{whole}.{name}")
        elif name.startswith("__"):
            raise AttributeError(f"module {whole!r} has no attribute {name!r}")
        else:
            raise ImportError(_not_served(f"{whole}.{name}", package, places), name=whole)
        names[name] = value
        return value

    names["__getattr__"] = load
    names["__dir__"] = lambda: sorted([*own, *modules])
    names["__all__"] = sorted(own)
