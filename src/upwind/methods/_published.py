"""What the benchmark chose for its methods, as ``Method.published`` has it."""

Pair = tuple[float, float]


def chosen(
    option: str, *, webkb: Pair, cbas: Pair, twitch: Pair, cora_word: Pair
) -> dict[str, dict[str, float]]:
    """The values for concept and covariate shift, by data set.

    Cora by words has a stand-in here, DBLP by words.

    >>> chosen("eta", webkb=(1, 2), cbas=(3, 4), twitch=(5, 6), cora_word=(7, 8))["webkb/covariate"]
    {'eta': 2}
    """
    pairs = {"webkb": webkb, "cbas": cbas, "twitch": twitch, "cora_word": cora_word}
    return {
        f"{source}/{shift}": {option: value}
        for source, pair in (pairs | {"dblp_word": cora_word}).items()
        for shift, value in zip(("concept", "covariate"), pair, strict=True)
    }
