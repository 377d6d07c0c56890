#!/usr/bin/python3
"""assay compact beside a writer, under kill -9 and on a full disk: no tensor is ever lost without its statistics.

    check_compact.py --bin build/release [--rounds 200] [--folders 60] [--seed 1]

NumPy and torch write the dumps, NumPy reads back what --as min_max writes; a slow loop over its own min() and max() is the
reference. Folders of random files, some of which hold more than their tensors, show that nothing is removed that its
statistics do not cover.
"""
from __future__ import annotations

import argparse
import ctypes
import json
import os
import pathlib
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import zlib

import numpy

from compact_samples import CODES, Made, define_subclass, ge_dump, random_folder, settle

TESTS = pathlib.Path(__file__).resolve().parents[1]


def crc(array: numpy.ndarray) -> str:
    return f"{zlib.crc32(numpy.ascontiguousarray(array).tobytes()):08x}"


class Checks:
    def __init__(self, bin_folder: pathlib.Path, seed: int, folders: int) -> None:
        self.assay = str(bin_folder / "assay")
        self.folders = folders
        self.random = random.Random(seed)
        self.passed = self.failed = self.skipped = 0

    def run(self, *args, code: int = 0, **kwargs) -> subprocess.CompletedProcess:
        done = subprocess.run([self.assay, "compact", *map(str, args)], capture_output=True, text=True, timeout=60, **kwargs)
        if done.returncode != code:
            raise AssertionError(f"assay compact {args}: exit {done.returncode}, {code} expected\n{done.stdout}{done.stderr}")
        return done

    def check(self, name: str, body) -> None:
        start = time.monotonic()
        with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder:
            try:
                said = body(pathlib.Path(folder))
            except (AssertionError, OSError, subprocess.TimeoutExpired, ValueError, KeyError) as error:
                self.failed += 1
                print(f"FAIL {name}: {error}")
                return
        if said == "skipped":
            self.skipped += 1
        else:
            self.passed += 1
        print(f"{name}: {said or 'ok'} ({time.monotonic() - start:.1f} s)")


def verify(folder: pathlib.Path, written: dict[str, numpy.ndarray]) -> int:
    """Every tensor is there whole, or its statistics are; answers how many are replaced."""
    replaced = 0
    for name, array in written.items():
        source, statistics = folder / name, folder / (name + ".stats.json")
        if source.exists():
            assert numpy.array_equal(numpy.load(source), array), f"{name}: its data changed"
            continue
        assert statistics.exists(), f"{name}: lost"
        tensor = json.loads(statistics.read_text())["tensors"][0]
        assert tensor["crc32"] == crc(array), f"{name}: statistics of something else"
        assert tensor["max"] == float(array.max()) and tensor["min"] == float(array.min()), f"{name}: {tensor}"
        assert tensor["shape"] == list(array.shape), f"{name}: {tensor}"
        replaced += 1
    return replaced


