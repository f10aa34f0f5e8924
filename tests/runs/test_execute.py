import dataclasses
import errno
import json
import random
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from upwind.errors import InputError, RunError
from upwind.runs import Run, execute, files, find_runs


def contents(run):
    """What of a record must not depend on how it came about: all but the times."""
    found = {
        name: (run.folder / name).read_bytes()
        for name in ("checkpoint.safetensors", "model.safetensors")
    }
    found["epochs"] = [{**record, "seconds": None} for record in run.epochs()]
    found["result"] = {**run.result, "seconds": None}
    return found


def test_a_record_says_what_was_asked_and_what_came_of_it(quick, tmp_path):
    run = execute(quick, root=tmp_path)
    assert run.is_done
    config = json.loads((run.folder / "config.json").read_text())
    assert config["asked"] == quick
    assert config["config"] == dataclasses.asdict(run.config)
    assert run.config.lr == 3e-3  # as published
    assert run.data["parts"]["train"] == 420
    environment = json.loads((run.folder / "environment.json").read_text())
    assert {"upwind", "python", "packages", "git", "processor"} <= set(environment)
    assert len(list(run.epochs())) == 4
    chosen = run.result["rules"]["ood_val"]
    assert chosen["scores"] == list(run.epochs())[chosen["epoch"]]["scores"]
    assert run.result["scores"]["test"] == pytest.approx(chosen["scores"]["test"])
    assert sum(run.result["calibration"]["test"]["count"]) == 70


def test_the_id_is_the_configurations_whatever_it_was_asked_as(quick, tmp_path):
    first = execute(quick, root=tmp_path)
    assert execute({**quick, "lr": 3e-3}, root=tmp_path).id == first.id
    assert execute({**quick, "seed": 4}, root=tmp_path).id != first.id
    assert next(run.id for run in find_runs(tmp_path)) == first.id


def test_a_finished_run_is_not_done_again(quick, tmp_path):
    run = execute(quick, root=tmp_path)
    before = (run.folder / "result.json").stat().st_mtime_ns
    told = []
    assert execute(quick, root=tmp_path, watch=told.append).folder == run.folder
    assert not told
    assert (run.folder / "result.json").stat().st_mtime_ns == before


@pytest.mark.parametrize("last_epoch", [0, 2, 3])
def test_a_stopped_run_goes_on_to_the_same_end(quick, tmp_path, last_epoch):
    expected = contents(execute(quick, root=tmp_path / "straight"))

    def stop(record):
        if record["epoch"] == last_epoch:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        execute(quick, root=tmp_path / "stopped", checkpoint_seconds=0, watch=stop)
    told = []
    run = execute(quick, root=tmp_path / "stopped", watch=told.append)
    assert contents(run) == expected
    assert [record["epoch"] for record in told] == list(range(last_epoch + 1, 4))


def test_epochs_after_the_checkpoint_are_cut_off(quick, tmp_path):
    def stop(record):
        if record["epoch"] == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):  # three epochs on file, no checkpoint yet
        execute(quick, root=tmp_path, checkpoint_seconds=1e9, watch=stop)
    (folder,) = (path.parent for path in tmp_path.glob("*/epochs.jsonl"))
    with open(folder / "epochs.jsonl", "a") as lines:
        lines.write('{"epoch": 3, "sco')  # and a line that was being written
    assert len(list(Run(folder).epochs())) == 3
    run = execute(quick, root=tmp_path)
    assert [record["epoch"] for record in run.epochs()] == [0, 1, 2, 3]


def test_two_starts_at_once_make_one_run(quick, tmp_path):
    quick["epochs"] = 10
    command = [sys.executable, "-W", "ignore", "-m", "upwind", "train", "cbas", "--json"]
    command += ["--runs", str(tmp_path)]
    for name, value in quick.items():
        if name != "source":
            command += [f"--{name.replace('_', '-')}", str(value)]

    def start(_):
        return subprocess.run(command, capture_output=True, text=True, check=True)

    with ThreadPoolExecutor(2) as pool:
        one, two = (json.loads(done.stdout) for done in pool.map(start, range(2)))
    assert one == two
    (run,) = find_runs(tmp_path)
    assert [record["epoch"] for record in run.epochs()] == list(range(10))


