"""Suites that run: what is finished is not done again, what differs is refused, what fails or is stopped says so.

train.py, evaluate.py and the ranking are stand-ins that write what the real ones leave, so that a step takes no time.
"""

import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from heedful.callbacks.outputs import run_folder
from heedful.cli.suite import command, running
from heedful.cli.suite.plan import Suite
from heedful.records import DataError, RunError, SettingError, write_json
from heedful.records.storage.schema import SCHEMA

import written_results
from refusals import refused
from tiers import first_tier

ROOT = Path(__file__).parents[3]
SUITE = """
train: --lr 1
evaluate: --data d
sets:
  one: {}
  two: {evaluate: --where x}
models:
  base: --steps 0
  more: {from: base, train: --steps 2}
"""
SCRIPT = """
import json, sys, time
from pathlib import Path
argv = sys.argv[1:]
folder = Path(argv[argv.index("--output") + 1])
print("said by", Path(sys.argv[0]).name, flush=True)
here = Path(sys.argv[0]).parent
with (here / "calls").open("a") as calls:
    print(Path(sys.argv[0]).stem, folder.name, file=calls)
folder.mkdir(parents=True, exist_ok=True)
now = f"2030-01-01T00:00:{len((here / 'calls').read_text().splitlines()):02}"
about = {"command": [Path(sys.argv[0]).name, *argv], "started": now}
if not (folder / "run.json").exists():
    (folder / "run.json").write_text(json.dumps(about))
if "slow" in argv:
    time.sleep(60)
if "fails" in argv:
    print("it does not work.")
    sys.exit(3)
(folder / "run.json").write_text(json.dumps(json.loads((folder / "run.json").read_text()) | {"finished": now}))
"""


@pytest.fixture
def lab(tmp_path, monkeypatch):
    """Runs the suite in a folder with stand-ins; returns what was called."""
    for name in ("train", "evaluate"):
        (tmp_path / f"{name}.py").write_text(SCRIPT)
        monkeypatch.setitem(running.COMMANDS, name, (str(tmp_path / f"{name}.py"),))

    def run(text=SUITE, *argv):
        (tmp_path / "own.yaml").write_text(text)
        (tmp_path / "calls").write_text("")
        argv = (*argv, "--evaluations", "accuracy") if "--evaluations" not in argv else argv
        command.main([str(tmp_path / "own.yaml"), "--output", str(tmp_path / "out"), *argv])
        return (tmp_path / "calls").read_text().splitlines()

    return run


ALL = ["train base", "evaluate .base", "train more", "evaluate .more", "evaluate .base", "evaluate .more"]


@pytest.mark.slow
def test_what_is_finished_is_not_done_again(lab, tmp_path, capsys):
    assert lab() == ALL
    said = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in said[:3]] == [
        "[1/6] train base",
        "[2/6] evaluate one/base",
        "[3/6] train more",
    ]
    out = tmp_path / "out"
    beside = {f"{name}{end}" for name in ("base", "more") for end in (".log", ".files.json")}
    assert {path.name for path in (out / "one").iterdir()} == {"base", "more", *beside}
    assert (out / "models" / "more.log").read_text() == "said by train.py\n"
    written = json.loads((out / "models" / "more" / "run.json").read_text())["command"]
    assert written[1:3] == ["--init_from", str(out / "models" / "base")]
    assert lab() == []
    assert "[6/6] evaluate two/more: done before" in capsys.readouterr().out


@pytest.mark.slow
def test_what_is_not_finished_goes_on(lab, tmp_path):
    lab()
    out = tmp_path / "out"
    about = json.loads((out / "models" / "more" / "run.json").read_text())
    del about["finished"]
    (out / "models" / "more" / "run.json").write_text(json.dumps(about))
    for name in ("one", "two"):
        (out / name / "more").rename(out / name / ".more")  # as a killed evaluation leaves it
    assert lab() == ["train more", "evaluate .more", "evaluate .more"]


