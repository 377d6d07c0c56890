"""Part of check_capture.py: what becomes of a dump, and of the program, when something goes wrong. With --long, many times."""
from __future__ import annotations

import contextlib
import json
import os
import pathlib
import random
import resource
import shutil
import signal
import subprocess
import time

from capture_stand import GEN2, GEN3, CaptureChecker, Peak, is_whole, process_of

ALL_ROUNDS = {**GEN2, "ATB_SAVE_TENSOR_RANGE": "all"}
BUDGET_MB = 256
SLACK_MB = 64  # what the writer may hold beyond its budget


def start_host(c: CaptureChecker, words: list[str], folder: pathlib.Path, more: dict[str, str], **rest) -> subprocess.Popen:
    return subprocess.Popen([c.bin / "hosts" / "abi1" / "atb_host", *words], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, env=c.environment({"ATB_OUTPUT_DIR": f"{folder}/", **more}), **rest)


def measured(c: CaptureChecker, words: list[str], folder: pathlib.Path, more: dict[str, str]) -> tuple[subprocess.CompletedProcess, float]:
    """The host, and the memory that it held beyond what it holds without the probe, in MB."""
    def peak_of(environment: dict[str, str]) -> tuple[subprocess.CompletedProcess, float]:
        child = start_host(c, words, folder, environment)
        peak = Peak(child.pid)
        out, said = child.communicate(timeout=3600)
        return subprocess.CompletedProcess(words, child.returncode, out, said), peak.stop()

    _, alone = peak_of({"LD_PRELOAD": ""})
    done, peak = peak_of({"ASSAY_CAPTURE_BUDGET": f"{BUDGET_MB}MiB", **more})
    return done, peak - alone


def report_memory(c: CaptureChecker, title: str, mb: float, budget: float = BUDGET_MB) -> None:
    if c.long:
        print(f"{title}: {mb:.0f} MB beyond the program's own, budget {budget:.0f} MB")
    if not c.sanitizers():
        c.report(f"memory of {title}", [] if mb <= budget + SLACK_MB else [f"{mb:.0f} MB"])


def broken_files(folder: pathlib.Path) -> tuple[int, list[str]]:
    """How many files are whole, and what those that are not end with."""
    whole, broken = 0, []
    for path in (path for path in folder.rglob("*") if path.is_file()):
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - 64))
            end = file.read()
        # The one exception that docs/capture.md makes: a line of a table that lies across two pages of the file.
        at_page = path.suffix in (".csv", ".txt") and path.stat().st_size % 4096 == 0 and path.stat().st_size > 0
        if at_page and not end.endswith(b"\n"):
            print(f"{path.name} was cut at the end of a page")
            continue
        good = {".csv": end.endswith(b"\n" if path.name == "statistic.csv" else b"NO_ERROR\n"), ".json": end.endswith(b"}\n"), ".txt": end.endswith(b"\n"),
                ".bin": path.name == "kernel_tilingdata.bin" or is_whole(path)}.get(path.suffix, False)
        if path.name == "capture.json":
            with contextlib.suppress(ValueError):
                good = bool(json.loads(path.read_text()))
        whole += good
        broken += [] if good else [f"{path.name} ends with {end!r}"]
    return whole, broken


def check_kills(c: CaptureChecker) -> None:
    chance = random.Random(16)
    for name, number in (("-9", signal.SIGKILL), ("-TERM", signal.SIGTERM)):
        whole, broken, most = 0, [], 0.0
        rounds = (200 if c.long else 8) if number == signal.SIGKILL else (20 if c.long else 2)
        for _ in range(rounds):
            folder = c.folder("kill")
            child = start_host(c, ["endless"], folder, {**GEN2, "ASSAY_CAPTURE_BUDGET": "16MiB"})
            peak = Peak(child.pid)
            time.sleep(chance.uniform(0.02, 0.4))
            child.send_signal(number)
            child.communicate()
            most = max(most, peak.stop())
            found = broken_files(folder)
            whole += found[0]
            broken += found[1]
            shutil.rmtree(folder)
        if c.long:
            print(f"kill {name}: {rounds} rounds, {whole} files, {len(broken)} broken, {most:.0f} MB in all")
        c.report(f"kill {name}, {rounds} rounds", broken if broken or whole else ["nothing was written"])


