import torch

from upwind.nets.dropout import Dropout


def test_the_share_that_stays_is_scaled_to_keep_the_mean():
    torch.manual_seed(0)
    for p in (0.1, 0.5, 0.6):
        kept = Dropout(p)(torch.ones(400, 300))
        assert torch.isclose(kept.max(), torch.tensor(1 / (1 - p)))
        # Five standard deviations of 120,000 draws.
        assert abs((kept == 0).double().mean() - p) < 5 * (p * (1 - p) / 120_000) ** 0.5


def test_the_gradient_passes_where_the_value_did():
    x = torch.ones(50, 40, requires_grad=True)
    out = Dropout(0.5)(x)
    out.sum().backward()
    assert torch.equal(x.grad, out.detach())


def test_calls_draw_different_masks_and_the_seed_decides_them():
    drop, x = Dropout(0.5), torch.ones(50, 40)
    torch.manual_seed(1)
    first, second = drop(x), drop(x)
    torch.manual_seed(1)
    assert torch.equal(drop(x), first)
    assert not torch.equal(first, second)


def test_entries_and_calls_are_independent():
    torch.manual_seed(0)
    drop, x = Dropout(0.5), torch.ones(60)
    kept = torch.stack([drop(x) > 0 for _ in range(4000)]).double()
    correlation = torch.corrcoef(kept.T).fill_diagonal_(0)
    assert correlation.abs().max() < 5 / 4000**0.5
    lagged = torch.corrcoef(torch.stack([kept[:-1].flatten(), kept[1:].flatten()]))
    assert abs(lagged[0, 1]) < 5 / kept.numel() ** 0.5


def test_nothing_is_dropped_in_evaluation_or_at_zero():
    x = torch.ones(5, 5)
    assert Dropout(0.5).eval()(x) is x
    assert Dropout(0.0)(x) is x
