"""Checks of check_torch_capture.py: `assay capture -- python train.py` and `assay recover`, on programs that know nothing of them."""
from __future__ import annotations

import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import torch

from checker import tail

ROOT = pathlib.Path(__file__).resolve().parents[2]
IS_2 = int(torch.__version__.split(".")[0]) >= 2
MODELS = f"import sys; sys.path.insert(0, {str(ROOT / 'tests' / 'tools')!r})\nimport torch, torch_models\ntorch.set_num_threads(1)\n"
TRAIN = MODELS + """
model = torch_models.make("decoder")
if sys.argv[1:] == ["fault"]:
    model.layers[1].up_proj.bias.data += 0.5
optimizer, loss_of = torch.optim.SGD(model.parameters(), lr=0.1), torch.nn.MSELoss()
for step in range(3):
    optimizer.zero_grad()
    for half in range(2):  # gradients of two forwards are added up
        out = model(input_ids=torch.tensor([[3, 1, 4, 1 + half, 5]])).logits
        loss_of(out, torch.zeros_like(out)).backward()
    optimizer.step()
print(torch_models.generate(model, [1, 2, 3], 2), [float(p.detach().double().sum()) for p in model.parameters()])
sys.exit(3)
"""
WORKERS = """
import os, sys, torch
import torch.multiprocessing as multiprocessing
torch.set_num_threads(1)
class Set(torch.utils.data.Dataset):
    def __init__(self):
        self.prepare = torch.nn.Linear(2, 4)
    def __len__(self):
        return 4
    def __getitem__(self, place):
        with torch.no_grad():
            return self.prepare(torch.ones(2) * place)
def of_its_own():
    torch.nn.Tanh()(torch.ones(2))
if __name__ == "__main__":
    kind, model = sys.argv[1], torch.nn.Linear(4, 2)
    for batch in torch.utils.data.DataLoader(Set(), batch_size=2, num_workers=1, multiprocessing_context=kind):
        model(batch)
    child = multiprocessing.get_context(kind).Process(target=of_its_own)
    child.start()
    child.join()
    sys.exit(child.exitcode)
"""
DISTRIBUTED = """
import os, torch
import torch.distributed as dist
torch.set_num_threads(1)
dist.init_process_group("gloo")
torch.manual_seed(0)
plain = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU())
model = torch.nn.parallel.DistributedDataParallel(plain)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(2):
    optimizer.zero_grad()
    model(torch.ones(2, 4) + dist.get_rank()).sum().backward()
    optimizer.step()
os.write(1, f"{sum(float(p.detach().sum()) for p in model.parameters())}\\n".encode())  # at once: ranks share it
dist.destroy_process_group()
"""
SHARDED = """
import os, torch
import torch.distributed as dist
from torch.distributed.fsdp import fully_shard
torch.set_num_threads(1)
dist.init_process_group("gloo")
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))
mesh = torch.distributed.device_mesh.init_device_mesh("cpu", (dist.get_world_size(),))
fully_shard(model[0], mesh=mesh); fully_shard(model, mesh=mesh)
out = model(torch.ones(2, 4) + dist.get_rank())
out.sum().backward()
os.write(1, f"{out.sum().item()} {sum(p.grad.to_local().sum().item() for p in model.parameters())}\\n".encode())
dist.destroy_process_group()
"""
# The parameters of modules are views of what is laid flat: it alone has a gradient added up.
FLAT = """
import os, torch
import torch.distributed as dist
from torch.distributed.fsdp import FullyShardedDataParallel
torch.set_num_threads(1)
dist.init_process_group("gloo")
torch.manual_seed(0)
plain = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))
model = FullyShardedDataParallel(plain, device_id=torch.device("cpu"), use_orig_params=True)
out = model(torch.ones(2, 4) + dist.get_rank())
out.sum().backward()
os.write(1, f"{out.sum().item()} {sum(p.grad.sum().item() for p in model.parameters() if p.grad is not None)}\\n".encode())
dist.destroy_process_group()
"""
LAUNCHER = """
import os, subprocess, sys
here = dict(os.environ, WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT="{port}")
ranks = [subprocess.Popen([sys.executable, "-B", *sys.argv[1:]], env=dict(here, RANK=str(rank))) for rank in range(2)]
sys.exit(max(rank.wait() for rank in ranks))
"""
KILLED = MODELS + """
import os, signal
model = torch_models.make("decoder")
with torch.no_grad():
    model(torch.tensor([[3, 1, 4]]))
    model.layers[1].act.register_forward_pre_hook(lambda *_: os.kill(os.getpid(), signal.SIGKILL))
    model(torch.tensor([[3, 1, 4]]))
"""


