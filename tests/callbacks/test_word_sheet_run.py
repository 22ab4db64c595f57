"""The picture of attributions of a small encoder, through the real engine and the run folder."""

import re

import pytest
from PIL import Image
from pytorch_lightning.loggers import TensorBoardLogger
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from benchmarks.bare_runs import measured
from heedful.callbacks import Accuracy, WordSheet
from heedful.callbacks.evaluations import Attributions
from heedful.cli import command
from heedful.datamodules import Planted
from heedful.lightning_modules import Encoder
from heedful.records import Context
from heedful.records.parts.words import words
from heedful.records.rows import read_rows

pytestmark = pytest.mark.slow  # whole runs of train.py and evaluate.py

NAMES = ["attributions.html", "attributions.png"]


def validate(folder, backbone, only, logger=False, **settings):
    data = Planted(n_validation=12, eval_batch_size=8, **settings)
    module = Encoder(str(backbone), max_length=64)
    module.has_learned = True
    evaluations = [Accuracy(), Attributions(["shap", "gradients"], samples=8, examples=6, steps=2, shown=2)]
    where = {"accelerator": "cpu", "logger": logger, "folder": folder}
    measured(module, data, evaluations, only=only, outputs=[WordSheet()], **where)
    return data


def files(folder):
    return sorted(path.name for path in (folder / "figures").iterdir())


@pytest.fixture(scope="module")
def run(tiny_bert, tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    logger = TensorBoardLogger(str(folder), name="", version="")
    return folder, validate(folder, tiny_bert, ["accuracy", "attributions"], logger)


def test_both_files_are_written_of_the_examples_that_are_swapped_too(run):
    folder, data = run
    assert files(folder) == NAMES
    text = (folder / "figures" / "attributions.html").read_text()
    assert "planted: what each word adds to the probability of y; shown: 2 of 6 explained, those" in text
    uids = re.findall(r"<h2>(\S+), gold", text)
    rows, metadata = read_rows(folder / "rows" / "attributions.parquet")
    assert Context.of(metadata["context"]).data == "planted"
    swapped = {row["uid"] for row in rows.to_pylist() if row["variant"]}
    assert uids == sorted(swapped)
    assert len(swapped) == 2
    pool = {e.uid: e for e in data.pool}
    for uid, block in zip(uids, text.split("<article>")[1:], strict=True):
        assert re.findall(r"<h3>(.*?)</h3>", block) == [
            f"{method}, {variant}" for method in ("gradients", "shap") for variant in ("as it is", "swap premise")
        ]
        shown = re.findall(r'<span class=w [^>]*title="[^>]*>(.*?)</span>', block.partition("</section>")[0])
        assert shown == [word for text in pool[uid].parts.values() for word in words(text)]
    with Image.open(folder / "figures" / "attributions.png") as picture:
        assert picture.size[0] > 1000


def test_tensorboard_has_it(run):
    assert [event.step for event in EventAccumulator(str(run[0])).Reload().Images("attributions")] == [0]


def test_it_is_drawn_again_from_rows_alone(run, capsys):
    folder, _ = run
    paths = [folder / "figures" / name for name in NAMES]
    before = [path.read_bytes() for path in paths]
    for path in paths:
        path.unlink()
    command.main(["figure", "attributions", str(folder)])
    assert [path.read_bytes() for path in paths] == before
    assert capsys.readouterr().out == f"in {folder}/figures/attributions.html and attributions.png\n"


def test_an_outdated_picture_goes_and_what_else_lies_there_stays(tiny_bert, tmp_path):
    validate(tmp_path, tiny_bert, ["accuracy", "attributions"], swap=[])
    assert files(tmp_path) == NAMES
    assert "shown: 6 of 6 explained." in (tmp_path / "figures" / "attributions.html").read_text()
    (tmp_path / "figures" / "accuracy.png").touch()
    validate(tmp_path, tiny_bert, ["accuracy"])
    assert files(tmp_path) == ["accuracy.png"]
