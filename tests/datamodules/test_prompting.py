"""Which prompts are measured on a data set, and that no demonstration gives an answer away."""

from typing import Any

import pytest

from heedful.datamodules import Planted
from heedful.datamodules.demonstrations import demonstrations
from heedful.datamodules.prompting import Prompting
from heedful.records import DataError, SettingError
from heedful.records.prompts import Prompt, Wording

from own_data import LABELS, configured, nli_rows, own, set_up, twin_path, uids
from refusals import refused

PAPER = Wording("Premise: {premise}\nHypothesis: {hypothesis}\nAnswer:", "Do.", {"neutral": "Neutral"})
SHORT = Wording("{premise} {hypothesis}:")
HELD = {"train": nli_rows(30), "validation": nli_rows(12, start=1000)}


def data(path: Any = None, **settings: Any) -> Any:
    """Pairs set up as for an evaluation; by default, 30 for training and 12 others."""
    return own(HELD if path is None else path, "validate", **{"prompts": {"paper": PAPER, "short": SHORT}} | settings)


def shown(*prompts: Prompt) -> list[str]:
    return [example.uid for prompt in prompts for example in prompt.demonstrations]


# which prompts


def test_each_wording_is_measured_with_each_draw_of_the_same_demonstrations() -> None:
    prompts = Prompting(2, 3, wordings=["short", "paper", "short"]).prompts(data())
    assert [(p.name, p.seed, p.tuples, p.kind) for p in prompts] == [
        (name, seed, 2, "plain") for name in ("short", "paper") for seed in range(3)
    ]
    assert [p.wording for p in prompts] == [SHORT] * 3 + [PAPER] * 3
    drawn = [tuple(shown(p)) for p in prompts]
    assert drawn[:3] == drawn[3:]
    assert len({*drawn}) == 3
    assert all(uid.startswith("own/train/") for one in drawn for uid in one)
    other = [tuple(shown(p)) for p in Prompting(2, 3).prompts(data(seed=1))]
    assert not {*drawn} & {*other}  # the seed of the run changes all draws


def test_the_first_wording_or_plain_words_are_measured_once() -> None:
    for prompting in (Prompting(), Prompting(seeds=5)):
        (prompt,) = prompting.prompts(data({"validation": nli_rows(6)}))  # no training set is read
        assert (prompt.name, prompt.demonstrations, prompt.seed) == ("paper", (), 0)
    with refused(DataError, "'train'"):
        Prompting(1).prompts(data({"validation": nli_rows(6)}))
    (plain,) = Prompting(wordings="plain").prompts(data(prompts=None))
    assert plain.wording == Wording.plain(["premise", "hypothesis"], LABELS)
    (mine,) = Prompting().prompts(data(prompts={"mine": {"question": SHORT.question}}))
    assert (mine.name, mine.wording) == ("mine", SHORT)
    planted = set_up(Planted(n_train=40, n_validation=12), "validate")
    (prompt,) = Prompting(2, demonstrations="counterfactual").prompts(planted)
    assert len(prompt.demonstrations) == 10
    assert prompt.text("Q").startswith("Answer with one of: entailment, neutral, contradiction.\n\npremise: ")


def test_a_part_alone_has_the_lines_of_that_part() -> None:
    (prompt,) = Prompting(1).prompts(data(partial="hypothesis"))
    assert prompt.wording.question == "Hypothesis: {hypothesis}\nAnswer:"
    assert {tuple(example.parts) for example in prompt.demonstrations} == {("hypothesis",)}
    assert prompt.text(prompt.question(["It."])).endswith("\n\nHypothesis: It.\nAnswer:")


@pytest.mark.parametrize("swap", [["hypothesis"], ["premise", "hypothesis"]])
def test_the_part_that_the_attentiveness_test_swaps_is_the_one_that_is_lent(swap: list[str]) -> None:
    some, kind = data(swap=swap, seed=2), "counterfactual"
    for draw, prompt in enumerate(Prompting(1, 2, kind).prompts(some)):
        assert prompt.demonstrations == demonstrations(some.training_pool(), some.task, 1, 2, draw, kind, swap[0])


