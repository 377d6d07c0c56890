"""The journal of a dump: what is left of a program that was killed, what it costs, and what becomes of wrong ones."""
from __future__ import annotations

import json
import os
import pathlib
import resource
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEAD = {"task": "statistics", "level": "L1", "framework": "pytorch", "dump_data_dir": None}

KILLED = """
import os, signal, sys
sys.path[:0] = [{python!r}, {tools!r}]
import torch, torch_models
from assay.msprobe.recorder import Recorder, Settings
model = torch_models.make("decoder")
recorder = Recorder(Settings(level="mix"))
recorder.attach(model)
recorder.begin({folder!r})
calls = []
model.layers[1].register_forward_hook(lambda *_: os.kill(os.getpid(), signal.SIGKILL) if {kills} else None)
model(*torch_models.inputs("decoder"))
recorder.end()
"""


def run_killed(c, kills: bool) -> tuple[pathlib.Path, int]:
    folder = c.folder("killed") / "rank0"
    code = KILLED.format(python=str(ROOT / "python"), tools=str(ROOT / "tests" / "tools"), folder=str(folder), kills=kills)
    return folder, subprocess.run([sys.executable, "-c", code], env=dict(os.environ), stderr=subprocess.DEVNULL).returncode


def check_killed(c) -> list[str]:
    from assay.msprobe.journal import NAME, recover

    (killed, status), (whole, done) = run_killed(c, True), run_killed(c, False)
    failures = [] if status == -signal.SIGKILL and done == 0 else [f"exits {status}, {done}"]
    if (killed / "dump.json").exists() or (whole / NAME).exists():
        failures.append("dump.json before the end, or a journal behind it")
    (found,) = recover(str(killed.parent))
    mine, theirs = (json.loads((folder / "dump.json").read_text())["data"] for folder in (killed, whole))
    if found.entries != len(mine) or not 10 < len(mine) < len(theirs):
        failures.append(f"{found.entries} entries recovered, {len(mine)} in dump.json, {len(theirs)} of the whole run")
    if list(mine.items()) != list(theirs.items())[:len(mine)]:
        failures.append("other entries than in the whole run")
    stacks = [names for names, _ in json.loads((killed / "stack.json").read_text()).values()]
    if not {name for name in mine} <= {name for names in stacks for name in names}:
        failures.append("stack.json lacks entries")
    return failures + ([] if not (killed / NAME).exists() else ["the journal is still there"])


def check_cut(c) -> list[str]:
    """Cut anywhere, a journal gives what was whole; never a broken dump.json."""
    from assay.msprobe.journal import NAME, Journal, recover

    source = c.folder("cut")
    journal = Journal(str(source), HEAD)
    journal.frames(("File a.py, line 1, in f, \n f()",))
    for number in range(3):
        journal.call(f"Torch.add.{number}.forward", 0)
        journal.node(f"Torch.add.{number}.forward", "null")
        journal.entry(f"Torch.add.{number}.forward", number, '{\t   "output": [\t    null\t   ]\t  }')
    journal.close()
    whole, failures = (source / NAME).read_bytes(), []
    for size in range(whole.find(b"\n") + 1, len(whole) + 1):
        (source / NAME).write_bytes(whole[:size])
        (found,) = recover(str(source))
        value = json.loads((source / "dump.json").read_text())
        json.loads((source / "stack.json").read_text()), json.loads((source / "construct.json").read_text())
        wanted = sum(1 for line in whole[:size].split(b"\n")[:-1] if line.startswith(b'{"at"'))
        if len(value["data"]) != wanted or found.was_cut == (whole[:size][-1:] == b"\n"):
            failures.append(f"{size} bytes: {len(value['data'])} entries, expected {wanted}")
    return failures


