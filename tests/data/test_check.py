"""Every defect of a graph is found, and all of them at once."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Data

from upwind.data import check
from upwind.data.assemble import assemble
from upwind.errors import InputError


def graph(arrays, **changes):
    return assemble(arrays | changes)[0]


def codes(data, **options):
    return {defect.code for defect in check(data, **options)}


def edges(*pairs):
    return np.array(pairs).T


def both_ways(*pairs):
    return edges(*pairs, *[(b, a) for a, b in pairs])


def test_a_sound_graph_has_no_defect(fields):
    assert check(graph(fields)) == []


@pytest.mark.parametrize(
    ("code", "severity", "changes"),
    [
        ("nan_features", "error", {"x": np.array([[0, np.nan]] + [[0, 0]] * 5)}),
        ("nan_features", "error", {"x": np.array([[0, -np.inf]] + [[0, 0]] * 5)}),
        ("nan_features", "error", {"x": sp.csr_array([[np.nan, 1.0]] * 6)}),
        ("features", "error", {"x": None}),
        ("features", "error", {"x": np.zeros(6)}),
        ("features", "error", {"x": np.zeros((6, 0))}),
        ("label_range", "error", {"y": np.array([0, 1, 0, 1, 0, 6])}),
        ("label_range", "error", {"y": np.array([0, 1, 0, 1, 0, -2])}),
        ("label_range", "error", {"y": np.array([0, 2**60, 0, 1, 0, 1])}),
        ("label_shape", "error", {"y": np.array([0, 1, 0])}),
        ("label_shape", "error", {"y": np.array([0.5, 1, 0, 1, 0, 1])}),
        ("no_labels", "error", {"y": None}),
        ("no_training", "error", {"train_mask": np.zeros(6, dtype=bool)}),
        ("one_class", "error", {"y": np.array([0, 0, 0, 1, 0, 1])}),
        ("empty_class", "warning", {"y": np.array([0, 1, 0, 2, 0, 1])}),
        ("unlabelled", "error", {"y": np.array([0, 1, 0, -1, 0, 1])}),
        ("overlap", "error", {"val_mask": np.ones(6, dtype=bool)}),
        ("mask_shape", "error", {"val_mask": np.ones((6, 10), dtype=bool)}),
        ("no_validation", "warning", {"val_mask": None}),
        ("no_test", "warning", {"test_mask": None}),
        ("no_environment", "error", {"env_id": np.array([0, -1, -1, -1, -1, -1])}),
        ("edge_index", "error", {"edge_index": None}),
        ("edge_index", "error", {"edge_index": edges((0, 1), (1, 2), (2, 3)).T}),
        ("outside", "error", {"edge_index": both_ways((0, 1), (2, 6))}),
        ("outside", "error", {"edge_index": both_ways((0, 1), (2, -1))}),
        ("negative_weights", "error", {"edge_weight": np.array([1.0] * 13 + [-1])}),
        ("nan_weights", "error", {"edge_weight": np.array([1.0] * 13 + [np.nan])}),
        ("weight_shape", "error", {"edge_weight": np.ones(3)}),
        ("directed", "warning", {"edge_index": edges((0, 1), (1, 2), (3, 4), (5, 4))}),
        ("duplicates", "warning", {"edge_index": both_ways((0, 1), (2, 3), (4, 5), (0, 1))}),
        ("self_loops", "warning", {"edge_index": both_ways((0, 1), (2, 3), (4, 5), (2, 2))}),
        ("isolated", "warning", {"edge_index": both_ways((0, 1), (2, 3), (3, 4))}),
        ("no_edges", "warning", {"edge_index": np.zeros((2, 0), dtype=int)}),
    ],
)
def test_each_defect_is_found_with_its_severity(code, severity, changes, fields):
    found = {defect.code: defect for defect in check(graph(fields, **changes))}
    assert found[code].severity == severity
    assert found[code].count >= 1
    assert str(found[code]).startswith(f"{severity}: ")


def test_a_graph_without_nodes_is_an_error():
    assert codes(Data(x=torch.zeros(0, 3), edge_index=torch.zeros(2, 0).long())) == {"empty_graph"}


def test_all_defects_are_listed_at_once(fields):
    changes = {
        "x": np.full((6, 2), np.nan),
        "y": np.array([0, 1, 0, 99, 0, 1]),
        "edge_index": edges((0, 0), (0, 1), (0, 1), (9, 1)),
        "edge_weight": np.array([1, -1, 1, 1]),
    }
    found = codes(graph(fields, **changes))
    expected = {"nan_features", "label_range", "self_loops", "isolated", "duplicates", "directed"}
    assert expected | {"outside", "negative_weights"} <= found


def test_a_defect_says_how_often_and_where_first(fields):
    x = np.zeros((6, 2))
    x[[1, 3, 4, 5], 0] = np.nan
    (defect,) = check(graph(fields, x=x))
    assert defect.count == 4
    assert "4 (node 1, node 3, node 4, ...)" in str(defect)


def test_nodes_are_called_what_the_user_calls_them(fields):
    data = graph(fields, y=np.array([0, 1, 0, -1, 0, 1]), node_names=list("abcdef"))
    assert "(node d)" in str(check(data)[0])


def test_a_graph_to_predict_on_needs_neither_labels_nor_split(fields):
    data = graph({name: fields[name] for name in ("x", "edge_index")})
    assert check(data, training=False) == []
    assert codes(data) == {"no_labels"}


def test_values_of_a_wrong_type_are_named(fields):
    with pytest.raises(InputError, match=r"x holds values of type <U1, first 'a'"):
        graph(fields, x=np.array([["a"]] * 6))
    with pytest.raises(InputError, match="edge_index holds values of type float64"):
        graph(fields, edge_index=fields["edge_index"] * 0.5)


@given(
    n=st.integers(1, 8),
    pairs=st.lists(st.tuples(st.integers(-1, 9), st.integers(-1, 9)), max_size=20),
)
def test_the_edge_counts_are_those_of_a_count_by_hand(n, pairs):
    edge_index = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    data = assemble({"x": np.ones((n, 1)), "edge_index": edge_index})[0]
    count = {defect.code: defect.count for defect in check(data, training=False)}
    inside = [(a, b) for a, b in pairs if 0 <= a < n and 0 <= b < n]
    assert count.get("outside", 0) == len(pairs) - len(inside)
    if inside:
        distinct = set(inside)
        touched = {node for a, b in inside if a != b for node in (a, b)}
        assert count.get("self_loops", 0) == sum(a == b for a, b in inside)
        assert count.get("isolated", 0) == n - len(touched)
        assert count.get("duplicates", 0) == len(inside) - len(distinct)
        assert count.get("directed", 0) == sum((b, a) not in distinct for a, b in distinct)
    else:
        assert count["no_edges"] == 1


def test_a_tensor_of_a_wrong_type_is_not_quietly_rounded(fields):
    with pytest.raises(InputError, match="edge_index holds values of type float32"):
        graph(fields, edge_index=torch.from_numpy(fields["edge_index"]) * 0.5)
    with pytest.raises(InputError, match="y holds values of type datetime64"):
        graph(fields, y=np.array(["2020-01-01"] * 6, dtype="datetime64[D]"))


@pytest.mark.parametrize("kind", [np.float16, np.float64, np.longdouble, np.uint16, bool])
def test_features_of_any_kind_of_number_are_read(kind, fields):
    x = np.array([[1, 0]] * 6, dtype=kind)
    assert graph(fields, x=x).x.dtype == torch.float32
    assert graph(fields, x=torch.ones(6, 2, dtype=torch.bfloat16)).x.eq(1).all()
