"""Two tables make a graph, whatever their ids are."""

import datetime
import uuid

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pa_parquet
import pytest

from upwind.data import load
from upwind.errors import InputError, InputWarning


@pytest.fixture
def write(tmp_path):
    """Writes columns to CSV or Parquet by the name of the file."""

    def to(name, text=None, **columns):
        path = tmp_path / name
        if text is not None:
            path.write_text(text)
        else:
            pa_parquet.write_table(pa.table(columns), path)
        return path

    return to


RING = [(0, 1), (1, 0), (1, 2), (2, 1), (2, 3), (3, 2)]
SPLIT = ["train", "train", "val", "test"]


@pytest.mark.parametrize(
    "ids",
    [
        [10, 7, -3, 2**60],
        ["a", "b", "7", "007"],
        [1.5, 2.5, 3.5, 4.5],
        [uuid.UUID(int=i).bytes for i in range(4)],
        [datetime.date(2020, 1, day) for day in range(1, 5)],
        pa.array(["p", "q", "r", "s"]).dictionary_encode(),
    ],
    ids=["integers", "words", "numbers", "bytes", "dates", "categories"],
)
def test_ids_may_be_of_any_type(ids, write):
    nodes = write("nodes.parquet", id=ids, a=[1.0, 2, 3, 4], label=list("xyxy"), split=SPLIT)
    plain = ids.to_pylist() if isinstance(ids, pa.Array) else ids
    ends = ([plain[pair[k]] for pair in RING] for k in (0, 1))
    edges = write("edges.parquet", **dict(zip(("source", "target"), ends, strict=True)))
    data = load(nodes, edges=edges)
    assert data.edge_index.T.tolist() == [list(pair) for pair in RING]
    assert len(set(data.node_names)) == 4


NODES = "id,a,label,split\n1,0.5,x,train\n2,1,y,train\n03,2,x,val\n3,3,y,test\n"
EDGES = "source,target\n1,2\n2,1\n2,03\n03,2\n03,3\n3,03\n"


def test_a_space_after_the_comma_is_no_part_of_a_word(write):
    spaced = (text.replace(",", ", ") for text in (NODES, EDGES))
    nodes, edges = (text.replace("a, label, split", "a,label,split") for text in spaced)
    nodes, edges = nodes.replace("id, ", "id,"), edges.replace("source, ", "source,")
    data = load(write("nodes.csv", nodes), edges=write("edges.csv", edges))
    assert data.label_names == ["x", "y"]
    assert data.edge_index.T.tolist() == [list(pair) for pair in RING]
    assert data.train_mask.tolist() == [True, True, False, False]


def test_ids_in_a_csv_are_what_is_written(write):
    data = load(write("nodes.csv", NODES), edges=write("edges.csv", EDGES))
    assert data.node_names == ["1", "2", "03", "3"]
    assert data.edge_index.T.tolist() == [list(pair) for pair in RING]
    assert data.x.tolist() == [[0.5], [1], [2], [3]]


def test_a_csv_goes_with_a_parquet_and_tabs_will_do(write):
    numbers = NODES.replace("03,", "4,").replace(",", "\t")
    ids = [1, 2, 4, 3]
    ends = {name: [ids[pair[k]] for pair in RING] for k, name in enumerate(("source", "target"))}
    data = load(write("nodes.tsv", numbers), edges=write("edges.parquet", **ends))
    assert data.edge_index.T.tolist() == [list(pair) for pair in RING]


def test_columns_are_named_or_found(write):
    nodes = write(
        "people.csv",
        "born,who,job,fold,land\n70,a,cook,Train,fr\n80,b,clerk,train,de\n"
        "75,c,cook,validation,NA\n60,d,,,fr\n",
    )
    edges = write("ties.csv", "to,strength,from\na,2,b\nb,2,a\nb,1,c\nc,1,b\nc,1,d\nd,1,c\n")
    with pytest.warns(InputWarning, match="the test set is empty"):
        data = load(
            nodes,
            edges=edges,
            domain="land",
            id="who",
            label="job",
            split="fold",
            start="from",
            end="to",
            weight="strength",
        )
    assert data.x.tolist() == [[70], [80], [75], [60]]
    assert data.y.tolist() == [1, 0, 1, -1]
    assert data.label_names == ["clerk", "cook"]
    assert data.domain_names == ["NA", "de", "fr"]  # Namibia is not a missing value
    assert data.edge_weight.tolist() == [2, 2, 1, 1, 1, 1]
    assert data.edge_index[:, 0].tolist() == [1, 0]
    assert data.train_mask.tolist() == [True, True, False, False]


def test_labels_that_are_numbers_are_ordered_as_such(write):
    text = "id,a,label,split\n1,0,10,train\n2,0,9,train\n03,0,10,val\n3,0,9,test\n"
    data = load(write("nodes.csv", text), edges=write("edges.csv", EDGES))
    assert data.label_names == ["9", "10"]


def test_a_domain_of_numbers_is_sorted_as_numbers(write):
    text = "id,a,label,split,year\n1,0,x,train,100\n2,0,y,train,9\n03,0,x,val,9\n3,0,y,test,20\n"
    data = load(write("nodes.csv", text), edges=write("edges.csv", EDGES), domain="year")
    assert data.domain_names == ["9", "20", "100"]
    assert data.x.shape == (4, 1)


def test_a_column_of_lists_is_several_features(write):
    ids = [0, 1, 2, 3]
    for kind in (pa.list_(pa.float64()), pa.list_(pa.float32(), 2)):
        lists = pa.array([[i, 2 * i] for i in ids], type=kind)
        nodes = write("nodes.parquet", id=ids, emb=lists, label=list("xyxy"), split=SPLIT)
        source, target = zip(*RING, strict=True)
        edges = write("edges.parquet", source=source, target=target)
        assert load(nodes, edges=edges).x.tolist() == [[0, 0], [1, 2], [2, 4], [3, 6]]