def check_order(c) -> list[str]:
    """Late lines and lines that add to an entry stand where msprobe has them."""
    from assay.msprobe.journal import Journal

    folder = c.folder("order")
    journal = Journal(str(folder), HEAD, has_extra_info=False)
    journal.entry("Torch.b.0.forward", 1, '{\t   "x": 1\t  }')
    journal.entry("Torch.a.0.forward", 0, '{\t   "x": 1\t  }')
    journal.entry("Module.m.M.parameters_grad.0", 2, '{\t   "w": 1\t  }')
    journal.entry("Torch.c.0.forward", 3, '{\t   "x": 1\t  }')
    journal.entry("Module.m.M.parameters_grad.0", 4, '{\t   "b": 2\t  }', is_more=True)
    journal.entry("Torch.b.0.forward", 5, '{\t   "y": 2\t  }', is_more=True)
    journal.finish(keeps=False)
    data = json.loads((folder / "dump.json").read_text())["data"]
    wanted = {"Torch.a.0.forward": {"x": 1}, "Torch.b.0.forward": {"x": 1, "y": 2}, "Torch.c.0.forward": {"x": 1},
              "Module.m.M.parameters_grad.0": {"w": 1, "b": 2}}
    failures = [] if list(data.items()) == list(wanted.items()) else [f"{data}"]
    text = (folder / "dump.json").read_text()
    failures += [] if text == json.dumps(json.loads(text), indent=1) else ["not laid out as json.dump(indent=1) does"]
    return failures + ([] if sorted(os.listdir(folder)) == ["dump.json"] else [f"left behind: {sorted(os.listdir(folder))}"])


def check_many(c) -> list[str]:
    """Twice the entries take twice the time, and no more memory."""
    from assay.msprobe.journal import Journal

    text = '{\t   "input_args": [\t    {\t     "type": "torch.Tensor"\t    }\t   ],\t   "output": []\t  }'
    times, peaks = [], []
    for count in (50000, 200000):
        folder = c.folder("many")
        journal = Journal(str(folder), HEAD)
        for number in range(50):
            journal.frames((f"File a.py, line {number}, in f, \n f()",))
        start = time.process_time()
        for number in range(count):
            name = f"Functional.linear.{number}.forward"
            journal.call(name, number % 50)
            journal.entry(name, number, text)
        journal.finish(keeps=False)
        times.append(time.process_time() - start)
        peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    size = (folder / "dump.json").stat().st_size
    failures = [] if times[1] < 8 * times[0] else [f"{times[1]:.1f} s for four times the entries of {times[0]:.1f} s"]
    # The journal itself is mapped, and counts as memory while it is read.
    limit = 3 * size // 1024 + 16 * 1024
    return failures + ([] if peaks[1] - peaks[0] < limit else [f"{peaks[1] - peaks[0]} KiB more memory, at most {limit}"])


def check_broken(c) -> list[str]:
    """What is no journal is refused in a line that says where, and stays; an older dump.json too."""
    from assay.errors import AssayError
    from assay.msprobe.journal import NAME, recover

    first = json.dumps({"journal": 1, "head": HEAD, "extra": True}) + "\n"
    failures = []
    for text in ("", "x\n", "{}\n", "[1]\n", first + "7\n", first + '{"at":x,"name":"a","entry":{}}\n', first + '{"at":1,"name":"a"}\n',
                 first + '{"call":"a","stack":0}\n', first + '{"call":"a"}\n', first + '{"node":"a"}\n', first + '{"frames":3\n',
                 first + '{"call":"a","stack":-1}\n', '{"at":1,"name":"a","entry":{}}\n', first + '{"more":1,"entry":{}}\n',
                 first + '{"call":"a","stack":99999999999}\n', first + '{"at":0,"name":"a","entry":{"Max": \0}}\n',
                 first + '{"at":0,"name":"a"b","entry":{}}\n', first + '{"at":0,"name":"a","name":"b","entry":{}}\n', first + '{"at":0,"name":"a","entry":7}\n',
                 first + '{"node":"a","parent":{"b":1}}\n', first + '{"frames":[7]}\n', first + first, first + '{"frames":' + "[" * 100000 + "\n",
                 "[" * 100000 + "\n", '{"journal": 1, "head": {"data": 1, "task": "statistics"}, "extra": true}\n',
                 first + '{"at":0,"name":"a","entry":{}}\n' + "\0" * 4096 + '\n{"at":1,"name":"b","entry":{}}\n', "\0" * (2 << 20)):
        folder = c.folder("broken")
        (folder / NAME).write_text(text)
        (folder / "dump.json").write_text("older")
        try:
            recover(str(folder))
            failures.append(f"{text!r}: taken")
        except AssayError as refused:
            if NAME not in str(refused) or "\n" in str(refused):
                failures.append(f"{text!r}: {refused}")
        if sorted(os.listdir(folder)) != ["dump.json", NAME] or (folder / "dump.json").read_text() != "older":
            failures.append(f"{text!r}: {sorted(os.listdir(folder))}")
    return failures


