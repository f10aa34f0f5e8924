"""What all tests share: a graph small enough to train on, and threads and examples in measure."""

import os

import torch

# Without a GPU Triton's kernels run in its interpreter, which it must know when it is imported.
if not torch.cuda.is_available():
    os.environ.setdefault("TRITON_INTERPRET", "1")

import pytest  # after the lines above
from hypothesis import settings
from torch_geometric.data import Data

torch.set_num_threads(1)  # the tests share the cores among themselves

# Compiled kernels make the first example slow, and a shared machine any other.
settings.register_profile("upwind", deadline=None, max_examples=20, derandomize=True)
settings.load_profile("upwind")


def small_graph(*, classes: int = 3, metric: str = "accuracy") -> Data:
    """60 nodes in a ring with chords, some directed; 3 environments; nodes 58 and 59 isolated."""
    random = torch.Generator().manual_seed(5)
    ring = torch.stack([torch.arange(58), (torch.arange(58) + 1) % 58])
    chords = torch.randint(0, 58, (2, 80), generator=random)
    y = torch.arange(60) % classes
    part = torch.randperm(60, generator=random)
    masks = {
        f"{name}_mask": torch.isin(torch.arange(60), part[first:last])
        for name, first, last in (
            ("train", 0, 30),
            ("id_val", 30, 36),
            ("id_test", 36, 42),
            ("val", 42, 51),
            ("test", 51, 60),
        )
    }
    env_id = torch.where(masks["train_mask"], torch.arange(60) % 5 % 3, -1)
    return Data(
        x=torch.randn(60, 8, generator=random) + torch.eye(8)[y],
        edge_index=torch.cat([ring, ring.flip(0), chords], 1),
        y=y,
        env_id=env_id,
        domain_id=torch.arange(60) % 4,
        name="small",
        shift="covariate",
        num_classes=classes,
        num_envs=3,
        metric=metric,
        label_names=[f"class {c}" for c in range(classes)],
        num_nodes=60,
        **masks,
    )


@pytest.fixture
def small() -> Data:
    return small_graph()
