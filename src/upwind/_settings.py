"""Command line options made from a dataclass, so that each setting is described once."""

import inspect
from collections.abc import Callable, Iterable
from dataclasses import fields
from typing import Annotated, Any, TypeVar, get_args, get_type_hints

import typer

from upwind.train.config import Config

SETTINGS = tuple(field.name for field in fields(Config) if field.name not in ("source", "options"))

F = TypeVar("F", bound=Callable[..., Any])


def with_settings(
    *, only: Iterable[str] = SETTINGS, without: Iterable[str] = ()
) -> Callable[[F], F]:
    """Give a command one option per setting; they reach it as ``**settings``.

    What a person does not give is None: `upwind.train.resolve` fills it in.
    """
    wanted = set(only) - set(without)
    kinds = get_type_hints(Config)
    extra = [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=None,
            annotation=Annotated[
                _plain(kinds[field.name]) | None,
                typer.Option(help=field.metadata["help"], show_default=_shown(field.default)),
            ],
        )
        for field in fields(Config)
        if field.name in wanted
    ]

    def decorate(command: F) -> F:
        own = [
            parameter
            for parameter in inspect.signature(command).parameters.values()
            if parameter.kind is not inspect.Parameter.VAR_KEYWORD
        ]
        signature = inspect.Signature([*own, *extra])
        command.__signature__ = signature  # type: ignore[attr-defined]
        command.__annotations__ = {p.name: p.annotation for p in signature.parameters.values()}
        return command

    return decorate


def _plain(kind: Any) -> Any:
    """The type without None."""
    return next((part for part in get_args(kind) if part is not type(None)), kind)


def _shown(default: Any) -> Any:
    """What the help prints as default; nothing where there is none."""
    return str(default) if default not in (None, "") else False
