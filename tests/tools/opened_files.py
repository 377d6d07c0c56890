"""How often the files below a folder are opened meanwhile, counted by the kernel (inotify)."""

import collections
import contextlib
import ctypes
import os
import pathlib
import struct
import typing

IN_OPEN, IN_Q_OVERFLOW, IN_ISDIR = 0x20, 0x4000, 0x40000000
EVENT = struct.Struct("iIII")


@contextlib.contextmanager
def count_opened(root: pathlib.Path) -> typing.Iterator[collections.Counter]:
    """Filled when the block ends, by path."""
    libc = ctypes.CDLL(None, use_errno=True)
    queue = libc.inotify_init1(os.O_NONBLOCK)
    if queue < 0:
        raise OSError(ctypes.get_errno(), "inotify_init1")
    counts: collections.Counter = collections.Counter()
    try:
        folders = {}
        for folder in [root, *(path for path in root.rglob("*") if path.is_dir())]:
            watch = libc.inotify_add_watch(queue, os.fsencode(folder), IN_OPEN)
            if watch < 0:
                raise OSError(ctypes.get_errno(), "inotify_add_watch", str(folder))
            folders[watch] = folder
        yield counts
        with contextlib.suppress(BlockingIOError):
            while True:
                events = os.read(queue, 1 << 16)
                place = 0
                while place < len(events):
                    watch, mask, _, length = EVENT.unpack_from(events, place)
                    name = events[place + EVENT.size:place + EVENT.size + length].rstrip(b"\0")
                    place += EVENT.size + length
                    if mask & IN_Q_OVERFLOW:
                        raise OverflowError("more files were opened than the kernel counts")
                    if not mask & IN_ISDIR:
                        counts[folders[watch] / os.fsdecode(name)] += 1
    finally:
        os.close(queue)