@contextlib.contextmanager
def small_disk(c: CaptureChecker, title: str, options: str):
    """A folder on a disk of its own, or nothing where that is not allowed."""
    folder = c.folder(title)
    if os.geteuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", folder], stderr=subprocess.DEVNULL,
                                           check=False).returncode != 0:
        yield None
        return
    try:
        yield folder
    finally:
        subprocess.run(["umount", folder], check=False)


def check_faults(c: CaptureChecker) -> None:
    folder = c.folder("threads")
    rounds = 20 if c.long else 1
    done, mb = measured(c, ["run", str(rounds), "2", "1000", "64"], folder, ALL_ROUNDS)
    # Threads have models of one shape each, and operations of their own: no file is a second one.
    files = [path for path in folder.rglob("*.bin")]
    c.report("64 threads", [] if done.returncode == 0 and len(files) == rounds * 64 * 2 * 12 and all(map(is_whole, files)) else
             [f"exit {done.returncode}, {len(files)} files"])
    report_memory(c, "64 threads", mb)

    check_tiny(c)

    check_forks(c)
    check_removed(c)
    with small_disk(c, "read_only", "size=2m,ro") as folder:
        where = folder or c.folder("in_the_way") / "out"
        if folder is None:
            where.write_text("in the way")
        child = start_host(c, ["run", "40", "2", "64"], c.work, {**ALL_ROUNDS, "ATB_OUTPUT_DIR": f"{where}/"})
        said = child.communicate(timeout=60)[1].splitlines()
        # The third says that there is no capture.json either.
        c.report("read-only folder", [] if child.returncode == 0 and len(said) == 3 and "the program goes on" in said[0] and
                 "capture.json: cannot be" in said[1] and "were lost" in said[2] else [f"exit {child.returncode}: {said[:5]}"])
    with small_disk(c, "full", "size=64m" if c.long else "size=2m") as folder:
        if folder is not None:
            words = ["run", "400" if c.long else "40", "2", "40960" if c.long else "4096"]
            done = c.host(words, folder, ALL_ROUNDS)
            lost = next(iter(json.loads(next(folder.rglob("capture.json")).read_text()).values()))
            if c.long:
                print(f"full disk: {lost['tensors']} tensors written, {lost['lost']} lost")
            good = done.returncode == 0 and lost["lost"] > 0 and "No space left" in lost["first_loss"] and lost["tensors"] > 0
            c.report("full disk", [] if good and not broken_files(folder)[1] and len(done.stderr.splitlines()) == 2 else
                     [f"exit {done.returncode}: {done.stderr[:300]} {lost} {broken_files(folder)[1][:3]}"])

    if not c.sanitizers():  # which take all the address space that there is
        folder = c.folder("no_memory")
        more = c.config(folder)
        done = c.host(["run", "3", "4", "200000"], folder, more, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (100 << 20, 100 << 20)))
        rows = [row for path in folder.rglob("statistic.csv") for row in path.read_text().splitlines()[1:]]
        c.report("no memory to copy to", [] if done.returncode == 0 and not done.stderr and len(rows) == 3 * 4 * 12 and
                 not any("nan" in row for row in rows) else [f"exit {done.returncode}: {done.stderr[:300]} {len(rows)} rows {rows[-1:]}"])

    folder = c.folder("large_files")
    done = c.host(["run", "1", "1", "4096"], folder, ALL_ROUNDS,
                  preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192)))
    c.report("file size limit", [] if done.returncode == 0 and "File too large" in done.stderr else
             [f"exit {done.returncode}: {done.stderr[:300]}"])


