import numpy as np
import pytest
import torch

from upwind.nets.attention import attend, incoming, torch_attend


def random_case(seed, dtype=torch.float64):
    """9 nodes, one of them alone; edges with loops and doubles; 2 heads of 3 channels."""
    random = torch.Generator().manual_seed(seed)
    edge_index = torch.randint(0, 8, (2, 20), generator=random)
    values = [torch.randn(9, width, generator=random, dtype=dtype) for width in (6, 2, 2)]
    return [v.requires_grad_() for v in values], incoming(edge_index, 9), edge_index


def written_out(values, edge_index):
    """Attention with dense matrices, one head after another; doubled edges count twice."""
    h, towards, at = (v.detach().numpy() for v in values)
    count = np.zeros((9, 9))
    for s, t in edge_index.T.tolist():
        count[t, s] += s != t
    count += np.eye(9)
    out = np.zeros_like(h)
    for k in range(2):
        score = at[:, k, None] + towards[None, :, k]
        weight = count * np.exp(np.where(score > 0, score, 0.2 * score))
        out[:, 3 * k : 3 * k + 3] = (weight / weight.sum(1, keepdims=True)) @ h[
            :, 3 * k : 3 * k + 3
        ]
    return torch.from_numpy(out)


@pytest.mark.parametrize("seed", range(3))
def test_three_routes_agree(seed):
    values, structure, edge_index = random_case(seed)
    ours = attend(*values, *structure, 0.0)
    torch.testing.assert_close(ours, torch_attend(*values, *structure, 0.0))
    torch.testing.assert_close(ours, written_out(values, edge_index))


@pytest.mark.parametrize("p", [0.0, 0.6])
def test_its_gradient_is_that_of_finite_differences(p):
    values, structure, _ = random_case(3)

    def of_values(*values):
        torch.manual_seed(7)  # the same edges are dropped at every point
        return attend(*values, *structure, p)

    assert torch.autograd.gradcheck(of_values, values)


def test_attention_is_dropped_as_often_as_asked_and_the_rest_scaled_up():
    (h, towards, at), structure, _ = random_case(4)
    with torch.no_grad():
        expected = attend(h, towards, at, *structure, 0.0)
        draws = torch.stack([attend(h, towards, at, *structure, 0.6) for _ in range(4000)])
        lone = draws[:, 8, 0] == 0  # node 8 has but its own loop
    error = draws.std(0) / 4000**0.5
    assert ((draws.mean(0) - expected).abs() < 5 * error).all()
    assert float(lone.double().mean()) == pytest.approx(0.6, abs=0.04)


def test_every_node_hears_itself_once():
    rowptr, source = incoming(torch.tensor([[0, 0, 1, 2], [0, 1, 1, 1]]), 3)
    assert rowptr.tolist() == [0, 1, 4, 5]
    assert source.tolist() == [0, 0, 2, 1, 2]