# what is evaluated is not shown


def test_no_demonstration_is_an_evaluated_example(caplog: pytest.LogCaptureFixture) -> None:
    """By the content of the whole pair: uids of a file that is read for both splits differ."""
    evaluated = data({"train": nli_rows(12), "validation": nli_rows(9) + nli_rows(3, start=1000)})
    with caplog.at_level("INFO"):
        prompts = Prompting(1, 20).prompts(evaluated)
    assert {e.parts["premise"] for p in prompts for e in p.demonstrations} == {f"p {i}" for i in (9, 10, 11)}
    assert caplog.messages.count("own: 9 training examples are also evaluated, and not shown.") == 1
    with refused(DataError, 2, "'entailment'", 1):
        Prompting(2).prompts(evaluated)
    others = [row | {"premise": f"other {i}"} for i, row in enumerate(nli_rows(9))]
    alone = data({"train": others + nli_rows(3), "validation": nli_rows(9)}, partial="hypothesis")
    premise = dict(zip(*(alone.load("train").column(name) for name in ("uid", "parts.premise")), strict=True))
    assert {premise[uid] for uid in shown(*Prompting(1, 30).prompts(alone))} == {f"other {i}" for i in range(9)}
    own_examples = data()
    own_examples.whole = None  # as of an evaluation that brings its own
    assert len(Prompting(2).prompts(own_examples)) == 1


def test_one_file_for_both_splits_shows_what_is_not_evaluated() -> None:
    with refused(DataError, "60 training examples of own", "data.hold_out N", "data.max_validation N"):
        Prompting(1).prompts(data(nli_rows(60)))
    for some in ({"hold_out": 20}, {"folds": 4, "fold": 1}, {"max_validation": 30}):
        held_out = data(nli_rows(60), **some)
        contents = {tuple(example.parts.values()) for example in held_out.whole}
        for prompt in Prompting(2, 5, "counterfactual").prompts(held_out):
            assert not {tuple(example.parts.values()) for example in prompt.demonstrations} & contents


@pytest.mark.parametrize("partial", [None, "question", "context"])
def test_questions_that_are_evaluated_are_not_shown(partial: str | None) -> None:
    """With a part alone, the other is another's, in training and validation not the same one's."""
    path = twin_path("squad2") / "train-v2.0.json"
    some = configured("squad2", path, "validate", partial=partial, max_validation=12)
    prompts = Prompting(2, 5).prompts(some)
    numbers = {uid.split("/")[-1] for uid in shown(*prompts)}
    assert numbers.isdisjoint(uid.split("/")[-1] for uid in uids(some.whole))
    for prompt in prompts:
        assert [example.label == "[]" for example in prompt.demonstrations].count(True) == 2
    with refused(DataError, "20 training examples of squad2"):
        Prompting(1).prompts(configured("squad2", path, "validate"))


@pytest.mark.parametrize(
    ("settings", "facts"),
    [
        ({"tuples": -1}, ["prompt.tuples -1", 0]),
        ({"demonstrations": "counterfactual"}, ["prompt.demonstrations counterfactual", "tuples 1"]),
        ({"wordings": ["long"]}, ["wordings long", "own", "wrong?"]),
        ({}, ["wrong", "{hypothesis}", "{premise}, {hypothesis}"]),
    ],
)
def test_settings_that_make_no_sense(settings: dict[str, Any], facts: list[Any]) -> None:
    with refused(SettingError, *facts):
        Prompting(**settings).prompts(data(prompts={"wrong": Wording("{premise}:"), "short": SHORT}))


def test_answers_of_different_worth_are_not_asked_in_context() -> None:
    with refused(DataError, "vqa2", "soft"):
        Prompting().prompts(configured("vqa2", twin_path("vqa2"), "validate", answers=4))
