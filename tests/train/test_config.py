import pytest

from upwind import InputError
from upwind.train import published_seeds, resolve


def test_what_is_asked_beats_what_is_published_beats_the_default(small):
    small.name = "cbas"
    config = resolve({"source": "cbas", "epochs": 7}, small)
    assert (config.epochs, config.lr, config.hidden) == (7, 3e-3, 300)


def test_the_long_tail_has_its_own_protocol(small):
    small.name = "cora_lt"
    config = resolve({"source": "cora_lt"}, small)
    assert (config.backbone, config.sampler, config.schedule) == ("gat", "full", "plateau")
    assert (config.epochs, config.lr, config.weight_decay) == (500, 0.01, 0.0)
    assert config.row_normalise


def test_published_seeds_are_the_benchmarks():
    assert published_seeds("webkb", 3) == [110, 207, 304]
    assert published_seeds("pubmed_lt", 5) == [101, 102, 103, 104, 105]


@pytest.mark.parametrize(
    ("asked", "complaint"),
    [
        ({"epoch": 3}, "there is no setting 'epoch'"),
        ({"lr": float("inf")}, "lr=inf must be above 0 and finite"),
        ({"weight_decay": float("nan")}, "weight_decay=nan must be 0 or more"),
        ({"fanout": 0}, "fanout=0 must be at least 1, or -1"),
        ({"seed": -1}, "seed=-1 must be from 0"),
        ({"device": "tpu"}, "device='tpu' must be cpu, cuda"),
        ({"method": "tar:tau=-1"}, "tar: tau must be finite and not negative"),
        ({"method": "tar:beta=nan"}, "tar: beta must be finite and not negative"),
        ({"method": "tar:steps=-1"}, "tar: steps must be a whole number of at least 0"),
        ({"method": "tar_n:neighbours=0"}, "tar_n: neighbours=0 must be at least 1"),
        ({"epochs": 0}, "epochs=0 must be at least 1"),
        ({"lr": -1.0}, "lr=-1.0 must be above 0"),
        ({"dropout": 1.0}, "dropout=1.0 must be in"),
        ({"schedule": "cosine"}, "schedule='cosine' must be constant or plateau"),
        ({"select": "test"}, "select='test' must be"),
        ({"select_by": "f1"}, "select_by='f1' must be one of accuracy"),
        ({"method": "erm:tau=1"}, "erm has no option 'tau'"),
    ],
)
def test_what_cannot_be_is_said_in_a_sentence(small, asked, complaint):
    with pytest.raises(InputError, match=complaint):
        resolve({"source": "small", **asked}, small)
