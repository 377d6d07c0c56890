#!/usr/bin/python3
"""`assay view`: what it answers, whom it refuses, and how it ends. The page over it in a browser: check_page.py."""
from __future__ import annotations

import contextlib
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from typing import Iterator

import page_dumps
from checker import Checker, run_checks, tail

ADDRESS = re.compile(r"http://127\.0\.0\.1:(\d+)/([0-9a-f]{32})/")
PATIENCE = 60  # seconds; the machine may be busy


class Server:
    def __init__(self, checker: Checker, folder: pathlib.Path, *words: object) -> None:
        self.run = subprocess.Popen([checker.program, "view", *map(str, words), "--no-browser"], cwd=folder, stdout=subprocess.PIPE,
                                    stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True, env={**os.environ, "TMPDIR": str(folder)})
        line = self.run.stdout.readline()
        found = ADDRESS.search(line)
        if found is None:
            raise AssertionError(f"no address: {line!r} {self.run.communicate()[1]}")
        self.port, self.token = int(found[1]), found[2]
        self.base = found[0]

    def ask(self, path: str, **query: object) -> dict:
        with urllib.request.urlopen(f"{self.base}{path}?{urllib.parse.urlencode(query)}", timeout=PATIENCE) as answer:
            return json.load(answer)

    def detail(self, number: int, **query: object) -> list[dict]:
        with urllib.request.urlopen(f"{self.base}api/detail?{urllib.parse.urlencode({'id': number, **query})}", timeout=PATIENCE) as answer:
            return [json.loads(line) for line in answer]

    def raw(self, path: str, method: str = "GET", **headers: str) -> int:
        """The status of an answer to exactly these headers."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for name, value in headers.items():
            connection.putheader(name, value)
        connection.endheaders()
        status = connection.getresponse().status
        connection.close()
        return status


@contextlib.contextmanager
def serving(checker: Checker, folder: pathlib.Path, *words: object) -> Iterator[Server]:
    server = Server(checker, folder, *words)
    try:
        yield server
    finally:
        server.run.kill()
        server.run.communicate()


def equal(found: object, wanted: object, what: str) -> list[str]:
    return [] if found == wanted else [f"{what}: {found!r}, not {wanted!r}"]


def check_report(checker: Checker, folder: pathlib.Path) -> None:
    checker.start(["demo", "--output", "demo"], folder)
    checker.start(["compare", "demo/mine", "demo/golden", "--report", "sqlite", "--output", "out", "-q"], folder)
    with serving(checker, folder, "out") as server:
        run = server.ask("api/run")
        titles = [".id", *(column["title"] for column in run["data"]["page"]["columns"])]
        rows = lambda **query: [dict(zip(titles, row)) for row in server.ask("api/rows", **query)["rows"]]
        checker.report("run", equal((run["done"], run["rows"], run["data"]["summary"]["failed"]), (True, 71, 23), "counts"))
        everything = rows(count=50000)
        checker.report("all rows", equal([row[".id"] for row in everything], list(range(1, 72)), "numbers") +
                       equal(everything[0]["mine"], "000_embedding.pt", "name") + equal(everything[0]["mine_shape"], [16, 64], "shape"))
        checker.report("a page of rows", equal([row[".id"] for row in rows(**{"from": 10, "count": 3})], [11, 12, 13], "numbers"))
        checker.report("verdicts", equal(server.ask("api/rows", verdict="fail,error")["total"], 23, "total"))
        checker.report("words", equal(server.ask("api/rows", text="LAYERS.2 mlp")["total"], 7, "total"))
        checker.report("a pattern", equal(server.ask("api/rows", text="*.attention.q.*")["total"], 4, "total"))
        checker.report("a condition", equal({row["mine"] for row in rows(text="rel_l2 > 0.1 and max_abs < 0.5")},
                                            {"048_layers.2.mlp.activation.pt", "050_layers.2.mlp.output.pt"}, "names"))
        for text, wanted in (("layer == 3 and rel_l2 > 0.06", 14), ("layer >= 1", 51), ("count > 2000", 17), ("eps > 0.001", 71), ("count < 0", 0)):
            checker.report(text, equal(server.ask("api/rows", text=text)["total"], wanted, "rows"))
        worst = rows(sort="rel_l2", down=1, count=2)
        checker.report("sorted", equal([row["rel_l2"] >= 0.15 for row in worst], [True, True], "errors"))
        for what, text in (("half a condition", "rel_l2 >"), ("quotes", "\"'; DROP TABLE rows; --"), ("an unknown column", "nothing > 1")):
            try:
                found = server.ask("api/rows", text=text)["total"]
                checker.report(what, equal((found, text != "rel_l2 >"), (0, True), "rows"))
            except urllib.error.HTTPError as error:
                checker.report(what, equal((error.code, text), (400, "rel_l2 >"), "status"))
        checker.report("still whole", equal(server.ask("api/rows", sort="x\" DESC; DROP TABLE rows; --")["total"], 71, "total"))
        lines = server.detail(49)
        detail = lines[-1].get("detail", {})
        checker.report("a tensor that failed", equal((detail.get("shape"), detail.get("count")), ([16, 172], 2752), f"detail {tail(str(lines))}"))
        turned = server.detail(49, rows=1, columns=0)[-1].get("detail", {}).get("map", {})
        checker.report("other dimensions of the map", equal([turned.get(axis, {}).get("dim") for axis in ("rows", "columns")], [1, 0], "dimensions"))
        checker.report("a tensor that passed", equal(server.detail(1)[-1].get("detail", {}).get("shape"), [16, 64], "shape"))
        try:
            server.detail(4711)
            checker.report("no such row", ["an answer"])
        except urllib.error.HTTPError as error:
            checker.report("no such row", equal(error.code, 404, "status"))
        check_refusals(checker, server)
        check_odd_requests(checker, server)
        start = time.monotonic()
        server.run.send_signal(signal.SIGINT)
        _, said = server.run.communicate(timeout=PATIENCE)
        checker.report("Ctrl-C", equal((server.run.returncode, said), (0, ""), "end") + ([] if time.monotonic() - start < 10 else ["takes long"]))


def check_refusals(checker: Checker, server: Server) -> None:
    host = f"127.0.0.1:{server.port}"
    path = f"/{server.token}/api/run"
    wrong = f"/{'0' * 32}/api/run"
    for what, status, wanted in (
            ("itself", server.raw(path, Host=host), 200),
            ("localhost", server.raw(path, Host=f"localhost:{server.port}"), 200),
            ("its own origin", server.raw(path, Host=host, Origin=f"http://{host}"), 200),
            ("no token", server.raw("/api/run", Host=host), 403),
            ("another token", server.raw(wrong, Host=host), 403),
            ("half a token", server.raw(f"/{server.token[:16]}/", Host=host), 403),
            ("another host", server.raw(path, Host=f"evil.example:{server.port}"), 403),
            ("no host", server.raw(path), 403),
            ("a page of somebody else's", server.raw(path, Host=host, Origin="http://evil.example"), 403),
            ("a page of no origin", server.raw(path, Host=host, Origin="null"), 403),
            ("POST", server.raw(path, "POST", Host=host), 405),
            ("something else", server.raw(f"/{server.token}/etc/passwd", Host=host), 404),
            ("a way out", server.raw(f"/{server.token}/../../etc/passwd", Host=host), 404)):
        checker.report(f"asked by {what}", equal(status, wanted, "status"))
    with urllib.request.urlopen(server.base, timeout=PATIENCE) as answer:
        policy = answer.headers["Content-Security-Policy"]
        checker.report("policy", [] if "default-src 'none'" in policy and "connect-src 'self'" in policy else [policy])


def check_odd_requests(checker: Checker, server: Server) -> None:
    """No answer, or a refusal; the next request is answered."""
    for sent in (b"", b"GET", b"\r\n\r\n", b"GET / HTTP/1.1\r\n" + b"x" * 100_000, b"\x00\xff\r\n\r\n", b"GET /%zz%0 HTTP/1.1\r\nHost\r\n\r\n"):
        with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as connection:
            with contextlib.suppress(OSError):
                connection.sendall(sent)
                connection.shutdown(socket.SHUT_WR)
                connection.recv(100)
    checker.report("odd requests", equal(server.ask("api/run")["rows"], 71, "rows"))
    # Nobody waits for this one.
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as connection:
        connection.sendall(f"GET /{server.token}/api/detail?id=49 HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n\r\n".encode())
    checker.report("a tensor that nobody waits for", equal(server.ask("api/run")["rows"], 71, "rows"))


def check_dumps(checker: Checker, folder: pathlib.Path) -> None:
    page_dumps.write_large(folder / "large")
    with serving(checker, folder, folder / "large" / "mine", folder / "large" / "golden") as server:
        seen, end = [], time.monotonic() + PATIENCE
        while time.monotonic() < end:
            run = server.ask("api/run")
            seen.append(run["rows"])
            if run["done"]:
                break
        checker.report("dumps: done", equal((run["done"], run["rows"]), (True, 49992), "run") + ([] if seen == sorted(seen) else ["rows went away"]))
        checker.report("dumps: verdict", equal(run["data"]["summary"]["answer"], "fail", "answer"))
        chosen = server.ask("api/rows", choice="page")
        checker.report("dumps: a page of them", equal(len(chosen["rows"]), 49992, "rows"))
        server.run.send_signal(signal.SIGINT)
        server.run.communicate(timeout=PATIENCE)
        checker.report("dumps: Ctrl-C leaves nothing", equal([path.name for path in folder.glob("assay_view_*")], [], "left"))


def check_page_file(checker: Checker, folder: pathlib.Path) -> None:
    """The folder of a page alone: its rows, and its tensors from the dumps, paired as its command had it."""
    checker.start(["demo", "--output", "demo"], folder)
    for path in (folder / "demo" / "mine").iterdir():
        path.rename(path.with_name(path.name.replace("layers.", "blocks.")))
    words = ["compare", "demo/mine", "demo/golden", "--rename", r"blocks\.(.*)\.pt=layers.\1.npy"]
    checker.start([*words, "--report", "html", "--output", "out", "-q"], folder)
    page = next((folder / "out").glob("*.html"))
    for what, path in (("a folder of a page", "out"), ("a page", page)):
        with serving(checker, folder, path) as server:
            run = server.ask("api/run")
            checker.report(f"{what}: run", equal((run["done"], run["rows"], run["data"]["summary"]["failed"]), (True, 71, 23), "counts"))
            checker.report(f"{what}: filter", equal(server.ask("api/rows", text="rel_l2 > 0.1")["total"], 3, "rows"))
            worst = server.ask("api/rows", sort="rel_l2", down=1, count=1)["rows"][0]
            checker.report(f"{what}: sorted", equal("050_blocks.2.mlp.output.pt" in worst, True, "worst"))
            lines = server.detail(49)
            checker.report(f"{what}: a renamed tensor", equal(lines[-1].get("detail", {}).get("shape"), [16, 172], f"detail {tail(str(lines))}"))
    page.write_text(page.read_text().replace('id="rows">', 'id="rows">AAAA'))
    done = checker.start(["view", "out", "--no-browser"], folder)
    checker.report("a broken page", equal((done.returncode, "no page that assay wrote" in done.stdout), (2, True), f"said {done.stdout!r}"))
    page_dumps.write_large(folder / "large", 10_000)
    checker.start(["compare", "large/mine", "large/golden", "--report", "html", "--output", "part", "-q"], folder)
    with serving(checker, folder, "part") as server:
        end = time.monotonic() + PATIENCE
        while not (run := server.ask("api/run"))["done"] and time.monotonic() < end:
            time.sleep(0.2)
        checker.report("a page of a part: all rows", equal(run["rows"], 120_000, "rows"))


def check_faults(checker: Checker, folder: pathlib.Path) -> None:
    (folder / "empty").mkdir()
    (folder / "text.db").write_text("this is no database, and never was one\n" * 100)
    for what, words, wanted in (("nothing there", ["none"], "no such file"), ("an empty folder", ["empty"], "holds no report"),
                                ("no database", ["text.db"], "cannot be read as a report"), ("dumps that are not there", ["none", "no"], "none")):
        done = checker.start(["view", *words, "--no-browser"], folder)
        said = done.stdout.strip().split("\n")
        checker.report(what, equal((done.returncode, wanted in said[-1]), (2, True), f"said {said[-1]!r}"))


def spoilt(folder: pathlib.Path, name: str, script: str) -> str:
    """A copy of the report whose database was changed by its author."""
    (report,) = (folder / "out").glob("*.db")
    shutil.copy(report, folder / name)
    with contextlib.closing(sqlite3.connect(folder / name)) as database:
        database.executescript(script)
    return name


def check_hostile(checker: Checker, folder: pathlib.Path) -> None:
    """Databases that are made to take time, memory, files or other files' contents: never without end."""
    checker.start(["demo", "--output", "demo"], folder)
    checker.start(["compare", "demo/mine", "demo/golden", "--report", "sqlite", "--output", "out", "-q"], folder)
    endless = ("ALTER TABLE rows RENAME TO own; CREATE VIEW rows AS WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) "
               "SELECT own.* FROM own, c;")
    os.mkfifo(folder / "pipe.db")
    for what, name, wanted in (("rows without end", spoilt(folder, "endless.db", endless), "is no report of assay"),
                               ("a table of pages", spoilt(folder, "virtual.db", "DROP TABLE rows; CREATE VIRTUAL TABLE rows USING fts5(id);"),
                                "is no report of assay"), ("a pipe", "pipe.db", "is a pipe")):
        done = checker.start(["view", name, "--no-browser"], folder)
        checker.report(what, equal((done.returncode, wanted in done.stdout), (2, True), f"said {tail(done.stdout)}"))
    with serving(checker, folder, spoilt(folder, "long.db", "UPDATE rows SET name = hex(zeroblob(40000000)) WHERE id <= 5;")) as server:
        try:
            found = len(server.ask("api/rows")["rows"])
        except urllib.error.HTTPError as error:
            found = error.code
        checker.report("texts of 80 MB", equal(found, 500, "status") + equal(server.ask("api/rows", verdict="fail")["total"], 23, "total"))
    # A journal beside it that would be rolled back into it, and a database that wants one.
    spoilt(folder, "journal.db", "PRAGMA journal_mode = WAL;")
    (folder / "journal.db-journal").write_bytes(bytes.fromhex("d9d505f920a163d7") + bytes(4096))
    before = {path.name for path in folder.iterdir()}
    with serving(checker, folder, "journal.db") as server:
        checker.report("a journal", equal(server.ask("api/rows")["total"], 71, "total"))
    checker.report("no file beside it", equal({path.name for path in folder.iterdir()}, before, "files"))
    # Its dumps are whatever the file says: a file system takes long to list. Nobody waits; then Ctrl-C.
    with serving(checker, folder, spoilt(folder, "all.db", "UPDATE run SET value = '/' WHERE key IN ('mine', 'golden');")) as server:
        ask = f"GET /{server.token}/api/detail?id=49 HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n\r\n".encode()
        with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as connection:
            connection.sendall(ask)
            connection.recv(100)
            start = time.monotonic()
            server.run.send_signal(signal.SIGINT)
            server.run.wait(timeout=PATIENCE)
            checker.report("Ctrl-C while a tensor is looked at", equal(server.run.returncode, 0, "end") +
                           ([] if time.monotonic() - start < 10 else ["takes long"]))
    idle = []
    with serving(checker, folder, "out") as server:
        for _ in range(20):
            idle.append(socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE))
        checker.report("twenty who say nothing", equal(server.ask("api/run")["rows"], 71, "rows"))
        with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as connection:
            for each in f"GET /{server.token}/api/run HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n\r\n".encode():
                connection.sendall(bytes([each]))
                time.sleep(0.001)
            checker.report("one who speaks slowly", equal(connection.recv(12), b"HTTP/1.1 200", "answer"))
        for each in idle:
            each.close()


def check(checker: Checker) -> None:
    for name, part in (("report", check_report), ("dumps", check_dumps), ("page_file", check_page_file), ("faults", check_faults),
                       ("hostile", check_hostile)):
        if checker.wants(name):
            part(checker, checker.folder(name))


if __name__ == "__main__":
    sys.exit(run_checks(__doc__, Checker, check))
