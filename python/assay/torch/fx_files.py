"""The files of an FX dump, named as TorchAir names them: {path}/worldsize{W}_global_rank{R}/graph_{G}/{token}/{node}-{target}.INPUT.0.{time}.npy"""
import os
import re
import threading
import warnings
from datetime import datetime, timedelta, timezone
from typing import Any, Dict, Tuple

import torch

from assay._writer import Writer
from assay.errors import AssayError
from assay.torch.npy_values import npy_of
from assay.torch.tensors import on_the_host

_LONGEST_NAME = 255  # of a file
_WIDER = {"torch.complex32": torch.complex64}  # what NumPy lacks and is not made f32


class FxFiles:
    """One dump. Those of one process that share a folder share its count of graphs."""

    _of_folder: Dict[str, "FxFiles"] = {}
    _lock = threading.Lock()

    @classmethod
    def below(cls, path: str) -> "FxFiles":
        folder = os.path.realpath(path)
        with cls._lock:
            if folder not in cls._of_folder:
                cls._of_folder[folder] = cls(folder)
            return cls._of_folder[folder]

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self._graphs = 0
        self._last_time = datetime.fromtimestamp(0, timezone.utc)
        self._writer = Writer(folder)
        self._process = os.getpid()
        self._told: set = set()

    def new_graph(self) -> str:
        """The name of the next one; its folder is made, and was not there."""
        with self._lock:
            self._graphs += 1
            name = f"graph_{self._graphs}"
        self._claim(name)
        return name

    def _claim(self, graph: str) -> None:
        folder = os.path.join(self.folder, _rank_folder(), graph)
        try:
            os.makedirs(folder)
        except FileExistsError:
            raise AssayError(f"{folder}: is there already, and a dump is added to no other; remove it, or give fx_dump "
                             f"another path") from None
        except OSError as trouble:
            raise AssayError(f"{folder}: cannot be made: {trouble.strerror}") from trouble

    def time(self) -> str:
        """Of a node, in microseconds; another one each time: nodes are put in order by it."""
        with self._lock:
            now = datetime.now(timezone.utc)
            self._last_time = max(now, self._last_time + timedelta(microseconds=1))
            return self._last_time.strftime("%Y%m%d%H%M%S%f")

    def token_folder(self, graph: str, token: int) -> str:
        """Below the folder of the dump."""
        return os.path.join(_rank_folder(), graph, str(token))

    def save(self, folder: str, name: str, value: Any) -> None:
        """Never raises: recording must not stop what is recorded."""
        name = _file_name(name)
        path = os.path.join(folder, name)
        try:
            with torch.no_grad():
                if isinstance(value, torch.Tensor):
                    plain = _as_numpy_has_it(value)
                    self._writing().tensor(path, plain.data_ptr(), str(plain.dtype), plain.shape, plain.stride(), format="npy")
                else:
                    _write_whole(os.path.join(self.folder, path), npy_of(value))
        except Exception as trouble:
            self.tell(f"{name}: not recorded: {trouble}", type(trouble))

    def flush(self) -> None:
        try:
            self._writer.flush()
            lost = self._writer.tally().lost
        except Exception as trouble:
            self.tell(f"{self.folder}: {trouble}", type(trouble))
            return
        if lost:
            self.tell(f"{self.folder}: {lost} tensors could not be written; is the disk full?", "lost")

    def tell(self, message: str, once_per: Any) -> None:
        if once_per not in self._told:
            self._told.add(once_per)
            warnings.warn(f"assay: {message}", stacklevel=2)

    def _writing(self) -> Writer:
        if self._process != os.getpid():  # a fork has none of the threads that write
            self._writer, self._process = Writer(self.folder), os.getpid()
        return self._writer


def _rank_folder() -> str:
    rank, world = _rank_and_world()
    return f"worldsize{world}_global_rank{rank}"


def _rank_and_world() -> Tuple[int, int]:
    group = torch.distributed
    if group.is_available() and group.is_initialized():
        return group.get_rank(), group.get_world_size()
    try:  # of a launcher, where the program made no process group
        rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
        return (rank, world) if 0 <= rank < world else (0, 1)
    except (KeyError, ValueError):
        return 0, 1


def _as_numpy_has_it(tensor: torch.Tensor) -> torch.Tensor:
    """On the host and dense; float types that NumPy lacks as f32."""
    plain = tensor.detach()
    if plain.is_quantized:
        plain = plain.dequantize()
    if plain.layout is not torch.strided:
        plain = plain.to_dense()
    plain = on_the_host(plain)
    wider = _WIDER.get(str(plain.dtype))
    if wider is None and plain.dtype.is_floating_point and plain.dtype not in (torch.float16, torch.float32, torch.float64):
        wider = torch.float32
    return plain.to(wider) if wider is not None else plain


def _file_name(name: str) -> str:
    """A node's name is an identifier; a target's may hold anything that a library calls its operator."""
    text = re.sub(r"[^0-9A-Za-z_.\-]", "_", name)
    return text if len(text) <= _LONGEST_NAME else text[len(text) - _LONGEST_NAME:]


def _write_whole(path: str, data: bytes) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    part = f"{path}.{os.getpid()}.part"
    try:
        with open(part, "wb") as file:
            file.write(data)
        os.replace(part, path)
    finally:
        if os.path.exists(part):
            os.remove(part)
