"""The data sets that come with upwind: what each is, and how its graph is read."""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches

from numpy.typing import ArrayLike
from torch_geometric.data import Data

from upwind.data.cbas import cbas
from upwind.data.citation import citation
from upwind.data.concept import concept_shift
from upwind.data.covariate import covariate_cuts, covariate_shift
from upwind.data.domains import node_domains
from upwind.data.longtail import long_tail
from upwind.data.planetoid import planetoid
from upwind.data.raw import RawFiles
from upwind.data.split import random_split, sorted_nodes
from upwind.data.twitch import twitch
from upwind.data.webkb import webkb
from upwind.errors import InputError

SHIFTS = ("covariate", "concept", "none")


@dataclass(frozen=True)
class DataSet:
    """A data set of the catalogue.

    Attributes:
        name: What it is called in `load` and on the command line.
        title: One line for the list.
        read: Reads the graph, without a split, from its raw files; None where there are none.
        domains: The attributes that the benchmark shifts it by, the usual one first; a set with
            several is also known as ``name_domain``.
        size: Its nodes, stored edges, features and classes.
        envs: How many training environments each shift makes, where that can be known here.
        licence: Under which its source offers it.
        origin: Where the raw files come from.
        bias: The strength of its concept shift, as `concept_shift` takes it.
        descending: Whether its covariate shift trains on the largest domain values.
        balance: Whether its covariate cuts are the balanced ones.
        metric: What it is scored by.
        note: What else one should know.
        long_tailed: Whether it has a long-tailed training set in place of a shift.
    """

    name: str
    title: str
    read: Callable[[RawFiles], Data] | None
    domains: tuple[str, ...]
    size: tuple[int, int, int, int]
    envs: Mapping[str, int]
    licence: str
    origin: str
    bias: tuple[float, ...] = (0.95, 0.95, 0.9, 0.85, 0.5)
    descending: bool = False
    balance: bool = False
    metric: str = "accuracy"
    note: str = ""
    long_tailed: bool = False


def _citation(name: str) -> Callable[[RawFiles], Data]:
    return lambda raw: citation(raw.npz(name))


def _planetoid(name: str) -> Callable[[RawFiles], Data]:
    return lambda raw: planetoid(raw, name)


_GEOM_GCN = "github.com/graphdml-uiuc-jlu/geom-gcn"
_GRAPH2GAUSS = "github.com/abojchevski/graph2gauss"
_PLANETOID = "github.com/kimiyoung/planetoid"

CATALOG = {
    entry.name: entry
    for entry in (
        DataSet(
            "webkb",
            "web pages of three universities",
            webkb,
            ("university",),
            (617, 1138, 1703, 5),
            {"covariate": 2, "concept": 3, "none": 9},
            "MIT (as part of GOOD)",
            _GEOM_GCN,
            bias=(0.85, 0.75, 0.85, 0.8, 0.5),
            balance=True,
        ),
        DataSet(
            "cbas",
            "generated houses on a random graph, misleading colours",
            None,
            ("color",),
            (700, 3962, 4, 4),
            {"covariate": 5, "concept": 5, "none": 5},
            "MIT (as part of GOOD)",
            "generated, no file needed",
        ),
        DataSet(
            "twitch",
            "gamers of six languages: mature content?",
            twitch,
            ("language",),
            (34120, 892346, 128, 2),
            {"covariate": 3, "concept": 3, "none": 9},
            "MIT",
            "graphmining.ai (offline)",
            bias=(0.8, 0.7, 0.8, 0.7, 0.5),
            metric="roc_auc",
            note="FR: past row 1,018 the source has labels shifted by 1 or 2 rows",
        ),
        DataSet(
            "cora",
            "citations, 70 fields",
            _citation("CitationFull/cora/raw/cora.npz"),
            ("word", "degree"),
            (19793, 126842, 8710, 70),
            {"concept": 3, "none": 9},
            "MIT",
            _GRAPH2GAUSS,
            descending=True,
            note="SHA-256 of the raw file not known",
        ),
        DataSet(
            "dblp",
            "citations, 4 fields",
            _citation("CitationFull/dblp/raw/dblp.npz"),
            ("word", "degree"),
            (17716, 105734, 1639, 4),
            {"covariate": 4, "concept": 3, "none": 9},
            "MIT",
            _GRAPH2GAUSS,
            descending=True,
            note="covariate shift by degree leaves no test node; --balance does",
        ),
        DataSet(
            "coauthor_cs",
            "co-authors, 15 fields",
            _citation("Coauthor/CS/raw/ms_academic_cs.npz"),
            ("word", "degree"),
            (18333, 163788, 6805, 15),
            {"covariate": 10, "concept": 3, "none": 9},
            "MIT",
            "github.com/shchur/gnn-benchmark",
            descending=True,
        ),
        *(
            DataSet(
                f"{name.lower()}_lt",
                f"{name}, long-tailed training set",
                _planetoid(name),
                (),
                size,
                {},
                "MIT",
                _PLANETOID,
                long_tailed=True,
            )
            for name, size in (
                ("Cora", (2708, 10556, 1433, 7)),
                ("CiteSeer", (3327, 9104, 3703, 6)),
                ("PubMed", (19717, 88648, 500, 3)),
            )
        ),
    )
}


