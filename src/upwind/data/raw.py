"""Where the raw files of a data set are: a given folder, the cache, or fetched into the cache."""

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pooch
from numpy.typing import NDArray

from upwind.data.arrays import read_arrays
from upwind.data.download import fetch
from upwind.data.sources import Source, source
from upwind.errors import InputError

VARIABLE = "UPWIND_DATA"


def cache_folder() -> Path:
    """Where fetched files are kept."""
    return Path(pooch.os_cache("upwind"))


@dataclass(frozen=True)
class RawFiles:
    """Raw files, looked up by their path in PyG's layout, e.g. ``Twitch/DE/raw/DE.npz``.

    Attributes:
        root: A folder in PyG's layout that is only read; by default what UPWIND_DATA names.
        cache: Where files that are not there are looked for next, and fetched to.
        find_source: Gives the address and the hash of a file.
    """

    root: Path | None = None
    cache: Path = field(default_factory=cache_folder)
    find_source: Callable[[str], Source] = source

    def path(self, name: str) -> Path:
        """The file on this machine, fetched if need be."""
        root = self.root
        if root is None and os.environ.get(VARIABLE):
            root = Path(os.environ[VARIABLE])
        if root is not None and not root.is_dir():
            raise InputError(
                f"the data folder {root} does not exist; name another with --data or {VARIABLE}."
            )
        for folder in (root, self.cache):
            if folder is not None and (folder / name).is_file():
                return folder / name
        origin = self.find_source(name)
        try:
            attempts = 1 if origin.offline else 4
            fetch(origin.url, self.cache / name, sha256=origin.sha256, attempts=attempts)
        except InputError as error:
            looked = f"neither in {root} nor in" if root is not None else "not in"
            gone = f" {origin.offline}." if origin.offline else ""
            raise InputError(
                f"{name} is {looked} {self.cache}, and {error}{gone} Put the file at {name} below "
                f"a folder of your own, in PyG's layout, and name that with --data or {VARIABLE}."
            ) from error
        return self.cache / name

    def original(self, name: str) -> bytes:
        """The content of a file, if it is the original: what is not might even run code."""
        path, expected = self.path(name), self.find_source(name).sha256
        content = path.read_bytes()
        found = hashlib.sha256(content).hexdigest()
        if found != expected:
            raise InputError(
                f"{path} is not the original file (SHA-256 {found[:12]}..., expected "
                f"{str(expected)[:12]}...), so it was not opened; it may be cut short: replace it, "
                "or delete it, and it is fetched anew."
            )
        return content

    def npz(self, name: str) -> dict[str, NDArray[Any]]:
        """The arrays of an npz file; a pickle in it is refused."""
        path = self.path(name)
        if self.find_source(name).sha256 is not None:
            self.original(name)
        try:
            return read_arrays(path)
        except InputError as error:
            if not path.is_relative_to(self.cache):
                raise
            path.unlink(missing_ok=True)
            raise InputError(f"what was fetched as {name} was not kept: {error}") from error
