"""The data of tensors of a CUDA device on their way into files: nobody waits for a tensor.

A tensor is copied on the device, in the stream that made it: what changes it later comes behind the copy. Copies go together, by a
stream of their own, into pinned memory, and from there the threads of the writer take them; memory is used again when they are through.
"""
import collections
import ctypes
import threading
import time
from typing import Any, Deque, Dict, List, NamedTuple, Tuple

import torch

from assay._writer import Writer
from assay.errors import AssayError

_SLAB = 64 << 20        # bytes of pinned memory at a time
_MOST_PINNED = 1 << 30  # altogether
_MOST_COPIES = 256      # that go together
_ALIGNED = 256


class _Slab:
    def __init__(self, size: int) -> None:
        self.memory = torch.empty(size, dtype=torch.uint8, pin_memory=True)
        self.size = size
        self.left = ctypes.c_int64(0)  # tensors in it that the writer has not written; the writer counts down


_slabs: List[_Slab] = []  # of the process: pinning memory takes its time
_guard = threading.Lock()


class _Item(NamedTuple):
    dtype: str
    shape: Tuple[int, ...]
    place: int  # in the slab
    path: str
    torch_object: int
    name: str


class DeviceCopies:
    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._batch: List[_Item] = []
        self._copies: List[torch.Tensor] = []  # on the device, of the batch
        self._bytes = 0
        self._stream: Any = None  # in which they were made
        self._sides: Dict[torch.device, Any] = {}
        self._on_the_way: Deque[Tuple[Any, _Slab, List[_Item]]] = collections.deque()

    def save(self, tensor: torch.Tensor, path: str, torch_object: int, name: str) -> None:
        """The file comes later; finish() sees to it."""
        plain = tensor.detach()
        if plain.is_conj():
            plain = plain.resolve_conj()
        if plain.is_neg():
            plain = plain.resolve_neg()
        copy = plain.clone() if plain.is_contiguous() else plain.contiguous()
        stream, size = torch.cuda.current_stream(copy.device), copy.numel() * copy.element_size()
        if self._batch and (stream != self._stream or self._bytes + size > _SLAB or len(self._batch) >= _MOST_COPIES):
            self._send()
        self._stream = stream
        self._copies.append(copy)
        self._batch.append(_Item(str(copy.dtype), tuple(copy.shape), self._bytes, path, torch_object, name))
        self._bytes += (size + _ALIGNED - 1) // _ALIGNED * _ALIGNED

    def finish(self) -> None:
        """Everything is with the writer."""
        self._send()
        self._hand_over(waits=True)

    def _send(self) -> None:
        if not self._batch:
            return
        self._hand_over(waits=False)
        slab = self._slab(self._bytes)
        batch, copies, self._batch, self._copies, self._bytes = self._batch, self._copies, [], [], 0
        device = copies[0].device
        side = self._sides.get(device)
        if side is None:
            side = self._sides[device] = torch.cuda.Stream(device)
        side.wait_stream(self._stream)
        with torch.cuda.stream(side):
            for item, copy in zip(batch, copies):
                there = slab.memory[item.place:item.place + copy.numel() * copy.element_size()]
                there.copy_(copy.reshape(-1).view(torch.uint8), non_blocking=True)
                copy.record_stream(side)  # free for others when this is done, and not before
            done = torch.cuda.Event()
            done.record(side)
        slab.left.value = len(batch)
        self._on_the_way.append((done, slab, batch))

    def _hand_over(self, waits: bool) -> None:
        """What has arrived goes to the writer; with `waits`, all of it."""
        while self._on_the_way and (waits or self._on_the_way[0][0].query()):
            done, slab, batch = self._on_the_way.popleft()
            done.synchronize()
            begin = slab.memory.data_ptr()
            troubles = []
            for item in batch:
                try:
                    self._writer.tensor(item.path, begin + item.place, item.dtype, item.shape, format="pt", replace=True,
                                        torch_object=item.torch_object, name=item.name, countdown=slab.left)
                except AssayError as trouble:  # not taken
                    self._writer.count_down(slab.left)
                    troubles.append(trouble)
            if troubles:
                raise troubles[0]

    def _slab(self, size: int) -> _Slab:
        """One that nobody uses, from here on taken."""
        while True:
            with _guard:
                free = [slab for slab in _slabs if slab.left.value == 0]
                found = next((slab for slab in free if slab.size >= size), None)
                if found is None and sum(slab.size for slab in _slabs) + max(size, _SLAB) > _MOST_PINNED and free:
                    _slabs.remove(free[0])  # too small
                    continue
                if found is None and (not _slabs or sum(slab.size for slab in _slabs) + max(size, _SLAB) <= _MOST_PINNED):
                    found = _Slab(max(size, _SLAB))
                    _slabs.append(found)
                if found is not None:
                    found.left.value = 1
                    return found
            if self._on_the_way:
                self._on_the_way[0][0].synchronize()
                self._hand_over(waits=False)
            else:
                time.sleep(0.0005)  # the writer is at it
