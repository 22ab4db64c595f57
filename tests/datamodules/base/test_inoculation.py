"""Inoculation: exactly one source of its examples, and perturbed hypotheses for tables alone."""

from typing import Any

import pytest

from heedful.datamodules import PairedText
from heedful.datamodules.base.inoculation import Inoculation
from heedful.records import DataError, HeedfulError, SettingError

from refusals import refused

PAIRS: dict[str, Any] = {"parts": {"left": "left", "right": "right"}, "labels": {"yes": [], "no": []}}


@pytest.mark.parametrize(
    ("settings", "error", "facts"),
    [
        (Inoculation(), SettingError, ["augment inoculation", "path", "perturbed true"]),
        (Inoculation("a.tsv", perturbed=True), SettingError, ["augment inoculation", "path", "perturbed true"]),
        (Inoculation(perturbed=True), DataError, ["perturbed", "about tables", "d has none"]),
    ],
)
def test_a_source_that_is_not_there_is_refused(
    settings: Inoculation, error: type[HeedfulError], facts: list[str]
) -> None:
    rows = [{"left": "a", "right": "b", "label": "yes"}]
    data = PairedText("d", path=rows, augment="inoculation", inoculation=settings, **PAIRS)
    with refused(error, *facts):
        data.setup("fit")
