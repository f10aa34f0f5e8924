"""What a training objective is, and how one is named.

A method is a class with a ``name``; being a subclass registers it. The loop calls ``loss`` once
a step and the hooks around it, and knows nothing else.
"""

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from torch import Tensor, nn
from torch_geometric.data import Data

from upwind._options import parse as parse_options
from upwind._registry import find, members
from upwind.errors import InputError
from upwind.flow.reach import Reach
from upwind.nets import Model
from upwind.sampling import Batch


@dataclasses.dataclass(frozen=True)
class NoOptions:
    """A method without options."""


class Method(nn.Module, ABC):
    """A training objective, with its own parameters, networks and state if it has any.

    Whatever is a parameter, a buffer or in ``get_extra_state`` is in the checkpoint. The first
    line of a subclass's docstring stands in the README's table of methods, as do ``needs`` and
    ``uses``.

    Attributes:
        name: What it is called on the command line.
        Options: Frozen dataclass of its options, each with default and published search space;
            its ``__post_init__`` refuses values that cannot be.
        needs: What the data must have; ``"environments"`` is two or more training environments.
        uses: What it looks at beside training nodes and the network's messages:
            ``"unlabelled inputs"``, ``"validation inputs"``.
        published: Options that a publication chose, by ``"data set/shift"`` or ``"data set"``, or
            by ``"data set+other"`` for a sum with another method.
        recipe: Fields of the training configuration that the method's publication changes.
    """

    name: ClassVar[str]
    Options: ClassVar[type]
    needs: ClassVar[frozenset[str]] = frozenset()
    uses: ClassVar[frozenset[str]] = frozenset()
    published: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    recipe: ClassVar[Mapping[str, Any]] = {}

    def __init__(self, options: Any) -> None:
        super().__init__()
        self.options = options

    @abstractmethod
    def loss(self, model: Model, batch: Batch) -> Tensor:
        """The scalar to descend on. Training nodes of the batch are ``batch.mask``."""

    def learned(self) -> Iterable[nn.Parameter]:
        """What the loop's optimiser trains beside the model."""
        return self.parameters()

    def node_weights(self) -> Tensor | None:
        """What each node of the graph weighs now, with mean one; none without weights."""
        return None

    def reach(self) -> Reach | None:
        """How far its weights are from where they started; none of a method that moves none."""
        return None

    def on_start(self, model: Model, data: Data) -> None:
        """Once, before the optimiser is made: networks and buffers of the data's size go here."""

    def on_epoch_start(self, epoch: int) -> None:
        """Before the first batch of an epoch."""

    def on_step_start(self, progress: float) -> None:
        """Before each step, with the share of the whole training that is done."""

    def on_step_end(self, model: Model, batch: Batch) -> None:
        """After each step of the optimiser."""

    def on_epoch_end(self, model: Model, data: Data) -> None:
        """After the last batch of an epoch, before the model is scored."""


def get(name: str) -> type[Method]:
    """The method of this name; an unknown one is answered with the nearest there are.

    >>> get("erm").__name__
    'ERM'
    """
    kind: type[Method] = find(Method, name, "method")
    return kind


def names() -> list[str]:
    """The methods there are."""
    return sorted(members(Method))


def parse(spec: str) -> dict[str, dict[str, Any]]:
    """The options that a spec sets, by method: parts joined by ``+``, options by ``:``.

    >>> parse("erm")
    {'erm': {}}
    """
    parts: dict[str, dict[str, Any]] = {}
    for part in spec.split("+"):
        name, *settings = part.split(":")
        if name in parts:
            raise InputError(f"{spec} names {name} twice")
        parts[name] = parse_options(get(name).Options, _texts(name, settings), name)
    return parts


def _texts(name: str, settings: Iterable[str]) -> dict[str, str]:
    """The texts after the names in ``tau=0.1``, each name once."""
    texts: dict[str, str] = {}
    for setting in settings:
        key, equals, text = setting.partition("=")
        if not equals:
            raise InputError(f"{name}:{setting} sets nothing; write {name}:{key}=value")
        if key in texts:
            raise InputError(f"{name} is given {key} twice")
        texts[key] = text
    return texts


def resolve(spec: str, source: str, shift: str | None) -> dict[str, dict[str, Any]]:
    """All options of a spec's methods: as set, else as published for this data, else default."""
    resolved = {}
    parts = parse(spec)
    for name, chosen in parts.items():
        kind = get(name)
        keys = [*(f"{source}+{other}" for other in parts), f"{source}/{shift}", source]
        published = next((kind.published[key] for key in keys if key in kind.published), {})
        try:
            options = kind.Options(**{**published, **chosen})
        except InputError as error:  # an option that cannot be, from its __post_init__
            raise InputError(f"{name}: {error}") from None
        resolved[name] = dataclasses.asdict(options)
    return resolved


def set_apart(name: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Those of a method's options that are not at their default.

    >>> set_apart("tar", {"tau": 0.5, "steps": 10})
    {'tau': 0.5}
    """
    defaults = dataclasses.asdict(get(name).Options())
    return {key: value for key, value in options.items() if value != defaults.get(key)}
