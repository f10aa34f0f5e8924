import numpy as np
import pytest

from upwind.report.layout import force_layout


def ring(size):
    nodes = np.arange(size)
    return nodes, (nodes + 1) % size


def test_the_same_graph_gives_the_same_places():
    assert np.array_equal(force_layout(*ring(40), 40), force_layout(*ring(40), 40))


def test_neighbours_are_nearer_than_others():
    source, target = ring(30)
    places = force_layout(source, target, 30)
    apart = np.linalg.norm(places[:, None] - places[None], axis=2)
    assert apart[source, target].mean() < 0.4 * apart[np.triu_indices(30, 1)].mean()


def test_components_and_isolated_nodes_do_not_fall_together():
    source = np.array([0, 1, 3, 4])
    target = np.array([1, 2, 4, 5])
    places = force_layout(source, target, 9)  # two paths, three isolated nodes
    apart = np.linalg.norm(places[:, None] - places[None], axis=2)
    assert apart[np.triu_indices(9, 1)].min() > 0.02
    assert np.linalg.norm(places[:3].mean(0) - places[3:6].mean(0)) > 0.1


@pytest.mark.parametrize("size", [0, 1, 2, 5])
def test_graphs_without_edges_are_placed_too(size):
    none = np.empty(0, np.int64)
    places = force_layout(none, none, size)
    assert places.shape == (size, 2)
    assert np.isfinite(places).all()
    assert ((places >= 0) & (places <= 1)).all()


def test_two_nodes_in_one_place_are_finite():
    places = force_layout(np.array([0]), np.array([1]), 2)
    assert np.isfinite(places).all()
