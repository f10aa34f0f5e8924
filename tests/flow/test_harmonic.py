import numpy as np
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.flow.graphs import barabasi_albert, dense, graphs, losses_for, path, undirected
from upwind import InputError, harmonic_extension


@given(st.data())
def test_it_solves_the_laplacian_of_the_unknown_nodes(data):
    graph = data.draw(graphs())
    values = data.draw(losses_for(graph))
    n = graph.num_nodes
    known = torch.tensor(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    assume(n and known.any())
    x = harmonic_extension(graph, values, known, tolerance=1e-10)
    weight = dense(graph)
    laplacian = np.diag(weight.sum(1)) - weight
    reached = np.zeros(n, bool)
    for c in range(graph.num_components):
        inside = (graph.component == c).numpy()
        reached |= inside & bool(known[torch.from_numpy(inside)].any())
    free = ~known.numpy() & reached
    expected = np.where(known, values, values[known].mean())
    expected[free] = np.linalg.solve(
        laplacian[np.ix_(free, free)], weight[np.ix_(free, known.numpy())] @ values[known].numpy()
    )
    assert np.allclose(x, expected, atol=1e-7)


def test_on_a_path_it_is_linear_between_known_nodes():
    known = torch.zeros(11, dtype=torch.bool)
    known[[0, 10]] = True
    values = torch.full((11,), torch.nan)
    values[0], values[10] = 1.0, 3.0
    x = harmonic_extension(undirected(path(11), 11), values, known, tolerance=1e-6)
    assert torch.allclose(x, torch.linspace(1, 3, 11), atol=1e-5)


def test_a_component_without_a_known_node_gets_the_mean():
    graph = undirected([(0, 1), (2, 3)], 5)
    known = torch.tensor([True, False, False, False, True])
    x = harmonic_extension(graph, torch.tensor([1.0, 0, 0, 0, 3.0]), known)
    assert x.tolist() == [1.0, 1.0, 2.0, 2.0, 3.0]


def test_the_extension_of_the_epoch_before_saves_work(monkeypatch):
    graph = undirected(barabasi_albert(2000, 3, seed=0), 2000)
    random = torch.Generator().manual_seed(0)
    known = torch.rand(2000, generator=random) < 0.3
    values = torch.rand(2000, generator=random)
    before = harmonic_extension(graph, values, known)
    values = values + 0.02 * torch.randn(2000, generator=random)

    def products(**options):
        count = 0
        inner = type(graph).adjacency

        class Counting:
            def __matmul__(self, y):
                nonlocal count
                count += 1
                return inner(graph, torch.float32) @ y

        with monkeypatch.context() as patch:
            patch.setattr(type(graph), "adjacency", lambda *_: Counting())
            harmonic_extension(graph, values, known, **options)
        return count

    assert products(guess=before) < products()


@pytest.mark.parametrize("size", [1e-30, 1e38])
def test_values_and_weights_of_any_size_are_continued(size):
    known = torch.zeros(5, dtype=torch.bool)
    known[[0, 4]] = True
    values = torch.tensor([-1.0, 0, 0, 0, 3.0]) * size
    graph = undirected(path(5), 5, torch.full((4,), size))
    x = harmonic_extension(graph, values, known, tolerance=1e-6)
    assert torch.allclose(x / size, torch.linspace(-1, 3, 5), atol=1e-5)
    assert torch.equal(x[known], values[known])


def test_a_guess_with_holes_is_a_guess_where_it_has_none():
    known = torch.arange(5) % 4 == 0
    values = torch.tensor([0.0, 0, 0, 0, 4.0])
    guess = torch.tensor([torch.nan, 1.0, torch.nan, 3.0, torch.nan])
    x = harmonic_extension(undirected(path(5), 5), values, known, guess=guess, tolerance=1e-6)
    assert torch.allclose(x, torch.arange(5.0), atol=1e-5)


def test_nothing_known_is_refused():
    graph = undirected(path(3), 3)
    with pytest.raises(InputError, match="nothing to extend from"):
        harmonic_extension(graph, torch.zeros(3), torch.zeros(3, dtype=torch.bool))
    with pytest.raises(InputError, match=r"known must be a tensor of shape \[3\]"):
        harmonic_extension(graph, torch.zeros(3), torch.ones(2, dtype=torch.bool))
