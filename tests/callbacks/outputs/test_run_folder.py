"""The folder of results: one measurement after the other writes into another folder."""

from pathlib import Path

import pytest

from heedful.assembly.trainers import make_trainer
from heedful.callbacks import Accuracy, EvaluationCallback, RunFolder
from heedful.datamodules import Planted
from heedful.records import read_json

from oracles import Oracle


def test_several_measurements_have_a_folder_each(tmp_path: Path) -> None:
    saved: list[Path] = []

    def save_config(path: Path) -> None:
        path.write_text(f"n: {len(saved)}\n")
        saved.append(path)

    answer = {"now": "neutral"}
    model, data = Oracle(lambda table, hypothesis: answer["now"]), Planted(n_train=12, n_validation=9)
    model.has_learned = True
    run = RunFolder(tmp_path, save_config, {"evaluation": "all"})
    quiet = {"logger": False, "enable_checkpointing": False, "enable_progress_bar": False}
    trainer = make_trainer(
        [EvaluationCallback([Accuracy()], writers=[run]), run], {"accelerator": "cpu", **quiet}, "validate"
    )
    accuracies = []
    for n, label in enumerate(["neutral", "entailment"]):
        answer["now"] = label
        run.begin(tmp_path / label, {"prompt": {"seed": n}})
        trainer.validate(model, data, verbose=False)
        about, results = (read_json(tmp_path / label / file) for file in ("run.json", "results.json"))
        assert (about["evaluation"], about["prompt"]) == ("all", {"seed": n})
        assert (tmp_path / label / "config.yaml").read_text() == f"n: {n}\n"
        assert (tmp_path / label / "rows" / "accuracy.parquet").is_file()
        accuracies.append(results["metrics"]["accuracy/planted"]["value"])
    golds = list(data.pool.column("label"))
    assert accuracies == pytest.approx([golds.count(label) / 9 for label in ("neutral", "entailment")])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["entailment", "neutral"]
