"""Families beside the encoder: what each exports is opened again, and the card says by what."""

from pathlib import Path

import pytest
from huggingface_hub import ModelCard
from live_runs import MEASURED, ONCE, pairs
from transformers import T5ForConditionalGeneration

import heedful
from heedful.reports.card.folder import write_card

QUIET = {"accelerator": "cpu", "enable_progress_bar": False}


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
        model=heedful.load_model(card), data=pairs(), evaluations=MEASURED, trainer=QUIET, output=tmp_path / "again"
    )
    assert again.content["metrics"] == run.content["metrics"]


def test_its_card_names_no_pipeline_since_none_reads_labels_so(t5_card):
    data = ModelCard.load(t5_card[0] / "README.md").data
    assert (data.library_name, data.pipeline_tag) == ("transformers", None)
    assert data.eval_results[0].task_type == "text-classification"
