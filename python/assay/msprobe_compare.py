"""The comparison calls of msprobe (1.1, 8.x): what its command lines do, as functions. They write the same files.

Names and arguments are those of the originals; the reference is docs/scenarios/msprobe.md.
"""
import json
import os
import tempfile
from typing import Any, Dict, List, Optional

from assay import _options, _runs
from assay.errors import AssayError


class CompareException(AssayError):
    """What the comparison calls of msprobe raise."""


def compare(input_param: Dict[str, Any], output_path: Any, stack_mode: bool = False, auto_analyze: bool = True,
            fuzzy_match: bool = False, **kwargs: Any) -> None:
    """Two dump.json of PyTorch: {"npu_json_path": ..., "bench_json_path": ..., "stack_json_path": ...}.

    Further arguments: highlight, data_mapping (a file or a dict), suffix (in the names
    of the tables), first_diff_analyze, is_print_compare_log.
    """
    kwargs.update(stack_mode=stack_mode, auto_analyze=auto_analyze, fuzzy_match=fuzzy_match)
    _compare("pytorch", _of_files(input_param), output_path, kwargs)


def compare_distributed(npu_dump_dir: Any, bench_dump_dir: Any, output_path: Any, **kwargs: Any) -> None:
    """Two steps of PyTorch, with the folders of their ranks."""
    _distributed("pytorch", npu_dump_dir, bench_dump_dir, output_path, kwargs)


def ms_compare(input_param: Dict[str, Any], output_path: Any, **kwargs: Any) -> None:
    """A dump.json of MindSpore against one of MindSpore or PyTorch; beside the arguments of compare cell_mapping, api_mapping and
    layer_mapping: a file, a dict, or True for the built-in one."""
    _compare("mindspore", _of_files(input_param), output_path, kwargs)


def ms_compare_distributed(npu_dump_dir: Any, bench_dump_dir: Any, output_path: Any, **kwargs: Any) -> None:
    """Two steps, with the folders of their ranks."""
    _distributed("mindspore", npu_dump_dir, bench_dump_dir, output_path, kwargs)


def ms_graph_compare(inputs: Dict[str, Any], outputs: Any) -> None:
    """Kernels of static graphs: {"npu_path": ..., "bench_path": ..., "rank_id": [0], "step_id": [0]}."""
    _compare("mindspore", _checked(inputs), outputs, {}, default_rank=True)


def common_dir_compare(input_params: Dict[str, Any], output_dir: Any) -> None:
    """Two folders of .npy files: {"npu_path": ..., "bench_path": ..., "map_dict": {...}}."""
    _compare("mindspore", {**_checked(input_params), "common": True}, output_dir, {})


_FLAGS = {"stack_mode": "-s", "fuzzy_match": "-f", "highlight": "-hl", "first_diff_analyze": "-da", "diff_analyze": "-da"}
_MAPPINGS = {"data_mapping": "-dm", "cell_mapping": "-cm", "api_mapping": "-am", "layer_mapping": "-lm"}
_OF_MINDSPORE = ("cell_mapping", "api_mapping", "layer_mapping")


def _checked(input_param: Any) -> Dict[str, Any]:
    if not isinstance(input_param, dict):
        raise CompareException(f"input_param should be dict, and is {type(input_param).__name__}")
    return {key: _options.text_of(value) if isinstance(value, os.PathLike) else value for key, value in input_param.items()}


def _of_files(input_param: Any) -> Dict[str, Any]:
    """In the words of compare.json."""
    words = {"npu_json_path": "npu_path", "bench_json_path": "bench_path", "stack_json_path": "stack_path"}
    given = {words.get(key, key): value for key, value in _checked(input_param).items()}
    for key in ("npu_path", "bench_path"):
        if not given.get(key):
            raise CompareException(f"input_param has no {key.replace('_path', '_json_path')}")
    return given