def check_tiny(c: CaptureChecker) -> None:
    wanted = 1_000_000 if c.long else 4000
    with small_disk(c, "small", "size=16g,nr_inodes=4m") as disk:  # each has two folders above it
        folder = disk or c.folder("small")
        done, mb = measured(c, ["kernels", str(wanted)], folder, ALL_ROUNDS)
        count = sum(1 for _ in folder.rglob("outtensor0.bin"))
        if c.long:
            print(f"{count} tiny tensors")
        c.report("tiny tensors", [] if done.returncode == 0 and count == wanted else [f"{count} files: {done.stderr[:300]}"])
        report_memory(c, "tiny tensors", mb)


def check_forks(c: CaptureChecker) -> None:
    folder = c.folder("fork")
    done = c.host(["fork"], folder, {**GEN2, "ATB_SAVE_TENSOR_RANGE": "0,1"})
    child, status = done.stdout.split()[:2]
    parent = process_of(done)
    rounds = {path.name: sorted(each.name for each in path.iterdir()) for path in folder.glob("*/tensors/*")}
    tally = json.loads((folder / "msit_dump_20260101_000000" / "capture.json").read_text())
    # The host names its files by the process: each has its own.
    good = rounds == {f"0_{parent}": ["0", "1"], f"0_{child}": ["1"]} and set(tally) == {parent, child}
    c.report("fork", [] if status == "0" and good and tally[child]["tensors"] == 15 else [str((status, rounds, tally))])

    if c.sanitizers():  # whose allocator locks up in a child that is forked while another thread allocates
        return
    rounds = 200 if c.long else 15
    for title, more in (("", {**GEN2, "ATB_DUMP_TYPE": "tensor"}),
                        (" with topologies, aliases and tables", c.config(c.folder("fork_busy_config")))):
        folder = c.folder("fork_busy")
        done = c.host(["fork-busy", str(rounds)], folder, more)
        tally = json.loads(next(folder.glob("*/capture.json")).read_text())
        children = [each for name, each in tally.items() if name != process_of(done)]
        broken = broken_files(folder)[1]
        if c.long:
            print(f"{rounds} forks while threads record{title}: {len(children)} children counted, {len(broken)} files broken")
        c.report(f"forks while threads record{title}", [] if done.returncode == 0 and done.stdout.split()[0] == "0" and not broken and
                 len(children) == rounds and all(each["tensors"] == 15 and each["ended"] for each in children) else
                 [f"exit {done.returncode}: {done.stdout} {len(children)} children {broken[:3]} {done.stderr[:300]}"])
        shutil.rmtree(folder)


def check_removed(c: CaptureChecker) -> None:
    chance = random.Random(17)
    failures = []
    rounds = 30 if c.long else 2
    for _ in range(rounds):
        folder = c.folder("removed")
        out = folder / "out"
        out.mkdir()
        child = start_host(c, ["run", "100", "2", "64"], folder, {**ALL_ROUNDS, "ATB_OUTPUT_DIR": f"{out}/"})
        time.sleep(chance.uniform(0.02, 0.3))
        shutil.rmtree(out, ignore_errors=True)
        said = child.communicate(timeout=120)[1]
        broken = broken_files(out)[1]
        if child.returncode != 0 or broken:
            failures.append(f"exit {child.returncode}: {said[:300]} {broken[:3]}")
        shutil.rmtree(folder)
    c.report("removed folder", failures)


