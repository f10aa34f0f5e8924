"""Data sets, shifts and files: everything that ends in a graph with features, labels and masks."""
