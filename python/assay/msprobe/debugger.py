"""PrecisionDebugger of msprobe.pytorch, on the recorder."""
import atexit
import functools
import os
import threading
import time
from typing import Any, Callable, Dict, List, Optional

import torch

from assay.msit.log import logger
from assay.msprobe.config import Config, MsprobeException
from assay.msprobe.recorder import Recorder, Settings
from assay.msprobe.variables import Variables
from assay.torch.unseen import Unseen

_NOT_CREATED = "PrecisionDebugger must be instantiated before its calls are used"
_SECONDS_BETWEEN_LOOKS = {True: 0.5, False: 3.0}  # at config.json, by whether recording is on

_lock = threading.RLock()


def _locked(function: Callable) -> Callable:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        with _lock:
            return function(*args, **kwargs)

    return call


class PrecisionDebugger:
    """One for a process: the first construction counts.

    >>> import json, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> debugger = PrecisionDebugger(dump_path=folder, task="statistics", level="L1")
    >>> debugger.start()
    >>> total = torch.ones(2, 2).sum()
    >>> debugger.stop(); debugger.step()
    >>> (rank,) = os.listdir(folder + "/step0")
    >>> list(json.load(open(f"{folder}/step0/{rank}/dump.json"))["data"])
    ['Tensor.sum.0.forward']
    >>> forget()
    """

    _instance: Optional["PrecisionDebugger"] = None

    def __new__(cls, *_: Any, **__: Any) -> "PrecisionDebugger":
        with _lock:
            if cls._instance is None:
                instance = super().__new__(cls)
                instance._is_made = False
                cls._instance = instance
            return cls._instance

    def __init__(self, config_path: Optional[str] = None, task: Optional[str] = None, dump_path: Optional[str] = None,
                 level: Optional[str] = None, step: Optional[list] = None) -> None:
        if self._is_made:
            return
        try:
            self._set_up({"config_path": config_path, "task": task, "dump_path": dump_path, "level": level, "step": step})
        except Exception:
            PrecisionDebugger._instance = None
            raise
        self._is_made = True
        atexit.register(_finish_at_exit, self)

    def _set_up(self, arguments: Dict[str, Any]) -> None:
        self._arguments, self.config = arguments, Config(**arguments)
        self._is_dynamic = self.config.dump_enable is not None
        self._signature, self._looked = self._signature_now(), 0.0
        self._loop = self._init_step = 0
        self._rank: Optional[int] = None
        self._has_started = self._is_over = False
        self._model: Any = None
        self._token, self._tokens, self._token_hook = 0, None, None
        self._custom: Dict[tuple, Any] = {}
        self._process = os.getpid()
        self._make()

    def _make(self) -> None:
        """A recorder for the configuration, with the functions watched from now on."""
        config = self.config
        try:
            self._recorder = Recorder(Settings(
                config.level, config.task, config.summary_mode, config.precision, config.data_mode, config.scope, config.list,
                config.tensor_list, config.slice, config.risk_level, bool(config.extra_info)))
        except ValueError as trouble:
            raise MsprobeException(str(trouble)) from trouble
        self._hooked: List[Any] = []
        self._variables = Variables(config)
        if self._is_on():
            graphs = Unseen(self._recorder)
            graphs.watch_graphs()
            self._recorder.keep(graphs)
            self._recorder.attach()
            self._watch_custom_operators()

    def _is_on(self) -> bool:
        return self.config.dump_enable is not False

    # The calls

    @classmethod
    @_locked
    def start(cls, model: Any = None, token_range: Any = None, rank_id: Optional[int] = None,
              scheduled_tokens: Optional[dict] = None) -> None:
        """Records from here to stop(). `model`: a module or a list of them; levels L0 and mix need it."""
        self = _instance()
        self._look_at_config()
        if self._process != os.getpid():
            return
        _check_tokens(token_range)
        if rank_id is not None and (not isinstance(rank_id, int) or isinstance(rank_id, bool) or rank_id < 0):
            raise MsprobeException(f"rank_id: is {rank_id!r}, expected a number of 0 or more")
        self._check_model(model, token_range)
        self._start(model, token_range, rank_id, scheduled_tokens)

    def _start(self, model: Any, token_range: Any, rank_id: Optional[int], scheduled_tokens: Optional[dict]) -> None:
        config, recorder = self.config, self._recorder
        number = self._loop + self._init_step
        if not self._is_on():
            recorder.is_running = False
            return
        if config.level == "debug":
            return
        if model is not None:
            self._model = model
        if config.level in ("L0", "mix") and not self._is_hooked():
            recorder.attach(self._model)
            self._hooked.append(_models(self._model))
        if self._is_over or (config.step and number > config.step[-1]):
            self._is_over, recorder.is_running = True, False
            return
        if config.step and number not in config.step:
            return
        if not self._choose_request(scheduled_tokens):
            recorder.is_running = False
            return
        if not self._has_started:
            self._rank = rank_id if rank_id is not None else _rank()
        if config.rank and self._rank not in config.rank:
            recorder.is_running = False
            return
        if not self._has_started:
            self._has_started = True
            if token_range:
                self._watch_tokens(token_range)
        self._token = 0
        recorder.begin(self._folder(number))
        if self._tokens is not None:
            recorder.is_running = False

    @classmethod
    @_locked
    def stop(cls) -> None:
        """Nothing more is recorded; the files are whole."""
        self = _instance()
        if self._process != os.getpid():
            return
        number = self._loop + self._init_step
        config = self.config
        if config.level != "debug" and self._is_on() and not self._is_over \
                and not (config.step and number not in config.step) and not (config.rank and self._rank not in config.rank):
            self._learn_rank()
            self._recorder.pause()
        self._recorder.is_running = False
        self._look_at_config()

    @classmethod
    @_locked
    def step(cls) -> None:
        """The step is over: what follows goes to the folder of the next one."""
        self = _instance()
        if self._process != os.getpid() or self._is_over:
            return
        self._learn_rank()
        self._recorder.end()
        self._variables.end()
        self._loop += 1
        self._look_at_config()

    @classmethod
    @_locked
    def save(cls, variable: Any, name: str, save_backward: bool = True) -> None:
        """Level debug: records a tensor, or what holds some; its gradient too."""
        self = _instance()
        config, number = self.config, self._loop + self._init_step
        if config.task not in ("tensor", "statistics") or config.level != "debug" or not self._is_on() \
                or (config.step and number not in config.step) or self._process != os.getpid():
            return
        if not self._variables.is_open:
            self._rank = _rank()
        self._variables.save(self._folder(number), variable, name, save_backward)

    @classmethod
    @_locked
    def set_init_step(cls, step: int) -> None:
        """What the next step is called."""
        self = _instance()
        if not isinstance(step, int) or isinstance(step, bool) or step < 0:
            raise MsprobeException(f"step: is {step!r}, expected a number of 0 or more")
        self._init_step, self._loop = step, 0

    @classmethod
    @_locked
    def register_custom_api(cls, module: Any, api: str, api_prefix: Optional[str] = None) -> None:
        """Watches `module.api` too, under the name of its module or `api_prefix`."""
        prefix = api_prefix or getattr(module, "__name__", "Custom")
        if not isinstance(prefix, str):
            raise MsprobeException(f"api_prefix: is {prefix!r}, expected a text")
        if not hasattr(module, api):
            raise MsprobeException(f"{module} has no {api}")
        self = _instance()
        self._custom[id(module), api] = module, prefix
        self._watch_custom(module, api, prefix)

    @classmethod
    @_locked
    def restore_custom_api(cls, module: Any, api: str) -> None:
        """Watches it no longer."""
        if not hasattr(module, api):
            raise MsprobeException(f"{module} has no {api}")
        self = _instance()
        self._custom.pop((id(module), api), None)
        self._recorder.functions.take_off(module, api)

    # Single modules

    def module_dump(self, module: torch.nn.Module, name: str) -> None:
        if self._hooked:
            logger.warning("module_dump: the modules of the model are recorded already")
            return
        self._recorder.dump_module(module, name)

    def module_dump_end(self) -> None:
        self._recorder.end_module_dump()

    # How

    def _folder(self, number: int) -> str:
        name = f"rank{self._rank}" if self._rank is not None else f"proc{os.getpid()}"
        return os.path.join(self.config.dump_path, f"step{number}", name)

    def _learn_rank(self) -> None:
        """torch.distributed may have been initialised after start()."""
        folder = self._recorder.folder
        if folder is not None and self._rank is None:
            self._rank = _rank()
            if self._rank is not None:
                self._recorder.rename(os.path.join(os.path.dirname(folder), f"rank{self._rank}"))

    def _is_hooked(self) -> bool:
        models = _models(self._model)
        return any(len(models) == len(each) and all(a is b for a, b in zip(models, each)) for each in self._hooked)

    def _check_model(self, model: Any, token_range: Any) -> None:
        if self.config.level not in ("L0", "mix") and token_range is None:
            return
        models = _models(model)
        if model is None:
            raise MsprobeException(f"model: start() needs it at level {self.config.level}, and with token_range")
        for each in models:
            if not isinstance(each, torch.nn.Module) or isinstance(each, torch.jit.ScriptModule):
                raise MsprobeException(f"model: has a {type(each).__name__}, expected a torch.nn.Module or a list of them")

    def _watch_tokens(self, token_range: Any) -> None:
        first, last = token_range
        root = self._model[0] if isinstance(self._model, (list, tuple)) else self._model
        self._tokens = (first, last)

        def entered(*_: Any) -> None:
            if self._recorder.folder is not None:
                self._recorder.is_running = first <= self._token <= last
            self._token += 1

        self._token_hook = root.register_forward_pre_hook(entered)

    def _choose_request(self, scheduled: Optional[dict]) -> bool:
        """With `request_id`: the rows of one request. False: it has none in this step."""
        wanted = self.config.request_id
        slices = list(self.config.slice)
        if wanted and isinstance(scheduled, dict) and scheduled and all(
                isinstance(key, str) and isinstance(count, int) and count > 0 for key, count in scheduled.items()):
            if wanted not in scheduled:
                logger.warning("request_id: %s has no rows in this step, which is not recorded", wanted)
                return False
            begin = 0
            for key, count in scheduled.items():
                if key == wanted:
                    slices.append({"dim": 0, "size": sum(scheduled.values()), "begin": begin, "end": begin + count})
                begin += count
        self._recorder.choose_slices(slices)
        return True

    def _watch_custom(self, module: Any, api: str, prefix: str) -> None:
        functions = self._recorder.functions
        functions.put(module, api, functions.watched(getattr(module, api), api, prefix))

    def _watch_custom_operators(self) -> None:
        for module, prefix in list(self._custom.values()):
            for (number, api) in [key for key in self._custom if key[0] == id(module)]:
                self._watch_custom(module, api, prefix)
        for namespace in self.config.custom_op_namespaces:
            operators = getattr(torch.ops, namespace, None)
            names = {str(each.name).split("::", 1)[1] for each in torch._C._jit_get_all_schemas()
                     if each.name.startswith(f"{namespace}::")}
            for name in sorted(names):
                if hasattr(operators, name):
                    self._watch_custom(operators, name, namespace)

    # config.json, while it runs

    def _signature_now(self) -> Optional[tuple]:
        try:
            found = os.stat(self.config.path) if self.config.path else None
        except OSError:
            return None
        return (found.st_mtime_ns, found.st_size) if found else None

    def _look_at_config(self) -> None:
        now = time.monotonic()
        if not self._is_dynamic or now - self._looked < _SECONDS_BETWEEN_LOOKS[self._is_on()]:
            return
        self._looked = now
        signature = self._signature_now()
        if signature is None or signature == self._signature:
            return
        was_on = self.config.dump_enable
        try:
            config = Config(**self._arguments)
            if config.dump_enable is None:  # who deletes the key leaves it as it was
                config.dump_enable = was_on
            self._signature = signature
        except Exception as trouble:
            logger.warning("config.json changed and is not understood, recording is off: %s", trouble)
            config = self.config
            config.dump_enable = False
        self._recorder.detach()
        self.config = config
        self._is_over = False
        self._make()