def check_min_max_types(checks: Checks, folder: pathlib.Path) -> None:
    """Each file against the plain loop of the guide's script."""
    rng = numpy.random.default_rng(3)
    groups: list[list[numpy.ndarray]] = []
    for name in CODES:
        array = numpy.array([0, 1, 1, 0, 1], dtype=bool) if name == "bool" else (rng.random((3, 5)) * 100).astype(name)
        if name.startswith("complex"):
            array = (rng.integers(0, 3, 40) + 1j * rng.integers(0, 9, 40)).astype(name)
        groups.append([array])
    big = numpy.array([2**62 + 1, -2**62 - 1, 5], dtype=numpy.int64)
    groups += [[big], [numpy.array([2**63 + 3, 2**64 - 1, 2**63 + 1], dtype=numpy.uint64)],
               [numpy.array([1, numpy.nan, 3], dtype=numpy.float16)], [numpy.array(7, dtype=numpy.float32)],
               [numpy.array([-numpy.inf, 2, numpy.inf])]]
    names = list(CODES)
    for _ in range(40):
        chosen = rng.choice(names, rng.integers(2, 5))
        groups.append([(rng.random(7) * 90).astype(name) for name in chosen])
    reduce = lambda arrays: numpy.array([[a.min(), a.max()] for a in arrays])  # noqa: E731
    expected = {}
    for i, group in enumerate(groups):
        (folder / f"Add.Add_{i}.{i}.6.1706596912161941").write_bytes(ge_dump(group, group[:1]))
        expected[f"Add.Add_{i}.{i}.6.1706596912161941_min_max.npz"] = (reduce(group), reduce(group[:1]))
        if len(group) == 1:
            numpy.save(folder / f"fx_{i}.npy", group[0])
            expected[f"fx_{i}_min_max.npy"] = numpy.array([group[0].min(), group[0].max()])
    numpy.save(folder / "swapped.npy", numpy.arange(5, dtype=">f4"))
    expected["swapped_min_max.npy"] = numpy.array([0, 4], dtype="<f4")
    settle(folder)
    checks.run(folder, "--as", "min_max")
    assert sorted(p.name for p in folder.iterdir()) == sorted(expected), sorted(p.name for p in folder.iterdir())
    for name, want in expected.items():
        got = numpy.load(folder / name)
        pairs = [(got["inputs"], want[0]), (got["outputs"], want[1])] if name.endswith("npz") else [(got, want)]
        for mine, reference in pairs:
            assert mine.dtype == reference.dtype, f"{name}: {mine.dtype}, {reference.dtype} expected"
            assert numpy.array_equal(mine, reference, equal_nan=mine.dtype.kind in "fc"), f"{name}: {mine} {reference}"


def check_min_max_fixture(checks: Checks, folder: pathlib.Path) -> None:
    """What the script itself made of the same dump."""
    data = TESTS / "data" / "compact"
    shutil.copytree(data / "full", folder / "dump")
    settle(folder)
    checks.run(folder / "dump", "--as", "min_max")
    wanted = sorted(p.relative_to(data / "min_max") for p in (data / "min_max").rglob("*") if p.is_file())
    got = sorted(p.relative_to(folder / "dump") for p in (folder / "dump").rglob("*") if p.is_file())
    assert wanted == got, f"{got}\n{wanted} expected"
    for relative in wanted:
        if relative.suffix not in (".npy", ".npz"):
            continue
        want, have = numpy.load(data / "min_max" / relative), numpy.load(folder / "dump" / relative)
        pairs = [(want[k], have[k]) for k in want.files] if relative.suffix == ".npz" else [(want, have)]
        for a, b in pairs:
            assert a.dtype == b.dtype and a.shape == b.shape and numpy.array_equal(a, b, equal_nan=True), relative


def check_mapping_rows(checks: Checks, folder: pathlib.Path) -> None:
    (folder / "123456789").write_bytes(ge_dump([numpy.ones(3, numpy.float32)], []))
    (folder / "mapping.csv").write_text("123456789,Add.A_long_name.1.2.3\n")
    settle(folder)
    checks.run(folder, "--as", "min_max")
    rows = (folder / "mapping.csv").read_text().splitlines()
    assert rows == ["123456789,Add.A_long_name.1.2.3", "123456789_min_max.npz,Add.A_long_name.1.2.3_min_max.npz"], rows


def small_files_only() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)


def check_mapping_trouble(checks: Checks, folder: pathlib.Path) -> None:
    """A row that cannot be added whole is not added, and what it would be about stays."""
    source, mapping = folder / "123456789", folder / "mapping.csv"
    source.write_bytes(ge_dump([numpy.ones(3, numpy.float32)], []))
    row = b"123456789,Add.A_long_name.1.2.3\n"

    def stays(content: bytes, code: int, said: str, **kwargs) -> None:
        settle(folder)
        done = checks.run(folder, "--as", "min_max", code=code, **kwargs)
        assert said in done.stderr, done.stderr
        assert mapping.read_bytes() == content, mapping.read_bytes()[-200:]
        assert sorted(p.name for p in folder.iterdir()) == ["123456789", "mapping.csv"], sorted(folder.iterdir())

    full = row + b"1,%s\n" % (b"x" * (4090 - len(row) - 3))
    mapping.write_bytes(full)
    stays(full, 2, "mapping.csv: cannot be written: File too large", preexec_fn=small_files_only)
    unclosed = b'1,"' + b"x" * (2 << 20) + b"\n" + row
    mapping.write_bytes(unclosed)
    stays(unclosed, 1, "cannot be read to its end")
    mapping.write_bytes(row)
    with open(mapping, "ab"):
        stays(row, 1, "is being written; run this again when it is closed")
    checks.run(folder, "--as", "min_max")
    assert not source.exists() and len(mapping.read_text().splitlines()) == 2, mapping.read_text()


