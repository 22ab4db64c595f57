"""A script without the command line leaves the files of the commands, on two processes."""

import subprocess
import sys
from pathlib import Path

import pytest
from live_runs import config, written

pytestmark = pytest.mark.slow  # whole runs of train.py and evaluate.py

ROOT = Path(__file__).parents[2]
SCRIPT = """
import sys

for name in ("heedful.cli", "pytorch_lightning.cli"):
    sys.modules[name] = None
import heedful
from heedful.callbacks import Attentiveness
from heedful.lightning_modules import Encoder

tiny, output = sys.argv[1:]
data = heedful.load_data("planted", n_train=48, n_validation=16, batch_size=8)
trainer = {"accelerator": "cpu", "devices": 2, "strategy": "ddp", "enable_progress_bar": False, "log_every_n_steps": 1}
model = Encoder(tiny, max_length=48)
run = heedful.train(model, data, trainer=trainer | {"max_epochs": 1}, seed=3, output=f"{output}/run",
                    attentiveness=Attentiveness(draws=2))
again = {"seed": 3, "trainer": trainer, "evaluations": ["accuracy", "attentiveness"]}
three = {"attentiveness": {"draws": 3}}
found = heedful.evaluate(checkpoint=run.folder, data=data, output=f"{output}/evaluation", **again, **three)
for other in (
    heedful.evaluate(model, data, output=f"{output}/memory", **again, **three),
    heedful.measure(run.folder, data, output=f"{output}/measured", draws=3, **again),
):
    assert other.numbers == found.numbers and other.rows.num_rows
assert heedful.train(resume=run.folder, data=data, trainer=trainer).was_finished
"""


def test_a_script_leaves_the_files_of_the_commands(tiny_bert: Path, tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    shell, python = tmp_path / "shell", tmp_path / "python"
    data = "--data.n_train 48 --data.n_validation 16 --data.batch_size 8 --seed 3"
    trainer = "--trainer.accelerator cpu --trainer.devices 2 --trainer.strategy ddp --trainer.enable_progress_bar false"
    same = [*data.split(), *trainer.split(), "--trainer.log_every_n_steps", "1"]
    model = ["--model", tiny_bert, "--model.max_length", 48, "--trainer.max_epochs", 1, "--attentiveness.draws", 2]
    evaluation = ["--evaluations", "accuracy,attentiveness", "--attentiveness.draws", 3, "--checkpoint", shell / "run"]
    for words in (
        [tmp_path / "script.py", tiny_bert, python],
        [ROOT / "train.py", *same, *model, "--output", shell / "run"],
        [ROOT / "evaluate.py", *same, *evaluation, "--output", shell / "evaluation"],
    ):
        done = subprocess.run(
            [sys.executable, *map(str, words)],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env={"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "PATH": "/usr/bin:/bin"},
            timeout=300,
        )
        assert done.returncode == 0, done.stderr[-3000:]
    for name in ("run", "evaluation"):
        assert written(python / name) == written(shell / name)
    assert written(python / "memory").keys() == written(shell / "evaluation").keys()
    assert config(python / "run") == config(shell / "run")
