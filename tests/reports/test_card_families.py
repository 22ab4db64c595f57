"""Families beside the encoder: what each exports is opened again, and the card says by what."""

from collections.abc import Callable
from pathlib import Path

import pytest
import timm
from huggingface_hub import ModelCard
from live_runs import MEASURED, ONCE, pairs
from transformers import T5ForConditionalGeneration

import heedful
from heedful.reports.card import write_card

pytestmark = pytest.mark.slow  # whole runs of train.py and evaluate.py

QUIET = {"accelerator": "cpu", "enable_progress_bar": False}
AGAIN = {"evaluations": MEASURED, "attentiveness": {"draws": 1}, "trainer": QUIET}  # as train.py measures


@pytest.fixture(scope="module")
def t5_card(tiny_t5: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, heedful.Run]:
    folder = tmp_path_factory.mktemp("t5")
    run = heedful.train(
        data=pairs(), model=heedful.load_model(tiny_t5), evaluations=MEASURED, trainer=ONCE, output=folder / "run"
    )
    return write_card(run.folder, folder / "card"), run


def test_a_sequence_to_sequence_model_is_opened_by_transformers_and_by_heedful(t5_card, tmp_path: Path):
    card, run = t5_card
    assert T5ForConditionalGeneration.from_pretrained(card).num_parameters() > 0
    again = heedful.evaluate(
        model=heedful.load_model(card),
        data=pairs(),
        **AGAIN,
        output=tmp_path / "again",
    )
    assert again.content["metrics"] == run.content["metrics"]


def test_its_card_names_no_pipeline_since_none_reads_labels_so(t5_card):
    data = ModelCard.load(t5_card[0] / "README.md").data
    assert (data.library_name, data.pipeline_tag) == ("transformers", None)
    assert data.eval_results[0].task_type == "text-classification"


@pytest.fixture(params=["timm", "vilt", "blip"])
def pictures(request, tiny_bert, tiny_vilt, tiny_blip, write_squares: Callable[..., Path], tmp_path, monkeypatch):
    """Squares and questions about them, and a model of each family that sees them."""
    data = heedful.load_data(
        "PairedImages",
        name="squares",
        parts={"image": "pictures/{file}", "question": "text"},
        pictures=["image"],
        labels={"no": [], "yes": []},
        label="answer",
        default_label="no",
        swap=["image", "question"],
        uid="id",
        path=str(write_squares(tmp_path / "squares", 32, 16)),
    )
    create = timm.create_model
    monkeypatch.setattr(timm, "create_model", lambda name, pretrained, **kwargs: create(name, **kwargs))
    own = {"vision": "test_efficientnet", "image_size": [32, 32], "hidden": 16, "max_length": 32}
    models = {"timm": (tiny_bert, own), "vilt": (tiny_vilt, {}), "blip": (tiny_blip, {"max_length": 32})}
    backbone, settings = models[request.param]
    return data, heedful.load_model(request.param, backbone=str(backbone), **settings)


def test_a_model_that_sees_pictures_is_opened_as_its_card_says(pictures, tmp_path: Path):
    data, model = pictures
    run = heedful.train(model, data, evaluations=MEASURED, trainer=ONCE, output=tmp_path / "run")
    card = write_card(run.folder, tmp_path / "card")
    written = ModelCard.load(card / "README.md")
    names: dict = {}
    snippet = written.text.split("```python")[1].split("```")[0].replace("'FOLDER'", repr(str(card)))
    exec(snippet, names)
    again = heedful.evaluate(names["model"], data, **AGAIN, output=tmp_path / "again")
    assert again.content["metrics"] == run.content["metrics"]
    assert written.data.eval_results[0].task_type == "visual-question-answering"
    assert written.data.pipeline_tag is None
