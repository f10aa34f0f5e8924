"""Long-tailed training sets have the sizes of the paper's table and hold together."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Data

from upwind.data import load, long_tail
from upwind.data.longtail import long_tail_sizes
from upwind.errors import InputError

# The paper's label distributions, in percent.
PAPER = {
    "cora_lt": [54.04, 25.04, 11.57, 5.39, 2.38, 1.11, 0.48],
    "citeseer_lt": [60.72, 24.06, 9.49, 3.76, 1.47, 0.49],
    "pubmed_lt": [90.10, 9.01, 0.89],
}


@pytest.mark.realdata
@pytest.mark.parametrize("name", PAPER)
def test_the_label_distribution_is_the_papers_to_two_decimals(name, raw_root):
    data = load(name, root=raw_root)
    sizes = np.bincount(data.y[data.train_mask])
    shares = np.round(100 * np.sort(sizes)[::-1] / sizes.sum(), 2)
    np.testing.assert_array_equal(shares, PAPER[name])


@pytest.mark.realdata
@pytest.mark.parametrize("name", PAPER)
def test_everything_that_ties_do_not_decide_is_as_in_the_reference(name, raw_root, reference):
    data, expected = load(name, root=raw_root), reference(f"longtail/{name}")
    np.testing.assert_array_equal(data.y.numpy(), expected["y"])
    np.testing.assert_array_equal(np.bincount(data.y[data.train_mask]), expected["class_num_list"])
    for part in ("val", "test"):
        ours = np.flatnonzero(data[f"{part}_mask"].numpy())
        np.testing.assert_array_equal(ours, np.sort(expected[f"{part}_idx"]))
    kept = data.kept_nodes.numpy()
    assert kept.sum() == expected["node_keep_mask"].sum()
    # Which of several nodes of equal degree goes is open, and with it a few edges in a thousand.
    edges = expected["edge_keep_mask"].sum()
    assert abs(data.edge_index.shape[1] - edges) < 0.002 * edges
    assert np.mean(kept != expected["node_keep_mask"]) < 0.03


def graph(sizes, seed):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    source, target = rng.integers(0, len(y), (2, 4 * len(y)))
    edges = torch.from_numpy(np.stack([np.append(source, target), np.append(target, source)]))
    train = torch.from_numpy(rng.random(len(y)) < 0.8)
    train[[int(np.flatnonzero(y == c)[0]) for c in range(len(sizes))]] = True
    return Data(edge_index=edges, y=torch.from_numpy(y), train_mask=train, num_nodes=len(y))


@given(
    sizes=st.lists(st.integers(20, 60), min_size=2, max_size=5),
    ratio=st.floats(1, 15),
    seed=st.integers(0, 10**6),
)
def test_only_surplus_training_nodes_go_and_their_edges_with_them(sizes, ratio, seed):
    data = graph(sizes, seed)
    thin = long_tail(data, ratio=ratio)
    before = np.bincount(data.y[data.train_mask])
    np.testing.assert_array_equal(
        np.bincount(thin.y[thin.train_mask], minlength=len(sizes)), long_tail_sizes(before, ratio)
    )
    kept = thin.kept_nodes
    assert torch.equal(data.train_mask & ~kept, data.train_mask & ~thin.train_mask)
    assert kept[~data.train_mask].all()
    ends = kept[data.edge_index[0]] & kept[data.edge_index[1]]
    assert torch.equal(thin.edge_index, data.edge_index[:, ends])
    assert torch.equal(long_tail(data, ratio=ratio).train_mask, thin.train_mask)


@given(sizes=st.lists(st.integers(100, 1000), min_size=2, max_size=8), ratio=st.floats(1, 100))
def test_the_sizes_fall_geometrically_from_the_largest(sizes, ratio):
    sizes = np.array(sizes)
    goals = np.sort(long_tail_sizes(sizes, ratio))[::-1]
    assert goals[0] == sizes.max()
    ideal = sizes.max() * ratio ** (-np.arange(len(sizes)) / (len(sizes) - 1))
    assert (goals <= ideal + 1e-6).all()
    assert (long_tail_sizes(sizes, ratio) <= sizes).all()


def test_the_nodes_of_lowest_degree_go_first_and_the_first_of_equals():
    # Class 1 is nodes 4 to 7; node 7 has two neighbours, the others one.
    pairs = np.array([(0, 4), (1, 5), (2, 6), (3, 7), (0, 7)])
    edges = torch.from_numpy(np.concatenate([pairs, pairs[:, ::-1]]).T.copy())
    y = torch.tensor([0, 0, 0, 0, 1, 1, 1, 1])
    data = Data(edge_index=edges, y=y, train_mask=torch.ones(8, dtype=torch.bool), num_nodes=8)
    assert long_tail(data, ratio=2).kept_nodes.tolist() == [True] * 4 + [False, False, True, True]


def test_an_impossible_tail_is_refused():
    data = graph([20, 20], 0)
    with pytest.raises(InputError, match="rarest class would keep no node"):
        long_tail(data, ratio=1000)
    with pytest.raises(InputError, match="at least 1"):
        long_tail(data, ratio=0.5)
    data.train_mask &= data.y == 0
    with pytest.raises(InputError, match="two classes or more"):
        long_tail(data)
