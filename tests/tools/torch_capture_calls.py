"""Checks of check_torch_capture.py: what calls of the package accept, refuse and set, and that its examples and pages are true."""
from __future__ import annotations

import ast
import contextlib
import doctest
import importlib
import io
import json
import os
import pathlib
import pkgutil
import re
import shutil
import subprocess
import sys
import time
import types

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = ("docs/python.md", "docs/scenarios/torch_capture.md", "docs/zh/python.md", "docs/zh/scenarios/torch_capture.md")
LONGEST_IMPORT = 0.05  # seconds
OLDEST_PYTHON = (3, 8)


def python(text: str, folder: pathlib.Path, **environment: str) -> subprocess.CompletedProcess:
    """Runs a text in a Python of its own, with the package on its path."""
    path = os.pathsep.join(str(ROOT / below) for below in ("python", "python/compat"))
    return subprocess.run([sys.executable, "-B", "-c", text], cwd=folder, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, env={**os.environ, "PYTHONPATH": path, **environment}, timeout=300)


def refused(call, kind: type, *words: str) -> list[str]:
    """What is wrong with how a call is refused."""
    said = io.StringIO()
    with contextlib.redirect_stderr(said):
        try:
            call()
        except kind as trouble:
            text = f"{trouble} {said.getvalue()}"
            return [f"{text!r} lacks {word!r}" for word in words if word not in text]
        except BaseException as trouble:
            return [f"{type(trouble).__name__} instead of {kind.__name__}: {trouble}"]
    return [f"nothing was refused; {kind.__name__} with {words} was expected"]


def logged(call) -> str:
    """What the logger of the originals says meanwhile."""
    from assay.msit.log import logger

    text = io.StringIO()
    stream, logger.handlers[0].stream = logger.handlers[0].stream, text
    try:
        call()
    finally:
        logger.handlers[0].stream = stream
    return text.getvalue()


def check_parameters(c) -> list[str]:
    from msit_llm import DumpConfig, register_hook, unregister
    import torch

    unregister()
    failures = []
    wrong = {"token_range": (3,), "module_list": (1,), "tensor_part": 3, "device_id": "0", "dump_statistics_mode": 4,
             "api_list": "matmul", "mode": "modul", "layer_name": 5, "dump_path": "/dev/null/here"}
    for name, value in wrong.items():
        said = []
        said.append(logged(lambda: failures.extend(
            f"{name}={value!r}: {each}" for each in refused(lambda: DumpConfig(**{name: value}), ValueError,
                                                             "Invalid args of DumpConfig."))))
        if name not in said[0]:
            failures.append(f"{name}={value!r}: the log does not name it: {said[0]}")
    config = DumpConfig("here", [0, 4], False, [torch.nn.Linear], [torch.matmul], 1, 0, 2, False, ["module"], True,
                        "root.*.proj", None)
    if DumpConfig(token_range=[9]) is not config or config.token_range != [0, 4]:
        failures.append("the first configuration does not count")
    if not config.wants("root.a.proj") or config.wants("root.a.projx") or config.wants("rootXa.proj"):
        failures.append("layer_name is not a whole name with * in it")
    if not (config.wants_device("cpu") and config.wants_device("npu0")) or config.wants_device("npu10"):
        failures.append("device_id chooses other devices")
    for call, word in ((lambda: register_hook("model", config), "model must be instance of torch.nn.Module."),
                       (lambda: register_hook(torch.nn.Linear(1, 1), {}), "config must be instance of DumpConfig."),
                       (lambda: register_hook(torch.nn.Linear(1, 1), config, "profile"), "hook_type")):
        if word not in logged(call):
            failures.append(f"no log says {word!r}")
    unregister()
    folder = c.folder("twice")
    model = torch.nn.Sequential(torch.nn.Linear(2, 2))
    register_hook(model, DumpConfig(dump_path=str(folder)))
    if "has been register in model." not in logged(lambda: register_hook(model, DumpConfig())):
        failures.append("a second registration is not warned of")
    unregister()
    unregister()
    return failures


