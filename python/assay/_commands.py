"""Other commands of the program as functions."""
import json
from collections.abc import Mapping
from typing import Any, Dict, List, Optional, Sequence, Union

from assay import _options, _runs
from assay._compare import Result, command
from assay._options import PathLike, Texts

_SEVERAL = {"rule": "=", "only": "", "skip": "", "metrics": "", "ids": "", "op": ""}
_Paths = Union[PathLike, Sequence[PathLike], None]


def _paths_of(save: _Paths) -> tuple:
    return () if save is None else (save,) if not isinstance(save, (list, tuple)) else tuple(save)


def opcheck(dump: PathLike, *, ids: Texts = None, op: Texts = None, csv: Optional[PathLike] = None, soc: Optional[str] = None,
            metrics: Texts = None, rule: Union[Texts, Mapping] = None, memory: Union[str, int, None] = None,
            threads: Optional[int] = None, save: _Paths = None, overwrite: bool = False, progress: _runs.Progress = None) -> Result:
    """Whether the outputs of the operators in a dump of ATB are what they should have given: docs/scenarios/opcheck.md."""
    options = dict(ids=ids, op=op, csv=csv, soc=soc, metrics=metrics, rule=rule, memory=memory, threads=threads)
    return command(["opcheck", *_options.words_of(options, _SEVERAL), "--", _options.text_of(dump)], _paths_of(save), overwrite,
                   progress)


def errcheck(dump: PathLike, *, only: Texts = None, skip: Texts = None, rule: Union[Texts, Mapping] = None,
             layout: Optional[str] = None, dtype: Any = None, shape: Union[str, Sequence[int], None] = None,
             offset: Optional[int] = None, memory: Union[str, int, None] = None, threads: Optional[int] = None,
             trusted: bool = False, save: _Paths = None, overwrite: bool = False, progress: _runs.Progress = None) -> Result:
    """The first NaN or infinity in one dump, and the operator that made it: docs/scenarios/errcheck.md."""
    options = dict(only=only, skip=skip, rule=rule, layout=layout, dtype=dtype, shape=shape, offset=offset, memory=memory,
                   threads=threads, trusted=trusted)
    return command(["errcheck", *_options.words_of(options, _SEVERAL), _options.text_of(dump)], _paths_of(save), overwrite,
                   progress)


def inspect(*paths: PathLike, values: bool = False, names: bool = False, slice: Optional[str] = None, only: Texts = None,
            skip: Texts = None, layout: Optional[str] = None, dtype: Any = None, shape: Union[str, Sequence[int], None] = None,
            offset: Optional[int] = None, memory: Union[str, int, None] = None, threads: Optional[int] = None,
            trusted: bool = False) -> List[Dict[str, Any]]:
    """What tensor files, folders and dumps hold, a dict for each tensor: docs/inspect.md.

    >>> import assay, array, os, tempfile
    >>> folder, values = tempfile.mkdtemp(), array.array("f", [1, 2, 4])
    >>> with assay.Writer(folder) as writer:
    ...     writer.tensor("x.npy", values.buffer_info()[0], "f32", [3])
    >>> [(each["dtype"], each["shape"], each["max"]) for each in assay.inspect(os.path.join(folder, "x.npy"))]
    [('f32', [3], 4.0)]
    """
    options = dict(values=values, names=names, slice=slice, only=only, skip=skip, layout=layout, dtype=dtype, shape=shape,
                   offset=offset, memory=memory, threads=threads, trusted=trusted)
    heard = _runs.Heard()
    words = _options.words_of(options, _SEVERAL)
    _runs.run_words(["inspect", "--json", *words, "--", *(_options.text_of(path) for path in paths)], heard)
    return json.loads("".join(heard.report) or "[]")


def convert(source: PathLike, target: PathLike, *, to: Optional[str] = None, dtype: Any = None, all_dtypes: bool = False,
            layout: Optional[str] = None, only: Texts = None, skip: Texts = None, raw_dtype: Any = None,
            raw_shape: Union[str, Sequence[int], None] = None, raw_offset: Optional[int] = None,
            memory: Union[str, int, None] = None, trusted: bool = False, overwrite: bool = False) -> str:
    """Writes tensors in another format (docs/convert.md); what was written, as the program says it."""
    options = dict(to=to, dtype=dtype, all_dtypes=all_dtypes, layout=layout, only=only, skip=skip, raw_dtype=raw_dtype,
                   raw_shape=raw_shape, raw_offset=raw_offset, memory=memory, trusted=trusted, force=overwrite)
    heard = _runs.Heard()
    words = ["convert", *_options.words_of(options, _SEVERAL), "--", _options.text_of(source), _options.text_of(target)]
    if _runs.run_words(words, heard):
        from assay.errors import AssayError

        raise AssayError("".join(heard.messages).strip() or f"{source}: not everything could be converted")
    return "".join(heard.report)
