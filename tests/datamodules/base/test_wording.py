"""The template and the texts of labels that a data set's YAML gives to models that read and write text."""

import pytest

from heedful import datamodules
from heedful.datamodules import Planted
from heedful.records import Task

from own_data import CONFIGS, LABELS, twin_path


def task(config: str, **settings: object) -> Task:
    kind, arguments = CONFIGS[config]["class_path"], CONFIGS[config]["init_args"]
    return getattr(datamodules, kind)(**arguments | {"hub": None, "path": str(twin_path(config))} | settings).task


@pytest.mark.parametrize(
    ("name", "wording", "targets"),
    [
        *(
            (name, "mnli hypothesis: {hypothesis} premise: {premise}", LABELS)
            for name in ("mnli", "infotabs", "snli", "wanli", "help", "med")
        ),
        ("rte", "rte sentence1: {sentence1} sentence2: {sentence2}", ("entailment", "not_entailment")),
        ("qqp", "qqp question1: {question1} question2: {question2}", ("not_duplicate", "duplicate")),
        ("paws", "paws sentence1: {sentence1} sentence2: {sentence2}", ("not_paraphrase", "paraphrase")),
        ("hans", "rte sentence1: {premise} sentence2: {hypothesis}", ("entailment", "not_entailment")),
    ],
)
def test_the_words_of_each_task_are_those_of_t5(name: str, wording: str, targets: tuple[str, ...]) -> None:
    """Raffel et al. 2020, appendix D; the keys of GLUE by the alphabet."""
    assert (task(name).wording, task(name).targets) == (wording, targets)


def test_without_a_template_the_name_and_the_parts_by_the_alphabet() -> None:
    assert Planted().task.wording == "planted hypothesis: {hypothesis} premise: {premise}"
    assert task("mnli", template=None, name="mine").wording.startswith("mine hypothesis: {hypothesis} ")
    assert task("rte", partial="sentence2").wording == "rte sentence2: {sentence2}"  # without the key of the other
    assert task("mnli", partial="premise").wording == "mnli premise: {premise}"
    assert task("paws", verbalisers={"paraphrase": "yes"}).targets == ("not_paraphrase", "yes")
