"""What every registered method promises. Adding one adds it here."""

import copy
import inspect
from dataclasses import fields
from pathlib import Path

import pytest
import torch

from upwind import InputError, methods, nets, sampling
from upwind.data import catalog
from upwind.methods import Method
from upwind.train import resolve
from upwind.train.session import check

NAMES = methods.names()
HOOKS = [name for name in vars(Method) if name.startswith("on_")]
NET = {"hidden": 16, "layers": 2, "dropout": 0.5}


def start(name, data, seed=0):
    """A model, the method on it, and its optimiser."""
    torch.manual_seed(seed)
    outputs = 1 if data.metric == "roc_auc" else data.num_classes
    model = nets.build("gcn", data.x.shape[1], outputs, NET)
    method = methods.build(methods.resolve(name, data.name, data.shift))
    method.on_start(model, data)
    parameters = [*model.parameters(), *method.learned()]
    return model, method, torch.optim.Adam(parameters, lr=0.01)


def epochs(model, method, optimiser, data, count, sampler=None):
    """A loop as the product has it; the losses."""
    sampler = sampler or sampling.Saint(
        data, seed=3, batch_size=30, walk_length=2, steps_per_epoch=3, coverage=3
    )
    losses = []
    for epoch in range(count):
        model.train()
        method.train()
        method.on_epoch_start(epoch)
        for step, batch in enumerate(sampler.epoch()):
            method.on_step_start((epoch + step / len(sampler)) / count)
            optimiser.zero_grad()
            loss = method.loss(model, batch)
            loss.backward()
            optimiser.step()
            method.on_step_end(model, batch)
            losses.append(float(loss.detach()))
        method.on_epoch_end(model, data)
    return losses


def finite(losses):
    return all(torch.isfinite(torch.tensor(losses)))


@pytest.mark.parametrize("name", NAMES)
class TestEveryMethod:
    def test_the_loss_is_a_finite_scalar_that_reaches_every_parameter(self, name, small):
        model, method, _ = start(name, small)
        method.on_epoch_start(0)
        method.on_step_start(0.5)
        loss = method.loss(model, sampling.whole(small))
        assert loss.shape == ()
        assert loss.isfinite()
        loss.backward()
        assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())

    def test_training_lowers_the_plain_loss(self, name, small):
        model, method, optimiser = start(name, small)
        batch = sampling.whole(small)

        def plain():
            with torch.no_grad():
                logits = model.eval()(batch)[batch.mask]
            return methods.row_losses(logits, batch.y[batch.mask]).mean()

        before = plain()
        assert finite(epochs(model, method, optimiser, small, 40, sampling.Full(small, seed=0)))
        assert plain() < before

    def test_one_logit_is_enough_for_two_classes(self, name, small):
        small.y, small.num_classes, small.metric = small.y % 2, 2, "roc_auc"
        assert finite(epochs(*start(name, small), small, 2))

    def test_a_class_without_training_examples_is_no_trouble(self, name, small):
        small.train_mask &= small.y != 2
        assert finite(epochs(*start(name, small), small, 2))

    def test_isolated_nodes_and_unlabelled_ones_are_no_trouble(self, name, small):
        small.train_mask[58:] = True
        small.y[:5] = -1
        assert finite(epochs(*start(name, small), small, 2))

    def test_the_whole_graph_and_neighbour_samples_work_too(self, name, small):
        for sampler in (
            sampling.Full(small, seed=0),
            sampling.Neighbour(small, seed=0, batch_size=8, fanout=2, layers=2),
        ):
            assert finite(epochs(*start(name, small), small, 2, sampler))

    def test_the_same_seed_gives_the_same_losses(self, name, small):
        one = epochs(*start(name, small), small, 2)
        assert epochs(*start(name, small), small, 2) == one

    def test_its_state_can_be_saved_and_put_back(self, name, small):
        model, method, optimiser = start(name, small)
        epochs(model, method, optimiser, small, 2)
        parts = copy.deepcopy([part.state_dict() for part in (model, method, optimiser)])
        torch.manual_seed(9)
        expected = epochs(model, method, optimiser, small, 2)

        others = start(name, small, seed=1)
        for part, state in zip(others, parts, strict=True):
            part.load_state_dict(state)
        torch.manual_seed(9)
        assert epochs(*others, small, 2) == expected

    def test_its_weights_are_a_mean_one_density_over_the_nodes(self, name, small):
        model, method, optimiser = start(name, small)
        epochs(model, method, optimiser, small, 3)
        weights = method.node_weights()
        if weights is not None:
            assert weights.shape == (60,)
            assert (weights >= 0).all()
            assert weights.mean() == pytest.approx(1, rel=1e-3)

    def test_its_hooks_have_the_signatures_of_the_base(self, name):
        for hook in HOOKS:
            ours = inspect.signature(getattr(methods.get(name), hook))
            assert list(ours.parameters) == list(
                inspect.signature(getattr(Method, hook)).parameters
            )

    def test_its_published_options_are_options_and_their_data_is_known(self, name):
        kind = methods.get(name)
        for data, options in kind.published.items():
            kind.Options(**options)
            source, _, shift = data.partition("/")
            catalog.find(source.split("+")[0])
            assert shift in ("", *catalog.SHIFTS), data

    def test_what_was_chosen_was_searched(self, name):
        kind = methods.get(name)
        grids = {option.name: option.metadata["grid"] for option in fields(kind.Options)}
        for data, options in kind.published.items():
            if "+" not in data:  # beside GraphENS the paper has a beta that its search lacks
                assert all(value in grids[option] for option, value in options.items())

    def test_its_row_of_the_readme_can_be_written(self, name):
        kind = methods.get(name)
        assert kind.__doc__.splitlines()[0].endswith(".")
        assert kind.needs <= {"environments"}
        assert kind.uses <= {"unlabelled inputs", "validation inputs"}

    def test_what_it_needs_and_is_not_there_is_named(self, name, small):
        small.num_envs = 1
        config = resolve({"source": "small", "method": name}, small)
        if "environments" in methods.get(name).needs:
            with pytest.raises(InputError, match=f"{name} needs two or more training environments"):
                check(config, small)
        else:
            check(config, small)

    def test_it_has_a_test_file_of_its_own(self, name):
        assert (Path(__file__).parent / f"test_{name}.py").exists()
