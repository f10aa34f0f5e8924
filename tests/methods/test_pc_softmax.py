import torch

from tests.methods.tails import make, tail
from upwind import methods, sampling


def test_it_starts_from_the_plain_loss_and_predicts_by_compensated_logits(small):
    batch = sampling.whole(tail(small))
    plain, erm = make("erm", small)
    model, method = make("pc_softmax", small)
    torch.testing.assert_close(method.loss(model, batch), erm.loss(plain, batch))
    counts = small.y[small.train_mask].bincount()
    torch.testing.assert_close(model(batch), plain(batch) - counts.log())


def test_it_is_balanced_softmax_from_another_start(small):
    batch = sampling.whole(tail(small))
    model, method = make("pc_softmax", small)
    balanced = methods.build(methods.resolve("balanced_softmax", "small", None))
    balanced.on_start(model, small)
    torch.testing.assert_close(method.loss(model, batch), balanced.loss(model, batch))
