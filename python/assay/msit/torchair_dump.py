"""get_ge_dump_config, get_fx_dump_config: TorchAir's own dumps, switched on in its CompilerConfig. The files are written by TorchAir
and the graph engine; `assay compare` reads them."""
import os
import re
import time
from typing import Any, Iterable, Optional

from assay.errors import AssayError
from assay.msit.log import logger

GE_FOLDER, FX_FOLDER = "msit_ge_dump", "msit_fx_dump"
_ODD_CHARACTER = re.compile(r"[^_A-Za-z0-9/.-]")


class FileCheckException(AssayError):
    """A path that cannot be used."""


class _SwitchFileNotFound(FileCheckException, FileNotFoundError):
    """msit raises the one in some versions, the other in others."""


def get_ge_dump_config(dump_path: str = "", dump_mode: str = "all", fusion_switch_file: Optional[str] = None,
                       dump_token: Optional[Iterable[int]] = None, dump_layer: Optional[Iterable[str]] = None,
                       compiler_config: Any = None) -> Any:
    """A CompilerConfig (the given one, or a new one) whose graphs are dumped by the graph engine.

    `dump_mode`: "input", "output" or "all". `dump_token`: which tokens, such as [1, 2, 5]. `dump_layer`: which operators,
    such as ["Add", "Conv_1"]. `fusion_switch_file`: JSON that switches fusions off. The dump is `{dump_path}/msit_ge_dump`.
    """
    new_config = _compiler_config_class()
    folder = _folder_for(dump_path, GE_FOLDER, "GE")
    config = _given_or_new(compiler_config, new_config)
    fusion_switch = None if fusion_switch_file is None else _existing_file(fusion_switch_file)
    return _set_ge(config, folder, dump_mode, fusion_switch, dump_token, dump_layer)


def get_fx_dump_config(dump_path: str = "", compiler_config: Any = None) -> Any:
    """A CompilerConfig (the given one, or a new one) whose graphs run eagerly, operator by operator, and are dumped as FX
    has them, into `{dump_path}/msit_fx_dump` (an older TorchAir: `data_dump` in the working folder)."""
    new_config = _compiler_config_class()
    folder = _folder_for(dump_path, FX_FOLDER, "FX")
    return _set_fx(_given_or_new(compiler_config, new_config), folder)


def ait_ge_dump_config(dump_path: str = "ait_ge_dump", dump_mode: str = "all",
                       fusion_switch_file: Optional[str] = None) -> Any:
    """ait's get_ge_dump_config: the dump is `{dump_path}/dump_{time}`."""
    new_config = _compiler_config_class()
    folder = os.path.realpath(os.path.join(dump_path, time.strftime("dump_%Y%m%d_%H%M%S")))
    os.makedirs(folder, mode=0o750, exist_ok=True)
    if fusion_switch_file is not None and not os.path.exists(fusion_switch_file):
        raise FileNotFoundError(f"fusion_switch_file: {fusion_switch_file} not found")
    return _set_ge(new_config(), folder, dump_mode, fusion_switch_file, None, None)


def ait_fx_dump_config() -> Any:
    """ait's get_fx_dump_config: TorchAir chooses the folder, `gm_{time}_dump` or `data_dump` in the working folder."""
    config = _compiler_config_class()()
    config.debug.data_dump.type = "npy"
    return config


def _compiler_config_class() -> Any:
    try:
        import torch  # noqa: F401
        import torch_npu  # noqa: F401
        import torchair  # noqa: F401
        from torchair.configs.compiler_config import CompilerConfig
    except ModuleNotFoundError as trouble:
        logger.error("torch or torch_npu with torchair not found. Try installing the latest torch_npu.")
        raise ModuleNotFoundError(
            f"TorchAir's dumps are written by TorchAir, and {trouble.name or trouble} cannot be imported; install torch_npu "
            f"with torchair, where there is an NPU", name=trouble.name) from trouble
    return CompilerConfig


def _given_or_new(compiler_config: Any, new_config: Any) -> Any:
    if compiler_config is None:
        return new_config()
    if not isinstance(compiler_config, new_config):
        raise TypeError(f"compiler_config must be a CompilerConfig, but got {type(compiler_config)}")
    return compiler_config


def _folder_for(dump_path: Any, name: str, kind: str) -> str:
    if not isinstance(dump_path, str):
        raise TypeError(f"dump_path should be a string, but got a {type(dump_path)}")
    if _ODD_CHARACTER.search(dump_path):
        raise FileCheckException(f"dump_path {dump_path!r} contains special characters; letters, digits and _ . / - are "
                                 f"allowed")
    folder = os.path.realpath(os.path.join(dump_path, name))
    try:
        os.makedirs(folder, mode=0o750, exist_ok=True)
    except OSError as trouble:
        raise FileCheckException(f"{folder}: cannot be made: {trouble.strerror}") from trouble
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        raise FileCheckException(f"{folder}: cannot be read and written")
    if os.listdir(folder):
        logger.warning("The specified directory for %s-Dump data is not empty, which may result in data mixing.", kind)
    return folder


def _existing_file(path: str) -> str:
    if not os.path.isfile(path):
        raise _SwitchFileNotFound(f"fusion_switch_file: {path} not found")
    return os.path.realpath(path)


def _set_ge(config: Any, folder: str, dump_mode: str, fusion_switch_file: Optional[str],
            dump_token: Optional[Iterable[int]], dump_layer: Optional[Iterable[str]]) -> Any:
    graph_dump = config.debug.graph_dump
    graph_dump.type = "txt"
    setattr(graph_dump, "_path" if hasattr(graph_dump, "_path") else "path", folder)  # newer and older TorchAir
    if fusion_switch_file is not None:
        config.fusion_config.fusion_switch_file = fusion_switch_file
    config.dump_config.enable_dump = True
    config.dump_config.dump_mode = dump_mode
    config.dump_config.dump_path = folder
    if dump_token is not None:
        config.dump_config.dump_step = "|".join(str(token) for token in _each(dump_token))
    if dump_layer is not None:
        config.dump_config.dump_layer = " ".join(_each(dump_layer))
    return config


def _set_fx(config: Any, folder: str) -> Any:
    data_dump = config.debug.data_dump
    data_dump.type = "npy"
    if hasattr(data_dump, "path"):
        data_dump.path = folder
    return config


def _each(values: Any) -> Iterable:
    """One value is a list of one: the original takes the letters of "Add" for three layers."""
    return [values] if isinstance(values, (str, int)) else values
