"""What every sampler promises."""

import dataclasses
from pathlib import Path

import pytest
import torch

from upwind import InputError, sampling
from upwind._registry import members
from upwind.train import Config

NAMES = sampling.names()


def make(name, data, seed=0):
    kind = sampling.get(name)
    config = dataclasses.replace(
        Config(), batch_size=20, walk_length=2, steps_per_epoch=4, coverage=3, fanout=2, layers=2
    )
    return kind(data, seed=seed, **{option: getattr(config, option) for option in kind.options})


def same(a, b):
    return torch.equal(a.n_id, b.n_id) and torch.equal(a.edge_index, b.edge_index)


@pytest.mark.parametrize("name", NAMES)
class TestEverySampler:
    def test_rows_are_ascending_global_ids_with_their_own_data(self, name, small):
        for batch in make(name, small).epoch():
            assert (batch.n_id.diff() > 0).all()
            assert torch.equal(batch.x, small.x[batch.n_id])
            assert torch.equal(batch.y, small.y[batch.n_id])
            assert torch.equal(batch.env_id, small.env_id[batch.n_id])

    def test_what_counts_is_a_labelled_training_seed(self, name, small):
        small.y = small.y.where(torch.arange(60) != small.train_mask.nonzero()[0], -1)
        for batch in make(name, small).epoch():
            expected = batch.seeds & small.train_mask[batch.n_id] & (batch.y >= 0)
            assert torch.equal(batch.mask, expected)
            assert batch.mask.any()

    def test_edges_are_edges_of_the_graph(self, name, small):
        there = {*map(tuple, small.edge_index.T.tolist())}
        for batch in make(name, small).epoch():
            assert {*map(tuple, batch.n_id[batch.edge_index].T.tolist())} <= there

    def test_the_same_seed_gives_the_same_epochs(self, name, small):
        one, two = make(name, small), make(name, small)
        for _ in range(2):
            pairs = zip(one.epoch(), two.epoch(), strict=True)
            assert all(same(a, b) for a, b in pairs)

    def test_a_restored_state_continues_where_it_was(self, name, small):
        sampler = make(name, small)
        list(sampler.epoch())
        state = sampler.state_dict()
        expected = list(sampler.epoch())
        other = make(name, small)
        other.load_state_dict(state)
        assert all(same(a, b) for a, b in zip(other.epoch(), expected, strict=True))

    def test_an_epoch_is_as_long_as_it_says(self, name, small):
        sampler = make(name, small)
        assert len(list(sampler.epoch())) == len(sampler)

    def test_sparse_features_stay_sparse(self, name, small):
        dense = [batch.x for batch in make(name, small).epoch()]
        small.x = small.x.to_sparse_csr()
        for expected, batch in zip(dense, make(name, small).epoch(), strict=True):
            assert batch.x.layout == torch.sparse_csr
            assert torch.equal(batch.x.to_dense(), expected)

    def test_it_has_a_test_file_of_its_own(self, name):
        assert (Path(__file__).parent / f"test_{name}.py").exists()


def test_an_unknown_name_is_answered_with_the_nearest():
    with pytest.raises(InputError, match="did you mean saint"):
        sampling.get("sant")


def test_the_registry_knows_three():
    assert NAMES == sorted(members(sampling.Sampler)) == ["full", "neighbour", "saint"]
