"""A script that knows nothing of the command line makes the runs of the commands, on one process and on two."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from live_runs import config, written

from heedful.datamodules import planted

pytestmark = pytest.mark.slow  # whole runs of train.py and evaluate.py

ROOT = Path(__file__).parents[2]
SCRIPT = """
import sys

for name in ("heedful.cli", "pytorch_lightning.cli"):
    sys.modules[name] = None
import pandas
import heedful
from heedful.callbacks import Attentiveness
from heedful.lightning_modules import Encoder

tiny, files, output, devices = sys.argv[1:]
frames = {name: pandas.read_json(f"{files}/{name}.jsonl", lines=True) for name in ("train", "validation_matched")}
data = heedful.load_data("mnli", path=frames, eval_batch_size=8, batch_size=8)
trainer = {"accelerator": "cpu", "devices": int(devices), "enable_progress_bar": False, "log_every_n_steps": 1}
trainer["strategy"] = "ddp" if devices == "2" else "auto"
model = Encoder(tiny, max_length=48)
run = heedful.train(model, data, trainer=trainer | {"max_epochs": 1}, seed=3, output=f"{output}/run",
                    attentiveness=Attentiveness(draws=2))
found = heedful.evaluate(checkpoint=run.folder, data=data, seed=3, trainer=trainer, output=f"{output}/evaluation",
                         evaluations=["accuracy", "attentiveness"], attentiveness={"draws": 3})
in_memory = heedful.evaluate(model, data, seed=3, trainer=trainer, output=f"{output}/memory",
                             evaluations=["accuracy", "attentiveness"], attentiveness={"draws": 3})
assert in_memory.numbers == found.numbers
own = heedful.measure(run.folder, data, seed=3, trainer=trainer, output=f"{output}/measured", draws=3,
                      evaluations=["accuracy", "attentiveness"])
assert own.numbers == found.numbers and own.rows.num_rows
assert found.rows_of("accuracy").num_rows and run.numbers and run.checkpoint.is_file()
assert heedful.train(resume=run.folder, data=data, trainer=trainer).was_finished
"""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Planted pairs in the files of MNLI."""
    folder = tmp_path_factory.mktemp("mnli")
    pairs = planted.Planted(n_train=48, n_validation=16)
    labels = ["entailment", "neutral", "contradiction"]
    for split, name in {"train": "train", "validation": "validation_matched"}.items():
        rows = [{**example.parts, "label": labels.index(str(example.label))} for example in pairs.load(split)]
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


@pytest.mark.parametrize("devices", [2])
def test_a_script_makes_the_runs_of_the_commands(devices: int, files: Path, tiny_bert: Path, tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    trainer = ["--trainer.accelerator", "cpu", "--trainer.devices", devices, "--trainer.log_every_n_steps", 1]
    trainer += ["--trainer.strategy", "ddp" if devices == 2 else "auto", "--trainer.enable_progress_bar", "false"]
    data = ["--data", "mnli", "--data.path", files, "--data.eval_batch_size", 8]
    same = [*data, *trainer, "--seed_everything", 3]
    model = ["--data.batch_size", 8, "--model", tiny_bert, "--model.max_length", 48, "--trainer.max_epochs", 1]
    run = tmp_path / "shell" / "run"
    of_evaluation = ["--evaluations", "accuracy,attentiveness", "--attentiveness.draws", 3]
    for words in (
        [tmp_path / "script.py", tiny_bert, files, tmp_path / "python", devices],
        [ROOT / "train.py", *same, *model, "--attentiveness.draws", 2, "--output", run],
        [ROOT / "evaluate.py", *same, *of_evaluation, "--checkpoint", run, "--output", run.parent / "evaluation"],
    ):
        done = subprocess.run(
            [sys.executable, *map(str, words)],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env={"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "PATH": "/usr/bin:/bin"},
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-3000:]
    for name in ("run", "evaluation"):
        assert written(tmp_path / "python" / name) == written(tmp_path / "shell" / name)
    for name in ("memory", "evaluation"):
        assert written(tmp_path / "python" / name).keys() == written(tmp_path / "shell" / "evaluation").keys()
    of_python = config(tmp_path / "python" / "run")
    assert of_python["data"]["init_args"].pop("path") == "(in memory)"
    of_shell = config(run)
    of_shell["data"]["init_args"].pop("path")
    assert of_python == of_shell