def check_ends(c: CaptureChecker) -> None:
    """However a program ends, what is there is whole; after exit, all of it is there."""
    for how, code in (("exits", 0), ("fails", 1), ("throws", -signal.SIGABRT), ("terminates", 3)):
        rounds = 20 if c.long else 1
        failures = []
        for _ in range(rounds):
            folder = c.folder(how)
            done = c.host([how], folder, ALL_ROUNDS)
            files = [path for path in folder.rglob("*tensor?.bin")]
            broken = broken_files(folder)[1]
            complete = len(files) == 4 * 12 or how == "throws"
            if done.returncode != code or broken or not complete:
                failures.append(f"exit {done.returncode}, {len(files)} files, {broken[:3]} {done.stderr[:300]}")
            shutil.rmtree(folder)
        c.report(f"a program that {how}, {rounds} rounds", failures)


    folder = c.folder("becomes")
    done = c.host(["becomes"], folder, ALL_ROUNDS)
    later = list(folder.rglob("0_DemoLayer/**/*tensor?.bin"))
    counts = json.loads(next(folder.rglob("capture.json")).read_text())
    last = counts.get(max(counts, key=len), {})
    c.report("a program that becomes another", [] if done.returncode == 0 and len(later) == 15 and not broken_files(folder)[1] and
             last.get("tensors") == 15 and last.get("ended") else
             [f"exit {done.returncode}: {done.stderr[:300]} {len(later)} files, {broken_files(folder)[1][:3]} {counts}"])


def check_slow_disk(c: CaptureChecker) -> None:
    """A disk that takes long: the program waits, and holds no more than it may."""
    slow = {"LD_PRELOAD": ":".join([*c.sanitizers(), str(c.bin / "hosts" / "libslow_disk.so"), str(c.bin / "libassay_probe.so")]),
            "SLOW_DISK_MIB_S": "8", "ASSAY_CAPTURE_BUDGET": "16MiB"}
    rounds = 20 if c.long else 3
    for title, more in (("waits", {}), ("drops", {"ASSAY_CAPTURE_DROP": "1"})):
        folder = c.folder(f"slow_{title}")
        start = time.monotonic()
        done, mb = measured(c, ["run", str(rounds), "2", "300000"], folder, {**ALL_ROUNDS, "ATB_DUMP_TYPE": "tensor", **slow, **more})
        took = time.monotonic() - start
        counts = next(iter(json.loads(next(folder.rglob("capture.json")).read_text()).values()))
        mib = rounds * 24 * 1.2e6 / 2**20
        if c.long:
            print(f"slow disk {title}: {took:.1f} s, {counts['tensors']} tensors, {counts['dropped']} of them without data")
        # Two to four threads write at once, each at that rate.
        complete = counts["tensors"] == rounds * 24 and counts["lost"] == 0
        good = complete and (counts["dropped"] == 0 and took > mib / 8 / 4 * 0.8 if title == "waits" else counts["dropped"] > 0)
        c.report(f"slow disk {title}", [] if done.returncode == 0 and good and not broken_files(folder)[1] else
                 [f"exit {done.returncode} after {took:.1f} s: {done.stderr[:300]} {counts}"])
        report_memory(c, f"a slow disk, {title}", mb, 16)
        shutil.rmtree(folder)


def check_room_that_takes_long(c: CaptureChecker) -> None:
    """How much room there is may be a question to a server far away: the program does not wait for the answer."""
    folder = c.folder("slow_room")
    slow = {"LD_PRELOAD": ":".join([*c.sanitizers(), str(c.bin / "hosts" / "libslow_disk.so"), str(c.bin / "libassay_probe.so")]),
            "SLOW_ROOM_MS": "4000", "ASSAY_CAPTURE_RESERVE": "1"}
    child = start_host(c, ["hot"], folder, {**ALL_ROUNDS, **slow})
    start = time.monotonic()
    run_rounds(child, 5)
    took = time.monotonic() - start
    said = child.communicate(timeout=120)[1]
    files = [path for path in folder.rglob("*tensor*.bin")]
    c.report("a question for room that takes long", [] if child.returncode == 0 and took < 3 and len(files) == 5 * 15 and not said else
             [f"exit {child.returncode} after {took:.1f} s: {said[:300]} {len(files)} files"])


def run_rounds(child: subprocess.Popen, count: int, pause: float = 0.0) -> None:
    """Of the host in its "hot" way."""
    for _ in range(count):
        child.stdin.write("\n")
        child.stdin.flush()
        child.stdout.readline()
        time.sleep(pause)


