"""First in PYTHONPATH of what `assay capture` starts: every Python below it comes by here before its script. The recorder is put on
when the program has imported torch, and not before; a sitecustomize that the machine has of its own runs too."""
import importlib.machinery
import importlib.util
import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))


class _WhenImported:
    """Finds nothing itself; of `torch` the loader is told to put the recorder on behind it."""

    def find_spec(self, name, path=None, target=None):
        if name != "torch":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None:
            return spec
        loader, execute = spec.loader, spec.loader.exec_module

        def exec_module(module):
            try:
                del loader.exec_module
            except AttributeError:
                pass
            execute(module)
            _start()

        try:
            loader.exec_module = exec_module
        except AttributeError:  # not to be changed
            pass
        return spec


def _start():
    """Recording must not stop what is recorded."""
    try:
        if "assay" not in sys.modules:
            package = os.path.dirname(_HERE)
            spec = importlib.util.spec_from_file_location("assay", os.path.join(package, "__init__.py"),
                                                          submodule_search_locations=[package])
            module = importlib.util.module_from_spec(spec)
            sys.modules["assay"] = module
            spec.loader.exec_module(module)
        from assay.torch import captured_program

        captured_program.start()
    except Exception as trouble:
        sys.stderr.write("assay: nothing is recorded: %s: %s\n" % (type(trouble).__name__, trouble))


def _run_the_next():
    others = [path for path in sys.path if os.path.abspath(path or ".") != _HERE]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", others)
    if spec is None or spec.loader is None:
        return
    module = importlib.util.module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


if os.environ.get("ASSAY_CAPTURE"):
    sys.meta_path.insert(0, _WhenImported())
_others = [path for path in sys.path if os.path.abspath(path or ".") != _HERE]
sys.path[:] = _others
_run_the_next()
