"""assay.compare: two dumps, folders, files, or sets of tensors in memory; what came of it."""
import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from typing import Any, Dict, List, Optional, Sequence, Tuple, Union

from assay import _native, _options, _runs
from assay._in_memory import Side, named_leaves
from assay._options import PathLike, Texts
from assay._rows import Row, Rows
from assay.errors import AssayError

_SEVERAL = {"rule": "=", "only": "", "skip": "", "metrics": "", "noise": "", "rename": "=", "rename_golden": "=", "strip_prefix": ""}
_BARE = ("api_mapping", "cell_mapping", "layer_mapping")


class Result:
    """What a comparison, or a look at operators or at numbers that end, came to.

    `exit_code`: 0 within the rules, 1 different, 2 trouble or too little compared. True where it is 0.
    """

    def __init__(self, code: int, rows: Rows, heard: _runs.Heard, again: Any) -> None:
        told = json.loads(heard.summary) if heard.summary else {"summary": {}, "run": {}}
        self.exit_code = code
        #: Counts, the verdict, the first divergence and origin, as `--report json` has them.
        self.summary: Dict[str, Any] = told["summary"]
        #: What was compared, by which rules, and which columns there are.
        self.run: Dict[str, Any] = told["run"]
        self.rows = rows
        #: What the program would print.
        self.report = "".join(heard.report)
        #: Warnings, a line each.
        self.messages: List[str] = list(heard.messages)
        self._again = again

    @property
    def verdict(self) -> str:
        """"pass", "fail", "not compared" or "error"."""
        return self.summary.get("answer", "error")

    @property
    def sentence(self) -> str:
        """The verdict for people: "FAIL: 1 of 3 tensors differs beyond tolerance."."""
        return self.summary.get("verdict", "")

    @property
    def first_divergence(self) -> Optional[Row]:
        """The first row, in execution order, that is not within the rules."""
        found = self.summary.get("first_divergence")
        return Row(found) if found else None

    @property
    def first_origin(self) -> Optional[Row]:
        """The first operator whose inputs agree and whose output does not."""
        found = self.summary.get("first_origin")
        return Row(found) if found else None

    def to_pandas(self) -> Any:
        """The rows as a data frame of pandas."""
        try:
            import pandas
        except ImportError:
            raise AssayError("to_pandas() needs pandas; result.rows has the same without") from None
        names = self.run.get("columns") or None
        columns: Dict[str, list] = {name: [] for name in names or ()}
        for row in self.rows:
            for name in columns:
                columns[name].append(row.get(name))
        return pandas.DataFrame(columns, columns=names)

    def save(self, path: PathLike, *, overwrite: bool = False) -> str:
        """Writes the report that the suffix names (.csv, .xlsx, .json, .jsonl, .xml for JUnit, .db for SQLite), as `assay compare`
        does, and answers its path. The comparison is run again for it: `compare(..., save="out.xlsx")` writes while it compares.
        """
        whole = _options.whole_path(path)
        _refuse_existing([whole], overwrite)
        again = self._again([whole], overwrite)
        if _outcome(again.summary) != _outcome(self.summary):
            raise AssayError(f"{whole}: is of what the two sides hold now, and that is not what was compared before: "
                             f"{again.sentence}")
        return whole

    def __bool__(self) -> bool:
        return self.exit_code == 0

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.sentence or self.verdict}>"

    def __str__(self) -> str:
        return self.report or self.sentence


def _outcome(summary: Dict[str, Any]) -> Dict[str, Any]:
    return {name: summary.get(name) for name in ("answer", "rows", "passed", "failed", "errors", "unmatched")}


def compare(mine: Any, golden: Any, *, rule: Union[Texts, Mapping] = None, rules: Optional[PathLike] = None,
            metrics: Texts = None, rtol: Optional[float] = None, atol: Optional[float] = None, tolerance: Any = None,
            noise: Union[PathLike, Sequence[PathLike], None] = None, unmatched: Optional[str] = None,
            min_compared: Optional[float] = None, values: Optional[str] = None, allow_nonfinite: bool = False,
            match: Optional[str] = None, rename: Union[Texts, Mapping] = None, rename_golden: Union[Texts, Mapping] = None,
            strip_prefix: Texts = None, fuzzy: bool = False, api_mapping: Union[bool, PathLike, None] = None,
            cell_mapping: Union[bool, PathLike, None] = None, layer_mapping: Union[bool, PathLike, None] = None,
            data_mapping: Optional[PathLike] = None, op_mapping: Optional[PathLike] = None, only: Texts = None,
            skip: Texts = None, order: Optional[str] = None, layout: Optional[str] = None, dtype: Any = None,
            shape: Union[str, Sequence[int], None] = None, offset: Optional[int] = None, fail_fast: bool = False,
            memory: Union[str, int, None] = None, threads: Optional[int] = None, trusted: bool = False,
            save: Union[PathLike, Sequence[PathLike], None] = None, overwrite: bool = False,
            progress: _runs.Progress = None) -> Result:
    """Where two runs part. `mine` is the suspect one, `golden` the trusted one: dumps, folders or files, or dicts of arrays and
    tensors in memory.

    Options are those of `assay compare`, with the same meanings (`assay compare --help-all`); those that may be given several
    times take a list, and rule, rename and rename_golden a dict too. `save`: reports to write while comparing, by their suffixes.
    `progress`: True shows it, or a function of (what, done, total). Ctrl-C ends the run and leaves nothing half-written.

    >>> import assay, array
    >>> r = assay.compare({"x": array.array("f", [1, 2])}, {"x": array.array("f", [1, 3])})
    >>> r.verdict, r.exit_code, r.first_divergence.name, r.rows[0]["max_abs"]
    ('fail', 1, 'x', 1)
    >>> assay.compare({"x": 1.0}, {"x": 1.5}, rule="max_abs <= 1").sentence
    'PASS under your rules (max_abs <= 1): the tensors agree.'
    """
    options = {name: value for name, value in locals().items() if name not in ("mine", "golden", "save", "overwrite", "progress")}
    words = _options.words_of(options, _SEVERAL, _BARE)
    paths = [] if save is None else [save] if isinstance(save, (str, os.PathLike)) else list(save)
    if isinstance(mine, Mapping) != isinstance(golden, Mapping):
        raise TypeError("tensors in memory are compared with tensors in memory: write one side to a file first, or assay.open "
                        "the other one")
    start = _start_of_tensors(mine, golden) if isinstance(mine, Mapping) else _start_of_paths(mine, golden)
    return run_with_reports(start, words, [_options.whole_path(path) for path in paths], overwrite, progress)


