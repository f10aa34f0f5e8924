"""Fetching a file: resumed where it broke off, kept only once its hash matched."""

import contextlib
import hashlib
import http.client
import os
import ssl
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from filelock import FileLock
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

from upwind.errors import InputError

CHUNK = 1 << 16


class _Broken(Exception):
    """The transfer ended early; what came so far is in the part file."""


def fetch(
    url: str,
    target: Path,
    *,
    sha256: str | None,
    attempts: int = 4,
    timeout: float = 30.0,
    pause: float = 1.0,
) -> None:
    """Fetch a file to `target`, which appears at once and whole, or not at all.

    What has come is kept beside it as ``.part``. After a cut or a stall of `timeout` seconds the
    next attempt, in this process or a later one, asks for the rest only. If the whole has the wrong
    hash it is thrown away: once silently, when it was pieced together, else with an error.

    Args:
        url: An http or https address.
        target: Where the file goes.
        sha256: Its hash; None if unknown, and then nothing is resumed: pieces cannot be checked.
        attempts: How often to try.
        timeout: Seconds of silence after which a connection counts as dead.
        pause: Seconds before the second attempt, doubled before each further one.
    """
    part = target.with_name(f"{target.name}.part")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{part}.lock"):
            if not target.exists():  # another process may just have fetched it
                _fetch_locked(url, target, part, sha256, attempts, timeout, pause)
    except OSError as error:
        raise InputError(
            f"{target} could not be written ({error.strerror or error}); free some space there."
        ) from error


def _fetch_locked(
    url: str,
    target: Path,
    part: Path,
    sha256: str | None,
    attempts: int,
    timeout: float,
    pause: float,
) -> None:
    trouble = ""
    for attempt in range(attempts):
        if attempt:
            time.sleep(pause * 2 ** (attempt - 1))
        if sha256 is None:
            part.unlink(missing_ok=True)
        pieced = part.exists() and part.stat().st_size > 0
        try:
            _transfer(url, part, timeout)
        except _Broken as broken:
            trouble = str(broken)
            continue
        found = _sha256(part)
        if sha256 in (None, found):
            os.replace(part, target)
            return
        part.unlink()
        trouble = (
            f"what {url} serves is another file (SHA-256 {found[:12]}..., not {sha256[:12]}...)"
        )
        if not pieced:
            raise InputError(f"{trouble}; it was not kept.")
    raise InputError(f"fetching {url} failed, {attempts} of {attempts} times (last: {trouble}).")


def _transfer(url: str, part: Path, timeout: float) -> None:
    """Append what is missing to the part file."""
    have = part.stat().st_size if part.exists() else 0
    request = urllib.request.Request(url, headers={"User-Agent": "upwind"})
    if have:
        request.add_header("Range", f"bytes={have}-")
    try:
        with urllib.request.urlopen(request, timeout=timeout) as answer:
            resumed = answer.status == 206
            if resumed and not answer.headers.get("Content-Range", "").startswith(f"bytes {have}-"):
                part.unlink()
                raise _Broken("the server sent another range than asked for")
            if not resumed:
                have = 0
            length = answer.headers.get("Content-Length")
            total = have + int(length) if length else None
            with part.open("ab" if resumed else "wb") as file:
                _copy(answer, file, have, total, part.name.removesuffix(".part"))
    except urllib.error.HTTPError as error:
        error.close()
        if error.code == 416:  # nothing is missing, or the part is not of this file: the hash tells
            return
        raise _Broken(f"the server answers {error.code} {error.reason}") from error
    except urllib.error.URLError as error:
        raise _Broken(f"no connection: {error.reason}") from error
    except (TimeoutError, ConnectionError, ssl.SSLError, http.client.HTTPException) as error:
        raise _Broken(f"the connection broke off: {error or type(error).__name__}") from error


def _copy(
    answer: http.client.HTTPResponse, file: IO[bytes], have: int, total: int | None, name: str
) -> None:
    with _progress(name, have, total) as bar:
        while chunk := answer.read1(CHUNK):
            file.write(chunk)
            have += len(chunk)
            bar.update(bar.task_ids[0], completed=have)
    if total is not None and have < total:
        raise _Broken(f"{have} of {total} bytes came")


@contextlib.contextmanager
def _progress(name: str, have: int, total: int | None) -> Iterator[Progress]:
    columns = TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn()
    quiet = not sys.stderr.isatty()
    with Progress(*columns, console=Console(stderr=True), disable=quiet, transient=True) as bar:
        bar.add_task(name, completed=have, total=total)
        yield bar


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
