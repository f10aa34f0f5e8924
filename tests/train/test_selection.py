import pytest

from upwind import InputError
from upwind.train.selection import RULES, select

# By hand: OOD validation is best in epoch 2 (again in 3), ID validation in 1, test in 0.
RECORDS = [
    {"epoch": 0, "scores": {"val": {"acc": 0.1}, "id_val": {"acc": 0.5}, "test": {"acc": 0.9}}},
    {"epoch": 1, "scores": {"val": {"acc": 0.2}, "id_val": {"acc": 0.8}, "test": {"acc": 0.3}}},
    {"epoch": 2, "scores": {"val": {"acc": 0.6}, "id_val": {"acc": 0.8}, "test": {"acc": 0.4}}},
    {"epoch": 3, "scores": {"val": {"acc": 0.6}, "id_val": {"acc": 0.1}, "test": {"acc": 0.8}}},
]


@pytest.mark.parametrize(("rule", "epoch"), [("ood_val", 2), ("id_val", 1), ("oracle", 0)])
def test_each_rule_takes_the_first_epoch_that_is_strictly_best_on_its_part(rule, epoch):
    assert select(RECORDS, rule, "acc") == epoch


def test_there_is_no_other_rule():
    assert set(RULES) == {"ood_val", "id_val", "oracle"}
    with pytest.raises(InputError, match="select='test' is no rule"):
        select(RECORDS, "test", "acc")


def test_what_is_not_a_number_is_never_best():
    nan = {"epoch": 0, "scores": {"val": {"acc": float("nan")}}}
    assert select([nan, {**RECORDS[1]}], "ood_val", "acc") == 1
    assert select([nan], "ood_val", "acc") is None


def test_a_part_without_nodes_gives_no_epoch():
    assert select([{"epoch": 0, "scores": {"val": {"acc": 1.0}}}], "id_val", "acc") is None


def test_a_score_of_zero_is_a_score():
    assert select([{"epoch": 0, "scores": {"val": {"acc": 0.0}}}], "ood_val", "acc") == 0