# Runs whose state has everything in it: a flow's weights, Adam, a schedule, and random numbers
# of torch (dropout) and NumPy (walks).
STATEFUL = {"epochs": 60, "method": "tar:tau=0.1", "schedule": "plateau"}

FORKING_KILLER = """
import json, os, random, signal, sys, time
from pathlib import Path
from upwind.runs import Run, execute
import upwind.train.session

asked, root, folder = json.loads(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3])
moments, goal = random.Random(11), 0

def start():
    if pid := os.fork():
        return pid
    execute(asked, root=root, checkpoint_seconds=0)
    os._exit(0)

def epochs():
    return len(list(Run(folder).epochs()))

for kill in range(10):
    pid, goal = start(), min(epochs() + moments.randrange(1, 6), 6 * (kill + 1) - 2)
    while epochs() < goal and os.waitpid(pid, os.WNOHANG) == (0, 0):
        time.sleep(0.001)
    time.sleep(moments.random() * 0.03)
    os.kill(pid, signal.SIGKILL)
    print(os.WTERMSIG(os.waitpid(pid, 0)[1]), epochs())
print(os.waitpid(start(), 0)[1])
"""


def test_killed_at_ten_random_moments_it_ends_bit_identical(quick, tmp_path):
    """One process imports upwind, and forks the ten that train and are killed."""
    quick |= STATEFUL
    straight = execute(quick, root=tmp_path / "straight")
    folder = tmp_path / "killed" / straight.id
    command = [sys.executable, "-W", "ignore", "-c", FORKING_KILLER, json.dumps(quick)]
    command += [str(folder.parent), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    *kills, ended_with = done.stdout.split("\n")[:-1]
    signals, epochs = zip(*(map(int, line.split()) for line in kills), strict=True)
    assert signals == (signal.SIGKILL,) * 10
    assert len(set(epochs)) > 5  # moments all along the run
    assert ended_with == "0"
    assert contents(Run(folder)) == contents(straight)


@pytest.mark.slow
def test_killed_ten_times_in_processes_of_their_own_it_ends_bit_identical(quick, tmp_path):
    quick |= STATEFUL
    expected = contents(execute(quick, root=tmp_path / "straight"))
    code = (
        "import json, sys; from pathlib import Path; from upwind.runs import execute\n"
        "execute(json.loads(sys.argv[1]), root=Path(sys.argv[2]), checkpoint_seconds=0)"
    )
    command = [sys.executable, "-W", "ignore", "-c", code, json.dumps(quick), str(tmp_path / "k")]
    moments = random.Random(7)
    folder = tmp_path / "k" / next((tmp_path / "straight").iterdir()).name
    kills = 0
    for kill in range(10):
        process = subprocess.Popen(command)
        goal = min(len(list(Run(folder).epochs())) + moments.randrange(1, 6), 6 * (kill + 1))
        while process.poll() is None and len(list(Run(folder).epochs())) < goal:
            time.sleep(0.001)
        time.sleep(moments.random() * 0.05)
        kills += process.poll() is None
        process.kill()
        process.wait()
    assert kills == 10
    subprocess.run(command, check=True)
    assert contents(Run(folder)) == expected


def test_a_full_disk_ends_the_run_and_leaves_the_last_good_checkpoint(quick, tmp_path, monkeypatch):
    expected = contents(execute(quick, root=tmp_path / "straight"))
    write = files.write
    saves = []

    def fill_up(path, content):
        saves.append(path.name)
        if saves.count("checkpoint.safetensors") == 3:
            raise OSError(errno.ENOSPC, "No space left on device")
        write(path, content)

    monkeypatch.setattr(files, "write", fill_up)
    with pytest.raises(RunError, match=r"the disk is full .* keeps its last good checkpoint"):
        execute(quick, root=tmp_path / "full", checkpoint_seconds=0)
    monkeypatch.setattr(files, "write", write)
    told = []
    run = execute(quick, root=tmp_path / "full", watch=told.append)
    assert [record["epoch"] for record in told] == [2, 3]
    assert contents(run) == expected


def test_a_real_limit_on_file_size_is_said_too(quick, tmp_path):
    """The kernel refuses a checkpoint larger than the limit, as a full disk would."""
    code = (
        "import json, resource, signal, sys; from pathlib import Path\n"
        "from upwind.errors import RunError; from upwind.runs import execute\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "import upwind.train.session, upwind.sampling._kernels\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (8000, 8000))\n"
        "try: execute(json.loads(sys.argv[1]), root=Path(sys.argv[2]), checkpoint_seconds=0)\n"
        "except RunError as error: print(error)"
    )
    command = [sys.executable, "-W", "ignore", "-c", code, json.dumps(quick), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("the disk is full (File too large)")
    (folder,) = (path.parent for path in tmp_path.glob("*/config.json"))
    assert not (folder / "checkpoint.safetensors").exists()
    assert not list(folder.glob(".*"))


def test_a_damaged_line_is_named(quick, tmp_path):
    run = execute(quick, root=tmp_path)
    lines = (run.folder / "epochs.jsonl").read_text().splitlines(keepends=True)
    (run.folder / "epochs.jsonl").write_text(lines[0] + '{"epoch": 1, "sc\n')
    with pytest.raises(InputError, match=r"epochs\.jsonl is damaged in line 2"):
        list(run.epochs())


def test_what_cannot_run_leaves_nothing_behind(quick, tmp_path):
    for wrong in ({"method": "tar:tau=-1"}, {"backbone": "nope"}, {"device": "cuda:99"}):
        with pytest.raises(InputError):
            execute(quick | wrong, root=tmp_path)
    with pytest.raises(InputError, match="checkpoint_seconds=nan must be 0 or more"):
        execute(quick, root=tmp_path, checkpoint_seconds=float("nan"))
    assert not list(tmp_path.iterdir())


def test_a_network_that_was_edited_is_another_run(quick, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "a_net_of_mine.py"
    file.write_text("from torch_geometric.nn import GraphSAGE as Net0\nclass Net(Net0): pass\n")
    quick["backbone"] = "a_net_of_mine:Net"
    first = execute(quick, root=tmp_path / "runs")
    assert execute(quick, root=tmp_path / "runs").id == first.id
    file.write_text(file.read_text() + "# edited\n")
    assert execute(quick, root=tmp_path / "runs").id != first.id


def test_a_damaged_checkpoint_is_said_to_be_damaged(quick, tmp_path):
    run = execute(quick, root=tmp_path)
    (run.folder / "done").unlink()
    path = run.folder / "checkpoint.safetensors"
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(InputError, match=r"checkpoint\.safetensors is damaged"):
        execute(quick, root=tmp_path)


def test_a_result_is_only_read_of_a_run_that_is_done(quick, tmp_path):
    run = execute(quick, root=tmp_path)
    (run.folder / "done").unlink()
    with pytest.raises(InputError, match="is not finished"):
        _ = run.result
    with pytest.raises(InputError, match=r"is no run: it has no config\.json"):
        _ = Run(tmp_path).config


def test_a_setting_that_upwind_gains_later_leaves_old_runs_found(quick, tmp_path):
    run = execute(quick, root=tmp_path)
    path = run.folder / "config.json"
    stored = json.loads(path.read_text())
    del stored["config"]["heads"]
    path.write_text(json.dumps(stored))
    assert execute(quick, root=tmp_path).folder == run.folder


def test_an_option_that_a_method_gains_later_leaves_old_runs_found(quick, tmp_path):
    run = execute(quick | {"method": "tar"}, root=tmp_path)
    path = run.folder / "config.json"
    stored = json.loads(path.read_text())
    del stored["config"]["options"]["tar"]["prior"]
    path.write_text(json.dumps(stored))
    assert execute(quick | {"method": "tar"}, root=tmp_path).folder == run.folder


def test_a_record_made_with_another_default_is_refused(quick, tmp_path):
    run = execute(quick, root=tmp_path)
    path = run.folder / "config.json"
    stored = json.loads(path.read_text())
    stored["config"]["heads"] = 3
    path.write_text(json.dumps(stored))
    with pytest.raises(InputError, match="default of heads was 3, not 8"):
        execute(quick, root=tmp_path)
