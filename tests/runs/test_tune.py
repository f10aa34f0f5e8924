import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from upwind import InputError
from upwind.runs import Run
from upwind.runs.tune import space, tune

SEARCH = {"hidden": [4, 8]}


@pytest.fixture
def asked(quick):
    return {**quick, "method": "tar", "epochs": 2}


def test_the_space_is_the_published_grid_less_what_is_set():
    assert space("tar:tau=0.1", {}) == {
        "tar.steps": (1, 3, 5, 10, 30, 100),
        "tar.beta": (1.0, 0.1, 0.01, 0.001, 0.0),
    }
    assert space("erm", {"lr": [0.1, 0.2]}) == {"lr": [0.1, 0.2]}


def test_a_method_without_a_grid_asks_what_to_search():
    with pytest.raises(InputError, match="--search"):
        space("erm", {})


def test_the_best_trial_is_the_best_record_on_validation(asked, tmp_path):
    best = tune(asked, trials=4, search=SEARCH, root=tmp_path)
    run = Run(best.run)
    scores = run.result["rules"]["ood_val"]["scores"]
    assert best.value == scores["val"]["accuracy"]
    assert best.trials == 4
    assert run.config.hidden == best.settings["hidden"]
    option = dict(part.split("=") for part in best.method.split(":")[1:])
    assert run.config.options["tar"]["steps"] == int(option["steps"])
    others = [Run(path.parent) for path in tmp_path.glob("*/done")]
    assert best.value == max(
        other.result["rules"]["ood_val"]["scores"]["val"]["accuracy"] for other in others
    )


def test_the_same_search_goes_on_where_it_was(asked, tmp_path):
    first = tune(asked, trials=2, search=SEARCH, root=tmp_path)
    runs = {path.parent.name for path in tmp_path.glob("*/done")}
    assert tune(asked, trials=2, search=SEARCH, root=tmp_path) == first
    assert {path.parent.name for path in tmp_path.glob("*/done")} == runs
    assert tune(asked, trials=3, search=SEARCH, root=tmp_path).trials == 3


def test_a_database_that_cannot_be_opened_is_one_sentence(asked, tmp_path):
    with pytest.raises(InputError, match="cannot be opened"):
        tune(asked, trials=1, root=tmp_path, storage="sqlite:////no/such/folder/x.sqlite")


def test_without_optuna_it_says_what_to_install(asked, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(InputError, match=r"upwind\[tune\]"):
        tune(asked, trials=1, root=tmp_path)


def test_the_command_ends_with_a_method_to_copy(tmp_path):
    command = [sys.executable, "-m", "upwind", "tune", "cbas", "--shift", "covariate"]
    command += ["--method", "erm", "--search", "lr=0.01,0.001", "--trials", "2", "--epochs", "1"]
    command += ["--hidden", "4", "--steps-per-epoch", "1", "--coverage", "1"]
    done = subprocess.run(
        [*command, "--runs", str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert "--method erm --lr 0.0" in done.stdout


@pytest.fixture
def postgres(tmp_path):
    """A PostgreSQL server of the test's own, on loopback; the name of an empty database."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    if not found:
        pytest.skip("PostgreSQL is not installed: apt-get install postgresql")
    bin, place = found[-1], Path(tempfile.mkdtemp(prefix="pg", dir="/tmp"))
    as_server = []
    if os.geteuid() == 0:  # the server refuses to run as root
        shutil.chown(place, "postgres")
        as_server = ["runuser", "-u", "postgres", "--"]
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]

    def run(*command):
        subprocess.run([*as_server, *command], check=True, capture_output=True, cwd="/")

    run(bin / "initdb", "-D", place / "data", "-U", "tuner", "--auth=trust")
    options = f"-p {port} -c listen_addresses=127.0.0.1 -k {place}"
    run(bin / "pg_ctl", "-D", place / "data", "-w", "-l", place / "log", "-o", options, "start")
    yield f"postgresql+psycopg://tuner@127.0.0.1:{port}/postgres"
    run(bin / "pg_ctl", "-D", place / "data", "-m", "immediate", "stop")
    shutil.rmtree(place)


@pytest.mark.slow
def test_two_workers_share_a_database_and_the_death_of_one_loses_nothing(postgres, tmp_path):
    command = [sys.executable, "-m", "upwind", "tune", "cbas", "--shift", "covariate"]
    command += ["--method", "erm", "--search", "lr=0.01,0.003,0.001", "--search", "hidden=4,8,16"]
    command += ["--trials", "6", "--epochs", "40", "--steps-per-epoch", "2", "--coverage", "1"]
    command += ["--storage", postgres, "--runs", str(tmp_path), "--json"]
    first = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    while not list(tmp_path.glob("*/epochs.jsonl")):
        time.sleep(0.1)
    second = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    while len(list(tmp_path.glob("*/epochs.jsonl"))) < 3 and second.poll() is None:
        time.sleep(0.1)
    first.kill()
    first.wait()
    answer = json.loads(second.communicate()[0])
    assert second.returncode == 0
    assert answer["trials"] >= 6
    assert Run(Path(answer["run"])).is_done
