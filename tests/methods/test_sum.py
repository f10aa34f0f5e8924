"""What ``+`` promises of every pair of summands."""

import gc
from itertools import combinations

import pytest
import torch

from tests.methods.tails import make, tail
from upwind import InputError, methods, nets, sampling

SUMMANDS = sorted(n for n in methods.names() if issubclass(methods.get(n), methods.Summand))


def start(spec, data):
    model, method = make(spec, data)
    method.on_epoch_start(50)  # past every warm-up
    return model, method


@pytest.mark.parametrize("pair", list(combinations(SUMMANDS, 2)), ids="+".join)
def test_any_two_add_up_in_either_order(small, pair):
    tail(small)
    results = []
    for spec in ("+".join(pair), "+".join(reversed(pair))):
        model, method = start(spec, small)
        for batch in [sampling.whole(small)] * 2:
            torch.manual_seed(3)
            loss = method.loss(model, batch)
            loss.backward()
        results.append(loss)
    assert results[0].isfinite()
    torch.testing.assert_close(*results)


@pytest.mark.parametrize("name", [name for name in SUMMANDS if name != "erm"])
def test_erm_adds_nothing(small, name):
    tail(small)
    losses = []
    for spec in (name, f"{name}+erm"):
        model, method = start(spec, small)
        torch.manual_seed(3)
        losses.append(method.loss(model, sampling.whole(small)))
    assert losses[0] == losses[1]


def test_margins_add_and_weights_multiply(small):
    batch = sampling.whole(tail(small))
    spec = "tar:tau=0.05+balanced_softmax+reweight+tam"
    model, method = start(spec, small)
    _, alone = zip(*(start(part, small) for part in spec.split("+")), strict=True)
    step = methods.Step(model, batch, model(batch))
    margins = alone[1].margins(step) + alone[3].margins(step)
    losses = methods.Step(model, batch, step.logits, margins).losses()
    weights = alone[2].weights(step, losses) * alone[0].weights(step, losses.detach())
    torch.testing.assert_close(method.loss(model, batch), (weights * losses).mean())


def test_the_flow_sees_the_margins_but_not_the_other_weights(small):
    batch = sampling.whole(tail(small))
    seen = {}
    for spec in ("tar", "tar+reweight", "tar+balanced_softmax"):
        model, method = start(spec, small)
        method.loss(model, batch)
        tar = method if spec == "tar" else method.parts[0]
        seen[spec] = tar.tar.known_losses[small.train_mask]
    torch.testing.assert_close(seen["tar"], seen["tar+reweight"])
    assert not torch.allclose(seen["tar"], seen["tar+balanced_softmax"])


def test_the_weights_of_a_sum_are_the_product_with_mean_one(small):
    tail(small)
    model, method = start("tar:tau=0.05+reweight", small)
    method.loss(model, sampling.whole(small))
    product = method.parts[0].node_weights() * method.parts[1].node_weights()
    torch.testing.assert_close(method.node_weights(), product / product.mean())


def test_its_state_is_that_of_its_parts(small):
    model, method = start("tar:tau=0.05+reweight", small)
    method.loss(model, sampling.whole(small))
    _, other = start("tar:tau=0.05+reweight", small)
    other.load_state_dict(method.state_dict())
    torch.testing.assert_close(other.node_weights(), method.node_weights())


def test_a_method_that_brings_its_own_loss_does_not_add_up(small):
    class Own(methods.Method):
        name, Options = "own", methods.NoOptions

        def loss(self, model, batch):
            return model(batch).sum()

    try:
        with pytest.raises(InputError, match="own brings its own loss"):
            methods.build(methods.resolve("own+tar", "small", None))
    finally:
        del Own
        gc.collect()


def test_a_name_stands_once():
    with pytest.raises(InputError, match="names tar twice"):
        methods.parse("tar+tar:tau=0.1")
    with pytest.raises(InputError, match="no method"):
        methods.build({})


def test_the_hooks_of_a_sum_reach_every_part(small):
    names = []

    class Listening(methods.Summand):
        name, Options = "listening", methods.NoOptions

        def on_start(self, model, data):  # noqa: ARG002
            names.append("start")

        def on_epoch_start(self, epoch):
            names.append(epoch)

        def on_step_start(self, progress):
            names.append(progress)

        def on_step_end(self, model, batch):  # noqa: ARG002
            names.append("step")

        def on_epoch_end(self, model, data):  # noqa: ARG002
            names.append("epoch")

    model = nets.build("gcn", 8, 3, {"hidden": 8, "layers": 1, "dropout": 0.0})
    method = methods.Sum([Listening(None), Listening(None)])
    method.on_start(model, small)
    method.on_epoch_start(4)
    method.on_step_start(0.5)
    method.on_step_end(model, sampling.whole(small))
    method.on_epoch_end(model, small)
    del Listening
    assert names == ["start"] * 2 + [4] * 2 + [0.5] * 2 + ["step"] * 2 + ["epoch"] * 2
