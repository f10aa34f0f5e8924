import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import fields

import pytest

from upwind.cli import main
from upwind.train import Config

QUICK = [
    *("--shift", "covariate", "--hidden", "8", "--layers", "2", "--epochs", "3"),
    *("--steps-per-epoch", "2", "--coverage", "2"),
]


def start(*arguments, cwd, **options):
    return subprocess.Popen(
        [sys.executable, "-W", "ignore", "-m", "upwind", *map(str, arguments)],
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "COLUMNS": "200"},
        # A shell that starts the tests in the background has them ignore SIGINT.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        **options,
    )


@pytest.fixture
def upwind(monkeypatch, capsys):
    """Runs a command in this process: exit code, standard output, standard error."""

    def run(*arguments, cwd):
        monkeypatch.chdir(cwd)
        monkeypatch.setenv("COLUMNS", "200")
        monkeypatch.setattr(sys, "argv", ["upwind", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            main()
        said = capsys.readouterr()
        return end.value.code or 0, said.out, said.err

    return run


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with one finished run."""
    path = tmp_path_factory.mktemp("cli")
    process = start("train", "cbas", *QUICK, cwd=path)
    assert process.communicate()[1] == ""
    assert process.returncode == 0
    return path


def the_run(folder):
    (config,) = folder.glob("runs/*/config.json")
    return config.parent.relative_to(folder)


def test_help_comes_in_half_a_second(tmp_path):
    seconds = []  # of processor: other work on the machine is not the command's
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        process = start("--help", cwd=tmp_path)
        out, _ = process.communicate()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        assert process.returncode == 0
    assert min(seconds) < 0.5
    for command in ("train", "compare", "predict", "runs", "show", "doctor"):
        assert command in out


def test_every_setting_is_an_option_described_once(upwind, tmp_path):
    _, out, _ = upwind("train", "--help", cwd=tmp_path)
    text = " ".join(out.split())
    for field in fields(Config):
        if field.name not in ("source", "options"):
            assert text.count(f"--{field.name.replace('_', '-')} ") == 1
            assert field.metadata["help"] in text


def test_train_ends_with_a_table_and_the_record(upwind, folder):
    code, out, err = upwind("train", "cbas", *QUICK, cwd=folder)
    assert (code, err) == (0, "")
    assert "erm on cbas (covariate)" in out
    assert str(the_run(folder)) in out


def test_every_command_speaks_json_and_nothing_else(upwind, folder):
    run = the_run(folder)
    for arguments in (
        ("train", "cbas", *QUICK),
        ("compare", "cbas", *QUICK, "--methods", "erm", "--seeds", "0,1"),
        ("predict", run, "cbas", "--out", "p.csv"),
        ("runs",),
        ("show", run),
        ("doctor",),
    ):
        code, out, err = upwind(*arguments, "--json", cwd=folder)
        assert (code, err) == (0, ""), arguments
        json.loads(out)


def test_runs_and_show_tell_of_the_run(upwind, folder):
    run = the_run(folder) if len(list(folder.glob("runs/*/config.json"))) == 1 else None
    _, out, _ = upwind("runs", cwd=folder)
    assert "covariate" in out
    if run:
        assert run.name in out
        assert "OOD" in out
        _, out, _ = upwind("show", run, cwd=folder)
        assert "erm on cbas (covariate)" in out


def test_compare_ends_with_the_difference_and_its_p_value(upwind, folder):
    arguments = ("compare", "cbas", *QUICK, "--methods", "erm,tar", "--seeds", "2", "--jobs", "2")
    code, out, err = upwind(*arguments, cwd=folder)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert " ".join(lines[1].split()) == "method runs OOD test - erm p ID test ECE time a run"
    assert [line.split()[0] for line in lines[2:4]] == ["erm", "tar"]
    assert "compare-" in lines[-1]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("train", "cbas", "--method", "tra"), "there is no method 'tra'; did you mean tar"),
        (("train", "cbass"), "did you mean cbas"),
        (("train", "cbas", "--shift", "side"), "there is no shift 'side'"),
        (("train", "cbas", "--sampler", "stain"), "did you mean saint"),
        (("train", "cbas", "--backbone", "os:system"), "is not a torch module class"),
        (("compare", "cbas", "--seeds", "many"), "seeds=many must be a number"),
        (("compare", "cbas", "--seeds", "0"), "seeds=0 must be a number of runs"),
        (("compare", "cbas", "--seeds", ""), "seeds= must be a number of runs"),
        (("compare", "cbas", "--jobs", "0"), "jobs=0 must be at least 1"),
        (("compare", "cbas", "--methods", "erm, tar:tau=nan"), "tar: tau must be finite"),
        (("train", "cbas", "--split-seed", "-1"), "split_seed=-1 must be from 0"),
        (("compare", "cbas", "--methods", "erm,erm"), "methods must be given, each once"),
        (("show", "runs/nothing"), "runs/nothing is no run"),
        (("predict", "runs/nothing", "cbas"), "runs/nothing is no"),
    ],
)
def test_wrong_input_is_one_sentence_and_code_2(upwind, tmp_path, arguments, sentence):
    code, out, err = upwind(*arguments, cwd=tmp_path)
    assert code == 2
    assert out == ""
    assert sentence in err
    assert len(err.strip().splitlines()) == 1


def test_a_folder_that_cannot_be_written_is_one_sentence_and_code_1(upwind, tmp_path):
    (tmp_path / "runs").write_text("a file, not a folder")
    code, _, err = upwind("train", "cbas", *QUICK, cwd=tmp_path)
    assert code == 1
    assert "cannot be used: Not a directory" in err


def test_wrong_input_is_json_too_where_json_is_asked_for(upwind, tmp_path):
    code, out, _ = upwind("train", "cbass", "--json", cwd=tmp_path)
    assert code == json.loads(out)["code"] == 2
    assert "did you mean cbas" in json.loads(out)["error"]


def test_a_mistake_in_the_command_is_json_too(upwind, tmp_path):
    code, out, _ = upwind("train", "cbas", "--epochs", "x", "--json", cwd=tmp_path)
    assert code == json.loads(out)["code"] == 2
    assert "Invalid value for '--epochs'" in json.loads(out)["error"]


def test_a_damaged_record_does_not_hide_the_others(upwind, folder, tmp_path):
    record = min(folder.glob("runs/*/config.json")).parent
    for name in ("good", "bad"):
        shutil.copytree(record, tmp_path / "runs" / name)
    (tmp_path / "runs" / "bad" / "config.json").write_text("{")
    code, out, err = upwind("runs", cwd=tmp_path)
    assert code == 0
    assert "good" in out
    assert "bad/config.json is damaged" in err
    listed = json.loads(upwind("runs", "--json", cwd=tmp_path)[1])
    assert [line["run"] for line in listed] == ["runs/good", "runs/bad"]


def test_an_unknown_option_is_code_2(upwind, tmp_path):
    assert upwind("train", "cbas", "--tau", "1", cwd=tmp_path)[0] == 2


def test_an_interrupted_run_says_so_and_goes_on(tmp_path):
    process = start("train", "cbas", *QUICK, "--epochs", "400", "--json", cwd=tmp_path)
    while not any(path.stat().st_size for path in tmp_path.glob("runs/*/epochs.jsonl")):
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == json.loads(out)["code"] == 130
    assert err == "upwind: interrupted; the same command goes on from here\n"


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_an_interrupted_comparison_keeps_what_is_finished_and_is_code_130(tmp_path, jobs):
    arguments = ("compare", "cbas", *QUICK[:-4], "--methods", "erm", "--seeds", "60")
    process = start(*arguments, "--epochs", "5", "--jobs", jobs, cwd=tmp_path)
    while not list(tmp_path.glob("runs/*/done")):
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "interrupted" in err
    assert out.splitlines()[2].startswith("erm")
