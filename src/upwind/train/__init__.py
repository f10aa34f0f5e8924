"""Training: the configuration, the loop, the scores, and which epoch is kept."""

from upwind.train.config import RECIPES, Config, load_data, published_seeds, resolve

__all__ = ["RECIPES", "Config", "load_data", "published_seeds", "resolve"]