@pytest.mark.slow
def test_an_evaluation_that_outlived_its_suite_is_left_alone(lab, tmp_path):
    lab()
    begun = tmp_path / "out" / "one" / ".more"
    (tmp_path / "out" / "one" / "more").rename(begun)
    with open(begun / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with refused(RunError, "evaluate one/more"):
            lab()
        assert (begun / "run.json").exists()
    assert lab() == ["evaluate .more"]


@pytest.mark.parametrize(
    ("old", "new", "facts"),
    first_tier(
        1,
        [
            ("--steps 2", "--steps 3", ("models/more", "--steps 2", "--steps 3")),
            ("--where x", "--where y", ("two/base", "--where x", "--where y")),
            ("--lr 1", "", ("models/base", "--lr 1", "--steps 0")),
            ("--where x", "--where x --more", ("--evaluations accuracy", "--more")),
            ("{from: base, train: --steps 2}", "--steps 2", ("--init_from", "--lr 1")),
        ],
    ),
)
def test_other_settings_are_refused_before_anything_runs(lab, tmp_path, old, new, facts):
    lab()
    with refused(RunError, *facts):
        lab(SUITE.replace(old, new))
    assert (tmp_path / "calls").read_text() == ""


@pytest.mark.slow
def test_results_of_another_model_are_refused(lab, tmp_path):
    lab()
    run = tmp_path / "out" / "models" / "base" / "run.json"
    run.write_text(json.dumps(json.loads(run.read_text()) | {"finished": "2031-01-01T00:00:00"}))
    with refused(RunError, "one/base", "models/base"):
        lab()
    for name in ("one", "two"):
        shutil.rmtree(tmp_path / "out" / name)
    with refused(RunError, "models/more", "models/base"):
        lab()


@pytest.mark.parametrize("change", first_tier(1, ["file", "file in a folder", "new file", "file is gone"]))
def test_results_of_data_that_changed_are_refused(lab, tmp_path, change):
    data = tmp_path / "data" / "dev.tsv"
    data.parent.mkdir()
    data.write_text("a")
    named = data if change in ("file", "file is gone") else data.parent
    text = SUITE.replace("--data d", f"--data.path={named}")
    lab(text)
    assert lab(text) == []
    (data.parent / ".hidden").write_text("of an editor")
    assert lab(text) == []
    if change == "file is gone":
        data.unlink()
    else:
        (data.with_name("more.tsv") if change == "new file" else data).write_text("b")
    with refused(RunError, "one/base", named):
        lab(text)
    assert (tmp_path / "calls").read_text() == ""
    for name in ("one", "two"):
        shutil.rmtree(tmp_path / "out" / name)
    assert lab(text) == ["evaluate .base", "evaluate .more"] * 2


@pytest.mark.slow
def test_results_of_a_checkpoint_that_changed_are_refused(lab, tmp_path):
    lab()
    checkpoint = tmp_path / "out" / "models" / "more" / "checkpoints" / "best.ckpt"
    checkpoint.parent.mkdir()
    checkpoint.write_text("x")
    for record in tmp_path.glob("out/*/*.files.json"):
        record.unlink()  # as an earlier version leaves it
    assert lab() == []
    checkpoint.write_text("y")
    with refused(RunError, "one/more", "models/more/checkpoints"):
        lab()


@pytest.mark.slow
def test_results_of_other_weights_than_those_of_the_model_are_refused(lab, tmp_path):
    lab()
    for name, weights in (("models", "x"), ("one", "x"), ("two", "y")):
        written_results.save(tmp_path / "out" / name / "base", written_results.results(weights=weights))
    with refused(RunError, "two/base", "weights", "models/base"):
        lab()


def test_what_is_left_of_a_model_that_is_gone_is_refused(lab, tmp_path):
    lab()
    out = tmp_path / "out"
    (out / "models" / "base").rename(tmp_path / "away")
    assert lab(SUITE, "--only", "evaluate") == []
    with refused(RunError, "one/base", "models/base"):
        lab()
    for name in ("one", "two"):
        shutil.rmtree(out / name)
    with refused(RunError, "models/more", "models/base"):
        lab()
    assert (tmp_path / "calls").read_text() == ""


def test_no_model_is_missing_in_the_ranking(lab, tmp_path):
    lab(SUITE, "--only", "base", "--evaluations", "accuracy,attributions")
    with refused(RunError, "one/more"):
        lab(SUITE, "--only", "rank", "--evaluations", "accuracy,attributions")


def test_only_some_steps(lab):
    assert lab(SUITE, "--only", "base") == ["train base", "evaluate .base", "evaluate .base"]
    assert lab(SUITE, "--only", "train") == ["train more"]
    assert lab(SUITE, "--only", "two") == ["evaluate .more"]
    with refused(SettingError, "only three", "base, evaluate"):
        lab(SUITE, "--only", "three")


def test_a_model_that_is_not_trained_is_not_measured(lab):
    with refused(RunError, "evaluate one/base", "models/base", "only"):
        lab(SUITE, "--only", "evaluate")


def test_a_step_that_fails_ends_the_suite(lab, tmp_path):
    with refused(RunError, "train more", "status 3", "it does not work", "models/more.log"):
        lab(SUITE.replace("--steps 2", "--steps fails"))
    assert (tmp_path / "calls").read_text().splitlines() == ALL[:3]


@pytest.mark.slow
def test_the_accuracy_is_shown(lab, tmp_path, capsys):
    lab()
    measurement = {"value": 0.625}
    results = {"data": "d", "metrics": {"accuracy/d": measurement}}
    (tmp_path / "out" / "one" / "base" / "results.json").write_text(json.dumps(results))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(running, "read_results", lambda folder: results)
        lab()
    assert "one/base: done before, accuracy 62.50 %" in capsys.readouterr().out


@pytest.mark.slow
def test_the_ranking_reads_all_sets(lab, tmp_path, capfd):
    ranking = tmp_path / "ranking.py"
    ranking.write_text("import sys; print('RANKED', *sys.argv[1:])")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(running.COMMANDS, "rank", (str(ranking),))
        lab(f"ranking: --n 5\n{SUITE}", "--evaluations", "accuracy,attributions")
    out = tmp_path / "out"
    sets = [f"{name}={out / name / 'base'},{out / name / 'more'}" for name in ("one", "two")]
    ranked = f"RANKED --n 5 --figures {out / 'figures'} --set {sets[0]} --set {sets[1]}\n"
    assert ranked in capfd.readouterr().out
    assert (out / "ranking.txt").read_text() == ranked


@pytest.mark.slow
def test_a_suite_may_be_named(lab, tmp_path, monkeypatch):
    lab()
    (tmp_path / "configs" / "suite").mkdir(parents=True)
    (tmp_path / "own.yaml").rename(tmp_path / "configs" / "suite" / "mine.yaml")
    (tmp_path / "calls").write_text("")
    monkeypatch.chdir(tmp_path)
    command.main(["mine", "--evaluations", "accuracy"])
    assert (tmp_path / "calls").read_text().splitlines() == ALL
    assert (tmp_path / "runs" / "suites" / "mine" / "one" / "base" / "run.json").is_file()
    with refused(DataError, "mines"):
        command.main(["mines"])


def test_help_names_the_command(capsys):
    with pytest.raises(SystemExit) as stopped:
        command.main(["--help"])
    assert stopped.value.code == 0
    assert capsys.readouterr().out.startswith("usage: heedful suite ")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "status", "name"), [(signal.SIGINT, 130, "Ctrl-C"), (signal.SIGTERM, 143, "SIGTERM")]
)
def test_a_signal_ends_the_step_and_then_the_suite(tmp_path, number, status, name):
    (tmp_path / "train.py").write_text(SCRIPT)
    (tmp_path / "own.yaml").write_text(SUITE.replace("--steps 0", "--steps slow"))
    main = f"from heedful.cli.suite import running; running.COMMANDS['train'] = ({str(tmp_path / 'train.py')!r},)"
    main += "; from heedful.cli import command; import sys; sys.argv[0] = 'heedful'; command.run()"
    argv = [sys.executable, "-c", main, "suite", str(tmp_path / "own.yaml"), "--output", str(tmp_path / "out")]
    pipes = {"stderr": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    listens = partial(signal.signal, number, signal.SIG_DFL)  # a shell's background jobs ignore Ctrl-C
    with subprocess.Popen(argv, cwd=ROOT, preexec_fn=listens, **pipes) as suite:
        log = tmp_path / "out" / "models" / "base.log"
        while not (log.is_file() and log.read_text()):
            assert suite.poll() is None
            time.sleep(0.01)
        os.kill(suite.pid, number)
        _, err = suite.communicate(timeout=120)
    assert suite.returncode == status
    assert err.strip() == f"heedful suite: stopped by {name}: the same command goes on."
    assert "Traceback" not in err


def test_the_words_of_a_command_are_those_of_its_step(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As run.json has them of a child, and of one that was started by train.py."""
    monkeypatch.chdir(tmp_path)
    Path("own.yaml").write_text(SUITE)
    steps = Suite(Path("own.yaml"), None).steps(tmp_path / "out", "accuracy")
    step = next(step for step in steps if step.kind == running.TRAIN)
    words = list(step.settings)
    for argv in (["__main__.py", "train", *words], ["heedful", "train", *words], ["train.py", *words]):
        monkeypatch.setattr(sys, "argv", argv)
        step.folder.mkdir(parents=True, exist_ok=True)
        write_json(step.folder / "run.json", {"schema": SCHEMA, "command": run_folder.command()})
        assert not running.is_done(step)  # and what was begun is its own
    write_json(step.folder / "run.json", {"schema": SCHEMA, "command": ["heedful", "train", "--data", "other"]})
    with refused(RunError):
        running.is_done(step)
