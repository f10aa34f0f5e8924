import dataclasses

import pytest

from upwind import InputError, methods
from upwind._options import option, parse


@dataclasses.dataclass(frozen=True)
class Options:
    size: float = option(0.1, "a size", grid=(0.1, 1.0))
    count: int | None = option(None, "a count")
    again: bool = option(True, "again or not")


def test_options_are_read_by_their_types():
    texts = {"size": "1e-2", "count": "3", "again": "false"}
    assert parse(Options, texts, "x") == {"size": 0.01, "count": 3, "again": False}
    assert parse(Options, {"count": "none"}, "x") == {"count": None}


@pytest.mark.parametrize(
    ("texts", "complaint"),
    [
        ({"sise": "1"}, "x has no option 'sise'; it has: size, count, again"),
        ({"size": "big"}, "x:size=big cannot be read as float"),
        ({"again": "1"}, "x:again=1 cannot be read as bool"),
    ],
)
def test_options_that_cannot_be_read_are_named(texts, complaint):
    with pytest.raises(InputError, match=complaint):
        parse(Options, texts, "x")


@pytest.mark.parametrize(
    ("spec", "complaint"),
    [
        ("erm+erm", "names erm twice"),
        ("tar:tau=1:tau=2", "tar is given tau twice"),
        ("tar:tau", "tar:tau sets nothing; write tar:tau=value"),
        ("tar:fill=none", "tar:fill=none must be mean or entropy or harmonic"),
    ],
)
def test_a_spec_that_says_nothing_or_two_things_is_refused(spec, complaint):
    with pytest.raises(InputError, match=complaint):
        methods.parse(spec)


def test_an_option_carries_its_search_space():
    assert dataclasses.fields(Options)[0].metadata["grid"] == (0.1, 1.0)


def test_an_unknown_method_is_answered_with_the_nearest():
    with pytest.raises(InputError, match="there is no method 'emr'; did you mean erm"):
        methods.get("emr")
