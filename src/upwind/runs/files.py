"""Files that are either as they were or as they should be, whatever happens in between."""

import contextlib
import errno
import fcntl
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from upwind.errors import InputError, RunError

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def write(path: Path, content: bytes) -> None:
    """Replace the file's content at once, or leave it alone."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open(temporary, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def write_json(path: Path, content: Any) -> None:
    """The same for a JSON document."""
    write(path, (json.dumps(content, indent=1) + "\n").encode())


def read_json(path: Path) -> Any:
    """What is in the document; a file that is no JSON is named."""
    try:
        return json.loads(path.read_bytes())
    except ValueError as error:
        raise InputError(
            f"{path} is damaged ({error}); delete its run and start it again"
        ) from None


@contextlib.contextmanager
def disk_errors_said(folder: Path) -> Iterator[None]:
    """Turn what a disk can answer into one sentence."""
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            raise RunError(
                f"the disk is full ({error.strerror}): {folder} keeps its last good checkpoint; "
                "make room and give the same command again"
            ) from error
        raise RunError(f"{error.filename or folder} cannot be used: {error.strerror}") from error


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock on this file, waiting for whoever holds it; it dies with its process."""
    with open(path, "a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
