"""Problems without edges whose environments matter, and a model on their bare features."""

import torch
from torch import nn
from torch_geometric.data import Data

from upwind import methods, sampling
from upwind.nets import Model


class Bare(nn.Module):
    """The features as they are, or after one linear map, and noise of size ``noise`` on top."""

    def __init__(self, columns, width=None, noise=0.0):
        super().__init__()
        self.width, self.noise = width or columns, noise
        self.map = nn.Linear(columns, width) if width else nn.Identity()

    def forward(self, batch):
        features = self.map(batch.x)
        return features + self.noise * torch.randn_like(features)


def problem(x, y, env, *, classes=2, metric="accuracy"):
    """All nodes are training nodes."""
    n = len(y)
    return Data(
        x=x,
        y=y,
        env_id=env,
        train_mask=torch.ones(n, dtype=torch.bool),
        edge_index=torch.empty(2, 0, dtype=torch.long),
        num_nodes=n,
        num_envs=int(env.max()) + 1,
        num_classes=classes,
        metric=metric,
    )


def spurious(seed, *, each=1000, agree=(0.95, 0.8)):
    """Two features: the first agrees with the label 3 times in 4 in every environment.

    The second agrees more often, but how often depends on the environment.
    """
    random = torch.Generator().manual_seed(seed)
    y = torch.randint(0, 2, (len(agree) * each,), generator=random)
    env = torch.arange(len(agree)).repeat_interleave(each)
    chance = torch.stack([torch.full_like(env, 0.75, dtype=torch.float), torch.tensor(agree)[env]])
    holds = torch.rand(chance.shape, generator=random) < chance
    return problem(torch.where(holds, 2 * y - 1, 1 - 2 * y).T.float(), y, env)


def begin(spec, data, *, seed=0, outputs=2, **encoder):
    """A model on bare features and the method on it."""
    torch.manual_seed(seed)
    model = Model(Bare(data.x.shape[1], **encoder), outputs)
    method = methods.build(methods.resolve(spec, "generated", None))
    method.on_start(model, data)
    return model, method


def fit(spec, data, *, steps=300, lr=0.05, hurry=1, **options):
    """Both after training on the whole problem; the method's own parameters ``hurry``."""
    model, method = begin(spec, data, **options)
    groups = [{"params": [*model.parameters()]}, {"params": [*method.learned()], "lr": hurry * lr}]
    optimiser = torch.optim.Adam([group for group in groups if group["params"]], lr=lr)
    batch = sampling.whole(data)
    for step in range(steps):
        method.on_step_start(step / steps)
        optimiser.zero_grad()
        method.loss(model, batch).backward()
        optimiser.step()
    return model, method


def accuracy(model, data):
    """Share of all nodes that the model gets right."""
    with torch.no_grad():
        logits = model(sampling.whole(data))
    return float((logits.argmax(1) == data.y).float().mean())


def uneven(seed=0):
    """A batch of 90 nodes, 70 of them in training, with uneven environments and node norms."""
    random = torch.Generator().manual_seed(seed)
    data = problem(
        torch.randn(90, 3, generator=random),
        torch.randint(0, 2, (90,), generator=random),
        torch.randint(0, 6, (90,), generator=random).clamp(min=3) - 3,
    )
    data.train_mask = torch.rand(90, generator=random).argsort() < 70
    data.env_id = torch.where(data.train_mask, data.env_id, -1)
    batch = sampling.whole(data)
    batch.node_norm = torch.rand(90, generator=random)
    return data, batch
