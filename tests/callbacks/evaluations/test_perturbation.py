"""Perturbations: functions from an example to an example, as evaluations."""

import inspect
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from live_runs import pairs, small
from pytorch_lightning import Trainer

import heedful
from heedful.callbacks import EVALUATIONS, Accuracy, EvaluationCallback
from heedful.callbacks.evaluations import register
from heedful.callbacks.evaluations.perturbation import Perturb
from heedful.cli import command
from heedful.metrics import METRICS
from heedful.records import NO_LABEL, SPAN, Context, Example, Examples, SettingError, Task
from heedful.records.rows import read_rows, select

from commands import results_of, run
from made_rows import make
from refusals import refused
from registered import restored_registries

MODULE = """
import heedful

@heedful.perturbation("no_stop", expects="stays")
def no_stop(example, part="premise"):
    return example.replace(part, example[part].rstrip(" ."))
"""
LABELS = ("yes", "no")
ROWS = [{"premise": f"A dog {n} runs.", "hypothesis": f"Animal {n} moves.", "label": LABELS[n % 2]} for n in range(40)]
PARTS = ["premise", "hypothesis"]


@pytest.fixture(autouse=True)
def registries() -> Iterator[None]:
    """The evaluations and metrics that a test registers are removed again."""
    with restored_registries():
        yield


