import os

# Triton's kernels run in its interpreter, on the CPU; it reads this when it is imported.
os.environ.setdefault("TRITON_INTERPRET", "1")

import torch  # after the line above
from hypothesis import settings

torch.set_num_threads(1)  # the tests share the cores among themselves

# Compiled kernels make the first example slow, and a shared machine any other.
settings.register_profile("upwind", deadline=None, max_examples=20, derandomize=True)
settings.load_profile("upwind")
