"""Common mistakes: one message of at most three lines that names the setting or the file, and exit status 2."""

import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from transformers import BertConfig, BertForMaskedLM

import heedful
from heedful.callbacks import Attentiveness
from heedful.cli.command import run
from heedful.lightning_modules import Encoder
from heedful.records import HeedfulError

ROOT = Path(__file__).parents[1]
CSV = "premise,hypothesis,label\na dog,an animal,yes\na cat,a dog,no\na cow,an animal,yes\na fox,a dog,no\n"
YAML = """\
class_path: PairedText
init_args:
  name: own
  parts: {premise: premise, hypothesis: hypothesis}
  labels: {"yes": [], "no": []}
  default_label: "no"
  path: rows.csv
  splits: {train: rows, validation: rows}
  validate_on_train: true
"""
FAST = "--trainer.accelerator cpu --trainer.enable_progress_bar false --data.n_train 32 --data.n_validation 8 "

COMMANDS = {  # a command, and what its message names
    "train --data.hold_outt 3": ["data has no setting hold_outt"],
    "train --data own.yaml --data.hold_outt 3": ["hold_outt", "hold_out?"],
    "train --attentivness.draws 3": ["attentivness", "attentiveness?"],
    "train --trainer.max_epoch 3": ["max_epoch", "max_epochs?"],
    "train --trainer.max_epochs three": ["trainer.max_epochs", "three", "an integer", "or null"],
    f"train {FAST} --trainer.devices one": ["devices", "int > 0"],
    "train --trainer.accelerator gpu --data.n_train 32 --data.n_validation 8": ["trainer", "gpu"],
    "train --data.augment both": ["data.augment", "both", "counterfactual or inoculation or null"],
    "train --model.learning_rate": ["model.learning_rate", "argument"],
    "train --model.learning_rate high": ["model.learning_rate", "high", "float"],
    "train --trainer.precision 17": ["trainer.precision", "17"],
    f"train {FAST} --trainer.precision 16-mixed": ["trainer.precision 16-mixed", "GPU", "bf16-mixed"],
    "train --trainer.callbacks EarlyStoping": ["trainer.callbacks", "EarlyStoping", "EarlyStopping?"],
    "train --trainer.callbacks EarlyStopping": ["trainer.callbacks", "monitor"],
    "train --trainer.callbacks EarlyStopping --trainer.callbacks.monitr x": ["trainer.callbacks", "monitr"],
    f"train {FAST} --trainer.callbacks EarlyStopping --trainer.callbacks.monitor accuracy/planted "
    "--trainer.callbacks.mode min": ["trainer.callbacks.mode min", "max"],
    "train --seed x": ["seed", "x"],
    "train --seed -1": ["seed", "-1"],
    "train planted": ["planted", "unrecognized"],
    "train --data mnlii": ["data mnlii", "mnli?"],
    "train --data missing.yaml": ["missing.yaml", "does not exist"],
    "train --data rows.csv": ["rows.csv", "data.path"],
    "train --data": ["data"],
    "train --data broken.yaml": ["broken.yaml", "line 3"],
    "train --data twice.yaml": ["twice.yaml", "name", "twice"],
    "train --data nameless.yaml": ["nameless.yaml", "class_path"],
    "train --data mine.Data": ["mine.Data"],
    "train --data os.path": ["os.path"],
    "train --model minilmm": ["model minilmm", "minilm?"],
    "train --model ./nowhere": ["model ./nowhere"],
    "train --model empty": ["model empty", "config.json"],
    "train --config missing.yaml": ["config missing.yaml"],
    "train --config other.yaml": ["config other.yaml", "hold_outt"],
    "train --augment counterfactul": ["augment counterfactul", "counterfactual?"],
    "train --data own.yaml --data.default_label null --augment counterfactual": ["data.default_label"],
    "train --partial premisse": ["data.partial premisse", "premise?"],
    "train --data.swap [premisse]": ["data.swap premisse", "premise?"],
    "train --slices genre": ["genre"],
    "train --evaluations acuracy": ["evaluations acuracy", "accuracy?"],
    "train --evaluations challenge": ["evaluations challenge"],
    "train --resume own.yaml": ["resume own.yaml"],
    "train --init_from nowhere": ["init_from nowhere"],
    "train --init_from nowhere --model minilm": ["init_from", "model"],
    "train --resume a --output b": ["resume", "output"],
    f"train {FAST} --checkpoint.monitor acuracy/planted": ["checkpoint.monitor acuracy/planted", "accuracy/planted"],
    f"train {FAST} --checkpoint.monitor accuracy/planted --checkpoint.mode min": ["checkpoint.mode min", "maximum"],
    f"train {FAST} --trainer.limit_val_batches 0": ["trainer.limit_val_batches 0", "accuracy/planted"],
    "train --debug fas": ["debug fas", "fast?"],
    "train --config init.yaml": ["config init.yaml", "init_from"],
    "train --init_from empty": ["init_from empty", "config.yaml"],
    "train --ckpt_path last": ["ckpt_path last", "output"],
    "train --model own.yaml": ["model", "PairedText"],
    "train --data latin.yaml": ["latin.yaml", "UTF-8"],
    "train --data deep.yaml": ["deep.yaml"],
    "train --trainer.callbacks BatchSizeFinder": ["trainer.callbacks BatchSizeFinder", "data.batch_size"],
    "train --trainer.strategy fsdp": ["trainer.strategy", "ddp"],
    "train --trainer.strategy deepspeed_stage_3_offload": ["trainer.strategy", "ddp"],
    "train --data own.yaml --data.path nowhere.csv": ["nowhere.csv"],
    "train --data own.yaml --data.parts.premise premisse": ["premisse", "rows.csv"],
    "train --data own.yaml --data.label gold": ["gold", "rows.csv"],
    'train --data own.yaml --data.labels {"ja":[],"nein":[]} --data.default_label nein': ["yes", "rows.csv"],
    "train --data own.yaml --data.default_label maybe": ["maybe", "yes"],
    'train --data own.yaml --data.labels {"yes":[1e3],"no":[]}': ["data.labels", "1000.0"],
    "train --data own.yaml --data.hold_out 100": ["data.hold_out 100"],
    "train --data.folds 3 --data.fold 3": ["data.fold 3"],
    "train --data.seed 3": ["data has no setting seed"],
    "train --data.batch_size 0": ["data.batch_size 0"],
    "evaluate --checkpoint nowhere": ["checkpoint nowhere"],
    "evaluate --checkpoint empty": ["checkpoint empty"],
    "evaluate --checkpoint own.ckpt": ["checkpoint own.ckpt"],
    "evaluate": ["head", "checkpoint"],
    "evaluate --dry_run perhaps": ["dry_run", "perhaps"],
    "comparee runs": ["comparee", "compare?"],
    "train --data own.yaml --data.groups doc": ["data.groups", "[doc]"],
    "list dataa": ["dataa", "evaluations"],
    "suite nowhere": ["nowhere"],
    "suite own.yaml": ["own.yaml", "steps"],
    "suite msgs --shard 9/8": ["shard"],
    "compare nowhere": ["nowhere"],
    "compare": ["RUN"],
    "page empty": ["empty"],
    "measure mine:nothing rows.csv --parts premise,hypothesis": ["mine:nothing"],
    "measure own:predict missing.csv --parts premise": ["missing.csv"],
}


