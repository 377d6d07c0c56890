#include "assay/run/algorithms_script.h"

namespace assay {

// Requests: a line {"golden": [type, shape, bytes], "mine": [...]}, then the elements of both. Answers: a
// line,
// {"answers": [[value, message], ...]}; the first one is {"names": [...], "types": [...]} or {"error": text}.
const char* const kAlgorithmsScript = R"py(
import sys
sys.path[:] = [each for each in sys.path if each]  # not the folder that we were started in: it may be a dump
import importlib.util, inspect, json, os

out, ask = os.fdopen(os.dup(0), "wb"), os.fdopen(os.dup(0), "rb", 1 << 20)
os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
os.dup2(2, 1)  # what functions print


def say(what):
    out.write(json.dumps(what).encode() + b"\n")
    out.flush()


def line_of(trouble):
    text = " ".join(str(trouble).split())
    return (type(trouble).__name__ + (": " + text if text else ""))[:500]


class Refused(Exception):
    pass


TORCH = {"f64": "float64", "f32": "float32", "f16": "float16", "bf16": "bfloat16", "f8e4m3fn": "float8_e4m3fn", "f8e5m2": "float8_e5m2",
         "i64": "int64", "i32": "int32", "i16": "int16", "i8": "int8", "u64": "uint64", "u32": "uint32", "u16": "uint16", "u8": "uint8",
         "bool": "bool", "c64": "complex64", "c128": "complex128"}
try:
    import torch
except Exception:
    torch = None
try:
    import numpy
except Exception:
    numpy = None
home = torch or numpy
if torch is None:
    TORCH["bool"] = "bool_"
types = {name: getattr(home, other) for name, other in TORCH.items() if hasattr(home, other)} if home else {}


def tensor(name, shape, data):
    if torch is None:
        return numpy.frombuffer(data, types[name]).reshape(shape)
    return torch.frombuffer(data, dtype=types[name]).reshape(shape) if data else torch.empty(shape, dtype=types[name])


def copied(value):
    return value.clone() if torch is not None else value.copy()


modules = {}


def module_of(path):
    if path in modules:
        return modules[path]
    stem = os.path.basename(path)[:-3]
    module_name = stem if stem not in sys.modules else "assay_algorithm_%d" % len(modules)
    folder = os.path.dirname(os.path.abspath(path))
    if folder not in sys.path:
        sys.path.append(folder)
    try:
        maker = importlib.util.spec_from_file_location(module_name, path)
        modules[path] = sys.modules[module_name] = importlib.util.module_from_spec(maker)
        maker.loader.exec_module(modules[path])
        return modules[path]
    except BaseException as trouble:
        raise Refused("import %s from %s failed: %s" % (stem, folder, line_of(trouble)))


def loaded(spec):
    path, _, name = spec.rpartition(":")
    module = module_of(path)
    function = getattr(module, name, None)
    if function is None:
        raise Refused("getting %s from %s failed" % (name, spec))
    try:
        count = len(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        count = 0
    if count != 2:
        raise Refused("function %s signature should have exact two parameters" % name)
    ones = tensor("f32", [1], bytearray(b"\0\0\x80\x3f"))
    try:
        answer = function(copied(ones), copied(ones))
    except BaseException as trouble:
        raise Refused("function %s should recieve 2 torch tensor parameters: %s" % (name, line_of(trouble)))
    if not is_answer(answer):
        raise Refused("function %s should return 2 value in type ((float, int, str), str)" % name)
    return name, function


def is_answer(answer):
    return isinstance(answer, (list, tuple)) and len(answer) == 2 and isinstance(answer[0], (float, int, str)) and \
        isinstance(answer[1], str)


def plain(value):
    if isinstance(value, bool) or isinstance(value, int) and -(1 << 63) <= value < 1 << 63:
        return value
    return float(value) if isinstance(value, float) else str(value)[:10000]


def answered(name, function, golden, mine):
    try:
        answer = function(golden, mine)
    except BaseException as trouble:
        return [None, "function %s: %s" % (name, line_of(trouble))]
    if not is_answer(answer):
        return [None, "function %s should return 2 value in type ((float, int, str), str)" % name]
    return [plain(answer[0]), " ".join(answer[1].split())[:10000]]


def main():
    try:
        if home is None:
            raise Refused("%s has neither torch nor numpy, which functions are given; ASSAY_PYTHON names another" % sys.executable)
        functions = dict(loaded(spec) for spec in sys.argv[1:])
    except Refused as why:
        return say({"error": str(why)})
    say({"names": list(functions), "types": sorted(types), "torch": torch is not None})
    while True:
        line = ask.readline()
        if not line:
            return
        asked = json.loads(line)
        given = {side: tensor(asked[side][0], asked[side][1], bytearray(ask.read(asked[side][2]))) for side in ("golden", "mine")}
        answers = [answered(name, function, copied(given["golden"]), copied(given["mine"])) for name, function in functions.items()]
        say({"answers": answers})


main()
)py";

}  // namespace assay
