"""Running a command of the library: on a thread of its own, so that Ctrl-C ends it; what it tells is handed on."""
import itertools
import json
import sys
import threading
from typing import Any, Callable, Optional, Sequence, Union

from assay import _native
from assay.errors import AssayError

# Told what goes on, what is done and the total; a total of 0 is not known.
Progress = Union[bool, Callable[[str, int, int], object], None]

_numbers = itertools.count(1)  # tells runs apart


class Heard:
    """What a run tells. A part that is not None is called with bytes."""

    def __init__(self, row: Optional[Callable[[bytes], object]] = None, progress: Progress = None) -> None:
        self.on_row = row
        self.on_progress = _shown if progress is True else progress or None
        self.summary: Optional[bytes] = None
        self.report: list = []
        self.messages: list = []
        self.trouble: Optional[BaseException] = None  # of the functions that are called

    def hear(self, _: Any, kind: int, text: Any, size: int) -> int:
        try:
            if kind == _native.PROGRESS:
                if self.on_progress is not None:
                    told = json.loads(text[:size])
                    self.on_progress(told["what"], told["done"], told["total"])
            elif kind == _native.ROW:
                if self.on_row is not None:
                    self.on_row(text[:size])
            elif kind == _native.SUMMARY:
                self.summary = text[:size]
            else:
                (self.report if kind == _native.REPORT else self.messages).append(text[:size].decode(errors="replace"))
            return 0
        except BaseException as trouble:  # nothing may leave through C
            self.trouble = trouble
            return 1


def run(start: Callable[[Any, int], int], heard: Heard) -> int:
    """Calls `start(sink, user)`; what it answers. Raises where the library refused, with its reason."""
    library = _native.library()
    sink, user = _native.SINK(heard.hear), next(_numbers)
    code, reason = 2, ""
    trouble: Optional[BaseException] = None

    def work() -> None:
        nonlocal code, reason, trouble
        try:
            code = start(sink, user)
            reason = library.assay_last_error().decode(errors="replace")
        except BaseException as caught:  # bad arguments
            trouble = caught

    if threading.current_thread() is not threading.main_thread():
        work()
    else:  # the handler of Ctrl-C runs on this thread, and not within a call of C
        done = threading.Event()

        def work_and_say() -> None:
            work()
            done.set()

        worker = threading.Thread(target=work_and_say, name="assay", daemon=True)
        worker.start()
        try:
            done.wait()
        except BaseException:
            library.assay_cancel(user)
            done.wait()
            raise
        worker.join()
    for each in (trouble, heard.trouble):
        if each is not None:
            raise each
    if reason:
        raise AssayError(reason)
    return code


def run_words(words: Sequence[str], heard: Heard) -> int:
    """A command line of the program, without its name."""
    listed = _native.words_of(words)
    return run(lambda sink, user: _native.library().assay_run(len(words), listed, sink, user), heard)


def _shown(what: str, done: int, total: int) -> None:
    share = f" {100 * done // total} %" if total else ""
    sys.stderr.write(f"\rassay: {what}{share}")
    sys.stderr.write("\n" if total and done >= total else "")
    sys.stderr.flush()
