"""The rows of a report, as many as there are: those that do not fit into some megabytes lie in a temporary file."""
import array
import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any, Dict, Iterator, List, Optional

_KEPT = 32 << 20  # bytes of text


class Row(Mapping):
    """A row of a report: `row.verdict`, `row["max_abs"]`. Cells are numbers, texts, lists or None.

    The members are the columns of the report (docs/reports.md), and of a comparison these in any case: name, mine, golden,
    verdict, status, mine_dtype, golden_dtype, mine_shape, golden_shape, why, reason, note, compared_by.
    """

    __slots__ = ("_cells",)
    _FACTS = frozenset("section name mine golden verdict status mine_dtype golden_dtype mine_shape golden_shape why reason "
                       "note compared_by".split())

    def __init__(self, cells: Dict[str, Any]) -> None:
        self._cells = cells

    @property
    def metrics(self) -> Dict[str, Any]:
        """The measured numbers of it."""
        return {name: value for name, value in self._cells.items() if name not in self._FACTS}

    def __getitem__(self, name: str) -> Any:
        return self._cells[name]

    def __getattr__(self, name: str) -> Any:
        try:
            return self._cells[name]
        except KeyError:
            raise AttributeError(f"a row has no '{name}'; there are: {', '.join(self._cells)}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._cells)

    def __len__(self) -> int:
        return len(self._cells)

    def __repr__(self) -> str:
        cells = self._cells
        text = " ".join(str(cells[name]) for name in ("section", "name", "verdict") if cells.get(name))
        return f"<Row {text}{': ' + cells['reason'] if cells.get('reason') else ''}>"


class Rows(Sequence):
    """Rows in the order of the report, read when they are asked for."""

    def __init__(self) -> None:
        self._ends = array.array("Q")
        self._held: List[bytes] = []
        self._held_size = 0
        self._file: Optional[Any] = None

    def _add(self, line: bytes) -> None:
        end = (self._ends[-1] if self._ends else 0) + len(line)
        if self._file is None and end > _KEPT:
            self._file = tempfile.TemporaryFile(prefix="assay_rows_", buffering=1 << 20)
            self._file.write(b"".join(self._held))
            self._held = []
        if self._file is None:
            self._held.append(line)
        else:
            self._file.write(line)
        self._ends.append(end)

    def _close(self) -> None:
        if self._file is not None:
            self._file.flush()

    def _line(self, number: int) -> bytes:
        if self._file is None:
            return self._held[number]
        begin = self._ends[number - 1] if number else 0
        return os.pread(self._file.fileno(), self._ends[number] - begin, begin)

    def __len__(self) -> int:
        return len(self._ends)

    def __getitem__(self, number: Any) -> Any:
        if isinstance(number, slice):
            return [self[each] for each in range(*number.indices(len(self)))]
        count = len(self)
        if not -count <= number < count:
            raise IndexError(f"row {number} of {count}")
        return Row(json.loads(self._line(number % count)))

    def __iter__(self) -> Iterator[Row]:
        return (self[number] for number in range(len(self)))

    def __repr__(self) -> str:
        return f"<{len(self)} rows>"