def module_dump(module: torch.nn.Module, dump_name: str) -> None:
    """Records this module under this name, until `module_dump_end()`."""
    if not isinstance(module, torch.nn.Module) or isinstance(module, torch.jit.ScriptModule):
        raise MsprobeException(f"module: is a {type(module).__name__}, expected a torch.nn.Module")
    if not isinstance(dump_name, str):
        raise MsprobeException(f"dump_name: is {dump_name!r}, expected a text")
    with _lock:
        _instance().module_dump(module, dump_name)


def module_dump_end() -> None:
    """Ends what `module_dump` began."""
    with _lock:
        _instance().module_dump_end()


def forget() -> None:
    """Takes all hooks off and forgets the debugger: another one may be made."""
    with _lock:
        self, PrecisionDebugger._instance = PrecisionDebugger._instance, None
        if self is not None and self._is_made:
            _finish_at_exit(self)
            atexit.unregister(_finish_at_exit)
            if self._token_hook is not None:
                self._token_hook.remove()
            self._recorder.detach()


def _finish_at_exit(self: PrecisionDebugger) -> None:
    if self._process == os.getpid():
        self._learn_rank()
        self._recorder.end()
        self._variables.end()


def _instance() -> PrecisionDebugger:
    if PrecisionDebugger._instance is None:
        raise MsprobeException(_NOT_CREATED)
    return PrecisionDebugger._instance


def _models(model: Any) -> List[Any]:
    return list(model) if isinstance(model, (list, tuple)) else [model]


def _rank() -> Optional[int]:
    distributed = torch.distributed
    return distributed.get_rank() if distributed.is_available() and distributed.is_initialized() else None


def _check_tokens(token_range: Any) -> None:
    if token_range is None:
        return
    if not isinstance(token_range, (list, tuple)) or len(token_range) != 2 or not all(
            isinstance(each, int) and not isinstance(each, bool) for each in token_range) \
            or not 0 <= token_range[0] <= token_range[1]:
        raise MsprobeException(f"token_range: is {token_range!r}, expected the first and the last token, from 0")
