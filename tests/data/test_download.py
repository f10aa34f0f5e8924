"""Fetching survives a server that cuts, stalls and lies."""

import hashlib
import http.server
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from upwind.data.download import fetch
from upwind.errors import InputError

CONTENT = bytes(range(256)) * 2000
SHA256 = hashlib.sha256(CONTENT).hexdigest()


class Server(http.server.ThreadingHTTPServer):
    """Serves `content`; misbehaves as often as `faults` says, then no more."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.content, self.faults, self.ranges = CONTENT, [], []
        self.woken = threading.Event()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}/file.npz"


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        fault = self.server.faults.pop(0) if self.server.faults else None
        self.server.ranges.append(self.headers.get("Range"))
        content, start = self.server.content, 0
        if fault == "busy":
            self.send_error(503)
            return
        asked = self.headers.get("Range")
        if asked and fault != "whole":
            start = int(asked.removeprefix("bytes=").removesuffix("-"))
            if start >= len(content):
                self.send_error(416)
                return
            sent = start + 1 if fault == "wrong range" else start
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {sent}-{len(content) - 1}/{len(content)}")
        else:
            self.send_response(200)
        rest = content[start:]
        self.send_header("Content-Length", str(len(rest)))
        self.end_headers()
        if fault in ("cut", "stall"):
            rest = rest[: len(rest) // 2]
        self.wfile.write(rest)
        if fault == "stall":
            self.wfile.flush()
            self.server.woken.wait(10)

    def log_message(self, *args):
        pass


@pytest.fixture
def server():
    server = Server()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield server
    server.woken.set()
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def get(server, tmp_path):
    """Fetches the served file, and returns what is in its place."""

    def to(sha256=SHA256, **options):
        target = tmp_path / "cache" / "file.npz"
        fetch(server.url, target, sha256=sha256, pause=0.0, **options)
        return target.read_bytes()

    return to


@pytest.fixture
def part(tmp_path):
    (tmp_path / "cache").mkdir()
    return tmp_path / "cache" / "file.npz.part"


def kept(tmp_path):
    return sorted(file.name for file in (tmp_path / "cache").iterdir() if file.suffix != ".lock")


def test_a_file_arrives_whole_and_alone(get, tmp_path):
    assert get() == CONTENT
    assert kept(tmp_path) == ["file.npz"]


@pytest.mark.parametrize("fault", ["cut", "stall"])
def test_a_broken_transfer_goes_on_where_it_broke_off(fault, get, server):
    server.faults = [fault]
    assert get(timeout=0.3) == CONTENT
    assert server.ranges == [None, f"bytes={len(CONTENT) // 2}-"]


def test_a_later_process_goes_on_too(get, server, part):
    part.write_bytes(CONTENT[:1000])
    assert get() == CONTENT
    assert server.ranges == ["bytes=1000-"]


def test_a_server_without_ranges_starts_again(get, server):
    server.faults = ["cut", "whole"]
    assert get() == CONTENT


def test_a_server_that_sends_another_range_is_not_believed(get, server):
    server.faults = ["cut", "wrong range"]
    assert get() == CONTENT


def test_a_busy_server_is_asked_again(get, server):
    server.faults = ["busy", "busy"]
    assert get() == CONTENT


def test_a_part_that_is_whole_already_is_only_checked(get, server, part):
    part.write_bytes(CONTENT)
    assert get() == CONTENT


@pytest.mark.parametrize("rubbish", [b"x" * 1000, b"x" * (len(CONTENT) + 7)])
def test_a_part_of_something_else_is_thrown_away_and_all_is_fetched(rubbish, get, server, part):
    part.write_bytes(rubbish)
    assert get() == CONTENT
    assert server.ranges[-1] is None


def test_another_content_is_refused_and_not_kept(get, server, tmp_path):
    server.content = CONTENT[:-1] + b"!"
    with pytest.raises(InputError, match=r"is another file .*it was not kept"):
        get()
    assert kept(tmp_path) == []
    assert len(server.ranges) == 1


def test_an_endless_fault_ends_in_one_sentence_and_keeps_what_came(get, server, tmp_path):
    server.faults = ["cut"] * 3
    with pytest.raises(
        InputError, match=r"failed, 3 of 3 times \(last: 448000 of 512000 bytes came\)"
    ):
        get(attempts=3)
    assert kept(tmp_path) == ["file.npz.part"]
    assert get() == CONTENT


def test_nobody_there_is_said_so(tmp_path):
    with pytest.raises(InputError, match="no connection"):
        fetch("http://127.0.0.1:9/x", tmp_path / "x", sha256=None, attempts=1)


def test_without_a_hash_nothing_is_pieced_together(get, server, part):
    part.write_bytes(CONTENT[:1000])
    server.faults = ["cut"]
    assert get(sha256=None) == CONTENT
    assert server.ranges == [None, None]


def test_many_at_once_fetch_it_once(get, server):
    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(lambda _: get(), range(4))) == {CONTENT}
    assert len(server.ranges) == 1


def test_a_place_that_cannot_be_written_is_named(server, tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(InputError, match="could not be written"):
        fetch(server.url, tmp_path / "file" / "x", sha256=None)
