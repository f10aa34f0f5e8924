"""Graphs saved with ``torch.save``, opened without running any code in them."""

import pickle
import re
import zipfile
from pathlib import Path
from typing import Any

import torch
from torch_geometric.data import Data
from torch_geometric.data.data import DataEdgeAttr, DataTensorAttr
from torch_geometric.data.storage import GlobalStorage

from upwind.data.sparse import no_beta_warning
from upwind.errors import InputError

# All that a saved `Data` with tensors, strings, numbers and lists of them is made of.
_MADE_OF = [Data, DataEdgeAttr, DataTensorAttr, GlobalStorage]


def read_saved(path: Path) -> dict[str, Any]:
    """The attributes of a PyG ``Data`` in a ``.pt`` file."""
    if not zipfile.is_zipfile(path):
        raise InputError(f"{path} is no whole file of torch.save; save it again.")
    # On leaving, the context takes its list off the global one, where PyG needs its own `Data`.
    known = torch.serialization.get_safe_globals()
    ours = [part for part in _MADE_OF if part not in known]
    try:
        with zipfile.ZipFile(path) as archive:  # torch reads without comparing checksums
            if broken := archive.testzip():
                raise InputError(f"{path} is damaged (in {broken}); save it again.")
        with torch.serialization.safe_globals(ours), no_beta_warning():
            data = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        refused = re.search(r"GLOBAL ([\w.]+)", str(error))
        what = f"it holds a {refused[1]}" if refused else "it is no file of torch.save"
        raise InputError(
            f"{path} was not opened, because {what}, which could run code; save a torch_geometric "
            "Data with tensors, strings and lists only: torch.save(data, path)."
        ) from error
    except InputError:
        raise
    except Exception as error:  # a damaged file can fail in any way inside torch
        reason = str(error).partition("\n")[0]
        raise InputError(f"{path} is damaged or cut short ({reason}); save it again.") from error
    if not isinstance(data, Data):
        raise InputError(
            f"{path} holds a {type(data).__name__}, not a torch_geometric Data; "
            "save the graph itself: torch.save(data, path)."
        )
    fields: dict[str, Any] = data.to_dict()
    if "adj_t" in fields and "edge_index" not in fields:
        raise InputError(f"{path} has adj_t in place of edge_index; save it with edge_index.")
    return fields