def test_words_are_no_features_unless_asked_for_and_then_it_is_an_error(write):
    nodes = write("nodes.csv", NODES.replace("label", "kind", 1).replace("a,", "label,", 1))
    edges = write("edges.csv", EDGES)
    with pytest.raises(InputError, match="feature column 'kind' does not hold numbers"):
        load(nodes, edges=edges, features=["kind"])
    nodes = write(
        "nodes.csv",
        "id,a,b,label,split\n1,0,u,x,train\n2,1,v,y,train\n03,2,u,x,val\n3,3,w,y,test\n",
    )
    with pytest.warns(InputWarning, match=r"columns that are not numbers.*1 \(b\)"):
        assert load(nodes, edges=edges).x.shape == (4, 1)


def test_what_only_the_tables_show_is_listed_with_the_rest(write):
    nodes = write(
        "nodes.csv",
        "id,a,label,split\n1,,x,train\n1,1,y,train\n,2,x,maybe\n3,3,y,test\n",
    )
    edges = write("edges.csv", "source,target\n1,3\n3,1\n1,99\n")
    with pytest.raises(InputError) as caught:
        load(nodes, edges=edges)
    message = str(caught.value)
    for expected in (
        "nodes.csv: 5 errors",
        "ids that several nodes have: 1 (1)",
        "nodes without an id: 1 (row 3)",
        "edges that point outside the node table: 1 (row 3: 1 -> 99)",
        "unknown parts in the split column: 1 (row 3: maybe)",
        "nodes with a NaN or infinite feature: 1 (node 1)",
    ):
        assert expected in message


def test_a_wrong_column_name_is_answered_with_the_columns(write):
    nodes, edges = write("nodes.csv", NODES), write("edges.csv", EDGES)
    with pytest.raises(InputError, match="no column 'klass', named as label; it has id, a, label"):
        load(nodes, edges=edges, label="klass")
    with pytest.raises(InputError, match="the edge table has no column 'from'"):
        load(nodes, edges=edges, start="from")


def test_a_node_table_needs_its_edges(write, tmp_path):
    nodes = write("nodes.csv", NODES)
    with pytest.raises(InputError, match="name the edge table too"):
        load(nodes)
    with pytest.raises(InputError, match=r"there is no file .*none\.csv"):
        load(nodes, edges=tmp_path / "none.csv")


def test_a_ragged_or_empty_csv_is_reported(write):
    edges = write("edges.csv", EDGES)
    for text in ("", NODES + "5,1\n"):
        with pytest.raises(InputError, match=r"nodes\.csv cannot be read as CSV"):
            load(write("nodes.csv", text), edges=edges)


def test_columns_that_cannot_be_told_apart_are_reported(write):
    edges = write("edges.csv", EDGES)
    for text, message in (
        (NODES.replace(",", ";"), "has 1 column .*; separate columns by commas"),
        (NODES.replace("a,", "id,", 1), "the node table has several columns 'id'"),
    ):
        with pytest.raises(InputError, match=message):
            load(write("nodes.csv", text), edges=edges)
    nodes = write("nodes.csv", NODES)
    with pytest.raises(InputError, match="the edge table has 1 column"):
        load(nodes, edges=write("edges.csv", EDGES.replace(",", ";")))


def test_a_graphml_that_is_undirected_is_stored_both_ways(tmp_path):
    path = tmp_path / "g.graphml"
    path.write_text(
        '<graphml><key id="d0" for="node" attr.name="a" attr.type="double"/>'
        '<key id="d1" for="node" attr.name="label" attr.type="string"/>'
        '<graph edgedefault="undirected">'
        + "".join(
            f'<node id="n{i}"><data key="d0">{i}</data><data key="d1">{"xy"[i % 2]}</data></node>'
            for i in range(6)
        )
        + "".join(f'<edge source="n{i}" target="n{(i + 1) % 6}"/>' for i in range(6))
        + "</graph></graphml>"
    )
    data = load(path, shift="none")
    assert data.edge_index.shape == (2, 12)
    assert np.allclose(data.x[:, 0].numpy(), np.arange(6))


def test_ids_past_the_largest_signed_number_are_still_found(write):
    ids = pa.array([2**63 + 1, 2, 3, 4], type=pa.uint64())
    nodes = write("nodes.parquet", id=ids, a=[1.0, 2, 3, 4], label=list("xyxy"), split=SPLIT)
    ends = {"source": [2, 3, 3, 4], "target": [3, 2, 4, 3]}
    with pytest.warns(InputWarning, match=r"isolated nodes: 1 \(node 9223372036854775809\)"):
        data = load(nodes, edges=write("edges.parquet", **ends))
    assert data.edge_index.T.tolist() == [[1, 2], [2, 1], [2, 3], [3, 2]]


def test_rows_without_a_list_are_reported(write):
    lists = pa.array([[1, 2], None, [3, 4], [5, 6]], type=pa.list_(pa.float32(), 2))
    nodes = write("nodes.parquet", id=[0, 1, 2, 3], emb=lists, label=list("xyxy"), split=SPLIT)
    source, target = zip(*RING, strict=True)
    with pytest.raises(InputError, match="column 'emb' has 1 rows without a list"):
        load(nodes, edges=write("edges.parquet", source=source, target=target))


def test_tables_without_a_row_are_an_empty_graph(write):
    nodes = write("nodes.csv", "id,a,label\n")
    with pytest.raises(InputError, match="the graph has no nodes"):
        load(nodes, edges=write("edges.csv", "source,target\n"))