PR_CAPBSET_DROP, CAP_CHOWN, CAP_LEASE = 24, 0, 28


def without(capability: int):
    """For a child before exec: root may not give files away, or ask for leases of its own files only."""
    def drop() -> None:
        if ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0:
            raise OSError(f"capability {capability} cannot be dropped")
    return drop


def check_hidden_writer(checks: Checks, folder: pathlib.Path) -> str:
    """Where the kernel does not tell whether anybody writes a file, it stays."""
    if os.geteuid() != 0:
        return "skipped"
    numpy.save(folder / "x.npy", numpy.ones(4))
    settle(folder)
    os.chown(folder / "x.npy", 1234, 1234)
    with open(folder / "x.npy", "ab"):
        done = checks.run(folder, code=1, preexec_fn=without(CAP_LEASE))
    assert "told to its owner only; run this as its owner" in done.stderr, done.stderr
    done = checks.run(folder, code=1, preexec_fn=without(CAP_LEASE))
    assert (folder / "x.npy").exists() and not (folder / "x.npy.stats.json").exists(), done.stderr
    os.chown(folder / "x.npy", 0, 0)
    checks.run(folder, preexec_fn=without(CAP_LEASE))
    return ""


def check_owner(checks: Checks, folder: pathlib.Path) -> str:
    """Statistics that cannot be given to the owner of the data would lock the owner out: the data stay."""
    if os.geteuid() != 0:
        return "skipped"
    numpy.save(folder / "x.npy", numpy.ones(4))
    settle(folder)
    os.chown(folder / "x.npy", 1234, 2345)
    done = checks.run(folder, code=1, preexec_fn=without(CAP_CHOWN))
    if "told to its owner only" in done.stderr:
        return "skipped"
    assert "x.npy: its statistics cannot be given to its owner" in done.stderr, done.stderr
    assert [p.name for p in folder.iterdir()] == ["x.npy"], sorted(folder.iterdir())
    checks.run(folder)
    status = (folder / "x.npy.stats.json").stat()
    assert (status.st_uid, status.st_gid) == (1234, 2345), status
    return ""


def check_half_written(checks: Checks, folder: pathlib.Path) -> None:
    """Every length of a file that is not its whole length is kept as it is."""
    whole = ge_dump([numpy.arange(6, dtype=numpy.float32)], [numpy.arange(2, dtype=numpy.int32)])
    numpy.save(folder / "x.npy", numpy.arange(20, dtype=numpy.float16))
    npy = (folder / "x.npy").read_bytes()
    (folder / "x.npy").unlink()
    for i in range(len(whole)):
        (folder / f"Add.Add.{i}.1.17065969121619").write_bytes(whole[:i])
    for i in range(len(npy)):
        (folder / f"cut_{i}.npy").write_bytes(npy[:i])
    before = {p.name: p.read_bytes() for p in folder.iterdir()}
    settle(folder)
    done = checks.run(folder, code=1)
    assert {p.name: p.read_bytes() for p in folder.iterdir()} == before, done.stdout
    assert "nothing to replace" in done.stdout, done.stdout


def write_slowly(path: pathlib.Path, array: numpy.ndarray, chance: random.Random) -> None:
    """As dumpers do: at once, in pieces with pauses, by rename, or with the length set before the data."""
    image = path.with_name(".image.tmp")
    with open(image, "wb") as out:
        numpy.save(out, array)
    content = image.read_bytes()
    kind = chance.randrange(4)
    if kind == 0:
        image.rename(path)
        return
    image.unlink()
    with open(path, "wb") as out:
        if kind == 3:
            out.truncate(len(content))
            out.write(content[:128])
            out.flush()
            time.sleep(0.03)
            out.write(content[128:])
            return
        for i in range(0, len(content), len(content) if kind == 1 else 200):
            out.write(content[i:i + (len(content) if kind == 1 else 200)])
            out.flush()
            if kind == 2:
                time.sleep(0.005)