def _distributed(framework: str, npu_dump_dir: Any, bench_dump_dir: Any, output_path: Any, kwargs: Dict[str, Any]) -> None:
    if kwargs.get("suffix"):
        raise CompareException("Argument 'suffix' is not supported for compare_distributed.")
    paths = {"npu_path": _options.text_of(npu_dump_dir), "bench_path": _options.text_of(bench_dump_dir)}
    if "is_print_compare_log" in kwargs:
        paths["is_print_compare_log"] = kwargs["is_print_compare_log"]
    _compare(framework, paths, output_path, kwargs)


def _compare(framework: str, given: Dict[str, Any], output_path: Any, kwargs: Dict[str, Any], default_rank: bool = False) -> None:
    unknown = set(kwargs) - set(_FLAGS) - set(_MAPPINGS) - {"auto_analyze", "suffix", "is_print_compare_log"}
    if framework == "pytorch":
        unknown |= {name for name in _OF_MINDSPORE if kwargs.get(name)}
    if unknown:
        raise TypeError(f"unexpected arguments: {', '.join(sorted(unknown))}")
    if default_rank:
        given = {"rank_id": [], **given}
    for name in ("stack_mode", "auto_analyze", "fuzzy_match", "highlight", "is_print_compare_log"):
        if not isinstance(kwargs.get(name, False), bool):
            raise CompareException(f"Invalid input parameter, {name} which should be only bool type.")
    out = _options.whole_path(output_path)
    suffix = kwargs.get("suffix") or ""
    if not isinstance(suffix, str) or os.sep in suffix:
        raise CompareException("Invalid input parameter: suffix, should be type of string.")
    with tempfile.TemporaryDirectory(prefix="assay_") as folder:
        config = os.path.join(folder, "compare.json")
        with open(config, "w", encoding="utf-8") as file:
            json.dump(given, file)
        words = ["-f", framework, "compare", "-i", config, "-o", _written_to(out, suffix)]
        words += sorted({flag for name, flag in _FLAGS.items() if kwargs.get(name)})
        words += ["-c"] if not kwargs.get("auto_analyze", True) else []
        for name, flag in _MAPPINGS.items():
            words += _mapping(kwargs.get(name), flag, name, folder)
        try:
            _run(words)
            _rename(out, suffix)
        finally:
            _remove_empty(_written_to(out, suffix), out)


def _mapping(value: Any, flag: str, name: str, folder: str) -> List[str]:
    if value is None or value is False or value == {} or value == "":
        return []
    if value is True:
        return [flag]
    if isinstance(value, dict):  # JSON is YAML too
        path = os.path.join(folder, f"{name}.yaml")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(value, file)
        return [flag, path]
    return [flag, _options.text_of(value)]


def _run(words: List[str]) -> None:
    import sys

    heard = _runs.Heard()
    try:
        code = _runs.run_words(["msprobe", *words], heard)
    except AssayError as trouble:
        raise CompareException(str(trouble)) from None
    finally:
        sys.stdout.write("".join(heard.report))  # its log, where the original prints it
        if heard.messages:
            sys.stdout.write("\n".join(each.rstrip("\n") for each in heard.messages) + "\n")
        sys.stdout.flush()
    if code:
        lines = [line for line in "".join(heard.report).splitlines() + heard.messages if "ERROR" in line or "rror" in line]
        raise CompareException(lines[-1] if lines else f"the comparison ended with {code}")


def _written_to(out: str, suffix: str) -> str:
    """Tables whose names get a suffix are renamed on their way."""
    return os.path.join(out, f".assay_{os.getpid()}") if suffix else out


def _rename(out: str, suffix: str) -> None:
    written = _written_to(out, suffix)
    if written == out:
        return
    for name in sorted(os.listdir(written)):
        stem = "compare_result"
        renamed = stem + suffix + name[len(stem):] if name.startswith(stem) else name
        target = os.path.join(out, renamed)
        if os.path.lexists(target):
            raise CompareException(f"{target}: exists")
        os.rename(os.path.join(written, name), target)


def _remove_empty(folder: str, out: str) -> Optional[None]:
    if folder != out and os.path.isdir(folder):
        import shutil

        shutil.rmtree(folder, ignore_errors=True)
    return None