def check_full_for_a_while(c: CaptureChecker) -> None:
    """A disk that is full, and then has room again: the program goes on, losses are counted, what comes later is whole."""
    with small_disk(c, "full_for_a_while", "size=3m") as folder:
        if folder is None:
            return
        child = start_host(c, ["hot"], folder, {**ALL_ROUNDS, "ASSAY_CAPTURE_BUDGET": "8MiB"})
        run_rounds(child, 10)
        wait_until(lambda: len(list(folder.rglob("*tensor*.bin"))) == 10 * 15)
        ballast = folder / "ballast"
        with ballast.open("wb", buffering=0) as file, contextlib.suppress(OSError):
            while file.write(bytes(4096)):
                pass
        full = 0
        end = time.monotonic() + (60 if c.long else 1)
        while time.monotonic() < end:
            run_rounds(child, 10, 0.01)
            full += 10
        tally = folder / "msit_dump_20260101_000000" / "capture.json"
        # What was handed in while there was no room has been tried by then.
        wait_until(lambda: next(iter(json.loads(tally.read_text()).values()))["lost"] >= full * 15)
        ballast.unlink()
        run_rounds(child, 10)
        said = child.communicate(timeout=120)[1]
        lost = next(iter(json.loads(tally.read_text()).values()))
        rounds: dict[int, int] = {}
        for path in folder.rglob("*tensor*.bin"):
            number = int(path.relative_to(folder).parts[3])
            rounds[number] = rounds.get(number, 0) + 1
        tables = {path.name: len(path.read_text().splitlines()) for path in folder.rglob("operation_tensors_*.csv")}
        wanted = [*range(10), *range(10 + full, 20 + full)]
        if c.long:
            print(f"full for {full} rounds: {lost['tensors']} tensors written, {lost['lost']} files and lines lost")
        good = rounds == {number: 15 for number in wanted} and sorted(tables) == sorted(f"operation_tensors_{n}.csv" for n in wanted)
                # In each round 15 tensors, two texts of parameters, a tiling; four lines of three tables.
        exact = lost["tensors"] == 20 * 15 and lost["lost"] == full * 22 and lost["lost_lines"] == full * 4 and lost["ended"]
        c.report("a disk that is full for a while", [] if child.returncode == 0 and good and exact and not broken_files(folder)[1] and
                 len(said.splitlines()) == 2 else [f"exit {child.returncode}: {said[:300]} {full} rounds: {lost} {rounds} {tables}"])


def check_quota(c: CaptureChecker) -> None:
    """A real quota, on a btrfs in a file, where there are the tools for one (Debian's btrfs-progs)."""
    if not c.long:
        return
    image, disk = c.work / "quota.img", c.folder("quota")
    with image.open("wb") as file:
        file.truncate(400 << 20)
    steps = [["mkfs.btrfs", "-q", image], ["mount", "-o", "loop", image, disk], ["btrfs", "quota", "enable", disk],
             ["btrfs", "subvolume", "create", disk / "limited"], ["btrfs", "qgroup", "limit", "20m", disk / "limited"]]
    try:
        for step in steps:
            subprocess.run(step, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"quota: skipped: {error}")
        subprocess.run(["umount", disk], stderr=subprocess.DEVNULL, check=False)
        return
    folder = disk / "limited"
    done = c.host(["run", "40", "2", "65536"], folder, {**ALL_ROUNDS, "ATB_DUMP_TYPE": "tensor"})
    counts = next(iter(json.loads(next(folder.rglob("capture.json")).read_text()).values()))
    files, broken = len(list(folder.rglob("*tensor*.bin"))), broken_files(folder)[1]
    print(f"quota: {counts['tensors']} tensors written, {counts['lost']} files lost: {counts['first_loss'][-40:]}")
    texts = len(list(folder.rglob("op_param.json")))  # of four operations in each round
    exact = 0 < files == counts["tensors"] and files + texts + counts["lost"] == 40 * (24 + 4) and counts["lost_lines"] == 0
    c.report("quota", [] if done.returncode == 0 and exact and not broken and "quota exceeded" in counts["first_loss"] and
             len(done.stderr.splitlines()) == 2 else [f"exit {done.returncode}: {done.stderr[:300]} {files} {counts} {broken[:3]}"])
    subprocess.run(["umount", disk], check=False)