def check_writer_beside(checks: Checks, folder: pathlib.Path) -> str:
    """A dump of some seconds into folders that come one by one, with a watch beside it: all is replaced at the end."""
    written: dict[str, numpy.ndarray] = {}
    watch = subprocess.Popen([checks.assay, "compact", str(folder), "--watch", "--idle", "1.5"], stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True)
    errors = []

    def write() -> None:
        rng = numpy.random.default_rng(5)
        for i in range(150):
            name = f"token_{i // 30}/layer/x_{i}.npy"
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            written[name] = rng.standard_normal(300).astype(numpy.float32)
            write_slowly(folder / name, written[name], checks.random)

    thread = threading.Thread(target=write)
    thread.start()
    thread.join()
    quiet_since = time.monotonic()
    while time.monotonic() - quiet_since < 5 and any((folder / name).exists() for name in written):
        time.sleep(0.02)
    lag = time.monotonic() - quiet_since
    output = watch.communicate(timeout=30)[0]
    replaced = verify(folder, written)
    assert not errors and watch.returncode == 0, f"exit {watch.returncode}: {output}"
    assert replaced == len(written), f"{replaced} of {len(written)} replaced: {output}"
    assert lag < 5, f"the last file waited {lag:.1f} s"
    return f"{replaced} files, lag {lag:.2f} s"


def check_renamed_folders(checks: Checks, folder: pathlib.Path) -> str:
    """Folders get their last name while their files are being replaced: nothing is lost, and nothing is wrong."""
    watch = subprocess.Popen([checks.assay, "compact", str(folder), "--watch", "--idle", "1.5"], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True)
    time.sleep(0.3)
    count = 120
    for k in range(count):
        made = folder / f"{k}.part"
        made.mkdir()
        for i in range(3):
            numpy.save(made / f"{i}.npy", numpy.full((100, 50), k, numpy.float32))
        time.sleep(k % 20 * 0.0007)
        made.rename(folder / str(k))
    output, errors = watch.communicate(timeout=60)
    assert watch.returncode == 0 and not errors, f"exit {watch.returncode}: {errors}"
    left = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    assert left == sorted(f"{k}/{i}.npy.stats.json" for k in range(count) for i in range(3)), f"{len(left)} files: {output}"
    return output.strip()


def check_quiet_watch(checks: Checks, folder: pathlib.Path) -> str:
    """Waiting costs next to nothing."""
    numpy.save(folder / "x.npy", numpy.ones(4))
    watch = subprocess.Popen([checks.assay, "compact", str(folder), "--watch", "--idle", "2"], stdout=subprocess.PIPE)
    _, status, usage = os.wait4(watch.pid, 0)
    watch.returncode = os.waitstatus_to_exitcode(status)
    watch.stdout.close()
    seconds = usage.ru_utime + usage.ru_stime
    assert watch.returncode == 0 and seconds < 1, f"exit {watch.returncode}, {seconds:.2f} s of processor time"
    return f"{seconds:.2f} s of processor time"


def check_stopped_watch(checks: Checks, folder: pathlib.Path) -> None:
    watch = subprocess.Popen([checks.assay, "compact", str(folder), "--watch"], stdout=subprocess.PIPE, text=True)
    numpy.save(folder / "x.npy", numpy.ones(4))
    deadline = time.monotonic() + 10
    while (folder / "x.npy").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    watch.send_signal(signal.SIGINT)
    output = watch.communicate(timeout=10)[0]
    assert watch.returncode == 0 and "replaced 1 file" in output, f"exit {watch.returncode}: {output}"