def check_kept_aside(c) -> list[str]:
    """A journal that a killed run left in the folder is not lost by the next run."""
    from assay.msprobe.journal import NAME, Journal, set_aside

    folder = c.folder("aside")
    (folder / "dump_tensor_data").mkdir()  # of another run: a journal of statistics has none, and takes none with it
    Journal(str(folder), HEAD).close()
    set_aside(str(folder))
    journal = Journal(str(folder), HEAD)
    journal.finish(keeps=False)
    wanted = sorted(["construct.json", "dump.json", "dump_tensor_data", f"{NAME}.1", "stack.json"])
    return [] if sorted(os.listdir(folder)) == wanted else [f"{sorted(os.listdir(folder))}"]


KILLED_OF_RANK = """
import os, signal, sys
sys.path[:0] = [{python!r}]
import torch
from assay.msprobe.recorder import Recorder, Settings
recorder = Recorder(Settings(level="L1", task="tensor"))
recorder.attach()
recorder.begin({folder!r})
total = torch.full((2, 3), {value}).sum()
recorder._flush()
os.kill(os.getpid(), signal.SIGKILL) if {kills} else recorder.end()
"""


def record_in(folder: pathlib.Path, value: float, kills: bool) -> str:
    """What the run says."""
    code = KILLED_OF_RANK.format(python=str(ROOT / "python"), folder=str(folder), value=value, kills=kills)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    return done.stdout + done.stderr


def check_data_kept_aside(c) -> list[str]:
    """The tensors of a killed run are not overwritten by the next one, and its recovered dump names them."""
    import torch

    from assay.msprobe.journal import recover

    failures, name = [], "Tensor.sum.0.forward.input.0.pt"
    for runs in ([(1.0, True), (2.0, False)], [(1.0, True), (2.0, True), (3.0, True)], [(1.0, True), (2.0, True), (3.0, False)]):
        folder = c.folder("rank") / "rank0"
        said = [record_in(folder, value, kills) for value, kills in runs]
        if "assay recover" not in said[1]:
            failures.append(f"{runs}: the second run warns not: {said[1]!r}")
        places = [pathlib.Path(each.folder) for each in recover(str(folder))]
        if len(places) != sum(kills for _, kills in runs) or (folder / "dump_tensor_data.1").exists():
            failures.append(f"{runs}: {places}, {sorted(os.listdir(folder))}")
        found = []
        for place in {folder, *places}:
            dump = json.loads((place / "dump.json").read_text())
            said_max = dump["data"]["Tensor.sum.0.forward"]["input_args"][0]["Max"]
            tensors = [torch.load(data / name).max().item() for data in (place / "dump_tensor_data", pathlib.Path(dump["dump_data_dir"]))]
            found.append(said_max)
            if tensors != [said_max, said_max]:
                failures.append(f"{runs}: {place.name} says {said_max}, its tensors hold {tensors}")
        if sorted(found) != [value for value, _ in runs]:
            failures.append(f"{runs}: dumps of {found}")
    return failures


def check_earlier_files(c) -> list[str]:
    """Whatever is there and may be replaced, is told of."""
    failures = []
    for name, is_told in (("dump_tensor_data/Tensor.sum.0.forward.input.0.pt", True), ("stack.json", True), ("construct.json", True),
                          ("dump.json", True), ("notes.txt", False)):
        folder = c.folder("earlier") / "rank0"
        (folder / name).parent.mkdir(parents=True)
        (folder / name).write_text("{}")
        said = record_in(folder, 1.0, False)
        if ("holds a dump of an earlier run" in said and name.split("/")[0] in said) != is_told:
            failures.append(f"{name}: {said!r}")
    return failures


