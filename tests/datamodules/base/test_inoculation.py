"""Inoculation: which source its examples come from, and what is refused."""

import pytest

from heedful.datamodules.base.inoculation import Challenges, Inoculation
from heedful.datamodules.base.splits import sample
from heedful.records import DataError, Example, Examples, HeedfulError, SettingError

from refusals import refused

POOL = Examples.of([Example(f"u{i}", {"text": f"text {i}"}, "yes") for i in range(9)])


def test_examples_of_a_file_are_a_sample_by_seed() -> None:
    read: list[str] = []
    challenges = Challenges(lambda path: read.append(path) or POOL)
    found = Inoculation("challenge.tsv", 4).examples(challenges, "d", seed=3)
    assert list(found.column("uid")) == list(sample(POOL, 4, 3, "inoculation").column("uid"))
    assert read == ["challenge.tsv"]


def test_perturbed_examples_are_asked_for_with_their_number() -> None:
    made = Inoculation(n=2, by_group=True, perturbed=True)
    found = made.examples(Challenges(None, lambda n, by_group: POOL.take(range(n)) if by_group else POOL), "d", seed=0)
    assert len(found) == 2


@pytest.mark.parametrize(
    ("settings", "error", "facts"),
    [
        (Inoculation(), SettingError, ["augment inoculation", "path", "perturbed true"]),
        (Inoculation("a.tsv", perturbed=True), SettingError, ["augment inoculation", "path", "perturbed true"]),
        (Inoculation("a.tsv"), DataError, ["d cannot be inoculated"]),
        (Inoculation(perturbed=True), DataError, ["perturbed", "about tables", "d has none"]),
    ],
)
def test_a_source_that_is_not_there_is_refused(
    settings: Inoculation, error: type[HeedfulError], facts: list[str]
) -> None:
    with refused(error, *facts):
        settings.examples(Challenges(), "d", seed=0)