def check_kills(checks: Checks, folder: pathlib.Path, rounds: int) -> str:
    """kill -9 at any moment; the next run goes on where the last one stopped."""
    rng = numpy.random.default_rng(9)
    written: dict[str, numpy.ndarray] = {}
    killed = touched = 0
    longest = 0.02  # that a run on this machine takes when it is let be
    count_done = lambda: sum(1 for p in folder.rglob("*.stats.json"))  # noqa: E731
    for i in range(rounds):
        for k in range(12):
            name = f"{k % 3}/x_{i}_{k}.npy"
            (folder / name).parent.mkdir(exist_ok=True)
            written[name] = rng.standard_normal(64).astype(numpy.float32)
            numpy.save(folder / name, written[name])
            os.utime(folder / name, (1e9, 1e9))
        done, start = count_done(), time.monotonic()
        run = subprocess.Popen([checks.assay, "compact", str(folder), "--quiet", "--threads", str(1 + i % 3)],
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        try:
            if i % 4:  # most of the time of so short a run is its start; what comes behind it is of interest
                while run.poll() is None and count_done() == done:
                    pass
                run.wait(checks.random.random() ** 2 * 0.03)
            else:
                run.wait(checks.random.random() * longest * 1.2)
                longest = max(0.02, (longest + time.monotonic() - start) / 2)
        except subprocess.TimeoutExpired:
            run.kill()
            longest *= 1 if i % 4 else 1.05
        complaint = run.communicate()[1]
        killed += run.returncode == -signal.SIGKILL
        assert run.returncode in (0, -signal.SIGKILL), f"round {i}: exit {run.returncode}: {complaint}"
        touched += run.returncode != 0 and count_done() > done
        verify(folder, written)
        if i % 10 == 9:  # else the folder grows and later rounds would be about the scan
            checks.run(folder)
            assert verify(folder, written) == len(written), f"round {i}: not all were replaced"
            left = [p for p in folder.rglob("*") if p.is_file() and not p.name.endswith(".stats.json")]
            assert not left, f"round {i}: left over: {left[:3]}"
            written.clear()
            for path in list(folder.iterdir()):
                shutil.rmtree(path)
    return f"{rounds} rounds, {killed} killed, {touched} of them among the files"


def check_full_disk(checks: Checks, folder: pathlib.Path) -> str:
    """No room for statistics: everything stays, exit code 2; with room again the next run finishes."""
    disk = folder / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(disk)],
                             capture_output=True).returncode == 0
    try:
        written = {}
        rng = numpy.random.default_rng(2)
        for i in range(8):
            written[f"x_{i}.npy"] = rng.standard_normal(500).astype(numpy.float32)
            numpy.save(disk / f"x_{i}.npy", written[f"x_{i}.npy"])
        settle(disk)
        limit = {}
        if mounted:
            ballast = os.open(disk / "ballast", os.O_WRONLY | os.O_CREAT)
            try:
                while os.write(ballast, b"\0" * 512):
                    pass
            except OSError:
                os.close(ballast)
        else:  # the same at the write: no file may be longer than nothing
            def no_room() -> None:
                import resource
                signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
            limit = {"preexec_fn": no_room}
        before = sorted(p.name for p in disk.iterdir())
        for flags in ([], ["--keep-going"]):
            done = checks.run(disk, *flags, code=2, **limit)
            assert "cannot be written" in done.stderr, done.stderr
            assert sorted(p.name for p in disk.iterdir()) == before, "something was written or removed"
            assert verify(disk, written) == 0
        (disk / "ballast").unlink(missing_ok=True)
        checks.run(disk)
        assert verify(disk, written) == len(written)
    finally:
        if mounted:
            subprocess.run(["umount", str(disk)], check=False)
    return "tmpfs" if mounted else "limit of file sizes"


def check_full_disk_watch(checks: Checks, folder: pathlib.Path) -> str:
    """A watch outlives a full disk and ends by itself all the same."""
    numpy.save(folder / "x.npy", numpy.arange(300.0))

    def no_room() -> None:
        import resource
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    done = checks.run(folder, "--watch", "--idle", "1", code=2, preexec_fn=no_room)
    assert (folder / "x.npy").exists() and "cannot be written" in done.stderr, done.stderr
    return ""


def statistics_cover(path: pathlib.Path, name: str, made: Made) -> None:
    stated = json.loads(path.read_text())
    assert stated["source"]["name"] == pathlib.Path(name).name, f"{name}: statistics of {stated['source']}"
    for list_name, arrays in (("tensors", made.arrays), ("others", getattr(made, "others", []))):
        tensors = stated.get(list_name, [])
        assert len(tensors) == len(arrays), f"{name}: {len(tensors)} of {len(arrays)} {list_name}"
        for tensor, array in zip(tensors, arrays):
            assert tensor["crc32"] == crc(array) and tensor["shape"] == list(array.shape), f"{name}: {tensor}"
            assert tensor["max"] == array.max() and tensor["min"] == array.min(), f"{name}: {tensor}"