def predict(rows: list[dict[str, str]]) -> list[str]:
    return ["yes" if "animal" in row["hypothesis"] else "no" for row in rows]


PARTS = ["premise", "hypothesis"]
TINY = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8, "vocab_size": 9}
CALLS: dict[str, tuple[Callable[[Any], Any], list[str]]] = {  # a mistake in Python, and what its message names
    "data": (lambda rows: heedful.train(data="mnlii"), ["data mnlii", "mnli?"]),
    "setting": (lambda rows: heedful.load_data("mnli", hold_outt=3), ["data has no setting hold_outt"]),
    "type": (lambda rows: heedful.load_model("minilm", max_length="long"), ["model.max_length", "long", "int"]),
    "trainer": (lambda rows: heedful.train(trainer={"max_epoch": 1}), ["trainer has no setting max_epoch"]),
    "setting of an evaluation": (
        lambda rows: heedful.measure(predict, rows, ["premise", "hypothesis"], "no", two_class={"sizes": 3}),
        ["two_class has no setting sizes", "Its settings are benchmarks"],
    ),
    "callback": (lambda rows: heedful.train(trainer={"callbacks": [object()]}), ["callbacks", "pytorch_lightning"]),
    "evaluation": (lambda rows: heedful.train(attentivness={"draws": 1}), ["attentivness", "attentiveness?"]),
    "no parts": (lambda rows: heedful.measure(predict, rows), ["parts"]),
    "part": (lambda rows: heedful.measure(predict, rows, ["premisse", "hypothesis"], "no"), ["premisse"]),
    "repeated part": (lambda rows: heedful.measure(predict, rows, ["premise", "premise"], "no"), ["premise", "twice"]),
    "label column": (lambda rows: heedful.measure(predict, rows, PARTS, "no", label="gold"), ["gold"]),
    "rows": (lambda rows: heedful.measure(predict, "missing.csv", PARTS, "no"), ["rows missing.csv"]),
    "empty rows": (lambda rows: heedful.measure(predict, [], PARTS, "no"), ["rows"]),
    "model": (lambda rows: heedful.measure(3, rows, PARTS, "no"), ["predict", "int"]),
    "same": (lambda rows: heedful.measure(predict, rows, PARTS, "no", same="alike"), ["same", "normalised"]),
    "same and labels": (
        lambda rows: heedful.measure(predict, rows, PARTS, "no", same="exact", labels=["yes", "no"]),
        ["same", "labels"],
    ),
    "keeps": (lambda rows: heedful.measure(predict, rows, PARTS, "no", keeps="premisse"), ["premisse", "premise?"]),
    "repeated label": (lambda rows: heedful.measure(predict, rows, PARTS, "no", labels=["no", "no"]), ["labels"]),
    "draws": (lambda rows: heedful.measure(predict, rows, PARTS, "no", draws="many"), ["draws", "many"]),
    "trainer of a function": (
        lambda rows: heedful.measure(predict, rows, PARTS, "no", trainer={"precision": "bf16-mixed"}),
        ["trainer.precision", "without a Trainer"],
    ),
    "model without a tokenizer": (
        lambda rows: heedful.measure(BertForMaskedLM(BertConfig(**TINY)), rows, PARTS, "no"),
        ["BertForMaskedLM", "tokenizer"],
    ),
    "output": (lambda rows: heedful.measure(predict, rows, PARTS, "no", output="rows.csv"), ["rows.csv"]),
    "endpoint": (lambda rows: heedful.Endpoint("http://localhost:1/v1"), ["model"]),
    "setting of an endpoint": (lambda rows: heedful.Endpoint(model="m", concurency=2), ["concurency", "concurrency"]),
    "key": (lambda rows: heedful.Endpoint(model="m", key=b"sk-secret"), ["key", "bytes"]),
    "two evaluations": (
        lambda rows: heedful.train(evaluations=[Attentiveness()], attentiveness={"draws": 2}),
        ["two evaluations", "attentiveness"],
    ),
    "a model that is a class": (lambda rows: heedful.train(Encoder, rows), ["Encoder is a class", "Encoder(...)"]),
    "a model that is a function": (lambda rows: heedful.Watch(3, rows, PARTS), ["predict", "int"]),
    "argument": (lambda rows: heedful.measure(predict, rows, PARTS, "no", draw=3), ["draw", "draws?"]),
    "run": (lambda rows: heedful.load("nowhere"), ["nowhere"]),
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with a few files, on a machine without a GPU."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("torch.accelerator.is_available", lambda: False)
    (tmp_path / "empty").mkdir()
    files = {"rows.csv": CSV, "own.yaml": YAML, "broken.yaml": "class_path: PairedText\ninit_args: {name: [\n"}
    files |= {"twice.yaml": YAML + "  name: other\n", "nameless.yaml": "init_args: {name: own}\n", "own.ckpt": ""}
    files |= {"other.yaml": "data: {init_args: {hold_outt: 3}}\n", "own.py": "def predict(rows): return []\n"}
    files |= {"init.yaml": "init_from: runs/x\n", "deep.yaml": "[" * 5000}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "latin.yaml").write_bytes("class_path: Pl\xe4nted".encode("latin-1"))
    return tmp_path


