import os
import signal
import subprocess
import sys
import time

import pytest

from upwind import InputError
from upwind.errors import RunError
from upwind.runs import Run, find_runs
from upwind.runs.fan_out import do_all

SEEDS = (1, 2, 3, 4)


@pytest.fixture
def work(quick):
    return [{**quick, "seed": seed, "epochs": 60} for seed in SEEDS]


def children(pid):
    found = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True, check=False)
    return [int(line) for line in found.stdout.split()]


def command_of(pid):
    with open(f"/proc/{pid}/cmdline") as file:
        return file.read()


def counted(root):
    return sorted(run.config.seed for run in find_runs(root) if run.is_done)


@pytest.mark.slow
def test_a_worker_that_is_killed_has_its_run_done_by_another(work, tmp_path):
    program = (
        "import sys, json\nfrom pathlib import Path\nfrom upwind.runs.fan_out import do_all\n"
        "print(do_all(json.loads(sys.argv[1]), root=Path(sys.argv[2]), jobs=2, "
        "checkpoint_seconds=0))"
    )
    import json

    parent = subprocess.Popen(
        [sys.executable, "-c", program, json.dumps(work), str(tmp_path)],
        stdout=subprocess.PIPE,
        text=True,
    )
    killed = None
    while killed is None and parent.poll() is None:
        if any(len(list(run.epochs())) > 3 for run in find_runs(tmp_path)):
            loky = [pid for pid in children(parent.pid) if "popen_loky" in command_of(pid)]
            killed = loky[0]
            os.kill(killed, signal.SIGKILL)
        time.sleep(0.05)
    assert killed is not None
    assert parent.communicate()[0].strip() == "[]"
    assert counted(tmp_path) == list(SEEDS)


@pytest.fixture
def cluster():
    pytest.importorskip("distributed")
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, host="127.0.0.1"
    ) as made:
        yield made


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # Dask's own
def test_runs_on_a_cluster_survive_the_death_of_a_worker(work, tmp_path, cluster):
    address = cluster.scheduler_address.replace("tcp", "dask")
    victim = next(iter(cluster.workers.values()))
    told = []

    def finished(asked, problem):
        if not told:
            os.kill(victim.pid, signal.SIGKILL)
        told.append(asked["seed"])

    problems = do_all(work, root=tmp_path, cluster=address, checkpoint_seconds=0, finished=finished)
    assert problems == []
    assert sorted(told) == list(SEEDS)
    assert counted(tmp_path) == list(SEEDS)


def test_a_scheduler_that_cannot_be_reached_is_named(work, tmp_path, monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr("upwind.runs.cluster._PATIENCE_SECONDS", 0.5)
    with pytest.raises(RunError, match=r"dask://127\.0\.0\.1:9 cannot be reached"):
        do_all(work, root=tmp_path, cluster="dask://127.0.0.1:9")


@pytest.mark.parametrize("name", ["ray://127.0.0.1:1", "dask://", "127.0.0.1:8786"])
def test_a_cluster_is_named_by_its_kind_and_address(work, tmp_path, name):
    with pytest.raises(InputError, match="must be named as dask://host:port"):
        do_all(work, root=tmp_path, cluster=name)


def test_a_worker_without_the_shared_folder_says_so(quick, tmp_path, monkeypatch):
    monkeypatch.setattr("pathlib.Path.cwd", lambda: tmp_path / "elsewhere")
    (problem,) = do_all([quick], root=tmp_path)
    assert "a cluster needs a shared folder" in problem
    assert not Run(tmp_path / "x").is_done