def check_guarded(c) -> list[str]:
    """A journal that a program still writes is left to it; what lies there and was not made of the journal stays; names steer no terminal."""
    from assay.errors import AssayError
    from assay.msprobe.journal import NAME, Journal, recover

    def journal_in(folder: pathlib.Path) -> Journal:
        journal = Journal(str(folder), HEAD)
        journal.entry("Torch.add.0.forward", 0, '{\t   "output": []\t  }')
        return journal

    failures, folder = [], c.folder("written")
    journal = journal_in(folder)
    try:
        recover(str(folder))
        failures.append("a journal that is being written was taken")
    except AssayError as refused:
        if "still being written" not in str(refused):
            failures.append(str(refused))
    journal.finish()  # the program goes on after a part of the step
    journal.entry("Torch.add.1.forward", 1, '{\t   "output": []\t  }')
    journal.close()
    (found,) = recover(str(folder))
    if found.folder != str(folder) or sorted(os.listdir(folder)) != ["construct.json", "dump.json", "stack.json"] or len(
            json.loads((folder / "dump.json").read_text())["data"]) != 2:
        failures.append(f"beside its own dump.json: {found}, {sorted(os.listdir(folder))}")
    for name, text in (("dump.json", '{\n "data": {\n  "Torch.mul.0.forward": {\n   "output": []\n  }\n }\n}'), ("dump.json", ""), ("stack.json", "{}")):
        folder = c.folder("beside")
        journal_in(folder).close()
        (folder / name).write_text(text)  # copied there later
        (found,) = recover(str(folder))
        if (folder / name).read_text() != text or found.folder != str(folder / "recovered") or len(
                json.loads((folder / "recovered" / "dump.json").read_text())["data"]) != 1:
            failures.append(f"{name} {text!r} beside it: {found}")
    folder = c.folder("name") / "\x1b[31m\u202e\udc9b"
    journal_in(folder).close()
    again = c.folder("name") / "\x1b[31m"
    again.mkdir()
    (again / NAME).write_text("x\n")
    for place, status, said in ((folder, 0, "\\x1b[31m\\xe2\\x80\\xae\\x9b"), (again, 2, "\\x1b[31m")):
        done = subprocess.run([sys.executable, str(ROOT / "python" / "assay" / "_inject" / "recover.py"), str(place)], capture_output=True)
        text = (done.stdout + done.stderr).decode(errors="replace")
        if done.returncode != status or "\x1b" in text or said not in text:
            failures.append(f"{place!r}: {done.returncode} {text!r}")
    return failures


def check_native_half(c) -> list[str]:
    """What the native half describes and writes is what Python's half does, and a full disk ends the entry, not the program."""
    import torch
    import torch_models
    from assay.msprobe.recorder import Recorder, Settings

    def recorded(settings: dict, is_native: bool, is_full: bool = False) -> str:
        recorder, folder = Recorder(Settings(**settings)), c.folder("native") / "rank0"
        if not is_native:
            recorder._values.native = None
        torch.manual_seed(0)
        model = torch_models.make("decoder")
        recorder.attach(model)
        recorder.begin(str(folder))
        if is_full:
            os.dup2(os.open("/dev/full", os.O_WRONLY), recorder._journal._file)
        model(*torch_models.inputs("decoder")).logits.sum().backward()
        recorder.end()
        recorder.detach()
        texts = [(folder / name).read_text() for name in ("dump.json", "construct.json")]
        return "\n".join(texts).replace(str(folder), "")

    failures = []
    for settings in ({"level": "mix"}, {"level": "L1", "risk_level": "ALL", "summary_mode": "md5"}, {"level": "L0", "task": "structure"},
                     {"level": "mix", "complete": True}, {"level": "mix", "data_mode": ("backward",)}, {"level": "L1", "data_mode": ("output",)},
                     {"level": "L1", "summary_mode": "xor"}, {"level": "mix", "task": "nan_check"}, {"level": "L1", "task": "tensor"}):
        ours, python = recorded(settings, True), recorded(settings, False)
        if ours != python or len(ours) < 1000:
            failures.append(f"{settings}: the halves differ, {len(ours)} and {len(python)} letters")
    if '"Functional.' in recorded({"level": "L1"}, True, True):
        failures.append("a journal on a full disk gave entries")
    return failures


JOURNAL_CHECKS = {"native half": check_native_half, "killed": check_killed, "journal cut": check_cut, "journal order": check_order, "journal of many": check_many,
                  "journal broken": check_broken, "journal kept aside": check_kept_aside,
                  "data kept aside": check_data_kept_aside, "earlier files": check_earlier_files,
                  "journal guarded": check_guarded}