@pytest.fixture
def module(tmp_path, monkeypatch) -> str:
    """A module with the eight lines, in the working folder."""
    (tmp_path / "stops.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    yield "stops"
    sys.modules.pop("stops", None)


def measured(predict: Any, *perturbations: Any, rows: Any = ROWS, **more: Any) -> heedful.Results:
    """Results of a function on the rows; the default label is "no"."""
    return heedful.measure(predict, rows, PARTS, "no", evaluations=list(perturbations), **more)


def answers(rule: Any) -> Any:
    """A function for ``measure`` that applies a rule to each input."""
    return lambda inputs: [rule(x) for x in inputs]


def ends_in_stop(x: dict[str, str]) -> str:
    return "yes" if x["premise"].endswith(".") else "no"


# four ways


def test_the_eight_lines_measure_a_function(module):
    from stops import no_stop

    result = measured(answers(ends_in_stop), no_stop)
    number = result["no_stop", "premise"]
    assert (number.value, number.n, number.ci95[0]) == (0.0, 40, 0.0)
    assert measured(answers(ends_in_stop), no_stop(part="hypothesis"))["no_stop", "hypothesis"].value == 1
    assert measured(answers(ends_in_stop), no_stop, no_stop={"part": "hypothesis"})["no_stop", "hypothesis"].value == 1


TINY = "--model.max_length", 64, "--trainer.max_epochs", 1, "--model.backbone"


def words(folder: Path, *more: Any) -> list[Any]:
    data = ["--data", "planted", "--data.n_train", 16, "--data.n_validation", 24, "--output", folder]
    return [*data, "--evaluations", "accuracy,stops.no_stop", *more]


def test_the_eight_lines_from_the_command_line(module, tiny_bert, tmp_path):
    trained, evaluated = tmp_path / "run", tmp_path / "evaluated"
    run(
        command.train,
        *words(trained, "--model.backbone", tiny_bert, "--model.max_length", 64, "--trainer.max_epochs", 1),
    )
    run(command.evaluate, "--checkpoint", trained, "--no_stop.part", "hypothesis", "--output", evaluated)
    assert results_of(trained)["metrics"]["no_stop/planted/premise"]["n"] > 0
    assert results_of(evaluated)["metrics"]["no_stop/planted/hypothesis"]["n"] > 0
    assert "no_stop" in json.loads((trained / "figures" / "epochs.json").read_text())
    assert (trained / "figures" / "no_stop.png").exists()
    page = (trained / "report.html").read_text()
    assert "no stop" in page
    assert "could not be made again" not in page


def test_the_eight_lines_in_a_trainer_of_the_user(module, tiny_bert, tmp_path):
    from stops import no_stop

    callback = EvaluationCallback([Accuracy(), no_stop], exhaustive=False)
    settings = {"max_epochs": 1, "accelerator": "cpu", "logger": False, "enable_checkpointing": False}
    trainer = Trainer(callbacks=[callback], default_root_dir=tmp_path, enable_progress_bar=False, **settings)
    trainer.fit(small(tiny_bert), datamodule=pairs())
    assert "no_stop/planted/premise" in callback.measurements
    assert "no_stop/planted/premise" in trainer.callback_metrics
    assert "no_stop/planted/premise/low" in trainer.callback_metrics


ON_RANKS = """
import heedful
from pytorch_lightning.utilities import rank_zero_only
from ranks import fork

def evaluate(rank, world):
    rank_zero_only.rank = rank  # as in a process that a launcher started
    settings = {"devices": world, "strategy": "ddp" if world > 1 else "auto", "accelerator": "cpu"}
    settings |= {"enable_progress_bar": False}
    evaluations = ["accuracy", "stops.no_stop", "stops.shuffled"]
    heedful.evaluate(checkpoint="run", evaluations=evaluations, output=f"out/{world}", trainer=settings)

for world in (1, 2):
    fork(world, evaluate)
"""


SHUFFLED = """
@heedful.perturbation("shuffled", expects="leaves", draws=3)
def shuffled(example, rng, part="hypothesis"):
    return example.replace(part, " ".join(rng.permutation(example[part].split()).tolist()))
"""


@pytest.mark.slow
def test_two_processes_write_the_same_rows(module, forks, tiny_bert, tmp_path):
    (tmp_path / "stops.py").write_text(MODULE + SHUFFLED)
    run(
        command.train,
        *words(tmp_path / "run", "--model.backbone", tiny_bert, "--model.max_length", 64, "--trainer.max_epochs", 1),
    )
    forks.script(ON_RANKS, cwd=str(tmp_path))
    for name in ("no_stop", "shuffled"):
        one, two = (read_rows(tmp_path / "out" / world / "rows" / f"{name}.parquet")[0] for world in "12")
        assert one.num_rows > 24
        assert one.equals(two)


# expectations


@pytest.mark.parametrize(("expects", "value"), [("stays", 0.0), ("leaves", 1.0), ("no", 1.0), ("yes", 0.0)])
def test_expectations(expects, value):
    @heedful.perturbation("stop", expects=expects)
    def stop(example, part="premise"):
        return example.replace(part, example[part].rstrip("."))

    result = measured(answers(ends_in_stop), stop)
    assert result["stop", "premise"].value == value
    rows = select(result.rows_of("stop"), intervention="stop")
    assert set(rows["expects"].to_pylist()) == {expects if expects in ("stays", "leaves") else "gold2"}
    golds = {"stays": set(LABELS), "leaves": {None}}.get(expects, {expects})
    assert set(rows["gold2"].to_pylist()) == golds


def test_an_expectation_by_example_may_be_missing():
    @heedful.perturbation("stop", expects=lambda example: {"yes": "leaves", "no": None}[example.label])
    def stop(example):
        return example.replace("premise", example["premise"].rstrip("."))

    number = measured(answers(ends_in_stop), stop)["stop"]
    assert (number.value, number.n) == (1.0, 20)


def test_gold_of_a_change():
    @heedful.perturbation("flip", expects="gold2")
    def flip(example):
        return example.replace("premise", "None", gold=LABELS[example.label == "yes"])

    assert measured(answers(lambda x: "yes"), flip)["flip"].value == 0.5


def test_a_change_without_a_gold_label_has_no_expectation_of_it():
    @heedful.perturbation("unsure", expects="gold2")
    def unsure(example):
        return example.replace("premise", "x", gold=None)

    number = measured(answers(lambda x: "yes"), unsure)["unsure"]
    assert (number.value, number.n) == (None, 0)


def test_the_answer_after_a_change_may_be_any_text_for_spans():
    task = Task(SPAN, ("question", "passage"), ())
    pool = Examples.of([Example("a", {"question": "Where?", "passage": "In Oslo."}, '["Oslo"]')])
    for expects in ("Rome", lambda example: "Rome"):
        change = Perturb(
            lambda example: example.replace("passage", "In Rome."), {}, expects, task, name="moved", version=1, draws=0
        )
        (changed,) = change.apply(pool, "a", -1, 0)
        assert (changed.expects, changed.example.label) == ("gold2", '["Rome"]')


def test_a_limit_of_training_does_not_count_as_unchanged():
    @heedful.perturbation("limited")
    def limited(example):
        return None

    base = {f"u{i}": ("yes", "yes") for i in range(9)}
    changed = [
        {"uid": f"u{i}", "intervention": "limited", "draw": -1, "y2": "yes", "expects": "stays"} for i in range(3)
    ]
    context = Context("d", labels=LABELS, own={"part": "", "perturbation": True, "limit": 4})
    assert METRICS["limited"].evaluate(make(base, changed, labels=2), context)[1] == {"changed": 3, "not_changed": 1}


def test_a_function_judges_both_predictions():
    """CheckList's directional expectations; the verdicts are in the rows, so that rescoring needs no function."""

    @heedful.perturbation(
        "surer", expects=lambda before, after: after.probabilities["yes"] > before.probabilities["yes"]
    )
    def surer(example):
        return example.replace("premise", f"{example['premise']} {example['premise']}")

    def predict(inputs):
        sure = [min(0.9, len(x["premise"]) / 40) for x in inputs]
        return np.array([[p, 1 - p] for p in sure])

    result = measured(predict, surer, labels=["yes", "no"])
    assert result["surer"].value == 1.0
    assert set(select(result.rows_of("surer"), intervention="surer")["expects"].to_pylist()) == {"judged/yes"}


def test_examples_that_are_not_changed_are_counted():
    @heedful.perturbation("some")
    def some(example):
        number = int(example["premise"].split()[2])
        return [None, example, example.replace("premise", "x")][number % 3]

    result = measured(answers(ends_in_stop), some)
    assert result["some"].n == result.content["counts"]["some/changed"] == 13
    assert result.content["counts"]["some/not_changed"] == 27


def test_variants_count_each_example_once():
    @heedful.perturbation("variants", expects="leaves")
    def variants(example):
        number = int(example["premise"].split()[2])
        stop = example.replace("premise", "x")
        return [stop, example.replace("premise", "y.")] if number < 20 else [stop]

    number = measured(answers(ends_in_stop), variants)["variants"]
    assert (number.value, number.n) == (pytest.approx((20 * 0.5 + 20) / 40), 40)


def test_random_changes_depend_on_seed_uid_and_draw():
    @heedful.perturbation("noise", expects="leaves", draws=4)
    def noise(example, rng):
        return example.replace("premise", f"{example['premise']} {rng.integers(1000)}")

    texts = [measured(answers(ends_in_stop), noise, seed=seed).rows_of("noise") for seed in (0, 0, 1)]
    assert texts[0].num_rows == 40 * 5
    seen = []
    measured(lambda inputs: [seen.append(x["premise"]) or "yes" for x in inputs], noise, seed=0)
    again = []
    measured(lambda inputs: [again.append(x["premise"]) or "yes" for x in inputs], noise, seed=0)
    assert sorted(seen) == sorted(again)
    assert len(set(seen)) > 150
    assert measured(answers(ends_in_stop), noise(draws=2))["noise"].draws == 2


def test_unread_changes_are_left_out_and_counted(tiny_bert):
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    @heedful.perturbation("behind", expects="leaves")
    def behind(example):
        number = int(example["premise"].split()[2])
        return example.replace("premise", example["premise"] + (" the dog" if number < 20 else "  "))

    model = AutoModelForSequenceClassification.from_pretrained(tiny_bert, num_labels=2)
    pair = (model, AutoTokenizer.from_pretrained(tiny_bert))
    result = measured(pair, behind, labels=["yes", "no"])
    assert result["behind"].n == 20
    assert result["behind", "unread"].value == 0.5
    assert "unread_changes" not in result["behind"].flags


def test_missing_answers_are_no_behaviour():
    @heedful.perturbation("stop", expects="stays")
    def stop(example):
        return example.replace("premise", example["premise"].rstrip("."))

    number = measured(answers(lambda x: "yes" if x["premise"].endswith(".") else None), stop)["stop"]
    assert (number.value, "no_answers" in number.flags) == (None, True)


# mistakes


def test_a_function_that_is_not_deterministic_is_refused():
    numbers = iter(range(1000))

    @heedful.perturbation("counting")
    def counting(example):
        return example.replace("premise", f"x{next(numbers)}")

    with refused(SettingError, "counting", "rng"):
        measured(answers(ends_in_stop), counting)


def test_mistakes_name_the_remedy():
    with refused(SettingError, "other", "text", "default"):

        @heedful.perturbation("other")
        def other(example, text):
            return None

    @heedful.perturbation("typo", expects="stay")
    def typo(example):
        return example.replace("premise", "x")

    with refused(SettingError, "typo", "stay", "stays"):
        measured(answers(ends_in_stop), typo)

    @heedful.perturbation("wrong")
    def wrong(example, part="premis"):
        return example[part]

    with refused(SettingError, "wrong", "premis"):
        measured(answers(ends_in_stop), wrong)
    with refused(SettingError, "wrong", "str", "example.replace"):
        measured(answers(ends_in_stop), wrong(part="premise"))


@pytest.mark.parametrize("name", ["no stop", "a/b", "base", "data"])
def test_a_name_that_means_something_else_is_refused(name):
    with refused(SettingError, name, "no_stop"):
        heedful.perturbation(name)


def test_an_argument_that_all_perturbations_have_is_refused():
    with refused(SettingError, "mine", "max_examples"):
        heedful.perturbation("mine")(lambda example, max_examples=3: example)


def test_settings_are_named_and_known():
    @heedful.perturbation("named")
    def named(example, part: "str" = "premise"):
        return example.replace(part, "x")

    for call in (lambda: named("premise"), lambda: named(prat="premise")):
        with refused(SettingError, "named", "named.function"):
            call()
    assert inspect.signature(named).parameters["part"].annotation is str


def test_errors_of_functions_name_the_perturbation_and_the_example():
    @heedful.perturbation("failing")
    def failing(example):
        return example["premise"].nothing

    with pytest.raises(AttributeError) as caught:
        measured(answers(ends_in_stop), failing)
    assert "failing" in caught.value.__notes__[0]

    @heedful.perturbation("misspelt", expects="gold2")
    def misspelt(example):
        return example.replace("premise", "x", gold="yess")

    with refused(SettingError, "misspelt", "'yess'", "yes?"):
        measured(answers(ends_in_stop), misspelt)


def test_functions_of_two_predictions_return_true_or_false():
    for name, expects, fact in (
        ("less", lambda before, after: after.probabilities["yes"], "KeyError"),
        ("answer", lambda before, after: after.answer, "True or False"),
    ):
        change = heedful.perturbation(name, expects=expects)(lambda example: example.replace("premise", "x"))
        with refused(SettingError, name, fact):
            measured(answers(ends_in_stop), change)
    by_example = heedful.perturbation("one", expects=lambda example, other="leaves": other)
    assert measured(answers(ends_in_stop), by_example(lambda e: e.replace("premise", "x")))["one"].value == 1.0


def test_a_cell_that_runs_twice_replaces_the_first():
    for expects in ("stays", "leaves"):

        @heedful.perturbation("twice", expects=expects)
        def twice(example):
            return example.replace("premise", "x")

    assert EVALUATIONS["twice"] is twice
    assert measured(answers(ends_in_stop), twice)["twice"].value == 1
    with refused(SettingError, "accuracy"):
        heedful.perturbation("accuracy")(lambda example: None)
    with refused(SettingError, "twice"):
        register(type("Other", (Accuracy,), {"metric": METRICS["twice"]}))


def test_a_perturbation_of_a_notebook_is_in_memory(tiny_bert, tmp_path):
    @heedful.perturbation("cell")
    def cell(example, part="premise"):
        return example.replace(part, "x")

    run_ = heedful.train(
        heedful.load_model(str(tiny_bert), max_length=64),
        heedful.load_data("planted", n_validation=12, n_train=8),
        evaluations=["accuracy", cell],
        output=tmp_path / "out",
        trainer={"max_epochs": 1, "accelerator": "cpu", "enable_progress_bar": False, "log_every_n_steps": 1},
    )
    text = (tmp_path / "out" / "config.yaml").read_text()
    assert "(in memory)" in text
    assert run_["cell", "premise"].n == 12


# numbers


ANSWERS = st.sampled_from([*LABELS, NO_LABEL])


@settings(max_examples=40)
@given(st.lists(st.tuples(ANSWERS, st.lists(st.tuples(ANSWERS, st.booleans()))), min_size=1, max_size=8))
def test_the_share_is_that_of_a_loop_over_examples(examples):
    @heedful.perturbation("loop", expects="leaves")
    def loop(example):
        return None

    base = {f"u{i}": ("yes", y) for i, (y, _) in enumerate(examples)}
    changed = [
        {"uid": f"u{i}", "intervention": "loop", "part": "premise", "variant": f"{k:03}", "draw": -1, "y2": y2,
         "expects": "leaves", "unread": unread}
        for i, (_, changes) in enumerate(examples) for k, (y2, unread) in enumerate(changes)
    ]  # fmt: skip
    context = Context("d", parts=("premise",), labels=LABELS, own={"part": "", "perturbation": True})
    found = METRICS["loop"].score(make(base, changed, labels=2), context)
    shares = []
    for y, changes in examples:
        counted = [y2 != y for y2, unread in changes if not unread and y2 != NO_LABEL and y != NO_LABEL]
        shares += [np.mean(counted)] if counted else []
    missing = [y2 == NO_LABEL for y, changes in examples for y2, _ in changes if y != NO_LABEL]
    without = max(np.mean(missing) if missing else 0, np.mean([y == NO_LABEL for y, _ in examples]))
    number = found[next(name for name in found if str(name) == "loop/d")]
    if not shares or without > 0.5:
        assert number.value is None
    else:
        assert (number.value, number.n) == (pytest.approx(np.mean(shares)), len(shares))


RATES = {"stays": 0.7, "leaves": 0.4, "no": 0.85}  # how often a planted predictor does what is expected


def planted_rows(n: int, seed: int) -> list[dict[str, str]]:
    rng = np.random.default_rng(seed)
    return [
        {"premise": f"p{seed} {k} {rng.random():.6f}", "hypothesis": f"h{k}", "label": LABELS[k % 2]} for k in range(n)
    ]


def planted(expects: str) -> Any:
    """A predictor that says yes to originals, and after a change does what is expected at a known rate."""
    right = {"stays": "yes", "leaves": "no", "no": "no"}[expects]
    wrong = "no" if right == "yes" else "yes"

    def answer(x: dict[str, str]) -> str:
        if "!" not in x["premise"]:
            return "yes"
        return right if float(x["premise"].split()[2].rstrip("!")) < RATES[expects] else wrong

    return answers(answer)


@pytest.mark.parametrize("expects", RATES)
def test_the_truth_of_a_planted_predictor_is_in_the_interval(expects):
    @heedful.perturbation("shout", expects=expects)
    def shout(example):
        return example.replace("premise", example["premise"] + "!")

    number = measured(planted(expects), shout, rows=planted_rows(400, seed=3))["shout"]
    assert number.low <= RATES[expects] <= number.high
    assert number.high - number.low < 0.12


@pytest.mark.slow
def test_intervals_cover_the_truth_on_two_hundred_data_sets():
    @heedful.perturbation("shout", expects="leaves")
    def shout(example):
        return example.replace("premise", example["premise"] + "!")

    quiet = {"enable_progress_bar": False}
    found = [
        measured(planted("leaves"), shout, rows=planted_rows(60, seed), trainer=quiet)["shout"] for seed in range(200)
    ]
    covered = np.mean([number.low <= RATES["leaves"] <= number.high for number in found])
    assert 0.93 <= covered <= 0.995