def _start_of_paths(mine: PathLike, golden: PathLike) -> Any:
    sides = [os.fsdecode(mine), os.fsdecode(golden)]

    def start(words: List[str], sink: Any, user: int) -> int:
        every = ["compare", *words, "--", *sides]
        return _native.library().assay_run(len(every), _native.words_of(every), sink, user)

    return start


def _start_of_tensors(mine: Mapping, golden: Mapping) -> Any:
    def start(words: List[str], sink: Any, user: int) -> int:
        ours, theirs = (Side(named_leaves(side) if side else {}) for side in (mine, golden))
        return _native.library().assay_compare_tensors(ours.tensors, theirs.tensors, len(words), _native.words_of(words), sink,
                                                       user)

    return start


def run_with_reports(start: Any, words: Sequence[str], paths: Sequence[str], overwrite: bool = False,
                     progress: _runs.Progress = None) -> Result:
    """`start(words, sink, user)` runs it; the reports are moved to their paths when they are whole."""
    reports = [_options.report_of(path) for path in paths]
    if len(set(reports)) < len(reports):
        raise ValueError(f"two reports of one kind: {', '.join(paths)}")
    _refuse_existing(paths, overwrite)
    folder = None
    if paths:  # where they will be, so that they can be renamed
        os.makedirs(os.path.dirname(paths[0]), exist_ok=True)
        folder = tempfile.mkdtemp(prefix=".assay_", dir=os.path.dirname(paths[0]))
    rows = Rows()
    heard = _runs.Heard(rows._add, progress)
    try:
        every = [*words, "--report", ",".join(["terminal", *reports]), "--output", folder] if folder else list(words)
        code = _runs.run(lambda sink, user: start(every, sink, user), heard)
        rows._close()
        if folder:
            _move(folder, dict(zip(paths, reports)), overwrite)
    finally:
        if folder:
            shutil.rmtree(folder, ignore_errors=True)
    return Result(code, rows, heard, lambda more, over: run_with_reports(start, words, more, over))


def _refuse_existing(paths: Sequence[str], overwrite: bool) -> None:
    for path in paths:
        if os.path.lexists(path) and not overwrite:
            raise FileExistsError(f"{path}: exists; pass overwrite=True to replace it")


_SUFFIXES = {"csv": ".csv", "xlsx": ".xlsx", "json": ".json", "jsonl": ".jsonl", "junit": ".xml", "sqlite": ".db", "html": ".html"}


def _move(folder: str, wanted: Dict[str, str], overwrite: bool) -> None:
    for path, report in wanted.items():
        (name,) = [each for each in os.listdir(folder) if each.endswith(_SUFFIXES[report])
                   and not each.startswith("summary_")]
        written = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if os.stat(os.path.dirname(path)).st_dev == os.stat(folder).st_dev:
            _place(written, path, overwrite)
            continue
        with tempfile.TemporaryDirectory(prefix=".assay_", dir=os.path.dirname(path)) as beside:  # another file system
            _place(shutil.copy(written, beside), path, overwrite)


def _place(written: str, path: str, overwrite: bool) -> None:
    if overwrite:
        os.replace(written, path)
        return
    try:
        os.link(written, path)  # refuses what came in the meantime
    except FileExistsError:
        raise FileExistsError(f"{path}: exists; pass overwrite=True to replace it") from None
    except OSError:  # a file system without links
        os.rename(written, path)


def command(words: Sequence[str], save: Tuple[str, ...] = (), overwrite: bool = False, progress: _runs.Progress = None) -> Result:
    """Of opcheck and errcheck."""
    def start(more: List[str], sink: Any, user: int) -> int:
        every = [words[0], *more, *words[1:]]
        return _native.library().assay_run(len(every), _native.words_of(every), sink, user)

    return run_with_reports(start, [], [_options.whole_path(path) for path in save], overwrite, progress)
