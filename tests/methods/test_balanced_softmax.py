import torch

from tests.methods.tails import make, tail
from upwind import sampling


def test_probabilities_are_weighed_by_class_counts(small):
    batch = sampling.whole(tail(small))
    model, method = make("balanced_softmax", small)
    y = small.y[small.train_mask]
    odds = model(batch)[small.train_mask].exp() * y.bincount()
    expected = -(odds.gather(1, y[:, None]) / odds.sum(1, keepdim=True)).log().mean()
    torch.testing.assert_close(method.loss(model, batch), expected)


def test_one_logit_is_the_same_as_two(small):
    small.y, small.num_classes = small.y % 2, 2
    small.train_mask[(small.train_mask & (small.y == 1)).nonzero()[3:]] = False
    two, method = make("balanced_softmax", small)
    two.classifier = torch.nn.Linear(8, 2)
    one, _ = make("balanced_softmax", small)
    one.classifier = torch.nn.Linear(8, 1)
    with torch.no_grad():
        for name in ("weight", "bias"):
            rows = getattr(two.classifier, name)
            getattr(one.classifier, name).copy_(rows[1:] - rows[:1])
    batch = sampling.whole(small)
    torch.testing.assert_close(method.loss(one, batch), method.loss(two, batch))
