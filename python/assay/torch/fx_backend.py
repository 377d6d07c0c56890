"""A backend of torch.compile that compiles nothing: it runs the graph of FX node by node, as TorchAir does when it dumps, and
writes what each node is given and gives. On any device of PyTorch."""
import fnmatch
import os
from typing import Any, Callable, Iterable, List, Optional, Union

import torch

from assay.errors import AssayError
from assay.torch.fx_files import FxFiles

_OLDEST = 2
_DEFAULT_PATH = "assay_fx_dump"


def fx_dump(path: Union[str, "os.PathLike[str]"] = _DEFAULT_PATH, *, tokens: Optional[Iterable[int]] = None,
            nodes: Union[str, Iterable[str], None] = None) -> Callable:
    """A backend for torch.compile that dumps each node of the graph as TorchAir does on an NPU.

    `tokens`: which executions of each graph, from 0; all without it. `nodes`: patterns such as "mm*" or "*softmax*" of names of
    nodes, or of operators ("aten.mm.default"). The files are there when the compiled function returns.

        compiled = torch.compile(model, backend=assay.torch.fx_dump("golden"))
        compiled(x)
        assay compare msit_ge_dump golden
    """
    if int(torch.__version__.split(".")[0]) < _OLDEST:
        raise AssayError(f"fx_dump is a backend of torch.compile, which PyTorch {torch.__version__} lacks; PyTorch {_OLDEST} has it")
    chosen = None if tokens is None else _numbers(tokens)
    patterns = [nodes] if isinstance(nodes, str) else list(nodes) if nodes is not None else ["*"]
    files = FxFiles.below(os.fspath(path))

    def compile_graph(gm: torch.fx.GraphModule, example_inputs: List[Any]) -> Callable:
        from functorch.compile import make_boxed_func

        return make_boxed_func(_Dumping(gm, files, chosen, patterns))

    def assay_fx_dump(gm: torch.fx.GraphModule, example_inputs: List[Any], **_: Any) -> Callable:
        from torch._dynamo.backends.common import aot_autograd

        # No decomposition, like TorchAir: the nodes have the names by which its graphs refer to them.
        compile_all = aot_autograd(fw_compiler=compile_graph, decompositions={}, keep_inference_input_mutations=True)
        return compile_all(gm, example_inputs)

    return assay_fx_dump


def named_backend(gm: torch.fx.GraphModule, example_inputs: List[Any], *, options: Optional[dict] = None, **_: Any) -> Callable:
    """backend="assay_fx_dump", with the parameters of fx_dump as options={"path": …}."""
    known = {"path", "tokens", "nodes"}
    unknown = sorted(set(options or {}) - known)
    if unknown:
        raise AssayError(f"assay_fx_dump has no option {', '.join(map(repr, unknown))}; there are: {', '.join(sorted(known))}")
    return fx_dump(**(options or {}))(gm, example_inputs)


def _numbers(tokens: Iterable[int]) -> frozenset:
    numbers = frozenset([tokens] if isinstance(tokens, int) else tokens)
    if not all(isinstance(each, int) and each >= 0 for each in numbers):
        raise AssayError(f"tokens: {sorted(numbers, key=str)} are not whole numbers from 0")
    return numbers


class _Dumping(torch.fx.Interpreter):
    """Runs one graph; each run is a token."""

    def __init__(self, gm: torch.fx.GraphModule, files: FxFiles, tokens: Optional[frozenset], patterns: List[str]) -> None:
        super().__init__(gm)
        self._files, self._tokens, self._patterns = files, tokens, patterns
        self._graph_name = files.new_graph()
        self._token = 0
        self._folder: Optional[str] = None  # where this run is written
        self._node: Optional[torch.fx.Node] = None

    def __call__(self, *args: Any) -> Any:
        is_wanted = self._tokens is None or self._token in self._tokens
        self._folder = self._files.token_folder(self._graph_name, self._token) if is_wanted else None
        self._token += 1
        try:
            return self.run(*args)
        finally:
            if is_wanted:
                self._files.flush()

    def run_node(self, n: torch.fx.Node) -> Any:
        self._node = n
        return super().run_node(n)

    def call_function(self, target: Any, args: tuple, kwargs: dict) -> Any:
        if self._folder is None or not self._is_wanted(target):
            return super().call_function(target, args, kwargs)
        assert self._node is not None
        stem, time = f"{self._node.name}-{target}", self._files.time()
        for i, each in enumerate(args):
            if isinstance(each, (list, tuple)) and each and isinstance(each[0], torch.Tensor):
                for j, part in enumerate(each):
                    self._files.save(self._folder, f"{stem}.INPUT.{i}.{j}.{time}.npy", part)
            else:
                self._files.save(self._folder, f"{stem}.INPUT.{i}.{time}.npy", each)
        result = super().call_function(target, args, kwargs)
        for i, each in enumerate(result if isinstance(result, (list, tuple)) else [result]):
            self._files.save(self._folder, f"{stem}.OUTPUT.{i}.{time}.npy", each)
        return result

    def _is_wanted(self, target: Any) -> bool:
        if not isinstance(target, torch._ops.OpOverload):
            if isinstance(target, torch._ops.HigherOrderOperator):
                self._files.tell(f"{target}: what runs inside of it was not seen", target)
            return False
        names = (self._node.name if self._node is not None else "", str(target))
        return any(fnmatch.fnmatchcase(name, pattern) for name in names for pattern in self._patterns)
