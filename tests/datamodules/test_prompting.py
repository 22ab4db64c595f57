"""Which prompts are measured on a data set, and that no demonstration gives an answer away."""

import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from heedful.datamodules import PairedData, PairedText, Planted, Reading, VisualQuestions
from heedful.datamodules.prompting import Prompting
from heedful.records import DataError, HeedfulError, SettingError
from heedful.records.prompts.prompt import Prompt
from heedful.records.prompts.wording import Wording

from refusals import refused

ROOT = Path(__file__).parents[2]
LABELS = ("entailment", "neutral", "contradiction")
OWN = {
    "name": "own",
    "parts": {"premise": "premise", "hypothesis": "hypothesis"},
    "labels": {label: [] for label in LABELS},
    "default_label": "neutral",
}
PAPER = Wording("Premise: {premise}\nHypothesis: {hypothesis}\nAnswer:", "Do.", {"neutral": "Neutral"})
SHORT = Wording("{premise} {hypothesis}:")


def rows(n: int, start: int = 0) -> list[dict[str, str]]:
    return [{"premise": f"p {i}", "hypothesis": f"h {i}", "label": LABELS[i % 3]} for i in range(start, start + n)]


def write(path: Path, given: list[dict[str, str]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in given))
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with 30 training and 12 validation pairs."""
    write(tmp_path / "train.jsonl", rows(30))
    write(tmp_path / "validation.jsonl", rows(12, start=1000))
    return tmp_path


def own(path: Path, **settings: Any) -> PairedText:
    """A data module, set up as for an evaluation."""
    data = PairedText(**OWN | {"path": str(path), "prompts": {"paper": PAPER, "short": SHORT}} | settings)
    data.setup("validate")
    return data


def uids(prompt: Prompt) -> list[str]:
    return [example.uid for example in prompt.demonstrations]


def contents(data: PairedData) -> set[tuple[str, ...]]:
    """The parts of what is evaluated."""
    return {tuple(example.parts.values()) for example in data.whole}


# which prompts


def test_each_wording_is_measured_with_each_draw_of_the_same_demonstrations(folder: Path) -> None:
    prompts = Prompting(2, 3, wordings=["short", "paper", "short"]).prompts(own(folder))
    assert [(p.name, p.seed, p.tuples, p.kind) for p in prompts] == [
        (name, seed, 2, "plain") for name in ("short", "paper") for seed in range(3)
    ]
    assert [p.wording for p in prompts] == [SHORT] * 3 + [PAPER] * 3
    drawn = [uids(p) for p in prompts]
    assert drawn[:3] == drawn[3:]
    assert len({tuple(one) for one in drawn}) == 3
    assert all(uid.startswith("own/train/") for one in drawn for uid in one)


def test_without_settings_the_first_wording_is_measured_once(folder: Path) -> None:
    for prompting in (Prompting(), Prompting(seeds=5)):
        (prompt,) = prompting.prompts(own(folder))
        assert (prompt.name, prompt.demonstrations, prompt.seed) == ("paper", (), 0)


def test_without_demonstrations_no_training_set_is_read(tmp_path: Path) -> None:
    write(tmp_path / "validation.jsonl", rows(6))
    assert len(Prompting().prompts(own(tmp_path))) == 1
    with refused(DataError, "'train'"):
        Prompting(1).prompts(own(tmp_path))


def test_data_without_wordings_are_asked_in_plain_words(folder: Path) -> None:
    (prompt,) = Prompting(wordings="plain").prompts(own(folder, prompts=None))
    assert prompt.wording == Wording.plain(["premise", "hypothesis"], LABELS)
    (given,) = Prompting().prompts(own(folder, prompts={"mine": {"question": SHORT.question}}))
    assert (given.name, given.wording) == ("mine", SHORT)


@pytest.mark.parametrize("kind", ["counterfactual", "extra_tuple", "matched_labels"])
def test_every_kind_starts_from_the_same_demonstrations(folder: Path, kind: str) -> None:
    data = own(folder)
    for plain, other in zip(Prompting(2, 3).prompts(data), Prompting(2, 3, kind).prompts(data), strict=True):
        assert set(uids(plain)) < set(uids(other))
        assert (other.seed, other.tuples, other.kind) == (plain.seed, 2, kind)


def test_the_seed_of_the_run_changes_all_draws(folder: Path) -> None:
    first, second = ([uids(p) for p in Prompting(2, 2).prompts(own(folder, seed=seed))] for seed in (0, 1))
    assert not set(map(tuple, first)) & set(map(tuple, second))


def test_equal_settings_are_equal_however_they_are_given() -> None:
    """The parser gives lists; a model that is asked without a prompt refuses settings that are not the usual ones."""
    assert Prompting(wordings=[]) == Prompting() == Prompting(wordings="")
    named = Prompting(wordings=("paper", "short"))
    assert Prompting(wordings=["paper", "short", "paper"]) == named == Prompting(wordings="paper, short")


def test_a_part_alone_has_the_lines_of_that_part(folder: Path) -> None:
    (prompt,) = Prompting(1).prompts(own(folder, partial="hypothesis"))
    assert prompt.wording.question == "Hypothesis: {hypothesis}\nAnswer:"
    assert {tuple(example.parts) for example in prompt.demonstrations} == {("hypothesis",)}
    assert prompt.text(prompt.question(["It."])).endswith("\n\nHypothesis: It.\nAnswer:")


def test_the_part_that_the_attentiveness_test_swaps_is_the_one_that_is_lent(folder: Path) -> None:
    for swap, changed in ((["hypothesis"], {"hypothesis"}), (["premise", "hypothesis"], {"premise"})):
        data = own(folder, swap=swap)
        (prompt,) = Prompting(1, demonstrations="counterfactual").prompts(data)
        by_uid = {example.uid: example for example in prompt.demonstrations}
        copies = [example for uid, example in by_uid.items() if uid.endswith("~")]
        assert len(copies) == 2
        for copy in copies:
            base = by_uid[copy.uid[:-1]]
            assert {part for part in base.parts if base.parts[part] != copy.parts[part]} == changed


# what is evaluated is not shown


def test_no_demonstration_is_an_evaluated_example(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """By content: the uids of a file that is read for both splits differ."""
    write(tmp_path / "train.jsonl", rows(12))
    write(tmp_path / "validation.jsonl", rows(9) + rows(3, start=1000))
    data = own(tmp_path)
    with caplog.at_level(logging.INFO):
        prompts = Prompting(1, 20).prompts(data)
    shown = {tuple(example.parts.values()) for prompt in prompts for example in prompt.demonstrations}
    assert shown == {(f"p {i}", f"h {i}") for i in (9, 10, 11)}
    assert caplog.messages.count("own: 9 training examples are evaluated as well, and are not shown.") == 1
    with refused(DataError, 2, "'entailment'", 1):
        Prompting(2).prompts(data)


def test_one_file_for_both_splits_shows_what_is_not_evaluated(tmp_path: Path) -> None:
    path = write(tmp_path / "all.jsonl", rows(60))
    data = own(path, max_validation=30)
    for kind in ("plain", "counterfactual", "matched_labels"):
        for prompt in Prompting(2, 5, kind).prompts(data):
            assert not {tuple(example.parts.values()) for example in prompt.demonstrations} & contents(data)
    with refused(DataError, "60 training examples of own", "hold_out N", "max_validation N") as caught:
        Prompting(1).prompts(own(path))
    assert "data.hold_out" in str(caught.value)
    assert len(Prompting(1).prompts(own(path, hold_out=20))) == 1
    assert len(Prompting(1).prompts(own(path, folds=4, fold=1))) == 1


def test_of_a_part_alone_the_whole_pair_says_whether_it_is_evaluated(tmp_path: Path) -> None:
    """Pairs of training and validation may share a hypothesis, as they do for a model that is trained on it."""
    write(tmp_path / "train.jsonl", [row | {"premise": f"other {i}"} for i, row in enumerate(rows(9))] + rows(3))
    write(tmp_path / "validation.jsonl", rows(9))
    data = own(tmp_path, partial="hypothesis")
    shown = {example.uid for prompt in Prompting(1, 30).prompts(data) for example in prompt.demonstrations}
    premise = dict(zip(*(data.load("train").column(name) for name in ("uid", "parts.premise")), strict=True))
    assert {premise[uid] for uid in shown} == {f"other {i}" for i in range(9)}


@pytest.mark.parametrize("partial", [None, "question", "context"])
def test_questions_that_are_evaluated_are_not_shown(
    write_squad: Callable[[Path, int], Path], tmp_path: Path, partial: str | None
) -> None:
    """With a part alone, the other is another's, in training and validation not the same one's."""
    settings = {"name": "squad", "parts": {"context": "context", "question": "question"}, "uid": "id"}
    path = str(write_squad(tmp_path / "all.json", 6))
    data = Reading(**settings, path=path, max_validation=40, partial=partial)
    data.setup("validate")
    evaluated = {uid.split("/")[-1] for uid in data.whole.column("uid")}
    prompts = Prompting(2, 5).prompts(data)
    shown = {uid.split("/")[-1] for prompt in prompts for uid in uids(prompt)}
    assert shown
    assert not shown & evaluated
    for prompt in prompts:
        assert [example.label == "[]" for example in prompt.demonstrations].count(True) == 2
    whole = Reading(**settings, path=path, partial=partial)
    whole.setup("validate")
    with refused(DataError, "60 training examples of squad"):
        Prompting(1).prompts(whole)


def test_an_evaluation_that_brings_its_own_examples_leaves_all_training_examples(folder: Path) -> None:
    data = own(folder)
    data.whole = None
    assert len(Prompting(2).prompts(data)) == 1


# mistakes


@pytest.mark.parametrize(
    ("settings", "error", "facts"),
    [
        ({"tuples": -1}, SettingError, ["tuples -1", 0]),
        ({"seeds": 0}, SettingError, ["seeds 0", 1]),
        ({"demonstrations": "counterfactual"}, SettingError, ["demonstrations counterfactual", "tuples 1"]),
    ],
)
def test_settings_that_make_no_sense(settings: dict[str, Any], error: type[HeedfulError], facts: list[Any]) -> None:
    with refused(error, *facts) as caught:
        Prompting(**settings)
    assert "prompt." in str(caught.value)


def test_an_unknown_wording_and_one_that_does_not_fit(folder: Path) -> None:
    with refused(SettingError, "wordings long", "own", "paper, short"):
        Prompting(wordings=["long"]).prompts(own(folder))
    wrong = {"wrong": Wording("{premise}:"), "short": SHORT}
    with refused(SettingError, "wrong", "{hypothesis}", "{premise}, {hypothesis}"):
        Prompting().prompts(own(folder, prompts=wrong))
    assert len(Prompting(wordings="short").prompts(own(folder, prompts=wrong))) == 1


def test_answers_of_different_worth_are_not_asked_in_context(
    write_squares: Callable[..., Path], tmp_path: Path
) -> None:
    settings = yaml.safe_load((ROOT / "configs" / "data" / "vqa2.yaml").read_text())["init_args"]
    data = VisualQuestions(**settings | {"path": str(tmp_path)})
    with refused(DataError, "vqa2", "soft"):
        Prompting().prompts(data)


# real data


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mnli", "rte"])
def test_real_data_have_prompts_of_three_tuples(name: str, shared_data: Path) -> None:
    settings = yaml.safe_load((ROOT / "configs" / "data" / f"{name}.yaml").read_text())["init_args"]
    data = PairedText(**settings | {"hub": None, "path": str(shared_data / name), "max_validation": 50})
    data.setup("validate")
    (prompt,) = Prompting(3).prompts(data)
    n = 3 * len(data.task.labels)
    assert len(prompt.demonstrations) == n
    whole = prompt.text(prompt.question(list(data.pool[0].parts.values())))
    assert whole.count("\nAnswer:") == n + 1
    assert whole.endswith("\nAnswer:")
    assert {answer for _, answer in prompt.shown} == set(prompt.answers)


def test_planted_pairs_have_plain_prompts() -> None:
    data = Planted(n_train=40, n_validation=12)
    data.setup("validate")
    (prompt,) = Prompting(2, demonstrations="counterfactual").prompts(data)
    assert len(prompt.demonstrations) == 10
    assert prompt.text("Q").startswith("Answer with one of: entailment, neutral, contradiction.\n\npremise: ")