def wait_until(is_so, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not is_so() and time.monotonic() < end:
        time.sleep(0.05)


def check_old_kernel(c: CaptureChecker) -> None:
    """Where a file gets its name by its place in /proc."""
    folder = c.folder("old_kernel")
    done = c.host(["second-save"], folder, {**GEN2, "OLD_KERNEL": "1", "LD_PRELOAD": ":".join(
        [*c.sanitizers(), str(c.bin / "hosts" / "libslow_disk.so"), str(c.bin / "libassay_probe.so")])})
    files = list(folder.rglob("*tensor*.bin"))
    c.report("an old kernel", [] if done.returncode == 0 and not done.stderr and len(files) == 30 and all(map(is_whole, files)) else
             [f"exit {done.returncode}: {done.stderr[:300]} {len(files)} files"])


def check_large(c: CaptureChecker) -> None:
    """Tensors beyond the budget go to the disk from where they lie; beyond 10 GiB too, where the originals save nothing."""
    for count, mib in ((2, 3072), (1, 10_500)) if c.long else ((1, 300),):
        if shutil.disk_usage(c.work).free < 3 * count * mib * 2**20:
            print(f"{count} tensors of {mib} MiB: there is no room for them")
            continue
        folder = c.folder("large")
        done, mb = measured(c, ["large", str(count), str(mib)], folder, ALL_ROUNDS)
        files = list(folder.rglob("outtensor0.bin"))
        c.report(f"tensors of {mib} MiB", [] if done.returncode == 0 and len(files) == count and all(map(is_whole, files)) else
                 [f"exit {done.returncode}: {done.stderr[:300]} {len(files)} files"])
        report_memory(c, f"{count} tensors of {mib} MiB", mb)
        shutil.rmtree(folder)


def check_config(c: CaptureChecker) -> None:
    """The file is edited, replaced, made a link, made unreadable while the program runs."""
    folder = c.folder("hot")
    more = c.config(folder, dump_enable=False)
    path = folder / "config.json"
    user = 65534 if os.geteuid() == 0 else None  # who may not read everything
    if user:
        c.work.chmod(0o711)
        for each in (folder, path):
            os.chown(each, user, user)
    child = start_host(c, ["hot"], folder, more, **({"user": user} if user else {}))

    def saves() -> str:
        time.sleep(5.1)  # it looks at the file every five seconds
        child.stdin.write("\n")
        child.stdin.flush()
        return child.stdout.readline().split()[1]

    def replace() -> None:
        other = folder / "other.json"
        other.write_text(json.dumps(GEN3))
        other.chmod(0o600)
        if user:
            os.chown(other, user, user)
        other.rename(path)

    def link() -> None:
        path.rename(folder / "target.json")
        path.symlink_to(folder / "target.json")

    def be_folder() -> None:
        path.unlink()
        path.mkdir()

    steps = [("disabled", lambda: None, "0"), ("edited", lambda: path.write_text(json.dumps(GEN3)), "1"),
             ("a link", link, "0"), ("replaced", replace, "1"), ("broken", lambda: path.write_text("{"), "0"),
             ("replaced again", replace, "1"), ("writable by others", lambda: path.chmod(0o666), "0"), ("closed again", replace, "1"),
             ("unreadable", lambda: path.chmod(0), "0"), ("readable", lambda: path.chmod(0o600), "1"), ("removed", path.unlink, "0"),
             ("put back", replace, "1"), ("a folder", be_folder, "0")]
    for name, change, wanted in steps if c.long else steps[:4]:
        change()
        answer = saves()
        c.report(f"configuration {name}", [] if answer == wanted else [f"answers {answer}"])
    child.stdin.close()
    said = child.stderr.read()
    code = child.wait(30)
    c.report("configuration at the end", [] if code == 0 and "is a link" in said else [f"exit {code}: {said}"])