def find(name: str) -> tuple[DataSet, str | None]:
    """The data set of this name, and its domain where the name has one or it has a usual one.

    >>> entry, domain = find("dblp_degree")
    >>> entry.name, domain
    ('dblp', 'degree')
    """
    names: dict[str, tuple[DataSet, str | None]] = {
        entry.name: (entry, entry.domains[0] if entry.domains else None)
        for entry in CATALOG.values()
    }
    names |= {
        f"{entry.name}_{domain}": (entry, domain)
        for entry in CATALOG.values()
        if len(entry.domains) > 1
        for domain in entry.domains
    }
    if name in names:
        return names[name]
    close = get_close_matches(name, names, n=2, cutoff=0.5)
    meant = f"did you mean {' or '.join(close)}?" if close else f"there are {', '.join(CATALOG)}."
    raise InputError(f"{name!r} is neither a data set nor a file; {meant}")


def build(
    name: str,
    raw: RawFiles,
    *,
    shift: str | None,
    domain: str | ArrayLike | None,
    seed: int,
    balance: bool,
    ratio: float,
) -> Data:
    """The graph of a data set with its split, as the public benchmark makes it.

    >>> options = {"domain": None, "seed": 123, "balance": False, "ratio": 100.0}
    >>> build("cbas", RawFiles(), shift="concept", **options).num_envs
    5
    """
    entry, usual = find(name)
    domain = usual if domain is None else domain
    if entry.long_tailed and (shift is not None or domain is not None):
        raise InputError(
            f"{name} is long-tailed and comes with its own split; leave out the shift."
        )
    if entry.read is None:
        if not isinstance(domain, str) or domain not in entry.domains:
            raise InputError(f"{name} is generated with its own domain; leave the domain out.")
        data = cbas(shift or "none", seed)
    elif entry.long_tailed:
        data = long_tail(_read(entry, raw), ratio=ratio)
    else:
        assert domain is not None
        data = _shifted(entry, _read(entry, raw), shift or "none", domain, seed, balance)
    data.name = _full_name(entry, domain, ratio)
    data.metric = entry.metric
    data.num_classes = int(data.y.max()) + 1
    data.label_names = [str(label) for label in range(data.num_classes)]
    data.node_names = []
    return data


def _read(entry: DataSet, raw: RawFiles) -> Data:
    """The graph in the raw files; not all of those have a hash that could tell what they are."""
    assert entry.read is not None
    wrong = "its parts do not fit together"
    try:
        data = entry.read(raw)
        n = data.num_nodes
        if len(data.y) == n and 0 <= int(data.edge_index.min()) <= int(data.edge_index.max()) < n:
            return data
    except InputError:
        raise
    except (KeyError, IndexError, ValueError, TypeError, RuntimeError, AttributeError) as error:
        wrong = repr(error)
    raise InputError(
        f"a raw file of {entry.name} is none of that data set ({wrong:.200}); replace it, or if "
        "upwind fetched it, delete it, and it is fetched anew."
    )


def _full_name(entry: DataSet, domain: str | ArrayLike | None, ratio: float) -> str:
    """The name with what is not as usual, so that two different splits never share one."""
    if entry.long_tailed:
        return entry.name if ratio == 100 else f"{entry.name}_{ratio:g}"
    if not isinstance(domain, str):
        return f"{entry.name}_vector"
    return entry.name if entry.domains == (domain,) else f"{entry.name}_{domain}"


def _shifted(
    entry: DataSet, data: Data, shift: str, domain: str | ArrayLike, seed: int, balance: bool
) -> Data:
    balance = balance or entry.balance
    if shift == "none":
        domains = node_domains(data, domain)
        return random_split(data, seed=seed, domains=domains)
    if shift == "covariate":
        return covariate_shift(
            data, domain, seed=seed, descending=entry.descending, balance=balance
        )
    # The benchmark makes the covariate split first: its shuffle has used up these draws.
    rng = random.Random(seed)
    ids = node_domains(data, domain).id
    nodes = sorted_nodes(data, ids, entry.descending)
    rng.shuffle(list(range(covariate_cuts(ids[nodes], balance=balance).first)))
    return concept_shift(data, domain, bias=entry.bias, seed=rng, balance=balance)
