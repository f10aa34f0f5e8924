import errno
import fcntl
import os
import subprocess
import sys
import time

import pytest

from upwind.errors import InputError, RunError
from upwind.runs import files


def test_a_file_is_replaced_and_nothing_is_left_beside_it(tmp_path):
    path = tmp_path / "a.json"
    files.write_json(path, {"n": 1})
    files.write_json(path, {"n": 2})
    assert files.read_json(path) == {"n": 2}
    assert list(tmp_path.iterdir()) == [path]


def test_a_write_that_fails_leaves_what_was_there(tmp_path, monkeypatch):
    path = tmp_path / "a"
    files.write(path, b"good")

    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(RunError, match="the disk is full"), files.disk_errors_said(tmp_path):
        files.write(path, b"better")
    assert path.read_bytes() == b"good"
    assert list(tmp_path.iterdir()) == [path]


def test_other_errors_are_not_called_a_full_disk(tmp_path):
    with (
        pytest.raises(RunError, match="cannot be used: No such file"),
        files.disk_errors_said(tmp_path),
    ):
        files.write(tmp_path / "no" / "a", b"")


def test_a_damaged_document_is_named(tmp_path):
    (tmp_path / "a.json").write_text('{"n": ')
    with pytest.raises(InputError, match=r"a\.json is damaged"):
        files.read_json(tmp_path / "a.json")


def test_a_lock_is_waited_for_and_dies_with_its_process(tmp_path):
    code = (
        "import sys, time; from pathlib import Path; from upwind.runs import files\n"
        "with files.locked(Path(sys.argv[1])):\n    print('held', flush=True); time.sleep(60)"
    )
    holder = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", code, str(tmp_path / "lock")],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert holder.stdout.readline() == "held\n"
        with open(tmp_path / "lock") as file, pytest.raises(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        holder.kill()
        start = time.monotonic()
        with files.locked(tmp_path / "lock"):
            assert time.monotonic() - start < 10
    finally:
        holder.kill()
        holder.communicate()
