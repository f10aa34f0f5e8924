"""Dropout whose random numbers do not take a third of the step."""

from typing import Any, final

import numpy as np
import torch
from numba import njit
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import dropout

Floats = NDArray[np.float32]


@final
class Dropout(nn.Module):
    """Zero each entry with probability ``p`` in training, and scale the others by 1 / (1 - p).

    torch draws one number after another on the CPU. Here torch draws a key, and entry i is
    decided by a hash of key + i (SplitMix64), which the compiler turns into vector code.
    """

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        """The same shape."""
        if not self.training or self.p == 0:
            return x
        if x.is_cuda:
            return dropout(x, self.p)
        dropped: Tensor = _Dropout.apply(x, self.p)  # type: ignore[no-untyped-call]
        return dropped


class _Dropout(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, p: float) -> Tensor:
        key = np.uint64(int(torch.randint(2**63 - 1, ())))
        ctx.key, ctx.p = key, p
        return _apply(x, key, p)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return _apply(gradient, ctx.key, ctx.p), None


def _apply(x: Tensor, key: np.uint64, p: float) -> Tensor:
    out = torch.empty(x.shape, dtype=x.dtype)
    _zero_some(x.detach().contiguous().numpy().ravel(), key, p, out.numpy().ravel())
    return out


@njit(cache=True, nogil=True)
def draw(key: np.uint64, i: int) -> np.uint32:
    """Entry i of the stream of random numbers that the key stands for."""
    z = key + np.uint64(i) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.uint32((z ^ (z >> np.uint64(31))) >> np.uint64(32))


@njit(cache=True, nogil=True)
def _zero_some(x: Floats, key: np.uint64, p: float, out: Floats) -> None:
    """The mask is a function of the key: the backward pass draws it again."""
    threshold = np.uint32(min(p * 2.0**32, 2.0**32 - 1))
    scale = x.dtype.type(1 / (1 - p))
    zero = x.dtype.type(0)
    for i in range(x.size):
        out[i] = x[i] * scale if draw(key, i) >= threshold else zero
