"""Everything that changes while a model trains, made from a configuration and its data."""

import copy
import dataclasses
from typing import Any

import numba
import torch
from torch import nn
from torch.optim.lr_scheduler import ReduceLROnPlateau
from torch_geometric.data import Data

from upwind import methods, nets, sampling
from upwind.data import PARTS
from upwind.errors import InputError
from upwind.train import randomness
from upwind.train.config import Config
from upwind.train.prepare import prepare
from upwind.train.selection import RULES, Best
from upwind.train.weights import WeightLog


class Session:
    """A training in progress; ``state_dict`` holds all that a later process needs to go on.

    Attributes:
        epoch: How many epochs are done.
        best: The epoch that the selection rule would keep now.
        best_model: That epoch's parameters and buffers.
    """

    def __init__(self, config: Config, data: Data) -> None:
        # numba first: starting its threads sets the number that torch will use.
        numba.set_num_threads(min(config.threads, numba.config.NUMBA_NUM_THREADS))
        torch.set_num_threads(config.threads)
        self.config = config
        self.data = prepare(data, row_normalise=config.row_normalise)
        self.device = torch.device(config.device)

        kind: Any = sampling.get(config.sampler)  # each takes its own options
        options = {name: getattr(config, name) for name in kind.options}
        self.sampler: sampling.Sampler = kind(self.data, seed=config.seed, **options)
        # A graph that is mapped from disk is scored in batches, as it is trained on.
        self.whole: sampling.Batch | None = None
        if config.sampler != "neighbour" or not hasattr(data, "stored"):
            self.whole = sampling.whole(self.data).to(self.device)
        self.splits = {
            name: (self.data[f"{name}_mask"] & (self.data.y >= 0)).to(self.device)
            for name in PARTS
            if bool((self.data[f"{name}_mask"] & (self.data.y >= 0)).any())
        }

        randomness.seed_everything(config.seed)
        self.model = nets.build(
            config.backbone, self.data.x.shape[1], outputs(data), dataclasses.asdict(config)
        ).to(self.device)
        self.method = methods.build(config.options)
        self.method.on_start(self.model, self.data)
        self.method.to(self.device)
        self.optimiser = torch.optim.Adam(
            _groups(self.model, self.method, config), lr=config.lr, fused=True
        )
        self.scheduler: ReduceLROnPlateau | None = None
        if config.schedule == "plateau":
            self.scheduler = ReduceLROnPlateau(self.optimiser, factor=0.5, patience=100)
        randomness.seed_everything(config.seed)

        self.epoch = 0
        self.best = Best(config.select, config.select_by or data.metric)
        self.best_model = copy.deepcopy(self.model.state_dict())
        self.weight_log = WeightLog(self.data, config.epochs)

    def labels(self, part: str) -> torch.Tensor:
        """The labels of a part of the split."""
        labels: torch.Tensor = self.data.y[self.splits[part].cpu()].to(self.device)
        return labels

    def state_dict(self) -> dict[str, Any]:
        """Tensors, numbers and texts in nested dicts and lists."""
        return {
            "epoch": self.epoch,
            "best": dataclasses.asdict(self.best),
            "best_model": self.best_model,
            "model": self.model.state_dict(),
            "method": self.method.state_dict(),
            "optimiser": self.optimiser.state_dict(),
            "scheduler": self.scheduler and self.scheduler.state_dict(),
            "sampler": self.sampler.state_dict(),
            "weight_log": self.weight_log.state_dict(),
            "random": randomness.random_state(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Be where that session was."""
        self.epoch = state["epoch"]
        self.best = Best(**state["best"])
        self.best_model = state["best_model"]
        self.model.load_state_dict(state["model"])
        self.method.load_state_dict(state["method"])
        self.optimiser.load_state_dict(state["optimiser"])
        if self.scheduler:
            self.scheduler.load_state_dict(state["scheduler"])
        self.sampler.load_state_dict(state["sampler"])
        self.weight_log.load_state_dict(state["weight_log"])
        randomness.restore(state["random"])


def outputs(data: Data) -> int:
    """Logits that the task takes: one where it is scored by ROC-AUC, else one per class."""
    return 1 if data.metric == "roc_auc" else int(data.num_classes)


def check(config: Config, data: Data) -> None:
    """Refuse what cannot work, before anything is spent on it."""
    if not bool((data.train_mask & (data.y >= 0)).any()):
        raise InputError("there are no labelled training nodes; check the split and the labels")
    split = RULES[config.select]
    if not bool((data[f"{split}_mask"] & (data.y >= 0)).any()):
        raise InputError(
            f"select={config.select} needs labelled nodes in the part {split!r}, and this split "
            "has none; select by another rule"
        )
    for name in config.options:
        if "environments" in methods.get(name).needs and data.num_envs < 2:
            raise InputError(
                f"{name} needs two or more training environments, and this data has "
                f"{data.num_envs}; tar and erm need none"
            )
    sampling.get(config.sampler)
    nets.check(config.backbone)
    _, _, number = config.device.partition(":")
    if config.device != "cpu" and int(number or 0) >= torch.cuda.device_count():
        raise InputError(f"device={config.device} was asked for, and torch finds none here")


def _groups(model: nets.Model, method: methods.Method, config: Config) -> list[dict[str, Any]]:
    """Parameters by what weight decay acts on."""
    encoder: list[nn.Parameter] = list(model.encoder.parameters())
    rest = [*model.classifier.parameters(), *method.learned()]
    decay_rest = config.weight_decay if config.decay == "all" else 0.0
    return [
        {"params": encoder, "weight_decay": config.weight_decay},
        {"params": rest, "weight_decay": decay_rest},
    ]
