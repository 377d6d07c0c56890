"""DumpConfig: what the hooks record. Names, defaults and checks of the original."""
import os
import re
from typing import Any, Callable, List, Optional, Sequence, Union

from assay.msit.log import logger


class DumpConfig:
    """One for a process: the first construction counts, later ones give it back whatever they ask for.

    >>> from assay.msit.hooks import unregister
    >>> config = DumpConfig(dump_path=".", token_range=[0, 2], layer_name="root.layers.0.*")
    >>> config.wants("root.layers.0.attn"), config.wants("root.layers.10")
    (True, False)
    >>> DumpConfig(token_range=[7]) is config
    True
    >>> unregister()
    """

    _the_one: Optional["DumpConfig"] = None

    def __new__(cls, *args: Any, **kwargs: Any) -> "DumpConfig":
        if cls._the_one is None:
            made = super().__new__(cls)
            made._set(*args, **kwargs)  # refuses what is wrong: then there is none
            cls._the_one = made
        return cls._the_one

    def __init__(self, dump_path: Optional[str] = None, token_range: Optional[List[int]] = None, analyze: bool = False,
                 module_list: Optional[List[type]] = None, api_list: Optional[List[Callable]] = None,
                 tensor_part: int = 2, device_id: Optional[int] = None, dump_statistics_mode: int = 0,
                 dump_last_logits: bool = False, mode: Union[str, Sequence[str], None] = None,
                 dump_weight: bool = False, layer_name: Optional[str] = None, seed: Optional[int] = None) -> None:
        """Read in __new__, once; here for those who look at the parameters."""

    def _set(self, dump_path=None, token_range=None, analyze=False, module_list=None, api_list=None, tensor_part=2,
             device_id=None, dump_statistics_mode=0, dump_last_logits=False, mode=None, dump_weight=False,
             layer_name=None, seed=None) -> None:
        self.dump_path = dump_path or "./"
        modes = mode or ["module"]
        self.mode = modes if isinstance(modes, (list, tuple)) else [modes]
        self.dump_module = "module" in self.mode
        self.dump_api = "api" in self.mode
        self.token_range = token_range or [0]
        self.analyze = analyze
        self.module_list = module_list or []
        self.api_list = api_list or []
        self.tensor_part = tensor_part
        self.device_id = device_id
        self.dump_statistics_mode = dump_statistics_mode
        self.dump_last_logits = dump_last_logits
        self.dump_weight = dump_weight
        self.layer_name = layer_name
        wrong = self._what_is_wrong()
        if wrong:
            logger.error(wrong)
            raise ValueError("Invalid args of DumpConfig.")
        self._name_fits = re.compile(".*".join(re.escape(part) for part in layer_name.split("*")) + r"\Z") \
            if layer_name is not None else re.compile("")
        if seed is not None:
            from assay.msit.seeds import seed_all

            seed_all(seed=seed)

    def _what_is_wrong(self) -> str:
        """The sentence of the original, or nothing."""
        if not isinstance(self.dump_path, (str, os.PathLike)):
            return f"dump_path must be a path, and is {type(self.dump_path).__name__}."
        if not isinstance(self.token_range, list):
            return "The type of token_range must be list, please check."
        if not isinstance(self.module_list, list):
            return "The type of module_list must be list, please check."
        if not isinstance(self.tensor_part, int):
            return "The type of tensor_part must be int, please check."
        if self.device_id is not None and not isinstance(self.device_id, int):
            return "The type of device_id must be int, please check."
        if self.tensor_part not in (0, 1, 2):
            return "tensor_part must be 0 or 1 or 2."
        if self.dump_statistics_mode not in (0, 1, 2):
            return "dump_statistics_mode  must be 0 or 1 or 2."
        # What the original lets pass, and then records nothing or fails in the middle of a forward.
        if not isinstance(self.api_list, list):
            return "The type of api_list must be list, please check."
        if not all(isinstance(each, type) for each in self.module_list):
            return "module_list must hold classes of modules."
        if not (self.dump_module or self.dump_api) or any(each not in ("module", "api") for each in self.mode):
            return f"mode must be 'module', 'api' or both, and is {self.mode!r}."
        if self.layer_name is not None and not isinstance(self.layer_name, str):
            return "The type of layer_name must be str, please check."
        folder = _nearest_existing(os.path.abspath(self.dump_path))
        if not os.path.isdir(folder) or not os.access(folder, os.W_OK):
            return f"dump_path {self.dump_path} can not be written. Please check."
        return ""

    def wants(self, name: str, module: Any = None, api: Optional[Callable] = None) -> bool:
        """Whether a module, a function or a parameter of this name is to be recorded."""
        if not self._name_fits.match(name):
            return False
        if self.module_list and module is not None and not isinstance(module, tuple(self.module_list)):
            return False
        return not (self.api_list and api is not None and api not in self.api_list)

    def wants_device(self, device: str) -> bool:
        """`device`: "cpu", "cuda0"; the host is always wanted."""
        if self.device_id is None or device == "cpu":
            return True
        return device == f"{device.rstrip('0123456789')}{self.device_id}"


def forget_config() -> None:
    DumpConfig._the_one = None


def _nearest_existing(path: str) -> str:
    while not os.path.exists(path):
        path = os.path.dirname(path)
    return path
