"""Handing runs to a cluster: joblib's Dask back end, found by an address.

Dask and not Ray: joblib carries its back end, the install is a few megabytes of Python, and the
scheduler gives the work of a worker that died to another.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from upwind.errors import InputError, RunError

_PATIENCE_SECONDS = 10


@contextmanager
def workers(cluster: str | None) -> Iterator[None]:
    """Within it joblib's work goes to this cluster, or without one to processes of this machine.

    Args:
        cluster: ``dask://host:port`` of a scheduler.
    """
    if cluster is None:
        yield
        return
    kind, _, address = cluster.partition("://")
    if kind != "dask" or not address:
        raise InputError(f"the cluster {cluster} must be named as dask://host:port")
    try:
        from distributed import Client
    except ImportError:
        raise InputError("a cluster needs Dask: pip install 'upwind[cluster]'") from None
    from joblib import parallel_config

    try:
        client = Client(  # type: ignore[no-untyped-call]
            f"tcp://{address}", timeout=_PATIENCE_SECONDS
        )
    except (OSError, ValueError) as error:  # a time-out is an OSError
        raise RunError(f"the scheduler at {cluster} cannot be reached: {error}") from None
    with client:
        if not client.scheduler_info()["workers"]:
            raise RunError(f"the scheduler at {cluster} has no workers; start some and try again")
        with parallel_config(backend="dask"):
            yield
