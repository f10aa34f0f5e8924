import torch

from tests.methods.tails import make, tail


def test_a_class_weighs_one_over_the_sum_of_the_powers_of_beta(small):
    counts = tail(small).y[small.train_mask].bincount()
    _, method = make("cb_loss:beta=0.5", small)
    effective = torch.tensor([sum(0.5**k for k in range(n)) for n in counts.tolist()])
    ratio = method.per_class * effective
    torch.testing.assert_close(ratio, ratio[0].expand(3))


def test_beta_goes_from_no_weights_to_inverse_frequency(small):
    tail(small)
    _, none = make("cb_loss:beta=0", small)
    _, inverse = make("reweight", small)
    _, nearly = make("cb_loss:beta=0.99999", small)
    torch.testing.assert_close(none.per_class, torch.ones(3))
    torch.testing.assert_close(nearly.per_class, inverse.per_class, rtol=1e-3, atol=0)