def check_names_that_are_served(c) -> list[str]:
    failures = []
    for package in ("msit_llm", "ait_llm"):
        for text, word in ((f"from {package} import CaseFilter", "DumpConfig"), (f"import {package}.compare", "torchair_dump"),
                           (f"from {package}.dump import nothing", "seed_all")):
            done = python(text, c.folder("import"))
            last = done.stdout.strip().split("\n")[-1]
            if done.returncode == 0 or "Error" not in last or "is not served by assay; there are:" not in last or word not in last:
                failures.append(f"{text}: {last}")
        done = python(f"from {package} import DumpConfig, register_hook, seed_all, atb_json_to_onnx\n"
                      f"from {package}.dump import torchair_dump\nfrom {package}.dump.manual_dump import dump_data\n"
                      f"from {package}.common.json_fitter import atb_json_to_onnx as other\n"
                      f"assert other is atb_json_to_onnx and callable(torchair_dump.get_fx_dump_config)", c.folder("import"))
        if done.returncode:
            failures.append(f"{package}: {done.stdout}")
    done = python("import torch\nfrom ait_llm import DumpConfig, register_hook\nm = torch.nn.Linear(2, 2)\n"
                  "register_hook(m, DumpConfig(dump_path='here'))\nm(torch.ones(1, 2))", folder := c.folder("ait"))
    if done.returncode or not list(folder.glob("here/ait_dump/torch_tensors/cpu_*/0/root/output.pth")):
        failures.append(f"ait's folder: {done.stdout} {[str(each) for each in folder.rglob('*')]}")
    return failures


def torchair_stand_in(has_private_path: bool = True, has_data_path: bool = True) -> dict[str, types.ModuleType]:
    """The attributes that TorchAir's configuration has, and no more."""
    def options(**values):
        return types.SimpleNamespace(**values)

    class CompilerConfig:
        def __init__(self):
            graph_dump = options(type=None, **({"_path": None} if has_private_path else {"path": None}))
            data_dump = options(type=None, **({"path": None} if has_data_path else {}))
            self.debug = options(graph_dump=graph_dump, data_dump=data_dump)
            self.fusion_config = options(fusion_switch_file=None)
            self.dump_config = options(enable_dump=False, dump_mode=None, dump_path=None, dump_step=None, dump_layer=None)

    modules = {name: types.ModuleType(name) for name in
               ("torch_npu", "torchair", "torchair.configs", "torchair.configs.compiler_config")}
    modules["torchair.configs.compiler_config"].CompilerConfig = CompilerConfig
    return modules


def check_torchair(c) -> list[str]:
    from assay.msit import torchair_dump as t

    folder = c.folder("torchair")
    failures = refused(lambda: t.get_ge_dump_config(str(folder)), ModuleNotFoundError, "torch_npu", "install")
    for new, modules in ((True, torchair_stand_in()), (False, torchair_stand_in(False, False))):
        sys.modules.update(modules)
        try:
            ge, fx = folder / f"new{new}" / "msit_ge_dump", folder / f"new{new}" / "msit_fx_dump"
            given = modules["torchair.configs.compiler_config"].CompilerConfig()
            switch = folder / "switch.json"
            switch.write_text("{}")
            config = t.get_ge_dump_config(str(ge.parent), "output", str(switch), [1, 2, 5], ["Add", "Conv_1"], given)
            graph_dump = config.debug.graph_dump
            found = (config is given, graph_dump.type, getattr(graph_dump, "_path" if new else "path"),
                     config.fusion_config.fusion_switch_file, vars(config.dump_config))
            wanted = (True, "txt", str(ge), str(switch),
                      {"enable_dump": True, "dump_mode": "output", "dump_path": str(ge), "dump_step": "1|2|5",
                       "dump_layer": "Add Conv_1"})
            failures += [] if found == wanted and ge.is_dir() else [f"GE: {found}"]
            one = t.get_ge_dump_config(str(ge.parent), dump_layer="Add", dump_token="12").dump_config
            failures += [] if (one.dump_layer, one.dump_step) == ("Add", "12") else [f"one value: {vars(one)}"]
            data_dump = t.get_fx_dump_config(str(fx.parent)).debug.data_dump
            failures += [] if vars(data_dump) == ({"type": "npy", "path": str(fx)} if new else {"type": "npy"}) else [str(data_dump)]
            (ge / "x").write_text("")
            if "GE-Dump data is not empty" not in logged(lambda: t.get_ge_dump_config(str(ge.parent))):
                failures.append("a folder that is not empty is not warned of")
            failures += refused(lambda: t.get_ge_dump_config(5), TypeError, "dump_path should be a string, but got a <class 'int'>")
            failures += refused(lambda: t.get_ge_dump_config("a b"), t.FileCheckException, "contains special characters")
            failures += refused(lambda: t.get_ge_dump_config(str(folder), fusion_switch_file="nope"), t.FileCheckException, "nope")
            failures += refused(lambda: t.get_fx_dump_config(str(folder), compiler_config={}), TypeError,
                                "compiler_config must be a CompilerConfig, but got <class 'dict'>")
            ait = t.ait_ge_dump_config(str(folder / "ait"))
            if not re.fullmatch(re.escape(str(folder / "ait")) + r"/dump_\d{8}_\d{6}", ait.dump_config.dump_path):
                failures.append(f"ait: {ait.dump_config.dump_path}")
            failures += refused(lambda: t.ait_ge_dump_config(str(folder), fusion_switch_file="no"), FileNotFoundError, "no not found")
        finally:
            for name in modules:
                del sys.modules[name]
    return failures


