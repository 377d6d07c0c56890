"""For tests: arrays and tensors against each other by the rules of `assay compare`."""
from typing import Any, Dict, List, Optional

from assay._compare import compare
from assay._in_memory import is_tensor, named_leaves
from assay._members import opened

_ALONE = "value"  # the name of what is in no container


def assert_close(actual: Any, expected: Any, *, msg: Optional[str] = None, **options: Any) -> None:
    """Raises an AssertionError that says where and by how much, unless all of `actual` agrees with `expected`.

    Both are arrays (NumPy, array.array, whatever has a buffer), tensors (PyTorch, on any device and of any type), numbers, or lists,
    tuples and dicts of such, nested; deques and views of dicts are taken as lists and dicts, objects as dicts of what they hold.
    None, texts, sets and other values without tensors in them have to be equal. Whatever else cannot be looked into is a TypeError.
    What is close enough follows from the types (docs/rules.md): bf16 may differ from f32 by its rounding. NaN in the same places
    are left out; a tensor that holds nothing else was not compared, and does not agree. `options` are those of assay.compare: rule,
    rtol, atol, tolerance, allow_nonfinite and so on.

    >>> from array import array
    >>> assert_close(array("f", [1, 2]), array("f", [1, 2]))
    >>> assert_close({"a": [1.0]}, {"a": [1.25]}, atol=0.5)
    >>> assert_close([1.0, 2.0], [1.0, 2.5])
    Traceback (most recent call last):
        ...
    AssertionError: FAIL: 1 of 2 tensors differs beyond tolerance.
    ...
    """
    __tracebackhide__ = True
    mine, golden = _named(actual), _named(expected)
    tensors = [{name: value for name, value in side.items() if is_tensor(value)} for side in (mine, golden)]
    troubles = _other_values({name: mine[name] for name in mine if name not in tensors[0]},
                             {name: golden[name] for name in golden if name not in tensors[1]}, tensors)
    report = ""
    if tensors[0] or tensors[1]:
        options.setdefault("match", "exact")
        # Where all of a tensor is NaN on both sides, nothing shows that it agrees. A rule may ignore some by name.
        options.setdefault("min_compared", 0.0 if options.get("rule") or options.get("rules") else 1.0)
        found = compare(*tensors, **options)
        if not _agrees(found):
            report = found.report.rstrip()
    if report or troubles:
        raise AssertionError("\n".join(([msg] if msg else []) + troubles + ([report] if report else [])))


def _named(value: Any) -> Dict[str, Any]:
    found = named_leaves(opened(value))
    return {_ALONE: found[""]} if "" in found else found


def _agrees(found: Any) -> bool:
    """Tensors without elements agree where their shapes do."""
    if found.exit_code == 0:
        return True
    counts = found.summary
    return found.verdict == "not compared" and 0 < counts["no_elements"] == counts["rows"] and \
        not any(counts[name] for name in ("failed", "errors", "unmatched"))


def _other_values(mine: Dict[str, Any], golden: Dict[str, Any], tensors: List[Dict[str, Any]]) -> List[str]:
    found = []
    for name in dict.fromkeys([*mine, *golden]):
        if name in mine and name in golden:
            if not bool(mine[name] == golden[name]):
                found.append(f"{name}: {mine[name]!r} is not {golden[name]!r}")
        elif name in mine:
            other = "a tensor" if name in tensors[1] else "nothing"
            found.append(f"{name}: {mine[name]!r} stands against {other}")
        else:
            other = "a tensor" if name in tensors[0] else "nothing"
            found.append(f"{name}: {other} stands against {golden[name]!r}")
    return found
