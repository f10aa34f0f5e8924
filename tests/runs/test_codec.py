import numpy as np
import pytest
import torch

from upwind import InputError
from upwind.runs.codec import decode, encode


def test_a_nest_of_everything_comes_back_as_it_was():
    state = {
        "tensors": [torch.arange(3), torch.tensor(1.5), torch.zeros(0, 2, dtype=torch.float16)],
        0: (1, None, True, "text", 2**100, -0.1, float("inf")),
        "array": np.arange(4, dtype=np.uint32),
        "empty": {},
    }
    found = decode(encode(state))
    assert torch.equal(found["tensors"][0], torch.arange(3))
    assert found["tensors"][1].shape == ()
    assert found["tensors"][2].dtype == torch.float16
    assert found[0] == state[0]
    assert found["array"].dtype == np.uint32
    assert found["array"].tolist() == [0, 1, 2, 3]
    assert found["empty"] == {}


def test_tensors_that_share_memory_are_kept_apart():
    whole = torch.arange(4.0)
    found = decode(encode([whole, whole[1:3], whole]))
    assert [part.tolist() for part in found] == [[0, 1, 2, 3], [1, 2], [0, 1, 2, 3]]


def test_what_could_run_code_cannot_be_kept():
    with pytest.raises(TypeError, match="cannot hold a function"):
        encode({"run": lambda: None})


@pytest.mark.parametrize("cut", [0, 4, 50, -1])
def test_a_truncated_file_is_said_to_be_damaged(cut):
    with pytest.raises(InputError, match="a checkpoint is damaged"):
        decode(encode({"a": torch.arange(100), "b": 1})[:cut])
