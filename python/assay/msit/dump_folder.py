"""The folder of a dump: one for a process, and the same for the processes of one launch."""
import datetime
import os
import time
from typing import Optional

_name: Optional[str] = None
_is_dated = True


def follow_ait() -> None:
    """ait writes into `ait_dump`, without a time."""
    global _name, _is_dated
    _name, _is_dated = "ait_dump", False


def dump_folder() -> str:
    """`msit_dump_20260101_120000`; ATB's probe in this process writes into the same."""
    global _name
    if _name is None:
        stamp = datetime.datetime.fromtimestamp(_launch_time()).strftime("%Y%m%d_%H%M%S")
        os.environ["ATB_TIMESTAMP"] = stamp
        _name = "msit_dump_" + stamp
    return _name


def forget_dump_folder() -> None:
    """The next dump of this process gets one of its own, if the second has changed."""
    global _name
    if _is_dated:
        _name = None


def _launch_time() -> int:
    """Now; of several local ranks, something that all of them agree on."""
    now = int(time.time())
    try:
        ranks = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
    except ValueError:
        ranks = 1
    if ranks < 2:
        return now
    import torch.distributed

    if torch.distributed.is_available() and torch.distributed.is_initialized():
        device = f"cuda:{torch.cuda.current_device()}" if torch.distributed.get_backend() == "nccl" else "cpu"
        latest = torch.tensor(now, device=device)
        torch.distributed.all_reduce(latest, op=torch.distributed.ReduceOp.MAX)
        return int(latest.item())
    return _start_of_process(os.getppid()) or now  # the launcher's: it is the parent of all of them


def _start_of_process(pid: int) -> Optional[int]:
    try:
        with open(f"/proc/{pid}/stat") as stat, open("/proc/stat") as system:
            ticks = int(stat.read().rpartition(")")[2].split()[19])
            boot = next(int(line.split()[1]) for line in system if line.startswith("btime "))
    except (OSError, ValueError, IndexError, StopIteration):
        return None
    return boot + ticks // os.sysconf("SC_CLK_TCK")
