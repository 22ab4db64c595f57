"""Evaluation from Python: of a run, of a checkpoint and of a model in memory."""

from pathlib import Path

import pytest
from live_runs import MEASURED, ONCE, QUIET, config, measurements, numbers, pairs, small

import heedful
from heedful.assembly.loading import load_model
from heedful.assembly.results import Results, Run
from heedful.datamodules import Planted
from heedful.lightning_modules import Classifier
from heedful.records import ModelError

from refusals import refused

pytestmark = pytest.mark.slow  # whole runs of train.py and evaluate.py


@pytest.fixture(scope="module")
def trained(tiny_bert: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Classifier, Planted, Run]:
    """A trained model in memory, its data, and its run."""
    model = small(tiny_bert)
    data = pairs()
    folder = tmp_path_factory.mktemp("trained") / "run"
    return model, data, train(model, data, output=folder)


def train(*args: object, **more: object) -> Run:
    given = {"evaluations": MEASURED, "trainer": ONCE, "seed": 3, "attentiveness": {"draws": 5}} | more
    return heedful.train(*args, **given)  # type: ignore[arg-type]


def measured(output: Path, *args: object, **more: object) -> Results:
    given = {"evaluations": MEASURED, "trainer": QUIET, "seed": 3, "output": output} | more
    return heedful.evaluate(*args, **given)  # type: ignore[arg-type, return-value]


def rows(results: Results) -> list[dict[str, object]]:
    return results.rows_of("attentiveness").to_pylist()


def test_a_model_in_memory_is_measured_as_its_run(
    trained: tuple[Classifier, Planted, Run], tiny_bert: Path, tmp_path: Path
) -> None:
    model, data, run = trained
    in_memory = measured(tmp_path / "memory", model, data)
    assert numbers(in_memory.folder) == numbers(run.folder)
    assert config(in_memory.folder)["model"]["init_args"]["backbone"] == "(in memory)"
    by_checkpoint = measured(tmp_path / "checkpoint", checkpoint=run.folder)
    assert measurements(by_checkpoint.folder) == measurements(run.folder)
    assert measurements(measured(tmp_path / "file", checkpoint=run.checkpoint).folder) == measurements(run.folder)

    (fresh := pairs()).setup("validate")
    examples = [{**example.parts, "label": example.label} for example in fresh.pool]
    of_rows = heedful.measure(model, examples, ["premise", "hypothesis"], "neutral", draws=1)
    assert of_rows["accuracy"].value == run["accuracy"].value

    other = train(small(tiny_bert), data, seed=4, output=tmp_path / "other")
    exported = load_model(run.folder / "checkpoints" / "backbone", max_length=64)
    for name in ("exported", "again"):  # measuring a checkpoint does not change its weights
        assert rows(measured(tmp_path / name, exported, data)) == rows(run)
        assert rows(measured(tmp_path / f"{name}-other", exported, data, checkpoint=other.folder, seed=4)) == rows(
            other
        )


def test_a_model_in_memory_on_what_it_did_not_learn(
    trained: tuple[Classifier, Planted, Run], tiny_bert: Path, tmp_path: Path
) -> None:
    model, data, _ = trained
    rows = {"validation": [{"x": "the dog", "y": "in", "label": n % 2} for n in range(4)]}
    others = heedful.load_data(rows, name="m", parts={"premise": "x", "hypothesis": "y"}, labels={"u": [0], "v": [1]})
    with refused(ModelError, "entailment", "u, v"):
        measured(tmp_path / "a", model, others, evaluations=["accuracy"])
    with refused(ModelError, "premise", "hypothesis"):
        measured(tmp_path / "a", model, data.with_arguments(partial="hypothesis"), evaluations=["accuracy"])
    with refused(ModelError):
        measured(tmp_path / "a", small(tiny_bert), data)
    assert not [*tmp_path.iterdir()]