RANK = """
import os, torch, torch.distributed
from msit_llm import DumpConfig, register_hook
if os.environ.get("MASTER_PORT"):
    torch.distributed.init_process_group("gloo")
torch.set_num_threads(1)
model = torch.nn.Linear(2, 2)
register_hook(model, DumpConfig(dump_path="here"))
model(torch.ones(1, 2))
"""


def check_ranks(c) -> list[str]:
    """The ranks of one launch share a folder, with a process group and without."""
    failures = []
    for rendezvous in ({}, {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(20000 + os.getpid() % 20000)}):
        folder = c.folder("ranks")
        path = os.pathsep.join(str(ROOT / below) for below in ("python", "python/compat"))
        ranks = []
        for rank in ("0", "1"):
            if ranks:
                time.sleep(1.1)  # another second
            environment = {**os.environ, "PYTHONPATH": path, "LOCAL_WORLD_SIZE": "2", "WORLD_SIZE": "2", "LOCAL_RANK": rank,
                           "RANK": rank, **rendezvous}
            ranks.append(subprocess.Popen([sys.executable, "-B", "-c", RANK], cwd=folder, env=environment, text=True,
                                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT))
        texts = [each.communicate(timeout=120)[0] for each in ranks]
        dumps = [path.name for path in (folder / "here").iterdir()] if (folder / "here").exists() else []
        files = len(list(folder.glob("here/*/torch_tensors/*/0/root/output.pth")))
        if any(each.returncode for each in ranks) or len(dumps) != 1 or files != 2:
            failures.append(f"{rendezvous}: {dumps}, {files} files, {texts}")
    return failures


def check_other_calls(c) -> list[str]:
    import torch
    from assay.msit.manual_dump import dump_data
    from assay.msit.topology import atb_json_to_onnx
    from assay.errors import AssayError
    from msit_llm import seed_all

    failures, folder = [], c.folder("calls")
    try:
        seed_all(3)
        first = torch.rand(2)
        seed_all(3)
        if not torch.equal(first, torch.rand(2)) or os.environ["HCCL_DETERMINISTIC"] != "true":
            failures.append("seed_all does not seed")
    finally:
        torch.use_deterministic_algorithms(False)
    mine = folder / "mine.bin"
    mine.write_bytes(b"")
    for token in (0, 1):
        dump_data(token_id=token, data_id=7, golden_data=first + token, my_path=str(mine), output_path=str(folder))
    (metadata,) = folder.glob("msit_dump_*/*/golden_tensor/metadata.json")
    known = json.loads(metadata.read_text())
    if [paths[1] for paths in known["7"].values()] != [str(mine)] * 2 or list(known["7"]) != ["0", "1"]:
        failures.append(f"metadata: {known}")
    elif not torch.equal(torch.load(known["7"]["1"][0]), first + 1):
        failures.append("dump_data wrote something else")
    failures += refused(lambda: dump_data(0, 1, first, my_path="nowhere"), FileNotFoundError, "nowhere")

    topology = folder / "topology"
    shutil.copytree(ROOT / "tests" / "data" / "topology" / "dump", topology)
    source = next(path for path in sorted(topology.rglob("*.json")))
    for level in (-1, 1):
        atb_json_to_onnx(str(source), level)
    if source.with_suffix(".onnx").stat().st_size == 0:
        failures.append("no graph was drawn")
    failures += refused(lambda: atb_json_to_onnx(str(folder / "none.json")), AssayError, "none.json")
    return failures