def extremes_cover(path: pathlib.Path, name: str, made: Made) -> None:
    found = numpy.load(path)
    pair = lambda array: [array.min(), array.max()]  # noqa: E731
    if path.suffix == ".npy":
        assert found.tolist() == [x.item() for x in pair(made.arrays[0])], f"{name}: {found}"
        return
    assert numpy.array_equal(found["inputs"], numpy.array([pair(a) for a in made.arrays])), f"{name}: {found['inputs']}"
    others = getattr(made, "others", [])
    assert ("others" in found) == bool(others), name
    if others:
        assert numpy.array_equal(found["others"], numpy.array([pair(a) for a in others])), name


def check_random_folders(checks: Checks, folder: pathlib.Path) -> str:
    """Whatever a folder holds: a file that is gone had nothing but tensors, and all of their numbers are covered."""
    define_subclass()
    gone = kept = 0
    for i in range(checks.folders):
        place = folder / str(i)
        files = random_folder(checks.random, place)
        form = checks.random.choice(["stats", "min_max"])
        run = lambda *flags: subprocess.run([checks.assay, "compact", str(place), "--as", form, *flags],  # noqa: E731
                                            capture_output=True, text=True, timeout=60)
        planned = run("--dry-run")
        assert {p.relative_to(place).as_posix(): p.read_bytes() for p in place.rglob("*") if p.is_file()} == {
            name: made.content for name, made in files.items()}, f"folder {i}: a dry run changed something"
        done = run()
        assert planned.returncode == done.returncode in (0, 1), f"folder {i}: {planned.stderr}{done.stderr}"
        assert planned.stderr == done.stderr, f"folder {i}: a dry run told something else\n{planned.stderr}{done.stderr}"
        replacements = set()
        for name, made in files.items():
            path = place / name
            if path.exists():
                assert path.read_bytes() == made.content, f"folder {i}: {name} was written over ({form})"
                kept += 1
                continue
            gone += 1
            assert not made.rest, f"folder {i}: {name} is gone, and it held more than tensors"
            stem = name[:-4] + "_min_max.npy" if name.endswith(".npy") else name + "_min_max.npz"
            replacement = place / (name + ".stats.json" if form == "stats" else stem)
            assert replacement not in replacements, f"folder {i}: {replacement} stands for two files"
            replacements.add(replacement)
            (statistics_cover if form == "stats" else extremes_cover)(replacement, name, made)
        after = {p: p.read_bytes() for p in place.rglob("*") if p.is_file()}
        again = run()
        assert again.stderr == done.stderr and {p: p.read_bytes() for p in place.rglob("*") if p.is_file()} == after, (
            f"folder {i}: a second run did something else")
    return f"{checks.folders} folders, {gone} files replaced, {kept} kept"


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--folders", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    checks = Checks(args.bin.resolve(), args.seed, args.folders)
    for name, body in (("min_max of every type", check_min_max_types), ("min_max as the script wrote it", check_min_max_fixture),
                       ("folders of all kinds", check_random_folders), ("long names", check_mapping_rows),
                       ("long names that cannot be noted", check_mapping_trouble), ("half-written files", check_half_written),
                       ("a writer that is hidden", check_hidden_writer), ("the owner of statistics", check_owner),
                       ("a writer beside it", check_writer_beside), ("folders that are renamed", check_renamed_folders), ("a quiet watch", check_quiet_watch),
                       ("a watch that is stopped", check_stopped_watch), ("a full disk", check_full_disk),
                       ("a full disk while watching", check_full_disk_watch)):
        checks.check(name, lambda folder, body=body: body(checks, folder))
    checks.check("kill -9", lambda folder: check_kills(checks, folder, args.rounds))
    print(f"{checks.passed} passed, {checks.failed} failed" + (f", {checks.skipped} skipped" if checks.skipped else ""))
    return checks.failed > 0


if __name__ == "__main__":
    sys.exit(main())
