"""Every raw file that can be fetched: its place in PyG's layout, its address and its SHA-256."""

from dataclasses import dataclass

GEOM_GCN = "https://raw.githubusercontent.com/graphdml-uiuc-jlu/geom-gcn/master/new_data"
PLANETOID = "https://github.com/kimiyoung/planetoid/raw/master/data"
GRAPH2GAUSS = "https://github.com/abojchevski/graph2gauss/raw/master/data"
GNN_BENCHMARK = "https://github.com/shchur/gnn-benchmark/raw/master/data/npz"
MUSAE = "https://graphmining.ai/datasets/ptg/twitch"


@dataclass(frozen=True)
class Source:
    """Where a raw file comes from.

    Attributes:
        url: The address that PyG names.
        sha256: What the file must hash to, or None where no original was at hand to hash. Then the
            file is never opened as a pickle, and a broken download is not resumed but repeated.
        offline: Why the address is not expected to answer.
    """

    url: str
    sha256: str | None
    offline: str | None = None


_SHA256 = {
    "CitationFull/dblp/raw/dblp.npz": (
        "750874dc86d975a01801a8512488cbe6a4b26ac29c2886f59803ac2ec21157ca"
    ),
    "Coauthor/CS/raw/ms_academic_cs.npz": (
        "7bbda0ec297bb44efc712cc59f9e9a6c9ac959e5c4848e311bc7e011b0be5753"
    ),
    "Planetoid/CiteSeer/raw/ind.citeseer.allx": (
        "2ac30345d95c9ec933a817ee0bdd6a5f077f8c184a20e696910192d534414668"
    ),
    "Planetoid/CiteSeer/raw/ind.citeseer.ally": (
        "f704b2d986dde6c2669934de1f3ae5696a6cf9455c0f6b2646a2d135ea0a1c95"
    ),
    "Planetoid/CiteSeer/raw/ind.citeseer.graph": (
        "d79a4ef9d3e7169aee8946145f6b7306e35bc79bffad26346cfb94e10e9912a7"
    ),
    "Planetoid/CiteSeer/raw/ind.citeseer.test.index": (
        "2af990671580b6b2df5d158d1038f8292e30c9cd821b5453f399659b25b723d4"
    ),
    "Planetoid/CiteSeer/raw/ind.citeseer.tx": (
        "539a8906a2da97628d212f2fdd668c109a8b3f0d36574b59e5d3fd5b5303da21"
    ),
    "Planetoid/CiteSeer/raw/ind.citeseer.ty": (
        "55e5bd1ba1e733a04598753ad1a8d57957f4b8f89e74519f41f4f4938767e4ce"
    ),
    "Planetoid/CiteSeer/raw/ind.citeseer.x": (
        "d20de19150741e555de0ed037195630fc194114ebc7fd72ced62810148aa22f6"
    ),
    "Planetoid/CiteSeer/raw/ind.citeseer.y": (
        "8ba87e515d8e3ee3cf52f6d2c5b86aa73f11ecad825a808455209ec26cd54924"
    ),
    "Planetoid/Cora/raw/ind.cora.allx": (
        "9419ba2f26f5c35243db64aba110e0f35a04851609e0dc5433450676ca6b8543"
    ),
    "Planetoid/Cora/raw/ind.cora.ally": (
        "2b998f5cc7fedc86e7f97ca2498f47a1ffc1462c29e2d578b23bf3f62b6e7d71"
    ),
    "Planetoid/Cora/raw/ind.cora.graph": (
        "58f13302f39dde8852dad6fe6d15b89b077b6d7f837626bce671ef80344b383d"
    ),
    "Planetoid/Cora/raw/ind.cora.test.index": (
        "297ce89af2b51a6a194181c7dbe1796c6a1cf9cd9349a88383b1b1e227867875"
    ),
    "Planetoid/Cora/raw/ind.cora.tx": (
        "b9afbaa4a400df991f6f02ef677e1e44da55ffc04801fd02f9e673987829226a"
    ),
    "Planetoid/Cora/raw/ind.cora.ty": (
        "41f5ac76596a1699cc33f53084a2419e92961c42bb75f36fc38e616d348532ad"
    ),
    "Planetoid/Cora/raw/ind.cora.x": (
        "23cfa55d91c6f624233f5eb7b6e3f141f1bd2b2ae39608a63cf5d084bb27baab"
    ),
    "Planetoid/Cora/raw/ind.cora.y": (
        "94465c14eb53e04ca262198dcbb2521ee8af60fb3f3d546cd6ca24a511b0e7d1"
    ),
    "Planetoid/PubMed/raw/ind.pubmed.allx": (
        "508e538e2abdccdd54c4d3e9f49d638b4af7107d85845f66ddea5a5152658b7e"
    ),
    "Planetoid/PubMed/raw/ind.pubmed.ally": (
        "0c37bbe3b5014ec365e9d393cf4791925e5ed94fb194305d74f064a8d7b50f0e"
    ),
    "Planetoid/PubMed/raw/ind.pubmed.graph": (
        "5b89f0036ca22909471f1e6558eb42fa06e0c730a577bde5b058b40638f81dc9"
    ),
    "Planetoid/PubMed/raw/ind.pubmed.test.index": (
        "b101d421688bbaecbd82e8a18f1e282378d6830f3a37666f28ebc47f844341b5"
    ),
    "Planetoid/PubMed/raw/ind.pubmed.tx": (
        "4eb5f5d0f30f26497eb0ac6ac9719d09c67e284f1ed0385c93f3ef27a671da3d"
    ),
    "Planetoid/PubMed/raw/ind.pubmed.ty": (
        "ee2e0d4819d9fbcc403689c3bf2e49face401b605932f093bc58ab6461130fdd"
    ),
    "Planetoid/PubMed/raw/ind.pubmed.x": (
        "fbe9cb5c47200d1b7769a26e579be3b7130b556831f9d850e77c4c74f2599b33"
    ),
    "Planetoid/PubMed/raw/ind.pubmed.y": (
        "e6c807633307a07ed659249006536a147c7999c797f11a2560752990181b41b3"
    ),
    "WebKB/cornell/raw/out1_graph_edges.txt": (
        "12dc60defc4f8a1f18499e3695bfd62ef0421f9b722297276e7f02dec7ae3dca"
    ),
    "WebKB/cornell/raw/out1_node_feature_label.txt": (
        "38561ad44e29199a826ccef7f94f469b94a912076f83fbc453a69b8ac2b4b858"
    ),
    "WebKB/texas/raw/out1_graph_edges.txt": (
        "0fe85183243a78cbee9b85a684f8240963d04d1020d10e9cd2b8cfb25e33b476"
    ),
    "WebKB/texas/raw/out1_node_feature_label.txt": (
        "cf5a3ca346cdd1210b8342e22517fcbbdae658065b7a3145f59350e50e6236a3"
    ),
    "WebKB/wisconsin/raw/out1_graph_edges.txt": (
        "ebd213511c88fce1eda450c2f920600c4b8cbb38f02384856bcc47c6ec1807ae"
    ),
    "WebKB/wisconsin/raw/out1_node_feature_label.txt": (
        "a32b0aa38d42f0d36841e8a8cb646d197f0ff33a182ac75a2b4476aeed3c7e4b"
    ),
}

_GONE = "The host graphmining.ai is known to be offline (PyG issue 10510)"


def source(name: str) -> Source:
    """The source of a raw file, by its path in PyG's layout.

    >>> source("CitationFull/cora/raw/cora.npz").url
    'https://github.com/abojchevski/graph2gauss/raw/master/data/cora.npz'
    """
    collection, part, _, file = name.split("/")
    base = {
        "WebKB": f"{GEOM_GCN}/{part}",
        "Planetoid": PLANETOID,
        "CitationFull": GRAPH2GAUSS,
        "Coauthor": GNN_BENCHMARK,
        "Twitch": MUSAE,
    }[collection]
    offline = _GONE if collection == "Twitch" else None
    return Source(f"{base}/{file}", _SHA256.get(name), offline)
