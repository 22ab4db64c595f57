"""The template and the texts of labels that a data set's YAML gives to models that read and write text."""

from pathlib import Path

import pytest
import yaml

from heedful.datamodules import PairedTables, PairedText, Planted
from heedful.records import HeedfulError, SettingError

from refusals import refused

CONFIGS = Path(__file__).parents[3] / "configs" / "data"
NLI = ("entailment", "neutral", "contradiction")


def made(config: str, **settings: object) -> PairedText:
    arguments = yaml.safe_load((CONFIGS / f"{config}.yaml").read_text())["init_args"]
    return (PairedTables if config == "infotabs" else PairedText)(**arguments | settings)


@pytest.mark.parametrize(
    ("name", "wording", "targets"),
    [
        ("mnli", "mnli hypothesis: {hypothesis} premise: {premise}", NLI),
        ("rte", "rte sentence1: {sentence1} sentence2: {sentence2}", ("entailment", "not_entailment")),
        ("qqp", "qqp question1: {question1} question2: {question2}", ("not_duplicate", "duplicate")),
        ("paws", "paws sentence1: {sentence1} sentence2: {sentence2}", ("not_paraphrase", "paraphrase")),
        ("hans", "rte sentence1: {premise} sentence2: {hypothesis}", ("entailment", "not_entailment")),
        ("infotabs", "mnli hypothesis: {hypothesis} premise: {premise}", NLI),
    ],
)
def test_the_words_of_each_task_are_those_of_t5(name: str, wording: str, targets: tuple[str, ...]) -> None:
    """Raffel et al. 2020, appendix D; the keys of GLUE by the alphabet."""
    task = made(name).task
    assert (task.wording, task.targets) == (wording, targets)


@pytest.mark.parametrize("name", ["snli", "wanli", "help", "med"])
def test_what_asks_the_question_of_mnli_asks_it_in_the_words_of_mnli(name: str) -> None:
    task, mnli = made(name).task, made("mnli").task
    assert (task.wording, task.targets) == (mnli.wording, mnli.targets)


def test_without_a_template_the_name_and_the_parts_by_the_alphabet() -> None:
    assert Planted().task.wording == "planted hypothesis: {hypothesis} premise: {premise}"
    assert made("mnli", template=None, name="mine").task.wording.startswith("mine hypothesis: {hypothesis} ")


def test_one_part_is_read_without_the_others_and_their_keys() -> None:
    assert made("rte", partial="sentence2").task.wording == "rte sentence2: {sentence2}"
    assert made("mnli", partial="premise").task.wording == "mnli premise: {premise}"


def test_labels_may_have_texts_of_their_own() -> None:
    assert made("paws", verbalisers={"paraphrase": "yes"}).task.targets == ("not_paraphrase", "yes")


@pytest.mark.parametrize(
    ("settings", "error", "facts"),
    [
        ({"template": "premise: {premise}"}, SettingError, ["template 'premise: {premise}'", "premise, hypothesis"]),
        ({"template": "{premise} {premise} {hypothesis}"}, SettingError, ["template", "premise, hypothesis"]),
        ({"template": "{premise} {hypothesis} {title}"}, SettingError, ["template", "{title}", "premise, hypothesis"]),
        ({"verbalisers": {"yes": "y"}}, SettingError, ["verbalisers yes", ", ".join(NLI)]),
        ({"verbalisers": {"neutral": "entailment "}}, SettingError, ["verbalisers", "neutral", "'entailment'"]),
        ({"verbalisers": {"neutral": " "}}, SettingError, ["verbalisers", "neutral", "''"]),
    ],
)
def test_a_mistake_is_named(settings: dict[str, object], error: type[HeedfulError], facts: list[str]) -> None:
    with refused(error, *facts):
        Planted(**settings)
