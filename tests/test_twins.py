"""Each data set of configs/data is trained on and evaluated, from a tiny twin in the files of the real one."""

from pathlib import Path

import pytest

from heedful.cli import command

from commands import results_of, run
from own_data import CONFIGS, GENERATED, OF_TWIN, TWINS, twin_path

TEXTS = ["--model", "minilm", "--model.max_length", "64", "--model.max_unknown", "0.9"]
READER = ["--model.max_length", "48", "--model.overlap", "8", "--model.longest_answer", "4"]
WRITER = ["--model", "t5", "--model.longest_answer", "4"]
PICTURES = ["--model", "vilt", "--model.max_length", "24"]
OF_KIND = {"PairedImages": PICTURES, "VisualQuestions": PICTURES, "Reading": READER}


@pytest.mark.parametrize("name", CONFIGS)
def test_a_twin_is_trained_on_and_evaluated(name: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    words = OF_KIND.get(CONFIGS[name]["class_path"], TEXTS)
    words = WRITER[: {"rag": 4, "conflictqa": 2}[name]] if name in ("rag", "conflictqa") else words  # of 3 or 4 parts
    family = "vilt" if words is PICTURES else "t5" if words[1] == "t5" else "bert"
    backbone = request.getfixturevalue(f"tiny_{family}")
    settings = OF_TWIN.get(name, {}) | ({} if name in GENERATED else {"path": twin_path(name)})
    words = [
        "--data",
        name,
        *words,
        "--model.backbone",
        backbone,
        "--data.batch_size",
        "2",
        "--output",
        tmp_path / "run",
    ]
    words += [word for key, value in settings.items() for word in (f"--data.{key}", value)]
    draws = ["--attentiveness.draws", "1", "--order.draws", "1"]
    run(command.train, *words, *draws, "--trainer.max_epochs", "1", "--trainer.limit_train_batches", "2")
    checkpoint = tmp_path / "run" / "checkpoints" / "best.ckpt"
    run(command.evaluate, "--checkpoint", checkpoint, *draws, "--output", tmp_path / "e")
    results = results_of(tmp_path / "e")
    metrics = results_of(tmp_path / "run")["metrics"]
    assert metrics
    assert {metric: results["metrics"][metric] for metric in metrics} == metrics
    assert results["counts"]["examples"] > 3


def test_twins_are_small_and_as_the_script_makes_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """But for pictures and parquet, whose bytes are a matter of the libraries that write them."""
    monkeypatch.syspath_prepend(str(TWINS))
    from make_twins import make_twins

    make_twins(tmp_path)
    sizes = {twin.name: sum(file.stat().st_size for file in twin.rglob("*")) for twin in tmp_path.iterdir()}
    assert max(sizes.values()) < 50_000
    for twin in sizes:
        kept = {path.relative_to(TWINS): path for path in (TWINS / twin).rglob("*") if path.is_file()}
        made = {path.relative_to(tmp_path): path for path in (tmp_path / twin).rglob("*") if path.is_file()}
        assert kept.keys() == made.keys()
        texts = [name for name in kept if name.suffix not in (".png", ".parquet", ".gz")]
        assert [name for name in texts if kept[name].read_bytes() != made[name].read_bytes()] == []
