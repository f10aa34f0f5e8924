"""A run's folder: what is in it, and reading it.

runs/<id>/
  config.json             asked, config (resolved), data (facts and fingerprint)
  environment.json        versions, revision, machine
  epochs.jsonl            one line per epoch
  checkpoint.safetensors  the training as of its last saved epoch
  model.safetensors       the kept model
  weights.npz             weight of every node, or of ``nodes``, at up to 50 epochs
  result.json             scores by selection rule, calibration, time
  done                    empty; there when all of the above is final
"""

import dataclasses
import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, final

import torch
from torch import Tensor
from torch_geometric.data import Data

from upwind import methods, nets
from upwind.data import PARTS
from upwind.errors import InputError
from upwind.runs import files
from upwind.train import Config
from upwind.train.config import DATA_FIELDS


@final
class Run:
    """The record in a folder; nothing is read before it is asked for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @classmethod
    def of(cls, root: Path, config: Config, data: Data) -> "Run":
        """The record that this configuration on this data has under ``root``."""
        return cls(root / identity(config, facts(data)))

    @property
    def id(self) -> str:
        """The hash of the resolved configuration, data included."""
        return self.folder.name

    def check_settings(self, config: Config) -> None:
        """Refuse a record that an upwind with other defaults made under this id."""
        if not (self.folder / "config.json").exists():
            return
        stored, wanted = training_settings(self.config), training_settings(config)
        stored["options"] = {  # those that a method gained since then were at their default
            name: dataclasses.asdict(methods.get(name).Options()) | options
            for name, options in stored["options"].items()
        }
        for name, value in wanted.items():
            if stored[name] != value:
                raise InputError(
                    f"{self.folder} was made when the default of {name} was {stored[name]!r}, not "
                    f"{value!r}; keep it elsewhere and start again"
                )

    @property
    def is_done(self) -> bool:
        """Whether it trained to the end."""
        return (self.folder / "done").exists()

    @property
    def config(self) -> Config:
        """The resolved configuration."""
        known = {field.name for field in dataclasses.fields(Config)}
        stored = self._part("config.json")["config"]
        return Config(**{name: value for name, value in stored.items() if name in known})

    @property
    def asked(self) -> dict[str, Any]:
        """The settings as they were asked for."""
        asked: dict[str, Any] = self._part("config.json")["asked"]
        return asked

    @property
    def environment(self) -> dict[str, Any]:
        """Versions, revision and machine."""
        environment: dict[str, Any] = self._part("environment.json")
        return environment

    @property
    def data(self) -> dict[str, Any]:
        """Facts about the data: sizes, names, fingerprint."""
        data: dict[str, Any] = self._part("config.json")["data"]
        return data

    @property
    def result(self) -> dict[str, Any]:
        """Scores, calibration, time; only of a run that is done."""
        if not self.is_done:
            raise InputError(f"{self.folder} is not finished; give its command again to go on")
        result: dict[str, Any] = self._part("result.json")
        return result

    def epochs(self) -> Iterator[dict[str, Any]]:
        """Its epochs so far; a line that is being written is left out."""
        path = self.folder / "epochs.jsonl"
        if not path.exists():
            return
        with open(path) as lines:
            for number, line in enumerate(lines, 1):
                if line.endswith("\n"):
                    try:
                        yield json.loads(line)
                    except ValueError as error:
                        raise InputError(
                            f"{path} is damaged in line {number} ({error}); delete its run and "
                            "start it again"
                        ) from None

    def _part(self, name: str) -> Any:
        path = self.folder / name
        if not path.exists():
            raise InputError(f"{self.folder} is no run: it has no {name}")
        return files.read_json(path)


def find_runs(root: Path) -> list[Run]:
    """The runs under a folder, oldest first."""
    configs = sorted(root.glob("*/config.json"), key=lambda path: path.stat().st_mtime)
    return [Run(path.parent) for path in configs]


def identity(config: Config, data: Mapping[str, Any]) -> str:
    """Twelve hex digits of SHA-256 over the resolved configuration and the data's fingerprint.

    Where the data came from is not part of it: the same graph from another path is the same. Nor
    are settings at their default, so that a setting that upwind gains later leaves old runs found.
    A backbone of somebody's own counts with its file: a network that was edited is another one.
    """
    defaults = dataclasses.asdict(Config())
    settings = {
        name: value for name, value in training_settings(config).items() if value != defaults[name]
    }
    settings["options"] = {
        name: methods.set_apart(name, options) for name, options in config.options.items()
    }
    if ":" in config.backbone:
        settings["backbone_file"] = nets.fingerprint(config.backbone)
    text = json.dumps([settings, data["name"], data["shift"], data["sha256"]], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def training_settings(config: Config) -> dict[str, Any]:
    """The settings that say how to train, not on what."""
    settings = dataclasses.asdict(config)
    return {name: value for name, value in settings.items() if name not in DATA_FIELDS}


def facts(data: Data) -> dict[str, Any]:
    """What a record says of its data."""
    return {
        "name": data.name,
        "shift": data.shift,
        "nodes": int(data.num_nodes),
        "edges": int(data.edge_index.shape[1]),
        "features": int(data.x.shape[1]),
        "classes": int(data.num_classes),
        "environments": int(data.num_envs),
        "metric": data.metric,
        "label_names": list(data.label_names),
        "parts": {part: int(data[f"{part}_mask"].sum()) for part in PARTS},
        "sha256": _fingerprint(data),
    }


def _fingerprint(data: Data) -> str:
    digest = hashlib.sha256()
    on_disk = data.stored["files"] if hasattr(data, "stored") else {}
    for name in ("x", "edge_index", "edge_weight", "y", *(f"{p}_mask" for p in PARTS), "env_id"):
        if name in ("x", "edge_index", "edge_weight") and name in on_disk:
            digest.update(on_disk[name]["sha256"].encode())  # hashed when it was written
        elif (value := getattr(data, name, None)) is not None:
            for part in _dense_parts(value):
                digest.update(f"{part.dtype}{tuple(part.shape)}".encode())
                digest.update(part.contiguous().numpy().tobytes())
    return digest.hexdigest()


def _dense_parts(value: Tensor) -> list[Tensor]:
    if value.layout == torch.sparse_csr:
        return [value.crow_indices(), value.col_indices(), value.values()]
    return [value]