def check_package(c) -> list[str]:
    import assay

    failures, folder = [], c.folder("package")
    for path in sorted((ROOT / "python").rglob("*.py")):
        try:
            ast.parse(path.read_text(), feature_version=OLDEST_PYTHON)
        except SyntaxError as trouble:
            failures.append(f"{path}: {trouble}")
    said = subprocess.run([c.program, "--version"], stdout=subprocess.PIPE, text=True).stdout
    if f" {assay.__version__}" not in f" {said}".replace("\n", " "):
        failures.append(f"the program is {said.strip()!r}, the package {assay.__version__}")
    timed = ("import time, sys; start = time.perf_counter(); import assay; took = time.perf_counter() - start\n"
             "print(took, sorted({'numpy', 'torch', 'ctypes', 'asyncio'} & set(sys.modules)))")
    tries = [python(timed, folder).stdout.split(" ", 1) for _ in range(5)]
    if min(float(took) for took, _ in tries) > LONGEST_IMPORT or tries[0][1].strip() != "[]":
        failures.append(f"import assay: {tries}")
    empty = c.folder("empty")
    done = python("import assay; assay.Writer('x')", folder, ASSAY_LIBRARY=str(empty))
    if "LibraryNotFound" not in done.stdout or str(empty) not in done.stdout or "ASSAY_LIBRARY" not in done.stdout:
        failures.append(f"no library: {done.stdout}")
    done = python("import assay._version as v; v.__version__ = '9.9.9'; import assay; assay.Writer('x')", folder)
    if "9.9.9" not in done.stdout or "install both from one wheel" not in done.stdout:
        failures.append(f"another version: {done.stdout}")
    with assay.Writer(folder) as writer:
        failures += refused(lambda: writer.tensor("../x.npy", 1, "f32", [1]), assay.AssayError, "leads out of the folder")
        failures += refused(lambda: writer.tensor("x.npy", 1, "no such", [1]), assay.AssayError, "element type")
    failures += refused(lambda: writer.flush(), assay.AssayError, "is closed")
    failures += refused(lambda: assay.nothing, AttributeError, "there are: AssayError")
    return failures


def check_examples(c) -> list[str]:
    """The examples in docstrings."""
    import assay

    failures, count = [], 0
    for name in ["assay", *(found.name for found in pkgutil.walk_packages(assay.__path__, "assay."))]:
        module = importlib.import_module(name)
        for test in doctest.DocTestFinder(exclude_empty=True).find(module, globs=dict(vars(module))):
            said = io.StringIO()
            result = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=said.write)
            count += result.attempted
            if result.failed:
                failures.append(f"{test.name}: {said.getvalue()}")
    return failures or ([] if count > 10 else [f"only {count} lines of examples were found"])


def check_pages(c) -> list[str]:
    """The Python in a page runs from top to bottom in one folder; both languages show the same."""
    failures, code = [], {}
    for page in PAGES:
        path = ROOT / page
        blocks = re.findall(r"^```python\n(.*?)^```", path.read_text(), re.MULTILINE | re.DOTALL) if path.exists() else []
        if not blocks:
            failures.append(f"{page}: has no Python")
            continue
        code[page] = [re.sub(r"\s*#.*", "", block) for block in blocks]
        done = python("\n".join(blocks), c.folder("page"), PATH=f"{c.program.parent}{os.pathsep}{os.environ['PATH']}",
                      OMP_NUM_THREADS="1")
        if done.returncode:
            failures.append(f"{page}: {done.stdout[-2000:]}")
    for page in PAGES[:2]:
        if code.get(page) != code.get(page.replace("docs/", "docs/zh/")):
            failures.append(f"{page}: the Chinese page shows other code")
    return failures


CALL_CHECKS = {"parameters": check_parameters, "names that are served": check_names_that_are_served, "torchair": check_torchair,
               "ranks": check_ranks, "other calls": check_other_calls, "package": check_package, "examples": check_examples, "pages": check_pages}
