"""What other objects than lists and dicts hold, so that it is compared like what those hold: `==` of Python takes an object for
equal to itself inside of them, NaN too."""
import collections
import dataclasses
import datetime
import decimal
import enum
import fractions
import math
import pathlib
import re
import sys
import types
import uuid
from collections.abc import ItemsView, Iterator, KeysView, Mapping, Set, ValuesView
from typing import Any, Dict, FrozenSet

from assay._in_memory import _MOST_NESTED, is_tensor

_TYPE = "type()"  # names the class of an object among its members
_POINTER = tuple.__itemsize__
# Their == looks at all of what they are; of the last ones each is there once.
_EQUAL_AS_A_WHOLE = (str, bytes, bytearray, int, range, fractions.Fraction, pathlib.PurePath, datetime.date, datetime.time,
                     datetime.timedelta, datetime.tzinfo, uuid.UUID, re.Pattern, type(None), type(...), type(NotImplemented), enum.Enum,
                     type, types.FunctionType, types.BuiltinFunctionType, types.ModuleType)
_OF_PYTORCH = ("dtype", "device", "layout", "memory_format")


def opened(value: Any, name: str = "", around: FrozenSet[int] = frozenset()) -> Any:
    """`value` with lists and dicts of members in the place of other objects. Raises a TypeError for what has none that can be seen.

    >>> opened([collections.deque([1.0]), types.SimpleNamespace(a=2.0), {1, 2}])
    [[1.0], {'type()': <class 'types.SimpleNamespace'>, 'a': 2.0}, {1, 2}]
    """
    if is_tensor(value) or _is_whole(value):
        return value
    if isinstance(value, decimal.Decimal):  # floats have a rule for the others
        return value if value.is_finite() else float("nan" if value.is_nan() else value)
    if isinstance(value, Set) and not isinstance(value, ItemsView):
        return _checked_set(value, name)
    if id(value) in around:
        raise ValueError(f"{name or 'value'}: containers that hold each other")
    if len(around) > _MOST_NESTED:
        raise ValueError(f"{name}: more than {_MOST_NESTED} containers in each other")
    around |= {id(value)}

    def below(entries: Any) -> Dict[Any, Any]:
        return {key: opened(each, f"{name}.{key}" if name else str(key), around) for key, each in entries}

    if isinstance(value, Mapping):
        return below((key, value[key]) for key in value) or value
    if isinstance(value, ItemsView):
        return below(value)
    if isinstance(value, tuple) and getattr(value, "_fields", None):
        return below(zip(value._fields, value))
    if isinstance(value, (list, tuple)) and not value:
        return value
    if isinstance(value, (list, tuple, collections.deque, ValuesView)):
        return list(below(enumerate(value)).values())
    return below(_members(value, name).items())


def _is_whole(value: Any) -> bool:
    if isinstance(value, _EQUAL_AS_A_WHOLE):
        return True
    torch, numpy = sys.modules.get("torch"), sys.modules.get("numpy")
    return torch is not None and isinstance(value, tuple(getattr(torch, each) for each in _OF_PYTORCH)) or \
        numpy is not None and isinstance(value, numpy.dtype)


def _checked_set(value: Any, name: str) -> Any:
    """Nothing says which members of two sets belong together but that they are equal."""
    for each in value:
        if not _is_exact(each):
            raise TypeError(f"{name or 'value'}: a {type(value).__name__} with {each!r}, of which == does not show that it is equal: "
                            "compare lists")
    return set(value) if isinstance(value, KeysView) else value


def _is_exact(member: Any) -> bool:
    if isinstance(member, (tuple, frozenset)):
        return all(_is_exact(each) for each in member)
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(member, (numpy.number, numpy.bool_)):
        return bool(numpy.isfinite(member))
    if isinstance(member, decimal.Decimal):
        return member.is_finite()
    if isinstance(member, float):
        return math.isfinite(member)
    if isinstance(member, complex):
        return math.isfinite(member.real) and math.isfinite(member.imag)
    return _is_whole(member)


def _members(value: Any, name: str) -> Dict[str, Any]:
    kind = type(value)
    if dataclasses.is_dataclass(value):
        found = {each.name: getattr(value, each.name) for each in dataclasses.fields(value) if each.compare and hasattr(value, each.name)}
    elif isinstance(value, slice):
        found = {"start": value.start, "stop": value.stop, "step": value.step}
    elif isinstance(value, Iterator):
        raise TypeError(f"{name or 'value'}: a {kind.__name__} is used up by looking at it: compare lists")
    elif _is_all_in_dict(kind):
        found = dict(vars(value))
    else:
        raise TypeError(f"{name or 'value'}: a {kind.__name__} cannot be compared: what it holds cannot be seen")
    return {_TYPE: kind, **found}


def _is_all_in_dict(kind: type) -> bool:
    """Whether its objects have nothing but their __dict__: no slots, and no state that is not Python's."""
    names = [name for name in ("__dict__", "__weakref__") if any(name in vars(each) for each in kind.__mro__)]
    return "__dict__" in names and kind.__basicsize__ <= object.__basicsize__ + _POINTER * len(names)