def read(message: str, facts: list[str]) -> None:
    assert "Traceback" not in message
    assert len(textwrap.wrap(message.strip(), 80)) <= 3, message
    assert all(fact in message for fact in facts), message


@pytest.mark.parametrize("command", COMMANDS)
def test_a_mistake_on_a_command_line(
    command: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["heedful", *command.split()])
    with pytest.raises(SystemExit) as stopped:
        run()
    assert stopped.value.code == 2
    read(capsys.readouterr().err, COMMANDS[command])


@pytest.mark.parametrize("name", CALLS)
def test_a_mistake_in_python_names_arguments_as_python_has_them(name: str, folder: Path) -> None:
    call, facts = CALLS[name]
    rows = pd.read_csv("rows.csv").to_dict("records")
    with pytest.raises(HeedfulError) as caught:
        call(rows)
    read(str(caught.value), facts)
    assert "--" not in str(caught.value)


@pytest.mark.slow
@pytest.mark.parametrize("command", ["train.py --data mnlii", "evaluate.py --checkpoint nowhere"])
def test_a_mistake_in_a_process_of_its_own(command: str, folder: Path) -> None:
    script, *words = command.split()
    done = subprocess.run([sys.executable, ROOT / script, *words], capture_output=True, text=True)
    assert done.returncode == 2
    read(done.stderr, words[-1:])