def captured(c, folder: pathlib.Path, script: str, *words: str, flags: tuple = (), runner: tuple = (), **environment: str):
    """`assay capture` of a script in a folder; its output and errors apart."""
    (folder / "script.py").write_text(script)
    return subprocess.run([c.program, "capture", *flags, "--", *(runner or (sys.executable, "-B")), "script.py", *words],
                          cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
                          env={**os.environ, "OMP_NUM_THREADS": "1", **environment}, timeout=300)


def dumps_below(folder: pathlib.Path) -> dict[str, list[str]]:
    """{"step0/proc12": names of calls}"""
    return {str(path.relative_to(folder).parent): list(json.loads(path.read_text())["data"]) for path in sorted(folder.rglob("dump.json"))}


def check_training(c) -> list[str]:
    failures, folder = [], c.folder("program")
    (folder / "script.py").write_text(TRAIN)
    plain = subprocess.run([sys.executable, "-B", "script.py"], cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    done = captured(c, folder, TRAIN)
    if done.returncode != 3 or done.stdout != plain.stdout:
        failures.append(f"status {done.returncode} of 3; {done.stdout!r} is not {plain.stdout!r}: {tail(done.stderr)}")
    dumps = dumps_below(folder / "assay_capture")
    calls = [names for _, names in sorted(dumps.items())]
    if len(calls) != 5 or not {"Module.root.Decoder.forward.0", "Module.root.Decoder.forward.1", "Module.root1.MSELoss.forward.0",
                               "Module.layers.1.self_attn.q_proj.Linear.forward.1"} <= set(calls[0]) or \
            [sum(name.startswith("Module.root.Decoder.forward") for name in each) for each in calls] != [2, 2, 2, 1, 1]:
        failures.append(f"steps: {[(place, len(names), names[-3:]) for place, names in dumps.items()]}: {done.stderr}")
    for word in ("the program ended with status 3", "calls in 5 steps", "5 steps of 1 process in assay_capture", "next: assay compare"):
        failures += [] if word in done.stderr else [f"the summary lacks {word!r}: {done.stderr}"]
    again = captured(c, folder, TRAIN)
    if again.returncode != 2 or "holds a dump already" not in again.stderr or dumps_below(folder / "assay_capture") != dumps:
        failures.append(f"into a dump that is there: {again.returncode} {again.stderr}")
    done = captured(c, folder, TRAIN, flags=("--steps", "1,3-4", "--stats", "--apis", "--modules", "layers.1.*,lm_head", "--output", "few"))
    few = dumps_below(folder / "few")
    names = [name for each in few.values() for name in each if name.startswith("Module.")]
    if sorted(place.split("/")[0] for place in few) != ["step1", "step3", "step4"] or list((folder / "few").rglob("*.pt")) or \
            not names or not all(".layers.1." in name or ".lm_head." in name for name in names) or \
            not any("Functional.linear" in name for each in few.values() for name in each):
        failures.append(f"flags: {[(place, names[:4]) for place, names in few.items()]}: {done.stderr}")
    done = captured(c, folder, TRAIN, "fault", flags=("--output", "mine", "--steps", "0"))
    code, text = c.compare(folder / "mine", folder / "assay_capture")
    if code != 1 or "Module.layers.1.up_proj.Linear.forward.0" not in next(
            (line for line in text.split("\n") if line.startswith("First divergence")), ""):
        failures.append(f"the planted fault: {code}: {tail(text, 10)}")
    return failures


def check_launch(c) -> list[str]:
    """What is around the program: the machine's own sitecustomize, signals, programs without PyTorch, wrong words."""
    failures, folder = [], c.folder("launch")
    (folder / "site").mkdir()
    (folder / "site" / "sitecustomize.py").write_text("import sys\nsys.of_this_machine = True\n")
    text = ("import sys, torch\nassert sys.of_this_machine and 'sitecustomize' in sys.modules\nimport importlib.util\n"
            "assert importlib.util.find_spec('recover') is None\nassert not any('_inject' in each for each in sys.path)\n"
            "torch.nn.ReLU()(torch.ones(1))\nassert torch.__spec__.loader.exec_module.__self__\n")
    done = captured(c, folder, text, PYTHONPATH=str(folder / "site"))
    if done.returncode or "1 calls in 1 step" not in done.stderr:
        failures.append(f"another sitecustomize: {done.returncode} {done.stderr}")
    done = captured(c, c.folder("launch"), "print('no torch')", PYTHONPATH="")
    if done.returncode or done.stdout != "no torch\n" or "nothing was recorded" not in done.stderr:
        failures.append(f"no torch: {done.returncode} {done.stdout} {done.stderr}")
    for flags, word in ((("--steps", "2-1"), "'2-1' is neither"), (("--stpes", "1"), "--steps")):
        done = captured(c, c.folder("launch"), "", flags=flags)
        if done.returncode != 2 or word not in done.stderr:
            failures.append(f"{flags}: {done.returncode} {done.stderr}")
    bare = subprocess.run([c.program, "capture"], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if bare.returncode != 2 or "stands behind --" not in bare.stdout:
        failures.append(f"no command: {bare.stdout}")
    folder = c.folder("signal")
    (folder / "script.py").write_text("import signal, sys, time\nsignal.signal(signal.SIGTERM, lambda *_: sys.exit(5))\n"
                                      "print('ready', flush=True)\ntime.sleep(60)\n")
    running = subprocess.Popen([c.program, "capture", "--", sys.executable, "-B", "script.py"], cwd=folder, stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, text=True)
    running.stdout.readline()
    running.send_signal(signal.SIGTERM)
    if running.wait(30) != 5:
        failures.append(f"a signal is not passed on: {running.returncode}")
    running.stdout.close()
    return failures


def check_compiled_function(c) -> list[str]:
    """A model that is called inside a compiled function alone is not seen, and that is told."""
    if not hasattr(torch, "compile"):
        return []
    script = ("import torch\nmodel = torch.nn.Linear(2, 2)\ndef forward(x): return model(x)\n"
              "torch.compile(forward, backend='eager')(torch.ones(1, 2))\n")
    failures = []
    for text, word in ((script, "nothing was recorded"), (script + "torch.nn.ReLU()(torch.ones(1))\n", "1 calls in 1 step")):
        done = captured(c, folder := c.folder("compiled"), text)
        if word == "nothing was recorded":  # nor does anything stand in the way of a second run
            done = captured(c, folder, text)
        if done.returncode or word not in done.stderr or "torch.compile of forward" not in done.stderr:
            failures.append(f"{word}: {done.returncode} {done.stderr}")
    return failures


def check_workers(c) -> list[str]:
    failures = []
    for kind in ("fork", "spawn"):
        folder = c.folder(kind)
        done = captured(c, folder, WORKERS, kind, flags=("--stats",))
        dumps = dumps_below(folder / "assay_capture")
        calls = sorted((names[0] for place, names in dumps.items()), key=str)
        if done.returncode or calls != ["Module.root.Linear.forward.0", "Module.root.Linear.forward.0", "Module.root.Tanh.forward.0"] \
                or any(len(names) != 1 for names in dumps.values()) or len({place.split("/")[1] for place in dumps}) != 2:
            failures.append(f"{kind}: {done.returncode} {dumps}: {done.stderr[-1500:]}")
    return failures


def check_ranks(c) -> list[str]:
    failures = []
    for script in (DISTRIBUTED, *((SHARDED, FLAT) if IS_2 else ())):
        folder = c.folder("ranks")
        (folder / "script.py").write_text(script)
        port = str(21000 + (os.getpid() + len(script)) % 20000)
        runner = (sys.executable, "-B", "-m", "torch.distributed.run", "--nproc-per-node", "2", "--master_port", port)
        if not IS_2:  # Debian's is older than its Python, and ends with an error of its own
            (folder / "launch.py").write_text(LAUNCHER.format(port=port))
            runner = (sys.executable, "-B", "launch.py")
        plain = subprocess.run([*runner, "script.py"], cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               env={**os.environ, "OMP_NUM_THREADS": "1"}, timeout=300)
        done = captured(c, folder, script, runner=runner)
        dumps = dumps_below(folder / "assay_capture")
        if "not a leaf" in done.stderr:
            failures.append(f"a gradient is asked for where none is kept: {done.stderr[-1500:]}")
        if done.returncode or sorted(done.stdout.split("\n")) != sorted(plain.stdout.split("\n")):
            failures.append(f"status {done.returncode}: {done.stdout!r} is not {plain.stdout!r}: {done.stderr[-1500:]}")
        ranks = {place.split("/")[1] for place in dumps}
        names = dumps.get("step0/rank1", [])
        wanted = {"Module.root.Sequential.forward.0", "Module.0.Linear.forward.0", "Module.1.ReLU.forward.0", "Module.0.Linear.parameters_grad.0"}
        if ranks != {"rank0", "rank1"} or not wanted - ({"Module.0.Linear.parameters_grad.0"} if script is SHARDED else set()) <= set(names):
            failures.append(f"{script.split('import')[2][:40]!r}: {dumps}: {done.stderr[-1500:]}")
    return failures


def check_recover(c) -> list[str]:
    failures, folder = [], c.folder("killed")
    done = captured(c, folder, KILLED)
    dump = folder / "assay_capture"
    if done.returncode != 137 or "assay recover assay_capture" not in done.stderr or len(list(dump.rglob("dump.jsonl"))) != 1:
        failures.append(f"killed: {done.returncode} {done.stderr} {list(dump.rglob('dump.json*'))}")
    whole = {path: path.read_bytes() for path in dump.rglob("dump.json")}
    for status, word in ((0, "complete entries"), (2, "nothing to recover")):
        said = c.start(["recover", "assay_capture"], folder)
        if said.returncode != status or word not in said.stdout:
            failures.append(f"recover: {said.returncode} {said.stdout}")
    dumps = dumps_below(dump)
    recovered = next((names for place, names in dumps.items() if place.startswith("step1")), [])
    if "Module.layers.0.DecoderLayer.forward.0" not in recovered or "Module.root.Decoder.forward.0" in recovered:
        failures.append(f"recovered: {recovered}")
    if any(path.read_bytes() != data for path, data in whole.items()) or not whole:
        failures.append("a dump.json that was whole is another now")
    code, text = c.compare(dump, dump)
    if code != 0:
        failures.append(f"compared with itself: {code}: {tail(text)}")
    (folder / "other" / "rank0").mkdir(parents=True)
    for content in ("", "no journal\n", '{"journal": 1}\n', '[1]\n'):
        broken = folder / "other" / "rank0" / "dump.jsonl"
        broken.write_text(content)
        said = c.start(["recover", "other"], folder)
        if said.returncode != 2 or "cannot be recovered, and stays" not in said.stdout or "Traceback" in said.stdout or \
                broken.read_text() != content or len(list(broken.parent.iterdir())) != 1:
            failures.append(f"no journal, {content!r}: {said.returncode} {said.stdout} {list(broken.parent.iterdir())}")
    # A dump that was there before the program that was killed began.
    from assay.msprobe.journal import Journal, recover

    folder = c.folder("earlier")
    (folder / "dump.json").write_text('{"data": {"Torch.add.0.forward": {}}}')
    time.sleep(0.01)
    journal = Journal(str(folder), {"task": "statistics", "level": "L1", "framework": "pytorch", "dump_data_dir": None})
    journal.entry("Torch.mul.0.forward", 0, '{\t   "output": []\t  }')
    journal.close()
    with open(folder / "dump.jsonl", "ab") as file:
        file.write(b'{"at":1,"name":"Torch.div')
    (made,) = recover(str(folder))
    if made.entries != 1 or not made.was_cut or json.loads((folder / "recovered" / "dump.json").read_text())["data"].keys() != {
            "Torch.mul.0.forward"} or "add" not in (folder / "dump.json").read_text():
        failures.append(f"beside an earlier dump: {made}, {list(folder.rglob('*'))}")
    return failures


PROGRAM_CHECKS = {"program compiled": check_compiled_function, "program training": check_training, "program launch": check_launch, "program workers": check_workers,
                  "program ranks": check_ranks, "program recover": check_recover}
