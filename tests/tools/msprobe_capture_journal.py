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
                 first + '{"call":"a","stack":99999999999}\n'):
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
    from assay.msprobe.journal import NAME, Journal

    folder = c.folder("aside")
    Journal(str(folder), HEAD).close()
    journal = Journal(str(folder), HEAD)
    journal.finish(keeps=False)
    wanted = sorted(["construct.json", "dump.json", f"{NAME}.1", "stack.json"])
    return [] if sorted(os.listdir(folder)) == wanted else [f"{sorted(os.listdir(folder))}"]


JOURNAL_CHECKS = {"killed": check_killed, "journal cut": check_cut, "journal order": check_order, "journal of many": check_many,
                  "journal broken": check_broken, "journal kept aside": check_kept_aside}
