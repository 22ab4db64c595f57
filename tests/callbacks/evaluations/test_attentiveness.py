"""Numbers of examples and draws of attentiveness: in training, in evaluation, and for a precision."""

import math

import pytest

import heedful
from heedful.callbacks.engine.evaluation import Setting
from heedful.callbacks.evaluations.attentiveness import PILOT, Attentiveness, examples_needed
from heedful.datamodules.base.pairs import Pairs
from heedful.records import SettingError, generator
from heedful.records.rows import select
from heedful.records.storage.results import read_results
from heedful.reports import rescore

from refusals import refused

QUIET = {"enable_progress_bar": False}


def rows(n):
    rng = generator("precision")
    words = "north east south west up down".split()
    return [{part: f"{words[rng.integers(6)]} {i}" for part in ("left", "right")} for i in range(n)]


def predict(inputs):
    return ["yes" if x["left"].split()[0] in ("north", "up") else "no" for x in inputs]


def measured(n, **settings):
    return heedful.measure(predict, rows(n), ["left", "right"], labels=["yes", "no"], trainer=QUIET, **settings)


@pytest.mark.parametrize(("draws", "expected"), [(None, (1, 5)), (3, (3, 3))])
def test_default_draws_are_one_in_training_and_five_in_evaluation(draws, expected):
    labelled = [row | {"label": "ab"[i % 2]} for i, row in enumerate(rows(20))]
    data = Pairs("rows", {"left": "left", "right": "right"}, {"a": [], "b": []}, path=labelled, swap=["left"])
    data.setup("validate")
    plans = [Attentiveness(draws).plan(Setting(data, monitoring)) for monitoring in (True, False)]
    assert tuple(plan.interventions[0].draws for plan in plans) == expected


def test_the_first_stage_determines_the_number_of_changed_examples():
    whole, precise = measured(900), measured(900, precision=0.03)
    part, changed = (select(found.rows, intervention="swap", part="left").to_pandas() for found in (whole, precise))
    assert changed["uid"].nunique() == precise["attentiveness", "left"].n
    pilot = measured(900, precision=0.49)
    assert pilot["attentiveness", "left"].n == PILOT == pilot["attentiveness", "right"].n
    half = (pilot["attentiveness", "left"].high - pilot["attentiveness", "left"].low) / 2
    needed = math.ceil(1.1 * PILOT * (half / 0.03) ** 2)
    assert precise["attentiveness", "left"].n == needed == examples_needed(half, 0.03) > PILOT
    assert precise["attentiveness", "right"].n == PILOT  # never used: the first stage is precise enough
    # a changed example has the same rows as without a precision
    columns = ["uid", "draw", "partner", "y2"]
    assert changed[columns].merge(part[columns]).shape == changed[columns].shape
    assert precise["attentiveness", "left"].high - precise["attentiveness", "left"].low <= 2 * 1.1 * 0.03


@pytest.mark.parametrize(
    ("settings", "facts"),
    [
        ({"precision": 2}, ["attentiveness.precision 2"]),
        ({"precision": 0.02, "draws": 2, "attentiveness": {"draws": 3}}, ["draws, precision and attentiveness"]),
    ],
)
def test_settings_that_are_out_of_range_or_exclude_each_other_are_refused(settings, facts):
    with refused(SettingError, *facts):
        measured(20, **settings)


@pytest.mark.slow
def test_two_processes_and_a_second_scoring_give_the_same_bytes(lab, tmp_path):
    lab.kinds["learned"] = ["--trainer.max_epochs", "4", "--data.n_train", "600"], 1
    evaluate = ["--checkpoint", str(lab.whole("learned")), "--attentiveness.precision", "0.005"]
    evaluate += ["--attentiveness.draws", "2", "--data.n_validation", "900"]
    for processes, words in ((1, []), (2, ["--trainer.devices", "2", "--trainer.strategy", "ddp"])):
        folder = tmp_path / str(processes)
        statuses, out = lab.run(*evaluate, *words, "--output", str(folder), command="evaluate", processes=processes)
        assert statuses == [0] * processes, out
    one, two = ((tmp_path / name) for name in "12")
    for path in ("results.json", "rows/attentiveness.parquet"):
        assert (one / path).read_bytes() == (two / path).read_bytes(), path
    assert read_results(one)["metrics"]["attentiveness/planted/premise"]["n"] > PILOT
    assert rescore.rescored(str(one)) == (one / "results.json").read_text()
