import copy
import dataclasses

import pytest
import torch

from upwind import methods
from upwind.errors import InputError, RunError
from upwind.train import Config, resolve
from upwind.train.loop import train
from upwind.train.prepare import prepare
from upwind.train.session import Session, check

QUICK = {
    "source": "small",
    "hidden": 16,
    "layers": 2,
    "epochs": 6,
    "batch_size": 30,
    "steps_per_epoch": 2,
    "coverage": 3,
    "lr": 0.01,
}


def run(data, session=None, **asked):
    session = session or Session(resolve({**QUICK, **asked}, data), data)
    records = []
    train(session, records.append)
    for record in records:
        del record["seconds"]
    return session, records


def test_every_epoch_is_recorded_with_every_score_of_every_part(small):
    _, records = run(small)
    assert [record["epoch"] for record in records] == list(range(6))
    for record in records:
        assert set(record["scores"]) == {"train", "id_val", "id_test", "val", "test"}
        for scores in record["scores"].values():
            assert {"accuracy", "balanced_accuracy", "macro_f1", "ece", "loss"} <= set(scores)


def test_it_learns(small):
    _, records = run(small, epochs=40)
    assert records[-1]["scores"]["train"]["accuracy"] > 0.6  # one in three by chance


def test_the_same_seed_gives_the_same_records_and_another_seed_others(small):
    assert run(small)[1] == run(small)[1] != run(small, seed=1)[1]


def test_a_session_put_back_continues_to_the_same_end(small):
    session, records = run(small, epochs=3)
    long = dataclasses.replace(session.config, epochs=6)
    first = Session(long, small)
    states = []

    class Stopped(Exception):
        pass

    def stop(record):
        if record["epoch"] == 2:
            states.append(copy.deepcopy(first.state_dict()))
            raise Stopped

    with pytest.raises(Stopped):
        train(first, stop)
    torch.rand(100)  # whatever else happened in the process
    second = Session(long, small)
    second.load_state_dict(states[0])
    _, rest = run(small, second)
    _, expected = run(small, Session(long, small))
    assert rest == expected[3:]
    assert records == expected[:3]


def test_the_kept_model_is_that_of_the_best_epoch(small):
    session, records = run(small, epochs=12)
    best = max(range(12), key=lambda e: (records[e]["scores"]["val"]["accuracy"], -e))
    assert session.best.epoch == best
    short, _ = run(small, epochs=best + 1)
    for name, value in session.best_model.items():
        assert torch.equal(value, short.model.state_dict()[name])


def test_hooks_come_in_order_and_methods_with_their_own_parameters_train_them(small):
    class Noted(methods.Method):
        name = "noted"
        Options = methods.NoOptions

        def on_start(self, model, data):  # noqa: ARG002
            self.scale = torch.nn.Parameter(torch.ones(()))
            self.calls = ["start"]

        def on_epoch_start(self, epoch):
            self.calls.append(f"epoch {epoch}")

        def on_step_start(self, progress):
            self.calls.append(f"at {progress}")

        def on_step_end(self, model, batch):  # noqa: ARG002
            self.calls.append("step")

        def on_epoch_end(self, model, data):  # noqa: ARG002
            self.calls.append("end")

        def loss(self, model, batch):
            rows = model(batch)[batch.mask]
            return self.scale**2 * methods.row_losses(rows, batch.y[batch.mask]).mean()

    session, _ = run(small, epochs=2, method="noted")
    epoch = ["epoch {}", "at {}", "step", "at {}", "step", "end"]
    steps = iter([0, 0.0, 0.25, 1, 0.5, 0.75])
    expected = [line.format(next(steps)) if "{" in line else line for line in epoch * 2]
    assert session.method.calls == ["start", *expected]
    assert session.method.scale < 1


def test_the_plateau_schedule_lowers_the_rate(small):
    session = Session(resolve({**QUICK, "schedule": "plateau", "epochs": 1}, small), small)
    assert session.scheduler.patience == 100
    session.scheduler.patience = 0
    session.scheduler.best = -1.0
    train(session, lambda _: None)
    assert session.optimiser.param_groups[0]["lr"] == 0.005


def test_weight_decay_can_be_left_off_the_classifier(small):
    config = resolve({**QUICK, "weight_decay": 0.1, "decay": "encoder"}, small)
    groups = Session(config, small).optimiser.param_groups
    assert [group["weight_decay"] for group in groups] == [0.1, 0.0]


def test_a_loss_that_is_no_number_ends_the_run_with_a_sentence(small):
    small.x[0, 0] = float("nan")
    with pytest.raises(RunError, match="the loss is no longer a number in epoch 0"):
        run(small)


def test_rows_are_scaled_to_sum_one_dense_and_sparse(small):
    small.x = small.x.abs()
    small.x[3] = 0
    expected = prepare(small, row_normalise=True).x
    assert torch.allclose(expected.sum(1)[4:], torch.ones(56))
    small.x = small.x.to_sparse_csr()
    torch.testing.assert_close(prepare(small, row_normalise=True).x.to_dense(), expected)


def test_wide_features_that_are_mostly_zero_become_sparse(small):
    assert prepare(small, row_normalise=False).x.layout == torch.strided
    small.x = torch.eye(60, 200)
    assert prepare(small, row_normalise=False).x.layout == torch.sparse_csr


def test_what_cannot_train_is_refused_before_it_starts(small):
    config = resolve(QUICK, small)
    small.val_mask[:] = False
    with pytest.raises(InputError, match="needs labelled nodes in the part 'val'"):
        check(config, small)
    small.train_mask[:] = False
    with pytest.raises(InputError, match="no labelled training nodes"):
        check(config, small)


def test_a_method_that_needs_environments_says_so(small):
    class Needy(methods.Method):
        name = "needy"
        Options = methods.NoOptions
        needs = frozenset({"environments"})

        def loss(self, model, batch):  # noqa: ARG002
            raise AssertionError

    small.num_envs = 1
    with pytest.raises(InputError, match="needy needs two or more training environments"):
        check(resolve({**QUICK, "method": "needy"}, small), small)


def test_the_default_configuration_is_the_benchmarks():
    config = Config()
    assert (config.hidden, config.layers, config.dropout, config.lr) == (300, 3, 0.5, 1e-3)
    assert (config.batch_size, config.walk_length, config.steps_per_epoch) == (4096, 3, 10)
    assert (config.coverage, config.epochs, config.select) == (100, 100, "ood_val")


def test_the_flow_leaves_the_threads_as_the_configuration_has_them(small):
    run(small, epochs=1, method="tar", threads=1)
    assert torch.get_num_threads() == 1
