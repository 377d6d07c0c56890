"""Arguments of Python as the words of a command line."""
import os
from typing import Any, List, Mapping, Optional, Sequence, Union

PathLike = Union[str, "os.PathLike[str]"]
Texts = Union[str, Sequence[str], None]


def text_of(value: Any) -> str:
    """A path, a number, a shape."""
    if isinstance(value, (str, bytes, os.PathLike)):
        return os.fsdecode(value)
    if isinstance(value, (tuple, list)):
        return ",".join(str(each) for each in value)
    if hasattr(value, "dtype") or type(value).__module__ == "torch" or isinstance(value, type):
        return getattr(value, "__name__", None) or str(value)  # numpy.float16, torch.bfloat16
    return repr(value) if isinstance(value, float) else str(value)


def flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def words_of(options: Mapping[str, Any], several: Mapping[str, str] = {}, bare: Sequence[str] = ()) -> List[str]:
    """None is left out, True is a flag by itself. `several`: options that take any number of texts, or a dict, whose key and value
    are joined by this. `bare`: those whose value, if they have one, stands behind a '='."""
    words: List[str] = []
    for name, value in options.items():
        if value is None or value is False:
            continue
        if value is True:
            words.append(flag(name))
        elif name in bare:
            words.append(f"{flag(name)}={text_of(value)}")
        elif name in several:
            if isinstance(value, Mapping):
                value = [f"{key}{several[name]}{text_of(each)}" for key, each in value.items()]
            for each in [value] if isinstance(value, (str, os.PathLike)) else value:
                words += [flag(name), text_of(each)]
        else:
            words += [flag(name), text_of(value)]
    return words


def report_of(path: str) -> str:
    """The report that a file of this name holds."""
    kinds = {".csv": "csv", ".xlsx": "xlsx", ".json": "json", ".jsonl": "jsonl", ".xml": "junit", ".db": "sqlite",
             ".sqlite": "sqlite", ".sqlite3": "sqlite", ".html": "html"}
    suffix = os.path.splitext(path)[1].lower()
    if suffix not in kinds:
        raise ValueError(f"{path}: reports end in {', '.join(kinds)}")
    return kinds[suffix]


def whole_path(path: Optional[PathLike]) -> str:
    return os.path.abspath(os.fspath(path)) if path is not None else ""
