"""Each data set of configs/data is trained on and evaluated, from a tiny twin in the files of the real one."""

from pathlib import Path

import pytest
import yaml

from heedful.cli import evaluation as evaluate
from heedful.cli import training as train

from commands import results_of, run

ROOT = Path(__file__).parents[1]
TWINS = ROOT / "tests" / "data"
CONFIGS = {path.stem: yaml.safe_load(path.read_text()) for path in sorted((ROOT / "configs" / "data").glob("*.yaml"))}
SHARED = {"hans-three": "hans", "mnli-mismatched": "mnli", "paws-as-qqp": "paws"}  # whose files another has as well
TEXTS = ["--model", "minilm", "--model.max_length", "64", "--model.max_unknown", "0.9"]
READER = ["--model.max_length", "48", "--model.overlap", "8", "--model.longest_answer", "4"]
WRITER = ["--model", "t5", "--model.longest_answer", "4"]
PICTURES = ["--model", "vilt", "--model.max_length", "24"]
OF_KIND = {"PairedImages": PICTURES, "VisualQuestions": PICTURES, "Reading": READER}
OF_DATA = {
    "help": ["--data.hold_out", "6"],
    "med": ["--data.hold_out", "6"],  # all of MED is for evaluation
    "planted": ["--data.n_train", "8", "--data.n_validation", "6"],  # made when it is read
    "vqa2": ["--data.answers", "4"],
    "wanli": ["--data.hold_out", "6"],
}


@pytest.mark.parametrize("name", CONFIGS)
def test_a_twin_is_trained_on_and_evaluated(name: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    words = OF_KIND.get(CONFIGS[name]["class_path"], TEXTS)
    words = WRITER if name == "rag" else words  # of a question and two texts
    family = "vilt" if words is PICTURES else "t5" if words is WRITER else "bert"
    backbone = request.getfixturevalue(f"tiny_{family}")
    path = [] if name == "planted" else ["--data.path", TWINS / SHARED.get(name, name)]
    draws = ["--attentiveness.draws", "1"]
    words = ["--data", name, *path, *OF_DATA.get(name, []), *words, "--model.backbone", backbone, *draws]
    steps = ["--trainer.max_epochs", "1", "--trainer.limit_train_batches", "2", "--data.batch_size", "2"]
    run(train.main, *words, *steps, "--output", tmp_path / "run")
    run(
        evaluate.main,
        "--checkpoint",
        tmp_path / "run" / "checkpoints" / "best.ckpt",
        *draws,
        "--output",
        tmp_path / "e",
    )
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
